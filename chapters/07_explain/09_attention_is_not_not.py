# %% [markdown] tags=["slide"]
# # Attention is not not explanation
#
# A driver says: *I saw the red light, so I stopped.* The lawyer answers: with a child on the road,
# or with an empty tank, the car would have stopped as well. He is right. Does it show that the red
# light was not the reason?
#
# On [the page before](08_attention_is_not.ipynb) other weights with the same answer were found for
# most texts. Wiegreffe and Pinter (2019) object that such a search changes the weights of a
# finished model, one text at a time: no trained model has these weights. They propose four tests.
# We run them on our models, three seeds each.
#
# <small>Prerequisites: [attention is not explanation](08_attention_is_not.ipynb) · 18 min · runs on
# a laptop; results of the long runs are included · book 7.4.2</small>

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

# %% A model, and copies that learn to look elsewhere tags=["fold"]
from functools import cache, partial

import torch

from deepdive.explain.attention_weights.alternatives import jsd, tvd
from deepdive.models.interpretable.attention_classifier import UniformAttention, attentive
from deepdive_book.ch07.runs.attention_debate import (
    Part,
    adversary,
    fresh,
    run_model,
    train_model,
    verdict_texts,
)
from deepdive_book.kit.profile import pick, profile

SIZE = pick(ci=(400, 60), laptop=(2000, 300), gpu=(2000, 300))
texts, cause = verdict_texts(*SIZE)
small = partial(attentive, d_model=32, d_hidden=32)
FARS = pick(ci=(0.0, 0.1), laptop=(0.0, 0.003, 0.01, 0.03, 0.1), gpu=(0.0, 0.003, 0.01, 0.03, 0.1))


@cache
def judge(seed, far=None):
    """The base of a seed, or the copy of it that is paid `far` for looking elsewhere."""
    if far is None:
        return train_model(fresh(texts, seed, small), texts.train, 4, seed, dropped=0.1)
    return adversary(judge(seed), texts.train, far, 3, 100 + seed)


# %% What they say of one review tags=["fold"]
from deepdive_book.ch07.figures.adversarial_attention_slider import (
    AdversarialModel,
    adversarial_attention_slider,
)
from deepdive_book.ch07.runs.attention_debate_results import importances

REVIEW = "critics do not find the script dull , i find the music cold ."
words, SEED = REVIEW.split(), pick(ci=0, laptop=1, gpu=1)
row = torch.tensor([[texts.words.index(word) for word in words]])
one, base = Part(row, torch.zeros(1, dtype=torch.long)), run_model(judge(SEED), texts.test)
steps = []
for far in FARS:
    model = judge(SEED, far)
    seen, here = run_model(model, texts.test), run_model(model, one)
    apart, moved = jsd(seen.weights, base.weights), tvd(seen.shares, base.shares)
    steps.append(AdversarialModel(far, here.weights[0], importances(model, row[0])["left out"],
                        float(here.shares[0, 1]), float(apart.mean()),
                        float(moved.mean())))  # fmt: skip

# %% Paid for looking elsewhere tags=["slide", "fold"]
adversarial_attention_slider(
    words, run_model(judge(SEED), one).weights[0], steps, texts.names
)

# %% [markdown]
# *A generated review. The base learned from labels. Each other model is a copy that is taught to
# answer as the base does, and rewarded ("paid") for weights unlike the base's; the slider is this
# reward, $\lambda$ below. Bars in %: the weights of both, and how far the answer of the taught
# model goes when the word is left out.*
#
# 1. From which reward on do the weights leave the words that the base looks at?
# 2. What does the answer do meanwhile, and what the third column?
# 3. On which words can it look without harm? (What has an LSTM read when it comes to a full stop?)
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. From 0.03 on. There all weight lies on *i*, at 0.1 on the first *find*.
# 2. With 0.03 the answer stays, and leaving out still names *cold*. With 0.1 it was paid too much:
#    now it decides by *dull*, and is wrong.
# 3. On any word whose state has read the deciding ones: in both directions, that is every word.
#
# </details>

