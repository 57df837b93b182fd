# %% [markdown] tags=["slide"]
# # Low-rank and kernel attention: Linformer and Performer
#
# At a buffet, 256 guests stand before 256 dishes. Every guest takes a little of every dish, and
# more of what they like. That makes 65,536 portions to measure. Can every plate be filled without
# measuring each portion?
#
# <small>Prerequisites: [several heads](../02_transformer/06_multi_head.ipynb),
# [what a layer costs](../02_transformer/15_complexity.ipynb) · 15 min · runs on a laptop</small>

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
# %% Load a trained model tags=["fold"]
import torch

from deepdive.attention import LengthProjection, LinformerAttention, PerformerAttention
from deepdive.core import SoftmaxAttention
from deepdive.published import load
from deepdive.published.pretrained import minilm, minilm_tokenizer

model, tokenizer = load(minilm()), minilm_tokenizer()


# %% Catch what enters its heads tags=["fold"]
def caught(texts):
    """q, k and v of MiniLM's 72 heads on texts of n pieces, each (texts, 72, n, 32)."""
    kept, layers = [], [layer.attn.mechanism for layer in model.stack.blocks]
    catch = [each.register_forward_pre_hook(lambda _, x: kept.append(x[:3])) for each in layers]
    with torch.no_grad():
        model(torch.tensor(texts))
    for handle in catch:
        handle.remove()
    return [torch.cat(rows, dim=1) for rows in zip(*kept, strict=True)]


def off(output, exact):
    """|output - exact| / |exact| of each head: how far off its plates are."""
    return (output - exact).norm(dim=(-2, -1)) / exact.norm(dim=(-2, -1))


# %% Make the tables from bowls tags=["fold"]
def weights_of(mechanism, q, k):
    """The weights of any mechanism: with the identity for values, its outputs are the weights."""
    n = k.shape[2]
    return mechanism(q, k, torch.eye(n).expand(*k.shape[:2], n, n))


def best_of_rank(table, m):
    """The nearest table that m bowls can give."""
    U, sigma, Vh = torch.linalg.svd(table)
    return (U[..., :m] * sigma[..., None, :m]) @ Vh[..., :m, :]


