"""The labels of drawings stay in their boxes, in a wide face too: readers have different fonts."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import nbformat
import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from deepdive_book.site.pages import discover

ROOT = Path(__file__).resolve().parents[2]
WIDE = FontProperties(family="DejaVu Sans")  # 12% wider than Arial: what many Linux readers see


def drawings(notebook: Any) -> list[str]:
    """The SVG text of a page's drawings."""
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    return [out.data["image/svg+xml"] for out in outputs if "image/svg+xml" in out.get("data", {})]


def overflowing(drawing: str) -> list[str]:
    """The labels that are centred in a box and wider than it."""
    root = ET.fromstring(drawing)
    boxes = [
        [float(rect.get(name, 0)) for name in ("x", "y", "width", "height")]
        for rect in root.iter("{http://www.w3.org/2000/svg}rect")
    ]
    found = []
    for label in root.iter("{http://www.w3.org/2000/svg}text"):
        x, y, words = float(label.get("x", 0)), float(label.get("y", 0)), "".join(label.itertext())
        if not words.strip() or "transform" in label.attrib:
            continue
        size = float(label.get("font-size", 16))
        width = TextPath((0, 0), words, size=size, prop=WIDE).get_extents().width
        around = [w for left, top, w, h in boxes if abs(left + w / 2 - x) < 1 and top < y < top + h]
        if around and width > min(around):
            found.append(f"{words!r} is {width:.0f} wide in a box of {min(around):.0f}")
    return found


def test_a_label_that_leaves_its_box_is_named() -> None:
    box = '<rect x="0" y="0" width="40" height="40"/><text x="20" y="25" font-size="13">{}</text>'
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg">{box}</svg>'
    assert overflowing(drawing.format("m")) == []
    assert overflowing(drawing.format("m × m")) == ["'m × m' is 42 wide in a box of 40"]


@pytest.mark.parametrize("page", discover(ROOT), ids=lambda page: page.name)
def test_the_labels_of_a_page_s_drawings_stay_in_their_boxes(page: Any) -> None:
    notebook = nbformat.read(page.notebook, as_version=4)
    found = [text for drawing in drawings(notebook) for text in overflowing(drawing)]
    assert not found, "\n".join(found)
