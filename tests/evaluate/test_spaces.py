"""The map between two languages' vectors: a turn is found, and nothing orthogonal is nearer."""

import math

import pytest
import torch

from deepdive.evaluate.procrustes import procrustes


def test_a_turn_is_found_again() -> None:
    draw = torch.Generator().manual_seed(0)
    turn = torch.linalg.qr(torch.randn(5, 5, generator=draw, dtype=torch.double)).Q
    a = torch.randn(9, 5, generator=draw, dtype=torch.double)
    found = procrustes(a, a @ turn)
    assert (found - turn).abs().max() < 1e-12
    assert (found.T @ found - torch.eye(5)).abs().max() < 1e-12


def test_no_turn_and_no_reflection_is_nearer() -> None:
    """In two dimensions all of them can be tried."""
    draw = torch.Generator().manual_seed(1)
    for _ in range(5):
        a, b = torch.randn(2, 4, 2, generator=draw, dtype=torch.double)
        least = (a @ procrustes(a, b) - b).square().sum()
        for step in range(720):
            c, s = math.cos(step * math.pi / 360), math.sin(step * math.pi / 360)
            for sign in (1, -1):
                w = torch.tensor([[c, s], [-sign * s, sign * c]], dtype=torch.double)
                assert (a @ w - b).square().sum() > least - 1e-12


def test_by_hand() -> None:
    """A quarter turn, in whole numbers."""
    a = torch.tensor([[1.0, 2], [-2, -1], [1, -1]])
    b = torch.tensor([[2.0, -1], [-1, 2], [-1, -1]])
    assert (a @ procrustes(a, b) - b).abs().max() < 1e-6


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shapes \(2, 3\) and \(2, 4\)"):
        procrustes(torch.zeros(2, 3), torch.zeros(2, 4))
