# %% [markdown] tags=["slide"]
# # Zero-shot cross-lingual sentiment: a language nobody labeled
#
# *« Je t'aime. »* Is the feeling in this line good or bad? A program has seen eight thousand lines
# of English films, each called good or bad by people. It has seen no French line with a label, nor
# a German, Dutch, Chinese or Finnish one. Asked in these languages, what are its answers worth:
# more than a guess, as much as an English one, as much as labels of the language itself would have
# brought?
#
# <small>Prerequisites: [two encoders](../chapters/04_multilingual/04_sentence_embeddings.ipynb) and
# [tests in 24 languages](../chapters/04_multilingual/07_benchmarks.ipynb) · 20 min · about five
# minutes to run, half a minute in `ci`; results of the long runs are included · book 4.4</small>

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

# %% What is kept of the long runs tags=["fold"]
import json

from deepdive.data.parallel import parallel
from deepdive.data.reviews import POLARITY, Labeled
from deepdive_book.data.grammar import grammar_pairs
from deepdive_book.kit.experiments import checkpoints, results_path, sweep
from deepdive_book.kit.profile import banner, pick, profile
from deepdive_book.kit.tables import table
from deepdive_book.studies.runs import multilingual_distillation, zero_shot

real = profile() != "ci"


def kept_rows(name):
    """The rows of a kept file, none outside the checkout."""
    place = results_path("04_multilingual", name)
    return json.loads(place.read_text("utf-8"))["rows"] if place and place.is_file() else []


answers = {(row["reader_of"], row["seed"]): row for row in kept_rows("zero_shot")}

# %% The texts tags=["fold"]
KINDS, NOT = ("costs", "born", ""), ("not", "")


def generated(side, kinds, names, first, n=300):
    """Generated sentences of a language, and of which kind each is."""
    some = [*grammar_pairs(3000)][first : first + n]
    labels = tuple(next(k for k, mark in enumerate(kinds) if mark in pair[0]) for pair in some)
    return Labeled(tuple(pair[side] for pair in some), labels, names, "grammar_pairs (generated)")


if real:
    sentences = {code: zero_shot.whole_sib200(code) for code in zero_shot.SIB}
    lines = {code: zero_shot.lines_of(code) for code in zero_shot.XED}
    in_english = zero_shot.english_lines()
else:
    sentences = {code: generated(side, KINDS, ("price", "birth", "other"), 2000)
                 for side, code in enumerate(("eng_Latn", "fra_Latn"))}  # fmt: skip
    lines = {code: generated(side, NOT, POLARITY, 2300) for side, code in enumerate(("en", "fr"))}
    in_english = generated(0, NOT, POLARITY, 1700)

# %% Lines to search tags=["slide", "fold"]
import numpy as np

from deepdive_book.studies.saved_translations import phrasebook

NAMES = zero_shot.XED | zero_shot.SIB
SHOWN = ("fr", "de", "nl", "cn", "fi_annotated")


def looked_up(code, count=70):
    """Lines of a language: their labels, and what two readers say."""
    said = [zero_shot.describe(answers[name, 0]["feelings"], code) for name in ("student", "e5")]
    return [(text, NAMES[code], POLARITY[truth], *(POLARITY[k] for k in both))
            for text, truth, *both in zip(lines[code].texts[:count], lines[code].labels, *said,
                                          strict=False)]  # fmt: skip


if answers and real:
    view = [row for some in zip(*map(looked_up, SHOWN), strict=False) for row in some]
else:
    some = lines["fr"].take(range(50))
    view = [(text, "French", POLARITY[k], "-", "-")
            for text, k in zip(some.texts, some.labels, strict=True)]  # fmt: skip
phrasebook(view, ("a line", "language", "label", "the student says", "e5 says"),
           ask="Type a word of one of the languages", of="Kept answers")  # fmt: skip

# %% [markdown]
# *Lines of film subtitles in five languages, the label of each, and what two programs say that saw
# labels in English only: the* student, *which is made on this page, and* e5
# *(multilingual-e5-small, its matrices rounded to four bits), which others made with about a
# billion pairs of texts in a hundred languages. Type* amour, Tod, bang, 爱 *or* ei *and look for
# lines on which the two disagree.*
#
# ## By hand: what has to cross
#
# A **head** learns the labels: it is a line drawn between the vectors of good and of bad English
# sentences. Let it be $2x - y$: above zero the feeling is good.
#
# | | vector | $2x - y$ | said |
# |---|---|---|---|
# | *I love you.* | (3, 1) | 5 | good |
# | *I hate this.* | (1, 4) | -2 | bad |
# | *Je t'aime.*, placed near its translation | (2, 1) | 3 | good |
# | *Je t'aime.*, placed elsewhere | (1, 3) | -1 | bad |
#
# The head never learns French. If an encoder places a sentence where it places its translation,
# the English head is right on both. If it keeps French in another corner, no English head helps,
# even if love and hate lie far apart in that corner. So zero-shot transfer is a question of
# *places*, and one can ask for them: here is where the English sentence stands; put the French one
# there.
#
# ## The texts
#
# **Lessons**: 8,000 English lines of film subtitles (XED). People marked which of Plutchik's eight
# emotions they hear in a line. With joy or trust it is good, with anger, disgust, fear or sadness
# bad; lines with both or with neither are left out.
#
# **Feelings**: up to 1,200 lines in each of twelve languages. English and Finnish lines were
# labeled by people. A line in one of the other languages has a **projected** label: the one that
# people gave to the English or Danish line that it translates. It is noisier. Lines whose source
# is among XED's English ones are left out.
#
# **Topics**: 1,004 sentences in each of twelve languages (SIB-200), each on one of seven topics.
# People translated them from English, so one label is true in all. Nine of the languages are those
# of the lines.

# %% Lines and sentences tags=["fold"]
print(banner("xed, sib200, tatoeba (real)" if real else "sentences of a grammar (generated)"))
table([[NAMES[code], len(some), 100 * sum(some.labels) / len(some)]
       for code, some in lines.items()], ["language", "lines to test", "of them good, %"],
      formats={"of them good, %": ".0f"},
      caption=f"and {len(in_english):,} English lines to learn from")  # fmt: skip

# %% [markdown] tags=["slide"]
# ## A student, told where to put things
#
# The teacher is MiniLM, which was made for English. The **student** gets 50,000 pairs of
# translations from Tatoeba: 16,000 each in French, German and Dutch, and only 2,000 in Chinese.

# %% Who is told what tags=["fold"]
from deepdive_book.kit.diagrams import ROLES, cells, svg, text
from deepdive_book.kit.plotting import show

TIPS = {"right": (-8, -4, -8, 4), "up": (-4, 8, 4, 8), "left": (8, -4, 8, 4)}


def box(y, high, name, role):
    """A reader, its name in the middle."""
    color = f'fill="{ROLES[role]}" fill-opacity="0.16" stroke="{ROLES[role]}"'
    field = f'<rect x="132" y="{y}" width="92" height="{high}" rx="6" {color}/>'
    return field + text(178, y + high / 2, name, 14)


