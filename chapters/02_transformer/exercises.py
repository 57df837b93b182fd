# %% [markdown]
# # Exercises: the Transformer
#
# {{EXERCISES}} exercises in rising order, about {{MINUTES}} minutes in all. Write where a cell says
# so; the check under it says what is wrong. A check without a message has passed. Values in
# capitals may be your own: use their names. Where a question asks for words, a person marks them.
#
# <small>Book 2 · needs the pages of this chapter · no data, no GPU</small>

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

# %%
import math

import torch
from torch import nn

# %%
from deepdive.core.checks import missed, returned

# %% tags=["variant"]
from deepdive_book.course.assignment.variants import choose, number, rename, sample

# %% [markdown]
# ## 1. How large is a dot product?
#
# *Predict, then run, then explain · 12 min · easy · book 2.3.2*
#
# The entries of $q$ and $k$ are independent, with mean 0 and standard deviation {{SIGMA}}. **Before
# you measure**, write down the standard deviation of $q \cdot k$ for {{WIDTHS}} dimensions.

# %% tags=["variant"] exercise="dot-size"
WIDTHS = sorted(sample((16, 64, 256, 9, 25, 36, 49, 81, 100, 121, 144, 196, 225, 324), 3))
SIGMA = choose(2.0, 0.5, 1.5, 2.5, 3.0)  # never 1: its square would not show


# %% nbgrader={"grade_id": "dot-size", "solution": true}
def predicted():
    """Return your three numbers as {width: standard deviation}, for each of WIDTHS."""
    ### BEGIN SOLUTION
    return {d: SIGMA**2 * math.sqrt(d) for d in WIDTHS}
    ### END SOLUTION


# %% nbgrader={"grade_id": "dot-size-check", "grade": true, "points": 2} own="predict"
said = returned("predicted", predicted())
for d in WIDTHS:
    q, k = SIGMA * torch.randn(2, 5_000, d)
    measured = (q * k).sum(-1).std().item()
    assert abs(said[d] - measured) < 0.1 * measured, (
        f"at d={d} {missed(said[d], measured)}; which variance has one "
        "product of two entries, and a sum of d of them?"
    )
### BEGIN HIDDEN TESTS
assert all(abs(said[d] / (SIGMA**2 * math.sqrt(d)) - 1) < 0.03 for d in WIDTHS)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="dot-size"
# Variances of independent terms add, and the variance of a product of two of them with mean 0 is
# the product of their variances. The standard deviation is the square root of the variance.


# %% tags=["wrong-answer"] exercise="dot-size"
def predicted():
    return {d: SIGMA**4 * d for d in WIDTHS}  # the variance


# %% tags=["wrong-answer"] exercise="dot-size"
def predicted():
    return {d: SIGMA * math.sqrt(d) for d in WIDTHS}  # one factor's spread, not both


# %% tags=["wrong-answer"] exercise="dot-size"
def predicted():
    return dict.fromkeys(WIDTHS, 1.0)  # what it should be after dividing


# %% [markdown]
# What does that do to a softmax over 32 keys? Run this.


# %%
def largest_weight(d, divisor):
    """Return the mean of the largest of 32 weights, over 200 queries of d dimensions."""
    q, k = SIGMA * torch.randn(200, 1, d), SIGMA * torch.randn(200, 32, d)
    return ((q * k).sum(-1) / divisor).softmax(-1).amax(-1).mean().item()


for d in WIDTHS:
    plain, scaled = largest_weight(d, 1), largest_weight(d, math.sqrt(d))
    print(f"d={d}: largest weight {plain:.2f}; {scaled:.2f} after dividing by the root of d")

# %% [markdown]
# **Explain** in two or three sentences, with the numbers that you measured: what decides how large
# the largest weight is? Does the usual divisor, $\sqrt{d}$, do for your entries, and if not, which
# one does?

# %% [markdown] nbgrader={"grade_id": "dot-size-why", "grade": true, "solution": true, "points": 3}
# ### BEGIN SOLUTION
# The spread of the scores decides: at {{WIDTHS}} dimensions it grows with $\sqrt{d}$, and with it
# the largest weight, toward 1. Dividing by $\sqrt{d}$ takes the width out, so that the three
# numbers agree, but leaves a spread of {{SIGMA}} squared. Above 1, the weights are sharper than
# they need be; below, flatter. The divisor is $\sigma^2 \sqrt{d}$ with $\sigma$ = {{SIGMA}}.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="dot-size-why"
# - **3 points**: quotes its own numbers, says that the spread of the scores decides, and names the
#   divisor that brings it to 1.
# - **1 point**: right in one of these, or right without numbers of its own.
# - **0 points**: no reason, or a wrong one.

