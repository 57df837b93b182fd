# %% [markdown] tags=["slide"]
# # RealFormer and transparent attention: extra connections between layers
#
# A Transformer layer passes only its output states to the next layer. **RealFormer** also passes on
# the attention scores, and **transparent attention** lets each decoder layer attend to all encoder
# layers instead of only the last. Transparent attention was proposed to train deeper encoders,
# RealFormer to train better models. **Do such connections help, and is it the learned weights or
# only the short path?**
#
# **What it is.** **RealFormer** ([He et al. 2021](https://arxiv.org/abs/2012.11747)) adds the
# attention scores of a layer, before the softmax, to the scores of the next layer, with no new
# parameters. **Transparent attention** ([Bapna et al. 2018](https://arxiv.org/abs/1808.07561)) is
# for encoder-decoders. The **cross-attention** of each decoder layer attends to a weighted average
# of the embeddings and of all encoder layers, with learned weights.
#
# **What you'll be able to do.** Implement both connections in 40 lines, compute each by hand, and
# test whether a shortcut helps because of what it learns, or only because it is short.
#
# <details><summary><b>Short answer</b></summary>
#
# On a generated task, reversing eight symbols, we trained encoder-decoders with 16 **post-norm**
# encoder layers (with the norm after each addition). Transparent attention lowers the test loss by
# 0.567 **nats** (units of the natural logarithm) per symbol (five seeds, corrected 95% confidence
# interval 0.203 to 0.930). But its loss can't be distinguished from that of a fixed mean of all
# encoder layers, or of **pre-norm** (with the norm at the start of each branch). And a decoder that
# attends to the embeddings only, with no encoder, has a far lower loss: 0.363 instead of 2.024.
#
# RealFormer makes attention sharper and adjacent layers more similar. In small language models, its
# loss can't be distinguished from plain post-norm's.
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
# In the comments, B is the batch size, T and S are numbers of tokens, H is the number of heads, d
# the head width, N the number of encoder layers, and M the number of decoder layers.

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
# Transparent attention is a separate module, which mixes the encoder's states for the
# cross-attention of each decoder layer.

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
print("derivative by the embedding:", derivative.item())

# %% [markdown]
# The next cells copy weights into `deepdive`, the small library that accompanies this book, and
# compare outputs and gradients. The library passes the scores from layer to layer in an object
# called `Context`, separately for self-attention and cross-attention. In the library, decoding with
# a cache gives the same result as a pass over all tokens.

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
# The paper proposes transparent attention to make deep encoders easier to optimize. A likely reason
# is the gradient. In a deep encoder it has to pass through all layers above, whereas transparent
# attention connects each layer directly to the decoder. We look at the **gradient norm**, the
# length of the gradient of all parameters of one encoder layer. In the control *fixed mean*, every
# decoder layer attends to the mean of all encoder states, and no weights are learned.

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
# **The gradient vanishes in some runs, and during training.** Before training, the last layer of
# plain post-norm has 0.77 to 9 times the gradient of the first. After 50 steps with a learning rate
# of 0.003, this ratio is 191 with one seed and 6,303 with another, but near 1 with two others. With
# a learning rate of 0.0003, which is selected for plain post-norm below, the ratio is at most 2.7,
# and yet the loss is high. So vanishing gradients aren't the whole explanation.
#
# With transparent attention and with the fixed mean, the ratio is below 0.3 with every seed, so the
# first layer has the larger gradient. This is as expected, because a lower layer contributes to
# more of the states that the decoder attends to. (These gradients are at 0.003, while transparent
# attention's selected rate is 0.01.)
#
# The losses are measured as follows:
#
# - **Task.** All data here are **generated**. A source has eight symbols, each one of 16, and the
#   target is the source in reverse order. Predicting all 16 symbols with equal probability costs
#   $\ln 16 = 2.773$ nats per symbol.
# - **Training.** The encoder-decoders have width 32, 4 heads, two decoder layers, and 4 or 16
#   encoder layers. They are trained for 200 steps of AdamW on batches of 16 pairs, with gradients
#   clipped at norm 1. A **warm-up** raises the learning rate over the first tenth of the steps.
# - **Learning rate.** Each variant's rate is selected on validation data with **seeds** (a seed
#   fixes a run's random start) that aren't used again. One seed tries 0.001, 0.003, and 0.01, and
#   further values while the best one is at the edge. Three seeds decide between the two best
#   values.
# - **How to read the tables.** Five other seeds give the results. The brackets after a mean are its
#   **95% confidence interval** (Student's t): the range of true values that is compatible with the
#   scatter of the seeds, the **seed spread**. Differences are **paired**, that is, computed seed by
#   seed. With several comparisons, one interval can exclude zero by chance, so their intervals are
#   widened (the **Bonferroni correction**). An interval that includes zero is **inconclusive**: it
#   shows neither a difference nor equality.
#
# Six controls test the explanation. *Fixed mean* is described above, and *mean without embeddings*
# averages the layers' outputs only. *Long warm-up* is plain post-norm whose learning rate rises for
# half of the steps, and *twice the steps* is trained for 400. *Pre-norm* needs no new connection.
# *Embeddings only* has no encoder at all, and the decoder attends to the source's embeddings. The
# next cell trains two variants for a few steps.

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
    "Reversal with 16 encoder layers, each variant at its own learning rate. How does the test "
    "loss of transparent attention compare with that of the fixed mean?",
    ["lower by more than 0.2 nats", "less than 0.2 nats apart", "higher by more than 0.2 nats"],
    answer=1,
    explain="On average it is 0.096 lower, and the interval, -0.393 to 0.201, includes zero. Both "
    "have the same connections.",
    key="05_efficient/transparent-control",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown]
