# %% [markdown] tags=["slide"]
# # Pretraining objectives at equal compute: BERT, ELECTRA, MPNet, Splinter
#
# BERT guesses what was hidden, ELECTRA what was replaced, MPNet guesses in a drawn order, Splinter
# finds what stood twice. Give all four lessons the same small model, the same text and the same
# number of operations, the bill: from which lesson does the model learn most?
#
# <small>Prerequisites: [hide a word, and guess it](03_masking.ipynb), [probing](13_probing.ipynb) ·
# 20 min · runs on a laptop; results of the long runs are included · book 3.1, 3.2 and 5.3.1</small>

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
# %% Draw one lesson tags=["fold"]
from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.diagrams.layers import box
from deepdive_book.kit.frame_strip import film

WORDS = ["an", "old", "cow", "sleeps", ".", "the", "cow", "eats", "grass", "."]
SHOWN = {  # what is read instead, and what is asked where
    "masked": ({3: "[MASK]", 8: "[MASK]"}, {3: "sleeps", 8: "grass"}),
    "replaced": ({3: "runs"}, dict.fromkeys(range(10), "true") | {3: "false"}),
    "permuted": ({3: "[MASK]"}, {3: "second: sleeps", 8: "first: grass"}),
    "recurring": ({6: "[QUESTION]"}, {6: "word 3"}),
}


