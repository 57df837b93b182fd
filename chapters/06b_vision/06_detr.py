# %% [markdown] tags=["slide"]
# # DETR: object detection as set prediction
#
# Six children look at a tray with up to three biscuits. At a sign each calls out one biscuit and
# where it lies, or *nothing*. Nobody has agreed who takes which, and you know what is there. **By
# which biscuit do you correct which child?** Any order will do for the tray. Does it for those who
# learn?
#
# <small>Prerequisites: [from pixels to tokens](01_patches.ipynb),
# [the decoder](../02_transformer/12_decoder.ipynb) · 20 min · runs on a laptop; results of the long
# runs are included · Fleuret (DETR), Straka (DETR)</small>

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

# %% Trays of biscuits, generated tags=["fold"]
import torch

from deepdive_book.ch06b.runs.toy_detr import learn_boxes, memories, on_memories, pixels, truths
from deepdive_book.ch06b.toys.trays import trays
from deepdive_book.data.scenes import generated_scenes
from deepdive_book.kit.profile import pick, profile

trained = trays()  # a small DETR; below, all runs read what its encoder says
baked = generated_scenes(pick(ci=64, laptop=300, gpu=2000, experiment=2000), most=3, seed=1)
fresh = generated_scenes(pick(ci=40, laptop=500, gpu=500), most=3, seed=2)
seen, seen_fresh = (memories(trained, pixels(scenes)) for scenes in (baked, fresh))

# %% Let the children call tags=["fold"]
from deepdive_book.ch06b.figures.bipartite_matching import bipartite_matching as matching

TRAY = 35
with torch.no_grad():
    logits, boxes = trained(pixels(fresh))
sure = 1 - logits.softmax(-1)[..., -1]  # that there is something
truth = truths(fresh)
matching(fresh.pixels[TRAY], fresh.names, truth[TRAY], logits[TRAY], boxes[TRAY],
         boxes[:200], sure[:200])  # fmt: skip

# %% [markdown]
# *A generated tray. White: the biscuits, with letters. In colour: what six queries of a small,
# trained DETR call, which are our children; the table says what it would cost to match each with
# each biscuit. Yellow cells are the matching; a dashed box is
# matched with nothing.*
#
# 1. Two queries call the upper cross, C. Drag the box of the one that has it away, slowly. When
#    does the other take over? Does anybody else lose a biscuit?
# 2. Choose *in order*: A to query 1, B to query 2, C to query 3, whatever they say. What does the
#    sum do?
# 3. Press one query after the other, and look at the small square. Has each its own place?

# %% [markdown] tags=["slide"]
# ## By hand: two biscuits, three children
#
# Let a cost say how ill a call fits a biscuit. Ann is near A, and so is Ben; Cem is near nothing:
#
# | | A | B |
# |---|---|---|
# | Ann | 1 | 2 |
# | Ben | 2 | 9 |
# | Cem | 6 | 5 |
#
# Each biscuit needs one child, and no child takes two. There are $3 \cdot 2 = 6$ ways:
#
# | A | B | together |
# |---|---|---|
# | Ann | Ben | $1 + 9 = 10$: in order |
# | Ann | Cem | $1 + 5 = 6$: each time the cheapest that is left |
# | **Ben** | **Ann** | $2 + 2 = \mathbf 4$ |
# | Ben | Cem | $2 + 5 = 7$ |
# | Cem | Ann | $6 + 2 = 8$ |
# | Cem | Ben | $6 + 9 = 15$ |
#
# The cheapest pair of all, Ann with A, is not in the best matching: Ann is also the only one who
# can take B cheaply. Cem is left over, and learns to say *nothing*.

# %% The same by the library tags=["nbval-check-output"]
from deepdive.training.objectives.set_prediction import by_order, hungarian

cost = torch.tensor([[1.0, 2], [2, 9], [6, 5]])
children, biscuits = hungarian(cost)
names = ["Ann", "Ben", "Cem"]
pairs = [(names[c], "AB"[b]) for c, b in zip(children, biscuits, strict=True)]
print(pairs, "cost", cost[children, biscuits].sum().item(), "| in order:",
      cost[by_order(cost)].sum().item())  # fmt: skip
assert cost[children, biscuits].sum() == 4

