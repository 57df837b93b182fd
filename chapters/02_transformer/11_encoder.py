# %% [markdown] tags=["slide"]
# # The Transformer encoder
#
# In `( [ x { x x` every closing bracket has been replaced by an `x`. Which `x` was which? Each
# enters the model as the same row of numbers. What happens to that row on its way up the layers?
#
# <small>Prerequisites: [multi-head attention](06_multi_head.ipynb),
# [positions](08_positions.ipynb), [norms](09_residuals_norms.ipynb),
# [feed-forward](10_feed_forward.ipynb) · 30 min · runs on a laptop · book 2.4.5</small>

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
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.plotting import show

marks, partners = "([x{xx", {2: 1, 4: 3, 5: 0}
body = [text(60 + 80 * i, 120, mark, 24, bold=True) for i, mark in enumerate(marks)]
body += [text(60 + 80 * i, 165, "?", 17, "output") for i in partners]
closing = {2: "]", 4: "}", 5: ")"}
body += [text(60 + 80 * i, 190, mark, 22, "output") for i, mark in closing.items()]
for i, j in partners.items():
    left, right, high = 60 + 80 * j, 60 + 80 * i, 100 - 16 * (i - j)
    body.append(
        f'<path d="M {right} 102 C {right} {high - 30}, {left} {high - 30}, {left} 102" '
        f'fill="none" stroke="{ROLES["weight"]}" stroke-width="4"/>'
    )
show(
    svg(520, 210, body),
    "The marks ( [ x { x x. Arcs lead from the first x back to [, from the second to {, from the "
    "third over everything to the opening (. The answers are ] } ).",
)

# %% [markdown]
# *Each `x` must find its partner. The nearest open bracket is right only if nothing inside has
# closed it already.*
#
# An **encoder** turns a row that depends on the token alone into a row that depends on the whole
# sequence. It repeats one layer: look around (self-attention), then think alone (feed-forward). You
# know all the parts. On this page you put them together in nine lines, count the parameters of the
# paper's model with a pencil, and train an encoder on brackets, to read what each layer knows.

# %% [markdown]
# ## One layer, from bottom to top

# %% tags=["fold"]
from deepdive_book.kit.diagrams.layers import Sublayer, one_layer

parts = [
    Sublayer("self-attention", "weight", "W_q, W_k, W_v, W_out: 4 (d² + d)"),
    Sublayer("feed-forward", "value", "d → d_ff → d: 2 d d_ff + d_ff + d"),
]
show(
    one_layer(parts, "x  (B, S, d)", "x  (B, S, d)", width=520),
    "An encoder layer from bottom to top: self-attention, add and norm, feed-forward, add and "
    "norm. The residual goes around each sublayer on the left. The shape stays (B, S, d).",
)

# %% [markdown]
# *The light blue lines are the residuals: a sublayer adds to the row, and never replaces it.
# Beside each sublayer its number of parameters; each norm has $2d$.*
#
# | | mixes tokens | mixes dimensions | the same weights for each token |
# |---|---|---|---|
# | self-attention | yes | in its four matrices | yes |
# | feed-forward | no | yes | yes |
# | norm | no | through mean and variance | yes |
#
# Only one of the three lets a token know of another. Without attention the model treats each word
# as if it stood alone.
#
# By hand, follow one row of four numbers. Let attention and feed-forward have computed what they
# add; you do the rest. The norms are as at the start of training: gain 1, bias 0.

# %% tags=["nbval-check-output"]
import torch

row = torch.tensor([1.0, 0, 2, 1])
from_attention = torch.tensor([1.0, 2, 0, -1])
from_ff = torch.tensor([1.0, 0, -1, 0])


def norm(x):
    return (x - x.mean()) / x.var(unbiased=False).sqrt()


middle = norm(row + from_attention)
after = norm(middle + from_ff)
print("row + attention:", (row + from_attention).tolist())
print("after the norm: ", *(f"{value:.3f}" for value in middle))
print("after the layer:", *(f"{value:.3f}" for value in after))

# %% [markdown]
# Check the middle line: $(2, 2, 2, 0)$ has mean $1.5$ and variance
# $(3 \cdot 0.5^2 + 1.5^2)/4 = 0.75$. So the first number is $0.5/\sqrt{0.75} = 0.577$ and the last
# $-1.5/\sqrt{0.75} = -1.732$.

