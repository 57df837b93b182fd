# %% [markdown] tags=["slide"]
# # The LSTM, gate by gate
#
# In Elman's network a matrix and a tanh work on the memory at every step, and after fifty steps
# little is left. What does a memory look like that is left alone until it is needed?
#
# <small>Book 1.1, KAIST deck 1 · before this page: [Elman's network](07_rnn.ipynb) · main line ·
# 10 min to read · a laptop is enough</small>

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
# %% tags=["slide", "fold"]
from deepdive.page.diagrams.recurrent import lstm_step
from deepdive.page.plotting import show

show(
    lstm_step(),
    "The cell runs from left to right. The forget gate multiplies it. The candidate, which ends in "
    "a tanh, is multiplied by the input gate and added. The output gate multiplies the tanh of the "
    "cell; that is the state h, which goes back into all four at the next step.",
)

# %% [markdown]
# *The thick line is the **cell**. No matrix stands on it: it is multiplied by a number between 0
# and 1, and something is added. That is all. Dashed: the state h, which the next step reads beside
# its x.*
#
# A **gate** is a layer that ends in a sigmoid, $\sigma(z) = 1 / (1 + e^{-z})$: a number between 0
# (shut) and 1 (open). Three gates ask three questions of each number in the cell: keep it? add to
# it? show it?
#
# $$i, f, o = \sigma(W x_t + U h_{t-1} + b) \qquad g = \tanh(W x_t + U h_{t-1} + b)$$
# $$c_t = f \cdot c_{t-1} + i \cdot g \qquad h_t = o \cdot \tanh(c_t)$$
#
# with a W, U and b of its own for each of the four.

# %% [markdown] tags=["slide"]
# ## One step, by hand
#
# The cell holds 2. The gates say $f = 0.9$, $i = 0.5$, $o = 0.8$; the candidate is $g = -0.4$.
#
# 1. Keep: $0.9 \cdot 2 = 1.8$.
# 2. Add: $0.5 \cdot (-0.4) = -0.2$, so $c = 1.6$.
# 3. Show: $0.8 \cdot \tanh(1.6) = 0.8 \cdot 0.922 = 0.737$.
#
# One step back along the cell multiplies an error by $f$, here 0.9. With $f = 1$ it is
# multiplied by 1: the **constant error carousel** of Hochreiter and Schmidhuber. Along this path
# there is no matrix and no slope of tanh.


# %%
import torch

from deepdive.recurrent import GRU, LSTM


def lstm(x, W, U, b):
    """States (T, d); W, U and b hold the four blocks i, f, g, o one under another."""
    d = U.shape[1]
    h, c, states = torch.zeros(d), torch.zeros(d), []
    for x_t in x:
        i, f, g, o = (W @ x_t + U @ h + b).split(d)
        i, f, o = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
        c = f * c + i * torch.tanh(g)
        h = o * torch.tanh(c)
        states.append(h)
    return torch.stack(states)


layer, x = LSTM(3, 4), torch.randn(6, 3)
ours = lstm(x, layer.W.weight, layer.U.weight, layer.W.bias + layer.U.bias)
assert (ours - layer(x[None])[0]).abs().max() < 1e-6
assert abs(0.8 * torch.tanh(torch.tensor(0.9 * 2 + 0.5 * -0.4)).item() - 0.737) < 1e-3
print("by hand = library")

# %% tags=["fold"]
from deepdive.page.predictions import predict

predict(
    "A fresh LSTM with all biases 0: on average each gate is half open. How much of an error "
    "arrives 50 steps back along the cell?",
    ["about half", "about 1/50", "less than one part in a million of a millionth"],
    answer=2,
    explain="Half at each step is 0.5 to the power 50, 1e-15. A cell that nobody holds open "
    "forgets. The forget gate's bias decides how much is kept at the start: see four of them.",
    key="01_before/forget-bias",
)

# %% [markdown] tags=["answer"]
# #### What happens: open this once you have predicted

# %% tags=["surprise"]
from deepdive.inspect import record


def carousel(bias, steps=50):
    """How much of an error at the last cell arrives `steps` earlier: the product of f."""
    layer = LSTM(8, 32)
    layer.W.bias.data.view(4, -1)[1] = bias
    with record(layer, "forget_gate") as seen, torch.no_grad():
        layer(0.1 * torch.randn(1, steps, 8))
    return torch.stack(seen["forget_gate"]).prod(0).mean().item()