# %% [markdown]
# Six ways can be tried out. With a hundred queries and ten things nobody can try them all. The
# **Hungarian algorithm** (Kuhn 1955) finds the best assignment without enumerating all of them.
# Later variants take about $n^3$ steps; DETR and this library use scipy's solver, which is one of
# these.
#
# ## What a pair costs
#
# Query $i$ gives the kind $c_j$ the probability $p_i(c_j)$ and calls a box $\hat b_i$ (middle,
# width, height, in parts of the side):
#
# $$\text{cost}_{ij} =
# -p_i(c_j) + 5\,\lVert \hat b_i - b_j \rVert_1 - 2\,\text{GIoU}(\hat b_i, b_j)$$
#
# $\lVert\cdot\rVert_1$ adds up how far the four numbers are off. IoU is the area that two boxes
# share, divided by the area that they cover together. It is 0 for all boxes that do not touch, near
# or far, so it cannot say *that way*. The **generalized** IoU (GIoU) subtracts the fraction of the
# smallest enclosing axis-aligned box that neither covers. On a tray of $10 \times 10$ squares, with
# a biscuit of $4 \times 4$:
#
# | call | shared | together | enclosing box | IoU | GIoU |
# |---|---|---|---|---|---|
# | $4 \times 4$, two squares too far right | 8 | 24 | 24 | $\frac13$ | $\frac13$ |
# | $2 \times 4$, two squares beyond its edge | 0 | 24 | 32 | 0 | $-\frac{8}{32} = -\frac14$ |
#
# In the first row the middle is off by 0.2. A child who calls that and is half sure of the kind
# costs $-0.5 + 5 \cdot 0.2 - 2 \cdot \frac13 = -0.17$.

# %% Check the costs tags=["nbval-check-output"]
from deepdive.training.objectives.set_prediction import Truth, costs

biscuit = Truth(torch.tensor([0]), torch.tensor([[0.4, 0.4, 0.4, 0.4]]))
half_sure = torch.zeros(2, 2)  # logits of one kind and "nothing"
calls = torch.tensor([[0.6, 0.4, 0.4, 0.4], [0.9, 0.4, 0.2, 0.4]])
paid = costs(half_sure, calls, biscuit)[:, 0]
print([round(x, 2) for x in paid.tolist()])
assert torch.allclose(paid[0], torch.tensor(-0.5 + 1 - 2 / 3))
assert torch.allclose(paid[1], torch.tensor(-0.5 + 5 * 0.7 + 2 / 4))

# %% [markdown]
# **The loss** then is ordinary. A matched query learns the kind (cross-entropy) and the box
# ($5 L_1 + 2(1 - \text{GIoU})$) of its thing; each other query learns *nothing*, which is a kind of
# its own. Whoever changes the order of the queries or of the things changes nothing.
#
# ## Who calls: an encoder and a decoder

# %% Boxes and arrows of the model tags=["fold"]
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.plotting import show


def part(x, y, words, below="", role="score", width=128):
    """A box with its name, and what comes out of it."""
    middle = x + width / 2
    return (f'<rect x="{x}" y="{y}" width="{width}" height="44" rx="6" fill="{ROLES[role]}" '
            f'fill-opacity=".2" stroke="{ROLES[role]}"/>' + text(middle, y + 22, words)
            + text(middle, y + 60, below, 13))  # fmt: skip


def arrow(x, y, to):
    return (f'<path d="M{x} {y}H{to}" stroke="currentColor" fill="none"/>'
            f'<path d="M{to} {y}l-7 -4v8z" fill="currentColor"/>')  # fmt: skip


drawn = [part(0, 60, "image", "3, 32, 32", width=76), arrow(78, 82, 96),
         part(98, 60, "ResNet", "48, 8, 8", "value", 100), arrow(200, 82, 218),
         part(220, 60, "encoder", "64 places, 48", "key"), arrow(350, 82, 368),
         part(370, 60, "decoder", "6 queries, 48", "query"), arrow(500, 82, 518),
         part(520, 20, "kind, nothing", "6, 5", "output"), part(520, 108, "box", "6, 4", "output"),
         text(284, 30, "+ sines of line and column", 13, "key"),
         text(434, 150, "+ learned rows", 13, "query")]  # fmt: skip