def lesson_drawn(changed, asked):
    parts = []
    for i, word in enumerate(WORDS):
        x, y = 54 + 108 * (i % 5), 85 + 115 * (i // 5)
        parts.append(box(x, y, changed.get(i, word), "query" if i in changed else "key", 100))
        if i in asked:
            parts += [
                arrow(x, y - 21, x, y - 45, "output"),
                text(x, y - 60, asked[i], 15, "output"),
            ]
    return svg(540, 225, parts)


# %% Draw the four lessons tags=["slide", "fold"]
told = ["masked: what stood at the two gaps?", "replaced: which word was not there before?",
        "permuted: guess `grass`, and then, knowing it, `sleeps`",
        "recurring: the word that is cut out stands elsewhere; where?"]  # fmt: skip
film([lesson_drawn(*each) for each in SHOWN.values()], told,
     "Four frames of one text of ten words. Asked: two gaps; all ten words; two gaps in turn; one "
     "word that is cut out.")  # fmt: skip

# %% [markdown]
# *Go through the four frames: in the boxes what the model reads, above them what it is asked. In
# the second frame a small model, the generator, had two gaps to fill; it wrote `runs` into one, and
# guessed `grass` in the other, so that word is true. In the third, `grass` has been guessed
# already; which gap comes first is drawn by lot.*
#
# | lesson | of which model | what is asked |
# |---|---|---|
# | masked | BERT | some words are hidden; which were they? |
# | replaced | ELECTRA | a small model filled the gaps; which words did it change? |
# | permuted | MPNet | gaps are filled in a drawn order; each guess knows those before it |
# | recurring | Splinter | of words that stand twice, one is cut out; where is the other? |

# %% [markdown] tags=["slide"]
# ## By hand: what a question costs
#
# ELECTRA's claim (Clark et al. 2020): masked language modeling wastes most of what it computes. It
# reads all words and is asked about one in seven. Ask about all of them, and the same work teaches
# more. Let us count.
#
# Let a text have 20 words, 3 of them gaps, and let the encoder take 10 operations a word.
#
# - **Masked**: $20 \cdot 10 = 200$ operations for 3 questions.
# - **Replaced**: the generator is a quarter as wide; say it takes 1 operation a word. Both together
#   take $20 \cdot 11 = 220$, for 20 questions.
# - **Permuted**: a gap must be seen in two ways. Guesses that come later may know its word; its own
#   guess may not. So each of the 3 gaps brings two more rows into the model: a mask that stands in
#   its place for the guesses that come before it, and one that asks. $26 \cdot 10 = 260$ operations
#   for 3 questions.
# - **Recurring**: 200, and if one word stands twice, 1 question.
#
# With 28,600 operations each lesson can pay for so many texts, and so many questions:

# %% Check the sum tags=["nbval-check-output", "fold"]
from math import ceil, log2

from deepdive_book.kit.tables import table

PRICE = {"masked": (200, 3), "replaced": (220, 20), "permuted": (260, 3), "recurring": (200, 1)}
bill = 28_600
rows = [[name, bill // each, bill // each * asked] for name, (each, asked) in PRICE.items()]
assert rows == [["masked", 143, 429], ["replaced", 130, 2600], ["permuted", 110, 330],
                ["recurring", 143, 143]]  # fmt: skip
bits = {"masked": ceil(log2(2000)), "replaced": 1, "permuted": ceil(log2(2000))}
table([{"lesson": name, "texts": texts, "questions": asked, "bits, at most": asked * bits[name]
        if name in bits else None} for name, texts, asked in rows],
      caption="for 28,600 operations")  # fmt: skip

# %% [markdown]
# ELECTRA asks six times as often as BERT. But its answer is yes or no, at most one bit. Which of
# 2,000 pieces (words, or parts of rare words) stood at a gap is up to 11 bits: $429 \cdot 11 =
# 4{,}719$ against $2{,}600$. The two counts point in opposite directions, and neither says what a
# model makes of an answer. So we have to try.

# %% [markdown]
# ## What is held equal
#
# | | all four |
# |---|---|
# | encoder | 2 layers, 64 wide, the same parts; after training, only the encoder is kept |
# | text | 12,544 sentences of the English Web Treebank, in rows of 128 pieces |
# | operations | forward and backward, counted as they run, ELECTRA's generator included |
# | bills | 75, 300, 1,200 and 4,800 billion operations; one run is judged at each, and goes on |
# | learning rate | the best of five for each lesson, at the bill of 1,200, judged on other labels |
# | seeds | five; the rate was chosen with a sixth |
# | judged by | frozen states (parts of speech, films), and fine-tuning (films, names) |
#
# The losses cannot be the judge: one counts the surprise at a piece, another at a yes or no.

# %% The text, and the pieces tags=["fold"]
import torch

from deepdive.data.documents import generated_documents, web_documents
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive_book.kit.profile import banner, pick, profile

real = profile() != "ci"
data = "ud_english_ewt, rt_polarity, wnut17" if real else "three sets (generated)"
print(banner(f"{data} (real)" if real else data))
documents = web_documents() if real else generated_documents(100)
texts = [sentence for document in documents for sentence in document]
pieces = WordPieceTokenizer.train(texts, 2000 if real else 400, min_count=50 if real else 2,
                                  specials=(*BERT_SPECIALS, "[QUESTION]"))  # fmt: skip
T, SIZE = pick(ci=48, laptop=128, gpu=128), 8
stream = [id for text in texts for id in pieces.encode(text)]
cuts = range(0, len(stream) - T + 2, T - 2)
rows = torch.tensor([[pieces.bos, *stream[i : i + T - 2], pieces.eos] for i in cuts])
shuffled = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))
batches = [some for some in shuffled.split(SIZE) if len(some) == SIZE]  # of numbers of rows
print(f"{len(texts):,} sentences, {len(stream):,} pieces: {len(batches)} batches of {SIZE} x {T}")

# %% [markdown]
# The encoder is MPNet's class without its table of distances, since that class can also read a text
# in any order; read in the usual one it is BERT. Weights begin larger than BERT's, since a narrow
# ELECTRA learns badly from small ones.

# %% Four models, one encoder tags=["fold"]
from deepdive.layers.heads import initialise
from deepdive.models.bert.bert import bert
from deepdive.models.bert.electra import ElectraConfig, pair
from deepdive.models.bert.mpnet import MPNet
from deepdive.models.bert.pretraining import for_masked_lm
from deepdive.models.bert.splinter import Splinter, SplinterConfig

LESSONS = ["masked", "replaced", "permuted", "recurring"]
NUMBERS = {"vocab_size": len(pieces), "d_model": 64, "n_heads": 2, "n_layers": 2, "d_ff": 256,
           "max_length": T, "n_segments": 0, "dropout": 0.0}  # fmt: skip


def built(lesson, seed):
    """Return what is trained, and the encoder in it, which is the same for all."""
    torch.manual_seed(seed)
    if lesson == "replaced":
        net = pair(ElectraConfig(**NUMBERS))
        encoder = net.discriminator.bert
    else:
        asks = pieces.vocab.index("[QUESTION]")
        encoder = bert(SplinterConfig(**NUMBERS, question=asks, model=MPNet))
        net = Splinter(encoder) if lesson == "recurring" else for_masked_lm(encoder)
    initialise(net, 0.1)
    return net, encoder


# %% [markdown]
# Splinter asks for runs of pieces that stand twice in a text. The hundred most frequent pieces make
# no question by themselves, or all would be about *the*.

# %% Find what recurs tags=["fold"]
from collections import Counter

from deepdive.training.objectives import (
    make_recurring_span_questions,
    recurring_spans,
    special_ids,
    word_ids,
)

often = [id for id, _ in Counter(stream).most_common(100 if real else 8)]  # the, of, commas
stop = {*often, *special_ids(pieces).tolist()}
words = word_ids(rows, pieces).tolist()
clusters = [recurring_spans(row, stop, of) for row, of in zip(rows.tolist(), words, strict=True)]
found = sum(len(some) for some in clusters) / len(rows)
print(f"{found:.1f} runs of pieces in a text of {T} can be asked for")


def asked(batch):
    """Return tokens, mask (B, T) and the places, starts and ends (B, K) of the questions."""
    ask, drawn = pieces.vocab.index("[QUESTION]"), random.Random(random.random())
    some = [
        make_recurring_span_questions(rows[i].tolist(), clusters[i], ask, 10, drawn)
        for i in batch.tolist()
    ]
    pad = torch.nn.utils.rnn.pad_sequence
    tokens = pad([torch.tensor(each.tokens) for each in some], True, pieces.pad)
    parts = [pad([torch.tensor(getattr(each, name), dtype=torch.long) for each in some], True)
             for name in ("places", "starts", "ends")]  # fmt: skip
    return tokens, tokens != pieces.pad, *parts


# %% [markdown]
# The other lessons stand in the library: `mask_tokens`, `electra_losses`, `permute` and
# `span_selection_loss` are those of [BERT variants](17_family.ipynb).

# %% Imports tags=["fold"]
import random

from deepdive.training.objectives import (
    cross_entropy,
    electra_loss,
    electra_losses,
    mask_tokens,
    permute,
    span_selection_loss,
)


# %% Four losses
def loss_of(lesson, net, batch):
    tokens = rows[batch]
    if lesson == "replaced":
        return electra_loss(*electra_losses(net, tokens, pieces))
    if lesson == "recurring":
        tokens, mask, places, starts, ends = asked(batch)
        return span_selection_loss(net(tokens, mask, questions=places), starts, ends, mask)
    if lesson == "permuted":
        some = permute(tokens, pieces)
        states = net.bert.permuted(some.tokens, some.positions, some.seen)
        states, targets = states[:, -some.targets.shape[1] :], some.targets
    else:
        inputs, targets, chosen = mask_tokens(tokens, pieces)
        states, targets = net.bert(inputs)[chosen], targets[chosen]
    return cross_entropy(net.masked_logits(states), targets, pad=None)


# %% [markdown] tags=["slide"]
# ## The bill
#
# Four batches of each lesson are counted, forward and backward. The same number of operations then
# buys each lesson its own number of steps.

# %% Count tags=["fold"]
from deepdive_book.kit.cost import count_flops


def operations(lesson):
    """One step, forward and backward, mean of four batches."""
    net, _ = built(lesson, 0)
    random.seed(0)
    steps = [count_flops(lambda b=b: loss_of(lesson, net, b).backward()) for b in batches[:4]]
    return sum(steps) / len(steps)


cost = {lesson: operations(lesson) for lesson in LESSONS}
table([[lesson, f"{each / 1e9:.2f} billion", round(75e9 / each)] for lesson, each in cost.items()],
      ["lesson", "operations a step", "steps for 75 billion"])  # fmt: skip

# %% [markdown]
# ## One run
#
# The rate rises for the first 50 steps, then stays, so that one run passes every bill on its way:
# it stops at each, is judged, and goes on. (The smallest bill buys few more steps than these 50. It
# shows a beginning, no result.) The order of the texts follows the seed, as do the first weights,
# the gaps and the draws.

# %% Train
from deepdive.training import fit
from deepdive.training.optim import adam

WARM_UP = pick(ci=2, laptop=50, gpu=50)  # steps


def taught(lesson, rate, seed, bills):
    """At each bill, in billions of operations, yield it and the encoder as it then is."""
    net, encoder = built(lesson, seed)
    optimizer = adam(net, lr=rate, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01)
    order = torch.randperm(len(batches), generator=torch.Generator().manual_seed(seed)).tolist()
    done = 0
    for bill in bills:
        steps, first = round(bill * 1e9 / cost[lesson]) - done, done % len(order)
        fit(net, [batches[i] for i in order[first:] + order[:first]],
            lambda net, batch: loss_of(lesson, net, batch), steps=steps, seed=1000 * seed + done,
            progress=False, optimizer=optimizer,
            schedule=lambda step, done=done: rate * min(1.0, (done + step) / WARM_UP))  # fmt: skip
        done += steps
        yield bill, encoder


# %% [markdown]
# ## The judges
#
# **Frozen.** The encoder stays as it is, and a linear map reads its last states, as in
# [probing](13_probing.ipynb): a ridge regression, which has one solution and no luck. For **tags**
# (parts of speech) it reads the mean state of each word, for **films** the mean state of a review.
# This is asked at every bill.
#
# **Fine-tuned.** At the last bill a head is put on, and the whole encoder learns on with it: films
# again, and **names** in posts (wnut17: which words are a name), scored by F1. One recipe for all.
#
# The sentences to learn from, those that choose the rate and those of the test are different ones;
# no lesson has read a text of the test.

# %% The labelled sentences tags=["fold"]
from deepdive.data.reviews import rt_polarity
from deepdive.data.trees import treebank
from deepdive.explain.words import cut, read, word_states
from deepdive_book.data.synthetic_reviews import generated_reviews
from deepdive_book.data.tree_grammar import tree_sentences


def sentences(part, n, seed):
    """n tagged sentences of at most 30 words."""
    drawn = treebank(part) if real else tree_sentences(2 * n, seed=seed)
    short = (tree for tree in drawn if 4 <= len(tree) <= 30)
    return [tree for tree in short if len(pieces.encode(" ".join(tree.words))) < T - 2][:n]


sizes = dict(zip(("train", "dev", "test"), pick(ci=(40, 40, 40), laptop=(300, 300, 600),
             gpu=(300, 300, 600)), strict=True))  # fmt: skip
trees = [sentences(part, n, k) for k, (part, n) in enumerate(sizes.items())]
reviews = rt_polarity() if real else generated_reviews(200)
some = pick(ci=100, laptop=2000, gpu=2000)
learn, choose, test = reviews.held_out(some, 600)
opinions = [learn.take(range(min(some, len(learn)))), choose, test]
LEARN, CHOOSE, TEST = range(3)
for name, some in (("tagged sentences", trees), ("reviews of films", opinions)):
    learned, chosen, tested = map(len, some)
    print(f"{name}: {learned} to learn from, {chosen} to choose by, {tested} to test")

# %% Two readings tags=["fold"]
from deepdive.explain.probes import tag_accuracy

special = (pieces.bos, pieces.eos, pieces.unk)
tagged = [[cut(pieces.encode, tree.words, *special) for tree in some] for some in trees]
filmed = [[torch.tensor([pieces.bos, *pieces.encode(text)[: T - 2], pieces.eos])
           for text in some.texts] for some in opinions]  # fmt: skip


def states(encoder, ids):
    """The states (T, d_model) of each text's pieces, of the last layer."""
    found = dict(read(encoder.eval(), [row[:T] for row in ids], "*.stream"))
    return [found[i][-1] for i in range(len(ids))]


# %% States of words and reviews tags=["fold"]
def of_words(encoder, part):
    x = states(encoder, [ids for ids, _ in tagged[part]])
    each = [word_states(one, owner[: len(one)])[1:-1]
            for one, (_, owner) in zip(x, tagged[part], strict=True)]  # fmt: skip
    return torch.cat(each), [tag for tree in trees[part] for tag in tree.tags]


def of_films(encoder, part):
    return torch.stack([x.mean(0) for x in states(encoder, filmed[part])]), opinions[part].labels


def readings(encoder, part):
    """Right answers of a linear map from frozen states, learned on LEARN, in percent."""
    found = {}
    for name, of in (("tags", of_words), ("films", of_films)):
        (x, y), (new, wanted) = of(encoder, LEARN), of(encoder, part)
        right = tag_accuracy((x / x.std(), y), (new / x.std(), wanted), penalty=10.0)
        found[name] = round(100 * right.double().mean().item(), 2)
    return found


# %% Fine-tune tags=["fold"]
from copy import deepcopy

from deepdive.data.tasks import Single, Tagged, entities
from deepdive.evaluate.answers import entity_f1
from deepdive.layers.heads import Classifier, TokenClassificationHead
from deepdive_book.data.synthetic_tasks import generated_entities
from deepdive_book.tasks.finetuning import encode, finetune, predict, read_tags

KINDS = ["B-name", "I-name", "O"]  # of six kinds of names, all one
both = entities() if real else [generated_entities(40, seed) for seed in (0, 1)]
posts = [[Tagged(row.words, [tag if tag == "O" else f"{tag[0]}-name" for tag in row.tags])
          for row in part] for part in both]  # fmt: skip
films = [[Single(*row) for row in zip(opinions[part].texts, opinions[part].labels, strict=True)]
         for part in (LEARN, TEST)]  # fmt: skip


# %% An encoder without segments tags=["fold"]
class OneText(torch.nn.Module):
    """A copy of an encoder that has no segments, for heads that hand them on."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = deepcopy(encoder)

    def forward(self, tokens, mask, segments):
        return self.encoder(tokens, mask)


RECIPE = {"lr": 1e-3, "epochs": pick(ci=1, laptop=4, gpu=4), "size": 16, "progress": False}


# %% Learn on with a head tags=["fold"]
def learned_on(encoder, seed):
    """Right answers on films, in percent, and F1 of the names, after learning on with a head."""
    d, found = NUMBERS["d_model"], {}
    for name, (train, test), head in (
        ("films", films, Classifier(OneText(encoder), d, 2)),
        ("names", posts, TokenClassificationHead(OneText(encoder), d, 3)),
    ):
        items = [[encode(pieces, row, T, KINDS) for row in part] for part in (train, test)]
        finetune(head, items[0], seed=seed, **RECIPE)
        said = predict(head, items[1])
        if name == "films":
            right = [row.label == z.argmax().item() for row, z in zip(test, said, strict=True)]
            found[name] = round(100 * mean(right), 2)
        else:
            words = [read_tags(pieces, row, z, KINDS) for row, z in zip(test, said, strict=True)]
            found[name] = round(100 * entity_f1(words, [row.tags for row in test]).f1, 2)
    return found


# %% Measure tags=["fold"]
from statistics import mean

from deepdive_book.kit.experiments import results_path, share, sweep

RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)


def measure(lesson, seed, rate=0.0, bills=()):
    """Seed 0 chooses the rate, the others are for the test."""
    part = TEST if seed else CHOOSE
    states = taught(lesson, rate, seed, bills) if rate else [(0, built("masked", seed)[1])]
    read_at = {}
    for bill, encoder in states:
        read_at[f"{bill:g}"] = readings(encoder, part)
    return {"frozen": read_at, "fine_tuned": learned_on(encoder, seed) if seed else {}}


# %% [markdown]
# `none` is no lesson at all: the encoder with the random weights that all lessons begin with.
# Frozen it is a floor; fine-tuned it is a model that learns the task from nothing. A lesson that
# does not rise above it is of no use by that judge.
#
# Five rates are tried for each lesson with a quarter of the last bill, and the one whose tags and
# films are best on the choosing part is taken. Then five other seeds pay all bills.

# %% Run tags=["fold"]
whole = profile() == "experiment"
BILLS = [share() * n for n in pick(ci=(1.0, 2.0), laptop=(75.0, 300.0, 1200.0, 4800.0),
                                   gpu=(75.0, 300.0, 1200.0, 4800.0))]  # fmt: skip
file = results_path("03_bert", "objectives") if real else None
rows_kept = []
if whole or (file is not None and file.is_file()):
    tries = [{"lesson": lesson, "rate": rate, "bills": BILLS[:3], "seed": 0}
             for lesson in LESSONS for rate in RATES]  # fmt: skip
    tuned = sweep(measure, tries, file, data=data)
    tuned.sort(key=lambda row: sum(row["frozen"][f"{BILLS[2]:g}"].values()))
    best = {row["lesson"]: row["rate"] for row in tuned}  # of each lesson the last, so the best
    points = [{"lesson": "none", "seed": seed} for seed in range(1, 6)]
    points += [{"lesson": lesson, "rate": best[lesson], "bills": BILLS, "seed": seed}
               for seed in range(1, 6) for lesson in LESSONS]  # fmt: skip
    rows_kept = sweep(measure, points, file, data=data)
    print("rates:", ", ".join(f"{lesson} {best[lesson]:g}" for lesson in LESSONS))

# %% One seed, now tags=["fold"]
first = 0 if rows_kept else 1  # seed 0 is not fine-tuned
live = [sweep(measure, [{"lesson": lesson, "seed": first} | ({} if lesson == "none" else
               {"rate": 1e-3, "bills": BILLS[: 1 + (not real)]})])[0]
        for lesson in ("none", *LESSONS)]  # fmt: skip
seen = [[*row["frozen"].values()][-1]["tags"] for row in live]
print(f"live, one seed, the smallest bill: tags from {min(seen):.1f} to {max(seen):.1f} % right")
rows_shown = rows_kept or live
print("shown below:", "five seeds, kept" if rows_kept else "this one live seed")

# %% [markdown]
# What ran here just now is far too short to judge by; it shows that the code runs. What follows
# shows the kept runs, five seeds of each lesson.

# %% Means, and differences with their intervals tags=["fold"]
import numpy as np
from scipy.stats import ttest_ind


def of(lesson, judge, bill="last"):
    """One value a seed: of a frozen judge at a bill, or of a fine-tuned one."""
    rows = [row for row in rows_shown if row["lesson"] == lesson]
    if bill == "fine-tuned":
        return [row["fine_tuned"][judge] for row in rows]
    return [row["frozen"].get(bill, [*row["frozen"].values()][-1])[judge] for row in rows]


def above(a, b):
    """Difference of two means, and its 95 % interval over the seeds (Welch's t)."""
    found = f"{np.mean(a) - np.mean(b):+.1f}"
    if min(len(a), len(b)) < 2:
        return found
    ends = ttest_ind(a, b, equal_var=False).confidence_interval()
    return f"{found} [{ends.low:+.1f}, {ends.high:+.1f}]"


# %% A line of a table tags=["fold"]
def line(lesson, judges, bill):
    row = {"lesson": lesson}
    for judge in judges:
        mine, floor = of(lesson, judge, bill), of("none", judge, bill)
        row[judge] = f"{np.mean(mine):.1f}"
        row[f"{judge}, above none"] = "" if lesson == "none" else above(mine, floor)
    return row


# %% Fine-tuned tags=["slide"]
table([line(lesson, ("films", "names"), "fine-tuned") for lesson in (*LESSONS, "none")],
      caption="fine-tuned after the last bill: films right, in percent; F1 of names")  # fmt: skip

# %% [markdown]
# Begin with what most people do, fine-tuning. **On films random weights come out first**: no lesson
# is above them, and the recurring one is below. (One of ELECTRA's five seeds stayed at chance,
# hence its wide interval.) So at this scale no lesson pays for itself there. On names an F1 of 6 to
# 10 is poor for all; MPNet's lesson is above random weights, with an interval that nearly reaches
# zero.

# %% Frozen: whose states say most? tags=["slide"]
table([line(lesson, ("tags", "films"), "last") for lesson in (*LESSONS, "none")],
      caption="frozen states at the last bill: right, in percent, with 95 % intervals")  # fmt: skip

# %% [markdown]
# Frozen states show more. At this last bill, ask them for tags, and the masked lesson alone is
# above random weights. It is ahead of the three others, too (see below). With films no lesson is
# above `none` by more than its interval.

# %% Draw what each operation bought tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(5.2, 6.2))
STYLES = dict(zip(LESSONS, ("o-", "s--", "^-.", "d:"), strict=True))
COLOURS = dict(zip(LESSONS, ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), strict=True))
for axes, judge in zip(figure.subplots(2, 1, sharex=True), ("tags", "films"), strict=True):
    axes.axhline(np.mean(of("none", judge)), color="#767676", lw=1, label="none")
    for lesson in LESSONS:
        bills = list(next(r for r in rows_shown if r["lesson"] == lesson)["frozen"])
        at = np.array([float(bill) for bill in bills])
        values = np.array([of(lesson, judge, bill) for bill in bills])
        axes.plot(at, values, color=COLOURS[lesson], lw=0.6, alpha=0.4)
        axes.plot(at, values.mean(1), STYLES[lesson], color=COLOURS[lesson], label=lesson, ms=5)
    axes.set(ylabel=f"{judge}: right, %", xscale="log")
axes.set(xlabel="billions of operations")
figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncol=3)
with_alt(figure, "Right answers of frozen states against operations, tags and films: a line for "
         "each lesson, a thin one for each seed, and random weights as a level line.")  # fmt: skip

