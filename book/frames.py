"""Frames of lecture slides, read from the cells of a chapter's pages that are tagged `slide`.

A tagged cell with a title or heading of its own opens a frame; another adds to the open one. Prose
gives the first sentences of its first paragraph, and its first equations, table or list. Code gives
what it showed, its pictures and tables or else its text; where it is also tagged `code`, its first
definition. A frame without words takes the line in italics that stands under its picture. What
follows on the page until the next frame goes to the speaker's notes, with the questions that the
page asks.
"""

import html
import re
import struct
from base64 import b64decode
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pictures import figure, letters
from stage import IMAGES, formulas, is_answer, library

mathml = library("deepdive_book.kit.mathml").mathml
drawings = library("deepdive_book.site.pages.drawings")
lettered = library("deepdive_book.kit.palette").lettered
title_line = library("deepdive_book.site.pages").title_line
WORDS, SPOKEN = 45, 220  # at most on a frame; in its notes, to the end of the paragraph
NARROW = 1.75  # a picture no wider than this, for its height, has its words beside it
PLAIN = "chapters/01_"  # before attention: its q and k are other things
SHOWN = ("math_block", "table_open", "bullet_list_open", "ordered_list_open")
# Sections that are for readers, and what is said of the two that end a page.
UNSPOKEN = {
    "What differs", "In practice", "Exercises", "Further reading", "Prerequisites",
    "The map", "Reading paths", "Sources we compare with",
}  # fmt: skip
CLOSING = {
    "Check your understanding": ("ordered_list_open", "Ask the room"),
    "Summary": ("paragraph_open", "To close the page"),
}


@dataclass
class Block:
    """One block of Markdown at the top level: the type of markdown-it's token, and its source."""

    kind: str
    text: str


@dataclass
class Frame:
    """One frame, all of it as HTML but the heading of the section that it stands in."""

    page: Any
    heading: str
    title: str
    words: str = ""
    shown: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    asked: str = ""  # the last question before the next frame
    narrow: bool = False
    room: int = SPOKEN


