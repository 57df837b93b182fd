# %% [markdown] tags=["slide"]
# # Attention is not explanation
#
# A model reads *I do not find the ending cold, others find the story dull*, and says: positive.
# Beside its answer it shows how much weight each word had, and most of it lies on *not*. Now
# somebody gives this weight to quite other words, and the answer stays where it was. Was *not* the
# reason?
#
# This page repeats the charge of Jain and Wallace (2019), *Attention is not Explanation*; [the
# next](09_attention_is_not_not.ipynb) repeats the defence.
#
# <small>Prerequisites: [recurrent networks](../01_before/07_rnn.ipynb),
# [what explanations are](00_opening.ipynb) · 18 min · runs on a laptop; results of the long runs
# are included · book 7.4.1</small>

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

# %% A model with one attention, trained on generated reviews tags=["fold"]
from functools import cache, partial

import torch

from deepdive.models.interpretable.attention_classifier import attentive
from deepdive_book.ch07.runs.attention_debate import (
    Part,
    fresh,
    from_states,
    run_model,
    train_model,
    verdict_texts,
)
from deepdive_book.kit.profile import pick, profile

texts, cause = verdict_texts(*pick(ci=(600, 60), laptop=(2000, 300), gpu=(2000, 300)))
small = partial(attentive, d_model=32, d_hidden=32)  # two LSTMs, one question


@cache
def judge(seed):
    return train_model(fresh(texts, seed, small), texts.train, 4, seed, dropped=0.1)


model = judge(0)
print(texts.source)


# %% What it says of three reviews tags=["fold"]
from deepdive.explain.attention_weights import alternatives
from deepdive.explain.attention_weights.alternatives import adversarial, jsd, permuted, tvd
from deepdive_book.ch07.figures.attention_weight_editor import (
    Weighed,
    attention_weight_editor,
    votes,
)

REVIEWS = ["i do not find the ending cold , others find the story dull .",
           "critics do not find the script dull , i find the music cold .",
           "i find the acting warm and the music lively ."]  # fmt: skip
chosen = []
for review in REVIEWS:
    words = review.split()
    row = torch.tensor([[texts.words.index(word) for word in words]])
    seen = run_model(model, Part(row, torch.zeros(1, dtype=torch.long)))
    quick = from_states(model, seen.states)
    slow = alternatives.reweighted(model, "attention.weights", row)[1]  # runs the whole model
    assert torch.allclose(quick(seen.weights), slow(seen.weights[:, None, None]), atol=1e-5)
    found = adversarial(quick, seen.weights, row != 0)
    with torch.no_grad():
        each, bias = votes(seen.states[0], model.classify.weight, model.classify.bias)
    called = f"{review[:26]} ..."
    chosen.append(Weighed(called, words, each, bias, seen.weights[0], found.weights[0]))

# %% Weights to move tags=["slide", "fold"]
attention_weight_editor(chosen, texts.names)

# %% [markdown]
# *A generated review. A row is a word: its bar is the weight that the model gives it, the number at
# the right is its vote, above zero for "positive". Move the sliders; the weights always add up to
# 1.*
#
# 1. Take all weight from the word that has most. What does the answer do?
# 2. Can you leave it where it is, to within 0.01, with weights that are more than 0.6 apart? Then
#    press "found by search": a computer has looked, too.
# 3. Give all words the same weight, first here, then in the second text. What is different there?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. It stays: the rest of the weight lies on neighbors that vote alike.
# 2. Yes: the votes of most words are for "positive", also of words that only tell what others find.
#    But note how easy the test is at a probability near 1. The logit falls by a third, from 6.94 to
#    4.52, and the probability only from 0.999 to 0.989, because the sigmoid is saturated.
# 3. In the second text the answer turns. The first clause votes for "positive", and the weights
#    have to pick the second.
#
# </details>

# %% The tasks in numbers tags=["fold"]
from deepdive_book.ch07.figures.attention_weight_editor import answer
from deepdive_book.kit.tables import table

lines = []
for text in chosen:
    rest = text.weights.clone()
    rest[rest.argmax()] = 0
    alike = torch.full_like(rest, 1 / len(rest))
    four = (text.weights, rest / rest.sum(), text.found, alike)
    apart = float(jsd(text.found, text.weights))
    lines.append([text.called, *(f"{answer(text, w):.2f}" for w in four[:2]),
                  f"{answer(text, text.found):.2f} ({apart:.2f} apart)",
                  f"{answer(text, alike):.2f}"])  # fmt: skip
table(lines, ["review", "own weights", "without the heaviest", "found", "all alike"],
      caption="probability of positive")  # fmt: skip

