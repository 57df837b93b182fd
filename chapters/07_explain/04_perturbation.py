# %% [markdown] tags=["slide"]
# # Occlusion and perturbation: taking words away
#
# A review: *critics do not find the script dull , i find the music cold .* Is it for or against the
# film? Cover a word with your thumb and read it again: if you can no longer tell, the word decided.
# The same can be done to a model. But a model reads whatever stands there, so what should stand
# under the thumb, and does its answer hang on that?
#
# <small>Prerequisites: [gaps in BERT](../03_bert/03_masking.ipynb) · 18 min · runs on a laptop;
# results of the long runs are included · book 7.3.1.2</small>

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

# %% Two models that judge reviews tags=["fold"]
from functools import cache

import torch

from deepdive_book.ch07.toys.review_words import SENTENCE, review_words
from deepdive_book.data.labeled_cause_reviews import generated_verdicts
from deepdive_book.kit.profile import pick, profile

TOYS = {"learned with blanks": review_words(), "whole texts only": review_words("plain")}
TOY = TOYS["learned with blanks"]
LANGUAGE = generated_verdicts(3000, seed=5).texts
DRAWS = pick(ci=10, laptop=24, gpu=24)


@cache
def others(words):
    """Other reviews of as many words, as tokens (J, W + 2)."""
    same = [text for text in LANGUAGE if len(text.split()) == words]
    return torch.cat([TOY.tokens(text) for text in same[:DRAWS]])


for name, toy in TOYS.items():
    print(f"{name}: {toy.right} of {toy.tested} new reviews right")

# %% [markdown]
# Two small BERTs have learned from generated reviews like this one. We know what decides in them:
# only what the writer, *i*, finds. Both models judge 2000 new reviews without a mistake. They
# differ in their training: for one a share of the words was hidden by `[MASK]`, while the other saw
# whole texts only. A word that is gone can be
#
# - a **`[MASK]`** in its place,
# - **a row of zeros** instead of its embedding,
# - a place that is **no key**, so that no other word may look there,
# - **cut out**, so that the later words move up,
# - **another word**: that of another review, at the same place; the mean over several.

# %% Five meanings of gone tags=["slide", "fold"]
from deepdive.explain.games.game import grouped
from deepdive.explain.games.removal import deleted, masked, no_attend, resampled, zero_embedding
from deepdive.explain.games.samplers import background

POINT = "encoder.embeddings.embedded"  # where the rows enter the first layer


def five_games(toy, text, label):
    """Each is game(kept), bool (N, W) of the words that stay -> probability (N,) of the class."""
    tokens = toy.tokens(text)[0]

    def p(tokens, real=None):
        return toy.model(tokens, real).softmax(-1)[:, label]

    made = {
        "mask": masked(p, tokens, toy.mask),
        "zero": zero_embedding(toy.model, POINT, p, tokens),
        "no key": no_attend(p, tokens),
        "cut": deleted(p, tokens),
        "drawn": resampled(p, tokens, background(others(len(tokens) - 2))),
    }
    owner = torch.tensor([-1, *range(len(tokens) - 2), -1])  # [CLS] and [SEP] always stay
    return {way: grouped(game, owner) for way, game in made.items()}


# %% Take words away tags=["fold"]
from deepdive_book.ch07.figures.occlusion import WAYS, occlusion_demo

WORDS = SENTENCE.split()
COLD = WORDS.index("cold")
judges = {name: (toy, five_games(toy, SENTENCE, 0)) for name, toy in TOYS.items()}
occlusion_demo(judges, SENTENCE, 0, others(len(WORDS)), gone=[COLD])

# %% [markdown]
# *Press a word: it is away. Press one of the five ways to see what the models read. The bars are
# how sure each model is that the review is negative; in the middle it cannot tell.*
#
# 1. Without `cold` nobody can tell: the bars should stand in the middle. Which do not?
# 2. All back, then take `i` away. The writer is not named, but it can be nobody else: critics spoke
#    before the comma. So nothing should be lost. Which model turns round?
# 3. Take all words away, one after the other. What is the model sure of that learned from whole
#    texts only?

# %% [markdown] tags=["aside"]
# ## Answers to the three tasks, with the numbers

# %% The same in numbers tags=["fold"]
from deepdive_book.kit.tables import table

I = len(WORDS) - 6  # noqa: E741
assert WORDS[I] == "i"
SHORT = {"learned with blanks": "blanks", "whole texts only": "whole"}
gone = {"nothing": [], "`cold`": [COLD], "`i`": [I], "all words": range(len(WORDS))}
lines = []
for name, (_, games) in judges.items():
    for way, game in games.items():
        kept_words = torch.tensor([[i not in each for i in range(len(WORDS))]
                                   for each in gone.values()])  # fmt: skip
        lines.append([f"{WAYS[way]}, {SHORT[name]}", *(f"{100 * p:.0f}"
                      for p in game(kept_words).tolist())])  # fmt: skip