# %% [markdown]
# ## 2. The derivative of the softmax
#
# *Derive, checked by numbers · 10 min · medium · book 2.3.1*
#
# With $w = \mathrm{softmax}(s)$, derive $\partial w_i / \partial s_j$ on paper. Then write the
# whole matrix as a function of $w$ alone.

# %% tags=["variant"] exercise="jacobian"
SCORES = sample((0.5, -1.0, 2.0, 1.5, -0.5, 0.0, 3.0, -2.0), 3)
rename("softmax_jacobian", "jacobian_of_softmax", "softmax_slopes")


# %% nbgrader={"grade_id": "jacobian", "solution": true}
def softmax_jacobian(w):
    """Return the matrix (n, n) of d w[i] / d s[j] for weights w (n,)."""
    ### BEGIN SOLUTION
    return torch.diag(w) - w[:, None] * w[None, :]
    ### END SOLUTION


# %% nbgrader={"grade_id": "jacobian-check", "grade": true, "points": 3}
scores = torch.tensor(SCORES)
found = returned("softmax_jacobian", softmax_jacobian(scores.softmax(0)))
assert found.shape == (3, 3), f"three scores have a 3 x 3 matrix, yours is {tuple(found.shape)}"
assert found.sum(1).abs().max() < 1e-6, (
    "each row must sum to 0: adding the same number to all scores changes no weight"
)
exact = torch.autograd.functional.jacobian(lambda s: s.softmax(0), scores)
assert torch.allclose(found, exact, atol=1e-6), f"autograd says\n{exact}\nyours is\n{found}"
### BEGIN HIDDEN TESTS
five = torch.randn(5)
exact = torch.autograd.functional.jacobian(lambda s: s.softmax(0), five)
assert torch.allclose(softmax_jacobian(five.softmax(0)), exact, atol=1e-6)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="jacobian"
# Treat $i = j$ and $i \ne j$ apart. The sum in the denominator depends on every score.


# %% tags=["wrong-answer"] exercise="jacobian"
def softmax_jacobian(w):
    return torch.diag(w * (1 - w))  # forgets that the scores compete


# %% tags=["wrong-answer"] exercise="jacobian"
def softmax_jacobian(w):
    return torch.diag(w) - w[None, :] * torch.ones(len(w), 1)


# %% [markdown]
# ## 3. Attention with a mask
#
# *Code · 12 min · medium · book 2.3.2 and 2.4.2*
#
# Write scaled dot-product attention. `mask` is bool and broadcasts to (B, H, T, S); True = may
# attend. A query that may attend to nothing gets zeros. The check has two sentences of {{LENGTHS}}
# tokens, padded to {{PADDED}}.

# %% tags=["variant"] exercise="attention"
LENGTHS = sample((3, 2, 1), 2)
PADDED = number(4, 9)


# %% nbgrader={"grade_id": "attention", "solution": true}
def attention(q, k, v, mask):
    """Return (B, H, T, d) for q (B, H, T, d), k and v (B, H, S, d)."""
    ### BEGIN SOLUTION
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return weights.nan_to_num(0.0) @ v
    ### END SOLUTION


# %% nbgrader={"grade_id": "attention-check", "grade": true, "points": 3}
q, k, v = torch.randn(3, 2, 2, PADDED, 8)
real = (torch.arange(PADDED) < torch.tensor(LENGTHS)[:, None])[:, None, None]  # (B, 1, 1, S)
out = returned("attention", attention(q, k, v, real))
changed = v.clone()
changed[0, :, 3] = 100.0
assert torch.allclose(attention(q, k, changed, real)[0], out[0]), (
    "a value under the mask changed the output: is True *may attend* in your code?"
)
hidden_key = k.clone()
hidden_key[0, :, 3] = 100.0
assert torch.allclose(attention(q, hidden_key, v, real)[0], out[0]), (
    "a key under the mask changed the output: mask the scores, before the softmax"
)
assert torch.allclose(attention(q, k, torch.ones_like(v), real), torch.ones_like(q)), (
    "with all values 1 the output must be 1: do the weights of each query sum to one?"
)

