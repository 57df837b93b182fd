# %% [markdown] tags=["slide"]
# # Feelings in a language that nobody labelled
#
# *« Je t'aime. »* Is the feeling in this line good or bad? A program has seen eight thousand lines
# of English films, and people told it of each. It has seen no French line with a label, nor a
# German, Dutch, Chinese or Finnish one. Asked in these languages, what are its answers worth: more
# than a guess, as much as an English one, as much as labels of the language itself would have
# brought?
#
# <small>Book 4.4 · before this page:
# [two encoders](../chapters/04_multilingual/04_two_encoders.ipynb) and
# [tests in 24 languages](../chapters/04_multilingual/07_benchmarks.ipynb) · 20 min to read ·
# about five minutes to run on one core, half a minute in `ci`; the long runs are kept</small>

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

# %% What is kept of the long runs tags=["fold"]
import json

from deepdive.data.grammar import grammar_pairs
from deepdive.data.parallel import parallel
from deepdive.data.reviews import POLARITY, Labelled
from deepdive.page.experiments import checkpoints, kept, sweep
from deepdive.page.profile import banner, pick, profile
from deepdive.page.runs import students, zero_shot
from deepdive.page.tables import table

real = profile() != "ci"


def kept_rows(name):
    """The rows of a kept file, none outside the checkout."""
    place = kept("04_multilingual", name)
    return json.loads(place.read_text("utf-8"))["rows"] if place and place.is_file() else []


answers = {(row["reader_of"], row["seed"]): row for row in kept_rows("zero_shot")}

# %% The texts tags=["fold"]
KINDS, NOT = ("costs", "born", ""), ("not", "")


def generated(side, kinds, names, first, n=300):
    """Generated sentences of a language, and of which kind each is."""
    some = [*grammar_pairs(3000)][first : first + n]
    labels = tuple(next(k for k, mark in enumerate(kinds) if mark in pair[0]) for pair in some)
    return Labelled(tuple(pair[side] for pair in some), labels, names, "grammar_pairs (generated)")


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

from deepdive.page.phrasebook import phrasebook

NAMES = zero_shot.XED | zero_shot.SIB
SHOWN = ("fr", "de", "nl", "cn", "fi_annotated")


def looked_up(code, count=70):
    """Lines of a language: what people say of them, and what two readers do."""
    said = [zero_shot.said_of(answers[name, 0]["feelings"], code) for name in ("student", "e5")]
    return [(text, NAMES[code], POLARITY[truth], *(POLARITY[k] for k in both))
            for text, truth, *both in zip(lines[code].texts[:count], lines[code].labels, *said,
                                          strict=False)]  # fmt: skip


if answers and real:
    view = [row for some in zip(*map(looked_up, SHOWN), strict=False) for row in some]
else:
    some = lines["fr"].take(range(50))
    view = [(text, "French", POLARITY[k], "-", "-")
            for text, k in zip(some.texts, some.labels, strict=True)]  # fmt: skip
phrasebook(view, ("a line", "language", "people say", "the student says", "e5 says"),
           ask="Type a word of one of the languages")  # fmt: skip

# %% [markdown]
# *Lines of film subtitles in five languages, what the labels say of each, and what two programs
# say that saw labels in English only. Type* amour, Tod, bang, 爱 *or* ei *and look for lines on
# which the two disagree.*
#
# ## By hand: what has to cross
#
# A **head** is a line drawn on the vectors of English sentences. Let it be
# $2x - y$: above zero the feeling is good.
#
# | | vector | $2x - y$ | said |
# |---|---|---|---|
# | *I love you.* | (3, 1) | 5 | good |
# | *I hate this.* | (1, 4) | -2 | bad |
# | *Je t'aime.*, placed near its translation | (2, 1) | 3 | good |
# | *Je t'aime.*, placed elsewhere | (1, 3) | -1 | bad |
#
# The head never learns French. If an encoder places a sentence where it places its translation, the
# English head is right on both. If it keeps French in another corner, no English head helps, even
# if love and hate lie far apart in that corner. So zero-shot transfer is a question of *places*,
# and one can ask for them: here is where the English sentence stands; put the French one there.
#
# ## The texts
#
# **Lessons**: 8,000 English lines of film subtitles (XED), which people called good or bad.
#
# **Feelings**: up to 1,200 lines in each of twelve languages. English and Finnish ones were
# labelled by people. In the others the label is that of the line which the line translates, and it
# is noisy.
#
# **Topics**: 1,004 sentences in each of twelve languages (SIB-200), about seven topics. People
# translated them from English, so one label is true in all.
#
# Of the lines in other languages, those are left out whose source stands among the English ones.

