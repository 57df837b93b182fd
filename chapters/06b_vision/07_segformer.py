# %% [markdown] tags=["slide"]
# # SegFormer: semantic segmentation, a class for every pixel
#
# A child gets a picture and five pencils: gray for the ground, one each for discs, squares,
# diamonds and crosses. Every spot of the paper is to have its color, also where one thing hides a
# part of another. When is such a coloring good? And can a network do it that is told no place, on
# paper of any size?
#
# <small>Prerequisites: [from pixels to tokens](01_patches.ipynb),
# [windows that shift](05_swin.ipynb) · 16 min · runs on a laptop; results of the long runs are
# included · Xie et al. 2021</small>

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

# %% Scenes and a small SegFormer tags=["fold"]
from functools import cache

import torch
import torch.nn.functional as F
from torch import nn

from deepdive.evaluate import mean_iou
from deepdive.layers.patches import resized
from deepdive.models.vision.segformer import segformer
from deepdive.training import fit
from deepdive.training.optim import adam, linear
from deepdive_book.data.scenes import generated_scenes
from deepdive_book.kit.experiments import results_path, share, sweep
from deepdive_book.kit.profile import pick, profile

CLASSES = ["ground", "disc", "square", "diamond", "cross"]
SIZE = 32


@cache
def scenes(n, seed):
    """Images (n, 3, 32, 32), and the class of each pixel (n, 32, 32)."""
    made = generated_scenes(n, SIZE, most=4, seed=seed)
    return torch.tensor(made.pixels).float() / 255 - 0.4, torch.tensor(made.classes())

# %% Tables of positions, and the model tags=["fold"]
class Placed(nn.Module):
    """Patches with a trained table of positions, which is resized for other grids, as ViT's is."""

    def __init__(self, patches, side):
        super().__init__()
        self.patches, self.side = patches, side
        self.table = nn.Parameter(0.02 * torch.randn(side**2, patches.norm.weight.numel()))

    def forward(self, images):
        grid = self.patches(images)
        table = resized(self.table, (self.side, self.side), tuple(grid.shape[1:3]))
        return grid + table.view(grid.shape[1:])


