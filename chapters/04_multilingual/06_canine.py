# %% [markdown] tags=["slide"]
# # CANINE: an encoder without a vocabulary
#
# Two signs: 中 (U+4E2D), *middle*, as Chinese writes it, and อ (U+0E2D), a letter of the Thai
# alphabet. CANINE is an encoder like mBERT without a vocabulary: it reads characters, and makes one
# place of each four. These two are the very same thing to it: put one in the place of the other,
# and no number of its answer changes. Must a model have a vocabulary? What does it cost to have
# none, and what does one lose?
#
# <small>Prerequisites: [who gets how many pieces?](02_vocabulary.ipynb),
# [bytes in the place of pieces](../05_efficient/12_byt5.ipynb) · 20 min · runs on a laptop; results
# of the long runs are included</small>

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

# %% Two letters, eight slices tags=["fold"]
from deepdive_book.ch04.figures.hash_embedding_demo import LENGTHS, hash_embedding_demo, slices

assert slices("中") == slices("อ")
hash_embedding_demo([("中", "อ"), ("T", "联"), ("今", "車"), ("ス", "点"), ("a", "b")])

# %% [markdown]
# *A letter is read as a vector in eight slices. The number in a slice is the row that it takes from
# that slice's table; blue, where both letters take the same row. Type two letters of your own, or
# press a pair.*
#
# 1. Find a letter that meets `a` in all eight slices. (The line below says how far apart the
#    letters of a pair are.)
# 2. Find two letters that meet in one slice and not in the others. Then switch to eight lengths and
#    try again. (Answers below.)
#
# Computers number all signs of all scripts, from 0 to 1,114,111: their **code points**. CANINE
# (Clark et al. 2022) reads these numbers and nothing else. A table with a row of 768 numbers for
# each would have 856 million weights. So it has eight tables of 16,384 rows of 96 numbers, 12.6
# million weights together, and a rule that says which row of table $k$ belongs to the code point
# $c$, a **hash**:
#
# $$h_k(c) = (c + 1) \cdot p_k \bmod 16384$$
#
# The eight numbers $p_k$ are primes: 31, 43, 59, 61, 73, 97, 103, 113. Where two letters meet in
# one table, the thought is, the other seven still tell them apart.

# %% [markdown] tags=["slide"]
# ## By hand: two tables of eight rows
#
# Take two tables of 8 rows, and the primes 3 and 5.
#
# | $c$ | $(c + 1) \cdot 3 \bmod 8$ | $(c + 1) \cdot 5 \bmod 8$ |
# |---|---|---|
# | 1 | 6 | 2 |
# | 2 | 1 | 7 |
# | 9 | 30 mod 8 = 6 | 50 mod 8 = 2 |
#
# The letters 1 and 9 have the same two slices.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Eight tables of 16,384 rows. Unicode has about 140,000 letters, digits, marks and other "
    "signs. How many of them have a vector that is theirs alone?",
    ["all: there are 16,384 to the power of 8 vectors", "about 128,000, all but the first 16,384",
     "about 16,000", "not one"],
    answer=3,
    explain="The eight hashes repeat together, every 16,384 letters. So there are 16,384 different "
    "vectors and no more, and each of them belongs to several signs.",
    key="04_multilingual/hashed",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown] tags=["surprise"]
# Not one. In the small tables the letters 1 and 9 must meet twice: from $c$ to $c + 8$ the first
# product grows by 24, the second by 40, and both are multiples of 8. Two tables of 8 rows have 64
# pairs of slices, and 8 of them are ever used.
#
# Now make the second table one row shorter: 7. Letter 1 has the rows 6 and 10 mod 7 = 3, letter 9
# has 6 and 50 mod 7 = 1. They meet in one table and not in the other. A pair comes again after
# $8 \cdot 7 = 56$ letters, and not before.

# %% Check it tags=["surprise", "nbval-check-output", "fold"]
pairs = [((c + 1) * 3 % 8, (c + 1) * 5 % 8) for c in range(1000)]
shorter = [((c + 1) * 3 % 8, (c + 1) * 5 % 7) for c in range(1000)]
assert (pairs[1], pairs[2], pairs[9]) == ((6, 2), (1, 7), (6, 2))
assert (shorter[1], shorter[9]) == ((6, 3), (6, 1))
assert slices("a") == slices("䁡") == slices("聡")
assert sum(a == b for a, b in zip(slices("A", True), slices("䀾", True), strict=True)) == 1
assert (round(1_114_112 * 768 / 1e6), round(8 * 16_384 * 96 / 1e6, 1)) == (856, 12.6)
assert round(LENGTHS[-1] * LENGTHS[-2] / 1e6, 1) == 266.5  # the least product of two lengths
print(f"8 and 8 rows: {len(set(pairs))} pairs used, 8 and 7 rows: {len(set(shorter))}")

# %% The mend, in three lines tags=["surprise"]
import torch

from deepdive.layers.hashed import PRIMES, HashEmbedding