# %% nbgrader={"grade_id": "attention-exact", "grade": true, "points": 2}
from deepdive.core import SoftmaxAttention

nobody = torch.zeros(2, 1, PADDED, PADDED, dtype=torch.bool)
alone = returned("attention", attention(q, k, v, nobody))
assert torch.equal(alone, torch.zeros_like(q)), (
    "a query that may attend to nothing must get zeros, not NaN and not an average"
)
assert torch.allclose(attention(q, k, v, real), SoftmaxAttention()(q, k, v, real), atol=1e-6), (
    "the library disagrees: have you divided by the square root of d?"
)
### BEGIN HIDDEN TESTS
a, b, c = torch.randn(1, 3, 2, 16), torch.randn(1, 3, 5, 16), torch.randn(1, 3, 5, 16)
some = torch.rand(1, 1, 2, 5) < 0.6
assert torch.allclose(attention(a, b, c, some), SoftmaxAttention()(a, b, c, some), atol=1e-6)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="attention"
# `masked_fill(~mask, float("-inf"))` before the softmax. What is the softmax of a row of minus
# infinities, and what does `nan_to_num` do?


# %% tags=["wrong-answer"] exercise="attention"
def attention(q, k, v, mask):
    weights = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1) * mask  # too late
    return weights @ v


# %% tags=["wrong-answer"] exercise="attention"
def attention(q, k, v, mask):
    scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).masked_fill(mask, float("-inf"))
    return scores.softmax(-1).nan_to_num(0.0) @ v  # True = hidden: torch's other convention


# %% tags=["wrong-answer"] exercise="attention"
def attention(q, k, v, mask):
    scores = (q @ k.transpose(-2, -1)).masked_fill(~mask, float("-inf"))
    return scores.softmax(-1).nan_to_num(0.0) @ v  # no square root


# %% [markdown]
# ## 4. Many heads
#
# *Code · 8 min · medium · book 2.4.2.2*
#
# A projection returns (B, T, H * d). Bring it to (B, H, T, d), so that each head has its own rows,
# and back. The check has {{HEADS}} heads of {{HEAD_WIDTH}} columns.

# %% tags=["variant"] exercise="heads"
HEADS = number(4, 7)
HEAD_WIDTH = number(2, 5)
rename("split_heads", "to_heads", "heads_apart")
rename("join_heads", "from_heads", "heads_together")


# %% nbgrader={"grade_id": "heads", "solution": true}
def split_heads(x, n_heads):
    """Return (B, H, T, d) for x (B, T, H * d); head h has columns h * d to (h + 1) * d."""
    ### BEGIN SOLUTION
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    ### END SOLUTION


def join_heads(x):
    """Return (B, T, H * d) for x (B, H, T, d): what `split_heads` took apart."""
    ### BEGIN SOLUTION
    return x.transpose(1, 2).flatten(2)
    ### END SOLUTION


# %% nbgrader={"grade_id": "heads-check", "grade": true, "points": 3}
x = torch.arange(2 * 3 * HEADS * HEAD_WIDTH).view(2, 3, HEADS * HEAD_WIDTH)
found = returned("split_heads", split_heads(x, HEADS))
assert found.shape == (2, HEADS, 3, HEAD_WIDTH), (
    f"expected {(2, HEADS, 3, HEAD_WIDTH)}, got {tuple(found.shape)}"
)
assert torch.equal(found[0, 1], x[0, :, HEAD_WIDTH : 2 * HEAD_WIDTH]), (
    f"head 1 must hold columns {HEAD_WIDTH} to {2 * HEAD_WIDTH - 1} of every token: the numbers of "
    "tokens are mixed up"
)
joined = returned("join_heads", join_heads(found))
assert torch.equal(joined, x), "taking heads apart and joining them must give x back"
### BEGIN HIDDEN TESTS
y = torch.randn(1, 5, 12)
assert torch.equal(split_heads(y, 3)[0, 2], y[0, :, 8:])
assert torch.equal(join_heads(split_heads(y, 3)), y)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="heads"
# First split the last axis into (H, d), then exchange two axes. A reshape alone exchanges nothing.


