"""Where a page teaches a system: its headings, and the anchors that the book gives them."""

import re
from functools import cache
from pathlib import Path

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
