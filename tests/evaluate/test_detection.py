"""Average precision by hand, by a slow reading of its definition, and as pycocotools gives it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from deepdive.evaluate.detection import (
    THRESHOLDS,
    Matches,
    _iou,
    ap_interval,
    average_precision,
    match_all_boxes,
    match_boxes,
    precisions,
)
from deepdive.layers.boxes import iou


def test_by_hand() -> None:
    """Three things; said: right, wrong, right. Precision 1, 1/2, 2/3 at recall 1/3, 1/3, 2/3: 1 for
    the recalls 0 to 0.33, 2/3 for 0.34 to 0.66, then 0.
    """
    found = precisions([0.9, 0.8, 0.7], [True, False, True], 3)
    assert found.tolist() == pytest.approx([1.0] * 34 + [2 / 3] * 33 + [0.0] * 34)
    assert found.mean() == pytest.approx((34 + 22) / 101)


def test_a_thing_is_found_once() -> None:
    """Two boxes on one thing: the surer is right, the other wrong, though it fits better."""
    thing = [[0.5, 0.5, 0.4, 0.4]]
    said = [[0.52, 0.5, 0.4, 0.4], [0.5, 0.5, 0.4, 0.4]]
    found = match_boxes([0.6, 0.9], [0, 0], said, [0], thing, 2)
    assert found.scores.tolist() == [0.9, 0.6]
    assert found.correct.tolist() == [[True, False]] * 10
    assert not match_boxes([0.6], [1], thing, [0], thing, 2).correct.any(), "another kind"
    assert np.isnan(average_precision([found])[:, 1]).all(), "no thing of kind 1"


def test_iou_is_that_of_the_library() -> None:
    a, b = (0.1 + 0.5 * torch.rand(7, 4, generator=torch.Generator().manual_seed(s)).double()
            for s in (0, 1))  # fmt: skip
    assert np.allclose(_iou(a.numpy(), b.numpy()), iou(a, b).numpy())


def scenes(number: int, seed: int = 0) -> list[dict[str, Any]]:
    """Scenes of up to four things of two kinds, and boxes near some of them."""
    draw = np.random.default_rng(seed)
    made = []
    for _ in range(number):
        n = int(draw.integers(0, 5))
        boxes = np.concatenate([draw.uniform(0.2, 0.8, (n, 2)), draw.uniform(0.1, 0.4, (n, 2))], 1)
        kinds = draw.integers(0, 2, n)
        near = np.repeat(boxes, 2, 0) + draw.normal(0, 0.03, (2 * n, 4))
        far = np.concatenate([draw.uniform(0.2, 0.8, (2, 2)), draw.uniform(0.1, 0.4, (2, 2))], 1)
        said = np.abs(np.concatenate([near, far]))
        guessed = np.concatenate([np.repeat(kinds, 2), draw.integers(0, 2, 2)])
        guessed = np.where(draw.random(len(said)) < 0.2, 1 - guessed, guessed)
        made.append({"scores": draw.random(len(said)).round(3), "classes": guessed, "boxes": said,
                     "true_classes": kinds, "true_boxes": boxes})  # fmt: skip
    return made


def slow(made: list[dict[str, Any]], kind: int, threshold: float) -> float:
    """The definition, box by box: no envelope, no search."""
    said = sorted(((s, i, d) for i, m in enumerate(made) for d, s in enumerate(m["scores"])
                   if m["classes"][d] == kind), key=lambda one: -one[0])  # fmt: skip
    taken = set()
    things = sum(int((m["true_classes"] == kind).sum()) for m in made)
    points, hits = [], 0
    for n, (_, i, d) in enumerate(said, 1):
        m = made[i]
        shares = [
            (_iou(m["boxes"][d : d + 1], m["true_boxes"][j : j + 1])[0, 0], j)
            for j, k in enumerate(m["true_classes"])
            if k == kind and (i, j) not in taken
        ]
        best = max(shares, default=(0.0, -1))
        if best[0] >= threshold:
            taken.add((i, best[1]))
            hits += 1
        points.append((hits / things, hits / n))
    at = [max((p for r, p in points if r >= wanted - 1e-12), default=0.0)
          for wanted in np.linspace(0, 1, 101)]  # fmt: skip
    return float(np.mean(at))


def marked(made: list[dict[str, Any]]) -> list[Matches]:
    return [match_boxes(**one, n_classes=2) for one in made]


def test_against_the_definition() -> None:
    made = scenes(25)
    found = average_precision(marked(made))
    assert found.shape == (10, 2)
    for t, threshold in enumerate(THRESHOLDS):
        for kind in range(2):
            assert found[t, kind] == pytest.approx(slow(made, kind, threshold))
    assert (np.diff(found.mean(1)) <= 1e-12).all(), "a stricter threshold is never easier"


def test_as_pycocotools_counts() -> None:
    """What COCOeval of pycocotools 2.0.11 gives for the same boxes, in pixels of 1,000: AP, AP50,
    AP75, and both kinds at IoU 0.50. At all ten thresholds the two agreed to 1e-15.
    """
    for (number, seed), whole, kinds in (
        ((25, 0), (0.14537211, 0.37745856, 0.04801355), (0.232263, 0.522655)),
        ((60, 1), (0.121303, 0.351044, 0.067315), (0.365785, 0.336304)),
    ):
        found = average_precision(marked(scenes(number, seed)))
        assert (found.mean(), found[0].mean(), found[5].mean()) == pytest.approx(whole, abs=1e-6)
        assert found[0].tolist() == pytest.approx(kinds, abs=1e-6)


def test_a_query_says_its_most_probable_kind_never_nothing() -> None:
    logits = torch.tensor([[[0.0, 2, 3], [1, 0, -5]]])
    boxes = torch.tensor([[[0.5, 0.5, 0.4, 0.4], [0.2, 0.2, 0.1, 0.1]]])
    (found,) = match_all_boxes(logits, boxes, [(torch.tensor([1]), boxes[0, :1])])
    assert found.classes.tolist() == [0, 1]
    share = logits[0].softmax(-1)
    assert found.scores.tolist() == pytest.approx([share[1, 0].item(), share[0, 1].item()])
    assert found.correct[0].tolist() == [False, True]


def test_the_interval_holds_the_value() -> None:
    found = ap_interval(marked(scenes(25)), draws=60)
    assert found.low < found.value < found.high
    assert found.value == pytest.approx(np.nanmean(average_precision(marked(scenes(25)))))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="1, 2, 1, expected equal counts"):
        match_boxes([0.5], [0, 1], [[0.5] * 4], [0], [[0.5] * 4], 2)
    with pytest.raises(ValueError, match="scenes: got none"):
        average_precision([])
    only = match_boxes([0.1 * i for i in range(5)], [0] * 5, [[0.5] * 4] * 5, [], [], 1, limit=2)
    assert only.scores.tolist() == pytest.approx([0.4, 0.3])
