"""The first page: the live model of a page, and a card for each chapter.

Both are written as HTML that needs no torch: the model is the output of a committed notebook, and
what a reader can do after a chapter stands in `chapters.yaml`.
"""

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import nbformat
import yaml
from paths import Station, hours, raw

LIVE = "chapters/02_transformer/12_decoder"


def live(root: Path) -> str:
    """The model that runs in a page, as its notebook has it, or nothing where there is none."""
    notebook = root / f"{LIVE}.ipynb"
    if not notebook.is_file():
        return ""
    for html in shown(nbformat.read(notebook, as_version=4)):
        if 'class="livemodel"' in html:
            more = f'<p><a href="{LIVE}.html">How it works, and all that can be moved</a></p>'
            return raw(f'<div class="front-live">{html}{more}</div>')
    return ""


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
        art = drawing.read_text("utf-8") if drawing.is_file() else ""
        total = hours(sum(station.minutes for station in stations))
        lines.append(
            f'<li>{art}<p class="chapter-name"><a href="{stations[0].name}.html">{escape(title)}'
            f'</a> <span class="minutes">{len(stations)} pages, {total}</span></p>'
            f"<p>{escape(afterwards.get(folder, ''))}</p></li>"
        )
    return raw('<ul class="chapter-cards">', *lines, "</ul>")
