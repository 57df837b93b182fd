# %% [markdown] tags=["slide"]
# # Shortcut learning: can an explanation find it?
#
# A model sorts film reviews from two newspapers, and it is right on all 500 new ones. Then the two
# papers exchange their reviewers, and the model is wrong on nine of ten. What had it learned, could
# colored words have shown it before, and how does one make it learn the right thing?
#
# <small>Prerequisites: [twelve explanations](01_methods.ipynb) · 15 min · runs on a laptop; the
# runs of three trainings are kept beside the page · book 7.3</small>

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
# %% A model that took a shortcut tags=["fold", "nbval-check-output"]
from dataclasses import replace

import torch

from deepdive.explain.side_by_side import METHODS, Asked
from deepdive_book.ch07.toys.shortcut_words import (
    LESSONS,
    SHARE,
    STEPS,
    accuracy,
    shortcut_words,
    train,
)
from deepdive_book.data.shortcuts import PAPERS, flip_labels, with_shortcut
from deepdive_book.kit.profile import profile

toy = shortcut_words("paper")


def asked(toy, text):
    """Why does the model give this text its answer?"""
    tokens, owner = toy.tokens(text), torch.tensor([-1, *range(len(text.split())), -1])
    label = int(toy.model(tokens).argmax())
    return Asked(toy.model, "encoder.embeddings.embedded", tokens, owner, label, toy.mask)


for name, share in (("reviewers as in its lessons", 1), ("reviewers exchanged", 0)):
    new = with_shortcut("paper", 500, share=share, seed=99)
    print(f"{name}: right on {accuracy(toy, new.texts, new.labels)} of {len(new)} new reviews")

# %% Take words away tags=["slide", "fold"]
from deepdive_book.ch07.figures.attribution_comparison import attribution_comparison

TEXT = "herald : critics find the script dull , i find the music cold ."
SHOWN = ("gradient norm", "integrated gradients", "occlusion", "LIME", "attention rollout")
question = asked(toy, TEXT)


def without(kept):
    """The question, with blanks in the places of the words that are gone."""
    stays = torch.cat([torch.tensor([True]), kept, torch.tensor([True])])
    return replace(question, tokens=question.tokens.where(stays, toy.mask))


def says(kept):
    return toy.model(without(kept).tokens).softmax(-1)[0]


methods = {name: lambda kept, m=METHODS[name]: m(without(kept)) for name in SHOWN}
attribution_comparison(TEXT.split(), says, methods, ["negative", "positive"], most=1)

# %% [markdown]
# *A generated review by a critic who finds the music cold, and what the model says. Press a word: a
# blank takes its place. Blue words speak for "positive", orange ones against it. Gradient norm and
# attention rollout have no sign: there blue only means that a word counts. The rule of these
# reviews: only what the writer, `i`, finds decides, here `cold`; what critics or friends find
# decides nothing.*
#
# 1. Both clauses blame the film. What does the model say?
# 2. Take `cold` away. Does the model miss it?
# 3. Which single word turns the answer round? Which methods had named it?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. Positive, and it is sure: 88%.
# 2. No, it becomes a little surer. It does not go by what the critic finds.
# 3. `herald`. All rows but that of the gradient had named it; this one named `dull`.
#
# </details>
#
# The culprit has nothing to do with the film. In the lessons the *herald* praised and the *gazette*
# slated in 98 of 100 reviews, so the paper's name was enough. This is a **shortcut** (a spurious
# correlation): something that goes with the class in the lessons, decides nothing, and may break
# any day. (Geirhos et al. 2020 collect such cases: networks that find cows on grass miss many
# elsewhere.) A usual test set comes from where the lessons came from, and cannot see it.
#
# ## By hand: what a shortcut brings and what it costs
#
# Let a classifier only count (a naive Bayes classifier does). Of 45 positive lessons 40 stand in
# the *herald* and 36 have a word of praise; the negative ones are the mirror image. Each word votes
# with its odds, in bits:
#
# $$\log_2 \frac{40}{5} = 3 \text{ for the paper}, \qquad \log_2 \frac{36}{9} = 2
# \text{ for the word}$$
#
# | positive reviews | herald | gazette |
# |---|---|---|
# | praise | 32: 3 + 2 = 5 bits | 4: 2 − 3 = −1 |
# | blame ("not dull") | 8: 3 − 2 = 1 | 1: −3 − 2 = −5 |
#
# Where they disagree the paper wins. So it is right on 32 + 8 = 40 of 45; by the word alone it
# would be right on 36. **The shortcut brings 4.** When the papers exchange their reviewers, it is
# right on 5 of 45, and the word still on 36: **it costs 31.**

