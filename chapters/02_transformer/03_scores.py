# %% [markdown] tags=["slide"]
# # Attention score functions: dot, scaled dot, general, additive
#
# A query and the keys mean the same things, but in other coordinates: what is *up* for one is
# *right* for the others. Which score functions still find the key that fits, and at what cost?
#
# <small>Prerequisites: [attention](02_attention.ipynb) · 25 min · runs on a laptop · book
# 2.3.2</small>

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
from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.plotting import show


def compass(x, title, keys):
    parts = [text(x, 14, title, 14, bold=True), arrow(x, 120, x, 50, "query", 4)]
    parts.append(text(x + 42, 62, "query: cat", 13, "query"))
    for name, (dx, dy) in keys.items():
        parts.append(arrow(x, 120, x + 58 * dx, 120 - 58 * dy, "key", 2.5))
        parts.append(text(x + 74 * dx, 122 - 74 * dy, name, 13, "key"))
    return "".join(parts)


same = compass(130, "one space", {"cat": (-0.25, 0.97), "dog": (1, 0)})
turned = compass(420, "two spaces", {"cat": (0.97, 0.25), "dog": (0, -1)})
show(
    svg(560, 205, [same, turned]),
    "Two pictures of a query and two keys as arrows. In one space the query for cat points up, "
    "almost along the key cat. In two spaces the keys are turned by 90 degrees: cat points right.",
)

# %% [markdown]
# *Left: the arrow of the query lies beside the right key. Right: the keys have been turned by a
# quarter, and the query lies beside neither.*
#
# A dot product asks how far two arrows point the same way. That has a meaning only if both are
# drawn in one coordinate system. A decoder's state and an encoder's states are not: two networks
# made them. So the first score function, the additive one, had something to learn. On this page you
# see four at work on one example, meet a rotation that two of them cannot bridge, and find a
# difference that has nothing to do with rotation.

# %% Four scores [markdown] tags=["slide"]
# ## Four scores
#
# Four ways to compare a query with a key, met on [the page before](02_attention.ipynb), and what
# each learns:
#
# | name | score of $q$ and $k$ | learned |
# |---|---|---|
# | dot | $q\, k^\top$ | nothing |
# | scaled dot | $q\, k^\top / \sqrt d$ | nothing |
# | general | $q\, W k^\top$ | $W$: d_q × d_k |
# | additive | $u \cdot \tanh(q A_q + k A_k + b)$ | $A_q$: d_q × d_a, $A_k$: d_k × d_a, $u$, $b$ |
#
# Everything after the score is the same: softmax, then the average of the values.

# %% [markdown]
# ## By hand: one query, three keys
#
# The query's first number means cat, its second dog. The keys have them the other way round: first
# dog, then cat. The query wants a cat.

# %%
import torch

words = ["the", "cat", "dog"]
query = torch.tensor([2.0, 0])  # cat: 2, dog: 0
keys = torch.tensor([[0.0, 0], [0, 2], [2, 0]])  # dog first, then cat

dot = keys @ query
scaled = dot / 2**0.5
W = torch.tensor([[0.0, 1], [1, 0]])  # from the query's coordinates to the keys'
general = keys @ (query @ W)
dot, scaled, general

# %% [markdown]
# **Dot**: for *cat* $2\cdot0 + 0\cdot2 = 0$, for *dog* $2\cdot2 + 0\cdot0 = 4$. It compares cat
# with dog, and picks the dog. Dividing by $\sqrt 2$ changes the size, not the choice. **General**
# first carries the query over: $(2, 0)\, W = (0, 2)$. Now *cat* gets $0\cdot0 + 2\cdot2 = 4$,
# *dog* gets 0.
#
# **Additive** is a small network with a hidden layer. Give it two hidden units, one for "both say
# cat" and one for "both say dog". A unit adds what the query and the key say and subtracts a
# threshold, so it comes out positive only when both say it:

# %%
A_q, A_k = torch.eye(2), torch.tensor([[0.0, 1], [1, 0]])
b, u = torch.tensor([-3.0, -3]), torch.tensor([1.0, 1])
hidden = torch.tanh(query @ A_q + keys @ A_k + b)  # (3, 2)
additive = hidden @ u
for word, row, score in zip(words, hidden, additive, strict=True):
    print(f"{word}: hidden {row[0]:.3f} {row[1]:.3f}, score {score:.3f}")

