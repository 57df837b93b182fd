# %% [markdown] tags=["slide"]
# # LIME, Shapley values, Anchors
#
# A cake has won a prize, and the judges give a number but no reasons. You may bake again, leaving
# things out, and ask for the number. Three friends report on the butter. One gives it a weight, one
# gives it a fair share of the prize, and one says: *with butter and lemon it wins, whatever else is
# missing*. Whom do you believe, and for what?
#
# <small>Prerequisites: [taking words away](04_perturbation.ipynb) · 17 min · runs on a laptop ·
# book 7.3.2.1</small>

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

# %% Judges that were built, and one that has learned tags=["fold"]
import torch

from deepdive.explain.games.game import Game, all_coalitions
from deepdive.explain.games.removal import masked
from deepdive_book.ch07.toys import planted
from deepdive_book.ch07.toys.review_words import SENTENCE, review_words
from deepdive_book.kit.profile import pick, profile

TOYS = {"learned with blanks": review_words(), "whole texts only": review_words("plain")}
PLANTED = {
    **planted.examples(),
    "a keyword that is not there": (planted.Keyword(), "the film was good"),
}


# %% A game that asks each question once tags=["fold"]
def remembered(game):
    """The same game; what it has said of a set is kept. And how many sets it was asked about."""
    known = torch.full((2**game.size,), torch.nan, dtype=torch.float64)

    def value(kept):
        at = kept.long() @ 2 ** torch.arange(game.size)
        new = known[at].isnan()
        if new.any():
            known[at[new]] = game(kept[new])
        return known[at]

    return Game(game.size, value, 4096), lambda: int((~known.isnan()).sum())


def of_planted(reason):
    model, text = PLANTED[reason]
    return masked(model, planted.ids(text), 0)


# %% Move the width and the number of texts tags=["slide", "fold"]
from deepdive.explain.games.shapley import shapley
from deepdive_book.ch07.figures.lime_demo import Near, lime_demo

EITHER = "i find the music cold and the script dull ."
judges = {}
for reason in ("words that add up", "a negation", "two words together", "a keyword, twice"):
    model, text = PLANTED[reason]
    judges[reason] = Near(text.split(), of_planted(reason), model.shapley(planted.ids(text)))
either = remembered(TOYS["learned with blanks"].asked(EITHER, 0).game())[0]
judges["a trained network"] = Near(EITHER.split(), either, shapley(either))
lime_demo(judges, samples=2)

# %% [markdown]
# *Four judges were built by hand, so their reasons are known; the fifth is
# [the small network](00_opening.ipynb) that judges generated reviews. A word that is gone is a
# blank. R² says how much of the judge's answers the line explains: 1 is all.*
#
# **LIME** (Ribeiro et al. 2016) draws texts with some words gone, asks the judge about each, lets
# the nearer ones count more, and fits a linear model. Its weights are the explanation.
#
# 1. *Words that add up*: move both sliders. Which of them changes the weights?
# 2. *A negation*: go from the narrowest width to the widest, with 1,000 texts. What happens to
#    `good`?
# 3. Is there a setting at which R² is 1 for *two words together*?
#
# <details><summary>Answers</summary>
#
# 1. With 1,000 texts hardly any: a sum is a sum, near or far. Few texts, or the narrowest width,
#    pull all weights toward 0 (a mistake that has a section below).
# 2. Near the text it counts against the film, far away a little for it. The width has decided what
#    was asked.
# 3. No. No line fits all texts where words act together. Here R² is highest at the width 0.15; for
#    *a keyword, twice* it is highest at the widest. So no width is right for all judges.
#
# </details>
#
# <details><summary>LIME by hand: two words, four texts</summary>
#
# For `not good`, *a negation*, the judge says −1 with both words, 1 for `good` alone, and 0 else. A
# text with $k$ of $S$ words has the distance $D = 1 - \sqrt{k / S}$ and the weight
# $\exp(-D^2 / 0.35^2)$:
#
# | `not` | `good` | the judge | $D$ | weight |
# |---|---|---|---|---|
# | 1 | 1 | −1 | 0 | 1 |
# | 0 | 1 | 1 | 0.29 | 0.50 |
# | 1 | 0 | 0 | 0.29 | 0.50 |
# | 0 | 0 | 0 | 1 | 0.00 |
#
# The line goes nearly through the first three, so without a penalty `not` gets about −2 and `good`
# about −1: $2 - 2 - 1 = -1$, $2 - 1 = 1$, $2 - 2 = 0$. What it says of the last, 2, is wrong and
# hardly counts.
#
# </details>
#
# ## By hand: a fair share
#
# Three words, `not`, `good` and `dull`. The judge gives `good` 6 points, turns it to −6 if `not` is
# there, and takes off 3 for `dull`. All together −9. Let the words come in one after the other, and
# write down what each one adds. There are six orders:
#
# | order | `not` | `good` | `dull` |
# |---|---|---|---|
# | not, good, dull | 0 | −6 | −3 |
# | not, dull, good | 0 | −6 | −3 |
# | good, not, dull | −12 | 6 | −3 |
# | good, dull, not | −12 | 6 | −3 |
# | dull, not, good | 0 | −6 | −3 |
# | dull, good, not | −12 | 6 | −3 |
# | **mean** | **−6** | **0** | **−3** |
#
# The means are the **Shapley values**. Each row adds up to −9, so they do too. Taking away one word
# at a time ([7.4](04_perturbation.ipynb)) sees only the end of each order: `not` −12, `good` −6,
# `dull` −3, in all −21.

