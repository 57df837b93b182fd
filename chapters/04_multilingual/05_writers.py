# %% [markdown] tags=["slide"]
# # Taught to mend, asked to translate
#
# Two shelves of sentences, English on one, French on the other, and nothing on the one is a
# translation of anything on the other. A writer has practised on both: a sentence is damaged, and
# it writes the whole one. Then somebody brings a phrase book of 300 pairs. **Can a writer that was
# only taught to mend sentences translate after so few pairs, and what was the mending worth?**
#
# <small>Book 4.1.4 · before this page: [which damage teaches most?](../06a_text/04_denoising.ipynb),
# [gaps in two languages](03_gaps_in_two_languages.ipynb) · 20 min to read · a laptop is enough; the
# longer runs are kept beside the page</small>

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


# %% One sentence, in numbers tags=["fold"]
import random

import torch

from deepdive.page.two_lines import Lesson, two_lines
from deepdive.training.objectives import corrupt_spans, hide_run, infill, permute_sentences, split_run
from deepdive.training.objectives.rewriting import begin_in, damage

EN, FR = "she drinks milk . he sleeps .".split(), "elle boit du lait . il dort .".split()
MARKS = ["pad", None, "</s>", "<en>", "<fr>", "<2>", "<1>", "<0>"]  # None: the mask, a gap
WORDS = [*MARKS, *dict.fromkeys(EN + FR)]
PAD, MASK, END, ENGLISH, FRENCH, FIRST = 0, 1, 2, 3, 4, 7
en, fr = ([WORDS.index(word) for word in line] for line in (EN, FR))


def row(tokens):
    return torch.tensor([tokens])


def begun(tokens, language):
    """What a decoder is given to write these tokens, and the tokens with their end."""
    written = row([*tokens, END])
    return begin_in(written, torch.tensor([language]))[0].tolist(), written[0].tolist()


# %% What each lesson makes of it tags=["fold"]
run = torch.tensor([[False, True, True, True, True, False, False]])  # half of the sentence
mass = [x[0].tolist() for x in split_run(row(en), run, MASK)]
draws = random.Random(19)
turned = permute_sentences([en[:4], en[4:]], draws)
mended = [*infill(turned, MASK, 0.35, draws, 3.5), END, ENGLISH], *begun(en, ENGLISH)
spans = torch.tensor([[False, True, True, False, False, True, False]])
read, spoken = (x[0].tolist() for x in corrupt_spans(row(en), spans, FIRST))
t5 = read, [PAD, *spoken[:-1]], spoken
xnlg = damage(en, MASK, random.Random(3)), *begun(en, ENGLISH)
across = en, *begun(fr, FRENCH)


def writers(name, three, told, language=False):
    """A lesson of a decoder: the line above is read, the line below is given, what is written
    stands below it.
    """
    read, fed, written = three
    n, m = len(read), len(fed)
    sees = [[s < n or (t >= n and s <= t) for s in range(n + m)] for t in range(n + m)]
    asked = {n + i: WORDS[token] for i, token in enumerate(written) if token != PAD}
    words = [WORDS[token] for token in (*read, *fed)]
    return Lesson(name, words, [0] * n + [1] * m, sees, asked, told, [False] * n + [language] * m)



# %% Pairs of frequent words tags=["fold"]
import re

from deepdive.data.grammar import grammar_pairs
from deepdive.data.parallel import parallel
from deepdive.page.profile import banner, pick, profile
from deepdive.page.runs.crossing import words_of

real = profile() != "ci"


def plain(text):
    """Words in lower case and marks, set apart by blanks; l' homme has two words."""
    text = text.lower().replace("’", "'").replace("'", "' ")
    return " ".join(re.findall(r"[^\W\d_]+'?|[.!?,]", text))


pairs = [(plain(a), plain(b)) for a, b in (parallel("fra").pairs if real else grammar_pairs(1500))]
kept_words = [words_of([side], 1500).vocab[5:] for side in zip(*pairs, strict=True)]
known = [frozenset(words) for words in kept_words]
short = {pair for pair in pairs if all(
    3 <= len(text.split()) <= 10 and words.issuperset(text.split())
    for text, words in zip(pair, known, strict=True))}  # fmt: skip


