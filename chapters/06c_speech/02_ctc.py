# %% [markdown] tags=["slide"]
# # Which frame says which letter?
#
# Somebody says "cat" into a telephone. The recording is a row of a hundred short frames, the
# transcript is three letters, and nobody marked where each begins. Who says which frame belongs to
# which letter, when a model is to learn it? And why does such a model so often write nothing at all
# for hours, so that every word counts as wrong?
#
# <small>Book 6.3, and the papers under further reading · before this page: [from a waveform to
# units](01_waveform.ipynb), [recurrent networks](../01_before/07_rnn.ipynb) · 18 min to read · a
# laptop is enough; the long runs are kept beside the page</small>

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

# %% Utterances tags=["fold"]
from functools import cache

import torch

from deepdive.audio.mel import mfcc
from deepdive.data.speech import Utterances, an4
from deepdive.data.voices import voices
from deepdive.page.profile import pick, profile

LETTERS = "- ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # symbol 0 is the blank, 1 the space


@cache
def data():
    """Utterances to learn from, and those of people who are not among them."""
    if profile() == "ci":
        said = voices(80, seed=3, length=(1, 2))
        rows = tuple(mfcc(wave, said.rate).numpy() for wave in said.waves)
        made = Utterances(rows, said.words, said.speakers, said.names, said.source)
        return made.held_out(["high"])
    every = an4()
    return every.held_out(sorted({*every.speakers})[::10])


# %% Make batches of them tags=["fold"]
from torch.nn.utils.rnn import pad_sequence


@cache
def tensors(part):
    """Of each utterance 13 cepstra a frame, mean 0 and deviation 1 within it, and its symbols."""
    rows = [torch.as_tensor(row) for row in data()[part].features]
    rows = [(row - row.mean(0)) / (row.std(0) + 1e-5) for row in rows]
    return rows, [torch.tensor([LETTERS.index(x) for x in words]) for words in data()[part].words]


def batch(part, places):
    """Padded frames (B, N, 13), how many are real, symbols (B, U), how many are real."""
    frames, texts = ([kind[i] for i in places] for kind in tensors(part))
    sizes = [torch.tensor([len(each) for each in kind]) for kind in (frames, texts)]
    return pad_sequence(frames, True), sizes[0], pad_sequence(texts, True), sizes[1]


# %% A recogniser tags=["fold"]
from torch import nn


class Recogniser(nn.Module):
    """Convolutions that halve the number of frames, a GRU in both directions, scores of symbols."""

    def __init__(self, halvings=2, norm=False, width=128):
        super().__init__()
        sizes = [13] + [width] * halvings
        self.halve = nn.ModuleList(nn.Conv1d(a, width, 5, 2, 2) for a in sizes[:-1])
        made = nn.BatchNorm1d if norm else nn.Identity
        self.norms = nn.ModuleList(made(width) for _ in self.halve)
        self.gru = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, len(LETTERS))

    def forward(self, frames, lengths):
        x = frames.transpose(1, 2)
        for convolution, norm in zip(self.halve, self.norms, strict=True):
            x, lengths = norm(convolution(x)).relu(), (lengths + 1) // 2
        packed = nn.utils.rnn.pack_padded_sequence(x.transpose(1, 2), lengths, True, False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], True)
        return self.out(states), lengths


# %% The loss of a batch tags=["fold"]
from deepdive.training.objectives import ctc_loss, frames_needed


def loss_of(model, values):
    """Mean CTC loss a letter, of the texts for which there are frames enough."""
    frames, lengths, texts, sizes = values
    scores, lengths = model(frames, lengths)
    fits = frames_needed(texts, sizes) <= lengths
    losses = ctc_loss(scores[fits], lengths[fits], texts[fits], sizes[fits])
    return (losses / sizes[fits]).mean()


# %% Look at what it writes tags=["fold"]
from deepdive.decoding.ctc import greedy
from deepdive.evaluate.transcripts import character_error_rate, word_error_rate

AFTER = pick(ci=10, laptop=25, gpu=25)  # steps between two looks
SHOWN = min(range(len(data()[1])), key=lambda i: abs(len(data()[1].words[i]) - 12))


