# %% [markdown] tags=["slide"]
# # Bias audits and training-data extraction
#
# Anna and Ben apply for the same job. Their references say the same of them, word for word, and a
# model that has read thousands of old decisions reads both. Will it treat them alike? The office's
# notes also hold codes that are nobody's business. Can a stranger make a language model tell them?
#
# <small>Prerequisites: [a classifier that is asked](04_perturbation.ipynb) · 17 min · runs on a
# laptop; results of the long runs are included · KAIST lecture 3</small>

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

# %% References in which an injustice is planted tags=["fold"]
import torch

from deepdive.layers.heads import Classifier
from deepdive.models.bert.bert import bert
from deepdive.tokenizers import WordTokenizer
from deepdive_book.data.synthetic_references import ABLE, MEN, WOMEN, generated_references, hired
from deepdive_book.kit.profile import pick, profile
from deepdive_book.kit.tables import table
from deepdive_book.tasks.classification import batches, encode, predict

MARKS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
TWINS = dict(zip(WOMEN, MEN, strict=True))
BOTH = {**TWINS, "north": "south"}
WORDS = WordTokenizer.train(generated_references(2000).texts, 100, specials=MARKS)
made = generated_references(5, seed=4)
table([[text, made.names[label]] for text, label in zip(made.texts, made.labels, strict=True)],
      ["generated letter", "decision"])  # fmt: skip


# %% Train one model tags=["fold"]
from torch.nn.functional import cross_entropy

from deepdive.explain.audits.bias import balanced, swapped
from deepdive.training import fit
from deepdive.training.optim import adam, cosine


def lessons(arm, made):
    """What a model learns from: texts, decisions, and a weight for each of (decision, woman)."""
    texts, labels, women = list(made.texts), list(made.labels), list(made.woman)
    weights = torch.ones(4)
    if arm == "names hidden":
        texts = [" ".join(["[MASK]", *text.split()[1:]]) for text in texts]
    if arm in ("names swapped", "both swapped"):
        twins = TWINS if arm == "names swapped" else BOTH
        texts, labels = texts + [swapped(text, twins) for text in texts], labels * 2
        women = women * 2  # whose decision it was
    if arm == "weights":
        for code, weight in zip((y + 2 * w for y, w in zip(labels, women, strict=True)),
                                balanced(labels, women).tolist(), strict=True):  # fmt: skip
            weights[code] = weight
    return texts, [y + 2 * w for y, w in zip(labels, women, strict=True)], weights


