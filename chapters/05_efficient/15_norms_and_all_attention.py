# %% [markdown] tags=["slide"]
# # RMSNorm, ReZero, and all-attention: which parts of a layer can go?
#
# A Transformer layer has four parts: attention, a feed-forward layer, residual connections, and
# normalization. **RMSNorm** simplifies the normalization, **ReZero** removes it, and
# **all-attention** removes the feed-forward layer. **What does each removal cost, once every
# variant has its own learning rate?**
#
# **What it is.** A residual connection adds the output of its **branch**, attention or the
# feed-forward layer, to the branch's input. In a **pre-norm** layer, the branch starts with layer
# normalization. This norm subtracts a vector's mean, divides by its standard deviation (the root of
# the mean squared distance from the mean), and applies a learned scale and shift.
#
# - **RMSNorm** ([Zhang and Sennrich 2019](https://arxiv.org/abs/1910.07467)) divides by the root
#   mean square (RMS) instead and has no shift.
# - **ReZero** ([Bachlechner et al. 2021](https://arxiv.org/abs/2003.04887)) has no norm. Instead, a
#   learned number $\alpha$, which is 0 at initialization, multiplies each branch.
# - **All-attention** ([Sukhbaatar et al. 2019](https://arxiv.org/abs/1907.01470)) replaces the
#   feed-forward layer by **persistent memory vectors**. These are learned keys and values that
#   every query attends to, in addition to those of the tokens.
#
# **What you'll be able to do.** Implement RMSNorm, ReZero, and an all-attention layer in 40 lines,
# compute each by hand, and compare residual connections fairly, each at its own learning rate.
#
# <details><summary><b>Short answer</b></summary>
#
# In our small decoders with 24 layers, ReZero's test loss after a short training is 0.279 **nats**
# per character (cross-entropy with the natural logarithm) below pre-norm's. But a control without
# norms and without $\alpha$, whose branches are only scaled down at initialization, gets most of
# this gain. We can't distinguish it from ReZero, and with 4 layers it's better.
#
# We can't distinguish RMSNorm from layer normalization. At equal parameters and **FLOPs**
# (floating-point operations), all-attention's loss is 0.103 higher than that of attention with
# feed-forward layers. But two layers of attention alone can't be distinguished from that baseline
# at equal FLOPs, so we can't say whether a feed-forward layer is worth its FLOPs.
#
# </details>
#
# <small>Prerequisites: [residual connections and
# norms](../02_transformer/09_residuals_norms.ipynb), [the feed-forward
# layer](../02_transformer/10_feed_forward.ipynb),
# [ablations](../02_transformer/16_variations.ipynb) · 20 min · data: Shakespeare's plays · runs on
# a laptop; results of the long runs are included · book 1.2.1.2</small>

