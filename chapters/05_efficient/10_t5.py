# %% [markdown] tags=["slide"]
# # T5: every task as text
#
# In a bank, one clerk writes amounts on English cheques and another on French ones. A slip with
# `347` goes in; `three hundred and forty-seven` comes out, or `trois cent quarante-sept`. Can one
# clerk do both jobs as well as the two, if a word on the slip says which job it is?
#
# <small>Prerequisites: [the decoder](../02_transformer/12_decoder.ipynb),
# [positions for long texts](08_relative_positions.ipynb) · 18 min · runs on a laptop · book
# 5.3.2</small>

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
# T5 (Raffel et al. 2020) is such a clerk: an encoder that reads a text and a decoder that writes
# one. There is no head for classes, and none for scores. The task is written on the slip:
#
# | what goes in | what comes out |
# |---|---|
# | `translate English to German: That is good.` | `Das ist gut.` |
# | `cola sentence: The course is jumping well.` | `not acceptable` |
# | `stsb sentence1: The rhino grazed. sentence2: A rhino is grazing.` | `3.8` |
#
# Even a score, 3.8 of 5, is a text of three characters. So one loss trains everything: the
# cross-entropy of the next token. (The rows are examples of the paper's figure 1, cut.)
#
# Three more things are new: how T5 tells places apart, what it reads before it has any task, and
# how its weights are moved.

# %% [markdown] tags=["slide"]
# ## Places: a number for each distance
#
# T5 adds nothing to its words for their places. Each head has a short table, and adds one of its
# numbers to each score, by how far the key is from the query. Near keys are told apart one by one;
# far ones share a number. Move the query and the key:

# %% Draw the buckets tags=["slide", "fold"]
from deepdive.positions import CausalT5Bias, T5Bias
from deepdive_book.ch05.figures.relative_position_buckets import relative_position_buckets

tables = {"encoder: both sides": T5Bias(1), "decoder: behind only": CausalT5Bias(1)}
relative_position_buckets(tables, length=200, at=150)

# %% [markdown]
# *A text of 200 tokens. Cells beside each other with the same shade are one bucket: their distance
# has one number in the table. The dot is the query, the triangle the key that is asked for.*
#
# ### By hand
#
# Take a decoder with 8 buckets, for distances up to 16. The first half of the buckets hold one
# distance each: 0, 1, 2, 3. The other four share what is left from 4 to 16. That is two doublings,
# so each doubling gets two buckets, and each bucket reaches $\sqrt 2$ times as far as the last one:
# from 4, from 5.7, from 8, from 11.3. The last one also holds everything beyond.
#
# | distance | 0 | 1 | 2 | 3 | 4, 5 | 6, 7 | 8 to 11 | 12 and more |
# |---|---|---|---|---|---|---|---|---|
# | bucket | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |

# %% tags=["nbval-check-output"]
import torch

distances = torch.tensor([0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 16, 500])
found = CausalT5Bias(1, n_buckets=8, max_distance=16).buckets(-distances)
assert found.tolist() == [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7, 7]
found

# %% [markdown]
# No text is too long for this: what is far is in the last bucket, and has a number. There is one
# table for all layers of the encoder, and one for the decoder's. With 32 buckets and 8 heads each
# has 256 numbers. T5 does not divide its scores by $\sqrt d$ either: its queries are drawn that
# much smaller instead.

# %% [markdown] tags=["slide"]
# ## Reading before any task: hidden spans
#
# Before T5 learns a task it reads, and fills gaps. A whole **span** of words gives way to one mark,
# and only what was hidden is written out, mark by mark. Press words to hide them, or to show them
# again:

# %% Draw the notes tags=["slide", "fold"]
from deepdive_book.ch05.figures.span_corruption_demo import span_corruption_demo

span_corruption_demo(
    [
        "thank you for inviting me to your party last week",
        "pay the bearer three hundred and forty seven pounds on demand",
    ],
    hidden=(2, 3, 8),
)

