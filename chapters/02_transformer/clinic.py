# %% [markdown]
# # Bug clinic: the Transformer
#
# Six models are ill. Each has one bug, none of which raises an error. On the ward you see symptoms
# only: say what it is, and prove it by a measurement. In the theatre you see code: fix it. The
# symptoms are drawn when you run the cells, so open this notebook where it runs.
#
# <small>Book 2 · needs [masks](07_masks.ipynb), [positions](08_positions.ipynb), [residuals and
# norms](09_residuals_norms.ipynb), [training](13_training.ipynb) · no data, no GPU · each patient
# takes a few seconds</small>

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
from deepdive_book.course.specimens.decoder import NAMES, texts
from deepdive_book.kit.plotting import show

# %% tags=["variant"] exercise="a-diagnosis"
BEDS = [
    letter
    for pair in permutation([permutation("AB"), permutation("CD"), permutation("EF")])
    for letter in pair
]

# %%
from deepdive_book.course.clinic import admit, healthy, misjudged, opened, operate, unproven

opened(BEDS)  # which patient has which letter: your own order

# %% [markdown]
# A diagnosis is one of six words:
#
# | word | what is wrong |
# |---|---|
# | `scale` | the scores are not divided by the root of d |
# | `mask` | the causal mask is inverted |
# | `epsilon` | the norm adds another epsilon than the weights were trained with |
# | `position` | the positions begin at 1 and not at 0 |
# | `shift` | the model reads at each place the token that it must give there |
# | `eval` | the model is judged in training mode, with dropout |
#
# Each model is a decoder with one layer and one head, 64 wide. It reads `bdace|` and is to write
# `ecadb`. It learns on texts of 11 tokens: five letters, the bar, the letters reversed. The loss is
# that of the last five.
#
# A text is 11 numbers, 0 to 7 for the letters `a` to `h`, 8 for the bar; `texts(n)` makes n of
# them. The model reads ten of them. `look(texts)` lets it read, and returns what can be seen on
# the way:
#
# | key | shape | |
# |---|---|---|
# | `rows` | (B, 10, 64) | 0.02 times (letter + place), before the first norm |
# | `queries`, `keys` | (B, 10, 64) | |
# | `scores`, `weights` | (B, 10, 10) | queries down, keys across |
# | `logits` | (B, 10, 9) | |
# | `loss` | a number | as the model's own program tells it, with its own pairs |
#
# `look(texts, size=3.0)` multiplies the rows by 3. A healthy one first:

# %%
seen = healthy().look(texts(64))
print({name: tuple(value.shape) for name, value in seen.items() if name != "loss"})
print(f"loss {seen['loss']:.2f}, and {healthy().right:.0%} of 64 new words written right")


def told(letter):
    """Show what a patient came with."""
    patient, three = admit(letter), texts(3)
    show(patient.chart())
    for asked, wrote in zip(three, patient.write(three), strict=True):
        print("".join(NAMES[i] for i in asked[:6]), "->", "".join(NAMES[i] for i in wrote))
    print(f"{patient.right:.0%} of 64 new words right")


# %% [markdown]
# A measurement proves a diagnosis if it tells the patient from healthy models, also from one that
# has not learned yet, and from the patient next door whose curve looks alike (A and B, C and D, E
# and F).

# %% [markdown]
# ## 1. Patient A: better than healthy, at first
#
# *Diagnose · 6 min · easy · book 2.4.2.3*
#
# The loss falls faster than a healthy one, and stops. It writes one letter again and again.

# %%
told("A")


# %% [markdown]
# What is it, and what number proves it? In a healthy model this number is 0.


# %% nbgrader={"grade_id": "a-diagnosis", "solution": true}
def diagnosis_a():
    """Return one of the six words."""
    ### BEGIN SOLUTION
    return "mask"
    ### END SOLUTION


def measure_a(look):
    """Return one number, computed from `look(texts)`, that proves it."""
    ### BEGIN SOLUTION
    return look(texts(16))["weights"].triu(1).sum(-1).mean()  # what goes to later places
    ### END SOLUTION


# %% nbgrader={"grade_id": "a-named", "grade": true, "points": 1}
assert not (why := misjudged("A", diagnosis_a())), why