def arrow(path, x, y, way):
    """A line along `path` that ends in a tip at (x, y)."""
    a, b, c, d = TIPS[way]
    tip = f'<polygon points="{x},{y} {x + a},{y + b} {x + c},{y + d}" fill="currentColor"/>'
    return f'<path d="{path}" fill="none" stroke="currentColor"/>{tip}'


# %% The two arrows tags=["slide", "fold"]
read = [(24, "It is raining.", [0.6, 0.8]), (92, "It is raining.", [0.3, 0.9]),
        (140, "Il pleut.", [0.5, 0.1])]  # fmt: skip
drawing = [box(6, 36, "teacher", "key"), box(74, 84, "student", "query")]
for row, (y, sentence, place) in enumerate(read):
    drawing += [text(58, y, sentence, 14), arrow(f"M108 {y}H130", 130, y, "right"),
                arrow(f"M226 {y}H248", 248, y, "right"),
                cells(250, y, place, "query" if row else "key", 34)]  # fmt: skip
drawing += [arrow("M284 74V43", 284, 43, "up"), arrow("M319 140H344V24H321", 321, 24, "left")]
show(svg(350, 164, drawing), "The teacher reads the English sentence and gives a vector. The "
     "student reads the English sentence and its French translation. An arrow leads from each of "
     "its two vectors to the teacher's.")  # fmt: skip

# %% [markdown]
# *Both vectors of the student shall go where the teacher's is; its numbers are kept, and no label
# is involved* (Reimers and Gurevych 2020).
#
# The student is as small as can be. A tokenizer cuts words into **pieces**, and each piece has a
# row of 384 numbers and a weight:
#
# $$u = \sum_t a_t \, \text{table}[\text{piece}_t], \qquad
# a = \text{softmax}_t(\text{weight}[\text{piece}_t])$$
#
# There is no layer and no order of words: *man bites dog* and *dog bites man* are one.

# %% The teacher tags=["fold"]
from functools import cache

import torch

from deepdive.models.bert.sbert import encode
from deepdive.published import sentences as sentence_models
from deepdive.published.pretrained import minilm, minilm_tokenizer
from deepdive_book.ch04.runs.benchmarks import Encoder
from deepdive_book.kit.cached_embeddings import cached_embeddings
from deepdive_book.kit.multilingual_e5 import e5_model, e5_tokenizer


@cache
def teacher():
    return sentence_models.load(minilm())


