# %% [markdown]
# # Exercises: before attention
#
# {{EXERCISES}} exercises in rising order, about {{MINUTES}} minutes in all. Write where a cell says
# so; the check under it says what is wrong. A check without a message has passed. Some tests are
# kept for whoever grades, so check your own work beyond what the cell shows. Values in capitals may
# be your own: use their names. Where a question asks for words, a person marks them.
#
# <small>Book 1.1, KAIST deck 1 · after [neurons](01_neurons.ipynb),
# [back-propagation](02_backprop.ipynb), [word vectors](06_word_vectors.ipynb), [Elman's
# network](07_rnn.ipynb) and [the LSTM](08_lstm.ipynb); two exercises stand at side roads,
# [Hopfield](04_hopfield.ipynb) and [ELMo](10_elmo.ipynb) · no data, no GPU</small>

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
from itertools import product

import torch
from torch import nn

# %%
from deepdive.core.checks import missed, returned

# %% tags=["variant"]
from deepdive_book.course.assignment.variants import choose, number, permutation, rename, sample

# %% [markdown]
# ## 1. One unit, or none
#
# *Predict, then run · 8 min · easy · book 1.1*
#
# A unit with the weights $w_1, w_2$ and the threshold $\theta$ fires when $w_1 x_1 + w_2 x_2$
# *reaches* $\theta$. These are the answers that four units should give:
#
# | | (0, 0) | (0, 1) | (1, 0) | (1, 1) |
# |---|---|---|---|---|
# | `"a"` | {{ROWS[0][0]}} | {{ROWS[0][1]}} | {{ROWS[0][2]}} | {{ROWS[0][3]}} |
# | `"b"` | {{ROWS[1][0]}} | {{ROWS[1][1]}} | {{ROWS[1][2]}} | {{ROWS[1][3]}} |
# | `"c"` | {{ROWS[2][0]}} | {{ROWS[2][1]}} | {{ROWS[2][2]}} | {{ROWS[2][3]}} |
# | `"d"` | {{ROWS[3][0]}} | {{ROWS[3][1]}} | {{ROWS[3][2]}} | {{ROWS[3][3]}} |
#
# **Before you run anything**, on paper: which of them no unit can give? For each other one,
# set the three numbers. ([The perceptron](01_neurons.ipynb), the first sections.) The cell checks
# three of the four.

# %% tags=["variant"] exercise="units"
ROWS = permutation(
    [
        choose((0, 1, 1, 1), (0, 0, 0, 1), (0, 0, 1, 1), (0, 1, 0, 1)),
        *sample(
            ((1, 1, 1, 0), (0, 0, 1, 0), (1, 0, 0, 0), (1, 0, 1, 1), (0, 1, 0, 0), (1, 1, 0, 1)), 2
        ),
        choose((0, 1, 1, 0), (1, 0, 0, 1)),
    ]
)


# %% nbgrader={"grade_id": "units", "solution": true}
def units():
    """Return {"a": (w1, w2, theta), ...}, with "none" where no unit will do."""
    ### BEGIN SOLUTION
    corners = list(product([0, 1], repeat=2))
    found = dict.fromkeys("abcd", "none")
    for name, row in zip("abcd", ROWS, strict=True):
        for w1, w2, theta in product([-1, 0, 1], [-1, 0, 1], [-1, 0, 1, 2]):
            if tuple(int(w1 * x1 + w2 * x2 >= theta) for x1, x2 in corners) == row:
                found[name] = (w1, w2, theta)
    return found
    ### END SOLUTION


# %% nbgrader={"grade_id": "units-check", "grade": true, "points": 3} own="predict"
from deepdive.models.classic.perceptron import Perceptron
from deepdive.models.classic.threshold import ThresholdUnit

corners = torch.tensor(list(product([0.0, 1.0], repeat=2)))
said = returned("units", units())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
assert set(said) == set("abcd"), f"the rows are called a, b, c and d, yours {sorted(said)}"


def try_row(name, row):
    """Compare what was said of a row with what the perceptron learns, and with the unit itself."""
    row = torch.tensor(row)
    if said[name] == "none":
        lesson = Perceptron(2).learn(corners, 2 * row - 1)
        assert lesson.clean is None, (
            f"{name}: a perceptron learns it, so one line does part the corners. Draw the square "
            "and the line; an input that inhibits has a weight below 0"
        )
        return
    *w, theta = said[name]
    assert len(w) == 2, f"{name}: two weights and a threshold are three numbers, not {len(w) + 1}"
    for corner, wanted in zip(corners, row.tolist(), strict=True):
        fires = ThresholdUnit(torch.tensor(w).float(), theta)(corner)
        assert fires == wanted, (
            f"{name}: at {corner.int().tolist()} the sum is {corner @ torch.tensor(w).float():g}, "
            f"so with a threshold of {theta:g} the unit {'fires' if fires else 'stays silent'}. It "
            "should not. Write all four sums down: does one threshold part them? If none does for "
            "any weights, no unit will do"
        )


for name, row in list(zip("abcd", ROWS, strict=True))[:3]:
    try_row(name, row)
### BEGIN HIDDEN TESTS
try_row("d", ROWS[3])
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="units"
# Draw the four corners of a square, full where the answer is 1. A unit is a line: all full corners
# lie on one side. For which row do they lie across from each other?

# %% [markdown] tags=["hint"] exercise="units"
# Try weights of 1 and $-1$ first: $-1$ for an input whose 1 speaks against firing. Then write down
# the four sums and put the threshold at the lowest of those that must fire.


# %% tags=["wrong-answer"] exercise="units"
def units():  # fires above the threshold, not when the sum reaches it
    found = dict.fromkeys("abcd", "none")
    for name, row in zip("abcd", ROWS, strict=True):
        for w1, w2, low in product([-1, 0, 1], [-1, 0, 1], [-2, -1, 0, 1]):
            if all((w1 * a + w2 * b > low) == row[2 * a + b] for a in (0, 1) for b in (0, 1)):
                found[name] = (w1, w2, low)
    return found


# %% tags=["wrong-answer"] exercise="units"
def units():  # no weight below 0
    found = dict.fromkeys("abcd", "none")
    for name, row in zip("abcd", ROWS, strict=True):
        for w1, w2, low in product([0, 1], [0, 1], [0, 1, 2]):
            if all((w1 * a + w2 * b >= low) == row[2 * a + b] for a in (0, 1) for b in (0, 1)):
                found[name] = (w1, w2, low)
    return found


