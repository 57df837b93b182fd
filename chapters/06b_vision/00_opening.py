# %% [markdown] tags=["slide"]
# # Chapter 6b: Vision Transformers: a picture is a sentence of patches
#
# A Transformer reads a row of words. A photograph has neither words nor a row. What do you hand it,
# so that the block of chapter 2 can stay as it is? And what must it learn from examples that a
# network for images has built in?
#
# <small>Prerequisites: [the encoder](../02_transformer/11_encoder.ipynb),
# [convolution](../01_before/03_convolution.ipynb) · 2 min · whole chapter: 3 h reading + 2 h
# exercises · book 6.2 and 6.5, Fleuret (ViT, Swin, DETR, SAGAN), Straka (MAE, DeiT, DETR)</small>

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
# %% tags=["fold"]
from deepdive.data.images import generated_shapes
from deepdive.layers.patches import patchify
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.plotting import show

SIDE, PATCH, DOT = 16, 4, 9
image = generated_shapes(1, SIDE, seed=6).pixels[0, 0] / 255


def square(x, y, grey, dot):
    """One pixel."""
    shade = f"rgb({round(255 * grey)},{round(255 * grey)},{round(255 * grey)})"
    side = f"{dot + 0.3:g}"
    return f'<rect x="{x:g}" y="{y:g}" width="{side}" height="{side}" fill="{shade}"/>'


def frame(x, y, side, role="query"):
    """The border of a patch."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{side:g}" height="{side:g}" fill="none" '
        f'stroke="{ROLES[role]}" stroke-width="2"/>'
    )


# %% tags=["slide", "fold", "nbval-check-output"]
import torch

body, small, gap = [], 6, 41.5
for y in range(SIDE):
    body += [square(20 + DOT * x, 30 + DOT * y, image[y, x], DOT) for x in range(SIDE)]
body += [frame(20 + 36 * x, 30 + 36 * y, 36) for y in range(4) for x in range(4)]
body.append(text(92, 18, "16 x 16 pixels, 16 patches", 13))
rows = patchify(torch.from_numpy(image)[None, None], PATCH)[0]
for n, row in enumerate(rows.tolist()):
    left, top = 215 + gap * (n % 8), 40 + 74 * (n // 8)
    for k, grey in enumerate(row):
        body.append(square(left + small * (k % 4), top + small * (k // 4), grey, small))
    body += [frame(left, top, 24), text(left + 12, top + 38, str(n + 1), 11)]
body.append(text(375, 18, "the same as a row of 16 tokens", 13))
show(
    svg(560, 185, body),
    "Left: a small grey image with one bright shape, cut by a grid into four times four patches. "
    "Right: the same sixteen patches in a row, numbered line by line as words in a sentence.",
)

# %% [markdown]
# *A generated image of 16 pixels a side, cut into 16 patches: a row that a Transformer can read.
# Nothing in the row says that patch 5 stands below patch 1.*
#
# The block stays as it is. What changes from page to page is what a token is, who meets whom, and
# what is asked of the states: a kind, hidden pixels, boxes, a mask, an action in a film. Each page
# runs on real photographs or on scenes that are plainly generated, and says which.
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 6b.1 | [Vision Transformer (ViT)](01_patches.ipynb) | What is a word of an image? | 20 |
# | 6b.2 | [ViT vs. CNN](02_convolution.ipynb) | What does convolution know? | 15 |
# | 6b.3 | [DeiT](03_deit.ipynb) | What does a teacher add? | 16 |
# | 6b.4 | [Masked autoencoders (MAE) and data2vec](04_mae.ipynb) | Can it fill in what is hidden? | 18 |
# | 6b.5 | [Swin Transformer](05_swin.ipynb) | Who meets whom, and when? | 18 |
# | 6b.6 | [DETR](06_detr.ipynb) | Which boxes, in no order? | 20 |
# | 6b.7 | [SegFormer](07_segformer.ipynb) | What is each pixel? | 16 |
# | 6b.8 | [SAGAN](08_sagan.ipynb) | Who sees both socks? | 15 |
# | 6b.9 | [TimeSformer](09_video.ipynb) | Who sees motion? | 20 |
# | 6b.10 | [Robustness of ViTs and CNNs](10_robustness.ipynb) | What breaks which? | 15 |
#
# In a hurry? 6b.1 and 6b.2: how an image becomes a row, and what that costs beside convolution.
#
# ## Three ways through
#
# - **How it works**: 6b.1, 6b.5 and 6b.9. A row of patches, and who meets whom in it.
# - **Images of your own**: 6b.2, 6b.3, 6b.4 and 6b.10. Which network, what a teacher or images
#   without names are good for, and what breaks a network.
# - **What is in the picture, and where**: 6b.6 and 6b.7. Boxes, and a name for each pixel.
#
# Behind the pages stand [what the chapter showed](11_closing.ipynb), with a test of yourself,
# [exercises](exercises.ipynb) and a [bug clinic](clinic.ipynb).