# %% [markdown]
# ## By hand: a mean of votes
#
# The model has two LSTMs that read the text from both ends, and one attention over their states.
# The classifier is linear, so each state has a **vote**, and the answer is the mean of the votes,
# weighed by attention:
#
# | word | music | is | cold | . |
# |---|---|---|---|---|
# | vote for "positive" | −2 | 0 | −3 | −4 |
# | weights of the model | 0 | 0 | 1 | 0 |
# | other weights | ½ | 0 | 0 | ½ |
#
# With the model's weights the answer is $-3$. With the other weights it is $\frac12 (-2) + \frac12
# (-4) = -3$ too, and no word has weight in both rows. So the **Jensen-Shannon divergence**, our
# measure of how far apart two rows of weights are, has its largest value, $\log 2 = 0.69$.
#
# Why has the full stop a vote at all? Its state comes out of an LSTM that has read *cold*. The
# weight lies on the **state** of a place, and the state knows the whole text.

# %% The two rows from the library tags=["nbval-check-output", "fold"]
vote = torch.tensor([-2.0, 0.0, -3.0, -4.0])
own, other = torch.tensor([0.0, 0.0, 1.0, 0.0]), torch.tensor([0.5, 0.0, 0.0, 0.5])
print("answers:", float(own @ vote), float(other @ vote))
print(f"apart: {float(jsd(own, other)):.2f}")
shares = [torch.stack([-(w @ vote), w @ vote]).mul(0.5).softmax(0) for w in (own, other)]
print(f"answer moved: {float(tvd(*shares)):.2f}")
assert float(own @ vote) == float(other @ vote) == -3

# %% [markdown]
# $h_t$ is the state of word $t$, $u$ the question that attention asks, $c$ the classifier:
#
# $$w_t = \operatorname{softmax}_t\big(u \cdot \tanh(W h_t + b)\big)$$
#
# $$\text{answer} = \sum_t w_t\, (c \cdot h_t) + \text{const}$$
#
# If attention were an explanation, say Jain and Wallace, then two things should be true. It should
# **agree** with other measures of importance. And **other weights** should give another answer.

# %% [markdown]
# ## First test: does attention agree?
#
# **Kendall's tau** compares two lists of importance: of all pairs of words, the share that both
# lists put in the same order, less the share they put in opposite orders. For the importances
# $(3, 2, 1)$ and $(2, 3, 1)$, two pairs agree and one does not, so tau is $(2 - 1) / 3$.
#
# Attention is compared with the gradient (times the input, with the weights held fixed, as in the
# paper) and with **leaving out**: how far the answer goes when the word is taken away. Real texts
# now: film reviews (rt_polarity) and abstracts of medical papers (medical_abstracts), 200 of each,
# three seeds. Beside the LSTM stands a model without one, whose attention mixes the rows of the
# words themselves.
#
# <details><summary>Smaller than in the paper</summary>
#
# LSTMs of 64 (there 128), rows of words learned from random numbers (there set to fastText's),
# 8,000 reviews for four epochs, and some 1,300 abstracts, of four of the five classes, cut after
# 100 words, for twelve.
#
# </details>

# %% The rows, kept or live tags=["fold"]
import json

from deepdive.explain.evaluation.agreement import kendall
from deepdive_book.ch07.runs.attention_debate_results import SEEDS, jain_wallace_tests, unpacked
from deepdive_book.kit.experiments import results_path, sweep

SIZES = {"rt_polarity": {"train": 8000, "epochs": 4},
         "medical_abstracts": {"train": 8000, "epochs": 12}}  # fmt: skip
asked = [(data, kind, seed) for data in SIZES for kind in ("lstm", "words") for seed in SEEDS]
points = [{"data": data, "seed": seed, "kind": kind, **SIZES[data], "count": 200}
          for data, kind, seed in asked]  # fmt: skip
if profile() != "experiment":
    points = [{"data": "generated", "seed": 0, "kind": kind, "train": 160, "epochs": 1, "count": 6,
               "steps": 20} for kind in ("lstm", "words")]  # fmt: skip
file = results_path("07_explain", "attention_accused")
data = "generated" if profile() != "experiment" else "rt_polarity and medical_abstracts"
target = file if profile() == "experiment" else None
rows = sweep(jain_wallace_tests, points, target, data=data, minutes=30)
if profile() != "ci" and file is not None and file.is_file():
    rows = json.loads(file.read_text())["rows"]
sets = list(dict.fromkeys(row["data"] for row in rows))
assert kendall(torch.tensor([3.0, 2, 1]), torch.tensor([2.0, 3, 1])) == 1 / 3