# In the first table, compare the losses with 16 encoder layers. The second table has the
# differences that we tested.

# %% Test loss by what the decoder attends to tags=["slide", "surprise", "nbval-check-output"]
rows = encoder_depth.load()
connection_tables.depth_table(rows)

# %% Differences, corrected tags=["nbval-check-output"]
connection_tables.depth_contrasts(rows)

# %% [markdown]
# **With transparent attention, the loss is lower than with plain post-norm.** With 16 encoder
# layers it falls from 2.591, which is close to the 2.773 of equal probabilities, to 2.024. A longer
# warm-up and twice the steps close only a part of this gap. With 4 encoder layers, where plain
# post-norm does train, transparent attention's loss is also lower, by 1.190.
#
# **A fixed mean recovers most of this.** Its loss of 2.120 can't be distinguished from transparent
# attention's. Nor can the loss of pre-norm, which has no new connection. These intervals are wide,
# however: transparent attention's loss could be 0.393 lower or 0.201 higher than the fixed mean's.
#
# **On this task, the encoder itself isn't needed.** A decoder that attends to the embeddings only
# has a far lower loss, 0.363, and 89% accuracy. To reverse a sequence, the decoder needs each
# symbol and its position, and the embeddings have both. So the losses of the deep models measure
# how easily this information and its gradient pass the encoder, not how good its states are.
#
# **Checks.** The direct connection to the embeddings isn't needed, because the mean without them
# also reaches 2.175. Transparent attention's mean weight of the embeddings rises from $1/17 = 6\%$
# to 10%, and the other weights aren't shown. We tested the fixed means with 16 encoder layers only.
# With 4 layers, transparent attention's loss is 0.283 lower than pre-norm's, but the interval
# includes zero. Every variant that we trained at both depths has a higher loss with 16 layers than
# with 4, and the increase is larger with transparent attention and pre-norm than with plain
# post-norm. So more depth doesn't help any of them here.
#
# **What this doesn't show.** 200 steps on one generated task with width 32 are far from
# translation, the paper's task, where the encoder has to do more than pass on its input. With more
# training, or where the encoder matters, learned weights could be better than a fixed mean.

# %% [markdown]
# ### 2. Do residual scores help, or only sharper attention?
#
# RealFormer's scores are sums over all layers so far, so they tend to be larger, and larger scores
# make the softmax sharper. This change of scale alone could explain a difference. The control
# *scaled scores* is plain post-norm, in which the scores of layer $l$ are multiplied by $\sqrt{l}$.
# If the scores of the layers were independent with equal standard deviations, the sum of $l$ of
# them would have $\sqrt{l}$ times the standard deviation.
#
# The models are small decoders that predict the next character of Shakespeare's plays, trained as
# on [page 5.15](15_norms_and_all_attention.ipynb). (The paper trains encoders with masked language
# modeling, at a much larger scale.) We also measure the attention:
#
# - The **entropy** of the attention weights is divided by that of uniform weights. It's 100% for
#   uniform weights, and lower for sharper attention.
# - The **agreement** of two adjacent layers is 1 minus half of the sum of the absolute differences
#   between the weights of the same head. It's 100% for equal weights.
#
# The next cell prints the **bigram loss**, which counting pairs of characters gives. In the tables
# below it, look first at the differences after 300 and 900 steps, then at entropy and agreement.

# %% The loss that counting pairs gives
from deepdive_book.ch05.runs import norm_variants

print(f"bigram loss {norm_variants.bigram_loss(norm_variants.corpus(), 'test'):.3f}")

# %% RealFormer and its controls tags=["slide", "nbval-check-output"]
from deepdive_book.ch05.runs import residual_scores

rows = residual_scores.load()
connection_tables.score_table(rows)

# %% Differences, corrected tags=["nbval-check-output"]
connection_tables.score_contrasts(rows)

# %% Attention by layer
connection_tables.attention_figure(rows)

