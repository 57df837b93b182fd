# %% [markdown] tags=["slide"]
# # Explaining a medical-abstract classifier: which words made the difference?
#
# *Mid-line presentation of cervical lymphomata.* A program reads the abstract of a medical paper
# and says which kind of disease it is about: *neoplasms*, 84% sure. Then it colors the words that
# moved it. A doctor who has to decide whether to believe it looks at the colors. Three questions,
# in the order in which she should ask them: is the program better than counting words? Do the
# colors show what moved it? And is that what she needs?
#
# <small>Prerequisites: [fine-tuning](03b_reviews.ipynb),
# [leaving words out](../chapters/07_explain/04_perturbation.ipynb) and
# [faithfulness](../chapters/07_explain/13_sanity.ipynb) · 20 min · about 14 minutes to run on two
# cores, half a minute in `ci`; results of the long runs are included · book 7.6</small>

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
# %% A table of your own, an encoder of your own tags=["fold"]
# A table of your own (.csv or .tsv with a header): its path, and the names of two columns.
MEDICAL_FILE = ""  # @param {type:"string"}
TEXT_COLUMN = "text"  # @param {type:"string"}
LABEL_COLUMN = "label"  # @param {type:"string"}
# Another BERT to tune: a folder, or its name on the hub, such as emilyalsentzer/Bio_ClinicalBERT
ENCODER = ""  # @param {type:"string"}

# %% [markdown]
# ## The texts, and 231 rows that contradict each other
#
# Schopf, Braun and Matthes (2022) collected abstracts from PubMed and gave each one of five
# conditions. These are research texts, without names of patients. Before anything is trained, one
# looks at the labels.

# %% The texts tags=["fold"]
import os

from deepdive.data import read_labelled
from deepdive_book.data.medical import abstracts, labels_of, with_one_label
from deepdive_book.data.synthetic_reviews import generated_reviews
from deepdive_book.kit.profile import banner, pick, profile
from deepdive_book.kit.tables import table

file = os.environ.get("DEEPDIVE_MEDICAL", MEDICAL_FILE)
if file:
    rows = read_labelled(file, TEXT_COLUMN, LABEL_COLUMN)
elif profile() == "ci":
    rows = generated_reviews(300, classes=3)
else:
    rows = abstracts()
several = {text: labels for text, labels in labels_of(rows).items() if len(labels) > 1}
every = with_one_label(rows)
print(banner(rows.source))

# %% What stands there tags=["fold"]
from collections import Counter

times = Counter(map(len, several.values()))
print(f"{len(rows):,} rows; {len(several)} texts have several labels:")
print(f"{times[2]} stand there twice, {times[3]} thrice: {sum(map(len, several.values()))} rows")
print(f"{len(every):,} texts have one label")
lengths = sorted(len(text.split()) for text in every.texts)
low, middle, high = (lengths[int(q * len(lengths))] for q in (0.05, 0.5, 0.95))
print(f"words: {low} to {high} in nine of ten texts, the median {middle}")
table([[name, count, f"{count / len(every):.0%}"] for name, count in every.counts().items()],
      ["condition", "texts", "share"], caption="Texts with one label")  # fmt: skip

# %% Some that have several labels tags=["fold"]
short = {"neoplasms": "neoplasms", "digestive system diseases": "digestive",
         "nervous system diseases": "nervous", "cardiovascular diseases": "heart",
         "general pathological conditions": "general"}  # fmt: skip
names = [short.get(name, name) for name in every.names]
for text, labels in list(several.items())[:3]:
    print(f"{' and '.join(names[k] for k in labels)}: {text[:70]} ...")

# %% [markdown]
# In this file 108 texts stand twice and 5 three times, each time with another label: a program
# that is right once must be wrong the other time. Had they been split by rows, the same text would
# stand in the training part with one label and in the test with another. So they are taken out
# before the split, and come back [below](#what-of-the-texts-with-two-labels).
#
# From here on *heart* is short for cardiovascular diseases, *general* for general pathological
# conditions: a class that overlaps the other four, for every disease is one.

# %% [markdown]
# ## The bar: counted words
#
# Count the words and pairs of words of a text, weigh rare ones more (TF-IDF), and give each a
# number for each class (logistic regression). How strongly the numbers are held near zero, and
# whether rare classes weigh more, is chosen on a validation part. Five folds: each text is tested
# once, by a model that has not seen it. The score is **macro-F1**, the mean of the classes' F1, in
# which a rare class counts as much as a frequent one.

# %% Counted words on five folds tags=["fold"]
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from deepdive.evaluate import macro_f1, macro_f1_interval


def counted(part, texts, labels, k):
    """What the best of six models says of the test texts of a fold, of k classes."""
    count = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
    texts, labels = np.array(texts, dtype=object), np.array(labels)
    seen = count.fit_transform(texts[part.train])
    looked, asked = count.transform(texts[part.valid]), count.transform(texts[part.test])
    with threadpool_limits(1):  # a second thread would wait for the first more than it works
        fitted = [
            LogisticRegression(C=C, class_weight=how, max_iter=2000, tol=1e-3).fit(
                seen, labels[part.train]
            )
            for C in (1, 3, 10)
            for how in (None, "balanced")
        ]
    best = max(fitted, key=lambda m: macro_f1(m.predict(looked), labels[part.valid], k))
    return best.predict(asked)