# %% How often the models are right tags=["fold"]
for data in sets:
    right = [f"{100 * row['accuracy']:.0f}" for row in rows
             if row["data"] == data and row["kind"] == "lstm"]  # fmt: skip
    how = "kept" if len(rows) > 2 else "live, too short"
    print(f"{data} ({how}): {', '.join(right)} % right")

# %% Read them tags=["fold"]
SHORT = {"rt_polarity": "reviews", "medical_abstracts": "abstracts", "generated": "generated"}
KINDS = {"lstm": "LSTM", "words": "no LSTM"}


def of(data, kind="lstm"):
    return [row for row in rows if row["data"] == data and row["kind"] == kind]


def values(name, data, kind="lstm"):
    """The numbers of all texts and seeds, one after the other."""
    return torch.cat([unpacked(row[name]) for row in of(data, kind)])


def by_seed(name, data, kind="lstm", digits=2):
    """The mean of all texts, and the lowest and highest mean of a seed."""
    means = [float(unpacked(row[name]).mean()) for row in of(data, kind)]
    low, high = min(means), max(means)
    return f"{sum(means) / len(means):.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


# %% When is a tau significant? tags=["fold"]
def significant(tau, length):
    """The share of texts whose tau is significant (p below 0.05, normal approximation)."""
    size = (2 * (2 * length + 5) / (9 * length * (length - 1))).sqrt()
    return float((tau.abs() / size > 1.96).float().mean())


def against(data, kind, c=None):
    """Tau of attention with two measures, in the texts of one answer or in all."""
    length, cells = values("length", data, kind), []
    here = torch.ones_like(length).bool() if c is None else values("said", data, kind) == c
    for measure in ("held", "left out"):
        tau = values(f"tau attention / {measure}", data, kind)[here]
        sure = 100 * significant(tau, length[here])
        cells.append(f"{tau.mean():.2f} ± {tau.std(correction=0):.2f} ({sure:.0f} %)")
    return cells


# %% Attention against other measures tags=["fold"]
both = [(data, kind) for data in sets for kind in KINDS]
table([[f"{SHORT[data]}, {KINDS[kind]}", *against(data, kind)] for data, kind in both],
      ["", "tau, gradient", "tau, leaving out"],
      caption="attention against two measures; mean ± deviation over the texts of all seeds (share "
      "of texts with a significant tau, p < 0.05)")  # fmt: skip

# %% [markdown]
# Without an LSTM attention agrees: there a weight lies on a word, and not on a state that knows all
# words. With an LSTM tau is low. That was the first charge.

# %% [markdown] tags=["aside"]
# ### What the paper measured, class by class

# %% Ours, class by class tags=["fold"]
NAMES = {"rt_polarity": ["negative", "positive"],
         "medical_abstracts": ["heart", "digestion", "tumours", "nerves"]}  # fmt: skip
lines = []
for data, kind in [(d, k) for k in KINDS for d in sets]:
    for c in sorted(set(values("said", data, kind).int().tolist())):
        name = NAMES.get(data, [str(i) for i in range(8)])[c]
        called = f"{SHORT[data]}{'' if kind == 'lstm' else ', no LSTM'}: {name}"
        lines.append([called, *against(data, kind, c)])
table(lines, ["texts: answer", "tau, gradient", "tau, leaving out"],
      caption="ours: mean ± deviation over the texts of all seeds (share of texts with a "
      "significant tau, p < 0.05)")  # fmt: skip

# %% [markdown]
# What Jain and Wallace measured:
#
# | texts: class | tau, gradient | tau, leaving out |
# |---|---|---|
# | SST: negative | 0.34 ± 0.21 (48%) | 0.27 ± 0.19 (33%) |
# | SST: positive | 0.36 ± 0.21 (49%) | 0.32 ± 0.19 (40%) |
# | IMDB: negative | 0.44 ± 0.06 (100%) | 0.34 ± 0.07 (100%) |
# | IMDB: positive | 0.43 ± 0.06 (100%) | 0.34 ± 0.07 (99%) |
# | Anemia: negative | 0.47 ± 0.05 (100%) | 0.46 ± 0.05 (100%) |
# | Anemia: positive | 0.46 ± 0.06 (100%) | 0.47 ± 0.06 (100%) |
# | SST, no LSTM: negative | 0.61 ± 0.20 (87%) | 0.61 ± 0.16 (87%) |
# | SST, no LSTM: positive | 0.60 ± 0.21 (83%) | 0.64 ± 0.15 (89%) |
#
# *Source: the outputs that the authors keep beside their code (successar/AttentionExplanation,
# `graph_outputs`), rounded; table 2 of the paper has such numbers.*

