# %% [markdown] tags=["slide"]
# # DETR: object detection as set prediction
#
# A photograph shows three cups. A classifier outputs one class for it, but **object detection**
# needs a list, with a class and a bounding box for each cup. DETR predicts all objects at once, in
# no order, and the cups have no order either. **So which prediction is trained toward which
# object?**
#
# **What it is.** DETR ([Carion et al. 2020](https://arxiv.org/abs/2005.12872)) is a Transformer
# that detects all objects of an image as a set. A CNN, called the **backbone**, and an encoder
# represent the image. A decoder then turns $N$ learned vectors, the **object queries**, into $N$
# predictions in parallel. Each prediction is a class with a bounding box, or **no object**. In
# training, **bipartite matching** pairs every object in the labeled data (the **ground truth**)
# with exactly one query.
#
# **What you'll be able to do.** Compute matching costs, generalized IoU, and average precision by
# hand; implement DETR, its Hungarian matcher, and its loss in 40 lines of PyTorch; say what
# one-to-one matching replaces in other detectors; and run a published DETR on your own photograph.
#
# <details><summary><b>Short answer</b></summary>
#
# Each prediction is trained toward the object that the cheapest one-to-one assignment, called
# **Hungarian** matching, gives it, or toward "no object" if it gets none. On generated scenes, a
# small DETR with a pretrained, frozen encoder reaches 38.3% [33.0%, 43.7%] in AP50, a kind of
# average precision explained below. With the objects sorted from left to right it reaches at most
# 24.6% [23.5%, 25.6%], and in the order of a list 3.4% [3.0%, 3.8%] (means of five training runs,
# 95% confidence intervals in brackets). Giving each object its cheapest query, without solving the
# assignment, is about as good here. When the encoder was trained too, at the decoder's full
# learning rate, we saw no advantage of Hungarian matching.
#
# </details>
#
# <small>Prerequisites: [from pixels to tokens](01_patches.ipynb), [the
# decoder](../02_transformer/12_decoder.ipynb) · 35 min · runs on a laptop; results of the long runs
# are included · Fleuret (DETR), Straka (DETR)</small>

# %% DETR's architecture [markdown] tags=["slide"] figure="ch06b.detr_architecture"
# ![DETR. Top: an image passes through a CNN backbone and a 1 x 1 convolution to a feature map; its
# positions, with 2-D sine position embeddings, enter the Transformer encoder. Bottom: object
# queries enter the Transformer decoder, which cross-attends to the encoder's output. Feed-forward
# heads predict a class and a box per query; bipartite matching pairs predictions with ground-truth
# boxes, and unmatched ones are labeled no object.](figures/06_detr.svg)
#
# *DETR. Top: the backbone's feature map is flattened into tokens, which enter the encoder with 2-D
# sine position embeddings. Bottom: the decoder turns object queries into predictions, and each
# query cross-attends to the encoder's output (the memory). Matching exists only in training. At
# test time, the result is all boxes whose class is probable enough, for example above 0.5.*

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
# DETR differs from the [Transformer of chapter 2](../02_transformer/12_decoder.ipynb) in three
# ways. First, the encoder's tokens are the positions of a feature map. Second, the decoder has
# neither a causal mask nor input tokens, because it makes all predictions at once. Its input is a
# vector of zeros per prediction, so only the learned object queries, added as position embeddings,
# distinguish the $N$ predictions. Third, position embeddings are added in every layer, and only to
# the inputs of the query and key projections, not to the values.
#
# The next figure shows the matching on a scene that was not used in training. The predictions come
# from a small DETR with sixteen queries, trained with Hungarian matching as in experiment 1 below,
# but for 2,000 steps.

# %% Bipartite matching on a generated scene tags=["fold"]
import torch

from deepdive_book.ch06b.figures.bipartite_matching import bipartite_matching
from deepdive_book.ch06b.runs import detr as toy
from deepdive_book.ch06b.toys.scene_detr import scene_detr

trained, test = scene_detr(), toy.scenes(150, seed=2)  # 16 queries, scenes not trained on
with torch.no_grad():
    logits, boxes = trained(toy.pixels(test))
SCENE, true = 26, toy.truths(test)
shown = toy.cheapest_queries(logits[SCENE], boxes[SCENE], true[SCENE], 6)
confidence = 1 - logits.softmax(-1)[..., -1]
bipartite_matching(test.pixels[SCENE], test.names, true[SCENE], logits[SCENE, shown],
                   boxes[SCENE, shown], boxes[:, shown], confidence[:, shown],
                   [q + 1 for q in shown])  # fmt: skip