def look(model, step):
    """What the model says of people it has not heard."""
    values, words = batch(1, range(len(data()[1]))), data()[1].words
    model.eval()
    with torch.no_grad():
        scores, lengths = model(*values[:2])
        loss = float(loss_of(model, values))
    model.train()
    written = ["".join(LETTERS[k] for k in text) for text in greedy(scores, lengths)]
    real = torch.arange(scores.shape[1]) < lengths[:, None]
    blanks = (scores.argmax(-1) == 0)[real].float().mean()
    empty = sum(not text.strip() for text in written) / len(written)
    numbers = [loss, float(blanks), empty, word_error_rate(words, written)]
    numbers += [character_error_rate(words, written)]
    says = scores[SHOWN, : lengths[SHOWN]].softmax(-1)
    return [step, *(round(number, 3) for number in numbers), written[SHOWN]], says


# %% Train one tags=["fold"]
import random


def orders(short_first, size, draw):
    """Places of one batch after the other; at first the shortest utterances, if asked."""
    lengths = [len(row) for row in tensors(0)[0]]
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    while True:
        if not short_first:
            draw.shuffle(order)
        short_first = False
        yield from (order[i : i + size] for i in range(0, len(order) - size + 1, size))


@cache
def train(rate, bias, halvings, short_first, norm, steps, seed):
    """A recogniser, and a look at it every few steps."""
    torch.manual_seed(seed)
    model, looks = Recogniser(halvings, norm), []
    model.out.bias.data[0] += bias
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    turns = orders(short_first, 16, random.Random(seed))
    for step in range(steps + 1):
        if step % AFTER == 0:
            looks.append(look(model, step))
        optimizer.zero_grad()
        loss_of(model, batch(0, next(turns))).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    return model.eval(), looks

# %% All ways to say cat tags=["fold"]
from deepdive.page.lattice import lattice

CAT = {"-": [2, 2, 2, 2, 2], "c": [2, 1, 0, 0, 0], "a": [0, 1, 2, 1, 0], "t": [0, 0, 0, 1, 2]}
TOO = {"-": [1, 1, 2, 1, 2], "t": [2, 2, 0, 0, 0], "o": [1, 1, 2, 3, 2]}
lattice({"cat": CAT, "too": TOO})

# %% [markdown]
# *Five frames. Each frame says one symbol: a letter, or the blank "-", which is no letter. A
# **path** is what all five say. To read it, equal neighbours become one, then blanks go: c c - a t,
# - c a - t and c a a t t all say "cat". In the picture a path goes from left to right through the
# word with blanks around its letters, one column a frame. The number in a place is the sum of all
# ways to get there; a line is as wide as its share of the paths, a place as full. Press the numbers
# below the picture, a place, or the arrow keys.*
#
# 1. The likeliest symbol of each frame is the blank (of equal ones the first counts). How can "cat"
#    still be the more probable text?
# 2. Take c away from frame 1. Which places become empty, and what is left of "cat"?
# 3. Choose "too". Why does no line lead from the first o straight to the second?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. "Nothing" is said by one path alone, five blanks: $2^5 = 32$ of 1,024. "cat" is said by many,
#    264 together.
# 2. Letter c in frame 1 and everything that came from there. Now each path begins with the blank,
#    and 48 of 512 are left.
# 3. Two equal neighbours would become one o. A blank has to stand between them.
#
# </details>
#
# This is **connectionist temporal classification**, CTC (Graves et al. 2006). Its answer to *who
# says which frame belongs to which letter?* is: nobody has to. The model is taught that all paths
# of the right text together should be probable, whichever they are.

# %% [markdown] tags=["slide"]
# ## By hand: "at" in three frames
#
# | | frame 1 | frame 2 | frame 3 |
# |---|---|---|---|
# | - | 1 | 2 | 1 |
# | a | 3 | 1 | 0 |
# | t | 0 | 1 | 3 |
#
# Each frame has 4 parts to give, so all paths together have $4^3 = 64$. Five paths say "at":
#
# | path | a a t | a t t | a - t | - a t | a t - |
# |---|---|---|---|---|---|
# | parts | 3·1·3 = 9 | 3·1·3 = 9 | 3·2·3 = 18 | 1·1·3 = 3 | 3·1·1 = 3 |
#
# Their sum is 42, so "at" has the probability $42/64$. A real text has more paths than one can
# list, and the **lattice** adds them up column by column. In each place stands what comes in from
# the column before (from the place itself, from the one above, and from two above if that skips
# nothing but a blank between different letters), times the frame's own parts:
#
# | | frame 1 | frame 2 | frame 3 |
# |---|---|---|---|
# | - | 1 | 1·2 = 2 | 2·1 = 2 |
# | a | 3 | (1+3)·1 = 4 | (2+4)·0 = 0 |
# | - | 0 | 3·2 = 6 | (4+6)·1 = 10 |
# | t | 0 | 3·1 = 3 | (4+6+3)·3 = 39 |
# | - | 0 | 0 | 3·1 = 3 |
#
# A path may end in the last letter or in the blank after it: $39 + 3 = 42$ again.