# %% [markdown]
# ## What is a low tau worth?

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The norm of the gradient and integrated gradients explain the same LSTM on the same reviews. "
    "How large is the tau between these two?",
    ["about 0.9: both are gradients of the same answer", "about 0.5", "below 0.3"],
    answer=2,
    explain="It is 0.17. Attention agrees with integrated gradients about as much (0.21), and with "
    "the norm more (0.47).",
    key="07_explain/two-gradients",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Everybody against everybody tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

called = {"attention": "attention", "held": "gradient, held", "left out": "leaving out",
          "norm": "gradient norm", "x input": "gradient x input",
          "integrated": "integrated gradients"}  # fmt: skip


def tau_of(a, b, data):
    name = f"tau seeds / {a}" if a == b else f"tau {a} / {b}"
    return float(values(name if name in rows[0] else f"tau {b} / {a}", data).mean())


# %% Draw it tags=["surprise", "fold"]
figure = Figure(figsize=(4.8, 6.6), layout="constrained")
panes = figure.subplots(2, 1, sharex=True, squeeze=False)[:, 0]
for axes, data in zip(panes, sets, strict=False):
    grid = [[tau_of(a, b, data) for b in called] for a in called]
    axes.imshow(grid, vmin=0, vmax=1, cmap="Blues")
    for i, j in [(i, j) for i in range(6) for j in range(6)]:
        own, light = ("bold" if i == j else "normal"), ("white" if grid[i][j] > 0.6 else "black")
        axes.text(j, i, f"{grid[i][j]:.2f}", ha="center", va="center", weight=own, color=light)
    axes.set(title=SHORT[data])
    axes.set_xticks(range(6), called.values(), rotation=40, ha="right")
    axes.set_yticks(range(6), called.values())
with_alt(figure, "For reviews and abstracts a square of numbers: the tau of each two of six "
         "methods; on the diagonal the tau of one method between two seeds.")  # fmt: skip

# %% What the seeds say tags=["fold"]
shown = [("attention", "held"), ("attention", "left out"), ("attention", "norm"),
         ("attention", "integrated"), ("held", "left out"), ("norm", "integrated")]  # fmt: skip
lines = [[f"{called[a]} / {called[b]}", *(by_seed(f"tau {a} / {b}", d) for d in sets)]
         for a, b in shown]  # fmt: skip
lines += [[f"{called[name]}, two seeds", *(by_seed(f"tau seeds / {name}", d) for d in sets)]
          for name in ("attention", "norm", "left out")]  # fmt: skip
lines += [["leaving out / itself, with noise",
           *(by_seed("tau left out / itself", d) for d in sets)]]  # fmt: skip
table(lines, ["tau of", *(SHORT[d] for d in sets)], caption="mean (lowest to highest seed)")

# %% [markdown]
# *The LSTM. A cell is the mean tau of the method of its row and that of its column; on the diagonal
# stands the same method in two models, trained alike from two seeds.*
#
# - **Attention and the two measures** agree little: 0.27 and 0.26 on the reviews, 0.08 and 0.11 on
#   the abstracts. With the norm of the gradient it is 0.47 and 0.06: it depends on the measure.
# - **The others among themselves** agree more, or less. The two measures have 0.54 and 0.46 with
#   each other, more than attention has with either in every seed. (In the authors' outputs: 0.66 on
#   SST, 0.52 on IMDB.) But gradient norm and integrated gradients have 0.17 and 0.10, which speaks
#   against gradients as much.
# - **One method, two seeds.** On two models that learned alike the same method has 0.42 at most on
#   the reviews.
# - **One method, one model.** Leaving out has 0.36 with itself on the abstracts, once noise is
#   added that moves an answer by 0.005.
#
# A low tau proves little, then. What stands of the first charge: attention agrees with two measures
# of what words do less than these agree with each other.

# %% [markdown] tags=["aside"]
# ### How rank correlation fails, measured
#
# Neely et al. (2022) argue that rank correlation should not be used to judge attention at all.

# %% Ties, first words, length tags=["fold"]
from deepdive.evaluate import bootstrap

columns = []
for data in sets:
    length, little = values("length", data), values("counts little", data)
    firsts = [values(f"first {pair}", data) for pair in ("attention / held", "held / left out")]
    short = length <= length.median()
    tau = values("tau attention / held", data)
    spans = [f"{part.mean():.2f} ± {part.std(correction=0):.2f}" if len(part) else ""
             for part in (tau[short], tau[~short])]  # fmt: skip
    columns.append([f"{length.mean():.0f}", f"{100 * little.mean():.0f} %",
                    *(f"{100 * first.mean():.0f} %" for first in firsts),
                    f"{100 * (3 / length).mean():.0f} %", *spans])  # fmt: skip
