# %% [markdown] tags=["slide"]
# # T5: every task as text
#
# A classifier usually ends in a softmax over its classes, and a similarity model ends in a
# regression output. **T5** needs neither, because its decoder writes every answer as text. A prefix
# in the input, such as `translate English to German:`, names the task. Can one such model replace
# two single-task models?
#
# **What it is.** T5, the *Text-to-Text Transfer Transformer* ([Raffel et al.
# 2020](https://arxiv.org/abs/1910.10683)), is an **encoder-decoder** Transformer that treats every
# task as **text-to-text**: the input is a text, and so is the output. It is pretrained by **span
# corruption**, which removes spans of tokens from the encoder's input and trains the decoder to
# predict them. Instead of position embeddings, T5 uses a **relative position bias**, a learned
# number that depends on the distance between two tokens and is added to their attention score.
#
# **What you'll be able to do.** Corrupt spans and compute position buckets by hand, implement both
# together with T5's self-attention, train one model for two tasks with task prefixes, and run
# Flan-T5 with the transformers library.
#
# <details><summary><b>Short answer</b></summary>
#
# We find no evidence that sharing one model hurts, on two generated tasks: writing numbers in
# English and in French words. One model with task prefixes writes 96.5% [93.3%, 99.7%] of the test
# numbers correctly in English and 94.0% [90.7%, 97.3%] in French. Two single-task models, trained
# with the same total compute, reach 91.4% [83.4%, 99.4%] and 82.8% [62.6%, 100%]. The brackets are
# 95% confidence intervals over five seeds, and the difference isn't statistically significant.
#
# </details>
#
# <small>Prerequisites: [the decoder](../02_transformer/12_decoder.ipynb), [relative
# positions](08_relative_positions.ipynb) · 25 min · runs on a laptop; results of the long runs are
# included · book 5.3.2</small>

# %% T5's architecture [markdown] tags=["slide"] figure="ch05.t5_architecture"
# ![T5. Left: the encoder's input is a task prefix and a text, translate English to German: That is
# good. After the embedding, N layers of self-attention and a feed-forward network, each with
# RMSNorm before it and a residual connection around it. Right: the decoder starts with the padding
# token; its N layers have causal self-attention, cross-attention to the encoder's output, and a
# feed-forward network. A softmax predicts the target, Das ist gut. A relative position bias, shared
# by all layers of a stack, is added to the self-attention scores of each stack; there are no
# position embeddings.](figures/10_t5.svg)
#
# *T5. The encoder receives a task prefix followed by a text. The decoder starts with the padding
# token and predicts the target token by token. Gold: the bias that each stack of layers adds to its
# self-attention scores, with one value per attention head and bucket (group) of distances.*

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
# The output is always text, even when the answer is a class or a score, so one loss trains every
# task: the cross-entropy of the next target token. Here are three of the formats in the paper's
# figure 1, with shortened texts:
#
# | task | input | target |
# |---|---|---|
# | translation | `translate English to German: That is good.` | `Das ist gut.` |
# | acceptability (CoLA) | `cola sentence: The course is jumping well.` | `not acceptable` |
# | similarity (STS-B) | `stsb sentence1: The rhino grazed. sentence2: A rhino grazes.` | `3.8` |
#
# Compared with the [Transformer](../02_transformer/12_decoder.ipynb) of 2017, T5 changes four
# parts:
#
# - **Positions.** There are no position embeddings. Instead, a learned bias per head and bucket of
#   distances is added to the self-attention scores, and all layers of a stack share it.
# - **Attention scores.** T5 doesn't divide the scores by $\sqrt{d}$, the square root of the head
#   width. Instead, the query matrices are initialized smaller by that factor, which has the same
#   effect at the start of training.
# - **Normalization.** Layer normalization becomes **RMSNorm**, which divides a vector by its **root
#   mean square** without subtracting the mean first. It is applied before each sublayer (pre-norm).
# - **Linear layers.** No linear layer has a bias. Version 1.1, a later release, also has a gated
#   feed-forward layer, which multiplies two projections of its input, and an output matrix of its
#   own.
#
# ## Interactive figure: span corruption
#
# Span corruption is a **denoising** objective: the input is corrupted, and the model learns to
# restore what was removed. Each masked span is replaced by one **sentinel token**, written
# `<extra_id_0>`, `<extra_id_1>`, and so on. The target lists every sentinel with the tokens it
# replaced and ends with one more sentinel. In the figure each word is one token, and you can press
# words to mask or unmask them:

# %% Interactive figure: span corruption tags=["slide", "fold"]
from deepdive_book.ch05.figures.span_corruption_demo import span_corruption_demo

texts = ["thank you for inviting me to your party last week",
         "translate the amount three hundred and forty seven into French words"]  # fmt: skip
span_corruption_demo(texts, hidden=(2, 3, 8))

