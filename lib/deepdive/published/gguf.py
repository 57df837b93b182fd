"""GGUF, the form in which llama.cpp keeps models: settings, words and weights in one file.

    file = read("SmolLM2-135M-Instruct.Q4_1.gguf")
    file.metadata["llama.block_count"]            # 30
    file.tensors["blk.0.attn_q.weight"]           # its shape, its kind, where it lies
    file.tensor("blk.0.attn_q.weight")            # its numbers, float32

All numbers are little-endian:

    "GGUF", version (4 bytes), number of tensors (8), number of settings (8)
    each setting:  its name, its type (4), its value
    each tensor:   its name, number of sides (4), each side (8), kind (4), where it begins (8)
    filled up to a multiple of general.alignment (32); then the tensors' numbers

A string is its length (8) and its bytes, an array its type (4), its length (8) and its values.
Sides stand with the innermost first, so (576, 49152) is a matrix of 49,152 rows.

The file is mapped into memory: what no one asks for is not read.
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

from deepdive.published.quantised import KINDS, Bytes, Kind

MAGIC, VERSIONS = b"GGUF", (2, 3)
# type -> how `struct` calls it; 8 is a string, 9 an array
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
DEEPEST = 4  # arrays of arrays
MOST_SIDES = 4


@dataclass(frozen=True)
class Place:
    """A tensor in a file: `shape` with the outermost side first, ggml's number of its `kind`, and
    the byte of the file at which it begins.
    """

    shape: tuple[int, ...]
    kind: int
    start: int


@dataclass(frozen=True, eq=False)
class Gguf:
    """A GGUF file: `version`, `metadata` by name, and where its `tensors` lie."""

    path: Path
    version: int
    metadata: dict[str, Any]
    tensors: dict[str, Place]
    content: Bytes

    def tensor(self, name: str) -> Tensor:
        """Return the numbers of a tensor, float32. Raises KeyError for a name that the file does
        not have, ValueError for a kind that is not read here, and for a file that is cut.
        """
        place = self.tensors[name]
        kind = _kind(self.path, name, place)
        n_blocks = prod(place.shape) // kind.block
        blocks = self.content[place.start : place.start + n_blocks * kind.size]
        numbers = kind.unpack(blocks.reshape(n_blocks, kind.size))
        return torch.from_numpy(numbers.reshape(place.shape))


def read(path: str | Path) -> Gguf:
    """Return a GGUF file, its numbers unread.

    Raises FileNotFoundError for none, ValueError for a file that is of another form or version, is
    cut, or says what cannot be.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"path: there is no file {path}")
    if path.stat().st_size < len(MAGIC):
        raise ValueError(f"path: {path} has {path.stat().st_size} bytes, and is no GGUF file")
    content = np.memmap(path, np.uint8, mode="r")
    cursor = _Cursor(path, content.data)
    if (magic := bytes(cursor.take(4))) != MAGIC:
        raise ValueError(f"path: {path} begins with {magic!r}, a GGUF file with {MAGIC!r}")
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
    """Reads what stands next in a file."""

    def __init__(self, path: Path, view: memoryview) -> None:
        self.path, self.view, self.at, self.what = path, view, 0, "the header"

    def take(self, n: int) -> memoryview:
        """Return the next n bytes. Raises ValueError where the file ends before."""
        end = self.at + n
        if end > len(self.view):
            raise ValueError(
                f"path: {self.path} is cut: {self.what} goes on to byte {end:,}, the file has "
                f"{len(self.view):,}; fetch it again"
            )
        self.at = end
        return self.view[end - n : end]

    def number(self, kind: str) -> Any:
        return struct.unpack(f"<{kind}", self.take(struct.calcsize(f"<{kind}")))[0]

    def string(self) -> str:
        told = bytes(self.take(self.number("Q")))
        try:
            return told.decode()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"path: {self.path} has a string in {self.what} that is not UTF-8 ({error}); fetch "
                "it again"
            ) from None

    def value(self, kind: int, depth: int = 0) -> Any:
        """Return a value of a type; numbers in an array as a list."""
        if kind in NUMBERS:
            return self.number(NUMBERS[kind])
        if kind == STRING:
            return self.string()
        if kind != ARRAY or depth == DEEPEST:
            raise ValueError(
                f"path: {self.path} has {self.what} of type {kind}, "
                + ("arrays in arrays" if kind == ARRAY else "expected 0 to 12")
            )
        inner, length = self.number("I"), self.number("Q")
        if inner in NUMBERS:
            size = struct.calcsize(f"<{NUMBERS[inner]}")
            return [*struct.unpack(f"<{length}{NUMBERS[inner]}", self.take(length * size))]
        return [self.value(inner, depth + 1) for _ in range(length)]

    def place(self, name: str) -> Place:
        """Return where a tensor lies, counted from the first of all."""
        self.what = f"what is said of {name}"
        n_sides = self.number("I")
        if not 1 <= n_sides <= MOST_SIDES:
            raise ValueError(
                f"path: {self.path} gives {name} {n_sides} sides, expected 1 to {MOST_SIDES}"
            )
        sides = [self.number("Q") for _ in range(n_sides)]
        if not all(sides):
            raise ValueError(
                f"path: {self.path} gives {name} the sides {sides}, expected 1 or more"
            )
        return Place(tuple(reversed(sides)), self.number("I"), self.number("Q"))


