# %% [markdown] tags=["slide"]
# # Attention masks: causal masks and padding masks
#
# A model learns to write by guessing, at every word of a text, the next one. But the whole text
# is its input. What keeps it from reading the answer?
#
# <small>Prerequisites: [attention](02_attention.ipynb), [self-attention](05_self_attention.ipynb),
# [several heads](06_multi_head.ipynb) · 25 min · runs on a laptop · book 2.4.2.3 and
# 2.4.2.4</small>

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
from deepdive_book.kit.diagrams import ROLES, arrow, svg, text
from deepdive_book.kit.plotting import show

sentence, size, body = ["the", "cat", "sleeps", "on", "it"], 44, []
for i, word in enumerate(sentence):
    body.append(text(118 + size * i, 22, word, 14, "key"))
    body.append(text(62, 60 + size * i, word, 14, "query"))
    for j in range(5):
        shade = 0.75 if j <= i else 0.06
        body.append(
            f'<rect x="{98 + size * j}" y="{40 + size * i}" width="40" height="40" rx="4" '
            f'fill="{ROLES["weight"]}" fill-opacity="{shade}" stroke="{ROLES["score"]}"/>'
        )
    body.append(arrow(326, 60 + size * i, 352, 60 + size * i))
    body.append(text(480, 60 + size * i, f"{' '.join(sentence[: i + 1])} …", 14))
    body.append(text(640, 60 + size * i, [*sentence, "(end)"][i + 1], 14, "output", bold=True))
body.append(text(480, 22, "what this row sees", 14))
body.append(text(640, 22, "what it must guess", 14, "output"))
show(
    svg(710, 265, body),
    "A grid of five queries by five keys, filled on and below the diagonal. Row 1 sees the and "
    "must guess cat; row 2 sees the cat and must guess sleeps; and so on to the end.",
)

# %% [markdown]
# *A filled square: this query (left) may attend to this key (above). Each row sees its own word and
# those before it, and must guess the next one.*
#
# Each row of the grid is a question with its answer hidden. Five words give five questions, and one
# pass through the model asks them all. The grid is a **mask**: one bool for each query and key,
# True where the query may attend to the key.
#
# On this page you compute with a mask by hand and measure what one pass is worth. You train a model
# whose mask is missing, and see what the same bools mean in another library.

# %% [markdown]
# ## By hand: three words
#
# Take three words, and let every query have the scores 0, 1, 2. Without a mask each row has the
# weights from the [attention page](02_attention.ipynb): 0.090, 0.245, 0.665. With a causal mask,
# row 0 may see key 0 only, row 1 keys 0 and 1, row 2 all three.
#
# | query | scores, masked | $e^{score}$ | sum | weights |
# |---|---|---|---|---|
# | 0 | 0, $-\infty$, $-\infty$ | 1, 0, 0 | 1 | 1, 0, 0 |
# | 1 | 0, 1, $-\infty$ | 1, 2.718, 0 | 3.718 | 0.269, 0.731, 0 |
# | 2 | 0, 1, 2 | 1, 2.718, 7.389 | 11.107 | 0.090, 0.245, 0.665 |
#
# A masked score is minus infinity *before* the softmax, so its power is 0 and the rest still sums
# to 1. (Multiplying *after* the softmax is the mistake shown on the attention page.) With $M$ the
# mask, $t$ the query and $s$ the key:
#
# $$\mathrm{weights} = \mathrm{softmax}(\mathrm{scores}'), \qquad \mathrm{scores}'_{ts} =
# \mathrm{scores}_{ts} \text{ if } M_{ts} \text{ else } -\infty$$


# %%
import torch


def masked_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # (B, H, T, S)
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return weights @ v


causal = torch.ones(3, 3).tril().bool()  # True on and below the diagonal
scores = torch.tensor([0.0, 1, 2]).expand(3, 3)
weights = scores.masked_fill(~causal, float("-inf")).softmax(-1)
by_hand = torch.tensor([[1, 0, 0], [0.269, 0.731, 0], [0.090, 0.245, 0.665]])
assert torch.allclose(weights, by_hand, atol=6e-4)
weights

# %% [markdown]
# In the library a mask is a small description, such as `Causal()`. `dense(T, S)` writes it out as
# bools for T queries and S keys. Every attention takes it as `mask=`.

