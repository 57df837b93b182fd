# %% [markdown] tags=["slide"]
# # Cross-lingual transfer: what makes it work?
#
# "τηε χατ σλεεπσ." A model has read fifty thousand sentences in these letters, and as many in
# English. It was given no dictionary and no translation, and no word is the same in both languages,
# only the marks . , ! ? are. Then a linear layer is taught, on English alone, which words are
# nouns. **Does it find the nouns of the other language, and what would keep it from finding
# them?**
#
# <small>Prerequisites: [hide a word, and guess it](../03_bert/03_masking.ipynb),
# [gaps in two languages](03_translation_lm.ipynb) · 20 min · runs on a laptop; results of the long
# runs are included, and their results are loaded · book 4.3.1</small>

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

# %% English in Greek letters tags=["fold"]
from deepdive_book.data.relexified_english import RelexifiedLanguage

greek = RelexifiedLanguage("Greek")
for sentence in ("the cat sleeps .", "where is the station ?"):
    print(f"{sentence:<24}{greek(sentence)}")

# %% [markdown]
# The second language is English in the letters of another alphabet, letter for letter. (K et al.
# 2020 moved each letter to a far place in Unicode and called the result *Fake-English*; Dufter and
# Schütze 2020 gave every token a second number.) So we know what no real pair of languages tells:
# each sentence has one exact translation, and the two languages have in common what we leave in
# common. For a model, `cat` and `χατ` are two numbers, as unlike each other as any two.
#
# ## By hand: which sentence is the translation?
#
# A net gives each sentence a vector, the mean of its words' states in a middle layer. A translation
# is **found** if of all sentences of the other language it is the nearest, by the cosine.
#
# Let three English sentences have $(4, 1)$, $(1, 4)$ and $(1, 1)$, their translations $(4, -3)$,
# $(1, 0)$ and $(1, -3)$. The cosine of $(4, 1)$ with its own translation is $13 / (\sqrt{17} \cdot
# 5) \approx 0.63$, but with $(1, 0)$ it is $4 / \sqrt{17} \approx 0.97$, so the wrong one is
# nearest. In fact all three point nearest to $(1, 0)$, and only the second is right. Now take each
# language's mean off: subtract $(2, 2)$ from the English vectors, as $(4 + 1 + 1) / 3 = 2$, and
# $(2, -2)$ from the others. Both sides become $(2, -1)$, $(-1, 2)$, $(-1, -1)$, and all three are
# found. The second language stood in another place, in the same shape.

# %% Check it tags=["fold", "nbval-check-output"]
import torch

from deepdive_book.ch04.runs.cross_lingual_transfer import nearest_is_partner

one = torch.tensor([[4.0, 1.0], [1.0, 4.0], [1.0, 1.0]])
other = torch.tensor([[4.0, -3.0], [1.0, 0.0], [1.0, -3.0]])
print("as they are:", nearest_is_partner(one, other, centered=False)[0].tolist())
print("means off:  ", nearest_is_partner(one, other)[0].tolist())

# %% By hand: three sentences tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.palette import ROLES
from deepdive_book.kit.plotting import show

figure = Figure(figsize=(6.4, 3.4))
panels = figure.subplots(1, 2, sharex=True, sharey=True)
for panel, title, off in zip(panels, ("as they are", "each mean off"), (0, 1), strict=True):
    for side, role, mark, size in ((one, "key", "o", 12), (other, "weight", "D", 6)):
        for number, (x, y) in enumerate((side - off * side.mean(0)).tolist(), start=1):
            panel.plot([0, x], [0, y], color=ROLES[role], linewidth=1)
            panel.plot([x], [y], mark, color=ROLES[role], markersize=size)
            panel.annotate(str(number), (x, y), (6, 6), textcoords="offset points")
    panel.set_title(title)
    panel.set_aspect("equal")
    panel.margins(0.15)
show(figure, "Three dots and three diamonds, with a line from 0 to each. As they are, dot 1 points "
     "nearly where diamond 2 does; with each mean off, dots and diamonds of one number "
     "coincide.")  # fmt: skip

