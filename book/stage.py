"""Stage the book: what Sphinx reads, made from the committed notebooks and texts.

    python book/stage.py --out build/book-src

Needs neither torch nor a network. A notebook keeps its path; each `book/*.md`, the errata and the
changelog become pages beside the index. On the way the tags of a page become those of MyST-NB,
images carry their alternative text, links find the pages, and a line under the title says where to
run the page and what it cost.
"""

import argparse
import html
import importlib
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import nbformat
import yaml
from front import cards, live
from paths import Paths
from pictures import embedded, figure, letters, panels

BOOK = Path(__file__).resolve().parent
LIBRARY = BOOK.parent / "lib"
TAGS = {"setup": "hide-cell", "fold": "hide-input", "check": "hide-input"}
WAYS = ("show", "hide")
ASIDE = '<span class="aside-mark" hidden></span>'
IMAGES = ("image/svg+xml", "image/png", "image/webp", "image/jpeg")
AT_THE_END = {"exercises": "Exercises", "clinic": "Bug clinic"}
# The order in the side bar; texts that are not named here follow.
# Where a link leads whose page is not staged; nothing is at this address (RFC 2606).
LEFT_OUT = "https://left-out.invalid/"
TEXTS = ("contents", "use", "teach", "notation", "concordance", "atlas", "glossary")
TEXTS += ("bibliography", "errata", "changelog")
FRONT = TEXTS[:6]


def library(name: str) -> Any:
    """A module of this checkout's packages that needs no torch."""
    if str(LIBRARY) not in sys.path:
        sys.path.insert(0, str(LIBRARY))
    return importlib.import_module(name)


drawings = library("deepdive_book.site.pages.drawings")
SETTING = library("deepdive_book.site.pages.setup_cell")
mathml = library("deepdive_book.kit.mathml").mathml
title_line = library("deepdive_book.site.pages").title_line


class ProvenanceError(ValueError):
    """A page does not say what its outputs were computed from."""