# %%
from deepdive.core import SoftmaxAttention
from deepdive.core.masks import Causal

q, k, v = (torch.randn(2, 3, 6, 16) for _ in range(3))  # (B, H, T, d)
bools = Causal().dense(6)
assert torch.equal(bools[0, 0], torch.ones(6, 6).tril().bool())
theirs = SoftmaxAttention()(q, k, v, mask=Causal())
difference = (masked_attention(q, k, v, bools) - theirs).abs().max()
assert difference < 1e-6
print("mask (B, H, T, S):", tuple(bools.shape), end="; ")
print("largest difference below 1e-6:", bool(difference < 1e-6))

# %% [markdown]
# ## One pass asks every question
#
# Without the mask one would have to cut the text after each word, and run the model once for each
# prefix: T passes. With the mask, row $t$ of *one* pass must be what a pass over the first $t + 1$
# words alone would give. Is it? Take a model, untrained, and a text of 40 tokens.
#
# The next five pages build its parts. Here you need one thing of it: two layers of self-attention,
# with something after each, take token ids (B, T) to scores of the next token (B, T, vocab).
# `Decoder` and `Encoder` differ in the mask alone. (This decoder has *no source*, as in language
# models: its cross-attention is left out.)

# %%
from torch import nn

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.stack import Stack
from deepdive.models.transformer.transformer import Decoder, Encoder
from deepdive.positions import SinusoidalPosition


def build(part, vocab=40, d=64):
    """Tokens (B, T) -> logits (B, T, vocab). Decoder masks causally; Encoder does not."""
    torch.manual_seed(0)
    embedding = TokenEmbedding(vocab, d, scale=d**0.5)
    stack = Stack(
        lambda i: Block(MultiHeadAttention(d, 2), FeedForward(d, 2 * d)), 2, LayerNorm(d)
    )
    position = SinusoidalPosition(d, base=20)  # base=20: waves for short texts, see 2.8
    return nn.Sequential(part(embedding, position, stack), TiedHead(embedding))


model = build(Decoder)

# %%
from deepdive.training.objectives import cross_entropy

row = torch.randint(4, 32, (1, 41))
text_in, answers = row[:, :-1], row[:, 1:]

one_pass = cross_entropy(model(text_in), answers)
passes = []
for t in range(40):
    last = model(text_in[:, : t + 1])[:, -1:]  # what the first t + 1 words say of the next
    passes.append(cross_entropy(last, answers[:, t : t + 1]))
many_passes = torch.stack(passes).mean()

weight = model[1].embedding.weight
pull = [torch.autograd.grad(loss, weight)[0] for loss in (one_pass, many_passes)]
assert torch.isclose(one_pass, many_passes, atol=1e-5)
assert torch.allclose(*pull, atol=1e-5)
print(f"loss, one pass: {one_pass:.5f}   40 passes: {many_passes:.5f}")
print(f"rows computed:  {40}              {sum(range(1, 41))}")

# %% [markdown]
# The same loss, and (asserted above) the same gradient, for 40 rows of work in place of
# $1 + 2 + \dots + 40 = 820$. So training does all words at once. Writing goes one by one: a word
# cannot be a question before it is written.

# %% [markdown]
# ## What leaks without it
#
# Now train two models that differ in one thing. Both read windows of 20 words and guess, at each
# word, the next. One has the causal mask (`Decoder`), the other none (`Encoder`). The text is
# generated: numbers in words, one after the other.

# %% tags=["nbval-check-output"]
from deepdive.data.generated import number_words

numbers = [n.replace(",", "").replace("-", " ") for _, n in number_words("en", 10_000, seed=1)]
valid = set(numbers)  # all of 0 .. 9,999
stream = " , ".join(numbers[:3000]).split()
words = sorted(set(stream))
ids = torch.tensor([4 + words.index(w) for w in stream])


def decode(tokens):
    return " ".join(words[i - 4] for i in tokens)


starts = torch.randint(len(ids) - 21, (200, 32))
windows = [ids[s[:, None] + torch.arange(21)] for s in starts]  # 200 batches of (32, 21)
print(f"{len(words)} different words. One window begins: {decode(windows[0][0, :11].tolist())}")

# %%
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.kit.profile import pick