# %% tags=["wrong-answer"] exercise="heads"
def split_heads(x, n_heads):
    return x.reshape(x.shape[0], n_heads, x.shape[1], -1)  # right shape, wrong numbers


def join_heads(x):
    return x.reshape(x.shape[0], x.shape[2], -1)


# %% tags=["wrong-answer"] exercise="heads"
def split_heads(x, n_heads):
    return x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)  # every H-th column


def join_heads(x):
    return x.permute(0, 2, 3, 1).flatten(2)


# %% [markdown]
# ## 5. Positions
#
# *Code, then predict · 12 min · medium · book 2.4.1.2*
#
# Write the sinusoidal table with the base $b$ = {{BASE}} in place of 10000:
# $\mathrm{PE}[p, 2i] = \sin(p / b^{2i/d})$ and $\mathrm{PE}[p, 2i+1] = \cos(p / b^{2i/d})$.

# %% tags=["variant"] exercise="positions"
BASE = choose(2_000, 500, 1_000, 5_000, 20_000, 50_000, 100_000)
TABLE_WIDTH = choose(64, 24, 32, 48, 80, 96)
rename("sinusoids", "wave_table", "position_table")


# %% nbgrader={"grade_id": "positions", "solution": true}
def sinusoids(length, d_model):
    """Return the table (length, d_model) of the equation above."""
    ### BEGIN SOLUTION
    i = torch.arange(d_model // 2)
    angles = torch.arange(length)[:, None] / BASE ** (2 * i / d_model)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "positions-check", "grade": true, "points": 3}
from deepdive.positions import SinusoidalPosition

table = returned("sinusoids", sinusoids(50, 16))
assert table.shape == (50, 16), f"expected (50, 16), got {tuple(table.shape)}"
assert torch.allclose(table[0], torch.tensor([0.0, 1.0]).repeat(8)), (
    "position 0 has sin 0 = 0 and cos 0 = 1 in turn: are sines and cosines interleaved?"
)
assert abs(table[1, 2] - math.sin(BASE ** (-2 / 16))) < 1e-6, "the exponent is 2i / d_model"
### BEGIN HIDDEN TESTS
zeros = torch.zeros(1, 300, 32)
exact = SinusoidalPosition(32, base=BASE).embed(zeros, torch.arange(300))[0]
assert torch.allclose(sinusoids(300, 32), exact, atol=1e-4)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="positions"
# One column of positions divided by one row of wavelengths gives all angles. Stack sines and
# cosines on a new last axis, then flatten it.


