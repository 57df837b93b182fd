# %% [markdown] tags=["slide"]
# # Block order and architecture search: Macaron, Sandwich, DARTS
#
# A Transformer alternates self-attention and feed-forward sublayers. The **Macaron Transformer**
# puts attention between two half feed-forward steps. The **Sandwich Transformer** moves some
# attention sublayers to the input and as many feed-forward sublayers to the output. **DARTS** lets
# gradient descent choose each sublayer. **With equal parameters and compute, does the block order
# matter, and can a search find a good one?**
#
# **What it is.** A **sublayer order** is a string such as `sfsfsf`, where s is a self-attention
# sublayer, f is a feed-forward sublayer, and the first letter is next to the input.
# [Macaron](https://arxiv.org/abs/1906.02762) and [Sandwich](https://arxiv.org/abs/1911.03864) are
# two such orders, designed by hand. [DARTS](https://arxiv.org/abs/1806.09055) (differentiable
# architecture search) replaces each sublayer by a weighted sum of candidates and learns the
# weights.
#
# **What you'll be able to do.** Build a stack from any order string, implement DARTS's search, and
# test an architecture claim against simple baselines (all other orders, random search), also after
# longer training.
#
# <details><summary><b>Short answer</b></summary>
#
# At this small scale the order matters, but we don't see the published advantage. We trained all 20
# orders of three attention and three feed-forward sublayers on Shakespeare's plays. The ten that
# start with a feed-forward sublayer have the lowest mean losses, also with other initial weights.
# Neither Macaron nor Sandwich is measurably better than the median of the 20 losses.
# Sandwich's loss is even 0.148 **nats** per character higher (cross-entropy with the natural
# logarithm), but with those other weights we can't distinguish the two.
#
# We can't show that DARTS is better than random search with the same compute. With the better of
# two settings, its loss is 0.022 nats lower, which may be chance.
#
# </details>
#
# <small>Prerequisites: [residuals and norms](../02_transformer/09_residuals_norms.ipynb), [the
# decoder](../02_transformer/12_decoder.ipynb), [learning rates and
# ablations](../06a_text/02_gpt2_to_llama.ipynb) · 20 min · runs on a laptop; results of the long
# runs are included · book table 1.1</small>

# %% Four ways to arrange sublayers [markdown] tags=["slide"] figure="ch05.sublayer_orders"
# ![Three stacks of equal size and one mixed layer. Transformer: attention and feed-forward
# alternate, three times. Macaron: each attention sublayer is between two feed-forward sublayers of
# half the size. Sandwich with k = 1: attention, attention, feed-forward, attention, feed-forward,
# feed-forward. DARTS: self-attention, convolution, feed-forward, and identity side by side, with
# weights of 0.10, 0.25, 0.60, and 0.05, and their weighted sum.](figures/14_block_order.svg)
#
# *Orders of sublayers, from the input (bottom) to the output (top). Each box has its own residual
# connection and norm. The weight matrices of the first three stacks have equally many entries in
# total. On the right is one mixed layer during DARTS's search, with invented weights.*

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
# [Lu et al. (2019)](https://arxiv.org/abs/1906.02762) view a residual block as one step of a
# numerical method for a differential equation. A more accurate method, Strang splitting, takes half
# a feed-forward step before attention and half a step after it. A Macaron block therefore computes
#
# $$x \leftarrow x + \tfrac12 \mathrm{FF}_1(x), \qquad x \leftarrow x + \mathrm{Attn}(x), \qquad
# x \leftarrow x + \tfrac12 \mathrm{FF}_2(x).$$
#
# Each of the two feed-forward layers also has only half of the hidden units, so the weight matrices
# have as many entries as before. The blocks of the [Conformer](../06c_speech/05_alignment.ipynb), a
# speech encoder, have this form, with a convolution after attention.
#
# ### Sandwich: attention first, feed-forward last
#
# [Press et al. (2020)](https://arxiv.org/abs/1911.03864) reorder the sublayers of a language model.
# The **sandwich coefficient** $k$ moves $k$ attention sublayers to the **bottom** of the stack,
# next to the input, and $k$ feed-forward sublayers to the **top**, next to the output:
#
# $$s^k \, (sf)^{n-k} \, f^k .$$
#
# With $k = 0$, this is the **interleaved** order of the Transformer. No weight is added or removed.
#
# ### DARTS: a weighted sum of candidates
#
# [Liu et al. (2019)](https://arxiv.org/abs/1806.09055) make the choice of a layer differentiable. A
# **mixed operation** runs all candidate layers $o_i$ and adds their outputs, weighted by the
# softmax of **architecture parameters** $\alpha_i$:
#
# $$\bar o(x) = \sum_i \mathrm{softmax}(\alpha)_i \; o_i(x).$$
#
# A model built of mixed operations is the **supernet**. Its search is **bilevel**, one optimization
# inside another: the $\alpha$ should minimize the loss on one part of the training data of the
# weights that are optimal, for these $\alpha$, on another part. The **first-order** form alternates
# single gradient steps of the two and ignores that the best weights depend on the $\alpha$. At the
# end, **discretization** replaces each mixed operation by the candidate with the largest $\alpha$.
# This stack is trained again from scratch.
#
# In the paper, the mixed operations form a graph with several branches. Ours form a chain.

