# %% [markdown] tags=["slide"]
# # Adaptive computation time: do harder inputs get more steps?
#
# A Transformer spends the same number of layers on every token. **Adaptive computation time
# (ACT)**, **conditional computation**, and **early exit** let this number depend on the input.
# **Does the extra computation go where it's needed, and does it beat a fixed depth?**
#
# **What it is.** The **Universal Transformer** ([Dehghani et al.
# 2019](https://arxiv.org/abs/1807.03819)) applies one block several times. With ACT ([Graves
# 2016](https://arxiv.org/abs/1603.08983)), a **halting unit** gives each position its own number of
# steps. The **Conditional Computation Transformer** ([Bapna et al.
# 2020](https://arxiv.org/abs/2002.07106)) has a learned gate per sublayer and token. **DeeBERT**
# ([Xin et al. 2020](https://aclanthology.org/2020.acl-main.204/)) exits early: it has a classifier
# after every layer, an **off-ramp**, and stops at the first one that is certain enough.
#
# **What you'll be able to do.** Compute halting weights and the ponder cost by hand, implement all
# three methods in 40 lines, and compare an adaptive depth with the fixed depth of equal cost.
#
# <details><summary><b>Short answer</b></summary>
#
# We found no sign that the extra computation goes where it's needed. In generated additions of
# binary numbers, a digit should be harder if its carry comes from far away. This distance has
# almost no relation to the number of steps that ACT takes, and ACT's accuracy isn't clearly
# different from that of four fixed steps. But in our models with several steps, a distant carry
# wasn't harder, so the test is weak.
#
# A small DeeBERT keeps its accuracy of 71.8% with a third of its layers on average. But the same
# model has 71.9% if every text leaves at the second of its six layers, so early exit has no
# advantage that we could measure.
#
# </details>
#
# <small>Prerequisites: [BERT](../03_bert/02_architecture.ipynb), [residual connections and
# norms](../02_transformer/09_residuals_norms.ipynb), [mixture of
# experts](11_mixture_of_experts.ipynb) · 20 min · data: generated additions, movie reviews · runs
# on a laptop; results of the long runs are included · book 5.1.3, table 1.1</small>

# %% Three adaptive depths [markdown] tags=["slide"] figure="ch05.adaptive_depth"
# ![Left: a grid of four columns and four steps. The columns 1+1, 0+1, 1+0 and 0+0 take two, three,
# four, and one steps; later cells are copies. Middle: four sublayers, each with a gate of 1 or 0
# for four tokens. Right: four layers of DeeBERT; the entropy falls from 0.62 to 0.41 to 0.08, where
# the text exits, and layer 4 doesn't run.](figures/17_adaptive_computation.svg)
#
# *Filled cells are computed, and dashed ones are copied or skipped. On the left, all steps share
# the weights of one block. A position halts when its **halting probabilities** add up to nearly 1,
# or at the last step. In the middle, each sublayer has its own weights and a gate for each token.
# On the right, each layer of BERT has an off-ramp.*

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
# ## By hand: halting weights, a ponder cost, and an early exit
#
# **ACT.** Before each step, the halting unit computes a probability $p$ for each position from its
# state. The position halts at the first step $N$ at which the sum of its probabilities reaches $1 -
# \epsilon$, with $\epsilon = 0.01$, or at the largest step allowed. The weight of each earlier step
# is its probability. The weight of step $N$ is the **remainder** $R$, which is 1 minus these
# probabilities. So the weights add up to 1, and the output is the weighted average of the states
# after each step. A halted state is only copied. The **ponder cost** is $N + R$.
#
# This is Graves's ACT, for each position, except that Graves computes $p$ from the state after a
# step. The [published
# code](https://github.com/tensorflow/tensor2tensor/blob/master/tensor2tensor/models/research/universal_transformer_util.py)
# of the Universal Transformer differs in more details.
#
# Take states of a single number, a block that adds 4, and a halting unit with $p = 1/4$ in state 0,
# $3/4$ in state 4, 0.96 in state 8, and 0.996 in state 12. Three positions start at 0, 4, and 12:
#
# | start | probabilities | $N$ | $R$ | weights | states after each step | output | $N + R$ |
# |---|---|---|---|---|---|---|---|
# | 0 | 1/4, 3/4 | 2 | 3/4 | 1/4, 3/4 | 4, 8 | $1 + 6 = 7$ | 2.75 |
# | 4 | 3/4, 0.96 | 2 | 1/4 | 3/4, 1/4 | 8, 12 | $6 + 3 = 9$ | 2.25 |
# | 12 | 0.996 | 1 | 1 | 1 | 16 | 16 | 2 |
#
# Training adds the mean ponder cost, times a small weight, to the loss. Because $N$ is a whole
# number, it has no useful gradient, so only $R$ pushes the halting unit toward fewer steps.
#
# **Early exit.** DeeBERT measures certainty by the **entropy** $-\sum_c p_c \log p_c$ of an
# off-ramp's prediction, in nats (units of the natural logarithm). Low entropy means a certain
# prediction, and a text exits at the first layer whose entropy is below a threshold. Suppose that
# three off-ramps predict the first of two classes with probability 1/2, 3/4, and 99/100. Their
# entropies are 0.69, 0.56, and 0.06. So a threshold of 0.7 stops after layer 1, 0.6 after layer 2,
# and 0.1 after layer 3. With a threshold of 0, no text leaves early.

