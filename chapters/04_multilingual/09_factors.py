# %% [markdown] tags=["slide"]
# # What crosses from one language to another?
#
# "τηε χατ σλεεπσ." A model has read fifty thousand sentences in these letters, and as many in
# English: no dictionary, no translation, not one word in common. Then a linear layer is taught,
# on English alone, which words are nouns. **Does it find the nouns of the other language, and what
# would keep it from finding them?**
#
# <small>Book 4.3.1 · before this page: [hide a word, and guess it](../03_bert/03_masking.ipynb),
# [gaps in two languages](03_gaps_in_two_languages.ipynb) · 20 min to read · a laptop is enough; the
# long runs are kept beside the page</small>

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

# %% English in Greek letters tags=["fold"]
from deepdive.data.disguise import Disguise

greek = Disguise("Greek")
for sentence in ("the cat sleeps .", "where is the station ?"):
    print(f"{sentence:<24}{greek(sentence)}")

# %% [markdown]
# The second language is English in the letters of another alphabet, letter for letter. (K et al.
# 2020 did this with the numbers of the tokens and called it *Fake-English*.) So we know what no
# real pair of languages tells: each sentence has one exact translation, and the two languages have
# in common what we leave in common. For a model, `cat` and `χατ` are two numbers, as unlike each
# other as any two.
#
# ## By hand: which sentence is the translation?
#
# A net gives each sentence a vector, the mean of its words' states. Let three English sentences
# have $(4, 1)$, $(1, 4)$ and $(1, 1)$, their translations $(4, -3)$, $(1, 0)$ and $(1, -3)$. The
# cosine of $(4, 1)$ with its own translation is $13 / (\sqrt{17} \cdot 5) \approx 0.63$, but with
# $(1, 0)$ it is $4 / \sqrt{17} \approx 0.97$: wrong. Now take each language's mean off, $(2, 2)$
# here and $(2, -2)$ there. Both sides become $(2, -1)$, $(-1, 2)$, $(-1, -1)$, and all three are
# found. The second language stood in another place, in the same shape.

# %% Check it tags=["fold", "nbval-check-output"]
import torch

from deepdive.page.runs.crossing import found

one = torch.tensor([[4.0, 1.0], [1.0, 4.0], [1.0, 1.0]])
other = torch.tensor([[4.0, -3.0], [1.0, 0.0], [1.0, -3.0]])
print("as they are:", found(one, other, centred=False)[0].tolist())
print("means off:  ", found(one, other)[0].tolist())

# %% Sentences tags=["fold"]
import random
import re

from deepdive.data.disguise import ALPHABETS
from deepdive.data.grammar import grammar_pairs
from deepdive.data.parallel import parallel
from deepdive.data.trees import treebank
from deepdive.page.profile import banner, pick, profile
from deepdive.page.runs.crossing import Reader, found, gap_filler, learn, words_of

real = profile() != "ci"
LANGUAGES = ("fra", "deu", "nld", "cmn")