# %% tags=["wrong-answer"] exercise="positions"
def sinusoids(length, d_model):
    i = torch.arange(d_model // 2)
    angles = torch.arange(length)[:, None] / BASE ** (2 * i / d_model)
    return torch.cat([angles.sin(), angles.cos()], -1)  # two blocks


# %% tags=["wrong-answer"] exercise="positions"
def sinusoids(length, d_model):
    i = torch.arange(d_model // 2)
    angles = torch.arange(length)[:, None] / BASE ** (i / d_model)  # i, not 2i
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


# %% tags=["wrong-answer"] exercise="positions"
def sinusoids(length, d_model):
    i = torch.arange(d_model // 2)
    angles = torch.arange(length)[:, None] / 10_000 ** (2 * i / d_model)  # the paper's base
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


# %% [markdown]
# **Predict**: in a table of {{TABLE_WIDTH}} columns with your base, after how many positions does
# the last pair of columns begin again?


# %% nbgrader={"grade_id": "wave", "solution": true}
def longest_wave():
    """Return the number of positions, whole or not, after which the last pair repeats."""
    ### BEGIN SOLUTION
    return 2 * math.pi * BASE ** ((TABLE_WIDTH - 2) / TABLE_WIDTH)
    ### END SOLUTION


# %% nbgrader={"grade_id": "wave-check", "grade": true, "points": 2} own="predict"
wave = returned("longest_wave", longest_wave())
step = SinusoidalPosition(TABLE_WIDTH, base=BASE).table(torch.tensor([1]))[0, -2].asin()
turns = wave * step.item() / (2 * math.pi)
assert abs(turns - 1) < 0.01, (
    f"after your {wave:.0f} positions the library's last pair has made "
    f"{'more' if turns > 1 else 'less'} than one turn: which exponent has the last pair, and how "
    "long is the wave of a sine?"
)

# %% [markdown] tags=["hint"] exercise="wave"
# A sine repeats when its angle has grown by $2\pi$. The last pair has $2i = d - 2$.


# %% tags=["wrong-answer"] exercise="wave"
def longest_wave():
    return 2 * math.pi * BASE  # the exponent of the last pair is not 1


# %% tags=["wrong-answer"] exercise="wave"
def longest_wave():
    return BASE ** ((TABLE_WIDTH - 2) / TABLE_WIDTH)  # radians are not positions


# %% [markdown]
# ## 6. Where does the square begin to hurt?
#
# *Derive, predict, measure, explain · 20 min · medium · book 2.4.2*
#
# A block of width $d$ has four projections, a feed-forward layer of {{MULTIPLE}} $d$ hidden units,
# and scores and mixing. The first two grow with $n$, the last with $n^2$. At which $n$ do scores
# and mixing cost as much as all the rest? Count with `share_of_the_square` if you like, and write
# the answer as a function of $d$.

# %% tags=["variant"] exercise="square"
MULTIPLE = choose(4, 1, 2, 3, 6, 8)
BLOCK_WIDTH = choose(64, 48, 80, 96, 112)
TOKENS = sorted(sample((128, 512, 1024, 192, 256, 384, 640, 768), 3))

# %%
from deepdive.core import FeedForward, MultiHeadAttention
from deepdive_book.kit.flops import count_flops


def share_of_the_square(n, d):
    """Count a block's operations; return the part that is scores and mixing."""
    attend, feed_forward = MultiHeadAttention(d, 1, bias=False), FeedForward(d, MULTIPLE * d)
    x = torch.randn(1, n, d)
    with torch.no_grad():
        every = count_flops(lambda: feed_forward(attend(x)))
        rest = count_flops(lambda: (attend.q(x), attend.kv(x), attend.out(x), feed_forward(x)))
    return (every - rest) / every


# %% nbgrader={"grade_id": "square", "solution": true}
def break_even(d_model):
    """Return the number of tokens at which scores and mixing cost as much as all the rest."""
    ### BEGIN SOLUTION
    return (2 + MULTIPLE) * d_model  # 2 n^2 d multiplications against (4 + 2 MULTIPLE) n d^2
    ### END SOLUTION


# %% nbgrader={"grade_id": "square-check", "grade": true, "points": 3}
share = share_of_the_square(returned("break_even", break_even(32)), 32)
assert abs(share - 0.5) < 0.03, (
    f"at your n, scores and mixing are {share:.0%} of all operations; it should be half"
)
### BEGIN HIDDEN TESTS
assert abs(share_of_the_square(break_even(80), 80) - 0.5) < 0.03, "your n is right for 32 alone"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="square"
# One projection multiplies (n, d) by (d, d), the feed-forward layer (n, d) by (d, {{MULTIPLE}} d)
# and back. The scores multiply (n, d) by (d, n); the mixing is as large.


# %% tags=["wrong-answer"] exercise="square"
def break_even(d_model):
    return 2 * d_model  # forgets the feed-forward layer


# %% tags=["wrong-answer"] exercise="square"
def break_even(d_model):
    return (4 + 2 * MULTIPLE) * d_model  # counts the scores, forgets the mixing


# %% tags=["wrong-answer"] exercise="square"
def break_even(d_model):
    return 32 * (2 + MULTIPLE)  # right for one width only


# %% [markdown]
# **Predict**: which part of all operations are scores and mixing at {{TOKENS}} tokens, in a block
# of width {{BLOCK_WIDTH}}?


# %% nbgrader={"grade_id": "shares", "solution": true}
def shares():
    """Return {n: part} for each n of TOKENS and the width BLOCK_WIDTH, parts between 0 and 1."""
    ### BEGIN SOLUTION
    return {n: n / (n + (2 + MULTIPLE) * BLOCK_WIDTH) for n in TOKENS}
    ### END SOLUTION


# %% nbgrader={"grade_id": "shares-check", "grade": true, "points": 2} own="predict"
said = returned("shares", shares())
for n in TOKENS:
    counted = share_of_the_square(n, BLOCK_WIDTH)
    assert abs(said[n] - counted) < 0.02, (
        f"at {n} tokens {missed(said[n], counted, '.2f')}; with x = n divided "
        "by the break-even, scores and mixing cost x times the rest"
    )

# %% [markdown] tags=["hint"] exercise="shares"
# Let the rest cost 1 at any $n$ that you choose. What do scores and mixing cost there?


# %% tags=["wrong-answer"] exercise="shares"
def shares():
    return {n: n / (n + 2 * BLOCK_WIDTH) for n in TOKENS}  # forgets the feed-forward layer


# %% tags=["wrong-answer"] exercise="shares"
def shares():
    return {n: n / ((2 + MULTIPLE) * BLOCK_WIDTH) for n in TOKENS}  # of the rest, not of all


# %% [markdown]
# Operations are not seconds. **Measure** on your machine.

# %%
from time import perf_counter


def milliseconds(part, x):
    """Return the shortest of five runs of `part` on `x`."""
    times = []
    for _ in range(5):
        start = perf_counter()
        part(x)
        times.append(1000 * (perf_counter() - start))
    return min(times)


layer = MultiHeadAttention(BLOCK_WIDTH, 1, bias=False).requires_grad_(False)
feed_forward = FeedForward(BLOCK_WIDTH, MULTIPLE * BLOCK_WIDTH).requires_grad_(False)
for n in TOKENS:
    x = torch.randn(1, n, BLOCK_WIDTH)
    square = milliseconds(lambda x: layer.mechanism(x[None], x[None], x[None]), x)
    rest = milliseconds(lambda x: (layer.q(x), layer.kv(x), layer.out(x), feed_forward(x)), x)
    print(f"n={n}: scores and mixing {square:.2f} ms, the rest {rest:.2f} ms")

# %% [markdown]
# **Explain** in three or four sentences, with the times that you measured: which of your lengths
# lie beyond the break-even in operations, and which in time? What costs time and is not in the
# count?

# %% [markdown] nbgrader={"grade_id": "square-why", "grade": true, "solution": true, "points": 3}
# ### BEGIN SOLUTION
# In operations the break-even lies at {{MULTIPLE}} + 2 times {{BLOCK_WIDTH}} tokens; compare with
# {{TOKENS}}. In time it comes elsewhere: the softmax, and writing and reading $n^2$ scores, take
# time and are not counted, a kernel that keeps scores in the cache saves some of it, and at short
# lengths what every call costs, at any length, hides both.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="square-why"
# - **3 points**: sets its own times beside its own shares, length by length, and names a cost that
#   fits them.
# - **1 point**: has its own times, or a cost, but does not bring the two together.
# - **0 points**: no number that was measured.

# %% [markdown]
# ## 7. A loss that is wrong
#
# *Find and fix a planted bug, explain · 19 min · hard · book 2.4.2.3*
#
# A model is trained on `broken_loss`; it writes nonsense. Measure what the loss says of models that
# you know, find the bug, and fix it in `mended_loss`. (The models are right: they are causal.)

# %% tags=["variant"] exercise="loss"
VOCABULARY = number(10, 30)
SURE = choose(20.0, 14.0, 16.0, 18.0, 22.0, 25.0)


# %% tags=["bug"] exercise="loss" bug="each token is its own label: no shift" caught="repeats"
def broken_loss(model, tokens):
    """Return the mean cross-entropy of each token (B, T) given the tokens before it."""
    logits = model(tokens)  # (B, T, V)
    return nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())


# %% tags=["bug"] exercise="loss" bug="shifted the wrong way: predicts the past" caught="adds one"
def broken_loss(model, tokens):
    """Return the mean cross-entropy of each token (B, T) given the tokens before it."""
    logits = model(tokens[:, 1:])  # (B, T - 1, V)
    return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, :-1].flatten())