# %% [markdown]
# ## In code: ACT, gated sublayers, and early exit
#
# In the comments, B is the batch size, T the number of tokens, and d the width. The argument
# `coding` returns the encodings of position and step, which the Universal Transformer adds before
# every step. In `gated`, the gate is 0 or 1 after training. During training it's a number between
# them, because a gate of exactly 0 or 1 has no useful gradient. `ACT` and `gated` compute all
# positions, so this code saves no work.

# %% ACT, a gated sublayer, early exit tags=["concept", "slide"]
import torch
from torch import nn


class ACT(nn.Module):  # apply one block until each position has halted
    def __init__(self, block, d_model, n_steps, epsilon=0.01):
        super().__init__()
        self.block, self.halt = block, nn.Linear(d_model, 1)
        self.n_steps, self.epsilon = n_steps, epsilon

    def forward(self, x, coding=lambda step: 0.0):  # x: (B, T, d), coding(step): (T, d)
        running = torch.ones(x.shape[:2], dtype=torch.bool)  # (B, T)
        total, ponder, average = torch.zeros(x.shape[:2]), torch.zeros(x.shape[:2]), 0.0
        for step in range(1, self.n_steps + 1):
            coded = x + coding(step)  # position and step, before every step
            p = self.halt(coded).sigmoid().squeeze(-1)  # (B, T)
            last = (total + p >= 1 - self.epsilon) | (step == self.n_steps)
            weight = torch.where(last, 1 - total, p) * running  # the last one: the remainder R
            x = torch.where(running[..., None], self.block(coded), x)  # halted states are copied
            average = average + weight[..., None] * x  # (B, T, d)
            total, ponder = total + weight, ponder + running + weight * last  # N + R
            running = running & ~last
            if not running.any():
                break
        return average, ponder


def gated(x, norm, sublayer, control, training):  # conditional computation, one sublayer
    h = norm(x)
    gate = control(h).sigmoid() if training else (control(h) > 0).float()  # (B, T, 1)
    return x + gate * sublayer(h)


def early_exit(x, layers, ramps, threshold):  # DeeBERT, for one text: x (1, T, d)
    for depth, (layer, ramp) in enumerate(zip(layers, ramps, strict=True), 1):
        x = layer(x)
        p = ramp(x).softmax(-1)  # (1, classes), from the first token's state
        if torch.special.entr(p).sum() < threshold or depth == len(layers):  # entr: -p log p
            break
    return p, depth

# %% The examples by hand tags=["nbval-check-output"]
from math import log

act = ACT(lambda x: x + 4, d_model=1, n_steps=5)
with torch.no_grad():
    act.halt.weight.fill_(log(3) / 2)
    act.halt.bias.fill_(-log(3))
    output, ponder = act(torch.tensor([[[0.0], [4.0], [12.0]]]))
print("output:", [round(y, 2) for y in output.flatten().tolist()])
print("N + R:", [round(y, 2) for y in ponder.flatten().tolist()])
ramps = [lambda x, p=p: torch.tensor([[p, 1 - p]]).log() for p in (1 / 2, 3 / 4, 99 / 100)]
for threshold in (0.7, 0.6, 0.1):
    p, depth = early_exit(torch.zeros(1, 1, 1), [nn.Identity()] * 3, ramps, threshold)
    print(f"threshold {threshold}: exit at layer {depth}, p = {p[0, 0]:.2f}")