table(lines, ["way, model", *gone], caption="negative, in %, without what stands above")

# %% [markdown]
# (All in %.)
#
# 1. A row of zeros turns both models round: of 95 negative 6 are left. `[MASK]` depends on the
#    model: where blanks were learned, 45 are left, and in the other model 94, as if nothing had
#    happened. Only *another word* stands near the middle in both, at 57.
# 2. The model of whole texts turns round in the first four ways, to 5 or 6; the other one where
#    words are cut out, to 8. *Another word* misleads both, since few other words fit there.
# 3. It depends: 59 of `[MASK]` alone, 5 of zeros, 93 without keys. Nothing was said, and the
#    model is sure.

# %% [markdown] tags=["slide"]
# ## By hand: either, and both
#
# Three words, `music`, `cold` and `dull`. One model says 1 as soon as `cold` **or** `dull` is
# there, the other only if `cold` **and** `dull` are. Take away one word at a time:
#
# | without | OR | lost | AND | lost |
# |---|---|---|---|---|
# | nothing | 1 | | 1 | |
# | `music` | 1 | 0 | 1 | 0 |
# | `cold` | 1 | **0** | 0 | **1** |
# | `dull` | 1 | **0** | 0 | **1** |
#
# What is lost without a word is its **occlusion**, or *leave-one-out*. In the OR it sees nothing:
# neither word is missed while the other stays, though without both the answer is gone. In the AND
# it counts the same 1 twice. So the values do not add up to the answer: 0 in the OR, 2 in the AND,
# and the answer is 1.
#
# **Prediction difference** draws a word instead of leaving a blank. A model says *negative* with
# 8 parts of 10 where it reads `cold` or `dull`, and with 2 of 10 where it reads `warm` or `witty`.
# Where `cold` stood, all four words come equally often: $(8 + 8 + 2 + 2)/4 = 5$ of 10. The odds
# were $8 : 2 = 4$ and are $5 : 5 = 1$, and $\log_2 4 - \log_2 1 = 2$ **bits** were in the word.

# %% The same from the library tags=["nbval-check-output", "fold"]
from deepdive.explain.games.game import Game
from deepdive.explain.games.perturbation import occlusion, prediction_difference

either = Game(3, lambda kept: (kept[:, 1] | kept[:, 2]).double())
both = Game(3, lambda kept: (kept[:, 1] & kept[:, 2]).double())
print("OR ", occlusion(either).int().tolist())
print("AND", occlusion(both).int().tolist())
says = torch.tensor([8, 8, 2, 2]) / 10  # of cold, dull, warm, witty
anew = Game(1, lambda kept: says[0].where(kept[:, 0], says.mean()))
print("bits", prediction_difference(anew).round().int().tolist())
assert occlusion(either).tolist() == [0, 0, 0]
assert occlusion(both).tolist() == [0, 1, 1]
assert prediction_difference(anew).sub(2).abs().max() < 1e-5

# %% [markdown]
# ## The equations
#
# $K$ is the set of words that stay, $f(K)$ what the model says then, and $S$ are all words.
#
# $$\text{occlusion}_s = f(S) - f(S \setminus s)$$
#
# $$\text{difference}_s = \log_2 \frac{f(S)}{1 - f(S)} - \log_2 \frac{g_s}{1 - g_s}$$
#
# with $g_s = \sum_v p(v \mid \text{the other words})\, f(S \text{ with } v \text{ at } s)$: **only
# words that fit are drawn**.
#
# ## Which way tells the truth?
#
# We wrote the language of these reviews, so we know exactly which words fit a gap: where `cold`
# stood, each of 32 adjectives is as likely; where `not` stood behind `do`, nothing else fits. So
# $g_s$ needs no guess. What is lost when words that fit are drawn we call the *truth* here. How far
# are the five ways from it?

# %% Words that fit tags=["fold"]
import re

from deepdive_book.data.labeled_cause_reviews import OTHERS, THINGS
from deepdive_book.data.synthetic_reviews import BAD, GOOD

thing, kind, other = ("|".join(words) for words in (THINGS, GOOD + BAD, OTHERS))
finds = rf"(?:do not )?find the (?:{thing}) (?:{kind})"
FORMS = re.compile(rf"i {finds}(?: and the (?:{thing}) (?:{kind}))? \.|(?:{other}) {finds} , i "
                   rf"{finds} \.|i {finds} , (?:{other}) {finds} \.")  # fmt: skip


# %% Is this a review? tags=["fold"]
def written(text):
    """Could this be a review of the language?"""
    if not FORMS.fullmatch(text):
        return False
    things, kinds = ([w for w in text.split() if w in some] for some in (THINGS, GOOD + BAD))
    alike = kinds[0] != kinds[-1] and len({w in GOOD for w in kinds}) == 1
    return len({*things}) == len(things) and (" and " not in text or alike)


# %% All that fit in a gap tags=["fold"]
VOCABULARY = TOY.tokenizer.vocab[len(TOY.tokenizer.specials) :]


