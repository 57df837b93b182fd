"""Weights in few bits: blocks of 32 numbers that share a scale.

    Q8_0   x = d * q           d in half precision, q a byte from -127 to 127     8.5 bits a number
    Q4_1   x = d * q + m       d and m in half precision, q from 0 to 15          5 bits
    Q4_0   x = d * (q - 8)     d in half precision, q from 0 to 15                4.5 bits

    blocks = quantise("Q4_1", x)            # bytes (..., n / 32 * 20), x (..., n)
    dequantise("Q4_1", blocks)              # float32 (..., n), at most about d / 2 from x

Rounding costs d / 2 at most, d being the block's span / 15 (Q4_1), its largest size / 127 (Q8_0) or
/ 8 (Q4_0). Half precision adds |q| * d / 2048, and |m| / 2048. In Q4_0 the largest number is -8 d
or 8 d; one as large with the other sign has no q of its own, and loses d.

Source: ggml's quantize_row_q4_0_ref, _q4_1_ref and _q8_0_ref (ggml-quants.c), byte for byte.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
BLOCK = 32  # numbers that share a scale


@dataclass(frozen=True)
class Kind:
    """How numbers lie in a file.

    name    as ggml calls it
    block   numbers in a block
    size    bytes of a block
    unpack  blocks (n, size) -> numbers (n, block)
    pack    numbers (n, block) -> blocks (n, size)
    """

    name: str
    block: int
    size: int
    unpack: Callable[[Bytes], Floats]
    pack: Callable[[Floats], Bytes]


def quantise(kind: str, x: Floats) -> Bytes:
    """Return the numbers x (..., n) as bytes (..., n / block * size).

    Raises ValueError for a kind that is unknown here, for rows that no whole number of blocks
    fills, for numbers that are not finite, and for a scale that half precision cannot hold.
    """
    how, x = by_name(kind), np.asarray(x, np.float32)
    if x.shape[-1] % how.block:
        raise ValueError(
            f"x has rows of {x.shape[-1]} numbers; {kind} has blocks of {how.block}: fill the rows "
            "up to a multiple"
        )
    if not np.isfinite(x).all():
        raise ValueError("x holds numbers that are not finite, which no block can hold")
    blocks = how.pack(x.reshape(-1, how.block))
    return blocks.reshape(*x.shape[:-1], -1)


def dequantise(kind: str, blocks: Bytes) -> Floats:
    """Return the numbers (..., n), float32, of bytes (..., n / block * size).

    Raises ValueError for a kind that is unknown here, and for rows of bytes that end in a block.
    """
    how = by_name(kind)
    if blocks.shape[-1] % how.size:
        raise ValueError(
            f"blocks has rows of {blocks.shape[-1]} bytes; {kind} has blocks of {how.size}: are "
            "they of another kind?"
        )
    return how.unpack(blocks.reshape(-1, how.size)).reshape(*blocks.shape[:-1], -1)


def by_name(kind: str) -> Kind:
    """Return a kind. Raises ValueError for one unknown here."""
    for known in KINDS.values():
        if known.name == kind:
            return known
    raise ValueError(
        f"kind: {kind!r} is not read here; {', '.join(k.name for k in KINDS.values())}"
    )


def _plain(dtype: Any) -> tuple[Callable[[Bytes], Floats], Callable[[Floats], Bytes]]:
    """The ways of numbers that stand alone."""
    return (
        lambda blocks: np.ascontiguousarray(blocks).view(dtype).astype(np.float32),
        lambda x: x.astype(dtype).view(np.uint8),
    )


def _half(blocks: Bytes, at: int) -> Floats:
    """The half-precision number at byte `at` of each block, (n, 1)."""
    return np.ascontiguousarray(blocks[:, at : at + 2]).view("<f2").astype(np.float32)


def _as_half(scales: Floats) -> Bytes:
    """Scales (n, 1) as two bytes each. Raises ValueError for those that are too large."""
    with np.errstate(over="ignore"):
        halves = scales.astype("<f2")
    if not np.isfinite(halves).all():
        raise ValueError(
            f"x needs a scale of {np.abs(scales).max():.3g}; half precision ends at 65,504: divide "
            "x by a number that you keep"
        )
    return halves.view(np.uint8)


def _inverse(d: Floats) -> Floats:
    """1 / d, and 0 for a scale that half precision rounds to 0 anyway."""
    return np.divide(1, d, out=np.zeros_like(d), where=np.abs(d) > 1e-30)


def _nibbles(blocks: Bytes) -> Bytes:
    """The 32 numbers of four bits in 16 bytes: the low halves of all, then the high ones."""
    return np.concatenate((blocks & 15, blocks >> 4), axis=1)


def _as_nibbles(q: Floats) -> Bytes:
    """Numbers (n, 32), cut to whole ones up to 15, as 16 bytes each."""
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
    q = np.trunc(q + np.copysign(np.float32(0.5), q))  # halves away from 0, as C rounds
    return np.concatenate((_as_half(d), q.astype(np.int8).view(np.uint8)), axis=1)


KINDS = {  # ggml's number of a kind -> the kind
    0: Kind("F32", 1, 4, *_plain("<f4")),
    1: Kind("F16", 1, 2, *_plain("<f2")),
    2: Kind("Q4_0", BLOCK, 18, _unpack_q4_0, _pack_q4_0),
    3: Kind("Q4_1", BLOCK, 20, _unpack_q4_1, _pack_q4_1),
    8: Kind("Q8_0", BLOCK, 34, _unpack_q8_0, _pack_q8_0),
}
