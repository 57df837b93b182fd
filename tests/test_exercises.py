"""Exercises: what students get hides the answers, and every check can tell right from wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from deepdive.pages import PageError
from deepdive.pages.exercises import HIDDEN, SOLUTION, released, solved, source, sources, tags

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = [pytest.param(path, id=path.parent.name) for path in sources(ROOT)]


def run(cell: Any, names: dict[str, Any]) -> Exception | None:
    """Run a code cell in `names`; what it raised."""
    try:
        exec(compile(cell.source, cell.id, "exec"), names)
    except Exception as error:
        return error
    return None


def is_check(cell: Any) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("grade"))


def checks_of(notebook: Any, exercise: str) -> list[Any]:
    """The checks between an exercise's solution and the next one."""
    found: list[Any] = []
    inside = False
    for cell in notebook.cells:
        given = cell.metadata.get("nbgrader", {})
        if given.get("solution"):
            inside = given["grade_id"] == exercise
        elif inside and is_check(cell):
            found.append(cell)
    return found


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", CHAPTERS)
def test_the_released_form_is_in_step_and_gives_nothing_away(path: Path) -> None:
    notebook = source(path, ROOT)
    form = released(notebook)
    committed = path.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert nbformat.reads(committed, as_version=4) == form, (
        "the released form differs from its source: run `python -m deepdive.pages exercises`"
    )
    secrets = [m[0] for cell in notebook.cells for m in SOLUTION.finditer(cell.source)]
    secrets += [m[0] for cell in notebook.cells for m in HIDDEN.finditer(cell.source)]
    secrets += [cell.source for cell in notebook.cells if tags(cell) & {"hint", "wrong-answer"}]
    shown = "\n".join(cell.source for cell in form.cells)
    for secret in secrets:
        lines = [line.strip() for line in secret.splitlines() if len(line.strip()) > 24]
        kept = [line for line in lines if line in shown and not line.startswith(("def ", '"""'))]
        assert len(kept) < max(1, len(lines)), f"the released form shows {secret}"
    assert "###" not in committed.replace("## ", "").replace("####", "")
    assert all(not cell.get("outputs") for cell in form.cells)


@pytest.mark.parametrize("path", CHAPTERS)
def test_the_solved_form_runs_and_every_wrong_answer_is_found(path: Path) -> None:
    notebook = source(path, ROOT)
    names: dict[str, Any] = {}
    for cell in code(solved(notebook)):
        error = run(cell, names)
        assert error is None, f"{cell.id}: {error!r}"
    found: dict[str, int] = {}
    for cell in code(notebook):
        if "wrong-answer" in tags(cell):
            exercise = cell.metadata["exercise"]
            tried = dict(names)
            assert run(cell, tried) is None
            outcomes = [run(check, tried) for check in checks_of(solved(notebook), exercise)]
            assert any(isinstance(error, AssertionError) for error in outcomes), (
                f"no check of {exercise} rejects:\n{cell.source}"
            )
            found[exercise] = found.get(exercise, 0) + 1
    exercises = [
        cell.metadata["nbgrader"]["grade_id"]
        for cell in code(notebook)
        if cell.metadata.get("nbgrader", {}).get("solution")
    ]
    assert len(exercises) >= 4
    assert [found.get(name, 0) >= 2 for name in exercises] == [True] * len(exercises), found


@pytest.mark.parametrize("path", CHAPTERS)
def test_every_check_of_the_released_form_fails_and_says_what_to_do(path: Path) -> None:
    names: dict[str, Any] = {}
    for cell in code(released(source(path, ROOT))):
        error = run(cell, names)
        if is_check(cell):
            assert error is not None, f"{cell.id} passes without a solution"
            assert "write your solution here" in str(error)
            assert cell.metadata["nbgrader"]["points"] > 0
            assert cell.metadata["nbgrader"]["locked"]
        else:
            assert error is None, f"{cell.id}: {error!r}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('# %% nbgrader={"grade_id": "a", "solution": true}\nx = 1\n', "needs ### BEGIN"),
        ("# %%\n### BEGIN HIDDEN TESTS\nassert True\n", "without the other"),
        ('# %% tags=["hint"] exercise="b"\nx = 1\n', "is no grade id"),
        (
            '# %% nbgrader={"grade_id": "a", "grade": true, "points": 1}\nx = 1\n' * 2,
            "comes twice",
        ),
    ],
)
def test_a_source_that_would_leak_or_mislead_is_refused(
    tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "chapters" / "01_demo" / "exercises.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(PageError, match=words):
        source(path, tmp_path)
