# %% [markdown] tags=["slide"]
# # Backpropagation: the chain rule, layer by layer
#
# The answer was too large. A weight two layers before it had a part in that. How large a part, and
# how do a million weights learn theirs at the price of about two more passes?
#
# <small>Prerequisites: [neurons](01_neurons.ipynb), [the chain rule](../00_start/02_maths.ipynb) ·
# 9 min · runs on a laptop · book 1.1 · optional page</small>

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
from deepdive_book.kit.diagrams import ROLES, arrow, svg, text
from deepdive_book.kit.plotting import show

chain = [("x", "2"), ("a", "0"), ("h", "0.5"), ("y", "2"), ("loss", "0.5")]
rules = ["× w = 0.5, + b = -1", "sigmoid", "× v = 4", "(y - 1)² / 2"]
local = ["w = 0.5", "h (1 - h) = 0.25", "v = 4", "y - 1 = 1"]
slopes = ["0.5", "1", "4", "1", "1"]
drawing = []
for i, (name, value) in enumerate(chain):
    x, role = 40 + 172 * i, "output" if name == "loss" else "key"
    color = f'fill="{ROLES[role]}" fill-opacity="0.16" stroke="{ROLES[role]}"'
    drawing.append(f'<circle cx="{x}" cy="96" r="26" {color}/>')
    drawing += [text(x, 97, value, 15, bold=True), text(x, 56, name, 15, role)]
    drawing.append(text(x, 196, slopes[i], 16, "query", bold=True))
    if i < 4:
        drawing += [arrow(x + 30, 96, x + 142, 96), text(x + 86, 76, rules[i], 12)]
        drawing.append(arrow(x + 150, 196, x + 22, 196, "query", 2))
        drawing.append(text(x + 86, 176, "× " + local[i], 12, "query"))
drawing.append(text(384, 16, "forward: compute each number, and keep it", 14, "key"))
drawing.append(text(384, 228, "backward: slope of the loss, one factor at a time", 14, "query"))
show(
    svg(768, 246, drawing),
    "A chain x = 2, a = 0, h = 0.5, y = 2, loss 0.5 from left to right. Below it the slopes of the "
    "loss from right to left: 1, 1, 4, 1, 0.5; each is the one before times a local slope.",
)

# %% [markdown]
# *One hidden unit with weights $w$, $b$, and an output weight $v$; wanted is 1. Above, the numbers.
# Below, how much the loss changes per unit of each.*
#
# ## By hand: blame, one factor at a time
#
# Forward: $a = 0.5 \cdot 2 - 1 = 0$, so $h = \mathrm{sigmoid}(0) = 0.5$ and $y = 4 \cdot 0.5 = 2$.
# The loss is $(2 - 1)^2 / 2 = 0.5$.
#
# Backward, each step asks only its neighbor. The loss changes by $y - 1 = 1$ per unit of $y$; $y$
# by $v = 4$ per unit of $h$; $h$ by $h (1 - h) = 0.25$ per unit of $a$. The product so far, $1
# \cdot 4 \cdot 0.25 = 1$, is the slope at $a$. A weight's slope is *the slope behind it times what
# came in*:
#
# | weight | slope behind it | came in | its slope |
# |---|---|---|---|
# | $v$ | 1 (at $y$) | $h = 0.5$ | 0.5 |
# | $w$ | 1 (at $a$) | $x = 2$ | 2 |
# | $b$ | 1 (at $a$) | 1 | 1 |

# %%
import torch

w, b, v = (torch.tensor(number, requires_grad=True) for number in (0.5, -1.0, 4.0))
loss = (v * torch.sigmoid(w * 2 + b) - 1) ** 2 / 2
loss.backward()
assert torch.allclose(torch.stack([v.grad, w.grad, b.grad]), torch.tensor([0.5, 2.0, 1.0]))
with torch.no_grad():
    less = (v - 0.1 * v.grad) * torch.sigmoid((w - 0.1 * w.grad) * 2 + b - 0.1 * b.grad)
after = (less - 1) ** 2 / 2
print(f"autograd agrees; a small step down each slope: loss {loss:.3f} -> {after:.3f}")

