# %% [markdown] tags=["slide"]
# # Sparse attention by content: Reformer, Routing, Sinkhorn
#
# A long text says *bank*, and 3,000 words earlier it said *river*. A window does not reach that
# far, and comparing all pairs of words costs the square of the length. Which keys a query needs
# depends on what they say. How do you find them without looking at all of them?
#
# <small>Prerequisites: [several heads](../02_transformer/06_multi_head.ipynb),
# [complexity](../02_transformer/15_complexity.ipynb), [real weights](../03_bert/06_weights.ipynb) ·
# 24 min · runs on a laptop · book 5.2.2.2</small>

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

words = ["river", "loan", "water", "rate", "boat", "bank", "money", "bank'"]
buckets, order = [0, 2, 0, 2, 1, 0, 3, 2], [0, 2, 5, 4, 1, 3, 7, 6]
roles, size, body = ["query", "key", "value", "score"], 76, []
for label, y, row in (("in order", 40, range(8)), ("by bucket", 130, order)):
    body.append(text(42, y, label, 13))
    for place, i in enumerate(row):
        x = 100 + size * place
        body.append(f'<rect x="{x}" y="{y - 18}" width="{size - 8}" height="34" rx="5" '
                    f'fill="{ROLES[roles[buckets[i]]]}" fill-opacity="0.35"/>')  # fmt: skip
        body.append(text(x + 34, y, f"{words[i]} · {buckets[i]}", 13))
body += [arrow(134 + size * i, 62, 134 + size * order.index(i), 106) for i in range(8)]
for c in range(4):
    x = 97 + 2 * size * c
    body.append(f'<rect x="{x}" y="106" width="{2 * size - 2}" height="46" rx="6" fill="none" '
                f'stroke="currentColor"/>')  # fmt: skip
    body.append(text(x + 74, 172, f"chunk {c}", 12))
body.append(text(400, 200, "a chunk of queries meets its own chunk and the one before", 13))
show(
    svg(716, 216, body),
    "Eight words with the number of their bucket, in the order of the text and below sorted by "
    "bucket: river, water, bank, boat, loan, rate, bank', money; cut into four chunks of two.",
)

# %% [markdown]
# *Above: the text, each word with the bucket that a hash gave it. Below: the same words sorted by
# bucket and cut into chunks. The first "bank" now stands beside "river" and "water", the second,
# written bank', beside "loan" and "rate".*
#
# That is the idea of **Reformer** (Kitaev et al. 2020). A **hash** gives each row a bucket, without
# looking at any other row. A hash is **locality-sensitive** when rows that point the same way tend
# to get the same bucket. Sort by bucket, and what belongs together stands together; then attention
# within chunks is enough. On this page you hash by hand and measure what is found and what is
# missed. Then come layers that need not remember what they computed, and two other ways to
# sort by content.

# %% [markdown]
# ## By hand: eight words, four buckets
#
# The hash needs a few random directions. Take two, $(1, 0)$ and $(0, 1)$, and call the products of
# a row with them $x$. With their opposites they make four: the bucket is the number of the largest
# of $(x_1, x_2, -x_1, -x_2)$, counted from 0. It says which of four arrows the row is nearest to.
#
# | word | row $q$ | $(x_1, x_2, -x_1, -x_2)$ | bucket |
# |---|---|---|---|
# | river | (3, 1) | 3, 1, -3, -1 | 0 |
# | loan | (-2, 1) | -2, 1, 2, -1 | 2 |
# | water | (2, -1) | 2, -1, -2, 1 | 0 |
# | rate | (-3, -1) | -3, -1, 3, 1 | 2 |
# | boat | (1, 2) | 1, 2, -1, -2 | 1 |
# | bank | (2, 1) | 2, 1, -2, -1 | 0 |
# | money | (-1, -2) | -1, -2, 1, 2 | 3 |
# | bank' | (-3, 1) | -3, 1, 3, -1 | 2 |
#
# Sorted by bucket, then by position: river, water, bank, boat, loan, rate, bank', money. In chunks
# of two, *bank* stands in chunk 1, with *boat*, and may look into chunks 0 and 1. Of what it sees,
# *river* and *water* share its bucket; *boat* does not.
#
# In Reformer queries and keys are the **same rows** (shared QK), and a key is only a direction: $k
# = q / |q|$. So *bank* $(2, 1)$ has with *river* the score $(2 \cdot 3 + 1 \cdot 1) / \sqrt{10} =
# 2.214$, with *water* $(2 \cdot 2 - 1 \cdot 1) / \sqrt 5 = 1.342$. Its own key would win always
# ($\sqrt 5 = 2.236$), and so it is left out. The softmax: 0.705 and 0.295.
#
# And *boat*? Its score, $(2 + 2) / \sqrt 5 = 1.789$, is above that of *water*, but a border between
# buckets lies between the two. Turn the directions by 45 degrees, $(1, 1)$ and $(-1, 1)$, and
# *bank* gives $(3, -1)$, *boat* $(3, 1)$: both bucket 0. **A second round with other directions
# finds what the first one missed.** Reformer takes several.

# %% [markdown]
# ## The equation
#
# With $R$ a matrix of random numbers, one column for each pair of buckets, and $c(i)$ the chunk in
# which row $i$ stands after sorting:
#
# $$b(i) = \mathrm{argmax}\,[q_i R;\; -q_i R] \qquad
# P_i^{(r)} = \{ j \ne i : b^{(r)}(i) = b^{(r)}(j),\; c^{(r)}(i) - c^{(r)}(j) \in \{0, 1\} \}$$
#
# $$P_i = P_i^{(1)} \cup \dots \cup P_i^{(n)} \qquad
# o_i = \sum_{j \in P_i} \frac{\exp(q_i \cdot k_j)}{\sum_{l \in P_i} \exp(q_i \cdot k_l)}\, v_j$$
#
# where $P_i = \{i\}$ if nothing else is left. (The paper leaves the scale $1/\sqrt{d}$ out of its
# formulas for clarity; its code has it.) In code, for one head and as a mask:


# %%
import torch


def meets(q, directions, chunk):
    """Who meets whom in one round, bool (T, T)."""
    x = q @ directions
    bucket = torch.cat([x, -x], dim=-1).argmax(-1)
    place = bucket.argsort(stable=True).argsort()
    c = place // chunk
    apart = c[:, None] - c[None, :]
    return (bucket[:, None] == bucket[None, :]) & ((apart == 0) | (apart == 1))


def attend(q, v, met):
    """Softmax over the rows met, oneself only if there is no other."""
    own = torch.eye(len(q), dtype=torch.bool)
    met = met & ~own
    met = met | (own & ~met.any(-1, keepdim=True))
    k = q / q.norm(dim=-1, keepdim=True)
    weights = (q @ k.T).masked_fill(~met, float("-inf")).softmax(-1)
    return weights @ v, weights


# %% [markdown]
# On the eight words, with the numbers from above:

# %% tags=["nbval-check-output"]
rows = torch.tensor([[3.0, 1], [-2, 1], [2, -1], [-3, -1], [1, 2], [2, 1], [-1, -2], [-3, 1]])
first = meets(rows, torch.eye(2), 2)
output, weights = attend(rows, torch.eye(8), first)
assert torch.allclose(weights[5], torch.tensor([0.705, 0, 0.295, 0, 0, 0, 0, 0]), atol=1e-3)
second = meets(rows, torch.tensor([[1.0, -1], [1, 1]]), 2)
print("bank meets", [words[j] for j in range(8) if first[5, j] and j != 5], "in round 1,",
      [words[j] for j in range(8) if second[5, j] and j != 5], "in round 2")  # fmt: skip
assert (first[5, 4], second[5, 4]) == (False, True)

# %% [markdown]
# The library has this definition as `LSHMaskAttention`, and a fast form that makes no $T \times T$
# matrix, `LSHAttention`: it gathers rows in sorted order and multiplies chunks. All three agree on
# random rows, three rounds, the library's random directions:

# %%
from deepdive.attention import LSHAttention, LSHMaskAttention
from deepdive.attention.by_content.hashing import draw_rotations

torch.manual_seed(0)
q, v = torch.randn(2, 60, 8)
turned = draw_rotations(1, 8, 3, (6,), seed=0)[0].float()  # (d, rounds, directions)
union = torch.stack([meets(q, turned[:, r], 7) for r in range(3)]).any(0)
ours, _ = attend(q, v, union)
for part in (LSHMaskAttention, LSHAttention):
    theirs = part(chunk=7, rounds=3, buckets=6).eval()(q[None, None], q[None, None], v[None, None])
    assert torch.allclose(ours, theirs[0, 0], atol=1e-5)
print(f"equal; {union.float().mean():.0%} of all pairs meet")

# %% [markdown]
# ## Look: the matrix, unsorted and sorted
#
# Which entries exist? 96 random rows of 8 numbers, 8 buckets, chunks of 12.

# %% tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

q = torch.randn(96, 8)
turned = draw_rotations(1, 8, 4, (8,), seed=1)[0].float()
rounds = torch.stack([meets(q, turned[:, r], 12) for r in range(4)])
x = q @ turned[:, 0]
by_bucket = torch.cat([x, -x], -1).argmax(-1).argsort(stable=True)
shown = {
    "one round": rounds[0],
    "sorted": rounds[0][by_bucket][:, by_bucket],
    "four rounds": rounds.any(0),
}
figure = Figure(figsize=(8, 2.9))
for axes, (title, matrix) in zip(figure.subplots(1, 3), shown.items(), strict=True):
    axes.imshow(matrix, cmap="Blues", vmin=0, vmax=1.3, interpolation="nearest")
    axes.set(title=f"{title}: {matrix.float().mean():.0%}", xticks=[], yticks=[])
    axes.set(xlabel="key", ylabel="query")
with_alt(figure, "Three matrices of 96 queries by 96 keys. One round: scattered entries. Sorted: "
         "squares along the diagonal. Four rounds: more scattered entries.")  # fmt: skip

# %% [markdown]
# *Blue: query and key meet. Left: in the order of the text there is no pattern. Middle: sorted, the
# same entries are squares along the diagonal, and these can be multiplied as blocks. Right: four
# rounds; each adds less than the one before, because some pairs meet again.*
#
# **Limit:** with one bucket and one chunk, this is full attention with shared queries and keys. (A
# test of the library holds this, forward and backward.) **Cost:** sorting costs $T \log T$, the
# chunks cost $2\, T \cdot \text{chunk}$ products a round.

# %% [markdown]
# ### Common mistake: what is met twice counts twice
#
# Each round gives its own softmax and the logarithm of its sum, $z_r$; the fast form joins them
# with the weights $\exp(z_r - z)$. Done carelessly, a key that was met in three rounds enters three
# times. Wrong:

# %% tags=["nbval-check-output"]
q, v = 2 * torch.randn(40, 8), torch.randn(40, 8)
turned = draw_rotations(1, 8, 4, (4,), seed=2)[0].float()
each = torch.stack([meets(q, turned[:, r], 10) for r in range(4)]) & ~torch.eye(40).bool()
scores = q @ (q / q.norm(dim=-1, keepdim=True)).T
times = each.sum(0)  # how often j was met


