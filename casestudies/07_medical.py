# %% [markdown] tags=["slide"]
# # Medical abstracts: which words made it say so?
#
# A program reads the abstract of a medical paper and says which kind of disease it is about:
# *neoplasms*, 97 % sure. Then it colours the words that moved it. A doctor who has to decide
# whether to believe it looks at the colours. Three questions, in the order in which she should ask
# them: is the program better than counting words? Do the colours show what moved it? And is that
# what she needs?
#
# <small>Book 7.6 · before this page: [fine-tuning](03b_reviews.ipynb),
# [leaving words out](../chapters/07_explain/04_perturbation.ipynb) and
# [faithfulness](../chapters/07_explain/13_sanity.ipynb) · 20 min to read · about 12 minutes to run
# on two cores, half a minute in `ci`; the long runs are kept</small>

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

from deepdive.data import generated_reviews, read_labelled
from deepdive.data.medical import abstracts, labels_of, with_one_label
from deepdive.page.profile import banner, pick, profile
from deepdive.page.tables import table

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
print(
    f"{len(rows):,} rows; {len(several)} texts stand there with several labels, in "
    f"{sum(map(len, several.values()))} rows; {len(every):,} texts have one"
)
lengths = sorted(len(text.split()) for text in every.texts)
print(
    f"words in a text: {lengths[len(lengths) // 20]} to {lengths[-len(lengths) // 20]} in nine of "
    f"ten, half of them above {lengths[len(lengths) // 2]}"
)
table(
    [[name, count, f"{count / len(every):.0%}"] for name, count in every.counts().items()],
    ["condition", "texts", "share"],
    caption="Texts with one label",
)

# %% Some that have several labels tags=["fold"]
short = {"neoplasms": "neoplasms", "digestive system diseases": "digestive",
         "nervous system diseases": "nervous", "cardiovascular diseases": "heart",
         "general pathological conditions": "general"}  # fmt: skip
names = [short.get(name, name) for name in every.names]
for text, labels in list(several.items())[:3]:
    print(f"{' and '.join(names[k] for k in labels)}: {text[:110]} ...")

# %% [markdown]
# In this file 108 texts stand twice and 5 three times, each time with another label. A person wrote
# both; a program that is right once must be wrong the other time. Had they been split by rows, the
# same text would stand in the training part with one label and in the test with another. So they
# are taken out before the split, and come back [below](#what-of-the-texts-with-two-labels).
#
# From here on *heart* is short for cardiovascular diseases, *general* for general pathological
# conditions: a class that overlaps the other four, for every disease is one.

# %% [markdown]
# ## The bar: counted words
#
# Count the words and pairs of words of a text, weigh rare ones more (TF-IDF), and give each a
# number for each class (logistic regression). How strongly the numbers are held near zero, and whether
# rare classes weigh more, is chosen on a validation part. Five folds: each text is tested once, by
# a model that has not seen it. The score is **macro-F1**, the mean of the classes' F1, in which a
# rare class counts as much as a frequent one.

# %% Counted words on five folds tags=["fold"]
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from deepdive.evaluate import macro_f1, macro_f1_interval
from deepdive.page.runs.medical import Parts, folds

labels, classes = np.array(every.labels), len(names)
parts = folds(every.labels)


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


said_by_counting = np.concatenate(
    [
        counted(part, every.texts, every.labels, classes)
        for part in tqdm(parts, desc="count", leave=False, delay=3)
    ]
)
truth = np.concatenate([labels[part.test] for part in parts])
bar = macro_f1_interval(said_by_counting, truth, classes)
print(f"counted words, {len(truth):,} texts: macro-F1 {bar}")

# %% [markdown]
# ## MiniLM, tuned
#
# MiniLM (Wang et al. 2020) is a small BERT: six layers, 384 wide. All its weights may move. It
# reads the first 128 pieces of each text, three times, in batches of seven. Here the first of the five
# folds is trained; the other four, and two more trainings of each, are kept beside the chapter.

# %% The model, tuned on the first fold tags=["fold"]
from pathlib import Path

import torch

