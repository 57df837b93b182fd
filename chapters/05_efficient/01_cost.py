# %% [markdown] tags=["slide"]
# # The cost of attention: exact softmax in tiles (FlashAttention)
#
# BERT reads 512 tokens, and a chapter of a novel has 16,384. Thirty-two times as many. Why does the
# same model then ask for a thousand times the memory, and is there a way round that changes not
# one digit of its answer?
#
# <small>Prerequisites: [what a layer costs](../02_transformer/15_complexity.ipynb),
# [several heads](../02_transformer/06_multi_head.ipynb) · 22 min · runs on a laptop · book
# 5.2.1</small>

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
from deepdive_book.kit.diagrams import ROLES, arrow, svg, text
from deepdive_book.kit.plotting import show


def grid(x, title, kept, note):
    parts = [text(x + 88, 14, title, 15, bold=True), text(x + 88, 222, note, 13)]
    for i in range(8):
        for j in range(8):
            strength = 0.55 if (i // 2, j // 2) in kept else 0.08
            parts.append(
                f'<rect x="{x + 22 * j}" y="{30 + 22 * i}" width="22" height="22" '
                f'fill="{ROLES["score"]}" fill-opacity="{strength}" stroke="currentColor" '
                'stroke-opacity="0.25"/>'
            )
    return parts


# %% tags=["slide", "fold"]
everything = {(i, j) for i in range(4) for j in range(4)}
body = grid(20, "all at once", everything, "64 scores stand in memory")
body += grid(310, "tile by tile", {(1, 2)}, "4 scores, and three numbers a row")
body += [arrow(310, 118, 372, 118, "query", 2.5), text(338, 104, "seen", 13, "query")]
show(
    svg(520, 238, body),
    "Two grids of 8 by 8 scores. Left all are filled: 64 stand in memory. Right one tile of 2 by "
    "2 is filled, in the second row of tiles, and an arrow from the left says: seen.",
)

# %% [markdown]
# *Left: attention as it is written. Right: attention as it can be computed. The tile moves along
# its rows of queries; what it has seen is kept as a running sum.*
#
# [Page 2.15](../02_transformer/15_complexity.ipynb) counted the operations of one layer. This page
# asks what a model with several **heads** needs in bytes and in seconds, and where the $n^2$ sits.
# Then it takes one half of the cost away: the memory. The other half, the time, is what the rest
# of the chapter pays for with approximations.

# %% [markdown]
# ## By hand: where the bytes are
#
# One layer, a text of $n$ tokens, width $d$, $H$ heads of width $d / H$. Follow the shapes of
# [page 2.6](../02_transformer/06_multi_head.ipynb):
#
# | step | operations | numbers made |
# |---|---|---|
# | queries, keys, values | $3 \cdot 2 n d^2$ | $3 n d$ |
# | scores: each head, each pair, $d/H$ products | $H \cdot 2 n^2 \frac dH = 2 n^2 d$ | $H n^2$ |
# | weights: the softmax | not counted | $H n^2$ |
# | mixed values | $2 n^2 d$ | $n d$ |
# | joined, times $W_o$ | $2 n d^2$ | $n d$ |
# | **together** | $8 n d^2 + 4 n^2 d$ | $5 n d + 2 H n^2$ |
#
# The heads cancel in the operations, and do not in the memory: each has a map of its own. With a
# pencil, for BERT base ($d = 768$, $H = 12$, 12 layers) in training, where every weight waits for
# the backward pass, four bytes each:
#
# - $n = 512$: $12 \cdot 12 \cdot 512^2 \cdot 4 = 151$ million bytes. Nobody notices.
# - $n = 16{,}384$: $32^2 = 1{,}024$ times as many, **155 GB**, for a single text.
#
# The rows themselves, $n d$ numbers, have grown to 50 MB.

# %%
for n in (512, 4096, 16_384):
    maps, rows = 12 * 12 * n**2 * 4, n * 768 * 4
    print(f"n = {n:>6}: maps of all layers {maps / 1e9:6.2f} GB, the rows {rows / 1e6:4.1f} MB")
assert round(12 * 12 * 512**2 * 4 / 1e6) == 151
assert round(12 * 12 * 16_384**2 * 4 / 1e9) == 155

# %% [markdown]
# ## The formula, counted
#
# Time first. The equation and the code's own count, over lengths, widths and heads:
#
# $$\text{operations}(n, d, H) = \underbrace{8 n d^2}_{\text{projections}} +
# \underbrace{4 n^2 d}_{\text{scores and mixing}}$$

# %% tags=["nbval-check-output"]
import torch

from deepdive.core import MultiHeadAttention
from deepdive_book.kit.flops import count_flops

for n, d, H in ((64, 32, 1), (64, 32, 8), (100, 64, 4), (512, 64, 2)):
    layer, x = MultiHeadAttention(d, H), torch.randn(1, n, d)
    counted = count_flops(lambda layer=layer, x=x: layer(x))
    print(f"n {n:>4}, d {d}, {H} heads: counted {counted:>12,}, formula {8*n*d*d + 4*n*n*d:>12,}")
    assert counted == 8 * n * d**2 + 4 * n**2 * d

# %% [markdown]
# The two parts are equal at $n = 2 d$. Below it a longer text costs in proportion; far above it,
# twice the text costs four times. (A block has a feed-forward layer too, and there the two parts
# meet at $n = 6 d$.) That is counted. What does a clock say?

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "d = 256, so the operations of scores and mixing overtake those of the four projections at "
    "n = 512. A clock is held against both. Where does it see them cross, if the softmax, which "
    "the formula leaves out, takes time too?",
    ["earlier", "at n = 512", "later: one fused call is faster than four products"],
    answer=0,
    explain="Each score costs an exponential besides its 4 d / H products, and narrow products run "
    "at a lower speed than wide ones. So attention overtakes the projections before n = 2 d.",
    key="05_efficient/crossing",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %%
from time import perf_counter

from deepdive.core import SoftmaxAttention
from deepdive_book.kit.profile import pick, profile


def fastest(run, times=3):
    run()  # the first one warms up
    taken = []
    for _ in range(times):
        start = perf_counter()
        run()
        taken.append(perf_counter() - start)
    return min(taken)


def both_ways(module, *inputs):
    def run():
        module(*inputs).square().mean().backward()

    return fastest(run)


longest = pick(ci=512, laptop=4096, gpu=4096)
lengths = [n for n in (64, 128, 256, 512, 1024, 2048, 4096) if n <= longest]

# %% The parts of a layer, timed tags=["slide", "surprise"]
d, H = 256, 4
parts = {"projections": [], "attention": []}
for n in lengths:
    x = torch.randn(1, n, d, requires_grad=True)
    q, k, v = (torch.randn(1, H, n, d // H, requires_grad=True) for _ in range(3))
    four = torch.nn.Sequential(*(torch.nn.Linear(d, d) for _ in range(4)))
    parts["projections"].append(both_ways(four, x))
    parts["attention"].append(both_ways(SoftmaxAttention(), q, k, v))
    print(f"n = {n:>5}: projections {parts['projections'][-1] * 1e3:8.2f} ms, "
          f"scores, softmax and mixing {parts['attention'][-1] * 1e3:8.2f} ms, "
          f"operations 1 : {n / (2 * d):.2f}")  # fmt: skip

# %% tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(6, 3.4))
axes = figure.add_subplot()
for name, taken in parts.items():
    axes.loglog(lengths, [1e3 * s for s in taken], "o-", label=name)
axes.axvline(2 * d, color="grey", linestyle=":")
axes.annotate("n = 2 d", (2 * d, axes.get_ylim()[0]), (4, 4), textcoords="offset points")
axes.set_xticks(lengths, [f"{n:,}" for n in lengths])
axes.minorticks_off()
axes.set(xlabel="tokens n", ylabel="milliseconds, forward and backward")
axes.legend()
pairs = zip(lengths, parts["attention"], parts["projections"], strict=True)
ahead = [n for n, attention, projections in pairs if attention > projections]
assert profile() != "laptop" or ahead[0] <= 2 * d
with_alt(figure, "Milliseconds of the projections and of attention against the number of tokens, "
         "on logarithmic axes; attention is ahead from n = "
         f"{ahead[0] if ahead else 'none of these'} on, the operations from 512.")  # fmt: skip

# %% [markdown]
# *Where the lines cross, attention overtakes the projections on this machine; dotted, where its
# operations do. Left of it, a faster attention could save less than half of the layer.*
#
# **What this means for the chapter.** A mechanism that makes attention free at $n = 128$ saves the
# small part of a layer. At 4,096 tokens it saves nearly all of it. Each speed in this chapter is
# therefore said *at a length*.

# %% [markdown] tags=["slide"]
# ## Exact, in tiles
#
# A softmax needs the sum over all keys before it can weigh the first one. So it seems that a row of
# scores must be whole. It need not: **a sum can be corrected later** (an online softmax). Let the
# scores of a row come in pieces. Keep three things: the largest score so far $m$, the sum of
# exponentials $l$, and the weighted sum of values $o$, both taken relative to $m$. When a piece
# brings a larger maximum $m'$, what was summed is too large by one factor, the same for all of it:
#
# $$l \leftarrow e^{m - m'}\, l + \sum_j e^{s_j - m'} \qquad
# o \leftarrow e^{m - m'}\, o + \sum_j e^{s_j - m'} v_j \qquad \text{output} = o / l$$
#
# **With a pencil.** One query, four keys: scores $2, 0, 3, 1$, values $1, 2, 3, 4$, two at a time.
#
# - First piece: $m = 2$, $l = 1 + e^{-2} = 1.135$, $o = 1 + 2 e^{-2} = 1.271$.
# - Second: $m' = 3$, so $e^{m - m'} = 0.368$. $l = 0.368 \cdot 1.135 + 1 + e^{-2} = 1.553$ and
#   $o = 0.368 \cdot 1.271 + 3 + 4 e^{-2} = 4.009$.
# - The output is $4.009 / 1.553 = 2.58$. The softmax over all four gives the same.

# %%
scores, values = torch.tensor([2.0, 0, 3, 1]), torch.tensor([1.0, 2, 3, 4])
m, total, o = torch.tensor(-torch.inf), torch.tensor(0.0), torch.tensor(0.0)
for piece in (slice(0, 2), slice(2, 4)):
    high = torch.maximum(m, scores[piece].max())
    p = (scores[piece] - high).exp()
    total = (m - high).exp() * total + p.sum()
    o = (m - high).exp() * o + p @ values[piece]
    m = high
    print(f"m = {m:.0f}, l = {total:.3f}, o = {o:.3f}")
print(f"output {o / total:.2f}, softmax over all four {scores.softmax(0) @ values:.2f}")
assert torch.allclose(o / total, scores.softmax(0) @ values)

# %% [markdown]
# The same for matrices, a tile of queries against a tile of keys. This is the forward pass of
# FlashAttention-2 (Dao 2023, algorithm 1) without the GPU: queries in the outer loop, one division
# at the end, one number per row kept. (The first FlashAttention, Dao et al. 2022, has keys in the
# outer loop, rescales the output at each step, and keeps two numbers per row.)


# %%
def tiled(q, k, v, block):
    """softmax(q k^T / sqrt(d)) v, of which `block` x `block` scores exist at a time."""
    output = torch.empty_like(q)
    for i in range(0, len(q), block):
        mine = q[i : i + block] / q.shape[1] ** 0.5
        m = torch.full((len(mine), 1), -torch.inf)
        total, o = torch.zeros(len(mine), 1), torch.zeros(len(mine), v.shape[1])
        for j in range(0, len(k), block):
            scores = mine @ k[j : j + block].T  # (block, block), all that there is
            high = torch.maximum(m, scores.amax(1, keepdim=True))
            p, c = (scores - high).exp(), (m - high).exp()
            total, o = c * total + p.sum(1, keepdim=True), c * o + p @ v[j : j + block]
            m = high
        output[i : i + block] = o / total
    return output


q, k, v = torch.randn(3, 50, 8)
whole = (q @ k.T / 8**0.5).softmax(1) @ v
for block in (1, 7, 16, 64):
    assert torch.allclose(tiled(q, k, v, block), whole, atol=1e-6)
"tiles of 1, 7, 16 and 64 rows: the same as the whole matrix"

# %% [markdown]
# ### And backwards
#
# Training needs the weights again. Keeping them would undo everything, so they are **made again**,
# tile by tile, from one number a row that the forward pass leaves behind: $L_i = m_i + \log l_i$.
# Then $p_{ij} = e^{s_{ij} - L_i}$ is the finished weight, with no maximum to wait for. With $g$ the
# gradient that arrives at the output,
#
# $$D_i = g_i \cdot o_i \qquad ds_{ij} = p_{ij}\,(g_i \cdot v_j - D_i) \qquad
# dv_j = \sum_i p_{ij}\, g_i \qquad dq_i = \sum_j ds_{ij}\, k_j \qquad dk_j = \sum_i ds_{ij}\, q_i$$
#
# up to the scale of the scores. The second form needs a word. The gradient of a softmax is
# $p_{ij}(a_{ij} - \sum_k p_{ik} a_{ik})$ with $a_{ij} = g_i \cdot v_j$, a sum over a whole row
# again. But that sum is $g_i \cdot \sum_k p_{ik} v_k = g_i \cdot o_i$: the output, which is there
# already.
#
# The library's `TiledAttention` does both, for all heads, with causal masks and padding. It is
# **exact**: no approximation, no parameter to choose but the tile's size, which the result does not
# depend on.

# %%
from deepdive.attention import TiledAttention
from deepdive.core.masks import Causal, Padding

inputs = [torch.randn(2, 4, 100, 16, dtype=torch.float64, requires_grad=True) for _ in range(3)]
mask = Causal() & Padding(torch.arange(100) < torch.tensor([[100], [71]]))
one_head = TiledAttention(7)(q[None, None], k[None, None], v[None, None])[0, 0]
assert torch.allclose(one_head, tiled(q, k, v, 7), atol=1e-6)
largest = 0.0
for block in (16, 33, 128):
    results = []
    for attention in (TiledAttention(block), SoftmaxAttention()):
        y = attention(*inputs, mask)
        results.append([y, *torch.autograd.grad(y.square().sum(), inputs)])
    largest = max([largest, *((a - b).abs().max().item() for a, b in zip(*results, strict=True))])
print("output and three gradients, tiles of 16, 33 and 128 rows: equal to 1e-12:", largest < 1e-12)
assert largest < 1e-12

# %% [markdown]
# ### Common mistake: softmax of each tile
#
# "Softmax the tiles, add up the results" sounds the same and is not: each tile then gets the same
# share, however small its scores are.


# %%
def wrong(q, k, v, block):
    tiles = range(0, len(k), block)
    scores = [(q @ k[j : j + block].T / q.shape[1] ** 0.5).softmax(1) for j in tiles]
    return sum(p @ v[j : j + block] for p, j in zip(scores, tiles, strict=True)) / len(tiles)


error = (wrong(q, k, v, 16) - whole).norm() / whole.norm()
print(f"relative error: {error:.2f}; with one tile only: {(wrong(q, k, v, 64) - whole).norm():.0e}")
assert error > 0.1

# %% [markdown]
# **Symptom:** it is right in every test whose text fits into one tile. **Test that finds it:** a
# length that no tile divides, and scores of different size in different tiles. **Fix:** rescale by
# $e^{m - m'}$, divide once, at the end.

# %% [markdown] tags=["slide"]
# ## Memory, measured
#
# Two numbers tell it: what waits for the backward pass, and the largest tensor that ever exists.
# Three ways to compute the same attention: in steps, so that the maps are kept; in one fused call
# of torch; in our tiles.

# %%
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from deepdive.core.hooks import record


class Largest(TorchDispatchMode):
    bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        sizes = [x.untyped_storage().nbytes() for x in tree_leaves(made) if torch.is_tensor(x)]
        self.bytes = max([self.bytes, *sizes])
        return made


# %%
def in_steps(q, k, v):
    attention = SoftmaxAttention()
    with record(attention, "weights"):  # somebody looks at the weights: no fused call
        return attention(q, k, v)


def fused(q, k, v):
    return SoftmaxAttention()(q, k, v)


def bytes_of(attend, n):
    """What waits for the backward pass, and the largest tensor of both passes."""
    rows, waiting = [torch.randn(1, 4, n, 64, requires_grad=True) for _ in range(3)], {}

    def wait(x):
        waiting[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x

    with Largest() as largest, torch.autograd.graph.saved_tensors_hooks(wait, lambda x: x):
        y = attend(*rows)
        y.sum().backward()
    return sum(waiting.values()), largest.bytes


# %%
ways = {"in steps": in_steps, "fused": fused, "in tiles": TiledAttention(128)}
memory = {name: [] for name in ways}
texts = pick(ci=[256, 512, 1024], laptop=[512, 1024, 2048, 4096], gpu=[512, 1024, 2048, 4096])
for name, attend in ways.items():
    memory[name] = [bytes_of(attend, n) for n in texts]
    for n, (waits, most) in zip(texts, memory[name], strict=True):
        print(f"{name:>8}, n = {n:>5}: waiting {waits / 1e6:7.1f} MB, largest {most / 1e6:7.1f} MB")

# %%
import numpy as np


def slope(lengths, values):
    return float(np.polyfit(np.log(lengths), np.log(values), 1)[0])


for name, found in memory.items():
    waits, most = (slope(texts, column) for column in zip(*found, strict=True))
    print(f"{name:>8}: waiting grows like n^{waits:.2f}, the largest tensor like n^{most:.2f}")
    assert (1.6 < waits < 2.1) if name == "in steps" else (0.9 < waits < 1.1)
rows_of_longest = 4 * texts[-1] * 64 * 4
assert memory["in tiles"][-1][1] == rows_of_longest

# %% tags=["slide", "fold"]
figure, titles = Figure(figsize=(7.4, 3.2)), ("waiting for the backward pass", "largest tensor")
for column, (axes, title) in enumerate(zip(figure.subplots(1, 2), titles, strict=True)):
    for (name, found), mark in zip(memory.items(), ("o-", "s--", "x:"), strict=True):
        axes.loglog(texts, [pair[column] / 1e6 for pair in found], mark, label=name)
    axes.set_xticks(texts, [f"{n:,}" for n in texts])
    axes.minorticks_off()
    axes.set(title=title, xlabel="tokens n", ylabel="MB")
axes.legend()
with_alt(figure, "Two panels of megabytes against tokens. In steps both curves rise with the "
         "square; fused and in tiles they rise in proportion, near each other.")  # fmt: skip

# %% [markdown]
# *Left: what training keeps. Right: the largest tensor. Tiles make nothing larger than the rows
# themselves.*
#
# The $n^2$ in the memory is gone, with nothing approximated. Today torch's fused call does the
# same on a CPU and on a graphics card, in a kernel that is faster than ours in Python. What tiling
# does not take away is the **time**: all $n^2$ scores are still made, and in the backward pass made
# twice.

# %%
q, k, v = (torch.randn(1, 4, texts[-1], 64, requires_grad=True) for _ in range(3))
for name, attend in ways.items():
    print(f"{name:>8}: {both_ways(attend, q, k, v) * 1e3:7.0f} ms at n = {texts[-1]}")
counted = {
    name: count_flops(lambda attend=attend: attend(q, k, v).sum().backward())
    for name, attend in ways.items()
}
print({name: f"{count / texts[-1] ** 2 / 256:.0f} n^2 d" for name, count in counted.items()})
assert counted["in tiles"] > counted["in steps"]

# %% [markdown]
# Forward $4 n^2 d$, backward $8 n^2 d$ where the weights were kept, $10 n^2 d$ where the scores are
# made again: tiles make **more** operations, and on graphics cards still took less time in the
# paper, since moving numbers between memory and processor costs more than making them. On the
# processor used here tiles took about as long as the steps (589 and 597 ms, one timing of each),
# and the fused call a little more than half of that.

# %% [markdown]
# ## 16,384 tokens on a laptop
#
# The chapter of the novel: four heads of width 64, forward and backward. In steps, the weights of
# this one layer would be $4 \cdot 16{,}384^2 \cdot 4$ bytes, 4.3 GB, and the backward pass needs
# several such tensors. The numbers below were measured once, each in a process of its own, by
# `make bench` ([page 5.9](09_choosing.ipynb) has all of them).

# %%
import json
from pathlib import Path

root = next((p for p in (Path.cwd(), *Path.cwd().parents) if (p / "benchmarks").is_dir()), Path())
file = root / "benchmarks" / "results" / "attention.json"
kept = json.loads(file.read_text())["rows"] if file.is_file() else []
names = ("full attention", "tiles", "window")
long = [row for row in kept if row["n"] == 16_384 and row["name"] in names]
for row in long:
    print(f"{row['name']:>15}: {row['ours_mb']:6.0f} MB, {row['ours_s']:6.2f} s")
if not long:
    print("no kept numbers: run `make bench`, or python benchmarks/bench_attention.py")
assert all(row["ours_mb"] < 4096 for row in long)

# %% [markdown]
# ## How it differs
#
# <!--
# System: mhsa_complexity
# Parent: multi_head
# What differs:
# - the formulas for time and space are counted and measured with several heads, forward and
#   backward (`count_flops`, saved tensors), and where attention overtakes the projections
# Source: Tay et al. 2022, section 2.
# Book: 5.2.1.2
# -->
#
# | | scaled dot-product attention | in tiles |
# |---|---|---|
# | result | softmax(scores) v | the same, to rounding |
# | operations, forward and backward | $12 n^2 d$ | $14 n^2 d$ |
# | kept for the backward pass | $H n^2$ weights | one number a row and head |
# | weights to look at | yes | no: they never stand side by side |
# | masks | any | causal and padding, else refused |
# | dropout on weights | yes | not in ours |

# %% [markdown]
# ## In practice
#
# - Before you approximate, look whether your attention is fused: in torch, whether
#   `scaled_dot_product_attention` runs, and whether something (a hook, returned weights) prevents
#   it.
# - A mask of $n \times n$ booleans brings the square back through the back door. Say causal and
#   padding by structure.
# - Memory that grows in proportion is solved, exactly. What is left to gain is time, from some
#   thousand tokens on. At 512 tokens there is little to win.
# - Ask of every speed-up: at which length, against which baseline (in steps or fused), forward only
#   or both?

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why do heads cancel in the operations, and not in the memory?
#
#    <details><summary>Answer</summary>
#
#    Each head makes $n^2$ scores of $d / H$ products: $H$ times $d / H$ is $d$. But the scores
#    themselves are $n^2$ numbers for each head.
#
#    </details>
# 2. What would go wrong in the running sum without the factor $e^{m - m'}$?
#
#    <details><summary>Answer</summary>
#
#    Earlier pieces were summed relative to a smaller maximum and would weigh too much, by
#    $e^{m' - m}$.
#
#    </details>
# 3. Why subtract a maximum at all?
#
#    <details><summary>Answer</summary>
#
#    In exact arithmetic it changes nothing. In floating point $e^{100}$ overflows in float32, and
#    $e^{s - m}$ never exceeds 1.
#
#    </details>
# 4. Which one number a row lets the backward pass make every tile again, in any order?
#
#    <details><summary>Answer</summary>
#
#    $L_i = m_i + \log l_i$, the logarithm of the row's sum of exponentials: $p_{ij} = e^{s_{ij} -
#    L_i}$.
#
#    </details>
# 5. A library says "linear memory". Is it an approximation?
#
#    <details><summary>Answer</summary>
#
#    Not necessarily: exact attention has linear memory in tiles. Ask whether its time is linear.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* A third piece arrives in the example: scores $4, 2$ and values $0, 1$. What
#    is the output now?
#
#    <details><summary>Answer</summary>
#
#    $m' = 4$, factor $0.368$: $l = 0.368 \cdot 1.553 + 1 + e^{-2} = 1.707$ and
#    $o = 0.368 \cdot 4.009 + 0 + e^{-2} = 1.610$. The output is $0.94$.
#
#    </details>
# 2. *(derive, 5 min)* At which $n$ does a causal mask save half of the tiles? With tiles of $b$
# rows
#    and $n = r b$, how many of the $r^2$ tiles are made?
#
#    <details><summary>Answer</summary>
#
#    $r (r + 1) / 2$: the diagonal ones and those behind. That is $\tfrac12 + \tfrac1{2r}$ of them,
#    never quite half; with $r = 8$ it is 56%.
#
#    </details>
# 3. *(measure, 10 min)* Time `TiledAttention(block)` for blocks of 16, 64, 256 and 1,024. Why is
#    there a best one?
#
#    <details><summary>Answer</summary>
#
#    Small tiles are many calls with little work in each, large ones do not fit into the cache, and
#    use more memory. The optimum is the processor's, not the method's.
#
#    </details>
# 4. *(code, 15 min)* `tiled` above has no mask. Give it a causal one that skips tiles which lie
#    ahead, and check it against `SoftmaxAttention` with `Causal()`.
#
#    <details><summary>Answer</summary>
#
#    End the inner loop at `min(len(k), i + block)`, and in the tile on the diagonal fill scores
#    whose key stands behind its query with -inf before the maximum is taken.
#
#    </details>

# %%
# The answers to 1 and 2, checked.
six, values = torch.tensor([2.0, 0, 3, 1, 4, 2]), torch.tensor([1.0, 2, 3, 4, 0, 1])
assert abs(six.softmax(0) @ values - 0.94) < 5e-3
assert sum(i >= j for i in range(8) for j in range(8)) / 64 == 0.5 + 1 / 16 == 0.5625
print("answers 1 and 2 hold")

# %% [markdown]
# ## Summary
#
# Multi-head attention makes $8 n d^2 + 4 n^2 d$ operations whatever the number of heads, and $H
# n^2$ weights, which are what fills a memory. A running maximum and a running sum turn the softmax
# into one pass over tiles, forward and backward, exact, in memory that grows like $n$. The time
# still grows like $n^2$ once $n$ is well above $2 d$, and only there can an approximation pay.
#
# ## Further reading
#
# - Dao, Fu, Ermon, Rudra, Ré (2022), *FlashAttention: Fast and Memory-Efficient Exact Attention
#   with IO-Awareness*: why moving numbers is what costs; and Dao (2023), *FlashAttention-2*:
#   algorithm 1, the form on this page.
# - Milakov, Gimelshein (2018), *Online Normalizer Calculation for Softmax*: the running maximum.
# - Rabe and Staats (2021), *Self-attention Does Not Need O(n²) Memory*: the same idea, for the
#   memory alone.
# - Tay, Dehghani, Bahri, Metzler (2022), *Efficient Transformers: A Survey*: the map of what
#   follows.
