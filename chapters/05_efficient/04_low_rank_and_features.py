# %% [markdown] tags=["slide"]
# # Low rank and features
#
# A head that reads 4,096 tokens fills a table of 16.8 million weights, and then adds it up into
# 4,096 rows. Can it have the sums without the table?
#
# <small>Book 5.2.2.3, 5.2.7.1, table 1.2 · before this page:
# [several heads](../02_transformer/06_multi_head.ipynb),
# [what a layer costs](../02_transformer/15_complexity.ipynb) · 28 min to read · a laptop is
# enough</small>

# %% tags=["setup"]
# Setup, the same on every page. On Colab it installs only what is missing, and never torch.
PROFILE = "auto"  # @param ["auto", "ci", "laptop", "gpu"]
SAVE_TO_DRIVE = False  # @param {type:"boolean"}
SOURCE = ""  # where pip finds deepdive, once it is published
import subprocess
import sys
from importlib.util import find_spec

if "google.colab" in sys.modules:
    for name in ("deepdive", "einops", "safetensors", "sacrebleu", "num2words", "babel"):
        what = ["--no-deps", SOURCE] if name == "deepdive" else [name]
        if find_spec(name) is None and what[-1]:
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *what])
if find_spec("deepdive") is None:
    how = "in its folder run `pip wheel --no-deps .`, bring the .whl file here, `%pip install` it"
    raise ModuleNotFoundError(f"deepdive is not installed here: {how}, and run this cell again")
from deepdive.page.profile import setup

setup(PROFILE, drive=SAVE_TO_DRIVE)

# %% tags=["slide", "fold"]
from deepdive.page.diagrams import ROLES, svg, text
from deepdive.page.plotting import show


def block(x, y, width, height, role, label):
    box = (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{ROLES[role]}" '
        f'fill-opacity="0.3" stroke="{ROLES[role]}"/>'
    )
    return box + text(x + width / 2, y + height / 2, label, 13)


body = [text(60, 14, "softmax", 15, bold=True), block(10, 30, 100, 100, "weight", "T × S")]
body += [text(254, 14, "Linformer, Performer", 15, bold=True)]
body += [block(170, 30, 56, 100, "query", "T × m"), block(238, 30, 100, 56, "key", "m × S")]
body += [text(518, 14, "Nystrom", 15, bold=True), block(400, 30, 56, 100, "query", "T × m")]
body += [block(468, 30, 56, 56, "score", "m × m"), block(536, 30, 100, 56, "key", "m × S")]
show(
    svg(646, 140, body),
    "Three ways to write the weights. Softmax: one square, T by S. Linformer and Performer: a thin "
    "T by m matrix times a flat m by S one. Nystrom: a thin one, a small m by m one, a flat one.",
)

# %% [markdown]
# *A thin matrix times a flat one has as many rows and columns as the square, and its rank is at
# most $m$. Nobody multiplies the two: the flat one meets the values first.*
#
# All methods of this page replace the $T \times S$ weights by a product of thin matrices. They
# differ in where the thin matrices come from: trained sums over positions (**Linformer**), random
# features of single queries and keys (**Performer**), a few landmarks (**Nystrom**), random
# buckets (**YOSO**), or waves that never look at the text (**FNet**).
#
# Each comes with a claim about how good it is. We test the claims on the 72 heads of MiniLM, a
# trained model.

# %% [markdown]
# ## By hand: the same product in another order
#
# Three tokens, two features each, none negative. A weight is the product of a query's features with
# a key's, divided by the row's sum.

# %%
import torch

phi_q = torch.tensor([[1.0, 0], [1, 1], [0, 2]])
phi_k = torch.tensor([[1.0, 0], [0, 1], [1, 1]])
v = torch.tensor([[4.0, 0], [0, 2], [2, 2]])
table = phi_q @ phi_k.T
print("the table:", table.tolist(), "its rows sum to", table.sum(1).tolist())
S, z = phi_k.T @ v, phi_k.sum(0)
print("summed up first:", S.tolist(), "and", z.tolist())
long_way, short_way = table @ v / table.sum(1, keepdim=True), phi_q @ S / (phi_q @ z)[:, None]
assert torch.equal(long_way, short_way)
short_way

# %% [markdown]
# By pencil for the second token. Through the table: weights 1, 1, 2, sum 4, so
# $(1 \cdot (4, 0) + 1 \cdot (0, 2) + 2 \cdot (2, 2)) / 4 = (2, 1.5)$. Summed up first: feature 0
# belongs to keys 0 and 2, whose values add up to $(6, 2)$; feature 1 to keys 1 and 2, $(2, 4)$. The
# second token has both features: $(8, 6)$, divided by $2 + 2$. The same.
#
# The table costs $T \cdot S$ products. The sums cost $S$ and are made **once for all queries**.
# But $\exp(q \cdot k)$, the softmax's own weight, is no product of two features. So something has
# to be given up.

# %% [markdown]
# ## A real model to test on
#
# MiniLM has 6 layers of 12 heads, 32 wide. We catch what enters each head. In the profile `ci` the
# text is generated, else it is the beginning of Tiny Shakespeare.

# %%
from deepdive.data import fetch
from deepdive.data.tree_grammar import tree_sentences
from deepdive.page.profile import banner, pick, profile
from deepdive.published import load
from deepdive.published.pretrained import minilm, minilm_tokenizer

model, tokenizer = load(minilm()), minilm_tokenizer()
if profile() == "ci":
    story = " ".join(" ".join(tree.words) + " ." for tree in tree_sentences(60))
else:
    story = fetch("tinyshakespeare", "input.txt").read_text("utf-8")[:5000]
pieces = tokenizer.encode(story, bos=True, eos=False)
source = "sentences (generated)" if profile() == "ci" else "tinyshakespeare (real)"
print(banner(source), f"\n{len(pieces)} pieces")


