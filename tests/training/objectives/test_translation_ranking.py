"""Translation ranking: by loops over the paper's equation, at its limits, and what it refuses."""

from __future__ import annotations

import math
from unittest import mock

import pytest
import torch
from parity_proofs import rows
from torch import Tensor

from deepdive.training.objectives import (
    additive_margin,
    multiple_negatives,
    translation_ranking,
)


def given(*shape: int, seed: int = 0) -> Tensor:
    return rows(*shape, seed=seed).detach()


def cosine(a: Tensor, b: Tensor) -> float:
    dot = sum(float(x) * float(y) for x, y in zip(a, b, strict=True))
    lengths = [math.sqrt(sum(float(x) ** 2 for x in one)) for one in (a, b)]
    return dot / (lengths[0] * lengths[1])


def by_loops(u: Tensor, v: Tensor, margin: float, scale: float, hard: Tensor | None) -> float:
    """-1/N sum_i log e^(phi(x_i, y_i) - m) / (e^(phi(x_i, y_i) - m) + sum_n e^phi(x_i, y_n))."""
    total = 0.0
    for i in range(len(u)):
        right = math.exp(scale * (cosine(u[i], v[i]) - margin))
        wrong = sum(math.exp(scale * cosine(u[i], v[n])) for n in range(len(v)) if n != i)
        for negative in () if hard is None else hard[i]:
            wrong += math.exp(scale * cosine(u[i], negative))
        total -= math.log(right / (right + wrong))
    return total / len(u)


@pytest.mark.parametrize("margin", [0.0, 0.3])
@pytest.mark.parametrize("scale", [1.0, 20.0])
@pytest.mark.parametrize("n_hard", [0, 3])
def test_equals_loops(margin: float, scale: float, n_hard: int) -> None:
    u, v = given(4, 5), given(4, 5, seed=1)
    hard = given(4, n_hard, 5, seed=2) if n_hard else None
    found = additive_margin(u, v, margin, scale, hard)
    assert float(found) == pytest.approx(by_loops(u, v, margin, scale, hard), rel=1e-12)


def both_ways() -> None:
    u, v = given(4, 5), given(4, 5, seed=1)
    expected = by_loops(u, v, 0.3, 20.0, None) + by_loops(v, u, 0.3, 20.0, None)
    assert float(translation_ranking(u, v)) == pytest.approx(expected, rel=1e-12)


def test_both_ways() -> None:
    both_ways()
    u, v = given(4, 5), given(4, 5, seed=1)
    assert float(translation_ranking(u, v)) == pytest.approx(
        float(translation_ranking(v, u)), rel=1e-12
    )


@pytest.mark.parametrize("wrong", ["no margin", "a margin that is not scaled"])
def test_a_fault_is_seen(wrong: str) -> None:
    def without(u: Tensor, v: Tensor, margin: float, scale: float) -> Tensor:
        return multiple_negatives(u, v, scale)

    def unscaled(u: Tensor, v: Tensor, margin: float, scale: float) -> Tensor:
        return additive_margin(u, v, margin / scale, scale)

    place = "deepdive.training.objectives.translation_ranking.additive_margin"
    fault = without if wrong == "no margin" else unscaled
    with mock.patch(place, fault), pytest.raises(AssertionError):
        both_ways()


def test_limits() -> None:
    u, v = given(6, 5), given(6, 5, seed=1)
    assert torch.equal(additive_margin(u, v, 0.0, 7.0), multiple_negatives(u, v, 7.0))
    same = torch.ones(1, 3, dtype=torch.float64)  # one wrong answer that is as near: a coin
    assert float(additive_margin(same, same, 0.0, hard=same[:, None])) == pytest.approx(math.log(2))
    alike = torch.ones(5, 3)
    assert float(additive_margin(alike, alike, 0.0)) == pytest.approx(math.log(5))
    # At a perfect pair a margin m costs what a pair short of m would: softplus(scale (m - 2)).
    ends = torch.tensor([[1.0], [-1.0]])
    assert float(additive_margin(ends, ends, 0.3, 2.0)) == pytest.approx(
        math.log1p(math.exp(2.0 * (0.3 - 2)))
    )
    losses = [float(additive_margin(u, v, margin)) for margin in (0.0, 0.1, 0.3, 0.6)]
    assert losses == sorted(losses)


def test_what_one_direction_misses() -> None:
    """A translation that lies near both sentences: its own sentence finds it all the same."""
    u = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
    v = torch.tensor([[1.0, 0.0], [0.8, 0.6]])
    there = additive_margin(u, v, 0.0)
    back = additive_margin(v, u, 0.0)
    assert float(there) != pytest.approx(float(back), rel=1e-3)


def test_gradients_are_those_of_differences() -> None:
    u, v, hard = rows(3, 4), rows(3, 4, seed=1), rows(3, 2, 4, seed=2)
    assert torch.autograd.gradcheck(lambda *x: additive_margin(x[0], x[1], hard=x[2]), (u, v, hard))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda u, v: additive_margin(u, v[:2]), "u, v: got shapes"),
        (lambda u, v: additive_margin(u[:1], v[:1]), "batch size 1 and no hard"),
        (lambda u, v: additive_margin(u, v, scale=0.0), "scale=0"),
        (lambda u, v: additive_margin(u, v, margin=-0.1), "margin=-0.1"),
        (lambda u, v: additive_margin(u, v, hard=v), r"hard: .*\(B, K, d\)"),
        (lambda u, v: additive_margin(u, v, hard=v[:2, None]), "hard: got shape"),
    ],
)
def test_what_does_not_fit_is_refused(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(rows(3, 4), rows(3, 4, seed=1))  # type: ignore[operator]