# %% [markdown]
# ## In code: nine lines
#
# $$x \leftarrow \mathrm{norm}_1(x + \mathrm{attn}(x)) \qquad
# x \leftarrow \mathrm{norm}_2(x + \mathrm{ff}(x))$$

# %%
from torch import nn

from deepdive.core import FeedForward, LayerNorm, MultiHeadAttention


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.ff = FeedForward(d_model, d_ff)
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)

    def forward(self, x, mask=None):  # (B, S, d_model) -> (B, S, d_model)
        x = self.norm1(x + self.attn(x, mask=mask))
        return self.norm2(x + self.ff(x))


# %% [markdown]
# Check it against the library's `Block` and torch's layer, with the same weights in all three, and
# with padding under the mask.

# %%
from deepdive.core.masks import Padding
from deepdive.published.from_torch import from_torch

theirs = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
block, layer = from_torch(theirs), EncoderLayer(32, 4, 64)
layer.attn, layer.ff = block.attn, block.ff
layer.norm1, layer.norm2 = block.attn_residual.norm, block.ff_residual.norm
x, real = torch.randn(2, 5, 32), torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
with torch.no_grad():
    ours = layer(x, Padding(real))
    assert (ours - block(x, mask=Padding(real))).abs().max() < 1e-6
    expected = theirs(x, src_key_padding_mask=~real)  # torch: True = padding
    assert (ours - expected)[real].abs().max() < 1e-6
tuple(ours.shape)

# %% [markdown]
# ## How many parameters?
#
# The paper's base model has $d = 512$, $d_{ff} = 2048$, six layers on either side, and a vocabulary
# of about 37,000 pieces (frequent words, and parts of rarer ones). The first two rows you know from
# the pages before; add them up:
#
# | part | formula | number |
# |---|---|---|
# | attention | $4(d^2 + d)$ | 1,050,624 |
# | feed-forward | $2\,d\,d_{ff} + d_{ff} + d$ | 2,099,712 |
# | two norms | $4d$ | 2,048 |
# | **an encoder layer** | sum | **3,152,384** |
# | a decoder layer: one more attention and norm | $+\;4(d^2 + d) + 2d$ | 4,204,032 |
# | six and six | | 44,138,496 |
# | embedding, shared by all | $37000\,d$ | 18,944,000 |
# | **the model** | | **63,082,496** |
#
# Now count what the library builds. On torch's `meta` device nothing is allocated.

# %%
from deepdive.models.transformer.transformer import base
from deepdive_book.kit.tables import table

with torch.device("meta"):
    model = base()


def count(module):
    return sum(p.numel() for p in module.parameters())


assert count(model.encoder.stack.blocks[0]) == 3_152_384
assert count(model.decoder.stack.blocks[0]) == 4_204_032
assert count(model) == 63_082_496
by_part = {
    "feed-forward": sum(count(m) for m in model.modules() if isinstance(m, FeedForward)),
    "attention": sum(count(m) for m in model.modules() if isinstance(m, MultiHeadAttention)),
    "embedding": model.encoder.embedding.weight.numel(),
    "norms": sum(count(m) for m in model.modules() if isinstance(m, LayerNorm)),
}
rows = [(name, number, number / count(model)) for name, number in by_part.items()]
table(rows, ["part", "parameters", "share"], formats={"share": ".1%"})

# %% [markdown]
# The paper prints 65 million (its table 3), which a vocabulary of 40,745 would give; ours is
# counted with 37,000, as its section 5.1 says. Two thirds of an encoder layer stand in the
# feed-forward part. Note what is *not* in the formula: the number of heads. Eight heads of 64 cost
# as much as one of 512.

# %% [markdown]
# ## Why embeddings are multiplied by $\sqrt d$
#
# At the bottom of the encoder stands $\sqrt d \cdot E[\text{token}] + \text{position}$. The paper
# gives no reason for the factor. Here is one, with a pencil.
#
# The matrix $E$ also serves as the output layer, where a score is a dot product of $d$ terms: a row
# of $E$ times a normed row, whose entries have variance 1. To give scores of variance 1, the
# entries of $E$ are drawn with variance $1/d$. So a row of $E$ has length
# about $\sqrt{d \cdot 1/d} = 1$. A row of sines and cosines has $d/2$ pairs with
# $\sin^2 + \cos^2 = 1$, so its length is $\sqrt{d/2}$: at $d = 512$ that is **16**. The word would
# be a whisper beside its place. Multiplied by $\sqrt{512} = 22.6$, it is a little louder.
#
# Look at it: two words at two places, the length of their rows, and how alike the sums are.

