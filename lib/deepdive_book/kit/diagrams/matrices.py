"""Matrices in the diagrams' vocabulary: boxes with numbers, and products that a pencil can follow.

In Falk's scheme the left factor stands left, the right factor above, and each number of the
product where its row and its column meet.
"""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from deepdive_book.kit.diagrams import svg, text
from deepdive_book.kit.palette import ROLES

Rows = Sequence[Sequence[float | None]]


class Matrix(NamedTuple):
    """A matrix with a name and the colour of its role ("" = the page's own); None = no number."""

    name: str
    role: str
    values: Rows

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.values), len(self.values[0])


def matrix(
    x: float, y: float, drawn: Matrix, size: float = 28.0, labels: Sequence[str] = ()
) -> str:
    """Draw a matrix from its upper left corner (x, y), its name and shape above, `labels` left of
    the rows.
    """
    rows, cols = drawn.shape
    color = ROLES[drawn.role] if drawn.role else "currentColor"
    parts = [
        text(x + cols * size / 2, y - 12, f"{drawn.name} {rows}×{cols}", 13, drawn.role, bold=True)
    ]
    for i, row in enumerate(drawn.values):
        for j, value in enumerate(row):
            left, top = x + j * size, y + i * size
            parts.append(
                f'<rect x="{left:g}" y="{top:g}" width="{size:g}" height="{size:g}" rx="3" '
                f'fill="{color}" fill-opacity="0.14" stroke="{color}" stroke-opacity="0.8"/>'
            )
            if value is not None:
                number = 0.0 if abs(value) < 0.005 else value  # never "-0"
                words = f"{number:.2f}".rstrip("0").rstrip(".")
                parts.append(text(left + size / 2, top + size / 2 + 1, words, 12))
    parts += [
        f'<text x="{x - 8:g}" y="{y + (i + 0.5) * size:g}" font-size="14" text-anchor="end" '
        f'dominant-baseline="middle" fill="currentColor">{escape(label)}</text>'
        for i, label in enumerate(labels)
    ]
    return "".join(parts)


def falk(
    left: Matrix,
    above: Sequence[Matrix],
    products: Sequence[Matrix],
    labels: Sequence[str] = (),
    size: float = 28.0,
) -> str:
    """Draw `left` times each of `above` in Falk's scheme, one beside the other.

    Raises ValueError when the shapes are not those of products.
    """
    for right, result in zip(above, products, strict=True):
        inner = left.shape[1] == right.shape[0]
        if not inner or result.shape != (left.shape[0], right.shape[1]):
            raise ValueError(
                f"{left.name} {left.shape} times {right.name} {right.shape} is not {result.name} "
                f"{result.shape}: the result has left's rows and above's columns"
            )
    margin = 14 + 8 * max((len(label) for label in labels), default=0)
    gap, x = 24.0, margin + max(left.shape[1] * size, _wide(left)) + 24.0
    middle = 26 + max(m.shape[0] for m in above) * size + 34
    body = [matrix(margin, middle, left, size, labels)]
    for right, result in zip(above, products, strict=True):
        cells = right.shape[1] * size
        slot = max(cells, _wide(right), _wide(result))  # names may be wider than the cells
        corner = x + (slot - cells) / 2
        body.append(matrix(corner, middle - 34 - right.shape[0] * size, right, size))
        body.append(matrix(corner, middle, result, size))
        x += slot + gap
    return svg(x - gap + 6, middle + left.shape[0] * size + 6, body)


def _wide(drawn: Matrix) -> float:
    """Return about the width of a matrix's name and shape."""
    return 8.0 * len(f"{drawn.name} 9×9")
