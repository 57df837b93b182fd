# %% [markdown] tags=["slide"]
# # Vision Transformer (ViT): from pixels to tokens
#
# A hand in a photograph shows a number. Cut the photograph into squares, drop them into a bag,
# shake it, and hand them out one by one to somebody who never saw a hand. Can they learn to read
# the numbers? A Transformer that reads photographs begins like this. How large may the squares be,
# and what must be written on them?
#
# <small>Prerequisites: [the encoder](../02_transformer/11_encoder.ipynb),
# [positions](../02_transformer/08_positions.ipynb) · 20 min · runs on a laptop; results of the long
# runs are included · book 6.2.1, Fleuret and Straka (ViT)</small>

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

# %% The photographs tags=["fold"]
import torch

from deepdive.data.images import generated_shapes, sign_digits
from deepdive_book.kit.profile import pick, profile
from deepdive_book.tasks.images import tensors

real = profile() != "ci"
SIDE = 100 if real else 40
SIZES = (10, 20, 50, 100) if real else (10, 20, 40)  # patches, side in pixels
P = 20 if real else 10  # the one that the page looks into


def photographs(part, side=SIDE):
    """Hands that sign digits; in the ci profile generated shapes. No hand is in both parts."""
    if real:
        return sign_digits(part, size=side)
    return generated_shapes(400 if part == "train" else 200, side, seed=len(part))


train, test = photographs("train"), photographs("test")
x_train, y_train = tensors(train, scale=0.25)
x_test, y_test = tensors(test, scale=0.25)
print(train.source, len(train), "|", test.source, len(test))

# %% Cut a photograph tags=["fold"]
from deepdive_book.ch06b.figures.patch_shuffle import patch_shuffle

some = {f"a hand that shows {test.names[k]}": test.pixels[test.labels == k][0] for k in (3, 5, 8)} \
    if real else {f"a generated {name}": test.pixels[test.labels == k][0]
                  for k, name in enumerate(test.names[:2])}  # fmt: skip
patch_shuffle(some, sizes=(5, *SIZES), size=P)

# %% [markdown]
# *Choose how large the patches are, and shuffle them. (Photographs: Mavi 2020, students of a school
# in Ankara; hands that sign digits.)*
#
# 1. Shuffle patches of 20 × 20. Which fingers can you still find?
# 2. Write on each patch the number of its place. Now you could put the photograph together.
# 3. Go to 5 × 5, then to 50 × 50. What gets expensive, and what is left for a single token to say?
#
# A patch becomes a token: its pixels in a row, times a matrix, make a vector as wide as the model.
# From there on all is BERT's encoder, the norms inside the branches: this is **ViT**, the Vision
# Transformer (Dosovitskiy et al. 2021). It has no layer that knows what *above* or *beside* means.

# %% A ViT that sorts them tags=["fold"]
from torch import nn

from deepdive.layers.heads import ImageClassifier
from deepdive.layers.patches import patchify, unpatchify
from deepdive.models.vision import vit

D, HEADS, LAYERS = 64, 4, 2


def shuffled(x, size, how):
    """The images, cut and joined again: in order, in one wrong order, or each in a new one."""
    if how == "in order":
        return x
    rows = patchify(x, size)
    order = torch.randperm(rows.shape[1], generator=torch.Generator().manual_seed(9))
    if how == "new shuffle":
        order = torch.rand(rows.shape[:2]).argsort(1)
    order = order.expand(rows.shape[:2])[..., None].expand_as(rows)
    return unpatchify(rows.gather(1, order), size, *x.shape[2:])

# %% A reader of shuffled images tags=["fold"]
class Reader(ImageClassifier):
    """A ViT and its classifier, to whom images come shuffled or not."""

    how, size = "in order", P

    def forward(self, images):
        return super().forward(shuffled(images, self.size, self.how))


def build(size, how="in order"):
    config = vit.TINY.but(image_size=SIDE, patch_size=size, channels=x_train.shape[1], d_model=D,
                          n_heads=HEADS, n_layers=LAYERS, d_ff=2 * D)  # fmt: skip
    model = Reader(vit.vit(config), D, len(train.names))
    model.how, model.size = how, size
    for part in model.modules():
        if isinstance(part, nn.Linear):  # larger first weights than ViT's: see "In practice"
            nn.init.xavier_uniform_(part.weight)
    return model


# %% Train one tags=["fold"]
from functools import cache

from deepdive.training import fit
from deepdive.training.optim import adam, linear
from deepdive_book.kit.experiments import results_path, share, sweep
from deepdive_book.tasks.images import ImageBatches, loss


