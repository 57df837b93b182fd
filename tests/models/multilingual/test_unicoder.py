"""Unicoder: word recovery by loops over the paper's equation, its batches by hand, and learned."""

from __future__ import annotations

import math
from unittest import mock

import pytest
import torch
from parity_proofs import rows
from torch import Tensor

from deepdive.layers.heads import Classifier, initialize
from deepdive.models.bert.bert import TINY, bert
from deepdive.models.bert.pretraining import for_masked_lm
from deepdive.models.multilingual.unicoder import Recovered, WordRecovery
from deepdive.tokenizers import padded
from deepdive.training.objectives import (
    alternate_sentences,
    cross_entropy,
    hard_paraphrases,
    paraphrase_pairs,
)


def recovery_is_its_equation() -> None:
    x, y = rows(2, 3, 4), rows(2, 5, 4, seed=1)
    real = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]).bool()
    part = Recovered(4).double()
    with torch.no_grad():
        part.score.weight.copy_(rows(1, 12, seed=2))
    w = part.score.weight[0].tolist()
    found = part(x, y, real)
    for b in range(2):
        for i in range(3):
            scores = []
            for j in range(5):
                xi, yj = x[b, i].tolist(), y[b, j].tolist()
                joined = [*xi, *yj, *(p * q for p, q in zip(xi, yj, strict=True))]
                scores.append(sum(p * q for p, q in zip(w, joined, strict=True)))
            shares = [math.exp(s) * bool(real[b, j]) for j, s in enumerate(scores)]
            for d in range(4):
                value = sum(s * float(y[b, j, d]) for j, s in enumerate(shares)) / sum(shares)
                assert float(found[b, i, d]) == pytest.approx(value, rel=1e-9)


def test_equals_loops() -> None:
    with torch.no_grad():
        recovery_is_its_equation()


def test_a_fault_is_seen() -> None:
    def without_products(self: Recovered, x: Tensor, y: Tensor, real: Tensor) -> Tensor:
        own, other, _ = self.score.weight[0].chunk(3)
        scores = (x @ own)[:, :, None] + (y @ other)[:, None]
        return scores.masked_fill(~real[:, None], -torch.inf).softmax(-1) @ y

    with (
        mock.patch.object(Recovered, "forward", without_products),
        pytest.raises(AssertionError),
        torch.no_grad(),
    ):
        recovery_is_its_equation()


def test_words_find_their_translations() -> None:
    """Ten words and their translations, in a drawn order: what is said comes from the right row."""
    torch.manual_seed(0)
    model = WordRecovery(for_masked_lm(bert(TINY, d_model=32, n_layers=1)))
    initialize(model, 0.2)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)

    def batch(n: int) -> tuple[Tensor, Tensor, Tensor]:
        words = torch.stack([torch.randperm(10)[:5] for _ in range(n)])
        order = torch.stack([torch.randperm(5) for _ in range(n)])
        return words + 4, words.gather(1, order) + 18, order

    for _ in range(300):
        text, translation, _ = batch(32)
        loss = cross_entropy(model(text, translation), text)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    text, translation, order = batch(64)
    from deepdive.core.hooks import record

    with record(model, "recovered.weights") as seen, torch.no_grad():
        right = model(text, translation).argmax(-1) == text
    (weights,) = seen["recovered.weights"]
    at = order.argsort(1)  # where each word's translation stands
    assert right.float().mean() > 0.95
    assert (weights.argmax(-1) == at).float().mean() > 0.95


def test_hard_paraphrases_are_the_nearest_below_the_ceiling() -> None:
    vectors = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.5], [0.0, 1.0], [0.2, 1.0]])
    assert hard_paraphrases(vectors).tolist() == [2, 2, 0, 4, 3]  # a twin says the same
    unit = torch.nn.functional.normalize(vectors, dim=-1)
    for ceiling in (0.95, 0.7):
        for i, chosen in enumerate(hard_paraphrases(vectors, ceiling).tolist()):
            allowed = {j: float(unit[i] @ unit[j]) for j in range(5) if j != i}
            allowed = {j: c for j, c in allowed.items() if c < ceiling}
            assert allowed[chosen] == max(allowed.values())
    with pytest.raises(ValueError, match="below ceiling=-1"):
        hard_paraphrases(vectors, -1.0)


EN = [[1, 10, 11, 2], [1, 12, 2], [1, 13, 14, 2]]
FR = [[1, 20, 2], [1, 22, 23, 2], [1, 24, 2]]


def test_pairs_to_judge() -> None:
    pairs = paraphrase_pairs(EN, FR, torch.tensor([2, 0, 0]))
    assert pairs.labels.tolist() == [1, 1, 1, 0, 0, 0]
    assert pairs.first == [*EN, EN[2], EN[0], EN[0]]
    assert pairs.second == [*FR, *FR]
    joined = [[*a, *b[1:]] for a, b in zip(pairs.first, pairs.second, strict=True)]
    tokens, mask = padded(joined, 0)
    logits = Classifier(bert(TINY), 32, 2)(tokens, mask)
    assert cross_entropy(logits, pairs.labels, pad=None).isfinite()
    for wrong, words in ((torch.tensor([0, 2, 1]), "its own"), (torch.tensor([1]), "for 3")):
        with pytest.raises(ValueError, match=words):
            paraphrase_pairs(EN, FR, wrong)


def test_sentences_alternate() -> None:
    assert alternate_sentences(["a", "b", "c"], ["A", "B", "C"]) == ["a", "B", "c"]
    assert alternate_sentences([], []) == []
    with pytest.raises(ValueError, match="expected equal counts"):
        alternate_sentences(["a"], [])