# %% Residuals and all-attention [markdown] tags=["slide"] figure="ch05.sublayer_variants"
# ![Top: four residual connections, each with a stream from the bottom to the top and a branch.
# Post-norm: the norm is on the stream, after the addition. Pre-norm: the norm is in the branch,
# before the sublayer. ReZero: no norm, and alpha multiplies the branch. No norm: only the sublayer.
# Bottom: a Transformer layer has self-attention, then a feed-forward layer. An all-attention layer
# has attention only, whose softmax is over the keys of the tokens and N learned
# keys.](figures/15_norms_and_all_attention.svg)
#
# *The top shows where the normalization is. The blue line is the **residual stream**, the vector
# that a token carries from layer to layer. A **sublayer** is attention or the feed-forward layer.
# The bottom compares the sublayers of two layers, without their residual connections.*

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
# %% [markdown] tags=["slide"]
# ## By hand: one vector, four sublayers, three keys
#
# **RMSNorm.** Take the vector $(-1, 7, 5, 5)$. The mean of the squares is $(1 + 49 + 25 + 25) / 4 =
# 25$, so RMSNorm divides by 5 and gives $(-0.2, 1.4, 1, 1)$. Layer normalization first subtracts
# the mean 4, which leaves $(-5, 3, 1, 1)$. Their mean square, the variance, is $(25 + 9 + 1 + 1) /
# 4 = 9$, so it divides by 3 and gives $(-1.67, 1, 0.33, 0.33)$.
#
# **Residual connections.** Suppose that every sublayer computes $f(x) = 2x$. Two layers have four
# sublayers.
#
# | residual connection | one sublayer | after four, from $x = 1$ |
# |---|---|---|
# | no norm | $x + 2x = 3x$ | $3^4 = 81$ |
# | no norm, branch scaled by $1/\sqrt{4}$ | $x + x = 2x$ | $2^4 = 16$ |
# | ReZero at initialization | $x + 0 \cdot 2x = x$ | $1^4 = 1$ |
#
# The second line is a **control**, a simpler alternative to compare with. With $L$ layers, it
# divides the last matrix of each branch by $\sqrt{2L}$ at initialization, as
# [GPT-2](../06a_text/01_gpt.ipynb) does, and has no $\alpha$. Here the stream still grows, because
# all branches point in the same direction. With random branches it grows less.
#
# In ReZero, the gradient of the sublayer's own weights is multiplied by $\alpha = 0$. The gradient
# of $\alpha$ is the sum over all entries of $f(x)$ times the gradient of the output, so $\alpha$
# moves first. (The authors share one $\alpha$ per layer. We use one per sublayer.)
#
# **All-attention.** Suppose that two tokens' scores, after the exponential of the softmax, are 1
# and 2, so their weights are 1/3 and 2/3. With values 6 and 3, attention gives $(1 \cdot 6 + 2
# \cdot 3) / 3 = 4$. Now one persistent vector joins, with an exponentiated score of 5 and the value
# 20. The softmax runs over all three: $(1 \cdot 6 + 2 \cdot 3 + 5 \cdot 20) / 8 = 14$.
#
# **How many vectors?** A feed-forward layer has two matrices of $d \cdot d_{ff}$ weights. With $N$
# vectors per head, $H$ heads of width $d / H$ have $N \cdot d$ numbers for the keys and $N \cdot d$
# for the values. So $N = d_{ff}$ gives equally many parameters, and also equally many
# multiplications per token.

# %% [markdown]
# ## In code: RMSNorm, ReZero, and an all-attention layer
#
# In the comments, B is the batch size, T the number of tokens, H the number of heads, N the number
# of persistent vectors per head, and d (in code `self.d`) the width of a head. In the text, $d$ is
# the width of the model.

# %% RMSNorm, ReZero, all-attention tags=["concept", "slide"]
import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d_model)), eps

    def forward(self, x):  # (..., d_model)
        return self.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)


class ReZero(nn.Module):
    def __init__(self):
        super().__init__()
        self.alpha = nn.Parameter(torch.zeros(()))  # one number, 0 at initialization

    def forward(self, x, sublayer):
        return x + self.alpha * sublayer(x)


class AllAttention(nn.Module):  # causal, with N learned keys and values per head
    def __init__(self, d_model, n_heads, n_vectors):
        super().__init__()
        self.n_heads, self.d = n_heads, d_model // n_heads
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.k, self.v = (nn.Parameter(torch.randn(n_heads, n_vectors, self.d)) for _ in range(2))

    def forward(self, x):  # (B, T, d_model)
        B, T, _ = x.shape
        q, k, v = (y.unflatten(-1, (self.n_heads, self.d)).transpose(1, 2)  # (B, H, T, d)
                   for y in self.qkv(x).chunk(3, -1))
        k, v = (torch.cat([y, own.expand(B, -1, -1, -1)], 2)  # (B, H, T + N, d)
                for y, own in ((k, self.k), (v, self.v)))
        visible = torch.ones(T, T, dtype=torch.bool).tril()  # earlier tokens and itself
        visible = F.pad(visible, (0, self.k.shape[1]), value=True)  # (T, T + N), vectors: always
        weights = (q @ k.mT / self.d**0.5).masked_fill(~visible, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))  # weights: (B, H, T, T + N)

# %% The examples by hand tags=["nbval-check-output"]
x = torch.tensor([-1.0, 7.0, 5.0, 5.0])
print("RMSNorm:", [round(y, 2) for y in RMSNorm(4)(x).tolist()])
print("LayerNorm:", [round(y, 2) for y in F.layer_norm(x, (4,)).tolist()])
stream, plain, scaled = (torch.tensor(1.0) for _ in range(3))
joint = ReZero()
for _ in range(4):
    plain, scaled = plain + 2 * plain, scaled + 2 * scaled / 4**0.5
    stream = joint(stream, lambda y: 2 * y)
