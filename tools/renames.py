"""Rename modules and names everywhere, and prove that nothing but names changed.

    python tools/renames.py [--check] moves.csv [PATH ...]

`moves.csv` has the columns old and new, dotted names of modules, or of what stands in them:

    old,new
    deepdive_book.ch05.figures.tensor_parallel_matrices,deepdive_book.kit.encoder_decoder_attention
    deepdive.layers.windows.sides,deepdive.layers.windows.shift_regions

The longest old name that fits decides. In Python, imports are written anew, what they bind is
renamed where the last part of the name changes, and so are what a module defines and what is read
from an imported module; dotted names in strings, comments, and other texts follow. Names that a
package re-exports from a module follow that module's. Notebooks get their page's new source and
keep their outputs, once `same` has proved of each cell that, but for imports and renamed names, its
syntax tree is the one that made the outputs.
Files are moved by `git mv`, before this is run or after.

Without PATH: all of chapters, casestudies, lib, tests, tools, book, benchmarks, and the texts.
`--check` changes nothing and says which files would change.
"""

from __future__ import annotations

import argparse
import ast
import csv
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("chapters", "casestudies", "lib", "tests", "tools", "book", "benchmarks")
TEXTS = (".md", ".csv", ".yaml", ".yml", ".toml", ".js")
WIDTH = 100

Moves = Mapping[str, str]


class RenameError(Exception):
    """A file that can't be renamed without a change of meaning; the text says where and why."""


def moved(name: str, moves: Moves) -> str:
    """Return a dotted name after the moves: that of the longest old name which begins it."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        if (head := ".".join(parts[:n])) in moves:
            return ".".join([moves[head], *parts[n:]])
    return name


def imported(tree: ast.AST) -> Iterable[tuple[str, str]]:
    """What each absolute import binds: (bound name, dotted name of what it stands for)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name, alias.name


def own_names(code: str, module: str, moves: Moves) -> dict[str, str]:
    """Return old -> new of what a module defines at its top, where that changes."""
    names: dict[str, str] = {}
    tree = ast.parse(code)
    for node in tree.body:
        defined = []
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            goals = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined = [goal.id for goal in goals if isinstance(goal, ast.Name)]
        for name in defined:
            full = f"{module}.{name}"
            new = moves.get(full) or moves.get(f"{_before(module, moves)}.{name}")
            if new and new.rpartition(".")[2] != name:
                names[name] = new.rpartition(".")[2]
    scopes = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef))
    local = {word for node in scopes for body in node.body for word in _bound(body)}
    local |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if both := sorted(local & names.keys()) + sorted((read | local) & {*names.values()}):
        raise RenameError(f"{module}: something else there is called {', '.join(both)}: rename it")
    return names


def _before(module: str, moves: Moves) -> str:
    """The old name of a module that has moved already, or its own."""
    return next((old for old, new in moves.items() if new == module), module)


def exported(folder: Path, moves: Moves) -> dict[str, str]:
    """Return the moves, with those of the names that packages take from modules whose names move.

    `from lib.two import g` in lib/__init__.py makes lib.g follow lib.two.g.
    """
    more: dict[str, str] = {}
    for path in sorted(folder.rglob("__init__.py"), key=lambda path: -len(path.parts)):
        package = ".".join(path.relative_to(folder).parent.parts)
        for name, full in imported(ast.parse(path.read_text("utf-8"))):
            new = moves.get(full) or more.get(full)
            if new and "." not in name and new.rpartition(".")[2] != name:
                more[f"{package}.{name}"] = f"{package}.{new.rpartition('.')[2]}"
    return {**more, **moves}


def renamed(codes: Iterable[str], moves: Moves) -> dict[str, str]:
    """Return old -> new of the names that imports bind in one file or page, where they change.

    Left out is a name that something else is called too, or whose new name is in use: it stays, by
    `import new as old`.
    """
    trees = _trees(codes)
    names: dict[str, str] = {}
    for tree in trees:
        for bound, full in imported(tree):
            new = moved(full, moves).rpartition(".")[2]
            if bound == full.rpartition(".")[2] and new != bound and "." not in bound:
                names[bound] = new
    read = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    bound = {word for tree in trees for word in _bound(tree)}
    return {old: new for old, new in names.items() if old not in bound and new not in read | bound}


def _trees(codes: Iterable[str]) -> list[ast.Module]:
    """The syntax trees of cells, without those that hold a magic of IPython."""
    trees = []
    for code in codes:
        with suppress(SyntaxError):
            trees.append(ast.parse(code))
    return trees