# %% [markdown]
# *Thin lines are seeds, thick ones their means; the level line is `none`, the random weights.*
#
# At 300 and at 1,200 billion operations all four means stand above `none` in the tags. Then they
# part. From 1,200 to 4,800 the masked lesson gains in four of five seeds, and each of the three
# others loses in all five. Is it the lesson that does this, or the rate? We cannot tell: each rate
# was chosen at 1,200, where all was well, and then kept for four times as long. A rate that falls
# might keep what was won, and was not tried.

# %% Each lesson against masked tags=["fold"]
JUDGES = {"tags at 1,200": ("tags", "1200"), "films at 1,200": ("films", "1200"),
          "tags, frozen": ("tags", "last"), "films, frozen": ("films", "last"),
          "films, fine-tuned": ("films", "fine-tuned"),
          "names, fine-tuned": ("names", "fine-tuned")}  # fmt: skip
table([
    {"lesson": lesson, **{name: above(of(lesson, *judge), of("masked", *judge))
                          for name, judge in JUDGES.items()}} for lesson in LESSONS[1:]
], caption="points above masked, 95 % intervals; last four columns: last bill")  # fmt: skip

# %% [markdown]
# By frozen tags the masked lesson comes out ahead of all three: by 3 to 4 points at 1,200 billion
# operations, for which the rates were chosen, and by more at the last bill, where the three others
# had lost. Fine-tuned on names it is behind all three, by 2 to 4 points of an F1 that is poor for
# all. So who is ahead depends on the judge, and neither judge shows ELECTRA's claim at this size.
#
# Nor could it. ELECTRA's generator, 16 wide, learned almost nothing: in a rerun at its rate of
# 1e-4 (one seed) its loss was 6.09 after 1,110 steps and 6.01 after 4,440, where the entropy of
# the text's word frequencies is 6.03. So its replacements were nearly words drawn by frequency,
# which is another objective than ELECTRA's. Its rate was also the lowest of the grid, 30 times
# below BERT's, and was chosen at a quarter of the compute. And this table holds 18 intervals
# without a correction: "behind all three on names" rests on lower ends of +0.2 to +1.1. We
# withdraw the ranking of ELECTRA against BERT that an earlier version of this page stated.
#
# The established result, at full scale and equal compute, is the opposite. On GLUE ELECTRA base
# has 85.0, BERT trained on all tokens 84.3, ELECTRA trained at 15% of the tokens 82.4, and BERT
# 82.2 (Clark et al. 2020, table 5); ELECTRA-Small has 79.9, BERT-Small 75.1.

