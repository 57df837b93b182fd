# %% [markdown]
# # Exercises: math and PyTorch
#
# {{EXERCISES}} exercises in rising order, about {{MINUTES}} minutes in all. Write where a cell says
# so; the check under it says what is wrong. A check without a message has passed. Some tests are
# kept for whoever grades, so check your own work beyond what the cell shows. Values in capitals may
# be your own: use their names. Where a question asks for words, a person marks them.
#
# <small>Chapter 2, what it takes as known · after [ten minutes](01_ten_minutes.ipynb), [the
# math](02_maths.ipynb) and [PyTorch](03_torch.ipynb) · no data, no GPU</small>

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

# %%
import math
from random import SystemRandom

import torch
from torch import nn

from deepdive.core.checks import returned


def digits(row):
    """Three digits of each number, for messages."""
    return ", ".join(f"{number:.3f}" for number in row.tolist())


# %% tags=["variant"]
from deepdive_book.course.assignment.variants import choose, number, permutation, rename, sample

# %% [markdown]
# ## 1. Attention on paper
#
# *On paper, then check · 6 min · easy · book 2.3*
#
# The query is $(1, 2)$. Three keys hold one value each, here a plain number:
#
# | key | value |
# |---|---|
# | ${{KEYS[0]}}$ | {{VALUES[0]}} |
# | ${{KEYS[1]}}$ | {{VALUES[1]}} |
# | ${{KEYS[2]}}$ | {{VALUES[2]}} |
#
# Score, weigh, mix, on paper: $e^2 = 7.39$, $e^0 = 1$ and $e^{-1} = 0.37$. Write down the three
# scores, the three weights to two decimals, and the answer of the attention. ([Ten
# minutes](01_ten_minutes.ipynb) has the same steps with four animals.)

# %% tags=["variant"] exercise="pencil"
# Two keys fit alike, and one worse; it holds the largest value.
KEYS = [
    *sample(((2, 0), (0, 1), (4, -1), (-2, 2)), 2),
    choose((1, -1), (-1, 0), (3, -2), (2, -1), (-2, 1)),
]
VALUES = [*sample((10, 20, 30, 40, 50), 2), 90]


# %% nbgrader={"grade_id": "pencil", "solution": true}
def by_hand():
    """Return {"scores": [...], "weights": [...], "answer": ...}, with your numbers."""
    ### BEGIN SOLUTION
    scores = [1 * right + 2 * up for right, up in KEYS]
    powers = [math.exp(score) for score in scores]
    weights = [round(power / sum(powers), 2) for power in powers]
    answer = sum(weight * value for weight, value in zip(weights, VALUES, strict=True))
    return {"scores": scores, "weights": weights, "answer": round(answer, 1)}
    ### END SOLUTION


# %% nbgrader={"grade_id": "pencil-check", "grade": true, "points": 2} own="predict"
said = returned("by_hand", by_hand())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
assert len(said["scores"]) == len(said["weights"]) == 3, "three keys: three scores, three weights"
for key, score in zip(KEYS, said["scores"], strict=True):
    assert score == 1 * key[0] + 2 * key[1], (
        f"key {key}: {score} is not its score; multiply place by place with (1, 2), and add"
    )
first, second, third = said["weights"]
assert abs(first + second + third - 1) < 0.011, "weights are shares: together they make 1"
assert abs(first - second) < 0.011, "equal scores get equal weights: attention does not choose"
assert 0.01 < third < 0.09, (
    f"the third weight is {third}: raise e to each score *before* you divide by the sum; e to a "
    "score that is not above zero is small, and above zero"
)
mixed = VALUES[0] * first + VALUES[1] * second + VALUES[2] * third
assert abs(said["answer"] - mixed) < 0.5, (
    f"your weights mix the values to {mixed:.1f}, and you wrote {said['answer']}: the answer is "
    "the sum of weight times value"
)
### BEGIN HIDDEN TESTS
exact = torch.tensor([key[0] + 2.0 * key[1] for key in KEYS]).softmax(0)
assert torch.allclose(torch.tensor(said["weights"]), exact, atol=0.011), "the weights are off"
assert abs(said["answer"] - exact @ torch.tensor(VALUES).float()) < 0.5, "the answer is off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="pencil"
# The first score is $1\cdot({{KEYS[0][0]}}) + 2\cdot({{KEYS[0][1]}})$. Each weight is $e$ to its
# own score, divided by the sum of all three powers.

# %% [markdown] tags=["hint"] exercise="pencil"
# Two of the powers are 7.39. Add the third, and divide each by that sum.


# %% tags=["wrong-answer"] exercise="pencil"
def by_hand():  # divides the scores themselves
    scores = [1 * right + 2 * up for right, up in KEYS]
    weights = [score / sum(scores) for score in scores]
    return {"scores": scores, "weights": weights, "answer": 0.5 * (VALUES[0] + VALUES[1])}


# %% tags=["wrong-answer"] exercise="pencil"
def by_hand():  # takes the first that fits best
    scores = [1 * right + 2 * up for right, up in KEYS]
    return {"scores": scores, "weights": [1, 0, 0], "answer": VALUES[0]}


# %% tags=["wrong-answer"] exercise="pencil"
def by_hand():  # a score that is not above zero counts as nothing
    scores = [1 * right + 2 * up for right, up in KEYS]
    return {"scores": scores, "weights": [0.5, 0.5, 0], "answer": (VALUES[0] + VALUES[1]) / 2}


