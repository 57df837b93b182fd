"""Texts of mixed length without padding: the padded batch's states, gradients and vectors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from parity_registry import differs, perturb
from torch import Tensor

from deepdive.core import PackedSequences, SoftmaxAttention
from deepdive.core.hooks import ablate, record
from deepdive.core.masks import Segments
from deepdive.layers.packed_encoder import encode
from deepdive.models.bert import bert
from deepdive.models.bert.unpadded import batches, sentence_vectors

LENGTHS = [5, 1, 9, 5, 2, 9, 5]  # some alike, out of order
PAD = 0


def rows(seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(4, 32, (T,), generator=generator) for T in LENGTHS]


def segments() -> list[Tensor]:
    return [(torch.arange(T) >= T // 2).long() for T in LENGTHS]


def model(dropout: float = 0.0) -> bert.Bert:
    torch.manual_seed(1)
    made = bert.bert(
        vocab_size=32, d_model=16, n_heads=4, n_layers=2, d_ff=24, max_length=12, dropout=dropout
    )
    return perturb(made.double())  # type: ignore[return-value]


def padded(encoder: bert.Bert, with_segments: bool = False) -> list[Tensor]:
    tokens = torch.nn.utils.rnn.pad_sequence(rows(), batch_first=True, padding_value=PAD)
    mask = torch.arange(tokens.shape[1]) < torch.tensor(LENGTHS)[:, None]
    kinds = torch.nn.utils.rnn.pad_sequence(segments(), batch_first=True) if with_segments else None
    states = encoder(tokens, mask, kinds)
    return [row[:T] for row, T in zip(states, LENGTHS, strict=True)]


@pytest.mark.parametrize("with_segments", [False, True])
def test_states_and_gradients_are_those_of_the_padded_batch(with_segments: bool) -> None:
    encoder = model()
    expected = torch.cat(padded(encoder, with_segments))
    found = encode(encoder, rows(), segments() if with_segments else None)
    assert [len(states) for states in found] == LENGTHS
    assert differs(torch.cat(found), expected) < 1e-9
    weights = list(encoder.parameters())
    probe = torch.randn(expected.shape, dtype=torch.float64)
    theirs = torch.autograd.grad((expected * probe).sum(), weights)
    ours = torch.autograd.grad((torch.cat(found) * probe).sum(), weights)
    for a, b in zip(ours, theirs, strict=True):
        assert differs(a, b) < 1e-8


def test_lists_of_integers_serve_as_well_and_no_texts_give_no_states() -> None:
    encoder = model()
    found = encode(encoder, [row.tolist() for row in rows()])
    assert all(map(torch.equal, found, encode(encoder, rows())))
    assert encode(encoder, []) == []


def test_a_text_alone_gives_the_same_states() -> None:
    encoder = model()
    for text, states in zip(rows(), encode(encoder, rows()), strict=True):
        assert differs(states, encoder(text[None])[0]) < 1e-12


def test_dropout_acts_in_training() -> None:
    encoder = model(dropout=0.5).train()
    one, two = (torch.cat(encode(encoder, rows())) for _ in range(2))
    assert (one - two).abs().max() > 0.1


def test_hook_points_see_all_texts_in_one_row() -> None:
    encoder = model()
    silent = encode(encoder, rows())
    with record(encoder, "*.weights") as seen:
        heard = encode(encoder, rows())
    assert differs(torch.cat(heard), torch.cat(silent)) < 1e-12
    mask = PackedSequences(tuple(sorted(LENGTHS))).dense(sum(LENGTHS))
    for (weights,) in seen.values():
        assert weights.shape == (1, 4, sum(LENGTHS), sum(LENGTHS))
        assert (weights[~mask.expand_as(weights)] == 0).all()
        assert torch.allclose(weights.sum(-1), torch.ones(()).double())
    with ablate(encoder, "stack.blocks.1.attn.heads", [2]):
        found, expected = torch.cat(encode(encoder, rows())), torch.cat(padded(encoder))
    assert differs(found, expected) < 1e-9
    assert differs(found, torch.cat(silent)) > 1e-3


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.integers(0, 99))
def test_texts_are_segments(lengths: list[int], seed: int) -> None:
    torch.manual_seed(seed)
    N = sum(lengths)
    ids = torch.tensor([i for i, T in enumerate(lengths) for _ in range(T)])[None]
    texts, attention = PackedSequences(tuple(lengths)), SoftmaxAttention()
    assert torch.equal(texts.dense(N), Segments(ids).dense(N))
    q, k, v = torch.randn(3, 1, 2, N, 4, dtype=torch.float64)
    expected = attention(q, k, v, Segments(ids))
    assert differs(attention(q, k, v, texts), expected) < 1e-12
    bias = torch.randn(1, 1, N, N, dtype=torch.float64)
    expected = attention(q, k, v, Segments(ids), bias)
    assert differs(attention(q, k, v, texts, bias), expected) < 1e-12
    for both in (texts & texts, texts | texts):
        assert torch.equal(both.dense(N), texts.dense(N))


def test_batches_hold_each_text_once_and_no_more_tokens_than_asked() -> None:
    lengths = [5, 300, 1, 9, 5, 2, 40, 9, 60]
    cut = list(batches(lengths, 64))
    assert sorted(i for batch in cut for i in batch) == list(range(len(lengths)))
    assert [lengths[i] for batch in cut for i in batch] == sorted(lengths)
    sizes = [sum(lengths[i] for i in batch) for batch in cut]
    assert all(size <= 64 or len(batch) == 1 for size, batch in zip(sizes, cut, strict=True))
    assert all(a + lengths[b[0]] > 64 for a, (_, b) in zip(sizes, pairwise(cut), strict=False))


class Letters:
    """A tokeniser in which each letter is a token."""

    bos, eos = 1, 2

    def encode(self, text: str) -> list[int]:
        return [4 + ord(letter) % 28 for letter in text]


def vectors(encoder: bert.Bert, texts: list[str], **more: int) -> Tensor:
    return sentence_vectors(encoder, Letters(), texts, **more)  # type: ignore[arg-type]


def test_vectors_are_means_of_length_one_in_the_order_of_the_texts() -> None:
    encoder, texts = model().eval(), ["hello", "", "a much too long text", "b", "olleh"]
    for batch_tokens in (1, 12, 1000):
        found = vectors(encoder, texts, batch_tokens=batch_tokens, max_length=10)
        assert found.shape == (5, 16)
        assert not found.requires_grad
        for text, vector in zip(texts, found, strict=True):
            ids = [1, *Letters().encode(text)[:8], 2]
            alone = encoder(torch.tensor([ids]))[0].mean(0)
            assert differs(vector, F.normalize(alone, dim=0).detach()) < 1e-12
    assert vectors(encoder, []).shape[0] == 0


REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "a text without tokens": (
        lambda: encode(model(), [torch.tensor([4]), torch.tensor([])]),
        ValueError, r"rows\[1\] has no tokens",
    ),
    "segments of other texts": (
        lambda: encode(model(), rows(), segments()[:-1]), ValueError, "segments: expected one",
    ),
    "a model that is no encoder": (
        lambda: encode(torch.nn.Linear(2, 2), rows()), TypeError, "no embeddings and no stack",
    ),
    "a text longer than the table": (
        lambda: encode(model(), [torch.full((13,), 4)]), ValueError, "max_length=12",
    ),
    "an unknown token": (
        lambda: encode(model(), [torch.tensor([40])]), ValueError, "expected 0 to 31",
    ),
    "training mode": (lambda: vectors(model().train(), ["a"]), ValueError, r"model.eval\(\)"),
    "no room": (lambda: vectors(model().eval(), ["a"], max_length=2), ValueError, "max_length=2"),
    "no length": (lambda: PackedSequences(()), ValueError, "drop empty sequences"),
    "a mask of other rows": (
        lambda: SoftmaxAttention()(*torch.zeros(3, 1, 2, 5, 4), PackedSequences((2, 2))),
        ValueError, "2 texts of 4 tokens",
    ),
    "a batch under a mask of one row": (
        lambda: SoftmaxAttention()(*torch.zeros(3, 2, 2, 4, 4), PackedSequences((2, 2))),
        ValueError, "in a batch of 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(what: str) -> None:
    call, kind, message = REFUSED[what]
    with pytest.raises(kind, match=message):
        call()