# %% [markdown]
# ### Common mistake: to compare the losses
#
# "Its loss is lowest, so this lesson is learned best." Before you look at a loss, predict:

# %% Predict tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "No lesson has begun; all weights are random. Whose loss is the highest?",
    ["masked", "replaced", "permuted", "recurring"],
    answer=1,
    explain="ELECTRA's is a sum: a guess of the generator, and 50 times a yes or no. Its height "
    "says how the terms are weighed, and nothing of who learns.",
    key="03_bert/objectives",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% The losses of those who know nothing tags=["surprise"]
from math import log

first = {}
for lesson in LESSONS:
    random.seed(0)
    torch.manual_seed(0)
    first[lesson] = loss_of(lesson, built(lesson, 0)[0], batches[0]).item()
assert max(first, key=first.get) == "replaced"
print(", ".join(f"{lesson} {loss:.2f}" for lesson, loss in first.items()))
print(f"ln V = {log(len(pieces)):.2f}; start and end, 2 ln T = {2 * log(T):.2f}; "
      f"ELECTRA's sum, ln V + 50 ln 2 = {log(len(pieces)) + 50 * log(2):.2f}")  # fmt: skip

# %% [markdown]
# **Symptom:** curves of different heights, and a ranking that follows from how many answers one may
# choose from and how the terms are weighed. The same holds for *steps*: a step of MPNet's lesson
# costs more than one of BERT's. **Fix:** one judge that no lesson was trained for, one currency.

