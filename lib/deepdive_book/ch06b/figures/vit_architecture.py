"""The Vision Transformer as a diagram: patches, embeddings, class token, encoder block, head."""

from deepdive_book.kit.diagrams import arrow, labeled_box, svg, text
from deepdive_book.kit.palette import ROLES

_SHADES = (0.15, 0.35, 0.2, 0.5, 0.75, 0.6, 0.25, 0.65, 0.3)


def _patch(x: float, y: float, size: float, n: int) -> str:
    """Return patch n of the image as a square."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{size:g}" height="{size:g}" fill="{ROLES["value"]}" '
        f'fill-opacity="{_SHADES[n]}" stroke="{ROLES["value"]}"/>'
    )


def _token(x: float, y: float, role: str) -> str:
    """Return a token as a narrow bar."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="14" height="40" rx="3" fill="{ROLES[role]}" '
        f'fill-opacity=".5" stroke="{ROLES[role]}"/>'
    )


def vit_architecture() -> str:
    """Return the diagram as SVG; `ALT` describes it."""
    tokens = [212 + 26 * n for n in range(10)]  # left edges: the class token, then nine patches
    body = [
        *(_patch(10 + 22 * (n % 3), 36 + 22 * (n // 3), 22, n) for n in range(9)),
        text(43, 118, "image", 14),
        text(43, 135, "(C, H, W)", 13),
        arrow(82, 69, 104, 69),
        text(146, 56, "patches,", 13),
        text(146, 73, "flattened", 13),
        text(146, 90, "(N, C·P·P)", 13),
        arrow(188, 69, 232, 69),
        *(_patch(tokens[n + 1] - 2, 20, 18, n) for n in range(9)),
        *(arrow(tokens[n + 1] + 7, 40, tokens[n + 1] + 7, 54) for n in range(9)),
        labeled_box(234, 56, 236, 28, "linear projection", "value", 14),
        *(arrow(tokens[n + 1] + 7, 86, tokens[n + 1] + 7, 98) for n in range(9)),
        *(_token(tokens[n], 100, "output" if n == 0 else "value") for n in range(10)),
        text(177, 112, "class token", 13, "output"),
        text(177, 129, "(learned)", 13, "output"),
        text(356, 155, "+  position embeddings (1 + N, d), learned", 13, "key"),
        *(_token(tokens[n], 168, "key") for n in range(10)),
        *(text(tokens[n] + 7, 188, str(n), 12) for n in range(10)),
        *(arrow(tokens[n] + 7, 210, tokens[n] + 7, 226) for n in range(10)),
        labeled_box(206, 228, 264, 36, "Transformer encoder, L blocks", "query", 14),
        arrow(tokens[0] + 7, 266, tokens[0] + 7, 286, "output"),
        text(366, 303, "the patches' final states aren't used", 12),
        labeled_box(150, 288, 96, 30, "layer norm", "output", 14),
        arrow(148, 303, 124, 303, "output"),
        labeled_box(62, 288, 60, 30, "head", "output", 14),
        text(30, 303, "class", 14, "output"),
        arrow(60, 303, 50, 303, "output"),
        # one encoder block
        f'<rect x="510" y="14" width="154" height="306" rx="8" fill="none" '
        f'stroke="{ROLES["query"]}" stroke-dasharray="5 4"/>',
        text(587, 32, "one block (pre-norm)", 13, "query"),
    ]
    x, left = 600, 528
    for top, inner in ((60, "self-attention"), (190, "MLP")):
        body += [
            arrow(x, top - 16, x, top),
            labeled_box(x - 52, top + 2, 104, 26, "layer norm", "score", 14),
            arrow(x, top + 30, x, top + 44),
            labeled_box(x - 56, top + 46, 112, 30, inner, "query", 14),
            arrow(x, top + 78, x, top + 92),
            f'<circle cx="{x}" cy="{top + 102}" r="9" fill="none" stroke="{ROLES["score"]}"/>',
            text(x, top + 102, "+", 14),
            f'<path d="M{x} {top - 10} H{left} V{top + 102} H{x - 12}" fill="none" '
            f'stroke="{ROLES["score"]}" stroke-width="1.5"/>',
            arrow(x - 20, top + 102, x - 10, top + 102),
        ]
    body.append(arrow(x, 302, x, 318))
    return svg(672, 326, body)
