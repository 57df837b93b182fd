# %% [markdown] tags=["slide"]
# # Recurrent networks (RNNs): why gradients vanish and explode
#
# A network reads one row after another. How can its third answer depend on the first row? And how
# does an error at the end find its way back to the start?
#
# <small>Prerequisites: [the chain rule](../00_start/02_maths.ipynb),
# [back-propagation](02_backprop.ipynb) · core page · 8 min · runs on a laptop · book 1.1, 2.2.4,
# KAIST deck 1</small>

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
# %% tags=["slide", "fold"]
from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.diagrams.layers import box
from deepdive_book.kit.plotting import show

drawing = []
for t in range(3):
    x = 90 + 190 * t
    drawing += [box(x, 70, f"h{t + 1}", "key", 90), text(x, 152, f"x{t + 1}", 16, "value")]
    drawing += [arrow(x, 138, x, 90), text(x + 16, 116, "W", 14)]
    if t < 2:
        drawing += [arrow(x + 47, 62, x + 143, 62), text(x + 95, 46, "U", 14)]
        drawing += [arrow(x + 143, 82, x + 47, 82, "query", 2)]
drawing += [text(375, 102, "the error goes back", 13, "query"), arrow(470, 50, 470, 22)]
shown = "Three states in a row. Each reads its input from below through W, and the state before it "
show(svg(560, 170, drawing), shown + "through U. Orange arrows lead back.")

# %% [markdown]
# *One layer, drawn three times: the same W and the same U at each step. To the right goes what was
# read, to the left the error.*
#
# The layer reads its input **and its own last answer**. That answer is called the **state**. All it
# knows of the past is in there.

# %% [markdown] tags=["slide"]
# ## Three steps, by hand
#
# One number for a state, $W = 1$, $U = 0.5$, no bias. The network reads $1, 0, 0$.
#
# - $h_1 = \tanh(1) = 0.762$
# - $h_2 = \tanh(0.5 \cdot 0.762) = \tanh(0.381) = 0.363$
# - $h_3 = \tanh(0.5 \cdot 0.363) = \tanh(0.182) = 0.180$
#
# The 1 is still there at the third step, faintly. Now backwards. The slope of $\tanh$ is
# $1 - h^2$, so one step back multiplies by $U (1 - h_t^2)$:
#
# - from $h_3$ to $h_2$: $0.5 \cdot (1 - 0.180^2) = 0.484$
# - from $h_2$ to $h_1$: $0.5 \cdot (1 - 0.363^2) = 0.434$
# - from $h_3$ to $h_1$: $0.484 \cdot 0.434 = 0.210$
#
# $$h_t = \tanh(W x_t + U h_{t-1} + b) \qquad
# \frac{\partial h_T}{\partial h_1} = J_T\, J_{T-1} \cdots J_2, \quad
# J_t = \mathrm{diag}(1 - h_t^2)\, U$$
#
# The latest factor is on the left; matrices don't commute. There are $T - 1$ of them. With many
# numbers in a state, each factor is a matrix, the **Jacobian** of one step: how each number of
# $h_t$ moves with each of $h_{t-1}$.


# %%
import torch

from deepdive.recurrent import RNN


def elman(x, W, U, b):
    """States (T, d) after each row of x (T, d_input)."""
    h, states = torch.zeros(len(U)), []
    for x_t in x:
        h = torch.tanh(W @ x_t + U @ h + b)
        states.append(h)
    return torch.stack(states)


layer, x = RNN(3, 4), torch.randn(6, 3)
ours = elman(x, layer.W.weight, layer.U.weight, layer.W.bias + layer.U.bias)
assert (ours - layer(x[None])[0]).abs().max() < 1e-6
three = elman(torch.tensor([[1.0], [0], [0]]), torch.eye(1), torch.tensor([[0.5]]), torch.zeros(1))
assert torch.allclose(three[:, 0], torch.tensor([0.762, 0.363, 0.180]), atol=6e-4)
three[:, 0]

