"""Bounds on a probability: by their definition, and how often they hold."""

from __future__ import annotations

from math import log

import pytest
import torch

from deepdive.explain.games.anchors import bounds


def divergence(p: float, q: float) -> float:
    return p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))


@pytest.mark.parametrize(("share", "count"), [(0.5, 10), (0.9, 100), (0.2, 7)])
def test_bounds_are_the_edges_of_the_divergence(share: float, count: int) -> None:
    low, high = bounds(share, count, 2.0)
    assert low < share < high
    for edge in (low, high):
        assert count * divergence(share, edge) == pytest.approx(2.0)
    assert bounds(1.0, 20, 3.0)[0] == pytest.approx(2.718281828 ** (-3 / 20))
    assert bounds(1.0, 20, 3.0)[1] == 1
    assert bounds(0.0, 20, 3.0)[0] == 0
    assert bounds(0.0, 0, 3.0) == (0, 1)


def test_the_bound_holds_as_often_as_it_says() -> None:
    """Of 2,000 runs of 50 coins the lower bound at exp(-level) = 0.05 fails in at most 5 %."""
    heads = (torch.rand(2000, 50) < 0.8).sum(1)
    wrong = sum(bounds(h / 50, 50, log(1 / 0.05))[0] > 0.8 for h in heads.tolist())
    assert 0 < wrong / 2000 <= 0.05
