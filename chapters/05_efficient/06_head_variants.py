# %% [markdown] tags=["slide"]
# # Multi-head variants: talking, collaborative, and shared heads
#
# Twelve heads read the same rows, and none knows what the others found until the last matrix. What
# could they do if they talked earlier? And do twelve heads need twelve times as many columns?
#
# <small>Prerequisites: [several heads](../02_transformer/06_multi_head.ipynb),
# [masks](../02_transformer/07_masks.ipynb) · 25 min · runs on a laptop · book 5.2.3, 5.2.3.1,
# 1.2.1.2</small>

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

items = ["red circle", "red square", "blue circle", "blue square"]
rows = {
    "head 0 asks: red?": [0.45, 0.45, 0.05, 0.05],
    "head 1 asks: circle?": [0.45, 0.05, 0.45, 0.05],
    "map 0: both scores added": [0.81, 0.09, 0.09, 0.01],
    "map 1: one minus the other": [0.09, 0.81, 0.01, 0.09],
}
body = [text(290 + 90 * i, 16, item, 13, "key") for i, item in enumerate(items)]
for row, (name, weights) in enumerate(rows.items()):
    body.append(text(110, 48 + 38 * row, name, 14, "query", bold=row > 1))
    body += [cells(275 + 90 * i, 48 + 38 * row, [w], "weight") for i, w in enumerate(weights)]
show(
    svg(620, 186, body),
    "Weights of the query red circle over four items. Head 0 splits between the two red items, "
    "head 1 between the two circles. With their scores added, 0.81 lies on the red circle; with "
    "one score minus the other, 0.81 lies on the red square.",
)

# %% [markdown]
# *One query, a red circle, and four items. Above: two heads, each with one question. Below: the
# same two score rows, mixed before the softmax. The first mixture finds what is red* and *round,
# the second what is red and* not *round. Neither head says that alone.*
#
# This page looks at four ways to make heads better: let them **talk** (mix their scores and their
# weights), let them **share** columns (collaborative attention), **pay** them for being different
# (disagreement), and let them share keys and values, which
# [the page on several heads](../02_transformer/06_multi_head.ipynb) has already done (multi-query).
# For each: its matrix, its limit, its cost, its failure.

# %% [markdown]
# ## By hand: two scores, two mixtures
#
# Head 0 gives $\ln 9$ to each red item and 0 to the others, head 1 gives $\ln 9$ to each circle.
# A head on its own: $e^{\ln 9} = 9$, so head 0 has $9, 9, 1, 1$, over 20: $0.45, 0.45, 0.05,
# 0.05$. Now add the two score rows: $2\ln9, \ln9, \ln9, 0$. Scores that add are powers that
# multiply: $81, 9, 9, 1$, over 100. And subtract: $0, \ln 9, -\ln 9, 0$ gives
# $1, 9, \frac19, 1$, over $11\frac19$:

# %%
import torch

a = torch.tensor(9.0).log()
J = torch.stack([torch.tensor([a, a, 0, 0]), torch.tensor([a, 0, a, 0])])  # (2 heads, 4 keys)
before = torch.tensor([[1.0, 1.0], [1.0, -1.0]])  # row: head, column: map
alone, mixed = J.softmax(-1), (before.T @ J).softmax(-1)
for name, rows in (("alone", alone), ("mixed", mixed)):
    print(name, [[round(w, 2) for w in row] for row in rows.tolist()])
assert torch.allclose(mixed[0], torch.tensor([81.0, 9, 9, 1]) / 100)
assert torch.allclose(mixed[1], torch.tensor([9.0, 81, 1, 9]) / 100)

# %% [markdown]
# Could plain heads do that with what they have *after* the softmax? The mean of the two rows above
# gives the red circle 0.45 and each half-match 0.25: that is "or", with a bonus. Weights add;
# scores, through the softmax, multiply.

# %% [markdown] tags=["slide"]
# ## Talking heads
#
# Shazeer et al. (2020) put one small matrix on each side of the softmax:
#
# $$J_i = \frac{Q_i K_i^\top}{\sqrt{d_\text{head}}} \qquad
# L_h = \sum_i P^{\text{before}}_{ih} J_i \qquad W_h = \mathrm{softmax}(L_h) \qquad
# U_j = \sum_h P^{\text{after}}_{hj} W_h \qquad O_j = U_j V_j$$
#
# $i$ and $j$ run over the heads, $h$ over the maps in between, and there may be more or fewer maps
# than heads. The two matrices are as small as they look: $H \times H$ numbers each. The cost is not
# in them, but in what they multiply, whole maps of size $T \times S$.


# %%
def talking_heads(q, k, v, before, after, allowed):
    scores = q @ k.mT / q.shape[-1] ** 0.5  # J, (B, H, T, S)
    scores = torch.einsum("bits,ih->bhts", scores, before)  # L
    weights = scores.masked_fill(~allowed, -torch.inf).softmax(-1)  # W: the mask acts on L
    weights = torch.einsum("bhts,hj->bjts", weights, after)  # U
    return weights @ v