# %% tags=["wrong-answer"] exercise="units"
def units():  # a unit for each row: one that fires when any input is 1
    return dict.fromkeys("abcd", (1, 1, 1))


# %% [markdown]
# ## 2. Learn from mistakes, and know when to stop
#
# *Code · 10 min · medium · book 1.1*
#
# Write the perceptron's rule. Start at $w = 0$, $b = 0$. Go through the examples in their order,
# again and again. An example with $y\,(w \cdot x + b) \le 0$ is a mistake: add $y x$ to $w$ and $y$
# to $b$. Stop with `"learned"` after a pass without a mistake. Stop with `"circle"` when a pass
# ends with weights with which an earlier pass ended, or with which you started: then it goes round
# for ever. x is (N, d), y (N,) holds $-1$ and $+1$; all are whole numbers, so equal means equal.
#
# The check has a square of side {{SIDE}}, its corners in the order (0, 0), (0, 1), (1, 0), (1, 1):
# once number {{SINGLE}}, counted from 0, against the others, and once opposite corners together. If
# a cell does not end, interrupt it: the circle went unnoticed.

# %% tags=["variant"] exercise="perceptron"
SIDE = number(1, 5)
SINGLE = choose(3, 0, 1, 2)
rename("perceptron_rule", "rule_of_mistakes", "rosenblatts_rule")


# %% nbgrader={"grade_id": "perceptron", "solution": true}
def perceptron_rule(x, y):
    """Return (w, b, "learned" or "circle"), with w a tensor (d,) and b a number."""
    ### BEGIN SOLUTION
    w, b = torch.zeros(x.shape[1]), 0.0
    seen = [(w.tolist(), b)]
    while True:
        mistakes = 0
        for x_i, y_i in zip(x, y.tolist(), strict=True):
            if y_i * (w @ x_i + b) <= 0:
                w, b, mistakes = w + y_i * x_i, b + y_i, mistakes + 1
        if not mistakes:
            return w, b, "learned"
        if (w.tolist(), b) in seen:
            return w, b, "circle"
        seen.append((w.tolist(), b))
    ### END SOLUTION


# %% nbgrader={"grade_id": "perceptron-check", "grade": true, "points": 3}
from deepdive.models.classic.perceptron import Perceptron


def try_labels(x, y, name):
    """Compare weights and verdict with the library's perceptron."""
    found = returned("perceptron_rule", perceptron_rule(x.clone(), y.clone()))
    assert isinstance(found, tuple), f"{name}: return (w, b, verdict)"
    assert len(found) == 3, f"{name}: return (w, b, verdict), not {len(found)} things"
    w, b, verdict = found
    right = Perceptron(x.shape[1])
    told = "circle" if right.learn(x, y, passes=1000).clean is None else "learned"
    assert verdict == told, (
        f"{name}: you say {verdict!r}, and it is {told!r}. A point on the line is a mistake too; "
        "and a circle is proved by weights that come back, not by a number of passes"
    )
    assert torch.allclose(w.double(), right.w), (
        f"{name}: your w is {w.tolist()}, the rule gives {right.w.tolist()}. A right answer "
        "changes nothing, a mistake changes w by y x, at once"
    )
    assert abs(float(b) - right.b) < 1e-6, (
        f"{name}: your b is {float(b):g}, the rule's {right.b:g}: b changes by y at each mistake"
    )


square = SIDE * torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]])
alone = -torch.ones(4)
alone[SINGLE] = 1
try_labels(square, alone, "one corner")
try_labels(square, torch.tensor([-1, 1, 1, -1]), "opposite corners")
### BEGIN HIDDEN TESTS
for labels in product([-1, 1], repeat=4):
    try_labels(square, torch.tensor(labels), f"labels {labels}")
narrow = torch.tensor([[9.0, 10], [10, 9], [8, 9], [9, 8]])
try_labels(narrow, torch.tensor([1, -1, 1, -1]), "a narrow gap")
far = torch.tensor([[-3.0, 1], [2, 5], [4, -4], [6, 7], [-1, -1]])
try_labels(far, torch.tensor([-1, 1, -1, 1, -1]), "five points")
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="perceptron"
# Count the mistakes of each pass. Keep the weights after each pass in a list that begins with the
# zeros; `w.tolist()` can be compared with `==`.

# %% [markdown] tags=["hint"] exercise="perceptron"
# `w += ...` changes the tensor that your list may hold. `w = w + ...` makes a new one.


# %% tags=["wrong-answer"] exercise="perceptron"
def perceptron_rule(x, y):  # points on the line pass for right
    w, b = torch.zeros(x.shape[1]), 0.0
    seen = [(w.tolist(), b)]
    while True:
        mistakes = 0
        for x_i, y_i in zip(x, y.tolist(), strict=True):
            if y_i * (w @ x_i + b) < 0:
                w, b, mistakes = w + y_i * x_i, b + y_i, mistakes + 1
        if not mistakes:
            return w, b, "learned"
        if (w.tolist(), b) in seen:
            return w, b, "circle"
        seen.append((w.tolist(), b))


# %% tags=["wrong-answer"] exercise="perceptron"
def perceptron_rule(x, y):  # calls it a circle when it has taken long
    w, b = torch.zeros(x.shape[1]), 0.0
    for _ in range(5):
        mistakes = 0
        for x_i, y_i in zip(x, y.tolist(), strict=True):
            if y_i * (w @ x_i + b) <= 0:
                w, b, mistakes = w + y_i * x_i, b + y_i, mistakes + 1
        if not mistakes:
            return w, b, "learned"
    return w, b, "circle"


# %% tags=["wrong-answer"] exercise="perceptron"
def perceptron_rule(x, y):  # no threshold: every line goes through the origin
    w, seen = torch.zeros(x.shape[1]), []
    while w.tolist() not in seen:
        seen.append(w.tolist())
        before = w
        for x_i, y_i in zip(x, y.tolist(), strict=True):
            if y_i * (w @ x_i) <= 0:
                w = w + y_i * x_i
        if torch.equal(w, before) and (y * (x @ w) > 0).all():
            return w, 0.0, "learned"
    return w, 0.0, "circle"


# %% [markdown]
# ## 3. Store, and repair
#
# *Code, then predict · 12 min · medium · book 1.1*
#
# Write the two halves of Hopfield's memory for units of $-1$ and 1. `stored_links` stores patterns
# by Hebb's rule; `recalled_state` sets one unit after another to the sign of its field, round after
# round, until a whole round moves none. A unit whose field is 0 stays as it is. ([Hopfield's
# memory](04_hopfield.ipynb) has the equations. If a cell does not end, interrupt it: something
# swings for ever.) The check damages unit {{DAMAGED}} of six.