def joined(scores):
    """The rounds' softmaxes, weighed by their sums: logsumexp over rounds, then softmax."""
    return scores.masked_fill(~each, float("-inf")).logsumexp(0).softmax(-1) @ v


once, some = attend(q, v, each.any(0))[0], times.any(-1)
wrong, mended = joined(scores), joined(scores - times.clamp(min=1).log())
off = (wrong - once)[some].norm() / once[some].norm()
print(f"wrong: off by {off:.0%}; a key is met up to {int(times.max())} times")
assert off > 0.05
assert torch.allclose(mended[some], once[some], atol=1e-5)

# %% [markdown]
# **Symptom:** with more rounds the output does not go to that of full attention. A key whose row
# lies close to the query is met in nearly every round, so what is strong gets stronger still.
# **Fix:** subtract $\log N_{ij}$, the logarithm of how often $j$ was met, from the score; or, as
# `LSHAttention` does, pass over in each round what an earlier round has met. The code released in
# `transformers` counts each meeting, and published weights were trained so: `ReleasedLSHAttention`
# does the same, and is the one that `deepdive.published.load` uses.

# %% [markdown]
# ## What a causal mask does not hide
#
# In a language model a query meets earlier rows only. Is such a model free to look at which keys it
# meets? Sorting sees the whole text. Change the last word, and see whether an earlier output moves:

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "LSH attention under a causal mask, 64 rows. Row 63 changes. Does an output before it move?",
    ["no: the mask hides row 63 from all of them", "yes, some of them", "yes, all of them"],
    answer=1,
    explain="The last row takes another place in the sorted order and moves the ends of chunks "
    "behind it. Rows there meet other keys than before, all of them earlier ones.",
    key="05_efficient/causal-lsh",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
from deepdive.core.masks import Causal

lsh = LSHAttention(chunk=4, rounds=2, buckets=4).eval()
q, v = torch.randn(2, 1, 1, 64, 8)
changed = q.clone()
changed[..., -1, :] = -q[..., -1, :]
moved = (lsh(q, q, v, Causal()) - lsh(changed, changed, v, Causal())).abs().amax(-1)[0, 0] > 1e-6
print(f"{int(moved[:-1].sum())} of 63 earlier outputs moved")
assert moved[:-1].any()

# %% [markdown]
# No earlier output has *read* the last row. But which keys a row meets depends on where chunks
# end, and that depends on all rows. The library's law "change a token, and nothing before it moves"
# is declared to **fail** for this mechanism, and the tests see it fail. When such a model writes
# text, the chunks it had in training are not the ones it has now.

# %% [markdown]
# ## Does it find what a real model looks at?
#
# A test without training: take MiniLM's queries and keys, hash both, and ask what share of the
# attention weight falls on pairs that meet. As many pairs chosen at random would catch their own
# share of it: 10% of the pairs, 10% of the weight.

# %%
from deepdive.attention.by_content.hashing import attended_pairs as met
from deepdive.core.hooks import record
from deepdive.data.reviews import movie_reviews
from deepdive.explain.words import cut
from deepdive.published import load
from deepdive.published.pretrained import minilm, minilm_tokenizer
from deepdive_book.data.tree_grammar import tree_sentences
from deepdive_book.kit.profile import banner, pick, profile

model, tokenizer = load(minilm()).eval(), minilm_tokenizer()
if profile() == "ci":
    read = [word for tree in tree_sentences(60) for word in tree.words]
else:
    read = movie_reviews([0]).texts[0].split()
T = pick(ci=160, laptop=512, gpu=512)
ids, _ = cut(tokenizer.encode, read[:T], tokenizer.bos, tokenizer.eos, tokenizer.unk)
ids = ids[None, :T]
with torch.no_grad(), record(model, "stack.blocks.*.stream") as seen:
    model(ids)
streams = [values[0] for values in seen.values()][:-1]
source = "sentences (generated)" if profile() == "ci" else "movie_reviews (real)"
print(banner(source), f"\n{ids.shape[1]} pieces")


# %%
@torch.no_grad()
def heads_of(layer, x):
    """Queries and keys (1, 12, T, 32) of a layer of MiniLM, and its weights."""
    attn = model.stack.blocks[layer].attn
    q, k = attn.q(x), attn.kv(x)[..., : attn.d_model]
    q, k = (rows.unflatten(-1, (attn.n_heads, -1)).transpose(1, 2) for rows in (q, k))
    return q, k, (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1)


def survey(chunk, rounds):
    """The share of pairs that meet, and of the weight that is on them, mean over 5 x 12 heads."""
    lsh, pairs, caught = LSHAttention(chunk, rounds).eval(), [], []
    for layer, x in enumerate(streams, start=1):
        q, k, weights = heads_of(layer, x)
        everyone = torch.ones(1, x.shape[1], dtype=torch.bool)
        found = met(*lsh.sort(q, k, everyone), x.shape[1])
        pairs.append(found.float().mean())
        caught.append((weights * found).sum(-1).mean())
    return float(torch.stack(pairs).mean()), float(torch.stack(caught).mean())


