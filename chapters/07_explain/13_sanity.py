# %% [markdown] tags=["slide"]
# # Sanity checks for explanations: faithfulness and randomization tests
#
# A bank's model refuses a loan, and a colored text says why. By mistake somebody scrambles the
# model's numbers, and now it guesses. Asked again, it colors the same words as before. What had
# the colors told you the first time, and how would you test the next method before you trust it?
#
# <small>Prerequisites: [what explanations are](00_opening.ipynb) · 14 min · runs on a laptop;
# results of the long runs are included · book 7.3</small>

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
# %% A text, a model, and what to ask tags=["fold"]
import copy
from dataclasses import replace

import torch

from deepdive.explain.evaluation.sanity import shuffle
from deepdive.explain.side_by_side import METHODS, Asked
from deepdive_book.ch07.toys.review_words import SENTENCE, review_words
from deepdive_book.data.labeled_cause_reviews import generated_verdicts
from deepdive_book.kit.profile import pick

toy = review_words()
made = generated_verdicts(60, seed=9)  # another seed than that of its lessons
SOME = pick(ci=7, laptop=40, gpu=60)  # reviews to explain


def asked(model, text, label):
    """Why does this model give this review this label?"""
    return replace(toy.asked(text, label), model=model)


# %% Scramble it, part after part tags=["fold"]
PARTS = {"last layer": "out", "pooler": "pooler", "block 2": "encoder.stack.blocks.1",
         "block 1": "encoder.stack.blocks.0", "embeddings": "encoder.embeddings"}  # fmt: skip


def scrambled(model, seed=0):
    """The model as it is, and after each part from the top has its numbers shuffled."""
    now, draw = copy.deepcopy(model), torch.Generator().manual_seed(seed)
    found = [model]
    for part in PARTS.values():
        shuffle(now.get_submodule(part), draw)
        found.append(copy.deepcopy(now))
    return found


def right(model):
    """How many of the new reviews it judges right."""
    return sum(int(model(toy.tokens(text)).argmax()) == label
               for text, label in zip(made.texts, made.labels, strict=True))  # fmt: skip


models = scrambled(toy.model)
STEPS = ["nothing", *(f"+ {part}" for part in PARTS)]

# %% Move the slider tags=["slide", "fold"]
from deepdive_book.ch07.figures.attribution_slider import attribution_slider

SHOWN = ["random", "gradient norm", "gradient x input", "AttnLRP", "LIME", "kernel SHAP"]
told = [f"Scrambled: {step}. It judges {right(model)} of {len(made)} new reviews right."
        for step, model in zip(STEPS, models, strict=True)]  # fmt: skip
rows = {name: torch.stack([METHODS[name](asked(model, SENTENCE, 0)) for model in models])
        for name in SHOWN}  # fmt: skip
attribution_slider(SENTENCE.split(), rows, STEPS, told)

# %% [markdown]
# *A generated review and the small network that judges it ([7.0](00_opening.ipynb)). Its parts are
# scrambled from the top, each with those before it: the numbers of a part are shuffled. Blue words
# speak for "negative", orange ones against it; "random" is a list of random numbers.*
#
# 1. From which step on does the network guess? Which row has not moved by then?
# 2. Which rows still name *dull* or *cold* when all is scrambled?
#
# <details><summary>Answers to the two tasks</summary>
#
# 1. From block 2 on; before that it judges nearly all reviews right. Only *random* has not moved.
# 2. Whatever they name then has no reason in what was learned: nothing of it is left.
#
# </details>
#
# An explanation of a model should change with the model. If the picture of a network that guesses
# looks like the picture of the network that knew, it shows the text, or the form of the network,
# and nothing that was learned. Adebayo et al. (2018) made this a sanity check (they give the parts
# new first weights; we shuffle them). Two methods in wide use for pictures, **Guided
# Backpropagation** and **Guided Grad-CAM**, hardly changed until the lowest layers were reached.
#
# ## By hand: how alike are two pictures?
#
# Only the order of the words counts. Give each word its rank, subtract the ranks, square and add:
#
# $$\rho = 1 - \frac{6 \sum_i d_i^2}{S (S^2 - 1)}$$
#
# | word | whole model | rank | scrambled | rank | $d$ | $d^2$ |
# |---|---|---|---|---|---|---|
# | the | 0 | 1 | 3 | 3 | 2 | 4 |
# | music | 2 | 2 | 1 | 2 | 0 | 0 |
# | is | 4 | 3 | 0 | 1 | 2 | 4 |
# | cold | 9 | 4 | 8 | 4 | 0 | 0 |
#
# The squares add up to 8, so $\rho = 1 - 48 / 60 = 0.2$: *the* and *is* changed places, *music* and
# *cold* kept theirs. The same order gives 1, the reverse -1, and orders that have nothing to do
# with each other 0 in the mean.