# %% The six orders, and two lines tags=["nbval-check-output", "fold"]
from functools import partial
from itertools import permutations, product

from deepdive.explain.games.lime import lime, perturb, weighted_ridge
from deepdive.explain.games.perturbation import occlusion


def points(kept):
    no, good, dull = kept.double().unbind(-1)
    return 6 * good * (1 - 2 * no) - 3 * dull


three = Game(3, points)
pair = Game(2, lambda kept: kept[:, 1] * (1 - 2 * kept[:, 0].double()))  # `not`, `good`
line, _ = lime(pair, all_coalitions(2), fit=partial(weighted_ridge, penalty=0))
assert line.round().tolist() == [-2, -1]
gains = torch.zeros(6, 3)
for row, order in enumerate(permutations(range(3))):
    steps = torch.tensor([[word in order[:n] for word in range(3)] for n in range(4)])
    gains[row, list(order)] = three(steps).diff().float()
assert gains.mean(0).tolist() == [-6, 0, -3]
assert gains.sum(1).tolist() == 6 * [-9]
assert torch.allclose(shapley(three), gains.mean(0).double())
print("orders   ", gains.mean(0).int().tolist())
print("occlusion", occlusion(three).int().tolist())

# %% [markdown]
# ## The equations
#
# $K$ is the set of words that stay, $f(K)$ what the judge says, $S$ how many words there are. LIME
# and the Shapley values are the same fit with different weights $\pi$:
#
# $$\min_{w, b} \; \sum_K \pi(K) \Big( f(K) - b - \sum_{i \in K} w_i \Big)^2$$
#
# **LIME** chooses $\pi(K) = \exp(-D^2 / \text{width}^2)$, where $D$ grows with the words that are
# gone, and adds a penalty on $w$. Shapley values ask for something else: a word that adds nothing
# gets nothing, two that do the same get the same, the shares for the sum of two judges are the sums
# of the shares, and all add up to $f(\text{all}) - f(\text{none})$. Which $\pi$ gives them?
#
# The line must pass exactly through the text without any word, $b = f(\text{none})$, and through
# the whole one. The weights $\pi$ are for all other sets. Try it with four words, of which the
# first three are needed together: 1 if they are there, else 0. The fourth does nothing. Sets of two
# count $r$ times as much as sets of one or three:

# %% Which weights are fair? tags=["slide"]
from deepdive_book.kit.tables import table

need = Game(4, lambda kept: kept[:, :3].all(1).double())
sets = all_coalitions(4)[1:-1]


def fit(r):
    """The fit over all sets, its weights adding up to f(all) - f(none) = 1."""
    pi = torch.where(sets.sum(1) == 2, r, 1.0).double()[:, None]
    z = sets.double()
    free = z[:, :3] - z[:, 3:]  # w4 = 1 - w1 - w2 - w3
    w = torch.linalg.lstsq(free * pi.sqrt(), (need(sets)[:, None] - z[:, 3:]) * pi.sqrt()).solution
    return [*w[:, 0].tolist(), 1 - float(w.sum())]


tried = {"2": 2.0, "1": 1.0, "1/2": 0.5, "1/4": 0.25, "1/100": 0.01}
table([[called, *(round(fit(r)[i], 4) + 0.0 for i in (0, 3))] for called, r in tried.items()],
      ["r", "each of the three", "the fourth"], formats=dict.fromkeys(
      ("each of the three", "the fourth"), ".3f"), caption="weights of the words")  # fmt: skip

