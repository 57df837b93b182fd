"""A system beside its parent: diagram, counts, the same input through both, shapes, code."""

import difflib
from collections.abc import Callable, Iterator
from html import escape

import torch

from deepdive_book.kit.markup import Html, marked
from deepdive_book.kit.palette import painted
from deepdive_book.site.atlas import diagrams
from deepdive_book.site.atlas.examples import EXAMPLES
from deepdive_book.site.atlas.rows import rows
from deepdive_book.site.atlas.specimens import Specimen, builds_on, code, header_of, specimen


class Beside(Html):
    """What `compare` returns: in a notebook a view that folds, in a terminal a short table.

    `parent` and `child` are the two specimens, `diagram` the SVG of the change, `alt` its text,
    `lines` the difference of the code.
    """

    def __init__(self, system: str) -> None:
        self.header = header_of(system)
        if not self.header.parent:
            raise ValueError(f"system: {system!r} has no parent to be put beside")
        self.parent, self.child = specimen(self.header.parent), specimen(system)
        self.lines = _difference(self.header.parent, system)
        place = next(row.place for row in rows() if row.id == system)
        self.diagram, self.alt = diagrams.diagram(self.header, place, self.parent, self.child)
        page = f'{_STYLE}<div class="dd-beside">{self.view}{self._inside()}</div>'
        super().__init__(page, self._text())

    @property
    def counts(self) -> list[tuple[str, str, str]]:
        """Name, parent's, child's: what can be counted of one call."""
        measures: dict[str, Callable[[Specimen], str]] = {
            "class": lambda one: one.kind,
            "input": lambda one: str(tuple(one.input.shape)),
            "output": lambda one: str(tuple(one.output.shape)),
            "parameters": lambda one: f"{one.parameters:,}",
            "operations": lambda one: f"{one.operations:,}",
        }
        return [
            (name, measure(self.parent), measure(self.child)) for name, measure in measures.items()
        ]

    @property
    def comparison(self) -> str:
        """One sentence on the same input through both."""
        a, b = self.parent, self.child
        if a.input.shape != b.input.shape or a.input.dtype != b.input.dtype:
            return "They read different things, so no one input can go through both."
        if not torch.equal(a.input, b.input) or a.output.shape != b.output.shape:
            return "The same input gives outputs of different shapes."
        apart = (a.output - b.output).abs().max().item()
        return f"The same input, random weights of one seed: outputs at most {apart:.2g} apart."

    def _text(self) -> str:
        head = ("", self.header.parent, self.header.system)
        table = [head, *self.counts]
        widths = [max(len(line[i]) for line in table) for i in range(3)]
        lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in table]
        bullets = [f"- {bullet}" for bullet in self.header.differs]
        added = sum(line.startswith("+") for line in self.lines)
        gone = sum(line.startswith("-") for line in self.lines)
        code = f"code: {added} lines more, {gone} fewer"
        return "\n".join([*lines, self.comparison, *bullets, code])

    @property
    def view(self) -> str:
        """What differs in words, the diagram and the counts, as HTML."""
        name, parent = escape(self.header.system), escape(self.header.parent)
        bullets = "".join(f"<li>{marked(bullet)}</li>" for bullet in self.header.differs)
        cells = "".join(
            f'<tr><th scope="row">{n}</th><td>{escape(a)}</td><td>{escape(b)}</td></tr>'
            for n, a, b in self.counts
        )
        labeled = self.diagram.replace('role="img"', f'role="img" aria-label="{escape(self.alt)}"')
        return (
            f"<p><b>{name}</b>, beside {parent}</p>"
            f"<ul>{bullets}</ul>"
            f'<div class="two"><div>{labeled}</div>'
            '<div tabindex="0" role="group" aria-label="One call of each">'
            f'<table><thead><tr><th scope="col">one call</th><th scope="col">{parent}</th>'
            f'<th scope="col">{name}</th></tr></thead><tbody>{cells}</tbody></table>'
            f"<p>{escape(self.comparison)}</p></div></div>"
        )

    def _inside(self) -> str:
        """Code and shapes, folded."""
        name, parent = escape(self.header.system), escape(self.header.parent)
        code = "".join(_colored(self.lines)) or "the same code: the difference is an argument"
        return (
            f"<details><summary>Code: from {parent} to {name}</summary><pre tabindex='0'>{code}"
            f"</pre></details>"
            f"<details><summary>Shapes of {parent}</summary>{_shapes(self.parent)}</details>"
            f"<details><summary>Shapes of {name}</summary>{_shapes(self.child)}</details>"
        )


