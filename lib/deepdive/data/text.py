"""Sentence pairs: read them, normalize spaces, split without a sentence in two parts."""

import difflib
import gzip
import hashlib
import itertools
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from deepdive.core.checks import own_file
from deepdive.data.errors import DataError
from deepdive.data.fetch import fetch

T = TypeVar("T")
Pair = tuple[str, str]


def pairs(name: str = "tatoeba_eng_fra", seed: int | None = 0) -> list[Pair]:
    """Return the (English, other) pairs of a parallel corpus, shuffled by `seed`.

    The file is sorted by length, so its first pairs are short sentences; after shuffling, a slice
    is a random sample. `seed=None` keeps the order of the file. If a model is tested on
    `retrieval_pairs`, train it on `deepdive.data.parallel`, which removes the overlap.
    """
    files = {f"tatoeba_eng_{code}": f"{code}.txt.gz" for code in ("fra", "deu", "nld", "cmn")}
    if name not in files:
        raise DataError(
            f"name: {name!r} is not a data set of pairs; there is {', '.join(files)}; "
            "for other languages see retrieval_pairs, for a file of your own read_pairs"
        )
    return read_pairs(fetch(name, files[name]), seed)


def read_pairs(path: str | Path, seed: int | None = 0) -> list[Pair]:
    """Return the (left, right) pairs of a tab-separated UTF-8 file, plain or `.gz`, one per line.

    They are shuffled by `seed`; None keeps the order of the file: see `pairs`.
    A third column (attribution, as in the newer releases of manythings.org) is dropped; blank lines
    are skipped; cells are stripped. Raises DataError, with the line number, for a line that is not
    UTF-8, has another number of columns, or an empty cell; and for a file without pairs.
    """
    path = own_file(path, DataError)
    found = [_pair(path, number, line) for number, line in _numbered_lines(path)]
    if not found:
        raise DataError(
            f"{path}: has no pairs; expected two sentences per line, separated by a tab"
        )
    if len(found) > 1 and all(left.isdecimal() for left, _ in found):
        raise DataError(
            f"{path}: the first column has only numbers; its first row is read as "
            f"{' | '.join(found[0])[:80]!r}. Drop that column: a line is two sentences"
        )
    return found if seed is None else shuffled(found, seed)


def retrieval_pairs(language: str, seed: int | None = 0) -> list[Pair]:
    """Return the (English, other) pairs of one language of `tatoeba_retrieval`, 1,000 for most,
    shuffled by `seed`; None keeps the order of the file.

    `language` is an ISO 639-3 code such as `deu`; `retrieval_languages()` lists them.
    """
    found = []
    for code, _, english, other in retrieval_rows():
        if code == language:
            found.append((english, other))
    if not found:
        known = list(retrieval_languages())
        near = difflib.get_close_matches(language, known, n=3, cutoff=0.3)
        meant = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}"
        raise DataError(f"language: no {language!r} (an ISO 639-3 code is expected); {meant}")
    return found if seed is None else shuffled(found, seed)


def retrieval_languages() -> dict[str, int]:
    """Return the languages of `tatoeba_retrieval`, with their numbers of pairs."""
    return dict(Counter(row[0] for row in retrieval_rows()))


def normalize_spaces(text: str) -> str:
    """Replace narrow and wide no-break spaces (U+202F, U+00A0) with ordinary spaces.

    French puts them before `!`, `?`, `:` and `;`; the Tatoeba file does so in some lines only.
    """
    return text.replace("\u202f", " ").replace("\u00a0", " ")


def shuffled(rows: Sequence[T], seed: int) -> list[T]:
    """Return the rows shuffled by `seed`, identically on every machine."""
    found = list(rows)
    random.Random(f"order {seed}").shuffle(found)
    return found


def first(pair: Sequence[str]) -> str:
    """Return the first element: the English side of a pair."""
    return pair[0]


def split_by(
    pairs: Sequence[T],
    key: Callable[[T], str] = first,  # type: ignore[assignment]
    fractions: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
) -> list[list[T]]:
    """Split so that items with equal `key` are in the same part: no English sentence is in two.

    The distinct keys are sorted by sha256(seed, key) and cut at the cumulative fractions of their
    number, rounded; within a part the items keep their order. The result depends only on the keys
    and the seed, so it is the same on every machine and for any order of `pairs`.

    Raises DataError if the fractions are not positive with sum 1, or a part would be empty.
    """
    if not fractions or min(fractions) <= 0 or abs(sum(fractions) - 1) > 1e-6:
        raise DataError(f"fractions: got {fractions!r}, expected positive numbers that sum to 1")
    keys = [key(item) for item in pairs]
    for each in keys:
        if not isinstance(each, str):
            raise DataError(f"key: expected a function that returns str, got {each!r}")
    ordered = sorted(set(keys), key=lambda text: (_rank(seed, text), text))
    cuts = [round(sum(fractions[:k]) * len(ordered)) for k in range(len(fractions))]
    cuts.append(len(ordered))
    if any(start >= end for start, end in itertools.pairwise(cuts)):
        raise DataError(
            f"fractions: {fractions!r} of {len(ordered)} distinct keys leave a part empty; "
            "give more items or fewer parts"
        )
    part_of = {
        text: part
        for part, (start, end) in enumerate(itertools.pairwise(cuts))
        for text in ordered[start:end]
    }
    parts: list[list[T]] = [[] for _ in fractions]
    for text, item in zip(keys, pairs, strict=True):
        parts[part_of[text]].append(item)
    return parts


def _rank(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{text}".encode("utf-8", "surrogatepass")).digest()


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number, text) of the nonblank lines. LF, CR LF or a single CR ends a line."""
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            lines = (part for line in file for part in line.rstrip(b"\r\n").split(b"\r"))
            for number, line in enumerate(lines, start=1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                if text.strip():
                    yield number, text
    except UnicodeDecodeError as error:
        raise DataError(f"{path}, line {number}: not UTF-8 ({error.reason})") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}, after line {number}: does not decompress ({error})") from error


def _pair(path: Path, number: int, line: str) -> Pair:
    cells = [cell.strip() for cell in line.split("\t")]
    if len(cells) not in (2, 3):
        raise DataError(
            f"{path}, line {number}: {len(cells)} columns, expected 2 (or 3, the third "
            f"attribution) with tabs between them: {line[:80]!r}"
        )
    if not cells[0] or not cells[1]:
        raise DataError(f"{path}, line {number}: an empty cell: {line[:80]!r}")
    return cells[0], cells[1]


def retrieval_rows() -> Iterator[list[str]]:
    """Yield language, number, English and other sentence of each pair of `tatoeba_retrieval`."""
    path = fetch("tatoeba_retrieval", "tatoeba_v1.tsv.gz")
    for number, line in _numbered_lines(path):
        row = line.split("\t")
        if len(row) != 4:
            raise DataError(f"{path}, line {number}: {len(row)} columns, expected 4")
        if number > 1:
            yield row