# %% [markdown] tags=["slide"]
# ## By hand: three orders and one mixed operation
#
# **Orders.** Suppose the **residual stream**, the vector that a token carries through the stack, is
# one number, $x = 1$. The toy sublayers have no norms. Attention adds $x$, so it doubles the
# stream, the feed-forward layer adds 2, and its half step adds 1.
#
# | order | stream after each sublayer |
# |---|---|
# | sf | $1 \to 2 \to 4$ |
# | fs | $1 \to 3 \to 6$ |
# | Macaron, hsh | $1 \to 2 \to 4 \to 5$ |
# | sfsf, interleaved | $1 \to 2 \to 4 \to 8 \to 10$ |
# | ssff, Sandwich with $k = 1$ | $1 \to 2 \to 4 \to 6 \to 8$ |
#
# The order matters. Macaron's 5 is halfway between the 4 of sf and the 6 of fs.
#
# **A mixed operation.** For $x = 4$ the candidates return 8 (attention), 6 (feed-forward), and 4
# (identity). With $\alpha = (0, \ln 2, 0)$ the softmax weights $w_i$ are $\tfrac14, \tfrac12,
# \tfrac14$, so the output is $2 + 3 + 1 = 6$. Suppose the target is 8 and the loss is $\tfrac12
# (y-8)^2$. Its derivative at $y = 6$ is $-2$, and that with respect to $\alpha_i$ is $-2 \, w_i
# (o_i - y)$: for attention $-2 \cdot \tfrac14 \cdot 2 = -1$, for the feed-forward layer 0, and for
# the identity $+1$. So a gradient step raises attention's $\alpha$ and lowers the identity's.

# %% [markdown]
# ## In code: a stack for any order
#
# In an order string, the letter h is Macaron's half step. In the comments, B is the batch size, T
# the number of tokens, H the number of heads, and d the width.

# %% Any order of sublayers tags=["concept", "slide"]
from collections import OrderedDict

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


class Sublayer(nn.Module):
    """x + step * sublayer(norm(x)): s attention, f feed-forward, h half-step feed-forward."""

    def __init__(self, letter, d, d_ff):
        super().__init__()
        self.norm, self.step = nn.LayerNorm(d), 0.5 if letter == "h" else 1.0
        units = d_ff // 2 if letter == "h" else d_ff
        self.sublayer = Attention(d) if letter == "s" else nn.Sequential(OrderedDict(
            inner=nn.Linear(d, units), relu=nn.ReLU(), out=nn.Linear(units, d)))

    def forward(self, x):
        return x + self.step * self.sublayer(self.norm(x))


