# %% [markdown] tags=["slide"]
# # Words, entities, tables, integers
#
# *Which team won just before Crettyard?* The answer stands in a table that is too long to read.
# TaBERT reads three of its rows. How often is the answer in them?
#
# <small>Book 3.3.1; LUKE and I-BERT from the list of models in the transformers library · before
# this page: [BERT's architecture](02_architecture.ipynb), [real weights](06_weights.ipynb) · 20 min
# to read · a laptop is enough</small>

# %% tags=["setup"]
# Setup, the same on every page. On Colab it installs only what is missing, and never torch.
PROFILE = "auto"  # @param ["auto", "ci", "laptop", "gpu"]
SAVE_TO_DRIVE = False  # @param {type:"boolean"}
SOURCE = ""  # where pip finds deepdive, once it is published
import subprocess
import sys
from importlib.util import find_spec

if "google.colab" in sys.modules:
    for name in ("deepdive", "einops", "safetensors", "sacrebleu", "num2words", "babel"):
        what = ["--no-deps", SOURCE] if name == "deepdive" else [name]
        if find_spec(name) is None and what[-1]:
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *what])
if find_spec("deepdive") is None:
    how = "in its folder run `pip wheel --no-deps .`, bring the .whl file here, `%pip install` it"
    raise ModuleNotFoundError(f"deepdive is not installed here: {how}, and run this cell again")
from deepdive.page.profile import setup

setup(PROFILE, drive=SAVE_TO_DRIVE)
# %% A table of marathons tags=["fold"]
from deepdive.data.wikitables import table as tabled
from deepdive.models.bert.tabert import content_snapshot, overlap, words
from deepdive.page.diagrams import svg, text
from deepdive.page.film import film
from deepdive.page.palette import ROLES

GAMES = tabled(["year", "city", "winner"], [
    ["1952", "Helsinki", "Zatopek"], ["1956", "Melbourne", "Mimoun"],
    ["1960", "Rome", "Bikila"], ["1964", "Tokyo", "Bikila"], ["1968", "Mexico City", "Wolde"],
])  # fmt: skip
ASKED = "who won in Mexico City after Rome ?"


# %% Draw the rows that are read tags=["slide", "fold"]
def drawn(read):
    """The table, with the rows that are read in colour."""
    body = [text(120 * j + 60, 18, name, 15, "key") for j, name in enumerate(GAMES.columns)]
    for i, row in enumerate(GAMES.rows):
        y, fill = 34 + 28 * i, ROLES["value"] if row in read else "none"
        body.append(f'<rect x="2" y="{y - 6}" width="356" height="26" fill="{fill}" '
                    'fill-opacity="0.25" stroke="#888"/>')  # fmt: skip
        body += [text(120 * j + 60, y + 12, cell, 14) for j, cell in enumerate(row)]
    return svg(360, 176, body)


best = [content_snapshot(GAMES, ASKED, k).rows for k in (5, 2, 3)]
film([drawn(rows) for rows in (best[0], best[1][:1], best[1], best[2])],
     ["the whole table", "the best row", "K = 2", "K = 3"],
     "A table of five marathons: first all rows are read, then the one that has most words in "
     f"common with the question, {ASKED} Then the best two and the best three.")  # fmt: skip

# %% [markdown]
# *The question is "who won in Mexico City after Rome ?" Coloured rows are read. Step through the
# film: the row of 1968 comes first, then that of 1960, then one that has nothing in common with
# the question and only stands at the top of the table.*
#
# BERT reads a line of words from one vocabulary and multiplies floats. Three descendants give up
# one of these each: a **table** is no line (TaBERT), a **name** is more than its words (LUKE), and
# a cheap processor has only **integers** (I-BERT). For each of them this page asks what had to
# change, and what gets lost.

