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


class Matches(NamedTuple):
    """The predicted boxes of one image, most confident first, and which of them are correct.

    scores (D,), classes (D,)   confidence and class of each box
    correct (thresholds, D)     whether the box is correct at each IoU threshold
    n_objects (n_classes,)      the number of objects of each class
    """

    scores: Real
    classes: NDArray[np.int64]
    correct: NDArray[np.bool_]
    n_objects: NDArray[np.int64]


def match_boxes(
    scores: Any, classes: Any, boxes: Any, true_classes: Any, true_boxes: Any, n_classes: int,
    thresholds: Sequence[float] = THRESHOLDS, limit: int = 100,
) -> Matches:  # fmt: skip
    """Match the predicted boxes (D, 4) of one image to its true ones (M, 4), as center and size.

    In order of decreasing confidence, a box is matched to the unmatched object of its class with
    the highest IoU, if that is at least the threshold. Only the `limit` most confident boxes of a
    class count. Raises ValueError if scores, classes and boxes differ in number, and for NaN,
    unknown classes, and negative sizes.
    Source: Lin et al. 2014, and `COCOeval.evaluateImg` of pycocotools.
    """
    conf, pred = np.asarray(scores, np.float64), np.asarray(classes, np.int64)
    labels = np.asarray(true_classes, np.int64)
    found, true = (np.asarray(b, np.float64).reshape(-1, 4) for b in (boxes, true_boxes))
    if not len(conf) == len(pred) == len(found) or len(labels) != len(true):
        raise ValueError(
            f"scores, classes, boxes: {len(conf)}, {len(pred)}, {len(found)}, expected equal "
            f"counts; "
            f"true_classes, true_boxes: {len(labels)}, {len(true)}, expected equal counts"
        )
    positive(n_classes=n_classes, limit=limit)
    finite("scores", conf)
    for name, label in (("classes", pred), ("true_classes", labels)):
        if len(label) and not 0 <= label.min() <= label.max() < n_classes:
            raise ValueError(
                f"{name}: got {label.min()} to {label.max()}, expected 0 to {n_classes - 1}, from "
                f"n_classes={n_classes}"
            )
    for name, four in (("boxes", found), ("true_boxes", true)):
        finite(name, four)
        if (four[:, 2:] < 0).any():
            raise ValueError(
                f"{name}: a size is negative; expected (x, y, width, height), (x, y) the center"
            )
    order = np.argsort(-conf, kind="stable")
    rank = [int((pred[order[:i]] == pred[n]).sum()) for i, n in enumerate(order)]
    order = order[np.array(rank, np.int64) < limit] if len(order) else order
    ious = _iou(found, true)
    correct = np.zeros((len(thresholds), len(order)), bool)
    for t, threshold in enumerate(thresholds):
        matched = np.zeros(len(true), bool)
        for d, n in enumerate(order):
            free = np.flatnonzero(~matched & (labels == pred[n]))
            best = free[len(free) - 1 - np.argmax(ious[n, free][::-1])] if len(free) else -1
            if best >= 0 and ious[n, best] >= min(threshold, 1 - 1e-10):
                matched[best] = correct[t, d] = True
    return Matches(conf[order], pred[order], correct, np.bincount(labels, minlength=n_classes))


def match_all_boxes(logits: Any, boxes: Any, truths: Sequence[Any]) -> list[Matches]:
    """Match the outputs of DETR, logits (B, N, n_classes + 1) and boxes (B, N, 4), to each image's
    (true classes, true boxes). Every query predicts its most probable class other than "no object",
    with the softmax probability over all classes including "no object" as confidence.
    """
    probs = torch.as_tensor(logits).detach().softmax(-1)[..., :-1]
    scores, classes = probs.max(-1)
    predictions = zip(scores, classes, torch.as_tensor(boxes).detach(), truths, strict=True)
    n_classes = probs.shape[-1]
    return [match_boxes(s, k, b, truth[0], truth[1], n_classes) for s, k, b, truth in predictions]


def _iou(a: Real, b: Real) -> Real:
    """Return IoU (D, M): `layers.boxes.iou` in numpy; a test compares the two."""
    low = np.maximum(a[:, None, :2] - a[:, None, 2:] / 2, b[:, :2] - b[:, 2:] / 2)
    high = np.minimum(a[:, None, :2] + a[:, None, 2:] / 2, b[:, :2] + b[:, 2:] / 2)
    both = (high - low).clip(0).prod(-1)
    return both / (a[:, 2:].prod(-1)[:, None] + b[:, 2:].prod(-1) - both)


def precisions(scores: Any, correct: Any, n_objects: int) -> Real:
    """Return interpolated precision at the 101 recalls 0, 0.01 ... 1 for boxes of one class: the
    largest precision at that recall or a higher one, 0 if that recall is not reached.
    """
    finite("scores", scores)
    order = np.argsort(-np.asarray(scores), kind="stable")
    hits = np.cumsum(np.asarray(correct, bool)[order])
    recall = hits / n_objects
    precision = hits / np.arange(1, 1 + len(hits))
    best = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.searchsorted(recall, RECALLS, side="left")
    return np.append(best, 0.0)[np.minimum(at, len(best))]


def average_precision(scenes: Sequence[Matches]) -> Real:
    """Return average precision (thresholds, n_classes), the mean of `precisions`; NaN for a class
    without objects. COCO's AP is the mean of all (`np.nanmean`), its AP50 the mean of the first
    row. Raises ValueError if there are no scenes.
    """
    if not scenes:
        raise ValueError("scenes: got none, expected at least one result of `match_boxes`")
    scores, classes = (np.concatenate([s[i] for s in scenes]) for i in (0, 1))
    correct = np.concatenate([scene.correct for scene in scenes], 1)
    n_objects = np.sum([scene.n_objects for scene in scenes], 0)
    found = np.full((len(correct), len(n_objects)), np.nan)
    for label in np.flatnonzero(n_objects):
        of = classes == label
        for t in range(len(correct)):
            found[t, label] = precisions(scores[of], correct[t, of], n_objects[label]).mean()
    return found


def ap_interval(scenes: Sequence[Matches], draws: int = 200, seed: int = 0) -> Interval:
    """Return COCO's AP with its 95 % bootstrap interval over images.

    It covers variation over similar images, not over training seeds.
    """
    rng = np.random.default_rng(seed)
    samples = [rng.integers(len(scenes), size=len(scenes)) for _ in range(draws)]
    values = [np.nanmean(average_precision([scenes[i] for i in each])) for each in samples]
    low, high = np.quantile(values, (0.025, 0.975))
    return Interval(float(np.nanmean(average_precision(scenes))), float(low), float(high))
