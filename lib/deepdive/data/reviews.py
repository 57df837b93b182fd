"""Texts with a class each: two sets of film reviews, a table of your own; and their split."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import math
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deepdive.core.checks import own_file
from deepdive.data.errors import DataError
from deepdive.data.fetch import fetch
from deepdive.data.text import shuffled, split_by

END = "\x04"  # after the last line: what stands in a cell shows a quotation mark left open
ESCAPED = re.compile(r"""\\"(?![",;\t\r\n]|$)""")  # inside a cell: at its end it may be a path's
POLARITY = ("negative", "positive")


@dataclass(frozen=True)
class Labelled:
    """Texts, the class of each (0 to k - 1), and what the k classes are called.

    `source` says where they come from, with (real), (generated) or (your file) at its end.
    Raises DataError when texts and labels differ in number, or a label is no class.
    """

    texts: tuple[str, ...]
    labels: tuple[int, ...]
    names: tuple[str, ...]
    source: str

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels) or not self.texts:
            raise DataError(
                f"labels: {len(self.labels)} for {len(self.texts)} texts, expected one each"
            )
        odd = set(self.labels) - set(range(len(self.names)))
        if odd:
            raise DataError(f"labels: {sorted(odd)[:5]} are no class; there are {len(self.names)}")

    def __len__(self) -> int:
        return len(self.texts)

    def counts(self) -> dict[str, int]:
        """How many texts each class has."""
        found = Counter(self.labels)
        return {name: found[k] for k, name in enumerate(self.names)}

    def take(self, items: Iterable[int]) -> Labelled:
        """The texts at these places, in this order."""
        chosen = list(items)
        return Labelled(
            tuple(self.texts[i] for i in chosen),
            tuple(self.labels[i] for i in chosen),
            self.names,
            self.source,
        )

    def split(self, fractions: Sequence[float] = (0.8, 0.1, 0.1), seed: int = 0) -> list[Labelled]:
        """Parts of these sizes, each in an order that the seed draws; equal texts share a part.

        The order of the first part is drawn, so that its first n texts are a sample of it, and the
        sample of n lies inside that of 2n: what a learning curve needs. See `split_by`.
        """
        order = {text: rank for rank, text in enumerate(_drawn(self.texts, seed))}
        parts = split_by(range(len(self)), lambda i: self.texts[i], fractions, seed)
        return [self.take(sorted(part, key=lambda i: order[self.texts[i]])) for part in parts]

    def held_out(self, test: int = 2000, valid: int = 600, seed: int = 0) -> list[Labelled]:
        """What to train on, to choose by and to test on: `split`, with `valid` and `test` texts in
        the last two, but no more than a tenth and a fifth of all.

        Raises DataError where a class has no text to train on, or none to test on.
        """
        last, middle = min(test / len(self), 0.2), min(valid / len(self), 0.1)
        parts = self.split((1 - (last + middle), middle, last), seed)
        for part, use in ((parts[0], "train on"), (parts[2], "test on")):
            for name, count in part.counts().items():
                if not count:
                    raise DataError(
                        f"{self.source}: class {name!r} has {self.counts()[name]} of {len(self)} "
                        f"texts, none of them among those to {use}; give more texts of this class, "
                        "join it with another, or take its rows out"
                    )
        return parts

    def sizes(self, wanted: Sequence[int]) -> tuple[int, ...]:
        """Those of the `wanted` numbers of texts for which the first n hold every class; all texts
        where none does.
        """
        fit = [n for n in wanted if n <= len(self) and len({*self.labels[:n]}) == len(self.names)]
        return tuple(fit) or (len(self),)


def rt_polarity() -> Labelled:
    """10,662 sentences from film reviews (Rotten Tomatoes), half of them positive.

    Lower case, punctuation apart. There is no official split. Source: Pang and Lee 2005.
    """
    lines = _lines(fetch("rt_polarity", "rt_polarity.tsv.gz"))[1:]
    cells = [line.split("\t", 1) for line in lines]
    return Labelled(
        tuple(text for _, text in cells),
        tuple(int(label) for label, _ in cells),
        POLARITY,
        "rt_polarity (real)",
    )


def movie_reviews(folds: Iterable[int] = range(10)) -> Labelled:
    """2,000 whole film reviews, half of them positive, or those of some of the authors' ten folds.

    Each fold has 100 of either class; train on some and test on others, as they did. The mean
    review has some 750 words. Source: Pang and Lee 2004.
    """
    wanted = set(folds)
    if not wanted or wanted - set(range(10)):
        raise DataError(f"folds: got {sorted(wanted)}, expected some of 0 to 9")
    lines = _lines(fetch("movie_reviews", "movie_reviews.jsonl.gz"))
    rows = [row for line in lines if (row := json.loads(line))["fold"] in wanted]
    return Labelled(
        tuple(row["text"] for row in rows),
        tuple(row["label"] for row in rows),
        POLARITY,
        "movie_reviews (real)",
    )


def read_labelled(path: str | Path, text: str = "text", label: str = "label") -> Labelled:
    """Read a table with a header: `text` and `label` name its columns, others are passed over.

    Comma, semicolon or tab, whichever separates the header into both names; UTF-8, plain or
    `.gz`. Rows without any content are passed over. A label is a word or a number; classes are in
    the order of their numbers, else of the alphabet, and there may be any number of them.

    Raises DataError, with the line where there is one: no such file or column, an empty cell, a row
    of another length, fewer than two classes, or a class for every other text.
    """
    path = own_file(path, DataError)
    rows = _rows(path, text, label)
    names = sorted({name for _, name in rows}, key=_rank)
    if len(names) < 2:
        raise DataError(
            f"{path}: column {label!r} holds {names or 'nothing'}, expected 2 classes or more: "
            "does another column tell them apart? Name it: label=..."
        )
    if len(names) > max(2, len(rows) // 2):
        raise DataError(
            f"{path}: column {label!r} holds {len(names)} different values in {len(rows)} rows, "
            f"such as {names[0][:40]!r}: classes are expected, each with several texts. Are "
            f"text={text!r} and label={label!r} the right way round?"
        )
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_plain(name), []).append(name)
    for group in alike.values():
        if len(group) > 1:
            warnings.warn(
                f"{path}: the labels {' and '.join(map(repr, group))} differ in form only and are "
                "read as classes of their own; write them alike if they are one",
                stacklevel=2,
            )
    number = {name: k for k, name in enumerate(names)}
    return Labelled(
        tuple(cell for cell, _ in rows),
        tuple(number[name] for _, name in rows),
        tuple(names),
        f"{path.name} (your file)",
    )


def read_texts(path: str | Path, text: str = "text", seed: int = 0) -> list[str]:
    """Return the different texts of one column of a table, in an order that `seed` draws.

    The table is one that `read_labelled` reads, and the same errors are raised of it.
    """
    path = own_file(path, DataError)
    texts = [cell for cell, _ in _rows(path, text, text)]
    if not texts:
        raise DataError(f"{path}: a header and no row below it; expected a text in each row")
    return _drawn(texts, seed)


def _rows(path: Path, text: str, label: str) -> list[tuple[str, str]]:
    """(text, label) of every row of the table."""
    content = _text(path)
    with _cells_of_any_length(content):
        return _chosen(path, content, text, label)


def _chosen(path: Path, content: str, text: str, label: str) -> list[tuple[str, str]]:
    # Lines may end in CR alone, as old spreadsheets write them.
    header = io.StringIO(content, newline=None).readline().rstrip("\n")
    columns: list[str] = []
    mark = ","
    for mark in (",", ";", "\t"):
        columns = next(csv.reader([header], delimiter=mark), [])
        if {text, label} <= set(columns):
            break
    else:
        columns = next(csv.reader([header]), [])
        missing = [name for name in (text, label) if name not in columns]
        raise DataError(
            f"{path}: its first line has no column {' and no '.join(map(repr, missing))}; it reads "
            f"{header[:120]!r}. Name the columns: read_labelled(path, text=..., label=...)"
        )
    if escaped := ESCAPED.search(content):
        line = content[: escaped.start()].count("\n") + 1
        raise DataError(
            f'{path}, line {line}: a quotation mark is written as \\", which CSV does not know; '
            'write it twice (""), as a spreadsheet does'
        )
    at = columns.index(text), columns.index(label)
    found = []
    for line, row in _table(path, content, mark):
        if len(row) != len(columns):
            raise DataError(
                f"{path}, line {line}: {len(row)} cells, expected {len(columns)} as in "
                "the first line; put a text that holds the separator between quotation marks"
            )
        cells = row[at[0]].strip(), row[at[1]].strip()
        if not all(cells):
            empty = text if not cells[0] else label
            raise DataError(
                f"{path}, line {line}: column {empty!r} is empty; fill it, or take the row out"
            )
        found.append(cells)
    return found


@contextmanager
def _cells_of_any_length(content: str) -> Iterator[None]:
    """Let a cell be as long as the table; `csv` refuses more than 131,072 letters."""
    before = csv.field_size_limit(max(csv.field_size_limit(), len(content)))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _table(path: Path, content: str, mark: str) -> Iterator[tuple[int, list[str]]]:
    """(number of its last line, cells) of every row below the header that holds anything."""
    lines = itertools.chain(io.StringIO(content, newline=""), [END])
    rows = csv.reader(lines, delimiter=mark)
    begins = 1
    for n, row in enumerate(rows):
        if row == [END]:
            return
        if row and row[-1].endswith(END):
            raise DataError(
                f"{path}, line {begins}: the row that begins here goes on to the end of the file; "
                "is a quotation mark never closed?"
            )
        if n and any(cell.strip() for cell in row):
            yield rows.line_num, row
        begins = rows.line_num + 1


def _plain(name: str) -> str:
    """A label without what its form alone says: `Positive` and `positive`, `1` and `1.0`."""
    try:
        return repr(float(name))
    except ValueError:
        return " ".join(name.casefold().split())


def _rank(name: str) -> tuple[float, str]:
    """Numbers in their order, before words in theirs; `nan` and `inf` are words."""
    try:
        number = float(name)
    except ValueError:
        number = math.inf
    return (number if math.isfinite(number) else math.inf), name


def _drawn(texts: Sequence[str], seed: int) -> list[str]:
    """The distinct texts in an order that depends on nothing but them and the seed."""
    return shuffled(sorted(set(texts)), seed)


def _lines(path: Path) -> list[str]:
    """The lines of a file; only a line feed ends one."""
    return [line for line in _text(path).split("\n") if line]


def _text(path: Path) -> str:
    """The file's text; raises DataError where it is not UTF-8, or does not decompress."""
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path}, line {line}: not UTF-8 ({error.reason}); save it as UTF-8, which a "
            'spreadsheet offers as "CSV UTF-8"'
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: does not decompress ({error})") from error
