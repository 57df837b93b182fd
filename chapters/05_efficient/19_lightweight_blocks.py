# %% [markdown] tags=["slide"]
# # Lightweight blocks: Funnel Transformer, DeLighT, and Lite Transformer
#
# A **lightweight Transformer** does less work per token than a standard one. The **Funnel
# Transformer** shortens the sequence between layers, **DeLighT** uses small matrices and narrow
# attention, and **Lite Transformer** gives half of its channels to a convolution. But a standard
# Transformer with fewer layers is also cheap. **Is a lightweight layer better than a smaller
# Transformer?**
#
# **What it is.** The **Funnel Transformer** ([Dai et al. 2020](https://arxiv.org/abs/2006.03236))
# is an encoder that averages pairs of states between its blocks, so each block has half as many
# states as the one before. **DeLighT** ([Mehta et al. 2021](https://arxiv.org/abs/2008.00623))
# transforms each state with matrices that connect channels only within a group, then attends with
# one narrow head. **Lite Transformer** ([Wu et al. 2020](https://arxiv.org/abs/2004.11886)) splits
# the channels: half go through attention, half through a convolution of nearby positions.
#
# **What you'll be able to do.** Implement the three ideas in 40 lines, count what each saves, and
# compare an efficient model fairly: against smaller versions of the standard one.
#
# <details><summary><b>Short answer</b></summary>
#
# In our experiment, we can't show that it is. Small encoders classify abstracts of medical papers.
# A standard Transformer encoder with 2 layers has an accuracy of 54.1%. The means of the three
# lightweight encoders are lower, but the differences could be zero. A bag of words, which isn't a
# Transformer at all, is better than all of them, with 59.5%.
#
# </details>
#
# <small>Prerequisites: [what a layer costs](../02_transformer/15_complexity.ipynb), [relative
# positions in Transformer-XL](16_recurrence_and_memory.ipynb) · 20 min · data: abstracts of medical
# papers · runs on a laptop; results of the long runs are included · book 5.1.1 and table
# 1.1</small>

# %% Funnel's sequence lengths [markdown] tags=["slide"] figure="ch05.funnel_lengths"
# ![Four rows of states, from bottom to top. Block 1 has eight states. Lines join pairs of them to
# the four states of block 2, and pairs of these to the two of block 3. The decoder has eight states
# again: each of the two is repeated four times, and a line adds the output of block 1. Notes: block
# 1, 8 queries and 8 keys; block 2, 4 queries and 8 keys, then 4; block 3, 2 queries and 4 keys,
# then 2; decoder, 8 queries and 8 keys.](figures/19_lightweight_blocks.svg)
#
# *The Funnel Transformer on eight states. Only the queries of a block's first layer are pooled. Its
# keys are still all states of the block below. To classify a text, the decoder isn't needed.*

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
# ## By hand: pooled states, shuffled groups, and one kernel
#
# **Funnel: pool and repeat.** Suppose that each state is one number. The first state belongs to
# `[CLS]`, a special token at the start of the text, and isn't pooled. The last state is dropped
# (**truncation**), because `[CLS]` has no partner. A length of 8 then becomes 4, and 4 becomes 2.
#
# | step | states | number |
# |---|---|---|
# | block 1 | $9;\ 2, 4, 6, 8, 1, 3, 5$ | 8 |
# | means of pairs, without the 5 | $9;\ 3, 7, 2$ | 4 |
# | scores of the pooling layer | 4 queries, 8 keys | 32 instead of 64 |
# | repeated twice, 0 for the dropped state | $9;\ 3, 3, 7, 7, 2, 2, 0$ | 8 |
# | plus the output of block 1 | $18;\ 5, 7, 13, 15, 3, 5, 5$ | 8 |
#
# **DeLighT: groups and a shuffle.** A linear layer from 4 channels to 4 has 16 weights. In two
# groups of 2 channels it has 8. With $x = (1, 2, 3, 4)$ and the matrices
#
# $$W_1 = \begin{pmatrix} 1 & 0 \\ 1 & 1 \end{pmatrix}, \qquad W_2 = \begin{pmatrix} 2 & 1 \\ 0 & 1
# \end{pmatrix},$$
#
# the first group gives $(1 \cdot 1 + 2 \cdot 1, 2 \cdot 1) = (3, 2)$, and the second $(3 \cdot 2,
# 3 \cdot 1 + 4 \cdot 1) = (6, 7)$. The **feature shuffle** takes the first number of each group,
# then the second: $(3, 6, 2, 7)$. Now each half contains numbers of both groups, and the next
# layer's groups can mix them. Without the shuffle, the two halves would never meet.
#
# **Lite Transformer: a kernel that sums to 1.** A **lightweight convolution** passes the weights of
# its kernel through a softmax. If their exponentials are $(1, 2, 1)$, the kernel is $(\frac14,
# \frac24, \frac14)$. A channel with the values $4, 8, 4, 0$ becomes, with 0 outside, $4, 6, 4, 1$.
# The second value, for example, is $(4 + 2 \cdot 8 + 4) / 4 = 6$.