# %% [markdown]
# **Interactive figure: costs and matching.** *White boxes with letters are the ground truth.
# Colored boxes are the predictions of six of the sixteen queries: the matched ones and those with
# the next lowest costs. The table has each query's most probable class and its matching cost with
# each object (the lower, the better the fit). Yellow cells are the matching, and a dashed box is
# unmatched.* *Try this:*
#
# 1. Query 14 is matched with D, but queries 9 and 15 also have their boxes there. Drag query 14's
#    box away slowly. Which query takes over D, and does any other object change its query?
# 2. Press *in order listed*. Now A is the target of the first query in the table, B of the second,
#    and so on. What happens to the total cost?
# 3. Select the queries one after another, and look at the small square. It shows the centers of a
#    query's boxes in 150 scenes. Where are they?
#
# <details><summary>What you should see: open after you try</summary>
#
# 1. Query 15 takes over, because it has the next lowest cost for D, −1.83. The other three pairs
#    stay. (C's query 16 predicts "no object" with 62%, so at test time C would be missed.)
# 2. It rises from −7.53 to 8.59, mostly because A and B are now targets of queries whose boxes are
#    far from them.
# 3. Each query keeps to its own region: query 4 to the upper left, query 13 to the lower left, and
#    query 14 to the right. Queries 9 and 15 nearly always predict "no object".
#
# </details>
#
# ## By hand
#
# ### The matching
#
# Every object should get its own query, at the lowest total cost. Suppose there are three queries
# and two objects, and the cost measures how badly each prediction fits each object:
#
# | | A | B |
# |---|---|---|
# | query 1 | 1 | 2 |
# | query 2 | 2 | 9 |
# | query 3 | 6 | 5 |
#
# There are $3 \cdot 2 = 6$ ways to give both objects a query:
#
# | A | B | total cost |
# |---|---|---|
# | query 1 | query 2 | $1 + 9 = 10$: in the order listed |
# | query 1 | query 3 | $1 + 5 = 6$: greedy, always the cheapest remaining pair |
# | **query 2** | **query 1** | $2 + 2 = \mathbf 4$ |
# | query 2 | query 3 | $2 + 5 = 7$ |
# | query 3 | query 1 | $6 + 2 = 8$ |
# | query 3 | query 2 | $6 + 9 = 15$ |
#
# The best matching leaves out the cheapest pair of all, query 1 with A, because query 1 is also the
# only cheap query for B. Query 3 is unmatched, so its target is "no object".
#
# With 100 queries, as in DETR, you can't try every matching. The **Hungarian algorithm** ([Kuhn
# 1955](https://doi.org/10.1002/nav.3800020109)) finds the best one without enumerating them. Later
# variants, such as the solver in SciPy, take about $n^3$ steps for $n$ queries and objects.
#
# ### The cost
#
# A good prediction has the right class and a box close to the object's, so DETR's cost has one term
# for the class and two for the box, with weights of 5 and 2. Query $i$ gives the class $c_j$ of
# object $j$ the probability $p_i(c_j)$. It also predicts a box $\hat b_i$: center, width, and
# height, as fractions of the image's sides. If $b_j$ is the object's box, the cost of pairing the
# two is
#
# $$\text{cost}_{ij} =
# -p_i(c_j) + 5\,\lVert \hat b_i - b_j \rVert_1 - 2\,\text{GIoU}(\hat b_i, b_j)$$
#
# The cost is low if the class is probable, the numbers of the two boxes are similar, and the boxes
# overlap. The second term contains the **L1 distance** $\lVert\cdot\rVert_1$, the sum of the
# absolute differences of the four numbers. The third term measures overlap.
#
# The usual measure of overlap is **intersection over union** (IoU): the area two boxes share,
# divided by the area they cover together. But it is 0 for all boxes that don't touch, so it has no
# gradient that would move a box toward its object. **Generalized IoU** (GIoU, [Rezatofighi et al.
# 2019](https://arxiv.org/abs/1902.09630)) therefore takes the smallest axis-aligned box that
# encloses both, and subtracts from the IoU the fraction of this enclosing box that neither box
# covers.
#
# For example, take an object of $4 \times 4$ squares in an image of $10 \times 10$, and two queries
# that give its class a probability of $\frac12$. The columns "shared", "covered", and "enclosing"
# are areas in squares:
#
# | predicted box | shared | covered | enclosing | IoU | GIoU | L1 | cost |
# |---|---|---|---|---|---|---|---|
# | $4 \times 4$, two squares too far right | 8 | 24 | 24 | $\frac13$ | $\frac13$ | 0.2 | $-0.17$ |
# | $2 \times 4$, two squares right of the object | 0 | 24 | 32 | 0 | $-\frac14$ | 0.7 | $3.5$ |
#
# The first cost is $-0.5 + 5 \cdot 0.2 - 2 \cdot \frac13$, and the second is $-0.5 + 5 \cdot 0.7 +
# 2 \cdot \frac14$.
#
# ### The loss
#
# Once the matching is known, every query has a target. In the example, the first query is cheaper
# and therefore matched, so its target is the object's class and box. The second query's target is
# "no object". With the object's class and "no object" at a probability of $\frac12$ each, both
# queries have a cross-entropy of $\ln 2 = 0.693$. The class loss is a weighted mean over the
# queries. DETR gives the target "no object" a weight of only 0.1, because most queries are
# unmatched, but here the mean is 0.693 with any weights. Only matched pairs have a box loss, with
# the weights of the cost: $5 \cdot 0.2 + 2\,(1 - \frac13) = 2.333$. It is divided by the number of
# objects, here one.
#
# The sum of both, $0.693 + 2.333 = 3.03$, is the **set prediction loss**. It doesn't depend on the
# order in which queries or objects are listed. DETR computes it for the predictions of every
# decoder layer, with a separate matching for each. The terms of the earlier layers are called
# **auxiliary losses**.
#
# ### Average precision
#
# How good is a detector? It is scored by the list of its boxes, sorted by decreasing
# **confidence**, the probability of the predicted class. **Precision** is the fraction of boxes so
# far that are correct, and **recall** is the fraction of objects found so far. Suppose an image has
# three objects, and the predicted boxes are correct, wrong, and correct, so the third object is
# missed:
#
# | box | precision | recall |
# |---|---|---|
# | correct | 1 | $\frac13$ |
# | wrong | $\frac12$ | $\frac13$ |
# | correct | $\frac23$ | $\frac23$ |
#
# To turn this list into one number, the benchmark COCO takes the 101 recalls 0, 0.01, and so on to
# 1, and for each the best precision at that recall or higher. It's 1 for the 34 recalls up to 0.33,
# $\frac23$ for the 33 up to 0.66, and 0 for the last 34. The **average precision** is the mean of
# the 101 values, $(34 + 22) / 101 = 0.554$.
#
# A box is correct if its class is right, its IoU with an object is high enough, and no more
# confident box has taken that object. A second box on the same object is therefore wrong. **AP50**
# has an IoU threshold of 0.50, and **AP** is the mean over ten thresholds from 0.50 to 0.95. Both
# are also means over the classes.
#
# ## In code: DETR, the matcher, and the loss
#
# The next cell implements all three, with the loss for one decoder layer's predictions. The
# comments give shapes for `B` images, `S` positions, `N` queries, `M` objects, and `K` classes.
# `TransformerEncoderLayer` and `TransformerDecoderLayer` are PyTorch's. Only their `forward`
# changes, because PyTorch's takes no position embeddings. For brevity, ours has no masks, and
# dropout only in attention.