# %% tags=["bug"] exercise="loss" bug="shifted by two: the next token but one" caught="adds one"
def broken_loss(model, tokens):
    """Return the mean cross-entropy of each token (B, T) given the tokens before it."""
    logits = model(tokens)[:, :-2]  # (B, T - 2, V)
    return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 2:].flatten())


# %% tags=["bug"] exercise="loss" bug="the softmax is taken twice" caught="adds one"
def broken_loss(model, tokens):
    """Return the mean cross-entropy of each token (B, T) given the tokens before it."""
    found = model(tokens[:, :-1]).softmax(-1)  # (B, T - 1, V)
    return nn.functional.cross_entropy(found.flatten(0, 1), tokens[:, 1:].flatten())


# %% tags=["bug"] exercise="loss" bug="a reshape where axes must be exchanged" caught="adds one"
def broken_loss(model, tokens):
    """Return the mean cross-entropy of each token (B, T) given the tokens before it."""
    logits = model(tokens[:, :-1])  # (B, T - 1, V), and torch wants (B, V, T - 1)
    return nn.functional.cross_entropy(
        logits.reshape(len(tokens), -1, tokens.shape[1] - 1), tokens[:, 1:]
    )


# %% tags=["bug"] exercise="loss" bug="a sum over tokens, no mean" caught="knows nothing"
def broken_loss(model, tokens):
    """Return the mean cross-entropy of each token (B, T) given the tokens before it."""
    logits = model(tokens[:, :-1])  # (B, T - 1, V)
    every = nn.functional.cross_entropy(
        logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction="sum"
    )
    return every / len(tokens)