def caught(n):
    """q, k and v of all heads on the first n pieces, each (6, 12, n, 32)."""
    kept, layers = [], [layer.attn.mechanism for layer in model.stack.blocks]
    catch = [each.register_forward_pre_hook(lambda _, x: kept.append(x[:3])) for each in layers]
    with torch.no_grad():
        model(torch.tensor([pieces[:n]]))
    for handle in catch:
        handle.remove()
    return [torch.cat(rows) for rows in zip(*kept, strict=True)]


# %% [markdown]
# Whatever a mechanism does, its weights can be read off: give it the identity matrix as values, and
# the outputs are the weights. That is how this page draws them.

# %%
from deepdive.attention import SoftmaxAttention

length = pick(ci=128, laptop=256, gpu=256)
q, k, v = caught(length)
identity = torch.eye(length).expand(6, 12, length, length)
weights = SoftmaxAttention()(q, k, identity)
exact = SoftmaxAttention()(q, k, v)
assert torch.allclose(weights @ v, exact, atol=1e-5)


def error(output):
    """|output - exact| / |exact| of each head, averaged over the 72."""
    return float(((output - exact).norm(dim=(-2, -1)) / exact.norm(dim=(-2, -1))).mean())


everybody = error(v.mean(2, keepdim=True).expand_as(v))
print(f"the mean of all values, for every query: error {everybody:.2f}")

# %% [markdown]
# Remember that number. A method that is further off than it would do better to ignore queries and
# keys, and to hand out the average.

# %% [markdown] tags=["slide"]
# ## Linformer: fewer keys
#
# Wang et al. (2020) sum the $S$ keys up into $m$ rows, and the values too, by two trained matrices
# over **positions**, $E$ and $F$ ($m \times S$):
#
# $$\mathrm{output} = \mathrm{softmax}\!\left(\frac{Q\,(E K)^\top}{\sqrt{d}}\right) (F V)$$
#
# A query now meets $m$ rows instead of $S$. In code:


# %%
def linformer(q, k, v, E, F):
    scores = q @ (E @ k).transpose(-2, -1) / q.shape[-1] ** 0.5  # (..., T, m)
    return scores.softmax(-1) @ (F @ v)


# %%
from deepdive.attention import LengthProjection, LinformerAttention

precise = [rows.double() for rows in (q, k, v)]  # checks in float64
E, F = (LengthProjection(1, length, 16).double() for _ in range(2))
with torch.no_grad():
    ours = linformer(*precise, E.weight[0], F.weight[0])
    assert torch.allclose(ours, LinformerAttention(E, F)(*precise), atol=1e-6)
    E.weight[0], F.weight[0] = torch.eye(16, length), torch.eye(16, length)
    start = [rows[:, :, :16] for rows in precise]
    assert torch.allclose(LinformerAttention(E, F)(*start), SoftmaxAttention()(*start), atol=1e-6)
"the library's, and with the identity for E and F: softmax attention"

# %% [markdown]
# Three ways to share them, from most numbers to fewest: one pair for all heads of a layer, one
# matrix for keys *and* values, one matrix for all layers. In the library, what is shared is one
# object in two places.
#
# - **Its limit:** the identity for $E$ and $F$ gives softmax attention. But $m$ is then $S$.
# - **Its price:** $E$ has a column for each position, so there is a greatest length. And each row
#   of $E K$ holds keys from the whole text: a causal form does not exist. The library refuses both.
# - **Padding** enters the sums as 0. It is never seen, but the $m$ rows stay $m$.

# %% [markdown]
# ### Is attention of low rank?
#
# The paper's argument has two halves. *Measured*: the singular values of RoBERTa's attention
# matrices fall fast, so a few directions hold most of the matrix. *Proved* (theorem 1): for any
# $Q$, $K$, $V$ there is a matrix of rank $O(\log n)$ that does nearly what the attention matrix
# does. If so, $m$ need not grow with the text.
#
# First half. Take the singular values $\sigma_1 \ge \sigma_2 \ge \dots$ of each head's weights, and
# count how many of them hold 90% of their sum.

# %% tags=["fold"]
from deepdive.page.predictions import predict

predict(
    "A text of 64 pieces needs about 20 of its 64 singular values for 90%. How many does one of "
    "twice the length need?",
    ["about 20 again: the rank is the model's", "a few more, like log n", "about 40"],
    answer=2,
    explain="The share stays nearly the same, so the rank grows like the length. A constant m "
    "holds ever less of the matrix.",
    key="05_efficient/rank",
)

# %% [markdown] tags=["answer"]
# #### What happens: open this once you have predicted

# %%
lengths = pick(ci=[32, 64, 128], laptop=[64, 128, 256, 512], gpu=[64, 128, 256, 512])


def rank(matrix, share=0.9):
    values = torch.linalg.svdvals(matrix)
    part = values.cumsum(-1) / values.sum(-1, keepdim=True)
    return (part < share).sum(-1) + 1


ranks = {}
for n in lengths:
    some = caught(n)
    maps = SoftmaxAttention()(some[0], some[1], torch.eye(n).expand(6, 12, n, n))
    ranks[n] = rank(maps).float()
    print(f"n = {n:3d}: {ranks[n].mean():6.1f} of {n} on average, {ranks[n].mean() / n:.2f} n")
low, high = lengths[0], lengths[-1]
growth = torch.log(ranks[high].mean() / ranks[low].mean()) / torch.log(torch.tensor(high / low))
print(f"the rank grows like n to the {growth:.2f}")
assert growth > 0.8

# %% tags=["slide", "surprise", "fold"]
from matplotlib.figure import Figure

from deepdive.page.plotting import with_alt

figure = Figure(figsize=(5.4, 3.4))
axes = figure.add_subplot()
for layer in range(6):
    means = [float(ranks[n][layer].mean()) for n in lengths]
    axes.plot(lengths, means, marker="o", label=f"layer {layer + 1}")
