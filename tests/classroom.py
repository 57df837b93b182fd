"""A small chapter, three students, what they hand in, and a stand-in for the grader.

The stand-in runs what students wrote as it is: grading has tests of its own. `course/conftest.py`
has the fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from click.testing import CliRunner, Result

from deepdive_book import cli
from deepdive_book.course.assignment import marking
from deepdive_book.course.assignment.course import Course, literal, read
from deepdive_book.course.assignment.forms import released, solved
from deepdive_book.course.assignment.grading import CellGrade, Grade
from deepdive_book.course.assignment.limited import Limits
from deepdive_book.course.assignment.roster import Student
from deepdive_book.course.assignment.submission import sound

CHAPTER = "01_demo"
SOURCE = '''\
# %% [markdown]
# # Exercises: demo
#
# <small>of the course</small>

# %% tags=["setup"]
import math

# %% [markdown]
# ## 1. Twice
#
# *Write · 5 min · easy · book 2.1*
#
# Write $2 x$.

# %% nbgrader={"grade_id": "twice", "solution": true}
def twice(x):
    """Return two times x."""
    ### BEGIN SOLUTION
    return x + x  # the solution of the first
    ### END SOLUTION

# %% nbgrader={"grade_id": "twice-check", "grade": true, "points": 2}
assert twice(3) == 6, f"twice 3 is 6, yours is {twice(3)}: have you squared it?"
### BEGIN HIDDEN TESTS
assert twice(-41.5) == -83, "a hidden word"
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "twice-zero", "grade": true, "points": 1}
assert twice(0) == 0, "twice nothing is nothing"

# %% tags=["wrong-answer"] exercise="twice"
def twice(x):
    return x * x

# %% tags=["wrong-answer"] exercise="twice"
def twice(x):
    return 6

# %% [markdown]
# ## 2. Thrice
#
# *Write · 5 min · easy · book 2.1*

# %% nbgrader={"grade_id": "thrice", "solution": true}
def thrice(x):
    ### BEGIN SOLUTION
    return x + twice(x)  # the solution of the second
    ### END SOLUTION

# %% nbgrader={"grade_id": "thrice-check", "grade": true, "points": 3}
assert thrice(2) == 6, "thrice 2 is 6"

# %% [markdown]
# ## 3. Why
#
# *Explain · 5 min · easy · book 2.1*
#
# Explain. 2 points: a reason; 0 points: none.

# %% [markdown] nbgrader={"grade_id": "why", "grade": true, "solution": true, "points": 2}
# ### BEGIN SOLUTION
# Because addition is repeated: the model answer.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="why"
# - **2 points**: the rule of the rubric.
# - **1 point**: half of it.
# - **0 points**: none.
'''
FULL, PARTLY, WRONG = (
    Student("ann", "Ann", "Full", "ann@uni.example", "11"),
    Student("bob", "Bob", "Half", "", "12"),
    Student("eve", "Éve", "O'Wrong", "", "13"),
)


def plain_grade(
    source: Any,
    submission: Any,
    *,
    limits: Limits | None = None,
    trust: bool = False,
    twin: int = 0,
) -> Grade:
    """What grading promises, without a sandbox."""
    try:
        submission = sound(submission)
    except ValueError as error:
        return Grade(list(_none(source, str(error))), str(error), trust)
    theirs = {
        cell.metadata["nbgrader"]["grade_id"]: cell.source
        for cell in submission.cells
        if "nbgrader" in cell.metadata
    }
    names: dict[str, Any] = {}
    cells = []
    for cell in solved(source).cells:
        given = cell.metadata.get("nbgrader", {})
        name = given.get("grade_id", "")
        if given.get("grade") and given.get("solution"):
            cells.append(CellGrade(name, 0.0, given["points"], "", True))
        if cell.cell_type != "code":
            continue
        try:
            exec(theirs.get(name, "") if given.get("solution") else cell.source, names)
            message = ""
        except Exception as error:
            message = "" if "hidden" in str(error) else str(error)
            message = message or "a test that you do not see failed"
        if given.get("grade"):
            points = 0.0 if message else float(given["points"])
            cells.append(CellGrade(name, points, given["points"], message, False))
    return Grade(cells, "", trust)


def _none(source: Any, why: str) -> Iterator[CellGrade]:
    for cell in source.cells:
        given = cell.metadata.get("nbgrader", {})
        if given.get("grade"):
            yield CellGrade(given["grade_id"], 0.0, given["points"], why, False)


def answers(course: Course, **texts: str) -> Any:
    """The released form with these cells written by a student."""
    form = released(literal(read(course.source(CHAPTER)), None, ""))
    for cell in form.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = texts.get(name, cell.source)
    return form


TWICE, THRICE = "def twice(x):\n    return 2 * x", "def thrice(x):\n    return 3 * x"
SQUARE = "def twice(x):\n    return x * x"


def hand_in(course: Course, student: str, notebook: Any) -> None:
    path = course.submission(student, CHAPTER)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(notebook), encoding="utf-8")
    (path.parent / "collected.json").write_text('{"file": "x", "late": false}')


def everyone(course: Course) -> None:
    hand_in(course, "ann", answers(course, twice=TWICE, thrice=THRICE, why="It adds."))
    hand_in(course, "bob", answers(course, twice=TWICE))
    hand_in(course, "eve", answers(course, twice=SQUARE, thrice="def thrice(x):\n    return x"))


def mark_all(course: Course) -> list[str]:
    left = marking.outstanding(course, CHAPTER)
    return [result.student for result in marking.mark(course, CHAPTER, left, jobs=1)]


def put(folder: Path, name: str, text: str = "{}") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def call(*arguments: str) -> Result:
    result = CliRunner().invoke(cli.main, ["assignment", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception  # with the lines that it went through
    return result
