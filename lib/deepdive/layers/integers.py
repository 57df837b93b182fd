"""Integer-only arithmetic of I-BERT: polynomials for erf and exp, Newton's method for square roots.

A real number x is represented by an integer q times a scale, x = q * scale. Every function below
computes q with sums, products, shifts and divisions of integers; the scale goes with it as a
float that is known before any input, so that hardware without floats does not need it.

Long because every float operation of an encoder has its integer form here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

ERF = (-0.2888, -1.769)  # a, b of sign(x) (a (min(|x|, -b) + b)^2 + 1), equation 8
# a, b, c of a p^2 + b p + c on [-ln 2, 0]: equation 13, 0.3585 (p + 1.353)^2 + 0.344, with the
# digits of the released code. They hold the paper's bound of 0.0019; the printed four do not.
EXP = (0.35815147, 0.96963238, 1.0)
LN2, ROOT_2 = 0.6931, 1.4142  # to the digits of the released code
ROOM = 30  # by how many bits exp is shifted left before its right shift, so that few are lost
DROPPED = 14  # bits that erf drops, so that its product with x stays small
WIDE = 62  # bits of a product; int64 has 63 and a sign


@dataclass(frozen=True)
class QuantizedTensor:
    """x = q * scale: `q` integers, `scale` one float, or one per column (the last axis)."""

    q: Tensor
    scale: Tensor

    @property
    def value(self) -> Tensor:
        """The real numbers."""
        return self.q * self.scale

    def rescaled(self, scale: Tensor, bits: int) -> QuantizedTensor:
        """Return x on another scale, in `bits` bits: q' = round(q * m / 2^e), m / 2^e the ratio of
        the scales, m of 31 bits (a dyadic number). Values that are too large saturate. q has 47
        bits at most.

        Raises ValueError where the new scale is 2^30 times as fine, or more.
        Source: Kim et al. 2021, section 3.1, after Jacob et al. 2018.
        """
        m, e = dyadic(self.scale / scale)
        if bool((e < 1).any()):
            raise ValueError(
                f"scale: {float(scale.min()):.1e} is 2^30 times as fine as "
                f"{float(self.scale.max()):.1e}: calibrate with texts whose activations are not 0"
            )
        q = self.q.long().clamp(-(2**47), 2**47)
        low = (e - 1).clamp(0, 16)  # q m may have 78 bits: take the low part apart
        high, rest = q >> low, q & ((1 << low) - 1)
        product, shift = high * m + ((rest * m) >> low), e - low
        return QuantizedTensor(saturated((product + (1 << (shift - 1))) >> shift, bits), scale)


def dyadic(ratio: Tensor) -> tuple[Tensor, Tensor]:
    """Return integers m < 2^31 and e with ratio = m / 2^e, to 31 bits."""
    mantissa, exponent = torch.frexp(ratio.double())
    return (mantissa * 2**31).round().long(), 31 - exponent.long()


def saturated(q: Tensor, bits: int) -> Tensor:
    """Return q clamped to [-(2^(bits - 1) - 1), 2^(bits - 1) - 1], in the smallest dtype for it."""
    top = 2 ** (bits - 1) - 1
    return q.clamp(-top, top).to(torch.int8 if bits <= 8 else torch.int32)


def scale_of(largest: Tensor, bits: int) -> Tensor:
    """Return alpha / (2^(bits - 1) - 1), alpha = `largest` the largest |x| (equation 1)."""
    return largest.double().clamp(min=1e-8) / (2 ** (bits - 1) - 1)


def quantized(x: Tensor, scale: Tensor, bits: int) -> QuantizedTensor:
    """Return q = round(clip(x, -alpha, alpha) / scale), symmetric around 0.

    Source: Kim et al. 2021, equation 1. The released code clamps at 2^(bits - 1) - 2 from above.
    """
    return QuantizedTensor(saturated((x / scale).round().long(), bits), scale)


def plus(scale: Tensor, bits: int, *parts: QuantizedTensor) -> QuantizedTensor:
    """Return the sum of numbers with other scales, each brought to `scale` first."""
    q = torch.stack([part.rescaled(scale, 32).q.long() for part in parts]).sum(0)
    return QuantizedTensor(saturated(q, bits), scale)


def times(a: QuantizedTensor, b: QuantizedTensor) -> QuantizedTensor:
    """Return a @ b, summed in int32."""
    return QuantizedTensor(a.q.int() @ b.q.int(), a.scale * b.scale)


def i_erf(x: QuantizedTensor) -> QuantizedTensor:
    """Return erf(x) = sign(q) ((min(|q|, -q_b) + q_b)^2 + q_c), q_b = floor(b / S), q_c =
    floor(1 / (a S^2)), on the scale a S^2 2^14. Source: Kim et al. 2021, algorithm 2.
    """
    a, b = ERF
    q_b, q_c = _floored(b / x.scale), _floored(1 / (a * x.scale**2))
    q = torch.minimum(x.q.long().abs(), -q_b) + q_b
    return QuantizedTensor((x.q.sign() * (q * q + q_c)) >> DROPPED, a * x.scale**2 * 2**DROPPED)


def i_gelu(x: QuantizedTensor) -> QuantizedTensor:
    """Return x (1 + erf(x / sqrt(2))) / 2, which is within 0.018 of GELU (for |x| < 4: 0.0182).

    The scale of erf, a S^2 2^14, is negative: so is that of the result.
    Raises ValueError where S is so coarse that erf has fewer than 64 steps.
    Source: Kim et al. 2021, algorithm 2.
    """
    erf = i_erf(QuantizedTensor(x.q, x.scale / ROOT_2))
    one = _floored(1 / erf.scale)
    if bool((one > -64).any()):
        raise ValueError(
            f"x has the scale {float(x.scale.max()):.1e}, expected 1e-3 or less, as the int32 sums "
            "of a matrix have: quantize with more bits"
        )
    return QuantizedTensor(x.q.long() * (erf.q + one), x.scale * erf.scale / 2)


def i_exp(x: QuantizedTensor) -> QuantizedTensor:
    """Return exp(x) for x <= 0: x = -z ln 2 + p with p in (-ln 2, 0], so that

        exp(x) = (a p^2 + b p + c) >> z,   z = floor(-q / q_ln2),   q_ln2 = ceil(ln 2 / S)

    Raises ValueError where S is too coarse for ln 2, or too fine for 62 bits.
    Source: Kim et al. 2021, algorithm 3.
    """
    a, b, c = EXP
    q_ln2, q_b = -_floored(-LN2 / x.scale), _floored(b / a / x.scale)
    q_c = _floored(c / a / x.scale**2)
    bits = math.ceil(math.log2(float(q_c) + 1))
    if float(x.scale) > LN2 or bits > WIDE:
        raise ValueError(
            f"x has the scale {float(x.scale):.1e}, expected one between 1e-9 and ln 2: quantize "
            "with more bits, or over a wider range"
        )
    shift = min(ROOM, WIDE - bits)
    q = x.q.long().maximum(-ROOM * q_ln2)
    z = -q // q_ln2
    p = q + z * q_ln2
    return QuantizedTensor((p * (p + q_b) + q_c << shift) >> z, a * x.scale**2 / 2**shift)


def i_softmax(x: QuantizedTensor, allowed: Tensor | None = None, bits: int = 8) -> QuantizedTensor:
    """Return the attention weights, integers from 0 to 2^bits; 0 for a query without an allowed
    key.

        e = i_exp(q - max(q));   weights = e (2^32 // sum(e)) >> (32 - bits)

    `allowed` is bool and broadcasts to x. e is rescaled to 16 bits, with the maximum exp(0).
    Source: Kim et al. 2021, section 3.5, and the released code for the 16 bits.
    """
    q = x.q.long()
    mask = torch.ones_like(q, dtype=torch.bool) if allowed is None else allowed.expand_as(q)
    lowest = q.min() - 1
    q = torch.where(mask, q, lowest)
    exponentials = i_exp(QuantizedTensor(q - q.amax(-1, keepdim=True), x.scale))
    e = _in_16_bits(exponentials).q.long() * mask
    factor = 2**32 // e.sum(-1, keepdim=True).clamp(min=1)
    return QuantizedTensor((e * factor >> (32 - bits)).int(), torch.tensor(2.0**-bits).double())


def _in_16_bits(x: QuantizedTensor) -> QuantizedTensor:
    """Return x, from 0 to 1 and of up to 62 bits, in 16: its lowest bits are dropped."""
    excess = max(0, math.ceil(math.log2(float(x.q.max()) + 1)) - 31)
    return QuantizedTensor(x.q >> excess, x.scale * 2**excess).rescaled(
        scale_of(torch.tensor(1.0), 16), 16
    )


def i_sqrt(n: Tensor) -> Tensor:
    """Return floor(sqrt(n)) for integers n >= 0, by Newton's method from above:

        x_0 = 2^ceil(bits(n) / 2);   x_{i + 1} = (x_i + n // x_i) // 2   until it no longer falls

    Source: Kim et al. 2021, algorithm 4 (after Crandall and Pomerance 2006, algorithm 9.2.11).
    """
    bits = torch.frexp(n.double())[1].long()  # the number of binary digits, of n < 2^53
    x = 1 << ((bits + 1) // 2)
    while True:
        lower = (x + n // x.clamp(min=1)) // 2
        if not bool((lower < x).any()):
            return x
        x = torch.minimum(x, lower)


def i_layer_norm(x: QuantizedTensor, weight: Tensor, bias: Tensor) -> QuantizedTensor:
    """Return (q - mean) / std * weight + bias, on a scale for each column.

        y = q - round(sum(q) / d);   std = i_sqrt(sum(y^2));   y (2^31 // std) >> 1

    The scale sqrt(d) / 2^30 * weight includes the weight; the bias is one integer per column. `eps`
    is left out, as in the released code: a constant vector becomes the bias.
    Source: Kim et al. 2021, section 3.6.
    """
    q, d = x.q.long(), x.q.shape[-1]
    y = q - (2 * q.sum(-1, keepdim=True) + d) // (2 * d)
    std = i_sqrt((y * y).sum(-1, keepdim=True)).clamp(min=1)
    normal, scale = y * (2**31 // std) >> 1, torch.tensor(math.sqrt(d) / 2**30).double()
    weight = torch.where(weight.abs() < 1e-6, 1e-6, weight.double())
    return QuantizedTensor(normal + _floored(bias / weight / scale), scale * weight)


def _floored(constant: Tensor) -> Tensor:
    return constant.floor().long()
