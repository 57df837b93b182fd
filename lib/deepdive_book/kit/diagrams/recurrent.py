"""Recurrent networks as diagrams: one step of the LSTM; two readers, plain or with attention."""

from collections.abc import Sequence

from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.diagrams.layers import box
from deepdive_book.kit.palette import ROLES

STEP, BOX, TALL = 76.0, 46.0, 34.0  # from state to state; a state's width and height


def two_readers(
    source: Sequence[str],
    target: Sequence[str],
    weights: Sequence[float] | None = None,
    asked: int = 0,
    begin: str = "begin",
) -> str:
    """Draw the states h of an encoder that reads `source`, and s of a decoder that writes `target`.

    The decoder reads `begin` and then its own words. Without `weights` one thick arrow shows the
    only way from the source to the target: the encoder's last state. With `weights` (S,) the step
    `asked` draws from every state of the encoder, the thicker the link the larger the weight.
    Raises ValueError when `weights` is not one number for each source word.
    """
    if weights is not None and len(weights) != len(source):
        raise ValueError(
            f"weights has {len(weights)} numbers, expected one for each of the {len(source)} "
            f"words of the source"
        )
    top = 60.0 if weights is None else 118.0
    y, below = top + TALL / 2, top + TALL + 34

    def at(i: int) -> float:
        return 45 + i * STEP + (STEP / 2 if i >= len(source) else 0)

    n = len(source) + len(target)
    body = []
    if weights is not None:
        body += [
            _arc(at(s), at(len(source) + asked), top, float(w))
            for s, w in enumerate(weights)
            if w >= 0.01
        ]
    for i in range(n):
        encodes = i < len(source)
        role = "key" if encodes else "query"
        read = [*source, begin, *target[:-1]][i]
        name = f"h{i + 1}" if encodes else f"s{i - len(source) + 1}"
        body.append(_box(at(i), y, name, role))
        body.append(text(at(i), below, read, 15, role if encodes else ""))
        body.append(arrow(at(i), below - 13, at(i), top + TALL + 3))
        if not encodes:
            bold = weights is not None and i == len(source) + asked
            body.append(arrow(at(i), top - 3, at(i), top - 20))
            body.append(text(at(i), top - 32, target[i - len(source)], 15, "query", bold))
        if i + 1 < n:
            bridge = weights is None and i + 1 == len(source)
            ends = (at(i) + BOX / 2 + 3, y, at(i + 1) - BOX / 2 - 3, y)
            body.append(arrow(*ends, *(("output", 6.0) if bridge else ())))
    if weights is None:
        body.append(text(at(len(source)) - STEP * 0.75, top - 12, "one vector", 14, "output"))
    return svg(at(n - 1) + 50, below + 16, body)


def lstm_step() -> str:
    """Draw one step of the LSTM: the cell on top, four layers below, and h on its way back to them.

    Each layer reads x and the last h. The candidate g ends in a tanh, the three gates in a sigmoid.
    """
    cell, product, gates, bus, back = 40.0, 100.0, 160.0, 220.0, 256.0
    layers = {"σ: forget f": 120.0, "σ: input i": 246.0, "tanh: new g": 372.0, "σ: output o": 498.0}
    roles = ("key", "value", "value", "query")
    (forget, enter, candidate, show), add, out = layers.values(), 309.0, 610.0
    body = [arrow(20, cell, 680, cell, "output", 5), text(54, cell - 20, "cell c", 15, "output")]
    body += [text(668, cell - 20, "next step", 13)]
    body += [
        arrow(forget, gates - 18, forget, cell + 14),
        arrow(enter, gates - 18, add - 12, product + 9),
        arrow(candidate, gates - 18, add + 12, product + 9),
        arrow(add, product - 13, add, cell + 14),
        arrow(out, cell, out, product - 18),
        arrow(out, product + 17, out, gates - 14),
        arrow(show + 54, gates, out - 14, gates),
        arrow(out + 13, gates, 676, gates),
        text(668, gates - 16, "h", 15),
        f'<path d="M650 {gates} V{back} H46" fill="none" stroke="currentColor" '
        f'stroke-width="1.5" stroke-dasharray="5 4"/>',
        arrow(46, back, 46, bus + 2),
        text(350, back + 16, "h comes back at the next step", 13),
        f'<path d="M20 {bus} H{show}" stroke="currentColor" stroke-width="1.5"/>',
        text(24, bus - 14, "x", 15),
    ]
    for (name, x), role in zip(layers.items(), roles, strict=True):
        body += [box(x, gates, name, role, 108), arrow(x, bus, x, gates + 19)]
    body.append(box(out, product, "tanh", "output", 70))
    signs = ((forget, cell, "×"), (add, cell, "+"), (add, product, "×"), (out, gates, "×"))
    return svg(700, 284, [*body, *(part for sign in signs for part in _sign(*sign))])


def _sign(x: float, y: float, sign: str) -> tuple[str, str]:
    """Return a small disc in which two numbers are multiplied or added."""
    disc = f'<circle cx="{x:g}" cy="{y:g}" r="13" fill="#fff" stroke="#555"/>'
    mark = f'<g fill="#222" color="#222">{text(x, y + 1, sign, 18, bold=True)}</g>'
    return disc, mark


def _box(x: float, y: float, name: str, role: str) -> str:
    left, upper = x - BOX / 2, y - TALL / 2
    return (
        f'<rect x="{left:g}" y="{upper:g}" width="{BOX:g}" height="{TALL:g}" rx="5" '
        f'fill="{ROLES[role]}" fill-opacity="0.16" stroke="{ROLES[role]}"/>'
        + text(x, y + 1, name, 14)
    )


def _arc(x1: float, x2: float, y: float, weight: float) -> str:
    """Return a link that rises from (x1, y) and comes down on (x2, y)."""
    return (
        f'<path d="M{x1:g},{y:g} Q{(x1 + x2) / 2:g},{y - 170:g} {x2 - 8:g},{y:g}" fill="none" '
        f'stroke="{ROLES["weight"]}" stroke-width="{1 + 8 * weight:.2f}" '
        f'stroke-opacity="{0.3 + 0.7 * weight:.2f}" stroke-linecap="round"/>'
    )
