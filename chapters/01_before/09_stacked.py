# %% [markdown]
# # Stacked, bidirectional, and Grid LSTMs
#
# One recurrent layer is deep in time and shallow otherwise. What do more layers add, what does
# reading from the end add, and what if the way up through the layers had a memory too?
#
# <small>Prerequisites: [the LSTM](08_lstm.ipynb) · optional page · 10 min · runs on a laptop · book
# 1.1, KAIST deck 1</small>

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
# %% tags=["fold"]
from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.diagrams.layers import box
from deepdive_book.kit.plotting import show

drawing = []
for left, title, both in ((70, "stacked", 0), (330, "both ways", 1), (590, "grid", 2)):
    drawing.append(text(left + 75, 16, title, 15, bold=True))
    for t in range(2):
        for row in range(2):
            x, y = left + 150 * t, 60 + 80 * row
            drawing.append(box(x, y, "", "key", 60))
            up = ("output", 5) if both == 2 else ("", 1.5)
            drawing.append(arrow(x, y + (58 if row else 62), x, y + 20, *up))
            if t == 0 and not (both == 1 and row == 0):
                drawing.append(arrow(x + 32, y, x + 118, y, "output", 5))
            elif t == 1 and both == 1 and row == 0:
                drawing.append(arrow(x - 32, y, x - 118, y, "output", 5))
    drawing += [text(left + 150 * t, 212, f"x{t + 1}", 15, "value") for t in range(2)]
shown = "Three pairs of layers over two steps. Thick arrows are memories: along time in the first, "
show(
    svg(800, 225, drawing),
    shown + "along time from both ends in the second, upwards too in the grid.",
)

# %% [markdown]
# *Boxes are cells, thick arrows carry a memory with gates, thin ones a plain row. In the middle the
# upper layer reads from the end; the two stand side by side, drawn here one over the other.*

# %% [markdown]
# ## Stacked
#
# Layer 2 reads the states of layer 1 as if they were rows of input (Graves et al. 2013). Time needs
# no more steps: layer 2 at step 1 can run while layer 1 does step 2.
#
# $$h^{(l)}_t = \mathrm{LSTM}^{(l)}\left(h^{(l-1)}_t,\; h^{(l)}_{t-1}\right), \qquad
# h^{(0)}_t = x_t$$

# %% tags=["nbval-check-output"]
import torch

from deepdive.recurrent import LSTM, bidirectional, stacked

both = stacked(LSTM, 3, 4, n_layers=2)
x = torch.randn(1, 5, 3)
by_hand = both.layers[1](both.layers[0](x))
assert (by_hand - both(x)).abs().max() < 1e-6
theirs = torch.nn.LSTM(3, 4, num_layers=2, batch_first=True)
print(f"weights: ours {sum(p.numel() for p in both.parameters())}, torch's the same: "
      f"{sum(p.numel() for p in theirs.parameters())}")  # fmt: skip

# %% [markdown]
# ## Both ways
#
# *The old man the boat.* Only *boat* says that *man* is a verb. A layer that reads from the end
# knows it (Schuster and Paliwal 1997):
#
# $$s_t = [\overrightarrow{h}_t; \overleftarrow{h}_t]$$
#
# A number task to see it: at each place name the **sum of the two neighbors**, left and right.
# From left to right, half of it has not been read yet.

# %%
from torch import nn

from deepdive.training import fit
from deepdive.training.optim import adam
from deepdive_book.kit.profile import pick


def neighbors(seed, count=32, length=10):
    x = torch.rand(count, length, 1, generator=torch.Generator().manual_seed(seed))
    padded = nn.functional.pad(x[..., 0], (1, 1))
    return x, padded[:, :-2] + padded[:, 2:]


def squared(model, given):
    x, y = given
    return (model(x)[..., 0] - y).square().mean()

# %%
lessons, errors = [neighbors(seed) for seed in range(pick(ci=100, laptop=300, gpu=300))], {}
for name, build in (("one way", stacked), ("both ways", bidirectional)):
    width = 16 if name == "both ways" else 24
    core = build(LSTM, 1, width, n_layers=1)
    model = nn.Sequential(core, nn.Linear(core.d_hidden, 1))
    fit(model, lessons, squared, epochs=1, optimizer=adam(model, lr=1e-2), progress=False)
    with torch.no_grad():
        errors[name] = squared(model, neighbors(10**6, count=500)).item()
    print(f"{name:>9}: mean squared error {errors[name]:.4f}")
assert errors["both ways"] < errors["one way"] / 3

# %% [markdown]
# The right neighbor is uniform in 0 to 1, its variance $1/12 = 0.083$. Who cannot see it can do no
# better than guess the mean, and errs by that at nine places of ten: 0.075. One way ends near it,
# and no width could help: what has not been read is not there.
#
# ### Common mistake: a bidirectional layer that predicts the next word

# %%
from deepdive.core.masks import Causal

changed = x.clone()
changed[:, -1] += 1.0
leaky = bidirectional(LSTM, 3, 4)
with torch.no_grad():
    moved = (leaky(changed) - leaky(x))[:, :-1].abs().max().item()
