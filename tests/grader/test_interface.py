"""The course's one interface to the grader, and what it says where none is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import deepdive_grader
from deepdive_book import cli
from deepdive_book.course.assignment import grader
from deepdive_book.course.assignment.course import create
from deepdive_book.course.assignment.errors import AssignmentError


def test_the_installed_grader_is_the_sandbox() -> None:
    assert isinstance(grader.load(), deepdive_grader.Sandbox)


def test_a_missing_grader_is_named_with_its_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`release`, `collect`, `feedback`, and `export` need none; `grade` says what to install."""
    create(tmp_path / "course")
    export = ["assignment", "export", str(tmp_path / "course"), str(tmp_path / "grades.csv")]
    monkeypatch.setitem(sys.modules, "deepdive_grader", None)
    with pytest.raises(AssignmentError, match=r"pip install \./tools/grader.*make setup"):
        grader.load()
    assert CliRunner().invoke(cli.main, export).exit_code == 0


def test_another_missing_package_is_not_taken_for_the_grader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "deepdive_grader")
    monkeypatch.setitem(sys.modules, "deepdive_book.course.assignment.limited", None)
    with pytest.raises(ModuleNotFoundError, match="limited"):
        grader.load()
