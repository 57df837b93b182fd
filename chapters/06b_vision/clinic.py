# %% [markdown]
# # Bug clinic: vision
#
# Four small painters are ill. Each has one bug, none of which raises an error. On the ward you see
# symptoms only: say what it is, and prove it by a measurement. In the theatre you see code: fix it.
# The symptoms are drawn when you run the cells, so open this notebook where it runs.
#
# <small>Book 6.2.1, Straka (MAE), Fleuret (Swin) · needs [patches](01_patches.ipynb), [hidden
# patches](04_mae.ipynb) and [windows that shift](05_swin.ipynb) · no data, no GPU · each patient
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

from deepdive.layers.patches import patchify

# %% tags=["variant"]
from deepdive_book.course.assignment.variants import permutation

# %%
from deepdive_book.course.specimens.pictures import gaps, pictures
from deepdive_book.kit.plotting import show

# %% tags=["variant"] exercise="a-diagnosis"
BEDS = [letter for pair in permutation([permutation("AB"), permutation("CD")]) for letter in pair]

# %%
from deepdive_book.course.clinic.pictures import (
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
# | `patches` | a reshape makes the rows, so that they hold lines and not squares |
# | `norm` | new pictures are normalized by their own mean and spread, not by the training's |
# | `loss` | the loss counts all patches, not the hidden ones alone |
# | `mask` | in the shifted layer patches from opposite edges meet |
#
# Each model looks at a sky: a generated picture of 16 x 16 pixels, from 0, black, to 1, white,
# that grows lighter in one direction. It is cut into 16 patches of 4 x 4, numbered line by line
# from 0 to 15. In the place of six of them stands a learned row, and the model says their pixels,
# as a masked autoencoder does. It has three layers with one head, 32 wide. Patches attend in
# windows of 2 x 2 patches; in the second layer, as in Swin, the windows have moved by one patch.
#
# `pictures(n)` makes n skies (n, 1, 16, 16); `gaps(n)` draws what is hidden, bool (n, 16).
# `look(images, hidden)` lets a model look, and returns what can be seen on the way; without
# `hidden` it hides `gaps(n)`:
#
# | key | shape | |
# |---|---|---|
# | `rows` | (B, 16, 16) | normalized patches as they go in: patches, and pixels of each |
# | `weights` | (B, 16, 16) | of the second layer: who asks, who is asked; 0 between windows |
# | `said` | (B, 16, 16) | what it says of the rows, patch by patch |
# | `loss` | a number | the mean squared error of `said`, as the model's own program tells it |
#
# A healthy one first:

# %%
seen = healthy().look(pictures(64))
print({name: tuple(value.shape) for name, value in seen.items() if name != "loss"})
print(
    f"loss {seen['loss']:.3f}; at hidden pixels of 64 new pictures off by {healthy().off:.1f} %"
    " of the way from black to white"
)


def told(letter):
    """Show what a patient came with."""
    patient = admit(letter)
    show(patient.chart())
    print(f"at hidden pixels of 64 new pictures off by {patient.off:.1f} %;", end=" ")
    print(f"a healthy one by {healthy().off:.1f} %")


# %% [markdown]
# A measurement proves a diagnosis if it tells the patient from healthy models, also from one that
# has not learned yet, and from the patient next door (A and B, C and D).

# %% [markdown]
# ## 1. Patient A: its squares do not fit
#
# *Diagnose · 6 min · easy · book 6.2.1*
#
# The loss falls like a healthy one's, or faster. But what it says of a hidden square does not fit
# the square: it has bands.

# %%
told("A")


# %% [markdown]
# What is it, and what number proves it? In a healthy model this number is 1.


# %% nbgrader={"grade_id": "a-diagnosis", "solution": true}
def diagnosis_a():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "patches"
    ### END SOLUTION


def measure_a(look):
    """Return one number, computed from `look(images, hidden)`, that proves it."""
    ### BEGIN SOLUTION
    image = pictures(1)
    other = image.clone()
    other[:, :, :4, :4] += 0.1  # the first square, a little lighter
    moved = (look(image)["rows"] - look(other)["rows"]).abs().amax(-1) > 1e-6
    return moved.sum()  # in how many rows it stands
    ### END SOLUTION


# %% nbgrader={"grade_id": "a-named", "grade": true, "points": 1}
assert not (why := misjudged("A", diagnosis_a())), why

# %% nbgrader={"grade_id": "a-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_a, "A")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="a-diagnosis"
# Make one square of a picture lighter. How many of the `rows` should change, and how many do?


# %% tags=["wrong-answer"] exercise="a-diagnosis"
def diagnosis_a():
    return "norm"  # then whole squares would be too light or too dark


def measure_a(look):
    return look(pictures(64))["loss"]  # what the curve shows already


# %% tags=["wrong-answer"] exercise="a-diagnosis"
def diagnosis_a():
    return "mask"  # then bands would stand near the edges only


def measure_a(look):
    return look(pictures(16))["weights"].sum(-1).mean()  # each row sums to one, in all of them


# %% [markdown]
# ## 2. Patient B: all skies are gray
#
# *Diagnose · 8 min · medium · book 6.2.1*
#
# It was trained well: its loss is that of a healthy one, to the last digit. It was then moved to
# another program. There it paints light squares into dark skies, and dark ones into light skies.

# %%
told("B")


# %% [markdown]
# What is it, and what number proves it? Think of two pictures that no two models should confuse.


# %% nbgrader={"grade_id": "b-diagnosis", "solution": true}
def diagnosis_b():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "norm"
    ### END SOLUTION


def measure_b(look):
    """Return one number, computed from `look(images, hidden)`, that proves it."""
    ### BEGIN SOLUTION
    images = pictures(16)
    darker = look(images - 0.2)["rows"].mean()  # all of it a little darker
    return look(images)["rows"].mean() - darker
    ### END SOLUTION


# %% nbgrader={"grade_id": "b-named", "grade": true, "points": 1}
assert not (why := misjudged("B", diagnosis_b())), why

# %% nbgrader={"grade_id": "b-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_b, "B")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="b-diagnosis"
# Take 0.2 from all pixels of a picture. What of that arrives in its `rows`?


# %% tags=["wrong-answer"] exercise="b-diagnosis"
def diagnosis_b():
    return "patches"  # its squares are smooth, without bands


def measure_b(look):
    return look(pictures(64))["weights"].max()  # another number in each model


# %% tags=["wrong-answer"] exercise="b-diagnosis"
def diagnosis_b():
    return "loss"  # its loss is a healthy one's


def measure_b(look):
    return look(pictures(16))["weights"].sum(-1).mean()  # each row sums to one, in all of them


# %% [markdown]
# ## 3. Patient C: better than healthy
#
# *Diagnose · 8 min · medium · He et al. 2022*
#
# It fills in hidden squares about as well as a healthy one. But the loss that its program tells
# falls faster, and ends lower.

# %%
told("C")


# %% [markdown]
# What is it, and what number proves it? With `said` and `rows` you can compute a loss of your own.


# %% nbgrader={"grade_id": "c-diagnosis", "solution": true}
def diagnosis_c():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "loss"
    ### END SOLUTION


def measure_c(look):
    """Return one number, computed from `look(images, hidden)`, that proves it."""
    ### BEGIN SOLUTION
    hidden = gaps(64)
    seen = look(pictures(64), hidden)
    return (seen["said"] - seen["rows"])[hidden].square().mean() - seen["loss"]
    ### END SOLUTION


# %% nbgrader={"grade_id": "c-named", "grade": true, "points": 1}
assert not (why := misjudged("C", diagnosis_c())), why

# %% nbgrader={"grade_id": "c-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_c, "C")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="c-diagnosis"
# Ten of sixteen patches are not hidden. How hard is it to say what stands there?


# %% tags=["wrong-answer"] exercise="c-diagnosis"
def diagnosis_c():
    return "mask"  # who meets whom does not change what is counted


def measure_c(look):
    return look(pictures(64))["loss"] > 1000  # no curve is that high


# %% tags=["wrong-answer"] exercise="c-diagnosis"
def diagnosis_c():
    return "norm"  # then its squares would be too light or too dark


def measure_c(look):
    return look(pictures(16))["weights"].sum(-1).mean()  # each row sums to one, in all of them


# %% [markdown]
# ## 4. Patient D: it looks round the corner
#
# *Diagnose · 8 min · medium · Liu et al. 2021*
#
# It learns, and what it fills in is only a little worse than a healthy one's. But somebody painted
# the right edge of a sky black, and the left edge took notice.

# %%
told("D")


# %% [markdown]
# What is it, and what number proves it? In a healthy model this number is 0.


# %% nbgrader={"grade_id": "d-diagnosis", "solution": true}
def diagnosis_d():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "mask"
    ### END SOLUTION


def measure_d(look):
    """Return one number, computed from `look(images, hidden)`, that proves it."""
    ### BEGIN SOLUTION
    weights = look(pictures(64))["weights"].view(64, 4, 4, 4, 4)  # lines and columns of both
    return weights[:, :, 0, :, 3].mean()  # from the left edge to the right one
    ### END SOLUTION


# %% nbgrader={"grade_id": "d-named", "grade": true, "points": 1}
assert not (why := misjudged("D", diagnosis_d())), why

# %% nbgrader={"grade_id": "d-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_d, "D")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="d-diagnosis"
# Patch 4 stands at the left edge, patch 7 at the right one, in one line. How much attention may the
# one give to the other?


# %% tags=["wrong-answer"] exercise="d-diagnosis"
def diagnosis_d():
    return "loss"  # it fills in as badly as its loss says


def measure_d(look):
    return look(pictures(64))["loss"] > 1000  # no curve is that high


# %% tags=["wrong-answer"] exercise="d-diagnosis"
def diagnosis_d():
    return "patches"  # its squares are smooth, without bands


def measure_d(look):
    return look(pictures(16))["weights"].sum(-1).mean()  # each row sums to one, in all of them


# %% [markdown]
# ## 5. Theatre: what is counted
#
# *Fix · 4 min · easy · He et al. 2022*
#
# From here on you see code that was found in the four, in another order. `hidden` is bool (B, N).
# Which patches enter the loss?


# %%
def found_counted(hidden):
    return torch.ones_like(hidden)


# %% nbgrader={"grade_id": "mend-loss", "solution": true}
def counted(hidden):
    """Return bool (B, N): True where a patch enters the loss."""
    ### BEGIN SOLUTION
    return hidden.clone()
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-loss-check", "grade": true, "points": 3}
two = torch.tensor([[True, False, False, True], [False, True, True, False]])
where = counted(two)
assert where.dtype == torch.bool, f"places are bool, yours are {where.dtype}"
assert where.shape == (2, 4), f"one for each patch, (2, 4); yours is {tuple(where.shape)}"
assert not where[0, [1, 2]].any(), (
    f"a patch that is seen need only be copied; yours counts {where[0].tolist()} in the first"
)
assert where[0, [0, 3]].all(), f"both hidden patches are asked; yours are {where[0].tolist()}"
assert where[1].tolist() == two[1].tolist(), f"each picture has its own gaps: {where[1].tolist()}"
assert operate("loss", counted).curve[3] > ill("loss").curve[3], "its loss still falls too fast"
### BEGIN HIDDEN TESTS
many = gaps(7, seed=3)
assert torch.equal(counted(many), many), "six hidden patches of sixteen are off"
assert not counted(many & False).any(), "where nothing is hidden, nothing is counted"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-loss"
# In the sum by hand on [page 6b.4](04_mae.ipynb), what did the seen patches count for?


# %% tags=["wrong-answer"] exercise="mend-loss"
def counted(hidden):  # what is seen, and not the gaps
    return ~hidden


# %% tags=["wrong-answer"] exercise="mend-loss"
def counted(hidden):  # the first picture's gaps for all
    return hidden[:1].expand(len(hidden), -1)


# %% [markdown]
# ## 6. Theatre: the same scale for all
#
# *Fix · 5 min · medium · book 6.2.1*
#
# `mean` and `spread` are those of all pixels of the training's pictures. How does a new picture go
# in?


# %%
def found_normalized(images, mean, spread):
    own = images.mean((1, 2, 3), keepdim=True), images.std((1, 2, 3), keepdim=True)
    return (images - own[0]) / own[1]


# %% nbgrader={"grade_id": "mend-norm", "solution": true}
def normalized(images, mean, spread):
    """Return images (B, C, H, W) as they go in; `mean` and `spread` are the training's."""
    ### BEGIN SOLUTION
    return (images - mean) / spread
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-norm-check", "grade": true, "points": 3}
light = torch.full((2, 1, 3, 3), 0.9)
light[1] = 0.4
given = normalized(light, 0.5, 0.1)
assert given.shape == light.shape, f"as many pixels as before; yours are {tuple(given.shape)}"
assert torch.isfinite(given).all(), "a picture of one grey alone has no spread of its own"
assert torch.allclose(given[0], torch.tensor(4.0)), (
    f"0.9 is four spreads of 0.1 above 0.5; yours is {given[0].mean():.2f}"
)
assert torch.allclose(given[1], torch.tensor(-1.0)), (
    f"0.4 is one spread of 0.1 below 0.5; yours is {given[1].mean():.2f}"
)
cured = operate("norm", normalized)
assert cured.off < 4, f"with yours it is still off by {cured.off:.1f} % on new pictures"
### BEGIN HIDDEN TESTS
many = torch.rand(4, 3, 5, 6, generator=torch.Generator().manual_seed(1))
assert torch.allclose(normalized(many, 0.3, 0.7), (many - 0.3) / 0.7), "pictures in colour are off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-norm"
# In the training one mean and one spread served all pictures. A dark picture was below 0, and a
# light one above.


# %% tags=["wrong-answer"] exercise="mend-norm"
def normalized(images, mean, spread):  # the mean of the new pictures together
    return (images - images.mean()) / images.std()


# %% tags=["wrong-answer"] exercise="mend-norm"
def normalized(images, mean, spread):  # the own mean, and the training's spread
    return (images - images.mean((1, 2, 3), keepdim=True)) / spread


# %% [markdown]
# ## 7. Theatre: squares
#
# *Fix · 8 min · medium · book 6.2.1*
#
# Images (B, C, H, W) become a row for each square of `size` x `size` pixels, line by line. The
# shape of what was found is right.


# %%
def found_rows(images, size=4):
    B, C, H, W = images.shape
    return images.reshape(B, (H // size) * (W // size), C * size * size)


# %% nbgrader={"grade_id": "mend-patches", "solution": true}
def rows(images, size=4):
    """Return (B, N, C * size * size): channels, lines and columns of each square, in this order."""
    ### BEGIN SOLUTION
    B, C, H, W = images.shape
    squares = images.reshape(B, C, H // size, size, W // size, size)
    return squares.permute(0, 2, 4, 1, 3, 5).reshape(B, -1, C * size * size)
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-patches-check", "grade": true, "points": 3}
numbers = torch.arange(64.0).view(1, 1, 8, 8)
found = rows(numbers)
assert found.shape == (1, 4, 16), f"four rows of 16 pixels; yours are {tuple(found.shape)}"
assert sorted(found.flatten().tolist()) == numbers.flatten().tolist(), "each pixel comes once"
first = [int(n) for n in found[0, 0, [0, 1, 4, 5]]]
assert first == [0, 1, 8, 9], (
    f"at the upper left stand 0 and 1, and 8 and 9 below them; your first row has {first} there"
)
second = [int(n) for n in found[0, 1, :2]]
assert second == [4, 5], f"the second square is to the right, 4 and 5 first; yours has {second}"
cured = operate("patches", rows)
assert cured.off < 4, f"trained with yours it is still off by {cured.off:.1f} %"
### BEGIN HIDDEN TESTS
color = torch.rand(2, 3, 4, 6, generator=torch.Generator().manual_seed(2))
assert torch.equal(rows(color, 2), patchify(color, 2)), "squares of 2 x 2 in colour are off"
tall = torch.arange(32.0).view(1, 1, 8, 4)
assert torch.equal(rows(tall), patchify(tall, 4)), "a picture twice as high as wide is off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-patches"
# Give each square axes of its own: lines of squares, lines in a square, columns of squares, columns
# in a square. Then bring those inside a square to the end.


# %% tags=["wrong-answer"] exercise="mend-patches"
def rows(images, size=4):  # two axes exchanged in the permute
    B, C, H, W = images.shape
    squares = images.reshape(B, C, H // size, size, W // size, size)
    return squares.permute(0, 2, 3, 1, 4, 5).reshape(B, -1, C * size * size)


# %% tags=["wrong-answer"] exercise="mend-patches"
def rows(images, size=4):  # squares column by column
    B, C, H, W = images.shape
    squares = images.reshape(B, C, H // size, size, W // size, size)
    return squares.permute(0, 4, 2, 1, 3, 5).reshape(B, -1, C * size * size)


# %% [markdown]
# ## 8. Theatre: who meets whom
#
# *Fix · 8 min · hard · Liu et al. 2021*
#
# On a grid of `side` x `side` patches the windows have moved by `shift`. The grid is rolled, so
# that windows are whole again: line 0 goes to the end. What was found gives each line its window
# after the roll, each patch one for its line and one for its column, and lets equal ones meet.


# %%
def found_meets(side, window, shift):
    line = (torch.arange(side) - shift) % side // window  # the window of each line, rolled
    at = (line[:, None] * side + line).flatten()
    return at[:, None] == at


# %% nbgrader={"grade_id": "mend-mask", "solution": true}
def meets(side, window, shift):
    """Return bool (side * side, side * side): True where two patches may attend to each other."""
    ### BEGIN SOLUTION
    line = (torch.arange(side) - shift).div(window, rounding_mode="floor")  # -1: cut off
    at = (line[:, None] * side + line).flatten()
    return at[:, None] == at
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-mask-check", "grade": true, "points": 3}
found = meets(4, 2, 1)
assert found.shape == (16, 16), f"16 patches, each with each; yours is {tuple(found.shape)}"
assert found.diagonal().all(), "each patch meets itself"
assert torch.equal(found, found.T), "who meets is met"
middle = found[5].nonzero()[:, 0].tolist()
assert middle == [5, 6, 9, 10], f"the window in the middle has 5, 6, 9, 10; yours has {middle}"
assert not found[4, 7], "patches 4 and 7 are neighbours by the roll alone"
assert not found[1, 13], "patches 1 and 13, above and below, are neighbours by the roll alone"
assert found.sum() == 36, f"36 pairs may meet, as by hand on page 6b.5; with yours {found.sum()}"
seen = operate("mask", meets).look(pictures(8))["weights"]
assert not (seen[:, 4, 7] > 1e-6).any(), "trained with yours, the left edge looks to the right one"
### BEGIN HIDDEN TESTS
assert meets(6, 3, 1).sum() == 196, "a grid of 6 x 6 in windows of 3 x 3, moved by 1, is off"
assert meets(12, 4, 2).sum() == 1600, "a grid of 12 x 12 in windows of 4 x 4, moved by 2, is off"
assert meets(4, 2, 0).sum() == 64, "windows at rest are off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-mask"
# Lines that the roll brought from the other edge must keep a window of their own. What does
# `% side` do to them?


# %% tags=["wrong-answer"] exercise="mend-mask"
def meets(side, window, shift):  # windows at rest
    line = torch.arange(side) // window
    at = (line[:, None] * side + line).flatten()
    return at[:, None] == at


# %% tags=["wrong-answer"] exercise="mend-mask"
def meets(side, window, shift):  # the edges of lines are kept apart, those of columns are not
    rolled = (torch.arange(side) - shift) % side // window
    line = (torch.arange(side) - shift).div(window, rounding_mode="floor")
    at = (line[:, None] * side + rolled).flatten()
    return at[:, None] == at


# %% tags=["wrong-answer"] exercise="mend-mask"
def meets(side, window, shift):  # rolled the other way, and nothing kept apart
    line = (torch.arange(side) + shift) % side // window
    at = (line[:, None] * side + line).flatten()
    return at[:, None] == at
