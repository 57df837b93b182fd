"""Low rank and features: Linformer, Performer, Nystrom, YOSO and FNet against transformers, or
against their equations written out, in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import SEGMENTS, SIZES, SRC, reference, saved_and_loaded
from parity_proofs import alike, real, rows, tokens
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor, nn
from transformers import (
    FNetConfig,
    FNetModel,
    NystromformerConfig,
    NystromformerModel,
    PreTrainedModel,
    YosoConfig,
    YosoModel,
)

from deepdive.attention.by_content.yoso import ExpectedYosoAttention, YosoAttention
from deepdive.attention.low_rank.kernel import LinearAttention
from deepdive.attention.low_rank.linformer import LengthProjection, LinformerAttention
from deepdive.attention.low_rank.nystrom import NystromAttention, by_head
from deepdive.attention.low_rank.performer import PerformerAttention
from deepdive.attention.low_rank.value_convolution import ValueConvolution
from deepdive.layers import FourierMixing, gelu
from deepdive.masks import Causal, Padding
from deepdive.models.efficient import fnet
from deepdive.positions import LearnedPosition
from deepdive.published import family, load
from deepdive.published.weights import Change, adopt

NYSTROM: dict[str, Any] = {**SIZES, "num_landmarks": 4, "conv_kernel_size": 3}


def nystrom_at(length: int) -> PreTrainedModel:
    """Theirs for texts of one length, which four landmarks must divide; weights by seed."""
    settings = {**NYSTROM, "segment_means_seq_len": length}
    return reference(NystromformerModel, NystromformerConfig, **settings)


@parity("nystromformer", NystromAttention)
def nystromformer_agrees() -> None:
    theirs = nystrom_at(12)
    ours = saved_and_loaded(theirs, load)
    row, segments = tokens(3, 12, vocab=28), tokens(3, 12, vocab=6) - 4
    expected = theirs(row, token_type_ids=segments).last_hidden_state
    alike(ours, theirs, ours(row, None, segments), expected, [family("nystromformer").names])
    # Theirs counts padding in its landmarks, ours does not: a text between padding, in ours, is the
    # text alone in a model of theirs that is made for its length.
    short, place = nystrom_at(8), torch.arange(8)[None]
    for before in (0, 1):
        mask = torch.zeros(1, 11).bool()
        mask[:, before : before + 8] = True
        alone = row[:1, before : before + 8]
        expected = short(alone, position_ids=place + 2 + before).last_hidden_state
        alike(
            ours,
            short,
            ours(row[:1, :11], mask)[mask],
            expected[0],
            [family("nystromformer").names],
        )
    own_start()
    full_where_landmarks_are_many()


def own_start() -> None:
    """The paper's start, one number a matrix. Theirs has it behind a setting that cannot be set."""
    theirs = nystrom_at(12)
    ours = saved_and_loaded(theirs, load)
    for block, layer in zip(ours.stack.blocks, theirs.encoder.layer, strict=True):
        block.attn.mechanism.start = by_head
        layer.attention.self.init_option = "exact"
    row = tokens(3, 12, vocab=28)
    expected = theirs(row).last_hidden_state
    alike(ours, theirs, ours(row), expected, [family("nystromformer").names], silent=())


def full_where_landmarks_are_many() -> None:
    settings = {**NYSTROM, "segment_means_seq_len": 4, "conv_kernel_size": 5}
    theirs = reference(NystromformerModel, NystromformerConfig, **settings)
    ours = saved_and_loaded(theirs, load)
    row = tokens(2, 11, vocab=28)
    alike(ours, theirs, ours(row), theirs(row).last_hidden_state, [family("nystromformer").names])


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


@parity("fnet", FourierMixing, fnet.FNetEmbeddings)
def fnet_agrees() -> None:
    """Theirs has no mask: a text between padding, in ours, is the text alone in theirs."""
    sizes = {name: size for name, size in SIZES.items() if name != "num_attention_heads"}
    theirs = reference(FNetModel, FNetConfig, **sizes)
    ours, body = saved_and_loaded(theirs, load), Unpooled(theirs)
    for T in (7, 8):
        row, segments = tokens(3, T, vocab=28), tokens(3, T, vocab=8, seed=1) - 4
        expected = theirs(row, token_type_ids=segments).last_hidden_state
        alike(ours, body, ours(row, None, segments), expected, [family("fnet").names])
    mask = real([7, 4, 7], 8)
    for i, n in enumerate((7, 4, 7)):
        equal(ours(row, mask)[i, :n], theirs(row[i : i + 1, :n]).last_hidden_state[0])


class Unpooled(nn.Module):
    """Theirs without the pooler, which no state passes through."""

    def __init__(self, theirs: PreTrainedModel) -> None:
        super().__init__()
        self.embeddings, self.encoder = theirs.embeddings, theirs.encoder


