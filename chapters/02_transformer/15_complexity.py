# %% [markdown] tags=["slide"]
# # Computational complexity: attention vs. recurrence vs. convolution
#
# A sentence has 30 words, a chapter has 30,000. What does each kind of layer pay for the longer
# text: in operations, in steps that wait for each other, in distance from the first word to the
# last?
#
# <small>Prerequisites: [self-attention](05_self_attention.ipynb),
# [multi-head](06_multi_head.ipynb), [masks](07_masks.ipynb) · 30 min · runs on a laptop · book 2.4
# and 5.2.1.2</small>

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
from itertools import pairwise

from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.plotting import show

N, STEP = 8, 24  # words, and the distance between two of them
thin = '<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="#8a8a8a" stroke-width="0.7"/>'


def panel(left, title, layers, way):
    """`layers`: for each, the pairs (from, to) of a word and what reads it; `way`: one word each"""
    at = [[(left + t * STEP, 205 - 42 * row) for t in range(N)] for row in range(len(layers) + 1)]
    body = [text(left + (N - 1) * STEP / 2, 16, title, 14, bold=True)]
    for row, pairs in enumerate(layers):
        body += [thin.format(*at[row][s], *at[row + 1][t]) for s, t in pairs]
    for row, (s, t) in enumerate(pairwise(way)):
        body.append(arrow(*at[row][s], *at[row + 1][t], "query", 3))
    for x, y in (dot for row in at for dot in row):
        body.append(f'<circle cx="{x}" cy="{y}" r="4" fill="currentColor"/>')
    return body


def near(dilation=1, width=3):
    offsets = [j * dilation for j in range(width)]
    return [(t - o, t) for t in range(N) for o in offsets if t >= o]


# %% tags=["slide", "fold"]
everyone = [(s, t) for t in range(N) for s in range(t + 1)]
body = panel(20, "self-attention", [everyone], [0, 7])
body += panel(450, "convolution (dilated)", [near(), near(3)], [0, 1, 7])
body += panel(665, "restricted attention", [near()] * 4, [0, 2, 4, 6, 7])
body += panel(235, "recurrent", [[(t, t) for t in range(N)]], [0, 0])
for t in range(1, N):
    body.append(arrow(235 + (t - 1) * STEP + 4, 163, 235 + t * STEP - 4, 163, "query", 3))
show(
    svg(855, 225, body),
    "Eight words at the bottom of four networks. From the first word to the last output: "
    "self-attention 1 step, recurrent 1 up and 7 along, dilated convolution 2 layers, restricted "
    "attention 4 layers.",
)

# %% Four layers on paper [markdown] tags=["slide"]
# *Bottom: eight words. Thin: who reads whom. Thick: the way from the first word to the last output.
# Convolution and restricted attention read three words at a time, and need several layers. Dilated:
# with gaps between the three words, which widen from layer to layer.*
#
# Vaswani et al. compare the four in their table 1. It is printed in nearly every course:
#
# | layer | operations | steps in a row | longest way |
# |---|---|---|---|
# | self-attention | $n^2 d$ | $1$ | $1$ |
# | recurrent | $n d^2$ | $n$ | $n$ |
# | convolutional, $k$ words wide | $k n d^2$ | $1$ | $\log_k n$ |
# | self-attention, restricted to $r$ words | $r n d$ | $1$ | $n / r$ |
#
# There are $n$ words of $d$ numbers, in the paper's letters: $n$ is the $T$ of the pages before,
# and $k$ a convolution's width, not a key. Each entry is meant up to a constant factor. The table
# says how things grow, not how long they take. On this page every entry's growth with $n$ and $d$
# is measured, and then the clock and the bytes kept, which the table does not mention.

# %% [markdown]
# ## By hand: four words, two numbers each
#
# Take $n = 4$, $d = 2$, $k = r = 3$. A product of two numbers and the sum it goes into count as two
# operations, so a dot product of $d$ numbers costs $2d = 4$.
#
# - **Self-attention.** 4 queries meet 4 keys: 16 dot products, 64 operations. Mixing the values
#   costs the same again. Together **128**, or $4 n^2 d$.
# - **Recurrent.** A step multiplies the input by one $2 \times 2$ matrix, the state by another: 4
#   dot products, 16 operations. Four steps: **64**, or $4 n d^2$.
# - **Convolutional.** Each word meets three $2 \times 2$ matrices, one a neighbor: 6 dot products,
#   24 operations. Four words: **96**, or $2 k n d^2$.
# - **Restricted.** Each of 4 queries meets 3 keys, and mixes 3 values: 24 dot products: **96**, or
#   $4 r n d$.
#
# `count_flops` runs a function and adds up the products that it makes. It must find these numbers.

# %%
import torch
from torch import nn

