# %% [markdown] tags=["slide"]
# # Activation patching and ablation: necessary or sufficient?
#
# Two bicycle lamps of one make: one shines, one stays dark. You can pull parts out of the good
# lamp, one after the other, until it goes dark. Or you can put parts of the good lamp into the dark
# one, until it shines. Both find parts that matter. Which of the two tells you what is broken?
#
# <small>Prerequisites: [words taken away](04_perturbation.ipynb) · 14 min · runs on a laptop;
# results of the long runs are included · book 7.3.1.1 and 7.3.1.2</small>

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
# %% A model that was built by hand, and two runs of it tags=["fold"]
from itertools import product

import torch

from deepdive.explain.activations.patching import patch, patch_effect, patch_together
from deepdive_book.ch07.figures.activation_patching import Exchange, patch_demo
from deepdive_book.ch07.toys.planted_circuit import HEADS, WORDS, Orders, drawn_orders, ids

model, CLEAN = Orders(), "<s> ann tea , bob milk , ann"
TEXTS = {"drinks exchanged": ("<s> ann milk , bob tea , ann", "milk"),
         "names exchanged": ("<s> bob tea , ann milk , ann", "milk"),
         "asked for a stranger": ("<s> cem tea , bob milk , dia", "neither")}  # fmt: skip
NAMES = [name for layer in HEADS for name in layer]
PLACE = {name: (f"layers.{i}.heads", j) for i, layer in enumerate(HEADS)
         for j, name in enumerate(layer)}  # fmt: skip


def tokens(text):
    return ids(text)[None]


def tea_or_milk(logits):
    """How far the answer is on the side of tea: what is read off every run."""
    return logits[:, WORDS.index("tea")] - logits[:, WORDS.index("milk")]


# %% Every set of heads, both ways tags=["fold"]
def exchange(called):
    """All that the picture can show of one pair of texts."""
    other, said = TEXTS[called]
    heads, rows = [], []
    for source, run in ((CLEAN, other), (other, CLEAN)):
        found = []
        for bits in product((0, 1), repeat=6):
            chosen = {}
            for name, bit in zip(NAMES, reversed(bits), strict=True):  # the first: lowest bit
                if bit:
                    point, head = PLACE[name]
                    chosen.setdefault(point, []).append(head)
            found.append(patch_together(model, chosen, tokens(source), tokens(run), tea_or_milk))
        heads.append(torch.stack(found))
        parts = [patch(model, point, tokens(source), tokens(run), tea_or_milk)
                 for point in ("embedded", "*.stream")]  # fmt: skip
        rows.append(torch.cat([part.patched for part in parts]))
        ends = parts[0]
    numbers = float(ends.corrupted), float(ends.clean)  # of the second way round
    return Exchange(called, CLEAN.split(), other.split(), ("tea", said), numbers,
                    torch.stack(heads), torch.stack(rows))  # fmt: skip


# %% Choose parts tags=["slide", "fold"]
patch_demo([exchange(called) for called in TEXTS], NAMES, ("words", "after 1", "after 2"))

# %% [markdown]
# *A small Transformer reads two orders and a name, and says what this person ordered (10 is tea,
# -10 milk). It is run on one text while chosen parts come from its run on another. Try each head
# first; then two together; then turn the direction.*
#
# This is **activation patching**: keep what the model computed for one text, run it on another, and
# put one kept piece in its place. Whatever changes was carried by that piece. (For the *stranger*
# two names differ, and rows go in one at a time: clean into corrupted, *words* and *after 1* bring
# nothing back.)
#
# The truth is known here, because each head was built by hand (generated orders, no training):
#
# | head | layer | what it does |
# |---|---|---|
# | previous | 1 | tells every place the word before it |
# | constant | 1 | writes a 1, the same for every text |
# | first word | 1 | copies the first name to where nobody reads |
# | finder | 2 | goes where the word before is the asked name, and copies the drink |
# | twin | 2 | does the same once more |
# | other drink | 2 | copies the second drink to where nobody reads |
#
# *Previous*, then *finder* is an **induction circuit** (two heads, one using the other), which
# trained language models have too (Olsson et al. 2022).
#
# ## By hand: how much came back?
#
# The answer adds up what *finder* and *twin* say of each drink, and cuts the sum $z$ at 0 and at 1,
# so that one of the two is enough: each drink's logit is $10 \min(1, \max(0, z))$. (The sum also
# has a part of *constant*, which is 0 in all these runs.)
#
# | run | tea: $z$ | milk: $z$ | tea - milk |
# |---|---|---|---|
# | clean: both say tea | 2 | 0 | 10 |
# | corrupted: drinks exchanged | 0 | 2 | -10 |
# | corrupted, finder from clean | 1 | 1 | 0 |
#
# The **total effect** of the exchanged words is $10 - (-10) = 20$. The finder brings the answer
# from -10 to 0, so it has recovered
#
# $$\frac{\text{patched} - \text{corrupted}}{\text{clean} - \text{corrupted}} =
# \frac{0 - (-10)}{10 - (-10)} = \frac{10}{20} = 50\,\%$$

