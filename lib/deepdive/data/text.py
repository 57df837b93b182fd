"""Pairs of sentences: read them, tidy their spaces, split them with no sentence in two parts."""

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
    """The (English, other) pairs of a data set of sentence pairs, in an order that `seed` draws.

    The file is sorted by length: a slice of it would be of short sentences, a slice of these is a
    sample. `seed=None` keeps the order of the file. Where a model is tested on `retrieval_pairs`,
    train it on `deepdive.data.parallel`, which leaves out what stands in both.
    """
    files = {f"tatoeba_eng_{code}": f"{code}.txt.gz" for code in ("fra", "deu", "nld", "cmn")}
    if name not in files:
        raise DataError(
            f"name: {name!r} is not a data set of pairs; there is {', '.join(files)}; "
            "for other languages see retrieval_pairs, for a file of your own read_pairs"
        )
    return read_pairs(fetch(name, files[name]), seed)


def read_pairs(path: str | Path, seed: int | None = 0) -> list[Pair]:
    """The (left, right) pairs of a tab-separated UTF-8 file, plain or `.gz`, one pair a line.

    They come in an order that `seed` draws, with None in that of the file: see `pairs`.
    A third column (attribution, as in the newer releases of manythings.org) is left out; blank
    lines are passed over; outer blanks of a cell are stripped. Raises DataError, with the number
    of the line, for a line that is not UTF-8, has another number of columns, or an empty cell; and
    for a file without a pair.
    """
    path = own_file(path, DataError)
    found = [_pair(path, number, line) for number, line in _numbered_lines(path)]
    if not found:
        raise DataError(
            f"{path}: holds no pair; expected one a line, its two sentences with a tab between them"
        )
    if len(found) > 1 and all(left.isdecimal() for left, _ in found):
        raise DataError(
            f"{path}: the first column holds numbers only; its first row is read as "
            f"{' | '.join(found[0])[:80]!r}. Take that column out: a line is two sentences"
        )
    return found if seed is None else shuffled(found, seed)


def retrieval_pairs(language: str, seed: int | None = 0) -> list[Pair]:
    """The (English, other) pairs of one language of `tatoeba_retrieval`: 1,000 for most, in an
    order that `seed` draws, with None in that of the file.

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
    """The languages of `tatoeba_retrieval`, and how many pairs each has."""
    return dict(Counter(row[0] for row in retrieval_rows()))


def normalise_spaces(text: str) -> str:
    """Narrow and wide no-break spaces (U+202F, U+00A0) become plain blanks.

    French puts them before `!`, `?`, `:` and `;`; the Tatoeba file does so in some lines only.
    """
    return text.replace("\u202f", " ").replace("\u00a0", " ")


def shuffled(rows: Sequence[T], seed: int) -> list[T]:
    """The rows in a drawn order, the same on every machine."""
    found = list(rows)
    random.Random(f"order {seed}").shuffle(found)
    return found


def first(pair: Sequence[str]) -> str:
    """The first element: the English side of a pair."""
    return pair[0]


def split_by(
    pairs: Sequence[T],
    key: Callable[[T], str] = first,  # type: ignore[assignment]
    fractions: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
) -> list[list[T]]:
    """Split so that items of equal `key` fall into one part: no English sentence is in two.

    The distinct keys are ordered by sha256(seed, key) and cut at the cumulated fractions of their
    number, rounded; inside a part the items keep their order. The result depends on nothing but
    the keys and the seed, so it is the same on every machine, and whatever the order of `pairs`.

    Raises DataError if the fractions are not positive with sum 1, or a part would be empty.
    """
    if not fractions or min(fractions) <= 0 or abs(sum(fractions) - 1) > 1e-6:
        raise DataError(f"fractions: expected positive numbers with sum 1, got {fractions!r}")
    keys = [key(item) for item in pairs]
    for each in keys:
        if not isinstance(each, str):
            raise DataError(f"key: expected a function that gives str, got {each!r}")
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
    """(number, text) of the lines that are not blank. LF, CR LF or CR alone ends a line."""
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
    """Language, number, English and other sentence of each pair of `tatoeba_retrieval`."""
    path = fetch("tatoeba_retrieval", "tatoeba_v1.tsv.gz")
    for number, line in _numbered_lines(path):
        row = line.split("\t")
        if len(row) != 4:
            raise DataError(f"{path}, line {number}: {len(row)} columns, expected 4")
        if number > 1:
            yield row
