# %% [markdown] tags=["slide"]
# # Self-explaining models: rationales and prototypes
#
# A clerk reads each letter, marks a few words with a yellow pen, and blacks out all others. A judge
# is given what is left, and nothing else, and is right in 100 of 100 cases. So the marked words
# must be the reason for what the judge says. Must they?
#
# <small>Prerequisites: [the chapter's opening](00_opening.ipynb),
# [recurrent networks](../01_before/07_rnn.ipynb) or any classifier · 20 min · runs on a laptop;
# results of the long runs are included · book 7.3.3.2</small>

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

# %% Reviews whose deciding words are known tags=["fold"]
import torch

from deepdive_book.data.labeled_cause_reviews import generated_verdicts
from deepdive_book.kit.profile import pick, profile


def cut(text):
    """Its words; "do not" is one, so that a denial is one word."""
    return text.replace("do not", "don't").split()


LEARN, ASKED = (pick(ci=n, laptop=m, gpu=m) for n, m in ((500, 3000), (200, 1000)))
SETS = {"learn": generated_verdicts(LEARN, seed=1), "ask": generated_verdicts(ASKED, seed=2)}
WORDS = ["", *sorted({word for data in SETS.values() for text in data.texts for word in cut(text)})]
ID, T = {word: i for i, word in enumerate(WORDS)}, 14


# %% Texts as numbers tags=["fold"]
def tensors(data):
    """Words (N, T), 0 for padding; labels (N,); which words decide (N, T)."""
    x, decides = torch.zeros(len(data.texts), T, dtype=torch.long), []
    for i, (text, places) in enumerate(zip(data.texts, data.deciding, strict=True)):
        words = cut(text)
        x[i, : len(words)] = torch.tensor([ID[word] for word in words])
        moved = {j - text.split()[: j + 1].count("do") for j in places}
        decides.append([j in moved for j in range(T)])
    return x, torch.tensor(data.labels), torch.tensor(decides)


X, Y, DECIDES = tensors(SETS["learn"])
NEW, LABELS, TRUTH = tensors(SETS["ask"])

# %% A selector tags=["fold"]
import copy
from functools import cache

import torch.nn.functional as F
from torch import nn

D = 32


class Selector(nn.Module):
    """A score for each word, from its neighbours and the whole text; between -3 and 3."""

    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(len(WORDS), D), nn.Parameter(torch.randn(T, D) * 0.3)
        self.near, self.whole = nn.Conv1d(D, D, 5, padding=2), nn.Linear(D, D)
        self.mix, self.out = nn.Linear(D, D), nn.Linear(D, 1)

    def forward(self, tokens, mask):
        rows = (self.embed(tokens) + self.place) * mask[..., None]
        near = self.near(rows.mT).relu().mT
        most = (near * mask[..., None]).amax(1)[:, None]
        scores = self.out((self.mix(near) + self.whole(most)).relu())[..., 0]
        return 3 * (scores / 3).tanh()  # so that each word is sometimes kept, and sometimes not


# %% A reader tags=["fold"]
class Reader(nn.Module):
    """The class, from the words of the mask; the others are zeros to it."""

    def __init__(self):
        super().__init__()
        self.embed, self.near = nn.Embedding(len(WORDS), D), nn.Conv1d(D, 2 * D, 3, padding=1)
        self.out = nn.Linear(2 * D, 2)

    def forward(self, tokens, mask):
        rows = self.embed(tokens) * mask[..., None]
        return self.out(self.near(rows.mT).relu().amax(-1))


# %% A reader that is taught with words kept at random tags=["fold"]
def batches(steps, seed, size=128):
    """Places of texts to learn from, a batch a step."""
    draw = torch.Generator().manual_seed(seed)
    return [torch.randint(0, len(X), (size,), generator=draw) for _ in range(steps)]


@cache
@torch.enable_grad()  # it may be asked for where something is only measured
def taught(seed):
    """A reader that has met words kept at random, of each text another share."""
    torch.manual_seed(seed)
    reader = Reader()
    optimizer = torch.optim.Adam(reader.parameters(), lr=5e-3)
    for some in batches(round(800 * PART), seed):
        lot = torch.rand(len(some), T) < torch.rand(len(some), 1)
        optimizer.zero_grad()
        F.cross_entropy(reader(X[some], lot & (X[some] > 0)), Y[some]).backward()
        optimizer.step()
    return reader.eval()


# %% Learn what to keep tags=["fold"]
from deepdive.models.interpretable.rationale import RationaleModel
from deepdive.training.objectives.rationale import rationale_loss


def learn(model, penalty, steps, seed, reader_learns):
    """Both parts by REINFORCE; from a penalty of 0.05 to `penalty` in the first half."""
    torch.manual_seed(seed)
    model = copy.deepcopy(model).train()
    model.reader.requires_grad_(reader_learns)
    groups = [{"params": [*model.selector.parameters()], "lr": 5e-3}]
    groups += [{"params": [*model.reader.parameters()], "lr": 3e-3}] * reader_learns
    optimizer = torch.optim.Adam(groups)
    for step, some in enumerate(batches(steps, seed)):
        few = 0.05 + (penalty - 0.05) * min(1, 2 * step / steps)
        found = model.select(X[some], X[some] > 0)
        optimizer.zero_grad()
        rationale_loss(found.logits, Y[some], found.kept, found.log_prob, few, 0.0).backward()
        nn.utils.clip_grad_norm_(model.selector.parameters(), 1.0)
        optimizer.step()
    return model.eval()


