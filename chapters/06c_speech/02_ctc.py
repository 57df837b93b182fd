# %% [markdown] tags=["slide"]
# # CTC: which frame says which letter?
#
# Somebody says "cat" into a telephone. The recording is a row of a hundred short frames, the
# transcript is three letters, and nobody marked where each begins. How can a model learn which
# frame belongs to which letter? And why does such a model so often write nothing at all for
# hundreds of steps, so that every word counts as wrong?
#
# <small>Prerequisites: [from a waveform to units](01_waveform.ipynb),
# [recurrent networks](../01_before/07_rnn.ipynb) · 18 min · runs on a laptop; results of the long
# runs are included · book 6.3, and the papers under further reading</small>

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

# %% What eight frames say tags=["fold"]
from math import pi, sin

from deepdive.training.objectives import collapse
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.plotting import show

HELLO = {"-": [4, 1, 0, 1, 3, 1, 0, 1], "h": [1, 3, 1, 0, 0, 0, 0, 0],
         "e": [0, 1, 4, 1, 0, 0, 0, 0], "l": [0, 0, 0, 3, 2, 4, 1, 0],
         "o": [0, 0, 0, 0, 0, 0, 4, 4]}  # fmt: skip
X = [92 + 42 * t for t in range(8)]
path = [max(HELLO, key=lambda s: HELLO[s][t]) for t in range(8)]  # no two are equal
assert "".join("-helo"[k] for k in collapse(["-helo".index(s) for s in path])) == "hello"
loud = [0, 8, 18, 12, 3, 14, 20, 10]
wave = [(71 + 2 * i, 24 + loud[i // 21] * sin(i * pi / 3)) for i in range(168)]

# %% From sound to text, drawn tags=["slide", "fold", "nbval-check-output"]
body = [text(32, 24, "sound", 14), '<path fill="none" stroke="currentColor" stroke-width="0.8" d="M'
        + "L".join(f"{x:.0f} {y:.1f}" for x, y in wave) + '"/>']  # fmt: skip
for k, (symbol, row) in enumerate(HELLO.items()):
    body.append(text(54, 66 + 23 * k, symbol, 16, bold=True))
    body += [f'<rect x="{x - 20}" y="{56 + 23 * k}" width="40" height="21" stroke="{ROLES["key"]}" '
             f'stroke-width="0.5" fill="{ROLES["key"]}" fill-opacity="{0.17 * v:.2f}"/>'
             for x, v in zip(X, row, strict=True)]  # fmt: skip
body += [text(32, y, w, 14) for y, w in ((192, "likeliest"), (222, "merged"), (252, "text"))]
body += [text(x, 192, s, 16) for x, s in zip(X, path, strict=True)]
merged = [*zip(X[:6], path[:6], strict=True), ((X[6] + X[7]) / 2, "o")]
body += [text(x, 222, s, 16) for x, s in merged]
body += [text(x, 252, s, 18, "query", bold=True) for x, s in merged if s != "-"]
show(svg(414, 266, body), "Eight frames of sound from left to right; below each the shares of five "
     "symbols, blank, h, e, l, o; below these the likeliest symbol of each frame, then equal "
     "neighbours made one, then the text hello without the blanks.")  # fmt: skip

# %% [markdown]
# *From above: the sound in eight frames; how probable each symbol is in each frame (fuller is more
# probable); the likeliest symbol of each frame; equal neighbours made one; blanks dropped. The
# numbers were chosen for this drawing.*
#
# Let each frame say a letter, and read equal neighbors as one, because a sound lasts for several
# frames: `c c a a t` is "cat". This fails twice. A frame of silence has no letter to say. And
# "hello" cannot be written at all: `h e e l l l o` is read as "helo", since its two l are
# neighbors. Therefore there is one more symbol, the **blank** `-`, which is no letter: with it
# `- h e l - l o o` is "hello". What all frames say is a **path**. To read one, make equal
# neighbors one, then drop the blanks.
#
# Many paths say the same text. Here are all of "cat" in five frames:

# %% All ways to say cat tags=["fold"]
from deepdive_book.ch06c.figures.ctc_lattice import ctc_lattice

CAT = {"-": [3, 3, 3, 3, 3], "c": [2, 1, 0, 0, 0], "a": [0, 1, 2, 1, 0], "t": [0, 0, 0, 1, 2]}
TOO = {"-": [1, 1, 3, 1, 2], "t": [3, 3, 0, 0, 0], "o": [1, 1, 2, 4, 3]}
ctc_lattice({"cat": CAT, "too": TOO})

# %% [markdown]
# *Each frame has five parts to give to its symbols. The paths `c c - a t`, `- c a - t` and
# `c a a t t` all say "cat". A path goes from left to right through the word with blanks around its
# letters, one column a frame. The number in a place is the sum of all ways to get there. The
# filling of a place, like the width of a line, is its share of the ways that reach the end of the
# word; where no end can be reached any more, the place stays white. Press the numbers below the
# picture, a place, or the arrow keys.*
#
# 1. The likeliest symbol of each frame is the blank. How can "cat" still be more probable than no
#    text at all?
# 2. Take c away from frame 1. Which places become empty, and what is left of "cat"?
# 3. Choose "too". Why does no line lead from the first o straight to the second?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. No text is said by one path alone, five blanks: $3^5 = 243$ of 3,125. "cat" is said by many.
#    The best of them has 72, all together have 470.
# 2. Letter c in frame 1 and everything that came from there. Now each path begins with the blank,
#    and 96 of 1,875 are left.
# 3. Two equal neighbors would become one o. A blank has to stand between them.
#
# </details>
#
# This is **connectionist temporal classification**, CTC (Graves et al. 2006). Its answer to *who
# says which frame belongs to which letter?* is: nobody has to. The model is taught that all paths
# of the right text together should be probable, whichever they are. Two things it takes for
# granted: the letters come in the order of their sounds, and there are at least as many frames as
# letters. A translation has neither.

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

from deepdive.training.objectives import ctc_loss
from deepdive_book.ch06c.figures.ctc_lattice import sums

AT = {"-": [1, 2, 1], "a": [3, 1, 0], "t": [0, 1, 3]}
frames = torch.tensor([*AT.values()]).T  # frames down, symbols across
for path in itertools.product(range(3), repeat=3):
    if collapse(path) == [1, 2]:
        print("".join("-at"[k] for k in path), prod(int(frames[t, k]) for t, k in enumerate(path)))
logits = frames.double().log()[None]  # softmax makes shares of the parts
loss = ctc_loss(logits, torch.tensor([3]), torch.tensor([[1, 2]]), torch.tensor([2]))
print("by the loss:", round(64 * float((-loss).exp())), "of 64. The lattice:")
for symbol, row in zip("-a-t-", sums("at", AT).ways, strict=True):
    print(symbol, *row)
assert sums("at", AT).word == 42
found, less = sums("cat", CAT), sums("cat", CAT | {"c": [0, 1, 0, 0, 0]})
assert (found.word, found.whole, less.word, less.whole) == (470, 3125, 96, 1875)
texts = {path: collapse(path) for path in itertools.product(range(4), repeat=5)}
parts = [prod(CAT["-cat"[k]][t] for t, k in enumerate(path))
         for path, said in texts.items() if said == [1, 2, 3]]  # fmt: skip
assert (sum(parts), max(parts)) == (470, 72)

# %% [markdown]
# ## The equation
#
# $z$ is the text with a blank before, between and after its letters, $p_t(z_s)$ the probability
# that frame $t$ says the symbol of place $s$. Products of hundreds of probabilities are too small
# for a computer, so it keeps $\alpha_t(s)$, the logarithm of the number in a place: times becomes
# plus, and plus becomes $\text{logsumexp}(a, b) = \log(e^a + e^b)$.
#
# $$\alpha_t(s) = \log p_t(z_s) + \text{logsumexp}(A_s)$$
#
# $A_s$ are $\alpha_{t-1}(s)$ and $\alpha_{t-1}(s-1)$, and $\alpha_{t-1}(s-2)$ too if place $s$ may
# skip: if $z_s$ is no blank and not the letter $z_{s-2}$. Before the first frame $\alpha$ is
# $\log 1$ in the first place, and $\log 0$ in all others.
#
# The loss is minus the logarithm of the text's probability, the last two places of the last frame
# together. Nothing else is needed: PyTorch finds the derivative.


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
print("by hand, the library's, torch's:")
print("the same loss and the same gradient")

# %% [markdown]
# ### What the loss asks of a frame
#
# Its derivative with respect to a score is a difference: **what the frame says, less what the paths
# of the text say there**, each path weighed by its probability. In frame 3 of the picture the blank
# has 3 parts of 5, so 0.60. Of the 470 of "cat" 132 go through a blank there, 0.28, and 338 through
# a, 0.72. So the loss pulls the blank of this frame down and the a up. Every frame is taught by
# such soft shares, which the model's own probabilities make.

# %% Said, less asked tags=["nbval-check-output", "fold"]
logits = torch.tensor([*CAT.values()]).double().T.log()[None].requires_grad_()
loss = ctc_loss(logits, torch.tensor([5]), torch.tensor([[1, 2, 3]]), torch.tensor([3]))
(slope,) = torch.autograd.grad(loss.sum(), logits)
said, asked = logits.detach().softmax(-1)[0, 2], (logits.detach().softmax(-1) - slope)[0, 2]
table_of = [[s, f"{said[k]:.2f}", f"{asked[k]:.2f}"] for k, s in enumerate(CAT)]
through = [sum(row[2] for row, z in zip(sums("cat", CAT).through, "-c-a-t-", strict=True) if z == s)
           for s in CAT]  # fmt: skip
print("of 470 in frame 3:", *(f"{s} {n}" for s, n in zip(CAT, through, strict=True)))
for symbol, *both in table_of:
    print(symbol, "said", both[0], "asked", both[1])

# %% [markdown]
# ## A real training: one hundred per cent wrong
#
# AN4 is a corpus of people who spell names and say numbers, dates and commands; each hundredth of a
# second is given as 13 [cepstra](01_waveform.ipynb#from-bands-to-cepstra), the rough form of its
# spectrum. We take its utterances of up to two and a half seconds. A small recognizer makes one
# frame of four, reads them with a recurrent network in both directions, and says one of 28 symbols
# in each: blank, space, A to Z. It learns with CTC alone, 16 utterances a step, and every 25 steps
# it is asked about people it has not heard. (In the profile `ci` generated voices say digits
# instead.)

# %% A recogniser tags=["fold"]
from torch import nn

from deepdive_book.ch06c.runs import ctc


class Recognizer(nn.Module):
    """Convolutions that halve the number of frames, a GRU in both directions, scores of symbols."""

    def __init__(self, halvings=2, norm=False, width=128):
        super().__init__()
        sizes = [13] + [width] * halvings
        self.halve = nn.ModuleList(nn.Conv1d(a, width, 5, 2, 2) for a in sizes[:-1])
        made = nn.BatchNorm1d if norm else nn.Identity
        self.norms = nn.ModuleList(made(width) for _ in self.halve)
        self.gru = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, len(ctc.LETTERS))

    def forward(self, frames, lengths):
        x = frames.transpose(1, 2)
        for convolution, norm in zip(self.halve, self.norms, strict=True):
            x, lengths = norm(convolution(x)).relu(), (lengths + 1) // 2
        packed = nn.utils.rnn.pack_padded_sequence(x.transpose(1, 2), lengths, True, False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], True)
        return self.out(states), lengths


# %% The loss of a batch tags=["fold"]
from deepdive.training.objectives import frames_needed


def batch_loss(model, batch):
    """Mean CTC loss a letter, torch's, of the texts for which there are frames enough."""
    scores, lengths = model(batch.frames, batch.lengths)
    fits = frames_needed(batch.symbols, batch.symbol_lengths) <= lengths
    log_p = scores[fits].log_softmax(-1).transpose(0, 1)
    return F.ctc_loss(log_p, batch.symbols[fits], lengths[fits], batch.symbol_lengths[fits])


# %% What is measured tags=["fold"]
from deepdive_book.kit.profile import pick, profile

CHECK_EVERY = pick(ci=10, laptop=25, gpu=25)  # steps
AS_IS = {"rate": 2e-3, "bias": 0.0, "halvings": 2, "short_first": False, "norm": False}
SETTINGS = {
    "as it is": {}, "blank held down at first": {"bias": -3.0},
    "2.5 times the rate": {"rate": 5e-3}, "short utterances first": {"short_first": True},
    "8 frames in 1, not 4": {"halvings": 3}, "normalised inside": {"norm": True},
}  # fmt: skip


def measure(setting, steps, seed):
    """The checks of one training; for the last setting also its probabilities and decodings."""
    given = AS_IS | SETTINGS[setting]
    torch.manual_seed(seed)
    model = Recognizer(given["halvings"], given["norm"])
    model.out.bias.data[0] += given["bias"]
    checks = ctc.train_model(model, batch_loss, steps, seed, check_every=CHECK_EVERY,
                             lr=given["rate"], short_first=given["short_first"])  # fmt: skip
    found = {"looks": [line for line, _ in checks]}
    if setting == "normalised inside":
        pictured = {CHECK_EVERY * k for k in (0, 1, 3, 5, 8, 12)} | {steps} if seed == 1 else ()
        found["decoded"] = ctc.decode(model)
        found["says"] = ctc.example_probabilities(checks, pictured)
    return found


# %% Measure, or read what was measured tags=["fold"]
from deepdive_book.kit import rows
from deepdive_book.kit.experiments import share

steps, n = pick(ci=20, laptop=50, gpu=500), round(250 * share() / 25) * 25
asked = [("as it is", 2 * n), ("normalised inside", 2 * n)]
asked += [(setting, n) for setting in [*SETTINGS][1:-1]]
few = [{"setting": setting, "steps": steps, "seed": 1} for setting, _ in asked[:2]]
found = rows.load_or_measure(
    measure, "06c_speech", "ctc", data="an4_mfcc", minutes=300,
    points=[{"setting": setting, "steps": n, "seed": seed}
            for setting, n in asked for seed in (1, 2, 3)],
    few=few, live=few[:1] if profile() == "laptop" else few,
)  # fmt: skip
runs = {setting: rows.select(found.rows, setting=setting) for setting in SETTINGS}
train, test = ctc.load_utterances()
example = test.words[ctc.example_index()]
print(f"{len(train)} utterances to learn from,\n{len(test)} of other people")
for run in found.measured:
    print(f"trained here, {run['steps']} steps, {run['setting']}:")
    print(f"{100 * run['looks'][-1][4]:.0f} % of the words are wrong")
print("below:", "long trainings, kept beside the page" if found.saved else
      "these, too short to judge by")  # fmt: skip

# %% What it writes after so many steps tags=["fold"]
from deepdive_book.kit.tables import table

lines = []
for line in runs["as it is"][0]["looks"]:
    if line[0] in (0, 25, 100, 200, 300, 400, 500):
        percent = [f"{100 * line[ctc.METRICS[name]]:.0f}" for name in ("empty", "words", "letters")]
        lines.append([line[0], *percent, f"“{line[-1]}”"])
which = "the slowest of three seeds" if found.saved else "one seed"
table(lines, ["steps", "left empty", "words wrong", "letters wrong", "it writes"],
      caption=f"{which}: utterances left empty and errors in %, and what it writes for "
      f"“{example}”")  # fmt: skip

# %% Curves of all seeds tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt


def curves(settings, last):
    """Loss and two error rates over the steps, a line a seed."""
    figure = Figure(figsize=(4.6, 4.4), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    for (setting, style), colour in zip(settings.items(), ("#0072B2", "#D55E00"), strict=False):
        for k, run in enumerate(runs[setting]):
            looks = [line for line in run["looks"] if line[0] <= last]
            steps, label = [line[0] for line in looks], f"{style}words" if k == 0 else None
            upper.plot(steps, [line[1] for line in looks], color=colour)
            lower.plot(steps, [100 * line[4] for line in looks], color=colour, label=label)
            lower.plot(steps, [100 * line[5] for line in looks], ":", color=colour,
                       label=label and f"{style}letters")  # fmt: skip
    upper.set(ylabel="loss a letter", ylim=(0, 5))
    lower.set(ylabel="wrong, in %", xlabel="steps", ylim=(0, 109))
    lower.legend(loc="upper center", bbox_to_anchor=(0.45, -0.25), ncols=2, frameon=False)
    return figure


# %% Draw three seeds tags=["slide", "fold"]
with_alt(curves({"as it is": ""}, 500), "Above, the loss falls within 25 steps to about 3, stays, "
         "and falls again after more than 200 steps. Below, letters and words are all wrong until "
         "then.")  # fmt: skip

# %% [markdown]
# *Each line is one seed. Above: the loss on people who were not heard. Below: words and letters
# that are wrong.*
#
# The loss falls at once, and then nothing seems to happen. For many steps the recognizer leaves
# every utterance empty, whatever is said: each word counts as left out, so that exactly 100% are
# wrong. Then, without any change, it begins to write, letters first; the word error rate is the
# last to move, since one wrong letter makes a wrong word.

# %% [markdown]
# ## Why: this is what a model says that hears nothing
#
# Suppose that a recognizer heard nothing. Then it could only say one row of 28 shares, the same in
# every frame of every utterance. Which shares are the best, by the same loss? That is a small
# optimization, and it is done here.


# %% Its best shares tags=["fold"]
import random

sampled = random.Random(0).sample(range(len(train)), pick(ci=20, laptop=100, gpu=100))
some = ctc.make_batch(ctc.TRAIN, sampled)
targets = ctc.target_probabilities(some)
best, constant_loss = ctc.fit_constant(some, ctc.make_batch(ctc.TEST),
                                       pick(ci=15, laptop=80, gpu=80))  # fmt: skip
most = best.argsort(descending=True)[:5].tolist()
names = {0: "blank", 1: "space"}
table([[names.get(k, ctc.LETTERS[k]), f"{100 / len(ctc.LETTERS):.1f}", f"{100 * targets[k]:.1f}",
        f"{100 * best[k]:.1f}"] for k in most],
      ["symbol", "all alike", "what the paths then ask for", "best for one that hears nothing"],
      caption="in % of all frames; the five largest")  # fmt: skip

# %% Its loss, and the recogniser's tags=["fold"]
from statistics import mean

flat = [mean(line[1] for line in run["looks"] if 50 <= line[0] <= 150 or profile() == "ci")
        for run in runs["as it is"]]  # fmt: skip
table([["hears nothing, best shares", f"{constant_loss:.2f}"],
       ["ours, steps 50 to 150", rows.mean_and_range(flat, 2)],
       ["ours, before its first step",
        f"{mean(ctc.metric_at(runs['as it is'], 0, 'loss')):.1f}"]],
      ["recogniser", "loss a letter"],
      caption="ours: mean of the seeds (lowest to highest)")  # fmt: skip

# %% [markdown]
# - **The first step.** As long as all symbols are alike, most paths of a text that is short for its
#   frames go through blanks again and again: the paths ask for the blank ten times as often as it
#   is said. Each letter is asked for by some texts and not by others. So before it hears anything,
#   the model learns to say the blank. That step takes the largest part of the loss away.
# - **The waiting.** For one that hears nothing the best share of the blank is about three quarters.
#   The recognizer stands nearly there: it knows how often each symbol comes, and a little more.
# - **The writing.** To be written, a letter has to beat the blank. The likeliest letter has a few
#   per cent, so the recognizer must be sure by a factor of ten or more that this very frame sounds
#   like it. All that it learns before that moves the loss, and writes nothing.
#
# ## What ends it?

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Every frame says the blank. Suppose the score of the blank begins 3 lower than all others, so "
    "that it is twenty times less likely than any letter. How many utterances does the recogniser "
    "leave empty after 200 steps, and what of the words?",
    ["few, and every third word is recognised: the blank was all that stood in the way",
     "few, and hardly a word is recognised", "most: the blank came back by itself"],
    answer=1,
    explain="The blank does come back: after 100 steps nine frames of ten say it. But now and then "
    "a letter beats it, an E or an O. So the utterances are no longer empty, and what is written "
    "says little of what was spoken: hearing has still to be learned.",
    key="06c_speech/blank-held-down",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict


# %% Six trainings: how much do they write? tags=["surprise", "fold"]
def percent_at(setting, step, metric):
    """A metric at this step in %, one number a seed."""
    values = ctc.metric_at(runs[setting], step, metric)
    return ", ".join(f"{100 * value:.0f}" for value in values)


ran = [setting for setting in SETTINGS if runs[setting]]
LONGER = "“as it is” and “normalised inside” had 500 steps, the others 250"
table([[setting, percent_at(setting, 200, "empty"), percent_at(setting, 200, "words"),
        percent_at(setting, 100, "blank")] for setting in ran],
      ["training", "utterances left empty, 200 steps", "words wrong, 200 steps",
       "frames that say blank, 100 steps"],
      caption=f"in %, one number a seed, in the same order; {LONGER}")  # fmt: skip

# %% How much of it is right? tags=["surprise", "fold"]
table([[setting, percent_at(setting, 250, "letters"), ", ".join(
        "not yet" if step is None else str(step) for step in ctc.steps_until(runs[setting]))]
       for setting in ran],
      ["training", "letters wrong, 250 steps, %", "steps until under 90 % are wrong"],
      caption="one number a seed, in the same order; not yet: not in its 250 steps")  # fmt: skip

# %% What the seeds carry tags=["fold"]
def is_lower(setting, step, metric):
    """Whether a metric is lower than that of the training as it is, seed by seed."""
    both = (ctc.metric_at(runs[name], step, metric) for name in (setting, "as it is"))
    return all(a < b for a, b in zip(*both, strict=True))


if found.saved:
    starts = {setting: ctc.steps_until(runs[setting]) for setting in ran}
    later = zip(starts["blank held down at first"], starts["as it is"], strict=True)
    assert all(a < b for a, b in later)
    assert starts["normalised inside"] == [100, 100, 100]
    for other in ("blank held down at first", "2.5 times the rate", "normalised inside"):
        assert is_lower(other, 200, "empty")
    assert is_lower("blank held down at first", 250, "letters")
    for metric in ("words", "letters"):
        worst = max(ctc.metric_at(runs["normalised inside"], 250, metric))
        assert worst < min(ctc.metric_at(runs["as it is"], 250, metric)) - 0.3
    print("this holds in every seed")

# %% The first and the last setting tags=["fold"]
with_alt(curves({"as it is": "as it is: ", "normalised inside": "normalised: "}, 500),
         "The curves of before, and those of the normalised recogniser, whose loss and error "
         "rates fall from about 50 to 100 steps on.")  # fmt: skip


# %% How much do the frames differ, before any training? tags=["fold"]
def deviation(norm, seed):
    """How far the score of a symbol strays from frame to frame, in a recogniser that is new."""
    torch.manual_seed(seed)
    return ctc.score_deviation(Recognizer(norm=norm))


lines = [[setting, rows.mean_and_range([deviation(norm, seed) for seed in (1, 2, 3)], 3)]
         for setting, norm in (("as it is", False), ("normalised inside", True))]  # fmt: skip
table(lines, ["recogniser", "deviation of a symbol's score from frame to frame"],
      caption="before the first step: mean of three seeds (lowest to highest)")  # fmt: skip

# %% [markdown]
# - **The blank held down.** After 200 steps 0, 2 and 6 of a hundred utterances are left empty,
#   where it was 100, 91 and 85 before. So the blank does stand in the way of writing. But 98 of a
#   hundred words are wrong in each seed, and after 250 steps 90, 88 and 73 of a hundred letters,
#   where it was 100, 95 and 85: better in each seed, and by little.
# - **Normalized inside.** After each convolution every number gets mean 0 and deviation 1 over the
#   batch (batch normalization). It leaves 4, 0 and 0 of a hundred utterances empty, and after 250
#   steps 31, 30 and 28 of a hundred letters are wrong. New, its scores differ about five times as
#   much from frame to frame: what it hears gets through. That this is the cause we have not shown;
#   normalizing does more than that.
# - **8 frames in one**, half as many as before, came below 90% of the letters about as early as
#   the held-down blank, and left 30 of the 434 texts without a path at all
#   ([below](#common-mistake-fewer-frames-than-the-text-needs)).
# - **A higher rate** left fewer utterances empty in each seed, and its letters were not better in
#   each. **Short utterances first** wrote more in one seed of three.
# - **Patience** ends it, too, in each seed: nothing was broken.

# %% [markdown]
# ## Who says which frame belongs to which letter?
#
# For this we take the recognizer that learned fastest. It has *batch normalization* after each
# convolution: every number gets mean 0 and deviation 1 over the batch. It is called "normalised"
# here.

# %% tags=["fold"]
predict(
    "The normalised recogniser, after 500 steps, gets three letters of four right. AN4's short "
    "utterances have 32 letters and spaces for every hundred of its frames. In what share of all "
    "frames is the blank the likeliest symbol now?",
    ["about 25 %: in the pauses; letters fill the rest, as their sounds do",
     "about 50 %",
     "about 70 %: each letter, and each space, has a single frame"],
    answer=1,
    explain="A letter is paid for as soon as one frame says it, and all others may say the blank. "
    "Letters are short, then, but the spaces are held longer than that.",
    key="06c_speech/share-of-blanks",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% One utterance while the model learns tags=["surprise", "fold"]
normalised, symbols = runs["normalised inside"], ctc.example_symbols()
run = next((r for r in normalised if r.get("says")), None)
last = max(r["steps"] for r in normalised)
shown = [CHECK_EVERY * k for k in (0, 1, 3, 8)] + [last]
shown = [step for step in shown if run and str(step) in run["says"]]
figure = Figure(figsize=(4.6, 1.2 * max(1, len(shown)) + 0.5), layout="constrained")
panes = figure.subplots(max(1, len(shown)), 1, sharex=True, squeeze=False)[:, 0]
for axes, step in zip(panes, shown, strict=False):
    says = torch.tensor(run["says"][str(step)]) / 1000
    axes.fill_between(range(len(says)), says[:, 0], color="#8a8a8a", alpha=0.35, linewidth=0)
    for k, symbol in enumerate(symbols[1:], 1):
        blue = ctc.LETTERS[symbol] != " "
        axes.plot(says[:, k], "-" if blue else ":", color="#0072B2" if blue else "#D55E00")
        for t in range(len(says) * blue):
            near = says[max(0, t - 2) : t + 3, k]
            if says[t, k] > 0.35 and says[t, k] == near.max():
                lifted = 1.03 + 0.32 * (t // 2 % 2)  # neighbours stand one above the other
                axes.text(t, lifted, ctc.LETTERS[symbol], ha="center")
    axes.set(ylim=(0, 1.7), yticks=[0, 1], xlim=(0, len(says) - 1), ylabel=f"{step} steps")
axes.set_xlabel("frame, 0.04 s each")
with_alt(figure, "The shares of blank and letters in each frame of one utterance, after more and "
         "more steps: first all alike, then mostly blank, then a spike a letter.")  # fmt: skip

# %% How many frames say the blank tags=["fold"]
def spread_at(step, metric):
    """A metric of the normalised recogniser at a step, in %."""
    return rows.mean_and_range(ctc.metric_at(normalised, step, metric), digits=0, scale=100)


letters = sum(map(len, test.words))
frames = sum((len(row) + 3) // 4 for row in test.features)
table([["letters and spaces a hundred frames", f"{100 * letters / frames:.0f}"],
       *[[f"frames that say blank, {step} steps, %", spread_at(step, "blank")]
         for step in (25, last)],
       [f"letters wrong, {last} steps, %", spread_at(last, "letters")]],
      ["people not heard in training", "mean (lowest to highest seed)"])  # fmt: skip

# %% How wide the spikes are tags=["fold"]
path = [symbols[k] for k in torch.tensor(run["says"][str(last)]).argmax(1).tolist()]
spikes = [(k, len([*same])) for k, same in itertools.groupby(path) if k]
print(f"said: “{example}”, written: “{run['looks'][-1][-1]}”")
print("likeliest of its symbols in the picture:")
for what, wanted in (("letters", lambda k: k > 1), ("spaces", lambda k: k == 1)):
    long = [n for k, n in spikes if wanted(k)]
    print(f"{len(long)} {what}, frames each:", *long)

# %% [markdown]
# *Grey is the share of the blank, blue lines are the letters of what was said, the dotted line is
# the space. One utterance of a person who was not heard in training, one seed. "X G I C TWO" was
# said, and the recogniser writes "XT O I STI TWO": it misses the G and the C.*
#
# At first all symbols are alike. After 25 steps the blank is on top, and lower where somebody
# speaks: the model hears that something is said, and not yet what. In the end letters are
# **spikes**, one to three frames wide; spaces are held longer, and half of all frames say the
# blank. The loss asks for no more, since a path is right as soon as each letter has a frame. Where
# within its sound a letter is said is the model's own choice. Graves et al. (2006) show such spikes
# in their figure 1.

# %% [markdown]
# ## From frames to a text
#
# **Greedy**: take the likeliest symbol of each frame and read the path. **Prefix beam search**
# (Hannun et al. 2014; Graves et al.'s own prefix search is a best-first search) keeps the best
# beginnings of texts, and adds up all paths of each, as the lattice does: so it finds the "cat" of
# the lattice above, where greedy writes nothing. For each beginning it keeps two sums, of paths
# that end in a blank and of those that end in the last letter, because only after a blank may the
# same letter come once more. A **language model** of words can add its logarithm whenever a word
# ends, with a weight $a$ and a reward $b$ for each of the $n$ words:
#
# $$\text{score} = \log p_\text{ctc} + a \log p_\text{lm} + b\,n$$

# %% Three ways to write tags=["fold"]
seconds = sum(map(len, test.features)) / 100
lines = []
for way in ("greedy", "beam", "beam with words"):  # decoded one step after the last look
    words, letters, took = (rows.values(normalised, "decoded", way, k) for k in range(3))
    lines.append([way, rows.mean_and_range(words, scale=100),
                  rows.mean_and_range(letters, scale=100),
                  f"{100 * mean(took) / seconds:.2f}"])  # fmt: skip
table(lines, ["decoding", "words wrong, %", "letters wrong, %", "time, in % of the sound's"],
      caption=f"one step after the last look ({last} steps), means of the seeds (lowest to "
      "highest)")  # fmt: skip

# %% The cat of the lattice tags=["nbval-check-output", "fold"]
from deepdive.decoding.ctc import greedy, prefix_beam

shares = torch.tensor([*CAT.values()]).double().T / 5
print("greedy, symbols:", greedy(shares[None], torch.tensor([5]))[0])
for hypothesis in prefix_beam(shares.log(), beams=100, least=0.0)[:3]:
    text = "".join("-cat"[k] for k in hypothesis.symbols)
    print(f"beam: “{text}”, {3125 * torch.tensor(hypothesis.log_prob).exp():.0f} of 3,125")

# %% [markdown]
# The words help in every seed: of a hundred words at least 54.1 are wrong without them, and at most
# 42.5 with them. Adding up paths, without the words, changes little here. The weights $a$ and $b$
# were set beforehand, not tuned, and the words were counted from the texts of the training alone.
#
# ### Common mistake: fewer frames than the text needs
#
# A text needs a frame for each letter, and one more wherever two equal letters follow each other.
# Halve the frames once too often, and some utterances have no path at all. **Symptom:** torch's
# loss is infinite for these, and one of them makes the weights NaN; `zero_infinity=True` hides
# them, and with them that they are not learned. **Fix:** count (`frames_needed`); halve the frames
# less often, or leave these utterances out and say how many. The library's loss refuses:

# %% Which texts have frames enough tags=["fold"]
batch = ctc.make_batch(ctc.TRAIN)
needed = frames_needed(batch.symbols, batch.symbol_lengths)
counts = [[2**h, int((needed > -(-batch.lengths // 2**h)).sum())] for h in range(5)]
table(counts, ["frames in one", "texts without a path"], caption=f"of {len(train)} utterances")

# %% The library refuses tags=["nbval-check-output"]
import textwrap

too_short = torch.zeros(1, 3, 4), torch.tensor([3]), torch.tensor([[1, 2, 2]]), torch.tensor([3])
try:
    ctc_loss(*too_short)  # t o o, in three frames
except ValueError as refused:
    print(*textwrap.wrap(str(refused), 40), sep="\n")

# %% [markdown]
# ## In practice
#
# - Watch the loss, or the letter error rate, and not the word error rate: as long as the loss is at
#   the value of one that hears nothing, nothing is broken and nothing is learned yet. If it never
#   leaves it, look first at what the encoder is given and how its numbers are scaled. Holding the
#   blank down makes it write sooner, and what it writes hardly better.
# - If all losses are infinite or NaN, look at the lengths: of the frames after subsampling, and of
#   the texts without padding.
# - torch's `ctc_loss` takes *log*-probabilities, and frames first: (T, B, V).
# - The model's times are those of its spikes. They need not be where a sound begins; for cutting a
#   recording, `align` gives the most probable path of a known text.
# - CTC says each frame's symbol without regard to the others' symbols. What letters go together is
#   known to the encoder, as far as it hears it, and to the language model.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. What is the blank for?
#
#    <details><summary>Answer</summary>
#
#    For frames that say no letter, and to part two equal letters.
#
#    </details>
# 2. Why must the probabilities of paths be added, and not only the best one taken?
#
#    <details><summary>Answer</summary>
#
#    A text is right by whichever path; all its paths exclude each other, so they add up.
#
#    </details>
# 3. What is the derivative of the loss with respect to a score of a frame?
#
#    <details><summary>Answer</summary>
#
#    What the frame says, less what the text's paths say there.
#
#    </details>
# 4. Why is the blank the first thing that a model learns?
#
#    <details><summary>Answer</summary>
#
#    Every text asks for it in many frames, each letter only some texts in few: it can be said
#    without hearing.
#
#    </details>
# 5. Why can the loss fall while the word error rate stays at 100 %?
#
#    <details><summary>Answer</summary>
#
#    A letter is written only where it beats the blank; below that its share rises unseen.
#
#    </details>
#
# ## Exercises
#
# 1. *(pencil, 3 min)* How many frames does "too" need at least, and how many paths does it have
#    then? And "bookkeeper"?
#
#    <details><summary>Answer</summary>
#
#    Four, and one path: t o - o. "bookkeeper" has ten letters and three pairs: 13 frames, one path.
#
#    </details>
# 2. *(pencil, 5 min)* In the sum by hand, give frame 2 the parts - 0, a 2, t 2. Which number has
#    "at" now?
#
#    <details><summary>Answer</summary>
#
#    Columns: (1, 3, 0, 0, 0); (0, 8, 0, 6, 0); (0, 0, 8, 42, 6): 48 of 64.
#
#    </details>
# 3. *(predict, then count, 5 min)* All symbols alike, five frames, the text "cat": how many paths?
#    In how many of the 140 places of these paths does a blank stand?
#
#    <details><summary>Answer</summary>
#
#    28 paths, and 32 blanks in 140 places, fewer than of any letter (36). In a text that is short
#    for its frames it is the other way round.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to the exercises, checked.
print([int(frames_needed(torch.tensor([word]), torch.tensor([len(word)])))
       for word in ([1, 2, 2], [1, 2, 2, 3, 3, 4, 4, 5, 4, 6])])  # fmt: skip
print(sums("too", {s: row[:4] for s, row in {z: [1] * 5 for z in "-to"}.items()}).word)
print(sums("at", {"-": [1, 0, 1], "a": [3, 2, 0], "t": [0, 2, 3]}).word)
alike = sums("cat", {z: [1] * 5 for z in "-cat"})
print(alike.word, [sum(map(sum, alike.through[k::2])) for k in (0, 1)])

# %% [markdown]
# ## Summary
#
# CTC teaches a text to the frames of a recording by the sum of all paths that say it, which a
# lattice adds up column by column; its derivative is what a frame says, less what those paths say.
# A recognizer that hears nothing yet says the blank everywhere, since that costs least: after 200
# steps ours left 85 to 100 of a hundred utterances empty; a blank held down ended that, with nearly
# all words wrong; and with the numbers inside it normalized, 28 to 31 of a hundred letters were
# wrong after 250 steps. Back to "cat": nobody says which frame belongs to which letter; the sum
# leaves it open, and the trained model says each letter in a few frames of its own choice, and the
# blank in half of all frames.
#
# ## Further reading
#
# - Graves, Fernández, Gomez, Schmidhuber (2006), *Connectionist Temporal Classification*: sections
#   3 and 4 for paths, lattice and derivative; figure 1 has spikes like ours.
# - Hannun (2017), *Sequence Modeling with CTC*, Distill: the same idea drawn, with the search.
# - Hannun, Maas, Jurafsky, Ng (2014), *First-Pass Large Vocabulary Continuous Speech Recognition
#   using Bi-Directional Recurrent DNNs*: the prefix search with a language model.
# - Zeyer, Schlüter, Ney (2021), *Why does CTC result in peaky behavior?*: they prove for a small
#   example that training from equal shares ends in spikes, with all texts wrong.
