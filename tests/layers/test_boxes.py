"""Boxes share what pixels say that they share; by hand, and against torch's own corners."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from deepdive.layers.boxes import corners, generalized_iou, iou

GRID = 12


def box(left: int, top: int, right: int, bottom: int) -> Tensor:
    """A box of a grid of 12 x 12 pixels, as middle and sides."""
    ends = torch.tensor([left, top, right, bottom], dtype=torch.float64) / GRID
    return torch.cat([(ends[:2] + ends[2:]) / 2, ends[2:] - ends[:2]])


def pixels(left: int, top: int, right: int, bottom: int) -> np.ndarray:
    there = np.zeros((GRID, GRID), bool)
    there[top:bottom, left:right] = True
    return there


def test_by_hand() -> None:
    """2 x 2 and 2 x 2, one pixel in common: 1/7, in a hull of 9, of which 2 are neither's. Apart by
    a column: 0 and a hull of 10 of which 2 are neither's.
    """
    a, b, c = (box(*ends)[None] for ends in ((0, 0, 2, 2), (1, 1, 3, 3), (3, 0, 5, 2)))
    assert iou(a, b).item() == pytest.approx(1 / 7)
    assert generalized_iou(a, b).item() == pytest.approx(1 / 7 - 2 / 9)
    assert (iou(a, c).item(), generalized_iou(a, c).item()) == pytest.approx((0, -2 / 10))
    assert generalized_iou(a, a).item() == pytest.approx(1)
    assert (GRID * corners(b)[0]).tolist() == pytest.approx([1, 1, 3, 3])


def test_against_counted_pixels() -> None:
    draw = np.random.default_rng(0)
    ends = []
    for _ in range(40):
        (left, right), (top, bottom) = (sorted(draw.choice(GRID + 1, 2, False)) for _ in range(2))
        ends.append((left, top, right, bottom))
    boxes = torch.stack([box(*each) for each in ends])
    plain, general = iou(boxes, boxes), generalized_iou(boxes, boxes)
    for i, one in enumerate(ends):
        for j, other in enumerate(ends):
            a, b = pixels(*one), pixels(*other)
            both, either = (a & b).sum(), (a | b).sum()
            low, high = np.minimum(one, other)[:2], np.maximum(one, other)[2:]
            hull = (high - low).prod()
            assert plain[i, j].item() == pytest.approx(both / either)
            assert general[i, j].item() == pytest.approx(both / either - (hull - either) / hull)


def test_giou_has_a_slope_where_boxes_share_nothing() -> None:
    a, b = box(0, 0, 2, 2).requires_grad_(), box(8, 0, 10, 2)
    generalized_iou(a[None], b[None]).sum().backward()
    assert a.grad is not None
    assert a.grad[0] > 0, "to the right, nearer"
