# %% [markdown] tags=["slide"]
# # CTC: which frame says which letter?
#
# When someone says "cat" into a phone, the recording has a hundred short frames, but the transcript
# has three characters, and no one marked where each character starts. **Connectionist temporal
# classification (CTC)** trains a model on such pairs. How can the model learn which frame belongs
# to which character? And why does it often output nothing at all for hundreds of training steps?
#
# **What it is.** CTC ([Graves et al. 2006](https://doi.org/10.1145/1143844.1143891)) is a loss for
# training without an annotated **alignment**. An alignment assigns one symbol to each **frame**,
# either a character or an extra symbol called the **blank**, and many alignments spell the same
# **transcript**. The loss is minus the log-probability of all of them together, which the **forward
# algorithm** computes by **dynamic programming**.
#
# **What you'll be able to do.** Compute the loss and its gradient by hand, implement the loss,
# decode outputs with greedy decoding and **prefix beam search**, find the most probable alignment
# of a known text, and diagnose a model that outputs only the blank.
#
# <details><summary><b>Short answer</b></summary>
#
# The frames need no annotation, because the loss sums over every alignment of the transcript. The
# empty outputs come first because, as long as a model ignores the audio, the best it can do is to
# predict mostly the blank. We train a small speech recognizer from three random seeds, and after
# 200 steps at least 85% of its outputs are empty. If we make the blank improbable at the start, the
# outputs are no longer empty, but almost every word is still wrong. Batch normalization, which
# standardizes features over the batch, helps more. With it, about 30% of the characters are wrong
# after 250 steps, compared with about 93% without it.
#
# </details>
#
# <small>Prerequisites: [from a waveform to units](01_waveform.ipynb),
# [recurrent networks](../01_before/07_rnn.ipynb) · 30 min · runs on a laptop; results of the long
# runs are included · book 6.3, and the papers under further reading</small>

# %% The CTC pipeline [markdown] tags=["slide"] figure="ch06c.ctc_pipeline"
# ![The CTC pipeline. A waveform enters the encoder. Its softmax gives, for each of eight frames, a
# column of probabilities of the blank - and the characters h, e, l, o. The most probable symbols
# form the alignment - h e l - l o o. Merging repeats gives - h e l - l o, and removing blanks gives
# hello.](figures/02_ctc.svg)
#
# *CTC from waveform to text. Blue: softmax probability of each symbol in each of eight frames,
# chosen for the drawing; `-` is the blank. Below: the most probable symbol of each frame (the
# alignment), the same with repeats merged, and the text without the blank.*

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
# Why does CTC need the blank? A sound lasts several frames, so repeated characters have to be
# merged, but then `h e e l l l o` becomes "helo", and no alignment spells "hello". A pause is
# another problem, because no character stands for it. An extra symbol, the **blank** `-`, solves
# both problems, because it can fill the pause and separate the two l's.
#
# An **alignment**, also called a path, has one symbol per frame, and the function `collapse` maps
# it to text in two steps: **merge repeats, then remove the blank**. Since many alignments collapse
# to the same text, CTC adds up their probabilities. The next figure shows all alignments of "cat"
# in five frames:

# %% Interactive figure: the CTC lattice
from deepdive_book.ch06c.figures.ctc_lattice import ctc_lattice

CAT = {"-": [3, 3, 3, 3, 3], "c": [2, 1, 0, 0, 0], "a": [0, 1, 2, 1, 0], "t": [0, 0, 0, 1, 2]}
TOO = {"-": [1, 1, 3, 1, 2], "t": [3, 3, 0, 0, 0], "o": [1, 1, 2, 4, 3]}
ctc_lattice({"cat": CAT, "too": TOO})

# %% [markdown]
# *The **lattice** of "cat" has one column per frame and one row per symbol of `- c - a - t -`. A
# node is one of these symbols in one frame. Each frame gives its symbols weights with a sum of 5,
# so dividing by 5 gives probabilities. The number in a node is the sum over all paths that reach
# it, where each path counts as the product of its weights. Shading and line width show which
# fraction of the total passes through; nodes on no complete path stay white.*
#
# *Try this:*
#
# 1. Read the line below the lattice. The blank is the most probable symbol (the **argmax**) of
#    every frame, so how can "cat" still be more probable than the empty text?
# 2. Press the weight of c in frame 1 until it is 0. Which nodes become empty, and how much of "cat"
#    is left?
# 3. Choose "too", and look for a line from the first o directly to the second. Why is there none?
#
# <details><summary>What you should see: open after you try</summary>
#
# 1. The empty text has only one alignment, the blank five times, with a product of $3^5 = 243$ of
#    3,125. "cat" has many alignments, and although the best has a product of only 72, all of them
#    sum to 470.
# 2. The node of c in frame 1 becomes empty, and so do the nodes reached only from it. Now every
#    alignment starts with the blank, and their weights sum to 96 of
#    1,875. The total is smaller because the weights of frame 1 now sum to 3.
# 3. Two equal neighbors would merge into one o, so the blank has to separate them.
#
# </details>
#
# CTC makes two assumptions. The characters come in the order of their sounds, so the alignment is
# **monotonic**, and given the audio, the outputs of the frames are independent (**conditional
# independence**), so an alignment's probability is the product of its frames' softmax outputs. It
# also has a requirement: there must be **at least as many frames as characters**, plus one for each
# immediate repeat, where the blank must come in between.

