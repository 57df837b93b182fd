# %% [markdown] tags=["slide"]
# # Writing while listening
#
# Somebody reads out a telephone number, *six four two*, and you write it in letters. Stop at one
# letter, the X: which moment of the sound made you write it? And the O of *two*: did you still
# listen for it, or did you know by then?
#
# A network that listens and writes has something like a finger on the sound, its *cross-attention*:
# for each letter, a weight for each moment. Does the finger point to where the letter is spoken?
#
# <small>Book 6.3.2, and the papers under further reading · before this page:
# [cross-attention](../02_transformer/12_decoder.ipynb), [from a waveform to
# units](01_waveform.ipynb), [CTC](02_ctc.ipynb) · 16 min to read · a laptop is enough; the long
# runs are kept beside the page</small>

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
    how = "in its folder run `pip wheel --no-deps .`, bring the .whl file here, `%pip install"
    how += ' "./NAME.whl[casestudies]"` with its name, and run this cell again'
    raise ModuleNotFoundError(f"deepdive is not installed here: {how}")
from deepdive.page.profile import setup

setup(PROFILE, drive=SAVE_TO_DRIVE)

# %% [markdown]
# ## By hand: where is a letter?
#
# Five rows of sound, numbered 0 to 4: *six* is spoken in rows 0 to 2, *two* in rows 3 and 4. Three
# letters have weights, here in tenths; the thicker a line, the larger the weight.

# %% Draw the weights tags=["fold"]
import torch

from deepdive.page.diagrams import ROLES, links
from deepdive.page.plotting import show

tenths = torch.tensor([[8.0, 2, 0, 0, 0], [1, 6, 3, 0, 0], [0, 0, 2, 2, 6]])
show(links([f"row {i}" for i in range(5)], ["S", "I", "X"], tenths / 10), "Lines from three "
     "letters to five rows of sound: S to row 0 above all, I to row 1, X to row 4.")  # fmt: skip

# %% [markdown]
# The *centre* of a letter is the mean of the row numbers, each counted with its weight.
#
# | letter | row 0 | 1 | 2 | 3 | 4 | centre | in *six*? |
# |---|---|---|---|---|---|---|---|
# | S | 8 | 2 | 0 | 0 | 0 | 0.2 | yes |
# | I | 1 | 6 | 3 | 0 | 0 | 1.2 | yes |
# | X | 0 | 0 | 2 | 2 | 6 | 3.4 | no |
#
# For X that is $(2 \cdot 2 + 3 \cdot 2 + 4 \cdot 6) / 10 = 3.4$. So two of three centres lie in the
# word that they spell. For a fair judge we need a rival that does not listen: put the letters of
# the whole text, `SIX TWO`, evenly on a straight line. Letter $u$ of 7, counted from 0, then stands
# at row $5\,(u + 1/2) / 7$: S at 0.4, I at 1.1, X at 1.8. All three are right!

# %% The same from the library tags=["nbval-check-output", "fold"]
centres = tenths @ torch.arange(5.0) / 10
line = 5 * (torch.arange(3) + 0.5) / 7
for name, places in (("attention", centres), ("straight line", line)):
    print(f"{name}:", [round(x, 1) for x in places.tolist()], int((places < 3).sum()), "of 3")
assert centres.tolist() == torch.tensor([0.2, 1.2, 3.4]).tolist()

# %% [markdown]
# ## The letters of a small Speech2Text
#
# A small network that listens and writes has learned spoken digits. The folds hold its code: the
# data, the model, its training, and what is measured.

# %% Spoken digits, as frames tags=["fold"]
import random
from functools import cache

from deepdive.audio.mel import log_mel
from deepdive.data.speech import DIGITS, fsdd
from deepdive.data.voices import voices
from deepdive.page.experiments import kept, share, sweep
from deepdive.page.profile import pick, profile

BANDS, STEP = 40, 0.010  # numbers a frame, seconds from one to the next


# %% Recordings and frames tags=["fold"]
@cache
def digits(part):
    """Recordings of single digits, and the frames (T, 40) of each, shifted and scaled alike."""
    real = profile() != "ci"
    seed, n = {"train": (1, 240), "test": (2, 80)}[part]
    spoken = fsdd(part) if real else voices(n, seed)
    frames = [log_mel(wave, spoken.rate, BANDS) for wave in spoken.waves]
    return spoken, frames


@cache
def scale():
    every = torch.cat(digits("train")[1])
    return every.mean(0), every.std(0)


# %% Strings of digits tags=["fold"]
LETTERS = "EFGHINORSTUVWXZ "
PAD, START, END = 1, 2, 3
ID = {letter: i + 4 for i, letter in enumerate(LETTERS)}


def string(part, n, draw, alike=False):
    """n recordings of one speaker, drawn with replacement; `alike`: all of the same digit."""
    spoken, _ = digits(part)
    voice = draw.choice(sorted({*spoken.speakers}))
    mine = [i for i, each in enumerate(spoken.speakers) if each == voice]
    if alike:
        word = spoken.words[draw.choice(mine)]
        mine = [i for i in mine if spoken.words[i] == word]
    return [draw.choice(mine) for _ in range(n)]