# %% Families of sentences tags=["fold"]
def families(pairs):
    """Pairs in groups: those that share a sentence, directly or by way of others, are in one."""
    head = {}

    def first(one):
        while head.setdefault(one, one) != one:
            head[one] = one = head[head[one]]
        return one

    for a, b in pairs:
        head[first(("en", a))] = first(("fr", b))
    groups = {}
    for a, b in pairs:
        groups.setdefault(first(("en", a)), []).append((a, b))
    return [*groups.values()]


# %% Two shelves, a phrase book and a test tags=["fold"]
groups = families(sorted(short))
random.Random(0).shuffle(groups)
TEST, WATCH, BOOK = pick(ci=(40, 20, 120), laptop=(500, 200, 3000), gpu=(500, 200, 3000))
one_each = [random.Random(0).choice(group) for group in groups[: TEST + WATCH + BOOK]]
test, watched, book = one_each[:TEST], one_each[TEST : TEST + WATCH], one_each[TEST + WATCH :]
rest = groups[TEST + WATCH + BOOK :]
halves = rest[: len(rest) // 2], rest[len(rest) // 2 :]
shelves = [sorted({pair[k] for group in half for pair in group}) for k, half in enumerate(halves)]
print(banner("tatoeba_eng_fra (real)" if real else "grammar_pairs (generated)"))
print(f"{len(shelves[0]):,} English and {len(shelves[1]):,} French sentences on the shelves, "
      f"{len(book):,} pairs in the book, {len(test)} to test; for example", *test[:2], sep="\n")  # fmt: skip

# %% Their tokens tags=["fold"]
from deepdive.tokenizers import BERT_SPECIALS, WordTokenizer, padded

vocabulary = WordTokenizer(
    [*BERT_SPECIALS, "<en>", "<fr>", *dict.fromkeys(kept_words[0] + kept_words[1])], BERT_SPECIALS
)
PAD, MASK, END = (vocabulary.id_of(mark) for mark in ("[PAD]", "[MASK]", "[SEP]"))
LANGUAGES = [vocabulary.id_of(mark) for mark in ("<en>", "<fr>")]
rows = [[vocabulary.encode(text) for text in shelf] for shelf in shelves]


def in_numbers(pairs):
    return [(vocabulary.encode(a), vocabulary.encode(b)) for a, b in pairs]


def read_by(texts, languages):
    """What the encoder reads: each text, its end, and the token of its language; padded."""
    ended = [[*text, END, which] for text, which in zip(texts, languages, strict=True)]
    return padded(ended, PAD)[0]


# %% A small mBART tags=["fold"]
from deepdive.models.text import mbart
from deepdive.training.objectives import cross_entropy

WIDTH = pick(ci=16, laptop=64, gpu=64)
SIZES = {"src_vocab": len(vocabulary), "d_model": WIDTH, "d_ff": 4 * WIDTH,
         "d_decoder_ff": 4 * WIDTH, "n_layers": 2, "n_decoder_layers": 2, "max_length": 32,
         "pad": PAD, "start": LANGUAGES[1], "end": END, "dropout": 0.1}  # fmt: skip


def built(seed):
    torch.manual_seed(seed)
    return mbart.mbart(mbart.TINY, **SIZES)


def surprise(net, batch):
    """Mean surprise at each token that is to be written."""
    read, given, written = batch
    states = net.decode(given, net.begin(read, read != PAD))
    there = written != PAD
    return cross_entropy(net.head(states[there]), written[there], pad=None)


# %% Three kinds of batch
def mending(texts, languages, draws, rate=0.35):
    """mBART's: runs of words give way to a mask each, the whole text is written."""
    read = read_by([infill(text, MASK, rate, draws, 3.5) for text in texts], languages)
    written = padded([[*text, END] for text in texts], PAD)[0]
    return read, begin_in(written, torch.tensor(languages)), written


def runs(texts, languages, chance):
    """MASS's: half of each text is hidden and written. First of all the language is given."""
    whole = read_by(texts, languages)
    lengths = (whole != PAD).sum(1) - 1  # without the token of the language
    hidden = torch.nn.functional.pad(hide_run(lengths, 0.5, chance), (0, 1))
    read, given, written = split_run(whole, hidden, MASK, PAD)
    given[:, 0] = torch.tensor(languages)
    return read, given, written


def translating(pairs):
    read = read_by([a for a, _ in pairs], [LANGUAGES[0]] * len(pairs))
    written = padded([[*b, END] for _, b in pairs], PAD)[0]
    return read, begin_in(written, torch.full((len(pairs),), LANGUAGES[1])), written


# %% Lessons on the shelves
from itertools import count

from deepdive.training import Validation, fit
from deepdive.training.optim import adam, linear

LESSONS = ("none", "MASS", "mBART", "mBART, French only", "copying")


def from_shelves(lesson, seed, size=64):
    """Batches without end, as many sentences of each language in each."""
    draws, chance = random.Random(seed), torch.Generator().manual_seed(seed)
    which = (1,) if lesson == "mBART, French only" else (0, 1)
    for _ in count():
        drawn = [(draws.choice(rows[k]), LANGUAGES[k]) for k in which
                 for _ in range(size // len(which))]  # fmt: skip
        texts, languages = (list(side) for side in zip(*drawn, strict=True))
        if lesson == "MASS":
            yield runs(texts, languages, chance)
        else:
            yield mending(texts, languages, draws, 0.0 if lesson == "copying" else 0.35)


def trained(net, batches, steps, seed, rate, **more):
    fit(net, batches, surprise, steps=steps, seed=seed, progress=False,
        optimizer=adam(net, lr=rate, betas=(0.9, 0.98)),
        schedule=linear(rate, min(100, steps // 5), steps + 1), **more)  # fmt: skip
    return net


# %% The phrase book tags=["fold"]
from copy import deepcopy


def tuned(net, n, seed, steps):
    """A copy that learned from n pairs of the book, as it was when the watched pairs went best."""
    net, draws = deepcopy(net), random.Random(seed)
    mine, other = in_numbers(draws.sample(book, n)), translating(in_numbers(watched))

    @torch.no_grad()
    def watch(net):
        net.eval()
        said = float(surprise(net, other))
        net.train()
        return said

    batches = (translating(draws.choices(mine, k=32)) for _ in count())
    return trained(net, batches, steps, seed, 2e-3, validate=Validation(watch, 25, 6))


# %% What it writes tags=["fold"]
from deepdive.decoding import greedy
from deepdive.evaluate.translations import score


@torch.no_grad()
def written_by(net):
    """A translation of each English sentence of the test, word by word the most probable."""
    read = translating(in_numbers(test))[0]
    said = greedy(net.eval(), read, read != PAD, bos=LANGUAGES[1], eos=END, max_length=14)
    return [" ".join(vocabulary.vocab[i] for i in line) for line in said]


def judged(net):
    said = written_by(net)
    found = score(said, [[french] for _, french in test], samples=2)
    words = [word for line in said for word in line.split() if word.isalpha()]
    only = [{word for word in known[k] if word not in known[1 - k]} for k in (0, 1)]
    return {"chrF": round(found.chrf, 2), "BLEU": round(found.bleu, 2),
            "exact": sum(a == b for a, (_, b) in zip(said, test, strict=True)),
            "English": round(100 * sum(w in only[0] for w in words) / max(len(words), 1), 1),
            "French": round(100 * sum(w in only[1] for w in words) / max(len(words), 1), 1),
            "said": said[:8]}  # fmt: skip


# %% One run
FEW, MANY = pick(ci=(30, 120), laptop=(300, 3000), gpu=(300, 3000))
LONGER = 2  # times as long with the phrase book, without a lesson


def measure(lesson, seed, steps):
    """Scores before the phrase book, and after few and many of its pairs."""
    net, longer = built(seed), LONGER if lesson == "none, twice as long" else 1
    if not lesson.startswith("none"):
        trained(net, from_shelves(lesson, seed), steps, seed, 3e-3)
    nets = {0: net} | {n: tuned(net, n, seed, longer * steps) for n in (FEW, MANY)}
    return {f"{n} {what}": value for n, each in nets.items()
            for what, value in judged(each).items()}  # fmt: skip


# %% The kept runs tags=["fold"]
from deepdive.page.experiments import kept, sweep

file = kept("04_multilingual", "writers") if real else None
ALL = (*LESSONS, "none, twice as long")
if profile() == "experiment":
    points = [{"lesson": lesson, "seed": seed, "steps": 1000}
              for seed in (1, 2, 3) for lesson in ALL]  # fmt: skip
    sweep(measure, points, file, data="tatoeba_eng_fra", minutes=60)
