"""YOSO: the expectation against transformers, the sampled form against its equation, in float64."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_attention import compare, leaves
from parity_bert import SEGMENTS, SIZES, SRC, reference, saved_and_loaded
from parity_proofs import alike, real
from parity_registry import parity
from transformers import YosoConfig, YosoModel

from deepdive.attention.by_content.yoso import ExpectedYosoAttention, YosoAttention
from deepdive.core.masks import Causal, Mask, Padding
from deepdive.positions import LearnedPosition
from deepdive.published import family, load


@parity(ExpectedYosoAttention)
def yoso_agrees() -> None:
    """Theirs reads 0 for a real key and -10,000 for padding, where its text says 1 and 0, which
    mask nothing; its convolution multiplies by the same numbers, so it is compared without padding.
    """
    settings = {**SIZES, "hash_code_len": 4, "max_position_embeddings": 13}
    keys = real([7, 5, 3], 7)
    for more, mask in (({}, keys), ({}, keys.flip(1)), ({"conv_window": 3}, None)):
        theirs = reference(YosoModel, YosoConfig, **settings, **more, type_vocab_size=2)
        ours = saved_and_loaded(theirs, load)
        told = None if mask is None else (mask.double() - 1) * 10_000
        seen = torch.ones_like(keys) if mask is None else mask
        expected = theirs(SRC, told, SEGMENTS).last_hidden_state
        alike(ours, theirs, ours(SRC, mask, SEGMENTS)[seen], expected[seen], [family("yoso").names])


@parity(YosoAttention)
def yoso_sampled() -> None:
    """Pairs of pieces, a step for each, and sums: the backward pass takes two ways."""
    for mask in (Padding(real([7, 5], 7)), Padding(real([7, 5], 7)) & Causal()):
        with_buckets(mask)
        for many, step in ((16, 2), (0, 2)):
            with mock.patch.multiple("deepdive._fast.yoso", KEYS_FOR_SUMS=many, ROWS=step):
                with_buckets(mask)


def with_buckets(mask: Mask) -> None:
    """The share of hashes that agree, counted pair by pair; the slope as the paper puts it."""
    torch.manual_seed(0)
    attention = YosoAttention(4, 3, 5).double()
    given = leaves(6, 7)
    q, k, v = given
    output = attention(q, k, v, mask)
    seen = mask.allowed(6, 7, None)
    assert seen is not None
    seen = seen.expand(2, 2, 6, 7)
    unit_q, unit_k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    planes = attention.drawn.view(4, 5, 3)
    share = torch.zeros(2, 2, 6, 7).double()
    for b, h, t, s in torch.cartesian_prod(*(torch.arange(n) for n in share.shape)).tolist():
        for hash_ in range(5):
            sides = [(x[b, h, i] @ planes[:, hash_] > 0) for x, i in ((q, t), (k, s))]
            share[b, h, t, s] += float(torch.equal(*sides) and bool(seen[b, h, t, s])) / 5
    assert 0.03 < share.mean() < 0.6
    cosine = unit_q @ unit_k.transpose(-2, -1)
    weights = share + 1.5 * share * (cosine - cosine.detach())  # the value, and the slope
    compare(output, F.normalize(weights @ v, dim=-1), given)


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "positions from 1": (
        yoso_agrees,
        "deepdive.models.bert.bert.LearnedPosition",
        lambda length, d_model, unused: LearnedPosition(length + 1, d_model, unused - 1),
    ),
    "the derivative of YOSO's weights": (
        yoso_agrees,
        "deepdive.attention.by_content.yoso.BoundedSlope.apply",
        lambda q, k, v, weights, bits: (
            (1 - (0.999999 * (q @ k.mT)).acos() / torch.pi) ** bits * (weights > 0)
        ) @ v,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError, RuntimeError)):
        proof()
