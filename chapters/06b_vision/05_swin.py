# %% [markdown] tags=["slide"]
# # Swin Transformer: shifted windows
#
# A hall with 144 guests at nine square tables, sixteen at each. A guest in the corner has news, and
# one speaks only at one's own table. If everybody could speak with everybody, one round would do,
# and 20,736 pairs would have to listen to each other. Can the tables save most of that, and can the
# guest in the opposite corner still hear the news?
#
# <small>Prerequisites: [from pixels to tokens](01_patches.ipynb),
# [sparse by position](../05_efficient/02_sparse_by_position.ipynb) · 18 min · runs on a laptop;
# results of the long runs are included · Fleuret, part 4; Liu et al. 2021</small>

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
from deepdive_book.ch06b.figures.shifted_windows import shifted_windows

shifted_windows(12, 4, shift=0, layers=6, layer=1)

# %% [markdown]
# *An image of 12 x 12 patches in windows of 4 x 4. A patch is full where it has heard the news; its
# number says after which layer. Press another patch, and the news begins there.*
#
# 1. Leave the shift at 0 and go through the layers. Who never hears?
# 2. Set the shift to 2: in every second layer the windows move by two patches. After how many
#    layers has everyone heard?
# 3. Let the news begin in the middle. Is that faster?

# %% The hall tags=["fold"]
from functools import cache

import torch
import torch.nn.functional as F
from torch import nn

from deepdive.models.vision.swin import swin
from deepdive.training import fit
from deepdive.training.optim import adam, linear
from deepdive_book.kit.experiments import results_path, share, sweep
from deepdive_book.kit.profile import pick, profile

GUESTS, TABLE = 12, 4  # patches a side, in all and in a window