# %% Lines and sentences tags=["fold"]
print(banner("xed, sib200, tatoeba (real)" if real else "sentences of a grammar (generated)"))
table([[NAMES[code], len(some), 100 * sum(some.labels) / len(some)]
       for code, some in lines.items()], ["language", "lines to test", "of them good, %"],
      formats={"of them good, %": ".0f"},
      caption=f"and {len(in_english):,} English lines to learn from")  # fmt: skip

# %% [markdown] tags=["slide"]
# ## A student, told where to put things
#
# The teacher is MiniLM, which knows English. The **student** gets 50,000 pairs of translations from
# Tatoeba: 16,000 each in French, German and Dutch, and only 2,000 in Chinese. The teacher reads the
# English side; the student reads the other side and the English one, and is told to place both
# where the teacher placed the English one (Reimers and Gurevych 2020). No label is involved.
#
# To be made in minutes, it is as small as can be: a row of 384 numbers and a weight for each piece
# of a word, and
#
# $$u = \sum_t a_t \, \text{table}[\text{piece}_t], \qquad
# a = \text{softmax}_t(\text{weight}[\text{piece}_t])$$
#
# There is no layer and no order of words: *man bites dog* and *dog bites man* are one.

# %% The teacher tags=["fold"]
from functools import cache

import torch

from deepdive.models.bert.sbert import encode
from deepdive.page.kept_vectors import kept_vectors
from deepdive.published import sentences as sentence_models
from deepdive.published.multilingual_e5 import QUERY, e5_model, e5_tokenizer
from deepdive.published.pretrained import minilm, minilm_tokenizer


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
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return encode(e5_model(), e5_tokenizer(), [QUERY + t for t in texts], batch_size=32).float()


# %% Lessons for the student tags=["fold"]
PAIRS = {"fra": 16_000, "deu": 16_000, "nld": 16_000, "cmn": 2000}


def pairs_to_learn(most):
    """Pairs of translations, no more than `most` says of each language."""
    if not real:
        return {"fra": grammar_pairs(1500)}
    return {code: parallel(code).pairs[:n] for code, n in most.items()}


lessons = students.lessons_of(pairs_to_learn(PAIRS), e5_tokenizer())
theirs = kept_vectors(placed, lessons.english, "zero_shot", of="MiniLM")
print(f"{len(lessons.of) - len(lessons.english):,} pairs, {len(lessons.english):,} different "
      f"English sentences, {len(lessons.rows):,} pieces")  # fmt: skip

# %% [markdown]
# ## A loss that looks like success
#
# How far off is a student? The first thing that comes to mind is the squared distance, the mean
# over the numbers of a vector. Let the teacher place two sentences at (0.6, 0.8) and (0.8, -0.6),
# both of length 1. A student that knows nothing can always answer with their mean, (0.7, 0.1). Its
# squared distance is 0.25 a number. With 384 numbers in place of two, that falls to about
# $1 / 384$: a vector of length 1 has small numbers.

# %% Check it tags=["fold", "nbval-check-output"]
two = torch.tensor([[0.6, 0.8], [0.8, -0.6]])
print(f"always the mean: {((two - two.mean(0)) ** 2).mean():.2f} a number")
average = theirs.mean(0)
always = ((theirs - average) ** 2).mean()
assert torch.isclose(always, (1 - average @ average) / 384, rtol=1e-3)

# %% tags=["fold"]
print(f"the mean of all English sentences of the lessons, always: {always:.5f} a number")

# %% tags=["slide", "fold"]
from deepdive.page.predictions import predict

