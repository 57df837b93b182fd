"""The Frechet distance against scipy's matrix square root, and by hand."""

from __future__ import annotations

import pytest
import torch
from scipy.linalg import sqrtm

from deepdive.evaluate.frechet import frechet


def sets(d: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    a, b = (torch.randn(60, d, generator=draw, dtype=torch.float64) for _ in range(2))
    return a, b @ torch.randn(d, d, generator=draw, dtype=torch.float64) + 1


def test_it_is_the_formula_with_scipys_root() -> None:
    a, b = sets()
    one, two = torch.cov(a.T), torch.cov(b.T)
    root = torch.from_numpy(sqrtm((one @ two).numpy()).real)
    expected = (a.mean(0) - b.mean(0)).square().sum() + (one + two - 2 * root).trace()
    assert frechet(a, b) == pytest.approx(float(expected))
    assert frechet(a, b) == pytest.approx(frechet(b, a))


def test_by_hand_in_one_dimension() -> None:
    """Means 0 and 3, variances 1 and 4: 9 + (1 - 2)^2."""
    a = torch.tensor([[-1.0], [0.0], [1.0]])
    assert frechet(a, 2 * a + 3) == pytest.approx(10.0)


def test_equal_sets_are_not_apart_and_a_shift_counts_as_its_square() -> None:
    a, _ = sets()
    assert frechet(a, a.flip(0)) == pytest.approx(0, abs=1e-9)
    assert frechet(a, a + 2) == pytest.approx(5 * 4)


def test_few_rows_are_refused() -> None:
    with pytest.raises(ValueError, match=r"b: got \(4, 5\)"):
        frechet(torch.randn(9, 5), torch.randn(4, 5))