# %% tags=["nbval-check-output"]
from deepdive.attention import TalkingHeadsAttention
from deepdive.core import SoftmaxAttention
from deepdive.core.masks import Causal

torch.manual_seed(0)
q, k, v = torch.randn(3, 2, 4, 6, 8, dtype=torch.float64)
library = TalkingHeadsAttention(4, n_maps=3).double()
for mixing in (library.before, library.after):
    torch.nn.init.normal_(mixing)
with torch.no_grad():
    ours = talking_heads(q, k, v, library.before, library.after, Causal().dense(6))
    difference = (ours - library(q, k, v, Causal())).abs().max()
    plain = TalkingHeadsAttention(4).double()  # identity mixings
    limit = (plain(q, k, v, Causal()) - SoftmaxAttention()(q, k, v, Causal())).abs().max()
assert difference < 1e-6
assert limit < 1e-6
print("equal to the library's; with identity mixings, to plain attention")

# %% [markdown]
# **Its matrix**: every entry of every map exists, as in plain attention. **Its limit**: identity
# mixings. One more limit says what mixing is: with a single map, $\sum_i p_i Q_i K_i^\top$ is the
# product of all queries and keys laid side by side, one long head. So a mixed map has rank up to
# $H \cdot d_\text{head}$, while each head keeps its own $d_\text{head}$ columns: narrow heads,
# wide maps.

# %% [markdown]
# ### Common mistake: the mask before the mixing
#
# In plain attention it does not matter when the mask is laid on, as long as it is before the
# softmax. So someone masks $J$, with a large negative number, and mixes afterwards:


# %%
def masked_too_early(q, k, before, allowed, lowest):
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~allowed, lowest)
    return torch.einsum("bits,ih->bhts", scores, before).softmax(-1)


allowed = Causal().dense(6)
for name, mixing in (("identity", torch.eye(4)), ("minus signs", -torch.eye(4))):
    for lowest in (-torch.inf, -1e9):
        weights = masked_too_early(q, k, mixing.double(), allowed, lowest)
        future = (weights * ~allowed).sum(-1)[:, :, 0].mean()
        print(f"{name:>14}, {lowest:>7}: row 0 gives {future:.2f} of its weight to the future")

# %% [markdown]
# **Symptom:** with $-\infty$, `nan`, since $0 \cdot (-\infty)$ is none. Someone then writes
# $-10^9$, the `nan` is gone, and the first mixing that turns negative makes it $+10^9$: the model
# looks *only* at what it must not see, and its training loss is wonderful. **Fix:** mask what goes
# into the softmax, nothing earlier. The library's law "no leak" is tried at random mixings for this
# reason.

# %% [markdown]
# ## A task for heads that talk
#
# Four items of the picture's kind: one has the color and the shape of the query, one only its
# color, one only its shape, one neither. Each carries a digit. The answer is two digits: that of
# the item that is both, and that of the item with the color but **not** the shape. One attention
# layer, four colors, four shapes; all data are generated.

# %% tags=["nbval-check-output"]
from torch.nn.functional import one_hot


def draw(n):
    """Rows (n, 5, 8) of colour and shape, the query last; digits (n, 4, 10); answers (n, 2)."""
    own = torch.randint(4, (n, 2, 1))
    other = (own + torch.randint(1, 4, (n, 2, 1))) % 4
    (c, s), (d, z) = own.unbind(1), other.unbind(1)
    kinds = torch.stack([torch.cat([c, c, d, d, c], 1), torch.cat([s, z, s, z, s], 1)], -1)
    order = torch.rand(n, 4).argsort(1)  # the items stand in any order
    order = torch.cat([order, torch.full((n, 1), 4)], 1)
    rows = one_hot(kinds, 4).flatten(2).gather(1, order[..., None].expand(-1, -1, 8)).float()
    digits = torch.randint(10, (n, 4))
    return rows, one_hot(digits.gather(1, order[:, :4]), 10).float(), digits[:, :2]


rows, digits, answers = draw(1)
print(rows[0].int(), digits.argmax(-1).tolist(), "->", answers.tolist())

# %% [markdown]
# The heads are as narrow as they can be: a query has 4 numbers in all, either one head of 4 or two
# heads of 2. Two numbers are enough to tell four colors (points on a circle), not four colors
# and four shapes. As a yardstick, two heads of 4: twice the columns.

# %%
from torch import nn


class Finder(nn.Module):
    def __init__(self, n_heads, d_head, mechanism):
        super().__init__()
        self.n_heads, self.mechanism = n_heads, mechanism
        self.q = nn.Linear(8, n_heads * d_head, bias=False)
        self.k = nn.Linear(8, n_heads * d_head, bias=False)
        for layer in (self.q, self.k):
            nn.init.normal_(layer.weight)
        self.v = nn.Linear(10, n_heads * 10, bias=False)
        self.out = nn.Linear(n_heads * 10, 20)

    def split(self, rows):
        return rows.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def forward(self, rows, digits):
        q, k, v = self.q(rows[:, 4:]), self.k(rows[:, :4]), self.v(digits)
        heads = self.mechanism(self.split(q), self.split(k), self.split(v))  # (n, H, 1, 10)
        return self.out(heads.transpose(1, 2).flatten(2)).view(-1, 2, 10)


