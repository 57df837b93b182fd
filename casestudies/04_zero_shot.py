# %% [markdown] tags=["slide"]
# # Feelings in a language that nobody labelled
#
# *« Je t'aime. »* Is the line glad or not? A program has seen eight thousand lines of English films,
# and people said of each whether the feeling in it is good or bad. It has seen no French line with
# a label, nor a German, Dutch, Chinese or Finnish one. Asked in these languages, what are its
# answers worth: more than a guess, as much as an English one, as much as labels of the language
# itself would have brought?
#
# <small>Book 4.5 · before this page: [two encoders](../chapters/04_multilingual/04_two_encoders.ipynb)
# and [tests in 24 languages](../chapters/04_multilingual/07_benchmarks.ipynb) · 20 min to read ·
# about ten minutes to run on two cores, half a minute in `ci`; the long runs are kept</small>

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

# %% The texts tags=["fold"]
from deepdive.data.grammar import grammar_pairs
from deepdive.data.parallel import parallel
from deepdive.data.reviews import POLARITY, Labelled
from deepdive.page.profile import banner, pick, profile
from deepdive.page.runs import students, zero_shot
from deepdive.page.tables import table

real = profile() != "ci"
PAIRS = {"fra": 16_000, "deu": 16_000, "nld": 16_000, "cmn": 2000}
SEEN = {"fr": "much", "de": "much", "nld": "much", "nl": "much", "cn": "little"}


def generated(side, kinds, names, n=400):
    """Generated sentences of a language, and of which kind each is."""
    some = [pair for pair in grammar_pairs(3000)][-n:]
    labels = tuple(next(k for k, mark in enumerate(kinds) if mark in pair[0]) for pair in some)
    return Labelled(tuple(pair[side] for pair in some), labels, names, "grammar_pairs (generated)")


# %% Lessons and tests tags=["fold"]
if real:
    sentences = {code: zero_shot.whole_sib200(code) for code in zero_shot.SIB}
    lines = {code: zero_shot.lines_of(code) for code in zero_shot.XED}
    lessons_in_english = zero_shot.english_lines()
else:
    KINDS, NOT = ("costs", "born", ""), ("not", "")
    sentences = {code: generated(side, KINDS, ("price", "birth", "other"))
                 for side, code in enumerate(("eng_Latn", "fra_Latn"))}  # fmt: skip
    lines = {code: generated(side, NOT, POLARITY) for side, code in enumerate(("en", "fr"))}
    lessons_in_english = generated(0, NOT, POLARITY, 800).take(range(400))
print(banner("xed, sib200, tatoeba (real)" if real else "sentences of a grammar (generated)"))
NAMES = zero_shot.XED | zero_shot.SIB
table([[NAMES[code], len(some), 100 * sum(some.labels) / len(some)]
       for code, some in lines.items()], ["language", "lines to test", "of them positive, %"],
      formats={"of them positive, %": ".0f"},
      caption=f"and {len(lessons_in_english):,} English lines to learn from")  # fmt: skip

# %% The teacher, and what it reads tags=["fold"]
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


def e5(texts):
    """The same of multilingual-e5-small."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return encode(e5_model(), e5_tokenizer(), [QUERY + t for t in texts], batch_size=32).float()


# %% Lessons for the student tags=["fold"]
def pairs_to_learn(most):
    """Pairs of translations, no more than `most` says of each language."""
    if not real:
        return {"fra": grammar_pairs(1500)}
    return {code: parallel(code).pairs[:n] for code, n in most.items()}


lessons = students.lessons_of(pairs_to_learn(PAIRS), e5_tokenizer())
theirs = kept_vectors(placed, lessons.english, "zero_shot", of="MiniLM")
print(f"{len(lessons.of) - len(lessons.english):,} pairs, {len(lessons.english):,} different "
      f"English sentences, {len(lessons.rows):,} pieces")  # fmt: skip

# %% The student is made
student, history = students.taught(lessons, theirs, e5_tokenizer(), epochs=pick(ci=3, laptop=8, gpu=8))
