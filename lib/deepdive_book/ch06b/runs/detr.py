"""DETR on generated scenes: scenes of up to eight objects, a dense pretraining that favors no
matching, six ways to assign objects to queries in training, and non-maximum suppression. Page 6b.6.

DETR starts from a backbone trained on ImageNet. Ours is trained together with the encoder to
predict, at each position of the feature map, the class and the box of the object visible there
(`pretrain`): no query, no matching. Then both are frozen, so each scene passes through them once
(`memories`), and each run trains a new decoder, its queries, and its heads on the encoder's output
(`on_memories`, `train`). In a second experiment each run also trains its own copy of the encoder on
the backbone's feature maps (`feature_maps`, `on_maps`).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.hooks import record
from deepdive.core.stack import Stack
from deepdive.evaluate import Interval
from deepdive.evaluate.detection import Matches, average_precision, match_all_boxes, match_boxes
from deepdive.layers.boxes import iou
from deepdive.layers.residual_conv import settle
from deepdive.models.vision.detr import Detr, DetrConfig, detr
from deepdive.positions.sinusoidal import grid_sines
from deepdive.training.fit import fit
from deepdive.training.history import History
from deepdive.training.objectives.set_prediction import (
    CLASS,
    GIOU,
    L1,
    NOTHING,
    Matching,
    Pairs,
    Truth,
    by_order,
    costs,
    hungarian,
)
from deepdive.training.optim import adam, linear
from deepdive_book.ch06b.toys.scene_detr import SMALL, scene_encoder
from deepdive_book.data.scenes import Scenes, generated_scenes
from deepdive_book.kit.rows import Row, by_seed, interval, paired

STRIDE = 4  # pixels per position of the feature map
BATCH = 32
LEARNING_RATE = 4e-3  # of a decoder
OBJECTS = 8  # at most, in a scene
RADII = (1 / 11, 1 / 6)
NMS_IOU = 0.5


def scenes(n: int, seed: int) -> Scenes:
    """Return n generated scenes of 32 x 32 pixels with one to eight small objects."""
    return generated_scenes(n, most=OBJECTS, seed=seed, radii=RADII)


def pixels(scenes: Scenes) -> Tensor:
    """Return the scenes as a model's input, (N, 3, size, size) from 0 to 1."""
    return torch.from_numpy(scenes.pixels).float() / 255


def truths(scenes: Scenes, left_to_right: bool = False) -> list[Truth]:
    """Return each scene's ground truth, as listed (from back to front) or sorted by center x."""
    found = []
    for n in range(len(scenes)):
        kinds, boxes = torch.from_numpy(scenes.kinds(n)), torch.from_numpy(scenes.boxes(n)).float()
        order = boxes[:, 0].argsort() if left_to_right else torch.arange(len(kinds))
        found.append(Truth(kinds[order], boxes[order]))
    return found


def encode(model: Detr, maps: Tensor) -> Tensor:
    """Return the encoder's output (B, h w, d_model) for feature maps (B, width, h, w)."""
    seen = model.project(maps)
    at = grid_sines(torch.ones_like(seen[:, 0], dtype=torch.bool), seen.shape[1]).to(seen.dtype)
    return model.encoder(seen.flatten(2).mT, positions=at)


