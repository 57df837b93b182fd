# %% [markdown] tags=["slide"]
# # LUKE, TaBERT, I-BERT: entities, tables, integer arithmetic
#
# *Which team won previous to Crettyard?* somebody asked of a table of Irish clubs in Wikipedia.
# TaBERT does not read tables whole: it chooses three rows, and looks for the answer there. How
# often is it in them, and can a model learn to point at it?
#
# <small>Prerequisites: [BERT's architecture](02_architecture.ipynb),
# [real weights](06_weights.ipynb) · 20 min · runs on a laptop · book 3.3.1; LUKE and I-BERT from
# the list of models in the transformers library</small>

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
# %% The table that was asked about tags=["fold"]
from deepdive.data.table_text import content_snapshot, overlap, words
from deepdive.data.wikitables import table as tabled
from deepdive_book.kit.diagrams import svg, text
from deepdive_book.kit.frame_strip import film
from deepdive_book.kit.palette import ROLES

CLUBS = tabled(["Team", "County", "Wins", "Years won"], [  # from WikiTableQuestions, CC BY-SA 4.0
    ["Greystones", "Wicklow", "1", "2011"], ["Ballymore Eustace", "Kildare", "1", "2010"],
    ["Maynooth", "Kildare", "1", "2009"], ["Ballyroan Abbey", "Laois", "1", "2008"],
    ["Fingal Ravens", "Dublin", "1", "2007"], ["Confey", "Kildare", "1", "2006"],
    ["Crettyard", "Laois", "1", "2005"], ["Wolfe Tones", "Meath", "1", "2004"],
    ["Dundalk Gaels", "Louth", "1", "2003"],
])  # fmt: skip
ASKED = "which team won previous to crettyard?"


# %% Draw the rows that are read tags=["slide", "fold"]
def drawn(read, counted=True):
    """The table, with the rows that are read in colour, and what each shares with the question."""
    ends = [(70, CLUBS.columns[0]), (185, CLUBS.columns[1]), (262, "Won"), (325, "shared")]
    body = [text(x, 16, name, 14, "key") for x, name in ends[: 4 if counted else 3]]
    for i, row in enumerate(CLUBS.rows):
        y, fill = 40 + 24 * i, ROLES["value"] if row in read else "none"
        shared = round(15 * overlap(ASKED, " ".join(row)))
        body.append(f'<rect x="2" y="{y - 12}" width="356" height="23" fill="{fill}" '
                    'fill-opacity="0.25" stroke="#888"/>')  # fmt: skip
        cells = [row[0], row[1], row[3], f"{shared} of 15"][: 4 if counted else 3]
        body += [text(x, y, cell, 13) for (x, _), cell in zip(ends, cells, strict=False)]
    return svg(360, 246, body)


best = content_snapshot(CLUBS, ASKED, 3).rows
film([drawn([], False), drawn([]), drawn(best[:1]), drawn(best)],
     ["the table", "n-grams shared with the question", "the best row", "three rows: K = 3"],
     f"A table of nine clubs. One row, Crettyard, shares an n-gram with the question, {ASKED} It "
     "is chosen, and with it the two rows at the top.")  # fmt: skip

# %% [markdown]
# *Step through the film. Only the row of Crettyard shares a word with the question; all others tie,
# and the tie goes to the top of the table. The coloured rows are read. The answer is* Wolfe Tones,
# *of 2004, and is not among them.*
#
# BERT reads a line of words, from one vocabulary, and computes with floats. Three descendants give
# up one each: TaBERT reads **tables**, which are no line; LUKE reads **names** as units beside
# words; I-BERT computes with **integers**. What had to change, and where does it cost something?

# %% [markdown] tags=["slide"]
# ## A table is no line
#
# A table of 30 rows and 6 columns has 180 cells, some 1,500 tokens with their names: BERT reads 512
# at most. TaBERT (Yin et al. 2020) therefore
#
# 1. chooses $K$ rows, the **content snapshot**: those that share most n-grams with the question,
#    which are its words, pairs and triples of neighbors;
# 2. writes each as a line after the question, `name | type | cell [SEP]` for each column, where the
#    type is `text`, or `real` for numbers;
# 3. reads each line with BERT; a cell's vector is the mean of the output vectors of its tokens;
# 4. joins the rows by **vertical attention**: the vectors of one column attend to each other.
#
# The snapshot is made before the model sees anything. What it leaves out is lost for good.
#
# ### By hand: which row first?
#
# *which team won previous to crettyard* has 6 words, 5 pairs and 4 triples: 15 n-grams. The row of
# Crettyard shares one: 1/15. *when did Wolfe Tones win* has $5 + 4 + 3 = 12$, and the row of 2004
# shares *wolfe*, *tones* and *wolfe tones*: 3/12. A pair counts beside its words, so a name of two
# words counts three times.
#
# For $K = 1$ the paper does something else. One row would show one cell of each column, and perhaps
# not the one that matters, so a row is **made up**: of each column the cell that shares most with
# the question. Asked for the team before Crettyard, it is `Crettyard | Wicklow | 1 | 2011`: the
# club of one row, and where it matches nothing, the county and the year of the first.