# %% Strings in batches tags=["fold"]
def batch(part, strings):
    """Frames (B, T, 40) of strings, which are real, tokens (B, U), and the texts."""
    spoken, frames = digits(part)
    mean, std = scale()
    rows = [(torch.cat([frames[i] for i in each]) - mean) / std for each in strings]
    texts = [" ".join(spoken.words[i] for i in each) for each in strings]
    tokens = [torch.tensor([START, *(ID[c] for c in text), END]) for text in texts]
    pad = torch.nn.utils.rnn.pad_sequence
    real = torch.arange(max(map(len, rows))) < torch.tensor([*map(len, rows)])[:, None]
    return pad(rows, True), real, pad(tokens, True, PAD), texts


# %% New strings in every step tags=["fold"]
class Strings:
    """Batches of strings of one to four digits, 64 digits a batch, drawn anew in every run."""

    def __init__(self, steps, seed):
        self.steps, self.seed = steps, seed

    def __iter__(self):
        draw = random.Random(self.seed)
        for _ in range(self.steps):
            n = draw.randint(1, 4)
            yield batch("train", [string("train", n, draw) for _ in range(64 // n)])


# %% A small Speech2Text tags=["fold"]
import torch.nn.functional as F

from deepdive.models.speech import speech2text
from deepdive.training import fit
from deepdive.training.optim import adam, linear

SIZES = {"n_features": BANDS, "vocab_size": 20, "d_model": 64, "n_layers": 2,
         "n_decoder_layers": 2, "n_heads": 4, "n_decoder_heads": 4, "d_ff": 128,
         "d_decoder_ff": 128, "width": 64, "dropout": 0.1, "end": END}  # fmt: skip


def build():
    return speech2text.speech2text(**SIZES, kernels=(5, 5))


def loss(model, given):
    """Of each next letter."""
    frames, real, tokens, _ = given
    logits = model(frames, tokens[:, :-1], real)
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=PAD)


# %% Train it tags=["fold"]
@cache
def trained(steps, seed):
    torch.manual_seed(seed)
    model = build()
    fit(model, Strings(steps, seed), loss, steps=steps, seed=seed, optimizer=adam(model, lr=2e-3),
        schedule=linear(2e-3, max(1, steps // 10), steps), progress=False)  # fmt: skip
    return model


# %% Let them write tags=["fold"]
from deepdive.decoding import greedy
from deepdive.evaluate.transcripts import word_error_rate

NEW = pick(ci=10, laptop=30, gpu=60, experiment=100)  # strings to write, of takes not trained on


def fresh(n, alike=False, part="test"):
    draw = random.Random(100 * n + alike)
    return [string(part, n, draw, alike) for _ in range(NEW)]


@torch.no_grad()
def written(model, given):
    """The text of each string that a model writes, one most probable letter after the other."""
    frames, real, _, texts = given
    most = 2 * max(map(len, texts))
    rows = greedy(model, frames, real, bos=START, eos=END, max_length=most)
    return ["".join(LETTERS[i - 4] for i in row if i >= 4) for row in rows]


# %% Count wrong words tags=["fold"]
def errors(model, n, alike=False):
    """Wrong words in % of those that were said, and how many are written on average."""
    given = batch("test", fresh(n, alike))
    said = written(model, given)
    words = sum(len(text.split()) for text in said) / len(said)
    return round(100 * word_error_rate(given[3], said), 2), round(words, 2)


# %% Where does each letter look? tags=["fold"]
from itertools import pairwise

from deepdive.inspect import record


def ends(part, each):
    """Where each digit of a string begins and where the last one ends, in frames."""
    found = [0]
    for i in each:
        found.append(found[-1] + len(digits(part)[1][i]))
    return found


@torch.no_grad()
def looks(model, given):
    """Weights (B, U, T') of each head, layer-head, with the right letters before it."""
    frames, real, tokens, _ = given
    with record(model, "decoder.*cross.*weights") as seen:
        model(frames, tokens[:, :-1], real)
    return {f"{layer}-{h}": weights[0][:, h] for layer, weights in enumerate(seen.values(), 1)
            for h in range(weights[0].shape[1])}  # fmt: skip


# %% Four groups of letters tags=["fold"]
GROUPS = ("first", "second, open", "second, settled", "later")


def groups(text):
    """Of each letter its digit and its group, None for a space. A letter is settled when one digit
    alone begins with what is written of it: T may become two or three, TH only three."""
    names, found, digit, begun = {*DIGITS}, [], 0, ""
    for letter in text:
        if letter == " ":
            digit, begun = digit + 1, ""
            found.append((digit, None))
            continue
        fits = sum(name.startswith(begun) for name in names)
        second = 1 if fits > 1 else 2
        found.append((digit, (0, second, 3)[min(len(begun), 2)]))
        begun += letter
    return found


# %% Means of a group tags=["fold"]
def by_group(value, texts):
    """The mean of value(i, u, digit) in % over letters u of texts i, one number a group."""
    found = ([], [], [], [])
    for i, text in enumerate(texts):
        for u, (digit, group) in enumerate(groups(text)):
            if group is not None:
                found[group].append(float(value(i, u, digit)))
    return [round(100 * sum(each) / max(1, len(each)), 1) for each in found]


# %% Is a place in its digit? tags=["fold"]
def scored(places, texts, bounds):
    """Shares in % of letters whose place (B, U), in frames, lies in the digit that they spell."""
    return by_group(lambda i, u, k: bounds[i][k] <= float(places[i][u]) < bounds[i][k + 1], texts)


def inside(weights, texts, bounds):
    """The mean weight in % inside the digit that a letter spells; rows are four frames apart."""
    rows = [[-(-cut // 4) for cut in cuts] for cuts in bounds]
    return by_group(lambda i, u, k: weights[i, u, rows[i][k] : rows[i][k + 1]].sum(), texts)


# %% Ask every head tags=["fold"]
def heads_of(model, strings):
    """For each head where its centre lies and how much of its weight, a number a group; and how
    often in % the centre of the next letter is no earlier."""
    given, found = batch("test", strings), {}
    texts, bounds = given[3], [ends("test", each) for each in strings]
    for name, weights in looks(model, given).items():
        middles = 4 * torch.arange(weights.shape[-1])
        centres = weights @ middles.float()  # in frames
        onward = [float(b >= a - 4) for row, text in zip(centres, texts, strict=True)
                  for a, b in pairwise(row[: len(text)])]  # fmt: skip
        found[name] = {"centre": scored(centres, texts, bounds),
                       "weight": inside(weights, texts, bounds),
                       "onward": round(100 * sum(onward) / len(onward), 1)}  # fmt: skip
    return found


# %% A rival that does not listen tags=["fold"]
def straight(strings):
    """What the letters' places would be on a straight line from the beginning to the end."""
    texts = batch("test", strings)[3]
    bounds = [ends("test", each) for each in strings]
    places = [[(u + 0.5) / len(t) * cuts[-1] for u in range(len(t))]
              for t, cuts in zip(texts, bounds, strict=True)]  # fmt: skip
    return scored(places, texts, bounds)


# %% A path that only goes forward tags=["fold"]
def forward_path(weights):
    """The rows of each letter on the best path through weights (U, S): the path begins in the first
    row, ends in the last, and no letter goes back or is left out."""
    worth, (U, S) = weights.double(), weights.shape
    best, stayed = torch.full((U, S), -torch.inf).double(), torch.zeros(U, S, dtype=torch.bool)
    best[0, 0] = worth[0, 0]
    for s in range(1, S):
        came = torch.cat([torch.tensor([-torch.inf]).double(), best[:-1, s - 1]])
        stayed[:, s] = best[:, s - 1] >= came
        best[:, s] = worth[:, s] + torch.maximum(best[:, s - 1], came)
    u, rows = U - 1, [[] for _ in range(U)]
    for s in reversed(range(S)):
        rows[u].insert(0, s)
        u -= int(not stayed[u, s])
    return rows


# %% How far is the beginning of a digit off? tags=["fold"]
def off(begins, texts, bounds):
    """By how many ms, on average, a letter that begins a digit but the first is said to begin (B,
    U), in frames, before or after the digit does."""
    found = [abs(begins[i][u] - bounds[i][digit]) * 1000 * STEP
             for i, text in enumerate(texts)
             for u, (digit, group) in enumerate(groups(text)) if group == 0 and digit]  # fmt: skip
    return round(sum(found) / max(1, len(found)), 1)


def laid(rows, texts, bounds):
    """The scores of texts whose letters have these rows, each four frames long."""
    middles = [[4 * sum(some) / max(1, len(some)) for some in each] for each in rows]
    begins = [[4 * some[0] if some else 0 for some in each] for each in rows]
    return {"places": scored(middles, texts, bounds), "off": off(begins, texts, bounds)}


# %% Long enough for a row each tags=["fold"]
def fitting(strings):
    """Texts and bounds of strings whose sound has rows enough, and their places in the list."""
    texts, found = batch("test", strings)[3], []
    for i, (text, each) in enumerate(zip(texts, strings, strict=True)):
        cuts = ends("test", each)
        twice = sum(a == b for a, b in pairwise(text))
        if -(-cuts[-1] // 4) >= len(text) + twice:
            found.append((i, text, cuts))
    return found


def forward_scores(model, strings):
    """Of a path through the mean of all heads that may only go forward."""
    weights = sum(looks(model, batch("test", strings)).values()) / 8
    kept_ones = fitting(strings)
    rows = [forward_path(weights[i, : len(t), : -(-cuts[-1] // 4)]) for i, t, cuts in kept_ones]
    return laid(rows, *zip(*((t, cuts) for _, t, cuts in kept_ones), strict=True))


# %% A line, and weights spread evenly tags=["fold"]
def deaf(strings):
    """What a straight line gets, and what a head gets that gives all rows the same weight."""
    _, texts, bounds = zip(*fitting(strings), strict=True)
    begins = [[u / len(t) * cuts[-1] for u in range(len(t))]
              for t, cuts in zip(texts, bounds, strict=True)]  # fmt: skip
    even = torch.zeros(len(texts), max(map(len, texts)), max(-(-c[-1] // 4) for c in bounds))
    for row, cuts in zip(even, bounds, strict=True):
        row[:, : -(-cuts[-1] // 4)] = 1 / -(-cuts[-1] // 4)
    return {"off": off(begins, texts, bounds), "even": inside(even, texts, bounds)}


# %% Measure tags=["fold"]
LENGTHS = (1, 2, 3, 4, 5, 6, 8)
SHOWN = pick(ci=1, laptop=1, gpu=1, experiment=2)  # the seed of the pictures


def measure(system, steps, seed):
    """What one run writes, and where its letters look."""
    model, four = trained(steps, seed), fresh(4)
    told = {str(n): errors(model, n) for n in LENGTHS}
    told["alike"] = errors(model, 4, alike=True)
    found = {
        "errors": told,
        "heads": heads_of(model, four),
        "line": straight(four),
        "deaf": deaf(four),
        "forward": forward_scores(model, four),
    }
    if seed == SHOWN:
        found["shown"] = [pictured(model, each) for each in examples(model)]
    return found


# %% Three strings for the pictures tags=["fold"]
def examples(model):
    """A string of four different digits, written rightly where there is one; one of eight digits;
    and one of a digit said four times, written wrongly where there is one."""
    four, eight, alike = fresh(4), fresh(8)[0], fresh(4, alike=True)
    spoken = digits("test")[0]
    four = [each for each in four if len({spoken.words[i] for i in each}) == 4]

    def right(each):
        given = batch("test", [each])
        return written(model, given) == given[3]

    return [next(filter(right, four), four[0]), eight,
            next((each for each in alike if not right(each)), alike[0])]  # fmt: skip


def pictured(model, each):
    """A string by its recordings, what is written of it, and the weights in thousandths."""
    frames, real, _, texts = batch("test", [each])
    says = written(model, (frames, real, None, texts))[0]
    tokens = torch.tensor([[START, *(ID[c] for c in says), END]])
    weights = looks(model, (frames, real, tokens, texts))
    return {"string": each, "says": says, "weights": {
        name: [[round(1000 * w) for w in row] for row in found[0].tolist()]
        for name, found in weights.items()}}  # fmt: skip


# %% Run, or read what was run tags=["fold"]
steps = pick(ci=30, laptop=150, gpu=2000, experiment=round(2000 * share()))
seeds = (1, 2, 3) if profile() == "experiment" else (1,)
points = [{"system": "Speech2Text", "steps": steps, "seed": seed} for seed in seeds]
file = kept("06c_speech", "alignment")
target = file if profile() == "experiment" else None
measured = sweep(measure, points, target, data="fsdd", minutes=240)


# %% Read what was kept tags=["fold"]
import json
from statistics import mean

rows, kept_runs = measured, False
if profile() != "ci" and file is not None and file.is_file():
    rows, kept_runs = json.loads(file.read_text())["rows"], True
most = max(row["steps"] for row in rows)
shown_row = next(row for row in rows if "shown" in row)


runs = sorted((r for r in rows if r["system"] == "Speech2Text"), key=lambda r: r["seed"])


def spread(found):
    """The mean over the seeds, and the lowest and the highest."""
    return f"{mean(found):.1f} ({min(found):.1f} to {max(found):.1f})"


# %% The recordings of the picture tags=["fold"]
import numpy as np

from deepdive.page.letters_heard import Heard, letters_heard

by_weight = sorted(shown_row["heads"], key=lambda h: shown_row["heads"][h]["weight"][0])
HEADS = {f"head {by_weight[-1]}": by_weight[-1:], f"head {by_weight[0]}": by_weight[:1],
         "mean of all eight": by_weight}  # fmt: skip


def heard(name, shown):
    """What the picture needs of one string."""
    spoken, frames = digits("test")
    each = shown["string"]
    cuts = ends("test", each)
    words = [(spoken.words[i], a, b) for i, (a, b) in zip(each, pairwise(cuts), strict=True)]
    weights = {k: np.mean([shown["weights"][h] for h in some], 0) / 1000
               for k, some in HEADS.items()}  # fmt: skip
    wave = np.concatenate([spoken.waves[i] for i in each])
    return Heard(name, torch.cat([frames[i] for i in each]), words, shown["says"], weights, wave,
                 spoken.rate)  # fmt: skip


print(f"data {digits('test')[0].source}; the picture's model: {most} steps of 64 digits")

# %% Press a letter tags=["slide", "fold"]
letters_heard([heard("four digits", shown_row["shown"][0])], letter=0)

# %% [markdown]
# *Above, the sound of four digits and where each begins and ends; below, the letters that a small
# Speech2Text wrote. Press a letter, or move by the arrow keys: the bars are its weights over the
# sound, the triangle is their centre. Dashed lines part the digits. Play it, too.*
#
# 1. Press the first letter of each word. Does the triangle fall into that word?
# 2. Go through the other letters of a word. Do they stay there?
# 3. Choose the other head: of all it has the least weight in the right word at first letters. Is
#    it as tidy?
#
# All letters at once, the weights averaged over the eight heads:

# %% Draw all letters at once tags=["fold"]
from matplotlib.figure import Figure

from deepdive.page.plotting import with_alt


def all_letters(shown):
    """Letters down, time across; the steps are the path that only goes forward."""
    text, cuts = shown["says"], ends("test", shown["string"])
    weights = np.mean([shown["weights"][h] for h in by_weight], 0)[: len(text)]
    seconds = 4 * STEP * weights.shape[1]
    figure = Figure(figsize=(3.7, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.imshow(weights, cmap="Blues", aspect="auto", interpolation="nearest",
                extent=(0, seconds, len(text) - 0.5, -0.5))  # fmt: skip
    axes.vlines(STEP * np.array(cuts[1:-1]), -0.5, len(text) - 0.5, "#888", "dashed", linewidth=1)
    for u, rows in enumerate(forward_path(torch.tensor(weights))):
        axes.hlines(u, 4 * STEP * rows[0], 4 * STEP * (rows[-1] + 1), ROLES["query"], linewidth=2)
    axes.set_yticks(range(len(text)), ["␣" if c == " " else c for c in text], fontsize=9)
    axes.set_xlabel("seconds")
    return with_alt(figure, "A map of weights, letters down and time across: they lie near a "
                    "diagonal, with much beside it. Lines mark a path that goes forward "
                    "only.")  # fmt: skip


all_letters(shown_row["shown"][0])

# %% [markdown]
# *The fuller a cell, the larger the weight; dashed lines part the digits; the marks are a path that
# only goes forward, of which more below.*

# %% [markdown]
# ## What differs from a Transformer
#
# Speech2Text (Wang et al. 2020) is the [Transformer](../02_transformer/12_decoder.ipynb) of chapter
# 2 with another entrance:
#
# - **It reads frames of sound.** A frame is a row of numbers for a hundredth of a second, here the
#   40 log-mel bands of [page 6c.1](01_waveform.ipynb). There is no vocabulary on this side.
# - **Two convolutions of stride 2 make one row of four frames.** Speech has 100 frames a second and
#   some three words; attention costs the square of the length. Each convolution makes two outputs
#   $a$ and $b$ and passes on $a \cdot \sigma(b)$, the gate of page 1.8.
# - **Its norms stand before attention and feed-forward**, and one more behind each stack.
#
# The decoder is that of a translator: each letter attends to the letters before it, then to all
# rows of the sound. Nobody tells it where a letter is spoken; it only learns which letter is next.

# %% Count rows and weights tags=["nbval-check-output", "fold"]
small = build()
for n in (100, 101, 104, 1000):
    print(n, "frames:", small.encoder.front(torch.zeros(1, n, BANDS))[0].shape[1], "rows")
print(f"{sum(p.numel() for p in small.parameters()):,} parameters")

# %% [markdown]
# ## Does it write?
#
# The task: strings of one to four digits in one voice (Free Spoken Digit Dataset, six voices),
# joined without a pause, so that we know to the frame where each begins. The model has never met
# the recordings on which it is tested, but it knows the voices. Each run has 2,000 steps of 64
# digits; the next letter is the most probable one.

# %% Wrong words tags=["slide", "fold"]
from deepdive.page.tables import table

said_of_runs = "the kept runs" if kept_runs else "one live run, too short to judge by"
lines = [[f"{n} digit{'s' * (n > 1)}", spread([r["errors"][str(n)][0] for r in runs])]
         for n in range(1, 5)]  # fmt: skip
lines.append(["4 times the same digit", spread([r["errors"]["alike"][0] for r in runs])])
table(lines, ["what is said", "wrong words in %"],
      caption=f"{said_of_runs}: mean of the seeds (lowest to highest)")  # fmt: skip

# %% [markdown]
# It writes well. A digit that is said four times is harder than four digits drawn at random, in
# every run; in the training, too, only about one string of four in a thousand was of one digit.
#
# ## Where do the letters look?
#
# The decoder has two layers of four heads each. Now every head gets the right letters instead of
# those that the model wrote, and we ask of each letter whether the centre of its weights lies in
# the digit that it spells. Four groups are counted apart:
#
# - **first** letters: nothing of the digit is written yet;
# - **second, open**: behind T, S or F, where two digits still fit (*two* or *three*);
# - **second, settled**: behind O, E, N or Z one digit alone fits, and one need not listen any more;
# - **later** letters: all of them are settled.


# %% Letters whose place is in their digit tags=["slide", "fold"]
def mean_of(row, group, layer, measure):
    """The mean over the heads of a layer."""
    return mean(h[measure][group] for name, h in row["heads"].items() if name[0] == layer)


def by_letters(measure, rival, called):
    """A table of the four groups: a rival without ears, and both layers."""
    lines = [[group, rival[k], *(spread([mean_of(r, k, layer, measure) for r in runs])
                                 for layer in "12")] for k, group in enumerate(GROUPS)]  # fmt: skip
    return table(lines, ["letters", called, "layer 1", "layer 2"], formats={called: ".1f"},
                 caption=f"{said_of_runs}: {len(runs)}, strings of four digits")  # fmt: skip


by_letters("centre", runs[0]["line"], "line")

# %% [markdown]
# *In % of letters: is the centre in the digit? The line is the straight line, which does not
# listen; of the layers the mean of the heads is shown.*
#
# A centre may fall outside though most of the weight is inside. So here is the weight itself:

# %% The weight in the digit tags=["fold"]
by_letters("weight", runs[0]["deaf"]["even"], "even")

# %% [markdown]
# *In % of the weight: how much lies in the digit that the letter spells? Even: all rows get the
# same weight.*
#
# In both layers far more of the weight lies in the right digit than if it were spread evenly. That
# is a weak baseline: a fixed diagonal would pass it, as the straight line without sound does, and
# these are means over the four heads of a layer, not single heads. By their centres only the first
# letters of layer 2 are ahead of a line that does not listen; for all other letters both layers
# stay behind it, in every run.
#
# Do they listen where there is something to find out? Compare second letters alone, which stand at
# the same place of their words. The line is right more often for the settled ones; the heads are
# right more often for the open ones, in both layers of every run. That fits, but it is no proof:
# these are other digits, with other sounds. *Where attention looks* and *where the letter is
# spoken* are two questions.
#
# ### Only forward
#
# Whoever reads the letters from left to right hears from left to right, too. So take the mean of
# all eight heads, and look for the best path that only goes forward: each letter gets one or more
# neighbouring rows, in order, each row belongs to one letter, and the sum of the weights on the
# path is as large as possible. [CTC](02_ctc.ipynb) finds the places of its letters by such a
# search.

# %% Paths that only go forward tags=["fold"]
lines = [[group, runs[0]["line"][k], spread([r["forward"]["places"][k] for r in runs])]
         for k, group in enumerate(GROUPS)]  # fmt: skip
lines.append(["beginning of a digit, ms off", runs[0]["deaf"]["off"],
              spread([r["forward"]["off"] for r in runs])])  # fmt: skip
table(lines, ["letters", "line", "path"], formats={"line": ".1f"},
      caption=f"{said_of_runs}: in their digit, in %; last line: mean error in ms")  # fmt: skip

# %% [markdown]
# Read as a path, the same weights put first and second letters into their digit almost always, more
# often than the line, in every run; later letters less often than the line. So the decoder does
# know which digit comes when. When a digit *begins* it does not tell: the first letter's rows begin
# 92 ms before or after the digit does, on average, farther off than on the line, in every run. A
# reason may be the space before it, which takes rows of its own although the digits are joined
# without a pause.
#
# Published work on Whisper chooses heads with care, and is judged with a tolerance of 20 to 100 ms
# (Yeh et al. 2025).

# %% [markdown]
# ## Eight digits

# %% tags=["fold"]
from deepdive.page.predictions import predict

predict(
    "No training string had more than four digits. Now eight are said. What is written?",
    ["all eight, about as well as four", "eight words, one or two of them wrong",
     "the first ones, and then the text stops or loses its way"],
    answer=2,
    explain="In the training nothing ever came after a fourth word.",
    key="06c_speech/eight-digits",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### What happens: open this once you have predicted

# %% More digits than ever before tags=["surprise"]
lines = [[n, *(spread([r["errors"][str(n)][k] for r in runs]) for k in (0, 1))]
         for n in (4, 5, 6, 8)]  # fmt: skip
table(lines, ["digits said", "wrong words in %", "words written"],
      caption=f"{said_of_runs}: mean of the seeds (lowest to highest)")  # fmt: skip

# %% Look at one of eight tags=["fold"]
letters_heard([heard("eight digits", shown_row["shown"][1]),
               heard("one digit four times", shown_row["shown"][2])])  # fmt: skip

# %% [markdown]
# Beyond four digits it goes wrong in every run, and the longer the string, the more. The run of the
# picture stops: of eight digits it writes four or a few more. Press *end* in the picture: where
# does it look when it decides to stop? And of one digit said four times it has lost one. Equal
# sounds may be hard to count, but such strings were also rare in its training.
#
# Nobody forces the decoder to read all of the sound, to read any of it once only, or to stop when
# it is over. It has learned to do so from strings of up to four words.

# %% [markdown]
# ### Common mistake: padding that is heard
#
# Recordings of a batch are filled up to the longest one. Attention gets a mask; a convolution does
# not ask for one. **Symptom:** a recording says something else alone than beside a longer one.
# **Fix:** set what is padding to 0 before each convolution.

# %% Padding that is heard tags=["nbval-check-output"]
from unittest import mock

torch.manual_seed(0)
front = build().encoder.front
short = torch.randn(1, 30, BANDS)
filled, real = torch.nn.functional.pad(short, (0, 0, 0, 20)), torch.arange(50)[None] < 30
alone, beside = front(short)[0], front(filled, real)[0]
with mock.patch("deepdive.layers.subsample.silenced", lambda rows, mask: rows):
    careless = front(filled, real)[0]
for name, rows_ in (("silenced", beside), ("careless", careless)):
    other = (rows_[:, : alone.shape[1]] - alone).abs().amax((0, 2)) > 1e-4
    print(f"{name}: {int(other.sum())} of {alone.shape[1]} rows differ from the recording alone")

# %% [markdown]
# The released code is careless, and so is transformers', which repeats it. The models were trained
# so and write well all the same, but what they write of a recording can depend on its neighbours.

# %% [markdown] tags=["aside"]
# ## Whisper: windows of thirty seconds
#
# Whisper (Radford et al. 2022) is Speech2Text with another entrance and another schooling. What
# differs:
#
# - It has read 680,000 hours of sound with captions, gathered from the web and filtered by rules.
# - Sound comes in windows of 30 seconds. A shorter recording is filled with silence, and there is
#   no mask: silence is sound in which nothing is said. A longer one is cut, window after window. So
#   no text is ever longer than in the training.
# - Of its two convolutions one halves the frames: 3,000 frames become 1,500 rows. They have no
#   gate, but the activation GELU.
# - Keys have no bias, the decoder's positions are learned, and no row is multiplied by
#   $\sqrt{d}$.
# - The first tokens, given to it, say what is asked: the language, to write down or to translate,
#   with times or without.
#
# When its code is asked for the time of each word, it does what this page does: it takes the
# cross-attention of a few heads chosen for that, smooths it, and looks for the best path that only
# goes forward.

# %% Count Whisper's sizes tags=["aside", "fold", "nbval-check-output"]
from deepdive.models.speech import whisper

sizes = {"tiny": whisper.SMALLEST, "base": whisper.BASE, "small": whisper.SMALL,
         "medium": whisper.MEDIUM, "large": whisper.LARGE}  # fmt: skip
lines = []
for called, config in sizes.items():
    with torch.device("meta"):
        count = sum(p.numel() for p in whisper.whisper(config).parameters())
    lines.append([called, config.n_layers, config.d_model, config.n_heads, round(count / 1e6)])
table(lines, ["size", "layers, each side", "width", "heads", "million weights, counted"])

# %% [markdown] tags=["aside"]
# ## Conformer: attention for what is far, a convolution for what is near
#
# The Conformer's block (Gulati et al. 2020) has four parts, each with its own norm. With $F_1$ and
# $F_2$ feed-forward layers, $A$ attention and $C$ a convolution over time:
#
# $$\begin{aligned} x &\leftarrow x + F_1(x) / 2 \\ x &\leftarrow x + A(x) \\ x &\leftarrow x +
# C(x) \\ x &\leftarrow \text{norm}(x + F_2(x) / 2) \end{aligned}$$
#
# - $C$ is a gate as above, then a convolution that reads the rows nearby, each number of the row
#   for itself, a norm over the batch, the activation $z \sigma(z)$, and a matrix.
# - $A$ knows how far two rows lie apart, as in Transformer-XL; nothing is added to the rows.
# - Two feed-forward layers stand around both, and each counts half.
#
# It is an encoder: any decoder, or CTC, can stand behind it. With their largest, of 119 million
# weights, and a decoder that is not built here, the authors report 2.1 % wrong words on
# LibriSpeech's test-clean without a language model; fairseq reports 3.2 % for its largest
# Speech2Text, of 268 million.

# %% A Conformer in the encoder's place tags=["aside", "fold", "nbval-check-output"]
from deepdive.models.speech import conformer

mixed = speech2text.speech2text(conformer.TINY, **SIZES, kernel=7, kernels=(5, 5))
for name, model in (("Speech2Text", build()), ("Conformer", mixed)):
    count = sum(p.numel() for p in model.encoder.parameters())
    states = model.eval().encoder(torch.zeros(1, 100, BANDS))[0]
    print(f"{name}: {count:,} weights listen, {tuple(states.shape)} states of 100 frames")

# %% [markdown] tags=["aside"]
# ## Speech2Text2: a listener that was trained without text
#
# Speech2Text2 (Wang et al. 2021) has no encoder of its own. It is a decoder, the first
# Transformer's with its norms behind the sums, and in front of it stands [wav2vec
# 2.0](03_wav2vec2.ipynb), which has learned to listen from sound alone. Where the rows of the one
# are wider than those of the other, a matrix stands between them. The transformers library had it
# until version 4; the later ones have not.

# %% Set a decoder behind wav2vec 2.0 tags=["aside", "fold", "nbval-check-output"]
from deepdive.models.speech import speech2text2, wav2vec2

listener = wav2vec2.wav2vec2(wav2vec2.TINY)
pair = speech2text2.speech2text2(listener, listener.config.d_model, speech2text2.TINY).eval()
sound = torch.randn(1, 800, generator=torch.Generator().manual_seed(0))
state = pair.begin(sound)
print(tuple(sound.shape), "samples ->", tuple(state.memory.shape), "rows that the decoder reads")

# %% [markdown]
# ## In practice
#
# - For times of words use a model that was trained to give them, CTC, or a path that only goes
#   forward through the attention of chosen heads; not the largest weight of each letter. Measure
#   the error in ms where borders are known.
# - Train on lengths that will come, or cut what is longer into windows. An encoder-decoder that
#   has never seen eight words may stop, repeat, or invent.
# - Watch for texts that loop: a limit on the length, and a look at repeated words, find most.
# - Ask what a rival without ears would get: here a straight line.
#
# ## Five questions
#
# Answer each in a sentence, then open.
#
# 1. Why does Speech2Text make one row of four frames?
#
#    <details><summary>Answer</summary>
#
#    Attention costs the square of the number of rows, and a letter lasts for several frames.
#
#    </details>
# 2. What is the straight line good for?
#
#    <details><summary>Answer</summary>
#
#    It does not listen. What it gets right is no evidence that somebody else has listened.
#
#    </details>
# 3. Which letters of *six* are settled, and by what?
#
#    <details><summary>Answer</summary>
#
#    X: behind S two digits fit, *six* and *seven*; I decides for *six*, and X follows from it.
#
#    </details>
# 4. CTC needs a row for each letter, and one more between equal ones. Why does Speech2Text not?
#
#    <details><summary>Answer</summary>
#
#    Its decoder writes as many letters as it likes, and may look at the same row for several.
#
#    </details>
# 5. What does Whisper do about recordings that are longer than those of its training?
#
#    <details><summary>Answer</summary>
#
#    It never reads one: sound is cut into windows of thirty seconds.
#
#    </details>
#
# ## Exercises
#
# 1. *(pencil, 4 min)* In the table by hand, find the path that only goes forward and has the most
#    weight: each of the three letters gets one or more neighbouring rows, S begins with row 0, X
#    ends with row 4. Which rows get S, I and X, and how much weight do they have?
#
#    <details><summary>Answer</summary>
#
#    S row 0 (8), I rows 1 and 2 (6 + 3), X rows 3 and 4 (2 + 6): 25 tenths. (Taking row 2 for X
#    instead gives 24.)
#
#    </details>
# 2. *(pencil, 3 min)* How many rows do 3,000 frames become in Speech2Text, and how many in Whisper?
#    How many times as many pairs does each head of Whisper's encoder compare?
#
#    <details><summary>Answer</summary>
#
#    750 and 1,500; four times as many.
#
#    </details>
# 3. *(measure, 10 min)* Cut each string of eight digits in the middle, let the model write both
#    halves, and join the texts: `batch("test", [each[:4]])` and `batch("test", [each[4:]])`. How
#    many words are wrong now?
#
#    <details><summary>Answer</summary>
#
#    Expect about as many as in strings of four, for the halves are such strings (no such run is
#    kept). It helps that we knew where to cut; Whisper cuts at a time that it has itself written.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to exercises 1 and 2, checked.
print("rows:", forward_path(tenths))
print(
    (8 + 6 + 3 + 2 + 6, 8 + 6 + 2 + 2 + 6),
    small.encoder.front(torch.zeros(1, 3000, 40))[0].shape[1],
)

# %% [markdown]
# ## In three sentences
#
# Speech2Text is a Transformer that reads four frames of sound as one row, and its cross-attention
# gives each letter a weight for each moment. Read letter by letter most weights lie in the right
# word, first letters best and later ones least; read as a path that only goes forward they tell
# which word comes when, though not when it begins. Back to the telephone number: by the X of *six*
# and the O of *two* the word is settled, and for such letters the finger often points elsewhere;
# and of eight digits, twice as many as ever before, such a listener writes about half or a little
# more, and then stops or loses its place.
#
# ## Further reading
#
# - Wang et al. (2020), *fairseq S2T*: section 3.1, and the recipe for LibriSpeech in fairseq's
#   examples, from which the error rate above is.
# - Wang et al. (2021), *Large-Scale Self- and Semi-Supervised Learning for Speech Translation*.
# - Radford et al. (2022), *Robust Speech Recognition via Large-Scale Weak Supervision*: section 2
#   for the model, section 4.5 for what was needed against texts that loop; `timing.py` of the
#   released code for the times of words.
# - Gulati et al. (2020), *Conformer*: figure 1, and table 2 for the error rates.
# - Yeh, Meng, Tang (2025), *Whisper Has an Internal Word Aligner*: which heads align, why letters
#   do it better than pieces of words, and how near the times are.
# - kenfus, *Visualizing Whisper: Mapping Cross-Attention to Time*, a blog of November 2025: the map
#   of all tokens at once, with long silences put in as a test.