def placed(texts):
    """Where MiniLM, the English teacher, places texts: (N, 384), of length 1."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = encode(teacher(), minilm_tokenizer(), list(texts), batch_size=128).float()
    return torch.nn.functional.normalize(found, dim=-1)


# %% The reader of a hundred languages tags=["fold"]
def e5(texts):
    """The same of multilingual-e5-small."""
    return Encoder(e5_model(), e5_tokenizer()).vectors(texts)


# %% Lessons for the student tags=["fold"]
PAIRS = {"fra": 16_000, "deu": 16_000, "nld": 16_000, "cmn": 2000}


def pairs_to_learn(most):
    """Pairs of translations, no more than `most` says of each language."""
    if not real:
        return {"fra": grammar_pairs(1500)}
    return {code: parallel(code).pairs[:n] for code, n in most.items()}


lessons = multilingual_distillation.lessons_of(pairs_to_learn(PAIRS), e5_tokenizer())
theirs = cached_embeddings(placed, lessons.english, "zero_shot", of="MiniLM")
pairs = len(lessons.of) - len(lessons.english)
print(f"{pairs:,} pairs, {len(lessons.rows):,} pieces")
print(f"{len(lessons.english):,} different English sentences")

# %% [markdown]
# ## Told by which loss?
#
# For this section alone the student is a BERT of two layers; the small one comes back after it.
# Two losses are tried. One is the **squared distance**, the mean over the 384 numbers of a vector:
# with it the method was published, and the library sentence-transformers has it for this use
# (`MSELoss`). The other is 1 minus the **cosine**. All of the teacher's vectors have length 1.

# %% tags=["slide", "fold"]
from deepdive_book.kit.predictions import predict

predict(
    "With the squared distance the loss has fallen to 0.0021 after 350 steps. Of 500 lessons that "
    "were kept back, how many have the place of their own English sentence as the nearest of all "
    "500 places?",
    ["nearly all: the loss is nearly 0", "about half", "about one in a hundred"],
    answer=2,
    explain="Always saying the mean of all places costs 0.0023. The student has learned this mean "
    "and little more.",
    key="04_multilingual/squared",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown] tags=["surprise"]
# **What does it cost to know nothing?** Let the teacher place two sentences at (0.6, 0.8) and
# (0.8, -0.6). A student that answers both with their mean, (0.7, 0.1), has a squared error of 0.5,
# which is 0.25 a number. This is 1 minus the squared length of the mean, $1 - 0.5$. The mean of
# many different sentences is short, so their error is nearly 1; over 384 numbers that is at most
# $1 / 384 = 0.0026$. By 1 minus the cosine the same answer costs 1 minus the length of the mean.

# %% Check it tags=["surprise", "fold", "nbval-check-output"]
two = torch.tensor([[0.6, 0.8], [0.8, -0.6]])
print(f"always the mean: {((two - two.mean(0)) ** 2).mean():.2f} a number")
assert torch.isclose(two.mean(0) @ two.mean(0), torch.tensor(0.5))
assert round(1 / 384, 4) == 0.0026

# %% Of all lessons tags=["surprise", "fold"]
average, n = theirs.mean(0), len(theirs)
always = ((theirs - average) ** 2).mean()
assert torch.isclose(always, (1 - average @ average) / 384, rtol=1e-3)
any_two = float((n * average @ average - 1) / (n - 1))  # of the teacher's vectors
print(f"always the mean, squared: {always:.4f} a number")
print(f"always the mean, 1 - cosine: {1 - average.norm():.2f}")
print(f"cosine of any two of the teacher's: {any_two:.2f}")
for seed in range(3):  # the lessons that `students.watched` keeps back
    order = multilingual_distillation.sampled(len(lessons.of), 1, seed, size=len(lessons.of))[0]
    met = {lessons.of[i] for i in order[500:]}
    print(f"seed {seed}, of 500: {sum(i >= pairs for i in order[:500])} English,",
          f"{sum(lessons.of[i] in met for i in order[:500])} places met")  # fmt: skip

# %% The same student with two losses, kept tags=["surprise", "fold"]
LOSSES = {"squared": multilingual_distillation.squared, "cosine": multilingual_distillation.cosine}


def measure_loss(loss, seed, steps):
    return {"steps_seen": multilingual_distillation.watched(
        lessons, theirs, loss=LOSSES[loss], seed=seed, steps=steps, every=steps // 10)}  # fmt: skip


if profile() == "experiment":
    points = [{"loss": loss, "seed": s, "steps": 500} for s in range(3) for loss in LOSSES]
    sweep(
        measure_loss,
        points,
        results_path("04_multilingual", "zero_shot_losses"),
        data="tatoeba_eng_fra, tatoeba_eng_deu, tatoeba_eng_nld, tatoeba_eng_cmn",
    )
curves = kept_rows("zero_shot_losses")
# %% How they are on the way tags=["surprise", "fold"]
LOOKS = {"150": 2, "350": 6, "400": 7, "500": 9}  # of the ten looks at a student


def told_of(row):
    """How a student is after 350 steps, and how many translations it finds on the way."""
    seen = row["steps_seen"]
    return [seen[6]["loss"], seen[6]["alike"], *(seen[look]["found"] for look in LOOKS.values())]


ends = sorted([row["loss"], row["seed"], *told_of(row)] for row in curves)
table(ends or [["none kept here", *[0] * 7]],
      ["loss", "seed", "its value", "cosine of any two", *LOOKS],
      formats={"its value": ".4f", "cosine of any two": ".2f"} | dict.fromkeys(LOOKS, ".1f"),
      caption="of 500 lessons kept back: the loss and the cosine after 350 steps; how many find "
      "the place of their English sentence, %, after 150, 350, 400 and 500")  # fmt: skip

# %% Drawn tags=["surprise", "fold"]
from matplotlib.figure import Figure

figure = Figure(figsize=(6.4, 3.0))
panels = figure.subplots(1, 2)
for row in curves:
    role = {"squared": "query", "cosine": "key"}[row["loss"]]
    mark = {"squared": "o-", "cosine": "s-"}[row["loss"]]
    at = [one["step"] for one in row["steps_seen"]]
    for panel, what in zip(panels, ("alike", "found"), strict=True):
        name = row["loss"] if row["seed"] == 0 else None
        panel.plot(at, [one[what] for one in row["steps_seen"]], mark, color=ROLES[role],
                   markersize=3, linewidth=1, label=name)  # fmt: skip
panels[0].set(title="cosine of any two sentences", xlabel="step", ylim=(0, 1))
panels[1].set(title="own place found, % of 500", xlabel="step", ylim=(0, 100))
panels[0].axhline(any_two, color="black", linestyle="--", linewidth=1, label="teacher")
for panel in panels:
    panel.axvline(350, color=ROLES["score"], linestyle=":", linewidth=1)
panels[1].legend(*panels[0].get_legend_handles_labels(), loc="upper left")
show(figure, "Two panels over the steps of training, three seeds of each loss. With the squared "
     "distance any two sentences are alike and hardly a place is found before step 400; with the "
     "cosine they come apart, and places are found from step 150 on.")  # fmt: skip

# %% [markdown] tags=["surprise"]
# *Squares: cosine. Dots: squared distance; three seeds each. Dotted: step 350. Of the 500 lessons
# nearly half are English sentences that look for their own place, and nearly all of these places
# were told in another lesson.*
#
# With the squared distance the loss at step 350 is little below what the mean costs. Any two
# vectors have a cosine of 0.71 to 0.75, where the teacher's have 0.12, and about one lesson in a
# hundred finds its place. Near step 400 these students come loose, for the mean is not the lowest
# point of the loss. By then the others find more than four in ten. They too begin with one vector
# for all (0.99 at step 50), but leave it sooner. Beside the 0.66 of the mean, their 0.43 to 0.45
# show what they have learned. All this is one net, one rate and 500 steps.
#
# A user of the library found *every sentence similarity is 1.0* after twelve hours; with another
# teacher the student became better (issue 1164, in *Further reading*).
#
# From here on the loss is the cosine, and the student the small one, without layers.

# %% The student is made
from deepdive_book.kit.cost import measure as measured

with measured() as card:
    student, history = multilingual_distillation.fit_student(
        lessons, theirs, e5_tokenizer(), epochs=pick(ci=3, laptop=8, gpu=8)
    )
pieces = sum(map(len, lessons.pieces)) / len(lessons.pieces)  # of a sentence
numbers = sum(w.numel() for w in student.net.parameters())
card.flops = 6 * 384 * history.steps * multilingual_distillation.BATCH * pieces
card.flops += 12 * numbers * history.steps  # Adam: about 12 operations a number and step
print(f"{numbers:,} numbers, {history.seconds:.0f} s")
print(f"1 - cosine: {history.losses[0]:.2f} at first, {history.losses[-1]:.2f} at the end")

# %% Does it place translations of other sentences? tags=["fold"]
from deepdive.data.text import retrieval_pairs
from deepdive.evaluate import bootstrap
from deepdive.evaluate.similarity import nearest


def found(code):
    """Of how many sentences the nearest of 1,000 English ones is the translation, in percent."""
    some = retrieval_pairs(code) if real else grammar_pairs(2000)[-300:]
    english, other = zip(*some, strict=True)
    right = nearest(student.vectors(other), placed(english)).numpy() == np.arange(len(some))
    return bootstrap(100.0 * right)


codes = {"fra": "French", "deu": "German", "nld": "Dutch", "cmn": "Chinese", "fin": "Finnish",
         "spa": "Spanish"} if real else {"fra": "French"}  # fmt: skip
table([[name, found(code)] for code, name in codes.items()], ["language", "found, %"],
      formats={"found, %": ".0f"},
      caption="Tatoeba's test: the nearest of 1,000 English sentences is the translation; none of "
      "them is among the lessons")  # fmt: skip

# %% [markdown]
# The student reads the other language, MiniLM the English, and they find each other's sentences in
# the languages of the lessons. Finnish and Spanish had no lesson.

# %% [markdown]
# ## First, topics
#
# Before feelings a question whose labels are sure. Of the 1,004 sentences a head learns topics in
# English, from four fifths of them, and is asked in another language about the last fifth, five
# times over. The readers:
#
# - **most frequent**: the floor, no reader, always the same topic
# - **letters**: runs of one to five letters, no encoder (TF-IDF); what it knows of French is what
#   French spells like English
# - **MiniLM, in English**: the teacher itself
# - **student**, trained three times; further one with 5,000 pairs, and one with all that there are
# - **e5**, in [our own code](../chapters/04_multilingual/07_benchmarks.ipynb)


# %% Five readers tags=["fold"]
def taught(most, seed=0, epochs=8):
    """A student of its own lessons, kept while it is made."""
    if most == PAIRS:
        its, vectors = lessons, theirs
    else:
        its = multilingual_distillation.lessons_of(pairs_to_learn(most), e5_tokenizer())
        vectors = cached_embeddings(placed, its.english, "zero_shot", of="MiniLM")
    keep = checkpoints("zero_shot", "student", of=(its.english, seed))
    return multilingual_distillation.fit_student(
        its, vectors, e5_tokenizer(), seed=seed, epochs=epochs, folder=keep
    )[0]


# %% By name tags=["fold"]
@cache
def reader(name, seed=0):
    """What makes rows of texts: one of the lines of the tables below."""
    if (name, seed) == ("student", 0):
        return zero_shot.Vectors(student.vectors)
    read = {"MiniLM, in English": placed, "e5": e5}
    if name == "letters":
        return zero_shot.Letters()
    if name == "e5 and letters":
        return zero_shot.Joined(reader("e5"), reader("letters"))
    if name in read:
        return zero_shot.Vectors(
            lambda texts: cached_embeddings(read[name], texts, "zero_shot", of=name)
        )
    tenth = {code: n // 10 for code, n in PAIRS.items()}
    most = {"student": PAIRS, "student of 5,000 pairs": tenth,
            "student of all pairs": dict.fromkeys(PAIRS, 10**6)}[name]  # fmt: skip
    return zero_shot.Vectors(taught(most, seed, epochs=4 if "all" in name else 8).vectors)


# %% The kept answers tags=["fold"]
def measure(reader_of, seed):
    """What one reader says of all sentences and lines."""
    chosen = reader(reader_of, seed)
    return {"topics": zero_shot.topics(chosen, sentences["eng_Latn"], sentences),
            "feelings": zero_shot.feelings(chosen, in_english, lines)}  # fmt: skip


POINTS = [("letters", 0), ("student", 0), ("MiniLM, in English", 0), ("e5", 0), ("student", 1),
          ("student", 2), ("student of all pairs", 0), ("student of 5,000 pairs", 0)]  # fmt: skip
if profile() == "experiment":
    sweep(measure, [{"reader_of": name, "seed": seed} for name, seed in POINTS],
          results_path("04_multilingual", "zero_shot"), data="sib200, xed, tatoeba_eng_fra, "
          "tatoeba_eng_deu, tatoeba_eng_nld, tatoeba_eng_cmn")  # fmt: skip
    answers = {(row["reader_of"], row["seed"]): row for row in kept_rows("zero_shot")}
if not real:  # a short form: what is generated is asked here and now
    answers = {(name, 0): measure(name, 0) for name in ("letters", "student")}

# %% tags=["slide", "fold"]
predict(
    "Finnish was in no lesson of the student. Letters know of it what is spelled as in English. Of "
    "1,004 Finnish sentences, who gets more topics right?",
    ["the student: it knows four other languages", "the letters", "both are level"],
    answer=1,
    explain="With 23 % the student is below whoever always says the most frequent topic, 25 %. "
    "Letters have 32 %: a name, or a word that looks English, is all that they ask for.",
    key="04_multilingual/never-seen",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict


# %% Who is right, sentence by sentence tags=["surprise", "fold"]
def seeds(name):
    return sorted(seed for who, seed in answers if who == name)


def topics_right(name, code):
    """Of each sentence in percent: is its topic right, the mean over trainings?"""
    said = [[*answers[name, seed]["topics"]["said"][code]] for seed in seeds(name)]
    return 100 * (np.array(said).astype(int) == sentences[code].labels).mean(0)


READERS = [name for name in ("letters", "MiniLM, in English", "student", "e5") if seeds(name)]
heads = [f"{name}" for name in READERS]
usually = 100 * np.bincount(sentences["eng_Latn"].labels).max() / len(sentences["eng_Latn"])
shown = [[NAMES[code], usually, *(bootstrap(topics_right(name, code)) for name in READERS),
          bootstrap(topics_right("student", code) - topics_right("letters", code))]
         for code in sentences]  # fmt: skip
table(shown, ["language", "most frequent", *heads, "student - letters"],
      formats=dict.fromkeys(["most frequent", *heads, "student - letters"], ".0f"),
      caption=f"topics right, %, of {len(sentences['eng_Latn']):,}; learned in English; 95 % over "
      "sentences")  # fmt: skip

# %% What the targets were tags=["surprise", "fold"]
if len(READERS) == 4:
    for code in ("fra_Latn", "deu_Latn", "nld_Latn"):
        assert bootstrap(topics_right("student", code) - topics_right("letters", code)).low > 0
    most_of_e5 = [code for code in sentences if topics_right("e5", code).mean() >= 80]
    assert len(most_of_e5) >= 5
    print(f"e5 at 80 % or more in {len(most_of_e5)} of {len(sentences)} languages")

# %% More pairs, fewer pairs tags=["surprise", "fold"]
sizes = [name for name in ("student of 5,000 pairs", "student", "student of all pairs")
         if seeds(name)]  # fmt: skip
learned_codes = ("fra_Latn", "deu_Latn", "nld_Latn", "zho_Hans")
taught_in = {code: NAMES[code] for code in learned_codes if code in sentences}
there_are = sum(len(some) for some in pairs_to_learn(dict.fromkeys(PAIRS, 10**6)).values())
of = {"student of 5,000 pairs": (pairs // 10, 8), "student": (pairs, 8),
      "student of all pairs": (there_are, 4)}  # fmt: skip
table([[f"{of[name][0]:,} pairs", of[name][1],
        *(bootstrap(topics_right(name, code)) for code in taught_in)] for name in sizes],
      ["student of", "epochs", *taught_in.values()],
      formats=dict.fromkeys(taught_in.values(), ".0f"),
      caption="topics right, %; the one of 50,000 was trained three times")  # fmt: skip

# %% [markdown] tags=["surprise"]
# In French, German and Dutch the student is ahead of the letters by 10, 17 and 18 points, each
# interval far above 0. In Chinese 2,000 pairs bring it to 42, 12 points ahead. In the seven
# languages without lessons the letters are ahead, in Finnish by nine points, but part of that is
# guessing: in six of the seven the student is not above the most frequent topic, and the letters
# are not in Russian, Hindi and Swahili.
#
# And e5 is right in 80% or more in ten of the twelve, without a label but English ones.
#
# With 5,000 pairs the student is behind the letters in all four languages of its lessons. With all
# 328,323 pairs, read half as often, Chinese gains most, from 42 to 60%, French and German gain
# some, Dutch nothing.

# %% [markdown] tags=["aside"]
# ## Where the mistakes lie

# %% A map of errors tags=["fold"]
told = [name for name in ("student", "e5") if seeds(name)]
topics_named = sentences["eng_Latn"].names
figure = Figure(figsize=(6.4, 4.4), layout="constrained")
panels = figure.subplots(1, len(told), squeeze=False, sharey=True)[0]
for panel, name in zip(panels, told, strict=True):
    grid = [[topics_right(name, code)[np.array(sentences[code].labels) == k].mean()
             for k in range(len(topics_named))] for code in sentences]  # fmt: skip
    panel.imshow(grid, cmap="viridis", vmin=0, vmax=100, aspect="auto")
    for (row, column), value in np.ndenumerate(grid):
        panel.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=8,
                   color="black" if value > 60 else "white")  # fmt: skip
    panel.set_title(name)
    panel.set_xticks(range(len(topics_named)), [t.split("/")[0] for t in topics_named], rotation=60)
panels[0].set_yticks(range(len(sentences)), [NAMES[code] for code in sentences])
show(figure, "Two tables of percentages, a row a language and a column a topic, for the student "
     "and for e5: how many of the sentences on each topic are right.")  # fmt: skip
if "hin_Deva" in sentences:
    said = [[*answers["student", s]["topics"]["said"]["hin_Deva"]] for s in seeds("student")]
    sports = topics_named.index("sports")
    truly = 100 * np.mean(np.array(sentences["hin_Deva"].labels) == sports)
    print(f"Hindi, the student: {100 * np.mean(np.array(said).astype(int) == sports):.0f} % are "
          f"said to be sports, {truly:.0f} % are")  # fmt: skip

# %% [markdown]
# *Rows are languages, columns topics; each number is the share of its sentences that are right,
# and the brighter the more.* A high number alone is no knowledge: of the Hindi sentences on sports
# the student gets 46% right, but it says sports of 46% of all. e5 is most often wrong on
# entertainment in nine of the twelve languages.

# %% [markdown]
# ## Now feelings
#
# The classes are unequal: two lines in three are bad. So the score is **macro-F1**, the mean of
# both classes' F1. There are two floors: whoever always says *bad*, and a **coin**. Of a class that
# has the share $p$ of the lines a coin finds half, and $p$ of what it says is right, so
# $F_1 = p / (p + 1/2)$. Beside each reader's answer from English stands its answer **at home**: of
# a head that learned from the language's own lines, four fifths of those of the test, five times
# over. It is no ceiling, for the English head has had more lessons. The strength of its
# regularization is the one chosen on the 8,000 English lines. (In a review rerun with the best
# strength at home, e5's numbers change by 0.001 to 0.011.)

# %% tags=["slide", "fold"]
predict(
    "Feelings are only two classes, but a “not” can turn them over, and the student has no order "
    "of words. In English its macro-F1 is 0.75; a coin has 0.49. And in French?",
    ["about 0.49, as the coin", "about 0.57, a third of the way", "about 0.65, two thirds of it",
     "about 0.75, as in English"],
    answer=2,
    explain="It is 0.65, and a head that learned from French lines has no more.",
    key="04_multilingual/feelings",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% From English and at home tags=["surprise", "fold"]
from deepdive.evaluate import macro_f1_interval


def zero(name, code):  # what its trainings say of each line, (seeds, N)
    return np.array([zero_shot.describe(answers[name, s]["feelings"], code) for s in seeds(name)])


def own(name, code):
    said = [[*answers[name, s]["feelings"]["own"][code]] for s in seeds(name)]
    return np.array(said).astype(int)


def scored(said, code, less=None):
    return macro_f1_interval(said, lines[code].labels, 2, less=less)


def usual(code):
    return np.zeros(len(lines[code]), int)


def coin(code):
    """The macro-F1 that a fair coin expects: p / (p + 1/2), the mean over both classes."""
    good = np.mean(lines[code].labels)
    return float(np.mean([p / (p + 0.5) for p in (good, 1 - good)]))


# %% Drawn tags=["surprise", "slide", "fold"]
figure = Figure(figsize=(6.4, 5.6), layout="constrained")
panel = figure.subplots()
for k, code in enumerate(lines):
    panel.axhspan(k - 0.5, k + 0.5, color=ROLES["score"], alpha=0.1 * (k % 2), linewidth=0)
    floors = {"always bad": (scored(usual(code), code).value, "x"), "a coin": (coin(code), "|")}
    for name, (value, mark) in floors.items():
        panel.plot(value, k, mark, color="black", markersize=8, label=None if k else name)
    for shift, name in zip((-0.18, 0.18), told, strict=False):
        color, at = ROLES[{"student": "query", "e5": "key"}[name]], k + shift
        one = scored(zero(name, code), code)
        panel.plot([one.low, one.high], [at, at], color=color, linewidth=1)
        panel.plot(one.value, at, {"student": "o", "e5": "s"}[name], color=color, markersize=6,
                   label=None if k else f"{name}, from English")  # fmt: skip
        panel.plot(scored(own(name, code), code).value, at, {"student": "o", "e5": "s"}[name],
                   color=color, fillstyle="none", markersize=9,
                   label=None if k else f"{name}, at home")  # fmt: skip
panel.set_yticks(range(len(lines)), [NAMES[code] for code in lines])
panel.set(xlabel="macro-F1", xlim=(0.25, 0.85), ylim=(len(lines) - 0.5, -0.5))
figure.legend(loc="outside upper center", ncols=3, fontsize=8)
show(figure, "A row a language, macro-F1 to the right. e5 stands far to the right of a coin in "
     "all. The student does so in English, French, German, Dutch and Chinese, comes near the coin "
     "in the languages without lessons, and in Greek stands far to its left.")  # fmt: skip

# %% [markdown] tags=["surprise"]
# *Full marks: learned from English lines, with 95 % over lines. Hollow marks: at home.*

# %% All readers, from English tags=["surprise", "fold"]
table([[NAMES[code], scored(usual(code), code).value, coin(code),
        *(scored(zero(name, code), code) for name in READERS)] for code in lines],
      ["language", "always bad", "a coin", *heads],
      formats=dict.fromkeys(["always bad", "a coin", *heads], ".2f"),
      caption="macro-F1 of feelings; learned from English lines; 95 % over lines")  # fmt: skip


# %% At home tags=["surprise", "fold"]
def reached(name, code):
    """How much of what home is above `usual` was had from English, in percent; none below it."""
    floor, top = scored(usual(code), code).value, scored(own(name, code), code).value
    share = 100 * (scored(zero(name, code), code).value - floor) / (top - floor)
    return share if share > 0 else None


table([[NAMES[code], len(lines[code]) * 4 // 5, *(cell for name in told for cell in (
            scored(own(name, code), code), reached(name, code)))] for code in lines],
      ["language", "lines", *(f"{name}, {what}" for name in told
                              for what in ("at home", "reached from English, %"))],
      formats={f"{name}, {what}": form for name in told for what, form in
               (("at home", ".2f"), ("reached from English, %", ".0f"))},
      caption="macro-F1 at home, after so many lines; reached: (from English - always bad) / (at "
      "home - always bad), empty where English is below always bad")  # fmt: skip

# %% From English against home, line by line tags=["surprise", "fold"]
table([[NAMES[code], *(scored(zero(name, code), code, less=own(name, code)) for name in told)]
       for code in lines], ["language", *told], formats=dict.fromkeys(told, ".3f"),
      caption="macro-F1 from English minus at home, the same lines; 95 % over lines")  # fmt: skip

# %% [markdown] tags=["surprise"]
# In French, German, Dutch and Chinese the student is far above the coin. Against a head at home,
# which learned from 960 lines or in Chinese from 438, no loss larger than about 0.05 is likely:
# the differences hold 0, and their intervals end at -0.047.
#
# In Finnish both readers lose, the student 0.036 and e5 0.061, and both intervals lie below 0. So
# they do in Russian and Turkish; in Polish and Greek only the student loses. These are 24 paired
# intervals without a correction, and some are only just below 0, such as the student's in Finnish
# and Turkish: which language loses is less sure than it looks. Without lessons it is at or above
# the letters and not far from the coin; in Greek, with 0.29, far below it.

# %% [markdown]
# ## How many labels is English worth?
#
# A person could label some lines of the language itself, and throw English away. How many would
# make the English head needless? For each number, 20 samples of the first half of the lines; a
# head learns from them alone, by the same reader, and is tested on the second half. How closely it
# fits its lines was chosen on the 8,000 English ones and not anew, which may cost it something.


# %% Few labels, kept tags=["fold"]
def measure_labels(reader_of, language):
    return zero_shot.few_labels(reader(reader_of, 0), in_english, lines[language],
                                zero_shot.LABELS if real else (16, 64))  # fmt: skip


FEW = ("fr", "de", "nl", "fi_annotated")
if profile() == "experiment":
    sweep(measure_labels, [{"reader_of": name, "language": code} for name in ("student", "e5")
                           for code in FEW], results_path("04_multilingual", "zero_shot_labels"),
          data="xed")  # fmt: skip
few = kept_rows("zero_shot_labels") if real else [
    {"reader_of": "student", "language": "fr", **measure_labels("student", "fr")}]  # fmt: skip

# %% Drawn tags=["fold"]
drawn = sorted({row["language"] for row in few}, key=[*lines].index)
figure = Figure(figsize=(6.4, 2.6 * ((len(drawn) + 1) // 2)), layout="constrained")
panels = figure.subplots((len(drawn) + 1) // 2, min(2, len(drawn)), squeeze=False).flat
for panel, code in zip(panels, drawn, strict=False):
    for row in (row for row in few if row["language"] == code):
        color = ROLES[{"student": "query", "e5": "key"}[row["reader_of"]]]
        at = [int(n) for n in row["labels"]]
        low, middle, high = (np.quantile([*row["labels"].values()], q, axis=1)
                             for q in (0.05, 0.5, 0.95))  # fmt: skip
        panel.plot(at, middle, "o-", color=color, markersize=3, label=row["reader_of"])
        panel.fill_between(at, low, high, color=color, alpha=0.2, linewidth=0)
        panel.axhline(row["zero"], color=color, linestyle="--", linewidth=1)
    panel.set(title=NAMES[code], xscale="log", ylim=(0.4, 0.8), ylabel="macro-F1",
              xlabel="labelled lines")  # fmt: skip
    panel.set_xticks(at, at)
    panel.minorticks_off()
figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
show(figure, "Macro-F1 against the number of labelled lines of the language itself, on a log "
     "scale, for the student and e5, with a dashed line each for what English labels alone "
     "bring.")  # fmt: skip

# %% [markdown]
# *Points: the median of 20 samples; bands: nine in ten of them. Dashed: what the English head
# says, without one label of the language.*


# %% As a table tags=["fold"]
def worth(row):
    """The fewest labels whose median sample is above the English head; None: not even the most."""
    for n, scores in row["labels"].items():
        if np.median(scores) > row["zero"]:
            return int(n)
    return None


table([[NAMES[row["language"]], row["reader_of"], row["zero"], worth(row),
        float(np.median(row["labels"][max(row["labels"], key=int)]))] for row in few],
      ["language", "reader", "from English", "labels for as much", "with the most labels"],
      formats={"from English": ".2f", "with the most labels": ".2f"},
      caption="macro-F1 on the second half of the lines; labels for as much: the fewest with which "
      "the median of the samples is above English, empty where 512 are not enough")  # fmt: skip

# %% [markdown]
# In the median of the samples not even 512 labeled lines bring e5 in French and German to what
# 8,000 English lines brought; in Dutch it takes all 512. Nor do they overtake the student in
# French and Dutch. In Finnish 32 lines are more than English to e5. Finnish lines have labels of
# their own, but Finnish topics are among e5's lowest too: the cause is not tested here.
#
# ## The rival: translate first
#
# Why ask a reader to know French at all? Translate the line into English and ask the English
# reader: **translate-test**. The translator is [study 2's](02_translation.ipynb) Transformer
# turned round, from French into English, trained on all of Tatoeba's French pairs, where the
# student has had 16,000; the reader is MiniLM, whose head learned from the same English lines.

# %% Translated, kept tags=["fold"]
from deepdive_book.studies.runs.translate_test import into_english


def measure_translated(steps):
    """Translations of the French lines, and what MiniLM's head says of them."""
    pairs = parallel("fra").pairs if real else grammar_pairs(600)
    keep = checkpoints("zero_shot", "translator", of=len(pairs))
    said = into_english(
        pairs, lines["fr"].texts, steps=steps, folder=keep, held=len(pairs) // 200 + 8
    )
    english = Labeled(tuple(said), lines["fr"].labels, POLARITY, "translated")
    row = zero_shot.feelings(reader("MiniLM, in English", 0), in_english, {"fr": english})
    return {"zero": row["zero"], "said": said[:8]}