# %% tags=["fold"]
predict(
    "Four rounds with chunks of 16 compare a few percent of all pairs. What share of MiniLM's "
    "attention weight do they catch?",
    ["most of it: strong keys are near their query", "a few times their share of the pairs",
     "no more than their share of the pairs"],
    answer=1,
    explain="A hash finds rows that point the same way. In MiniLM keys and queries are projected "
    "apart, and a strong key need not point as its query does: part of its score is its length.",
    key="05_efficient/lsh-recall",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["slide", "surprise"]
counts = pick(ci=(1, 4, 16), laptop=(1, 2, 4, 8, 16), gpu=(1, 2, 4, 8, 16, 32))
table = {(c, n): survey(c, n) for c in (8, 16, 32) for n in counts}
print("chunk rounds  pairs  weight  times chance")
for (c, n), (pairs, caught) in table.items():
    print(f"{c:5d} {n:6d} {pairs:6.1%} {caught:7.1%} {caught / pairs:8.1f}")
assert all(caught > 1.2 * pairs for pairs, caught in table.values())
assert table[16, 4][1] < 0.5

# %% tags=["slide", "fold"]
figure = Figure(figsize=(6, 3.4))
axes = figure.subplots()
for c, marker in zip((8, 16, 32), "os^", strict=True):
    points = [table[c, n] for n in counts]
    axes.plot(*zip(*points, strict=True), marker=marker, label=f"chunks of {c}")
ends = [min(p for p, _ in table.values()), 1]
chance = torch.logspace(*torch.tensor(ends).log10().tolist(), 50)
axes.plot(chance, chance, linestyle=":", color="gray", label="pairs chosen at random")
axes.set(xscale="log", xlabel="share of the pairs that meet", ylabel="share of the weight caught")
axes.set(ylim=(0, 1))
axes.legend()
with_alt(figure, "Share of MiniLM's attention weight caught against the share of pairs compared, "
         "for three sizes of chunks, rounds rising along each line; all lie above the line of "
         "chance, and none near 1 before a large part of the pairs is compared.")  # fmt: skip

# %% [markdown]
# *Each line: more rounds to the right. Dotted: pairs chosen at random.*
#
# On this one text the hash is better than chance at every setting, and still a poor guide to *this*
# model. It was not trained with it. That is why Reformer ties queries and keys: a key is then a
# direction, the score is $|q_i| \cos \theta$, and what points the same way is what scores high. For
# rows made so, the error falls as rounds are added (an error above 1 is worse than answering 0):

# %% tags=["slide"]
from deepdive.attention import SharedQKAttention


@torch.no_grad()
def error(q, v, chunk, rounds):
    full, ours = SharedQKAttention()(q, q, v), LSHAttention(chunk, rounds).eval()(q, q, v)
    return float((ours - full).norm() / full.norm())


q = 4 * torch.randn(1, 4, 256, 16)
v = torch.randn(1, 4, 256, 16)
rounds = (1, 2, 4, 8, 16)
errors = {chunk: [error(q, v, chunk, n) for n in rounds] for chunk in (8, 16, 32)}
for chunk, found in errors.items():
    print(f"chunks of {chunk:2d}:", *(f"{e:.2f}" for e in found))
    assert found == sorted(found, reverse=True)

# %% tags=["slide", "fold"]
figure = Figure(figsize=(6, 3.2))
axes = figure.subplots()
for (chunk, found), marker in zip(errors.items(), "os^", strict=True):
    axes.plot([2 * chunk * n for n in rounds], found, marker=marker, label=f"chunks of {chunk}")
axes.set(xscale="log", xlabel="keys looked at for a query, 2 x chunk x rounds", ylim=(0, None))
axes.set_ylabel("relative error")
axes.axvline(256, linestyle=":", color="gray")
axes.legend()
with_alt(figure, "Relative error against full shared attention, by the number of keys looked at; "
         "it falls for all sizes of chunks. Dotted: 256, all of them.")  # fmt: skip

# %% [markdown]
# *Error against budget, 256 random rows of 16 numbers, four heads. Dotted: 256 keys, the length of
# the text; to its right, hashing looks at more than full attention would. Small chunks go with more
# buckets, so a round finds less, and costs less.*

# %% [markdown]
# ## The cost curve
#
# Time forward and backward, one head of 64 numbers, chunks of 64 and 4 rounds, against fused full
# attention:

# %% tags=["slide"]
from time import perf_counter

from deepdive.core import SoftmaxAttention


def seconds(attention, T):
    q, v = (torch.randn(1, 1, T, 64, requires_grad=True) for _ in range(2))
    best = float("inf")
    for _ in range(3):
        start = perf_counter()
        attention(q, q, v).sum().backward()
        best = min(best, perf_counter() - start)
    return best


lengths = pick(ci=(512, 2048), laptop=(512, 1024, 2048, 4096, 8192), gpu=(1024, 4096, 16384))
times = {name: [seconds(a, T) for T in lengths]
         for name, a in (("full", SoftmaxAttention()), ("LSH", LSHAttention(64, 4)))}  # fmt: skip
for name, found in times.items():
    print(f"{name:5}", *(f"{1e3 * s:8.1f}" for s in found), "ms")

# %% tags=["slide", "fold"]
figure = Figure(figsize=(6, 3.2))
axes = figure.subplots()
for (name, found), marker in zip(times.items(), "os", strict=True):
    axes.plot(lengths, [1e3 * s for s in found], marker=marker, label=name)
axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="ms, forward and backward")
axes.set_xticks(lengths, [f"{n:,}" for n in lengths])
axes.minorticks_off()
axes.legend()
with_alt(figure, "Time against the number of rows, both axes logarithmic. Full attention rises "
         "with the square, LSH nearly in proportion; for short texts full is faster.")  # fmt: skip

# %% [markdown]
# *Both axes are logarithmic. Full attention rises with the square of the length. LSH looks at $2
# \cdot 64 \cdot 4 = 512$ keys for each query whatever the length, so below some multiple of that it
# cannot win: sorting and gathering cost too.*