# %% [markdown]
# ## In code: pooled queries, group transforms, and two ranges
#
# In the comments, B is the batch size, T the number of states, D the number of channels, G the
# number of groups, and K the size of the kernel.

# %% Three lightweight layers tags=["concept", "slide"]
import torch
import torch.nn.functional as F


def pooled_attention(attn, x):  # Funnel; x: (B, T, D), T even
    """Each query is the mean of two states; keys and values are all states."""
    queries = x.unflatten(1, (-1, 2)).mean(2)  # (B, T / 2, D)
    return attn(queries, x, x, need_weights=False)[0]  # (B, T / 2, D)


def group_linear(x, weight):  # (..., d_in), (G, d_in / G, d_out / G)
    """A small matrix per group, then the first output of each group, the second, and so on."""
    parts = x.unflatten(-1, (len(weight), -1)).unsqueeze(-2)  # (..., G, 1, d_in / G)
    return (parts @ weight).squeeze(-2).mT.flatten(-2)  # (..., d_out)


def mix(x, y, groups):  # (..., D), (..., E)
    """Give each of the next layer's groups its part of x and its part of y."""
    parts = [z.unflatten(-1, (groups, -1)) for z in (x, y)]
    return torch.cat(parts, -1).flatten(-2)  # (..., D + E)


def dextra(x, reduce, weights, join):  # DeLighT; x: (..., D)
    """Narrow, widen in groups, narrow in groups; every layer also gets the narrow input."""
    y = narrow = F.gelu(group_linear(x, reduce))  # (..., D / 2)
    for i, weight in enumerate(weights):
        y = F.gelu(group_linear(y, weight))
        y = mix(narrow, y, len(weights[i + 1]) if i + 1 < len(weights) else 1)
    return F.gelu(group_linear(y, join))  # (..., D / 2)


