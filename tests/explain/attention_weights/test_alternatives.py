"""Other weights for the same answer: distances as written out, searches that know what is there."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.spatial.distance import jensenshannon
from torch import Tensor, nn

from deepdive.explain.attention_weights.alternatives import (
    adversarial,
    jsd,
    permuted,
    reweighted,
    tvd,
)
from deepdive.models.interpretable.attention_classifier import attentive, no_rnn

REAL = torch.tensor([[True] * 5, [True, True, True, False, False]])


def shares(*shape: int, seed: int = 0) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=draw, dtype=torch.float64).softmax(-1)


def test_the_distances_are_those_of_scipy_and_of_events() -> None:
    p, q = shares(20, 6), shares(20, 6, seed=1)
    expected = torch.tensor([jensenshannon(a, b) ** 2 for a, b in zip(p, q, strict=True)])
    torch.testing.assert_close(jsd(p, q), expected)
    events = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * 6)
    torch.testing.assert_close(tvd(p, q), ((p - q) @ events.T).max(-1).values)
    one, other = torch.tensor([1.0, 0.0], requires_grad=True), torch.tensor([0.0, 1.0])
    assert float(jsd(one, other).detach()) == pytest.approx(math.log(2))
    assert float(tvd(one, other).detach()) == 1
    (slope,) = torch.autograd.grad(jsd(one, other), [one])
    assert slope.isfinite().all()


def test_the_model_s_own_weights_give_its_own_answer() -> None:
    torch.manual_seed(0)
    model = attentive(12, 3, 5, 4).double()
    tokens = torch.randint(12, (2, 5))
    weights, answer = reweighted(model, "attention.weights", tokens, REAL)
    torch.testing.assert_close(answer(weights), model(tokens, REAL).softmax(-1))
    assert weights.shape == (2, 1, 1, 5)
    with pytest.raises(ValueError, match="got 2 tensors"):
        reweighted(Twice(model), "model.attention.weights", tokens)


class Twice(nn.Module):
    """Asks a model twice."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        return torch.as_tensor(self.model(tokens) + self.model(tokens))


def test_where_all_states_are_alike_every_attention_gives_the_same_answer() -> None:
    """One word, again and again: the search goes as far as can be, and no deal moves anything."""
    torch.manual_seed(0)
    model = no_rnn(12, 2, 5, 4).double()
    weights, answer = reweighted(model, "attention.weights", torch.full((2, 5), 3), REAL)
    torch.testing.assert_close(weights[1, 0, 0, :3], torch.full((3,), 1 / 3, dtype=torch.float64))
    found = adversarial(answer, weights, REAL)
    farthest = [jsd(torch.eye(5).double()[0], w[0, 0]) for w in weights]
    torch.testing.assert_close(found.apart, torch.stack(farthest), atol=0.01, rtol=0)
    assert float(found.moved.max()) < 1e-9
    assert float(permuted(answer, weights, REAL, 5).max()) < 1e-9


def test_where_one_word_decides_no_other_attention_is_found() -> None:
    """The states of the others answer the contrary, and the attention has chosen rightly."""

    def answer(weights: Tensor) -> Tensor:
        at = weights[:, 0, 0, 0]
        return torch.stack([at, 1 - at], -1)

    weights = torch.tensor([0.98, 0.005, 0.005, 0.005, 0.005]).expand(2, 1, 1, 5)
    weights = weights * REAL[:, None, None]
    weights = weights / weights.sum(-1, keepdim=True)
    found = adversarial(answer, weights, REAL)
    assert float(found.apart.max()) < 0.02
    assert bool((found.moved <= 0.01).all())
    assert float(permuted(answer, weights, REAL, 40).median(0).values.min()) > 0.9


def test_what_is_found_is_shares_of_the_real_places_and_as_far_as_it_says() -> None:
    torch.manual_seed(4)
    model = attentive(12, 3, 5, 4).double()
    tokens = torch.randint(12, (2, 5))
    weights, answer = reweighted(model, "attention.weights", tokens, REAL)
    found = adversarial(answer, weights, REAL, close=0.02)
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(2, 1, 1).double())
    assert float(found.weights[1, 0, 0, 3:].abs().max()) == 0
    torch.testing.assert_close(jsd(found.weights, weights)[:, 0, 0], found.apart)
    torch.testing.assert_close(tvd(answer(found.weights), answer(weights)), found.moved)
    assert float(found.moved.max()) <= 0.02
    assert float(found.apart.min()) > 0.1


def test_a_deal_keeps_the_shares_and_the_padding() -> None:
    seen: list[Tensor] = []

    def answer(weights: Tensor) -> Tensor:
        seen.append(weights)
        return shares(2, 3)

    weights = torch.tensor([0.5, 0.2, 0.15, 0.1, 0.05]).expand(2, 1, 1, 5).clone()
    weights[1, ..., 3:] = 0
    permuted(answer, weights, REAL, 30)
    dealt = torch.stack(seen[1:])
    torch.testing.assert_close(
        dealt.sort(-1).values, weights.sort(-1).values.expand_as(dealt), atol=0, rtol=0
    )
    assert float(dealt[:, 1, 0, 0, 3:].abs().max()) == 0
    assert len({tuple(row.tolist()) for row in dealt[:, 1, 0, 0, :3]}) == 6, "all orders of three"
