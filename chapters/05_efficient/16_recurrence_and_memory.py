# %% [markdown] tags=["slide"]
# # Transformer-XL and recurrent memory: what do cached segments add?
#
# A language model processes a long text in segments, and at each boundary its context starts from
# nothing. **Transformer-XL** caches the hidden states of the last segment. The **Compressive
# Transformer** also compresses older states, and **Memformer** carries a few memory slots. **Does a
# model predict better with such a memory, or only faster?**
#
# **What it is.** **Transformer-XL** ([Dai et al. 2019](https://arxiv.org/abs/1901.02860)) is a
# decoder with **segment-level recurrence**. In each layer, the queries of a segment also attend to
# keys and values computed from **cached states**, the inputs that this layer received for the
# previous segment. No gradient flows into these states. Positions are relative, so that cached
# states stay usable in later segments. The **Compressive Transformer** ([Rae et al.
# 2020](https://arxiv.org/abs/1911.05507)) also merges the oldest states, a few at a time, into one.
# **Memformer** ([Wu et al. 2022](https://arxiv.org/abs/2010.06891)) attends to a fixed number of
# vectors and rewrites them after each segment.
#
# **What you'll be able to do.** Implement Transformer-XL's attention, memory, and relative scores
# in 40 lines, compute its **receptive field** (the positions that an output depends on), evaluate a
# language model with memory, and separate what memory adds from what a full context adds.
#
# <details><summary><b>Short answer</b></summary>
#
# Memory helps mainly because the first characters of a segment get a context. In our small models,
# Transformer-XL's loss is 0.052 **bits per character** (bpc, the cross-entropy with the logarithm
# to base 2) lower than that of a model that processes each segment separately. But this other model
# gains about the same without any memory, when each character is predicted from its own **sliding
# window**, the characters just before it. We can't tell whether memory in training lowers the loss
# further. With longer training, it may.
#
# Memory is far cheaper than one window per character: in a separate timing of an untrained model,
# it is 316 times as fast for windows of 512 characters. We didn't time overlapping segments, which
# should be much closer.
#
# </details>
#
# <small>Prerequisites: [relative positions](08_relative_positions.ipynb),
# [masks](../02_transformer/07_masks.ipynb), [decoding with a
# cache](../02_transformer/14_decoding.ipynb) · 20 min · data: Shakespeare's plays · runs on a
# laptop; results of the long runs are included · book 5.1.4</small>

# %% Segments and memory [markdown] tags=["slide"] figure="ch05.segment_recurrence"
# ![Two segments of four positions and two layers, twice. Left, a Transformer: the last position of
# segment 2 depends only on the four positions of its segment. Right, Transformer-XL: in each layer
# it also attends to the cached states of segment 1, so it depends on all eight
# positions.](figures/16_recurrence_and_memory.svg)
#
# *The states that the last output depends on. Orange states belong to its own segment, and blue
# ones to the segment before it. Dashed lines are attention to cached states, through which no
# gradient flows.*

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
# %% The receptive field tags=["slide"]
from deepdive_book.ch05.figures.segment_recurrence import receptive_field

receptive_field(segment=4, memories=(0, 4, 8), most=3)

# %% [markdown]
# <details><summary>What you should see: open after you try</summary>
#
# 1. Without memory, no layer looks beyond the segment.
# 2. With 1, 2, and 3 layers: 8, 12, and 16 positions.
# 3. $4 + 3 \cdot 8 = 28$ positions.
#
# </details>
#
# ## By hand: the receptive field and one score
#
# **The receptive field.** Suppose that each layer caches $M$ states. At the end of a segment of $T$
# positions, one layer reaches $T + M$ of them. The earliest of these states was computed in an
# earlier segment, from all positions since that segment's start and the $M$ states before it. So
# each further layer adds $M$ positions, rounded up to full segments. An output of $L$ layers
# depends on $T + M + (L - 1) \lceil M / T \rceil T$ positions. If $M$ is a multiple of $T$, this is
# $T + L M$.
#
# With $T = M = 4$ and $L = 3$, that's $4 + 3 \cdot 4 = 16$, and with $M = 1$ it's still $4 + 1 + 2
# \cdot 4 = 13$. Each query still has at most $T + M$ scores, because a **causal mask** hides later
# positions.
#
# **Why positions are relative.** Suppose that positions are counted from the start of each segment
# and added to the embeddings. Then the first characters of the cached segment and of the new one
# both have position 0. Transformer-XL uses the distance $t - s$ between a query and a key instead.
# A score is the sum of four terms, which [page 5.8](08_relative_positions.ipynb) derives. Two of
# them contain the distance:
#
# $$\text{score}_{t,s} = \frac{q_t k_s + q_t r_{t-s} + u\,k_s + v\,r_{t-s}}{\sqrt{d}}$$
#
# Here $r_{t-s}$ is a projection of sines and cosines of the distance, and $u$ and $v$ are learned
# vectors that replace the query's position. Take $d = 1$, $q = 2$, $u = 1$, and $v = -1$, and three
# keys: two cached ones at distances 2 and 1, and the query's own at distance 0.
#
# | | distance 2 | distance 1 | distance 0 |
# |---|---|---|---|
# | $k$ | 1 | 3 | 1 |
# | $r$ | 0 | 1 | 2 |
# | $q k$ | 2 | 6 | 2 |
# | $q r$ | 0 | 2 | 4 |
# | $u k$ | 1 | 3 | 1 |
# | $v r$ | 0 | −1 | −2 |
# | score | 3 | 10 | 5 |
#
# For a later query, these keys keep their $k$. The query $q$ and the distances, so $r$, change.

