"""Four residual connections, and a Transformer layer next to an all-attention layer."""

from deepdive_book.kit.diagrams import arrow, labeled_box, svg, text
from deepdive_book.kit.palette import ROLES

BOX, HEIGHT = 104.0, 30.0
STREAM = f'stroke="{ROLES["residual"]}" stroke-width="4"'


def _box(x: float, y: float, words: str, role: str, width: float = BOX) -> str:
    """Return a labeled box centered at (x, y)."""
    return labeled_box(x - width / 2, y - HEIGHT / 2, width, HEIGHT, words, role, 14)


def _line(x1: float, y1: float, x2: float, y2: float, style: str = STREAM) -> str:
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" {style}/>'


def _residual(left: float, name: str, formula: str, branch: list[str], after: str) -> list[str]:
    """Return one connection: the stream at `left`, from the bottom to the top, and its branch."""
    x, body = left + 84, [text(left + 62, 16, name, 15, bold=True)]
    body += [_line(left, 236, left, 40), arrow(left, 46, left, 32, "residual", 4)]
    body.append(f'<path d="M{left:g} 216 H{x:g} V200" fill="none" stroke="currentColor"/>')
    for i, words in enumerate(branch):
        y = 184 - 46 * i
        body.append(_box(x, y, words, "value" if words == "sublayer" else "query"))
        end = y - HEIGHT / 2
        body.append(
            _line(x, end, x, end - 16, 'stroke="currentColor"')
            if i < len(branch) - 1
            else f'<path d="M{x:g} {end:g} V92 H{left + 14:g}" fill="none" stroke="currentColor"/>'
        )
    body.append(
        f'<circle cx="{left:g}" cy="92" r="11" fill="none" stroke="{ROLES["residual"]}" '
        'stroke-width="2"/>'
    )
    body.append(text(left, 92, "+", 18))
    if after:
        body.append(_box(left, 60, after, "query", 56))
    body.append(text(left + 62, 256, formula, 14))
    return body


def _layer(left: float, name: str, feed_forward: bool) -> list[str]:
    """Return one layer: the keys and values of its attention, and its sublayers above."""
    middle = left + 150
    body = [text(middle, 290, name, 15, bold=True)]
    body.append(arrow(middle, 326 if feed_forward else 388, middle, 302, "residual", 4))
    if feed_forward:
        body.append(_line(middle, 388, middle, 357))
        body.append(_box(middle, 342, "feed-forward, d_ff units", "value", 190))
        body.append(_box(middle, 404, "self-attention", "query", 190))
    else:
        body.append(_box(middle, 404, "attention, one softmax", "query", 190))
    for i in range(5):
        body.append(_key(left + (75 if feed_forward else 4) + 30 * i, "key"))
    body.append(text(left + (148 if feed_forward else 77), 500, "keys, values of tokens", 13,
                     "key"))  # fmt: skip
    if not feed_forward:
        for i in range(5):
            body.append(_key(left + 168 + 30 * i, "output"))
        body.append(text(left + 243, 500, "N learned keys, values", 13, "output"))
        body.append(arrow(left + 243, 460, left + 190, 422, "output"))
        body.append(arrow(left + 77, 460, left + 116, 422, "key"))
    else:
        body.append(arrow(left + 150, 460, left + 150, 422, "key"))
    return body


def _key(x: float, role: str) -> str:
    return (
        f'<rect x="{x:g}" y="462" width="26" height="24" rx="3" fill="{ROLES[role]}" '
        f'fill-opacity=".35" stroke="{ROLES[role]}"/>'
    )


def sublayer_variants() -> str:
    """Return the drawing as SVG."""
    body = [
        *_residual(40, "post-norm", "norm(x + f(x))", ["sublayer"], "norm"),
        *_residual(220, "pre-norm", "x + f(norm(x))", ["norm", "sublayer"], ""),
        *_residual(400, "ReZero", "x + α f(x), α = 0 at first", ["sublayer", "× α"], ""),
        *_residual(580, "no norm", "x + f(x)", ["sublayer"], ""),
        *_layer(20, "Transformer layer", feed_forward=True),
        *_layer(390, "all-attention layer", feed_forward=False),
    ]
    return svg(740, 516, body)
