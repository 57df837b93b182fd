"""Feature attribution of a text classifier, and its faithfulness test, as a diagram."""

from deepdive_book.kit.diagrams import arrow, labeled_box, svg, text
from deepdive_book.kit.palette import ROLES

WORDS = (("cervical", 0.25), ("lymphomata", 1.0), ("in", 0.05), ("adults", 0.15))


def _box(x: float, words: str, note: str, role: str, width: float) -> str:
    """Return a labeled box on the top line, and its shape below it."""
    return labeled_box(x, 30, width, 42, words, role, 14) + text(x + width / 2, 88, note, 13)


def _words(y: float, hidden: set[int], filled: bool) -> str:
    """Return the words as cells, with [MASK] for hidden ones and the attribution as the fill."""
    found, x = [], 150.0
    for i, (word, value) in enumerate(WORDS):
        width, gone = 96 if i < 2 else 62, i in hidden
        role = "score" if gone else "key"
        opacity = 0.1 if gone or not filled else 0.75 * value
        found.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width}" height="28" rx="3" fill="{ROLES[role]}" '
            f'fill-opacity="{opacity:.2f}" stroke="{ROLES[role]}"/>'
            + text(x + width / 2, y + 14, "[MASK]" if gone else word, 13)
        )
        x += width + 6
    return "".join(found)


def attribution_diagram() -> str:
    """Return the diagram as SVG; `ALT` describes it."""
    body = [
        _box(6, "tokens", "(T,)", "score", 84),
        arrow(92, 51, 114, 51),
        _box(116, "embeddings x", "(T, d)", "key", 116),
        arrow(234, 51, 256, 51),
        _box(258, "Transformer encoder", "N layers", "query", 158),
        arrow(418, 51, 440, 51),
        _box(442, "logits", "(C,)", "output", 84),
        arrow(528, 51, 550, 51),
        _box(552, "margin", "best − second best", "weight", 112),
        # the attribution
        f'<path d="M608 98 V126 H174" fill="none" stroke="{ROLES["weight"]}" stroke-width="1.5"/>',
        arrow(174, 126, 174, 98, "weight"),
        text(390, 114, "attribution method, for example integrated gradients", 13, "weight"),
        text(70, 160, "attributions", 13),
        _words(146, set(), True),
        # the faithfulness test
        text(70, 204, "comprehensiveness", 13),
        _words(190, {1}, False),
        text(582, 204, "by how much does the", 13),
        text(70, 244, "sufficiency", 13),
        _words(230, {0, 2, 3}, False),
        text(582, 244, "margin fall?", 13),
    ]
    return svg(672, 270, body)