# %% tags=["wrong-answer"] exercise="pencil"
def by_hand():  # mixes without the weights: the mean of the values
    scores = [1 * right + 2 * up for right, up in KEYS]
    weights = [0.49, 0.49, 0.02] if scores[2] < 0 else [0.47, 0.47, 0.06]
    return {"scores": scores, "weights": weights, "answer": sum(VALUES) / 3}


# %% [markdown]
# ## 2. Only differences count
#
# *Predict, then run · 5 min · easy · book 2.3.1*
#
# Two keys have the scores {{SCORES}}. **Before you run anything:** how many times as large as the
# second weight is the first
#
# - `"plain"`: as it is,
# - `"shifted"`: when {{SHIFT}} is added to both scores,
# - `"longer"`: when the query is {{TIMES}} times as long?
#
# Two digits are enough; `math.exp(x)` is $e^x$. The cell checks two of the three.

# %% tags=["variant"] exercise="ratio"
SCORES = choose([3, 1], [2, 1], [4, 1], [4, 2], [5, 3], [5, 4], [6, 3], [4, 3])
SHIFT = choose(100, 50, 200, 500, 1000)
TIMES = choose(2, 3)


# %% nbgrader={"grade_id": "ratio", "solution": true}
def predicted_ratios():
    """Return {"plain": ..., "shifted": ..., "longer": ...}, with your numbers."""
    ### BEGIN SOLUTION
    difference = SCORES[0] - SCORES[1]
    ratio = math.exp(difference)
    return {"plain": ratio, "shifted": ratio, "longer": math.exp(TIMES * difference)}
    ### END SOLUTION


# %% nbgrader={"grade_id": "ratio-check", "grade": true, "points": 2} own="predict"
said = returned("predicted_ratios", predicted_ratios())
assert isinstance(said, dict), "return a dictionary: `return {...}`"


def off(name, scores):
    """By which share the answer misses what the softmax measures."""
    weights = torch.tensor(scores).float().softmax(0)
    return abs(said[name] / (weights[0] / weights[1]).item() - 1)


first, second = SCORES
assert off("plain", [first, second]) < 0.05, (
    f"as it is: you said {said['plain']:.4g}. The weights are powers of e divided by one sum; the "
    "sum cancels, and a quotient of powers is a power of the difference"
)
assert off("shifted", [first + SHIFT, second + SHIFT]) < 0.05, (
    f"shifted: you said {said['shifted']:.4g}. What is {first + SHIFT} - {second + SHIFT}?"
)
### BEGIN HIDDEN TESTS
assert off("longer", [TIMES * first, TIMES * second]) < 0.05, "longer: both scores grow alike"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="ratio"
# $e^a / e^b = e^{a-b}$.

# %% [markdown] tags=["hint"] exercise="ratio"
# A query {{TIMES}} times as long has dot products {{TIMES}} times as large: both scores grow.


# %% tags=["wrong-answer"] exercise="ratio"
def predicted_ratios():  # shares in proportion to the scores
    first, second = SCORES
    shifted = (first + SHIFT) / (second + SHIFT)
    return {"plain": first / second, "shifted": shifted, "longer": first / second}


# %% tags=["wrong-answer"] exercise="ratio"
def predicted_ratios():  # large scores sharpen it
    gap = SCORES[0] - SCORES[1]
    shifted = math.exp(min(gap + SHIFT, 600))
    return {"plain": math.exp(gap), "shifted": shifted, "longer": math.exp(TIMES * gap)}


# %% tags=["wrong-answer"] exercise="ratio"
def predicted_ratios():  # so many times as long, so many times as much
    ratio = math.exp(SCORES[0] - SCORES[1])
    return {"plain": ratio, "shifted": ratio, "longer": TIMES * ratio}


# %% [markdown]
# ## 3. Which shape comes out?
#
# *Predict, then run · 6 min · easy · book 2, taken as known*
#
# **Before you run anything:** which shape has each result, or does torch refuse? `a` and `b` stand
# for tensors of the shapes given.
#
# | | `a` | `b` | what is computed |
# |---|---|---|---|
# | `"sum"` | {{SUM[0]}} | {{SUM[1]}} | `a + b` |
# | `"column"` | {{COLUMN[0]}} | {{COLUMN[1]}} | `a - b` |
# | `"rows"` | {{ROWS[0]}} | {{ROWS[1]}} | `a + b` |
# | `"product"` | {{PRODUCT[0]}} | {{PRODUCT[1]}} | `a @ b.transpose(-2, -1)` |
# | `"total"` | {{TOTAL}} | | `a.softmax(-1).sum(-1)` |
#
# The cell checks the first three.

# %% tags=["variant"] exercise="shapes"
SUM = choose(
    ((4, 1, 5), (3, 1)), ((2, 1, 6), (4, 1)), ((5, 1, 3), (2, 1)), ((3, 1, 4), (6, 1))
)  # fmt: skip
COLUMN = choose(((7, 1), (7,)), ((4, 1), (4,)), ((6, 1), (6,)), ((9, 1), (9,)))
ROWS = choose(((2, 3), (2,)), ((4, 5), (4,)), ((3, 6), (3,)), ((5, 2), (5,)))
PRODUCT = choose(
    ((6, 4, 3), (6, 5, 3)), ((2, 7, 4), (2, 3, 4)), ((5, 2, 8), (5, 6, 8)), ((4, 3, 2), (4, 7, 2))
)
TOTAL = choose((2, 8, 5, 7), (3, 4, 6, 5), (4, 2, 9, 3), (5, 6, 2, 4))