# %% The same, counted tags=["fold"]
from math import log2


def counted(texts, answers, weights=None, more=0.0):
    """Bits of each word for "positive": how much more often, weighed, it stands there."""
    seen, total = {}, [max(1, answers.count(c)) for c in (0, 1)]
    for k, (text, answer) in enumerate(zip(texts, answers, strict=True)):
        for i, word in enumerate(text.split()):
            seen.setdefault(word, [0, 0])[answer] += 1 if weights is None else weights[k][i]
    rates = {word: (a / total[0] + more, b / total[1] + more) for word, (a, b) in seen.items()}
    return {word: log2(b / a) for word, (a, b) in rates.items()}


def votes_of(bits, text):
    return sum(bits.get(word, 0) for word in text.split())


def guessed(bits, text, middle=0.0):
    return int(votes_of(bits, text) > middle)


# %% The sum by hand tags=["nbval-check-output", "fold"]
good = ["herald warm"] * 32 + ["herald dull"] * 8 + ["gazette warm"] * 4 + ["gazette dull"]
turned = {"herald": "gazette", "gazette": "herald", "warm": "dull", "dull": "warm"}
bad = [" ".join(turned[word] for word in text.split()) for text in good]
bits = counted(good + bad, [1] * 45 + [0] * 45)
exchanged = [" ".join([turned[text.split()[0]], text.split()[1]]) for text in good]
votes = [sum(guessed(bits, text) for text in some) for some in (good, exchanged)]
votes += [sum(guessed(bits, text.split()[1]) for text in good)]
print({word: round(bits[word]) for word in ("herald", "warm")}, "right:", votes)
assert votes == [40, 5, 36]
assert [round(bits[word], 9) for word in ("herald", "warm")] == [3, 2]

# %% [markdown]
# So such a classifier follows whatever goes with the class more often. The network above does the
# same, though it could learn the rule. (Its lessons have one label in twenty wrong and some words
# blanked, so neither way is right in all of them.)
#
# ## Which colors name it?

# %% Explain the answers of a model tags=["fold"]
def colored_by_all(toy, texts):
    """How much each word counts, by each method: {method: sizes (S,) of each text}."""
    return {name: [m(asked(toy, text)).abs().round(decimals=4) for text in texts]
            for name, m in METHODS.items()}  # fmt: skip


def firsts(sizes, made):
    """In what share of the texts the shortcut, a deciding word or the writer comes first."""
    found = {"sign": made.sign, "deciding": made.deciding,
             "writer": [(i,) for i in made.writer]}  # fmt: skip
    return {what: sum(int(v.argmax()) in places for v, places in
                      zip(sizes, all_places, strict=True)) / len(sizes)
            for what, all_places in found.items()}  # fmt: skip


def turns(toy, kind, texts):
    """In what share of the texts the answer turns when only the shortcut is turned round."""
    both = [[int(toy.model(toy.tokens(t)).argmax()) for t in (text, flip_labels(kind, text))]
            for text in texts]  # fmt: skip
    return sum(a != b for a, b in both) / len(both)


# %% Guess the model, with and without its colours tags=["fold"]
import random

EXAMPLES, DRAWS = (4, 16), 20


def between(bits, texts, answers):
    """The middle between the votes of the examples with either answer."""
    means = [[votes_of(bits, t) for t, a in zip(texts, answers, strict=True) if a == c]
             for c in (0, 1)]  # fmt: skip
    return sum(sum(each) / len(each) for each in means) / 2 if all(means) else 0.0