def _version(path: Path, version: int) -> int:
    """Return a version that is read here. Raises ValueError for another."""
    if version in VERSIONS:
        return version
    if version and version % 65536 == 0:  # a small number, its bytes in the other order
        raise ValueError(f"path: {path} is big-endian; convert it: only little-endian is read here")
    raise ValueError(
        f"path: {path} has version {version} of GGUF; versions 2 and 3 are read here: convert it"
    )


def _once(path: Path, name: str, known: dict[str, Any]) -> None:
    if name in known:
        raise ValueError(f"path: {path} names {name!r} twice; fetch it again")


def _aligned(path: Path, at: int, alignment: Any) -> int:
    """Return the first multiple of the alignment from `at` on."""
    if type(alignment) is not int or alignment < 1:
        raise ValueError(
            f"path: {path} has general.alignment={alignment!r}; expected a number above 0"
        )
    return -(-at // alignment) * alignment


def _kind(path: Path, name: str, place: Place) -> Kind:
    """Return the kind of a tensor. Raises ValueError for one that is not read here."""
    if place.kind not in KINDS:
        known = ", ".join(f"{number} ({kind.name})" for number, kind in KINDS.items())
        raise ValueError(
            f"path: {path} has {name} in ggml's type {place.kind}; read here are {known}: take the "
            "model in another of its quantisations"
        )
    return KINDS[place.kind]


def _end(place: Place) -> int:
    """The byte behind a tensor of a kind that is read here."""
    kind = KINDS[place.kind]
    return place.start + prod(place.shape) // kind.block * kind.size


def _apart(path: Path, tensors: dict[str, Place]) -> None:
    """Raise ValueError where two tensors share bytes: a small file would unpack to many models."""
    known = [(p.start, _end(p), name) for name, p in tensors.items() if p.kind in KINDS]
    for (_, end, one), (start, _, other) in pairwise(sorted(known)):
        if start < end:
            raise ValueError(
                f"path: {path} has {one} and {other} on the same bytes; fetch it again"
            )


def _check(path: Path, name: str, place: Place, size: int) -> None:
    """Raise ValueError for a tensor that ends in a block, or beyond the file."""
    kind = _kind(path, name, place)
    if place.shape[-1] % kind.block:
        raise ValueError(
            f"path: {path} has {name} of shape {place.shape} as {kind.name}, whose blocks of "
            f"{kind.block} do not divide its rows"
        )
    end = _end(place)
    if end > size:
        raise ValueError(
            f"path: {path} is cut: {name} goes on to byte {end:,}, the file has {size:,}; fetch it "
            "again"
        )