what = ["words a text", "words that move the answer by less than 0.01, left out",
        "first three words shared: attention, held gradient",
        "first three words shared: held gradient, leaving out", "first three shared by chance",
        "tau of attention and held gradient, shorter half of the texts",
        "the same, longer half"]  # fmt: skip
table(list(zip(what, *columns, strict=True)), ["LSTM, all seeds", *(SHORT[d] for d in sets)])

# %% [markdown]
# - **Most words count nothing, and their order is noise.** Taken out one at a time, a third of the
#   words of a review, and 73% of those of an abstract, move the answer by less than 0.01. Tau
#   gives each pair of such words the same say as the pair of the two that decide.
# - **The first words tell another story.** On the reviews attention and the gradient share 43% of
#   their first three words, where chance gives 15%. On the abstracts it is 14% against 3%.

# %% [markdown] tags=["slide"]
# ## Second test: other weights, the same answer
#
# **Shuffled.** The weights of a text are shuffled a hundred times among its words, and the median
# move of the answer is taken (as total variation distance: the largest difference of the
# probability of any set of classes). If the weights mattered, texts with one heavy word should move
# most.

# %% Shuffled weights tags=["fold"]
from itertools import pairwise

EDGES = [0, 0.05, 0.1, 0.25, 0.5, 1.01]
figure = Figure(figsize=(4.4, 4.6), layout="constrained")
panes = figure.subplots(2, 2, sharey=True)
for (data, kind), axes in zip(both, panes.flat, strict=False):
    most, moved = values("most", data, kind), values("permuted", data, kind)
    spans = [(high, moved[(most >= low) & (most < high)]) for low, high in pairwise(EDGES)]
    spans = [(high, here.numpy()) for high, here in spans if len(here) >= 5]
    for k, (_, here) in enumerate(spans):
        axes.boxplot(here, positions=[k], widths=0.5, showfliers=False, whis=(5, 95),
                     medianprops={"color": "#D55E00"})  # fmt: skip
        axes.text(k, 0.87, f"{len(here)}", ha="center")
    axes.set(ylim=(0, 0.95), title=f"{SHORT[data]}, {KINDS[kind]}", xlim=(-0.6, 2.6))
    axes.set_xticks(range(len(spans)), [f"{min(high, 1):g}" for high, _ in spans])
figure.supxlabel("weight of the heaviest word, up to")
figure.supylabel("answer moved")
with_alt(figure, "Boxes of how far answers move when weights are shuffled, by the weight of the "
         "heaviest word: with an LSTM near zero, without one far above.")  # fmt: skip

# %% The same in numbers tags=["fold"]
lines = []
for data, kind in both:
    moved = values("permuted", data, kind)
    lines.append([f"{SHORT[data]}, {KINDS[kind]}", by_seed("permuted", data, kind),
                  by_seed("even moves", data, kind),
                  f"{100 * (moved < 0.05).float().mean():.0f} %"])  # fmt: skip
table(lines, ["", "shuffled", "all alike", "shuffled: below 0.05"],
      caption="how far the answer moves, mean (lowest to highest seed); share of texts where it "
      "moves by less than 0.05")  # fmt: skip

# %% [markdown]
# *Above each box: how many texts. Boxes hold the middle half of them, whiskers nine tenths.*
#
# Texts with one heavy word move more, in all four. With an LSTM they move little even so: 78% of
# the reviews and 80% of the abstracts by less than 0.05. But to give **all words the same weight**
# moves the answer by 0.04 and 0.03, no more than a shuffle. In nearly all texts the heaviest word
# has at most 0.25 of the weight (reviews) or 0.1 (abstracts): these models spread their weights
# widely, and need them little. Without an LSTM the shuffle moves the answer by 0.16 and by 0.50.
#
# **Searched for.** For each text, a search by gradient looks for weights as far as possible from
# the model's own, under which the answer moves by at most 0.01.

# %% Weights found by search tags=["fold"]
figure = Figure(figsize=(4.8, 2.6), layout="constrained")
axes = figure.subplots()
for data, colour, style in zip(sets, ("#0072B2", "#D55E00"), ("-", "--"), strict=False):
    far = values("far", data).sort().values.numpy()
    below = torch.linspace(0, 100, len(far)).numpy()
    axes.plot(far, below, style, color=colour, label=SHORT[data])
axes.axvline(0.6931, color="#8a8a8a", linewidth=1)
axes.set(xlabel="divergence of the weights found", ylabel="texts below, %", xlim=(0, 0.72))
axes.legend()
with_alt(figure, "For each data set, the share of texts whose found weights are less far than a "
         "value from 0 to 0.69, the largest.")  # fmt: skip