# %% tags=["variant"] exercise="hopfield"
DAMAGED = number(0, 5)
UNITS = number(12, 60, 4)
WRONG = [0, *sorted(sample((1, 2, 3, 4, 5), 2))]
rename("stored_links", "hebbs_links", "memory_links")
rename("recalled_state", "settled_state", "state_at_rest")


# %% nbgrader={"grade_id": "hopfield", "solution": true}
def stored_links(patterns):
    """Return W (N, N) for patterns (S, N): sums of products, 0 on the diagonal."""
    ### BEGIN SOLUTION
    W = patterns.T @ patterns
    return W - W.diagonal().diag()
    ### END SOLUTION


def recalled_state(W, state):
    """Return the state (N,) that no unit leaves any more; leave the one given as it was."""
    ### BEGIN SOLUTION
    state, moved = state.clone(), True
    while moved:
        moved = False
        for i in range(len(state)):
            if W[i] @ state * state[i] < 0:
                state[i], moved = -state[i], True
    return state
    ### END SOLUTION


# %% nbgrader={"grade_id": "hopfield-check", "grade": true, "points": 3}
pair = torch.tensor([[1.0, 1, -1, -1], [1, -1, 1, -1]])
W = returned("stored_links", stored_links(pair))
assert isinstance(W, torch.Tensor), f"return the links, a tensor, not {W!r}"
assert W.shape == (4, 4), f"four units have (4, 4) links, yours are {tuple(W.shape)}"
assert W.diagonal().abs().max() == 0, (
    f"the diagonal is {W.diagonal().tolist()}: no unit is linked with itself, or it would only "
    "hear what it says"
)
assert W[0, 3] == -2, (
    f"units 0 and 3 differ in both patterns, so their link is -1 - 1 = -2; yours is {W[0, 3]:g}"
)
one = torch.tensor([1.0, 1, 1, -1, -1, -1])
damaged = one.clone()
damaged[DAMAGED] *= -1
kept = damaged.clone()
answer = returned("recalled_state", recalled_state(stored_links(one[None]), damaged))
assert torch.equal(damaged, kept), "the state that was given is changed: clone it first"
assert torch.equal(answer, one), f"one wrong unit of six is not repaired: {answer.tolist()}"
swing = recalled_state(torch.tensor([[0.0, 1], [1, 0]]), torch.tensor([1.0, -1]))
assert swing[0] == swing[1], (
    f"two units that want to agree end as {swing.tolist()}: set one unit at a time, each from the "
    "newest state"
)
chain = torch.tensor([[0.0, 1, 0, 0], [1, 0, 2, 0], [0, 2, 0, 3], [0, 0, 3, 0]])
answer = recalled_state(chain, torch.tensor([1.0, 1, 1, -1]))
assert torch.equal(answer, -torch.ones(4)), (
    f"a chain whose last link is the strongest must end as its last unit, yours is "
    f"{answer.tolist()}: a unit that moved may make others move, so go on with another round"
)
### BEGIN HIDDEN TESTS
still = torch.tensor([1.0, -1, 1])
assert torch.equal(recalled_state(torch.zeros(3, 3), still), still), "a unit whose field is 0 stays"
draw = torch.Generator().manual_seed(3)
many = 2.0 * torch.randint(2, (3, 40), generator=draw) - 1
start = 2.0 * torch.randint(2, (40,), generator=draw) - 1
end = recalled_state(stored_links(many), start)
assert (stored_links(many) @ end * end >= 0).all(), (
    "a unit still wants to move: go on until none does"
)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="hopfield"
# `patterns.T @ patterns` sums all products of two units over the patterns; take the diagonal away.

# %% [markdown] tags=["hint"] exercise="hopfield"
# Unit `i` wants to move when `W[i] @ state` and `state[i]` have opposite signs. Go through all
# units in a loop, and repeat the loop while something moved.


# %% tags=["wrong-answer"] exercise="hopfield"
def stored_links(patterns):  # keeps the diagonal
    return patterns.T @ patterns


def recalled_state(W, state):
    for _ in range(10):
        for i in range(len(state)):
            state = state.clone()
            state[i] = (W[i] @ state).sign()
    return state


# %% tags=["wrong-answer"] exercise="hopfield"
def stored_links(patterns):
    W = patterns.T @ patterns
    return W - W.diagonal().diag()


def recalled_state(W, state):  # all units at once
    for _ in range(10):
        state = torch.where(W @ state == 0, state, (W @ state).sign())
    return state


# %% tags=["wrong-answer"] exercise="hopfield"
def stored_links(patterns):
    W = patterns.T @ patterns
    return W - W.diagonal().diag()


def recalled_state(W, state):  # one round only
    state = state.clone()
    for i in range(len(state)):
        if W[i] @ state * state[i] < 0:
            state[i] = -state[i]
    return state


# %% [markdown]
# **Predict**: one pattern of {{UNITS}} units is stored. Which energy,
# $-\frac{1}{2} \sum_{ij} W_{ij} s_i s_j$, has a state with {{WRONG}} wrong units? The cell checks
# the first two.


# %% nbgrader={"grade_id": "energies", "solution": true}
def energies():
    """Return {wrong units: energy}, for each number of WRONG, with one pattern of UNITS stored."""
    ### BEGIN SOLUTION
    return {k: -((UNITS - 2 * k) ** 2 - UNITS) / 2 for k in WRONG}
    ### END SOLUTION


# %% nbgrader={"grade_id": "energies-check", "grade": true, "points": 2} own="predict"
from deepdive.models.classic.hopfield import hebbian

said = returned("energies", energies())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
assert set(said) == set(WRONG), f"expected the keys {WRONG}, yours are {sorted(said)}"
pattern = 2.0 * torch.randint(2, (UNITS,)) - 1


def measured(k):
    """The energy of the pattern with k units turned."""
    state = pattern.clone()
    state[:k] *= -1
    return hebbian(pattern[None]).energy(state).item()


for k in WRONG[:2]:
    assert abs(said[k] - measured(k)) < 0.5, (
        f"{k} wrong: {missed(said[k], measured(k))}. Each pair of units that "
        "agrees with the pattern gives -1, each other pair 1: how many pairs are there, and how "
        "many hold one wrong unit and one right one?"
    )