print("after four sublayers:", plain.item(), scaled.item(), stream.item())
scores, values = torch.tensor([1.0, 2.0, 5.0]).log(), torch.tensor([6.0, 3.0, 20.0])
for n, name in ((2, "tokens alone"), (3, "with a persistent vector")):
    print(f"{name}: {(scores[:n].softmax(0) @ values[:n]).item():.0f}")

# %% [markdown]
# The next cell copies weights into `deepdive`, the small library that accompanies this book, and
# compares outputs and gradients. Like the authors' code, the library stores the persistent keys and
# values divided by constants. This changes how fast Adam moves them, but not the output.

# %% Equal to the library tags=["equals-library"]
from deepdive import core
from deepdive.attention import PersistentMemoryAttention
from deepdive.core.masks import Causal

torch.manual_seed(0)
ours, memory = AllAttention(16, 4, 5), PersistentMemoryAttention(4, 5, 4)
library = core.MultiHeadAttention(16, 4, mechanism=memory)
with torch.no_grad():
    library.q.weight.copy_(ours.qkv.weight[:16])
    library.kv.weight.copy_(ours.qkv.weight[16:])
    library.q.bias.copy_(ours.qkv.bias[:16])
    library.kv.bias.copy_(ours.qkv.bias[16:])
    library.out.load_state_dict(ours.out.state_dict())
    memory.memory_keys.copy_(ours.k / 4**0.5)
    memory.memory_values.copy_(ours.v / 5**0.5)
x = torch.randn(2, 7, 16, requires_grad=True)
a, b = ours(x), library(x, mask=Causal())
assert torch.allclose(a, b, atol=1e-5)
gradients = [torch.autograd.grad(y.pow(3).sum(), (x, k)) for y, k in
             ((a, ours.k), (b, memory.memory_keys))]  # fmt: skip
assert torch.allclose(gradients[0][0], gradients[1][0], atol=1e-4)
# our keys are 4**0.5 times the library's, so its gradient is 4**0.5 times ours
assert torch.allclose(4**0.5 * gradients[0][1], gradients[1][1], atol=1e-4)

# %% Equal to the library: norms and residuals tags=["equals-library", "nbval-check-output"]
mine, theirs = ReZero(), core.ReZero(16)
for joint in (mine, theirs):
    joint.alpha.data.fill_(0.3)
pairs = [
    (RMSNorm(16)(x), core.RMSNorm(16)(x), x),
    (mine(x, torch.sin), theirs(x, torch.sin), x),
]
for a, b, leaf in pairs:
    assert torch.allclose(a, b, atol=1e-5)
    both = [torch.autograd.grad(y.pow(3).sum(), leaf)[0] for y in (a, b)]
    assert torch.allclose(*both, atol=1e-4)
print("equal outputs and gradients: all-attention, RMSNorm, ReZero")

# %% [markdown] tags=["slide"]
# ## Experiments
#
# ### 1. Which residual connection trains a deep decoder?
#
# Can a deep decoder be trained without a norm, and is it ReZero's $\alpha$ that makes this
# possible? We train decoders with 4 and with 24 layers to predict the next character of
# Shakespeare's plays. A **post-norm** layer has the norm after the addition. *No norm, scaled* is
# the control from the example by hand. Two more controls remove or add the **final norm**, the one
# after the last layer.
#
# First, look at the **gradient norm**, the length of the gradient of all parameters of one layer,
# before any training. We use 12 layers, which show the trend.

# %% Gradient norm by layer, before training
from deepdive_book.ch05.runs import norm_variants, sublayer_tables
from deepdive_book.kit.profile import pick

norms = norm_variants.gradients_by_variant(n_layers=pick(ci=4, laptop=12, gpu=12))
sublayer_tables.gradient_figure(norms)

# %% [markdown]
# *The gradient norm of each layer at initialization, with one seed and one batch. Without a norm,
# the stream grows from layer to layer, and the gradients grow with it. In ReZero, only $\alpha$ has
# a gradient at first.*

# %% The largest and the smallest gradient norm of a layer
for name, values in norms.items():
    print(f"{name}: {min(values):.2g} to {max(values):.2g}")