# %% [markdown]
# *Entropy of attention by layer, and agreement of each layer with the next, after 300 steps, as
# means over five seeds. Head $h$ of one layer is compared with head $h$ of the next.*
#
# **RealFormer's loss doesn't differ measurably from plain post-norm's.** After 300 steps, the
# difference is 0.004 nats per character. All models are then only slightly better than the bigram
# loss of 2.490, so attention to earlier characters barely matters yet. After 900 steps the losses
# are well below it, and RealFormer's is lower by 0.036 on average. The corrected interval still
# includes zero, so this is a hint and not a result.
#
# **The attention itself changes.** After 300 steps, residual scores lower the mean entropy in
# post-norm from 89% to 79% and raise the agreement of adjacent layers from 53% to 67%. Scaled
# scores lower the entropy about as much, but also the agreement, to 40%. So the larger scale makes
# the attention sharper, and the connection makes the layers agree. This agreement is nearly built
# in, because each layer starts from the scores of the layer before.
#
# **Checks.** Scaling the scores doesn't have RealFormer's effect. After 900 steps, RealFormer's
# loss is 0.080 lower than that of scaled scores, whose own loss is 0.044 above plain post-norm's,
# and both intervals exclude zero. Other ways to sharpen attention could act differently. With
# pre-norm, which we trained for 300 steps only, residual scores make no measurable difference.
#
# **What this doesn't show.** The models have 54,000 parameters, a context of 32 characters, and
# train for seconds. The paper's are BERT models with masked language modeling, and the gains that
# it reports can depend on all of this.

# %% [markdown]
# ## With the real library: all states of a BART encoder
#
# Encoders in `transformers` return all their states with `output_hidden_states=True`, embeddings
# first, and a decoder accepts any memory as `encoder_outputs`. Since this memory is the same for
# all decoder layers, only a mixture with $M = 1$ is possible without changing the model's code. The
# next cell checks that the logits stay the same if all weight is on the last layer. The model is
# small and has random weights.

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
# which isn't part of this book's environment, so the lines below aren't run here. The tests of
# `deepdive` compare outputs and gradients with saved results of this class. They agree to nine
# digits. (These results are from version 2.31.10, with three layers of width 16 and the softmax in
# double precision.)
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
# In the table, $N$ is the number of encoder layers, $M$ of decoder layers, $H$ of heads, and $T$ of
# tokens.
#
# | | plain | RealFormer | transparent attention |
# |---|---|---|---|
# | what is passed on | states | states, scores before the softmax | states |
# | from, to | a layer, the next | a layer, the next | encoder states, decoder layers |
# | new parameters | 0 | 0 | $(N + 1) \cdot M$ |
# | extra memory | none | one $H \times T \times T$ tensor of scores | all $N + 1$ encoder states |
# | equal to plain with | | one layer | all weight on the last layer (a limit) |
# | model | any | any | encoder-decoder |
#
# [ELMo](../01_before/10_elmo.ipynb) also learns a weighted sum of all layers, once per downstream
# task instead of once per decoder layer. [GNMT](../02_transformer/17_gnmt.ipynb) trains a deep
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
# - **Try pre-norm first.** It needs no new connection, and here it couldn't be distinguished from
#   transparent attention.
# - **Compare a learned mixture with a fixed mean**, and with the embeddings only. If the mean has
#   as low a loss, learned weights aren't needed. If the embeddings have, the encoder isn't.
# - **Check that your attention kernel returns scores before you plan with RealFormer.** Fused
#   kernels don't, and the version of x-transformers named above refuses to combine residual scores
#   with its flash attention. Our library computes the scores a second time and passes the sum on as
#   a bias, so a layer still stores a $T \times T$ matrix per head.
# - **Cache the mixed memories.** In generation, the source and the weights are fixed, so the
#   mixtures are computed once.
#
# ## Summary
#
# Do such connections help? On our generated task with 16 post-norm encoder layers, transparent
# attention's loss is 0.567 nats per symbol lower than plain post-norm's. We found no sign that the
# learned weights matter: a fixed mean of the encoder's states and pre-norm can't be distinguished
# from transparent attention. A decoder without any encoder has the lowest loss.
#
# RealFormer makes attention sharper and adjacent layers more similar. In our small language models,
# its loss is lower by 0.036 nats per character after 900 steps, but the corrected interval includes
# zero. If the scores are only scaled, the loss is 0.080 above RealFormer's.
#
# As reported, [Bapna et al.](https://arxiv.org/abs/1808.07561) train much deeper translation
# encoders with transparent attention, with consistent gains in BLEU. [He et
# al.](https://arxiv.org/abs/2012.11747) report that RealFormer outperforms plain Transformers in
# masked language modeling and on many other tasks, and that its attention is sparser. On one small
# task we saw that the loss of a deep post-norm model becomes lower, although it still learned
# poorly, and that RealFormer's attention becomes sharper. We trained neither translation models nor
# masked language models, so the gains in quality were not reproduced.
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
# 3. With which weights is transparent attention a plain encoder-decoder?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    With a weight of 1 on the last encoder layer for every decoder layer.
#
#    </details>
# 4. Which two controls did we need to say what transparent attention's gain comes from?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    A fixed mean of the encoder's states, which has the connections without learned weights, and a
#    decoder that attends to the embeddings only.
#
#    </details>
# 5. Why is a control with scaled scores needed for RealFormer?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    A sum of scores is usually larger than its terms, so the softmax becomes sharper. The control
#    has the larger scale without the connection.
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