# %% nbgrader={"grade_id": "shapes", "solution": true}
def predicted_shapes():
    """Return {"sum": ..., ...}: for each row of the table a tuple, or "error"."""
    ### BEGIN SOLUTION
    return {
        "sum": (SUM[0][0], SUM[1][0], SUM[0][2]),
        "column": (COLUMN[0][0], COLUMN[1][0]),
        "rows": "error",
        "product": (PRODUCT[0][0], PRODUCT[0][1], PRODUCT[1][1]),
        "total": TOTAL[:3],
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "shapes-check", "grade": true, "points": 2} own="predict"
said = returned("predicted_shapes", predicted_shapes())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"sum", "column", "rows", "product", "total"}
assert set(said) == wanted, f"the rows are called {sorted(wanted)}, yours {sorted(said)}"
for row, shape in said.items():
    assert shape == "error" or isinstance(shape, tuple | list), (
        f'{row}: write a shape as a tuple, such as (4, 5) or (4,), or "error"; you said {shape!r}'
    )
    said[row] = shape if shape == "error" else tuple(shape)


def comes_out(a, b):
    """The shape of a sum of tensors of two shapes."""
    try:
        return tuple((torch.zeros(a) + torch.zeros(b)).shape)
    except RuntimeError:
        return "error"


assert said["sum"] == comes_out(*SUM), (
    f"sum: you said {said['sum']}. Write {SUM[0]} and, under it, {SUM[1]}, both ending at the "
    "right edge; in each pair of sides a 1 takes the length of the other"
)
assert said["column"] == comes_out(*COLUMN), (
    f"column: you said {said['column']}. At the right edge 1 stands over {COLUMN[1][0]}; what "
    "stands over the side that is missing?"
)
assert said["rows"] == comes_out(*ROWS), (
    f"rows: you said {said['rows']}. At the right edge {ROWS[0][1]} stands over {ROWS[1][0]}, and "
    "neither is 1"
)
### BEGIN HIDDEN TESTS
a, b = map(torch.zeros, PRODUCT)
assert said["product"] == (a @ b.transpose(-2, -1)).shape, "product: a matrix product for each"
total = torch.zeros(TOTAL).softmax(-1).sum(-1)
assert said["total"] == total.shape, "total: the softmax keeps the shape, the sum loses one side"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="shapes"
# Align to the right. A pair of sides must be equal, or one of them 1 or missing.

# %% [markdown] tags=["hint"] exercise="shapes"
# A matrix product sums over the last side of the left and the second last of the right, and leaves
# the sides before them alone. `sum(-1)` sums over the last side.


# %% tags=["wrong-answer"] exercise="shapes"
def predicted_shapes():  # aligns to the left
    shapes = {"sum": "error", "column": (COLUMN[0][0], COLUMN[0][0]), "rows": ROWS[0]}
    a, b = PRODUCT
    return {**shapes, "product": (a[0], a[1], b[1]), "total": TOTAL[:3]}


# %% tags=["wrong-answer"] exercise="shapes"
def predicted_shapes():  # seven less seven is seven: what was meant, not what runs
    shapes = {"sum": (SUM[0][0], SUM[1][0], SUM[0][2]), "column": COLUMN[1], "rows": "error"}
    a, b = PRODUCT
    return {**shapes, "product": (a[0], a[1], b[1]), "total": TOTAL[:3]}


# %% tags=["wrong-answer"] exercise="shapes"
def predicted_shapes():  # thinks that the softmax removes the side it sums to one
    n = COLUMN[1][0]
    shapes = {"sum": (SUM[0][0], SUM[1][0], SUM[0][2]), "column": (n, n), "rows": "error"}
    a, b = PRODUCT
    return {**shapes, "product": (a[0], a[1], b[1]), "total": TOTAL[:2]}


# %% tags=["wrong-answer"] exercise="shapes"
def predicted_shapes():  # forgets the transpose
    n = COLUMN[1][0]
    shapes = {"sum": (SUM[0][0], SUM[1][0], SUM[0][2]), "column": (n, n), "rows": "error"}
    return {**shapes, "product": "error", "total": TOTAL[:3]}


# %% [markdown]
# ## 4. A softmax that does not break
#
# *Code · 8 min · medium · book 2.3.1*
#
# Write the softmax over the last side of a tensor of any shape, with a temperature, from `exp`,
# `sum` and `max` alone. It must work for scores of {{LARGE}} too.
# ([Math for Transformers](02_maths.ipynb), part 2, has it for one row, and says what breaks.)

# %% tags=["variant"] exercise="softmax"
TWO_ROWS = [permutation([2.0, 1.0, 0.0]), permutation([0.0, 0.0, 3.0])]
COLD = choose(0.1, 0.05, 0.08)
LARGE = number(1000, 9000, 1000)


# %% nbgrader={"grade_id": "softmax", "solution": true}
def softmax(scores, temperature=1.0):
    """Return the shares, in the shape of scores (..., n); each row of n sums to one."""
    ### BEGIN SOLUTION
    scores = scores / temperature
    powers = (scores - scores.max(-1, keepdim=True).values).exp()
    return powers / powers.sum(-1, keepdim=True)
    ### END SOLUTION