class EightLengths(HashEmbedding):
    """Table k has a length of its own: 16,381, 16,369, ..., 16,319, all of them prime."""

    def buckets(self, tokens):
        return (tokens.unsqueeze(-1) + 1) * torch.tensor(PRIMES[:8]) % torch.tensor(LENGTHS)


# %% Count the vectors of all signs tags=["surprise", "fold"]
import unicodedata
from collections import Counter

from deepdive_book.kit.tables import table

signs = torch.tensor([c for c in range(0x110000) if unicodedata.category(chr(c))[0] in "LMNPS"])
counts = []
for name, hashed in (("as released", HashEmbedding(8)), ("eight lengths", EightLengths(8))):
    _, times = hashed.buckets(signs).unique(dim=0, return_counts=True)
    counts.append([name, len(times), int((times == 1).sum()), int(times.min()), int(times.max())])
assert [row[1:3] for row in counts] == [[16_384, 0], [len(signs)] * 2]
table(counts, ["tables", "different vectors", "signs alone with theirs", "fewest signs a vector",
               "most"],
      caption=f"{len(signs):,} signs of Unicode {unicodedata.unidata_version}")  # fmt: skip

# %% [markdown] tags=["surprise"]
# Eight hashes with one length do what one hash does. From $c$ to $c + 16384$ each product grows by
# a multiple of 16,384, so that all eight rows come again together, and each vector is shared by
# five signs at least. Make each table a few rows shorter, each by another number, and every sign
# has a vector of its own.
#
# <details><summary>Answers to the two tasks</summary>
#
# 1. Any letter whose number is 16,384 or a multiple of that further on: `a` is 97, so 䁡, which is
#    16,481, or 聡, which is 32,865.
# 2. With one length there are none: two letters meet in all eight slices or in none. With eight
#    lengths there are: `A`, which is 65, and 䀾, 16,381 further on. They meet in the first slice,
#    and no two letters meet in more than one: the lengths are different primes, so letters that
#    meet in two slices would lie a product of two primes apart, 266.5 million at least, and there
#    are only 1.1 million code points.
#
# </details>
#
# Does the model notice? A sentence with either letter:

# %% Two sentences, one answer tags=["surprise"]
from deepdive.models.multilingual import canine


def read(text, model):
    """The states of a text, as CANINE reads it: code points, between its two marks."""
    with torch.no_grad():
        return model(torch.tensor([[0xE000, *map(ord, text), 0xE001]]))


torch.manual_seed(0)
small = canine.canine(d_model=64, n_heads=4, n_layers=2, d_ff=128, dropout=0.0).eval()
first, second, third = (read(f"She wrote {x} on the wall.", small) for x in "中อb")
print("中 and อ: all states equal,", torch.equal(first, second))
print("中 and b: all states equal,", torch.equal(first, third))
assert torch.equal(first, second)
assert not torch.equal(first, third)

# %% [markdown] tags=["surprise"]
# Weights cannot mend it: these are drawn by lot, and it is so for any. Who meets whom in real text:

# %% Letters that share a vector, in 24 languages tags=["surprise", "fold"]
from deepdive.data.translated import SIB200, sib200
from deepdive_book.kit.profile import profile

real = profile() != "ci"
if real:
    texts = {x: [*sib200(x, "train", None).texts, *sib200(x, "test", None).texts] for x in SIB200}
else:
    from deepdive_book.ch04.runs.vocabulary_allocation import country_names

    names = {"en": "eng_Latn", "zh": "zho_Hans", "ja": "jpn_Jpan", "th": "tha_Thai"}
    texts = {names[code]: some for code, some in country_names([*names])[0].items()}
seen = {x: Counter("".join(some)) for x, some in texts.items()}


def meeting(letters):
    """The groups of letters that share a vector."""
    groups = {}
    for letter in sorted(letters):
        groups.setdefault(ord(letter) % 16_384, []).append(letter)
    return [group for group in groups.values() if len(group) > 1]


# %% Inside one language, and between them tags=["surprise", "fold"]
together = sum(seen.values(), Counter())
everywhere = meeting(together)
print(f"{len(seen)} languages, {len(together):,} different characters;\n"
      f"{sum(map(len, everywhere))} of them share a vector with another")  # fmt: skip
lines = []
for x, letters in seen.items():
    own = sorted(meeting(letters), key=lambda group: -min(letters[c] for c in group))
    if own:
        lines.append([SIB200[x], len(letters), len(own), "  ".join(map("/".join, own[:5]))])
table(lines, ["language", "characters", "groups with one vector", "the most frequent"],
      caption="characters of one language that share a vector")  # fmt: skip

# %% [markdown] tags=["surprise"]
# Most who meet are strangers: a Thai letter seldom stands where a Chinese one could, and the
# neighbors may say which of the two it was. But 今, *now*, and 車, *car*, stand in the same
# Japanese texts, and ス, a syllable, shares its vector with 点, *point*. In Chinese texts a capital
# T is also the 联 of *union*. What that costs is not known: we found nobody who has measured eight
# lengths. (What comes near stands under *In practice*.)