# %% nbgrader={"grade_id": "a-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_a, "A")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="a-diagnosis"
# Read the map row by row. Where does each query look, and what should be hidden from it?


# %% tags=["wrong-answer"] exercise="a-diagnosis"
def diagnosis_a():
    return "shift"  # the curve looks alike, the map does not


def measure_a(look):
    return look(texts(64))["loss"]  # what the curve shows already


# %% tags=["wrong-answer"] exercise="a-diagnosis"
def diagnosis_a():
    return "scale"  # the last row is flat, the others are not


def measure_a(look):
    return look(texts(16))["weights"].sum(-1).mean()  # each row sums to one, in all of them


# %% [markdown]
# ## 2. Patient B: perfect, and dumb
#
# *Diagnose · 8 min · medium · book 2.4.2.3*
#
# The loss falls to 0.00. It, too, writes one letter again and again.

# %%
told("B")


# %% [markdown]
# What is it, and what number proves it? Think of a text on which no honest model
# can have a low loss.


# %% nbgrader={"grade_id": "b-diagnosis", "solution": true}
def diagnosis_b():
    """Return one of the six words."""
    ### BEGIN SOLUTION
    return "shift"
    ### END SOLUTION


def measure_b(look):
    """Return one number, computed from `look(texts)`, that proves it."""
    ### BEGIN SOLUTION
    noise = torch.randint(0, 8, (64, 11), generator=torch.Generator().manual_seed(3))
    return look(noise)["loss"]  # nobody can foretell noise
    ### END SOLUTION


# %% nbgrader={"grade_id": "b-named", "grade": true, "points": 1}
assert not (why := misjudged("B", diagnosis_b())), why

# %% nbgrader={"grade_id": "b-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_b, "B")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="b-diagnosis"
# Its map obeys the causal mask. So where does the answer stand?


# %% tags=["wrong-answer"] exercise="b-diagnosis"
def diagnosis_b():
    return "mask"  # no weight lies above the diagonal


def measure_b(look):
    return look(texts(16))["weights"].triu(1).sum(-1).mean()  # 0, as in a healthy one


# %% tags=["wrong-answer"] exercise="b-diagnosis"
def diagnosis_b():
    return "eval"  # no dropout makes a loss perfect


def measure_b(look):
    return look(texts(64))["loss"]  # what the curve shows already


# %% [markdown]
# ## 3. Patient C: ill since the move
#
# *Diagnose · 10 min · hard · book 2.4.1.2*
#
# Its weights were trained in another program, in full health. Since they were loaded here, at
# step 240, it writes letters of the word in a wrong order. With more training it recovers.

# %%
told("C")


# %% [markdown]
# What is it, and what number proves it? In a text of equal letters, what alone
# distinguishes the rows?


# %% nbgrader={"grade_id": "c-diagnosis", "solution": true}
def diagnosis_c():
    """Return one of the six words."""
    ### BEGIN SOLUTION
    return "position"
    ### END SOLUTION


def measure_c(look):
    """Return one number, computed from `look(texts)`, that proves it."""
    ### BEGIN SOLUTION
    rows = look(torch.zeros(1, 11, dtype=torch.long))["rows"][0]  # aaaaaaaaaaa
    return (rows[1] - rows[0])[0] / 0.02  # sin 1 - sin 0 = 0.84 if the first place is 0
    ### END SOLUTION


# %% nbgrader={"grade_id": "c-named", "grade": true, "points": 1}
assert not (why := misjudged("C", diagnosis_c())), why

# %% nbgrader={"grade_id": "c-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_c, "C")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="c-diagnosis"
# Compare the two maps: by how many keys has the band moved? The first number of a place's row is
# the sine of the place.


# %% tags=["wrong-answer"] exercise="c-diagnosis"
def diagnosis_c():
    return "epsilon"  # that would blur the map, not move it


def measure_c(look):
    return look(texts(64))["loss"]  # what the curve shows already


# %% tags=["wrong-answer"] exercise="c-diagnosis"
def diagnosis_c():
    return "mask"  # the map keeps to the lower half


def measure_c(look):
    return look(texts(16))["scores"].std()  # another number in each model


# %% [markdown]
# ## 4. Patient D: ill since the move, too
#
# *Diagnose · 8 min · hard · book 2.4.2, Ba et al. 2016*
#
# It comes from the same program as C, with the same weights. The band of its map is where it
# should be, but paler.