# %% [markdown]
# The next cells compare our code with `deepdive`, the small library that accompanies this book. The
# block is PyTorch's own Transformer layer.

# %% Equal to the library tags=["equals-library"]
from deepdive.core import Context
from deepdive.models.efficient.universal import tiny

torch.manual_seed(0)
stack, x = tiny(), torch.randn(2, 6, 16, requires_grad=True)
layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)  # post-norm, ReLU
ours, block = ACT(layer, 16, stack.n_steps), stack.blocks[0]
with torch.no_grad():
    for name in ("weight", "bias"):
        both = torch.cat([getattr(part, name) for part in (block.attn.q, block.attn.kv)])
        getattr(layer.self_attn, f"in_proj_{name}").copy_(both)
for mine, theirs in ((layer.self_attn.out_proj, block.attn.out), (layer.linear1, block.ff.inner),
                     (layer.linear2, block.ff.out), (ours.halt, stack.halt)):
    mine.load_state_dict(theirs.state_dict())
table = stack.sinusoids.table(torch.arange(7)).float()
average, ponder = ours(x, lambda step: table[:6] + table[step])
found = stack.pondered(x, Context())
cost = found.steps + found.remainders
assert torch.allclose(average, found.states, atol=1e-5)
assert torch.allclose(ponder, cost, atol=1e-5)
for mine, theirs in ((x, x), (ours.halt.weight, stack.halt.weight),
                     (layer.linear1.weight, block.ff.inner.weight)):
    a, b = (torch.autograd.grad(states.pow(3).sum() + c.sum(), leaf, retain_graph=True)[0]
            for states, c, leaf in ((average, ponder, mine), (found.states, cost, theirs)))
    assert torch.allclose(a, b, atol=1e-4)
print("equal outputs, ponder costs, and gradients")

# %% Gates and exits equal the library's tags=["equals-library"]
from deepdive.core.hooks import record
from deepdive.layers.gated_residual import GatedPreNorm, budget_loss
from deepdive.models.bert.deebert import tiny as tiny_deebert

joint, double = GatedPreNorm(16), nn.Linear(16, 16)
for training in (True, False):
    joint.train(training)
    with record(joint, "gate") as seen:
        theirs = joint(x, double)
    mine = gated(x, joint.norm, double, joint.control, training)
    assert torch.allclose(mine, theirs, atol=1e-6)
    a, b = (torch.autograd.grad(y.pow(2).sum(), x, retain_graph=True)[0] for y in (mine, theirs))
    assert torch.allclose(a, b, atol=1e-5)
    print(f"training: {training}, mean gate {seen['gate'][0].mean().item():.2f}, "
          f"budget loss {budget_loss(seen['gate'], 0.5).item():.2f}")
model, tokens = tiny_deebert().eval(), torch.randint(4, 32, (1, 6))
for threshold in (0.0, 2.0):
    exits = model.early_exit(tokens, threshold)
    p, depth = early_exit(model.embed(tokens, None, None), model.bert.stack.blocks, model.ramps,
                          threshold)
    assert depth == exits.layers.item()
    assert torch.allclose(p, exits.logits.softmax(-1), atol=1e-6)

