"""HICTL's two contrasts: by loops over their equations, at their limits."""

from __future__ import annotations

import math
from unittest import mock

import pytest
import torch
from parity_proofs import rows
from torch import Tensor

from deepdive.training.objectives import (
    hierarchical_contrast,
    interpolate_hard_negatives,
    multiple_negatives,
    nearest_words,
    sentence_contrast,
    word_contrast,
)


def given(*shape: int, seed: int = 0) -> Tensor:
    return rows(*shape, seed=seed).detach()


def dot(a: Tensor, b: Tensor) -> float:
    return sum(float(x) * float(y) for x, y in zip(a, b, strict=True))


def length(a: Tensor) -> float:
    return math.sqrt(dot(a, a))


def harder_by_loops(q: Tensor, k: Tensor, wrong: Tensor, power: float) -> Tensor:
    found = wrong.clone()
    for b in range(len(q)):
        near = length(q[b] - k[b])
        for n in range(wrong.shape[1]):
            far = length(q[b] - wrong[b, n])
            if far > near:
                found[b, n] = q[b] + (near / far) ** power * (wrong[b, n] - q[b])
    return found


def it_is_made_harder() -> None:
    q, k, wrong = given(3, 4), given(3, 4, seed=1), 2 * given(3, 5, 4, seed=2)
    k[2] = 9.0  # a right key further than all wrong ones: nothing is moved
    for confidence in (0.0, 0.4, 1.0):
        found = interpolate_hard_negatives(q, k, wrong, confidence)
        expected = harder_by_loops(q, k, wrong, 0.9 * confidence)
        assert (found - expected).abs().max() < 1e-12


def test_harder_equals_loops() -> None:
    it_is_made_harder()
    q, k, wrong = given(3, 4), given(3, 4, seed=1), 2 * given(3, 5, 4, seed=2)
    assert torch.allclose(
        interpolate_hard_negatives(q, k, wrong, 0.0), wrong
    )  # a fresh model: as they came
    ends = interpolate_hard_negatives(q, k, wrong, 1.0, smoothing=1.0)  # as near as the right one
    near = torch.linalg.vector_norm(q - k, dim=-1)[:, None]
    far = torch.linalg.vector_norm(ends - q[:, None], dim=-1)
    before = torch.linalg.vector_norm(wrong - q[:, None], dim=-1)
    assert torch.allclose(far, torch.minimum(before, near))
    same = interpolate_hard_negatives(
        q, k, q[:, None].clone()
    )  # a wrong key at the query: no 0 / 0
    assert torch.equal(same, q[:, None])


def test_a_fault_is_seen() -> None:
    real = torch.where
    with (
        mock.patch.object(hierarchical_contrast.torch, "where", lambda c, a, b: real(~c, a, b)),
        pytest.raises(AssertionError),
    ):
        it_is_made_harder()


def test_sentences_equal_loops() -> None:
    q, k, wrong = given(3, 4), given(3, 4, seed=1), given(3, 5, 4, seed=2)
    for temperature in (1.0, 0.5):
        total = 0.0
        for b in range(3):
            right = math.exp(dot(q[b], k[b]) / temperature)
            total -= math.log(
                right / (right + sum(math.exp(dot(q[b], w) / temperature) for w in wrong[b]))
            )
        found = float(sentence_contrast(q, k, wrong, temperature))
        assert found == pytest.approx(total / 3, rel=1e-12)
    nothing = sentence_contrast(q * 0, k, wrong[:, :1])
    assert float(nothing) == pytest.approx(math.log(2))
    unit = torch.nn.functional.normalize
    q, k = unit(q), unit(k)  # the batch's other keys as wrong ones: the usual in-batch loss
    others = torch.stack([k[[j for j in range(3) if j != i]] for i in range(3)])
    assert torch.allclose(sentence_contrast(q, k, others, 1 / 20), multiple_negatives(q, k, 20.0))


OWN = torch.tensor([[1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0]]).bool()


def words_are_contrasted() -> None:
    pair, words = given(2, 4), given(6, 4, seed=1)
    others = torch.tensor([[0, 0, 1, 0, 1, 0], [1, 1, 0, 0, 0, 1]]).bool()
    losses = []
    for b in range(2):
        for w in range(6):
            if OWN[b, w]:
                right = math.exp(dot(pair[b], words[w]))
                wrong = sum(math.exp(dot(pair[b], words[o])) for o in range(6) if others[b, o])
                losses.append(-math.log(right / (right + wrong)))
    found = float(word_contrast(pair, words, OWN, others))
    assert found == pytest.approx(sum(losses) / 3, rel=1e-12)


def test_words_equal_loops() -> None:
    words_are_contrasted()
    pair, words = given(2, 4), given(6, 4, seed=1)
    one = nearest_words(pair, words, OWN, 1)
    assert float(word_contrast(pair * 0, words, OWN, one)) == pytest.approx(math.log(2))
    assert torch.autograd.gradcheck(
        lambda p, w: word_contrast(p, w, OWN, ~OWN), (rows(2, 4), rows(6, 4, seed=1))
    )


def test_another_fault_is_seen() -> None:
    def all_at_once(pair: Tensor, words: Tensor, own: Tensor, others: Tensor) -> Tensor:
        """The bag's other words as wrong answers."""
        return -(pair @ words.T).masked_fill(~(own | others), -torch.inf).log_softmax(1)[own].mean()

    with (
        mock.patch(f"{__name__}.word_contrast", all_at_once),
        pytest.raises(AssertionError),
    ):
        words_are_contrasted()


def test_nearest_words_are_the_nearest_that_are_not_its_own() -> None:
    pair, words = given(2, 4), given(6, 4, seed=1)
    for n in (1, 3):
        found = nearest_words(pair, words, OWN, n)
        for b in range(2):
            free = [w for w in range(6) if not OWN[b, w]]
            best = sorted(free, key=lambda w: -dot(pair[b], words[w]))[:n]
            assert found[b].nonzero().flatten().tolist() == sorted(best)
    assert torch.equal(nearest_words(pair, words, OWN[:1].expand(2, -1), 4), ~OWN[:1].expand(2, -1))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda q, n, w: interpolate_hard_negatives(q, q[:1], n), "query, positive"),
        (lambda q, n, w: interpolate_hard_negatives(q, q, n[:1]), "negatives"),
        (lambda q, n, w: interpolate_hard_negatives(q, q, n, confidence=2.0), "confidence=2"),
        (lambda q, n, w: sentence_contrast(q, q, n, 0.0), "temperature"),
        (lambda q, n, w: word_contrast(q, w, OWN, OWN), "no word may be both"),
        (lambda q, n, w: word_contrast(q, w, OWN & False, ~OWN), "a positive and a negative"),
        (lambda q, n, w: word_contrast(q, w, OWN, ~OWN, -1.0), "temperature"),
        (lambda q, n, w: nearest_words(q, w, OWN, 5), "n=5: expected 1 to 4"),
    ],
)
def test_what_does_not_fit_is_refused(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(given(2, 4), given(2, 3, 4), given(6, 4))  # type: ignore[operator]