def by_place(n, m):
    """Linformer with means of m neighbourhoods for E and F: nothing is trained."""
    inside = (torch.arange(n) * m // n == torch.arange(m)[:, None]).float()
    projection = LengthProjection(1, n, m).requires_grad_(False)
    projection.weight[0] = inside / inside.sum(1, keepdim=True)
    return LinformerAttention(projection)


def at_random(m):
    """Performer with m random features, the same ones each time."""
    torch.manual_seed(0)
    return PerformerAttention(32, m)


# %% Draw the tables tags=["fold"]
from deepdive_book.ch05.figures.low_rank_approximation import Form, low_rank_approximation

pieces = tokenizer.encode("Ann likes sweet cakes and Ben likes salty fish.", bos=True, eos=True)
heads = {"layer 1, head 9": 9, "layer 1, head 2": 2, "layer 6, head 8": 68}
q, k, v = (rows[:, list(heads.values())] for rows in caught([pieces]))
exact = weights_of(SoftmaxAttention(), q, k)


def form(name, unit, made):
    """What a way of making tables gives, for each number of bowls."""
    return Form(name, unit, {m: (W[0], off(W @ v, exact @ v)[0]) for m, W in made.items()})


n = len(pieces)
forms = [
    form("best", "bowls", {m: best_of_rank(exact, m) for m in range(1, n + 1)}),
    form("by place", "bowls", {m: weights_of(by_place(n, m), q, k) for m in range(1, n + 1)}),
    form("by chance", "bowls", {2**i: weights_of(at_random(2**i), q, k) for i in range(11)}),
]
words = [tokenizer.vocab[i] for i in pieces]
low_rank_approximation(
    words, dict(zip(heads, exact[0], strict=True)), forms, k=2, off="plates off by"
)

# %% [markdown]
# *On the left a head of the trained model MiniLM: each token of the sentence is a guest (a row) and
# a dish (a column), and the stronger the colour, the larger the portion. On the right the same
# table made with few bowls. It may need portions below zero, which a minus marks. The bars show how
# many numbers the two thin tables need (dashed: as many as the table), and how far off the head's
# outputs are, the plates (dashed: as far as their own size).*
#
# A **bowl** is a mixture of all dishes. If there are bowls, each guest takes from the bowls alone,
# and nobody measures portions of dishes. Try three things:
#
# 1. Keep *best*, and move the slider. Which head can be had from few bowls, and which needs nearly
#    all?
# 2. Choose *by place*: the first bowl is filled from the first dishes, the next from the next.
# 3. Choose *by chance*. How many bowls does it take until the plates are right?
#
# If all guests take the same, one bowl is enough. If each takes only the dish of the guest before,
# no bowl serves two of them. The number of bowls that gives a table exactly is its **rank**.

# %% [markdown] tags=["slide"]
# ## Two bowls, by hand
#
# Three guests, three dishes, two tastes: sweet and salty. A portion is the guest's liking times the
# dish's taste, added up over both tastes.
#
# | | cake (1, 0) | fish (0, 1) | popcorn (1, 1) | sum |
# |---|---|---|---|---|
# | Ann (1, 0) | 1 | 0 | 1 | 2 |
# | Ben (1, 1) | 1 | 1 | 2 | 4 |
# | Cleo (0, 2) | 0 | 2 | 2 | 4 |
#
# In each dish there are grams of sugar and of salt: cake (4, 0), fish (0, 2), popcorn (2, 2). Ben's
# plate is the average under his portions: $(1 \cdot (4, 0) + 1 \cdot (0, 2) + 2 \cdot (2, 2)) / 4 =
# (2, 1.5)$.
#
# Which two bowls could a cook fill *before* any guest comes, so that everybody gets the same plate
# as here?
#
# One for each taste. Into the sweet bowl goes all that is sweet, cake and popcorn: $(6, 2)$. Into
# the salty one go fish and popcorn: $(2, 4)$. Each holds 2 portions. Ben likes both tastes and
# takes both bowls: $(8, 6)$, divided by $2 + 2$. It is the same plate.

# %% tags=["nbval-check-output"]
likes = torch.tensor([[1.0, 0], [1, 1], [0, 2]])  # Ann, Ben, Cleo
tastes = torch.tensor([[1.0, 0], [0, 1], [1, 1]])  # cake, fish, popcorn
grams = torch.tensor([[4.0, 0], [0, 2], [2, 2]])
portions = likes @ tastes.T
by_table = portions @ grams / portions.sum(1, keepdim=True)
bowls, size = tastes.T @ grams, tastes.sum(0)  # filled once, for all guests
by_bowls = likes @ bowls / (likes @ size)[:, None]
assert torch.equal(by_table, by_bowls)
by_bowls

# %% [markdown]
# In attention the guests are the queries, the dishes are the keys, and what is in them are the
# values. With $n$ of each and $m$ bowls, only the order of the products is new:
#
# $$(\underbrace{\phi(Q)}_{n \times m}\, \underbrace{\phi(K)^\top}_{m \times n})\, V =
# \phi(Q)\, (\phi(K)^\top V)$$
#
# The table on the left has $n^2$ numbers. The two thin tables have $2nm$, and twice the text has
# twice as many. There is one catch. Attention's own portion is $e^{q \cdot k / \sqrt d}$, and that
# is no product of two or three tastes. So something has to be given up. The two methods of this
# page differ in how they fill their bowls.

# %% [markdown] tags=["aside"]
# ### The shapes side by side, with those of the next page

# %% Draw the shapes tags=["slide", "fold"]
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.plotting import show


def block(x, y, width, height, role, label):
    box = (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{ROLES[role]}" '
        f'fill-opacity="0.3" stroke="{ROLES[role]}"/>'
    )
    return box + text(x + width / 2, y + height / 2, label, 15)


body = [text(80, 16, "softmax", 16, bold=True), block(10, 32, 140, 140, "weight", "n × n")]
body += [text(115, 206, "two thin tables", 16, bold=True)]
body += [block(10, 222, 70, 140, "query", "n × m"), block(92, 222, 140, 70, "key", "m × n")]
body += [text(173, 396, "landmarks (page 5.4b)", 16, bold=True)]
body += [block(10, 412, 70, 140, "query", "n × m"), block(92, 412, 70, 70, "score", "m × m")]
body += [block(174, 412, 140, 70, "key", "m × n")]
show(
    svg(340, 560, body),
    "Three ways to write the weights. Softmax: one square, n by n. Linformer and Performer: a thin "
    "n by m table times a flat m by n one. Landmarks: a thin one, a small m by m one, a flat one.",
)

# %% [markdown]
# *A thin table times a flat one has as many rows and columns as the square, and its rank is at most
# $m$. Nobody multiplies the two: the flat one meets the values first.*

# %% [markdown] tags=["slide"]
# ## Linformer: fewer keys
#
# Linformer (Wang et al. 2020) fills its bowls **by place**. A matrix $E$ sums the $n$ keys up into
# $m$ rows, and a matrix $F$ does the same with the values:
#
# $$\mathrm{output} = \mathrm{softmax}\!\left(\frac{Q\,(E K)^\top}{\sqrt{d}}\right) (F V)$$
#
# Each guest now chooses among $m$ bowls instead of $n$ dishes. In the form from above, $\phi(Q)$ is
# the softmax over the bowls, and $\phi(K)^\top$ is $F$. In code:


# %%
def linformer(q, k, v, E, F):
    scores = q @ (E @ k).transpose(-2, -1) / q.shape[-1] ** 0.5  # (..., n, m)
    return scores.softmax(-1) @ (F @ v)


# %% [markdown]
# In a Linformer $E$ and $F$ are trained with the rest of the model. MiniLM has neither. So *by
# place* on this page means that each bowl holds the mean of some neighbors, and nobody trained it.
# What we measure is how much such bowls can hold, and not how good a trained Linformer is.

# %% [markdown] tags=["aside"]
# ### The library's form, its limit and its price
#
# The three lines give what `LinformerAttention` gives. With the identity for $E$ and $F$ they are
# softmax attention, but then $m = n$ and nothing is saved.

# %% Check the three lines
precise = [rows.double() for rows in (q, k, v)]
E, F = (LengthProjection(1, n, 4).double() for _ in range(2))
with torch.no_grad():
    ours = linformer(*precise, E.weight[0], F.weight[0])
    assert torch.allclose(ours, LinformerAttention(E, F)(*precise), atol=1e-6)
    E.weight[0] = F.weight[0] = torch.eye(4, n)
    start = [rows[:, :, :4] for rows in precise]
    assert torch.allclose(LinformerAttention(E, F)(*start), SoftmaxAttention()(*start), atol=1e-6)
"the library's, and with the identity for E and F: softmax attention"

# %% [markdown]
# There are three ways to share the matrices, from most numbers to fewest: one pair for all heads of
# a layer, one matrix for keys *and* values, one matrix for all layers. In the library, what is
# shared is one object in two places.
#
# - **Its price:** $E$ has a column for each position, so there is a greatest length. And each row
#   of $E K$ holds keys from the whole text: a causal form does not exist. The library refuses both.
# - **Padding** enters the sums as 0. It is never seen, but the $m$ rows stay $m$.

# %% [markdown]
# ## How many bowls does a longer text need?
#
# Linformer's promise is a fixed number of bowls for texts of any length. The paper's reason: in
# RoBERTa, at 512 tokens, few directions hold most of each table. Test this on a real text. We draw
# six passages from plays by Shakespeare, and take MiniLM's 72 heads on each.
#
# The best bowls come with a size each, the **singular values** of the table. Count how many of the
# largest make up 90% of the sum of all.

# %% Draw the passages tags=["fold"]
from deepdive.data import fetch
from deepdive.data.text import shuffled
from deepdive_book.data.tree_grammar import tree_sentences
from deepdive_book.kit.profile import banner, pick, profile

if profile() == "ci":
    parts = [" ".join(tree.words) + " ." for tree in tree_sentences(600)]
else:
    parts = fetch("tinyshakespeare", "input.txt").read_text("utf-8").split("\n\n")
long = pick(ci=128, laptop=512, gpu=512)


def passage(first):
    """`long` pieces from the speech with this number on."""
    return tokenizer.encode(" ".join(parts[first : first + 120]), bos=True, eos=False)[:long]


passages = [passage(first) for first in shuffled(range(len(parts) - 120), seed=0)[:6]]
assert {len(each) for each in passages} == {long}
print(banner("sentences (generated)" if profile() == "ci" else "tinyshakespeare (real)"))
print("one begins:", tokenizer.decode(passages[0][:16]))

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "For 64 pieces of text, about 20 of the 64 best bowls make up 90%. How many are needed for 128 "
    "pieces?",
    ["about 20 again: the rank is the model's", "about 23: it grows like log n", "about 40"],
    answer=2,
    explain="The share stays nearly the same, so the number grows like the length. A fixed number "
    "of bowls holds ever less of the table.",
    key="05_efficient/rank",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict


# %% Count the bowls tags=["surprise", "fold"]
from deepdive_book.kit.tables import table


def rank(weights, share=0.9):
    """How many of the largest singular values make up this share of their sum."""
    sizes = torch.linalg.svdvals(weights)
    return ((sizes.cumsum(-1) / sizes.sum(-1, keepdim=True)) < share).sum(-1) + 1


needed = {}
for n in pick(ci=[32, 64, 128], laptop=[64, 128, 256, 512], gpu=[64, 128, 256, 512]):
    some = passages[: 1 if n == 512 else 6]  # the largest tables take long
    q, k, _ = caught([each[:n] for each in some])
    needed[n] = rank(weights_of(SoftmaxAttention(), q, k)).float()  # (passages, 72)
rows = []
for n, found in needed.items():
    each = found.mean(1)
    rows.append(
        [n, len(each), each.mean(), f"{each.min():.1f} to {each.max():.1f}", each.mean() / n]
    )
first, last = (each.mean() for each in list(needed.values())[:: len(needed) - 1])
assert last / first > 0.8 * max(needed) / min(needed)
table(rows, ["pieces", "passages", "bowls for 90%", "by passage", "share of all"],
      formats={"bowls for 90%": ".1f", "share of all": ".2f"})  # fmt: skip

# %% Draw the growth by layer tags=["surprise", "slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(4.8, 3.3))
axes = figure.add_subplot()
at = list(needed)
for layer, mark in enumerate("os^Dv*"):
    means = [float(found.unflatten(1, (6, 12))[:, layer].mean()) for found in needed.values()]
    axes.loglog(at, means, marker=mark, label=f"layer {layer + 1}")
axes.plot(at, at, "--", color="gray", label="all")
axes.set(xlabel="pieces", ylabel="bowls for 90%")
axes.set_xticks(at, [str(n) for n in at])
axes.minorticks_off()
axes.legend(ncols=2, fontsize=9)
told = "; ".join(f"{n}: {found.mean():.0f}" for n, found in needed.items())
with_alt(figure, f"How many of the best bowls make up 90%, by length and layer. {told}.")

# %% [markdown]
# *The mean of a layer's 12 heads. Both axes are logarithmic: a line parallel to the dashed one
# grows like the length.*
#
# When the text doubles, the number of bowls doubles, on average over the heads. (Lengths 64 to 256
# carry this: 512 is one passage, twice the length that MiniLM was tuned for.) What makes up 90% is
# a share of $n$, about a third, and no fixed number. A figure that is drawn at one length cannot
# show that.

# %% [markdown] tags=["aside"]
# ### What theorem 1 knows about attention
#
# The paper has a second argument, a proof (theorem 1): for any $Q$, $K$, $V$ there is a matrix of
# rank $O(\log n)$ that does nearly what the attention matrix does. The proof takes a random $R$
# ($m \times n$, entries normal with variance $1/m$) and the matrix $P R^\top R$, which has rank
# $m$. By Johnson and Lindenstrauss each entry of $P R^\top R w$ is near that of $P w$:
#
# $$|(P R^\top R w - P w)_i| \approx \frac{|P_i|\,|w|}{\sqrt m}$$
#
# where $P_i$ is a row of $P$. Nothing in it says that $P$ comes from a softmax. So try it on three
# matrices: MiniLM's weights, a softmax of pure noise, and permutations, whose singular values are
# all 1.

# %% Try the theorem on three matrices
n = pick(ci=128, laptop=256, gpu=256)
q, k, v = caught([passages[0][:n]])
weights = weights_of(SoftmaxAttention(), q, k)[0]
torch.manual_seed(0)
orders = torch.stack([torch.eye(n)[torch.randperm(n)] for _ in range(72)])
noise = (3 * torch.randn_like(weights)).softmax(-1)
kinds = {"MiniLM": weights, "softmax of noise": noise, "permutations": orders}
w, rows = v[0, ..., :1], []  # one column of the values
for name, P in kinds.items():
    row = [name]
    for m in (16, 64):
        R = torch.randn(20, 1, m, n) / m**0.5  # twenty draws
        missed = (P @ (R.transpose(-2, -1) @ (R @ w)) - P @ w).squeeze(-1)
        unit = P.norm(dim=-1) * w.norm(dim=(-2, -1))[..., None] / m**0.5
        row.append(float((missed / unit).pow(2).mean().sqrt()))
    rows.append(row)
assert all(0.9 < x < 1.15 for row in rows for x in row[1:])
head = ["error in units of |P_i| |w| / sqrt(m)", "m = 16", "m = 64"]
table(rows, head, formats=dict.fromkeys(head[1:], ".2f"))

# %% [markdown]
# The same for all three. So the theorem is no statement about attention: a permutation, which has
# no low rank at all, does as well. It says that *one vector* can be carried through any matrix by
# few random sums, with an error measured in $|w|$. (Values have $d$ columns; for all of them at
# once $m$ grows with $d$, and the paper's second bound says so.)
#
# None of this says that a trained Linformer is bad. Its $E$ and $F$ are learned together with the
# queries and keys, which never were those of a full model. Printed, for 512 tokens, on average over
# SST-2, IMDB, QNLI and QQP (KAIST 3, from the paper): RoBERTa-base 92.25, Linformer with $m = 128$
# 91.75, with $m = 256$ 92.08, and 92.30 with one matrix shared by all layers. (Not reproduced
# here.) What fell is the reason that was given, not the result.

# %% [markdown] tags=["slide"]
# ## Performer: a softmax by chance
#
# Performer (Choromanski et al. 2021) keeps the softmax's portions, and fills its bowls **by
# chance**. Draw a direction $w$ whose numbers are normal, with mean 0 and variance 1: that is the
# taste of one bowl. How much a guest or a dish $x$ has of this taste is its **feature**,
# $e^{w \cdot x - |x|^2/2}$. On average over many $w$,
#
# $$\mathbb{E}_w\!\left[\, e^{w \cdot x - |x|^2/2}\; e^{w \cdot y - |y|^2/2} \,\right] =
# e^{x \cdot y}$$
#
# With $x = q / d^{1/4}$ and $y = k / d^{1/4}$ that is the portion itself. No feature is negative.
#
# By hand, in one dimension, $x = y = 1$. The true portion is $e = 2.72$. Draw $w = 1$ and $w = -1$:
# the products are $e^{0.5} e^{0.5} = 2.72$ and $e^{-1.5} e^{-1.5} = 0.05$, on average 1.38. Draw
# $2$ and $-2$: $20.09$ and $0.01$, on average 10.05. Now draw a million times:

# %% Draw a million directions tags=["fold"]
torch.manual_seed(0)
draws = torch.randn(1_000_000)
products = (2 * draws - 1).exp()  # e^(w - 1/2) twice
assert abs(products.mean() - torch.e) < 0.1
assert products.median() < 0.5
found = {"mean": products.mean(), "median": products.median(), "largest": products.max()}
table([found], formats=dict.fromkeys(found, ",.2f"))

# %% [markdown]
# The mean is right. But half of the draws give less than a fifth of the truth, and a few give a
# thousand times too much. The code is the bowls from above, with these features. The two maxima
# keep the powers small; they cancel when we divide.


# %%
def exponents(x, W):
    return x @ W.transpose(-2, -1) - x.pow(2).sum(-1, keepdim=True) / 2


def performer(q, k, v, W):
    on_q, on_k = (exponents(x / q.shape[-1] ** 0.25, W) for x in (q, k))
    phi_q = (on_q - on_q.amax(-1, keepdim=True)).exp()  # (..., n, m)
    phi_k = (on_k - on_k.amax((-2, -1), keepdim=True)).exp()  # (..., n, m)
    return phi_q @ (phi_k.transpose(-2, -1) @ v) / (phi_q @ phi_k.sum(-2).unsqueeze(-1))


# %% [markdown]
# The largest exponent is taken away first, as in every softmax: from a query its own, from the keys
# one number for all. Both cancel in the division.
#
# Now give MiniLM's heads 256 such bowls, on six passages of 256 pieces: as many bowls as dishes. To
# judge the error, compare it with a cook who asks nobody, and gives every guest the same plate, the
# mean of all dishes.

# %% tags=["fold"]
predict(
    "With 256 random features, how far off are the plates of MiniLM's heads, |output - exact| / "
    "|exact|?",
    ["below 10%", "about 30%", "about as far as those of the cook who asks nobody"],
    answer=2,
    explain="The mean of many draws is right, but the rare, huge products make it, and 256 draws "
    "do not meet enough of them. Where queries and keys are long, chance needs far more.",
    key="05_efficient/features",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Measure by number of features tags=["surprise", "fold"]
n = pick(ci=128, laptop=256, gpu=256)
q, k, v = caught([each[:n] for each in passages])  # (6, 72, n, 32)
exact = SoftmaxAttention()(q, k, v)
asks_nobody = off(v.mean(2, keepdim=True).expand_as(v), exact).mean(1)  # (6,): by passage


def spread(found):
    """A mean over passages, and the lowest and highest of them."""
    return f"{found.mean():.2f} ({found.min():.2f} to {found.max():.2f})"


by_features = {m: off(at_random(m)(q, k, v), exact).mean(1) for m in (16, 64, 256, 1024)}
rows = [[f"{m:,} features", spread(found)] for m, found in by_features.items()]
rows.append(["the same plate for all", spread(asks_nobody)])
assert by_features[256].mean() > 0.8 * asks_nobody.mean()
assert by_features[1024].mean() > 0.5 * by_features[16].mean()
table(rows, ["", "plates off by: mean (lowest to highest of six passages)"])

# %% [markdown]
# As many bowls as dishes, and the plates are as far off as if nobody had been asked. The variance
# of a product grows like $e^{|x + y|^2}$. A trained head is sharp because its queries and keys are
# long, and sharp is what random features find hard. A model that is *trained* with random features
# may keep its queries and keys short. This one was not.

# %% [markdown] tags=["aside"]
# ### The rate, and for which queries and keys it holds
#
# The error should fall like $1/\sqrt m$: four times the features, half the error. Make MiniLM's
# queries and keys shorter, and see.

# %% Measure the rate
budgets = [m for m in (16, 64, 256, 1024, 4096) if m <= pick(ci=1024, laptop=4096, gpu=4096)]
one, curves = [rows[:1] for rows in (q, k, v)], {}
for length in (0.3, 0.6, 1.0):
    short = length * one[0], length * one[1], one[2]
    truth = SoftmaxAttention()(*short)
    curves[length] = [float(off(at_random(m)(*short), truth).mean()) for m in budgets]
rows = [[f"times {length}", *errors] for length, errors in curves.items()]
assert curves[0.3][-2] < curves[0.3][-3] / 1.6  # four times the features: about half
head = ["queries and keys", *(f"{m:,}" for m in budgets)]
table(rows, head, formats=dict.fromkeys(head[1:], ".2f"), caption="error by number of features")

# %% Draw the rate tags=["slide", "fold"]
figure = Figure(figsize=(4.8, 3.6))
axes = figure.add_subplot()
for (length, errors), mark in zip(curves.items(), "os^", strict=True):
    axes.loglog(budgets, errors, marker=mark, label=f"q and k times {length}")
start = curves[0.3][0]
axes.plot(budgets, [start * (16 / m) ** 0.5 for m in budgets], ":", color="gray", label="1/sqrt(m)")
level = float(asks_nobody[0])
axes.axhline(level, linestyle="--", color="gray", label="the same plate for all, times 1.0")
axes.set(xlabel="features m", ylabel="error")
axes.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
told = "; ".join(f"times {size}: {e[0]:.2f} to {e[-1]:.2f}" for size, e in curves.items())
with_alt(figure, f"Performer's error against the number of features, from 16 on. {told}.")

# %% [markdown]
# *One passage. The dotted line falls like $1/\sqrt m$. Short queries and keys follow it at first.
# Those of the trained model, times 1.0, do not: with 256 times as many features, the error falls
# from 1.04 to 0.65.*

# %% [markdown] tags=["aside"]
# ### Three things more that the library does
#
# - **Orthogonal directions.** The $w$ come in groups of $d$ at right angles, each as long as a
#   normal vector. They cover space more evenly than independent ones. To get them from a QR
#   decomposition, the sign of $R$'s diagonal must be put right: otherwise they are not uniform, and
#   the error stops falling at some $m$.
# - **Redraw.** Directions are drawn anew every 1,000 calls in training, so that nothing is learned
#   against the luck of one draw. In evaluation they stay.
# - **Causal.** $S_t = \sum_{s \le t} \phi(k_s) v_s^\top$ is a running sum: no table, and a decoder
#   keeps $m (d + 1)$ numbers instead of a growing cache. Rows stand in chunks; within a chunk the
#   weights are written out, and before it one cumulative sum over chunks is enough.

# %% Check the two functions
precise = [rows[:1].double() for rows in (q, k, v)]
library = PerformerAttention(32, 256).double()
assert torch.allclose(performer(*precise, library.drawn), library(*precise), atol=1e-6)
"the library's, with the same directions"

# %% [markdown] tags=["aside"]
# ### Common mistake: features with sines and cosines
#
# Random features are older than Performers, and the classical ones are waves:
# $e^{x \cdot y} = e^{|x|^2/2 + |y|^2/2}\, \mathbb{E}[\cos(w \cdot (x - y))]$. The mean is just as
# right. It runs:

# %% Features with waves
torch.manual_seed(0)
W = PerformerAttention(32, 128).drawn.double()  # in float32 the exponentials overflow, too


def waves(x):
    angles = x / 32**0.25 @ W.T
    size = (x.pow(2).sum(-1, keepdim=True) / 32**0.5 / 2).exp()
    return size * torch.cat([angles.cos(), angles.sin()], dim=-1) / 128**0.5


estimated = waves(precise[0]) @ waves(precise[1]).transpose(-2, -1)  # (1, 72, n, n)
negative = float((estimated < 0).float().mean())
wrong = off(estimated @ precise[2] / estimated.sum(-1, keepdim=True), exact[:1]).mean()
positive = by_features[256][0]
print(f"negative weights: {negative:.0%}; error {wrong:.1f}, positive features {positive:.2f}")
assert negative > 0.1
assert wrong > 2 * positive

# %% [markdown]
# **Symptom:** weights below zero, row sums near zero, outputs that explode. A wave's error is
# largest where the weight is smallest, and in attention most weights are small. **Remedy:**
# positive features. Their products go to zero with the weight and are never below it, so a sum of
# them is no accident of signs.

# %% [markdown] tags=["slide"]
# ## The whole buffet
#
# Now all 72 heads, the six passages of 256 pieces, and each kind of bowls. *Best* is no method: to
# find the best bowls, one must have measured the table.

# %% Measure by number of bowls tags=["fold"]
weights = weights_of(SoftmaxAttention(), q, k)
budgets = (8, 32, 128) if n > 128 else (8, 32, 64)
made = {"best": {}, "by place, untrained": {}, "by chance (Performer)": {}}
U, sigma, Vh = torch.linalg.svd(weights)
for m in budgets:
    best = (U[..., :m] * sigma[..., None, :m]) @ (Vh[..., :m, :] @ v)
    made["best"][m] = off(best, exact).mean(1)
    made["by place, untrained"][m] = off(by_place(n, m)(q, k, v), exact).mean(1)
    made["by chance (Performer)"][m] = off(at_random(m)(q, k, v), exact).mean(1)
for best, place, chance in zip(*(found.values() for found in made.values()), strict=True):
    assert (best < place).all()  # in each passage
    assert (place < chance).all()
lines = [[name, *(spread(found) for found in by_m.values())] for name, by_m in made.items()]
lines.append(["the same plate for all", *[spread(asks_nobody)] * len(budgets)])
assert (2 * 256 * 32, 256**2) == (16_384, 65_536)  # numbers in two thin tables, and in one
table(lines, ["bowls", *(f"{m} of {n}" for m in budgets)],
      caption="plates off by: mean (lowest to highest of six passages)")  # fmt: skip

# %% Draw error against bowls tags=["slide", "fold"]
figure = Figure(figsize=(4.8, 3.4))
axes = figure.add_subplot()
for (name, by_m), mark in zip(made.items(), "os^", strict=True):
    found = torch.stack(list(by_m.values()))  # (bowls, passages)
    axes.plot(budgets, found.mean(1), marker=mark, label=name)
    axes.fill_between(budgets, found.amin(1), found.amax(1), alpha=0.25)
axes.axhline(
    float(asks_nobody.mean()), linestyle="--", color="gray", label="the same plate for all"
)
axes.set(xscale="log", xlabel=f"bowls, for {n} dishes", ylabel="plates off by", ylim=(0, None))
axes.set_xticks(budgets, [str(m) for m in budgets])
axes.minorticks_off()
axes.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
told = "; ".join(f"{name}: {f[budgets[0]].mean():.2f} to {f[budgets[-1]].mean():.2f}"
                 for name, f in made.items())  # fmt: skip
with_alt(figure, f"Error against the number of bowls, {budgets[0]} to {budgets[-1]}. {told}.")

# %% [markdown]
# *Lower is nearer to the exact plates. The bands reach from the lowest to the highest of the six
# passages. At 128 bowls nothing is saved any more: the two thin tables are as large as the whole.*
#
# **So can every plate be filled without measuring each portion?** For the 256 guests, 32 bowls need
# 16,384 numbers in place of 65,536. With the best 32 the plates are 19% off, so few bowls could go
# far. But the best are found in the table. Bowls by place are 67% off, and bowls by chance 96%,
# where the cook who asks nobody is 79% off. So not in a model that learned with the whole table. A
# model that learns with bowls from the start can put into them what it needs: what such models
# reach is measured on [page 5.9](09_choosing.ipynb). The next page asks for something in between: a
# [few guests who speak for all](04b_nystrom_yoso_fnet.ipynb).

# %% [markdown] tags=["aside"]
# ## What it costs, on a clock
#
# Forward and backward through one mechanism, 4 heads of 64, with 256 rows for Linformer and 256
# features. The times were measured once, on two quiet cores, by `make bench`, and are kept in
# `benchmarks/results/attention.json`.

# %% Read the times
import json
from pathlib import Path

root = next((p for p in (Path.cwd(), *Path.cwd().parents) if (p / "benchmarks").is_dir()), Path())
file = root / "benchmarks" / "results" / "attention.json"
kept = json.loads(file.read_text()) if file.is_file() else {"rows": []}
times = {"full attention": {}, "Linformer": {}, "Performer": {}}
for row in kept["rows"]:
    if row["part"].startswith("mechanisms") and row["name"] in times:
        times[row["name"]][row["n"]] = 1e3 * row["ours_s"]
stretch = sorted(times["full attention"])
lines = [[name, *(row[length] for length in stretch)] for name, row in times.items()]
head = ["ms at tokens", *(f"{length:,}" for length in stretch)]
for name in ("Linformer", "Performer") if stretch else ():
    assert times[name][512] > 0.9 * times["full attention"][512]  # close together
    ratio = times["full attention"][4096] / times[name][4096]
    print(f"{name} at 4,096 tokens: {ratio:.1f} times as fast")
table(lines, head, formats=dict.fromkeys(head[1:], ",.0f")) if stretch else "no kept times here"

# %% Draw the times tags=["slide", "fold"]
figure = Figure(figsize=(4.8, 3.2))
axes = figure.add_subplot()
for (name, row), mark in zip(times.items(), "os^", strict=True):
    axes.loglog(list(row), list(row.values()), marker=mark, label=name)
axes.set(xlabel="tokens", ylabel="ms, forward and backward")
axes.set_xticks(stretch, [f"{length // 1024}k" if length > 512 else "512" for length in stretch])
axes.minorticks_off()
axes.legend(fontsize=9)
told = "; ".join(f"{name} {row[4096]:.0f}" for name, row in times.items() if row)
with_alt(figure, f"Milliseconds against length, both axes logarithmic. At 4,096 tokens: {told}.")

# %% [markdown]
# *Full attention runs in one fused kernel. Where the text doubles, its time grows about fourfold;
# those of Linformer and Performer about double. At 512 tokens the three lie close together.*

# %% [markdown] tags=["aside"]
# ## How it differs
#
# Each against softmax attention with $T = S = n$, a head of width $d$:
#
# | | thin tables from | operations | causal | padding |
# |---|---|---|---|---|
# | Linformer | trained sums over positions | $n m d$ | no | counts as 0 |
# | Performer | random features of $q$, $k$ | $n m d$ | yes, running sums | left out |
#
# What the error falls with. Linformer: nothing is proved that holds for attention alone. Performer:
# $1/\sqrt m$, with a constant that grows like $e^{|x + y|^2/2}$. Landmarks, buckets and waves are
# in the table of [the next page](04b_nystrom_yoso_fnet.ipynb).

# %% [markdown] tags=["aside"]
# ## In practice
#
# - Where the times above meet, use fused softmax attention: it is exact and honours every mask.
# - Do not put one of these into a trained model and hope: at half the full size, bowls by place are
#   still far off on this page. Train with it from the start.
# - Test a random-feature attention by its rate, not by one tolerance: 16 times the features must
#   give a quarter of the error. A missing sign in QR passes "close enough" and fails this.
# - Look for the length in the setting: Linformer's $E$ ends at its greatest length.
# - A decoder that must run for long with constant memory is the case that running sums are made
#   for.

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why can the bowls be filled before any guest is known?
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
#    Because it is one length. On MiniLM the number of values that make up 90% grew in proportion to
#    the length.
#
#    </details>
# 3. Performer's estimate is right on average, at any $m$. Why does it not help a sharp head?
#
#    <details><summary>Answer</summary>
#
#    The mean is made by rare, huge products: the variance grows exponentially with $|q + k|^2$, and
#    a sharp head has long queries and keys.
#
#    </details>
# 4. A head gives each token's whole weight to the token before it. How many bowls does it need?
#
#    <details><summary>Answer</summary>
#
#    As many as there are dishes that are taken. No two guests take the same, so no bowl serves two
#    of them: the table is a permutation, up to its first row, and all its singular values are
#    alike.
#
#    </details>
# 5. Which of the two has a causal form, and why not the other?
#
#    <details><summary>Answer</summary>
#
#    Performer: its sum over keys can be read as it stands at each place. Linformer's rows mix all
#    positions before any query reads them, and nothing takes the later ones out again.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 4 min)* Let Ben like sweet twice as much: $(2, 1)$. What is on his plate?
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
# 3. *(code, 15 min)* Write the causal form of `performer` with one `cumsum` over tokens, and check
#    it against `library(q, k, v, Causal())`. How large is the largest tensor, and what do chunks
#    change?
#
#    <details><summary>Answer</summary>
#
#    `(phi_k.unsqueeze(-1) * v.unsqueeze(-2)).cumsum(2)` has $n \cdot m \cdot d$ numbers a head,
#    more than the table that was to be avoided as soon as $m d > n$. In chunks of $c$ rows only
#    $n m d / c$ are kept.
#
#    </details>

# %%
# The answers to the exercises, checked.
from deepdive.core.masks import Causal

answer = torch.tensor([2.0, 1]) @ bowls / (torch.tensor([2.0, 1]) @ size)
assert torch.allclose(answer, torch.tensor([14.0, 8]) / 6)
variance = products[:200_000].var() / torch.e**2  # x = y = 1: |x + y|^2 = 4
assert 15 < float(variance) < 120  # e^4 - 1 = 54, and few draws see the tail
rows = [0.3 * x[:1, :1, :40] for x in precise]
on_q, on_k = (exponents(x / 32**0.25, library.drawn) for x in rows[:2])
running = (on_k.exp().unsqueeze(-1) * rows[2].unsqueeze(-2)).cumsum(2)
mixed = (on_q.exp().unsqueeze(-2) @ running).squeeze(-2)
total = (on_q.exp() * on_k.exp().cumsum(2)).sum(-1, keepdim=True)
assert torch.allclose(mixed / total, library(*rows, Causal()), atol=1e-6)
print("the three answers hold")

# %% [markdown]
# ## Summary
#
# If weights are products of thin tables, the values can be summed up once for all queries, and
# attention becomes linear in the length. On MiniLM the number of bowls that make up 90% of a table
# grew with the text, and 256 random features were as far off as giving everybody the same. How well
# a model does that is trained with such attention does not follow from these measurements: that
# must be measured by training.
#
# ## Further reading
#
# - Wang, Li, Khabsa, Fang, Ma (2020), *Linformer: Self-Attention with Linear Complexity*: theorems
#   1 and 2, the spectra of RoBERTa, the three ways to share.
# - Choromanski et al. (2021), *Rethinking Attention with Performers*: positive features and why
#   waves fail, orthogonal directions.
# - Katharopoulos, Vyas, Pappas, Fleuret (2020), *Transformers are RNNs*: attention by features as a
#   recurrent network.
#
# <small>Book 5.2.2.3, 5.2.7.1, table 1.2 · KAIST deck 3</small>
