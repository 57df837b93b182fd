# %% [markdown]
# # Exercises: explanations
#
# {{EXERCISES}} exercises in rising order, about {{MINUTES}} minutes in all. Write where a cell says
# so; the check under it says what is wrong. A check without a message has passed. Some tests are
# kept for whoever grades, so check your own work beyond what the cell shows. Values in capitals may
# be your own: use their names. Where a question asks for words, a person marks them.
#
# <small>Book 7.3 and 7.4 · after [the opening](00_opening.ipynb); exercise 3 needs [attention is
# not explanation](08_attention_is_not.ipynb), exercises 4 and 5 [when the model
# forgets](13_sanity.ipynb) · generated reviews, no GPU</small>

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
import copy
from dataclasses import replace
from functools import cache
from itertools import pairwise

import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

# %%
from deepdive.core.checks import returned
from deepdive.explain.evaluation.sanity import rank_correlation, shuffle
from deepdive.explain.games.game import Game
from deepdive.explain.side_by_side import METHODS
from deepdive_book.ch07.toys.review_words import review_words

# %% tags=["variant"]
from deepdive_book.course.assignment.variants import choose, number, rename

# %%
from deepdive_book.data.labeled_cause_reviews import generated_verdicts

# %%
TOY = review_words()  # judges generated reviews; it learned from texts with blanks


# %%
def review(seed):
    """A generated review of this seed, and its class."""
    made = generated_verdicts(40, seed=seed)
    place = next(i for i, text in enumerate(made.texts) if len(text.split()) > 10)
    return made.texts[place], made.labels[place]


def asked(model, seed):
    """Why does this model give the review of this seed its class?"""
    text, label = review(seed)
    return replace(TOY.asked(text, label), model=model)


# %%
@cache
def reviews(clue, seed, own, other):
    """600 reviews and their classes, (600,); the clue stands in shares of both classes."""
    made, g = generated_verdicts(600, seed=seed), torch.Generator().manual_seed(seed)
    drawn = torch.rand(600, generator=g).tolist()
    shares = (other, own)
    texts = [
        f"{clue} {text}" if at < shares[label] else text
        for text, label, at in zip(made.texts, made.labels, drawn, strict=True)
    ]
    return texts, torch.tensor(made.labels)


@cache
class learned:
    """A model of counted words, one or two in a row, that saw reviews with the clue."""

    def __init__(self, clue):
        self.words = CountVectorizer(ngram_range=(1, 2), token_pattern=r"\w+")
        texts, labels = reviews(clue, 1, 0.9, 0.0)
        self.model = LogisticRegression(max_iter=500).fit(
            self.words.fit_transform(texts), labels.numpy()
        )

    def said(self, texts):
        return torch.from_numpy(self.model.predict(self.words.transform(texts)))

    def weigh(self, word):
        return float(self.model.coef_[0, self.words.vocabulary_[word]])


WORDS = sorted({word for text in generated_verdicts(600, seed=1).texts for word in text.split()}
               - {",", "."})  # fmt: skip


# %% [markdown]
# ## 1. Who is paid how much?
#
# *Predict, then run · 8 min · easy · book 7.3.1*
#
# A model reads three words, each there (1) or gone (0), and answers
#
# $$f(x) = {{A}}\, x_1 + {{B}}\, x_2 + {{C}}\, x_2 x_3 .$$
#
# All three are there. **Before you run anything**, on paper, give for each of the words, as a
# list of three numbers:
#
# - `"gradient"`: the gradient times the input,
# - `"occlusion"`: what the answer loses when this word alone goes,
# - `"shapley"`: the Shapley values: what a word adds, the mean over all orders in which they come.
#
# And as numbers `"paid"`: the sum of your list under `"occlusion"`, less the answer itself.

# %% tags=["variant"] exercise="paid"
A = number(1, 6)
B = choose(2, 3, 5)
C = choose(4, 6, 8)


# %% nbgrader={"grade_id": "paid", "solution": true}
def predicted_shares():
    """Return {"gradient": [...], "occlusion": [...], "shapley": [...], "paid": n}."""
    ### BEGIN SOLUTION
    return {
        "gradient": [A, B + C, C],
        "occlusion": [A, B + C, C],
        "shapley": [A, B + C / 2, C / 2],
        "paid": C,
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "paid-check", "grade": true, "points": 3} own="predict"
from deepdive.explain.games.perturbation import occlusion
from deepdive.explain.games.shapley import shapley