@cache
def fitting(text, place):
    """The text with each word at this place that fits; all are as likely."""
    words = text.split()
    tried = (" ".join([*words[:place], word, *words[place + 1 :]]) for word in VOCABULARY)
    return [each for each in tried if written(each)]


assert all(map(written, LANGUAGE))
assert len(fitting(SENTENCE, COLD)) == 32
assert fitting(SENTENCE, WORDS.index("not")) == [SENTENCE]


# %% The exact game of one gap tags=["fold"]
def exact(toy, text, label):
    """game(kept) with one word gone at most: the mean over the words that fit."""
    length = len(text.split())
    texts = [fitting(text, place) for place in range(length)] + [[text]]

    def value(kept):
        gaps = [length if row.all() else int((~row).nonzero()[0])
                for row in kept]  # fmt: skip
        rows = torch.cat([toy.tokens(each) for gap in gaps for each in texts[gap]])
        found = toy.model(rows).softmax(-1)[:, label].split([len(texts[gap]) for gap in gaps])
        return torch.stack([each.mean() for each in found])

    return Game(length, value)


# %% Three kinds of reviews tags=["fold"]
MADE = generated_verdicts(2000, seed=77)  # another seed than that of the lessons
EACH = pick(ci=3, laptop=60, gpu=60, experiment=3)


def kind_of(i):
    pair, deciding = " and " in MADE.texts[i], len(MADE.deciding[i])
    return {(0, 1): "one word", (0, 2): "with `not`", (1, 2): "either"}.get((pair, deciding))


KINDS = ["one word", "with `not`", "either"]
CHOSEN = {kind: [i for i in range(len(MADE)) if kind_of(i) == kind][:EACH] for kind in KINDS}
for kind, places in CHOSEN.items():
    text, deciding = MADE.texts[places[0]], MADE.deciding[places[0]]
    print(f"{kind}: {text} | {' '.join(text.split()[i] for i in deciding)}")


# %% Ask everything about each text tags=["fold"]
@cache
def lost(name, i):
    """way -> what is lost without each word (W,), for the true class; `exact`: in truth."""
    toy, text, label = TOYS[name], MADE.texts[i], MADE.labels[i]
    found = {way: occlusion(game) for way, game in five_games(toy, text, label).items()}
    return found | {"exact": occlusion(exact(toy, text, label))}


# %% Intervals tags=["fold"]
from deepdive.evaluate.confidence_intervals import bootstrap


def span(values, digits=0):
    """Mean and 95 % interval over the texts, in hundredths."""
    found = bootstrap([100 * float(v) for v in values])
    return f"{found.value:.{digits}f} ({found.low:.{digits}f} to {found.high:.{digits}f})"


def rate(right):
    """How many of a hundred, and the 95 % interval of that."""
    n, share = len(right), sum(map(bool, right)) / len(right)
    z = 1.96**2 / n  # Wilson's interval
    middle, half = share + z / 2, (share * (1 - share) * z + z * z / 4) ** 0.5
    low, high = (100 * (middle + side * half) / (1 + z) for side in (-1, 1))
    return f"{100 * share:.0f} ({low:.0f} to {high:.0f})"


# %% The worst word tags=["slide", "fold"]
ALL = [i for places in CHOSEN.values() for i in places]
lines = []
for way, called in WAYS.items():
    off = {name: [(lost(name, i)[way] - lost(name, i)["exact"]).abs().max() for i in ALL]
           for name in TOYS}  # fmt: skip
    lines.append([called, *(span(off[name]) for name in TOYS)])
table(lines, ["way", *TOYS], caption=f"the worst word of each of {len(ALL)} generated reviews: how "
      "far off what is lost without it, in hundredths (95 % interval)")  # fmt: skip

# %% [markdown]
# *A review counts by its worst word.*
#
# - In the model that **learned with blanks**, `[MASK]` is 9 hundredths off, and no other way comes
#   near that. It learned one kind of blank; zeros and missing keys are still strange to it.
# - In the model of **whole texts** `[MASK]` is 54 hundredths off, zeros and no key 51 and 50. To
#   know nothing would cost 45 hundredths (from 95 to 50): `[MASK]` is off by more than that.
# - **Another word** depends least on the training, 26 and 32, because it needs no blank. But a word
#   from another review often does not fit.

# %% [markdown]
# ## More than one word
#
# **Smallest erasure** asks for the smallest set of words without which the model is no longer sure
# (below 75%). To try all sets is exact and costs $2^W$ questions at worst, for $W$ words;
# **greedy** takes the word that lowers the answer most, then the next.

# %% Smallest erasure against greedy tags=["fold"]
from deepdive.explain.games.perturbation import smallest_erasure

SURE = 0.75


def counted(game):
    """The game, and a list to which each question adds one."""
    asked = []

    def value(kept):
        asked.extend([1] * len(kept))
        return game(kept)

    return Game(game.size, value), asked