# %% [markdown]
# For the talkers, a solution can be written down. Head 0 holds the colors on a circle, head 1 the
# shapes; map 0 adds the two scores, map 1 subtracts; the values are the digits themselves.

# %%
corner = torch.tensor([[1.0, 0], [0, 1], [-1, 0], [0, -1]])  # four points on a circle
by_hand = Finder(2, 2, TalkingHeadsAttention(2))
with torch.no_grad():
    for layer in (by_hand.q, by_hand.k):
        layer.weight.copy_(4 * torch.block_diag(corner.T, corner.T))
    by_hand.mechanism.before.copy_(before)  # [[1, 1], [1, -1]], as in the worked numbers
    by_hand.v.weight.copy_(torch.eye(10).repeat(2, 1))
    by_hand.out.weight.copy_(torch.eye(20))
    by_hand.out.bias.zero_()
    rows, digits, answers = draw(4000)
    right = (by_hand(rows, digits).argmax(-1) == answers).all(-1).float().mean()
assert right == 1.0
print(f"both digits right: {right:.1%}")

# %% [markdown]
# Each head has 2 columns, each map asks about both. Does training find it, and what do the others
# find? (The mixings start near the identity, with some noise: from the identity itself, which map
# will add and which subtract is a tie.)

# %%
from torch.nn.functional import cross_entropy

from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.kit.profile import pick

steps = 400


def train_finder(n_heads, d_head, talks, seed):
    torch.manual_seed(seed)
    finder = Finder(n_heads, d_head, TalkingHeadsAttention(2) if talks else SoftmaxAttention())
    with torch.no_grad():
        for mixing in finder.mechanism.parameters():
            mixing.add_(torch.randn(2, 2), alpha=0.5)
    options = {"optimizer": adam(finder), "schedule": cosine(3e-2, warmup=20, total=steps)}
    batches, (rows, digits, answers) = [draw(128) for _ in range(steps)], draw(4000)

    def loss(finder, batch):
        return cross_entropy(finder(*batch[:2]).flatten(0, 1), batch[2].flatten())

    fit(finder, batches, loss, steps=steps, seed=seed, progress=False, **options)
    with torch.no_grad():
        right = finder(rows, digits).argmax(-1) == answers
    return right.all(-1).float().mean().item(), finder


# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Two heads of 2 columns, trained from several starts. Who comes to name both digits, always?",
    [
        "plain heads too: the last matrix combines what the two found",
        "talking heads, from every start",
        "talking heads, from some starts; plain heads from none",
    ],
    answer=2,
    explain="Plain heads average over all red items and over all circles; the item that is both "
    "cannot be read off two means for sure. Talking heads can do it, but a mixture of heads that "
    "are themselves being learned has more wrong turnings.",
    key="05_efficient/talking-finder",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["slide", "surprise"]
seeds = range(pick(ci=3, laptop=6, gpu=6))
kinds = {
    "one head of 4": (1, 4, False),
    "two heads of 2": (2, 2, False),
    "two talking heads of 2": (2, 2, True),
    "two heads of 4": (2, 4, False),
}
score, finders = {}, {}
for name, kind in kinds.items():
    runs = [train_finder(*kind, seed) for seed in seeds]
    score[name], finders[name] = [right for right, _ in runs], max(runs, key=lambda run: run[0])[1]
    print(f"{name:>22}: both digits right", *(f"{right:.1%}" for right in score[name]))
assert max(score["two talking heads of 2"]) > 0.99 > max(score["two heads of 2"])
assert max(score["one head of 4"]) < 0.6 < 0.95 < min(score["two heads of 4"])

# %% [markdown]
# Each column of the output is one start. One head has one map, and one average cannot hold two
# digits in order. From three of six starts the talkers do with 4 columns what plain heads do
# with 8. Two things are less tidy. Plain heads of 2 come nearer, from some starts, than two
# means would let them: a direction in the plane can favor a color and a shape at once, for
# some of the sixteen queries. And not every start of the talkers gets there: scores that serve
# two maps at once make training less sure, where two heads of 4 got there from all six starts.

# %% [markdown]
# ### Look: what each map asks
#
# The weights of the best finder of each kind, by what an item shares with the query:

# %% tags=["fold"]
from deepdive.core.hooks import record
from deepdive_book.kit.plotting import heatmap


def looked_at(finder, n=2000):
    """Mean weights (maps, 4) on: both, only the colour, only the shape, neither."""
    rows, digits, _ = draw(n)
    with record(finder, "mechanism.weights") as seen, torch.no_grad():
        finder(rows, digits)
    asked = rows[:, 4:].view(n, 1, 2, 4)
    fits = (rows[:, :4].view(n, 4, 2, 4) * asked).sum(-1) == 1  # (n, 4, 2)
    kind = 3 - 2 * fits[..., 0].long() - fits[..., 1].long()
    found = seen["mechanism.weights"][0][:, :, 0]  # (n, maps, 4)
    return found.gather(2, kind.argsort(-1)[:, None].expand_as(found)).mean(0)