# %% [markdown] tags=["slide"]
# ## By hand: "at" in three frames
#
# Suppose a model outputs these probabilities, written as counts out of 4:
#
# | counts | frame 1 | frame 2 | frame 3 |
# |---|---|---|---|
# | - | 1 | 2 | 1 |
# | a | 3 | 1 | 0 |
# | t | 0 | 1 | 3 |
#
# The count of an alignment is the product of its entries. Over all alignments, the counts sum to
# $4^3 = 64$, and five alignments collapse to "at":
#
# | alignment | a a t | a t t | a - t | - a t | a t - |
# |---|---|---|---|---|---|
# | product | 3·1·3 = 9 | 3·1·3 = 9 | 3·2·3 = 18 | 1·1·3 = 3 | 3·1·1 = 3 |
#
# The five products sum to 42, so $p(\text{at}) = 42/64$. A real text has too many alignments to
# list, but because alignments share their beginnings, the **forward algorithm** can sum them column
# by column. In the next table, each row is one symbol of `- a - t -`, called a **state**, and the
# entry **α** is the sum over all beginnings of alignments that end in this state and frame. Since a
# path starts in one of the first two states, column 1 contains their counts and 0 elsewhere. For an
# entry in a later column, add the entries of the previous column from which a path can arrive, and
# multiply the sum by the frame's own count. A path arrives from the same state, from the state
# above, or from two states above if it skips only the blank between different characters.
#
# | α | frame 1 | frame 2 | frame 3 |
# |---|---|---|---|
# | - | 1 | 1·2 = 2 | 2·1 = 2 |
# | a | 3 | (1+3)·1 = 4 | (2+4)·0 = 0 |
# | - | 0 | 3·2 = 6 | (4+6)·1 = 10 |
# | t | 0 | 3·1 = 3 | (4+6+3)·3 = 39 |
# | - | 0 | 0 | 3·1 = 3 |
#
# An alignment ends in one of the last two states, so the total is $39 + 3 = 42$ again.
#
# The **backward** variable **β** sums over all ways to complete a path. In frame 2, the completions
# of the a, of the blank after the a, and of the t sum to 3, 3, and $3 + 1 = 4$. The alignments
# through these nodes therefore sum to $\alpha\beta = 4 \cdot 3 = 12$, $6 \cdot 3 = 18$, and
# $3 \cdot 4 = 12$. These three sums add up to 42 again, because every alignment passes through one
# node of each column.
#
# ### The forward and backward variables
#
# The same recursion works for any text. Let $z$ be the text with the blank before, between, and
# after its characters ($S = 2U + 1$ states for $U$ characters), and let $p_t(k)$ be the softmax
# output for symbol $k$ in frame $t$. The forward variable $\alpha_t(s)$ is the total probability of
# all paths that are in state $s$ in frame $t$. It starts with $\alpha_1(1) = p_1(z_1)$ and
# $\alpha_1(2) = p_1(z_2)$, and with 0 in all other states. In the later frames, it sums over the
# states from which a path can arrive:
#
# $$\alpha_t(s) = p_t(z_s)\,\bigl[\alpha_{t-1}(s) + \alpha_{t-1}(s-1) +
# \alpha_{t-1}(s-2)\ \text{if}\ z_s \neq \text{blank and}\ z_s \neq z_{s-2}\bigr]$$
#
# The three terms belong to the paths that stay in the state, come from the state before, or skip
# the blank. After the last frame $T$, the loss is $-\log p = -\log\,[\alpha_T(S) + \alpha_T(S-1)]$.
# Products of hundreds of probabilities underflow, so code computes $\log \alpha$, where a product
# becomes a sum and a sum becomes logsumexp.
#
# The backward variable starts at the end, where $\beta_T$ is 1 in the last two states and 0
# elsewhere. In the earlier frames, it sums over the states $s'$ that a path can reach from $s$ in
# one step:
#
# $$\beta_t(s) = \sum_{s'} p_{t+1}(z_{s'})\,\beta_{t+1}(s')$$
#
# Together, α and β determine the **posterior** $\gamma_t(s) = \alpha_t(s)\,\beta_t(s) / p$, which
# is the probability of state $s$ in frame $t$, given the text.

# %% [markdown]
# ## In code: loss, alignment, greedy decoding, prefix beam search
#
# Below, `ctc_loss` implements the forward algorithm and `alignment` computes the posterior, while
# the other functions turn outputs into text, which is called **decoding**.
#
# **Greedy decoding** takes the argmax of each frame and collapses the result. However, the most
# probable alignment need not belong to the most probable text, as "cat" shows in the lattice.
# **Prefix beam search** ([Hannun et al. 2014](https://arxiv.org/abs/1408.2873), [Graves and Jaitly
# 2014](https://proceedings.mlr.press/v32/graves14.html)) therefore compares texts. After each
# frame, the search keeps the `width` most probable beginnings of the text, the **prefixes**, and
# sums the alignments of each prefix. It keeps two sums, because the next symbol can have two
# meanings. Take the prefix "a" and another a: after an alignment that ends in the blank, the text
# becomes "aa", but after one that ends in an a, the two merge and it stays "a".


