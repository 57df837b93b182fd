"""Average precision (AP) of object detection, as in COCO.

A predicted box is correct if its IoU with an object of its class that no more confident box matches
is high enough. Sorted by confidence, the boxes of all images give precision and recall after each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from deepdive.core.checks import finite, positive
from deepdive.evaluate.confidence_intervals import Interval

Real = NDArray[np.float64]
THRESHOLDS = tuple(0.5 + 0.05 * i for i in range(10))  # of IoU
RECALLS = np.linspace(0, 1, 101)


class Marked(NamedTuple):
    """The predicted boxes of one image, most confident first, and which of them are correct.

    scores (D,), kinds (D,)   confidence and class of each box
    right (thresholds, D)     whether the box is correct at each IoU threshold
    things (n_kinds,)         the number of objects of each class
    """

    scores: Real
    kinds: NDArray[np.int64]
    right: NDArray[np.bool_]
    things: NDArray[np.int64]


def mark(
    scores: Any, kinds: Any, boxes: Any, true_kinds: Any, true_boxes: Any, n_kinds: int,
    thresholds: Sequence[float] = THRESHOLDS, most: int = 100,
) -> Marked:  # fmt: skip
    """Match the predicted boxes (D, 4) of one image to its true ones (M, 4), as center and size.

    In order of decreasing confidence, a box is matched to the unmatched object of its class with
    the highest IoU, if that is at least the threshold. Only the `most` most confident boxes of a
    class count. Raises ValueError if scores, kinds and boxes differ in number, and for NaN, unknown
    classes, and negative sizes.
    Source: Lin et al. 2014, and `COCOeval.evaluateImg` of pycocotools.
    """
    conf, pred = np.asarray(scores, np.float64), np.asarray(kinds, np.int64)
    labels = np.asarray(true_kinds, np.int64)
    found, true = (np.asarray(b, np.float64).reshape(-1, 4) for b in (boxes, true_boxes))
    if not len(conf) == len(pred) == len(found) or len(labels) != len(true):
        raise ValueError(
            f"scores, kinds, boxes: {len(conf)}, {len(pred)}, {len(found)}, expected equal counts; "
            f"true_kinds, true_boxes: {len(labels)}, {len(true)}, expected equal counts"
        )
    positive(n_kinds=n_kinds, most=most)
    finite("scores", conf)
    for name, kind in (("kinds", pred), ("true_kinds", labels)):
        if len(kind) and not 0 <= kind.min() <= kind.max() < n_kinds:
            raise ValueError(
                f"{name}: got {kind.min()} to {kind.max()}, expected 0 to {n_kinds - 1}, from "
                f"n_kinds={n_kinds}"
            )
    for name, four in (("boxes", found), ("true_boxes", true)):
        finite(name, four)
        if (four[:, 2:] < 0).any():
            raise ValueError(
                f"{name}: a size is negative; expected (x, y, width, height), (x, y) the center"
            )
    order = np.argsort(-conf, kind="stable")
    rank = [int((pred[order[:i]] == pred[n]).sum()) for i, n in enumerate(order)]
    order = order[np.array(rank, np.int64) < most] if len(order) else order
    ious = _iou(found, true)
    correct = np.zeros((len(thresholds), len(order)), bool)
    for t, threshold in enumerate(thresholds):
        matched = np.zeros(len(true), bool)
        for d, n in enumerate(order):
            free = np.flatnonzero(~matched & (labels == pred[n]))
            best = free[len(free) - 1 - np.argmax(ious[n, free][::-1])] if len(free) else -1
            if best >= 0 and ious[n, best] >= min(threshold, 1 - 1e-10):
                matched[best] = correct[t, d] = True
    return Marked(conf[order], pred[order], correct, np.bincount(labels, minlength=n_kinds))


def mark_all(logits: Any, boxes: Any, truths: Sequence[Any]) -> list[Marked]:
    """Match the outputs of DETR, logits (B, N, n_kinds + 1) and boxes (B, N, 4), to each image's
    (true kinds, true boxes). Every query predicts its most probable class other than "no object",
    with the softmax probability over all classes including "no object" as confidence.
    """
    probs = torch.as_tensor(logits).detach().softmax(-1)[..., :-1]
    scores, kinds = probs.max(-1)
    predictions = zip(scores, kinds, torch.as_tensor(boxes).detach(), truths, strict=True)
    n_kinds = probs.shape[-1]
    return [mark(s, k, b, truth[0], truth[1], n_kinds) for s, k, b, truth in predictions]


def _iou(a: Real, b: Real) -> Real:
    """Return IoU (D, M): `layers.boxes.iou` in numpy; a test compares the two."""
    low = np.maximum(a[:, None, :2] - a[:, None, 2:] / 2, b[:, :2] - b[:, 2:] / 2)
    high = np.minimum(a[:, None, :2] + a[:, None, 2:] / 2, b[:, :2] + b[:, 2:] / 2)
    both = (high - low).clip(0).prod(-1)
    return both / (a[:, 2:].prod(-1)[:, None] + b[:, 2:].prod(-1) - both)


def precisions(scores: Any, right: Any, things: int) -> Real:
    """Return interpolated precision at the 101 recalls 0, 0.01 ... 1 for boxes of one class: the
    largest precision at that recall or a higher one, 0 if that recall is not reached.
    """
    finite("scores", scores)
    order = np.argsort(-np.asarray(scores), kind="stable")
    hits = np.cumsum(np.asarray(right, bool)[order])
    recall = hits / things
    precision = hits / np.arange(1, 1 + len(hits))
    best = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.searchsorted(recall, RECALLS, side="left")
    return np.append(best, 0.0)[np.minimum(at, len(best))]


def average_precision(scenes: Sequence[Marked]) -> Real:
    """Return average precision (thresholds, n_kinds), the mean of `precisions`; NaN for a class
    without objects. COCO's AP is the mean of all (`np.nanmean`), its AP50 the mean of the first
    row. Raises ValueError if there are no scenes.
    """
    if not scenes:
        raise ValueError("scenes: got none, expected at least one result of `mark`")
    scores, kinds = (np.concatenate([s[i] for s in scenes]) for i in (0, 1))
    right = np.concatenate([scene.right for scene in scenes], 1)
    things = np.sum([scene.things for scene in scenes], 0)
    found = np.full((len(right), len(things)), np.nan)
    for kind in np.flatnonzero(things):
        of = kinds == kind
        for t in range(len(right)):
            found[t, kind] = precisions(scores[of], right[t, of], things[kind]).mean()
    return found


def ap_interval(scenes: Sequence[Marked], draws: int = 200, seed: int = 0) -> Interval:
    """Return COCO's AP with its 95 % bootstrap interval over images.

    It covers variation over similar images, not over training seeds.
    """
    rng = np.random.default_rng(seed)
    samples = [rng.integers(len(scenes), size=len(scenes)) for _ in range(draws)]
    values = [np.nanmean(average_precision([scenes[i] for i in each])) for each in samples]
    low, high = np.quantile(values, (0.025, 0.975))
    return Interval(float(np.nanmean(average_precision(scenes))), float(low), float(high))