# %% nbgrader={"grade_id": "softmax-check", "grade": true, "points": 2}
scores = torch.tensor(TWO_ROWS)
shares = returned("softmax", softmax(scores))
assert isinstance(shares, torch.Tensor), f"return a tensor, not {shares!r}"
assert shares.shape == scores.shape, f"two rows of three went in, {tuple(shares.shape)} came out"
assert torch.allclose(shares.sum(-1), torch.ones(2)), (
    f"the rows sum to {digits(shares.sum(-1))}, not to 1 each: sum over the last side only, and "
    "keep it with keepdim=True"
)
assert torch.allclose(shares, scores.softmax(-1)), (
    f"the first row should be {digits(scores[0].softmax(-1))}, yours is {digits(shares[0])}: e to "
    "the score, divided by the sum of these powers"
)
assert softmax(scores, temperature=COLD)[0].max() > 0.99, (
    f"cold sharpens: at temperature {COLD} the largest score takes nearly all. Divide the *scores*"
)
### BEGIN HIDDEN TESTS
many = torch.randn(2, 3, 4, 7)
for heat in (0.5, 1.0, 3.0):
    right = torch.allclose(softmax(many, heat), (many / heat).softmax(-1), atol=1e-6)
    assert right, f"wrong for four sides and a temperature of {heat}"
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "softmax-large", "grade": true, "points": 1}
large = torch.tensor([[LARGE + 2.0, LARGE + 1.0, LARGE], [0.0, -1.0, -2.0]])
shares = returned("softmax", softmax(large))
assert not shares.isnan().any(), (
    f"`nan`: e to {LARGE + 2} is larger than any float, and infinity divided by infinity is no "
    "number. Which number may you take from all scores of a row without changing the shares?"
)
assert torch.allclose(shares[0], shares[1]), (
    f"{LARGE + 2}, {LARGE + 1}, {LARGE} must give what 0, -1, -2 give; they give "
    f"{digits(shares[0])} and {digits(shares[1])}. Cut no score off; take each row's largest away "
    "from all its scores"
)
### BEGIN HIDDEN TESTS
both = torch.tensor([[1000.0, 999.0], [-1000.0, -999.0]])
assert torch.allclose(softmax(both), both.softmax(-1)), (
    "one row is high and the other low: take from each row its own largest"
)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="softmax"
# `scores.max(-1, keepdim=True).values` is the largest of each row, in a shape that can be taken
# away from `scores`.

# %% [markdown] tags=["hint"] exercise="softmax"
# First divide by the temperature, then take the largest away, then `exp`, then divide by the sum
# over the last side.


# %% tags=["wrong-answer"] exercise="softmax"
def softmax(scores, temperature=1.0):
    powers = (scores / temperature).exp()  # as the formula stands
    return powers / powers.sum(-1, keepdim=True)


# %% tags=["wrong-answer"] exercise="softmax"
def softmax(scores, temperature=1.0):
    powers = (scores / temperature - (scores / temperature).max()).exp()
    return powers / powers.sum()  # over all rows together


# %% tags=["wrong-answer"] exercise="softmax"
def softmax(scores, temperature=1.0):
    powers = (scores - scores.max(-1, keepdim=True).values).exp() / temperature  # cancels
    return powers / powers.sum(-1, keepdim=True)


# %% tags=["wrong-answer"] exercise="softmax"
def softmax(scores, temperature=1.0):
    powers = (scores / temperature).clamp(max=80).exp()  # runs, and levels all large scores
    return powers / powers.sum(-1, keepdim=True)


# %% [markdown]
# ## 5. How small should a nudge be?
#
# *Measure, then explain · 11 min · medium · book 2, taken as known*
#
# A slope can be measured: nudge $w$ by $h$ and see how far $f$ moves, $(f(w + h) - f(w)) / h$. The
# smaller $h$, the better? Torch's floats have about seven digits.
#
# First look: try the seven nudges below on `({{FACTOR}} * w - {{LESS}}) ** 2` at `w =
# torch.tensor({{AT}}.0)`, whose slope is {{SLOPE}}. Then write a function that finds the best one
# for any `f`.

# %% tags=["variant"] exercise="nudge"
FACTOR = choose(3, 4, 5, 6, 7)
LESS = choose(4, 1, 2, 3, 5)
AT = choose(2, 3, 4, 5)
SLOPE = 2 * FACTOR * (FACTOR * AT - LESS)
rename("best_nudge", "nearest_nudge", "safest_nudge")

# %%
NUDGES = [0.1, 0.01, 0.001, 0.0001, 0.00001, 0.000001, 0.0000001]


# %% nbgrader={"grade_id": "nudge", "solution": true}
def best_nudge(f, w, slope):
    """Return the one of NUDGES whose measured slope of f at w is nearest to `slope`.

    f takes a tensor and returns one; w is a tensor with one number; `slope` is the right answer.
    """
    ### BEGIN SOLUTION
    off = [abs((f(w + h) - f(w)).item() / h - slope) for h in NUDGES]
    return NUDGES[off.index(min(off))]
    ### END SOLUTION