def _difference(parent: str, child: str) -> list[str]:
    """Lines of both, each with "+", "-", " ", or "@" where lines are left out; the child's alone
    where it builds on the parent's file; none for systems of one file, which differ by an argument.
    """
    a, b = header_of(parent), header_of(child)
    if a.module == b.module and (not a.part or not b.part or a.part == b.part):
        return []
    if builds_on(child, parent):
        return [f"+{line}" for line in code(child)]
    found = difflib.unified_diff(code(parent), code(child), n=2, lineterm="")
    return [line if line[0] != "@" else "@" for line in list(found)[2:]]


def _colored(lines: list[str]) -> Iterator[str]:
    names = {"+": "ins", "-": "del"}
    for line in lines:
        tag = names.get(line[0], "span")
        words = "⋯" if line == "@" else line
        yield f"<{tag}>{escape(words)}\n</{tag}>"


def _shapes(one: Specimen) -> str:
    """Each module of a call with what came in and went out."""
    lines = "".join(
        f'<tr><th scope="row" style="padding-left:{depth}em">{escape(row.kind)}</th>'
        f"<td>{escape(_shape(row.shapes_in))}</td><td>{escape(_shape(row.shapes_out))}</td>"
        f"<td>{row.parameters:,}</td><td>{row.operations:,}</td></tr>"
        for depth, row in one.rows
    )
    names = ("module", "in", "out", "parameters", "operations")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _shape(shapes: list[tuple[int, ...]]) -> str:
    return " ".join(str(shape) for shape in shapes[:2]) + (" …" if len(shapes) > 2 else "")


def compare(system: str) -> Beside:
    """Return a built system beside its parent: what differs, the parent's diagram with the change
    lit, parameters and operations of one call, the same input through both, shapes and code.

    Both are the small ones of `examples`, with random weights of seed 0.
    Raises ValueError for a system that is not built, has no parent, or is no module to call.
    """
    return Beside(system)


def comparable() -> list[str]:
    """Return the built systems that `compare` can put beside a parent that is built too."""
    found = {row.id: row for row in rows() if row.built}

    return [n for n, r in found.items() if r.parent in found and {n, r.parent} <= set(EXAMPLES)]


def gallery() -> Html:
    """Return every comparison that can be made, folded, in the order of the list: what `compare`
    shows, but for code and shapes.
    """
    views = {name: Beside(name) for name in comparable()}
    parts = [
        f"<details><summary>{escape(view.header.parent)} → {escape(name)}</summary>"
        f"{view.view}</details>"
        for name, view in views.items()
    ]
    plain = "\n".join(f"{view.header.parent} -> {name}" for name, view in views.items())
    return Html(f'{_STYLE}<div class="dd-beside">{"".join(parts)}</div>', plain)


_STYLE = painted("""<style>
.dd-beside { font: .93rem/1.5 system-ui, sans-serif; }
.dd-beside .two { display: flex; flex-wrap: wrap; gap: 1rem 2rem; align-items: start; }
.dd-beside .two > div { max-width: 100%; overflow-x: auto; }
.dd-beside table { border-collapse: collapse; }
.dd-beside :is(th, td) { text-align: left; padding: .1em .8em .1em 0; vertical-align: top; }
.dd-beside tbody th { font-weight: normal; }
.dd-beside summary { cursor: pointer; }
.dd-beside details { overflow-x: auto; }
.dd-beside pre { font-size: .875rem; line-height: 1.45; overflow-x: auto; }
.dd-beside pre > * { display: block; text-decoration: none; color: inherit; }
.dd-beside ins { background: @value33; border-left: 3px solid @value; }
.dd-beside del { background: @query26; border-left: 3px dashed @query; }
.dd-beside pre span { border-left: 3px solid transparent; opacity: .8; }
</style>""")