# %% [markdown]
# ## In code: attention with memory and relative positions
#
# In the comments, B is the batch size, T the length of the segment, M the number of cached states,
# S = M + T the number of keys, H the number of heads, D the width of the model, and d that of a
# head. Column $j$ of `by_distance` belongs to the distance $S - 1 - j$. Query $t$ and key $s$ are
# $M + t - s$ positions apart, so `gather` selects column $T - 1 - t + s$. `clamp` changes only the
# columns of later keys, which the mask hides.

# %% Transformer-XL's attention and layer tags=["concept", "slide"]
import torch
import torch.nn.functional as F
from torch import nn


class XLAttention(nn.Module):  # causal attention to cached and new states
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.H, self.d = n_heads, d_model // n_heads
        self.q, self.k, self.v, self.r, self.out = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(5))
        self.u_bias, self.v_bias = (nn.Parameter(torch.zeros(n_heads, 1, self.d)) for _ in range(2))

    def forward(self, x, memory):  # (B, T, D), (B, M, D)
        content = torch.cat([memory.detach(), x], 1)  # (B, S, D)
        T, S, D = x.shape[1], content.shape[1], x.shape[2]
        rates = 10_000 ** -(torch.arange(0, D, 2) / D)  # (D / 2,)
        angles = torch.arange(S - 1, -1, -1)[:, None] * rates  # (S, D / 2): distances S - 1 to 0
        waves = torch.cat([angles.sin(), angles.cos()], -1)  # (S, D)
        q, k, v, r = (y.unflatten(-1, (self.H, self.d)).transpose(-3, -2)  # ([B,] H, T or S, d)
                      for y in (self.q(x), self.k(content), self.v(content), self.r(waves)))
        by_content = (q + self.u_bias) @ k.mT  # (B, H, T, S)
        by_distance = (q + self.v_bias) @ r.mT  # (B, H, T, S), column j: distance S - 1 - j
        column = torch.arange(S) + torch.arange(T - 1, -1, -1)[:, None]  # (T, S), of query and key
        by_distance = by_distance.gather(-1, column.clamp(max=S - 1).expand_as(by_distance))
        later = torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)
        scores = ((by_content + by_distance) / self.d**0.5).masked_fill(later, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))  # (B, T, D)


class XLLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention, self.norm1 = XLAttention(d_model, n_heads), nn.LayerNorm(d_model)
        self.inner, self.outer = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x, memory):  # (B, T, D), (B, M, D)
        x = self.norm1(x + self.attention(x, memory))
        return self.norm2(x + self.outer(F.relu(self.inner(x))))

# %% [markdown]
# The next function passes one segment through all layers. The newest `n_memory` inputs of each
# layer then become its cached states.

# %% Segment-level recurrence tags=["slide"]
def read(layers, x, memories, n_memory):  # x: (B, T, D); memories (B, M, D); n_memory > 0
    for i, layer in enumerate(layers):
        cached, memories[i] = memories[i], torch.cat([memories[i], x], 1)[:, -n_memory:].detach()
        x = layer(x, cached)
    return x

# %% The example by hand tags=["nbval-check-output"]
q, k, r, u, v = 2, torch.tensor([1, 3, 1]), torch.tensor([0, 1, 2]), 1, -1
print("scores:", (q * k + q * r + u * k + v * r).tolist())


