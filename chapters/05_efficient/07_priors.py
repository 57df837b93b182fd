# %% [markdown] tags=["slide"]
# # Attention priors: Gaussian bias, adaptive span, Synthesizer
#
# A word often attends to the word beside it, whatever the two words are. How far does attention get
# that looks at places only, and never at what stands there?
#
# <small>Prerequisites: [attention](../02_transformer/02_attention.ipynb),
# [positions](../02_transformer/08_positions.ipynb), [better heads](06_head_variants.ipynb) ·
# 25 min · runs on a laptop · book 5.2.4, table 1.2</small>

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

# %% tags=["slide", "fold"]
from deepdive_book.kit.diagrams import cells, svg, text
from deepdive_book.kit.plotting import show

words = ["the", "cat", "sat", "down"]
rows = {
    "content: what was read": [0.25, 0.25, 0.25, 0.25],
    "prior: how far away": [1, 0.5, 0.0625, 0.002],
    "product, made to sum to 1": [0.639, 0.319, 0.04, 0.001],
}
body = [text(290 + 80 * i, 16, word, 15, "key") for i, word in enumerate(words)]
for row, (name, weights) in enumerate(rows.items()):
    role = ("query", "score", "output")[row]
    body.append(text(120, 48 + 38 * row, name, 14, role))
    body += [
        cells(272 + 80 * i, 48 + 38 * row, [w], "weight" if row != 1 else "score", 36)
        for i, w in enumerate(weights)
    ]
show(
    svg(580, 150, body),
    "The query the, over the words the cat sat down. The content gives each a quarter. The prior "
    "gives 1, a half, a sixteenth and next to nothing. Their product, made to sum to one, is 0.64, "
    "0.32, 0.04 and 0.",
)

# %% [markdown]
# *Attention as two opinions multiplied: one from reading, one from distance alone. Here reading has
# no preference, and the prior decides.*
#
# Weights are $\mathrm{softmax}(\text{scores})$, so a term **added** to the scores is a
# distribution **multiplied** onto the weights: a prior. The prior may be a bell around each word
# (Gaussian Transformer), a window that each word predicts (localness), a table of trained numbers,
# or it may be all there is, without any content (Synthesizer). This page builds each, trains some
# of them on tasks where they must fail or must not, and then measures in the heads of a real model
# how much of what they do is a prior. The Gaussian prior, the predicted window, and the table with
# content are not trained here.

# %% [markdown]
# ## By hand: a bell of powers of two
#
# Let the content be even, and the prior $2^{-d^2}$ for distance $d$: $1, \frac12, \frac1{16}$ for
# three words. The sum is $\frac{25}{16}$, so the first word's weights are $\frac{16}{25},
# \frac{8}{25}, \frac{1}{25}$. In scores: add $-d^2 \ln 2$.
#
# The Gaussian Transformer (Guo, Zhang and Liu 2019) adds $-|w d^2 + b|$ with trained $w > 0$ and
# $b \le 0$. Take $w = \ln 2$ and $b = -\ln 2$: at $d = 0$ the term is $-\ln 2$, at $d = 1$ it is
# 0, at $d = 2$ it is $-3 \ln 2$. Powers: $\frac12, 1, \frac18$, over $\frac{13}{8}$. The word
# itself now counts less than its neighbor: its own content reaches it anyway, by the residual.

# %%
import torch

d, ln2 = torch.arange(3.0), torch.tensor(2.0).log()
bell = (-(ln2 * d**2)).softmax(-1)
dented = (-(ln2 * d**2 - ln2).abs()).softmax(-1)
print([round(w, 3) for w in bell.tolist()], [round(w, 3) for w in dented.tolist()])
assert torch.allclose(bell, torch.tensor([16.0, 8, 1]) / 25)
assert torch.allclose(dented, torch.tensor([4.0, 8, 1]) / 13)

# %% [markdown] tags=["slide"]
# ## Four priors
#
# | prior of query $t$ for key $s$ | trained | from |
# |---|---|---|
# | $-\lvert w (t-s)^2 + b \rvert$ | two numbers a head | Guo et al. 2019 |
# | $-(s - P_t)^2 / 2\sigma_t^2$, $P_t$ and $\sigma_t$ from $q_t$ | a small net | Yang et al. 2018 |
# | $R_{ts}$, a table | $T^2$ numbers a head | Tay et al. 2021, added to content |
# | $R_{ts}$ or $F(x_t)_s$, and **no content** | the same | Tay et al. 2021, Synthesizer |
#
# The first three are added to $q \cdot k$. The second reads the query, though no key. In code:


# %%
def gaussian(T, w, b):
    distance = torch.arange(T)[:, None] - torch.arange(T)
    return -(w * distance**2 + b).abs()


def local(q, hidden, window):  # one head: (T, d), (d, d), (d, 2)
    T = len(q)
    center, width = (T * (torch.tanh(q @ hidden) @ window).sigmoid()).unbind(-1)
    return -((torch.arange(T) - center[:, None]) ** 2) / (2 * (width[:, None] / 2) ** 2)


def random_synthesizer(v, R):
    return R[: len(v), : len(v)].softmax(-1) @ v


def dense_synthesizer(x, v, W_1, W_2):
    return ((x @ W_1).relu() @ W_2)[:, : len(v)].softmax(-1) @ v


# %%
from deepdive.attention import (
    DenseScores,
    GaussianPrior,
    LocalAttention,
    RandomScores,
    SynthesizedAttention,
)

torch.manual_seed(0)
places, q = torch.arange(7), torch.randn(1, 1, 7, 4)
with torch.no_grad():
    library = GaussianPrior(1, w=0.3, b=-0.5).bias(q, q, places, places)
    assert torch.allclose(library[0], gaussian(7, 0.3, -0.5), atol=1e-6)
    predicted = LocalAttention(1, 4)
    torch.nn.init.normal_(predicted.window)
    ours = local(q[0, 0], predicted.hidden[0], predicted.window[0])
    assert torch.allclose(predicted.prior(q, q)[0, 0], ours, rtol=1e-6, atol=1e-5)
"both priors equal the library's"

# %% tags=["nbval-check-output"]
x = torch.randn(1, 7, 8)
with torch.no_grad():
    for made in (RandomScores(1, 12), DenseScores(8, 1, 12)):
        layer = SynthesizedAttention(8, 1, made)
        v = layer.v(x)[0]
        if isinstance(made, RandomScores):
            ours = random_synthesizer(v, made.table[0])
        else:
            inner, outer = made.inner, made.outer  # their biases are 0 at the start but for inner's
            inner.bias.zero_()
            ours = dense_synthesizer(x[0], v, inner.weight.T, outer.weight[0])
        assert torch.allclose(layer(x)[0], layer.out(ours), atol=1e-6)
"both Synthesizers equal the library's"

# %% tags=["fold"]
from deepdive_book.kit.plotting import heads

q = torch.randn(1, 2, 12, 4)
predicted = LocalAttention(2, 4)
torch.nn.init.normal_(predicted.window, std=2.0)
with torch.no_grad():
    windows = predicted.prior(q, q)[0].softmax(-1)
maps = torch.stack(
    [
        gaussian(12, 0.1, 0.0).softmax(-1),
        gaussian(12, 0.1, -0.4).softmax(-1),
        windows[0],
        torch.randn(12, 12, generator=torch.Generator().manual_seed(3)).mul(2).softmax(-1),
    ]
)
ticks = [str(i) if i % 3 == 0 else "" for i in range(12)]
show(heads(maps, ticks, ticks, names=["Gaussian", "with a dent", "predicted window", "table"]))

# %% [markdown]
# *What each prior weighs before anything is read, 12 places. Every entry exists; the Gaussians and
# the windows fall off, the table may put its weight anywhere. The predicted windows differ by row
# because the queries do.*
#
# **Limits.** $w = b = 0$, or a table of zeros: plain attention. $w \to \infty$: each word sees only
# itself. A random Synthesizer with $R = \log A$ has exactly the weights $A$. **Costs.** Each prior
# adds one number a pair of tokens to scores that must then be there. **Failures.** A table ends
# where it ends; a Gaussian can only say "near".

# %% [markdown]
# ### Common mistake: the prior after the softmax
#
# "Multiply the weights by the bell" is right in words. In code it loses the sum:

# %%
scores = torch.randn(5, 5, generator=torch.Generator().manual_seed(1))
wrong = scores.softmax(-1) * gaussian(5, 0.3, 0.0).exp()
right = (scores + gaussian(5, 0.3, 0.0)).softmax(-1)
print("sums of the wrong rows", [round(s, 2) for s in wrong.sum(-1).tolist()])
assert torch.allclose(wrong / wrong.sum(-1, keepdim=True), right, atol=1e-6)
assert wrong.sum(-1).max() < 0.9

