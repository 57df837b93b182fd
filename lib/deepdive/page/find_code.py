"""The right code among wrong ones: an arrow that the reader turns, and what the loss says of it.

    find_code([40, 100, 190, 290], said=70)

Codes stand on a circle, at whole degrees; the first is the right one. The thick arrow is what the
model says of the hidden place. A bar for each code is its share, softmax(cosine / temperature), and
the loss is -log of the right one's. Arrow and temperature have a slider each. Python draws the
first state, which stays where nothing moves: on paper, without scripts.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

from deepdive.page.diagrams import FONT, ROLES
from deepdive.page.figures import Picture
from deepdive.page.markup import Html, script

WIDE, HIGH, MIDDLE, RADIUS = 400.0, 224.0, 112.0, 78.0  # of the drawing, and of its circle
BAR, LONG = 236.0, 116.0  # where a bar begins, and how long a share of 1 is
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def find_code(codes: Sequence[int], *, said: int, temperature: float = 0.5) -> Html:
    """Return the picture.

    Args:
        codes: where each code stands, in degrees from the right, against the clock; the right code
            first; two to six of them.
        said: where the arrow points at first.
        temperature: by which cosines are divided at first, 0.1 to 1.

    Raises:
        ValueError: there are too few or too many codes, or the temperature is out of its range.
    """
    if not 2 <= len(codes) <= 6:
        raise ValueError(f"codes: came {len(codes)}, expected two to six")
    if not 0.1 <= temperature <= 1:
        raise ValueError(f"temperature: came {temperature}, expected 0.1 to 1")
    values = {"codes": [int(code) for code in codes], "radius": RADIUS, "middle": MIDDLE,
              "long": LONG}  # fmt: skip
    given = json.dumps(values)
    name = f"fc{hashlib.sha256((given + str(said)).encode()).hexdigest()[:10]}"
    drawn, words = _drawing(codes, said, temperature), told(codes, said, temperature)
    html = _PAGE.format(
        id=name, drawn=drawn, said=escape(words), turn=said, ten=round(10 * temperature), **ROLES,
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    alt = f"An arrow in a circle among {len(codes)} codes, and a bar for each. {words}"
    return Html(html, f"[an arrow to turn: {words}]", [Picture([drawn], alt, ["arrow and shares"])])


def shares(codes: Sequence[int], said: int, temperature: float) -> list[float]:
    """softmax(cos(said - code) / temperature) over the codes."""
    raised = [math.exp(math.cos(math.radians(said - code)) / temperature) for code in codes]
    return [each / sum(raised) for each in raised]


def told(codes: Sequence[int], said: int, temperature: float) -> str:
    """The state in words."""
    found = shares(codes, said, temperature)
    return (
        f"The arrow points to {said} degrees, the right code to {codes[0]}. At temperature "
        f"{temperature:.1f} the right code's share is {found[0]:.2f}, the loss "
        f"{-math.log(found[0]):.2f}."
    )


def _end(degrees: float, radius: float = RADIUS) -> tuple[float, float]:
    turn = math.radians(degrees)
    return MIDDLE + radius * math.cos(turn), MIDDLE - radius * math.sin(turn)


def _name(i: int) -> str:
    return "right" if i == 0 else f"wrong {i}"


def _drawing(codes: Sequence[int], said: int, temperature: float) -> str:
    body = [
        f'<circle cx="{MIDDLE:g}" cy="{MIDDLE:g}" r="{RADIUS:g}" fill="none" stroke="currentColor" '
        'stroke-opacity=".3"/>'
    ]
    found, step = shares(codes, said, temperature), HIGH / (len(codes) + 0.5)
    for i, code in enumerate(codes):
        colour = ROLES["output" if i == 0 else "key"]
        (x, y), (tx, ty) = _end(code), _end(code, RADIUS + 17)
        top = step * (i + 0.5)
        body.append(
            f'<line x1="{MIDDLE:g}" y1="{MIDDLE:g}" x2="{x:.1f}" y2="{y:.1f}" stroke="{colour}" '
            f'stroke-width="2"/><circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{colour}"/>'
            f'<text x="{tx:.1f}" y="{ty:.1f}" font-size="15" text-anchor="middle" '
            f'dominant-baseline="central" fill="currentColor">{"R" if i == 0 else i}</text>'
            f'<text x="{BAR:g}" y="{top:.1f}" font-size="14" fill="currentColor">{_name(i)}</text>'
            f'<rect class="fc-bar" x="{BAR:g}" y="{top + 5:.1f}" height="11" '
            f'width="{LONG * found[i]:.2f}" fill="{colour}"/>'
            f'<text class="fc-share" x="{WIDE:g}" y="{top:.1f}" font-size="14" text-anchor="end" '
            f'fill="currentColor">{found[i]:.2f}</text>'
        )
    x, y = _end(said, RADIUS - 8)
    body.append(
        f'<line class="fc-said" x1="{MIDDLE:g}" y1="{MIDDLE:g}" x2="{x:.1f}" y2="{y:.1f}" '
        f'stroke="{ROLES["query"]}" stroke-width="7" stroke-linecap="round"/>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:g} {HIGH:g}" width="{WIDE:g}" '
        f'style="max-width:100%;height:auto;{FONT}" class="fc-drawn" role="img" '
        f'aria-label="Codes on a circle, an arrow, and a bar for each code">{"".join(body)}</svg>'
    )


_PAGE = """\
<style>
.fc {{ max-width: 30rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.fc p {{ margin: .35em 0; }}
.fc-drawn {{ display: block; }}
.fc-turn {{ display: flex; flex-wrap: wrap; gap: .2em 1em; align-items: center; margin: .3em 0; }}
.fc-turn[hidden] {{ display: none; }}
.fc-turn label {{ display: flex; gap: .5em; align-items: center; flex: 1 1 15rem; margin: 0; }}
.fc-turn input {{ flex: 1; margin: 0; min-width: 8rem; accent-color: {query}; }}
@media print {{ .fc-turn {{ display: none; }} }}
</style>
<div class="fc" id="{id}" role="group" aria-label="Find the right code">
{drawn}
<div class="fc-turn" hidden>
<label>arrow <input class="fc-arrow" type="range" min="0" max="359" value="{turn}"></label>
<label>temperature <input class="fc-ten" type="range" min="1" max="10" value="{ten}"></label></div>
<p class="fc-told" role="status" aria-live="polite">{said}</p>
</div>
{script}"""
