"""Sentences and their translations as points on a circle, and the table of their cosines. The
reader pulls pairs together, or ranks them, and sees where the points go.

    embedding_losses_demo([("she drinks tea", "elle boit du thé"), ...], seed=0)

A point is the direction of x + c: x is the sentence's own arrow, c one arrow that all of them have
in common, as a net's bias is. A step goes down the slope of the loss, for all x and for c:

    pull    the sum over i of |u_i - v_i|^2
    rank    `translation_ranking`, summed over the pairs, over its scale

A dot is a sentence, a diamond its translation; a cell of the table is filled by the row's share of
the softmax. Points can be dragged. Python draws the first state, which stays where nothing moves.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from deepdive_book.kit.diagrams import svg
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES, painted

SIDE, RADIUS = 300, 112  # of each drawing; of the circle
MARGIN, SCALE = 0.0, 5.0  # at first
COLORS = {
    "dot": "key", "diamond": "weight", "right": "value", "wrong": "query", "thread": "score",
    "share": "residual",
}  # fmt: skip
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
Point = tuple[float, float]


def embedding_losses_demo(pairs: Sequence[tuple[str, str]], seed: int = 0) -> Html:
    """Return the picture, with each text at a direction that `seed` draws.

    Raises ValueError unless there are 2 to 6 pairs.
    """
    if not 2 <= len(pairs) <= 6:
        raise ValueError(f"pairs: got {len(pairs)}, expected 2 to 6")
    begin = angles(len(pairs), seed)
    spec = {
        "pairs": [list(pair) for pair in pairs],
        "at": begin,
        "colours": {name: ROLES[role] for name, role in COLORS.items()},
    }
    given = json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
    name = f"pr{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    one, other = ([(math.cos(a), math.sin(a)) for a in side] for side in begin)
    said = alt_text(one, other)
    circle, grid = _circle(one, other), _grid(one, other)
    options = "".join(
        f'<option value="{k},{i}">{escape(pair[k])}' for k in (0, 1) for i, pair in enumerate(pairs)
    )
    html = _PAGE.format(
        id=name, style=painted(_STYLE), circle=circle, grid=grid, said=escape(said),
        count=len(pairs), options=options, margin=MARGIN, scale=SCALE,
        listed="".join(f"<li>{escape(a)} <i>{escape(b)}</i></li>" for a, b in pairs),
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    drawn = Picture([svg(SIDE, SIDE, [circle]), svg(SIDE, SIDE, [grid])], said)
    return Html(html, f"[pull and rank: {said}]", [drawn])


def angles(count: int, seed: int) -> list[list[float]]:
    """The first directions of sentences and translations, (2, count), from 0 to 2 pi."""
    draw = random.Random(seed)
    return [[round(draw.uniform(0, 2 * math.pi), 3) for _ in range(count)] for _ in (0, 1)]


def _cosines(one: Sequence[Point], other: Sequence[Point]) -> list[list[float]]:
    return [[a * c + b * d for c, d in other] for a, b in one]


def alt_text(one: Sequence[Point], other: Sequence[Point]) -> str:
    """The state at the first step, in words: one, other are points of length 1."""
    c, n = _cosines(one, other), len(one)
    rows = sum(max(row) == row[i] for i, row in enumerate(c))
    columns = sum(max(row[j] for row in c) == c[j][j] for j in range(n))
    bits = sum(_bits(c[i], i) + _bits([row[i] for row in c], i) for i in range(n)) / (2 * n)
    apart = (sum(map(sum, c)) - sum(c[i][i] for i in range(n))) / (n * n - n)
    return (
        f"Step 0. Ranking costs {bits:.2f} bits. {rows} of {n} sentences have their translation as "
        f"the nearest, {columns} of {n} translations their sentence. Mean cosine of what does not "
        f"belong together: {apart:.2f}."
    )


def _shares(row: Sequence[float]) -> list[float]:
    weights = [math.exp(SCALE * (x - max(row))) for x in row]
    return [w / sum(weights) for w in weights]


def _bits(row: Sequence[float], i: int) -> float:
    return -math.log2(_shares(row)[i])


def _place(point: Point) -> tuple[float, float]:
    return round(SIDE / 2 + RADIUS * point[0], 1), round(SIDE / 2 - RADIUS * point[1], 1)


def _g(*numbers: float) -> str:
    return " ".join(f"{x:.1f}".removesuffix(".0") for x in numbers)


def _circle(one: Sequence[Point], other: Sequence[Point]) -> str:
    """The circle; for each pair a line, a dot and a diamond, with its number outside."""
    parts = [
        f'<circle class="pr-way" cx="150" cy="150" r="{RADIUS}" fill="none" '
        f'stroke="{ROLES["score"]}"/>'
    ]
    for i, (a, b) in enumerate(zip(one, other, strict=True)):
        (x, y), (u, v) = _place(a), _place(b)
        parts.append(
            f'<line x1="{_g(x)}" y1="{_g(y)}" x2="{_g(u)}" y2="{_g(v)}" stroke="{ROLES["score"]}" '
            'stroke-dasharray="4 4"/>'
        )
        for point, mark in ((a, _dot(x, y)), (b, _diamond(u, v))):
            far = _place((1.22 * point[0], 1.22 * point[1]))
            parts.append(
                f'{mark}<text x="{_g(far[0])}" y="{_g(far[1] + 5)}" font-size="16" '
                f'text-anchor="middle" fill="currentColor">{i + 1}</text>'
            )
    return "".join(parts)


def _dot(x: float, y: float) -> str:
    return f'<circle class="pr-end" cx="{_g(x)}" cy="{_g(y)}" r="8" fill="{ROLES["key"]}"/>'


def _diamond(x: float, y: float) -> str:
    ends = [_g(x, y - 9), _g(x + 9, y), _g(x, y + 9), _g(x - 9, y)]
    return f'<path class="pr-end" d="M{"L".join(ends)}Z" fill="{ROLES["weight"]}"/>'


def _grid(one: Sequence[Point], other: Sequence[Point]) -> str:
    """The cosines; a cell is filled by its share of the row, the row's largest is framed."""
    found, n = _cosines(one, other), len(one)
    cell = 264 // n
    marks = []
    for i, row in enumerate(found):
        best, middle = row.index(max(row)), 30 + cell * (i + 0.5)
        marks.append(_number(16, middle + 5, i + 1) + _number(middle, 20, i + 1))
        for j, share in enumerate(_shares(row)):
            x, y = 30 + cell * j, 30 + cell * i
            color = "none" if j != best else ROLES["value" if i == j else "query"]
            marks.append(
                f'<rect x="{x + 2}" y="{y + 2}" width="{cell - 4}" height="{cell - 4}" '
                f'fill="{ROLES["residual"]}" fill-opacity="{share * 0.6:.2f}" stroke="{color}" '
                f'stroke-width="3"/>' + _number(x + cell / 2, y + cell / 2 + 5, _signed(row[j]))
            )
    return "".join(marks)