# %% Learn a little first tags=["fold"]
@cache
def begun(seed):
    """A selector that has learned a little, with a reader that is frozen."""
    torch.manual_seed(seed)
    model = RationaleModel(Selector(), copy.deepcopy(taught(seed)))
    return learn(model, 0.05, round(400 * PART), seed, reader_learns=False)


# %% What is measured tags=["fold"]
STRANGER = 99  # the seed of a reader that meets the selector's words for the first time


@torch.no_grad()
def judged(model):
    """Of the new texts: words kept, right answers, precision, recall, and what a stranger says."""
    found = model.select(NEW, NEW > 0)
    says, hits = found.logits.argmax(1), (found.kept & TRUTH).sum()
    stranger = taught(STRANGER)(NEW, found.kept).softmax(-1)
    numbers = {
        "words": found.kept.sum(1).float().mean(), "right": (says == LABELS).float().mean(),
        "precision": hits / found.kept.sum(), "recall": hits / TRUTH.sum(),
        "stranger": stranger.gather(1, says[:, None]).mean(),
    }  # fmt: skip
    return {name: round(float(number), 4) for name, number in numbers.items()}


@torch.no_grad()
def alone():
    """What the stranger says of the deciding words themselves: of the right label."""
    says = taught(STRANGER)(NEW, TRUTH).softmax(-1)
    found = {"right": (says.argmax(1) == LABELS).float().mean(),
             "stranger": says.gather(1, LABELS[:, None]).mean()}  # fmt: skip
    return {name: round(float(number), 4) for name, number in found.items()}


# %% Which words those are tags=["fold"]
from collections import Counter

POLARITY = ("negative", "positive")


@torch.no_grad()
def common(model, label, most=4):
    """The words that are kept most often in texts that the model gives this label."""
    found = model.select(NEW, NEW > 0)
    kept = NEW[found.kept & (found.logits.argmax(1) == label)[:, None]]
    return [[WORDS[i], n] for i, n in Counter(kept.tolist()).most_common(most)]


@torch.no_grad()
def shown(model, places):
    """For a few texts which words are kept, and what is answered."""
    found = model.select(NEW[places], NEW[places] > 0)
    long = (NEW[places] > 0).sum(1).tolist()
    kept = [row[:n] for row, n in zip(found.kept.int().tolist(), long, strict=True)]
    return {"kept": kept, "says": found.logits.argmax(1).tolist()}


# %% Measure tags=["fold"]
from deepdive_book.kit.experiments import results_path as kept
from deepdive_book.kit.experiments import share, sweep

PART = pick(ci=0.02, laptop=0.1, gpu=1, experiment=share())
PENALTIES = (0.05, 0.1, 0.2, 0.4)
SHOWN = [0, 1, 2, 3, 4, 7]  # these new texts stand in the picture


def measure(kind, penalty, seed):
    """`judged`, and what is kept. Kinds: the reader learns on or is frozen; and two that begin
    with a selector that leans (`leaning`)."""
    if kind == "the deciding words":
        return alone()
    still = kind.endswith("still")
    start = leaning(seed) if kind.startswith("leaning") else begun(seed)
    model = start
    if kind != "leaning, before":
        model = RationaleModel(start.selector, taught(seed)) if kind == "leaning, still" else start
        model = learn(model, penalty, round(300 * PART), seed + 7, not still)
    return judged(model) | {"common": [common(model, y) for y in (0, 1)]} | shown(model, SHOWN)


# %% A selector that leans tags=["fold"]
@cache
def leaning(seed):
    """A selector that was led to keep "." in positive texts and "i" in negative ones, and the
    reader that has read those."""
    torch.manual_seed(seed)
    model = RationaleModel(Selector(), copy.deepcopy(taught(seed)))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for some in batches(round(300 * PART), seed + 3):
        tokens, label = X[some], Y[some]
        wanted = tokens == torch.where(label == 1, ID["."], ID["i"])[:, None]
        scores, real = model.selector(tokens, tokens > 0), tokens > 0
        drawn = (torch.rand_like(scores) < scores.sigmoid()) & real
        loss = F.binary_cross_entropy_with_logits(scores[real], wanted[real].float())
        optimizer.zero_grad()
        (loss + F.cross_entropy(model.reader(tokens, drawn), label)).backward()
        optimizer.step()
    return model.eval()


# %% Train and measure tags=["fold"]
seeds = (1, 2, 3) if profile() == "experiment" else (1,)
few = PENALTIES if profile() == "experiment" else (0.1,)
kinds = [(kind, p) for kind in ("learns on", "stands still") for p in few]
kinds += [(f"leaning{more}", 0.05) for more in (", before", "", ", still")]
kinds += [("the deciding words", 0.0)]
file = kept("07_explain", "joint")
points = [{"kind": kind, "penalty": p, "seed": seed} for seed in seeds for kind, p in kinds]
measured_rows = sweep(measure, points, file if profile() == "experiment" else None, minutes=30)