# %% [markdown]
# ## Reversible layers: compute backwards what was not kept
#
# Long texts fill memory in a second way. Backpropagation needs the input of every layer, so a model
# keeps all of them. **Reversible** layers (Gomez et al. 2017) do not: their input can be computed
# from their output. Two streams $x_1, x_2$, attention $f$ and feed-forward $g$:
#
# $$y_1 = x_1 + f(x_2), \quad y_2 = x_2 + g(y_1) \qquad
# x_2 = y_2 - g(y_1), \quad x_1 = y_1 - f(x_2)$$
#
# With a pencil: $f(x) = 2x$, $g(x) = x^2$, $x_1 = 1$, $x_2 = 3$. Then $y_1 = 1 + 6 = 7$ and $y_2 =
# 3 + 49 = 52$. Back: $x_2 = 52 - 49 = 3$, $x_1 = 7 - 6 = 1$. Nothing was inverted: $f$ and $g$ may
# be any functions, here $x^2$, which has no inverse.

# %%
from deepdive.attention import SharedQKMultiHeadAttention
from deepdive.core import Block, FeedForward
from deepdive.core.stack import Stack
from deepdive.layers.reversible import ReversibleBlock, ReversibleStack


def attention():
    return SharedQKMultiHeadAttention(32, 4, mechanism=LSHAttention(8, 2))


block = ReversibleBlock(attention(), FeedForward(32, 64)).eval()
x1, x2 = torch.randn(2, 1, 40, 32)
y1, y2 = block(x1, x2)
back1, back2 = block.inverse(y1, y2)
y = x1 + block.attn(block.attn_norm(x2))
assert torch.allclose(y1, y, atol=1e-6)
missed = max((back1 - x1).abs().max(), (back2 - x2).abs().max())
print(f"the inverse misses the input by {missed:.0e}")
assert torch.allclose(back1, x1, atol=1e-5)

# %% [markdown]
# `ReversibleStack` runs the layers forward, keeps the last two streams, and in the backward pass
# walks from the last layer to the first: compute the layer's input, compute its sublayers again,
# take their gradients. How much is kept? Torch tells, for each tensor that the graph holds:

# %% tags=["slide"]


def kept(stack):
    """MB that one pass keeps for its backward pass, beyond the weights."""
    own, found = {p.data_ptr() for p in stack.parameters()}, {}

    def note(saved):
        if saved.data_ptr() not in own:
            found[saved.data_ptr()] = saved.nbytes
        return saved

    with torch.autograd.graph.saved_tensors_hooks(note, lambda saved: saved):
        result = stack(torch.randn(1, 256, 32, requires_grad=True))
    assert result.requires_grad
    return sum(found.values()) / 1e6


depths = (1, 2, 4, 8, 16)
plain = [kept(Stack(lambda i: Block(attention(), FeedForward(32, 64)), n)) for n in depths]
flat = [kept(ReversibleStack(lambda i: ReversibleBlock(attention(), FeedForward(32, 64)), n))
        for n in depths]  # fmt: skip
for n, a, b in zip(depths, plain, flat, strict=True):
    print(f"{n:2d} layers: plain {a:6.2f} MB, reversible {b:.2f} MB")
assert max(flat) == min(flat)
assert plain[-1] > 10 * plain[0]

# %% tags=["slide", "fold"]
figure = Figure(figsize=(6, 3))
axes = figure.subplots()
axes.plot(depths, plain, marker="o", label="plain layers")
axes.plot(depths, flat, marker="s", label="reversible layers")
axes.set(xlabel="layers", ylabel="MB kept for the backward pass", ylim=(0, None))
axes.legend()
with_alt(figure, f"Memory kept against depth: plain layers from {plain[0]:.1f} to {plain[-1]:.1f} "
         f"MB, reversible layers {flat[0]:.2f} MB at every depth.")  # fmt: skip

# %% [markdown]
# *Plain layers keep more with each layer, reversible ones the same at any depth.* (The weights of
# the model, and their gradients, still grow with depth.)
#
# The price is one more forward pass, inside the backward one. And it must be *the same* pass. With
# dropout, or with directions drawn anew, a second draw would undo another function than the one
# that was added:

# %%


def gradient(stack, x):
    torch.manual_seed(1)
    return torch.autograd.grad(stack(x).square().sum(), x)[0]


def stacked():
    torch.manual_seed(0)
    return ReversibleStack(lambda i: ReversibleBlock(attention(), FeedForward(32, 64),
                                                     dropout=0.2), 4)  # fmt: skip


x = torch.randn(1, 40, 32, requires_grad=True)
plainly = stacked()
with record(plainly, "blocks.0.stream"):  # while a hook listens, the stack runs plainly
    expected = gradient(plainly, x)
careless = stacked()
careless._seeds = lambda: [None] * 4  # each pass draws what comes
right, wrong = ((gradient(s, x) - expected).norm() / expected.norm() for s in (stacked(), careless))
print(f"replayed: off by {right:.0e}; drawn again: off by {wrong:.0%}")
assert right < 1e-3
assert wrong > 0.1

# %% [markdown]
# ## How it differs: Reformer
#
# From the [transformer](../02_transformer/11_encoder.ipynb), Reformer differs in five points:
#
# - **a query meets its bucket**, sorted and cut into chunks, in several rounds (`LSHAttention`);
# - **one projection** for queries and keys (`SharedQKMultiHeadAttention`), itself as last resort;
# - **reversible layers** (`ReversibleStack`): both streams come out, so states are $2\,
#   d_{\mathrm{model}}$ wide;
# - the feed-forward layer works **on a few rows at a time** (`ChunkedFeedForward`): its
#   $d_{\mathrm{ff}}$ units exist for one chunk of rows at once;
# - published models have **local layers** between the hashed ones, and a table of positions folded
#   into two small ones.

# %%
from deepdive.models.efficient import reformer