def plain(text):
    """Words in lower case and marks, set apart by spaces."""
    text = text.lower().replace("’", "'")
    return " ".join(re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*'?|[.!?,]", text))


def sentences(texts, words):
    """Distinct sentences of 4 to 11 words that are all among the most frequent; the words."""
    every = sorted({plain(text) for text in texts})
    random.Random(0).shuffle(every)
    kept = words_of([every], words)
    known = frozenset(kept.vocab)
    return [t for t in every if 4 <= len(t.split()) <= 11 and known.issuperset(t.split())], kept


# %% English tags=["fold"]
if real:
    texts = [pair[0] for name in LANGUAGES for pair in parallel(name).pairs]
else:
    texts = [pair[0] for pair in grammar_pairs(6000)]
english, vocabulary = sentences(texts, 2000)
test, rest = english[: len(english) // 10][:1000], english[len(english) // 10 :][:120_000]
print(banner("English sides of tatoeba_eng_fra, _deu, _nld, _cmn (real)" if real else "generated"))
print(f"{len(rest):,} sentences to learn from, {len(test):,} for the test, "
      f"{len(vocabulary) - 5:,} words")  # fmt: skip


# %% Tagged words tags=["fold"]
def tagged(trees):
    """Runs of at most 11 words with their parts of speech, three quarters of the words known."""
    for tree in trees:
        words = [plain(word).replace(" ", "") or "_" for word in tree.words]
        for start in range(0, len(words), 11):
            run = words[start : start + 11], list(tree.tags[start : start + 11])
            if sum(word in known for word in run[0]) >= 0.75 * len(run[0]) >= 3:
                yield run


known = frozenset(vocabulary.vocab)
if real:
    to_tag, tag_test = (list(tagged(treebank(part))) for part in ("train", "test"))
else:
    ends = [(t.split(), [w[-1] if w.isalpha() else "." for w in t.split()]) for t in english]
    to_tag, tag_test = ends[:400], ends[400:500]
print(f"tagged by people: {len(to_tag):,} runs of words to learn from, {len(tag_test):,} to test")

# %% One run
from deepdive.explain.probes import tag_accuracy


def crossed(net, vocabulary, layer, speak, first=0):
    """In percent: translations found; tags right in English, and in the other language as it is
    and with each language's mean taken off."""  # fmt: skip
    ours, theirs = Reader(net, vocabulary, layer), Reader(net, vocabulary, layer, first)
    pairs = ours.vectors(test), theirs.vectors([speak(text) for text in test])
    moved = [([speak.word(w[i]) for i in speak.places(w)], [t[i] for i in speak.places(w)])
             for w, t in tag_test]  # fmt: skip
    learned, english, other = ours.tagged(to_tag), ours.tagged(tag_test), theirs.tagged(moved)
    off = [(states - states.mean(0), tags) for states, tags in (learned, other)]
    measured = {
        "found": found(*pairs), "found, as they are": found(*pairs, centred=False),
        "English": tag_accuracy(learned, english, 10.0),
        "other, as it is": tag_accuracy(learned, other, 10.0), "other": tag_accuracy(*off, 10.0),
    }  # fmt: skip
    return {name: round(100 * right.float().mean().item(), 2) for name, right in measured.items()}


# %% The two languages, and a net tags=["fold"]
WIDTH = pick(ci=32, laptop=64, gpu=64)


def world(seed, share=0.0, order="kept", part=1.0, others=1, same=False, pairs=0):
    """English and other alphabets: disguises, texts by language, pairs, and the vocabulary."""
    draw = random.Random(f"world {seed}")
    mine, words = draw.sample(rest, len(rest)), vocabulary.vocab[5:]
    shared = frozenset(draw.sample(words, int(share * len(words))))
    speakers = [Disguise(name, shared, order, seed) for name in [*ALPHABETS][:others]]
    half = len(mine) // 2
    foreign = (mine[:half] if same else mine[half:])[: int(part * half)]
    texts = {s.alphabet: [s(text) for text in foreign] for s in speakers}
    every = words_of([words, *([s.word(word) for word in words] for s in speakers)])
    parallels = [(text, speakers[0](text)) for text in mine[:pairs]]
    return speakers, {"English": mine[:half], **texts}, parallels, every


# %% Measure one change tags=["fold"]
def measure(change, seed, steps):
    return changed(seed, steps, **CHANGES[change])


def changed(seed, steps, apart=0, n_layers=4, n_heads=4, d_model=WIDTH, **changes):
    speakers, texts, pairs, every = world(seed, **changes)
    net = gap_filler(every, seed, n_layers=n_layers, n_heads=n_heads, d_model=d_model,
                     d_ff=4 * d_model)  # fmt: skip
    learn(net, every, texts, steps=steps, pairs=pairs, apart=apart, seed=seed, progress=False)
    return crossed(net, every, (n_layers + 1) // 2, speakers[0], apart)


CHANGES = {
    "nothing": {},
    "a tenth of the words shared": {"share": 0.1}, "half of the words shared": {"share": 0.5},
    "the last word first": {"order": "reversed"}, "each sentence shuffled": {"order": "shuffled"},
    "1 layer": {"n_layers": 1}, "2 layers": {"n_layers": 2}, "8 layers": {"n_layers": 8},
    "1 wide layer": {"n_layers": 1, "d_model": 128},
    "16 narrow layers": {"n_layers": 16, "d_model": 32},
    "1 head": {"n_heads": 1}, "16 heads": {"n_heads": 16},
    "half as wide": {"d_model": 32}, "twice as wide": {"d_model": 128},
    "a 4th of the text": {"part": 1 / 4}, "a 16th of the text": {"part": 1 / 16},
    "a 64th of the text": {"part": 1 / 64},
    "4 languages": {"others": 3}, "8 languages": {"others": 7},
    "places of their own": {"apart": 32}, "the same sentences": {"same": True},
    "1,000 pairs": {"pairs": 1000}, "10,000 pairs": {"pairs": 10_000},
}  # fmt: skip

# %% The kept runs tags=["fold"]
from deepdive.page.experiments import kept, sweep

file = kept("04_multilingual", "factors") if real else None
if profile() == "experiment":
    points = [{"change": change, "seed": seed, "steps": 1500}
              for seed in (1, 2, 3, 4, 5) for change in CHANGES]  # fmt: skip
    sweep(measure, points, file, data="tatoeba, ud_english_ewt", minutes=300)

# %% A net that learns both, now tags=["fold"]
from deepdive.training.settings import Validation

STEPS = pick(ci=150, laptop=300, gpu=1500)
speakers, texts, _, every = world(0)
net = gap_filler(every, 0, n_layers=4, n_heads=4, d_model=WIDTH, d_ff=4 * WIDTH)
shown, seen = test[:40], {}


def look(net):
    """Keep the vectors of 40 sentences in both languages."""
    reader = Reader(net, every, 2)
    sides = shown, [*map(greek, shown)]
    seen[STEPS * len(seen) // 5] = tuple(reader.vectors(side) for side in sides)
    return -float(len(seen))  # the last weights are the ones that stay


look(net)
history = learn(net, every, texts, steps=STEPS, seed=0,
                validate=Validation(look, every=STEPS // 5))  # fmt: skip
print(f"loss: {history.losses[0]:.2f} at first, {history.losses[-1]:.2f} after {STEPS} steps")

# %% [markdown]
# That net has 4 layers, each 64 wide, and about a million numbers. It fills gaps in both languages,
# 64 sentences of each in a step, and nothing says which is which. No sentence that it reads in
# English is one that it reads in Greek letters.

# %% tags=["fold"]
from deepdive.page.predictions import predict

predict(
    "After 1,500 steps 1,000 new sentences are read in both languages. Take each language's mean "
    "off. For how many is the translation the nearest of all 1,000?",
    ["About 1: nothing connects the two", "About 100", "More than 800"],
    answer=2,
    explain="Words that stand in the same places get like states, in whichever language: both "
    "languages are served by the same layers, which learn one shape for both.",
    key="04_multilingual/no-shared-word",
)

# %% [markdown] tags=["answer"]
# #### Two clouds: open this once you have predicted

# %% Go through the training tags=["surprise", "fold"]
from deepdive.page.two_clouds import two_clouds

two_clouds(shown, [*map(greek, shown)], seen, chosen=1)

# %% [markdown] tags=["aside"]
# *Dots are English, diamonds the same sentences in Greek letters; the line leads to the nearest.*
#
# 1. Go back to step 0. Which sentences does a net that knows nothing connect?
# 2. Take the means off and go forward. When do most lines become short?
# 3. At the last step, put the means back. Which sentences lose their translation?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. Those that have as many words: places are all that both languages have in common then.
# 2. Within the first two fifths of the training, as a rule.
# 3. Many: the two clouds have like shapes, in two places.
#
# </details>

# %% What the kept runs found tags=["fold"]
import json

from deepdive.page.tables import table

rows = json.loads(file.read_text())["rows"] if file is not None and file.is_file() else []
if not rows:
    rows = sweep(measure, [{"change": change, "seed": seed, "steps": 60}
                           for seed in (1, 2) for change in ("nothing", "1 layer")])  # fmt: skip
MEASURES = ("found, as they are", "found", "English", "other, as it is", "other")
plain_runs = [row for row in rows if row["change"] == "nothing"]
table([{"seed": row["seed"], **{name: row[name] for name in MEASURES}} for row in plain_runs],
      formats=dict.fromkeys(MEASURES, ".1f"),
      caption="nothing changed, in percent; state after layer 2 of 4")  # fmt: skip

# %% Differences from nothing changed tags=["fold"]
from statistics import mean

from scipy.stats import ttest_1samp


def apart(change, name):
    """Mean difference from the unchanged run, seed by seed, and its 95 % interval (Student's t)."""
    by = {(row["change"], row["seed"]): row[name] for row in rows}
    gaps = [value - by["nothing", seed] for (what, seed), value in by.items() if what == change]
    if len(gaps) < 3:
        return mean(gaps), min(gaps), max(gaps)
    ends = ttest_1samp(gaps, 0).confidence_interval()
    return mean(gaps), ends.low, ends.high


# %% Which change matters? tags=["surprise", "fold"]
import matplotlib.pyplot as plt

from deepdive.page.palette import ROLES
from deepdive.page.plotting import show

measured = {row["change"] for row in rows} - {"nothing"}
there = [change for change in CHANGES if change in measured]
there.sort(key=lambda change: apart(change, "found")[0])
figure, panels = plt.subplots(1, 2, figsize=(7.4, 0.32 * len(there) + 1.2), sharey=True)
for panel, name, role in zip(panels, ("found", "other"), ("key", "value"), strict=True):
    colour = ROLES[role]
    for i, change in enumerate(there):
        middle, low, high = apart(change, name)
        panel.plot([low, high], [i, i], color=colour)
        panel.plot([middle], [i], "o", color=colour)
    panel.axvline(0, color=ROLES["score"], linewidth=1)
panels[0].set_yticks(range(len(there)), there)
panels[0].set_xlabel("translations found,\npoints more")
panels[1].set_xlabel("tags right in the other\nlanguage, points more")
show(figure, "For each change two intervals, of translations found and of tags right, around 0: "
     "nothing changed. The changes are sorted, the most harmful first.")  # fmt: skip