# %% DETR in 40 lines tags=["concept"]
import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment
from torch.nn import Conv2d, LayerNorm, Linear, Module, ModuleList, Parameter, ReLU, Sequential


class EncoderLayer(torch.nn.TransformerEncoderLayer):
    def forward(self, x, at):  # (B, S, d), positions (S, d): to queries and keys, not to values
        x = self.norm1(x + self.self_attn(x + at, x + at, x)[0])
        return self.norm2(x + self.linear2(self.linear1(x).relu()))


class DecoderLayer(torch.nn.TransformerDecoderLayer):
    def forward(self, x, queries, memory, at):  # (B, N, d), (N, d), (B, S, d), (S, d)
        x = self.norm1(x + self.self_attn(x + queries, x + queries, x)[0])  # no causal mask
        x = self.norm2(x + self.multihead_attn(x + queries, memory + at, memory)[0])
        return self.norm3(x + self.linear2(self.linear1(x).relu()))


class DETR(Module):
    def __init__(self, backbone, channels, K, n_queries, layers, d, *sizes):
        super().__init__()  # K classes; sizes: heads, d_ff, dropout
        self.backbone, self.project, self.norm = backbone, Conv2d(channels, d, 1), LayerNorm(d)
        self.encoder = ModuleList(EncoderLayer(d, *sizes, batch_first=True) for _ in range(layers))
        self.decoder = ModuleList(DecoderLayer(d, *sizes, batch_first=True) for _ in range(layers))
        self.queries, self.to_class = Parameter(torch.randn(n_queries, d)), Linear(d, K + 1)
        self.to_box = Sequential(Linear(d, d), ReLU(), Linear(d, d), ReLU(), Linear(d, 4))

    def forward(self, images, at):  # (B, 3, H, W), sine positions (h w, d)
        memory = self.project(self.backbone(images)).flatten(2).mT  # (B, d, h, w) -> (B, h w, d)
        for layer in self.encoder:
            memory = layer(memory, at)
        x = torch.zeros(len(images), *self.queries.shape)  # (B, N, d)
        for layer in self.decoder:
            x = layer(x, self.queries, memory, at)
        return self.to_class(self.norm(x)), self.to_box(self.norm(x)).sigmoid()  # (B, N, K + 1 | 4)


def giou(a, b):  # boxes (..., 4): center x, center y, width, height
    a0, a1, b0, b1 = (x[..., :2] + sign * x[..., 2:] / 2 for x in (a, b) for sign in (-1, 1))
    shared = (torch.minimum(a1, b1) - torch.maximum(a0, b0)).clamp(min=0).prod(-1)
    union = a[..., 2:].prod(-1) + b[..., 2:].prod(-1) - shared
    return shared / union + union / (torch.maximum(a1, b1) - torch.minimum(a0, b0)).prod(-1) - 1


def match(logits, boxes, classes, true):  # (N, K + 1), (N, 4), (M,), (M, 4) -> M pairs
    far = 5 * torch.cdist(boxes, true, p=1) - 2 * giou(boxes[:, None], true)  # (N, M)
    return linear_sum_assignment((far - logits.softmax(-1)[:, classes]).detach())