# %%
class Adds(nn.Module):
    """Is nearly sure that `step` + the last token comes next, and can see no other token.

    Its logits are SURE for that one and 0 for all others; `step=None`: 0 for all.
    """

    def __init__(self, step):
        super().__init__()
        self.step = step

    def forward(self, tokens):
        sure = SURE if self.step is not None else 0.0
        following = (tokens + (self.step or 0)) % VOCABULARY
        return sure * nn.functional.one_hot(following, VOCABULARY).float()


counting = torch.arange(25)[None] % VOCABULARY  # 0, 1, 2, ...
for step in (-1, 0, 1, 2, None):
    name = "knows nothing" if step is None else f"adds {step}"
    print(f"{name}: {broken_loss(Adds(step), counting):.2f}")


# %% nbgrader={"grade_id": "loss", "solution": true}
def mended_loss(model, tokens):
    """Return the mean cross-entropy of tokens 1 .. T - 1, each given all tokens before it."""
    ### BEGIN SOLUTION
    logits = model(tokens[:, :-1])
    return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    ### END SOLUTION


# %% nbgrader={"grade_id": "loss-check", "grade": true, "points": 3}
assert returned("mended_loss", mended_loss(Adds(0), counting)) > 1, (
    "a model that repeats the token it reads gets a low loss, but no token here comes twice running"
)
assert mended_loss(Adds(1), counting) < 0.01, (
    "0, 1, 2, ... : a model that adds one predicts each *next* token, so its loss must be near 0"
)
assert abs(mended_loss(Adds(None), counting) - math.log(VOCABULARY)) < 1e-3, (
    f"a model that knows nothing pays log {VOCABULARY} = {math.log(VOCABULARY):.2f} for each "
    "token, so that much on average, however long the text"
)
### BEGIN HIDDEN TESTS
back = counting.flip(1)
assert mended_loss(Adds(-1), back) < 0.01 < SURE - 1 < mended_loss(Adds(1), back)
pair = torch.tensor([[1, 2], [1, 9]])
assert abs(mended_loss(Adds(1), pair) - SURE / 2) < 0.1
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="loss"
# Which token is the label of position $t$? What has the model read there? What must a model pay
# that knows nothing? Compare these three with what you measured.

# %% tags=["wrong-answer"] exercise="loss"
mended_loss = broken_loss  # the planted bug, as it came


# %% tags=["wrong-answer"] exercise="loss"
def mended_loss(model, tokens):
    return nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())


# %% tags=["wrong-answer"] exercise="loss"
def mended_loss(model, tokens):
    logits = model(tokens[:, 1:])  # shifted the wrong way: predicts the past
    return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, :-1].flatten())


# %% [markdown]
# **Explain**: give the five numbers that `broken_loss` printed and the five that a right loss must
# give. Which of them names the bug, and why exactly that number? What would the curve of a training
# on `broken_loss` have looked like?

# %% [markdown] nbgrader={"grade_id": "loss-why", "grade": true, "solution": true, "points": 3}
# ### BEGIN SOLUTION
# The bug: {{bug of loss}}. A right loss gives {{SURE}} to each model that is sure of a wrong token
# (adds -1, 0 and 2), nearly 0 to the one that adds one, and log {{VOCABULARY}} to the one that
# knows nothing. Where the shift is wrong, another step has the 0, and the curve falls toward it:
# to 0 at once, where the label can be read. A second softmax leaves logits between 0 and 1: no
# model comes near 0, and the curve stays high. A reshape mixes places and classes, and the curve
# stays near chance. A sum over 24 tokens is 24 times the mean: a curve of the right form, that
# grows with the length.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="loss-why"
# - **3 points**: both sets of five, one wrong number of its own derived from the bug, and a curve
#   that fits.
# - **1 point**: names the bug, and derives no number from it.
# - **0 points**: another bug, or none.

