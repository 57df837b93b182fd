"""Weights on the marks of their blocks: the reader moves the bits, the block's length, one weight.

    quantization_slider(weights, bits=4, block=32, outlier=9)

Each block has its own ruler, from its smallest weight to its largest, with 2 ** bits marks; a
weight is kept as the number of the nearest mark. A second slider makes one weight larger. Python
draws the first state, which stays where nothing moves: on paper and without scripts.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from pathlib import Path

from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

BITS = range(1, 9)
BLOCKS = (4, 8, 16, 32, 64)
TIMES = (1, 2, 4, 8, 16)
OWN = 32  # bits that a block's scale and minimum take
WIDE, LEFT, TOP, HIGH = 400.0, 34.0, 8.0, 224.0
DRAWN = 5  # bits up to which each mark is drawn
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Block:
    """Some weights on their ruler: its lowest mark, the distance of its marks, the number of the
    mark of each weight.
    """

    lowest: float
    step: float
    marks: tuple[int, ...]

    @property
    def rounded(self) -> list[float]:
        return [self.lowest + self.step * q for q in self.marks]


def on_marks(weights: Sequence[float], bits: int, block: int) -> list[Block]:
    """Return the blocks of some weights."""
    found = []
    for at in range(0, len(weights), block):
        row = weights[at : at + block]
        step = (max(row) - min(row)) / (2**bits - 1)
        marks = tuple(floor((w - min(row)) / step + 0.5) if step else 0 for w in row)
        found.append(Block(min(row), step, marks))
    return found


def quantization_slider(
    weights: Sequence[float], *, bits: int = 4, block: int = 32, outlier: int = 0
) -> Html:
    """Return the picture of whole blocks of weights, in whole numbers of some unit.

    outlier  the place of the weight that the reader can make larger

    Raises ValueError for weights that the blocks do not fill, or settings that no slider has.
    """
    if not weights or len(weights) % BLOCKS[-1] or not 0 <= outlier < len(weights):
        raise ValueError(
            f"weights, outlier: got {len(weights)} weights and place {outlier}; expected a "
            f"multiple of {BLOCKS[-1]} weights, and one of their places"
        )
    if bits not in BITS or block not in BLOCKS:
        raise ValueError(
            f"bits={bits}, block={block}: expected {BITS[0]} to {BITS[-1]} bits, and a block of "
            f"{', '.join(map(str, BLOCKS))}"
        )
    spec = {"weights": [*weights], "outlier": outlier, "blocks": BLOCKS, "times": TIMES}
    given = json.dumps(spec, separators=(",", ":"))
    name = f"fb{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    drawn = _drawing(weights, bits, block)
    said = alt_text(weights, bits, block)
    html = _PAGE.format(
        id=name, drawn=drawn, told=said, bits=bits, first=BITS[0], last=BITS[-1], block=block,
        blocks=len(BLOCKS) - 1, at=BLOCKS.index(block), times=len(TIMES) - 1,
        weight=ROLES["weight"], key=ROLES["key"], query=ROLES["query"],
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    alt = ("Weights as open dots over their places; behind each block of them its marks, level "
           "lines at equal distances; a full dot on the nearest mark of each weight.")  # fmt: skip
    return Html(html, f"[few bits: {said}]", [Picture([drawn], alt, ["weights"])])


def larger(weights: Sequence[float], outlier: int, times: int) -> list[float]:
    """The weights with one of them so many times as large."""
    return [w * times if i == outlier else w for i, w in enumerate(weights)]


def alt_text(weights: Sequence[float], bits: int, block: int) -> str:
    """The state in words."""
    blocks = on_marks(weights, bits, block)
    near = [x for each in blocks for x in each.rounded]
    moved = [abs(x - w) for x, w in zip(near, weights, strict=True)]
    steps = [each.step for each in blocks]
    apart = f"{min(steps):.1f}"
    if f"{max(steps):.1f}" != apart:
        apart = f"{apart} to {max(steps):.1f}"
    return (
        f"{bits} + {OWN}/{block} = {_short(bits + OWN / block)} bits a weight. "
        f"{2**bits} marks a block, {apart} apart. A weight moves by "
        f"{sum(moved) / len(moved):.2f} on average, by {max(moved):.1f} at most."
    )


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _y(value: float, low: float, high: float) -> float:
    return TOP + HIGH * (high - value) / (high - low)


def _drawing(weights: Sequence[float], bits: int, block: int) -> str:
    low, high = min(weights), max(weights)
    low, high = low - (high - low) / 20, high + (high - low) / 20
    body = []
    for value in (round(min(weights)), 0, round(max(weights))):
        y = _y(value, low, high)
        body.append(f'<text x="{LEFT - 6:g}" y="{y + 4:.1f}" font-size="12" text-anchor="end" '
                    f'fill="currentColor">{str(value).replace("-", "−")}</text>')  # fmt: skip
    inner = _inner(weights, bits, block, low, high)
    return (
        f'<svg viewBox="0 0 {WIDE:g} {TOP + HIGH + 8:g}" width="100%" style="max-width:44rem" '
        f'font-family="{FONT}" class="fb-all" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="Weights and the marks of their blocks">{"".join(body)}'
        f'<g class="fb-inner">{inner}</g></svg>'
    )


def _inner(weights: Sequence[float], bits: int, block: int, low: float, high: float) -> str:
    wide = (WIDE - LEFT - 4) / len(weights)
    body = []
    for k, each in enumerate(on_marks(weights, bits, block)):
        x0, x1 = LEFT + wide * block * k + 1, LEFT + wide * block * (k + 1) - 1
        if bits > DRAWN:
            y0, y1 = (_y(each.lowest + each.step * q, low, high) for q in (2**bits - 1, 0))
            body.append(f'<rect x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" height="'
                        f'{y1 - y0:.1f}" fill="{ROLES["weight"]}" opacity="0.35"/>')  # fmt: skip
        for q in range(2**bits if bits <= DRAWN else 0):
            y = _y(each.lowest + each.step * q, low, high)
            body.append(f'<path d="M{x0:.1f} {y:.1f}H{x1:.1f}" stroke="{ROLES["weight"]}"/>')
        for i, near in enumerate(each.rounded):
            x, w = LEFT + wide * (block * k + i + 0.5), weights[block * k + i]
            y, to = _y(w, low, high), _y(near, low, high)
            body.append(
                f'<path d="M{x:.1f} {y:.1f}V{to:.1f}" stroke="{ROLES["query"]}" stroke-width="2"/>'
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="none" stroke="{ROLES["key"]}"/>'
                f'<circle cx="{x:.1f}" cy="{to:.1f}" r="1.8" fill="{ROLES["query"]}"/>'
            )
    return "".join(body)


_PAGE = """\
<style>
.fb {{ max-width: 44rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.fb p {{ margin: .35em 0; min-height: 4.2em; font-variant-numeric: tabular-nums; }}
.fb svg {{ display: block; margin: .4em 0; }}
.fb-choose {{ display: flex; flex-wrap: wrap; gap: .2em 1.4em; }}
.fb-choose[hidden] {{ display: none; }}
.fb-choose label {{ display: flex; gap: .5em; align-items: center; margin: 0; }}
.fb-choose input {{ width: min(8rem, 34vw); min-height: 2.4rem; margin: 0; accent-color: {query}; }}
.fb-choose output {{ min-width: 2.2em; font-variant-numeric: tabular-nums; }}
.fb-choose :focus-visible {{ outline: 3px solid {weight}; outline-offset: 2px; }}
.fb-key {{ display: inline-block; width: .6em; height: .6em; border-radius: 50%; }}
@media print {{ .fb-choose {{ display: none; }} .fb p {{ min-height: 0; }} }}
</style>
<div class="fb" id="{id}" role="group" aria-label="Weights rounded to the marks of their blocks">
<div class="fb-choose" hidden>
<label>bits <input type="range" min="{first}" max="{last}" value="{bits}">
<output>{bits}</output></label>
<label>weights a block <input type="range" min="0" max="{blocks}" value="{at}">
<output>{block}</output></label>
<label>one weight times <input type="range" min="0" max="{times}" value="0">
<output>1</output></label>
</div>
{drawn}
<small><span class="fb-key" style="border:1.5px solid {key}"></span> weight &nbsp;
<span class="fb-key" style="background:{query}"></span> what is kept of it &nbsp;
<span style="color:{weight}">━</span> the marks of its block</small>
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""
