"""Quantization error of I-BERT by operation: one kind in integers, the rest in floats.

Long because each of the five kinds is inserted into the float model in its own way.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, cast

import torch
from torch import Tensor, nn

from deepdive.core import LayerNorm, SoftmaxAttention
from deepdive.layers.integer_layers import IntegerLinear, IntegerNorm, Ranges, range_scale
from deepdive.layers.integers import QuantizedTensor, i_gelu, i_softmax, quantized
from deepdive.models.bert.bert import Bert
from deepdive.models.bert.ibert import IntegerEmbeddings, integer


class Alone(nn.Module):
    """Integer operation in a float model: value(part(quantized(x)))."""

    def __init__(self, part: Callable[..., Any], scale: Tensor, bits: int) -> None:
        super().__init__()
        self.part, self.scale, self.bits = part, scale, bits

    def forward(self, x: Tensor, *given: Any) -> Tensor:
        """Return a float tensor for a float tensor."""
        return cast(
            QuantizedTensor, self.part(quantized(x, self.scale, self.bits), *given)
        ).value.to(x.dtype)


class IntegerWeights(SoftmaxAttention):
    """Softmax attention with an integer softmax of scores quantized to 16 bits."""

    def weigh(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        """Return attention weights (B, H, T, S)."""
        scale = scores.abs().max().double() / 2**15
        return i_softmax(quantized(scores, scale, 32), allowed).value.to(scores.dtype)


def _embeddings(model: Any, ranges: Ranges) -> None:
    whole, dtype = IntegerEmbeddings(model.embeddings, ranges), model.embeddings.norm.weight.dtype
    model.embeddings.forward = lambda *given: whole(*given).value.to(dtype)


def _matrices(model: Any, ranges: Ranges) -> None:
    for name, part in list(model.named_modules()):
        if isinstance(part, nn.Linear):
            scale = range_scale(ranges, f"{name}.in", 8)
            model.set_submodule(name, Alone(IntegerLinear(part), scale, 8))


def _norms(model: Any, ranges: Ranges) -> None:
    for name, part in list(model.named_modules()):
        if isinstance(part, LayerNorm) and name.startswith("stack"):
            norm = IntegerNorm(part, ranges, name, 22)
            model.set_submodule(name, Alone(norm, norm.sum_scale, 22))


def _softmax(model: Any, ranges: Ranges) -> None:
    for block in model.stack.blocks:
        block.attn.mechanism = IntegerWeights()


def _gelu(model: Any, ranges: Ranges) -> None:
    for i, block in enumerate(model.stack.blocks):
        scale = range_scale(ranges, f"stack.blocks.{i}.ff.inner.out", 20)
        block.ff.activation = Alone(i_gelu, scale, 20)


KINDS: dict[str, Callable[[Any, Ranges], None]] = {
    "embeddings": _embeddings, "matrices": _matrices, "softmax": _softmax, "gelu": _gelu,
    "norms": _norms,
}  # fmt: skip


@torch.no_grad()
def errors(
    model: Bert, ranges: Ranges, tokens: Tensor, mask: Tensor | None = None,
    kinds: Iterable[str] = tuple(KINDS),
) -> dict[str, float]:  # fmt: skip
    """Return mean|states - float states| with only one kind of operation in integers, for each
    kind, and under "all" for the model of `integer`, where every operation is.

    Raises ValueError for an unknown kind.
    """
    expected, errors = model(tokens, mask), {}
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f"kinds: {kind!r} is unknown; expected some of {', '.join(KINDS)}")
        changed = copy.deepcopy(model)
        KINDS[kind](changed, ranges)
        errors[kind] = float((changed(tokens, mask) - expected).abs().mean())
    whole = integer(model, ranges)
    return errors | {"all": float((whole(tokens, mask) - expected).abs().mean())}