def _bound(tree: ast.AST) -> Iterable[str]:
    """Names that a file binds by anything but an import, and names of keyword arguments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names


def rewrite(code: str, moves: Moves, names: Mapping[str, str], page: Iterable[str] = ()) -> str:
    """Return Python code after the moves; `names` are those of `renamed`, of its file or page, and
    `page` the page's cells, of which one may import a module that another reads from.

    Raises:
        RenameError: an import shares its lines with other code.
    """
    tree, lines = ast.parse(code), code.split("\n")
    edits: list[tuple[int, int, int, int, str]] = []  # line, column, to line, to column, text
    formatted = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {id(inner) for node in formatted for inner in ast.walk(node) if inner is not node}
    bound, listed = modules([code, *page]), {id(node) for node in _all(tree)}
    for node in ast.walk(tree):
        if id(node) in inside:
            continue
        if isinstance(node, ast.JoinedStr):  # before Python 3.12 what it holds has no true place
            used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
            text = ast.get_source_segment(code, node) or ""
            words = {name: names[name] for name in used & names.keys()}
            attributes = {
                inner.attr: word
                for inner in ast.walk(node)
                if isinstance(inner, ast.Attribute) and (word := _attribute(inner, bound, moves))
            }
            new = _in_braces(text, words, attributes)
            edits += [(*_span(node), new)] if new != text else []
        elif isinstance(node, ast.Name) and node.id in names:
            edits.append((*_span(node), names[node.id]))
        elif isinstance(node, ast.ImportFrom | ast.Import):
            new = "" if getattr(node, "level", 0) else _import(node, moves, names)
            edits += [(*_span(node), new)] if new else []
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names:
            word = "class" if isinstance(node, ast.ClassDef) else "def"
            column = node.col_offset + len(word) + 1
            span = (node.lineno - 1, column, node.lineno - 1, column + len(node.name.encode()))
            edits.append((*span, names[node.name]))
        elif isinstance(node, ast.Attribute) and (new := _attribute(node, bound, moves)):
            line, _, last, right = _span(node)
            edits.append((last, right - len(node.attr.encode()), last, right, new))
        elif isinstance(node, ast.Constant) and id(node) in listed and node.value in names:
            edits.append((*_span(node), f'"{names[node.value]}"'))
    for line, left, last, right, text in sorted(edits, reverse=True):
        begin, end = _characters(lines[line], left), _characters(lines[last], right)
        rest = lines[last][end:]
        if "\n" in text and rest.strip() and not rest.lstrip().startswith("#"):
            raise RenameError(f"line {line + 1}: an import beside other code: {lines[line]}")
        lines[line : last + 1] = [lines[line][:begin] + text + rest]
    return prose("\n".join(lines), moves)


def _in_braces(text: str, words: Mapping[str, str], attributes: Mapping[str, str]) -> str:
    """Return a formatted string with names and attributes renamed in its fields, not its text."""
    parts = re.split(r"(\{\{|\}\}|[{}])", text)
    depth = 0
    for i, part in enumerate(parts):
        depth += (part == "{") - (part == "}")
        if depth:
            for old, new in words.items():
                part = re.sub(rf"(?<![\w.]){old}\b", new, part)
            for old, new in attributes.items():
                part = re.sub(rf"(?<=\.){old}\b", new, part)
            parts[i] = part
    return "".join(parts)


def modules(codes: Iterable[str]) -> dict[str, str]:
    """Return what imports of a file or page bind -> its dotted name, without what something else
    binds too.
    """
    trees = _trees(codes)
    others = {word for tree in trees for word in _bound(tree)}
    return {name: full for tree in trees for name, full in imported(tree) if name not in others}


def _attribute(node: ast.Attribute, bound: Mapping[str, str], moves: Moves) -> str:
    """The new name of what is read from an imported module, or "" where it stays."""
    if not isinstance(node.value, ast.Name) or node.value.id not in bound:
        return ""
    new = moved(f"{bound[node.value.id]}.{node.attr}", moves).rpartition(".")[2]
    return new if new != node.attr else ""


def _all(tree: ast.Module) -> list[ast.Constant]:
    """The names in a module's `__all__`."""
    lists = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and "__all__" in map(ast.unparse, node.targets)
    ]
    return [each for one in lists for each in ast.walk(one) if isinstance(each, ast.Constant)]