# %% Check the pencil tags=["nbval-check-output", "fold"]
crettyard = [overlap(ASKED, " ".join(row)) for row in CLUBS.rows]
wolfe = [overlap("when did Wolfe Tones win", " ".join(row)) for row in CLUBS.rows]
assert crettyard == [0, 0, 0, 0, 0, 0, 1 / 15, 0, 0]
assert wolfe == [0, 0, 0, 0, 0, 0, 0, 3 / 12, 0]
(made,) = content_snapshot(CLUBS, ASKED, 1).rows
assert made == ["Crettyard", "Wicklow", "1", "2011"]
print("the pencil was right")

# %% [markdown] tags=["slide"]
# ## How often does the snapshot hold the answer?
#
# WikiTableQuestions has questions that people asked of tables from Wikipedia. We take those that
# have one answer, which is a cell of the table and is not named in the question; other answers must
# be counted or computed. A snapshot holds the answer if one of its cells is equal to it. The rows
# of most n-grams in common have two rivals: the **first** rows of the table, chosen blindly, and
# below the rows nearest to the question for **MiniLM**, a BERT trained to compare sentences.

# %% The questions tags=["fold"]
from functools import cache

from deepdive.data.wikitables import generated_table_questions, table_questions
from deepdive_book.kit.experiments import results_path, sweep
from deepdive_book.kit.profile import pick, profile

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
known = {}  # vectors of a table's rows and of its columns' names


def by_meaning(q):
    """Rows and columns of a table, nearest to the question first."""
    if id(q.table) not in known:
        lines = [", ".join(map(" ".join, zip(q.table.columns, row, strict=True)))
                 for row in q.table.rows]  # fmt: skip
        known[id(q.table)] = vectors(lines), vectors([name or "-" for name in q.table.columns])
    ask = vectors([q.text])[0]
    return [(x @ ask).argsort(descending=True).tolist() for x in known[id(q.table)]]


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

few = pick(ci=12, laptop=12, gpu=346, experiment=346)
many = pick(ci=40, laptop=40, gpu=346, experiment=346)
points = [{"rows": name, "tables": many} for name in ("first", "made up", "overlap")]
points += [{"rows": name, "tables": few} for name in ("overlap", "minilm")]
file = results_path("03_bert", "tables")
here = sweep(measure, points, file if profile() == "experiment" else None,
             data="wikitablequestions")  # fmt: skip
there = json.loads(file.read_text())["rows"] if file is not None and file.is_file() else []
there = there if any(row["rows"] == "minilm" for row in there) else here
# %% What was found, with intervals over tables tags=["fold"]
import numpy as np

from deepdive.evaluate.confidence_intervals import Interval


def numbers(line):
    return np.array(line.split(), dtype=float)


def interval(hits, asked):
    """sum(hits) / sum(asked), with the interval over tables drawn with replacement."""
    draws = np.random.default_rng(0).integers(len(hits), size=(2000, len(hits)))
    shares = hits[draws].sum(1) / asked[draws].sum(1)
    low, high = np.quantile(shares, (0.025, 0.975))
    return Interval(hits.sum() / asked.sum(), low, high)


found = {(row["tables"], row["rows"]): row for row in there}
most, least = max(n for n, _ in found), min(n for n, _ in found)


def hits(n, name, what):
    """Answers that are met, table by table; `what` is K, or the cell that is picked."""
    row = found[n, name]
    return numbers(row["cell"] if what == "cell" else row["held"][str(what)])

# %% Shares and differences tags=["fold"]
def told(n, name, what, less=None):
    """The share of the questions on n tables, or by how much it is larger than a rival's."""
    rival = 0 if less is None else hits(n, less, what)
    return interval(hits(n, name, what) - rival, numbers(found[n, name]["asked"]))


# %% The answer among the rows tags=["slide"]
from deepdive_book.kit.tables import table

TOLD = {"first": "the first", "overlap": "most n-grams", "made up": "made up"}
total = numbers(found[most, "first"]["asked"])
measured = "kept: measured once on all" if len(total) > many else "measured here on"
table(
    [[f"{k}", *(told(most, name, k) for name in ("first", "overlap"))] for k in KS],
    ["rows read, K", *(TOLD[name] for name in ("first", "overlap"))],
    formats=dict.fromkeys([TOLD["first"], TOLD["overlap"]], ".2f"),
    caption="share of the questions whose answer is in the rows, 95 % intervals over tables "
    f"({measured} {len(total)} tables, {total.sum():.0f} questions)",
)  # fmt: skip