# %% tags=["nbval-check-output"]
found = patch(model, "layers.1.heads", tokens(CLEAN), tokens(TEXTS["drinks exchanged"][0]),
              tea_or_milk)  # fmt: skip
assert (round(float(found.clean)), round(float(found.corrupted))) == (10, -10)
assert abs(float(found.patched[0, 0])) < 1e-9  # the finder: from -10 to 0
print([f"{part:.0%}" for part in patch_effect(found)[0].tolist()])

# %% [markdown]
# ## Enough, or needed?
#
# Clean into corrupted (**denoising**) asks: is this part *enough* to bring the answer back?
# Corrupted into clean (**noising**) asks: is it *needed* to keep it? There are three second texts:
#
# | column | second text | it says |
# |---|---|---|
# | drinks | `ann milk , bob tea , ann` | milk, -10 |
# | names | `bob tea , ann milk , ann` | milk, -10 |
# | stranger | `cem tea , bob milk , dia` | neither, 0 |

# %% All three texts, both directions tags=["slide", "nbval-check-output"]
from deepdive_book.kit.tables import table


def shares(source, run):
    return patch_effect(patch(model, "*.heads", tokens(source), tokens(run), tea_or_milk)).flatten()


cells = {}
for called, (other, _) in TEXTS.items():
    both = shares(CLEAN, other), shares(other, CLEAN)
    cells[called] = [f"{abs(a):.0%} / {abs(b):.0%}" for a, b in zip(*both, strict=True)]
table([[name, *(column[i] for column in cells.values())] for i, name in enumerate(NAMES)],
      ["head", "drinks", "names", "stranger"],
      caption="How much of the answer comes along: clean into corrupted / corrupted into "
      "clean")  # fmt: skip

# %% [markdown]
# Read the last column. For the stranger, *finder* alone brings everything back and is not needed,
# because *twin* does it too: an **or**. Two names change there, the one before *tea* and the one
# asked for. *Previous* carries the first of them alone, so it is needed and not enough: an **and**.
# One direction alone would have told half of this (Heimersheim and Nanda 2024).
#
# Now read *previous* along its row. With drinks exchanged it has no share, though the answer passes
# through it: its names are the same in both texts, and **patching sees only what differs**. Your
# second text decides which part of the route you can find.
#
# ## Taking out instead
#
# **Ablation** needs no paired text. It puts something that knows nothing of this text in the place
# of a head: zeros; the head's mean over many texts; or what it computed for another text, drawn at
# random (**resample ablation**).

# %% tags=["fold", "nbval-check-output"]
from deepdive_book.kit.predictions import predict as ask

ask(
    "Zeros are put in the place of one head after the other, and the model answers 200 drawn "
    "texts. Which heads does the answer not survive?",
    ["finder and twin, which say it", "previous, finder and twin: the route",
     "previous and constant", "all but first word and other drink"],
    answer=2,
    explain="Without finder or twin the other one still says it. Without the constant nothing is "
    "said, although it writes the same for every text.",
    key="07_explain/zeros",
)  # fmt: skip

# %% Zero, mean, another text
from deepdive.core.hooks import replace
from deepdive.evaluate import bootstrap