arrives = {bias: carousel(bias) for bias in (0.0, 1.0, 3.0, 6.0)}
assert arrives[0.0] < 1e-12
assert arrives[6.0] > 0.8
for bias, part in arrives.items():
    f = torch.tensor(bias).sigmoid()
    print(f"forget bias {bias:.0f}: f = {f:.3f}, and after 50 steps {part:.0e} arrives")

# %% [markdown]
# The carousel turns only where $f$ is near 1. A bias of 1, the usual start, leaves far more than a
# bias of 0, and over 50 steps it still leaves next to nothing; over the 12 steps of the task below
# it leaves 2%. Who wants to start with memory for $T$ steps needs a bias of about $\ln T$: then
# $f = T / (T + 1)$, and more than a third arrives from $T$ steps back. For 50 steps that is 3.9.
#
# The bias is only the start; where to open and where to shut is learned. Let us watch that.

# %% [markdown]
# ## A task whose gates can be read
#
# The network reads digits, and sometimes the word `keep` before one. Asked at the end, it
# must name the **last digit that followed a `keep`**, with all else to be ignored. The sequences
# are generated.

# %%
from torch import nn
from torch.nn.functional import cross_entropy, one_hot

from deepdive.page.profile import pick
from deepdive.training import fit
from deepdive.training.optim import adam

KEEP, ASK, WORDS = 5, 6, [*"01234", "keep", "ask"]


def lists(count, seed, length=12):
    draw = torch.Generator().manual_seed(seed)
    tokens = torch.randint(5, (count, length), generator=draw)
    answers = torch.zeros(count, dtype=torch.long)
    for at in (0, 4, 8):  # a keep may stand here; at 0 it always does
        here = torch.rand(count, generator=draw) < (1.0 if at == 0 else 0.5)
        tokens[here, at] = KEEP
        answers = torch.where(here, tokens[:, at + 1], answers)
    tokens[:, -1] = ASK
    return tokens, answers

# %%
class Reader(nn.Module):
    def __init__(self, d_hidden=16):
        super().__init__()
        self.recurrent, self.out = LSTM(7, d_hidden), nn.Linear(d_hidden, 5)

    def forward(self, tokens):
        return self.out(self.recurrent(one_hot(tokens, 7).float())[:, -1])


# %%
model, steps = Reader(), pick(ci=400, laptop=500, gpu=500)
lessons = [lists(64, seed) for seed in range(steps)]
fit(model, lessons, lambda m, given: cross_entropy(m(given[0]), given[1]),
    steps=steps, optimizer=adam(model, lr=1e-2), progress=False)  # fmt: skip
tokens, answers = lists(1000, seed=10**6)
with torch.no_grad():
    accuracy = (model(tokens).argmax(-1) == answers).float().mean().item()
assert accuracy > 0.9
print(f"right in {accuracy:.1%} of 1,000 new lists (a guess: 20%)")

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive.page.film import film

shown = torch.tensor([[KEEP, 2, 4, 0, 3, 1, 4, 3, KEEP, 1, 0, ASK]])
with record(model.recurrent, "*_gate", "cells") as seen, torch.no_grad():
    said = model(shown).argmax(-1).item()
gates = {name: torch.stack(values)[:, 0] for name, values in seen.items()}  # (T, d)
ROWS = ("input_gate", "forget_gate", "output_gate", "cells")
words = [WORDS[token] for token in shown[0]]

# %% tags=["slide", "fold"]
def frame(t):
    figure = Figure(figsize=(4.6, 2.1))
    for axes, name in zip(figure.subplots(4, 1, sharex=True), ROWS, strict=True):
        low, high, colours = (-2, 2, "RdBu_r") if name == "cells" else (0, 1, "Blues")
        axes.imshow(gates[name][t][None], vmin=low, vmax=high, cmap=colours, aspect="auto")
        axes.set_yticks([0], [name.replace("_", " ")])
        axes.set_xticks([])
    figure.suptitle(f"{' '.join(words[:t])}  [{words[t]}]", fontsize="medium")
    return figure


film(
    [frame(t) for t in range(12)],
    [f"reads `{word}`" for word in words],
    "Gates and cells of sixteen units, word by word; cells change most at a digit after keep.",
)