# %% [markdown] tags=["slide"]
# ## The same for whole layers
#
# Rows of units $h_i$, matrices $W_i$, and $f$ the sigmoid (the last layer goes without):
#
# $$a_i = h_i W_i^\top + b_i \qquad h_{i+1} = f(a_i)$$
#
# Write $dz$ for the slope of the loss by $z$. Then from the last layer to the first:
#
# $$da_i = dh_{i+1} \cdot f'(a_i) \qquad dW_i = da_i^\top h_i \qquad db_i = \textstyle\sum da_i
# \qquad dh_i = da_i W_i$$
#
# With $f' = h (1 - h)$ everything on the right was kept on the way forward. Rumelhart, Hinton and
# Williams (1986) made this the way to train hidden layers.


# %%
def forward(x, W, b):
    h = [x]
    for i in range(len(W)):
        a = h[-1] @ W[i].mT + b[i]
        h.append(a.sigmoid() if i < len(W) - 1 else a)
    return h  # every layer's units, the last one's are the answer


def backward(dy, h, W):
    dW, db, dh = [], [], dy
    for i in reversed(range(len(W))):
        da = dh if i == len(W) - 1 else dh * h[i + 1] * (1 - h[i + 1])
        dW.insert(0, da.mT @ h[i])
        db.insert(0, da.sum(-2, keepdim=True))
        dh = da @ W[i]
    return dW, db


# %% [markdown]
# Against the library's net, against autograd, and against a nudge of one weight:

# %%
from deepdive.models.classic.mlp import MLP

net = MLP((5, 7, 6, 3)).double()
W, b = [n.weight for n in net.linear], [n.bias for n in net.linear]
x, wanted = torch.randn(8, 5).double(), torch.randn(8, 3).double()
h = forward(x, W, b)
loss = ((h[-1] - wanted) ** 2).sum() / 2
by_autograd = torch.autograd.grad(loss, W + b)
with torch.no_grad():
    dW, db = backward(h[-1] - wanted, h, W)
    W[0][2, 3] += 1e-6
    nudged = (((forward(x, W, b)[-1] - wanted) ** 2).sum() / 2 - loss) / 1e-6
    W[0][2, 3] -= 1e-6
((net(x) - wanted) ** 2).sum().div(2).backward()  # the library's backward
for ours, auto, layer in zip(dW, by_autograd, net.linear, strict=False):
    assert max((ours - auto).abs().max(), (ours - layer.weight.grad).abs().max()) < 1e-6
for ours, auto in zip(db, by_autograd[3:], strict=True):
    assert (ours[0] - auto).abs().max() < 1e-6
print(f"slope of one weight: {dW[0][2, 3]:+.6f} by hand, {nudged:+.6f} by a nudge")

# %% [markdown]
# A nudge finds one slope for a whole pass. Going back finds all of them for the price of two:

# %% tags=["nbval-check-output"]
from itertools import pairwise

sizes = (64, 100, 100, 10)
pairs = list(pairwise(sizes))
weights = sum((d_in + 1) * d_out for d_in, d_out in pairs)
once = sum(d_in * d_out for d_in, d_out in pairs)  # multiplications of a pass, for one example
back = 2 * once - sizes[0] * sizes[1]  # dW and dh of each layer; nobody asks for dx
print(f"{weights:,} slopes, one nudge each: {once * weights:,} multiplications")
print(f"all by going back: {back:,}, {back / once:.1f} passes")

# %% [markdown]
# ## XOR, with nobody to fold the plane
#
# On [the page before](01_neurons.ipynb) two hidden units were set by hand. Now they start anywhere,
# and go down the slope.


# %%
bits = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]])
xor = torch.tensor([[0.0], [1], [1], [0]])


def train(W, b, steps, rate=0.2):
    """Go down the slopes; W and b may hold many nets, each with its own start."""
    kept = []
    for _ in range(steps):
        h = forward(bits, W, b)
        kept.append((h[1], h[2], W[1], b[1]))
        dW, db = backward(h[-1] - xor, h, W)
        W = [m - rate * d for m, d in zip(W, dW, strict=True)]
        b = [m - rate * d for m, d in zip(b, db, strict=True)]
    return W, b, kept