# %% How far, and whether the first word stays tags=["fold"]
lines = []
for data, kind in both:
    far, same = values("far", data, kind), [row["same top"] for row in of(data, kind)]
    lines.append([f"{SHORT[data]}, {KINDS[kind]}", by_seed("far", data, kind),
                  f"{100 * (far > 0.5).float().mean():.0f} %",
                  f"{100 * sum(same) / len(same):.0f} %",
                  by_seed("seeds apart", data, kind)])  # fmt: skip
table(lines, ["", "found: apart", "above 0.5", "same heaviest word", "another seed: apart"],
      caption="weights that move the answer by at most 0.01, and how far they are (at most 0.69); "
      "beside it, how far the weights of a model trained from another seed are")  # fmt: skip

# %% [markdown]
# For most texts there are weights that say something else altogether and leave the answer: 0.54 and
# 0.62 apart of at most 0.69, with another word as the heaviest in each text. Training from another
# seed moves the weights by 0.06. Without an LSTM the search gets less far, and on the abstracts no
# farther than another seed.

# %% [markdown] tags=["aside"]
# ### The same charges, on a BERT
#
# Two layers, two heads, 64 wide, trained on the same texts from nothing. Its attention is that of
# [CLS] in the last layer, the mean of both heads: the only weights of this layer that the answer
# sees.

# %% The rows of BERT, kept or live tags=["fold"]
from deepdive_book.ch07.runs.attention_debate_bert import jain_wallace_bert

bert_points = [{"data": data, "seed": seed, **size, "count": 100}
               for data, size in SIZES.items() for seed in SEEDS]  # fmt: skip
if profile() != "experiment":
    bert_points = [{"data": "generated", "seed": 0, "train": 64, "epochs": 1, "count": 3,
                    "steps": 5}]  # fmt: skip
file = results_path("07_explain", "attention_bert")
source = "generated" if profile() != "experiment" else "rt_polarity and medical_abstracts"
target = file if profile() == "experiment" else None
berts = sweep(jain_wallace_bert, bert_points, target, data=source, minutes=30)
if profile() != "ci" and file is not None and file.is_file():
    berts = json.loads(file.read_text())["rows"]

# %% BERT beside the LSTM tags=["fold"]
MEASURES = {"tau attention / held": "tau: attention, gradient",
            "tau attention / left out": "tau: attention, leaving out",
            "tau held / left out": "tau: gradient, leaving out", "permuted": "shuffled: moved",
            "even moves": "all alike: moved", "far": "found: apart"}  # fmt: skip


def of_bert_rows(name, data):
    means = [float(unpacked(row[name]).mean()) for row in berts if row["data"] == data]
    return f"{sum(means) / len(means):.2f} ({min(means):.2f} to {max(means):.2f})"


right = [[f"{100 * row['accuracy']:.0f}" for row in berts if row["data"] == d] for d in sets]
lines = [["right, %, by seed", *(", ".join(each) for each in right)]]
lines += [[text, *(of_bert_rows(name, d) for d in sets)] for name, text in MEASURES.items()]
table(lines, ["BERT", *(SHORT[d] for d in sets)], caption="means (lowest to highest seed)")

# %% [markdown]
# - **The two measures agree less than in the LSTM**: 0.26 and 0.07. (Neely et al. found no two
#   methods that agree strongly on Transformers.) Attention and the gradient agree more, 0.50 and
#   0.35. Read in the same way, tau now speaks *for* attention, and so against tau.
# - **On the abstracts its answers hang on its weights**: shuffled, they move the answer by 0.37, a
#   mean of three models that differ widely (0.22 to 0.51). Even there the search finds others, 0.53
#   apart, that leave it. To need attention is not to need these weights.

# %% [markdown]
# ## What is true here? Reviews whose deciding words are known
#
# Agreement with another measure is no truth. In the generated reviews we know which words decide by
# the rule: the adjective of what the writer finds, and its *not*. How surely does a deciding word
# stand above one that decides nothing (1 is always, ½ by chance)? We ask the LSTM, and the [BERT of
# this chapter](00_opening.ipynb), with the weights of its last layer, from [CLS].

