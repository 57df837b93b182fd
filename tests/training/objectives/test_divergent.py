"""The adversary's loss: written out, and what it pulls where."""

from __future__ import annotations

import math

import pytest
import torch

from deepdive.training.objectives.attention_divergence import divergent_loss


def test_it_is_its_equation() -> None:
    shares, base = torch.tensor([[0.7, 0.3]]), torch.tensor([[0.9, 0.1]])
    weights, base_weights = torch.tensor([[0.5, 0.5, 0.0]]), torch.tensor([[0.25, 0.75, 0.0]])
    kl = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    loss = float(divergent_loss(shares, base, weights, base_weights, 2.0))
    assert loss == pytest.approx(0.2 - 2 * kl, abs=1e-6)
    assert float(divergent_loss(shares, base, weights, base_weights, 0.0)) == pytest.approx(0.2)
    with pytest.raises(ValueError, match="far"):
        divergent_loss(shares, base, weights, base_weights, -1.0)


def test_a_step_goes_away_from_the_base_s_attention_and_leaves_padding_alone() -> None:
    base_weights = torch.tensor([[0.6, 0.4, 0.0]])
    weights = torch.tensor([[0.5, 0.5, 0.0]], requires_grad=True)
    answers = torch.tensor([[1.0, 0.0]])
    loss = divergent_loss(answers, answers, weights, base_weights, 1.0)
    (slope,) = torch.autograd.grad(loss, [weights])
    assert slope.isfinite().all()
    assert float(slope[0, 0]) > float(slope[0, 1]), "less of what the base looks at most"
    assert float(slope[0, 2]) == 0
