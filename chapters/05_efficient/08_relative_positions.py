# %% [markdown] tags=["slide"]
# # Relative positions: Shaw, T5 bias, ALiBi, RoPE, Transformer-XL
#
# A model was trained on windows of 64 characters. Now it reads 512. If each place has its own row,
# the place 300 was never trained. But "the character before me" is at place 300 what it was at
# place 3. Can a score be told *how far*, and not *where*?
#
# <small>Prerequisites: [positions](../02_transformer/08_positions.ipynb),
# [several heads](../02_transformer/06_multi_head.ipynb) · 30 min · runs on a laptop; results of the
# long runs are included · book table 1.3, KAIST deck 3</small>

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
from deepdive_book.kit.diagrams.layers import box
from deepdive_book.kit.plotting import show

PLACES = [
    ("embed", "rows + place", "sinusoidal, learned, trees", "value"),
    ("rotate", "turned q, turned k", "rotary", "query"),
    ("bias", "score + worth of s - t", "Shaw, T5, ALiBi, XL, Music", "score"),
]
drawing = []
for i, (method, what, who, role) in enumerate(PLACES):
    x = 115 + 225 * i
    drawing += [text(x, 16, method, 15, bold=True), box(x, 50, what, role, 190)]
    drawing.append(text(x, 88, who, 13))
    if i < 2:
        drawing.append(arrow(x + 97, 50, x + 126, 50))
show(
    svg(680, 104, drawing),
    "Three boxes from left to right: embed, rows plus place, used by sinusoidal, learned and tree "
    "positions; rotate, turned q and k, used by rotary positions; bias, score plus the worth of "
    "the offset, used by Shaw, T5, ALiBi, XL and Music.",
)

# %% [markdown]
# *A place can enter below the first layer, in the queries and keys of every layer, or in the scores
# of every layer. The library has a method for each, and a scheme overrides one or two.*
#
# The first box is the subject of [another page](../02_transformer/08_positions.ipynb). This page is
# about the other two. They have one idea in common: query $t$ and key $s$ meet, and the score is
# told their **offset** $s - t$.
#
# ## The idea: an offset is a diagonal
#
# Write the offsets of three tokens as a matrix, queries down, keys across:
#
# $$\begin{pmatrix} 0 & 1 & 2 \\ -1 & 0 & 1 \\ -2 & -1 & 0 \end{pmatrix}$$
#
# Equal offsets stand on one diagonal. So a scheme need not say nine things, but five: what each of
# the offsets $-2 \dots 2$ is **worth** to a query.
#
# $$\mathrm{score}[t, s] = \frac{q_t \cdot k_s}{\sqrt d} + \mathrm{worth}(q_t, s - t)$$
#
# What comes now are different answers to one question: what is an offset worth?
#
# ## Shaw: a vector for each offset
#
# Shaw et al. (2018) train a vector $a_o$ for each offset $o$, and add it to the key:
# $q_t \cdot (k_s + a_{s-t})$. Offsets beyond $\pm l$ are **clipped** to $\pm l$: beyond some
# distance it only counts that it is far. So there is no end to the places.
#
# ### By hand
#
# Three tokens, two dimensions, no division by $\sqrt d$, clipped at 1. Queries and keys are both
# $(1, 0), (0, 1), (1, 1)$. The vectors: $a_{-1} = (0, 1)$, $a_0 = (0, 0)$, $a_1 = (1, 0)$.
#
# | query | its products with $a_{-1}, a_0, a_1$ | offsets, clipped | added | $q \cdot k$ | score |
# |---|---|---|---|---|---|
# | $(1, 0)$ | 0, 0, 1 | 0, 1, 1 | 0, 1, 1 | 1, 0, 1 | 1, 1, 2 |
# | $(0, 1)$ | 1, 0, 0 | -1, 0, 1 | 1, 0, 0 | 0, 1, 1 | 1, 1, 1 |
# | $(1, 1)$ | 1, 0, 1 | -1, -1, 0 | 1, 1, 0 | 1, 1, 2 | 2, 2, 2 |
#
# In code, for every scheme of this family: make the worth of each offset to each query, then pick
# by the offset.

# %% tags=["nbval-check-output"]
import torch


def by_offset(worth, T):
    """worth (T, 2T - 1), columns -(T - 1) ... T - 1, to scores (T, T)."""
    offset = torch.arange(T) - torch.arange(T)[:, None]  # (T, T)
    return worth.gather(1, offset + T - 1)


def shaw(q, a, reach):
    T = len(q)
    clipped = torch.arange(1 - T, T).clamp(-reach, reach) + reach  # (2T - 1,)
    return by_offset(q @ a[clipped].T, T)


q = torch.tensor([[1.0, 0], [0, 1], [1, 1]])
a = torch.tensor([[0.0, 1], [0, 0], [1, 0]])
added = shaw(q, a, 1)
assert added.tolist() == [[0, 1, 1], [1, 0, 0], [1, 1, 0]]
print(q @ q.T + added)

# %%
from deepdive.positions import ShawPosition

scheme = ShawPosition(2, 1, scale=1.0)
scheme.keys.data.copy_(a)
places = torch.arange(3)
with torch.no_grad():
    theirs = scheme.bias(q[None, None], q[None, None], places, places)[0, 0]
    moved = scheme.bias(q[None, None], q[None, None], places + 70, places + 70)[0, 0]
assert (theirs - added).abs().max() < 1e-6
assert torch.equal(theirs, moved)
print("ours = the library's; 70 places further: the same")

# %% [markdown]
# The second line is the point of the page: three places that begin at 70 give what those that begin
# at 0 gave. That is **shift invariance**.
#
# Shaw adds vectors to the values as well: the output is
# $\sum_s w_{ts} (v_s + b_{\mathrm{clip}(s - t)})$, so what is passed on tells from how far it came.
# A bias cannot do that. In the library it is a mechanism, `ShawAttention`, that overrides one step,
# `mix`. It needs no vector for each pair either: the weights are first summed by offset, then
# multiplied by the $2l + 1$ vectors.

# %%
from deepdive.attention import ShawAttention
from deepdive.core import SoftmaxAttention

mechanism = ShawAttention(2, 1)
mechanism.values.data.copy_(a)
rows = q[None, None]
with torch.no_grad():
    plain, with_values = SoftmaxAttention()(rows, rows, rows), mechanism(rows, rows, rows)
    weights = (q @ q.T / 2**0.5).softmax(-1)
    clipped = (places - places[:, None]).clamp(-1, 1) + 1
    by_pairs = weights @ q + torch.einsum("ts,tsd->td", weights, a[clipped])