class Frames:
    """Reads the frames of pages.

    Args:
        site: the built book, in which the frames' links must end.
    """

    def __init__(self, site: Path) -> None:
        self.site = site
        self.frames: list[Frame] = []
        self.markdown: Any = MarkdownIt("commonmark").enable("table")
        dollarmath_plugin(self.markdown, renderer=self._formula)
        self.markdown.renderer.rules["link_open"] = self._link

    def read(self, page: Any) -> None:
        """Add the frames of a page."""
        self.page = page
        heading, section, pictured = page.summary().title, "", False
        notebook = nbformat.read(page.notebook, as_version=4)
        for cell in drawings.as_outputs(notebook, page.source.parent).cells:
            if is_answer(cell):
                continue
            tagged = "slide" in cell.metadata.get("tags", [])
            title = cell.metadata.get("title", "")
            if cell.cell_type == "code":
                cell.source = cell.source.removeprefix(title_line(title))
                if tagged:
                    self._show(self._frame(title, heading), cell)
                elif self._begun():
                    self._ask(cell)
                pictured = tagged or (pictured and not any(map(_image, cell.outputs)))
                continue
            blocks = self._blocks(cell.source)
            if blocks and blocks[0].kind == "heading_open":
                section = heading = _bare(blocks.pop(0).text)
                title = title or heading
            elif blocks and re.match(r"\*[^*]", blocks[0].text):
                caption = blocks.pop(0)
                if pictured:  # else its picture is on no frame
                    self._caption(caption)
            pictured = False
            if tagged:
                self._tell(self._frame(title, heading), blocks)
            elif self._begun():
                self._say(blocks, section)

    def _begun(self) -> bool:
        """Whether this page has opened a frame."""
        return bool(self.frames) and self.frames[-1].page is self.page

    def _frame(self, title: str, heading: str) -> Frame:
        """A new frame for a cell with a title of its own, else the open one."""
        if title or not self._begun():
            if self._begun():
                self.frames[-1].notes.append(self.frames[-1].asked)
            named = self.markdown.renderInline(title or heading)
            self.frames.append(Frame(self.page, heading, named))
        return self.frames[-1]

    # -- what a frame shows

    def _tell(self, frame: Frame, blocks: list[Block]) -> None:
        """Put the words and the display of prose on a frame, the rest of it into the notes."""
        paragraph = next((block for block in blocks if block.kind == "paragraph_open"), None)
        if paragraph and not frame.words:
            frame.words, paragraph.text = self._words(paragraph.text)
        first = next((i for i, block in enumerate(blocks) if block.kind in SHOWN), len(blocks))
        last = first + 1
        while last < len(blocks) and blocks[first].kind == "math_block" == blocks[last].kind:
            last += 1
        frame.shown += [self.markdown.render(block.text) for block in blocks[first:last]]
        self._say(blocks[:first] + blocks[last:], "")

    def _show(self, frame: Frame, cell: Any) -> None:
        """Put what code showed on a frame."""
        pictures, texts = [], []
        for out in cell.outputs:
            if kind := _image(out):
                data, about = out.data[kind], out.metadata.get(kind, {})
                size = about.get("letters", letters(cell.source, ""))
                pictures.append(figure(kind, data, about.get("alt", ""), size))
                frame.narrow = _width_by_height(kind, data) <= NARROW
            elif table := _table(out):
                pictures.append(table)
            else:
                texts.append(out.get("text") or out.get("data", {}).get("text/plain", ""))
        if "code" in cell.metadata["tags"]:
            pictures, texts = [], [cell.source.partition("\n\n\n")[0]]
        text = html.escape("".join(texts).strip("\n"))
        frame.shown += pictures or [f"<pre>{text}</pre>"]

    def _caption(self, line: Block) -> None:
        """Make the line under a picture the words of its frame; it is said where there are some."""
        line.text = re.sub(r"(?<!\*)\*(?!\*)", "", line.text)
        if not self.frames[-1].words:
            self.frames[-1].words, line.text = self._words(line.text)
        self._say([line], "")

    def _words(self, paragraph: str) -> tuple[str, str]:
        """As many first sentences as a frame has room for, as HTML, and the others as they are."""
        sentences = re.split(r"(?<=[.?!:)])\s+(?=[A-Z*(`$])", paragraph)
        taken = count = 0
        for sentence in sentences:
            count += len(re.sub(r"\$[^$]*\$", "x", sentence).split())
            if taken and (count > WORDS or sentence.startswith("(")):
                break
            taken += 1
        words = self.markdown.render(" ".join(sentences[:taken]))
        return words, " ".join(sentences[taken:])

    # -- what is said

    def _say(self, blocks: list[Block], section: str) -> None:
        """Put blocks of a section into the notes of the open frame, as far as there is room."""
        frame = self.frames[-1]
        for block in blocks:
            if block.kind == "heading_open":
                section = _bare(block.text)
            elif section in CLOSING:
                kind, name = CLOSING[section]
                if block.kind == kind:
                    said = self.markdown.render(block.text)
                    frame.notes.append(f"<h3>{name}</h3>{said}")
            elif section in UNSPOKEN or block.kind in ("fence", "html_block"):
                continue
            elif block.text and not block.text.startswith("<small>") and frame.room > 0:
                frame.room -= len(block.text.split())
                frame.notes.append(self.markdown.render(block.text))

    def _ask(self, cell: Any) -> None:
        """Keep the question of a prediction, with its answer, for the notes."""
        for out in cell.outputs:
            page: Any = BeautifulSoup(out.get("data", {}).get("text/html", ""), "html.parser")
            if asked := page.find(class_="predict"):
                for gone in asked.select("legend strong, input"):
                    gone.decompose()
                options = "".join(f"<li>{o.decode_contents()}</li>" for o in asked("label"))
                self.frames[-1].asked = (
                    "<h3>Ask before the next frame</h3>"
                    f"<p>{asked.legend.decode_contents()}</p><ul>{options}</ul>"
                    f"<p>Answer: {asked.details.p.decode_contents()}</p>"
                )

    # -- Markdown

    def _formula(self, content: str, options: dict[str, Any]) -> str:
        formula = mathml(content, "block" if options["display_mode"] else "inline")
        return formula if self.page.name.startswith(PLAIN) else lettered(formula)

    def _blocks(self, source: str) -> list[Block]:
        lines = source.splitlines()
        return [
            Block(token.type, "\n".join(lines[slice(*token.map)]).strip())
            for token in self.markdown.parse(source)
            if token.level == 0 and token.map
        ]

    def _link(self, tokens: Any, i: int, options: Any, env: Any) -> str:
        """A link of a page from the folder of the decks; to what is no page, the page's own."""
        url = str(tokens[i].attrs["href"])
        if not urlsplit(url).scheme:
            path, mark, anchor = url.partition("#")
            page = (self.page.source.parent / path).resolve().with_suffix(".html")
            root = self.page.root
            there = page.is_relative_to(root) and (self.site / page.relative_to(root)).is_file()
            name = f"{page.relative_to(root).as_posix()}{mark}{anchor}" if there else ""
            url = f"../{name or self.page.name + '.html'}"
        return f'<a href="{html.escape(url)}">'


def _bare(heading: str) -> str:
    return heading.lstrip("# ").strip()


def _image(out: Any) -> str:
    """The kind of the image that an output is, or nothing."""
    return next((kind for kind in IMAGES if kind in out.get("data", {})), "")


def _table(out: Any) -> str:
    """The table of the library that an output is, or nothing."""
    page: Any = BeautifulSoup(out.get("data", {}).get("text/html", ""), "html.parser")
    return formulas(str(page.find("table", class_="dd-table") or ""))


def _width_by_height(kind: str, data: str) -> float:
    """Of an image as a notebook keeps it; 2 where it is neither SVG nor PNG."""
    if kind == "image/svg+xml":
        box = re.search(r'viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)"', data)
        return float(box[1]) / float(box[2]) if box else 2
    if kind == "image/png":
        width, height = struct.unpack(">II", b64decode("".join(data[:80].split()))[16:24])
        return float(width / height)
    return 2