# %% Each text once tags=["fold"]
from deepdive_book.studies.runs.medical import Parts, folds

labels, classes = np.array(every.labels), len(names)
parts = folds(every.labels)
said_by_counting = np.concatenate(
    [
        counted(part, every.texts, every.labels, classes)
        for part in tqdm(parts, desc="count", leave=False, delay=3)
    ]
)
truth = np.concatenate([labels[part.test] for part in parts])
bar = macro_f1_interval(said_by_counting, truth, classes)
print(f"counted words: macro-F1 {bar}")

# %% The words that weigh most tags=["fold"]
count = TfidfVectorizer(sublinear_tf=True, min_df=2)
lesson = parts[0].train
with threadpool_limits(1):
    one_fold = LogisticRegression(C=3, class_weight="balanced", max_iter=2000, tol=1e-3).fit(
        count.fit_transform([every.texts[i] for i in lesson]), labels[lesson]
    )
vocabulary = count.get_feature_names_out()
heaviest = np.argsort(-one_fold.coef_, axis=1)[:, :5]
by_class = {name: ", ".join(vocabulary[row]) for name, row in zip(names, heaviest, strict=False)}
table(list(by_class.items()), ["condition", "words"],
      caption="The five words that weigh most for each class, on the first fold")  # fmt: skip

# %% [markdown]
# This model explains itself: its numbers are its reasons. For *general* they are words that any
# disease could have.
#
# ## MiniLM, tuned
#
# MiniLM (Wang et al. 2020) is a small BERT: six layers, 384 wide. All its weights may move. It
# reads the first 128 pieces of each text, three times, in batches of seven. Here the first of the
# five folds is trained; the other four, and two more trainings of each, are kept.

# %% The model, tuned on the first fold tags=["fold"]
from pathlib import Path

import torch

from deepdive.published.classifier import begin
from deepdive.published.pretrained import minilm, minilm_tokenizer
from deepdive.published.weights import from_hub
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive.training import Keep
from deepdive_book.kit.cost import measure
from deepdive_book.kit.profile import workdir
from deepdive_book.studies.runs.medical import LENGTH, tuned, weighted_loss
from deepdive_book.tasks.classification import batches, encode, predict