assert (with_values[0, 0] - by_pairs).abs().max() < 1e-6
print((with_values - plain)[0, 0].round(decimals=3))

# %% [markdown]
# *What the values' vectors add to each of the three outputs.*
#
# **Limit:** vectors of zero give plain attention; a clip at $T - 1$ clips nothing. **Failure:**
# beyond $l$ it cannot count. Two keys, both farther than $l$, in swapped order give the same
# score.
#
# ## T5: a number for each bucket
#
# The query need not be asked. T5 (Raffel et al. 2020) has, for each head, one number for each
# **bucket** of offsets: near offsets have a bucket each, far ones share, and the buckets widen like
# a logarithm. For 8 causal buckets up to distance 16: distances 0 to 3 have buckets 0 to 3, then
#
# $$\mathrm{bucket}(d) = 4 + \left\lfloor 4 \cdot \frac{\ln(d / 4)}{\ln(16 / 4)} \right\rfloor,
# \text{ at most } 7$$
#
# So $d = 4, 5$ fall in bucket 4 ($4 \ln(5/4) / \ln 4 = 0.64$), $6, 7$ in 5 ($1.17$, $1.61$), $8$ to
# $11$ in 6, and all from $12$ on in 7.

# %% tags=["nbval-check-output"]
from deepdive.positions import CausalT5Bias, T5Bias

distances = torch.arange(20)
found = CausalT5Bias(1, 8, 16).buckets(-distances)
print("distance", *(f"{d:2}" for d in distances.tolist()))
print("bucket  ", *(f"{b:2}" for b in found.tolist()))
assert found.tolist() == [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, *[7] * 8]
assert T5Bias(8).table.weight.numel() == 32 * 8  # all that T5 trains for 8 heads

# %% [markdown]
# One table serves all layers. The scores of T5 are not divided by $\sqrt d$; the weights were
# drawn smaller in its place.
#
# ## ALiBi: a slope
#
# Press et al. (2022) train nothing: **worth = -slope · distance**. Each head has its own slope;
# with 8 heads they are $\frac12, \frac14, \dots, \frac1{256}$. The first head forgets after a few
# tokens ($e^{-10/2} = 0.007$ at a distance of 10), the last hardly ($e^{-10/256} = 0.96$).

# %%
from math import exp

from deepdive.positions import ALiBi, slopes

assert slopes(8) == [2**-h for h in range(1, 9)]
assert (round(exp(-10 / 2), 3), round(exp(-10 / 256), 2)) == (0.007, 0.96)
print("6 heads:", [round(slope, 4) for slope in slopes(6)])

# %% [markdown]
# For a number of heads that is no power of two, the slopes of the next lower power come first, then
# every second one of the next higher.
#
# ## All of them, drawn
#
# What does each add to the score of 24 tokens? The tables are drawn at random: a trained one has
# other numbers, in the same pattern. All queries are equal in the first row of maps; in the second
# they differ.

# %% tags=["fold"]
from deepdive.positions import MusicPosition, RotaryPosition, XLPosition
from deepdive_book.kit.plotting import heads

torch.manual_seed(4)
T, d = 24, 16
tables = {
    "Shaw": ShawPosition(d, 4),
    "T5": T5Bias(1, 16, 16),
    "ALiBi": ALiBi(4),
    "XL": XLPosition(d, 1),
}
tables["T5"].table.weight.data.normal_()
tables["XL"].u.data.normal_(std=0.15)
tables["XL"].v.data.normal_()
ticks, maps = [str(i) for i in range(T)], []
for queries in (torch.randn(1, 1, 1, d).expand(1, 4, T, d), torch.randn(1, 4, T, d)):
    for table in tables.values():
        n, places, keys = table.n_heads or 4, torch.arange(T), torch.randn(1, 4, T, d)
        with torch.no_grad():
            bias = table.bias(queries[:, :n], keys[:, :n], places, places)
        maps.append(bias[0, 0] / bias[0, 0].abs().max())
# %% tags=["fold"]
names = [f"{name}{end}" for end in ("", ", queries differ") for name in tables]
figure = heads(torch.stack(maps), ticks, ticks, names=names)
figure.set_size_inches(11, 6)
figure.alt = (
    "Eight maps of 24 by 24, each scaled to 1. With equal queries all but XL are constant along "
    "diagonals: Shaw in nine bands, T5 in bands that widen, ALiBi falling off from the middle; XL "
    "has faint vertical stripes across waves on its diagonals. With other queries Shaw and XL "
    "change from row to row, T5 and ALiBi stay as they were."
)
for axes in figure.axes[:8]:
    axes.set(xticks=[0, 8, 16], yticks=[0, 8, 16])
figure

# %% [markdown]
# *What is added to the scores, each map scaled to 1: Shaw clipped at 4, T5 with 16 buckets up to
# 16, ALiBi with slope 1/4, and XL, which comes below. Above, all queries are equal, and diagonals
# are of one colour. Below, the queries differ: T5 and ALiBi do not look at them; Shaw and XL do,
# and their rows differ. XL's faint vertical stripes are its term for the key alone, $u \cdot k_s$.*
#
# ## Rotary: turn queries and keys
#
# Su et al. (2024) add nothing to the score. They take the entries of $q$ and $k$ in pairs, as
# points in planes, and **turn each by its place**: by $m \theta$ at place $m$. The product of two
# turned points depends on the angle between them, and that is $(s - t)\,\theta$ plus what it was.
#
# ### By hand
#
# One plane, a quarter turn a place. $q = k = (1, 0)$.
#
# | | place 1 | place 3 | product |
# |---|---|---|---|
# | $q$ at 1, $k$ at 3 | $(0, 1)$ | $(0, -1)$ | $-1$ |
# | | place 2 | place 4 | |
# | $q$ at 2, $k$ at 4 | $(-1, 0)$ | $(1, 0)$ | $-1$ |
#
# Two places apart is half a turn: $\cos 180° = -1$, wherever it happens. In general, with plane
# $i$ turning by $\theta_i = 10000^{-2i/d}$ a place:
#
# $$\begin{pmatrix} x'_{2i} \\ x'_{2i+1} \end{pmatrix} =
# \begin{pmatrix} \cos m\theta_i & -\sin m\theta_i \\ \sin m\theta_i & \cos m\theta_i \end{pmatrix}
# \begin{pmatrix} x_{2i} \\ x_{2i+1} \end{pmatrix}, \qquad
# (R_t q) \cdot (R_s k) = q \cdot (R_{s-t}\, k)$$
#
# The last step is all of it: $R_t^\top R_s = R_{s-t}$, since turning back by $t$ and forth by $s$
# is turning by $s - t$.