# %% [markdown] tags=["slide"]
# ## By hand: four letters, one place
#
# Letters are many. A sentence of 30 pieces has about 120 letters, and each layer works for each
# **place** that it reads. Let one place that goes through one layer be one unit of work:
#
# | | places | layers | work |
# |---|---|---|---|
# | pieces | 30 | 12 | 360 |
# | letters | 120 | 12 | 1,440 |
#
# CANINE reads 120 letters, and its twelve deep layers read 30 places. A first layer lets letters
# see their neighbors. Then a **convolution** makes one place of each four letters. After the deep
# layers a second convolution makes a place for each letter again, from the letter's state after the
# first layer and from what became of its four. A last layer works on these.

# %% The way of twelve letters tags=["slide", "fold"]
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.plotting import show

STEP, said = 23, "She wrote it"
levels = {20: "letters", 78: "first layer", 138: "12 deep layers", 198: "last layer"}
drawn = []
for y, name in levels.items():
    many = 3 if "deep" in name else 12
    wide = 12 * STEP / many
    role = "key" if "deep" in name else "query"
    drawn += [f'<rect x="{4 + k * wide:g}" y="{y - 14}" width="{wide - 3:g}" height="28" '
              f'fill="{ROLES[role]}" fill-opacity="0.2" stroke="{ROLES[role]}"/>'
              for k in range(many)]  # fmt: skip
    drawn.append(text(340, y, name, 15))
drawn += [text(4 + (k + 0.43) * STEP, 20, letter, 15) for k, letter in enumerate(said)]
for k in range(12):  # letter to letter, four letters to their place, and back
    x, middle = 4 + (k + 0.43) * STEP, 4 + (k // 4 + 0.48) * 4 * STEP
    for y, (a, b) in {34: (x, x), 92: (x, middle), 152: (middle, x)}.items():
        drawn.append(f'<path d="M{a:g} {y}L{b:g} {y + 32}" stroke="currentColor" fill="none"/>')
show(svg(400, 220, drawn), "Twelve letters, a layer of twelve places, three places in the deep "
     "layers, each made of four, and a last layer of twelve places.")  # fmt: skip

# %% [markdown]
# *(Left out: the lines from the first layer around the deep ones to the second convolution, and a
# place for the mark with which a text begins.)*
#
# | CANINE | places | layers | work |
# |---|---|---|---|
# | first and last layer | 120 | 2 | 240 |
# | four letters to one place | 30 | | 10 |
# | twelve deep layers | 30 | 12 | 360 |
# | back to letters | 120 | | 80 |
# | together | | | 690 |
#
# <details><summary>Where 10 and 80 come from</summary>
#
# A layer is 12 products of $d \times d$ for a place, 4 in attention and 8 in the feed-forward part.
# The first convolution has 4 such products for each of 30 places: $30 \cdot 4 / 12 = 10$. The
# second reads four places of double width, 8 products for each of 120: $120 \cdot 8 / 12 = 80$.
# The pairs of attention are left out; the check adds them.
#
# </details>
#
# Twice the work of pieces, half the work of letters in every layer. And the table of pieces is
# gone. For each deep place that is $690 / 30 = 23$ units; a piece takes 12.

# %% Count it tags=["fold", "nbval-check-output"]
from deepdive.models.bert import bert
from deepdive_book.kit.flops import count_flops

D = 64
shape = {"d_model": D, "d_ff": 4 * D, "n_heads": 4, "n_layers": 12, "n_segments": 1}
models = {
    "pieces": (bert.bert(vocab_size=100, **shape), 30, 360, 12 * 30**2),
    "letters": (bert.bert(vocab_size=100, **shape), 120, 1440, 12 * 120**2),
    "CANINE": (canine.canine(n_buckets=128, **shape), 120, 690, 12 * 30**2 + 128**2 + 120**2),
}
for name, (model, places, work, pairs) in models.items():
    with torch.no_grad():
        counted = count_flops(lambda m=model, n=places: m.eval()(torch.full((1, n), 65)))
    by_hand = 2 * 12 * D**2 * work + 4 * D * pairs  # a unit is 12 D^2 products; pairs come on top
    assert abs(counted / by_hand - 1) < 0.01
    print(f"{name}: {work:,} units, {work + pairs / (6 * 768):,.0f} with pairs")
print("Pairs are reckoned for states 768 wide. The\nlibrary counts as by hand, tried 64 wide.")

# %% [markdown]
# ## Who pays?
#
# Pieces are cut where text is plenty, so some languages need more of them for the same sentence. Is
# a reader of letters fairer? The 701 sentences of [SIB-200](https://arxiv.org/abs/2309.07445) to
# learn from stand in 24 languages, translated by people. What a language *pays* is how many places
# its sentences take in the deep layers; English is 1. The places are pieces of XLM-R's vocabulary
# of 250,002, letters by fours as in CANINE, or bytes as in
# [ByT5](../05_efficient/12_byt5.ipynb).

# %% tags=["fold"]
predict(
    "What does the dearest of the other 23 languages pay, where letters are counted?",
    ["about 1.2", "about 2", "about 3, as with bytes"],
    answer=0,
    explain="The alphabets here need about as many letters for a sentence. Languages that "
    "write syllables or words with one sign need far fewer, and nobody needs many more.",
    key="04_multilingual/letters",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Count places tags=["surprise", "fold"]
from functools import cache

import numpy as np

READERS = {"pieces": "XLM-R's pieces", "letters": "letters / 4", "bytes": "bytes"}


@cache
def cutter_of_100_languages():
    from deepdive_book.kit.multilingual_e5 import e5_tokenizer  # XLM-R's vocabulary

    return e5_tokenizer()


@cache
def places_of(language, reader, count):
    """How many places each sentence has in the deep layers."""
    some = sib200(language, "train", None).texts[:count]
    size = {"pieces": lambda text: len(cutter_of_100_languages().encode(text)),
            "letters": lambda text: len(text) / 4,
            "bytes": lambda text: len(text.encode())}  # fmt: skip
    return np.array([size[reader](text) for text in some])


# %% Count them beside English tags=["surprise", "fold"]
def paid(language, count, readers=tuple(READERS)):
    """Places a sentence, and those beside English with what 95 % of draws of sentences say."""
    draws = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), 2000)
    found = {"sentences": count}
    for reader in readers:
        own, english = (places_of(x, reader, count) for x in (language, "eng_Latn"))
        ratios = draws @ own / (draws @ english)
        ends = np.quantile(ratios, (0.025, 0.975))
        found[reader] = [round(float(x), 4) for x in (own.mean(), own.sum() / english.sum(), *ends)]
    return found