wanted = os.environ.get("DEEPDIVE_ENCODER", ENCODER)
wanted = wanted or pick(ci="", laptop="", gpu="emilyalsentzer/Bio_ClinicalBERT")
folder, tokenizer = (None, None) if wanted else (minilm(), minilm_tokenizer())
if wanted:
    folder = Path(wanted) if Path(wanted).is_dir() else from_hub(wanted)
    pieces = (folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    tokenizer = WordPieceTokenizer(pieces, BERT_SPECIALS)

# %% Three readings tags=["fold"]
ids = encode(every.texts, tokenizer, LENGTH)
part = parts[0]
torch.manual_seed(0)
model = begin(folder, classes).to("cuda" if torch.cuda.is_available() else "cpu")
keep = Keep(workdir() / "medical" / "tuned", of=(every.texts, every.labels, wanted))
if profile() == "ci":
    keep = None
with measure() as card:
    model, history = tuned(model, ids, every.labels, part, folder=keep,
                           epochs=pick(ci=1.0, laptop=3.0, gpu=3.0))  # fmt: skip
    sample = next(iter(batches([ids[i] for i in part.train], labels[part.train].tolist())))
    card.count(lambda: weighted_loss(None, model, sample).backward(), times=len(history.losses))
card.seconds = history.seconds
model.zero_grad()
logits = predict(model, [ids[i] for i in part.test])
sure, said = logits.softmax(1).max(1)
right = labels[part.test]
live = macro_f1_interval(said.numpy(), right, classes)
print(
    f"{len(part.train):,} texts, {len(history.losses):,} steps, {history.seconds / 60:.1f} min\n"
    f"on {len(part.test)} texts macro-F1 {live}"
)

# %% Frozen: the mean of the states, and a linear model tags=["fold"]
from sklearn.preprocessing import StandardScaler

from deepdive_book.tasks.classification import features

frozen = begin(folder, classes).encoder.to(next(model.parameters()).device)
vectors = StandardScaler().fit_transform(features(frozen, ids)["mean"].numpy())


def on_vectors(part, strengths=(1e-4, 1e-3, 1e-2, 1e-1)):
    with threadpool_limits(1):
        fitted = [LogisticRegression(C=C, class_weight=how, max_iter=2000).fit(
                      vectors[part.train], labels[part.train])
                  for C in strengths for how in (None, "balanced")]  # fmt: skip
    best = max(fitted, key=lambda m: macro_f1(m.predict(vectors[part.valid]),
                                              labels[part.valid], classes))  # fmt: skip
    return best.predict(vectors[part.test])


said_frozen = np.concatenate([on_vectors(part) for part in parts])
held = macro_f1_interval(said_frozen, truth, classes)
less_counted = macro_f1_interval(said_frozen, truth, classes, less=said_by_counting)
print(f"frozen MiniLM: macro-F1 {held}")
print(f"minus counted words: {less_counted}")

# %% [markdown]
# A hospital's engineer proposes: MiniLM was not trained for medicine in particular. (The checkpoint
# is all-MiniLM-L6-v2, a sentence encoder trained on about a billion sentence pairs, among them
# titles and abstracts of scientific papers. How much of that is medical is not measured here, so
# the engineer's premise is untested.) Let it **read on** first, in medical texts, filling gaps as
# BERT does, and tune it then (Gururangan et al. 2020). Answers of health institutes to patients'
# questions (MedQuAD; Ben Abacha and Demner-Fushman 2019) give 1.7 million pieces of words. The
# control reads as many of film reviews, for as many steps. The head that fills gaps is the same: it
# learned beforehand from both, while the rest of the model stood still.

# %% tags=["fold", "nbval-check-output"]
from deepdive_book.kit.predictions import predict as ask

ask(
    "After 842 steps in medical texts the model fills gaps in unseen abstracts far better than the "
    "control. What does that do to macro-F1 on five conditions?",
    ["it rises, above the interval", "nothing that can be seen", "it falls"],
    answer=1,
    explain="It learned the words of medicine, and the five classes did not need them: with two "
    "thousand labelled abstracts the tuning itself teaches what the classes turn on.",
    key="07_explain/reading-on",
)

# %% The kept runs tags=["fold"]
import json

from deepdive.evaluate import bootstrap
from deepdive_book.kit.experiments import results_path as kept


def kept_rows(name):
    """The rows of a kept file, and what its file says of itself; none outside the checkout."""
    place = kept("07_explain", name)
    there = place is not None and place.is_file()
    return json.loads(place.read_text()) if there else {"rows": []}


runs = kept_rows("medical_tuning")["rows"]
ROW = {"data": "abstracts", "arm": "published", "length": 128, "weighted": False, "rate": 1e-4}


def read_off(field, seed=0, **changed):
    """The classes that a kept training wrote ("said") or those that are true, over all folds."""
    asked = {**ROW, "seed": seed, **changed}
    found = sorted((r for r in runs if asked.items() <= r.items()), key=lambda r: r["fold"])
    return np.array([ord(letter) - ord("a") for row in found for letter in row[field]])


# %% Three ways, three trainings each, five folds tags=["fold"]
ARMS = {"MiniLM as published": "published", "reads on in films": "films",
        "reads on in medicine": "medical"}  # fmt: skip
if runs:
    trained = {arm: np.array([read_off("said", seed, arm=arm) for seed in range(3)])
               for arm in ARMS.values()}  # fmt: skip
    real = read_off("true")
    reading = {row["read"]: row for row in kept_rows("medical_reading")["rows"]}
    start = bootstrap(reading["films"]["before"])
    gaps = {"published": start, **{arm: bootstrap(reading[arm]["losses"]) for arm in reading}}
    lines = [{"way": way, "loss at gaps": f"{gaps[arm].value:.2f}",
              "macro-F1": macro_f1_interval(trained[arm], real, 5),
              "minus published": macro_f1_interval(trained[arm], real, 5, less=trained["published"])
              if arm != "published" else None} for way, arm in ARMS.items()]  # fmt: skip
    caption = f"{len(real):,} texts, five folds, three trainings of each way; 95 % over texts"
ways = (
    table(lines, caption=caption, formats={"minus published": ".3f"})
    if runs
    else "no kept result here"
)
ways


# %% Medicine against films, seed against seed tags=["fold"]
from itertools import combinations

if runs:
    differ = [100 * np.mean(a != b) for a, b in combinations(trained["published"], 2)]
    print(f"two trainings differ in {min(differ):.0f} to {max(differ):.0f} % of their answers")
    fewer = bootstrap(np.array(reading["films"]["losses"]) - reading["medical"]["losses"])
    print(f"gaps, films minus medicine: {fewer} nats")
    two_ways = macro_f1_interval(trained["medical"], real, 5, less=trained["films"])
    print(f"macro-F1, medicine minus films: {two_ways}")

# %% Against counted words tags=["fold"]
def vote(rows):
    """The class that most trainings say of each text; of two that are level the first."""
    return np.array([np.bincount(column, minlength=5).argmax() for column in rows.T])


real_data = bool(runs) and not file and profile() != "ci"
if real_data:
    one_of = macro_f1_interval(trained["published"], real, 5, less=said_by_counting)
    voted = vote(trained["published"])
    above = macro_f1_interval(voted, real, 5, less=said_by_counting)
    assert above.low > 0
    alone = macro_f1_interval(trained["published"], real, 5)
    lines = [["MiniLM, the mean of three", alone, one_of],
             ["MiniLM, three that vote", macro_f1_interval(voted, real, 5), above]]  # fmt: skip
against = (
    table(lines, ["way", "macro-F1", "minus counted words"],
          formats={"minus counted words": ".3f"}, caption="2,657 texts; 95 % over texts")
    if real_data
    else "real texts and kept runs only"
)  # fmt: skip
against

# %% [markdown]
# Reading on taught MiniLM medicine: a hidden piece of an abstract that it never saw costs 5.25 nats
# after MedQuAD and 6.08 after film reviews (untaught 7.62). And the score does not move: 0.001 more
# than without, with either kind of text, and the intervals leave room for one point either way.
# Whoever had stopped at the first column would have reported a success. Gururangan et al. (2020)
# did gain in all four domains, with larger models and more than four thousand times as much text,
# and so did BioBERT (Lee et al. 2020: 0.62 points of F1 for names, 2.80 for relations, 12.24 of MRR
# for questions) and SciBERT (Beltagy et al. 2019); that is not tested here. So this is a result
# about a small run, not about domain models.
#
# Its weights held still, MiniLM is level with counted words. Tuned, one training is ahead by so
# little that the interval touches zero. Three trainings that vote are ahead outside the interval:
# the seed alone changes one answer in six, and a vote takes the odd one out. So much for the first
# question: better, if one pays for three. But the comparison is not quite like for like. The three
# votes are an ensemble against a single baseline, which could be bagged or averaged with MiniLM,
# too. Counting reads the whole text and MiniLM its first 128 tokens; counting is tuned in every
# fold, and MiniLM has one learning rate, chosen on two folds.
#
# ## Look: take a word away
#
# A short abstract that the model judges rightly, colored by five methods. Four explain the same
# number: by how much the model prefers its answer to the next best. Rollout multiplies attention
# weights and never sees the answer. A word that is gone is `[MASK]` in its place. Take the
# strongest word away: does the answer stay, and who takes its place?

# %% One abstract, five methods tags=["fold"]
from deepdive.explain.side_by_side import METHODS
from deepdive.training.objectives.masking import mask_id
from deepdive_book.ch07.figures.attribution_comparison import attribution_comparison
from deepdive_book.studies.runs.medical_explanations import Said

model = model.cpu().eval()
blank = mask_id(tokenizer)
cut = {i: Said.of(every.texts[i], tokenizer, LENGTH) for i in part.test}
SHOWN = ("occlusion", "integrated gradients", "AttnLRP", "attention x gradient",
         "attention rollout")  # fmt: skip
whole = [k for k, i in enumerate(part.test) if len(cut[i].words) == len(every.texts[i].split())]
apt = [k for k in whole if said[k] == right[k] and sure[k] > 0.8] or whole or [0]
chosen = min(apt, key=lambda k: abs(len(cut[part.test[k]].words) - 40))
one, label = cut[part.test[chosen]], int(said[chosen])


def of_rest(kept):
    """The text with blanks for the words that are gone."""
    gone = torch.cat([~kept, torch.zeros(1, dtype=torch.bool)])[one.owner]
    return Said(one.words, one.tokens.masked_fill(gone & (one.owner >= 0), blank), one.owner)


def colours(name):
    return lambda kept: METHODS[name](of_rest(kept).asked(model, label, blank))


# %% The view tags=["fold"]
def says(kept):
    return model(of_rest(kept).tokens)[0].softmax(0)


attribution_comparison(one.words, says, {name: colours(name) for name in SHOWN}, names, most=1,
         gone="[MASK] stands in its place")  # fmt: skip

# %% [markdown]
# *Blue speaks for the answer, orange against it; a row's colours are shares of its largest. All
# five put the same two words first; rollout colours many more.*
#
# ## Confident and wrong
#
# The mistakes of which the model is surest are where a doctor would be misled. For each, the three
# words that leaving-out (occlusion) puts first.

# %% The surest mistakes tags=["fold"]
wrong = [k for k in sure.argsort(descending=True).tolist() if said[k] != right[k]]
lines = []
for k in wrong[:5]:
    told = cut[part.test[k]]
    found = METHODS["occlusion"](told.asked(model, int(said[k]), blank))
    strong = [told.words[i].strip(".,;:()") for i in found.argsort(descending=True).tolist()]
    first = list(dict.fromkeys(word.lower() for word in strong))[:3]
    lines.append(
        [
            " ".join(told.words[:5]) + " ...",
            names[right[k]],
            f"{names[said[k]]} {sure[k]:.0%}",
            ", ".join(first),
        ]
    )
table(lines, ["begins", "label", "said", "first three words"], caption="The five surest mistakes")

# %% Where the mistakes lie tags=["fold"]
from deepdive.evaluate import confusion

if runs:
    counts = confusion(read_off("said"), read_off("true"), 5)
    general = int(counts[4].sum() - counts[4, 4] + counts[:, 4].sum() - counts[4, 4])
    every_mistake = int(counts.sum() - counts.trace())
    print(f"kept runs: {every_mistake} of {counts.sum():,} wrong;")
    print(f"{general} of these give or miss the class 'general'")

# %% [markdown]
# Read the first row again: doxazosin, hypertension, and the label says *neoplasms*. Here the model
# may be right and the label wrong. In the four others a text about the heart is labeled
# *general*, which contradicts nothing, for the classes overlap. Nearly all the first words are
# words of the heart, and all five answers are counted as wrong: the colors do not show whether an
# answer is right.
#
# ## Which colors show what moved it?
#
# Twelve methods, among them AttnLRP, which sends the answer back through the layers
# ([7.11](../chapters/07_explain/11_transformers.ipynb)), and LIME and kernel SHAP, which ask 300
# texts with words missing ([7.5](../chapters/07_explain/05_surrogates.ipynb)). Take away the words
# that a method puts first, a twentieth, a tenth, a fifth of all: by how much does the model's
# preference fall? (**Comprehensiveness**: more is better.) And keep these words alone: how much is
# missing? (**Sufficiency**: less is better.) The floor is a method that draws its numbers at
# random.

# %% tags=["fold", "nbval-check-output"]
ask(
    "A method names nearly the same five words whatever the seed of the training. Another changes "
    "two of its five. Does the steady one show better what moved the model?",
    ["yes: what is steady is what counts", "not here: the steadiest is nearly the worst"],
    answer=1,
    explain="Rollout is the steadiest, and its words move the model less than those of any other "
    "method but chance. It multiplies attention weights and never looks at the answer. Steadiness "
    "alone proves nothing.",
    key="07_explain/steady",
)

# %% Twelve methods, kept tags=["fold"]
told = kept_rows("medical_reasons")
methods, seen = told.get("methods", []), {}
for row in told["rows"]:
    seen.setdefault((row["arm"], row["seed"]), {})[row["text"]] = row
base = seen.get(("published", 0), {})
SEEDS = [("published", 1), ("published", 2)]


def first(row, method):
    return set(row["first"][methods.index(method)].split())


def shared(method, other, a, b):
    """The share of the five first words that two explanations of one text have in common."""
    return len(first(a, method) & first(b, other)) / 5


def steady(method):
    """Per text, between the first training and two others that give the same answer."""
    return [shared(method, method, base[t], row) for who in SEEDS for t, row in seen[who].items()
            if row["mine"] == base[t]["mine"]]  # fmt: skip


# %% The table tags=["fold"]
def line(method):
    at = methods.index(method)
    fell = bootstrap([row["without"][at] for row in base.values()])
    lacks = bootstrap([row["alone"][at] for row in base.values()])
    name = {"attention, last layer": "attention, last", "integrated gradients": "integrated grad."}
    return [
        name.get(method, method),
        fell,
        lacks,
        None if method == "random" else round(100 * np.mean(steady(method))),
    ]


order = sorted(methods, key=lambda m: -np.mean([r["without"][methods.index(m)]
                                                for r in base.values()]))  # fmt: skip
table(
    [line(m) for m in order],
    ["method", "falls without", "lacks alone", "steady, %"],
    formats={"falls without": ".2f", "lacks alone": ".2f"},
    caption=f"{len(base)} abstracts; margins, 95 % over texts; steady: of five words",
) if base else "no kept result here yet"

# %% Differences and agreement tags=["fold"]
if base:

    def less(a, b, field="without"):
        i, j = methods.index(a), methods.index(b)
        return bootstrap([row[field][i] - row[field][j] for row in base.values()])

    lines = [[f"minus {name}", less("AttnLRP", name), less("AttnLRP", name, "alone")]
             for name in ("attention x gradient", "LIME", "integrated gradients")]  # fmt: skip
differences = (
    table(lines, ["AttnLRP", "falls without", "lacks alone"],
          formats={"falls without": ".2f", "lacks alone": ".2f"},
          caption="Differences on the same abstracts, in logits")
    if base
    else "no kept result here"
)  # fmt: skip
differences

# %% Agreement tags=["fold"]
if base:
    good = [m for m in order if m not in ("random", "attention rollout")]
    between = {(a, b): 100 * np.mean([shared(a, b, row, row) for row in base.values()])
               for a, b in combinations(good, 2)}  # fmt: skip
    same = [100 * np.mean(steady(m)) for m in good]
    alike = [(base[t], row) for who in SEEDS for t, row in seen[who].items()
             if row["mine"] == base[t]["mine"]]  # fmt: skip
    nearer = [
        100 * np.mean([shared(m, m, a, b) for m in good])
        - 100 * np.mean([shared(*two, b, b) for two in between])
        for a, b in alike
    ]
    told = [
        f"{np.mean(list(v)):.0f} % ({min(v):.0f} to {max(v):.0f})" for v in (between.values(), same)
    ]
    print(f"of five first words two methods on one model share {told[0]};")
    print("ten methods, without rollout and chance; of the third training 82 texts")

# %% And when the seed changes tags=["fold"]
if base:
    print(f"one method on two trainings {told[1]}: more by {bootstrap(nearer)}, in points")

# %% [markdown]
# The second question has an answer, and it differs by method. Without the words that AttnLRP names
# the preference falls by 2.91, half a unit more than for LIME's or integrated gradients' words,
# and three tenths more than for those of attention times gradient; drawn words take 0.19. For
# words that are enough alone integrated gradients are ahead of it, by 0.12. Attention rollout is
# the steadiest of all, and the last but one: its words take a third of what AttnLRP's take.
#
# Two methods on one model share 46% of five words, one method on two trainings 60%. A doctor who
# sees one picture sees one of several, and which one depends more on the method than on the seed
# of the training.
#
# What the table cannot say: a blank is something that MiniLM never met while it was tuned, so a
# part of each fall may be surprise ([sanity checks](../chapters/07_explain/13_sanity.ipynb)).
# Occlusion, LIME, SHAP and integrated gradients are computed with the very blanks by which they
# are judged; AttnLRP is not, and leads all the same.
#
# ## A sentence in front
#
# A record says *There is no evidence of cancer.* A human reads: not cancer. Put this sentence in
# front of 200 abstracts that the model does not call neoplasms, and count how many it then does.
# The control is *There is no evidence of lateness.*

# %% tags=["fold", "nbval-check-output"]
ask(
    "The control turns one in a hundred. How many does “There is no evidence of cancer.” turn, and "
    "how many “There is evidence of cancer.”?",
    ["few; many", "both many, about alike", "both few: one sentence of an abstract"],
    answer=1,
    explain="It acts on the word and not on the “no” before it. Perhaps the labels of papers never "
    "asked it to: that was not tested.",
    key="07_explain/no-evidence",
)


# %% A sentence in front tags=["fold"]
def with_front(sentence, places):
    coded = encode([f"{sentence} {every.texts[part.test[k]]}" for k in places], tokenizer, LENGTH)
    return predict(model, coded, progress=False).argmax(1).numpy()


aim = pick(ci=0, laptop=0, gpu=0)
others = [k for k in range(len(part.test)) if said[k] != aim][: pick(ci=20, laptop=200, gpu=2000)]
FRONTS = ("There is no evidence of lateness.", "There is no evidence of cancer.",
          "There is evidence of cancer.", "Cancer, cancer, cancer.")  # fmt: skip
turned = {front: (with_front(front, others) == aim).astype(int) for front in FRONTS}
print(f"evidence minus no evidence: {bootstrap(turned[FRONTS[2]] - turned[FRONTS[1]])}")
table(
    [[front, bootstrap(found)] for front, found in turned.items()],
    ["sentence in front", f"now {names[aim]}"],
    formats={f"now {names[aim]}": ".1%"},
    caption=f"{len(others)} abstracts that were not called {names[aim]}",
)

# %% [markdown]
# A quarter of the abstracts becomes *neoplasms*, with *no* as without it: the interval of the
# difference begins at zero. A color on *cancer* would be true to this model, and would not show
# that *no* is passed over; a reader learns that only by taking it away, and seeing that nothing
# happens. Notes on patients often name a disease in order to exclude it.
#
# ## What of the texts with two labels?
#
# The 113 texts that were taken out come back as a test of another kind: the file gives each of
# them two answers or three. Does the model hesitate there?

# %% Two labels tags=["fold"]
def both_first(shares, given):
    """Are a text's labels the model's first answers, as many as there are labels?"""
    order = np.argsort(-np.asarray(shares), kind="stable")
    return set(order[: len(given)].tolist()) == set(given)


two = encode(several, tokenizer, LENGTH)
if len(two) > 1:
    shares = predict(model, two, progress=False).softmax(1).numpy()
    hits = [both_first(s, given) for s, given in zip(shares, several.values(), strict=True)]
    any_first = [
        int(s.argmax()) in given for s, given in zip(shares, several.values(), strict=True)
    ]
    usual = [np.bincount(labels[part.train], minlength=classes)] * len(two)
    always = [both_first(s, given) for s, given in zip(usual, several.values(), strict=True)]
    lines = [["the first answer is one of the labels", bootstrap(any_first)],
             ["the first answers are all the labels", bootstrap(hits)],
             ["so are the most frequent classes", bootstrap(always)],
             ["share of the first answer", bootstrap(shares.max(1))],
             ["the same on texts with one label", bootstrap(sure.numpy())]]  # fmt: skip

# %% Does it hesitate? tags=["fold"]
hesitation = (
    table(lines, ["on average", "mean"], formats={"mean": ".2f"}, caption=f"{len(two)} texts")
    if len(two) > 1
    else "fewer than two texts have several labels"
)
hesitation

# %% [markdown]
# The model finds all labels of 58% of them, with an interval from 49% to 66%, four times as
# often as the most frequent classes would, and gives its first answer 0.70 for 0.73 elsewhere. It
# hardly hesitates where the labels do.
#
# ## Four classes, longer texts, weights, and talks
#
# Four questions that a reader of the table asks, answered by kept runs. Without the overlapping
# class; with 256 pieces a text; with a loss in which each class weighs the same; and another task,
# doctors' talks with patients (Ben Abacha et al. 2023), where 20 sections of a note are to be told
# apart and the rarest have two examples.

# %% The kept variants tags=["fold"]
from itertools import pairwise

from deepdive_book.data.medical import dialogues

if runs:
    longer, weighed = read_off("said", length=256), read_off("said", weighted=True)
    plain = trained["published"][0]
    lines = [
        ["256 pieces for 128", macro_f1_interval(longer, real, 5, less=plain)],
        ["classes weigh alike", macro_f1_interval(weighed, real, 5, less=plain)],
    ]
variants = (
    table(
        lines, ["one change", "minus without it"], caption="Macro-F1, five folds, one training each"
    )
    if runs
    else "no kept result here"
)
variants


# %% Four classes, and talks tags=["fold"]
if real_data:
    four = every.take(i for i, y in enumerate(every.labels) if y != 4)
    counted_four = np.concatenate(
        [counted(p, four.texts, four.labels, 4) for p in folds(four.labels)]
    )
    talks = [dialogues(some) for some in (["train"], ["validation"], ["test1", "test2"])]
    ends = np.cumsum([0, *map(len, talks)]).tolist()
    split = Parts(*(list(range(a, b)) for a, b in pairwise(ends)))
    told_in = [text for some in talks for text in some.texts]
    counted_talks = counted(split, told_in, [y for some in talks for y in some.labels], 20)
    tuned_four, is_four = read_off("said", data="four"), read_off("true", data="four")
    tuned_talks = np.array([read_off("said", seed, data="dialogues") for seed in range(3)])
    is_talks = read_off("true", data="dialogues")
    lines = [["four conditions", macro_f1_interval(counted_four, is_four, 4),
              macro_f1_interval(tuned_four, is_four, 4),
              macro_f1_interval(tuned_four, is_four, 4, less=counted_four)],
             ["20 sections", macro_f1_interval(counted_talks, is_talks, 20),
              macro_f1_interval(tuned_talks, is_talks, 20),
              macro_f1_interval(tuned_talks, is_talks, 20, less=counted_talks)]]  # fmt: skip
others_table = (
    table(lines, ["task", "counted", "MiniLM", "difference"], caption="Macro-F1")
    if real_data
    else "real texts and kept runs only"
)
others_table

# %% [markdown]
# Without the overlapping class one training of MiniLM is ahead of counting. Twice as many pieces
# change nothing that the interval can tell, and weights cost two points. On talks MiniLM is far
# behind: 20 sections, some with two examples, and a rate and a number of readings that were chosen
# for abstracts, while counting chose its strength on the talks.
#
# ## What a doctor needs, and what these colors cannot give
#
# Tonekaboni et al. (2019) asked clinicians in intensive care and emergency what they want of an
# explanation. They want to know which of the patient's facts the model used, how sure it is, where
# it was wrong before, and whether the patient at hand is like those it learned from. Ghassemi et
# al. (2021) warn that explanations of single answers reassure without being able
# to show that the answer is right, and ask for tests of the whole model instead.
#
# | what she asks | who can answer |
# |---|---|
# | Which words moved it? | AttnLRP, as far as the table above reaches |
# | Are these the words of the disease? | she, not the method |
# | Is the answer right? | the test on other texts; no colors |
# | May I trust it for this patient? | nobody here: abstracts are not patients |
#
# ## In the profile `gpu`: an encoder that has read hospital notes
#
# Bio_ClinicalBERT (Alsentzer et al. 2019) read two million notes. In the profile `gpu` it takes
# MiniLM's place; name a table of your own above, such as a public set of medical transcriptions. A
# model that stands on the hub as a pickle only is refused, with the three lines that convert it.
# That profile was not run here: no hub is within reach. What it takes is computed.

# %% What it would take tags=["fold"]
from deepdive.layers.heads import Classifier
from deepdive.models.bert.bert import bert
from deepdive.training.translation import training_memory
from deepdive_book.kit.cost import CostCard

with torch.device("meta"):  # shapes alone: no memory, no numbers
    larger = Classifier(bert(vocab_size=28996), 768, classes)
inside = sum(p.numel() for p in larger.parameters())
inside -= sum(p.numel() for p in larger.encoder.embeddings.parameters())
read = 3 * sum(len(ids[i]) for i in part.train)
plan = CostCard(flops=6 * inside * read)
memory = training_memory(larger, 7 * LENGTH, vocab_size=0)
print(
    f"three readings of {len(part.train):,} texts: {plan.flops:.1e} operations,\n"
    f"{plan.implied()['K80'] / 60:.0f} minutes on a K80, {memory / 2**30:.1f} GB"
)
assert plan.implied()["K80"] < 60 * 60
assert memory < 11 * 2**30

# %% The results, kept tags=["fold"]
import re

from deepdive_book.kit.results import results_file, update


def entry(found, key="macro_f1"):
    return {key: round(found.value, 4),
            f"{key}_interval": [round(found.low, 4), round(found.high, 4)]}  # fmt: skip


report = {"counted_words": entry(bar), "MiniLM_first_fold": entry(live)}
if real_data:
    report["MiniLM_three_vote"] = entry(macro_f1_interval(voted, real, 5))
    report |= {f"MiniLM_{arm}": entry(macro_f1_interval(found, real, 5))
               for arm, found in trained.items()}  # fmt: skip
    report["three_vote_minus_counted"] = entry(above)
    report["medical_minus_published"] = entry(
        macro_f1_interval(trained["medical"], real, 5, less=trained["published"])
    )
    report["without"] = {
        re.sub(r"\W+", "_", m): entry(
            bootstrap([row["without"][methods.index(m)] for row in base.values()]), "logits"
        )
        for m in order
    }

# %% Written, and what it cost tags=["fold"]
part_of_it = {"profile": profile(), "data": sorted({rows.source.split(" ")[0]}),
              "cores": os.cpu_count(), "seconds": round(history.seconds, 1),
              "peak_memory_mb": round(card.peak_memory / 2**20), "metrics": report}  # fmt: skip
if not file:
    print("written:", update(results_file("07_medical"), part_of_it, page="07_medical")["study"])
card

# %% [markdown]
# ## Summary
#
# On real abstracts one training of a small pre-trained model is hardly ahead of counted words,
# three that vote are ahead outside the interval, and reading on in medicine taught the model the
# words of medicine without a change in the score. Of twelve ways to color its words AttnLRP names
# best what moved the answer, rollout is the steadiest and nearly the worst, and two methods share
# less than half of their first five words, so a doctor should know which one she sees. What she
# needs besides, whether the answer is right, how sure, and whether it holds for the patient before
# her, no color can tell: that takes tests of the whole model.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why are the 231 rows taken out before the split and not after it?
#
#    <details><summary>Answer</summary>
#
#    The same text would stand in the training part and in the test, with two labels: one of
#    them is then surely wrong, and the other was read beforehand.
#
#    </details>
# 2. Gaps are filled better by 0.83 nats and macro-F1 stays. What do you conclude?
#
#    <details><summary>Answer</summary>
#
#    That what was learned is not what these five classes turn on, at this size of text and
#    model. Not that reading on never helps.
#
#    </details>
# 3. A method is the steadiest over seeds. What do you know about it?
#
#    <details><summary>Answer</summary>
#
#    That its picture depends little on the training. It may show the text, or the form of the
#    network.
#
#    </details>
# 4. Why does the loss with weights for rare classes not help here?
#
#    <details><summary>Answer</summary>
#
#    The rarest class has a tenth of the texts, which is not rare. What weights do for 20 very
#    unequal sections was not run.
#
#    </details>
# 5. What would you show a doctor beside the colors?
#
#    <details><summary>Answer</summary>
#
#    How often the model is right on texts like this one, what it would have said after another
#    training, and that it has read abstracts and no patients.
#
#    </details>
#
# ## Further reading
#
# - Schopf, Braun and Matthes (2022), *Evaluating Unsupervised Text Classification: Zero-shot and
#   Similarity-based Approaches*: the abstracts.
# - Ben Abacha, Yim, Fan and Lin (2023), *An Empirical Study of Clinical Note Generation from
#   Doctor-Patient Encounters*: the talks.
# - Ben Abacha and Demner-Fushman (2019), *A Question-Entailment Approach to Question Answering*:
#   the answers that the model reads on in.
# - Gururangan et al. (2020), *Don't Stop Pretraining: Adapt Language Models to Domains and Tasks*:
#   reading on, with larger texts and models, where it did help.
# - Alsentzer et al. (2019), *Publicly Available Clinical BERT Embeddings*.
# - DeYoung et al. (2020), *ERASER: A Benchmark to Evaluate Rationalized NLP Models*: section 4,
#   comprehensiveness and sufficiency.
# - Tonekaboni, Joshi, McCradden and Goldenberg (2019), *What Clinicians Want: Contextualizing
#   Explainable Machine Learning for Clinical End Use*.
# - Ghassemi, Oakden-Rayner and Beam (2021), *The False Hope of Current Approaches to Explainable
#   Artificial Intelligence in Health Care*.
#
# <!--
# System: cs_explain
# Parent: lime
# What differs:
# - twelve explanations of one tuned BERT on real abstracts, each held to what the model does
#   without the words that it names (`deepdive_book.studies.runs.medical_explanations`), with random
#   as the floor
# - the same encoder after reading on in medical texts, against a control of equal operations
#   (`deepdive_book.studies.runs.medical`)
# - texts with contradictory labels are taken out before the split (`deepdive_book.data.medical`)
# Source: Kamath, Graham and Emara 2022, section 7.6.
# Book: 7.6
# -->