def long_short(attn, logits, x):  # Lite Transformer; logits: (heads, K), x: (B, T, D)
    """Attention for half of the channels, a convolution for the others."""
    far, near = x.chunk(2, -1)  # (B, T, D / 2) each
    kernel = logits.softmax(-1).repeat_interleave(near.shape[-1] // len(logits), 0)  # (D / 2, K)
    near = F.conv1d(near.mT, kernel[:, None], padding="same", groups=len(kernel)).mT
    return torch.cat([attn(far, far, far, need_weights=False)[0], near], -1)  # (B, T, D)

# %% The examples by hand tags=["nbval-check-output"]
from deepdive.layers.pair_pooling import PairPooling

states = torch.tensor([9.0, 2, 4, 6, 8, 1, 3, 5]).view(1, 8, 1)
pooling = PairPooling(separate_cls=True, truncate=True)
pooled, _ = pooling.mean(states)
print("pooled:", pooled.flatten().tolist())
print("with block 1:", (pooling.repeat(pooled, 2, 8) + states).flatten().tolist())
weight = torch.tensor([[[1.0, 0], [1, 1]], [[2, 1], [0, 1]]])
print("shuffled groups:", group_linear(torch.tensor([1.0, 2, 3, 4]), weight).tolist())
kernel = torch.tensor([[1.0, 2, 1]]).log().softmax(-1)[None]
print("convolved:", F.conv1d(torch.tensor([[[4.0, 8, 4, 0]]]), kernel, padding="same").tolist())

# %% [markdown]
# `deepdive`, the small library that accompanies this book, has the three layers complete. The next
# cells give ours and the library's the same weights, and compare outputs and gradients.

# %% Equal to the library: Funnel tags=["equals-library"]
from torch import nn

from deepdive.layers.funnel_attention import FunnelAttention, Level

torch.manual_seed(0)
attn, library = nn.MultiheadAttention(32, 4, batch_first=True), FunnelAttention(32, 4, d_head=8)
with torch.no_grad():
    for weight in (library.position.W.weight, library.segments.e):
        weight.zero_()  # without relative positions and segments, which page 5.16 explains
    q, k, v = attn.in_proj_weight.chunk(3)
    library.q.weight.copy_(q)
    library.kv.weight.copy_(torch.cat([k, v]))
    library.out.load_state_dict(attn.out_proj.state_dict())
x = torch.randn(2, 8, 32, requires_grad=True)
full, half = Level(torch.arange(8)), Level(torch.arange(0, 8, 2))
a = pooled_attention(attn, x)
b = library.read(PairPooling(separate_cls=False).mean(x)[0], x, half, full)
assert torch.allclose(a, b, atol=1e-6)
gradients = [torch.autograd.grad(y.pow(3).sum(), x)[0] for y in (a, b)]
assert torch.allclose(*gradients, atol=1e-6)

# %% Equal to the library: DeLighT and Lite Transformer tags=["equals-library"]
from deepdive.layers.dextra import DExTra
from deepdive.layers.lightweight_convolution import LightweightConvolution

unit = DExTra(32, 16, n_layers=4, max_groups=4, norm=nn.Identity)  # biases are 0 at first
layers = [layer.linear.weight for layer in unit.transforms]
a = dextra(x, unit.reduce.linear.weight, layers, unit.join.linear.weight)
conv = LightweightConvolution(16, n_heads=2, kernel=3)
far, near = x.chunk(2, -1)
attn = nn.MultiheadAttention(16, 2, batch_first=True)
both = long_short(attn, conv.W.weight, x)
library = torch.cat([attn(far, far, far)[0], conv(near)], -1)
for ours, theirs in ((a, unit(x)), (both, library)):
    assert torch.allclose(ours, theirs, atol=1e-6)
    gradients = [torch.autograd.grad(y.pow(3).sum(), x, retain_graph=True)[0]
                 for y in (ours, theirs)]  # fmt: skip
    assert torch.allclose(*gradients, atol=1e-5)

# %% [markdown]
# ## Funnel Transformer: pooled queries
#
# Three details aren't in our 40 lines. **Only queries are pooled.** Each pooled query still attends
# to all states of the block below, so it can correct what the mean has lost. **Positions are
# relative**, as in [Transformer-XL](16_recurrence_and_memory.ipynb). A pooled state has the
# position of its first token, and the distances in block 2 are 0, 2, 4, and so on. **A decoder**
# repeats the pooled states (**upsampling**) and adds the output of block 1, which has a state per
# token. Masked language modeling and tagging need it. A classifier doesn't.
#
# If a layer on $T$ states costs 1, a layer on $T/2$ states costs a half or less: the matrices have
# half the work, and attention has a quarter of the scores. The saved compute can pay for more
# layers. That's the paper's proposal.

# %% Pooled lengths in the library tags=["nbval-check-output"]
from deepdive.models.efficient.funnel import TINY, funnel

model = funnel(TINY, block_sizes=(1, 1, 1), n_decoder_layers=1)
for length in (8, 9, 16):
    tokens = torch.randint(4, 32, (1, length))
    pooled, first, _, level = model.encode(tokens)
    print(f"{length} tokens: {pooled.shape[1]} pooled states, first tokens at",
          f"{level.positions[1:].tolist()}; with decoder {model(tokens).shape[1]}")  # fmt: skip

# %% [markdown]
# ## DeLighT: deep, light transformations
#
# A DeLighT block applies its **transformation** (called DExTra in the code) to each state, then one
# attention head of half the width, then a feed-forward layer that narrows instead of widening: from
# $D$ to $D/4$ and back. The transformation first halves the width, then widens to a multiple of $D$
# (the factor is the **width multiplier**), and narrows again, in **group linear transforms**. The
# number of groups doubles up to a maximum while the layers widen, and halves again while they
# narrow. **Input mixing** gives every layer the narrow input again.
#
# **Block-wise scaling** makes later blocks deeper and wider. Of $M$ blocks, the first
# has $N_{\min}$ group layers and widens to $w D$, and the last has $N_{\max}$ layers. Block $b$,
# counted from 0, has
#
# $$N_b = \left\lfloor N_{\min} + (N_{\max} - N_{\min}) \frac{b}{M - 1} \right\rfloor, \qquad w_b =
# w + \left(\frac{N_{\max}}{N_{\min}} - 1\right) \frac{b}{M - 1}$$
#
# group layers and the width multiplier $w_b$. From 4 to 8 layers in three blocks with $w = 2$,
# that's 4, 6, and 8 layers, and width multipliers of 2, 2.5, and 3.

# %% Block-wise scaling and weights in groups tags=["nbval-check-output"]
from deepdive.layers.dextra import GroupTransform, shape
from deepdive.models.efficient.delight import block_scaling

print("layers and width of each block:", block_scaling(3, shallowest=4, deepest=8, width=2.0))
groups, widths = shape(d_out=256, widest=1024, n_layers=4, max_groups=8)
print("512 channels, 4 layers: groups", groups, "widths", widths)
for n in (1, 2, 8):
    weights = GroupTransform(256, 1024, groups=n).linear.weight.numel()
    print(f"256 to 1024 channels, groups: {n}, weights: {weights:,}")

# %% [markdown]
# ## Lite Transformer: attention and convolution side by side
#
# The idea of **long-short range attention** is a division of labor: attention for distant
# positions, a convolution for neighbors. The convolution is **depthwise** (each channel by itself),
# and the channels of a head share a kernel that a softmax normalizes, as in [Wu et al.
# (2019)](https://arxiv.org/abs/1901.10430). In the released configurations, the convolution is
# **dynamic**: a linear layer computes the kernel from the state at its center, so each position has
# its own. The feed-forward layer is **flattened**: it has $D$ hidden units instead of $4 D$.

# %% Kernels in the library tags=["nbval-check-output"]
from deepdive.models.efficient.lite_transformer import lite_transformer

stack = lite_transformer(64, n_heads=4, kernels=(3, 7))
mixed = stack.blocks[0].attn
print("channels that attend, are convolved:", mixed.sizes)
print("weights for the kernels:", tuple(mixed.conv.conv.W.logits.weight.shape))
print("hidden units of the feed-forward layer:", stack.blocks[0].ff.inner.out_features)

# %% [markdown] tags=["slide"]
# ## Experiment: accuracy at similar cost
#
# **The question.** Does a lightweight encoder classify texts more accurately than a smaller
# standard one of similar cost?
#
# **What was trained.** The texts are real: 2,657 abstracts of medical papers, cut or padded to 256
# words, with one of five labels. Each encoder classifies the mean of its final states. All have 32
# channels (the narrow one 20), are **post-norm** (normalization after each residual sum), and were
# trained for 200 steps with 16 abstracts each, a little less than two passes over the training
# texts. With one seed, which fixes the split of the texts and the random weights, we selected the
# learning rate of each encoder on validation texts: the best of 0.001, 0.003, and 0.01, and of
# further values if the best one was at the edge. Five new seeds give the results (three for *plain*
# and *narrow*).
#
# **The baselines.** *Plain* is a standard Transformer encoder of 4 layers. *Shallow* has 2 layers,
# *narrow* has 20 channels, and *pooled input* averages pairs of embeddings once, before the first
# layer. Two models ignore the order of words: *mean of embeddings* is a small trained network, and
# the *bag of words* is a logistic regression on weighted word frequencies (tf-idf). **The
# lightweight encoders.** *Funnel* has blocks of 1, 1, and 2 layers. *DeLighT* has 4 blocks with 2
# to 4 group transforms, and *Lite Transformer* has 4 layers with kernels of 3, 7, 15, and 31
# positions.
#
# **How compute is counted.** `FlopCounterMode` of PyTorch adds up the floating-point operations
# (FLOPs) of matrix products, attention, and convolutions. It doesn't count softmax, norms,
# activations, means of pairs, or looking up embeddings. On a CPU it also misses fused attention, so
# our function `count_flops` adds it. Neither counts our dynamic convolution, which multiplies
# elementwise. In the next cell we count it by hand: 0.5 million operations, 2% of Lite
# Transformer's.

# %% FLOPs of one text, and what the counter misses
from torch.utils.flop_counter import FlopCounterMode

from deepdive_book.ch05.runs import lightweight
from deepdive_book.kit.profile import pick

text = torch.randint(1, 4000, (1, 256))
for name in ("plain", "Funnel", "DeLighT", "Lite Transformer"):
    model = lightweight.VARIANTS[name]().eval()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(text)
    print(f"{name}: {lightweight.sizes(model)['flops'] / 1e6:.1f} MFLOPs, of which",
          f"PyTorch's counter finds {counter.get_total_flops() / 1e6:.1f}")  # fmt: skip
missed = sum(2 * 256 * 16 * kernel for kernel in (3, 7, 15, 31))
print(f"dynamic convolution, not counted: {missed / 1e6:.1f} MFLOPs")

# %% The same code for a few steps
few = pick(ci=2, laptop=20, gpu=60)
for name in ("plain, shallow", "Funnel"):
    row = lightweight.measure(name, 3e-3, 0, few)
    print(f"{name}: accuracy {row['test']:.0%} after {few} steps")

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Which model has the highest mean accuracy on the test texts?",
    ["the plain Transformer", "a lightweight encoder", "the bag of words"],
    answer=2,
    explain="It reaches 59.5%, and the best encoder 54.1%. There are few training texts and steps, "
    "and many topics show in single words.",
    key="05_efficient/lightweight-best",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown]