def set_loss(logits, boxes, targets, weights):  # weights (K + 1,): 0.1 for "no object", else 1
    labels, loss = torch.full(logits.shape[:2], len(weights) - 1), 0.0  # (B, N): all "no object"
    for scores, box, label, (classes, true) in zip(logits, boxes, labels, targets, strict=True):
        i, j = match(scores, box, classes, true)  # query i and object j are a pair
        label[i] = classes[j]
        loss += 5 * (box[i] - true[j]).abs().sum() + 2 * (1 - giou(box[i], true[j])).sum()
    return F.cross_entropy(logits.mT, labels, weights) + loss / sum(len(c) for c, _ in targets)


# %% [markdown]
# On the two examples by hand, these functions return the same matching, GIoU, and loss:

# %% The worked examples tags=["nbval-check-output"]
table_by_hand = torch.tensor([[1.0, 2], [2, 9], [6, 5]])
i, j = linear_sum_assignment(table_by_hand)
pairs = [f"{'AB'[b]}: query {a + 1}" for a, b in zip(i, j, strict=True)]
print(pairs, "total", table_by_hand[i, j].sum().item())

object_box = torch.tensor([[0.4, 0.4, 0.4, 0.4]])
predicted = torch.tensor([[0.6, 0.4, 0.4, 0.4], [0.9, 0.4, 0.2, 0.4]])
print("GIoU", [round(x, 2) for x in giou(predicted, object_box).tolist()])
target = (torch.tensor([0]), object_box)
print("matched: query", match(torch.zeros(2, 2), predicted, *target)[0][0] + 1)
loss = set_loss(torch.zeros(1, 2, 2), predicted[None], [target], torch.ones(2))
print("loss", round(loss.item(), 2))

# %% [markdown]
# The next cell compares the entire model with the DETR in `deepdive`, the small library that
# accompanies this book. With the same trained weights, the predictions, the loss, and its gradient
# are equal.

# %% It equals the library tags=["equals-library"]
from deepdive.evaluate.detection import precisions
from deepdive.training.objectives.set_prediction import Truth, costs, set_losses

detr = DETR(trained.backbone, 48, 4, 16, 2, 48, 4, 96, 0.0).eval()  # 4 classes, 16 queries
detr.load_state_dict(toy.weights_for_torch(trained))
images, at = toy.pixels(test)[:8], toy.sine_positions(8, 48)
outputs, expected = detr(images, at), trained(images)
assert torch.allclose(outputs[0], expected.logits, atol=1e-4)
assert torch.allclose(outputs[1], expected.boxes, atol=1e-5)

ours = set_loss(*outputs, true[:8], torch.tensor([1, 1, 1, 1, 0.1]))
theirs = set_losses(*expected, true[:8]).total
assert torch.allclose(ours, theirs, atol=1e-4)
gradients = [torch.autograd.grad(x, m.queries)[0] for x, m in ((ours, detr), (theirs, trained))]
assert torch.allclose(*gradients, atol=1e-5)

paid = costs(torch.zeros(2, 2), predicted, Truth(*target))[:, 0]  # the two costs by hand
assert torch.allclose(paid, torch.tensor([-0.5 + 1 - 2 / 3, -0.5 + 5 * 0.7 + 2 / 4]))
average = precisions([0.9, 0.8, 0.7], [True, False, True], n_objects=3).mean()
assert abs(average - (34 + 22) / 101) < 1e-12
print("equal: class scores, boxes, loss, gradient of the object queries")

# %% [markdown] tags=["slide"]
# ## Experiments
#
# We compare ways of matching on generated images, the **scenes**. Each has $32 \times 32$ pixels,
# noise, and one to eight disks, squares, diamonds, and crosses, which may overlap.
#
# The model has 16 queries. Its backbone and encoder are **pretrained** by dense prediction: at each
# of the $8 \times 8$ positions of the feature map, they learn to predict the class and the box of
# the object visible there. This objective has no queries and no matching. Because it is local,
# however, it may favor matching by cost over rules of order.
#
# The backbone and encoder are then frozen, and every run trains a new decoder with its queries and
# output layers. It takes 600 steps of AdamW with batches of 32 scenes and a learning rate that
# rises to 0.004 and then decays to 0. The code is `toy.train` in `deepdive_book.ch06b.runs.detr`,
# the module with this page's experiments.
#
# Runs have the same number of parameters, the same scenes, and, per seed, the same initial weights.
# Only the matching differs, or the weight of "no object" in the cross-entropy: DETR's 0.1 or the
# full weight of 1.
#
# Every setting has five seeds unless stated otherwise, and is tested on new scenes. The brackets
# show a 95% confidence interval for the mean over the seeds (Student's t), which covers training
# but not the choice of scenes.
#
# ### 1. Does the matching matter?
#
# Would a simpler rule do as well? Besides **Hungarian** matching, we try three:
#
# - **Cheapest query:** each object takes its cheapest query. If two objects want the same query,
#   the object with the higher cost gets none.
# - **Left to right:** the object with the leftmost center is the target of query 1, the next object
#   that of query 2, and so on.
# - **As listed:** the same, but in the order of the list of objects, which is from back to front.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The same model, trained with each rule for the same number of steps. How do the average "
    "precisions compare?",
    ["no clear difference among the four",
     "Hungarian first, left to right close behind, as listed last",
     "Hungarian and cheapest query close together, both orders far behind",
     "left to right first, since it needs no matching"],
    answer=2,
    explain="Probably because a query can specialize when its targets follow its own predictions. "
    "A fixed order has to be computed from all objects, and where they don't overlap, the image "
    "doesn't show the order of the list.",
    key="06b_vision/detr-matching",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Load the saved runs, or train a few
