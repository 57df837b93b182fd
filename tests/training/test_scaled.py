"""Adam with steps as large as what they move: its formula, its limit, what does not matter."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from deepdive.training.parameter_scaled_adam import ScaledAdam


def walked(start: Tensor, size: float, **settings: Any) -> Tensor:
    """The weights after 20 steps down a bowl that is asked about `size * p`."""
    p = nn.Parameter(start / size)
    aim = torch.linspace(-1, 1, len(start)).double()
    optimizer = ScaledAdam([p], **settings)
    for _ in range(20):
        optimizer.zero_grad()
        (size * p - aim).square().sum().backward()
        optimizer.step()
    return p.detach() * size


def test_by_the_formula() -> None:
    p = nn.Parameter(torch.tensor([3.0, -4.0]).double())
    optimizer = ScaledAdam([p], lr=0.1, betas=(0.9, 0.99), eps=1e-6)
    m = v = torch.zeros(2).double()
    expected = p.detach().clone()
    for t in range(1, 6):
        g = 2 * expected
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
        rms = math.sqrt(float(expected.square().mean()))
        hat = m / (1 - 0.9**t) / ((v / (1 - 0.99**t)).sqrt() + 1e-6)
        expected = expected - 0.1 * rms * hat
        optimizer.zero_grad()
        p.square().sum().backward()
        optimizer.step()
        assert torch.allclose(p.detach(), expected, atol=1e-12)


def test_where_the_root_mean_square_is_1_a_step_is_adam_s() -> None:
    start = torch.tensor([1.0, -1.0, 1.0]).double()
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    for p, optimizer in (
        (ours, ScaledAdam([ours], lr=0.1, eps=1e-6)),
        (theirs, torch.optim.Adam([theirs], lr=0.1, eps=1e-6)),
    ):
        (p * torch.tensor([1.0, 2.0, -3.0])).sum().backward()
        optimizer.step()
    assert torch.allclose(ours, theirs, atol=1e-12)


def test_the_way_does_not_depend_on_the_unit_in_which_weights_are_kept() -> None:
    """Weights a hundred times as large, read a hundredth: the same function at every step."""
    start = torch.randn(5, generator=torch.Generator().manual_seed(0)).double()
    settings = {"lr": 0.05, "eps": 1e-12, "floor": 0.0}
    for size in (0.01, 100.0):
        assert torch.allclose(walked(start, size, **settings), walked(start, 1.0, **settings))


def test_a_tensor_of_zeros_begins() -> None:
    p = nn.Parameter(torch.zeros(3))
    optimizer = ScaledAdam([p], lr=0.1)
    p.sum().backward()
    optimizer.step()
    assert torch.allclose(p, torch.full((3,), -1e-4), atol=1e-8)


def test_it_is_saved_and_goes_on() -> None:
    start = torch.tensor([3.0, -4.0])
    ways = []
    for stops in (False, True):
        p = nn.Parameter(start.clone())
        optimizer = ScaledAdam([p], lr=0.1)
        for step in range(6):
            if stops and step == 3:
                state, optimizer = optimizer.state_dict(), ScaledAdam([p], lr=0.1)
                optimizer.load_state_dict(state)
            optimizer.zero_grad()
            p.square().sum().backward()
            optimizer.step(lambda p=p: p.square().sum())
        ways.append(p.detach())
    assert torch.equal(*ways)


@pytest.mark.parametrize("wrong", [{"lr": -1.0}, {"eps": 0.0}, {"betas": (0.9, 1.0)}])
def test_numbers_out_of_range(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="lr, betas, eps, floor: got"):
        ScaledAdam([nn.Parameter(torch.ones(1))], **wrong)
    with pytest.raises(ValueError, match="none requires a gradient"):
        ScaledAdam([])