# %%
def turn(rows, places):
    theta = 10_000.0 ** (-torch.arange(0, rows.shape[-1], 2).double() / rows.shape[-1])
    angle = places[:, None] * theta  # (T, d / 2)
    x, y = rows[..., 0::2], rows[..., 1::2]
    turned = torch.empty_like(rows)
    turned[..., 0::2] = x * angle.cos() - y * angle.sin()
    turned[..., 1::2] = x * angle.sin() + y * angle.cos()
    return turned


rows, at = torch.randn(2, 3, 5, 16).double(), torch.arange(5)
assert (turn(rows, at) - RotaryPosition(16).rotate(rows, at)).abs().max() < 1e-6
one = torch.tensor([[1.0, 0.0]]).double()
near, far = (turn(one, torch.tensor([p])) @ turn(one, torch.tensor([p + 2])).T for p in (1, 70))
assert torch.isclose(near, far)
print(f"(1, 0) with (1, 0), two places apart: {near.item():.3f}, at 1 and at 70 alike")

# %% [markdown]
# The values are not turned: what is passed on does not say from how far it came.
#
# What does a score look like that a rotary head can give? Let all entries of $q$ and $k$ be equal.
# Then each plane adds $\cos(o\,\theta_i)$:

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

offsets = torch.arange(-512, 513)
figure = Figure(figsize=(6.8, 3.0))
axes = figure.add_subplot()
for d_head, mark in ((16, "--"), (64, "-")):
    theta = 10_000.0 ** (-torch.arange(0, d_head, 2) / d_head)
    axes.plot(offsets, (offsets[:, None] * theta).cos().mean(1), mark, label=f"d_head {d_head}")
axes.axvspan(-64, 64, alpha=0.15, color="grey", lw=0)
axes.set(xlabel="offset", ylabel="mean of cos(offset · theta)")
axes.legend()
with_alt(
    figure,
    "Two curves over offsets from -512 to 512, with a peak of 1 at 0. They fall off with many "
    "ripples and do not reach 0; the offsets up to 64, grey, hold the peak.",
)

# %% [markdown]
# *The score of equal vectors by their offset. It falls with the distance, on the whole. Grey: the
# offsets that a window of 64 shows in training. To its right and left the slow planes stand at
# angles that they never had there.*
#
# ### Common mistake: halves for neighbors
#
# RoFormer pairs entry $2i$ with $2i + 1$. Many later programs pair $i$ with $i + d/2$, because it
# is two slices. Both are fine, and a checkpoint of one read by the other's code is noise:


# %%
def turn_halves(rows, places):
    """Pairs (i, i + d / 2), by way of the other layout."""
    pairs = rows.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)
    return turn(pairs, places).unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)


key = torch.randn(1, 1, 5, 16).double()
right = turn(rows, at) @ turn(key, at).transpose(-1, -2)
wrong = turn_halves(rows, at) @ turn_halves(key, at).transpose(-1, -2)
order = torch.arange(16).view(2, 8).T.flatten()  # 0 8 1 9 ...
back = torch.argsort(order)
mended = turn_halves(rows[..., back], at) @ turn_halves(key[..., back], at).transpose(-1, -2)
print(f"differs by {(right - wrong).abs().max():.2f}; at place 0 by "
      f"{(right - wrong)[..., 0, 0].abs().max():.2f}")  # fmt: skip
assert (mended - right).abs().max() < 1e-6

# %% [markdown]
# **Symptom:** no error, every shape fits, the first token is right, and the text becomes worse with
# its length. **Fix:** put the rows of $W_q$ and $W_k$ in the other order, once, when the weights
# are read.
#
# ## Transformer-XL: four terms
#
# Dai et al. (2019) start from absolute places and multiply out. With rows $x + p$ in place of $x$,
# a score $(x_t + p_t) W_q^\top W_k (x_s + p_s)$ has four terms. They replace every $p_s$ by a wave
# of the offset, $r_{t-s} = W_r\,\mathrm{waves}(t - s)$, and the query's own place, which says
# nothing about an offset, by two trained vectors $u$ and $v$:
#
# | term | reads | asks |
# |---|---|---|
# | $q_t \cdot k_s$ | content, content | is this what I look for? |
# | $q_t \cdot r_{t-s}$ | content, offset | is this where I look? |
# | $u \cdot k_s$ | content | is this of use to anybody? |
# | $v \cdot r_{t-s}$ | offset | does anybody look there? |
#
# The first is attention's own; the scheme's bias is the sum of the other three. [Page
# 5.16](16_recurrence_and_memory.ipynb) builds this attention, together with the memory that
# Transformer-XL needs it for.

# %% tags=["fold"]
torch.manual_seed(0)
xl = XLPosition(16, 1)
xl.u.data.normal_()
xl.v.data.normal_()
T, at = 14, torch.arange(14)
q, k = torch.randn(1, 1, T, 16), torch.randn(1, 1, T, 16)
with torch.no_grad():
    r = xl.W(xl.waves.table(at[:, None] - at).float())  # (T, T, d): r of each pair
    terms = [
        q[0, 0] @ k[0, 0].T,
        torch.einsum("td,tsd->ts", q[0, 0], r),
        (xl.u @ k[0, 0].T).expand(T, T),
        torch.einsum("d,tsd->ts", xl.v[0], r),
    ]
    bias = xl.bias(q, k, at, at)[0, 0]
assert (sum(terms[1:]) * xl.scale - bias).abs().max() < 1e-5

# %% tags=["fold"]
ticks, names = [str(i) for i in range(T)], ["q · k", "q · r", "u · k", "v · r"]
figure = heads(torch.stack([m / m.abs().max() for m in terms]), ticks, ticks, names=names)
figure.set_size_inches(11, 3.2)
figure.alt = (
    "Four maps of 14 by 14. q times k has no pattern; q times r has rows that differ, each a wave "
    "shifted by its place; u times k is one row repeated, vertical stripes; v times r is constant "
    "along diagonals."
)
for axes in figure.axes[:4]:
    axes.set(xticks=[0, 4, 8, 12], yticks=[0, 4, 8, 12])
figure