from deepdive.attention import WindowAttention
from deepdive.core import SoftmaxAttention
from deepdive.layers import Convolution
from deepdive.recurrent import RNN
from deepdive_book.kit.flops import count_flops
from deepdive_book.kit.profile import pick


class OneHead(nn.Module):
    """Attention alone: one head, and no projections around it."""

    def __init__(self, mechanism):
        super().__init__()
        self.mechanism = mechanism

    def forward(self, x):
        rows = x[:, None]  # (B, 1, n, d)
        return self.mechanism(rows, rows, rows)[:, 0]


# %%
x = torch.randn(1, 4, 2)
four = {
    "self-attention": OneHead(SoftmaxAttention()),
    "recurrent": RNN(2, 2),
    "convolution": Convolution(2, left=1, right=1),
}
counted = {name: count_flops(lambda f=layer: f(x)) for name, layer in four.items()}
assert counted == {"self-attention": 128, "recurrent": 64, "convolution": 96}
counted

# %% [markdown]
# Three of four agree. The fourth has a story of its own.

# %% [markdown]
# ## Two layers that are new here
#
# A **convolution** reads its neighbors, each through a matrix that belongs to the distance. No
# query asks, no key answers: how much a neighbor counts is fixed after training.
#
# $$y_t = \sum_{j} W_j \, x_{t + j - \mathrm{left}}$$
#
# It reads `left` words before its own; $j$ counts the words read, from 0 to $k - 1$.


# %%
def convolution(x, W, left):
    y = torch.zeros(*x.shape[:2], W.shape[0])
    for j in range(W.shape[-1]):
        for t in range(x.shape[1]):
            s = t + j - left
            if 0 <= s < x.shape[1]:  # outside the text there are zeros
                y[:, t] += x[:, s] @ W[:, :, j].T
    return y


words = torch.randn(2, 7, 5)
layer = Convolution(5, left=2, right=1, bias=False)
by_loop = convolution(words, layer.W.weight, left=2)
assert torch.allclose(by_loop, layer(words), atol=1e-6)
f"largest difference below 1e-6: {bool((by_loop - layer(words)).abs().max() < 1e-6)}"

# %% [markdown]
# **Restricted self-attention** is attention under a mask: a query meets the keys of its own
# neighborhood only. The mask `Window(left, right)` says how many of them before and after.

# %% tags=["fold"]
from deepdive.core.hooks import record
from deepdive.core.masks import Window
from deepdive_book.kit.plotting import heads

sentence = ["the", "old", "man", "who", "sold", "us", "the", "boat", "never", "went", "away"]
torch.manual_seed(3)
queries, keys = 0.9 * torch.randn(2, 1, 1, len(sentence), 16)
maps = []
for mask in (None, Window(2, 2)):
    masked = SoftmaxAttention()
    with record(masked, "weights") as seen:
        masked(queries, keys, keys, mask=mask)
    maps.append(seen["weights"][0][0, 0])
heads(torch.stack(maps), sentence, sentence, names=["self-attention", "restricted, r = 5"])

# %% [markdown]
# *Weights of random vectors, untrained. Left: every query may look everywhere. Right: five keys
# each, and the same softmax shared among fewer.*

# %% [markdown]
# ### Common mistake: counting the keys that are left
#
# With the mask, a query of a text of 1,024 words has 33 keys left: its own and 32 before it. (From
# here on the window looks back only, as a decoder must.) So the layer is 31 times as cheap?

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "1,024 words. Each query keeps 33 keys under the mask, and loses 991. By how much does the "
    "number of operations fall?",
    ["to 3 %", "to half", "not at all"],
    answer=2,
    explain="A mask is applied to scores that have been computed. The products were made, and then "
    "thrown away.",
    key="02_transformer/mask-saves",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
n, d, r = 1024, 64, 33
q = torch.randn(1, 1, n, d)
window = Window(left=r - 1)
full = count_flops(lambda: SoftmaxAttention()(q, q, q))
masked = count_flops(lambda: SoftmaxAttention()(q, q, q, mask=window))
assert masked == full
print(f"full {full:,}, masked {masked:,}, printed r n d would be 4 x {r * n * d:,}")

# %% [markdown]
# **Symptom:** the right numbers, and no gain at all in time or bytes. **Fix:** do not compute
# what is thrown away. Cut the queries into blocks; a block meets one stretch of keys, in one
# product. That is `WindowAttention`, and the mask is its definition:

# %%
fast = WindowAttention(left=r - 1)
error = (fast(q, q, q) - SoftmaxAttention()(q, q, q, mask=window)).abs().max()
assert error < 1e-6
spent = count_flops(lambda: fast(q, q, q))
print(f"equal to its mask within 1e-6: {bool(error < 1e-6)}")
print(f"{spent:,} operations: {full / spent:.0f} times fewer than full,")
print(f"{spent / (4 * r * n * d):.2f} times 4 r n d: a block also meets keys it must mask")
assert 1 < spent / (4 * r * n * d) < 2

