"""Names that were retired for the field's own stay retired: of modules, and of what they define.

A reader who knows the paper or PyTorch finds a thing by its standard name. The private ones of
earlier versions stand in `retired_names.txt` so that none comes back; a word that has an ordinary
meaning elsewhere (`Reader`, `sweep`) is not refused.
"""

from __future__ import annotations

import ast
import re

import pytest
from checkout import ROOT

LINES = [line.split() for line in (ROOT / "tests" / "retired_names.txt").read_text().splitlines()]
MODULES = {name for kind, name in LINES if kind == "module"}
NAMES = {name for kind, name in LINES if kind == "name"}
# Participles and questions that say nothing of what is returned.
PARTICIPLES = {
    "told", "said", "kept", "held", "drawn", "asked", "heard", "taught", "brought", "met", "found"
}  # fmt: skip


# The library spells as PyTorch does: `color`, `center`, `normalize`.
BRITISH = re.compile(
    "colour|centre|neighbour|behaviour|favour|honour|labell|modell|grey|licence|artefact|"
    "(?:al|ial|im|ar|er|or|ant|act|ogn|gular|ten|ok|tor)is(?:e|ed|er|es|ing|ation)(?![a-z])"
)


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


def named(source: str) -> set[str]:
    """Every function, class, and parameter that a module defines."""
    nodes = [*ast.walk(ast.parse(source))]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {n.name for n in nodes if isinstance(n, kinds)} | {
        n.arg for n in nodes if isinstance(n, ast.arg)
    }


def british(stem: str, source: str) -> set[str]:
    words = {re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in {stem, *named(source)}}
    return {word for word in words if BRITISH.search(word)}


def test_names_are_in_american_spelling() -> None:
    found = {
        str(path.relative_to(ROOT)): names
        for path in (ROOT / "lib").rglob("*.py")
        if (names := british(path.stem, path.read_text("utf-8")))
    }
    assert not found, f"spell these as PyTorch does: {found}"


def test_a_british_name_is_seen() -> None:
    for source in ("def normalise(x): ...", "class Quantiser: ...", "def f(*, labelled): ..."):
        assert british("fine", source), source
    assert british("maximisation", "")
    assert not british("denoise", "def precise(noise, exercise, advise, promise, raised): ...")


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