# %% [markdown]
# *One frame a word. Sixteen columns, one for each number of the cell. Blue: open. Red and blue in
# the last row: what the cell holds. Watch it at the digit after a `keep`.*
#
# The same as numbers, over many lists: how much do the cells move at a word?

# %%
tokens, _ = lists(500, seed=10**6 + 1)
with record(model.recurrent, "forget_gate", "cells") as seen, torch.no_grad():
    model(tokens)
cells = torch.stack(seen["cells"], 1)  # (B, T, d)
moved = (cells[:, 1:] - cells[:, :-1]).abs().mean(-1)  # (B, T - 1): at words 1 ... 11
after_keep = tokens[:, :-1] == KEEP
ignored = ~after_keep & (tokens[:, 1:] < 5)
parts = {"after keep": moved[after_keep].mean(), "another digit": moved[ignored].mean()}
assert parts["after keep"] > 1.5 * parts["another digit"]
forget = torch.stack(seen["forget_gate"], 1)[:, 1:].mean(-1)
for what, where in (("after keep", after_keep), ("another digit", ignored)):
    moves, gate = parts[what], forget[where].mean()
    print(f"{what}: the cells move by {moves:.2f}, forget gates stand at {gate:.2f}")

# %% [markdown]
# ### Common mistake: the gate that adds up
#
# The two gates of the cell look as if one were enough: $c_t = c_{t-1} + i \cdot g$, which is the
# LSTM of 1997, before the forget gate. What happens on a long stream?

# %%
from deepdive.inspect import replace

stream = torch.randn(1, 2000, 3)
layer = LSTM(3, 16)
sizes = {}
for name in ("with", "without"):
    with torch.no_grad(), record(layer, "cells") as seen:
        if name == "without":  # wrong: f = 1 always
            with replace(layer, "forget_gate", torch.ones_like):
                layer(stream)
        else:
            layer(stream)
    sizes[name] = seen["cells"][-1].abs().max().item()
assert sizes["without"] > 3 * sizes["with"]
print({f"{name} a forget gate": round(size, 1) for name, size in sizes.items()})

# %% [markdown]
# **Symptom:** the cell grows without end, tanh is flat there, and the output no longer moves.
# **Remedy:** the forget gate (Gers et al. 2000).

# %% [markdown]
# ## The GRU: what differs
#
# | | LSTM | GRU |
# |---|---|---|
# | carried | h and c | h |
# | keep | $f$ | $z$ |
# | add | $i$, chosen apart | $1 - z$, what is left |
# | the candidate sees | $h$ | $r \cdot (U h)$: a gate for the past |
# | show | $o$ | all of it |
# | blocks of weights | 4 | 3 |
#
# $$r, z = \sigma(W x_t + U h_{t-1}) \qquad n = \tanh(W x_t + r \cdot (U h_{t-1})) \qquad
# h_t = (1 - z) \cdot n + z \cdot h_{t-1}$$
#
# Its state is an average of the candidate and of what was there, so it stays between $-1$ and 1: to
# add, it must give up as much of what it holds. The LSTM's cell has no such bound. With $f = 1$ and
# $i = 1$ it keeps all and adds, so it can count; and with $o = 0$ it can hold a number that nobody
# sees. The GRU shows all that it holds.
# (Here the reset gate acts after the product with U, as in torch; Cho et al. write
# $U (r \cdot h)$.)


# %%
def gru(x, W, U, b_W, b_U):
    d = U.shape[1]
    h, states = torch.zeros(d), []
    for x_t in x:
        (x_r, x_z, x_n), (h_r, h_z, h_n) = (W @ x_t + b_W).split(d), (U @ h + b_U).split(d)
        r, z = torch.sigmoid(x_r + h_r), torch.sigmoid(x_z + h_z)
        h = (1 - z) * torch.tanh(x_n + r * h_n) + z * h
        states.append(h)
    return torch.stack(states)


layer, x = GRU(3, 4), torch.randn(6, 3)
ours = gru(x, layer.W.weight, layer.U.weight, layer.W.bias, layer.U.bias)
assert (ours - layer(x[None])[0]).abs().max() < 1e-6
counts = [sum(p.numel() for p in kind(64, 64).parameters()) for kind in (LSTM, GRU)]
print(f"64 wide: the LSTM has {counts[0]:,} weights, the GRU {counts[1]:,}")

