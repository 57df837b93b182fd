"""DETR as a diagram: backbone, encoder, decoder with object queries, heads, bipartite matching."""

from deepdive_book.kit.diagrams import arrow, labeled_box, svg, text
from deepdive_book.kit.palette import ROLES


def _box(
    x: float, y: float, words: str, note: str = "", role: str = "score", width: float = 118
) -> str:
    """Return a labeled box, and a note on shapes below it; (x, y) is its left upper corner."""
    return labeled_box(x, y, width, 46, words, role) + (
        text(x + width / 2, y + 60, note, 13) if note else ""
    )


def _grid(x: float, y: float, n: int, cell: float, role: str) -> str:
    """Return an n x n grid of cells."""
    return "".join(
        f'<rect x="{x + cell * i:g}" y="{y + cell * j:g}" width="{cell:g}" height="{cell:g}" '
        f'fill="{ROLES[role]}" fill-opacity="{0.1 + 0.3 * ((3 * i + 5 * j) % 4) / 4:.2f}" '
        f'stroke="{ROLES[role]}" stroke-width=".7"/>'
        for i in range(n)
        for j in range(n)
    )


def _frame(x: float, y: float, width: float, height: float, role: str, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="none" '
        f'stroke="{ROLES[role]}" stroke-width="2.2"{dash}/>'
    )


def detr_architecture() -> str:
    """Return the diagram as SVG; `ALT` describes it."""
    gray = ROLES["score"]
    body = [
        f'<rect x="8" y="38" width="72" height="72" fill="{gray}" fill-opacity=".08" '
        f'stroke="{gray}"/>',
        f'<circle cx="32" cy="64" r="13" fill="{ROLES["output"]}" fill-opacity=".8"/>',
        f'<rect x="50" y="76" width="20" height="24" fill="{ROLES["key"]}" fill-opacity=".8"/>',
        text(44, 124, "image", 14),
        arrow(84, 74, 104, 74),
        _box(106, 51, "CNN backbone", "+ 1 x 1 conv", "value", 122),
        arrow(230, 74, 252, 74),
        _grid(256, 42, 4, 16, "value"),
        text(302, 124, "feature map (d, h, w)", 13),
        arrow(324, 74, 404, 74),
        text(364, 60, "flatten", 13),
        text(364, 22, "+ 2-D sine position embeddings", 13, "key"),
        arrow(364, 32, 364, 50, "key"),
        _box(406, 51, "encoder", "N layers", "key"),
        arrow(526, 74, 596, 74),
        text(612, 42, "memory (h w, d)", 13),
        *[
            f'<rect x="{600 + 9 * i}" y="58" width="7" height="32" fill="{ROLES["key"]}" '
            f'fill-opacity=".45"/>'
            for i in range(4)
        ],
        # bottom row
        *[
            f'<rect x="{14 + 13 * i}" y="196" width="9" height="34" rx="2" '
            f'fill="{ROLES["query"]}" fill-opacity="{0.9 - 0.15 * i:.2f}"/>'
            for i in range(5)
        ],
        text(52, 164, "object queries", 14, "query"),
        text(52, 182, "(N, d), learned", 13, "query"),
        arrow(84, 213, 124, 213, "query"),
        _box(126, 190, "decoder", "self- and cross-attention", "query", 130),
        f'<path d="M618 92 V150 H191 V180" fill="none" stroke="{ROLES["key"]}" '
        'stroke-width="1.5"/>',
        arrow(191, 170, 191, 188, "key"),
        text(402, 142, "keys and values of cross-attention", 13, "key"),
        arrow(258, 207, 300, 196),
        arrow(258, 219, 300, 240),
        _box(302, 172, "class head", "", "output", 104),
        _box(302, 226, "box head", "", "output", 104),
        text(354, 286, "FFNs, one per task", 13),
        arrow(408, 195, 440, 206),
        arrow(408, 249, 440, 226),
        _frame(446, 182, 26, 26, "output"),
        _frame(482, 198, 20, 24, "output"),
        _frame(452, 220, 22, 18, "output", dashed=True),
        text(488, 266, "predictions", 13),
        text(488, 284, "dashed: no object", 13),
        f'<path d="M506 196 L566 192 M506 212 L566 224" stroke="{ROLES["weight"]}" '
        'stroke-width="3" fill="none"/>',
        text(536, 172, "bipartite", 13, "weight"),
        text(536, 248, "matching", 13, "weight"),
        _frame(572, 180, 26, 26, "score"),
        _frame(572, 214, 20, 24, "score"),
        text(600, 266, "ground truth", 13),
    ]
    return svg(672, 300, body)
