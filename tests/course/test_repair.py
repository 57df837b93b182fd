"""A submission that an editor took apart is made whole."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import nbformat
import pytest
from classroom import (
    CHAPTER,
    SQUARE,
    THRICE,
    TWICE,
    answers,
    hand_in,
)

from deepdive.course.assignment import marking
from deepdive.course.assignment.course import Course, read
from deepdive.course.assignment.repair import repair


def stripped(notebook: Any) -> Any:
    """As Colab gives it back."""
    bare = deepcopy(notebook)
    bare.nbformat_minor = 0
    for number, cell in enumerate(bare.cells):
        cell.pop("id", None)
        cell.metadata = nbformat.from_dict({"id": f"c{number}", "colab": {}})
    return bare


def test_cells_without_metadata_are_found_again_and_named(course: Course) -> None:
    hand_in(course, "ann", answers(course, twice=TWICE, thrice=THRICE, why="It adds."))
    whole = read(course.submission("ann", CHAPTER))
    bare = stripped(whole)
    helper = "def helper(x):\n    return x"
    bare.cells.insert(5, nbformat.v4.new_code_cell(helper))
    bare.cells[5].pop("id")
    hand_in(course, "ann", bare)
    (result,) = marking.mark(course, CHAPTER, ["ann"], jobs=1)
    assert (result.points, result.waiting) == (6.0, 2.0)
    assert result.found == ["twice", "thrice", "why"]
    assert result.flags == ["repaired"]
    shown = read(course.folder("autograded", "ann", CHAPTER) / "exercises.ipynb")
    assert helper in [cell.source for cell in shown.cells]
    ids = [cell.metadata.nbgrader.grade_id for cell in shown.cells if "nbgrader" in cell.metadata]
    assert ids == ["twice", "twice-check", "twice-zero", "thrice", "thrice-check", "why"]


def test_a_cell_that_is_nowhere_is_named_and_the_rest_counts(course: Course) -> None:
    notebook = stripped(answers(course, twice=TWICE, thrice=THRICE))
    notebook.cells = [cell for cell in notebook.cells if "def twice" not in cell.source]
    hand_in(course, "bob", notebook)
    (result,) = marking.mark(course, CHAPTER, ["bob"], jobs=1)
    assert result.missing == ["twice"]
    assert result.points == 3.0


def test_repair_prefers_ids_then_the_place(course: Course) -> None:
    form = answers(course)
    moved = answers(course, twice=TWICE, thrice=THRICE)
    scratch = nbformat.v4.new_code_cell("def twice(x):\n    return 'scratch'")
    moved.cells.insert(0, scratch)
    moved.cells.append(deepcopy(scratch))
    bare = stripped(moved)
    for notebook in (moved, bare):
        found = repair(form, notebook).notebook.cells
        (twice,) = [c for c in found if c.metadata.get("nbgrader", {}).get("grade_id") == "twice"]
        assert twice.source == TWICE


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("-" * 100_000 + "1", id="nested deeper than the parser goes"),
        pytest.param(
            "twice:" + " " * 100_000 + "\n(", id="spaces that a slow pattern never leaves"
        ),
        pytest.param("a = '\\x00'\0", id="a null byte"),
    ],
)
def test_code_that_does_not_parse_does_not_stop_the_search(course: Course, text: str) -> None:
    bare = stripped(answers(course, twice=TWICE))
    bare.cells.insert(0, nbformat.v4.new_code_cell(text))
    done = repair(answers(course), bare)
    assert TWICE in [cell.source for cell in done.notebook.cells if cell.id == "twice"]


def test_a_doubled_cell_is_named_and_the_last_counts(course: Course) -> None:
    notebook = answers(course, twice=SQUARE)
    again = deepcopy(next(c for c in notebook.cells if c.source == SQUARE))
    again.source, again.id = TWICE, "other"
    notebook.cells.append(again)
    done = repair(answers(course), notebook)
    assert done.double == ["twice"]
    named = [c for c in done.notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id")]
    assert TWICE in [cell.source for cell in named]
    assert SQUARE not in [cell.source for cell in named]


def test_locked_cells_come_from_the_form_and_nothing_else_is_believed(course: Course) -> None:
    notebook = answers(course, twice=SQUARE)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "twice-check":
            cell.source = "pass"
            cell.metadata["nbgrader"]["points"] = 100
            cell.outputs = [nbformat.v4.new_output("stream", text="<script>alert(1)</script>")]
    done = repair(answers(course), notebook)
    check = next(c for c in done.notebook.cells if c.id == "twice-check")
    assert "have you squared" in check.source
    assert check.metadata.nbgrader.points == 2
    assert not check.outputs
