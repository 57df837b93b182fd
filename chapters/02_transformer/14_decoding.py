# %% [markdown] tags=["slide"]
# # Decoding: greedy, beam search, sampling, and the KV cache
#
# A trained model gives every possible next word a probability. A reader wants a whole sentence.
# How does one come from the other, and is the most probable sentence the one to want?
#
# <small>Prerequisites: [the decoder](12_decoder.ipynb) and [masks](07_masks.ipynb) · 30 min · runs
# on a laptop · book 2.4.6 and 2.5</small>

# %% tags=["setup"]
# Setup, the same on every page. The profile sets how much work the page does.
PROFILE = "auto"  # @param ["auto", "ci", "laptop", "gpu"]
SOURCE = "./deepdive-0.1.0-py3-none-any.whl[pages]"  # if it is missing here
try:
    import deepdive_book as book
except ModuleNotFoundError:  # on Colab; INSTALL.md has the other ways
    get_ipython().run_line_magic("pip", f'install --quiet "{SOURCE}"')
    import deepdive_book as book
book.setup(PROFILE, drive=False)  # drive=True keeps what a page saves in your Google Drive
# %% tags=["fold"]
from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.plotting import show

# Further cells read this tree: words so far -> the next words and their probabilities.
after = {
    "": {"the": 0.5, "a": 0.4, "cats": 0.1},
    "the": {"cat": 0.4, "dog": 0.35, "bird": 0.25},
    "a": {"cat": 0.9, "dog": 0.1},
    "cats": {"sleep": 1.0},
}


# %% tags=["fold"]
def draw(roles, notes):
    leaves = [(first, word) for first in after[""] for word in after[first]]
    y = {leaf: 30 + 42 * i for i, leaf in enumerate(leaves)}
    body = [text(48, 135, "start", 17)]
    for first, p in after[""].items():
        level = sum(y[first, word] for word in after[first]) / len(after[first])
        body += [arrow(80, 135, 190, level, *roles.get(first, ("score", 1.2)))]
        body += [text(135, (135 + level) / 2 - 11, f"{p}", 13), text(218, level, first, 17)]
        for word, q in after[first].items():
            end, path = y[first, word], f"{first} {word}"
            body += [arrow(246, level, 370, end, *roles.get(path, ("score", 1.2)))]
            body += [text(320, level + 0.6 * (end - level) - 10, f"{q}", 13)]
            body += [text(402, end, word, 17), text(500, end, f"{p} · {q} = {p * q:.3g}", 14)]
            body += [text(638, end, notes.get(path, ""), 15, roles.get(path, [""])[0], bold=True)]
    return svg(710, 270, body)


# %% tags=["slide", "fold"]
show(
    draw(
        {"the": ("query", 4), "the cat": ("query", 4), "a": ("value", 4), "a cat": ("value", 4)},
        {"the cat": "greedy", "a cat": "most probable"},
    ),
    "A tree of six two-word sentences. The greedy path the (0.5), cat (0.4) has probability 0.2. "
    "The path a (0.4), cat (0.9) has 0.36.",
)

# %% [markdown]
# *Read from left to right: each arrow carries the probability of a word, given the words before
# it. A sentence's probability is the product along its path.*
#
# The model shows the arrows of one place at a time. Whoever takes the most probable arrow each time
# lands at 0.2, and never learns that the other branch led to 0.36. Choosing a path through this
# tree is **decoding**. With 30,000 words and 20 steps the tree has $30{,}000^{20}$ leaves, so
# nobody looks at them all.
#
# This page has four ways to choose (greedy, beam search, sampling, and sampling from a cut
# distribution), one trick that makes all of them fast (the cache), and one experiment in which a
# *better* search gives *worse* answers.

# %% [markdown]
# ## Greedy: the most probable word, then the next
#
# $$y_t = \mathrm{argmax}_w \; p(w \mid y_1 \dots y_{t-1})$$
#
# By hand, on the tree: *the* has 0.5, the most at the first step. After *the*, *cat* has 0.4, the
# most again. Then the sentence ends. Result: *the cat*, $0.5 \cdot 0.4 = 0.2$.
#
# In the library a model that can be decoded has two methods. `begin` returns an empty state.
# `step` takes the newest tokens, remembers them in the state, and returns the scores of the next
# one (logits; here $\log p$). Our tree can have both, so that everything below works on it as on a
# Transformer:

# %%
import math

import torch
from torch import nn

from deepdive.tokenizers import BOS, EOS

words = ["", "", "end", "", "the", "a", "cats", "cat", "dog", "bird", "sleep"]


class Prefixes:
    rows = torch.empty(1, 0, dtype=torch.int64)

    def reorder(self, index):  # which row each row continues: needed for beams
        self.rows = self.rows[index]


# %%
class Tree(nn.Module):
    def begin(self):
        return Prefixes()

    def step(self, tokens, state):  # (B, 1) -> (B, 1, V)
        state.rows = torch.cat([state.rows, tokens], dim=1)
        logits = torch.full((len(tokens), 1, len(words)), -torch.inf)
        for b, ids in enumerate(state.rows.tolist()):
            path = " ".join(words[i] for i in ids[1:])
            for word, p in after.get(path, {"end": 1.0}).items():
                logits[b, 0, words.index(word)] = math.log(p)
        return logits


# %% [markdown]
# Greedy decoding is then a loop of six lines. The library's does the same for a whole batch, and
# lets rows leave that have ended.


# %%
from deepdive.decoding import greedy