def start(hidden, nets, size=1.0):
    W = [size * torch.randn(nets, hidden, 2), size * torch.randn(nets, 1, hidden)]
    return W, [torch.zeros(nets, 1, hidden), torch.zeros(nets, 1, 1)]


# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Two hidden units, as many as XOR needs, from 200 random starts. How many of them learn it?",
    ["all", "most, not all", "almost none"],
    answer=1,
    explain="Downhill is not always the way to the lowest place. Some starts end on a plateau or "
    "in a hollow where XOR is wrong. Units to spare make that rare.",
    key="01_before/xor-starts",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
from deepdive_book.kit.profile import pick

steps = pick(ci=2000, laptop=3000, gpu=3000)
share, runs = {}, {}
for hidden in (1, 2, 3, 8):
    runs[hidden] = train(*start(hidden, 200), steps)
    answers = runs[hidden][2][-1][1]  # (200, 4, 1)
    right = ((answers > 0.5) == (xor > 0.5)).all(dim=(1, 2))
    share[hidden] = right.float().mean().item()
    print(f"hidden units {hidden}: {share[hidden]:.0%} of 200 starts learn XOR in {steps:,} steps")
assert share[1] == 0
assert 0.5 < share[2] < 1
assert share[8] > max(share[2], 0.95)

# %% [markdown]
# One unit cannot fold. Two can, and most of the 200 starts arrive, not all. With three and with
# eight every one arrived: on this task a layer wider than needed is easier to train, not only able
# to say more.

# %% [markdown]
# ## Look: the fold, learned

# %% tags=["fold"]
kept = runs[2][2]
ends = ((kept[-1][1] > 0.5) == (xor > 0.5)).all(dim=(1, 2)).nonzero().flatten()
best = ends[((kept[-1][1][ends] - xor) ** 2).sum((1, 2)).argmin()]  # the start that came nearest
f"start {int(best)} of 200"