# %% tags=["fold"]
predict(
    "In the generated reviews the LSTM is right in nearly all of 300 texts, and its attention is "
    "sharp. Which finds the deciding words more surely: its attention, or leaving out each word?",
    ["attention", "leaving out", "both alike, within the seeds"],
    answer=1,
    explain="A weight says which state is used; leaving out says which words the state came from.",
    key="07_explain/who-finds-it",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Each method against the known cause tags=["fold"]
from deepdive.explain.evaluation.agreement import recovery
from deepdive_book.ch07.runs.attention_debate_results import importances_of, scores

COUNT = pick(ci=10, laptop=100, gpu=100)
part, right = texts.test.take(slice(0, COUNT)), []
planted = {name: [] for name in called}
planted |= {"found by search": []}
for seed in pick(ci=(0,), laptop=SEEDS, gpu=SEEDS):
    seen = run_model(judge(seed), part)
    answers = from_states(judge(seed), seen.states)
    away = adversarial(answers, seen.weights, part.real, steps=pick(ci=30, laptop=300, gpu=300))
    found = importances_of(judge(seed), part)
    for each, weights in zip(found, away.weights, strict=True):
        each["found by search"] = weights[: len(each["held"])]
    for name, kept_here in planted.items():
        kept_here.append([recovery(e[name], c[: len(e[name])])
                          for e, c in zip(found, cause, strict=False)])  # fmt: skip
    right.append(
        scores(run_model(judge(seed), texts.test, states=False), texts.test)["accuracy"]
    )

# %% Our BERT, in the same way tags=["fold"]
from deepdive.explain.gradients import gradient_norm, gradient_x_input, integrated_gradients
from deepdive_book.ch07.toys.review_words import review_words
from deepdive_book.data.labeled_cause_reviews import generated_verdicts

toy, LAST = review_words(), "encoder.stack.blocks.1.attn.mechanism.weights"
ROWS = "encoder.embeddings.embedded"


def of_bert(review):
    """Importances of its words, and how far shuffling the last layer's weights moves the answer."""
    tokens = toy.tokens(review)
    count = tokens.shape[1] - 2
    own, answer = alternatives.reweighted(toy.model, LAST, tokens)
    share = answer(own).detach()
    output = lambda: toy.model(tokens).log_softmax(-1)[:, int(share.argmax())]  # noqa: E731
    gone = tokens.repeat(count, 1)
    gone[torch.arange(count), torch.arange(count) + 1] = toy.mask
    moved = permuted(answer, own, tokens == tokens, 20).median()
    rows = toy.model, ROWS, output
    return {"attention": own[0, :, 0, 1:-1].mean(0), "norm": gradient_norm(*rows)[0, 1:-1],
            "x input": gradient_x_input(*rows)[0, 1:-1].abs(),
            "integrated": integrated_gradients(*rows, steps=16)[0][0, 1:-1].abs(),
            "left out": tvd(toy.model(gone).softmax(-1), share).detach()}, float(moved)  # fmt: skip


# %% Its importances against the known cause tags=["fold"]
others = generated_verdicts(pick(ci=4, laptop=60, gpu=60), seed=99)
bert = [of_bert(review) for review in others.texts]
by_bert = {name: [] for name in bert[0][0]}
for (found, _), places in zip(bert, others.deciding, strict=True):
    truth = torch.zeros(len(found["norm"]), dtype=torch.bool)
    truth[list(places)] = True
    for name, each in found.items():
        by_bert[name].append(recovery(each, truth))


# %% Who finds the deciding words tags=["surprise", "slide", "fold"]
def sure(found):
    """A mean and the interval of 95 % over the texts."""
    mean, low, high = bootstrap(found)
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]"


lines = []
for name, found in planted.items():
    each = [sum(row) / len(row) for row in found]
    lines.append([called.get(name, name), sure(torch.tensor(found).mean(0).numpy()),
                  f"{min(each):.2f} to {max(each):.2f}",
                  sure(by_bert[name]) if name in by_bert else ""])  # fmt: skip
table(lines, ["", "LSTM", "its seeds", "our BERT"],
      caption=f"a deciding word above another (½ by chance), {COUNT} and {len(bert)} generated "
      "reviews; 95 % over texts, lowest and highest seed")  # fmt: skip

# %% The models behind the table tags=["fold"]
moved = sorted(each for _, each in bert)
print(f"LSTM right: {', '.join(f'{100 * r:.0f} %' for r in right)} of {len(texts.test.labels)}")
print(f"BERT: last layer's weights shuffled, median move {moved[len(moved) // 2]:.2f}, "
      f"mean {sum(moved) / len(moved):.2f}")  # fmt: skip

# %% [markdown]
# - **Attention finds the cause, and less surely than leaving out**: 0.75 against 0.91 in the LSTM,
#   and no seed of the one reaches any of the other.
# - **The weights found by search find nothing** (0.53, where chance is ½), although the model
#   answers the same under them. That the answer stays does not make two stories equally true.
# - **No method wins everywhere.** Integrated gradients are among the better ones in the LSTM, and
#   the last in our BERT. There gradient times input finds more than attention does; leaving out
#   stands between them, within the intervals.

# %% The first review, in three colours tags=["fold"]
from deepdive_book.kit.attribution_text import coloured