# %% A small BERT tags=["fold"]
def trained(arm, seed, texts, steps):
    """A BERT of one layer, 32 wide, that learned the old decisions in one of five ways."""
    written, codes, weights = lessons(arm, generated_references(texts, seed=seed))
    torch.manual_seed(seed)
    sizes = {"d_model": 32, "n_heads": 2, "n_layers": 1, "d_ff": 64, "max_length": 16}
    model = Classifier(bert(vocab_size=len(WORDS), n_segments=0, dropout=0.1, **sizes), 32, 2)

    def loss(model, batch):
        code, tokens = batch[0][:, 0], batch[1]
        each = cross_entropy(model(tokens, tokens != 0), code % 2, reduction="none")
        return (weights[code] * each).mean()

    fit(model, batches(encode(written, WORDS), codes, 2000, seed), loss, steps=steps, seed=seed,
        progress=False, optimizer=adam(model),
        schedule=cosine(3e-3, warmup=steps // 10, total=steps))  # fmt: skip
    return model.eval()


def hires(model, texts, hide=False):
    """How likely the model hires each, (N,)."""
    if hide:
        texts = [" ".join(["[MASK]", *text.split()[1:]]) for text in texts]
    return predict(model, encode(texts, WORDS), progress=False).softmax(1)[:, 1]


# %% Two models tags=["fold"]
TEXTS, STEPS = pick(ci=2000, laptop=8000, gpu=8000), pick(ci=100, laptop=300, gpu=300)
old = trained("as they are", 1, TEXTS, STEPS)
alike = trained("names swapped", 1, TEXTS, STEPS)

# %% Change a word tags=["slide", "fold"]
from deepdive_book.ch07.figures.name_swap import name_swap_demo as twins

choices = [("name", ["anna", *(name for name in WOMEN + MEN if name != "anna")]),
           ("office", ["north", "south"]),
           ("first quality", ["punctual", "late", "quick", "slow"]),
           ("second quality", ["careful", "careless", "friendly", "rude"]),
           ("third quality", ["forgetful", "inventive", "patient", "impatient"])]  # fmt: skip
twins({"learned from old decisions": old, "the same, with each letter under both names": alike},
      WORDS, "{} of the {} office was {} , {} and {} .", choices, TWINS)  # fmt: skip

# %% [markdown]
# *A generated letter; both models run here, in the page. Choose other words, or press "other name".
# The lower bar of each pair is the same letter under a name of the other group. At the line in the
# middle the answer turns.*
#
# 1. Which letters are decided by the name alone, in the upper model?
# 2. The lower model cannot tell Anna from Ben. Now press "other office". What moves?
#
# <details><summary>Answers to the two tasks</summary>
#
# 1. Those with two good qualities: here Anna has 36% and Ben 57%, on either side of the line.
# 2. Both lower bars together: a letter from the south is hired more readily, for both names.
#
# </details>
#
# ## An injustice whose size we know
#
# We wrote the letters and the decisions. Only three qualities say how likely somebody is **able**.
# Of the able women, 40 of 100 were turned down all the same, and no able man: that is the planted
# injustice, and the only one. The office is a **proxy**: nine in ten women work in the north
# office, nine in ten men in the south.
#
# A **template audit** needs none of that: write a letter, put in *anna*, then *ben*, subtract the
# two answers. Such a pair, equal but for one word, is called **counterfactual**.

# %% Measure one model tags=["fold"]
from deepdive.explain.audits.bias import equal_opportunity, rates, threshold

TESTED = generated_references(4000 if profile() != "ci" else 600, seed=1000)
ASKED = 200 if profile() != "ci" else 40


def gaps(model, office, hide):
    """By the number of good qualities: men's answer minus women's, same letter, in hundredths."""
    found = [[] for _ in ABLE]
    for text, good in zip(TESTED.texts[:ASKED], TESTED.good, strict=False):
        rest = text.split()[1:]
        rest[2] = "north" if office else rest[2]
        own = [" ".join([name, *rest]) for name in WOMEN]
        other = [swapped(each, BOTH if office else TWINS) for each in own]
        apart = hires(model, other, hide) - hires(model, own, hide)
        found[good].append(100 * float(apart.mean()))
    return [sum(each) / len(each) for each in found]


# %% Whom the decisions fall on tags=["fold"]
def measure(arm, seed, texts, steps):
    model, hide = trained(arm, seed, texts, steps), arm == "names hidden"
    scores, women = hires(model, TESTED.texts, hide), torch.tensor(TESTED.woman)
    at = {0: 0.5, 1: 0.5}
    if arm == "as they are":  # two thresholds, from old decisions: who was hired was able
        known = generated_references(4000, seed=500)
        theirs, group = hires(model, known.texts), torch.tensor(known.woman)
        was = torch.tensor(known.labels)
        rate = float((theirs >= 0.5)[(group == 0) & (was == 1)].float().mean())
        at[1] = threshold(theirs[group == 1], was[group == 1], rate)
    found = {"pairs": gaps(model, False, hide), "with_office": gaps(model, True, hide)}
    for name, limits in (("", {0: 0.5, 1: 0.5}), ("two_", at)):
        said = (scores >= torch.tensor([limits[0], limits[1]])[women]).int().tolist()
        counts = rates(said, TESTED.able, TESTED.woman)
        found[f"{name}hits"] = 100 * (counts[0].hits - counts[1].hits)
        found[f"{name}chosen"] = 100 * (counts[0].chosen - counts[1].chosen)
        for what, truth in (("able", TESTED.able), ("history", TESTED.labels)):
            same = sum(a == b for a, b in zip(said, truth, strict=True))
            found[f"{name}{what}"] = 100 * same / len(said)
    return found


# %% Three seeds, kept; or one short run tags=["fold"]
from deepdive_book.kit.experiments import results_path, sweep

ARMS = ["as they are", "names hidden", "names swapped", "both swapped", "weights"]
file = results_path("07_explain", "repairs")
long = profile() == "experiment" or (profile() == "laptop" and file and file.is_file())
points = [{"arm": arm, "seed": seed, "texts": 8000 if long else TEXTS,
           "steps": 300 if long else STEPS}
          for arm in (ARMS if long else ARMS[:1])
          for seed in ((1, 2, 3) if long else (1,))]  # fmt: skip
rows = sweep(measure, points, file if long else None, minutes=3)
print(len(rows), "kept runs" if long else "short run of this page")


def seeds(values, digits=0):
    """Mean, and in brackets the lowest and the highest of the seeds."""
    low, *_, high = sorted([min(values), *values, max(values)])
    mean = sum(values) / len(values)
    return f"{mean:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})".replace("-0 ", "0 ")


# %% What was planted, and what the pairs find tags=["slide"]
first = [row for row in rows if row["arm"] == "as they are"]
table([[good, round(100 * (hired(good, False) - hired(good, True))),
        seeds([row["pairs"][good] for row in first]),
        seeds([row["with_office"][good] for row in first])] for good in range(4)],
      ["good qualities", "planted", "other name", "and office"],
      caption="How much likelier the man is hired, in hundredths, with the same letter: mean "
      "(lowest to highest seed)")  # fmt: skip

# %% [markdown]
# **The audit finds what the model does, not what was planted.** With two good qualities the name
# moves 21 of the planted 28, and name and office together all 28: a part has moved to the office,
# which gives the name away. With one quality the name moves all 14, and the office adds 5 that
# nobody planted; with three the model falls short. A pair that changes one word cannot see what
# hangs on the others.

# %% [markdown] tags=["slide"]
# ## By hand: twelve people
#
# A pair says that the model reads the name, not whom its decisions fall on. Twelve people have 1 to
# 9 points, and whoever has 6 or more is hired:
#
# | | points of the able | of the others |
# |---|---|---|
# | women | 8 5 5 3 | 5 1 |
# | men | 9 8 7 4 | 6 2 |
#
# Of four able men 3 are hired, of four able women 1. These shares are **true positive rates**, and
# to have them alike is called **equal opportunity** (Hardt et al. 2016). (To hire equal shares of
# both groups, able or not, is another aim: **demographic parity**.) Here they are $3/4 - 1/4 = 1/2$
# apart, and $4 + 3 = 7$ of the 12 decisions are right. Two repairs:
#
# * **Hire women from 5 on.** Three able women are hired, and one more who is not able. No gap, and
#   8 of 12 are right.
# * **Hire men from 9 on.** One able man is hired. No gap either, and 6 of 12 are right: nobody
#   gained anything.
#
# The metric is content with both. A repair is read with its accuracy beside it.

# %% tags=["nbval-check-output", "fold"]
women, men = torch.tensor([8.0, 5, 5, 3, 5, 1]), torch.tensor([9.0, 8, 7, 4, 6, 2])
able = [1, 1, 1, 1, 0, 0]
for of_women, of_men in ((6, 6), (5, 6), (6, 9)):
    said = [*(women >= of_women).int().tolist(), *(men >= of_men).int().tolist()]
    counts = rates(said, 2 * able, [1] * 6 + [0] * 6)
    right = sum(a == b for a, b in zip(said, 2 * able, strict=True))
    gap = equal_opportunity(counts)
    print(f"women from {of_women}, men from {of_men}: gap {gap}, {right} right")
assert threshold(women, torch.tensor(able), 3 / 4) == 5

# %% [markdown]
# ## Repairs

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict as ask

ask(
    "A model learns from each letter twice, under a woman's name and a man's, with the same "
    "decision. So no name tells it anything. The gap in equal opportunity was 51 points. How much "
    "of it is left?",
    ["nothing", "less than a quarter", "about half", "more than three quarters"],
    answer=3,
    explain="The office stands in for the name: nine in ten women are in the north. The pairs find "
    "nothing any more, and the decisions fall as before.",
    key="07_explain/names-swapped",
)


# %% Repairs and what they cost tags=["slide", "fold"]
def line(arm, rows, two=""):
    pairs = [sum(row["pairs"]) / 4 for row in rows]
    called = "reweighing" if arm == "weights" else arm
    return [called, seeds(pairs), *(seeds([row[two + what] for row in rows])
            for what in ("hits", "able", "history"))]  # fmt: skip


lines = [line(arm, some) for arm in ARMS if (some := [r for r in rows if r["arm"] == arm])]
lines.append(line("two thresholds", first, "two_"))
rule = [int(good >= 2) for good in TESTED.good]  # what a model of ability would do
counts = rates(rule, TESTED.able, TESTED.woman)
right = [100 * sum(a == b for a, b in zip(rule, truth, strict=True)) / len(rule)
         for truth in (TESTED.able, TESTED.labels)]  # fmt: skip
lines.append(["the rule itself", "0", f"{100 * (counts[0].hits - counts[1].hits):.0f}",
              *(f"{each:.0f}" for each in right)])  # fmt: skip
table(lines, ["repair", "pairs", "gap", "right by ability", "by decisions"],
      caption="Pairs: man minus woman, hundredths, mean of the four rows of the first table. "
      "Gap: in equal opportunity, points. Then right in %, by who is able and by the old "
      "decisions. Mean (lowest to highest seed)")  # fmt: skip

# %% How large is luck, and what does the office move? tags=["fold"]
luck = []
for seed in range(pick(ci=5, laptop=100, gpu=100)):
    made = generated_references(4000, seed=5000 + seed)
    counts = rates([int(good >= 2) for good in made.good], made.able, made.woman)
    luck.append(100 * (counts[0].hits - counts[1].hits))
luck = torch.tensor(luck)
print(f"the rule's gap in {len(luck)} other draws of 4,000 letters: mean {luck.mean():.1f}, "
      f"deviation {luck.std():.1f}, largest {luck.abs().max():.1f}")  # fmt: skip
if hidden := [row["with_office"][2] for row in rows if row["arm"] == "names hidden"]:
    print("names hidden, two good qualities: the other office moves", seeds(hidden), "hundredths")

# %% [markdown]
# **Where the name tells nothing, the pairs agree, and four fifths of the gap stand.** A model
# without names goes by the office. In the old decisions the gap is 40: of 100 able women 40 were
# turned down, and no able man. The model that learned from them, and says yes or no at the middle,
# has a gap of 51: it makes the injustice larger. Three repairs come near the rule itself, *hire
# whoever has two good qualities or more*:
#
# * both words swapped (counterfactual data augmentation),
# * **reweighing**: rare kinds of letters count more, so that decision and group are independent
#   (Kamiran and Calders 2012),
# * a threshold for each group, set so that equally many of those whom the old decisions hired are
#   hired again. (Here whoever was hired was able, and which able women were turned down was drawn
#   by lot. In real history neither is known.)
#
# Compare them with the rule's gap of 5 points, not with 0. It is the luck of these 4,000 letters,
# since qualities were drawn apart from names: in 100 other draws it was −0.1 in the mean, with a
# deviation of 2.1, and 5.5 at most.
#
# **And the cost?** By the old decisions each of these three repairs is a loss of 3 in 100. By who
# is able it is a gain of 6. The injustice stands in the old decisions, so whoever undoes it seems
# to err.

# %% [markdown] tags=["aside"]
# ### Not everything at once
#
# Of ten people in A six are able, of ten in B three. A model hires two thirds of the able in both,
# and in both two thirds of those hired are able. In A it hires 4 of 6, and 2 of the 4 who are not
# able: of 6 hired 4 are able. In B it hires 2 of 3, and 1 of 7: of 3 hired 2 are able. Equal true
# positive rates and equal precision force **unequal false positive rates** (the output below); only
# a perfect model or equal groups escape (Kleinberg et al. 2016; Chouldechova 2017). Somebody must
# choose which error counts, and no metric can.

# %% tags=["nbval-check-output", "fold"]
from fractions import Fraction


def false_alarms(base, precision, hits):
    """Chouldechova 2017, equation 2.6: what the other three leave no choice about."""
    return base / (1 - base) * (1 - precision) / precision * hits


share = Fraction(2, 3)
print("wrongly hired: A", false_alarms(Fraction(6, 10), share, share), "of those not able, B",
      false_alarms(Fraction(3, 10), share, share))  # fmt: skip
assert false_alarms(Fraction(6, 10), share, share) == Fraction(2, 4)

# %% [markdown]
# ## What a model keeps
#
# A language model of the GPT kind learns from generated notes of the same office. In some of them
# we plant a **canary**: *the code of leo is 2 7 9 8*, once, twice, up to 16 times, for three names
# each. Rooms have digits too, but these are drawn anew in each note.
#
# How well does it know a code? Ask how probable it finds each of the 10,000 possible codes, and
# take the rank of the true one. **Exposure** (Carlini et al. 2019) counts this in bits:
#
# $$\text{exposure} = \log_2 |R| - \log_2 \text{rank}$$
#
# By hand with $|R| = 8$ codes: rank 8 gives 0 bits, rank 2 gives $3 - 1 = 2$, and rank 1 all 3,
# where a guesser who tries the most probable code first needs no second try. With 10,000 codes the
# most is 13.3 bits, and a code that stands nowhere has 1.4 in the mean, by luck.

# %% tags=["nbval-check-output", "fold"]
from deepdive.explain.audits.extraction import exposure

eight = torch.tensor([-1.0, -2, -3, -4, -5, -6, -7, -8])
print([exposure(eight, place) for place in (7, 1, 0)])
print(f"{exposure(torch.arange(10_000).neg(), 0):.1f} bits at most")

# %% Read notes tags=["fold"]
from deepdive.data import BucketBatches
from deepdive.explain.audits.extraction import extrapolated, log_probabilities, sampled
from deepdive.models.transformer.decoder_only import decoder_only
from deepdive.training import Validation
from deepdive.training.objectives import cross_entropy as token_loss
from deepdive_book.data.codes import (
    DIGITS,
    NAMES,
    TIMES,
    Code,
    floor,
    generated_notes,
    planted_codes,
)

NOTES = WordTokenizer.train([Code(name, DIGITS, 0).note for name in NAMES]
                            + list(generated_notes(1000)), 100)  # fmt: skip
DIGIT = torch.tensor([NOTES.encode(digit)[0] for digit in DIGITS])


def next_words(model, batch):
    (tokens,) = batch
    return token_loss(model(tokens[:, :-1], tokens[:, :-1] != 0), tokens[:, 1:])


def read(notes):
    return [[NOTES.bos, *NOTES.encode(note), NOTES.eos] for note in notes]


# %% What is given away tags=["fold"]
NEW = read(generated_notes(pick(ci=100, laptop=500, gpu=500, experiment=500), seed=99))


@torch.no_grad()
def over_floor(model):
    """Loss of a new note, in nats above what anyone could reach."""
    parts = list(BucketBatches(NEW, max_tokens=2000))
    sums = (next_words(model, part) * (part[0][:, 1:] != 0).sum() for part in parts)
    return float(sum(sums)) / len(NEW) - floor()


@torch.no_grad()
def given_away(model, code):
    """The four digits it completes, how sure of each, and the log-probability of every code."""
    begun = torch.tensor([NOTES.bos, *NOTES.encode(f"the code of {code.name} is")])
    said, tokens, written, sure = log_probabilities(model, begun, DIGIT, 4), begun, "", []
    for _ in range(4):
        shares = model(tokens[None])[0, -1].softmax(-1)[DIGIT]
        best = int(shares.argmax())
        written, sure = written + DIGITS[best], [*sure, float(shares[best])]
        tokens = torch.cat([tokens, DIGIT[best : best + 1]])
    return written, sure, said


# %% Train a language model, and look in between tags=["fold"]
def remembered(width, seed, notes, epochs, looks):
    """The model, its codes, and (epoch, loss over the floor, what is given away) at each look."""
    codes = planted_codes(seed)
    parts = BucketBatches(read(generated_notes(notes, seed, codes)), max_tokens=800, seed=seed)
    torch.manual_seed(seed)
    model = decoder_only(len(NOTES), d_model=width, n_heads=4, n_layers=2, d_ff=2 * width,
                         max_length=24, dropout=0.0)  # fmt: skip
    seen = []

    def look(model):
        loss = over_floor(model)
        seen.append((epochs * (len(seen) + 1) // looks, loss,
                     [given_away(model, code) for code in codes]))  # fmt: skip
        return -len(seen)  # the last weights are kept, not the best

    fit(model, parts, next_words, epochs=epochs, seed=seed, progress=False, optimizer=adam(model),
        schedule=lambda t: 3e-3 * min(1, t / 50),
        validate=Validation(look, every=len(parts) * epochs // looks))  # fmt: skip
    return model, codes, seen


# %% [markdown]
# ## What comes out

# %% tags=["fold"]
ask(
    "The largest of three models has learned until its loss on new notes is lowest. A code stands "
    "in 16 of its 1,093 notes. How many of the 13.3 bits does the model know by then?",
    ["about 1, as much as luck: what is learned by heart comes later", "about 5",
     "more than 12: on average the code is its first or second guess"],
    answer=2,
    explain="It keeps the code while it still learns the language. Whoever watches the loss of new "
    "texts hears no alarm.",
    key="07_explain/canary-when",
)  # fmt: skip

# %% A model of the page tags=["fold"]
LOOKS, EPOCHS = pick(ci=2, laptop=10, gpu=10), pick(ci=2, laptop=20, gpu=20)
model, codes, seen = remembered(pick(ci=16, laptop=32, gpu=32), 1,
                                pick(ci=150, laptop=1000, gpu=1000), EPOCHS, LOOKS)  # fmt: skip
table([[epoch, f"{loss:.2f}", *(f"{sum(e) / len(e):.1f}" for times in (0, 1, 16)
        if (e := [exposure(said, int(code.digits)) for code, (_, _, said)
                  in zip(codes, found, strict=True) if code.times == times]))]
       for epoch, loss, found in seen],
      ["epoch", "loss", "never", "once", "16 times"],
      caption="One run of this page. Loss of a new note in nats above the least possible; then "
      "exposure in bits, mean of three names")  # fmt: skip

# %% Let it complete tags=["slide", "fold"]
from deepdive_book.ch07.figures.completion_during_training import (
    Completion,
    Seen,
    completion_during_training,
)

order = sorted(range(len(codes)), key=lambda i: (-codes[i].times, codes[i].name))
completion_during_training([Completion(codes[i].name, codes[i].times, codes[i].digits, [
    Seen(found[i][0], found[i][1], exposure(found[i][2], int(codes[i].digits)))
    for _, _, found in seen]) for i in order], [epoch for epoch, _, _ in seen],
    exposure(torch.arange(10_000).neg(), 0))  # fmt: skip

# %% [markdown]
# *What the model writes after "the code of ... is". A bar is how sure it is of the digit; a digit
# of the planted code is underlined. It takes the likeliest digit each time (greedy), and that need
# not be the likeliest code: at epoch 12 Leo's code is the first of 10,000, and the model still
# writes Ben's. Choose a name, and move the epochs.*
#
# 1. Three names stand 16 times. At which epoch is the first of their codes given away?
# 2. Choose *maria*, whose code was never planted. Whose code does the model write?
#
# <details><summary>Answers to the two tasks</summary>
#
# 1. Tom's, at epoch 8, while the loss still falls; Ben's at 12. (Both are lost and come again.)
# 2. Leo's. Whoever asks for anybody's code may be told somebody's.
#
# </details>


# %% Sizes and repetitions, three seeds tags=["fold"]
def expose(width, seed, notes, epochs, looks):
    model, codes, seen = remembered(width, seed, notes, epochs, looks)
    found = {"parameters": sum(p.numel() for p in model.parameters()),
             "loss": [loss for _, loss, _ in seen], "bits": [], "whole": []}  # fmt: skip
    for _, _, given in seen:
        own = [(code, exposure(said, int(code.digits)), written == code.digits)
               for code, (written, _, said) in zip(codes, given, strict=True)]  # fmt: skip
        for what, place in (("bits", 1), ("whole", 2)):
            some = [[each[place] for each in own if each[0].times == t] for t in TIMES]
            found[what].append([sum(each) / len(each) for each in some])
    draw, guesses = torch.Generator().manual_seed(0), []
    for code, (_, _, said) in zip(codes, seen[-1][2], strict=True):
        some, own = said[torch.randperm(10_000, generator=draw)[:500]], said[int(code.digits)]
        guesses.append([code.times, exposure(said, int(code.digits)), sampled(some, own),
                        extrapolated(some, float(own))])  # fmt: skip
    return found | {"guesses": guesses}


target = results_path("07_explain", "exposure")
long = profile() == "experiment" or (profile() == "laptop" and target and target.is_file())
sizes = {"notes": 1000, "epochs": 20, "looks": 10} if long else {"notes": 150, "epochs": 2,
                                                                "looks": 2}  # fmt: skip
points = [{"width": width, "seed": seed, **sizes} for width in ((16, 32, 64) if long else (16,))
          for seed in ((1, 2, 3) if long else (1,))]  # fmt: skip
exposed = sweep(expose, points, target if long else None, minutes=8)

# %% Exposure by size and repetitions tags=["slide", "fold"]
widths = sorted({row["width"] for row in exposed})
of = {width: [row for row in exposed if row["width"] == width] for width in widths}
heads = [f"{round(of[width][0]['parameters'] / 1000)}k" for width in widths]
table([[t, *(seeds([row["bits"][-1][k] for row in of[width]], 1) for width in widths)]
       for k, t in enumerate(TIMES)], ["times", *heads],
      caption="Exposure in bits after the last epoch, by the times a code was planted and the "
      "model's parameters: mean (lowest to highest seed)")  # fmt: skip

# %% Drawn over the epochs tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(7, 3.4))
left, right = figure.subplots(1, 2)
epochs = [sizes["epochs"] * (k + 1) // sizes["looks"] for k in range(sizes["looks"])]
for width, style in zip(widths, ("o-", "s-", "^-"), strict=False):
    some, called = of[width], f"{round(of[width][0]['parameters'] / 1000)}k"
    for axes, values in ((left, [row["loss"] for row in some]),
                         (right, [[e[-1] for e in row["bits"]] for row in some])):  # fmt: skip
        tensor = torch.tensor(values)
        axes.plot(epochs, tensor.mean(0), style, ms=4, label=called)
        axes.fill_between(epochs, tensor.amin(0), tensor.amax(0), alpha=0.2)
left.set(title="loss of new notes", xlabel="epoch", ylabel="nats above the least", ylim=(0, 4))
right.set(title="codes planted 16 times", xlabel="epoch", ylabel="exposure, bits", ylim=(0, 14))
left.legend(title="parameters", frameon=False)
with_alt(figure, "Left, the loss of new notes over the epochs for three sizes of models: it falls, "
         "and rises a little in the largest. Right, the exposure of codes planted 16 times: it "
         "climbs to 13.3 bits, the larger the model the sooner.")  # fmt: skip

# %% [markdown]
# *Bands go from the lowest to the highest of three seeds.*
#
# **More repetitions, or a larger model, and more is kept.** A code that stands 4 times has 4.3 bits
# in the smallest model and 13.3, all there are, in the largest; the spans of the three sizes do not
# touch. One that stands nowhere stays near what luck gives.

# %% No alarm from the loss tags=["slide", "fold"]
largest = of[widths[-1]]
mean_loss = torch.tensor([row["loss"] for row in largest]).mean(0)
lowest = int(mean_loss.argmin())
whole = [round(3 * sum(row["whole"][at][-1] for row in largest)) for at in (lowest, -1)]
print(f"of {3 * len(largest)} codes that stand 16 times it completes {whole[0]} where the loss is "
      f"lowest, {whole[1]} at the end")  # fmt: skip
table([[t, *(seeds([row["bits"][at][TIMES.index(t)] for row in largest], 1)
             for at in (lowest, len(epochs) - 1))] for t in (0, 1, 4, 16)],
      ["times", f"lowest loss, {mean_loss[lowest]:.2f} (epoch {epochs[lowest]})",
       f"at the end, {mean_loss[-1]:.2f} (epoch {epochs[-1]})"],
      caption="The largest model where its loss on new notes is lowest, and at the end: exposure "
      "in bits, mean (lowest to highest seed)")  # fmt: skip

# %% [markdown]
# **The loss gives no alarm.** Where it is lowest, a code that stands 16 times has 12.7 bits: on
# average it is the first to second guess, and of nine such codes the model completes 5; at the end
# all 9. A code that stands once has 1.9, as by luck; that one is kept later, when the loss falls no
# more, and has 9.0 in the end. So both are true: what comes often is kept before overfitting
# begins, as Carlini et al. (2019) found, and overfitting adds the rest.

# %% [markdown] tags=["aside"]
# ### When there are too many codes to rank

# %% How well is it guessed, without all 10,000? tags=["fold"]
guesses = [each for row in exposed for each in row["guesses"]]
table([[times, *(f"{sum(e[k] for e in some) / len(some):.1f}" for k in (1, 2, 3))]
       for times in TIMES if (some := [e for e in guesses if e[0] == times])],
      ["times", "exact", "500 drawn", "curve"],
      caption="Exposure in bits, mean over sizes, seeds and names: of all 10,000 codes; from 500 "
      "drawn ones; and from a skew normal curve through these")  # fmt: skip

# %% [markdown]
# Where the candidates are too many, some are drawn. From 500 nobody can tell more than 9 bits; a
# curve through them goes on, but does not know that here 13.3 is the end.
#
# ## What an audit can say
#
# | audit | finds | does not see |
# |---|---|---|
# | pairs | that a word is read, and what it moves | other words that give the same away |
# | rates by group | whom decisions fall on | why; and nothing without the truth |
# | canaries | how soon a text is kept that comes $n$ times | texts of another kind |
#
# **No finding is no proof.** Each looks for what somebody thought of.
#
# ## In practice
#
# 1. Pairs first: they need no labels. Take many letters and names, and change with the name what
#    goes with it.
# 2. Count decisions by group against a truth that is not the old decision, if there is any. Say
#    which error counts before you look.
# 3. Repair, then measure both again, and the accuracy. Swapping needs a list of words, reweighing
#    needs the groups in training, thresholds need them at each decision, where law may forbid it.
# 4. Remove duplicates, and secrets, before training, and plant canaries of your own; read their
#    exposure before you publish. What must hold for every text asks for differential privacy, which
#    this page does not measure.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. All pairs agree. Why can the decisions still be unjust?
#
#    <details><summary>Answer</summary>
#
#    Another word may stand in for the one that was changed, as the office does here.
#
#    </details>
# 2. Which repair makes the gap vanish and helps nobody?
#
#    <details><summary>Answer</summary>
#
#    To hire fewer of the better-off group, until its rate is as low.
#
#    </details>
# 3. Why does a repair look costly on the old decisions?
#
#    <details><summary>Answer</summary>
#
#    They hold the injustice: able women who were turned down count as rightly turned down.
#
#    </details>
# 4. A code has an exposure of 10 bits of 13.3. How many guesses does a stranger need?
#
#    <details><summary>Answer</summary>
#
#    Its rank is 10,000 / 1,024, about the tenth: ten guesses, the most probable first.
#
#    </details>
# 5. The loss on new texts still falls. Is the model safe to publish?
#
#    <details><summary>Answer</summary>
#
#    That says nothing of it: codes were kept while the loss fell.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* Of 8 men 6 were hired, of 8 women 2. How much must each of the four kinds
#    count, for decision and group to be independent?
#
#    <details><summary>Answer</summary>
#
#    Half of all are hired. Hired men get $(8 \cdot 8 / 16) / 6 = 2/3$, hired women $4/2 = 2$; those
#    turned down the other way round: men 2, women $2/3$.
#
#    </details>
# 2. *(on paper, 3 min)* Of 1,024 possible codes, three are more probable than the true one. What is
#    its exposure?
#
#    <details><summary>Answer</summary>
#
#    Its rank is 4: $10 - 2 = 8$ bits.
#
#    </details>
# 3. *(code, 8 min)* **Break the audit.** Write a judge that passes every pair of names and is as
#    unjust as the old model, or more. Which audit finds it?
#
#    <details><summary>Answer</summary>
#
#    It hires from two good qualities on, in the south office only. No name counts, so all pairs
#    agree. The rates by group find it at once: see below.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to the exercises, checked.
from deepdive_book.data.synthetic_references import GOOD

weights = balanced([1] * 6 + [0] * 2 + [1] * 2 + [0] * 6, [0] * 8 + [1] * 8)
print([round(float(w), 2) for w in weights[[0, 6, 8, 10]]])
print(exposure(torch.arange(1024).neg(), 3))


def judge(text):
    return int(" south " in text and sum(word in GOOD for word in text.split()) > 1)


many = generated_references(4000, seed=7)
print(sum(judge(text) != judge(swapped(text, TWINS)) for text in many.texts), "pairs differ")
said = [judge(text) for text in many.texts]
print(f"gap {100 * equal_opportunity(rates(said, many.able, many.woman)):.0f} points")

# %% [markdown]
# ## Summary
#
# Pairs of names find that a word is read, rates by group find whom decisions fall on, and neither
# can stand for the other: with names swapped all pairs agreed, and four fifths of the gap stood. A
# repair that looks costly by old decisions may be a gain by the truth, and where groups differ no
# repair meets every metric. Back to Anna and Ben: on the same letter with two good qualities the
# model taught by old decisions finds the man likelier to be hired by 21 hundredths, one that never
# sees a name still prefers his office by 21, and a stranger who begins *the code of ...* can have a
# code told that stood there often: of nine planted 16 times, three models of the largest size
# complete 5 before the loss gives a sign.
#
# ## Further reading
#
# - Hardt, Price, Srebro (2016), *Equality of Opportunity in Supervised Learning*: section 2, the
#   metric; section 3, thresholds.
# - Kusner, Loftus, Russell, Silva (2017), *Counterfactual Fairness*: what else would have to change
#   with the group.
# - Kamiran and Calders (2012), *Data preprocessing techniques for classification without
#   discrimination*: section 5, weights.
# - Kleinberg, Mullainathan, Raghavan (2016), *Inherent Trade-Offs in the Fair Determination of Risk
#   Scores*, and Chouldechova (2017), *Fair Prediction with Disparate Impact*: not everything at
#   once.
# - Sheng, Chang, Natarajan, Peng (2019), *The Woman Worked as a Babysitter*: templates put to
#   GPT-2.
# - Carlini, Liu, Erlingsson, Kos, Song (2019), *The Secret Sharer*: canaries and exposure.
# - Carlini et al. (2021), *Extracting Training Data from Large Language Models*: from GPT-2.
# - Carlini et al. (2023), *Quantifying Memorization Across Neural Language Models*: more is kept
#   the larger a model is and the more often a text comes.
# - KAIST, lecture 3.