# %% [markdown]
# Only at $r = 1/2$ does the fourth word get nothing, and each of the others its third. That is the
# **SHAP kernel** (Lundberg and Lee 2017):
#
# $$\pi(k) = \frac{S - 1}{\binom{S}{k}\, k\, (S - k)}$$
#
# for a set of $k$ words: here 1/4, 1/8 and 1/4. No weight is left to choose; what replaces a
# removed word still is, and it decides as much. The fit over all sets *is* the Shapley values;
# **kernel SHAP** fits drawn sets, and is near them.

# %% The kernel, and a fit over all sets tags=["nbval-check-output", "fold"]
from deepdive.explain.games.shapley import kernel_shap, set_weight

print([float(p) for p in set_weight(4, torch.tensor([1, 2, 3]))])
for game in (need, three, *map(of_planted, PLANTED)):
    assert torch.allclose(kernel_shap(game), shapley(game), atol=1e-8)
print(f"fit over all sets = mean over all orders, in {2 + len(PLANTED)} games")

# %% [markdown]
# ## How many texts are enough?
#
# The chapter's review has 14 words, so 16,384 texts with words gone. Both methods draw some, and
# another seed draws others.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "LIME draws 25 texts near the chapter's review and fits a line to them. Then it draws 1,600 "
    "instead. What happens to R², and to the difference between seeds?",
    ["R² rises, and the seeds agree better", "R² stays, and the seeds agree better",
     "R² falls, and the seeds agree better", "R² falls, and the seeds agree less"],
    answer=2,
    explain="Fourteen weights can bend to 25 texts and not to 1,600: R² falls a little in both "
    "networks. (In the picture above it can also rise: there the penalty holds few texts back.)",
    key="07_explain/lime-fit",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Ask again and again tags=["fold"]
WORDS = SENTENCE.split()
SEEDS = pick(ci=3, laptop=20, gpu=20)
SIZES = pick(ci=(25, 50, 200), laptop=(25, 50, 100, 200, 400, 800, 1600, 3200),
             gpu=(25, 50, 100, 200, 400, 800, 1600, 3200))  # fmt: skip
games, exact, runs = {}, {}, {}
for name, toy in TOYS.items():
    games[name] = game = remembered(toy.asked(SENTENCE, 0).game())[0]
    exact[name] = shapley(game)  # asks about all 16,384 texts
    for n in SIZES:
        found = [lime(game, perturb(len(WORDS), n, seed)) for seed in range(SEEDS)]
        runs[name, n] = torch.stack([w for w, _ in found]), [float(fit) for _, fit in found]
        if n > 25:  # of fewer sets not all fits have one answer
            sets = [kernel_shap(game, n, seed) for seed in range(SEEDS)]
            runs[name, n, "shap"] = torch.stack(sets) - exact[name]


# %% In numbers tags=["slide", "fold", "surprise"]
from deepdive.evaluate.confidence_intervals import bootstrap


def apart(rows):
    """How far seeds are apart: standard deviation, mean over the words."""
    return f"{float(rows.std(0).mean()):.2f}"


lines, BRIEF = [], {"learned with blanks": "blanks", "whole texts only": "whole"}
for name, called in BRIEF.items():
    for n in SIZES:
        if n in (25, 50, 200, 800, 1600, 3200):
            w, fits = runs[name, n]
            lines.append([f"{n:,}, {called}", bootstrap(fits), apart(w),
                          apart(runs[name, n, "shap"]) if n > 25 else None])  # fmt: skip
table(lines, ["texts, model", "R² of LIME", "LIME ±", "kernel SHAP ±"],
      formats={"R² of LIME": ".2f"},
      caption=f"{SEEDS} seeds: R² with its 95 % interval; ± is the standard deviation of a word's "
      "value between seeds, mean over the 14 words")  # fmt: skip

# %% Draw the error tags=["fold"]
import numpy as np
from matplotlib.figure import Figure

from deepdive.evaluate.confidence_intervals import Interval
from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(5.2, 4.2), layout="constrained")
axes = figure.subplots()
draw, slopes, ENDS = np.random.default_rng(0), {}, (0.025, 0.975)
for name, color in zip(TOYS, ("#0072B2", "#D55E00"), strict=True):
    lime_off = np.array([runs[name, n][0].var(0).numpy() for n in SIZES]).mean(1) ** 0.5
    axes.loglog(SIZES, lime_off, "o:", color=color, label=f"LIME, {name}")
    off = np.array([(runs[name, n, "shap"] ** 2).mean(1).numpy() for n in SIZES[1:]])
    axes.loglog(SIZES[1:], off.mean(1) ** 0.5, "s-", color=color, label=f"kernel SHAP, {name}")
    picks = [np.arange(SEEDS), *draw.integers(SEEDS, size=(500, SEEDS))]
    for least in (50, 200):
        used = [at for at, n in enumerate(SIZES[1:]) if n >= min(least, SIZES[-2])]
        x = np.log([SIZES[1:][at] for at in used])
        k = [np.polyfit(x, np.log(off[used][:, p].mean(1)) / 2, 1)[0] for p in picks]
        slopes[f"{BRIEF[name]}, from {least} texts on"] = Interval(k[0], *np.quantile(k[1:], ENDS))
