"""A BiLSTM classifier with one attention layer, and the test that replaces its weights."""

from deepdive_book.kit.diagrams import arrow, labeled_box, svg, text
from deepdive_book.kit.palette import ROLES

WORDS = ["music", "is", "cold", "."]
OWN, OTHER = (0.0, 0.0, 1.0, 0.0), (0.5, 0.0, 0.0, 0.5)


def _box(x: float, y: float, width: float, words: str, role: str) -> str:
    """Return a labeled box centered at (x, y)."""
    return labeled_box(x - width / 2, y - 17, width, 34, words, role)


def _weights(y: float, weights: tuple[float, ...], label: str, role: str) -> list[str]:
    """Return a row of weights, one above each hidden state, as bars with their numbers."""
    color, parts = ROLES[role], [text(490, y - 4, label, 14, role)]
    for i, weight in enumerate(weights):
        x = 70 + 96 * i
        parts.append(
            f'<rect x="{x - 14:g}" y="{y + 8 - 26 * weight:g}" width="28" '
            f'height="{max(26 * weight, 1.5):g}" fill="{color}" fill-opacity=".75"/>'
        )
        parts.append(text(x + 30, y, f"{weight:g}", 14))
    return parts


def attention_classifier() -> str:
    """Return the diagram as SVG; `ALT` describes it."""
    body = [
        _box(214, 24, 150, "linear classifier", "output"),
        arrow(294, 24, 350, 24, "output"),
        text(450, 24, "logit, probability", 15, "output"),
        arrow(214, 62, 214, 43),
        text(214, 74, "weighted sum of the hidden states", 14),
        arrow(214, 102, 214, 86),
        *_weights(176, OWN, "attention weights", "weight"),
        *_weights(128, OTHER, "replaced weights", "output"),
        _box(490, 252, 150, "query", "query"),
        arrow(490, 233, 490, 186, "query"),
        _box(214, 300, 400, "bidirectional LSTM", "value"),
    ]
    for i, word in enumerate(WORDS):
        x = 70 + 96 * i
        body += [
            arrow(x, 232, x, 196),
            _box(x, 252, 70, f"h{i + 1}", "key"),
            arrow(x, 282, x, 270),
            arrow(x, 340, x, 318),
            _box(x, 360, 80, word, "score"),
        ]
    body += [arrow(396, 252, 412, 252), text(490, 360, "embeddings", 14)]
    return svg(580, 384, body)
