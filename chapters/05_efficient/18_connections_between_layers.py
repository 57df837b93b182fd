# %% [markdown] tags=["slide"]
# # RealFormer and transparent attention: extra connections between layers
#
# A Transformer layer passes only its output states to the next layer. **RealFormer** also passes on
# the attention scores. **Transparent attention** gives each decoder layer its own weighted average
# of all encoder layers to attend to. **Does transparent attention help because of its learned
# weights, or would any direct connection do? Does RealFormer help because of the connection, or
# because its attention is sharper?**
#
# **What it is.** **RealFormer** ([He et al. 2021](https://arxiv.org/abs/2012.11747)) adds the
# attention scores of a layer, before the softmax, to the scores of the next layer, with no new
# parameters. **Transparent attention** ([Bapna et al. 2018](https://arxiv.org/abs/1808.07561)) is
# for encoder-decoders. The average that each decoder layer's **cross-attention** attends to has
# learned weights, and it includes the embeddings.
#
# **What you'll be able to do.** Implement both connections in 40 lines, compute each by hand, and
# test whether a shortcut helps because of what it learns or because it's short.
#
# <details><summary><b>Short answer</b></summary>
#
# We trained deep encoder-decoders with **post-norm** (the norm after each addition) to reverse
# short sequences. With transparent attention, the test loss per symbol is 2.024 instead of 2.591
# **nats** (units of the natural logarithm). A fixed mean of the embeddings and all encoder layers
# gives most of this gain, and **pre-norm** (the norm at the start of each branch), which needs no
# new connection, does about as well on average. Whether the learned weights add anything remains
# open, and this task is a weak test of encoders, because a decoder that attends directly to the
# source embeddings does far better.
#
# In small language models, RealFormer makes attention sharper and adjacent layers more similar, but
# we couldn't show that its loss is lower.
#
# </details>
#
# <small>Prerequisites: [residual connections and
# norms](../02_transformer/09_residuals_norms.ipynb), [the
# decoder](../02_transformer/12_decoder.ipynb), [RMSNorm and
# ReZero](15_norms_and_all_attention.ipynb) · 18 min · data: generated sequences, Shakespeare's
# plays · runs on a laptop; results of the long runs are included · book 5.1.2.1 and table
# 1.1</small>

