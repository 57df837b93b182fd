# %% [markdown] tags=["slide"]
# # The perceptron: from threshold units to learning from mistakes
#
# A cell adds up what comes in and fires when the sum is large enough. What can such a cell say, can
# it learn to say it, and what can it never say?
#
# <small>Prerequisites: [the math](../00_start/02_maths.ipynb) · 10 min · runs on a laptop · book
# 1.1 · optional page</small>

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


def ball(x, y, words, role, size=24):
    color = f'fill="{ROLES[role]}" fill-opacity="0.16" stroke="{ROLES[role]}"'
    return f'<circle cx="{x}" cy="{y}" r="{size}" {color}/>' + text(x, y + 1, words, 15)


drawing = [ball(40, 40, "1", "key"), ball(40, 130, "0", "key"), ball(40, 220, "1", "key")]
for y, above in ((40, 52), (130, 114), (220, 208)):
    drawing += [arrow(66, y, 208, 130 + (y - 130) * 0.14, "weight", 2.5)]
    drawing.append(text(122, above, "× 1", 14, "weight"))
drawing += [ball(242, 130, "2", "score", 32), text(242, 82, "sum", 14, "score")]
drawing += [arrow(276, 130, 356, 130), text(420, 130, "2 ≥ 2: yes", 16)]
drawing += [arrow(480, 130, 546, 130), ball(574, 130, "1", "output")]
drawing += [text(420, 82, "fire?", 14), text(40, 264, "inputs", 14, "key")]
show(
    svg(610, 280, drawing),
    "Three inputs 1, 0, 1 with weights of 1 meet in a sum of 2. The threshold is 2, so the unit "
    "fires: its output is 1.",
)

# %% [markdown]
# *Three inputs, three weights, one sum. The threshold is 2: the unit answers "at least two of
# you".*
#
# ## A unit by hand
#
# This is a **threshold logic unit**. McCulloch and Pitts (1943) described the first one, without
# real-valued weights: one active inhibitory input vetoes the unit, whatever the others do. The
# form with weights came later. It fires when the weighted sum reaches $\theta$:
#
# $$y = 1 \text{ if } w_1 x_1 + \dots + w_d x_d \ge \theta, \text{ else } 0$$
#
# With $w = (1, 1)$ the sums of the four pairs of bits are 0, 1, 1, 2. So $\theta = 1$ is OR and
# $\theta = 2$ is AND. "One but not both" (XOR) wants a yes at 1 and a no at 2, and no threshold
# does that. Three units do: OR, silenced by AND.


# %% tags=["nbval-check-output"]
import torch

from deepdive.models.classic.threshold import at_least, xor

bits = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]])


def fires(w, theta, x):
    return (x @ torch.tensor(w) >= theta).float()


either, both = fires([1.0, 1], 1, bits), fires([1.0, 1], 2, bits)
one_of_two = fires([1.0, -1], 1, torch.stack([either, both], 1))  # the second input inhibits
assert torch.equal(either, at_least(1, 2)(bits))
assert torch.equal(both, at_least(2, 2)(bits))
assert torch.equal(one_of_two, xor(bits))
for name, answers in {"OR": either, "AND": both, "OR, not AND": one_of_two}.items():
    print(f"{name:>12}: {[int(a) for a in answers]}")

# %% [markdown]
# ## Hebb: what is active together grows together
#
# These weights were set by hand. Hebb (1949) proposed where a brain's could come from: a connection
# grows when both its ends are active. In numbers, each pair $(x, y)$ adds $y_i x_j$ to the weight
# from $j$ to $i$. Show two pairs with $x$ at right angles, and each $x$ calls its own $y$. An $x$
# halfway calls half of both: a memory that mixes, as attention will.

# %%
from deepdive.models.classic.hebb import Hebb

x = torch.tensor([[1.0, 0, 0], [0, 1, 0]])  # a bell, a lamp
y = torch.tensor([[1.0, 0], [0, 1]])  # food, a dark corner
W = sum(torch.outer(y_n, x_n) for x_n, y_n in zip(x, y, strict=True))
memory = Hebb(3, 2)
memory.learn(x, y)
assert (W - memory.W).abs().max() < 1e-6
print("a bell calls", (W @ x[0]).tolist())
print("half a bell and half a lamp call", (W @ (x[0] + x[1]) / 2).tolist())

# %% [markdown]
# Nobody says whether an answer was right, and nothing makes a weight smaller.