from deepdive_book.kit import rows

runs = rows.load_or_measure(
    toy.measure, "06b_vision", "detr_matching", points=toy.experiment(),
    few=toy.experiment(steps=2, seeds=[1], n_train=32, n_test=16),
)  # fmt: skip
first = runs.rows[0]
print(f"{first['steps']} steps of {toy.BATCH} scenes from {first['n_train']:,}; "
      f"{first['n_test']} test scenes; {first['parameters']:,} trained parameters")  # fmt: skip

# %% [markdown]
# In the table, "difference in AP50" is a setting's AP50 minus that of Hungarian matching with a
# weight of 1. The differences are paired by seed, and because there are five of them, Bonferroni's
# correction widens their intervals.
#
# **Scatter** shows whether queries specialize. Call a box **active** if its query's probability of
# "no object" is below 0.5. For each query, compute the root mean square distance of its active
# boxes' centers, over all scenes, from their mean. Scatter is the average of these distances,
# weighted by the number of boxes, divided by the same distance for the active boxes of all queries
# together. A scatter of 1 means that no query has a region of its own.

# %% AP by matching tags=["slide"]
from deepdive_book.kit.tables import table


def average(arm, weight, key="ap", encoder="frozen"):
    """Mean over seeds with its 95% interval. In the rows, a matching is called an arm."""
    where = {"arm": arm, "no_object_weight": weight, "encoder": encoder}
    return rows.interval(rows.values(runs.rows, key, **where))


settings = [("Hungarian", 1.0), ("cheapest query", 1.0), ("left to right", 1.0),
            ("as listed", 1.0), ("Hungarian", 0.1), ("left to right", 0.1)]  # fmt: skip
table([[*both, average(*both), average(*both, "ap50"), None if both == settings[0] else
        toy.difference(runs.rows, "ap50", both, contrasts=5), average(*both, "spread")]
       for both in settings],
      ["matching", 'weight of "no object"', "AP", "AP50", "difference in AP50", "scatter"],
      formats={"AP": ".1%", "AP50": ".1%", "difference in AP50": ".1f", "scatter": ".2f"},
      caption="mean of 5 seeds [95% confidence interval]; differences in points, paired by seed, "
      "computed before rounding, with intervals corrected for five comparisons")  # fmt: skip

# %% [markdown]
# **Matching by cost matters.** Even with the weight of "no object" that suits it better, 0.1, left
# to right reaches an AP50 of only 24.6%, compared with 38.3% for Hungarian matching, and the
# interval of the difference excludes zero. As listed, the model barely learns. Where objects don't
# overlap, the image doesn't show their order in the list, so a query's target changes between
# similar scenes for no visible reason.
#
# **In contrast, finding the best matching makes no measurable difference here.** The rule "cheapest
# query" does as well as the Hungarian algorithm: the interval of their difference includes zero and
# is narrow compared with the lead over left to right. With at most eight objects and sixteen
# queries, two objects may rarely compete for one query, but we didn't count.
#
# Why does matching by cost help? Probably because queries can specialize. A query's target is then
# an object that it already predicts better than other queries do, so it can keep to one region of
# the image, as you saw in the interactive figure. With Hungarian matching and full weight, the
# centers of a query's boxes scatter only 0.34 times as far as those of all boxes. With left to
# right the scatter is 0.80, because the leftmost object can be nearly anywhere. A query then has to
# compare all objects to find its own.
#
# Is the frozen encoder the reason for the difference? Left to right has to rank all objects, and an
# encoder trained for this task might provide the ranking. We therefore train both rules again for
# the same number of steps, but each run now also trains its own copy of the encoder, with the
# decoder's learning rate or a tenth of it:

# %% Each with an encoder of its own
ways = {"encoder frozen": "frozen", "trained at the decoder's rate": "trained",
        "trained at a tenth of it": "trained slowly"}  # fmt: skip
table([[arm, *(average(arm, 1.0, "ap50", way) for way in ways.values())]
       for arm in ("Hungarian", "left to right")],
      ["matching", *ways], formats=dict.fromkeys(ways, ".1%"),
      caption='AP50, weight of "no object" 1.0; mean of 5 seeds (frozen) or 3 (trained) '
      "[95% confidence interval]")  # fmt: skip