# %% [markdown]
# *The first state is the example in the paper's figure 2.* *Try this:*
#
# 1. Mask "me" as well. How many sentinels does the input have now?
# 2. Mask every second word and unmask the others. How long are input and target?
# 3. Mask all ten words. What does the decoder have to predict?
#
# <details><summary>What you should see: open after you try</summary>
#
# 1. Still two, because "for inviting me" is now a single span.
# 2. Each masked word is its own span, so the input keeps its ten tokens, five of them sentinels.
#    The target has eleven.
# 3. The decoder has to predict the full text from a single sentinel. The input carries no
#    information, so this is language modeling.
#
# </details>
#
# ## By hand
#
# ### Span corruption
#
# Number the ten words of a text 1 to 10, mask words 3, 4, and 9, and use 99, 98, and 97 as
# sentinels. The two masked spans take one sentinel each, and the third sentinel ends the target:
#
# | | tokens | length |
# |---|---|---|
# | text | 1 2 **3 4** 5 6 7 8 **9** 10 | 10 |
# | encoder input | 1 2 99 5 6 7 8 98 10 | $10 - 3 + 2 = 9$ |
# | decoder target | 99 3 4 98 9 97 | $3 + 2 + 1 = 6$ |
#
# T5 masks 15% of the tokens, in spans of three tokens on average. In a text of 512 tokens, 77 are
# masked, in 26 spans. The input then has $512 - 77 + 26 = 461$ tokens and the target
# $77 + 26 + 1 = 104$, whereas a target that repeats the entire text would have 512. Short targets
# are the point, because they make pretraining cheaper.
#
# ### Relative position buckets
#
# The relative position bias depends on the **distance**, which is the position of the key minus the
# position of the query. A value for every distance would need a table as long as the longest text,
# so T5 groups distances into **buckets**. Small distances have a bucket each, and larger ones are
# grouped into buckets that become wider with the distance.
#
# As an example, take a decoder with 8 buckets and a maximum distance of 16. In a causal decoder a
# query attends only to keys at or before it, so all buckets are for these keys. The first half,
# buckets 0 to 3, have one distance each. The other four buckets split the range from 4 to 16 on a
# logarithmic scale. This range spans two doublings, so each bucket reaches $\sqrt 2$ times as far
# as the one before, and the buckets start at 4, 5.7, 8, and 11.3. The last one also takes
# everything beyond 16:
#
# | tokens back | 0 | 1 | 2 | 3 | 4, 5 | 6, 7 | 8 to 11 | 12 and more |
# |---|---|---|---|---|---|---|---|---|
# | bucket | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
#
# What does a bias do to the attention weights? Suppose a head has learned the biases $\ln 4$,
# $\ln 2$, and 0 for buckets 0, 1, and 2, and a query has the same score for three keys, at
# distances 0, −1, and −2. The softmax exponentiates the biases, so the attention weights are
# $\frac47$, $\frac27$, and $\frac17$. This head prefers near keys, whatever they contain.
#
# The real T5 has 32 buckets up to a distance of 128. In its encoder a query also attends to later
# keys, so half of the buckets are for keys after the query. The next figure computes these buckets
# with `deepdive`, the small library that accompanies this book. Adjacent buckets have different
# shades:

# %% Interactive figure: relative position buckets tags=["slide"]
from deepdive.positions import CausalT5Bias, T5Bias
from deepdive_book.ch05.figures.relative_position_buckets import relative_position_buckets

biases = {"encoder: both directions": T5Bias(n_heads=1), "decoder: causal": CausalT5Bias(n_heads=1)}
relative_position_buckets(biases, length=200, at=150)

# %% [markdown]
# *Buckets of the distances in a text of 200 tokens. Dot: query; triangle: key.* *Try this:*
#
# 1. Move the key to 143, then to 142. Which of the two has a bucket of its own?
# 2. Move the query to 199. How many keys share bucket 15?
# 3. Choose the decoder. Which keys share the last bucket now?
#
# <details><summary>What you should see: open after you try</summary>
#
# 1. The key at 143 has its own bucket, because its distance is −7. From −8 on, several distances
#    share a bucket.
# 2. Bucket 15 has 109 keys, those at distances of 91 and more.
# 3. Keys 0 to 86, in bucket 31. All 32 buckets are for one direction now, so they are narrower.
#
# </details>
#
# ## In code: span corruption, buckets, and self-attention
#
# The functions `corrupt_spans` and `relative_bucket` do the two calculations from above. The class
# `SelfAttention` looks up the bias of each bucket and adds it to the attention scores.

# %% T5: span corruption, buckets, self-attention tags=["concept"]
import math

import torch
from torch import nn


def corrupt_spans(tokens, masked, sentinel):
    """Encoder input and decoder target; `masked` has a bool per token, `sentinel` is the first."""
    inputs, target = [], []
    for i, token in enumerate(tokens):
        if not masked[i]:
            inputs.append(token)
            continue
        if i == 0 or not masked[i - 1]:  # a span begins: its sentinel goes into both
            inputs.append(sentinel)
            target.append(sentinel)
            sentinel -= 1
        target.append(token)
    return inputs, [*target, sentinel]  # a last sentinel ends the target