def stack(order, d, d_ff):  # "sf" * 3: Transformer, "hsh" * 3: Macaron
    return nn.Sequential(*(Sublayer(letter, d, d_ff) for letter in order), nn.LayerNorm(d))


def sandwich(n, k):
    return "s" * k + "sf" * (n - k) + "f" * k

# %% [markdown]
# The mixed operation of DARTS is a separate module, whose candidates can be any layers. The cell
# after it checks the examples by hand, with a `Toy` module for each letter.

# %% A mixed operation
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
gradient = [round(g, 4) for g in mixed.alpha.grad.tolist()]
print("mixed", round(y.item(), 4), "gradient of alpha", gradient)

# %% [markdown]
# **The search.** Two optimizers take turns: one moves $\alpha$ on validation data, and the other
# moves the weights on training data. In our generated data, the target at each position is its own
# vector plus the sum of all vectors up to there. Only attention can use earlier positions, so the
# search should choose s.

# %% DARTS's alternating search, first order tags=["nbval-check-output"]
def search(model, pairs, loss, rate=0.01, alpha_rate=0.05):
    alphas = [p for name, p in model.named_parameters() if name.endswith("alpha")]
    weights = [p for name, p in model.named_parameters() if not name.endswith("alpha")]
    moves = torch.optim.Adam(alphas, alpha_rate), torch.optim.Adam(weights, rate)
    for train, validation in pairs:
        for optimizer, x in zip(moves, (validation, train), strict=True):
            model.zero_grad()
            loss(model(x), x).backward()
            optimizer.step()


def loss(y, x):  # of the generated data
    return (y - x - x.cumsum(1)).square().mean()


torch.manual_seed(0)
model = MixedOperation([Sublayer("s", 8, 32), Sublayer("f", 8, 32), nn.Identity()])
search(model, torch.randn(150, 2, 16, 6, 8), loss)  # 150 pairs of 16 sequences of 6 vectors
chosen = "sfi"[int(model.alpha.argmax())]
print("chosen:", chosen, "- softmax weight above 0.9:", bool(model.alpha.softmax(0).max() > 0.9))

# %% [markdown]
# The next cells compare this code with `deepdive`, the small library that accompanies this book.
# They copy the weights of its modules into ours and compare outputs and gradients.

# %% Equal to deepdive tags=["equals-library", "nbval-check-output"]
from deepdive.core.masks import Causal
from deepdive.layers.mixed_layer import MixedLayer
from deepdive.layers.sublayers import sublayer_stack
from deepdive.models.transformer.macaron import macaron_block
from deepdive.models.transformer.sandwich import sandwich_order

torch.manual_seed(0)
x = torch.randn(2, 7, 16, requires_grad=True)


def same(ours, theirs):
    y, z, w = ours(x), theirs(x, mask=Causal()), torch.randn(2, 7, 16)
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
print("equal outputs and gradients: Sandwich, Macaron")

# %% The mixed operation, gradients of alpha included tags=["equals-library", "nbval-check-output"]
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
print("equal outputs and gradients: mixed operation")

# %% [markdown] tags=["slide"]
# ## Experiments
#
# All models predict the next character of tinyshakespeare, a file of Shakespeare's plays, from up
# to 32 previous characters. Each stack has three attention and three feed-forward sublayers of
# width 32, with 128 hidden units per feed-forward layer and no biases in its linear layers.
# Positions are encoded by learned vectors and also by rotated queries and keys. The initial weights
# are small, as in GPT-2. Section 2 tries larger ones.
#
# - **Equal parameters and compute.** A run takes 400 steps of 16 sequences. All 20 orders have the
#   same modules, so they have the same parameters and **FLOPs** (floating-point operations).
# - **Learning rate.** Each order uses the best of four learning rates (0.004, 0.007, 0.012, and
#   0.02), selected by the validation loss of one seed. A **seed** fixes the random initial weights
#   and batches of a run. The results come from five other seeds and a separate test text.
# - **How to read the tables.** Runs with the same seed see the same batches, so we compare two
#   orders seed by seed. The brackets after a mean difference are its **95% confidence interval**:
#   in 95% of repeated experiments, such an interval contains the true difference. Where we make
#   several comparisons, we widen the intervals (the **Bonferroni correction**), because one of many
#   can exclude zero by chance. An interval that includes zero is **inconclusive**: it shows neither
#   a difference nor equality.
#
# ### 1. Is a published order better than a typical one?
#
# We trained **all 20 orders** of three attention and three feed-forward sublayers, and also a stack
# of three Macaron blocks.

