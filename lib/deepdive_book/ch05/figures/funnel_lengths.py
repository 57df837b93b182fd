"""Funnel-Transformer's sequence lengths: three blocks, and the decoder.

funnel_lengths()                         # the drawing, SVG
"""

from deepdive_book.kit.diagrams import svg, text
from deepdive_book.kit.palette import ROLES

CELL, RISE, LEFT, BOTTOM = 34.0, 66.0, 196.0, 232.0
LEVELS = (
    ("block 1", 8, "8 queries, 8 keys"),
    ("block 2", 4, "4 queries, 8 keys, then 4"),
    ("block 3", 2, "2 queries, 4 keys, then 2"),
    ("decoder", 8, "8 queries, 8 keys"),
)


def funnel_lengths() -> str:
    """Return the drawing as SVG: eight states, four, two, and eight again."""
    body: list[str] = []
    for level, (name, length, note) in enumerate(LEVELS):
        y, wide = BOTTOM - RISE * level, 8 / length
        role = "value" if name == "decoder" else "query"
        body.append(text(56, y + 20, name, 16, bold=True))
        for i in range(length):
            body.append(
                f'<rect x="{LEFT + CELL * wide * i + 2:g}" y="{y:g}" '
                f'width="{CELL * wide - 4:g}" height="28" rx="4" fill="{ROLES[role]}" '
                'fill-opacity=".35" stroke="currentColor"/>'
            )
        body.append(text(LEFT + 8 * CELL + 138, y + 19, note, 15))
    for level in (0, 1):
        y, wide = BOTTOM - RISE * level, 8 / LEVELS[level][1]
        for i in range(LEVELS[level][1]):
            start = LEFT + CELL * wide * (i + 0.5)
            end = LEFT + CELL * wide * 2 * (i // 2 + 0.5)
            body.append(_line(start, y, end, y - RISE + 28))
        body.append(text(126, y - 12, "mean of pairs", 15))
    y = BOTTOM - 2 * RISE
    for i in range(8):
        start = LEFT + CELL * 4 * (i // 4 + 0.5)
        body.append(_line(start, y, LEFT + CELL * (i + 0.5), y - RISE + 28))
    body.append(text(126, y - 12, "repeat", 15))
    right, top = LEFT + 8 * CELL + 14, BOTTOM - 3 * RISE + 14
    body.append(
        f'<path d="M {right - 10:g} {BOTTOM + 14:g} H {right + 10:g} V {top:g} H {right - 6:g}" '
        f'fill="none" stroke="{ROLES["key"]}" stroke-width="2"/>'
    )
    body.append(text(right + 84, top - 20, "+ block 1's output", 15, "key"))
    return svg(720, 276, body)


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="currentColor"/>'