def reached(T, M, L):
    """Count which of 8 T input vectors change the last output when they are changed."""
    layers, x = [XLLayer(8, 2, 16) for _ in range(L)], torch.randn(1, 8 * T, 8)
    x = torch.cat([x, x + torch.eye(8 * T)[..., None] * torch.randn(8)])  # x, then each change
    memories = [torch.zeros(len(x), 0, 8) for _ in range(L)]
    for segment in x.split(T, 1):
        y = read(layers, segment, memories, M)[:, -1]
    return int(((y[1:] - y[0]).abs().amax(1) > 1e-5).sum())


torch.manual_seed(0)
for T, M, L in ((4, 4, 1), (4, 4, 2), (4, 4, 3), (4, 1, 3), (4, 8, 3)):
    print(f"T = {T}, M = {M}, L = {L}: {reached(T, M, L)} positions")

# %% [markdown]
# The next two cells give our layers and those of `deepdive`, the small library that accompanies
# this book, the same random weights. Both process three segments, and we compare the outputs and
# the gradient of one weight matrix.

# %% The library's model with the same weights tags=["equals-library"]
from deepdive.models.efficient.transformer_xl import TransformerXL, XLConfig

torch.manual_seed(0)
ours = [XLLayer(16, 4, 32) for _ in range(2)]
library = TransformerXL(XLConfig(vocab_size=50, d_model=16, n_heads=4, d_head=4, n_layers=2,
                                 d_ff=32, dropout=0.0, share_uv=False))  # fmt: skip
with torch.no_grad():
    for a, b in zip(ours, library.stack.blocks, strict=True):
        for bias in (a.attention.u_bias, a.attention.v_bias):
            bias.normal_()
        b.attn.q.weight.copy_(a.attention.q.weight)
        b.attn.kv.weight.copy_(torch.cat([a.attention.k.weight, a.attention.v.weight]))
        b.attn.out.weight.copy_(a.attention.out.weight)
        b.attn.position.W.weight.copy_(a.attention.r.weight)
        b.attn.position.u.copy_(a.attention.u_bias[:, 0])
        b.attn.position.v.copy_(a.attention.v_bias[:, 0])
        b.ff.inner.load_state_dict(a.inner.state_dict())
        b.ff.out.load_state_dict(a.outer.state_dict())
        b.attn_residual.norm.load_state_dict(a.norm1.state_dict())
        b.ff_residual.norm.load_state_dict(a.norm2.state_dict())

# %% The same three segments through both tags=["equals-library", "nbval-check-output"]
from deepdive.layers.segment_memory import Memory

memory, memories = Memory(6), [torch.zeros(2, 0, 16) for _ in range(2)]
for segment in torch.randint(50, (2, 12)).split(4, 1):  # three segments of four tokens
    a = read(ours, library.tokens(segment), memories, 6)
    b = library(segment, memory=memory)
    assert torch.allclose(a, b, atol=1e-5)
pairs = ((a, ours[0].attention.r.weight), (b, library.stack.blocks[0].attn.position.W.weight))
gradients = [torch.autograd.grad(y.pow(3).sum(), weight)[0] for y, weight in pairs]  # a toy loss
assert torch.allclose(*gradients, atol=1e-4)
print("equal outputs and gradient;", len(memory), "states cached in each layer")

# %% [markdown] tags=["slide"]
# ## Compressive Transformer: old states are compressed
#
# After each segment, Transformer-XL drops all but the newest $M$ states. The Compressive
# Transformer merges the dropped states, $c$ at a time, into one state of a second memory. With $M$
# recent states and $C$ compressed ones, the two memories cover $M + c\,C$ positions. For $M = 4$,
# $C = 3$, and a **compression rate** of $c = 2$, seven states cover ten positions.
#
# Each group is compressed by the mean, the maximum, or a learned convolution. By hand, with one
# number per state, the states $1, 3, 8, 2$ become $2, 5$ by the mean and $3, 8$ by the maximum. The
# convolution is trained by the **attention-reconstruction loss**, the squared difference between
# attention to the old states and attention to the compressed ones. No other parameter gets a
# gradient from it.

# %% Compression in the library tags=["nbval-check-output"]
from deepdive.core.hooks import collect_losses
from deepdive.layers.compressed_memory import Compression
from deepdive.models.efficient import compressive