# %%
told("D")


# %% [markdown]
# What is it, and what number proves it? Which part of a model should not notice that
# its rows are a hundred times as large?


# %% nbgrader={"grade_id": "d-diagnosis", "solution": true}
def diagnosis_d():
    """Return one of the six words."""
    ### BEGIN SOLUTION
    return "epsilon"
    ### END SOLUTION


def measure_d(look):
    """Return one number, computed from `look(texts)`, that proves it."""
    ### BEGIN SOLUTION
    small, large = (look(texts(16), size)["logits"] for size in (1.0, 100.0))
    return (small - large).abs().max()  # a norm takes the size away, but for epsilon
    ### END SOLUTION


# %% nbgrader={"grade_id": "d-named", "grade": true, "points": 1}
assert not (why := misjudged("D", diagnosis_d())), why

# %% nbgrader={"grade_id": "d-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_d, "D")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="d-diagnosis"
# Rows of size 0.02 have a variance near 0.0006. What is a large epsilon beside that?


# %% tags=["wrong-answer"] exercise="d-diagnosis"
def diagnosis_d():
    return "position"  # the band has not moved


def measure_d(look):
    return look(texts(64))["loss"]  # what the curve shows already


# %% tags=["wrong-answer"] exercise="d-diagnosis"
def diagnosis_d():
    return "scale"  # the scores of the same weights would have grown, not shrunk


def measure_d(look):
    return look(texts(16))["weights"].triu(1).sum()  # 0, as in a healthy one


# %% [markdown]
# ## 5. Patient E: a chronic case
#
# *Diagnose · 6 min · easy · book 2.4.2*
#
# It learns, and writes nearly as well as a healthy one. But the loss that its program tells is
# several times as high.

# %%
told("E")


# %% [markdown]
# What is it, and what number proves it? Ask twice.


# %% nbgrader={"grade_id": "e-diagnosis", "solution": true}
def diagnosis_e():
    """Return one of the six words."""
    ### BEGIN SOLUTION
    return "eval"
    ### END SOLUTION


def measure_e(look):
    """Return one number, computed from `look(texts)`, that proves it."""
    ### BEGIN SOLUTION
    first, second = (look(texts(64))["loss"] for _ in range(2))
    return abs(first - second)  # the same weights, the same texts
    ### END SOLUTION


# %% nbgrader={"grade_id": "e-named", "grade": true, "points": 1}
assert not (why := misjudged("E", diagnosis_e())), why

# %% nbgrader={"grade_id": "e-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_e, "E")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="e-diagnosis"
# The map was drawn from one quiet look. Is the loss told under the same conditions?


# %% tags=["wrong-answer"] exercise="e-diagnosis"
def diagnosis_e():
    return "scale"  # the map is as soft as a healthy one


def measure_e(look):
    return look(texts(64))["loss"]  # what the curve shows already


# %% tags=["wrong-answer"] exercise="e-diagnosis"
def diagnosis_e():
    return "epsilon"  # it was never moved


def measure_e(look):
    return look(texts(16))["weights"].max(-1).values.mean()


# %% [markdown]
# ## 6. Patient F: a slow learner
#
# *Diagnose · 6 min · medium · book 2.3.2*
#
# The loss falls, but slowly. The map knows only black and white.

# %%
told("F")


# %% [markdown]
# What is it, and what number proves it? What does `look` let you compute again, from its parts?


# %% nbgrader={"grade_id": "f-diagnosis", "solution": true}
def diagnosis_f():
    """Return one of the six words."""
    ### BEGIN SOLUTION
    return "scale"
    ### END SOLUTION


def measure_f(look):
    """Return one number, computed from `look(texts)`, that proves it."""
    ### BEGIN SOLUTION
    seen = look(texts(16))
    return seen["scores"].std() / (seen["queries"] @ seen["keys"].mT).std()  # 1 / 8, or 1
    ### END SOLUTION


# %% nbgrader={"grade_id": "f-named", "grade": true, "points": 1}
assert not (why := misjudged("F", diagnosis_f())), why

# %% nbgrader={"grade_id": "f-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_f, "F")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="f-diagnosis"
# A softmax that gives all to one key has no slope. What makes its scores so large?