# %% [markdown]
# *Neighbouring hidden words are one span, with one mark. The last mark says that there are no more
# gaps.* (The first text, with `for inviting` and `last` hidden, is figure 2 of the paper.)
#
# The two slips hold all of the text, and the second is short. Let 15% of 512 tokens be hidden, in
# spans of 3 on average: 77 tokens in 26 spans. What is read has $512 - 77 + 26 = 461$ tokens, and
# what is written has $77 + 26 + 1 = 104$.

# %% tags=["nbval-check-output"]
from deepdive.training.objectives import (
    corrupt_spans,
    cross_entropy,
    hidden_counts,
    mask_spans,
    restore_spans,
)

hidden = mask_spans((1, 512), generator=torch.Generator().manual_seed(0))
whole = torch.arange(1000, 1512)[None]
read, written = corrupt_spans(whole, hidden, sentinel=32_099)
assert hidden_counts(512) == (77, 26)
assert restore_spans(read[0].tolist(), written[0].tolist(), 32_099) == whole[0].tolist()
print("read:", read.shape[1], "tokens, written:", written.shape[1])

# %% [markdown]
# The sentinel tokens are the last tokens of the tokenizer, falling from 32,099 (the published
# models' embedding is padded with rows beyond them), and called `<extra_id_0>`, `<extra_id_1>` and
# so on. The paper tried spans of several lengths; they did about as well as each other, and
# shorter outputs cost less (its section 3.3.4).

# %% [markdown] tags=["slide"]
# ## Moving the weights: a step as large as the weight
#
# T5's authors moved its weights with Adafactor, at a rate that begins at 0.01. With Adam in its
# place, Nawrot (2023) reports, training diverges, and one factor mends it. One step of Adam moves
# every weight by about the rate, whatever its size:
#
# | | size of a weight | a step at rate 0.01 | share of the weight |
# |---|---|---|---|
# | table of words | 1 | 0.01 | 1% |
# | queries, $d = 512$, heads of 64 | 0.0055 | 0.01 | 181% |
#
# T5's sizes differ that much because it draws a table with deviation 1, and queries with
# $1 / \sqrt{512 \cdot 64}$. Adafactor multiplies the rate by the root mean square of what it moves,
# so a step is the same *share* of each tensor. The same factor can be put into Adam:

# %% Check the sizes tags=["nbval-check-output", "fold"]
size = (512 * 64) ** -0.5
assert round(size, 4) == 0.0055
print(f"queries: {size:.4f}, a step of 0.01 is {0.01 / size:.0%} of it")


# %%
def scaled_step(p, direction, rate):
    """One step of Adam with the factor; `direction` is Adam's, about 1 for each weight."""
    size = p.square().mean().sqrt().clamp(min=1e-3)
    return p - rate * size * direction


# %% [markdown]
# Does it matter for a small model? We train one of 2 + 2 layers, 64 wide, on hidden spans of
# Shakespeare's bytes: both optimizers, five rates each, three seeds, from the same start and on the
# same texts.

# %% The text, in bytes tags=["fold"]
from deepdive.data import fetch
from deepdive.tokenizers import BYT5_SPECIALS, ByteTokenizer
from deepdive_book.data.tree_grammar import tree_sentences
from deepdive_book.kit.profile import banner, pick, profile

real, letters = profile() != "ci", ByteTokenizer(BYT5_SPECIALS)
if real:
    text = fetch("tinyshakespeare", "input.txt").read_text("utf-8")
else:
    text = " ".join(" ".join(tree.words) + "." for tree in tree_sentences(600))
