# %% [markdown] tags=["slide"]
# # Chapter 6b: Vision Transformers: a picture is a sentence of patches
#
# A Transformer takes a sequence of tokens, but a photograph has neither words nor a reading order.
# A Vision Transformer (ViT) cuts the image into patches and treats each one as a token. What must
# it learn from data that a convolutional network has built in?
#
# <small>Prerequisites: [the encoder](../02_transformer/11_encoder.ipynb),
# [convolution](../01_before/03_convolution.ipynb) · 2 min · whole chapter: 3½ h reading + 2 h
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


def square(x, y, level, dot):
    """One pixel."""
    gray = ",".join([str(round(255 * level))] * 3)
    side = f"{dot + 0.3:g}"
    return f'<rect x="{x:g}" y="{y:g}" width="{side}" height="{side}" fill="rgb({gray})"/>'


def frame(x, y, side, role="query"):
    """The border of a patch."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{side:g}" height="{side:g}" fill="none" '
        f'stroke="{ROLES[role]}" stroke-width="2"/>'
    )


# %% tags=["slide", "fold", "nbval-check-output"]
import torch

body, small, step = [], 6, 41.5
for y in range(SIDE):
    body += [square(20 + DOT * x, 30 + DOT * y, image[y, x], DOT) for x in range(SIDE)]
body += [frame(20 + 36 * x, 30 + 36 * y, 36) for y in range(4) for x in range(4)]
body.append(text(92, 18, "16 x 16 pixels, 16 patches", 13))
patches = patchify(torch.from_numpy(image)[None, None], PATCH)[0]
for n, patch in enumerate(patches.tolist()):
    left, top = 215 + step * (n % 8), 40 + 74 * (n // 8)
    for k, level in enumerate(patch):
        body.append(square(left + small * (k % 4), top + small * (k // 4), level, small))
    body += [frame(left, top, 24), text(left + 12, top + 38, str(n + 1), 11)]
body.append(text(375, 18, "the same as a sequence of 16 tokens", 13))
show(
    svg(560, 185, body),
    "Left: a small gray image with one bright shape, cut by a grid into four times four patches. "
    "Right: the same sixteen patches as a sequence, numbered in reading order.",
)

# %% [markdown]
# *A generated image of 16 x 16 pixels, cut into 16 patches: a sequence a Transformer can process.
# Nothing in the sequence encodes that patch 5 is below patch 1.*
#
# **What it covers.** Vision Transformers for **image classification** (ViT, DeiT, Swin),
# **masked autoencoders**, **object detection** (DETR), **segmentation** (SegFormer), image
# generation (SAGAN), **video** (TimeSformer), and robustness compared with CNNs.
#
# **What you'll be able to do.** Turn images into patch tokens, implement each of these models,
# train them on small data, compare them with a convolutional network, and test them on corrupted
# images.
#
# The Transformer block stays the same. The pages change what a token is, which tokens attend to
# each other, and what the output is: a class, pixels, boxes, a mask, or an action. Each page uses
# real photographs or generated scenes and says which.
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 6b.1 | [Vision Transformer (ViT)](01_patches.ipynb) | What is a token of an image? | 30 |
# | 6b.1b | [More experiments](01b_patches_more.ipynb) | What does a ViT see in your photograph? | 8 |
# | 6b.2 | [ViT vs. CNN](02_convolution.ipynb) | What does convolution have built in? | 15 |
# | 6b.3 | [DeiT](03_deit.ipynb) | What does distillation add? | 16 |
# | 6b.4 | [Masked autoencoders (MAE) and data2vec](04_mae.ipynb) | Does predicting masked patches help? | 18 |
# | 6b.5 | [Swin Transformer](05_swin.ipynb) | Are shifted windows enough? | 18 |
# | 6b.6 | [DETR](06_detr.ipynb) | How do you predict a set of boxes? | 35 |
# | 6b.7 | [SegFormer](07_segformer.ipynb) | Which class does each pixel belong to? | 16 |
# | 6b.8 | [SAGAN](08_sagan.ipynb) | Does self-attention help a GAN? | 15 |
# | 6b.9 | [TimeSformer](09_video.ipynb) | Which space-time attention detects motion? | 20 |
# | 6b.10 | [Robustness of ViTs and CNNs](10_robustness.ipynb) | Which corruption hurts which model? | 15 |
#
# In a hurry? Read 6b.1 and 6b.2: how an image becomes a sequence of tokens, and what that costs
# compared with convolution.
#
# ## Reading paths
#
# - **Architecture**: 6b.1, 6b.5, and 6b.9. Patch tokens, and which of them attend to each other.
# - **Training on your own images**: 6b.2, 6b.3, 6b.4, and 6b.10. Which network to choose, what
#   distillation and unlabeled images add, and how robust the result is.
# - **Detection and segmentation**: 6b.6 and 6b.7. Boxes, and a class for each pixel.
#
# The chapter ends with a [summary](11_closing.ipynb) and self-test, [exercises](exercises.ipynb),
# and a [bug clinic](clinic.ipynb).