# %% [markdown]
# For *cat*, unit 1 adds $2 + 2 - 3 = 1$, and $\tanh 1 = 0.762$. Unit 2 adds $0 + 0 - 3$, and
# $\tanh(-3) = -0.995$. The score is $-0.233$. For *dog* both units get one yes and one no,
# $2 + 0 - 3 = -1$, so the score is $2 \cdot (-0.762) = -1.523$. *Cat* wins, as with general.

# %%
from torch.nn.functional import softmax

from deepdive_book.kit.plotting import heatmap

family = {"dot": dot, "scaled dot": scaled, "general": general, "additive": additive}
weights = softmax(torch.stack(list(family.values())), dim=-1)
figure = heatmap(weights, list(family), words, digits=2, title="weights of the query for cat")
figure.axes[0].set(ylabel="")
assert weights[:, 1:].argmax(-1).tolist() == [1, 1, 0, 0]
show(figure)

# %% [markdown]
# *Dot and scaled dot look at the dog, general and additive at the cat.*
#
# Additive is the least sure here: its scores differ by 1.5, general's by 4. Each $\tanh$ is at most
# 1, so they can never differ by more than $2 \sum_i |u_i|$. Training makes $u$ as large as is
# needed.

# %% [markdown]
# ## In code
#
# Each is one line, for $T$ queries and $S$ keys. Beside it, what it makes on the way:
#
# | score | largest tensor | products for one pair |
# |---|---|---|
# | dot, scaled dot | T × S | $d$ |
# | general | T × S | $d$, and $d^2$ once for each query |
# | additive | T × S × d_a | $d_a$, as many tanh, and $d\, d_a$ once for each query and key |


# %%
def dot_score(q, k):  # (T, d), (S, d)
    return q @ k.T


def general_score(q, k, W):
    return q @ W @ k.T


def additive_score(q, k, A_q, A_k, b, u):
    return torch.tanh((q @ A_q + b)[:, None] + (k @ A_k)[None]) @ u  # inside: (T, S, d_a)


assert torch.allclose(additive_score(query[None], keys, A_q, A_k, b, u)[0], additive)
additive_score(query[None], keys, A_q, A_k, b, u)

# %%
from deepdive.attention import AdditiveAttention, DotAttention, GeneralAttention
from deepdive.core import SoftmaxAttention

# The library's W_q, W_k, d_hidden are our A_q, A_k, d_a; torch stores matrices turned (.T).
q, k, v = torch.randn(5, 8), torch.randn(7, 8), torch.randn(7, 8)
library = {
    "dot": (DotAttention(), lambda m: dot_score(q, k)),
    "scaled dot": (SoftmaxAttention(), lambda m: dot_score(q, k) / 8**0.5),
    "general": (GeneralAttention(8), lambda m: general_score(q, k, m.W.weight.T)),
    "additive": (
        AdditiveAttention(8, d_hidden=16),
        lambda m: additive_score(q, k, m.W_q.weight.T, m.W_k.weight.T, m.W_q.bias, m.u.weight[0]),
    ),
}
for name, (mechanism, score) in library.items():
    with torch.no_grad():
        theirs = mechanism(q[None, None], k[None, None], v[None, None])[0, 0]
        difference = (theirs - softmax(score(mechanism), dim=-1) @ v).abs().max()
    assert difference < 1e-6
    parameters = sum(p.numel() for p in mechanism.parameters())
    print(f"{name:>10}: equal to 1e-6, {parameters:>3} parameters for d = 8, d_a = 16")

# %% [markdown]
# Two identities tie the family together. A Transformer multiplies queries and keys by $W_q$ and
# $W_k$ before the dot product: $(q W_q)\cdot(k W_k) = q\,(W_q W_k^\top)\,k^\top$. So its scaled dot
# product *is* a general score, with $W$ written as a product. And Luong's third score, *concat*,
# $u \cdot \tanh([q; k]\, A)$ with query and key put end to end, is the additive one with $A_q$
# above $A_k$:

# %% tags=["nbval-check-output"]
W_q, W_k = torch.randn(2, 8, 8)
assert torch.allclose(dot_score(q @ W_q, k @ W_k), general_score(q, k, W_q @ W_k.T), atol=1e-4)
A, u8 = torch.randn(16, 8), torch.randn(8)
A_q, A_k = A.split(8)  # the rows that meet q, and those that meet k
both = torch.cat([q[:, None].expand(5, 7, 8), k[None].expand(5, 7, 8)], dim=-1)  # [q; k]
concat = torch.tanh(both @ A) @ u8
split = additive_score(q, k, A_q, A_k, torch.zeros(8), u8)
assert torch.allclose(concat, split, atol=1e-4)
"projected dot = general; concat = additive"

# %% [markdown]
# ### Common mistake: leaving out the tanh
#
# The additive score without its nonlinearity, $u \cdot (q A_q + k A_k)$, looks like a cheaper form
# of the same thing. Measure how much the weights of one key vary from query to query (the standard
# deviation, for the key where it is largest):


# %%
def linear_score(q, k, A_q, A_k, u):
    return ((q @ A_q)[:, None] + (k @ A_k)[None]) @ u  # wrong: no tanh


linear = softmax(linear_score(q, k, A_q, A_k, u8), dim=-1)
right = softmax(additive_score(q, k, A_q, A_k, torch.zeros(8), u8), dim=-1)
for name, weights in (("without tanh", linear), ("with tanh", right)):
    print(f"{name:>12}: five queries differ in their weights by {weights.std(0).max():.3f}")
assert linear.std(0).max() < 1e-5 < 1e-2 < right.std(0).max()

# %% [markdown]
# **Symptom:** every query has the same weights. The score is a sum of a number for the query and a
# number for the key. The first is the same for all keys, so the softmax cancels it. Nothing is left
# of the query. **Fix:** the tanh, which bends their sum, so that query and key no longer come
# apart.

# %% [markdown]
# ## A rotation that dot cannot bridge
#
# Now as a task. Ten things have ten random meanings, vectors of 8 numbers, all equally long for
# now. The keys are the meanings. Each thing also sends a query: its meaning, with some noise. Query
# $t$ should put its largest weight on key $t$. Then turn all keys by an angle (in four planes, two
# of the 8 coordinates each), and see how often dot still finds the right one.

# %%
from torch.nn.functional import normalize

d, S = 8, 10