# %% Keep what was counted tags=["surprise", "fold"]
import json

from deepdive_book.kit.experiments import results_path, share, sweep

file, DATA = results_path("04_multilingual", "letters"), "sib200, ud_english_ewt"
if profile() == "experiment":
    sweep(lambda language: paid(language, 701), [{"language": x} for x in SIB200], file, data=DATA)
rows_kept = json.loads(file.read_text("utf-8"))["rows"] if file and file.is_file() else []
payers = {row["language"]: row for row in rows_kept if "language" in row}
if real:  # the same code on 50 of the sentences, without the pieces: it runs
    assert paid("zho_Hans", 50, ["letters"])["letters"][1] < 0.5

# %% Places beside English tags=["surprise", "slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(4.6, 6.6))
axes = figure.add_subplot()
order = sorted(payers, key=lambda x: payers[x]["letters"][1])
for i, (reader, mark) in enumerate(zip(READERS, "osx", strict=True)):
    ratios = [payers[x][reader][1] for x in order]
    axes.plot(ratios, np.arange(len(order)) + 0.25 * (1 - i), mark, label=READERS[reader],
              markersize=4.5)  # fmt: skip
axes.set_yticks(range(len(order)), [SIB200[x] for x in order])
axes.margins(y=0.02)
axes.set_axisbelow(True)
axes.grid(axis="y", linewidth=0.4)
axes.axvline(1, color="grey", linewidth=0.8)
axes.set(xlim=(0, 3), xlabel="places beside English")
axes.set_xticks([0, 1, 2, 3])
axes.legend(loc="upper center", bbox_to_anchor=(0.35, 1.08), ncols=3, columnspacing=1,
            handletextpad=0.2)  # fmt: skip
with_alt(figure, "Places of the deep layers beside English, 24 languages, three readers. Letters "
         "lie near 1 or far left of it, bytes reach almost 3, most pieces lie a little right of 1."
         )  # fmt: skip

# %% [markdown] tags=["surprise"]
# *A mark is how many places a language's 701 sentences take beside the same ones in English. In
# each line pieces stand above letters, and bytes below.*

# %% In numbers tags=["surprise", "fold"]
lines = []
for reader, name in READERS.items():
    by = sorted(payers, key=lambda x: payers[x][reader][1])
    for x in (by[0], by[-1]) if by else ():
        each, ratio, low, high = payers[x][reader]
        lines.append([name, SIB200[x], f"{each:.1f}", f"{ratio:.2f} [{low:.2f}, {high:.2f}]"])
english = " and ".join(f"{row[k][0]:.1f} {READERS[k]}" for row in [payers.get("eng_Latn")] if row
                       for k in ("pieces", "letters"))  # fmt: skip
table(lines, ["places are", "cheapest, then dearest", "places a sentence", "beside English [95%]"],
      caption="the two ends for each reader; 701 sentences drawn again. English: " + english
      )  # fmt: skip

# %% Work for the whole model tags=["surprise", "fold"]
PIECE, PLACE = 360 / 30, 690 / 30  # units of work for a piece, and for a deep place of letters


def work(language):
    """Units a sentence in pieces and in letters; attention's pairs are left out."""
    return PIECE * payers[language]["pieces"][0], PLACE * payers[language]["letters"][0]