talker = finders["two talking heads of 2"]
maps = torch.cat([looked_at(finders["two heads of 2"]), looked_at(talker)])
mixed = talker.mechanism.after.detach().T @ maps[2:]  # what meets the values, (2, 4)
names = ["plain 0", "plain 1", "talking 0", "talking 1", "after mixing 0", "after mixing 1"]
kinds = ["both", "colour", "shape", "neither"]
figure = heatmap(torch.cat([maps, mixed]), names, kinds, digits=2)
figure.axes[0].set(xlabel="what the item shares with the query", ylabel="")
figure.set_size_inches(5.2, 3.4)
show(figure)

# %%
assert maps[2:, 0].max() > max(0.8, maps[:2, 0].max())
print("the mixing before the softmax (row: head, column: map), and after")
print(talker.mechanism.before.data.round(decimals=1), talker.mechanism.after.data.round(decimals=1))

# %% [markdown]
# *The weights of each map, by what an item shares with the query; below, what meets the values
# after the second mixing. One talking map stands on the item that is both, as no plain map does.
# The other need not stand on the second item: it may spread over all red items, and then the second
# mixing, or the last matrix, takes the first map away from it. Nothing forbids negative entries.*
#
# **Its cost.** Two mixings of $H \times H$ for each of $T \cdot S$ entries, and no fused kernel,
# since the maps must be there to be mixed:

# %%
from time import perf_counter

from deepdive.core import MultiHeadAttention
from deepdive_book.kit.flops import count_flops


def work(layer, length):
    x = torch.randn(1, length, layer.d_model, requires_grad=True)
    return count_flops(lambda: layer(x)) / length


lengths = [128, 256, 512, 1024]
costs = {
    "plain": [work(MultiHeadAttention(256, 8), n) for n in lengths],
    "talking": [
        work(MultiHeadAttention(256, 8, mechanism=TalkingHeadsAttention(8)), n) for n in lengths
    ],
}

print("operations a token:", {name: [round(c / 1e3) for c in row] for name, row in costs.items()})


# %%
def seconds(layer, length=1024):
    x, best = torch.randn(1, length, layer.d_model, requires_grad=True), torch.inf
    for _ in range(3):
        start = perf_counter()
        layer(x).sum().backward()
        best = min(best, perf_counter() - start)
    return best


talking_layer = MultiHeadAttention(256, 8, mechanism=TalkingHeadsAttention(8))
slower = seconds(talking_layer) / seconds(MultiHeadAttention(256, 8))
print(f"time at 1,024 tokens, forward and backward: {slower:.1f} times plain, fused attention")

# %% [markdown]
# The operations grow by $4H^2$ for each pair of tokens, beside $4 H d_\text{head}$ for the
# products: with heads of 32, and 8 of them, a quarter more. The clock says more than that, because
# the maps go through memory several times. **Its failure** is the same fact: nothing that avoids
# the $T \times T$ maps (windows in one kernel, FlashAttention, linear attention) can talk.

# %% [markdown] tags=["slide"]
# ## Collaborative heads: one set of columns
#
# A head's scores are $X W_q^{(h)} W_k^{(h)\top} Y^\top$. Only the product matters, a
# $d_\text{model} \times d_\text{model}$ matrix of rank $d_\text{head}$. Two heads may well look for
# nearly the same things; each then learns its own copy. Cordonnier, Loukas and Jaggi (2020) let
# all heads draw on shared columns, with a vector of weights for each:
#
# $$\text{scores}_h = X \tilde W_q\, \mathrm{diag}(m_h)\, \tilde W_k^\top Y^\top \qquad
# \tilde W_q, \tilde W_k: d_\text{model} \times d_\text{shared}$$
#
# **Its limit**: $d_\text{shared} = H d_\text{head}$, with $m_h$ one on the head's own columns and
# zero elsewhere, is plain attention. Concatenation is one way to share: not at all.


# %%
def collaborative_scores(x, W_q, W_k, mixing):
    return torch.einsum("btr,hr,bsr->bhts", x @ W_q, mixing, x @ W_k)


x, W_q, W_k = torch.randn(1, 5, 12), torch.randn(12, 12), torch.randn(12, 12)
own = torch.eye(3).repeat_interleave(4, dim=1)  # three heads of four columns: each its own
q, k = ((x @ W).unflatten(-1, (3, 4)).transpose(1, 2) for W in (W_q, W_k))
assert torch.allclose(collaborative_scores(x, W_q, W_k, own), q @ k.mT, atol=1e-4)
own.int()

# %%
from deepdive.attention import CollaborativeAttention

library = CollaborativeAttention(12, 3, 8)
with torch.no_grad(), record(library, "mechanism.scores") as seen:
    library(x)
    columns = library.q.weight.T, library.kv.weight[:8].T
    ours = collaborative_scores(x, *columns, library.mixing) * library.scale
assert torch.allclose(seen["mechanism.scores"][0], ours, atol=1e-6)
f"largest difference from the library's: {(seen['mechanism.scores'][0] - ours).abs().max():.0e}"

