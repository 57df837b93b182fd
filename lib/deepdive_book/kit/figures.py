"""Every figure that a page shows, saved as SVG and as PDF, where `DEEPDIVE_FIGURES` asks for it.

`DEEPDIVE_FIGURES=out/page` makes out/page-01.svg, out/page-02.svg ... and out/page.json, which has
each figure's alternative text and the cell that showed it. A plot is also saved as PDF; a drawing
or a film's strip becomes one in `make figures`, printed by a browser. The same figure, shown again
with the same text, is saved once. A page's own outputs stay as they are: copies are drawn.
"""

import copy
import hashlib
import io
import json
import os
import sys
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

SETTING = "DEEPDIVE_FIGURES"
LICENSE = "https://creativecommons.org/licenses/by/4.0/"
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
RDF, DC = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://purl.org/dc/elements/1.1/"
# `system-ui` is a browser's word; these are names, Arial's twins among them.
FONTS = "Arial,Helvetica,'Liberation Sans','DejaVu Sans',sans-serif"
ROW, GAP, LINE = 960.0, 16.0, 17.0  # of a strip: its width, between frames, a caption's line

for _name, _space in (("", SVG), ("xlink", XLINK), ("rdf", RDF), ("dc", DC)):
    ET.register_namespace(_name, _space)


@dataclass(frozen=True)
class Picture:
    """What is shown in one place: one frame, or several side by side with a caption each.

    A frame is a matplotlib figure, or SVG text with a viewBox.
    """

    frames: Sequence[Any]
    alt: str
    captions: Sequence[str] = ()


_saved: dict[str, dict[str, Any]] = {}  # digest of what was saved -> its entry, in order
# figure -> what it was saved with: drawn again, it has another digest, for its layout has moved
_seen: WeakKeyDictionary[Any, tuple[str, str]] = WeakKeyDictionary()


def save(picture: Picture) -> None:
    """Save what a page shows, if `DEEPDIVE_FIGURES` is set and it was not saved before."""
    prefix = os.environ.get(SETTING, "")
    first = picture.frames[0]
    if not prefix or (not isinstance(first, str) and _seen.get(first) == (prefix, picture.alt)):
        return
    if not isinstance(first, str):
        _seen[first] = prefix, picture.alt
    single = len(picture.frames) == 1
    drawn = [_svg(frame, tight=single) for frame in picture.frames]
    root = drawn[0] if single else _strip(drawn, picture)
    body = ET.tostring(root, encoding="unicode")
    digest = hashlib.sha256(f"{prefix}\n{picture.alt}\n{body}".encode()).hexdigest()
    if digest in _saved:
        return
    place = Path(prefix)
    earlier = [entry for entry in _saved.values() if entry["prefix"] == prefix]
    number = len(earlier) + 1
    path = place.with_name(f"{place.name}-{number:02d}.svg")
    path.parent.mkdir(parents=True, exist_ok=True)
    title = f"{place.name}, figure {number}"
    _describe(root, path.stem, title, picture.alt)
    path.write_text(ET.tostring(root, encoding="unicode") + "\n", encoding="utf-8")
    if single and not isinstance(first, str):
        metadata = {
            "Title": title,
            "Subject": picture.alt,
            "Keywords": LICENSE,
            "CreationDate": None,
        }
        path.with_suffix(".pdf").write_bytes(_drawn(first, "pdf", metadata))
    entry = {"svg": path.name, "alt": picture.alt, "cell": _cell(), "prefix": prefix}
    _saved[digest] = entry
    kept = [{k: v for k, v in e.items() if k != "prefix"} for e in [*earlier, entry]]
    text = json.dumps({"figures": kept}, indent=1, ensure_ascii=False)
    place.with_name(f"{place.name}.json").write_text(text + "\n", encoding="utf-8")


def save_opening(drawing: str, alt: str, path: Path) -> dict[str, Any]:
    """Save the drawing that a page opens with, which no cell shows; return its entry: cell 0."""
    root = _svg(drawing, tight=True)
    _describe(root, path.stem, f"{path.stem.rpartition('-')[0]}, opening figure", alt)
    path.write_text(ET.tostring(root, encoding="unicode") + "\n", encoding="utf-8")
    return {"svg": path.name, "alt": alt, "cell": 0}