# %% CTC in one cell tags=["concept", "slide"]
from collections import defaultdict
from heapq import nlargest

import torch
from numpy import logaddexp

NEVER = -1e30  # log of a probability of 0, finite so that gradients are not NaN


def ctc_loss(log_probs, labels, blank=0, total=torch.logsumexp):
    """-log p(labels) by the forward algorithm; log_probs (T, V): log-softmax of the logits."""
    z = torch.tensor([blank] + [k for label in labels for k in (label, blank)])  # (S,), S = 2U + 1
    skip = (z != blank) & (z != z.roll(2))  # (S,) may a path jump over the blank before state s?
    never = log_probs.new_full((2,), NEVER)  # two states that no path reaches
    alpha = log_probs.new_full((len(z),), NEVER)  # (S,) before frame 1
    alpha[0] = 0.0
    for frame in log_probs:  # (V,)
        padded = torch.cat([never, alpha])  # (S + 2,): state s is at s + 2
        ways = torch.stack([alpha, padded[1:-1], padded[:-2].where(skip, NEVER)])  # (3, S)
        alpha = total(ways, 0) + frame[z]  # (3, S) -> (S,)
    return -total(alpha[-2:], 0)  # end in the last label or in the blank after it


def alignment(log_probs, labels, total=torch.logsumexp):
    """p(symbol in frame t | labels), (T, V); with total=torch.amax the best path (Viterbi)."""
    log_probs = log_probs.detach().requires_grad_()
    return -torch.autograd.grad(ctc_loss(log_probs, labels, total=total), log_probs)[0]


def collapse(path, blank=0):
    """The text of an alignment: merge repeats, then remove blanks."""
    return [k for k, before in zip(path, [None, *path], strict=False) if k not in (before, blank)]


def greedy(log_probs):
    return collapse(log_probs.argmax(-1).tolist())  # (T, V) -> (T,) -> at most T labels


def prefix_beam_search(log_probs, width=16, blank=0):
    """[(log p(text), text)], best first; sums the alignments of each text, as the loss does."""
    beam = {(): [0.0, NEVER]}  # prefix: log p of its alignments that end in a blank, in a label
    for frame in log_probs.tolist():
        grown = defaultdict(lambda: [NEVER, NEVER])
        for prefix, (after_blank, after_label) in beam.items():
            both = logaddexp(after_blank, after_label)
            for k, p in enumerate(frame):
                longer = (*prefix, k)
                steps = [(longer, 1, both)]
                if k == blank:
                    steps = [(prefix, 0, both)]
                elif prefix and k == prefix[-1]:  # a repeat merges, except after a blank
                    steps = [(prefix, 1, after_label), (longer, 1, after_blank)]
                for text, end, log_p in steps:
                    grown[text][end] = logaddexp(grown[text][end], log_p + p)
        beam = dict(nlargest(width, grown.items(), key=lambda each: logaddexp(*each[1])))
    return [(logaddexp(*ends), [*text]) for text, ends in beam.items()]

# %% [markdown]
# For the worked example, where symbols 1 and 2 are a and t, the code computes the numbers from
# above. The "beam" lines show the most probable text and one of the two texts that tie for second
# place ("t" and "a", 10 of 64 each). Summed per symbol, the posterior of frame 2 is 18/42 for `-`
# and 12/42 each for a and t, which we will call the soft alignment. The **forced alignment**
# is the most probable alignment of the given text.

# %% The worked example tags=["nbval-check-output"]
AT = {"-": [1, 2, 1], "a": [3, 1, 0], "t": [0, 1, 3]}
log_probs = (torch.tensor([*AT.values()]).double().T / 4).log().clamp(min=NEVER)  # (T, V) = (3, 3)
p = float((-ctc_loss(log_probs, [1, 2])).exp())
print("p(at) =", round(64 * p), "of 64; greedy:", greedy(log_probs))
for log_p, text in prefix_beam_search(log_probs)[:2]:
    print("beam:", "".join("-at"[k] for k in text), round(64 * float(torch.tensor(log_p).exp())))
soft = alignment(log_probs, [1, 2])
print("soft alignment, frame 2, times 42:", (42 * soft[1]).round().int().tolist(), "of - a t")
best = alignment(log_probs, [1, 2], total=torch.amax).argmax(-1)
print("forced alignment:", *("-at"[k] for k in best))

# %% [markdown]
# `deepdive`, the small library that accompanies this book, provides the same functions for batches,
# and torch provides the loss. The next cell asserts that all of them agree on random logits:

# %% Our functions equal deepdive's and torch's tags=["equals-library", "nbval-check-output"]
import torch.nn.functional as F

from deepdive.decoding import ctc as decoding
from deepdive.training import objectives

torch.manual_seed(0)
logits, text = torch.randn(12, 5, requires_grad=True), [3, 1, 1, 4]
T, U, target = torch.tensor([12]), torch.tensor([4]), torch.tensor([text])
log_probs = logits.log_softmax(-1)
losses = [ctc_loss(log_probs, text), objectives.ctc_loss(logits[None], T, target, U)[0],
          F.ctc_loss(log_probs[:, None], target, T, U, reduction="sum")]  # fmt: skip