# %% [markdown]
# For conditional computation, the training loss also has a **budget loss**: the distance of the
# mean gate from the fraction of sublayers that you want to run. This loss alone isn't enough,
# because gates near 1/2 would satisfy a budget of 1/2 without a decision. So noise, which `gated`
# omits, is added to the gate's logit and grows during training, which pushes the logits away from
# zero. We tested the parts, but trained no such model.
#
# ## Experiments
#
# ### 1. Do more steps go to harder positions?
#
# In the addition of two binary numbers, difficulty can be defined. Each token is a **column**, the
# two bits that are added, lowest column first. Its label is the bit of the sum, which depends on
# the column's own two bits and on the incoming carry. Columns whose bits differ only pass a carry
# on, so it comes from the nearest earlier column whose bits are equal. The distance to that column
# is the **difficulty** (1 in the first column):
#
# | column | 1+1 | 0+1 | 1+0 | 0+0 | 1+0 |
# |---|---|---|---|---|---|
# | incoming carry | 0 | 1 | 1 | 1 | 0 |
# | bit of the sum | 0 | 0 | 0 | 1 | 1 |
# | difficulty | 1 | 1 | 2 | 3 | 1 |
#
# In the generated data, the bits of 70% of the columns differ.
#
# - **Models.** **UT, n steps** is a Universal Transformer without halting, and **UT with ACT**
#   takes at most 6 steps. The plain Transformer with 6 layers has the same FLOPs (floating-point
#   operations) as 6 steps and six times the parameters. The narrow Transformer has about as many
#   parameters as one block.
# - **Training.** All models attend causally, have post-norm layers, and are trained for 600
#   optimizer steps on batches of 64 sums with 16 columns. Each model has the better of two learning
#   rates, 0.001 and 0.003, selected on other sums with another seed. The position numbers of each
#   training sum start at a random offset, so every position in a test with 64 columns also occurs
#   in training.
# - **How to read the tables.** A **seed** fixes a run's random initial weights and data. The
#   brackets after a mean of five seeds are its **95% confidence interval**: in 95% of repeated
#   experiments, such an interval contains the true mean. Differences are computed seed by seed
#   (**paired**). Intervals marked **corrected** are wider, because one of many comparisons can
#   exclude zero by chance. A difference whose interval includes zero is **inconclusive**: it shows
#   neither a difference nor equality. A **correlation** $r$ is between -1 and 1, and 0 means no
#   linear relation.
#
# In the table, look at *r with difficulty*, which is positive if harder columns get more steps. The
# **ponder weight** multiplies the ponder cost in the loss, so a larger one means fewer steps.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Which has the largest mean absolute correlation with a column's number of steps, in sums of "
    "64 columns and with the default ponder weight of 0.01?",
    ["its difficulty", "its position in the sum", "whether its own two bits differ"],
    answer=2,
    explain="Its own bits have 0.54, though the interval overlaps that of the position. A column's "
    "input contains its bits. The distance has to be computed from other columns.",
    key="05_efficient/ponder",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Steps, difficulty, and position tags=["slide", "surprise", "nbval-check-output"]
from deepdive_book.ch05.runs import adaptive_steps, adaptive_tables

rows = adaptive_steps.load()
adaptive_tables.ponder_table(rows)

# %% [markdown]
# **The steps don't follow the difficulty.** With the default weight of 0.01, the correlation of a
# column's steps with its difficulty is -0.02 at 64 columns, and its interval, -0.07 to 0.02,
# includes zero. In the other rows the mean is also small, from -0.09 to 0.03. (With a weight of
# 0.001 and 64 columns, -0.03, the interval just excludes zero.)
#
# **What do they follow?** Without its sign, the correlation is 0.03 for the difficulty, 0.29 for
# the position, and 0.54 for whether the column's own two bits differ. (The sign of the last one
# differs between seeds. Without signs, even noise has a positive mean.) The difference between the
# last two is inconclusive.
#
# **The slowest column decides the cost of a sum.** With a weight of 0.01, a column of a long sum
# takes 3.3 steps on average, but the slowest one takes 5.1.
#
# The figure shows four test sums of 12 columns and one of these models. *Try this:*
#
# 1. Choose each sum. Find the column with the most steps and read its difficulty.
# 2. Compare two columns with the same bits at different positions.
# 3. Look at the weights: does one step get almost all of a column's weight?
#
# <details><summary>What you should see: open after you try</summary>
#
# In the first sum, the columns with four steps have the difficulties 3, 1, 1, and 2. The column 0+1
# takes three steps near the start and four at the end. No single step gets almost all of the
# weight: it's spread over three or four steps.
#
# </details>

# %% Halting weights, column by column
from deepdive_book.ch05.figures.halting_steps import halting_steps

examples = [row["examples"] for row in rows if row.get("examples")][:1]
halting_steps(examples[0]) if examples else None

# %% [markdown]
# **Is the accuracy worth the steps?** The next table compares ACT with fixed numbers of steps. We
# chose four as the control because a first run of ACT took about four, and trained no model with
# two or three. The second table compares bits of difficulty 8 with bits of difficulty 1.

# %% Accuracy beyond the training length tags=["slide", "nbval-check-output"]
adaptive_tables.accuracy_table(rows)

# %% Accuracy by difficulty tags=["nbval-check-output"]
adaptive_tables.difficulty_table(rows)

