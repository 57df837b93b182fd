"""Halting weights of a Universal Transformer with ACT, column by column, for saved sums to choose
from.

    halting_steps(examples)         # dictionaries as `adaptive_steps.examples` returns them
"""

from collections.abc import Mapping, Sequence
from typing import Any

from deepdive_book.kit.diagrams import svg, text
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES
from deepdive_book.kit.panels import panels

CELL, HEIGHT, LEFT = 44, 28, 84


def halting_steps(examples: Sequence[Mapping[str, Any]]) -> Html:
    """Return the drawing of the first sum, and a list to choose another.

    Raises ValueError for fewer than two sums, and for one whose columns have no steps.
    """
    if len(examples) < 2 or any(len(e["columns"]) != len(e["steps"]) for e in examples):
        raise ValueError(f"got {len(examples)} sums; expected two or more, with steps per column")
    names = [f"sum {i + 1}" for i in range(len(examples))]
    most = max(max(e["steps"]) for e in examples)

    def draw(name: str) -> tuple[str, str]:
        example = examples[names.index(name)]
        n, base = len(example["columns"]), 30 + HEIGHT * most
        body = [text(40, 12, "step", 16)]
        for step in range(most):
            body.append(text(40, base - HEIGHT * step - HEIGHT / 2, str(step + 1), 16))
        for row, words in enumerate(("bits", "difficulty", "steps")):
            body.append(text(40, base + 18 + 22 * row, words, 16))
        for i, column in enumerate(example["columns"]):
            x = LEFT + CELL * i
            cells = (f"{column // 2}+{column % 2}", example["difficulty"][i], example["steps"][i])
            for row, words in enumerate(cells):
                body.append(text(x + CELL / 2, base + 18 + 22 * row, str(words), 16))
            for step in range(most):
                ran = step < example["steps"][i]
                weight = example["weights"][i][step] if ran else 0.0
                style = "" if ran else ' stroke-dasharray="3 3" stroke-opacity=".4"'
                body.append(
                    f'<rect x="{x + 2}" y="{base - HEIGHT * (step + 1) + 2}" width="{CELL - 4}" '
                    f'height="{HEIGHT - 4}" rx="3" fill="{ROLES["query"]}" '
                    f'fill-opacity="{0.75 * weight:.2f}" stroke="{ROLES["query"]}"{style}/>'
                )
                if ran:
                    y = base - HEIGHT * (step + 0.5)
                    body.append(text(x + CELL / 2, y, f"{weight:.2f}", 16))
        steps = example["steps"]
        words = (
            f"{sum(steps) / n:.1f} steps on average, {max(steps)} for the slowest column; "
            f"{sum(example['correct'])} of {n} bits are correct."
        )
        return svg(LEFT + CELL * n + 6, base + 76, body), words

    return panels(
        "Halting weights, column by column", {"sum": names}, draw, wide=50, lines=2,
        try_this="choose each sum. Find the column with the most steps, and compare its difficulty "
        "and its position with those of the columns that take the fewest.",
    )  # fmt: skip