# %% nbgrader={"grade_id": "nudge-check", "grade": true, "points": 3}
def try_nudge(f, w, slope):
    """Compare the chosen nudge with all seven."""
    w = torch.tensor(w)
    off = {h: abs((f(w + h) - f(w)).item() / h - slope) for h in NUDGES}
    chosen = returned("best_nudge", best_nudge(f, w, slope))
    assert chosen in off, f"{chosen} is none of NUDGES"
    assert off[chosen] <= 3 * min(off.values()), (
        f"with a nudge of {chosen:g} the slope is off by {off[chosen]:.2g}, with another of the "
        f"seven by {min(off.values()):.2g}. A large nudge feels the curve, and of a tiny one seven "
        "digits leave little in w + h. Measure all seven; too high and too low are both off"
    )


try_nudge(lambda w: (FACTOR * w - LESS) ** 2, float(AT), SLOPE)
try_nudge(lambda w: w * w, 100.0, 200.0)
### BEGIN HIDDEN TESTS
try_nudge(lambda w: -w.exp(), 1.0, -math.e)
try_nudge(lambda w: w.sin(), 0.001, math.cos(0.001))
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="nudge"
# Make a list with one number a nudge: how far the measured slope is from the right one, as a
# distance, without its sign. Then find the place of the smallest.


# %% tags=["wrong-answer"] exercise="nudge"
def best_nudge(f, w, slope):
    return min(NUDGES)  # the smaller the better


# %% tags=["wrong-answer"] exercise="nudge"
def best_nudge(f, w, slope):
    off = [(f(w + h) - f(w)).item() / h - slope for h in NUDGES]
    return NUDGES[off.index(min(off))]  # the lowest, not the nearest: no abs


# %% tags=["wrong-answer"] exercise="nudge"
def best_nudge(f, w, slope):
    return 0.0001  # what the page took, for every f


# %% [markdown]
# Now look at your own function, nudge by nudge. Run this.

# %%
w = torch.tensor(float(AT))
for h in NUDGES:
    moved = (FACTOR * (w + h) - LESS) ** 2 - (FACTOR * w - LESS) ** 2
    print(f"nudge {h:g}: slope {moved.item() / h:.5g}, off by {abs(moved.item() / h - SLOPE):.2g}")

# %% [markdown]
# **Explain** in two or three sentences, with your numbers: why does the distance first fall with
# the nudge, and by how much a step? Why does it rise again, and where?

# %% [markdown] nbgrader={"grade_id": "nudge-why", "grade": true, "solution": true, "points": 3}
# ### BEGIN SOLUTION
# The curve bends: a nudge of $h$ measures a slope that is off by $h$ times half the bend, here
# {{FACTOR}} squared times $h$, so a tenth of the nudge leaves a tenth of the distance. From below,
# rounding: a float near the square of {{FACTOR}} times {{AT}} less {{LESS}} has seven digits, and
# what is lost there is divided by $h$, so each tenth of the nudge makes it about ten times as
# large. The best nudge lies where the two meet.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="nudge-why"
# - **3 points**: names both causes, bend and rounding, and shows each in two numbers of its own.
# - **1 point**: one cause with numbers, or both without.
# - **0 points**: neither, or no number that was measured.


# %% [markdown]
# ## 6. A test that finds what no error tells
#
# *Write a test · 8 min · medium · book 2.4.2.2*
#
# Heads can be split so that the shape is right and tokens are mixed ([PyTorch](03_torch.ipynb),
# mistake 3). Write the test that notices: change a token, and see whether rows of *other* tokens
# move.
#
# `split` is any function from (B, T, d_model) to (B, H, T, d_head). Row `t` of every head belongs
# to token `t`. Those of the check make {{HEADS}} heads: give them a width that {{HEADS}} divides.

# %% tags=["variant"] exercise="mixing"
HEADS = number(2, 5)
rename("mixes_tokens", "moves_others", "tokens_leak", "rows_are_mixed")


# %% nbgrader={"grade_id": "mixing", "solution": true}
def mixes_tokens(split):
    """Return True if some token's change moves rows of other tokens, else False."""
    ### BEGIN SOLUTION
    x = torch.randn(1, 3, 2 * HEADS)
    for token in range(3):
        changed = x.clone()
        changed[:, token] += 1
        moved = (split(changed) != split(x)).any(-1)[0].any(0)  # (T,): in some head
        moved[token] = False
        if moved.any():
            return True
    return False
    ### END SOLUTION


# %% nbgrader={"grade_id": "mixing-check", "grade": true, "points": 3}
def columns(x):
    return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)  # head by head: right


def across(x):
    return x.reshape(x.shape[0], HEADS, x.shape[1], -1)  # cut across the rows: mistake 3


def every_so_many(x):
    return x.unflatten(-1, (-1, HEADS)).permute(0, 3, 1, 2)  # other columns, but the same rows


def noted(split, calls):
    """The same split, and a note of each call."""
    return lambda x: calls.append(x) or split(x)


def try_splits(splits):
    """Ask twice for each of (split, mixed, why), in an order that is drawn, and compare."""
    answers, order = [[] for _ in splits], 2 * [*range(len(splits))]
    SystemRandom().shuffle(order)
    for i in order:
        calls = []
        given = mixes_tokens(noted(splits[i][0], calls))
        answers[i].append(bool(returned("mixes_tokens", given)))
        assert calls, "your test never calls `split`: it can know nothing of it"
    for (_, mixed, why), said in zip(splits, answers, strict=True):
        assert said == [mixed, mixed], why