def relative_bucket(distance, n_buckets=32, max_distance=128, causal=False):
    """Bucket of each distance, key position minus query position (an integer tensor)."""
    if causal:  # all buckets are for keys at or before the query
        first, distance = 0, -distance.clamp(max=0)
    else:  # one half for keys at or before the query, the other for keys after it
        n_buckets //= 2
        first, distance = n_buckets * (distance > 0), distance.abs()
    exact = n_buckets // 2  # the small distances have a bucket each, the others a growing range
    log = torch.log(distance.clamp(min=exact) / exact) / math.log(max_distance / exact)
    far = (exact + (log * (n_buckets - exact)).long()).clamp(max=n_buckets - 1)
    return first + torch.where(distance < exact, distance, far)


class SelfAttention(nn.Module):
    """T5's self-attention: a bias per head and bucket, no scaling by sqrt(d), no other biases."""

    def __init__(self, d_model, n_heads, d_head, table, causal=False):
        super().__init__()
        self.n_heads, self.table, self.causal = n_heads, table, causal  # all layers share the table
        self.q, self.k, self.v = (nn.Linear(d_model, n_heads * d_head, bias=False) for _ in "qkv")
        self.out = nn.Linear(n_heads * d_head, d_model, bias=False)

    def forward(self, x):  # (B, T, d_model)
        q, k, v = (linear(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
                   for linear in (self.q, self.k, self.v))  # fmt: skip  # each (B, H, T, d_head)
        position = torch.arange(x.shape[1])
        distance = position - position[:, None]  # (T, T): key minus query
        bucket = relative_bucket(distance, len(self.table.weight), causal=self.causal)  # (T, T)
        bias = self.table(bucket).permute(2, 0, 1)  # (T, T, H) -> (H, T, T)
        scores = q @ k.mT + bias  # (B, H, T, T)
        if self.causal:
            scores = scores.masked_fill(distance > 0, -torch.inf)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))  # (B, T, d_model)


# %% [markdown]
# On the two examples by hand, the code gives the same results as above:

# %% The worked examples tags=["nbval-check-output"]
masked = [i in (3, 4, 9) for i in range(1, 11)]
inputs, target = corrupt_spans(range(1, 11), masked, sentinel=99)
print("input ", inputs)
print("target", target)
back = torch.tensor([0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 16, 500])
print("bucket", relative_bucket(-back, n_buckets=8, max_distance=16, causal=True).tolist())
biases = torch.tensor([4.0, 2.0, 1.0]).log()
print("attention weights", [f"{x:.3f}" for x in biases.softmax(0).tolist()])

# %% [markdown]
# These examples are tiny, so we also compare the code with `deepdive`, and its buckets with Hugging
# Face transformers. First we corrupt a text of 512 tokens and compute the buckets of all distances
# from −2,000 to 2,000:

# %% Spans and buckets: equal to deepdive and to transformers tags=["equals-library"]
from transformers.models.t5.modeling_t5 import T5Attention

from deepdive.training import objectives

ids, random = torch.arange(512), torch.Generator().manual_seed(0)
masked = objectives.mask_spans((1, 512), generator=random)  # 15%, spans of 3 on average
library = objectives.corrupt_spans(ids[None], masked, 32_099)
ours = corrupt_spans(ids.tolist(), masked[0].tolist(), 32_099)
assert [x[0].tolist() for x in library] == [*ours]
assert [len(x) for x in ours] == [461, 104]
distances = torch.arange(-2000, 2001)
for causal, library in ((False, T5Bias(1)), (True, CausalT5Bias(1))):
    found = relative_bucket(distances, causal=causal)
    assert torch.equal(found, library.buckets(distances))
    assert torch.equal(found, T5Attention._relative_position_bucket(distances, not causal))
print("equal: inputs, targets, buckets")

# %% [markdown]
# Second, we copy the weights of a small T5 from `deepdive` into our self-attention. The outputs
# must agree, and so must the gradients of the bias table:

# %% Self-attention: equal to deepdive tags=["equals-library"]
from deepdive.core.masks import Causal
from deepdive.models.generative.t5 import BASE, TINY, t5

torch.manual_seed(0)
model, x = t5(TINY, n_buckets=32, max_distance=128).eval(), torch.randn(2, 200, 32)
for stack, causal in ((model.encoder.stack, False), (model.decoder.stack, True)):
    library = stack.blocks[0].attn
    table = library.position.table
    attention = SelfAttention(32, 4, 6, table, causal)
    weights = [library.q.weight, *library.kv.weight.chunk(2), library.out.weight, table.weight]
    names = ["q.weight", "k.weight", "v.weight", "out.weight", "table.weight"]
    attention.load_state_dict(dict(zip(names, weights, strict=True)))
    outputs = attention(x), library(x, mask=Causal() if causal else None)
    assert torch.allclose(*outputs, atol=1e-5)
    gradients = [torch.autograd.grad(y.pow(2).sum(), table.weight)[0] for y in outputs]
    assert torch.allclose(*gradients, rtol=1e-4, atol=1e-4)