predict(
    "A small BERT as student, squared distance: after 350 steps its loss has fallen to 0.0021. Of "
    "500 sentences that it has not met, how many have their own English sentence as the nearest?",
    ["nearly all: the loss is nearly 0", "about half", "about one in a hundred"],
    answer=2,
    explain="0.0023 is what the mean of all sentences costs, said of each. The student has learned "
    "that mean and little more: all its vectors point the same way.",
    key="04_multilingual/squared",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Two losses, step by step: open this once you have predicted

# %% The same student with two losses, kept tags=["surprise", "fold"]
LOSSES = {"squared": students.squared, "cosine": students.cosine}


def measure_loss(loss, seed, steps):
    return {"steps_seen": students.watched(lessons, theirs, loss=LOSSES[loss], seed=seed,
                                           steps=steps, every=steps // 10)}  # fmt: skip


if profile() == "experiment":
    points = [{"loss": loss, "seed": s, "steps": 500} for s in range(3) for loss in LOSSES]
    sweep(measure_loss, points, kept("04_multilingual", "zero_shot_losses"), data="tatoeba_eng_fra,"
          " tatoeba_eng_deu, tatoeba_eng_nld, tatoeba_eng_cmn")  # fmt: skip
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
      caption="its value and the cosine after 350 steps; found, %, after 150, 350, 400 and 500; on "
      "500 sentences that were not met")  # fmt: skip

# %% Drawn tags=["surprise", "fold"]
from matplotlib.figure import Figure

from deepdive.page.palette import ROLES
from deepdive.page.plotting import show

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
panels[1].set(title="translations found, %", xlabel="step", ylim=(0, 100))
if curves:
    panels[1].legend()
show(figure, "Two panels over the steps of training, three seeds of each loss. With the squared "
     "distance any two sentences are alike and hardly a translation is found before step 400; with "
     "the cosine they come apart, and translations are found from step 150 on.")  # fmt: skip

# %% [markdown] tags=["surprise"]
# *Squares: cosine. Dots: squared distance. Three seeds each.* With the squared distance the student
# says the mean of all sentences, whatever it reads: for 350 steps, in each of three seeds, it finds
# no more than one or two in a hundred, while its loss looks excellent. It is not a fault of the
# loss in the limit, for the mean is not its lowest point, and near step 400 the students come
# loose. By then the others have found four in ten. Users of a library have met this with a teacher
# whose vectors have length 1, and reported that *every sentence similarity is 1.0* after twelve
# hours (named below, in *Further reading*). The cosine says 0 for a right direction and 1 for a
# useless one, so one sees how much is left to do.
#
# From here on the loss is the cosine, and the student the small one, without layers.

# %% The student is made
from deepdive.page.cost import measure as measured

with measured() as card:
    student, history = students.taught(
        lessons, theirs, e5_tokenizer(), epochs=pick(ci=3, laptop=8, gpu=8)
    )
pieces = sum(map(len, lessons.pieces)) / len(lessons.pieces)  # of a sentence
card.flops = 6 * 384 * history.steps * students.BATCH * pieces
print(f"{sum(w.numel() for w in student.net.parameters()):,} numbers, {history.seconds:.0f} s")
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


codes = ("fra", "deu", "nld", "cmn", "fin", "spa") if real else ("fra",)
table([[code, found(code)] for code in codes], ["language", "found, %"],
      formats={"found, %": ".0f"},
      caption="Tatoeba's test; none of its sentences is among the lessons")  # fmt: skip

# %% [markdown]
# The student reads the other language, MiniLM the English: two programs that never met find each
# other's sentences, in the languages of the lessons. In Finnish and Spanish, of which it has had no
# lesson, it finds what shares a name.

# %% [markdown]
# ## First, topics
#
# Before feelings a question whose labels are sure. Of the 1,004 sentences a head learns topics in
# English, from four fifths of them, and is asked in another language about the last fifth, five
# times over. The readers:
#
# - **letters**: runs of one to five letters, no encoder (TF-IDF); what it knows of French is what
#   French spells like English
# - **MiniLM, in English**: the teacher itself, reading a language that it has not learned
# - **student**, trained three times; further one with 5,000 pairs, and one with all that there are
# - **e5**: multilingual-e5-small, in
#   [our own code](../chapters/04_multilingual/07_benchmarks.ipynb), made with about a billion pairs


# %% Five readers tags=["fold"]
def taught(most, seed=0, epochs=8):
    """A student of its own lessons, kept while it is made."""
    if most == PAIRS:
        its, vectors = lessons, theirs
    else:
        its = students.lessons_of(pairs_to_learn(most), e5_tokenizer())
        vectors = kept_vectors(placed, its.english, "zero_shot", of="MiniLM")
    keep = checkpoints("zero_shot", "student", of=(its.english, seed))
    return students.taught(its, vectors, e5_tokenizer(), seed=seed, epochs=epochs, folder=keep)[0]


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
            lambda texts: kept_vectors(read[name], texts, "zero_shot", of=name)
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
          kept("04_multilingual", "zero_shot"), data="sib200, xed, tatoeba_eng_fra, "
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
    explain="For the student a language without lessons is a row of pieces that mean something "
    "elsewhere. A name or a word that looks English helps the letters, which ask for no more.",
    key="04_multilingual/never-seen",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Topics in twelve languages: open this once you have predicted


# %% Who is right, sentence by sentence tags=["surprise", "fold"]
def seeds(name):
    return sorted(seed for who, seed in answers if who == name)


def topics_right(name, code):
    """Of each sentence in percent: is its topic right, the mean over trainings?"""
    said = [[*answers[name, seed]["topics"]["said"][code]] for seed in seeds(name)]
    return 100 * (np.array(said).astype(int) == sentences[code].labels).mean(0)


READERS = [name for name in ("letters", "MiniLM, in English", "student", "e5") if seeds(name)]
heads = [f"{name}" for name in READERS]
shown = [[NAMES[code], *(bootstrap(topics_right(name, code)) for name in READERS),
          bootstrap(topics_right("student", code) - topics_right("letters", code))]
         for code in sentences]  # fmt: skip
table(shown, ["language", *heads, "student - letters"],
      formats=dict.fromkeys([*heads, "student - letters"], ".0f"),
      caption=f"topics right, %, of {len(sentences['eng_Latn']):,}; learned in English; 95 % over "
      "sentences")  # fmt: skip

# %% What the targets were tags=["surprise", "fold"]
if len(READERS) == 4:
    for code in ("fra_Latn", "deu_Latn", "nld_Latn"):
        assert bootstrap(topics_right("student", code) - topics_right("letters", code)).low > 0
    most_of_e5 = [code for code in sentences if topics_right("e5", code).mean() >= 80]
    assert len(most_of_e5) >= 5
    print("e5 at 80 % or more:", ", ".join(NAMES[code] for code in most_of_e5))
    usual = 100 * np.bincount(sentences["eng_Latn"].labels).max() / len(sentences["eng_Latn"])
    print(f"always the most frequent topic: {usual:.0f} %")

# %% More pairs, fewer pairs tags=["surprise", "fold"]
sizes = [name for name in ("student of 5,000 pairs", "student", "student of all pairs")
         if seeds(name)]  # fmt: skip
learned_codes = ("fra_Latn", "deu_Latn", "nld_Latn", "zho_Hans")
taught_in = {code: NAMES[code] for code in learned_codes if code in sentences}
table([[name if name != "student" else "student of 50,000 pairs",
        *(bootstrap(topics_right(name, code)) for code in taught_in)] for name in sizes],
      ["", *taught_in.values()], formats=dict.fromkeys(taught_in.values(), ".0f"),
      caption="topics right, %; one training but for the middle row, three")  # fmt: skip

# %% [markdown] tags=["surprise"]
# In French, German and Dutch the student is ahead of the letters by 10, 17 and 18 points, each
# interval far above 0. In Chinese, which shares no word with English, 2,000 pairs bring it to 42.
# In the seven languages without lessons the letters are ahead of it, in Finnish by nine points:
# there its pieces are those of other languages, and mean something else.
#
# The teacher holds a surprise. Made for English, it gets 68 % of the French topics, no fewer than
# its own student, but in German and Dutch only 53 and 54 %. An *English* model has met more than
# English.
#
# And e5 is right in 80 % or more in ten of the twelve, without a label but English ones.
#
# With 5,000 pairs the student is behind the letters in all four languages of its lessons. With all
# pairs that there are Chinese gains most, from 42 to 60 %, French and German gain some, Dutch
# nothing. (The first and the last are one training each.)

# %% [markdown]
# ## Where the mistakes lie

# %% A map of errors tags=["fold"]
mapped = [name for name in ("student", "e5") if seeds(name)]
topics_named = sentences["eng_Latn"].names
figure = Figure(figsize=(7.2, 4.4), layout="constrained")
panels = figure.subplots(1, len(mapped), squeeze=False, sharey=True)[0]
for panel, name in zip(panels, mapped, strict=True):
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

# %% [markdown]
# *Columns are topics, from left to right as SIB-200 names them; each number is the share of right
# answers.* e5 is most often wrong on entertainment in nine of the twelve languages. With 2,000
# pairs the student knows of Chinese the sentences on entertainment and travel, and one in four of
# those on health and geography: the words of those are not in 2,000 everyday sentences. In Swahili
# e5 loses sports before all else.
#
# ## Now feelings
#
# The classes are unequal: two lines in three are bad ones. So the score is **macro-F1**, the mean
# of both classes' F1, by which whoever always says *bad* gets 0.40. Beside each reader's answer
# from English stands its **ceiling**, a head of the same reader that learned from the language's
# own lines, four fifths of those of the test, five times over.

# %% tags=["slide", "fold"]
predict(
    "On topics the student gets 65 % in French. Feelings need fewer classes, but a *not* can "
    "turn them over, and the student has no order of words. What is its macro-F1 in French?",
    ["about 0.40: no more than always bad", "about 0.65", "about 0.75, as much as in English"],
    answer=1,
    explain="Most lines give themselves away by a word. But a line of film is short, and much of "
    "its feeling is in the scene, not in the words.",
    key="04_multilingual/feelings",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Feelings in twelve languages: open this once you have predicted

# %% Macro-F1 from English, and at home tags=["surprise", "fold"]
from deepdive.evaluate import macro_f1_interval


def zero(name, code):
    """What a reader's trainings say of each line, (seeds, N)."""
    return np.array([zero_shot.said_of(answers[name, s]["feelings"], code) for s in seeds(name)])


def own(name, code):
    said = [[*answers[name, s]["feelings"]["own"][code]] for s in seeds(name)]
    return np.array(said).astype(int)


def scored(said, code, less=None):
    return macro_f1_interval(said, lines[code].labels, 2, less=less)


def usual(code):
    return np.zeros(len(lines[code]), int)


table([[NAMES[code], scored(usual(code), code).value,
        *(scored(zero(name, code), code) for name in READERS)] for code in lines],
      ["language", "always bad", *heads], formats=dict.fromkeys(["always bad", *heads], ".2f"),
      caption="macro-F1 of feelings; learned from English lines; 95 % over lines")  # fmt: skip


# %% How far that is from the ceiling tags=["surprise", "fold"]
def gained(name, code):
    """How much of what the ceiling is above `usual` was had from English, in percent."""
    floor, top = scored(usual(code), code).value, scored(own(name, code), code).value
    return 100 * (scored(zero(name, code), code).value - floor) / (top - floor)


told = [name for name in ("student", "e5") if seeds(name)]
table([[NAMES[code], *(cell for name in told for cell in (
            scored(own(name, code), code), gained(name, code)))] for code in lines],
      ["language", *(f"{name}, {what}" for name in told for what in ("ceiling", "of it, %"))],
      formats={f"{name}, {what}": form for name in told
               for what, form in (("ceiling", ".2f"), ("of it, %", ".0f"))},
      caption="macro-F1 learned in the language itself, and how much of what it is above “always "
      "bad” was had from English")  # fmt: skip

# %% Against labels of the language, line by line tags=["surprise", "fold"]
near = [code for code in SHOWN if code in lines]
table([[NAMES[code], *(scored(zero(name, code), code, less=own(name, code)) for name in told)]
       for code in near], ["language", *told], formats=dict.fromkeys(told, ".3f"),
      caption="macro-F1 from English minus from the language itself, the same lines; 95 % over "
      "lines")  # fmt: skip

# %% [markdown] tags=["surprise"]
# In French, German, Dutch and Chinese the student is far above whoever always says *bad*, and what
# it says from English is as good as what it says after a thousand lines of the language itself: the
# differences hold 0. (More than 100 % is no miracle: the English head has had eight times as many
# lessons.) *Which* words are glad is learned once, if the places are right. Finnish, the language
# that the student never saw and that people labelled, is where it costs: 79 % of what its own
# labels bring above the floor, for e5 80 %, and both intervals lie below 0.
#
# Where it has no lessons at all and no letters in common, in Greek, it falls below the floor: 0.29.
# It is not undecided there. It just says *good* more often.

# %% [markdown]
# ## How many labels is English worth?
#
# A person could label some lines of the language itself, and throw English away. How many would
# make the English head needless? For each number, 20 samples of lines; a head learns from them
# alone, by the same reader, and is tested on the other half of the lines.


# %% Few labels, kept tags=["fold"]
def measure_labels(reader_of, language):
    return zero_shot.few_labels(reader(reader_of, 0), in_english, lines[language],
                                zero_shot.LABELS if real else (16, 64))  # fmt: skip


FEW = ("fr", "de", "nl", "fi_annotated")
if profile() == "experiment":
    sweep(measure_labels, [{"reader_of": name, "language": code} for name in ("student", "e5")
                           for code in FEW], kept("04_multilingual", "zero_shot_labels"),
          data="xed")  # fmt: skip
few = kept_rows("zero_shot_labels") if real else [
    {"reader_of": "student", "language": "fr", **measure_labels("student", "fr")}]  # fmt: skip

# %% Drawn tags=["fold"]
drawn = sorted({row["language"] for row in few}, key=[*lines].index)
figure = Figure(figsize=(7.2, 2.6 * ((len(drawn) + 1) // 2)), layout="constrained")
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
    panel.set(title=NAMES[code], xscale="log", ylim=(0.3, 0.8), ylabel="macro-F1",
              xlabel="labelled lines of the language")  # fmt: skip
    panel.set_xticks(at, at)
    panel.minorticks_off()
panels = [*figure.axes]
panels[0].legend(loc="upper left")
show(figure, "Macro-F1 against the number of labelled lines of the language itself, on a log "
     "scale, for the student and e5, with a dashed line each for what English labels alone "
     "bring.")  # fmt: skip

# %% [markdown]
# *Points: the median of 20 samples; bands: nine in ten of them. Dashed: what the English head says,
# without one label of the language.*


# %% As a table tags=["fold"]
def worth(row):
    """From how many labels on the median sample is above the English head; none: more than all."""
    for n, scores in row["labels"].items():
        if np.median(scores) > row["zero"]:
            return int(n)
    return None


table([[NAMES[row["language"]], row["reader_of"], row["zero"], worth(row),
        float(np.median(row["labels"][max(row["labels"], key=int)]))] for row in few],
      ["language", "reader", "from English", "labels for as much", "with the most labels"],
      formats={"from English": ".2f", "with the most labels": ".2f"},
      caption="macro-F1 on the second half of the lines; labels from which on the median is above "
      "English; empty: not with any")  # fmt: skip

# %% [markdown]
# In French and German not even 512 labelled lines bring e5 to what 8,000 English lines brought; in
# Dutch it takes all 512. Nor do they overtake the student in French and Dutch. In Finnish, 32 lines
# are enough for e5. That is not Finnish alone: its lines were labelled by other people than the
# English ones, and what *good* means to them can be learned from them only. In the other three the
# labels were carried over from lines of the kind that the head has learned from.
#
# ## The rival: translate first
#
# Why ask a reader to know French at all? Translate the line into English and ask the English
# reader: **translate-test**. The translator is [study 2's](02_translation.ipynb) Transformer turned
# round, from French into English, trained on Tatoeba's pairs; the reader is MiniLM, whose head
# learned from the same English lines.

# %% Translated, kept tags=["fold"]
from deepdive.page.runs.translate_test import into_english


def measure_translated(steps):
    """Translations of the French lines, and what MiniLM's head says of them."""
    pairs = parallel("fra").pairs if real else grammar_pairs(600)
    keep = checkpoints("zero_shot", "translator", of=len(pairs))
    said = into_english(
        pairs, lines["fr"].texts, steps=steps, folder=keep, held=len(pairs) // 200 + 8
    )
    english = Labelled(tuple(said), lines["fr"].labels, POLARITY, "translated")
    row = zero_shot.feelings(reader("MiniLM, in English", 0), in_english, {"fr": english})
    return {"zero": row["zero"], "said": said[:8]}


if profile() == "experiment":
    sweep(measure_translated, [{"steps": 4000}], kept("04_multilingual", "zero_shot_translated"),
          data="xed, tatoeba_eng_fra")  # fmt: skip
translated = kept_rows("zero_shot_translated") if real else []
table([[text, said] for text, said in zip(lines["fr"].texts, translated[0]["said"], strict=False)]
      if translated else [["none kept here", ""]], ["a French line", "in its English"])  # fmt: skip

# %% Against the readers tags=["fold"]
if translated:
    by_way = zero_shot.said_of(translated[0], "fr")[None]
    against = [["translated, then MiniLM", scored(by_way, "fr"), None]]
    against += [[name, scored(zero(name, "fr"), "fr"), scored(zero(name, "fr"), "fr", less=by_way)]
                for name in told]  # fmt: skip
table(against if translated else [["none kept here", 0.0, None]],
      ["French lines", "macro-F1", "minus translated"],
      formats={"macro-F1": ".2f", "minus translated": ".3f"} if translated else {},
      caption="95 % over lines; one translator")  # fmt: skip

# %% [markdown]
# The translations are what so small a translator gives of film lines, and many are nonsense. Often
# the word that tells the feeling comes through all the same: translated lines are level with the
# student, and e5 is ahead of them by 0.072. A better translator would do better; it would also be a
# larger model than any reader here.
#
# ## Which words moved it?
#
# The student's vector is a sum over pieces, and its head is a line. So what each word adds to the
# answer is no estimate: the numbers below add up to it exactly
# ([7.4](../chapters/07_explain/04_perturbation.ipynb) has what one does with other networks).

# %% One sentence in four languages tags=["fold"]
from deepdive.page.explained import coloured

film = zero_shot.learned(zero_shot.Vectors(student.vectors), in_english, 1.0)
direction = torch.tensor(film.model.coef_[0], dtype=torch.float32)
SAME = {
    "English": "I love this house, but I hate the cold rain.",
    "French": "J'adore cette maison, mais je déteste la pluie froide.",
    "German": "Ich liebe dieses Haus, aber ich hasse den kalten Regen.",
    "Dutch": "Ik hou van dit huis, maar ik haat de koude regen.",
}
for language, sentence in SAME.items():
    words, added = student.parts(sentence, direction)
    total = float(student.vectors([sentence])[0] @ direction)
    print(f"{language}: {total + film.model.intercept_[0]:+.2f}, of it the words {total:+.2f}")

# %% Coloured tags=["fold"]
from deepdive.page.markup import Html

views = [student.parts(sentence, direction) for sentence in SAME.values()]
for sentence, (_, added) in zip(SAME.values(), views, strict=True):  # nothing is left over
    whole = student.vectors([sentence])[0] @ direction
    assert torch.isclose(added.sum(), whole, atol=1e-3)
Html("".join(coloured(words, {name: added}).html
             for name, (words, added) in zip(SAME, views, strict=True)), "")  # fmt: skip

# %% [markdown]
# *Blue speaks for good, orange against it; a row's colours are shares of its largest.* Look for
# *love* and *hate* in each language, and for what the small words add. What no colour shows is the
# *but*: a sum of pieces has no second half that decides.
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
      ["language", *(f"{name}: {what}" for name in told for what in ("sure", "right", "error"))],
      formats={f"{name}: {what}": form for name in told for what, form in
               (("sure", ".0f"), ("right", ".0f"), ("error", ".3f"))},
      caption="sure and right in percent, on average; error: the expected calibration error, ten "
      "bins")  # fmt: skip

# %% [markdown]
# In the languages of its lessons the student is about as sure as it is right. In Greek it is nearly
# as sure as in French, 68 % and 71 %, and right in a third. Nothing in its answer tells that it
# cannot read. e5's error is 0.077 at most.
#
# ## The original's number
#
# The book's own notebook reports 86.3 % on 760 English film reviews, with three translated
# sentences for the other languages. By itself 86.3 % of 760 has an interval of 2.4 points each way.
# The nearest that we can do: sentences of film reviews (rt_polarity, 10,662), five folds, a linear
# head on vectors that stay as they are.

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
          kept("04_multilingual", "zero_shot_films"), data="rt_polarity")  # fmt: skip
films = kept_rows("zero_shot_films") if real else []
right_on = {row["reader_of"]: np.array([*row["right"]]).astype(float) for row in films}
table([[name, bootstrap(right), bootstrap(right - right_on["e5"]) if name != "e5" else None]
       for name, right in right_on.items()] or [["none kept here", 0.0, None]],
      ["reader", "right", "minus e5"], formats={"right": ".1%", "minus e5": ".1%"} if films else {},
      caption="English only; 95 % over sentences")  # fmt: skip

# %% [markdown]
# No reader here comes to the 86.3 % of Kamath et al. 2022, and need not: these are single
# sentences, and those were other reviews. e5 is right on 80.9 %, with letters beside its vectors on
# 82.4 %. Letters alone have 77.6 %, MiniLM 76.9 %: for English feelings an encoder whose weights
# rest is not much. (Tuned, it is: [study 3b](03b_reviews.ipynb).) The student, without any order of
# words, has 69.7 %.
#
# ## In the profile `gpu`: an encoder from the hub
#
# Name an encoder of sentences, a folder or a place on the hub, and it takes its seat beside the
# others: LaBSE ([4.4](../chapters/04_multilingual/04_two_encoders.ipynb)) in the profile `gpu`. Its
# folder is read as sentence-transformers wrote it. No hub is within reach here, so this was tried
# on a small folder of the same form.

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
    model = sentence_models.load(folder)
    pieces = (folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    cased = CasedWordPieceTokenizer(pieces, BERT_SPECIALS)
    return zero_shot.Vectors(lambda texts: encode(model, cased, texts, batch_size=32))


if wanted:
    other = of_folder(Path(wanted) if Path(wanted).is_dir() else from_hub(wanted))
    row = zero_shot.feelings(other, in_english, lines)
    print(wanted, {code: str(scored(zero_shot.said_of(row, code), code)) for code in lines})

# %% What it would take tags=["fold"]
from deepdive.models.multilingual import labse
from deepdive.page.cost import CostCard

with torch.device("meta"):  # shapes alone: no memory, no numbers
    large = labse.labse(labse.BASE)
inside = sum(p.numel() for p in large.parameters())
inside -= large.encoder.embeddings.tokens.weight.numel()
read = 20 * (len(in_english) + sum(map(len, lines.values())))
plan = CostCard(flops=2 * inside * read)
print(f"LaBSE, {read:,} pieces read: {plan.flops:.1e} operations, "
      f"{plan.implied()['K80'] / 60:.1f} minutes on a K80")  # fmt: skip
assert plan.implied()["K80"] < 60 * 60

# %% The results, kept tags=["fold"]
import re

from deepdive.page.results import results_file, update


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
# *Train on 27,000 lines in English, test on the French ones of the same set.* In XED a third of the
# lines in other languages are translations of English lines that stand in the same set. A model
# then meets in French what it learned by heart in English, label and all, and the score is called
# zero-shot. Here the lines with `in_english = 1` are left out
# (`deepdive.data.subtitles.xed`), and of SIB-200 no head has met the English sentence of the one
# that it is asked about.
#
# ## In practice
#
# - Ask for the *places* first: do translations find each other? It costs minutes and no label.
# - Print the majority, the letters and the ceiling beside every number; without them a macro-F1 of
#   0.6 says nothing.
# - Have a few dozen lines of each language labelled by a person, to test on. A projected label is
#   another program's opinion.
# - A loss on vectors of length 1 should be the cosine or a ranking; whatever it is, print the mean
#   cosine of two different sentences beside it.
#
# ## In three sentences
#
# A student of one matrix, told by 50,000 pairs where an English teacher puts translations, reads
# topics in French, German and Dutch far better than letters do, and feelings as well as a head that
# learned from a thousand lines of the language itself. Where it had no lessons it is worse than
# letters and as sure as ever; an encoder of a hundred languages is right nearly everywhere. Beside
# each such number belong a floor, a ceiling and an interval, and a loss that looks small has to say
# what the mean would cost.
#
# *« Je t'aime. »* So what are answers worth in a language that nobody labelled? With e5 a macro-F1
# of 0.64 to 0.72 in eleven languages, where a guess has 0.40 and English 0.80; in French and German
# more than 512 labelled lines of the language would bring. In Finnish 32 lines labelled by people
# of its own bring more. What crosses is the place of a sentence. What its labellers mean by *good*
# does not.
#
# ## Five questions
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
# 2. Why are topics judged on all 1,004 sentences and not on the 204 of the test part alone?
#
#    <details><summary>Answer</summary>
#
#    The languages' sentences carry no label that is learned from, only English ones do. With five
#    folds each sentence is asked once, of a head that has met neither it nor its English one, and
#    intervals become less than half as wide.
#
#    </details>
# 3. Two languages have the same macro-F1 of 0.60 from English. One has a ceiling of 0.62, the other
#    of 0.75. What do you do for each?
#
#    <details><summary>Answer</summary>
#
#    The first has what this reader can give: another reader, or cleaner labels. In the second
#    labels of its own would help.
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
# 5. What would make the comparison with translate-test unfair?
#
#    <details><summary>Answer</summary>
#
#    A translator that has seen more pairs than the student, as here: all French ones. And a reader
#    that is better in English, as MiniLM is. Both are part of what the way costs.
#
#    </details>
#
# ## Further reading
#
# - Reimers and Gurevych (2020), *Making Monolingual Sentence Embeddings Multilingual using
#   Knowledge Distillation*.
# - The library sentence-transformers, issue 1164, *the make_multilingual.py result is poor*: a
#   teacher with vectors of length 1, and students that say one vector.
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
# - a student of one matrix is placed by an English teacher (`deepdive.page.runs.students`), in
#   place of an encoder that was bought ready
# - every language has its majority, its letters, its ceiling and its labels' worth beside it
#   (`deepdive.page.runs.zero_shot`), and translation as a rival
#   (`deepdive.page.runs.translate_test`)
# - lines whose source is among the English lessons are left out (`deepdive.data.subtitles.xed`)
# Source: Kamath, Graham and Emara 2022, section 4.4.
# Book: 4.4
# -->