def write_greedily(model, length):
    token, state, written = torch.tensor([[BOS]]), model.begin(), []
    for _ in range(length):
        token = model.step(token, state)[:, -1].argmax(-1, keepdim=True)  # (1, 1)
        if token.item() == EOS:
            break
        written.append(token.item())
    return written


ours = write_greedily(Tree(), 5)
assert ours == greedy(Tree(), max_length=5)[0]
" ".join(words[i] for i in ours)

# %% [markdown]
# ## Beam search: keep a few paths open
#
# Keep the best `width` unfinished paths, the **beams**. Extend each by every word. Paths that have
# ended, and are among the best `width` extensions, are set aside; the best `width` of the others go
# on. At the end the best path set aside wins. Because products of many small numbers underflow, add
# logarithms (log means ln, here and in code):
# $\log p(y) = \sum_t \log p(y_t \mid y_1 \dots y_{t-1})$.
#
# By hand, with width 2:
#
# | step | extensions, best first | beams kept |
# |---|---|---|
# | 1 | *the* 0.5, *a* 0.4, *cats* 0.1 | *the*, *a* |
# | 2 | *a cat* 0.36, *the cat* 0.2, *the dog* 0.175, two more | *a cat*, *the cat* |
# | 3 | both end, with probability 1 | *a cat* wins |
#
# The second place at step 1 is what saves *a cat*.

# %% tags=["fold"]
kept = dict.fromkeys(("the", "a", "the cat", "a cat"), ("weight", 5))
show(
    draw(kept, {"a cat": "1st", "the cat": "2nd"}),
    "The same tree with the beams of width 2 in thick lines: the and a, then a cat and the cat.",
)

# %% [markdown]
# *Thick: the two beams alive after each step. Thin: looked at, and dropped.* Cats sleep *is
# dropped after its first word, without a look at what follows.*

# %%
from deepdive.decoding import beam


def search(width, length):
    beams, done = [((), 0.0)], []
    for _ in range(length):
        longer = []
        for path, total in beams:
            for word, p in after.get(" ".join(path), {"end": 1.0}).items():
                longer.append(((*path, word), total + math.log(p)))
        longer.sort(key=lambda item: -item[1])
        done += [item for item in longer[:width] if item[0][-1] == "end"]
        beams = [item for item in longer if item[0][-1] != "end"][:width]
    return max(done, key=lambda item: item[1])


for width in (1, 2, 3):
    path, total = search(width, 3)
    found = beam(Tree(), width=width, alpha=0, max_length=3)[0][0]
    assert [words[i] for i in found.tokens] == list(path[:-1])
    assert abs(found.log_prob - total) < 1e-6
    print(f"width {width}: {' '.join(path)}, probability {math.exp(total):.3f}")

# %% [markdown]
# Width 1 is greedy. Width 2 finds the best of the six. In general no width short of the whole tree
# is safe: a path that starts below all the beams is gone, however well it would have ended.
#
# The price: a step runs the model on `width` rows instead of one.

# %% [markdown]
# ## Sampling: let chance choose
#
# A story, or ten different answers, do not come from the best path. **Sampling** draws each word
# with its probability. Three dials change the distribution before the draw:
#
# - **temperature** $\tau$: divide the scores by $\tau$, so $p_i$ becomes $p_i^{1/\tau}$, rescaled
#   to sum to one;
# - **top-k**: keep the $k$ most probable words, rescale;
# - **top-p** (the *nucleus*): keep the fewest words, from the top, that together have at least the
#   probability $p$, rescale.
#
# By hand: let the next word have probabilities 0.40, 0.25, 0.15, 0.10, 0.06, 0.04.
#
# - $\tau = 0.5$ squares them: 0.16, 0.0625, 0.0225, 0.01, 0.0036, 0.0016, with sum 0.2602. The
#   first word rises to $0.16 / 0.2602 = 0.615$.
# - top-k with $k = 3$ leaves 0.40, 0.25, 0.15. They hold 0.80, so they become 0.5, 0.3125, 0.1875.
# - top-p with $p = 0.7$ takes 0.40, then 0.65, then 0.80: enough. Three words here, by chance the
#   same.


# %%
from deepdive.decoding import filter_top_k, filter_top_p


def top_k(p, k):
    kept = p * (p >= p.topk(k).values[-1])
    return kept / kept.sum()


def top_p(p, mass):
    from_top, order = p.sort(descending=True)
    before = from_top.cumsum(0) - from_top  # what the more probable words hold
    kept = torch.zeros_like(p)
    kept[order] = from_top * (before < mass)
    return kept / kept.sum()


p = torch.tensor([0.40, 0.25, 0.15, 0.10, 0.06, 0.04])
assert torch.allclose(top_k(p, 3), filter_top_k(p.log(), 3).softmax(-1), atol=1e-6)
assert torch.allclose(top_p(p, 0.7), filter_top_p(p.log(), 0.7).softmax(-1), atol=1e-6)
for tau in (0.5, 1.0, 2.0):
    print(f"temperature {tau}:", *(f"{q:.3f}" for q in (p.log() / tau).softmax(-1)))
print("top-k, k = 3:   ", *(f"{q:.3f}" for q in top_k(p, 3)))

# %% [markdown]
# Top-k and top-p part ways when the distribution is sharper or flatter than this one. Top-k
# counts words, top-p counts probability:

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