# %% The same from the library tags=["nbval-check-output", "fold"]
import itertools
from math import prod

import torch

from deepdive.page.lattice import sums
from deepdive.training.objectives import collapse, ctc_loss

AT = {"-": [1, 2, 1], "a": [3, 1, 0], "t": [0, 1, 3]}
rows = torch.tensor([*AT.values()]).T  # frames down, symbols across
for path in itertools.product(range(3), repeat=3):
    if collapse(path) == [1, 2]:
        print("".join("-at"[k] for k in path), prod(int(rows[t, k]) for t, k in enumerate(path)))
logits = rows.double().log()[None]  # softmax makes shares of the parts
loss = ctc_loss(logits, torch.tensor([3]), torch.tensor([[1, 2]]), torch.tensor([2]))
print("the lattice:", sums("at", AT).ways, "| the loss:", round(64 * float((-loss).exp())), "of 64")
assert sums("at", AT).word == 42
assert (sums("cat", CAT).word, sums("cat", CAT).whole) == (264, 1024)
assert sums("cat", CAT | {"c": [0, 1, 0, 0, 0]}).word == 48

# %% [markdown]
# ## The equation
#
# $z$ is the text with a blank before, between and after its letters, $p_t(z_s)$ the probability
# that frame $t$ says the symbol of place $s$. Products of hundreds of probabilities are too small
# for a computer, so that it keeps logarithms: times becomes plus, and plus becomes $\text{logsumexp}$.
#
# $$\begin{aligned} \alpha_t(s) = \log p_t(z_s) + \text{logsumexp}\big(&\alpha_{t-1}(s),\
# \alpha_{t-1}(s-1), \\ &\alpha_{t-1}(s-2) \text{ if } z_s \ne \text{-}, z_s \ne z_{s-2}\big)
# \end{aligned}$$
#
# The loss is minus the logarithm of the text's probability, the last two places of the last frame
# together. Nothing else is needed: the derivative is made by the machine.


# %% The loss in nine lines tags=["slide"]
def by_hand(log_p, text, blank=0):
    """-log p(text), for log-probabilities (T, V) of one utterance."""
    z = [blank, *itertools.chain(*([letter, blank] for letter in text))]
    skip = [s > 1 and z[s] not in (blank, z[s - 2]) for s in range(len(z))]
    never = torch.tensor(-1e30)  # log 0, and still a number
    alpha = [torch.tensor(0.0)] + [never] * (len(z) - 1)  # before the first frame
    for frame in log_p:
        ways = [[alpha[s], alpha[s - 1] if s else never, alpha[s - 2] if skip[s] else never]
                for s in range(len(z))]  # fmt: skip
        alpha = [torch.stack(w).logsumexp(0) + frame[z[s]] for s, w in enumerate(ways)]
    return -torch.stack(alpha[-2:]).logsumexp(0)


# %% Equal to torch's, and its gradient tags=["nbval-check-output", "fold"]
import torch.nn.functional as F

scores = torch.randn(1, 12, 5, generator=torch.Generator().manual_seed(0), requires_grad=True)
text, sizes = torch.tensor([[3, 1, 1, 4]]), (torch.tensor([12]), torch.tensor([4]))
mine = by_hand(scores.log_softmax(-1)[0], text[0].tolist())
library = ctc_loss(scores, sizes[0], text, sizes[1])[0]
torchs = F.ctc_loss(scores.log_softmax(-1).transpose(0, 1), text, *sizes, reduction="sum")
slopes = [torch.autograd.grad(each, scores)[0] for each in (mine, library, torchs)]
assert torch.allclose(mine, torchs, atol=1e-5)
assert torch.allclose(library, torchs, atol=1e-5)
assert all(torch.allclose(slope, slopes[2], atol=1e-5) for slope in slopes)
print("by hand, the library's and torch's: the same loss and the same gradient")

# %% [markdown]
# ### What the loss asks of a frame
#
# Its derivative by a score is a difference: **what the frame says, less what the paths of the text
# say there**, each path weighed by its probability. In frame 3 of the picture the blank has 2 parts
# of 4, so 0.5. Of the 264 path parts of "cat" 64 go through a blank there, 0.24, and 200 through a, 0.76.
# So the loss pulls the blank of this frame down and the a up. Every frame is taught by such soft
# shares, which the model's own probabilities make.