# %% Draw it tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(5.0, 3.0))
axes, listing = figure.subplots(), []
for name in ("first", "overlap"):
    line = [told(most, name, k) for k in KS]
    ends = [[x.value - x.low for x in line], [x.high - x.value for x in line]]
    axes.errorbar(KS, [x.value for x in line], ends, marker="o", capsize=3, label=TOLD[name])
    listing.append(TOLD[name] + ": " + ", ".join(f"{x.value:.0%}" for x in line))
axes.set(xlabel="rows that are read, K", ylabel="answer is in them", ylim=(0, 1), xticks=KS)
axes.legend(loc="lower right")
with_alt(figure, "Share of answers in 1, 3, 5 and 10 rows. " + ". ".join(listing) + ".")

# %% [markdown]
# *The upper line chooses rows by shared n-grams.* Words in common are worth something: with one row
# and with three, the best rows hold the answer about ten points more often than the first ones. But
# half of the answers are not in three rows.

# %% Predict tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "For K = 1 the made-up row has the best cell of each column. How often does it hold the "
    "answer, compared with the best whole row, and with the first row of the table, taken blindly?",
    ["more often than both", "between the two", "less often than both"],
    answer=2,
    explain="The answer is not named in the question. So in its column mostly no cell shares "
    "anything, and the tie goes to the top, to the first row; where one does, it is a stray match.",
    key="03_bert/snapshot-made-up",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# ### Answer: open after you predict

# %% Differences, on the same questions tags=["slide", "surprise", "fold"]
apart = [("made up", "first", 1), ("made up", "overlap", 1), ("overlap", "first", 1),
         ("overlap", "first", 3)]  # fmt: skip
table(
    [[f"{TOLD[a]}, less {TOLD[b]}", f"{k}", told(most, a, k, b)] for a, b, k in apart],
    ["rows", "K", "difference"],
    formats={"difference": "+.3f"},
    caption=f"the made-up row holds {told(most, 'made up', 1).value:.2f} of the answers",
)

# %% [markdown]
# The made-up row holds fewer answers than the first row of the table, by an interval that excludes
# zero. It collects the cells that the question names, and the answer is a cell that it does not
# name.

# %% [markdown] tags=["slide"]
# ### A model in the place of counting
#
# N-grams do not know that *victory* and *won* belong together. MiniLM might; it ranks the rows of
# the same tables.

# %% Rank by meaning tags=["fold"]
total_few = numbers(found[least, "minilm"]["asked"])
table(
    [[f"{k}", told(least, "overlap", k).value, told(least, "minilm", k).value,
      told(least, "minilm", k, "overlap")] for k in KS],
    ["K", "n-grams", "MiniLM", "difference"],
    formats={"n-grams": ".2f", "MiniLM": ".2f", "difference": "+.2f"},
    caption=f"the answer is in the rows: {total_few.sum():.0f} questions, {len(total_few)} tables",
)  # fmt: skip

# %% [markdown]
# Counting wins: at each K MiniLM's rows hold the answer less often, by an interval that excludes
# zero. It was trained on sentences, and a row of a table is none; whether that is why was not
# measured.

# %% [markdown] tags=["slide"]
# ## Rows that see each other
#
# A line of the snapshot goes through BERT alone: *the largest of the column* cannot be told from
# it. In vertical attention every cell of a column asks the others. Below, one cell of the first row
# is changed. Are the vectors of the third row as before?

# %% What does the third row notice? tags=["nbval-check-output"]
from deepdive.data.table_text import linearized
from deepdive.models.bert.tabert import tabert

torch.manual_seed(0)
sizes = {"vocab_size": 30_522, "d_model": 32, "n_heads": 2, "n_layers": 1, "d_ff": 64}
three = CLUBS._replace(rows=CLUBS.rows[:3])
other = three._replace(rows=[["Greystones", "Dublin", "1", "2011"], *three.rows[1:]])
for n_vertical in (0, 1):
    reader, states = tabert(**sizes, max_length=64, n_vertical=n_vertical).eval(), []
    for each in (three, other):
        states.append(reader.cells(*linearized(ASKED, each, tokenizer)))
    same = torch.equal(states[0][:, 2], states[1][:, 2])
    print(f"vertical layers: {n_vertical}, third row:", "as before" if same else "changed")

