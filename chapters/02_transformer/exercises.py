# %% [markdown]
# # Exercises: the Transformer
#
# Eight exercises in rising order, an hour and a half in all. Write where a cell says so; the check
# under it says what is wrong. A check without a message has passed.
#
# <small>Book 2 · needs the pages of this chapter · no data, no GPU</small>

# %% tags=["setup"]
# Setup, the same on every page. On Colab it installs only what is missing, and never torch.
PROFILE = "auto"  # @param ["auto", "ci", "laptop", "gpu"]
SAVE_TO_DRIVE = False  # @param {type:"boolean"}
import subprocess
import sys
from importlib.util import find_spec

if "google.colab" in sys.modules and find_spec("deepdive") is None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "git+https://deepdive.example/deepdive.git"], check=True)
    for name in ("einops", "safetensors", "sacrebleu", "num2words", "babel"):
        if find_spec(name) is None:
            subprocess.run([*pip, name], check=True)
from deepdive.profile import setup

setup(PROFILE, drive=SAVE_TO_DRIVE)

# %%
import math

import torch
from torch import nn

# %% [markdown]
# ## 1. How large is a dot product?
#
# *Predict, then run · 4 min · easy · book 2.3.2*
#
# The entries of $q$ and $k$ are independent, with mean 0 and variance 1. **Before you measure**,
# write down the standard deviation of $q \cdot k$ for 16, 64 and 256 dimensions.


# %% nbgrader={"grade_id": "dot-size", "solution": true}
def predicted():
    """Return your three numbers as {16: ..., 64: ..., 256: ...}."""
    ### BEGIN SOLUTION
    return {16: 4.0, 64: 8.0, 256: 16.0}
    ### END SOLUTION


# %% nbgrader={"grade_id": "dot-size-check", "grade": true, "points": 2}
for d in (16, 64, 256):
    measured = (torch.randn(20_000, d) * torch.randn(20_000, d)).sum(-1).std().item()
    assert abs(predicted()[d] - measured) < 0.1 * measured, (
        f"at d={d} you said {predicted()[d]}, the machine measures {measured:.1f}; a sum of d "
        "independent terms of variance 1 has which variance?"
    )
### BEGIN HIDDEN TESTS
assert all(abs(predicted()[d] - math.sqrt(d)) < 0.4 for d in (16, 64, 256))
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="dot-size"
# Variances of independent terms add. The standard deviation is the square root of the variance.

# %% tags=["wrong-answer"] exercise="dot-size"
def predicted():
    return {16: 16.0, 64: 64.0, 256: 256.0}  # the variance


# %% tags=["wrong-answer"] exercise="dot-size"
def predicted():
    return {16: 1.0, 64: 1.0, 256: 1.0}  # what it would be after dividing


# %% [markdown]
# ## 2. The derivative of the softmax
#
# *Derive, checked by numbers · 10 min · medium · book 2.3.1*
#
# With $w = \mathrm{softmax}(s)$, derive $\partial w_i / \partial s_j$ on paper. Then write the
# whole matrix as a function of $w$ alone.


# %% nbgrader={"grade_id": "jacobian", "solution": true}
def softmax_jacobian(w):
    """Return the matrix (n, n) of d w[i] / d s[j] for weights w (n,)."""
    ### BEGIN SOLUTION
    return torch.diag(w) - w[:, None] * w[None, :]
    ### END SOLUTION


# %% nbgrader={"grade_id": "jacobian-check", "grade": true, "points": 3}
scores = torch.tensor([0.5, -1.0, 2.0])
found = softmax_jacobian(scores.softmax(0))
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
# *Write · 12 min · medium · book 2.3.2 and 2.4.2*
#
# Write scaled dot-product attention. `mask` is bool and broadcasts to (B, H, T, S); True = may
# attend. A query that may attend to nothing gets zeros.


# %% nbgrader={"grade_id": "attention", "solution": true}
def attention(q, k, v, mask):
    """Return (B, H, T, d) for q (B, H, T, d), k and v (B, H, S, d)."""
    ### BEGIN SOLUTION
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return weights.nan_to_num(0.0) @ v
    ### END SOLUTION


# %% nbgrader={"grade_id": "attention-check", "grade": true, "points": 3}
q, k, v = torch.randn(3, 2, 2, 4, 8).unbind(0)
real = torch.tensor([[True, True, True, False], [True, True, False, False]])[:, None, None]
out = attention(q, k, v, real)
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
from deepdive.attention import SoftmaxAttention