# %% The saved runs
from deepdive_book.ch05.runs import block_order
from deepdive_book.ch05.runs import block_order_results as results

runs = results.load_runs()
print(len(block_order.ORDERS), "orders:", *block_order.ORDERS[:4], "...")

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Among the 20 orders at equal parameters and compute, where does Sandwich with k = 1 (ssfsff) "
    "rank by test loss?",
    ["1 to 5", "6 to 10", "11 to 15", "16 to 20"],
    answer=3,
    explain="It ranks 19. Every order that starts with attention ranks below every order that "
    "starts with a feed-forward sublayer, and two of the three worst are Sandwich orders.",
    key="05_efficient/order-sandwich",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown]
# In the table, look at the last column. It compares each order with the **median**, the middle of
# the 20 losses, and a negative number means a lower loss.

# %% Published orders among all 20 tags=["slide", "surprise", "nbval-check-output"]
results.order_table(runs.orders)

# %% All 20 orders, one dot per seed
results.order_plot(runs)

# %% [markdown]
# *Test loss of the 20 orders. The bars are means, and each dot is one seed. The green orders, which
# start with a feed-forward sublayer, have the ten lowest means. Orange ones start with attention.
# The dashed line is a **bigram table**, which predicts from the previous character only.*
#
# **We find no published order that is better than the median.** Both Sandwich orders are worse, by
# 0.148 nats each, and close to the bigram table's 2.453. For the interleaved order and for Macaron,
# the comparison is inconclusive. A simpler rule fits the plot: the ten orders that start with a
# feed-forward sublayer rank 1 to 10.
#
# **Could all this be chance?** If the order had no effect, the 20 losses of each seed could be
# exchanged freely. A **permutation test** shuffles them within each seed, 9,999 times. Its
# **p-value** is the probability that shuffled means vary at least as much as the real ones. The
# next cell runs this test and measures how much of the effect is the first sublayer.

# %% A permutation test, and the first sublayer tags=["nbval-check-output"]
losses = results.loss_matrix(runs.orders)  # (orders, seeds)
print(f"all 20 orders: p = {results.permutation_p(losses):.4f}")
gap = results.f_first_minus_s_first(runs.orders)
print("f first minus s first:", results.interval_text(gap))
spread = results.variance_parts(losses)["order"]
# the mean of each group of ten is half the gap away from the mean of all 20
print(f"of the variance between orders: {(gap.value / 2 / spread) ** 2:.0%}")
correlation = results.rank_correlation(losses)
print("rank correlation of two seeds, mean, lowest, highest:",
      *(f"{value:.2f}" for value in correlation))
rates = block_order.best_rates(runs.orders, "order")
highest = sum(rates[order] == max(block_order.RATES) for order in block_order.ORDERS)
print("orders with the highest rate tried:", highest)
print(f"bigram table: {runs.baseline[0]['test']:.3f}")

# %% [markdown]
# **The order matters, and most of its effect is the first sublayer.** The p-value is 0.0001, the
# smallest that this number of shuffles allows. The ten orders that start with a feed-forward
# sublayer differ from the others by −0.106 nats on average [−0.178, −0.035]. This one difference
# accounts for 71% of the **variance** between orders (the mean squared distance from their mean).
# Because these runs suggested the rule, section 2 tests it on new runs.
#
# The learning rates are a weakness. Each was selected with one seed, although two seeds rank the
# orders quite differently: their **rank correlation** (1 is the same ranking, 0 an unrelated one)
# is only 0.47 on average. For nine of the 20 orders, the selected rate is the highest one we tried.
# And in exercise 4, an order that starts with attention does better with a rate below all four. So
# a part of this effect may be tuning.
#
# **Why the first sublayer?** Perhaps it turns each character's embedding into features before
# attention mixes the characters. Or stacks that start with attention learn late, or are badly
# tuned, from these initial weights. We tested neither explanation.

