"""The forms of a chapter's exercises, all from one source `chapters/NN_name/exercises.py`.

In the source a cell with `nbgrader={"grade_id": ..., "solution": true}` is where students write;
between `### BEGIN SOLUTION` and `### END SOLUTION` stands what they do not get. A cell with
`"grade": true, "points": n` checks; between `### BEGIN HIDDEN TESTS` and `### END HIDDEN TESTS`
stands what only the grader runs. A Markdown cell with both is an answer graded by hand. Cells
tagged `hint` and `wrong-answer` name their exercise in `exercise="..."`. Offers of several values
(`deepdive.assignment.variants`) reach no form: it has the first of each, or a student's own.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from deepdive.pages import Page, PageError
from deepdive.pages.source import load, write

TODO = 'raise NotImplementedError("write your solution here")'
ANSWER = "*Write your answer here.*"
ASIDE = {"hint", "wrong-answer"}
GRADER = {"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False}


def _region(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"^(?P<indent>[ \t]*)### BEGIN {name}[^\n]*\n.*?^[ \t]*### END {name}[^\n]*(?:\n|\Z)",
        re.MULTILINE | re.DOTALL,
    )


SOLUTION, HIDDEN = _region("SOLUTION"), _region("HIDDEN TESTS")


def sources(root: Path) -> list[Path]:
    """Return the exercises of all chapters, in order."""
    return sorted(root.glob("chapters/[0-9][0-9]_*/exercises.py"))


def source(path: Path, root: Path) -> Any:
    """Read a chapter's exercises as a notebook, with the grader's metadata complete.

    Raises PageError for a grade id that comes twice, a region that does not end, a solution cell
    without a region, and a hint or wrong answer to no exercise.
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
            locked = given.get("grade", False) and not given.get("solution", False)
            cell.metadata["nbgrader"] = {**GRADER, "locked": locked, **given}
            if given.get("solution") and not SOLUTION.search(cell.source):
                raise PageError(f"{where}: a solution cell needs ### BEGIN and ### END SOLUTION")
        rest = HIDDEN.sub("", SOLUTION.sub("", cell.source))
        if re.search(r"### (BEGIN|END) ", rest):
            raise PageError(f"{where}: a region begins or ends without the other")
        if tags(cell) & ASIDE and cell.metadata.get("exercise") not in exercises:
            raise PageError(f"{where}: exercise={cell.metadata.get('exercise')!r} is no grade id")
    return notebook


def tags(cell: Any) -> set[str]:
    """Return the tags of a cell."""
    return set(cell.metadata.get("tags", []))


def _literal(notebook: Any) -> Any:
    """Return a copy that offers nothing more: the standard form, unless it is a student's own."""
    from deepdive.assignment.variants import standard  # which imports this module

    return standard(notebook)


def released(notebook: Any) -> Any:
    """Return the form that students get: no solution, no hidden test, no hint, no wrong answer."""
    form = _literal(notebook)
    form.cells = [cell for cell in form.cells if not tags(cell) & ASIDE]
    for cell in form.cells:
        todo = TODO if cell.cell_type == "code" else ANSWER
        cell.source = SOLUTION.sub(rf"\g<indent>{todo}\n", cell.source)
        cell.source = HIDDEN.sub("", cell.source).rstrip("\n")
    return form


def solved(notebook: Any) -> Any:
    """Return the form with solutions and hidden tests, which must run from end to end."""
    form = _literal(notebook)
    form.cells = [cell for cell in form.cells if not tags(cell) & ASIDE]
    return form


def build(path: Path, root: Path) -> Path:
    """Write the released form beside its source, `exercises.ipynb`; return where."""
    target = path.with_suffix(".ipynb")
    write(released(source(path, root)), target)
    return target