# %% [markdown] tags=["slide"]
# ### Can it learn to point at the cell?
#
# A small TaBERT is trained to. MiniLM reads each row of the snapshot with the question, and stays
# as it is. Its vectors of cells, with five counts of shared n-grams beside each, go through one
# layer along the row and one down the columns, 64 wide. The score of a cell is a product with the
# vector of the question, and the largest of the snapshot is picked.
#
# We take questions whose answer is exactly one cell that they do not name. The set's training part
# teaches: 5,002 such questions, of which 2,271 have their answer in three rows and can be used. Its
# development part, which has other tables, is asked: 1,170 questions. Where the answer is not in
# the snapshot, whatever is picked counts as wrong.

# %% Questions whose answer is one cell tags=["fold"]
from deepdive.models.bert.tabert_cells import CellPicker, batched, read

SOME = None if profile() == "experiment" else 60  # questions of each part in the live form


def where(rows, answer):
    """Row and column of the answer, None where it does not stand."""
    return next(((r, c) for r, row in enumerate(rows) for c, cell in enumerate(row)
                 if plain(cell) == answer), None)  # fmt: skip

# %% Questions of each part tags=["fold"]
@cache
def one_cell(part, some=SOME):
    """Questions of "train" or "dev" that one cell answers, which they do not name; answers."""
    if profile() == "ci":
        given = generated_table_questions(some, seed=["train", "dev"].index(part))
    else:
        given = table_questions(part)
    found = []
    for q in given:
        answer = plain(q.answers[0])
        cells = [plain(cell) for row in q.table.rows for cell in row]
        named = f" {answer} " in f" {plain(q.text)} "
        if len(q.answers) == 1 and answer and not named and cells.count(answer) == 1:
            found.append((q, answer))
        if len(found) == some:
            break
    return found


# %% Read the snapshots tags=["fold"]
@cache
def snapshot(part, number, k):
    """Of a question its snapshot, and where in it the answer stands."""
    q, answer = one_cell(part)[number]
    chosen = content_snapshot(q.table, q.text, k)
    return chosen, where(chosen.rows, answer)


@cache
def seen(part, number, k):
    """What MiniLM and counting say of the question and its cells, (R, 1 + C, 384 + 5)."""
    q, _ = one_cell(part)[number]
    return read(model, tokenizer, q.text, snapshot(part, number, k)[0]).half()


def examples(part, k):
    """For each table (what is read, where the answer stands) of questions that can be answered."""
    tables = defaultdict(list)
    for number, (q, _) in enumerate(one_cell(part)):
        if (at := snapshot(part, number, k)[1]) is not None:
            tables[id(q.table)].append((seen(part, number, k), at))
    return tables

# %% In batches tags=["fold"]
def batches_of(some, size=64):
    """Rows, real slots and the number of the right cell, padded."""
    for i in range(0, len(some), size):
        rows, real = batched([x for x, _ in some[i : i + size]])
        at = [r * (rows.shape[2] - 1) + c for _, (r, c) in some[i : i + size]]
        yield rows, real, torch.tensor(at)


# %% Train a picker tags=["fold"]
import copy
import random

from torch.nn.functional import cross_entropy

HOW = {"down": {}, "along": {"down": False}, "linear": {"n_along": 0, "n_down": 0}}

# %% Stop in time tags=["fold"]
def picker(how, k, seed, rate, epochs):
    """The loss on every eighth table, which teaches nothing, and the picker where it is least."""
    tables = examples("train", k).values()
    teach, held = (
        [x for i, some in enumerate(tables) if (i % 8 == 0) is out for x in some]
        for out in (False, True)
    )
    torch.manual_seed(seed)
    draw, best = random.Random(seed), (float("inf"), None, 0)
    made = CellPicker(teach[0][0].shape[-1], **HOW[how])
    adam = torch.optim.AdamW(made.parameters(), lr=rate, weight_decay=0.05)
    for epoch in range(epochs):
        for x, real, at in batches_of(draw.sample(teach, len(teach))):
            adam.zero_grad()
            cross_entropy(made(x, real).flatten(1), at).backward()
            torch.nn.utils.clip_grad_norm_(made.parameters(), 1.0)
            adam.step()
        if (loss := asked_of(made, held)[0]) < best[0]:
            best = loss, copy.deepcopy(made), epoch
        elif epoch - best[2] == 4:
            break
    return best[:2]


# %% Ask a picker tags=["fold"]
@torch.no_grad()
def asked_of(made, some):
    """Mean loss of a picker, and for each example whether the right cell is picked."""
    made.eval()
    loss, right = 0.0, []
    for x, real, at in batches_of(some):
        scores = made(x, real).flatten(1)
        loss += cross_entropy(scores, at, reduction="sum").item()
        right += (scores.argmax(1) == at).tolist()
    made.train()
    return loss / len(some), right