# %% The model tags=["slide", "fold"]
show(svg(650, 180, drawn), "An image becomes a map of 8 x 8 places by a ResNet; an encoder reads "
     "these 64 places; a decoder of 6 queries reads them; two maps make kinds and boxes of it.")

# %% [markdown]
# *Sizes of our small model, which has two layers in the encoder and two in the decoder. DETR with
# ResNet-50 is the same, larger.*
#
# Three things differ from the [Transformer](../02_transformer/12_decoder.ipynb). A convolutional
# network hands over its map, place by place. The decoder reads no words: it starts with **zeros**,
# and a **learned row for each query** tells the six apart; they are decoded at once, with no mask.
# And positions are added **in each layer anew, to what attention makes its queries and keys of, but
# not to its values**: they say where to look, and what is found there stays as it is.

# %% Three lines of it tags=["nbval-check-output"]
from deepdive.layers.position_aware_attention import QKPositionAttention

attn, x, at = QKPositionAttention(8, 2), torch.randn(1, 5, 8), torch.randn(5, 8)
q, k = attn.queries(x + at), attn.keys_and_values(x + at)[0]
v = attn.keys_and_values(x)[1]  # without positions
mine = attn.output((q @ k.mT / 4**0.5).softmax(-1) @ v)
print("the library's:", torch.allclose(mine, attn(x, positions=at), atol=1e-6))

# %% [markdown]
# In the first layer of the decoder all rows are zeros, so all values are one and the same, and its
# self-attention can do nothing: the matrices of its queries and keys get no gradient (a test of
# this library found that). Our six hear of each other from the second layer on.
#
# ## The experiment: does the order matter?
#
# A decoder is trained anew, with its queries and heads, on two thousand trays. It reads what the
# encoder of the picture above says, which is frozen, so that a run takes seconds. (That encoder was
# trained by least cost; further down each way trains its own.) Then it calls on five hundred new
# trays, and is judged by **average precision**, AP, which is counted by hand below: it would be
# 100% if each biscuit were called at its place, by its kind, and nothing else were called. Each
# way has three seeds.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Three ways to match the same model in training, as many steps each: by least cost; the "
    "leftmost thing with query 1, the next with query 2, ...; the things as the list has them "
    "(from back to front). How do their average precisions compare?",
    ["all three about the same", "least cost far ahead, the two orders about the same",
     "least cost and left to right close together, as listed far behind",
     "left to right far ahead of the two others"],
    answer=2,
    explain="Who is leftmost can be seen, so each query can learn its part. What was put down "
    "first can hardly be seen, so a query is taught now this thing, now that.",
    key="06b_vision/detr-order",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Train one and ask it tags=["fold"]
import numpy as np

from deepdive.evaluate.detection import ap_interval, average_precision, mark_all
from deepdive_book.kit.experiments import results_path, share, sweep

ARMS = {"least cost": (hungarian, False), "left to right": (by_order, True),
        "as listed": (by_order, False)}  # fmt: skip


def measure(arm, nothing, steps, seed):
    matching, by_place = ARMS[arm]
    torch.manual_seed(seed)
    model = on_memories()  # a new decoder, with its queries and heads
    learn_boxes(model, seen, truths(baked, by_place), steps, seed, matching, nothing)
    with torch.no_grad():
        logits, boxes = model.eval()(seen_fresh)
    marks = mark_all(logits, boxes, truths(fresh))
    ap, sure = average_precision(marks), 1 - logits.softmax(-1)[..., -1]
    dots = torch.cat([boxes[:80, :, :2], sure[:80, :, None]], -1)  # middles, and how sure
    whole = ap_interval(marks, draws=50)
    return {"ap": whole.value, "low": whole.low, "high": whole.high, "ap50": ap[0].mean(),
            "ap75": ap[5].mean(), "sure": sure.mean().item(),
            "dots": (dots * 1000).round().int().transpose(0, 1).tolist()}  # fmt: skip

# %% Three ways, three seeds tags=["fold"]
import json
from statistics import mean

from deepdive_book.kit.tables import table