assert moved > 1e-3
print(f"the last row changed, and the states before it moved by {moved:.3f}")
try:
    leaky(x, Causal())
except ValueError as error:
    print(f"ValueError: {error}")

# %% [markdown]
# **Symptom:** a loss near 0 in training, and nonsense when it writes: it had read the answer.
# **Fix:** one direction for what predicts or writes; both where the whole sentence is there, as in
# an encoder. [ELMo](10_elmo.ipynb) keeps the two apart, and trains each on its own.

# %% [markdown]
# ## Grid LSTM
#
# In a stack the cell remembers along time, but from layer to layer the row is pushed through
# $o \cdot \tanh(c)$ each time. Ten layers are ten such squeezes: depth has the trouble that time
# had. Kalchbrenner, Danihelka and Graves (2015) give depth the same fix. A **block** has $N$
# sides, and each side brings a hidden vector $h_n$ and a memory $m_n$:
#
# $$H = [h_1; \dots; h_N] \qquad (h'_n, m'_n) = \mathrm{LSTM}_n(H, m_n) \quad n = 1 \dots N$$
#
# Each side has gates of its own, and all read all hidden vectors. For a sequence $N = 2$: time and
# depth. A side may be computed last and read what the others have just said (its *priority*).
#
# **By pencil.** Two sides, one number each: $h = (1, 2)$, $m = (3, 0)$. The gates of time say
# $f = 1, i = 0, o = 1$: $m'_1 = 3$, $h'_1 = \tanh 3 = 0.995$. Depth comes last and reads
# $H' = (0.995, 2)$. With $f = 0, i = 1, o = 1$ and a candidate of 0.5: $m'_2 = 0.5$,
# $h'_2 = \tanh 0.5 = 0.462$.

# %%
from deepdive.recurrent import GridBlock, GridLSTM, MemorySide


def side(W, b, H, m):
    i, f, g, o = (H @ W.T + b).chunk(4, dim=-1)
    m = torch.sigmoid(f) * m + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(m), m


def block_by_hand(sides, h, m):  # time is side 0, depth side 1 and last
    (W0, b0), (W1, b1) = ((s.W.weight, s.W.bias) for s in sides)
    h_time, m_time = side(W0, b0, torch.cat(h, -1), m[0])
    h_depth, m_depth = side(W1, b1, torch.cat([h_time, h[1]], -1), m[1])
    return [h_time, h_depth], [m_time, m_depth]


block = GridBlock([MemorySide(2, 4), MemorySide(2, 4)], last=1)
h, m = list(torch.randn(2, 3, 4)), list(torch.randn(2, 3, 4))
for ours, library in zip(block_by_hand(block.sides, h, m), block(h, m), strict=True):
    assert all((a - b).abs().max() < 1e-6 for a, b in zip(ours, library, strict=True))
time, depth = torch.tanh(torch.tensor([3.0, 0.5]))
print(f"by hand = library; and the pencil's numbers: {time:.3f}, {depth:.3f}")

# %% [markdown]
# ### Where it is a stacked LSTM
#
# Take the memory off the depth, and let that side hand on $h'_{\mathrm{time}}$ as it is. What
# remains is LSTMs over one another. Weights copied, in double precision:

# %%
from deepdive.recurrent.grid import as_stack, memory_in_time

grid = GridLSTM(3, 4, n_layers=3, make_block=lambda layer: memory_in_time(4)).double()
x = torch.randn(2, 6, 3, dtype=torch.float64)
entering = grid.W(x)[..., :4]  # the hidden vector that enters at the bottom
same = as_stack(grid)
assert (grid(x) - same(entering)).abs().max() < 1e-12
print("no memory along depth: equal to", type(same).__name__, "of", len(same.layers), "LSTMs")

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Both get deeper, 2 to 16 layers, untrained. How much of a gradient at the top arrives at the "
    "bottom row, in the stack and in the grid?",
    ["they fall alike", "it falls in the stack, and less in the grid", "it grows in the grid"],
    answer=1,
    explain="In the stack an error passes a gate and a tanh in each layer. In the grid there is "
    "the depth's memory beside it, whose only factor is its forget gate.",
    key="01_before/grid-depth",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
depths, d = (2, 4, 8, 16), 24


def arriving(build):
    """Size of the gradient at the bottom rows, for one of size 1 at the top, last step."""
    sizes = []
    for n_layers in depths:
        core, x = build(n_layers), torch.randn(4, 4, d, requires_grad=True)
        top = core(x)[:, -1]
        error = torch.randn_like(top)
        (gradient,) = torch.autograd.grad((top * error / error.norm()).sum(), x)
        sizes.append(gradient[:, -1].norm().item())
    return sizes


lines = {"stack": arriving(lambda n: stacked(LSTM, d, d, n)),
         "grid": arriving(lambda n: GridLSTM(d, d, n))}  # fmt: skip
