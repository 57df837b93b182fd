"""The page of the atlas: rows to filter, the family tree, tables 1.1 to 1.4; a Sphinx extension.

Everything is there without a script; `_static/atlas.js` brings the filter to life.
"""

import re
from collections.abc import Iterator
from html import escape
from typing import Any

from docutils import nodes
from papers import CHAPTERS, label_of, papers
from sphinx.util.docutils import SphinxDirective
from stage import library

rows = library("deepdive_book.site.atlas.rows")
Row = Any

COLORS = {  # as in the diagrams of what changed
    place: f"var(--dd-{role})"
    for place, role in (
        ("head", "query"), ("layer", "value"), ("between", "weight"), ("around", "key"),
        ("other", "output"),
    )
}  # fmt: skip
STEP, INDENT = 24, 16  # of the tree, in pixels
GROWTH = {
    "none": "not at all", "log T": "like log T", "sqrt(T)": "like √T", "T": "like T",
    "not stated": "not stated",
}  # fmt: skip
COLUMNS = {"1.4": ("Language and framework", "Organization")}
TITLES = {
    "1.1": "Types of modifications to the transformer block",
    "1.2": "Types of modifications to the multi-head attention module",
    "1.3": "Changes to positional encodings",
    "1.4": "Libraries and tools",
}


def short(row: Row) -> str:
    """A name for the tree: without brackets, and without what follows a comma or colon."""
    name = re.sub(r" \([^)]*\)", "", row.name)
    return name if name.startswith("Case study") else re.split(r"[,:]", name)[0]