@torch.no_grad()
def shares_of(made, number):
    """The probability of each cell of three rows, for question `number`."""
    scores = made.eval()(*batched([seen("dev", number, 3)]))[0]
    shares = scores.flatten().softmax(0).view(scores.shape)
    return [[round(share, 3) for share in row] for row in shares.tolist()]


# %% Pick without training tags=["fold"]
def unnamed(q, row):
    """Columns whose cell shares nothing with the question; all, where each one does."""
    return [c for c, cell in enumerate(row) if not overlap(q.text, cell)] or list(range(len(row)))


def by_counting(q):
    """The row of most n-grams in common; its cell whose column's name has most of them."""
    row = content_snapshot(q.table, q.text, 2).rows[0]
    return row[max(unnamed(q, row), key=lambda c: overlap(q.text, q.table.columns[c]))]


def shown():
    """Numbers of eight questions to look at: Crettyard's, and of small tables one each, by lot."""
    small = {}
    for number, (q, _) in enumerate(one_cell("dev")):
        cells = [*q.table.columns, *(cell for row in q.table.rows for cell in row)]
        if len(q.table.rows) < 10 and len(q.table.columns) < 6 and max(map(len, cells)) < 26:
            small.setdefault(id(q.table), []).append(number)
    first = [n for n, (q, _) in enumerate(one_cell("dev")) if q.text == ASKED]
    rest = [some[0] for some in small.values() if not set(some) & set(first)]
    return first + random.Random(1).sample(rest, min(7, len(rest)))


# %% Measure each way of picking tags=["fold"]
def pointed(how, k, seed):
    """For each table: its questions, how many could be answered, and how many are."""
    asked, right, could = ({id(q.table): 0 for q, _ in one_cell("dev")} for _ in range(3))
    for q, answer in one_cell("dev"):
        asked[id(q.table)] += 1
        if how == "counting":
            right[id(q.table)] += plain(by_counting(q)) == answer
    more = {}
    if how in HOW:
        epochs = 30 if profile() == "experiment" else 3
        runs = [picker(how, k, seed, rate, epochs) for rate in (1e-3, 3e-3)]
        made = min(runs, key=lambda one: one[0])[1]
        for name, some in examples("dev", k).items():
            could[name], right[name] = len(some), sum(asked_of(made, some)[1])
        usable = sum(map(len, examples("train", k).values()))
        more = {"losses": [round(one[0], 3) for one in runs], "usable": usable,
                "taught_by": len(one_cell("train"))}  # fmt: skip
        if (how, k, seed) == ("down", 3, 1):
            more["shown"] = [[n, shares_of(made, n)] for n in shown()]
    told = {"asked": asked, "could": could, "right": right}
    return {key: " ".join(map(str, values.values())) for key, values in told.items()} | more


# %% Measure, or show what was kept tags=["fold"]
trained = [("down", 3), ("along", 3), ("linear", 3), ("down", 1)]
ways = [("counting", 0, 0), *((*one, seed) for seed in (1, 2, 3) for one in trained)]
ways = ways if profile() == "experiment" else [("counting", 0, 0), ("down", 3, 1)]
file = results_path("03_bert", "pointing")
live = sweep(pointed, [dict(zip(("how", "k", "seed"), way, strict=True)) for way in ways],
             file if profile() == "experiment" else None,
             data="generated" if profile() == "ci" else "wikitablequestions")  # fmt: skip
pointing = json.loads(file.read_text())["rows"] if file and file.is_file() else live
pointing = live if profile() == "ci" else pointing

# %% Look at what it picks tags=["slide", "fold"]
from deepdive_book.ch03.figures.table_qa_cells import Asked, table_qa_cells


def looked_at(number, shares):
    """A question of the development part, with the shares of the cells that are read."""
    q, answer = one_cell("dev", SOME if profile() == "ci" else None)[number]
    read_rows = content_snapshot(q.table, q.text, 3).rows
    by_row = {id(row): share for row, share in zip(read_rows, shares, strict=True)}
    shares = [by_row.get(id(row)) for row in q.table.rows]
    return Asked(q.text, q.table.columns, q.table.rows, shares, where(q.table.rows, answer))


table_qa_cells([looked_at(*one) for row in pointing for one in row.get("shown", [])])

# %% [markdown]
# *Choose a question. A cell is as full as its probability, ● is picked, the frame is the right
# cell; rows in italics are not read. The first question is ours, the others are drawn by lot from
# small tables.*

# %% Add up the seeds tags=["fold"]
def by_table(how, k, key):
    """A number for each table, the mean of the seeds."""
    runs = [numbers(row[key]) for row in pointing if (row["how"], row["k"]) == (how, k)]
    return np.mean(runs, 0) if runs else None


