"""Registry of the data sets that the pages use: source, license, size and hash of each.

`registry.json` in this folder is the list, and is edited by hand. A file is registered by its
size and sha256. zlib builds compress the same bytes differently, so a `.gz` file is also
registered by its content: `content_bytes` and `content_sha256`.
"""

import difflib
import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType
from typing import Any

from deepdive.data.errors import DataError

_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Part:
    """One public file to download. `sha256` is None if the server repacks the file on each request
    (GitHub's archives); then only the file built from it is verified."""

    address: str
    path: str
    bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class DataFile:
    """One file of a data set: how to verify it, and how to build it from its public parts.

    `recipe` names a function of `deepdive.data.recipes`, `arguments` are passed to it. Without a
    recipe, `by_hand` describes how the file was made and from what.
    """

    file: str
    bytes: int
    sha256: str
    content_bytes: int | None
    content_sha256: str | None
    parts: tuple[Part, ...]
    recipe: str
    arguments: tuple[str, ...]
    by_hand: str

    @property
    def downloads(self) -> bool:
        """Whether `fetch` can build this file from public addresses."""
        return bool(self.recipe)

    @property
    def limit(self) -> int:
        """The maximum number of bytes of the file, even if a `.gz` is compressed differently."""
        content = self.content_bytes or 0
        return max(self.bytes, content + content // 1000 + 1024)


@dataclass(frozen=True)
class Dataset:
    """One data set. `elsewhere` lists addresses of other versions, and says which."""

    name: str
    title: str
    files: tuple[DataFile, ...]
    upstream: str
    commit: str
    license: str
    license_evidence: str
    citation: str
    columns: str
    made: str
    rows: Mapping[str, int]
    caveat: str
    elsewhere: tuple[str, ...]
    huggingface: str

    @property
    def bytes(self) -> int:
        """The total size of all files."""
        return sum(entry.bytes for entry in self.files)

    @property
    def downloads(self) -> bool:
        """Whether `fetch` can build every file from public addresses."""
        return all(entry.downloads for entry in self.files)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The distinct public addresses of the files' parts."""
        found = (part.address for entry in self.files for part in entry.parts)
        return tuple(dict.fromkeys(found))

    def file(self, name: str) -> DataFile:
        """Return the entry of the file `name`. Raises DataError if there is none."""
        for entry in self.files:
            if entry.file == name:
                return entry
        names = [entry.file for entry in self.files]
        raise DataError(f"file: data set {self.name!r} has no {name!r}; {_meant(name, names)}")


def registry() -> Mapping[str, Dataset]:
    """Return all data sets by name (read-only), in the order of `registry.json`."""
    return MappingProxyType(_load())


def get(name: str) -> Dataset:
    """Return the data set `name`. Raises DataError, with the closest names, if there is none."""
    known = _load()
    if not isinstance(name, str):
        raise DataError(f"name: expected the name of a data set (str), got {name!r}")
    if name not in known:
        raise DataError(f"name: no data set {name!r}; {_meant(name, list(known))}")
    return known[name]


def _meant(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}"


@functools.cache
def _load() -> dict[str, Dataset]:
    text = resources.files("deepdive.data").joinpath("registry.json").read_text(encoding="utf-8")
    return {entry["name"]: _dataset(entry) for entry in json.loads(text)["datasets"]}


def _dataset(entry: dict[str, Any]) -> Dataset:
    entry = dict(entry)
    files = tuple(_file(item) for item in entry.pop("files"))
    for name in (entry["name"], *(item.file for item in files)):
        if not _SAFE.fullmatch(name):
            raise DataError(f"registry.json: {name!r} is not a plain file name")
    return Dataset(
        files=files,
        rows=MappingProxyType(entry.pop("rows")),
        elsewhere=tuple(entry.pop("elsewhere")),
        **entry,
    )


def _file(item: dict[str, Any]) -> DataFile:
    base = item.get("base", "")
    parts = tuple(
        Part(
            address=base + part["path"],
            path=part["path"].removeprefix(item.get("strip", "")),
            bytes=part.get("bytes"),
            sha256=part.get("sha256"),
        )
        for part in item.get("parts", [])
    )
    return DataFile(
        file=item["file"],
        bytes=item["bytes"],
        sha256=item["sha256"],
        content_bytes=item.get("content_bytes"),
        content_sha256=item.get("content_sha256"),
        parts=parts,
        recipe=item.get("recipe", ""),
        arguments=tuple(item.get("arguments", [])),
        by_hand=item.get("by_hand", ""),
    )
