"""Explanations: completeness, a planted feature, the rate of the integral."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from deepdive.explain.gradients import gradient_x_input, integrated_gradients
from deepdive.inspect import HookPoint
from deepdive.layers import gelu
from deepdive.models.transformer import transformer


class Planted(nn.Module):
    """Output t reads input row (t + 1) % S only, through a curved function."""

    def __init__(self, curve: object = torch.tanh) -> None:
        super().__init__()
        self.rows, self.curve = HookPoint(), curve

    def forward(self, x: Tensor) -> Tensor:
        return self.curve(self.rows(x).sum(-1).roll(-1, dims=1))  # (1, S)


@pytest.fixture
def x() -> Tensor:
    return torch.randn(1, 5, 3, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("method", [gradient_x_input, lambda *a: integrated_gradients(*a)[0]])
def test_a_planted_feature_is_found(method: object, x: Tensor) -> None:
    model = Planted()
    saliency = method(model, "rows", lambda: model(x)[0])
    planted = torch.eye(5).roll(1, dims=1).bool()
    assert saliency.shape == (5, 5)
    assert (saliency[~planted] == 0).all()
    assert (saliency[planted].abs() > 1e-3).all()


def test_gradient_x_input_is_exact_for_a_linear_model(x: Tensor) -> None:
    model = Planted(curve=lambda rows: 3 * rows)
    saliency = gradient_x_input(model, "rows", lambda: model(x)[0])
    assert torch.allclose(saliency.sum(-1), model(x)[0], atol=1e-12)


def test_integrated_gradients_are_complete_at_their_rate() -> None:
    """The gap to completeness falls like 1 / steps^2 on a smooth Transformer."""
    torch.manual_seed(0)
    sizes = {"d_model": 32, "n_heads": 4, "n_layers": 2, "d_ff": 64}
    model = transformer.transformer(32, **sizes, activation=gelu).double().eval()
    src, tgt = torch.randint(4, 32, (1, 6)), torch.randint(4, 32, (1, 4))

    def output() -> Tensor:
        return model(src, tgt)[0].log_softmax(-1)[torch.arange(4), tgt[0]]

    gaps = [
        integrated_gradients(model, "encoder.embedded", output, steps=steps)[1].abs().max().item()
        for steps in (32, 64, 128)
    ]
    assert gaps[2] < 1e-4
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.35)
    assert gaps[1] / gaps[2] == pytest.approx(4, rel=0.35)


def test_a_baseline_equal_to_the_input_explains_nothing(x: Tensor) -> None:
    model = Planted()
    saliency, gap = integrated_gradients(model, "rows", lambda: model(x)[0], x.detach()[0], steps=2)
    assert (saliency == 0).all()
    assert gap.abs().max() < 1e-12


def test_errors_name_the_argument(x: Tensor) -> None:
    model = Planted()
    with pytest.raises(ValueError, match=r"\(T,\); got \(1, 5\)"):
        gradient_x_input(model, "rows", lambda: model(x))
    with pytest.raises(ValueError, match="one input at a time"):
        gradient_x_input(model, "rows", lambda: model(x.expand(2, 5, 3))[0])
    with pytest.raises(ValueError, match="steps"):
        integrated_gradients(model, "rows", lambda: model(x)[0], steps=0)