steps = pick(ci=6, laptop=60, gpu=500, experiment=round(500 * share()))
seeds = pick(ci=[1], laptop=[1], gpu=[1, 2, 3], experiment=[1, 2, 3])
ways = [(arm, 0.1) for arm in ARMS]  # 0.1: how much "nothing" weighs
ways += [(arm, 1.0) for arm in ("least cost", "left to right")]
points = [{"arm": arm, "nothing": nothing, "steps": steps, "seed": seed}
          for seed in seeds for arm, nothing in ways]  # fmt: skip
file = results_path("06b_vision", "detr")
measured = sweep(measure, points, file if profile() == "experiment" else None, minutes=60)
rows, kept_runs = measured, False
if profile() != "ci" and file is not None and file.is_file():
    rows, kept_runs = json.loads(file.read_text())["rows"], True
live = {row["arm"]: f"{100 * row['ap50']:.1f}" for row in measured[:3]}
print(f"live, {steps} steps on {len(baked)} trays, too short to judge by: AP50 in %", live)


def of(arm, nothing=0.1, key="ap"):
    """That of each seed, in per cent."""
    return [100 * row[key] for row in rows if (row["arm"], row["nothing"]) == (arm, nothing)]

# %% Mean, lowest, highest tags=["fold"]
def spread(values):
    return f"{mean(values):.1f} ({min(values):.1f} to {max(values):.1f})"


# %% Three ways to match tags=["surprise", "slide", "fold"]
lines = [[arm, *(spread(of(arm, key=key)) for key in ("ap", "ap50", "ap75"))] for arm in ARMS]
said = "kept runs, " if kept_runs else "live, "
table(lines, ["matched by", "AP", "AP50", "AP75"], caption=f"{said}{rows[0]['steps']} steps: in %, "
      f"on {len(fresh)} new trays, mean of the seeds (lowest to highest)")  # fmt: skip

# %% [markdown]
# - **As listed** reaches a third of the others' AP. What was put down first can hardly be seen, so
#   a query is corrected now by this thing, now by that one, and calls something between them.
# - **Left to right** comes close to least cost: it is behind in each seed, but by so little that
#   other trays could turn it round. Where "nothing" [weighs more](#how-much-is-nothing-worth), it
#   is clearly behind. Who is leftmost can be seen, though a small step of a biscuit can change
#   whose it is.
# - **Least cost** needs no order at all. It praises whoever comes nearest, and so each query can
#   choose its part.

# %% What the seeds carry tags=["fold"]
if kept_runs:
    assert min(of("least cost")) > max(of("left to right"))
    assert min(of("left to right")) > 2 * max(of("as listed"))
    ends = [[round(100 * row[end], 1) for end in ("low", "high")] for row in rows
            if (row["arm"], row["nothing"], row["seed"]) == ("least cost", 0.1, 1)]  # fmt: skip
    print("AP of least cost, seed 1, on other trays (95 %):", *ends)

# %% [markdown]
# The encoder was frozen, and trained by least cost. Does that decide it? Here each way trains an
# encoder of its own too, three times as long; and the difference between least cost and left to
# right gets an interval, over trays that both have called on.

# %% Train encoder and decoder tags=["fold"]
from deepdive_book.ch06b.runs.toy_detr import maps, on_maps

read, read_fresh = (maps(trained.backbone, pixels(scenes)) for scenes in (baked, fresh))


def whole(seed, steps):
    """AP of each way, and how far least cost is ahead of left to right on the same trays."""
    marks = {}
    for arm, (way, by_place) in ARMS.items():
        torch.manual_seed(seed)
        model = on_maps()
        learn_boxes(model, read, truths(baked, by_place), steps, seed, way)
        with torch.no_grad():
            marks[arm] = mark_all(*model.eval()(read_fresh), truths(fresh))

    def ap(arm, some):
        return np.nanmean(average_precision([marks[arm][i] for i in some]))

    draw, n = np.random.default_rng(seed), len(fresh)
    drawn = [draw.integers(n, size=n) for _ in range(100)]
    ahead = [ap("least cost", some) - ap("left to right", some) for some in drawn]
    low, high = np.quantile(ahead, (0.025, 0.975))
    return {"ap": {arm: ap(arm, range(n)) for arm in ARMS}, "low": low, "high": high}


# %% Each way with an encoder of its own tags=["fold"]
file = results_path("06b_vision", "detr_whole")
longer = pick(ci=4, laptop=20, gpu=1500, experiment=round(1500 * share()))
runs = sweep(whole, [{"seed": seed, "steps": longer} for seed in seeds],
             file if profile() == "experiment" else None, minutes=60)  # fmt: skip