made = drawn_orders(200, seed=1)
texts = torch.stack([ids(text) for text, _, _ in made])
right, wrong = (torch.tensor([WORDS.index(line[k]) for line in made])[:, None] for k in (1, 2))
draw = torch.Generator().manual_seed(0)
WAYS = {"zero": torch.zeros_like,
        "mean": lambda x: x.mean(0, keepdim=True).expand_as(x),
        "resampled": lambda x: x[torch.randperm(len(x), generator=draw)]}  # fmt: skip


def left(name, way):
    """The answer, right drink minus other drink, of each text without one head."""
    point, h = PLACE[name]

    def without(heads):  # (B, H, T, d)
        return torch.cat([heads[:, :h], way(heads[:, h : h + 1]), heads[:, h + 1 :]], 1)

    with replace(model, point, without), torch.no_grad():
        logits = model(texts)
    return (logits.gather(1, right) - logits.gather(1, wrong))[:, 0]


# %% tags=["slide"]
table([[name, *(bootstrap(left(name, way).round(decimals=3) + 0.0) for way in WAYS.values())]
       for name in NAMES], ["head", *WAYS], formats=dict.fromkeys(WAYS, ".1f"),
      caption="The answer that is left, of 10: mean of 200 drawn texts with 95 % "
      "intervals")  # fmt: skip

# %% [markdown]
# Zeros name *constant*, whose output is the same for every text: they have removed a 1 that is
# always there, and the rest had been built for it. (The sum has a part 2 (constant - 1): without
# the 1 it falls by 2, and nothing is said.) Mean and resampling put the 1 back and clear it. Zeros
# miss *finder* and *twin* entirely, the two heads that say the answer. The mean, or a head drawn
# from another text, speaks a little for other drinks, and so a part of the loss is seen.
#
# So zeros gave one wrong name and missed two, of six heads. Means are no cure for twins: in GPT-2
# other heads took over when Wang et al. (2023) put means in the place of those that name the
# answer.
#
# ## A network that was trained
#
# Now the network that judges reviews. Clean is the chapter's sentence, corrupted has *warm* for
# *cold*. The row of each place, as it runs through the blocks (the **residual stream**), is put in
# by itself. Where does the answer sit after each block?

# %% The share of every place tags=["fold"]
from deepdive_book.ch07.toys.review_words import SENTENCE, review_words

toy = review_words()


def grid(clean, other, label):
    """The share that each row of the stream brings back, (3, S + 2): words, block 1, block 2."""

    def read(logits):
        return logits[:, label] - logits[:, 1 - label]

    return torch.cat(
        [
            patch_effect(patch(toy.model, point, toy.tokens(clean), toy.tokens(other), read))
            for point in ("*.embedded", "*.stream")
        ]
    )


# %% The chapter's sentence, drawn tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