# %% [markdown] tags=["slide"]
# ## A table is no line
#
# A table of 30 rows and 6 columns has 180 cells, some 1,500 tokens with their names: BERT reads 512
# at most. TaBERT (Yin et al. 2020) therefore
#
# 1. chooses $K$ rows, the **content snapshot**: those that share most n-grams with the question;
# 2. writes each as a line, `name | type | cell [SEP] name | type | cell [SEP]`, after the question;
# 3. reads each line with BERT; a cell's vector is the mean of its tokens' states;
# 4. joins the rows by **vertical attention**: the vectors of one column attend to each other.
#
# The snapshot is made before the model sees anything. What it leaves out is lost for good.
#
# ### By hand: which row first?
#
# The question *who won in Rome* has four words: 4 single words, 3 pairs and 2 triples, 9 n-grams.
# The row `1960 Rome Bikila` shares one of them, *Rome*: 1/9. All other rows share none. *who won in
# Mexico City* has $5 + 4 + 3 = 12$, and the row of 1968 shares *mexico*, *city* and *mexico city*:
# 3/12. A pair counts beside its words, so names of two words count three times.

# %% Check the pencil tags=["nbval-check-output", "fold"]
rome = [overlap("who won in Rome", " ".join(row)) for row in GAMES.rows]
mexico = [overlap("who won in Mexico City", " ".join(row)) for row in GAMES.rows]
assert rome == [0, 0, 1 / 9, 0, 0]
assert mexico == [0, 0, 0, 0, 3 / 12]
print("the pencil was right")

# %% [markdown]
# For $K = 1$ the paper does something else. One row would show one cell of each column, and perhaps
# not the one that matters, so a row is **made up**: of each column the cell that shares most with
# the question. It may mix cells of many rows.

# %% [markdown] tags=["slide"]
# ## How often does the snapshot hold the answer?
#
# WikiTableQuestions has questions that people asked of tables from Wikipedia. We take those that
# have one answer, which is a cell of the table and is not named in the question; others must be
# counted or computed. A snapshot holds the answer if one of its cells is equal to it. Three rivals
# choose rows: the **first** rows of the table, the rows of most **overlap**, and the rows nearest
# to the question as **MiniLM** sees it, a model that was trained to compare sentences.

# %% The questions tags=["fold"]
from functools import cache

from deepdive.data.wikitables import generated_table_questions, table_questions
from deepdive.page.experiments import kept, sweep
from deepdive.page.profile import pick, profile

KS = (1, 3, 5, 10)


def plain(cell):
    return " ".join(words(cell))


@cache
def askable(tables):
    """Of the questions on so many tables, those with one answer, a cell that they do not name."""
    given = generated_table_questions(tables) if profile() == "ci" else table_questions("dev")
    some, found = list(dict.fromkeys(id(q.table) for q in given))[:tables], []
    for q in given:
        answer = plain(q.answers[0])
        if len(q.answers) == 1 and answer and f" {answer} " not in f" {plain(q.text)} ":
            cells = {plain(cell) for row in q.table.rows for cell in row}
            if id(q.table) in some and answer in cells:
                found.append((q, answer))
    return found


# %% How many there are tags=["fold"]
few = pick(ci=12, laptop=12, gpu=346, experiment=346)
many = pick(ci=40, laptop=40, gpu=346, experiment=346)
asked = askable(many)
rows_of = {id(q.table): len(q.table.rows) for q, _ in asked}.values()
f"{len(asked)} questions, {len(rows_of)} tables of {sum(rows_of) / len(rows_of):.0f} rows"

# %% Rank the rows with MiniLM tags=["fold"]
import torch
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pad_sequence

from deepdive.published import load
from deepdive.published.pretrained import minilm, minilm_tokenizer

tokenizer, model = minilm_tokenizer(), load(minilm()).eval()


@torch.no_grad()
def vectors(texts, longest=64):
    """One vector of length 1 for each text, its first tokens."""
    ids = [torch.tensor(tokenizer.encode(t, bos=True, eos=True)[:longest]) for t in texts]
    order, found = sorted(range(len(ids)), key=lambda i: len(ids[i])), torch.empty(len(ids), 384)
    for start in range(0, len(ids), 32):
        some = order[start : start + 32]
        tokens = pad_sequence([ids[i] for i in some], batch_first=True)  # pad = 0
        real = (tokens != 0)[..., None]
        found[some] = normalize((model(tokens, real[..., 0]) * real).sum(1), dim=-1)
    return found


# %% Rows of a table, best first tags=["fold"]
seen = {}  # vectors of a table's rows and of its columns' names


