# %% [markdown]
# # Exercises: vision
#
# {{EXERCISES}} exercises in rising order, about {{MINUTES}} minutes in all. Write where a cell says
# so; the check under it says what is wrong. A check without a message has passed. Some tests are
# kept for whoever grades, so check your own work beyond what the cell shows. Values in capitals may
# be your own: use their names. Where a question asks for words, a person marks them.
#
# <small>Book 6.2 · after [from pixels to tokens](01_patches.ipynb); exercises 3 and 4 say what they
# need · no data, no GPU</small>

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

# %%
from deepdive.core.checks import missed, returned

# %%
from deepdive.core.hooks import record
from deepdive.layers.patches import patchify, unpatchify
from deepdive.models.vision.vit import TINY, vit

# %% tags=["variant"]
from deepdive_book.course.assignment.variants import choose, number, rename

# %%
# An image for the last exercise, and the same with its patches in another order.
g = torch.Generator().manual_seed(6)
image = torch.randn(1, 1, 8, 8, generator=g)
patches = patchify(image, 2)  # (1, 16, 4)
moved = unpatchify(patches[:, torch.randperm(16, generator=g)], 2, 8, 8)

# %% [markdown]
# ## 1. A sentence of patches
#
# *Predict, then run · 6 min · easy · book 6.2.1*
#
# A ViT reads color images of {{SIDE}} x {{SIDE}} pixels in patches of {{PATCH}} x {{PATCH}}, with
# one learned row before them. **Before you run anything**, on paper:
#
# - `"tokens"`: how many rows enter the first layer,
# - `"numbers"`: how many numbers has a patch before it is projected,
# - `"pairs"`: how many scores does one head of one layer compute,
# - `"larger"`: how many rows enter if the image has twice the side, and patches stay?
#
# The cell checks the first three.

# %% tags=["variant"] exercise="sentence"
PATCH = choose(4, 8, 16)
SIDE = number(48, 160, 16)


# %% nbgrader={"grade_id": "sentence", "solution": true}
def predicted_sentence():
    """Return {"tokens": n, "numbers": n, "pairs": n, "larger": n}."""
    ### BEGIN SOLUTION
    a_side = SIDE // PATCH
    tokens = a_side**2 + 1
    return {
        "tokens": tokens,
        "numbers": 3 * PATCH**2,
        "pairs": tokens**2,
        "larger": (2 * a_side) ** 2 + 1,
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "sentence-check", "grade": true, "points": 3} own="predict"
said = returned("predicted_sentence", predicted_sentence())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"tokens", "numbers", "pairs", "larger"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"
model = vit(TINY, image_size=SIDE, patch_size=PATCH, channels=3, n_layers=1)
blank = torch.zeros(1, 3, SIDE, SIDE)
with torch.no_grad(), record(model, "*.weights") as seen:
    entered = model.embeddings(blank).shape[1]
    model(blank)
scores = next(iter(seen.values()))[0][0, 0].numel()
assert said["tokens"] == entered, (
    f"tokens: {missed(said['tokens'], entered)}: patches a side, squared, and the learned row"
)
width = patchify(blank, PATCH).shape[-1]
assert said["numbers"] == width, f"numbers: {missed(said['numbers'], width)}: a pixel has three"
assert said["pairs"] == scores, (
    f"pairs: {missed(said['pairs'], scores, ',')}: every row asks every row"
)
### BEGIN HIDDEN TESTS
with torch.no_grad():
    more = model.embeddings(torch.zeros(1, 3, 2 * SIDE, 2 * SIDE)).shape[1]
assert said["larger"] == more, f"larger: {more} rows; the learned row does not grow"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="sentence"
# How many patches stand side by side? There are as many lines of them.

# %% [markdown] tags=["hint"] exercise="sentence"
# A pixel in color is three numbers: red, green, blue. The learned row comes once, whatever the
# size of the image.