# %% [markdown]
# ### Are a trained model's heads redundant?
#
# The paper turns a trained layer into a collaborative one without training: stack the $H$ matrices
# $W_q^{(h)} W_k^{(h)\top}$ into a tensor, and decompose it into $d_\text{shared}$ terms,
# $\sum_r \tilde W_q[:, r] \otimes \tilde W_k[:, r] \otimes m[:, r]$ (a CP decomposition). Fix two
# of the three factors and the third is a least squares problem; go round and round. Try it on
# MiniLM, whose weights come inside a package: 12 heads of 32, so $d_\text{shared} = 384$ is
# everything.

# %%
from deepdive.attention.by_content.shared_columns import by_head, relative_error, side_by_side
from deepdive.attention.heads.collaborative import collaborative
from deepdive.published import load
from deepdive.published.pretrained import minilm, minilm_tokenizer

model, tokenizer = load(minilm()).eval(), minilm_tokenizer()
layers = pick(ci=[3], laptop=[1, 3, 5], gpu=[1, 2, 3, 4, 5])  # counted from 0
widths, rounds = [48, 96, 192, 288], pick(ci=5, laptop=15, gpu=30)


def head_matrices(attention):
    w_q, w_k = attention.q.weight.double(), attention.kv.weight.double().chunk(2)[0]
    return [w.detach().unflatten(0, (12, 32)).mT for w in (w_q, w_k)]  # (12, 384, 32), twice


