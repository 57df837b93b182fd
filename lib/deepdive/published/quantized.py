"""Block quantization in ggml's formats: blocks of 32 weights that share a scale.

    Q8_0   x = d * q           d in half precision, q a byte from -127 to 127     8.5 bits/weight
    Q4_1   x = d * q + m       d and m in half precision, q from 0 to 15          5 bits
    Q4_0   x = d * (q - 8)     d in half precision, q from 0 to 15                4.5 bits

    blocks = quantize("Q4_1", x)            # bytes (..., n / 32 * 20), x (..., n)
    dequantize("Q4_1", blocks)              # float32 (..., n), at most about d / 2 from x

The rounding error is at most d / 2, where d is the block's range / 15 (Q4_1), or its largest
absolute value / 127 (Q8_0) or / 8 (Q4_0). Half precision adds |q| * d / 2048, and |m| / 2048. In
Q4_0 the largest value is -8 d or 8 d; one as large with the other sign has no q, and loses d.

Source: ggml's quantize_row_q4_0_ref, _q4_1_ref and _q8_0_ref (ggml-quants.c), byte for byte.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
BLOCK = 32  # weights that share a scale


@dataclass(frozen=True)
class Kind:
    """A quantization type.

    name    ggml's name
    block   weights in a block
    size    bytes of a block
    unpack  blocks (n, size) -> floats (n, block)
    pack    floats (n, block) -> blocks (n, size)
    """

    name: str
    block: int
    size: int
    unpack: Callable[[Bytes], Floats]
    pack: Callable[[Floats], Bytes]


def quantize(kind: str, x: Floats) -> Bytes:
    """Quantize floats x (..., n) to bytes (..., n / block * size).

    Raises ValueError for a type that is not supported, for a last axis that is not a multiple of
    the block size, for values that are not finite, and for a scale that half precision overflows.
    """
    how, x = by_name(kind), np.asarray(x, np.float32)
    if x.shape[-1] % how.block:
        raise ValueError(
            f"x has a last axis of {x.shape[-1]}; {kind} has blocks of {how.block}: pad it to a "
            "multiple"
        )
    if not np.isfinite(x).all():
        raise ValueError("x has NaN or infinite values, which cannot be quantized")
    blocks = how.pack(x.reshape(-1, how.block))
    return blocks.reshape(*x.shape[:-1], -1)


def dequantize(kind: str, blocks: Bytes) -> Floats:
    """Dequantize bytes (..., n / block * size) to float32 (..., n).

    Raises ValueError for a type that is not supported, and for rows that end within a block.
    """
    how = by_name(kind)
    if blocks.shape[-1] % how.size:
        raise ValueError(
            f"blocks has rows of {blocks.shape[-1]} bytes; {kind} has blocks of {how.size} bytes: "
            "check the kind"
        )
    return how.unpack(blocks.reshape(-1, how.size)).reshape(*blocks.shape[:-1], -1)


def by_name(kind: str) -> Kind:
    """Return a quantization type by name. Raises ValueError for an unknown one."""
    for known in KINDS.values():
        if known.name == kind:
            return known
    raise ValueError(
        f"kind: got {kind!r}, expected one of {', '.join(k.name for k in KINDS.values())}"
    )


def _plain(dtype: Any) -> tuple[Callable[[Bytes], Floats], Callable[[Floats], Bytes]]:
    """Return unpack and pack of an unquantized dtype."""
    return (
        lambda blocks: np.ascontiguousarray(blocks).view(dtype).astype(np.float32),
        lambda x: x.astype(dtype).view(np.uint8),
    )


def _half(blocks: Bytes, at: int) -> Floats:
    """Return the half-precision value at byte `at` of each block, (n, 1)."""
    return np.ascontiguousarray(blocks[:, at : at + 2]).view("<f2").astype(np.float32)


def _as_half(scales: Floats) -> Bytes:
    """Return scales (n, 1) as two bytes each. Raises ValueError for overflow."""
    with np.errstate(over="ignore"):
        halves = scales.astype("<f2")
    if not np.isfinite(halves).all():
        raise ValueError(
            f"x needs a scale of {np.abs(scales).max():.3g}; half precision ends at 65,504: divide "
            "x by a constant"
        )
    return halves.view(np.uint8)


def _inverse(d: Floats) -> Floats:
    """Return 1 / d, or 0 for a scale that half precision rounds to 0 anyway."""
    return np.divide(1, d, out=np.zeros_like(d), where=np.abs(d) > 1e-30)


def _nibbles(blocks: Bytes) -> Bytes:
    """Return the 32 four-bit values in 16 bytes: all low nibbles, then all high ones."""
    return np.concatenate((blocks & 15, blocks >> 4), axis=1)


def _as_nibbles(q: Floats) -> Bytes:
    """Return floats (n, 32), truncated to integers of at most 15, as 16 bytes each."""
    whole = np.minimum(15, np.trunc(q)).astype(np.uint8)
    return whole[:, :16] | (whole[:, 16:] << np.uint8(4))


def _unpack_q4_0(blocks: Bytes) -> Floats:
    return _half(blocks, 0) * (_nibbles(blocks[:, 2:]).astype(np.float32) - 8)


def _pack_q4_0(x: Floats) -> Bytes:
    largest = np.take_along_axis(x, np.abs(x).argmax(1)[:, None], axis=1)  # with its sign
    d = largest / np.float32(-8)
    return np.concatenate((_as_half(d), _as_nibbles(x * _inverse(d) + np.float32(8.5))), axis=1)


def _unpack_q4_1(blocks: Bytes) -> Floats:
    return _half(blocks, 0) * _nibbles(blocks[:, 4:]).astype(np.float32) + _half(blocks, 2)


def _pack_q4_1(x: Floats) -> Bytes:
    m = x.min(1, keepdims=True)
    d = (x.max(1, keepdims=True) - m) / 15
    q = _as_nibbles((x - m) * _inverse(d) + np.float32(0.5))
    return np.concatenate((_as_half(d), _as_half(m), q), axis=1)


def _unpack_q8_0(blocks: Bytes) -> Floats:
    return _half(blocks, 0) * np.ascontiguousarray(blocks[:, 2:]).view(np.int8).astype(np.float32)


def _pack_q8_0(x: Floats) -> Bytes:
    d = np.abs(x).max(1, keepdims=True) / 127
    q = x * _inverse(d)
    q = np.trunc(q + np.copysign(np.float32(0.5), q))  # ties away from 0, as in C
    return np.concatenate((_as_half(d), q.astype(np.int8).view(np.uint8)), axis=1)


KINDS = {  # ggml's type number -> the type
    0: Kind("F32", 1, 4, *_plain("<f4")),
    1: Kind("F16", 1, 2, *_plain("<f2")),
    2: Kind("Q4_0", BLOCK, 18, _unpack_q4_0, _pack_q4_0),
    3: Kind("Q4_1", BLOCK, 20, _unpack_q4_1, _pack_q4_1),
    8: Kind("Q8_0", BLOCK, 34, _unpack_q8_0, _pack_q8_0),
}