tiny = reformer.reformer(d_model=32, n_heads=2, d_head=16, d_ff=64, chunk=16, rounds=2,
                         layers=("local", "lsh"), local_chunk=16)  # fmt: skip
states = tiny.eval()(torch.randint(4, 320, (1, 100)))
print(f"{sum(p.numel() for p in tiny.parameters()):,} parameters; states {tuple(states.shape)}")
assert states.shape == (1, 100, 64)

# %% [markdown]
# `deepdive.published.load(folder)` reads published weights, such as google/reformer-enwik8, and the
# tests hold the model to `transformers`, outputs and gradients.
#
# ### Train with n rounds, test with m
#
# The number of rounds is no weight: a model trained with one can be run with another. The paper
# asks what that does, on a task that needs one exact look far back: the text is $0\,w\,0\,w$, a
# random string $w$ written twice, and the second copy must be predicted. Here the same at a small
# size: one layer, trained with full attention, with four rounds, and with one.

# %%
import torch.nn.functional as F
from torch import nn

from deepdive.core import LayerNorm

W, vocab = pick(ci=15, laptop=31, gpu=63), 16


def strings(n, generator):
    w = torch.randint(1, vocab, (n, W), generator=generator)
    zero = torch.zeros(n, 1, dtype=torch.long)
    return torch.cat([zero, w, zero, w], dim=1)


class Copier(nn.Module):
    def __init__(self, mechanism):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocab, 64), nn.Embedding(2 * W + 2, 64)
        self.block = Block(SharedQKMultiHeadAttention(64, 2, mechanism=mechanism),
                           FeedForward(64, 128))  # fmt: skip
        self.head = nn.Sequential(LayerNorm(64), nn.Linear(64, vocab))

    def forward(self, x):
        rows = self.tokens(x) + self.places(torch.arange(x.shape[1]))
        return self.head(self.block(rows, mask=Causal()))


# %%
def trained(mechanism, steps):
    torch.manual_seed(0)
    model, generator = Copier(mechanism).train(), torch.Generator().manual_seed(1)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(steps):
        x = strings(32, generator)
        logits = model(x[:, :-1])[:, W + 1 :]
        optimizer.zero_grad()
        F.cross_entropy(logits.flatten(0, 1), x[:, W + 2 :].flatten()).backward()
        optimizer.step()
    return model


@torch.no_grad()
def accuracy(model, mechanism):
    model.block.attn.mechanism = mechanism.eval()
    x = strings(200, torch.Generator().manual_seed(9))
    guessed = model.eval()(x[:, :-1]).argmax(-1)[:, W + 1 :]
    return float((guessed == x[:, W + 2 :]).float().mean())


# %% tags=["slide"]
chunk = (W + 1) // 4
tests = {str(n): LSHMaskAttention(chunk, n) for n in (1, 2, 4, 8)} | {"full": SharedQKAttention()}
forms = {"full": SharedQKAttention, "4 rounds": lambda: LSHMaskAttention(chunk, 4),
         "1 round": lambda: LSHMaskAttention(chunk, 1)}  # fmt: skip
found = {}
print("trained with | tested with " + "  ".join(f"{name:>5}" for name in tests))
for name, make in forms.items():
    copier = trained(make(), pick(ci=200, laptop=400, gpu=1500))
    found[name] = [accuracy(copier, mechanism) for mechanism in tests.values()]
    print(f"{name:12} |             " + "  ".join(f"{a:5.0%}" for a in found[name]))
    assert found[name][0] < found[name][3]

# %% [markdown]
# Down: trained with; across: tested with. Whatever a model was trained with (one run of each kind),
# more rounds in the test find the one key that matters more often. So rounds are a dial that is
# left to whoever runs the model: few to save time, many where it counts. (The paper's table says
# the same of a larger model and texts of 1,024 symbols.) What was not reproduced: its size, its
# length of training, its numbers.

# %% [markdown]
# ## In brief: Routing Transformer
#
# **What differs:** no hash; k-means finds the clusters, and a query meets the keys of its cluster
# (Roy et al. 2021). Each head has a few **centroids**. Queries and keys are normalized; each
# centroid takes the $w$ queries and the $w$ keys nearest to it, and these attend to each other. The
# centroids are no parameters: in training they follow the rows by a moving mean.

# %% tags=["fold"]
from deepdive.attention import RoutingAttention

torch.manual_seed(3)
q, k, v = (torch.randn(1, 1, 64, 16) for _ in range(3))
routing = RoutingAttention(1, 16, clusters=4, size=16)
routing.decay = 0.5
spread = []
for _ in range(12):  # twelve passes of training: centroids move, nothing else does
    routing.train()(q, k, v)
    both = F.layer_norm(torch.cat([q, k], 2), (16,))[0, 0]
    spread.append(float((both @ routing.centroids[0].T).amax(-1).mean()))
near = [routing.centroids[0] @ F.layer_norm(r, (16,))[0, 0].T for r in (q, k)]
member = [torch.zeros(4, 64).scatter(1, n.topk(16).indices, 1.0) for n in near]
pairs = (member[0].T @ member[1]).clamp(max=1)
figure = Figure(figsize=(7, 2.9))
left, right_axes = figure.subplots(1, 2)
left.imshow(pairs, cmap="Blues", vmin=0, vmax=1.3, interpolation="nearest")
left.set(title=f"who meets whom: {pairs.mean():.0%}", xlabel="key", ylabel="query")
left.set(xticks=[], yticks=[])
right_axes.plot(range(1, 13), spread, marker="o")
right_axes.set(xlabel="pass", ylabel="product with the nearest centroid")
with_alt(figure, f"Left: the entries that exist, {pairs.mean():.0%}. Right: the mean product of a "
         f"row with its nearest centroid, from {spread[0]:.2f} to {spread[-1]:.2f}.")  # fmt: skip