# In the table, compare the lightweight encoders with *shallow* and *pooled input*. DeLighT and Lite
# Transformer have slightly fewer MFLOPs than *shallow*. Funnel has about 50% more, and no standard
# encoder here costs what it does. Then look at the last two rows, the models that ignore the order
# of words.

# %% Size, compute, time, and accuracy tags=["slide", "surprise", "nbval-check-output"]
from deepdive_book.ch05.runs import lightweight_tables

rows, milliseconds = lightweight.load(), lightweight.load_times()
lightweight_tables.accuracy_table(rows, milliseconds)

# %% Accuracy against FLOPs
lightweight_tables.accuracy_figure(rows)

# %% [markdown]
# *Test accuracy against FLOPs. Bars are 95% intervals over the seeds. The two horizontal lines are
# models that ignore the order of words.*

# %% Differences between encoders tags=["nbval-check-output"]
lightweight_tables.contrast_table(rows)

# %% [markdown]
# The brackets are **95% confidence intervals**. If we repeated the experiment with new seeds many
# times, about 95% of such intervals would contain the true mean. Those of the second table are
# wider, so that in 95% of repetitions all five contain the true differences (the Bonferroni
# correction). If the interval of a difference contains zero, we can't tell which of the two is
# better. Differences are computed before rounding.
#
# **No lightweight encoder is shown to be better than the shallow one.** The shallow encoder, a
# standard Transformer with 2 layers, has the highest mean of all encoders, 54.1%. The three
# lightweight means are lower, but all their intervals include zero. Averaging pairs of embeddings
# once, before a standard encoder, costs less than half of Funnel's FLOPs. The difference to Funnel
# is also inconclusive.
#
# **One seed is much worse than the others for two encoders.** With it, Funnel reaches 38% and Lite
# Transformer 44%. With the other seeds, both reach 48% or more. Leaving out a run because it's bad
# would bias the mean, so both stay in, and widen the intervals.
#
# **FLOPs aren't time.** Lite Transformer has fewer FLOPs than the shallow encoder, but a training
# step takes more than twice as long on this CPU, and DeLighT's step is slower too. Their 4 layers
# may be one reason, because *plain* and *narrow* have 4 and are slow as well. Our dynamic
# convolution, a loop of elementwise operations, and DeLighT's many small products may be others. We
# didn't time the parts.
#
# **The bag of words is better than the best encoder.** The difference is 5.4 points, and its
# interval excludes zero. The *mean of embeddings*, at almost no cost, has a higher mean than each
# lightweight encoder, but it's far below the bag of words. So ignoring the order of words isn't the
# whole explanation. The short training may be a part of it. With so few texts and steps, a bag of
# words should be the first baseline.
#
# **What this doesn't show.** The encoders have 32 channels and were trained for 200 steps, from
# scratch. Funnel has relative positions and the others learned ones, so its difference may not be
# due to pooling alone. The seeds' test texts overlap, so the intervals are somewhat too narrow. And
# the shallow encoder was compared with three encoders whose sizes we chose: other sizes may do
# better.