try_splits([
    (columns, False, "the right split is accused. The changed token's own row may move, in every "
     "head; only the rows of other tokens may not"),
    (across, True, "a reshape across the rows passes your test. Its shape is right: compare "
     "numbers, of all heads and all rows, before and after the change"),
    (every_so_many, False, f"a split that takes one column in {HEADS} is accused; it leaves each "
     "token in its row"),
])  # fmt: skip
### BEGIN HIDDEN TESTS
others = [
    (lambda x: columns(x).roll(1, dims=2), True, "every row is in its neighbour's place"),
    (lambda x: columns(x + x[:, :1]), True, "token 0 is in all rows: change every token"),
    (lambda x: columns(x + x[:, -1:]), True, "the last token is in all rows"),
    (lambda x: columns(2 * x), False, "twice the number is still the token's own row"),
]  # fmt: skip
try_splits(others)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mixing"
# `x = torch.randn(1, 3, 2 * HEADS)`, a copy `changed = x.clone()`, and `changed[:, token] += 1`.
# The rows that moved: `(split(changed) != split(x)).any(-1)`, with shape (1, H, T).

# %% [markdown] tags=["hint"] exercise="mixing"
# Do so for each of the three tokens in turn. The row of that token is allowed to move.


# %% tags=["wrong-answer"] exercise="mixing"
def mixes_tokens(split):
    x = torch.randn(1, 3, 2 * HEADS)
    return split(x).shape != (1, HEADS, 3, 2)  # the shape tells nothing


# %% tags=["wrong-answer"] exercise="mixing"
def mixes_tokens(split):
    x = torch.randn(1, 3, 2 * HEADS)
    changed = x.clone()
    changed[:, 2] += 1
    return not torch.equal(split(changed), split(x))  # its own row may move


# %% tags=["wrong-answer"] exercise="mixing"
def mixes_tokens(split):
    x = torch.randn(1, 3, 2 * HEADS)
    changed = x.clone()
    changed[:, 2] += 1
    moved = (split(changed) != split(x)).any(-1)[0, 0]  # looks at head 0 only
    return moved[:2].any().item()


# %% tags=["wrong-answer"] exercise="mixing"
def mixes_tokens(split):
    x = torch.randn(1, 3, 2 * HEADS)
    changed = x.clone()
    changed[:, 2] += 1  # the last token only
    moved = (split(changed) != split(x)).any(-1)[0].any(0)
    return moved[:2].any().item()


# %% [markdown]
# ## 7. A loss with a floor
#
# *Find and fix a planted bug · 9 min · hard · book 2, taken as known*
#
# This model knows its {{WORDS}} words by heart: the right one always scores {{AHEAD}} more than the
# others. Its loss should be nearly 0, and is {{FLOOR}}. However long it trains, the loss stays
# there.

# %% tags=["variant"] exercise="twice"
WORDS = number(3, 9)
AHEAD = choose(20, 16, 24, 30)
FLOOR = {3: 0.55, 4: 0.74, 5: 0.9, 6: 1.04, 7: 1.17, 8: 1.27, 9: 1.37}[WORDS]


# %% tags=["bug"] exercise="twice" bug="a second softmax" caught="sure and right"
def broken_loss(scores, right):
    """Return the mean surprise at the right words; scores (B, V), right (B,) with their numbers."""
    return nn.functional.cross_entropy(scores.softmax(-1), right)


# %% tags=["bug"] exercise="twice" bug="a sigmoid before the softmax" caught="sure and right"
def broken_loss(scores, right):
    """Return the mean surprise at the right words; scores (B, V), right (B,) with their numbers."""
    return nn.functional.cross_entropy(scores.sigmoid(), right)


# %% tags=["bug"] exercise="twice" bug="scores cut to 0 and 1" caught="sure and right"
def broken_loss(scores, right):
    """Return the mean surprise at the right words; scores (B, V), right (B,) with their numbers."""
    return nn.functional.cross_entropy(scores.clamp(0, 1), right)


# %%
known = AHEAD * torch.eye(WORDS) - AHEAD / 2  # row by row: the right word is 0, 1, 2, ...
print(f"broken loss: {broken_loss(known, torch.arange(WORDS)):.2f}")

# %% [markdown]
# Fix it in `mended_loss`.


# %% nbgrader={"grade_id": "twice", "solution": true}
def mended_loss(scores, right):
    """Return the mean surprise at the right words; scores (B, V), right (B,) with their numbers."""
    ### BEGIN SOLUTION
    return nn.functional.cross_entropy(scores, right)
    ### END SOLUTION


# %% nbgrader={"grade_id": "twice-check", "grade": true, "points": 2}
scores, right = AHEAD * torch.eye(WORDS), torch.arange(WORDS)
loss = returned("mended_loss", mended_loss(scores, right))
assert isinstance(loss, torch.Tensor), f"return the loss, a tensor, not {loss!r}"
assert abs(loss) < 0.001, (
    f"sure and right must cost nothing; yours costs {loss:.2f}. Between scores and loss there is "
    "one softmax and one logarithm. `cross_entropy` does both itself (the maths, In practice)"
)
wrong = mended_loss(scores, right.roll(1))
assert abs(wrong - AHEAD) < 0.001, (
    f"sure and wrong must cost {AHEAD}, a share of e^-{AHEAD}; yours costs {wrong:.2f}. The loss "
    "is minus the logarithm of the right word's share"
)
### BEGIN HIDDEN TESTS
some, ids = torch.randn(5, 9), torch.randint(0, 9, (5,))
assert torch.allclose(mended_loss(some, ids), nn.functional.cross_entropy(some, ids), atol=1e-5), (
    "wrong for random scores of nine words"
)
high = torch.tensor([[1000.0, 0.0]])
assert mended_loss(high, torch.tensor([1])) == 1000, "a score of 1,000 must not make it infinite"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="twice" bug="a second softmax"
# `cross_entropy` takes scores and applies a softmax itself. How many are there in `broken_loss`?