# %% [markdown] tags=["slide"]
# ## The perceptron: learn from mistakes
#
# Rosenblatt's perceptron (1958, with this error-correction rule and its convergence proof in 1960
# to 1962) lets the unit be corrected. Call the classes $-1$ and $+1$, and move the threshold to
# the other side as a weight $b$ of its own. While the answer is right, do nothing. At a mistake
#
# $$w \leftarrow w + y\,x \qquad b \leftarrow b + y$$
#
# By hand: start at $w = (0, 0)$, $b = 0$, with $x = (2, 1)$ of class $+1$. The sum is 0, which is
# no yes: a mistake. Now $w = (2, 1)$, $b = 1$, and the sum for the same $x$ is $4 + 1 + 1 = 6$:
# each correction raises the sum by $|x|^2 + 1$.


# %%
def learn(x, y, passes=100):
    w, b, lines = torch.zeros(x.shape[1]), 0.0, []
    for _ in range(passes):
        before = len(lines)
        for x_i, y_i in zip(x, y, strict=True):
            if y_i * (w @ x_i + b) <= 0:  # wrong, or on the line
                w, b = w + y_i * x_i, b + y_i
                lines.append((w, float(b)))
        if len(lines) == before:
            break
    return lines


from deepdive.models.classic.perceptron import Perceptron, mistake_bound

x = torch.randn(60, 2)
side = x @ torch.tensor([1.0, -0.6]) + 0.4
x, y = x[side.abs() > 0.15], side.sign()[side.abs() > 0.15]  # a gap between the classes
lines, library = learn(x, y), Perceptron(2)
lesson = library.learn(x, y)
assert (lines[-1][0] - library.w).abs().max() < 1e-4
assert len(lines) == len(lesson.mistakes)
print(f"{len(x)} generated points, {len(lines)} mistakes, then none in a whole pass")

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.frame_strip import film


def plane(axes, x, y, w, b, size=3.0):
    """Draw two classes, the line w . x + b = 0, and in grey the side that is called +1."""
    grid = torch.linspace(-size, size, 200)
    across, up = torch.meshgrid(grid, grid, indexing="xy")
    sums = (w[0] * across + w[1] * up + b).double().numpy()
    if abs(w).max() > 0:
        axes.contourf(across, up, sums, levels=[0, 1e9], colors=["0.88"])
        axes.contour(across, up, sums, levels=[0], colors=["0.25"])
    for label, mark, color in ((1, "o", "C0"), (-1, "s", "C1")):
        axes.plot(*x[y == label].T, mark, color=color, markersize=5)
    axes.set(xlim=(-size, size), ylim=(-size, size), aspect="equal", xticks=[], yticks=[])


