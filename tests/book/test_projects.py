"""The projects: each is whole, its data are registered, what it names is there."""

from __future__ import annotations

import importlib
import re
from importlib.util import find_spec

import pytest
from checkout import ROOT

from deepdive.data import registry

TEXT = (ROOT / "book" / "projects.md").read_text("utf-8")
PROJECTS = re.findall(r"^## (\d)\. (.+?)\n(.*?)(?=^## |\Z)", TEXT, re.M | re.S)
LINES = ["question", "method", "measurement with uncertainty", "honesty about failure", "code"]


def test_there_are_nine() -> None:
    assert [number for number, _, _ in PROJECTS] == [*"123456789"]


@pytest.mark.parametrize(("number", "title", "text"), PROJECTS)
def test_a_project_is_whole(number: str, title: str, text: str) -> None:
    assert title.endswith("?")
    heads = re.findall(r"^\*\*(.+?)\*\*", text, re.M)
    wanted = ["Question.", "Data.", "Do.", "Hints.", "It would be surprising", "In its rubric."]
    assert heads == wanted
    (data,) = set(re.findall(r"deepdive\.data\.\w+\(\"(\w+)\"\)", text))
    assert data in registry()
    assert "Real" in text


def test_the_rubric_has_five_lines_of_four_levels() -> None:
    rows = [line.strip("|").split("|") for line in TEXT.splitlines() if line.startswith("|")]
    assert [row[0].strip() for row in rows[2:]] == LINES
    assert {len(row) for row in rows} == {5}
    assert [cell.strip()[0] for cell in rows[0][1:]] == ["0", "1", "2", "3"]
    assert all(cell.strip() for row in rows[2:] for cell in row)


def test_what_the_projects_name_in_the_library_is_there() -> None:
    named = set(re.findall(r"`(deepdive(?:\.\w+)+)", TEXT))
    assert len(named) >= 4
    for name in named:
        module, _, part = name.rpartition(".")
        assert hasattr(importlib.import_module(module), part) or find_spec(name), name