### BEGIN HIDDEN TESTS
assert abs(said[WRONG[2]] - measured(WRONG[2])) < 0.5, "the last energy is off: a formula for all?"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="energies"
# Turn units so that the pattern is 1 everywhere: all links are 1, and the sum over all $i$ and $j$
# of $s_i s_j$ is the square of the sum of the state. Then take the diagonal away, and halve.


# %% tags=["wrong-answer"] exercise="energies"
def energies():  # counts each unit's link with itself
    return {k: -((UNITS - 2 * k) ** 2) / 2 for k in WRONG}


# %% tags=["wrong-answer"] exercise="energies"
def energies():  # counts each pair twice
    return {k: UNITS - (UNITS - 2 * k) ** 2 for k in WRONG}


# %% tags=["wrong-answer"] exercise="energies"
def energies():  # thinks that each wrong unit costs the same
    return {k: -UNITS * (UNITS - 1) / 2 + (UNITS - 1) * k for k in WRONG}


# %% [markdown]
# ## 4. One pull, two pushes
#
# *Derive, then code · 9 min · medium · book 1.1*
#
# The loss of word2vec for one word $u$, its neighbor $v$ and $k$ drawn words $n_j$ is
# $-\ln \sigma(u \cdot v) - \sum_j \ln \sigma(-u \cdot n_j)$. Derive its slope for $u$ on paper, and
# write it **without** autograd: each error times the other vector. ([Word
# vectors](06_word_vectors.ipynb) does it with numbers.) The check takes $u$ = {{WORD}},
# $v$ = {{NEIGHBOR}} and the drawn words {{DRAWN}}.

# %% tags=["variant"] exercise="sgns"
WORD = choose((1.0, 2.0), (2.0, -1.0), (0.5, 1.5), (-1.0, 1.0))
NEIGHBOR = choose((1.0, 0.5), (-0.5, 2.0), (1.5, 1.0))
DRAWN = sample(((1.0, -1.0), (0.0, 2.0), (-1.5, 0.5), (2.0, 0.5)), 2)
rename("sgns_slope", "word_slope", "slope_for_word")


# %% nbgrader={"grade_id": "sgns", "solution": true}
def sgns_slope(u, v, drawn):
    """Return d loss / d u (d,), for u and v (d,) and drawn (k, d)."""
    ### BEGIN SOLUTION
    return (torch.sigmoid(u @ v) - 1) * v + torch.sigmoid(drawn @ u) @ drawn
    ### END SOLUTION


# %% nbgrader={"grade_id": "sgns-check", "grade": true, "points": 3}
def by_autograd(u, v, drawn):
    u = u.clone().requires_grad_()
    loss = -nn.functional.logsigmoid(u @ v) - nn.functional.logsigmoid(-drawn @ u).sum()
    return torch.autograd.grad(loss, u)[0]


def short(row):
    """Three digits of each number, for messages."""
    return [round(number, 3) for number in row.tolist()]


u, v, drawn = torch.tensor(WORD), torch.tensor(NEIGHBOR), torch.tensor(DRAWN)
found, right = returned("sgns_slope", sgns_slope(u, v, drawn)), by_autograd(u, v, drawn)
assert isinstance(found, torch.Tensor), f"return a tensor, not {found!r}"
assert found.shape == (2,), f"one slope for each number of u: (2,), yours is {tuple(found.shape)}"
assert not torch.allclose(found, -right, atol=1e-4), (
    "the sign is turned: a step *against* the slope must bring u towards v"
)
pull = by_autograd(u, v, drawn[:0])
assert torch.allclose(sgns_slope(u, v, drawn[:0]), pull, atol=1e-4), (
    f"with no word drawn the pull is {short(pull)}, and yours "
    f"{short(sgns_slope(u, v, drawn[:0]))}: what is the slope of -ln sigma(s), and of which sign?"
)
assert torch.allclose(found, right, atol=1e-4), (
    f"autograd says {short(right)}, you {short(found)}. The pull is right; the error of a "
    "drawn word is above 0, and the slopes of all drawn words add up"
)
### BEGIN HIDDEN TESTS
many = torch.randn(7, 5, generator=torch.Generator().manual_seed(1))
free = torch.linspace(-1, 1, 5)
assert torch.allclose(
    sgns_slope(free, many[0], many[1:]), by_autograd(free, many[0], many[1:]), atol=1e-5
), "with six drawn words of five numbers it is off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="sgns"
# The slope of $-\ln \sigma(s)$ is $\sigma(s) - 1$; that of $-\ln \sigma(-s)$ is $\sigma(s)$.

# %% [markdown] tags=["hint"] exercise="sgns"
# `torch.sigmoid(drawn @ u)` has $k$ errors; `errors @ drawn` sums the vectors that they multiply.


# %% tags=["wrong-answer"] exercise="sgns"
def sgns_slope(u, v, drawn):  # the error of the true word without the - 1
    return torch.sigmoid(u @ v) * v + torch.sigmoid(drawn @ u) @ drawn


# %% tags=["wrong-answer"] exercise="sgns"
def sgns_slope(u, v, drawn):  # the step, not the slope
    return (1 - torch.sigmoid(u @ v)) * v - torch.sigmoid(drawn @ u) @ drawn


# %% tags=["wrong-answer"] exercise="sgns"
def sgns_slope(u, v, drawn):  # the mean of the drawn words
    return (torch.sigmoid(u @ v) - 1) * v + torch.sigmoid(drawn @ u) @ drawn / max(len(drawn), 1)


# %% tags=["wrong-answer"] exercise="sgns"
def sgns_slope(u, v, drawn):  # drawn words attract
    return (torch.sigmoid(u @ v) - 1) * v + (torch.sigmoid(drawn @ u) - 1) @ drawn


# %% [markdown]
# ## 5. What may each direction see?
#
# *Predict, then run · 6 min · medium · Peters et al. 2018, section 3*
#
# A sentence of {{LENGTH}} words, places 0, 1, 2 and so on, goes through ELMo's two language models.
# The word at place {{PLACE}} is exchanged for another. **Before you run anything:** at which places
# does
#
# - `"onward"`: the guess of the next word change (the model from the left),
# - `"back"`: the guess of the word before change (the model from the right),
# - `"row"`: level 0 of the vectors change,
# - `"mix"`: the mixed vector change?
#
# Write each as a list of places. ([ELMo](10_elmo.ipynb).) The cell checks the first and the third.

# %% tags=["variant"] exercise="sees"
LENGTH = number(6, 11)
PLACE = number(1, LENGTH - 2)


