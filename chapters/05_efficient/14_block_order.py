# %% [markdown] tags=["slide"]
# # Block order and architecture search: Macaron, Sandwich, DARTS
#
# A Transformer alternates self-attention and feed-forward sublayers. The **Macaron Transformer**
# puts attention between two half feed-forward steps, the **Sandwich Transformer** moves attention
# to the bottom and feed-forward layers to the top, and **DARTS** lets gradient descent choose.
# **With equal parameters and compute, does the block order matter, and can a search find a good
# one?**
#
# **What it is.** A **sublayer order** is a string such as `sfsfsf`, read from the input to the
# output, where s is a self-attention sublayer and f a feed-forward sublayer.
# [Macaron](https://arxiv.org/abs/1906.02762) and [Sandwich](https://arxiv.org/abs/1911.03864) are
# two such orders, designed by hand. [DARTS](https://arxiv.org/abs/1806.09055) (differentiable
# architecture search) replaces each sublayer by a weighted sum of candidates and learns the
# weights.
#
# **What you'll be able to do.** Build a stack from any order string, implement DARTS's mixed
# operation and its alternating search, and test an architecture claim against the obvious
# baselines: all other orders, random search, longer training.
#
# <details><summary><b>Short answer</b></summary>
#
# SHORT_ANSWER
#
# </details>
#
# <small>Prerequisites: [residuals and norms](../02_transformer/09_residuals_norms.ipynb), [the
# decoder](../02_transformer/12_decoder.ipynb), [learning rates and
# ablations](../06a_text/02_gpt2_to_llama.ipynb) · 16 min · runs on a laptop; results of the long
# runs are included · book table 1.1</small>

# %% Four ways to arrange sublayers [markdown] tags=["slide"] figure="ch05.sublayer_orders"
# ![Three stacks of equal size and one mixed layer. Transformer: attention and feed-forward
# alternate, three times. Macaron: each attention sublayer is between two feed-forward sublayers of
# half the size. Sandwich with k = 1: attention, attention, feed-forward, attention, feed-forward,
# feed-forward. DARTS: self-attention, convolution, feed-forward, and identity side by side, with
# weights of 0.10, 0.25, 0.60, and 0.05, and their weighted sum.](figures/14_block_order.svg)
#
# *Orders of sublayers, from the input (bottom) to the output (top); each box has its own residual
# connection and norm. The first three stacks have the same weight matrices in total. Right: one
# mixed layer during DARTS's search, with invented weights.*

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

# %% [markdown]
# ## The three methods
#
# ### Macaron: two half steps
#
# [Lu et al. (2019)](https://arxiv.org/abs/1906.02762) view a residual block as a numerical step of
# a differential equation, in which attention moves the tokens toward each other and the
# feed-forward layer moves each token separately. A more accurate scheme splits the second part:
# half a step before attention, half a step after. So a Macaron block computes
#
# $$x \leftarrow x + \tfrac12 \mathrm{FF}_1(x), \qquad x \leftarrow x + \mathrm{Attn}(x), \qquad
# x \leftarrow x + \tfrac12 \mathrm{FF}_2(x).$$
#
# We give each of the two feed-forward layers half of the hidden units, so the block has as many
# weights as before. The [Conformer](../06c_speech/05_alignment.ipynb), a common speech encoder,
# uses this block with a convolution after attention.
#
# ### Sandwich: attention first, feed-forward last
#
# [Press et al. (2020)](https://arxiv.org/abs/1911.03864) treat the sublayers of a language model as
# a sequence that can be reordered. The **sandwich coefficient** $k$ moves $k$ attention sublayers
# to the bottom and $k$ feed-forward sublayers to the top:
#
# $$s^k \, (sf)^{n-k} \, f^k .$$
#
# With $k = 0$ this is the **interleaved** order of the Transformer. No weight is added or removed.
#
# ### DARTS: a weighted sum of candidates
#
# [Liu et al. (2019)](https://arxiv.org/abs/1806.09055) make the choice of a layer differentiable.
# A **mixed operation** runs all candidate layers $o_i$ and adds their outputs, weighted by the
# softmax of **architecture parameters** $\alpha_i$:
#
# $$\bar o(x) = \sum_i \mathrm{softmax}(\alpha)_i \; o_i(x).$$
#
# The model of mixed operations is the **supernet**. Its search is **bilevel**: the weights minimize
# the loss on one part of the training data, the $\alpha$ on another part. The **first-order** form
# alternates single gradient steps of both and treats the weights as constants in the step of
# $\alpha$. At the end, **discretization** replaces each mixed operation by the candidate with the
# largest $\alpha$, and this stack is trained again from scratch.