order = sorted(payers, key=lambda x: work(x)[1] / work(x)[0])
lines = [[SIB200[x], *work(x), work(x)[1] / work(x)[0]] for x in order]
cheaper = [name for name, *_, ratio in lines if ratio < 1]
assert not payers or cheaper == ["Chinese", "Japanese", "Yoruba", "Korean"]
over = [sum(row[reader][2] > 1.25 for row in payers.values()) for reader in READERS]
COLUMNS = ["in pieces", "in letters", "letters beside pieces"]
table(lines or [["", None, None, None]], ["language", *COLUMNS],
      formats=dict(zip(COLUMNS, (".0f", ".0f", ".2f"), strict=True)),
      caption="units of work a sentence in the whole model, attention's pairs left out. In letters "
      f"{len(cheaper)} of {len(payers)} are cheaper. "
      "Languages that pay over 1.25 x English, by the interval: in pieces "
      f"{over[0]}, in letters {over[1]}, in bytes {over[2]}")  # fmt: skip

# %% [markdown] tags=["surprise"]
# Letters are fairer. In pieces Yoruba, which XLM-R never read, pays 2.29 times what English pays,
# and in bytes Thai pays 2.79 times. In letters nobody pays more than 1.20.
#
# For most they are dearer too: a place of letters costs 23 units, with the first and the last
# layer, and a piece 12. An English sentence is 747 units in letters and 361 in pieces. Only
# Chinese, Japanese, Yoruba and Korean are cheaper in letters. Fair and cheap are two things.
#
# Chinese takes a third of the places of English. But four Chinese characters are often two words,
# and one place has to hold them. Whether it can, a count does not say.

# %% [markdown]
# ## Words never seen, letters exchanged
#
# Two readers learn from nothing to say what kind of word each word is (noun, verb, adjective and
# so on, 17 kinds), in English posts, mails and reviews. One reads pieces, from a vocabulary of
# 4,096 learned on the same text. The other is a small CANINE, with eight tables of 4,096 rows, an
# eighth as wide, and takes a word's state at its first letter. Each has four layers, 64 wide; two
# of CANINE's read groups of four letters. Both see the same sentences in the same order, and are
# tested on three kinds of words: seen in the training text, not seen there, and with one letter
# exchanged for another.

# %% Sentences tags=["fold"]
from random import Random

from deepdive.data.tasks import parts_of_speech
from deepdive_book.ch04.runs.vocabulary_allocation import unigram
from deepdive_book.data.synthetic_tasks import generated_parts_of_speech
from deepdive_book.kit.profile import banner

if real:
    learn, test = parts_of_speech()
else:
    made = list(generated_parts_of_speech(200))
    learn, test = made[:150], made[150:]
learn, test = ([r for r in part if 3 <= len(r.words) <= 25 and len(r.text) <= 110]
               for part in (learn, test))  # fmt: skip
TAGS = sorted({tag for r in learn for tag in r.tags})
known = {word for r in learn for word in r.words}
print(banner("ud_english_ewt (real)" if real else "sentences (generated)"))
print(f"{len(learn):,} sentences to learn from, {len(test):,} to be tested on, {len(TAGS)} kinds")


# %% Exchange a letter tags=["fold"]
def exchanged(words, seed):
    """The words, in every third of three letters or more one letter exchanged, and which those."""
    lots, out, hit = Random(seed), [*words], []
    for i in range(lots.randrange(3), len(words), 3):
        word = out[i]
        places = [k for k, c in enumerate(word) if c.isalpha() and c.isascii()]
        if len(word) < 3 or not places:
            continue
        k = lots.choice(places)
        new = lots.choice([c for c in "abcdefghijklmnopqrstuvwxyz" if c != word[k].lower()])
        out[i] = word[:k] + (new.upper() if word[k].isupper() else new) + word[k + 1 :]
        hit.append(i)
    return out, hit


wrong, hits = zip(*(exchanged(r.words, n) for n, r in enumerate(test)), strict=True)
print("written:  ", " ".join(test[4].words))
print("exchanged:", " ".join(wrong[4]))

# %% Two readers tags=["fold"]
from torch import nn

from deepdive.positions import LearnedPosition

CLS, SEP, SIZE = 0xE000, 0xE001, 4096 if real else 200
SHAPE = {"d_model": 64, "n_heads": 4, "d_ff": 128, "dropout": 0.1, "n_segments": 1}


@cache
def cutter():
    return unigram([r.text for r in learn], SIZE)


@cache
def pieces_of(word):
    return cutter().encode(word).ids


# %% A sentence as numbers tags=["fold"]
def as_numbers(reader, words):
    """Numbers for a sentence, and where each word begins."""
    ids, starts = ([2] if reader == "pieces" else [CLS]), []
    for word in words:
        starts.append(len(ids))
        ids += pieces_of(word) if reader == "pieces" else [*map(ord, word), ord(" ")]
    return [*ids, 3 if reader == "pieces" else SEP], starts


# %% Built tags=["fold"]
class Tagger(nn.Module):
    """The kind of each word, from the state where it begins."""

    def __init__(self, body):
        super().__init__()
        self.body, self.head = body, nn.Linear(64, len(TAGS))

    def forward(self, ids, starts):
        states = self.body(ids, ids != 0)
        return self.head(states.gather(1, starts[..., None].expand(-1, -1, 64)))