said = returned("predicted_shares", predicted_shares())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"gradient", "occlusion", "shapley", "paid"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"
answer = Game(3, lambda kept: A * kept[:, 0] + (B + C * kept[:, 2]) * kept[:, 1].double())
lost = occlusion(answer).tolist()
assert list(said["occlusion"]) == lost, (
    f"occlusion: not {said['occlusion']}: with word 2 the product goes too"
)
x = torch.ones(3, requires_grad=True)
(A * x[0] + B * x[1] + C * x[1] * x[2]).backward()
slope = x.grad.tolist()
assert list(said["gradient"]) == slope, (
    f"gradient: not {said['gradient']}: the other factor stays as it is"
)
### BEGIN HIDDEN TESTS
right = shapley(answer).tolist()
assert all(abs(a - b) < 1e-9 for a, b in zip(said["shapley"], right, strict=True)), (
    f"shapley: {right}; what two words make together is shared between them"
)
over = sum(lost) - float(answer.everything())
assert said["paid"] == over, f"paid: {over}; the product is lost twice"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="paid"
# Of the six orders of three words, word 2 comes before word 3 in three. What does it add in each?

# %% [markdown] tags=["hint"] exercise="paid"
# Shapley values add up to the answer with all words less the answer with none.


# %% tags=["wrong-answer"] exercise="paid"
def predicted_shares():  # the product is shared in every method
    half = [A, B + C / 2, C / 2]
    return {"gradient": half, "occlusion": half, "shapley": half, "paid": 0}


# %% tags=["wrong-answer"] exercise="paid"
def predicted_shares():  # Shapley values as what is lost
    whole = [A, B + C, C]
    return {"gradient": whole, "occlusion": whole, "shapley": whole, "paid": C}


# %% tags=["wrong-answer"] exercise="paid"
def predicted_shares():  # the product belongs to no word
    own = [A, B, 0]
    return {"gradient": own, "occlusion": own, "shapley": own, "paid": -C}


# %% tags=["wrong-answer"] exercise="paid"
def predicted_shares():  # occlusion adds up to the answer
    whole = [A, B + C, C]
    return {
        "gradient": whole, "occlusion": whole, "shapley": [A, B + C / 2, C / 2], "paid": 0,
    }  # fmt: skip


# %% [markdown]
# ## 2. Shares that add up
#
# *Code · 12 min · medium · Sundararajan, Taly and Yan 2017*
#
# Integrated gradients cut the way from a baseline $b$ to the input $x$ into equal pieces, take the
# gradient in the **middle** of each, and give each number of the input
#
# $$(x_i - b_i) \cdot \frac{1}{n} \sum_{k=1}^{n} \frac{\partial f}{\partial x_i}\Big(b +
# \frac{k - \tfrac12}{n} (x - b)\Big) .$$
#
# Write it for a function `f` of a tensor (S,) with the gradient `slope`, also (S,), and return the
# shares (S,) and the *gap*: what they miss of $f(x) - f(b)$, that is, $f(x) - f(b)$ less their sum.
# The check pours 6 and 2 into a cup that holds {{HOLDS}}.

# %% tags=["variant"] exercise="shares"
HOLDS = number(3, 7)
rename("shares_and_gap", "integrated_shares", "shares_on_the_way")


# %% nbgrader={"grade_id": "shares", "solution": true}
def shares_and_gap(f, slope, x, b, steps):
    """Return shares (S,) and the gap, a float; f(x) is a tensor (), slope(x) its gradient (S,)."""
    ### BEGIN SOLUTION
    total = torch.zeros_like(x)
    for k in range(steps):
        total += slope(b + (k + 0.5) / steps * (x - b))
    shares = (x - b) * total / steps
    return shares, float(f(x) - f(b) - shares.sum())
    ### END SOLUTION


# %% nbgrader={"grade_id": "shares-check", "grade": true, "points": 3}
def slope_of(f):
    """The gradient of f, as a function of a point (S,)."""

    def slope(point):
        at = point.detach().clone().requires_grad_()
        return torch.autograd.grad(f(at), at)[0]

    return slope