# %% tags=["nbval-check-output"]
from deepdive.explain.evaluation.sanity import rank_correlation

whole, forgot = torch.tensor([0.0, 2.0, 4.0, 9.0]), torch.tensor([3.0, 1.0, 0.0, 8.0])
assert abs(rank_correlation(whole, forgot) - 0.2) < 1e-6
print(f"{rank_correlation(whole, forgot):.1f} {rank_correlation(whole, whole):.1f} "
      f"{rank_correlation(whole, -whole):.1f}")

# %% [markdown]
# ## What each picture does

# %% tags=["fold", "nbval-check-output"]
from deepdive_book.kit.predictions import predict as ask

ask(
    "The last layer and the pooler are scrambled; of 60 reviews the network still judges 54 right. "
    "Whose picture of the reviews stays exactly as it was?",
    ["nobody's: the model is another one", "that of the attention weights", "that of the gradient",
     "that of the words hidden one by one"],
    answer=1,
    explain="The weights of attention are computed below the last layer and the pooler. Whatever "
    "happens above, they do not change: attention shows where the model looked, not what it did "
    "with it.",
    key="07_explain/forgets",
)  # fmt: skip

# %% Explain the reviews by every method, of every model tags=["fold"]
def pictures(method, model):
    """What a method says of each review, (S,) each: absolute, signs may turn with the answer."""
    return [method(asked(model, text, label)).abs()
            for text, label in zip(made.texts[:SOME], made.labels[:SOME], strict=True)]  # fmt: skip


seen = {name: [pictures(method, model) for model in models] for name, method in METHODS.items()}
alike = {name: [[rank_correlation(a, b) for a, b in zip(steps[0], step, strict=True)]
                for step in steps] for name, steps in seen.items()}  # fmt: skip

# %% How alike the pictures are tags=["slide", "fold"]
from deepdive.evaluate import bootstrap
from deepdive_book.kit.tables import table

table(
    [[name, *(bootstrap(alike[name][step]) for step in (2, 3, 5))] for name in METHODS],
    ["method", "top", "+ block 2", "all"],
    formats=dict.fromkeys(("top", "+ block 2", "all"), ".2f"),
    caption=f"Rank correlation with the picture of the whole model, mean of {SOME} reviews, with "
    "95 % intervals over the reviews; one scrambled copy (top: last layer and pooler)",
)

# %% [markdown]
# Read the middle column first: there the model guesses (34 of 60). Most pictures still have 0.36 to
# 0.53 in common with the first one, and **rollout** has 0.72. When everything is scrambled, no
# method has more than 0.15, except *random*: it gives the same numbers for every model, which the
# test finds at once.
#
# In the left column both rows of attention stay at 1.00, while the layers above them are lost: they
# show where the model looked, not what it did with it ([7.8](08_attention_is_not.ipynb)).
#
# The test finds methods whose picture **stays**. One that draws new numbers each time passes, and
# has read nothing (Binder et al. 2023). Passing is not sufficient. Nor is it always necessary: with
# the upper parts shuffled the model still gets most predictions right, so a faithful picture should
# stay similar. Passing is necessary only once the predictions are gone.
#
# ## A method that passes need not be right
#
# Where a network was trained, nobody knows its reasons. So here are eight that were built by hand,
# each with one reason, such as "the word *awful*", or "*great* and *cast* together". A method finds
# the reason where each of its words stands above every other word.

# %% Eight models whose reason is known tags=["fold"]
from deepdive_book.ch07.toys import planted, planted_attention

PLANTED = {
    **planted.examples(),
    "a head that copies": (planted_attention.copying(), "the plot was great and bad"),
    "a head that looks away": (planted_attention.decoy(), "the film was great and bad"),
}


# %% Two answers of a model that gives one number tags=["fold"]
from torch import nn