def seeds_of(how, k):
    """What the single seeds have right, in per cent."""
    runs = [numbers(row["right"]) for row in pointing if (row["how"], row["k"]) == (how, k)]
    return ", ".join(f"{run.sum() / every.sum():.1%}" for run in runs) if len(runs) > 1 else ""


every = by_table("counting", 0, "asked")
NAMED = {("counting", 0): "counting", ("down", 3): "TaBERT, K = 3",
         ("down", 1): "TaBERT, K = 1", ("along", 3): "along the row again, K = 3",
         ("linear", 3): "no layers, K = 3"}  # fmt: skip


def lines(*ways):
    """Name, interval over tables, and seeds, of those that were measured."""
    return [[NAMED[way], interval(by_table(*way, "right"), every), seeds_of(*way)]
            for way in ways if by_table(*way, "right") is not None]  # fmt: skip


# %% Who picks the right cell? tags=["slide", "fold"]
ceiling = by_table("down", 3, "could")
teachers = next(row for row in pointing if row["how"] == "down")
part = by_table("down", 3, "right").sum() / ceiling.sum()
print("the kept runs" if pointing is not live else "live, too short to judge by")
print(f"{teachers['taught_by']} questions to learn from, {teachers['usable']} can be used\n"
      f"{every.sum():.0f} are asked, on {len(every)} tables\n"
      f"of the answers in three rows, TaBERT finds {part:.0%}")  # fmt: skip
table([["MiniLM, not trained for it", told(least, "minilm", "cell"), ""],
       *lines(("counting", 0), ("down", 3)),
       ["the answer is in three rows", interval(ceiling, every), ""]],
      ["picks by", "right", "seeds"], formats={"right": ".1%"},
      caption="95 % intervals over tables")  # fmt: skip

# %% [markdown]
# *Counting takes the row of most n-grams and in it, among the cells that the question does not
# name, the one whose column's name shares most with it. MiniLM takes the nearest row and in it the
# column with the nearest name; it was asked all 1,675 questions of the table further up.*
#
# As printed, larger models answer 48.7% (TAPAS, which picks cells and may count or add them;
# Herzig et al. 2020) and 51.8% (TaBERT, whose vectors feed a parser that writes programs; Yin et
# al. 2020, table 1) of all test questions. A published checkpoint of either would stand in MiniLM's
# place here, as what `read` calls.

# %% Predict what vertical attention brings tags=["fold"]
predict(
    "In a rival the upper layer does not look down the columns, but along its row once more: as "
    "many parameters, nearly as many operations, and no row sees another. Which picks the right "
    "cell more often?",
    ["the one with vertical attention", "the rival", "no difference can be told"],
    answer=2,
    explain="With either layer, and with none, about as many questions are answered: the frozen "
    "vectors and the counts decide.",
    key="03_bert/pick-the-cell",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% The rivals, trained alike tags=["slide", "surprise", "fold"]
from deepdive_book.kit.flops import count_flops

x, real = torch.zeros(1, 3, 8, 389), torch.ones(1, 3, 8, dtype=torch.bool)
bills = [count_flops(lambda how=how: CellPicker(389, **HOW[how])(x, real))
         for how in ("down", "along")]  # fmt: skip
assert abs(bills[0] / bills[1] - 1) < 0.02  # nearly as many operations
table(lines(("down", 3), ("along", 3), ("linear", 3), ("down", 1)),
      ["trained", "right", "seeds"], formats={"right": ".1%"},
      caption="mean of the seeds, 95 % intervals over tables")  # fmt: skip

# %% Differences between them tags=["fold"]
pairs = [(("down", 3), other) for other in list(NAMED) if other != ("down", 3)]
table(
    [[f"TaBERT, K = 3, less {NAMED[b]}",
      interval(by_table(*a, "right") - by_table(*b, "right"), every)]
     for a, b in pairs if by_table(*b, "right") is not None],
    ["of all questions", "difference"], formats={"difference": "+.1%"},
)  # fmt: skip

# %% [markdown]
# No difference can be told. Less a second look along the row, and less no layers at all, where the
# vectors of MiniLM and the counts are only projected, the interval includes zero. Vertical
# attention does not help at this size; the paper trains all layers, and on far more. What does
# help is to read three rows and not the made-up one, and to learn: TaBERT's accuracy is higher
# than counting by 2.7% in absolute terms (points), by an interval that just excludes zero. That
# interval resamples tables only; over the seeds accuracy also varies by more than two points, so
# with the seeds in it the interval wouldn't safely exclude zero. Of the answers that are in its
# three rows it finds 39%; more than half of all answers are not in them.

# %% [markdown] tags=["slide"]
# ## A name is more than its words
#
# LUKE (Yamada et al. 2020) reads a sentence, and behind it the entities that are named in it. Each
# has a vector of its own beside those of its words, and the mean of their positions as position.
# What is new in attention is the query: it has four matrices $W$, for *who asks whom*, a word or an
# entity.
#
# $$s_{ij} = (W_{\text{kind}(i)\,\text{kind}(j)}\, x_i) \cdot (K x_j) / \sqrt d$$
#
# A small one is trained on generated sentences: *Ann taught Ben*, *Ann was taught by Ben*, with up
# to three words before. Behind the words stand two entities, both masked, so that each knows only
# where it is named. Is the first of them the teacher? The names do not tell: only the words between
# them, and how many these are.

# %% Train a small LUKE tags=["fold"]
from deepdive.models.bert.entities import mentions_of
from deepdive.models.bert.luke import TINY, luke
from deepdive.models.bert.luke_heads import EntityClassifier

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
table([["four matrices" if four else "one matrix", *(right for _, right in made)]
       for four, made in runs.items()], ["", *(f"seed {seed}" for seed in seeds)],
      formats={f"seed {seed}": ".1%" for seed in seeds},
      caption=f"right in 500 new sentences, after {steps} steps")  # fmt: skip

# %% Whom do the entities ask? tags=["slide", "fold"]
from deepdive.core.hooks import record
from deepdive_book.kit.plotting import heads

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
    across=2,
    alt="Four maps: what the rows of the entities Ann and Ben attend to in " + " ".join(said),
)