# %% [markdown]
# Without a norm, the gradients are hundreds to thousands of times as large as those of pre-norm.
# The scaled control has nearly the same gradient norm in every layer.
#
# The losses below are measured as follows:
#
# - **Training.** The decoders have width 32, 4 heads, and Glorot initialization (uniform weights,
#   larger for smaller matrices). They are trained for 150 steps of AdamW, without weight decay, on
#   8 windows of 32 characters. Gradients are clipped at norm 1, and the learning rate rises over
#   the first tenth of the steps (a **warm-up**).
# - **Learning rate.** Each variant's rate is selected on validation data, first among 0.001, 0.003,
#   and 0.01, and beyond them if the lowest or highest is best. The two best rates are compared
#   again with three **seeds** (a seed fixes the random weights and batches).
# - **How to read the tables.** Five other seeds give the results. The brackets after a mean are its
#   **95% confidence interval**: in 95% of repeated experiments, such an interval contains the true
#   value. We compare variants seed by seed and widen the intervals of these differences (the
#   **Bonferroni correction**), because one of many can exclude zero by chance. An interval that
#   includes zero is **inconclusive**: it shows neither a difference nor equality.
# - **Baselines.** The **unigram loss** uses only the frequencies of the characters, so a model that
#   doesn't beat it has learned nothing from the context. The **bigram loss** uses their frequencies
#   after each preceding character.
#
# The next cell prints both baselines and trains two decoders of 4 layers for a few steps.

# %% The two baselines, and the same code for a few steps
text, few = norm_variants.corpus(), pick(ci=2, laptop=10, gpu=50)
print(f"unigram loss {norm_variants.unigram_loss(text, 'test'):.3f}, "
      f"bigram loss {norm_variants.bigram_loss(text, 'test'):.3f}")  # fmt: skip
for name in ("pre-norm", "ReZero"):
    row = norm_variants.measure(name, 4, 0.01, 0, few)
    print(f"{name}: test loss {row['test']:.2f} after {few} steps (hardly trained)")

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "24 layers, 150 steps, each at its own learning rate. How does ReZero's test loss compare with "
    "that of the control without a norm and without a learned number (no norm, scaled)?",
    ["lower by more than 0.1 nats", "less than 0.1 nats apart", "higher by more than 0.1 nats"],
    answer=1,
    explain="The difference is -0.024 nats [-0.057, 0.008]. Both start with small branches and "
    "have no norm; ReZero's learned number adds little that we can measure here.",
    key="05_efficient/rezero-control",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown]
# The first table has the losses. Compare them within a column. The second table has the differences
# that we tested.

# %% Test loss by residual connection tags=["slide", "surprise", "nbval-check-output"]
rows = norm_variants.load()
sublayer_tables.trainability_table(rows)

# %% Differences, corrected tags=["nbval-check-output"]
sublayer_tables.contrast_table(rows)

# %% [markdown]
# **After 150 steps, ReZero's loss is lower than pre-norm's, but so is the control's.** With 24
# layers, the mean losses are 2.782 for pre-norm, 2.527 for *no norm, scaled*, and 2.503 for ReZero.
# ReZero's gain over pre-norm is 0.279 [0.060, 0.498]. The difference between ReZero and the control
# is inconclusive, and we computed no interval for the control's gain over pre-norm. With 4 layers,
# the control's loss is 0.052 lower than ReZero's. It's still 0.075 lower after four times as many
# steps, when ReZero and pre-norm can't be distinguished any more.
#
# **Two variants of 24 layers don't train.** Post-norm learns nothing from the context, because its
# loss of 3.363 is within 0.001 of the unigram loss. Without a norm and without scaling, all runs
# **diverge**: the loss isn't finite at any of the five learning rates listed below, although
# gradients are clipped. We didn't look for the reason.

# %% Validation losses of the learning-rate search, 24 layers tags=["nbval-check-output"]
for name in ("pre-norm", "no norm"):
    for rate, losses in norm_variants.tuning_losses(rows, name, 24).items():
        print(f"{name}, {rate:g}:", *(f"{loss:.3f}" for loss in losses))

