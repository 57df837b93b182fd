# %% [markdown]
# # Bug clinic: explanations
#
# Four programs explain one small classifier. Each has one bug, none of which raises an error, and
# the classifier is well in all of them. On the ward you see symptoms only: say what it is, and
# prove it by a measurement. In the theatre you see code: fix it. The symptoms are drawn when you
# run the cells, so open this notebook where it runs.
#
# <small>Book 7.3 and 7.5 · needs [gradients](02_gradients.ipynb), [words taken
# away](04_perturbation.ipynb) and [rollout](10_rollout.ipynb) · generated reviews, no GPU · each
# patient takes a few seconds</small>

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
import torch

# %% tags=["variant"]
from deepdive_book.course.assignment.variants import permutation

# %%
from deepdive_book.course.specimens.explanations import BLANK
from deepdive_book.kit.attribution_text import colored
from deepdive_book.kit.plotting import show

# %% tags=["variant"] exercise="a-diagnosis"
BEDS = [letter for pair in permutation([permutation("AB"), permutation("CD")]) for letter in pair]

# %%
from deepdive_book.course.clinic.explanations import (
    admit,
    healthy,
    ill,
    misjudged,
    opened,
    operate,
    unproven,
)

opened(BEDS)  # which patient has which letter: your own order

# %% [markdown]
# A diagnosis is one of four words:
#
# | word | what is wrong |
# |---|---|
# | `marks` | both marks are cut off at the end, so each number stands at the word before its own |
# | `gone` | the words that should stay are hidden, and those that should go stay |
# | `path` | the mean gradient is multiplied with the row, and not with how far it came |
# | `order` | the layers' attention is multiplied in the wrong order |
#
# The classifier judges reviews such as *critics do not find the script dull , i find the music
# cold .* What the writer himself finds decides. Explained is how far it is on the side of
# "negative". `look(texts)` explains a list of texts, and returns what can be seen on the way.
# `BLANK` may stand in a text like any word: it is the word for a word that is gone.
#
# | key | shape | |
# |---|---|---|
# | `answer` | (N,) | how far the classifier is on the side of "negative" |
# | `tokens` | N tensors (S + 2,) | ids, [CLS] and [SEP] among them |
# | `weights` | N tensors (2, S + 2, S + 2) | attention of both layers, the mean over heads |
# | `occlusion` | N tensors (S,) | what the answer loses when one word is hidden |
# | `integrated` | N tensors (S,) | integrated gradients, from a text of blanks |
# | `rollout` | N tensors (S,) | the share of each word in [CLS], by attention rollout |
#
# A healthy one first. In how many of forty reviews does each method name a word that decides first?

# %%
TEXT = "critics do not find the script dull , i find the music cold ."
print({name: f"{share:.0f} %" for name, share in healthy().found.items()})
seen = healthy().look([TEXT])
methods = ("occlusion", "integrated", "rollout")
colored(TEXT.split(), {name: seen[name][0] for name in methods})


# %%
def told(letter):
    """Show what a patient came with."""
    patient = admit(letter)
    show(patient.chart())
    seen = patient.look([TEXT])
    return colored(TEXT.split(), {name: seen[name][0] for name in methods})


# %% [markdown]
# A measurement proves a diagnosis if it tells the patient from healthy programs, also from one
# whose classifier has not learned yet, and from the patient next door (A and B, C and D).

# %% [markdown]
# ## 1. Patient A: beside the point
#
# *Diagnose · 6 min · easy · book 7.3*
#
# The colors of two of its methods look as sensible as ever. But they hardly ever name a word that
# decides, and the full stop never has a color. Its third method is well.

# %%
told("A")


# %% [markdown]
# What is it, and what number proves it? Think of a text of one word: in a healthy program this
# word's integrated gradient is the whole way from the answer to a blank.


# %% nbgrader={"grade_id": "a-diagnosis", "solution": true}
def diagnosis_a():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "marks"
    ### END SOLUTION


def measure_a(look):
    """Return one number, computed from `look(texts)`, that proves it."""
    ### BEGIN SOLUTION
    seen = look(["cold", BLANK])
    return seen["integrated"][0][0] / (seen["answer"][0] - seen["answer"][1])
    ### END SOLUTION


# %% nbgrader={"grade_id": "a-named", "grade": true, "points": 1}
assert not (why := misjudged("A", diagnosis_a())), why

# %% nbgrader={"grade_id": "a-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_a, "A")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="a-diagnosis"
# Which number does a word get whose own is the first of the text? What stands before it?


# %% tags=["wrong-answer"] exercise="a-diagnosis"
def diagnosis_a():
    return "gone"  # its occlusion is a healthy one's


