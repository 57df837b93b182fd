# %% [markdown] tags=["slide"]
# # Chapter 6b summary: vision
#
# Chapter 2 built a block that reads sentences. What had to be added, page by page, so that it reads
# photographs, scenes and films? And what of that did you see for yourself?
#
# <small>Prerequisites: the pages of this chapter · 6 min · book 6.2 and 6.5</small>

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
# %% [markdown]
# ## One block, and who meets whom
#
# A token is a patch, a place of a map, or a learned row that asks. What changes from page to page
# is whom a token meets in one layer:

# %% Squares and rows of squares tags=["fold"]
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.plotting import show

ASKS, MEETS = ROLES["query"], ROLES["key"]


def square(x, y, side, fill="none", left_out=False):
    """A token that asks, one that is met, or neither; dashed where it is left out."""
    shade = {ASKS: "1", MEETS: "0.4"}.get(fill, "0")
    edge = 'stroke-opacity="0.6"' + left_out * ' stroke-dasharray="2 2"'
    return (f'<rect x="{x:g}" y="{y:g}" width="{side:g}" height="{side:g}" fill="{fill}" '
            f'fill-opacity="{shade}" stroke="currentColor" {edge}/>')  # fmt: skip


def grid(x, y, meets, asks=(), left_out=(), n=4, side=15):
    """A picture of n x n patches, numbered line by line from 0."""
    fills = [ASKS if p in asks else MEETS if p in meets else "none" for p in range(n * n)]
    return [square(x + side * (p % n), y + side * (p // n), side, fill, p in left_out)
            for p, fill in enumerate(fills)]  # fmt: skip


def learned(x, y, count, side=13):
    """Learned rows that ask, one below the other."""
    return [square(x, y + (side + 4) * i, side, ASKS) for i in range(count)]


# %% A picture for each page tags=["slide", "fold", "nbval-check-output"]
every, hidden = set(range(16)), set(range(16)) - {1, 5, 8, 14}
film = [*grid(6, 22, {4}, n=3, side=11), *grid(45, 22, {*range(9)}, {4}, n=3, side=11),
        *grid(84, 22, {4}, n=3, side=11)]  # fmt: skip
drawn = {
    "6b.1 ViT": grid(32, 8, every, {5}),
    "6b.2 a convolution": grid(32, 8, {0, 1, 2, 4, 6, 8, 9, 10}, {5}),
    "6b.3 DeiT": [*learned(20, 20, 2), *grid(44, 8, every)],
    "6b.4 MAE": grid(32, 8, {1, 8, 14}, {5}, hidden),
    "6b.5 Swin": grid(32, 8, {0, 1, 4}, {5}),
    "6b.6 DETR": [*learned(20, 12, 3), *grid(44, 8, every)],
    "6b.7 SegFormer": [*grid(32, 8, {*range(4)}, n=2, side=30), square(47, 23, 15, ASKS)],
    "6b.8 SAGAN": grid(32, 8, every, {9}),
    "6b.9 a film": film,
}
body = []
for n, (name, parts) in enumerate(drawn.items()):
    at = f"translate({126 * (n % 3)} {102 * (n // 3)})"
    body += [f'<g transform="{at}">', *parts, text(62, 84, name, 13), "</g>"]
show(svg(378, 306, body), "Small grids of patches, one for each page. In each something asks, "
     "and what it meets is filled: all patches, its neighbours, the seen ones, its window, a few "
     "joined squares, or its place in other frames and then its own frame.")  # fmt: skip

# %% [markdown]
# *The strong square asks, the pale ones are met; dashed ones are left out. Squares beside a grid
# are learned rows, which stand for no patch. The film has three frames: a patch meets its own place
# in each, and after that its own frame. SAGAN's grid is a map inside a network that paints.*
#
# ## From a question to a page
#
# | you want to know | page |
# |---|---|
# | how a photograph becomes a row, and what marks the places | [6b.1](01_patches.ipynb) |
# | which network to train on few images of your own, or on many | [6b.2](02_convolution.ipynb) |
# | what a trained network can teach another one | [6b.3](03_deit.ipynb) |
# | what images without names are good for | [6b.4](04_mae.ipynb) |
# | how to read large images without all pairs | [6b.5](05_swin.ipynb), [6b.7](07_segformer.ipynb) |
# | where things lie, as boxes in no order | [6b.6](06_detr.ipynb) |
# | what each pixel is | [6b.7](07_segformer.ipynb) |
# | what attention adds where images are made | [6b.8](08_sagan.ipynb) |
# | which way something moves | [6b.9](09_video.ipynb) |
# | what breaks a network that was trained on whole images | [6b.10](10_robustness.ipynb) |
#
# ## Seen here, and how
#
# - **A ViT's answers stay** when the patches of all photographs and its rows of positions are
#   shuffled alike. This is exact, for any weights ([6b.1](01_patches.ipynb)).
# - **A mean over frames cannot tell a film from its reverse.** This too is exact, for any weights
#   ([6b.9](09_video.ipynb)).
# - **A shifted layer without its mask lets opposite edges meet**: found by changing one patch
#   ([6b.5](05_swin.ipynb)).
# - **Each system is the published one**: a test holds it beside transformers' model, gradients too;
#   where there is none, its equations are tested (the atlas names the test).
#
# The rest was measured, on small models and with three seeds or more:

# %% Read the kept runs tags=["fold"]
import json
from statistics import mean

from deepdive_book.kit.experiments import results_path
from deepdive_book.kit.tables import table


def runs(name, key, **wanted):
    """What each kept run with these settings has found."""
    file = results_path("06b_vision", name)
    rows = json.loads(file.read_text())["rows"] if file is not None and file.is_file() else []
    return [row[key] for row in rows if wanted.items() <= row.items()]


def spread(values):
    """Mean, and in brackets the lowest and the highest of the seeds."""
    if not values:
        return "not in this folder"
    return f"{mean(values):.1f} ({min(values):.1f} to {max(values):.1f})"


# %% Two columns for each question tags=["fold"]
def ahead(n):
    """By how many points a CNN is ahead of a ViT, one number a seed."""
    both = [[runs(f"convolution_{seed}", "accuracy", model=model, n=n, augment=False)
             for model in ("CNN", "ViT")] for seed in (1, 2, 3)]  # fmt: skip
    return [100 * (cnn[0] - vit[0]) for cnn, vit in both if cnn and vit]


def opposite(shift):
    """Right in the corner opposite the news, five layers of Swin."""
    return [right[-1] for right in runs("swin_news", "right", layers=5, shift=shift, steps=300)]


# %% Of films, scenes and pieces tags=["fold"]
def motion(scheme):
    return runs("video", "motion", scheme=scheme, steps=400)


def detr(**wanted):
    return [100 * ap for ap in runs("detr_matching", "ap", encoder="frozen", **wanted)]


def spoiled(model, how="shuffled 4"):
    found = runs("robustness", "still", model=model, erase=False, steps=1000)
    return [still[how] for still in found]


def pairs(middle):
    return runs("sagan_judges", "right", middle=middle)


def quarters(edges):
    return [100 * share for share in runs("segformer_places", "at 32", edges=edges)]


# %% What was measured tags=["fold", "nbval-check-output"]
lines = [
    ["6b.2, CNN ahead of ViT, points", "250 images", ahead(250), "60,000", ahead(60000)],
    ["6b.5, right in the far corner, %", "windows at rest", opposite(0), "shifted", opposite(2)],
    ["6b.6, average precision, %", "matched as listed", detr(arm="as listed"),
     "Hungarian", detr(arm="Hungarian", no_object_weight=1)],
    ["6b.7, mean IoU of quarters, %", "edges repeated", quarters("repeated"),
     "zeros", quarters("zeros")],
    ["6b.8, pairs told right, %", "judge without attention", pairs("none"), "with",
     pairs("attention")],
    ["6b.9, motions right, 400 steps, %", "frames alone", motion("space_only"),
     "divided attention", motion("divided_space_time")],
    ["6b.10, still right in 16 pieces, %", "CNN", spoiled("CNN"), "ViT", spoiled("ViT")],
    ["6b.10, moved by 3 pixels, %", "CNN", spoiled("CNN", "moved 3"), "ViT",
     spoiled("ViT", "moved 3")],
]  # fmt: skip
table([[what, f"{a}: {spread(one)}", f"{b}: {spread(two)}"] for what, a, one, b, two in lines],
      ["page, and what is counted", "one way", "the other way"],
      caption="saved runs, three seeds, 6b.6 and 6b.8 five: mean (lowest to highest)")  # fmt: skip

# %% [markdown]
# - **The CNN is ahead** of the ViT with few images and with many, and by less with many.
# - **News reaches the far corner** where windows shift, in two of three trainings. The third had
#   not learned its task by then. With windows at rest all guess.
# - **An order that the image doesn't show** leaves less than a tenth of the average precision.
# - **Zeros beyond the edges** tell a SegFormer where it is on a sheet of one gray.
# - **Divided attention sees which way** a digit moves. Who reads frames one by one is at chance.
# - **Clothes in 16 pieces** are still named by the ViT, which takes a mean of its patches. That is
#   no praise: a boot in pieces is no boot.
#
# ## Not answered
#
# - **Where ViT overtakes.** Between 250 and 60,000 photographs of clothes it does not, at equal
#   operations. Printed runs on millions of images say that it does later; none was made here.
# - **What a teacher adds in a long training.** In our short one, with all labels there, the seeds
#   show no gain; printed gains come from hundreds of epochs.
# - **Whether hidden patches give more in the end, or only sooner.** Our trainings are short.
# - **Whether attention helps to paint.** The seeds do not agree. What a judge with attention can
#   learn when it is told, and one with a tube cannot, are pairs ([6b.8](08_sagan.ipynb)).
# - **Which scheme for films is best at equal operations.** Ours were compared at equal steps.
# - **The printed scores** on ImageNet, COCO, ADE20K and Kinetics. They need the published
#   checkpoints and test sets; `deepdive.published.load` reads those checkpoints as they are.
#
# ## Test yourself
#
# Before the chapter, and after it: two forms of one test, twelve questions each. The first is in
# everyday words, the second in those of the chapter, and both ask for the same twelve ideas.
#
# ```sh
# deepdive questions ask 6b --test before --count 12
# deepdive questions ask 6b --test after --count 12
# ```
#
# Without `--test` the command asks ten of the chapter's other questions. And here are five that
# need more than one page. Answer each in a sentence, then open.
#
# 1. ViT and Swin both get an image twice as wide and twice as high. What grows, and how?
#
#    <details><summary>Answer</summary>
#
#    The patches fourfold in both. ViT's pairs grow sixteenfold, those in windows fourfold.
#
#    </details>
# 2. Where do ViT, Swin, SegFormer and DETR know from where a patch stands?
#
#    <details><summary>Answer</summary>
#
#    From a learned row for each place; a number for each offset in a window; zeros beyond the
#    edges, by convolutions; sines that are added to queries and keys.
#
#    </details>
# 3. MAE and BERT both hide. What does each put into a gap, and why may MAE hide more?
#
#    <details><summary>Answer</summary>
#
#    BERT a mask token, MAE's encoder nothing. Neighboring patches say much of a gap, so a quarter
#    of them is enough to draw from.
#
#    </details>
# 4. A mask is forgotten in a shifted layer, the way back after a fold through time, a norm that
#    still learns. Which check finds all three?
#
#    <details><summary>Answer</summary>
#
#    Change one input, and see what moves: a patch at the other edge, another place of the film,
#    another image of the batch must not.
#
#    </details>
# 5. A table says that one network is two points ahead. What do you ask before you believe it?
#
#    <details><summary>Answer</summary>
#
#    How many seeds, and how far apart; whether steps or operations were equal; whether the other
#    one had stopped too early; whether the images were new to both.
#
#    </details>
#
# ## Where to go on
#
# - To practise: the chapter's [exercises](exercises.ipynb), which grade themselves, and its
#   [bug clinic](clinic.ipynb), four small painters with one bug each.
# - Fewer pairs for long texts: [chapter 5](../05_efficient/00_opening.ipynb). Swin's windows have
#   their like there, in one dimension ([5.2](../05_efficient/02_sparse_by_position.ipynb)).
# - Gaps in sentences: [3.3](../03_bert/03_masking.ipynb), and what a model of them knows:
#   [3.12](../03_bert/12_bertology.ipynb).
# - With photographs of your own: begin with a published network, freeze it, and train a head, as
#   [3.7](../03_bert/07_finetuning.ipynb) does for texts.
#
# ## Your predictions in this chapter

# %% tags=["fold", "nbval-check-output"]
from deepdive_book.kit.predictions import score

score("06b_vision/")

# %% [markdown] tags=["slide"]
# ## Summary
#
# A picture becomes a sentence as soon as its patches are rows and each bears a mark for its place;
# the block need not change. What a convolution has built in, that near things belong together and
# that a thing is the same elsewhere, must then be learned from examples, or be built in again: by
# windows, by joined keys, by steps through space and time. And what is asked of the states (a name,
# hidden pixels, a set of boxes, a mask, a way of moving) decides what they come to hold.