@cache
def trained(size, how, seed, steps):
    torch.manual_seed(seed)
    model = build(size, how)
    fit(model, ImageBatches(x_train, y_train, 16, shift=SIDE // 20, seed=seed), loss, steps=steps,
        seed=seed, optimizer=adam(model, lr=1e-3), progress=False,
        schedule=linear(1e-3, max(1, steps // 10), steps))  # fmt: skip
    return model.eval()


# %% What is measured tags=["fold"]
from deepdive.core.hooks import record
from deepdive.explain.rollout import distance, distances, rollout
from deepdive_book.tasks.images import accuracy, predict


def looks(model, x):
    """Weights of each layer, (B, H, 1 + N, 1 + N), in a list."""
    with record(model.encoder, "*.weights") as seen, torch.no_grad():
        model(x)
    return [calls[0] for calls in seen.values()]


def covered(x, size, scores, count):
    """The images with their `count` patches of the largest scores (B, N) made grey."""
    rows = patchify(x, size).clone()
    worst = scores.topk(count, dim=1).indices
    return unpatchify(rows.scatter(1, worst[..., None].expand(-1, -1, rows.shape[2]), 0.0), size,
                  *x.shape[2:])  # fmt: skip


def right(model, x):
    return round(100 * accuracy(model, x, y_test, progress=False), 1)

# %% Measure one tags=["fold"]
def measure(size, how, seed, steps):
    """Right in % of new hands; how far heads look; and right with a fifth of the patches grey."""
    model, grid = trained(size, how, seed, steps), (SIDE // size,) * 2
    found = {"right": right(model, x_test)}
    if how == "in order" and grid[0] ** 2 > 4:
        weights = looks(model, x_test[:128])
        found["reach"] = [distance(w, grid, size).mean(0).tolist() for w in weights]
        parts = [rollout(looks(model, part))[-1, :, 0, 1:] for part in x_test.split(70)]
        shares = torch.cat(parts)
        by_lot = torch.rand(shares.shape, generator=torch.Generator().manual_seed(seed))
        for name, scores in (("most", shares), ("by lot", by_lot), ("least", -shares)):
            some = covered(x_test, size, scores, grid[0] ** 2 // 5)
            found[f"without {name}"] = right(model, some)
    return found


# %% Measure, or read what was kept tags=["fold"]
import json

STEPS = pick(ci=40, laptop=1200, gpu=1200, experiment=round(1200 * share()))
SHUFFLES = "one shuffle", "new shuffle"
once = [(size, "in order") for size in SIZES] + [(P, how) for how in SHUFFLES]
asked = [(*each, seed, STEPS) for seed in (1, 2, 3) for each in once]
asked += [(*each, seed, 4 * STEPS) for seed in (1, 2, 3)
          for each in once if each[0] in (P, 50)]  # fmt: skip
if profile() != "experiment":
    hows = ["in order"] if real else ["in order", "one shuffle"]
    asked = [(P, how, 1, STEPS) for how in hows]
points = [dict(zip(("size", "how", "seed", "steps"), each, strict=True)) for each in asked]
file = results_path("06b_vision", "patches")
target = file if profile() == "experiment" else None
source = "sign_digits" if real else "generated"
measured = sweep(measure, points, target, data=source, minutes=240)
rows, kept_runs = measured, False
if real and file is not None and file.is_file():
    rows, kept_runs = json.loads(file.read_text())["rows"], True
told = "the kept runs" if kept_runs else "live, one run each"
print(f"{told}, {STEPS} steps of 16 photographs or four times as many; one is trained again here")

# %% [markdown] tags=["slide"]
# ## By hand: four patches of four pixels
#
# An image of 4 × 4 pixels, cut into patches of 2 × 2. Each patch is read line by line, and one
# output of the matrix has the weights $w = (1, 2, 0, -1)$:
#
# $$\begin{array}{cc|cc} 1&2&0&1\\ 3&0&1&0\\ \hline 0&1&2&2\\ 1&0&0&1 \end{array}$$
#
# | patch | its pixels in a row | times $w$ |
# |---|---|---|
# | 1, upper left | $(1, 2, 3, 0)$ | $1 + 4 + 0 - 0 = 5$ |
# | 2, upper right | $(0, 1, 1, 0)$ | $0 + 2 + 0 - 0 = 2$ |
# | 3, lower left | $(0, 1, 1, 0)$ | $0 + 2 + 0 - 0 = 2$ |
# | 4, lower right | $(2, 2, 0, 1)$ | $2 + 4 + 0 - 1 = 5$ |
#
# It is a convolution whose kernel, 2 × 2, moves by its own width: no square is seen twice. And
# patches 2 and 3 hold the same pixels, so they become the same token. Attention gives equal
# tokens equal answers: no layer could ever tell them apart. So a learned vector is added to each,
# one for each place.

# %% The same three times tags=["nbval-check-output", "fold"]
import torch.nn.functional as F

image = torch.tensor([[1.0, 2, 0, 1], [3, 0, 1, 0], [0, 1, 2, 2], [1, 0, 0, 1]])[None, None]
w = torch.tensor([1.0, 2, 0, -1])
patches = image.reshape(1, 1, 2, 2, 2, 2).permute(0, 2, 4, 1, 3, 5).reshape(4, 4)
assert torch.equal(patches, patchify(image, 2)[0])
moved = F.conv2d(image, w.view(1, 1, 2, 2), stride=2).flatten()
print("patches:", patches.int().tolist())
print("times w:", (patches @ w).int().tolist(), "| as a convolution:", moved.int().tolist())
assert (patches @ w).tolist() == moved.tolist() == [5, 2, 2, 5]

# %% [markdown] tags=["slide"]
# ## ViT from nothing
#
# With the rows of all patches $p_1 \ldots p_N$, a learned row $c$ before them (the class token, as
# BERT's [CLS]) and a table $E$ of $1 + N$ learned positions,
#
# $$x = [c;\; W p_1 + b;\; \ldots;\; W p_N + b] + E$$
#
# go through the blocks, and a last layer reads the state of the class token. (Attention and MLP of
# the blocks are the library's.)


# %% ViT in twelve lines
def vit_by_hand(model, images, size):
    """Logits of the kinds, from the weights of one of the library's models."""
    B, C, H, W = images.shape
    parts, stack = model.encoder.embeddings, model.encoder.stack
    squares = images.reshape(B, C, H // size, size, W // size, size)
    rows = squares.permute(0, 2, 4, 1, 3, 5).reshape(B, -1, C * size * size)  # (B, N, C P P)
    tokens = rows @ parts.patches.project.weight.T + parts.patches.project.bias
    x = torch.cat([parts.special.expand(B, -1, -1), tokens], 1) + parts.positions  # (B, 1 + N, d)
    for block in stack.blocks:
        x = x + block.attn(block.attn_residual.norm(x))
        x = x + block.ff(block.ff_residual.norm(x))
    return model.out(stack.norm(x)[:, 0])


# %% It is the library's tags=["fold"]
model = trained(P, "in order", 1, STEPS)
with torch.no_grad():
    assert torch.allclose(vit_by_hand(model, x_test[:8], P), model(x_test[:8]), atol=1e-4)
rows_of = model.encoder.embeddings.positions.shape
print("as the library's; a row of positions for the class token and each patch:", rows_of[0])

# %% [markdown]
# **Common mistake:** `images.reshape(B, N, -1)` also gives $N$ rows of the right length. But a
# reshape never moves a number: each row is then a strip of a few whole lines of one color, cut off
# where the length is full, not a square. **Symptom:** no error; a row drawn as an image shows
# stripes. **Mend:** the `permute` above; test it on an image whose pixels are their own numbers, as
# in exercise 1.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "All photographs, in training and in the test, are cut into 25 squares and put together again "
    "in one and the same wrong order. A new ViT of the same size learns from these. How many of "
    "the new hands does it read, beside the ViT that saw whole photographs?",
    ["about as many", "about half as many", "hardly more than by guessing"],
    answer=0,
    explain="No layer knows which patches are neighbours: before the training all positions are "
    "random rows. A fixed wrong order only gives the rows other numbers, and what was learned for "
    "one place is learned for another.",
    key="06b_vision/one-shuffle",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Three orders of the patches tags=["surprise", "slide", "fold"]
from statistics import mean

from deepdive_book.kit.tables import table


def of(what="right", times=1, **wanted):
    """That number of each seed, after so many times the usual steps."""
    wanted |= {"steps": times * STEPS}
    return [row[what] for row in rows if wanted.items() <= row.items() and what in row]


def spread(found):
    """Mean, and in brackets the lowest and the highest, where there are several."""
    ends = f" ({min(found):.1f} to {max(found):.1f})" if len(found) > 1 else ""
    return f"{mean(found):.1f}{ends}" if found else None


orders = {"in order": "whole photographs", "one shuffle": "one wrong order for all",
          "new shuffle": "a new order for each"}  # fmt: skip
found = {said: [of(times=n, size=P, how=how) for n in (1, 4)] for how, said in orders.items()}
table([[said, len(each[0]), *map(spread, each)] for said, each in found.items() if each[0]],
      ["the photographs", "runs", f"{STEPS:,} steps: new hands read, %", f"{4 * STEPS:,} steps"],
      caption=f"patches of {P} x {P}: mean of the runs (lowest to highest)")  # fmt: skip

# %% The same, exactly tags=["nbval-check-output", "fold"]
import copy

n = (SIDE // P) ** 2
order = torch.randperm(n, generator=torch.Generator().manual_seed(9))  # that of `shuffled`
other = copy.deepcopy(model)
with torch.no_grad():
    other.encoder.embeddings.positions[1:] = model.encoder.embeddings.positions[1:][order]
    wrong_order = shuffled(x_test[:50], P, "one shuffle")
    same = torch.allclose(other(wrong_order), model(x_test[:50]), atol=1e-4)
print("positions shuffled as the photographs are: the same answers,", same)
assert same

# %% [markdown]
# To you the wrong order destroys the hand. To the model it is nothing, and the cell above says so
# exactly: shuffle the rows of the position table as the photographs were, and a trained model gives
# the same answers.
#
# The last row is the greater surprise. With a new order for each photograph the numbers of the
# places mean nothing, and what is left is a bag of patches. Even so the model reads most hands that
# it reads in order, and about three points fewer after the longer training. So what it uses are
# above all the patches themselves. (Large ViTs can live with a bag, too: Dosovitskiy et al., table
# 8, report 61.4% without positions and 64.2% with them, on ImageNet, by a linear classifier that
# learns from five images of each kind.)

# %% [markdown]
# ## The experiment: how large may a patch be?
#
# A ViT with the same blocks is trained on 1,642 photographs and tested on 420 of other students'
# hands, with patches from 10 pixels to the whole photograph. Each is trained equally long. The
# models are not equally large, though. The patch projection has $3 P^2 \cdot 64$ weights: about
# 19,000 for patches of 10 pixels, 77,000 for 20, 480,000 for 50, and 1.92 million for the whole
# photograph, next to about 66,000 in the two blocks together. So patch size and parameters grow
# together here.

# %% tags=["fold"]
predict(
    "Patches of 10 pixels give 100 tokens, patches of 50 only four. Trained equally long on these "
    "1,642 photographs, which read the most new hands?",
    ["the small ones: 10 or 20", "the large ones: 50", "all about the same"],
    answer=1,
    explain="A patch of 50 holds a quarter of the photograph: one matrix can read directly where "
    "the fingers are. With 25 or 100 tokens attention must first learn to put pieces together.",
    key="06b_vision/patch-size",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Count the operations tags=["fold"]
from deepdive_book.kit.flops import count_flops

cost = {size: count_flops(lambda: build(size)(x_test[:1])) / 1e6 for size in (5, *SIZES)}  # noqa: B023

# %% Read right, over the size of a patch tags=["surprise", "slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(5.6, 3.4))
axes = figure.subplots()
for at, size in enumerate(SIZES):
    for times, mark, colour in ((1, "o", "#0072B2"), (4, "^", "#D55E00")):
        found = of(times=times, size=size, how="in order")
        axes.plot([at] * len(found), found, mark, color=colour, alpha=0.7,
                  label=f"{times * STEPS:,} steps" if size == P and found else None)  # fmt: skip
axes.legend(loc="lower right", bbox_to_anchor=(1, 0.15))
axes.set_xticks(range(len(SIZES)), [f"{s} × {s}\n{(SIDE // s) ** 2} tokens" for s in SIZES])
axes.set(xlabel="patch, in pixels", ylabel="new hands read, %", ylim=(0, 100))
axes.axhline(100 / len(test.names), color="#888", linestyle=":")
axes.text(len(SIZES) - 1, 100 / len(test.names) + 2, "guessing", ha="right", color="#666")
with_alt(figure, "Accuracy over the size of a patch, a dot for each seed after fewer steps, a "
         "triangle after more, and a dotted line for guessing.")  # fmt: skip

# %% The same in numbers tags=["fold"]
runs = {size: of(size=size, how="in order") for size in (5, *SIZES)}
lines = [[f"{s} × {s}", (SIDE // s) ** 2, round(cost[s], 1), spread(each) or "not trained",
          spread(of(times=4, size=s, how="in order")) or "not trained"]
         for s, each in runs.items()]  # fmt: skip
table(lines, ["patch", "tokens", "operations, millions", f"{STEPS:,} steps: new hands read, %",
              f"{4 * STEPS:,} steps"],
      caption="operations a photograph; mean of the runs (lowest to highest)")  # fmt: skip

# %% What the seeds carry tags=["fold"]
if kept_runs:
    small, large = of(size=P, how="in order"), of(size=50, how="in order")
    print(f"worst run with 50: {min(large):.1f}; best run with {P}: {max(small):.1f}")
    assert min(large) > max(small) + 10
known = 100 * accuracy(model, x_train, y_train, progress=False)
print(f"patches of {P}, one run: {known:.1f} % of the training's own photographs read")

# %% [markdown]
# With four tokens the model reads far more hands than with 25 or 100, with fewer operations; and no
# fewer with one, where attention has nothing to look at but the class token and the model is a few
# layers on all pixels. The gap is many times that between runs of one size. These hands lie all
# alike, in the middle before a plain wall, so one matrix can know where a finger is.
#
# Is it that small patches need more photographs? The model with patches of 20 has not even learned
# those of its training (above), so it lacks training first: it had 1,200 steps of 16 photographs.
# Four times as many bring it from 68.2 to 86.0%, and patches of 50 from 91.5 to 94.3. The gap of
# 23 points becomes one of 8, and in each seed the large patches stay ahead.
#
# Models that are trained far longer say the opposite. Torchvision's ViT-B reads 81.1% of ImageNet
# with patches of 16 pixels and 75.9% with patches of 32 (Torchvision's table of weights, 2022). So
# a small patch is a promise: more detail and more places to look, if there is enough training to
# learn where to look.

# %% [markdown]
# ## What the positions learned
#
# Nobody told the model where a patch lies; its table began as random rows. Here each small map
# belongs to one place, and shows how similar its row has become to the rows of all places:

# %% Similarity of positions tags=["fold"]
import numpy as np

from deepdive.explain.rollout import distance, distances, rollout

across = SIDE // P


def similarity(model):
    """Cosine between the rows of all places, without what all rows share: (N, N)."""
    table = model.encoder.embeddings.positions[1:].detach()
    return F.normalize(table - table.mean(0), dim=1) @ F.normalize(table - table.mean(0), dim=1).T


alike = similarity(model).numpy()
figure = Figure(figsize=(4.6, 4.6))
for t, axes in enumerate(figure.subplots(across, across).flat):
    axes.imshow(alike[t].reshape(across, across), cmap="RdBu_r", vmin=-1, vmax=1)
    axes.plot(t % across, t // across, "k.", markersize=4)
    axes.set(xticks=[], yticks=[])
with_alt(figure, "A grid of small maps, one for each place of a patch, each as a grid of the "
         "similarities to all places; a dot marks the place itself.")  # fmt: skip

# %% Near places are alike tags=["fold"]
near, pairs = -distances((across, across)), ~torch.eye(across**2, dtype=torch.bool)
beside = (-near > 0) & (-near < 1.1)
opposite = -near > across - 1
print(f"one run: likeness of neighbours {alike[beside].mean():.2f}, "
      f"of places far apart {alike[opposite].mean():.2f}; correlation of likeness and nearness "
      f"{np.corrcoef(alike[pairs], near[pairs])[0, 1]:.2f}")  # fmt: skip

# %% [markdown]
# *Red: alike; blue: opposite. The dot is the place itself.* In a large ViT that was trained long
# the maps show a hill around each dot, with its row and its column (Dosovitskiy et al., figure 7):
# it has learned the plane from photographs alone. Ours has just begun. Neighbors are a little
# more alike than places far apart, no more, and that in one run.
#
# ## How far do heads look?
#
# A convolution sees its neighbors. A head may look anywhere; for each we measure the mean distance
# between a patch and what it looks at, in pixels, weighted by attention.

# %% Reach of each head tags=["fold"]
figure = Figure(figsize=(6.4, 3.0))
for axes, size in zip(figure.subplots(1, 2, sharey=True), SIZES[:2], strict=True):
    found = of("reach", size=size, how="in order")
    for reach in found:
        for layer, heads in enumerate(reach):
            axes.plot([layer + 1] * len(heads), heads, "o", color="#0072B2", alpha=0.6)
    even = distances((SIDE // size,) * 2, size).mean().item()
    axes.axhline(even, color="#D55E00", linestyle="--")
    axes.set(title=f"patches of {size} × {size}", xlabel="layer", xlim=(0.5, LAYERS + 0.5),
             xticks=range(1, LAYERS + 1), ylim=(0, 0.65 * SIDE))  # fmt: skip
figure.axes[0].set_ylabel("mean distance, pixels")
with_alt(figure, "Two panels, a dot for each head of each seed: its layer, and how far it looks; a "
         "dashed line for a head that looks at all patches alike.")  # fmt: skip

# %% [markdown]
# *The dashed line: a head that looks at all patches alike.* All dots lie near it. After this
# training no head looks at its neighbors only, as a convolution would. In a large ViT with much
# more training Dosovitskiy et al. (figure 7) find both kinds in the first layers, heads that look
# near and heads that look far, and only far ones in the last.
#
# ## Which patches are in the answer?
#
# One layer's weights say which *states* are mixed, not which patches. **Attention rollout** (Abnar
# and Zuidema 2020) follows them down: it takes the mean $W_l$ of a layer's heads, gives half of
# each row to the residual connection, and multiplies the layers:
#
# $$A_l = \tfrac12 (W_l + I), \qquad R = A_L \cdots A_2 A_1$$
#
# $R_{ts}$ sums all paths from patch $s$ to state $t$. With two tokens and one layer whose weights
# are $\tfrac12, \tfrac12$ and $1, 0$: $A = \begin{pmatrix} 0.75 & 0.25 \\ 0.5 & 0.5 \end{pmatrix}$.
# The first row of $R$ says where the class token's answer comes from.

# %% Rollout over photographs tags=["fold"]
weights = torch.tensor([[[[0.5, 0.5], [1.0, 0.0]]]])
assert rollout([weights])[-1, 0].tolist() == [[0.75, 0.25], [0.5, 0.5]]
shown = [int((y_test == k).nonzero()[0]) for k in range(len(test.names))][:10:2][:4]
rolled = rollout(looks(model, x_test[shown]))[-1, :, 0, 1:].reshape(-1, across, across)
figure = Figure(figsize=(8.4, 2.4))
for axes, k, shares in zip(figure.subplots(1, len(shown)), shown, rolled, strict=True):
    pixels = test.pixels[k].transpose(1, 2, 0)
    axes.imshow(pixels if real else pixels[..., 0], cmap="gray")
    axes.imshow(shares, cmap="Oranges", alpha=0.55, extent=(0, SIDE, SIDE, 0))
    answer = int(model(x_test[k : k + 1]).argmax())
    axes.set(title=f"{test.names[y_test[k]]}, read {test.names[answer]}", xticks=[], yticks=[])
with_alt(figure, "Photographs of hands under a grid, fuller where rollout gives the class token "
         "more of a patch; above each its digit, and what the model reads.")  # fmt: skip

# %% [markdown]
# *Full orange: much of this patch is in the answer, says rollout.* Is it true? Rollout leaves out
# values and feed-forward layers, so it may be wrong. A test: make a fifth of the patches gray, and
# read again. If rollout is right, the patches that it calls important cost more than patches drawn
# by lot.

# %% Cover what rollout names tags=["fold"]
names = ["right", "without most", "without by lot", "without least"]
lines = [[f"{s} × {s}", len(of(size=s, how="in order")),
          *(spread(of(what, size=s, how="in order")) for what in names)]
         for s in SIZES[:2]]  # fmt: skip
if of(times=4, size=P, how="in order"):
    lines.append([f"{P} × {P}, {4 * STEPS:,} steps", 3,
                  *(spread(of(what, 4, size=P, how="in order")) for what in names)])  # fmt: skip
table(lines, ["patches", "runs", "none covered", "most covered", "by lot", "least covered"],
      caption="new hands read in %, a fifth of the patches grey: mean of the runs "
      "(lowest to highest)")  # fmt: skip

# %% [markdown]
# In each run the patches with the most rollout cost by far the most. The least cost less than those
# by lot in each run with patches of 10; with patches of 20 only in one run of three after the
# shorter training, and in all three after the longer one. (Patches by lot fall on the wall, too. So
# this says that rollout finds the hand, and not that it ranks the patches of a hand.)
#
# ## Your own photograph
#
# Photograph your hand as it shows a number, put the path of the file between the quotation marks,
# and run the cell. The photograph is prepared as the training's were: turned upright, cut to the
# square in its middle, resized, and scaled by the same mean and standard deviation. Without a file
# the cell takes the first hand of the test set. The photograph stays on the machine this notebook
# runs on.

# %% Classify one photograph
def classify(pixels):
    """Probabilities (n_classes,) and rollout (N,) of one photograph (C, SIDE, SIDE) of bytes."""
    x = (torch.from_numpy(pixels.copy())[None].float() / 255 - 0.5) / 0.25  # as in training
    with torch.no_grad():
        probabilities = model(x).softmax(-1)[0]
    return probabilities, rollout(looks(model, x))[-1, 0, 0, 1:]


# %% A photograph of your own
import os

from deepdive_book.data.photographs import read_photograph

PHOTO = ""  # @param {type:"string"}
path = os.environ.get("DEEPDIVE_PHOTO", PHOTO)
mine = read_photograph(path, SIDE, channels=len(test.pixels[0])) if path else test.pixels[0]
probabilities, shares = classify(mine)
unlike, _ = classify(np.full_like(mine, 128))  # plain gray, no hand at all
named = os.path.basename(path) or f"first of the test set, labeled {test.names[y_test[0]]}"
table([[test.names[k], f"{probabilities[k]:.1%}", f"{unlike[k]:.1%}"]
       for k in probabilities.argsort(descending=True)[:3].tolist()],
      ["predicted class", "this photograph", "plain gray"],
      caption=f"its three most probable classes; the photograph: {named}")  # fmt: skip

# %% Your photograph as the model gets it tags=["fold"]
figure = Figure(figsize=(6.4, 3.0))
for axes, over in zip(figure.subplots(1, 2), (False, True), strict=True):
    axes.imshow(mine.transpose(1, 2, 0) if len(mine) == 3 else mine[0], cmap="gray")
    if over:
        axes.imshow(shares.reshape(across, across), cmap="Oranges", alpha=0.55,
                    extent=(0, SIDE, SIDE, 0))  # fmt: skip
    axes.set(title="attention rollout" if over else "input", xticks=[], yticks=[])
with_alt(figure, "Left a photograph as the model gets it; right the same under a grid, fuller "
         "where rollout gives the class token more of a patch.")  # fmt: skip

# %% [markdown]
# *Left: the input. Right: rollout, fuller where more of a patch is in the class token.*
#
# What this model can't know:
#
# - **Anything but its ten classes.** The softmax spreads 100% over ten digits, because "no hand" is
#   not one of them. A plain gray square also gets a digit (the table's last column), and so does a
#   photograph of your cat.
# - **Any other world of photographs.** It has seen 1,642 photographs of students' hands, each close
#   up on a plain wall. On new hands of the same kind its accuracy is in the tables above. On
#   another background, light, distance, or way of counting on fingers we haven't measured it;
#   expect less.
# - **How sure it should be.** Its probabilities aren't calibrated. The first hand of the test set
#   shows 1, and this run predicts 2 with 57%. Nor is a high probability evidence that the
#   photograph is like those of the training: the gray square gets 86% for 0.
#
# ## Your own drawing
#
# The same model, smaller: three layers, 48 wide, digits of 8 × 8 pixels in 16 patches of 2 × 2. Its
# weights are in this page, and nothing that you draw leaves it. Draw a digit, and move on over it:
# the right picture shows where the patch under your pen looks, the left one the rollout.

# %% Load a reader of drawings tags=["fold"]
from deepdive_book.ch06b.figures.drawing import drawing
from deepdive_book.ch06b.toys.drawn_digits import drawn_digits

toy = drawn_digits()
low, high = (100 * end for end in toy.right["as they are"][1:])
drawing(toy.model, start="3", told=f"Of {toy.tested} digits of other writers it reads "
        f"{100 * toy.right['as they are'][0]:.1f} % right (95 % interval {low:.1f} to {high:.1f}); "
        "as long as you write as they did.")  # fmt: skip

# %% [markdown]
# Your lines are prepared as the data were: fitted into a frame of dots, four to a pixel's side,
# drawn there, and the dots of each pixel counted. So place and size do not matter. The hand does:
# most of the people whose digits it learned cross their sevens.
#
# 1. Draw a 7 with a bar through it, then without. What does it read?
# 2. Draw a 9 slowly. When does it stop being a 0 or a 7? Where does the class token look then?
# 3. Rest the pen on an empty corner. Does its patch look at empty places, or at ink?

# %% [markdown] tags=["aside"]
# ## Other sizes of photographs
#
# A photograph of 28 pixels has no whole patches of 16: the cell below is refused. Cutting off the
# rest would leave a single token. Resized to 32, it has four tokens, and the experiment above says
# what four tokens were worth for hands. For small images small patches are usual: 4 of 28, so 7 × 7
# tokens.
#
# A larger photograph than the training's has more patches than the table has rows. `resized`
# takes the rows for an image of $d$ channels, and enlarges that.

# %% Refused tags=["aside", "fold", "nbval-check-output"]
from deepdive.layers.patches import Patches, resized

try:
    Patches(16, 1, 8)(torch.zeros(1, 1, 28, 28))
except ValueError as error:
    print(error)
table_of_25, wider = torch.zeros(25, D), (6, 6)
print("a table of 25 places for 6 x 6:", tuple(resized(table_of_25, (5, 5), wider).shape))

# %% Read other sizes tags=["aside", "fold"]
lines = []
for other_side in (SIDE - P, SIDE, SIDE + P):
    x, labels = tensors(photographs("test", other_side), scale=0.25)
    score = 100 * accuracy(model, x, labels, progress=False)
    lines.append([f"{other_side} × {other_side}", (other_side // P) ** 2, round(score, 1)])
table(lines, ["photograph", "tokens", "read, %"],
      caption=f"trained at {SIDE} x {SIDE}; positions resized; one run")  # fmt: skip

# %% [markdown] tags=["aside"]
# The model reads the other sizes without an error, and worse: the table fits, but at another scale
# each patch shows another part of a hand. That is why the resized table is a beginning for
# fine-tuning, not a replacement for it.

# %% [markdown]
# ## In practice
#
# - **Larger initial weights can help when steps are few.** With a standard deviation of 0.02 in all
#   layers (the default of timm, of transformers, and of this library) one run classified 49% of
#   the new hands after as many steps, and with Glorot's larger weights 68%. The original ViT uses
#   Glorot's initialization; 0.02 is only its position table. What longer training makes of this we
#   have not measured.
# - **Small patches for long trainings, large ones for short.** Half the side costs four times the
#   tokens: Torchvision (2022) counts 17.6 thousand million operations an image for ViT-B with
#   patches of 16, and 4.4 with patches of 32 (a product and its sum as one; our table has two).
# - **Split by person.** One student's ten photographs lie side by side in this data set. A split by
#   lot would put the same hand into training and test, and flatter every model.
# - **Fine-tune at a larger size** with the position table resized; that is how ViT's best results
#   were made (Dosovitskiy et al. 2021, section 3.2).
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why is the first layer of ViT a convolution?
#
#    <details><summary>Answer</summary>
#
#    The same matrix is applied to each square; a kernel of the patch's size that moves by its own
#    width does just that.
#
#    </details>
# 2. Why does one wrong order for all photographs not harm?
#
#    <details><summary>Answer</summary>
#
#    Attention knows places only by their learned rows, and these are learned for any order.
#
#    </details>
# 3. What would a network of convolutions make of the same shuffled photographs?
#
#    <details><summary>Answer</summary>
#
#    It looks at neighbors first, and in the wrong order these do not belong together.
#
#    </details>
# 4. Half the patch's side: how many tokens, and how many pairs for attention?
#
#    <details><summary>Answer</summary>
#
#    Four times the tokens, sixteen times the pairs.
#
#    </details>
# 5. What does rollout leave out?
#
#    <details><summary>Answer</summary>
#
#    Values, feed-forward layers and the differences between heads: it follows weights alone. That
#    is why it is tested by covering patches.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* An image of 4 × 4 pixels holds the numbers 0 to 15, line by line. Which
#    four are in the second patch of 2 × 2? Which four does `reshape(4, 4)` give as its second row?
#
#    <details><summary>Answer</summary>
#
#    2, 3, 6, 7; and 4, 5, 6, 7, a line of the image.
#
#    </details>
# 2. *(on paper, 4 min)* ViT-B has patches of 16 × 16 in color, 768 wide. How many numbers has the
#    matrix of its patches? How many rows has its table of positions for 224 × 224 pixels?
#
#    <details><summary>Answer</summary>
#
#    $768 \cdot 768 = 589{,}824$, since a patch has $3 \cdot 256 = 768$ numbers; and 768 for the
#    bias. $14 \cdot 14 + 1 = 197$ rows.
#
#    </details>
# 3. *(measure, 10 min)* Set `model.how = "one shuffle"` for the trained model, without training
#    again. What does it read now? Predict first.
#
#    <details><summary>Answer</summary>
#
#    Far less: its positions were learned for whole photographs, so the shuffle must not come after
#    the training.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to exercises 1 and 2, checked.
numbers = torch.arange(16).view(1, 1, 4, 4)
print(patchify(numbers, 2)[0, 1].tolist(), numbers.reshape(4, 4)[1].tolist())
with torch.device("meta"):
    rows_in = vit.vit(vit.BASE).embeddings
print(rows_in.patches.project.weight.numel(), rows_in.positions.shape[0])

# %% [markdown]
# ## Summary
#
# A photograph becomes a row of tokens when it is cut into squares, each is multiplied by one
# matrix, and a learned row for its place is added; the rest is the encoder that reads sentences.
# Nothing in it knows neighbors: one wrong order for all photographs changes nothing, and a model
# must learn from examples what lies where, and where to look. Back to the bag of squares: one can
# learn to read hands from it. If each square bears the number of its place, whatever number that
# is, a bag is as good as the photograph; without any numbers it is hardly worse. And the squares
# may be large: in our trainings four of them, or even one, were read far better than 25 or 100.
#
# ## Further reading
#
# - Dosovitskiy et al. (2021), *An Image is Worth 16x16 Words*: section 3 for the model, figure 7
#   for positions and distances, appendix D.4 for positions left out.
# - Abnar and Zuidema (2020), *Quantifying Attention Flow in Transformers*: rollout, and a flow that
#   is its other half.
# - Touvron et al. (2021), *DeiT*: how a ViT learns from ImageNet alone.
# - Mavi (2020), *A New Dataset and Proposed Convolutional Neural Network Architecture for
#   Classification of American Sign Language Digits*: the photographs.