# %% nbgrader={"grade_id": "sees", "solution": true}
def predicted_places():
    """Return {"onward": [...], "back": [...], "row": [...], "mix": [...]}."""
    ### BEGIN SOLUTION
    onward, back = list(range(PLACE, LENGTH)), list(range(PLACE + 1))
    return {"onward": onward, "back": back, "row": [PLACE], "mix": list(range(LENGTH))}
    ### END SOLUTION


# %% nbgrader={"grade_id": "sees-check", "grade": true, "points": 2} own="predict"
from deepdive.models.classic.elmo import tiny

said = returned("predicted_places", predicted_places())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"onward", "back", "row", "mix"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"
elmo, before = tiny(vocab_size=32).double(), torch.arange(4, 4 + LENGTH)[None]
after = before.clone()
after[0, PLACE] = 30


def places(compute):
    """Where what is computed differs between the two sentences."""
    with torch.no_grad():
        moved = (compute(after) - compute(before)).abs().flatten(2).amax(-1)[0]
    return [place for place, size in enumerate(moved.tolist()) if size > 1e-12]


assert sorted(said["row"]) == places(lambda ids: elmo.bilm.layers(ids)[0]), (
    f"row: you said {said['row']}. Level 0 is a row of a table: which words does it see?"
)
assert sorted(said["onward"]) == places(lambda ids: elmo.bilm(ids)[:, :, 0]), (
    f"onward: you said {said['onward']}. At its own place a model has read the word that stands "
    "there, and guesses the next one; it has no way to look ahead"
)
### BEGIN HIDDEN TESTS
assert sorted(said["back"]) == places(lambda ids: elmo.bilm(ids)[:, :, 1]), (
    "back is off: the model from the right reads the last word first"
)
assert sorted(said["mix"]) == places(elmo), "mix is off: which directions does it hold?"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="sees"
# At place $t$ the model from the left has read words 0 to $t$; the other has read $t$ to the last.

# %% [markdown] tags=["hint"] exercise="sees"
# The mix holds the states of both directions side by side: it changes where either does.


# %% tags=["wrong-answer"] exercise="sees"
def predicted_places():  # thinks that a model does not read the word at its own place
    onward, back = list(range(PLACE + 1, LENGTH)), list(range(PLACE))
    return {"onward": onward, "back": back, "row": [PLACE], "mix": back + onward}


# %% tags=["wrong-answer"] exercise="sees"
def predicted_places():  # one bidirectional network: everything sees everything
    everywhere = list(range(LENGTH))
    return {"onward": everywhere, "back": everywhere, "row": everywhere, "mix": everywhere}


# %% tags=["wrong-answer"] exercise="sees"
def predicted_places():  # exchanges the directions in the part that is hidden
    onward = list(range(PLACE, LENGTH))
    return {"onward": onward, "back": onward, "row": [PLACE], "mix": list(range(LENGTH))}


# %% [markdown]
# ## 6. One weight in every layer
#
# *Derive, then extend · 12 min · hard · book 1.1*
#
# On the page on [back-propagation](02_backprop.ipynb) each layer has weights of its own. Here the
# same $w$ stands in all of $n$ layers, as in a recurrent network at every step:
#
# $$h_0 = x \qquad h_k = \tanh(w h_{k-1}) \qquad y = v h_n \qquad
# \mathrm{loss} = (y - t)^2 / 2$$
#
# Derive the slopes of the loss by $w$ and by $v$ for two layers on paper. Then write them for any
# number, without autograd; the slope of tanh is $1 - h^2$. The check ends with {{LAYERS}} layers.

# %% tags=["variant"] exercise="shared"
LAYERS = number(3, 7)
XWVT = [choose(1.0, -0.7, 0.6), choose(0.5, 1.5, -0.8), choose(2.0, -1.0), choose(0.0, 1.0, -0.4)]
rename("chain_slopes", "slopes_by_hand", "both_slopes")


# %% nbgrader={"grade_id": "shared", "solution": true}
def chain_slopes(x, w, v, t, n_layers):
    """Return (slope by w, slope by v) for four numbers, each a tensor with one number."""
    ### BEGIN SOLUTION
    h = [x]
    for _ in range(n_layers):
        h.append(torch.tanh(w * h[-1]))
    dy = v * h[-1] - t
    dh, dw = dy * v, 0.0
    for k in range(n_layers, 0, -1):
        da = dh * (1 - h[k] ** 2)
        dw = dw + da * h[k - 1]
        dh = da * w
    return dw, dy * h[-1]
    ### END SOLUTION


# %% nbgrader={"grade_id": "shared-check", "grade": true, "points": 3}
def by_autograd_through(x, w, v, t, depth):
    """The slopes by autograd."""
    w, v = w.clone().requires_grad_(), v.clone().requires_grad_()
    state = x
    for _ in range(depth):
        state = torch.tanh(w * state)
    return torch.autograd.grad((v * state - t) ** 2 / 2, [w, v])


def try_slopes(numbers, n_layers):
    """Compare both slopes, and say which is off."""
    numbers = [torch.tensor(number, dtype=torch.float64) for number in numbers]
    found = returned("chain_slopes", chain_slopes(*numbers, n_layers))
    assert isinstance(found, tuple | list), "return two slopes: (by w, by v)"
    assert len(found) == 2, f"return two slopes, (by w, by v); you returned {len(found)}"
    for name, mine, right in zip("wv", found, by_autograd_through(*numbers, n_layers), strict=True):
        assert abs(float(mine) - right.item()) < 1e-8, (
            f"{n_layers} layers: your slope by {name} is {float(mine):.5f}, autograd's "
            f"{right.item():.5f}. For each place where {name} stands: the slope behind it times "
            "what came in; then the sum over the places"
        )


for depth in (1, 2, LAYERS):
    try_slopes(XWVT, depth)
### BEGIN HIDDEN TESTS
for depth in (1, 2, 3, 10):
    for x in (-1.0, 0.3):
        for w in (-0.8, 0.0, 1.1):
            try_slopes((x, w, 0.9, -0.4), depth)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="shared"
# Give the places names of their own, $w_1$ and $w_2$. Their slopes add up to that of $w$.

# %% [markdown] tags=["hint"] exercise="shared"
# Keep all $h_k$ in a list. Go back from the last layer: at $a_k = w h_{k-1}$ the slope is that at
# $h_k$ times $1 - h_k^2$. It gives $w$ its share, times $h_{k-1}$, and goes on to $h_{k-1}$, times
# $w$.