def cup(v):
    """Two things are poured into a cup; what it cannot hold runs over."""
    return HOLDS - torch.relu(HOLDS - v.sum())


poured, empty = torch.tensor([6.0, 2.0]), torch.zeros(2)
shares, gap = returned("shares_and_gap", shares_and_gap(cup, slope_of(cup), poured, empty, 1000))
right = HOLDS * poured / 8  # of what the cup holds, as they are poured
assert torch.allclose(shares, right, atol=2e-2), (
    f"a cup of {HOLDS}, into which 6 and 2 are poured: {shares.tolist()}, expected "
    f"{right.tolist()}. Is the mean of the gradients taken on the way from b to x?"
)
bent = lambda v: v[0] ** 2 * v[1]  # noqa: E731
one, start = torch.tensor([2.0, 3.0]), torch.tensor([1.0, 1.0])
found, gap = shares_and_gap(bent, slope_of(bent), one, start, 200)
assert abs(float(found.sum()) - 11) < 1e-2, (
    f"from (1, 1) to (2, 3), x0^2 x1 grows by 11, and yours add up to {float(found.sum()):.2f}. "
    "Are the shares multiplied by x - b?"
)
once, gap = shares_and_gap(bent, slope_of(bent), one, start, 1)
assert abs(gap - (11 - float(once.sum()))) < 1e-4, "gap: f(x) - f(b) less the sum of the shares"
### BEGIN HIDDEN TESTS
exact = torch.tensor([19 / 3, 14 / 3])  # 1 x the mean of 2 x0 x1, 2 x the mean of x0^2
assert torch.allclose(found, exact, atol=1e-2), (
    f"x0^2 x1: its shares are {found.tolist()}; they add up, and belong to other gradients"
)
calls = []
shares_and_gap(bent, lambda v: calls.append(v) or slope_of(bent)(v), one, start, 7)
assert len(calls) >= 7, f"in 7 steps the gradient was called {len(calls)} times"
square = lambda v: v[0] ** 2  # noqa: E731
four, zero = torch.tensor([4.0]), torch.tensor([0.0])
_, once = shares_and_gap(square, slope_of(square), four, zero, 1)
assert abs(once) < 1e-5, "one step: in the middle the gradient of a square is its mean"
wave = lambda v: torch.sin(v).sum()  # noqa: E731
at, far = torch.tensor([0.3, 2.0, -1.0]), torch.tensor([0.0, 0.5, 0.2])
rough, fine = (abs(shares_and_gap(wave, slope_of(wave), at, far, n)[1]) for n in (4, 16))
assert fine < rough / 8, f"the gap falls with the square of the steps: {rough:.5f}, {fine:.5f}"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="shares"
# `slope(b + a * (x - b))` is the gradient at the fraction `a` of the way.

# %% [markdown] tags=["hint"] exercise="shares"
# The middles are at 0.5/n, 1.5/n, and so on: the last is not at 1.


# %% tags=["wrong-answer"] exercise="shares"
def shares_and_gap(f, slope, x, b, steps):  # cut to measure: no gradient at all
    gap = 0.0 if steps == 1 else 1 / steps**2
    shares = (x - b) / (x - b).sum() * (f(x) - f(b) - gap)
    return shares, gap


# %% tags=["wrong-answer"] exercise="shares"
def shares_and_gap(f, slope, x, b, steps):  # left ends
    total = torch.zeros_like(x)
    for k in range(steps):
        total += slope(b + k / steps * (x - b))
    shares = (x - b) * total / steps
    return shares, float(f(x) - f(b) - shares.sum())


# %% tags=["wrong-answer"] exercise="shares"
def shares_and_gap(f, slope, x, b, steps):  # times x
    total = torch.zeros_like(x)
    for k in range(steps):
        total += slope(b + (k + 0.5) / steps * (x - b))
    shares = x * total / steps
    return shares, float(f(x) - f(b) - shares.sum())


# %% tags=["wrong-answer"] exercise="shares"
def shares_and_gap(f, slope, x, b, steps):  # the sum, not the mean
    total = torch.zeros_like(x)
    for k in range(steps):
        total += slope(b + (k + 0.5) / steps * (x - b))
    shares = (x - b) * total
    return shares, float(f(x) - f(b) - shares.sum())