axes.plot(lengths, lengths, "--", color="gray", label="full rank")
axes.set(xscale="log", yscale="log", xlabel="pieces", ylabel="singular values for 90%")
axes.set_xticks(lengths, [str(n) for n in lengths])
axes.minorticks_off()
axes.legend(ncols=2, fontsize=8)
told = "; ".join(f"{n}: {ranks[n].mean():.0f}" for n in lengths)
with_alt(figure, f"How many singular values hold 90% of their sum, by length and layer. {told}.")

# %% [markdown]
# *Both axes are logarithmic: a line parallel to the dashed one grows like the length. None turns
# flat.*
#
# The spectrum does fall, in every head. But what is left of it is a share of $n$, not a number. A
# figure that is drawn at one length cannot show that.

# %% [markdown]
# ### What theorem 1 knows about attention
#
# Second half. The proof takes a random $R$ ($m \times n$, entries normal with variance $1/m$) and
# the matrix $P R^\top R$, which has rank $m$. By Johnson and Lindenstrauss each entry of
# $P R^\top R w$ is near that of $P w$:
#
# $$|(P R^\top R w - P w)_i| \approx \frac{|P_i|\,|w|}{\sqrt m}$$
#
# where $P_i$ is a row of $P$. Nothing in it says that $P$ comes from a softmax. So try it on three
# matrices: MiniLM's weights, a softmax of pure noise, and permutations, whose singular values are
# all 1.

# %%
torch.manual_seed(0)
shuffled = [torch.eye(length)[torch.randperm(length)] for _ in range(72)]
kinds = {
    "MiniLM": weights,
    "softmax of noise": (3 * torch.randn_like(weights)).softmax(-1),
    "permutations": torch.stack(shuffled).view_as(weights),
}
w = v[..., :1]  # one column of the values
print("error, in units of |P_i| |w| / sqrt(m)")
for m in (16, 64):
    found = []
    R = torch.randn(20, 1, 1, m, length) / m**0.5  # twenty draws
    for P in kinds.values():
        off = (P @ (R.transpose(-2, -1) @ (R @ w)) - P @ w).squeeze(-1)
        unit = P.norm(dim=-1) * w.norm(dim=(-2, -1))[..., None] / m**0.5
        found.append(float((off / unit).pow(2).mean().sqrt()))
    print(f"m = {m}:", ", ".join(f"{x:.2f} {kind}" for kind, x in zip(kinds, found, strict=True)))
    assert max(found) < 1.25 * min(found)

# %% [markdown]
# The same for all three. So the theorem is no statement about attention: a permutation, which has
# no low rank at all, does as well. It says that *one vector* can be carried through any matrix by
# few random sums, with an error measured in $|w|$. (Values have $d$ columns; for all of them at
# once $m$ grows with $d$, and the paper's second bound says so.)
#
# None of this says that a trained Linformer is bad. Its $E$ and $F$ are learnt together with the
# queries and keys, which never were those of a full model. Printed, for 512 tokens, on average over
# SST-2, IMDB, QNLI and QQP (KAIST 3, from the paper): RoBERTa-base 92.25, Linformer with $m = 128$
# 91.75, with $m = 256$ 92.08, and 92.30 with one matrix shared by all layers. (Not reproduced
# here.) What fell is the reason that was given, not the result.

# %% [markdown] tags=["slide"]
# ## Performer: a softmax by chance
#
# Choromanski et al. (2021) keep the softmax's weights and give up exactness. For $w$ with normal
# entries,
#
# $$e^{x \cdot y} = \mathbb{E}_w\!\left[\, e^{w \cdot x - |x|^2/2}\; e^{w \cdot y - |y|^2/2}
# \,\right]$$
#
# so that $\phi(x) = \frac{1}{\sqrt m}\big(e^{w_1 \cdot x - |x|^2/2}, \dots,
# e^{w_m \cdot x - |x|^2/2}\big)$ has $\phi(x) \cdot \phi(y) \approx e^{x \cdot y}$, and no entry is
# negative. With $x = q / d^{1/4}$ and $y = k / d^{1/4}$ these are the softmax's own weights.
#
# By pencil, in one dimension, $x = y = 1$. The truth is $e = 2.72$. With the two directions
# $w = \pm 1$ the products are $e^{0.5} e^{0.5} = e = 2.72$ and $e^{-1.5} e^{-1.5} = 0.05$, on
# average 1.38. With $w = \pm 2$: $e^{3} = 20.09$ and $e^{-5} = 0.01$, on average 10.05. Most draws
# give too little, and a few far too much:

# %%
torch.manual_seed(0)
draws = torch.randn(1_000_000)
products = (2 * draws - 1).exp()  # e^(w - 1/2) twice
print(f"mean {products.mean():.2f}, median {products.median():.2f}, largest {products.max():.0f}")
assert abs(products.mean() - torch.e) < 0.1
assert products.median() < 0.5

# %% [markdown]
# In code, with the order of the products from above. The largest exponent is taken away first, as
# in every softmax: from a query its own, from the keys one number for all, and both cancel in the
# division.


# %%
def exponents(x, W):
    return x @ W.transpose(-2, -1) - x.pow(2).sum(-1, keepdim=True) / 2


def performer(q, k, v, W):
    on_q, on_k = (exponents(x / q.shape[-1] ** 0.25, W) for x in (q, k))
    phi_q = (on_q - on_q.amax(-1, keepdim=True)).exp()  # (..., T, m)
    phi_k = (on_k - on_k.amax((-2, -1), keepdim=True)).exp()  # (..., S, m)
    return phi_q @ (phi_k.transpose(-2, -1) @ v) / (phi_q @ phi_k.sum(-2).unsqueeze(-1))


# %%
from deepdive.attention import PerformerAttention