def measure_a(look):
    return look(["cold"])["answer"].sum()  # the classifier is well


# %% tags=["wrong-answer"] exercise="a-diagnosis"
def diagnosis_a():
    return "path"  # rollout has no path, and is ill too


def measure_a(look):
    return look(["cold"])["occlusion"][0][0]  # the same in healthy ones


# %% [markdown]
# ## 2. Patient B: the reverse
#
# *Diagnose · 6 min · easy · book 7.3.1*
#
# One method is ill. It has colors for the right words, and the wrong colors: what speaks for
# "negative" is shown as speaking against it.

# %%
told("B")


# %% [markdown]
# What is it, and what number proves it? Take again a text of one word. What should occlusion give
# it?


# %% nbgrader={"grade_id": "b-diagnosis", "solution": true}
def diagnosis_b():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "gone"
    ### END SOLUTION


def measure_b(look):
    """Return one number, computed from `look(texts)`, that proves it."""
    ### BEGIN SOLUTION
    seen = look(["cold", BLANK])
    return seen["occlusion"][0][0] / (seen["answer"][0] - seen["answer"][1])
    ### END SOLUTION


# %% nbgrader={"grade_id": "b-named", "grade": true, "points": 1}
assert not (why := misjudged("B", diagnosis_b())), why

# %% nbgrader={"grade_id": "b-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_b, "B")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="b-diagnosis"
# Occlusion is the answer to the whole text less the answer without the word. What if the program
# takes one for the other?


# %% tags=["wrong-answer"] exercise="b-diagnosis"
def diagnosis_b():
    return "marks"  # its integrated gradients stand where they belong


def measure_b(look):
    return look(["cold"])["integrated"][0][0]  # the same in healthy ones


# %% tags=["wrong-answer"] exercise="b-diagnosis"
def diagnosis_b():
    return "order"  # its rollout is a healthy one's


def measure_b(look):
    return look([TEXT])["rollout"][0].sum()  # the same in healthy ones


# %% [markdown]
# ## 3. Patient C: it does not add up
#
# *Diagnose · 8 min · medium · Sundararajan et al. 2017*
#
# It names the same words as a healthy one in nearly all reviews, and its signs are right. So nobody
# sees anything in the colors. But integrated gradients promise one thing of their sum.

# %%
told("C")


# %% [markdown]
# What is it, and what number proves it? In a healthy program this number is 1, or nearly so.


# %% nbgrader={"grade_id": "c-diagnosis", "solution": true}
def diagnosis_c():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "path"
    ### END SOLUTION


def measure_c(look):
    """Return one number, computed from `look(texts)`, that proves it."""
    ### BEGIN SOLUTION
    empty = " ".join([BLANK] * len(TEXT.split()))
    seen = look([TEXT, empty])
    return seen["integrated"][0].sum() / (seen["answer"][0] - seen["answer"][1])
    ### END SOLUTION


# %% nbgrader={"grade_id": "c-named", "grade": true, "points": 1}
assert not (why := misjudged("C", diagnosis_c())), why

# %% nbgrader={"grade_id": "c-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_c, "C")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="c-diagnosis"
# Completeness: the shares add up to the answer to the text less the answer to as many blanks.


# %% tags=["wrong-answer"] exercise="c-diagnosis"
def diagnosis_c():
    return "marks"  # its rollout stands where it belongs


def measure_c(look):
    return look([TEXT])["rollout"][0].sum()  # the same in healthy ones


# %% tags=["wrong-answer"] exercise="c-diagnosis"
def diagnosis_c():
    return "gone"  # its occlusion is a healthy one's


def measure_c(look):
    return look([TEXT])["answer"][0]  # the classifier is well


# %% [markdown]
# ## 4. Patient D: the wrong way down
#
# *Diagnose · 8 min · medium · Abnar and Zuidema 2020*
#
# One method is ill, and its numbers are still shares that are never negative. It is as often right
# as a healthy one, or more often, by luck.

# %%
told("D")


# %% [markdown]
# What is it, and what number proves it? In a healthy program this number is 0 but for rounding.


# %% nbgrader={"grade_id": "d-diagnosis", "solution": true}
def diagnosis_d():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "order"
    ### END SOLUTION


def measure_d(look):
    """Return one number, computed from `look(texts)`, that proves it."""
    ### BEGIN SOLUTION
    seen = look([TEXT])
    one, two = seen["weights"][0]
    same = torch.eye(len(one))
    rolled = (two + same) / 2 @ ((one + same) / 2)
    return (rolled[0, 1:-1] - seen["rollout"][0]).abs().max()
    ### END SOLUTION