ours, *others = [torch.autograd.grad(loss, logits, retain_graph=True)[0] for loss in losses]
for loss, gradient in zip(losses[1:], others, strict=True):
    assert torch.allclose(losses[0], loss, atol=1e-5)
    assert torch.allclose(ours, gradient, atol=1e-5)
log_probs = log_probs.detach()
assert torch.allclose(ours, log_probs.exp() - alignment(log_probs, text), atol=1e-5)
(found,) = objectives.align(log_probs[None], T, target, U)
assert alignment(log_probs, text, total=torch.amax).argmax(-1).tolist() == found.path
assert greedy(log_probs) == decoding.greedy(log_probs[None], T)[0]
beam = decoding.prefix_beam(log_probs, beams=16, min_prob=0.0)  # like ours: no symbol is pruned
assert [each[1] for each in prefix_beam_search(log_probs)] == [each.symbols for each in beam]
print("the same loss, gradient, forced alignment, and decodings")

# %% [markdown]
# ### The gradient: a soft alignment
#
# What does training change in each frame? The gradient of the loss with respect to a **logit**
# $u_t(k)$, the output before the softmax, is **the softmax output minus the posterior**:
#
# $$\frac{\partial L}{\partial u_t(k)} = p_t(k) - \sum_{s:\,z_s = k} \gamma_t(s)$$
#
# Summed over the states of symbol $k$, the posterior is a **soft alignment**: the probability of
# symbol $k$ in frame $t$, given the transcript. Cross-entropy with the soft alignment as its target
# has the same gradient, if you treat the target as a constant, although it depends on the model's
# output.
#
# The function `alignment` needs no backward recursion, because the derivative of $\log p$ with
# respect to the log-probabilities *is* the posterior, and autograd computes this derivative. If a
# maximum replaces logsumexp and no two paths tie, the same derivative is 1 on the best path and 0
# elsewhere, which is the forced alignment. For "cat" in frame 3 of the lattice, the gradient is:

# %% Softmax minus posterior tags=["nbval-check-output"]
log_probs = (torch.tensor([*CAT.values()]).double().T / 5).log().clamp(min=NEVER)  # (5, 4)
soft = alignment(log_probs, [1, 2, 3])[2]
for k, symbol in enumerate(CAT):
    p = float(log_probs[2, k].exp())
    q = abs(float(soft[k]))  # no "-0.00"
    print(f"{symbol}  softmax {p:.2f}  posterior {q:.2f}  gradient {p - q:+.2f}")

# %% [markdown]
# The gradient is positive for the blank and negative for the a, so a gradient step lowers the logit
# of the blank in this frame and raises the logit of the a.
#
# ## Experiments
#
# We now train a small recognizer to see when it begins to output characters, and in which frames.
# Our data is the corpus **AN4**, in which people spell names and say numbers, dates, and commands.
# We use utterances of up to 2.5 seconds and evaluate on **held-out speakers**, whose voices aren't
# in the training data. The input consists of one frame of 13 [cepstral
# coefficients](01_waveform.ipynb#from-bands-to-cepstra) per hundredth of a second.
#
# The recognizer first reduces the number of frames by a factor of 4 with strided convolutions
# (**subsampling**), so one **output frame** covers 0.04 seconds. A bidirectional GRU and a linear
# layer then compute the logits of 28 symbols: the blank, the space, and A to Z. All runs use Adam,
# batches of 16 utterances, and a **learning rate** of 0.002 unless stated otherwise (`train_model`
# in `deepdive_book.ch06c.runs.ctc`). The baseline and the setting with batch normalization train
# for 500 steps and the other settings for 250. Each setting runs with three seeds, which set the
# initial weights and the data order.
#
# The **word error rate (WER)** and the **character error rate (CER)** count the words or characters
# to insert, delete, or replace in the output, relative to the length of the transcript. An empty
# output has a WER of 100%, because every word is missing.


# %% The recognizer
from torch import nn

from deepdive_book.ch06c.runs import ctc


class Recognizer(nn.Module):
    """Strided convolutions, a bidirectional GRU, and logits: (B, T, 13) -> (B, T', 28)."""

    def __init__(self, strided=2, norm=False, width=128):
        super().__init__()
        sizes = [13] + [width] * strided
        self.halve = nn.ModuleList(nn.Conv1d(a, width, 5, 2, 2) for a in sizes[:-1])
        made = nn.BatchNorm1d if norm else nn.Identity
        self.norms = nn.ModuleList(made(width) for _ in self.halve)
        self.gru = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, len(ctc.LETTERS))

    def forward(self, frames, lengths):
        x = frames.transpose(1, 2)  # (B, 13, T)
        for convolution, norm in zip(self.halve, self.norms, strict=True):
            x, lengths = norm(convolution(x)).relu(), (lengths + 1) // 2  # T -> T / 2
        packed = nn.utils.rnn.pack_padded_sequence(x.transpose(1, 2), lengths, True, False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], True)  # (B, T', 2 width)
        return self.out(states), lengths


# %% Saved training runs
found = ctc.run_experiment(Recognizer)
runs = {name: [row for row in found.rows if row["setting"] == name] for name in ctc.SETTINGS}
train, test = ctc.load_utterances()
print(len(train), "training utterances,", len(test), "from held-out speakers")

