"""The field's language: what `docs/style.md` asks of a page's words and cells, as checks.

    python book/language.py                     # how many pages each check still finds fault with
    python book/language.py 6b.6 07_medical     # every finding of these pages
    python book/language.py --write             # take what is done off the lists
    python book/language.py --vale build/vale   # the word list as a Vale style, for editors

`book/todo.yaml` lists, check by check, the pages that don't pass yet. The lists only shrink: a test
fails for a page that breaks a check and isn't listed, and for one that is listed and passes.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "lib")]

from deepdive_book.site.pages import Page, discover, select  # noqa: E402

TERMS = ROOT / "book" / "terms.yaml"
NAMES = ROOT / "book" / "names.yaml"
TODO = ROOT / "book" / "todo.yaml"
OPENING = 60  # words after the title in which the standard name is said
LONGEST = 40  # lines of the concept cell
WIDEST = 100  # characters of one
FOLDS = 4
# What the concept cell may import: torch, Python, and what a method itself needs.
IMPORTS = {
    "torch",
    "math",
    "scipy",
    "numpy",
    "collections",
    "itertools",
    "functools",
    "heapq",
    "re",
}
CONCEPT, EQUALS = "concept", "equals-library"
OPEN = ("In practice", "Common mistake")


# ---- what a page says


@dataclass(frozen=True)
class Cells:
    """A page's committed cells."""

    page: Page
    cells: list[Any]

    @property
    def texts(self) -> list[str]:
        """The Markdown of its text cells, without *Further reading*."""
        found: list[str] = []
        for cell in self.cells:
            if cell.cell_type == "markdown":
                text = re.split(r"^##+ Further reading", cell.source, flags=re.M)
                found.append(text[0])
        return found

    @property
    def prose(self) -> str:
        """All that a reader reads as text: no code, formulas, addresses, or tags."""
        return "\n".join(plain(text) for text in self.texts)

    def tagged(self, tag: str) -> list[Any]:
        return [cell for cell in self.cells if tag in cell.metadata.get("tags", [])]


@cache
def cells(page: Page) -> Cells:
    return Cells(page, nbformat.read(page.notebook, as_version=4).cells)


def plain(markdown: str) -> str:
    """Markdown as words: the text of links and emphasis stays, code and formulas go."""
    text = re.sub(r"```.*?```|~~~.*?~~~", " ", markdown, flags=re.S)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]*(?:\n[^$\n]+)?\$", " ", text, flags=re.S)
    text = re.sub(r"`[^`]*`", " ", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"<!--.*?-->|<[^>]+>", " ", text, flags=re.S)
    return re.sub(r"[*_\[\]]", "", text)


def opening(page: Page) -> str:
    """The first `OPENING` words after the title, without the small line of prerequisites."""
    text = re.sub(r"<small>.*?</small>", " ", cells(page).texts[0], flags=re.S)
    return " ".join(plain(text.split("\n", 1)[-1]).split()[:OPENING])


def says(text: str, term: str) -> bool:
    """Whether a text has a term: case ignored, plural or not, a hyphen as good as a space."""
    parts = [re.escape(part) for part in re.split(r"[ -]", term)]
    words = r"[ -]?\s*".join(parts)
    many = f"{words[:-1]}(?:y|ies)" if term.endswith("y") else f"{words}(?:e?s)?"
    return re.search(rf"(?<!\w){many}(?!\w)", text, re.I) is not None


# ---- the checks: each yields what it finds


@cache
def terms() -> list[dict[str, Any]]:
    return list(yaml.safe_load(TERMS.read_text("utf-8")))


@cache
def names() -> dict[str, dict[str, list[str]]]:
    return dict(yaml.safe_load(NAMES.read_text("utf-8")))


def words(page: Page) -> Iterator[str]:
    """Words of `terms.yaml` beyond what a page may have of each."""
    prose = cells(page).prose
    for term in terms():
        text = prose
        for allowed in term.get("unless", ()):
            text = re.sub(allowed, " ", text, flags=re.I)
        hits = [m[0] for m in re.finditer(rf"(?<![\w-])(?:{term['words']})(?![\w-])", text, re.I)]
        if len(hits) > term.get("most", 0):
            shown = ", ".join(dict.fromkeys(hit.lower() for hit in hits))
            yield f"{shown} ({len(hits)} times): write {term['write']}"


def name(page: Page) -> Iterator[str]:
    """The concept's standard name in the title and in the first words after it."""
    wanted = names()[page.name]["name"]
    for where, text in (("title", page.summary().title), ("opening", opening(page))):
        if not any(says(text, each) for each in wanted):
            yield f"the {where} has none of: {', '.join(wanted)}"


def vocabulary(page: Page) -> Iterator[str]:
    """The standard terms that a page on its subject has in its body."""
    prose = cells(page).prose
    if missing := [term for term in names()[page.name]["terms"] if not says(prose, term)]:
        yield f"the text never says: {', '.join(missing)}"


def concept(page: Page) -> Iterator[str]:
    """One open, self-contained cell that implements the concept, and one that compares it."""
    found = cells(page).tagged(CONCEPT)
    if len(found) != 1:
        yield f"{len(found)} cells are tagged `{CONCEPT}`, expected one"
        return
    (cell,) = found
    tree = ast.parse(cell.source)
    imported = {name.split(".")[0] for name in _imports(tree)}
    if other := imported - IMPORTS:
        yield f"the concept cell imports {', '.join(sorted(other))}"
    if len(lines := _lines(cell.source, tree)) > LONGEST:
        yield f"the concept cell has {len(lines)} lines, at most {LONGEST}"
    if long := [line for line in lines if len(line) > WIDEST]:
        yield f"the concept cell has {len(long)} lines of more than {WIDEST} characters"
    if "fold" in cell.metadata.get("tags", []):
        yield "the concept cell is folded"
    compared = [each for each in cells(page).tagged(EQUALS) if "assert" in each.source]
    if not any("deepdive" in each.source for each in compared):
        yield f"no cell tagged `{EQUALS}` asserts that it equals the library"
    elif any("fold" in each.metadata.tags for each in compared):
        yield f"a cell tagged `{EQUALS}` is folded"