# %% [markdown]
# ## With the real library: FunnelModel in transformers
#
# `transformers` has the Funnel Transformer, with the decoder (`FunnelModel`) and without
# (`FunnelBaseModel`). No pretrained checkpoint is loaded here, so the weights are random. `load`
# reads a saved model into our library. For DeLighT and Lite Transformer, only the authors' code
# exists, built on `fairseq`. It isn't installed here, so we can't compare with it. Our tests check
# both against the papers' equations, written out as loops.

# %% The same weights in both libraries
from tempfile import TemporaryDirectory

from transformers import FunnelBaseModel, FunnelConfig, FunnelModel

from deepdive.published import load

sizes = FunnelConfig(vocab_size=50, d_model=32, n_head=4, d_head=8, d_inner=64,
                     block_sizes=[1, 1, 1], num_decoder_layers=1)  # fmt: skip
tokens = torch.randint(4, 50, (2, 16))
for kind in (FunnelModel, FunnelBaseModel):
    torch.manual_seed(0)
    theirs = kind(sizes).eval()
    with TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        ours = load(folder).eval()
    with torch.no_grad():
        states = ours(tokens)
        same = torch.allclose(states, theirs(tokens).last_hidden_state, atol=1e-5)
    assert same
    print(f"{kind.__name__}: {tuple(states.shape)}, equal: {same}")