def _span(node: ast.expr | ast.stmt) -> tuple[int, int, int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.lineno - 1, node.col_offset, node.end_lineno - 1, node.end_col_offset


def _characters(line: str, offset: int) -> int:
    """A place in a line, which ast counts in bytes of UTF-8."""
    return len(line.encode()[:offset].decode())


def _import(node: ast.ImportFrom | ast.Import, moves: Moves, names: Mapping[str, str]) -> str:
    """The statement after the moves, or "" where it stays as it is."""
    if isinstance(node, ast.Import):
        modules = [(moved(alias.name, moves), alias) for alias in node.names]
        if all(new == alias.name for new, alias in modules):
            return ""
        return "import " + ", ".join(_as(new, alias.asname) for new, alias in modules)
    groups: dict[str, list[str]] = {}
    changed = False
    for alias in node.names:
        old = f"{node.module}.{alias.name}"
        new = moved(old, moves)
        module, _, name = new.rpartition(".")
        bound = alias.asname or names.get(alias.name, alias.name)
        groups.setdefault(module, []).append(_as(name, bound))
        changed |= new != old
    indent = " " * node.col_offset
    return f"\n{indent}".join(_from(*group, indent) for group in groups.items()) if changed else ""


def _as(name: str, bound: str | None) -> str:
    return f"{name} as {bound}" if bound and bound != name else name


def _from(module: str, names: list[str], indent: str) -> str:
    line = f"from {module} import {', '.join(sorted(names))}"
    if len(indent + line) <= WIDTH:
        return line
    return "\n".join(
        [f"from {module} import (", *(f"{indent}    {n}," for n in names), f"{indent})"]
    )


def prose(text: str, moves: Moves) -> str:
    """Return a text with its dotted names after the moves, with dots or with slashes, as paths."""
    heads = "|".join(sorted({re.escape(old.partition(".")[0]) for old in moves}))
    if not heads:
        return text
    begins = rf"(?:(?<=lib/)|(?<![\w./]))(?:{heads})"

    def after(match: re.Match[str]) -> str:
        mark = "/" if "/" in match[0] else "."
        return moved(match[0].replace(mark, "."), moves).replace(".", mark)

    return re.sub(rf"{begins}(?:(?:\.\w+)+|(?:/\w+)+)", after, text)


def same(
    old: str, new: str, moves: Moves, names: Mapping[str, str], page: Iterable[str] = ()
) -> bool:
    """Whether two cells differ in nothing but the moves: what they import is the same after them,
    and without imports their syntax trees are equal, but for `names` and dotted names in strings.
    """
    try:
        before, after = ast.parse(old), ast.parse(new)
    except SyntaxError:  # a magic of IPython
        return prose(old, moves) == new
    wanted = {(names.get(b, b), moved(full, moves)) for b, full in imported(before)}
    wanted = {(moved(b, moves) if "." in b else b, full) for b, full in wanted}
    if wanted != set(imported(after)):
        return False
    bound = modules([old, *page])
    return _bare(before, moves, names, bound) == _bare(after, {}, {}, {})


def _bare(
    tree: ast.Module, moves: Moves, names: Mapping[str, str], bound: Mapping[str, str]
) -> str:
    listed = {id(node) for node in _all(tree)}

    class Change(ast.NodeTransformer):
        def visit_Import(self, node: ast.Import) -> ast.Pass:
            return ast.Pass()

        def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
            return node if node.level else ast.Pass()

        def visit_Name(self, node: ast.Name) -> ast.Name:
            node.id = names.get(node.id, node.id)
            return node

        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
            node.name = names.get(node.name, node.name)
            self.generic_visit(node)
            return node

        def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
            node.name = names.get(node.name, node.name)
            self.generic_visit(node)
            return node

        def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
            node.attr = _attribute(node, bound, moves) or node.attr
            new = prose(ast.unparse(node), moves)
            found: ast.expr = ast.parse(new, mode="eval").body
            if new != ast.unparse(node):
                return found
            self.generic_visit(node)
            return node

        def visit_Constant(self, node: ast.Constant) -> ast.Constant:
            if isinstance(node.value, str):
                node.value = prose(node.value, moves)
                if id(node) in listed:
                    node.value = names.get(node.value, node.value)
            return node

    changed = Change().visit(tree)
    lines = ast.dump(changed, indent=0).split("\n")
    kept = [line for line in lines if line.strip(" ,[])") != "Pass("]
    return "\n".join(kept)


def source(path: Path, moves: Moves) -> str:
    """Return the source of a page after the moves: its code, and its text cell by cell."""
    parts = re.split(r"(^# %%.*\n)", path.read_text("utf-8"), flags=re.MULTILINE)
    code = [i for i in range(2, len(parts), 2) if "[markdown]" not in parts[i - 1]]
    page = [parts[i] for i in code]
    names = renamed(page, moves)
    return "".join(
        rewrite(part, moves, names, page) if i in code else prose(part, moves)
        for i, part in enumerate(parts)
    )


def notebook(path: Path, moves: Moves) -> None:
    """Give a page's notebook the code of its source, and keep its outputs; its text follows with
    `python -m deepdive_book.site.pages notebooks --prose`.

    Raises:
        RenameError: the outputs of a cell would no longer be those of its code.
    """
    import jupytext
    import nbformat

    built = nbformat.read(path.with_suffix(".ipynb"), as_version=4)
    cells = [cell for cell in built.cells if cell.cell_type == "code"]
    fresh = [c for c in jupytext.read(path, fmt="py:percent").cells if c.cell_type == "code"]
    if len(cells) != len(fresh):
        raise RenameError(f"{path}: {len(fresh)} cells of code, its notebook has {len(cells)}")
    titles = [cell.source[: re.match(r"(# @title .*\n)?", cell.source).end()] for cell in cells]
    olds = [cell.source[len(title) :] for cell, title in zip(cells, titles, strict=True)]
    names = renamed(olds, moves)
    for n, (cell, title, old, new) in enumerate(zip(cells, titles, olds, fresh, strict=True)):
        if not same(old, new.source, moves, names, olds):
            raise RenameError(f"{path}, cell of code {n}: more than names would change")
        cell.source = title + new.source
    nbformat.write(built, path.with_suffix(".ipynb"))


def after(path: Path, moves: Moves) -> str:
    """Return what a file holds after the moves.

    Raises:
        RenameError: it would mean something else.
    """
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        return prose(text, moves)
    try:
        if text.startswith("# %% [markdown]"):  # as each page and form begins
            return source(path, moves)
        own = own_names(text, _module(path), moves) if path.is_relative_to(ROOT / "lib") else {}
        names = {**renamed([text], moves), **own}
        if len({*names.values()}) < len(names):
            raise RenameError(f"{path}: two names become one: {names}")
        new = rewrite(text, moves, names)
    except SyntaxError as error:
        raise RenameError(f"{path}: {error}") from error
    if not same(text, new, moves, names):
        raise RenameError(f"{path}: more than names would change")
    return new


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "lib").with_suffix("").parts).removesuffix(".__init__")