# %% [markdown]
# **Symptom:** nothing breaks; the outputs are too small, by a factor that differs from row to row
# and from text to text. **Fix:** add the logarithm before the softmax, or divide by the sum. Both
# give the same.

# %% [markdown] tags=["slide"]
# ## When is it enough not to look?
#
# Three tasks on one kind of input. Each of 12 places holds a symbol, a number and a key, the keys
# all different. What each place must name:
#
# - **mirror**: the symbol at the mirrored place. Where to look depends on the place alone.
# - **pointer**: the symbol at the place that its number says. That depends on the row itself.
# - **match**: the symbol of the place whose *key* is its number. That depends on row **and** keys.
#
# One attention layer of 4 heads between an embedding and a linear layer; all data are generated.

# %% tags=["nbval-check-output"]
from torch import nn

from deepdive.core import MultiHeadAttention

T = 12


def draw(n):
    return torch.stack(
        [torch.randint(10, (n, T)), torch.randint(T, (n, T)), torch.rand(n, T).argsort(-1)], -1
    )


def answers(task, rows):
    symbols, numbers, keys = rows.unbind(-1)
    at = {
        "mirror": torch.arange(T).flip(0).expand_as(numbers),
        "pointer": numbers,
        "match": keys.argsort(-1).gather(1, numbers),  # where each key stands
    }[task]
    return symbols.gather(1, at)


rows = draw(1)
{task: answers(task, rows)[0].tolist() for task in ("mirror", "pointer", "match")}


# %%
class Reader(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, 32) for size in (10, T, T, T))
        self.attention, self.out = attention, nn.Linear(32, 10)

    def forward(self, rows):
        parts = [*rows.unbind(-1), torch.arange(T)]  # symbol, number, key, place
        return self.out(self.attention(sum(t(p) for t, p in zip(self.tables, parts, strict=True))))


# %%
from torch.nn.functional import cross_entropy

from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.kit.profile import pick

kinds = {
    "a table (random)": lambda: SynthesizedAttention(32, 4, RandomScores(4, T)),
    "each row guesses (dense)": lambda: SynthesizedAttention(
        32, 4, DenseScores(32, 4, T, d_hidden=16)
    ),
    "rows meet keys (plain)": lambda: MultiHeadAttention(32, 4),
}
steps = pick(ci=300, laptop=800, gpu=800)


# %%
def accuracy(kind, task):
    torch.manual_seed(0)
    reader = Reader(kinds[kind]())

    def loss(reader, rows):
        return cross_entropy(reader(rows).flatten(0, 1), answers(task, rows).flatten())

    options = {"optimizer": adam(reader), "schedule": cosine(1e-2, warmup=20, total=steps)}
    fit(reader, [draw(64) for _ in range(steps)], loss, steps=steps, progress=False, **options)
    test = draw(500)
    with torch.no_grad():
        return (reader(test).argmax(-1) == answers(task, test)).float().mean().item()


# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The dense Synthesizer never compares a query with a key. Which of the three tasks can it do?",
    ["mirror only", "mirror and pointer", "all three, given enough training"],
    answer=1,
    explain="A row makes its scores from itself, so it can follow a number it carries to a place. "
    "Which place holds the matching key differs from input to input, and the row cannot know.",
    key="05_efficient/synthesizer-tasks",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["slide", "surprise"]
from deepdive_book.kit.plotting import heatmap

tasks = ["mirror", "pointer", "match"]
table = torch.tensor([[accuracy(kind, task) for task in tasks] for kind in kinds])
figure = heatmap(table, list(kinds), tasks, digits=2, limits=(0, 1), title="share right")
figure.axes[0].set(xlabel="", ylabel="")
figure.set_size_inches(5.2, 2.6)
show(figure)

# %%
assert table[0, 0] > 0.9 > 0.6 > table[0, 1:].max()
assert table[1, :2].min() > 0.9 > 0.6 > table[1, 2]
assert table[2].min() > 0.9
print("each task is learned by the first kind that can see what it depends on, and by those below")

# %% [markdown]
# *Share of right symbols on new inputs; one in ten is chance.* The three kinds form a ladder: a
# function of the place, of the row, of the pair. Each solves its own step and those before it, and
# none above. **An attention that never looks at the content suffices where what to read is fixed by
# the place; one that never looks at the keys, where the asking row knows the place.** Finding
# something by what it is needs queries and keys.
#
# Tay et al. (2021) found that a random Synthesizer comes near the Transformer in translation, and
# falls behind on tasks over pairs of sentences, which must be compared: the same ladder, on a
# large scale. Their best models *add* the two, content and table: a prior again.