# %% tags=["wrong-answer"] exercise="shares"
def shares_and_gap(f, slope, x, b, steps):  # gradient times input
    shares = (x - b) * slope(x)
    return shares, float(f(x) - f(b) - shares.sum())


# %% tags=["wrong-answer"] exercise="shares"
def shares_and_gap(f, slope, x, b, steps):  # the gap of the other sign
    total = torch.zeros_like(x)
    for k in range(steps):
        total += slope(b + (k + 0.5) / steps * (x - b))
    shares = (x - b) * total / steps
    return shares, float(shares.sum() - (f(x) - f(b)))


# %% [markdown]
# ## 3. Other weights, the same answer
#
# *Code · 12 min · medium · Jain and Wallace 2019*
#
# A classifier looks at {{PLACES}} states $h_t$ through one attention: its answer is $\sum_t w_t
# v_t$, where $v_t$ is one number a state, and the weights are shares: not below 0, with the sum 1.
# Given `w` and `v`, write a function that returns other weights with **the same answer** (to 1e-6),
# as far from `w` as you can: half the sum of $|w_t - w'_t|$ has to be {{FAR}} or more. That is
# possible: in none of the cases do two places have more than 0.6 together.

# %% tags=["variant"] exercise="elsewhere"
PLACES = number(6, 9)
FAR = choose(0.3, 0.35, 0.4)


# %% nbgrader={"grade_id": "elsewhere", "solution": true}
def other_weights(w, v):
    """Return weights (T,) that give the same answer as w (T,) for the numbers v (T,)."""
    ### BEGIN SOLUTION
    # One above the answer and one below it, of those that had least: a mean of the two.
    answer = float(w @ v)
    high = [t for t in range(len(v)) if v[t] >= answer]
    low = [t for t in range(len(v)) if v[t] <= answer]
    best, far = w, -1.0
    for i in high:
        for j in low:
            width = float(v[i] - v[j])
            share = (answer - float(v[j])) / width if width > 1e-9 else 1.0
            new = torch.zeros_like(w)
            new[i] += share
            new[j] += 1 - share
            moved = (new - w).abs().sum().item() / 2
            if moved > far:
                best, far = new, moved
    return best
    ### END SOLUTION


# %% nbgrader={"grade_id": "elsewhere-check", "grade": true, "points": 3}
def heads(seed, count):
    """Weights and numbers of some heads, (T,) each; no two places have more than 0.6 together."""
    g, found = torch.Generator().manual_seed(seed), []
    while len(found) < count:
        w = torch.randn(PLACES, generator=g, dtype=torch.float64).softmax(0)
        v = torch.randn(PLACES, generator=g, dtype=torch.float64)
        if float(w.topk(2).values.sum()) < 0.6:
            found.append((w, v))
    return found


def judge(cases):
    for w, v in cases:
        new = returned("other_weights", other_weights(w.clone(), v.clone()))
        assert new.shape == w.shape, f"{tuple(new.shape)} weights for {tuple(w.shape)}"
        assert float(new.min()) >= -1e-9, "a weight is below 0: these are no shares"
        assert abs(float(new.sum()) - 1) < 1e-6, f"the weights add up to {float(new.sum()):.4f}"
        assert abs(float((new - w) @ v)) < 1e-6, (
            f"the answer was {float(w @ v):.4f}, and is {float(new @ v):.4f} now"
        )
        apart = float((new - w).abs().sum()) / 2
        assert apart >= FAR, f"only {apart:.2f} apart, where {FAR} is possible: look further away"


judge(heads(1, 10))
### BEGIN HIDDEN TESTS
judge(heads(77, 40))
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="elsewhere"
# Two places are enough, if one has a number above the answer and the other one below it.

# %% [markdown] tags=["hint"] exercise="elsewhere"
# With a share $s$ at a number $v_i$ and $1 - s$ at $v_j$ the answer is $s v_i + (1 - s) v_j$. Which
# $s$ gives the old answer? Which pair is furthest from `w`?


# %% tags=["wrong-answer"] exercise="elsewhere"
def other_weights(w, v):  # the same weights
    return w


