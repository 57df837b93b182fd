"""Table question answering: WikiTableQuestions, and a generated substitute."""

import csv
import functools
import gzip
import io
import random
import re
import tarfile
from typing import NamedTuple

from deepdive.data.fetch import fetch
from deepdive.data.generated import Generated, whole

NUMBER = re.compile(r"[-+$]?\d[\d,]*(\.\d+)?%?$")


class Table(NamedTuple):
    """Column names, column types ("text" or "real"), and rows with one cell per column."""

    columns: list[str]
    types: list[str]
    rows: list[list[str]]


class TableQuestion(NamedTuple):
    """A question, its table, and the answers, in the order of the file."""

    text: str
    table: Table
    answers: list[str]


def table(columns: list[str], rows: list[list[str]]) -> Table:
    """Return a table with inferred column types: "real" if all cells are numbers or empty.

    Raises ValueError for a row without one cell per column.
    """
    for i, row in enumerate(rows):
        if len(row) != len(columns):
            raise ValueError(
                f"rows[{i}]: got {len(row)} cells, expected {len(columns)}, one per column: pad it "
                "with empty cells"
            )
    cells = [[row[j] for row in rows if row[j]] for j in range(len(columns))]
    numbers = [bool(column) and all(map(NUMBER.match, column)) for column in cells]
    return Table(columns, ["real" if number else "text" for number in numbers], rows)


def table_questions(part: str = "dev", n: int | None = None) -> list[TableQuestion]:
    """Return the first n of WikiTableQuestions' 11,321 (train), 2,831 (dev) or 4,344 (test).

    The tables of "test" are in no other part. Raises ValueError for another part.
    """
    if part not in ("train", "dev", "test"):
        raise ValueError(f"part: got {part!r}, expected train, dev or test")
    text = gzip.decompress(fetch("wikitablequestions", f"{part}.tsv.gz").read_bytes()).decode()
    lines = [line.split("\t") for line in text.split("\n")[1:] if line][:n]
    tables = _tables()
    return [
        TableQuestion(_plain(question), tables[context], [_plain(a) for a in answers.split("|")])
        for _, question, context, answers in lines
    ]


def _plain(field: str) -> str:
    """Return an unescaped field: \\n is a newline, \\p a bar, \\\\ a backslash."""
    signs = {"n": "\n", "p": "|", "\\": "\\"}
    return re.sub(r"\\([np\\])", lambda found: signs[found[1]], field)


@functools.cache
def _tables() -> dict[str, Table]:
    found = {}
    with tarfile.open(fetch("wikitablequestions", "tables.tar.gz")) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                text = io.StringIO(file.read().decode("utf-8"))
                columns, *rows = csv.reader(text, escapechar="\\", doublequote=False)
                wide = len(columns)
                rows = [(row + [""] * wide)[:wide] for row in rows]
                found[member.name] = table(columns, rows)
    return found


CITIES = ["Paris", "Rome", "London", "Berlin", "Vienna", "Madrid", "Oslo", "Prague"]
LANDS = ["France", "Italy", "England", "Germany", "Austria", "Spain", "Norway", "Bohemia"]


def generated_table_questions(n: int, seed: int = 0) -> Generated[TableQuestion]:
    """Return n >= 1 questions about small tables of cities with random years and scores."""
    whole("n", n, 1, None)
    draw, found = random.Random(f"generated_table_questions {seed}"), []
    for _ in range(n):
        chosen = draw.sample(range(len(CITIES)), 4)
        rows = [
            [str(draw.randrange(1900, 2000)), CITIES[i], LANDS[i], str(draw.randrange(1, 99))]
            for i in chosen
        ]
        year, city, land, score = draw.choice(rows)
        text, answer = draw.choice(
            [
                (f"which year was it in {city} ?", year),
                (f"what score had {land} ?", score),
                (f"which city of {land} was it ?", city),
            ]
        )
        small_table = table(["Year", "City", "Country", "Score"], rows)
        found.append(TableQuestion(text, small_table, [answer]))
    return Generated(found, f"generated_table_questions({n}, seed={seed})")
