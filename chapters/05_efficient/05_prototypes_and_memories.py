# %% [markdown] tags=["slide"]
# # Clustering and memory: Informer, Luna, Set Transformer, Perceiver
#
# A row of 512 tokens asks 512 questions of 512 keys. Many of the questions are nearly the same, and
# so are many of the answers. How few of them are enough?
#
# <small>Prerequisites: [several heads](../02_transformer/06_multi_head.ipynb),
# [what attention costs](../02_transformer/15_complexity.ipynb) · 35 min · runs on a laptop · book
# 5.2.5.1, 5.2.6.1, table 1.2</small>

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
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import PALETTE, with_alt


def joins(axes, left, right, x, color):
    for a, b in zip(left, right, strict=True):
        axes.plot([x, x + 1], [a, b], color=color, linewidth=0.8, alpha=0.6)


figure, eight = Figure(figsize=(7.5, 2.6)), list(range(8))
for axes, few in zip(figure.subplots(1, 3), (0, 2, 3), strict=True):
    rows = [7 * j / (few - 1) for j in range(few)]
    for i in eight:
        owner = {0: eight, 2: [rows[i // 4]] if rows else [], 3: rows}[few]
        joins(axes, [i] * len(owner), owner, 0, PALETTE[0] if few else "gray")
        joins(axes, rows, [i] * few, 1, PALETTE[1])
    axes.plot([1] * few, rows, "s", color="black", markersize=7)
    axes.plot([0] * 8, eight, "o", [1 + (few > 0)] * 8, eight, "o", color="black")
    axes.set_axis_off()
    axes.set_title({0: "8 queries, 8 keys", 2: "2 prototypes ask", 3: "3 rows answer"}[few])
with_alt(figure, "Three drawings of 8 queries left and 8 keys right. Full attention: 64 lines. "
         "Prototypes: each query has one line to one of 2 squares, which meet all keys. Memory: "
         "each query meets 3 squares, and each square all keys.")  # fmt: skip

# %% [markdown]
# *Left to right, queries to keys. Full attention draws every line. A **prototype** asks for the
# queries that belong to it. A **memory** row reads all keys, and is all that the queries see.*
#
# There are two places to save. **Share the questions**: queries that look alike ask as one
# (clustered attention), or ask nothing at all and take an average (Informer). **Share the
# answers**: the keys are melted into fewer (memory-compressed attention), or a few learned rows
# read them, and the queries read those rows (Set Transformer, Perceiver, Luna).
#
# The matrix of weights is then a product of a tall matrix and a wide one, with few columns and rows
# between them. This page looks at each such product, measures how far it is from softmax attention
# in a real model, and ends with what no product of this kind can carry.

# %% [markdown]
# ## By hand: four queries, two clusters
#
# Two keys, $k_1 = 0$ and $k_2 = \ln 3$, with values 0 and 1. Four queries: 1.5, 0.5, −0.5, −1.5.
# The score of $k_1$ is 0, that of $k_2$ is $q \ln 3$, so the weight on $k_2$, which is also the
# output, is $3^q / (1 + 3^q)$. Group the two positive and the two negative queries. Their means
# are 1 and −1.

# %%
import torch

q = torch.tensor([1.5, 0.5, -0.5, -1.5])
exact = 3**q / (1 + 3**q)
center = torch.tensor([q[:2].mean(), q[2:].mean()])
shared = (3**center / (1 + 3**center))[[0, 0, 1, 1]]
print("exact ", *(f"{value:.3f}" for value in exact))
print("shared", *(f"{value:.3f}" for value in shared))
assert torch.allclose(shared, torch.tensor([0.75, 0.75, 0.25, 0.25]))

# %% [markdown]
# With a pencil: the center 1 gives $3/4$, the center −1 gives $(1/3)/(4/3) = 1/4$. So 0.839 and
# 0.634 both become 0.750. Two questions were asked, not four, and each query is off by about a
# tenth. Queries that are equal would lose nothing.

# %% [markdown] tags=["slide"]
# ## Clustered attention: queries ask together
#
# Vyas, Katharopoulos and Fleuret (2020). Let $g(t)$ be the cluster of query $t$ and $c_j$ the mean
# of the queries of cluster $j$:
#
# $$A^c_j = \mathrm{softmax}(c_j K^\top / \sqrt d) \qquad y_t = A^c_{g(t)} V$$
#
# Which queries belong together? Comparing all with all would cost what we want to save. So each
# query is reduced to signs: on which side of some random planes does it lie? Lloyd's algorithm then
# runs on these codes: give each code to the nearest center, replace each center by the majority of
# its codes, repeat.


# %%
def clusters(q, planes, n_clusters, rounds=10):
    code = (q @ planes).sign()  # (T, bits), +1 or -1
    center = code[torch.arange(n_clusters) * len(q) // n_clusters]
    for _ in range(rounds):
        group = (code @ center.T).argmax(-1)  # the nearest: most signs agree
        votes = torch.zeros_like(center).index_add(0, group, code)
        center = torch.where(votes == 0, center, votes.sign())  # the majority
    return (code @ center.T).argmax(-1)


def clustered(q, k, v, group, n_clusters):
    member = torch.nn.functional.one_hot(group, n_clusters).float()  # (T, n_clusters)
    center = member.T @ q / member.sum(0)[:, None].clamp(min=1)
    weights = (center @ k.T / q.shape[-1] ** 0.5).softmax(-1)  # (n_clusters, S)
    return member @ (weights @ v)


# %% tags=["nbval-check-output"]
from deepdive.attention import ClusteredAttention

q, k, v = torch.randn(3, 40, 8)
library = ClusteredAttention(8, n_clusters=5)
group = clusters(q, library.planes, 5)
ours = clustered(q, k, v, group, 5)
theirs = library(*(rows[None, None] for rows in (q, k, v)))[0, 0]
assert torch.allclose(ours, theirs, atol=1e-6)
print("sizes of the clusters:", torch.bincount(group, minlength=5).tolist())

# %% [markdown]
# The **improved** form spends a little more. For each cluster take the `top` keys of largest weight
# under the center. There each query computes its own softmax, scaled to the mass that the center
# gave those keys; the other keys keep the center's weights:
#
# $$y_t = m \cdot \mathrm{softmax}(q_t K_\text{top}^\top / \sqrt d)\, V_\text{top} +
# \sum_{s \notin \text{top}} A^c_{g(t), s}\, v_s \qquad m = \sum_{s \in \text{top}} A^c_{g(t), s}$$
#
# A row of weights is then never further from the true one than before, in the sum of the absolute
# differences; the paper proves it and our tests check it row by row.

# %% [markdown]
# ## Look: a real model's queries
#
# MiniLM reads a text, and we keep the queries, keys and values of its 72 heads (6 layers of 12).
# Nothing is trained here: each mechanism must stand in for softmax attention as it is.

# %%
from itertools import islice

from deepdive.core import SoftmaxAttention
from deepdive.data.lines import text_lines
from deepdive.published import load
from deepdive.published.pretrained import minilm, minilm_tokenizer
from deepdive_book.data.tree_grammar import tree_sentences
from deepdive_book.kit.profile import banner, pick, profile

model, tokenizer = load(minilm()).eval(), minilm_tokenizer()
n = pick(ci=128, laptop=256, gpu=512)
if profile() == "ci":
    text = " ".join(" ".join(tree.words) + " ." for tree in tree_sentences(120))
else:
    text = " ".join(islice(text_lines("tinyshakespeare"), 400))
tokens = torch.tensor([tokenizer.encode(text[:9000], bos=True)[:n]])
kept = []
for block in model.stack.blocks:
    block.attn.mechanism.register_forward_pre_hook(lambda _, given: kept.append(given[:3]))
with torch.no_grad():
    model(tokens)
    q, k, v = (torch.cat(rows, dim=1) for rows in zip(*kept, strict=True))  # (1, 72, n, 32)
    exact = SoftmaxAttention()(q, k, v)
source = "sentences (generated)" if profile() == "ci" else "tinyshakespeare (real)"
print(banner(source), f"\n{n} tokens, {q.shape[1]} heads")

# %% [markdown]
# Two heads of the first layer, one that looks by content and one that looks by place (named
# layer-head, layers counted from 1 and heads from 0): the weights, those of 8 clusters, and the
# improved form.

# %% tags=["slide", "fold"]
from deepdive.attention import ImprovedClusteredAttention


def weights_of(mechanism, head):
    """What a mechanism gives each key: its output for values that are the identity."""
    rows = (q[:, head : head + 1], k[:, head : head + 1], torch.eye(n)[None, None])
    with torch.no_grad():
        return mechanism(*rows)[0, 0]


torch.manual_seed(0)
forms = {"softmax": SoftmaxAttention(), "8 clusters": ClusteredAttention(32, 8)}
forms["8 clusters, top 16"] = ImprovedClusteredAttention(32, 8, top=16)
figure = Figure(figsize=(7.5, 5))
for row, head in zip(figure.subplots(2, 3), (0, 5), strict=True):
    for axes, (name, mechanism) in zip(row, forms.items(), strict=True):
        shown = weights_of(mechanism, head)[:64, :64].sqrt()
        axes.imshow(shown, vmin=0, vmax=0.7)
        axes.set(xticks=[], yticks=[], xlabel="key", ylabel="query", title=f"{name}, 1-{head}")
with_alt(figure, "Weights of heads 1-0 and 1-5 for 64 tokens. Softmax: scattered, and a diagonal. "
         "8 clusters: few different rows, repeated; the diagonal is smeared over everything. "
         "Top 16: some scattered weights and pieces of the diagonal are back.")  # fmt: skip

# %% [markdown]
# *Square roots of the weights, the first 64 tokens. In the middle every row is one of eight. By
# content (above) that keeps the columns that many queries share. By place (below) it fails: each
# query looks somewhere else, and a cluster spreads over all their places at once.*
#
# **Limit**: with as many clusters as queries, each center is its query, and the result is exact (if
# no two queries have the same signs; those that do stay together). How fast does the error fall on
# the way there? We measure the output, $\lVert \hat Y - Y \rVert / \lVert Y \rVert$, as a mean over
# the 72 heads. Two rivals: clusters drawn at random, and the best matrix of the same rank (a
# singular value decomposition of the true weights, which no cheap method has).

# %%
from deepdive.attention.by_content.clusters import answers, means


def error(output):
    return float(((output - exact).norm(dim=(-2, -1)) / exact.norm(dim=(-2, -1))).mean())


weights = (q @ k.mT / 32**0.5).softmax(-1)
U, sigma, Vh = torch.linalg.svd(weights)
everyone = torch.ones(1, n).bool()


def best_of_rank(p):
    return (U[..., :p] * sigma[..., None, :p]) @ (Vh[..., :p, :] @ v)


def random_clusters(p):
    group = torch.randint(p, q.shape[:3])
    return answers(SoftmaxAttention()(means(q, group, everyone, p), k, v), group)


# %%
budgets = [c for c in (4, 8, 16, 32, 64, 128) if c < n]
errors = {"random groups": [], "clusters": [], "top 8": [], "top 32": [], "best rank": []}
with torch.no_grad():
    for p in budgets:
        torch.manual_seed(0)
        errors["random groups"].append(error(random_clusters(p)))
        errors["clusters"].append(error(ClusteredAttention(32, p)(q, k, v)))
        for top in (8, 32):
            improved = ImprovedClusteredAttention(32, p, top=top)
            errors[f"top {top}"].append(error(improved(q, k, v)))
        errors["best rank"].append(error(best_of_rank(p)))
for name, values in errors.items():
    print(f"{name:>13}", *(f"{value:6.2f}" for value in values))
assert all(c < r for c, r in zip(errors["clusters"], errors["random groups"], strict=True))
assert all(t < c for t, c in zip(errors["top 32"], errors["clusters"], strict=True))

# %% tags=["slide", "fold"]
figure = Figure()
axes = figure.subplots()
for marker, (name, values) in zip("xosD^", errors.items(), strict=True):
    axes.plot(budgets, values, marker=marker, label=name)
axes.set_xscale("log", base=2)
axes.set_xticks(budgets, budgets)
axes.set(xlabel=f"clusters, or rank ({n} queries)", ylabel="error of the output", ylim=(0, None))
axes.legend()
told = (f"{name} {values[0]:.2f} to {values[-1]:.2f}" for name, values in errors.items())
with_alt(figure, f"Error, from {budgets[0]} clusters to {budgets[-1]}: {'; '.join(told)}.")

# %% [markdown]
# *Means over 72 heads, on one text. Real clusters beat random ones at each number, so queries do
# look alike. But the curve falls slowly: 4 clusters with 32 keys weighed again (0.42) come nearer
# than 64 clusters (0.45), if not as near as 128 (0.35).*
#
# **Failure**: a cluster holds early and late queries, so one answer cannot hide the future; the
# class refuses `Causal`. And where queries do not repeat, centers stand far from all of them.

# %% [markdown] tags=["slide"]
# ## Lazy queries: ProbSparse attention
#
# Informer (Zhou et al. 2021) saves on the same side, more boldly. Some queries have spiky weights;
# others are **lazy**: their weights are nearly even, so their output is nearly the mean of all
# values. Give the lazy ones that mean, and compute only the rest. The measure of a query is
#
# $$M(q) = \max_s \frac{q^\top k_s}{\sqrt d} - \frac1S \sum_s \frac{q^\top k_s}{\sqrt d}$$
#
# Scores $(4, 0, 0, 0)$ have $M = 4 - 1 = 3$, scores $(1, 1, 1, 1)$ have $M = 0$. The measure itself
# would need all scores, so it is taken over a sample of about $\ln S$ keys for each query (times a
# `factor`); then the $u = \text{factor} \cdot \lceil \ln(1 + T) \rceil$ largest attend.


# %%
def measure(q, k):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return scores.amax(-1) - scores.mean(-1)


def lazy_attention(q, k, v, active):
    """Softmax attention for the rows `active` (B, H, u), the mean of the values for the others."""
    spiky = SoftmaxAttention()(answers(q, active), k, v)
    index = active.unsqueeze(-1).expand_as(spiky)
    return v.mean(2, keepdim=True).repeat(1, 1, q.shape[2], 1).scatter(2, index, spiky)


from deepdive.attention import ProbSparseAttention

library = ProbSparseAttention(factor=n).eval()  # so many that every key is in the sample
some = (q[..., :9, :], k)
assert torch.allclose(measure(*some), library.measure(*some) / 32**0.5, atol=1e-4)
library = ProbSparseAttention(factor=5).eval()
active = library.active(q, k)
assert torch.allclose(lazy_attention(q, k, v, active), library(q, k, v), atol=1e-6)
print(f"{active.shape[-1]} of {n} queries attend")

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "In MiniLM, let as many queries attend as Informer would with factor 5, and give the others "
    "the mean. Chosen by the measure, the error is x; chosen at random it is y. How do they "
    "compare?",
    ["x is less than half of y", "x is a little smaller than y", "x is larger than y"],
    answer=1,
    explain="The measure finds queries that matter, but few queries of this model are lazy: the "
    "mean of the values is far from what they return, so whoever is left out is missed.",
    key="05_efficient/lazy-queries",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
distance = (exact - v.mean(2, keepdim=True)).norm(dim=-1)  # what being lazy costs each query
orders = {
    "by the sampled measure": None,
    "by the full measure": measure(q, k),
    "at random": torch.rand(q.shape[:3]),
    "by what it costs": distance,
}
factors = (1, 2, 5, 10)
counts = [ProbSparseAttention(f).active(q, k).shape[-1] for f in factors]
lazy = {name: [] for name in orders}
with torch.no_grad():
    for factor, u in zip(factors, counts, strict=True):
        sampled = ProbSparseAttention(factor).eval().active(q, k)
        for name, order in orders.items():
            chosen = sampled if order is None else order.topk(u, -1).indices
            lazy[name].append(error(lazy_attention(q, k, v, chosen)))
    nobody = error(v.mean(2, keepdim=True).expand_as(v))
print(f"attending: {counts} of {n}; nobody: {nobody:.2f}")
for name, values in lazy.items():
    print(f"{name:>22}", *(f"{value:.3f}" for value in values))
assert 0.5 * lazy["at random"][2] < lazy["by the full measure"][2] < lazy["at random"][2]

# %% [markdown]
# Nobody attending is a large error: in this model the mean of the values is a poor answer to almost
# every question. On this text choosing by the measure is a little better than by lot, and the
# sample costs little of that, but none of it helps much. (*By what it costs* is out of reach: it
# needs the exact output.) The measure itself is no fault, as its limit shows: it stands for the
# divergence of the weights from even ones. Its promise needs queries that are lazy. Informer was
# made for series of sensor readings, and trained with it from the start.
#
# **Failure**: under a causal mask the choice itself looks ahead. Which queries are active is
# decided over the whole row, so a late token can take the place of an early one. Our class declares
# that the law of no leak fails, and a test sees it fail. Informer can live with this, since its
# decoder fills all steps to come in one pass.

# %% [markdown] tags=["slide"]
# ## Memory-compressed attention: neighbors melt
#
# Now the other side, the keys. Liu et al. (2018) wrote articles from many sources and had rows of
# thousands of tokens. A convolution with kernel and stride 3 makes one key of three neighbors, and
# one value of their values:
#
# $$k'_j = \sum_{i < r} W_i\, k_{rj + i} \qquad y_t = \mathrm{softmax}(q_t K'^\top / \sqrt d)\, V'$$
#
# With a pencil: keys 1, 2, 3, 6, 6, 6 and $W_i = 1/3$ give the keys 2 and 6. Three copies of a key
# lose nothing, three different ones become a stranger.

# %%
from deepdive.attention import MemoryCompressedAttention


def average(rate, n_heads=72, d=32):
    """A convolution that takes the mean of each group: nothing is trained."""
    mechanism = MemoryCompressedAttention(n_heads, d, rate)
    with torch.no_grad():
        for weight in (mechanism.k_weight, mechanism.v_weight):
            weight.copy_(torch.eye(d).repeat(rate, 1) / rate)
    return mechanism


toy = torch.tensor([1.0, 2, 3, 6, 6, 6])[None, None, :, None]
few = toy.unflatten(2, (2, 3)).mean(3)  # (1, 1, 2, 1): 2 and 6
weights = (toy @ few.mT).softmax(-1)
library = average(3, 1, 1)(toy, toy, toy, scale=1.0)
assert torch.allclose(weights @ few, library, atol=1e-6)
with torch.no_grad():
    melted = {rate: error(average(rate)(q, k, v)) for rate in (1, 2, 3, 4, 8)}
print("rate: error ", *(f"{rate}: {value:.2f}  " for rate, value in melted.items()))
assert melted[1] < 1e-5 < melted[2] < melted[8]

# %% [markdown]
# **Limit**: rate 1. **Cost**: $T \times S / r$ scores; it is still quadratic, only $r$ times less.
# **Failure**: untrained, a rate of 2 already spoils MiniLM's answers; the convolution must be
# learned with the model. Under a causal mask a group counts once its last member has come, so the
# newest tokens are not seen at all. The paper alternates such layers with local ones, which see
# nothing else.

# %% [markdown] tags=["slide"]
# ## Luna: pack, then unpack
#
# Ma et al. (2021). A memory $P$ of $p$ rows reads the tokens (pack), and the tokens read what it
# packed (unpack). Both are plain softmax attention, and both results are passed on to the next
# layer, so two sequences flow through the stack:
#
# $$\tilde P = \mathrm{softmax}(P K^\top / \sqrt d)\, V \qquad
# Y = \mathrm{softmax}(Q \tilde K^\top / \sqrt d)\, \tilde V$$
#
# where $\tilde K, \tilde V$ are projections of $\tilde P$. By hand with $d = 1$ and $P = \tilde K =
# \tilde V$ taken as they are: tokens with keys 0 and $\ln 3$, values 0 and 4, one memory row 1. Its
# weights are $1/4$ and $3/4$, it packs 3, and every query gets 3 back, since there is nothing else
# to read. With one row, Luna is a weighted mean for all.


# %%
def nested(q, k, v, slots):
    scale = q.shape[-1] ** -0.5
    packed = (scale * slots @ k.mT).softmax(-1) @ v  # (B, H, p, d)
    return (scale * q @ packed.mT).softmax(-1) @ packed


from deepdive.attention import NestedAttention

one = torch.tensor([0.0, 1.0986123])[None, None, :, None]
assert torch.allclose(nested(one, one, 4 * torch.tensor([[[[0.0], [1]]]]), torch.ones(1, 1, 1, 1)),
                      torch.tensor(3.0))  # fmt: skip
library = NestedAttention(n_heads=72, n_slots=8, d_head=32)
with torch.no_grad():
    assert torch.allclose(nested(q, k, v, library.slots), library(q, k, v), atol=1e-6)
"equal"

# %% [markdown]
# A softmax over the keys has seen all keys, later ones too. So the causal form replaces it: the
# **strength** of a token for each memory row is a softplus of their product, which needs no other
# token, and everything else is a mean over what has come so far. It is computed with running sums,
# block by block. It is another function, not the same one under a mask.
#
# ### Common mistake: a memory that has read the future
#
# The tempting shortcut is to pack everything once and call the decoder causal, because no query
# looks at a later key:

# %%
from deepdive.core.masks import Causal

rows = torch.randn(3, 1, 2, 9, 8)
mechanism = NestedAttention(n_heads=2, n_slots=4, d_head=8)
changed = rows.clone()
changed[:, :, :, -1] += 1.0  # the last token
with torch.no_grad():
    wrong = [mechanism(*given)[:, :, :-1] for given in (rows, changed)]
    right = [mechanism(*given, mask=Causal())[:, :, :-1] for given in (rows, changed)]
print(f"packed once: earlier tokens move by {(wrong[1] - wrong[0]).abs().max():.3f}")
print(f"causal form: earlier tokens move by {(right[1] - right[0]).abs().max():.3f}")
assert (wrong[1] - wrong[0]).abs().max() > 1e-3
assert torch.equal(*right)

# %% [markdown]
# **Symptom:** a training loss that is too good, and text that falls apart when it is generated
# token by token. **Fix:** the causal form, or a refusal. Every prototype and every memory on this
# page is in this danger; clustered attention, ISAB and PMA therefore refuse a causal mask. The test
# is always the same: change a late token, and look at the early outputs.

# %% [markdown]
# ## Sets: induced points and pooling
#
# Luna's first half is older. The Set Transformer (Lee et al. 2019) reads sets, which have no order,
# so it has no positions. Its parts are made of one block, $\mathrm{MAB}(X, Y)$: a post-norm layer
# in which rows $X$ read rows $Y$.
#
# $$\mathrm{SAB}(X) = \mathrm{MAB}(X, X) \quad
# \mathrm{ISAB}(X) = \mathrm{MAB}(X, \mathrm{MAB}(I, X)) \quad
# \mathrm{PMA}(X) = \mathrm{MAB}(S, \mathrm{ff}(X))$$
#
# $I$ are $m$ learned **induced points**, $S$ learned **questions** (seeds). SAB costs $T^2$, ISAB
# $T m$; both give one row a member, and a permutation of the set permutes them. PMA gives one row a
# question, whatever the order.

# %%
from deepdive.models.efficient.set_transformer import ISAB, PMA

members = torch.randn(1, 7, 16)
order = torch.randperm(7)
isab, pma = ISAB(16, 4, n_inducing=3), PMA(16, 4, n_seeds=2)
with torch.no_grad():
    by_hand = isab.answer(members, isab.read(isab.inducing[None], members))
    assert torch.allclose(isab(members), by_hand, atol=1e-6)
    assert torch.allclose(isab(members[:, order]), isab(members)[:, order], atol=1e-5)
    assert torch.allclose(pma(members[:, order]), pma(members), atol=1e-5)
isab(members).shape, pma(members).shape

# %% [markdown]
# ### Experiment: the largest of a set
#
# The paper's first task. A set of 1 to 10 numbers between 0 and 1 comes in; the largest is wanted.
# Two baselines treat each number alone and pool by the **mean** or by the **maximum**, as in Lee
# et al. All sets are generated. Then all three are tested on sets of 100, which they never saw.

# %%
from torch import nn

from deepdive.models.efficient.set_transformer import SetTransformer
from deepdive.training import fit
from deepdive.training.optim import adam, cosine


class Pool(nn.Module):
    def __init__(self, d, maximum):
        super().__init__()
        self.maximum = maximum
        self.each = nn.Sequential(nn.Linear(1, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU())
        self.all = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 1))

    def forward(self, x, mask):
        rows = self.each(x) * mask[..., None]  # never below 0, so a masked row is no maximum
        if self.maximum:
            return self.all(rows.amax(1, keepdim=True))
        return self.all(rows.sum(1, keepdim=True) / mask.sum(1)[:, None, None])


def draw(n_sets, low, high):
    mask = torch.arange(high) < torch.randint(low, high + 1, (n_sets, 1))
    x = torch.rand(n_sets, high) * mask
    return x[..., None], mask, x.amax(1)


# %%
steps = pick(ci=120, laptop=300, gpu=2000)
torch.manual_seed(0)
train = [draw(64, 1, 10) for _ in range(steps)]
tests = {"1 to 10": draw(500, 1, 10), "100": draw(500, 100, 100)}


def mistake(model, batch):
    x, mask, largest = batch
    return (model(x, mask)[:, 0, 0] - largest).abs().mean()


# %%
largest = {}
for name, make in {
    "mean of members": lambda: Pool(32, maximum=False),
    "max of members": lambda: Pool(32, maximum=True),
    "ISAB, PMA": lambda: SetTransformer(1, 1, d_model=32, n_layers=1, n_inducing=8),
}.items():
    torch.manual_seed(0)
    pooled = make()
    schedule = cosine(3e-3, warmup=20, total=steps)
    fit(pooled, train, mistake, steps=steps, optimizer=adam(pooled), schedule=schedule)
    with torch.no_grad():
        largest[name] = [float(mistake(pooled, batch)) for batch in tests.values()]
    size = sum(p.numel() for p in pooled.parameters())
    small, large = largest[name]
    print(f"{name:>16}, {size:>6,} parameters: off by {small:.3f} on sets of 1 to 10, "
          f"by {large:.3f} on sets of 100")  # fmt: skip
assert largest["ISAB, PMA"][0] < 0.6 * largest["mean of members"][0]
assert all(m < i for m, i in zip(largest["max of members"], largest["ISAB, PMA"], strict=True))

# %% [markdown]
# **A max pool wins**, with a thirteenth of the parameters: it is closer on small sets and on sets
# of 100. A mean divides by the size of the set, so one large member among many barely shows.
# Attention can put its weight on one member, but here the pooling that fits the task is simpler.
# An earlier version of this page compared with the mean only and drew the conclusion that
# attention is needed.
#
# In a review run with three seeds the order was the same in each: max 0.002 to 0.003 on small
# sets, ISAB and PMA 0.007 to 0.010, the mean 0.107 to 0.118.
#
# **Limit**: a set that reads itself, MAB(X, X), is a post-norm block of the Transformer; one with
# SAB in place of ISAB has no induced points left. **Failure**: all that one member can learn of the
# others passes through $m$ rows. More on that below.

# %% [markdown]
# ## Perceiver: the memory is the model
#
# The Perceiver (Jaegle et al. 2021) drops the way back. A few hundred learned **latents** read the
# input, and a deep stack works on the latents. The original repeats the reading (its title says
# *iterative* attention): cross-attention to the input comes 8 times in the ImageNet model, with
# shared weights, so latents can query again. What follows is the simpler form of Perceiver IO
# (Jaegle et al. 2022): one reading, however long the input is, then a stack on the latents alone.
# What follows reads the latents. Input rows never speak to each other, and the depth no longer
# pays for the length:
#
# $$Z = \mathrm{cross}(Z_0, X) \qquad Z = \mathrm{layer}_i(Z), \quad i = 1 \dots L$$

# %%
from deepdive.models.bert import bert
from deepdive.models.efficient.perceiver import perceiver
from deepdive_book.kit.flops import count_flops

reader = perceiver(
    d_input=32, n_latents=16, d_latents=64, n_layers=6, n_heads=4, n_cross_heads=4, dropout=0.0
)
plain = bert.bert(vocab_size=99, d_model=64, n_heads=4, n_layers=6, d_ff=64, max_length=4096).eval()
row = torch.randn(1, 512, 32)
assert torch.allclose(reader(row[:, torch.randperm(512)]), reader(row), atol=1e-4)
print("million operations, 16 latents against an encoder of 6 layers, as wide:")
for length in (256, 1024, 4096):
    ours = count_flops(lambda: reader(torch.randn(1, length, 32)))  # noqa: B023
    with torch.no_grad():
        full = count_flops(lambda: plain(torch.zeros(1, length).long()))  # noqa: B023
    print(f"{length:>5} rows: {ours / 1e6:8.1f}  {full / 1e6:10.1f}")

# %% [markdown]
# The first check says that order does not matter: a text or an image must add positions to its rows
# first. **Limit**: an input that repeats itself is read as if it stood there once. **Cost**: linear
# in the length, with no factor of depth. **Failure**: whatever the latents did not take along is
# gone, and no later layer can ask for it.

# %% [markdown] tags=["slide"]
# ## What p rows can carry
#
# Leave aside the exact rows and entries that Informer and improved clustering add. The weights of
# one head then factor: $W = A\,B$ with $A$ of shape $T \times p$ and $B$ of shape $p \times S$.
# In clustered attention $A$ says who is in which cluster; in Luna $A$ is the unpacking, $B$ the
# packing. So **the rank of $W$ is at most $p$**. Copying asks each token to look at itself:
# $W = I$, of rank $T$. The best matrix of rank $p$ misses it by
#
# $$\lVert I - W_p \rVert / \lVert I \rVert = \sqrt{1 - p/T}$$
#
# in the Frobenius norm: with a quarter of the rows, still 87%. MiniLM's own maps are kinder, on
# average.

# %%
spectrum = sigma.square().cumsum(-1) / sigma.square().sum(-1, keepdim=True)
print(" p/T   identity   MiniLM's mean map   hardest map")
for share in (1 / 32, 1 / 8, 1 / 4, 1 / 2):
    p = int(share * n)
    left = (1 - spectrum[0, :, p - 1]).clamp(min=0).sqrt()
    print(f"{share:4.2f}   {(1 - share) ** 0.5:8.2f}   {left.mean():17.2f}   {left.max():11.2f}")
hardest = (q @ k.mT / 32**0.5).softmax(-1)[0, int(left.argmax())]
near = {gap: float(hardest.diagonal(gap).sum()) / n for gap in (-1, 0, 1)}
print("the hardest map's weight on the token before, itself, the next:", *map("{:.0%}".format,
      near.values()))  # fmt: skip
assert left.mean() < 0.2
assert max(near, key=near.get) == -1
assert near[-1] > 0.5

# %% [markdown]
# With few rows the hardest map is nearly as hard as copying: a head that looks at the token before
# it *is* a copy, moved by one. No memory of few rows can stand in for such a head; a window of
# three keys can.
#
# ### Experiment: how many pairs fit into a memory?
#
# A task that needs every row: twelve pairs, a name and a value each. At each name the model must
# say its value, but the query sees the name alone. Full attention looks at the one right key. Luna
# must carry twelve pairs through $p$ rows (for each of 4 heads). Compressed attention must tell
# apart pairs that were melted together. One attention layer, trained from scratch on generated
# pairs.

# %%
from deepdive.core import MultiHeadAttention


class Recall(nn.Module):
    def __init__(self, mechanism):
        super().__init__()
        self.name, self.value = nn.Embedding(16, 32), nn.Embedding(16, 32)
        self.attention = MultiHeadAttention(64, 4, mechanism=mechanism)
        self.out = nn.Linear(64, 16)

    def forward(self, names, values):
        pairs = torch.cat([self.name(names), self.value(values)], dim=-1)  # (B, 12, 64)
        asked = torch.cat([self.name(names), 0 * self.value(values)], dim=-1)
        return self.out(self.attention(asked, memory=pairs))


def draw_pairs(n_rows):
    return torch.rand(n_rows, 16).argsort(1)[:, :12], torch.randint(16, (n_rows, 12))


def wrong_values(model, batch):
    logits, values = model(*batch), batch[1]
    return nn.functional.cross_entropy(logits.flatten(0, 1), values.flatten())


# %% tags=["fold"]
predict(
    "Twelve pairs, and Luna with 1, 2, 4 or 8 memory rows. From how many rows on does it recall "
    "nearly all values?",
    ["one row is enough: a row is many numbers wide", "four", "only with twelve or more"],
    answer=1,
    explain="A memory row is a weighted mean of all values, and several heads pack their own. "
    "One row fails; four rows in each of four heads are sixteen means of twelve pairs, which is "
    "enough to solve for them.",
    key="05_efficient/pairs-in-a-memory",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
steps = pick(ci=200, laptop=300, gpu=2000)
torch.manual_seed(0)
pairs, asked = [draw_pairs(64) for _ in range(steps)], draw_pairs(500)
makers = {f"Luna, {p}": (lambda p=p: NestedAttention(4, p, 16)) for p in (1, 2, 4, 8)}
makers |= {"full": SoftmaxAttention, "rate 6": lambda: MemoryCompressedAttention(4, 16, 6)}
if profile() == "ci":
    makers = {name: makers[name] for name in ("Luna, 1", "Luna, 4", "full", "rate 6")}
recalled = {}
for name, make in makers.items():
    torch.manual_seed(0)
    student = Recall(make())
    schedule = cosine(5e-3, warmup=20, total=steps)
    fit(student, pairs, wrong_values, steps=steps, optimizer=adam(student), schedule=schedule)
    with torch.no_grad():
        recalled[name] = float((student(*asked).argmax(-1) == asked[1]).float().mean())
    print(f"{name:>8}: {recalled[name]:.1%} of the values recalled")
assert recalled["Luna, 1"] < 0.5 < 0.85 < recalled["Luna, 4"]
assert recalled["rate 6"] < 0.8 < 0.95 < recalled["full"]

# %% [markdown]
# Full attention recalls all, one memory row few (luck alone is $1/16$), and melting six pairs into
# one loses many. That four rows nearly suffice is the point of Luna: a row need not stand for one
# token; it may hold a mixture that a learned reader can take apart. But it is a fixed number of
# mixtures, and the row of tokens may grow.

# %% [markdown]
# ## What each costs
#
# Forward and backward, one head dimension of 32, 4 heads, against our own fused full attention on
# the same machine. Measured here, once; a laptop's other work shows.

# %%
from time import perf_counter


def seconds(mechanism, n, **more):
    rows = [torch.randn(1, 4, n, 32, requires_grad=True) for _ in range(3)]
    best = float("inf")
    for _ in range(3):
        start = perf_counter()
        mechanism(*rows, **more).sum().backward()
        best = min(best, perf_counter() - start)
    return best


lengths = pick(ci=[256, 512, 1024], laptop=[512, 1024, 2048, 4096], gpu=[1024, 4096, 16384])
racers = {
    "full": (SoftmaxAttention(), {}),
    "Luna, 64 rows": (NestedAttention(4, 64, 32), {}),
    "Luna, causal": (NestedAttention(4, 64, 32), {"mask": Causal()}),
    "compressed, 3": (MemoryCompressedAttention(4, 32, 3), {}),
    "64 clusters": (ClusteredAttention(32, 64), {}),
    "64 clusters, top 32": (ImprovedClusteredAttention(32, 64), {}),
    "ProbSparse, 5": (ProbSparseAttention(5), {}),
}
race = {name: [seconds(m, n, **more) for n in lengths] for name, (m, more) in racers.items()}
# %% tags=["slide", "fold"]
figure = Figure(figsize=(7, 3.8))
axes = figure.subplots()
for marker, (name, times) in zip("osv^DxP", race.items(), strict=True):
    axes.plot(lengths, [1000 * t for t in times], marker=marker, label=name)
axes.set_xscale("log", base=2)
axes.set_yscale("log")
axes.set_xticks(lengths, [f"{n:,}" for n in lengths])
axes.set(xlabel="rows", ylabel="ms, forward and backward")
figure.legend(loc="outside right center")
with_alt(figure, f"Time against length. At {lengths[-1]:,} rows: " + ", ".join(
    f"{name} {1000 * times[-1]:.0f} ms" for name, times in race.items()))  # fmt: skip

# %% [markdown]
# *Both axes logarithmic; a line that rises twice as steeply is quadratic.
# [Page 5.9](09_choosing.ipynb) has a careful table of all: in turns, as ratios.*
#
# ## The six in brief
#
# One picture for all: 32 rows of sines and cosines of their place, as queries and as keys, so that
# softmax attention looks near. For Luna the product of both softmaxes is drawn (an ISAB has the
# same form); the Perceiver keeps the packing alone.

# %% tags=["slide", "fold"]
from deepdive.core.hooks import record

angles = torch.arange(32)[:, None] * torch.linspace(0.02, 0.5, 16)
q_toy = k_toy = 1.6 * torch.cat([angles.cos(), angles.sin()], dim=-1)[None, None]
same = torch.eye(32)[None, None]
luna = NestedAttention(1, 4, 32)
with torch.no_grad(), record(luna, "*.weights") as seen:
    luna.slots.copy_(k_toy[0, :, 3::8])  # rows that meet four of the keys
    luna(q_toy, k_toy, k_toy)
pack, unpack = (seen[f"{step}.weights"][0][0, 0] for step in ("pack", "unpack"))
forms = {"softmax": SoftmaxAttention(), "4 clusters": ClusteredAttention(32, 4)}
forms |= {"ProbSparse": ProbSparseAttention(2).eval(), "compressed, 4": average(4, 1)}
with torch.no_grad():
    drawn = {name: form(q_toy, k_toy, same)[0, 0] for name, form in forms.items()}
drawn |= {"Luna, 4 rows": unpack @ pack, "Perceiver, 4 latents": pack}
figure = Figure(figsize=(8, 5))
for axes, (name, shown) in zip(figure.subplots(2, 3).flat, drawn.items(), strict=True):
    axes.imshow(shown.sqrt(), vmin=0, vmax=1, aspect="auto")
    axes.set(xticks=[], yticks=[], title=name, xlabel="key", ylabel="query or row")
with_alt(figure, "Six maps of weights. Softmax: a diagonal band. Clusters: four rows, repeated. "
         "ProbSparse: pieces of the band, the other rows even. Compressed: a staircase, columns in "
         "groups of four. Luna: four blobs along the band. Perceiver: four rows.")  # fmt: skip

# %% [markdown]
# *Square roots of the weights; the Perceiver's rows are its latents. What a form cannot tell apart
# is drawn alike: rows of a cluster, lazy rows, columns of a group, mixtures of the same four rows.
# Luna's rows were put at four of the keys by hand; learned ones go where the task wants them.*
#
# What differs from the Transformer, the matrix, the limit in which nothing differs, the cost of a
# token, the causal form, the failure.
#
# - **Clustered.** The mean of a cluster asks for all its queries. *Matrix*: few different rows,
#   repeated. *Limit*: every query its own cluster, or top = S. *Cost*: clusters + top. *Causal*:
#   refused. *Failure*: queries that do not repeat.
# - **Informer.** Only spiky queries attend, and rows are halved between layers. *Matrix*: a few
#   true rows, the others even. *Limit*: all active, nothing distilled. *Cost*: about ln T.
#   *Causal*: looks ahead once. *Failure*: queries that are not lazy.
# - **Memory-compressed.** Groups of keys become one. *Matrix*: columns in groups. *Limit*: rate 1
#   and no convolution. *Cost*: S / rate. *Causal*: yes, but the newest group is unseen. *Failure*:
#   what differs inside a group.
# - **Set Transformer.** No positions, and learned rows between the members. *Matrix*: a packing,
#   then an unpacking. *Limit*: SAB is a post-norm block. *Cost*: induced points. *Causal*: refused.
#   *Failure*: what does not fit into them.
# - **Luna.** The same between tokens, and the memory flows on. *Matrix*: a product of two
#   softmaxes, rank at most p. *Limit*: rows that meet one key each give attention whose keys are
#   the values. *Cost*: memory rows. *Causal*: another function. *Failure*: the recall of many
#   pairs.
# - **Perceiver.** The memory is the model. *Matrix*: the packing alone. *Limit*: an input that
#   repeats itself is read as it is. *Cost*: latents, once for all layers. *Causal*: no. *Failure*:
#   what no latent took along.

# %% [markdown]
# ## In practice
#
# - Replacing attention in a trained model is the hard case. Of those measured here, improved
#   clustering comes nearest without training; the others must be trained in.
# - Begin with the question which side repeats: queries (cluster them), or keys (compress them).
# - Memories fit sets of any size, and long inputs with a short answer: pool by learned questions,
#   or read once into latents.
# - Test for a leak before you train a decoder with any of them.
# - For a few hundred rows, measure first: full attention is one fused product, and exact.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why does `top=1` change nothing in improved clustered attention?
#
#    <details><summary>Answer</summary>
#
#    A softmax over one key is 1, scaled to the mass that the center gave that key: its old weight.
#
#    </details>
# 2. The measure of a query is 0. What are its weights?
#
#    <details><summary>Answer</summary>
#
#    The largest score equals the mean score, so all scores are equal and the weights are even: the
#    mean of the values is exact.
#
#    </details>
# 3. Memory-compressed attention with rate 3 is three times cheaper at every length. Why is it not
#    called linear?
#
#    <details><summary>Answer</summary>
#
#    Each of T queries meets S / 3 keys: twice the row is still four times the work.
#
#    </details>
# 4. Why can Luna's packing not simply be masked to be causal?
#
#    <details><summary>Answer</summary>
#
#    A memory row is one row for all queries. Its softmax runs over all keys, so whoever reads it
#    reads the future; a packed row for each query would cost T packings.
#
#    </details>
# 5. A Perceiver reads a shuffled text and gives the same latents. What is missing?
#
#    <details><summary>Answer</summary>
#
#    Positions. They must be added to the input rows, since attention by itself sees a set.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 5 min)* In the example with four queries, group 1.5 with −1.5 and 0.5 with −0.5.
#    What do all four queries return, and how far is each from the truth?
#
#    <details><summary>Answer</summary>
#
#    Both centers are 0, so all return $1/2$. The true outputs 0.839, 0.634, 0.366, 0.161 are missed
#    by 0.339, 0.134, 0.134, 0.339: a bad grouping is worse than none.
#
#    </details>
# 2. *(derive, 8 min)* Show that no $W$ of rank $p$ is nearer to $I$ than $\sqrt{T - p}$ in the
#    Frobenius norm.
#
#    <details><summary>Answer</summary>
#
#    $W$ sends a space of dimension at least $T - p$ to 0. Take an orthonormal basis of the whole
#    space that contains one of that space: $\lVert I - W \rVert_F^2$ is the sum of
#    $\lVert (I - W) e \rVert^2$ over the basis, and each of those $T - p$ vectors gives 1.
#
#    </details>
# 3. *(measure, 10 min)* Give the scores $(4, 0, 0, 0)$ and $(2, 2, 0, 0)$ their measures and their
#    weights. Which of the two queries loses more by taking the mean?
#
#    <details><summary>Answer</summary>
#
#    The measures are 3 and 1. The weights are (0.95, 0.02, 0.02, 0.02) and (0.44, 0.44, 0.06,
#    0.06); their distances from even weights, as sums of absolute differences, are 1.40 and 0.76.
#    How much the *output* loses depends on the values: where those agree, nothing is lost.
#
#    </details>
# 4. *(measure, 8 min)* Find a set for which the model that pools by the mean is far off.
#
#    <details><summary>Answer</summary>
#
#    One large number among many small ones, such as 0.9 with 99 times 0.1: the mean of the rows is
#    that of a set whose members are all near 0.1.
#
#    </details>

# %%
# The answers to 1, 2 and 3, checked.
truth = torch.tensor([3**x / (1 + 3**x) for x in (1.5, 0.5, -0.5, -1.5)])
missed = (truth - 0.5).abs()
assert torch.allclose(missed, torch.tensor([0.339, 0.134, 0.134, 0.339]), atol=1e-3)
W = torch.randn(12, 5) @ torch.randn(5, 12) / 5
assert (torch.eye(12) - W).norm() >= (12 - 5) ** 0.5
scores = torch.tensor([[4.0, 0, 0, 0], [2, 2, 0, 0]])
assert (scores.amax(1) - scores.mean(1)).tolist() == [3.0, 1.0]
off = (scores.softmax(1) - 0.25).abs().sum(1)
assert torch.allclose(off, torch.tensor([1.40, 0.76]), atol=5e-3)
print("answers 1, 2 and 3 hold")

# %% [markdown]
# ## Summary
#
# Attention gets cheaper when few rows stand between queries and keys: clusters or active queries on
# one side, melted keys or memory rows on the other. Each of them is exact in a limit and bounded by
# a rank before it; in MiniLM 32 true weights for each query helped more than sixteen times the
# clusters. What has read everything must not answer a decoder, and what must be recalled pair by
# pair does not fit into a fixed number of rows for ever.
#
# ## Further reading
#
# - Vyas, Katharopoulos, Fleuret (2020), *Fast Transformers with Clustered Attention*: the two forms
#   and the proof that the second is never worse.
# - Zhou et al. (2021), *Informer*: the measure, distilling, and forecasts in one pass.
# - Liu et al. (2018), *Generating Wikipedia by Summarizing Long Sequences*: memory-compressed and
#   local layers.
# - Lee et al. (2019), *Set Transformer*: ISAB, PMA, and tasks on sets.
# - Ma et al. (2021), *Luna: Linear Unified Nested Attention*.
# - Jaegle et al. (2021), *Perceiver*, and Jaegle et al. (2022), *Perceiver IO*, which reads answers
#   of any shape from the latents.
