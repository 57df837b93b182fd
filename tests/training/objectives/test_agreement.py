"""AMBER's alignment of words and of sentences: by loops, at its limits, and learned."""

from __future__ import annotations

import math
from unittest import mock

import pytest
import torch
from parity_proofs import rows
from torch import Tensor

from deepdive.training.objectives import (
    across,
    multiple_negatives,
    sentence_alignment,
    word_agreement,
)

FIRST = torch.tensor([[1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0]]).bool()
SECOND = torch.tensor([[0, 0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1, 1]]).bool()


def given(*shape: int, seed: int = 0) -> Tensor:
    return rows(*shape, seed=seed).detach()


def by_loops(weights: Tensor) -> float:
    """1 - 1/H sum_h tr(A_yx^T A_xy) / min(|x|, |y|), each row a softmax over the other side."""
    losses = []
    for b in range(len(weights)):
        xs, ys = (side[b].nonzero().flatten().tolist() for side in (FIRST, SECOND))
        heads = 0.0
        for head in weights[b]:
            for i in xs:
                for j in ys:
                    there = float(head[i, j] / sum(head[i, y] for y in ys))
                    back = float(head[j, i] / sum(head[j, x] for x in xs))
                    heads += there * back
        losses.append(1 - heads / weights.shape[1] / min(len(xs), len(ys)))
    return sum(losses) / len(losses)


def words_agree() -> None:
    weights = (2 * given(2, 3, 7, 7)).softmax(-1)
    assert float(word_agreement(weights, FIRST, SECOND)) == pytest.approx(by_loops(weights))


def test_words_equal_loops() -> None:
    words_agree()


def test_a_fault_is_seen() -> None:
    """The product of both directions for the trace there and back: the second, not turned round."""
    real = torch.einsum

    def not_turned(_: str, forward: Tensor, backward: Tensor) -> Tensor:
        return real("bhij,bhij->b", forward, backward)

    with (
        mock.patch("deepdive.training.objectives.amber_alignment.torch.einsum", not_turned),
        pytest.raises(AssertionError),
    ):
        words_agree()


def test_rows_are_the_softmax_over_the_other_sentence() -> None:
    scores = given(2, 3, 7, 7)
    there, back = across(scores.softmax(-1), FIRST, SECOND)
    for b in range(2):
        xs, ys = FIRST[b], SECOND[b]
        assert torch.allclose(there[b][:, xs][..., ys], scores[b][:, xs][..., ys].softmax(-1))
        assert torch.allclose(back[b][:, ys][..., xs], scores[b][:, ys][..., xs].softmax(-1))
        assert float(there[b][:, ~xs].sum()) == 0.0
        assert float(back[b][:, ~ys].sum()) == 0.0


def one_to_one() -> Tensor:
    """Three words and their three partners, each sure of the other: weights (1, 1, 6, 6)."""
    weights = torch.zeros(1, 1, 6, 6, dtype=torch.float64)
    for i, j in ((0, 4), (1, 3), (2, 5)):
        weights[0, 0, i, j] = weights[0, 0, j, i] = 1.0
    return weights


def test_limits() -> None:
    first = torch.tensor([[1, 1, 1, 0, 0, 0]]).bool()
    sure, even = one_to_one(), torch.full((1, 1, 6, 6), 1 / 6, dtype=torch.float64)
    assert float(word_agreement(sure, first, ~first)) == pytest.approx(0.0)
    # All weights alike: each of 9 ways there and back has 1/9, of 3 that could return.
    assert float(word_agreement(even, first, ~first)) == pytest.approx(1 - 1 / 3)
    astray = sure.roll(1, -1)  # partners that look elsewhere
    astray[..., 3:, :3] = sure[..., 3:, :3]
    astray[..., :3, 3:] = sure[..., :3, 3:].roll(1, -1)
    assert float(word_agreement(astray, first, ~first)) == pytest.approx(1.0)
    turned = word_agreement(sure + even, ~first, first)
    assert torch.allclose(turned, word_agreement(sure + even, first, ~first)), "both ways alike"


def test_a_step_makes_directions_agree() -> None:
    scores = rows(1, 1, 6, 6)
    first = torch.tensor([[1, 1, 1, 0, 0, 0]]).bool()
    before = word_agreement(scores.softmax(-1), first, ~first)
    for _ in range(300):
        (slope,) = torch.autograd.grad(word_agreement(scores.softmax(-1), first, ~first), scores)
        scores = (scores - 2 * slope).detach().requires_grad_()
    after = word_agreement(scores.softmax(-1), first, ~first)
    assert float(after.detach()) < 0.2 < 0.5 < float(before.detach())


def test_sentences_equal_loops() -> None:
    u, v, others = given(3, 4), given(3, 4, seed=1), given(5, 4, seed=2)
    for more in (None, others):
        every = [*v, *(() if more is None else more)]
        total = 0.0
        for i in range(3):
            parts = [math.exp(float(u[i] @ y)) for y in every]
            total -= math.log(parts[i] / sum(parts))
        assert float(sentence_alignment(u, v, more)) == pytest.approx(total / 3, rel=1e-12)
    unit = torch.nn.functional.normalize
    u, v = unit(u), unit(v)
    assert torch.allclose(sentence_alignment(u, v), multiple_negatives(u, v, 1.0))
    one = sentence_alignment(u[:1] * 0, v[:1], others[:1])
    assert float(one) == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda w, u: across(w, FIRST, FIRST), "no token in both masks"),
        (lambda w, u: word_agreement(w, FIRST, SECOND & False), "tokens of both languages"),
        (lambda w, u: sentence_alignment(u, u[:1]), "u, v"),
        (lambda w, u: sentence_alignment(u[:1], u[:1]), "one sentence and no others"),
    ],
)
def test_what_does_not_fit_is_refused(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(given(2, 3, 7, 7).softmax(-1), given(3, 4))  # type: ignore[operator]