axes.set(xlabel="texts", ylabel="spread (LIME), error (kernel SHAP)")
axes.legend(fontsize=8)
with_alt(figure, "Four lines that fall evenly on logarithmic axes: LIME's spread between seeds and "
         "kernel SHAP's error, for each of two models.")  # fmt: skip

# %% tags=["fold"]
table([[called, k] for called, k in slopes.items()], ["model", "exponent"],
      formats={"exponent": ".2f"}, caption="the error of kernel SHAP is like texts to the power of "
      "the exponent (95 % interval over seeds)")  # fmt: skip

# %% [markdown]
# More texts make LIME steadier *and* its R² smaller: 0.87 to 0.84, and 0.83 to 0.73. The error of
# kernel SHAP falls like one over the root, once there are some 200 texts: four times as many halve
# it. At 50 it is the less steady of the two in one network, and the steadier in the other. But what
# it nears is known; LIME nears a line of its own, and where words act together that differs:

# %% What each of them nears tags=["slide", "fold"]
from deepdive_book.kit.attribution_text import colored

game = games["learned with blanks"]
LARGE, every = SIZES[-1], all_coalitions(len(WORDS))
dull, cold = (WORDS.index(word) for word in ("dull", "cold"))
without = every[~every[:, dull]]
added = game(without | torch.eye(len(WORDS), dtype=torch.bool)[dull]) - game(without)
for there in (True, False):
    some = added[without[:, cold] == there]
    where = "there" if there else "gone"
    print(f"`dull` adds {float(some.mean()):.2f} on average with `cold` {where}")
colored(WORDS, {"occlusion": occlusion(game),
                 f"LIME, {LARGE:,} texts": runs["learned with blanks", LARGE][0].mean(0),
                 "Shapley, all texts": exact["learned with blanks"]})  # fmt: skip

# %% [markdown]
# *Why "negative"? Blue speaks for it, orange against it; each row has its own unit.* All find
# `cold`. LIME and the fair share also give `i` a third as much, since it says whose opinion counts,
# and `critics` a fifth. Occlusion gives both nothing: each can go alone. But `dull` counts only in
# the fair share, and against "negative": on average it takes 0.62 off "negative" where `cold` is
# gone, and adds 0.37 where `cold` is there. LIME asks mostly near the text, Shapley about texts of
# all lengths alike. Both are right, about different texts.

# %% [markdown]
# ## Anchors: a rule that holds
#
# **Anchors** (Ribeiro et al. 2018) give no weights. A rule is a set of words that stay; every other
# word is tossed by a coin. Its **precision** is how often the decision stays, its **coverage** how
# many of all such texts have these words. By hand, for `great` and `cast`, needed together: with no
# word held both stay in 1 of 4 texts; with `great` held `cast` stays in 1 of 2; with both in all.
#
# | rule | precision | coverage |
# |---|---|---|
# | (none) | 1/4 | 1 |
# | great | 1/2 | 1/2 |
# | great, cast | 1 | 1/4 |
#
# The anchor is the shortest rule found whose precision is 95% or more in the drawn texts, and 90%
# or more with 95% confidence.

# %% The same by counting tags=["nbval-check-output", "fold"]
from deepdive.explain.games.anchors import anchor, exact_precision

text = PLANTED["two words together"][1].split()
for rule in ([], ["great"], ["great", "cast"]):
    held = torch.tensor([word in rule for word in text])
    print(rule, exact_precision(of_planted("two words together"), held), 0.5 ** len(rule))
for name, game in games.items():
    rule = anchor(game)
    held = [word for word, stays in zip(WORDS, rule.parts.tolist(), strict=True) if stays]
    print(f"{name}: {held}, in all texts {exact_precision(game, rule.parts):.3f}")

# %% [markdown]
# The last two lines are the chapter's review: for both networks the rule is `i` and `cold`, and it
# holds in every one of the 4,096 texts that have both.

# %% [markdown]
# ## Which to trust for what?
#
# First the judges whose reasons we built.