# %% [markdown]
# **We find no advantage of ACT over a fixed number of steps.** At 64 columns, ACT has 94.9% correct
# bits and four fixed steps have 96.8%. The difference of -1.9 points is inconclusive (-10.0 to
# 6.3). ACT saves little, too, because the block runs until the slowest column halts: at 16 columns,
# it costs 1.13 MFLOPs and four fixed steps cost 1.18. At 64 columns, where its slowest column takes
# 5.07 steps on average, ACT may well cost more.
#
# **The difficulty may not be difficult.** Only the model with a single step is less accurate on
# difficult bits: 82.4% at difficulty 8 and 89.3% at difficulty 1, a difference whose corrected
# interval excludes zero. With more steps the order of the means is reversed. Perhaps a second step
# is enough to find the column that matters, because attention reaches any distance at once. We
# didn't test this, but it's the strongest objection to our first result: ACT may ignore the
# distance because distance makes nothing harder. A chain of pointers, in which every hop needs a
# step, would be a better test, but in first runs none of our models learned such chains well.
#
# **What this doesn't show.** Addition is an easy task, the models are tiny, 600 steps are the
# beginning of training, and we tested two learning rates. Six fixed steps trained badly with some
# seeds, so that comparison is inconclusive too.

# %% [markdown]
# ### 2. Does early exit beat a fixed depth?
#
# The encoder is a small BERT with 6 layers and width 48, trained from random weights, so this tests
# the exit rule rather than a pretrained BERT. The data are single sentences from movie reviews
# (`rt_polarity`), positive or negative, 9,063 for training and 1,066 for testing.
#
# **Stage 1** trains the encoder and the last off-ramp for 300 steps of 32 sentences, at the better
# of two learning rates. **Stage 2** freezes both and trains the other off-ramps on the same
# sentences.
#
# In the first table, all texts leave at the same layer. The second compares early exit with a
# **fixed depth** of the same mean. To match a mean depth of 2.62, for example, 38% of the texts,
# chosen at random, leave at layer 2 and 62% at layer 3. The intervals don't include the chance in
# the choice of the test texts, about 2.7 points in either direction for each accuracy.

# %% Accuracy at each layer tags=["slide", "nbval-check-output"]
from deepdive_book.ch05.runs import early_exit as exit_runs

exits = exit_runs.load()
adaptive_tables.layer_table(exits)

# %% Early exit by threshold tags=["slide", "nbval-check-output"]
adaptive_tables.exit_table(exits)

# %% [markdown]
# **Early exit saves two thirds of the layers at the same mean accuracy, but so does a fixed
# depth.** At a threshold of 0.65 nats the mean depth is 2.00 of 6, and the accuracy is 71.8%, like
# the full model's. But when every text leaves at layer 2, it's 71.9%. At each threshold, the
# difference from a fixed depth with the same mean is at most 0.2 points, and its interval includes
# zero. The accuracies of all layers are within 0.4 points of each other, so a text has little to
# lose by leaving early.
#
# **A batch waits for its slowest text.** At 0.65 nats, the slowest of 8 texts needs 4.98 layers on
# average and the slowest of 32 needs 5.98. So a batch of 32 that stays together saves almost
# nothing.

# %% Exits by threshold
from deepdive_book.ch05.figures.exit_threshold import exit_threshold

exit_threshold(adaptive_tables.measured(exits)[0]["curve"])

# %% [markdown]
# The slider shows the first seed.
#
# **Does it save time?** We measured this at a threshold of 0.4 nats only, where texts leave after
# 4.25 layers on average.

# %% Time per text tags=["nbval-check-output"]
adaptive_tables.timing_table(exits)

# %% [markdown]
# **At 0.4 nats, single texts are slower, and for batches of 32 the result is inconclusive.** One
# text at a time takes 1.17 times as long as with the full model, probably because six small layers
# are cheap, and an off-ramp and a decision after each aren't free. In batches of 32, from which
# `early_exit` removes the finished texts, the ratio of 0.93 can't be distinguished from 1. In
# BERT-base a layer costs far more than an off-ramp, so we expect less of this slowdown there.
#
# **What this doesn't show.** A model trained from random weights on nine thousand sentences has
# little use for depth. A pretrained BERT does use its layers, so the result can be different there.
# The stronger baseline, which we didn't train, is a smaller model at equal training compute.

# %% [markdown]
# ## With the real library: transformers
#
# `transformers` has neither ACT nor DeeBERT, but an early exit is a loop over the layers of its
# `BertModel`. ALBERT (`AlbertModel`) repeats one block. It's a Universal Transformer without
# halting that adds the positions only once, before the first step, and has no encoding of the step.
# The models here have random weights.