# %% tags=["fold"]
predict(
    "Half of the columns, 192 of 384, shared by MiniLM's 12 heads. How large is the relative "
    "error of the heads' matrices?",
    ["below 5%: heads are known to be redundant", "about 15%", "more than a quarter"],
    answer=2,
    explain="As matrices the heads have little in common: sharing is only a little better than "
    "cutting each head by itself. What can be shared only shows when the rows they read are "
    "looked at.",
    key="05_efficient/shared-columns",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
converted, errors = {}, {}
for layer in layers:
    attention = model.stack.blocks[layer].attn
    w_q, w_k = head_matrices(attention)
    for width in widths:
        converted[layer, width], error = collaborative(attention, width, rounds=rounds)
        cut = relative_error(side_by_side(w_q, w_k), by_head(w_q, w_k, width))
        noise = torch.randn_like(w_q), torch.randn_like(w_k)
        luck = relative_error(side_by_side(*noise), by_head(*noise, width))
        errors[layer, width] = cut, error, luck
        print(f"layer {layer + 1}, {width:>3} columns: each head cut {cut:.2f}, shared {error:.2f}"
              f" (random matrices cut {luck:.2f})")  # fmt: skip
assert min(shared for _, shared, _ in (errors[layer, 192] for layer in layers)) > 0.25
for cut, shared, luck in errors.values():
    assert 0.8 * cut < shared <= cut + 1e-6 < luck

# %% [markdown]
# *Relative error of the 12 matrices (Frobenius norm). "Each head cut": of all heads' singular
# vectors the largest are kept, no column serves two heads. "Shared": the decomposition.*
#
# Sharing is never worse (it starts from the cut), and only a little better. Compare the random
# column: trained heads do have less rank than noise, but most of what can be dropped is inside each
# head, not common to them. As matrices, MiniLM's heads are **not** redundant in the three layers
# measured.

# %% [markdown]
# ### What the rows do not use
#
# But a matrix acts on rows, and the rows of a layer do not fill their 384 dimensions evenly. Let $C
# = \frac1n \sum x x^\top$ over rows that the layer reads, $C = L L^\top$. For two rows drawn
# independently, the mean squared error of a score is $\lVert L^\top (M - \hat M) L \rVert^2$. So
# decompose $L^\top W_q$ and $L^\top W_k$ instead, and undo $L$ afterwards. (This step is ours, not
# the paper's; it reads text, where the paper reads weights alone. The sentences are drawn from all
# kinds of text in the treebank's test part.)

# %%
from deepdive.data.trees import treebank
from deepdive.explain.words import cut as cut_words
from deepdive_book.data.tree_grammar import tree_sentences
from deepdive_book.kit.profile import banner, profile

if profile() == "ci":
    trees = list(tree_sentences(40))
else:
    some = [tree for tree in treebank("test") if 4 <= len(tree) <= 40]
    trees = some[: pick(ci=40, laptop=200, gpu=400)]
marks = tokenizer.bos, tokenizer.eos, tokenizer.unk
inputs = {layer: [] for layer in layers}
for tree in trees:
    ids, _ = cut_words(tokenizer.encode, tree.words, *marks)
    with record(model, "stack.blocks.*.stream") as seen, torch.no_grad():
        model(ids[None])
    for layer in layers:
        inputs[layer].append(seen[f"stack.blocks.{layer - 1}.stream"][0])  # (1, T, 384)
print(banner("sentences (generated)" if profile() == "ci" else "ud_english_ewt (real)"))
print(f"{len(trees)} sentences; the second half is for the test")

# %%
from copy import deepcopy

from deepdive.attention.by_content.shared_columns import share


def for_rows(attention, width, rows):
    """The collaborative layer whose scores are best on rows like these."""
    C = rows.T @ rows / len(rows)
    L = torch.linalg.cholesky(C + 1e-4 * C.diagonal().mean() * torch.eye(len(C)))
    w_q, w_k = (L.T.double() @ w for w in head_matrices(attention))
    Q, K, mixing, _ = share(w_q, w_k, width, rounds=rounds)
    found = deepcopy(converted[layer, width])
    with torch.no_grad():
        found.q.weight.copy_(torch.linalg.solve(L.T.double(), Q).T)
        found.kv.weight[:width] = torch.linalg.solve(L.T.double(), K).T
        found.mixing.copy_(mixing)
    return found


# %%
def weights_of(attention, batches):
    maps = []
    for x in batches:
        with record(attention, "mechanism.weights") as seen, torch.no_grad():
            attention(x)
        maps.append(seen["mechanism.weights"][0])
    return maps


# %%
misplaced, half = {}, len(trees) // 2
for layer in layers:
    attention, tests = model.stack.blocks[layer].attn, inputs[layer][half:]
    rows = torch.cat(inputs[layer][:half], dim=1)[0].detach()
    wanted = weights_of(attention, tests)
    for width in widths:
        for name, found in (
            ("from the weights", converted[layer, width]),
            ("from the rows", for_rows(attention, width, rows)),
        ):
            pairs = zip(wanted, weights_of(found, tests), strict=True)
            moved = [(a - b).abs().sum(-1).mean().item() / 2 for a, b in pairs]
            misplaced[name, layer, width] = sum(moved) / len(moved)
for name in ("from the weights", "from the rows"):
    print(name, {w: round(misplaced[name, layers[0], w], 3) for w in widths})
assert all(misplaced["from the rows", *at] < misplaced["from the weights", *at] for at in converted)

# %% tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(7.6, 3.0))
left, right = figure.subplots(1, 2)
for i, layer in enumerate(layers):
    for j, (name, style) in enumerate((("each head cut", "s:"), ("shared", "o-"))):
        values = [errors[layer, w][j] for w in widths] + [0]
        left.plot([*widths, 384], values, style, color=f"C{i}", label=f"{name}, layer {layer + 1}")
    for name, style in (("from the weights", "o-"), ("from the rows", "^--")):
        values = [misplaced[name, layer, w] for w in widths] + [0]
        right.plot([*widths, 384], values, style, color=f"C{i}", label=f"{name}, layer {layer + 1}")
left.set(xlabel="d_shared (384 = plain)", ylabel="relative error of the matrices", ylim=(0, None))
right.set(xlabel="d_shared", ylabel="attention in the wrong place", ylim=(0, None))
for axes in (left, right):
    axes.legend(fontsize=8)
told = ", ".join(f"{w}: {misplaced['from the rows', layers[0], w]:.2f}" for w in widths)
with_alt(figure, "Left: error of the matrices against columns, sharing barely below cutting. "
         f"Right: misplaced attention, lower where the rows were read: {told}.")  # fmt: skip

# %% [markdown]
# *Left: the matrices. Right: the share of a row's attention that moves to another place, on
# sentences that were not used to convert. At half of the columns, reading the rows halves the error
# or better.*
#
# So the redundancy is real, and it is not in the heads but in what they are given: a stream that
# lives in fewer directions than it has. The paper fine-tunes after converting, which has a similar
# effect: the weights move to where the data need them. Its printed result: keys and queries cut to
# a quarter or a third, without loss after a short fine-tuning.

# %% [markdown]
# **Its cost.** The projections shrink, $2 d_\text{model} d_\text{shared}$ in place of
# $2 d_\text{model}^2$. The scores do not: every head now multiplies $d_\text{shared}$ columns, not
# $d_\text{head}$.

# %%
for width in (32, 64, 128, 256):
    costs[f"{width} shared"] = [work(CollaborativeAttention(256, 8, width), n) for n in lengths]
for name, row in costs.items():
    print(
        f"{name:>10}:", *(f"{n:>5,}: {c / 1e3:>6,.0f}" for n, c in zip(lengths, row, strict=True))
    )
assert costs["128 shared"][-1] > costs["plain"][-1] > costs["32 shared"][0]

# %% tags=["fold"]
figure = Figure(figsize=(5.4, 3.2))
axes = figure.subplots()
for name, row in costs.items():
    axes.plot(lengths, [c / 1e6 for c in row], "o-" if "shared" in name else "s--", label=name)
axes.set(xlabel="tokens (d_model 256, 8 heads of 32)", ylabel="million operations a token")
axes.set_xscale("log", base=2)
axes.set_xticks(lengths, [str(n) for n in lengths])
axes.legend(fontsize=8)
with_alt(figure, "Operations a token against length. Plain and talking are close; collaborative "
         "heads of 128 and 256 columns rise above both, steeply with length.")  # fmt: skip

# %% [markdown]
# *Thousand operations a token in the table, million in the figure. Sharing pays at short lengths
# and narrow widths; at 1,024 tokens 128 shared columns cost more than 8 heads of 32.* **Its
# failure** is long text: what it saves is linear in $T$, what it costs is quadratic. And a shared
# column has no place for a rotary position, which would turn each head's own columns.

# %% [markdown] tags=["slide"]
# ## Heads that are paid to disagree
#
# **What differs**: nothing in the layer; a term in the loss. Li et al. (2018) take three: cosines
# between heads' values $V_i$ (subspaces), overlap of their maps $A_i$ (positions), cosines of their
# outputs $O_i$:
#
# $$D_\text{subspace} = -\frac1{H^2} \sum_{i,j} \cos(V_i, V_j) \qquad
# D_\text{position} = -\frac1{H^2} \sum_{i,j} |A_i \odot A_j| \qquad
# D_\text{output} = -\frac1{H^2} \sum_{i,j} \cos(O_i, O_j)$$
#
# Training maximizes likelihood $+ D$. **Its matrix** is that of plain attention. **Its limits**:
# heads that are copies have mean cosine 1, orthogonal heads $1/H$ (each agrees with itself). How
# far apart are MiniLM's twelve heads, which nobody paid?

# %%
from deepdive.attention.heads.disagreement import agreement, overlap

table = []
ids, _ = cut_words(tokenizer.encode, trees[-1].words, *marks)
parts = ("values", "mechanism.weights", "heads")
with record(model, *(f"*.attn.{part}" for part in parts)) as seen, torch.no_grad():
    model(ids[None])
real = torch.ones(1, len(ids)).bool()
for layer in range(6):
    values, weights, outputs = (seen[f"stack.blocks.{layer}.attn.{part}"][0] for part in parts)
    table.append([agreement(values, real), overlap(weights, real), agreement(outputs, real)])
table = torch.tensor(table)
print(table.round(decimals=2), "\northogonal heads:", round(1 / 12, 2))
assert table[:, 0].max() < 0.3

# %% [markdown]
# *One sentence; rows: layers, columns: cosine of values, overlap of maps, cosine of outputs.* The
# value spaces are close to orthogonal already, so there is little left to pay for. In the library
# `DisagreeingAttention(subspace=1.0)` sends the loss through a hook point of its own; `fit` adds
# what `collect_losses` finds:

# %%
from deepdive.attention import DisagreeingAttention
from deepdive.core.hooks import collect_losses

paid = MultiHeadAttention(16, 4, mechanism=DisagreeingAttention(subspace=1.0, position=0.5))
with collect_losses(paid) as losses:
    paid(torch.randn(2, 7, 16))
copies = torch.randn(1, 1, 7, 4).expand(1, 4, 7, 4)
assert abs(agreement(copies, torch.ones(1, 7).bool()) - 1) < 1e-6
f"one value for one call: {losses.total():.3f}"

# %% [markdown]
# **Its cost** is $H$ vectors a token more, for no new pair of tokens; but the position term needs
# the maps, so the fused kernel is out while the loss is collected. The sums over pairs are never
# formed: $\sum_{ij} x_i \cdot x_j = \lVert \sum_i x_i \rVert^2$. **Its failure**: different is not
# useful. Orthogonal values full of noise have a nearly ideal score (only opposite heads score
# better, exercise 3).

# %% [markdown]
# ## Shared keys and values, once more
#
# [Multi-query and grouped heads](../02_transformer/06_multi_head.ipynb) share the other way round:
# queries differ, keys and values are one. Their gain is in decoding, where what is kept of each
# past token decides. Numbers a token and layer, for 32 heads of 128:

# %%
d_head, n_heads = 128, 32
kept = {f"{g} key-value heads": 2 * g * d_head for g in (32, 8, 1)}
kept |= {f"{s} shared columns": s + n_heads + n_heads * d_head for s in (4096, 1024)}
for name, numbers in kept.items():
    print(f"{name:>20}: {numbers:>6,} numbers, {numbers / kept['32 key-value heads']:.0%}")
assert kept["8 key-value heads"] * 4 == kept["32 key-value heads"]

# %% [markdown]
# Grouping cuts keys *and* values, by any factor; collaborative heads cut the keys and keep every
# value, so their cache never falls below half. That, and plain products that fused kernels take as
# they are, is why grouped queries are in most large decoders today, and the other three are rare.

# %% [markdown]
# | | talking | collaborative | disagreement | grouped |
# |---|---|---|---|---|
# | what differs | mixes maps | shares columns | adds to the loss | shares keys, values |
# | entries of a map | all | all | all | all |
# | limit: plain if | identity | one-hot weights | weight 0 | one group a head |
# | rank of scores, at most | H d_head | d_shared | d_head | d_head |
# | operations a pair | + 4 H² | 2 H (d_shared + d_head) | as plain | as plain |
# | cache, numbers a token | as plain | d_shared + H + H d_head | as plain | 2 n_kv d_head |
# | fused kernel | no | yes | no, with positions | yes |
# | fails by | memory traffic | long rows, rotary | rewarding noise | too few groups |
#
# *Plain heads have rank d_head, 4 H d_head operations a pair of tokens, and 2 H d_head numbers a
# token in the cache.*

# %% [markdown]
# ## In practice
#
# - **Begin with grouped queries** if you decode. Grouped queries save the most bytes in the cache;
#   shared columns (collaborative attention) also save some.
# - **Mix scores, mask after.** And draw mixings at random in tests: identity hides a leak.
# - **Before you call heads redundant, say in which norm**: of the weights, or on the rows.
# - **Print the agreement of your heads** before you pay them to disagree.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why can a mixture of scores say "and", and a mixture of weights cannot?
#
#    <details><summary>Answer</summary>
#
#    The softmax turns sums of scores into products of weights, so a half-match loses a factor on
#    one side; weights that are added keep the half-match at half.
#
#    </details>
# 2. How high may the rank of a talking map's scores be, with 8 heads of 4 columns?
#
#    <details><summary>Answer</summary>
#
#    32: the mixture is a product of all queries and keys side by side, each weighed.
#
#    </details>
# 3. Which key does $-10^9$ before a mixing of $-1$ make the favorite?
#
#    <details><summary>Answer</summary>
#
#    The forbidden ones: they get $+10^9$, and share the whole row.
#
#    </details>
# 4. What must hold for a collaborative layer of $d_\text{shared}$ columns to cost fewer operations
#    at every length than plain heads?
#
#    <details><summary>Answer</summary>
#
#    $d_\text{shared} \le d_\text{head}$, since each head multiplies all shared columns for each
#    pair of tokens.
#
#    </details>
# 5. MiniLM's matrices need nearly all columns, its maps do not. How can both be true?
#
#    <details><summary>Answer</summary>
#
#    The rows lie mostly in fewer directions than 384. An error in the matrices that these
#    directions do not meet moves no weight.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* In the worked numbers, which mixture of the two rows finds the item that is
#    round but not red, and what weight does it get?
#
#    <details><summary>Answer</summary>
#
#    $-J_0 + J_1$: scores $0, -\ln9, \ln 9, 0$, so 0.81 on the blue circle.
#
#    </details>
# 2. *(derive, 6 min)* Three heads have the same question at strengths 1, 2 and −1:
#    $W_q^{(h)} = c_h W_q$, with equal keys. How many shared columns are enough, and what is
#    `mixing`?
#
#    <details><summary>Answer</summary>
#
#    $d_\text{head}$: the columns of one head, and row $h$ of the mixing is $c_h$ everywhere.
#
#    </details>
# 3. *(derive, 8 min)* Show $\frac1{H^2}\sum_{ij} \cos(x_i, x_j) \ge 0$. When is it 0, and why can
#    the loss still prefer that to orthogonal heads?
#
#    <details><summary>Answer</summary>
#
#    With $u_i = x_i / |x_i|$ it is $|\frac1H \sum u_i|^2 \ge 0$, and 0 when the unit vectors
#    cancel: two opposite heads, or three at 120 degrees. Orthogonal heads have $1/H$, which is
#    more. So the term rewards opposite heads, which carry the same information with another sign.
#
#    </details>
# 4. *(code, 10 min)* Train the talking finder from identity mixings (`alpha=0`), from six starts.
#    What do the two maps look at?
#
#    <details><summary>Answer</summary>
#
#    From the identity each map begins as one head's question, and must take on the other's with
#    the right sign. Of our six starts, with the laptop's steps, one gets there and one nearly (84%
#    right). In the other four both maps ask for the color alone and give half of the weight to
#    each item that has it. Nothing then says which digit comes first: about 18% right.
#
#    </details>

# %%
# The answers to 1, 2 and 3, checked.
assert abs((J[1] - J[0]).softmax(-1)[2] - 0.81) < 1e-6
strengths, W_q, W_k = torch.tensor([1.0, 2, -1]), torch.randn(12, 4), torch.randn(12, 4)
heads_of = torch.stack([(x @ (c * W_q)) @ (x @ W_k).mT for c in strengths], 1)
shared = collaborative_scores(x, W_q, W_k, strengths[:, None].expand(3, 4))
assert torch.allclose(shared, heads_of, atol=1e-4)
three = torch.tensor([[1.0, 0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]])
assert agreement(three[None, :, None], torch.ones(1, 1).bool()) < 1e-9
print("answers 1, 2 and 3 hold")

# %% [markdown]
# ## Summary
#
# Mixed before the softmax, the scores of narrow heads become joint questions that neither asks
# alone, at the price of maps that must be written out. A trained model's heads share few columns as
# matrices, and many on the rows that they read; shared columns save weights but cost operations as
# texts grow. Of the ways to make heads better, the one in wide use shares keys and values, because
# it saves what decoding keeps.
#
# ## Further reading
#
# - Shazeer, Lan, Cheng, Ding, Hou (2020), *Talking-Heads Attention*: the two mixings, and what each
#   brings alone.
# - Cordonnier, Loukas, Jaggi (2020), *Multi-Head Attention: Collaborate Instead of Concatenate*:
#   shared columns, and trained models converted.
# - Li, Tu, Yang, Lyu, Zhang (2018), *Multi-Head Attention with Disagreement Regularization*: the
#   three terms, on translation.
# - Shazeer (2019), *Fast Transformer Decoding: One Write-Head is All You Need*: why bytes decide.
# - Bhojanapalli et al. (2020), *Low-Rank Bottleneck in Multi-head Attention Models*: the bound that
#   talking heads step over.