def build(rates=(4, 2, 1), edges="zeros", n_classes=5):
    """A SegFormer of three stages of one layer, 16, 32 and 48 wide."""
    model = segformer(depths=(1, 1, 1), widths=(16, 32, 48), heads=(1, 2, 3), sizes=(3, 3, 3),
                      strides=(2, 2, 2), rates=rates, ratios=(2, 2, 2), d_decoder=32,
                      n_classes=n_classes, decoder_dropout=0.0)  # fmt: skip
    if edges == "table":
        model.stages[0].patches = Placed(model.stages[0].patches, SIZE // 2)
    for part in model.modules():
        if edges != "zeros" and isinstance(part, nn.Conv2d):
            part.padding_mode = "replicate"  # beyond the edge stands what stands at the edge
    return model


# %% Train one tags=["fold"]
def taught(model, images, masks, steps, seed):
    batches = list(zip(images.split(16), masks.split(16), strict=True))

    def loss(model, batch):
        return F.cross_entropy(model.pixels(batch[0]), batch[1])

    fit(model, batches, loss, steps=steps, seed=seed, optimizer=adam(model, lr=3e-3),
        schedule=linear(3e-3, max(1, steps // 10), steps), progress=False)  # fmt: skip
    return model.eval()


@cache
def train(rates, edges, steps, seed):
    torch.manual_seed(seed)
    images, masks = scenes(min(16 * steps, 2400), seed)
    return taught(build(rates, edges), images, masks, steps, seed)


def painted(model, images):
    with torch.no_grad():
        return torch.cat([model.pixels(some).argmax(1) for some in images.split(50)])


# %% Measure tags=["fold"]
NEW = pick(ci=64, laptop=200, gpu=200, experiment=200)


def four(x):
    """Four by four: images or masks (n, ..., 32, 32) side by side, (n / 4, ..., 64, 64)."""
    rows = [torch.cat([x[i::4], x[i + 1 :: 4]], -1) for i in (0, 2)]
    return torch.cat(rows, -2)


def measure(rates, edges, steps, seed):
    """Mean intersection over union in new scenes, and where four of them make one image."""
    model, (images, masks) = train(tuple(rates), edges, steps, seed), scenes(NEW, 999)
    small = mean_iou(painted(model, images), masks, 5)
    large = mean_iou(painted(model, four(images)), four(masks), 5)
    return {"miou": round(small, 4), "larger": round(large, 4)}


STEPS = pick(ci=20, laptop=100, gpu=300, experiment=round(300 * share()))
SHOWN = pick(ci=30, laptop=800, gpu=2000, experiment=30)  # of the one in the picture
SEEDS = pick(ci=[1], laptop=[1], gpu=[1, 2, 3], experiment=[1, 2, 3])
RATES = [(1, 1, 1), (4, 2, 1), (16, 8, 4)]
RUNS = [(rates, "zeros") for rates in RATES] + [((4, 2, 1), e) for e in ("repeated", "table")]
points = [{"rates": list(rates), "edges": edges, "steps": STEPS, "seed": seed}
          for seed in SEEDS for rates, edges in RUNS]  # fmt: skip

# %% Measure all tags=["fold"]
if profile() == "experiment":
    rows = sweep(measure, points, results_path("06b_vision", "segformer"), minutes=40)

# %% Which quarter am I in? tags=["fold"]
def quarters(n, size, seed):
    """Blank sheets of some grey, and for each pixel its quarter: 0 and 1 above, 2 and 3 below."""
    draw = torch.Generator().manual_seed(seed)
    half = torch.arange(size) * 2 // size
    sheets = torch.rand(n, 1, 1, 1, generator=draw).expand(-1, 3, size, size)
    return sheets, (2 * half[:, None] + half).repeat(n, 1, 1)


def places(edges, steps, seed):
    """Mean intersection over union of the quarters, at the size of training and at others."""
    torch.manual_seed(seed)
    sheets, wanted = quarters(16 * min(steps, 60), SIZE, seed)
    model, found = taught(build(edges=edges, n_classes=4), sheets, wanted, steps, seed), {}
    for size in (32, 48, 64):
        sheets, wanted = quarters(20, size, 999)
        found[f"at {size}"] = round(mean_iou(painted(model, sheets), wanted, 4), 4)
    return found


PLACE_STEPS = pick(ci=10, laptop=60, gpu=100, experiment=round(100 * share()))
asked = [{"edges": edges, "steps": PLACE_STEPS, "seed": seed}
         for seed in SEEDS for edges in ("zeros", "repeated")]  # fmt: skip
if profile() == "experiment":
    leaks = sweep(places, asked, results_path("06b_vision", "segformer_places"), minutes=20)

# %% Paint a scene without some of its things tags=["fold"]
from itertools import product

import numpy as np

from deepdive.evaluate import confusion, intersection_over_union
from deepdive_book.ch06b.figures.segmentation_occlusion import Frame, segmentation_occlusion
from deepdive_book.data.scenes import COLORS, SceneObject

PENCILS = np.array([(90, 90, 90), (0, 158, 115), (230, 159, 0), (86, 180, 233), (213, 94, 0)])
THINGS = {
    "red disc": SceneObject(0, "red", 11.0, 12.0, 7.5),
    "blue square": SceneObject(1, "blue", 16.0, 20.0, 7.0),
    "yellow cross": SceneObject(3, "yellow", 23.0, 12.0, 6.0),
}  # from back to front


def scene(things):
    """Pixels (32, 32, 3) from 0 to 255, and classes (32, 32)."""
    pixels, classes = np.full((SIZE, SIZE, 3), 50.0), np.zeros((SIZE, SIZE), np.int64)
    for thing in things:
        inside = thing.inside(SIZE)
        pixels[inside], classes[inside] = COLORS[thing.color], 1 + thing.kind
    noise = np.random.default_rng(3).normal(0, 14, pixels.shape)
    return (pixels + noise).clip(0, 255).astype(np.uint8), classes


# %% Every choice of things, painted tags=["fold"]
model, frames = train((4, 2, 1), "zeros", SHOWN, 1), {}
for choice in product((True, False), repeat=3):
    pixels, classes = scene(t for t, there in zip(THINGS.values(), choice, strict=True) if there)
    image = torch.tensor(pixels).permute(2, 0, 1)[None].float() / 255 - 0.4
    mask = painted(model, image)[0].numpy()
    says = f"{(mask == classes).mean():.0%} of the pixels right; mean intersection over union "
    says += f"{mean_iou(mask, classes, 5):.2f}."
    frames[choice] = Frame(pixels, PENCILS[mask], PENCILS[classes], says)
segmentation_occlusion([*THINGS], frames)

# %% [markdown]
# *A generated scene of 32 x 32 pixels; what a small SegFormer paints that was trained for a short
# while on other scenes; what is right. Whatever colour a thing has, it is painted in the colour of
# its kind: green a disc, yellow a square, blue a diamond, orange a cross. Hide a thing, and see
# what the network makes of what was behind it.*
#
# 1. Hide the square. Does the disc become whole? And nearly each pixel is right: why is the second
#    number so much lower?
# 2. Hide the others one by one. Which of the two numbers would you rather be marked by?
#
# ## By hand: when is a coloring good?
#
# A sheet of 16 squares has one thing of 4 squares on it. Tim paints the ground alone: $12$ of $16$
# are right, 75%. Ada paints a thing of 6 squares, 3 of them on the real one: of the ground she has
# 9 right, and $9 + 3 = 12$ of $16$ again. Pixels that are right do not tell them apart, for the
# ground is large.
#
# So each class gets its own share: the pixels that are **both** of it and painted as it, divided by
# those that are **either**.
#
# | | ground | thing | mean |
# |---|---|---|---|
# | Tim | $12 / 16 = 0.75$ | $0 / 4 = 0$ | 0.375 |
# | Ada | $9 / (12 + 10 - 9) = 9/13$ | $3 / (4 + 6 - 3) = 3/7$ | $51/91 = 0.56$ |
#
# That is *intersection over union*, and its mean over the classes is the mIoU of the papers. All
# pixels of all images are counted together first; a class that is neither there nor painted is left
# out. (So in the picture above a few wrong pixels of a class that is not there cost much.)

# %% The same from the library tags=["nbval-check-output"]
right = np.array([1] * 4 + [0] * 12)
tim, ada = 0 * right, np.array([1] * 3 + [0] + [1] * 3 + [0] * 9)
for name, sheet in (("Tim", tim), ("Ada", ada)):
    shares = intersection_over_union(confusion(sheet, right, 2))
    print(name, (sheet == right).mean(), shares.round(3).tolist(), round(shares.mean(), 3))
assert abs(mean_iou(ada, right, 2) - 51 / 91) < 1e-12

# %% [markdown]
# ## How it differs from ViT
#
# ViT keeps one grid of patches, and each patch meets all. For a name at every pixel the grid should
# be fine, and then all pairs are dear. SegFormer changes five things:
#
# - **Patches overlap**: a convolution of 3 or 7 pixels with a stride of 2 or 4. In each of the
#   stages, published models have four, the grid halves.
# - **Fewer keys**: $R \times R$ patches are joined into one key and one value. Every patch still
#   asks. A fine grid of 16 x 16 has 256 patches and $256 \cdot 256 = 65{,}536$ pairs; with $R = 4$
#   there are 16 keys and $256 \cdot 16 = 4{,}096$ pairs, a sixteenth.
# - **Neighbours in the feed-forward layer**: between its two matrices a convolution of 3 x 3 mixes
#   each number with that of the eight neighbors.
# - **No positions** at all.
# - **A light decoder**: the grids of all stages are mapped to one width, resized to the largest,
#   joined, and classified place by place.

# %% The attention in four lines tags=["nbval-check-output"]
layer = model.stages[0].blocks[0].attn  # rate 4
grid = torch.randn(2, 16, 16, 16)
with torch.no_grad():
    few = layer.norm(layer.patches(grid.movedim(-1, 1)))  # 4 x 4 patches become one
    said = layer.attention(grid.flatten(1, 2), memory=few)  # all ask, few are asked
    assert torch.allclose(said.view_as(grid), layer(grid), atol=1e-5)
print("queries", grid.flatten(1, 2).shape[1], "keys", few.shape[1])

# %% [markdown]
# ## Where am I?
#
# Attention alone cannot tell where a patch stands, and here nothing is added that says so. Give the
# network a sheet of one gray: all patches are equal. Train it to name the **quarter** of each
# pixel: above or below, left or right.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Blank sheets, no positions; trained on sheets of 32 x 32 pixels. Can the network name the "
    "quarter in which a pixel lies?",
    ["no: all patches are equal", "yes at 32 pixels, and badly at 64", "yes, at 32 and at 64"],
    answer=1,
    explain="A convolution at the edge needs something beyond it, and takes zeros. They differ "
    "from every grey. A patch at the edge sees them, the next layer sees that patch. So the "
    "network knows how far the edges are, in pixels: where a sheet is larger, its middle lies "
    "elsewhere.",
    key="06b_vision/zeros-tell-places",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Load the runs tags=["fold"]
from deepdive_book.kit.tables import table


def loaded(name, measure, long, short):
    """The rows that are kept, or short ones made here."""
    at = results_path("06b_vision", name)
    there = at is not None and at.is_file()
    print(name, "kept" if there else "live and short")
    return sweep(measure, long if there else short, at if there else None)


long = [{"edges": edges, "steps": 100, "seed": seed}
        for seed in (1, 2, 3) for edges in ("zeros", "repeated")]  # fmt: skip
leaks = loaded("segformer_places", places, long, asked)


def ends(values):
    """Mean (lowest to highest)."""
    return f"{np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"


# %% Quarters of a blank sheet tags=["surprise", "slide", "fold"]
table([[edges, *(ends([row[f"at {size}"] for row in leaks if row["edges"] == edges])
                 for size in (32, 48, 64))] for edges in ("zeros", "repeated")],
      ["beyond the edges", "32 pixels", "48 pixels", "64 pixels"],
      caption="mean intersection over union of the four quarters, trained at 32: mean of the seeds "
      "(lowest to highest)")  # fmt: skip

# %% [markdown]
# With zeros the network finds the quarters at the size of its training. Repeat the pixels at the
# edge instead of zeros, and all states of a blank sheet are equal, whatever was trained: it gets
# one name, which is right in one quarter. If all sheets get the same, the mean of the four is
# $(1/4 + 0 + 0 + 0) / 4 = 0.0625$. So the zeros are what leaks the places. And what leaks is the
# distance to an edge, not the share of the sheet: on larger sheets the border between the quarters
# stands in the wrong place. If it stood 16 pixels from one edge, as in training, the numbers would
# be 0.524 and 0.374. They are, in all three seeds.

# %% Is a blank sheet blank? tags=["nbval-check-output", "fold"]
blank = torch.full((1, 3, SIZE, SIZE), 0.3)
apart = {}
for edges in ("zeros", "repeated"):
    torch.manual_seed(0)
    with torch.no_grad():
        grids = build(edges=edges).eval().grids(blank)
    apart[edges] = [bool((g - g[:, 1:2, 1:2]).abs().max() > 1e-4) for g in grids]
print("do the states of a blank sheet differ, stage by stage?", apart)
assert apart == {"zeros": [True] * 3, "repeated": [False] * 3}

# %% [markdown] tags=["slide"]
# ## The experiment
#
# Five SegFormers of three stages, 16, 32 and 48 wide, 300 steps on generated scenes of 32 x 32
# pixels with up to four things. Three differ in the rate of their keys. Two differ in what they
# know of places: pixels repeated at the edges, alone, or with a trained table of positions as
# ViT's. They are asked in new scenes, and in images of 64 x 64 pixels, each of four scenes side by
# side.

# %% Load, and count tags=["fold"]
from deepdive_book.kit.flops import count_flops

long = [{"rates": list(rates), "edges": edges, "steps": 300, "seed": seed}
        for seed in (1, 2, 3) for rates, edges in RUNS]  # fmt: skip
rows = loaded("segformer", measure, long, points)
images = {side: torch.zeros(1, 3, side, side) for side in (32, 128)}


def counted(rates, side):
    with torch.no_grad():
        return count_flops(lambda: build(rates).eval()(images[side])) / 2e6


def of(rates, edges, what):
    return [r[what] for r in rows if (tuple(r["rates"]), r["edges"]) == (rates, edges)]


# %% What fewer keys cost tags=["slide", "fold"]
table([[str(rates), ends(of(rates, "zeros", "miou")), counted(rates, 32), counted(rates, 128)]
       for rates in RATES],
      ["rates", "mIoU", "10⁶ multiplications, 32 pixels", "128 pixels"],
      caption="generated scenes; mean of the seeds (lowest to highest)")  # fmt: skip

# %% [markdown]
# The three seeds lie so far apart that no rate can be ranked here after 300 steps, not even the
# last row, with one key for the whole grid. This task may ask little of attention: what a shape is,
# its surroundings tell, and those the convolutions see. What a rate saves shows on larger images:
# at 128 pixels the second row makes about a sixth of the multiplications.

# %% What places bring tags=["fold"]
names = {"zeros": "zeros, as published", "repeated": "repeated pixels: no places at all",
         "table": "repeated pixels and a table"}  # fmt: skip
table([[name, *(ends(of((4, 2, 1), edges, what)) for what in ("miou", "larger"))]
       for edges, name in names.items()],
      ["beyond the edges", "mIoU at 32", "mIoU at 64"],
      caption="mean of the seeds (lowest to highest)")  # fmt: skip

# %% [markdown]
# Nor do places matter here: a cross is a cross wherever it stands. All three lie within the spread
# of the seeds, and all keep their share on images four times as large, the resized table too. On
# photographs of streets, where the sky is above, the paper finds a difference; there the resized
# table loses more than three points on the larger image, the convolution less than one:

# %% Published, beside it tags=["fold"]
table([["table of positions", 77.3, 74.0], ["convolution, no positions", 80.5, 79.8]],
      ["MiT in SegFormer", "tested at 768 x 768", "at 1024 x 2048"],
      caption="mIoU in % on Cityscapes: Xie et al. 2021, table 1 c; no seeds are given there")

# %% [markdown]
# ### Common mistake: a batch of one
#
# The decoder has a batch norm. In training it normalizes by the batch's own
# mean and spread, later by what it has kept. Who forgets `model.eval()` gets masks that depend on
# the other images of the batch.

# %% The same image, alone and in company tags=["nbval-check-output", "fold"]
some, _ = scenes(8, 5)
with torch.no_grad():
    told = {}
    for mode in (True, False):
        model.train(mode)
        told[mode] = torch.allclose(model(some)[:1], model(some[:1]), atol=1e-4)
print("the same mask alone and in company: in training", told[True], "| in evaluation", told[False])
assert told == {True: False, False: True}

# %% [markdown]
# **Symptom:** scores that change with the size of the batch. **Fix:** `eval()` before you look.
#
# ## In practice
#
# - Published models come for 150 classes (ADE20K) and 19 (Cityscapes); B0 has 3.8 million numbers
#   and 37.4% mIoU on ADE20K, B5 84.7 million and 51.0% (Xie et al. 2021, table 2). Ours loads and
#   saves them (`published.load`), equal to transformers to rounding.
# - The logits have a quarter of the image's sides. Resize the **logits**, then take the largest:
#   `Segformer.pixels`.
# - Any size works. Where a stage's reduction rate doesn't divide its grid, the last rows and
#   columns are queries but in no key, as in the released code; with multiples of 32 pixels, the
#   published models lose none.
# - Say which mIoU: over all pixels together, as here, or a mean of the images'. They differ.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why is the share of right pixels a poor measure?
#
#    <details><summary>Answer</summary>
#
#    A large class decides it: who paints the ground alone already has most pixels.
#
#    </details>
# 2. What does a rate of 4 leave of the pairs?
#
#    <details><summary>Answer</summary>
#
#    A sixteenth: as many queries, one key for each 4 x 4 patches.
#
#    </details>
# 3. Where does a SegFormer know from where a patch stands?
#
#    <details><summary>Answer</summary>
#
#    From the zeros beyond the edges, which its convolutions see, and hand on layer by layer.
#
#    </details>
# 4. Why does a trained bias of the decoder's first matrices change nothing in training?
#
#    <details><summary>Answer</summary>
#
#    It is added at all places, and the batch norm behind takes the mean away.
#
#    </details>
# 5. Why are the logits resized, and not the mask?
#
#    <details><summary>Answer</summary>
#
#    Between class 1 and class 3 a mean would be class 2; logits have a meaning between two places.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* Ada moves her six squares: now all 4 of the thing are among them. Her mIoU?
#
#    <details><summary>Answer</summary>
#
#    Thing $4/6$, ground $10/12$: their mean is $0.75$.
#
#    </details>
# 2. *(on paper, 3 min)* A grid of 128 x 128 patches, rate 8: how many pairs, and how many without?
#
#    <details><summary>Answer</summary>
#
#    $16{,}384 \cdot 256 = 4{,}194{,}304$; without, $16{,}384^2 = 268{,}435{,}456$, 64 times as
#    many.
#
#    </details>
# 3. *(measure, 10 min)* Train `build(edges="zeros", n_classes=4)` on blank sheets of 32 **and** 64
#    pixels in turn. Do the quarters come right at 48?
#
#    <details><summary>Answer</summary>
#
#    We have not measured it. Say first what you expect: the distances to two opposite edges
#    together tell the size, if both can be seen from one place.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to exercises 1 and 2, checked.
better = np.array([1] * 6 + [0] * 10)
print(mean_iou(better, right, 2), 128**2 * 16**2, 128**4)

# %% [markdown]
# ## Summary
#
# SegFormer names every pixel: a fine grid of overlapping patches asks, few keys made of whole
# squares answer, and a light decoder joins the grids of all stages. Intersection over union counts
# each class for itself, so a large ground cannot hide that nothing else was found. Back to the
# child: a coloring is good when every pencil's part fits, and a network that is told no place
# colors four scenes side by side as well as one, since a cross is a cross wherever it stands.
# Where the paper ends it can see by the zeros beyond the edge: that is how places leak in, and what
# it learns of them does not carry over to paper of another size where position is all there is (the
# blank sheets; on the scenes no loss shows).
#
# ## Further reading
#
# - Xie, Wang, Yu, Anandkumar, Alvarez, Luo (2021), *SegFormer*: section 3.1 for the encoder, 3.2
#   for the decoder, table 1 for what each part brings.
# - Wang et al. (2021), *Pyramid Vision Transformer*: keys of reduced grids.
# - Islam, Jia, Bruce (2020), *How Much Position Information Do Convolutional Neural Networks
#   Encode?*: zeros beyond the edge, first measured.