# %% Said, less asked tags=["nbval-check-output", "fold"]
logits = torch.tensor([*CAT.values()]).double().T.log()[None].requires_grad_()
loss = ctc_loss(logits, torch.tensor([5]), torch.tensor([[1, 2, 3]]), torch.tensor([3]))
(slope,) = torch.autograd.grad(loss.sum(), logits)
said, asked = logits.detach().softmax(-1)[0, 2], (logits.detach().softmax(-1) - slope)[0, 2]
table_of = [[s, f"{said[k]:.2f}", f"{asked[k]:.2f}"] for k, s in enumerate(CAT)]
through = [sum(row[2] for row, z in zip(sums("cat", CAT).through, "-c-a-t-", strict=True) if z == s)
           for s in CAT]  # fmt: skip
print("parts of the 264 paths through frame 3:", dict(zip(CAT, through, strict=True)))
for symbol, *both in table_of:
    print(symbol, "said", both[0], "asked", both[1])

# %% Decode, with a model of words and without tags=["fold"]
import time

from deepdive.decoding.ctc import WordScores, prefix_beam
from deepdive.decoding.ngram import UNKNOWN, NGram


def decoded(model):
    """Word and character errors of three ways to write, and how long these take."""
    sentences = [text.split() for text in data()[0].words]
    known = {word for sentence in sentences for word in sentence} | {UNKNOWN}
    words = WordScores(NGram(sentences, 3, known), LETTERS, alpha=0.5, beta=1.0)
    with torch.no_grad():
        scores, lengths = model(*batch(1, range(len(data()[1])))[:2])
    rows = [row[:n].log_softmax(-1) for row, n in zip(scores, lengths.tolist(), strict=True)]
    ways = {"greedy": lambda: greedy(scores, lengths)}
    for name, spoken in (("beam", None), ("beam with words", words)):
        ways[name] = lambda lm=spoken: [prefix_beam(r, language_model=lm)[0].symbols for r in rows]
    found = {}
    for name, way in ways.items():
        start = time.process_time()
        written = ["".join(LETTERS[k] for k in text) for text in way()]
        took = time.process_time() - start
        both = (rate(data()[1].words, written) for rate in (word_error_rate, character_error_rate))
        found[name] = [*(round(each, 3) for each in both), round(took, 2)]
    return found


# %% Measure tags=["fold"]
from deepdive.page.experiments import kept, share, sweep

AS_IS = {"rate": 2e-3, "bias": 0.0, "halvings": 2, "short_first": False, "norm": False}
SETTINGS = {
    "as it is": {}, "blank held down at first": {"bias": -3.0}, "2.5 times the rate": {"rate": 5e-3},
    "short utterances first": {"short_first": True}, "8 frames in 1, not 4": {"halvings": 3},
    "normalised inside": {"norm": True},
}  # fmt: skip


def measure(setting, steps, seed):
    """The looks at one training; for the last setting also what it says and how it is read."""
    model, looks = train(**AS_IS | SETTINGS[setting], steps=steps, seed=seed)
    found = {"looks": [line for line, _ in looks]}
    if setting == "normalised inside":
        symbols = [0, *sorted({LETTERS.index(x) for x in data()[1].words[SHOWN]})]
        found["decoded"] = decoded(model)
        found["says"] = {str(line[0]): (1000 * says[:, symbols]).round().int().tolist()
                         for line, says in looks if seed == 1 and line[0] in PICTURED}  # fmt: skip
    return found


base = pick(ci=20, laptop=75, gpu=400, experiment=round(400 * share() / 25) * 25)
asked = [("as it is", base), ("normalised inside", base)]
if profile() == "experiment":
    asked = [(name, base) for name in SETTINGS if name != "normalised inside"]
    asked += [("normalised inside", round(700 * share() / 25) * 25)]
PICTURED = [AFTER * k for k in (0, 1, 3, 5, 8, 12)] + [asked[-1][1]]
seeds = (1, 2, 3) if profile() == "experiment" else (1,)
points = [{"setting": n, "steps": steps, "seed": s} for s in seeds for n, steps in asked]
file = kept("06c_speech", "ctc")
target = file if profile() == "experiment" else None
measured = sweep(measure, points, target, data="an4_mfcc", minutes=300)
