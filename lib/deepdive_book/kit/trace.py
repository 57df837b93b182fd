"""Follow a tensor through a model: each module that one call meets, its shapes, its cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from torch import Tensor, nn

from deepdive.core import Context
from deepdive.core.hooks import HookPoint, forward_once
from deepdive_book.kit.flops import counting
from deepdive_book.kit.markup import Html

SHAPES = 3  # shapes that a cell shows


@dataclass
class Row:
    """One module inside the call of another.

    name        where it stands in the model; "" for the model itself
    kind        its class
    shapes_in   shapes of the tensors it was given at its first call, in order
    shapes_out  shapes of those it returned
    parameters  numbers in its parameters and in those of the modules that it called, each once
    operations  of all its calls (`deepdive_book.kit.cost.count_flops`), those inside it included
    calls       how often it was called at this place
    inside      the modules that it called, in order
    """

    name: str
    kind: str
    shapes_in: list[tuple[int, ...]]
    shapes_out: list[tuple[int, ...]] = field(default_factory=list)
    parameters: int = 0
    operations: int = 0
    calls: int = 1
    inside: list[Row] = field(default_factory=list)

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Row]]:
        """Yield this row and all inside it, each with its depth."""
        yield depth, self
        for row in self.inside:
            yield from row.walk(depth + 1)


class Trace(Html):
    """A model's modules as a table that folds; in a terminal as text. `top` is the first row."""

    def __init__(self, top: Row) -> None:
        super().__init__(_page(top), _text(top))
        self.top = top

    @property
    def rows(self) -> list[Row]:
        """All rows in the order of the calls, a module before those inside it."""
        return [row for _, row in self.top.walk()]