def _signed(x: float) -> str:
    """To one place, with a minus that is as wide as a digit, and none before 0.0."""
    return f"{x:z.1f}".replace("-", "−")


def _number(x: float, y: float, value: Any) -> str:
    return (
        f'<text x="{_g(x)}" y="{_g(y)}" font-size="15" text-anchor="middle" fill="currentColor">'
        f"{value}</text>"
    )


_STYLE = """
.pr { max-width: 44rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }
.pr-both { display: flex; flex-wrap: wrap; gap: .6em; }
.pr-both svg { flex: 1 1 17rem; min-width: 0; max-width: 21rem; }
.pr-both svg:first-child { touch-action: none; cursor: grab; }
.pr ol { columns: 2 15rem; margin: .3em 0; padding-left: 1.5em; }
.pr li i { opacity: .8; margin-left: .4em; }
.pr-controls { display: grid; gap: .4em; }
.pr-controls[hidden] { display: none; }
.pr label { display: flex; flex-wrap: wrap; gap: .2em .6em; align-items: center; }
.pr label output { min-width: 2.6em; font-variant-numeric: tabular-nums; }
.pr input[type=range] { flex: 1; min-width: 8rem; min-height: 2.2rem; margin: 0;
  accent-color: @residual; }
.pr-press { display: flex; flex-wrap: wrap; gap: .4em; }
.pr button, .pr select { font: inherit; color: inherit; background: transparent; cursor: pointer;
  min-height: 2.4rem; padding: .1em .6em; max-width: 100%; border-radius: .4em;
  border: 1px solid color-mix(in srgb, currentColor 55%, transparent); }
.pr option { color: #000; background: #fff; }
.pr :focus-visible { outline: 3px solid @key; outline-offset: 1px; }
.pr [role=status] { min-height: 5.6em; margin: .4em 0; }
@media (max-width: 500px) { .pr [role=status] { min-height: 8.4em; } }
@media print { .pr-controls { display: none; } }
"""

_PAGE = """\
<style>{style}</style>
<div class="pr" id="{id}" role="group" aria-label="Sentences and translations on a circle">
<div class="pr-both">
<svg viewBox="0 0 300 300" role="img" aria-label="A circle with numbered dots and diamonds">\
{circle}</svg>
<svg viewBox="0 0 300 300" role="img" aria-label="A table of cosines: rows are sentences, columns \
translations">{grid}</svg></div>
<ol>{listed}</ol>
<div class="pr-controls" hidden>
<div class="pr-press"><button type="button">pull: 1 step</button>
<button type="button">pull: 20 steps</button><button type="button">rank: 1 step</button>
<button type="button">rank: 20 steps</button><button type="button">begin again</button></div>
<label>pairs in the batch <input type="range" min="2" max="{count}" step="1" value="{count}">
<output>{count}</output></label>
<label>margin <input type="range" min="0" max="0.6" step="0.05" value="{margin}">
<output>{margin:.2f}</output></label>
<label>scale <input type="range" min="1" max="20" step="1" value="{scale}">
<output>{scale:g}</output></label>
<label>turn <select>{options}</select><input type="range" min="0" max="360" step="3" value="0"
 aria-label="its direction"></label></div>
<p role="status" aria-live="polite">{said}</p>
</div>
{script}"""