# %% [markdown]
# ### 2. Do longer training or other initial weights change the result?
#
# We trained three orders four times as long, for 1,600 steps. We also trained all 20 orders for 400
# steps from `deepdive`'s default initial weights, which are larger than those of section 1. Both
# checks use the first three seeds and the learning rates selected above. In the table, compare each
# order's difference from sfsfsf, the interleaved order, across the columns. The cell after the
# table ranks all 20 and compares three of them with the median.

# %% Longer training and another initialization tags=["slide", "nbval-check-output"]
results.changed_table(runs)

# %% All 20 orders from the other initial weights tags=["nbval-check-output"]
other = results.other_initialization(runs)
means = dict(zip(block_order.ORDERS, results.loss_matrix(other).mean(1), strict=True))
ranked = sorted(means, key=means.__getitem__)
print("best ten:", *ranked[:10])
shown = ("fsfsfs", "sfsfsf", "ssfsff", "sssfff")
print("ranks:", {order: ranked.index(order) + 1 for order in shown})
print("f first minus s first:", results.interval_text(results.f_first_minus_s_first(other)))
for order in shown[1:]:
    gap = results.against_median(other, order, contrasts=3)
    print(order, "minus the median:", results.interval_text(gap))
first = results.loss_matrix(runs.orders)[:, :3].mean(1)  # with the same seeds
gains = first - results.loss_matrix(other).mean(1)
print(f"lower than with the first initial weights by {gains.min():.3f} to {gains.max():.3f}")

# %% [markdown]
# **The rule about the first sublayer holds again.** From the other initial weights, the ten orders
# that start with a feed-forward sublayer are again the best ten. They differ from the others by
# −0.079 nats on average [−0.095, −0.063]. (This interval and the one in section 1 aren't widened.)
# We had noticed the rule before these runs, so they test it, though on the same text and batches.
#
# **Only one of three conditions shows that Sandwich is worse than the interleaved order.** After
# 400 steps from the first initial weights, the loss of Sandwich with $k = 1$ is higher by 0.107
# [0.006, 0.207]. From the other weights, and after 1,600 steps, the comparison is inconclusive. The
# order fsfsfs is better than the interleaved one from the other weights, by 0.095 [0.026, 0.163],
# and its other two comparisons are inconclusive. After 1,600 steps, all three orders are within
# 0.033 nats of each other. Three seeds are too few to test whether the differences change.
#
# With the other initial weights, every order also has a lower loss, by 0.132 to 0.311. That is more
# than the 0.106 between the two groups of orders.
#
# ### 3. Does DARTS find a better stack than random search?
#
# Our **search space**, the set of stacks that a search can choose, is small enough to train all of
# it. A stack has three sublayers. Each is attention (s), a causal convolution over four characters
# (c), a feed-forward layer (f), or the identity (i), so there are $4^3 = 64$ stacks. We trained
# each for 250 steps, with one learning rate for all, as architecture searches usually do.
#
# - **DARTS** searches for 250 pairs of steps, with the weights on one half of the training text and
#   $\alpha$ on the other. Its choice is then trained on all of the training text. Each step of the
#   search runs all four candidates, so search and training together cost as much as training about
#   eight average stacks.
# - **Random search** with the same compute trains eight random stacks and selects the one with the
#   lowest validation loss. Because we know all 64 losses, we compute its expected rank and loss
#   exactly.
#
# In the last column of the table, a negative number favors DARTS. The intervals cover how much
# DARTS varies from search to search, but not the uncertainty of the 64 losses. The cell after the
# table makes two more comparisons.