# %% [markdown]
# **Why is pre-norm slower here?** With 4 layers, part of the reason is the final norm. Removing it
# lowers pre-norm's loss by 0.099, and adding one to the control raises its loss by 0.173. With 24
# layers, the test is inconclusive. Perhaps the norm slows the growth of the **logits** (the scores
# before the softmax), because it fixes the stream's length. We didn't test this.
#
# **RMSNorm and layer normalization** can't be distinguished at either depth, but with 24 layers
# RMSNorm's loss could be up to 0.22 nats higher.
#
# **What this doesn't show.** These are the first 150 steps of models with width 32, and all
# variants of 24 layers end above the bigram loss of 2.490. We didn't train them for longer.
# Post-norm stacks of 24 layers do train with a longer warm-up, as [page
# 2.9](../02_transformer/09_residuals_norms.ipynb) discusses. Because ReZero and the control both
# start with small branches and have no norm, we can't separate these two properties.

# %% [markdown]
# ### 2. Can attention replace the feed-forward layer?
#
# The baseline is a pre-norm decoder of width 64 with 2 layers, 4 heads, and feed-forward layers of
# 256 units. All-attention has $N = 256$ persistent vectors per head, so its parameters differ only
# by one norm per layer. The simplest control is **attention alone**: the same 2 layers without
# persistent vectors, or 6 layers, which have about as many parameters as the baseline.
#
# Every variant gets the FLOPs of 300 baseline steps, at a learning rate selected as above.
# All-attention gets only 275 steps, because PyTorch's attention kernel computes the scores again in
# the backward pass. In the columns of differences, a positive number means a higher loss than the
# baseline's.

# %% All-attention at equal parameters and FLOPs tags=["slide", "nbval-check-output"]
from deepdive_book.ch05.runs import all_attention

sublayer_tables.all_attention_table(all_attention.load())

# %% [markdown]
# **At equal parameters and FLOPs, all-attention's loss is 0.103 higher than the baseline's.** With
# twice the FLOPs, the gap is 0.153, but the learning rates weren't selected again for this budget.
#
# **But these runs don't show whether a feed-forward layer is worth its FLOPs.** Two layers of
# attention alone, with less than half of the parameters and more than twice the steps, can't be
# distinguished from the baseline at equal FLOPs. At equal parameters, however, six layers of
# attention alone have a loss 0.395 higher. All this is about learning in a small budget, not about
# what a trained all-attention model can reach. We tested neither larger models nor equal time.
#
# ### 3. Is RMSNorm faster than layer normalization?
#
# RMSNorm computes one mean instead of two, so it should be faster. We time both norms on 512
# vectors. A ratio below 1 means that RMSNorm is faster. *Torch* means `F.rms_norm` and
# `F.layer_norm`, and *written out* means the equations in tensor operations. Everything ran on one
# thread of a shared CPU with PyTorch 2.13, so the ratios hold for this code and machine only.

# %% Time of RMSNorm divided by layer normalization's tags=["nbval-check-output"]
from deepdive_book.ch05.runs import norm_timing

sublayer_tables.timing_table(norm_timing.load())

# %% [markdown]
# **It depends on the code.** Written out, RMSNorm's median time is 57% to 69% of layer
# normalization's, although in one of the four cases the range includes 1. PyTorch's own functions
# reverse this in three of four cases. In the worst one, `F.rms_norm` takes 4.2 times as long as
# `F.layer_norm`, probably because the latter runs as a single operation (a **fused kernel**). We
# didn't measure a GPU, nor how much of a model's time its norms take.
#
# ## With the real library: `torch.nn.RMSNorm` and `add_bias_kv`
#
# PyTorch has RMSNorm. With `add_bias_kv=True`, `nn.MultiheadAttention` appends one learned key and
# one learned value per head, which is all-attention with $N = 1$. The next cell compares both with
# our code. PyTorch has no ReZero module, and no option for more than one vector.

# %% PyTorch's RMSNorm and its added key and value tags=["nbval-check-output"]
torch.manual_seed(0)
theirs = nn.MultiheadAttention(16, 4, add_bias_kv=True, batch_first=True)
nn.init.normal_(theirs.in_proj_bias)
ours = AllAttention(16, 4, n_vectors=1)
with torch.no_grad():
    ours.qkv.weight.copy_(theirs.in_proj_weight)
    ours.qkv.bias.copy_(theirs.in_proj_bias)
    ours.out.load_state_dict(theirs.out_proj.state_dict())
    ours.k.copy_(theirs.bias_k.view(4, 1, 4))
    ours.v.copy_(theirs.bias_v.view(4, 1, 4))
