"""InfoXLM's contrast: by loops, its queue, its mixed pairs, its limits."""

from __future__ import annotations

import itertools
import math
from unittest import mock

import pytest
import torch
from parity_proofs import rows
from torch import Tensor

from deepdive.models.bert.bert import TINY, bert
from deepdive.models.multilingual.infoxlm import sentence_state
from deepdive.training.objectives import (
    KeyQueue,
    ema_update,
    mix_translations,
    multiple_negatives,
    translation_contrast,
)


def given(*shape: int, seed: int = 0) -> Tensor:
    return rows(*shape, seed=seed).detach()


def dot(a: Tensor, b: Tensor) -> float:
    return sum(float(x) * float(y) for x, y in zip(a, b, strict=True))


def by_loops(queries: Tensor, keys: list[Tensor], temperature: float) -> float:
    """-log exp(q_i . k_i / t) / sum_j exp(q_i . k_j / t), the mean over i."""
    total = 0.0
    for i, query in enumerate(queries):
        parts = [math.exp(dot(query, key) / temperature) for key in keys]
        total -= math.log(parts[i] / sum(parts))
    return total / len(queries)


def filled(*batches: Tensor, size: int) -> KeyQueue:
    queue = KeyQueue(size)
    for batch in batches:
        queue.put(batch)
    return queue


def contrast_is_its_equation() -> None:
    q, k = given(4, 5), given(4, 5, seed=1)
    old, older = given(4, 5, seed=2), given(4, 5, seed=3)
    queue = filled(older, old, size=6)  # the last two of the older, all of the old
    for temperature in (0.25, 1.0):
        found = translation_contrast(q, k, queue, temperature)
        expected = by_loops(q, [*k, *older[2:], *old], temperature)
        assert float(found) == pytest.approx(expected, rel=1e-12)


def test_equals_loops() -> None:
    contrast_is_its_equation()


def test_a_fault_is_seen() -> None:
    def newest_leave(self: KeyQueue, keys: Tensor) -> None:
        keys = keys if self.keys is None else torch.cat((self.keys, keys))
        self.keys = keys[: self.size]

    with mock.patch.object(KeyQueue, "put", newest_leave), pytest.raises(AssertionError):
        contrast_is_its_equation()


def test_limits() -> None:
    q, k = given(4, 5), given(4, 5, seed=1)
    alone = translation_contrast(q, k)
    for queue in (KeyQueue(8), filled(k, k, size=0)):  # not yet filled; of length 0
        assert torch.equal(translation_contrast(q, k, queue), alone)
    lengths = torch.nn.functional.normalize
    in_batch = multiple_negatives(q, k, 4.0)
    assert torch.allclose(translation_contrast(lengths(q), lengths(k), None, 0.25), in_batch)
    zero = torch.zeros(1, 5, dtype=torch.float64)  # one wrong key, no opinion
    one = filled(given(1, 5), size=1)
    assert float(translation_contrast(zero, given(1, 5), one)) == pytest.approx(math.log(2))
    assert float(translation_contrast(q * 0, k, filled(k, size=4))) == pytest.approx(math.log(8))


def test_no_gradient_reaches_a_key_and_the_teacher_follows() -> None:
    q, k = rows(3, 4), rows(3, 4, seed=1)
    queue = filled(rows(2, 4, seed=2), size=2)
    translation_contrast(q, k, queue).backward()
    assert q.grad is not None
    assert k.grad is None
    assert queue.keys is not None
    assert not queue.keys.requires_grad
    student, teacher = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    before = teacher.weight.clone()
    ema_update(teacher, student, 0.9)
    assert torch.allclose(teacher.weight, 0.9 * before + 0.1 * student.weight)


def test_pairs_are_mixed_both_ways() -> None:
    pairs, others = [([1, 2], [11, 12, 13])] * 200, [([3], [14])] * 200
    mixed = mix_translations(pairs, others, torch.Generator().manual_seed(0))
    plain = ([1, 2, 3], [11, 12, 13, 14])
    crossed = ([1, 2, 14], [11, 12, 13, 3])
    assert all(one in (plain, crossed) for one in mixed)
    assert 70 < mixed.count(crossed) < 130
    for (c, d), (one, two) in itertools.product([([1, 2, 3], [11, 12, 13, 14])], mixed):
        assert sorted(one + two) == sorted(c + d), "nothing is lost"
    with pytest.raises(ValueError, match="one each"):
        mix_translations(pairs, others[:3])


def test_the_state_is_the_recorded_one() -> None:
    from deepdive.core.hooks import record

    model = bert(TINY).eval()
    tokens = torch.tensor([[4, 9, 6, 0], [7, 8, 5, 5]])
    mask = tokens != 0
    with record(model, "stack.blocks.*.stream") as seen:
        states = model(tokens, mask)
    for layer, (stream,) in enumerate(seen.values(), 1):
        assert torch.equal(sentence_state(model, layer, tokens, mask), stream[:, 0])
    assert torch.equal(sentence_state(model, 2, tokens, mask), states[:, 0])
    embedded = model.embeddings(tokens, None, torch.arange(4))[:, 0]
    assert torch.equal(sentence_state(model, 0, tokens), embedded)
    with pytest.raises(ValueError, match=r"layer=3: expected 0 \(the embeddings\) to 2"):
        sentence_state(model, 3, tokens)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda q, k: translation_contrast(q, k[:2]), "queries, keys"),
        (lambda q, k: translation_contrast(q, k, temperature=0.0), "temperature"),
        (lambda q, k: translation_contrast(q[:1], k[:1]), "one and no queue"),
        (lambda q, k: KeyQueue(-1), "size"),
    ],
)
def test_what_does_not_fit_is_refused(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(given(3, 4), given(3, 4, seed=1))  # type: ignore[operator]