# %% [markdown]
# ## By hand: when does looking away pay?
#
# The adversary's loss for a text, with its answers $y$ and weights $w$ and those of the base:
#
# $$\text{loss} = \operatorname{TVD}(y, y_\text{base}) - \lambda\,
# \operatorname{KL}(w \parallel w_\text{base})$$
#
# TVD says how far the answer went, the divergence KL how far the weights did. The base gives two
# words the weights ¼ and ¾, and its answer is 0.9. A copy that gives all weight to the first word
# has $\text{KL} = 1 \cdot \log\frac{1}{1/4} = \log 4 = 1.39$. If its answer is 0.8, TVD is 0.1. A
# copy that does not move has loss 0, so looking away pays as soon as $\lambda$ is above $0.1 / \log
# 4 = 0.072$.

# %% The same from the library tags=["nbval-check-output", "fold"]
from deepdive.training.objectives.attention_divergence import divergent_loss

theirs, ours = torch.tensor([[0.25, 0.75]]), torch.tensor([[1.0, 0.0]])
said, now = torch.tensor([[0.1, 0.9]]), torch.tensor([[0.2, 0.8]])
for far in (0.0, 0.05, 0.072, 0.1):
    print(f"{far:5}: loss {float(divergent_loss(now, said, ours, theirs, far)):+.3f}")
assert abs(float(divergent_loss(now, said, ours, theirs, 0.1 / torch.tensor(4.0).log()))) < 1e-6

# %% [markdown]
# ## First test: is attention needed at all?
#
# We train a model anew with the same weight on every word. If it is as good, the weights of the
# other decided little, and to move them proves little.

# %% The rows, kept or live tags=["fold"]
import json

from deepdive_book.ch07.runs.attention_debate_results import SEEDS, scores, wiegreffe_pinter_tests
from deepdive_book.kit.experiments import results_path, sweep
from deepdive_book.kit.tables import table

SIZES = {"rt_polarity": {"train": 8000, "epochs": 4},
         "medical_abstracts": {"train": 8000, "epochs": 12}}  # fmt: skip
GUIDES = ("even", "itself", "base", "adversary", "search")
RUNS = [(what, 0.0) for what in ("base", "even", "seed", "imitator")]
RUNS += [("adversary", far) for far in (0.0, 0.01, 0.015, 0.02, 0.03, 0.1, 0.3)]
RUNS += [("places", 0.1)]
RUNS += [(f"guided {guide}", 0.1 if guide == "adversary" else 0.0) for guide in GUIDES]
asked = [(data, seed, size, *run) for data, size in SIZES.items() for seed in SEEDS for run in RUNS]
if profile() != "experiment":
    quick = {"train": 64, "epochs": 1, "steps": 5}
    asked = [("generated", 0, quick, *run) for run in RUNS[:6] + RUNS[-6:]]
points = [{"data": data, "seed": seed, "what": what, "far": far, **size}
          for data, seed, size, what, far in asked]  # fmt: skip

# %% Read what was kept, or measure tags=["fold"]
file = results_path("07_explain", "attention_defended")
data = "generated" if profile() != "experiment" else "rt_polarity and medical_abstracts"
rows = sweep(
    wiegreffe_pinter_tests,
    points,
    file if profile() == "experiment" else None,
    data=data,
    minutes=30,
)
if profile() != "ci" and file is not None and file.is_file():
    rows = json.loads(file.read_text())["rows"]
sets = list(dict.fromkeys(row["data"] for row in rows))
print("the kept rows of" if len(rows) > 30 else "live, too short to judge by:", *sets)


# %% Read them tags=["fold"]
SHORT = {"rt_polarity": "reviews", "medical_abstracts": "abstracts", "generated": "generated"}
ALL = sorted({row["far"] for row in rows if row["what"] == "adversary"})
MARKS = {"seed": "s", "imitator": "D", "even": "^"}
WHO = {"seed": "another seed", "imitator": "learns its answers anew", "even": "even weights"}


def of(data, what, far=0.0):
    return [row for row in rows if (row["data"], row["what"], row["far"]) == (data, what, far)]


def spread(numbers, times=100, digits=1):
    """Mean (lowest to highest seed)."""
    given = [times * n for n in numbers] or [float("nan")]
    mean, low, high = sum(given) / len(given), min(given), max(given)
    return f"{mean:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def scored(data, what, far=0.0):
    return [spread([row[name] for row in of(data, what, far)]) for name in ("accuracy", "f1")]


