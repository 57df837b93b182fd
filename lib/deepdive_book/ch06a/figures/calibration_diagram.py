"""The figure of in-context learning: few-shot classification with contextual calibration."""

from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.diagrams.layers import box


def calibration_diagram() -> str:
    """Few-shot classification with contextual calibration, after Zhao et al. 2021, section 5."""
    body = []
    paths = ((70, "the only good…", "query"), (190, "N/A", "content-free query"))
    for y, query, note in paths:
        body += [
            box(135, y, f"k demonstrations\nReview: {query}", "key", 236),
            text(135, y - 40, f"prompt with {note}", 13),
            arrow(253, y, 288, y), box(352, y, "frozen\ndecoder", "residual", 120),
            arrow(412, y, 447, y), box(530, y, "log p(label word)\nsoftmax", "weight", 160),
        ]  # fmt: skip
    body += [
        arrow(610, 70, 650, 115), arrow(610, 190, 650, 145),
        box(705, 130, "divide,\nnormalize", "output", 104), arrow(705, 161, 705, 204),
        text(705, 220, "prediction", 14),
    ]  # fmt: skip
    return svg(770, 240, body)
