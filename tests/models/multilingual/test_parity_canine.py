"""CANINE against transformers, in float64, as released and with padding that counts as 0.

Theirs convolves what stands under padding. So the proof is on whole texts, of every length beyond
the rate; and, with `mask_padding` taken out, on padded batches.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike, real
from parity_registry import equal, parity
from torch import Tensor, nn
from transformers import CanineConfig, CanineModel, CanineTokenizer

from deepdive.layers import sequence_resampling
from deepdive.layers.hashed import HashEmbedding
from deepdive.layers.sequence_resampling import Downsample, Upsample
from deepdive.models.bert.bert import full_attention
from deepdive.models.bert.embeddings import CodePointEmbeddings
from deepdive.models.multilingual import canine
from deepdive.models.multilingual.canine import Canine
from deepdive.published import family, load, save

SIZES: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "num_hash_functions": 4, "num_hash_buckets": 24, "local_transformer_stride": 6,
    "downsampling_rate": 3, "upsampling_kernel_size": 4, "type_vocab_size": 2,
    "max_position_embeddings": 24,
}  # fmt: skip
TEXTS = ["zwei Äpfel, 十二个苹果!!", "двенадцать яблок 🍎 сегодня"]
ROWS = torch.tensor([[0xE000, *map(ord, text[:18]), 0xE001] for text in TEXTS])  # (2, 20)
SEGMENTS = (torch.arange(20) > 9).long().expand(2, 20)
OTHER: dict[str, Any] = {"upsampling_kernel_size": 5, "hidden_act": "relu", "layer_norm_eps": 1e-3}


class Unpooled(nn.Module):
    """Theirs without the pooler, which no state passes through."""

    def __init__(self, theirs: Any) -> None:
        super().__init__()
        for name, part in theirs.named_children():
            if name != "pooler":
                setattr(self, name, part)


def of_theirs(theirs: Any, rows: Tensor, mask: Tensor | None, segments: Tensor) -> Tensor:
    """Its states. It makes its mask in float32, in which the least number of float64 is -inf, and 0
    times that no number; so `float` leaves numbers as they are here, and ones are float64.
    """
    told = torch.ones(rows.shape, dtype=torch.float64) if mask is None else mask.double()
    with mock.patch.object(Tensor, "float", lambda self: self):
        return theirs(rows, told, token_type_ids=segments).last_hidden_state


@parity("canine", Canine, CodePointEmbeddings, HashEmbedding, Downsample, Upsample)
def canine_agrees() -> None:
    for form in ({}, OTHER):
        theirs = reference(CanineModel, CanineConfig, **SIZES | form)
        ours, body = saved_and_loaded(theirs, load), Unpooled(theirs)
        for length in (20, 19, 18, 7, 3):  # with and without a rest, one chunk, one row
            row, segments = ROWS[:, :length], SEGMENTS[:, :length]
            expected = of_theirs(theirs, row, None, segments)
            if length > 6:
                alike(ours, body, ours(row, None, segments), expected, [family("canine").names])
            equal(ours(row, None, segments), expected)
    padded_as_released(reference(CanineModel, CanineConfig, **SIZES))


def padded_as_released(theirs: Any) -> None:
    """Padding is read by the convolutions, and by no attention. No chunk is all padding here:
    theirs would spread its attention over it, ours gives 0.
    """
    ours, mask = saved_and_loaded(theirs, load), real([20, 13], 20)
    rows = ROWS.masked_fill(~mask, 0)
    with mock.patch.object(sequence_resampling, "mask_padding", lambda rows, mask: rows):
        output = ours(rows, mask, SEGMENTS)
    expected = of_theirs(theirs, rows, mask, SEGMENTS)
    equal(output[mask], expected[mask])
    assert not torch.allclose(ours(rows, mask, SEGMENTS)[mask], output[mask], atol=1e-4)


def test_canine_agrees() -> None:
    canine_agrees()


def test_the_released_sizes() -> None:
    with torch.device("meta"):
        ours = canine.canine()
        theirs = CanineModel(CanineConfig(), add_pooling_layer=False)
    assert count(ours) == count(theirs)
    assert round(count(ours) / 1e6) == 131


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def test_code_points_are_what_their_tokenizer_says() -> None:
    ids = CanineTokenizer()(TEXTS[0])["input_ids"]
    assert ids == [0xE000, *map(ord, TEXTS[0]), 0xE001]


def test_hashes_by_hand() -> None:
    """(97 + 1) * 31 = 3038 = 126 * 24 + 14; (97 + 1) * 43 = 4214 = 175 * 24 + 14."""
    hashed = HashEmbedding(8, 2, 24)
    assert hashed.buckets(torch.tensor([[ord("a"), ord("b")]])).tolist() == [[[14, 14], [21, 9]]]
    row = torch.cat([hashed.tables[0].weight[21], hashed.tables[1].weight[9]])
    assert torch.equal(hashed(torch.tensor([[ord("b")]]))[0, 0], row)


def test_the_released_hashes_tell_no_more_apart_than_one() -> None:
    """Their primes are odd and their tables 2^14 rows long, so that each table holds the same
    classes in another order: c and c + 16,384 have one row, A and the ideograph U+4041 too. With
    a number of rows that the primes' products do not keep in step, nothing changes: the hash is of
    c mod n_buckets whatever that is.
    """
    letters = torch.arange(0xA000)
    buckets = HashEmbedding(8).buckets(letters)
    assert [len(each.unique()) for each in buckets.unbind(-1)] == [16_384] * 8
    assert len(buckets.unique(dim=0)) == 16_384
    hashed = HashEmbedding(16)
    assert torch.equal(hashed(torch.tensor([[0x41]])), hashed(torch.tensor([[0x4041]])))
    assert len(HashEmbedding(8, 8, 16_381).buckets(letters).unique(dim=0)) == 16_381


def test_their_model_reads_two_letters_as_one_too() -> None:
    """U+4E2D and U+0E2D, 16,384 apart, with the released number of rows."""
    theirs = reference(CanineModel, CanineConfig, **SIZES | {"num_hash_buckets": 16_384})
    first, second, third = (
        of_theirs(theirs, ROWS.masked_fill(ord("z") == ROWS, ord(letter)), None, SEGMENTS)
        for letter in ("\u4e2d", "\u0e2d", "b")
    )
    assert torch.equal(first, second)
    assert not torch.equal(first, third)


def test_the_row_of_the_deep_stack_that_each_character_reads() -> None:
    """Seven characters, a rate of 2: rows are [CLS], 0-1, 2-3; the last group has none."""
    layer = Upsample(1, 1, lambda x: x, 1e-5).double()
    layer.conv.weight.data[:] = torch.tensor([[[0.0], [1.0]]]).double()
    layer.conv.bias.data[:] = 0.0
    layer.norm = nn.Identity()  # type: ignore[assignment]
    few = torch.tensor([[[10.0], [11.0], [12.0]]]).double()
    read = layer(torch.zeros(1, 7, 1).double(), few, 2)
    assert read.flatten().tolist() == [11, 11, 12, 12, 12, 12, 12]


def test_a_new_model_is_read_by_theirs(tmp_path: Path) -> None:
    model = canine.canine(canine.TINY).eval()
    theirs = CanineModel.from_pretrained(save(model, tmp_path)).eval()
    assert torch.allclose(model(ROWS), theirs(ROWS).last_hidden_state, atol=1e-5)


def one_later(self: Downsample, rows: Tensor, mask: Tensor | None = None) -> Any:
    """Rows count as real where their own characters are, which theirs does not ask."""
    few, those = SHORTEN(self, rows, mask)
    if those is not None:
        those = torch.cat((those[:, :1], those[:, :-1]), dim=1)
    return few, those


def all_groups(self: Downsample, rows: Tensor, mask: Tensor | None = None) -> Any:
    """The last group has a row, and [CLS] none."""
    return self.norm(self.activation(self.conv(rows.mT)).mT), None


SHORTEN = Downsample.forward
MUTATIONS: dict[str, tuple[str, object]] = {
    "hashes of c, not of c + 1": (
        "deepdive.layers.hashed.HashEmbedding.buckets",
        lambda self, tokens: tokens.unsqueeze(-1) * torch.tensor([31, 43, 59, 61]) % 24),
    "a first layer that sees the whole text": (
        "deepdive.models.multilingual.canine.in_chunks",
        lambda config, layer: full_attention(config, layer)),
    "rows real where their own characters are": (
        "deepdive.layers.sequence_resampling.Downsample.forward", one_later),
    "a row for the last group": (
        "deepdive.layers.sequence_resampling.Downsample.forward", all_groups),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError)):
        canine_agrees()
