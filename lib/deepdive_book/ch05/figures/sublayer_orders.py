"""Four ways to arrange sublayers: the Transformer, Macaron, Sandwich, and DARTS, side by side."""

from deepdive_book.kit.diagrams import arrow, labeled_box, svg, text
from deepdive_book.kit.palette import ROLES

NAMES = {"s": "self-attention", "f": "feed-forward", "h": "½ feed-forward"}
COLORS = {"s": "query", "f": "value", "h": "value"}
WIDTH, BOTTOM = 142.0, 404.0
COLUMNS = (  # title, order from the bottom, order as text, middle
    ("Transformer", "sfsfsf", "s f s f s f", 92.0),
    ("Macaron", "hshhshhsh", "h s h  h s h  h s h", 262.0),
    ("Sandwich, k = 1", "ssfsff", "s  s f  s f  f", 432.0),
)
CANDIDATES = (
    ("self-attention", "query", ".10"), ("convolution", "key", ".25"),
    ("feed-forward", "value", ".60"), ("identity", "score", ".05"),
)  # fmt: skip


def _column(order: str, x: float) -> list[str]:
    """Return one box per sublayer, the first at the bottom; half steps are half as high."""
    y, body = BOTTOM, [arrow(x, BOTTOM + 16, x, BOTTOM + 1)]
    for letter in order:
        height = 24.0 if letter == "h" else 42.0
        y -= height + 8
        body.append(
            labeled_box(x - WIDTH / 2, y + 8, WIDTH, height, NAMES[letter], COLORS[letter], 14)
        )
    return [*body, arrow(x, y + 7, x, y - 9)]


def _mixture(x: float) -> list[str]:
    """Return one mixed layer: four candidates, their weights, and the weighted sum."""
    body = [text(x, BOTTOM + 8, "x", 15), text(x, 116, "Σ softmax(α)ᵢ · oᵢ(x)", 15, "weight")]
    for i, (name, role, weight) in enumerate(CANDIDATES):
        y = 152 + 58 * i
        body.append(labeled_box(x - 96, y, 128, 42, name, role, 14))
        body.append(text(x + 54, y + 14, f"{weight}", 14, "weight"))
        body.append(arrow(x + 34, y + 26, x + 88, y + 26, "weight", 0.8 + 4 * float(weight)))
        body.append(arrow(x - 118, y + 21, x - 98, y + 21))
    frame = f'fill="none" stroke="{ROLES["score"]}"'
    body.append(f'<path {frame} d="M{x - 10:g} {BOTTOM + 8:g}H{x - 118:g}V173"/>')
    body.append(f'<path {frame} d="M{x + 90:g} 352V130"/>')
    body.append(arrow(x + 90, 136, x + 90, 122, "weight"))
    return body


def sublayer_orders() -> str:
    """Return the drawing as SVG: three stacks of equal size, and one mixed layer of DARTS."""
    body = []
    for title, order, letters, x in COLUMNS:
        body += [text(x, 22, title, 16, bold=True), text(x, 44, letters, 14), *_column(order, x)]
    x = 640.0
    body += [text(x, 22, "DARTS", 16, bold=True), text(x, 44, "search one mixed layer:", 14)]
    body += [text(x, 64, "the largest weight stays", 14), *_mixture(x)]
    return svg(760, 430, body)