if profile() == "experiment":
    sweep(
        measure_translated,
        [{"steps": 4000}],
        results_path("04_multilingual", "zero_shot_translated"),
        data="xed, tatoeba_eng_fra",
    )
translated = kept_rows("zero_shot_translated") if real else []
table([[text, said] for text, said in zip(lines["fr"].texts, translated[0]["said"], strict=False)]
      if translated else [["none kept here", ""]], ["a French line", "in its English"])  # fmt: skip

# %% Against the readers tags=["fold"]
if translated:
    by_way = zero_shot.describe(translated[0], "fr")[None]
    against = [["translated, then MiniLM", scored(by_way, "fr"), None]]
    against += [[name, scored(zero(name, "fr"), "fr"), scored(zero(name, "fr"), "fr", less=by_way)]
                for name in told]  # fmt: skip
table(against if translated else [["none kept here", 0.0, None]],
      ["French lines", "macro-F1", "minus translated"],
      formats={"macro-F1": ".2f", "minus translated": ".3f"} if translated else {},
      caption="95 % over lines; one translator")  # fmt: skip

# %% [markdown]
# Many translations are nonsense. All the same they are level with the student: the interval of the
# difference holds 0. e5 is ahead of them by 0.072.
#
# This is no bound for translate-test, because the translator is so poor. With a usable translator
# it is a strong baseline, and often the best one, as in XNLI (Conneau et al. 2018), in the table
# for XQuAD in [4.8](../chapters/04_multilingual/08_cross_lingual_qa.ipynb), and in Artetxe et al.
# (2023).
#
# ## Which words moved it?
#
# The student's vector is a sum over pieces, and its head is a line. So what each word adds to the
# answer is no estimate: the numbers below add up to it exactly
# ([7.4](../chapters/07_explain/04_perturbation.ipynb) has what one does with other networks).