def built(reader, seed):
    torch.manual_seed(seed)
    if reader == "pieces":
        return Tagger(bert.bert(vocab_size=SIZE, n_layers=4, max_length=128, **SHAPE))
    return Tagger(canine.canine(n_layers=2, n_buckets=4096, chunk=32, **SHAPE,
                                position=lambda config: LearnedPosition(128, 64)))  # fmt: skip


def padded(lists, fill=0):
    return nn.utils.rnn.pad_sequence([torch.tensor(one) for one in lists], True, fill)


# %% Taught tags=["fold"]
from deepdive.training import fit
from deepdive.training.optim import adam


def batches(seed, steps):
    """Batches of 32 sentences that are about as long."""
    draw, found = torch.Generator().manual_seed(seed), []
    while len(found) < steps:
        some = torch.randint(len(learn), (512,), generator=draw).tolist()
        some = torch.tensor(sorted(some, key=lambda i: len(learn[i].text))).view(16, 32)
        found += [*some[torch.randperm(16, generator=draw)]]
    return found[:steps]


# %% One reader taught tags=["fold"]
def taught(reader, seed, steps):
    def loss(net, at):
        some = [learn[i] for i in at.tolist()]
        ids, starts = zip(*(as_numbers(reader, r.words) for r in some), strict=True)
        truth = padded([[TAGS.index(tag) for tag in r.tags] for r in some], -100)
        logits = net(padded(ids), padded(starts)).flatten(0, 1)
        return nn.functional.cross_entropy(logits, truth.flatten(), ignore_index=-100)

    net, rate = built(reader, seed), 3e-3
    fit(net, batches(seed, steps), loss, steps=steps, seed=seed, progress=False,
        optimizer=adam(net, lr=rate, betas=(0.9, 0.98)),
        schedule=lambda t: rate * min(t / 100, 1) * (1 - (t - 1) / steps))  # fmt: skip
    return net.eval()


# %% Tested tags=["fold"]
@torch.no_grad()
def right(net, reader, sentences, some):
    """For each word of each sentence whether its kind was said rightly."""
    found = []
    for k in range(0, len(some), 64):
        part = [as_numbers(reader, words) for words in sentences[k : k + 64]]
        ids, starts = zip(*part, strict=True)
        best = net(padded(ids), padded(starts)).argmax(-1).tolist()
        found += [[TAGS[b] == tag for b, tag in zip(each, r.tags, strict=False)]
                  for each, r in zip(best, some[k : k + 64], strict=True)]  # fmt: skip
    return found


# %% Right words by kind tags=["fold"]
KINDS = ("known", "unknown", "exchanged, before", "exchanged")


def by_kind(before, after, some):
    """Sums for each sentence: words seen in training, not seen; before and after an exchange."""
    old = [[word in known for word in r.words] for r in some]
    sums = [[sum(b for b, o in zip(*both, strict=True) if o == want)
             for both in zip(before, old, strict=True)] for want in (True, False)]  # fmt: skip
    sums += [[sum(each[i] for i in hit) for each, hit in zip(what, hits, strict=False)]
             for what in (before, after)]  # fmt: skip
    return {kind: "".join(np.base_repr(n, 36) for n in each)
            for kind, each in zip(KINDS, sums, strict=True)}  # fmt: skip


# %% Measured, and kept tags=["fold"]
def measure(reader, seed, steps, some=None):
    """Right words of each sentence, one digit (of base 36) a sentence; "all": how many words."""
    some = test if some is None else some
    texts = [r.words for r in some]
    if reader == "all":
        every = [[True] * len(words) for words in texts]
        return by_kind(every, every, some)
    net = taught(reader, seed, steps)
    before, after = (right(net, reader, each, some) for each in (texts, wrong[: len(some)]))
    weights = sum(p.numel() for p in net.parameters())
    return {"weights": weights, **by_kind(before, after, some)}


SEEDS, STEPS = (0, 1, 2), round(share() * 600)
points = [{"reader": "all", "seed": 0, "steps": 0}]
points += [{"reader": r, "seed": s, "steps": STEPS} for s in SEEDS for r in ("letters", "pieces")]
if profile() == "experiment":
    sweep(measure, points, file, data=DATA)
    rows_kept = json.loads(file.read_text("utf-8"))["rows"]
else:  # a few steps: it runs
    assert len(measure("letters", 0, 2, test[:8])["known"]) == 8

# %% tags=["fold"]
predict(
    "In every third word, if it has at least three letters, one is exchanged for another. How much "
    "of its skill with these words does each reader lose?",
    ["the reader of letters loses more: a letter is all that it has",
     "both lose about as much", "the reader of pieces loses about twice as much"],
    answer=2,
    explain="Of 100 such words the reader of pieces loses 47.7 right answers, the reader of "
    "letters 21.4. One letter exchanged often makes other pieces of the whole word.",
    key="04_multilingual/exchanged",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Read it, with intervals tags=["surprise", "fold"]
runs = {(row["reader"], row["seed"]): row for row in rows_kept if "reader" in row}
there = [seed for seed in SEEDS if {("letters", seed), ("pieces", seed)} <= {*runs}]
n = len(runs["all", 0]["known"]) if there else 1  # sentences
draws = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), 2000)
draws = np.vstack([np.ones(n, dtype=int), draws])  # the first draw: the test as it is