# %% DARTS against random search tags=["slide", "nbval-check-output"]
results.search_table(runs)

# %% What DARTS chose, and the best five of 64 tags=["nbval-check-output"]
for rate in block_order.ALPHA_RATES:
    print(f"learning rate of alpha {rate}:", *results.choices(runs, rate))
ranked = sorted(results.ranks(runs.space).items(), key=lambda pair: pair[1])
supernets = [row for row in runs.searches if row["alpha_rate"] == block_order.ALPHA_RATES[1]]
print("validation losses of the supernets, 0.05:", *(f"{row['supernet']:.3f}" for row in supernets))
print("best five:", *(name for name, _ in ranked[:5]))
twice = results.darts_minus_random_search(runs, block_order.ALPHA_RATES[0], 2)
print("DARTS, 0.01, minus random search with twice the compute:",
      results.interval_text(twice))  # fmt: skip
seven = results.darts_minus_random_search(runs, block_order.ALPHA_RATES[0], stacks=7)
print("DARTS, 0.01, minus the best of 7, its final training not counted:",
      results.interval_text(seven))  # fmt: skip

# %% [markdown]
# **DARTS finds good stacks, but so does random search with the same compute.** With a learning rate
# of 0.01 for $\alpha$, three of its six searches return the best stack of all, `cff`. The loss is
# 0.022 nats lower than with random search, but the interval, [−0.047, 0.003], includes zero. With a
# rate of 0.05, one search returns `iif`, which ranks 54, and the comparison is inconclusive too.
# Zela et al. (2020) describe a similar failure: DARTS can prefer skip connections.
#
# **The result depends on how you count the budget.** You don't know the better rate in advance, and
# a random search with the compute of both rates trains 16 stacks. The difference then shrinks to an
# inconclusive 0.006 nats. If you don't count the final training of DARTS's choice, random search
# gets only seven stacks. The interval at 0.01 then excludes zero, [−0.052, −0.002], but six
# searches with three distinct choices are a fragile basis.
#
# The next cell runs the code of sections 1 and 3 for a few steps. Its losses are far higher.

# %% A few steps of both measurements
from deepdive_book.kit.profile import pick, profile

text, steps = results.corpus(), pick(ci=3, laptop=40, gpu=200)
data = "generated: one repeated line" if profile() == "ci" else "tinyshakespeare (real)"
row = block_order.measure_order(text, "sfsfsf", 0.012, 0, steps)
found = block_order.measure_search(text, 0.008, 0.05, 0, steps)
print(f"{data}; {steps} steps: sfsfsf {row['test']:.2f} nats, DARTS chooses {found['choice']}")

# %% [markdown]
# ## With the real library: a Macaron block in transformers
#
# The `transformers` library has Macaron blocks in its Conformer models. The next cell takes a layer
# of `Wav2Vec2Conformer` and sets the last matrix of its convolution module to zero. Two half steps,
# attention, and one more norm remain. With the same weights, our `stack("hsh", ...)` gives the same
# output.

# %% Wav2Vec2Conformer's layer equals hsh tags=["nbval-check-output"]
import transformers
from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer as conformer

config = transformers.Wav2Vec2ConformerConfig(
    hidden_size=16, num_attention_heads=2, intermediate_size=32, hidden_act="relu",
    position_embeddings_type=None)  # fmt: skip
config._attn_implementation = "eager"
layer = conformer.Wav2Vec2ConformerEncoderLayer(config).eval()
nn.init.zeros_(layer.conv_module.pointwise_conv2.weight)  # the convolution now adds nothing
block = stack("hsh", 16, 64)[:3]
first, attention, second = block
attn, inner = layer.self_attn, attention.sublayer
for name in ("weight", "bias"):
    k, v = (getattr(linear, name).data for linear in (attn.linear_k, attn.linear_v))
    getattr(inner.kv, name).data = torch.cat([k, v])
