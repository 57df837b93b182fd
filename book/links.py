"""Links that the pages do not carry themselves, made at build; a Sphinx extension.

A notebook must read well in Jupyter too, so it holds no roles of MyST. Here the first use of a
glossary's term on a page is led to the glossary (a word that is a term in one field only, as `key`
is in attention, where its paragraph is about that; a word of several senses, as `hub`, where
`senses.yaml` says which one is meant), the title of a paper to the bibliography, and a
term that a page sets in bold, or in a heading, gets an entry in the index. The glossary and
`references.bib` are the only lists.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from papers import papers, reference, title_of
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

# Where no link is made.
CLOSED = (
    nodes.reference,
    nodes.literal,
    nodes.literal_block,
    nodes.title,
    nodes.math,
    nodes.math_block,
    nodes.raw,
    nodes.caption,
    addnodes.toctree,
)
# Pages of the book's own, which are about the words and papers themselves.
OWN = {
    "atlas", "bibliography", "changelog", "cite", "concordance", "contents", "errata",
    "glossary", "index", "notation", "use",
}  # fmt: skip
PROMPTS = {"tag_setup": "Setup", "tag_fold": "Code", "tag_check": "Check"}


def plain(text: str) -> str:
    """Letters and digits only, to compare titles."""
    return re.sub(r"[\W_]+", "", text).lower()


# -- the glossary


def glossary_names(source: str) -> list[list[str]]:
    """The terms of a glossary in MyST, one list an entry: its names."""
    inside = re.search(r"```\{glossary\}\n(.*?)```", source, re.DOTALL)
    entries: list[list[str]] = [[]]
    for line in (inside[1] if inside else "").splitlines():
        if line and not line[0].isspace() and not line.startswith(":"):
            entries[-1].append(line.strip())
        elif entries[-1] and line.strip():
            entries.append([])
    return [names for names in entries if names]


def matcher(names: list[str]) -> re.Pattern[str]:
    """Finds any of the names, the longest first, in the plural and across two lines too."""
    by_length = sorted(names, key=len, reverse=True)
    any_of = "|".join(r"\s".join(map(re.escape, name.split())) for name in by_length)
    return re.compile(rf"\b({any_of})(?:s|es)?\b", re.IGNORECASE)


def field(definition: str) -> str:
    """The only field in which a word is a term: `In attention, the vector that ...`, or "".

    Where the definition has a second sentence, there is another meaning.
    """
    found = re.fullmatch(r"In (\w+), [^.]*\.", definition)
    return found[1] if found else ""


def meant(term: tuple[str, str, str], around: str, terms: list[Any]) -> bool:
    """Whether a text means the term, and not the everyday word (`values in capitals`).

    A term of one field is meant where its paragraph names the field, or another term of it.
    """
    of = field(term[2])
    others = [name for name, anchor, words in terms if field(words) == of and anchor != term[1]]
    return not of or bool(matcher([of, *others]).search(around))


def paragraph(text: nodes.Node) -> str:
    """The words of the block that a text stands in."""
    block = text.parent
    while isinstance(block, nodes.Inline):
        block = block.parent
    return str(block.astext())


@cache
def senses() -> dict[str, Any]:
    """`senses.yaml`: by word, where it has the glossary's sense; {} is everywhere, None nowhere."""
    given = yaml.safe_load(Path(__file__).with_name("senses.yaml").read_text("utf-8"))
    free = {word: {} for word in given["certain"].split()}
    return free | dict.fromkeys(given["never"].split()) | given["where"]


def certain(name: str, page: str, around: str, before: str) -> bool:
    """Whether a word has the glossary's sense: on this page, in this paragraph, after these words.

    Names of several words have one sense.
    """
    where = senses().get(name, {})
    if where is None:
        return False
    ends = re.search(rf"(?:{where.get('not_after', '(?!)')})[\s-]*$", before, re.IGNORECASE)
    return (
        any(page.startswith(each) for each in where.get("in", [""]))
        and not any(page.startswith(each) for each in where.get("not_in", []))
        and bool(re.search(where.get("with", ""), around, re.IGNORECASE))
        and not ends
    )


def same(name: str, found: str, before: str = "") -> bool:
    """A name with a capital must agree in case: *RoPE* is no rope, *transformers* a library.

    Another word may have a capital where a sentence begins; elsewhere that is somebody's name.
    """
    found = " ".join(found.split())
    if any(letter.isupper() for letter in name):
        return name == found or (name[0].islower() and name == found[0].lower() + found[1:])
    begins = not before.strip() or before.rstrip()[-1] in ".!?:|"
    return name == (found[0].lower() + found[1:] if begins else found)