# %%
from deepdive.positions import SinusoidalPosition

d = 512
E, place = torch.randn(2, d) / d**0.5, SinusoidalPosition(d).table(torch.tensor([3, 9]))
print(f"length of a word {E.norm(dim=1).mean():.1f}, of a place {place.norm(dim=1).mean():.1f}")
for factor in (1.0, d**0.5):
    rows = factor * E[:, None] + place  # word, place, d
    same_word = torch.cosine_similarity(rows[0, 0], rows[0, 1], dim=0)
    same_place = torch.cosine_similarity(rows[0, 0], rows[1, 0], dim=0)
    print(f"factor {factor:4.1f}: same word, other place {same_word:.2f}; ", end="")
    print(f"other word, same place {same_place:.2f}")
    assert (same_place > 0.95) == (factor == 1.0)

# %% [markdown]
# Without the factor two different words at one place are nearly the same row: the first layer
# hardly sees words. With it the word is the louder of the two. Training can grow the embeddings
# instead. The bracket model below measures the factor.

# %% [markdown]
# ## An encoder for brackets
#
# The data are generated: 2 to 6 pairs of three kinds, well nested, each closing bracket written as
# `x`. The marks `( [ { x` are the numbers 1 to 4, and 0 is padding. The target of an `x` is the
# kind of its partner, 1 to 3; opening brackets have no target.

# %%
import random

from torch.nn.utils.rnn import pad_sequence


def brackets(draw, pairs):
    marks, partner, waiting = [], [], []
    while len(marks) < 2 * pairs:
        opened = sum(mark < 4 for mark in marks)
        if opened < pairs and (not waiting or draw.random() < 0.5):
            waiting.append(len(marks))
            partner.append(-1)
            marks.append(draw.randint(1, 3))  # ( [ {
        else:
            partner.append(waiting.pop())
            marks.append(4)  # x
    return marks, partner


# %%
def batches(n, seed):
    draw, made = random.Random(seed), []
    items = [brackets(draw, draw.randint(2, 6)) for _ in range(n)]
    for i in range(0, n, 64):
        marks = [torch.tensor(m) for m, _ in items[i : i + 64]]
        kinds = [torch.tensor([m[j] if j >= 0 else 0 for j in p]) for m, p in items[i : i + 64]]
        made.append((pad_sequence(marks, batch_first=True), pad_sequence(kinds, batch_first=True)))
    return made, items


train, _ = batches(20_000, seed=1)
_, test = batches(600, seed=2)
" ".join(" ([{x"[mark] for mark in test[0][0]), test[0][1]

# %% [markdown]
# *The list gives the place of each partner, counted from 0; −1 stands at open brackets.*
#
# The model: embedding and position, layers, and one linear layer that names the kind. Here the norm
# stands *before* each sublayer (`PreNorm`), as [2.9](09_residuals_norms.ipynb) advises. `scale=8.0`
# is the factor $\sqrt d$ for $d = 64$.

# %%
from deepdive.core import Block, PreNorm
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.stack import Stack
from deepdive.models.transformer.transformer import Encoder
from deepdive.training import Validation, fit
from deepdive.training.objectives import cross_entropy
from deepdive.training.optim import adam, cosine
from deepdive_book.kit.profile import pick


class Tagger(nn.Module):
    def __init__(self, n_layers, d=64, scale=8.0):
        super().__init__()
        torch.manual_seed(0)
        embedding = TokenEmbedding(5, d, scale=scale)
        stack = Stack(
            lambda i: Block(MultiHeadAttention(d, 2), FeedForward(d, 2 * d), residual=PreNorm),
            n_layers,
            LayerNorm(d),
        )
        self.encoder = Encoder(embedding, SinusoidalPosition(d), stack)
        self.out = nn.Linear(d, 4)

    def forward(self, marks):  # (B, S) -> (B, S, 4)
        return self.out(self.encoder(marks, marks != 0))