library = PerformerAttention(32, 256).double()
assert torch.allclose(performer(*precise, library.drawn), library(*precise), atol=1e-6)
"the library's, with the same directions"

# %% [markdown]
# Three things more that the library does:
#
# - **Orthogonal directions.** The $w$ come in groups of $d$ at right angles, each as long as a
#   normal vector. They cover space more evenly than independent ones, and the error is smaller. To
#   get them from a QR decomposition, the sign of $R$'s diagonal must be mended: otherwise they are
#   not uniform, and the error stops falling at some $m$.
# - **Redraw.** Directions are drawn anew every 1,000 calls in training, so that nothing is learnt
#   against the luck of one draw. In evaluation they stay.
# - **Causal.** $S_t = \sum_{s \le t} \phi(k_s) v_s^\top$ is a running sum: no table, and a decoder
#   keeps $m (d + 1)$ numbers instead of a growing cache. Rows stand in chunks; within a chunk the
#   weights are written out, and before it one cumulative sum over chunks is enough.
#
# The **limit** is a rate: the error falls like $1/\sqrt m$. Is it true for the heads of MiniLM?

# %%
budgets = [m for m in (16, 64, 256, 1024, 4096) if m <= pick(ci=1024, laptop=4096, gpu=4096)]
curves = {}
for size in (0.3, 0.6, 1.0):
    truth = SoftmaxAttention()(size * q, size * k, v)
    curves[size] = []
    for m in budgets:
        torch.manual_seed(0)
        off = PerformerAttention(32, m)(size * q, size * k, v) - truth
        part = off.norm(dim=(-2, -1)) / truth.norm(dim=(-2, -1))
        curves[size].append(float(part.mean()))
    told = ", ".join(f"{m}: {e:.2f}" for m, e in zip(budgets, curves[size], strict=True))
    print(f"queries and keys times {size}: {told}")
assert curves[0.3][-2] < curves[0.3][-3] / 1.6  # four times the features: half
assert curves[1.0][-1] > 0.5 * curves[1.0][0]

# %% tags=["slide", "fold"]
figure = Figure(figsize=(6.6, 3.2))
axes = figure.add_subplot()
for size, errors in curves.items():
    axes.plot(budgets, errors, marker="o", label=f"q and k times {size}")
start = curves[0.3][0]
axes.plot(budgets, [start * (16 / m) ** 0.5 for m in budgets], ":", color="gray", label="1/sqrt(m)")
axes.axhline(everybody, linestyle="--", color="gray", label="the mean, at full size")
axes.set(xscale="log", yscale="log", xlabel="features m", ylabel="error")
figure.legend(loc="outside right upper", fontsize=8)
last = {size: f"{errors[0]:.2f} to {errors[-1]:.2f}" for size, errors in curves.items()}
with_alt(figure, f"Performer's error against the number of features, from 16 on. {last}.")

# %% [markdown]
# *The dotted line falls like $1/\sqrt m$. Short queries and keys follow it. Those of the trained
# model, times 1.0, hardly fall at all.*
#
# The rate holds, but its constant is about $e^{|x + y|^2 / 2}$. A trained head is sharp because its
# queries and keys are long, and sharp is what random features cannot do. With 256 features MiniLM's
# heads are about as far off as the plain mean of the values. A model that is trained with random
# features in place may keep its queries and keys short. One that was not, does not.

# %%
torch.manual_seed(0)
at_256 = error(PerformerAttention(32, 256)(q, k, v))
print(f"256 features: error {at_256:.2f}; the mean of the values: {everybody:.2f}")
assert at_256 > 0.8 * everybody

# %% [markdown]
# ### Common mistake: features with sines and cosines
#
# Random features are older than Performers, and the classical ones are waves:
# $e^{x \cdot y} = e^{|x|^2/2 + |y|^2/2}\, \mathbb{E}[\cos(w \cdot (x - y))]$. The mean is just as
# right. It runs:

# %%
torch.manual_seed(0)
W = PerformerAttention(32, 128).drawn.double()  # in float32 the exponentials overflow, too


def waves(x):
    angles = x / 32**0.25 @ W.T
    size = (x.pow(2).sum(-1, keepdim=True) / 32**0.5 / 2).exp()
    return size * torch.cat([angles.cos(), angles.sin()], dim=-1) / 128**0.5


estimated = waves(precise[0]) @ waves(precise[1]).transpose(-2, -1)  # (6, 12, T, S)
negative = float((estimated < 0).float().mean())
wrong = error(estimated @ precise[2] / estimated.sum(-1, keepdim=True))
print(f"negative weights: {negative:.0%}; error {wrong:.1f}, positive features {at_256:.2f}")
assert negative > 0.1
assert wrong > 2 * at_256

# %% [markdown]
# **Symptom:** weights below zero, row sums near zero, outputs that explode. A wave's error is
# largest where the weight is smallest, and in attention most weights are small. **Mend:** positive
# features. Their products go to zero with the weight and are never below it, so a sum of them is no
# accident of signs.

# %% [markdown] tags=["slide"]
# ## Nystrom: landmarks
#
# Xiong et al. (2021) cut the text into $m$ segments. The means of the queries and of the keys of
# each are its **landmarks** $\tilde Q$, $\tilde K$ ($m \times d$). Three small softmax matrices
# stand for the large one:
#
# $$\hat P = \underbrace{\mathrm{softmax}\big(Q \tilde K^\top\big)}_{T \times m}\;
# \underbrace{\mathrm{softmax}\big(\tilde Q \tilde K^\top\big)^{+}}_{m \times m}\;
# \underbrace{\mathrm{softmax}\big(\tilde Q K^\top\big)}_{m \times S}$$
#
# (scores divided by $\sqrt d$ as always). If tokens were their own landmarks, this would be
# $P P^{+} P = P$. The pseudo-inverse $A^{+}$ is found by products alone, six times
#
# $$Z \leftarrow \tfrac14 Z\,(13 I - A Z\,(15 I - A Z\,(7 I - A Z)))$$
#
# from $Z = A^\top / |A|_1$. In code:


# %%
def nystrom(q, k, v, m, iterations=6):
    def softmax(a, b):
        return (a @ b.transpose(-2, -1) / a.shape[-1] ** 0.5).softmax(-1)

    q_land, k_land = (rows.unflatten(2, (m, -1)).mean(3) for rows in (q, k))
    A, one = softmax(q_land, k_land), torch.eye(m)
    Z = A.transpose(-2, -1) / A.sum(-2).amax(-1)[..., None, None]
    for _ in range(iterations):
        AZ = A @ Z
        Z = 0.25 * Z @ (13 * one - AZ @ (15 * one - AZ @ (7 * one - AZ)))
    return softmax(q, k_land) @ (Z @ (softmax(q_land, k) @ v))


# %%
from deepdive.attention import NystromAttention

assert torch.allclose(nystrom(*precise, 16), NystromAttention(16)(*precise), atol=1e-6)
"the library's"

# %% [markdown]
# The library cuts the *real* tokens into segments, so that a padded text is what it is alone (the
# published code averages padding into its landmarks). There is no causal form, since a mean holds
# what comes later. On request it adds a short convolution of the values in each head, as the paper
# does: nearby values need no landmark.
#
# Six iterations do not find the inverse. Does that hurt?

# %% tags=["fold"]
predict(
    "Six iterations find the pseudo-inverse only roughly. With twelve, or with an exact one, the "
    "error on MiniLM's heads will be ...",
    ["smaller: the formula wants the inverse", "the same", "larger"],
    answer=2,
    explain="The small matrix is nearly singular. Its inverse multiplies what the landmarks get "
    "wrong; stopping early leaves the small singular values alone.",
    key="05_efficient/inverse",
)

# %% [markdown] tags=["answer"]
# #### What happens: open this once you have predicted

# %% tags=["surprise"]
by_iterations = {n: error(nystrom(q, k, v, 32, n)) for n in (2, 4, 6, 8, 12, 20)}
print(", ".join(f"{n} iterations: {e:.2f}" for n, e in by_iterations.items()))
q_land, k_land, _ = NystromAttention(32).landmarks(q, k)
A = (q_land @ k_land.transpose(-2, -1) / 32**0.5).softmax(-1)
condition = float(torch.linalg.cond(A.double()).median())
print(f"largest over smallest singular value of the small matrix: {condition:,.0f}")
assert by_iterations[12] > by_iterations[6]
assert by_iterations[20] > by_iterations[12]
assert condition > 300

# %% [markdown]
# More than eight iterations are worse. Segment means of neighbouring text look alike, so the small
# matrix is nearly singular, and the true inverse blows up whatever the landmarks miss. An iteration
# raises a small singular value of $Z$ by $13/4$ at most, so six of them stop at $(13/4)^6 \approx
# 1{,}180$: stopping early *is* the regulariser. (A model that was trained with six has learnt to
# live with six. Change the number, and its weights no longer fit.)

# %% [markdown] tags=["slide"]
# ## Look: one map, four ways
#
# One head on the first 16 pieces, with a budget of 4: the head of the first layer that looks least
# at [CLS]. For Linformer, $E$ and $F$ are means of segments: there is nothing trained to take.

# %% tags=["fold"]
from deepdive.page.plotting import heads

head = int(weights[0, :, :, 0].mean(-1).argmin())
few = [rows[:1, head : head + 1] for rows in caught(16)]