# %% Back-propagation folds the plane tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(8.0, 2.5))
shown = (0, steps // 20, steps // 5, steps - 1)
for axes, step in zip(figure.subplots(1, 4, sharex=True, sharey=True), shown, strict=True):
    points, answers, (v,), (c,) = (t[best] for t in kept[step])
    for mark, color, value in (("s", "C1", 0), ("o", "C0", 1)):
        axes.plot(*points[xor[:, 0] == value].T, mark, color=color, markersize=7, alpha=0.7)
    h = torch.tensor([-0.2, 1.2])
    axes.plot(h, (0.5 - c - v[0] * h) / v[1], color="0.4", lw=1)  # where the answer is 1/2
    title = f"step {step}, error {((answers - xor) ** 2).mean():.3f}"
    axes.set(title=title, xlim=(-0.15, 1.15), ylim=(-0.15, 1.15))
for name, point, where in zip(("00", "01", "10", "11"), points, (9, 9, -15, 9), strict=True):
    axes.annotate(name, point.tolist(), (-9, where), textcoords="offset points")
figure.supxlabel("first hidden unit")
figure.supylabel("second")
with_alt(
    figure,
    "The four inputs by their two hidden units at four times in training, and the line where the "
    "answer is one half. At the end the line parts (0, 1) and (1, 0) from (0, 0) and (1, 1).",
)

# %% [markdown]
# *Dots are the inputs that want a 1; on the grey line the answer is one half. Only at the end does
# it part dots from squares.*

# %% [markdown]
# ### Common mistake: all weights start alike
#
# Zeros, or the same number everywhere, look like a neutral start:

# %%
W = [torch.full((1, 8, 2), 0.5), torch.full((1, 1, 8), 0.5)]
b = [torch.zeros(1, 1, 8), torch.zeros(1, 1, 1)]
W, _, kept = train(W, b, steps)
spread = (W[0] - W[0][:, :1]).abs().max().item()
error = ((kept[-1][1] - xor) ** 2).mean().item()
assert spread < 1e-4
assert error > 0.1
print(f"eight hidden units differ by {spread:.1e}; error {error:.3f}")

# %% [markdown]
# **Symptom:** the loss stops early, and all rows of a weight matrix are the same. Equal units get
# equal slopes, so they stay equal: eight units are one, and one cannot fold. **Fix:** start at
# random.
#
# ## In practice
#
# - Test a backward of your own with `torch.autograd.gradcheck`, in float64, at random weights. At
#   zeros many mistakes do not show.
# - The way back needs every $h$: training takes memory that running does not.
# - Each layer multiplies by $f' \le 0.25$. Twenty sigmoid layers leave at most $0.25^{20} \approx
#   10^{-12}$ of a slope unless the weights make up for it. [Residuals and
#   norms](../02_transformer/09_residuals_norms.ipynb) have the way out.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. What must a weight know to find its own slope?
#
#    <details><summary>Answer</summary>
#
#    The slope at the unit that it feeds, and the number that came in through it.
#
#    </details>
# 2. Why was the threshold replaced by a sigmoid?
#
#    <details><summary>Answer</summary>
#
#    A step has slope 0 everywhere but at one place, so every product through it would be 0.
#
#    </details>
# 3. Why is the slope of the sigmoid written as $h (1 - h)$ and not as a function of $a$?
#
#    <details><summary>Answer</summary>
#
#    $h$ was computed and kept on the way forward; $a$ need not be kept, and no power of $e$ is
#    taken again.
#
#    </details>
# 4. Why go from the loss to the input, and not the other way?
#
#    <details><summary>Answer</summary>
#
#    There is one loss and there are many weights. Backwards, one number a unit is carried;
#    forwards, one a unit and weight.
#
#    </details>
# 5. A start ended with XOR wrong. Which of its slopes are large?
#
#    <details><summary>Answer</summary>
#
#    None: it stands where all slopes are near 0. Slopes see the neighborhood, and nothing beyond.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* In the example by hand let the wanted answer be 3. Which slopes do $v$, $w$
#    and $b$ get?
#
#    <details><summary>Answer</summary>
#
#    At $y$ the slope is $2 - 3 = -1$; all others change their sign with it: $-0.5$, $-2$, $-1$.
#
#    </details>
# 2. *(on paper, 4 min)* Replace the sigmoid by ReLU, with $b = -2$ (so $a = -1$). Which weights
#    move?
#
#    <details><summary>Answer</summary>
#
#    None. $h = 0$ stops the slope of $v$, and $f' = 0$ those of $w$ and $b$. A unit that never
#    fires for any example cannot come back.
#
#    </details>
# 3. *(code, 5 min)* `start` takes a size. How many of 200 starts with two hidden units learn XOR at
#    sizes 0.1 and 5?
#
#    <details><summary>Answer</summary>
#
#    See the last cell: small starts have hardly left the plateau where all answers are one half;
#    large ones start with units that are nearly thresholds, whose slopes are near 0.
#
#    </details>

# %%
# The answers to 1 and 3, checked.
assert [round(-1 * s, 2) for s in (0.5, 4 * 0.25 * 2, 4 * 0.25)] == [-0.5, -2.0, -1.0]
for size in (0.1, 1.0, 5.0):
    answers = train(*start(2, 200, size), steps)[2][-1][1]
    right = ((answers > 0.5) == (xor > 0.5)).all(dim=(1, 2)).float().mean()
    print(f"starts of size {size}: {right:.0%} learn XOR")

# %% [markdown]
# ## Summary
#
# Every step of a net knows its own slope, and the chain rule multiplies them from the loss back to
# each weight. What is computed forward is kept and used once more, so all slopes together cost
# about two passes. Going down them finds hidden units that nobody set, mostly but not from every
# start.
#
# ## Further reading
#
# - Rumelhart, Hinton, Williams (1986), *Learning Representations by Back-propagating Errors*: four
#   pages; equations 4 to 7 are `backward`.
# - [Math for Transformers](../00_start/02_maths.ipynb), part 4: the chain rule on one weight.
# - The [next page](03_convolution.ipynb): the same rule, with weights that are shared.