inner.q.load_state_dict(attn.linear_q.state_dict())
inner.out.load_state_dict(attn.linear_out.state_dict())
for half, ff in ((first.sublayer, layer.ffn1), (second.sublayer, layer.ffn2)):
    half.inner.load_state_dict(ff.intermediate_dense.state_dict())
    half.out.load_state_dict(ff.output_dense.state_dict())
x, causal = torch.randn(2, 7, 16), torch.full((7, 7), -1e9).triu(1)[None, None]
expected = layer(x, attention_mask=causal)
print("equal:", torch.allclose(layer.final_layer_norm(block(x)), expected, atol=1e-5))

# %% [markdown]
# The norms aren't copied, because both have their initial values. The package
# [x-transformers](https://github.com/lucidrains/x-transformers), which isn't among the book's
# requirements, has the arguments `sandwich_coef` and `macaron=True`.
#
# ## How it differs
#
# | | Transformer | Macaron | Sandwich | DARTS |
# |---|---|---|---|---|
# | order | (sf)ⁿ | (hsh)ⁿ | sᵏ(sf)ⁿ⁻ᵏfᵏ | learned |
# | weight matrices | baseline | same total | same | supernet: all candidates |
# | extra parameters | none | a norm (and biases) per block | none | during the search: $\alpha$ |
# | extra cost | none | a third sublayer in sequence | none | a search before training |
#
# ## Common mistake: a search without a fair baseline
#
# **Symptom:** a search returns an architecture that beats an old baseline, and the search gets the
# credit. However, a good search space can make every search method look good. Li and Talwalkar
# (2019), for example, find random search competitive with DARTS. **Fix:** compare with random
# search in the same space and at the same compute, over several seeds of the search.
#
# ## In practice
#
# - **Keep the interleaved order unless another one is better on your task.** Libraries and
#   pretrained weights expect it.
# - **Check the KV cache when you reorder.** Only attention (keys and values) and convolution
#   (recent inputs) need a cache, so its i-th entry belongs to the i-th of these sublayers, not to
#   the i-th sublayer of the stack.
# - **Discretize, then retrain.** The supernet's weights were trained for the mixture, so its
#   validation loss can mislead: the search that chose `iif` ended at 2.250, lower than three of the
#   other five.
#
# ## Summary
#
# At equal parameters and compute, the order of sublayers matters after 400 steps, but the published
# orders don't win. Both Sandwich orders have losses 0.148 nats above the median, but only from the
# first initial weights. Macaron's comparison is inconclusive, and the interleaved order ranks 12 or
# 18 of 20. The ten orders that start with a feed-forward sublayer are the best ten, from both kinds
# of initial weights. In the runs that suggested this rule, it accounts for 71% of the variance
# between orders. After 1,600 steps, we can't distinguish the three orders that we retrained.
#
# DARTS finds stacks in the top 9 of 64 at one learning rate of $\alpha$, but not always at the
# other. At neither can we show that it beats random search with the same compute.
#
# **What we didn't reproduce.** Press et al. report better word-level and character-level language
# models with Sandwich, and Lu et al. gains of Macaron in translation and language understanding.
# Their models are far larger and train far longer, so our result doesn't contradict theirs.
#
# ## Check your understanding
#
# 1. What is the order of Sandwich with $k = n$, and how does it differ from $k = n - 1$?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    $k = n$ gives $s^n f^n$. With $k = n - 1$, the one remaining pair $sf$ is between $s^{n-1}$ and
#    $f^{n-1}$, which gives the same string.
#
#    </details>
# 2. Why does DARTS train $\alpha$ on other data than the weights?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    On the same data, $\alpha$ would favor the candidate that fits the training text best. Other
#    data show how well a candidate generalizes.
#
#    </details>
# 3. Why must the permutation test shuffle within a seed?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Because runs with the same seed share their batches. Shuffling across seeds would mix the
#    seed's effect into the comparison.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* Compute the stream of the toy example for the orders fsfs and ssff,
#    starting from $x = 2$.
#
#    <details><summary>Answer</summary>
#
#    fsfs: $2 \to 4 \to 8 \to 10 \to 20$. ssff: $2 \to 4 \to 8 \to 10 \to 12$.
#
#    </details>
# 2. *(on paper, 5 min)* For the mixed operation by hand, take $x = 4$, $\alpha = (0, 0, \ln 2)$,
#    and the target 8. Compute the output and the derivative with respect to each $\alpha_i$.
#
#    <details><summary>Answer</summary>
#
#    The weights are $\tfrac14, \tfrac14, \tfrac12$, the output is $2 + 1.5 + 2 = 5.5$, and $y - 8 =
#    -2.5$. The derivatives are $-2.5 \cdot \tfrac14 \cdot 2.5 = -1.5625$, $-2.5 \cdot \tfrac14
#    \cdot 0.5 = -0.3125$, and $-2.5 \cdot \tfrac12 \cdot (-1.5) = 1.875$. They add up to 0.
#
#    </details>
# 3. *(in code, 10 min)* Write `macaron_order(n)` and count the parameters of `stack("sf" * 3, 16,
#    64)` and `stack(macaron_order(3), 16, 64)`. Explain the difference.
#
#    <details><summary>Answer</summary>
#
#    `"hsh" * n`. The difference is 144: three more norms of $2 \cdot 16$ entries, and three more
#    output biases of 16 entries. The hidden biases have the same total.
#
#    </details>
# 4. *(measure, 5 min of machine time)* Does the worst order improve with a learning rate that we
#    didn't try? Run `block_order.measure_order(results.corpus(), "ssffsf", rate, seed)`, which
#    trains one stack, for rates of 0.002 and 0.03 and two seeds. Report the test losses and the
#    loss of the bigram table.
#
#    <details><summary>Answer</summary>
#
#    The bigram table has 2.453. We found 2.376 and 2.434 with 0.002, and 2.489 and 2.675 with 0.03.
#    With the selected rate of 0.02, the same seeds have 2.499 and 2.412. On average, 0.002 is 0.05
#    nats better than 0.02, so our selection misjudged this order. Other orders that start with
#    attention may also need lower rates. Even so, both losses are far above the best order's 2.255.
#
#    </details>