class Answers(nn.Module):
    """No and yes, (B, 2), of a model that gives how far it is on the side of yes, (B,)."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        yes = self.model(tokens)
        return torch.stack([torch.zeros_like(yes), yes], 1)


# %% Who finds which reason? tags=["fold"]
from deepdive.explain.evaluation.agreement import recovery


def finds(method, model, text):
    """Whether all words of the reason stand above all others; None where there is no attention."""
    tokens = planted.ids(text)
    question = Asked(Answers(model), "model.embedded", tokens[None], torch.arange(len(tokens)),
                     1, 0, "model.weights")  # fmt: skip
    try:
        values = method(question)
    except ValueError:  # no hook point of attention weights
        return None
    return recovery(values.abs().round(decimals=4), model.cause(tokens)) == 1


found = {name: {reason: finds(method, *case) for reason, case in PLANTED.items()}
         for name, method in METHODS.items()}  # fmt: skip

# %% Found and missed tags=["slide", "nbval-check-output", "fold"]
def line(name):
    tried = {reason: yes for reason, yes in found[name].items() if yes is not None}
    missed = "; ".join(reason for reason, yes in tried.items() if not yes)
    return [name, f"{sum(tried.values())} of {len(tried)}", missed or "none"]


table([line(name) for name in METHODS], ["method", "found", "missed"],
      caption="Reasons that were planted in eight models, and those that a method did not find")

# %% [markdown]
# The gradient's norm passed the test above and misses four of eight. Where words add up, every word
# has the same gradient, whether it stands there or not: it says what a change would do, not what
# the word did. *Occlusion* hides one word at a time and misses a keyword that stands there twice:
# the other one still does it. A head that looks away from what counts takes all three methods of
# attention with it.
#
# <details><summary>Two methods miss the negation because they answer another question</summary>
#
# In *not good*, the Shapley value of *good* is zero: alone it would have spoken for the film, after
# *not* against it, and the mean of the two is nothing. Integrated gradients, too, pay out such a
# mean. They answer what they were asked; the planted reason counts *good* all the same.
#
# </details>
#
# ## A measure without the truth
#
# For a trained model nobody has the list of reasons. **Faithfulness** is then measured on the model
# itself: take away the words that a method calls important. If the answer falls, they were.
# *Comprehensiveness* is how much it falls (DeYoung et al. 2020); *deletion* is the area under the
# answer while word after word goes, *insertion* the same while they come back, the most important
# first. Our reviews were generated, so beside them stands the **truth**: how surely a word that
# decides (an adjective, or its *not*) stands above one that does not.

# %% tags=["fold", "nbval-check-output"]
ask(
    "All methods are held to random orders, on forty reviews. In truth, one of them is behind the "
    "random orders, interval and all. Which?",
    ["gradient norm, which missed half of the planted reasons", "gradient x input, which found all",
     "attention rollout, which found none", "occlusion"],
    answer=1,
    explain="Its absolute values are right and its signs are not. The network is sure, its answer "
    "hardly rises any more, and then a slope may have either sign.",
    key="07_explain/behind-drawn",
)  # fmt: skip

# %% The measures tags=["fold"]
import numpy as np

from deepdive.explain.evaluation.faithfulness import (
    area,
    comprehensiveness,
    deletion,
    insertion,
    random_orders,
)

MEASURES = {"comprehensiveness": comprehensiveness,
            "deletion": lambda game, given: -area(deletion(game, given)),
            "insertion": lambda game, given: area(insertion(game, given))}  # fmt: skip
ways = {name: method for name, method in METHODS.items() if name != "random"}
ways["gradient x input, absolute"] = lambda question: METHODS["gradient x input"](question).abs()
reviews = list(zip(made.texts, made.labels, made.deciding, strict=True))[:SOME]


# %% Judge each review tags=["fold"]
def judged(kind):
    """For each method and measure a number a review: how far it is ahead of random orders."""
    model, ahead = review_words(kind).model, {}
    for text, label, places in reviews:
        question = asked(model, text, label)
        game, reason = question.game(), torch.zeros(len(text.split()), dtype=torch.bool)
        reason[list(places)] = True
        drawn = random_orders(game.size, 20)
        floor = {measure: of(game, drawn).mean() for measure, of in MEASURES.items()}
        for name, way in ways.items():
            given = way(question).round(decimals=4)
            ahead.setdefault((name, "truth"), []).append(recovery(given, reason) - 0.5)
            for measure, of in MEASURES.items():
                told = float(of(game, given) - floor[measure])
                ahead.setdefault((name, measure), []).append(told)
    return ahead


judgements = {kind: judged(kind) for kind in ("blanks", "plain")}

# %% Truth and a measure, drawn tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

told = judgements["blanks"]
order = sorted(ways, key=lambda name: -np.mean(told[name, "truth"]))
figure = Figure(figsize=(7, 3.6))
panels = figure.subplots(1, 2, sharey=True)
for axes, measure, color in zip(panels, ("truth", "comprehensiveness"), ("C0", "C1"), strict=True):
    for place, name in enumerate(order):
        x = bootstrap(told[name, measure])
        axes.plot([x.low, x.high], [place, place], color=color, lw=2)
        axes.plot(x.value, place, "o", color=color, ms=5)
    axes.axvline(0, color="grey", lw=1, ls="--")
    axes.set(title=measure, xlabel="ahead of random orders")
panels[0].set_yticks(range(len(order)), order)
panels[0].invert_yaxis()
with_alt(figure, "Twelve rows: how far each method is ahead of random orders in truth and in "
         "comprehensiveness, with 95 % intervals; a dashed line at zero.")

# %% The same in numbers tags=["fold"]
SHORT = ["truth", "compreh.", "deletion", "insertion"]
table([[name, *(bootstrap(told[name, measure]) for measure in ("truth", *MEASURES))]
       for name in order],
      ["method", *SHORT], formats=dict.fromkeys(SHORT, ".2f"),
      caption="How far each method is ahead of random orders, with 95 % intervals; the model knows "
      "texts with blanks")  # fmt: skip

# %% [markdown]
# *0 is the floor, the mean of twenty random orders (for the truth 0.5, by chance). Truth is a
# probability, the rest are in units of the answer's margin. A larger number is better everywhere.
# "Absolute" is gradient x input without its signs.*
#
# *Gradient x input*, which found every planted reason, is behind the random orders here, and only
# its signs lead astray: without them it is 0.35 ahead. Where a network is sure its answer hardly
# rises any more, and a small slope may have either sign ([7.2](02_gradients.ipynb) measures it).
# *Gradient norm*, which missed half of the planted reasons, is 0.33 ahead. No method is good by
# name: what it finds depends on how the model came by its answer.
#
# ## Would the measures have told us?
#
# Does a measure that knows no truth put the methods in the order of the truth? 1 would be the same
# order, 0 none in common.

# %% Does a measure put the methods in the order of the truth? tags=["fold"]
def agreement(told, measure, draws=500):
    """Rank correlation over the methods of a measure and the truth, over samples of reviews."""
    draw, found = np.random.default_rng(0), []
    both = [np.array([told[name, m] for name in ways]) for m in ("truth", measure)]
    for k in range(draws + 1):
        some = draw.integers(SOME, size=SOME) if k else np.arange(SOME)
        found.append(rank_correlation(*(torch.tensor(part[:, some].mean(1)) for part in both)))
    low, high = np.quantile(found[1:], [0.025, 0.975])
    return f"{found[0]:.2f} [{low:.2f}, {high:.2f}]"


table([[m, *(agreement(judgements[kind], m) for kind in judgements)]
       for m in MEASURES],
      ["measure", "learned with blanks", "whole texts only"],
      caption="Rank correlation over twelve rows: the measure and the truth, 95 % intervals over "
      "reviews")  # fmt: skip

# %% [markdown]
# Roughly, here, all three do: the lowest has 0.79, and no interval goes below 0.46. They part over
# *occlusion*, praised by comprehensiveness and in truth among the last. In the reviews where two
# words say the same ("cold and the script dull") hiding one of them changes nothing, so it gives
# neither anything:

# %% Truth by the form of the review tags=["fold"]
pairs = np.array([" and " in text for text, _, _ in reviews])
table([[name, bootstrap(np.array(told[name, "truth"])[~pairs]),
        bootstrap(np.array(told[name, "truth"])[pairs])]
       for name in ("occlusion", "LIME", "kernel SHAP")],
      ["method", "one word decides", "two say the same"],
      formats=dict.fromkeys(("one word decides", "two say the same"), ".2f"),
      caption="Truth, ahead of random orders, by the form of the review")  # fmt: skip

# %% [markdown]
# Adebayo et al. have a second test: train on labels that are drawn at random. Here it tells
# nothing, and its floor shows why.

# %% [markdown] tags=["aside"]
# ### Labels drawn at random
#
# The other test of Adebayo et al.: train the same network on labels that were drawn. It learns its
# texts by heart. Does the picture differ from that of the network that learned the rule? The floor:
# the same network, trained on the true labels again, with the texts in another order. Three
# trainings each, kept beside the page (`deepdive run 7.13 --profile experiment`).

# %% Networks that learn true labels or drawn ones tags=["fold"]
import random

from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.ch07.toys.review_words import build_review_words
from deepdive_book.kit.experiments import results_path, sweep
from deepdive_book.kit.profile import profile
from deepdive_book.tasks.classification import batches, encode, loss, predict

LESSONS = 300


def taught(labels, texts, steps, seed):
    """A network that learned these labels, and the share of them that it has by heart."""
    model, ids = build_review_words(len(toy.tokenizer)), encode(texts, toy.tokenizer)
    fit(model, batches(ids, labels, seed=seed), loss, steps=steps, seed=seed, progress=False,
        optimizer=adam(model), schedule=cosine(3e-3, warmup=min(50, steps // 2), total=steps))
    said = predict(model.eval(), ids, progress=False).argmax(1)
    return model, float((said == torch.tensor(labels)).float().mean())


# %% Compare their pictures tags=["fold"]
def compared(one, other, lessons, reviews):
    """How alike each method's pictures of two networks are, mean over reviews."""
    row = {}
    for name, method in METHODS.items():
        alike = [rank_correlation(*(method(asked(m, text, label)).abs() for m in (one, other)))
                 for text, label in zip(lessons.texts[:reviews], lessons.labels, strict=False)]
        row[name] = round(sum(alike) / reviews, 3)
    return row