shapes = {
    "sharp": torch.tensor([0.90, 0.04, 0.03, 0.01, 0.01, 0.01]),
    "as above": p,
    "flat": torch.tensor([0.20, 0.19, 0.17, 0.16, 0.15, 0.13]),
}
figure = Figure(figsize=(7.2, 2.5))
for axes, (name, q) in zip(figure.subplots(1, 3, sharey=True), shapes.items(), strict=True):
    inside = top_p(q, 0.7) > 0
    colors = ["#0072B2" if kept else "#c6d8e6" for kept in inside]
    axes.bar(range(1, 7), q, color=colors)
    axes.axvline(3.5, color="#D55E00", linestyle="--")
    axes.set(title=f"{name}: top-p keeps {int(inside.sum())}", xlabel="word, by rank")
axes.text(3.7, 0.8, "top-k, k = 3", color="#D55E00")
with_alt(
    figure,
    "Three bar charts of six words. Dark bars are the nucleus of 0.7: one word in the sharp "
    "distribution, three in the middle, four in the flat. A dashed line cuts after three in each.",
)

# %% [markdown]
# *Full blue: the nucleus of 0.7. Dashed: where top-k cuts. In the sharp distribution top-k lets two
# words in that together hold 0.07.*

# %% [markdown]
# ## An announcer to decode
#
# The rest of the page needs a model that is trained, has several right answers, and can be checked.
# So here is a tram announcer. She reads out a number with the digits 1 to 5, each digit in English,
# French or German. One rule: **the language of the first digit is not used again.** For $n$ digits
# there are $3 \cdot 2^{n-1}$ right readings, all equally likely.
#
# One more thing, taken from life: in 3% of the recordings the voice is missing, and the text is
# empty. Collected corpora have such pairs. All of this is generated, with number words from
# num2words.

# %% tags=["nbval-check-output"]
import random

from deepdive.data.generated import number_words

spoken = [dict(number_words(language, 5, low=1, high=5)) for language in ("en", "fr", "de")]
names = ["", "", "", "", *(digits[str(d)] for digits in spoken for d in range(1, 6))]


def recordings(n, lengths, lost, seed):
    draw, pairs = random.Random(seed), []
    for _ in range(n):
        number = [draw.randint(1, 5) for _ in range(draw.choice(lengths))]
        first = draw.randrange(3)
        others = [language for language in range(3) if language != first]
        turns = [first, *draw.choices(others, k=len(number) - 1)]
        said = [3 + 5 * turn + digit for turn, digit in zip(turns, number, strict=True)]
        pairs.append((number, [] if draw.random() < lost else said))
    return pairs


for number, said in recordings(3, [4], 0.0, seed=5):
    print(*number, "->", *(names[i] for i in said))

# %% [markdown]
# A reading is right when every digit is said and the rule is kept. The model is the Transformer of
# [the page on the decoder](12_decoder.ipynb), with two layers.

# %%
from torch.nn.utils.rnn import pad_sequence

from deepdive.core import PreNorm
from deepdive.models.transformer.transformer import transformer
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive.training.translation import loss


def batch(pairs):
    sources = [torch.tensor([3 + digit for digit in number]) for number, _ in pairs]
    targets = [torch.tensor([BOS, *said, EOS]) for _, said in pairs]
    return pad_sequence(sources, batch_first=True), pad_sequence(targets, batch_first=True)


pairs = recordings(20_000, range(2, 9), 0.03, seed=1)
batches = [batch(pairs[i : i + 80]) for i in range(0, len(pairs), 80)]
sizes = {"d_model": 64, "n_heads": 2, "n_layers": 2, "d_ff": 128, "dropout": 0.0}
model = transformer(9, len(names), residual=PreNorm, **sizes)
steps = 600
schedule = cosine(5e-3, warmup=50, total=steps)
history = fit(model, batches, loss, steps=steps, optimizer=adam(model), schedule=schedule)
f"loss {sum(history.losses[-50:]) / 50:.3f} a token after {steps} steps"

# %% [markdown]
# The loss does not go to zero, and should not: nobody can know the next language. A digit after the
# first costs $\log 2 = 0.69$ at best. The first costs $\log 3 = 1.10$ and a little for the chance
# of silence; the end mark costs nothing. Over all tokens the best possible mean is 0.665.
#
# How sure is the model of an empty reading? The first step tells: the probability of the end token
# right after the beginning.

# %%
def right(number, said):
    language, digit = zip(*(divmod(i - 4, 5) for i in said), strict=True) if said else ((), ())
    return [d + 1 for d in digit] == number and language[0] not in language[1:]


test = [number for n in range(2, 9) for number, _ in recordings(20, [n], 0.0, seed=n)]
src, _ = batch([(number, []) for number in test])  # (140, 8), 0 is padding
with torch.no_grad():
    first = model(src, torch.full((len(src), 1), BOS), src != 0)[:, 0].softmax(-1)  # (140, V)
empty = first[:, EOS].mean().item()
assert 0.015 < empty < 0.06
print(f"p(empty reading) {empty:.3f}, in the data 0.030")
print(f"each first word  {(1 - empty) / 3:.3f} on average")