# %% tags=["fold"]
frames, captions = [], []
chosen = sorted({0, 1, 2, 3, len(lines) // 2, len(lines) - 1})
for k in chosen:
    figure = Figure(figsize=(3.1, 3.1))
    axes, point = figure.add_subplot(), x[lesson.mistakes[k].index]
    plane(axes, x, y, *lines[k])
    axes.plot(*point, "o", markersize=15, mfc="none", color="C3")
    frames.append(figure)
    captions.append(f"After mistake {k + 1}: the ringed point turned the line.")
film(frames, captions, "A line between dots and squares turns at each mistake until all are right.")

# %% [markdown]
# *Dots are $+1$, squares $-1$, grey is what the unit calls $+1$. Each mistake moves the line.*
#
# ## Look: how many mistakes?
#
# If some line separates the classes, the mistakes end. Novikoff (1962) proved that there are at
# most $(R / \gamma)^2$: $R$ is the length of the longest example, with its 1 for $b$, and $\gamma$
# the smallest $y\,(w \cdot x + b)$ under a separating line, scaled to $|(w, b)| = 1$. Is the bound
# near? Make the gap narrower and count.

# %%
from deepdive_book.kit.plotting import with_alt

gaps, counted, bounds = (0.8, 0.4, 0.2, 0.1, 0.05, 0.025), [], []
w, b = torch.tensor([1.0, -0.6]) / 1.36**0.5, 0.3
cloud = torch.randn(400, 2)
for gap in gaps:
    a = cloud @ w + b
    x_gap, y_gap = cloud[a.abs() > gap], a.sign()[a.abs() > gap]
    told = Perceptron(2).learn(x_gap, y_gap, passes=2000)
    assert told.clean is not None
    counted.append(len(told.mistakes))
    bounds.append(mistake_bound(x_gap, y_gap, w, b))
assert all(n <= most for n, most in zip(counted, bounds, strict=True))
print("gap      ", *(f"{g:>8}" for g in gaps))
print("mistakes ", *(f"{n:>8}" for n in counted))
print("at most  ", *(f"{m:>8,.0f}" for m in bounds))

# %% tags=["fold"]
figure = Figure(figsize=(5.2, 2.7))
axes = figure.add_subplot()
axes.plot(gaps, bounds, "--", label="Novikoff's bound")
axes.plot(gaps, counted, "o-", label="mistakes made")
axes.set(xscale="log", yscale="log", xlabel="gap on each side of the line", ylabel="mistakes")
axes.set_xticks(gaps, gaps)
axes.set_xticks([], minor=True)
axes.legend()
with_alt(
    figure,
    "Mistakes and bound against the gap, both axes logarithmic. Both rise as the gap narrows; the "
    "bound, quadratic in 1 / gap, lies far above the count.",
)

# %% [markdown]
# *One cloud of points, six gaps. Narrower ones cost more mistakes on the whole; the bound holds,
# and is loose.*

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "XOR: four points, corners of a square, opposite corners alike. The perceptron starts at zero "
    "and goes through them again and again. What happens?",
    ["it ends after many passes", "its weights grow for ever", "its weights come back to zero"],
    answer=2,
    explain="After four mistakes in one pass the corrections cancel. It stands where it began, and "
    "does the same again.",
    key="01_before/xor-circle",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% XOR goes round in a circle tags=["slide", "surprise"]
xor_y = torch.tensor([-1, 1, 1, -1])
circle = Perceptron(2).learn(bits, xor_y)
figure = Figure(figsize=(7.6, 2.1))
for axes, step in zip(figure.subplots(1, 4), circle.mistakes, strict=True):
    plane(axes, bits * 2 - 1, xor_y, step.w / 2, step.b + step.w.sum() / 2, size=1.8)
    axes.set_title(f"w = {[int(v) for v in step.w]}, b = {int(step.b)}", size="small")
assert circle.clean is None
assert circle.circle == 0
with_alt(
    figure,
    "Four panels, one a mistake on XOR: all called -1, then +1 for two corners or more, then all "
    "+1, then weights of zero, where it began.",
)

# %% [markdown]
# *The four corrections of one pass add up to nothing. What is grey is called $+1$, the rest $-1$.*
#
# No rule could do better. XOR asks for four things:
#
# $$b < 0 \qquad w_1 + b > 0 \qquad w_2 + b > 0 \qquad w_1 + w_2 + b < 0$$
#
# The middle two add to $w_1 + w_2 + 2b > 0$, the outer two to $w_1 + w_2 + 2b < 0$. (Rosenblatt's
# perceptron had a hidden layer, but a fixed, random one.) Minsky and Papert (1969) made limits a
# book, and money for neural networks became scarce. Their theorems concern units that each see a
# bounded part of the input, rather than XOR of two bits. Of the 16 functions of two bits a
# perceptron learns all but XOR and its opposite:

# %%
from itertools import product

learned = [
    labels
    for labels in product([-1, 1], repeat=4)
    if Perceptron(2).learn(bits, torch.tensor(labels)).clean is not None
]
assert len(learned) == 14
assert (-1, 1, 1, -1) not in learned
f"{len(learned)} of 16 functions end without a mistake; the others go round"

# %% A hidden layer folds the plane tags=["slide", "fold"]
figure = Figure(figsize=(6.6, 2.9))
left, right = figure.subplots(1, 2)
plane(left, bits * 2 - 1, xor_y, torch.zeros(2), 0.0, size=1.8)
left.set(title="inputs: no line", xlabel="$x_1$", ylabel="$x_2$")
hidden = torch.stack([either, both], 1)
plane(right, hidden * 2 - 1, xor_y, torch.tensor([1.0, -1.0]), -1.0, size=1.8)
right.set(title="hidden units: one line is enough", xlabel="OR fires", ylabel="AND fires")
right.annotate("(0, 1) and (1, 0)", (1, -1), (1.05, -1.45), size="small", ha="center")
with_alt(
    figure,
    "Left: opposite corners alike, no line separates them. Right: the same four points by what OR "
    "and AND say; (0,1) and (1,0) fall on one place, and a line cuts it off.",
)

# %% [markdown]
# *Two hidden units fold the plane: two corners land on one place, and a line is enough.*
#
# The fold was put in by hand. At a mistake, which hidden unit is to blame? The rule does not say.
# The [next page](02_backprop.ipynb) does.

# %% [markdown]
# ### Common mistake: no threshold
#
# Leave $b$ out and every line goes through the origin:

# %% tags=["nbval-check-output"]
and_y = torch.tensor([-1, -1, -1, 1])
w = torch.zeros(2)
for _ in range(1000):
    for x_i, y_i in zip(bits, and_y, strict=True):
        if y_i * (w @ x_i) <= 0:
            w = w + y_i * x_i
wrong = int((and_y * (bits @ w) <= 0).sum())
assert wrong > 0
assert Perceptron(2).learn(bits, and_y).clean is not None
print(f"AND after 1,000 passes without b: {wrong} of 4 wrong; with b: none after a few")

# %% [markdown]
# **Symptom:** training never ends though a line exists. **Fix:** an input that is always 1.
#
# ## In practice
#
# - No clean pass says nothing by itself: the gap may be narrow. Weights that come back prove that
#   there is no line; with whole numbers, look for that.
# - Scale inputs alike: $R$ counts as a square.
# - `sklearn.linear_model.Perceptron` shuffles by default. With `shuffle=False, tol=None` its
#   weights are ours, number for number (a test holds it).

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Five inputs with weight 1, threshold 3. What does the unit say?
#
#    <details><summary>Answer</summary>
#
#    Whether a majority of the five is 1.
#
#    </details>
# 2. What does Hebb's rule use that the perceptron's does not, and the other way round?
#
#    <details><summary>Answer</summary>
#
#    Both get the inputs and the wanted outputs $y$. Hebb's rule uses nothing else and adds for
#    every pair, right or wrong. The perceptron's rule also uses the unit's own answer: it acts
#    only at mistakes.
#
#    </details>
# 3. Why does a correction not always make the example right at once?
#
#    <details><summary>Answer</summary>
#
#    It raises the sum by $|x|^2 + 1$, and the sum may have been further below.
#
#    </details>
# 4. What does Novikoff's bound need to know about the data?
#
#    <details><summary>Answer</summary>
#
#    The length of the longest example and the distance of the nearest from some separating line.
#    Not how many there are, nor of how many numbers.
#
#    </details>
# 5. Why can XOR be written with three units, and not with one?
#
#    <details><summary>Answer</summary>
#
#    One unit is one line. The two hidden units map (0, 1) and (1, 0) to the same place, and then
#    one line separates.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 3 min)* Find $w$ and $\theta$ for "the first bit is 1 and the second is 0".
#
#    <details><summary>Answer</summary>
#
#    $w = (1, -1)$, $\theta = 1$.
#
#    </details>
# 2. *(on paper, 4 min)* Start at zero and go through OR in the order of the table. Which weights
#    stand after the first pass?
#
#    <details><summary>Answer</summary>
#
#    $(0, 0)$ is wrong: $b = -1$. $(0, 1)$ is wrong: $w = (0, 1)$, $b = 0$. $(1, 0)$ has the sum 0,
#    wrong: $w = (1, 1)$, $b = 1$. $(1, 1)$ is right.
#
#    </details>
# 3. *(predict, 3 min)* How many of the 256 functions of three bits does a perceptron learn: most,
#    half, or fewer?
#
#    <details><summary>Answer</summary>
#
#    104, fewer than half. Of four bits it is 1,882 of 65,536.
#
#    </details>

# %%
# The answers checked, the four bits apart.
assert [int(a) for a in fires([1.0, -1], 1, bits)] == [0, 0, 1, 0]
one_pass = Perceptron(2)
one_pass.learn(bits, torch.tensor([-1, 1, 1, 1]), passes=1)
assert (one_pass.w.tolist(), one_pass.b) == ([1, 1], 1)
three = torch.tensor(list(product([0.0, 1.0], repeat=3)))
ends = [Perceptron(3).learn(three, torch.tensor(y)).clean for y in product([-1, 1], repeat=8)]
assert sum(clean is not None for clean in ends) == 104
print("the answers hold")

# %% [markdown]
# ## Summary
#
# A threshold unit is a line: it says on which side an input lies. Where a line exists the
# perceptron finds one, after a number of mistakes that the gap bounds; where none does, as for XOR,
# it goes round for ever. A layer of units before the last one moves the points so that a line
# exists, but the perceptron's rule cannot teach that layer.
#
# ## Further reading
#
# - McCulloch, Pitts (1943), *A Logical Calculus of the Ideas Immanent in Nervous Activity*: section
#   2 lists what the unit assumes.
# - Hebb (1949), *The Organization of Behavior*: chapter 4 has the one sentence.
# - Rosenblatt (1958), *The Perceptron*; and Minsky, Papert (1969), *Perceptrons*: what a line
#   cannot do, proved.
# - Novikoff (1962), *On Convergence Proofs on Perceptrons*.