# %% One sentence in four languages tags=["fold"]
from deepdive_book.kit.attribution_text import colored

film = zero_shot.fit_classifier(zero_shot.Vectors(student.vectors), in_english, 1.0)
direction = torch.tensor(film.model.coef_[0], dtype=torch.float32)
SAME = {
    "English": "I love this house, but I hate the cold rain.",
    "French": "J'adore cette maison, mais je déteste la pluie froide.",
    "German": "Ich liebe dieses Haus, aber ich hasse den kalten Regen.",
    "Dutch": "Ik hou van dit huis, maar ik haat de koude regen.",
}
constant = float(film.model.intercept_[0])
totals = [float(student.vectors([sentence])[0] @ direction) for sentence in SAME.values()]
table([[language, total, constant, total + constant]
       for language, total in zip(SAME, totals, strict=True)],
      ["language", "all words", "the head's constant", "answer"],
      formats=dict.fromkeys(["all words", "the head's constant", "answer"], "+.2f"),
      caption="above 0 the answer is good")  # fmt: skip

# %% Coloured tags=["fold"]
from deepdive_book.kit.markup import Html

views = [student.parts(sentence, direction) for sentence in SAME.values()]
for sentence, (_, added) in zip(SAME.values(), views, strict=True):  # nothing is left over
    whole = student.vectors([sentence])[0] @ direction
    assert torch.isclose(added.sum(), whole, atol=1e-3)
