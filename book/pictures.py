"""The pictures of pages as the book shows them, light and dark, wide and narrow.

A plot whose panels stand side by side is cut between them: on a phone they stand one below the
other, where there is room they touch, as they were drawn.

A drawing stands in the page itself and takes the theme's colours; a plot is an image, which the
style turns over on dark paper. No letter becomes smaller than `LEAST`: where a picture would have
to shrink further, it scrolls. How large a plot's letters are, a run notes beside its alternative
text; of an older output, the code that drew it says so.
"""

import base64
import html
import io
import re
import struct
import sys
from importlib import import_module
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "lib")]
themed = import_module("deepdive_book.kit.palette").themed

LEAST = 9.2  # pixels, of a letter on the screen: 9, with room for a drawing in a drawing
POINT = 110 / 72  # pixels of plots, which have 110 to the inch
NAMED = {"xx-small": 5.79, "x-small": 6.94, "small": 8.33}  # in points, as matplotlib has them
GUTTER = 4  # pixels of white between two panels, at least
STEPS = (0, 1), (1, 0)  # where columns with ink begin and end
SIDE_BY_SIDE = re.compile(r"\bsubplots\(\s*1,\s*([234])\b([^()]*)\)")
ACROSS = re.compile(r"sharey|colorbar|suptitle|supxlabel|supylabel|figure\.legend")
SIZE = re.compile(r"""\b(?:font|label)?size=(?:"([a-z-]+)"|([5-9](?:\.\d+)?)\b)""")
EMBEDDED = re.compile(r'<img (?=[^>]*src="data:image/(png|svg\+xml);base64,([^"]+)")')


def figure(kind: str, data: str, alt: str, letters: float, panels: int = 1) -> str:
    """A page's picture in a box in which it scrolls; `letters` is what its smallest measure, and
    `panels` how many stand side by side in it (see `panels`).
    """
    if kind == "image/png" and alt and (parts := columns(data, panels)):
        return _row(parts, alt, letters)
    width = _width(kind, data)
    least = _sizes(width, _letters(data, letters)) if width else ""
    return f'<div class="dd-picture"{least}>{picture(kind, data, alt)}</div>'


def _row(parts: list[bytes], alt: str, letters: float) -> str:
    """Parts of one plot, side by side where there is room, else one below the other."""
    shown, wide = [], [_width("image/png", base64.b64encode(part).decode()) for part in parts]
    for number, (part, width) in enumerate(zip(parts, wide, strict=True), 1):
        told = alt if number == 1 else f"the same picture, part {number} of {len(parts)}"
        image = picture("image/png", base64.b64encode(part).decode(), told)
        size = _sizes(width, letters)[:-1] + f';--share:{100 * width / sum(wide) - 0.01:.2f}%"'
        shown.append(image.replace("<img", f"<img{size}", 1))
    return f'<div class="dd-picture dd-row">{"".join(shown)}</div>'


def panels(code: str, page: str) -> int:
    """How many panels the plot that `code` draws has side by side; 1 where they share anything."""
    drawn = _with_its_functions(code, page)
    found = SIDE_BY_SIDE.findall(drawn)
    return int(found[0][0]) if len(found) == 1 and not ACROSS.search(drawn) else 1


def columns(data: str, panels: int) -> list[bytes]:
    """A PNG's panels as PNGs of their own, if white runs from top to bottom right of each.

    An axis is ink from its left end to its right, so panels are the widest runs of columns that are
    not white. None are found where these are not about equal, or something reaches across.
    """
    if panels < 2:
        return []
    from PIL import Image

    image = Image.open(io.BytesIO(base64.b64decode("".join(data.split()))))
    image.load()
    ink, _ = image.convert("L").point([255] * 250 + [0] * 6).getprojection()  # by column, 0 or 1
    steps = list(pairwise([0, *ink, 0]))
    runs = list(
        zip(*([x for x, step in enumerate(steps) if step == way] for way in STEPS), strict=True)
    )
    wide = sorted((b - a for a, b in runs), reverse=True)
    if len(wide) < panels or wide[panels - 1] < 0.8 * wide[0]:
        return []
    if len(wide) > panels and wide[panels] > 0.5 * wide[panels - 1]:
        return []
    last = [i for i, (a, b) in enumerate(runs) if b - a >= wide[panels - 1]][: panels - 1]
    gaps = [(runs[i][1], runs[i + 1][0]) for i in last]
    if any(b - a < GUTTER for a, b in gaps):
        return []
    cuts = [0, *((a + b) // 2 for a, b in gaps), image.width]
    return [_png(image.crop((a, 0, b, image.height))) for a, b in pairwise(cuts)]


def _png(image: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format="png", optimize=True)
    return buffer.getvalue()


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
    code = _with_its_functions(code, page)
    if re.search(r"\bdigits=", code):  # numbers in the cells of a map
        code += 'size="small"'
    named = [NAMED.get(name, 10.0) if name else float(size) for name, size in SIZE.findall(code)]
    return min(named, default=10.0) * POINT


def _with_its_functions(code: str, page: str) -> str:
    """The code, and the bodies of the page's functions that it calls."""
    for name, body in re.findall(r"^def (\w+)(\(.*\n(?:(?: .*|)\n)*)", page, re.MULTILINE):
        if re.search(rf"\b{name}\(", code):
            code += body
    return code


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
