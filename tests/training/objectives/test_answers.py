"""The losses of tuning by answers: token by token, and direct preference optimisation by hand."""

from __future__ import annotations

import math
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.training.objectives import preference_losses
from deepdive.training.objectives.generative import next_token_loss
from deepdive.training.objectives.preference_losses import (
    answer_loss,
    dpo_loss,
    implicit_reward,
    log_probability,
)

TOKENS = torch.randint(8, (3, 6), generator=torch.Generator().manual_seed(0))
ANSWER = torch.tensor([[0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1], [0, 1, 0, 0, 0, 1]]).bool()


def logits(seed: int = 0) -> Tensor:
    draws = torch.Generator().manual_seed(seed)
    return torch.randn(3, 6, 8, generator=draws, dtype=torch.float64).requires_grad_()


def by_hand(given: Tensor) -> list[float]:
    """log p of each answer, one token after the other."""
    sums = []
    for b in range(3):
        total = 0.0
        for t in range(1, 6):
            if ANSWER[b, t]:
                odds = [math.exp(x) for x in given[b, t - 1].tolist()]
                total += math.log(odds[int(TOKENS[b, t])] / sum(odds))
        sums.append(total)
    return sums


def test_the_probability_of_an_answer_token_by_token() -> None:
    given = logits()
    assert log_probability(given, TOKENS, ANSWER).tolist() == pytest.approx(by_hand(given))
    loss = answer_loss(given, TOKENS, ANSWER)
    assert loss.item() == pytest.approx(-sum(by_hand(given)) / 7)


def test_where_all_but_the_first_token_is_answer_it_is_the_loss_of_the_next_token() -> None:
    given, every = logits(), torch.ones(3, 6).bool()
    every[:, 0] = False
    assert torch.allclose(answer_loss(given, TOKENS, every), next_token_loss(given, TOKENS))


def test_only_what_foretells_an_answer_has_a_gradient() -> None:
    given = logits()
    (gradient,) = torch.autograd.grad(answer_loss(given, TOKENS, ANSWER), given)
    foretells = ANSWER.roll(-1, 1)
    foretells[:, -1] = False
    assert torch.equal(gradient.abs().sum(-1) > 0, foretells)


def test_an_answer_that_nothing_foretold_is_refused() -> None:
    with pytest.raises(ValueError, match="the first token of a text"):
        answer_loss(logits(), TOKENS, torch.ones(3, 6).bool())


BETA = 0.3
NOW = torch.tensor([-3.0, -2.0]).double(), torch.tensor([-4.0, -1.0]).double()
BEFORE = torch.tensor([-3.5, -2.5]).double(), torch.tensor([-3.0, -1.5]).double()


def test_dpo_by_hand() -> None:
    """Ratios of probabilities, as the paper has them inside its logarithms."""
    expected = 0.0
    for chosen, rejected, was, other in zip(*NOW, *BEFORE, strict=True):
        ratio = math.exp(chosen - was) ** BETA / math.exp(rejected - other) ** BETA
        expected -= math.log(ratio / (1 + ratio)) / 2
    assert float(dpo_loss(*NOW, *BEFORE, BETA)) == pytest.approx(expected)


def test_a_model_that_is_what_it_was_pays_log_two() -> None:
    assert float(dpo_loss(*NOW, *NOW, BETA)) == pytest.approx(math.log(2))


def test_the_gradient_is_the_paper_s() -> None:
    """Equation 7's: beta times how wrong the rewards are, towards the chosen, away from the
    rejected.
    """
    chosen, rejected = (x.clone().requires_grad_() for x in NOW)
    up, down = torch.autograd.grad(dpo_loss(chosen, rejected, *BEFORE, BETA), (chosen, rejected))
    good, bad = (implicit_reward(x, y, BETA) for x, y in zip(NOW, BEFORE, strict=True))
    wrong = torch.sigmoid(bad - good)
    assert torch.allclose(up, -BETA * wrong / 2)
    assert torch.allclose(down, BETA * wrong / 2)
    assert bool((up < 0).all())


def test_the_best_model_for_a_reward_has_it_as_its_own() -> None:
    """p proportional to p before * exp(reward / beta) is the best there is for this reward beside
    a penalty for going away (equation 4); its implicit rewards differ by the rewards' difference,
    and the loss is Bradley and Terry's.
    """
    draws = torch.Generator().manual_seed(1)
    before = torch.randn(5, generator=draws, dtype=torch.float64).log_softmax(0)
    reward = torch.randn(5, generator=draws, dtype=torch.float64)
    now = (before + reward / BETA).log_softmax(0)
    own = implicit_reward(now, before, BETA)
    assert torch.allclose(own - own[0], reward - reward[0])
    loss = dpo_loss(now[:1], now[1:2], before[:1], before[1:2], BETA)
    assert torch.allclose(loss, -F.logsigmoid(reward[0] - reward[1]))

    def worth(p: Tensor) -> Tensor:
        return (p.exp() * (reward - BETA * (p - before))).sum()

    for _ in range(20):
        other = now + 0.1 * torch.randn(5, generator=draws, dtype=torch.float64)
        assert worth(other.log_softmax(0)) < worth(now)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda now, before, beta: beta * now,  # without what the model was
        lambda now, before, beta: beta * (before - now),
    ],
)
def test_a_wrong_reward_is_seen(wrong: object) -> None:
    with (
        mock.patch.object(preference_losses, "implicit_reward", wrong),
        pytest.raises(AssertionError),
    ):
        test_dpo_by_hand()