Html("".join(colored(words, {name: added}).html
             for name, (words, added) in zip(SAME, views, strict=True)), "")  # fmt: skip

# %% [markdown]
# *Blue speaks for good, orange against it; a row's colours are shares of its largest.* Look for
# *love* and *hate* in each language, and for what the small words add. That the half after *but*
# decides no color can show: a sum is the same in any order.
#
# ## Is it as sure as it is right?

# %% Calibration tags=["fold"]
from deepdive.evaluate import reliability


def trust(name, code):
    """How sure a reader is on average, how often right, and the calibration error."""
    share = np.mean([zero_shot.chances(answers[name, s]["feelings"]["zero"][code])
                     for s in seeds(name)], 0)  # fmt: skip
    found = reliability(np.stack([1 - share, share], 1), lines[code].labels)
    sure = np.maximum(share, 1 - share)
    return [100 * sure.mean(), 100 * ((share > 0.5) == lines[code].labels).mean(), found.error]


table([[NAMES[code], *(cell for name in told for cell in trust(name, code))] for code in lines],
      ["language", *(f"{name}: {what}" for name in told for what in ("sure", "right", "ECE"))],
      formats={f"{name}: {what}": form for name in told for what, form in
               (("sure", ".0f"), ("right", ".0f"), ("ECE", ".3f"))},
      caption="sure: the mean probability of what is said, %; right, %; ECE: the expected "
      "calibration error, the mean gap between the two over ten bins")  # fmt: skip