# %% Three answers for each tags=["slide", "fold"]
def told(words, values):
    """The words whose value is 0.1 or more, with it."""
    some = [f"{w} {v:.1f}".replace("-", "−")
            for w, v in zip(words, values.tolist(), strict=True) if abs(v) >= 0.1]  # fmt: skip
    return ", ".join(some) or "nothing"


lines = []
for reason, (_, text) in PLANTED.items():
    game, words = of_planted(reason), text.split()
    w, fits = lime(game, perturb(game.size, 1000))
    rule = anchor(game)
    held = " ".join(w for w, stays in zip(words, rule.parts.tolist(), strict=True) if stays)
    lines.append([f"{reason}: *{text}*".replace("*", "`"), f"{told(words, w)} (R² {fits:.2f})",
                  told(words, shapley(game)), held or "(none)"])  # fmt: skip
table(lines, ["reason: text", "LIME", "Shapley", "rule"],
      caption="LIME with 1,000 texts, Shapley values of all texts, and the anchor; what is below "
      "0.1 is left out")  # fmt: skip

# %% [markdown]
# - Where words **add up**, LIME and Shapley agree with the reason. The rule is what is enough, so
#   it leaves out `awful`, which spoke against.
# - A keyword **twice**: the fair share gives each a half, the rule takes one of them, and LIME
#   gives both too little and says itself, by its R², that it does not fit.
# - **Negation**: in the fair share `good` is worth nothing, and the rule is `not` alone, since
#   without `good` the answer is no praise either. Only LIME names both, and gives `the` a little.
#   None of them says that *not* turns *good* round.
# - An **empty rule** says that in 95% of the texts the decision stays, whichever words are gone.
#
# Now the trained networks, on reviews whose deciding words are known. LIME and kernel SHAP have
# found them if their largest one or two are exactly these; an anchor, if it is exactly these.

# %% Generated reviews of three kinds tags=["fold"]
from deepdive_book.data.labeled_cause_reviews import generated_verdicts

MADE = generated_verdicts(2000, seed=77)  # another seed than that of the lessons
KINDS = ["one word", "with `not`", "either of two"]
EACH = pick(ci=1, laptop=20, gpu=40)


def kind_of(i):
    pair, deciding = " and " in MADE.texts[i], len(MADE.deciding[i])
    return {(0, 1): KINDS[0], (0, 2): KINDS[1], (1, 2): KINDS[2]}.get((pair, deciding))


CHOSEN = {kind: [i for i in range(600) if kind_of(i) == kind][:EACH] for kind in KINDS}

# %% Ask all about each of them tags=["fold"]
from functools import cache


@cache
def answers(name, i):
    """Method -> the places of its words; how many texts Anchors asked about; and whether the
    decision stays when all words are gone.
    """
    label, deciding = MADE.labels[i], len(MADE.deciding[i])
    game, asked = remembered(TOYS[name].asked(MADE.texts[i], label).game())
    rule = anchor(game).parts
    about = asked(), bool(game.nothing() > 0)
    values = {"LIME": lime(game, perturb(game.size, 300))[0], "kernel SHAP": kernel_shap(game, 300)}
    found = {called: {*v.topk(deciding).indices.tolist()} for called, v in values.items()}
    return found | {"Anchors": {*rule.nonzero().flatten().tolist()}}, *about


# %% Who finds the words that decide? tags=["fold"]
def rate(right):
    """How many of a hundred, and the 95 % interval of that."""
    n, share = len(right), sum(map(bool, right)) / len(right)
    z = 1.96**2 / n  # Wilson's interval
    middle, half = share + z / 2, (share * (1 - share) * z + z * z / 4) ** 0.5
    low, high = (100 * (middle + side * half) / (1 + z) for side in (-1, 1))
    return f"{100 * share:.0f} ({low:.0f} to {high:.0f})"


def truth_table(name):
    lines = []
    for method in ("LIME", "kernel SHAP", "Anchors"):
        right = {kind: [answers(name, i)[0][method] == {*MADE.deciding[i]} for i in some]
                 for kind, some in CHOSEN.items()}  # fmt: skip
        lines.append([method, *(rate(right[kind]) for kind in KINDS)])
    return table(lines, ["method", *KINDS], caption=f"{name}: the deciding words, found in % of "
                 f"{EACH} generated reviews each (95 % interval)")  # fmt: skip


# %% Learned with blanks tags=["slide", "fold"]
truth_table("learned with blanks")

# %% Whole texts only tags=["fold"]
truth_table("whole texts only")