print("equal: outputs, gradients")

# %% [markdown] tags=["slide"]
# ## Experiments
#
# To compare one text-to-text model with two, we generate two tasks that a small model can learn.
# The input is a number below 1,000 with a prefix, and the target is this number in English or in
# French words. For example, `English: 347` has the target `three hundred and forty-seven`, and
# `French: 347` has `trois cent quarante-sept`. We measure **exact match**, the percentage of
# outputs that equal the target in every character, on 200 numbers not seen in training.
#
# All models are small T5s of version 1.1, with two encoder and two decoder layers, width 64, bytes
# as tokens, and 231 thousand parameters. In experiments 1 and 2 they are trained without dropout on
# batches of 32, with the optimizer Adafactor, which experiment 3 explains. The **learning rate**
# rises for 20 steps to a peak of 0.1 and then falls linearly to zero. The training code is in the
# module `deepdive_book.ch05.runs.t5`, which the page imports as `runs`.
#
# We chose this peak with one additional seed, from 0.03, 0.1, and 0.3 in experiment 1 and from 0.03
# and 0.1 in experiment 2. It was the best for every model except the one that learns both tasks in
# experiment 1, for which 0.03 was slightly better. One seed is little to tune with, so other peaks
# might be better for some of the models.
#
# Every setting in experiments 1 and 2 has five seeds, except for one control with a single seed. A
# seed determines the split into training and test numbers, the initial weights, and the batches.
# The brackets in the tables hold a 95% confidence interval for the mean over the seeds (Student's
# t). Models with the same seed have the same test numbers, so we compare them seed by seed (a
# **paired** comparison).
#
# ### 1. Can one model replace two?
#
# The **task prefix** is the first word of the input, and it names the language. Training one model
# on both tasks is **multi-task** learning. We compare such a model with two single-task models, one
# per language, which are trained for 400 steps each. All three learn from the same 400 numbers. We
# compare them in two ways, because the multi-task model can be given equal steps or equal compute:
#
# - With 400 steps, the multi-task model takes the same number of steps as each single-task model.
#   However, half of every batch belongs to the other task, so it sees half as many examples of
#   each.
# - With 800 steps, it sees the same number of examples of each task. Its training then costs the
#   same compute as the training of the two single-task models together.
#
# We call a difference **significant** if its 95% confidence interval excludes zero.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "One model for both tasks, or two single-task models: which has the higher exact match?",
    [
        "the two models, in both comparisons",
        "the two models at 400 steps; no significant difference at 800",
        "the one model, in both comparisons",
        "no significant difference in either comparison",
    ],
    answer=3,
    explain="The one model scored higher with nearly every seed, but by very different amounts, so "
    "both intervals include zero. There is no evidence that sharing one model costs accuracy here.",
    key="05_efficient/t5-one-or-two",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Load the saved runs, or train for a few steps
from deepdive_book.ch05.runs import t5 as runs
from deepdive_book.kit import rows

tasks = rows.load_or_measure(runs.measure_tasks, "05_efficient", "t5_tasks",
                             points=runs.task_points(), few=runs.few_task_points())  # fmt: skip

# %% [markdown]
# The column *gain over two models* is the multi-task model's mean over both tasks minus the mean of
# the two single-task models with the same seed. With two such comparisons a false positive becomes
# more likely, so we widen both intervals from 95% to 97.5% (a **Bonferroni correction**). Gains are
# computed before rounding.

# %% Exact match by number of models tags=["slide"]
from deepdive_book.kit.tables import table

formats = dict.fromkeys(runs.TASKS, ".1%") | {"gain over two models (points)": ".1f"}
table(runs.task_table(tasks.rows), formats=formats,
      caption="English, French: exact match on 200 test numbers, mean of 5 seeds [95% t interval, "
      "cut at 100%]; one seed without prefixes. Gain: paired by seed [95% t interval, Bonferroni "
      "corrected for two comparisons]. Examples per task count repetitions.")  # fmt: skip

# %% [markdown]
# **We find no evidence that sharing one model hurts.** With 800 steps (first row), the multi-task
# model reaches 96.5% in English and 94.0% in French, with half the parameters of the two
# single-task models. Its mean over both tasks is higher than the mean of those two models with
# every seed. But the gain differs a lot between seeds, so its interval includes zero and even a
# loss of 6.4 points. With 400 steps and half the examples per task (second row), the gain isn't
# significant either, and a loss of 9.6 points isn't excluded.
#
# If the gain is real, one possible reason is that reading the digits is common to both tasks, so
# training on one could help the other. We didn't test this explanation, and tasks that have less in
# common may compete instead.
#
# The last row is a control with one seed. A model trained on both tasks **without prefixes** can't
# know which language is wanted. Nearly all of its outputs are correct in one of the two languages,
# but in the wanted one only about half of them are. The outputs for three test numbers show this:

# %% Outputs of the model without prefixes
for row in rows.select(tasks.rows, arm="both tasks, no prefix"):
    print(dict(zip(row["first_numbers"], row["first_outputs"]["English"], strict=True)))

# %% [markdown]
# ### 2. Does pretraining by span corruption help?
#
# T5 first learns from unlabeled text (**pretraining**) and then from labeled examples of its tasks
# (**fine-tuning**). Experiment 1 skipped pretraining. To see what pretraining adds when labels are
# scarce, we now label only 100 numbers. The model learns span corruption for 400 steps and is then
# fine-tuned on both tasks for 200 steps. The unlabeled text is one of two:
#
# - *Number words* are the English and French words of the 800 numbers outside the test set. Their
#   digits are left out, so this text has no labels. It does contain the words that the model will
#   later have to write.
# - *Shakespeare* is real text, the plays in the data set tinyshakespeare.
#
# Both are cut into windows of 48 bytes, of which 15% are masked, in spans of 3 bytes on average.
# The sentinels are bytes that never occur in the text.
#
# Two controls skip pretraining. The first is trained on the tasks for 600 steps, the total of both
# stages. The second is trained for only the 200 steps of fine-tuning.

# %% tags=["fold"]
predict(
    "At the same total of 600 steps, which training has the highest exact match?",
    [
        "pretraining on number words, then fine-tuning",
        "pretraining on Shakespeare, then fine-tuning",
        "600 steps on the tasks, without pretraining",
        "no significant difference between pretraining on number words and none",
    ],
    answer=3,
    explain="Their means are close, and the interval of the difference is wide. Pretraining on "
    "Shakespeare had a lower mean.",
    key="05_efficient/t5-pretraining",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown]
# Here *exact match* is the mean of English and French, and *task steps* are the steps on labeled
# examples. *Lowest to highest seed* has the range of the five exact matches. The last two columns
# compare each pretrained model with the two controls, seed by seed. A Bonferroni correction again
# widens the intervals, now for four comparisons.

# %% Exact match by pretraining tags=["slide"]
pretraining = rows.load_or_measure(
    runs.measure_pretraining, "05_efficient", "t5_pretraining",
    points=runs.pretraining_points(), few=runs.few_pretraining_points(),
    data="generated; tinyshakespeare")  # fmt: skip
lines = runs.pretraining_table(pretraining.rows)
minus = {name: ".1f" for name in lines[0] if name.startswith("gain")}
table(lines, formats={"exact match": ".1%"} | minus,
      caption="exact match: mean of English and French over 5 seeds [95% t interval, cut at 0]; "
      "gain: difference from a control without pretraining, paired by seed [95% t interval, "
      "Bonferroni corrected for four comparisons]")  # fmt: skip

# %% [markdown]
# **Pretraining on number words makes a short fine-tuning more effective.** The same 200 steps of
# fine-tuning reach 48.6% with pretraining and 7.9% without, and the corrected interval of the
# difference excludes zero. This is the usual case for pretraining: its text needs no labels, and
# its cost is paid once for many tasks.
#
# **At the same total of steps, pretraining has no measurable advantage here.** Training on the 100
# labeled numbers for all 600 steps reaches 45.9%, which is close to the 48.6% with pretraining.
# However, the interval of the difference reaches about 40 points to either side, so the experiment
# can't rule out a large gain or a large loss. The seeds differ so much that a single seed could
# have shown either.
#
# Pretraining on Shakespeare has a lower mean, 13.1%, but its corrected intervals include zero. Both
# stages have the same peak learning rate, and a lower one for fine-tuning might change the picture.
#
# With far more text and larger models, Raffel et al. report that pretraining improves most of their
# tasks, and that unlabeled text from a task's own domain can help (sections 3.1 and 3.4).

# %% [markdown]
# ### 3. Does a learning rate carry over to another optimizer?
#
# T5 was trained with **Adafactor** ([Shazeer and Stern 2018](https://arxiv.org/abs/1804.04235)).
# [Nawrot (2023)](https://arxiv.org/abs/2309.02373) reports that training diverges with the more
# common **Adam** in its place. A possible reason is the size of Adam's steps. One step of Adam
# changes each weight by about the learning rate, however large the weight is. But T5's weights
# differ in size, so the same step is small for the embeddings and larger than most weights of the
# queries. For T5-Small:
#
# | parameters | initial standard deviation | Adam's step at rate 0.01 |
# |---|---|---|
# | embeddings | 1 | 0.01, or 1% |
# | queries (width 512, head width 64) | $1 / \sqrt{512 \cdot 64} = 0.0055$ | 0.01, or 181% |
#
# Adafactor instead multiplies the learning rate by the root mean square of each tensor, so a step
# changes all tensors by the same fraction. Nawrot's fix is to put this factor into Adam, and we
# call the result *scaled Adam*. If the factor matters, Adam and scaled Adam should need different
# learning rates.
#
# We train our small model with both optimizers and five learning rates on span corruption of
# Shakespeare's bytes, in batches of 8 windows of 64 bytes. The learning rate rises for 20 steps and
# then stays constant (`runs.measure_optimizers`). The table shows the test loss in nats per byte,
# that is, the cross-entropy with the natural logarithm.