from deepdive.page.cost import measure
from deepdive.page.profile import workdir
from deepdive.page.runs.medical import LENGTH, tuned
from deepdive.published.classifier import begin
from deepdive.published.pretrained import minilm, minilm_tokenizer
from deepdive.published.weights import from_hub
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive.training import Keep
from deepdive.training.tasks.classification import encode, predict

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
logits = predict(model, [ids[i] for i in part.test])
sure, said = logits.softmax(1).max(1)
right = labels[part.test]
live = macro_f1_interval(said.numpy(), right, classes)
print(
    f"{len(part.train):,} texts, {len(history.losses):,} steps, {history.seconds / 60:.1f} min; "
    f"on {len(part.test)} texts macro-F1 {live}"
)

# %% [markdown]
# A hospital's engineer proposes: MiniLM has read the web, not medicine. Let it **read on** first,
# in medical texts, filling gaps as BERT does, and tune it then (Gururangan et al. 2020). Answers of
# health institutes to patients' questions (MedQuAD; Ben Abacha and Demner-Fushman 2019) give 1.7
# million pieces. The control reads as many pieces of film reviews for as many steps; the head that
# fills gaps is the same, trained beforehand on both with the encoder held still.

# %% tags=["fold", "nbval-check-output"]
from deepdive.page.predictions import predict as ask

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
from deepdive.page.experiments import kept


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
    lines = [{"way": way, "gaps, nats": f"{gaps[arm].value:.2f}",
              "macro-F1": macro_f1_interval(trained[arm], real, 5),
              "less published": macro_f1_interval(trained[arm], real, 5, less=trained["published"])
              if arm != "published" else None} for way, arm in ARMS.items()]  # fmt: skip
ways = table(lines, caption=f"{len(real):,} texts, five folds, three trainings of each way; 95 % "
             "over texts", formats={"less published": ".3f"}) if runs else "no kept result here"  # fmt: skip
ways

# %% Against counted words tags=["fold"]
if runs and not file and profile() != "ci":
    above = macro_f1_interval(trained["published"], real, 5, less=said_by_counting)
    assert above.low > 0
    print(f"MiniLM as published less counted words: {above}")

# %% [markdown]
# AFTER_TABLE
#
# ## Look: take a word away
#
# One abstract of the test part, coloured by five methods. All explain the same number: by how much
# the model prefers its answer to the next best. A word that is gone is `[MASK]` in its place. Take
# the strongest word away: does the answer stay, and who takes its place?

# %% One abstract, five methods tags=["fold"]
from deepdive.explain.side_by_side import METHODS
from deepdive.page.one_view import one_view
from deepdive.page.runs.medical_reasons import Said
from deepdive.training.objectives.masking import mask_id

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


one_view(one.words, says, {name: colours(name) for name in SHOWN}, names, most=1,
         gone="[MASK] stands in its place")  # fmt: skip

