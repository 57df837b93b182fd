"""An image that the reader spoils in several ways, and what two models, asked before, say of it.

    corruption_slider([Spoiled("a boot", kind, {"cover": pixels, "move": ...}, {"CNN": {"cover":
    rows}, ...})],
          names, {"cover": ["0 of 16 patches", ...], "move": [...]})

The reader chooses a way, how far it goes (the levels of a slider), and another draw of its lots.
For each model stands a map, a level a column and a draw a row: the fuller, the surer is the model
of the right kind; where it says another, the square is crossed, and a press on a square goes there.
Every image that is shown is one that the models were given. Python draws the first state, which
stays where nothing moves: on paper, without scripts.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deepdive_book.ch06b.figures.image_shift_robustness import COLORS, png
from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

WIDE, HIGH, SIDE, TOP = 400.0, 206.0, 152.0, 24.0  # of the drawing; of the image in it
LEFT, MAP_WIDE, MAP_HIGH, BLOCK = 170.0, 226.0, 50.0, 92.0  # of the maps, one below the other
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Spoiled:
    """An image in all its states, and what each model says of them.

    kind     the number of the right kind
    shown    way -> bytes (draws, levels, H, W)
    says     model -> way -> probabilities (draws, levels, kinds)
    """

    called: str
    kind: int
    shown: Mapping[str, Any]
    says: Mapping[str, Mapping[str, Any]]


def corruption_slider(
    images: Sequence[Spoiled],
    names: Sequence[str],
    ways: Mapping[str, Sequence[str]],
    *,
    level: int = 0,
) -> Html:
    """Return the picture, with the first image, spoiled in the first way as far as `level`.

    Args:
        images: at least one; all with the same two models.
        names: the kinds' names.
        ways: way -> what each of its levels is called.
        level: of the first state.

    Raises:
        ValueError: there is no image, models are not two, or a shape does not fit.
    """
    models = list(images[0].says) if images else []
    if len(models) != len(COLORS):
        raise ValueError(f"images: got models {models}, expected one image or more, of two")
    if not 0 <= level < len(next(iter(ways.values()))):
        raise ValueError(f"level: got {level}, expected one of the first way's")
    values = [_values(image, models, names, ways) for image in images]
    given = json.dumps(
        {"images": values, "names": list(names), "models": models, "level": level,
         "ways": [[name, list(levels)] for name, levels in ways.items()],
         "left": LEFT, "top": TOP, "wide": MAP_WIDE, "high": MAP_HIGH, "block": BLOCK},
        separators=(",", ":"),
    )  # fmt: skip
    name = f"sp{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    first = next(iter(ways.values()))
    drawn, said = (
        _drawing(values[0], models, names, level),
        alt_text(values[0], models, names, first, 0, 0, level),
    )
    html = _PAGE.format(
        id=name, drawn=drawn, told=escape(said), focus=ROLES["weight"], last=len(first) - 1,
        at=level, options="".join(f"<option value={i}>{escape(v['called'])}"
                                  for i, v in enumerate(values)),
        ways="".join(f'<label><input type="radio" name="{name}w" value="{i}"'
                     f"{' checked' * (i == 0)}>{escape(way)}</label>"
                     for i, way in enumerate(ways)),
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    alt = (
        f"{images[0].called}, spoiled, and for each of two models a map, a level a column and a "
        "draw a row, which says how sure it is of the right kind, and where it is wrong."
    )
    return Html(html, f"[spoil: {said}]", [Picture([drawn], alt, ["an image, spoiled"])])


def _values(
    image: Spoiled, models: Sequence[str], names: Sequence[str], ways: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """One image as the script reads it: a strip of all states for each way, and what is said."""
    found = []
    for way, levels in ways.items():
        shown, said = np.asarray(image.shown[way]), []
        draws, high, wide = shown.shape[0], *shown.shape[-2:]
        if shown.shape != (draws, len(levels), high, high) or shown.dtype != np.uint8:
            wanted = f"bytes (draws, {len(levels)}, side, side)"
            raise ValueError(f"{image.called}, {way}: got {shown.shape}, expected {wanted}")
        for model in models:
            rows = np.asarray(image.says[model][way], dtype=np.float64)
            if rows.shape != (draws, len(levels), len(names)):
                raise ValueError(
                    f"{image.called}, {model}, {way}: got {rows.shape}, expected "
                    f"{(draws, len(levels), len(names))}"
                )
            said.append(
                {"top": rows.argmax(-1).tolist(), "sure": rows[..., image.kind].round(2).tolist()}
            )
        strip = shown.transpose(0, 2, 1, 3).reshape(draws * high, len(levels) * wide)
        found.append({"png": png(strip), "draws": draws, "says": said})
    return {"called": image.called, "kind": image.kind, "side": int(high), "ways": found}


def alt_text(
    image: Mapping[str, Any], models: Sequence[str], names: Sequence[str], levels: Sequence[str],
    way: int, draw: int, level: int,
) -> str:  # fmt: skip
    """The state in words."""
    parts = [f"{levels[level]}."]
    for m, model in enumerate(models):
        says = image["ways"][way]["says"][m]
        top, sure = says["top"][draw][level], says["sure"][draw][level]
        right = "right" if top == image["kind"] else f"wrong: it is {names[image['kind']]}"
        parts.append(f"{model} says {names[top]}, {right} (sure of the right kind: {sure:.2f}).")
    return " ".join(parts)


def _drawing(
    image: Mapping[str, Any], models: Sequence[str], names: Sequence[str], level: int
) -> str:
    """The image, and a map a model; the classes are what the script looks for."""
    way, side, body = image["ways"][0], image["side"], []
    levels = len(way["says"][0]["top"][0])
    for m, model in enumerate(models):
        top = TOP + m * BLOCK
        says = f"{model} says {names[way['says'][m]['top'][0][level]]}"
        body.append(
            f'<g class="sp-map"><text class="sp-says" x="{LEFT:g}" y="{top - 8:g}" font-size="14" '
            f'font-weight="600" fill="{COLORS[m]}">{escape(says)}</text>'
            f'<g class="sp-cells">{_cells(way, m, image["kind"], top, level)}</g>'
            f'<text class="sp-share" x="{LEFT:g}" y="{top + MAP_HIGH + 16:g}" font-size="13" '
            f'fill="currentColor">{escape(share(way["says"][m]["top"], image["kind"]))}</text></g>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:g} {HIGH:g}" width="{WIDE:g}" '
        f'style="width:100%;max-width:34rem;height:auto;{FONT}" class="sp-all" role="img" '
        'aria-label="An image, and for each model a map of its states">'
        f'<svg x="2" y="{TOP:g}" width="{SIDE:g}" height="{SIDE:g}" class="sp-frame" '
        f'viewBox="{level * side} 0 {side} {side}"><image class="sp-image" '
        f'width="{levels * side}" height="{way["draws"] * side}" '
        'style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{way["png"]}"/></svg>'
        f'<rect x="2" y="{TOP:g}" width="{SIDE:g}" height="{SIDE:g}" fill="none" '
        f'stroke="currentColor" stroke-opacity=".5"/>{"".join(body)}</svg>'
    )


def share(top: Sequence[Sequence[int]], kind: int) -> str:
    """In how many of the states the model is right."""
    return f"right in {sum(row.count(kind) for row in map(list, top))} of {len(top) * len(top[0])}"


def _cells(way: Mapping[str, Any], m: int, kind: int, top: float, level: int) -> str:
    """The squares of one map, those that are wrong crossed, and a frame around the state."""
    says = way["says"][m]
    draws, levels = len(says["top"]), len(says["top"][0])
    wide, high, parts = MAP_WIDE / levels, MAP_HIGH / draws, []
    for r in range(draws):
        for c in range(levels):
            x, y = LEFT + c * wide, top + r * high
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}" '
                f'fill="{COLORS[m]}" fill-opacity="{says["sure"][r][c]:.2f}" '
                'stroke="currentColor" stroke-opacity=".35"/>'
            )
            if says["top"][r][c] != kind:
                a, b = x + wide / 2, y + high / 2
                parts.append(
                    f'<path d="M{a - 3:.1f} {b - 3:.1f}l6 6m0 -6l-6 6" stroke="currentColor" '
                    'stroke-width="1.4"/>'
                )
    parts.append(
        f'<rect x="{LEFT + level * wide:.1f}" y="{top:.1f}" width="{wide:.1f}" '
        f'height="{high:.1f}" fill="none" stroke="{ROLES["weight"]}" stroke-width="2.5"/>'
    )
    return "".join(parts)


_PAGE = """\
<style>
.sp :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.sp label {{ padding-block: .25rem; }}
.sp {{ max-width: 34rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.sp p {{ margin: .35em 0; min-height: 5.6em; }}
.sp svg.sp-all {{ display: block; }}
.sp-live .sp-cells {{ cursor: pointer; }}
.sp :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
.sp-row {{ display: flex; flex-wrap: wrap; gap: .3em 1em; align-items: center; margin: .3em 0; }}
.sp-row[hidden] {{ display: none; }}
.sp-row label {{ display: inline-flex; gap: .35em; align-items: center; min-height: 2.2rem;
  margin: 0; }}
.sp-row select, .sp-row button {{ font: inherit; }}
.sp-row input[type=range] {{ width: 11rem; }}
.sp-row input[type=radio] {{ width: 1.2em; height: 1.2em; margin: 0; }}
@media print {{ .sp-row {{ display: none; }} .sp p {{ min-height: 0; }} }}
</style>
<div class="sp" id="{id}" role="group" aria-label="An image that you spoil">
<div class="sp-row" hidden>{ways}</div>
{drawn}
<div class="sp-row" hidden><label>how far <input type="range" min="0" max="{last}" step="1"
value="{at}"></label><button type="button">another draw</button>
<label>image <select>{options}</select></label></div>
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""