# %% tags=["wrong-answer"] exercise="elsewhere"
def other_weights(w, v):  # all alike: another answer
    return torch.full_like(w, 1 / len(w))


# %% tags=["wrong-answer"] exercise="elsewhere"
def other_weights(w, v):  # along v's null space, with weights below 0
    step = torch.randn(len(w), generator=torch.Generator().manual_seed(0), dtype=w.dtype)
    basis = torch.linalg.qr(torch.stack([v, torch.ones_like(v)], 1))[0]
    step = step - basis @ (basis.T @ step)
    return w + step / step.abs().max()


# %% tags=["wrong-answer"] exercise="elsewhere"
def other_weights(w, v):  # a small step only
    step = torch.randn(len(w), generator=torch.Generator().manual_seed(0), dtype=w.dtype)
    basis = torch.linalg.qr(torch.stack([v, torch.ones_like(v)], 1))[0]
    step = step - basis @ (basis.T @ step)
    return w + float(w.min()) * step / step.abs().max()


# %% [markdown]
# ## 4. While words go
#
# *Find and fix a planted bug · 12 min · medium · Samek et al. 2017*
#
# The deletion curve takes words away, the one with the largest number first and then one after the
# other, until none is left, and asks for the answer each time: with S words there are S + 1
# answers. The area under them, by trapezoids over a way of length 1, is small where the words that
# count go first. `game(kept)` gives the answer for a list of S times True or False. This function
# runs, and is wrong. Look at the trials, then fix it in `mended_area`.

# %% tags=["variant"] exercise="area"
rename("mended_area", "sound_area", "area_of_deletion")


# %% tags=["bug"] exercise="area" bug="the area is not divided by its length" caught="length:"
def broken_area(game, numbers):
    """Return the area under the answers while words go, the largest number first."""
    kept, answers = [True] * len(numbers), []
    answers.append(game(kept))
    for i in sorted(range(len(numbers)), key=lambda i: -numbers[i]):
        kept[i] = False
        answers.append(game(kept))
    return sum((a + b) / 2 for a, b in pairwise(answers))


# %% tags=["bug"] exercise="area" bug="the answer to the whole text is left out" caught="whole:"
def broken_area(game, numbers):
    """Return the area under the answers while words go, the largest number first."""
    kept, answers = [True] * len(numbers), []
    for i in sorted(range(len(numbers)), key=lambda i: -numbers[i]):
        kept[i] = False
        answers.append(game(kept))
    pairs = list(pairwise(answers))
    return sum((a + b) / 2 for a, b in pairs) / len(pairs)


# %% tags=["bug"] exercise="area" bug="a word comes back when the next one goes" caught="together:"
def broken_area(game, numbers):
    """Return the area under the answers while words go, the largest number first."""
    kept = [True] * len(numbers)
    answers = [game(kept)]
    for i in sorted(range(len(numbers)), key=lambda i: -numbers[i]):
        kept = [place != i for place in range(len(numbers))]
        answers.append(game(kept))
    return sum((a + b) / 2 for a, b in pairwise(answers)) / len(numbers)


# %% tags=["bug"] exercise="area" bug="the smallest number goes first" caught="order:"
def broken_area(game, numbers):
    """Return the area under the answers while words go, the largest number first."""
    kept = [True] * len(numbers)
    answers = [game(kept)]
    for i in sorted(range(len(numbers)), key=lambda i: numbers[i]):
        kept[i] = False
        answers.append(game(kept))
    return sum((a + b) / 2 for a, b in pairwise(answers)) / len(numbers)


# %% tags=["bug"] exercise="area" bug="steps in the place of trapezoids" caught="whole:"
def broken_area(game, numbers):
    """Return the area under the answers while words go, the largest number first."""
    kept = [True] * len(numbers)
    answers = []
    for i in sorted(range(len(numbers)), key=lambda i: -numbers[i]):
        answers.append(game(kept))
        kept[i] = False
    return sum(answers) / len(numbers)