@cache
def erased(name, i, beam):
    game, asked = counted(five_games(TOYS[name], MADE.texts[i], MADE.labels[i])["mask"])
    found = smallest_erasure(game, SURE, beam=beam, most=3 if beam is None else 6)
    places = () if found is None else tuple(found.nonzero().flatten().tolist())
    return places, len(asked)


# %% In numbers tags=["fold"]
lines = []
for called, beam in (("all sets", None), ("greedy", 1)):
    for kind, places in CHOSEN.items():
        found = [erased("learned with blanks", i, beam) for i in places]
        right = [{*some} == {*MADE.deciding[i]} for (some, _), i in zip(found, places, strict=True)]
        questions = sum(n for _, n in found) / len(found)
        lines.append([called, kind, rate(right), f"{questions:.0f}"])
table(lines, ["search", "review", "the deciding words, %", "questions"],
      caption=f"learned with blanks, [MASK], {EACH} generated reviews each: how many erasures are "
      "exactly the deciding words (95 % interval)")  # fmt: skip

# %% [markdown]
# Where either of two words would do, trying all sets of two finds both, in all reviews. Greedy
# finds them in half: no single word is missed, so its first step takes whatever moves the answer
# most, however little.

# %% [markdown] tags=["aside"]
# ### Meaningful perturbation: the gradient searches
#
# **Meaningful perturbation** lets the gradient search. Each word has a dial $m_s$ from 1 (there) to
# 0 (its row has become that of `[MASK]`), and all dials are turned together, so that little is
# taken away and much is lost:
#
# $$\min_m \; f(m) + \lambda \sum_s (1 - m_s)$$
#
# Here $f$ is the margin of the class, and $\lambda$ what a word costs.

# %% Learn a mask tags=["fold"]
from deepdive.core.hooks import record
from deepdive.explain.games.game import margin
from deepdive.explain.games.perturbation import meaningful_perturbation
from deepdive_book.kit.attribution_text import colored

STEPS = pick(ci=15, laptop=60, gpu=100)


def learned_mask(toy, text, label, penalty):
    """How far each word is taken away, 0 to 1, (W,)."""
    tokens = toy.tokens(text)
    blank = tokens.clone()
    blank[:, 1:-1] = toy.mask
    with torch.no_grad(), record(toy.model, POINT) as seen:
        toy.model(blank)
    return meaningful_perturbation(
        toy.model, POINT, lambda: margin(toy.model(tokens), label), seen[POINT][0],
        penalty=penalty, steps=STEPS)[0, 1:-1]  # fmt: skip


EITHER = "i find the music cold and the script dull ."
PENALTIES = pick(ci=[0.3], laptop=[0.01, 0.1, 0.5, 1.0, 2.0], gpu=[0.01, 0.1, 0.5, 1.0, 2.0])
colored(EITHER.split(), {f"penalty {p:g}": learned_mask(TOY, EITHER, 0, p) for p in PENALTIES})

# %% [markdown]
# *Each row is one penalty; a bar upwards: this word is taken away. Either of `cold` and `dull`
# would do.* At a penalty of 0.01 words go that count nothing, because they cost next to nothing. At
# 0.5 exactly `cold` and `dull` go, which occlusion did not see. At 1 and 2 nothing goes.

# %% What would it be worth? tags=["fold"]
cold_dull = torch.tensor([word in ("cold", "dull") for word in EITHER.split()])
pair = TOY.asked(EITHER, 0).game()(torch.stack([cold_dull | True, ~cold_dull])).tolist()
print(f"margin with both words {pair[0]:.2f}, without {pair[1]:.2f}, lost {pair[0] - pair[1]:.2f}")

# %% [markdown]
# At a penalty of 1 the two words would be worth their price of 2, and they stay. From where the
# search begins, with all dials at one half, each step must pay by itself: a learned mask is a
# search, and may stop too early.

# %% [markdown] tags=["slide"]
# ## What finds the words that decide?
#
# Now another truth: the rule that made the text. By it the *not* decides as well. A method has
# found the deciding words if its first one or two words are exactly these (for an erasure: if it
# takes away exactly these).

# %% The truth table tags=["fold"]
FEW = pick(ci=2, laptop=20, gpu=20, experiment=2)  # learned masks take longest


def first(values, count):
    return {*values.topk(count).indices.tolist()}


@cache
def masks(name, i):
    return learned_mask(TOYS[name], MADE.texts[i], MADE.labels[i], 0.5)


def found_by(method, name, i):
    """Does this method find exactly the words that decide text i?"""
    truth = {*MADE.deciding[i]}
    if method == "smallest erasure":
        return {*erased(name, i, None)[0]} == truth
    values = masks(name, i) if method == "learned mask" else lost(name, i)[method]
    return first(values, len(truth)) == truth


# %% All methods tags=["fold"]
METHODS = {**{way: f"occlusion, {called}" for way, called in WAYS.items()},
           "exact": "prediction difference", "smallest erasure": "smallest erasure",
           "learned mask": "learned mask"}  # fmt: skip