# %% [markdown]
# ## How it differs
#
# | | Transformer | Funnel | DeLighT | Lite Transformer |
# |---|---|---|---|---|
# | reduces | nothing | the sequence | the width of attention | the channels that attend |
# | states per layer | $T$ | $T$, $T/2$, $T/4$ | $T$ | $T$ |
# | attention heads | several | several | one, of width $D/2$ | several, in $D/2$ channels |
# | hidden units of the feed-forward layer | $4 D$ | $4 D$ | $D/4$ | $D$ |
# | extra module | none | decoder, for states per token | group transforms | convolution |
# | can be causal | yes | not by a mask alone | yes | yes |
#
# ## Common mistake: padding that shares a pair with a token
#
# In a batch, short texts are padded. If padding shares a pair with the last token, the pair is half
# real. **Symptom:** the output for a text changes with the padding next to it. In
# `transformers`, such a pair is masked, so its token is lost to the next block, and the padding's
# state goes into the mean. The authors' code masks a pair only if both states are padding. Our
# library does this too, and leaves padding out of the mean. **Fix:** turn off truncation, and count
# only real tokens in the mean. Then a padded text gives exactly what it gives alone.

# %% One text alone and padded
from transformers import FunnelBaseModel

config = FunnelConfig(vocab_size=50, d_model=32, n_head=4, d_head=8, d_inner=64,
                      block_sizes=[1, 2], truncate_seq=False)  # fmt: skip
theirs = FunnelBaseModel(config).eval()
with TemporaryDirectory() as folder:
    theirs.save_pretrained(folder)
    ours = load(folder).eval()
alone = torch.randint(4, 50, (1, 10))  # [CLS], four pairs, and a token without a partner
padded, mask = F.pad(alone, (0, 6)), torch.arange(16)[None] < 10
with torch.no_grad():
    change = ours(padded, mask)[:, 0] - ours(alone)[:, 0]
    inputs = {"input_ids": padded, "attention_mask": mask.long()}
    theirs_change = theirs(**inputs).last_hidden_state[:, 0] - theirs(alone).last_hidden_state[:, 0]
print("ours, [CLS] unchanged:", bool((change.abs() < 1e-5).all()))
print("transformers, [CLS] unchanged:", bool((theirs_change.abs() < 1e-5).all()))

