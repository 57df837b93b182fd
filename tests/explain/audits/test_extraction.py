"""Exposure: ranks by enumeration, chance where nothing was seen, estimates held to scipy."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
from scipy.stats import skewnorm

from deepdive.explain.audits.extraction import exposure, extrapolated, log_probabilities, sampled
from deepdive.models.transformer.decoder_only import tiny

SYMBOLS = torch.tensor([5, 9, 6])


@pytest.mark.parametrize("batch", [2, 1000])
def test_every_candidate_has_the_models_probability(batch: int) -> None:
    torch.manual_seed(0)
    model, prefix = tiny(12).eval(), torch.tensor([1, 4, 7])
    said = log_probabilities(model, prefix, SYMBOLS, 3, batch=batch)
    assert said.shape == (27,)
    for value, digits in zip(said.tolist(), product(SYMBOLS.tolist(), repeat=3), strict=True):
        text = torch.tensor([[*prefix.tolist(), *digits]])
        with torch.no_grad():
            logs = model(text).log_softmax(-1)[0]
        expected = sum(float(logs[2 + i, digit]) for i, digit in enumerate(digits))
        assert value == pytest.approx(expected, abs=1e-5)


def test_exposure_by_rank() -> None:
    said = torch.tensor([-4.0, -1.0, -3.0, -2.0, -9.0, -8.0, -7.0, -6.0])
    assert [exposure(said, own) for own in (1, 3, 4)] == [3, 2, 0]
    assert exposure(torch.zeros(8), 2) == 0  # all alike: nothing is known
    assert exposure(torch.tensor([-1.0, -1.0, -2.0, -3.0]), 0) == 1  # a tie counts against it


def test_by_chance_it_is_one_over_ln_2() -> None:
    said = torch.rand(4096, generator=torch.Generator().manual_seed(0))
    mean = sum(exposure(said, own) for own in range(4096)) / 4096
    assert mean == pytest.approx(1 / math.log(2), abs=0.01)


def test_a_sample_estimates_it_and_has_an_end() -> None:
    draw = torch.Generator().manual_seed(1)
    said = torch.randn(10_000, generator=draw)
    some = said[torch.randperm(10_000, generator=draw)[:1000]]
    for own in (3, 17, 200):
        estimate = sampled(some, float(said[own]))
        assert estimate == pytest.approx(exposure(said, own), abs=0.3)
    assert sampled(some, 99.0) == math.log2(1001)
    assert sampled(some, -99.0) == 0


@pytest.mark.parametrize("shape", [-4.0, 0.0, 4.0])
def test_the_curve_is_scipys_skew_normal(shape: float) -> None:
    """To the far tail, where a sample sees nothing: the parameters are those it was drawn from."""
    x = skewnorm.rvs(shape, loc=-20, scale=3, size=200_000, random_state=0)
    for own in (-22.0, -18.0, -12.0):
        expected = -skewnorm.logsf(own, shape, loc=-20, scale=3) / math.log(2)
        # shape follows from the third moment, which is nearly 0 about shape 0
        found = extrapolated(torch.from_numpy(x), own)
        assert found == pytest.approx(expected, rel=0.08, abs=0.05)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="length=0"):
        log_probabilities(tiny(12), torch.tensor([1]), SYMBOLS, 0)
    with pytest.raises(IndexError, match="secret's index, 0 to 3"):
        exposure(torch.zeros(4), 4)
    with pytest.raises(ValueError, match="3 or more, not all equal"):
        extrapolated(torch.zeros(5), 1.0)
