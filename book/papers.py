"""Which papers each system comes from, and which systems each paper is for; a Sphinx extension.

`references.bib` names the systems of a paper, `systems.csv` of the library names the systems. The
directive `systems` lists them by chapter; its lines say which pages of the book explain which
systems (`page: id id`). The style `papers` ends each entry with links back to its systems.
"""

import csv
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from pybtex.database import BibliographyData, Person, parse_file
from pybtex.plugin import register_plugin
from pybtex.richtext import Text
from pybtex.style.formatting import toplevel
from pybtex.style.formatting.plain import Style as Plain
from pybtex.style.template import href, join, sentence
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

BOOK = Path(__file__).resolve().parent
SYSTEMS = BOOK.parent / "lib/deepdive_book/site/atlas/systems.csv"
CHAPTERS = {
    "1": "Before the Transformer",
    "2": "The Transformer",
    "3": "BERT and what followed",
    "4": "Many languages",
    "5": "Changes to the Transformer",
    "6": "Pre-trained models and their uses",
    "7": "Explanations",
}


@cache
def systems() -> dict[str, dict[str, str]]:
    """Id -> row of every system, in the list's order."""
    with SYSTEMS.open(encoding="utf-8", newline="") as f:
        return {row["id"]: row for row in csv.DictReader(f)}


@cache
def papers() -> BibliographyData:
    """Every entry of the bibliography."""
    return parse_file(str(BOOK / "references.bib"))


def systems_of(entry: Any) -> list[str]:
    """The ids of the systems that a paper is for."""
    return [name for name in entry.fields.get("systems", "").split(", ") if name]


def surname(person: Person) -> str:
    return " ".join(map(str, person.rich_prelast_names + person.rich_last_names))


def label_of(entry: Any) -> str:
    """`Devlin et al. (2019)`."""
    names = [surname(person) for person in entry.persons["author"]]
    who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
    return f"{who} ({entry.fields['year']})"


def title_of(entry: Any) -> str:
    return str(Text.from_latex(entry.fields["title"]))


def reference(key: str) -> str:
    """`Devlin et al. (2019). BERT: ... . NAACL.`, for a card beside a citation."""
    entry = papers().entries[key]
    where = (entry.fields.get(name) for name in ("journal", "booktitle", "publisher"))
    place = next((str(Text.from_latex(each)) for each in where if each), "")
    parts = [f"{label_of(entry)}. {title_of(entry).rstrip('.')}", *([place] if place else [])]
    return "".join(part if part.endswith("?") else f"{part}. " for part in parts).strip()


def link(key: str, entry: Any) -> nodes.reference:
    """A link to an entry of the bibliography on the same page; its tip is the title."""
    more = {"internal": True, "refuri": f"#{key}", "reftitle": title_of(entry)}
    return nodes.reference("", label_of(entry), **more)


class Papers(Plain):
    """Pybtex's plain style; after each entry, the systems that it is for."""

    def format_web_refs(self, e: Any) -> Any:
        links = [href(f"#system-{name}")[systems()[name]["name"]] for name in systems_of(e)]
        if not links:
            return super().format_web_refs(e)
        return toplevel[super().format_web_refs(e), sentence[join["For: ", join(sep="; ")[links]]]]


class Systems(SphinxDirective):
    """The systems of each chapter: kind, tier, papers, pages."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        pages: dict[str, list[str]] = {}
        for line in self.content:
            page, _, names = line.partition(":")
            if page not in self.env.found_docs:
                raise self.error(f"no page {page!r}")
            for name in names.split():
                if name not in systems():
                    raise self.error(f"no system {name!r}")
                pages.setdefault(name, []).append(page)
        return [self._chapter(number, title, pages) for number, title in CHAPTERS.items()]

    def _chapter(self, number: str, title: str, pages: dict[str, list[str]]) -> nodes.section:
        items = nodes.definition_list(classes=["systems"])
        for name, row in systems().items():
            if row["chapter"] == number:
                items += self._item(name, row, pages.get(name, []))
        heading = nodes.title("", f"{number} {title}")
        return nodes.section("", heading, items, ids=[f"chapter-{number}"], names=[])

    def _item(self, name: str, row: dict[str, str], pages: list[str]) -> nodes.Node:
        about = nodes.paragraph("", f"{row['kind'].capitalize()}, {row['tier']}. ")
        found = [(key, e) for key, e in papers().entries.items() if name in systems_of(e)]
        found.sort(key=lambda pair: pair[1].fields["year"])
        about += separated([link(key, entry) for key, entry in found])
        if pages:
            about += nodes.Text(" Here: ")
            about += separated([self._page(page) for page in pages])
        term = nodes.term("", row["name"], ids=[f"system-{name}"])
        return nodes.definition_list_item("", term, nodes.definition("", about))

    def _page(self, page: str) -> nodes.Node:
        """A link that carries the page's title."""
        more = {"reftype": "doc", "refdomain": "std", "refexplicit": False}
        where = {"reftarget": f"/{page}", "refdoc": self.env.docname}
        return addnodes.pending_xref("", nodes.inline("", page), **more, **where)


def separated(links: list[nodes.Node]) -> list[nodes.Node]:
    """The links with commas between them and a full stop behind."""
    marks = [nodes.Text(", ")] * (len(links) - 1) + [nodes.Text(".")]
    return [node for pair in zip(links, marks, strict=True) for node in pair]


def setup(app: Any) -> dict[str, bool]:
    register_plugin("pybtex.style.formatting", "papers", Papers)
    app.add_directive("systems", Systems)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