x = torch.randn(2, 7, 16)
later = torch.ones(7, 7, dtype=torch.bool).triu(1)  # True: hidden, PyTorch's convention
print("add_bias_kv:", torch.allclose(theirs(x, x, x, attn_mask=later)[0], ours(x), atol=1e-5))
print("RMSNorm:", torch.allclose(nn.RMSNorm(16, eps=1e-6)(x), RMSNorm(16)(x), atol=1e-5))

# %% [markdown]
# ## How it differs
#
# In the first table, $n$ is the norm, $f$ the sublayer, and $d$ the width of the model.
#
# | | pre-norm | pre-norm, RMSNorm | ReZero | no norm, scaled |
# |---|---|---|---|---|
# | one sublayer | $x + f(n(x))$ | $x + f(n(x))$ | $x + \alpha f(x)$ | $x + f(x)$ |
# | learned numbers of the norm or $\alpha$, per sublayer | $2d$ | $d$ | 1 | 0 |
# | at initialization | $x$ + branch of a normalized input | the same | $x$ | $x$ + small branch |
# | final norm | yes | yes | no | no |
#
# A feed-forward layer with activation $\phi$ is similar to attention over its units. The rows $k_i$
# of its first matrix act as keys for its input $x$, and the columns $v_i$ of its second act as
# values. The main change in all-attention is the softmax, through which tokens and vectors compete
# for the same total weight of 1. The letter $q$ is a query.
#
# | units and persistent vectors | attention + feed-forward | all-attention |
# |---|---|---|
# | sublayers per layer | 2 | 1 |
# | weight of value $v_i$ | $\phi(k_i \cdot x)$ | softmax of $k_i \cdot q$ over tokens and vectors |
# | output | weighted sum, not bounded | weighted average, with the tokens' values |
# | separate vectors for each head | no | yes |
#
# ## Common mistake: persistent vectors behind the causal mask
#
# You append $N$ learned keys after the $T$ tokens and build the causal mask for $T + N$ keys with
# `torch.ones(T, T + N).tril()`. Every learned key then counts as a later token. **Symptom:** the
# loss equals that of attention alone, and the gradient of the learned keys is exactly zero.
# **Fix:** build the mask for the tokens and extend it with `True`, as in the code above.

# %% The mistake, and its symptom tags=["nbval-check-output"]
T, N = 3, 2
wrong = torch.ones(T, T + N, dtype=torch.bool).tril()
right = F.pad(torch.ones(T, T, dtype=torch.bool).tril(), (0, N), value=True)
for name, visible in (("wrong", wrong), ("right", right)):
    print(f"{name}: learned vectors visible to each query:", visible[:, T:].sum(1).tolist())