def loss(model, batch):
    return cross_entropy(model(batch[:, :-1]), batch[:, 1:])


steps = pick(ci=400, laptop=600, gpu=600)
models, curves = {"causal mask": build(Decoder), "no mask": build(Encoder)}, {}
for name, model in models.items():
    plan = cosine(3e-3, warmup=50, total=steps)
    history = fit(model, windows, loss, steps=steps, optimizer=adam(model), schedule=plan)
    curves[name] = history.losses

# %% A loss that is too good tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(6.4, 2.8))
axes = figure.add_subplot()
for (name, losses), mark in zip(curves.items(), ("-", "--"), strict=True):
    axes.plot(losses, mark, label=name)
axes.set(xlabel="step", ylabel="training loss", ylim=(0, None))
axes.legend()
with_alt(
    figure,
    "Training loss against step. With the causal mask it falls and levels off above 1; without a "
    "mask it waits a while somewhat above that level, then falls to near 0.",
)

# %% [markdown]
# *With the mask the loss stays where it must: after* six *may come* hundred *or* thousand, *and no
# model can know.*

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The model without a mask has by far the lower training loss. Now both write. Which one writes "
    "better?",
    ["the one with the lower loss", "the one with the mask", "both alike"],
    answer=1,
    explain="The unmasked model learned to copy the next word from its input. When it writes, "
    "the next word is not there yet.",
    key="02_transformer/leak",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
def write(model, prompt, rows=40):
    """Sample words after the prompt until there are 20, `rows` times."""
    tokens = torch.tensor([4 + words.index(w) for w in prompt.split()]).repeat(rows, 1)
    while tokens.shape[1] < 20:
        with torch.no_grad():
            logits = model(tokens)[:, -1, 4 : 4 + len(words)]
        tokens = torch.cat((tokens, 4 + torch.multinomial(logits.softmax(-1), 1)), dim=1)
    return [decode(row) for row in tokens.tolist()]


late, share = {name: sum(losses[-20:]) / 20 for name, losses in curves.items()}, {}
for name, model in models.items():
    texts = write(model, "six thousand nine")  # "hundred" must follow
    share[name] = sum(t.split(" , ")[0] in valid for t in texts) / len(texts)
    print(f"{name}: loss {late[name]:.2f}; {share[name]:.0%} of 40 texts begin with a number\n"
          f"   {texts[0]}")  # fmt: skip

# %%
assert late["no mask"] < 0.5 * late["causal mask"]
assert share["causal mask"] > 0.7 > 0.4 > share["no mask"]
window, after = windows[0][:, :-1], windows[0][:, 1:]
with torch.no_grad():
    logits = models["no mask"](window)
for t in (0, 5, 10, 15, 18, 19):
    print(f"no mask, loss at position {t:>2}: "
          f"{cross_entropy(logits[:, t : t + 1], after[:, t : t + 1]):.2f}")  # fmt: skip

# %% [markdown]
# The model with the low loss cannot write. Its loss by position says why. *The last position, 19,
# asks the only honest question in the window: its answer lies outside. There the loss is of the
# masked model's size.* The maps show how the model answers the others:

# %%
from deepdive.core.hooks import record
from deepdive_book.kit.plotting import heads

ticks = ["six", "hundred", "and", "forty", "two", ",", "nine", "thousand", "and", "five"]
sample = torch.tensor([[4 + words.index(w) for w in ticks]])
maps = {}
for name, model in models.items():
    with record(model, "*.weights") as seen, torch.no_grad():
        model(sample)
    every = torch.cat([values[0][0] for values in seen.values()])  # (4 heads in all, T, T)
    maps[name] = max(every, key=lambda w: w.diagonal(1).sum())  # weight on the next word
assert maps["no mask"].diagonal(1).mean() > 0.25
heads(torch.stack(list(maps.values())), ticks, ticks, names=list(maps))

# %% [markdown]
# *One head each. Left, causal: nothing right of the diagonal, in any head. Right, no mask, the head
# that looks most at the next word: many words look at the very next one, the answer.*
#
# A leak shows itself in training by a loss that is too good. One test finds it without any training
# (here it runs on the two trained models): **change a token, and look which earlier rows move.**
# With a causal mask none may.

