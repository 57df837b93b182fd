"""Names that were retired for the field's own stay retired: of modules, and of what they define.

A reader who knows the paper or PyTorch finds a thing by its standard name. The private ones of
earlier versions stand in `retired_names.txt` so that none comes back; a word that has an ordinary
meaning elsewhere (`Reader`, `sweep`) is not refused.
"""

from __future__ import annotations

import ast

import pytest
from checkout import ROOT

LINES = [line.split() for line in (ROOT / "tests" / "retired_names.txt").read_text().splitlines()]
MODULES = {name for kind, name in LINES if kind == "module"}
NAMES = {name for kind, name in LINES if kind == "name"}
# Participles and questions that say nothing of what is returned.
PARTICIPLES = {
    "told", "said", "kept", "held", "drawn", "asked", "heard", "taught", "brought", "met", "found"
}  # fmt: skip


def defined(source: str) -> set[str]:
    """The functions and classes that a module defines at its top."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in ast.parse(source).body if isinstance(node, kinds)}


def retired(stem: str, source: str) -> set[str]:
    return ({stem} & MODULES) | (defined(source) & (NAMES | PARTICIPLES))


def test_no_module_class_or_function_has_a_retired_name() -> None:
    found = {
        str(path.relative_to(ROOT)): names
        for path in (ROOT / "lib").rglob("*.py")
        if (names := retired(path.stem, path.read_text("utf-8")))
    }
    assert not found, f"give each the name that its paper or PyTorch uses: {found}"


@pytest.mark.parametrize(
    ("stem", "source", "name"),
    [
        ("two_kitchens", "", "two_kitchens"),
        ("fine", "def told(): ...", "told"),
        ("fine", "class CodeFinder: ...", "CodeFinder"),
    ],
)
def test_a_retired_name_is_seen(stem: str, source: str, name: str) -> None:
    assert retired(stem, source) == {name}
    assert not retired("fine", "told = 1")