def sums(reader, seed, kind):
    """Right words of a kind in each sentence; of the reader "all": words."""
    return np.array([int(digit, 36) for digit in runs[reader, seed][kind]])


def shares_of(reader, kind):
    """The share of right words for each seed and each draw of sentences, in per cent."""
    every = draws @ sums("all", 0, kind.removesuffix(", before"))
    return np.array([100 * (draws @ sums(reader, seed, kind)) / every for seed in there])


def ends(values):
    """A value, and 95 % of the draws."""
    low, high = np.quantile(values[1:], (0.025, 0.975))
    return f"{values[0]:.1f} [{low:.1f}, {high:.1f}]"


# %% Right answers tags=["surprise", "slide", "fold"]
asked = {"seen in training": "known", "not seen": "unknown", "one letter exchanged": "exchanged",
         "the same words before": "exchanged, before"}  # fmt: skip
lines = []
for name, kind in asked.items() if there else ():
    mine, theirs = (shares_of(reader, kind) for reader in ("letters", "pieces"))
    words = int(sums("all", 0, kind.removesuffix(", before")).sum())
    right_ones = [f"{x[:, 0].mean():.1f}" for x in (mine, theirs)]
    apart = mine - theirs
    each = " ".join(f"{x:+.1f}" for x in apart[:, 0])
    lines.append([name, f"{words:,}", *right_ones, ends(apart.mean(0)), each])
table(lines, ["words", "how many", "letters", "pieces", "letters ahead by [95%]", "each training"],
      caption=f"% right; trainings of each reader: {len(there)}")  # fmt: skip

# %% What a letter costs tags=["surprise", "fold"]
lost = {reader: shares_of(reader, "exchanged, before") - shares_of(reader, "exchanged")
        for reader in ("letters", "pieces") if there}  # fmt: skip
lines = [[reader, ends(each.mean(0)), runs[reader, 0]["weights"]] for reader, each in lost.items()]
apart = ends((lost["pieces"] - lost["letters"]).mean(0)) if there else ""
table(lines or [["", "", None]], ["reader", "points lost [95%]", "weights"],
      caption=f"by a letter exchanged. Pieces lose more by {apart}")  # fmt: skip

# %% [markdown]
# *Each reader was trained three times, on 600 batches of 32 sentences. The brackets hold 95% of the
# values for test sentences drawn with replacement; the last column shows the trainings apart.*
#
# In all three trainings the winner depends on the kind of word. On words that stood in the training
# text pieces are ahead by 2.8 points. On words that were not seen letters are ahead by 7.0. With a
# letter exchanged letters are ahead by 21.4: they lose 21.4 points (by chance the same number), and
# pieces 47.7. Why, was not tested. Likely, a piece that is a whole word falls into others.
#
# Both models had equal steps and one learning rate, not equal compute. By the sum by hand above,
# letters do about 1.9 times the work of pieces per text ($690 / 360$), and the model of letters has
# 12% more weights. So a part of its lead may be paid for by that. [Page
# 6a.4](../06a_text/04_denoising.ipynb) compares at equal compute.

# %% [markdown] tags=["aside"]
# ## How it differs

# %%
from deepdive_book.site.atlas import compare

compare("canine")

# %% [markdown]
# *Grey is as it was, lit is new, dashed is gone.*
#
# | | mBERT | CANINE |
# |---|---|---|
# | reads | 119,547 pieces | code points, by eight hashes (`HashEmbedding`) |
# | before deep layers | nothing | a layer in chunks of 128; four letters to a place (`Shorten`) |
# | after them | nothing | a place for each letter again, and one more layer (`Lengthen`) |
# | learns by | filling gaps of pieces | filling gaps of pieces (CANINE-S) or letters (CANINE-C) |
#
# A trait of the released code that one has to know to get its numbers: the first of its deep places
# is that of its first mark alone, and from the last four letters of a text no deep place is made.
# The first and the last layer read them.
#
# ```sh
# deepdive show canine
# ```

# %% [markdown] tags=["aside"]
# ## Common mistake: two spellings of one letter
#
# No tokenizer, so nothing to prepare. But Unicode writes `é` in two ways: as one code point, and as
# an `e` with an accent behind it. They look alike, and to a reader of letters they are two texts:

# %% tags=["nbval-check-output"]
one, two = "café", "cafe\u0301"
print(one, two, len(one), len(two), one == two)
same = unicodedata.normalize("NFC", two)
assert same == one
assert not torch.equal(read(one, small)[:, 4], read(two, small)[:, 4])

# %% [markdown]
# **Symptom:** a model that was good on one corpus is worse on the same words from another source.
# **Remedy:** `unicodedata.normalize("NFC", text)` for training and use alike. XLM-R's tokenizer
# does such things by a table that is a part of its vocabulary.