# %% The toy, where the place of a word matters tags=["fold"]
evenly = partial(attentive, d_model=32, d_hidden=32, attention=UniformAttention())
right = {"attention": [], "even": []}
for seed in pick(ci=(0,), laptop=SEEDS, gpu=SEEDS):
    without = train_model(fresh(texts, seed, evenly), texts.train, 4, seed, dropped=0.1)
    for name, model in (("attention", judge(seed)), ("even", without)):
        right[name].append(
            scores(run_model(model, texts.test, False), texts.test)["accuracy"]
        )

# %% Even weights tags=["fold"]
lines = []
for data in sets:
    pairs = zip(of(data, "base"), of(data, "even"), strict=True)
    less = [a["accuracy"] - b["accuracy"] for a, b in pairs]
    lines.append([SHORT[data], scored(data, "base")[0], scored(data, "even")[0], spread(less)])
less = [a - b for a, b in zip(*right.values(), strict=True)]
lines.append(["generated reviews", *(spread(r) for r in right.values()), spread(less)])
table(lines, ["", "attention: right, %", "even: right, %", "attention less even"],
      caption="means of the seeds (lowest to highest)")  # fmt: skip

# %% [markdown]
# <details><summary>What Wiegreffe and Pinter measured</summary>
#
# F1 of the positive class on six sets; here the four that are open to all. The other two are
# hospital notes, and are not shown here.
#
# | | attention | even | attention less even |
# |---|---|---|---|
# | IMDb | 0.902 | 0.879 | 0.023 |
# | SST | 0.831 | 0.822 | 0.009 |
# | AG News | 0.964 | 0.960 | 0.004 |
# | 20 Newsgroups | 0.942 | 0.934 | 0.008 |
#
# *Source: Wiegreffe and Pinter (2019), table 2, as a later replication quotes it; the last column
# is computed from the other two.* They speak of little to no improvement on three of the tasks, and
# call AG News and 20 Newsgroups no useful test cases for this reason.
#
# </details>
#
# On our real texts attention is not needed: even weights are right as often on the reviews, within
# the seeds, and on the abstracts no seed of attention is better by more than 0.2. There neither
# attention nor an attack on it says much about the reasons. On the generated reviews it *is*
# needed: without it 85 of a hundred are right, with it all.

# %% [markdown]
# ## Second test: how far apart are two seeds?
#
# [The search](08_attention_is_not.ipynb#experiments) found weights
# that are 0.54 from the model's own on the reviews, and 0.62 on the abstracts. Is that far? Two
# models that were trained alike, from two seeds, are 0.06 apart on both sets (0.05 to 0.07), and
# nobody has attacked them.