# %% tags=["wrong-answer"] exercise="shared"
def chain_slopes(x, w, v, t, n_layers):  # the last place only
    h = [x]
    for _ in range(n_layers):
        h.append(torch.tanh(w * h[-1]))
    dy = v * h[-1] - t
    return dy * v * (1 - h[-1] ** 2) * h[-2], dy * h[-1]


# %% tags=["wrong-answer"] exercise="shared"
def chain_slopes(x, w, v, t, n_layers):  # on the way back, w is left out
    h = [x]
    for _ in range(n_layers):
        h.append(torch.tanh(w * h[-1]))
    dy = v * h[-1] - t
    dh, dw = dy * v, 0.0
    for k in range(n_layers, 0, -1):
        dh = dh * (1 - h[k] ** 2)
        dw = dw + dh * h[k - 1]
    return dw, dy * h[-1]


# %% tags=["wrong-answer"] exercise="shared"
def chain_slopes(x, w, v, t, n_layers):  # the mean over the places, in the place of the sum
    h = [x]
    for _ in range(n_layers):
        h.append(torch.tanh(w * h[-1]))
    dy = v * h[-1] - t
    dh, dw = dy * v, 0.0
    for k in range(n_layers, 0, -1):
        da = dh * (1 - h[k] ** 2)
        dw, dh = dw + da * h[k - 1], da * w
    return dw / n_layers, dy * h[-1]


# %% [markdown]
# ## 7. A cell that is out of order
#
# *Find and fix a planted bug · 10 min · hard · KAIST deck 1*
#
# This is one step of an LSTM, with one bug; every shape is right, and no error is raised. Five
# trials of one unit with gates quite open (1) or quite shut (0) tell what is wrong. Before you run
# them, write down what each should give: the cell begins at {{START}}, and the candidate is the
# tanh of {{CANDIDATE}}, in `turns` of $-{{CANDIDATE}}$. ([The LSTM](08_lstm.ipynb), one step by
# hand.)

# %% tags=["variant"] exercise="cell"
START = choose(0.8, 0.6, 0.9, 1.1, 1.3)
CANDIDATE = choose(0.5, 0.3, 0.4, 0.7)
rename("mended_step", "sound_step", "step_in_order")


# %% tags=["bug"] exercise="cell" bug="the old cell is shown" caught="forgets:"
def broken_step(x, h, c, W, U, b):
    """Return the new (h, c); W (4d, d_input), U (4d, d) and b (4d) hold the blocks i, f, g, o."""
    i, f, g, o = (x @ W.T + h @ U.T + b).chunk(4, dim=-1)
    i, f, o = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
    h = o * torch.tanh(c)
    c = f * c + i * torch.tanh(g)
    return h, c


# %% tags=["bug"] exercise="cell" bug="input and forget gate are exchanged" caught="keeps:"
def broken_step(x, h, c, W, U, b):
    """Return the new (h, c); W (4d, d_input), U (4d, d) and b (4d) hold the blocks i, f, g, o."""
    i, f, g, o = (x @ W.T + h @ U.T + b).chunk(4, dim=-1)
    i, f, o = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
    c = i * c + f * torch.tanh(g)
    h = o * torch.tanh(c)
    return h, c


# %% tags=["bug"] exercise="cell" bug="nothing is ever forgotten" caught="forgets:"
def broken_step(x, h, c, W, U, b):
    """Return the new (h, c); W (4d, d_input), U (4d, d) and b (4d) hold the blocks i, f, g, o."""
    i, f, g, o = (x @ W.T + h @ U.T + b).chunk(4, dim=-1)
    i, f, o = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
    c = c + i * torch.tanh(g)
    h = o * torch.tanh(c)
    return h, c


# %% tags=["bug"] exercise="cell" bug="the candidate is never below zero" caught="writes:"
def broken_step(x, h, c, W, U, b):
    """Return the new (h, c); W (4d, d_input), U (4d, d) and b (4d) hold the blocks i, f, g, o."""
    i, f, g, o = (x @ W.T + h @ U.T + b).chunk(4, dim=-1)
    i, f, o = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
    c = f * c + i * torch.sigmoid(g)
    h = o * torch.tanh(c)
    return h, c


# %% tags=["bug"] exercise="cell" bug="the output gate is left out" caught="hides:"
def broken_step(x, h, c, W, U, b):
    """Return the new (h, c); W (4d, d_input), U (4d, d) and b (4d) hold the blocks i, f, g, o."""
    i, f, g, o = (x @ W.T + h @ U.T + b).chunk(4, dim=-1)
    i, f, o = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
    c = f * c + i * torch.tanh(g)
    h = torch.tanh(c)
    return h, c


# %% tags=["bug"] exercise="cell" bug="the output gate takes from the cell too" caught="hides:"
def broken_step(x, h, c, W, U, b):
    """Return the new (h, c); W (4d, d_input), U (4d, d) and b (4d) hold the blocks i, f, g, o."""
    i, f, g, o = (x @ W.T + h @ U.T + b).chunk(4, dim=-1)
    i, f, o = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
    c = o * (f * c + i * torch.tanh(g))
    h = torch.tanh(c)
    return h, c


# %%
TRIALS = {  # gates i, f and o, and what is put before the candidate's tanh
    "keeps": (0, 1, 1, CANDIDATE),
    "forgets": (0, 0, 1, CANDIDATE),
    "writes": (1, 0, 1, CANDIDATE),
    "turns": (1, 1, 1, -CANDIDATE),
    "hides": (0, 1, 0, CANDIDATE),
}


def one_unit(step, i, f, o, g):
    """Return (shown, cell) after one step of one unit with these gates, begun at START."""
    nothing, weights = torch.zeros(1, 1), torch.zeros(4, 1)
    b = torch.tensor([40.0 * i - 20, 40.0 * f - 20, g, 40.0 * o - 20])
    return step(nothing, nothing, nothing + START, weights, weights, b)


for name, (i, f, o, g) in TRIALS.items():
    h, c = one_unit(broken_step, i, f, o, g)
    print(f"{name}: i={i} f={f} o={o}, cell {START} -> {c.item():.2f}, shown {h.item():.2f}")

# %% [markdown]
# Fix it in `mended_step`.


# %% nbgrader={"grade_id": "cell", "solution": true}
def mended_step(x, h, c, W, U, b):
    """Return the new (h, c); W (4d, d_input), U (4d, d) and b (4d) hold the blocks i, f, g, o."""
    ### BEGIN SOLUTION
    i, f, g, o = (x @ W.T + h @ U.T + b).chunk(4, dim=-1)
    i, f, o = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
    c = f * c + i * torch.tanh(g)
    return o * torch.tanh(c), c
    ### END SOLUTION