def inline(text: str) -> str:
    """Text with what stands in backticks as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts))


def link(row: Row) -> str:
    return f'<a href="#{row.id}">{escape(short(row))}</a>'


# -- the rows


def facts(row: Row, known: dict[str, Row], children: list[Row]) -> Iterator[tuple[str, str]]:
    """What a row tells when it is open: a name and HTML."""
    if row.parent:
        yield "Parent", link(known[row.parent])
    if children:
        yield "Modified by", ", ".join(map(link, children))
    if row.bullets:
        yield "What differs", f"<ul>{''.join(f'<li>{inline(b)}</li>' for b in row.bullets)}</ul>"
    if row.time:
        memory = f"; memory <code>{escape(row.memory)}</code>"
        yield "Time per token", f"<code>{escape(row.time)}</code>{memory}"
    entries = papers().entries
    found = [(key, label_of(entries[key])) for key in row.paper.split()]
    yield "Papers", ", ".join(f'<a href="bibliography.html#{k}">{escape(n)}</a>' for k, n in found)
    if row.built:
        page, _, anchor = row.page.partition("#")
        yield "Page", f'<a href="{page}.html#{anchor}">{escape(page)}</a>'
        yield "Code", f"<code>{escape(row.module)}</code>"
        yield "Proved against", inline(row.oracle)
        yield "Checkpoints", inline(row.checkpoints)


def entry(row: Row, known: dict[str, Row], children: list[Row]) -> str:
    """One row as a part that opens."""
    grows = rows.growth(row.time)
    data = {"place": row.place, "chapter": row.chapter, "growth": grows, "status": row.status,
            "year": row.year}  # fmt: skip
    words = f"{row.id} {row.name} {row.kind} {row.differs} {row.paper}".lower()
    marks = "".join(f' data-{key}="{escape(value)}"' for key, value in data.items())
    told = "".join(f"<dt>{n}</dt><dd>{html}</dd>" for n, html in facts(row, known, children))
    return (
        f'<details id="{row.id}"{marks} data-words="{escape(words)}"><summary>'
        f'<span class="name">{escape(row.name)}</span> <span class="year">{row.year}</span> '
        f'<span class="place place-{row.place}">{row.place}</span> '
        f'<span class="status-{row.status}">{row.status}</span></summary>'
        f"<dl>{told}</dl></details>"
    )


def choice(name: str, label: str, options: dict[str, str]) -> str:
    given = {"": "any", **options}.items()
    inside = "".join(f'<option value="{escape(v)}">{escape(words)}</option>' for v, words in given)
    return f'<label>{label} <select name="{name}">{inside}</select></label>'


def form(found: list[Row]) -> str:
    """The filter; a script unhides it."""
    years = [row.year for row in found]
    first, last = min(years), max(years)
    chapters = {number: f"{number} {title}" for number, title in CHAPTERS.items()}
    places = {name: name for name in COLORS}
    there = {rows.growth(row.time) for row in found}
    growths = {name: words for name, words in GROWTH.items() if name in there}
    year = 'type="number" inputmode="numeric"'
    return (
        '<form class="atlas-filter" hidden aria-label="Filter the systems">'
        '<label>Words <input type="search" name="words" autocomplete="off"></label>'
        + choice("place", "Part changed", places)
        + choice("chapter", "Chapter", chapters)
        + choice("growth", "Time per token grows with the length", growths)
        + choice("status", "Status", {"proved": "proved", "planned": "planned"})
        + f'<label>From year <input {year} name="from" min="{first}" max="{last}" '
        f'placeholder="{first}"></label>'
        f'<label>to year <input {year} name="to" min="{first}" max="{last}" '
        f'placeholder="{last}"></label>'
        '<p><button type="reset">Show all</button> <output role="status"></output></p></form>'
    )


class Rows(SphinxDirective):
    """The filter and all rows, by chapter."""

    def run(self) -> list[nodes.Node]:
        found = rows.rows()
        known = {row.id: row for row in found}
        children = {row.id: [one for one in found if one.parent == row.id] for row in found}
        parts = [form(found), '<div class="atlas-rows">']
        for number, title in CHAPTERS.items():
            here = [entry(r, known, children[r.id]) for r in found if r.chapter == number]
            head = f"<h3>{number} {escape(title)}</h3>"
            parts.append(f'<section aria-label="Chapter {number}">{head}{"".join(here)}</section>')
        script = '</div><script src="_static/atlas.js" defer></script>'
        return [nodes.raw("", "".join([*parts, script]), format="html")]


# -- the family


def lines(found: list[Row], parent: str = "", depth: int = 0) -> Iterator[tuple[int, Row]]:
    """Every row below its parent, with its depth."""
    for row in found:
        if row.parent == parent:
            yield depth, row
            yield from lines(found, row.id, depth + 1)


def drawn(tree: list[tuple[int, Row]]) -> str:
    """One tree as SVG: a box a system, elbows to the children."""
    at = {row.id: (depth, i) for i, (depth, row) in enumerate(tree)}
    body = []
    for i, (depth, row) in enumerate(tree):
        x, y = depth * INDENT, i * STEP + STEP / 2
        if row.parent in at:
            above = at[row.parent][1] * STEP + STEP / 2 + 9
            body.append(f'<path d="M {x - INDENT + 7} {above} V {y} H {x}"/>')
        body.append(
            f'<a href="#{row.id}" class="{row.status}"><rect x="{x}" y="{y - 9}" width="14" '
            f'height="18" rx="4" fill="{COLORS[row.place]}" stroke="{COLORS[row.place]}"/>'
            f'<text x="{x + 20}" y="{y + 1}" font-size="14" dominant-baseline="middle">'
            f"{escape(short(row))}<title>{row.status}, {row.place}</title></text></a>"
        )
    width = max(d * INDENT + 20 + 7.4 * len(short(row)) + 8 for d, row in tree)
    tall = len(tree) * STEP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{tall}" '
        f'viewBox="0 0 {width:.0f} {tall}" role="group" '
        f'aria-label="{escape(short(tree[0][1]))} and its descendants">{"".join(body)}</svg>'
    )


class Tree(SphinxDirective):
    """A drawing for each root that has children; the others in one line."""

    def run(self) -> list[nodes.Node]:
        found = rows.rows()
        trees: list[list[tuple[int, Row]]] = []
        for depth, row in lines(found):
            if not depth:
                trees.append([])
            trees[-1].append((depth, row))
        key = "".join(f'<li><i style="background:{c}"></i>{n}</li>' for n, c in COLORS.items())
        parts = [f'<ul class="atlas-key" aria-label="Colors">{key}</ul>']
        for tree in sorted((t for t in trees if len(t) > 1), key=len, reverse=True):
            name = escape(short(tree[0][1]))
            parts.append(
                f'<div class="atlas-wide" tabindex="0" role="region" aria-label="Tree of {name}">'
                f"{drawn(tree)}</div>"
            )
        alone = ", ".join(link(tree[0][1]) for tree in trees if len(tree) == 1)
        parts.append(f"<p>Without parent or children: {alone}.</p>")
        return [nodes.raw("", "".join(parts), format="html")]


# -- the tables


class Tables(SphinxDirective):
    """Tables 1.1 to 1.4, each row with what was printed and what is ours."""

    def run(self) -> list[nodes.Node]:
        known = {row.id: row for row in rows.rows()}
        cells = rows.read_csv(rows.TABLES)
        parts = []
        for number, title in TITLES.items():
            first, second = COLUMNS.get(number, ("Modification", "Transformer"))
            head = "".join(
                f'<th scope="col">{n}</th>' for n in (first, second, "In the book", "Ours")
            )
            body, last = [], ""
            for each in (cell for cell in cells if cell["table"] == number):
                row = known.get(each["system"])
                name = f"{link(row)} ({row.status})" if row else escape(each["printed"])
                kind = "" if each["modification"] == last else each["modification"]
                last = each["modification"]
                told = (kind, escape(each["printed"]) or "not listed", escape(each["ours"]))
                body.append(
                    f"<tr><td>{escape(told[0])}</td><td>{name}</td><td>{told[1]}</td>"
                    f"<td>{told[2] or 'the same'}</td></tr>"
                )
            parts.append(
                f'<div class="atlas-wide" tabindex="0" role="region" aria-label="Table {number}">'
                f'<table class="table"><caption>Table {number}. {title}</caption><thead><tr>{head}'
                f"</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
            )
        return [nodes.raw("", "".join(parts), format="html")]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("atlas-rows", Rows)
    app.add_directive("atlas-tree", Tree)
    app.add_directive("atlas-tables", Tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