# %% [markdown]
# *Dots are the English sentences, diamonds their translations, a number for each pair. The cosine
# compares where the lines from 0 point: on the left dot 1 points nearly where diamond 2 does.*
#
# ## One net, two languages
#
# The sentences are the English ones of Tatoeba, in lower case, with no word outside the most
# frequent. Half of them the net reads as they are, the other half in Greek letters. So no sentence
# that it reads in one language is one that it reads in the other. It learns to guess hidden words,
# and nothing says which language a sentence is of.
#
# Two things are measured afterwards. New sentences are read in both languages, and we search for
# each one's translation, once from English and once from the other language: how many are found, on
# average? And a tagger, one linear layer, learns the parts of speech from English alone: on how
# many words and marks of the other language is it right? Both look at the states in the middle of
# the net, after half of its layers.

# %% Sentences tags=["fold"]
import random
import re

from deepdive.data.parallel import parallel
from deepdive.data.trees import treebank
from deepdive_book.ch04.runs.cross_lingual_transfer import (
    Reader,
    masked_lm,
    nearest_is_partner,
    train_model,
    words_of,
)
from deepdive_book.data.grammar import grammar_pairs
from deepdive_book.data.relexified_english import ALPHABETS
from deepdive_book.kit.profile import banner, pick, profile

real = profile() != "ci"
LANGUAGES = ("fra", "deu", "nld", "cmn")


