"""A stack of Transformer blocks, with the places where the variants of chapter 5 change it."""

from deepdive_book.kit.diagrams import arrow, labeled_box, svg, text
from deepdive_book.kit.palette import ROLES

CENTER, SIDE, WIDTH, HEIGHT, SIZE = 330.0, 102.0, 168.0, 38.0, 17
# y of the box, its words, its role, and the variants that change it: at the left and at the right
PARTS = (
    (90, "feed-forward", "value", "all-attention,|DeLighT", "Macaron, Sandwich,|DARTS: the order"),
    (160, "norm", "residual", "RMSNorm, ReZero", "conditional|computation: a gate"),
    (230, "attention", "query", "Lite Transformer,|RealFormer",
     "Transformer-XL,|Memformer: memory"),
    (290, "norm", "residual", "", "Funnel: fewer|positions"),
)  # fmt: skip


def _words(x: float, y: float, words: str) -> list[str]:
    lines = words.split("|")
    top = y - 11 * (len(lines) - 1)
    return [text(x, top + 22 * i, line, SIZE) for i, line in enumerate(lines)]


def block_variant_map() -> str:
    """Return the drawing as SVG."""
    left = CENTER - WIDTH / 2
    body = [
        f'<rect x="{left - 18:g}" y="60" width="{WIDTH + 36:g}" height="266" rx="10" fill="none" '
        f'stroke="{ROLES["residual"]}" stroke-width="2"/>',
        arrow(CENTER, 352, CENTER, 309, "residual", 3),
        arrow(CENTER, 71, CENTER, 26, "residual", 3),
    ]
    for y, words, role, one, other in PARTS:
        body.append(labeled_box(left, y - HEIGHT / 2, WIDTH, HEIGHT, words, role, SIZE))
        body += _words(SIDE, y, one) + _words(2 * CENTER - SIDE, y, other)
    for low, high in ((271, 249), (209, 179), (139, 109)):
        body.append(arrow(CENTER, low, CENTER, high, "residual", 3))
    body += _words(SIDE, 30, "transparent attention:|reads all layers")
    body += _words(2 * CENTER - SIDE, 30, "Universal Transformer,|DeeBERT: the depth")
    body += _words(
        CENTER, 368, "HIBERT and Hi-Transformer: the words of a sentence, then sentences"
    )
    return svg(660, 384, body)