# %% [markdown]
# The band is a staircase, and blocks are squares; a square cover of a staircase wastes at most
# half. What matters is that the waste does not grow with $n$.

# %% [markdown]
# ## Operations, counted
#
# Double $n$ again and again, and count. If the operations grow like $n^a$, then their logarithm
# against $\log n$ is a line of slope $a$. The same for $d$. Fitted slopes are what we set beside
# the printed exponents.

# %%
import numpy as np

from deepdive_book.kit.tables import table


def between_words(d):
    return {
        "self-attention": OneHead(SoftmaxAttention()),
        "recurrent": RNN(d, d),
        "convolution": Convolution(d, left=2),
        "restricted": OneHead(WindowAttention(left=r - 1)),
    }


def against(measure, sizes):
    """name -> measure(layer, x) for each (n, d) of sizes"""
    found = {name: [] for name in between_words(2)}
    for n, d in sizes:
        for name, layer in between_words(d).items():
            found[name].append(measure(layer, torch.randn(1, n, d)))
    return found


def slope(sizes, values):
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


# %%
def operations(layer, x):
    return count_flops(lambda: layer(x))


lengths, widths = [256, 512, 1024, 2048], [32, 64, 128, 256]
by_n = against(operations, [(n, 64) for n in lengths])
by_d = against(operations, [(128, d) for d in widths])
printed = {
    "self-attention": (2, 1),
    "recurrent": (1, 2),
    "convolution": (1, 2),
    "restricted": (1, 1),
}
rows = []
for name, (a, b) in printed.items():
    fitted = slope(lengths, by_n[name]), slope(widths, by_d[name])
    assert max(abs(fitted[0] - a), abs(fitted[1] - b)) < 0.05
    rows.append((name, fitted[0], a, fitted[1], b))
head = ["layer", "$n$ to the", "printed for $n$", "$d$ to the", "printed for $d$"]
fits = {"$n$ to the": ".2f", "$d$ to the": ".2f"}
table(rows, head, formats=fits, caption="How the operations grow, counted and printed")

# %% [markdown]
# **Measured against printed:** all eight agree. So the table is right, about what it counts. But
# what it counts is not a layer.

# %% [markdown] tags=["slide"]
# ### What the table leaves out
#
# The table's self-attention is the part *between* the words. A real layer first projects every word
# to query, key and value, and joins the heads at the end: four $d \times d$ matrices, $8 n d^2$
# operations. A block adds a feed-forward layer of inner width $4 d$: another $16 n d^2$. A word
# pays the same for them however long the text is.

# %% tags=["nbval-check-output"]
from deepdive.core import Block, FeedForward, MultiHeadAttention


def whole_layer(n, d):
    return 8 * n * d**2 + 4 * n**2 * d


for n, d in ((64, 64), (256, 64), (32, 128)):
    layer = MultiHeadAttention(d, 8)
    block = Block(MultiHeadAttention(d, 8), FeedForward(d, 4 * d))
    rows = torch.randn(1, n, d)
    assert operations(layer, rows) == whole_layer(n, d)
    assert operations(block, rows) == whole_layer(n, d) + 16 * n * d**2
print("counted: a layer 8 n d^2 + 4 n^2 d; a block with its feed-forward 24 n d^2 + 4 n^2 d")