def trace(model: nn.Module, inputs: Any) -> Trace:
    """Run the model once and return what each module took, gave and cost.

    `inputs` as in `deepdive.core.hooks.forward_once`. Modules stand in the order of their calls,
    one inside the module that called it; calls of one module from one place are one row. Hook
    points, which change nothing, are left out. What a module computes by itself, a product with
    another's weight or in a fused kernel, counts where it runs.

    >>> import torch
    >>> print(trace(nn.Sequential(nn.Linear(3, 5), nn.ReLU()), torch.ones(2, 3)))
    module           in      out     parameters  operations
    Sequential       (2, 3)  (2, 5)          20          60
      0: Linear      (2, 3)  (2, 5)          20          60
      1: ReLU        (2, 5)  (2, 5)           0           0
    """
    names = {module: name for name, module in model.named_modules()}
    # By a row's name: what it and those inside it have.
    parameters_of: dict[str, set[nn.Parameter]] = {}
    above: list[Row] = []
    tops: list[Row] = []

    def enter(module: nn.Module, args: Any, kwargs: Any) -> None:
        siblings = above[-1].inside if above else tops
        row = next((old for old in siblings if old.name == names[module]), None)
        if row is None:
            siblings.append(
                row := Row(names[module], type(module).__name__, list(_shapes((args, kwargs))))
            )
            parameters_of.setdefault(row.name, set(module.parameters()))
        else:
            row.calls += 1
        row.operations -= counter.get_total_flops()
        above.append(row)

    def leave(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        row = above.pop()
        row.operations += counter.get_total_flops()
        row.shapes_out = row.shapes_out or list(_shapes(output))
        parameters_of[row.name].update(*(parameters_of[inner.name] for inner in row.inside))
        row.parameters = sum(parameter.numel() for parameter in parameters_of[row.name])

    handles = []
    try:
        for module in names:
            if not isinstance(module, HookPoint | nn.Dropout):  # in evaluation both do nothing
                handles.append(module.register_forward_pre_hook(enter, with_kwargs=True))
                handles.append(module.register_forward_hook(leave, with_kwargs=True))
        with counting() as counter:
            forward_once(model, inputs)
    finally:
        for handle in handles:
            handle.remove()
    return Trace(tops[0])


def _shapes(value: Any) -> Iterator[tuple[int, ...]]:
    """Yield the shapes of all tensors in tuples, lists, mappings, and contexts."""
    if isinstance(value, Context):
        value = vars(value)
    if isinstance(value, Tensor):
        yield tuple(value.shape)
    elif isinstance(value, Mapping | tuple | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _shapes(one)


def _cells(row: Row, above: str) -> list[str]:
    """Return the five cells of a row; its name is without what it shares with the row above."""
    parts, others = row.name.split("."), above.split(".")
    while len(parts) > 1 and others and parts[0] == others[0]:
        parts, others = parts[1:], others[1:]
    short = ".".join(parts)
    name = f"{short}: {row.kind}" if short else row.kind
    calls = f", {row.calls} calls" if row.calls > 1 else ""
    sides = []
    for shapes in (row.shapes_in, row.shapes_out):
        more = f" and {len(shapes) - SHAPES} more" if len(shapes) > SHAPES else ""
        sides.append(", ".join(map(str, shapes[:SHAPES])) + more or "none")
    return [name + calls, *sides, f"{row.parameters:,}", f"{row.operations:,}"]


HEAD = ["module", "in", "out", "parameters", "operations"]


def _text(top: Row) -> str:
    def lines(row: Row, above: str, depth: int) -> Iterator[list[str]]:
        name, *cells = _cells(row, above)
        yield ["  " * depth + name, *cells]
        for inner in row.inside:
            yield from lines(inner, row.name, depth + 1)

    table = [HEAD, *lines(top, "", 0)]
    widths = [max(len(line[i]) for line in table) for i in range(5)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i > 2 else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in table
    )


def _page(top: Row) -> str:
    def element(row: Row, above: str, depth: int) -> str:
        name, *cells = _cells(row, above)
        share = f" ({row.operations / top.operations:.0%})" if top.operations and depth else ""
        spans = [f'<b style="padding-left:{1.1 * depth + 1.3:.1f}em">{escape(name)}</b>']
        for label, cell in zip(HEAD[1:], cells, strict=True):
            more = share if label == "operations" else ""
            whole = re.sub(r"(?<=\d), (?=\d)", ",\u00a0", cell)  # a shape stays on one line
            spans.append(f'<span><i class="label">{label} </i>{escape(whole)}{more}</span>')
        line = "".join(spans)
        if not row.inside:
            return f'<div class="line">{line}</div>'
        inner = "".join(element(one, row.name, depth + 1) for one in row.inside)
        opened = " open" if depth < 2 else ""
        return f'<details{opened}><summary class="line">{line}</summary>{inner}</details>'

    head = "".join(f"<span>{name}</span>" for name in HEAD)
    title = escape(f"{top.kind}, module by module")
    return (
        f'{_STYLE}<div class="dd-trace" role="group" aria-label="{title}">'
        f'<div class="line top" aria-hidden="true">{head}</div>{element(top, "", 0)}</div>'
    )


_STYLE = """<style>
.dd-trace { font: .875rem/1.5 system-ui, sans-serif; overflow-x: auto; position: relative; }
.dd-trace .line {
  display: grid; grid-template-columns: minmax(17em, 3fr) 2fr 2fr 7em minmax(10em, 1fr);
  gap: 0 1em; min-width: 48em; font: inherit; padding: .15em .3em; border-bottom: 1px solid #8884;
}
.dd-trace b { font-weight: normal; text-indent: -1.3em; }
.dd-trace b::before { content: "\\2007\\2007"; }
.dd-trace summary { cursor: pointer; }
.dd-trace summary b::before { content: "\\25B8\\2007"; }
.dd-trace details[open] > summary b::before { content: "\\25BE\\2007"; }
.dd-trace .top { font-weight: bold; }
.dd-trace .line > :nth-child(n + 4) { text-align: right; font-variant-numeric: tabular-nums; }
.dd-trace .label { position: absolute; clip-path: inset(50%); width: 1px; overflow: hidden; }
</style>"""