# %% [markdown]
# *The four terms of one head with random weights, each scaled to 1. No pattern; waves that begin at
# the diagonal; vertical stripes; diagonal stripes. Their sum, but for the first, is what the
# library adds (asserted above).*
#
# Nothing here has an end, and keys may come from an **earlier segment**, whose rows were kept: the
# offset is just larger. That is what the scheme was made for; the recurrence is a later page's.
#
# ## Skewing: how to lay numbers on diagonals
#
# `by_offset` above gathers $T^2$ numbers by an index. Shaw's first program made a vector for each
# *pair*, $T^2 d$ numbers: 2,048 tokens with $d = 64$ take 1.07 GB in float32. The Music
# Transformer (Huang et al. 2019) makes one product $Q E^\top$, a column for each offset, and moves
# row $t$ into place by **reading on**: put one column of zeros in front, and read the same numbers
# in rows of another length.

# %% tags=["slide", "fold"]
from deepdive_book.kit.diagrams.matrices import Matrix, matrix

offset_rows = [[-2.0, -1.0, 0.0]] * 3
padded = [[None, *row] for row in offset_rows]
flat = [number for row in padded for number in row]
read_on = [flat[3 * i : 3 * i + 3] for i in range(4)]
kept = [[v if s <= t else None for s, v in enumerate(row)] for t, row in enumerate(read_on[1:])]
stages = [("Q Eᵀ", offset_rows), ("one column in front", padded), ("read in rows of 3", read_on),
          ("first row off, masked", kept)]  # fmt: skip
drawing, x = [], 20
for name, values in stages:
    drawing.append(matrix(x, 40, Matrix(name, "score", values), 34))
    x += max(34 * len(values[0]), 8 * len(name) + 30) + 28
show(
    svg(x, 190, drawing),
    "Four matrices. Three equal rows -2, -1, 0; the same with an empty column in front; the twelve "
    "numbers in rows of three; without the first row, and with what lies above the diagonal taken "
    "away: 0; -1, 0; -2, -1, 0.",
)

# %% [markdown]
# *The numbers are offsets. After reading on, each stands where query $t$ meets the key with this
# offset. What stands above the diagonal is the next row's beginning and means nothing: the trick is
# for the past, and the mask comes after.*

# %%
from deepdive.positions import skew


def read_on(products):
    T, columns = products.shape
    front = torch.cat([torch.zeros(T, 1), products], 1).flatten()  # T * (columns + 1)
    return front[T:].view(T, columns)


products = torch.randn(6, 6)
moved = read_on(products)
for t in range(6):
    assert torch.equal(moved[t, : t + 1], products[t, 5 - t :])
assert torch.equal(moved, skew(products))
wide = torch.randn(6, 11)  # offsets to both sides: the first 6 columns are whole
assert torch.equal(skew(wide)[:, :6], by_offset(wide, 6))
print("read on = gathered; 2,048 tokens, d 64:", f"{2048**2 * 64 * 4 / 1e9:.2f} GB by pairs")

# %% [markdown]
# With $2T - 1$ columns, offsets to both sides, the same line serves Shaw and Transformer-XL: the
# library's relative schemes all use it, and gather only where places are not in a row.
# `MusicPosition` is Shaw's scheme for the past alone, with vectors of each head's own; it forbids
# the future itself, so that the meaningless numbers can never be read.

# %% [markdown]
# ## R-Transformer: read what is near, then attend
#
# Wang, Ma et al. (2019) give no place to anybody. Below each attention stands a small recurrent
# network that reads the last $M$ rows of each row, from zeros, in order:
#
# $$h_t = \mathrm{RNN}(x_{t-M+1}, \dots, x_t)$$
#
# So a row knows who came just before it, and attention may be blind to order. All windows take
# their steps together: $M$ steps, whatever the length.

# %%
from deepdive.models.efficient.r_transformer import LocalRNN
from deepdive.recurrent import RNN

torch.manual_seed(0)
rnn, x, M = RNN(8, 8), torch.randn(2, 9, 8), 3
with torch.no_grad():
    windows = [rnn(x[:, max(0, t - M + 1) : t + 1])[:, -1] for t in range(9)]
    assert (torch.stack(windows, 1) - LocalRNN(rnn, M)(x)).abs().max() < 1e-6
    assert (LocalRNN(rnn, 9)(x) - rnn(x)).abs().max() < 1e-6  # the limit
    far = x.clone()
    far[:, 0] += 1
    changed = (LocalRNN(rnn, M)(far) - LocalRNN(rnn, M)(x)).abs().amax((0, 2)) > 0
print("row 0 changed; states that moved:", changed.nonzero().flatten().tolist())

# %% [markdown]
# **Limit:** a window as long as the text is the recurrent network. **Cost:** $M$ small steps more
# in each layer. **Failure:** two tokens farther back than $M$, in swapped order, are told apart
# only by their neighbors.
#
# ## Places in a tree
#
# *Bush held a talk with Sharon* (the KAIST slides' sentence). In the row of words *talk* is two
# after *held*. In its dependency tree it hangs directly on it. Wang, Tu et al. (2019) give each
# word a second place: how deep it stands under the root, its **absolute** structural place.

# %% tags=["slide", "fold"]
from deepdive_book.kit.diagrams.trees import arcs

sentence = ["Bush", "held", "a", "talk", "with", "Sharon"]
governor = [1, 1, 3, 1, 5, 1]  # the word on which each hangs; the root's is itself
tree = [(i, h) for i, h in enumerate(governor) if i != h]
show(
    arcs(sentence, tree),
    "The sentence Bush held a talk with Sharon with arcs: Bush, talk and Sharon hang on held, a "
    "hangs on talk, with hangs on Sharon.",
)

# %% [markdown]
# *Each arrow ends at the word that the other hangs on. The root is* held.
#
# The **relative** place of word $j$, seen from word $i$: if one is above the other, the difference
# of their depths; if not, the sum, the way over the root. Its sign is the order of the words. From
# *talk*, by hand:
#
# | | Bush | held | a | talk | with | Sharon |
# |---|---|---|---|---|---|---|
# | depth | 1 | 0 | 2 | 1 | 2 | 1 |
# | one above the other? | no | yes | yes | - | no | no |
# | size | 1 + 1 | 1 - 0 | 2 - 1 | 0 | 1 + 2 | 1 + 1 |
# | offset in the tree | -2 | -1 | -1 | 0 | +3 | +2 |
# | offset in the row | -3 | -2 | -1 | 0 | +1 | +2 |

# %%
from deepdive.positions import depths, tree_offsets