class Stage:
    """One checkout and the folder that its book is staged in.

    `only` names the folders of some chapters: their pages alone are staged, without the book's
    texts and reading paths, and a link to any other page leads to `LEFT_OUT`.
    """

    def __init__(self, root: Path, out: Path, only: Sequence[str] = ()) -> None:
        self.root, self.out, self.only = root, out, only
        pages = library("deepdive_book.site.pages")
        self.pages = [page for page in pages.discover(root) if page.notebook.is_file()]
        every = root.glob(f"{pages.CHAPTERS}/*.ipynb")
        self.exercises = sorted(path for path in every if path.stem in AT_THE_END)
        kept = [path for name in ("ERRATA", "CHANGELOG") if (path := root / f"{name}.md").is_file()]
        self.texts = [*sorted((root / "book").glob("*.md")), *kept]
        notebooks = [*(page.notebook for page in self.pages), *self.exercises]
        self.targets = {text: out / f"{text.stem.lower()}.md" for text in self.texts}
        for path in notebooks:
            self.targets[path] = self.targets[path.with_suffix(".py")] = out / self._name(path)
        self.left_out: set[Path] = set()
        if only:
            self.left_out = {path for path in self.targets if path.parent.name not in only}
            self.pages = [page for page in self.pages if page.source.parent.name in only]
            self.exercises = [path for path in self.exercises if path.parent.name in only]
            self.texts = []
        self.paths = None if only else Paths(root, self._groups(), pages.find)

    def run(self) -> list[Path]:
        """Write the sources of the book; the notebooks among them, as they are committed."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        self._write(self.out / "contents.md", self._contents())
        if self.paths is None:
            self._write(self.out / "index.md", f"# Some chapters\n\n{self._trees()}")
        else:
            self._write_texts(self.paths)
        notebooks = [*(page.notebook for page in self.pages), *self.exercises]
        for path in notebooks:
            self._stage_notebook(path)
        return notebooks

    def _write_texts(self, paths: Paths) -> None:
        """Write the index and each text of the book."""
        for text in self.texts:
            self._write(self.targets[text], self._prose(text.read_text("utf-8"), text))
        if (citation := self.root / "CITATION.cff").is_file():
            self._write(self.out / "cite.md", cite(yaml.safe_load(citation.read_text("utf-8"))))
        index = self.out / "index.md"
        marked = index.read_text("utf-8")
        made = {
            "pages": self._trees(),
            "live": live(self.root),
            "chapters": cards(BOOK, paths.groups),
            "paths": paths.cards(),
            "map": paths.map(),
        }
        for name, text in made.items():
            marked = marked.replace(f"<!-- {name} -->", text)
        self._write(index, marked)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    # -- what leads to the pages

    def _groups(self) -> dict[str, list[tuple[str, Path, Any]]]:
        """Label, notebook and summary of each page under its chapter's name, case studies last."""
        groups: dict[str, list[tuple[str, Path, Any]]] = {}
        for page in self.pages:
            number = page.number.split(".")[0]
            named = page.chapter if number == "0" else f"{number} {page.chapter}"
            title = "Case studies" if page.is_study else named
            about = page.summary()
            label = about.title if page.is_study else f"{page.number} {about.title}"
            groups.setdefault(title, []).append((label, page.notebook, about))
            after = page is self.pages[-1] or self.pages[self.pages.index(page) + 1]
            last = after is True or after.source.parent != page.source.parent
            for stem, called in AT_THE_END.items() if last else ():
                path = page.source.with_name(f"{stem}.ipynb")
                if path in self.exercises:
                    groups[title].append((called, path, None))
        return groups

    def _trees(self) -> str:
        """The side bar: a hidden tree of contents for each chapter, the texts around them."""
        names = {path.stem for path in self.out.glob("*.md")} - {"index"}
        known = [name for name in TEXTS if name in names]
        known += sorted(names - set(known))
        trees = {"The book": [n for n in known if n in FRONT]}
        for title, entries in self._groups().items():
            trees[title] = [f"{label} <{self._name(path)[:-6]}>" for label, path, _ in entries]
        if not self.only:
            trees["Reference"] = [n for n in known if n not in trees["The book"]] + ["genindex"]
        tree = "```{{toctree}}\n:hidden:\n:caption: {}\n\n{}\n```\n"
        return "\n".join(tree.format(title, "\n".join(names)) for title, names in trees.items())

    def _contents(self) -> str:
        """Every page with its question and the minutes to read it."""
        lines = ["# Contents", ""]
        for title, entries in self._groups().items():
            lines += [f"## {title}", ""]
            folder = entries[0][1].parent.name
            if any(has_slides(path) for _, path, about in entries if about is not None):
                lines += [f'<a href="slides/{folder}.html">Slides of this chapter</a>', ""]
            for label, path, about in entries:
                lines += [f"**[{label}]({self._name(path)})**"]
                if about is not None:
                    minutes = f" *{about.minutes}&nbsp;min*" if about.minutes else ""
                    lines[-1] += f"  \n{about.question}{minutes}"
                lines += [""]
        return "\n".join(lines)

    # -- one notebook

    def _stage_notebook(self, path: Path) -> None:
        notebook = self._read(path)
        notebook.cells = [cell for cell in notebook.cells if not is_answer(cell)]
        code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
        for cell in notebook.cells:
            tags = cell.metadata.get("tags", [])
            if cell.cell_type == "markdown":
                cell.source = self._prose(cell.source, path)
                if "aside" in tags:  # asides.js folds the section
                    cell.source = re.sub(r"^#+ .+", rf"\g<0>\n\n{ASIDE}", cell.source, count=1)
            elif cell.cell_type == "code":
                cell.metadata["tags"] = [*tags, *(TAGS[tag] for tag in tags if tag in TAGS)]
                if name := cell.metadata.get("title"):  # what the fold is called
                    cell.metadata["mystnb"] = {f"code_prompt_{way}": name for way in WAYS}
                    cell.source = cell.source.removeprefix(title_line(name))
                size, beside = letters(cell.source, code), panels(cell.source, code)
                cell.outputs = [self._output(out, path, size, beside) for out in cell.outputs]
        notebook.cells = in_one_fold(plumbing_last(notebook.cells))
        first = notebook.cells[0]
        first.source = re.sub(
            r"^# .+$",
            lambda title: f"{title[0]}\n\n{self._line(notebook, path)}",
            first.source,
            count=1,
            flags=re.MULTILINE,
        )
        target = self.targets[path]
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, target)

    def _read(self, path: Path) -> Any:
        """A page as it was committed; of exercises, the form for those who work alone."""
        if path in self.exercises:
            exercises = library("deepdive_book.course.exercises")
            source = exercises.source(path.with_suffix(".py"), self.root)
            return library("deepdive_book.course.assignment.forms").self_study(source)
        return drawings.as_outputs(nbformat.read(path, as_version=4), path.parent)

    def _line(self, notebook: Any, path: Path) -> str:
        """Where to run the page, its notebook, and the profile, data and cost of its outputs."""
        parts = [
            *launchers(self._name(path)),
            f'<a class="run" href="{path.name}" download>Download notebook</a>',
        ]
        cost = notebook.metadata.get("deepdive")
        if cost:
            seconds = cost["under_seconds"]
            time = f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"
            parts.append(
                f"<span>Outputs: profile {cost['profile']}; "
                f"data: {html.escape(data_of(notebook, self._name(path)))}; "
                f"run in under {time} and {cost['under_mb']} MB on two cores</span>"
            )
        return f'<p class="page-line">{" ".join(parts)}</p>'

    def _output(self, out: Any, path: Path, size: float, beside: int) -> Any:
        """An output with its links placed; an image becomes HTML, with its alternative text.

        `size` is what the code of the cell says of the letters of its plots, and `beside` how many
        panels it draws side by side.
        """
        data = out.get("data", {})
        kind = next((kind for kind in IMAGES if kind in data), "")
        if "text/html" in data:
            data["text/html"] = re.sub(
                r'(?<=<a )href="([^":]+\.ipynb)(#[^"]*)?"',
                lambda link: f'href="{self._page(link[1], path)}{link[2] or ""}"',
                embedded(formulas(whole_intervals(data["text/html"])), size),
            )
        elif kind:
            about = out.metadata.get(kind, {})
            size = about.get("letters", size)
            data["text/html"] = figure(kind, data[kind], about.get("alt", ""), size, beside)
        return out

    # -- links

    def _prose(self, text: str, source: Path) -> str:
        """Markdown with its relative links turned to where their targets are staged."""
        return re.sub(
            r"(?<=\]\()([^)\s#]+)(?=[)#])", lambda link: self._place(link[1], source), text
        )

    def _place(self, url: str, source: Path) -> str:
        if urlsplit(url).scheme:
            return url
        path = (source.parent / unquote(url)).resolve()
        if path in self.left_out:
            return LEFT_OUT + quote(self._name(path))
        if path in self.targets:
            target = self.targets[path]
        elif path.is_file() and path.is_relative_to(self.root):
            target = self.out / self._name(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        else:
            return url  # the build names it
        return os.path.relpath(target, self.targets[source].parent)

    def _page(self, url: str, source: Path) -> str:
        """The address of a notebook's page from the page of another."""
        return re.sub(r"\.ipynb$", ".html", self._place(url, source))


def is_answer(cell: Any) -> bool:
    """Whether a cell is the heading that hides an answer in JupyterLab; the book does it by CSS."""
    return "answer" in cell.metadata.get("tags", [])


def in_one_fold(cells: list[Any]) -> list[Any]:
    """The cells, with a row of folds that show nothing but lines of text as one fold.

    A reader who looks for the first picture meets one closed line instead of six. The joined fold
    has the names of all; what they print stands below it.
    """
    found: list[Any] = []
    for cell in cells:
        if found and all(map(is_fold, (found[-1], cell))) and only_lines(found[-1]):
            before = found[-1]
            before.source = f"{before.source.rstrip()}\n\n\n{cell.source.lstrip()}"
            before.outputs = [*before.outputs, *cell.outputs]
            names = [each.metadata.get("title") or "code" for each in (before, cell)]
            before.metadata["title"] = " · ".join(names)
            before.metadata["tags"] = list(
                dict.fromkeys([*before.metadata["tags"], *cell.metadata["tags"]])
            )
            before.metadata["mystnb"] = {
                f"code_prompt_{way}": before.metadata["title"] for way in WAYS
            }
        else:
            found.append(cell)
    return found


def plumbing_last(cells: list[Any]) -> list[Any]:
    """Move the setup cell, and folded code before the first picture that prints lines at most, to
    the end of the page: a reader's first screen is the title, the question, and a picture.
    """
    first = next((i for i, cell in enumerate(cells) if _shows(cell)), 0)
    moved = [
        i for i, cell in enumerate(cells)
        if "setup" in cell.metadata.get("tags", []) or (i < first and is_fold(cell))
    ]  # fmt: skip
    kept = [cell for i, cell in enumerate(cells) if i not in moved]
    return kept + [cells[i] for i in moved]


def _shows(cell: Any) -> bool:
    """Whether a cell of code shows more than lines of text."""
    return cell.cell_type == "code" and bool(cell.outputs) and not only_lines(cell)


def is_fold(cell: Any) -> bool:
    """Whether a cell's code is folded; the setup cell is a fold of its own."""
    return cell.cell_type == "code" and "fold" in cell.metadata.get("tags", [])


def only_lines(cell: Any) -> bool:
    """Whether all that a cell shows are lines of text, if anything."""
    return all(out.output_type == "stream" for out in cell.outputs)


def launchers(name: str) -> list[str]:
    """Buttons that open a notebook of the published project in Colab and in Binder.

    There are none before the project is published.
    """
    if not SETTING.ADDRESS:
        return []
    project, branch = SETTING.ADDRESS.removeprefix("https://github.com/"), SETTING.BRANCH
    colab = f"https://colab.research.google.com/github/{project}/blob/{branch}/{quote(name)}"
    binder = f"https://mybinder.org/v2/gh/{project}/{branch}?labpath={quote(name, safe='')}"
    return [
        f'<a class="run" href="{colab}">Open in Colab</a>',
        f'<a class="run" href="{binder}">Open in Binder</a>',
    ]


def has_slides(notebook: Path) -> bool:
    """Whether cells of a notebook are tagged for the deck of its chapter."""
    return '"slide"' in notebook.read_text("utf-8")


def data_of(notebook: Any, page: str) -> str:
    """What a page's outputs were computed from: what its banner names, and the sets it read.

    Raises:
        ProvenanceError: the page does not say which data its run read.
    """
    read = notebook.metadata.get("deepdive", {}).get("data")
    if read is None:
        raise ProvenanceError(
            f"{page}: the notebook does not say which data its run read (metadata.deepdive.data): "
            "run it again with `make notebooks`"
        )
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    told = "".join(out.get("text", "") for cell in code for out in cell.outputs)
    named = re.search(r"\bdata ([^\n]+? \((?:real|generated)\))", told)
    known = [named[1]] if named else []
    if unnamed := [name for name in read if not (named and name in named[1])]:
        known.append(f"{', '.join(unnamed)} (real)")
    if known:
        return ", ".join(known)
    generated = any(re.search(r"\bdeepdive(?:_book)?\.data\b", cell.source) for cell in code)
    return "generated by the library" if generated else "the page's own examples"


def formulas(shown: str) -> str:
    """The HTML of an output with the formulas of its tables as MathML.

    Raises:
        ValueError: a formula was not understood.
    """
    return re.sub(
        r'<span class="dd-formula">\$(.*?)\$</span>',
        lambda formula: mathml(html.unescape(formula[1]), "inline"),
        shown,
        flags=re.DOTALL,
    )


def whole_intervals(shown: str) -> str:
    """A table's HTML with intervals that no line breaks: on a phone one stands below its value."""
    return re.sub(r'(<td class="number[^>]*>[^<\[]*\[[^<,\]]*,) ', r"\1&nbsp;", shown)


def cite(citation: dict[str, Any]) -> str:
    """The page that says how to cite, from CITATION.cff."""
    book = citation["references"][0]
    authors = " and ".join(f"{a['family-names']}, {a['given-names']}" for a in book["authors"])
    who = " and ".join(f"{{{author['name']}}}" for author in citation["authors"])
    url = f"  url = {{{SETTING.ADDRESS}}},\n" if SETTING.ADDRESS else ""
    entries = [
        f"@software{{deepdive,\n  author = {{{who}}},\n  title = {{{citation['title']}}},\n"
        f"  version = {{{citation['version']}}},\n{url}}}",
        f"@book{{kamath2022,\n  author = {{{authors}}},\n  title = {{{book['title']}}},\n"
        f"  publisher = {{{book['publisher']['name']}}},\n  year = {{{book['year']}}},\n"
        f"  isbn = {{{book['isbn']}}},\n}}",
    ]
    return "\n\n".join(
        [
            "# Cite this",
            citation["message"],
            *(f"```bibtex\n{entry}\n```" for entry in entries),
            f"Licenses: {' for code, '.join(citation['license'])} for text and figures. "
            "The source of this page is `CITATION.cff`.",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("build/book-src"))
    parser.add_argument("--root", type=Path, default=BOOK.parent, help="the checkout to stage")
    options = parser.parse_args()
    count = len(Stage(options.root.resolve(), options.out.resolve()).run())
    print(f"{count} notebooks in {options.out}")


if __name__ == "__main__":
    main()