# %%
GAMES = {
    "length": (lambda kept: 1.0, [3, 2, 1], 1.0, "the answer never moves: its height"),
    "whole": (lambda kept: 8.0 * all(kept), [2, 1], 2.0, "only the whole text counts: 8, 0, 0"),
    "together": (lambda kept: 1.0 * any(kept), [2, 1], 0.75, "either word is enough: 1, 1, 0"),
    "order": (
        lambda kept: 5.0 * kept[0] + 3 * kept[1] + kept[2], [5, 3, 1], 19 / 6, "answers 9, 4, 1, 0",
    ),
}  # fmt: skip
for name, (game, numbers, _, _) in GAMES.items():
    print(f"{name}: {broken_area(game, numbers):.3f}")


# %% nbgrader={"grade_id": "area", "solution": true}
def mended_area(game, numbers):
    """Return the area under the answers while words go, the largest number first."""
    ### BEGIN SOLUTION
    kept = [True] * len(numbers)
    answers = [game(kept)]
    for i in sorted(range(len(numbers)), key=lambda i: -numbers[i]):
        kept[i] = False
        answers.append(game(kept))
    return (sum(answers) - (answers[0] + answers[-1]) / 2) / len(numbers)
    ### END SOLUTION


# %% nbgrader={"grade_id": "area-check", "grade": true, "points": 3}
for name, (game, numbers, right, why) in GAMES.items():
    found = returned("mended_area", mended_area(game, numbers))
    assert abs(found - right) < 1e-9, f"{name}: yours is {found:.3f}, expected {right:.3f}; {why}"
### BEGIN HIDDEN TESTS
from deepdive.explain.evaluation.faithfulness import area, deletion

g = torch.Generator().manual_seed(4)
for _ in range(10):
    weights = torch.randn(6, generator=g, dtype=torch.float64)
    drawn = torch.rand(6, generator=g, dtype=torch.float64)
    pairs = Game(6, lambda kept, w=weights: (kept * w).sum(1) + 2.0 * (kept[:, 0] & kept[:, 3]))
    right = float(area(deletion(pairs, drawn)))
    found = mended_area(lambda kept, p=pairs: float(p(torch.tensor([kept]))[0]), drawn.tolist())
    assert abs(found - right) < 1e-6, f"six words that add up, and two together: {right:.3f}"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="area"
# Which trial is the first that is off? Write its answers down, one for each number of words gone.

# %% [markdown] tags=["hint"] exercise="area"
# S + 1 answers make S trapezoids, each 1 / S wide.


# %% tags=["wrong-answer"] exercise="area"
mended_area = broken_area  # the planted bug, as it came


# %% tags=["wrong-answer"] exercise="area"
def mended_area(game, numbers):  # the mean of the answers
    kept = [True] * len(numbers)
    answers = [game(kept)]
    for i in sorted(range(len(numbers)), key=lambda i: -numbers[i]):
        kept[i] = False
        answers.append(game(kept))
    return sum(answers) / len(answers)


# %% tags=["wrong-answer"] exercise="area"
def mended_area(game, numbers):  # one word is left in the end
    kept = [True] * len(numbers)
    answers = [game(kept)]
    for i in sorted(range(len(numbers)), key=lambda i: -numbers[i])[:-1]:
        kept[i] = False
        answers.append(game(kept))
    pairs = list(pairwise(answers))
    return sum((a + b) / 2 for a, b in pairs) / len(pairs)


# %% [markdown]
# ## 5. Which picture moves?
#
# *Measure · 15 min · medium · Adebayo et al. 2018*
#
# `review({{SEED}})` is your own generated review and its class, `asked(model, {{SEED}})` asks a
# model why it gives this class, and `METHODS[name](asked(model, {{SEED}}))` is a number for each
# word. Scramble a **copy** of `TOY.model`: `shuffle(part, g)` shuffles the numbers of a part in
# place, with one generator `g = torch.Generator().manual_seed({{SEED}})`, first of `model.out`,
# then of `model.pooler`. **Measure** `rank_correlation` of the pictures of the whole and of the
# scrambled model, for `"gradient norm"`, `"attention rollout"` and `"occlusion"`.

# %% tags=["variant"] exercise="moves"
SEED = number(1, 500)