# %% tags=["wrong-answer"] exercise="f-diagnosis"
def diagnosis_f():
    return "eval"  # its loss is steady, and its words are wrong


def measure_f(look):
    return look(texts(64))["loss"]  # what the curve shows already


# %% tags=["wrong-answer"] exercise="f-diagnosis"
def diagnosis_f():
    return "epsilon"  # it was ill from its first step


def measure_f(look):
    return look(texts(16))["weights"].sum(-1).mean()  # each row sums to one


# %% [markdown]
# ## 7. Theatre: a mask
#
# *Fix · 4 min · easy · book 2.4.2.3*
#
# From here on you see code that was found in the six, in another order. True = may attend. Whose
# convention is this, and what should the function return here?


# %%
def found_allowed(T):
    return torch.ones(T, T, dtype=torch.bool).triu(1)


# %% nbgrader={"grade_id": "mend-mask", "solution": true}
def allowed(T):
    """Return bool (T, T): True where a query (down) may attend to a key (across)."""
    ### BEGIN SOLUTION
    return torch.ones(T, T, dtype=torch.bool).tril()
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-mask-check", "grade": true, "points": 3}
four = allowed(4)
assert four.dtype == torch.bool, f"a mask is bool, yours is {four.dtype}"
assert four.shape == (4, 4), f"expected (4, 4), got {tuple(four.shape)}"
assert not four.triu(1).any(), f"a query may attend to a key that comes after it:\n{four}"
assert four.any(1).all(), f"a query may attend to nothing, not even to itself:\n{four}"
assert operate("mask", allowed).right > 0.75, "trained with your mask, it still writes no words"
### BEGIN HIDDEN TESTS
from deepdive.core.masks import Causal

assert torch.equal(allowed(7), Causal().dense(7)[0, 0])
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-mask"
# `triu(1)` is what a query must not see; in `nn.Transformer`, True means just that.


# %% tags=["wrong-answer"] exercise="mend-mask"
def allowed(T):
    return torch.ones(T, T, dtype=torch.bool).tril(-1)  # not itself: the first row is empty


# %% tags=["wrong-answer"] exercise="mend-mask"
def allowed(T):
    return torch.ones(T, T, dtype=torch.bool).tril(1)  # one key too many


# %% [markdown]
# ## 8. Theatre: a pair
#
# *Fix · 4 min · easy · book 2.4.2.3*
#
# What the model reads, and what it must give at the same place.


# %%
def found_pairs(tokens):
    return tokens, tokens


# %% nbgrader={"grade_id": "mend-shift", "solution": true}
def pairs(tokens):
    """Return what the model reads, and what it must give there, for texts (B, 11)."""
    ### BEGIN SOLUTION
    return tokens[:, :-1], tokens[:, 1:]
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-shift-check", "grade": true, "points": 3}
read, wanted = pairs(torch.arange(11)[None])
assert read.shape == wanted.shape == (1, 10), (
    f"11 tokens make 10 pairs; yours are {tuple(read.shape)} and {tuple(wanted.shape)}"
)
assert torch.equal(wanted, read + 1), (
    f"after reading {read[0, 0]} the model must give {read[0, 0] + 1}, not {wanted[0, 0]}"
)
assert operate("shift", pairs).right > 0.75, "trained on your pairs, it still writes no words"
### BEGIN HIDDEN TESTS
some = texts(5)
assert torch.equal(pairs(some)[0], some[:, :-1])
assert torch.equal(pairs(some)[1], some[:, 1:])
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-shift"
# The last token is never read, the first is never to be given.


# %% tags=["wrong-answer"] exercise="mend-shift"
def pairs(tokens):
    return tokens[:, 1:], tokens[:, 1:]  # shorter, and still the same token


# %% tags=["wrong-answer"] exercise="mend-shift"
def pairs(tokens):
    return tokens[:, 1:], tokens[:, :-1]  # foretells the past


# %% [markdown]
# ## 9. Theatre: a row of clocks
#
# *Fix · 5 min · easy · book 2.4.1.2*
#
# The weights were trained with $\sin 0 = 0$ and $\cos 0 = 1$ in the first row.


# %%
def found_places(T, d):
    place = torch.arange(1, T + 1)[:, None]
    angles = place / 10_000 ** (torch.arange(0, d, 2) / d)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