# %% Two connections [markdown] tags=["slide"] figure="ch05.layer_connections"
# ![Left, RealFormer: in layer 1, queries times keys give scores, which pass a plus sign to the mask
# and the softmax. From the plus sign, a second line carries the scores to the plus sign of layer 2,
# and from there to layer 3. Right, transparent attention: lines of different width go from the
# embeddings and three encoder layers to two sums, one for the cross-attention of each decoder
# layer.](figures/18_connections_between_layers.svg)
#
# *On the left are RealFormer's **residual scores**, which are passed on before the mask and the
# softmax. On the right is transparent attention. In $s_{ij}$, $i$ counts the encoder's states from
# 0, the embeddings, and $j$ counts the decoder layers. The weights of each decoder layer sum to 1.*

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
# ## By hand: one query, two keys, three encoder states
#
# **RealFormer.** With $d$ the width of a head, the attention of layer $l$ is
#
# $$S_l = \frac{Q_l K_l^\top}{\sqrt{d}} + S_{l-1}, \qquad \text{output} =
# \text{softmax}(S_l)\,V_l,$$
#
# where $S_0 = 0$. Adding scores multiplies their exponentials, so we write down $e^{\text{score}}$
# for each of a query's two keys. Layer 1 gives $(1, 3)$. From their own queries and keys, layer 2
# gives $(2, 1)$ and layer 3 gives $(1, 1)$. The values of each layer are 15 and 30.
#
# | layer | plain weights | plain output | RealFormer, product so far | weights | output |
# |---|---|---|---|---|---|
# | 1 | $(1, 3) / 4$ | 26.25 | $(1, 3)$ | $(1, 3) / 4$ | 26.25 |
# | 2 | $(2, 1) / 3$ | 20 | $(1 \cdot 2,\ 3 \cdot 1) = (2, 3)$ | $(2, 3) / 5$ | 24 |
# | 3 | $(1, 1) / 2$ | 22.5 | $(2 \cdot 1,\ 3 \cdot 1) = (2, 3)$ | $(2, 3) / 5$ | 24 |
#
# A layer whose own scores are equal, such as layer 3, attends exactly as the layer before it does.
# So a layer only has to learn what should change.
#
# **Transparent attention.** With $N$ encoder layers and $M$ decoder layers, decoder layer $j$
# attends to
#
# $$z_j = \sum_{i=0}^{N} s_{ij}\, h_i, \qquad s_{ij} = \frac{e^{W_{ij}}}{\sum_{k=0}^{N}
# e^{W_{kj}}}.$$
#
# Suppose a source token has one number per state: 4 in the embeddings, 8 after layer 1, and 12
# after layer 2. Decoder layer 1 has $e^{W} = (1, 1, 2)$, so its weights are $(\frac14, \frac14,
# \frac12)$ and it reads $1 + 2 + 6 = 9$. Decoder layer 2 has $e^{W} = (2, 1, 1)$ and reads $2 + 2 +
# 3 = 7$. The derivative of the first result with respect to the embedding along the direct
# connection is its weight, $\frac14$. It isn't multiplied by the derivatives of the layers in
# between.
#
# **How many parameters?** RealFormer adds none, and transparent attention adds $(N + 1) \cdot M$,
# so 102 for 16 encoder layers and 6 decoder layers.

# %% [markdown]
# ## In code: RealFormer and transparent attention
#
# In the comments, B is the batch size, d the width of a head, and the other letters count: T and S
# tokens, H heads, N encoder layers, and M decoder layers.

# %% RealFormer's layers tags=["concept", "slide"]
import torch
from torch import nn