# %% nbgrader={"grade_id": "d-named", "grade": true, "points": 1}
assert not (why := misjudged("D", diagnosis_d())), why

# %% nbgrader={"grade_id": "d-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_d, "D")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="d-diagnosis"
# `weights` has both layers. Compute rollout by hand, and compare.


# %% tags=["wrong-answer"] exercise="d-diagnosis"
def diagnosis_d():
    return "marks"  # its integrated gradients stand where they belong


def measure_d(look):
    return look([TEXT])["integrated"][0].sum()  # the same in healthy ones


# %% tags=["wrong-answer"] exercise="d-diagnosis"
def diagnosis_d():
    return "path"  # its integrated gradients add up


def measure_d(look):
    return look([TEXT])["weights"][0].sum()  # the classifier is well


# %% [markdown]
# ## 5. Theatre: whose number is it?
#
# *Fix · 4 min · easy · book 7.3*
#
# From here on you see code that was found in the four, in another order. `values` (S + 2,) has a
# number for each token: [CLS], the S words, [SEP].


# %%
def found_of_words(values):
    return values[:-2]


# %% nbgrader={"grade_id": "mend-marks", "solution": true}
def of_words(values):
    """Return (S,), the numbers of the words."""
    ### BEGIN SOLUTION
    return values[1:-1]
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-marks-check", "grade": true, "points": 3}
given = of_words(torch.tensor([9.0, 1, 2, 3, 8]))
assert given.shape == (3,), f"three words have three numbers; yours are {tuple(given.shape)}"
assert given.tolist() == [1, 2, 3], f"9 and 8 belong to the marks; yours are {given.tolist()}"
cured = operate("marks", of_words)
assert cured.found["integrated"] > ill("marks").found["integrated"] + 40, (
    "the words are still missed"
)
### BEGIN HIDDEN TESTS
assert of_words(torch.tensor([5.0, 4, 3])).tolist() == [4], "a text of one word is off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-marks"
# One mark stands before the words and one behind them.


# %% tags=["wrong-answer"] exercise="mend-marks"
def of_words(values):  # both marks are cut off at the beginning
    return values[2:]


# %% tags=["wrong-answer"] exercise="mend-marks"
def of_words(values):  # the last mark stays
    return values[1:]


# %% [markdown]
# ## 6. Theatre: layer upon layer
#
# *Fix · 6 min · medium · Abnar and Zuidema 2020*
#
# `layers` is a list of weights, each (T, T), the first layer first. Row t of a layer says which
# states state t is mixed from. Rollout adds what stays where it was, halves, and multiplies.


# %%
def found_rolled(layers):
    found = torch.eye(len(layers[0]))
    for weights in layers:
        found = found @ (weights + torch.eye(len(weights))) / 2
    return found


# %% nbgrader={"grade_id": "mend-order", "solution": true}
def rolled(layers):
    """Return (T, T): the share of each input in each state after the last layer."""
    ### BEGIN SOLUTION
    found = torch.eye(len(layers[0]))
    for weights in layers:
        found = (weights + torch.eye(len(weights))) / 2 @ found
    return found
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-order-check", "grade": true, "points": 3}
# In layer 1 place 2 reads word 1; in layer 2 place 0 reads place 2. So word 1 reaches place 0.
one = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 1, 0]])
two = torch.tensor([[0.0, 0, 1], [0, 1, 0], [0, 0, 1]])
shares = rolled([one, two])
assert shares.shape == (3, 3), f"one row for each state; yours is {tuple(shares.shape)}"
assert torch.allclose(shares.sum(1), torch.ones(3)), f"shares sum to 1; {shares.sum(1).tolist()}"
assert shares[0, 1] == 0.25, f"a quarter of state 0 is word 1; yours is {float(shares[0, 1])}"
assert torch.allclose(rolled([one]), (one + torch.eye(3)) / 2), "one layer alone is off"
cured = operate("order", rolled).look([TEXT])["rollout"][0]
assert (cured - seen["rollout"][0]).abs().max() < 1e-5, "the chapter's sentence is off with yours"
### BEGIN HIDDEN TESTS
three = [torch.rand(4, 4, generator=torch.Generator().manual_seed(k)) for k in range(3)]
three = [each / each.sum(1, keepdim=True) for each in three]
right = torch.eye(4)
for each in three:
    right = (each + torch.eye(4)) / 2 @ right
assert torch.allclose(rolled(three), right, atol=1e-6), "three layers are off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-order"
# What the last layer reads are states that the layers before it have mixed: it stands on the left.