# %% [markdown]
# ## In practice
#
# - **Start with pre-norm and RMSNorm**, as most decoders since Llama do, because code and
#   pretrained models expect it. Our 150 steps favor ReZero and the scaled control, but pre-norm's
#   record is in long trainings.
# - **Try a scaled initialization before a learned factor.** It's one line of code. Without norms,
#   it was better than ReZero with 4 layers and couldn't be distinguished from it with 24. We didn't
#   test the scaling with pre-norm.
# - **Tune the learning rate of each variant separately, with several seeds.** ReZero with 24 layers
#   was best at 0.03, pre-norm at 0.01. Our first seed alone would have selected 0.003 for pre-norm,
#   as the list of validation losses shows.
# - **Keep weight decay away from $\alpha$.** Weight decay pulls $\alpha$ toward 0, which switches
#   the branch off. (We didn't test how much this matters.)
#
# ## Summary
#
# Which parts can go? **The norms** can, in short trainings of small decoders, but with 24 layers
# this takes small branches at initialization, as in ReZero or the scaled control. **RMSNorm** can't
# be distinguished from layer normalization, but with 24 layers its loss could be up to 0.22 nats
# higher. **The feed-forward layer** isn't settled. Replaced by persistent vectors, it leaves a loss
# 0.103 higher at equal parameters and FLOPs. But two layers of attention alone can't be
# distinguished from the baseline at equal FLOPs.
#
# The ReZero paper reports faster convergence and the training of very deep Transformers, and the
# all-attention paper reports language models on par with feed-forward ones. We reproduced ReZero's
# lower loss after 150 steps, but our runs are far too short for the other results. The RMSNorm
# paper reports a lower running time than layer normalization's. Written out, we see this in all
# four medians, but not with PyTorch's functions on this CPU.
#
# ## Check your understanding
#
# 1. For which vectors does RMSNorm equal layer normalization, apart from learned factors?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    For vectors with mean 0: subtracting the mean then changes nothing, and the variance is the
#    mean square.
#
#    </details>
# 2. At initialization of ReZero, which parameters of a layer have a gradient that isn't zero?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Only $\alpha$. The gradient of every weight in the branch is multiplied by $\alpha = 0$.
#
#    </details>
# 3. Why don't persistent vectors enlarge the KV cache during generation?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    They are parameters and the same for every sequence and step, so only the tokens' keys and
#    values are cached.
#
#    </details>
# 4. With 4 layers, ReZero has a lower loss than pre-norm after 150 steps. Which two controls show
#    that $\alpha$ isn't the only possible reason?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Branches that are scaled at initialization, without norms and $\alpha$, and pre-norm without
#    the final norm.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* Compute RMSNorm of $(1, 7)$ and of $(2, 14)$.
#
#    <details><summary>Answer</summary>
#
#    The mean square of $(1, 7)$ is $(1 + 49) / 2 = 25$, so the result is $(0.2, 1.4)$. Doubling the
#    vector doubles the root mean square too, so the result for $(2, 14)$ is the same.
#
#    </details>
# 2. *(on paper, 5 min)* A model has width 512, 8 heads, and feed-forward layers of 2,048 units
#    without biases. Compute how many persistent vectors per head match the parameters of one
#    feed-forward layer, and how many numbers each head then has.
#
#    <details><summary>Answer</summary>
#
#    2,048 vectors per head. Each head has $2 \cdot 2048 \cdot 64 = 262{,}144$ numbers, and 8 heads
#    have 2,097,152, the same as $2 \cdot 512 \cdot 2048$.
#
#    </details>
# 3. *(in code, 10 min)* Give `ReZero` one $\alpha$ per channel instead of one per branch. Check
#    that it equals the original if all are 0.5, and compare it with
#    `deepdive.core.residual.ScaledPreNorm`, which is known as LayerScale.
#
#    <details><summary>Answer</summary>
#
#    `self.alpha = nn.Parameter(torch.zeros(d_model))`; the forward pass stays the same, because
#    $\alpha$ is broadcast over the tokens. LayerScale has such a vector too, but it keeps the norm
#    in the branch and starts with a small value instead of 0.
#
#    </details>
# 4. *(measure, 20 min of machine time)* Train `norm_variants.decoder` with 12 layers for 150 steps
#    as ReZero and as *no norm, scaled*, at the rates 0.003, 0.01, and 0.03 and with three seeds
#    each. Report the difference at each variant's best rate with a t interval.
#
#    <details><summary>Answer</summary>
#
#    `norm_variants.measure("ReZero", 12, 0.01, seed, 150)` trains one decoder and returns its
#    losses. We haven't run this depth. Select the rate by the validation loss, `chosen`, report the
#    test loss, `test`, and use other seeds for the selection than for the result.
#
#    </details>

# %% Exercise answers, checked tags=["nbval-check-output"]
for values in ((1.0, 7.0), (2.0, 14.0)):
    print([round(y, 2) for y in RMSNorm(2)(torch.tensor(values)).tolist()])
print(2 * 2048 * 64, 8 * 2 * 2048 * 64, 2 * 512 * 2048)

# %% [markdown]
# ## Further reading
#
# - Zhang and Sennrich (2019), [*Root Mean Square Layer
#   Normalization*](https://arxiv.org/abs/1910.07467).
# - Bachlechner et al. (2021), [*ReZero is All You Need: Fast Convergence at Large
#   Depth*](https://arxiv.org/abs/2003.04887), and [the authors'
#   code](https://github.com/majumderb/rezero).
# - Zhang, Dauphin, and Ma (2019), [*Fixup Initialization: Residual Learning Without
#   Normalization*](https://arxiv.org/abs/1901.09321): an initialization that replaces the norm.
# - Sukhbaatar et al. (2019), [*Augmenting Self-attention with Persistent
#   Memory*](https://arxiv.org/abs/1907.01470), and [the authors'
#   code](https://github.com/facebookresearch/adaptive-span).
# - Xiong et al. (2020), [*On Layer Normalization in the Transformer
#   Architecture*](https://arxiv.org/abs/2002.04745): post-norm and pre-norm.
