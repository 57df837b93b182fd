"""The right code among wrong ones: an arrow that the reader turns, and what the loss says of it.

    contrastive_loss_demo([40, 100, 190, 290], said=70)

Codes stand on a circle, at whole degrees; the first is the right one. The thick arrow is what the
model says of the hidden place. A bar for each code is its share, softmax(cosine / temperature), and
the loss is -log of the right one's. Arrow and temperature have a slider each. Python draws the
first state, which stays where nothing moves: on paper, without scripts.
"""

import math
from collections.abc import Sequence
from pathlib import Path

from deepdive_book.kit.diagrams import svg
from deepdive_book.kit.living import Slider, living
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES

WIDE, HIGH, MIDDLE, RADIUS = 400.0, 224.0, 112.0, 78.0  # of the drawing, and of its circle
BAR, LONG = 236.0, 116.0  # where a bar begins, and how long a share of 1 is
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def contrastive_loss_demo(codes: Sequence[int], *, said: int, temperature: float = 0.5) -> Html:
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
        raise ValueError(f"codes: got {len(codes)}, expected two to six")
    if not 0.1 <= temperature <= 1:
        raise ValueError(f"temperature: got {temperature}, expected 0.1 to 1")
    status = alt_text(codes, said, temperature)
    return living(
        "find-code", "Find the right code", code=_SCRIPT, status=status, wide=30,
        drawing=_drawing(codes, said, temperature),
        alt=f"An arrow in a circle among {len(codes)} codes, and a bar for each. {status}",
        spec={"codes": [int(code) for code in codes], "radius": RADIUS, "middle": MIDDLE,
              "long": LONG},
        controls=[Slider("angle", "arrow", said, most=359),
                  Slider("tenths", "temperature", round(10 * temperature), least=1, most=10,
                         labels=[f"{k / 10}" for k in range(1, 11)])],
        try_this="turn the arrow to the right code, then away from it; at a lower temperature the "
                 "loss changes faster.",
    )  # fmt: skip


def shares(codes: Sequence[int], said: int, temperature: float) -> list[float]:
    """softmax(cos(said - code) / temperature) over the codes."""
    raised = [math.exp(math.cos(math.radians(said - code)) / temperature) for code in codes]
    return [each / sum(raised) for each in raised]


def alt_text(codes: Sequence[int], said: int, temperature: float) -> str:
    """The state in words."""
    share = shares(codes, said, temperature)[0]
    return (
        f"The arrow points to {said} degrees, the right code to {codes[0]}. At temperature "
        f"{temperature:.1f} the right code's share is {share:.2f}, the loss "
        f"{-math.log(share):.2f}."
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
    bars, step = shares(codes, said, temperature), HIGH / (len(codes) + 0.5)
    for i, code in enumerate(codes):
        color = ROLES["output" if i == 0 else "key"]
        (x, y), (tx, ty) = _end(code), _end(code, RADIUS + 17)
        top = step * (i + 0.5)
        body.append(
            f'<line x1="{MIDDLE:g}" y1="{MIDDLE:g}" x2="{x:.1f}" y2="{y:.1f}" stroke="{color}" '
            f'stroke-width="2"/><circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{color}"/>'
            f'<text x="{tx:.1f}" y="{ty:.1f}" font-size="15" text-anchor="middle" '
            f'dominant-baseline="central" fill="currentColor">{"R" if i == 0 else i}</text>'
            f'<text x="{BAR:g}" y="{top:.1f}" font-size="14" fill="currentColor">{_name(i)}</text>'
            f'<rect class="code-bar" x="{BAR:g}" y="{top + 5:.1f}" height="11" '
            f'width="{LONG * bars[i]:.2f}" fill="{color}"/>'
            f'<text class="code-share" x="{WIDE:g}" y="{top:.1f}" font-size="14" text-anchor="end" '
            f'fill="currentColor">{bars[i]:.2f}</text>'
        )
    x, y = _end(said, RADIUS - 8)
    body.append(
        f'<line class="code-arrow" x1="{MIDDLE:g}" y1="{MIDDLE:g}" x2="{x:.1f}" y2="{y:.1f}" '
        f'stroke="{ROLES["query"]}" stroke-width="7" stroke-linecap="round"/>'
    )
    return svg(WIDE, HIGH, body)