# %% Two networks, three times tags=["fold"]
def measure(seed, steps, reviews):
    """True labels and drawn ones."""
    lessons = generated_verdicts(LESSONS, seed=100 + seed)
    drawn = list(lessons.labels)
    random.Random(seed).shuffle(drawn)
    (true, a), (false, b) = (taught(x, lessons.texts, steps, seed) for x in (lessons.labels, drawn))
    row = {"by_heart": round(a, 3), "by_heart_drawn": round(b, 3)}
    return row | compared(true, false, lessons, reviews)


def again(seed, steps, reviews):
    """True labels twice: the same first weights, the texts in another order."""
    lessons = generated_verdicts(LESSONS, seed=100 + seed)
    (one, a), (other, b) = (taught(lessons.labels, lessons.texts, steps, seed + more)
                            for more in (0, 50))  # fmt: skip
    return {"by_heart": round(min(a, b), 3)} | compared(one, other, lessons, reviews)


# %% True labels and drawn ones, and true ones twice tags=["fold"]
def of(measure, name):
    """The rows of three trainings, kept or measured."""
    points = [{"seed": seed, "steps": 900, "reviews": 40} for seed in (1, 2, 3)]
    if profile() == "ci":
        points, name = [{"seed": 1, "steps": 20, "reviews": 2}], None
    return sweep(measure, points, results_path("07_explain", name) if name else None)