def _cell() -> int:
    """The execution count of the cell that runs; 0 outside a notebook."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python else None
    # not shell.execution_count: some releases count on before the cell runs, some after
    return len(shell.history_manager.input_hist_raw) - 1 if shell else 0


def _drawn(figure: Any, kind: str, metadata: dict[str, Any], tight: bool = True) -> bytes:
    """A copy of the figure as a file: drawing moves what the layout places, if only a little."""
    import matplotlib as mpl

    from deepdive_book.kit.fonts import one_warning

    buffer = io.BytesIO()
    box = "tight" if tight else None
    with mpl.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "deepdive"}):
        twin = copy.deepcopy(figure)
        with one_warning():
            twin.savefig(buffer, format=kind, bbox_inches=box, dpi=300, metadata=metadata)
    return buffer.getvalue()


def _svg(frame: Any, tight: bool) -> ET.Element:
    """A frame as an SVG element that has a size, on white, in fonts that have names."""
    if not isinstance(frame, str):
        none = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        return ET.fromstring(_drawn(frame, "svg", none, tight))
    root = ET.fromstring(frame)
    left, top, width, height = root.get("viewBox", "").split()
    for drawing in root.iter(f"{{{SVG}}}svg"):  # a drawing may hold others
        drawing.set("style", f"font-family:{FONTS}")
        drawing.attrib.pop("role", None)
    root.set("width", width)
    root.set("height", height)
    root.set("color", "#000")
    paper = {"x": left, "y": top, "width": width, "height": height, "fill": "#fff"}
    root.insert(0, ET.Element(f"{{{SVG}}}rect", paper))
    return root


def _strip(frames: list[ET.Element], picture: Picture) -> ET.Element:
    """Frames side by side in rows, each over its caption."""
    boxes = [[float(x) for x in frame.get("viewBox", "").split()] for frame in frames]
    wide, tall = max(box[2] for box in boxes), max(box[3] for box in boxes)
    width = min(wide, max(220.0, 0.75 * wide), ROW)
    height = tall * width / wide
    across = min(len(frames), max(1, int((ROW + GAP) // (width + GAP))))
    captions = [textwrap.wrap(c.replace("`", ""), int(width / 7)) for c in picture.captions]
    down = height + GAP + LINE * max(map(len, captions), default=0)
    size = (across * (width + GAP) + GAP, -(-len(frames) // across) * (down + GAP) + GAP)
    root = ET.Element(f"{{{SVG}}}svg", _size(*size))
    ET.SubElement(root, f"{{{SVG}}}rect", {**_size(*size, box=False), "fill": "#fff"})
    for i, (frame, lines) in enumerate(zip(frames, captions, strict=True)):
        x, y = GAP + i % across * (width + GAP), GAP + i // across * (down + GAP)
        _rename(frame, f"frame{i + 1}-")
        for key, value in (("x", x), ("y", y), ("width", width), ("height", height)):
            frame.set(key, f"{value:g}")
        root.append(frame)
        text = ET.SubElement(root, f"{{{SVG}}}text", {"font-size": "13", "font-family": FONTS})
        for j, line in enumerate(lines):
            at = {"x": f"{x:g}", "y": f"{y + height + LINE * (j + 1):g}"}
            ET.SubElement(text, f"{{{SVG}}}tspan", at).text = line
    return root


def _size(width: float, height: float, box: bool = True) -> dict[str, str]:
    sides = {"width": f"{width:g}", "height": f"{height:g}"}
    return {"viewBox": f"0 0 {width:g} {height:g}", **sides} if box else sides


def _rename(frame: ET.Element, prefix: str) -> None:
    """Make a frame's names unlike those of the others, and what refers to them."""
    for element in frame.iter():
        for key, value in element.attrib.items():
            if key == "id":
                element.set(key, prefix + value)
            elif key.endswith("href") and value.startswith("#"):
                element.set(key, f"#{prefix}{value[1:]}")
            else:
                element.set(key, value.replace("url(#", f"url(#{prefix}"))


def _describe(root: ET.Element, name: str, title: str, alt: str) -> None:
    """Put title, alternative text and licence first into the file, where readers look for them."""
    for old in root.findall(f"{{{SVG}}}metadata"):
        root.remove(old)
    metadata = ET.Element(f"{{{SVG}}}metadata")
    rdf = ET.SubElement(metadata, f"{{{RDF}}}RDF")
    about = ET.SubElement(rdf, f"{{{RDF}}}Description", {f"{{{RDF}}}about": ""})
    for key, value in (("title", title), ("description", alt), ("rights", LICENSE)):
        ET.SubElement(about, f"{{{DC}}}{key}").text = value
    parts = [metadata]
    for key, value in (("desc", alt), ("title", title)):
        part = ET.Element(f"{{{SVG}}}{key}", {"id": f"figure-{name}-{key}"})
        part.text = value
        parts.append(part)
    for part in parts:
        root.insert(0, part)
    root.set("role", "img")
    root.set("aria-labelledby", f"figure-{name}-title")
    root.set("aria-describedby", f"figure-{name}-desc")