# %%
other = window[:1].clone()
other[0, 12] = 4 + (other[0, 12] - 3) % len(words)  # another word at position 12
for name, model in models.items():
    with torch.no_grad():
        moved = (model(window[:1]) - model(other)).abs().amax(-1)[0] > 1e-5
    print(f"{name:>11}: rows {moved.nonzero().min()} to 19 moved")
    assert bool(moved[:12].any()) == (name == "no mask")

# %% [markdown]
# ## The gallery
#
# A mask says *who may see whom*, and there are few kinds. Each is a small class; `&` allows what
# both allow, `|` what either allows.

# %%
from deepdive.core.masks import Dense, Global, Padding, Prefix, Segments, Window

pad = Padding(torch.tensor([[True] * 6 + [False] * 2]))
left_pad = Padding(torch.tensor([[False] * 2 + [True] * 6]))
parts = Segments(torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1]]))
mirror = Dense(torch.eye(8).flip(1).bool())
gallery = {
    "Causal()": Causal(),
    "Padding(real)": pad,
    "Causal() & Padding(real)": Causal() & pad,
    "Causal() & left padding": Causal() & left_pad,
    "Causal() | Prefix(3)": Causal() | Prefix(3),
    "Window(2)": Window(2),
    "Window(1, 1)": Window(1, 1),
    "Window(2, dilation=2)": Window(2, dilation=2),
    "Window(1, 1) | Global((0,))": Window(1, 1) | Global((0,)),
    "Segments(ids)": parts,
    "Causal() & Segments(ids)": Causal() & parts,
    "Dense(bools)": mirror,
}

# %% tags=["fold"]
figure = Figure(figsize=(8.2, 6.6))
for axes, (name, mask) in zip(figure.subplots(3, 4).ravel(), gallery.items(), strict=True):
    axes.imshow(mask.dense(8)[0, 0], cmap="Blues", vmin=0, vmax=1.4)
    axes.set_title(name, size="small")
    axes.set_xticks([i - 0.5 for i in range(9)], [])
    axes.set_yticks([i - 0.5 for i in range(9)], [])
    axes.grid(color="0.8", lw=0.6)
    axes.tick_params(length=0)
figure.supxlabel("key", size="medium")
figure.supylabel("query", size="medium")
with_alt(
    figure,
    "Twelve masks of 8 queries by 8 keys. Causal: a lower triangle. Padding: six full columns. "
    "Their conjunctions: both. Prefix: the triangle and three full columns. Windows: bands, "
    "dilated ones with gaps. Global: a band with a full first row and column. Segments: square "
    "blocks.",
)

# %% [markdown]
# *Queries down, keys across, filled = may attend; `real` marks six of eight tokens, `ids` are
# 0 0 0 1 1 1 1 1.*
#
# | mask | says | where it is used |
# |---|---|---|
# | `Causal()` | itself and what came before | every decoder |
# | `Padding(real)` | real tokens only | every batch of unequal lengths |
# | `Causal() & Padding(real)` | both | a decoder's batch |
# | <code>Causal() &#124; Prefix(n)</code> | the first n open to all | a prompt read whole |
# | `Window(left, right)` | itself, `left` before, `right` after | [2.15](15_complexity.ipynb) |
# | `Window(left, dilation=2)` | the same, every second word | long texts |
# | <code>Window &#124; Global(at)</code> | and a few that see all | long texts (Longformer) |
# | `Segments(ids)` | its own segment | several short texts in one row |
# | `Dense(bools)` | what you wrote | anything else |
#
# **Padding changes columns, not rows.** The rows of padded queries still compute something; nobody
# reads it, and the loss leaves it out.

# %% [markdown]
# ## Encoder and decoder: a rectangle
#
# In cross-attention the queries are the target's T words, and the keys the source's S. The mask is
# T x S, and it is *not* causal: the whole source is known before the first word is written. All
# that is hidden is the source's padding. A Transformer thus uses three masks:
#
# | attention | queries x keys | mask |
# |---|---|---|
# | encoder, self | S x S | `Padding(source != 0)` |
# | decoder, self | T x T | `Causal() & Padding(target != 0)` |
# | decoder, cross | T x S | `Padding(source != 0)` |
#
# And while it writes, one word at a time, there is one query, and the keys are all words so far.
# Queries then stand at the *end* of the keys, so `Causal()` puts the corner of its triangle at the
# right. (Below, two new words at once, so that a corner can be seen.)