# %% Test loss by learning rate
optimizers = rows.load_or_measure(
    runs.measure_optimizers, "05_efficient", "t5_optimizers",
    points=runs.optimizer_points(), few=runs.optimizer_points(1, [1], [0.003, 0.03]),
    data="tinyshakespeare")  # fmt: skip
table(runs.optimizer_table(optimizers.rows), formats=dict.fromkeys(runs.SCALING, ".2f"),
      best=dict.fromkeys(runs.SCALING, min), caption=f"{runs.running_text()[1]}: test loss in nats "
      "per byte after 60 steps, mean of 3 seeds [95% t interval]")  # fmt: skip

# %% [markdown]
# A learning rate doesn't simply carry over. Adam's mean loss is lowest at 0.003 and scaled Adam's
# at 0.03, although neighboring rates aren't clearly separated. At 0.001, where scaled Adam's steps
# are too small, the difference is large. A learning rate should therefore be reported with its
# optimizer. The table isn't a ranking of the two, because at their best rates they are close, 60
# steps are a short training, and the model is far smaller than Nawrot's. In contrast to Nawrot's
# report, nothing diverged here, so the experiment doesn't explain why it diverged there.
#
# ## With the real library
#
# In practice you'll use T5 through Hugging Face transformers. The function `save` from `deepdive`
# writes our model in the format of transformers, whose class `T5ForConditionalGeneration` loads it.
# This class builds the decoder's input from the labels, by shifting them one position to the right,
# so you never build it yourself. Labels of −100 are ignored in the loss, so we give the padding
# this label. Both implementations should give the same logits and loss:

# %% Ours and transformers tags=["nbval-check-output"]
from tempfile import TemporaryDirectory

from transformers import T5ForConditionalGeneration
from transformers.utils import logging

from deepdive.published import save

logging.disable_progress_bar()
logging.set_verbosity_error()
model = runs.new_model(seed=0).eval()
with TemporaryDirectory() as folder:
    theirs = T5ForConditionalGeneration.from_pretrained(save(model, folder)).eval()
inputs = runs.pad(["English: 347", "French: 8"])
labels = runs.pad(["three hundred and forty-seven", "huit"])
with torch.no_grad():
    out = theirs(input_ids=inputs, attention_mask=inputs != 0,
                 labels=labels.masked_fill(labels == 0, -100))  # fmt: skip
    shifted = torch.nn.functional.pad(labels[:, :-1], (1, 0))  # starts with padding, token 0
    logits, loss = model(inputs, shifted, inputs != 0), runs.loss_of(model, (inputs, labels))
print("logits equal:", torch.allclose(out.logits, logits, atol=1e-4), tuple(logits.shape))
print("loss equal:", torch.allclose(out.loss, loss, atol=1e-5))

# %% [markdown]
# With network access, the next code runs the original T5 with three of its task prefixes. This page
# runs without a network, so the output isn't shown:
#
# ```python
# from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
#
# name = "google-t5/t5-small"
# tokenizer = AutoTokenizer.from_pretrained(name)
# model = AutoModelForSeq2SeqLM.from_pretrained(name)
# prompts = ["translate English to German: That is good.",
#            "cola sentence: The course is jumping well.",
#            "summarize: The council met for six hours and then approved the new bridge."]
# inputs = tokenizer(prompts, padding=True, return_tensors="pt")
# outputs = model.generate(**inputs, max_new_tokens=40, num_beams=4)
# print(tokenizer.batch_decode(outputs, skip_special_tokens=True))
# ```
#
# This is one step of fine-tuning the same model on your own pairs:
#
# ```python
# import torch
#
# optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
# batch = tokenizer(["English: 347"], text_target=["three hundred and forty-seven"],
#                   padding=True, return_tensors="pt")
# batch["labels"][batch["labels"] == tokenizer.pad_token_id] = -100
# model(**batch).loss.backward()
# optimizer.step()
# ```
#
# ## What the paper found
#
# Raffel et al. (2020) is a systematic comparison of **transfer learning**, in which a model is
# pretrained on one task and then used for others. The authors pretrain on **C4**, the Colossal
# Clean Crawled Corpus, and change one factor at a time. They evaluate on the language-understanding
# benchmarks **GLUE** and SuperGLUE, on question answering (SQuAD), and on summarization and
# translation. The table lists their findings as reported, without scores, and we haven't reproduced
# them:
#
# | factor | section | finding |
# |---|---|---|
# | architecture | 3.2 | an encoder-decoder with denoising beat decoder-only models |
# | objective | 3.3 | denoising beat language modeling; short targets were cheaper |
# | unlabeled data | 3.4 | in-domain text can help; repeating a small corpus hurts |
# | training strategy | 3.5 | multi-task training alone was behind pretraining + fine-tuning |
# | scale | 3.6 | larger models and longer training both help |
#
# They also report that multi-task pretraining followed by fine-tuning was about as good as
# pretraining without labels followed by fine-tuning (section 3.5.3), and the published models were
# trained that way. With the largest one they report state-of-the-art results on many of the
# benchmarks.
#
# How large are these models? We build the published sizes with `deepdive` and count their
# parameters:

# %% Parameters of the published T5 models tags=["nbval-check-output"]
sizes = {  # d_model, heads, head width, feed-forward width, layers per stack
    "small": (512, 8, 64, 2048, 6), "base": (768, 12, 64, 3072, 12),
    "large": (1024, 16, 64, 4096, 24), "3B": (1024, 32, 128, 16_384, 24),
    "11B": (1024, 128, 128, 65_536, 24),
}  # fmt: skip
for name, (d_model, n_heads, d_head, d_ff, n) in sizes.items():
    with torch.device("meta"):
        counted = t5(BASE, d_model=d_model, n_heads=n_heads, d_head=d_head, d_ff=d_ff,
                     n_layers=n, n_decoder_layers=n)  # fmt: skip
    print(f"{name:>5}: {runs.n_parameters(counted) / 1e6:,.0f} million parameters")

# %% [markdown]
# ## How it differs
#
# The table compares T5 with BERT, which has only an encoder, and GPT-2, which has only a decoder.
# The third and fourth rows matter most to a user.
#
# | | BERT | GPT-2 | T5 |
# |---|---|---|---|
# | architecture | encoder | decoder | encoder-decoder |
# | pretraining | predict masked tokens | predict the next token | generate masked spans |
# | for a new task | add an output layer | write a prompt | choose a prefix and fine-tune |
# | output | class, span, or tag | text | text |
# | positions | learned embeddings | learned embeddings | bias per head and distance bucket |
#
# ## Common mistake: dividing the scores by $\sqrt{d}$
#
# Suppose you load T5's weights into a standard attention layer, which divides its scores by
# $\sqrt{d}$. **Symptom:** there is no error. The shapes fit and text comes out, but the logits are
# wrong. The next cell shows this in an untrained model:

# %% T5 with scaled scores
torch.manual_seed(0)
model = t5(TINY).eval()
inputs, decoder_inputs = torch.tensor([[5, 9, 7, 4]]), torch.tensor([[0, 8, 6]])
with torch.no_grad():
    correct = model(inputs, decoder_inputs)
    for part in model.modules():
        if hasattr(part, "scale") and hasattr(part, "n_heads"):
            part.scale = None  # the default, 1 / sqrt(d_head)
    wrong = model(inputs, decoder_inputs)
change = (wrong - correct).norm() / correct.norm()
assert 0.001 < change < 1
print(f"the logits change by {change:.0%}")