# %% Read what was kept tags=["fold"]
import json
from statistics import mean

measured, from_file = {"selectors": measured_rows}, False
if profile() != "ci" and file is not None and file.is_file():
    measured["selectors"], from_file = json.loads(file.read_text())["rows"], True


def of(kind, penalty=None, steady=None):
    """The rows of this kind, one a seed."""
    return [r for rows in measured.values() for r in rows if r["kind"] == kind
            and penalty in (None, r.get("penalty"))
            and steady in (None, r.get("steady"))]  # fmt: skip


def spread(found, what):
    """The mean of the seeds, and in brackets the lowest and the highest; shares in per cent."""
    values = [r[what] if what == "words" else 100 * r[what] for r in found]
    digits, sign = (1, "") if what == "words" else (0, " %")
    shown = [f"{v:.{digits}f}" for v in (mean(values), min(values), max(values))]
    return f"{shown[0]}{sign} ({shown[1]} to {shown[2]})"


if not from_file:
    print("below: one seed, too short to judge by")

# %% [markdown]
# The clerk is a network, the **selector** (in the papers *generator*), which says of each word
# whether it is kept. The judge is another, the **reader** (*encoder* or *predictor*), which is
# given the kept words only, the model's **rationale**. Both learn from right answers alone; nobody
# marks a word for them. Each word that is kept costs a **penalty**. The texts are generated, so we
# know which words decide: in *i don't find the script lifeless .* they are *don't* and *lifeless*.

# %% Move the penalty tags=["slide", "fold"]
from deepdive_book.ch07.figures.rationale_slider import Kept, Point, rationale_slider

seed = 2 if from_file else 1  # of three the one in which words drop out most evenly
first = {r["penalty"]: r for r in of("learns on") if r["seed"] == seed}
names = {"right": "answers that are right", "precision": "kept words that decide",
         "recall": "deciding words kept"}  # fmt: skip
texts = []
for k, place in enumerate(SHOWN):
    decides = [i for i, d in enumerate(TRUTH[place].tolist()) if d]
    says = [POLARITY[r["says"][k]] + ("" if r["says"][k] == LABELS[place] else ", wrongly")
            for r in first.values()]  # fmt: skip
    text = " ".join(cut(SETS["ask"].texts[place]))
    texts.append(Kept(text, decides, [r["kept"][k] for r in first.values()], says))
bars = [Point(p, {said: r[what] for what, said in names.items()}) for p, r in first.items()]
rationale_slider(texts, bars)

# %% [markdown]
# *Words in a full box are kept, the others are not read. A line below a word: it decides by the
# rule. The bars hold for all new texts. This is one of three trainings, the one in which words drop
# out most evenly.*
#
# 1. Which words drop out first, and which stay longest?
# 2. At the last penalty nearly all that is kept decides. What happened to the answers?
#
# <details><summary>Answers</summary>
#
# 1. First *find*, then *i*, then *the*. Of *don't* and the adjectives one stays to the last. In two
#    reviews the adjective of somebody else is kept for long, too: the reader goes by the first.
# 2. Fewer are right. Of a denial often *don't* alone is left, and is read as praise.
#
# </details>

# %% [markdown] tags=["slide"]
# ## By hand: how a choice learns
#
# A word is kept or not: there is no slope between. So the selector tosses a coin for each word, and
# learns from what each toss costs. Take two words of a text that is positive, *don't* and *cold*.
# The odds of keeping are 1 to 1 for *don't*, and 3 to 1 for *cold*. A wrong answer costs 16, an
# undecided one 8, a right one nothing; each kept word costs 4.
#
# | kept | chance, in 8ths | answer | words | cost |
# |---|---|---|---|---|
# | nothing | 1 | 8 | 0 | 8 |
# | *don't* | 1 | 8 | 4 | 12 |
# | *cold* | 3 | 16 | 4 | 20 |
# | both | 3 | 0 | 8 | 8 |
#
# A score $s$ makes the chance $p = \sigma(s)$, and the slope of a draw's log-chance is simply $z -
# p$: for *don't* $+\tfrac12$ where it is kept and $-\tfrac12$ where it is not. **REINFORCE**
# multiplies it by the cost of the draw: $-4, +6, -10, +4$. Their mean over the chances is the exact
# slope of the mean cost:
#
# $$\frac{-4 + 6 - 30 + 12}{8} = -2$$
#
# A cost has to fall, so keep *don't* more often. For *cold*, with $z - p$ of $-\tfrac34$ and
# $+\tfrac14$, the slope is $(-6 - 9 + 15 + 6)/8 = +\tfrac34$: keep it *less* often. Alone it
# misleads, and *don't* is missing in every second draw.
#
# <details><summary>The baseline: why one draw may say enough</summary>
#
# One draw says little: $-10$ is far from $-2$. Subtract the mean cost, 13, from each cost, and the
# four become $+2.5, -0.5, -3.5, -2.5$. Their mean is $-2$ again, their variance 3.75, not 46.
#
# </details>

# %% The same from the library tags=["nbval-check-output", "fold"]
from deepdive.models.interpretable.rationale import log_prob