# %% What it knows of a language tags=["fold"]
def known(code):
    """How many of a language's pieces the student has a row for, in percent."""
    its = [p in lessons.rows for line in lines[code].texts for p in student.tokenizer.encode(line)]
    return 100 * float(np.mean(its))


table([[NAMES[code], known(code), 100 * np.mean(zero("student", code)),
        100 * np.mean(lines[code].labels)] for code in lines],
      ["language", "known pieces", "said good", "labelled good"],
      formats=dict.fromkeys(["known pieces", "said good", "labelled good"], ".0f"),
      caption="the student: percent of the pieces of the lines, and of the lines")  # fmt: skip

# %% One line in six languages, kept tags=["fold"]
LOVE = {"English": "I love you.", "French": "Je t'aime.", "German": "Ich liebe dich.",
        "Dutch": "Ik hou van je.", "Chinese": "我爱你。",
        "Finnish": "Minä rakastan sinua."}  # fmt: skip


def measure_love(reader_of):
    """How probable it is to one reader that each of `LOVE` is good, in percent."""
    its = reader(reader_of, 0)
    head = zero_shot.fit_classifier(its, in_english, zero_shot.strength(its, in_english))
    return {"good": [round(100 * float(p), 1) for p in head.shares([*LOVE.values()])[:, 1]]}


if profile() == "experiment":
    place = results_path("04_multilingual", "zero_shot_love")
    sweep(measure_love, [{"reader_of": "e5"}], place, data="xed")
love = {"the student": 100 * film.shares([*LOVE.values()])[:, 1]}
love |= {row["reader_of"]: row["good"] for row in kept_rows("zero_shot_love")}
table([[f"{line} ({name})", *(its[k] for its in love.values())]
       for k, (name, line) in enumerate(LOVE.items())], ["a line", *love],
      formats=dict.fromkeys(love, ".0f"),
      caption="probability of good, %; the student made above; English labels only")  # fmt: skip

# %% [markdown]
# In the languages of its lessons the student is about as sure as it is right. In Greek it is
# nearly as sure as in French, 68% and 71%, and right in 34%. Its answer does not tell that it
# cannot read. The pieces do: of a hundred it knows 18 in Greek and 97 in French. And of a hundred
# Greek lines it calls 94 good. (Both heads count a rare class as much as a frequent one.) e5's
# error is 0.077 at most.
#
# ## The original's number
#
# The book's own notebook reports 86.3% on 760 English film reviews, with three translated
# sentences for the other languages. By itself 86.3% of 760 has an interval of 2.4 points each
# way. The nearest that we can do: sentences of film reviews (rt_polarity, 10,662), five folds, a
# linear head on vectors that stay as they are.

# %% English film reviews, kept tags=["fold"]
from deepdive.data.reviews import rt_polarity
from deepdive.data.text import shuffled


def measure_films(reader_of):
    """Which answers on rt_polarity are right, "1" or "0" each, over five folds."""
    every = rt_polarity()
    every = every.take(shuffled(range(len(every)), 0))
    its = reader(reader_of, 0)
    best = zero_shot.strength(its, every.take(range(4000)))
    right = zero_shot.by_folds(its, every, best) == np.array(every.labels)
    return {"right": zero_shot.digits(right), "strength": best}


if profile() == "experiment":
    sweep(measure_films, [{"reader_of": name} for name in (*READERS, "e5 and letters")],
          results_path("04_multilingual", "zero_shot_films"), data="rt_polarity")  # fmt: skip
films = kept_rows("zero_shot_films") if real else []
right_on = {row["reader_of"]: np.array([*row["right"]]).astype(float) for row in films}
table([[name, bootstrap(right), bootstrap(right - right_on["e5"]) if name != "e5" else None]
       for name, right in right_on.items()] or [["none kept here", 0.0, None]],
      ["reader", "right", "minus e5"], formats={"right": ".1%", "minus e5": ".1%"} if films else {},
      caption="English only; 95 % over sentences")  # fmt: skip

# %% [markdown]
# No reader here comes to the 86.3% of Kamath et al. 2022, and need not: these are single
# sentences, and those were other reviews. e5 is right on 80.9%, with letters beside its vectors
# on 82.4%. Letters alone have 77.6%, MiniLM, whose weights rest, 76.9% (tuned, an encoder does
# better: [study 3b](03b_reviews.ipynb)), and the student, without any order of words, 69.7%.

# %% [markdown] tags=["aside"]
# ## In the profile `gpu`: an encoder from the hub
#
# Name an encoder of sentences, a folder or a place on the hub, and it takes its seat beside the
# others: LaBSE ([4.4](../chapters/04_multilingual/04_sentence_embeddings.ipynb)) in the profile
# `gpu`. Its folder is read as sentence-transformers wrote it, and where there is a card it reads
# there. No hub is within reach here, so this was tried on a small folder of the same form. A LaBSE
# with random weights read 21,728 texts of 20 pieces on an H200 in 6 to 9 seconds, beside other
# work.

# %% Another encoder tags=["fold"]
import os
from pathlib import Path

from deepdive.published.weights import from_hub
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, CasedWordPieceTokenizer

ENCODER = ""  # @param {type:"string"}
wanted = os.environ.get("DEEPDIVE_ENCODER", ENCODER)
wanted = wanted or pick(ci="", laptop="", gpu="sentence-transformers/LaBSE")