def by_hand(governor):
    def path(i):
        return [i] if governor[i] == i else [i, *path(governor[i])]

    depth = [len(path(i)) - 1 for i in range(len(governor))]

    def offset(i, j):
        related = j in path(i) or i in path(j)
        size = abs(depth[i] - depth[j]) if related else depth[i] + depth[j]
        return size * ((j > i) - (j < i))

    n = range(len(governor))
    return depth, [[offset(i, j) for j in n] for i in n]


depth, offset = by_hand(governor)
assert (depth, offset[3]) == ([1, 0, 2, 1, 2, 1], [-2, -1, -1, 0, 3, 2])  # the slide's rows
assert depths(torch.tensor(governor)).tolist() == depth
assert tree_offsets(torch.tensor(governor)).tolist() == offset
print("the slide's rows, and the library's")

# %% tags=["fold"]
at = torch.arange(6)
both = torch.stack([at - at[:, None], tree_offsets(torch.tensor(governor))])
figure = heads(both.float(), sentence, sentence, names=["offset in the row", "in the tree"])
figure.set_size_inches(8, 3.6)
figure.alt = (
    "Two maps of six by six words. Left, offsets in the row, constant along diagonals from -5 to "
    "5. Right, offsets in the tree: small between held and the words that hang on it, up to 4 "
    "between a and with, and on no diagonal."
)
figure

# %% [markdown]
# *The same sentence, two notions of far. Right, nothing is constant along diagonals: skewing does
# not help, each sentence has a matrix of its own, and a parser must be run first.*
#
# `StructuralPosition` adds both absolute places to the embedding, waves through a trained layer
# with tanh, and gives each tree offset a Shaw vector. Its "positions" are the tree: for each word,
# the word it hangs on. **Limit:** in a chain, where each word hangs on the one before, both
# notions are one. **Failure:** a tree is known when the sentence has ended, so it cannot decode
# word by word: it refuses. On the slides (WMT14 English-German) they raise a big Transformer from
# 28.58 to 28.88 BLEU, and one with relative places from 28.90 to 29.19.
#
# ## What each adds
#
# One attention layer, 256 wide, 8 heads, forward and backward; time and parameters beyond those of
# plain attention.

# %%
import time

from deepdive.core import MultiHeadAttention
from deepdive.core.masks import Causal
from deepdive_book.kit.profile import pick
from deepdive_book.kit.tables import table

