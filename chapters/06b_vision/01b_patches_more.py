# %% [markdown] tags=["slide"]
# # More experiments: Vision Transformer (ViT)
#
# Three short experiments with the small Vision Transformer of page 6b.1. What does it predict for a
# photograph of your own? Does it work for images of another size? And does the learning rate
# explain the effect of patch size?
#
# <small>Prerequisites: [Vision Transformer](01_patches.ipynb) · 8 min · runs on a laptop; results
# of the long runs are included · book 6.2.1</small>

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

# %% [markdown] tags=["slide"]
# ## A photograph of your own
#
# **Question.** What does the model predict for a hand it has never seen, or for no hand at all?
#
# A ViT with patches of 20 pixels is trained here for 1,200 steps. To use it, photograph your hand
# signing a digit, write the path of the file between the quotation marks, and run the cell. The
# photograph is prepared like the training data: turned upright, cropped to the square in its
# middle, resized, and normalized. Without a file, the cell takes the first photograph of the test
# set. The photograph stays on the machine this notebook runs on.

# %% Train a ViT
from deepdive_book.ch06b.runs import vit as runs

data = runs.load_data()
P = 20 if data.side == 100 else 10
model = runs.train("ViT", P, seed=1, steps=runs.budgets()[0])

# %% Classify one photograph
import torch


def classify(pixels):
    """Class probabilities (n_classes,) and attention rollout (N,) for pixels (C, side, side)."""
    x = (torch.from_numpy(pixels.copy())[None].float() / 255 - 0.5) / 0.25  # as in training
    with torch.no_grad():
        probabilities = model(x).softmax(-1)[0]
    return probabilities, runs.class_rollout(model, x)[0]


# %% A photograph of your own
import os

import numpy as np

from deepdive_book.data.photographs import read_photograph
from deepdive_book.kit.tables import table

PHOTO = ""  # @param {type:"string"}
test, path = data.test, os.environ.get("DEEPDIVE_PHOTO", PHOTO)
mine = read_photograph(path, data.side, channels=len(test.pixels[0])) if path else test.pixels[0]
probabilities, weights = classify(mine)
gray, _ = classify(np.full_like(mine, 128))  # plain gray, no hand at all
named = os.path.basename(path) or f"first of the test set, labeled {test.names[test.labels[0]]}"
table([[test.names[k], f"{probabilities[k]:.1%}", f"{gray[k]:.1%}"]
       for k in probabilities.argsort(descending=True)[:3].tolist()],
      ["predicted class", "this photograph", "plain gray"],
      caption=f"the three most probable classes; the photograph: {named}")  # fmt: skip

# %% The photograph and its attention rollout tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure, across = Figure(figsize=(6.4, 3.0)), data.side // P
for axes, over in zip(figure.subplots(1, 2), (False, True), strict=True):
    axes.imshow(mine.transpose(1, 2, 0) if len(mine) == 3 else mine[0], cmap="gray")
    if over:
        axes.imshow(weights.reshape(across, across).numpy(), cmap="Oranges", alpha=0.55,
                    extent=(0, data.side, data.side, 0))  # fmt: skip
    axes.set(title="attention rollout" if over else "input", xticks=[], yticks=[])
with_alt(figure, "Left: a photograph as the model's input. Right: the same under a grid of "
         "patches, more orange where the class token's attention rollout is higher.")  # fmt: skip

# %% [markdown]
# *Left: the input. Right: attention rollout, more orange where it is higher.*
#
# This model has three limits:
#
# - **Ten classes.** Its softmax spreads 100% over ten digits, and "no hand" isn't one of them. A
#   plain gray image also gets a digit (last column), and so does a photograph of your cat.
# - **One data distribution.** It has seen 1,642 photographs of students' hands, each close up in
#   front of a plain wall. We haven't measured other backgrounds, light, or distances; expect less.
# - **No calibration.** A high probability isn't evidence that the prediction is correct, or that
#   the photograph is similar to the training data.
#
# ## Images of another size
#
# **Question.** A larger image has more patches than the table has position embeddings. Does it
# work?
#
# The table has one embedding per position of a grid. Take it as a small image with $d$ channels and
# enlarge it by bicubic **interpolation**, as Dosovitskiy et al. (2021, section 3.2) do before
# fine-tuning at a higher resolution. The library does this whenever the image's size differs.

# %% Interpolate position embeddings tags=["nbval-check-output"]
from deepdive.layers.patches import Patches, resized

positions = torch.zeros(25, 64)  # a grid of 5 x 5
print("for 6 x 6 patches:", tuple(resized(positions, (5, 5), (6, 6)).shape))
try:
    Patches(16, 1, 8)(torch.zeros(1, 1, 28, 28))  # the side has to be a multiple of the patch's
except ValueError as error:
    print(error)

# %% Accuracy at other sizes
from deepdive_book.tasks.images import accuracy, tensors

lines = []
for side in (data.side - P, data.side, data.side + P):
    x, labels = tensors(runs.photographs("test", side), scale=0.25)
    lines.append([f"{side} × {side}", (side // P) ** 2, accuracy(model, x, labels, progress=False)])
table(lines, ["image, pixels", "patches", "accuracy"], formats={"accuracy": ".1%"},
      caption=f"trained at {data.side} × {data.side} pixels; one run")  # fmt: skip

# %% [markdown]
# The model accepts other sizes, but its accuracy falls: at another scale, a patch shows another
# part of the hand. So interpolation is a start for fine-tuning, not a replacement for it.
#
# ## Patch size and learning rate
#
# **Question.** On page 6b.1 all models have the same learning rate, 0.001. Would small patches be
# as accurate as large ones with another rate?
#
# We train two of the models, with the parameters of page 6b.1, at three learning rates.

# %% Accuracy by learning rate
from deepdive_book.kit import rows

rates, sizes, short = (3e-4, 1e-3, 3e-3), (P, 50 if P == 20 else 20), runs.budgets()[0]
few = [point for rate in rates
       for point in runs.points([("ViT", size) for size in sizes], short, [1], rate)]  # fmt: skip
saved = rows.load_or_measure(runs.measure, "06b_vision", "vit", points=runs.experiment(),
                             few=few, data="sign_digits").rows  # fmt: skip
lines = [[f"{size} × {size}", *(rows.interval(rows.values(
    saved, "accuracy", arm="ViT", patch=size, seed=1, steps=short, rate=rate)) for rate in rates)]
    for size in sizes]  # fmt: skip
heads = [f"learning rate {rate:g}" for rate in rates]
table(lines, ["patch, pixels", *heads], formats=dict.fromkeys(heads, ".1%"),
      caption=f"test accuracy after {short:,} steps; one seed")  # fmt: skip

# %% [markdown]
# No. At all three rates patches of 50 pixels are far better: at least 87.6%, compared with 69.0% at
# most for patches of 20. This is one seed, and we didn't try the rates in a longer training.
