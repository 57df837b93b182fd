"""Write book/faults.md: each fault that a test makes, and what is kept, from `@fault` in tests/.

    python tools/faults_table.py

Reads the tests and runs none. A test holds the file to what they say.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "book" / "faults.md"
FIELDS = ("made", "happens", "kept")
ROOMS = {  # folders of tests/ by the words that a reader knows
    "book": "The book",
    "casestudies": "Case studies",
    "course": "Courses and their grading",
    "faults": "What takes longer to make",
    "house": "Pages and how they are run",
    "page": "What a page shows",
    "published": "Published checkpoints",
    "tools": "Set-up and tools",
    "whole": "Commands, locks and the library as a whole",
}
HEAD = "| fault, and how it is made | what happens | what is kept |"


class Row(NamedTuple):
    """One line of the table; `test` is what pytest calls it, below tests/."""

    fault: str
    made: str
    happens: str
    kept: str
    test: str


class RowError(ValueError):
    """A `@fault` that cannot be read as a row."""


def rows(tests: Path = ROOT / "tests") -> list[Row]:
    """The rows of all tests, in the order of the files and of the tests in them."""
    return [
        row
        for path in sorted(tests.rglob("test_*.py"))
        for row in _of_file(path, path.relative_to(tests).as_posix())
    ]


def _of_file(path: Path, name: str) -> Iterator[Row]:
    for test in ast.parse(path.read_text(encoding="utf-8")).body:
        for mark in test.decorator_list if isinstance(test, ast.FunctionDef) else []:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "fault":
                yield _row(mark, f"{name}::{test.name}")


def _row(mark: ast.Call, test: str) -> Row:
    try:
        named = {word.arg: ast.literal_eval(word.value) for word in mark.keywords}
        (first,) = (ast.literal_eval(value) for value in mark.args)
        found = [first, *(named.pop(field) for field in FIELDS)]
    except (KeyError, ValueError) as error:
        raise RowError(f"{test}: expected @fault(str, made=, happens=, kept=): {error}") from error
    if named or not all(isinstance(text, str) and text.strip() for text in found):
        raise RowError(f"{test}: expected four strings with words in them, got {found} {named}")
    return Row(*(" ".join(text.split()) for text in found), test)


def page() -> str:
    """Return the page as Markdown."""
    lines = [
        "# Faults, and what is kept",
        "",
        "What goes wrong where people work: a disk fills up, a process is killed, a server lies,",
        "two do at once what only one can. Each row is made by the test under its fault;",
        "`pytest tests/FILE::NAME` makes it again. This page is generated from the tests by",
        "`python tools/faults_table.py`.",
    ]
    room = ""
    for row in rows():
        folder = row.test.rpartition("::")[0].rpartition("/")[0].partition("/")[0] or "whole"
        if folder != room:
            room = folder
            lines += ["", f"## {ROOMS.get(room, room.capitalize())}", "", HEAD, "|---|---|---|"]
        fault, made, happens, kept = (cell.replace("|", "\\|") for cell in row[:-1])
        lines.append(f"| **{fault}**: {made} (`{row.test}`) | {happens} | {kept} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name}: {len(rows())} faults")