# %% nbgrader={"grade_id": "mend-position", "solution": true}
def places(T, d):
    """Return the sinusoidal table (T, d) that the weights know."""
    ### BEGIN SOLUTION
    place = torch.arange(T)[:, None]
    angles = place / 10_000 ** (torch.arange(0, d, 2) / d)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-position-check", "grade": true, "points": 3}
table = places(10, 64)
assert table.shape == (10, 64), f"expected (10, 64), got {tuple(table.shape)}"
assert table[0].tolist() == [0.0, 1.0] * 32, f"the first row begins {table[0, :4].tolist()}"
assert torch.allclose(table[1], found_places(10, 64)[0]), "the second place is 1"
assert operate("position", places).right > 0.75, "with your table it still garbles its words"
### BEGIN HIDDEN TESTS
from deepdive.positions import SinusoidalPosition

exact = SinusoidalPosition(32).embed(torch.zeros(1, 50, 32), torch.arange(50))[0]
assert torch.allclose(places(50, 32), exact, atol=1e-5)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-position"
# `torch.arange(T)` begins at 0 and has T numbers.


# %% tags=["wrong-answer"] exercise="mend-position"
def places(T, d):
    return found_places(T - 1, d)  # one row less, and it still begins at 1


# %% tags=["wrong-answer"] exercise="mend-position"
def places(T, d):
    table = found_places(T, d)
    return table - table[:1]  # the first row is 0: sines and cosines of nothing


# %% [markdown]
# ## 10. Theatre: a norm
#
# *Fix · 8 min · medium · book 2.4.2, Ba et al. 2016*
#
# Of the original program one row is known, and what its norm made of it:
#
# | | | | | |
# |---|---|---|---|---|
# | in | 0.004 | -0.004 | 0.002 | -0.002 |
# | out | 0.8944 | -0.8944 | 0.4472 | -0.4472 |
#
# The code has a number of its own; it is Keras' default. Which one had the original?


# %%
def found_norm(x):
    deviation = x - x.mean(-1, keepdim=True)
    return deviation / (deviation.square().mean(-1, keepdim=True) + 1e-3).sqrt()


