"""The pictures of pages as the book shows them, light and dark, wide and narrow.

A drawing stands in the page itself and takes the theme's colours; a plot is an image, which the
style turns over on dark paper. No letter becomes smaller than `LEAST`: where a picture would have
to shrink further, it scrolls. How large a plot's letters are, a run notes beside its alternative
text; of an older output, the code that drew it says so.
"""

import base64
import html
import re
import struct
import sys
from importlib import import_module
from math import ceil
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "lib")]
themed = import_module("deepdive.page.palette").themed

LEAST = 9.2  # pixels, of a letter on the screen: 9, with room for a drawing in a drawing
POINT = 110 / 72  # pixels of plots, which have 110 to the inch
NAMED = {"xx-small": 5.79, "x-small": 6.94, "small": 8.33}  # in points, as matplotlib has them
SIZE = re.compile(r"""\b(?:font|label)?size=(?:"([a-z-]+)"|([5-9](?:\.\d+)?)\b)""")
EMBEDDED = re.compile(r'<img (?=[^>]*src="data:image/(png|svg\+xml);base64,([^"]+)")')


def figure(kind: str, data: str, alt: str, letters: float) -> str:
    """A page's picture in a box in which it scrolls; `letters` is what its smallest measure."""
    width = _width(kind, data)
    least = _sizes(width, _letters(data, letters)) if width else ""
    return f'<div class="dd-picture"{least}>{picture(kind, data, alt)}</div>'


def picture(kind: str, data: str, alt: str) -> str:
    """The picture alone; where alternative text is missing, the check names it."""
    if kind == "image/svg+xml" and alt and data.startswith("<svg "):
        start, rest = data.split(">", 1)
        rest = rest.replace(' role="img"', "")  # a drawing may hold others: one text tells all
        return themed(f'<svg aria-label="{html.escape(alt)}"{start.removeprefix("<svg")}>{rest}')
    if kind == "image/svg+xml":
        data = base64.b64encode(data.encode()).decode()
    text = f' alt="{html.escape(alt)}"' if alt else ""
    return f'<img src="data:{kind};base64,{"".join(data.split())}"{text}>'


def embedded(shown: str, letters: float) -> str:
    """The HTML of an output in the theme's colours, its images no smaller than can be read."""

    def sized(image: re.Match[str]) -> str:
        kind, data = f"image/{image[1]}", image[2]
        if image[1] != "png":
            data = base64.b64decode(data).decode()
        return f"<img{_sizes(_width(kind, data), _letters(data, letters))} "

    return themed(EMBEDDED.sub(sized, shown))


def letters(code: str, page: str) -> float:
    """The smallest letters, in pixels, of a plot that `code` draws, with functions of its page."""
    for name, body in re.findall(r"^def (\w+)(\(.*\n(?:(?: .*|)\n)*)", page, re.MULTILINE):
        if re.search(rf"\b{name}\(", code):
            code += body
    if re.search(r"\bdigits=", code):  # numbers in the cells of a map
        code += 'size="small"'
    named = [NAMED.get(name, 10.0) if name else float(size) for name, size in SIZE.findall(code)]
    return min(named, default=10.0) * POINT


def _letters(data: str, letters: float) -> float:
    """What a drawing says of its own letters, else what is given."""
    return min(map(float, re.findall(r'font-size="([\d.]+)"', data)), default=letters)


def _sizes(width: float, letters: float) -> str:
    return f' style="--wide:{width:g}px;--least:{min(ceil(width * LEAST / letters), width):g}px"'


def _width(kind: str, data: str) -> float:
    """Of an image as a notebook keeps it; 0 where it is neither SVG nor PNG."""
    if kind == "image/svg+xml":
        box = re.search(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ', data)
        return float(box[1]) if box else 0
    if kind == "image/png":
        start = base64.b64decode("".join(data[:80].split()) + "==")
        return float(struct.unpack(">I", start[16:20])[0])
    return 0
