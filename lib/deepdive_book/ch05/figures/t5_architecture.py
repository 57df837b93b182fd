"""T5 as a diagram: text-to-text encoder-decoder, pre-RMSNorm layers, relative position biases."""

from deepdive_book.kit.diagrams import arrow, labeled_box, svg, text
from deepdive_book.kit.palette import ROLES

ENCODER, DECODER, WIDTH = 220.0, 490.0, 166.0  # the middles of the two columns; width of a box


def _box(x: float, y: float, words: str, role: str, height: float = 36) -> str:
    """Return a labeled box centered at (x, y)."""
    return labeled_box(x - WIDTH / 2, y - height / 2, WIDTH, height, words, role)


def _layers(x: float, top: float, bottom: float, name: str, side: float) -> str:
    """Return the frame around the parts that are repeated N times, with its name at one side."""
    gray = ROLES["score"]
    return (
        f'<rect x="{x - 98:g}" y="{top:g}" width="196" height="{bottom - top:g}" rx="10" '
        f'fill="none" stroke="{gray}" stroke-dasharray="5 4"/>'
        + text(side, top + 14, name, 14)
        + text(side, top + 32, "N layers", 13)
    )


def _bias(x: float, y: float, causal: bool = False) -> str:
    """Return a 5 x 5 matrix of biases that depend only on the distance, centered at (x, y)."""
    return "".join(
        f'<rect x="{x - 30 + 12 * j:g}" y="{y - 30 + 12 * i:g}" width="12" height="12" '
        f'fill="{ROLES["weight"]}" fill-opacity="{0.85 - 0.18 * abs(i - j):.2f}" '
        f'stroke="{ROLES["weight"]}" stroke-width=".5"/>'
        for i in range(5)
        for j in range(i + 1 if causal else 5)
    )


def t5_architecture() -> str:
    """Return the diagram as SVG; `ALT` describes it."""
    left, right = ENCODER, DECODER
    body = [
        # encoder, from the bottom to the top
        text(left, 408, '"translate English to German: That is good."', 13),
        text(left, 426, "task prefix + input text", 13),
        arrow(left, 396, left, 378),
        _box(left, 358, "embedding", "value"),
        arrow(left, 340, left, 306),
        _layers(left, 166, 318, "encoder", left - 134),
        _box(left, 286, "self-attention", "query"),
        arrow(left, 268, left, 226),
        _box(left, 206, "feed-forward", "value"),
        arrow(left, 188, left, 140),
        text(left, 128, "encoder output", 14, "key"),
        # decoder
        text(right, 408, '<pad> "Das ist gut."', 13),
        text(right, 426, "target, shifted right", 13),
        arrow(right, 396, right, 378),
        _box(right, 358, "embedding", "value"),
        arrow(right, 340, right, 314),
        _layers(right, 124, 326, "decoder", right + 134),
        _box(right, 296, "causal self-attention", "query"),
        arrow(right, 278, right, 246),
        _box(right, 226, "cross-attention", "key"),
        arrow(right, 208, right, 176),
        _box(right, 156, "feed-forward", "value"),
        arrow(right, 138, right, 98),
        _box(right, 78, "linear, softmax", "output"),
        arrow(right, 60, right, 38),
        text(right, 24, '"Das ist gut." </s>', 14, "output"),
        # the encoder's output to the decoder's cross-attention
        f'<path d="M{left + 56:g} 128 H344 V226" fill="none" stroke="{ROLES["key"]}" '
        'stroke-width="1.5"/>',
        arrow(344, 226, right - WIDTH / 2 - 2, 226, "key"),
        text(372, 210, "keys,", 13, "key"),
        text(376, 242, "values", 13, "key"),
        # relative position biases
        _bias(66, 286),
        arrow(100, 286, left - WIDTH / 2 - 2, 286, "weight"),
        text(66, 332, "relative", 13, "weight"),
        text(66, 348, "position bias", 13, "weight"),
        _bias(644, 296, causal=True),
        arrow(610, 296, right + WIDTH / 2 + 2, 296, "weight"),
        text(644, 342, "relative", 13, "weight"),
        text(644, 358, "position bias", 13, "weight"),
        text(left, 60, "each sublayer: x + sublayer(RMSNorm(x))", 13),
        text(left, 78, "scores = Q Kᵀ + bias, without 1/√d", 13),
    ]
    return svg(710, 440, body)
