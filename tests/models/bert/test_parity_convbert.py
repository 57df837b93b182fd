"""ConvBERT against transformers in float64, each text alone: theirs convolves padding too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import MASK, SEGMENTS, SIZES, SRC, reference, saved_and_loaded
from parity_proofs import alike
from parity_registry import equal, parity
from torch import Tensor
from transformers import ConvBertConfig, ConvBertForMaskedLM, ConvBertModel

from deepdive.core import gelu_tanh
from deepdive.layers.feed_forward import GroupedFeedForward, GroupedLinear
from deepdive.layers.mixed_attention import MixedAttention
from deepdive.layers.span_convolution import SpanConvolution
from deepdive.models.bert import convbert
from deepdive.published import family, from_config, load

NARROW: dict[str, Any] = {
    **SIZES, "embedding_size": 8, "head_ratio": 2, "conv_kernel_size": 3, "num_groups": 2,
}  # fmt: skip
WIDE = {**SIZES, "embedding_size": 16, "head_ratio": 8, "conv_kernel_size": 9}


@parity(
    "convbert", MixedAttention, SpanConvolution, GroupedLinear, GroupedFeedForward
)  # fmt: skip
def convbert_agrees() -> None:
    for settings in (NARROW, WIDE):
        theirs = reference(ConvBertForMaskedLM, ConvBertConfig, **settings)
        ours = saved_and_loaded(theirs, partial(load, head="masked_lm"))
        expected, states = [], []
        for row, segments, mask in zip(SRC, SEGMENTS, MASK, strict=True):
            alone = row[mask][None], None, segments[mask][None]
            expected.append(theirs(*alone).logits[0])
            states.append(theirs.convbert(*alone).last_hidden_state[0])
        logits, body = torch.cat(expected), saved_and_loaded(theirs, load)
        names = family("convbert").table("masked_lm")
        alike(ours, theirs, ours(SRC, MASK, SEGMENTS)[MASK], logits, [names])
        equal(body(SRC, MASK, SEGMENTS)[MASK], torch.cat(states))


def test_theirs_convolves_padding() -> None:
    """What a text says there depends on what stands behind it; here it does not."""
    theirs = reference(ConvBertModel, ConvBertConfig, **NARROW)
    ours = saved_and_loaded(theirs, load)
    other = SRC.masked_fill(~MASK, 5)
    moved = theirs(SRC, MASK.long())[0] - theirs(other, MASK.long())[0]
    assert moved[MASK].abs().max() > 1e-3
    equal(ours(SRC, MASK)[MASK], ours(other, MASK)[MASK])


def test_published_sizes() -> None:
    small: dict[str, Any] = {"embedding_size": 128}
    for config, d_model, heads, more in (
        (convbert.BASE, 768, 12, {}),
        (convbert.MEDIUM_SMALL, 384, 8, small | {"num_groups": 2}),
        (convbert.SMALL, 256, 4, small),
    ):
        sizes = {"hidden_size": d_model, "num_attention_heads": heads}
        with torch.device("meta"):
            theirs = ConvBertModel(
                ConvBertConfig(**sizes | {"intermediate_size": 4 * d_model} | more)
            )
            ours = convbert.convbert(config)
        assert sum(p.numel() for p in ours.parameters()) == theirs.num_parameters()


def test_settings_that_are_not_built_are_refused() -> None:
    good = ConvBertConfig(**NARROW).to_dict()
    for changes, message in (
        ({"is_decoder": True}, "is_decoder=True"),
        ({"conv_kernel_size": 4}, "kernel=4"),
        ({"num_groups": 3}, "groups=3"),
    ):
        with pytest.raises(ValueError, match=message):
            from_config({**good, **changes})


def flipped(self: Any, x: Tensor, q: Tensor, real: Tensor | None = None) -> Tensor:
    return KEPT(self, x.flip(1), q.flip(2), None if real is None else real.flip(1)).flip(2)


KEPT = SpanConvolution.forward
MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "a kernel laid the other way": (
        convbert_agrees, "deepdive.layers.span_convolution.SpanConvolution.forward", flipped),
    "a kernel chosen by no query": (
        convbert_agrees, "deepdive.layers.span_convolution.SpanConvolution.forward",
        lambda self, x, q, real=None: KEPT(self, x, torch.ones_like(q), real)),
    "padding that is convolved": (
        convbert_agrees, "deepdive.layers.span_convolution.SpanConvolution.forward",
        lambda self, x, q, real=None: KEPT(self, x, q)),
    "parts that are exchanged": (
        convbert_agrees, "deepdive.layers.feed_forward.GroupedLinear.forward",
        lambda self, x: torch.einsum(
            "...gi,gio->...go", x.unflatten(-1, (self.groups, -1)), self.weight.flip(0)
        ).flatten(-2) + self.bias),
    "GELU by tanh": (
        convbert_agrees, "deepdive.published.form.ACTIVATIONS", {"gelu": gelu_tanh}),
    "the wrong epsilon": (
        convbert_agrees, "deepdive.core.LayerNorm.forward",
        lambda self, x: F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-6)),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    convbert_agrees()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()