# %% Early exit over the layers of BertModel tags=["nbval-check-output"]
from transformers import AlbertConfig, AlbertModel, BertConfig, BertModel

sizes = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 50}
torch.manual_seed(0)
bert = BertModel(BertConfig(num_hidden_layers=4, **sizes)).eval()
ramps = [nn.Linear(32, 2) for _ in range(4)]
tokens = torch.randint(5, 50, (1, 7))


@torch.no_grad()
def classify(threshold):
    x, depth = bert.embeddings(input_ids=tokens), 0
    for layer, ramp in zip(bert.encoder.layer, ramps, strict=True):
        x, depth = layer(x), depth + 1
        x = x[0] if isinstance(x, tuple) else x
        p = ramp(x[:, 0]).softmax(-1)
        if torch.special.entr(p).sum() < threshold:
            break
    return x, depth


x, depth = classify(threshold=0.0)
print("depth:", depth, "equal to the full model:",
      torch.allclose(x, bert(tokens).last_hidden_state, atol=1e-5))
print("threshold 0.65 nats, depth:", classify(0.65)[1])
for n in (2, 12):
    albert = AlbertModel(AlbertConfig(num_hidden_layers=n, embedding_size=32, **sizes))
    print(f"ALBERT, {n} steps: {albert.num_parameters():,} parameters")

# %% [markdown]
# ## How it differs
#
# | | UT with ACT | conditional computation | DeeBERT |
# |---|---|---|---|
# | what varies | steps of one shared block | sublayers that run | layers before the exit |
# | for each | position | token and sublayer | text |
# | decided by | sum of halting probabilities | sign of a gate's logit | entropy of a prediction |
# | learned by | loss and ponder cost | loss and budget loss | not learned, a threshold |
# | chosen after training | no | the budget | the threshold |
# | other tokens still attend to it | yes, to the copied state | yes | no others |
#
# A [mixture of experts](11_mixture_of_experts.ipynb) applies different weights to different
# tokens, but each token costs the same. Here the amount of computation varies.
#
# ## Common mistake: counting skipped tokens as saved time
#
# You report the mean number of steps or layers as the cost. **Symptom:** the mean is far below the
# maximum, but the model isn't faster. In a batch, every matrix multiplication runs on all positions
# until the slowest has halted. **Fix:** report the slowest of each batch next to the mean, and
# remove finished texts from the batch, as `DeeBert.early_exit` does. The next cell counts both.

# %% Mean and slowest number of steps tags=["nbval-check-output"]
torch.manual_seed(0)
steps = tiny().pondered(torch.randn(8, 32, 16), Context()).steps
print(f"mean {steps.mean().item():.1f} steps, but the batch runs {int(steps.max())} times")