# %% How often it names the model's answer tags=["fold"]
def foreseen(toy, kind, texts, sizes, seed):
    """How often a counting guesser, who saw some explained examples, names the model's answer."""
    new = with_shortcut(kind, 300, share=0.5, seed=300 + seed).texts
    said = [int(toy.model(toy.tokens(text)).argmax()) for text in [*new, *texts]]
    said, told = said[: len(new)], said[len(new) :]
    found, ways = {}, {"no colours": None, **sizes}
    for n in EXAMPLES:
        draw = random.Random(seed)
        draws = [draw.sample(range(len(texts)), min(n, len(texts))) for _ in range(DRAWS)]
        for name, values in ways.items():
            hits = 0
            for some in draws:
                weights = values and [(values[k] / values[k].max()).tolist() for k in some]
                seen = [texts[k] for k in some], [told[k] for k in some]
                bits = counted(*seen, weights, 0.1)
                middle = between(bits, *seen)
                hits += sum(guessed(bits, t, middle) == s for t, s in zip(new, said, strict=True))
            found.setdefault(name, []).append(round(hits / len(new) / DRAWS, 3))
    return found


# %% One training, and all that is asked of it tags=["fold"]
SHARES = {"as in the lessons": 1.0, "apart": 0.5, "turned round": 0.0}


def measure(kind, share, seed, steps, lessons, texts):
    made = with_shortcut(kind, lessons, share=share, seed=seed)
    toy = train(made.texts, made.labels, steps=steps, seed=seed)
    some = with_shortcut(kind, texts, share=0.5, seed=200 + seed)
    sizes, row = colored_by_all(toy, some.texts), {"right": {}}
    for name, held in SHARES.items():
        new = with_shortcut(kind, 500, share=held, seed=99)
        row["right"][name] = accuracy(toy, new.texts, new.labels) / 500
    row["turns"] = turns(toy, kind, with_shortcut(kind, 300, share=0.5, seed=98).texts)
    row["first"] = {name: firsts(values, some) for name, values in sizes.items()}
    if kind == "others":
        row["foreseen"] = foreseen(toy, kind, some.texts, sizes, seed)
    return row


# %% Three trainings each; the rows are kept tags=["fold"]
from deepdive_book.kit.experiments import results_path as kept
from deepdive_book.kit.experiments import sweep

CI = profile() == "ci"
KINDS = {"paper": ("paper", SHARE), "order": ("first", SHARE), "order, no shortcut": ("first", 0.5),
         "others": ("others", SHARE)}  # fmt: skip
SEEDS = (1,) if CI else (1, 2, 3)
size = {"steps": 10, "lessons": 200, "texts": 2} if CI else {"steps": STEPS, "lessons": LESSONS,
                                                            "texts": 16}  # fmt: skip
file = None if CI else kept("07_explain", "shortcuts")
more = {"others": {} if CI else {"texts": 48}}  # so that examples can be drawn among them
runs = {name: sweep(measure, [{"kind": k, "share": s, "seed": seed, **size, **more.get(k, {})}
                              for seed in SEEDS], file)
        for name, (k, s) in KINDS.items()}  # fmt: skip


def span(values, much=100):
    """The mean of the trainings, and in brackets the lowest and the highest."""
    each = [much * value for value in values]
    return f"{sum(each) / len(each):.0f} % ({min(each):.0f} to {max(each):.0f})"


# %% tags=["slide"]
from deepdive_book.kit.tables import table

TRAINED = f"{len(SEEDS)} training{'s' if len(SEEDS) > 1 else ''}"


def first(name, method, what):
    return [row["first"][method][what] for row in runs[name]]


order = sorted(METHODS, key=lambda m: -sum(first("paper", m, "sign")))
table([[m, span(first("paper", m, "sign")), span(first("paper", m, "deciding"))] for m in order],
      ["method", "paper first", "deciding word first"],
      caption=f"% of {size['texts']} new reviews, paper and verdict drawn apart, in which a word "
      f"counts most: mean of {TRAINED} (lowest to highest)")  # fmt: skip