# %% nbgrader={"grade_id": "cell-check", "grade": true, "points": 4}
WHY = {
    "keeps": "the forget gate is open, the input gate shut: the cell must stay, and be shown",
    "forgets": "both gates to the cell are shut: nothing of it may be left, nor be shown",
    "writes": "the cell is emptied, then the candidate comes in whole, through its tanh",
    "turns": "the candidate is below 0 and is added to what stays: the cell must fall",
    "hides": "the output gate is shut: the cell stays, and nothing of it is shown",
}


def by_torch(x, h, c, W, U, b):
    """One step of torch's own LSTM, which has the blocks in the same order."""
    cell = nn.LSTMCell(W.shape[1], U.shape[1])
    weights = {"weight_ih": W, "weight_hh": U, "bias_ih": b, "bias_hh": torch.zeros_like(b)}
    return torch.func.functional_call(cell, weights, (x, (h, c)))


for name, trial in TRIALS.items():
    answer = returned("mended_step", one_unit(mended_step, *trial))
    assert isinstance(answer, tuple), "return both: `return h, c`"
    (h, c), (right_h, right_c) = answer, one_unit(by_torch, *trial)
    assert torch.allclose(c, right_c, atol=1e-4), (
        f"{name}: the cell is {c.item():.2f} and should be {right_c.item():.2f}; {WHY[name]}"
    )
    assert torch.allclose(h, right_h, atol=1e-4), (
        f"{name}: shown is {h.item():.2f}, and it should be {right_h.item():.2f}; {WHY[name]}"
    )
### BEGIN HIDDEN TESTS
torch.manual_seed(0)
x, W, U, b = torch.randn(6, 4, 3), torch.randn(8, 3), torch.randn(8, 2), torch.randn(8)
mine = theirs = (torch.randn(4, 2), torch.randn(4, 2))
for row in x:
    mine, theirs = mended_step(row, *mine, W, U, b), by_torch(row, *theirs, W, U, b)
assert torch.allclose(mine[0], theirs[0], atol=1e-5), "six words on, it differs from torch's LSTM"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="cell"
# Look at the first trial whose numbers are not yours. Is it the cell that is off, or only what is
# shown of it? One line computes each.

# %% [markdown] tags=["hint"] exercise="cell"
# Go through the two lines and ask of each of $i$, $f$, $g$ and $o$: what should it multiply, and
# when?

# %% tags=["wrong-answer"] exercise="cell"
mended_step = broken_step  # the planted bug, as it came


# %% tags=["wrong-answer"] exercise="cell"
def mended_step(x, h, c, W, U, b):  # no tanh around the cell
    i, f, g, o = (x @ W.T + h @ U.T + b).chunk(4, dim=-1)
    i, f, o = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
    c = f * c + i * torch.tanh(g)
    return o * c, c


# %% tags=["wrong-answer"] exercise="cell"
def mended_step(x, h, c, W, U, b):  # shows the new candidate past the cell
    i, f, g, o = (x @ W.T + h @ U.T + b).chunk(4, dim=-1)
    i, f, o = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
    c = f * c + i * torch.tanh(g)
    return o * torch.tanh(g), c


# %% tags=["wrong-answer"] exercise="cell"
def mended_step(x, h, c, W, U, b):  # as a GRU: what is not forgotten is not written
    _, f, g, o = (x @ W.T + h @ U.T + b).chunk(4, dim=-1)
    f, o = torch.sigmoid(f), torch.sigmoid(o)
    c = f * c + (1 - f) * torch.tanh(g)
    return o * torch.tanh(c), c


# %% [markdown]
# ## 8. How far back does an error reach?
#
# *Predict, code, measure, explain · 13 min · hard · book 1.1, KAIST deck 1*
#
# An Elman network of two units reads zeros, and its state is 0; there tanh has the slope 1, so one
# step back multiplies an error by the transpose of its matrix $U$, and nothing else:
#
# $$U = \begin{pmatrix} {{SAME}} & {{OTHER}} \\ {{OTHER}} & {{SAME}} \end{pmatrix}$$
#
# **Predict**, on paper: by which factor has the error (1, 1) grown or shrunk {{STEPS}} steps
# earlier (`"along"`)? The error $(1, -1)$ (`"across"`)? And any other error, such as (1, 0.3): by
# which factor at each step, after many (`"rate"`)? The cell checks the first two.

# %% tags=["variant"] exercise="reach"
SAME = choose(0.7, 0.6, 0.8)
OTHER = choose(0.2, -0.2, 0.1, -0.1, 0.4, -0.4)
STEPS = number(5, 12)
PART = choose(0.5, 0.2, 0.1, 0.9, 0.75)
BACK = choose(50, 20, 30, 80, 100, 200)
BIAS = choose(3.0, 2.0, 4.0, 5.0)
LENGTHS = sorted(sample((10, 50, 200, 20, 30, 40, 80, 100, 150), 3))


# %% nbgrader={"grade_id": "reach", "solution": true}
def predicted_reach():
    """Return {"along": factor, "across": factor, "rate": factor a step}."""
    ### BEGIN SOLUTION
    along, across = SAME + OTHER, SAME - OTHER
    return {"along": along**STEPS, "across": across**STEPS, "rate": max(along, across)}
    ### END SOLUTION


# %% nbgrader={"grade_id": "reach-check", "grade": true, "points": 3} own="predict"
from deepdive.recurrent import LSTM, RNN, RecurrentState

said = returned("predicted_reach", predicted_reach())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"along", "across", "rate"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"


def elman_error(error, steps):
    """The error at the state `steps` before the last one, by autograd."""
    layer, start = RNN(1, 2).double(), torch.zeros(1, 2, dtype=torch.float64, requires_grad=True)
    layer.U.weight.data = torch.tensor([[SAME, OTHER], [OTHER, SAME]]).double()
    states = layer(start.new_zeros(1, steps, 1), None, RecurrentState((start,)))
    return torch.autograd.grad(states[0, -1] @ torch.tensor(error).double(), start)[0][0]


for name, error in (("along", [1.0, 1.0]), ("across", [1.0, -1.0])):
    grown = elman_error(error, STEPS)[0].item()
    assert abs(said[name] / grown - 1) < 0.04, (
        f"{name}: {missed(said[name], grown, '.3g')}. Multiply U with the "
        "error once, on paper: it keeps its direction. Then again, so many times"
    )