# %% [markdown]
# ### 1. Why is the output empty for hundreds of steps?
#
# We begin with the recognizer as it is, the **baseline**, and the table shows how its loss, its
# errors, and its output for one example change during training with seed 1. To compute the loss per
# character, we divide each utterance's loss by the length of its transcript and average over the
# utterances. An output counts as empty if it contains no characters except spaces.

# %% Outputs of the baseline
ctc.output_table(runs["baseline"])

# %% Training curves of the baseline tags=["slide"]
from deepdive_book.ch06c.figures.ctc_training import output_probabilities, training_curves, widths

training_curves({"baseline": runs["baseline"]}, "The loss falls within 25 steps to about 3.4, then "
                "slowly to about 3.1 at step 150, and faster after about 200 steps. WER and CER "
                "stay near 100% until then.")  # fmt: skip

# %% [markdown]
# *Baseline on held-out speakers, one line per seed. Top: loss. Bottom: WER (solid) and CER
# (dotted).*
#
# The loss drops within 25 steps and then barely changes for a while, on a **plateau** where almost
# every output is empty. Seed 1, shown in the table, leaves the plateau last: most of its outputs
# contain their first characters only between steps 300 and 400. The WER falls more slowly than the
# CER, because one wrong character makes the whole word wrong.
#
# Has the model learned anything on the plateau? To find out, we compare it with the best output
# that is the same in every frame and therefore ignores the audio. We fit its 28 probabilities to
# 100 training utterances and call it the *best constant output*. An untrained model is close to the
# *uniform output*, where all symbols are equally probable. For the uniform output, the table also
# shows the soft alignment, averaged over all frames. It is the target of the first training step,
# so it shows in which direction training starts.

# %% The best output that ignores the audio
ctc.constant_table(runs["baseline"])

# %% [markdown]
# - **The first step.** If all symbols are equally probable, the posterior of the blank is ten times
#   its softmax output (first row). A text has far fewer characters than frames, so most of its
#   alignments contain the blank many times, whereas each character occurs only in some texts. As a
#   result, the model first learns to predict the blank, and most of the loss disappears.
# - **The plateau.** The best constant output assigns the blank a probability of 75%. Between steps
#   50 and 150, the baseline's loss is only about 0.1 (3%) below the loss of this constant output,
#   so the model has used little of the audio.
# - **The first characters.** Greedy decoding emits a character only where that character beats the
#   blank. In the best constant output, the blank is far more probable than E (first and third rows
#   of the table), so in some frame the audio has to favor E by an even larger factor. What the
#   model learns before then lowers the loss but doesn't change the output.
#
# ### 2. What ends the plateau?
#
# Is the high probability of the blank the cause of the plateau, or only a symptom? To test this, we
# try five changes, one at a time:
#
# - **Negative blank bias:** the blank's logit has a bias of −3 at initialization.
# - **Learning rate 0.005** instead of 0.002.
# - **Short utterances first:** epoch one goes from the shortest utterances to the longest.
# - **Subsampling by 8** instead of 4, which adds a convolution with 82,048 parameters and leaves 30
#   of the 434 training texts with too few frames, so training skips these texts.
# - **Batch normalization** after each convolution: every channel is standardized over the batch,
#   followed by a learned scale and shift.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "At initialization every symbol except the blank is twenty times as probable as the blank "
    "(bias −3 on its logit). After 200 steps, what do the outputs on held-out speakers look like?",
    ["few are empty, and about one word in three is correct",
     "few are empty, and almost no word is correct",
     "most are empty, and almost no word is correct"],
    answer=1,
    explain="The bias removes most empty outputs, but not the errors. After about 100 steps, the "
    "blank is again the argmax of most frames. After 200 steps almost every word is still wrong, "
    "and the output for the example consists of E, N, and spaces.",
    key="06c_speech/blank-held-down",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown]
# The first two lines of output answer the question, with one value per seed. The table then
# compares all five changes with the baseline. In its last column, a confidence interval (Student's
# t) for the mean difference follows in brackets, which accounts for the seeds but not for the
# choice of speakers. Bonferroni's method widens the five intervals so that they are jointly valid
# at 95% confidence. With three seeds, such intervals are rough, and their ends can lie beyond what
# is possible.

# %% The negative blank bias after 200 steps tags=["surprise"]
biased = runs["negative blank bias"]
print("WER (%):", *(f"{100 * value:.0f}" for value in ctc.metric_at(biased, 200, "wer")))
print("output for the example:", *(f"“{text}”" for text in ctc.example_outputs(biased, 200)))

# %% Six settings compared tags=["surprise"]
ctc.settings_table(runs, Recognizer)

# %% [markdown]
# **Batch normalization is the only change whose corrected interval excludes zero.** After 250
# steps, its CER is 64 points lower than the baseline's (last row; differences are computed before
# rounding). Suppressing the blank at the start removes the empty outputs but not the errors, so
# suppression alone doesn't end the plateau. For the other four changes, the differences in CER are
# inconclusive with three seeds. We tried a second learning rate only for the baseline, so the table
# doesn't rank tuned methods.
#
# Why might batch normalization help, although it adds only 512 parameters? Perhaps the logits of an
# untrained network barely depend on the audio, so we measure how much these logits vary from frame
# to frame:

# %% Logits before training tags=["surprise"]
print("standard deviation of a logit over frames, before training:")
for setting, deviation in ctc.logit_deviations(Recognizer).items():
    print(f"  {setting}: {deviation}")

# %% Training curves with batch normalization tags=["surprise"]
training_curves({name: runs[name] for name in ("baseline", "batch normalization")},
                "The baseline's curves as above; with batch normalization loss and error rates "
                "fall from about step 50 to 100 on.")  # fmt: skip

# %% [markdown]
# *Baseline and batch normalization, one line per seed; all else is equal.*
#
# With batch normalization, the logits vary about five times as much. This fits the idea that they
# depend more on the audio but doesn't show that they do, because normalization also changes other
# things. The curves show something else as well: every baseline run leaves the plateau on its own
# if it is trained longer.

# %% [markdown]
# ### 3. Where does the trained model emit characters, and what does beam search add?
#
# The loss accepts every alignment of the transcript, so it doesn't determine the frames in which
# the model emits characters.

# %% tags=["fold"]
predict(
    "With batch normalization, the CER is about 23% after 500 steps. The transcripts of the "
    "held-out speakers together have 32 characters and spaces per 100 output frames. In what "
    "percentage of all output frames is the blank the argmax?",
    ["about 25%", "about 50%",
     "about 70%"],
    answer=1,
    explain="If each character and space won exactly one frame, the blank would win two thirds of "
    "them. But many characters win several frames, which the loss allows as well.",
    key="06c_speech/share-of-blanks",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown]
# The two percentages are means over three seeds. The remaining lines show the output for one
# example with one seed, and how many consecutive output frames each of its characters
# takes.

# %% Blank frames and spike widths tags=["surprise"]
best, last = runs["batch normalization"], max(r["steps"] for r in runs["batch normalization"])
for step in (25, last):
    percent = [100 * value for value in ctc.metric_at(best, step, "blank")]
    print(f"argmax = blank, step {step}: {sum(percent) / len(percent):.0f}% of all output frames")
print("output:", best[0]["checks"][-1][-1])
print(", ".join(f"{symbol} {frames}" for symbol, frames in widths(best[0], last)))

# %% One held-out utterance during training tags=["surprise", "slide"]
output_probabilities(best[0], (0, 25, 75, 200, last), "The probability of the blank and of the "
                     "characters in each frame of one utterance, after more and more steps: first "
                     "all nearly equal, then mostly the blank, then spikes.")  # fmt: skip

# %% [markdown]
# *Output probabilities for one held-out utterance, one seed. Gray: the blank. Blue: characters.
# Dotted: the space. The transcript is "X G I C TWO", the output "XT O I STI TWO". Only symbols of
# the transcript are drawn, so the S of the output is missing.*
#
# At first all symbols are nearly equally probable, but at step 25 the blank dominates, and its
# probability dips in some of the frames. In the end the characters are **spikes**. In this
# utterance, letters last one to three output frames, and spaces two to five. Over all utterances,
# the blank is the most probable symbol in half of the output frames. Because the loss doesn't
# determine where a spike appears, spikes don't show where a sound begins or ends.

# %% [markdown]
# #### Greedy decoding, prefix beam search, and a language model
#
# So far, all outputs of the recognizer came from greedy decoding. In the lattice above, greedy
# decoding misses "cat", because the blank is the argmax of every frame, whereas prefix beam search
# finds it:

# %% Beam search finds the cat of the lattice tags=["nbval-check-output"]
log_probs = (torch.tensor([*CAT.values()]).double().T / 5).log().clamp(min=NEVER)
print("greedy:", greedy(log_probs))
log_p, text = prefix_beam_search(log_probs, width=100)[0]
print("beam:", "".join("-cat"[k] for k in text), round(3125 * float(torch.tensor(log_p).exp())))

# %% [markdown]
# Does prefix beam search also help the recognizer? The search can be combined with a **language
# model**, which predicts the probability of a word after the words before it, so a text of $n$
# words then has the score $\log p_\text{CTC} + a \log p_\text{LM} + b\,n$. The weight $a$ sets the
# influence of the language model, and the bonus $b$ makes up for the fact that every further word
# lowers $p_\text{LM}$. Our language model is a **trigram model** of the training transcripts, which
# predicts each word from the two before it. We set $a$ to 0.5 and $b$ to 1 in advance. The table
# shows the results for the models with batch normalization, and the next cell prints the
# differences, computed before rounding, with intervals corrected for two comparisons.

# %% Three decodings
ctc.decoding_table(best)

# %% What beam search and the language model change
for before, after in (("greedy", "prefix beam search"),
                      ("prefix beam search", "prefix beam search + language model")):  # fmt: skip
    if gain := ctc.decoding_gain(best, before, after):
        print(f"WER, {after} minus {before}:")
        print(f"  {gain.value:.0f} points [{gain.low:.0f}, {gain.high:.0f}]")

