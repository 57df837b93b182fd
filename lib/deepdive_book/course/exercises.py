"""The source of a chapter's exercises, `chapters/NN_name/exercises.py`, read and cut into parts.

An exercise begins with a cell `## 3. Title`, and under that one line, `*Write · 8 min · medium ·
book 2.4.1*`: skill, minutes, difficulty, where the book has it. It needs what stands before the
first exercise and nothing of the others.

A cell with `nbgrader={"grade_id": ..., "solution": true}` is where students write; between
`### BEGIN SOLUTION` and `### END SOLUTION` stands what they do not get. A cell with
`"grade": true, "points": n` checks; between `### BEGIN HIDDEN TESTS` and `### END HIDDEN TESTS`
stands what only the grader runs. With both, `"solution"` and `"grade"`, a person marks the answer.
Cells tagged `hint`, `wrong-answer` and `rubric` name the cell they are for in `exercise="..."`.
Offers of several values are `deepdive_book.course.assignment.variants`; the forms that are made of
a source, such as the one that students get, are `deepdive_book.course.assignment.forms`.

Nothing here needs torch: the book takes this module without the library around it.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from deepdive_book.site.pages import Page, PageError
from deepdive_book.site.pages.source import load

WITHHELD_TAGS = {"hint", "wrong-answer", "rubric"}  # of cells that students do not get
GRADER = {"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False}
HEAD = re.compile(
    r"^## (?P<number>\d+)\. (?P<title>.+)\n\n\*(?P<skill>[^·*\n]+) · (?P<minutes>\d+) min · "
    r"(?P<difficulty>easy|medium|hard) · (?P<book>[^*]+)\*$",
    re.MULTILINE,
)

_nbformat: Any = nbformat  # it declares no types


def _region(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"^(?P<indent>[ \t]*)### BEGIN {name}[^\n]*\n.*?^[ \t]*### END {name}[^\n]*(?:\n|\Z)",
        re.MULTILINE | re.DOTALL,
    )


SOLUTION, HIDDEN = _region("SOLUTION"), _region("HIDDEN TESTS")
_MARKER = re.compile(r"^[ \t]*### (?:BEGIN|END) [^\n]*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """One exercise with its cells, or what stands before the first, whose number is 0."""

    cells: list[Any]
    number: int = 0
    title: str = ""
    skill: str = ""
    minutes: int = 0
    difficulty: str = ""
    book: str = ""

    def tagged(self, tag: str) -> list[Any]:
        """The hints, wrong answers or rubrics."""
        return [cell for cell in self.cells if tag in tags(cell)]

    @property
    def shown(self) -> list[Any]:
        """The cells that are not set aside."""
        return [cell for cell in self.cells if not tags(cell) & WITHHELD_TAGS]

    @property
    def solutions(self) -> list[Any]:
        return [cell for cell in self.cells if grading(cell).get("solution")]

    @property
    def checks(self) -> list[Any]:
        return [cell for cell in self.cells if is_check(cell)]


def source(path: Path, root: Path) -> Any:
    """Read a chapter's exercises as a notebook, with the metadata complete.

    Raises PageError for a grade id that comes twice, a region that does not end, a solution cell
    without a region, a hint, wrong answer or rubric to no exercise, and a head that lacks a part.
    """
    notebook = load(Page(path, root))
    exercises: set[str] = set()
    for number, cell in enumerate(notebook.cells):
        where = f"{path.relative_to(root)}, cell {number}"
        given = cell.metadata.get("nbgrader")
        if given is not None:
            if given["grade_id"] in exercises:
                raise PageError(f"{where}: the grade id {given['grade_id']!r} comes twice")
            exercises.add(given["grade_id"])
            cell.metadata["nbgrader"] = {**GRADER, "locked": is_check(cell), **given}
            if given.get("solution") and not SOLUTION.search(cell.source):
                raise PageError(f"{where}: a solution cell needs ### BEGIN and ### END SOLUTION")
        rest = HIDDEN.sub("", SOLUTION.sub("", cell.source))
        if re.search(r"### (BEGIN|END) ", rest):
            raise PageError(f"{where}: a region begins or ends without the other")
        if tags(cell) & WITHHELD_TAGS and cell.metadata.get("exercise") not in exercises:
            raise PageError(f"{where}: exercise={cell.metadata.get('exercise')!r} is no grade id")
        if re.match(r"## \d+\. ", cell.source) and not HEAD.match(cell.source):
            raise PageError(
                f"{where}: an exercise begins with `## 1. Title`, an empty line, and "
                "`*skill · 5 min · easy (or medium, hard) · book 2.3*`"
            )
    for part in parts(notebook):
        for cell in part.cells:
            if tags(cell) & WITHHELD_TAGS:
                cell.metadata["minutes"] = part.minutes
    return notebook


def parts(notebook: Any) -> list[Part]:
    """Cut a notebook at the heads of its exercises; the first part stands before them all."""
    found = [Part([])]
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (head := HEAD.match(cell.source)):
            number, title, skill, minutes, difficulty, book = head.groups()
            found.append(Part([], int(number), title, skill, int(minutes), difficulty, book))
        found[-1].cells.append(cell)
    return found


def tags(cell: Any) -> set[str]:
    """Return the tags of a cell."""
    return set(cell.metadata.get("tags", []))


def grading(cell: Any) -> dict[str, Any]:
    """Return what a cell says to nbgrader, or nothing."""
    return dict(cell.metadata.get("nbgrader", {}))


def is_check(cell: Any) -> bool:
    """Whether a cell is a check that runs."""
    return bool(grading(cell).get("grade")) and not grading(cell).get("solution")


def is_manual(cell: Any) -> bool:
    """Whether a person marks what is written in a cell."""
    given = grading(cell)
    return bool(given.get("task") or (given.get("grade") and given.get("solution")))


def fenced(cell: Any) -> str:
    """A cell without its markers, as Markdown."""
    text = _MARKER.sub("", cell.source).strip("\n")
    return text if cell.cell_type == "markdown" else f"```python\n{text}\n```"


def prose(name: str, text: str) -> Any:
    """Return a cell of Markdown with an id."""
    return _nbformat.v4.new_markdown_cell(text, id=name)
