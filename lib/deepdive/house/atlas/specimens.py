"""A small one of each built system, and its code: what `compare` puts side by side."""

from __future__ import annotations

import ast
import importlib
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from deepdive import masks
from deepdive.attention import MultiHeadAttention
from deepdive.house.atlas.headers import Header, headers
from deepdive.house.atlas.rows import LIBRARY, ROOT
from deepdive.laws import CASES, Case
from deepdive.page.trace import Row, Trace, trace


@dataclass(frozen=True)
class Specimen:
    """A small one of a system, as its case builds it, with random weights from seed 0.

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


def _heads(x: Tensor) -> Tensor:
    """Rows (B, T, 16) as four heads (B, 4, T, 4)."""
    return x.unflatten(-1, (4, 4)).transpose(1, 2)


def _placed(module: Any, place: str | None, x: Tensor) -> Tensor:
    """Call a part that stands in no model, as the model around it would."""
    if place == "mechanism":
        return module(_heads(x), _heads(x), _heads(x)).transpose(1, 2).flatten(2)
    if place == "residual":
        return module(x, lambda rows: rows)
    if place == "position":
        return module.embed(x, torch.arange(x.shape[1]))
    return module(x)


class _Call(nn.Module):
    """One call of a module, as its case makes it."""

    def __init__(self, module: nn.Module, case: Case, more: dict[str, Any]) -> None:
        super().__init__()
        self.module, self.case, self.more = module, case, more

    def forward(self, x: Tensor) -> Tensor:
        if self.more:
            return self.module(x, **self.more)
        if self.case.run is not None:
            return self.case.run(self.module, x, None, None)
        return _placed(self.module, self.case.place, x)


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
    names = vars(importlib.import_module(header.module)) if header.module[0] == "d" else {}
    torch.manual_seed(0)
    more: dict[str, Any] = {}
    if header.example:  # a module, or a module and with what it is called
        around = {**vars(masks), "MultiHeadAttention": MultiHeadAttention}
        made = eval(header.example, {**around, **names})
        module, more = made if isinstance(made, tuple) else (made, {})
        case = CASES[type(module)]()
    elif header.cases:
        case = CASES[names[header.cases[-1]]]()  # a model stands behind its parts
        module = case.make()
    else:
        raise ValueError(f"system: {system!r} is no module that could be called: {header.module}")
    call, x = _Call(module.eval(), case, more), case.inputs()
    traced = trace(call, x)
    with torch.no_grad():
        output = call(x)
    return Specimen(type(module).__name__, module, x, output, traced)


def code(system: str) -> list[str]:
    """Return the lines of a system's class, or of its module without imports and cases; without
    docstrings.
    """
    header = header_of(system)
    module = importlib.import_module(header.module)
    text = Path(inspect.getsourcefile(module) or "").read_text("utf-8")
    tree = ast.parse(text)
    lines = text.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            docstring = node.body[0]
            for i in range(docstring.lineno - 1, docstring.end_lineno or docstring.lineno):
                lines[i] = ""
    own_lines = []
    for part in tree.body:
        named = isinstance(part, ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign)
        if getattr(part, "name", "_") == "_" and not isinstance(part, ast.Assign | ast.AnnAssign):
            continue
        if named and (not header.part or getattr(part, "name", "") == header.part):
            own_lines += [line for line in lines[part.lineno - 1 : part.end_lineno] if line.strip()]
    return own_lines