# %% [markdown]
# With a tenth of the rate, the advantage of Hungarian matching remains. It reaches an AP50 of
# 45.1%, left to right reaches 22.9%, and the intervals don't overlap. So the advantage doesn't need
# a frozen encoder.
#
# With the decoder's full rate, however, we see no advantage. Hungarian matching falls to 18.1%,
# below the mean of left to right, and their intervals overlap. Large steps may destroy what
# pretraining put into the encoder, but the result of left to right doesn't fall. We didn't test
# why.

# %% [markdown]
# ### 2. What does one-to-one matching replace?
#
# Most detectors before DETR predict far more boxes than there are objects. They classify and shift
# thousands of fixed candidate boxes, called **anchors**, and train every anchor near an object to
# predict it. Each object therefore gets several boxes, and **non-maximum suppression** (NMS)
# removes the duplicates after prediction. It goes through the boxes by decreasing confidence and
# drops every box whose IoU with an already accepted box is above a threshold.
#
# DETR uses neither anchors nor NMS. Does its one-to-one matching do the work of NMS? We compare it
# with **one-to-many** matching, where each object is the target of its three cheapest queries (a
# query chosen by several objects takes the cheapest of them). We apply NMS (per class, IoU above
# 0.5) to both. AP50 counts all sixteen boxes of a scene, and NMS removes none for its low
# confidence.
#
# In the table, "gain" is what NMS adds to AP50, in points. "Duplicates" is the fraction that NMS
# removes of all boxes with a confidence above 0.5. "Active boxes" is the number per scene, as
# defined for scatter.

# %% With and without non-maximum suppression tags=["slide"]
settings = [("Hungarian", 1.0), ("Hungarian", 0.1), ("three cheapest queries", 1.0)]


def gain(arm, weight):
    """What NMS adds to AP50, in points, paired by seed."""
    after, before = (rows.by_seed(runs.rows, key, arm=arm, no_object_weight=weight,
                                  encoder="frozen") for key in ("ap50_nms", "ap50"))  # fmt: skip
    return rows.interval(rows.paired(after, before), 100)


table([[*both, average(*both, "ap50"), average(*both, "ap50_nms"), gain(*both),
        average(*both, "duplicates"), average(*both, "boxes")] for both in settings],
      ["matching", 'weight of "no object"', "AP50", "AP50 after NMS", "gain", "duplicates",
       "active boxes"],
      formats={"AP50": ".1%", "AP50 after NMS": ".1%", "gain": ".1f", "duplicates": ".1%",
               "active boxes": ".1f"},
      caption="mean of 5 seeds [95% confidence interval]; gain paired by seed")  # fmt: skip

# %% [markdown]
# **With the full weight of "no object", one-to-one matching leaves few duplicates, but also few
# boxes.** Only 6.2% of the boxes with a confidence above 0.5 are duplicates, compared with 55.3%
# after one-to-many matching. (We didn't train the latter with a weight of 0.1.) Hungarian matching
# with 0.1 leaves many duplicates, at least after our short training. DETR also uses 0.1, but with a
# hundred queries and much longer training.
#
# **NMS still helps.** It raises AP50 in all three settings, and each interval of the gain excludes
# zero. With NMS, the two settings that predict many boxes have the highest means, 47.8% for
# one-to-many matching and 47.2% for Hungarian matching with a weight of 0.1. (Their intervals
# slightly overlap with that of the first setting.) What one-to-one matching buys here is therefore
# not a higher AP50, but a detector without the extra step and its threshold. On COCO, NMS no longer
# helps the predictions of DETR's last decoder layers (Carion et al. 2020, section 4.2).
#
# One-to-many matching trains several queries per object in every step. On COCO,
# [DETA](https://arxiv.org/abs/2212.06137) returns to it and to NMS and reports up to 2.5 points
# more AP than with one-to-one matching. [H-DETR](https://arxiv.org/abs/2207.13080) adds one-to-many
# queries only in training, so its predictions need no NMS.
#
# ### 3. Where does an object query look?
#
# The decoder receives the image only through cross-attention. The figure shows this attention in
# the last layer, averaged over its heads, for the matched queries of the scene above:

# %% Cross-attention of four object queries tags=["slide"]
from deepdive_book.ch06b.figures.query_attention import query_attention

query_attention(trained, test, SCENE)

# %% [markdown]
# *Each panel has one query. Bright: positions with much cross-attention. Orange: the box it
# predicts. Dotted: the object's box. Below each panel is the fraction of attention at positions
# that overlap the object's box.*
#
# The next cell averages this fraction over the test scenes, for queries that are active and matched
# with an object:

# %% How much attention is in the box?
inside, area, n_pairs = toy.attention_in_box(trained, test)
n_objects = sum(len(t.classes) for t in true)
print(f"{n_pairs} of {n_objects} objects are matched with an active query, which has {inside:.0%} "
      f"of its attention in the object's box ({area:.0%} of the feature map)")  # fmt: skip

# %% [markdown]
# On average, these queries have two thirds of their attention at positions that overlap the
# object's box, six times what uniform attention would give. However, attention weights alone don't
# prove that the prediction depends on those positions.
#
# ## With the real library
#
# The transformers library has DETR as `DetrForObjectDetection`. We compare it with the 40 lines
# above: its matcher on our trained model's predictions, and its loss on a tiny, randomly
# initialized model with a ResNet backbone (no download).