def folds(page: Page) -> Iterator[str]:
    """At most four folds; *In practice* and *Common mistake* are open."""
    closed = [c for c in cells(page).cells if {"fold", "aside"} & set(c.metadata.get("tags", []))]
    if len(closed) > FOLDS:
        yield f"{len(closed)} folds, at most {FOLDS}"
    for cell in closed:
        if heading := re.search(rf"^##+ (?:{'|'.join(OPEN)})", cell.source, re.M):
            yield f"folded: {heading[0].strip('# ')}"


def figure(page: Page) -> Iterator[str]:
    """A drawing right after the first text, before setup and code: what GitHub shows first."""
    if "figure" not in cells(page).cells[1].metadata:
        yield 'the second cell has no drawing (`figure="ch06c.ctc_pipeline"`)'


CHECKS: dict[str, Callable[[Page], Iterator[str]]] = {
    "words": words,
    "name": name,
    "vocabulary": vocabulary,
    "concept": concept,
    "folds": folds,
    "figure": figure,
}
# Pages that teach no single concept have no concept cell; second pages open with a table or plot.
WITHOUT_CONCEPT = re.compile(r"_(?:opening|closing|diagnostic|atlas|disagree|more)$")
WITHOUT_FIGURE = re.compile(r"_more$")


def checked(page: Page) -> list[str]:
    """The names of the checks that a page is held to."""
    found = [*CHECKS]
    if WITHOUT_CONCEPT.search(page.name):
        found.remove("concept")
    if WITHOUT_FIGURE.search(page.name):
        found.remove("figure")
    return found


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def _lines(source: str, tree: ast.Module) -> list[str]:
    """The lines that count: no imports, docstrings, blank lines, or lines of comment alone."""
    aside: set[int] = set()
    for node in ast.walk(tree):
        doc = (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )
        if isinstance(node, ast.Import | ast.ImportFrom) or doc:
            assert isinstance(node, ast.stmt)
            aside |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(source.splitlines(), 1)
    return [x for i, x in lines if i not in aside and x.strip() and not x.strip().startswith("#")]


# ---- the lists of what is still to do


def todo() -> dict[str, list[str]]:
    return dict(yaml.safe_load(TODO.read_text("utf-8")))


def failing(pages: Sequence[Page]) -> dict[str, list[str]]:
    """Check -> the names of the pages that don't pass it."""
    return {
        check: [p.name for p in pages if check in checked(p) and any(CHECKS[check](p))]
        for check in CHECKS
    }


def write_todo(lists: dict[str, list[str]]) -> None:
    head = "# Pages that don't pass a check of book/language.py yet. The lists only shrink.\n"
    text = yaml.safe_dump(lists, sort_keys=False, allow_unicode=True)
    TODO.write_text(head + text, encoding="utf-8")


def vale(folder: Path) -> None:
    """Write the word list as a Vale style: `.vale.ini`, and a rule for each list of words."""
    style = folder / "styles" / "Deepdive"
    style.mkdir(parents=True, exist_ok=True)
    for number, term in enumerate(terms()):
        rule = {
            "extends": "existence",
            "message": f"'%s': write {term['write']}",
            "level": "warning" if term.get("most") else "error",
            "ignorecase": True,
            "tokens": [f"(?:{term['words']})"],
        }
        (style / f"Word{number:03}.yml").write_text(yaml.safe_dump(rule, sort_keys=False), "utf-8")
    ini = "StylesPath = styles\nMinAlertLevel = warning\n\n[*.md]\nBasedOnStyles = Deepdive\n"
    (folder / ".vale.ini").write_text(ini, encoding="utf-8")


def main(argv: list[str] | None = None) -> None:
    """Check the words, names, and cells of pages; see docs/style.md."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="such as 6.3; default: count all")
    parser.add_argument(
        "--write", action="store_true", help="take pages that pass off the to-do lists"
    )
    parser.add_argument("--vale", type=Path, metavar="DIR", help="write a Vale style here")
    args = parser.parse_args(argv)
    pages, write, folder = args.pages, args.write, args.vale
    if folder is not None:
        vale(folder)
        print(f"written: {folder}; run `vale --config {folder}/.vale.ini FILE.md`")
        return
    if pages:
        found = 0
        for page in select(pages, ROOT):
            for check in checked(page):
                for finding in CHECKS[check](page):
                    found += 1
                    print(f"{page.number} {check}: {finding}")
        print(f"{found} findings")
        sys.exit(1 if found else 0)
    lists = failing(discover(ROOT))
    if write:
        before = todo() if TODO.is_file() else lists
        for check, pages_of in lists.items():
            for each in sorted(set(pages_of) - set(before.get(check, []))):
                print(f"{each} fails {check} and isn't listed: fix the page", file=sys.stderr)
        lists = {c: [p for p in lists[c] if p in before.get(c, [])] for c in lists}
        write_todo(lists)
    for check, listed in lists.items():
        print(f"{check}: {len(listed)} pages to do")


if __name__ == "__main__":
    main()