# %% What do the rules say? tags=["fold"]
lines, empty, texts, FIRST = [], {True: [], False: []}, [], "learned with blanks"
for (kind, places), label in product(CHOSEN.items(), (0, 1)):
    some = [i for i in places if MADE.labels[i] == label]
    rules = [answers(FIRST, i) for i in some]
    right = [{*MADE.deciding[i]} for i in some]
    for found, asked, stays in rules:
        empty[stays].append(not found["Anchors"])
        texts.append(asked)
    parts = [found["Anchors"] for found, _, _ in rules]
    counts = (sum(not part for part in parts),
              sum(bool(part) and part <= two for part, two in zip(parts, right, strict=True)),
              sum(stays for _, _, stays in rules))  # fmt: skip
    called = ("negative", "positive")[label]
    lines.append([f"{kind}, {called}", *(f"{n} of {len(some)}" for n in counts)])
for stays, found in empty.items():
    print(f"decision {'stays' if stays else 'falls'} if all words go: {sum(found)} of {len(found)}"
          " rules are empty")  # fmt: skip
print(f"different texts that Anchors asked about, mean: {sum(texts) / len(texts):,.0f}")
table(lines, ["reviews", "no word", "deciding words only", "stays if all go"],
      caption=f"Anchors, {FIRST}: rules without a word; rules of some words that decide and no "
      "other; decisions that stay when all words are gone")  # fmt: skip

# %% [markdown]
# - **One word decides.** LIME and kernel SHAP find it in all 20 reviews, in the network that
#   learned with blanks. In the other one all three miss many: blanks push its answer about, and
#   from outside nobody sees it.
# - **`not`** is found by none. Behind `do` nothing else can stand, so [nothing is lost without
#   it](04_perturbation.ipynb).
# - **Either of two.** Where blanks were learned LIME and kernel SHAP find both in all 20. Anchors
#   answers another question: one word is enough. In the 12 "negative" reviews its rule holds
#   deciding words and no other. In the 8 "positive" ones it is empty, and this network calls these
#   "positive" with all words gone too.
#
# <details><summary>Empty rules, over all kinds of reviews</summary>
#
# Of the 33 reviews whose decision stays without any word, 10 have an empty rule, and 1 of the other
# 27.
#
# </details>

# %% [markdown] tags=["aside"]
# ## Real reviews, and a truth
#
# Logistic regression on TF-IDF counts of single words (rt_polarity). Its log odds are a sum of
# *coefficient × TF-IDF*: surely that is each word's share. We ask for the three words with the
# largest *coefficient × TF-IDF*, in two versions: all rows divided by one length, and each row by
# its own, as scikit-learn does unless told otherwise. (In the profile `ci` generated reviews take
# their place.)

# %% A linear model of words tags=["fold"]
from collections import Counter

from deepdive.data.reviews import rt_polarity

learned, _, tested = (MADE if profile() == "ci" else rt_polarity()).held_out()
seen = Counter(word for text in learned.texts for word in {*text.split()})
PLACE = {word: i for i, word in enumerate(w for w, n in seen.items() if n >= 5)}
IDF = torch.tensor([(1 + len(learned.texts)) / (1 + seen[word]) for word in PLACE]).log() + 1


# %% Rows of TF-IDF tags=["fold"]
def tf_idf(texts):
    x = torch.zeros(len(texts), len(PLACE))
    for row, text in zip(x, texts, strict=True):
        for word in text.split():
            if word in PLACE:
                row[PLACE[word]] += IDF[PLACE[word]]
    return x


TRAIN, TEST = tf_idf(learned.texts), tf_idf(tested.texts)
LONG = TRAIN.norm(dim=1).mean()


def scaled(x, own):
    """Rows divided by their own length, or all by the mean length."""
    return x / (x.norm(dim=1, keepdim=True).clamp_min(1e-9) if own else LONG)


# %% Train it tags=["fold"]
import torch.nn.functional as F


def regression(own):
    """Coefficients (V,) and constant, by L-BFGS, with a penalty of |w|^2 / 2 as in scikit-learn."""
    x, y = scaled(TRAIN, own), torch.tensor(learned.labels).float()
    w, b = torch.zeros(x.shape[1], requires_grad=True), torch.zeros((), requires_grad=True)
    search = torch.optim.LBFGS([w, b], max_iter=40, line_search_fn="strong_wolfe")

    def closure():
        search.zero_grad()
        missed = F.binary_cross_entropy_with_logits(x @ w + b, y, reduction="sum")
        (missed + w @ w / 2).backward()
        return missed.detach() + w.detach() @ w.detach() / 2

    search.step(closure)
    return w.detach(), b.detach()


