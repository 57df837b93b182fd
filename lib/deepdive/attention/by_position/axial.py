"""Axial attention: along one axis of a grid of positions, an image's rows or its columns."""

from dataclasses import dataclass

import torch
from torch import Tensor

from deepdive._fast.axial import lines
from deepdive.attention.patterns import PatternAttention, written_out
from deepdive.core.checks import positive
from deepdive.core.masks import Mask, of_queries

AXES = ("row", "column")


@dataclass(frozen=True)
class SameLine(Mask):
    """Positions form rows of `width`; a query attends to its row or column."""

    width: int
    along: str

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        at = torch.arange(S, device=device)
        line = at // self.width if self.along == "row" else at % self.width
        return (of_queries(line, T, "SameLine")[:, None] == line)[None, None]


class AxialAttention(PatternAttention):
    """Softmax attention under the mask `SameLine(width, along)`: along rows of `width` positions,
    or along the columns, in O(T * line * d), where a line has sqrt(T) positions in a square.

        position t is in row t // width and column t % width

    Rows fold into the batch, or columns do; the rest is plain attention. A layer along rows and one
    along columns connect every position to every other. Honours `Causal` (in reading order) and
    `Padding`; the last row need not be full.

    Raises ValueError when width is not positive or `along` is neither "row" nor "column".
    Source: Ho et al. 2019, section 3.

    System: axial
    Parent: transformer
    What differs:
    - positions form a grid, and a query attends to its own row or its own column (`along`)
    - layers alternate: one along each axis
    Source: Ho et al. 2019, section 3.
    Book: references
    """

    queries = "last"

    def __init__(self, width: int, along: str = "row", *, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        positive(width=width)
        if along not in AXES:
            raise ValueError(f"along={along!r}: expected one of {AXES}")
        self.width, self.along = width, along

    def extra_repr(self) -> str:
        return f"width={self.width}, along={self.along!r}"

    def pattern(self, heads: int) -> Mask:
        return SameLine(self.width, self.along)

    def fast(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        by_column = self.along == "column"
        q, k, v, real, join = lines(q, k, v, real, self.width, by_column=by_column)
        mask = written_out(None, real, causal)
        allowed = None if mask is None else mask.allowed(q.shape[2], k.shape[2], q.device)
        return join(self.in_one_call(q, k, v, allowed, None, scale))
