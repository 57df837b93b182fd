"""The least costly matching against all permutations, and the loss by hand."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
import torch

from deepdive.training.objectives.set_prediction import (
    Truth,
    by_order,
    costs,
    hungarian,
    set_loss,
    set_losses,
)


def brute_force(cost: torch.Tensor) -> float:
    """The least sum over all ways to give each column a row of its own (or each row a column)."""
    if cost.shape[0] < cost.shape[1]:
        cost = cost.T
    n, m = cost.shape
    return min(
        sum(cost[r, c].item() for c, r in enumerate(rows)) for rows in permutations(range(n), m)
    )


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 1), (5, 3), (4, 4), (6, 4), (3, 0)])
def test_no_permutation_costs_less(shape: tuple[int, int]) -> None:
    for seed in range(15):
        cost = torch.randn(shape, generator=torch.Generator().manual_seed(seed)).double()
        rows, columns = hungarian(cost)
        assert len(set(rows.tolist())) == len(set(columns.tolist())) == min(shape)
        assert cost[rows, columns].sum().item() == pytest.approx(brute_force(cost))


def test_two_by_three_by_hand() -> None:
    """Greedy takes the 1 and must pay 9; the best pays 2 + 3."""
    cost = torch.tensor([[1.0, 2, 8], [3, 9, 9]])
    rows, columns = hungarian(cost)
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [(0, 1), (1, 0)]
    assert [part.tolist() for part in by_order(cost)] == [[0, 1], [0, 1]]


def test_the_cost_by_hand() -> None:
    """A query sure by half of kind 0, its box a quarter to the left of the thing's."""
    logits = torch.zeros(1, 2)
    boxes, truth = torch.tensor([[0.25, 0.5, 0.5, 0.5]]), torch.tensor([[0.5, 0.5, 0.5, 0.5]])
    cost = costs(logits, boxes, Truth(torch.tensor([0]), truth))
    giou = 1 / 3 - 0
    assert cost.item() == pytest.approx(5 * 0.25 - 0.5 - 2 * giou)


def test_the_loss_by_hand() -> None:
    """Two queries, one thing: the first is matched, the second is taught "nothing" at a tenth."""
    p = torch.tensor([[[0.5, 0.5], [0.2, 0.8]]], dtype=torch.float64)
    boxes = torch.tensor([[[0.5, 0.5, 0.4, 0.4], [0.9, 0.9, 0.1, 0.1]]], dtype=torch.float64)
    truth = Truth(torch.tensor([0]), torch.tensor([[0.5, 0.5, 0.4, 0.2]], dtype=torch.float64))
    found = set_losses(p.log(), boxes, [truth])
    kinds = -(math.log(0.5) + 0.1 * math.log(0.8)) / 1.1
    assert found.classes.item() == pytest.approx(kinds)
    assert found.l1.item() == pytest.approx(0.2)
    assert found.giou.item() == pytest.approx(1 - 0.5)
    twice = set_loss(torch.stack([p.log()] * 2), torch.stack([boxes] * 2), [truth])
    assert twice.item() == pytest.approx(2 * (kinds + 5 * 0.2 + 2 * 0.5))


def test_the_order_of_queries_and_things_does_not_matter() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(1, 5, 4, generator=generator).double()
    boxes = 0.2 + 0.3 * torch.rand(1, 5, 4, generator=generator).double()
    truth = Truth(
        torch.tensor([2, 0, 1]), 0.2 + 0.3 * torch.rand(3, 4, generator=generator).double()
    )
    queries, things = torch.tensor([3, 0, 4, 2, 1]), torch.tensor([1, 2, 0])
    moved = Truth(truth.classes[things], truth.boxes[things])
    plain = set_losses(logits, boxes, [truth]).total
    assert set_losses(logits[:, queries], boxes[:, queries], [moved]).total.item() == pytest.approx(
        plain.item()
    )
    ordered = set_losses(logits, boxes, [truth], by_order).total
    assert set_losses(logits[:, queries], boxes[:, queries], [truth], by_order).total != ordered


def test_scenes_without_things_and_too_many() -> None:
    empty = Truth(torch.zeros(0, dtype=torch.long), torch.zeros(0, 4))
    found = set_losses(torch.zeros(1, 2, 3), torch.full((1, 2, 4), 0.5), [empty])
    assert (found.l1.item(), found.giou.item()) == (0, 0)
    assert found.classes.item() == pytest.approx(math.log(3))
    with pytest.raises(ValueError, match="got 2, expected one for each of 1 scenes"):
        set_losses(torch.zeros(1, 2, 3), torch.full((1, 2, 4), 0.5), [empty, empty])
    many = Truth(torch.zeros(3, dtype=torch.long), torch.full((3, 4), 0.5))
    with pytest.raises(ValueError, match="a scene has 3 objects, expected at most 2"):
        set_losses(torch.zeros(1, 2, 3), torch.full((1, 2, 4), 0.5), [many])