def spread(rows, name):
    """Mean (lowest to highest training)."""
    given = [row[name] for row in rows]
    return f"{sum(given) / len(given):.2f} ({min(given):.2f} to {max(given):.2f})"


drawn, twice = of(measure, "drawn_labels"), of(again, "true_labels_twice")
print("known by heart, at least:", min(row["by_heart_drawn"] for row in drawn), "of drawn labels,",
      min(row["by_heart"] for row in (*drawn, *twice)), "of true ones")  # fmt: skip
table([[name, spread(drawn, name), spread(twice, name)] for name in METHODS],
      ["method", "true and drawn", "true, twice"],
      caption="Rank correlation of the pictures of two networks: mean of three trainings (lowest "
      "to highest)")  # fmt: skip

# %% [markdown]
# All networks know their labels by heart, and the pictures of true and drawn labels have little in
# common. It looks as if every method but *random* saw that something else was learned. But look at
# the floor: two networks that both learned the **true** labels, from the same first weights, have
# hardly more in common. In ten of eleven methods the ranges overlap, and in the other one the true
# pair is the less alike. So on this small network the test tells nothing: another order of the
# texts changes a picture as much as other labels do.

# %% [markdown]
# ## In practice
#
# 1. Before you believe a method, scramble the model and ask again. It takes a few lines and no
#    labels, and it finds methods whose picture stays.
# 2. Put random orders into every table of explanations. *Ahead of it, with an interval* is the
#    least that a method must be, and here two in common use were not.
# 3. Where you can, plant a reason: a word that you add to the texts of one class. Then you have a
#    truth of your own ([7.14](14_shortcuts.ipynb)).
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. What does it mean if an explanation stays the same while the model is scrambled?
#
#    <details><summary>Answer</summary>
#
#    That it does not depend on what was learned: it shows the text or the form of the network.
#
#    </details>
# 2. Why do pictures of attention not notice that the last layer is scrambled?
#
#    <details><summary>Answer</summary>
#
#    The weights are computed below it; they show where the model looked, not what it did with it.
#
#    </details>
# 3. A method passes the test. What do you know?
#
#    <details><summary>Answer</summary>
#
#    That its picture changes with the model, as new random numbers do too. Not that it is right:
#    *gradient x input* passed, and was behind a random order.
#
#    </details>
# 4. Why does a table of explanations need a random order in it?
#
#    <details><summary>Answer</summary>
#
#    A measure has no natural zero: also a list of random numbers hits some of the words that count.
#
#    </details>
# 5. Why is a measure that hides words kind to methods that hide words?
#
#    <details><summary>Answer</summary>
#
#    Both ask the model the same: what it says of texts with blanks. They may agree on what is not
#    so for whole texts.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* Five words have the ranks 1 2 3 4 5 before and 2 1 4 3 5 after. How alike
#    are the pictures?
#
#    <details><summary>Answer</summary>
#
#    The squares add up to 4: $1 - 24 / 120 = 0.8$.
#
#    </details>
# 2. *(code, 8 min)* A colleague explains with the length of each word's row where it enters the
#    first layer. From which part on does the test find him out, and why not earlier?
#
#    <details><summary>Answer</summary>
#
#    Only when the embeddings are scrambled: his picture reads nothing above them. See below.
#
#    </details>
# 3. *(code, 10 min)* Break an axiom: write a method that returns the picture of *another* model
#    that learned the same task. It finds the words that decide. Does the test find it out?
#
#    <details><summary>Answer</summary>
#
#    At once: its picture never moves. Being right about the task is not being right about the
#    model.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to the exercises, checked.
from deepdive.core.hooks import record