# %% [markdown] tags=["slide"]
# ## By hand: three orders and one mixed operation
#
# **Orders.** Take a residual stream of one number, $x = 1$, and toy sublayers without norms:
# attention adds $x$ (so it doubles the stream), the feed-forward layer adds 2, and its half step
# adds 1.
#
# | order | stream after each sublayer |
# |---|---|
# | sf | $1 \to 2 \to 4$ |
# | fs | $1 \to 3 \to 6$ |
# | Macaron, hsh | $1 \to 2 \to 4 \to 5$ |
# | sfsf, interleaved | $1 \to 2 \to 4 \to 8 \to 10$ |
# | ssff, Sandwich with $k = 1$ | $1 \to 2 \to 4 \to 6 \to 8$ |
#
# The same sublayers give different results in a different order, and Macaron's 5 is exactly halfway
# between the 4 of sf and the 6 of fs.
#
# **A mixed operation.** For $x = 4$ the candidates return 8 (attention), 6 (feed-forward), and 4
# (identity). With $\alpha = (0, \ln 2, 0)$ the softmax weights are $\tfrac14, \tfrac12, \tfrac14$,
# so the output is $2 + 3 + 1 = 6$. Suppose the target is 8 and the loss is $\tfrac12 (y - 8)^2$,
# whose derivative at $y = 6$ is $-2$. The derivative with respect to $\alpha_i$ is $-2 \, w_i (o_i
# - y)$, where $w_i$ is the softmax weight: $-2 \cdot \tfrac14 \cdot 2 = -1$ for attention, 0 for
# the feed-forward layer, and $+1$ for the identity. A gradient step therefore raises attention's
# $\alpha$, because attention's output is on the target's side of the mixture, and lowers the
# identity's.

# %% [markdown]
# ## In code: a stack for any order
#
# The letter h is Macaron's half step. In the comments, B is the batch size, T the number of tokens,
# H the number of heads, and d the width.

# %% Any order of sublayers, and a mixed operation tags=["concept", "slide"]
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, d, heads=2):
        super().__init__()
        self.heads = heads
        self.q, self.kv, self.out = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)

    def forward(self, x):  # (B, T, d), causal
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, H, T, d / H)
                   for y in (self.q(x), *self.kv(x).chunk(2, -1)))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2))  # (B, T, d)


class FeedForward(nn.Module):
    def __init__(self, d, d_ff):
        super().__init__()
        self.inner, self.out = nn.Linear(d, d_ff), nn.Linear(d_ff, d)

    def forward(self, x):
        return self.out(self.inner(x).relu())


class Sublayer(nn.Module):
    """x + step * sublayer(norm(x)): s attention, f feed-forward, h half-step feed-forward."""

    def __init__(self, letter, d, d_ff):
        super().__init__()
        self.norm, self.step = nn.LayerNorm(d), 0.5 if letter == "h" else 1.0
        units = d_ff // 2 if letter == "h" else d_ff
        self.sublayer = Attention(d) if letter == "s" else FeedForward(d, units)

    def forward(self, x):
        return x + self.step * self.sublayer(self.norm(x))


def stack(order, d, d_ff):  # "sf" * 3: Transformer, "hsh" * 3: Macaron
    return nn.Sequential(*(Sublayer(letter, d, d_ff) for letter in order), nn.LayerNorm(d))


def sandwich(n, k):
    return "s" * k + "sf" * (n - k) + "f" * k