# %% [markdown]
# ## More search, worse answers
#
# Now some arithmetic with a pencil. A right reading of $n$ digits has probability
# $0.97 \cdot \frac13 \cdot \left(\frac12\right)^{n-1}$. The empty one has 0.03, at every length.
#
# | digits | one right reading | empty | the most probable |
# |---|---|---|---|
# | 2 | 0.162 | 0.03 | a right one |
# | 4 | 0.040 | 0.03 | a right one |
# | 5 | 0.020 | 0.03 | **the empty one** |
# | 8 | 0.003 | 0.03 | **the empty one** |
#
# From five digits on the most probable answer is silence, although 97% of the probability lies on
# right readings. They share it among so many that none has much.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "We decode 140 numbers of 2 to 8 digits by beam search, and rank by log p. Which widths read "
    "well?",
    [
        "the wider the better: a wide beam comes nearer to the most probable answer",
        "1 to 3 read well, 4 and more badly",
        "all alike: the model is what counts",
    ],
    answer=1,
    explain="At the first step each of three words has 0.32, and the end 0.03. Up to width 3 the "
    "search never sees the end. With four places or more the empty reading is put aside, and wins "
    "as soon as the others have become less probable.",
    key="02_transformer/beam-curse",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown]
# The known fix is to divide $\log p$ by a **length penalty**, so that a long sentence is not
# punished for each of its words. Two forms are in use, with $|y|$ the number of tokens, the end
# token included:
#
# $$\mathrm{score}(y) = \frac{\log p(y)}{\mathrm{penalty}(|y|)} \qquad
# \mathrm{penalty}_{\mathrm{Wu}} = \left(\frac{5 + |y|}{6}\right)^{\alpha} \qquad
# \mathrm{penalty}_{\mathrm{power}} = |y|^{\alpha}$$
#
# By hand, five digits. Right: $\log 0.0202 = -3.90$ for six tokens. Empty: $\log 0.03 = -3.51$ for
# one token, so every penalty is 1.
#
# | penalty | right, 6 tokens | empty, 1 token | wins |
# |---|---|---|---|
# | none, $\alpha = 0$ | $-3.90$ | $-3.51$ | empty |
# | Wu, $\alpha = 0.6$ | $-3.90 / (11/6)^{0.6} = -2.71$ | $-3.51$ | right |
# | mean: power with $\alpha = 1$ | $-3.90 / 6 = -0.65$ | $-3.51$ | right |

# %%
from deepdive.decoding import power_penalty, wu_penalty

widths = [1, 2, 3, 4, 8, 16]
settings = {
    "log p alone": {"alpha": 0.0},
    "Wu, alpha 0.6": {"alpha": 0.6, "penalty": wu_penalty},
    "mean log p": {"alpha": 1.0, "penalty": power_penalty},
}
found = {
    (name, width): [best for best, *_ in beam(model, src, src != 0, width=width, **setting)]
    for name, setting in settings.items()
    for width in widths
}


def share(name, width):
    answers = zip(test, found[name, width], strict=True)
    return sum(right(number, best.tokens) for number, best in answers) / len(test)


f"{len(found)} searches, each over {len(test)} numbers"

# %% More search, worse answers tags=["slide", "fold", "surprise"]
figure = Figure(figsize=(7.2, 3.0))
left, other = figure.subplots(1, 2)
for name, style in zip(settings, ("o-", "s--", "^:"), strict=True):
    left.plot(widths, [share(name, width) for width in widths], style, label=name)
mean = [sum(h.log_prob for h in found["log p alone", w]) / len(test) for w in widths]
other.plot(widths, mean, "o-")
left.set(title="share of right readings", xlabel="beam width", ylim=(0, 1.05))
other.set(title="log p of the answers, no penalty", xlabel="beam width")
for axes in (left, other):
    axes.set_xscale("log", base=2)
    axes.set_xticks(widths, widths)
left.legend(loc="lower left")
with_alt(
    figure,
    "Left: with log p alone the share of right readings drops from nearly 1 at width 3 to about "
    "half from width 4 on; with the mean it stays near 1. Right: log p of the answers rises.",
)

# %%
for name in settings:
    print(f"right, {name}:", *(f"{w}: {share(name, w):.0%}" for w in widths))
assert share("log p alone", 3) > 0.9 > 0.7 > share("log p alone", 8)
assert share("mean log p", 8) > 0.9
assert mean[-1] > mean[0]
for name in ("log p alone", "Wu, alpha 0.6"):
    silent = [not best.tokens for best in found[name, 8]]  # 20 numbers a length, in order
    shares = [sum(silent[i : i + 20]) / 20 for i in range(0, 140, 20)]
    print(f"empty by digits, {name}:", *(f"{n}: {s:.0%}" for n, s in enumerate(shares, 2)))
    assert shares[0] < 0.2
    assert shares[-1] > 0.8 or name != "log p alone"

# %% [markdown]
# *Left: the answers get worse. Right: the* $\log p$ *of whole answers, averaged over the numbers.
# It rises: the search gets better at what it was asked to do.*
#
# The search is not at fault: the most probable answer is the wrong thing to ask for here, since the
# data taught the model a share of silence. The switch lies near where the pencil put it, between
# four digits and five. Wu's penalty with $\alpha = 0.6$ moves it up, and the mean log-probability
# removes it. Up to width 3 nothing happens, since at the first step three words stand above the end
# token: **a narrow beam never looks at the empty answer.**
#
# This is not a toy's oddity. Stahlberg and Byrne (2019) searched a Transformer for English-German
# exactly, and for just over half of the sentences the most probable translation was the empty one.
# Koehn and Knowles (2017) saw BLEU fall with the width for eight language pairs; Ott et al. (2018)
# traced much of it to wrong pairs in the training data, as here.

# %% [markdown]
# ## What sampling gives
#
# Sampling shows the distribution as it is: many readings, and now and then silence. How do the
# dials change that? We draw 40 readings of each of 20 numbers with five digits (48 readings are
# right), and count.