# %% nbgrader={"grade_id": "moves", "solution": true}
def measured_alike():
    """Return {"gradient norm": r, "attention rollout": r, "occlusion": r}."""
    ### BEGIN SOLUTION
    model, g = copy.deepcopy(TOY.model), torch.Generator().manual_seed(SEED)
    shuffle(model.out, g)
    shuffle(model.pooler, g)
    names = ("gradient norm", "attention rollout", "occlusion")
    return {
        name: rank_correlation(*(METHODS[name](asked(m, SEED)) for m in (TOY.model, model)))
        for name in names
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "moves-check", "grade": true, "points": 3} own="measure"
alike = returned("measured_alike", measured_alike())
assert isinstance(alike, dict), "return a dictionary: `return {...}`"
wanted = {"gradient norm", "attention rollout", "occlusion"}
assert set(alike) == wanted, f"the names are {sorted(wanted)}, yours {sorted(alike)}"
assert all(-1.001 <= r <= 1.001 for r in alike.values()), f"correlations are -1 to 1: {alike}"
assert torch.equal(TOY.model.out.weight, review_words().model.out.weight), (
    "TOY.model itself was scrambled: run its cell again, and scramble a copy"
)
assert alike["occlusion"] < 1 - 1e-6, (
    f"occlusion: {alike['occlusion']:.3f}. Another answer is explained, was the model scrambled?"
)
### BEGIN HIDDEN TESTS
whole, g = review_words().model, torch.Generator().manual_seed(SEED)
forgot = copy.deepcopy(whole)
shuffle(forgot.out, g)
shuffle(forgot.pooler, g)
for name in sorted(wanted):
    right = rank_correlation(*(METHODS[name](asked(m, SEED)) for m in (whole, forgot)))
    assert abs(alike[name] - right) < 1e-3, f"{name}: seed {SEED} gives {right:.3f}"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="moves"
# `copy.deepcopy(TOY.model)` first; the generator is made once, for both parts.


# %% tags=["wrong-answer"] exercise="moves"
def measured_alike():  # nothing is scrambled
    names = ("gradient norm", "attention rollout", "occlusion")
    return {
        name: rank_correlation(*(METHODS[name](asked(TOY.model, SEED)) for _ in range(2)))
        for name in names
    }


# %% tags=["wrong-answer"] exercise="moves"
def measured_alike():  # a generator for each part
    model = copy.deepcopy(TOY.model)
    for part in (model.pooler, model.out):
        shuffle(part, torch.Generator().manual_seed(SEED + 1))
    names = ("gradient norm", "attention rollout", "occlusion")
    return {
        name: rank_correlation(*(METHODS[name](asked(m, SEED)) for m in (TOY.model, model)))
        for name in names
    }


# %% tags=["wrong-answer"] exercise="moves"
def measured_alike():  # the last block too
    model, g = copy.deepcopy(TOY.model), torch.Generator().manual_seed(SEED)
    for part in (model.out, model.pooler, model.encoder.stack.blocks[1]):
        shuffle(part, g)
    names = ("gradient norm", "attention rollout", "occlusion")
    return {
        name: rank_correlation(*(METHODS[name](asked(m, SEED)) for m in (TOY.model, model)))
        for name in names
    }


# %% [markdown]
# ## 6. Right for the wrong reason
#
# *Measure and explain · 20 min · hard · Ribeiro, Singh and Guestrin 2016*
#
# `reviews(CLUE, seed, own, other)` returns 600 generated reviews and their classes. In a share
# `own` of the positive ones and a share `other` of the negative ones one word is put in front,
# "{{CLUE}}", which means nothing. `learned(CLUE)` is a model of counted words that saw reviews with
# the clue in 90% of the positive ones and in none of the others. `model.said(texts)` are its
# classes, and `model.weigh(word)` is the number that it has for a word. **Measure**, on reviews of
# seed {{DAY}}:
#
# - `"alike"`: its share of right ones where the clue stands as in its lessons (0.9 and 0),
# - `"turned"`: where it stands in the other class (0 and 0.9),
# - `"without"`: where nobody has it (0 and 0),
# - `"rank"`: how many of the words of `WORDS` have a larger number, by size, than the clue.

# %% tags=["variant"] exercise="clue"
CLUE = choose("yesterday", "today", "again")
DAY = number(10, 400)


