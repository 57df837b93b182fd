"""Cepstra changed: each claim of the docstrings, and what a spectrum read at other bands says."""

import numpy as np
import pytest
import torch
from torch import Tensor

from deepdive.audio import AudioError
from deepdive.audio.mel import cosines
from deepdive_book.tasks.cepstra import stretched, warped


def hills() -> Tensor:
    """A log mel spectrum of two hills, one frame of 40 bands."""
    m = torch.arange(40.0)
    return (-((m - 12) ** 2) / 30).exp() + (-((m - 26) ** 2) / 40).exp()


CEPSTRA = (hills()[None].double() @ cosines(13, 40)).float()


def test_a_throat_as_long_changes_nothing() -> None:
    x = torch.randn(5, 13)
    torch.testing.assert_close(warped(x, 1.0), x, atol=1e-5, rtol=0)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_hills_of_the_spectrum_move_by_the_factor(factor: float) -> None:
    m = np.arange(40) + 0.5
    read = np.interp(m / factor, m, hills().numpy())
    direct = (torch.from_numpy(read)[None] @ cosines(13, 40)).float()
    assert (warped(CEPSTRA, factor) - direct).abs().max() < (CEPSTRA - direct).abs().max() / 10


def test_two_throats_one_after_the_other_are_one() -> None:
    back = warped(warped(CEPSTRA, 1.05), 1 / 1.05)
    torch.testing.assert_close(back, CEPSTRA, atol=0.05, rtol=0)


def test_stretched_keeps_ends_and_lines() -> None:
    line = torch.linspace(0, 1, 11)[:, None] * torch.tensor([1.0, -2.0])
    long = stretched(line, 2.0)
    assert long.shape == (22, 2)
    torch.testing.assert_close(long[[0, -1]], line[[0, -1]])
    assert long.diff(n=2, dim=0).abs().max() < 1e-6
    torch.testing.assert_close(stretched(line, 1.0), line)
    assert len(stretched(line[:1], 0.25)) == 1


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan"), 11.0])
def test_a_factor_out_of_reach_is_named(factor: float) -> None:
    for change in (warped, stretched):
        with pytest.raises(AudioError, match="factor"):
            change(CEPSTRA, factor)