def pretrain(scenes: Scenes, steps: int, seed: int, config: DetrConfig = SMALL) -> Detr:
    """Return a DETR whose backbone and encoder are trained by dense prediction.

    At each position two linear heads, dropped afterwards, predict the class visible at its center
    (or background) and, where an object is visible, its box: cross-entropy + 5 L1.
    """
    torch.manual_seed(seed)
    model, d_model = detr(config), config.d_model
    heads = nn.ModuleList([nn.Linear(d_model, 1 + config.n_classes), nn.Linear(d_model, 4)])
    both = nn.ModuleList([model.backbone, model.project, model.encoder, heads])
    images, center = pixels(scenes), slice(STRIDE // 2, None, STRIDE)
    classes = torch.from_numpy(scenes.classes())[:, center, center].flatten(1)
    owners = torch.from_numpy(scenes.owner)[:, center, center].flatten(1)
    boxes = [torch.from_numpy(scenes.boxes(n)).float() for n in range(len(scenes))]
    targets = torch.stack([F.pad(b, (0, 0, 1, 0))[o] for b, o in zip(boxes, owners, strict=True)])
    settle(model.backbone, images[:64])

    def loss(_: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        states = encode(model, model.backbone(batch[0]))
        visible = batch[1] > 0
        found, true = heads[1](states[visible]).sigmoid(), batch[2][visible]
        return (F.cross_entropy(heads[0](states).flatten(0, 1), batch[1].flatten())
                + 5 * (found - true).abs().sum(-1).mean())  # fmt: skip

    parts = zip(*(x.split(BATCH) for x in (images, classes, targets)), strict=True)
    fit(both, list(parts), loss, steps=steps, seed=seed, progress=False,
        optimizer=adam(both, lr=2e-3, weight_decay=1e-4),
        schedule=linear(2e-3, max(1, steps // 10), steps))  # fmt: skip
    return model.eval()


def feature_maps(backbone: nn.Module, images: Tensor) -> Tensor:
    """Return a backbone's output (N, width, h, w) without gradients."""
    with torch.no_grad():
        return torch.cat([backbone(part) for part in images.split(100)])


def memories(model: Detr, images: Tensor) -> Tensor:
    """Return the encoder's output for images as a map, (N, d_model, h, w), without gradients."""
    with torch.no_grad():
        parts = [model.backbone(part) for part in images.split(100)]
        return torch.cat([encode(model, p).mT.unflatten(2, p.shape[2:]) for p in parts])


def on_maps(pretrained: Detr, seed: int) -> Detr:
    """Return a DETR on feature maps: a copy of the encoder; new decoder, queries, and heads."""
    torch.manual_seed(seed)
    model = detr(pretrained.config)
    model.backbone = nn.Identity()
    model.project.load_state_dict(pretrained.project.state_dict())
    model.encoder.load_state_dict(pretrained.encoder.state_dict())
    return model


def on_memories(pretrained: Detr, seed: int) -> Detr:
    """Return a DETR on the encoder's output: only a new decoder with its queries and heads."""
    model = on_maps(pretrained, seed)
    model.project = nn.Identity()  # type: ignore[assignment]
    model.encoder = Stack(lambda _: nn.Identity(), 0)
    return model


class Padded(NamedTuple):
    """Ground truth of B scenes, padded to M objects: classes (B, M), boxes (B, M, 4), counts."""

    classes: Tensor
    boxes: Tensor
    counts: list[int]


def pad(truths: Sequence[Truth]) -> Padded:
    """Return the ground truth of several scenes in two tensors."""
    classes = nn.utils.rnn.pad_sequence([truth.classes for truth in truths], True)
    boxes = nn.utils.rnn.pad_sequence([truth.boxes for truth in truths], True)
    return Padded(classes, boxes, [len(truth.classes) for truth in truths])


def giou_of_pairs(a: Tensor, b: Tensor) -> Tensor:
    """Return the generalized IoU of boxes a and b (..., 4) of broadcastable shapes."""
    (a0, a1), (b0, b1) = ((x[..., :2] - x[..., 2:] / 2, x[..., :2] + x[..., 2:] / 2)
                          for x in (a, b))  # fmt: skip
    shared = (torch.minimum(a1, b1) - torch.maximum(a0, b0)).clamp(min=0).prod(-1)
    union = a[..., 2:].prod(-1) + b[..., 2:].prod(-1) - shared
    enclosing = (torch.maximum(a1, b1) - torch.minimum(a0, b0)).prod(-1)
    return shared / union + union / enclosing - 1


def padded_set_loss(
    logits: Tensor, boxes: Tensor, true: Padded, matching: Matching, nothing: float
) -> Tensor:
    """Return `set_loss` of logits (L, B, N, K) and boxes (L, B, N, 4) at a third of its time: costs
    are computed within scenes, for all layers at once. A test asserts that the two are equal.
    """
    layers, scenes, queries, K = logits.shape
    with torch.no_grad():
        which = true.classes[:, None].expand(scenes, queries, -1).expand(layers, -1, -1, -1)
        cost = (L1 * (boxes[..., None, :] - true.boxes[:, None]).abs().sum(-1)
                - CLASS * logits.softmax(-1).gather(-1, which)
                - GIOU * giou_of_pairs(boxes[..., None, :], true.boxes[:, None]))  # fmt: skip
    labels, picks, targets = torch.full((layers, scenes, queries), K - 1), [], []
    pairs = [0] * layers
    for layer in range(layers):
        for b, count in enumerate(true.counts):
            i, j = matching(cost[layer, b, :, :count])
            labels[layer, b, i] = true.classes[b, j]
            picks.append((layer * scenes + b) * queries + i)
            targets.append(b * true.boxes.shape[1] + j)
            pairs[layer] += len(i)
    weights = logits.new_ones(K)
    weights[-1] = nothing
    found = boxes.reshape(-1, 4)[torch.cat(picks)]
    goal = true.boxes.reshape(-1, 4)[torch.cat(targets)]
    each = L1 * (found - goal).abs().sum(-1) + GIOU * (1 - giou_of_pairs(found, goal))
    total = torch.zeros(())
    for layer, part in enumerate(each.split(pairs)):
        classes = F.cross_entropy(logits[layer].flatten(0, 1), labels[layer].flatten(), weights)
        total = total + CLASS * classes + part.sum() / max(1, pairs[layer])
    return total


def train(
    model: Detr, maps: Tensor, truths: Sequence[Truth], steps: int, seed: int,
    matching: Matching = hungarian, nothing: float = NOTHING, encoder_rate: float = 1.0,
) -> History:  # fmt: skip
    """Train a model on feature maps (N, width, h, w) and the ground truth of each. The encoder's
    learning rate is `encoder_rate` times the decoder's.
    """
    parts = range(0, len(maps), BATCH)
    batches = [(maps[i : i + BATCH], pad(truths[i : i + BATCH])) for i in parts]

    def loss(net: Detr, batch: tuple[Tensor, Padded]) -> Tensor:
        found = net.layers(batch[0])
        return padded_set_loss(found.logits, found.boxes, batch[1], matching, nothing)

    optimizer = adam(model, lr=LEARNING_RATE, weight_decay=1e-4)
    if encoder_rate != 1.0:
        inner = {id(p) for part in (model.project, model.encoder) for p in part.parameters()}
        for group in list(optimizer.param_groups):
            slow = [p for p in group["params"] if id(p) in inner]
            group["params"] = [p for p in group["params"] if id(p) not in inner]
            lr = encoder_rate * LEARNING_RATE
            optimizer.add_param_group({**group, "params": slow, "lr": lr})
    return fit(model, batches, loss, steps=steps, seed=seed, progress=False, optimizer=optimizer,
               schedule=linear(LEARNING_RATE, max(1, steps // 10), steps))  # fmt: skip


def cheapest(cost: Tensor, k: int) -> Pairs:
    """Match each object with its k cheapest queries; a query chosen twice takes the cheaper object.

    With k = 1 this is the simplest alternative to the Hungarian algorithm; with k > 1 it is
    one-to-many, as in detectors with anchors.
    """
    chosen = torch.zeros_like(cost, dtype=torch.bool)
    chosen.scatter_(0, cost.topk(min(k, len(cost)), dim=0, largest=False).indices, True)
    price, objects = cost.masked_fill(~chosen, torch.inf).min(1)
    queries = price.isfinite().nonzero()[:, 0]
    return queries, objects[queries]


def nearest_object(cost: Tensor) -> Pairs:
    """Match each query with its cheapest object: many queries per object, none without one."""
    return torch.arange(len(cost)), cost.argmin(1)


class Arm(NamedTuple):
    """A way to assign objects to queries, and whether the objects are sorted left to right."""

    matching: Matching
    left_to_right: bool = False


ARMS = {"Hungarian": Arm(hungarian), "cheapest query": Arm(partial(cheapest, k=1)),
        "three cheapest queries": Arm(partial(cheapest, k=3)),
        "nearest object": Arm(nearest_object), "left to right": Arm(by_order, True),
        "as listed": Arm(by_order)}  # fmt: skip


def suppress(boxes: Tensor, scores: Tensor, classes: Tensor, threshold: float = NMS_IOU) -> Tensor:
    """Return the indices that non-maximum suppression keeps, most confident first: a box is removed
    if its IoU with a kept box of its class is above the threshold.
    """
    overlap, left, kept = iou(boxes, boxes), scores.argsort(descending=True), []
    while len(left):
        best, rest = left[0], left[1:]
        kept.append(best)
        left = rest[(overlap[best, rest] <= threshold) | (classes[rest] != classes[best])]
    return torch.stack(kept) if kept else left


def match_after_nms(logits: Tensor, boxes: Tensor, truths: Sequence[Truth]) -> list[Matches]:
    """Return `match_all_boxes` of the boxes that non-maximum suppression keeps."""
    scores, classes = logits.softmax(-1)[..., :-1].max(-1)
    found = []
    for s, c, b, truth in zip(scores, classes, boxes, truths, strict=True):
        k = suppress(b, s, c)
        found.append(
            match_boxes(s[k], c[k], b[k], truth.classes, truth.boxes, logits.shape[-1] - 1)
        )
    return found


class Data(NamedTuple):
    """A pretrained model; training and test scenes; both as memories, and as feature maps."""

    pretrained: Detr
    train: Scenes
    test: Scenes
    memories: tuple[Tensor, Tensor]
    maps: tuple[Tensor, Tensor]


@cache
def load_data(n_train: int, n_test: int) -> Data:
    """Return scenes with the outputs of the pretrained backbone and encoder."""
    both, model = (scenes(n_train, seed=1), scenes(n_test, seed=2)), scene_encoder()
    images = [pixels(some) for some in both]
    read = memories(model, images[0]), memories(model, images[1])
    seen = feature_maps(model.backbone, images[0]), feature_maps(model.backbone, images[1])
    return Data(model, *both, read, seen)


def duplicates(logits: Tensor, boxes: Tensor, threshold: float = 0.5) -> float:
    """Return the fraction of confident boxes (p > threshold) that NMS would remove."""
    scores, classes = logits.softmax(-1)[..., :-1].max(-1)
    removed = total = 0
    for s, c, b in zip(scores, classes, boxes, strict=True):
        sure = s > threshold
        total += int(sure.sum())
        removed += int(sure.sum()) - len(suppress(b[sure], s[sure], c[sure]))
    return removed / max(1, total)


def spread(logits: Tensor, boxes: Tensor, threshold: float = 0.5) -> float:
    """Return how far the centers of one query's confident boxes scatter, relative to how far those
    of all queries do: 1 if no query has a region of its own, 0 if each has one position.
    """
    sure = logits.softmax(-1)[..., -1] < 1 - threshold  # (scenes, queries)
    centers = boxes[..., :2]
    total, each = centers[sure], 0.0
    if not len(total):
        return 0.0
    for q in range(sure.shape[1]):
        mine = centers[sure[:, q], q]
        each += len(mine) * float(mine.var(0, unbiased=False).sum() ** 0.5) if len(mine) else 0.0
    return each / max(1, len(total)) / float(total.var(0, unbiased=False).sum() ** 0.5 + 1e-9)


def measure(
    arm: str, no_object_weight: float, steps: int, seed: int, encoder: str, n_train: int,
    n_test: int,
) -> dict[str, Any]:  # fmt: skip
    """Train a DETR with one way of matching; return its average precision on test scenes, with and
    without NMS, the fraction of duplicates, and the number of confident boxes per scene.

    `encoder` is "frozen", or "trained" for a copy of the pretrained one, or "trained slowly" for
    one with a tenth of the decoder's learning rate.
    """
    data, way = load_data(n_train, n_test), ARMS[arm]
    build, inputs = (on_memories, data.memories) if encoder == "frozen" else (on_maps, data.maps)
    model = build(data.pretrained, seed)
    train(model, inputs[0], truths(data.train, way.left_to_right), steps, seed, way.matching,
          no_object_weight, 0.1 if encoder == "trained slowly" else 1.0)  # fmt: skip
    with torch.no_grad():
        logits, boxes = model.eval()(inputs[1])
    true = truths(data.test)
    plain = average_precision(match_all_boxes(logits, boxes, true))
    after = average_precision(match_after_nms(logits, boxes, true))
    confidence = 1 - logits.softmax(-1)[..., -1]
    return {
        "ap": round(float(np.nanmean(plain)), 4), "ap50": round(float(np.nanmean(plain[0])), 4),
        "ap_nms": round(float(np.nanmean(after)), 4),
        "ap50_nms": round(float(np.nanmean(after[0])), 4),
        "duplicates": round(duplicates(logits, boxes), 4),
        "boxes": round(float((confidence > 0.5).sum(-1).float().mean()), 3),
        "spread": round(spread(logits, boxes), 3),
        "parameters": sum(p.numel() for p in model.parameters()),
    }  # fmt: skip


SETTINGS = [("Hungarian", 1.0), ("three cheapest queries", 1.0), ("left to right", 1.0),
            ("as listed", 1.0), ("Hungarian", 0.1), ("cheapest query", 1.0),
            ("left to right", 0.1)]  # fmt: skip
OWN_ENCODER = [("Hungarian", 1.0), ("left to right", 1.0)]
STEPS, TRAINING_SCENES, TEST_SCENES, SEEDS = 600, 3000, 300, (1, 2, 3, 4, 5)


def points(
    settings: Sequence[tuple[str, float]], encoder: str = "frozen", steps: int = STEPS,
    seeds: Sequence[int] = SEEDS, n_train: int = TRAINING_SCENES, n_test: int = TEST_SCENES,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return the arguments of `measure` for these pairs of a matching and a no-object weight."""
    return [{"arm": arm, "no_object_weight": weight, "steps": steps, "seed": seed,
             "encoder": encoder, "n_train": n_train, "n_test": n_test}
            for seed in seeds for arm, weight in settings]  # fmt: skip


def experiment(**changes: Any) -> list[dict[str, Any]]:
    """Return the points of the page's experiments: all settings with a frozen encoder, two with a
    trained one, and one run of a common mistake; `changes` as `points` takes them, for short runs.
    """
    few = changes.get("seeds", SEEDS)[:3]
    return [
        *points(SETTINGS, **changes),
        *points(OWN_ENCODER, "trained", **{**changes, "seeds": few}),
        *points(OWN_ENCODER, "trained slowly", **{**changes, "seeds": few}),
        *points([("nearest object", 1.0)], **{**changes, "seeds": few[:1]}),
    ]


def difference(
    rows: Sequence[Row], key: str, arm: tuple[str, float],
    base: tuple[str, float] = ("Hungarian", 1.0), encoder: str = "frozen", contrasts: int = 1,
) -> Interval | float | None:  # fmt: skip
    """Return arm minus base in points, paired by seed, with its `interval`."""
    ours, theirs = (by_seed(rows, key, arm=name, no_object_weight=weight, encoder=encoder)
                    for name, weight in (arm, base))  # fmt: skip
    return interval(paired(ours, theirs), 100, contrasts)


def assemble(pretrained: Detr, trained: Detr) -> Detr:
    """Return a model trained on memories with the frozen parts before it: its input is pixels."""
    model = copy.deepcopy(pretrained)
    model.load_state_dict(trained.state_dict(), strict=False)
    return model.eval()


def weights_for_torch(model: Detr) -> dict[str, Tensor]:
    """Return a DETR's weights under the names of the page's `DETR`, whose layers are torch's."""
    found: dict[str, Tensor] = {}
    old = model.state_dict()
    for name, weight in old.items():
        side = "encoder" if name.startswith("encoder") else "decoder"
        new = name.replace(".blocks.", ".")
        for own, torchs in (
            ("decoder.norm", "norm"), ("classes", "to_class"), ("boxes.0", "to_box.0"),
            ("boxes.1", "to_box.2"), ("boxes.2", "to_box.4"), ("ff.inner", "linear1"),
            ("ff.out", "linear2"), ("attn_residual.norm", "norm1"),
            ("cross_residual.norm", "norm2"),
            ("ff_residual.norm", "norm2" if side == "encoder" else "norm3"),
            ("attn.", "self_attn."), ("cross.", "multihead_attn."),
            ("self_attn.out.", "self_attn.out_proj."),
            ("multihead_attn.out.", "multihead_attn.out_proj."),
        ):  # fmt: skip
            new = new.replace(own, torchs)
        if ".kv." in name:
            continue
        if ".q." in name:  # torch keeps queries, keys, and values in one matrix
            weight = torch.cat([weight, old[name.replace(".q.", ".kv.")]])
            new = new.replace(".q.", ".in_proj_")
        found[new] = weight
    return found


def sine_positions(side: int, d_model: int) -> Tensor:
    """Return 2-D sine position embeddings (side^2, d_model) of a square feature map."""
    return grid_sines(torch.ones(1, side, side, dtype=torch.bool), d_model)[0].float()


def cross_attention(model: Detr, images: Tensor) -> Tensor:
    """Return the last decoder layer's cross-attention, mean of the heads: (B, N, h, w)."""
    with record(model, f"decoder.blocks.{model.config.n_layers - 1}.cross.*weights") as seen:
        model(images)
    (weights,) = seen.values()
    side = images.shape[-1] // STRIDE
    return weights[0].mean(1).unflatten(-1, (side, side)).detach()


def cheapest_queries(logits: Tensor, boxes: Tensor, truth: Truth, n: int) -> list[int]:
    """Return n queries of one scene in order: the matched ones, then those of the least cost."""
    cost = costs(logits, boxes, truth)
    matched = hungarian(cost)[0].tolist()
    others = [q for q in cost.min(1).values.argsort().tolist() if q not in matched]
    return sorted([*matched, *others][:n])


def inside_box(attention: Tensor, box: Tensor) -> float:
    """Return the fraction of an attention map (n, n) at positions that overlap a box."""
    n = len(attention)
    low, high = ((box[:2] + sign * box[2:] / 2) * n for sign in (-1, 1))
    cells = torch.arange(n)
    x, y = ((cells + 1 > low[k]) & (cells < high[k]) for k in (0, 1))
    return float(attention[y][:, x].sum() / attention.sum())


def attention_in_box(model: Detr, scenes: Scenes) -> tuple[float, float, int]:
    """Return, for confident queries and the objects they are matched with, the mean attention at
    positions of the object's box, the mean fraction of such positions, and the number of pairs.
    """
    images, truth = pixels(scenes), truths(scenes)
    with torch.no_grad():
        logits, boxes = model(images)
    attention = cross_attention(model, images)
    uniform = torch.ones_like(attention[0, 0])
    found = []
    for n, true in enumerate(truth):
        for q, j in zip(*hungarian(costs(logits[n], boxes[n], true)), strict=True):
            if logits[n, q].softmax(-1)[-1] < 0.5:
                box = true.boxes[j]
                found.append((inside_box(attention[n, q], box), inside_box(uniform, box)))
    inside, area = np.mean(found, 0).tolist() if found else (0.0, 0.0)
    return inside, area, len(found)