# %% [markdown]
# ## The experiment
#
# Four lessons with five rates each; then five seeds of each, and of the random weights:
#
# ```sh
# deepdive run 3.14 --profile experiment               # goes on from the rows that are kept
# deepdive run 3.14 --profile experiment --share 0.1   # a tenth of the operations
# ```
#
# ## What cannot be seen at this scale
#
# - **Who ends up ahead.** Clark et al. give their small model $1.4 \cdot 10^{18}$ operations; ours
#   has $4.8 \cdot 10^{12}$, and its text is small: at the last bill the masked lesson has read it
#   some fifteen times. What is seen is who is *first off the mark*; [3.5](05_ablations.ipynb) has a
#   case where the two differ.
# - **ELECTRA's own objective.** Its generator is 16 wide and learns at ELECTRA's low rate; in a
#   rerun it filled gaps no better than word frequencies do.
# - **The best rate at each bill.** The rates were chosen at a quarter of the last bill, and do not
#   fall. ELECTRA's best is the lowest of the five; one still lower, 0.00003, was tried for it
#   afterwards, and tags and films together were 0.2 points away.
# - **What other layers know.** A linear map reads the last one, which a lesson may bend to its own
#   use: ELECTRA's must say *there before or not*, Splinter's where a span begins.
# - **Fine-tuning on enough.** ELECTRA and Splinter are meant to be fine-tuned, and 2,000 reviews
#   and 1,000 posts are few.

