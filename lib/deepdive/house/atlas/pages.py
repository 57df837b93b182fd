"""Where a page teaches a system: its headings, and the anchors that the book gives them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from deepdive.house.atlas.headers import Header

_HEADING = re.compile(r"^# (#+) (.+)$", re.MULTILINE)


def anchor(title: str) -> str:
    """Return the anchor of a heading in the built book: `3. Score` -> `score`."""
    plain = re.sub(r"[`*$]", "", title.lower())
    return re.sub(r"^[\d-]+", "", re.sub(r"[^a-z0-9]+", "-", plain)).strip("-")


@cache
def headings(page: Path) -> tuple[tuple[int, str], ...]:
    """Return the place in the text and the anchor of each heading of a page's source."""
    text = page.read_text("utf-8")
    return tuple((found.start(), anchor(found[2])) for found in _HEADING.finditer(text))


def _before(page: Path, place: int) -> str:
    return [name for start, name in headings(page) if start <= place][-1]


def page_of(header: Header, chapter: str, root: Path) -> str:
    """Return `page#anchor` where a system is taught, or "" where no page does.

    The header's `Page` says it; a header in a page's own comment is taught at that page's title;
    else it is the heading under which a page of its chapter first uses one of its classes.
    """
    if header.page:
        return header.page if header.page.startswith("c") else f"chapters/{header.page}"
    if not header.module.startswith("deepdive"):
        return f"{header.module}#{headings(root / f'{header.module}.py')[0][1]}"
    names = [header.part] if header.part else [*header.cases, rf"{header.module}\b"]
    wanted = re.compile(rf"^[^#\n]*\b(?:{'|'.join(names)})\b", re.MULTILINE)
    for page in sorted(root.glob(f"chapters/0{chapter}_*/[0-9]*.py")):
        if found := wanted.search(page.read_text("utf-8")):
            name = page.relative_to(root).with_suffix("").as_posix()
            return f"{name}#{_before(page, found.start())}"
    return ""