# %% [markdown]
# *Left: 64 queries and keys, four clusters of 16. Empty rows belong to queries that no centroid
# took. Right: in twelve passes the centroids move towards the rows.*
#
# - **Limit:** one cluster of all rows is full attention on normalized rows.
# - **Cost:** $T \cdot (\text{clusters} + w)$ products of length $d$; with $\sqrt T$ clusters,
#   $T^{1.5}$.
# - **Failure:** a query that no cluster takes gets 0, and one that two take gets their mean. Which
#   rows a cluster takes depends on later ones, so a causal mask does not make it causal, as above.

# %%
empty = 1 - (member[0].sum(0) > 0).float().mean()
print(f"{empty:.0%} of the queries are in no cluster, "
      f"{(member[0].sum(0) > 1).float().mean():.0%} in several")  # fmt: skip
full = RoutingAttention(1, 16, 1, 64)(q, k, v)
normed = (F.layer_norm(rows, (16,)) for rows in (q, k))
assert torch.allclose(full, SoftmaxAttention()(*normed, v), atol=1e-5)

# %% [markdown]
# ## In brief: Sparse Sinkhorn attention
#
# **What differs:** whole blocks are sorted, by a small network (Tay et al. 2020). It sees a sum for
# each block and gives a matrix $R$: how much block $i$ would like to read block $j$. **Sinkhorn
# balancing** divides the rows of $\exp R$ by their sums, then the columns, and again: the result
# $S$ is nearly doubly stochastic, a mixture of permutations, through which gradients flow. A query
# then meets its own block and the sorted one, $\sum_j S_{ij} K_j$.
#
# With a pencil: $\exp R = (1, 3; 1, 1)$. Rows: $(0.25, 0.75; 0.5, 0.5)$. Columns: sums 0.75 and
# 1.25, so $(0.333, 0.6; 0.667, 0.4)$. Rows again: sums 0.933 and 1.067, and so on.

# %% tags=["fold"]
from deepdive.attention import SinkhornAttention
from deepdive.attention.by_content.sinkhorn import balance

R = torch.tensor([[1.0, 3], [1, 1]]).log()
everyone = torch.ones(2, 2, dtype=torch.bool)
by_hand = torch.tensor([[0.333, 0.6], [0.667, 0.4]])
assert torch.allclose(balance(R, everyone, 1), by_hand, atol=1e-3)
R, everyone = 2 * torch.randn(8, 8), torch.ones(8, 8, dtype=torch.bool)
turns = (0, 1, 2, 4, 8, 16)
off = [float((balance(R, everyone, n).sum(-1) - 1).abs().max()) for n in turns]
causal = balance(R, everyone.tril(-1), 8, causal=True)
figure = Figure(figsize=(8, 2.7))
axes = figure.subplots(1, 3)
for ax, (title, S) in zip(axes, (("S", balance(R, everyone, 8)), ("S, causal", causal)),
                          strict=False):  # fmt: skip
    ax.imshow(S, cmap="Blues", vmin=0, vmax=1)
    ax.set(title=title, xlabel="takes of block", ylabel="block", xticks=[], yticks=[])
axes[2].plot(turns, off, marker="o")
axes[2].set(xlabel="turns", ylabel="largest row sum - 1", yscale="log")
with_alt(figure, "Left: a balanced matrix of eight blocks. Middle: the causal one, below the "
         "diagonal only. Right: how far row sums are from 1, falling with the turns.")  # fmt: skip

# %% [markdown]
# *Left and middle: how much each block takes of each other one; in the causal form only of earlier
# ones. Right: how far the rows are from summing to 1, by turns of balancing.*
#
# - **Limit:** with one block this is full attention.
# - **Cost:** $2 \cdot \text{block}$ keys a query, and $(T / \text{block})^2$ numbers to balance.
# - **Failure:** the sorted block is a *mean* of blocks, place by place. Unless $S$ is nearly a
#   permutation, keys of different blocks blur into one. And the network has a column for each
#   block: texts beyond `max_blocks` are refused.
# - **Causal form:** each entry is divided by the sum of its column down to its own row, so that no
#   row depends on a later one. The law "nothing before it moves" holds, and is tested. But it
#   hardly sorts: if rows and columns of a triangle are to sum to 1, the first row fills the first
#   column, the second row the second, and so on. Each block takes the one right before it (middle
#   figure), whatever the network wishes; the more turns, the more so.

# %%
sinkhorn = SinkhornAttention(1, 16, block=64, max_blocks=4).eval()
assert torch.allclose(sinkhorn(q, k, v), SoftmaxAttention()(q, k, v), atol=1e-5)
blocks = SinkhornAttention(1, 16, block=8, max_blocks=8).eval()
changed = k.clone()
changed[:, :, -1] += 1
before, after = (blocks(q, rows, v, Causal()) for rows in (k, changed))
assert torch.allclose(before[:, :, :-1], after[:, :, :-1], atol=1e-6)
print("one block: full attention; a later key moves nothing before it")
last = [balance(R, everyone.tril(-1), n, causal=True).diagonal(-1).mean() for n in (1, 2, 4, 8)]
print("taken of the block before:", *(f"{share:.0%}" for share in last))
assert last[0] < last[1] < last[2] < last[3]