# %%
def teach(model, steps, **watch):
    def loss(model, batch):
        return cross_entropy(model(batch[0]), batch[1])  # target 0 is not counted

    plan = {"optimizer": adam(model), "schedule": cosine(4e-3, warmup=40, total=steps)}
    return fit(model, train, loss, steps=steps, **plan, **watch)

# %%
from collections import defaultdict


def by_distance(model):
    """How often the kind is right, for each distance from an x to its partner."""
    right, total = defaultdict(int), defaultdict(int)
    for marks, partner in test:
        with torch.no_grad():
            said = model(torch.tensor([marks]))[0].argmax(-1).tolist()
        for i, j in enumerate(partner):
            if j >= 0:
                total[i - j] += 1
                right[i - j] += said[i] == marks[j]
    return right, total


def accuracy(model):
    right, total = by_distance(model)
    return sum(right.values()) / sum(total.values())

# %% [markdown]
# While the two-layer model trains, keep its maps of one example every 50 steps, for later.

# %%
from deepdive.core.hooks import ablate, record


def look(marks, pattern):
    with record(models[2], pattern) as seen, torch.no_grad():
        models[2](torch.tensor([marks]))
    return [values[0][0] for values in seen.values()]  # one a layer


example = [1, 2, 4, 3, 1, 4, 4, 4]  # ( [ x { ( x x x


def keep(model):
    snapshots.append(torch.cat(look(example, "encoder.*.weights")))  # (4, 8, 8)
    return -len(snapshots)  # fit keeps the weights with the lowest value: the newest


# %%
steps = pick(ci=600, laptop=900, gpu=900)
models, snapshots = {2: Tagger(2)}, []
keep(models[2])
history = teach(models[2], steps, validate=Validation(keep, every=50))
two = accuracy(models[2])
assert two > 0.85
f"{two:.1%} of the x named rightly, by chance a third"

# %% [markdown]
# ## Reading the weights

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "An `x` that is far from its partner must find it. On which place does the largest weight of "
    "its row lie, in the second layer?",
    ["on the partner", "on the place after the partner", "on the place before itself"],
    answer=1,
    explain="The first layer has a head that copies each mark into the place after it. So the row "
    "after the partner knows the partner's kind, and that is where the second layer reads it.",
    key="02_transformer/encoder-brackets",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["fold", "surprise"]
from deepdive_book.kit.plotting import heads

maps = torch.cat(look(example, "encoder.*.weights"))  # (4, 8, 8)
names = [f"layer {i}, head {h}" for i in (1, 2) for h in (0, 1)]
signs = [f"{place}{' ([{x'[mark]}" for place, mark in enumerate(example)]  # 0( 1[ 2x ...
heads(maps, signs, signs, names=names)

# %% [markdown]
# *Queries down, each mark with its place. The partners of the four* `x` *stand at 1, 4, 3 and 0.
# Look for a line of strong color one place left of the diagonal in layer 1.*
#
# Now count over all test sequences, for the `x` that are three places or more from their partner:
# where is the largest weight?

# %%
spots = ["on the partner", "one after it", "one before the x"]
found, far = torch.zeros(4, 3), 0
for marks, partner in test:
    tops = torch.cat(look(marks, "encoder.*.weights")).argmax(-1)  # (4, S)
    for i, j in enumerate(partner):
        if j >= 0 and i - j >= 3:
            far += 1
            found += torch.stack([tops[:, i] == place for place in (j, j + 1, i - 1)], dim=1)
found /= far
rows = [(name, *shares) for name, shares in zip(names, found.tolist(), strict=True)]
table(rows, ["largest weight", *spots], formats=dict.fromkeys(spots, ".0%"))

# %% [markdown]
# Two heads stand out. In the first layer one looks mostly at the place before: it copies each mark
# one place to the right. In the second layer one looks at the place *after* the partner, where that
# copy now is. Whoever expects the weight on the partner itself would say that this model does not
# find it.
#
# Is that how it works? Silence the copying head, and see which `x` suffer.

# %%
copying = int(found[:2, 2].argmax())
with ablate(models[2], "encoder.stack.blocks.0.attn.heads", heads=[copying]):
    right, total = by_distance(models[2])