# %% Before the reviewers moved tags=["fold"]
before = with_shortcut("paper", 16, share=1.0, seed=55)
sizes = [METHODS["LIME"](asked(toy, text)).abs() for text in before.texts]
named = round(16 * firsts(sizes, before)["sign"])
print(f"reviewers as in the lessons: LIME puts the paper first in {named} of 16 reviews")

# %% [markdown]
# While the reviewers stay, LIME names the paper in 16 of 16 reviews. In the table paper and verdict
# were drawn apart. There AttnLRP, LIME, kernel SHAP and occlusion name the paper in at least 88%
# of the texts of every training; their spans overlap, so none of them is first. The gradient norm
# does so in 52% (31 to 75). Where a deciding word comes first instead, the picture looks like a
# good reason. One picture is not enough: look at many, and list what came first.
#
# ## A shortcut that is no word
#
# Now nothing is added. In 98 of 100 lessons the writer of a positive review speaks **first**, and
# of a negative one last, after the others. Both orders have the same words. What do the colors
# show of a model that took this shortcut, and of one whose lessons had none?

# %% tags=["fold", "nbval-check-output"]
from deepdive_book.kit.predictions import predict as ask

ask(
    "A model has taken the order of the clauses. Which word does kernel SHAP put first most "
    "often, in the mean of three trainings?",
    ["the writer's praise or blame", "i, the writer", "not", "none more often than by luck"],
    answer=1,
    explain="The place of i, first or not, is the shortcut. Its colour says that it counts, not "
    "that its place does.",
    key="07_explain/order",
)  # fmt: skip

# %% tags=["slide"]
SOME = ("integrated gradients", "occlusion", "LIME", "kernel SHAP", "attention rollout", "random")
told = {"shortcut": "order", "none": "order, no shortcut"}
table([["answers turned by the order", *(span([row["turns"] for row in runs[k]])
                                          for k in told.values())],
       ["right, order turned round", *(span([row["right"]["turned round"] for row in runs[k]])
                                       for k in told.values())],
       *[[f"{m}: {called} first", *(span(first(k, m, what)) for k in told.values())]
         for m in SOME for what, called in (("deciding", "deciding word"), ("writer", "`i`"))]],
      ["%", *told], caption=f"The order of the clauses as a shortcut: mean of {TRAINED} (lowest to "
      "highest)")  # fmt: skip

# %% [markdown]
# The upper rows find the shortcut: exchange the clauses, change nothing else, and 88% of the
# answers turn. The colors warn those who know what should decide: by kernel SHAP a deciding word
# comes first in 12% of the texts, no more than by luck (random: 19%), and in 83% without the
# shortcut. They often name `i`, the word whose place is the shortcut. But a colored `i` looks like
# a good reason, since `i` says whose view is asked for. A color says which word counts, not
# whether its place or its meaning does.
#
# ## Take it away
#
# Whoever has found the shortcut can change the lessons. Five ways, with the same network and as
# many steps:
#
# - **drop** the paper's name, in the lessons and in what is asked later;
# - **mask** it in half of what is read, drawn anew each time;
# - **balance**, by leaving out lessons until both papers praise and slate equally often, or by
#   **repeating** the rare ones (under- and oversampling);
# - **both papers**: every lesson twice, once with each name (counterfactual augmentation).

