"""Masks: intersection over union beside scikit-learn's, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, jaccard_score

from deepdive.evaluate import confusion, intersection_over_union, mean_iou


@pytest.mark.parametrize("seed", range(5))
def test_equal_to_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true, painted = rng.integers(0, 5, (2, 3, 7, 9))
    flat = true.ravel(), painted.ravel()
    by_them = confusion_matrix(*flat, labels=range(5))
    assert np.array_equal(confusion(flat[1], flat[0], 5), by_them)
    each = jaccard_score(*flat, labels=range(5), average=None)
    assert intersection_over_union(by_them) == pytest.approx(each)
    assert mean_iou(painted, true, 5) == pytest.approx(each.mean())


def test_by_hand() -> None:
    """Ground 0 and a thing 1: of six pixels three are painted as they are; class 2 is nowhere."""
    true, painted = [0, 0, 1, 0, 1, 1], [0, 1, 1, 1, 1, 0]
    shares = intersection_over_union(confusion(painted, true, 3))
    assert shares[:2] == pytest.approx([1 / 4, 2 / 5])
    assert np.isnan(shares[2])
    assert mean_iou(painted, true, 3) == pytest.approx((1 / 4 + 2 / 5) / 2)


def test_the_same_mask_is_one_and_its_opposite_nothing() -> None:
    mask = np.array([[0, 1], [1, 0]])
    assert mean_iou(mask, mask, 2) == 1
    assert mean_iou(mask, 1 - mask, 2) == 0


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(2,\), \(3,\), expected equal shapes"):
        mean_iou([0, 1], [0, 1, 1], 2)
    with pytest.raises(ValueError, match="n_classes: got 2, but class 2 occurs"):
        mean_iou([0, 1], [0, 2], 2)