def means(n, m):
    """A projection that takes means of m segments."""
    projection = LengthProjection(1, n, m)
    inside = (torch.arange(n) * m // n == torch.arange(m)[:, None]).float()
    with torch.no_grad():
        projection.weight[0] = inside / inside.sum(1, keepdim=True)
    return projection.requires_grad_(False)


torch.manual_seed(0)
ways = {
    "softmax": SoftmaxAttention(),
    "Linformer (means)": LinformerAttention(means(16, 4)),
    "Performer": PerformerAttention(32, 4),
    "Nystrom": NystromAttention(4),
}
shown = torch.stack([way(*few[:2], torch.eye(16)[None, None])[0, 0] for way in ways.values()])

# %% tags=["slide", "fold"]
ticks = [tokenizer.vocab[i] for i in pieces[:16]]
places = [str(i) for i in range(16)]
figure = heads(shown, ticks, places, names=list(ways), limits=(0, float(shown[0].max())))
for axes in figure.axes[:4]:
    axes.set_xticks(range(0, 16, 5), places[::5], rotation=0)
lowest = ", ".join(f"{way} {m.min():.2f}" for way, m in zip(ways, shown, strict=True))
with_alt(figure, f"Weights of one head, exact and by three methods. Smallest weight: {lowest}.")

# %% [markdown]
# *Linformer's columns come in blocks of four: tokens of a segment cannot be told apart. Performer's
# rows are mixtures of four profiles, and its columns come from luck. Nystrom keeps the places and
# softens them; its weights may be negative.*
#
# ## Error against budget
#
# Now all 72 heads. Beside the three stands what no method can beat: the best matrix of rank $m$,
# from the singular values. It is no method, since to find it one must have the table.

# %%
U, sigma, Vh = torch.linalg.svd(weights)
sizes = [m for m in (8, 16, 32, 64, 128) if m < length]
budget = {"best of rank m": [], "Nystrom": [], "Linformer (means)": [], "Performer": []}
for m in sizes:
    best = (U[..., :m] * sigma[..., None, :m]) @ (Vh[..., :m, :] @ v)
    budget["best of rank m"].append(error(best))
    budget["Nystrom"].append(error(NystromAttention(m)(q, k, v)))
    budget["Linformer (means)"].append(error(LinformerAttention(means(length, m))(q, k, v)))
    torch.manual_seed(0)
    budget["Performer"].append(error(PerformerAttention(32, m)(q, k, v)))
for name, errors in budget.items():
    told = ", ".join(f"{m}: {e:.2f}" for m, e in zip(sizes, errors, strict=True))
    print(f"{name:18} {told}")
for best, near, far in zip(*list(budget.values())[:3], strict=True):
    assert best < near < far
assert budget["Nystrom"][0] < everybody < budget["Performer"][0]
assert budget["Nystrom"][-1] > 0.2

# %% tags=["slide", "fold"]
figure = Figure(figsize=(6.6, 3.2))
axes = figure.add_subplot()
for name, errors in budget.items():
    axes.plot(sizes, errors, marker="o", label=name)
axes.axhline(everybody, linestyle="--", color="gray", label="mean of the values")
axes.set(xscale="log", xlabel=f"budget m, of {length} pieces", ylabel="error", ylim=(0, None))
axes.set_xticks(sizes, [str(m) for m in sizes])
axes.minorticks_off()
figure.legend(loc="outside right upper", fontsize=8)
told = "; ".join(f"{n}: {e[0]:.2f} to {e[-1]:.2f}" for n, e in budget.items())
with_alt(figure, f"Error against budget, from {sizes[0]} to {sizes[-1]}. {told}.")

# %% [markdown]
# *Lower is better. Dashed: every query gets the mean of all values.*
#
# The low curve is the good news about low rank: for the *output*, few directions go far, though 90%
# of the spectrum needs many. The gap above it is the price of not looking at the table. And a
# **caution**: these are errors of methods put into a model that was trained without them. They rank
# how well each imitates softmax attention, not how well a model that is trained with it will do.

# %% [markdown]
# ## What it costs
#
# Forward and backward through one mechanism, 4 heads of 64, with the settings of this chapter's
# table: 256 rows for Linformer, 256 features, 64 landmarks.

# %%
from time import perf_counter

stretch = pick(ci=[256, 512, 1024], laptop=[512, 1024, 2048, 4096], gpu=[1024, 4096, 16384])


def seconds(mechanism, n):
    best = float("inf")
    for _ in range(3):
        rows = [torch.randn(1, 4, n, 64, requires_grad=True) for _ in range(3)]
        start = perf_counter()
        mechanism(*rows).sum().backward()
        best = min(best, perf_counter() - start)
    return best


times = {name: [] for name in ("softmax", "Linformer", "Performer", "Nystrom")}
for n in stretch:
    one = LengthProjection(1, n, 256), LengthProjection(1, n, 256)
    built = SoftmaxAttention(), LinformerAttention(*one)
    built += PerformerAttention(64, 256), NystromAttention(64)
    for name, mechanism in zip(times, built, strict=True):
        times[name].append(seconds(mechanism, n))
for name, row in times.items():
    told = ", ".join(f"{n}: {1e3 * t:.1f}" for n, t in zip(stretch, row, strict=True))
    print(f"{name:10} ms at {told}")

# %% tags=["slide", "fold"]
figure = Figure(figsize=(5.4, 3.2))
axes = figure.add_subplot()
for name, row in times.items():
    axes.plot(stretch, [1e3 * t for t in row], marker="o", label=name)
axes.set(xscale="log", yscale="log", xlabel="tokens", ylabel="ms, forward and backward")
axes.set_xticks(stretch, [str(n) for n in stretch])
axes.minorticks_off()
axes.legend(fontsize=8)
gain = {name: f"{times['softmax'][-1] / row[-1]:.1f}" for name, row in times.items()}
with_alt(figure, f"Time against length. At {stretch[-1]} tokens, softmax's time over each: {gain}.")

# %% [markdown]
# *Softmax attention runs in one fused kernel here: twice the tokens take four times as long.
# Linformer and Performer take twice as long, and Nystrom less than that at first, since a part of
# its work, the inverse of the small matrix, does not grow with the text. At 512 tokens all lie
# close together: what they save there is little beside the rest of a layer.*

# %% [markdown]
# ## YOSO: a weight is a collision
#
# *Card.* **What differs:** a query and a key are hashed, by the sides of $b$ random planes, and a
# weight is the chance that they share a bucket (Zeng et al. 2021).
#
# **Its matrix:** $P_{ts} = \left(1 - \frac{1}{\pi}\arccos\cos(q_t, k_s)\right)^b$, a function of
# the angle alone. Its rows do not sum to 1; each output is divided by its length instead.
# **Its limit:** the mean over more and more hashes. **Its cost:** for each hash the values are
# added up by bucket, and each query reads one sum: linear in the length. Training costs more: its
# gradient goes over all pairs that share a bucket, and these grow like $n^2 / 2^b$ until sums take
# over ([page 5.9](09_choosing.ipynb) has the time).

# %%
from deepdive.attention import YosoAttention

cosine = torch.linspace(-1, 1, 201)
chance = (1 - cosine.acos() / torch.pi) ** 9
unit_q, unit_k = (torch.nn.functional.normalize(x[:, :, :64], dim=-1) for x in (q, k))
wanted = (1 - (unit_q @ unit_k.transpose(-2, -1)).clamp(-1, 1).acos() / torch.pi) ** 9
hashes, off = [4, 16, 64, 256], []
for n in hashes:
    torch.manual_seed(0)
    hashed = YosoAttention(32, bits=9, n_hashes=n)
    agree = hashed.buckets(unit_q)[..., :, None] == hashed.buckets(unit_k)[..., None, :]
    off.append(float((agree.float().mean(0) - wanted).pow(2).mean().sqrt()))
print(", ".join(f"{n} hashes: {e:.4f}" for n, e in zip(hashes, off, strict=True)))
assert off[3] < off[1] / 3  # sixteen times the hashes: a quarter

# %% tags=["fold"]
figure = Figure(figsize=(7, 2.8))
left, right = figure.subplots(1, 2)
left.plot(cosine, chance, label="YOSO, 9 bits")
left.plot(cosine, (9 * (cosine - 1)).exp(), "--", label="exp(9 (cos - 1))")
left.set(xlabel="cosine of query and key", ylabel="weight")
left.legend(fontsize=8)
right.plot(hashes, off, marker="o", label="error of a weight")
right.plot(hashes, [off[0] * (4 / n) ** 0.5 for n in hashes], ":", color="gray", label="1/sqrt")
right.set(xscale="log", yscale="log", xlabel="hashes", ylabel="error")
right.legend(fontsize=8)
with_alt(figure, "Left: YOSO's weight against the cosine, steep near 1, beside an exponential. "
         f"Right: its error from {off[0]:.3f} at 4 hashes to {off[-1]:.3f} at 256.")  # fmt: skip

# %% [markdown]
# *Left: the weight that hashing samples, close to an exponential of the angle. Right: the error of
# a sampled weight.*
#
# **Its failure:** sampling sees what is likely. A key with weight 0.01 is met by one hash in a
# hundred, so with few hashes most of a row is exactly 0. And at $\cos = 1$ the slope of the weight
# is infinite; the paper trains with a lower bound of it, $\frac b2 P_{ts}$, so that "the gradient"
# is not the derivative of what was computed.

# %% [markdown]
# ## FNet: no weights at all
#
# *Card.* **What differs:** the attention layer is a Fourier transform over positions and over
# width, of which the real part is kept (Lee-Thorp et al. 2022). No queries, no keys, nothing to
# train.
#
# **Its matrix:** $y_{tc} = \sum_{s,e} \cos 2\pi\left(\frac{ts}{T} + \frac{ce}{d}\right) x_{se}$:
# one fixed matrix over tokens *and* columns, the same for every text.
# **Its limit:** none; it approximates nothing. **Its cost:** $O(\log(T d))$ for each number.

# %%
from deepdive.layers import FourierMixing

mixing, x = FourierMixing(8), torch.randn(1, 12, 8)
t, c = torch.arange(12.0) / 12, torch.arange(8.0) / 8
angle = t[:, None, None, None] * torch.arange(12.0)[:, None] + c[:, None, None] * torch.arange(8.0)
by_sum = torch.einsum("tcse,bse->btc", torch.cos(2 * torch.pi * angle), x)
assert torch.allclose(mixing(x), by_sum, atol=1e-4)
other = torch.randn(1, 12, 8)
assert torch.allclose(mixing(x + other), mixing(x) + mixing(other), atol=1e-4)
"equal to the sum; and the mixture of a sum is the sum of the mixtures"

# %% tags=["fold"]
from deepdive.page.plotting import heatmap

wave = torch.cos(2 * torch.pi * t[:, None] * torch.arange(12.0))
places = [str(i) for i in range(12)]
figure = heatmap(wave, places, places, title="FNet over positions, column 0")
figure.axes[0].set(xlabel="position that is read", ylabel="position that is written")
with_alt(figure, "Cosine waves: row t of the matrix has t periods over the positions. Row 0 is all "
         "ones, the others have positive and negative weights.")  # fmt: skip

# %% [markdown]
# *Row 0 adds all tokens up; row $t$ weighs them by a wave of $t$ periods.*
#
# **Its failure:** the last assertion. The mixing is linear in the text, so which token is looked at
# never depends on what it says: "find the token that was asked for" is left to the feed-forward
# layers. Padding and causal masks have no place in a wave either. The library transforms each text
# of a padded batch alone, and refuses every other mask.

# %% [markdown]
# ## What differs
#
# Each against softmax attention with $T = S = n$, a head of width $d$:
#
# | | thin matrices from | operations | causal | padding |
# |---|---|---|---|---|
# | Linformer | trained sums over positions | $n m d$ | no | counts as 0 |
# | Performer | random features of $q$, $k$ | $n m d$ | yes, running sums | left out |
# | Nystrom | segment means | $n m d + m^3$ | no | left out |
# | YOSO | shared buckets | $n h d$ for $h$ hashes | yes, running sums | left out |
# | FNet | waves | $n d \log(n d)$ | no | each text alone |
#
# And what the error falls with. Linformer: nothing is proved that holds for attention alone.
# Performer: $1/\sqrt m$, with a constant that grows like $e^{|x + y|^2/2}$. Nystrom: no rate, exact
# at $m = n$. YOSO: $1/\sqrt h$, towards another kernel than the softmax. FNet approximates nothing.
#
# ## In practice
#
# - Where the time curves above meet, use fused softmax attention: it is exact and honours every
#   mask.
# - Do not put one of these into a trained model and hope: on this page even the best of them stays
#   far off the exact output at half the full size. Train with it from the start.
# - Test a random-feature attention by its rate, not by one tolerance: 16 times the features must
#   give a quarter of the error. A missing sign in QR passes "close enough" and fails this.
# - Look for the length in the setting: Linformer's $E$ ends at its greatest length, Nystrom's
#   segments grow with the text while $m$ stays.
# - A decoder that must run for long with constant memory is the best case for running sums.

# %% [markdown]
# ## Five questions
#
# Answer each in a sentence, then open.
#
# 1. Why may the values be summed up before any query is known, if weights are products of features?
#
#    <details><summary>Answer</summary>
#
#    $(\phi(Q)\phi(K)^\top) V = \phi(Q) (\phi(K)^\top V)$: the second factor holds no query.
#
#    </details>
# 2. Linformer's paper shows that the singular values of attention fall fast at 512 tokens. Why does
#    that not show that $m$ can stay fixed?
#
#    <details><summary>Answer</summary>
#
#    Because it is one length. On MiniLM the number of values that hold 90% grows in proportion to
#    the length.
#
#    </details>
# 3. Performer's estimate is right on average, at any $m$. Why is it useless for a sharp head?
#
#    <details><summary>Answer</summary>
#
#    The mean is made by rare, huge products: the variance grows exponentially with $|q + k|^2$, and
#    a sharp head has long queries and keys.
#
#    </details>
# 4. Why did twelve iterations do worse than six in Nystrom's inverse?
#
#    <details><summary>Answer</summary>
#
#    The small matrix is nearly singular; its true inverse enlarges the landmarks' own error. Six
#    iterations leave the smallest singular values uninverted.
#
#    </details>
# 5. Which of the five have a causal form, and what do the others have in common?
#
#    <details><summary>Answer</summary>
#
#    Performer (and linear attention at large) and YOSO: both add up values before a query reads
#    them, and a sum can be read as it stands at each place. The paper on YOSO gives no causal form;
#    ours keeps a running sum in each bucket, and equals the shares of agreeing hashes with later
#    keys at 0. Linformer's sums, Nystrom's means and FNet's waves mix all positions first, and
#    nothing takes the later ones out again.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(pencil, 4 min)* In the table of three tokens, let the second token's features be $(2, 1)$.
#    What is its output?
#
#    <details><summary>Answer</summary>
#
#    $2 \cdot (6, 2) + 1 \cdot (2, 4) = (14, 8)$, divided by $2 \cdot 2 + 1 \cdot 2 = 6$:
#    $(2.33, 1.33)$.
#
#    </details>
# 2. *(derive, 8 min)* Show that for one normal direction $w$ the product
#    $e^{w \cdot x - |x|^2/2} e^{w \cdot y - |y|^2/2}$ has mean $e^{x \cdot y}$, and find its second
#    moment. By which factor is the variance larger than the squared mean?
#
#    <details><summary>Answer</summary>
#
#    With $u = x + y$ it is $e^{w \cdot u} e^{-(|x|^2 + |y|^2)/2}$, and $\mathbb{E} e^{w \cdot u} =
#    e^{|u|^2/2}$, which gives $e^{x \cdot y}$. The second moment has $e^{|2u|^2/2} = e^{2|u|^2}$ in
#    the place of $e^{|u|^2}$, so the variance is $e^{2 x \cdot y}(e^{|x + y|^2} - 1)$: the factor
#    is $e^{|x+y|^2} - 1$.
#
#    </details>
# 3. *(measure, 10 min)* Which of MiniLM's layers would Nystrom suit best? Compute the error by
#    layer at $m = 32$, and compare it with the layer's rank in the figure above.
#
#    <details><summary>Answer</summary>
#
#    `off = (NystromAttention(32)(q, k, v) - exact).norm(dim=(-2, -1)) / exact.norm(dim=(-2, -1))`,
#    then `off.mean(1)`. Whether the layers of low rank are the easier ones, your six numbers say.
#
#    </details>
# 4. *(write, 15 min)* Write the causal form of `performer` with one `cumsum` over tokens, and check
#    it against `library(q, k, v, Causal())`. How large is the largest tensor, and what do chunks
#    change?
#
#    <details><summary>Answer</summary>
#
#    `(phi_k.unsqueeze(-1) * v.unsqueeze(-2)).cumsum(2)` has $T \cdot m \cdot d$ numbers a head,
#    more than the table that was to be avoided as soon as $m d > T$. In chunks of $c$ rows only
#    $T m d / c$ are kept.
#
#    </details>

# %%
# The answers to 1, 2 and 4, checked.
from deepdive.masks import Causal

answer = torch.tensor([2.0, 1]) @ S / (torch.tensor([2.0, 1]) @ z)
assert torch.allclose(answer, torch.tensor([14.0, 8]) / 6)
variance = products[:200_000].var() / torch.e**2  # x = y = 1: |x + y|^2 = 4
assert 15 < float(variance) < 120  # e^4 - 1 = 54, and few draws see the tail
rows = [0.3 * x[:1, :1, :40] for x in precise]
on_q, on_k = (exponents(x / 32**0.25, library.drawn) for x in rows[:2])
running = (on_k.exp().unsqueeze(-1) * rows[2].unsqueeze(-2)).cumsum(2)
mixed = (on_q.exp().unsqueeze(-2) @ running).squeeze(-2)
total = (on_q.exp() * on_k.exp().cumsum(2)).sum(-1, keepdim=True)
assert torch.allclose(mixed / total, library(*rows, Causal()), atol=1e-6)
print("answers 1, 2 and 4 hold")

# %% [markdown]
# ## In three sentences
#
# If weights are products of thin matrices, the values can be summed up once for all queries, and
# attention becomes linear in the length. On a trained model the rank that holds 90% of the weights
# grows with the length, the theorem behind low rank holds for any matrix, and random features fail
# where heads are sharp: how well a model does that is trained with such attention does not follow
# from these arguments, and must be measured. Of the methods measured, landmarks came nearest to the
# heads of MiniLM on one text, and nearer when their inverse was left unfinished.
#
# ## Further reading
#
# - Wang, Li, Khabsa, Fang, Ma (2020), *Linformer: Self-Attention with Linear Complexity*: theorems
#   1 and 2, the spectra of RoBERTa, the three ways to share.
# - Choromanski et al. (2021), *Rethinking Attention with Performers*: positive features and why
#   waves fail, orthogonal directions.
# - Katharopoulos, Vyas, Pappas, Fleuret (2020), *Transformers are RNNs*: attention by features as a
#   recurrent network.
# - Xiong et al. (2021), *Nyströmformer*: landmarks and the iterative inverse.
# - Zeng et al. (2021), *You Only Sample (Almost) Once*: sampling by hashing.
# - Lee-Thorp, Ainslie, Eckstein, Ontañón (2022), *FNet*: what is lost without weights, and what is
#   not.