without = {distance: right[distance] / total[distance] for distance in (1, 3, 5, 7)}
right, total = by_distance(models[2])
whole = {distance: right[distance] / total[distance] for distance in (1, 3, 5, 7)}
assert found[:2, 2].max() > 0.6  # mostly
assert found[2:, 1].max() > 0.35
assert sum(without.values()) < sum(whole.values()) - 0.5
rows = [(f"{distance} away", whole[distance], without[distance]) for distance in whole]
table(rows, ["partner", "right", "silenced"], formats={"right": ".0%", "silenced": ".0%"})

# %% [markdown]
# Chance is a third. The nearest partner suffers as well: it stands one place back, just where the
# silenced head looks. (Whole pairs stand between an `x` and its partner, so the distance is odd.)
#
# When did the two heads form? Here are their maps, from the first step to the last.

# %% tags=["fold"]
from deepdive_book.kit.frame_strip import film

pair = [copying, 2 + int(found[2:, 1].argmax())]
times = [t for t in (0, 50, 100, 150, 200, 300, 400, 600, 900) if t <= steps]
frames, captions = [], []
for t in times:
    both = [names[i] for i in pair]
    frames.append(heads(snapshots[t // 50][pair], signs, signs, names=both, limits=(0, 1)))
    recent = history.losses[max(t - 25, 0) : max(t, 1)]
    captions.append(f"step {t}: loss {sum(recent) / len(recent):.2f}")
film(
    frames,
    captions,
    "Maps of the copying head and of the head that finds the partner, while they are trained. Both "
    "begin as it happens. A dark line one place left of the diagonal forms in the first; in the "
    "second, single dark cells on the places after far partners.",
)

# %% [markdown]
# *Left, the copying head and its line one place left of the diagonal. Right, the strong cells one
# place after far partners: row 6, whose partner stands at 3, looks at 4. In this run the line comes
# first. That is one run: with another seed in* `Tagger` *see whether it does so again.*
#
# Now a longer sequence, to press and read yourself. Its last marks have their partners far away.

# %%
from deepdive_book.kit.explorer import attention_explorer

longer = next(m for m, p in test if max(i - j for i, j in enumerate(p) if j >= 0) == 9)
signs = [f"{place}{' ([{x'[mark]}" for place, mark in enumerate(longer)]
attention_explorer(models[2], torch.tensor([longer]), signs, start=("encoder", 2, pair[1] - 2))

# %% [markdown]
# Find the partner of an `x` with a pencil first, then press the `x`: does the head look one place
# after it? Press an opening bracket: who looks at it? Then choose the copying head in layer 1.

# %% [markdown]
# ## Reading the rows
#
# Weights say where a row looks, not what it knows. To ask a row what it knows, fit a **linear
# probe**: the best linear map from rows to an answer, on half of the test sequences, tried on the
# other half. Three questions, at three heights:
#
# - which mark is this? (known at the bottom)
# - which mark stands before it? (needs one look)
# - for an `x` that is far from its partner: which kind is the partner?

# %%
heights = ["embedding", "layer 1", "layer 2"]
rows, answers = [[], [], []], []
for marks, partner in test:
    states = look(marks, "encoder.embedded") + look(marks, "encoder.*.stream")
    for height, state in zip(rows, states, strict=True):
        height.append(state)
    for i, j in enumerate(partner):
        kind = marks[j] if j >= 0 and i - j >= 3 else 0
        answers.append((marks[i], marks[i - 1] if i else 0, kind))
answers = torch.tensor(answers)  # (N, 3)

# %%
def probe(x, y):  # rows (N, d), classes (N,)
    x = torch.cat([x, torch.ones(len(x), 1)], dim=1).double()
    half, wanted = len(x) // 2, nn.functional.one_hot(y).double()
    ridge = 0.1 * torch.eye(x.shape[1], dtype=torch.float64)  # keeps the map's numbers small
    known = x[:half]
    fitted = torch.linalg.solve(known.T @ known + ridge, known.T @ wanted[:half])
    return ((x[half:] @ fitted).argmax(-1) == y[half:]).double().mean().item()


questions = {"which mark": 0, "the mark before": 1, "partner of a far x": 2}
knows = {}
for question, column in questions.items():
    of = answers[:, 2] > 0 if column == 2 else slice(None)
    knows[question] = [probe(torch.cat(height)[of], answers[of, column]) for height in rows]
table([(question, *shares) for question, shares in knows.items()], ["probe", *heights],
      formats=dict.fromkeys(heights, ".0%"))  # fmt: skip

# %% What each layer knows tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(6.2, 3.0))
axes = figure.add_subplot()
for (question, shares), style in zip(knows.items(), ("o-", "s--", "^:"), strict=True):
    axes.plot(heights, shares, style, label=question)
axes.set(ylabel="probe is right", ylim=(0, 1.05))
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
with_alt(
    figure,
    "Three lines over embedding, layer 1, layer 2. Which mark: all right at the bottom. The mark "
    "before: low at the bottom, nearly all after layer 1. Partner of a far x: a third at the "
    "bottom, between after layer 1, high after layer 2.",
)

# %%
assert knows["which mark"][0] > 0.99
assert knows["the mark before"][1] > knows["the mark before"][0] + 0.3
assert knows["partner of a far x"][0] < 0.5
assert knows["partner of a far x"][2] > knows["partner of a far x"][1] + 0.1

# %% [markdown]
# *At the bottom all* `x` *are one row, but for their place, so a probe can only guess. The first
# layer brings in the neighbor and some of the far partners, the second most of the others.*
#
# That is what happens to the row of an `x` on its way up, and what "contextual" means: the same
# token, at another height, in another sequence, is another row. And the order is the lesson of the
# stack: the second layer can ask only for what the first has already put there.

# %% [markdown]
# ## How many layers?
#
# If the answer takes two steps, one layer should fail where two are needed: on partners that are
# far away, with other brackets between. An `x` right after an open bracket closes that one, and
# needs one look only.

# %%
for n_layers in (1, 3):
    models[n_layers] = Tagger(n_layers)
    teach(models[n_layers], steps)
curves = {}
for n_layers in (1, 2, 3):
    right, total = by_distance(models[n_layers])
    curves[n_layers] = [right[d] / total[d] for d in (1, 3, 5, 7, 9)]
    print(n_layers, "layers:", f"{accuracy(models[n_layers]):.1%}", "in all")

# %% tags=["fold"]
figure = Figure(figsize=(6.2, 3.0))
axes = figure.add_subplot()
for (n_layers, shares), style in zip(curves.items(), ("o-", "s--", "^:"), strict=True):
    axes.plot((1, 3, 5, 7, 9), shares, style, label=f"{n_layers} layer" + "s" * (n_layers > 1))
axes.axhline(1 / 3, color="#8a8a8a", linestyle="-.", label="chance")
axes.set(xlabel="places from an x to its partner", ylabel="named rightly", ylim=(0, 1.05))
axes.set_xticks((1, 3, 5, 7, 9))
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
with_alt(
    figure,
    "Accuracy against distance for one, two and three layers. All are near 1 at distance 1; with "
    "distance one layer falls furthest, and more layers less.",
)

# %%
far = {n_layers: sum(shares[2:4]) / 2 for n_layers, shares in curves.items()}  # distance 5 and 7
assert min(shares[0] for shares in curves.values()) > 0.9
assert far[2] > far[1] + 0.05
{n_layers: f"{share:.0%} right at distances 5 and 7" for n_layers, share in far.items()}

# %% [markdown]
# *All depths agree up to distance 3: there just one pair stands between, and the partner is always
# three places back. From 5 on what stands between can differ, and the second layer pays.*
#
# The paper's table 3 (rows C) says the same of translation: 2, 4, 6 and 8 layers gave 23.7, 25.3,
# 25.8 and 25.5 BLEU. That was 100,000 steps on eight GPUs, this is a toy; what both show is that
# each further step up gains less, and the paper's last one nothing.

# %% [markdown]
# ## The factor $\sqrt d$, measured
#
# Above, a pencil found that without the factor the place drowns the word. Does it matter here? The
# same model, start and data, with `scale=1`:

# %% tags=["fold"]
predict(
    "Without the factor sqrt(d), does the bracket model learn slower or faster?",
    ["slower: it hardly sees the brackets", "faster in the beginning", "it learns nothing"],
    answer=1,
    explain="There are only four marks, and a norm before the first layer. What is hard here is "
    "the order, and the quieter the words, the clearer the places.",
    key="02_transformer/embedding-scale",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
quiet = Tagger(2, scale=1.0)
losses = {"factor 8": history.curve(25), "factor 1": teach(quiet, steps).curve(25)}
print(f"factor 8: {two:.1%} right, factor 1: {accuracy(quiet):.1%}")
figure = Figure(figsize=(6.2, 2.8))
axes = figure.add_subplot()
for (name, curve), style in zip(losses.items(), ("-", "--"), strict=True):
    axes.plot(curve["step"], curve["loss"], style, label=name)
axes.set(xlabel="step", ylabel="loss", ylim=(0, None))
axes.legend()
with_alt(
    figure,
    "Two loss curves of the bracket model; the one without the factor begins higher, is the lower "
    "one for a while, and ends beside the other.",
)

# %%
assert sum(losses["factor 1"]["loss"][2:8]) < sum(losses["factor 8"]["loss"][2:8])
print("without the factor the loss is lower from step 75 to 200")

# %% [markdown]
# *A reason is not a result.* The lengths are as computed, but in a task that is all about order the
# louder place helps at first, and training can change the lengths anyway. At the end neither wins
# clearly (other seeds gave either order). With a real vocabulary the balance may be another. Later
# models drop the factor, draw larger embeddings, or let a norm stand right after the sum.

# %% [markdown]
# ### Common mistake: one layer, six times
#
# Six layers, in one line:

# %%
layer = EncoderLayer(512, 8, 2048)
wrong = nn.ModuleList([layer] * 6)
mended = nn.ModuleList(EncoderLayer(512, 8, 2048) for _ in range(6))
print(f"wrong:  {count(wrong):>10,} parameters")
print(f"mended: {count(mended):>10,} parameters")
assert count(mended) == 6 * count(wrong) == 6 * 3_152_384

# %% [markdown]
# **Symptom:** none at once. Shapes fit, the loss falls. But `[layer] * 6` holds the same object six
# times, so all six share one set of weights, and the model has a sixth of the parameters. (ALBERT
# does this on purpose.)
#
# **Fix:** build each layer anew, as `Stack` does by calling a function with the layer's number.
# Its cousin, `copy.deepcopy(layer)` six times, gives six layers that *start* with equal weights;
# torch's own `nn.TransformerEncoder` does that. **The test that finds both:** count the
# parameters, and compare the first weights of two layers.

# %%
copied = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2)
first, second = (layer.linear1.weight for layer in copied.layers)
assert torch.equal(first, second)
assert not torch.equal(mended[0].ff.inner.weight, mended[1].ff.inner.weight)
print("torch's layers start equal, ours do not")

# %% [markdown]
# ## How it differs
#
# | | recurrent encoder | transformer encoder | feed-forward layers alone |
# |---|---|---|---|
# | a row knows | what came before (or both sides) | the whole sequence | its own token |
# | steps from any token to any other | up to $S$ | 1 a layer | none |
# | order of the tokens | from the recurrence | only from positions | only from positions |
# | computed | token after token | all tokens at once | all at once |
# | parameters grow with the length | no | no | no |

# %% [markdown]
# ## In practice
#
# - **Give the encoder the padding mask.** It has no causal mask: padding is all there is to hide.
# - **Use the encoder's states, not its weights,** as features: row $i$ stands for token $i$ *here*.
# - **Ask with a probe before you explain with a map.** Compare it with a probe on the embedding:
#   that is its baseline.
# - **Count the parameters** of a model that you build or load. Where the norm stands is the subject
#   of [residuals and norms](09_residuals_norms.ipynb).

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Let every attention in the bracket model return zeros, and keep norms and feed-forward. What
#    can the row of an `x` know after two layers?
#
#    <details><summary>Answer</summary>
#
#    Only that it is an `x`, and its place. Norm and feed-forward work on each row alone; attention
#    is the one part that lets a row know of another.
#
#    </details>
# 2. Leave the biases and norms out, and let $d_{ff} = 4d$. How many times $d^2$ weights has
#    attention, how many feed-forward, and what share of the layer is the second?
#
#    <details><summary>Answer</summary>
#
#    Attention has $4d^2$ (q, k, v, out), feed-forward $2 \cdot d \cdot 4d = 8d^2$: two thirds of
#    the layer, whatever the number of heads.
#
#    </details>
# 3. The head that was silenced looks one place back, in the first layer. Why are partners far away
#    lost with it?
#
#    <details><summary>Answer</summary>
#
#    It copies each mark one place to the right. A head of the second layer reads the far partner
#    from that copy, so without it there is nothing to read.
#
#    </details>
# 4. From the embedding a probe seldom named the mark before, after layer 1 nearly always. What had
#    changed in the rows?
#
#    <details><summary>Answer</summary>
#
#    At the bottom a row knows its own mark and its place. The attention of layer 1 added something
#    of the neighbor to it, so the same token is now another row in another sequence.
#
#    </details>
# 5. With $d = 128$, how long is a row of sines and cosines, and how long is a row of $E$ without
#    and with the factor? What did the bracket model say of the factor?
#
#    <details><summary>Answer</summary>
#
#    The place has length $\sqrt{128/2} = 8$, the word about 1, and with the factor $\sqrt{128}$,
#    about 11. Trained without the factor the loss fell faster for a while, and at the end neither
#    won clearly: the reason is not yet a result.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* How many parameters has an encoder layer with $d = 1024$ and
#    $d_{ff} = 4096$, the paper's big model?
#
#    <details><summary>Answer</summary>
#
#    Attention $4 (1024^2 + 1024) = 4{,}198{,}400$, feed-forward
#    $2 \cdot 1024 \cdot 4096 + 4096 + 1024 = 8{,}393{,}728$, norms $4 \cdot 1024 = 4{,}096$. Sum:
#    12,596,224, four times the base layer, to within the biases.
#
#    </details>
# 2. *(predict, 3 min)* Take the positions out of the bracket model. What can it still get right?
#
#    <details><summary>Answer</summary>
#
#    Without positions all `x` of a sequence are equal rows, and stay equal in every layer. It can
#    say only one kind for all of them: the most frequent.
#
#    </details>
# 3. *(derive, 5 min)* For which $d_{ff}$ has the feed-forward part as many weights as attention?
#
#    <details><summary>Answer</summary>
#
#    $2\,d\,d_{ff} = 4 d^2$, so $d_{ff} = 2d$. With the usual $4d$ it has twice as many.
#
#    </details>
# 4. *(code, 15 min)* Train the two-layer model from other starts (the seed stands in `Tagger`). Do
#    the same two heads form?
#
#    <details><summary>Answer</summary>
#
#    After 900 steps they had formed with seeds 0, 1, 3 and 4, in either order of the heads. With
#    seed 2 they had not, and the far partners were still often wrong.
#
#    </details>
# 5. *(code, 15 min)* Test the trained models on 8 pairs, more than they have seen. Which of them
#    holds up, and is the fault in the positions or in the counting?
#
#    <details><summary>Answer</summary>
#
#    None does. After 900 steps the models with 1, 2 and 3 layers named 74, 79 and 76% rightly with
#    8 pairs, and 85, 95 and 100% with 6. The fault is mostly in the positions: 6 pairs, moved four
#    places on (let `position.embed` add 4 to the positions), fell to 71, 75 and 72%, with nothing
#    new to count. With 8 pairs it is the new places 12 to 15 where about half is wrong.
#
#    </details>

# %%
# The answers to 1 and 2, checked.
with torch.device("meta"):
    assert count(EncoderLayer(1024, 16, 4096)) == 12_596_224
placeless = Tagger(2)
placeless.encoder.position = nn.Module()
placeless.encoder.position.embed = lambda rows, positions: rows
with torch.no_grad():
    out = placeless(torch.tensor([example]))[0]
of_x = out[torch.tensor(example) == 4]
assert torch.allclose(of_x, of_x[:1].expand_as(of_x), atol=1e-5)
print("answers 1 and 2 hold")

# %% [markdown]
# ## Summary
#
# An encoder layer is self-attention, which mixes tokens, and a feed-forward layer, which thinks
# about each alone; both add to the row and are normed. A stack of them turns a row that knows its
# token into a row that knows its sentence, and what each layer knows can be read with a probe. Two
# thirds of a layer's parameters are feed-forward, none depend on the length.
#
# ## Further reading
#
# - Vaswani et al. (2017), *Attention Is All You Need*, sections 3.1 and 3.4; table 3 for what each
#   size gives.
# - Tenney, Das, Pavlick (2019), *BERT Rediscovers the Classical NLP Pipeline*: probes, layer by
#   layer, in a large encoder.
# - Hewitt and Liang (2019), *Designing and Interpreting Probes with Control Tasks*: when a probe
#   says more about itself than about the rows.
# - Xiong et al. (2020), *On Layer Normalization in the Transformer Architecture*: where the norm
#   stands, and why it matters.