# %% [markdown]
# ### Fewer numbers: two factors
#
# A table of $H L^2$ numbers is more than the rest of the layer for long texts. The factorized
# random form has $R = R_1 R_2^\top$ of rank $r$. The factorized dense form guesses $a + b$ numbers
# and multiplies them into $ab = L$. The paper tiles both: $A$ repeated $b$ times, $B$ repeated $a$
# times, and the product entry by entry. Then score $s$ is $A_{s \bmod a} B_{s \bmod b}$:

# %%
for a, b in ((3, 3), (4, 3), (4, 2)):
    A, B = (torch.randperm(20)[:n].float().add(20) for n in (a, b))
    scores = A.repeat(b) * B.repeat(a)  # (a * b,)
    pairs = {(s % a, s % b) for s in range(a * b)}
    print(f"a = {a}, b = {b}: {len(pairs)} different products for {a * b} places")
    assert len(pairs) == torch.lcm(torch.tensor(a), torch.tensor(b))

# %% [markdown]
# With equal factors the scores repeat after $a$ places: only $\mathrm{lcm}(a, b)$ places are told
# apart. Choose factors without a common divisor. And how well does rank $r$ fit the mirror, a table
# that is a permutation? Its scores need not have full rank: a row of points on a curve is enough to
# make each place the largest for one row
# ([several heads](../02_transformer/06_multi_head.ipynb) has the circle).

# %%
from deepdive.attention import FactorizedRandomScores

for rank in (1, 2, 4):
    kinds[f"rank {rank}"] = lambda rank=rank: SynthesizedAttention(
        32, 4, FactorizedRandomScores(4, T, rank)
    )
    print(f"rank {rank}: {2 * 4 * T * rank:>4} numbers, {accuracy(f'rank {rank}', 'mirror'):.1%}")
print(f"table:  {4 * T * T:>4} numbers, {table[0, 0]:.1%}")

# %% [markdown]
# ### What it costs
#
# The name suggests a cheap layer. Operations a token, and time in one run, for a layer of width 256
# with 4 heads:

# %%
from time import perf_counter

from deepdive_book.kit.flops import count_flops


def seconds(layer, x):
    best = torch.inf
    for _ in range(2):
        start = perf_counter()
        layer(x).sum().backward()
        best = min(best, perf_counter() - start)
    return best


# %%
n = pick(ci=512, laptop=1024, gpu=1024)
layers = {
    "plain": MultiHeadAttention(256, 4),
    "Gaussian": MultiHeadAttention(256, 4, position=GaussianPrior(4)),
    "local": MultiHeadAttention(256, 4, mechanism=LocalAttention(4, 64)),
    "random": SynthesizedAttention(256, 4, RandomScores(4, n)),
    "dense": SynthesizedAttention(256, 4, DenseScores(256, 4, n)),
}
x, took, work = torch.randn(1, n, 256, requires_grad=True), {}, {}
for name, layer in layers.items():
    took[name], work[name] = seconds(layer, x), count_flops(lambda layer=layer: layer(x)) / n
    print(f"{name:>8}: {work[name] / 1e3:>5,.0f} thousand operations a token, "
          f"{took[name] / took['plain']:.1f} times the time of plain")  # fmt: skip
assert work["random"] < work["plain"] == work["Gaussian"]

# %% [markdown]
# The random form saves the projections and half of the products. But a softmax over $T \times T$
# numbers remains, and so does their product with the values: **every Synthesizer is quadratic**,
# and none of these is a way to long texts. And where plain attention runs in a kernel that never
# writes the scores, a trained prior must be there to get its gradient, so time may go up while
# operations go down. The book's table 1.2 lists the Synthesizer under "low rank" for its factorized
# forms; their factors are low in rank, their softmax is not.

# %% [markdown] tags=["slide"]
# ## How much of a real head is a prior?
#
# Take MiniLM's 72 heads, and give each the best prior of a simple kind: one number for each offset
# $s - t$ up to 12 places either way (beyond, one for all), and one each for the columns of [CLS]
# and [SEP], where heads rest. The numbers are the head's own mean weights, over one half of the
# sentences, which are drawn from all kinds of text in the treebank's test part; a row of the prior
# is then made to sum to 1. On the other half: how much of a head's attention does the prior put in
# the wrong place?

