"""The layers of an encoder in whole numbers, and the calibration that fixes their scales.

Kim et al. 2021, "I-BERT: Integer-only BERT Quantization". Each layer is made of its twin in floats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from deepdive.core import Context, Layer, LayerNorm, MultiHeadAttention, gelu
from deepdive.core.masks import as_mask
from deepdive.core.multi_head import split_heads
from deepdive.layers.integers import (
    QuantizedTensor,
    i_gelu,
    i_layer_norm,
    i_softmax,
    plus,
    quantized,
    saturated,
    scale_of,
    times,
)

Ranges = Mapping[str, tuple[float, float]]  # activation -> its least and its greatest


@contextmanager
def observed(model: nn.Module, see: Any) -> Iterator[None]:
    """Call see(name, x) with what enters and leaves each matrix and norm: `NAME.in`, `NAME.out`;
    for keys and values, which are one product, `kv.k` and `kv.v`.
    """
    handles = []
    for name, part in model.named_modules():
        if isinstance(part, nn.Linear | LayerNorm):

            def hook(_: Any, given: Any, out: Tensor, name: str = name) -> None:
                see(f"{name}.in", given[0])
                see(f"{name}.out", out)
                if name.endswith("kv"):
                    for half, rows in zip("kv", out.chunk(2, -1), strict=True):
                        see(f"{name}.{half}", rows)

            handles.append(part.register_forward_hook(hook))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@torch.no_grad()
def calibrated(model: nn.Module, texts: Iterable[Tensor], momentum: float = 0.95) -> dict[str, Any]:
    """Return how far each activation reaches, least and greatest, over batches of tokens (B, T).

        range = momentum * range + (1 - momentum) * the batch's;   the first batch sets it

    Raises ValueError when there are no texts.
    Source: Kim et al. 2021, section 3.1, and the released code's moving average.
    """
    ranges: dict[str, tuple[float, float]] = {}
    for tokens in texts:
        seen: dict[str, tuple[float, float]] = {}

        def see(name: str, x: Tensor, seen: dict[str, Any] = seen) -> None:
            seen[name] = float(x.min()), float(x.max())

        with observed(model.eval(), see):
            model(tokens)
        for name, now in seen.items():
            old = ranges.get(name, now)
            low, high = (momentum * a + (1 - momentum) * b for a, b in zip(old, now, strict=True))
            ranges[name] = low, high
    if not ranges:
        raise ValueError("texts: got none, expected batches of tokens to measure the ranges")
    return ranges


def range_scale(ranges: Ranges, name: str, bits: int) -> Tensor:
    if name not in ranges:
        raise ValueError(f"ranges has no {name!r}, expected those of this model: calibrate it")
    return scale_of(torch.tensor(ranges[name], dtype=torch.float64).abs().max(), bits)


class IntegerLinear(nn.Module):
    """y = q_x @ q_W^T + q_b in int32: W in 8 bits, with a scale for each output."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight, bias = linear.weight.detach().double(), linear.bias.detach().double()
        self.scale = nn.Buffer(scale_of(weight.abs().amax(1), 8))
        self.weight = nn.Buffer(quantized(weight, self.scale[:, None], 8).q)
        self.bias = nn.Buffer(bias)

    def forward(self, x: QuantizedTensor) -> QuantizedTensor:
        """Return whole numbers (..., d_out) for x (..., d_in) of 8 bits and one scale."""
        product = times(x, QuantizedTensor(self.weight.T, self.scale))
        bias = saturated((self.bias / product.scale).round().long(), 32)
        return QuantizedTensor(product.q + bias, product.scale)


class IntegerNorm(nn.Module):
    """The norm of a sum of whole numbers: the sum in `bits`, what it returns in 8."""

    def __init__(self, norm: LayerNorm, ranges: Ranges, name: str, bits: int) -> None:
        super().__init__()
        assert norm.bias is not None  # BERT's norms have one
        self.weight, self.bias = nn.Buffer(norm.weight.detach()), nn.Buffer(norm.bias.detach())
        self.bits, self.sum_scale = bits, nn.Buffer(range_scale(ranges, f"{name}.in", bits))
        self.scale = nn.Buffer(range_scale(ranges, f"{name}.out", 8))

    def forward(self, *parts: QuantizedTensor) -> QuantizedTensor:
        """Return norm(sum of parts), (..., d_model)."""
        total = plus(self.sum_scale, self.bits, *parts)
        return i_layer_norm(total, self.weight, self.bias).rescaled(self.scale, 8)


class IntegerPostNorm(IntegerNorm):
    """norm(x + sublayer(x)), the sum in 22 bits."""

    def forward(self, x: QuantizedTensor, sublayer: Any) -> QuantizedTensor:  # type: ignore[override]
        """Return the stream after the sublayer."""
        return super().forward(x, sublayer(x))


class IntegerAttention(Layer):
    """Multi-head attention of whole numbers: q, k, v, weights and their mix in 8 bits."""

    reads = ("mask",)
    instead = "use the floating-point model, BERT"

    def __init__(self, attn: MultiHeadAttention, ranges: Ranges, name: str) -> None:
        super().__init__()
        self.d_model, self.n_heads = attn.d_model, attn.n_heads
        self.q, self.kv, self.out = (IntegerLinear(x) for x in (attn.q, attn.kv, attn.out))
        names = ("q.out", "kv.k", "kv.v", "out.in")
        self.scales = nn.Buffer(torch.stack([range_scale(ranges, f"{name}.{n}", 8) for n in names]))

    def forward(self, x: QuantizedTensor, context: Context) -> QuantizedTensor:  # type: ignore[override]
        """Return (B, T, d_model)."""
        kv, width = self.kv(x), self.d_model
        halves = (
            QuantizedTensor(kv.q[..., at], kv.scale[at])
            for at in (slice(width), slice(width, None))
        )
        given = zip((self.q(x), *halves), self.scales[:3], strict=True)
        rows = (half.rescaled(scale, 8) for half, scale in given)
        q, k, v = (QuantizedTensor(split_heads(each.q, self.n_heads), each.scale) for each in rows)
        scores = times(q, QuantizedTensor(k.q.transpose(-2, -1), k.scale))  # (B, H, T, S)
        T, mask = x.q.shape[1], as_mask(context.mask)
        allowed = None if mask is None else mask.allowed(T, T, x.q.device)
        weights = i_softmax(
            QuantizedTensor(scores.q, scores.scale * q.q.shape[-1] ** -0.5), allowed
        )
        heads = times(weights, v)
        joined = QuantizedTensor(heads.q.transpose(1, 2).flatten(2), heads.scale)
        return cast(QuantizedTensor, self.out(joined.rescaled(self.scales[3], 8)))


class IntegerFeedForward(nn.Module):
    """out(i_gelu(inner(x))), what enters `out` in 8 bits."""

    def __init__(self, ff: Any, ranges: Ranges, name: str) -> None:
        super().__init__()
        if ff.activation is not gelu:
            raise ValueError(f"activation={ff.activation!r}: only gelu has an integer form")
        self.inner, self.out = IntegerLinear(ff.inner), IntegerLinear(ff.out)
        self.scale = nn.Buffer(range_scale(ranges, f"{name}.out.in", 8))

    def forward(self, x: QuantizedTensor) -> QuantizedTensor:
        """Return (..., d_model) for x (..., d_model)."""
        return cast(QuantizedTensor, self.out(i_gelu(self.inner(x)).rescaled(self.scale, 8)))
