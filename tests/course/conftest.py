"""A course to work in, for the tests of what instructors do."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from classroom import CHAPTER, FULL, PARTLY, SOURCE, WRONG, plain_grade

from deepdive_book.course.assignment import marking, roster
from deepdive_book.course.assignment.course import Course, create
from deepdive_book.course.assignment.release import release


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grade in this process, by the stand-in.

    One thread, whatever `jobs` says: graders are processes, and where two threads parse at once
    Python 3.11 may raise "AST constructor recursion depth mismatch" (its issue 106905).
    """
    monkeypatch.setattr(marking, "grade", plain_grade)
    monkeypatch.setattr(marking, "_pool", lambda jobs: ThreadPoolExecutor(1))


@pytest.fixture
def checkout(stand_in: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one chapter of exercises, as the current folder."""
    path = tmp_path / "chapters" / CHAPTER / "exercises.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with three students, its chapter released: once, for a grade book takes seconds."""
    root = tmp_path_factory.mktemp("prepared")
    path = root / "chapters" / CHAPTER / "exercises.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE)
    made = create(root / "course")
    roster.write(made.root / "roster.csv", [FULL, PARTLY, WRONG])
    release(Course.open(made.root), CHAPTER, root)
    return made.root


@pytest.fixture
def course(checkout: Path, prepared: Path) -> Course:
    """A copy of the prepared course in the current folder."""
    return Course.open(Path(shutil.copytree(prepared, checkout / "course")))