nobody = torch.zeros(2, 1, 4, 4, dtype=torch.bool)
assert torch.equal(attention(q, k, v, nobody), torch.zeros_like(q)), (
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
# *Write · 8 min · medium · book 2.4.2.2*
#
# A projection returns (B, T, H * d). Bring it to (B, H, T, d), so that each head has its own rows,
# and back.


# %% nbgrader={"grade_id": "heads", "solution": true}
def split(x, n_heads):
    """Return (B, H, T, d) for x (B, T, H * d); head h has columns h * d to (h + 1) * d."""
    ### BEGIN SOLUTION
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    ### END SOLUTION


def join(x):
    """Return (B, T, H * d) for x (B, H, T, d): what `split` took apart."""
    ### BEGIN SOLUTION
    return x.transpose(1, 2).flatten(2)
    ### END SOLUTION


# %% nbgrader={"grade_id": "heads-check", "grade": true, "points": 3}
x = torch.arange(2 * 3 * 8).view(2, 3, 8)
assert split(x, 4).shape == (2, 4, 3, 2), f"expected (2, 4, 3, 2), got {tuple(split(x, 4).shape)}"
assert torch.equal(split(x, 4)[0, 1], x[0, :, 2:4]), (
    "head 1 must hold columns 2 and 3 of every token: the numbers of tokens are mixed up"
)
assert torch.equal(join(split(x, 4)), x), "join(split(x)) must be x"
### BEGIN HIDDEN TESTS
y = torch.randn(1, 5, 12)
assert torch.equal(split(y, 3)[0, 2], y[0, :, 8:])
assert torch.equal(join(split(y, 3)), y)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="heads"
# First split the last axis into (H, d), then exchange two axes. A reshape alone exchanges nothing.

# %% tags=["wrong-answer"] exercise="heads"
def split(x, n_heads):
    return x.reshape(x.shape[0], n_heads, x.shape[1], -1)  # right shape, wrong numbers


def join(x):
    return x.reshape(x.shape[0], x.shape[2], -1)


# %% tags=["wrong-answer"] exercise="heads"
def split(x, n_heads):
    return x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)  # every H-th column


def join(x):
    return x.permute(0, 2, 3, 1).flatten(2)


# %% [markdown]
# ## 5. Positions
#
# *Write · 8 min · medium · book 2.4.1.2*
#
# Write the sinusoidal table: $\mathrm{PE}[p, 2i] = \sin(p / 10000^{2i/d})$ and
# $\mathrm{PE}[p, 2i+1] = \cos(p / 10000^{2i/d})$.


# %% nbgrader={"grade_id": "positions", "solution": true}
def sinusoids(length, d_model):
    """Return the table (length, d_model) of the equation above."""
    ### BEGIN SOLUTION
    i = torch.arange(d_model // 2)
    angles = torch.arange(length)[:, None] / 10_000 ** (2 * i / d_model)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "positions-check", "grade": true, "points": 3}
table = sinusoids(50, 16)
assert table.shape == (50, 16), f"expected (50, 16), got {tuple(table.shape)}"
assert torch.allclose(table[0], torch.tensor([0.0, 1.0]).repeat(8)), (
    "position 0 has sin 0 = 0 and cos 0 = 1 in turn: are sines and cosines interleaved?"
)
assert abs(table[1, 2] - math.sin(10_000 ** (-2 / 16))) < 1e-6, "the exponent is 2i / d_model"
### BEGIN HIDDEN TESTS
from deepdive.positions import SinusoidalPosition

zeros = torch.zeros(1, 300, 32)
exact = SinusoidalPosition(32).embed(zeros, torch.arange(300))[0]
assert torch.allclose(sinusoids(300, 32), exact, atol=1e-4)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="positions"
# One column of positions divided by one row of wavelengths gives all angles. Stack sines and
# cosines on a new last axis, then flatten it.