# %% [markdown] tags=["aside"]
# ## In practice
#
# | you have | take |
# |---|---|
# | clean text in large languages, little time to learn | pieces |
# | a language for which nobody cut pieces | letters or bytes |
# | text to be written, not only read | bytes, as [ByT5](../05_efficient/12_byt5.ipynb) does |
# | labels for parts of words, or for single letters | letters: each has a state of its own |
#
# - On TyDi QA CANINE is 5.7 points of F1 above a comparable mBERT, says the abstract in print (TACL
#   2022). The third version of the preprint (arXiv 2103.06874v3, 2021) says 2.8, and so does the
#   summary on arXiv's own page.
# - Tables half as long, by which more letters meet, lost CANINE 1.7 points of F1 on answers and 0.4
#   on finding the passage, on TyDi QA, questions in eleven languages. A vocabulary of characters in
#   the place of hashes lost 1.0 and nothing (Clark et al. 2022, table 6; means of 3 runs).
# - A limit of 2,048 letters, as CANINE's, is about 500 pieces of English.
# - Hash into tables of different lengths, or mix the bits of the number first. One length and a
#   factor are one hash, however many factors there are.
# - Test a hash on the letters that you will read, before training: it takes a second.

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why do `T` and `联` meet in all eight tables?
#
#    <details><summary>Answer</summary>
#
#    Their numbers, 84 and 32,852, are twice 16,384 apart, so that every product grows by a multiple
#    of 16,384.
#
#    </details>
# 2. Would sixteen tables of 16,384 rows help, with sixteen primes?
#
#    <details><summary>Answer</summary>
#
#    No: each of them repeats every 16,384 letters, and so do all together.
#
#    </details>
# 3. Why do the twelve deep layers of CANINE not read each letter?
#
#    <details><summary>Answer</summary>
#
#    They would do four times the work, and sixteen times as many pairs in attention.
#
#    </details>
# 4. Why is there a last layer on letters again?
#
#    <details><summary>Answer</summary>
#
#    Answers are about letters and words: where a span begins, which kind a word is. A place of
#    four letters may hold the end of one word and the beginning of the next.
#
#    </details>
# 5. In letters Chinese pays a third of what English pays. Who gains from that?
#
#    <details><summary>Answer</summary>
#
#    Who has to do the work: a Chinese sentence is cheap in all layers. But each deep place stands
#    for four characters, often two words, and has no more numbers than a place of English.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 4 min)* Two tables of 6 and 4 rows, and the primes 5 and 7. After how many letters
#    do both slices come again?
#
#    <details><summary>Answer</summary>
#
#    After 12, the least common multiple. 6 and 4 share a factor, so it is not 24.
#
#    </details>
# 2. *(on paper, 5 min)* CANINE with eight letters a place, for the 120 letters from above. How much
#    work is it?
#
#    <details><summary>Answer</summary>
#
#    The deep layers read 15 places: 180. First and last layer 240 as before. To shorten, 8 letters
#    for each of 15 places: 10 again. Back to letters 80. Together 510.
#
#    </details>
# 3. *(measure, 15 min)* Give the reader of letters `HashEmbedding` with `n_buckets=64` in the place
#    of 4,096. English has some hundred different characters. What happens to words not seen?
#
#    <details><summary>Answer</summary>
#
#    Letters now meet 64 apart: `A`, 65, with the sign of 129, which nobody writes, and with `Á`,
#    193; but also `!`, 33, with `a`, 97. Compare three seeds with three.
#
#    </details>

# %%
# The answers to the first two exercises, checked.
found = [((c + 1) * 5 % 6, (c + 1) * 7 % 4) for c in range(48)]
assert len(set(found)) == 12
assert found[12:24] == found[:12]
assert 12 * 15 + 2 * 120 + 15 * 8 // 12 + 120 * 8 // 12 == 510
assert (ord("联") - ord("T")) == 2 * 16_384
print("both answers hold")

# %% [markdown]
# ## Summary
#
# A model of letters gives each code point a vector by hashes into a few small tables, and makes
# four letters one place, so that its deep layers work as little as a reader of pieces. CANINE's
# eight tables have one length, so that its eight hashes do what one does, and every sign shares
# its vector; eight lengths would part them all. In letters no language of 24 pays more than 1.20
# times what English pays, but 20 of them need more work than in pieces, and in three trainings a
# small reader of letters kept far more of its skill when letters were exchanged, and had a little
# less with words that both knew.
#
# **So must a model have a vocabulary, what does it cost to have none, and what does one lose?** No:
# hashes give every letter of every script a vector, and no text is needed to cut pieces. It costs
# work, twice that of pieces for an English sentence; only four of 24 languages have less. It is
# fairer between languages (their skill was not measured). In one English task, small models of
# letters lost a little with words seen in training, and gained with new words and with letters
# exchanged by lot. And 中 and อ are one to CANINE not for want of a vocabulary, but because its
# eight tables have one length.
#
# ## Further reading
#
# - Clark, Garrette, Turc and Wieting (2022), *CANINE: Pre-training an Efficient Tokenization-Free
#   Encoder for Language Representation*: section 3 is the model.
# - Xue et al. (2022), *ByT5: Towards a Token-Free Future with Pre-trained Byte-to-Byte Models*: the
#   other way to have no vocabulary.
#
# <small>The blog's CANINE</small>