@parity(ValueConvolution)
def value_convolution() -> None:
    for kernel, T in ((1, 5), (3, 7), (5, 3), (65, 131), (33, 32)):
        theirs = nn.Conv2d(3, 3, (kernel, 1), padding=(kernel // 2, 0), bias=False, groups=3)
        perturb(theirs.double())
        ours = ValueConvolution(3, kernel).double()
        rules = [Change(r"weight$", lambda weight: weight.flatten(1))]
        adopt(ours, theirs.state_dict(), rules)
        x, y, keys = rows(2, 3, T, 4), rows(2, 3, T, 4), real([T, T - 2], T)
        expected = theirs(y * keys[:, None, :, None])
        alike(ours, theirs, ours(x, keys), expected, rules, inputs=[(x, y)])


def leaves(T: int, S: int, d: int = 4) -> list[Tensor]:
    return [rows(2, 2, n, width, seed=i) for i, (n, width) in enumerate(((T, d), (S, d), (S, 3)))]


def compare(ours: Tensor, theirs: Tensor, given: list[Tensor]) -> None:
    equal(ours, theirs)
    equal_gradients(ours, theirs, {name: (x, x) for name, x in zip("qkv", given, strict=True)})


@parity(LinformerAttention)
def linformer() -> None:
    """Sums over positions one by one, softmax by its definition, three ways to share."""
    torch.manual_seed(0)
    for heads in (1, 2):
        E, G = (LengthProjection(heads, 9, 3).double() for _ in range(2))
        for attention in (LinformerAttention(E, G), LinformerAttention(E)):
            given = leaves(4, 7)
            q, k, v = given
            keys, out = real([7, 5], 7), []
            for b in range(2):
                for h in range(2):
                    by_k, by_v = (m.weight[h % heads] for m in (attention.E, attention.F))
                    seen = [s for s in range(7) if keys[b, s]]
                    sums = [sum(by_k[j, s] * k[b, h, s] for s in seen) for j in range(3)]
                    means = [sum(by_v[j, s] * v[b, h, s] for s in seen) for j in range(3)]
                    for t in range(4):
                        e = [(q[b, h, t] @ one / 2).exp() for one in sums]
                        out.append(sum(x * m for x, m in zip(e, means, strict=True)) / sum(e))
            compare(attention(q, k, v, Padding(keys)), torch.stack(out).view(2, 2, 4, 3), given)


def by_features(phi: Callable[[Tensor, str], Tensor], attention: nn.Module) -> None:
    """Every weight from its two features, one by one; causal too, few queries, padding."""
    for T, S in ((7, 7), (3, 7)):
        for causal in (False, True):
            given = leaves(T, S)
            q, k, v = given
            keys, out = real([7, 5], 7), []
            for b in range(2):
                for h in range(2):
                    for t in range(T):
                        last = S - T + t if causal else S
                        seen = [s for s in range(S) if keys[b, s] and s <= last]
                        w = [phi(q[b, h, t], "q") @ phi(k[b, h, s], "k") for s in seen]
                        mixed = sum(x * v[b, h, s] for x, s in zip(w, seen, strict=True))
                        out.append(mixed / sum(w))
            mask = Padding(keys) & Causal() if causal else Padding(keys)
            compare(attention(q, k, v, mask), torch.stack(out).view(2, 2, T, 3), given)


@parity(LinearAttention)
def linear_attention() -> None:
    at_once_and_in_parts(lambda x, _: torch.where(x > 0, x + 1, x.exp()), LinearAttention(chunk=3))


@parity(PerformerAttention)
def performer() -> None:
    torch.manual_seed(0)
    attention = PerformerAttention(4, 10, chunk=3).double()

    def phi(x: Tensor, _: str) -> Tensor:
        x = x / 4**0.25
        return torch.stack([(w @ x - x @ x / 2).exp() for w in attention.drawn]) / 10**0.5

    at_once_and_in_parts(phi, attention)


def at_once_and_in_parts(phi: Callable[[Tensor, str], Tensor], attention: LinearAttention) -> None:
    """All rows at a time, and few: no part of the keys may have a scale of its own."""
    by_features(phi, attention)
    with mock.patch("deepdive.fast.kernel.ROWS", 2):
        by_features(phi, attention)


@parity(YosoAttention)
def yoso_sampled() -> None:
    """Pairs of pieces, a step for each, and sums: the backward pass takes two ways."""
    with_buckets()
    for many, step in ((16, 2), (0, 2)):
        with mock.patch.multiple("deepdive.fast.yoso", KEYS_FOR_SUMS=many, ROWS=step):
            with_buckets()


def with_buckets() -> None:
    """The share of hashes that agree, counted pair by pair; the slope as the paper puts it."""
    torch.manual_seed(0)
    attention = YosoAttention(4, 3, 5).double()
    given = leaves(6, 7)
    q, k, v = given
    keys = real([7, 5], 7)
    output = attention(q, k, v, Padding(keys))
    unit_q, unit_k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    planes = attention.drawn.view(4, 5, 3)
    share = torch.zeros(2, 2, 6, 7).double()
    for b, h, t, s in torch.cartesian_prod(*(torch.arange(n) for n in share.shape)).tolist():
        for hash_ in range(5):
            sides = [(x[b, h, i] @ planes[:, hash_] > 0) for x, i in ((q, t), (k, s))]
            share[b, h, t, s] += float(torch.equal(*sides) and bool(keys[b, s])) / 5
    assert 0.05 < share.mean() < 0.6
    cosine = unit_q @ unit_k.transpose(-2, -1)
    weights = share + 1.5 * share * (cosine - cosine.detach())  # the value, and the slope
    compare(output, F.normalize(weights @ v, dim=-1), given)


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "one iteration fewer": (
        nystromformer_agrees,
        "deepdive.attention.low_rank.nystrom.NystromAttention.__init__.__kwdefaults__",
        {"iterations": 5, "start": by_head, "convolution": None},
    ),
    "the form of GELU": (
        nystromformer_agrees,
        "deepdive.published.form.ACTIVATIONS",
        dict.fromkeys(("gelu", "gelu_new"), gelu),
    ),
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
    "the imaginary part": (
        fnet_agrees,
        "deepdive.layers.fourier.transform",
        lambda x: torch.fft.fftn(x, dim=(1, 2)).imag,
    ),
    "no minus |x|^2 / 2": (
        performer,
        "deepdive.attention.low_rank.performer.PerformerAttention._exponents",
        lambda self, k, real, scale: scale**0.5 * k @ self.drawn.T,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError, RuntimeError)):
        proof()