# %% [markdown]
# *Head 1-0 is layer 1, head 0. Each row is the entity of one name, each column a word or an entity
# that is asked; a full cell is a large weight. Ann's entity looks at* by *in one head of layer 1,
# and at* was *in the other: the words that make the sentence passive.* With one matrix for all four
# kinds one seed of three stays behind after so few steps. That is too little to say that four are
# needed, or that they are not.

# %% [markdown] tags=["slide"]
# ## Whole numbers only
#
# I-BERT (Kim et al. 2021) computes with integers alone. A tensor becomes $q S$: whole numbers $q$
# of 8 bits, from $-127$ to $127$, and one number, the scale $S$: the largest absolute value over
# 127. GELU, the softmax and the root in the norm are no sums and products; they are replaced by
# polynomials of degree two, and by Newton's method.
#
# ### By hand: one large number
#
# Let $q$ run from $-3$ to $3$, and the numbers be 1, 2, 3. The scale is $3/3 = 1$, and nothing is
# lost. Now a 12 joins them. The scale is $12/3 = 4$: 1 becomes $0.25$, rounded 0; 2 becomes $0.5$,
# rounded 0 (to the even number); 3 becomes $0.75$, rounded 1, which is 4. Of 1, 2, 3 are left 0, 0,
# 4. One number has cost the others what made them different.

# %% Check the pencil tags=["nbval-check-output", "fold"]
from deepdive.layers.integers import quantized, scale_of

for given in ([1.0, 2, 3], [1.0, 2, 3, 12]):
    x = torch.tensor(given, dtype=torch.float64)
    print(given, "->", quantized(x, scale_of(x.max(), 3), 3).value.tolist())

# %% [markdown] tags=["slide"]
# ### Where does the error enter?
#
# MiniLM was trained in floats, and knows nothing of integers. One kind of operation after the other
# is replaced in it, and only that one; its output vectors (states) for new sentences are compared
# with those of floats. What the largest values are is measured beforehand, on other sentences. A
# MiniLM of integers only was not measured: one scale for what enters layer 1's GELU is too coarse
# for the polynomial, and the library refuses it.

# %% Sentences of one length tags=["fold"]
from deepdive.data.trees import treebank
from deepdive.layers.integer_layers import calibrated, observed
from deepdive_book.data.tree_grammar import tree_sentences

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
    explain="The polynomials are close to their functions everywhere. Rounding states to 8 bits "
    "costs more; why, the next table takes apart.",
    key="03_bert/integers-where",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# ### Answer: open after you predict

# %% One kind at a time tags=["slide", "surprise"]
from deepdive.evaluate.confidence_intervals import bootstrap
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
# the matrices cost. Matrices and norms both round whole states to 8 bits; the norms cost nearly as
# much, and are not taken apart here. In the matrices, is it the weights that suffer, or what they
# are multiplied with?

# %% Weights, or what they multiply? tags=["fold"]
reach = {}  # for each matrix the largest of what enters, column by column


def see(name, x):
    largest = x.abs().amax((0, 1))
    reach[name] = torch.maximum(reach.get(name, largest), largest)


with observed(model, see), torch.no_grad():
    model(sentences("train", pick(ci=16, laptop=64, gpu=64), 0))