assert lines["stack"][-1] < lines["grid"][-1] / 100
for name, sizes in lines.items():
    print(
        f"{name}: " + ", ".join(f"{n} layers {s:.0e}" for n, s in zip(depths, sizes, strict=True))
    )

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(5.6, 3))
axes = figure.add_subplot()
for (name, sizes), style in zip(lines.items(), ("o--", "D-"), strict=True):
    axes.plot(depths, sizes, style, label=name)
axes.set(yscale="log", xlabel="layers", ylabel="gradient at the bottom", xticks=depths)
axes.legend()
with_alt(figure, "Gradient at the bottom against layers: it falls steeply for the stack, "
         "much less for the grid.")  # fmt: skip

# %% [markdown]
# *The lower line is the stack. The grid's depth is an LSTM too, so its own forget gates decide how
# much comes through.* That is before training; a trained stack opens its gates too. Residuals give
# depth an open way for less ([GNMT](../02_transformer/17_gnmt.ipynb)), and the field took those.
#
# In three dimensions a grid reads pictures, or a sentence against its translation: a block for each
# pair of words. `deepdive.recurrent.walk` runs any shape.

# %%
from deepdive.recurrent import walk

cube = GridBlock([MemorySide(3, 4) for _ in range(3)])
sent = walk(lambda place: cube, (2, 3, 2), torch.randn(3, 2, 1, 4))
print(f"{len(sent)} blocks, one set of weights, {sum(p.numel() for p in cube.parameters())} in all")

# %% [markdown]
# ## In practice
#
# - **Two or three layers** are common; from four on, residuals.
# - **Dropout between layers**, not along time: `stacked(..., dropout=0.2)`.
# - **With padding, the second direction starts at the last real word.** Give the mask.
# - **torch.nn.LSTM** has stacked and bidirectional; `deepdive.recurrent.from_torch` reads it in.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. What does layer 2 of a stack read?
#
#    <details><summary>Answer</summary>
#
#    The states of layer 1, at the same step, and its own state of the step before.
#
#    </details>
# 2. Where is a bidirectional layer of no use?
#
#    <details><summary>Answer</summary>
#
#    Where what follows is not there yet: in predicting the next word.
#
#    </details>
# 3. What does each side of a grid block have for itself, and what do all sides share?
#
#    <details><summary>Answer</summary>
#
#    Its own weights, gates and memory. All read the same hidden vectors.
#
#    </details>
# 4. At which setting is a two-dimensional Grid LSTM a stacked LSTM?
#
#    <details><summary>Answer</summary>
#
#    No memory along depth, depth computed last, and it hands on time's new hidden vector.
#
#    </details>
# 5. What does the memory along depth win?
#
#    <details><summary>Answer</summary>
#
#    A way for the error through many layers, on which only forget gates stand.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* How many weights has a block of three sides of width $d$? And of two?
#
#    <details><summary>Answer</summary>
#
#    A side reads $N d$ numbers and has four blocks: $4 d (N d + 1)$. Times $N$:
#    $3 \cdot 4 d (3 d + 1)$ and $2 \cdot 4 d (2 d + 1)$. For $d = 4$ that is 624 and 288.
#
#    </details>
# 2. *(derive, 3 min)* A one-dimensional grid, one block for all places. Which known network is it?
#
#    <details><summary>Answer</summary>
#
#    An LSTM that reads no input: $H = h$, so only U is left. A law of the library holds it.
#
#    </details>
# 3. *(measure, 5 min)* Tie the depth: one block for all layers. Does the gradient still arrive?
#
#    <details><summary>Answer</summary>
#
#    Write `block = memory_both_ways(d)` (from `deepdive.recurrent.grid`) and
#    `GridLSTM(d, d, n, lambda layer: block)`. The path is the same, so it does; the paper ties it
#    in its best model of characters.
#
#    </details>

# %%
# The answers to 1 and 3, checked.
from deepdive.recurrent.grid import memory_both_ways

assert [n * 4 * 4 * (n * 4 + 1) for n in (3, 2)] == [624, 288]
assert sum(p.numel() for p in cube.parameters()) == 624
assert round(9 / 10 / 12, 3) == 0.075  # what one way cannot get below
assert sum(p.numel() for p in memory_both_ways(4).parameters()) == 288


def tied(n_layers):
    block = memory_both_ways(d)
    return GridLSTM(d, d, n_layers, lambda layer: block)


assert arriving(tied)[-1] > 10 * lines["stack"][-1]
print("answers 1 and 3 hold")

# %% [markdown]
# ## Summary
#
# Layers over one another read each other's states; two layers side by side read from both ends, and
# so cannot predict what follows. A Grid LSTM gives every side of a block, depth included, a memory
# with gates. Without the memory along depth it is a stacked LSTM.
#
# ## Further reading
#
# - Graves, Mohamed, Hinton (2013), *Speech Recognition with Deep Recurrent Neural Networks*: depth
#   and both directions, and that depth mattered more than width.
# - Schuster, Paliwal (1997), *Bidirectional Recurrent Neural Networks*.
# - Kalchbrenner, Danihelka, Graves (2016), *Grid Long Short-Term Memory*: figure 1 is the block.