scores = torch.tensor([[1.0, 3.0]]).log().requires_grad_()  # odds
real, costs = torch.ones(1, 2, dtype=torch.bool), {(0, 0): 8, (1, 0): 12, (0, 1): 20, (1, 1): 8}
draws = {z: log_prob(scores, torch.tensor([z]).bool(), real)[0] for z in costs}
mean_cost = sum(cost * draws[z].exp() for z, cost in costs.items())
(exact,) = torch.autograd.grad(mean_cost, scores, retain_graph=True)
for baseline in (0, 13):
    chances, each = [], []
    for z, cost in costs.items():
        (slope,) = torch.autograd.grad(draws[z], scores, retain_graph=True)
        chances.append(draws[z].exp().item())
        each.append(((cost - baseline) * slope)[0])
    each, chances = torch.stack(each), torch.tensor(chances)
    middle = chances @ each
    assert torch.allclose(middle, exact[0], atol=1e-5)
    variance = chances @ (each - middle).square()
    print(f"baseline {baseline}: don't", *(f"{v:+.1f}" for v in each[:, 0].tolist()))
    print(f"  mean {middle[0]:.2f}, variance {variance[0]:.2f}; cold: mean {middle[1]:.2f}")
assert round(mean_cost.item()) == 13

# %% [markdown]
# ## The equation
#
# For a text $x$ with label $y$, kept words $z$ drawn with chances $p$ from the selector:
#
# $$\text{cost} = -\log q(y \mid x_z) + \lambda \sum_t z_t$$
#
# $q$ is the reader, $\lambda$ the penalty a word (Lei, Barzilay and Jaakkola 2016). The reader
# follows the slope of the first term. The selector follows REINFORCE, with the mean cost of the
# other texts subtracted (its **baseline**).
#
# <details><summary>Not as in the paper</summary>
#
# They have a second penalty, for keeping words that are not neighbors, which we set to 0. And when
# both began with random weights, in nearly all of our first trials the selector kept everything or
# nothing. So the reader first learns from words that are kept at random, and the selector then
# learns a little while the reader is frozen.
#
# </details>
#
# ## What is kept, and is it what decides?

# %% Over the penalty tags=["slide", "fold"]
from deepdive_book.kit.tables import table

lines = [[f"{p:g}", ", ".join(f"{r['words']:.1f}" for r in of("learns on", p)),
          *(spread(of("learns on", p), what) for what in ("right", "precision", "recall"))]
         for p in dict.fromkeys(r["penalty"] for r in of("learns on"))]  # fmt: skip
table(lines, ["penalty", "words kept", "right", "precision", "recall"],
      caption="new texts: words kept in each training; then the mean of the trainings (lowest to "
      "highest)")  # fmt: skip

# %% [markdown]
# The three trainings differ more than the penalties do: in the first nothing changes before the
# last penalty, and the third keeps 11.0 words, all that there are, at every penalty. A selector
# that learns from coins is hard to train.

# %% [markdown]
# ## A clerk with a habit
#
# The selector reads the whole text before it marks a word. So it could find the answer itself, and
# tell it: keep the full stop if the text is positive, and *i* if it is negative. Both words stand
# in every text. We teach a selector this habit, and its reader to go by it. Then both learn on as
# the others did, with a penalty of 0.05.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Before they learn on, nearly all answers are right, and no word that is kept decides. Nothing "
    "in the cost speaks for full stops. What becomes of the habit?",
    ["it is given up: deciding words say the answer too, and in more than one way",
     "it is given up in part: both kinds of words are kept side by side",
     "it stays: right answers in nearly all texts, and not one deciding word"],
    answer=2,
    explain="The cost knows right answers and numbers of words. One word that stands for the "
    "answer is as right as the deciding words, and costs no more.",
    key="07_explain/habit",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Before and after tags=["surprise", "slide", "fold"]
told = ("words", "right", "recall")
lines = [[name, *(spread(found, what) for what in told)] for name, found in (
    ("as it was taught", of("leaning, before")), ("after learning on", of("leaning")),
    ("none, penalty 0.1", of("learns on", 0.1)))]  # fmt: skip
table(lines, ["the habit", "words kept", "right", "deciding words kept"],
      caption="new texts: mean of the seeds (lowest to highest)")  # fmt: skip

# %% Which words it keeps tags=["fold"]
for kind, p in (("leaning", 0.05), ("learns on", few[-1] if not from_file else 0.4)):
    for run in of(kind, p):
        print(
            f"{'the habit' if kind == 'leaning' else 'no habit'}, penalty {p}, seed {run['seed']}"
        )
        for label, words in zip(POLARITY, run["common"], strict=True):
            print(f"  answers {label}:", ", ".join(f"{word} {n}" for word, n in words))

# %% [markdown]
# The habit stays, in each of three trainings (300 more steps). The cost gives little reason to
# leave it: the predictions are right, and one word per text is cheap. But this training also fails
# to leave starts that *are* expensive. From the ordinary start one training keeps the whole text at
# every penalty, and another selects the same words at penalties of 0.05, 0.1, and 0.2. So that a
# planted habit stays may say as much about REINFORCE here as about degeneration; the control, an
# expensive planted habit, was not run. Where the answer is *positive* the reader has read a full
# stop, at times with *i* or *find* beside it, and none of these is the reason. The reason is in the
# selector, which shows nothing. This is called **degeneration** (Yu et al. 2019). We planted it.
# From the ordinary start all deciding words were kept at a penalty of 0.1 or less (trivially so in
# the training that keeps the whole text).