ranks = torch.tensor([1.0, 2, 3, 4, 5]), torch.tensor([2.0, 1, 4, 3, 5])
print(f"1: {rank_correlation(*ranks):.1f}")


# %% tags=["nbval-check-output"]
def length(question):
    with record(question.model, question.point) as rows, torch.no_grad():
        question.model(question.tokens)
    return question.of_words(rows[question.point][0][0].norm(dim=-1))


def borrowed(question):
    """The picture of the toy that learned from whole texts, whatever model is asked."""
    other = review_words("plain").model
    return METHODS["LIME"](replace(question, model=other))


for name, method in (("2: length", length), ("3: borrowed", borrowed)):
    first, *rest = (method(asked(model, SENTENCE, 0)) for model in models)
    print(name, [bool(rank_correlation(first, now) > 0.999) for now in rest])

# %% [markdown]
# ## Summary
#
# An explanation that stays the same while a model forgets has not explained the model; scrambling
# it from the top finds such methods without any labels. To pass is not to be right: planted
# reasons, a random order as the floor and intervals tell more, and they put methods in different
# places for different models. Back to the bank: its colors had shown the form of the text or of
# the network, nothing of what had been learned, and one scrambled copy would have told so on the
# first day.
#
# ## Further reading
#
# - Adebayo, Gilmer, Muelly, Goodfellow, Hardt, Kim (2018), *Sanity Checks for Saliency Maps*:
#   sections 3.1 and 3.2, weights and labels.
# - DeYoung, Jain, Rajani, Lehman, Xiong, Socher, Wallace (2020), *ERASER*: section 4.2, the
#   measures.
# - Madsen, Reddy, Chandar (2024), *Faithfulness Measurable Masked Language Models*: a model that
#   learned with blanks may be asked about them.
# - Binder, Weber, Lapuschkin, Montavon, Müller, Samek (2023), *Shortcomings of Top-Down
#   Randomization-Based Sanity Checks*: why noisy pictures score high.