# %%
source = torch.tensor([[5, 9, 7, 4, 0]])  # four words and a padding
cross = Padding(source != 0).dense(3, 5)[0, 0]
print("cross, 3 queries x 5 keys:", *cross.int().tolist(), sep="\n  ")
print("the last 2 of 5, causal:", *Causal().dense(2, 5)[0, 0].int().tolist(), sep="\n  ")
assert torch.equal(Causal().dense(2, 5), Causal().dense(5)[:, :, 3:])

# %% [markdown]
# ## A row with no key
#
# What should a query do that may see nothing? It happens: padding on the left under a causal mask
# (picture 4 of the gallery: the first two rows), or an empty source.

# %% tags=["fold"]
predict(
    "All scores of a row are minus infinity. What is its softmax?",
    ["all 0", "all equal, 1 / S", "nan"],
    answer=2,
    explain="Every power is 0, so is their sum, and 0 / 0 is nan. One nan in one row spreads to "
    "the whole model with the first gradient step.",
    key="02_transformer/no-key",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
scores = torch.tensor([[0.0, 1.0, 2.0]])
nothing = torch.zeros(1, 3, dtype=torch.bool)
infinite = scores.masked_fill(~nothing, float("-inf")).softmax(-1)
filled = scores.masked_fill(~nothing, torch.finfo(torch.float32).min).softmax(-1)
library = SoftmaxAttention().weigh(scores, nothing)
assert infinite.isnan().all()
assert not library.any()
print("minus infinity:   ", infinite.tolist()[0])
print("the lowest number:", [round(w, 3) for w in filled.tolist()[0]])
print("this library:     ", library.tolist()[0])

# %% [markdown]
# With the lowest number in place of $-\infty$ all masked scores are equal. The row becomes the
# plain mean of everything it must not see. The library fills in the lowest number (so that
# gradients stay finite), and sets the weights of masked keys to 0 after the softmax. Rows with at
# least one key are not changed by it; a row with no key has weights and output 0.

# %% [markdown]
# ### Common mistake: True means the opposite elsewhere
#
# In this library True = may attend. Look what the same bools mean in PyTorch:
#
# | | a bool True means |
# |---|---|
# | this library, `mask` | may attend |
# | `F.scaled_dot_product_attention`, `attn_mask` | may attend |
# | `nn.MultiheadAttention`, `attn_mask` and `key_padding_mask` | may **not** attend |
# | `nn.Transformer`, its `..._mask` and `..._key_padding_mask` | may **not** attend |
#
# Two PyTorch functions, two meanings. Copy the weights of an `nn.MultiheadAttention` into this
# library's, and give both the same bools:

# %%
from deepdive.published.from_torch import from_torch

theirs = nn.MultiheadAttention(16, 2, batch_first=True)
ours = from_torch(theirs)  # the same weights
x = torch.randn(1, 4, 16)
real = torch.tensor([[True, True, True, False]])
right = ours(x, mask=Padding(real))
agreed, _ = theirs(x, x, x, key_padding_mask=~real)
wrong, weights = theirs(x, x, x, key_padding_mask=real)

assert torch.allclose(right, agreed, atol=1e-6)
assert torch.allclose(weights[..., 3], torch.ones(1, 4))
causal = theirs(x, x, x, attn_mask=Causal().dense(4)[0, 0])[0]
print(f"~real: the same output. real: other numbers, by up to {(right - wrong).abs().max():.2f}")
print("weights of the first word, real:", [round(w, 3) for w in weights[0, 0].tolist()])
print("a flipped causal mask, rows with nan:", causal.isnan().any(-1)[0].tolist())

# %% [markdown]
# **Symptom:** none. Shapes fit, every row sums to one, nothing warns. The words attend to the
# padding and to nothing else. A flipped *causal* mask is kinder: its last row has no key, and
# gives nan.
#
# **Fix:** write `~mask` at the border, once, and test with the line from above: what lies under
# the padding must not matter. This library refuses the commonest case. The longest text of a batch
# has no padding, so with the bools the wrong way round its whole row is False: that is an error,
# which asks whether the mask is inverted. (The text above has a padding, and would pass.)

# %% [markdown]
# ## A mask and a bias
#
# A **bias** is a float added to the scores: it makes a key more or less likely. A mask forbids.
# They are two arguments, and the order is fixed: first every bias, then the mask. Take a bias that
# prefers near words, $-|t - s|$, with a causal mask:

# %%
place = torch.arange(4)
bias = -(place[:, None] - place).abs().float()  # (T, S)
q = k = v = torch.zeros(1, 1, 4, 8)  # all scores 0, so that only bias and mask speak
mechanism = SoftmaxAttention()
with record(mechanism, "weights") as seen:
    mechanism(q, k, v, bias=bias)
    mechanism(q, k, v, mask=Causal())
    mechanism(q, k, v, mask=Causal(), bias=bias)
weights = torch.cat(seen["weights"])[:, 0]  # (3, T, S)
assert torch.allclose(weights[2, 1, :2], torch.tensor([0.269, 0.731]), atol=6e-4)
heads(weights, list("0123"), list("0123"), names=["bias", "mask", "mask and bias"])

# %% [markdown]
# *Left: near keys preferred, on both sides. Middle: equal weights, nothing ahead. Right: both. Its
# row 1 is 0.269, 0.731, the numbers from above: the scores are -1 and 0.*
#
# Many programs write the mask as a bias too: 0 where allowed, and a huge negative number elsewhere.
# That works once. Add *two* such masks, causal and padding, each with the lowest float:

# %%
lowest = torch.finfo(torch.float32).min
ahead = torch.zeros(4, 4).masked_fill(~Causal().dense(4)[0, 0], lowest)
padded = torch.tensor([lowest, lowest, 0.0, 0.0])  # two paddings on the left
added = (ahead + padded)[0].softmax(-1)
left = Padding(torch.tensor([[False, False, True, True]]))
joined = mechanism.weigh(torch.zeros(1, 1, 4, 4), (Causal() & left).dense(4))[0, 0, 0]
assert added[2:].sum() > 0.5
assert not joined.any()
print("row 0, two floats added:  ", [round(w, 3) for w in added.tolist()])
print("row 0, bools joined by &: ", joined.tolist())

# %% [markdown]
# Row 0 may see nothing: keys 0 and 1 are padding, 2 and 3 lie ahead. Where both masks forbid, the
# sum overflows to $-\infty$; where one does, it is the lowest float. So the row attends to a
# padding and to two words *of the future*, a third each. Half precision is closer still to the
# edge: its lowest number is -65,504, and a mask of -1e9 is $-\infty$ at once. Bools have no such
# corner.

# %% [markdown]
# ## How it differs
#
# | | no mask | causal | padding | causal and padding |
# |---|---|---|---|---|
# | row t sees | all | 0 to t | real tokens | real tokens among 0 to t |
# | depends on the batch | no | no | yes | yes |
# | shape that it needs | - | (1, 1, T, S) | (B, 1, 1, S) | (B, 1, T, S) |
# | training questions a pass | - | T | - | one for each real token |
# | a row may be empty | no | no | only an empty text | with padding on the left |
#
# ## In practice
#
# - **A loss that is too good is a leak** until shown otherwise. Change a token, and see which rows
#   move.
# - **Shift the targets** ([2.1](01_seq2seq.ipynb)): a correct causal mask does not help if row $t$
#   must guess token $t$, which it sees.
# - **Pad on the right for training.** The causal mask then hides the padding from every real row.
# - **Say it in bools, and turn them into floats last.** Name the meaning at each border to another
#   library.
# - **Masked work is still work.** The dense form computes all T x S scores and throws half away;
#   fused kernels skip it ([2.15](15_complexity.ipynb)).

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. A text has 10 tokens. How many rows does one pass with the causal mask compute, and how many
#    do the 10 passes over its prefixes? What do both agree in?
#
#    <details><summary>Answer</summary>
#
#    10 rows against $1 + 2 + \dots + 10 = 55$. The loss is the same, and so is its gradient.
#
#    </details>
# 2. At which position of the window was the loss of the model without a mask not small? Why?
#
#    <details><summary>Answer</summary>
#
#    The last: its answer lies outside the window, so it cannot be copied. All others could look
#    at the next word.
#
#    </details>
# 3. Which test finds a leak without looking at the loss, and what did it show for the two models?
#
#    <details><summary>Answer</summary>
#
#    Change one token and see which rows move. With the causal mask only that row and later ones
#    moved; without it earlier ones moved too.
#
#    </details>
# 4. Two new words are written after three. What shape has the mask of `Causal()`, and which of its
#    bools are False?
#
#    <details><summary>Answer</summary>
#
#    2 × 5. Only the last bool of the first row: the queries stand at the end of the keys.
#
#    </details>
# 5. `nn.MultiheadAttention` got the padding mask with the wrong meaning, then the causal one. Which
#    of the two showed itself, and how?
#
#    <details><summary>Answer</summary>
#
#    The causal one: its last row has no key, and gives nan. The padding mask gave no sign: shapes
#    fit, rows sum to one, and the words looked at the padding alone, with weight 1.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 3 min)* How many of the 64 squares are filled in `Causal()`, and in `Causal() &
#    Padding(real)` with six real tokens?
#
#    <details><summary>Answer</summary>
#
#    $8 \cdot 9 / 2 = 36$. The last two columns lose $2 + 1 = 3$, so 33.
#
#    </details>
# 2. *(predict, 4 min)* What does `Causal() & Window(1, 1)` look like? Which single mask is equal to
#    it?
#
#    <details><summary>Answer</summary>
#
#    Two diagonals: itself and the one before. `Window(1)`.
#
#    </details>
# 3. *(find the bug, 5 min)* A colleague writes `torch.ones(T, T).triu().bool()` as the `attn_mask`
#    of `nn.MultiheadAttention`, where True = may not attend. What happens?
#
#    <details><summary>Answer</summary>
#
#    `triu()` includes the diagonal, so no query sees itself, and row 0 sees nothing: nan in row 0
#    (0 with `need_weights=False`, by another kernel). Right is `triu(1)`.
#
#    </details>
# 4. *(code, 8 min)* Two texts are packed in one row. Each must be written from left to right, and
#    neither may see the other. Which mask, and which squares does it fill for lengths 2, 3?
#
#    <details><summary>Answer</summary>
#
#    `Causal() & Segments(ids)`: a small triangle for each text, 3 and 6 squares.
#
#    </details>
# 5. *(measure, 15 min)* Train the unmasked model on windows of 5 words instead of 20. Its
#    loss is higher. Why, and by how much?
#
#    <details><summary>Answer</summary>
#
#    Only the last position asks an honest question. It is one in 5 instead of one in 20. So its
#    loss, of the masked model's size, adds four times as much to the mean: a fifth of it instead
#    of a twentieth. (One run of 600 steps: 0.07 for 20 words, 0.26 for 5.)
#
#    </details>

# %%
# The answers to 1 to 4, checked.
assert [mask.dense(8).sum() for mask in (Causal(), Causal() & pad)] == [36, 33]
assert torch.equal((Causal() & Window(1, 1)).dense(8), Window(1).dense(8))
three = torch.randn(1, 3, 8)
colleague = nn.MultiheadAttention(8, 2, batch_first=True)
rows = colleague(three, three, three, attn_mask=torch.ones(3, 3).triu().bool())[0][0]
assert rows.isnan().any(-1).tolist() == [True, False, False]
packed = Causal() & Segments(torch.tensor([[0, 0, 1, 1, 1]]))
assert packed.dense(5).sum() == 3 + 6
assert torch.finfo(torch.float16).min == -65_504  # and what is below it is minus infinity:
assert torch.tensor(-1e9).half() == float("-inf")
print("answers 1 to 4 hold")

# %% [markdown]
# ## Summary
#
# A mask says which keys a query may see, and acts before the softmax, so that each row still sums
# to one. The causal mask makes one pass over a text ask a question at every word, each with its
# answer hidden; without it the loss falls to near 0 and the model cannot write. True means
# *may attend* here and the opposite in `nn.MultiheadAttention`, and only a test that changes what
# is hidden finds the difference.
#
# ## Further reading
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.2.3: the three attentions and the
#   one that is masked.
# - Radford et al. (2018), *Improving Language Understanding by Generative Pre-Training*, section
#   3.1: the causal mask as the whole of a language model.
# - Beltagy, Peters, Cohan (2020), *Longformer*, figure 2: windows, dilated windows, global tokens.
# - Dong et al. (2019), *Unified Language Model Pre-training*, figure 1: one model, three masks.