# %% [markdown]
# On AN4, we find no clear difference between greedy decoding and prefix beam search without a
# language model, whereas the language model lowers the WER by 17 points on average. However, with
# three seeds and a correction for two comparisons, the interval for this reduction still includes
# zero.
#
# ## With the real library: transformers
#
# `Wav2Vec2ForCTC` consists of a convolutional feature encoder, a Transformer, and a linear layer
# for CTC, and its `loss` is torch's. To avoid a download, our model is small and randomly
# initialized. The next cell asserts that its loss equals ours on the same logits:

# %% Wav2Vec2ForCTC and our loss
from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

torch.manual_seed(0)
config = Wav2Vec2Config(vocab_size=28, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=64, conv_dim=(32,) * 7, num_conv_pos_embeddings=16,
                        num_conv_pos_embedding_groups=2)  # fmt: skip
model = Wav2Vec2ForCTC(config).eval()  # pad_token_id 0 is the blank; the loss is a sum
text = [ctc.LETTERS.index(character) for character in "CAT"]
with torch.no_grad():
    output = model(torch.randn(1, 16000), labels=torch.tensor([text]))  # one second of audio
ours = ctc_loss(output.logits[0].log_softmax(-1), text)
assert torch.allclose(output.loss, ours, rtol=1e-4)
print(f"{output.logits.shape[1]} frames; transformers {output.loss:.2f}, ours {ours:.2f}")

# %% [markdown]
# With [pretrained weights](https://huggingface.co/facebook/wav2vec2-base-960h) (95 million
# parameters, so the output isn't shown here), the code is:
#
# ```python
# import torch
# from transformers import AutoProcessor, Wav2Vec2ForCTC
#
# name = "facebook/wav2vec2-base-960h"
# processor, model = AutoProcessor.from_pretrained(name), Wav2Vec2ForCTC.from_pretrained(name)
# inputs = processor(waveform, sampling_rate=16_000, return_tensors="pt")  # a 1-d array
# with torch.no_grad():
#     logits = model(**inputs).logits                                      # (1, T, 32)
# print(processor.batch_decode(logits.argmax(-1))[0])                      # greedy decoding
# ```
#
# For forced alignment, torchaudio provides `forced_align`.
#
# ## How it differs: RNN-T, attention, Whisper
#
# In the table, **streaming** means transcribing before the audio ends, and a **causal** encoder
# uses no later frames.
#
# | | CTC | RNN-T (transducer) | attention encoder-decoder |
# |---|---|---|---|
# | an output depends on | audio | audio, earlier outputs | audio, earlier outputs |
# | alignment | monotonic, one symbol per frame | monotonic, several per frame | any order |
# | output longer than the input | impossible | possible | possible |
# | streaming | with a causal encoder | with a causal encoder | needs changes |
# | example | wav2vec 2.0, OCR | on-device recognition | Whisper |
#
# **When not CTC.** Suppose that "AAA" and "triple A" are both plausible transcripts of a sound.
# Because frames output their symbols independently (conditional independence), CTC can't make later
# frames follow the choice of earlier ones, so it can mix the two, and the encoder or a language
# model has to prevent this. The **RNN transducer (RNN-T)** ([Graves
# 2012](https://arxiv.org/abs/1211.3711)) keeps the monotonic alignment, so it can stream, and adds
# a network over the previous outputs, which does a part of a language model's work.
#
# An **attention encoder-decoder** ([Chan et al. 2016](https://arxiv.org/abs/1508.01211)) drops
# monotonicity, so it can also translate, as [Whisper](https://arxiv.org/abs/2212.04356) does, but
# it can skip or repeat text. Choose CTC for fast, parallel decoding, for forced alignment of a
# known text, and as an auxiliary loss in a [hybrid model](https://arxiv.org/abs/1609.06773).
#
# ## Common mistake: fewer frames than the text needs
#
# If **subsampling** is too strong, some utterances have fewer output frames than their text needs,
# so no path spells the text. **Symptom:** torch's loss is infinite for such an utterance, and a
# single such loss makes the weights NaN. The option `zero_infinity=True` hides the problem, but the
# model learns nothing from these utterances. **Fix:** count the frames each text needs
# (`frames_needed` in `deepdive`), then subsample less, or leave these utterances out and report how
# many:

# %% Texts without a path
ctc.frames_table()

# %% [markdown]
# `deepdive` raises an error for such a text:

# %% An error instead of an infinite loss tags=["nbval-check-output"]
import textwrap

too_short = torch.zeros(1, 3, 4), torch.tensor([3]), torch.tensor([[1, 2, 2]]), torch.tensor([3])
try:
    objectives.ctc_loss(*too_short)  # t o o, in three frames
except ValueError as error:
    print(*textwrap.wrap(str(error), 60), sep="\n")

