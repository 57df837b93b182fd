"""A film in frames: the reader presses a patch, chooses a scheme, and sees which patches it meets.

    video_attention(frames, {"divided": [("time", pairs), ("space", pairs)], ...}, chosen=22)

Each step of a scheme has a colour. A dot stands where a patch is heard after one layer, through
others. Python draws the first state, which stays where nothing moves: on paper, without scripts.
"""

import base64
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

WIDE, GAP, TOP = 400.0, 8.0, 20.0  # of the drawing, between frames, above them
COLORS = (ROLES["key"], ROLES["value"], ROLES["output"])
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
Steps = Sequence[tuple[str, Any]]


def video_attention(
    frames: Any, schemes: Mapping[str, Steps], *, side: int, chosen: int = 0, scheme: str = ""
) -> Html:
    """Return the film, with one patch chosen.

    Args:
        frames: bytes (F, H, W), each frame a square of side x side patches.
        schemes: name -> steps, each a name and who meets whom: bool (F * side^2, F * side^2),
            patches counted line by line, frame by frame.
        chosen: the patch that asks at first.
        scheme: the scheme that is shown at first; by default the first one.

    Raises:
        ValueError: a shape does not fit, there are too many steps, or no such patch or scheme.
    """
    film = np.asarray(frames)
    if film.ndim != 3 or film.shape[1] != film.shape[2] or film.dtype != np.uint8:
        raise ValueError(f"frames: got {film.shape} of {film.dtype}, expected byte squares")
    n = len(film) * side * side
    scheme = scheme or next(iter(schemes), "")
    if scheme not in schemes or not 0 <= chosen < n:
        raise ValueError(f"scheme={scheme!r}, chosen={chosen}: expected one of {list(schemes)}, "
                         f"and a patch below {n}")  # fmt: skip
    values = {}
    for name, steps in schemes.items():
        if not 1 <= len(steps) <= len(COLORS):
            raise ValueError(f"{name}: {len(steps)} steps; expected 1 to {len(COLORS)}")
        for step, pairs in steps:
            if np.shape(pairs) != (n, n):
                raise ValueError(f"{name}, {step}: got {np.shape(pairs)}, expected {(n, n)}")
        values[name] = [
            {"name": step, "met": [np.flatnonzero(row).tolist() for row in np.asarray(pairs)]}
            for step, pairs in steps
        ]
    given = json.dumps({"schemes": values, "side": side, "chosen": chosen, "scheme": scheme,
                        "colours": COLORS}, separators=(",", ":"))  # fmt: skip
    name = f"mt{hashlib.sha256((given + film.tobytes().hex()).encode()).hexdigest()[:10]}"
    drawn, told = (
        _drawing(film, values[scheme], side, chosen),
        describe(values[scheme], side, chosen),
    )
    choices = "".join(
        f'<label><input type="radio" name="{name}" value="{escape(each)}"'
        f"{' checked' * (each == scheme)}> {escape(each)}</label>"
        for each in values
    )
    html = _PAGE.format(
        id=name, drawn=drawn, told=escape(told), choices=choices, focus=ROLES["weight"],
        query=ROLES["query"], script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    alt = (
        f"{len(film)} frames of a film side by side, each cut into {side} times {side} patches. "
        "One patch is framed, and those that it meets are filled."
    )
    return Html(html, f"[video attention: {told}]", [Picture([drawn], alt, ["a film in frames"])])


def receptive_field(steps: Sequence[Mapping[str, Any]], patch: int) -> set[int]:
    """Whom a patch hears of in one layer: of those it meets in the last step, and of whom each of
    them had met before.
    """
    found = {patch}
    for step in reversed(steps):
        found |= {other for one in found for other in step["met"][one]}
    return found


def describe(steps: Sequence[Mapping[str, Any]], side: int, patch: int) -> str:
    """The state in words."""
    per, n = side * side, len(steps[0]["met"])
    parts = [f"{len(step['met'][patch])} ({step['name']})" for step in steps]
    pairs = sum(len(met) for step in steps for met in step["met"])
    return (
        f"Patch {patch % per + 1} of frame {patch // per + 1} meets {', '.join(parts)}. After one "
        f"layer it has heard of {len(receptive_field(steps, patch))} of {n} patches. All patches "
        f"together: {pairs} pairs a layer."
    )


def _drawing(film: Any, steps: Sequence[Mapping[str, Any]], side: int, chosen: int) -> str:
    """Frames with their patches; the classes are what the script looks for."""
    from PIL import Image

    size = (WIDE - GAP * (len(film) - 1) - 4) / len(film)
    cell, reached, body = size / side, receptive_field(steps, chosen), []
    for f, frame in enumerate(film):
        file = io.BytesIO()
        Image.fromarray(frame).save(file, "PNG")
        left = 2 + f * (size + GAP)
        body.append(
            f'<text x="{left:.1f}" y="14" font-size="13" fill="currentColor">frame {f + 1}</text>'
            f'<image x="{left:.1f}" y="{TOP:g}" width="{size:.1f}" height="{size:.1f}" '
            f'style="image-rendering:pixelated" preserveAspectRatio="none" '
            f'href="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"/>'
        )
        for place in range(side * side):
            patch = f * side * side + place
            x, y = left + place % side * cell, TOP + place // side * cell
            step = last_step(steps, chosen, patch)
            fill = "none" if step < 0 else COLORS[step]
            dot = "" if patch in reached else ' visibility="hidden"'
            body.append(
                f'<g class="mt-patch"><rect x="{x:.1f}" y="{y:.1f}" width="{cell:.1f}" '
                f'height="{cell:.1f}" fill="{fill}" fill-opacity=".55" stroke="#888" '
                'stroke-width=".7" pointer-events="all"/>'
                f'<circle cx="{x + cell / 2:.1f}" cy="{y + cell / 2:.1f}" r="2.6" '
                f'fill="{ROLES["weight"]}" stroke="#000" stroke-width=".6"{dot}/></g>'
            )
    f, place = divmod(chosen, side * side)
    x, y = 2 + f * (size + GAP) + place % side * cell, TOP + place // side * cell
    body.append(
        f'<rect class="mt-asks" x="{x:.1f}" y="{y:.1f}" width="{cell:.1f}" height="{cell:.1f}" '
        f'fill="none" stroke="{ROLES["query"]}" stroke-width="3"/>'
    )
    under, high = TOP + size + 8, TOP + size + 24
    for k, color in enumerate(COLORS):
        name = steps[k]["name"] if k < len(steps) else ""
        hidden = "" if name else ' visibility="hidden"'
        body.append(
            f'<g class="mt-key"{hidden}><rect x="{2 + 128 * k}" y="{under:.1f}" width="12" '
            f'height="12" fill="{color}" fill-opacity=".75"/><text x="{19 + 128 * k}" '
            f'y="{under + 11:.1f}" font-size="13" fill="currentColor">{escape(name)}</text></g>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:g} {high:.1f}" '
        f'width="{1.6 * WIDE:g}" style="max-width:100%;height:auto;{FONT}" class="mt-all" '
        'role="img" aria-label="Frames of a film, and the patches that one patch meets">'
        f"{''.join(body)}</svg>"
    )


def last_step(steps: Sequence[Mapping[str, Any]], asks: int, patch: int) -> int:
    """The last step in which a patch is met by the one that asks, -1 for none."""
    return max((k for k, step in enumerate(steps) if patch in step["met"][asks]), default=-1)


_PAGE = """\
<style>
.mt :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.mt label {{ padding-block: .25rem; }}
.mt {{ max-width: 42rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.mt p {{ margin: .35em 0; min-height: 4.2em; }}
.mt svg {{ display: block; }}
.mt-live .mt-patch {{ cursor: pointer; }}
.mt-all:focus-visible {{ outline: 3px solid {focus}; outline-offset: 3px; }}
.mt-choose {{ border: 0; margin: .2em 0 .5em; padding: 0; display: flex; flex-wrap: wrap;
  gap: .2em 1em; }}
.mt-choose[hidden] {{ display: none; }}
.mt-choose label {{ display: inline-flex; gap: .35em; align-items: center; margin: 0; }}
.mt-choose input {{ margin: 0; accent-color: {query}; }}
@media print {{ .mt-choose {{ display: none; }} .mt p {{ min-height: 0; }} }}
</style>
<div class="mt" id="{id}" role="group" aria-label="Who meets whom in a film">
<fieldset class="mt-choose" hidden aria-label="scheme">{choices}</fieldset>
{drawn}
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""