class Defined(SphinxTransform):
    """Index entries of a page: the glossary's terms that it sets in bold or in a heading."""

    default_priority = 700

    def apply(self, **kwargs: Any) -> None:
        path = self.env.srcdir / "glossary.md"
        notebook = "/" in self.env.docname and not self.env.docname.endswith("/exercises")
        if not notebook or not path.is_file():
            return
        entries = _entries(path.read_text("utf-8"))
        page = next(self.document.findall(nodes.title), None)
        seen: set[str] = set()
        for node in self.document.findall(lambda n: isinstance(n, nodes.strong | nodes.title)):
            section = node
            while section is not None and not isinstance(section, nodes.section):
                section = section.parent
            if section is None or page is None:
                continue
            for found in matcher(list(entries)).finditer(node.astext()):
                whole = isinstance(node, nodes.title) or found[0] == node.astext().strip(".: ")
                names = [name for name in entries if same(name, found[1])]
                if not whole or not names or entries[names[0]] in seen:
                    continue
                seen.add(entries[names[0]])
                entry = ("single", f"{entries[names[0]]}; {page.astext()}", section["ids"][0])
                section.insert(1, addnodes.index(entries=[(*entry, "", None)]))


@cache
def _entries(source: str) -> dict[str, str]:
    """Every name of the glossary, with the first name of its entry."""
    return {name: names[0] for names in glossary_names(source) for name in names}


class Linked(SphinxPostTransform):
    """Lead the first use of each term to the glossary, and titles of papers to the bibliography."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        if self.env.docname in OWN:
            return
        if "bibliography" in self.env.all_docs:
            self._papers()
        if "glossary" in self.env.all_docs:
            self._terms()

    def _open(self, kind: type[nodes.Node]) -> Iterator[Any]:
        for node in list(self.document.findall(kind)):
            above = node.parent
            while above is not None and not isinstance(above, CLOSED):
                above = above.parent
            if above is None:
                yield node

    def _link(self, document: str, target: str, text: nodes.Node, **more: Any) -> nodes.reference:
        address = self.app.builder.get_relative_uri(self.env.docname, document)
        return nodes.reference("", "", text, internal=True, refuri=f"{address}#{target}", **more)

    def _join_lines(self) -> None:
        """MyST makes a text of each line; a term may be broken between two."""
        for node in list(self.document.findall(nodes.TextElement)):
            joined: list[nodes.Node] = []
            for child in node.children:
                if joined and all(isinstance(each, nodes.Text) for each in (joined[-1], child)):
                    joined[-1] = nodes.Text(joined[-1].astext() + child.astext())
                else:
                    joined.append(child)
            if len(joined) < len(node.children):
                node.children = []
                node.extend(joined)

    def _terms(self) -> None:
        self._join_lines()
        terms = glossary(self.env)
        pattern = matcher([name for name, _, _ in terms])
        done: set[str] = set()
        for text in self._open(nodes.Text):
            pieces: list[nodes.Node] = []
            rest = 0
            for found in pattern.finditer(text):
                before = text[: found.start()]
                hit = next((term for term in terms if same(term[0], found[1], before)), None)
                if hit is None or hit[1] in done:
                    continue
                around = paragraph(text)
                if not meant(hit, around, terms):
                    continue
                if not certain(hit[0], self.env.docname, around, before):
                    continue
                done.add(hit[1])
                pieces.append(nodes.Text(text[rest : found.start()]))
                link = self._link("glossary", hit[1], nodes.Text(found[0]), reftitle=hit[2])
                link["classes"].append("term")
                pieces.append(link)
                rest = found.end()
            if pieces:
                text.parent.replace(text, [*pieces, nodes.Text(text[rest:])])

    def _papers(self) -> None:
        known = titles()
        for title in self._open(nodes.emphasis):
            years = re.findall(r"\((\d{4})\)", title.parent.astext())
            begins = plain(title.astext())
            hits = [k for k, t, year in known if year in years and begins and t.startswith(begins)]
            if len(hits) == 1:
                link = self._link(
                    "bibliography", hits[0], title.deepcopy(), reftitle=reference(hits[0])
                )
                link["classes"].append("paper")
                title.replace_self(link)


def glossary(env: Any) -> list[tuple[str, str, str]]:
    """Name, anchor and definition of every term of the book's glossary."""
    found = []
    for item in env.get_doctree("glossary").findall(nodes.definition_list_item):
        words = " ".join(child.astext() for child in item if isinstance(child, nodes.definition))
        names = [child for child in item if isinstance(child, nodes.term)]
        found += [(name.astext(), names[0]["ids"][0], " ".join(words.split())) for name in names]
    return found


@cache
def titles() -> list[tuple[str, str, str]]:
    """Key, title (letters and digits only) and year of every paper."""
    return [(k, plain(title_of(e)), e.fields["year"]) for k, e in papers().entries.items()]


# -- folded cells


class Folded(SphinxPostTransform):
    """Name what a folded cell holds."""

    default_priority = 200  # after MyST-NB has wrapped what it hides
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for cell in self.document.findall(nodes.container):
            if cell.get("nb_element") != "cell_code":
                continue
            for node in cell.children:
                if "prompt_show" not in getattr(node, "attributes", {}):
                    continue
                names = [words for tag, words in PROMPTS.items() if tag in cell["classes"]]
                name = names[0] if names else ""
                if not node["prompt_show"].startswith("Show code cell"):
                    name = node["prompt_show"]  # the page's own name for the fold
                node["prompt_show"] = node["prompt_hide"] = name


def setup(app: Any) -> dict[str, bool]:
    app.add_transform(Defined)
    app.add_post_transform(Folded)
    app.add_post_transform(Linked)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