### BEGIN HIDDEN TESTS
late, later = (elman_error([1.0, 0.3], steps).norm().item() for steps in (60, 61))
assert abs(said["rate"] / (later / late) - 1) < 0.01, "rate: which of the two directions lasts?"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="reach"
# $U$ times (1, 1) is a number times (1, 1); so it is with $(1, -1)$, and another number.

# %% [markdown] tags=["hint"] exercise="reach"
# Any error is a sum of parts along these two. After many steps the larger factor has won.


# %% tags=["wrong-answer"] exercise="reach"
def predicted_reach():  # takes the factor once for each step, as a sum
    along, across = SAME + OTHER, SAME - OTHER
    return {"along": STEPS * along, "across": STEPS * across, "rate": max(along, across)}


# %% tags=["wrong-answer"] exercise="reach"
def predicted_reach():  # takes the numbers of the matrix one by one
    return {"along": SAME**STEPS, "across": OTHER**STEPS, "rate": SAME}


# %% tags=["wrong-answer"] exercise="reach"
def predicted_reach():  # the direction that fades faster, in the part that is hidden
    along, across = SAME + OTHER, SAME - OTHER
    return {"along": along**STEPS, "across": across**STEPS, "rate": min(along, across)}


# %% [markdown]
# Along an LSTM's cell, one step back multiplies an error by the forget gate, $f = \sigma(b)$ where
# only its bias $b$ is left. Which bias lets the part {{PART}} of an error arrive {{BACK}} steps
# earlier? Write it for any part and any number of steps; `math.log` is the logarithm.


# %% nbgrader={"grade_id": "gate", "solution": true}
def forget_bias(part, steps):
    """Return the bias b with sigmoid(b) ** steps == part."""
    ### BEGIN SOLUTION
    f = part ** (1 / steps)
    return math.log(f / (1 - f))
    ### END SOLUTION


# %% nbgrader={"grade_id": "gate-check", "grade": true, "points": 2}
b = returned("forget_bias", forget_bias(0.25, 2))
assert abs(b) < 1e-9, (
    f"two steps through a half open gate leave a quarter, and its bias is 0; yours is {b:.3f}. The "
    "gates multiply, so take a root first"
)
b = forget_bias(PART, BACK)
arrives = (1 / (1 + math.exp(-b))) ** BACK
assert abs(arrives - PART) < 1e-6, (
    f"with your bias {b:.3f} the part {arrives:.4f} arrives, not {PART}. Turn 1 / (1 + e^-b) = f "
    "round: what is e^b?"
)
### BEGIN HIDDEN TESTS
for part, steps in ((0.5, 1), (0.5, 70), (0.15, 25), (0.99, 3)):
    f = 1 / (1 + math.exp(-forget_bias(part, steps)))
    assert abs(f**steps - part) < 1e-6, f"part {part} after {steps} steps: {f**steps:.4f} arrives"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="gate"
# First the gate: $f$ to the power of the steps is the part, so $f$ is a root. Then
# $f = 1 / (1 + e^{-b})$ gives $e^b = f / (1 - f)$.


# %% tags=["wrong-answer"] exercise="gate"
def forget_bias(part, steps):  # divides the part among the steps
    f = part / steps
    return math.log(f / (1 - f))


# %% tags=["wrong-answer"] exercise="gate"
def forget_bias(part, steps):  # the gate, not the bias
    return part ** (1 / steps)


# %% tags=["wrong-answer"] exercise="gate"
def forget_bias(part, steps):  # forgets the steps
    return math.log(part / (1 - part))


# %% [markdown]
# **Measure** which part of an error arrives over {{LENGTHS}} steps: along (1, 1) in your Elman
# network, along the cell of an LSTM whose forget bias is {{BIAS}}, and in attention that looks at
# all places alike. The last has one step at any distance.

# %%
from deepdive.core import SoftmaxAttention
from deepdive.recurrent import LSTM, RNN, RecurrentState


def part_that_arrives(layer, steps):
    """The error at the first memory (h, or the cell c) for an error of 1 and 1 at the last."""
    zeros = torch.zeros(1, 2, dtype=torch.float64)
    start = tuple(zeros.clone().requires_grad_() for _ in range(layer.n_values))
    state = RecurrentState(start)
    layer(zeros.new_zeros(1, steps, 1), None, state)
    return torch.autograd.grad(state.values[-1].sum(), start[-1])[0].mean().item()


elman, lstm = RNN(1, 2).double(), LSTM(1, 2).double()
elman.U.weight.data = torch.tensor([[SAME, OTHER], [OTHER, SAME]]).double()
lstm.U.weight.data.zero_()  # its gates stand still: only the bias is left
lstm.W.bias.data.chunk(4)[1].fill_(BIAS)
for n in LENGTHS:
    v = torch.zeros(1, 1, n, 2, requires_grad=True)
    mixed = SoftmaxAttention()(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, n, 2), v)
    alike = torch.autograd.grad(mixed.sum(), v)[0][0, 0, 0].mean().item()
    parts = part_that_arrives(elman, n), part_that_arrives(lstm, n), alike
    print(f"{n} steps: Elman {parts[0]:.1e}, LSTM {parts[1]:.1e}, attention {parts[2]:.1e}")

# %% [markdown]
# **Explain** in three or four sentences, with the numbers that you measured: which of the three
# columns are powers of a factor, which factor has each, and how do your numbers show it? What would
# it take for the LSTM to keep half at your longest length? What is the other column instead, and
# could training make it 1?

# %% [markdown] nbgrader={"grade_id": "reach-why", "grade": true, "solution": true, "points": 3}
# ### BEGIN SOLUTION
# Elman: {{SAME}} and {{OTHER}} added, to the power of the length; LSTM: the sigmoid of {{BIAS}} to
# that power. Two lengths of {{LENGTHS}} show it: the quotient of their numbers is the factor to the
# power of the difference. Half at the longest needs a gate whose power is a half,
# `forget_bias(0.5, ...)`, so nearly open. Attention has no product over steps: it gives each of $n$
# places its share, here $1/n$. A trained score can make the share of one place nearly 1, at any
# distance; then the others get nothing.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="reach-why"
# - **3 points**: names both factors and proves one by two of its own numbers, gives the bias or the
#   gate for a half, and says that the last column is a share, not a power.
# - **1 point**: right in one or two of these, or in all without numbers of its own.
# - **0 points**: no number that was measured, or takes the last column for a power too.
