"""A layer of a transformer as a diagram: its sublayers from bottom to top, residuals and norms."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.palette import ROLES

WIDE, TALL, STEP = 176.0, 34.0, 95.0  # a sublayer's box, and what it takes with its norm
LEFT = 26.0  # how far the residual goes around it
FIRST_STEP = 120.0  # what a sublayer takes with a norm before it and a sum behind it


class Sublayer(NamedTuple):
    """A sublayer's name, the colour of its role ("" = the page's own), a note to its right."""

    name: str
    role: str = ""
    note: str = ""


def box(x: float, y: float, words: str, role: str = "", width: float = WIDE) -> str:
    """Draw a box with words, a line of it for each of theirs; (x, y) is its middle."""
    color = ROLES[role] if role else "currentColor"
    lines = words.split("\n")
    tall, first = TALL + 17 * (len(lines) - 1), y + 1 - 8.5 * (len(lines) - 1)
    return (
        f'<rect x="{x - width / 2:g}" y="{y - tall / 2:g}" width="{width:g}" height="{tall:g}" '
        f'rx="6" fill="{color}" fill-opacity="0.14" stroke="{color}"/>'
        + "".join(text(x, first + 17 * k, line) for k, line in enumerate(lines))
    )


def text_at(x: float, y: float, words: str, size: float = 13) -> str:
    """Return words that begin at (x, y)."""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" dominant-baseline="middle" '
        f'fill="currentColor">{escape(words)}</text>'
    )


def layer(x: float, y: float, sublayers: Sequence[Sublayer], times: str = "") -> list[str]:
    """Draw a layer upwards from (x, y), where the stream comes in; it leaves at `top` of it.

    Each sublayer is followed by "add & norm", into which the stream also goes unchanged, around
    the sublayer on the left. `times` ("× 6") stands beside the frame.
    """
    height = STEP * len(sublayers)
    body = [
        f'<rect x="{x - WIDE / 2 - LEFT - 10:g}" y="{y - height - 2:g}" '
        f'width="{WIDE + LEFT + 20:g}" height="{height - 2:g}" rx="10" fill="currentColor" '
        f'fill-opacity="0.04" stroke="currentColor" stroke-opacity="0.5" stroke-dasharray="4 3"/>',
        text(x - WIDE / 2 - LEFT - 36, y - height / 2, times, 17, bold=True) if times else "",
    ]
    for i, (name, role, note) in enumerate(sublayers):
        bottom = y - i * STEP
        middle, norm = bottom - 22 - TALL / 2, bottom - 84
        around = x - WIDE / 2 - LEFT / 2
        body += [
            arrow(x, bottom, x, middle + TALL / 2),
            box(x, middle, name, role),
            arrow(x, middle - TALL / 2, x, norm + 11),
            f'<path d="M {x:g} {bottom - 10:g} H {around:g} V {norm:g} H {x - 52:g}" fill="none" '
            f'stroke="{ROLES["residual"]}" stroke-width="2.5"/>',
            arrow(x - 60, norm, x - 50, norm, "residual", 2.5),
            f'<rect x="{x - 50:g}" y="{norm - 11:g}" width="100" height="22" rx="11" '
            f'fill="{ROLES["residual"]}" fill-opacity="0.16" stroke="{ROLES["residual"]}"/>',
            text(x, norm + 1, "add & norm", 13),
            text_at(x + WIDE / 2 + 18, middle, note),
        ]
    return body


def norm_first(x: float, y: float, sublayers: Sequence[Sublayer], norm: str = "norm") -> list[str]:
    """Draw a layer upwards from (x, y) whose norms stand before the sublayers.

    The stream goes around each norm and its sublayer on the left, and is added behind them. The
    middle of sublayer i's norm is at y - 30 - i * FIRST_STEP.
    """
    height, around, residual = FIRST_STEP * len(sublayers), x - WIDE / 2 - LEFT / 2, "residual"
    body = [
        f'<rect x="{x - WIDE / 2 - LEFT - 10:g}" y="{y - height - 2:g}" '
        f'width="{WIDE + LEFT + 20:g}" height="{height - 2:g}" rx="10" fill="currentColor" '
        f'fill-opacity="0.04" stroke="currentColor" stroke-opacity="0.5" stroke-dasharray="4 3"/>',
    ]
    for i, (name, role, note) in enumerate(sublayers):
        bottom = y - i * FIRST_STEP
        low, middle, high = bottom - 30, bottom - 70, bottom - 106
        body += [
            arrow(x, bottom, x, low + 11),
            f'<rect x="{x - 50:g}" y="{low - 11:g}" width="100" height="22" rx="11" '
            f'fill="{ROLES[residual]}" fill-opacity="0.16" stroke="{ROLES[residual]}"/>',
            text(x, low + 1, norm, 13),
            arrow(x, low - 11, x, middle + TALL / 2),
            box(x, middle, name, role),
            arrow(x, middle - TALL / 2, x, high + 10),
            f'<path d="M {x:g} {bottom - 8:g} H {around:g} V {high:g} H {x - 20:g}" fill="none" '
            f'stroke="{ROLES[residual]}" stroke-width="2.5"/>',
            arrow(x - 24, high, x - 10, high, residual, 2.5),
            f'<circle cx="{x:g}" cy="{high:g}" r="10" fill="{ROLES[residual]}" '
            f'fill-opacity="0.16" stroke="{ROLES[residual]}"/>',
            text(x, high + 1, "+", 15),
            text_at(x + WIDE / 2 + 18, middle, note),
        ]
    return body


def top(y: float, sublayers: Sequence[Sublayer]) -> float:
    """Return the height at which the stream leaves a layer drawn from y."""
    return y - STEP * len(sublayers)


def one_layer(
    sublayers: Sequence[Sublayer], below: str, above: str, memory: str = "", width: float = 560.0
) -> str:
    """Draw one layer alone, with what comes in `below` and goes out `above`.

    `memory` names foreign rows; an arrow brings them, from the left, to the last sublayer but one.
    """
    x, y = WIDE / 2 + LEFT + (130 if memory else 24), STEP * len(sublayers) + 58
    out = top(y, sublayers)
    body = [*layer(x, y, sublayers), text(x, y + 14, below, 14), arrow(x, out + 4, x, out - 16)]
    body.append(text(x, out - 30, above, 14))
    if memory:
        middle = y - (len(sublayers) - 2) * STEP - 22 - TALL / 2
        body += [
            text(46, middle, memory, 14, "key"),
            arrow(88, middle, x - WIDE / 2, middle, "key", 3),
        ]
    return svg(width, y + 30, body)