# %% [markdown]
# ## In practice
#
# - **Watch the loss and the CER rather than the WER.** While the loss is near the value for the
#   best constant output, the model has learned little about the audio, but it isn't necessarily
#   broken. If the loss stays there, check the input features first (general advice that we didn't
#   test).
# - **Check the inputs of `F.ctc_loss`.** The function takes **log-probabilities** with time first,
#   (T, B, V), and by default it divides each loss by the length of the target and averages over the
#   batch.
# - **Don't use spikes as timestamps.** A forced alignment of the known text gives the order and a
#   rough place, but it is the best path through the same spiky outputs, so check its boundaries on
#   a few examples.
#
# ## Summary
#
# Which frame belongs to which character? CTC leaves this question open and sums over all
# alignments, and the gradient of its loss is the softmax output minus the soft alignment. As long
# as a model ignores the audio, the best it can do is to predict mostly the blank, so after 200
# steps our baseline's output is still empty for 85% to 100% of the utterances. With batch
# normalization, the CER after 250 steps is 64 points lower (corrected interval: 27 to 100 points).
# The trained model outputs the blank in half of all output frames, and in our example each
# letter lasts one to three frames.
#
# We didn't reproduce the experiments of Graves et al. (2006) on the TIMIT corpus, and no setting
# was tuned or run with more than three seeds.
#
# ## Check your understanding
#
# 1. What is the blank for?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    It fills frames that add no character, both in pauses and within words, and it separates two
#    equal characters.
#
#    </details>
# 2. Why does the loss sum over alignments instead of taking the best one?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Every alignment that collapses to the text is correct, and the alignments exclude each other,
#    so their probabilities add up.
#
#    </details>
# 3. What is the gradient of the loss with respect to a frame's logit?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The softmax output minus the posterior of that symbol in that frame, which is $\alpha\beta/p$,
#    summed over the symbol's states.
#
#    </details>
# 4. Why is the blank the first symbol a model learns?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    At first the blank has by far the largest posterior on average, because texts have far fewer
#    characters than frames, and each character occurs only in some texts. Predicting the blank
#    therefore lowers the loss even without the audio.
#
#    </details>
# 5. Why can the loss fall while the WER stays at 100%?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Greedy decoding emits a character only where the character beats the blank, so up to that point
#    its probability can rise without changing the output.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* Compute the smallest number of frames for "too" and for "bookkeeper", and
#    the number of alignments in each case.
#
#    <details><summary>Answer</summary>
#
#    "too" needs four frames and then has one alignment: t o - o. "bookkeeper" has ten characters
#    and three immediate repeats, so it needs 13 frames and has one alignment.
#
#    </details>
# 2. *(on paper, 5 min)* In the example by hand, give frame 2 the counts - 0, a 2, t 2. Compute the
#    columns of α and the count of "at".
#
#    <details><summary>Answer</summary>
#
#    Columns: (1, 3, 0, 0, 0); (0, 8, 0, 6, 0); (0, 0, 8, 42, 6): 48 of 64.
#
#    </details>
# 3. *(predict, then count, 5 min)* In each of five frames, all symbols are equally probable. How
#    many alignments does the text "cat" have, and in how many of their 140 frames is the symbol the
#    blank?
#
#    <details><summary>Answer</summary>
#
#    In the 28 alignments, the blank takes 32 of 140 frames, which is fewer than any character takes
#    (36). If a text has far fewer characters than frames, the blank takes the most.
#
#    </details>
# 4. *(in code, 10 min)* Change `collapse` so that it removes the blank before it merges repeats.
#    Predict and check what it returns for `- h e l - l o o`.
#
#    <details><summary>Answer</summary>
#
#    "helo": without the blank between them, the two l's merge, so no alignment spells "hello".
#
#    </details>

# %% Exercise answers, checked tags=["nbval-check-output"]
from deepdive_book.ch06c.figures.ctc_lattice import sums

for word in ([1, 2, 2], [1, 2, 2, 3, 3, 4, 4, 5, 4, 6]):
    print("frames:", int(objectives.frames_needed(torch.tensor([word]), torch.tensor([len(word)]))))
print("too, four frames:", sums("too", {z: [1] * 4 for z in "-to"}).word)
print("at:", sums("at", {"-": [1, 0, 1], "a": [3, 2, 0], "t": [0, 2, 3]}).word)
equal = sums("cat", {z: [1] * 5 for z in "-cat"})
print("cat:", equal.word, "blank, c:", sum(map(sum, equal.through[::2])), sum(equal.through[1]))
no_blanks = [symbol for symbol in "-hel-loo" if symbol != "-"]  # then collapse only merges
print("".join(collapse(no_blanks, blank="-")))

# %% Numbers of the figure, checked tags=["nbval-check-output"]
import itertools
from math import prod

found, less = sums("cat", CAT), sums("cat", CAT | {"c": [0, 1, 0, 0, 0]})
assert (found.word, found.whole, less.word, less.whole) == (470, 3125, 96, 1875)
paths = [path for path in itertools.product(range(4), repeat=5) if collapse(path) == [1, 2, 3]]
parts = [prod(CAT["-cat"[k]][t] for t, k in enumerate(path)) for path in paths]
print(len(paths), "alignments of cat; all together:", sum(parts), "best:", max(parts))

# %% [markdown]
# ## Further reading
#
# - Graves, Fernández, Gomez, Schmidhuber (2006), [*Connectionist Temporal
#   Classification*](https://doi.org/10.1145/1143844.1143891): sections 3 and 4 for alignments,
#   forward-backward recursion, and gradient.
# - Hannun (2017), [*Sequence Modeling with CTC*](https://distill.pub/2017/ctc/), Distill: the same
#   idea in interactive drawings, with beam search.
# - Zeyer, Schlüter, Ney (2021), *Why Does CTC Result in Peaky Behavior?*: analysis of the spikes.