if profile() != "ci" and file is not None and file.is_file():
    runs = json.loads(file.read_text())["rows"]
in_percent = [[100 * run["ap"][arm] for run in runs] for arm in ARMS]
table([[arm, *(round(x, 1) for x in found)] for arm, found in zip(ARMS, in_percent, strict=True)]
      + [["least cost less left to right (95 %)", *(f"{a - b:+.1f} [{100 * run['low']:+.1f}, "
         f"{100 * run['high']:+.1f}]" for a, b, run in zip(*in_percent[:2], runs, strict=True))]],
      ["matched by", *(f"AP, seed {run['seed']}" for run in runs)],
      caption=f"encoder and decoder trained, {runs[0]['steps']} steps, in %")  # fmt: skip

# %% [markdown]
# So the small lead was not safe: with encoders of their own, left to right is level with least cost
# in two seeds and behind in one. As listed stays far behind, at about a quarter.
#
# **Where do a query's boxes lie?** Their middles on 80 new trays, with the frozen encoder again:

# %% Where the boxes of each query lie tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(8.6, 4.3))
panels = figure.subplots(len(ARMS), 6, sharex=True, sharey=True, squeeze=False)
for line, arm in zip(panels, ARMS, strict=True):
    run = next(row for row in rows if (row["arm"], row["nothing"], row["seed"]) == (arm, 0.1, 1))
    dots = run["dots"]
    for query, axes in enumerate(line):
        x, y, known = np.array(dots[query]).T / 1000
        axes.scatter(x, y, s=9, c=np.where(known >= 0.5, "#D55E00", "#bbbbbb"))
        axes.set(xlim=(0, 1), ylim=(1, 0), xticks=[], yticks=[], aspect="equal")
        axes.set_title(f"query {query + 1}" if arm == "least cost" else "", fontsize=9)
    line[0].set_ylabel(arm)
with_alt(figure, "Three rows of six small squares, one a query, with the middles of its boxes on "
         "80 new trays; coloured where it says a thing, grey where it says nothing.")  # fmt: skip

# %% [markdown]
# *The middles of a query's boxes on 80 new trays, seed 1: in colour where it calls a thing, grey
# where it says nothing.*
#
# With least cost each query keeps to a part of the tray, though parts overlap, and all six call.
# From left to right query 1 calls on every tray, mostly on the left, queries 2 and 3 further right
# and less often, and queries 4 to 6 never. As listed the first three call all over the tray. In
# numbers: how far do the middles of one query scatter, in parts of how far all of them do?

# %% How narrow is a query's part? tags=["fold"]
def narrow(row):
    """The mean scatter of a query's middles where it calls, as a part of that of all."""
    dots = np.array(row["dots"]) / 1000
    called = [each[each[:, 2] >= 0.5, :2] for each in dots]
    scatter = lambda points: points.var(0).sum() ** 0.5  # noqa: E731
    weigh = [len(points) for points in called]
    return np.average([scatter(p) if len(p) else 0 for p in called], weights=weigh) / scatter(
        np.concatenate(called))  # fmt: skip


if kept_runs:
    found = {arm: [narrow(row) for row in rows if (row["arm"], row["nothing"]) == (arm, 0.1)]
             for arm in ARMS}  # fmt: skip
    lines = [[arm, f"{mean(x):.2f} ({min(x):.2f} to {max(x):.2f})"] for arm, x in found.items()]
    told = table(lines, ["matched by", "scatter of one query, in parts of that of all"],
                 caption="mean of the seeds (lowest to highest)")  # fmt: skip
told if kept_runs else print("too few calls to say")

# %% [markdown]
# A one would mean that a query has no part of its own. Carion et al. show in their figure 7 that
# DETR's queries have their own places and sizes, too.