def every_file(paths: Iterable[Path]) -> list[Path]:
    """The files that can hold a name, below these paths: no notebook, nothing hidden or built."""
    found = [p for path in paths for p in (path.rglob("*") if path.is_dir() else [path])]
    return sorted(
        path
        for path in found
        if path.suffix in (".py", *TEXTS) and not {"__pycache__", "results"} & set(path.parts)
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("moves", type=Path, help="a table with the columns old and new")
    parser.add_argument("paths", type=Path, nargs="*", help="files or folders; none: all")
    parser.add_argument("--check", action="store_true", help="change nothing; name the files")
    options = parser.parse_args()
    with options.moves.open(encoding="utf-8", newline="") as file:
        moves = {row["old"]: row["new"] for row in csv.DictReader(file)}
    moves = exported(ROOT / "lib", moves)
    paths = options.paths or [*(ROOT / name for name in FOLDERS), *ROOT.glob("*.md")]
    try:
        told = {path: after(path, moves) for path in every_file(paths)}  # all, or none is written
        changed = [path for path, new in told.items() if new != path.read_text("utf-8")]
        for path in [] if options.check else changed:
            path.write_text(told[path], "utf-8")
        python = [str(path) for path in changed if path.suffix == ".py"]
        if python and not options.check:
            order = ["ruff", "check", "--quiet", "--select", "I", "--fix"]
            subprocess.run([sys.executable, "-m", *order, *python], check=True)
        # Forms for students are made anew from their sources: `python -m deepdive_book exercises`.
        pages = [path for path in changed if path.name[0].isdigit()]
        pages = [path for path in pages if path.with_suffix(".ipynb").is_file()]
        for path in [] if options.check else pages:
            notebook(path, moves)
    except RenameError as error:
        print(f"renames: {error}", file=sys.stderr)
        return 1
    for path in changed:
        print(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
    print(f"{len(changed)} files {'would change' if options.check else 'changed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