def hall(n, seed):
    """n images (n, 1, 24, 24) of noise; in the corner patch one of four pixels is lit: which?"""
    draw = torch.Generator().manual_seed(seed)
    images = 0.1 * torch.randn(n, 1, 2 * GUESTS, 2 * GUESTS, generator=draw)
    news = torch.randint(0, 4, (n,), generator=draw)
    images[torch.arange(n), 0, news // 2, news % 2] += 1
    return images, news


# %% Train one tags=["fold"]
def build(layers, shift):
    """A Swin of one stage: every patch keeps its state, from which it names the lit pixel."""
    encoder = swin(image_size=24, patch_size=2, channels=1, d_model=32, depths=(layers,),
                   heads=(2,), window=TABLE, ratio=2.0, shift=lambda window: shift)  # fmt: skip
    return nn.ModuleDict({"encoder": encoder, "out": nn.Linear(32, 4)})


def answers(model, images):
    """Scores of the four answers, of each patch, (B, 144, 4)."""
    return model["out"](model["encoder"](images))


@cache
def train(layers, shift, steps, seed):
    torch.manual_seed(seed)
    model, (images, news) = build(layers, shift), hall(32 * min(steps, 150), seed)
    batches = list(zip(images.split(32), news.split(32), strict=True))

    def loss(model, batch):
        said = answers(model, batch[0])
        return F.cross_entropy(said.flatten(0, 1), batch[1].repeat_interleave(said.shape[1]))

    fit(model, batches, loss, steps=steps, seed=seed, optimizer=adam(model, lr=3e-3),
        schedule=linear(3e-3, max(1, steps // 10), steps), progress=False)  # fmt: skip
    return model


# %% Measure tags=["fold"]
def measure(layers, shift, steps, seed):
    """For each patch the share of 1,000 new images whose news it names, in per cent."""
    model, (images, news) = train(layers, shift, steps, seed), hall(1000, 999)
    with torch.no_grad():
        right = answers(model, images).argmax(-1) == news[:, None]
    return {"right": [round(100 * one) for one in right.float().mean(0).tolist()]}


STEPS = pick(ci=20, laptop=60, gpu=300, experiment=round(300 * share()))
SEEDS = pick(ci=[1], laptop=[1], gpu=[1, 2, 3], experiment=[1, 2, 3])
RUNS = [(5, 0), (5, 2), (5, 1), (3, 2), (1, 2)]  # layers and shift
points = [{"layers": layers, "shift": shift, "steps": STEPS, "seed": seed}
          for seed in SEEDS for layers, shift in RUNS]  # fmt: skip
file = results_path("06b_vision", "swin_news")
if profile() == "experiment":
    rows = sweep(measure, points, file, minutes=25)

# %% How dear is it? tags=["fold"]
import time

from deepdive.models.vision.vit import vit
from deepdive_book.kit.flops import count_flops

SIZES = {"patch_size": 2, "channels": 1, "d_model": 64}


def one_of(name, side):
    if name == "ViT":
        return vit(image_size=2 * side, n_heads=4, n_layers=2, d_ff=256, n_special=0, **SIZES)
    return swin(image_size=2 * side, depths=(2,), heads=(4,), window=8, **SIZES)


def kept_bytes(step):
    """What a step keeps from its way there for its way back."""
    waiting = {}

    def keep(x):
        waiting[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        step().backward()
    return sum(waiting.values())


# %% Measure a size tags=["fold"]
from deepdive.core.hooks import record


def cost(name, side, rounds):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, image = one_of(name, side), torch.randn(1, 1, 2 * side, 2 * side)
    step = lambda: model(image).square().mean()  # noqa: E731
    found = {"flops": count_flops(lambda: step().backward()), "bytes": kept_bytes(step)}
    if side <= 48:
        with record(model, "*.weights"):  # somebody looks: no fused call
            found["bytes seen"] = kept_bytes(step)
    spent = []
    for _ in range(rounds):
        start = time.process_time()
        step().backward()
        spent.append(round(time.process_time() - start, 4))
    return found | {"spent": spent}


SIDES = pick(ci=[8, 16, 24], laptop=[16, 24, 32, 48], gpu=[16, 24, 32, 48, 64, 96],
             experiment=[16, 24, 32, 48, 64])  # fmt: skip
ROUNDS = pick(ci=2, laptop=3, gpu=5, experiment=5)
sizes = [{"name": n, "side": s, "rounds": ROUNDS} for s in SIDES for n in ("ViT", "Swin")]

# %% Measure all sizes tags=["fold"]
if profile() == "experiment":
    costs = sweep(cost, sizes, results_path("06b_vision", "swin_cost"), minutes=12)

# %% [markdown]
# With the windows at rest the news stays in one ninth of the hall. Once they move, the corner's
# news has gone everywhere after five layers, and from the middle after fewer. A layer compares
# 2,304 pairs at most, not 20,736. This is Swin (*shifted windows*): ViT's block, as it was,
# inside windows that stand elsewhere in every second layer.
#
# ## By hand: sixteen guests
#
# Take 4 x 4 patches in windows of 2 x 2. All with all are $16 \cdot 16 = 256$ pairs; four windows
# are $4 \cdot 4 \cdot 4 = 64$. An image twice as wide and twice as high has 64 patches:
# $64 \cdot 64 = 4{,}096$ pairs, sixteen times as many; in windows $16 \cdot 16 = 256$, four times
# as many. The pairs in windows grow like the patches, all pairs like their square.
#
# Now move the windows by one. They cut each side into $1 + 2 + 1$: nine windows of unequal size,
# which make no batch. So it is the **grid that rolls**: the first line and the first column go to
# the end.
#
# | at rest | | | | | rolled by one | | | |
# |---|---|---|---|---|---|---|---|---|
# | 1 | 2 | 3 | 4 | | **6** | **7** | 8 | 5 |
# | 5 | 6 | 7 | 8 | | **10** | **11** | 12 | 9 |
# | 9 | 10 | 11 | 12 | | 14 | 15 | 16 | 13 |
# | 13 | 14 | 15 | 16 | | 2 | 3 | 4 | 1 |
#
# Four windows again. The first, in bold, is as it should be. The second has 8 and 12 from the right
# edge beside 5 and 9 from the left: neighbors by the roll alone. A mask keeps them apart. In the
# last window nobody meets anybody. What is left are $16 + 8 + 8 + 4 = 36 = (1 + 4 + 1)^2$ pairs,
# those of the nine windows.

# %% The same from the library tags=["nbval-check-output", "fold"]
from deepdive.layers.windows import Windows, folded, sides

grid = torch.arange(1, 17).view(1, 4, 4, 1)
inside = folded(grid.roll((-1, -1), (1, 2)), 2)[..., 0]  # (windows, 4)
side = folded(sides(4, 4, 1, grid.device), 2)[..., 0]
meets = side[:, :, None] == side[:, None, :]
print("windows:", inside.tolist(), "| from which side:", side.tolist())
print("pairs in each:", meets.sum((1, 2)).tolist(), "sum", int(meets.sum()))
assert inside[0].tolist() == [6, 7, 10, 11]
assert meets.sum((1, 2)).tolist() == [16, 8, 8, 4]

# %% [markdown] tags=["slide"]
# ## The block, folded
#
# With $\text{fold}$ for *each window becomes a sequence of the batch*, a layer of Swin is
#
# $$x \leftarrow \text{roll}^{-1}\,\text{unfold}\;\text{block}\big(\text{fold}\;\text{roll}(x),\;
# \text{mask}\big)$$
#
# and `block` is the one of chapter 2. It never learns that windows exist.


# %% The same in seven lines tags=["nbval-check-output"]
from deepdive.core.masks import Segments
from deepdive.layers.windows import unfolded

torch.manual_seed(0)
model = build(2, shift=2)["encoder"]
layer, x = model.stages[0][1], torch.randn(3, GUESTS, GUESTS, 32)  # the second layer, and a grid


def windowed(x, block, window, shift, masked=True):
    """One layer of Swin: x (B, h, w, d)."""
    height, width = x.shape[1:3]
    rows = folded(x.roll((-shift, -shift), (1, 2)), window)  # (B * windows, window^2, d)
    side = folded(sides(height, width, shift, x.device), window)[..., 0]
    mask = Segments(side.repeat(len(x), 1)) if masked else None
    return unfolded(block(rows, mask=mask), window, height, width).roll((shift, shift), (1, 2))


with torch.no_grad():
    assert torch.allclose(windowed(x, layer.block, TABLE, 2), layer(x), atol=1e-5)
    whole = Windows(layer.block, GUESTS)  # a window as large as the image
    layer.block.attn.position = None
    assert torch.allclose(whole(x).flatten(1, 2), layer.block(x.flatten(1, 2)), atol=1e-5)
print("equal to the library's; one window over all, without a bias: ViT's block")

# %% [markdown]
# ### Where am I in my window?
#
# Windows have no table of positions. In each head a pair's score gets a trained number for its
# **offset** in lines and columns. In a window of 2 x 2 an offset is −1, 0 or 1 each way: nine
# numbers for sixteen pairs. In the published windows of 7 x 7 there are $13 \cdot 13 = 169$ numbers
# for 2,401 pairs. The numbers belong to offsets inside a window, so they serve any size of image.
#
# ### Common mistake: roll, and forget the mask
#
# Everything runs, and the loss falls. But the guest in the corner now sits with people from three
# other corners of the hall. Change one patch, and see whose state moves:


# %% Who moves the corner? tags=["nbval-check-output", "fold"]
def movers(masked):
    """How many patches change the corner's state in a shifted layer."""
    with torch.no_grad():
        before, found = windowed(x[:1], layer.block, TABLE, 2, masked)[0, 0, 0], 0
        for place in range(GUESTS**2):
            other = x[:1].clone()
            other[0, place // GUESTS, place % GUESTS] *= -1
            after = windowed(other, layer.block, TABLE, 2, masked)[0, 0, 0]
            found += bool((after - before).abs().max() > 1e-7)
    return found


print("with the mask:", movers(True), "patches; without:", movers(False))
assert (movers(True), movers(False)) == (4, 16)

# %% [markdown]
# **Symptom:** the sky on the left edge takes on what stands at the right. **Test that finds it:**
# change a patch at one edge; no state at the other may move in a single layer. **Fix:** the mask.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Images of noise: in the corner patch one of four pixels is lit. A Swin of five layers is "
    "trained until each of the 144 patches can say which one, with windows that move by 2. Now "
    "they move by 1: one line and one column of patches, not two, sit with the next table. How "
    "many of 100 answers of the opposite corner are right, after a training like that one?",
    ["about 25, as by guessing", "about 60", "about 100, as with a shift of 2"],
    answer=2,
    explain="Whom the news can reach in five layers is the same for every shift from 1 to 3: every "
    "two layers it gains one window. And one patch is enough to carry it across. So it went in "
    "two of three trainings; the third had learned neither by then.",
    key="06b_vision/shift-by-one",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Load the runs tags=["fold"]
kept_runs = file is not None and file.is_file()
long = [{"layers": layers, "shift": shift, "steps": 300, "seed": seed}
        for seed in (1, 2, 3) for layers, shift in RUNS]  # fmt: skip
longer = {"layers": 5, "shift": 2, "steps": 900, "seed": 3}
rows = sweep(measure, [*long, longer] if kept_runs else points, file if kept_runs else None)


def right(layers, shift, steps=rows[0]["steps"]):
    """The runs' shares of right answers, (seeds, 12, 12)."""
    asked = layers, shift, steps
    some = [row["right"] for row in rows if (row["layers"], row["shift"], row["steps"]) == asked]
    return torch.tensor(some).view(-1, GUESTS, GUESTS)


here = measure(1, 2, STEPS, 1)["right"]
print("the kept runs," if kept_runs else "live and short,", f"{rows[0]['steps']} steps; one layer",
      f"after {STEPS} steps here: {here[0]} % in the corner, {here[-1]} % opposite")  # fmt: skip

# %% The opposite corner tags=["surprise", "fold"]
from deepdive_book.ch06b.figures.shifted_windows import receptive_field
from deepdive_book.kit.tables import table


def each(shares):
    """A number for each seed."""
    return ", ".join(f"{share:.0f}" for share in shares)


lines = []
for layers, shift, *steps in [*RUNS, *([(5, 2, 900)] if kept_runs else [])]:
    could = torch.tensor(receptive_field(GUESTS, TABLE, shift, layers)).view(GUESTS, GUESTS) >= 0
    found = right(layers, shift, *steps).float()
    others = "none" if could.all() else each(found[:, ~could].mean(1))
    name = f"{shift}, seed 3 for 900 steps" if steps else shift
    lines.append([name, layers, int(could.sum()), each(found[:, could].mean(1)), others,
                  each(found[:, -1, -1])])  # fmt: skip
table(lines, ["shift", "layers", "can have heard", "these", "all others", "opposite corner"],
      caption="right answers in %, for each seed; guessing gives 25")  # fmt: skip

# %% [markdown]
# In every network that has learned the task, the news is known as far as it can have come, and all
# others guess. The third seed's networks of five layers had not learned it after 300 steps, without
# a shift either; with 900 steps the one that we trained on is right everywhere. A shift of 1 does
# what a shift of 2 does.

# %% What each patch knows tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure, order = Figure(figsize=(8.6, 2.4)), [RUNS[i] for i in (0, 4, 3, 1, 2)]
for axes, (layers, shift) in zip(figure.subplots(1, 5), order, strict=True):
    axes.imshow(right(layers, shift).float()[0], vmin=25, vmax=100, cmap="cividis")
    axes.set_title(f"shift {shift}, layers {layers}", fontsize="small")
    axes.set(xticks=[], yticks=[])
with_alt(figure, "Five maps of 12 by 12 patches. Without a shift the corner's window alone "
         "answers; with a shift a square grows with the layers to the whole.")  # fmt: skip

# %% [markdown]
# *Right answers of each patch, from guessing (blue) to all (yellow), first seed.*

# %% [markdown]
# ## What it costs, measured
#
# ViT and Swin, two layers each, 64 wide, windows of 8 x 8, patches of 2 x 2 pixels; neither merges
# patches here, so they differ in who meets whom, and in Swin's trained bias. One forward and
# backward pass of one image on one thread:

# %% Load the costs tags=["fold"]
cost_file = results_path("06b_vision", "swin_cost")
there = cost_file is not None and cost_file.is_file()
long = [{"name": name, "side": side, "rounds": 5} for side in (16, 24, 32, 48, 64)
        for name in ("ViT", "Swin")]  # fmt: skip
costs = sweep(cost, long if there else sizes, cost_file if there else None)
here = {name: min(cost(name, 16, 2)["spent"]) for name in ("ViT", "Swin")}
print("below: kept timings;" if there else "below: live and small;", "256 patches here and now:",
      *(f"{name} {1e3 * spent:.1f} ms" for name, spent in here.items()))  # fmt: skip

# %% Slopes tags=["fold"]
import numpy as np


def slope(sides, values):
    """The exponent p of cost = c * patches^p, of the last three sizes."""
    return float(np.polyfit(2 * np.log(sides[-3:]), np.log(values[-3:]), 1)[0])


def slopes_of(name):
    """Exponents: of operations, of seconds with an interval of the timings, of bytes kept."""
    mine, draw = [row for row in costs if row["name"] == name], np.random.default_rng(0)
    sides, spent = [row["side"] for row in mine], [row["spent"] for row in mine]
    drawn = [slope(sides, [np.median(draw.choice(one, len(one))) for one in spent])
             for _ in range(500)]  # fmt: skip
    low, high = np.quantile(drawn, (0.025, 0.975))
    middle = slope(sides, [np.median(one) for one in spent])
    flops, kept_ = (slope(sides, [row[what] for row in mine]) for what in ("flops", "bytes"))
    return [name, f"{flops:.2f}", f"{middle:.2f} ({low:.2f} to {high:.2f})", f"{kept_:.2f}"]


table([slopes_of(name) for name in ("ViT", "Swin")],
      ["", "operations", "CPU seconds", "bytes kept for the way back"],
      caption="exponent p of cost = c · patches^p over the three largest sizes; for seconds with "
      "95 % of resampled timings")  # fmt: skip

# %% The cost over the number of patches tags=["slide", "fold"]
figure = Figure(figsize=(7.6, 3.2), layout="constrained")
panels = (("operations", "flops", 1e9, "10⁹"), ("CPU seconds", "spent", 1, "s"),
          ("kept for the way back", "bytes", 1e6, "MB"),
          ("kept for the way back", "bytes seen", 1e6, "MB"))  # fmt: skip
axes = [*figure.subplots(1, 3)]
for axis, (title, what, unit, label) in zip([*axes, axes[-1]], panels, strict=True):
    for name, mark, color in (("ViT", "o", "#D55E00"), ("Swin", "s", "#0072B2")):
        mine = [row for row in costs if row["name"] == name and what in row]
        more, line = (", weights looked at", ":") if what == "bytes seen" else ("", "-")
        axis.loglog([row["side"] ** 2 for row in mine],
                    [np.median(row[what]) / unit for row in mine], mark + line, color=color,
                    label=name + more)  # fmt: skip
    axis.set(title=title, xlabel="patches", ylabel=label)
    axis.set_xticks([256, 1024, 4096], ["256", "1,024", "4,096"])
    axis.minorticks_off()
figure.legend(*axes[-1].get_legend_handles_labels(), loc="outside lower center", ncols=4,
              fontsize="small")  # fmt: skip
with_alt(figure, "Three panels over the number of patches: operations, seconds, bytes kept. Swin's "
         "lines rise in proportion; ViT's operations and seconds rise faster.")  # fmt: skip

# %% The same in numbers tags=["fold"]
pairs = [[next(r for r in costs if (r["name"], r["side"]) == (n, s)) for n in ("ViT", "Swin")]
         for s in sorted({row["side"] for row in costs})]  # fmt: skip
table([[a["side"] ** 2, a["flops"] / 1e9, b["flops"] / 1e9, np.median(a["spent"]),
        np.median(b["spent"]), a["bytes"] / 1e6, b["bytes"] / 1e6] for a, b in pairs],
      ["patches", "10⁹ operations: ViT", "Swin", "seconds: ViT", "Swin ", "MB kept: ViT", "Swin  "],
      caption="forward and backward of one image, one thread; medians of the timings")  # fmt: skip

# %% [markdown]
# ViT's operations grow almost like the square of the patches, Swin's like the patches. At 4,096
# patches Swin makes a twelfth of the operations, in about a tenth of the time; at 256 both take
# equally long. (Below 1, the exponent of Swin's seconds says that a part of a small step is fixed.)
#
# What Swin does **not** save here is memory. ViT's attention is one call of PyTorch that makes
# scores, weights and their sum in one go and keeps no weights; with a trained bias there is no such
# call on a CPU, so Swin's scores are kept, and it keeps a quarter more than ViT. Only where
# somebody looks at the weights (dotted) does ViT keep a number for each pair.
#
# ## The whole Swin
#
# So that a state can stand for more of the image, Swin's layers stand in four **stages**, and
# between two of them it **merges**: four neighbors are joined side by side, $4d$ numbers,
# normalized and mapped to $2d$. The grid halves, the rows grow twice as wide, and a window of 7 x 7
# covers four times as much. In the fourth stage one window is the image.

# %% Swin-T, counted tags=["fold", "nbval-check-output"]
from deepdive.models.vision.swin import SMALLEST

torch.manual_seed(0)
published = swin(SMALLEST)
with torch.no_grad():
    image = torch.zeros(1, 3, 224, 224)
    grids = published.grids(image)
    operations = count_flops(lambda: published(image))
lines = [[i + 1, f"{g.shape[1]} x {g.shape[2]}", g.shape[3], SMALLEST.heads[i], SMALLEST.depths[i],
          (g.shape[1] // 7) ** 2] for i, g in enumerate(grids)]  # fmt: skip
print(f"{sum(p.numel() for p in published.parameters()):,} numbers,",
      f"{operations / 2e9:.1f} billion multiplications")  # fmt: skip
table(lines, ["stage", "patches", "width", "heads", "layers", "windows of 7 x 7"])

# %% [markdown]
# With its head for 1,000 classes that makes 28.3 million numbers (the paper prints 29, its
# repository 28), and the paper counts 4.5 billion multiplications. What do the shifts bring there?

# %% What the paper measured tags=["fold"]
table([["windows at rest", 80.2, 47.7, 43.3], ["windows that shift", 81.3, 50.5, 46.1],
       ["that shift, without the bias", 80.1, 49.2, 43.8]],
      ["Swin-T", "ImageNet, % right", "COCO, box AP", "ADE20K, mIoU"],
      caption="Liu et al. 2021, table 4; seeds and intervals are not given there")  # fmt: skip

# %% [markdown]
# (ImageNet asks for one name an image; COCO for boxes around things, see [DETR](06_detr.ipynb);
# ADE20K for the class of each pixel, see [SegFormer](07_segformer.ipynb). Points of the three are
# not of one size.) Every row has merging, so windows at rest can talk too, after the patches were
# merged. In our hall nothing merges, and without a shift nothing arrives.
#
# ## In practice
#
# - Choose sides that fill windows in each stage: $4 \cdot 2^3 \cdot 7 = 224$ pixels and its
#   multiples for the published models. Other sizes are padded with zeros at the bottom and on the
#   right, as in the released code, and these zeros are keys like all others.
# - Shifted windows are not the only way. Later work reached similar results without shifts, with
#   convolutions (ConvNeXt, 2022) or with a plain ViT and a few global layers (ViTDet, 2022).
# - A larger window in fine-tuning needs a larger table of offsets: resize it as an image.
# - Windows pay where patches are many: at 256 both take equally long here. ViT cuts 224 pixels into
#   196 patches of 16 x 16; Swin begins with patches of 4 x 4, of which there are 3,136.
# - A bias that is learned has no fused kernel on a CPU; its scores are kept. Our library adds bias
#   and mask of one image once for all (`ShiftedAttention`).
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why does the grid roll, when it is the windows that should move?
#
#    <details><summary>Answer</summary>
#
#    Rolled, all windows are equally large and make one batch; moved windows are cut at the edges.
#
#    </details>
# 2. What would go wrong without the mask?
#
#    <details><summary>Answer</summary>
#
#    Patches from opposite edges, which the roll puts side by side, would attend to each other.
#
#    </details>
# 3. A grid of 24 x 24, windows of 4 x 4: after how many layers has the opposite corner heard?
#
#    <details><summary>Answer</summary>
#
#    Every two layers the news gains one window. Six windows a side: 1 + 2 · 5 = 11 layers.
#
#    </details>
# 4. When is Swin's layer exactly ViT's block?
#
#    <details><summary>Answer</summary>
#
#    With a window as large as the grid, so that nothing shifts, and without the bias.
#
#    </details>
# 5. Why does Swin read images of other sizes without new positions?
#
#    <details><summary>Answer</summary>
#
#    Its numbers belong to offsets inside a window, and these are the same in every image.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* A grid of 6 x 6, windows of 3 x 3: how many pairs does a layer compare at
#    rest, and how many may meet with a shift of 1?
#
#    <details><summary>Answer</summary>
#
#    At rest four windows of nine: $4 \cdot 81 = 324$. Moved, a side is cut into 1 + 3 + 2:
#    $(1 + 9 + 4)^2 = 196$.
#
#    </details>
# 2. *(on paper, 4 min)* How many numbers does the bias have in all layers of Swin-T?
#
#    <details><summary>Answer</summary>
#
#    169 for each head: $169 \cdot (2 \cdot 3 + 2 \cdot 6 + 6 \cdot 12 + 2 \cdot 24) = 23{,}322$.
#
#    </details>
# 3. *(measure, 10 min)* Let the news stand in the middle: light a pixel of patch (6, 6) in `hall`.
#    How many layers does it take now? Say a number, then try `measure`.
#
#    <details><summary>Answer</summary>
#
#    Three: lines 4 to 7, then 2 to 9, then all. Train with two layers and with three, and see.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to exercises 1 and 2, checked; and how soon the middle is heard.
from deepdive_book.ch06b.figures.shifted_windows import pairs as may_meet

print(may_meet(6, 3, 0), may_meet(6, 3, 1))
tables = [p.numel() for name, p in published.named_parameters() if ".position." in name]
print(f"{sum(tables):,}", "| from the middle:", max(receptive_field(12, 4, 2, 6, 78)), "layers")

# %% [markdown]
# ## Summary
#
# Swin is ViT's block inside windows: pairs grow like the patches, not like their square. In every
# second layer the grid is rolled, so that windows stand elsewhere, and a mask keeps apart what only
# the roll has brought together; a number for each offset says who sits where. Back in the hall:
# with the tables at rest the news never leaves the first one; with tables that move, a
# network of five layers can carry it to the opposite corner, at a ninth of the pairs or fewer in
# each layer, and learned to in two of three trainings of 300 steps.
#
# ## Further reading
#
# - Liu, Lin, Cao, Hu, Wei, Zhang, Lin, Guo (2021), *Swin Transformer*: section 3.2 for the roll and
#   its mask, table 4 for what they bring.
# - Liu et al. (2022), *Swin Transformer V2*: the bias as a small network of the offset, for windows
#   larger than those of the training.
# - Fleuret, *The Little Book of Deep Learning*, for where such networks stand among others.