T, W, H = pick(ci=128, laptop=1024, gpu=1024), 256, 8
LAYERS = {
    "none": dict,
    "rotary": lambda: {"position": RotaryPosition(W // H)},
    "ALiBi": lambda: {"position": ALiBi(H)},
    "T5": lambda: {"position": CausalT5Bias(H)},
    "Shaw, keys": lambda: {"position": ShawPosition(W // H, 16)},
    "Shaw, and values": lambda: {"position": ShawPosition(W // H, 16),
                                 "mechanism": ShawAttention(W // H, 16)},
    "Music": lambda: {"position": MusicPosition(H, W // H, T - 1)},
    "XL": lambda: {"position": XLPosition(W, H)},
}  # fmt: skip


# %%
def seconds(layer, rows, repeats=3):
    """The fastest of a few forward and backward passes."""
    found = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        layer(rows, mask=Causal()).sum().backward()
        found.append(time.perf_counter() - start)
    return min(found[1:])


# %%
rows, cost = torch.randn(1, T, W), {}
for name, make in LAYERS.items():
    torch.manual_seed(0)
    layer = MultiHeadAttention(W, H, **make())
    cost[name] = sum(p.numel() for p in layer.parameters()), seconds(layer, rows)
plain = cost["none"]
assert cost["rotary"][0] == cost["ALiBi"][0] == plain[0]
assert cost["T5"][0] - plain[0] == 32 * H
assert cost["Shaw, and values"][0] - plain[0] == 2 * 33 * W // H
assert cost["XL"][0] - plain[0] == W * W + 2 * W
table(
    [(name, own - plain[0], took / plain[1]) for name, (own, took) in cost.items()],
    ["scheme", "parameters beyond plain", "time over plain"],
    formats={"time over plain": ".1f"},
    caption=f"{T:,} tokens; plain: {plain[0]:,} parameters, {1000 * plain[1]:.0f} ms",
)

# %% [markdown]
# Why is a bias, which looks so cheap, slow? Without one, scores never leave the kernel that mixes
# the values. A bias is a tensor of $T \times T$ numbers for each head that must be written, read,
# and, where it is trained, given a gradient of the same size. Rotary positions keep the fast
# kernel, since nothing of size $T \times T$ is made: $O(T d)$ work more.
#
# | | asks the query | trained, a layer | beyond the training length | with a cache |
# |---|---|---|---|---|
# | Shaw | yes | $2(2l + 1)\,d_h$ | clipped | keys as they are |
# | T5 | no | 32 a head, once | last bucket | keys as they are |
# | ALiBi | no | nothing | the line goes on | keys as they are |
# | rotary | through the product | nothing | new angles | turned keys are kept |
# | XL | yes | $d^2 + 2d$ | new waves | keys as they are |
# | Music | yes | $(l + 1)\,d$ | clipped | keys as they are |
#
# ## Beyond the training length
#
# Press et al. (2022) put the question in their title: train short, test long. The experiment: a
# language model of characters, trained on windows of $L$ characters, reads longer ones. Real data
# is Tiny Shakespeare.

# %%
from deepdive.data.documents import generated_documents
from deepdive.data.lines import text_lines
from deepdive_book.kit.profile import banner, profile

real = profile() != "ci"
whole = "\n".join(text_lines("tinyshakespeare") if real else
                  [" ".join(document) for document in generated_documents(300)])  # fmt: skip
letters = sorted(set(whole))
ids = torch.tensor([letters.index(letter) for letter in whole])
cut = int(0.9 * len(ids))
known, held = ids[:cut], ids[cut:]
print(banner("tinyshakespeare (real)" if real else "sentences (generated)"))
L = pick(ci=32, laptop=64, gpu=64)  # characters in a training window
longest = 8 * L
tests = held[: len(held) // longest * longest].view(-1, longest)[: pick(ci=8, laptop=32, gpu=64,
                                                                        experiment=64)]  # fmt: skip
print(f"{len(letters)} characters, {len(ids):,} in all; {len(tests)} test windows of {longest}")

# %% [markdown]
# One decoder for all, two layers, 64 wide, four heads. A scheme is what stands in its three places:
# on the embeddings, at a block's attention as its position, and as its mechanism.

# %%
from deepdive.core import Position
from deepdive.positions import LearnedPosition, SinusoidalPosition

D, HEADS, D_HEAD = 64, 4, 16
nothing = Position()
SCHEMES = {  # name -> what is added to embeddings, what each block is given
    "none": (nothing, dict),
    "sinusoidal": (SinusoidalPosition(D), dict),
    "learned": (LearnedPosition(longest, D), dict),
    "Shaw": (nothing, lambda: {"position": ShawPosition(D_HEAD, 16),
                               "mechanism": ShawAttention(D_HEAD, 16)}),
    "Music": (nothing, lambda: {"position": MusicPosition(HEADS, D_HEAD, L - 1)}),
    "T5": (nothing, lambda: {"position": CausalT5Bias(HEADS, 32, L)}),
    "T5 to 16": (nothing, lambda: {"position": CausalT5Bias(HEADS, 16, 16)}),
    "ALiBi": (nothing, lambda: {"position": ALiBi(HEADS)}),
    "rotary": (nothing, lambda: {"position": RotaryPosition(D_HEAD)}),
    "XL": (nothing, lambda: {"position": XLPosition(D, HEADS)}),
}  # fmt: skip

# %%
import copy

from deepdive.core import Block, FeedForward, LayerNorm
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.stack import Stack
from deepdive.models.efficient.r_transformer import r_transformer
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.transformer import Decoder


def language_model(scheme):
    if scheme == "R-Transformer":
        return r_transformer(len(letters), d_model=D, n_heads=HEADS, n_layers=2, d_ff=4 * D,
                             window=7, dropout=0.0)  # fmt: skip
    below, inside = SCHEMES[scheme]
    stack = Stack(lambda _: Block(MultiHeadAttention(D, HEADS, **inside()), FeedForward(D, 4 * D)),
                  2, LayerNorm(D))  # fmt: skip
    embedding = TokenEmbedding(len(letters), D, scale=D**0.5)
    return DecoderOnly(Decoder(embedding, copy.deepcopy(below), stack), TiedHead(embedding))


# %% [markdown]
# Trained on windows of $L$ characters. Asked for the same last $L$ characters of each test window,
# behind a context that grows: the model reads the last $n$ characters, $n = L, 2L, 4L, 8L$, at
# places $0$ to $n - 1$. More context can only help who can use it.

# %%
from deepdive.training import fit
from deepdive.training.objectives import cross_entropy
from deepdive.training.optim import adam, cosine
from deepdive_book.kit.experiments import checkpoints, share, sweep
from deepdive_book.kit.experiments import results_path as kept


def loss(model, rows):
    return cross_entropy(model(rows[:, :-1]), rows[:, 1:], pad=None)


@torch.no_grad()
def at_length(model, n):
    """Mean loss of the last L - 1 characters of each test window, of which n are read."""
    rows = tests[:, longest - n :]
    parts = [model(some[:, :-1])[:, n - L :] for some in rows.split(16)]
    return cross_entropy(torch.cat(parts), rows[:, n - L + 1 :], pad=None).item()


# %%
MODELS = {}  # the last of each scheme, to look into


def measure(scheme, steps, seed):
    torch.manual_seed(seed)
    model = language_model(scheme)
    draw = torch.Generator().manual_seed(seed)
    starts = torch.randint(len(known) - L - 1, (steps, 32, 1), generator=draw)
    batches = [known[some + torch.arange(L + 1)] for some in starts]
    folder = checkpoints("extrapolation", f"{scheme}-{steps}-{seed}")
    fit(model, batches, loss, steps=steps, optimizer=adam(model, lr=3e-3), folder=folder,
        schedule=cosine(3e-3, steps // 10, steps), progress=False)  # fmt: skip
    MODELS[scheme] = model.eval()
    return {f"{k}L": round(at_length(model, k * L), 4) for k in (1, 2, 4, 8)}


# %%
steps = pick(ci=40, laptop=300, gpu=1200, experiment=round(1200 * share()))
names = [*SCHEMES, "R-Transformer"]
few = pick(ci=["none", "ALiBi", "rotary", "T5"], laptop=["learned", "ALiBi", "rotary", "T5"],
           gpu=names)  # fmt: skip
points = [{"scheme": s, "steps": steps, "seed": seed} for seed in (1, 2, 3) for s in names]
live = [{"scheme": s, "steps": steps, "seed": 1} for s in few]

# %%
file = kept("05_efficient", "extrapolation")
at_work = profile() == "experiment"
asked, target = (points, file) if at_work else (live, None)
runs = {"kept" if at_work else "live, short": sweep(measure, asked, target, minutes=45,
        data="tinyshakespeare" if real else "generated")}  # fmt: skip
if real and file is not None and file.is_file():  # the kept rows, at their longest
    import json

    found = json.loads(file.read_text())["rows"]
    most = max(row["steps"] for row in found)
    runs["kept"] = [row for row in found if row["steps"] == most]

# %% [markdown]
# The live runs show how it is measured; they are short. The kept ones, where there are any, are
# what counts.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Trained on windows of 64 characters, asked at 512 (kept runs). Whose loss rises most?",
    ["learned rows, whose later rows were never trained", "rotary", "a model with no positions"],
    answer=1,
    explain="Rotary turns queries and keys to angles that never met in training, at full strength, "
    "in every layer. Learned rows that were never trained do harm, too, from the first new place "
    "on; rotary only ends higher.",
    key="05_efficient/extrapolation",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %%
from IPython.display import display

LENGTHS = {1: "L", 2: "2L", 4: "4L", 8: "8L"}


def means(rows):
    """Scheme -> loss at each length: mean over the seeds, and their spread."""
    groups = {}
    for row in rows:
        groups.setdefault(row["scheme"], []).append([row[f"{k}L"] for k in LENGTHS])
    tables = {name: torch.tensor(each) for name, each in groups.items()}  # (seeds, lengths)
    return {name: (t.mean(0), t.amax(0) - t.amin(0)) for name, t in tables.items()}


for kind, rows in runs.items():
    seeds = len({row["seed"] for row in rows})
    by_last = sorted(means(rows).items(), key=lambda item: item[1][0][-1])
    display(table(
        [(name, *mean, spread.max()) for name, (mean, spread) in by_last],
        ["scheme", *LENGTHS.values(), "largest spread"],
        formats=dict.fromkeys([*LENGTHS.values(), "largest spread"], ".3f"),
        caption=f"{kind}, {rows[0]['steps']:,} steps, seeds: {seeds}; loss in nats",
    ))  # fmt: skip

# %% tags=["surprise"]
figure = Figure(figsize=(4.6 + 3.6 * (len(runs) - 1), 3.8), layout="tight")
for axes, (kind, rows) in zip(figure.subplots(1, len(runs), squeeze=False)[0], runs.items(),
                              strict=True):  # fmt: skip
    for name, (mean, spread) in means(rows).items():
        i = names.index(name)
        mark = ["o-", "s--", "^:"][i // 4] + f"C{i % 7}"
        axes.errorbar(range(4), mean, spread / 2, fmt=mark, ms=4, capsize=2, label=name)
    axes.set(xticks=range(4), xticklabels=LENGTHS.values(), xlabel="characters read", title=kind)
    axes.set_ylabel("loss of the last L, nats")
figure.axes[-1].legend(fontsize=8, bbox_to_anchor=(1.02, 1), loc="upper left")
with_alt(
    figure,
    "Loss of the same last L characters by how many characters are read, L to 8L, a line for each "
    "scheme. " + " ".join(
        f"{kind}: " + ", ".join(f"{name} {m[0]:.2f} to {m[-1]:.2f}" for name, (m, _) in
                                means(rows).items()) + "." for kind, rows in runs.items()),
)  # fmt: skip

# %% [markdown]
# *The same last characters, read behind more and more context. A line that rises shows a model that
# is disturbed by what it could ignore; one that falls, a model that uses it.*
#
# In the kept runs the schemes fall into three groups.
#
# - **Sinusoidal** and **learned** rows break at once, at $2L$. **Rotary** follows at $4L$, and ends
#   highest with each of the three seeds: relative is not enough. The score of an offset beyond 63
#   is defined, and nothing ever trained it. (Press et al. found the order T5, rotary, sinusoidal;
#   at $2L$ each of our seeds has it, too.)
# - **ALiBi**, **Shaw**, **XL** and **R-Transformer** hold. XL even gains a little from more
#   context, 0.02 nats at $8L$ and with each seed, though its waves of far offsets are as new to it
#   as rotary's angles: a result here, not a reason. R-Transformer is the lowest at each length and
#   with each seed, and has the most weights.
# - **T5** and **Music** rise, though their last bucket, or row, serves all that is far. Why?
#
# A guess: that last bucket was hardly trained. Few pairs in a window of $L$ fall in it. So there is
# a second T5, with buckets up to 16:

# %%
pairs = torch.arange(L)[:, None] - torch.arange(L)  # distances in a training window
pairs = pairs[pairs >= 0]
last = [
    (name, "fall in the last bucket", bias.buckets(-pairs) == bias.n_buckets - 1)
    for name, bias in (("T5", CausalT5Bias(1, 32, L)), ("T5 to 16", CausalT5Bias(1, 16, 16)))
]
last += [("Shaw", "are clipped", pairs >= 16), ("Music", "meet the last row", pairs >= L - 1)]
table(
    [(name, what, which.float().mean()) for name, what, which in last],
    ["scheme", "pairs that", "share of all in training"],
    formats={"share of all in training": ".2%"},
)

# %%
if len(means(runs.get("kept", []))) == len(names):
    mean = {name: m for name, (m, _) in means(runs["kept"]).items()}
    rise = {name: (m[-1] - m[0]).item() for name, m in mean.items()}
    assert max(rise, key=rise.get) == "rotary"
    assert min(rise["sinusoidal"], rise["learned"]) > 1
    assert max(rise[name] for name in ("ALiBi", "Shaw", "XL", "R-Transformer")) < 0.05
    assert rise["XL"] < 0
    assert min(mean, key=lambda name: mean[name].max()) == "R-Transformer"
    assert mean["T5"][1] < mean["rotary"][1] < mean["sinusoidal"][1]
    assert min(rise["T5"], rise["T5 to 16"]) > 0.4
    by_rise = sorted(rise.items(), key=lambda item: item[1])
    display(table(by_rise, ["scheme", "loss at 8L beyond that at L"], formats={
        "loss at 8L beyond that at L": ".2f"}))  # fmt: skip

# %% [markdown]
# The guess was wrong, or at most a small part of it: the bucket that was trained on most pairs
# rises nearly as much. Another: **far keys are many**. T5 gives each of them the same number $b$,
# whatever their count $n$, so together they weigh $n e^b$ against the near ones, and at $8L$ there
# are many times more than in training. Under a slope $m$ the far ones weigh $e^{-m} + e^{-2m} +
# \dots$, which has an end. So look at the weights of the live models (one seed): how much goes to
# keys 16 or more back?

# %%
from deepdive.core.hooks import record


@torch.no_grad()
def far_share(model, n):
    """The mean weight that the last L queries give to keys 16 or more back, of n characters."""
    with record(model, "*.weights") as seen:
        model(tests[:4, longest - n : -1])
    at = torch.arange(n - 1)
    far = at <= at[:, None] - 16
    return sum((w[0] * far)[..., n - L :, :].sum(-1).mean() for w in seen.values()).item() / 2


shares = {name: [far_share(MODELS[name], k * L) for k in LENGTHS] for name in MODELS}
if {"T5", "ALiBi"} <= set(shares):
    gain = {name: found[-1] - found[0] for name, found in shares.items()}
    assert gain["T5"] > gain["ALiBi"]
    assert shares["T5"][-1] > 0.8 > shares["ALiBi"][-1]
table([(name, *found) for name, found in shares.items()], ["scheme", *LENGTHS.values()],
      formats=dict.fromkeys(LENGTHS.values(), ".2f"))  # fmt: skip

# %% [markdown]
# *Share of the weight on keys 16 or more back, reading $L$ to $8L$.* T5's queries end up with
# nearly all their weight on what is far, though each far key is worth to them what it was. A bias
# that does not ask the query has to fall with the distance, or far keys drown near ones by their
# number.

# %% [markdown]
# ### The experiment
#
# Eleven schemes, three seeds, 1,200 steps. The runs are short, and one rate serves all: what is
# compared is what each scheme has learned by then. A T5 trained for longer may give what is far a
# lower number. The measurement may be stopped, and goes on where it was:
#
# ```sh
# deepdive run 5.8 --profile experiment               # under an hour on two cores
# deepdive run 5.8 --profile experiment --share 0.1   # a tenth of the steps
# ```
#
# ## How it differs
#
# From plain self-attention, as the library sees it:

# %%
from deepdive_book.site.atlas import compare

view = compare("shaw_relative")
assert view.child.parameters - view.parent.parameters == 2 * 7 * 4  # keys and values, reach 3
view

# %% [markdown]
# *Grey is as it was, lit is new: a table for the keys inside the scheme, one for the values inside
# the mechanism, each 7 offsets times 4 dimensions.*
#
# ## In practice
#
# - **Rotary** is the common choice today: no parameters, the fast kernel, a cache of turned keys.
#   It does not extrapolate by itself; texts longer than in training need another base or more
#   training. The common ways: position interpolation (Chen et al. 2023), YaRN (Peng et al. 2024).
# - **ALiBi** isn't disturbed when texts grow, but it doesn't use the longer context: its loss does
#   not fall with it here, because it ignores what is far (Press et al. 2022 find mostly the same
#   in their own analysis). **Shaw's** vectors with a short reach weren't disturbed here, either. A
#   decoder with no positions at all (`none` above; NoPE, Kazemnejad et al. 2023) is another
#   baseline for longer texts. All biases cost a matrix of $T \times T$, unless a kernel makes it
#   as it goes.
# - **Clip or bucket** what you train: an offset that never occurred in training has no meaning.
# - **Left padding** shifts columns. Relative schemes do not mind; absolute ones need `positions`
#   that count from the first real token.
# - **Keys of a cache** are turned once, at their own place, when they enter. Turning them again at
#   each step is a common mistake.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why are $2T - 1$ numbers enough for $T^2$ pairs?
#
#    <details><summary>Answer</summary>
#
#    A score is told the offset alone, and $T$ tokens have $2T - 1$ offsets: one for each diagonal.
#
#    </details>
# 2. What can Shaw's vectors in the values do that no bias can?
#
#    <details><summary>Answer</summary>
#
#    They change what is passed on: an output tells from how far its content came. A bias changes
#    only how much is taken from whom.
#
#    </details>
# 3. Rotary positions turn $q$ and $k$ by their absolute places. Why is the score relative?
#
#    <details><summary>Answer</summary>
#
#    The product of two turned vectors depends on the difference of the angles: $R_t^\top R_s =
#    R_{s-t}$.
#
#    </details>
# 4. Which of Transformer-XL's terms remain when all queries are zero, and what do they say?
#
#    <details><summary>Answer</summary>
#
#    $u \cdot k_s$, which keys are of use to anybody, and $v \cdot r_{t-s}$, which offsets are.
#
#    </details>
# 5. Why must the skewed matrix of the Music Transformer be masked?
#
#    <details><summary>Answer</summary>
#
#    Reading on fills what lies above the diagonal with the beginning of the next row, which belongs
#    to other offsets.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* Two planes: $d = 4$, $\theta = (90°, 9°)$. $q = k = (1, 0, 1, 0)$. What is
#    their product at offset 0, 1, 2 and 10?
#
#    <details><summary>Answer</summary>
#
#    $\cos(90° o) + \cos(9° o)$: 2; $0 + 0.988$; $-1 + 0.951 = -0.049$; $-1 + 0 = -1$.
#
#    </details>
# 2. *(derive, 5 min)* BLOOM adds slope · $s$, the key's place, in place of $-$slope · $(t - s)$.
#    Why are the causal weights the same?
#
#    <details><summary>Answer</summary>
#
#    The two differ by slope · $t$, the same for all keys of a row, and softmax does not see what is
#    added to a whole row.
#
#    </details>
# 3. *(code, 5 min)* Write T5's buckets for offsets to both sides from those of one side.
#
#    <details><summary>Answer</summary>
#
#    Half of the buckets for each side: the one-sided bucket of $|o|$ with half as many, plus that
#    half where $o > 0$. The cell below checks it.
#
#    </details>
# 4. *(on paper, 4 min)* Which of the schemes can tell `a b c` from `c b a` when the reach, buckets
#    or window is 1, and the query is the token after them?
#
#    <details><summary>Answer</summary>
#
#    ALiBi, rotary and Transformer-XL: offsets 2 and 3 differ for them. Shaw's clip and T5's last
#    bucket make 2 and 3 one; R-Transformer's rows know only themselves.
#
#    </details>

# %%
# Answers 1 to 3, checked.
both = RotaryPosition(4, base=100.0)  # theta = 1 and 1/10: in units of a quarter turn, as above
unit = torch.tensor([1.0, 0, 1, 0]).double()
angle = torch.tensor([90.0, 9.0]).double().deg2rad()
answers = [(o * angle).cos().sum().item() for o in (0, 1, 2, 10)]
assert [round(answer, 3) for answer in answers] == [2.0, 0.988, -0.049, -1.0]
assert torch.allclose(both.angles(torch.tensor([1]))[0] * angle[0], angle)
at, slope, scores = torch.arange(7), 0.25, torch.randn(7, 7)
forbidden = at > at[:, None]
bloom, ours = (
    (scores + slope * added).masked_fill(forbidden, float("-inf")).softmax(-1)
    for added in (at.float(), at.float() - at[:, None])
)
assert torch.allclose(bloom, ours, atol=1e-6)
one_side, two_sides, offsets = CausalT5Bias(1, 16, 128), T5Bias(1, 32, 128), torch.arange(-300, 301)
written = one_side.buckets(-offsets.abs()) + 16 * (offsets > 0)
assert torch.equal(written, two_sides.buckets(offsets))
print("three answers hold")

# %% [markdown]
# ## Summary
#
# A relative scheme tells a score how far two tokens stand apart, as a bias on the diagonals or by
# turning queries and keys, and is the same wherever in the text they stand. The schemes differ in
# whether the query is asked, in what is trained, and in what they say of a distance that training
# never showed. There a slope holds, and vectors that the query is asked about; rows and angles that
# training never met do not, and neither does one number for all that is far, since it is many.
#
# ## Further reading
#
# - Shaw, Uszkoreit and Vaswani (2018), *Self-Attention with Relative Position Representations*.
# - Dai et al. (2019), *Transformer-XL*: section 3.3, the four terms; appendix B, the shift.
# - Huang et al. (2019), *Music Transformer*: skewing.
# - Raffel et al. (2020), *Exploring the Limits of Transfer Learning with a Unified Text-to-Text
#   Transformer*: section 2.1.
# - Press, Smith and Lewis (2022), *Train Short, Test Long*: ALiBi, and how extrapolation is
#   measured.
# - Su et al. (2024), *RoFormer*: section 3.
# - Wang, Ma et al. (2019), *R-Transformer*; Wang, Tu et al. (2019), *Self-Attention with Structural
#   Position Representations*.