# %% [markdown]
# *Blue speaks for the answer, orange against it; a row's colours are shares of its largest. The
# five rows do not agree.*
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
    first = [told.words[i] for i in found.argsort(descending=True)[:3].tolist()]
    lines.append(
        [
            " ".join(told.words[:8]) + " ...",
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
    print(
        f"kept runs: {every_mistake} of {counts.sum():,} wrong, {general} of these by giving "
        f"or missing the class 'general'"
    )

# %% [markdown]
# AFTER_MISTAKES
#
# ## Which colours show what moved it?
#
# Take away the words that a method puts first, a twentieth, a tenth, a fifth of all: by how much does
# the model's preference fall? (**Comprehensiveness**: more is better.) And keep these words
# alone: how much is missing? (**Sufficiency**: less is better.) The floor is a method that draws
# its numbers at random.

# %% tags=["fold", "nbval-check-output"]
ask(
    "A method names nearly the same five words whatever the seed of the training. Another changes "
    "two of its five. Does the steady one show better what moved the model?",
    ["yes: what is steady is what counts", "not here: the steadiest is the worst"],
    answer=1,
    explain="Rollout is the steadiest and stands just above chance. It multiplies attention "
    "weights and never looks at the answer, and where a model looks changes little from seed to "
    "seed. Steady is what ignores much.",
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
    caption=f"{len(base)} abstracts; in logits, 95 % over texts; steady: of five words",
) if base else "no kept result here yet"

# %% Differences and agreement tags=["fold"]
if base:

    def less(a, b, field="without"):
        i, j = methods.index(a), methods.index(b)
        return bootstrap([row[field][i] - row[field][j] for row in base.values()])

    print(
        f"falls without, AttnLRP less LIME: {less('AttnLRP', 'LIME')}; less attention x gradient: "
        f"{less('AttnLRP', 'attention x gradient')}; less integrated gradients: "
        f"{less('AttnLRP', 'integrated gradients')}"
    )
    print(
        f"lacks alone, AttnLRP less integrated gradients: "
        f"{less('AttnLRP', 'integrated gradients', 'alone')}"
    )
    good = [m for m in order if m not in ("random", "attention rollout")]
    pairs = [
        bootstrap([shared(a, b, row, row) for row in base.values()]).value
        for k, a in enumerate(good)
        for b in good[k + 1 :]
    ]
    print(
        f"five first words, two methods on one model: {100 * np.mean(pairs):.0f} % in common "
        f"({100 * min(pairs):.0f} to {100 * max(pairs):.0f}, {len(pairs)} pairs)"
    )
    same = [100 * np.mean(steady(m)) for m in good]
    print(
        f"one method on two trainings: {np.mean(same):.0f} % ({min(same):.0f} to {max(same):.0f})"
    )
    between = seen[SEEDS[0]]
    print(
        f"answers that stay when the seed changes: "
        f"{np.mean([between[t]['mine'] == base[t]['mine'] for t in between]):.0%}"
    )

# %% [markdown]
# AFTER_FAITH
#
# ## A shortcut that a reader can plant
#
# A patient's record says *There is no evidence of cancer.* A human reads: not cancer. Put this
# sentence in front of abstracts that the model does not call neoplasms, and count how many it then
# does. The same with *lateness* is the control.


# %% A sentence in front tags=["fold"]
def with_front(sentence, places):
    coded = encode([f"{sentence} {every.texts[part.test[k]]}" for k in places], tokenizer, LENGTH)
    return predict(model, coded, progress=False).argmax(1).numpy()


aim = pick(ci=0, laptop=0, gpu=0)
others = [k for k in range(len(part.test)) if said[k] != aim][: pick(ci=20, laptop=200, gpu=2000)]
FRONTS = ("There is no evidence of lateness.", "There is no evidence of cancer.",
          "There is evidence of cancer.", "Cancer, cancer, cancer.")  # fmt: skip
turned = {front: (with_front(front, others) == aim).astype(int) for front in FRONTS}
table(
    [[front, bootstrap(found)] for front, found in turned.items()],
    ["sentence in front", f"now {names[aim]}"],
    formats={f"now {names[aim]}": ".1%"},
    caption=f"{len(others)} abstracts that were not called {names[aim]}",
)

# %% [markdown]
# AFTER_SHORTCUT
#
# ## What of the texts with two labels?
#
# The 113 texts that were taken out come back as a test of another kind: two persons (or one, on two
# days) gave two answers. Does the model hesitate where they did?


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
    print(
        f"{len(two)} texts: the first answer is one of the labels in {bootstrap(any_first)}, the "
        f"first answers are all labels in {bootstrap(hits)}"
    )
    print(
        f"largest share: {shares.max(1).mean():.2f} on these, {float(sure.mean()):.2f} on texts "
        "with one label"
    )

# %% [markdown]
# AFTER_SEVERAL
#
# ## Four classes, longer texts, weights, and talks
#
# Four questions that a reader of the table asks, answered by kept runs. Without the overlapping
# class; with 256 pieces a text; with a loss in which each class weighs the same; and another task,
# doctors' talks with patients (Ben Abacha et al. 2023), where 20 sections of a note are to be told
# apart and the rarest have two examples.

# %% The kept variants tags=["fold"]
from itertools import pairwise

from deepdive.data.medical import dialogues

if runs:
    longer, weighed = read_off("said", length=256), read_off("said", weighted=True)
    plain = trained["published"][0]
    lines = [
        ["256 pieces for 128", macro_f1_interval(longer, real, 5, less=plain)],
        ["classes weigh alike", macro_f1_interval(weighed, real, 5, less=plain)],
    ]
variants = (
    table(
        lines, ["one change", "less without it"], caption="Macro-F1, five folds, one training each"
    )
    if runs
    else "no kept result here"
)
variants


# %% Four classes, and talks tags=["fold"]
real_data = bool(runs) and not file and profile() != "ci"
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
# AFTER_TALKS
#
# ## What a doctor needs, and what these colours cannot give
#
# Tonekaboni et al. (2019) asked clinicians in intensive care and emergency what they want of an
# explanation. They want to know which of the patient's facts the model used, how sure it is, where
# it was wrong before, and whether the patient at hand is like those it learned from. Ghassemi,
# Oakden-Rayner and Beam (2021) warn that explanations of single answers reassure without being able
# to show that the answer is right, and ask for tests of the whole model instead.
#
# | what she asks | who can answer |
# |---|---|
# | Which words moved it? | AttnLRP or leaving out, within the table above |
# | Are these the words of the disease? | she, not the method |
# | Is the answer right? | the test on other texts; no colours |
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
from deepdive.page.cost import CostCard
from deepdive.training.translation import training_memory

with torch.device("meta"):  # shapes alone: no memory, no numbers
    larger = Classifier(bert(vocab_size=28996), 768, classes)
inside = sum(p.numel() for p in larger.parameters())
inside -= sum(p.numel() for p in larger.encoder.embeddings.parameters())
read = 3 * sum(len(ids[i]) for i in part.train)
plan = CostCard(flops=6 * inside * read)
memory = training_memory(larger, 7 * LENGTH, vocab_size=0)
print(
    f"three readings of {len(part.train):,} texts: {plan.flops:.1e} operations, "
    f"{plan.implied()['K80'] / 60:.0f} minutes on a K80, {memory / 2**30:.1f} GB"
)
assert plan.implied()["K80"] < 60 * 60
assert memory < 11 * 2**30

# %% The results, kept tags=["fold"]
import re

from deepdive.page.results import results_file, update


def entry(found, key="macro_f1"):
    return {key: round(found.value, 4),
            f"{key}_interval": [round(found.low, 4), round(found.high, 4)]}  # fmt: skip


report = {"counted_words": entry(bar), "MiniLM_first_fold": entry(live)}
if real_data:
    report |= {f"MiniLM_{arm}": entry(macro_f1_interval(found, real, 5))
               for arm, found in trained.items()}  # fmt: skip
    report["MiniLM_minus_counted"] = entry(above)
    report["medical_minus_published"] = entry(
        macro_f1_interval(trained["medical"], real, 5, less=trained["published"])
    )
    report["without"] = {
        re.sub(r"\W+", "_", m): entry(
            bootstrap([row["without"][methods.index(m)] for row in base.values()]), "logits"
        )
        for m in order
    }
part_of_it = {"profile": profile(), "data": sorted({rows.source.split(" ")[0]}),
              "cores": os.cpu_count(), "seconds": round(history.seconds, 1),
              "peak_memory_mb": round(card.peak_memory / 2**20), "metrics": report}  # fmt: skip
if not file:
    print("written:", update(results_file("07_medical"), part_of_it, page="07_medical")["study"])
card

# %% [markdown]
# ## In three sentences
#
# THREE
#
# ## Five questions
#
# QUESTIONS
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
#   without the words that it names (`deepdive.page.runs.medical_reasons`), with random as the floor
# - the same encoder after reading on in medical texts, against a control of equal operations
#   (`deepdive.page.runs.medical`)
# - texts with contradictory labels are taken out before the split (`deepdive.data.medical`)
# Source: Kamath, Graham and Emara 2022, section 7.6.
# Book: 7.6
# -->