states = torch.tensor([1.0, 3.0, 8.0, 2.0]).view(1, 4, 1)
for kind in ("mean", "maximum"):
    print(f"{kind}:", Compression(1, 2, kind)(states).flatten().tolist())
model = compressive.compressive(compressive.TINY)  # M = 4, C = 3, rate 2
memory = model.begin()
with collect_losses(model) as losses:
    for segment in torch.randint(4, 32, (1, 16)).split(4, 1):
        model(segment, memory=memory)
print("states:", len(memory), "recent,", memory.compressed[0].shape[1], "compressed")
losses.total().backward()
trained = {name.split(".")[0] for name, p in model.named_parameters() if p.grad is not None}
print("parameters with a gradient of the reconstruction loss:", trained)

# %% [markdown]
# ## Memformer: a fixed number of slots
#
# Memformer is an encoder-decoder whose memory is a few **slots**, shared by all layers, instead of
# states of each layer. Each encoder layer attends to the slots by cross-attention. After a segment,
# each slot is rewritten: it attends to itself and to the segment's final states, a learned bias is
# added, and the result is normalized to length 1. The initial slots are the normalized biases.
# Gradients flow through the slots to earlier segments. The paper makes this affordable by **memory
# replay back-propagation** (MRBP), which computes a segment again in the backward pass.
#
# By hand, with a slot of 2, two states with values 6 and 3, and exponentiated scores 1 (itself), 2,
# and 1: the slot becomes $(1 \cdot 2 + 2 \cdot 6 + 1 \cdot 3) / 4 = 17/4$, before the bias is added
# and the result normalized.

# %% Memformer in the library tags=["nbval-check-output"]
from deepdive.models.efficient import memformer

scores, values = torch.tensor([1.0, 2.0, 1.0]).log(), torch.tensor([2.0, 6.0, 3.0])
print("the slot becomes", (scores.softmax(0) @ values).item())
model, slots = memformer.tiny(), None
for segment in torch.randint(4, 32, (1, 12)).split(4, 1):
    state = model.begin(segment, slots=slots)
    slots = state.slots
print("slots after three segments:", tuple(slots.shape))
print("length of each:", [round(n, 3) for n in slots.norm(dim=-1).flatten().tolist()])

# %% [markdown] tags=["slide"]
# ## Experiments
#
# ### 1. Does memory lower the loss?
#
# Transformer-XL is usually compared with a Transformer that processes each segment separately. The
# two differ in three ways: positions, context at evaluation, and memory during training. To
# separate these, we train four models on characters of Shakespeare's plays:
#
# - **Absolute positions** is a decoder with sinusoids added to the embeddings. Its feed-forward
#   layers are wider, so that it has about the same number of parameters as the others.
# - **Relative positions** is a decoder with Transformer-XL's scores, but no memory.
# - **Segment 64** is the same with segments of 64 characters instead of 32.
# - **Transformer-XL** has segments of 32 and a memory of 32 states.
#
# Each trained model is then evaluated in several ways:
#
# - With **segments**, each is processed separately, so its first characters have almost no context.
#   The paper calls this **context fragmentation**.
# - With a **sliding window**, each character has its own window of preceding characters, encoded
#   for this character only.
# - With **memory**, segments are processed in order, with cached states. A model with relative
#   positions can be evaluated this way even if it was trained without memory.
#
# **Training.** The models have width 64, 3 layers, and 4 heads. They are trained for 800 steps of
# AdamW with 512 characters per step and a **warm-up** (a rising learning rate) over the first
# tenth. Each learning rate is selected on validation data with one separate seed. All losses are
# measured on the same 3,072 characters of the test text. They come in several separate stretches.
# Before each one, the model reads 128 more characters, which fill its memory and aren't counted.
# **MFLOP** are millions of floating-point operations.
#
# **How to read the tables.** A **seed** fixes the random weights and batches of a run. The brackets
# after a mean of five seeds are its **95% confidence interval**: in 95% of repeated experiments
# with new seeds, such an interval contains the true mean. It doesn't cover the choice of the test
# text. We compare models seed by seed and widen the intervals of all ten differences (the
# **Bonferroni correction**), because one of many can exclude zero by chance. An interval that
# includes zero is **inconclusive**: it shows neither a difference nor equality.
#
# The next cell trains a Transformer-XL for a few steps.

# %% The same code for a few steps
from deepdive_book.ch05.runs import recurrence, recurrence_tables
from deepdive_book.kit.profile import pick