# %%
from deepdive.data.trees import treebank
from deepdive.explain.words import cut, read
from deepdive.published import load
from deepdive.published.pretrained import minilm, minilm_tokenizer
from deepdive_book.data.tree_grammar import tree_sentences
from deepdive_book.kit.profile import banner, profile

model, tokenizer = load(minilm()).eval(), minilm_tokenizer()
if profile() == "ci":
    trees = list(tree_sentences(40))
else:
    some = [tree for tree in treebank("test") if 6 <= len(tree) <= 40]
    trees = some[: pick(ci=40, laptop=200, gpu=400)]
marks = tokenizer.bos, tokenizer.eos, tokenizer.unk
texts = [cut(tokenizer.encode, tree.words, *marks)[0] for tree in trees]
half = len(texts) // 2
print(banner("sentences (generated)" if profile() == "ci" else "ud_english_ewt (real)"))
print(f"{len(texts)} sentences")


# %%
FAR = 12


def kind_of_pair(T):
    """For each pair of places its number: 0 and 1 the marks' columns, then the offsets."""
    offset = torch.arange(T) - torch.arange(T)[:, None]
    kinds = offset.clamp(-FAR, FAR) + FAR + 2
    kinds[:, 0], kinds[:, -1] = 0, 1
    return kinds


def fitted(maps):
    """Mean weight by kind of pair for each head: (72, 2 * FAR + 3)."""
    sums, counts = torch.zeros(72, 2 * FAR + 3), torch.full((2 * FAR + 3,), 1e-9)
    for attention in maps:  # (72, T, T)
        kinds = kind_of_pair(attention.shape[-1]).flatten()
        sums.index_add_(1, kinds, attention.flatten(1))
        counts.index_add_(0, kinds, torch.ones(len(kinds)))
    return sums / counts


# %%
def prior(numbers, T):
    weights = numbers[:, kind_of_pair(T)]
    return weights / weights.sum(-1, keepdim=True)


seen = dict(read(model, texts, "*.weights"))  # by text: the reader takes them sorted by length
maps = [torch.cat(seen[i]) for i in range(len(texts))]  # (72, T, T) each
numbers = fitted(maps[:half])

# %% tags=["fold"]
predict(
    "Averaged over MiniLM's heads: which share of the attention can a prior of 27 numbers a head "
    "put in the right place?",
    ["about a tenth", "about a third", "more than half"],
    answer=2,
    explain="More than half. Marks and neighbours take most of what heads give, and both are known "
    "before anything is read. The rest, which is content, differs much between heads.",
    key="05_efficient/prior-of-heads",
)


# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
def misplaced(guess):
    """Share of each head's attention that the guess puts elsewhere, (6, 12)."""
    moved = [(a - guess(a.shape[-1])).abs().sum(-1).mean(-1) / 2 for a in maps[half:]]
    return torch.stack(moved).mean(0).view(6, 12)


even = misplaced(lambda T: torch.full((72, T, T), 1 / T))
by_prior = misplaced(lambda T: prior(numbers, T))
print(f"in the wrong place: even weights {even.mean():.0%}, prior {by_prior.mean():.0%}")
print("by layer", [f"{row.mean():.0%}" for row in by_prior])
assert by_prior.mean() < 0.5
assert (by_prior < even + 0.02).all()

# %% tags=["slide", "fold"]
rows, columns = [f"layer {i}" for i in range(1, 7)], [str(i) for i in range(12)]
title = "attention that its best prior misplaces"
figure = heatmap(by_prior, rows, columns, digits=2, limits=(0, 1), title=title)
figure.axes[0].set(xlabel="head", ylabel="")
show(figure)

# %% tags=["fold"]
best, worst = int(by_prior.argmin()), int(by_prior.argmax())
at = min(range(half, len(texts)), key=lambda i: abs(len(texts[i]) - 11))
ticks = [tokenizer.vocab[i] for i in texts[at].tolist()]
guess = prior(numbers, len(ticks))
four = torch.stack([maps[at][best], guess[best], maps[at][worst], guess[worst]])
names = [
    f"{what} {head // 12 + 1}-{head % 12}"
    for head in (best, worst)
    for what in ("head", "prior of")
]
show(heads(four, ticks, ticks, names=names))