# %% Exercise answers, checked tags=["nbval-check-output"]
for order in ("fsfs", "ssff"):
    print(order, int(nn.Sequential(*map(Toy, order))(torch.tensor(2))))
mixed.alpha.data, mixed.alpha.grad = torch.tensor([1.0, 1.0, 2.0]).log(), None
((mixed(torch.tensor(4.0)) - 8) ** 2 / 2).backward()
print([round(g, 4) for g in mixed.alpha.grad.tolist()])
sizes = [sum(p.numel() for p in stack(o * 3, 16, 64).parameters()) for o in ("sf", "hsh")]
print(sizes[1] - sizes[0])

# %% [markdown]
# ## Further reading
#
# - Lu et al. (2019), [*Understanding and Improving Transformer From a Multi-Particle Dynamic System
#   Point of View*](https://arxiv.org/abs/1906.02762): Macaron.
# - Press et al. (2020), [*Improving Transformer Models by Reordering their
#   Sublayers*](https://arxiv.org/abs/1911.03864): random orders, then Sandwich.
# - Liu et al. (2019), [*DARTS: Differentiable Architecture
#   Search*](https://arxiv.org/abs/1806.09055).
# - Li and Talwalkar (2019), *Random Search and Reproducibility for Neural Architecture
#   Search*, UAI.
# - Zela et al. (2020), *Understanding and Robustifying Differentiable Architecture Search*, ICLR.
# - Zhao et al. (2021), *Memory-Efficient Differentiable Transformer Architecture Search*, Findings
#   of ACL: the search that the book's table 1.1 cites.
# - So et al. (2019), [*The Evolved Transformer*](https://arxiv.org/abs/1901.11117): an evolutionary
#   search over Transformer blocks.
#
# *Book table 1.1, "Different architectures".*
