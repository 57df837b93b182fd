"""A small one of each built system, and its code: what `compare` puts side by side."""

import ast
import importlib
import inspect
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from deepdive_book.kit.trace import Row, Trace, trace
from deepdive_book.site.atlas.examples import EXAMPLES, Example
from deepdive_book.site.atlas.headers import Header, headers
from deepdive_book.site.atlas.rows import LIBRARY, ROOT


@dataclass(frozen=True)
class Specimen:
    """A small one of a system, as its example builds it, with random weights from seed 0.

    kind     its class
    module   the module
    input    tokens (B, T), or rows (B, T, d)
    output   what it gave
    traced   each module that the call met
    """

    kind: str
    module: nn.Module
    input: Tensor
    output: Tensor
    traced: Trace

    @property
    def rows(self) -> list[tuple[int, Row]]:
        """The modules that ran, each with its depth; without what held the call."""
        return [(depth - 1, row) for depth, row in self.traced.top.walk() if depth]

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.module.parameters())

    @property
    def operations(self) -> int:
        return self.traced.top.operations


class _Call(nn.Module):
    """One call of a module, as its example makes it."""

    def __init__(self, module: nn.Module, example: Example) -> None:
        super().__init__()
        self.module, self.example = module, example

    def forward(self, x: Tensor) -> Tensor:
        return self.example.call(self.module, x)


def header_of(system: str) -> Header:
    """Return the header of a built system. Raises ValueError for one that is not built."""
    known = headers(LIBRARY, ROOT)
    if system not in known:
        raise ValueError(
            f"system: {system!r} is not built; `deepdive list systems` says which are proved"
        )
    return known[system]


def specimen(system: str) -> Specimen:
    """Build a small one and call it once. Raises ValueError for a system that is no module."""
    header = header_of(system)
    if system not in EXAMPLES:
        raise ValueError(f"system: {system!r} is no module that could be called: {header.module}")
    example = EXAMPLES[system]
    torch.manual_seed(0)
    module = example.make()
    call, x = _Call(module.eval(), example), example.input()
    traced = trace(call, x)
    with torch.no_grad():
        output = call(x)
    return Specimen(type(module).__name__, module, x, output, traced)


def _text(system: str) -> str:
    module = importlib.import_module(header_of(system).module)
    return Path(inspect.getsourcefile(module) or "").read_text("utf-8")


def builds_on(system: str, other: str) -> bool:
    """Whether a system's module imports from the other one's."""
    imports = (n for n in ast.walk(ast.parse(_text(system))) if isinstance(n, ast.ImportFrom))
    return header_of(other).module in {node.module for node in imports}


def code(system: str) -> list[str]:
    """Return the lines of a system's class, or of its module, without imports and docstrings."""
    header, text = header_of(system), _text(system)
    tree = ast.parse(text)
    lines = text.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            docstring = node.body[0]
            for i in range(docstring.lineno - 1, docstring.end_lineno or docstring.lineno):
                lines[i] = ""
    kept = []
    for part in tree.body:
        named = isinstance(part, ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign)
        if named and (not header.part or getattr(part, "name", "") == header.part):
            kept += [line for line in lines[part.lineno - 1 : part.end_lineno] if line.strip()]
    return kept
