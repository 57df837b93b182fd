"""Blocks of few bits: by hand, beside the library `gguf`, and what rounding may cost."""

from __future__ import annotations

import struct
from typing import Any
from unittest import mock

import numpy as np
import pytest
from gguf import GGMLQuantizationType, quants
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from deepdive.published import quantized
from deepdive.published.quantized import KINDS, dequantize, quantize

HALF = 2.0**-11  # what half precision may lose of a number, as a part of it
TINY = 2.0**-25  # and at least this, below its normal numbers
BLOCKS = arrays(
    np.float32,
    st.tuples(st.integers(1, 3), st.just(64)),
    elements=st.floats(-(2.0**12), 2.0**12, width=32),
)


def half(number: float) -> bytes:
    return struct.pack("<e", number)


def test_a_block_of_each_kind_by_hand() -> None:
    q = np.arange(32) % 16
    nibbles = bytes((q[:16] | q[16:] << 4).astype(np.uint8))
    by_hand: dict[str, tuple[bytes, NDArray[Any]]] = {
        "Q4_0": (half(0.5) + nibbles, 0.5 * (q - 8)),
        "Q4_1": (half(0.25) + half(-3.0) + nibbles, 0.25 * q - 3),
        "Q8_0": (half(2.0) + bytes(range(32)), 2.0 * np.arange(32)),
        "F16": (half(1.5) + half(-0.25), np.array([1.5, -0.25])),
        "F32": (struct.pack("<2f", 1e-9, 3.0), np.array([1e-9, 3.0], np.float32)),
    }
    for kind, (block, expected) in by_hand.items():
        assert dequantize(kind, np.frombuffer(block, np.uint8)).tolist() == expected.tolist(), kind
    low = dequantize("Q4_1", np.frombuffer(half(1) + half(0) + b"\xf1" + b"\0" * 15, np.uint8))
    assert (low[0], low[16]) == (1.0, 15.0)  # low halves first
    negative = np.frombuffer(half(1.0) + b"\xff" * 32, np.uint8)
    assert (dequantize("Q8_0", negative) == -1).all()


def alike(x: NDArray[np.float32]) -> None:
    for kind in KINDS.values():
        theirs = getattr(GGMLQuantizationType, kind.name)
        with np.errstate(all="ignore"):
            expected = quants.quantize(x, theirs).view(np.uint8)
        blocks = quantize(kind.name, x)
        assert blocks.shape == (*x.shape[:-1], x.shape[-1] // kind.block * kind.size)
        assert np.array_equal(blocks, expected), kind.name
        assert np.array_equal(dequantize(kind.name, blocks), quants.dequantize(blocks, theirs))


# Theirs divides by a scale that half precision rounds to 0.
@given(BLOCKS.map(lambda x: np.where(np.abs(x) < 1e-25, np.float32(0), x)))
def test_bytes_are_those_of_the_library(x: NDArray[np.float32]) -> None:
    alike(x)


def bound(kind: str, x: NDArray[np.float32]) -> NDArray[np.float64]:
    """What each number of x may lose: half a step, and what half precision takes of the step and of
    the offset.
    """
    blocks = x.astype(np.float64).reshape(-1, 32)
    size = np.abs(blocks).max(1, keepdims=True)
    if kind == "Q8_0":
        d = size / 127
        lost = d / 2 + 127 * (d * HALF + TINY)
    elif kind == "Q4_1":
        least = blocks.min(1, keepdims=True)
        d = (blocks.max(1, keepdims=True) - least) / 15
        lost = d / 2 + 15 * (d * HALF + TINY) + np.abs(least) * HALF + TINY
    else:
        at = np.abs(blocks).argmax(1)[:, None]
        d = np.take_along_axis(blocks, at, 1) / -8
        beyond = np.where(blocks / np.where(d, d, 1) > 7.5, 1.0, 0.5)  # it has no q of its own
        lost, d = np.abs(d) * beyond, np.abs(d)
        lost = lost + 8 * (d * HALF + TINY)
    lost = lost + 1e-5 * d + 1e-6 * size  # sums in float32
    return np.broadcast_to(lost, blocks.shape).reshape(x.shape)


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q8_0"])
@given(x=BLOCKS)
def test_rounding_costs_half_a_step(kind: str, x: NDArray[np.float32]) -> None:
    lost = np.abs(dequantize(kind, quantize(kind, x)).astype(np.float64) - x)
    assert (lost <= bound(kind, x)).all(), (lost - bound(kind, x)).max()


def test_more_bits_lose_less() -> None:
    x = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)
    lost = [np.square(dequantize(k, quantize(k, x)) - x).mean() for k in ("Q4_0", "Q4_1", "Q8_0")]
    assert lost[0] > lost[1] > 100 * lost[2] > 0
    assert not np.array_equal(dequantize("F16", quantize("F16", x)), x)
    assert np.array_equal(dequantize("F32", quantize("F32", x)), x)


def test_a_block_of_one_number_stays_it() -> None:
    for kind in ("Q4_0", "Q4_1", "Q8_0"):
        for number in (0.0, 1.0, -2.0):
            x = np.full((2, 32), number, np.float32)
            found = dequantize(kind, quantize(kind, x))
            assert np.abs(found - x).max() <= abs(number) * HALF, (kind, number)


def test_what_no_block_can_hold_is_refused() -> None:
    x = np.zeros((2, 32), np.float32)
    with pytest.raises(ValueError, match=r"'Q3_K', expected one of F32, F16, Q4_0, Q4_1, Q8_0"):
        quantize("Q3_K", x)
    with pytest.raises(ValueError, match="last axis of 31; Q4_1 has blocks of 32"):
        quantize("Q4_1", x[:, :31])
    with pytest.raises(ValueError, match="NaN or infinite"):
        quantize("Q8_0", x + np.inf)
    with pytest.raises(ValueError, match="half precision ends at 65,504"):
        quantize("Q4_1", np.linspace(-1e7, 1e7, 32, dtype=np.float32))
    with pytest.raises(ValueError, match="rows of 21 bytes; Q4_1 has blocks of 20"):
        dequantize("Q4_1", np.zeros(21, np.uint8))


MUTATIONS: dict[str, tuple[str, Any]] = {
    "high halves first": ("_nibbles", lambda b: np.concatenate((b >> 4, b & 15), axis=1)),
    "neighbours in a byte": (
        "_nibbles",
        lambda b: np.stack((b & 15, b >> 4), axis=-1).reshape(len(b), -1),
    ),
    "no inverse": ("_inverse", lambda d: np.ones_like(d)),
    "a scale of float32's first half": (
        "_as_half",
        lambda d: np.ascontiguousarray(d.astype("<f4")).view(np.uint8)[:, 2:],
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    x = np.random.default_rng(0).standard_normal((2, 64)).astype(np.float32)
    alike(x)
    target, wrong = MUTATIONS[name]
    with mock.patch.object(quantized, target, wrong), pytest.raises(AssertionError):
        alike(x)