def by_meaning(q):
    """Rows and columns of a table, nearest to the question first."""
    if id(q.table) not in seen:
        lines = [", ".join(map(" ".join, zip(q.table.columns, row, strict=True)))
                 for row in q.table.rows]  # fmt: skip
        seen[id(q.table)] = vectors(lines), vectors([name or "-" for name in q.table.columns])
    ask = vectors([q.text])[0]
    return [(x @ ask).argsort(descending=True).tolist() for x in seen[id(q.table)]]


def chosen(q, rows):
    """The rows of a table in the order in which one would read them."""
    if rows == "minilm":
        return [q.table.rows[i] for i in by_meaning(q)[0]]
    if rows == "first":
        return q.table.rows
    return content_snapshot(q.table, q.text, 1 if rows == "made up" else len(q.table.rows)).rows


# %% Measure tags=["fold"]
from collections import defaultdict


def measure(rows, tables):
    """For each table: its questions, and how many of them have their answer in K rows."""
    counts = defaultdict(lambda: [0] * (2 + len(KS)))
    for q, answer in askable(tables):
        order, count = chosen(q, rows), counts[id(q.table)]
        there = [any(plain(cell) == answer for cell in row) for row in order]
        column = by_meaning(q)[1][0] if rows == "minilm" else 0  # whose name is nearest
        cell = plain(order[0][column]) == answer
        for j, here in enumerate([True, cell, *(any(there[:k]) for k in KS)]):
            count[j] += here
    each = [" ".join(map(str, column)) for column in zip(*counts.values(), strict=True)]
    return {"asked": each[0], "cell": each[1],
            "held": dict(zip(map(str, KS), each[2:], strict=True))}  # fmt: skip


# %% Measure, or show what was measured tags=["fold"]
import json

points = [{"rows": name, "tables": many} for name in ("first", "made up", "overlap")]
points += [{"rows": name, "tables": few} for name in ("overlap", "minilm")]
file = kept("03_bert", "tables")
here = sweep(measure, points, file if profile() == "experiment" else None,
             data="wikitablequestions")  # fmt: skip
there = json.loads(file.read_text())["rows"] if file is not None and file.is_file() else []
there = there if any(row["rows"] == "minilm" for row in there) else here
f"{len(here)} rows here, on {many} and {few} tables; {len(there)} rows were kept"

# %% Predict tags=["fold"]
from deepdive.page.predictions import predict

