"""The first page: pictures of two pages that the reader moves, and a card for each chapter.

They are written as HTML that needs no torch: the pictures are outputs of committed notebooks, and
what a reader can do after a chapter stands in `chapters.yaml`.
"""

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import nbformat
import yaml
from paths import Station, raw, time_of
from pictures import POINT, embedded, themed

LIVE = (  # page, what its output's HTML holds, the words of the link
    (
        "chapters/00_start/01_ten_minutes",
        'class="dda"',
        "Drag the arrow of the query moo. Read more: attention in ten minutes",
    ),
    (
        "chapters/02_transformer/12_decoder",
        'class="livemodel"',
        "How this model works, with all controls",
    ),
)


def live(root: Path) -> str:
    """What moves on the first page, as the notebooks have it; nothing where they are not."""
    found = [one for name, mark, link in LIVE for one in _first(root, name, mark, link)]
    return raw(*found) if found else ""


def _first(root: Path, name: str, mark: str, link: str) -> Iterable[str]:
    """The first output of a page that holds a mark, and under it the link to the page."""
    notebook = root / f"{name}.ipynb"
    if not notebook.is_file():
        return
    for html in shown(nbformat.read(notebook, as_version=4)):
        if mark in html:
            more = f'<p><a href="{name}.html">{link}</a></p>'
            yield f'<div class="front-live">{embedded(html, 10 * POINT)}{more}</div>'
            return


def shown(notebook: Any) -> Iterable[str]:
    """The HTML of each output of a notebook."""
    for cell in notebook.cells:
        for out in cell.get("outputs", ()):
            yield out.get("data", {}).get("text/html", "")


def cards(book: Path, groups: dict[str, list[Station]]) -> str:
    """A card for each chapter: a drawing, its name, its length, what one can do afterwards."""
    file = book / "chapters.yaml"
    afterwards = yaml.safe_load(file.read_text("utf-8")) if file.is_file() else {}
    lines = []
    for title, stations in groups.items():
        folder = stations[0].name.split("/")[-2]
        drawing = book / "drawings" / f"{folder}.svg"
        art = themed(drawing.read_text("utf-8")) if drawing.is_file() else ""
        total = time_of((station.name, station.minutes) for station in stations)
        lines.append(
            f'<li>{art}<p class="chapter-name"><a href="{stations[0].name}.html">{escape(title)}'
            f'</a> <span class="minutes">{len(stations)} pages, {total}</span></p>'
            f"<p>{escape(afterwards.get(folder, ''))}</p></li>"
        )
    return raw('<ul class="chapter-cards">', *lines, "</ul>")