# %%
from deepdive.decoding import sample

five = src[60:80, :5].repeat_interleave(40, dim=0)  # (800, 5)
asked = [number for number in test[60:80] for _ in range(40)]
dials = {
    "greedy (no dial)": None,
    "temperature 0.5": {"temperature": 0.5},
    "temperature 1": {},
    "top-p 0.95": {"top_p": 0.95},
    "top-k 2": {"top_k": 2},
    "temperature 2": {"temperature": 2.0},
}
results = {}
for name, dial in dials.items():
    out = greedy(model, five) if dial is None else sample(model, five, max_length=12, **dial)
    good = sum(right(n, said) for n, said in zip(asked, out, strict=True)) / len(out)
    kinds = [len({tuple(said) for said in out[i : i + 40]}) for i in range(0, 800, 40)]
    results[name] = good, out.count([]) / 800, sum(kinds) / 20
    print("{:>17}: right {:6.1%}, empty {:4.1%}, kinds {:4.1f}".format(name, *results[name]))

# %%
assert results["greedy (no dial)"][2] == 1
assert results["temperature 1"][2] > 15
assert results["top-p 0.95"][1] < results["temperature 1"][1]
assert results["temperature 2"][0] < results["temperature 1"][0] - 0.1

# %% [markdown]
# *kinds: different readings among 40 of one number, right or wrong.* At temperature 1
# the empty readings come about as often as the model says. Top-p 0.95 cuts them, and keeps the
# variety: three words hold 0.97 at the first step, and two nearly all later. Top-k with $k = 2$
# forbids one language of three at the start, for no reason. A high temperature lets in words that
# the model knows to be wrong.

# %% [markdown]
# ## The cache: why step by step need not be slow
#
# Every method above asks for the next word, again and again. The plain way runs the whole prefix
# through the model each time. But under a causal mask a row depends only on the rows before it. A
# row computed once never changes, and all that later words want of it are its key and its value,
# in each layer. Keep these two, and compute only the newest row.

# %% tags=["fold"]
from deepdive_book.kit.diagrams import ROLES
from deepdive_book.kit.frame_strip import film

BOX = '<rect x="{}" y="{}" width="20" height="22" rx="3" fill="{}" fill-opacity="{}" stroke="{}"/>'


def after_step(t):
    body = [text(145, 14, "no cache", 15, bold=True), text(295, 14, "cache", 15, bold=True)]
    for y, role in ((29, "query"), (57, "key"), (85, "value")):
        body.append(text(38, y + 12, {"query": "queries"}.get(role, f"{role}s"), 14, role))
        for s in range(t):
            body.append(BOX.format(85 + 24 * s, y, ROLES[role], 0.85, ROLES[role]))
            if s == t - 1 or role != "query":  # an old query is never needed again
                full = 0.85 if s == t - 1 else 0.2
                body.append(BOX.format(235 + 24 * s, y, ROLES[role], full, ROLES[role]))
    return svg(365, 118, body)


film(
    [after_step(t) for t in range(1, 6)],
    [f"after step {t}: {t * (t + 1) // 2} computed, with the cache {t}" for t in range(1, 6)],
    "Five steps. Without a cache, step t computes t columns of a query, a key and a value; with "
    "it, one. The older keys and values are kept, drawn pale, and no older query is needed.",
)

# %% [markdown]
# *Each column of the drawing is one word (in the matrices it is a row). Full colour: computed in
# this step; pale: kept from before. Without the cache the steps compute $1 + 2 + 3 + 4 + 5 = 15$
# rows, with it 5; for $T$ words $T(T + 1)/2$ against $T$.*
#
# In code, for one head: the cache is two growing lists. Note that the step has no mask. The rows
# that it must not see do not exist yet.

# %%
d, T = 8, 6
x = torch.randn(T, d)
W_q, W_k, W_v = torch.randn(3, d, d) / d**0.5


def full_pass(x):  # (T, d) -> (T, d)
    scores = (x @ W_q) @ (x @ W_k).T / d**0.5
    later = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -torch.inf).softmax(-1) @ (x @ W_v)


keys, values = [], []


def step(row):  # (d,) -> (d,)
    keys.append(row @ W_k)
    values.append(row @ W_v)
    weights = (torch.stack(keys) @ (row @ W_q) / d**0.5).softmax(-1)
    return weights @ torch.stack(values)


by_steps = torch.stack([step(row) for row in x])
assert (by_steps - full_pass(x)).abs().max() < 1e-6
f"{len(keys)} keys kept; largest difference below 1e-6"

# %% [markdown]
# In the library a `Slot` holds the keys and values of one layer, and a `KVCache` has one slot a
# layer. `begin` and `step` use it for you. The check for the announcer: the scores of a reading,
# step by step, equal those of one full pass (in float64, to see past rounding).

# %%
import copy

from deepdive.core import MultiHeadAttention, Slot
from deepdive.core.hooks import record
from deepdive.core.masks import Causal

attention, slot = MultiHeadAttention(d, n_heads=2), Slot()
with torch.no_grad():
    parts = [attention(row[None, None], cache=slot) for row in x]
    assert (torch.cat(parts, 1) - attention(x[None], mask=Causal())).abs().max() < 1e-6

precise, number = copy.deepcopy(model).double(), torch.tensor([[7, 4, 8, 5, 7]])
read = torch.tensor([[BOS, *greedy(model, number)[0]]])
with torch.no_grad(), record(precise, "decoder.*.weights") as seen:
    state = precise.begin(number)
    stepwise = torch.cat([precise.step(read[:, t : t + 1], state) for t in range(6)], dim=1)
