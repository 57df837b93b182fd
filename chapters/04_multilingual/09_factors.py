# %% [markdown] tags=["slide"]
# # What crosses from one language to another?
#
# "τηε χατ σλεεπσ." A model has read a hundred thousand sentences in these letters, and as many in
# English. No dictionary, no translation, not one word that both languages share. Then it is taught,
# on English alone, which words are nouns. **Does it know the nouns of the other language, and what
# would stop it?**
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
# The second language is English in the letters of another alphabet, letter for letter (K et al.
# 2020 did the same with numbers, and called it *Fake-English*). So we know what no real pair of
# languages tells: each sentence has one exact translation, and what the two have in common is what
# we leave in common. For a model `cat` and `χατ` are two numbers, as far apart as any.

# %% Sentences tags=["fold"]
import random
import re

from deepdive.data.disguise import ALPHABETS
from deepdive.data.grammar import grammar_pairs
from deepdive.data.parallel import parallel
from deepdive.data.trees import treebank
from deepdive.page.profile import banner, pick, profile
from deepdive.training.tasks.crossing import Reader, found, gap_filler, learn, words_of

real = profile() != "ci"
LANGUAGES = ("fra", "deu", "nld", "cmn")


def plain(text):
    """Words in lower case and marks, set apart by spaces."""
    return " ".join(re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*'?|[.!?,]", text.lower().replace("’", "'")))


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
        words = [plain(word) or word for word in tree.words]
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

# %% The kept runs, and a short one now tags=["fold"]
from deepdive.page.experiments import kept, sweep

file = kept("04_multilingual", "factors") if real else None
if profile() == "experiment":
    points = [{"change": change, "seed": seed, "steps": 1500}
              for seed in (1, 2, 3, 4, 5) for change in CHANGES]  # fmt: skip
    sweep(measure, points, file, data="tatoeba, ud_english_ewt", minutes=300)
steps = pick(ci=200, laptop=300, gpu=1500)
live = sweep(measure, [{"change": "nothing", "seed": 0, "steps": steps}])
print("live:", live)