# %% nbgrader={"grade_id": "mend-epsilon", "solution": true}
def norm(x):
    """Return x (.., d), each row with mean 0 and variance 1, as the original did."""
    ### BEGIN SOLUTION
    deviation = x - x.mean(-1, keepdim=True)
    return deviation / (deviation.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-epsilon-check", "grade": true, "points": 3}
row = torch.tensor([0.004, -0.004, 0.002, -0.002])
assert abs(norm(row)[0] - 0.8944) < 1e-3, f"0.004 became 0.8944 there, and {norm(row)[0]:.4f} here"
assert abs(norm(row + 1.0).sum()) < 1e-3, "the mean must be taken away"
assert abs(norm(torch.tensor([1e-4, -1e-4]))[0] - 0.0316) < 1e-3, (
    "right for that row only: of a row far smaller than the root of epsilon, little may be left"
)
assert operate("epsilon", norm).right > 0.75, "with your norm it still writes as before"
### BEGIN HIDDEN TESTS
from torch.nn.functional import layer_norm

for size in (1e-3, 0.02, 1.0):
    x = size * torch.randn(5, 64)
    assert torch.allclose(norm(x), layer_norm(x, (64,), eps=1e-5), atol=1e-4)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-epsilon"
# The variance of the row is $10^{-5}$. By what was 0.004 divided to give 0.8944? Square that.


# %% tags=["wrong-answer"] exercise="mend-epsilon"
def norm(x):
    deviation = x - x.mean(-1, keepdim=True)
    return deviation / (deviation.square().mean(-1, keepdim=True).sqrt() + 1e-5)  # outside the root


# %% tags=["wrong-answer"] exercise="mend-epsilon"
def norm(x):
    deviation = x - x.mean(-1, keepdim=True)
    return deviation / (deviation.square().mean(-1, keepdim=True) + 1e-6).sqrt()  # too small


# %% [markdown]
# ## 11. Theatre: a course of training
#
# *Fix · 6 min · medium · book 2.4.2*
#
# `mode("train")` and `mode("eval")` switch the dropout on and off, `step()` makes one step of
# training, `judge()` returns the loss on new words.


# %%
def found_course(mode, step, judge, steps):
    mode("train")
    losses = []
    for i in range(steps):
        if i % 10 == 0:
            losses.append(judge())
        step()
    return losses


# %% nbgrader={"grade_id": "mend-eval", "solution": true}
def course(mode, step, judge, steps):
    """Train `steps` times; return the losses, judged before each tenth step."""
    ### BEGIN SOLUTION
    losses = []
    for i in range(steps):
        if i % 10 == 0:
            mode("eval")
            losses.append(judge())
            mode("train")
        step()
    return losses
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-eval-check", "grade": true, "points": 3}
now, log = ["train"], []


def notes(what):
    """A function that notes in which mode it was called."""
    return lambda: log.append((what, now[0])) or 0.5


losses = course(lambda name: now.append(now.pop() and name), notes("step"), notes("judge"), 25)
assert losses == [0.5] * 3, f"25 steps have 3 losses, yours are {losses}"
assert log.count(("judge", "train")) == 0, "a loss was told while dropout was on"
assert log.count(("step", "eval")) == 0, "a step was made while dropout was off"
assert [what for what, _ in log] == (["judge"] + ["step"] * 10) * 2 + ["judge"] + ["step"] * 5
cured = operate("eval", course)
assert cured.curve[-1] < 0.15, f"the loss still ends at {cured.curve[-1]:.2f}"
### BEGIN HIDDEN TESTS
now, log = ["eval"], []  # it may come in either mode
course(lambda name: now.append(now.pop() and name), notes("step"), notes("judge"), 11)
assert log.count(("step", "train")) == 11
assert log.count(("judge", "eval")) == 2
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-eval"
# Two switches are missing, one before the loss and one after it.


# %% tags=["wrong-answer"] exercise="mend-eval"
def course(mode, step, judge, steps):
    losses = []
    mode("train")
    for i in range(steps):
        if i % 10 == 0:
            mode("eval")  # and never back: no dropout from the first loss on
            losses.append(judge())
        step()
    return losses


# %% tags=["wrong-answer"] exercise="mend-eval"
def course(mode, step, judge, steps):
    losses = []
    for i in range(steps):
        mode("eval" if i % 10 == 0 else "train")  # each tenth step without dropout
        if i % 10 == 0:
            losses.append(judge())
        step()
    return losses


# %% [markdown]
# ## 12. Theatre: a score
#
# *Fix · 4 min · easy · book 2.3.2*
#
# Queries and keys have entries of variance 1.


# %%
def found_scores(q, k):
    return q @ k.mT


# %% nbgrader={"grade_id": "mend-scale", "solution": true}
def scores(q, k):
    """Return (B, T, S) for q (B, T, d) and k (B, S, d), of variance 1."""
    ### BEGIN SOLUTION
    return q @ k.mT / q.shape[-1] ** 0.5
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-scale-check", "grade": true, "points": 3}
q, k = torch.randn(2, 50, 9, 64).unbind(0)
assert scores(q, k).shape == (50, 9, 9), f"expected (50, 9, 9), got {tuple(scores(q, k).shape)}"
assert 0.9 < scores(q, k).std() < 1.1, f"64 wide, their deviation is {scores(q, k).std():.2f}"
wide = torch.randn(2, 50, 9, 256)
assert 0.9 < scores(*wide).std() < 1.1, f"256 wide, their deviation is {scores(*wide).std():.2f}"
factor = (scores(q, k) / found_scores(q, k)).median().item()
assert operate("scale", lambda d: factor).right > 0.75, "with your scores it still learns slowly"
### BEGIN HIDDEN TESTS
few = torch.randn(1, 3, 16), torch.randn(1, 5, 16)
assert torch.allclose(scores(*few), few[0] @ few[1].mT / 4, atol=1e-5)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-scale"
# A sum of d independent terms of variance 1 has the variance d. What is its standard deviation?


# %% tags=["wrong-answer"] exercise="mend-scale"
def scores(q, k):
    return q @ k.mT / q.shape[-1]  # by d: all scores near 0


# %% tags=["wrong-answer"] exercise="mend-scale"
def scores(q, k):
    return q @ k.mT / k.shape[-2] ** 0.5  # by the number of keys


# %% tags=["wrong-answer"] exercise="mend-scale"
def scores(q, k):
    return q @ k.mT / 8  # right for one width only