ROWS = {"one length for all": False, "each its own length": True}
LINEAR = {called: regression(own) for called, own in ROWS.items()}
for called, (w, b) in LINEAR.items():
    said = scaled(TEST, ROWS[called]) @ w + b > 0
    right = (said == torch.tensor(tested.labels).bool()).float().mean()
    print(f"{called}: {100 * right:.1f} % of {len(tested.texts)} new reviews right")


# %% Ask it about a text tags=["fold"]
def linear_game(called, text):
    """The log odds without some words, and each word's coefficient x TF-IDF (S,)."""
    (w, b), known = LINEAR[called], [PLACE.get(word) for word in text.split()]
    columns = sorted({place for place in known if place is not None})
    each = torch.zeros(len(known), len(columns))
    for row, place in zip(each, known, strict=True):
        if place is not None:
            row[columns.index(place)] = IDF[place]

    def rows(kept):
        return scaled(kept.float() @ each, ROWS[called])

    by = each.sum(0).norm() if ROWS[called] else LONG
    shares = (each / by) @ w[columns]
    return Game(len(known), lambda kept: rows(kept) @ w[columns] + b, 512), shares.double()


# %% Are they the coefficients? tags=["fold"]
REVIEWS = pick(ci=2, laptop=80, gpu=80)
some = [text for text in tested.texts if 6 <= len(text.split()) <= 30][:REVIEWS]
lines = []
for called in LINEAR:
    top, size, fits = {}, {}, []
    for text in some:
        game, shares = linear_game(called, text)
        w, r2 = lime(game, perturb(game.size, 300))
        fits.append(r2)
        for method, v in (("LIME", w), ("kernel SHAP", kernel_shap(game, 300)),
                          ("occlusion", occlusion(game))):  # fmt: skip
            largest = [{*x.abs().topk(3).indices.tolist()} for x in (v, shares)]
            top.setdefault(method, []).append(100 * len(largest[0] & largest[1]) / 3)
            size.setdefault(method, []).append(v @ shares / (shares @ shares))
    print(f"{called}: R² of LIME {bootstrap(fits)}")
    lines += [[f"{method}, {called}", bootstrap(top[method]), bootstrap(size[method])]
              for method in top]  # fmt: skip

# %% tags=["slide", "fold"]
table(lines, ["method, model", "top three, %", "times as large"],
      formats={"top three, %": ".0f", "times as large": ".2f"},
      caption=f"{len(some)} reviews: how many of the three words with the largest coefficient x "
      "TF-IDF are found, and how large the values are beside it (95 % intervals)")  # fmt: skip

# %% [markdown]
# Divided by one length the model is a sum, and all three give back its coefficients, or nearly.
# Divided by their own, all three seem to be wrong about one word in five to seven. They are not:
# without a word the row is shorter, and every other word counts more. Kernel SHAP, which asks about
# short texts too, gives 1.66 times as much. R² fell from 0.999 to 0.943; without the first number
# nobody would have noticed. *Coefficient × TF-IDF* is not what a word does.

# %% [markdown]
# ## In practice
#
# | you ask | take | and check |
# |---|---|---|
# | what matters close to this text? | LIME | R², and two other seeds |
# | a share of the answer that adds up | kernel SHAP | twice the texts: do the values stay? |
# | what is enough for this decision? | Anchors | is the rule empty? how often does it cover? |
# | is one word needed? | occlusion ([7.4](04_perturbation.ipynb)) | what stands in its place |
#
# - All of them ask about texts with holes. A model that has never met holes answers something, and
#   none of the three can know ([7.4](04_perturbation.ipynb)).
# - Anchors is the dear one: it asked about some 4,000 texts a review, the others about 300.
# - Report the width, the number of texts, R² and the spread between seeds with every picture of
#   LIME.
# - Explain log odds or margins. A probability close to 1 hides what words do.
# - A truth must be true of the question that was asked. *Coefficient × TF-IDF* is not, where each
#   row is divided by its own length (*Real reviews, and a truth*).
#
# <details><summary>What the packages `lime` and `shap` do with texts</summary>
#
# - `lime` draws 5,000 texts with the width 0.35 of this page (there `kernel_width=25`), but it
#   takes a repeated word away at all its places at once, removes words and puts no blank, and
#   explains probabilities. `bow=False` and `mask_string` change the first two.
# - `shap` uses its Partition explainer unless told otherwise: words come and go in groups, so its
#   numbers are Owen values, and words in one group share.
#
# </details>

# %% [markdown] tags=["aside"]
# ### Common mistake: a narrow width, few texts, and the penalty as it was
#
# LIME's penalty of 1 stands beside a *sum* over texts. In a narrow width nearly all of them count
# next to nothing, and the penalty wins. **Symptom:** small weights and a low R², even for a sum.
# **Fix:** more texts, or a smaller penalty.