with torch.no_grad():
    assert (stepwise - precise(number, read)).abs().max() < 1e-9
print("six steps and one pass give the same logits;", [names[i] for i in read[0, 1:]])

# %% [markdown]
# During the six steps we recorded the weights of the decoder. Each step computes one row of the
# familiar map; set below each other, they are the triangle of a full pass.

# %% tags=["fold"]
from deepdive_book.kit.plotting import heads

layers = [f"decoder.stack.blocks.{i}" for i in range(2)]
triangle = []
for name in layers:
    row_by_row = seen[f"{name}.attn.mechanism.weights"]  # six tensors (1, 2, 1, t)
    padded = [nn.functional.pad(w, (0, 6 - w.shape[-1])) for w in row_by_row]
    triangle.append(torch.cat(padded, dim=2)[0])  # (2, 6, 6)
rows = ["start", *(names[i] for i in read[0, 1:].tolist())]
titles = [f"layer {i}, head {h}" for i in (1, 2) for h in (0, 1)]
heads(torch.cat(triangle), rows, rows, names=titles)

# %% [markdown]
# *Self-attention, queries down: the words that go in, each to predict the next. One row came from
# each step.*
#
# Some head should look back at the second column: the first word, whose language is now forbidden.
# Over 20 numbers, how much weight lies there, from the second word on? Spread evenly it were 0.24.

# %%
said = [torch.tensor([BOS, *reading]) for reading in greedy(model, five[::40])]
with torch.no_grad(), record(model, "decoder.*.attn.mechanism.weights") as many:
    model(five[::40], pad_sequence(said, batch_first=True))
back = torch.cat([maps[0][:, :, 2:6, 1].mean((0, 2)) for maps in many.values()])  # (4,): the heads
assert back.max() > 0.35
print(", ".join(f"{title}: {share:.2f}" for title, share in zip(titles, back, strict=True)))

# %% tags=["fold"]
cross = [torch.cat(seen[f"{i}.cross.mechanism.weights"], dim=2)[0] for i in layers]
digits = [str(i - 3) for i in number[0].tolist()]
heads(torch.cat(cross), rows, digits, names=titles)

# %% [markdown]
# *Cross-attention to the digits: each row but the last looks at the digit to be said next. Its keys
# and values are computed once, at the first step, since the source does not change.*

# %% tags=["fold"]
predict(
    "A decoder writes 500 words. How many times more rows go through its layers without the cache?",
    ["about 2 times", "about 20 times", "about 250 times"],
    answer=2,
    explain="500 · 501 / 2 = 125,250 rows against 500: (T + 1) / 2 times. The time saved is less, "
    "because one row at a time uses a processor badly. See below.",
    key="02_transformer/cache-rows",
)

# %% [markdown]
# ## Counted and timed
#
# Take a decoder-only language model with $L$ layers and $N$ weights in its matrices. A row costs
# $2N$ operations, plus $4 L d\,t$ for attention to $t$ keys ($2dt$ for the scores, $2dt$ for the
# mixing, in each layer). Without the cache step $t$ computes $t$ rows, and each is scored against
# all $t$ keys: the mask hides, but saves nothing. So $T$ words cost
#
# $$\text{cached: } \; 2NT + 4Ld\,\tfrac{T(T+1)}{2} \qquad
# \text{not cached: } \; 2N\,\tfrac{T(T+1)}{2} + 4Ld \sum_{t=1}^{T} t^2$$
#
# Check the formula against operations counted as they run, then measure the time.

# %%
from deepdive.models.transformer.decoder_only import decoder_only
from deepdive_book.kit.flops import count_flops

L, d = 4, 128
language = decoder_only(
    500, d_model=d, n_heads=4, n_layers=L, d_ff=4 * d, max_length=1024, dropout=0.0
).eval()
N = sum(p.numel() for p in language.parameters() if p.ndim == 2)
N -= 1024 * d  # the positions are looked up, not multiplied


@torch.inference_mode()
def cached(T):
    state, token = language.begin(), torch.tensor([[BOS]])
    for _ in range(T):
        token = language.step(token, state)[:, -1:].argmax(-1)


@torch.inference_mode()
def not_cached(T):
    tokens = torch.tensor([[BOS]])
    for _ in range(T):
        tokens = torch.cat([tokens, language(tokens)[:, -1:].argmax(-1)], dim=1)


# %%
T = 24
rows = T * (T + 1) // 2
squares = sum(t * t for t in range(1, T + 1))
counted = count_flops(lambda: cached(T)), count_flops(lambda: not_cached(T))
assert counted == (2 * N * T + 4 * L * d * rows, 2 * N * rows + 4 * L * d * squares)
f"{T} words, million operations: {counted[0] / 1e6:.0f} cached, {counted[1] / 1e6:.0f} not"

# %%
from time import process_time

from deepdive_book.kit.profile import pick

lengths = pick(ci=[16, 64, 160], laptop=[16, 32, 64, 128, 256, 384], gpu=[16, 64, 256, 512])
seconds = {cached: [], not_cached: []}
cached(8), not_cached(8)  # the first call is slow: warm up
for T in lengths:
    for way, times in seconds.items():
        start = process_time()
        way(T)
        times.append(process_time() - start)
ratio = seconds[not_cached][-1] / seconds[cached][-1]
assert 1.5 < ratio < (lengths[-1] + 1) / 2
f"{lengths[-1]} words: {ratio:.1f} times slower without the cache"