# %% [markdown] tags=["slide"]
# ## A test: give the words to a stranger
#
# Precision needs words that somebody marked. This test needs none. Train an independent reader, a
# **stranger**, with words kept at random. It has never met this selector, so a code means nothing
# to it. Give it the kept words: how probable does it call the model's answer?

# %% What a stranger reads in it tags=["slide", "fold"]
lines = [["the deciding words alone", "", spread(of("the deciding words"), "stranger")]]
lines += [[name, spread(found, "right"), spread(found, "stranger")] for name, found in (
    ("the habit", of("leaning")),
    *((f"no habit, penalty {p:g}", of("learns on", p))
      for p in dict.fromkeys(r["penalty"] for r in of("learns on"))))]  # fmt: skip
table(lines, ["what the stranger reads", "right", "the stranger gives the answer"],
      caption="new texts: mean of the seeds (lowest to highest). Right: the model's own reader. "
      "There is one stranger: the ranges hold for the models only")  # fmt: skip

# %% Right, and understood by a stranger tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(4.6, 3.4), layout="constrained")
axes = figure.subplots()
for name, found, mark, color in (
    ("no habit", of("learns on"), "o", "#0072B2"),
    ("no habit, frozen reader", of("stands still"), "s", "#009E73"),
    ("the habit", of("leaning"), "x", "#D55E00"),
    ("the habit, frozen reader", of("leaning, still"), "+", "#CC79A7"),
):
    places = [[100 * r[what] for r in found] for what in ("right", "stranger")]
    axes.plot(*places, mark, color=color, label=name, fillstyle="none")
axes.set(xlabel="right", ylabel="stranger gives the answer", xlim=(40, 103), ylim=(40, 103))
axes.legend(loc="upper left", frameon=False)
with_alt(figure, "A mark for each model: right answers across, the stranger's probability up. The "
         "models with the habit stand at the lower right, right and not understood.")  # fmt: skip

# %% [markdown]
# *A mark is one model: all penalties, all seeds, both axes in per cent. The habit stands at the
# right edge, where all answers are right, but low: who has not learned the code cannot read it.*
#
# The stranger tells a code from words that say the answer: 57% for the habit, 95% and 93% at
# penalties of 0.05 and 0.1, where as many answers are right (both means include the training that
# keeps the whole text, for which the test is trivial). But a low number proves no code; it
# asks for a look. With no habit planted a gap opens in one training at 0.2 (97% right, the
# stranger at 71%) and in two of three at 0.4. The deciding words alone get 75%: without *i find*
# a stranger cannot know whose words they are.
#
# A code needs two. So teach the reader first, with words kept at random, and then **freeze** it:
# now only 51% of the answers of the selector with the habit are right, and that failure stands in
# the accuracy, where everybody looks.

# %% [markdown] tags=["aside"]
# ### The frozen reader, over the penalty

# %% Only the selector learns tags=["fold"]
lines = [[name, *(spread(found, what) for what in ("right", "recall", "stranger"))]
         for name, found in (("the habit", of("leaning, still")),
         *((f"no habit, penalty {p:g}", of("stands still", p))
           for p in dict.fromkeys(r["penalty"] for r in of("stands still"))))]  # fmt: skip
table(lines, ["reader frozen", "right", "recall", "stranger"],
      caption="new texts: mean of the seeds (lowest to highest)")  # fmt: skip

# %% [markdown]
# The selector with the habit does not find its way back to the deciding words. From the ordinary
# start 98 to 100% are right up to a penalty of 0.1, with 92% or more of the deciding words. The
# price: at 0.2 one training falls far below the others, and at 0.4 all three keep nothing of use.

# %% [markdown]
# ## A reason that is written
#
# A model can also be taught to write its reason, from reasons that stand beside the labels (people
# wrote those of e-SNLI; ours come from a form, *because i (don't) find it ...*). Here, too, we
# plant a cause: in training each text ends with a thumb, up or down, that gives its label away. One
# model writes the reason **beside** its answer. The other writes it **first**, and answers from it
# alone.

# %% What a reason says tags=["fold"]
from deepdive_book.data.synthetic_reviews import BAD, GOOD

ADJECTIVES = [ID[word] for word in sorted({*GOOD, *BAD}) if word in ID]
SIGN = torch.tensor([int(WORDS[i] in GOOD) for i in ADJECTIVES])
TAGS = torch.tensor([len(WORDS), len(WORDS) + 1])  # "thumb down", "thumb up"


def tagged(tokens, label):
    """The texts with a thumb as their last token."""
    return torch.cat([tokens, TAGS[label][:, None]], 1)


def reasons(tokens, decides):
    """Of each text the first adjective that decides, and whether it is denied."""
    adjective = torch.stack([tokens == i for i in ADJECTIVES], -1) & decides[..., None]
    first = adjective.any(-1).int().argmax(1)
    return adjective[range(len(tokens)), first].int().argmax(-1), (
        (tokens == ID["don't"]) & decides
    ).any(-1).long()


