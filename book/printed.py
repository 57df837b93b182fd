"""From the printed sources to our pages: `concordance.csv` as tables; a Sphinx extension.

The directive `concordance SOURCE` writes the rows of one source. `_static/concordance.js` looks up
a printed page, a section's number or words; without scripts the tables are simply there.
"""

import csv
import json
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from stage import library

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
slug = library("deepdive_book.site.atlas.pages").anchor


@cache
def rows() -> list[dict[str, str]]:
    """The concordance, in the order of its file."""
    with (BOOK / "concordance.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def headings(page: str) -> dict[str, str]:
    """Anchor -> words of each heading of a page; the page's own title stands under ""."""
    notebook, text = ROOT / f"{page}.ipynb", BOOK / f"{page}.md"
    if notebook.is_file():
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        told = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    else:
        told = text.read_text("utf-8")
    found = re.findall(r"^#+ (.+)$", told, re.MULTILINE)
    return {"": found[0]} | {slug(words): re.sub(r"[$\\]", "", words) for words in found[1:]}


@cache
def exercises(chapter: str) -> dict[str, str]:
    """Id -> title of each exercise of a chapter: the ids of its solutions under the heading."""
    found: dict[str, str] = {}
    title = ""
    source = ROOT / "chapters" / chapter / "exercises.py"
    for line in source.read_text("utf-8").splitlines():
        if heading := re.match(r"# ## \d+\. (.+)", line):
            title = heading[1]
        elif part := re.search(r'"grade_id": "([\w-]+)", "solution"', line):
            found[part[1]] = title
    return found


def number(page: str) -> str:
    """`2.8` of `chapters/02_transformer/08_positions`; nothing for other pages."""
    place = re.match(r"chapters/(\d+)_\w+/(\d+)([a-z]?)_", page)
    return f"{int(place[1])}.{int(place[2])}{place[3]} " if place else ""


def here(row: dict[str, str]) -> str:
    """The last cell of a row: links to our page and exercise, or what there is instead."""
    if row["status"] != "built":
        where = f", page {number(row['page'])}".rstrip() if row["page"] else ""
        return escape(row["status"] + where)
    page, anchor = row["page"], row["anchor"]
    words = number(page) + headings(page)[""]
    target = f"{page}.html"
    if anchor:
        words += f": {headings(page)[anchor]}"
        target += f"#{anchor}"
    links = f'<a href="{target}">{escape(words)}</a>'
    if row["exercise"]:
        chapter, _, name = row["exercise"].partition("/")
        title = exercises(chapter)[name]
        link = f"chapters/{chapter}/exercises.html#{slug(title)}"
        links += f'; exercise: <a href="{link}">{escape(title)}</a>'
    return links


def line(row: dict[str, str]) -> str:
    place, printed = row["section"], row["printed_page"]
    cells = [place, row["title"], *([printed] if row["source"] == "book" else [])]
    data = f'data-section="{place}"' + (f' data-page="{printed}"' if printed else "")
    told = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    return f"<tr {data}>{told}<td>{here(row)}</td></tr>"


class Concordance(SphinxDirective):
    """The rows of one source as a table."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        source = self.arguments[0]
        found = [line(row) for row in rows() if row["source"] == source]
        if not found:
            raise self.error(f"no source {source!r} in concordance.csv")
        self.env.note_dependency(str(BOOK / "concordance.csv"))
        names = ["Section", "Title", "Page"] if source == "book" else ["Place", "Heading"]
        head = "".join(f'<th scope="col">{name}</th>' for name in [*names, "Here"])
        html = (
            f'<table class="table concordance" data-source="{source}"><thead><tr>{head}</tr>'
            f"</thead><tbody>{''.join(found)}</tbody></table>"
        )
        return [nodes.raw("", html, format="html")]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("concordance", Concordance)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