# %% tags=["wrong-answer"] exercise="sentence"
def predicted_sentence():  # forgets the learned row
    n = (SIDE // PATCH) ** 2
    return {"tokens": n, "numbers": 3 * PATCH**2, "pairs": n**2, "larger": 4 * n}


# %% tags=["wrong-answer"] exercise="sentence"
def predicted_sentence():  # grey pixels
    n = (SIDE // PATCH) ** 2
    return {"tokens": n + 1, "numbers": PATCH**2, "pairs": (n + 1) ** 2, "larger": 4 * n + 1}


# %% tags=["wrong-answer"] exercise="sentence"
def predicted_sentence():  # the learned row grows too
    n = (SIDE // PATCH) ** 2 + 1
    return {"tokens": n, "numbers": 3 * PATCH**2, "pairs": n**2, "larger": 4 * n}


# %% [markdown]
# ## 2. Cut it yourself
#
# *Code · 10 min · medium · book 6.2.1*
#
# Write the cutting without a loop over pixels. Images come as (B, C, H, W). A row holds one patch
# of {{SQUARE}} x {{SQUARE}} pixels; rows follow line by line, as one reads. Inside a row the
# **{{FIRST}}** come one after the other, and in each of these what belongs to it.
#
# (With *channels* a row begins with all red pixels of the patch, then all green ones; with *pixels*
# it begins with red, green and blue of the upper left pixel.)

# %% tags=["variant"] exercise="cut"
SQUARE = choose(2, 3, 4)
FIRST = choose("channels", "pixels")
rename("rows_of_patches", "cut_in_squares", "image_to_rows")


# %% nbgrader={"grade_id": "cut", "solution": true}
def rows_of_patches(images):
    """Return (B, N, C * SQUARE * SQUARE) for images (B, C, H, W) of whole patches."""
    ### BEGIN SOLUTION
    b, c, h, w = images.shape
    squares = images.reshape(b, c, h // SQUARE, SQUARE, w // SQUARE, SQUARE)
    order = (0, 2, 4, 1, 3, 5) if FIRST == "channels" else (0, 2, 4, 3, 5, 1)
    return squares.permute(*order).reshape(b, -1, c * SQUARE**2)
    ### END SOLUTION


# %% nbgrader={"grade_id": "cut-check", "grade": true, "points": 4}
def in_loops(images):
    """The same, a number at a time."""
    h, w = images.shape[2:]
    found = []
    for y in range(0, h, SQUARE):
        for x in range(0, w, SQUARE):
            patch = images[:, :, y : y + SQUARE, x : x + SQUARE]
            found.append((patch if FIRST == "channels" else patch.movedim(1, -1)).flatten(1))
    return torch.stack(found, 1)


one = torch.arange(2 * SQUARE * SQUARE).reshape(1, 1, SQUARE, 2 * SQUARE)
answer = returned("rows_of_patches", rows_of_patches(one))
assert answer.shape == (1, 2, SQUARE**2), (
    f"one channel, two patches side by side: expected (1, 2, {SQUARE**2}), got "
    f"{tuple(answer.shape)}"
)
assert torch.equal(answer, in_loops(one)), (
    f"the first row should be {in_loops(one)[0, 0].tolist()}, yours is {answer[0, 0].tolist()}: "
    "split height and width first, then bring the two axes of a patch together"
)
two = torch.arange(4 * SQUARE * SQUARE).reshape(1, 1, 2 * SQUARE, 2 * SQUARE)
assert torch.equal(rows_of_patches(two), in_loops(two)), (
    "four patches: rows follow line by line; yours come in another order"
)
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(2)
many = torch.randn(3, 3, 2 * SQUARE, 3 * SQUARE, generator=g)
assert torch.equal(rows_of_patches(many), in_loops(many)), f"in colour: {FIRST} come first"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="cut"
# `images.reshape(b, c, h // SQUARE, SQUARE, w // SQUARE, SQUARE)` splits both sides: the axes are
# now batch, channel, line of patches, line in the patch, column of patches, column in the patch.

# %% [markdown] tags=["hint"] exercise="cut"
# `permute` first to batch, line of patches, column of patches; the other three stand behind, in the
# order in which a row has them. `reshape` then joins them.


# %% tags=["wrong-answer"] exercise="cut"
def rows_of_patches(images):  # reshaped, never permuted
    b, c, h, w = images.shape
    return images.reshape(b, (h // SQUARE) * (w // SQUARE), c * SQUARE**2)


# %% tags=["wrong-answer"] exercise="cut"
def rows_of_patches(images):  # down the columns
    b, c, h, w = images.shape
    squares = images.reshape(b, c, h // SQUARE, SQUARE, w // SQUARE, SQUARE)
    order = (0, 4, 2, 1, 3, 5) if FIRST == "channels" else (0, 4, 2, 3, 5, 1)
    return squares.permute(*order).reshape(b, -1, c * SQUARE**2)


# %% tags=["wrong-answer"] exercise="cut"
def rows_of_patches(images):  # the other order inside a row
    b, c, h, w = images.shape
    squares = images.reshape(b, c, h // SQUARE, SQUARE, w // SQUARE, SQUARE)
    order = (0, 2, 4, 3, 5, 1) if FIRST == "channels" else (0, 2, 4, 1, 3, 5)
    return squares.permute(*order).reshape(b, -1, c * SQUARE**2)


# %% [markdown]
# ## 3. News through windows
#
# *Predict, then run · 8 min · medium · Liu et al. 2021*
#
# {{ACROSS}} x {{ACROSS}} patches stand in windows of {{WINDOW}} x {{WINDOW}}. In the first layer
# each patch meets its window. In the second all windows stand {{WINDOW}} / 2 patches further down
# and to the right (at the edges smaller ones are left over), in the third they are back, and so on.
# ([Windows that shift](05_swin.ipynb).) **Before you run anything:**
#
# - `"pairs"`: how many pairs does the first layer compare (each patch with itself counted too),
# - `"all"`: how many would they be without windows,
# - `"layers"`: after how many layers has the lower right corner heard from the upper left one?
#
# The cell checks the first two.

# %% tags=["variant"] exercise="news"
WINDOW = choose(4, 2)
ACROSS = number(8, 48, 4)


# %% nbgrader={"grade_id": "news", "solution": true}
def predicted_news():
    """Return {"pairs": n, "all": n, "layers": n}."""
    ### BEGIN SOLUTION
    half, reached, layers = WINDOW // 2, 0, 0
    while reached < ACROSS - 1:
        layers += 1
        moved = 0 if layers % 2 else half
        reached = min(ACROSS, ((reached - moved) // WINDOW + 1) * WINDOW + moved) - 1
    return {"pairs": ACROSS**2 * WINDOW**2, "all": ACROSS**4, "layers": layers}
    ### END SOLUTION


# %% nbgrader={"grade_id": "news-check", "grade": true, "points": 3} own="predict"
said = returned("predicted_news", predicted_news())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"pairs", "all", "layers"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"


def meets(moved):
    """True where two patches share a window, (N, N)."""
    at = torch.arange(ACROSS).sub(moved).div(WINDOW, rounding_mode="floor")
    name = (at[:, None] * 1000 + at).flatten()
    return name[:, None] == name


met = int(meets(0).sum())
assert said["pairs"] == met, (
    f"pairs: {missed(said['pairs'], met, ',')}: each patch meets those of its window, and no others"
)
assert said["all"] == ACROSS**4, f"all: {said['all']:,}; every patch meets every patch"
### BEGIN HIDDEN TESTS
heard, layers = torch.zeros(ACROSS**2, dtype=torch.bool), 0
heard[0] = True
while not heard[-1]:
    heard = meets(WINDOW // 2 if layers % 2 else 0)[:, heard].any(1)
    layers += 1
assert said["layers"] == layers, f"layers: the news takes {layers}"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="news"
# Follow one line of patches: the news goes down as fast as across. After the first layer it stands
# at the edge of the first window.

# %% [markdown] tags=["hint"] exercise="news"
# A window of the second layer reaches half a window beyond that edge, one of the third layer to the
# edge of the next plain window.


# %% tags=["wrong-answer"] exercise="news"
def predicted_news():  # one window a layer
    return {"pairs": ACROSS**2 * WINDOW**2, "all": ACROSS**4, "layers": ACROSS // WINDOW}


# %% tags=["wrong-answer"] exercise="news"
def predicted_news():  # windows counted, not patches
    n = (ACROSS // WINDOW) ** 2
    return {"pairs": n * WINDOW**2, "all": ACROSS**4, "layers": 1}


# %% tags=["wrong-answer"] exercise="news"
def predicted_news():  # all patches, not all pairs
    return {"pairs": ACROSS**2 * WINDOW**2, "all": ACROSS**2, "layers": 5}


# %% [markdown]
# ## 4. Who answers for which box
#
# *Code · 12 min · medium · Carion et al. 2020*
#
# DETR's slots answer in no order. Before the loss is taken, each true object gets **one slot of
# its own**, so that the sum of the costs is the least. `costs` is a list of rows, a row a slot, a
# column an object; there are at most as many objects as slots, and five slots at most. Write the
# matching by trying all ways. ([DETR](06_detr.ipynb).) The costs of the check are {{COSTS}}.

# %% tags=["variant"] exercise="boxes"
COSTS = choose(
    ((1, 2), (2, 9), (7, 6)), ((2, 3), (3, 9), (8, 7)), ((1, 3), (2, 8), (6, 5)),
    ((3, 4), (4, 9), (9, 8)),
)  # fmt: skip
rename("matched", "cheapest_matching", "slots_of_objects")


# %% nbgrader={"grade_id": "boxes", "solution": true}
def matched(costs):
    """Return a list: for each object, in order, the number of its slot."""
    ### BEGIN SOLUTION
    from itertools import permutations

    n_slots, n_objects = len(costs), len(costs[0])
    ways = permutations(range(n_slots), n_objects)
    return list(min(ways, key=lambda way: sum(costs[slot][k] for k, slot in enumerate(way))))
    ### END SOLUTION


# %% nbgrader={"grade_id": "boxes-check", "grade": true, "points": 4}
from scipy.optimize import linear_sum_assignment


def total(costs, way):
    """The sum of the costs of a matching."""
    return sum(costs[slot][k] for k, slot in enumerate(way))


def least(costs):
    """The least sum, by scipy."""
    slots, objects = linear_sum_assignment(costs)
    return sum(costs[s][k] for s, k in zip(slots, objects, strict=True))


answer = returned("matched", matched(COSTS))
assert isinstance(answer, list), "return a list: `return [...]`"
assert len(answer) == len(COSTS[0]), "one slot for each object, in their order"
assert len(set(answer)) == len(answer), f"{answer}: a slot answers for one object only"
assert total(COSTS, answer) == least(COSTS), (
    f"{answer} costs {total(COSTS, answer)}, and the least is {least(COSTS)}: the cheapest slot of "
    "one object may have to go to another"
)
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(4)
for n_slots in (1, 3, 5):
    for n_objects in range(1, n_slots + 1):
        costs = torch.randint(0, 30, (n_slots, n_objects), generator=g).tolist()
        way = matched(costs)
        assert len(set(way)) == n_objects, f"{costs}: a slot twice"
        assert total(costs, way) == least(costs), f"{costs}: {way} is not the least"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="boxes"
# `itertools.permutations(range(n_slots), n_objects)` lists all ways to give each object a slot of
# its own.

# %% [markdown] tags=["hint"] exercise="boxes"
# Sum the costs of each way, `costs[slot][k]` for object `k`, and keep the way with the least sum:
# `min(ways, key=...)`.


# %% tags=["wrong-answer"] exercise="boxes"
def matched(costs):  # each object takes its cheapest slot, taken or not
    return [min(range(len(costs)), key=lambda s: costs[s][k]) for k in range(len(costs[0]))]


# %% tags=["wrong-answer"] exercise="boxes"
def matched(costs):  # greedily, the first object first
    left, found = list(range(len(costs))), []
    for k in range(len(costs[0])):
        found.append(min(left, key=lambda s: costs[s][k]))
        left.remove(found[-1])
    return found


# %% tags=["wrong-answer"] exercise="boxes"
def matched(costs):  # in order
    return list(range(len(costs[0])))


# %% [markdown]
# ## 5. Roll it out
#
# *Find and fix a planted bug · 10 min · hard · Abnar and Zuidema 2020*
#
# Attention rollout says how much of each token's state came from which token of the input. In each
# layer half of a state is its own, by the residual, and half comes by attention: $A = (W + I) / 2$,
# with $W$ the mean over heads. Layers multiply: $R = A_L \cdots A_2 A_1$. This function does it; no
# shape is wrong, and nothing is raised. But it is not right. Look at the trials, then fix it in
# `mended_rollout`.

# %% tags=["variant"] exercise="rollout"
rename("mended_rollout", "sound_rollout", "rollout_in_order")


# %% tags=["bug"] exercise="rollout" bug="the residual is left out" caught="own:"
def broken_rollout(layers):
    """Return (T, T) for layers of weights (H, T, T), the first layer first; rows sum to 1."""
    found = torch.eye(layers[0].shape[-1])
    for weights in layers:
        found = weights.mean(0) @ found
    return found


# %% tags=["bug"] exercise="rollout" bug="layers multiply in the wrong order" caught="order:"
def broken_rollout(layers):
    """Return (T, T) for layers of weights (H, T, T), the first layer first; rows sum to 1."""
    one = torch.eye(layers[0].shape[-1])
    found = one
    for weights in layers:
        found = found @ ((weights.mean(0) + one) / 2)
    return found


# %% tags=["bug"] exercise="rollout" bug="the residual is not weighed" caught="own:"
def broken_rollout(layers):
    """Return (T, T) for layers of weights (H, T, T), the first layer first; rows sum to 1."""
    one = torch.eye(layers[0].shape[-1])
    found = one
    for weights in layers:
        found = (weights.mean(0) + one) @ found
    return found


# %% tags=["bug"] exercise="rollout" bug="the strongest head counts, not the mean" caught="heads:"
def broken_rollout(layers):
    """Return (T, T) for layers of weights (H, T, T), the first layer first; rows sum to 1."""
    one = torch.eye(layers[0].shape[-1])
    found = one
    for weights in layers:
        found = ((weights.amax(0) + one) / 2) @ found
    return found


# %% tags=["bug"] exercise="rollout" bug="only the last layer is read" caught="order:"
def broken_rollout(layers):
    """Return (T, T) for layers of weights (H, T, T), the first layer first; rows sum to 1."""
    one = torch.eye(layers[0].shape[-1])
    return (layers[-1].mean(0) + one) / 2


# %%
LEFT = torch.tensor([[[0.0, 1.0], [0.0, 1.0]]])  # both look at the second token
SWAP = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])  # each looks at the other
BOTH = torch.cat([LEFT, SWAP])
TRIALS = {
    "own": ([SWAP], "half of each state is its own, half the other's: all 0.5"),
    "heads": ([BOTH], "the mean of two heads: (0, 1) and (0.5, 0.5), then half of it"),
    "order": ([LEFT, SWAP], "the second layer mixes what the first one made"),
}
for name, (layers, _) in TRIALS.items():
    print(f"{name}:", broken_rollout(layers).tolist())


# %% nbgrader={"grade_id": "rollout", "solution": true}
def mended_rollout(layers):
    """Return (T, T) for layers of weights (H, T, T), the first layer first; rows sum to 1."""
    ### BEGIN SOLUTION
    one = torch.eye(layers[0].shape[-1])
    found = one
    for weights in layers:
        found = ((weights.mean(0) + one) / 2) @ found
    return found
    ### END SOLUTION


# %% nbgrader={"grade_id": "rollout-check", "grade": true, "points": 3}
def by_paths(layers):
    """The same as a sum over all paths, backwards from the last layer."""
    size = layers[0].shape[-1]
    shares = torch.eye(size)
    for weights in reversed(layers):
        step = torch.zeros(size, size)
        for i in range(size):
            for j in range(size):
                step[i, j] = (float(weights[:, i, j].mean()) + (i == j)) / 2
        shares = shares @ step
    return shares


for name, (layers, why) in TRIALS.items():
    found, right = returned("mended_rollout", mended_rollout(layers)), by_paths(layers)
    assert found.shape == right.shape, f"{name}: a row a token, {tuple(right.shape)}"
    assert torch.allclose(found, right, atol=1e-5), (
        f"{name}: yours is {found.tolist()}, and should be {right.tolist()}; {why}"
    )
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(5)
deep = [torch.randn(3, 6, 6, generator=g).softmax(-1) for _ in range(4)]
assert torch.allclose(mended_rollout(deep), by_paths(deep), atol=1e-5), "four layers are off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="rollout"
# Which trial is the first that is off? One head, two heads, or two layers?

# %% [markdown] tags=["hint"] exercise="rollout"
# The last layer reads what the others made: it stands on the left of the product. Rows of the
# result must sum to 1.


# %% tags=["wrong-answer"] exercise="rollout"
mended_rollout = broken_rollout  # the planted bug, as it came


# %% tags=["wrong-answer"] exercise="rollout"
def mended_rollout(layers):  # rows are brought to 1 in the end, and nothing else
    found = torch.eye(layers[0].shape[-1])
    for weights in layers:
        found = weights.mean(0) @ found
    return found / found.sum(-1, keepdim=True)


# %% tags=["wrong-answer"] exercise="rollout"
def mended_rollout(layers):  # layers are averaged, not multiplied
    one = torch.eye(layers[0].shape[-1])
    return torch.stack([(weights.mean(0) + one) / 2 for weights in layers]).mean(0)


# %% [markdown]
# ## 6. What holds a picture together?
#
# *Measure and explain · 15 min · hard · book 6.2.1*
#
# A small ViT with random weights reads an image twice: as it is, and with its patches in another
# order. **Measure** the largest difference between the two states of the learned row that stands
# first, for seed {{SEED}}:
#
# - `"with"`: of the model as it is built,
# - `"without"`: of the same model after its positions were set to zero.
#
# Build it by `torch.manual_seed(SEED)` and then `vit(TINY).eval()`; `image` and `moved` are made at
# the top of this page.

# %% tags=["variant"] exercise="moved"
SEED = number(1, 500)


# %% nbgrader={"grade_id": "moved", "solution": true}
def measured_difference():
    """Return {"with": difference, "without": difference}."""
    ### BEGIN SOLUTION
    torch.manual_seed(SEED)
    model = vit(TINY).eval()
    found = {}
    with torch.no_grad():
        for name in ("with", "without"):
            if name == "without":
                model.embeddings.positions.zero_()
            apart = model(image)[:, 0] - model(moved)[:, 0]
            found[name] = apart.abs().max().item()
    return found
    ### END SOLUTION


# %% nbgrader={"grade_id": "moved-check", "grade": true, "points": 3} own="measure"
found = returned("measured_difference", measured_difference())
assert isinstance(found, dict), "return a dictionary: `return {...}`"
assert set(found) == {"with", "without"}, f"the names are with and without: {sorted(found)}"
assert found["without"] < 1e-4, (
    f"without: yours is {found['without']:g}. Without positions the patches are a set, and their "
    "order changes nothing but the last digits"
)
assert found["with"] > 10 * max(found["without"], 1e-7), (
    f"with: yours is {found['with']:g}, no larger than without. Were the positions set to zero "
    "before the first measurement?"
)
### BEGIN HIDDEN TESTS
torch.manual_seed(SEED)
again = vit(TINY).eval()
with torch.no_grad():
    right = (again(image)[:, 0] - again(moved)[:, 0]).abs().max().item()
assert abs(found["with"] / right - 1) < 1e-2, f"with: seed {SEED} gives another difference"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="moved"
# The positions are `model.embeddings.positions`; inside `torch.no_grad()` their `zero_()` sets them
# to zero. The first row of the states is `model(image)[:, 0]`.


# %% tags=["wrong-answer"] exercise="moved"
def measured_difference():  # the positions are gone in both
    torch.manual_seed(SEED)
    model = vit(TINY).eval()
    with torch.no_grad():
        model.embeddings.positions.zero_()
        apart = (model(image)[:, 0] - model(moved)[:, 0]).abs().max().item()
    return {"with": apart, "without": apart}


# %% tags=["wrong-answer"] exercise="moved"
def measured_difference():  # of all rows, which moved with their patches
    torch.manual_seed(SEED)
    model = vit(TINY).eval()
    with torch.no_grad():
        first = (model(image) - model(moved)).abs().max().item()
        model.embeddings.positions.zero_()
        second = (model(image) - model(moved)).abs().max().item()
    return {"with": first, "without": second}


# %% tags=["wrong-answer"] exercise="moved"
def measured_difference():  # another seed
    torch.manual_seed(SEED + 1)
    model = vit(TINY).eval()
    with torch.no_grad():
        apart = (model(image)[:, 0] - model(moved)[:, 0]).abs().max().item()
    return {"with": apart, "without": 0.0}


# %% [markdown]
# **Explain** in three or four sentences, with your numbers: what do the positions add, and why is
# the difference without them not zero but tiny? What would a convolutional network say to the moved
# patches, and why? Would you expect the same if each patch stayed, and only the pixels inside it
# were mixed?

# %% [markdown] nbgrader={"grade_id": "moved-why", "grade": true, "solution": true, "points": 3}
# ### BEGIN SOLUTION
# With seed {{SEED}} the two readings differ by a number that is thousands of times larger with
# positions than without. Without them attention is a sum over a set: in another order the same
# numbers are added, and only the rounding of the sum differs. A convolutional network reads squares
# that reach across the borders of patches, so it sees other neighbors and says something else,
# although it has no table of positions. Pixels that are mixed inside a patch make another row of
# numbers, hence another token: then the difference is large even without positions.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="moved-why"
# - **3 points**: gives its own two numbers, says that without positions the patches are a set and
#   that rounding is what is left, and tells the order of patches from what is inside one.
# - **1 point**: right in one or two of these, or in all without numbers of its own.
# - **0 points**: has no number that was measured, or says that attention knows the order by itself.