text, few = recurrence.corpus(), pick(ci=2, laptop=40, gpu=200)
model = recurrence.build(len(text.letters), relative=True)
recurrence.train(model, recurrence.ARMS[recurrence.XL], text.train, 3e-3, seed=0, steps=few)
rows = recurrence.stretches(text.test)[:4]
for memory in (0, 32):
    loss = recurrence.by_segments(model, rows, 32, memory).mean()
    print(f"memory of {memory} states: {loss:.3f} bpc after {few} steps (hardly trained)")

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "A model trained on single segments of 32, with relative positions, is evaluated with a memory "
    "of 32 states that it has never seen. What happens to its loss, compared with segments?",
    ["up by more than 0.01 bpc", "less than 0.01 bpc apart", "down by more than 0.01 bpc"],
    answer=2,
    explain="The difference is -0.044 bpc [-0.056, -0.031]. The first characters of each segment "
    "gain a context, at distances that mostly occurred in training.",
    key="05_efficient/memory-at-evaluation",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown]
# The first table has the losses. Compare the ways to evaluate each model. The second table has the
# differences that we tested, two of them for evaluations of Transformer-XL that appear only there.

# %% Bits per character tags=["slide", "surprise", "nbval-check-output"]
rows = recurrence.load()
recurrence_tables.loss_table(rows)

# %% Differences, corrected tags=["nbval-check-output"]
recurrence_tables.contrast_table(rows)

# %% [markdown]
# **Memory gives most or all of a sliding window's gain, and no more that we can measure.**
# Transformer-XL with memory has 0.052 bpc less than the model with relative positions that
# processes each segment separately, about 2% of the loss. But that model, trained without memory,
# gains 0.056 when it's evaluated with a sliding window of 32. The two results can't be
# distinguished: 0.004 [−0.017, 0.025].
#
# **Memory helps even a model that wasn't trained with it.** That model gains 0.044 when it's
# evaluated with memory. That leaves it 0.012 behind the window. Between Transformer-XL and this
# model, both with memory, the difference is inconclusive, and a training step of Transformer-XL
# costs more: 659 MFLOP instead of 525.
#
# **The first three characters of a segment account for 0.050 of the 0.052.** The first character
# has a loss of 3.8 bpc without memory and 2.8 with it. The plot below compares two models that were
# also trained differently. But the model without memory gains 0.056 from a window alone. So context
# fragmentation at evaluation is enough to explain the gain here.
#
# **A context that a model wasn't trained with can also hurt.** With a window of 32, the model with
# absolute positions gets worse, from 2.949 to 2.989. And Transformer-XL without its memory has
# 2.963, far more than the decoder that was trained without one.
#
# **Other comparisons.** A longer memory of 96 states makes no difference that we can measure.
# Relative positions gain more here than memory does: 0.159 over absolute ones, at equal segments
# and nearly equal parameters. The comparison with segments of 64 is inconclusive, with a wide
# interval.

# %% How much of the gain the first three positions have tags=["nbval-check-output"]
gains = recurrence_tables.position_gains(rows)
print(f"positions 1 to 3: {sum(gains[:3]) / 32:.3f} bpc, all 32: {sum(gains) / 32:.3f} bpc")

# %% Loss by position in the segment
recurrence_tables.position_figure(rows)

# %% [markdown]
# *Mean loss at each position of a segment of 32, over five seeds. Look at the first positions: only
# the model without memory has a peak there. It has relative positions and is evaluated in segments.
# The model with memory is Transformer-XL with a memory of 32. Each position has only 96 characters,
# so the other ups and downs are those of the text.*
#
# **Is the training too short?** We trained Transformer-XL and the model with relative positions and
# segments of 32 for twice as many steps, with two seeds.

# %% Trained twice as long tags=["nbval-check-output"]
recurrence_tables.longer_table(rows)

# %% [markdown]
# Perhaps. After 1,600 steps, Transformer-XL is 0.023 bpc below the other model evaluated with
# memory, and 0.011 below the same model with a window of 32. All three differences move in
# Transformer-XL's favor, so with more training, memory during training may begin to help. But two
# seeds are too few for a result, and in one of them the window is as good.
#
# **How many characters do these models use?** Dai et al. measure this with the **relative effective
# context length** (RECL), the shortest context that gains less than 1% when it's doubled. At each
# position, the baseline is the lowest loss that any of the models reaches with the short context.
# Where the tested model has a lower loss with twice the context, the difference counts as a gain,
# and elsewhere the gain is zero. If the baseline has losses of 2 and 4 at two positions, and the
# tested model 3 and 3, the mean falls from 3 to 2.5, a gain of 17%, although the tested model's
# mean is 3. The mean is over the fraction $r$ of the positions with the highest baseline.
#
# We train the four models again and evaluate them with windows of 4 to 128 characters. As a
# **control**, we give RECL a model from another seed that sees the same short context instead of a
# longer one. Its RECL should be 4, the shortest.