# %% [markdown]
# ## In practice
#
# - Measure before you sort. With four rounds LSH looks at 512 keys a query, and up to about a
#   thousand tokens one fused call of full attention was faster (above). Routing and Sinkhorn look
#   at fewer, and gain earlier ([page 5.9](09_choosing.ipynb)).
# - LSH wants shared queries and keys, from the start of training. Put into a trained model, it
#   misses most of what the model looks at.
# - Rounds can be raised after training. Chunks of 64 are usual, two buckets a chunk.
# - Reversible layers pay where memory is what limits you: a third more time for a memory without
#   depth. Anything random inside must be drawn again in the same way, and nothing inside may change
#   between the passes.
# - None of the three is in wide use for language models today: exact attention in tiles took the
#   memory away, and windows with a few global tokens are simpler. The idea is alive, though:
#   Native Sparse Attention (Yuan et al. 2025), MoBA (2025), and the indexer of DeepSeek-V3.2
#   select keys by content, block by block, and are trained that way from the start.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why does a row leave out its own key, and when does it not?
#
#    <details><summary>Answer</summary>
#
#    Queries and keys are the same rows, so its own direction always fits best, and it would read
#    little else. If no other key is allowed, as for the first row under a causal mask, it reads
#    itself.
#
#    </details>
# 2. What does a second round of hashing find that the first cannot?
#
#    <details><summary>Answer</summary>
#
#    Pairs that lie close together on two sides of a border between buckets: other directions have
#    other borders.
#
#    </details>
# 3. Why is the output wrong if the rounds are joined by their sums and nothing else?
#
#    <details><summary>Answer</summary>
#
#    A key met in several rounds enters once in each. The strongest keys are met most often, so
#    their weights grow.
#
#    </details>
# 4. Which property of $f$ and $g$ makes a reversible layer invertible?
#
#    <details><summary>Answer</summary>
#
#    None. Each stream is changed by adding a function of the *other* one, which is still there: it
#    can be computed again and subtracted. It must only be the same function, dropout included.
#
#    </details>
# 5. Sinkhorn attention's causal form passes the test that LSH attention fails. What is different?
#
#    <details><summary>Answer</summary>
#
#    Its blocks are cut by position, and row $i$ of the sort matrix is computed from what comes
#    before block $i$ and its first row. In LSH the ends of chunks depend on the buckets of all
#    rows.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* With the directions $(1, 1)$ and $(-1, 1)$, which buckets do *river*
#    $(3, 1)$ and *water* $(2, -1)$ get? Do they still share one?
#
#    <details><summary>Answer</summary>
#
#    *river*: $x = (4, -2)$, the largest of $(4, -2, -4, 2)$ is the first: bucket 0. *water*: $x =
#    (1, -3)$, the largest of $(1, -3, -1, 3)$ is the last: bucket 3. They do not.
#
#    </details>
# 2. *(derive, 6 min)* Two rows share a bucket in one round with probability $p$, in each round
#    independently. With which probability do they share one in at least one of $n$? For $p = 0.4$,
#    how many rounds bring it above 0.9?
#
#    <details><summary>Answer</summary>
#
#    $1 - (1 - p)^n$. For $p = 0.4$: $0.6^4 = 0.13$ and $0.6^5 = 0.078$, so five rounds.
#
#    </details>
# 3. *(on paper, 5 min)* $f(x) = x + 1$, $g(x) = 2x$, and a layer gave $y_1 = 6$, $y_2 = 16$. What
#    went in?
#
#    <details><summary>Answer</summary>
#
#    $x_2 = 16 - 12 = 4$, $x_1 = 6 - 5 = 1$.
#
#    </details>
# 4. *(measure, 15 min)* Take the mean key away from MiniLM's keys before hashing them (softmax does
#    not notice: it adds one number to all scores of a query). Does the hash catch more?
#
#    <details><summary>Answer</summary>
#
#    In `survey`, hash `k - k.mean(2, keepdim=True)` instead of `k`. Keys that share a large mean
#    all point alike, and fall into few buckets; without it they spread. Compare the weight caught
#    with the pairs that meet, not the weight alone.
#
#    </details>

# %%
# The answers to 1, 2 and 3, checked.
other = torch.tensor([[1.0, -1], [1, 1]])
y = torch.tensor([[3.0, 1], [2, -1]]) @ other
assert torch.cat([y, -y], -1).argmax(-1).tolist() == [0, 3]
assert 1 - 0.6**4 < 0.9 < 1 - 0.6**5
assert (16 - 2 * 6, 6 - (4 + 1)) == (4, 1)
print("answers 1, 2 and 3 hold")

# %% [markdown]
# ## Summary
#
# Rows that point the same way can be found by hashing, sorting and cutting into chunks, without
# comparing all pairs; several rounds fix what one round misses, and each key must count once.
# Reversible layers keep nothing but their output and compute backwards, so that memory does not
# grow with depth. Clusters that follow the rows and a learned sort of blocks are two other ways to
# choose by content; all of them choose by looking at the whole text, which a causal mask alone does
# not undo.
#
# ## Further reading
#
# - Kitaev, Kaiser, Levskaya (2020), *Reformer: The Efficient Transformer*: section 2 on hashing,
#   section 3 on reversible layers and chunking; the experiment with two copies of a string.
# - Gomez, Ren, Urtasun, Grosse (2017), *The Reversible Residual Network*: backpropagation without
#   storing activations.
# - Roy, Saffar, Vaswani, Grangier (2021), *Efficient Content-Based Sparse Attention with Routing
#   Transformers*.
# - Tay, Bahri, Yang, Metzler, Juan (2020), *Sparse Sinkhorn Attention*: also a form that keeps only
#   the first of the sorted blocks.
# - Andoni, Indyk, Laarhoven, Razenshteyn, Schmidt (2015), *Practical and Optimal LSH for Angular
#   Distance*: the hash.