def of_folder(folder):
    """A reader from a folder that sentence-transformers wrote."""
    model = sentence_models.load(folder).to("cuda" if torch.cuda.is_available() else "cpu")
    pieces = (folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    cased = CasedWordPieceTokenizer(pieces, BERT_SPECIALS)
    return zero_shot.Vectors(lambda texts: encode(model, cased, texts, batch_size=32).cpu())


if wanted:
    other = of_folder(Path(wanted) if Path(wanted).is_dir() else from_hub(wanted))
    row = zero_shot.feelings(other, in_english, lines)
    print(wanted, {code: str(scored(zero_shot.describe(row, code), code)) for code in lines})

# %% What it would take tags=["fold"]
from deepdive.models.multilingual import labse
from deepdive_book.kit.cost import CostCard

with torch.device("meta"):  # shapes alone: no memory, no numbers
    large = labse.labse(labse.BASE)
inside = sum(p.numel() for p in large.parameters())
inside -= large.encoder.embeddings.tokens.weight.numel()
read = 20 * (len(in_english) + sum(map(len, lines.values())))
plan = CostCard(flops=2 * inside * read)
print(f"LaBSE, {read:,} pieces read:")
print(f"{plan.flops:.1e} operations, {plan.implied()['K80'] / 60:.1f} minutes on a K80")
assert plan.implied()["K80"] < 60 * 60

# %% The results, kept tags=["fold"]
import re

from deepdive_book.kit.results import results_file, update


def entry(name, found, digits=4):
    return {name: round(found.value, digits),
            f"{name}_interval": [round(found.low, digits), round(found.high, digits)]}  # fmt: skip


report = {}
for name in told:
    key = name.replace(" ", "_")
    report[f"{key}_topics"] = {code: entry("right", bootstrap(topics_right(name, code)))
                               for code in sentences}  # fmt: skip
    report[f"{key}_feelings"] = {code: entry("macro_f1", scored(zero(name, code), code))
                                 for code in lines}  # fmt: skip
report["student_minus_letters_topics"] = {
    code: entry("points", bootstrap(topics_right("student", code) - topics_right("letters", code)))
    for code in sentences}  # fmt: skip
report["reviews"] = {
    re.sub(r"\W+", "_", name): entry("right", bootstrap(right)) for name, right in right_on.items()
}
report = {name: part for name, part in report.items() if part}

# %% Written, and what it cost tags=["fold"]
part = {"profile": profile(), "cores": os.cpu_count(), "seconds": round(history.seconds, 1),
        "data": ["sib200", "tatoeba_eng_cmn", "tatoeba_eng_deu", "tatoeba_eng_fra",
                 "tatoeba_eng_nld", "xed"] if real else ["grammar_pairs"],
        "peak_memory_mb": round(card.peak_memory / 2**20), "metrics": report}  # fmt: skip
print("written:", update(results_file("04_zero_shot"), part, page="04_zero_shot")["study"])
card

# %% [markdown]
# ## Common mistake
#
# *Train on all lines in English, test on the French ones of the same set.* Some of XED's lines
# translate English lines that stand in it too. A model then meets in French what it learned by
# heart in English, label and all, and the score is called zero-shot. Here such lines are left out
# (`in_english = 1`), and of SIB-200 no head has met the English sentence of the one that it is
# asked about.
#
# ## In practice
#
# - Ask for the *places* first: do translations find each other? It costs minutes and no label.
# - Print the majority, a coin, the letters and a head at home beside every number; without them a
#   macro-F1 of 0.6 says nothing.
# - Have a few dozen lines of each language labeled by a person, to test on. A projected label is a
#   person's opinion of another line.
# - Whatever the loss, print beside it what saying the mean always would cost, and the mean cosine
#   of two different sentences.
#
# ## Summary
#
# A student of one matrix, told by 50,000 pairs where an English teacher puts translations, reads
# topics in French, German and Dutch far better than letters do, and feelings about as well as a
# head at home. Where it had no lessons its topics are seldom above the most frequent one, its
# feelings near a coin or below, and it is as sure as ever; e5 is far above both floors in all
# twelve languages. Beside each such number belong a floor, a head at home and an interval, and
# beside a loss what the mean would cost.
#
# *« Je t'aime. »* The student gives *good* 84 parts in a hundred, e5 97. What are such
# answers worth in a language that nobody labeled? In French the student has a macro-F1 of 0.65
# and e5 0.70. That is more than a coin's 0.49, less than their 0.75 and 0.80 in English, and about
# what 960 French lines would have taught the same reader. e5 has 0.64 or more in all eleven
# languages, though in Finnish, Russian and Turkish lines of the language teach it more. The
# student needs lessons: in Greek it is worth less than the coin.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. A student's loss is 0.0022 and falls no more. What do you print before you believe it?
#
#    <details><summary>Answer</summary>
#
#    What it costs to say the mean always, and the cosine of two different sentences.
#
#    </details>
# 2. Heads learn topics from English sentences. Why can all 1,004 French ones be asked about?
#
#    <details><summary>Answer</summary>
#
#    With five folds each French sentence is asked once, of a head that has met neither it nor the
#    English sentence that it translates.
#
#    </details>
# 3. Two languages have the same macro-F1 of 0.60 from English. At home one has 0.62, the other
#    0.75. What do you do for each?
#
#    <details><summary>Answer</summary>
#
#    The first has nearly what this reader can give: another reader, or cleaner labels. In the
#    second labels of its own would help.
#
#    </details>
# 4. Why can the student's words be added up, and e5's not?
#
#    <details><summary>Answer</summary>
#
#    The student's vector is a weighed sum over pieces and the head a line, so each piece has a
#    share of its own. In e5 twelve layers mix the pieces before they are summed.
#
#    </details>
# 5. In what is the translated way better off than the student, and in what is it worse off?
#
#    <details><summary>Answer</summary>
#
#    Its translator has seen all French pairs, the student 16,000, and its reader, MiniLM, is better
#    in English. But MiniLM reads what the translator made of a line, the student the line itself.
#
#    </details>
#
# ## Further reading
#
# - Reimers and Gurevych (2020), *Making Monolingual Sentence Embeddings Multilingual using
#   Knowledge Distillation*.
# - The library sentence-transformers, issue 1164, *the 'make_multilingual.py' result is poor*:
#   students with one vector for all, and better ones after another teacher.
# - Öhman, Pàmies, Kajava and Tiedemann (2020), *XED: A Multilingual Dataset for Sentiment Analysis
#   and Emotion Detection*.
# - Adelani et al. (2024), *SIB-200: A Simple, Inclusive, and Big Evaluation Dataset for Topic
#   Classification in 200+ Languages and Dialects*.
# - Yang et al. (2020), *Multilingual Universal Sentence Encoder for Semantic Retrieval*: the
#   encoder of the book's notebook.
# - Wang et al. (2024), *Multilingual E5 Text Embeddings: A Technical Report*.
#
# <!--
# System: cs_multilingual
# Parent: muse
# What differs:
# - a student of one matrix is placed by an English teacher
#   (`deepdive_book.studies.runs.multilingual_distillation`), in place of an encoder that was bought
#   ready
# - every language has its majority, its letters, its ceiling and its labels' worth beside it
#   (`deepdive_book.studies.runs.zero_shot`), and translation as a rival
#   (`deepdive_book.studies.runs.translate_test`)
# - lines whose source is among the English lessons are left out
#   (`deepdive_book.data.subtitles.xed`)
# Source: Kamath, Graham and Emara 2022, section 4.4.
# Book: 4.4
# -->