def truth_table(name):
    lines = []
    for method, called in METHODS.items():
        some = FEW if method == "learned mask" else EACH
        lines.append([called, *(rate([found_by(method, name, i) for i in CHOSEN[kind][:some]])
                                for kind in KINDS)])  # fmt: skip
    return table(lines, ["method", *KINDS], caption=f"{name}: found in % of {EACH} generated "
                 f"reviews each, learned mask {FEW} (95 % interval)")  # fmt: skip


# %% Learned with blanks tags=["slide", "fold"]
truth_table("learned with blanks")

# %% Whole texts only tags=["fold"]
truth_table("whole texts only")

# %% [markdown]
# - **One word decides.** Occlusion finds it in every review, if it puts there the blank that was
#   learned; prediction difference does in both models. `[MASK]` in the model of whole texts finds
#   it in 60 of a hundred reviews only.
# - **With *not*.** Hardly anything finds `not`, and here the two truths part: behind `do` nothing
#   else can stand, so nothing is lost without it, and yet the rule needs it. *What is lost without
#   a word is not what the word does.* (Exercise 3 finds it.)
# - **Either.** `[MASK]`, one word at a time, finds it in no review, as in the sum by hand. The
#   smallest erasure does in every one, and a learned mask (the gradient searches, in the fold
#   above) in three of four; in the model of whole texts both fail, since they use blanks. *Another
#   word* finds it in 53 and 87 of a hundred, probably because it puts praise beside blame, which no
#   review has.

# %% [markdown]
# ## Is a deletion curve to be trusted?
#
# To judge an explanation without knowing the truth, one takes the words away in its order and
# watches the answer: the earlier it falls, the better the explanation, so the smaller the **area
# under the deletion curve**. Here we know the right order, the deciding words first, and can judge
# the measure: this order must beat random ones, and they must beat the reverse.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The model that saw whole texts only, and 60 reviews that one word decides. We take words away "
    "by [MASK] in two orders: the deciding word first, or occlusion's largest first. In 24 of the "
    "60 reviews occlusion begins with a wrong word. In how many of the 24 does the curve prefer "
    "its order?",
    ["in hardly any: the measure finds the mistake", "in about half", "in about four of five"],
    answer=2,
    explain="A blank that it never learned can turn its answer round, and then a wrong word lowers "
    "the curve further than the right one. The measure and the method look at the same artefact, "
    "and agree.",
    key="07_explain/deletion-plain",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Delete in several orders tags=["fold"]
import numpy as np

from deepdive.explain.evaluation.faithfulness import area, deletion, random_orders

RANDOM = 5
ONE = CHOSEN["one word"]
SETTINGS = [("learned with blanks", "mask"), ("whole texts only", "mask"),
            ("whole texts only", "drawn")]  # fmt: skip


@cache
def curves(name, way, i):
    """What is left: right order, reverse, occlusion's, random ones, (3 + RANDOM, W + 1)."""
    game = five_games(TOYS[name], MADE.texts[i], MADE.labels[i])[way]
    truth = torch.zeros(game.size)
    truth[[*MADE.deciding[i]]] = 1
    orders = [truth, -truth, lost(name, i)[way].float(), *random_orders(game.size, RANDOM)]
    return deletion(game, torch.stack(orders))


def wrongly(name, way, i):
    """Does the curve prefer occlusion's order, which begins with a wrong word?"""
    right, _, order, *_ = area(curves(name, way, i)).tolist()
    return int(lost(name, i)[way].argmax()) not in MADE.deciding[i] and order < right


# %% In three settings tags=["surprise", "fold"]
lines = []
for name, way in SETTINGS:
    found = torch.stack([area(curves(name, way, i)) for i in ONE])
    right, back, luck = found[:, 0], found[:, 1], found[:, 3:].mean(1)
    wrong = [i for i in ONE if int(lost(name, i)[way].argmax()) not in MADE.deciding[i]]
    taken = [wrongly(name, way, i) for i in wrong]
    lines.append([f"{name}, {WAYS[way]}", span(luck - right, 1), span(back - luck, 1), len(wrong),
                  f"{sum(taken)}: {rate(taken)} %" if taken else "none to ask"])  # fmt: skip
table(lines, ["model, way", "random − right", "reverse − random", "wrong first", "preferred"],
      caption=f"areas in hundredths, {len(ONE)} generated reviews that one word decides; the first "
      "two should be above 0 (95 % interval). Wrong first: occlusion begins with a wrong word; "
      "preferred: of these the curve prefers its order to the right one")  # fmt: skip

# %% The curves tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(5.0, 6.2), layout="constrained")
grid, styles = np.linspace(0, 1, 21), (("right order", "#0072B2", "-"), ("reverse", "#D55E00", ":"),
                                       ("occlusion's order", "#009E73", "-."))  # fmt: skip
