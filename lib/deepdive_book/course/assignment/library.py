"""Whether a submission imports what its checks compare with, read from its text.

A check compares a student's function with the library's, which is installed where the student's
code runs. A cell that imports it has its points and a flag: a person looks. This reads the text, so
an import that is hidden from a reader is not found.
"""

import ast
from collections.abc import Iterator
from typing import Any

from deepdive_book.course.assignment.plan import grade_id, without_magics
from deepdive_book.course.exercises import is_check, parts

_OWN = ("deepdive.", "deepdive_book.")  # the packages by which checks compare
# Of the course itself students need these.
_GIVEN = ("deepdive_book.course.specimens", "deepdive_book.course.assignment.variants")
_BY_NAME = {"import_module", "__import__", "exec", "eval"}


def compared(source: Any) -> dict[str, list[str]]:
    """Grade id of each cell to write in -> the names that its exercise's checks alone import.

    `source` is the full one, so the imports of hidden tests count too.
    """
    found: dict[str, list[str]] = {}
    for part in parts(source)[1:]:
        named = {name for cell in part.checks for name in _imported(_tree(cell.source))}
        shown = [cell for cell in part.shown if cell.cell_type == "code" and not is_check(cell)]
        given = {name for cell in shown for name in _used(cell.source)}
        found |= {grade_id(cell): sorted(named - given) for cell in part.solutions}
    return found


def borrowed(names: dict[str, list[str]], form: Any, submission: Any) -> list[str]:
    """Grade ids of the cells to write in that import one of these `names`, or the course itself.

    Cells that the student added belong to every exercise.
    """
    texts: dict[str, str] = {}
    added: set[str] = set()
    known = {cell["source"].strip() for cell in form["cells"]}
    for cell in submission["cells"]:
        if cell["cell_type"] == "code":
            if name := grade_id(cell):
                texts[name] = cell["source"]
            elif cell["source"].strip() not in known:
                added |= _used(cell["source"])
    found = []
    for name, theirs in names.items():
        used = _used(texts.get(name, "")) | added
        taken = used & {*theirs} or ("*" in used and theirs)  # all of a module, perhaps these too
        if taken or any(each.startswith("deepdive_book.course") for each in used):
            found.append(name)
    return found


def _tree(text: str) -> ast.AST:
    try:
        return ast.parse(without_magics(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _imported(tree: ast.AST) -> Iterator[str]:
    """The names that a text imports from the library; modules of the course in full."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(_OWN):
            for alias in node.names:
                yield from _named(str(node.module), alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith(_OWN):
                    yield from _named(*alias.name.rsplit(".", 1))


def _named(module: str, name: str) -> Iterator[str]:
    whole = f"{module}.{name}"
    if not whole.startswith("deepdive_book.course"):
        yield name
    elif not whole.startswith(_GIVEN):
        yield whole


def _used(text: str) -> set[str]:
    """What a text imports of the library, and what it asks modules of the library for."""
    tree = _tree(text)
    names = set(_imported(tree))
    if "deepdive" in text:
        nodes = [*ast.walk(tree)]
        names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        calls = {node.id for node in nodes if isinstance(node, ast.Name)} | names
        if calls & _BY_NAME:  # an import by its name: then the words count
            for node in nodes:
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    names |= {node.value, node.value.rsplit(".", 1)[-1]}
    return names
