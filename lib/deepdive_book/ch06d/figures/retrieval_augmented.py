"""Retrieval-augmented generation as a drawing: retrieve, read each passage, sum.

retrieval_augmented()   # the drawing, SVG
retrievers()            # the drawing of the chapter's opening, SVG
"""

from deepdive_book.kit.diagrams import arrow, labeled_box, svg, text
from deepdive_book.kit.palette import ROLES

PRIOR = (0.4, 0.6)


def _passages(y: float) -> list[str]:
    """Return two passages, as wide as they are probable."""
    body, x = [], 40.0
    for i, p in enumerate(PRIOR, 1):
        wide = 340 * p
        body.append(
            f'<rect x="{x:g}" y="{y:g}" width="{wide - 8:g}" height="34" rx="4" '
            f'fill="{ROLES["key"]}" fill-opacity="0.2" stroke="{ROLES["key"]}"/>'
        )
        body.append(text(x + wide / 2 - 4, y + 22, f"passage {i}: {p:g}", 14))
        x += wide
    return body


def retrieval_augmented() -> str:
    """Return the drawing as SVG, from the question at the top to the answer at the bottom."""
    left, right = 40 + 340 * PRIOR[0] / 2 - 4, 40 + 340 * (PRIOR[0] + PRIOR[1] / 2) - 4
    body = [
        labeled_box(20, 10, 180, 34, "question x", "query", 15),
        labeled_box(220, 10, 180, 34, "index of passages", "key", 15),
        arrow(110, 46, 110, 66), arrow(310, 46, 310, 66),
        labeled_box(20, 68, 180, 34, "question encoder", "query", 15),
        labeled_box(220, 68, 180, 34, "passage encoder", "key", 15),
        arrow(110, 104, 190, 126), arrow(310, 104, 230, 126),
        text(210, 141, "dot products, softmax: p(z | x)", 15),
        arrow(210, 152, 210, 168),
        *_passages(170),
        arrow(left, 206, left, 226), arrow(right, 206, right, 226),
        labeled_box(left - 66, 228, 132, 34, "p(y | x, z = 1)", "value", 14),
        labeled_box(right - 66, 228, 132, 34, "p(y | x, z = 2)", "value", 14),
        arrow(left, 264, 190, 290), arrow(right, 264, 230, 290),
        labeled_box(100, 292, 220, 34, "weighted sum: p(y | x)", "output", 15),
        f'<path d="M98 309 H10 V85 H18" fill="none" stroke="{ROLES["output"]}" '
        'stroke-width="1.6" stroke-dasharray="5 4"/>',
        text(210, 350, "dashed: the gradient trains the question encoder", 14),
    ]  # fmt: skip
    return svg(420, 362, body)


def retrievers() -> str:
    """Return the opening's drawing: a model alone, and a model with retrieval."""
    body = [
        text(90, 24, "closed book", 15, bold=True),
        labeled_box(20, 42, 140, 32, "question", "query", 14),
        arrow(90, 76, 90, 96),
        labeled_box(20, 98, 140, 32, "language model", "value", 14),
        arrow(90, 132, 90, 152),
        labeled_box(20, 154, 140, 32, "answer", "output", 14),
        text(300, 24, "with retrieval", 15, bold=True),
        labeled_box(210, 42, 190, 32, "question", "query", 14),
        arrow(250, 76, 250, 152), arrow(350, 76, 350, 96),
        labeled_box(290, 98, 120, 32, "retriever", "key", 14),
        arrow(350, 132, 350, 152),
        labeled_box(210, 154, 190, 32, "question + passage", "query", 14),
        arrow(305, 188, 305, 208),
        labeled_box(210, 210, 190, 32, "language model", "value", 14),
        arrow(305, 244, 305, 264),
        labeled_box(210, 266, 190, 32, "answer", "output", 14),
    ]  # fmt: skip
    return svg(420, 306, body)
