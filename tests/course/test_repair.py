"""A submission that an editor took apart is made whole."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import nbformat
import pytest
from classroom import CHAPTER, SQUARE, THRICE, TWICE, answers, call, hand_in, plain_grade

from deepdive_book.course.assignment import marking, records
from deepdive_book.course.assignment.course import Course, read
from deepdive_book.course.assignment.grading import Grade
from deepdive_book.course.assignment.repair import repair


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


def at(notebook: Any, start: str) -> int:
    """Where the first cell stands whose text begins so."""
    return next(i for i, cell in enumerate(notebook.cells) if cell.source.startswith(start))


def note(text: str) -> Any:
    cell = nbformat.v4.new_markdown_cell(text)
    cell.pop("id")
    return cell


def test_an_answer_in_words_is_found_between_other_texts(course: Course) -> None:
    bare = stripped(answers(course, twice=TWICE, thrice=THRICE, why="It adds."))
    bare.cells.insert(at(bare, "It adds."), note("A note of mine."))
    bare.cells.insert(at(bare, "It adds.") + 1, note("One more."))
    bare.cells.append(bare.cells.pop(0))  # the title, to the end
    hand_in(course, "ann", bare)
    (result,) = marking.mark(course, CHAPTER, ["ann"], jobs=1)
    assert (result.points, result.waiting, result.missing) == (6.0, 2.0, [])
    shown = read(course.folder("autograded", "ann", CHAPTER) / "exercises.ipynb")
    texts = [cell.source for cell in shown.cells]
    assert [t for t in texts if t in ("A note of mine.", "It adds.", "One more.")] == [
        "A note of mine.", "It adds.", "One more.",
    ]  # fmt: skip


def renamed(notebook: Any) -> Any:
    """The answer's cell lost, with what it defines under another name."""
    bare = stripped(notebook)
    bare.cells[at(bare, "def twice")].source = "def two_times(x):\n    return 2 * x"
    return bare


def beside(notebook: Any) -> Any:
    """The answers in cells of their own, the cells for them as they were."""
    for name, own in (
        ("def twice", nbformat.v4.new_code_cell(TWICE)),
        ("*Write your", nbformat.v4.new_markdown_cell("It adds.")),
    ):
        notebook.cells.insert(at(notebook, name) + 1, own)
    return notebook


def doubled(notebook: Any) -> Any:
    """The answer's cell copied, with its mark, and another text written into the copy."""
    again = deepcopy(notebook.cells[at(notebook, "def twice")])
    again.source, again.id = SQUARE, "other"
    notebook.cells[at(notebook, "def twice")].source = TWICE
    notebook.cells.append(again)
    return notebook


def in_bash(notebook: Any) -> Any:
    """An answer in a cell that IPython would give to another program."""
    notebook.cells[at(notebook, "def twice")].source = f"%%python3\n{TWICE}"
    return notebook


@pytest.mark.parametrize(
    ("written", "unclear", "waits"),
    [
        (renamed, ["twice"], {"twice-check", "twice-zero"}),
        (beside, ["twice", "why"], {"twice-check", "twice-zero", "why"}),
        (doubled, ["twice"], {"twice-check"}),  # nothing squared is nothing
        (in_bash, ["twice"], {"twice-check", "twice-zero"}),
    ],
)
def test_what_cannot_be_matched_waits_for_a_person(
    course: Course, written: Any, unclear: list[str], waits: set[str]
) -> None:
    hand_in(course, "ann", written(answers(course, thrice=THRICE)))
    said = call("grade", "course", "1").output
    assert f"unclear: {', '.join(unclear)}" in said
    result = marking.result_of(course, "ann", CHAPTER)
    assert result is not None
    assert "unclear" in result.flags
    scores = records.scores(course, CHAPTER)["ann"]
    assert {name for name, score in scores.items() if score.waiting} == waits
    assert result.waiting == sum(scores[name].max_points for name in waits)
    assert scores["thrice-check"].points == 3


def test_an_exercise_that_uses_an_unclear_answer_waits_too(course: Course) -> None:
    hand_in(
        course, "ann", renamed(answers(course, thrice="def thrice(x):\n    return x + twice(x)"))
    )
    (result,) = marking.mark(course, CHAPTER, ["ann"], jobs=1)
    assert (result.points, result.waiting) == (0.0, 6.0)


def test_who_wrote_nothing_waits_for_nobody(course: Course) -> None:
    blank = answers(course)
    blank.cells.insert(2, nbformat.v4.new_code_cell("1 + 1"))
    hand_in(course, "ann", blank)
    gone = answers(course)
    del gone.cells[at(gone, "def twice")]
    hand_in(course, "bob", gone)
    for result in marking.mark(course, CHAPTER, ["ann", "bob"], jobs=1):
        assert (result.points, result.waiting, result.unclear) == (0.0, 0.0, [])


def test_what_is_replaced_while_it_is_graded_is_graded_again(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_in(course, "ann", answers(course, twice=SQUARE))

    def replacing(source: Any, submission: Any, **given: Any) -> Grade:
        hand_in(course, "ann", answers(course, twice=TWICE))
        return plain_grade(source, submission, **given)

    monkeypatch.setattr(marking, "grade", replacing)
    first = [r.points for r in marking.mark(course, CHAPTER, ["ann"], jobs=1)]
    left = marking.outstanding(course, CHAPTER)
    assert (first, left) == ([1.0], ["ann"])
    assert [r.points for r in marking.mark(course, CHAPTER, left, jobs=1)] == [3.0]
    assert marking.outstanding(course, CHAPTER) == []