# %% [markdown]
# ## In practice
#
# - **Compare with a fixed depth of equal cost, trained in the same way.** It also batches
#   perfectly.
# - **Choose the threshold of an early exit on validation data**, and choose it again when the data
#   change. The threshold measures the model's certainty, not its accuracy.
# - **Search the weight of the ponder cost** on a logarithmic scale. If it's too large, the model
#   stops almost at once: here after 1.3 steps with 0.1, against 4.5 to 4.9 with 0.001.
# - **Expect early exit to save time only if a layer costs much more than an off-ramp**, and if you
#   serve one text at a time or remove finished ones.
#
# ## Summary
#
# Does the extra computation go where it's needed, and does it beat a fixed depth? We couldn't show
# either. On additions, the correlation of ACT's steps with a column's difficulty is -0.02 (-0.07 to
# 0.02). But only the single-step model was less accurate on difficult bits, so the test is weak.
# The difference between ACT and four fixed steps is inconclusive.
#
# A small DeeBERT has the full model's mean accuracy, 71.8%, with 2.00 of 6 layers on average, but
# the difference from a fixed depth is inconclusive at every threshold.
#
# The Universal Transformer paper reports that ACT improves accuracy on several tasks and that
# harder inputs take more steps. The DeeBERT paper reports a large part of the inference time saved
# at almost equal accuracy, for fine-tuned BERT-base and RoBERTa-base. We reproduced neither.
#
# ## Check your understanding
#
# 1. A position has the halting probabilities 0.5, 0.3, 0.4 at steps 1 to 3. What are $N$, $R$, and
#    the weights?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The sums are 0.5, 0.8, and 1.2, so $N = 3$, and $R = 1 - 0.8 = 0.2$. The weights are 0.5, 0.3,
#    and 0.2, and the ponder cost is 3.2.
#
#    </details>
# 2. What is the smallest possible ponder cost, and when does it occur?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    2: if the first probability is at least $1 - \epsilon$, then $N = 1$ and $R = 1$. Two steps
#    with a first probability just below $1 - \epsilon$ cost about $2 + \epsilon$.
#
#    </details>
# 3. Why does the Universal Transformer use an encoding of the step, while BERT doesn't?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Its block has the same weights at every step. Without the encoding, only the states can make
#    steps differ. BERT's layers have weights of their own.
#
#    </details>
# 4. Why is DeeBERT's encoder frozen while the other off-ramps are trained?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Their losses would change the encoder, which has been fine-tuned for the last off-ramp. Frozen,
#    the full model's predictions stay exactly as they were.
#
#    </details>
# 5. A batch of 32 texts waits for its slowest one. Why does the mean depth say little about its
#    time?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    If a fraction $q$ of the texts needs all layers, the probability that at least one of 32 does
#    is $1 - (1 - q)^{32}$, which is already 81% for $q = 5\%$.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* Compute the output and the ponder cost of a position that starts at 8 in
#    the example by hand. Its first halting probability is 27/28.
#
#    <details><summary>Answer</summary>
#
#    $27/28 = 0.964$ is below 0.99, so there is a second step with $R = 1/28$. The states are 12 and
#    16, the output is $(27 \cdot 12 + 16) / 28 = 12.14$, and the cost $2 + 1/28 = 2.04$.
#
#    </details>
# 2. *(in code, 10 min)* Write `early_exit` for a batch: it returns the depth of each text, and only
#    texts that haven't left go through the next layer. Check it against
#    `deepdive.models.bert.deebert.DeeBert.early_exit`.
#
#    <details><summary>Answer</summary>
#
#    Keep the indices of these texts. After each off-ramp, store the predictions of those that
#    leave, and continue with `x[~leaves]`. `DeeBert.early_exit` does this in 12 lines.
#
#    </details>
# 3. *(derive, 8 min)* The ponder cost's gradient with respect to a halting probability $p_n$ with
#    $n < N$ is $-1$. Why does this *increase* the probabilities, and why is the number of steps
#    then reduced?
#
#    <details><summary>Answer</summary>
#
#    $R = 1 - \sum_{n < N} p_n$ has the derivative $-1$. Gradient descent moves against it, so $p_n$
#    grows. Once the sum of the first $N - 1$ probabilities reaches $1 - \epsilon$, the position
#    halts a step earlier.
#
#    </details>
# 4. *(measure, 10 min of machine time)* Train `adaptive_steps.adder("UT, 2 steps")` at the rates
#    0.001 and 0.003 with five seeds each, and compare its accuracy at 64 columns with the table.
#
#    <details><summary>Answer</summary>
#
#    `adaptive_steps.measure("UT, 2 steps", 3e-3, seed, 600)` trains one model and returns its
#    results. We haven't run this depth. Select the rate by the key `chosen`, report `bits_64`, and
#    use another seed for the selection than for the result.
#
#    </details>

# %% Answers, checked tags=["nbval-check-output"]
with torch.no_grad():
    output, ponder = act(torch.tensor([[[8.0]]]))
print(f"output {output.item():.2f}, cost {ponder.item():.2f}, 1 - 0.95^32 = {1 - 0.95**32:.2f}")

# %% [markdown]
# ## Further reading
#
# - Graves (2016), [*Adaptive Computation Time for Recurrent Neural
#   Networks*](https://arxiv.org/abs/1603.08983).
# - Dehghani et al. (2019), [*Universal Transformers*](https://arxiv.org/abs/1807.03819).
# - Bapna, Arivazhagan, and Firat (2020), [*Controlling Computation versus Quality for Neural
#   Sequence Models*](https://arxiv.org/abs/2002.07106).
# - Xin et al. (2020), [*DeeBERT: Dynamic Early Exiting for Accelerating BERT
#   Inference*](https://aclanthology.org/2020.acl-main.204/), and [the authors'
#   code](https://github.com/castorini/DeeBERT).