# %% Loss by context, and relative effective context length tags=["nbval-check-output"]
from deepdive_book.ch05.runs import effective_context

effective_context.context_table(effective_context.load())

# %% [markdown]
# **RECL doesn't measure context here.** The control has the largest possible value, 128, for both
# $r$. For $r = 1$, so does the model with absolute positions, although its loss rises a lot from 32
# to 128 characters. Only improvements count, and two models that differ in any way are each better
# at some positions. So the control gains 3.1% on average, more than the mean gain of any of the
# four models. Larger models may be less affected, but a RECL needs such a control.

# %% [markdown] tags=["slide"]
# ### 2. How much faster is evaluation with memory?
#
# A sliding window of $N$ characters encodes $N$ states for each predicted character and uses only
# the last one. With memory, a segment of 128 characters is encoded once, with $N$ cached states. We
# call $N$ the **attention length**. The timed model is untrained and has 4 layers of width 128.
#
# The next cells time both on your machine, show our saved times, and print how these times grow
# when $N$ doubles.

# %% Timed now, on your machine
from deepdive_book.ch05.runs import recurrence_speed

length = pick(ci=32, laptop=128, gpu=512)
ratio = recurrence_speed.measure(length=length)["ratio"]
print(f"attention length {length}: {ratio:.0f} times as fast on this machine")

# %% Time for 128 characters tags=["slide", "nbval-check-output"]
speed = recurrence_speed.load()
recurrence_tables.speed_table(speed)

# %% Growth with the attention length, and encoded states tags=["nbval-check-output"]
from itertools import pairwise

for name in ("memory", "windows"):
    times = [row[f"{name}_s"] for row in speed]
    doublings = ", ".join(f"{b / a:.1f}" for a, b in pairwise(times))
    print(f"{name}: {doublings} times as long per doubling of N")
print(f"windows of 512: {128 * 512:,} encoded states; memory: 128, and {128 + 512} keys")

# %% [markdown]
# **At an attention length of 512, memory is 316 times as fast** (at least 294 in seven rounds). The
# 128 windows encode $128 \cdot 512 = 65{,}536$ states, and memory encodes 128. The advantage grows
# with the attention length: each doubling of $N$ makes windows take 2.2 to 4.2 times as long, and
# memory only 1.3 to 1.9 times.
#
# **What this doesn't show.** A window for each character is the most expensive way to give it a
# context. We didn't time segments that overlap by half, which encode each character only twice, nor
# a GPU.

# %% [markdown] tags=["slide"]
# ### 3. What do compressed states keep?
#
# We train three Transformer-XL models as above and freeze them. Then we train only the convolution
# of a Compressive Transformer, for 400 steps, with the reconstruction loss and a compression rate
# of 4. In the test text, 32 states then become 8. The table has the relative error of attention to
# the compressed states. Dropping the states has an error of 100%, so a useful compression has less.

# %% Error of attention to compressed states tags=["slide", "nbval-check-output"]
from deepdive_book.ch05.runs import compression

recurrence_tables.compression_table(compression.load())

# %% [markdown]
# **The trained convolution loses least.** Its error is 43.7% and that of the mean 64.8%, and the
# intervals, over three seeds, don't overlap. But it's also the only method optimized for this
# error, and untrained it is worse than dropping the states. The maximum is worst, probably because
# its states are unlike those that the attention matrices have seen. We measured attention, not bits
# per character.
#
# ## With the real library: XLNet in transformers
#
# Version 5 of `transformers` no longer has Transformer-XL. But [XLNet](../03_bert/17_family.ipynb)
# has the same layers, and with `attn_type="uni"` they're causal. In the next two cells, an XLNet
# gets the random weights of our Transformer-XL, and both process three segments. The shapes are
# (states, batch, width).

# %% An XLNet with the weights of a Transformer-XL
from transformers import XLNetConfig, XLNetModel

xlnet = XLNetModel(XLNetConfig(vocab_size=50, d_model=16, n_layer=2, n_head=4, d_inner=32,
                               ff_activation="relu", attn_type="uni", mem_len=6, dropout=0.0,
                               layer_norm_eps=1e-5)).eval()  # fmt: skip