# %% tags=["fold"]
predict(
    "The Transformer of 2017: d = 512, a sentence of 30 tokens. Which part of a block's operations "
    "belongs to the famous n^2 term?",
    ["most of them", "about a quarter", "about one in a hundred, or less"],
    answer=2,
    explain="4 n^2 d over 24 n d^2 + 4 n^2 d is n / (6 d + n): here 30 / 3102. The two are equal "
    "only at n = 6 d, which is 3,072 tokens.",
    key="02_transformer/quadratic-share",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["slide", "surprise"]
d, rows = 512, []
for n in (30, 128, 512, 3072, 16384):
    share = 4 * n**2 * d / (24 * n * d**2 + 4 * n**2 * d)
    rows.append((n, share, 1 + share))  # the last: d log(cost) / d log(n)
assert rows[0][1] < 0.01
for times, beside in ((2, 8), (4, 16), (6, 24)):  # the table below
    n = times * d
    assert 4 * n**2 * d == beside * n * d**2
table(
    rows,
    ["$n$", "the $n^2$ term's share of a block", "at this $n$ operations grow like $n$ to the"],
    formats={"the $n^2$ term's share of a block": ".1%"},
)

# %% [markdown]
# **Measured against printed.** For sentences a block's cost is linear in $n$: the projections and
# the feed-forward layer are nearly all of it. The square shows itself from some thousand tokens on.
# That is why it troubled nobody in 2017, and everybody later.
#
# From which $n$ on? It depends on what stands beside the square, $4 n^2 d$ for scores and mixing:
#
# | compared with | operations | equal at |
# |---|---|---|
# | the four projections | $8 n d^2$ | $n = 2 d$ |
# | the feed-forward layer | $16 n d^2$ | $n = 4 d$ |
# | both: all else in the block | $24 n d^2$ | $n = 6 d$ |

# %% [markdown]
# ## Steps that wait for each other
#
# Two products can run side by side if neither needs the other's result. What cannot be hurried, by
# any number of processors, is the longest chain in which each waits for the one before. Autograd
# keeps a record of who needed whose result. So the chain can be read off: it is the deepest way
# through the graph (`depth`, in the folded cell). Usually torch computes attention in one call, a
# **fused kernel**: scores, softmax and mixing together, and the graph would show one step.
# `record`, a helper of the library, asks for the weights in between, so that here attention runs in
# single steps.


# %% tags=["fold"]
def depth(y):
    """The longest chain of operations that ends in y."""
    longest, waiting = {None: 0}, [y.grad_fn]
    while waiting:
        needs = [node for node, _ in waiting[-1].next_functions]
        unknown = [node for node in needs if node not in longest]
        if unknown:
            waiting += unknown
        else:
            node = waiting.pop()
            longest[node] = 1 + max((longest[other] for other in needs), default=0)
    return longest[y.grad_fn]


# %%
def chain(layer, n, d=4):
    points = "*states" if isinstance(layer, RNN) else "*weights"
    x = torch.randn(1, n, d, requires_grad=True)
    if isinstance(layer, Convolution):
        return depth(layer(x))
    with record(layer, points):  # step by step: no kernel hides its inside
        return depth(layer(x))


# %%
lengths_here = (8, 16, 32, 64)
rows = []
for name, layer in between_words(4).items():
    chains = [chain(layer, n) for n in lengths_here]
    rows.append((name, *chains))
    grows = (chains[-1] - chains[0]) / (lengths_here[-1] - lengths_here[0])
    assert grows == (3 if name == "recurrent" else 0)
head = ["layer", *(f"$n = {n}$" for n in lengths_here)]
table(rows, head, caption="The longest chain of operations that wait for each other")

# %% [markdown]
# **Measured against printed:** they agree. The recurrent layer's chain grows by three operations a
# word (multiply, add, squash); the others' chains do not grow. What is hidden in "1" is a softmax
# over $n$ keys: a sum of $n$ numbers takes $\log_2 n$ steps even with $n$ processors. The table,
# and everybody, calls that one step.

# %% [markdown]
# ## The way from word to word
#
# A word can only matter where a signal from it arrives, and gradients go back the same way. How
# many hops apart are two words? Do not assume; ask the gradient. Row $t$ **reads** row $s$ if
# $\partial y_t / \partial x_s$ is not zero.


# %%
from itertools import repeat

import torch.nn.functional as F


def reads(layer, n, d=4):
    """Bool (n, n): whether row t of the output depends on row s of the input."""
    x = torch.randn(1, n, d, requires_grad=True)
    y = layer(x)
    rows = [torch.autograd.grad(y[0, t].sum(), x, retain_graph=True)[0] for t in range(n)]
    return torch.cat(rows).abs().sum(-1) > 0


def hops(maps):
    """Number of layers until t has heard of s, layer after layer; 0 = never."""
    found = torch.zeros(maps[0].shape)
    heard = torch.eye(len(found)).bool()
    for layer, one in enumerate(maps, start=1):
        heard = (one.float() @ heard.float()) > 0
        found[heard & (found == 0)] = layer
    return found


# %% [markdown]
# A product of two such maps says who reaches whom in two layers. Repeat until nothing is new. A
# recurrent layer hops inside the layer, from state to state, so its map is that of one step: new
# state from input and state before.
#
# To compare like with like, all five look back only, as a decoder must, and three words at a time.
# The convolution comes in two kinds: stacked as it is, or **dilated**, each layer with gaps three
# times as wide as those of the layer below.


# %% tags=["nbval-check-output"]
rnn, attention = RNN(4, 4), SoftmaxAttention()


def one_step(x):
    before = F.pad(x, (0, 0, 1, -1))  # row t holds what stands for state t - 1
    return rnn.cell(rnn.W(x), (before,))[0]


def causal(x):
    rows = x[:, None]
    return attention(rows, rows, rows, mask=Window(left=x.shape[1]))[:, 0]


def way(n):
    """name -> hops (n, n), for layers that read three words at a time"""
    convolution, restricted = Convolution(4, left=2), OneHead(WindowAttention(left=2))
    same = {"self-attention": causal, "recurrent": one_step, "convolution": convolution,
            "restricted": restricted}
    found = {name: hops([*repeat(reads(layer, n), n)]) for name, layer in same.items()}
    dilated = [reads(Convolution(4, left=2, dilation=3**i), n) for i in range(6) if 3**i < n]
    return found | {"dilated": hops(dilated)}


ways = way(10)
{name: int(found.max()) for name, found in ways.items()}

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(7.5, 2.1))
for axes, (name, found) in zip(figure.subplots(1, 5), ways.items(), strict=True):
    axes.imshow(found, vmin=0, vmax=11)
    for t, s in found.nonzero().tolist():
        number = int(found[t, s])
        axes.text(s, t, number, ha="center", va="center", size=7, color="w" * (number > 6) or "k")
    axes.set(title=name, xlabel="word read", xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
figure.axes[0].set_ylabel("word that reads")
with_alt(
    figure,
    "Five triangles of hops between ten words. From the last word to the first: self-attention 1, "
    "recurrent 9, convolution 5, restricted 5, dilated 3.",
)

# %% [markdown]
# *Hops from each word to each earlier one; empty: never (the future). Look at the corner at the
# bottom left, last word to first. Self-attention: 1. Recurrent: one for each word passed.*

# %% tags=["fold"]
from deepdive_book.kit.diagrams import ROLES
from deepdive_book.kit.frame_strip import film

BOX = '<rect x="{}" y="{}" width="18" height="18" rx="3" fill="{}" fill-opacity="{}" stroke="{}"/>'


def reach(layers):
    """Of which of the ten words the last one has heard after so many layers (recurrent: steps)"""
    body = []
    for row, (name, found) in enumerate(ways.items()):
        body.append(text(62, 16 + 27 * row, name, 14))
        for s, hops_away in enumerate(found[-1].tolist()):
            color = ROLES["query" if s == 9 else "key"]
            filled = 0.85 if s == 9 or 0 < hops_away <= layers else 0
            body.append(BOX.format(130 + 23 * s, 6 + 27 * row, color, filled, color))
    return svg(370, 142, body)


# %% tags=["fold"]
frames, captions = [], []
for layers in (0, 1, 2, 3, 4, 5, 9):
    heard = [1 + int(((f[-1, :9] > 0) & (f[-1, :9] <= layers)).sum()) for f in ways.values()]
    frames.append(reach(layers))
    captions.append(f"after {layers}: {', '.join(map(str, heard))} of 10 words")
assert heard == [10] * 5
film(
    frames,
    captions,
    "Five rows of ten words; those that the last word has heard of are filled. After one layer "
    "all in self-attention, two in the recurrent row, three in the others. After three the dilated "
    "row is full, after five convolution and restricted, after nine steps the recurrent row.",
)

# %% [markdown]
# *Filled: what the last word (right) has heard of, after so many layers, or steps of the recurrent
# one; the numbers under the picture are counted, from top to bottom.*

# %%
texts = pick(ci=(8, 16, 32), laptop=(8, 16, 32, 64), gpu=(8, 16, 32, 64))
longest = {n: {name: int(found.max()) for name, found in way(n).items()} for n in texts}
expected = {
    "self-attention": lambda n: 1,
    "recurrent": lambda n: n - 1,
    "convolution": lambda n: -(-(n - 1) // 2),
    "restricted": lambda n: -(-(n - 1) // 2),
    "dilated": lambda n: int(np.ceil(np.log(n) / np.log(3) - 1e-9)),
}
for name, formula in expected.items():
    assert all(longest[n][name] == formula(n) for n in texts)
rows = [(name, *(longest[n][name] for n in texts)) for name in expected]
table(rows, ["layer", *(f"$n = {n}$" for n in texts)], caption="The longest way, in hops")

# %% [markdown]
# **Measured against printed:**
#
# - The table's $\log_k n$ holds for dilated convolutions only. Plain ones need $(n - 1) / (k - 1)$
#   layers; the paper says so in its text, the courses' tables do not.
# - "Restricted" needs $(n - 1) / (r - 1)$ layers: the table's $n / r$.
# - The recurrent layer does it in one layer, but in $n - 1$ hops, each through a squashing
#   function. [An earlier page](01_seq2seq.ipynb) measures what is left of a signal after that.
# - Reaching is not using. A way of one hop says that a signal *can* pass, not that it does.

# %% [markdown]
# ## The clock
#
# Now what the table does not say. Take $n = 512$ and $d = 64$, and time both layers, on one thread,
# without gradients. We take the time that the processor spent on this thread, so that other
# programs do not count, and of several runs the fastest.

# %% tags=["fold"]
predict(
    "n = 512, d = 64: self-attention makes 8 times as many operations as the recurrent layer. "
    "Which one is done first, on one core of a CPU?",
    ["the recurrent layer, by far", "about the same time", "self-attention"],
    answer=2,
    explain="One large product keeps the processor's arithmetic busy. Five hundred small ones, "
    "each waiting for the last, leave it idle most of the time.",
    key="02_transformer/clock",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %%
from time import thread_time


@torch.no_grad()
def seconds(layer, x):
    layer(x)
    runs = []
    for _ in range(pick(ci=5, laptop=7, gpu=7)):
        start = thread_time()
        layer(x)
        runs.append(thread_time() - start)
    return min(runs)

threads = torch.get_num_threads()
torch.set_num_threads(1)
x, rows, rate = torch.randn(1, 512, 64), [], {}
for name, layer in between_words(64).items():
    took, made = seconds(layer, x), operations(layer, x)
    rate[name] = made / took
    rows.append((name, made / 1e6, 1000 * took, rate[name] / 1e9))
assert rate["self-attention"] > 4 * rate["recurrent"]
table(rows, ["layer", "operations", "time", "speed"],
      units={"operations": "millions", "time": "ms", "speed": "billions a second"},
      formats={"operations": ".1f", "time": ".2f", "speed": ".1f"},
      best={"operations": min, "time": min, "speed": max})  # fmt: skip

# %% [markdown]
# *Speed: the recurrent layer reaches a small part of what the same core does in self-attention.*
#
# Nothing ran in parallel here: it was one core. Waiting costs even there, since each of the 512
# small products is started anew. A GPU has thousands of cores to fill; none was measured here.

# %%
lengths = pick(
    ci=[32, 64, 128, 256, 512, 1024],
    laptop=[32, 64, 128, 256, 512, 1024, 2048, 4096],
    gpu=[32, 64, 128, 256, 512, 1024, 2048, 4096],
)
widths = pick(ci=[64, 128, 256], laptop=[64, 128, 256, 512], gpu=[64, 128, 256, 512])
time_n = against(seconds, [(n, 64) for n in lengths])
time_d = against(seconds, [(512, d) for d in widths])
ops_n = {
    "self-attention": [4 * n * n * 64 for n in lengths],
    "recurrent": [4 * n * 64 * 64 for n in lengths],
    "convolution": [2 * 3 * n * 64 * 64 for n in lengths],
    "restricted": [
        operations(between_words(64)["restricted"], torch.randn(1, n, 64)) for n in lengths
    ],
}

# %% tags=["fold"]
figure = Figure(figsize=(8.4, 3.4))
left, middle, right = figure.subplots(1, 3)
for name, marker in zip(printed, "os^D", strict=True):
    left.plot(lengths, ops_n[name], marker + "-", markersize=4)
    middle.plot(lengths, 1000 * np.array(time_n[name]), marker + "-", markersize=4)
    right.plot(widths, 1000 * np.array(time_d[name]), marker + "-", markersize=4, label=name)
for axes, title, across, ticks in (
    (left, "operations, d = 64", "n", lengths[::2]),
    (middle, "milliseconds, d = 64", "n", lengths[::2]),
    (right, "milliseconds, n = 512", "d", widths),
):
    axes.set(title=title, xlabel=across, xscale="log", yscale="log")
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
figure.legend(loc="outside lower center", ncols=4)
with_alt(
    figure,
    "Three log-log panels. Operations against n: self-attention steepest, crossing the recurrent "
    "layer at n = 64. Time against n: the recurrent layer is slowest until far larger n. Time "
    "against d: recurrent and convolution rise, attention less.",
)

# %% [markdown]
# *Left: operations; self-attention and recurrent cross where $n = d = 64$. Middle: on the clock the
# recurrent layer stays the slowest for much longer. Right: from $d = 64$ to 128 the recurrent layer
# makes four times the operations, but its time grows far less: most of it is the cost of starting
# 512 products.*

# %%
slower = [n for n, a, b in zip(lengths, time_n["self-attention"], time_n["recurrent"], strict=True)
          if a < b]
print("operations: self-attention makes fewer below n = d = 64, and as many there")
print(f"clock: self-attention is faster up to n = {max(slower)} of those measured")
assert max(slower) >= 256

# %% [markdown]
# ## Bytes kept
#
# Training keeps what the backward pass will need. Autograd lets us watch: every tensor that is
# saved passes through a hook. We count their numbers; each takes four bytes. A tensor that is saved
# twice counts once, and the layer's own weights do not count.


# %%
def kept(layer, x):
    """Numbers that the forward pass leaves behind for the backward pass."""
    own = {p.untyped_storage().data_ptr() for p in layer.parameters()}
    held, sizes = [], {}

    def hold(tensor):
        held.append(tensor)
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            sizes[storage.data_ptr()] = storage.nbytes() / 4
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(hold, lambda tensor: tensor):
        layer(x.requires_grad_())
    return sum(sizes.values())


def kept_in_steps(layer, x):
    with record(layer, "*weights"):
        return kept(layer, x)


# %%
texts = [128, 256, 512, 1024]
numbers = against(kept, [(n, 64) for n in texts])
in_steps = [kept_in_steps(OneHead(SoftmaxAttention()), torch.randn(1, n, 64)) for n in texts]
counts = {**numbers, "self-attention, 3 steps": in_steps}
rows = [(name, *map(int, sizes), slope(texts, sizes)) for name, sizes in counts.items()]
assert slope(texts, in_steps) > 1.6 > 1.1 > slope(texts, numbers["self-attention"])
head = ["layer", *(f"$n = {n}$" for n in texts), "$n$ to the"]
table(rows, head, formats={"$n$ to the": ".2f"}, caption="Numbers kept for the backward pass")

# %% [markdown]
# **Measured against printed.** The table has no such column; people fill it in with $n^2$.
# That is true of attention in three steps (scores, softmax, mixing), which keeps every weight:
# $n^2 + 2nd$ numbers here, so the slope is below 2 at these lengths. A fused kernel does all three
# in one call. It keeps only its inputs, its output, and one number a row: $2nd + n$ here, where
# query, key and value are the same rows. It computes the weights again when the gradient asks: $n$
# to the 1, at the price of some operations twice. (Rabe and Staats 2021; Dao et al. 2022.) The
# restricted form keeps the weights of its blocks, so that no product is made twice: $n$ to the 1
# too, but more than the fused full form does, at every length measured.

# %% [markdown]
# ## Beside the printed table
#
# The fits of the clock use the larger half of the sizes, where starting costs no longer hide the
# growth.

# %%
half_n, half_d = len(lengths) // 2, len(widths) // 2 - 1
steps = {"self-attention": (0, "0"), "recurrent": (1, "1"),
         "convolution": (0, "1, dilated log"), "restricted": (0, "1")}
rows = [
    {
        "layer": name,
        "printed, $n$": a,
        "printed, $d$": b,
        "counted, $n$": slope([256, 512, 1024, 2048], by_n[name]),
        "counted, $d$": slope([32, 64, 128, 256], by_d[name]),
        "clock, $n$": slope(lengths[half_n:], time_n[name][half_n:]),
        "clock, $d$": slope(widths[half_d:], time_d[name][half_d:]),
        "kept, $n$": slope(texts, numbers[name]),
        "chain, $n$": steps[name][0],
        "longest way, $n$": steps[name][1],
    }
    for name, (a, b) in printed.items()
]
measured = [head for head in rows[0] if head.startswith(("counted", "clock", "kept"))]
torch.set_num_threads(threads)
table(rows, formats=dict.fromkeys(measured, ".1f"), caption="What each grows with, to which power")

# %% [markdown]
# *Exponents: 0 means that it does not grow, 2 that doubling makes it four times as much. One core,
# one text, float32.*
#
# | entry | holds? | a word |
# |---|---|---|
# | operations | yes | for what happens between the words; the matrices come on top |
# | steps in a row | yes | a softmax over $n$ counts as one step |
# | longest way | yes, dilated | plain convolutions need $(n - 1) / (k - 1)$ layers |
# | clock against $n$ | nearly | from some hundred words on; below, starting costs dominate |
# | clock against $d$ | less | the recurrent layer's small products waste most of the core |
# | bytes kept (not in the table) | $n$, not $n^2$ | since fused kernels compute the weights again |
#
# *Scale: single layers, $d \le 512$, one thread of a CPU. The table's claim that self-attention is
# cheaper while $n < d$ was reproduced for operations. On the clock it holds for far longer texts.*

# %% [markdown]
# ## In practice
#
# - **Count before you optimise.** Far below $n = 6 d$ a cheaper attention gains little.
# - **A mask on dense scores is a definition, not a saving.** Check with `count_flops` that a
#   "sparse" layer makes fewer products. Fused kernels do skip masked blocks (`is_causal` in
#   FlashAttention, block masks in FlexAttention).
# - **Compare at your own $n$ and $d$.** Exponents say who wins in the end, not where the lines
#   cross.
# - **Look at time and operations together.** Few operations a second mean that the processor waits.
# - **Stack restricted layers with care.** $L$ layers of $r$ words see $L (r - 1)$ words back.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. A block has $d = 100$. For how many words does the $n^2$ term cost as much as all the matrices?
#
#    <details><summary>Answer</summary>
#
#    For $n = 6 d = 600$: then $4 n^2 d = 24 n d^2$.
#
#    </details>
# 2. A mask leaves each query 33 of 1,024 keys. By how much does the count of operations fall, and
#    what makes it fall?
#
#    <details><summary>Answer</summary>
#
#    Not at all. It falls only when the forbidden scores are not computed: blocks of queries, each
#    multiplied with its own stretch of keys.
#
#    </details>
# 3. In which of the four layers did the measured chain of waiting operations grow with the text, by
#    how many operations a word, and what would more processors do about it?
#
#    <details><summary>Answer</summary>
#
#    In the recurrent one, by three operations a word. More processors change nothing, since each
#    step needs the result before it.
#
#    </details>
# 4. A text has 27 words, and a convolution reads three at a time, looking back. How many layers
#    until the last word hears of the first: plain, and dilated?
#
#    <details><summary>Answer</summary>
#
#    Plain: $(27 - 1) / (3 - 1) = 13$. Dilated: $\log_3 27 = 3$.
#
#    </details>
# 5. Does training attention keep bytes that grow as $n^2$? What did the hook on saved tensors show?
#
#    <details><summary>Answer</summary>
#
#    Only in three steps, where every weight is kept. The fused kernel kept numbers in proportion to
#    $n$, and computes the weights again for the gradient.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 3 min)* A text has $n = 1000$ words, a layer $d = 100$. How many operations make
#    self-attention between the words, and the recurrent layer? Which makes fewer?
#
#    <details><summary>Answer</summary>
#
#    $4 n^2 d = 400$ million, and $4 n d^2 = 40$ million. The recurrent layer, since $n > d$.
#
#    </details>
# 2. *(derive, 5 min)* A stack of six layers of restricted attention, $r = 33$ words each, looking
#    back. How many words back can the last output see? How many layers for a text of 1,000
#    words?
#
#    <details><summary>Answer</summary>
#
#    $6 \cdot 32 = 192$. For 999 words back: $\lceil 999 / 32 \rceil = 32$ layers.
#
#    </details>
# 3. *(find the bug, 10 min)* A colleague centers the dilated convolution: one word to the left, one
#    to the right, gaps 1, 3, 9. Three layers should reach 13 words either way. In a text of 8
#    words, does everybody hear of everybody?
#
#    <details><summary>Answer</summary>
#
#    No. From word 1 to word 8 is 7 = 9 - 3 + 1 steps, and the way leads outside the text, where
#    there are zeros. Looking back only, every way is a sum of steps of one sign, and stays inside.
#
#    </details>
# 4. *(measure, 15 min)* Replace the `RNN` by an `LSTM` in `between_words` and in `chain`. What
#    changes: the exponents, the factor, the chain?
#
#    <details><summary>Answer</summary>
#
#    The factor: four blocks instead of one, $16 n d^2$. The exponents stay. The chain grows by
#    more operations a word.
#
#    </details>
# 5. *(extend, 20 min)* Let every second layer of a stack be full attention and the others
#    restricted. What are its operations, and its longest way?
#
#    <details><summary>Answer</summary>
#
#    A pair of layers costs $4 n^2 d + 4 r n d$ between the words, against $8 n^2 d$: about half,
#    and still the square. At $n = 1024$, $d = 64$, $r = 33$ that is, with the counts above,
#    $268 + 17 = 285$ million in place of 537. Any two words meet in the full layer: one hop, as
#    without restriction.
#
#    </details>

# %%
# The answers to 2 and 3, checked.
assert hops([reads(OneHead(WindowAttention(left=3)), 32)] * 6)[-1].count_nonzero() == 6 * 3 + 1
centered = hops([reads(Convolution(4, left=1, right=1, dilation=3**i), 8) for i in range(3)])
assert centered[7, 0] == 0
assert 6 * 512 + 30 == 3_102
print("answers 2 and 3 hold; never heard of each other:", (centered == 0).nonzero().tolist()[:4])

# %% [markdown]
# ## Summary
#
# Self-attention links every pair of words in one step and pays with $n^2 d$ operations; a recurrent
# layer pays $n d^2$ and makes everybody wait. In a real block the square is invisible until $n$
# comes near $6 d$, and fused kernels keep only bytes in proportion to $n$. Restricting attention to
# $r$ words makes the cost linear, if the forbidden products are really not made, and the way long
# again.
#
# ## Further reading
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 4: the table, and the text around
#   it, which says more than the table.
# - Kalchbrenner et al. (2017), *Neural Machine Translation in Linear Time*, section 3: dilated
#   convolutions that translate.
# - Gehring et al. (2017), *Convolutional Sequence to Sequence Learning*, section 3: the strongest
#   rival of its year.
# - Dao et al. (2022), *FlashAttention*, section 3: why the bytes are no longer the square.
# - Beltagy et al. (2020), *Longformer*, section 3: restricted attention in blocks, with a few
#   global words.
#
# <!--
# System: complexity_table
# Parent: transformer
# What differs:
# - the table's formulas are counted (`count_flops`), steps and paths measured, beside the printed
# Source: Vaswani et al. 2017, table 1.
# Book: 2.4
# -->