# %% [markdown]
# ## In practice
#
# - **Compare with a smaller standard model first.** Reduce its layers or its width until it costs
#   as much. Tune its learning rate too.
# - **Time it on your hardware.** Our FLOP counts leave out elementwise work, and many small
#   products can take longer than one large product. In the table, *narrow* has about as many FLOPs
#   as *shallow*, but a step takes nearly twice as long.
# - **Pool where a few states are enough**, as in classification and retrieval. For tagging, you
#   need the decoder, which works at the full length again.
# - **On small data sets, try a bag of words** before any encoder trained from scratch.
#
# ## Summary
#
# Is a lightweight layer better than a smaller Transformer? In our experiment, we can't show that
# any is. A standard encoder with 2 layers reaches 54.1%. The Funnel Transformer reaches 48.0%,
# DeLighT 50.8%, and Lite Transformer 49.6%, and the intervals of the differences include zero. A
# bag of words reaches 59.5%. The three ideas do reduce the work, and you can count by how much.
# Whether they pay depends on what a smaller standard model reaches at the same cost, and on the
# time that your hardware needs.
#
# Dai et al. (2020) report that the pretrained Funnel Transformer outperforms the standard one on
# many sequence-level tasks, with comparable or fewer FLOPs. Mehta et al. (2021) report that DeLighT
# matches or improves baseline Transformers in machine translation and language modeling, with 2 to
# 3 times fewer parameters on average. Wu et al. (2020) propose Lite Transformer for machine
# translation under tight limits. We reproduced none of these results. We pretrained nothing,
# translated nothing, and used far smaller encoders.
#
# ## Check your understanding
#
# 1. A Funnel Transformer reads 64 tokens in three blocks. `[CLS]` isn't pooled, and the last state
#    is dropped. How many states does each block have?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    64, 32, and 16: `[CLS]`, and half of the $64 - 2$ or $32 - 2$ other states.
#
#    </details>
# 2. Why are the keys of a pooling layer not pooled?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    So that each pooled state can attend to all states of the block below. A mean alone would mix
#    every pair with equal weights.
#
#    </details>
# 3. What goes wrong without the feature shuffle, if no layer has one group?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The first half of the output depends only on the first half of the input, however many layers
#    there are.
#
#    </details>
# 4. A lightweight model matches a standard one of twice its FLOPs. Which control is missing?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    A smaller standard model with the same FLOPs. It may match the large one too.
#
#    </details>
# 5. Why can a Funnel Transformer not be made causal by a causal mask alone?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    A pooled state contains the second token of its pair, so the first token's output would depend
#    on a later one.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* Pool the states $1;\ 4, 2, 6, 6, 3, 5, 8$ as above, and repeat the result
#    twice.
#
#    <details><summary>Answer</summary>
#
#    $1;\ 3, 6, 4$, and then $1;\ 3, 3, 6, 6, 4, 4, 0$.
#
#    </details>
# 2. *(on paper, 5 min)* A feed-forward layer has $2 \cdot 4 D^2 = 8 D^2$ weights. Compute the
#    number for DeLighT's feed-forward layer and for Lite Transformer's.
#
#    <details><summary>Answer</summary>
#
#    $2 \cdot D^2 / 4 = D^2 / 2$ and $2 D^2$.
#
#    </details>
# 3. *(in code, 10 min)* Change `long_short` into its causal form, in which no output depends on a
#    later position. Check it with `LightweightConvolution(..., causal=True)`.
#
#    <details><summary>Answer</summary>
#
#    Pad only on the left, `F.conv1d(F.pad(near.mT, (K - 1, 0)), ...)`, and give the attention
#    `attn_mask=torch.ones(T, T, dtype=torch.bool).triu(1)`.
#
#    </details>
# 4. *(measure, 10 min of machine time)* Train `lightweight.VARIANTS["plain, pooled input"]` with
#    `lightweight.measure` for 200 and for 400 steps, three seeds each, at a learning rate of 0.003.
#    Report the training and the test accuracy, and say whether more steps help.
#
#    <details><summary>Answer</summary>
#
#    `lightweight.measure("plain, pooled input", 3e-3, seed, steps)` returns both as `train` and
#    `test`. Report means and ranges over the seeds. We ran one seed, on another split and with
#    unsorted batches: more steps raised the training accuracy, but not the test accuracy.
#
#    </details>

# %% Exercise answers, checked tags=["nbval-check-output"]
states = torch.tensor([1.0, 4, 2, 6, 6, 3, 5, 8]).view(1, 8, 1)
pooled, _ = pooling.mean(states)
print(pooled.flatten().tolist(), pooling.repeat(pooled, 2, 8).flatten().tolist())

# %% [markdown]
# ## Further reading
#
# - Dai et al. (2020), [*Funnel-Transformer: Filtering out Sequential Redundancy for Efficient
#   Language Processing*](https://arxiv.org/abs/2006.03236), and [the authors'
#   code](https://github.com/laiguokun/Funnel-Transformer).
# - Mehta et al. (2021), [*DeLighT: Deep and Light-weight
#   Transformer*](https://arxiv.org/abs/2008.00623), and [the authors'
#   code](https://github.com/sacmehta/delight).
# - Wu et al. (2020), [*Lite Transformer with Long-Short Range
#   Attention*](https://arxiv.org/abs/2004.11886), and [the authors'
#   code](https://github.com/mit-han-lab/lite-transformer).
# - Wu et al. (2019), [*Pay Less Attention with Lightweight and Dynamic
#   Convolutions*](https://arxiv.org/abs/1901.10430): the convolutions of Lite Transformer.