# %% [markdown]
# **Fix:** set the scale to 1 (`MultiHeadAttention(..., scale=1.0)` in `deepdive`, or `scale=1.0` in
# torch's `scaled_dot_product_attention`), and compare your logits with transformers once.
#
# A related trap is the output layer, where the two versions of T5 differ. The first version
# multiplies the last hidden states by $1 / \sqrt{d_\text{model}}$ and shares its output matrix with
# the embeddings, whereas version 1.1 does neither.
#
# ## In practice
#
# - **Choose the checkpoint.** The original T5 saw supervised tasks in pretraining, so the prefixes
#   of these tasks work at once. Version 1.1 was pretrained on C4 only and must be fine-tuned first.
#   [Flan-T5](https://arxiv.org/abs/2210.11416) was fine-tuned on many tasks written as
#   instructions, so it is the best start for a prompt without fine-tuning.
# - **Use the same prefix in training and at test time.** A prefix is ordinary text, so you can
#   choose any prefix for a new task.
# - **End every input and target with `</s>`**, the end token, as the tokenizer does. If it is
#   missing in the target, the decoder doesn't learn to stop.
# - **Set the learning rate for your optimizer.** For AdamW, the documentation of
#   [transformers](https://huggingface.co/docs/transformers/model_doc/t5) suggests 1e-4 to 3e-4.
# - **Use bfloat16 instead of float16**, because T5's activations can overflow in float16.
# - **To classify, score each label's text by its loss**, summed over its tokens, and choose the
#   label with the lowest one. If you generate text instead, it may match no label at all.
#
# ## Summary
#
# T5 treats every task as text-to-text: an encoder-decoder receives a task prefix followed by a text
# and generates the target. It is pretrained by span corruption, and it encodes positions with a
# bias per distance bucket.
#
# Can one such model replace two single-task models? On our two tasks we found no evidence against
# it. With half the parameters and the same total compute, one model reaches an exact match of 96.5%
# in English and 94.0% in French, and two models reach 91.4% and 82.8%. The difference isn't
# significant with five seeds, and a loss of several points isn't excluded. Pretraining on unlabeled
# number words raised the exact match of a short fine-tuning from 7.9% to 48.6% (corrected 95%
# interval of the gain: 5.1 to 76.2 points), but it had no measurable advantage over longer training
# on the tasks.
#
# We didn't reproduce the findings of Raffel et al. (2020), whose largest model has 11 billion
# parameters. Our tasks are generated, and our models have only 231 thousand parameters.
#
# ## Check your understanding
#
# 1. How does T5 know which task to do?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    From the prefix, which is part of the encoder's input. Without it, tasks with the same inputs
#    can't be distinguished.
#
#    </details>
# 2. Why does the target contain only the masked spans?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The rest of the text is in the encoder's input, so repeating it would teach little and cost
#    decoder steps.
#
#    </details>
# 3. Can a head of the encoder prefer a key 60 tokens back to one 61 tokens back?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Not through its bias, because both distances are in bucket 13 (46 to 63). Through the keys'
#    content, yes.
#
#    </details>
# 4. Why can T5 process a text longer than any in training?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Every distance has a bucket, because the last one takes all long distances. Whether the output
#    is good is another question.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 5 min)* Compute buckets. An encoder has 16 buckets and a maximum distance of 32. In
#    which buckets are the distances −3, 3, and −10?
#
#    <details><summary>Answer</summary>
#
#    They are in buckets 3, 11, and 5. Each direction has eight buckets, four of them exact, and the
#    buckets of keys after the query start at 8. From 4 to 32 there are three doublings in four
#    buckets, so the distance −10 is in bucket
#    $4 + \lfloor 4 \cdot \log(10/4) / \log 8 \rfloor = 5$.
#
#    </details>
# 2. *(derive, 8 min)* Of $n$ tokens a fraction $r$ is masked in spans of $m$ on average. Derive the
#    lengths of input and target. For which $m$ is the input as long as the text?
#
#    <details><summary>Answer</summary>
#
#    The input has $n (1 - r + r / m)$ tokens and the target $n (r + r / m) + 1$. The input is as
#    long as the text for $m = 1$, because each masked token then has a sentinel of its own.
#
#    </details>
# 3. *(in code, 15 min)* Write `restore(inputs, target, sentinel)`, the inverse of `corrupt_spans`.
#
#    <details><summary>Answer</summary>
#
#    Split the target at the sentinels. Then copy the input and replace each sentinel by its span.
#    `deepdive.training.objectives.restore_spans` is one solution.
#
#    </details>
# 4. *(in code, 20 min)* Measure a third task. Add `parity: 347` with the targets `odd` and `even`
#    to `runs.words` and `runs.ARMS`, and train for 800 steps. Does exact match on French change?
#
#    <details><summary>Answer</summary>
#
#    Compare the models with at least three seeds and the same number of examples per task. With 800
#    steps, each of the three tasks gets a third of the examples, instead of half.
#
#    </details>

# %% Exercises 1 and 2, checked tags=["nbval-check-output"]
print(relative_bucket(torch.tensor([-3, 3, -10]), n_buckets=16, max_distance=32).tolist())
n, r = 1000, 0.15
for m in (1, 3):
    print(f"m = {m}: {n * (1 - r + r / m):.0f} and {n * (r + r / m) + 1:.0f} tokens")

# %% [markdown]
# ## Further reading
#
# - [Raffel et al. (2020)](https://arxiv.org/abs/1910.10683), *Exploring the Limits of Transfer
#   Learning with a Unified Text-to-Text Transformer*: section 2.1 for the model, 3.3 for the
#   objectives.
# - [Shazeer and Stern (2018)](https://arxiv.org/abs/1804.04235), *Adafactor: Adaptive Learning
#   Rates with Sublinear Memory Cost*: section 8 for steps relative to the parameters.
# - [Nawrot (2023)](https://arxiv.org/abs/2309.02373), *nanoT5*: T5 pretraining on one GPU.
# - [Chung et al. (2022)](https://arxiv.org/abs/2210.11416), *Scaling Instruction-Finetuned Language
#   Models*: Flan-T5.
# - [Xue et al. (2021)](https://arxiv.org/abs/2010.11934), *mT5*, and [Xue et al.
#   (2022)](https://arxiv.org/abs/2105.13626), *ByT5*: 101 languages, and bytes instead of subword
#   tokens ([5.12](12_byt5.ipynb)).
#
# <small>Book 5.3.2 · the slides of KAIST on T5</small>
