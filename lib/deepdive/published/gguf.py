"""GGUF, llama.cpp's model file format: settings, vocabulary and weights in one file.

    file = read("SmolLM2-135M-Instruct.Q4_1.gguf")
    file.metadata["llama.block_count"]            # 30
    file.tensors["blk.0.attn_q.weight"]           # its shape, its type, its offset
    file.tensor("blk.0.attn_q.weight")            # its values, float32

All numbers are little-endian:

    "GGUF", version (4 bytes), number of tensors (8), number of settings (8)
    each setting:  its name, its type (4), its value
    each tensor:   its name, number of dimensions (4), each size (8), type (4), offset (8)
    padded to a multiple of general.alignment (32); then the tensors' data

A string is its length (8) and its bytes, an array its type (4), its length (8) and its values.
Dimensions are listed innermost first, so (576, 49152) is a matrix of 49,152 rows.

The file is memory-mapped: only the tensors that are requested are read.
Source: ggml's docs/gguf.md, versions 2 and 3.
"""

import struct
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepdive.published.quantized import KINDS, Bytes, Kind

MAGIC, VERSIONS = b"GGUF", (2, 3)
# type -> its `struct` format; 8 is a string, 9 an array
NUMBERS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
STRING, ARRAY = 8, 9
DEEPEST = 4  # nesting of arrays
MOST_SIDES = 4


@dataclass(frozen=True)
class Place:
    """A tensor's entry: `shape` with the outermost dimension first, `kind`, the ggml type number,
    and `start`, its byte offset in the file.
    """

    shape: tuple[int, ...]
    kind: int
    start: int


@dataclass(frozen=True, eq=False)
class Gguf:
    """A GGUF file: `version`, `metadata` by name, and the entries of its `tensors`."""

    path: Path
    version: int
    metadata: dict[str, Any]
    tensors: dict[str, Place]
    content: Bytes

    def tensor(self, name: str) -> Tensor:
        """Return a tensor dequantized to float32. Raises KeyError for a name that the file does not
        have, ValueError for a type that is not supported, or a truncated file.
        """
        place = self.tensors[name]
        kind = _kind(self.path, name, place)
        n_blocks = prod(place.shape) // kind.block
        blocks = self.content[place.start : place.start + n_blocks * kind.size]
        numbers = kind.unpack(blocks.reshape(n_blocks, kind.size))
        return torch.from_numpy(numbers.reshape(place.shape))


