"""Figures of in-context learning: contextual calibration, and predictions by order."""

from collections.abc import Mapping

from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.diagrams.layers import box
from deepdive_book.kit.palette import ROLES


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


def order_dots(rates: Mapping[str, Mapping[str, float]]) -> str:
    """The rate of "positive" predictions, one data point per order.

    rates: for each name of a method, the rate in percent of each order; orders end in 2 or 3 if
    their last demonstration is positive.
    """
    body = [f'<path d="M225 8V{100 * len(rates) + 4}" stroke="currentColor" stroke-dasharray="4"/>']
    body += [text(25 + 4 * x, 100 * len(rates) + 18, f"{x}%") for x in (0, 25, 50, 75, 100)]
    for i, (name, orders) in enumerate(rates.items()):
        body.append(text(60, 14 + 100 * i, name, 15))
        for positive, base in ((True, 48 + 100 * i), (False, 92 + 100 * i)):
            found = sorted(
                rate for order, rate in orders.items() if (order[-1] in "23") is positive
            )
            for k, rate in enumerate(found):
                x, y = 25 + 4 * rate, base - 10 * found[:k].count(rate)
                body.append(
                    f'<circle cx="{x:g}" cy="{y}" r="5" fill="{ROLES["key"]}"/>' if positive else
                    f'<path d="M{x - 5:g} {y - 5}h10v10h-10z" fill="{ROLES["query"]}"/>'
                )  # fmt: skip
    return svg(450, 100 * len(rates) + 28, body)
