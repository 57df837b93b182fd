"""Who has met whom: a grid of patches in windows, which the reader shifts, layer after layer.

    shifted_windows(12, 4, shift=2, layers=5)

In odd layers the windows stand in the corner of the grid, in even ones `shift` patches further down
and to the right. A press on a patch lets the news begin there; each patch shows after which layer
it has heard. Python draws the first state, which stays where nothing moves: on paper and without
scripts.
"""

import hashlib
from pathlib import Path

from deepdive.core.checks import positive
from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import STEPS, Html, script
from deepdive_book.kit.palette import ROLES, painted

_JS = Path(__file__).with_suffix(".js")
SIDE = 26  # of a patch


def windows(side: int, window: int, shift: int) -> list[int]:
    """Return for each patch of a grid, line by line, the number of its window."""
    at = [(place - shift) // window + 1 for place in range(side)]
    return [row * (side // window + 1) + column for row in at for column in at]


def receptive_field(side: int, window: int, shift: int, layers: int, start: int = 0) -> list[int]:
    """Return for each patch after which layer it has heard what `start` knows; -1: not yet."""
    when = [-1] * side**2
    when[start] = 0
    for layer in range(1, layers + 1):
        of = windows(side, window, 0 if layer % 2 else shift)
        reached = {of[patch] for patch, at in enumerate(when) if at >= 0}
        when = [layer if at < 0 and of[p] in reached else at for p, at in enumerate(when)]
    return when


def pairs(side: int, window: int, shift: int) -> int:
    """Return how many pairs of patches a layer compares that may meet."""
    of = windows(side, window, shift)
    return sum(of.count(number) ** 2 for number in set(of))


def alt_text(side: int, window: int, shift: int, layer: int, start: int = 0) -> str:
    """What a layer has brought, in words."""
    when = receptive_field(side, window, shift, layer, start)
    moved = 0 if layer % 2 else shift
    where = f"windows moved by {moved}" if moved else "windows in the corner"
    here = f"Layer {layer}, {where}" if layer else "Before the first layer"
    return (
        f"{here}: {sum(at >= 0 for at in when)} of {side**2} patches have heard. "
        f"A layer compares {pairs(side, window, moved):,} pairs; all with all would be "
        f"{side**4:,}."
    )


def shifted_windows(side: int, window: int, *, shift: int, layers: int, layer: int = 0) -> Html:
    """Return the picture of `side` x `side` patches, at first with `shift` after `layer`.

    Raises ValueError where no whole windows fill the grid, or shift is none below the window.
    """
    positive(side=side, window=window, layers=layers)
    if side % window or not 0 <= shift < window:
        raise ValueError(f"side={side}, window={window}, shift={shift}: expected whole windows, "
                         "and 0 <= shift < window")  # fmt: skip
    said = alt_text(side, window, shift, layer)
    name = f"mt{hashlib.sha256(f'{side} {window} {shift} {layers}'.encode()).hexdigest()[:10]}"
    given = {"side": side, "window": window, "shift": shift, "last": layers, "layer": layer}
    drawn = _drawn(side, window, shift, layer)
    html = _PAGE.format(
        id=name, style=painted(_STYLE), svg=drawn, said=said, most=window - 1, shift=shift,
        script=script(STEPS + _JS.read_text("utf-8"), id=name, cell=SIDE, **given),
    )  # fmt: skip
    return Html(html, f"[windows that shift: {said}]", [Picture([drawn], said)])


def shade(at: int) -> float:
    """How full a patch is drawn that heard after layer `at`."""
    return 0.0 if at < 0 else max(0.15, 1 - 0.17 * at)


def border(side: int, window: int, shift: int) -> str:
    """The lines between windows, as a path."""
    ends = [0, *range(shift or window, side, window), side]
    lines = [f"M{SIDE * x},0V{SIDE * side}M0,{SIDE * x}H{SIDE * side}" for x in ends]
    return "".join(lines)


def _drawn(side: int, window: int, shift: int, layer: int) -> str:
    body = []
    for patch, at in enumerate(receptive_field(side, window, shift, layer)):
        y, x = divmod(patch, side)
        body.append(
            f'<g class="mt-patch" data-at="{patch}"><rect x="{SIDE * x}" y="{SIDE * y}" '
            f'width="{SIDE}" height="{SIDE}" fill="{ROLES["weight"]}" '
            f'fill-opacity="{shade(at):.2f}" stroke="currentColor" stroke-opacity="0.25"/>'
            f'<text x="{SIDE * (x + 0.5):g}" y="{SIDE * (y + 0.68):g}" font-size="13" '
            f'text-anchor="middle" fill="currentColor">{at if at >= 0 else ""}</text></g>'
        )
    lines = border(side, window, 0 if layer % 2 else shift)
    body.append(
        f'<path class="mt-lines" d="{lines}" fill="none" stroke="{ROLES["key"]}" '
        'stroke-width="3.5" pointer-events="none"/>'
    )
    size = SIDE * side
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-3 -3 {size + 6} {size + 6}" '
        f'width="{size + 6}" role="img" aria-label="patches in windows" '
        f'style="max-width:100%;height:auto;{FONT}">{"".join(body)}</svg>'
    )


_STYLE = """
.mt { font: 1rem/1.4 system-ui, sans-serif; max-width: 52rem; margin: .4em 0; }
.mt-both { display: flex; flex-wrap: wrap; gap: .6em 1.8em; align-items: flex-start; }
.mt-both > svg { flex: 0 1 auto; min-width: 0; }
.mt-side { flex: 1 1 15em; min-width: 0; }
.mt .controls { display: flex; flex-wrap: wrap; gap: .5em; align-items: center; margin: 0 0 .6em; }
.mt .controls[hidden] { display: none; }
.mt button { font: inherit; padding: .25em .8em; margin: 0; color: inherit; cursor: pointer;
  background: transparent; border: 1px solid currentColor; border-radius: .3em; }
.mt label { display: flex; gap: .6em; align-items: center; flex-basis: 100%; }
.mt input { flex: 1; max-width: 12em; }
.mt-patch { cursor: pointer; }
.mt-patch text { pointer-events: none; }
.mt p { margin: .3em 0; min-height: 6.5em; }
"""
_PAGE = """\
<style>{style}
.mt :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.mt label {{ padding-block: .25rem; }}
@media print {{ .mt :is(input, select, button) {{ display: none; }} }}
</style>
<div class="mt" id="{id}" role="group" aria-label="Windows that shift"><div class="mt-both">{svg}
<div class="mt-side"><div class="controls" hidden>
<button type="button">back</button><button type="button">next layer</button>
<label>shift <input type="range" min="0" max="{most}" value="{shift}">
<output>{shift}</output></label>
<button type="button" class="mt-corner">news in the corner</button>
<button type="button" class="mt-middle">in the middle</button></div>
<p role="status" aria-live="polite">{said}</p></div></div></div>
{script}"""