# %% [markdown]
# *Above: heads with little colour are nearly priors, those with much colour read. Below: the head
# that its prior predicts best, and the one it predicts worst, each beside its prior, on one
# sentence of the second half. Heads are named layer-head, layers counted from 1 and heads from 0.*

# %% [markdown]
# ## May the model stop reading?
#
# A head that looks like its prior should be replaceable by it. So replace heads, those first whose
# prior is best, and compare the sentence vector (the mean of the last states) with what it was. As
# a control: the same heads, with even weights.

# %% tags=["fold"]
predict(
    "48 of 72 heads get their prior, and stop looking at what the words are. The cosine between "
    "the sentence vector before and after?",
    ["about 0.3, as for another sentence", "about 0.6", "above 0.9"],
    answer=2,
    explain="Above 0.9. What these heads do can be said in some numbers for offsets and marks. The "
    "same heads with even weights change the vector far more.",
    key="05_efficient/heads-replaced",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %%
from contextlib import ExitStack

from torch.nn.functional import cosine_similarity, normalize

from deepdive.core.hooks import replace


@torch.no_grad()
def sentence(ids, chosen=(), guess=None):
    """The sentence vector, with the chosen heads' weights replaced by those guessed."""
    with ExitStack() as stack:
        for layer in range(6):
            own = [head % 12 for head in chosen if head // 12 == layer]
            if own:

                def swap(weights, own=own, layer=layer):
                    new = weights.clone()
                    new[0, own] = guess[12 * layer : 12 * layer + 12][own]
                    return new

                stack.enter_context(replace(model, f"*.{layer}.attn.mechanism.weights", swap))
        return model(ids[None])[0].mean(0)


# %%
tests = texts[half : half + pick(ci=6, laptop=40, gpu=100)]
order, counts = by_prior.flatten().argsort().tolist(), [0, 12, 24, 36, 48, 60, 72]
plain = torch.stack([sentence(ids) for ids in tests])
kept = {"prior": [], "even weights": []}
for count in counts:
    for name, guesses in (
        ("prior", lambda T: prior(numbers, T)),
        ("even weights", lambda T: torch.full((72, T, T), 1 / T)),
    ):
        new = [sentence(ids, order[:count], guesses(len(ids))) for ids in tests]
        kept[name].append(cosine_similarity(torch.stack(new), plain).mean().item())
unit = normalize(plain, dim=-1)
others = (unit @ unit.T).fill_diagonal_(0).sum() / (len(tests) * (len(tests) - 1))
for name, values in kept.items():
    print(f"{name:>12}:", *(f"{c}: {value:.2f}" for c, value in zip(counts, values, strict=True)))
print(f"vectors of different sentences: {others:.2f}")

# %%
with_prior, even_too = kept["prior"], kept["even weights"]
assert with_prior[4] > 0.9 > 0.8 > even_too[4]  # 48 heads
assert with_prior[5] - with_prior[6] > with_prior[0] - with_prior[3]  # the last 12, the first 36

# %% tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(5.4, 3.2))
axes = figure.subplots()
for (name, values), style in zip(kept.items(), ("o-", "s--"), strict=True):
    axes.plot(counts, values, style, label=name)
axes.axhline(float(others), linestyle=":", color="gray", label="another sentence")
axes.set(xlabel="heads replaced, of 72", ylabel="cosine to the whole model's vector")
axes.set_xticks(counts)
axes.legend()
with_alt(
    figure,
    "Cosine between sentence vectors against the number of heads replaced. With priors "
    + ", ".join(f"{c}: {v:.2f}" for c, v in zip(counts, kept["prior"], strict=True))
    + "; with even weights lower.",
)

# %% [markdown]
# *Replaced in the order of how well the prior predicts them; dotted, the mean cosine between
# vectors of different sentences.* Two thirds of the heads can stop reading, and the sentence vector
# keeps a cosine of 0.92 to what it was (mean of 40 sentences). It matters that it is the right
# prior: with even weights the same heads are missed from the first dozen on. The last dozen costs
# more than the first three dozen together: those are the heads that read.
#
# Two cautions. A cosine of means is a coarse measure: the mean of the words' own vectors is most of
# it, and who did what to whom is a small part. And nothing was trained after the replacing; a model
# that is trained with priors can do better than this curve.

# %% [markdown]
# ## A window for each query
#
# **What differs**: the bell has a center and a width that the query predicts; Yang et al. (2018)
# call it localness, and use it in the lower layers. **Its matrix**: all entries, falling off around
# $P_t$. **Its limit**: $D_t \to \infty$ is plain attention; vectors of zeros put every window at
# the middle, as wide as half the text. **Its cost**: one more product of $d_\text{head}^2$ a
# query, and the bias. **Its failure**: one window. A word that needs two places far apart gets a
# bell over both and everything between.
#
# In the paper the length $I$ is that of the sentence. With padding in the batch, or a causal mask,
# a careless $I$ makes a window depend on what must not be seen. In the library $I$ is the number of
# keys that the query may see:

# %%
from deepdive.core.masks import Causal, Padding

attention = LocalAttention(1, 4)
torch.nn.init.normal_(attention.window)
q = torch.randn(1, 1, 6, 4)
real = torch.tensor([[True] * 4 + [False] * 2])
with torch.no_grad():
    padded, short = attention.prior(q, q, Padding(real)), attention.prior(q[:, :, :4], q[:, :, :4])
    step = attention.prior(q[:, :, 2:3], q[:, :, :3])  # the third step of a decoder
    assert torch.allclose(padded[..., :4, :4], short)
    assert torch.allclose(attention.prior(q, q, Causal())[..., 2:3, :3], step)
"padding moves no window, and a decoder's step is a row of the whole"

# %% [markdown]
# ## A scale for each head: the Multi-Scale Transformer
#
# **What differs**: head $h$ sees at most $\omega_h$ places to each side; lower layers get more
# small scales, higher ones more large (Guo et al. 2020, text classification). A hard prior, 0 or
# $-\infty$. **Its matrix**:

# %%
from deepdive.attention import MultiScaleAttention
from deepdive.core import SoftmaxAttention
from deepdive.core.masks import Window

reaches = (1, 2, 5, None)
masks = [Window(12 if r is None else r, 12 if r is None else r).dense(12)[0, 0] for r in reaches]
q, k, v = torch.randn(3, 1, 4, 12, 8)
with torch.no_grad():
    ours = SoftmaxAttention()(q, k, v, torch.stack(masks))
    assert torch.allclose(MultiScaleAttention(reaches)(q, k, v), ours, atol=1e-6)
allowed = [mask / mask.sum(-1, keepdim=True) for mask in masks]
ticks = [str(i) if i % 3 == 0 else "" for i in range(12)]
show(heads(torch.stack(allowed), ticks, ticks, names=[f"reach {r}" for r in reaches]))
print("entries of 4 heads:", sum(int(mask.sum()) for mask in masks), "of", 4 * 144)

# %% [markdown]
# *The entries that exist, drawn with even weights.* **Its limit**: every reach as long as the text
# is plain attention. **Its cost** is the sum of the windows: a head of reach 5 makes 11 scores a
# query, whatever the length, and only heads without a reach are quadratic. **Its failure**: a layer
# of small scales alone carries nothing further than its largest reach. (The book's table 1.2 names
# this system; the reference beside it there is another paper of a similar title, on language
# models.)

# %% [markdown]
# | | places | the row | the keys | entries | longest text | scores a query |
# |---|---|---|---|---|---|---|
# | plain | by position vectors | yes | yes | all | any | T |
# | Gaussian + content | yes | yes | yes | all | any | T |
# | predicted window + content | yes | yes | yes | all | any | T |
# | table + content | yes | yes | yes | all | the table's | T |
# | random Synthesizer | yes | no | no | all | the table's | T |
# | dense Synthesizer | yes | yes | no | all | the last layer's | T |
# | Multi-Scale | yes | yes | yes | near ones | any | its window |

# %% [markdown]
# ## In practice
#
# - **Add a prior, do not replace the content by it**, unless you know that the task is about
#   places.
# - **A relative bias is the prior in wide use**: a number for each offset and head (T5), or a slope
#   (ALiBi), on the page about positions. They say "near" without a table that ends.
# - **Before you call a head interesting, subtract its prior.** Most of a map is marks and
#   neighbors.
# - **Check lengths**: a table refuses longer texts; make sure that it raises, and does not wrap.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why is a term added to the scores a prior in the sense of probabilities?
#
#    <details><summary>Answer</summary>
#
#    $e^{a + b} = e^a e^b$: the weights are the product of the content's weights and of $e^b$, made
#    to sum to one.
#
#    </details>
# 2. In $-|w d^2 + b|$ with $b < 0$, at which distance is the prior largest?
#
#    <details><summary>Answer</summary>
#
#    Where $w d^2 = -b$, that is $d = \sqrt{-b / w}$; there it is 0.
#
#    </details>
# 3. Which of mirror, pointer and match needs keys, and why?
#
#    <details><summary>Answer</summary>
#
#    Match: the place to read is where a key stands, and no row but that one knows it.
#
#    </details>
# 4. A dense Synthesizer is trained on texts of 512. What does it do with 513 words?
#
#    <details><summary>Answer</summary>
#
#    It has no 513th output. The library raises; a code that cut the text would be wrong in
#    silence.
#
#    </details>
# 5. A prior of 27 numbers places more than half of MiniLM's attention. Does the model need to read
#    only with the rest?
#
#    <details><summary>Answer</summary>
#
#    No: the values are content in any case, and a little attention in the right place can carry the
#    meaning. The last dozen heads changed the sentence vector more than the first three dozen.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* Content weights $(\frac12, \frac14, \frac14)$ and prior $(1, 2, 4)$. What
#    are the weights?
#
#    <details><summary>Answer</summary>
#
#    Products $\frac12, \frac12, 1$, over 2: $(\frac14, \frac14, \frac12)$.
#
#    </details>
# 2. *(derive, 6 min)* Show that a random Synthesizer with $R = \log A$ has the weights $A$ (rows
#    that sum to 1), and that adding any number to a row of $R$ changes nothing. How many numbers of
#    $R$ are free?
#
#    <details><summary>Answer</summary>
#
#    $e^{\log A_{ts}} / \sum_s A_{ts} = A_{ts}$. A constant cancels in the softmax, so each row of
#    $L$ numbers has $L - 1$ free ones.
#
#    </details>
# 3. *(derive, 8 min)* A Gaussian prior of $w$ and content scores within $\pm c$. From which
#    distance on is a word's weight below 1% of that of the query's own place, whatever the content
#    says?
#
#    <details><summary>Answer</summary>
#
#    The ratio is at most $e^{2c - w d^2}$, so $d > \sqrt{(2c + \ln 100) / w}$. With $c = 2$ and
#    $w = 0.1$: 9.3 places. A prior that is too narrow cannot be overruled by reading.
#
#    </details>
# 4. *(measure, 12 min)* Leave the two marks out of `kind_of_pair`, so that only offsets count. How
#    much more is misplaced, and in which layers?
#
#    <details><summary>Answer</summary>
#
#    Delete the line that sets the columns, and fit again. Look first at the middle layers: on [page
#    3.12](../03_bert/12_bertology.ipynb) about half of their attention rests on [CLS].
#
#    </details>

# %%
# The answers to 1, 2 and 3, checked.
content, factor = torch.tensor([0.5, 0.25, 0.25]), torch.tensor([1.0, 2, 4])
assert torch.allclose((content.log() + factor.log()).softmax(-1), torch.tensor([0.25, 0.25, 0.5]))
A, v = torch.rand(5, 5).softmax(-1), torch.randn(5, 3)
assert torch.allclose(random_synthesizer(v, A.log() + 7), A @ v, atol=1e-5)
reach = ((2 * 2 + torch.tensor(100.0).log()) / 0.1).sqrt()
assert abs(reach - 9.3) < 0.05
print("answers 1, 2 and 3 hold")

# %% [markdown]
# ## Summary
#
# A term added to the scores multiplies the weights by a prior, which may depend on the distance, on
# the asking row, or on a table of places. Attention without content does what places decide,
# attention without keys what the asking row knows, and only queries that meet keys can find
# something by what it is. A few numbers a head place more than half of a real model's attention,
# and many of its heads can be replaced by them; those that cannot are the ones that read.
#
# ## Further reading
#
# - Tay, Bahri, Metzler, Juan, Zhao, Zheng (2021), *Synthesizer: Rethinking Self-Attention for
#   Transformer Models*: the forms, and where each falls behind.
# - Guo, Zhang, Liu (2019), *Gaussian Transformer: A Lightweight Approach for Natural Language
#   Inference*.
# - Yang, Tu, Wong, Meng, Chao, Zhang (2018), *Modeling Localness for Self-Attention Networks*.
# - Guo, Qiu, Liu, Xue, Zhang (2020), *Multi-Scale Self-Attention for Text Classification*.
# - Lin, Wang, Liu, Qiu (2022), *A Survey of Transformers*: the section on attention with prior.