# %% [markdown]
# ## The gradient is that product
#
# So says the chain rule; a measurement says it too. Ask autograd for the gradient at each state,
# and multiply the Jacobians by hand. Both in double precision.

# %%
from deepdive.core.hooks import record

layer, x = RNN(3, 16).double(), torch.randn(1, 12, 3, dtype=torch.float64)
with record(layer, "states") as seen:
    states = layer(x)
steps = seen["states"]  # h_1 ... h_12, (1, 16) each
error = torch.randn(16, dtype=torch.float64)
measured = torch.autograd.grad((states[0, -1] * error).sum(), steps)

product = error
for t in range(10, -1, -1):  # one step back: the next state's slopes, then U
    product = (product * (1 - steps[t + 1][0] ** 2)) @ layer.U.weight
    assert torch.allclose(product, measured[t][0], rtol=0, atol=1e-12)
print("eleven steps back, autograd = product of Jacobians to 1e-12")

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "U keeps 90% of a state's length at each step. How much of an error arrives 100 steps earlier?",
    ["about 90%", "about 1%", "less than one part in 30,000"],
    answer=2,
    explain="0.9 to the power 100 is 0.000027, and the slopes of tanh take more. A factor below 1 "
    "at each step is nothing after a hundred.",
    key="01_before/vanishing",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
def reach(gain, lengths=range(1, 101), d=32):
    """Size of the product of so many Jacobians; U stretches every direction by `gain`."""
    layer = RNN(8, d).double()
    layer.U.weight.data.mul_(gain)  # the library draws U orthogonal: it turns, and keeps lengths
    with record(layer, "states") as seen, torch.no_grad():
        layer(0.1 * torch.randn(1, lengths[-1], 8, dtype=torch.float64))
    product, sizes = torch.eye(d, dtype=torch.float64), []
    for h in seen["states"]:
        product = (1 - h[0] ** 2)[:, None] * layer.U.weight.detach() @ product
        sizes.append(torch.linalg.matrix_norm(product, 2).item())
    return sizes


gains = (0.5, 0.9, 1.0, 1.2, 1.5)
lines = {gain: reach(gain) for gain in gains}
assert lines[0.5][-1] < 1e-25 < lines[0.9][-1] < 1e-4 < 10 < lines[1.5][-1]
for gain in gains:
    ten, hundred = lines[gain][9], lines[gain][-1]
    print(f"U stretches by {gain:<4}: after 10 steps {ten:.0e}, after 100 {hundred:.0e}")

# %% How much of an error arrives tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(6.4, 3.2))
axes = figure.add_subplot()
for gain, style in zip(gains, (":", "--", "-", "-.", (0, (1, 3))), strict=True):
    axes.plot(range(1, 101), lines[gain], linestyle=style, label=f"U × {gain}", linewidth=2)
axes.set(yscale="log", ylim=(1e-12, 1e6), xlabel="steps back", ylabel="largest factor")
axes.legend(ncols=2)
with_alt(
    figure,
    "Size of the product of Jacobians against steps back, logarithmic: straight down for U times "
    "0.5 and 0.9, slowly down for 1.0, up for 1.5.",
)

# %% [markdown]
# *A straight line down is a gradient that **vanishes**: what happened so many steps ago teaches
# nothing. A line up **explodes**. For U × 1.2 and U × 1.5 the line rises and then bends: larger
# states make the slopes of tanh smaller. U × 1.0 falls slowly, because all these slopes are below
# 1.*
#
# So it is not only the exact U that keeps lengths: a range of gains stays within a few powers of
# ten over 100 steps. Pascanu et al. (2013) prove less than "vanish or explode": without inputs and
# with slopes up to 1, a largest singular value of U below 1 is sufficient for vanishing, and one
# above 1 is only necessary for exploding.
#
# A vanished gradient cannot be told from "the past does not matter". So the network learns near
# effects only. The fix is another cell: the [LSTM](08_lstm.ipynb).