# %% Eight bits, in four ways tags=["fold"]
def rounded(mode):
    """MiniLM with 8 bits in its weights, or in what enters them with one or many scales."""
    changed = copy.deepcopy(model).requires_grad_(False)
    for name, part in changed.named_modules():
        if isinstance(part, torch.nn.Linear):
            each = reach[f"{name}.in"]
            large = part.weight.abs()
            steps = {"weights": large.max(), "weights, many": large.amax(1, keepdim=True),
                     "one": each.max(), "many": each}[mode] / 127  # fmt: skip
            if "weights" in mode:
                part.weight.copy_((part.weight / steps).round() * steps)
            else:
                part.register_forward_pre_hook(lambda _, given, steps=steps: (
                    (given[0] / steps).round().clamp(-127, 127) * steps,))  # fmt: skip
    return changed


# %% Find the cause tags=["slide"]
WHAT = {"weights": "the weights, one scale a matrix",
        "weights, many": "the weights, a scale for each output",
        "one": "what enters, one scale",
        "many": "what enters, a scale for each column"}  # fmt: skip
causes = {mode: bootstrap(lost(rounded(mode))) for mode in WHAT}
table([[WHAT[mode], cost] for mode, cost in causes.items()], ["8 bits for", "lost"],
      formats={"lost": ".3%"})  # fmt: skip

# %% Draw the columns tags=["slide", "fold"]
columns = reach["stack.blocks.0.ff.inner.in"]
far, usual = columns.max().item(), columns.median().item()
figure = Figure(figsize=(5.2, 2.6))
axes = figure.subplots()
axes.set_title("what enters layer 1's feed-forward part")
axes.vlines(range(len(columns)), 0, columns, linewidth=1)
axes.set(xlabel="column of the state", ylabel="largest |x|", ylim=(0, None))
print(
    f"the largest reaches {far:.1f}, the median {usual:.2f}: {127 * usual / far:.0f} of 127 steps"
)
with_alt(figure, f"What enters layer 1's feed-forward part, by column: one bar reaches {far:.0f}, "
         f"most about {usual:.1f}.")  # fmt: skip

# %% [markdown]
# It is not 8 bits as such, but one scale for numbers that reach so differently. With a single scale
# a matrix would lose more by its weights than by what enters; it is given a scale for each output
# (as in the matrices above), and hardly loses anything. What enters has one, and with a scale for
# each column it would lose about a sixth. A scale for each column of what enters cannot be taken
# out of the sum of whole numbers, though, for the sum runs over the columns; it has to be
# multiplied into the weights before these are rounded, and makes them reach farther. In the picture
# the bar that stands alone is what 12 was in the sum by hand, and the usual column has 8 of 127
# steps. I-BERT is trained further after it was rounded, which may mend some of this; MiniLM was
# not.

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
# - Before you quantize, print the largest absolute value of each column; look for one that stands
#   alone.
# - An entity's row costs one token. Without a table of entities that fits your names, it is a mask
#   with a place, as here.

# %% [markdown] tags=["aside"]
# ## Check your understanding
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
# 1. *(on paper, 3 min)* How many n-grams up to three words has a question of 8 words, all
#    different?
#
#    <details><summary>Answer</summary>
#
#    $8 + 7 + 6 = 21$.
#
#    </details>
# 2. *(on paper, 3 min)* Let $q$ run from $-3$ to $3$ again, and give each of the columns
#    $(1, 2, 3)$ and $(12, 8, 4)$ a scale of its own. What is left of them?
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
    assert quantized(x, scale_of(x.max(), 3), 3).value.tolist() == given
print("answers 1 and 2 hold")

# %% [markdown] tags=["slide"]
# ## Summary
#
# A table needs a choice before reading, and may have attention down its columns; our small reader
# of tables did not profit from it. A name gets a vector and a position of its own, and may have
# queries of its own; integers need polynomials, and scales that fit. Most is lost at the border,
# where a table becomes lines or a float eight bits.
#
# *Which team won previous to Crettyard?* The answer, *Wolfe Tones*, is not in the three rows that
# TaBERT reads, so no training can make it point there. The rows hold the answer to about half of
# such questions. Where it is one cell, our small TaBERT points at it in 18.2% of the questions,
# hardly more often than counting shared words does.
#
# ## Further reading
#
# - Yin et al. (2020), *TaBERT*: section 3.1 for the snapshot, and table 1 for one row beside three.
# - Pasupat and Liang (2015), *Compositional Semantic Parsing on Semi-Structured Tables*: where the
#   questions come from.
# - Yamada et al. (2020), *LUKE*: section 3.2, the four matrices.
# - Kim et al. (2021), *I-BERT*: section 3, the polynomials.
#
# <small>In the printed book that these pages accompany: section 3.3.1, TaBERT.</small>