# %% transformers' DETR, matcher, and loss tags=["nbval-check-output"]
from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig
from transformers.loss.loss_for_object_detection import HungarianMatcher

resnet = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic",
                      out_features=["stage2"])  # fmt: skip
config = DetrConfig(use_timm_backbone=False, backbone_config=resnet, num_labels=4, num_queries=16,
                    d_model=48, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                    decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96)  # fmt: skip
torch.manual_seed(0)
model = DetrForObjectDetection(config).eval()
labels = [{"class_labels": t.classes, "boxes": t.boxes} for t in true[:8]]
out = model(pixel_values=images, labels=labels)

pairs = HungarianMatcher(1, 5, 2)({"logits": outputs[0], "pred_boxes": outputs[1]}, labels)
same = [(a.tolist(), b.tolist()) == tuple(k.tolist() for k in match(x, y, *t)) for (a, b), x, y, t
        in zip(pairs, *outputs, true[:8], strict=True)]  # fmt: skip
ours = set_loss(out.logits, out.pred_boxes, true[:8], torch.tensor([1, 1, 1, 1, 0.1]))
print("matchings equal:", sum(same), "of", len(same))
print("loss equal:", torch.allclose(ours, out.loss, atol=1e-4))

# %% [markdown]
# To detect objects on your own photograph, load the published weights. (They can't be downloaded
# here, so the output isn't shown.)
#
# ```python
# from PIL import Image
# from transformers import AutoImageProcessor, AutoModelForObjectDetection
#
# image = Image.open("photo.jpg").convert("RGB")
# processor = AutoImageProcessor.from_pretrained("facebook/detr-resnet-50")
# model = AutoModelForObjectDetection.from_pretrained("facebook/detr-resnet-50")
# outputs = model(**processor(images=image, return_tensors="pt"))
# size = [(image.height, image.width)]
# found = processor.post_process_object_detection(outputs, threshold=0.9, target_sizes=size)[0]
# for score, label, box in zip(found["scores"], found["labels"], found["boxes"]):
#     print(model.config.id2label[label.item()], f"{score:.2f}", box.round().tolist())
# ```
#
# Post-processing has no NMS. It takes each query's most probable class other than "no object" and
# drops the boxes whose probability is below the threshold.
#
# ## How it differs: DETR and Faster R-CNN on COCO
#
# On COCO's photographs with 80 classes, Carion et al. compare DETR with Faster R-CNN, a detector
# with anchors and NMS (table 1, AP in percent):
#
# | model | parameters, millions | AP | AP50 | AP, small objects | AP, large objects |
# |---|---|---|---|---|---|
# | Faster R-CNN-FPN+, ResNet-50 | 42 | 42.0 | 62.1 | 26.6 | 53.4 |
# | DETR, ResNet-50 | 41 | 42.0 | 62.4 | 20.5 | 61.1 |
# | DETR-DC5, ResNet-50 | 41 | 43.3 | 63.1 | 22.5 | 61.1 |
#
# (FPN stands for feature pyramid network, and "+" marks longer training with a GIoU loss and more
# augmentation.) DETR reaches the same AP without anchors and NMS. It is better on large objects but
# worse on small ones, probably because its feature map is 32 times coarser than the image (in the
# variant DC5, 16 times). The price is training time: 500 epochs, according to Zhu et al. (2021) 10
# to 20 times as many as Faster R-CNN needs. The next cell counts the parameters:

# %% Parameters of DETR with ResNet-50 tags=["nbval-check-output"]
from deepdive.models.vision.detr import detr as build

with torch.device("meta"):
    print(f"{sum(p.numel() for p in build().parameters()) / 1e6:.1f} million parameters")

# %% [markdown]
# ## Common mistake: matching each query with its best object
#
# It is tempting to skip the assignment and give each query its best object with `cost.argmin`,
# because every query is close to some object. But several queries can now take the same object, as
# in the first cell. The second cell shows the result of one model trained in this way.

# %% Each query takes its cheapest object tags=["nbval-check-output"]
cost = torch.tensor([[-2.0, 3], [-1.8, 3], [-1.7, 2]])  # three queries, two objects
print("argmin per query:", ["AB"[k] for k in cost.argmin(1)])
i, j = linear_sum_assignment(cost)
print("one-to-one:", [f"query {a + 1} with {'AB'[b]}" for a, b in zip(i, j, strict=True)])

# %% A model trained this way
(run,) = rows.select(runs.rows, arm="nearest object")  # the rule of the previous cell
print(f"one run: {run['boxes']:.1f} active boxes per scene; {run['duplicates']:.0%} of the boxes "
      f"with a confidence above 0.5 are duplicates; AP50 {run['ap50']:.1%}, after NMS "
      f"{run['ap50_nms']:.1%}")  # fmt: skip