# %% [markdown] tags=["hint"] exercise="twice" bug="a sigmoid before the softmax"
# `cross_entropy` takes scores, any numbers. Which numbers does it get in `broken_loss`?

# %% [markdown] tags=["hint"] exercise="twice" bug="scores cut to 0 and 1"
# `cross_entropy` takes scores, any numbers. Which numbers does it get in `broken_loss`?

# %% tags=["wrong-answer"] exercise="twice"
mended_loss = broken_loss  # the planted bug, as it came


# %% tags=["wrong-answer"] exercise="twice"
def mended_loss(scores, right):
    return nn.functional.nll_loss(scores.softmax(-1), right)  # forgets the logarithm


# %% tags=["wrong-answer"] exercise="twice"
def mended_loss(scores, right):
    return nn.functional.nll_loss(scores, right)  # no softmax at all


# %% tags=["wrong-answer"] exercise="twice"
def mended_loss(scores, right):
    shares = scores.softmax(-1)  # right, until a share is rounded to 0
    return -shares[range(len(right)), right].log().mean()


# %% [markdown]
# Where does {{FLOOR}} come from? Now that you know what `broken_loss` does to the scores, write its
# floor: the lowest loss that it can come to with $V$ words, however sure and right the model is.


# %% nbgrader={"grade_id": "floor", "solution": true}
def floor(n_words):
    """Return the lowest loss that `broken_loss` can come to with so many words."""
    ### BEGIN SOLUTION
    return math.log(1 + (n_words - 1) / math.e)  # -ln(e / (e + V - 1))
    ### END SOLUTION


# %% nbgrader={"grade_id": "floor-check", "grade": true, "points": 2}
said = returned("floor", floor(WORDS))
assert isinstance(said, float), f"return a number: floor({WORDS}) returned {said!r}"
assert abs(said - FLOOR) < 0.006, (
    f"{WORDS} words: the broken loss printed {FLOOR}, your floor is {said:.2f}. Give the last "
    "softmax the score 1 once and 0 for all others, and take minus the logarithm of the first share"
)
### BEGIN HIDDEN TESTS
for n_words in (2, 50, 1000):
    sure = torch.full((1, n_words), -50.0)
    sure[0, 0] = 50.0
    lowest = broken_loss(sure, torch.tensor([0])).item()
    assert abs(floor(n_words) - lowest) < 0.001, f"this is not the floor of {n_words} words"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="floor"
# However sure the model is, the last softmax gets nearly 1 for the right word and nearly 0 for all
# others, and takes these for scores: one power $e^1$ and $V - 1$ powers $e^0$.


# %% tags=["wrong-answer"] exercise="floor"
def floor(n_words):
    return math.log(n_words)  # the loss of a model that knows nothing


# %% tags=["wrong-answer"] exercise="floor"
def floor(n_words):
    return 0.0  # what a sound loss comes to


# %% tags=["wrong-answer"] exercise="floor"
def floor(n_words):
    return FLOOR  # right for so many words only


# %% [markdown]
# ## 8. A loop with three bugs
#
# *Find and fix a planted bug · 10 min · hard · book 2, taken as known*
#
# `broken` should fit a line, then predict twice with the same trained model. It raises no error.
# But its loss does not come down, and the two predictions differ. Three of the mistakes of
# [PyTorch](03_torch.ipynb) are in it. Fix them in `mended`; keep `new_model()`, the optimizer and
# the 200 steps.

# %% tags=["variant"] exercise="loop"
SLOPE_OF_LINE = choose(2.0, -2.0, 3.0, 1.5, -1.5, 2.5, -3.0)


