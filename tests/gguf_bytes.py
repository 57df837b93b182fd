"""GGUF files laid out by hand, byte by byte, for the tests that read them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

Tensors = Mapping[str, tuple[Sequence[int], int, bytes]]  # name -> (shape, ggml's kind, numbers)


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def value(given: Any) -> bytes:
    """The type of a setting and its value."""
    if isinstance(given, bytes):  # laid out by the test
        return given
    if isinstance(given, bool):
        return struct.pack("<I?", 7, given)
    if isinstance(given, int):
        return struct.pack("<II", 4, given)
    if isinstance(given, float):
        return struct.pack("<If", 6, given)
    if isinstance(given, str):
        return struct.pack("<I", 8) + string(given)
    parts = [value(each) for each in given]
    kind, bodies = parts[0][:4], b"".join(part[4:] for part in parts)
    return struct.pack("<I", 9) + kind + struct.pack("<Q", len(parts)) + bodies


def laid_out(
    settings: Mapping[str, Any], tensors: Tensors, *, version: int = 3, alignment: int = 32
) -> bytes:
    """A whole file; each tensor begins at the next multiple of the alignment."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(settings))
    for name, given in settings.items():
        head += string(name) + value(given)
    body = b""
    for name, (shape, kind, numbers) in tensors.items():
        body += b"\0" * (-len(body) % alignment)
        head += string(name) + struct.pack("<I", len(shape))
        head += struct.pack(f"<{len(shape)}Q", *reversed(shape))
        head += struct.pack("<IQ", kind, len(body))
        body += numbers
    return head + b"\0" * (-len(head) % alignment) + body
