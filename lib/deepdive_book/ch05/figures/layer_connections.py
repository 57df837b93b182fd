"""RealFormer's residual scores, and transparent attention from all encoder states to each decoder
layer.
"""

from deepdive_book.kit.diagrams import arrow, labeled_box, svg, text
from deepdive_book.kit.palette import ROLES

HEIGHT = 32.0


def _box(x: float, y: float, words: str, role: str, width: float) -> str:
    """Return a labeled box centered at (x, y)."""
    return labeled_box(x - width / 2, y - HEIGHT / 2, width, HEIGHT, words, role, 14)


def _plus(x: float, y: float, role: str) -> str:
    circle = (
        f'<circle cx="{x:g}" cy="{y:g}" r="11" fill="none" stroke="{ROLES[role]}" '
        'stroke-width="2"/>'
    )
    return circle + text(x, y, "+", 18)


def _scores(bottom: float, number: int) -> list[str]:
    """Return the attention of one layer, from its input at `bottom` upwards."""
    x, plus = 120, bottom - 104
    return [
        arrow(x, bottom - 2, x, bottom - 26),
        _box(x, bottom - 42, f"Q Kᵀ / √d, layer {number}", "query", 150),
        arrow(x, bottom - 58, x, plus + 11),
        _plus(x, plus, "score"),
        arrow(x, plus - 11, x, plus - 34),
        _box(x, plus - 50, "mask, softmax, · V", "value", 150),
        arrow(x, plus - 66, x, plus - 84),
    ]


def layer_connections() -> str:
    """Return the drawing as SVG."""
    body = [text(150, 16, "RealFormer", 16, bold=True)]
    body += [*_scores(454, 1), *_scores(242, 2)]
    body.append(text(120, 252, "rest of layer 1", 13))
    body.append(text(120, 46, "rest of layer 2", 13))
    body.append(text(120, 466, "states of layer 1's input", 13))
    residual = f'fill="none" stroke="{ROLES["score"]}" stroke-width="4"'
    body.append(f'<path d="M131 350 H232 V138 H143" {residual}/>')
    body.append(arrow(146, 138, 131, 138, "score", 4))
    body.append(f'<path d="M109 138 H20 V60" {residual}/>')
    body.append(arrow(20, 62, 20, 40, "score", 4))
    body.append(text(40, 26, "to layer 3", 13, "score"))
    for line, words in enumerate(("scores", "before", "softmax")):
        body.append(text(272, 228 + 18 * line, words, 14, "score"))

    body.append(text(540, 16, "transparent attention", 16, bold=True))
    names = ("embeddings h₀", "encoder layer 1: h₁", "encoder layer 2: h₂", "encoder layer 3: h₃")
    places = [(410, 440 - 100 * i) for i in range(4)]
    for i, (name, (x, y)) in enumerate(zip(names, places, strict=True)):
        body.append(_box(x, y, name, "key", 150))
        if i:
            body.append(arrow(x, places[i - 1][1] - 16, x, y + 16, "residual", 3))
    for j, y in enumerate((350, 170)):
        for i, (_, state) in enumerate(places):
            wide = (1.0, 1.5, 2.5, 4.0)[i if j else 3 - i]
            body.append(arrow(486, state, 588, y + (i - 1.5) * -5, "weight", wide))
        body.append(_plus(600, y, "weight"))
        body.append(arrow(611, y, 640, y, "key"))
        body.append(_box(715, y, f"cross-attention {j + 1}", "output", 146))
        body.append(text(612, y - 24, f"weights sᵢ{'₁₂'[j]}", 13))
    body.append(arrow(715, 334, 715, 186, "residual", 3))
    body.append(arrow(715, 420, 715, 366, "residual", 3))
    body.append(arrow(715, 154, 715, 100, "residual", 3))
    body.append(text(715, 436, "target tokens", 13))
    body.append(text(715, 84, "output", 13))
    return svg(800, 486, body)