predict(
    "For K = 1: the made-up row has the best cell of each column. Beside the best whole row, and "
    "beside the first row of the table, unseen: how often does it hold the answer?",
    ["more often than both", "between the two", "less often than both"],
    answer=2,
    explain="The answer is not named in the question. So in its column mostly no cell shares "
    "anything, and the tie goes to the top, to the first row; where one does, it is a stray match.",
    key="03_bert/snapshot-made-up",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# ### What happens: open this once you have predicted

# %% Intervals over tables tags=["fold"]
import numpy as np

from deepdive.evaluate.doubt import Interval


def numbers(line):
    return np.array(line.split(), dtype=float)


def interval(hits, asked):
    """sum(hits) / sum(asked), with the interval over tables drawn with replacement."""
    draws = np.random.default_rng(0).integers(len(hits), size=(2000, len(hits)))
    shares = hits[draws].sum(1) / asked[draws].sum(1)
    low, high = np.quantile(shares, (0.025, 0.975))
    return Interval(hits.sum() / asked.sum(), low, high)


# %% What was found tags=["fold"]
found = {(row["tables"], row["rows"]): row for row in there}
most, least = max(n for n, _ in found), min(n for n, _ in found)


def hits(n, name, what):
    """Answers that are met, table by table; `what` is K, or the cell that is picked."""
    row = found[n, name]
    return numbers(row["cell"] if what == "cell" else row["held"][str(what)])


def told(n, name, what, less=None):
    """The share of the questions on n tables, or by how much it is larger than a rival's."""
    rival = 0 if less is None else hits(n, less, what)
    return interval(hits(n, name, what) - rival, numbers(found[n, name]["asked"]))


# %% The answer among the rows tags=["slide", "surprise"]
from deepdive.page.tables import table

TOLD = {"first": "first rows", "made up": "one made-up row", "overlap": "most n-grams in common",
        "minilm": "nearest for MiniLM"}  # fmt: skip
total = numbers(found[most, "first"]["asked"])
print(f"{total.sum():.0f} questions, {len(total)} tables; 95% intervals over tables")
table(
    [[TOLD[name], *(told(most, name, k) if k == 1 or name != "made up" else None for k in KS)]
     for name in ("first", "made up", "overlap")],
    ["rows", *(f"K = {k}" for k in KS)], formats={f"K = {k}": ".2f" for k in KS},
    caption="share of the questions whose answer is in the rows",
)  # fmt: skip

# %% Differences, on the same questions tags=["slide"]
apart = [("made up", "first", 1), ("overlap", "made up", 1), ("overlap", "first", 1),
         ("overlap", "first", 3), ("overlap", "first", 10)]  # fmt: skip
table(
    [[f"{TOLD[a]}, less {TOLD[b]}", k, told(most, a, k, b)] for a, b, k in apart],
    ["difference", "K", "of the share"],
    formats={"of the share": "+.3f"},
)

# %% Draw it tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive.page.plotting import with_alt

figure = Figure(figsize=(6.2, 3.2))
axes, listing = figure.subplots(), []
for name in ("first", "made up", "overlap"):
    at = KS[:1] if name == "made up" else KS
    line = [told(most, name, k) for k in at]
    ends = [[x.value - x.low for x in line], [x.high - x.value for x in line]]
    axes.errorbar(at, [x.value for x in line], ends, marker="o", capsize=3, label=TOLD[name])
    listing.append(TOLD[name] + ": " + ", ".join(f"{x.value:.0%}" for x in line))
axes.set(xlabel="rows that are read, K", ylabel="answer is in them", ylim=(0, 1), xticks=KS)
axes.legend(loc="lower right")
with_alt(figure, "Share of answers in 1, 3, 5 and 10 rows. " + ". ".join(listing) + ".")

# %% [markdown]
# *These are kept rows, measured once on all questions; the live form measures a few tables with
# the same code.* Words in common are worth something: with one row and with three, the best rows
# hold the answer about ten points more often than the first ones. But half of the answers are not
# in three rows, and the model above never sees them. And the made-up row holds fewer answers than
# the first row of the table, by an interval that excludes zero: it knows which cells the question
# names, and the answer is another one.
#
# In our marathons:
# %% The made-up row tags=["nbval-check-output", "fold"]
(made,) = content_snapshot(GAMES, "who won in Rome ?", 1).rows
assert made == ["1952", "Rome", "Zatopek"]  # ties go to the top: it was Bikila who won in Rome
print(" | ".join(made))

# %% [markdown] tags=["slide"]
# ### A model in the place of counting
#
# N-grams do not know that *victory* and *won* belong together. MiniLM might; it ranks the rows of
# the same tables. And it can pick a single cell: the best row, and in it the column whose name is
# nearest to the question.

# %% Rank by meaning tags=["fold"]
kinds = [(f"K = {k}", k) for k in KS] + [("one cell", "cell")]
total_few = numbers(found[least, "minilm"]["asked"])
print(f"{total_few.sum():.0f} questions, {len(total_few)} tables")
table(
    [[name, told(least, "overlap", k) if k != "cell" else None, told(least, "minilm", k),
      told(least, "minilm", k, "overlap") if k != "cell" else None] for name, k in kinds],
    ["rows", "n-grams", "MiniLM", "MiniLM less n-grams"],
    formats={"n-grams": ".2f", "MiniLM": ".2f", "MiniLM less n-grams": "+.2f"},
)  # fmt: skip

# %% [markdown]
# Counting wins: at each K MiniLM's rows hold the answer less often, by an interval that excludes
# zero. It was trained on sentences, and a row of a table is none; whether that is why was not
# measured.
# A single cell is right far more rarely than its row holds the answer: to find the row is the
# smaller part of the work.

# %% [markdown] tags=["slide"]
# ## Rows that see each other
#
# A line of the snapshot goes through BERT alone: *the largest of the column* cannot be told from
# it. In vertical attention every cell of a column asks the others. Change one cell of the first
# row, and look at the vectors of the third:

# %% What does the third row notice? tags=["nbval-check-output"]
from deepdive.models.bert.tabert import linearised, tabert

torch.manual_seed(0)
sizes = {"vocab_size": 30_522, "d_model": 32, "n_heads": 2, "n_layers": 1, "d_ff": 64}
other = GAMES._replace(rows=[["1952", "Helsinki", "Gorno"], *GAMES.rows[1:]])
for n_vertical in (0, 1):
    reader, states = tabert(**sizes, max_length=64, n_vertical=n_vertical).eval(), []
    for each in (GAMES, other):
        states.append(reader.cells(*linearised("who won in Rome ?", each, tokenizer)))
    same = torch.equal(states[0][:, 2], states[1][:, 2])
    print(f"{n_vertical} layers of vertical attention: the third row is", "as before"
          if same else "another")  # fmt: skip

# %% [markdown] tags=["slide"]
# ## A name is more than its words
#
# LUKE (Yamada et al. 2020) reads a sentence, and behind it the entities that are named in it, each
# a row of its own from a table of entities. Its place is the mean of the places of its words. What
# is new in attention is the query: it has four matrices, for *who asks whom*.
#
# $$s_{ij} = \frac{(W_{\text{kind}(i)\,\text{kind}(j)}\, x_i) \cdot (K x_j)}{\sqrt d} \qquad
# \text{kind} \in \{\text{word}, \text{entity}\}$$
#
# A small one is trained on generated sentences: *Ann taught Ben*, *Ann was taught by Ben*, with up
# to three words before. Two entities stand behind the words, both masked, so that each knows only
# where it is named. The question: is the first of them the teacher? Nothing but the words between
# the names can tell.

# %% Train a small LUKE tags=["fold"]
import random

from deepdive.models.bert.entities import mentions_of
from deepdive.models.bert.luke import TINY, EntityClassifier, luke

NAMES, LEAD = ["Ann", "Ben", "Eve", "Tom", "Mia", "Leo"], ["well", "so", "then"]
VOCAB = ["<s>", "<pad>", "</s>", *NAMES, *LEAD, "taught", "was", "by"]


def lesson(draw):
    """Words, and the places of both names; the first one taught unless `was` stands there."""
    lead, (a, b) = draw.choices(LEAD, k=draw.randrange(4)), draw.sample(NAMES, 2)
    middle = draw.choice([["taught"], ["was", "taught", "by"]])
    said = ["<s>", *lead, a, *middle, b, "</s>"]
    first = 1 + len(lead)
    places = [first, first + 1 + len(middle)]
    return said, places, 0 if len(middle) == 1 else 1  # which of the two is the teacher


# %% Batches of sentences tags=["fold"]
def batch(n, seed):
    """Tokens, entities, mentions, real tokens and classes: is the first entity the teacher?"""
    draw, T = random.Random(seed), 10
    lessons = [lesson(draw) for _ in range(n)]
    tokens = torch.tensor([[*map(VOCAB.index, s), *[1] * (T - len(s))] for s, _, _ in lessons])
    turned = [draw.randrange(2) for _ in lessons]  # which name is asked about
    spans = torch.tensor([[[p[t], p[t] + 1], [p[1 - t], p[1 - t] + 1]]
                          for t, (_, p, _) in zip(turned, lessons, strict=True)])  # fmt: skip
    labels = torch.tensor([int(t == who) for t, (_, _, who) in zip(turned, lessons, strict=True)])
    return tokens, torch.full((n, 2), 2), mentions_of(spans, T), tokens != 1, labels


# %% Four matrices, or one tags=["fold"]
def trained(four, seed, steps):
    """A classifier of entities; with one matrix, all four are the same."""
    torch.manual_seed(seed)
    encoder = luke(TINY, vocab_size=len(VOCAB), d_model=32, n_heads=2, n_layers=2, d_ff=64,
                   max_length=12, n_entities=3, d_entity=8, dropout=0.0)  # fmt: skip
    if not four:
        for block in encoder.stack.blocks:
            block.attn.w2e = block.attn.e2w = block.attn.e2e = block.attn.q
    classifier = EntityClassifier(encoder, 32, 2, dropout=0.0)
    adam = torch.optim.Adam(classifier.parameters(), lr=3e-3)
    for step in range(steps):
        *given, labels = batch(32, f"{seed} {step}")
        loss = torch.nn.functional.cross_entropy(classifier(*given), labels)
        adam.zero_grad()
        loss.backward()
        adam.step()
    *given, labels = batch(500, "test")
    right = (classifier.eval()(*given).argmax(-1) == labels).float().mean().item()
    return classifier, right


# %% Train both tags=["fold"]
steps = pick(ci=40, laptop=80, gpu=400)
seeds = range(pick(ci=1, laptop=3, gpu=3))
runs = {four: [trained(four, seed, steps) for seed in seeds] for four in (True, False)}
for four, made in runs.items():
    print("four matrices:" if four else "one matrix:   ", *(f"{right:.1%}" for _, right in made))

# %% Whom do the entities ask? tags=["slide", "fold"]
from deepdive.inspect import record
from deepdive.page.plotting import heads

classifier = runs[True][0][0]
said, places, teacher = ["<s>", "so", "Ann", "was", "taught", "by", "Ben", "</s>"], [2, 6], 1
tokens = torch.tensor([list(map(VOCAB.index, said))])
spans = torch.tensor([[[p, p + 1] for p in places]])
with record(classifier, "*.weights") as maps, torch.no_grad():
    logits = classifier(tokens, torch.full((1, 2), 2), mentions_of(spans, len(said)))
rows = torch.cat([maps[name][0][0, :, len(said) :] for name in sorted(maps)])  # (4, 2, T + 2)
names = [f"{layer}-{head}" for layer in (1, 2) for head in (0, 1)]
asks = [said[p] for p in places]
print("Is Ann the teacher?", "yes" if logits.argmax() else "no")
heads(
    rows,
    [f"[{name}]" for name in asks],
    [*said, *(f"[{name}]" for name in asks)],
    names=names,
    alt="Four maps: what the rows of the entities Ann and Ben attend to in " + " ".join(said),
)

# %% [markdown]
# *Each row is the entity of one name, each column a word or an entity that is asked; a full cell is
# a large weight.* The voices differ in *was*, in *by*, and in how far apart the names are. The
# shares above are those of new sentences, one for each seed. With one matrix for all four kinds two
# seeds of three find it as well, so four are not needed here; three seeds do not tell whether they
# help.

# %% [markdown] tags=["slide"]
# ## Whole numbers only
#
# I-BERT (Kim et al. 2021) computes with integers alone. A tensor becomes $q S$: whole numbers $q$
# of 8 bits, from $-127$ to $127$, and one scale $S$, the largest absolute value over 127. GELU, the
# softmax and the root in the norm are no sums and products; they are replaced by polynomials of
# degree two, and by Newton's method.
#
# ### By hand: one large number
#
# Let $q$ run from $-3$ to $3$, and the numbers be 1, 2, 3. The scale is $3/3 = 1$, and nothing is
# lost. Now a 12 joins them. The scale is $12/3 = 4$: 1 becomes $0.25$, rounded 0; 2 becomes $0.5$,
# rounded 0 (to the even number); 3 becomes $0.75$, rounded 1, which is 4. Of 1, 2, 3 are left 0, 0,
# 4. One number has cost the others what made them different.

# %% Check the pencil tags=["nbval-check-output", "fold"]
from deepdive.layers.integers import quantised, scale_of

for given in ([1.0, 2, 3], [1.0, 2, 3, 12]):
    x = torch.tensor(given, dtype=torch.float64)
    print(given, "->", quantised(x, scale_of(x.max(), 3), 3).value.tolist())

# %% [markdown] tags=["slide"]
# ### Where does the error enter?
#
# MiniLM was trained in floats, and knows nothing of integers. One kind of operation after the other
# is replaced in it, and only that one; the states of new sentences are compared with those of
# floats. The ranges are measured beforehand, on other sentences.

# %% Sentences of one length tags=["fold"]
from deepdive.data.tree_grammar import tree_sentences
from deepdive.data.trees import treebank
from deepdive.models.bert.ibert import calibrated, observed

T = pick(ci=8, laptop=16, gpu=16)


def sentences(part, n, seed):
    """n sentences of T pieces, cut where they are longer, (n, T)."""
    trees = tree_sentences(20 * n, seed=seed) if profile() == "ci" else treebank(part)[: 8 * n]
    ids = (tokenizer.encode(" ".join(tree.words)) for tree in trees)
    long = [[tokenizer.bos, *each[: T - 2], tokenizer.eos] for each in ids if len(each) >= T - 2]
    return torch.tensor(long[:n])


ranges = calibrated(model, sentences("train", pick(ci=16, laptop=64, gpu=64), 0).split(8))
new = sentences("test", pick(ci=8, laptop=32, gpu=32), 1)
with torch.no_grad():
    floats = model(new)
f"{len(new)} sentences of {T} pieces"

# %% Predict what costs most tags=["fold"]
predict(
    "In whole numbers: which kind of operation, replaced alone, takes MiniLM's states farthest "
    "from those of floats?",
    ["GELU, a polynomial of degree two", "softmax, another polynomial",
     "the matrices: weights and what they multiply in 8 bits"],
    answer=2,
    explain="The polynomials are close to their functions everywhere. Rounding to 8 bits costs "
    "more, because one scale must suit all columns of a state.",
    key="03_bert/integers-where",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# ### What happens: open this once you have predicted

# %% One kind at a time tags=["slide", "surprise"]
import copy

from deepdive.evaluate.doubt import bootstrap
from deepdive.models.bert.ibert_errors import KINDS


@torch.no_grad()
def lost(changed):
    """|y - float|^2 / |float|^2 for each sentence, y the states."""
    return ((changed(new) - floats) ** 2).sum((1, 2)) / (floats**2).sum((1, 2))


costs = {}
for kind, put in KINDS.items():
    changed = copy.deepcopy(model)
    put(changed, ranges)
    costs[kind] = bootstrap(lost(changed))
table(
    [[kind, cost] for kind, cost in costs.items()],
    ["in whole numbers", "lost"],
    formats={"lost": ".2%"},
    caption="squared error over squared length of the states, 95% intervals over sentences",
)

# %% [markdown]
# The two polynomials, for which I-BERT is known, cost little: together less than a tenth of what
# the matrices cost. The matrices and the norms both round whole states to 8 bits. Is it the
# weights that suffer, or what enters them?

# %% Weights, or what they multiply? tags=["fold"]
reach = {}  # for each matrix the largest of what enters, column by column


def see(name, x):
    largest = x.abs().amax((0, 1))
    reach[name] = torch.maximum(reach.get(name, largest), largest)


with observed(model, see), torch.no_grad():
    model(sentences("train", pick(ci=16, laptop=64, gpu=64), 0))


# %% Eight bits, in three ways tags=["fold"]
def rounded(mode):
    """MiniLM with 8 bits in its weights, or in what enters them with one or many scales."""
    changed = copy.deepcopy(model).requires_grad_(False)
    for name, part in changed.named_modules():
        if isinstance(part, torch.nn.Linear):
            each = reach[f"{name}.in"]
            steps = {"weights": part.weight.abs().amax(1, keepdim=True), "one": each.max(),
                     "many": each}[mode] / 127  # fmt: skip
            if mode == "weights":
                part.weight.copy_((part.weight / steps).round() * steps)
            else:
                part.register_forward_pre_hook(lambda _, given, steps=steps: (
                    (given[0] / steps).round().clamp(-127, 127) * steps,))  # fmt: skip
    return changed


# %% Find the cause tags=["slide"]
WHAT = {"weights": "the weights, a scale for each output", "one": "what enters, one scale",
        "many": "what enters, a scale for each column"}  # fmt: skip
causes = {mode: bootstrap(lost(rounded(mode))) for mode in WHAT}
table([[WHAT[mode], cost] for mode, cost in causes.items()], ["8 bits for", "lost"],
      formats={"lost": ".3%"})  # fmt: skip

# %% Draw the columns tags=["slide", "fold"]
columns = reach["stack.blocks.0.ff.inner.in"]
far, usual = columns.max().item(), columns.median().item()
figure = Figure(figsize=(6.2, 2.6))
axes = figure.subplots()
axes.vlines(range(len(columns)), 0, columns, linewidth=1)
axes.set(xlabel="column of the state", ylabel="largest |x|", ylim=(0, None))
print(
    f"the largest reaches {far:.1f}, the median {usual:.2f}: {127 * usual / far:.0f} of 127 steps"
)
with_alt(figure, f"What enters layer 1's feed-forward part, by column: one bar reaches {far:.0f}, "
         f"most about {usual:.1f}.")  # fmt: skip

# %% [markdown]
# The weights cost next to nothing. What enters costs nearly all, and with a scale for each column
# about a sixth of that: so it is not 8 bits as such, but one scale for columns that reach so
# differently. The bar that stands alone is MiniLM's *12*, and the usual column has 8 of 127 steps.
# I-BERT is trained further after it was rounded, which may mend some of this; MiniLM was not. All
# kinds at once cannot be had from it: the library refuses, since one scale that enters layer 1's
# GELU is too coarse for the polynomial.

# %% [markdown] tags=["aside"]
# ## Common mistake: to judge a reader by what it was never shown
#
# A table model answers wrongly, and its attention is blamed. **Symptom:** it fails on long tables,
# and on questions whose words do not stand in the row of the answer. **Fix:** first count how often
# the answer is in what the model was given; no head can do better than that.

# %% [markdown] tags=["aside"]
# ## In practice
#
# - Measure the ceiling of every choice that is made before the model: rows, passages, cut texts.
# - Resample tables, not questions: five questions on one table are not five tables.
# - Before you quantise, print the largest absolute value of each column; look for one that stands
#   alone.
# - An entity's row costs one token. Without a table of entities that fits your names, it is a mask
#   with a place, as here.

# %% [markdown] tags=["aside"]
# ## Five questions
#
# Answer each in a sentence, then open.
#
# 1. Why does TaBERT choose rows at all?
#
#    <details><summary>Answer</summary>
#
#    A table with all its rows is longer than what BERT reads.
#
#    </details>
# 2. Why does the made-up row often repeat the first row?
#
#    <details><summary>Answer</summary>
#
#    Where no cell of a column shares anything with the question, all are equal, and the tie goes to
#    the top.
#
#    </details>
# 3. What can vertical attention tell that BERT on each line cannot?
#
#    <details><summary>Answer</summary>
#
#    Whatever compares rows: the largest, the next, how many.
#
#    </details>
# 4. When are LUKE's four matrices no more than RoBERTa's one?
#
#    <details><summary>Answer</summary>
#
#    When they are equal, or when there are no entities.
#
#    </details>
# 5. Why does one large number in a tensor hurt the small ones?
#
#    <details><summary>Answer</summary>
#
#    The scale is the largest over 127; what is small beside it falls on few of the steps.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(pencil, 3 min)* How many n-grams up to three words has a question of 8 words, all different?
#
#    <details><summary>Answer</summary>
#
#    $8 + 7 + 6 = 21$.
#
#    </details>
# 2. *(pencil, 3 min)* Let $q$ run from $-3$ to $3$ again, and give each of the columns $(1, 2, 3)$
#    and $(12, 8, 4)$ a scale of its own. What is left of them?
#
#    <details><summary>Answer</summary>
#
#    Scales 1 and 4: all six numbers are kept exactly.
#
#    </details>
# 3. *(code, 10 min)* Let the made-up row take, in a column without any match, the cell of the row
#    of most overlap. How often does it hold the answer now?
#
#    <details><summary>Answer</summary>
#
#    Begin with `content_snapshot(table, question, len(rows))`, and let ties go to its order; then
#    give `measure` a fifth rival.
#
#    </details>

# %% Answers 1 and 2, checked tags=["fold"]
assert 8 + 7 + 6 == 21
for given in ([1.0, 2, 3], [12.0, 8, 4]):
    x = torch.tensor(given, dtype=torch.float64)
    assert quantised(x, scale_of(x.max(), 3), 3).value.tolist() == given
print("answers 1 and 2 hold")

# %% [markdown] tags=["slide"]
# ## In three sentences
#
# A table needs a choice before reading, and attention down its columns. An entity needs a row with
# a place, and may have queries of its own; integers need polynomials, and scales that fit. What is
# lost is lost at the border, where a table becomes lines or a float becomes eight bits.
#
# So the answer about Crettyard may never reach the model: of the questions whose answer is a cell,
# the three rows of TaBERT's snapshot hold it for about half, and a made-up single row for fewer
# than one in five.
#
# ## Further reading
#
# - Yin et al. (2020), *TaBERT*: section 3.1 for the snapshot, and table 1 for K = 1 beside K = 3.
# - Pasupat and Liang (2015), *Compositional Semantic Parsing on Semi-Structured Tables*: where the
#   questions come from.
# - Yamada et al. (2020), *LUKE*: section 3.2, the four matrices.
# - Kim et al. (2021), *I-BERT*: section 3, the polynomials.
#
# <small>In the printed book that these pages accompany: section 3.3.1, TaBERT.</small>