# %% tags=["wrong-answer"] exercise="mend-order"
def rolled(layers):  # nothing stays where it was
    found = torch.eye(len(layers[0]))
    for weights in layers:
        found = weights @ found
    return found


# %% tags=["wrong-answer"] exercise="mend-order"
def rolled(layers):  # the mean of the layers
    return sum((each + torch.eye(len(each))) / 2 for each in layers) / len(layers)


# %% [markdown]
# ## 7. Theatre: what is hidden
#
# *Fix · 4 min · easy · book 7.3.1*
#
# `tokens` (S,) are a text's ids, `kept` (N, S) says for N texts which words stay, and `blank` is
# the id that stands for a word that is gone.


# %%
def found_with_blanks(tokens, kept, blank):
    return torch.where(kept, blank, tokens)


# %% nbgrader={"grade_id": "mend-gone", "solution": true}
def with_blanks(tokens, kept, blank):
    """Return (N, S): N texts, with `blank` for each word that is gone."""
    ### BEGIN SOLUTION
    return torch.where(kept, tokens, blank)
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-gone-check", "grade": true, "points": 3}
ids, stays = torch.tensor([7, 8, 9]), torch.tensor([[True, True, True], [True, False, True]])
made = with_blanks(ids, stays, 4)
assert made.shape == (2, 3), f"two texts of three words; yours are {tuple(made.shape)}"
assert made[0].tolist() == [7, 8, 9], f"all stay in the first text; yours is {made[0].tolist()}"
assert made[1].tolist() == [7, 4, 9], f"8 is gone from the second; yours is {made[1].tolist()}"
cured = operate("gone", with_blanks)
assert cured.found["occlusion"] > ill("gone").found["occlusion"] + 40, "the words are still missed"
### BEGIN HIDDEN TESTS
none = torch.zeros(1, 3, dtype=torch.bool)
assert with_blanks(ids, none, 4).tolist() == [[4, 4, 4]], "a text without words is all blanks"
assert ids.tolist() == [7, 8, 9], "what was given is changed"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-gone"
# `torch.where(condition, a, b)` takes a where the condition is true.


# %% tags=["wrong-answer"] exercise="mend-gone"
def with_blanks(tokens, kept, blank):  # zeros, which is the id of padding
    return tokens * kept


# %% tags=["wrong-answer"] exercise="mend-gone"
def with_blanks(tokens, kept, blank):  # the first text's blanks in all
    return torch.where(kept[:1], tokens, blank).expand(len(kept), -1)


# %% [markdown]
# ## 8. Theatre: how far it came
#
# *Fix · 8 min · medium · Sundararajan et al. 2017*
#
# `rows` (T, d) are a text's embeddings, `start` (T, d) those of as many blanks, `mean_slope` (T, d)
# the mean gradient on the straight way between them. A share for each token is asked for.


# %%
def found_shares(rows, start, mean_slope):
    return (rows * mean_slope).sum(-1)


# %% nbgrader={"grade_id": "mend-path", "solution": true}
def shares_of(rows, start, mean_slope):
    """Return (T,), what each token adds on the way from `start`."""
    ### BEGIN SOLUTION
    return ((rows - start) * mean_slope).sum(-1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-path-check", "grade": true, "points": 3}
rows, start = torch.tensor([[3.0, 1.0], [2.0, 2.0]]), torch.tensor([[1.0, 1.0], [2.0, 2.0]])
slope = torch.tensor([[2.0, 5.0], [4.0, 4.0]])
parts = shares_of(rows, start, slope)
assert parts.shape == (2,), f"one share for each token; yours are {tuple(parts.shape)}"
assert parts[0] == 4, f"the first came 2 and 0 far, with slopes 2 and 5: 4; yours {float(parts[0])}"
assert parts[1] == 0, f"the second did not move; yours is {float(parts[1])}"
cured = operate("path", shares_of).look([TEXT])["integrated"][0]
assert (cured - seen["integrated"][0]).abs().max() < 1e-4, (
    "the chapter's sentence is off with yours"
)
### BEGIN HIDDEN TESTS
away = torch.tensor([[1.0, -2.0]])
assert shares_of(away, 3 * away, torch.ones(1, 2)).tolist() == [2.0], "1 - 3 and -2 + 6 make 2"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-path"
# A token that is a blank already has not moved, and adds nothing.


# %% tags=["wrong-answer"] exercise="mend-path"
def shares_of(rows, start, mean_slope):  # the way back
    return ((start - rows) * mean_slope).sum(-1)


# %% tags=["wrong-answer"] exercise="mend-path"
def shares_of(rows, start, mean_slope):  # sizes without signs
    return ((rows - start) * mean_slope).abs().sum(-1)