def read(path: str | Path) -> Gguf:
    """Open a GGUF file and read its header; tensor data is read on demand.

    Raises FileNotFoundError for a missing file, ValueError for one of another format or version, or
    one that is truncated or inconsistent.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"path: {path} does not exist")
    if path.stat().st_size < len(MAGIC):
        raise ValueError(f"path: {path} has {path.stat().st_size} bytes; it is not a GGUF file")
    content = np.memmap(path, np.uint8, mode="r")
    cursor = _Cursor(path, content.data)
    if (magic := bytes(cursor.take(4))) != MAGIC:
        raise ValueError(f"path: {path} starts with {magic!r}; a GGUF file starts with {MAGIC!r}")
    version = _version(path, cursor.number("I"))
    n_tensors, n_settings = cursor.number("Q"), cursor.number("Q")
    metadata: dict[str, Any] = {}
    for _ in range(n_settings):
        name = cursor.string()
        _once(path, name, metadata)
        cursor.what = f"the setting {name}"
        metadata[name] = cursor.value(cursor.number("I"))
    found: dict[str, Place] = {}
    for _ in range(n_tensors):
        cursor.what = "the list of tensors"
        name = cursor.string()
        _once(path, name, found)
        found[name] = cursor.place(name)
    start = _aligned(path, cursor.at, metadata.get("general.alignment", 32))
    tensors = {n: Place(p.shape, p.kind, start + p.start) for n, p in found.items()}
    for name, place in tensors.items():
        if place.kind in KINDS:
            _check(path, name, place, len(content))
    _apart(path, tensors)
    return Gguf(path, version, metadata, tensors, content)


class _Cursor:
    """A cursor that parses the next value of a file."""

    def __init__(self, path: Path, view: memoryview) -> None:
        self.path, self.view, self.at, self.what = path, view, 0, "the header"

    def take(self, n: int) -> memoryview:
        """Return the next n bytes. Raises ValueError if the file ends before."""
        end = self.at + n
        if end > len(self.view):
            raise ValueError(
                f"path: {self.path} is truncated: {self.what} ends at byte {end:,}, the file has "
                f"{len(self.view):,}; download it again"
            )
        self.at = end
        return self.view[end - n : end]

    def number(self, kind: str) -> Any:
        return struct.unpack(f"<{kind}", self.take(struct.calcsize(f"<{kind}")))[0]

    def string(self) -> str:
        raw = bytes(self.take(self.number("Q")))
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"path: {self.path} has a string in {self.what} that is not UTF-8 ({error}); "
                "download it again"
            ) from None

    def value(self, kind: int, depth: int = 0) -> Any:
        """Return a value of type `kind`; an array is a list."""
        if kind in NUMBERS:
            return self.number(NUMBERS[kind])
        if kind == STRING:
            return self.string()
        if kind != ARRAY or depth == DEEPEST:
            raise ValueError(
                f"path: {self.path} has {self.what} of type {kind}, "
                + ("nested too deeply" if kind == ARRAY else "expected 0 to 12")
            )
        inner, length = self.number("I"), self.number("Q")
        if inner in NUMBERS:
            size = struct.calcsize(f"<{NUMBERS[inner]}")
            return [*struct.unpack(f"<{length}{NUMBERS[inner]}", self.take(length * size))]
        return [self.value(inner, depth + 1) for _ in range(length)]

    def place(self, name: str) -> Place:
        """Return a tensor's entry, its offset relative to the first tensor's."""
        self.what = f"the entry of {name}"
        n_dims = self.number("I")
        if not 1 <= n_dims <= MOST_SIDES:
            raise ValueError(
                f"path: {self.path} has {n_dims} dimensions for {name}, expected 1 to {MOST_SIDES}"
            )
        dims = [self.number("Q") for _ in range(n_dims)]
        if not all(dims):
            raise ValueError(
                f"path: {self.path} has shape {dims} for {name}, expected 1 or more on each axis"
            )
        return Place(tuple(reversed(dims)), self.number("I"), self.number("Q"))


def _version(path: Path, version: int) -> int:
    """Return a supported version. Raises ValueError for another."""
    if version in VERSIONS:
        return version
    if version and version % 65536 == 0:  # a small number, its bytes in the other order
        raise ValueError(f"path: {path} is big-endian; only little-endian is supported: convert it")
    raise ValueError(
        f"path: {path} has GGUF version {version}; versions 2 and 3 are supported: convert it"
    )


def _once(path: Path, name: str, known: dict[str, Any]) -> None:
    if name in known:
        raise ValueError(f"path: {path} has {name!r} twice; download it again")


def _aligned(path: Path, at: int, alignment: Any) -> int:
    """Return `at` rounded up to a multiple of the alignment."""
    if type(alignment) is not int or alignment < 1:
        raise ValueError(
            f"path: {path} has general.alignment={alignment!r}; expected an integer above 0"
        )
    return -(-at // alignment) * alignment


def _kind(path: Path, name: str, place: Place) -> Kind:
    """Return the type of a tensor. Raises ValueError for one that is not supported."""
    if place.kind not in KINDS:
        known = ", ".join(f"{number} ({kind.name})" for number, kind in KINDS.items())
        raise ValueError(
            f"path: {path} has {name} in ggml's type {place.kind}; supported: {known}; use another "
            "quantization of the model"
        )
    return KINDS[place.kind]


def _end(place: Place) -> int:
    """Return the byte after a tensor of a supported type."""
    kind = KINDS[place.kind]
    return place.start + prod(place.shape) // kind.block * kind.size


def _apart(path: Path, tensors: dict[str, Place]) -> None:
    """Raise ValueError if two tensors share bytes: a small file could unpack to a huge model."""
    known = [(p.start, _end(p), name) for name, p in tensors.items() if p.kind in KINDS]
    for (_, end, one), (start, _, other) in pairwise(sorted(known)):
        if start < end:
            raise ValueError(
                f"path: {path} has {one} and {other} at the same bytes; download it again"
            )


def _check(path: Path, name: str, place: Place, size: int) -> None:
    """Raise ValueError for a tensor that ends within a block, or beyond the file."""
    kind = _kind(path, name, place)
    if place.shape[-1] % kind.block:
        raise ValueError(
            f"path: {path} has {name} of shape {place.shape} as {kind.name}; its rows are not a "
            f"multiple of the block size {kind.block}"
        )
    end = _end(place)
    if end > size:
        raise ValueError(
            f"path: {path} is truncated: {name} ends at byte {end:,}, the file has {size:,}; "
            "download it again"
        )
