"""An image that the reader moves, and what two or more models, asked before, say of it everywhere.

    image_shift_robustness([Moved("a boot", pixels, kind, {"CNN": probabilities, "ViT": ...})],
    names, reach=6)

For each model stands a map with a square for each move: the fuller, the surer is the model of the
right kind; where it says another kind, the square is crossed. The image is dragged, or moved by the
arrow keys, and a press on a square moves it there. What comes in at an edge is empty. Python draws
the first state, which stays where nothing moves: on paper, without scripts.
"""

import base64
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

WIDE, SIDE, TOP, MAP, GAP = 400.0, 120.0, 22.0, 121.0, 16.0  # of the drawing, of image and maps
COLORS = (ROLES["key"], ROLES["query"])
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Moved:
    """An image and what each model says of it, moved.

    pixels   (H, W) bytes, a square; 0 is empty
    kind     the number of the right kind
    says     model -> probabilities (n, n, kinds) for each move, n = 2 * reach + 1: first axis down
             from -reach to reach, second axis across
    """

    called: str
    pixels: Any
    kind: int
    says: Mapping[str, Any]


def image_shift_robustness(images: Sequence[Moved], names: Sequence[str], *, reach: int) -> Html:
    """Return the picture, with the first image where it was taken.

    Args:
        images: at least one; all with the same two models.
        names: the kinds' names.
        reach: how far the image moves, in pixels.

    Raises:
        ValueError: there is no image, models differ or are not two, or a shape does not fit.
    """
    n = 2 * reach + 1
    models = list(images[0].says) if images else []
    if len(models) != len(COLORS):
        raise ValueError(f"images: got models {models}, expected one image or more, of two")
    values: list[dict[str, Any]] = []
    for image in images:
        pixels, said = np.asarray(image.pixels), {}
        if pixels.ndim != 2 or pixels.shape[0] != pixels.shape[1] or pixels.dtype != np.uint8:
            raise ValueError(f"{image.called}: pixels got {pixels.shape}, expected a byte square")
        for model in models:
            rows = np.asarray(image.says.get(model, ()), dtype=np.float64)
            if rows.shape != (n, n, len(names)):
                wanted = (n, n, len(names))
                raise ValueError(f"{image.called}, {model}: got {rows.shape}, expected {wanted}")
            said[model] = {
                "top": rows.argmax(-1).tolist(), "sure": rows[..., image.kind].round(2).tolist(),
            }  # fmt: skip
        values.append(
            {"called": image.called, "side": len(pixels), "kind": image.kind, "says": said,
             "png": png(pixels)}
        )  # fmt: skip
    given = json.dumps(
        {"images": values, "names": list(names), "models": models, "reach": reach, "map": MAP,
         "side": SIDE, "top": TOP, "lefts": [_left(m) for m in range(len(models))]},
        separators=(",", ":"),
    )  # fmt: skip
    name = f"sh{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    drawn, told = (
        _drawing(values[0], models, names, reach),
        describe(values[0], models, names, 0, 0),
    )
    options = "".join(f"<option value={i}>{escape(v['called'])}" for i, v in enumerate(values))
    html = _PAGE.format(
        id=name, drawn=drawn, told=escape(told), options=options, focus=ROLES["weight"],
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    alt = (
        f"{images[0].called}, and for each of two models a map of {n} by {n} moves, which says "
        "how sure it is of the right kind, and where it is wrong."
    )
    return Html(html, f"[shifts: {told}]", [Picture([drawn], alt, ["an image, and its moves"])])


def accuracy_by_shift(says: Mapping[str, Any], kind: int) -> int:
    """At how many moves the model says the right kind."""
    return sum(row.count(kind) for row in says["top"])


def describe(
    image: Mapping[str, Any], models: Sequence[str], names: Sequence[str], down: int, across: int
) -> str:
    """The state in words, after a move."""
    reach = len(image["says"][models[0]]["top"]) // 2
    moves = [f"{abs(down)} {'down' if down > 0 else 'up'}"] if down else []
    moves += [f"{abs(across)} to the {'right' if across > 0 else 'left'}"] if across else []
    parts = [f"Moved {' and '.join(moves)}." if moves else "Not moved."]
    for model in models:
        says = image["says"][model]
        top = says["top"][down + reach][across + reach]
        sure = says["sure"][down + reach][across + reach]
        right_or = "right" if top == image["kind"] else f"wrong: it is {names[image['kind']]}"
        parts.append(f"{model} says {names[top]}, {right_or} (sure of the right kind: {sure:.2f}).")
    return " ".join(parts)


def png(pixels: Any) -> str:
    """Bytes (H, W) as a PNG, in base64."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def _left(model: int) -> float:
    return SIDE + GAP + model * (MAP + GAP) + 2


def _drawing(
    image: Mapping[str, Any], models: Sequence[str], names: Sequence[str], reach: int
) -> str:
    """The image, and a map a model; the classes are what the script looks for."""
    n = 2 * reach + 1
    cell, body = MAP / n, []
    for m, model in enumerate(models):
        says, left = image["says"][model], _left(m)
        cells, crosses = [], []
        for r in range(n):
            for c in range(n):
                x, y = left + c * cell, TOP + r * cell
                cells.append(
                    f'<rect x="{x:.1f}" y="{y:.1f}" width="{cell:.1f}" height="{cell:.1f}" '
                    f'fill="{COLORS[m]}" fill-opacity="{says["sure"][r][c]:.2f}"/>'
                )
                if says["top"][r][c] != image["kind"]:
                    crosses.append(cross(x, y, cell))
        share = f"right at {accuracy_by_shift(says, image['kind'])} of {n * n}"
        body.append(
            f'<g class="sh-map"><text x="{left:g}" y="15" font-size="14" font-weight="600" '
            f'fill="{COLORS[m]}">{escape(model)}</text>{"".join(cells)}'
            f'<path class="sh-crosses" d="{"".join(crosses)}" fill="none" stroke="currentColor" '
            'stroke-opacity=".7"/>'
            f'<rect x="{left:g}" y="{TOP:g}" width="{MAP:g}" height="{MAP:g}" fill="none" '
            'stroke="currentColor" stroke-opacity=".5"/>'
            f'<rect class="sh-here" x="{left + reach * cell:.1f}" y="{TOP + reach * cell:.1f}" '
            f'width="{cell:.1f}" height="{cell:.1f}" fill="none" stroke="{ROLES["weight"]}" '
            'stroke-width="2.5"/>'
            f'<text class="sh-says" x="{left:g}" y="{TOP + MAP + 16:g}" font-size="13" '
            f'fill="currentColor">says {escape(names[says["top"][reach][reach]])}</text>'
            f'<text class="sh-share" x="{left:g}" y="{TOP + MAP + 33:g}" font-size="11.5" '
            f'fill="currentColor">{share}</text></g>'
        )
    high = TOP + MAP + 40
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:g} {high:g}" width="{WIDE:g}" '
        f'style="width:100%;max-width:34rem;height:auto;{FONT}" class="sh-all" role="img" '
        'aria-label="An image, and for each model a map of its moves">'
        '<text x="2" y="15" font-size="14" fill="currentColor">the image</text>'
        f'<svg x="2" y="{TOP:g}" width="{SIDE:g}" height="{SIDE:g}" viewBox="0 0 {image["side"]} '
        f'{image["side"]}" overflow="hidden" class="sh-frame"><rect width="100%" height="100%" '
        f'fill="#000"/><image class="sh-image" width="{image["side"]}" height="{image["side"]}" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{image["png"]}"/></svg>'
        f'<rect x="2" y="{TOP:g}" width="{SIDE:g}" height="{SIDE:g}" fill="none" '
        f'stroke="currentColor" stroke-opacity=".5"/>{"".join(body)}</svg>'
    )


def cross(x: float, y: float, cell: float) -> str:
    """The path of a small cross in a square."""
    a, b = 0.3 * cell, 0.7 * cell
    return (
        f"M{x + a:.1f} {y + a:.1f}L{x + b:.1f} {y + b:.1f}"
        f"M{x + b:.1f} {y + a:.1f}L{x + a:.1f} {y + b:.1f}"
    )


_PAGE = """\
<style>
.sh :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.sh label {{ padding-block: .25rem; }}
.sh {{ max-width: 34rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.sh p {{ margin: .35em 0; min-height: 5.6em; }}
.sh svg.sh-all {{ display: block; }}
.sh-live .sh-all {{ cursor: crosshair; }}
.sh-live .sh-frame {{ cursor: grab; touch-action: none; }}
.sh-all:focus-visible {{ outline: 3px solid {focus}; outline-offset: 3px; }}
.sh-choose {{ display: flex; flex-wrap: wrap; gap: .3em 1em; align-items: center; }}
.sh-choose[hidden] {{ display: none; }}
.sh-choose select, .sh-choose button {{ font: inherit; }}
@media print {{ .sh-choose {{ display: none; }} .sh p {{ min-height: 0; }} }}
</style>
<div class="sh" id="{id}" role="group" aria-label="An image that you move">
<div class="sh-choose" hidden><label>image <select>{options}</select></label>
<button type="button">back to the middle</button></div>
{drawn}
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""