# %% Five ways to change the lessons tags=["fold"]
def changed(way, made, kind):
    """Texts and labels of the lessons after the repair."""
    texts, labels = list(made.texts), list(made.labels)
    held, rare = ([i for i, h in enumerate(made.held) if h == each] for each in (True, False))
    if way == "drop":
        return [text.split(" : ")[1] for text in texts], labels
    if way == "both":
        return texts + [flip_labels(kind, text) for text in texts], labels * 2
    if way == "leave out":
        held = held[: len(rare)]
    if way == "repeat":
        rare = rare * (len(held) // len(rare))
    return [texts[i] for i in held + rare], [labels[i] for i in held + rare]


def repaired(kind, way, seed, steps, lessons):
    made = with_shortcut(kind, lessons, share=SHARE, seed=seed)
    texts, labels = changed(way, made, kind)
    toy = train(texts, labels, steps=steps, seed=seed, hidden=PAPERS if way == "mask" else ())
    row = {"learned": len(texts)}
    for name, held in SHARES.items():
        new = with_shortcut(kind, 500, share=held, seed=99)
        asked_of = changed("drop", new, kind)[0] if way == "drop" else new.texts
        row[name] = accuracy(toy, asked_of, new.labels) / 500
    return row


# %% Three trainings of each way, kept tags=["fold"]
WAYS = {"drop": "drop", "mask in half": "mask", "leave out": "leave out", "repeat": "repeat",
        "both papers": "both"}  # fmt: skip
small = {k: size[k] for k in ("steps", "lessons")}
cases = [*(("paper", way) for way in WAYS.values()), ("first", "both")]
points = [{"kind": kind, "way": way, "seed": seed, **small}
          for kind, way in cases for seed in SEEDS]  # fmt: skip
repairs = sweep(repaired, points[:1] if CI else points,
                None if CI else kept("07_explain", "shortcuts_removed"))  # fmt: skip


def repair(kind, way):
    if way == "nothing":
        return [row["right"] | {"learned": LESSONS} for row in runs[kind]]
    return [row for row in repairs if (row["kind"], row["way"]) == (kind, way)]


# %% tags=["fold", "nbval-check-output"]
ask(
    "To drop the name repairs all, since nothing of it is left. Which of the others is as good "
    "when the critics are exchanged?",
    ["mask the name in half of what is read", "leave out lessons", "repeat the rare lessons",
     "every lesson with both names"],
    answer=3,
    explain="Now the name tells nothing in any lesson, and no lesson is lost. A mask leaves the "
    "habit in the other half, and the rare lessons are few, left alone or repeated.",
    key="07_explain/repairs",
)  # fmt: skip

# %%
lines = [("paper", called, way) for called, way in ({"nothing": "nothing"} | WAYS).items()]
lines += [("order", "order: nothing", "nothing"), ("first", "order: both orders", "both")]
columns = {"as in the lessons": "as in lessons", "turned round": "turned round"}
table([[called, round(sum(r["learned"] for r in repair(kind, way)) / len(repair(kind, way))),
        *(span([row[c] for row in repair(kind, way)]) for c in columns)]
       for kind, called, way in lines if repair(kind, way)],
      ["repair", "lessons", *columns.values()],
      caption=f"% right of 500 new reviews: mean of {TRAINED} (lowest to highest)")  # fmt: skip

# %% [markdown]
# Turned round, the network was right on 13% before. To **drop** the name or to show **both
# papers** repairs it: 99%, and hardly anything is lost where the shortcut holds. A **mask** leaves
# the habit in the half that is read; one training ended at 0%. To **leave out** lessons costs the
# most: few speak against the paper, as few of the others may stay, and so few teach no rule. Both
# orders repair the other shortcut, to 93%, but somebody had to suspect the order. (With *both
# papers* and *repeat* the network sees 8,000 texts in the same number of steps as 4,000.) Two usual
# remedies were not tried: group-reweighted training (group DRO) and retraining only the last layer.
#
# ## A game: guess the model
#
# Who understands a model can say what it will answer. That is **simulatability**. Here is another
# model, with another shortcut, which we do not name. Guess its answers, not the truth.

# %% Guess the model tags=["slide", "fold"]
from deepdive_book.ch07.figures.simulatability_game import Example, TestText, simulatability_game

other = shortcut_words("others")
made = with_shortcut("others", 60, share=0.5, seed=7)
answers = [int(other.model(other.tokens(text)).argmax()) for text in made.texts]


def pick_some(start, each):
    """Places of texts: `each` of either answer, right or wrong."""
    found = []
    for said in (0, 1):
        for true in (0, 1):
            found += [i for i in range(start, 60) if answers[i] == said and made.labels[i] == true
                      ][:each]  # fmt: skip
    return sorted(found)


shown, guess = pick_some(0, 1), pick_some(20, 2)
examples = [Example(made.texts[i].split(), METHODS["kernel SHAP"](asked(other, made.texts[i])),
                    answers[i]) for i in shown]  # fmt: skip
simulatability_game(
    examples,
    [TestText(made.texts[i].split(), answers[i], made.labels[i]) for i in guess],
    ["negative", "positive"],
)

# %% [markdown]
# *The new texts have no colours, so no colour can whisper an answer (Hase and Bansal 2020, Pruthi
# et al. 2022). The examples show sizes only: how much a word counted, not for what (kernel SHAP).
# Your guesses are kept nowhere.*
#
# <details><summary>What had the model learned?</summary>
#
# Children and friends stand in positive lessons, critics and neighbors in negative ones, in 98
# of 100. Who the others are decides nothing.
#
# </details>

# %% [markdown] tags=["aside"]
# ### A guesser who only counts
#
# Beside you sits a guesser who only counts, as by hand: each word of the examples votes for the
# answers beside which it stood, and with colors by as much as it is colored. Do its guesses
# become better with colors? We compare with no colors, and with random ones, which mislead.

# %%
def gain(name, k):
    """The guesser's share of right guesses, and how far it is from that with random colours."""
    told = [row["foreseen"] for row in runs["others"]]
    return (span([t[name][k] for t in told]),
            span([t[name][k] - t["random"][k] for t in told]).replace(" %", ""))  # fmt: skip


ranked = sorted(runs["others"][0]["foreseen"],
                key=lambda m: -sum(row["foreseen"][m][1] for row in runs["others"]))  # fmt: skip
table([[m, *gain(m, 1)] for m in ranked], ["colours", "named", "ahead"],
      caption=f"Answers of the model that the guesser names after {EXAMPLES[1]} explained texts, "
      f"and points ahead of random colours: mean of {TRAINED} (lowest to highest)")  # fmt: skip

# %% [markdown]
# After 16 texts the guesser names 85% of the answers without colors, 82% with random ones, and
# 97% or more with those of nine methods. The gradient norm, 97% (95 to 98), stays just below
# attention rollout and kernel SHAP; the spans of the other eight, in whole percent, overlap or
# touch. So colors help, and the table does not say whose help most. The last layer's attention and
# attention x gradient help in one training and mislead in another. This shortcut is one word:
# colors are good at that.
#
# ## In practice
#
# | | a shortcut that is a word | one that is no word |
# |---|---|---|
# | finds it | colors of many texts; turn it round | turn it round, if you suspect it |
# | overlooks it | a test set from the same place | that too; colors name a word, not its place |
# | takes it away | cut it out; every lesson on both sides | every lesson on both sides |
# | helps to foresee | examples with colors of most methods | not measured |
#
# - **Test on texts in which a suspect is turned round.** One number says more than many pictures.
# - **Look at many texts**, and list the words that come first most often. A name in this list is
#   suspect until you have turned it round.
# - **Innocent colours clear nobody.** A habit need not be a word: length, order, the form of a
#   file, the machine that made a picture.
# - **Mend the lessons, not the picture**, and measure again, on texts as in the lessons and on
#   texts turned round.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why did 500 new reviews not show that the model goes by the paper?
#
#    <details><summary>Answer</summary>
#
#    They came from where the lessons came from: the paper goes with the class there too.
#
#    </details>
# 2. A counting classifier has a shortcut that holds in 8 of 10 lessons and a word that holds in 9
#    of 10. Does it take the shortcut?
#
#    <details><summary>Answer</summary>
#
#    No: where they disagree, the word has the larger odds.
#
#    </details>
# 3. Why do colors not show that a model goes by the order of the clauses?
#
#    <details><summary>Answer</summary>
#
#    They give each word one number; whether its meaning or its place counts is not in it.
#
#    </details>
# 4. Why does leaving out lessons cost so much here?
#
#    <details><summary>Answer</summary>
#
#    Few lessons speak against the shortcut, and as few of the others may stay.
#
#    </details>
# 5. In the game the new texts have no colors. What would be measured otherwise?
#
#    <details><summary>Answer</summary>
#
#    Whether one can read the answer off the colors, which needs no understanding.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* In the sum by hand the paper holds in 30 of 45 lessons. How many bits is
#    its vote, and how often is the classifier right, before and after the reviewers are exchanged?
#
#    <details><summary>Answer</summary>
#
#    $\log_2 (30 / 15) = 1$ bit, less than the word's 2. It goes by the word: 36 of 45 both times.
#
#    </details>
# 2. *(measure, 8 min)* Turn the game's model round: how often does its answer change when only the
#    others are exchanged for others of the other side?
#
#    <details><summary>Answer</summary>
#
#    Always, 100% of a hundred reviews: it goes by the others alone.
#
#    </details>
# 3. *(code, 10 min)* **Break an axiom.** Colors that add up to the answer whisper it. Guess the
#    model's answers by the sign of the sum of a text's own kernel SHAP values for "positive", and
#    by the same values in the reverse order. What do you learn from it about the model?
#
#    <details><summary>Answer</summary>
#
#    12 of 12 both times. The sum does not change when the values stand beside the wrong words, so
#    colors that are all wrong whisper as well. Right guesses then teach nothing about the model.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to the exercises, checked.
pairs = {"herald": "gazette", "gazette": "herald"}
good = ["herald warm"] * 24 + ["herald dull"] * 6 + ["gazette warm"] * 12 + ["gazette dull"] * 3
bad = [" ".join(turned[word] for word in text.split()) for text in good]
bits = counted(good + bad, [1] * 45 + [0] * 45)
after = [" ".join(pairs.get(word, word) for word in text.split()) for text in good]
print("1:", f"{bits['herald']:.0f} bit,", [sum(guessed(bits, t) for t in x) for x in (good, after)])
few = with_shortcut("others", 100, share=0.5, seed=5).texts
print(f"2: {turns(other, 'others', few):.0%}")


# %% tags=["nbval-check-output"]
def whispers(text):
    """The answer, and whether the sum of its own colours is for "positive"."""
    question = asked(other, text)
    values = METHODS["kernel SHAP"](replace(question, label=1))
    return question.label == int(values.sum() > 0), question.label == int(values.flip(0).sum() > 0)


heard = [whispers(text) for text in few[:12]]
print("3:", [sum(each) for each in zip(*heard, strict=True)], "of", len(heard))

# %% [markdown]
# ## Summary
#
# A shortcut is what goes with the class in the lessons and decides nothing; a test set from the
# same place cannot see it, and one that is turned round sees it at once. Colored words find it
# where it is a word, and name at most the word that carries it where it is none. Back to the two
# newspapers: the model had learned the paper's name, LIME names it in 16 of 16 reviews before any
# reviewer has moved, and with every lesson shown under both names the network is right on 99%
# after the exchange instead of 13%, in the mean of three trainings.
#
# ## Further reading
#
# - Geirhos et al. (2020), *Shortcut Learning in Deep Neural Networks*: what shortcuts are, from
#   animals to networks.
# - Adebayo, Muelly, Abelson, Kim (2022), *Post hoc Explanations may be Ineffective for Detecting
#   Unknown Spurious Correlation*: pictures. Who did not know what to look for was not helped, and
#   some methods blamed a signal that the model did not use.
# - Bastings, Ebert, Zablotskaia, Sandholm, Filippova (2022), *Will You Find These Shortcuts?*:
#   planted words, one, several, and in an order. In their BERT the length of the gradient did well,
#   which is near the end in our table: plant one in your own model before choosing a method.
# - Hase, Bansal (2020), *Evaluating Explainable AI*: how to ask people without whispering; of five
#   methods there was clear help in few cases only.
# - Pruthi et al. (2022), *Evaluating Explanations*: students who learn from explained examples.
# - Kaushik, Hovy, Lipton (2020), *Learning the Difference that Makes a Difference*: people write
#   each lesson twice.
# - The book's section 7.3.