def rotation(degrees):  # the same turn in four planes, (8, 8)
    angle = torch.tensor(degrees * torch.pi / 180)
    turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()]).view(2, 2)
    return torch.block_diag(*[turn] * (d // 2))


def draw(n, turn, equal_lengths=True):  # queries and keys, (n, 1, S, d); generated
    meaning = torch.randn(n, 1, S, d)
    if equal_lengths:
        meaning = normalize(meaning, dim=-1) * d**0.5
    return meaning + 0.3 * torch.randn(n, 1, S, d), meaning @ turn


# %% [markdown]
# The values are a one for each key, so that what comes out of a mechanism are its weights:

# %%
def weights_of(mechanism, q, k):  # (n, 1, S, S)
    return mechanism(q, k, torch.eye(S).expand(len(q), 1, S, S))


def accuracy(mechanism, data):
    with torch.no_grad():
        found = weights_of(mechanism, *data).argmax(-1)
    return (found == torch.arange(S)).float().mean().item()


f"no rotation: dot finds {accuracy(DotAttention(), draw(500, torch.eye(d))):.1%}"

# %% [markdown]
# To train a score, let the weight of query $t$ on key $t$ become large: the loss is the
# cross-entropy, minus its logarithm.

# %%
from deepdive.training import Validation, fit
from deepdive.training.optim import adam, constant
from deepdive_book.kit.profile import pick


def loss(mechanism, batch):
    own = weights_of(mechanism, *batch).diagonal(dim1=-2, dim2=-1)  # of query t on key t
    return -own.clamp_min(1e-12).log().mean()


def train(mechanism, turn, equal_lengths=True, lr=1e-2, every=10):
    """Train for 200 steps; return the accuracy after every `every` of them."""
    torch.manual_seed(1)
    batches = [draw(32, turn, equal_lengths) for _ in range(200)]
    test, curve = draw(300, turn, equal_lengths), []

    def validate(mechanism):
        curve.append(accuracy(mechanism, test))
        return 1 - curve[-1]

    options = {"optimizer": adam(mechanism), "schedule": constant(lr), "progress": False}
    fit(mechanism, batches, loss, steps=200, validate=Validation(validate, every=every), **options)
    return curve


# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "All keys are turned by 90 degrees. How often does dot find the right one of ten keys?",
    ["about 100%: the angles among the keys have not changed", "about 10%: chance", "nearly never"],
    answer=2,
    explain="The right key now stands at a right angle to its query: score about 0. Among nine "
    "others there is nearly always one with a positive score. Dot does worse than a guess.",
    key="02_transformer/rotated-keys",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
angles = pick(ci=(0, 90, 180), laptop=(0, 30, 60, 90, 120, 150, 180), gpu=(0, 45, 90, 135, 180))
turned = {a: rotation(float(a)) for a in angles}
of_dot = [accuracy(DotAttention(), draw(500, turn)) for turn in turned.values()]
of_general = [train(GeneralAttention(d), turn)[-1] for turn in turned.values()]
for angle, dot, general in zip(angles, of_dot, of_general, strict=True):
    print(f"{angle:>3} degrees: dot {dot:6.1%}, general after 200 steps {general:6.1%}")

# %% A rotation that dot cannot bridge tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(5.2, 3))
axes = figure.subplots()
axes.plot(angles, of_general, "o-", label="general, trained")
axes.plot(angles, of_dot, "s--", label="dot")
axes.axhline(1 / S, color="0.6", linestyle=":", label="chance")
axes.set(xlabel="angle between the spaces", ylabel="right key found", ylim=(-0.03, 1.05))
axes.set_xticks(angles)
axes.legend()
with_alt(
    figure,
    "Share of right keys against the angle. General stays near 1 at every angle. Dot falls from 1 "
    "at 0 degrees to below chance at 90 degrees, and stays at 0.",
)

# %% [markdown]
# *Dot needs the two spaces to be one. General does not care how they lie. At 90 degrees the right
# key lies across its query and scores about 0; some wrong key nearly always scores more.*

# %%
middle = angles.index(90)
assert of_dot[0] > 0.9 > 0.1 > of_dot[middle]
assert min(of_general) > 0.9
f"at 90 degrees: dot {of_dot[middle]:.1%}, chance {1 / S:.0%}, general {of_general[middle]:.1%}"

# %% [markdown]
# Did general learn the rotation? If so, $W$ is the rotation times a number (how sure to be). Train
# it at 90 degrees and look, together with the weights of one draw:

# %%
from deepdive.core.hooks import record

mechanism = GeneralAttention(d)
train(mechanism, rotation(90.0))
W = mechanism.W.weight.detach().T  # score = q @ W @ k.T
likeness = torch.corrcoef(torch.stack([W.flatten(), rotation(90.0).flatten()]))[0, 1].item()
assert likeness > 0.9
coordinates = [str(i) for i in range(d)]
title = f"W; correlation with the turn {likeness:.3f}"
alt = (
    "W, queries down, keys across: in each plane of two coordinates one negative entry above the "
    "diagonal and one positive below it; all others near 0."
)
figure = heatmap(W, coordinates, coordinates, title=title, alt=alt)
figure.axes[0].set(xlabel="coordinate of the key", ylabel="coordinate of the query")
show(figure)

# %% tags=["fold"]
from deepdive_book.kit.plotting import heads

torch.manual_seed(3)
sample, things, maps = draw(1, rotation(90.0)), list("abcdefghij"), []
for looked in (DotAttention(), mechanism):
    with record(looked, "weights") as seen, torch.no_grad():
        weights_of(looked, *sample)
    maps.append(seen["weights"][0][0, 0])
show(heads(torch.stack(maps), things, things, names=["dot", "general, trained"]))

# %% [markdown]
# *Above: W pairs each coordinate with its partner in the plane, once with each sign: the quarter
# turn. Below: the weights of ten queries on ten keys; the right ones are on the diagonal.*

# %% [markdown]
# ## Which learns faster?
#
# Three scores can learn the task: general, additive, and the Transformer's way, two projections and
# a scaled dot product. Give each the same learning rates to try (one rate in the quick profile
# `ci`), keep its best run, and count the steps until 80% of the keys are found, looking at every
# tenth.
#
# One more thing is varied. So far all meanings had the same length. In a second round they have
# not: some keys are long, some short.

# %%
from torch import nn


class Projected(SoftmaxAttention):
    def __init__(self, d):
        super().__init__()
        self.W_q, self.W_k = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)

    def forward(self, q, k, v, mask=None, bias=None, scale=None):
        return super().forward(self.W_q(q), self.W_k(k), v, mask, bias, scale)


learners = {
    "general": lambda: GeneralAttention(d),
    "projected dot": lambda: Projected(d),
    "additive, d_a = 32": lambda: AdditiveAttention(d, d_hidden=32),
}
several = (3e-3, 1e-2, 3e-2)
rates, curves, turn = pick(ci=(1e-2,), laptop=several, gpu=several), {}, rotation(90.0)
for name, make in learners.items():
    for equal in (True, False):
        tried = [train(make(), turn, equal, lr) for lr in rates]
        curves[name, equal] = max(tried, key=sum)  # the largest area under the curve

# %% tags=["fold"]
predict(
    "Keys of different lengths. Dot, with no rotation at all, finds about nine in ten. What will "
    "general, projected dot and additive reach?",
    [
        "all three about nine in ten: the rest is noise",
        "all three nearly all: they learn to correct for length",
        "general and projected dot about nine in ten, additive nearly all",
    ],
    answer=2,
    explain="A long key has a large product with every query near its direction, whatever W is. "
    "No W can subtract the length of a key. The tanh of a small network can.",
    key="02_transformer/key-lengths",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
unturned = draw(500, torch.eye(d), equal_lengths=False)
limit = accuracy(DotAttention(), unturned)
print(f"dot, no rotation, keys of different lengths: {limit:.1%}")
for (name, equal), curve in curves.items():
    first = next((10 * (i + 1) for i, value in enumerate(curve) if value >= 0.8), None)
    kind = "equal lengths" if equal else "different lengths"
    size = sum(p.numel() for p in learners[name]().parameters())
    print(f"{name:>18} ({size:>3} parameters), {kind:>17}: 80% after {first} steps, "
          f"in the end {curve[-1]:.1%}")  # fmt: skip
    assert curve[-1] > (0.95 if equal or "additive" in name else 0.8)
for name in ("general", "projected dot"):
    assert curves[name, False][-1] < 0.94 < curves["additive, d_a = 32", False][-1]

# %% tags=["fold"]
figure = Figure(figsize=(7.4, 3))
panels = figure.subplots(1, 2, sharey=True)
for axes, equal in zip(panels, (True, False), strict=True):
    for name, style in zip(learners, ("o-", "s--", "^-"), strict=True):
        curve = [1 / S, *curves[name, equal]]
        axes.plot(range(0, 201, 10), curve, style, markersize=3.5, label=name)
    axes.set(title="equal lengths" if equal else "different lengths", xlabel="step")
panels[1].axhline(limit, color="0.6", linestyle=":", label="dot, no rotation")
panels[0].set(ylabel="right key found", ylim=(0, 1.05))
panels[1].legend(fontsize="small", loc="lower right")
with_alt(
    figure,
    "Accuracy against training steps. With equal lengths all three rise to 1 within some tens of "
    "steps. With different lengths additive reaches 1; the other two stop near 0.88.",
)

# %% [markdown]
# *Left: no score learns much faster than another. Right: two stop where plain dot stood, and
# additive goes on.*
#
# So speed is not what tells them apart here. What they can *express* is. General and projected dot
# are **bilinear**: with either vector twice as long, the score $q W k^\top$ is twice as large. So
# a long wrong key can beat a short right one. The query is the meaning plus noise. So once the
# turn is undone, which changes no length, the right key is the *nearest* one, and the right score
# is minus the squared distance: $-|q - k|^2 = 2\, q \cdot k - |q|^2 - |k|^2$. The term $-|q|^2$ is
# the same for all keys and cancels in the softmax; $-|k|^2$ does not, and no $W$ can make it.
# Additive, a network, finds something that serves. The other way out is to make all keys equally
# long. [Layer norm](09_residuals_norms.ipynb) in a Transformer doesn't do that, because it acts
# before $W_k$, and keys after $W_k$ differ in length. The established fix is QK-norm, a norm on
# queries and keys (Henry et al. 2020; Dehghani et al. 2023).
#
# The comparison has two limits. Additive has the most parameters, as the table shows, and each
# score's best learning rate was chosen on the same test items that it is reported on. The argument
# about what the scores can express rests on neither.
#
# What do the sources say? Luong et al. (2015) found dot better where the whole source is looked at,
# general where only a window of it is, and could not get concat to work well. Britz et al. (2017),
# with many runs, found additive slightly but consistently better. Vaswani et al. (2017) chose the
# dot product for its cost. So cost is next.

# %% [markdown]
# ## What do they cost?
#
# Measure them at one width, for sentences that grow. (Dot costs what scaled dot costs.) Take the
# processor time for one forward and backward pass, and the bytes that are *kept* between them.
# PyTorch keeps the tensors that the backward pass needs; a hook can weigh each as it is put away.
# `record` makes the library take its explicit steps, not the fused call, which keeps no weights.

# %%
import time

from torch.autograd.graph import saved_tensors_hooks


def cost(mechanism, n, width=64):
    q, k, v = (torch.randn(1, 1, n, width, requires_grad=True) for _ in range(3))
    kept, seconds = {}, []
    for _ in range(3):

        def weigh(tensor):
            kept[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
            return tensor

        begin = time.process_time()
        with saved_tensors_hooks(weigh, lambda tensor: tensor), record(mechanism, "weights"):
            mechanism(q, k, v).sum().backward()
        seconds.append(time.process_time() - begin)
        total = sum(kept.values())
        kept.clear()
    return min(seconds), total / 2**20  # seconds, MiB


# %%
lengths = pick(ci=[64, 128, 256], laptop=[64, 128, 256, 512], gpu=[64, 128, 256, 512])
makers = {
    "scaled dot": SoftmaxAttention,
    "general": lambda: GeneralAttention(64),
    "additive": lambda: AdditiveAttention(64),
}
costs = {name: [cost(make(), n) for n in lengths] for name, make in makers.items()}

# %% tags=["fold"]
figure = Figure(figsize=(7.4, 3))
for i, axes in enumerate(figure.subplots(1, 2)):
    what = ("milliseconds", "MiB kept")[i]
    for (name, measured), style in zip(costs.items(), ("o-", "s--", "^-"), strict=True):
        axes.plot(lengths, [(1000, 1)[i] * pair[i] for pair in measured], style, label=name)
    axes.set(xscale="log", yscale="log", xlabel="words (T = S)", ylabel=what)
    axes.set_xticks([], minor=True)
    axes.set_xticks(lengths, [str(n) for n in lengths])
axes.legend()
with_alt(
    figure,
    "Time and bytes kept against the number of words, on logarithmic axes, for d = 64. Scaled dot "
    "and general lie together; additive lies far above them in both, and rises more steeply.",
)

# %% [markdown]
# *Additive lies far higher in both. In bytes the gap grows with the length, towards d_a = 64: one
# hidden vector for each pair of words.*

# %%
from math import log

from deepdive_book.kit.flops import count_flops

n = lengths[-1]
some = torch.randn(3, 1, 1, n, 64)  # queries, keys, values
for name, measured in costs.items():
    with torch.no_grad():
        operations = count_flops(lambda name=name: makers[name]()(*some))
    (_, before), (seconds, kept) = measured[-2:]
    power = log(kept / before) / log(lengths[-1] / lengths[-2])
    print(f"{name:>10}, {n} words: {1000 * seconds:7.1f} ms, {kept:7.1f} MiB", end=", ")
    print(f"growing as n^{power:.1f}, {operations / 1e6:.0f} million operations forward")
(dot_time, dot_kept), (additive_time, additive_kept) = (
    costs[name][-1] for name in ("scaled dot", "additive")
)
assert additive_kept > 10 * dot_kept
print(f"additive / scaled dot: {additive_time / dot_time:.0f} x the time,", end=" ")
print(f"{additive_kept / dot_kept:.0f} x the bytes kept")

# %% [markdown]
# What is kept of the scores grows as $n^2$. The exponent of the cheap ones is lower at these
# lengths, since $q$, $k$ and $v$, which grow as $n$, are a good part of what they keep.
#
# In operations counted they are nearly alike. Vaswani et al. say so, in section 3.2.1: the two are
# "similar in theoretical complexity", and the dot product is "much faster and more space-efficient
# in practice". The count leaves out the tanh, one for each pair and hidden unit. Above all it
# leaves out that each of those numbers is written down and read again. A matrix product never
# writes them down.
#
# General costs one product with $W$ more than dot for each query, and nothing more for each pair:
# too little to show in the printed times. A Transformer does the same: it puts its learning before
# the pairs, not into them.
#
# A recurrent decoder asks one query at a time, so $T = 1$, and projects its keys once. Then
# additive needs $S \times d_a$ numbers a step, and the factor hurts little. Bahdanau's choice was
# right for his model; with self-attention, where every word asks, it no longer was.

# %% [markdown]
# ## How it differs
#
# | | dot | scaled dot | general | additive |
# |---|---|---|---|---|
# | parameters | 0 | 0 | d_q d_k | d_a (d_q + d_k + 2) |
# | query and key of different width | no | no | yes | yes |
# | bridges a rotation | no | no, unless projected before | yes | yes |
# | can subtract the length of a key | no | no | no | yes |
# | size of a score | grows as √d | near 1 | learned | at most the sum of \|u\| |
# | kept for the backward pass | T × S | T × S, or nothing when fused | T × S | T × S × d_a |
# | used in | Luong | Transformer | Luong | Bahdanau |

# %% [markdown]
# ## In practice
#
# - **Use the scaled dot product after learned projections.** It is general in disguise, and fast
#   ready-made routines exist for it.
# - **Do not take a bare dot product of states from two networks.** If accuracy is *below* chance,
#   suspect a rotation.
# - **Keep the lengths of the keys alike**, by a norm, before a dot product.
# - **With additive, project the keys once** (`project_keys`, then `attend` at each step).
# - **Compare scores at their own best learning rate.** At one rate for all, the order can turn.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. With the $W$ of the worked numbers, which scores do general and dot give the query $(1, 3)$ and
#    the key $(2, 0)$?
#
#    <details><summary>Answer</summary>
#
#    General 6: $W$ swaps the query's numbers, $(1, 3)\, W = (3, 1)$, and
#    $3 \cdot 2 + 1 \cdot 0 = 6$. Dot compares cat with dog: $1 \cdot 2 + 3 \cdot 0 = 2$.
#
#    </details>
# 2. A Transformer's score is a scaled dot product, which bridges no rotation. Why can a Transformer
#    bridge one all the same, and what is its $W$?
#
#    <details><summary>Answer</summary>
#
#    It projects queries and keys first, and a dot product after two projections is general with
#    $W = W_q W_k^\top$. After training at 90 degrees general's $W$ was nearly the turn, times a
#    number.
#
#    </details>
# 3. Why do all queries get the same weights when the tanh is left out of the additive score?
#
#    <details><summary>Answer</summary>
#
#    The score is then a number for the query plus a number for the key. The query's number is the
#    same for all keys, so the softmax cancels it.
#
#    </details>
# 4. The query is the meaning of one key plus noise, and the keys have different lengths. Which
#    score would be right, and which of its terms can no $W$ make?
#
#    <details><summary>Answer</summary>
#
#    $-|q - k|^2$. The term $-|k|^2$: $q W k^\top$ is proportional to the key. Additive finds
#    something that serves.
#
#    </details>
# 5. Self-attention over 500 words, $d_a = 64$: how many times as large as dot's largest tensor is
#    additive's, and why did this hurt Bahdanau's decoder little?
#
#    <details><summary>Answer</summary>
#
#    64 times: T × S × d_a numbers against T × S. His decoder asks one query at a time, so that
#    $T = 1$ and S × d_a numbers a step are enough.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* Worked numbers, query $(0, 2)$, a dog. What do dot and general give the
#    three keys?
#
#    <details><summary>Answer</summary>
#
#    Dot: 0 for *the*, 4 for *cat*, 0 for *dog*. General: $(0, 2)\, W = (2, 0)$, so 0, 0, 4.
#
#    </details>
# 2. *(derive, 5 min)* Queries of width 1,000, keys of width 2,000. How many parameters has general?
#    Additive with $d_a = 1{,}000$, as Bahdanau had it?
#
#    <details><summary>Answer</summary>
#
#    General $1{,}000 \cdot 2{,}000 = 2{,}000{,}000$. Additive
#    $1{,}000 \cdot (1{,}000 + 2{,}000 + 2) = 3{,}002{,}000$.
#
#    </details>
# 3. *(derive, 8 min)* The keys are turned by a rotation $R$. Which $W$ gives general the scores
#    that dot had before the turn? Why does it hold for every rotation, and not for every matrix?
#
#    <details><summary>Answer</summary>
#
#    The keys are $k R$. With $W = R$: $q R (k R)^\top = q R R^\top k^\top = q k^\top$, since
#    $R R^\top$ is the identity for a rotation. For another invertible matrix $M$ it is
#    $W = (M^{-1})^\top$; for one that is not invertible there may be none.
#
#    </details>
# 4. *(predict, 4 min)* Dot at 180 degrees finds nothing. Multiply its scores by −1. What does it
#    find?
#
#    <details><summary>Answer</summary>
#
#    Nearly all: a half turn in every plane is a change of sign. At 90 degrees the trick is of no
#    use: the right key scores about 0, with either sign.
#
#    </details>
# 5. *(code, 10 min)* Append $-|k|^2 / 2$ to each key as a ninth number, and a 1 to each query.
#    Train general, 9 wide, on keys of different lengths. Does it pass its limit?
#
#    <details><summary>Answer</summary>
#
#    Yes. Without a turn the score with $W = 1$ is $q \cdot k - |k|^2 / 2$. That is
#    $(|q|^2 - |q - k|^2) / 2$: for one query it orders the keys by their distance. With turned keys
#    $W$ is the turn, and a 1 for the ninth number. Trained at 90 degrees with a rate of 0.01, it
#    found more than 95% after 100 steps. The cell below checks dot, which needs no training.
#
#    </details>

# %%
# The answers to 2, 3, 4 and 5, checked.
wide = GeneralAttention(1000, 2000), AdditiveAttention(1000, 2000, 1000)
assert [sum(p.numel() for p in m.parameters()) for m in wide] == [2_000_000, 3_002_000]
R = rotation(37.0)
assert torch.allclose(general_score(q, k @ R, R), dot_score(q, k), atol=1e-4)
flipped, keys_back = draw(300, rotation(180.0))
assert accuracy(DotAttention(), (flipped, -keys_back)) > 0.9
asks, offers = unturned
asks = torch.cat([asks, torch.ones(500, 1, S, 1)], dim=-1)
offers = torch.cat([offers, -offers.square().sum(-1, keepdim=True) / 2], dim=-1)
passed = accuracy(DotAttention(), (asks, offers))
assert passed > limit + 0.05
print(f"answers 2, 3 and 4 hold; for 5, dot with the ninth number finds {passed:.1%}")

# %% [markdown]
# ## Summary
#
# A dot product compares only what is drawn in one coordinate system; general learns the way from
# one to the other, additive learns a small network for each pair. Learned projections before a dot
# product are general written as a product, for an extra cost that does not grow with the pairs.
# Additive can express more, such as the length of a key, and pays with $d_a$ numbers for every pair
# of words.
#
# ## Further reading
#
# - The book: the four are in sections 2.3.2.1 to 2.3.2.3. Of the last one's heading, "linear, MLP,
#   or additive", the first alone does not work (see the common mistake).
# - Bahdanau, Cho, Bengio (2015), *Neural Machine Translation by Jointly Learning to Align and
#   Translate*, appendix A.1.2: the additive score, and why the keys are projected once.
# - Luong, Pham, Manning (2015), *Effective Approaches to Attention-based Neural Machine
#   Translation*, sections 3.1 and 5.3: three scores compared.
# - Britz et al. (2017), *Massive Exploration of Neural Machine Translation Architectures*, section
#   4.5: additive against multiplicative over many runs.
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.2.1: why the dot product, and why
#   scaled.
