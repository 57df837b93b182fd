"""All lines of text in a data set of any file format: for vocabularies and for checks."""

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
_ABOUT = ("LICENSE", "UPSTREAM", "CC-BY", "_about")  # documentation, not data


def text_files(name: str) -> list[str]:
    """Return a data set's text files. Any of the extensions may be followed by `.gz`."""
    endings = (*_PLAIN, ".json", ".jsonl")
    files = [entry.file for entry in get(name).files if not entry.file.startswith(_ABOUT)]
    return [f for f in files if f.removesuffix(".gz").endswith(endings) or f == "tables.tar.gz"]


def text_sets() -> list[str]:
    """Return the data sets with text, in the order of the registry."""
    return [name for name in registry() if text_files(name)]


def text_lines(name: str) -> Iterator[str]:
    """Yield every nonblank line of a data set, file by file, in the order of the files.

    A table's lines are unchanged, with tabs or commas. For JSON every string value is yielded, line
    by line. Only a line feed ends a line. Raises DataError if there is no text (audio, images), and
    the errors of `fetch`.
    """
    files = text_files(name)
    if not files:
        raise DataError(f"name: {name!r} has no text; these do: {', '.join(text_sets())}")
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