# %% [markdown]
# **Symptom:** several boxes per object, none on others, and no query ever predicts "no object". In
# our run, all sixteen queries were active in every scene, and nearly all boxes with a confidence
# above 0.5 were duplicates. **Fix:** match one-to-one, so that all other queries learn "no object".
# The queries can coordinate, because they attend to each other in the decoder's self-attention.
#
# ## In practice
#
# - Use more queries than the most crowded image has objects, because every object needs its own.
# - Start from a pretrained backbone with frozen batch normalization, and give it a lower learning
#   rate than the Transformer.
# - Tune the weight of "no object". DETR's 0.1 is for 100 queries.
# - For faster training and small objects, use a successor. [Deformable
#   DETR](https://arxiv.org/abs/2010.04159) (Zhu et al. 2021) attends to a few sampled positions of
#   several feature maps, and its authors report a tenth of the epochs.
#
# ## Summary
#
# DETR predicts a set. It decodes object queries in parallel, and a matching pairs them one-to-one
# with ground-truth objects by class probability, L1 distance, and generalized IoU. Unmatched
# queries learn "no object".
#
# Which prediction is trained toward which object? The cheapest one-to-one assignment decides. With
# Hungarian matching our small DETR reached an AP50 of 38.3%, and with objects in a fixed order,
# left to right, 24.6% at best. This difference remained when the encoder was fine-tuned at a low
# learning rate, but we saw none at a high one. Assigning each object its cheapest query worked
# about as well as the Hungarian algorithm in scenes of up to eight objects.
#
# On COCO, Carion et al. (2020) report an AP of 42.0 for DETR, the same as for a Faster R-CNN with
# about as many parameters. We did not reproduce that. Our scenes are generated, the backbone is
# frozen (and in most runs the encoder), and 600 steps are a short training.
#
# ## Check your understanding
#
# 1. Why does the matching cost use the class probability instead of its logarithm?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The probability is between 0 and 1, so the class term stays comparable to the box terms. A
#    log-probability has no lower bound and could dominate them.
#
#    </details>
# 2. What would happen if all object queries were equal?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    All queries would make the same prediction in every layer, because the decoder's input is zeros
#    and nothing else distinguishes them.
#
#    </details>
# 3. Why can't the queries exchange information by self-attention in the first decoder layer?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The values there are projections of zeros, without positions, so every value is the same
#    vector, and any attention weights mix them to that vector. The query and key projections
#    therefore get no gradient. The queries exchange information from the second layer on.
#
#    </details>
# 4. Is there a gradient through the matching?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    No. The solver returns indices. Given these indices, the loss of the pairs has gradients as
#    usual.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* Add a query 4 with costs 3 (A) and 1 (B) to the table. Compute the best
#    matching and its cost.
#
#    <details><summary>Answer</summary>
#
#    A with query 1 and B with query 4: $1 + 1 = 2$.
#
#    </details>
# 2. *(on paper, 4 min)* Compute IoU and GIoU of a $4 \times 4$ object and a $2 \times 2$ box at its
#    center.
#
#    <details><summary>Answer</summary>
#
#    Both are $4 / 16 = \frac14$. The enclosing box is the object itself, so nothing is subtracted.
#
#    </details>
# 3. *(on paper, 5 min)* In the example of average precision, let the wrong box be the most
#    confident one. Compute the average precision.
#
#    <details><summary>Answer</summary>
#
#    Precision is 0, $\frac12$, $\frac23$ at recall 0, $\frac13$, $\frac23$, so the best up to
#    recall 0.66 is $\frac23$, for 67 recalls: $67 \cdot \frac23 / 101 = 0.442$.
#
#    </details>
# 4. *(in code, 20 min)* Write `nms(boxes, scores, threshold)` with `giou`'s intersection and union,
#    and apply it to the predictions of `detr` on `images`. How many of the boxes with confidence
#    above 0.5 does it remove?
#
#    <details><summary>Answer</summary>
#
#    Sort by score and accept the first box. Drop the other boxes whose IoU with it is above the
#    threshold, and repeat with the rest. `toy.suppress` is one solution.
#
#    </details>

# %% The answers, checked tags=["nbval-check-output"]
four = torch.cat([table_by_hand, torch.tensor([[3.0, 1]])])
i, j = linear_sum_assignment(four)
small, large = (torch.tensor([0.5, 0.5, side, side]) for side in (0.2, 0.4))
late = precisions([0.9, 0.8, 0.7], [False, True, True], n_objects=3).mean()
print([f"{'AB'[b]}: query {a + 1}" for a, b in zip(i, j, strict=True)], four[i, j].sum().item())
print("GIoU", round(giou(small, large).item(), 3), "average precision", round(float(late), 3))

# %% [markdown]
# ## Further reading
#
# - [Carion et al. (2020)](https://arxiv.org/abs/2005.12872), *End-to-End Object Detection with
#   Transformers*: section 3 for the loss, table 1 for the results, figure 7 for what queries learn.
# - [The authors' notebooks](https://github.com/facebookresearch/detr): a simplified DETR in 50
#   lines, and attention maps on photographs.
# - [Lin et al. (2014)](https://arxiv.org/abs/1405.0312), *Microsoft COCO*: the data and the metric.
# - [Zhu et al. (2021)](https://arxiv.org/abs/2010.04159), *Deformable DETR*.