# %% [markdown]
# ## Third test: an adversary that is a model
#
# So the authors train a model that has such weights itself: paid for looking elsewhere, as in the
# picture above.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Film reviews, two models trained alike from two seeds: their weights differ, and their "
    "answers too. And a copy of the first that was paid until its weights lay almost as far from "
    "the base's as weights can. Whose answers are nearer to the base's?",
    ["the other seed's", "both alike", "the paid copy's"],
    answer=2,
    explain="It copies the base's answers, the other seed has learned from labels alone. Looking "
    "elsewhere costs it little.",
    key="07_explain/seed-or-adversary",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Weights and answers, against the base tags=["surprise", "slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(4.8, 6.0), layout="constrained")
for axes, data in zip(figure.subplots(2, 1, sharex=True, squeeze=False)[:, 0], sets, strict=False):
    for seed in SEEDS:
        line = [(r["tvd"], r["jsd"]) for f in ALL for r in of(data, "adversary", f)
                if r["seed"] == seed]  # fmt: skip
        axes.plot(*zip(*line, strict=True) if line else ((), ()), "o-", color="#0072B2", alpha=0.7,
                  label="taught to look elsewhere" if seed == 0 else None)  # fmt: skip
    for what, mark in MARKS.items():
        ends = [(r["tvd"], r["jsd"]) for r in of(data, what)]
        axes.plot(*zip(*ends, strict=True), mark, color="#D55E00", fillstyle="none",
                  label=WHO[what])  # fmt: skip
    axes.axhline(0.6931, color="#8a8a8a", linewidth=1)
    axes.set(title=SHORT[data], ylabel="weights apart", ylim=(-0.02, 0.75), xlim=(0, 0.42))
axes.set_xlabel("answers moved (TVD)")
handles, labels = figure.axes[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside upper center", ncols=2)
with_alt(figure, "For each data set, how far the answers (across) and the weights (up) of other "
         "models are from the base's: adversaries climb to the top at little cost in answers; "
         "other seeds stand low and to the right.")  # fmt: skip

# %% The same in numbers tags=["fold"]
FEW, lines = [far for far in ALL if far in (0.0, 0.01, 0.03, 0.1)], []
for data in sets:
    for what, far in [("seed", 0.0), ("imitator", 0.0), *(("adversary", f) for f in FEW)]:
        found = of(data, what, far)
        lines.append([f"{SHORT[data]}: {WHO.get(what, f'paid {far:g}')}",
                      *(spread([r[what] for r in found], 1, 2) for what in ("jsd", "tvd")),
                      scored(data, what, far)[0]])  # fmt: skip
table(lines, ["", "weights apart", "answers moved", "right, %"],
      caption="against the base, means of the seeds (lowest to highest)")  # fmt: skip

# %% [markdown]
# *A mark is one model; the grey line is 0.69, as far as weights can be.*
#
# - **A real model gets there too.** Paid 0.03, a copy looks elsewhere by 0.62 on the reviews; its
#   answers move by 0.06, where a copy that is paid nothing moves by 0.03, and another seed by 0.14.
#   About as many reviews are right. The curve jumps, somewhere between 0.01 and 0.03.
# - **On the abstracts all answers move more**: paid 0.1, by 0.19 at 0.64 apart, where a copy that
#   is paid nothing moves by 0.15, and another seed by 0.25. Fewer are right, 71.8 of a hundred
#   against 75.5 of the copy that is paid nothing.
#
# <details><summary>Why our copies begin at the base</summary>
#
# A model that begins anew and learns the base's answers only (the diamond) comes nearer to the base
# than another seed on the reviews, and fails on the abstracts, which are too few to copy from. So
# our adversaries begin at the base's weights, which makes it easier for them. Wiegreffe and Pinter
# (2019, table 4) trained theirs anew; their $\lambda$ weighs sums over a batch and is not to be
# compared with ours. They conclude (section 6) that for LSTMs such weights can be found on some
# tasks.
#
# </details>
#
# An alternative, they say, has to be a model's own. Those of our copies are. By this test alone the
# charge holds: the same answers do not fix the weights.

# %% [markdown]
# ## Fourth test: can another model use the weights?
#
# A model without an LSTM mixes the words' own rows, by weights that are given to it, in training
# and in the test. If the weights of the base mark words that matter for the task, and not only for
# the base, they are a good **guide**.

# %% tags=["fold"]
predict(
    "Film reviews. The model without an LSTM is guided by the base's weights, or by those of the "
    "copy that was paid 0.1, under which this copy answers like the base. Which guide is better?",
    [
        "both alike, since both models answer alike",
        "the base's, in each seed",
        "now one, now the other, by seed",
    ],
    answer=1,
    explain="The copy looks at a place whose state has read the whole review. The row of that "
    "word, without the LSTM, knows nothing of it.",
    key="07_explain/guided-by-the-adversary",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Guides tags=["surprise", "fold"]
TOLD = {"even": "even weights", "itself": "its own, trained", "base": "the base LSTM's",
        "adversary": "the adversary's, paid 0.1", "search": "found by search"}  # fmt: skip
paid, lines = {"adversary": 0.1}, []
for guide in GUIDES:
    cells = [scored(data, f"guided {guide}", paid.get(guide, 0.0)) for data in sets]
    lines.append([TOLD[guide], *(cell[0] for cell in cells), cells[-1][1]])
head = ["guide", *(f"{SHORT[d]}: right, %" for d in sets), f"{SHORT[sets[-1]]}: F1"]
table(lines, head, caption="a model without an LSTM, means of the seeds (lowest to highest)")

# %% Where the adversary looks tags=["fold"]
lines = [[f"{SHORT[row['data']]}, seed {row['seed']}", f"`{row['word']}`",
          f"{100 * row['share']:.0f} %", f"{row['weight']:.2f}"]
         for row in rows if row["what"] == "places"]  # fmt: skip
table(lines, ["adversary, paid 0.1", "heaviest word", "in so many texts", "its weight, mean"])

# %% [markdown]
# Wiegreffe and Pinter (table 3, section 6) found that the base's weights serve their small model
# well, and the adversary's poorly beside them.
#
# - **The adversary's weights are no guide**: 57.5 and 46.1 of a hundred, below every seed of the
#   base's. Nor are those of the search. On the reviews we see why. The adversary lays nearly all
#   weight on one place, in two seeds of three on the full stop of 97% of the reviews: its state
#   has read the whole text, the word itself says nothing. This is the authors' strongest point, and
#   it came out.
# - **But are the base's a good guide?** Even weights are nearly as good on the reviews (74.1
#   against 74.6), and on the abstracts better in each seed (79.1 at least, against 78.4 at most).
#   With our models, which do not need attention, this half of the paper's result did not come out.
#
# So some weights mark words that another model can use. By which words *this* model decides, the
# test cannot show.

# %% [markdown]
# ## What does the model decide by, when it looks elsewhere?
#
# In the generated reviews the deciding words are known. How surely does one of them stand above
# another word?

# %% Two explanations of models that look elsewhere tags=["fold"]
from deepdive.evaluate import bootstrap
from deepdive.explain.evaluation.agreement import recovery
from deepdive_book.ch07.runs.attention_debate_results import importances_of

COUNT = pick(ci=4, laptop=60, gpu=60)
part, lines = texts.test.take(slice(0, COUNT)), []
for far in (None, FARS[0], FARS[-1]) if profile() == "ci" else (None, *FARS[2:]):
    found, right, away = {"attention": [], "left out": []}, [], []
    for seed in pick(ci=(0,), laptop=SEEDS, gpu=SEEDS):
        model = judge(seed, far)
        each = importances_of(model, part)
        for name, row_of in found.items():
            row_of.append([recovery(e[name], c[: len(e[name])])
                           for e, c in zip(each, cause, strict=False)])  # fmt: skip
        seen, first = (run_model(model, texts.test, False),
                       run_model(judge(seed), texts.test, False))  # fmt: skip
        right.append(scores(seen, texts.test)["accuracy"])
        away.append(float(jsd(seen.weights, first.weights).mean()))
    sure = [bootstrap(torch.tensor(row_of).mean(0).numpy()) for row_of in found.values()]
    name = "base" if far is None else f"paid {far:g}"
    lines.append([name, spread(away, 1, 2), spread(right, 100, 0),
                  *(f"{s.value:.2f} [{s.low:.2f}, {s.high:.2f}]" for s in sure)])  # fmt: skip
table(lines, ["", "weights apart", "right, %", "attention finds", "leaving out finds"],
      caption="a deciding word above another (½ by chance), 95 % over texts; seeds: lowest to "
      "highest")  # fmt: skip

# %% [markdown]
# Paid 0.1, attention stands below chance (0.45). Leaving out still finds the deciding words (0.78),
# less surely than in the base (0.91). So attention *can* lie, once somebody pays for it; weights
# that were trained without that purpose find more (0.76).
#
# ## The verdict
#
# | test | our result | it can show |
# |---|---|---|
# | even weights | as good, on both real sets | whether attention is needed at all |
# | two seeds | 0.06 apart | where "far" begins |
# | taught adversary | 0.62 apart, answers 0.06 | that answers leave the weights open |
# | guide | 57.5 against 74.6 | that weights mark words of use to others |
# | planted cause | 0.76 trained, 0.45 paid | whether weights name the cause |
#
# None of the first four says by which words this model decides. The last one does, for texts that
# we made ourselves. An explanation may have to be **plausible** (a reader finds it sensible) or
# **faithful** (the model worked so); the planted cause asks for the second.
#
# Both titles are right about something. Attention is **not the** explanation: the answer does not
# fix it, and a model can be taught to show other weights. It is **not no** explanation: where it is
# needed and nobody has tampered with it, it finds deciding words more surely than chance. Weights
# that were [searched for](08_attention_is_not.ipynb) do not. Those of a copy that is paid find them
# as surely as before at 0.01, less at 0.03, and at 0.1 they point away from them.
#
# ## In practice
#
# - Before you show weights, train the same model with even ones. If it is as good, say so beside
#   the picture.
# - Give every distance its floor: another seed, trained alike.
# - Do not trust weights of a model whose maker gains by what they show. Leave words out yourself.
# - For a claim about this model's reasons use what acts on the model (leaving out, patching). For a
#   hint where to look, attention is cheap.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why does the search prove little about a model that does as well with even weights?
#
#    <details><summary>Answer</summary>
#
#    Its weights decide little, so moving them moves little, whatever they mean.
#
#    </details>
# 2. What are the two seeds for?
#
#    <details><summary>Answer</summary>
#
#    They say how far apart weights are by chance of training alone.
#
#    </details>
# 3. What does the taught adversary have that weights found text by text lack?
#
#    <details><summary>Answer</summary>
#
#    It is one model that gives these weights itself, on texts it has not seen too.
#
#    </details>
# 4. Why is the adversary's attention useless to a model without an LSTM?
#
#    <details><summary>Answer</summary>
#
#    It lies on words whose states have read the rest; the words themselves say nothing.
#
#    </details>
# 5. How could leaving out still find the deciding words in the adversary?
#
#    <details><summary>Answer</summary>
#
#    It acts on the input: the state that is looked at changes when a deciding word is gone.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* The base gives two words ½ and ½. A copy gives one of them everything, and
#    its answers move by 0.07. From which $\lambda$ on does that pay?
#
#    <details><summary>Answer</summary>
#
#    KL is $\log 2 = 0.69$, so above $0.07 / 0.69 = 0.10$.
#
#    </details>
# 2. *(on paper, 3 min)* Which weights of the copy make KL largest, if the base gives three words ⅛,
#    ⅜ and ½?
#
#    <details><summary>Answer</summary>
#
#    All on the first: $\log 8 = 2.08$. The adversary is paid most for the word that the base looks
#    at least.
#
#    </details>
# 3. *(find the bug, 10 min)* Begin the adversary of the generated reviews anew instead of
#    at the base (`adversary(judge(0), texts.train, 0.0, 4, 0, fresh(texts, 9, small))`). Is it
#    still a copy? Compare `tvd` of its answers with that of another seed.
#
#    <details><summary>Answer</summary>
#
#    Without any pay for looking elsewhere it is a plain student of the base. If it is farther from
#    the base than another seed is, a curve that begins there says nothing about attention.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to exercises 1 and 2, checked.
from math import log

half, first = torch.tensor([[0.5, 0.5]]), torch.tensor([[1.0, 0.0]])
kl = -divergent_loss(said, said, first, half, 1.0)
print(f"{float(kl):.2f} {0.07 / float(kl):.2f} {log(8):.2f}")

# %% [markdown]
# ## Summary
#
# Four tests ask four questions, and each needs its floor. On our real texts attention was not
# needed, a taught copy looked elsewhere at little cost, and its weights were useless to another
# model; on texts whose deciding words are known, trained attention found them more surely than
# chance, and a copy that was paid pointed away from them. Back to the driver: that other stories
# end the same way does not make his false, and that he tells it does not make it true. Take the red
# light away, and see whether he stops.
#
# ## Further reading
#
# - Wiegreffe and Pinter (2019), *Attention is not not Explanation*: section 3 for even weights,
#   seeds and guides, section 4 for the adversary.
# - Jain and Wallace (2019), *Attention is not Explanation*.
# - Pruthi, Gupta, Dhingra, Neubig, Lipton (2020), *Learning to Deceive with Attention-Based
#   Explanations*: models trained to hide what they use.
# - Jacovi and Goldberg (2020), *Towards Faithfully Interpretable NLP Systems*: what a faithful
#   explanation has to be.
