"""Average precision of boxes, as COCO counts it.

A box that was said is right where it shares enough with a thing of its kind that no surer box has
taken. Sorted by how sure they are, the boxes of all scenes give precision and recall after each.
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
    """What was said of one scene, the surest first, and which of it is right.

    scores (D,), kinds (D,)   of each box
    right (thresholds, D)     at each threshold of IoU
    things (n_kinds,)         how many there are of each kind
    """

    scores: Real
    kinds: NDArray[np.int64]
    right: NDArray[np.bool_]
    things: NDArray[np.int64]


def mark(
    scores: Any, kinds: Any, boxes: Any, true_kinds: Any, true_boxes: Any, n_kinds: int,
    thresholds: Sequence[float] = THRESHOLDS, most: int = 100,
) -> Marked:  # fmt: skip
    """Mark the boxes (D, 4) said of one scene, given like the true ones (M, 4) as middle and sides.

    From the surest to the least sure, a box takes that thing of its kind, among those not taken,
    with which it shares most, if IoU is at least the threshold. Only the `most` surest of a kind
    count. Raises ValueError where numbers of scores, kinds and boxes differ, and for NaN,
    unknown kinds, and negative sides.
    Source: Lin et al. 2014, and `COCOeval.evaluateImg` of pycocotools.
    """
    sure, said = np.asarray(scores, np.float64), np.asarray(kinds, np.int64)
    theirs = np.asarray(true_kinds, np.int64)
    mine, true = (np.asarray(b, np.float64).reshape(-1, 4) for b in (boxes, true_boxes))
    if not len(sure) == len(said) == len(mine) or len(theirs) != len(true):
        raise ValueError(
            f"scores, kinds, boxes: {len(sure)}, {len(said)}, {len(mine)}, expected equal counts; "
            f"true_kinds, true_boxes: {len(theirs)}, {len(true)}, expected equal counts"
        )
    positive(n_kinds=n_kinds, most=most)
    finite("scores", sure)
    for name, kind in (("kinds", said), ("true_kinds", theirs)):
        if len(kind) and not 0 <= kind.min() <= kind.max() < n_kinds:
            raise ValueError(
                f"{name}: from {kind.min()} to {kind.max()}, expected 0 to {n_kinds - 1}, as "
                f"n_kinds={n_kinds} says"
            )
    for name, four in (("boxes", mine), ("true_boxes", true)):
        finite(name, four)
        if (four[:, 2:] < 0).any():
            raise ValueError(
                f"{name}: a side is negative; expected (x, y, width, height), the middle and sides"
            )
    order = np.argsort(-sure, kind="stable")
    place = [int((said[order[:i]] == said[n]).sum()) for i, n in enumerate(order)]
    order = order[np.array(place, np.int64) < most] if len(order) else order
    shared = _iou(mine, true)
    right = np.zeros((len(thresholds), len(order)), bool)
    for t, threshold in enumerate(thresholds):
        taken = np.zeros(len(true), bool)
        for d, n in enumerate(order):
            free = np.flatnonzero(~taken & (theirs == said[n]))
            best = free[len(free) - 1 - np.argmax(shared[n, free][::-1])] if len(free) else -1
            if best >= 0 and shared[n, best] >= min(threshold, 1 - 1e-10):
                taken[best] = right[t, d] = True
    return Marked(sure[order], said[order], right, np.bincount(theirs, minlength=n_kinds))


def mark_all(logits: Any, boxes: Any, truths: Sequence[Any]) -> list[Marked]:
    """Mark what a DETR says of scenes: logits (B, N, n_kinds + 1), boxes (B, N, 4), and of each
    scene (true kinds, true boxes). Every query says its most probable kind, never "nothing", and is
    as sure of it as the softmax over all says, "nothing" among them.
    """
    shares = torch.as_tensor(logits).detach().softmax(-1)[..., :-1]
    scores, kinds = shares.max(-1)
    said = zip(scores, kinds, torch.as_tensor(boxes).detach(), truths, strict=True)
    n_kinds = shares.shape[-1]
    return [mark(s, k, b, truth[0], truth[1], n_kinds) for s, k, b, truth in said]


def _iou(a: Real, b: Real) -> Real:
    """Intersection over union (D, M); `layers.boxes.iou` in numpy, beside which a test holds it."""
    low = np.maximum(a[:, None, :2] - a[:, None, 2:] / 2, b[:, :2] - b[:, 2:] / 2)
    high = np.minimum(a[:, None, :2] + a[:, None, 2:] / 2, b[:, :2] + b[:, 2:] / 2)
    both = (high - low).clip(0).prod(-1)
    return both / (a[:, 2:].prod(-1)[:, None] + b[:, 2:].prod(-1) - both)


def precisions(scores: Any, right: Any, things: int) -> Real:
    """Precision at the 101 recalls 0, 0.01 ... 1 for boxes of one kind: for each recall the largest
    precision that is reached at that recall or a larger one, 0 where none is reached.
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
    """Average precision (thresholds, n_kinds): the mean of `precisions`; not a number for a kind
    that no scene has. COCO's AP is the mean of all (`np.nanmean`), its AP50 that of the first row.
    Raises ValueError for no scenes.
    """
    if not scenes:
        raise ValueError("scenes: got none, expected one or more that `mark` has marked")
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
    """COCO's AP, with the interval of its values over samples of the scenes with replacement: 95 %.

    It speaks of other scenes of this kind, not of other seeds in training.
    """
    rng = np.random.default_rng(seed)
    drawn = [rng.integers(len(scenes), size=len(scenes)) for _ in range(draws)]
    values = [np.nanmean(average_precision([scenes[i] for i in each])) for each in drawn]
    low, high = np.quantile(values, (0.025, 0.975))
    return Interval(float(np.nanmean(average_precision(scenes))), float(low), float(high))