# %% A model that writes its reason tags=["fold"]
class Row(Reader):
    """A text as one row of 16."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(2 * D, 16)


class Writer(nn.Module):
    """An answer, and "because i (do not) find it ...". `first`: the answer from the reason alone"""

    def __init__(self, first):
        super().__init__()
        self.body, self.first, self.answer = Row(), first, nn.Linear(64, 2)
        self.body.embed, self.body.out = nn.Embedding(len(WORDS) + 2, D), nn.Linear(2 * D, 64)
        self.adjective, self.denied = nn.Linear(64, len(ADJECTIVES)), nn.Linear(64, 2)
        self.by_reason = nn.Parameter(torch.zeros(len(ADJECTIVES), 2, 2))

    def forward(self, tokens, told=None):
        h = self.body(tokens, tokens > 0).relu()
        said = self.adjective(h), self.denied(h)
        a, d = told or (said[0].argmax(-1), said[1].argmax(-1))
        return (self.by_reason[a, d] if self.first else self.answer(h)), *said


# %% Train it where a thumb gives the label away tags=["fold"]
def written(first, seed):
    """A writer that learns answers, reasons and thumbs; what it says then."""
    torch.manual_seed(seed)
    model, all_reasons = Writer(first), reasons(X, DECIDES)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for some in batches(round(500 * PART), seed):
        told = all_reasons[0][some], all_reasons[1][some]
        answer, adjective, denied = model(tagged(X[some], Y[some]), told)
        optimizer.zero_grad()
        loss = F.cross_entropy(answer, Y[some]) + F.cross_entropy(adjective, told[0])
        (loss + F.cross_entropy(denied, told[1])).backward()
        optimizer.step()
    return turned(model)


# %% Turn it tags=["fold"]
def turned(model):
    """How often answer and reason are right, and agree, with the thumb and with the other one."""
    found, true = {}, reasons(NEW, TRUTH)
    for name, tags in (("same", LABELS), ("other", 1 - LABELS)):
        with torch.no_grad():
            answer, adjective, denied = (part.argmax(-1) for part in model(tagged(NEW, tags)))
        told = SIGN[adjective] ^ denied  # the label that the written reason speaks for
        exact = (adjective == true[0]) & (denied == true[1])
        found |= {f"right, {name}": answer == LABELS, f"true reason, {name}": exact,
                  f"agree, {name}": answer == told}  # fmt: skip
    return {key: round(float(value.float().mean()), 4) for key, value in found.items()}


# %% Measure both tags=["fold"]
def reasoned(kind, steady, seed):
    """What a writer says, with the thumb of its training and with the other one."""
    return written(kind == "reason first", seed)


def others(measure, kinds):
    """Rows of the other models: those that are kept, or new ones."""
    file = kept("07_explain", "joint_others")
    if from_file:
        there = json.loads(file.read_text())["rows"]
        return [r for r in there if (r["kind"], r["steady"]) in kinds]
    points = [{"kind": kind, "steady": w, "seed": seed} for seed in seeds for kind, w in kinds]
    return sweep(measure, points, file if profile() == "experiment" else None, minutes=15)


measured["reasons"] = others(reasoned, [("reason beside", 0.0), ("reason first", 0.0)])

# %% Turn the thumb tags=["slide", "fold"]
lines = [[name, tag, *(spread(of(kind), f"{what}, {key}")
                       for what in ("right", "true reason", "agree"))]
         for kind, name in (("reason beside", "beside"), ("reason first", "first"))
         for key, tag in (("same", "as in training"), ("other", "turned"))]  # fmt: skip
table(lines, ["reason", "thumb", "answer right", "reason true", "they agree"],
      caption="new texts: mean of the seeds (lowest to highest)")  # fmt: skip

# %% [markdown]
# Beside the answer the reason is true, and agrees with it, as long as the thumb is right. Turn the
# thumb, and every answer turns with it, while 68% (42 to 81) of the reasons still say what stands
# in the text. Nothing ties such a reason to the answer's cause. A reason that comes **first**, and
# is all that the answer sees, stays right, and so does the answer. How the model came to its reason
# is as hidden as the selector.

# %% [markdown] tags=["aside"]
# ### A sum of shares, and prototypes
#
# **A sum of shares** (Alvarez-Melis and Jaakkola 2018). Each word gets a share of each class, and
# the answer is the sum of the shares: the explanation is exact. But a share is the product
# $\theta_t \cdot x_t$, and $\theta_t$ is made from the whole text: any word can carry the answer.
# So the paper makes the model pay where $\theta_t$ is not the slope of the answer with that word.
#
# **Prototypes** (Li et al. 2018). A text is answered by its distances to six learned points, each
# pulled to a text of the training: "because it is like this one".

# %% A sum of shares, and prototypes tags=["fold"]
from deepdive.models.interpretable.prototypes import PrototypeClassifier, pulls
from deepdive.models.interpretable.self_explaining import SelfExplaining


class Weigher(Selector):
    """For each word a weight for each number of its row and each class."""

    def __init__(self, d=16, classes=2):
        super().__init__()
        self.place, self.near = nn.Parameter(torch.randn(T, d) * 0.3), nn.Conv1d(d, D, 5, padding=2)
        self.out, self.embed = nn.Linear(D, classes * d), None

    def forward(self, rows, mask):
        rows = (rows + self.place) * mask[..., None]
        near = self.near(rows.mT).relu().mT
        most = (near * mask[..., None]).amax(1)[:, None]
        return self.out((self.mix(near) + self.whole(most)).tanh())


# %% Train them tags=["fold"]
def trained(model, loss, seed, steps=400):
    """`model`, after Adam's steps on loss(model, tokens, mask, labels)."""
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for some in batches(round(steps * PART), seed, size=64):
        optimizer.zero_grad()
        loss(model, X[some], X[some] > 0, Y[some]).backward()
        optimizer.step()
    return model.eval()