# %%
def new_model():
    """Return the same small model at each call, and its optimizer."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(1, 64), nn.Dropout(0.1), nn.Linear(64, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


# %% tags=["bug"] exercise="loop" bug="slopes never set to zero" caught="near the mean"
def broken(x, y):
    """Train on x (B, 1) and y (B); return the losses, and two predictions (B, 1) for x."""
    model, optimizer = new_model()
    losses = []
    for _ in range(200):
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return losses, model(x), model(x)


# %% tags=["bug"] exercise="loop" bug="slopes set to zero only once" caught="near the mean"
def broken(x, y):
    """Train on x (B, 1) and y (B); return the losses, and two predictions (B, 1) for x."""
    model, optimizer = new_model()
    optimizer.zero_grad()
    losses = []
    for _ in range(200):
        loss = ((model(x)[:, 0] - y[:, None]) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return losses, model(x), model(x)


# %% tags=["bug"] exercise="loop" bug="slopes set to zero after the loop" caught="near the mean"
def broken(x, y):
    """Train on x (B, 1) and y (B); return the losses, and two predictions (B, 1) for x."""
    model, optimizer = new_model()
    losses = []
    for _ in range(200):
        loss = ((y - model(x)) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    optimizer.zero_grad()
    model.train()
    with torch.no_grad():
        return losses, model(x), model(x)


# %%
x = torch.linspace(-1, 1, 32)[:, None]
losses, once, again = broken(x, SLOPE_OF_LINE * x[:, 0])
print("loss at steps 0, 50, 100, 150:", *(f"{loss:.2f}" for loss in losses[::50]))
print("two predictions for -1:", f"{once[0].item():.2f}, {again[0].item():.2f}")
print(f"wanted: {-SLOPE_OF_LINE:.2f}")


# %% nbgrader={"grade_id": "loop", "solution": true}
def mended(x, y):
    """Train on x (B, 1) and y (B); return the losses, and two predictions (B, 1) for x."""
    ### BEGIN SOLUTION
    model, optimizer = new_model()
    losses = []
    for _ in range(200):
        optimizer.zero_grad()
        loss = ((model(x) - y[:, None]) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        return losses, model(x), model(x)
    ### END SOLUTION


# %% nbgrader={"grade_id": "loop-learns", "grade": true, "points": 3}
def scattered(slope, start):
    """Points that lie in turn above and below a line: x (B, 1), y (B), and the line itself (B)."""
    x = torch.linspace(-1, 1, 32)[:, None]
    line = slope * x[:, 0] + start
    return x, line + 0.4 * line.std() * torch.tensor([1.0, -1.0]).repeat(16), line


def try_losses(losses, x, y):
    """See that the losses begin with the one of the new model, dropout or not."""
    first = ((new_model()[0](x) - y[:, None]) ** 2).mean().item()
    assert 0.5 * first < losses[0] < 2 * first, (
        f"a new model begins near {first:.2f}, and your losses at {losses[0]:.2f}: return "
        "those that it had while it was trained"
    )


def try_line(slope, start):
    """Fit a line through points beside one, and look for the symptoms one by one."""
    x, y, line = scattered(slope, start)
    losses, predicted, _ = returned("mended", mended(x, y))
    assert len(losses) == 200, f"200 steps were asked for; there are {len(losses)} losses"
    assert predicted.shape == (32, 1), f"predictions are (B, 1), yours {tuple(predicted.shape)}"
    late = torch.tensor(losses[100:])
    assert late.max() - late.min() < 0.3 * y.var(), (
        "the loss swings: each step goes along the sum of all slopes so far. What must be done in "
        "each step before `backward`?"
    )
    assert predicted.std() > 0.5 * y.std(), (
        "all predictions are near the mean of the answers: which shape has `model(x) - y`?"
    )
    assert ((predicted[:, 0] - line) ** 2).mean() < 0.05 * line.var(), (
        "it learns, and not this line: the points lie beside it, in turn above and below, and the "
        "model's predictions are to lie on it"
    )
    try_losses(losses, x, y)


try_line(SLOPE_OF_LINE, 0.0)
### BEGIN HIDDEN TESTS
try_line(-3.5, 1.0)
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "loop-grades", "grade": true, "points": 1}
x, y, line = scattered(SLOPE_OF_LINE, 0.0)
answer = returned("mended", mended(x, y))
assert answer[1].isfinite().all(), "the predictions are no numbers: mend the training first"
assert torch.equal(answer[1], answer[2]), (
    "the same model gives two answers to the same input: dropout is still on. `no_grad` does not "
    "switch it off"
)
assert answer[1].diff(n=2, dim=0).abs().max() < 1e-3, (
    "this model can draw nothing but a line, and your predictions lie on none"
)
try_losses(answer[0], x, y)
### BEGIN HIDDEN TESTS
losses = mended(x, line)[0]  # a model without dropout fits what lies on a line to the last digit
assert min(losses) > 1e-6, "dropout was taken out of the training too; it belongs there"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="loop"
# One bug is in what is subtracted, one in what each step needs before `backward`, one in what is
# missing after the training.

# %% [markdown] tags=["hint"] exercise="loop"
# Print the shape of what is squared. It should hold B numbers, not B times B.

# %% tags=["wrong-answer"] exercise="loop"
mended = broken  # each planted bug, as it came


# %% tags=["wrong-answer"] exercise="loop"
def mended(x, y):
    model, optimizer = new_model()
    losses = []
    for _ in range(200):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()  # still every prediction against every answer
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        return losses, model(x), model(x)


# %% tags=["wrong-answer"] exercise="loop"
def mended(x, y):
    model, optimizer = new_model()
    losses = []
    optimizer.zero_grad()  # once, before the loop
    for _ in range(200):
        loss = ((model(x) - y[:, None]) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        return losses, model(x), model(x)


# %% tags=["wrong-answer"] exercise="loop"
def mended(x, y):
    model, optimizer = new_model()
    losses = []
    for _ in range(200):
        optimizer.zero_grad()
        loss = ((model(x) - y[:, None]) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():  # takes this for the switch that stops dropout
        return losses, model(x), model(x)


# %% tags=["wrong-answer"] exercise="loop"
def mended(x, y):
    model, optimizer = new_model()
    model.eval()  # before the training: no dropout there either
    losses = []
    for _ in range(200):
        optimizer.zero_grad()
        loss = ((model(x) - y[:, None]) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return losses, model(x), model(x)