# %% [markdown] tags=["aside"]
# ## In practice
#
# - **Count both networks.** ELECTRA's generator and MPNet's doubled rows are part of the price; an
#   article that compares steps leaves them out.
# - **A small ELECTRA is given larger first weights** than BERT's here; see `pair` in the library.
# - **A lesson may be chosen by the task**: questions about a text have the form of Splinter's
#   lesson (its authors show gains with few examples; it is not measured here).

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why does ELECTRA cost more for each text than BERT of the same size?
#
#    <details><summary>Answer</summary>
#
#    A generator reads each text first, and its operations count.
#
#    </details>
# 2. And why does MPNet's lesson?
#
#    <details><summary>Answer</summary>
#
#    Each gap brings two more rows: a mask that others see, and the query that asks.
#
#    </details>
# 3. Why can the losses not be compared?
#
#    <details><summary>Answer</summary>
#
#    They count surprise over different sets of answers: pieces, yes or no, places.
#
#    </details>
# 4. Why is the seed that chose the learning rate none of the five that are shown?
#
#    <details><summary>Answer</summary>
#
#    The rate is the best of five for that seed, so its result is by luck a little too good.
#
#    </details>
# 5. What does the row *none* tell?
#
#    <details><summary>Answer</summary>
#
#    What a linear map reads off random weights, and what fine-tuning makes of them: that much no
#    lesson has taught.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 3 min)* In the sum above let 6 of the 20 words be gaps. How many questions has the
#    permuted lesson for 28,800 operations, and how many has the masked one?
#
#    <details><summary>Answer</summary>
#
#    A text costs $(20 + 12) \cdot 10 = 320$: 90 texts, 540 questions. Masked: 144 texts, 864.
#
#    </details>
# 2. *(on paper, 3 min)* How wide may ELECTRA's generator be, in operations a word, if it is to ask
#    five times as often as BERT does for the same operations?
#
#    <details><summary>Answer</summary>
#
#    $20 / (10 + g) = 5 \cdot 3 / 10$, so $g = 10 / 3$: a third of the encoder's price.
#
#    </details>
# 3. *(extend, 20 min)* Add a fifth lesson: masked, with a rate of 40%.
#
#    <details><summary>Answer</summary>
#
#    In `loss_of` pass `rate=0.4` to `mask_tokens`, and count it: the head now reads more places.
#
#    </details>