class ResidualScoreAttention(nn.Module):
    """Self-attention that adds the previous layer's scores, and returns the sum with its output."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x, previous, visible):  # (B, T, d_model), (B, H, T, T), bool (T, T)
        q, k, v = (y.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)  # (B, H, T, d)
                   for y in self.qkv(x).chunk(3, -1))
        scores = q @ k.mT / q.shape[-1] ** 0.5 + previous  # (B, H, T, T)
        weights = scores.masked_fill(~visible, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2)), scores  # scores: not masked


class RealFormer(nn.Module):
    """Post-norm layers whose scores have a residual connection."""

    def __init__(self, d_model, n_heads, d_ff, n_layers):
        super().__init__()
        self.attn = nn.ModuleList(ResidualScoreAttention(d_model, n_heads) for _ in range(n_layers))
        self.ff = nn.ModuleList(
            nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU("tanh"), nn.Linear(d_ff, d_model))
            for _ in range(n_layers))
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(2 * n_layers))

    def forward(self, x, visible):  # (B, T, d_model), bool (T, T)
        scores = 0.0
        for i, (attn, ff) in enumerate(zip(self.attn, self.ff, strict=True)):
            out, scores = attn(x, scores, visible)
            x = self.norms[2 * i](x + out)
            x = self.norms[2 * i + 1](x + ff(x))
        return x

# %% [markdown]
# Transparent attention is a separate module, which mixes the encoder's states for each decoder
# layer.

# %% A mixture of encoder states tags=["slide"]
class TransparentMixture(nn.Module):
    """One memory per decoder layer, each a learned average of all encoder states."""

    def __init__(self, n_layers, n_decoder_layers):
        super().__init__()
        self.W = nn.Parameter(torch.zeros(n_layers + 1, n_decoder_layers))  # (N + 1, M)

    def forward(self, states):  # embeddings and N outputs, each (B, S, d_model)
        s = self.W.softmax(0)  # (N + 1, M), each column sums to 1
        return torch.einsum("ibsd,ij->bsjd", torch.stack(states), s)  # (B, S, M, d_model)

# %% The examples by hand tags=["nbval-check-output"]
values, total = torch.tensor([15.0, 30.0]), torch.zeros(2)
for layer, own in enumerate(([1.0, 3.0], [2.0, 1.0], [1.0, 1.0]), 1):
    scores = torch.tensor(own).log()
    total = total + scores
    plain, real = (s.softmax(0) @ values for s in (scores, total))
    print(f"layer {layer}: plain {plain.item():.2f}, RealFormer {real.item():.2f}")
mixture = TransparentMixture(2, 2)
mixture.W.data = torch.tensor([[1.0, 2.0], [1.0, 1.0], [2.0, 1.0]]).log()
states = [torch.tensor([[[h]]], requires_grad=True) for h in (4.0, 8.0, 12.0)]
memories = mixture(states)
print("decoder layers attend to:", memories.flatten().tolist())
(derivative,) = torch.autograd.grad(memories[:, :, 0].sum(), states[0])
print("derivative with respect to the embedding:", derivative.item())

# %% [markdown]
# The next cells copy weights into `deepdive`, the small library that accompanies this book, and
# compare outputs and gradients. Its tests check that decoding with a cache gives the same result as
# a pass over all tokens.

# %% Equal to the library: RealFormer tags=["equals-library"]
from deepdive.core.masks import Causal
from deepdive.models.transformer.realformer import realformer_stack

torch.manual_seed(0)
ours, library = RealFormer(16, 4, 32, 3), realformer_stack(16, 4, 3, 32)
with torch.no_grad():
    for i, block in enumerate(library.blocks):
        for name, (w_q, w_k, w_v) in {
            n: getattr(ours.attn[i].qkv, n).chunk(3) for n in ("weight", "bias")
        }.items():
            getattr(block.attn.q, name).copy_(w_q)
            getattr(block.attn.kv, name).copy_(torch.cat([w_k, w_v]))
        block.attn.out.load_state_dict(ours.attn[i].out.state_dict())
        block.ff.inner.load_state_dict(ours.ff[i][0].state_dict())
        block.ff.out.load_state_dict(ours.ff[i][2].state_dict())
x = torch.randn(2, 7, 16, requires_grad=True)
a, b = ours(x, torch.ones(7, 7, dtype=torch.bool).tril()), library(x, mask=Causal())
assert torch.allclose(a, b, atol=1e-5)
pairs = ((a, ours.attn[0].out.weight), (b, library.blocks[0].attn.out.weight))
gradients = [torch.autograd.grad(y.pow(3).sum(), (x, w)) for y, w in pairs]
assert all(torch.allclose(*each, atol=1e-3) for each in zip(*gradients, strict=True))
print("equal outputs, and equal gradients of the input and the first output matrix")

# %% Equal to the library: transparent attention tags=["equals-library", "nbval-check-output"]
from deepdive.models.transformer import transparent

model = transparent.tiny()  # three encoder layers, two decoder layers
encoder, mixture = model.encoder.stack, TransparentMixture(3, 2)
for weights in (encoder.mixture, mixture.W):
    weights.data = torch.linspace(-1, 1, 8).view(4, 2)
x = torch.randn(2, 5, 32, requires_grad=True)
states = [x]
for block in encoder.blocks:
    states.append(block(states[-1]))
a, b = mixture(states), encoder(x)  # (B, S, M, d_model)
assert torch.allclose(a, b, atol=1e-5)
gradients = [torch.autograd.grad(y.pow(3).sum(), (x, w))
             for y, w in ((a, mixture.W), (b, encoder.mixture))]  # fmt: skip
assert all(torch.allclose(*each, rtol=1e-3, atol=1e-3) for each in zip(*gradients, strict=True))
print("equal outputs and gradients; memories:", tuple(b.shape))

# %% [markdown] tags=["slide"]
# ## Experiments
#
# ### 1. Does transparent attention train a deep encoder?
#
# The paper's argument for transparent attention is the gradient. In a deep encoder it has to pass
# through all layers above, whereas transparent attention connects each layer directly to the
# decoder. We look at the **gradient norm**, the length of the gradient of all parameters of one
# encoder layer. In the control *fixed mean*, every decoder layer attends to the mean of all encoder
# states, and no weights are learned.

# %% Gradient norm by encoder layer
from deepdive_book.ch05.runs import connection_tables, encoder_depth
from deepdive_book.kit.profile import pick

gradients = encoder_depth.load_gradients()
connection_tables.gradient_figure(gradients)

# %% [markdown]
# *Gradient norm by encoder layer on reversal, the task described below. The learning rate is 0.003,
# and for plain post-norm also 0.0003. Lines are medians of five seeds, and bands are their range.
# Before training, the first two lines coincide, as do the next two.*

# %% Last layer divided by first tags=["nbval-check-output"]
connection_tables.gradient_table(gradients)

# %% [markdown]
# **With plain post-norm, the first layer's gradient nearly vanishes in some runs.** The table
# divides the last layer's gradient norm by the first layer's. Before training, this ratio is 0.77
# to 9. After 50 steps at a learning rate of 0.003, it's 9.1, 191, and 6,303 in three
# runs, and 0.93 and 1.5 in the other two. At 0.0003, the rate that is selected for plain post-norm
# below, it's at most 2.7, and yet the final loss is high. So vanishing gradients may not be the
# only reason for that loss.
#
# With transparent attention and the fixed mean, the ratio is below 0.3 in every run, so the first
# layer has the larger gradient. A lower layer contributes to more of the states that the decoder
# attends to. These runs use the rate 0.003, whereas 0.01 is selected for transparent attention.
#
# The losses are measured as follows:
#
# - **Task.** The data of this experiment are **generated**. A source has eight symbols, each one of
#   16, and the target is the source in reverse order. Predicting all 16 symbols with equal
#   probability costs $\ln 16 = 2.773$ nats per symbol.
# - **Training.** The encoder-decoders have width 32, 4 heads, two decoder layers, and 4 or 16
#   encoder layers. They are trained for 200 steps of AdamW on batches of 16 pairs, with gradients
#   clipped at norm 1. A **warm-up** raises the learning rate over the first tenth of the steps.
# - **Learning rate.** Each variant has its own, selected on validation data. A run's random start
#   is fixed by its **seed**, and the seeds of the selection aren't used again. One seed tries
#   0.001, 0.003, and 0.01, and further values while the best one is at the edge. Three seeds decide
#   between the two best values.
# - **Results.** Five other seeds give the means in the tables. The brackets are **95% confidence
#   intervals**: in 95% of repeated experiments, such an interval contains the true mean.
#   Differences are computed seed by seed. Their intervals are widened (the **Bonferroni
#   correction**), because one of many can exclude zero by chance. A difference whose interval
#   includes zero is **inconclusive**: it shows neither a difference nor equality.
#
# Six controls test what the gain comes from:
#
# | control | what changes |
# |---|---|
# | fixed mean | every decoder layer attends to the mean of all encoder states |
# | mean without embeddings | the same, over the layers' outputs only |
# | long warm-up | plain post-norm, whose learning rate rises for half of the steps |
# | twice the steps | plain post-norm, trained for 400 steps |
# | pre-norm | the norm is inside each branch, so the residual stream already sums all branches |
# | embeddings only | no encoder: the decoder attends to the source's embeddings |
#
# The next cell trains two variants for a few steps.

# %% The same code for a few steps
print(f"loss of equal probabilities: {encoder_depth.CHANCE['reversal']:.3f}")
few = pick(ci=2, laptop=20, gpu=50)
for name in ("post-norm", "post-norm, transparent"):
    row = encoder_depth.measure("reversal", name, 4, 0.01, 0, few)
    print(f"{name}: test loss {row['test']:.2f} after {few} steps, "
          f"{row['parameters']:,} parameters")  # fmt: skip

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Reversal with 16 encoder layers, each variant at its own learning rate. How does the mean "
    "test loss of transparent attention compare with that of the fixed mean?",
    ["lower by more than 0.2 nats", "less than 0.2 nats apart", "higher by more than 0.2 nats"],
    answer=1,
    explain="On average it's 0.096 lower. But with five seeds, the interval (-0.402 to 0.210) also "
    "allows larger differences.",
    key="05_efficient/transparent-control",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown]
# Compare the losses with 16 encoder layers. The second table has the tested differences.

# %% Test loss by what the decoder attends to tags=["slide", "surprise", "nbval-check-output"]
rows = encoder_depth.load()
connection_tables.depth_table(rows)

# %% Differences, corrected tags=["nbval-check-output"]
connection_tables.depth_contrasts(rows)

# %% [markdown]
# **Transparent attention lowers the loss of plain post-norm.** With 16 encoder layers it's 2.024
# instead of 2.591. Both are still close to the 2.773 of equal probabilities. A longer warm-up and
# twice the steps close only a part of the gap. With 4 encoder layers, plain post-norm learns more
# (1.989), and transparent attention's loss is lower by 1.190.
#
# **A fixed mean gives most of this gain.** Its loss of 2.120 is 0.471 lower than plain post-norm's.
# Transparent attention's is 0.567 lower. Whether the learned weights add anything is open, because
# the interval of their difference from the fixed mean runs from -0.402 to 0.210. The comparisons
# with pre-norm are also inconclusive, with 16 layers and with 4 (0.283 lower).
#
# **On this task, the encoder itself isn't needed.** A decoder that attends to the embeddings only
# has a far lower loss, 0.363, and 89% accuracy. To reverse a sequence, the decoder needs each
# symbol and its position, and the embeddings have both. So the losses of the deep models measure
# how easily this information and its gradient pass the encoder, not how good its states are.
#
# **Checks.** Most of the gain remains without the direct connection to the embeddings: the mean
# without them reaches 2.175. This control is weak, because the first layer's output can be close to
# the embeddings. Training raises transparent attention's mean weight of the embeddings from $1/17 =
# 6\%$ to 10%, and lowers that of the last layer to 5%. So after 200 steps, the learned average is
# probably still close to the fixed one.
#
# **What this doesn't show.** 200 steps on one generated task with width 32 are far from the paper's
# translation, where the encoder has to do more than pass on its input. There, or with more
# training, learned weights could be better than a fixed mean.

# %% [markdown]
# ### 2. Do residual scores help, or only sharper attention?
#
# RealFormer's scores are sums over all layers so far, so they tend to be larger, and larger scores
# make the softmax sharper. This alone could explain a difference. The control *scaled scores* is
# plain post-norm in which layer $l$ multiplies its scores by $\sqrt{l}$, because a sum of $l$
# independent scores with equal standard deviations has $\sqrt{l}$ times their standard deviation.
#
# The models are small decoders that predict the next character of Shakespeare's plays, with batches
# of 8 windows, AdamW, and learning rates selected as above (details on [page
# 5.15](15_norms_and_all_attention.ipynb)). We also measure the attention, in the second half of
# each window:
#
# - The **entropy** of the attention weights is divided by that of uniform weights over the visible
#   keys. It's 100% for uniform weights, and lower for sharper attention.
# - The **agreement** of two adjacent layers is 1 minus half of the sum of the absolute differences
#   between the weights of the same head. It's 100% for equal weights.
#
# The next cell prints the **bigram loss**, which counting pairs of characters gives.

# %% The loss that counting pairs gives
from deepdive_book.ch05.runs import norm_variants

print(f"bigram loss {norm_variants.bigram_loss(norm_variants.corpus(), 'test'):.3f}")

# %% RealFormer and its controls tags=["slide", "nbval-check-output"]
from deepdive_book.ch05.runs import residual_scores

rows = residual_scores.load()
connection_tables.score_table(rows)

# %% Differences, corrected tags=["nbval-check-output"]
connection_tables.score_contrasts(rows)

# %% Entropy and agreement tags=["nbval-check-output"]
connection_tables.attention_table(rows)

# %% Attention by layer
connection_tables.attention_figure(rows)

# %% [markdown]
# *Entropy of attention by layer, and agreement of each layer with the next, after 300 steps, as
# means over five seeds.*
#
# **We couldn't show that RealFormer's loss is lower than plain post-norm's.** After 300 steps, the
# difference is 0.004 nats per character, and all models are only slightly better than the bigram
# loss of 2.490. After 900 steps they're well below it, and RealFormer's loss is lower by 0.036 on
# average. The corrected interval includes zero, so this is a hint and not a result.
#
# **The attention itself changes.** After 300 steps, RealFormer's mean entropy is 79%, and plain
# post-norm's is 89%. The agreement of adjacent layers is 67% instead of 53%. Scaled scores have
# about RealFormer's entropy, 80%, but an agreement of only 40%. So at 300 steps, the larger scale
# can explain the sharper attention. It can't explain the agreement, which is nearly built in: each
# layer starts from the scores of the layer before.
#
# **Is it only the scale?** Scaled scores alone don't lower the loss. It's 0.013 above plain
# post-norm's after 300 steps, and 0.044 above it after 900; both intervals exclude zero. But after
# 900 steps the control isn't fair: its selected learning rate differs (0.003 instead of 0.01), and
# its entropy is 76%, whereas RealFormer's is 43%. So we can't rule out that sharper attention
# helps. With pre-norm, trained for 300 steps only, residual scores change the loss by an
# inconclusive amount.
#
# **What this doesn't show.** The models have 54,000 parameters, a context of 32 characters, and
# train for seconds. The paper's are far larger encoders (BERT) with masked language modeling, and
# its gains can depend on all of this.

# %% [markdown]
# ## With the real library: all states of a BART encoder
#
# Encoders in `transformers` return all their states with `output_hidden_states=True`, embeddings
# first, and a decoder accepts any memory as `encoder_outputs`. Since this memory is the same for
# all decoder layers, only a mixture with $M = 1$ is possible without changing the model's code. The
# next cell uses a small model with random weights. If all weight is on the last layer, its logits
# don't change.

# %% A mixture of encoder states in transformers tags=["nbval-check-output"]
from transformers import BartConfig, BartForConditionalGeneration

torch.manual_seed(0)
config = BartConfig(
    vocab_size=50, d_model=32, encoder_layers=4, decoder_layers=2, encoder_attention_heads=4,
    decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, dropout=0.0)  # fmt: skip
bart, ids = BartForConditionalGeneration(config).eval(), torch.randint(4, 50, (2, 9))
states = bart.model.encoder(ids, output_hidden_states=True).hidden_states
plain = bart(input_ids=ids, decoder_input_ids=ids).logits
for name, w in (("last layer only", [-1e4] * 4 + [0.0]), ("mean of all states", [0.0] * 5)):
    mixture = TransparentMixture(4, 1)
    mixture.W.data = torch.tensor(w)[:, None]
    logits = bart(encoder_outputs=(mixture(states)[:, :, 0],), decoder_input_ids=ids).logits
    print(f"{name}: equal logits {torch.allclose(logits, plain, atol=1e-5)}, {len(states)} states")

# %% [markdown]
# RealFormer is one argument in [x-transformers](https://github.com/lucidrains/x-transformers),
# which isn't part of this book's environment, so the lines below aren't run here. In the tests of
# `deepdive`, outputs agree with saved results of version 2.31.10 to nine digits, and gradients to
# eight (three layers of width 16, softmax in double precision).
#
# ```python
# from x_transformers import Decoder
#
# Decoder(dim=512, depth=6, heads=8, pre_norm=False, residual_attn=True, cross_attend=True,
#         cross_residual_attn=True)  # RealFormer's scores in self-attention and cross-attention
# ```
#
# ## How it differs
#
# The symbols are those of the code above.
#
# | | plain | RealFormer | transparent attention |
# |---|---|---|---|
# | what is passed on | states | states, scores before the softmax | states |
# | from, to | a layer, the next | a layer, the next | encoder states, decoder layers |
# | new parameters | 0 | 0 | $(N + 1) \cdot M$ |
# | extra memory | none | one $H \times T \times T$ tensor of scores | $N+1$ states, $M$ mixtures |
# | equal to plain with | | one layer | all weight on the last layer (in the limit) |
# | model | any | any | encoder-decoder |
#
# [ELMo](../01_before/10_elmo.ipynb) also learns a weighted sum of all layers, once per downstream
# task instead of once per decoder layer. [GNMT](../02_transformer/17_gnmt.ipynb) has a deep
# recurrent encoder with residual connections only.
#
# ## Common mistake: a softmax over the wrong axis
#
# The matrix $W$ has one row per encoder state and one column per decoder layer, and you normalize
# it with `W.softmax(-1)`. All shapes fit. **Symptom:** the states that a decoder layer attends to
# have the wrong scale. With 16 encoder layers and two decoder layers, they start 8.5 times as large
# as they should be. **Fix:** use `W.softmax(0)`, and assert that the weights of each decoder layer
# sum to 1.

# %% The mistake, and its symptom tags=["nbval-check-output"]
W = torch.zeros(17, 2)
for name, axis in (("wrong", -1), ("right", 0)):
    print(f"{name}: sum of the weights of each decoder layer:", W.softmax(axis).sum(0).tolist())

# %% [markdown]
# ## In practice
#
# - **Try pre-norm first.** It needs no new connection, and we found no clear difference from
#   transparent attention.
# - **Compare a learned mixture with a fixed mean**, and with the embeddings only. If the mean is as
#   good, learned weights aren't needed. If the embeddings are, the encoder isn't.
# - **Check that your attention kernel returns scores before you plan with RealFormer.** Fused
#   kernels don't, and this version of x-transformers refuses to combine residual scores with its
#   flash attention. Our library computes the scores a second time and passes the sum on as a bias,
#   so a layer still stores a $T \times T$ matrix per head.
# - **Cache the mixed memories.** In generation, the source and the weights are fixed, so the
#   mixtures are computed once.
#
# ## Summary
#
# Does transparent attention help because of its learned weights? On our generated task with 16
# post-norm encoder layers, its loss is 0.567 nats per symbol lower than plain post-norm's, and a
# fixed mean gives most of this gain. Whether the learned weights add anything is open (the
# difference has an interval of -0.402 to 0.210), and so is the comparison with pre-norm. A decoder
# without any encoder has by far the lowest loss.
#
# Does RealFormer help because of the connection? We couldn't show that it helps at all: in our
# small language models, its loss after 900 steps is 0.036 nats per character lower, but the
# corrected interval includes zero. It does make attention sharper and adjacent layers more similar.
#
# [Bapna et al.](https://arxiv.org/abs/1808.07561) report consistent gains in BLEU for much deeper
# translation encoders. [He et al.](https://arxiv.org/abs/2012.11747) report that RealFormer
# outperforms plain Transformers in masked language modeling and on many other tasks, and that its
# attention is sparser. We trained no such models, so we did not test these gains.
#
# ## Check your understanding
#
# 1. In RealFormer, the mask is applied after the scores are added. Why is it harmless that the
#    carried scores aren't masked?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Every layer applies its mask to the sum before its softmax, so a hidden key gets weight 0 in
#    every layer, whatever score was carried for it.
#
#    </details>
# 2. Why does decoding with a cache work with residual scores, although the cache has no scores?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    A step needs only the scores of its own queries. The lower layers compute these in the same
#    step, against the cached keys, and pass them on.
#
#    </details>
# 3. Toward which weights does transparent attention become a plain encoder-decoder?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Toward a weight of 1 on the last encoder layer, for every decoder layer. It's only a limit,
#    because a softmax never gives exactly 1.
#
#    </details>
# 4. Which two controls test whether transparent attention's gain needs learned weights, or a new
#    connection at all?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    A fixed mean of the encoder's states, which has the connections without learned weights, and
#    pre-norm, which has no new connection.
#
#    </details>
# 5. Why is a control with scaled scores needed for RealFormer?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    A sum of scores is usually larger than its terms, so the softmax becomes sharper. The control
#    is meant to have only that.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* A query has the exponentiated scores $(1, 4)$ in layer 1 and $(2, 1)$ of
#    its own in layer 2. Compute RealFormer's weights in layer 2.
#
#    <details><summary>Answer</summary>
#
#    The products are $(2, 4)$, so the weights are $(\frac13, \frac23)$.
#
#    </details>
# 2. *(on paper, 3 min)* Compute the number of new parameters of transparent attention for 6 encoder
#    layers with 6 decoder layers, and for 24 with 6.
#
#    <details><summary>Answer</summary>
#
#    $7 \cdot 6 = 42$ and $25 \cdot 6 = 150$.
#
#    </details>
# 3. *(in code, 10 min)* Give `ResidualScoreAttention` a factor `carry` for the previous scores.
#    Check that the factor 0 gives plain attention, and that 0.5 equals the library's `carry=0.5`.
#
#    <details><summary>Answer</summary>
#
#    `scores = q @ k.mT / q.shape[-1] ** 0.5 + self.carry * previous`. For the comparison, build the
#    library's layers with `realformer_stack(16, 4, 3, 32, carry=0.5)`.
#
#    </details>
# 4. *(measure, 15 min of machine time)* Does the fixed mean also help with pre-norm? Add
#    `"pre-norm, fixed mean": Variant(PreNorm, "mean")` to `encoder_depth.VARIANTS`, train it on
#    reversal with 16 layers at the rates 0.001, 0.003, and 0.01 with three seeds each, and report
#    the difference from pre-norm with a t interval.
#
#    <details><summary>Answer</summary>
#
#    `encoder_depth.measure("reversal", name, 16, rate, seed, 200)` trains one model and returns its
#    losses. We haven't trained this variant. Select the rate by the key `chosen`, report `test`,
#    and use other seeds for the selection than for the result.
#
#    </details>

# %% Exercise answers, checked tags=["nbval-check-output"]
scores = torch.tensor([1.0, 4.0]).log() + torch.tensor([2.0, 1.0]).log()
print([round(w, 3) for w in scores.softmax(0).tolist()], (6 + 1) * 6, (24 + 1) * 6, (16 + 1) * 6)

# %% [markdown]
# ## Further reading
#
# - He, Ravula, Kanagal, and Ainslie (2021), [*RealFormer: Transformer Likes Residual
#   Attention*](https://arxiv.org/abs/2012.11747).
# - Bapna, Chen, Firat, Cao, and Wu (2018), [*Training Deeper Neural Machine Translation Models with
#   Transparent Attention*](https://arxiv.org/abs/1808.07561).
# - Wang et al. (2019), [*Learning Deep Transformer Models for Machine
#   Translation*](https://aclanthology.org/P19-1176): pre-norm and connections to all previous
#   layers.
# - Xiong et al. (2020), [*On Layer Normalization in the Transformer
#   Architecture*](https://arxiv.org/abs/2002.04745): why post-norm needs a warm-up.