one = grid(SENTENCE, SENTENCE.replace("cold", "warm"), 0)
figure = Figure(figsize=(4, 4.4), layout="constrained")
axes = figure.subplots()
axes.imshow(one.T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
axes.set_yticks(range(one.shape[1]), ["[CLS]", *SENTENCE.split(), "[SEP]"])
axes.set_xticks(range(3), ["words", "after block 1", "after block 2"])
for row, column in (one > 0.5).nonzero().tolist():
    axes.text(row, column, f"{one[row, column]:.0%}", ha="center", va="center", color="white",
              fontsize=8)  # fmt: skip
with_alt(figure, "Three columns of places: all of the answer stands at the adjective among the "
         "words and after block 1, and at [CLS] after block 2.")  # fmt: skip

# %% [markdown]
# *Share of the answer that one row brings back. It waits at "cold" and moves to [CLS] in the second
# block.*
#
# Is this the **circuit**, the parts that together make the answer? Forty other reviews, each with
# its adjective exchanged for one of the other class:

# %% Forty reviews tags=["fold"]
import random

from deepdive_book.data.labeled_cause_reviews import generated_verdicts
from deepdive_book.data.synthetic_reviews import BAD, GOOD
from deepdive_book.kit.profile import pick

reviews, chance = generated_verdicts(300, seed=9), random.Random(0)
SOME, grids = pick(ci=10, laptop=40, gpu=40), []
for text, label, deciding in zip(reviews.texts, reviews.labels, reviews.deciding, strict=True):
    words, place = text.split(), deciding[-1]
    words[place] = chance.choice(BAD if words[place] in GOOD else GOOD)
    other = " ".join(words)
    said = [int(toy.model(toy.tokens(t)).argmax()) for t in (text, other)]
    if " and " in text or said != [label, 1 - label] or len(grids) == SOME:
        continue  # one adjective decides, and the network judges both right
    found = grid(text, other, label)
    others = [i for i in range(1, found.shape[1]) if i != place + 1]
    grids.append(torch.stack([found[:, place + 1], found[:, 0], found[:, others].amax(1)], 1))

# %% tags=["slide"]
WHERE = ["adjective", "[CLS]", "best other"]
parts = torch.stack(grids)
alone = parts[:, 1] > 0.9  # after the first block
print(f"one place alone brings back over 0.9 in {int(alone.any(1).sum())} of {len(alone)} reviews")
print(", ".join(f"{where} in {n}" for where, n in zip(WHERE, alone.sum(0).tolist(), strict=True)))
print(f"no place brings back 0.1 in {int((parts[:, 1].amax(1) < 0.1).sum())}")
table([[layer, *(bootstrap(parts[:, i, j].round(decimals=2) + 0.0) for j in range(3))]
       for i, layer in enumerate(("words", "block 1", "block 2"))],
      ["after", *WHERE], formats=dict.fromkeys(WHERE, ".2f"),
      caption=f"Share of the answer that one row brings back: mean of {len(grids)} reviews with "
      "95 % intervals")  # fmt: skip

# %% [markdown]
# A quarter each, always? No: after the first block one place alone brings back over 0.9 in 22 of 40
# reviews (the adjective in 8, [CLS] in 10, another in 9; at times two of them do). In 10 none
# brings back a tenth: there several are needed together. An *or* in some, an *and* in others, as in
# the planted model. The chapter's sentence behaves like the 8. **One pair of texts is an
# anecdote**; a circuit needs many.
#
# ## What would the network most like to see?
#
# The last tool asks for no text at all. **Activation maximization** starts from random numbers in
# the place of a word and follows the gradient uphill, until the answer grows no more. The row keeps
# the length of a word's row. Then one looks up the nearest words. Our climb fills the gap in *i
# find the music ___ .*, from three starts, once for each class.

# %% Climb tags=["fold"]
from deepdive.core.hooks import record
from deepdive.explain.activations.maximization import maximize, nearest
from deepdive_book.ch07.toys.review_words import SPECIALS

POINT, GAP = "encoder.embeddings.embedded", "i find the music [MASK] ."
VOCABULARY = toy.tokenizer.vocab[len(SPECIALS) :]
KINDS = [{VOCABULARY.index(word) for word in kind if word in VOCABULARY} for kind in (BAD, GOOD)]


def side(model, tokens, label):
    """How far the answer is on the side of a class, (B,)."""
    logits = model(tokens)
    return logits[:, label] - logits[:, 1 - label]


def rows_of(model, tokens):
    with record(model, POINT) as seen, torch.no_grad():
        model(tokens)
    return seen[POINT][0]


def word_rows(model):
    """Each word's row where it enters the network, mean over places, (V, d)."""
    every = torch.arange(len(VOCABULARY)) + len(SPECIALS)
    return rows_of(model, every[:, None].repeat(1, 15)).mean(1)


# %% Climb from one start tags=["fold"]
def climbed(model, text, label, free, start, steps):
    """The rows (F, d) of the free places after the climb, and how far the answer came."""
    tokens = toy.tokens(text)
    fixed = rows_of(model, tokens)
    kept = torch.ones(fixed.shape[1], 1, dtype=torch.bool)
    kept[list(free)] = False

    def output():
        with replace(model, POINT, lambda rows: torch.where(kept, fixed, rows)):
            return side(model, tokens, label)

    rows, reached = maximize(model, POINT, output, float(fixed.norm(dim=-1).mean()), steps,
                             generator=torch.Generator().manual_seed(start))  # fmt: skip
    return rows[list(free)], reached


def put(model, text, free, words, label):
    """What the network says of the text with words (numbers in VOCABULARY) in the free places."""
    tokens = toy.tokens(text)
    tokens[0, list(free)] = torch.as_tensor(words) + len(SPECIALS)
    with torch.no_grad():
        return float(side(model, tokens, label))


# %% tags=["slide"]
lines, rows_of_words = [], word_rows(toy.model)
for label, start in product((0, 1), range(3)):
    rows, reached = climbed(toy.model, GAP, label, [5], start, pick(ci=20, laptop=100, gpu=100))
    near = nearest(rows, rows_of_words, 3)[0].tolist()
    lines.append([("negative", "positive")[label], reached, ", ".join(VOCABULARY[i] for i in near),
                  put(toy.model, GAP, [5], near[:1], label)])  # fmt: skip
table(lines, ["climbs to", "reached", "nearest words", "first word says"],
      formats={"reached": ".1f", "first word says": ".1f"},
      caption="Six climbs: how far the answer came, the nearest words, and what the network says "
      "when the first of them is really put there")  # fmt: skip

# %% [markdown]
# *The first word says: the margin for the class.* Five climbs found words of the right class. One
# ended at *find*, *i* and a word of the other class, and had come just as far: 3.1. Its first word,
# put there, makes the network say the reverse, -2.6. A row of numbers may stand where no word is,
# and its nearest word need not do what the row does.

# %% [markdown] tags=["aside"]
# ### Sixty climbs, and ways without a climb
#
# Six climbs are few. So: three networks trained anew, three untrained ones, ten starts for each
# class; one gap, or twelve words free at once. Our reviews were generated, and the adjectives of a
# class are the words that decide.

# %% Held to the truth: three networks, and three that learned nothing tags=["fold"]
from deepdive.explain.tracing import traced
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.ch07.toys.review_words import build_review_words
from deepdive_book.kit.experiments import results_path as kept
from deepdive_book.kit.experiments import sweep
from deepdive_book.kit.profile import profile
from deepdive_book.tasks.classification import batches, encode, loss, mask_words, predict


def learned(seed, steps):
    """The toy's network, trained anew on reviews with blanks; untrained for no steps."""
    made, model = generated_verdicts(4000, seed=100 + seed), build_review_words(58, seed)
    if not steps:
        return model.eval()
    draw = torch.Generator().manual_seed(seed)

    def with_blanks(model, batch):
        share = torch.rand(len(batch[1]), 1, generator=draw) * 0.6
        return loss(model, (batch[0], mask_words(batch[1], share, len(SPECIALS), toy.mask, draw)))

    fit(model.train(), batches(encode(made.texts, toy.tokenizer), made.labels, seed=seed),
        with_blanks, steps=steps, optimizer=adam(model), progress=False, seed=seed,
        schedule=cosine(3e-3, warmup=min(100, steps // 2), total=steps))  # fmt: skip
    return model.eval()


# %% The direction of the mean gradient, for comparison tags=["fold"]
FREE = "[MASK] " * 12 + "."


def slope(model, label, texts):
    """The mean gradient (1, d) of the answer in the rows of the reviews' words."""
    found = []
    for text in texts:
        rows, numbers = traced(model, POINT, lambda t=text: side(model, toy.tokens(t), label))
        found.append(torch.autograd.grad(numbers[0, 0], rows)[0][0, 1:-1].mean(0))
    return torch.stack(found).mean(0, keepdim=True)


def best_asked(model, label):
    """The 16 words with which the network says most, each put into the gap."""
    words = torch.arange(len(VOCABULARY)) + len(SPECIALS)
    asked = toy.tokens(GAP).repeat(len(words), 1)
    asked[:, 5] = words
    with torch.no_grad():
        return side(model, asked, label).topk(16).indices


def share(words, label):
    """How many of the words speak for the class."""
    return sum(i in KINDS[label] for i in words.flatten().tolist()) / words.numel()


# %% How often are they words that decide? tags=["fold"]
def measure(seed, steps, starts, climb, reviews_read):
    network, found = learned(seed, steps), {}
    table_of, texts = word_rows(network), reviews.texts[:reviews_read]

    def note(name, value):
        found.setdefault(name, []).append(float(value))

    for label in (0, 1):
        note("asked", share(best_asked(network, label), label))
        note("slope", share(nearest(slope(network, label, texts), table_of, 16), label))
        for start in range(starts):
            for name, text, free, k in (("gap", GAP, [5], 16), ("all", FREE, range(1, 13), 1)):
                rows, reached = climbed(network, text, label, free, start, climb)
                near = nearest(rows, table_of, k)
                note(name, share(near, label))
                note(f"{name} reached", reached)
                note(f"{name} said", put(network, text, free, near[:, 0], label) > 0)
    said = predict(network, encode(reviews.texts, toy.tokenizer), progress=False)
    note("right", (said.argmax(1) == torch.tensor(reviews.labels)).float().mean())
    note("review", said.diff().abs().max())
    return {name: round(sum(values) / len(values), 3) for name, values in found.items()}


# %% Measure them tags=["fold"]
points = [{"seed": seed, "steps": steps, "starts": 10, "climb": 100, "reviews_read": 60}
          for steps in (1000, 0) for seed in (1, 2, 3)]  # fmt: skip
if profile() == "ci":
    points = [{"seed": 1, "steps": steps, "starts": 1, "climb": 5, "reviews_read": 5}
              for steps in (5, 0)]  # fmt: skip
measured = sweep(measure, points, None if profile() == "ci" else kept("07_explain", "maximisation"))
trained = [row for row in measured if row["steps"]]
idle = [row for row in measured if not row["steps"]]


# %% A share and its interval tags=["fold"]
SHOWN = {"asked": "every word tried", "gap": "climb, one gap", "all": "climb, 12 words free",
         "slope": "mean gradient", "gap said": "gap: first word says it",
         "all said": "12 words: text says it"}  # fmt: skip


def wilson(right, n):
    """The 95 % interval of a share."""
    z = 1.96**2 / n
    half = (right / n * (1 - right / n) * z + z * z / 4) ** 0.5
    return [(right / n + z / 2 + side * half) / (1 + z) for side in (-1, 1)]


def span(name):
    numbers = [row[name] for row in idle]
    return f"{min(numbers):.0%} to {max(numbers):.0%}"


# %% How often? tags=["fold"]
climbs = sum(2 * row["starts"] for row in trained)
said = round(sum(2 * row["starts"] * row["gap said"] for row in trained))
low, high = wilson(said, climbs)
print(f"gap, first word says it: {said} of {climbs} climbs, {low:.0%} to {high:.0%}")
table([[called, *(f"{row[name]:.0%}" for row in trained), span(name)]
       for name, called in SHOWN.items()],
      ["", *(f"net {row['seed']}" for row in trained), "untrained"],
      caption="Above: share of adjectives of the right class among the words found (by chance "
      f"{16 / len(VOCABULARY):.0%} of all {len(VOCABULARY)}). Below: how often the nearest words, "
      "put there, have the network say the class")  # fmt: skip

# %% [markdown]
# With one gap, 56% to 88% of the words are of the right class, where chance has 30% and
# untrained networks at most 34%. That is the hint. But the first word, put there, has the network
# say the class in 32 of 60 climbs (41% to 65% with 95% confidence), as a coin would. With twelve
# words free there is not even the hint in the words: 17% to 25%, and 0% to 50% in untrained
# networks. (The text of the nearest words says the class in 45%, 45% and 85%.) The words nearest
# to the mean gradient of 60 reviews are right in 0%, 19% and 97%. Trying all 53 words finds 84%
# to 100%, in one batch; a climb took 100 steps. It pays only where there are too many words to
# try.
#
# ## Which question does each tool answer?

# %% tags=["slide", "nbval-check-output", "fold"]
table([
    ["denoising", "is it enough?", "finder, twin; previous when names are exchanged"],
    ["noising", "is it needed?", "previous when names differ; twins by halves or not at all"],
    ["zero ablation", "does it break?", "previous; constant, wrongly; no twin"],
    ["mean, resampling", "does its content count?", "previous; twins weakly; not the constant"],
    ["maximisation", "what drives it high?", "right words or the reverse, by the start"],
], ["tool", "asks", "found in the planted test"],
      caption="Five tools, the question of each, and what it found where the truth is "
      "known")  # fmt: skip

# %% [markdown]
# ## In practice
#
# 1. Prefer patching to ablation. Read the difference of logits: it shows harm as well as help, and
#    does not saturate as a probability does.
# 2. Choose the second text by the question: only what differs can be found. Try several kinds.
# 3. Patch in both directions, many pairs, with an interval. Then patch the parts together.
# 4. If you must take out, put the mean or another text's values there, not zeros.
# 5. For every part of a large model, take **attribution patching**, a gradient instead of a run for
#    each part (Nanda 2023), as a first look.
# 6. Where you can try every word, do so before you climb.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. What does a share of 100% in denoising say, and what does it not?
#
#    <details><summary>Answer</summary>
#
#    This part is enough to bring the answer back. Not that it is needed: another may do the same.
#    Nor that the fault is in it: it may lie before it.
#
#    </details>
# 2. Why has *previous* no share when the drinks are exchanged?
#
#    <details><summary>Answer</summary>
#
#    It carries names, and they are the same in both texts: what is put in is what was there.
#
#    </details>
# 3. Why do zeros name the constant?
#
#    <details><summary>Answer</summary>
#
#    The rest was built for the 1 that it always writes. Zero is a value the model never sees there.
#
#    </details>
# 4. How is a head found that has a twin?
#
#    <details><summary>Answer</summary>
#
#    By clean into corrupted; by means or another text's head, weakly; surely by taking both out
#    together.
#
#    </details>
# 5. The climb has reached as much as the best review. What do the nearest words tell?
#
#    <details><summary>Answer</summary>
#
#    A hint. The row stands between words, and the text with the nearest word may say the reverse.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* Clean 8, corrupted -4, patched 5. What share is recovered?
#
#    <details><summary>Answer</summary>
#
#    $(5 + 4) / (8 + 4) = 9 / 12 = 75\,\%$.
#
#    </details>
# 2. *(code, 6 min)* The second text asks for bob: `<s> ann tea , bob milk , bob`. Which heads have
#    a share, and why not *previous*?
#
#    <details><summary>Answer</summary>
#
#    Finder and twin, half each. What *previous* writes into the drinks' places is the same.
#
#    </details>
# 3. *(code, 8 min)* Break the rule "what can be taken out without loss is not used": take *finder*
#    out with zeros, then *finder* and *twin* together.
#
#    <details><summary>Answer</summary>
#
#    Alone nothing is lost, together everything.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to the exercises, checked.
from deepdive.core.hooks import ablate

print(f"1: {(5 - -4) / (8 - -4):.0%}")
asked_bob = shares(CLEAN, "<s> ann tea , bob milk , bob")
print("2:", {n: f"{part:.0%}" for n, part in zip(NAMES, asked_bob.tolist(), strict=True) if part})
for gone in ([0], [0, 1]):
    with ablate(model, "layers.1.heads", gone), torch.no_grad():
        print("3:", round(float(tea_or_milk(model(tokens(CLEAN))))))

# %% [markdown]
# ## Summary
#
# Patching puts what a model computed for one text into its run on another: clean into corrupted
# finds what is enough, corrupted into clean what is needed, and both see only what differs between
# the texts. Zeros answer another question, and on a planted circuit they named a head that is the
# same for every text and missed two that say the answer; the rows of a climb are a hint that may
# point the wrong way. Back to the lamps: pulling parts out of the good one shows what any lamp
# needs, and only putting its parts into the dark one shows behind which part the current is right
# again, so that this part or one before it is broken; *finder* brought everything back, and nothing
# was wrong with *finder*.
#
# ## Further reading
#
# - Heimersheim, Nanda (2024), *How to use and interpret activation patching*: directions, texts,
#   what to read off.
# - Vig et al. (2020), *Investigating Gender Bias in Language Models Using Causal Mediation
#   Analysis*; Meng et al. (2022), *Locating and Editing Factual Associations in GPT*: section 2.1.
# - Wang et al. (2023), *Interpretability in the Wild*: a circuit in GPT-2, with heads that take
#   over. Such a map of a model in use is not shown here.
# - Olsson et al. (2022), *In-context Learning and Induction Heads*; Nanda (2023), *Attribution
#   Patching*.
# - Simonyan, Vedaldi, Zisserman (2014), *Deep Inside Convolutional Networks*: section 2.
# - Baeumel et al. (2023), *Investigating the Encoding of Words in BERT's Neurons using Feature
#   Textualization*: the same climb in a large model, called a cautionary tale by its authors.
# - The book's sections 7.3.1.1 and 7.3.1.2.