class MixedOperation(nn.Module):
    def __init__(self, candidates):
        super().__init__()
        self.candidates = nn.ModuleList(candidates)
        self.alpha = nn.Parameter(torch.zeros(len(candidates)))

    def forward(self, x):
        return sum(w * o(x) for w, o in zip(self.alpha.softmax(0), self.candidates, strict=True))

# %% The examples by hand tags=["nbval-check-output"]
class Toy(nn.Module):
    """One sublayer of the example, residual connection included."""

    def __init__(self, letter):
        super().__init__()
        self.letter = letter

    def forward(self, x):
        return {"s": 2 * x, "f": x + 2, "h": x + 1, "i": x}[self.letter]


for order in ("sf", "fs", "hsh", sandwich(2, 0), sandwich(2, 1)):
    print(order, int(nn.Sequential(*map(Toy, order))(torch.tensor(1))))
mixed = MixedOperation([Toy("s"), Toy("f"), Toy("i")])
mixed.alpha.data = torch.tensor([1.0, 2.0, 1.0]).log()
y = mixed(torch.tensor(4.0))
((y - 8) ** 2 / 2).backward()
print("mixed", round(y.item(), 4), "gradient of alpha", [round(g, 4) for g in mixed.alpha.grad.tolist()])

# %% [markdown]
# The next cell copies the weights of `deepdive`'s modules into ours and compares outputs and
# gradients: a Sandwich stack, a Macaron block, and a mixed layer.

# %% Equal to deepdive tags=["equals-library"]
from deepdive.core.masks import Causal
from deepdive.models.transformer.darts import MixedLayer
from deepdive.models.transformer.macaron import macaron_block
from deepdive.models.transformer.sandwich import sandwich_order, sublayer_stack

torch.manual_seed(0)
x = torch.randn(2, 7, 16, requires_grad=True)


def same(ours, theirs):
    (y, z), w = (ours(x), theirs(x, mask=Causal())), torch.randn(2, 7, 16)
    assert torch.allclose(y, z, atol=1e-5)
    grads = [torch.autograd.grad((out * w).sum(), x)[0] for out in (y, z)]
    assert torch.allclose(*grads, atol=1e-5)


def copy(ours, theirs, norm):
    ours.norm.load_state_dict(norm.state_dict())
    ours.sublayer.load_state_dict(theirs.state_dict())


assert sandwich(3, 1) == sandwich_order(3, 1) == "ssfsff"
ours, theirs = stack("ssfsff", 16, 64), sublayer_stack("ssfsff", 16, 2, 64)
for mine, other in zip(ours, theirs.blocks, strict=False):  # the seventh of ours is the final norm
    copy(mine, other.sublayer, other.residual.norm)
same(ours, theirs)
ours, theirs = stack("hsh", 16, 64)[:3], macaron_block(16, 2, 64)
for mine, name in zip(ours, theirs.order, strict=True):
    copy(mine, getattr(theirs, name), getattr(theirs, f"{name}_residual").norm)
same(ours, theirs)

# %% The mixed operation, gradients of alpha included tags=["equals-library"]
ours = MixedOperation([Sublayer("s", 16, 64), Sublayer("f", 16, 64), nn.Identity()])
parts = {letter: sublayer_stack(letter, 16, 2, 64).blocks[0] for letter in "sf"}
theirs = MixedLayer({**parts, "i": nn.Identity()})
for mine, other in zip(ours.candidates, parts.values(), strict=False):
    copy(mine, other.sublayer, other.residual.norm)
ours.alpha.data = theirs.alpha.data = torch.tensor([0.5, -1.0, 2.0])
same(ours, theirs)
losses = ours(x).pow(3).mean(), theirs(x, mask=Causal()).pow(3).mean()
alphas = [torch.autograd.grad(e, m.alpha)[0] for e, m in zip(losses, (ours, theirs), strict=True)]
assert torch.allclose(*alphas, atol=1e-6)
theirs.alpha.data = torch.tensor([0.0, -1e4, -1e4])  # one-hot: only attention is left
assert torch.allclose(theirs(x, mask=Causal()), parts["s"](x, mask=Causal()))
EXPERIMENTS