for axes, (name, way) in zip(figure.subplots(3, 1, sharex=True), SETTINGS, strict=True):
    some = [curves(name, way, i) for i in ONE]
    mean_of = [np.mean([[np.interp(grid, np.linspace(0, 1, len(c)), c) for c in rows]
                        for rows in some], 0)][0]  # fmt: skip
    for row, (called, color, style) in zip(mean_of, styles, strict=False):
        axes.plot(grid, 100 * row, style, color=color, label=called)
    axes.plot(grid, 100 * mean_of[3:].mean(0), "--", color="#8a8a8a", label="random")
    axes.set(title=f"{name}, {WAYS[way]}", ylim=(0, 100), ylabel="right class, %")
    axes.axhline(50, color="#8a8a8a", linewidth=0.6)
axes.set_xlabel("share of the words taken away")
figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
with_alt(figure, "Three panels. Above, right order and occlusion's order are one line, which "
         "falls to the middle at once; random and reverse fall slowly. In the middle panel "
         "occlusion's order falls below the right one; in the last too, but less.")  # fmt: skip

# %% [markdown]
# *Means over the reviews. In the middle of a panel, at 50 %, nothing is known any more; below it,
# the model says the opposite.*
#
# All three settings tell the right order from random ones and these from the reverse, well outside
# the intervals. So a deletion curve tells good from bad on average, even here. But where occlusion
# begins with a wrong word, the curve of the model of whole texts prefers its order to the right one
# in 19 of 24 reviews, and with drawn words in 10 of 13. That is partly by construction: occlusion's
# first word causes the largest single drop, so its curve never starts above the right order's.
# Occlusion makes fewer mistakes with them,
# and the curve does not notice these either. Where blanks were learned occlusion made none, so this
# says nothing of the curve there. Below the middle the curve measures how far the model is pushed
# to the other side, and takes this for faithfulness.

# %% [markdown] tags=["aside"]
# ## Real reviews
#
# Here nobody knows the truth. We train the same kind of model, wider, from nothing on sentences of
# film reviews (rt_polarity), once on whole texts, and once with a share of the words hidden in half
# of the texts of each batch, after Madsen et al. (2024). The explained answer is the model's own,
# and the order is occlusion's with `[MASK]`.

# %% Train with and without blanks tags=["fold"]
from deepdive.data.reviews import rt_polarity
from deepdive.layers.heads import Classifier
from deepdive.models.bert.bert import bert
from deepdive.tokenizers import WordTokenizer
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.tasks.classification import batches, encode, loss, mask_words
from deepdive_book.tasks.classification import predict as predicted

MARKS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
FIRST, BLANK = len(MARKS), MARKS.index("[MASK]")  # ids: of the first word, of a blank
real = profile() == "experiment"
TRAIN = 1200 if real else pick(ci=8, laptop=40, gpu=60)  # steps


@cache
def reviews():
    """Texts to learn from and to test, and the words of the former."""
    learned, _, tested = (rt_polarity() if profile() != "ci" else MADE).held_out()
    words = WordTokenizer.train(learned.texts, 5000 if profile() != "ci" else 100, specials=MARKS)
    return learned, tested, words