# %% [markdown]
# ## A cliff, and a rope
#
# An exploding gradient has a picture (Pascanu et al. 2013). One state,
# $h_t = \tanh(2 h_{t-1} + b)$, eight steps from 0.3; it should end at 0.5. The loss over $b$ has a
# wall: a little to one side the state runs to $+1$, to the other side to $-1$.


# %%
def loss(b):
    h = torch.full_like(b, 0.3)
    for _ in range(8):
        h = torch.tanh(2 * h + b)
    return (h - 0.5).square()


def descend(clip, steps=30, lr=0.5):
    path, b = [], torch.tensor(0.0, dtype=torch.float64)
    for _ in range(steps):
        b = b.detach().requires_grad_()
        gradient = torch.autograd.grad(loss(b), b)[0]
        path.append((b.item(), loss(b).item(), gradient.item()))
        b = b - lr * gradient * min(1, clip / (gradient.abs().item() + 1e-12))
    return path


free, roped = descend(clip=float("inf")), descend(clip=0.1)
assert abs(free[-1][0]) > 10
assert abs(free[-1][2]) < 1e-9
assert abs(roped[-1][0]) < 0.5
steepest = max(free, key=lambda step: abs(step[2]))
print(f"the wall: at b = {steepest[0]:.3f} the gradient is {steepest[2]:.0f}")
print(f"without clipping b ends at {free[-1][0]:.0f}, with it at {roped[-1][0]:.2f}")

# %% tags=["fold"]
figure = Figure(figsize=(7.6, 3.0))
left, right = figure.subplots(1, 2)
grid = torch.linspace(-0.6, 0.2, 801, dtype=torch.float64)
left.plot(grid, loss(grid), color="grey")
left.plot([b for b, *_ in roped], [at for _, at, _ in roped], "s", markersize=4, color="C0")
before = [step for step in free if abs(step[0]) < 1]
left.plot([b for b, *_ in before], [at for _, at, _ in before], "o", markersize=4, color="C1")
left.set(xlabel="b", ylabel="loss", title="the loss, and the steps on it")
right.plot([b for b, *_ in free], "o-", markersize=3, color="C1", label="no clipping")
right.plot([b for b, *_ in roped], "s-", markersize=3, color="C0", label="clipped at 0.1")
right.set(xlabel="step", ylabel="b", yscale="symlog", title="where b goes")
right.legend()
with_alt(
    figure,
    "Left: a loss with a vertical wall; steps come up to it. Right: b by step. Without clipping it "
    "jumps beyond 100 and stays; clipped, it stays near the wall.",
)

# %% [markdown]
# *Left: both come down the slope from 0 to the wall. Right: one step on the wall throws the free
# one out to where tanh is flat. There the gradient is 0, and training is over.*
#
# The clipped one bounces at the wall: clipping keeps a run alive. It does not find the answer,
# which lies *on* the wall, and it does nothing for a gradient that vanished.

# %% [markdown]
# ### Clipping each number, or the norm
#
# To limit each entry to $\pm 1$ looks like the same thing. It changes the direction:

# %%
g = torch.tensor([30.0, 0.5])
wrong = g.clamp(-1, 1)
mended = g * min(1, 1 / g.norm().item())
turned = torch.rad2deg(torch.acos(torch.cosine_similarity(g, wrong, dim=0))).item()
assert turned > 20
assert torch.cosine_similarity(g, mended, dim=0) > 0.99999
print(f"each alone: {wrong.tolist()}, turned by {turned:.0f} degrees")
print(f"as a whole: {[round(v, 3) for v in mended.tolist()]}, the same direction")

# %% [markdown]
# Norm clipping (Pascanu et al. 2013) keeps the direction: one factor for the whole gradient,
# `torch.nn.utils.clip_grad_norm_`, between `backward()` and `step()`. Element-wise clipping
# (Mikolov 2012) doesn't, but that isn't known to be worse: Goodfellow et al., *Deep Learning*,
# section 10.11.1, report that both work similarly. This page measures the angle and no loss. With
# Adam the argument about direction is weaker still, because Adam rescales each coordinate anyway.