# %% tags=["wrong-answer"] exercise="positions"
def sinusoids(length, d_model):
    i = torch.arange(d_model // 2)
    angles = torch.arange(length)[:, None] / 10_000 ** (2 * i / d_model)
    return torch.cat([angles.sin(), angles.cos()], -1)  # two blocks


# %% tags=["wrong-answer"] exercise="positions"
def sinusoids(length, d_model):
    i = torch.arange(d_model // 2)
    angles = torch.arange(length)[:, None] / 10_000 ** (i / d_model)  # i, not 2i
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


# %% [markdown]
# ## 6. Where does the square begin to hurt?
#
# *Measure · 12 min · medium · book 2.4.2*
#
# A self-attention layer pays for four projections, and for scores and mixing. The first grow with
# $n$, the second with $n^2$. For width $d$, at which $n$ do both cost the same? Count with
# `count_flops` if you like, and write the answer as a function of $d$.


# %% nbgrader={"grade_id": "square", "solution": true}
def break_even(d_model):
    """Return the number of tokens at which scores and mixing cost as much as the projections."""
    ### BEGIN SOLUTION
    return 2 * d_model  # 2 n^2 d multiplications against 4 n d^2
    ### END SOLUTION


# %% nbgrader={"grade_id": "square-check", "grade": true, "points": 3}
from deepdive.attention import MultiHeadAttention
from deepdive.flops import count_flops


def share_of_the_square(n, d):
    """Count a layer's operations; return the part that is not projections."""
    layer, x = MultiHeadAttention(d, 1, bias=False), torch.randn(1, n, d)
    with torch.no_grad():
        every = count_flops(lambda: layer(x))
        projections = count_flops(lambda: (layer.q(x), layer.kv(x), layer.out(x)))
    return (every - projections) / every


share = share_of_the_square(break_even(32), 32)
assert abs(share - 0.5) < 0.03, (
    f"at your n, scores and mixing are {share:.0%} of all operations; it should be half"
)
### BEGIN HIDDEN TESTS
assert abs(share_of_the_square(break_even(80), 80) - 0.5) < 0.03, "your n is right for 32 alone"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="square"
# One projection multiplies (n, d) by (d, d). The scores multiply (n, d) by (d, n).

# %% tags=["wrong-answer"] exercise="square"
def break_even(d_model):
    return d_model  # counts the scores, forgets the mixing, or two projections


# %% tags=["wrong-answer"] exercise="square"
def break_even(d_model):
    return 64  # right for one width only


# %% [markdown]
# ## 7. A model that is too good
#
# *Find and mend a planted bug · 12 min · hard · book 2.4.2.3*
#
# The loss of this language model falls to zero in seconds, and what it writes is nonsense. Find the
# bug and mend it in `mended_loss`. (The model itself is right: it is causal.)


# %%
def broken_loss(model, tokens):
    """Return the mean cross-entropy of each token (B, T) given the tokens before it."""
    logits = model(tokens)  # (B, T, V)
    return nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())


# %% nbgrader={"grade_id": "shift", "solution": true}
def mended_loss(model, tokens):
    """Return the mean cross-entropy of tokens 1 .. T - 1, each given all tokens before it."""
    ### BEGIN SOLUTION
    logits = model(tokens[:, :-1])
    return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    ### END SOLUTION


# %% nbgrader={"grade_id": "shift-check", "grade": true, "points": 3}
class Sure(nn.Module):
    """Gives nearly all probability to (token + step) % 10, and can only see the last token."""

    def __init__(self, step):
        super().__init__()
        self.step = step

    def forward(self, tokens):
        return 20.0 * nn.functional.one_hot((tokens + self.step) % 10, 10).float()


counting = torch.arange(12)[None] % 10
assert mended_loss(Sure(0), counting) > 5, (
    "a model that repeats the token it reads gets a low loss: that is the bug"
)
assert mended_loss(Sure(1), counting) < 0.01, (
    "0, 1, 2, ... : a model that adds one predicts each *next* token, so its loss must be near 0"
)
### BEGIN HIDDEN TESTS
back = counting.flip(1)
assert mended_loss(Sure(-1), back) < 0.01 < 5 < mended_loss(Sure(1), back)
pair = torch.tensor([[1, 2], [1, 9]])
assert abs(mended_loss(Sure(1), pair) - 10) < 0.1
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="shift"
# Which token is the label of position $t$? What has the model read at position $t$?

# %% tags=["wrong-answer"] exercise="shift"
def mended_loss(model, tokens):
    return nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())


# %% tags=["wrong-answer"] exercise="shift"
def mended_loss(model, tokens):
    logits = model(tokens[:, 1:])  # shifted the wrong way: predicts the past
    return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, :-1].flatten())


# %% [markdown]
# ## 8. Label smoothing, without the padding
#
# *Extend · 12 min · hard · book 2.4, Vaswani et al. section 5.4*
#
# Give the right token the probability $1 - \varepsilon + \varepsilon / V$ and every other one
# $\varepsilon / V$. Token 0 is padding, and must not count.


# %% nbgrader={"grade_id": "smoothing", "solution": true}
def smoothed(logits, targets, epsilon):
    """Return the mean smoothed cross-entropy over real tokens; logits (B, T, V), targets (B, T)."""
    ### BEGIN SOLUTION
    log_p = logits.log_softmax(-1)
    right = -log_p.gather(-1, targets[..., None]).squeeze(-1)
    loss = (1 - epsilon) * right - epsilon * log_p.mean(-1)
    return loss[targets != 0].mean()
    ### END SOLUTION


# %% nbgrader={"grade_id": "smoothing-check", "grade": true, "points": 3}
logits, targets = torch.randn(2, 4, 7), torch.tensor([[3, 5, 1, 0], [2, 0, 0, 0]])
plain = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)
assert torch.allclose(smoothed(logits, targets, 0.0), plain), (
    "with epsilon 0 it must be the plain cross-entropy of the real tokens: does padding count?"
)
flat = torch.zeros(1, 1, 7)
assert abs(smoothed(flat, torch.tensor([[3]]), 0.1) - math.log(7)) < 1e-5, (
    "for a model that knows nothing the loss is log V, smoothed or not: do the targets sum to 1?"
)
theirs = nn.functional.cross_entropy(
    logits.flatten(0, 1), targets.flatten(), ignore_index=0, label_smoothing=0.1
)
assert torch.allclose(smoothed(logits, targets, 0.1), theirs), f"torch says {theirs:.4f}"
### BEGIN HIDDEN TESTS
from deepdive.objectives import cross_entropy

many, ids = torch.randn(3, 6, 11), torch.randint(0, 11, (3, 6))
assert torch.allclose(smoothed(many, ids, 0.2), cross_entropy(many, ids, smoothing=0.2), atol=1e-5)
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
    return loss[targets != 0].mean()