def sums(steady, seed):
    """A sum of shares; `steady` times the penalty on shares that are not what they seem."""

    def loss(model, x, mask, y):
        told = F.cross_entropy(model(x, mask), y)
        return told + steady * model.unsteady(x, mask) if steady else told

    torch.manual_seed(seed)
    return trained(SelfExplaining(nn.Embedding(len(WORDS), 16), Weigher(), 2), loss, seed)


# %% Train prototypes tags=["fold"]
def alike(seed, prototypes=6):
    """A classifier by distances to prototypes."""

    def loss(model, x, mask, y):
        distances = model.distances(x, mask)
        return F.cross_entropy(model.classify(distances), y) + 0.05 * sum(pulls(distances))

    torch.manual_seed(seed)
    return trained(PrototypeClassifier(Row(), 16, prototypes, 2), loss, seed)


# %% Judge a sum tags=["fold"]
@torch.no_grad()
def judged_sum(model):
    """Right answers; how often the largest share stands on a deciding word; that of its sum."""
    shares = model.shares(NEW, NEW > 0)
    says = shares.sum(1).argmax(1)
    for_it = (shares[..., 1] - shares[..., 0]) * (2 * says - 1)[:, None]
    for_it = for_it.masked_fill(NEW == 0, -torch.inf)
    first = for_it.argmax(1, keepdim=True)
    found = {
        "right": (says == LABELS).float().mean(),
        "first": TRUTH.gather(1, first).float().mean(),
    }
    top = Counter(NEW.gather(1, first)[:, 0].tolist()).most_common(3)
    numbers = {name: round(float(number), 4) for name, number in found.items()}
    return numbers | {"top": [[WORDS[i], n] for i, n in top]}


# %% Judge prototypes tags=["fold"]
@torch.no_grad()
def judged_alike(model):
    """Right answers; how often the prototype's text has the answer's label, and a deciding word in
    common with the text; and how often any text of that label has one."""
    distances, nearest = model.distances(NEW, NEW > 0), model.distances(X, X > 0).argmin(0)
    says, shows = model.classify(distances).argmax(1), nearest[distances.argmin(1)]
    of = [(y == Y).nonzero()[:, 0] for y in (0, 1)]
    by_lot = torch.tensor([int(of[y][(37 * i) % len(of[y])])
                           for i, y in enumerate(says.tolist())])  # fmt: skip

    def in_common(texts):
        pairs = [({*x[d].tolist()} - {ID["don't"]}) & {*other[m].tolist()} for x, d, other, m in
                 zip(NEW, TRUTH, X[texts], DECIDES[texts], strict=True)]  # fmt: skip
        return sum(map(bool, pairs)) / len(pairs)

    return {"right": round(float((says == LABELS).float().mean()), 4),
            "same label": round(float((Y[shows] == says).float().mean()), 4),
            "same word": in_common(shows), "same word by lot": in_common(by_lot),
            "texts": [SETS["learn"].texts[i] for i in nearest.tolist()],
            "used": distances.argmin(1).bincount(minlength=len(nearest)).tolist()}  # fmt: skip


# %% Measure them tags=["fold"]
def looked_at(kind, steady, seed):
    """A sum or prototypes."""
    return judged_alike(alike(seed)) if kind == "prototypes" else judged_sum(sums(steady, seed))


kinds_here = [("sum", 0.0), ("sum", 1.0), ("prototypes", 0.0)]
measured["sums"] = others(looked_at, kinds_here)

# %% Sums and prototypes tags=["fold"]
lines = [["sum of shares", spread(of("sum", steady=0), "right"), "largest share decides",
          spread(of("sum", steady=0), "first")],
         ["the same, steady", spread(of("sum", steady=1), "right"), "largest share decides",
          spread(of("sum", steady=1), "first")],
         ["prototypes", spread(of("prototypes"), "right"), "prototype has the answer's label",
          spread(of("prototypes"), "same label")],
         ["", "", "and a deciding word in common", spread(of("prototypes"), "same word")],
         ["", "", "the same, a text of that label at random",
          spread(of("prototypes"), "same word by lot")]]  # fmt: skip
table(lines, ["model", "right", "its explanation", "how often"],
      caption="new texts: mean of the seeds (lowest to highest)")  # fmt: skip

# %% On which word the largest share stands tags=["fold"]
for run in of("sum"):
    top = ", ".join(f"{word} {n}" for word, n in run["top"])
    print(f"{'steady' if run['steady'] else 'as it is'}, seed {run['seed']}: {top}")
for run in of("prototypes"):
    print(f"prototypes, seed {run['seed']}: each is nearest for", *run["used"], "texts")

