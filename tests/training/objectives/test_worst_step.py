"""Adversarial training in embedding space: its equation on a linear model; padding stays."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.hooks import HookPoint
from deepdive.training.objectives.adversarial_training import adversarial_training_loss


class Linear(nn.Module):
    """logits = [0, w . the sum of the real rows]; word v is the row v of `rows`."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.tensor([[7.0, 7.0], [1.0, 0.0], [0.0, 2.0]]))
        self.weight = nn.Parameter(torch.tensor([3.0, 4.0]))
        self.embedded = HookPoint()

    def forward(self, tokens: Tensor, real: Tensor) -> Tensor:
        x = self.embedded(self.rows[tokens])
        yes = ((x @ self.weight) * real).sum(1)
        return torch.stack([torch.zeros_like(yes), yes], 1)


def test_on_a_linear_model_the_worst_step_lowers_the_margin_by_radius_times_length() -> None:
    """Two real places: g has length 5 sqrt(2) a unit of slope, padding adds nothing to it."""
    model, tokens = Linear(), torch.tensor([[1, 2, 0], [1, 1, 0]])
    labels = torch.tensor([[1], [0]])
    found = adversarial_training_loss(model, (labels, tokens), "embedded", 0.1)
    fall = 0.1 * 5 * 2**0.5
    yes = torch.tensor([11.0, 6.0])
    clean = F.softplus(torch.stack([-yes[0], yes[1]])).mean()
    worst = F.softplus(torch.stack([-yes[0] + fall, yes[1] + fall])).mean()
    assert found.item() == pytest.approx(((clean + worst) / 2).item(), rel=1e-5)
    found.backward()
    assert model.rows.grad is not None
    assert model.rows.grad[0].abs().max() == 0, "padding teaches nothing"
    assert model.rows.grad[1:].abs().min() > 0


def test_a_radius_must_be_positive() -> None:
    with pytest.raises(ValueError, match="radius=0"):
        adversarial_training_loss(
            Linear(), (torch.tensor([[1]]), torch.tensor([[1]])), "embedded", 0.0
        )