# %% [markdown]
# ## 8. Label smoothing, without the padding
#
# *Extend · 12 min · hard · book 2.4, Vaswani et al. section 5.4*
#
# Give the right token the probability $1 - \varepsilon + \varepsilon / V$ and every other one
# $\varepsilon / V$. Token {{PAD}} is padding, and must not count.

# %% tags=["variant"] exercise="smoothing"
PAD = number(1, 6)
EPSILON = choose(0.1, 0.05, 0.15, 0.2, 0.3)
# Two sentences of tokens below 7, padded.
TARGETS = [
    [*sample([i for i in range(7) if i != PAD], 3), PAD],
    [*sample([i for i in range(7) if i != PAD], 1), PAD, PAD, PAD],
]


# %% nbgrader={"grade_id": "smoothing", "solution": true}
def smoothed(logits, targets, epsilon):
    """Return the mean smoothed cross-entropy over real tokens; logits (B, T, V), targets (B, T)."""
    ### BEGIN SOLUTION
    log_p = logits.log_softmax(-1)
    right = -log_p.gather(-1, targets[..., None]).squeeze(-1)
    loss = (1 - epsilon) * right - epsilon * log_p.mean(-1)
    return loss[targets != PAD].mean()
    ### END SOLUTION


# %% nbgrader={"grade_id": "smoothing-check", "grade": true, "points": 3}
logits, targets = torch.randn(2, 4, 7), torch.tensor(TARGETS)
plain = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD)
sharp = returned("smoothed", smoothed(logits, targets, 0.0))
assert torch.allclose(sharp, plain), (
    "with epsilon 0 it must be the plain cross-entropy of the real tokens: does padding count?"
)
flat = torch.zeros(1, 1, 7)
assert abs(smoothed(flat, targets[:1, :1], EPSILON) - math.log(7)) < 1e-5, (
    "for a model that knows nothing the loss is log V, smoothed or not: do the targets sum to 1?"
)
theirs = nn.functional.cross_entropy(
    logits.flatten(0, 1), targets.flatten(), ignore_index=PAD, label_smoothing=EPSILON
)
assert torch.allclose(smoothed(logits, targets, EPSILON), theirs), f"torch says {theirs:.4f}"
### BEGIN HIDDEN TESTS
from deepdive.training.objectives import cross_entropy

many, ids = torch.randn(3, 6, 11), torch.randint(0, 11, (3, 6))
theirs = cross_entropy(many, ids, pad=PAD, smoothing=0.2)
assert torch.allclose(smoothed(many, ids, 0.2), theirs, atol=1e-5)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="smoothing"
# The smoothed loss is a mixture: $(1 - \varepsilon)$ times the plain loss, plus $\varepsilon$ times
# the mean of $-\log p$ over the vocabulary.


# %% tags=["wrong-answer"] exercise="smoothing"
def smoothed(logits, targets, epsilon):
    log_p = logits.log_softmax(-1)
    right = -log_p.gather(-1, targets[..., None]).squeeze(-1)
    return ((1 - epsilon) * right - epsilon * log_p.mean(-1)).mean()  # counts padding


# %% tags=["wrong-answer"] exercise="smoothing"
def smoothed(logits, targets, epsilon):
    log_p = logits.log_softmax(-1)
    right = -log_p.gather(-1, targets[..., None]).squeeze(-1)
    loss = (1 - epsilon) * right - epsilon * log_p.sum(-1)  # sums to more than 1
    return loss[targets != PAD].mean()


# %% tags=["wrong-answer"] exercise="smoothing"
def smoothed(logits, targets, epsilon):
    log_p = logits.log_softmax(-1)
    right = -log_p.gather(-1, targets[..., None]).squeeze(-1)
    loss = (1 - epsilon) * right - epsilon * log_p.mean(-1)
    return loss[targets != 0].mean()  # padding is 0 elsewhere, not here