# %% [markdown] tags=["slide"]
# ## Average precision, by hand
#
# Three biscuits lie on the tray. The calls, the surest first: right, wrong, right; the third
# biscuit is never called. After each call, **precision** is the share of right ones among the
# calls so far, **recall** the share of biscuits found:
#
# | call | precision | recall |
# |---|---|---|
# | right | 1 | $\frac13$ |
# | wrong | $\frac12$ | $\frac13$ |
# | right | $\frac23$ | $\frac23$ |
#
# COCO asks at 101 recalls, 0, 0.01 to 1: what is the best precision that is reached there or
# later? That is 1 for the 34 recalls up to 0.33, $\frac23$ for the 33 up to 0.66, and 0 for the
# last 34. The **average precision** is the mean: $(34 + 22) / 101 = 0.554$.
#
# When is a call right? If its kind is, if it shares enough with a biscuit, and if no surer call has
# taken that one. Enough is IoU 0.50 for **AP50**, 0.75 for **AP75**; **AP** is the mean over ten
# thresholds from 0.50 to 0.95, and over the kinds.

# %% The same by the library tags=["nbval-check-output"]
from deepdive.evaluate.detection import precisions

found = precisions([0.9, 0.8, 0.7], [True, False, True], things=3)
print(len(found), "recalls, mean", round(found.mean(), 3))
assert abs(found.mean() - (34 + 22) / 101) < 1e-12

# %% [markdown] tags=["aside"]
# ## How much is "nothing" worth?
#
# Of six queries at least three have no thing; in DETR on COCO it is more than nine in ten of 100.
# If each counted alike, most of the loss would be about saying nothing. So a query without a thing
# counts a tenth (`nothing=0.1`). Does it matter here?

# %% Let it count in full tags=["aside", "fold"]
keys = ["ap", "ap50", "sure"]
lines = [[arm, f"{nothing:g}", *(spread(of(arm, nothing, key)) for key in keys)]
         for arm in ("least cost", "left to right") for nothing in (0.1, 1.0)]  # fmt: skip
if kept_runs:
    assert min(of("least cost", 1.0)) > max(of("least cost") + of("left to right", 1.0))
table(lines, ["matched by", "nothing counts", "AP", "AP50", "mean sureness of something"],
      caption="in %: mean of the seeds (lowest to highest)")  # fmt: skip

# %% [markdown] tags=["aside"]
# With six queries the weight of a tenth harms least cost; to left to right it makes no difference
# beyond the seeds. When "nothing" counts in full, least cost does better in all seeds, ahead of
# left to right by more than the seeds differ. The experiment above has the tenth, as DETR has; it
# was made for 100 queries.

# %% [markdown]
# ## On photographs
#
# Our trays are generated, and easy. On COCO's photographs of 80 kinds of things Carion et al. print
# (table 1):
#
# | model | weights, millions | AP | AP50 | AP, small | AP, large |
# |---|---|---|---|---|---|
# | Faster R-CNN-FPN+, ResNet-50 | 42 | 42.0 | 62.1 | 26.6 | 53.4 |
# | DETR, ResNet-50 | 41 | 42.0 | 62.4 | 20.5 | 61.1 |
# | DETR-DC5, ResNet-50 | 41 | 43.3 | 63.1 | 22.5 | 61.1 |
#
# So DETR is as good as a detector of many hand-made parts, without those: no candidate boxes, and
# no rule that removes a box found twice. It is better at large things and worse at small ones, of
# which a map 32 times as coarse as the image shows little. It paid in training: 500 rounds through
# the data.

# %% Count its weights tags=["nbval-check-output", "fold"]
from deepdive.models.vision import detr

with torch.device("meta"):
    number = sum(p.numel() for p in detr.detr().parameters())
print(f"DETR with ResNet-50: {number / 1e6:.1f} million")

# %% [markdown]
# ### Common mistake: to count a thing twice
#
# Match each query with the thing that it fits best, instead of one to one. The loss falls nicely,
# and at the end several queries call the same biscuit, since each is praised for it.

# %% Each takes the best tags=["nbval-check-output"]
three = torch.tensor([[-2.0, 3], [-1.8, 3], [-1.7, 2]])  # costs: three queries, two things
print("each for itself:", three.argmin(1).tolist(), "| one to one:", hungarian(three)[1].tolist(),
      "by queries", hungarian(three)[0].tolist())  # fmt: skip