# %% The cache tags=["slide", "fold"]
figure = Figure(figsize=(7.2, 2.9))
left, other = figure.subplots(1, 2)
drawn = range(8, lengths[-1] + 1, 8)
with_it = [2 * N * T + 2 * L * d * T * (T + 1) for T in drawn]
without = [N * T * (T + 1) + 2 / 3 * L * d * T * (T + 1) * (2 * T + 1) for T in drawn]
left.plot(drawn, without, "--", label="not cached")
left.plot(drawn, with_it, label="cached")
other.plot(lengths, seconds[not_cached], "s--", label="not cached")
other.plot(lengths, seconds[cached], "o-", label="cached")
left.set(title="operations, by the formula", xlabel="words written", yscale="log")
other.set(title="processor seconds, measured", xlabel="words written", yscale="log")
left.legend()
with_alt(
    figure,
    "Operations and seconds against words written, on a log scale. Without the cache both rise "
    "steeply; with it they rise slowly. The gap in seconds is smaller than in operations.",
)

# %% [markdown]
# *The gap widens with the length. For 500 words it is 250 times the rows. In seconds it is far
# less: with one row at a time, much of a step goes into starting the operations and fetching the
# weights.*
#
# The cache is paid for in bytes kept: $2 \cdot L \cdot T \cdot d$ numbers for each sentence, and
# each beam counts as a sentence. For GPT-2's smallest model (12 layers, 768 wide) at 1,024 words:

# %%
numbers = 2 * 12 * 1024 * 768
f"{numbers:,} numbers, {4 * numbers / 2**20:.0f} MiB a sentence in float32"

# %% [markdown]
# ### Common mistake: beams move, the cache stays
#
# After each step of a beam search some beams are dropped, and others continue twice. So row 3 of
# the batch may now hold a continuation of what was row 1. Its *cache* must move along:
# `state.reorder(index)`. It is tempting to do that only when the number of rows changes, because
# else nothing crashes:


# %%
from deepdive.core import DecodingState


class Forgetful(DecodingState):
    def reorder(self, index):
        if len(index) != len(self.memory):  # wrong: the same number of rows, other rows
            super().reorder(index)


class Broken(nn.Module):
    def begin(self, *inputs):
        state = model.begin(*inputs)
        return Forgetful(state.cache, state.memory, state.memory_mask)

    def step(self, tokens, state):
        return model.step(tokens, state)


def log_p(number, said):  # by one full pass, no cache
    source = torch.tensor([[3 + digit for digit in number]])
    with torch.no_grad():
        logits = model(source, torch.tensor([[BOS, *said]]))[0]
    return logits.log_softmax(-1)[range(len(said) + 1), [*said, EOS]].sum().item()


# %%
mean_of = settings["mean log p"]
counts = {}
for name, searched in (("right", model), ("broken", Broken())):
    for width in (1, 8):
        out = [best for best, *_ in beam(searched, src, src != 0, width=width, **mean_of)]
        good = sum(right(n, h.tokens) for n, h in zip(test, out, strict=True)) / len(test)
        gaps = [abs(h.log_prob - log_p(n, h.tokens)) for n, h in zip(test, out, strict=True)]
        counts[name, width] = good, max(gaps)
        print(f"{name:>6}, width {width}: {good:4.0%} right, log p off by {max(gaps):.4f}")

# %%
assert counts["broken", 1] == counts["right", 1]
assert counts["right", 8][1] < 1e-3
assert counts["broken", 8][1] > 0.1
assert counts["broken", 8][0] < counts["right", 8][0] - 0.1

# %% [markdown]
# **Symptom:** none at width 1, so a test with greedy decoding passes. With beams fewer are right:
# here the announcer comes back to her first language, because the cache holds the first word of
# another beam. It looks like a weak model.
#
# **Fix:** always call `state.reorder(index)`. **The test that finds it:** score the answer again
# by one full pass, without a cache. It must get the log-probability that the search reported.

# %% [markdown]
# ## How it differs
#
# | | greedy | beam search | sampling |
# |---|---|---|---|
# | looks for | the best next word | the best sentence | a typical sentence |
# | finds it | always | not always | by construction |
# | same answer twice | yes | yes | only with the same seed |
# | rows through the model a step | 1 | `width` | 1 |
# | fails by | one early choice | finding a short, bad answer | one unlucky draw |
# | used for | short, certain answers | translation, speech | stories, dialogue, variants |