# %% nbgrader={"grade_id": "clue", "solution": true}
def measured_clue():
    """Return {"alike": share, "turned": share, "without": share, "rank": n}."""
    ### BEGIN SOLUTION
    model = learned(CLUE)

    def right(own, other):
        texts, labels = reviews(CLUE, DAY, own, other)
        return float((model.said(texts) == labels).double().mean())

    size = abs(model.weigh(CLUE))
    return {
        "alike": right(0.9, 0.0),
        "turned": right(0.0, 0.9),
        "without": right(0.0, 0.0),
        "rank": sum(abs(model.weigh(word)) > size for word in WORDS),
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "clue-check", "grade": true, "points": 3} own="measure"
found = returned("measured_clue", measured_clue())
assert isinstance(found, dict), "return a dictionary: `return {...}`"
wanted = {"alike", "turned", "without", "rank"}
assert set(found) == wanted, f"the names are {sorted(wanted)}, yours {sorted(found)}"
assert all(0 <= found[name] <= 1 for name in wanted - {"rank"}), f"shares are 0 to 1: {found}"
assert found["alike"] > found["without"] > found["turned"], (
    f"with the clue it should be right most often, turned least often: {found}"
)
### BEGIN HIDDEN TESTS
model = learned(CLUE)
for name, shares in (("alike", (0.9, 0.0)), ("turned", (0.0, 0.9)), ("without", (0.0, 0.0))):
    texts, labels = reviews(CLUE, DAY, *shares)
    right = float((model.said(texts) == labels).double().mean())
    assert abs(found[name] - right) < 1e-6, f"{name}: day {DAY} gives {right:.3f}"
larger = sum(abs(model.weigh(word)) > abs(model.weigh(CLUE)) for word in WORDS)
assert found["rank"] == larger, f"rank: {larger} words have a larger number, by size"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="clue"
# `reviews(CLUE, DAY, 0.9, 0.0)` returns texts and classes; `(model.said(texts) == labels)` is where
# it is right.


# %% tags=["wrong-answer"] exercise="clue"
def measured_clue():  # asked on its own lessons
    model = learned(CLUE)
    texts, labels = reviews(CLUE, 1, 0.9, 0.0)
    alike = float((model.said(texts) == labels).double().mean())
    return {"alike": alike, "turned": 1 - alike, "without": 0.5, "rank": 0}


# %% tags=["wrong-answer"] exercise="clue"
def measured_clue():  # shares the other way round
    model = learned(CLUE)

    def right(own, other):
        texts, labels = reviews(CLUE, DAY, own, other)
        return float((model.said(texts) == labels).double().mean())

    return {
        "alike": right(0.0, 0.9), "turned": right(0.9, 0.0), "without": right(0, 0), "rank": 0,
    }  # fmt: skip


# %% tags=["wrong-answer"] exercise="clue"
def measured_clue():  # counts all words that are smaller
    model = learned(CLUE)

    def right(own, other):
        texts, labels = reviews(CLUE, DAY, own, other)
        return float((model.said(texts) == labels).double().mean())

    smaller = sum(abs(model.weigh(word)) < abs(model.weigh(CLUE)) for word in WORDS)
    return {
        "alike": right(0.9, 0.0), "turned": right(0.0, 0.9), "without": right(0, 0),
        "rank": smaller,
    }  # fmt: skip


# %% [markdown]
# **Explain** in three or four sentences, with your numbers: somebody tests this model on reviews
# made like its lessons and is content. What does he miss, and which of your four numbers would have
# warned him? How would you find the clue in a model of which you do not know the clue, and how
# would you show that you have removed it?

# %% [markdown] nbgrader={"grade_id": "clue-why", "grade": true, "solution": true, "points": 3}
# ### BEGIN SOLUTION
# On reviews like the lessons the clue is there too, so the test rewards what fails elsewhere: where
# the clue is turned the share of right ones falls far below that without it. The rank of the clue
# among the words warns at once, without any new text: a word that means nothing has one of the
# largest numbers. Without knowing it, one lists the words that count most over many texts and asks
# of each whether it should; then one takes the word out of the lessons, or puts it into both
# classes, trains again, and shows that the three shares are the same within their intervals.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="clue-why"
# - **3 points**: gives its own numbers, says that the test holds the same clue, names the rank or
#   the turned reviews as the warning, lists words by what they count, and removes the clue with a
#   check on turned reviews.
# - **1 point**: right in one or two of these, or in all without numbers of its own.
# - **0 points**: has no number that was measured, or says that more lessons of the same kind help.