# %% Answers 1 and 2, checked tags=["fold"]
assert 28_800 // 320 * 6 == 540
assert 28_800 // 200 * 6 == 864
assert abs(20 / (10 + 10 / 3) - 5 * 3 / 10) < 1e-12
print("answers 1 and 2 hold")

# %% [markdown] tags=["slide"]
# ## Summary
#
# Equal operations are the fair price, and a common judge is needed, since losses over different
# answers do not compare. After 4,800 billion operations, by five seeds and with rates chosen at
# 1,200, masked language modeling raises frozen tags by 8.2 points above random weights [5.8,
# 10.6]; fine-tuned on films, random weights do best. ELECTRA can't be judged here, because its
# generator stayed at the level of word frequencies in a rerun, so its replaced tokens were nearly
# random; at full scale and equal compute it outperforms BERT (Clark et al. 2020, table 5: 85.0
# against 82.2 on GLUE).
#
# ## Further reading
#
# - Clark et al. (2020), *ELECTRA*: sections 2 and 3.4, where the lesson is taken apart.
# - Song et al. (2020), *MPNet*: section 2.
# - Ram et al. (2021), [*Splinter*](https://arxiv.org/abs/2101.00438): section 3.
# - Devlin et al. (2019), [*BERT*](https://arxiv.org/abs/1810.04805): section 3.1.
