"""Scores by the ratio to the neighbours: the definition by loops, a hub that loses, refusals."""

import pytest
import torch

from deepdive.evaluate.similarity import ratio_scores


def test_equals_loops() -> None:
    table = torch.rand(5, 7, generator=torch.Generator().manual_seed(0)).double()
    for k in (1, 3, 5):
        found = ratio_scores(table, k)
        for i in range(5):
            for j in range(7):
                row = sum(sorted(table[i].tolist())[-k:]) / k
                column = sum(sorted(table[:, j].tolist())[-k:]) / k
                assert abs(float(found[i, j]) - float(table[i, j]) / ((row + column) / 2)) < 1e-12


def test_a_hub_loses() -> None:
    """Column 0 is near everything; every other text has its partner at the next place."""
    table = torch.eye(4) * 0.5 + 0.1
    table[:, 0] = 0.65
    assert table.argmax(1).tolist() == [0, 0, 0, 0]
    assert ratio_scores(table, 3).argmax(1).tolist() == [0, 1, 2, 3]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(3, 3\), expected 4 by 4"):
        ratio_scores(torch.eye(3))
    with pytest.raises(ValueError, match="not above 0"):
        ratio_scores(-torch.eye(4))