# %% What the seeds carry tags=["fold"]
if from_file:
    assert all(r["right"] > 0.98 and r["recall"] == 0 for r in of("leaning"))
    assert max(r["right"] for r in of("leaning, still")) < 0.53
    assert max(r["stranger"] for r in of("leaning")) < 0.6
    assert min(r["stranger"] for p in (0.05, 0.1) for r in of("learns on", p)) > 0.9
    loose, steady = ([r["first"] for r in of("sum") if r["steady"] == w] for w in (0, 1))
    assert max(loose) < 0.4
    assert min(steady) > 0.87
    assert all(r["same label"] < 0.7 < 0.99 < r["right"] for r in of("prototypes"))
    assert all(r["right, other"] < 0.01 for r in of("reason beside"))
    assert all(r["right, other"] > 0.99 for r in of("reason first"))
    print("this holds in every seed")

# %% [markdown]
# - **The sum** is right about as often with its penalty as without. Without it the largest share
#   stands on a deciding word in 23% of the texts, and mostly on *the*; with it in 89%. The shares
#   add up to the answer both times.
# - **Prototypes** are right in 100%, but only in 67% has the nearest prototype's text the label
#   of the answer. It shares a deciding word in 7%, and a text of that label taken at random in
#   5%. The answer weighs all six distances; one prototype is the nearest for more than half of all
#   texts. "Because it is like this one" is not how this model decides.

# %% [markdown]
# ## In practice
#
# - Report a stranger's probability beside the accuracy, and look at which words are kept for each
#   label.
# - Train several models. Ours differed more by their seed than by their penalty.
# - Before you trust a written reason, change what you suspect (a thumb, a name, an order of
#   options) and see whether answer and reason turn together.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. What is certain about a word that the selector did not keep?
#
#    <details><summary>Answer</summary>
#
#    The reader has not read it. The selector has.
#
#    </details>
# 2. Why does the selector learn by tossing coins?
#
#    <details><summary>Answer</summary>
#
#    Kept or not has no slope; the chance of keeping has one, and the cost of draws estimates it.
#
#    </details>
# 3. What does the baseline change, and what not?
#
#    <details><summary>Answer</summary>
#
#    The variance of the estimate, not its mean.
#
#    </details>
# 4. How can one full stop be a sufficient rationale?
#
#    <details><summary>Answer</summary>
#
#    It is sufficient for the reader that learned the code, since which word was chosen tells it.
#
#    </details>
# 5. A reason that is true and agrees with the answer: is it the cause?
#
#    <details><summary>Answer</summary>
#
#    Not yet. Change the suspected cause: if the answer turns and the reason does not, it was not.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 5 min)* In the sum by hand, from which odds of *don't* on is *cold* worth its
#    price?
#
#    <details><summary>Answer</summary>
#
#    Where *don't* is kept with chance $p$, it costs $20 - 12p$ on average to keep *cold* and $8 +
#    4p$ to drop it. They are equal at $p = \tfrac34$: odds of 3 to 1.
#
#    </details>
# 2. *(on paper, 4 min)* Two classes come alike, the penalty is $\lambda$. From which penalty on is
#    it cheaper to keep nothing than two words that tell the answer for certain? And than a code
#    that keeps one word for one class and none for the other?
#
#    <details><summary>Answer</summary>
#
#    To keep nothing costs $\ln 2 = 0.69$. Two words cost $2\lambda$: from $0.35$ on. The code costs
#    $\lambda/2$ on average: from $1.39$ on. Between the two only a code pays.
#
#    </details>
# 3. *(find the bug, 15 min)* Make the habit yourself: in `leaning`, let positive texts keep
#    their first word. Run `judged` on it before and after `learn`. Which of its five numbers show
#    that something is wrong, if you have no marked words?
#
#    <details><summary>Answer</summary>
#
#    Not *words* and not *right*. *stranger* alone: precision and recall need the marks.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to exercises 1 and 2, checked.
from fractions import Fraction
from math import log

p = Fraction(3, 4)
print(p * costs[1, 1] + (1 - p) * costs[0, 1] == p * costs[1, 0] + (1 - p) * costs[0, 0])
print(f"{log(2):.2f}, {log(2) / 2:.2f}, {2 * log(2):.2f}")

# %% [markdown]
# ## Summary
#
# A model that explains itself shows a part of its computation, and only that part is certain: a
# word that was not kept was not read, a reason that comes first is used. The part that is not shown
# may have put the answer into it: a clerk that we had taught to mark a full stop for "positive" and
# *i* for "negative" went on doing so, and the judge was right in nearly all texts. Back to the
# clerk: no, the marked words need not be the reason. Give them to a judge who has never met this
# clerk, and ask how sure he is of the same answer; where he is not, look closer.
#
# ## Further reading
#
# - Lei, Barzilay, Jaakkola (2016), *Rationalizing Neural Predictions*: both parts and their costs.
# - Yu, Chang, Zhang, Jaakkola (2019), *Rethinking Cooperative Rationalization*: codes, and a third
#   player who reads what was left.
# - Jacovi, Goldberg (2021), *Aligning Faithful Interpretations with their Social Attribution*: why
#   a sufficient rationale is not yet a reason.
# - Camburu et al. (2018), *e-SNLI*: written reasons beside the label or before it.
