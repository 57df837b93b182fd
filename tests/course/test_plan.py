"""What a submission's cells become before they run."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest
from classroom import THRICE, TWICE, answers

from deepdive_book.course.assignment.course import Course, literal, read
from deepdive_book.course.assignment.plan import grade_id, plan

CHAPTER = "01_demo"


def steps(course: Course, form: Any) -> list[dict[str, Any]]:
    return plan(literal(read(course.source(CHAPTER)), None, ""), form)[0]


@pytest.mark.parametrize(
    ("written", "runs"),
    [
        ("%%time\nx = 1", "\nx = 1"),
        ("\n%%capture out\n%%time\nx = 1", "\nx = 1"),
        ("%%timeit -n 3\nx = 1", "\nx = 1"),
        ("%time x = f(2)\nif x:\n    %time y = 3", "x = f(2)\nif x:\n    y = 3"),
        ("%matplotlib inline\n!pip list\nx = 1\nx?", "pass\npass\nx = 1\npass"),
        ("x = (7\n     % 4\n     != 3)", "x = (7\n     % 4\n     != 3)"),
        ("%%bash\nls", ""),
        ("%%timer\nls", ""),
    ],
)
def test_what_ipython_would_run_as_python_runs(course: Course, written: str, runs: str) -> None:
    (own,) = [s for s in steps(course, answers(course, twice=written)) if s["name"] == "twice"]
    assert own["public"] == runs


def test_a_cell_of_the_student_runs_before_the_cell_that_it_precedes(course: Course) -> None:
    form = answers(course, twice=TWICE, thrice=THRICE)
    names = [grade_id(cell) for cell in form.cells]
    form.cells.insert(names.index("twice-zero"), nbformat.v4.new_code_cell("later = 2"))
    form.cells.insert(names.index("twice-check"), nbformat.v4.new_code_cell("helper = 1"))
    order = [
        step["public"] if step["kind"] == "extra" else step["name"] for step in steps(course, form)
    ]
    assert order == [
        "",
        "twice",
        "helper = 1",
        "twice-check",
        "later = 2",
        "twice-zero",
        "thrice",
        "thrice-check",
    ]
