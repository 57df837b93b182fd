"""What the search page searches: each section of the book with its words; a Sphinx extension.

A section is found by the terms that it defines (the glossary's, under every name of their entry),
by the systems of which it is the home in `systems.csv`, by its heading, and by its text.
`_static/search.js` ranks the sections with MiniSearch, and needs no server.
"""

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from links import glossary, glossary_names
from papers import systems
from printed import number
from sphinx import addnodes

DATA = "search_data.js"
# What a reader does not look for by its words.
UNREAD = (nodes.raw, nodes.math_block, nodes.literal_block, addnodes.toctree)
# Pages that name everything once and explain nothing.
LISTS = {"changelog", "concordance", "contents", "glossary", "index"}


def words(node: nodes.Node) -> str:
    """The prose of a section without that of the sections in it, and without code."""
    told = []
    for child in node.children:
        if isinstance(child, nodes.Text):
            told.append(child.astext())
        elif isinstance(child, nodes.math):  # a letter is read as it is, a longer formula is not
            told.append(child.astext() if child.astext().isalnum() else "…")
        elif not isinstance(child, (*UNREAD, nodes.section, nodes.title, addnodes.index)):
            told.append(words(child) + " " * (not isinstance(child, nodes.Inline)))
    return re.sub(r"\s+", " ", "".join(told))


def code(node: nodes.Node) -> str:
    """The names in the code of a section, each once."""
    blocks = [b for b in node.findall(nodes.literal_block) if section_of(b) is node]
    names = re.findall(r"[A-Za-z_]\w{3,}", " ".join(b.astext() for b in blocks))
    return " ".join(dict.fromkeys(names))


def section_of(node: Any) -> Any:
    """The section around a node."""
    while node is not None and not isinstance(node, nodes.section):
        node = node.parent
    return node


class Finder:
    """Collects the sections of each page as Sphinx writes it, and writes them at the end."""

    def __init__(self) -> None:
        self.sections: list[dict[str, Any]] = []

    def page(self, app: Any, name: str, template: str, context: Any, doctree: Any) -> None:
        """Take the sections of a page."""
        if doctree is None or name in LISTS:
            return
        titles = [title.astext() for title in doctree.findall(nodes.title)]
        for section in doctree.findall(nodes.section):
            anchor = "" if section.parent is doctree else section["ids"][0]
            self.sections.append(
                {
                    "page": name,
                    "number": number(name).strip(),
                    "title": titles[0],
                    "anchor": anchor,
                    "heading": section[0].astext() if anchor else "",
                    "terms": defined(app.env, name, section),
                    "text": words(section).strip(),
                    "code": code(section),
                }
            )

    def write(self, app: Any, failed: Exception | None) -> None:
        """Write all sections, and the glossary's entries, as a script."""
        if failed:
            return
        known = glossary(app.env) if "glossary" in app.env.all_docs else []
        data = {"sections": self.sections, "glossary": [list(entry) for entry in known]}
        script = f"const searchData = {json.dumps(data, ensure_ascii=False)};\n"
        (Path(app.outdir) / "_static" / DATA).write_text(script, "utf-8")


def defined(env: Any, page: str, section: nodes.section) -> list[str]:
    """The names under which a section is at home: of the terms it defines, and of its systems."""
    source = env.srcdir / "glossary.md"
    entries = glossary_names(source.read_text("utf-8")) if source.is_file() else []
    heading = re.sub(r"^(\d+\.|the|an?|in code:|by hand:) ", "", section[0].astext().lower())
    bold = {strong.astext().strip(".: ") for strong in section.findall(nodes.strong)}
    terms = [
        name
        for names in entries
        if bold & set(names) or any(re.match(rf"{re.escape(n.lower())}\b", heading) for n in names)
        for name in names
    ]
    at_home = [row for row in systems().values() if row["page"].partition("#")[0] == page]
    for row in at_home:
        anchor = row["page"].partition("#")[2]
        if anchor in section["ids"] or (not anchor and section.parent.parent is None):
            terms += [row["name"], row["id"].replace("_", " ")]
    return list(dict.fromkeys(terms))


def setup(app: Any) -> dict[str, bool]:
    finder = Finder()
    app.connect("html-page-context", finder.page)
    app.connect("build-finished", finder.write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