# %% [markdown]
# ## In practice
#
# - **Draw U orthogonal.** It turns a state and keeps its length, so fresh gradients reach far.
# - **Clip** recurrent networks, at a norm of 1 or 5. `deepdive.training.fit` clips at 1.
# - **Look at the norms** (`history.norms`): spikes are walls, a line that sinks to 0 has vanished.
# - **Cut long texts** into pieces and hand the state on, without its gradient (`detach`).

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Which weights does the network use at the third step that it did not use at the first?
#
#    <details><summary>Answer</summary>
#
#    None: W, U and b are the same at each step.
#
#    </details>
# 2. In the example by hand the 1 was read at step 1. How is it felt at step 3?
#
#    <details><summary>Answer</summary>
#
#    Through the state only: 0.762, then 0.363, then 0.180.
#
#    </details>
# 3. What does one step back multiply an error by?
#
#    <details><summary>Answer</summary>
#
#    By the slopes $1 - h_t^2$ and by U: the Jacobian of the step.
#
#    </details>
# 4. Why does a gradient vanish although U keeps lengths?
#
#    <details><summary>Answer</summary>
#
#    The slopes of tanh are below 1 wherever the state is not 0, and they multiply too.
#
#    </details>
# 5. What does clipping fix, and what not?
#
#    <details><summary>Answer</summary>
#
#    A step that is too long. Not a gradient that has vanished: it has no direction left to follow.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* The same network, $W = 1$, $U = 0.5$, reads $0, 0, 1$. What is $h_3$, and
#    what is $\partial h_3 / \partial h_1$?
#
#    <details><summary>Answer</summary>
#
#    $h_1 = h_2 = 0$ and $h_3 = \tanh(1) = 0.762$. One step has the slope $1 - 0.762^2 = 0.42$, the
#    other 1: $0.5 \cdot 0.42 \cdot 0.5 \cdot 1 = 0.105$.
#
#    </details>
# 2. *(derive, 4 min)* No tanh: $h_t = U h_{t-1}$, with U symmetric, its eigenvalues 1.1 and 0.5.
#    What does a gradient look like after 50 steps back?
#
#    <details><summary>Answer</summary>
#
#    $1.1^{50} = 117$ along one direction, $0.5^{50} \approx 10^{-15}$ along the other: it explodes
#    and vanishes at once, and points along the first whatever the error was.
#
#    </details>
# 3. *(measure, 5 min)* Give `reach` inputs ten times as large. Which lines still explode?
#
#    <details><summary>Answer</summary>
#
#    None. Large inputs push tanh to where it is flat, and the slopes fall: in our run the line of
#    1.5 ended at 0.03 in place of several thousand, and that of 0.9 at $10^{-18}$.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to 1 and 2, checked.
x = torch.tensor([[0.0], [0], [1]])
last = elman(x, torch.eye(1), torch.tensor([[0.5]]), torch.zeros(1))[-1]
assert abs(last.item() - 0.762) < 1e-3
assert abs(0.25 * (1 - last.item() ** 2) - 0.105) < 1e-3
assert 117 < 1.1**50 < 118
assert round(0.9**100, 6) == 0.000027
assert 0.5**50 < 1e-15 * 1.1
print("answers 1 and 2 hold")

# %% [markdown]
# ## Summary
#
# A recurrent layer reads its own last state beside each new row, with the same weights at every
# step. The gradient through $T$ steps is a product of $T$ Jacobians, so it vanishes or explodes
# unless each keeps lengths. Clipping the whole gradient bounds the step where it explodes; where it
# vanishes, the cell must change.
#
# ## Further reading
#
# - Elman (1990), *Finding Structure in Time*: figure 2 is the network; the section on letters in
#   words shows what its errors know.
# - Bengio, Simard, Frasconi (1994), *Learning Long-Term Dependencies with Gradient Descent is
#   Difficult*: why keeping something and learning it are at odds.
# - Pascanu, Mikolov, Bengio (2013), *On the Difficulty of Training Recurrent Neural Networks*:
#   figure 6 is the wall, algorithm 1 the clipping.
