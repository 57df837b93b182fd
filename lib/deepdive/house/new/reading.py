"""What a new system is made from: modules of the library, read without running them."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

Import = tuple[str, str, str]  # module, name or "" for the module itself, name here
Function = ast.FunctionDef
Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


@dataclass(frozen=True)
class Module:
    """A module of the library: its name, as imported, its text and its tree."""

    name: str
    text: str
    tree: ast.Module

    @property
    def stem(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def folder(self) -> str:
        """The folder below the package: `models/bert`."""
        return "/".join(self.name.split(".")[1:-1])

    def imports(self) -> dict[str, Import]:
        """Name here -> what it is imported from, at the top of the module."""
        found: dict[str, Import] = {}
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom):
                for one in node.names:
                    found[one.asname or one.name] = (
                        node.module or "",
                        one.name,
                        one.asname or one.name,
                    )
            elif isinstance(node, ast.Import):
                for one in node.names:
                    found[one.asname or one.name] = (one.name, "", one.asname or one.name)
        return found

    def definition(self, name: str) -> Definition | None:
        """What defines a name at the top of the module."""
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
                return node
            targets = node.targets if isinstance(node, ast.Assign) else []
            targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                assert isinstance(node, ast.Assign | ast.AnnAssign)
                return node
        return None

    def code(self, node: ast.AST) -> str:
        """The text of a node, as it stands."""
        return ast.get_source_segment(self.text, node) or ""

    def needs(self, code: str, without: Iterable[str] = ()) -> Iterator[Import]:
        """Yield the imports of what a piece of this module's code names, and does not define."""
        told = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
        known = self.imports()
        for name in sorted(told - set(without)):
            if name in known:
                yield known[name]
            elif self.definition(name) and not hasattr(builtins, name):
                yield self.name, name, name

    @property
    def builder(self) -> Function | None:
        """The function that has the module's name."""
        found = self.definition(self.stem)
        return found if isinstance(found, ast.FunctionDef) else None


def read(package: Path, name: str) -> Module:
    """Return the module `name` of the library in `package`."""
    parts = name.split(".")[1:]
    path = package.joinpath(*parts).with_suffix(".py")
    path = path if path.is_file() else package.joinpath(*parts, "__init__.py")
    text = path.read_text("utf-8")
    return Module(name, text, ast.parse(text))


def module_with(package: Path, class_name: str) -> Module | None:
    """Return the module that defines a class, or None."""
    line = re.compile(rf"^class {class_name}\b", re.MULTILINE)
    for path in sorted(package.rglob("*.py")):
        if line.search(path.read_text("utf-8")):
            parts = path.relative_to(package).with_suffix("").parts
            return read(package, ".".join((package.name, *parts)).removesuffix(".__init__"))
    return None


def method(package: Path, class_name: str, name: str) -> tuple[Module, Function] | None:
    """Return a method of a class, or of the first base that has it, and the module it is in."""
    module = module_with(package, class_name)
    node = module.definition(class_name) if module else None
    if module is None or not isinstance(node, ast.ClassDef):
        return None
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == name:
            return module, one
    found = (method(package, ast.unparse(base).split(".")[-1], name) for base in node.bases)
    return next(filter(None, found), None)


def first_method(package: Path, class_name: str) -> str:
    """Return the method that a class is likely changed in: `forward`, or its first public one."""
    if method(package, class_name, "forward"):
        return "forward"
    module = module_with(package, class_name)
    node = module.definition(class_name) if module else None
    body = node.body if isinstance(node, ast.ClassDef) else []
    names = [one.name for one in body if isinstance(one, ast.FunctionDef)]
    return next((name for name in names if not name.startswith("_")), "")


def passed_on(function: Function, skip: int = 0) -> str:
    """Return a call's arguments that pass on all that a function got, without the first `skip`."""
    asked = function.args
    told = [one.arg for one in (*asked.posonlyargs, *asked.args)][skip:]
    told += [f"*{asked.vararg.arg}"] if asked.vararg else []
    told += [f"{one.arg}={one.arg}" for one in asked.kwonlyargs]
    told += [f"**{asked.kwarg.arg}"] if asked.kwarg else []
    return ", ".join(told)


def block(imports: Iterable[Import]) -> str:
    """Return imports as the top of a file: the standard library, others, our own."""
    groups: dict[int, dict[str, set[str]]] = {0: {}, 1: {}, 2: {}}
    for module, name, here in imports:
        room = module.split(".")[0]
        group = 0 if room in sys.stdlib_module_names else 2 if room in ("deepdive", "laws") else 1
        renamed = f"{name} as {here}" if name != here else name
        groups[group].setdefault(module, set()).add(renamed if name else "")
    return "\n".join(filter(None, map(_group, groups.values())))


def _group(modules: dict[str, set[str]]) -> str:
    whole = [f"import {module}\n" for module, names in sorted(modules.items()) if "" in names]
    parts = []
    for module, names in sorted(modules.items()):
        apart = sorted(name for name in names if " as " in name)
        plain = sorted(
            (name for name in names if name and name not in apart),
            key=lambda name: (0 if name.isupper() else 1 if name[0].isupper() else 2, name),
        )
        parts += [f"from {module} import {name}\n" for name in apart]
        parts += [f"from {module} import {', '.join(plain)}\n"] if plain else []
    return "".join(whole + parts)
