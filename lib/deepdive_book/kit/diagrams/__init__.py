"""Diagrams in one SVG vocabulary: colour is the role, a line's thickness the weight, a cell a
number.

Text takes the page's own colour, or the colour of its role: see `deepdive_book.kit.palette`.
Each function returns SVG text for `deepdive_book.kit.plotting.show(svg, alt)`.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

from deepdive_book.kit.palette import ROLES

FONT = "font-family:system-ui,sans-serif"


def svg(width: float, height: float, body: Sequence[str]) -> str:
    """Wrap elements in an SVG that scales down to a phone's width."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" style="max-width:100%;height:auto;{FONT}" role="img">'
        + "".join(body)
        + "</svg>"
    )


def text(
    x: float, y: float, words: str, size: float = 15, role: str = "", bold: bool = False
) -> str:
    """Return words centred at (x, y), in a role's colour or the page's own."""
    fill = ROLES[role] if role else "currentColor"
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="middle" '
        f'dominant-baseline="middle" fill="{fill}"{weight}>{escape(words)}</text>'
    )


def labeled_box(
    left: float, top: float, width: float, height: float, words: str, role: str, size: float = 15
) -> str:
    """Return a rounded box in a role's color, with words in its middle."""
    return (
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="6" '
        f'fill="{ROLES[role]}" fill-opacity=".18" stroke="{ROLES[role]}"/>'
        + text(left + width / 2, top + height / 2, words, size)
    )


def cells(x: float, y: float, values: Sequence[float], role: str, size: float = 30) -> str:
    """Return a vector as a row of cells with its numbers; (x, y) is the middle of its left edge."""
    parts = []
    for i, value in enumerate(values):
        left = x + i * size
        parts.append(
            f'<rect x="{left:g}" y="{y - size / 2:g}" width="{size:g}" height="{size:g}" rx="3" '
            f'fill="{ROLES[role]}" fill-opacity="0.16" stroke="{ROLES[role]}"/>'
        )
        parts.append(text(left + size / 2, y + 1, f"{value:.2f}".rstrip("0").rstrip("."), 12))
    return "".join(parts)


def arrow(x1: float, y1: float, x2: float, y2: float, role: str = "", width: float = 1.5) -> str:
    """Return a line from (x1, y1) to (x2, y2) that ends in a small head."""
    color = ROLES[role] if role else "currentColor"
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5 or 1.0
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    bx, by = x2 - 7 * dx, y2 - 7 * dy  # where the head begins
    head = f"{x2:g},{y2:g} {bx - 4 * dy:g},{by + 4 * dx:g} {bx + 4 * dy:g},{by - 4 * dx:g}"
    return (
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{bx:g}" y2="{by:g}" stroke="{color}" '
        f'stroke-width="{width:g}"/><polygon points="{head}" fill="{color}"/>'
    )


def links(
    keys: Sequence[str], queries: Sequence[str], weights: Any, chosen: int | None = None
) -> str:
    """Draw weights (T, S) as links from each query (below) to the keys (above), as thick as the
    weight.

    `chosen` draws the links of one query in full colour and leaves the others faint.
    Raises ValueError when `weights` is not (len(queries), len(keys)).
    """
    rows = [[float(w) for w in row] for row in weights]
    if len(rows) != len(queries) or any(len(row) != len(keys) for row in rows):
        raise ValueError(
            f"weights must have a row for each of {len(queries)} queries and a column for each of "
            f"{len(keys)} keys; got {len(rows)} rows of {len(rows[0]) if rows else 0}"
        )
    step = 24 + 9 * max(len(word) for word in (*keys, *queries))
    wide = max(len(keys), len(queries)) * step

    def at(i: int, n: int) -> float:
        return wide / 2 + (i - (n - 1) / 2) * step

    body = []
    for t, row in enumerate(rows):
        strong = chosen is None or t == chosen
        for s, weight in enumerate(row):
            if weight >= 0.01:
                opacity = (0.25 + 0.75 * weight) * (1.0 if strong else 0.12)
                body.append(
                    f'<line x1="{at(t, len(queries)):g}" y1="128" x2="{at(s, len(keys)):g}" '
                    f'y2="40" stroke="{ROLES["weight"]}" stroke-width="{1 + 9 * weight:.2f}" '
                    f'stroke-opacity="{opacity:.2f}" stroke-linecap="round"/>'
                )
    body += [text(at(s, len(keys)), 22, word, 17, "key") for s, word in enumerate(keys)]
    body += [
        text(at(t, len(queries)), 146, word, 17, "query", bold=t == chosen)
        for t, word in enumerate(queries)
    ]
    return svg(wide, 168, body)


def look_up(
    query: Sequence[float],
    names: Sequence[str],
    keys: Sequence[Sequence[float]],
    values: Sequence[Sequence[float]],
    scores: Sequence[float],
    weights: Sequence[float],
    output: Sequence[float],
) -> str:
    """Draw one query's way through attention with its numbers: score, weigh, mix; one row a key."""
    n, size = len(names), 30.0
    key_x, score_x = 70.0, 70.0 + len(query) * size + 55
    weight_x, value_x = score_x + 95, score_x + 165
    out_x, width = value_x + len(output) * size + 60, value_x + 2 * len(output) * size + 100
    top, row = 105.0, 46.0
    middle = top + (n - 1) * row / 2
    body = [text(key_x + len(query) * size / 2, 18, "query", 14, "query")]
    body.append(cells(key_x, 45, query, "query"))
    for x, words, role in (
        (key_x + len(query) * size / 2, "keys", "key"),
        (score_x + 10, "score", "score"),
        (weight_x + 10, "weight", "weight"),
        (value_x + len(output) * size / 2, "values", "value"),
        (out_x + len(output) * 18, "output", "output"),
    ):
        body.append(text(x, 78 if role != "output" else middle - 34, words, 14, role))
    for i in range(n):
        y = top + i * row
        body.append(text(key_x - 36, y, names[i], 15))
        body.append(cells(key_x, y, keys[i], "key"))
        body.append(arrow(key_x + len(query) * size + 6, y, score_x - 14, y))
        body.append(text(score_x + 10, y, f"{scores[i]:.2f}", 14))
        body.append(arrow(score_x + 36, y, weight_x - 18, y))
        body.append(text(weight_x + 10, y, f"{weights[i]:.3f}", 14, bold=True))
        body.append(cells(value_x, y, values[i], "value"))
        right = value_x + len(output) * size
        body.append(arrow(right + 4, y, out_x - 4, middle, "weight", 1 + 7 * weights[i]))
    body.append(cells(out_x, middle, output, "output", 36))
    return svg(width, top + n * row - 10, body)