first = chosen[0]
row = torch.tensor([texts.words.index(word) for word in first.words])
mine = importances_of(model, Part(row[None], torch.zeros(1, dtype=torch.long)))[0]
coloured(first.words, {"attention": first.weights, "found by search": first.found,
                       "leaving out": mine["left out"]})  # fmt: skip

# %% The word that the opening asks about tags=["fold"]
place = first.words.index("not")
for word in ("not", "i"):
    gone = float(mine["left out"][first.words.index(word)])
    print(f"taking out “{word}” moves the answer by {gone:.2f}")
print(f"its weight: {float(first.weights[place]):.2f}, found by search: "
      f"{float(first.found[place]):.2f}")  # fmt: skip

# %% [markdown]
# *One model, one answer. The first two rows are weights under which it is the same; the third is
# how far the answer goes when a word is taken out. (The word “i” says whose opinion it is; the rule
# does not count it among the words that decide.)*

# %% [markdown]
# ## In practice
#
# - Do not read a heat map of attention as a list of reasons. It says which states were mixed.
# - To know what a word does to an answer, [take it out](04_perturbation.ipynb) and look.
# - Ask first whether the model needs its weights at all: make them alike.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why can other weights give the same answer?
#
#    <details><summary>Answer</summary>
#
#    The answer is one mean of the votes, and many weights give the same mean.
#
#    </details>
# 2. Why has a full stop a strong vote in an LSTM, and none without?
#
#    <details><summary>Answer</summary>
#
#    Its state has read the words before it; its row alone is the same in every text.
#
#    </details>
# 3. Two explanations name the same three words of forty. Can their tau be near 0?
#
#    <details><summary>Answer</summary>
#
#    Yes: the order of the other 37, which count nothing, makes nearly all pairs.
#
#    </details>
# 4. Shuffled weights leave the answer. Which cheaper test should have come first?
#
#    <details><summary>Answer</summary>
#
#    To make them all alike. If that changes nothing, the model does not need its attention.
#
#    </details>
# 5. What does a planted cause give that agreement does not?
#
#    <details><summary>Answer</summary>
#
#    A truth: it says which of two methods that differ is right.
#
#    </details>
#
# ## Exercises
#
# 1. *(pencil, 3 min)* Three words vote +1, −1, −3, and all weight is on the second. Give weights
#    with the same answer and none on the second.
#
#    <details><summary>Answer</summary>
#
#    One half on the first, one half on the third: $\frac12 - \frac32 = -1$.
#
#    </details>
# 2. *(pencil, 3 min)* Tau of the importances (4, 3, 2, 1) and (4, 1, 2, 3)?
#
#    <details><summary>Answer</summary>
#
#    The first word stands above the others in both: three pairs agree. The other three pairs are
#    reversed. So tau is 0, although both name the same most important word.
#
#    </details>
# 3. *(look, 5 min)* Jain and Wallace's gradient holds the weights fixed. Compare the rows
#    *gradient, held* and *gradient x input* (which goes through the weights too) in the squares
#    above. Which numbers of other methods differ by more than 0.05, and why so few?
#
#    <details><summary>Answer</summary>
#
#    None: with attention it is 0.27 in both on the reviews. A word acts on the answer in two ways,
#    through its state and through the weights, and the held gradient sees the first alone. In
#    models whose weights are nearly even the second way is small.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to exercises 1 and 2, checked.
print(float(torch.tensor([0.5, 0.0, 0.5]) @ torch.tensor([1.0, -1.0, -3.0])))
print(kendall(torch.tensor([4.0, 3, 2, 1]), torch.tensor([4.0, 1, 2, 3])))

# %% [markdown]
# ## Summary
#
# The answer of a model with one attention is a mean of votes, so for most texts other weights can
# be found that leave the answer. Rank correlation says that attention agrees little with other
# measures, and it says the same of two gradients, of two seeds, and on long texts of one measure
# with itself. Back to *not*: by the rule it decides, and it has 0.89 of the weight. For this model
# it is only part of the reason: taken out, it moves the answer by 0.16, which stays "positive", and
# *i* moves it more. The weight showed neither, and without any weight on *not* the answer stays as
# well.
#
# ## Further reading
#
# - Jain and Wallace (2019), *Attention is not Explanation*: sections 4.1 for agreement, 4.2 for
#   other weights; their repository keeps the outputs for all sets.
# - Neely, Schouten, Bleeker, Lucic (2022), *A Song of (Dis)agreement*: why rank correlation should
#   not judge.
# - Serrano and Smith (2019), *Is Attention Interpretable?*: weights are set to zero, one after the
#   other, until the answer turns.