# %% One training tags=["fold"]
def trained(blanks, seed, steps):
    learned, _, words = reviews()
    torch.manual_seed(seed)
    sizes = {"d_model": 64, "n_heads": 4, "n_layers": 2, "d_ff": 128, "max_length": 64}
    encoder = bert(vocab_size=len(words), n_segments=0, dropout=0.1, **sizes)
    model, draw = Classifier(encoder, 64, 2, dropout=0.1), torch.Generator().manual_seed(seed)

    def with_blanks(model, batch):
        labels, tokens = batch
        share = torch.rand(len(tokens), 1, generator=draw)
        some = torch.rand(len(tokens), 1, generator=draw) < 0.5  # the other half stays whole
        return loss(model, (labels, mask_words(tokens, share * some, FIRST, BLANK, draw)))

    some = batches(encode(learned.texts, words, 64), learned.labels, seed=seed)
    fit(model, some, with_blanks if blanks else loss, steps=steps, optimizer=adam(model),
        schedule=cosine(1e-3, warmup=steps // 10, total=steps), progress=False)  # fmt: skip
    return model.eval()


# %% Measure one tags=["fold"]
from deepdive_book.kit.experiments import results_path as kept
from deepdive_book.kit.experiments import sweep

HIDDEN = [0.0, 0.2, 0.5, 0.8]


def curves_of(model, row):
    """Areas under deletion by occlusion, in reverse, at random; and sure with all words hidden."""
    tokens = torch.tensor(row)
    label = int(model(tokens[None]).argmax())
    game = masked(lambda t: model(t).softmax(-1)[:, label], tokens, 4, batch=256)
    game = grouped(game, torch.tensor([-1, *range(len(row) - 2), -1]))
    order = occlusion(game)
    orders = torch.cat([order[None], -order[None], random_orders(game.size, RANDOM)])
    under = area(deletion(game, orders))
    return [*under[:2].tolist(), under[2:].mean().item(), game.nothing().item()]


# %% Measure a model tags=["fold"]
def measure(blanks, seed, steps, texts):
    model, (_, tested, words) = trained(blanks, seed, steps), reviews()
    ids, truth = encode(tested.texts, words, 64), torch.tensor(tested.labels)
    draw, right = torch.Generator().manual_seed(0), []
    for share in HIDDEN:
        some = [mask_words(torch.tensor(row), share, FIRST, BLANK, draw).tolist() for row in ids]
        right.append(100 * (predicted(model, some).argmax(1) == truth).float().mean().item())
    found = torch.tensor([curves_of(model, row) for row in ids[:texts]])
    earlier = (found[:, 0] < found[:, 2]).float().mean().item()
    *areas, empty = (100 * found.mean(0)).tolist()
    return {"right": right, "areas": areas, "earlier": 100 * earlier, "empty": empty}


# %% Three seeds, or one short run tags=["fold"]
points = [{"blanks": blanks, "seed": seed, "steps": TRAIN, "texts": 150 if real else 4}
          for seed in ((1, 2, 3) if real else (1,)) for blanks in (False, True)]  # fmt: skip
file = kept("07_explain", "blanks_in_training")
data = "generated" if profile() == "ci" else "rt_polarity"
rows = live = sweep(measure, points, file if real else None, data=data, minutes=30)

# %% Read what was kept tags=["fold"]
import json

kept_runs = profile() != "ci" and file is not None and file.is_file()
if kept_runs:
    rows = json.loads(file.read_text())["rows"]


def seeds(values, digits=1):
    """Mean, and in brackets the lowest and the highest of the seeds."""
    middle = sum(values) / len(values)
    return f"{middle:.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


which = "the kept runs" if kept_runs else "live, too short to judge by"
print(f"{which}: {rows[0]['steps']} steps; {len(reviews()[0])} texts here to learn from")
ARMS = {False: "whole texts", True: "with blanks"}
arm = {called: [row for row in rows if row["blanks"] == blanks] for blanks, called in ARMS.items()}
lines = [
    [f"{100 * share:.0f} %", *(seeds([row["right"][k] for row in some]) for some in arm.values())]
    for k, share in enumerate(HIDDEN)
]
table(lines, ["words hidden", *arm], caption="right in %, reviews not learned from: mean (lowest "
      "to highest seed)")  # fmt: skip

# %% Deletion on real reviews tags=["fold"]
shown = {"random − occlusion, hundredths": lambda row: row["areas"][2] - row["areas"][0],
         "reverse − random, hundredths": lambda row: row["areas"][1] - row["areas"][2],
         "occlusion before random, %": lambda row: row["earlier"],
         "sure of its answer with all words hidden, %": lambda row: row["empty"]}  # fmt: skip
lines = []
for what, of in shown.items():
    lines.append([what, *(seeds([of(row) for row in some]) for some in arm.values())])
table(lines, ["[MASK], real reviews", *arm], caption=f"{rows[0]['texts']} reviews: mean (lowest to "
      "highest seed)")  # fmt: skip

# %% [markdown]
# - **Blanks in training cost nothing that three seeds could show.** Where words are hidden, the
#   model that knows blanks is right more often in every seed: at 80% hidden 61.8 of a hundred are
#   right, against 58.2.
# - **Only one of them knows nothing when nothing is said.** With all words hidden it gives 50.3 of
#   a hundred to what it said before; the other one 55.2.
# - **The curve praises the other one.** The gap between random orders and occlusion's is 49.7 where
#   blanks were never seen, 39.9 where they were, and the seeds are apart. By this number occlusion
#   would explain the model better that never saw a blank. We would not say so: the two curves are
#   made of different blanks. Compare explanations of *one* model by it.

# %% [markdown] tags=["aside"]
# ### Common mistake: reading drops in probability when the model is sure
#
# The model is sure, so its probabilities are close to 1, and what is lost is measured in them.
# **Symptom:** all words seem to count nothing, in long texts above all. Two things look alike: a
# text in which several words say the same (the OR), and a number that is pressed against its end.
# **Fix:** ask for the margin or the log odds as well, and take away more than one word.

# %% Certainty hides what is lost tags=["fold", "nbval-check-output"]
log_odds = torch.tensor([16.0, 8.0])  # four words add 4 each; two of them are gone
sure = log_odds.sigmoid()
print(f"lost in probability: {sure[0] - sure[1]:.4f}, in log odds: {log_odds[0] - log_odds[1]:.0f}")

# %% [markdown]
# ## In practice
#
# - **Say what stands there.** Take what the model has met: `[MASK]` only if blanks were in its
#   training, else words that fit, drawn by a masked language model (`samplers.masked_lm`; Kim et
#   al. 2020), which Pham et al. (2022) found no better than leave-one-out on real text. captum puts
#   zeros where nothing is named (`baselines`).
# - **Training with blanks is cheap** (see *Real reviews*): hide a random share of the words in half
#   of the texts of each batch, as Madsen et al. (2024) do.
# - **A small drop does not prove a word unimportant.** Take away pairs, or search for the smallest
#   erasure, before you say so.
# - **Do not judge a method of removal by removal alone.** Both may see the same artifact.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why does occlusion see nothing in an OR?
#
#    <details><summary>Answer</summary>
#
#    It takes one word away at a time, and the other word still makes the answer.
#
#    </details>
# 2. A word is predictable from its neighbors. What does prediction difference give it?
#
#    <details><summary>Answer</summary>
#
#    Nothing: the word is drawn again, so nothing is lost. That is so for *not* behind *do*.
#
#    </details>
# 3. Why can a row of zeros turn an answer round, and not only make the model unsure?
#
#    <details><summary>Answer</summary>
#
#    No training said what such a row means, so it may mean anything, another word as well.
#
#    </details>
# 4. What does the penalty of a learned mask decide?
#
#    <details><summary>Answer</summary>
#
#    How much a word must lower the answer to be worth taking away.
#
#    </details>
# 5. An explanation has a small area under its deletion curve. What must you know before you trust
#    it?
#
#    <details><summary>Answer</summary>
#
#    Whether the model has met texts with such holes; else the curve may show what it makes of them.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* **An axiom broken: completeness.** Four words, and a model that says 1 if
#    at least two of them are there. What does occlusion give each? What do windows of three
#    neighbors give? To what do they add up, and to what should they?
#
#    <details><summary>Answer</summary>
#
#    0 each: three are left. Of four words there are two windows of three, each leaves one word, so
#    each loses 1, and each word gets 1: they add up to 4. They should add up to 1.
#
#    </details>
# 2. *(on paper, 3 min)* In the sum by hand, `cold` comes twice as often as each of the other three
#    words. How many bits are in it?
#
#    <details><summary>Answer</summary>
#
#    $(8 + 8 + 8 + 2 + 2)/5 = 5.6$ of 10; odds $5.6 : 4.4$, about 1.27; $2 - \log_2 1.27 = 1.65$.
#
#    </details>
# 3. *(measure, 8 min)* **Find the *not*.** In `i do not find the music dull .` no method of one
#    word finds `not`. Take away *two* neighbors at a time, by `[MASK]` and cut out. Which way
#    finds `do not`, and why?
#
#    <details><summary>Answer</summary>
#
#    Cut out does: of 95 hundredths 90 are lost, for `i find the music dull .` is a review, and says
#    the opposite. With `[MASK]` nothing is lost, since the two blanks can only be `do not`. What
#    stands in the place decides what is asked.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to the exercises, checked.
two = Game(4, lambda kept: (kept.sum(1) > 1).double())
print(occlusion(two).int().tolist(), occlusion(two, window=3).int().tolist())
print(f"{2 - torch.tensor(5.6 / 4.4).log2():.2f} bits")
denied = five_games(TOY, "i do not find the music dull .", 1)
without = torch.tensor([[True, False, False] + 5 * [True]])
pairs = {way: denied[way].everything() - denied[way](without) for way in ("mask", "cut")}
print({way: round(100 * float(drop)) for way, drop in pairs.items()})

# %% [markdown]
# ## Summary
#
# What is lost without a word depends on what stands in its place: ask with what the model has met
# there, blanks that it learned or words that fit. Taken away one at a time, words are not missed
# where either of two would do, and both count whole where both are needed; the smallest erasure
# finds the first, in a model that learned with blanks. Back to the thumb: yes, the answer hangs on
# what stands under it. For a model that learned with blanks `[MASK]` works as a thumb, 9 hundredths
# off at the worst word; the other model stays at 94% negative without `cold`, and falls to 5%
# without `i`. So ask what a model has learned to see under a thumb, before you believe what it
# says.
#
# ## Further reading
#
# - Zeiler and Fergus (2014), *Visualizing and Understanding Convolutional Networks*: section 4.2, a
#   grey square before the picture.
# - Li, Monroe, Jurafsky (2016), *Understanding Neural Networks through Representation Erasure*:
#   words, dimensions and the smallest set.
# - Fong and Vedaldi (2017), *Interpretable Explanations of Black Boxes by Meaningful Perturbation*:
#   the learned mask, and why a hole must look like a picture.
# - Robnik-Šikonja and Kononenko (2008), *Explaining Classifications for Individual Instances*, and
#   Zintgraf et al. (2017), *Visualizing Deep Neural Network Decisions*: prediction difference.
# - Kim et al. (2020), *Interpretation of NLP models through input marginalization*: words drawn by
#   a masked language model. Pham, Bui, Mai, Nguyen (2022), *Double Trouble*: no better than leaving
#   one out, deletion curves favour it, and a predictable word gets nothing, whatever it does.
# - Madsen, Reddy, Chandar (2024), *Faithfulness Measurable Masked Language Models*: blanks in
#   training, on 16 data sets.
