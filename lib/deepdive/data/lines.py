"""Every line of text in a data set, whatever its files' form: for vocabularies and for checks."""

import gzip
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deepdive.data.errors import DataError
from deepdive.data.fetch import fetch
from deepdive.data.registry import get, registry

_PLAIN = (".txt", ".tsv", ".csv", ".conll", ".conllu", ".dic")
_ABOUT = ("LICENSE", "UPSTREAM", "CC-BY", "_about")  # about the data, not of them


def text_files(name: str) -> list[str]:
    """The files of a data set that hold text. `.gz` may stand behind any of the endings."""
    endings = (*_PLAIN, ".json", ".jsonl")
    files = [entry.file for entry in get(name).files if not entry.file.startswith(_ABOUT)]
    return [f for f in files if f.removesuffix(".gz").endswith(endings) or f == "tables.tar.gz"]


def text_sets() -> list[str]:
    """The data sets that hold text, in the order of the registry."""
    return [name for name in registry() if text_files(name)]


def text_lines(name: str) -> Iterator[str]:
    """Every line of a data set that is not blank, file by file, in the order of the files.

    A table's line is given as it is, with its tabs or commas. Of JSON every string value is given,
    line by line. Only a line feed ends a line. Raises DataError where there is no text (sounds,
    images), and what `fetch` raises.
    """
    files = text_files(name)
    if not files:
        raise DataError(f"name: {name!r} holds no text; these do: {', '.join(text_sets())}")
    for file in files:
        for text in _texts(fetch(name, file)):
            yield from (line for line in text.split("\n") if line.strip())


def _texts(path: Path) -> Iterator[str]:
    if path.name.endswith(".tar.gz"):
        yield from _members(path)
        return
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    whole, ending = raw.decode("utf-8-sig"), path.name.removesuffix(".gz")
    if ending.endswith(".jsonl"):
        for line in io.StringIO(whole):
            yield from _strings(json.loads(line))
    elif ending.endswith(".json"):
        yield from _strings(json.loads(whole))
    else:
        yield whole


def _members(path: Path) -> Iterator[str]:
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(_PLAIN) else None
            if file is not None:
                yield file.read().decode("utf-8")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
