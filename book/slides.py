"""Slides: the frames of each chapter as a deck of reveal.js, written into the built book."""

import html
import shutil
import sys
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Any

from bs4 import BeautifulSoup
from docutils.nodes import make_id
from frames import Frame, Frames
from stage import BOOK, has_slides

sys.path.insert(0, str(BOOK.parent / "tools"))

from vendor import VendorError, vendored

__all__ = ["VendorError", "deck", "decks", "vendored"]

PARTS = ("reveal.js", "reveal.css", "plugin/notes.js")


def decks(pages: list[Any], site: Path) -> list[Path]:
    """Write the deck of each chapter that has frames into the built book, and reveal.js.

    Raises:
        VendorError: reveal.js is not here and cannot be fetched.
    """
    written = []
    for folder, group in groupby(pages, key=lambda page: page.source.parent):
        read = Frames(site)
        for page in group:
            if has_slides(page.notebook):
                read.read(page)
        if read.frames:
            written.append(site / "slides" / f"{folder.name}.html")
            written[-1].parent.mkdir(exist_ok=True)
            written[-1].write_text(deck(read.frames, site), encoding="utf-8")
    if written:
        for part in PARTS:
            path = vendored("reveal.js") / "dist" / part
            shutil.copyfile(path, site / "_static" / path.name)
    return written


def deck(frames: list[Frame], site: Path) -> str:
    """The HTML document of some frames; the first is the title."""
    template = Template((BOOK / "slides.html").read_text("utf-8"))
    sections = [_section(frame, n, site) for n, frame in enumerate(frames, start=1)]
    return template.substitute(title=_plain(frames[0].title), frames="\n".join(sections))


def _section(frame: Frame, number: int, site: Path) -> str:
    name, level = f"{frame.page.name}.html", "h1" if number == 1 else "h2"
    anchor = make_id(_plain(frame.heading))
    if f'id="{anchor}"' in (site / name).read_text("utf-8"):
        name = f"{name}#{anchor}"
    kinds = "first" * (number == 1) + "narrow" * (frame.narrow and bool(frame.words))
    words = f'<div class="words">{frame.words}</div>' if frame.words else ""
    title = html.escape(frame.page.summary().title)
    return (
        f'<section id="frame-{number}" class="{kinds}"><{level}>{frame.title}</{level}>'
        f'<div class="body">{words}<div class="shown">{"".join(frame.shown)}</div></div>'
        f'<p class="page"><a href="../{name}">{frame.page.number} {title}</a></p>'
        f'<aside class="notes">{"".join(frame.notes)}</aside></section>'
    )


def _plain(text: str) -> str:
    return html.escape(BeautifulSoup(text, "html.parser").get_text())