# %% [markdown]
# ## In practice
#
# - **Forget bias 1 or more** at the start, $\ln T$ where memory must reach over $T$ steps; torch's
#   own LSTM starts at 0.
# - **Clip** all the same: gates do not stop an explosion through U.
# - **GRU or LSTM?** Neither wins everywhere; the GRU is a quarter smaller. [The
#   race](11_race.ipynb) has both.
# - **Carry both h and c** from piece to piece of a text: a state of only one of them is half gone.

# %% [markdown]
# ## Five questions
#
# Answer each in a sentence, then open.
#
# 1. What stands on the cell's way from step to step, and what does not?
#
#    <details><summary>Answer</summary>
#
#    A product with $f$ and a sum. No matrix, and no tanh.
#
#    </details>
# 2. What is the constant error carousel, in one formula?
#
#    <details><summary>Answer</summary>
#
#    $\partial c_t / \partial c_{t-1} = f$ along the cell, and $f = 1$ hands an error on unchanged.
#
#    </details>
# 3. Why does the forget gate's bias start at 1?
#
#    <details><summary>Answer</summary>
#
#    At 0 the gate is half open, and after 50 steps $10^{-15}$ of a gradient is left: too little to
#    learn that the gate should open. At 1 it is $10^{-7}$: enough for short distances only.
#
#    </details>
# 4. In the task, when must the input gate open?
#
#    <details><summary>Answer</summary>
#
#    At the digit after a `keep`. The state h tells it that the last word was `keep`.
#
#    </details>
# 5. What can an LSTM do with one number of its cell that a GRU cannot do with one of its state?
#
#    <details><summary>Answer</summary>
#
#    Keep all and add at once, so count upwards; or hold it and not show it.
#
#    </details>
#
# ## Exercises
#
# 1. *(pencil, 3 min)* $c = -1$, $f = 0.5$, $i = 1$, $g = 0.5$, $o = 0$. What are the new cell and
#    the new state?
#
#    <details><summary>Answer</summary>
#
#    $c = -0.5 + 0.5 = 0$ and $h = 0$: the output gate is shut, and there is nothing to show.
#
#    </details>
# 2. *(derive, 4 min)* Which gates turn an LSTM into a counter of ones in a stream of 0 and 1?
#
#    <details><summary>Answer</summary>
#
#    $f = 1$ always, $i$ open when the input is 1, $g$ a constant. The cell then grows by $g$ a one.
#
#    </details>
# 3. *(measure, 5 min)* Train the reader with the forget bias at $-2$. How often is it right after
#    the same lessons?
#
#    <details><summary>Answer</summary>
#
#    Run it with `model.recurrent.W.bias.data.view(4, -1)[1] = -2.0` before `fit`, and compare. It
#    starts by forgetting 88% at each step. Measure whether it begins to learn later.
#
#    </details>

# %%
# The answer to 1 and the number in 3, checked.
assert 0.5 * -1 + 1 * 0.5 == 0
assert abs(torch.sigmoid(torch.tensor(-2.0)).item() - 0.12) < 0.005
# A start for T steps: a bias of ln T, and one of 1 over twelve.
assert round(torch.tensor(50.0).log().item(), 1) == 3.9
assert round(torch.tensor(1.0).sigmoid().item() ** 12, 2) == 0.02
assert all((T / (T + 1)) ** T > 1 / 3 for T in range(1, 1000))
print("answer 1 holds")

# %% [markdown]
# ## In three sentences
#
# An LSTM keeps a cell beside its state; gates between 0 and 1 say what of it stays, what is added
# and what is shown. Along the cell an error is multiplied by the forget gate alone, so where that
# is 1 the error arrives whole, however long ago it was. A GRU has no cell of its own: one gate
# shares each number between old and new.
#
# ## Further reading
#
# - Hochreiter and Schmidhuber (1997), *Long Short-Term Memory*: section 3 has the carousel, section
#   5 the tasks of [the race](11_race.ipynb).
# - Gers, Schmidhuber, Cummins (2000), *Learning to Forget*: the forget gate.
# - Cho et al. (2014), *Learning Phrase Representations using RNN Encoder-Decoder*: section 2.3 has
#   the GRU in four equations.
# - Jozefowicz, Zaremba, Sutskever (2015), *An Empirical Exploration of Recurrent Network
#   Architectures*: a search over ten thousand cells, and the forget bias.