# %% Small by mistake tags=["fold", "nbval-check-output"]
sums = of_planted("words that add up")  # 2 for `great`
for penalty in (1.0, 0.001):
    w, fits = lime(sums, perturb(sums.size, 200), 0.05, partial(weighted_ridge, penalty=penalty))
    print(f"penalty {penalty:g}: great {w[1]:.1f}, R² {fits:.1f}")

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. What does the width of LIME decide?
#
#    <details><summary>Answer</summary>
#
#    Which texts count: only those with a word or two gone, or all. So it decides the question.
#
#    </details>
# 2. R² is 0.5. What do the weights mean?
#
#    <details><summary>Answer</summary>
#
#    Less than they seem to: a line misses half of what the judge does there. Words act together, or
#    the penalty is too large for so few texts that count.
#
#    </details>
# 3. Why can a word that a judge needs have a Shapley value of 0?
#
#    <details><summary>Answer</summary>
#
#    It may add something in some orders and take it off in others, as `good` does with `not`.
#
#    </details>
# 4. What does an empty anchor say?
#
#    <details><summary>Answer</summary>
#
#    With all words tossed by a coin the decision stays in 95% of the texts: no word holds it.
#
#    </details>
# 5. A linear model gives a word a coefficient of 0. Can its Shapley value be another number?
#
#    <details><summary>Answer</summary>
#
#    Yes, where rows are divided by their length: the word makes all others count less.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 5 min)* **An axiom broken: the sum.** A judge says 1 if both of two words are
#    there. Fit a line to three texts: all words, and each word alone. What are its weights and its
#    R²? Do the weights add up to what both words do?
#
#    <details><summary>Answer</summary>
#
#    $w = 1$ and $1$, $b = -1$: the fit is exact, R² is 1, and the weights add up to 2. What both
#    do is 1. A perfect fit nearby says nothing of the sum.
#
#    </details>
# 2. *(on paper, 5 min)* A judge gives 6 if `cold` is there and at least one of `i` and `me`. Find
#    the Shapley values.
#
#    <details><summary>Answer</summary>
#
#    `cold` adds 6 unless it comes first: $6 \cdot 4/6 = 4$. `i` adds 6 only where it comes second,
#    behind `cold`: $6 / 6 = 1$. So does `me`. They add up to 6.
#
#    </details>
# 3. *(code, 8 min)* **An axiom broken: nothing for nothing.** Four words, of which the first three
#    are needed together. Give LIME *all* 16 sets and no penalty. What does the fourth word get, and
#    why?
#
#    <details><summary>Answer</summary>
#
#    0.02, not 0: its weights of sets are chosen, not derived, and only the kernel of SHAP gives 0.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to the exercises, checked.
free = partial(weighted_ridge, penalty=0)
both = Game(2, lambda kept: kept.all(1).double())
nearby = torch.tensor([[True, True], [True, False], [False, True]])
w, fits = lime(both, nearby, fit=free)
print([round(v) for v in w.tolist()], round(float(fits), 3))
verdict = Game(3, lambda kept: 6.0 * (kept[:, 0] & (kept[:, 1] | kept[:, 2])))
print(shapley(verdict).round().int().tolist())
print([f"{v + 0.0:.2f}" for v in lime(need, all_coalitions(4), fit=free)[0].tolist()])

# %% [markdown]
# ## Summary
#
# LIME fits a line near one text, its width says how near, and a low R² says that the line does not
# fit: words act together, or the penalty is too large. Shapley values are the mean gain over all
# orders and add up, and kernel SHAP nears them like one over the root of its texts; an anchor is a
# rule that is enough, and no more. Back to the butter: believe the weight about cakes much like
# this one, the share about how to divide the prize, and the rule about what is enough to win. The
# friends disagree because each was asked something else, and all three depend on how the judges
# take a cake with holes.
#
# ## Further reading
#
# - Ribeiro, Singh, Guestrin (2016), *"Why Should I Trust You?"*: section 3; section 5.2 asks models
#   that use at most ten words of a text, and reports that LIME finds over 90 % of these.
# - Lundberg, Lee (2017), *A Unified Approach to Interpreting Model Predictions*: theorem 2, the
#   kernel.
# - Covert, Lee (2021), *Improving KernelSHAP*: sets drawn in pairs, and the error.
# - Ribeiro, Singh, Guestrin (2018), *Anchors*: section 3, how the rule is found.
# - Molnar, *Interpretable Machine Learning*: the chapters on LIME, Shapley values, SHAP and scoped
#   rules (anchors), with tables and pictures instead of texts.