with torch.no_grad():
    xlnet.word_embedding.weight.copy_(4 * library.tokens.weight)  # ours multiplies by sqrt(16)
    for a, b in zip(ours, xlnet.layer, strict=True):
        for name in "qkvr":
            weight = getattr(a.attention, name).weight  # (H * d, D)
            getattr(b.rel_attn, name).copy_(weight.T.unflatten(1, (4, 4)))  # (D, H, d)
        b.rel_attn.o.copy_(a.attention.out.weight.unflatten(1, (4, 4)))
        b.rel_attn.r_w_bias.copy_(a.attention.u_bias[:, 0])
        b.rel_attn.r_r_bias.copy_(a.attention.v_bias[:, 0])
        b.rel_attn.layer_norm.load_state_dict(a.norm1.state_dict())
        b.ff.layer_1.load_state_dict(a.inner.state_dict())
        b.ff.layer_2.load_state_dict(a.outer.state_dict())
        b.ff.layer_norm.load_state_dict(a.norm2.state_dict())

# %% Three segments with memory tags=["nbval-check-output"]
memory, mems = Memory(6), None
for segment in torch.randint(50, (2, 12)).split(4, 1):
    theirs = xlnet(segment, mems=mems, use_mems=True)
    mems = theirs.mems
    same = torch.allclose(theirs.last_hidden_state, library(segment, memory=memory), atol=1e-5)
    print("equal:", same, "· memory of XLNet:", tuple(mems[0].shape))

# %% [markdown]
# ## How it differs
#
# $K$ is the number of slots, and the other letters are those of the sections above.
#
# | | Transformer | Transformer-XL | Compressive Transformer | Memformer |
# |---|---|---|---|---|
# | memory | none | states of each layer | states, and compressed states | slots |
# | vectors per layer, long text | $T$ | $T + M$ | $T + M + C$ | $T$, and $K$ slots for all layers |
# | reach of a layer (positions) | $T$ | $T + M$ | $T + M + c\,C$ | no limit, through $K$ slots |
# | gradient into the memory | | no | no | yes, with MRBP |
# | positions | absolute | relative | relative | absolute in a segment |
#
# ## Common mistake: the memory of another text
#
# You train on shuffled windows but keep the memory from batch to batch, or you carry the memory of
# one document into the next. **Symptom:** no error, and a loss about as high as without memory or
# higher. **Fix:** start each document with a new memory, and let row $b$ of each batch continue row
# $b$ of the batch before. Our rows have 33 characters, the inputs and the last target, so the last
# character of a row must be the first of its next row. The next cell checks this for our batches
# and for shuffled ones.

# %% Rows that continue, and rows that don't tags=["nbval-check-output"]
ids = torch.arange(1024)
first, second = recurrence.streams(ids, 32, seed=0, steps=2)
print("continues:", bool((first[:, -1] == second[:, 0]).all()))
shuffled = second[torch.randperm(len(second), generator=torch.Generator().manual_seed(0))]
print("shuffled, rows that continue:", int((first[:, -1] == shuffled[:, 0]).sum()))