# %% [markdown]
# ## In practice
#
# - **Use a beam of 4 or 5 and a length penalty** for translation. The Transformer paper has 4, and
#   Wu's penalty with $\alpha = 0.6$. Choose both on validation data, by the score that you report.
# - **If a wider beam is worse, look at the shortest outputs** first, then at the training pairs.
# - **Compare log p across systems only without the penalty.**
# - **Order of the dials:** here temperature first, then top-k, then top-p, as in `transformers`
#   and vLLM. It isn't universal: llama.cpp's default chain applies temperature last (after top-k,
#   top-p, and min-p). The order changes the result (exercise 2), so check it before you copy
#   published settings.
# - **A cache belongs to one batch.** Drop a row, add one, change the prompt: it must follow.
# - **Test cached = full** for each model. A position that restarts at 0 in every step is the other
#   classic mistake, and this test finds it too.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. The first word is *red* (0.5), *blue* (0.3) or *green* (0.2). The best word after them has 0.3,
#    0.4 and 0.9. What do greedy and a beam of width 2 find, and what is the best?
#
#    <details><summary>Answer</summary>
#
#    Greedy $0.5 \cdot 0.3 = 0.15$. Width 2 keeps *red* and *blue* ($0.12$) and also ends at 0.15.
#    The best is *green*, 0.18: it was dropped after its first word.
#
#    </details>
# 2. The next word has probabilities 0.5, 0.3, 0.1, 0.1. Which words does top-p 0.7 keep, and with
#    which probabilities?
#
#    <details><summary>Answer</summary>
#
#    The first two: 0.5 is not yet 0.7, and 0.8 is enough. Divided by 0.8 they become 0.625 and
#    0.375.
#
#    </details>
# 3. With a wide beam the announcer's answers became more probable and fewer of them were right. Why
#    is the search not at fault?
#
#    <details><summary>Answer</summary>
#
#    It found what it was asked for, the most probable answer. So many right readings share the
#    probability that from five digits on the empty one is the most probable answer, and a wide beam
#    finds it.
#
#    </details>
# 4. Why may the key and the value of an earlier word be kept, and why does a step with the cache
#    need no mask?
#
#    <details><summary>Answer</summary>
#
#    Under a causal mask a row depends only on itself and the rows before it, so it never changes
#    again. The rows that the mask would hide do not exist yet.
#
#    </details>
# 5. The search that did not reorder its cache read as well as the right one at width 1 and worse at
#    width 8. Why, and which test finds it?
#
#    <details><summary>Answer</summary>
#
#    With one beam there is nothing to reorder; with eight a row goes on with the keys of another
#    beam. Scoring the answer again by one full pass gives another $\log p$ than the search
#    reported.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* After *a*, let *cat* and *dog* have 0.5 each. Which sentence is now the
#    most probable, and does greedy find it?
#
#    <details><summary>Answer</summary>
#
#    *the cat*, *a cat* and *a dog* all have 0.2. Greedy finds one of them.
#
#    </details>
# 2. *(on paper, 5 min)* For the 0.40, 0.25, 0.15, 0.10, 0.06, 0.04 above, first halve the
#    temperature, then take top-p 0.7. How many words are left? And in the other order?
#
#    <details><summary>Answer</summary>
#
#    At temperature 0.5 the first has 0.615, the first two 0.855: two words. Top-p first keeps
#    three, and the temperature then removes none: three.
#
#    </details>
# 3. *(derive, 6 min)* From how many digits on should the empty reading win under Wu's penalty
#    with $\alpha = 0.6$? Compare with the printed shares.
#
#    <details><summary>Answer</summary>
#
#    Seven digits: $-5.29 / (13/6)^{0.6} = -3.33$, above $-3.51$. Eight:
#    $-5.98 / (14/6)^{0.6} = -3.60$, below. So from eight on, if the model is as sure as the data.
#    Printed is a small share: the margin is small, and beam search returns the best of the right
#    readings, which has more than the average one.
#
#    </details>
# 4. *(code, 10 min)* Train the announcer with `lost=0.0`. What do the three curves do now? What is
#    the remedy of choice: a penalty, or clean data?
#
#    <details><summary>Answer</summary>
#
#    Silence now wins only if the model gives it more than one right reading: with eight digits
#    $\frac13 \cdot \left(\frac12\right)^7 = 0.0026$. A model that never saw an empty text gives it
#    far less, so all three curves should stay near 1 at every width. Clean data takes the fault
#    away; a penalty leaves it in the model.
#
#    </details>

# %%
# The answers to 2 and 3, checked.
cool = (p.log() / 0.5).softmax(-1)
assert int((top_p(cool, 0.7) > 0).sum()) == 2
assert int((top_p(p, 0.7) > 0).sum()) == 3
readings = [math.log(0.97 / 3 / 2 ** (n - 1)) / wu_penalty(n + 1, 0.6) for n in range(2, 9)]
below = [score < math.log(0.03) for score in readings]
assert below.index(True) + 2 == 8  # eight digits
# Other numbers of this page: two words, the best loss, rows without the cache.
assert round(shapes["sharp"][1:3].sum().item(), 2) == 0.07
first, later, lost = math.log(3 / 0.97), math.log(2), -math.log(0.03)
per_reading = 0.97 * (first + 4 * later) + 0.03 * lost  # five digits on average
assert round(per_reading / (0.97 * 6 + 0.03), 3) == 0.665
assert 500 * 501 // 2 == 125_250 == 500 * 250 + 250
print("answers 2 and 3 hold")

# %% [markdown]
# ## Summary
#
# A model gives next-word probabilities, and a search turns them into a sentence: greedy takes the
# best word, beam search keeps several paths, sampling draws. The most probable sentence can be a
# bad one, and a wider beam finds it, so scores are divided by a length penalty. The cache keeps
# every row's key and value, so that a word costs one row of work, and it must follow the beams.
#
# ## Further reading
#
# - Wu et al. (2016), *Google's Neural Machine Translation System*, section 7: the length penalty,
#   with a table of BLEU against $\alpha$.
# - Stahlberg and Byrne (2019), *On NMT Search Errors and Model Errors: Cat Got Your Tongue?*: exact
#   search, and the empty translations.
# - Ott et al. (2018), *Analyzing Uncertainty in Neural Machine Translation*: why wide beams fail.
# - Holtzman et al. (2020), *The Curious Case of Neural Text Degeneration*: top-p, with examples of
#   what beams do to stories.
# - Book, section 2.5, and case study 2: the same decoders on real sentences.