print(banner("tinyshakespeare (real)" if real else "sentences (generated)"))
ids, T, FIRST = torch.tensor(letters.encode(text)), 64, 258  # the last byte is the first mark
learn, test = ids[: -len(ids) // 10], ids[-len(ids) // 10 :]

# %% Texts with hidden spans tags=["fold"]
from deepdive.models.generative import t5
from deepdive.training.parameter_scaled_adam import ScaledAdam

SMALL = t5.V1_1.but(vocab_size=259, d_model=64, n_heads=4, d_head=16, n_layers=2,
                    n_decoder_layers=2, d_ff=128, dropout=0.0)  # fmt: skip


def batch(part, size, draws):
    """`size` texts of T bytes: what is read, and what is written."""
    first = torch.randint(len(part) - T, (size, 1), generator=draws)
    hidden = mask_spans((size, T), generator=draws)
    return corrupt_spans(part[first + torch.arange(T)], hidden, FIRST)


def loss_of(model, read, written):
    """The decoder reads what it has written so far, after padding, 0; padding is not asked for."""
    so_far = torch.nn.functional.pad(written[:, :-1], (1, 0))
    return cross_entropy(model(read, so_far, read != 0), written, pad=0)


# %% Train once tags=["fold"]
def trained(update, rate, batches, seed):
    """A small T5 after these batches; the rate rises for 20 steps, then stays."""
    torch.manual_seed(seed)
    model = t5.t5(SMALL)
    moves = update(model.parameters(), lr=rate, betas=(0.9, 0.999), eps=1e-6)
    for step, (read, written) in enumerate(batches):
        moves.param_groups[0]["lr"] = rate * min(1.0, (step + 1) / 20)
        moves.zero_grad()
        loss_of(model, read, written).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        moves.step()
    return model.eval()


# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Adam and scaled Adam, each with five rates from 0.001 to 0.1. What will the losses say?",
    [
        "scaled Adam is better at every rate",
        "each has its own best rate; plain Adam falls behind at the high ones",
        "no difference: the model is small",
    ],
    answer=1,
    explain="A rate means another thing in each: weights in one, shares of weights in the other.",
    key="05_efficient/scaled",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Measure, or read what was measured tags=["surprise", "fold"]
from deepdive_book.kit.experiments import results_path, share, sweep

whole, SEEDS = profile() == "experiment", pick(ci=(1,), laptop=(1, 2, 3), gpu=(1, 2, 3))
UPDATES = {"Adam": torch.optim.Adam, "scaled Adam": ScaledAdam}
STEPS, RATES = (60, (0.001, 0.003, 0.01, 0.03, 0.1)) if real else (3, (0.003, 0.1))


def optimised(optimizer, rate, seed, steps):
    """The loss on the test, in nats a byte."""
    draws = torch.Generator().manual_seed(seed)
    batches = [batch(learn, 8, draws) for _ in range(steps)]
    model = trained(UPDATES[optimizer], rate, batches, seed)
    with torch.no_grad():
        asked = batch(test, 256, torch.Generator().manual_seed(7))
        return {"loss": round(float(loss_of(model, *asked)), 4)}


file = results_path("05_efficient", "t5_optimisers") if real else None
points = [{"optimizer": name, "rate": rate, "seed": seed, "steps": round(STEPS * share())}
          for seed in SEEDS for rate in RATES for name in UPDATES]  # fmt: skip
found = sweep(optimised, points, file, data="tinyshakespeare", minutes=20)

# %% Show tags=["surprise", "fold"]
from statistics import mean

from deepdive_book.kit.tables import table

rows = []
for rate in RATES:
    row = {"rate": f"{rate:g}"}
    for name in UPDATES:
        each = [r["loss"] for r in found if (r["optimizer"], r["rate"]) == (name, rate)]
        row |= {name: mean(each), f"{name}: seeds": f"{min(each):.2f} to {max(each):.2f}"}
    rows.append(row)
table(rows, formats=dict.fromkeys(UPDATES, ".2f"), best=dict.fromkeys(UPDATES, min),
      caption=f"nats a byte on the test, after {STEPS} steps")  # fmt: skip

# %% What counting letters knows tags=["surprise", "fold"]
_, written = batch(test, 256, torch.Generator().manual_seed(7))
often = written.flatten().bincount().float() / written.numel()
counted = -(often[often > 0] * often[often > 0].log()).sum()
print(f"who only knows how often each byte is written: {counted:.2f} nats a byte")

# %% [markdown]
# *Each loss is the mean of three seeds; beside it the smallest and the largest. The best rate of
# each optimiser is bold.*
#
# Each column has a valley, and the valleys lie a factor of ten apart. Adam's mean is lowest at
# 0.003. At 0.03 and 0.1 it stays above 3, between what counting bytes knows and its own best.
# Scaled Adam at 0.001 and at 0.003 has not even learned how often each byte is written. At 0.03 it
# is below all that Adam reached at any of these rates, in each of the three seeds.
#
# Nothing diverged here; in Nawrot's far larger model Adam did. And at its own best rate Adam is
# close behind. (60 steps are a beginning. Whether the difference stays in a long training is not
# shown here.)

# %% [markdown] tags=["slide"]
# ## One clerk or two
#
# Now the cheques. A slip says `English: 347` or `French: 347`. 800 of the numbers below 1,000 are
# for learning, the others for the test. One model gets both jobs. Two others get one job each, with
# half as many steps: the two together do as much work as the one.

# %% tags=["fold"]
predict(
    "New numbers, right to the letter: which is right more often?",
    [
        "two clerks, each at its own job",
        "one clerk, at both jobs",
        "one clerk in English, two in French",
        "no side in all three seeds",
    ],
    answer=1,
    explain="In six of six comparisons, two jobs by three seeds. Numbers are read in the same way "
    "for both jobs, so that the one clerk may have had more practice in it; that was not tested.",
    key="05_efficient/clerks",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% The slips tags=["fold"]
from deepdive.data.generated import number_words
from deepdive.decoding import greedy

says = {job: dict(number_words(job[:2].lower(), 1000, high=999)) for job in ("English", "French")}
order = torch.randperm(1000, generator=torch.Generator().manual_seed(0)).tolist()
known, new = order[:800], order[800:]


def slips(pairs):
    """What is read and what is written for (job, number), padded."""
    read = [torch.tensor(letters.encode(f"{job}: {n}", eos=True)) for job, n in pairs]
    written = [torch.tensor(letters.encode(says[job][str(n)], eos=True)) for job, n in pairs]
    pad = torch.nn.utils.rnn.pad_sequence
    return pad(read, batch_first=True), pad(written, batch_first=True)


# %% Teach a clerk tags=["fold"]
def clerk(jobs, seed, steps):
    """A model that learned these jobs, by turns."""
    draws = torch.Generator().manual_seed(seed)
    drawn = [torch.randint(800, (32,), generator=draws).tolist() for _ in range(steps)]
    pairs = [[(jobs[i % len(jobs)], known[n]) for i, n in enumerate(some)] for some in drawn]
    return trained(ScaledAdam, 0.03, [slips(some) for some in pairs], seed)


def written_by(model, job, numbers):
    read, _ = slips([(job, n) for n in numbers])
    return [letters.decode(x) for x in greedy(model, read, read != 0, bos=0, eos=1, max_length=50)]


# %% Hire tags=["fold"]
LONG, TRIED = (160, new) if real else (4, new[:20])
HIRED = (1, 2, 3) if real else (1,)  # seeds


def hired(jobs, seed, steps):
    """Right answers for new numbers, right to the letter; and three of the answers."""
    model, result = clerk(jobs, seed, steps), {}
    for job in jobs:
        answers = written_by(model, job, TRIED)
        right = [a == says[job][str(n)] for a, n in zip(answers, TRIED, strict=True)]
        result |= {job: mean(right), f"{job} says": answers[:3]}
    return result


file = results_path("05_efficient", "t5_jobs") if real else None
points = [{"jobs": jobs, "seed": seed, "steps": round(LONG * share() * len(jobs) / 2)}
          for seed in HIRED for jobs in (list(says), *([job] for job in says))]  # fmt: skip
measured = sweep(hired, points, file, data="generated", minutes=20)

# %% Show tags=["fold"]
rows = []
for seed in HIRED:
    of = {tuple(r["jobs"]): r for r in measured if r["seed"] == seed}
    rows += [{"job": job, "seed": seed, "one clerk for both": of[tuple(says)][job],
              "a clerk for this job": of[(job,)][job]} for job in says]  # fmt: skip
table(rows, formats=dict.fromkeys(["one clerk for both", "a clerk for this job"], ".0%"),
      caption=f"right to the letter, of {len(TRIED)} new numbers")  # fmt: skip

# %% tags=["fold"]
gains = [100 * (row["one clerk for both"] - row["a clerk for this job"]) for row in rows]
print(f"one clerk against two, in points: {min(gains):+.1f} to {max(gains):+.1f}, "
      f"mean of {len(gains)}: {mean(gains):+.1f}")  # fmt: skip
first = measured[0]
answers = [[n, *(first[f"{job} says"][i] for job in says)] for i, n in enumerate(TRIED[:3])]
table(answers, ["slip", *says], caption="what the one clerk writes, seed 1")

# %% [markdown]
# None of these clerks should be hired yet: the training is short, and one wrong letter makes a
# cheque wrong. But in the answers shown the one clerk, asked for English, writes English, and asked
# for French, French: the word on the slip keeps two jobs apart in one set of weights.
#
# With the same work for the one as for the two together, the one model did each job better than
# the model that had that job alone, for both jobs and in all three seeds. This doesn't answer the
# opening question: all of them still fail on most numbers, and the single-task models had half as
# many optimizer steps. Two likely reasons were not tested: reading the digits is the same in both
# jobs, so the one clerk had twice the practice in it; and its weights were moved twice as often.
# What happens after a long training, or when two jobs share nothing, these runs do not say.

# %% [markdown] tags=["aside"]
# ## How it differs

# %%
from deepdive_book.site.atlas import compare

compare("t5")

# %% [markdown]
# *Grey is as it was, lit is new, dashed is gone.* Gone are all biases and the waves of the places.
# New are two tables of distances, which all layers of a side share. Version 1.1 of T5, and mT5, its
# form for many languages, have a gate in the feed-forward layer, and an output layer of their own.
# ByT5 has mT5's form, and reads bytes (`deepdive.models.generative.byt5`).

# %% [markdown] tags=["aside"]
# ## Common mistake
#
# To build T5 with attention as everybody has it, scores divided by $\sqrt d$. Nothing fails: the
# shapes fit, public weights load, and text comes out. It is only wrong:

# %%
torch.manual_seed(0)
model = t5.t5(t5.TINY).eval()
slip, cheque = torch.tensor([[5, 9, 7, 4]]), torch.tensor([[0, 8, 6]])
with torch.no_grad():
    right = model(slip, cheque)
    for part in model.modules():
        if hasattr(part, "scale") and hasattr(part, "n_heads"):
            part.scale = None  # the mechanism's own, 1 / sqrt(d_head)
    wrong = model(slip, cheque)
assert 0.001 < float((wrong - right).norm() / right.norm()) < 1.0
print(f"the scores of the next token are off by {(wrong - right).norm() / right.norm():.0%}")

# %% [markdown]
# The mend is one argument, `MultiHeadAttention(..., scale=1.0)`, and a test against published
# weights. The second trap is the output layer: T5's first version multiplies its states by
# $1 / \sqrt{d}$ before it, and shares the table with the input; version 1.1 does neither.

# %% [markdown] tags=["aside"]
# ## In practice
#
# | you want | take |
# |---|---|
# | T5's public weights | `deepdive.published.load(folder)`; it finds out which version a file has |
# | to train it | scaled Adam (Nawrot 2023: rate 0.02) or Adafactor; Adam at a far lower rate |
# | a task | a first word that names it, and the answer as text |
# | to score classes | the probability of each label's text, not what was generated |
#
# - The decoder begins with padding, token 0. There is no token for the beginning.
# - Texts end with token 1. Without it the decoder does not know when to stop.
# - Half precision: T5, in both versions, can overflow in float16; bfloat16 has the range.

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why can T5 read a text longer than any that it was trained on?
#
#    <details><summary>Answer</summary>
#
#    Every distance falls in a bucket, the largest in the last one. (Whether it reads such a text
#    well is another question.)
#
#    </details>
# 2. Two keys stand 60 and 61 tokens before the query. Can a head prefer one of them?
#
#    <details><summary>Answer</summary>
#
#    Not by its table, if they share a bucket. By what the keys say, yes.
#
#    </details>
# 3. Why does T5 write only the hidden spans, and not the whole text again?
#
#    <details><summary>Answer</summary>
#
#    What stood there is all that is asked. The decoder's text is then short, and so is the work.
#
#    </details>
# 4. Adam's rate is 0.02. How far does a weight move in the first step?
#
#    <details><summary>Answer</summary>
#
#    By about 0.02, whatever its size and its gradient's size are. In scaled Adam: by about 2% of
#    the root mean square of its tensor.
#
#    </details>
# 5. How does T5 know which task is meant?
#
#    <details><summary>Answer</summary>
#
#    From the words before the input, which are text like any other. Without them two tasks with the
#    same inputs cannot be told apart.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 5 min)* An encoder has 16 buckets, half of them for keys ahead, for distances up to
#    32. In which buckets are keys 3 behind, 3 ahead, and 10 behind?
#
#    <details><summary>Answer</summary>
#
#    3, 11 and 5. Eight buckets a side, four of them exact. Ahead counts on from 8. From 4 to 32 are
#    three doublings in four buckets: $4 + \lfloor 4 \cdot \log(10/4) / \log(8) \rfloor = 5$.
#
#    </details>
# 2. *(derive, 8 min)* A text has $n$ tokens, a share $r$ is hidden, in spans of $m$ on average. How
#    long are the two slips? For which $m$ does the reader save nothing?
#
#    <details><summary>Answer</summary>
#
#    $n (1 - r + r / m)$ and $n (r + r / m) + 1$. With $m = 1$ each hidden token has a mark of its
#    own, and what is read is as long as the text.
#
#    </details>
# 3. *(code, 15 min)* Write the way back: from the two slips to the text, for one text of ids.
#
#    <details><summary>Answer</summary>
#
#    Walk through what was written; at each mark begin a new list. Then walk through what was read,
#    and put the list of a mark in its place. `restore_spans` does it.
#
#    </details>

# %%
# The answers to the exercises, checked.
asked = T5Bias(1, n_buckets=16, max_distance=32).buckets(torch.tensor([-3, 3, -10]))
assert asked.tolist() == [3, 11, 5]
for m in (1.0, 3.0):
    n, spans = hidden_counts(1000, 0.15, m)
    hidden = mask_spans((1, 1000), 0.15, m, torch.Generator().manual_seed(0))
    read, written = corrupt_spans(torch.arange(1000)[None], hidden, 5000)
    assert (read.shape[1], written.shape[1]) == (1000 - n + spans, n + spans + 1)
    assert m > 1 or read.shape[1] == 1000
print("the three answers hold")

# %% [markdown]
# ## Summary
#
# T5 makes every task a text that is read and a text that is written, so one loss and one model
# serve all. It tells places apart by a number for each bucket of distances, and reads before it
# has a task by writing out spans that were hidden. Can one clerk do both jobs as well as the two?
# That is open here: after a short training, in which the single-task models had half as many
# steps, the one model was ahead in all three seeds, by 4.0 to 27.5 points, but all of them still
# failed on most numbers.
#
# ## Further reading
#
# - Raffel et al. (2020), *Exploring the Limits of Transfer Learning with a Unified Text-to-Text
#   Transformer*: section 2.1 for the model, 3.3.4 for spans.
# - Xue et al. (2021), *mT5*, and Xue et al. (2022), *ByT5*.
# - Shazeer, Stern (2018), *Adafactor: Adaptive Learning Rates with Sublinear Memory Cost*: section
#   8 is the relative step.
# - Nawrot (2023), *nanoT5: A PyTorch Framework for Pre-training and Fine-tuning T5-style Models
#   with Limited Resources*.
#
# <small>Book 5.3.2 · the slides of KAIST on T5</small>