# %% [markdown]
# ## In practice
#
# - **For generation, use the KV cache.** It stores keys and values of every earlier token.
#   Transformer-XL's memory is limited, so the cost per token is bounded for texts of any length.
# - **Compare models at equal context, and also as each was trained.** Segments without context
#   measure context fragmentation first, and an unusual context can raise the loss. Overlapping
#   segments are a cheap way to give a context.
# - **Cache as many states at evaluation as you like, but check the loss.** Distances that never
#   occurred in training may not help.
# - **Start with an empty memory.** Transformer-XL in version 4 of `transformers` started with
#   cached vectors of zeros, which receive attention weight.
#
# ## Summary
#
# What do cached segments add? In our models, a context for the first characters of each segment, at
# a low cost. Transformer-XL has 0.052 bpc less than the same decoder without memory, and can't be
# distinguished from that decoder with a sliding window. In a separate timing of a larger, untrained
# model, windows of 512 take 316 times as long as memory. For shorter windows, the ratio is smaller:
# 93 at 128 characters.
#
# We found no measurable gain from the one longer memory that we tried. A gain from memory during
# training is inconclusive after 800 steps, and possible with more. Such small models may make
# little use of distant characters, so the result says nothing about models that do.
#
# Dai et al. (2019) report dependencies that are 80% longer than those of recurrent networks and
# 450% longer than those of Transformers, an evaluation up to 1,800+ times as fast, and 0.99 bpc on
# enwik8. We confirmed only that evaluation is far faster. The other results need much larger
# models, and RECL, their measure of dependencies, fails in our control. Nor did we reproduce the
# results of the Compressive Transformer on longer contexts, and we trained no Memformer.
#
# ## Check your understanding
#
# 1. A model has 6 layers, segments of 10, and a memory of 20 states. On how many positions can the
#    output at the end of a segment depend?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    $10 + 6 \cdot 20 = 130$, because 20 is a multiple of 10.
#
#    </details>
# 2. How much of a text does a training step of Transformer-XL keep in memory for the backward pass?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    It keeps the states of one segment, and the cached inputs with the keys and values made of
#    them, because the projections get gradients from these too. No gradient flows into the cached
#    inputs themselves, so nothing older is needed.
#
#    </details>
# 3. Transformer-XL has a lower loss than a Transformer that processes each segment separately.
#    Which other model, evaluated how, did we need before attributing this to memory in training?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    A model with relative positions and no memory in training, evaluated with a full context: a
#    sliding window, or memory at evaluation only.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* Compute the four terms and the score for $q = 1$, $k = 4$, $r = 2$, $u =
#    3$, $v = 5$, and $d = 1$.
#
#    <details><summary>Answer</summary>
#
#    $q k = 4$, $q r = 2$, $u k = 12$, $v r = 10$, and the score is 28.
#
#    </details>
# 2. *(on paper, 5 min)* A model needs to cover 1,600 positions in one layer. Compute how many
#    states Transformer-XL caches, and how many a Compressive Transformer with 400 recent states and
#    a compression rate of 4.
#
#    <details><summary>Answer</summary>
#
#    Transformer-XL caches 1,600 states. The Compressive Transformer caches $400 + 1200 / 4 = 700$.
#
#    </details>
# 3. *(in code, 15 min)* Make every query of `XLAttention` attend to the same number of keys: the
#    last $M$ positions before it and itself, also at the end of a segment. Check it against
#    `TransformerXL` with `same_length=True`, whose $M$ states include the query's own.
#
#    <details><summary>Answer</summary>
#
#    Mask also the keys that are too early, with $M$ as an argument of the class: `later |
#    torch.ones(T, S, dtype=torch.bool).tril(S - T - M - 1)`. (While the memory fills, $S - T < M$.)
#    The library's `n_memory` is then $M + 1$.
#
#    </details>
# 4. *(measure, 10 min of machine time)* Train `recurrence.ARMS["Transformer-XL"]` with
#    `recurrence.train` for 800 steps at the rate of the table, with three seeds, and evaluate it
#    with `by_segments` for memories of 0, 8, 16, 32, and 64 states. Report the shortest memory
#    whose loss is within 0.01 bpc of that with 32 states.
#
#    <details><summary>Answer</summary>
#
#    `recurrence.by_segments(model, recurrence.stretches(text.test), 32, memory).mean()` returns the
#    loss of one model with this memory. We haven't run the memories of 8, 16, and 64. Report the
#    mean of the three seeds and their range.
#
#    </details>

# %% Exercise answers, checked tags=["nbval-check-output"]
print(1 * 4 + 1 * 2 + 3 * 4 + 5 * 2, 10 + 6 * 20, 400 + 1200 // 4)

# %% [markdown]
# ## Further reading
#
# - Dai et al. (2019), [*Transformer-XL: Attentive Language Models beyond a Fixed-Length
#   Context*](https://arxiv.org/abs/1901.02860), and [the authors'
#   code](https://github.com/kimiyoung/transformer-xl).
# - Rae et al. (2020), [*Compressive Transformers for Long-Range Sequence
#   Modelling*](https://arxiv.org/abs/1911.05507).
# - Wu et al. (2022), [*Memformer: A Memory-Augmented Transformer for Sequence
#   Modeling*](https://arxiv.org/abs/2010.06891).
# - Yang et al. (2019), [*XLNet: Generalized Autoregressive Pretraining for Language
#   Understanding*](https://arxiv.org/abs/1906.08237): Transformer-XL's layers, pretrained on
#   permuted orders.
# - Al-Rfou et al. (2019), [*Character-Level Language Modeling with Deeper
#   Self-Attention*](https://arxiv.org/abs/1808.04444): the deep Transformer on single segments that
#   Transformer-XL is compared with.