# %% [markdown]
# **Symptom:** many boxes on one thing, none on others, and low precision. **Fix:** one to one. Then
# the queries must agree, and they can: in the decoder they attend to each other.
#
# ## In practice
#
# - Take as many queries as the most crowded image has things, and some more.
# - Start from a trained backbone with frozen norms. When ours began untrained, one run did not
#   get far in 1,000 steps. So we trained the backbone first, to say what each place of its map
#   shows, and froze it.
# - The loss is added after each layer of the decoder, each layer matched for itself.
# - Later models mend the slow start: Deformable DETR looks at few places of several maps.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why does the matching take the probability of a kind, not its logarithm?
#
#    <details><summary>Answer</summary>
#
#    It then lies between 0 and 1, on a scale like the other terms' (GIoU lies between -1 and 1), so
#    no term drowns the others. (The paper says that it worked better.)
#
#    </details>
# 2. What would happen if the decoder's learned rows were all equal?
#
#    <details><summary>Answer</summary>
#
#    All queries would say the same, in each layer: they start with zeros, and nothing else tells
#    them apart.
#
#    </details>
# 3. Why does plain IoU not suffice?
#
#    <details><summary>Answer</summary>
#
#    It is 0 for all boxes that do not touch, so it has no slope that leads one to the other.
#
#    </details>
# 4. Does a gradient flow through the matching?
#
#    <details><summary>Answer</summary>
#
#    No. The solver says who belongs to whom; then the loss of these pairs has gradients as ever.
#
#    </details>
# 5. Why has DETR no rule that removes boxes found twice?
#
#    <details><summary>Answer</summary>
#
#    A thing praises one query only; a second one on the same thing learns *nothing*.
#
#    </details>
#
# ## Exercises
#
# 1. *(pencil, 4 min)* Dan joins the three, with costs 3 (A) and 1 (B). What is the best matching
#    now, and what does it cost?
#
#    <details><summary>Answer</summary>
#
#    A with Ann and B with Dan: $1 + 1 = 2$.
#
#    </details>
# 2. *(pencil, 4 min)* A biscuit of $4 \times 4$ squares, and a call of $2 \times 2$ in its middle.
#    IoU and GIoU?
#
#    <details><summary>Answer</summary>
#
#    Both $4 / 16 = \frac14$: the enclosing box is the biscuit itself, so nothing is subtracted.
#
#    </details>
# 3. *(pencil, 5 min)* In the example of average precision the wrong call is the surest one. What is
#    the average precision?
#
#    <details><summary>Answer</summary>
#
#    Precision 0, $\frac12$, $\frac23$ at recall 0, $\frac13$, $\frac23$: the best up to
#    0.66 is $\frac23$, for 67 recalls: $67 \cdot \frac23 / 101 = 0.442$.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers, checked.
from deepdive.layers.boxes import generalized_iou, iou

four = torch.cat([cost, torch.tensor([[3.0, 1]])])
who, what = hungarian(four)
small, large = (torch.tensor([[0.5, 0.5, side, side]]) for side in (0.2, 0.4))
late = precisions([0.9, 0.8, 0.7], [False, True, True], things=3).mean()
print(who.tolist(), what.tolist(), four[who, what].sum().item(), "|",
      round(iou(small, large).item(), 3), round(generalized_iou(small, large).item(), 3), "|",
      round(float(late), 3))  # fmt: skip

# %% [markdown]
# ## Summary
#
# DETR lets learned queries call things all at once, and matches calls with things one to one, so
# that the sum of costs (kind, distance, overlap) is the least; then each learns what its match
# says, and those left over learn *nothing*. Average precision counts which boxes, the surest
# first, find a thing that nobody has found. Back to the tray: any order does for the tray, and not
# for those who learn. Correct them by the assignment that fits all of them best; an order that they
# can see, left to right, served nearly as well in our runs, and one that they cannot see a third as
# well or less.
#
# ## Further reading
#
# - Carion, Massa, Synnaeve, Usunier, Kirillov, Zagoruyko (2020), *End-to-End Object Detection with
#   Transformers*: section 3 for the loss, table 1 for the figures, figure 7 for what queries learn.
# - Rezatofighi et al. (2019), *Generalized Intersection over Union*: section 3.
# - Kuhn (1955), *The Hungarian Method for the Assignment Problem*.
# - Lin et al. (2014), *Microsoft COCO*: the data, and what is counted.
# - Zhu et al. (2021), *Deformable DETR*: ten times fewer rounds.
