"""Labeled texts for classification: two movie review data sets, tables of your own; splits."""

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

END = "\x04"  # added after the last line: inside a cell it reveals an unclosed quotation mark
ESCAPED = re.compile(r"""\\"(?![",;\t\r\n]|$)""")  # not at a cell's end, where it may end a path
POLARITY = ("negative", "positive")


@dataclass(frozen=True)
class Labeled:
    """Texts, their class ids (0 to k - 1), and the names of the k classes.

    `source` says where they come from, and ends in (real), (generated) or (your file).
    Raises DataError if texts and labels differ in number, or a label is not a class id.
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
            raise DataError(f"labels: got {sorted(odd)[:5]}, expected 0 to {len(self.names) - 1}")

    def __len__(self) -> int:
        return len(self.texts)

    def counts(self) -> dict[str, int]:
        """Return the number of texts of each class."""
        found = Counter(self.labels)
        return {name: found[k] for k, name in enumerate(self.names)}

    def take(self, items: Iterable[int]) -> Labeled:
        """Return the texts at these indices, in this order."""
        chosen = list(items)
        return Labeled(
            tuple(self.texts[i] for i in chosen),
            tuple(self.labels[i] for i in chosen),
            self.names,
            self.source,
        )

    def split(self, fractions: Sequence[float] = (0.8, 0.1, 0.1), seed: int = 0) -> list[Labeled]:
        """Return shuffled parts of these sizes; equal texts are in the same part.

        Because each part is shuffled by `seed`, its first n texts are a random sample, and the
        sample of n is contained in that of 2n, as learning curves need. See `split_by`.
        """
        order = {text: rank for rank, text in enumerate(_drawn(self.texts, seed))}
        parts = split_by(range(len(self)), lambda i: self.texts[i], fractions, seed)
        return [self.take(sorted(part, key=lambda i: order[self.texts[i]])) for part in parts]

    def held_out(self, test: int = 2000, valid: int = 600, seed: int = 0) -> list[Labeled]:
        """Return training, validation and test sets: `split`, with `valid` and `test` texts in the
        last two, but at most a tenth and a fifth of all.

        Raises DataError if a class has no training text, or no test text.
        """
        last, middle = min(test / len(self), 0.2), min(valid / len(self), 0.1)
        parts = self.split((1 - (last + middle), middle, last), seed)
        for part, use in ((parts[0], "train on"), (parts[2], "test on")):
            for name, count in part.counts().items():
                if not count:
                    raise DataError(
                        f"{self.source}: class {name!r} has {self.counts()[name]} of {len(self)} "
                        f"texts, none of them among those to {use}; give more texts of this class, "
                        "merge it with another, or drop its rows"
                    )
        return parts

    def sizes(self, wanted: Sequence[int]) -> tuple[int, ...]:
        """Return those `wanted` sizes n for which the first n texts contain every class; if none,
        the size of the data set.
        """
        fit = [n for n in wanted if n <= len(self) and len({*self.labels[:n]}) == len(self.names)]
        return tuple(fit) or (len(self),)


def rt_polarity() -> Labeled:
    """Return 10,662 sentences from movie reviews (Rotten Tomatoes), half of them positive.

    Lower case, tokenized punctuation. There is no official split. Source: Pang and Lee 2005.
    """
    lines = _lines(fetch("rt_polarity", "rt_polarity.tsv.gz"))[1:]
    cells = [line.split("\t", 1) for line in lines]
    return Labeled(
        tuple(text for _, text in cells),
        tuple(int(label) for label, _ in cells),
        POLARITY,
        "rt_polarity (real)",
    )


def movie_reviews(folds: Iterable[int] = range(10)) -> Labeled:
    """Return 2,000 full movie reviews, half of them positive, or those of some of the ten folds.

    Each of the authors' folds has 100 of each class; train on some and test on others, as they did.
    A review has about 750 words on average. Source: Pang and Lee 2004.
    """
    wanted = set(folds)
    if not wanted or wanted - set(range(10)):
        raise DataError(f"folds: got {sorted(wanted)}, expected some of 0 to 9")
    lines = _lines(fetch("movie_reviews", "movie_reviews.jsonl.gz"))
    rows = [row for line in lines if (row := json.loads(line))["fold"] in wanted]
    return Labeled(
        tuple(row["text"] for row in rows),
        tuple(row["label"] for row in rows),
        POLARITY,
        "movie_reviews (real)",
    )


def read_labeled(path: str | Path, text: str = "text", label: str = "label") -> Labeled:
    """Read a table with a header: `text` and `label` name its columns, others are ignored.

    Comma, semicolon or tab, whichever separates the header into both names; UTF-8, plain or
    `.gz`. Rows without content are skipped. A label is a word or a number; classes are sorted as
    numbers or else alphabetically, and there may be any number of them.

    Raises DataError, with the line if possible: no such file or column, an empty cell, a row of
    another length, fewer than two classes, or more than one class per two texts.
    """
    path = own_file(path, DataError)
    rows = _rows(path, text, label)
    names = sorted({name for _, name in rows}, key=_rank)
    if len(names) < 2:
        raise DataError(
            f"{path}: column {label!r} holds {names or 'nothing'}, expected 2 classes or more: "
            "is another column the label? Name it: label=..."
        )
    if len(names) > max(2, len(rows) // 2):
        raise DataError(
            f"{path}: column {label!r} holds {len(names)} different values in {len(rows)} rows, "
            f"such as {names[0][:40]!r}: classes are expected, each with several texts. Are "
            f"text={text!r} and label={label!r} swapped?"
        )
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_plain(name), []).append(name)
    for group in alike.values():
        if len(group) > 1:
            warnings.warn(
                f"{path}: the labels {' and '.join(map(repr, group))} differ only in form and are "
                "read as different classes; give them the same spelling if they are one",
                stacklevel=2,
            )
    number = {name: k for k, name in enumerate(names)}
    return Labeled(
        tuple(cell for cell, _ in rows),
        tuple(number[name] for _, name in rows),
        tuple(names),
        f"{path.name} (your file)",
    )


def read_texts(path: str | Path, text: str = "text", seed: int = 0) -> list[str]:
    """Return the distinct texts of one column of a table, shuffled by `seed`.

    Format and errors are as in `read_labeled`.
    """
    path = own_file(path, DataError)
    texts = [cell for cell, _ in _rows(path, text, text)]
    if not texts:
        raise DataError(f"{path}: got a header without rows; expected a text in each row")
    return _drawn(texts, seed)


def _rows(path: Path, text: str, label: str) -> list[tuple[str, str]]:
    """Return (text, label) of every row of the table."""
    content = _text(path)
    with _cells_of_any_length(content):
        return _chosen(path, content, text, label)


def _chosen(path: Path, content: str, text: str, label: str) -> list[tuple[str, str]]:
    # Lines may end in CR only, as in files of old spreadsheets.
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
            f"{header[:120]!r}. Name the columns: read_labeled(path, text=..., label=...)"
        )
    if escaped := ESCAPED.search(content):
        line = content[: escaped.start()].count("\n") + 1
        raise DataError(
            f'{path}, line {line}: a quotation mark is escaped as \\", which is not valid in CSV; '
            'double it (""), as a spreadsheet does'
        )
    at = columns.index(text), columns.index(label)
    found = []
    for line, row in _table(path, content, mark):
        if len(row) != len(columns):
            raise DataError(
                f"{path}, line {line}: {len(row)} cells, expected {len(columns)} as in "
                "the first line; put a text that contains the separator between quotation marks"
            )
        cells = row[at[0]].strip(), row[at[1]].strip()
        if not all(cells):
            empty = text if not cells[0] else label
            raise DataError(
                f"{path}, line {line}: column {empty!r} is empty; fill it, or drop the row"
            )
        found.append(cells)
    return found


@contextmanager
def _cells_of_any_length(content: str) -> Iterator[None]:
    """Allow cells as long as the table; by default `csv` refuses more than 131,072 characters."""
    before = csv.field_size_limit(max(csv.field_size_limit(), len(content)))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _table(path: Path, content: str, mark: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of its last line, cells) of every nonempty row below the header."""
    lines = itertools.chain(io.StringIO(content, newline=""), [END])
    rows = csv.reader(lines, delimiter=mark)
    begins = 1
    for n, row in enumerate(rows):
        if row == [END]:
            return
        if row and row[-1].endswith(END):
            raise DataError(
                f"{path}, line {begins}: the row that begins here extends to the end of the file; "
                "is a quotation mark never closed?"
            )
        if n and any(cell.strip() for cell in row):
            yield rows.line_num, row
        begins = rows.line_num + 1


def _plain(name: str) -> str:
    """Return a normalized label: equal for `Positive` and `positive`, for `1` and `1.0`."""
    try:
        return repr(float(name))
    except ValueError:
        return " ".join(name.casefold().split())


def _rank(name: str) -> tuple[float, str]:
    """Return a sort key: numbers first, in order, then words; `nan` and `inf` are words."""
    try:
        number = float(name)
    except ValueError:
        number = math.inf
    return (number if math.isfinite(number) else math.inf), name


def _drawn(texts: Sequence[str], seed: int) -> list[str]:
    """Return the distinct texts in an order that depends only on them and the seed."""
    return shuffled(sorted(set(texts)), seed)


def _lines(path: Path) -> list[str]:
    """Return the nonempty lines of a file; only a line feed ends one."""
    return [line for line in _text(path).split("\n") if line]


def _text(path: Path) -> str:
    """Return the file's text. Raises DataError if it is not UTF-8, or does not decompress."""
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