def plain(text):
    """Words in lower case and marks, set apart by spaces."""
    text = text.lower().replace("’", "'")
    return " ".join(re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*'?|[.!?,]", text))


# %% Short sentences of frequent words tags=["fold"]
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
from collections import Counter


def tagged(trees, known):
    """Runs of at most 11 words with their parts of speech, three quarters of the words known."""
    for tree in trees:
        words = [plain(word).replace(" ", "") or "_" for word in tree.words]
        for start in range(0, len(words), 11):
            run = words[start : start + 11], list(tree.tags[start : start + 11])
            if sum(word in known for word in run[0]) >= 0.75 * len(run[0]) >= 3:
                yield run


known = frozenset(vocabulary.vocab)
if real:
    to_tag, tag_test = ([*tagged(treebank(part), known)] for part in ("train", "test"))
else:
    ends = [(t.split(), [w[-1] if w.isalpha() else "." for w in t.split()]) for t in english]
    to_tag, tag_test = ends[:400], ends[400:500]
tags = Counter(tag for _, run in tag_test for tag in run)
marks = tags.pop("PUNCT", 0) or tags.pop(".", 0)
floor = 100 * (marks + max(tags.values())) / (marks + sum(tags.values()))
print(f"tagged by people: {len(to_tag):,} runs of words to learn from, {len(tag_test):,} to test")
print(f"who knows the marks only, and says {max(tags, key=tags.get)} to all words: {floor:.1f} %")

# %% What is measured
from deepdive.explain.probes import tag_accuracy


def crossed(readers, pairs, to_tag, here, there):
    """In percent: translations found; tags right in English, and in the other language as it is
    and with each language's mean taken off, by a tagger that learned from English `to_tag`.
    """
    ours, theirs = readers
    sides = ours.vectors(pairs[0]), theirs.vectors(pairs[1])
    learned, english, other = ours.tagged(to_tag), ours.tagged(here), theirs.tagged(there)
    off = [(states - states.mean(0), tags) for states, tags in (learned, other)]
    measured = {
        "found": nearest_is_partner(*sides),
        "found, as they are": nearest_is_partner(*sides, centered=False),
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
    speakers = [RelexifiedLanguage(name, shared, order, seed) for name in [*ALPHABETS][:others]]
    half = len(mine) // 2
    foreign = (mine[:half] if same else mine[half:])[: int(part * half)]
    texts = {s.alphabet: [s(text) for text in foreign] for s in speakers}
    every = words_of([words, *([s.word(word) for word in words] for s in speakers)])
    parallels = [(text, speakers[0](text)) for text in mine[:pairs]]
    return speakers, {"English": mine[:half], **texts}, parallels, every


# %% Measure one change tags=["fold"]
def disguised(speak):
    """The tagged words of the test in the other language, in its order, with their tags."""
    return [([speak.word(w[i]) for i in speak.places(w)], [t[i] for i in speak.places(w)])
            for w, t in tag_test]  # fmt: skip


def measure(change, seed, steps):
    return changed(seed, steps, **CHANGES[change])


def changed(seed, steps, apart=0, n_layers=4, n_heads=4, d_model=WIDTH, **changes):
    (speak, *_), texts, pairs, every = world(seed, **changes)
    net = masked_lm(every, seed, n_layers=n_layers, n_heads=n_heads, d_model=d_model,
                     d_ff=4 * d_model)  # fmt: skip
    train_model(net, every, texts, steps=steps, pairs=pairs, apart=apart, seed=seed, progress=False)
    readers = [Reader(net, every, (n_layers + 1) // 2, first) for first in (0, apart)]
    return crossed(readers, (test, [*map(speak, test)]), to_tag, tag_test, disguised(speak))


# %% The changes tags=["fold"]
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
import json

from deepdive_book.kit.experiments import results_path as kept
from deepdive_book.kit.experiments import sweep

file = kept("04_multilingual", "factors")
if profile() == "experiment":
    points = [{"change": change, "seed": seed, "steps": 1500}
              for seed in (1, 2, 3) for change in CHANGES]  # fmt: skip
    sweep(measure, points, file, data="tatoeba, ud_english_ewt", minutes=300)

# %% Pairs of two real languages tags=["fold"]
from deepdive.data.translated import pud


def spelled(text, language):
    """As `plain`; in French what is left of an apostrophe is a word: l' homme."""
    text = text.replace("’", "'")
    return plain(text.replace("'", "' ") if language == "fra" else text)


def real_pairs(language):
    """Pairs of sentences of 4 to 11 frequent words, each sentence in one; the vocabulary."""
    both = [(plain(ours), spelled(theirs, language)) for ours, theirs in parallel(language).pairs]
    kept = [words_of([[pair[side] for pair in both]], 2000).vocab[5:] for side in (0, 1)]
    known = [frozenset(words) for words in kept]
    fit = [pair for pair in both if all(
        4 <= len(text.split()) <= 11 and words.issuperset(text.split())
        for text, words in zip(pair, known, strict=True))]  # fmt: skip
    one_each = {ours: theirs for theirs, ours in {theirs: ours for ours, theirs in fit}.items()}
    return [*one_each.items()], words_of(kept)


# %% One run on real languages tags=["fold"]
PUD = {"fra": "fr", "deu": "de"}


def measure_real(language, pairs, seed, steps):
    """As `changed`, for English and `language`; `pairs` of translations stand in one row."""
    rows, every = real_pairs(language)
    random.Random("test").shuffle(rows)
    held, mine = rows[:1000], rows[1000:]
    random.Random(f"real {seed}").shuffle(mine)
    half = len(mine) // 2
    texts = {"English": [ours for ours, _ in mine[:half]],
             language: [theirs for _, theirs in mine[half:]]}  # fmt: skip
    net = masked_lm(every, seed, n_layers=4, n_heads=4, d_model=WIDTH, d_ff=4 * WIDTH)
    train_model(net, every, texts, steps=steps, pairs=mine[:pairs], seed=seed, progress=False)
    known = frozenset(every.vocab)
    trees = treebank("train"), *([s.tree for s in pud(code)] for code in ("en", PUD[language]))
    tags = [[*tagged(some, known)] for some in trees]
    return crossed([Reader(net, every, 2)] * 2, [*zip(*held, strict=True)], *tags)


# %% The kept runs on real languages tags=["fold"]
real_file = kept("04_multilingual", "real_pairs")
if profile() == "experiment":
    points = [{"language": name, "pairs": pairs, "seed": seed, "steps": 1500}
              for seed in (1, 2, 3) for pairs in (0, 1000, 10_000) for name in PUD]  # fmt: skip
    sweep(measure_real, points, real_file, data="tatoeba_eng_fra, tatoeba_eng_deu, "
          "ud_english_ewt, ud_pud", minutes=60)  # fmt: skip

# %% Watch a net that learns both tags=["fold"]
from deepdive.training.settings import Validation

SHOWN = test[:40]


def watch(seed, steps):
    """Nothing changed: the vectors of 40 sentences as the net learns, and what is found."""
    (greek, *_), texts, _, every = world(seed)
    net = masked_lm(every, seed, n_layers=4, n_heads=4, d_model=WIDTH, d_ff=4 * WIDTH)
    reader, seen = Reader(net, every, 2), []

    def look(_):
        sides = (reader.vectors(side) for side in (SHOWN, [*map(greek, SHOWN)]))
        seen.append([[[round(x, 3) for x in row] for row in side.tolist()] for side in sides])
        return -float(len(seen))  # the last weights are the ones that stay

    look(net)
    before = nearest_is_partner(reader.vectors(test), reader.vectors([*map(greek, test)]))
    history = train_model(net, every, texts, steps=steps, seed=seed, progress=False,
                    validate=Validation(look, every=steps // 5))  # fmt: skip
    return {"before": round(100 * before.float().mean().item(), 2),
            "vectors": seen if seed == 2 else [],  # the picture shows one net
            "losses": [round(history.losses[i], 3) for i in (0, -1)],
            **nouns(reader, greek)}  # fmt: skip


# %% Nouns of both languages tags=["fold"]
from deepdive.explain.probes import ridge


def nouns(reader, speak):
    """In percent, by a tagger of English with the means off: how many nouns it finds, and how many
    of the words that it calls nouns are nouns; in English, and in the other language.
    """
    sides = [reader.tagged(side) for side in (to_tag, tag_test, disguised(speak))]
    off = [states - states.mean(0) for states, _ in sides]
    kinds = sorted({*sides[0][1]})
    w, b = ridge(
        off[0], torch.tensor([[tag == kind for kind in kinds] for tag in sides[0][1]]), 10.0
    )
    noun, said = "NOUN" if real else "s", {}
    for name, states, tags in zip(("English", "other"), off[1:], (sides[1][1], sides[2][1]),
                                  strict=True):  # fmt: skip
        called = (states.double() @ w + b).argmax(-1) == kinds.index(noun)
        right = called & torch.tensor([tag == noun for tag in tags])
        said[f"{name}: nouns found"] = 100 * right.sum().item() / tags.count(noun)
        said[f"{name}: called nouns, and are"] = 100 * right.sum().item() / called.sum().item()
    return {what: round(value, 2) for what, value in said.items()}


# %% The net of the picture tags=["fold"]
STEPS = pick(ci=150, laptop=250, gpu=1500)
watch_file = kept("04_multilingual", "watched")
if profile() == "experiment":
    sweep(watch, [{"seed": seed, "steps": 1500} for seed in (2, 1, 3)], watch_file,
          data="tatoeba, ud_english_ewt")  # fmt: skip
if real and watch_file is not None and watch_file.is_file():
    nets = json.loads(watch_file.read_text(encoding="utf-8"))["rows"]
else:  # away from the checkout: a beginning
    nets = sweep(watch, [{"seed": 2, "steps": STEPS}])
drawn = next(net for net in nets if net["vectors"])
seen = {drawn["steps"] * i // 5: tuple(torch.tensor(both))
        for i, both in enumerate(drawn["vectors"])}  # fmt: skip
print(f"seed {drawn['seed']}, {drawn['steps']:,} steps")
print("loss: {:.2f} at first, {:.2f} at the end".format(*drawn["losses"]))
print(f"translations found before the first step: {drawn['before']:.1f} %")

# %% [markdown]
# This net has 4 layers, each 64 wide, and reads 64 sentences of each language in a step. It was
# trained beforehand, for as many steps as the output says; `watch` is what was run.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "After 1,500 steps 1,000 new sentences are read in both languages. Take each language's mean "
    "off. For how many is the translation the nearest of all 1,000?",
    ["About 1: nothing connects the two", "About 100", "More than 800"],
    answer=2,
    explain="Words that stand in the same places get similar states, in whichever language: both "
    "languages are served by the same layers, which learn one shape for both.",
    key="04_multilingual/no-shared-word",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Go through the training tags=["surprise", "fold"]
from deepdive_book.ch04.figures.embedding_alignment import embedding_alignment

embedding_alignment(SHOWN, [*map(greek, SHOWN)], seen, chosen=1)

# %% What the answers below say of it tags=["surprise", "fold"]
right = {step: [nearest_is_partner(*both, centered=off)[0].sum().item() for off in (False, True)]
         for step, both in seen.items()}  # fmt: skip
if drawn["steps"] == 1500:
    assert right == {0: [6, 4], 300: [31, 28], 600: [38, 37], 900: [17, 37],
                     1200: [26, 40], 1500: [24, 40]}  # fmt: skip

# %% [markdown] tags=["aside"]
# *Dots are English, diamonds the same sentences in Greek letters; a line leads from the chosen
# sentence to the nearest of the other language, by all numbers of the vectors.*
#
# 1. Go back to step 0. For how many sentences is the translation the nearest?
# 2. Take the means off and go forward. When have most sentences found their translation?
# 3. At the last step, put the means back. How many lose it? And at step 600?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. For 6 of 40, with the means left on. The net knows nothing yet; the marks, and how many words a
#    sentence has, are the same in both languages.
# 2. At step 300 it is 28 of 40, at step 600 it is 37.
# 3. At the last step 16 of 40 lose it, at step 600 hardly any does. In this training the two
#    languages first get the same shape, and then move apart.
#
# </details>

# %% With nothing changed tags=["slide", "fold"]
from deepdive_book.kit.tables import table

rows = json.loads(file.read_text())["rows"] if file is not None and file.is_file() else []
if not rows:
    rows = sweep(measure, [{"change": change, "seed": seed, "steps": 60}
                           for seed in (1, 2) for change in ("nothing", "1 layer")])  # fmt: skip
MEASURES = ("found, as they are", "found", "English", "other, as it is", "other")
plain_runs = [row for row in rows if row["change"] == "nothing"]
table([{"seed": row["seed"], **{name: row[name] for name in MEASURES}} for row in plain_runs],
      formats=dict.fromkeys(MEASURES, ".1f"),
      caption="nothing changed, in percent. Found: translations; English and other: right tags; "
      "as it is, as they are: with the means left on")  # fmt: skip

# %% Do nouns cross? tags=["fold", "surprise"]
WHAT = ("nouns found", "called nouns, and are")
table([{"seed": net["seed"], **{f"{side}: {what}": net[f"{side}: {what}"]
                                for side in ("English", "other") for what in WHAT}}
       for net in sorted(nets, key=lambda net: net["seed"])],
      formats={f"{side}: {what}": ".0f" for side in ("English", "other") for what in WHAT},
      caption="nothing changed, the means off, in percent: of the nouns those that the tagger of "
      "English finds, and of the words that it calls nouns those that are")  # fmt: skip

# %% Differences from nothing changed tags=["fold"]
from statistics import mean

from scipy.stats import ttest_1samp


def apart(change, name):
    """Mean difference from the unchanged run of the same seed, and its 95 % interval (Student's t);
    of fewer than three seeds the lowest and the highest.
    """
    by = {(row["change"], row["seed"]): row[name] for row in rows}
    gaps = [value - by["nothing", seed] for (what, seed), value in by.items()
            if what == change and ("nothing", seed) in by]  # fmt: skip
    if len(gaps) < 3:
        return mean(gaps), min(gaps), max(gaps)
    ends = ttest_1samp(gaps, 0).confidence_interval()
    return mean(gaps), ends.low, ends.high


# %% [markdown]
# Without taking the means off, 16 to 40% of the translations are found, depending on the seed.
# With each language's mean off it is the same vectors, and more than 80%. The two languages lie in
# different places and have nearly the same shape.
#
# The tagger crosses with them. Taught on English alone, it is right on seven of ten words and marks
# of the other language with the means off, and on clearly fewer as they are. On English itself it
# is right on nearly four of five.

# %% [markdown]
# ## Which change breaks it?
#
# Now one thing is changed at a time, and the net is trained anew. Each run is compared with the
# unchanged run of its own seed, which draws from the same text and has the same test.

# %% tags=["fold"]
predict(
    "Which of these costs most translations?",
    ["Half of the words are shared: nothing needs to cross any more",
     "The second language has a 16th of the text",
     "The second language says the last word first",
     "The net has 1 head in each layer instead of 4"],
    answer=2,
    explain="Shared words and one head change nothing that can be told. What both languages have "
    "in common, without a word of it being shared, is which words stand beside which, on which "
    "side, and at which place.",
    key="04_multilingual/which-change",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Which change matters? tags=["surprise", "slide", "fold"]
measured = {row["change"] for row in rows} - {"nothing"}
there = [change for change in CHANGES if change in measured]
there.sort(key=lambda change: -apart(change, "found")[0])
figure = Figure(figsize=(5.4, 0.36 * len(there) + 1.4))
panel = figure.subplots()
for name, label, role, mark, up in (("found", "translations found", "key", "o", 0.14),
                                    ("other", "tags right", "weight", "D", -0.14)):  # fmt: skip
    for i, change in enumerate(there):
        middle, low, high = apart(change, name)
        panel.plot([low, high], [i + up, i + up], color=ROLES[role])
        panel.plot([middle], [i + up], mark, color=ROLES[role], markersize=5,
                   label=None if i else label)  # fmt: skip
panel.axvline(0, color=ROLES["score"], linewidth=1)
panel.set_yticks(range(len(there)), there)
panel.set_xlabel("change in points (0: nothing changed)")
figure.legend(loc="outside upper center", ncols=2, frameon=False)
show(figure, "For each change a dot with an interval for translations found, and a diamond with an "
     "interval for tags right in the other language, around 0. Sorted, the most harmful at the "
     "top.")  # fmt: skip

# %% [markdown]
# *Each mark is the mean over three seeds, its line the 95 % interval: dots for translations found,
# diamonds for tags right in the other language. A line that crosses 0 cannot be told from nothing
# changed.*


# %% The same in numbers tags=["fold", "surprise"]
def told(change, name):
    middle, low, high = apart(change, name)
    return f"{middle:+.0f} ({low:+.0f} to {high:+.0f})"


table([{"change": change, "found": told(change, "found"), "tags": told(change, "other"),
        "found, as they are": told(change, "found, as they are"),
        "seeds": sum(row["change"] == change for row in rows)} for change in reversed(there)],
      caption="change in points: mean, and the 95 % interval")  # fmt: skip

# %% [markdown]
# **Order matters most.** With the last word first, or with each sentence in an order of its own,
# 79 and 78 points of 84 are lost. The words and their frequencies are what they were. A sentence
# that is read backwards even keeps all its neighbors. Their sides are changed, and with them the
# words' places; these runs do not part the two.
#
# **Shared places help much.** Give the second language rows of its own for first, second, third
# word, and 66 points are lost, though nothing else has changed.
#
# **Then what there is to learn from, and with.** A 64th of the sentences for the second language
# costs 38 points. Eight languages in one net cost 37 and four cost 18; a batch is as large as
# before, so each of them is also read less often. A single layer costs 29, a single layer of twice
# the width 22, and four layers of half the width 13. Twice the width brings 9 points more, eight
# layers bring 6. (That is 22 changes with three seeds each and no correction for their number, so a
# narrow interval can be luck.)
#
# **Pairs help**, a thousand as well as ten thousand, by 12 points each. With the means left on they
# bring 64 or more: pairs also bring the two languages into one place.
#
# **Heads and shared words** cannot be told from nothing, since their intervals hold 0. That is no
# proof that they do nothing: for half of the words the interval goes up to 35. The tagger alone
# gains there.
#
# K et al. asked the same of nets of BERT's size, for English with Spanish, Hindi and Russian. They
# found that shared pieces hardly matter, that depth does, and that heads hardly change the gap.
# Shuffled words cost them much, but left more than chance. Deshpande et al. (2022) found that
# shared pieces do matter where the order of the words differs.

# %% [markdown]
# ## Two real languages
#
# French is not English in other letters: its words are not ours one for one, and stand elsewhere.
# The same net again, with 2,000 words of each language, English from one half of the pairs, the
# other language from the other half; then with translations beside each other in half of the
# batches, as in [4.3](03_translation_lm.ipynb). The tagger learns from English again
# (ud_english_ewt); English, French and German are tested on the same sentences (ud_pud).


# %% How much there is of them tags=["fold"]
def noun_floor(rows, words):
    """In percent: who knows the marks only, and says NOUN to all words that the net knows."""
    tags = [t for run, of in rows for word, t in zip(run, of, strict=True) if word in words]
    return 100 * sum(t in ("PUNCT", "NOUN") for t in tags) / len(tags)


for name, code in PUD.items() if real else ():
    fit, every = real_pairs(name)
    words = frozenset(every.vocab)
    floor = noun_floor(tagged([s.tree for s in pud(code)], words), words)
    print(f"{name}: {(len(fit) - 1000) // 2:,} sentences to learn from;")
    print(f"     tags by who says NOUN to all words: {floor:.0f} %")


# %% French and German tags=["fold"]
def spread(values):
    middle = mean(values)
    return f"{middle:.0f} ({min(values):.0f} to {max(values):.0f})"


if real_file is not None and real_file.is_file():
    real_rows = json.loads(real_file.read_text(encoding="utf-8"))["rows"]
else:  # away from the checkout: a beginning, of one seed, where there is data
    real_rows = [{"language": "fra", "pairs": pairs, **measure_real("fra", pairs, 0, STEPS // 5)}
                 for pairs in ((0, 1000) if real else ())]  # fmt: skip
groups = {}
for row in real_rows:
    groups.setdefault((row["language"], row["pairs"]), []).append(row)
lines = [{"language": name, "pairs": pairs, "seeds": len(group),
          **{what: spread([row[what] for row in group]) for what in MEASURES}}
         for (name, pairs), group in sorted(groups.items())]  # fmt: skip
table(lines or [{"language": "none here"}], formats={"pairs": ",d"} if lines else {},
      caption="percent: mean (lowest to highest)")  # fmt: skip

# %% [markdown]
# Far less crosses than between English and its disguise: without pairs about 5 or 6 translations in
# 100 are found. Of the tags rather more than half are right, where to say "noun" to all words gives
# a quarter. With a thousand pairs more is found in each seed, on average about twice as
# much; ten thousand bring no more. On the tags nothing can be seen of them.
#
# Too little text may be part of the reason. The disguise lost nothing measurable with a 4th of its
# text, but there English still had all of its sentences, and here both languages have few. *Chat*
# does not stand at each place where *cat* does, a sentence has several right translations, and this
# test is other text. These runs do not part the three. Large models of a hundred languages do
# cross. They have far more text and more layers, and this page does not measure which of the two
# they need.

# %% [markdown]
# ### Common mistake: to see two clouds, and to call them strangers
#
# A tagger that was taught on English states and finds few nouns in the other language looks like a
# model that transfers nothing. Take each language's mean off first: no label and no translation is
# needed for it, only sentences of each. What that alone is worth stands in the table of the runs
# with nothing changed, between "other, as it is" and "other".
#
# The reverse mistake is to take for knowledge what a count can do. Before its first step the net
# found some translations too; the marks and the number of words may do that. And whoever knows the
# marks alone, and calls every word a noun, is right on nearly a quarter of the tags.

# %% [markdown] tags=["aside"]
# ## How it differs
#
# <!--
# System: zero_shot_factors
# Parent: mbert
# What differs:
# - the second language is English in other letters; words and order are shared or not: `Disguise`
# - a small net fills gaps in both, with one thing changed at a time: `gap_filler`, `learn`
# - counted is what crossed: translations found, and tags by a tagger of English: `found`, `Reader`
# Source: Pires et al. 2019; Wu and Dredze 2019; K et al. 2020; Dufter and Schütze 2020.
# Book: 4.3.1
# -->
#
# | what is changed | what stays | who asked it before |
# |---|---|---|
# | shared words | text, order, net | K et al. 2020; Wu, Conneau et al. 2020: hardly needed |
# | order of the words | the words of each sentence | K et al. 2020; Dufter and Schütze 2020 |
# | layers, heads, width | text | K et al. 2020: depth and the count of weights, hardly heads |
# | text of the second language | English text, net | Liu et al. 2020: much text is needed |
# | number of languages (fewer sentences of each) | net | Conneau, Khandelwal et al. 2020 |
# | places of their own | all else | Dufter and Schütze 2020: shared places help |
# | the same sentences, unpaired | amount of text | Dufter and Schütze 2020: they help |
# | pairs in one row | text, net | Conneau and Lample 2019: translation lessons |
#

# %% [markdown] tags=["aside"]
# ## In practice
#
# - Before you train anything on vectors of several languages, take each language's mean off, and
#   look at what is left.
# - Do not count on transfer between languages of unlike order because it came between two of like
#   order. Measure it.
# - Test with sentences of equal length, or count what the length alone finds.
# - A claim on transfer needs seeds: two runs of the same settings differ here by points.

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. No word is shared. What do English and English in Greek letters share all the same?
#
#    <details><summary>Answer</summary>
#
#    Which words stand near which, how often, and on which side: the same sentences could have been
#    said. And the net: layers, places and the matrices of attention serve both.
#
#    </details>
# 2. Why must each word's row be learned twice, and the layers once?
#
#    <details><summary>Answer</summary>
#
#    Each word has a row of its own in the table, whichever language it is of. The layers get rows
#    from both languages and have one set of weights for them.
#
#    </details>
# 3. Both languages say the last word first. What do you expect?
#
#    <details><summary>Answer</summary>
#
#    As much transfer as with nothing changed: the two languages are alike again.
#
#    </details>
# 4. Why is a change compared with the unchanged run of the same seed?
#
#    <details><summary>Answer</summary>
#
#    The seed draws the text and the first weights, and both move the result. In the difference of
#    two runs of one seed most of that falls out, and the interval is narrower.
#
#    </details>
# 5. A tagger is right on half of the other language's tags. Is that transfer?
#
#    <details><summary>Answer</summary>
#
#    Partly. Whoever knows the marks, which are the same in both, and says NOUN to the rest, has
#    nearly a quarter. Only what is above that can have crossed.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 4 min)* Three sentences have $(3, 0)$, $(0, 3)$, $(3, 3)$, their translations
#    $(3, 2)$, $(0, 5)$, $(3, 5)$. Take the means off. Which translations are found then?
#
#    <details><summary>Answer</summary>
#
#    The mean is $(2, 2)$ here and $(2, 4)$ there: both sides become
#    $(1, -2)$, $(-2, 1)$, $(1, 1)$. All three are found.
#
#    </details>
# 2. *(on paper, 4 min)* Of 1,000 sentences, 100 have each of the lengths 2 to 11. Somebody knows
#    nothing but the length, and guesses. How many of the 1,000 translations are found?
#
#    <details><summary>Answer</summary>
#
#    One in 100 of each length: 10 of 1,000, or 1%. Without the length it would be one.
#
#    </details>
# 3. *(measure, 15 min)* Turn each sentence of `rest` and `test` round, and the words and tags of
#    `to_tag` and `tag_test`, so that both languages say the last word first. Run
#    `measure("nothing", 1, 300)` before and after. Is the answer to the third question right?
#
#    <details><summary>Answer</summary>
#
#    Expect two numbers as near to each other as two seeds are. What matters is that both languages
#    have one order, and not which.
#
#    </details>

# %%
# The answers to the first two exercises, checked.
one = torch.tensor([[3.0, 0.0], [0.0, 3.0], [3.0, 3.0]])
other = torch.tensor([[3.0, 2.0], [0.0, 5.0], [3.0, 5.0]])
assert (one - one.mean(0)).tolist() == (other - other.mean(0)).tolist()
assert nearest_is_partner(one, other).all()
assert sum(100 * (1 / 100) for length in range(2, 12)) / 1000 == 0.01
print("both answers hold")

# %% [markdown]
# ## Summary
#
# Two languages without a word in common are read by the same layers, and what stands in like
# company gets similar states in both. Each language lies in a place of its own, so that its mean
# has to be taken off before one compares. What the crossing needs most is that words stand in the
# same order and are counted by the same places, and then enough text, few languages and more than
# one layer; of shared words and heads these runs tell nothing.
#
# So does a tagger of English find the nouns of *τηε χατ σλεεπσ*? Most of them: of a hundred nouns
# it finds 76 to 83 with the means off, and 83 or 84 of the English ones; but in both languages only
# half of the words that it calls nouns, or a little more, are nouns. Four of five translations are
# found among a thousand sentences. What keeps it from finding them is above all another order of
# the words, or places that are not shared; then very little text, many languages in one net, or a
# single layer. French and German differ from English in more than their letters, and there this
# small net finds only a few translations in a hundred.
#
# ## Further reading
#
# - K et al. (2020), *Cross-Lingual Ability of Multilingual BERT: An Empirical Study*: English in
#   other numbers, and which changes matter.
# - Dufter and Schütze (2020), *Identifying Elements Essential for BERT's Multilinguality*: shared
#   places, few weights, comparable text.
# - Conneau, Khandelwal, Goyal and others (2020), *Unsupervised Cross-lingual Representation
#   Learning at Scale*: more languages in a net of one size.
# - Conneau and Lample (2019), *Cross-lingual Language Model Pretraining*: pairs in one row.
# - Pires et al. (2019), *How Multilingual is Multilingual BERT?*
# - Deshpande et al. (2022), *When is BERT Multilingual? Isolating Crucial Ingredients for
#   Cross-lingual Transfer*: order and shared pieces, changed together.
#
# <small>Book 4.3.1</small>
