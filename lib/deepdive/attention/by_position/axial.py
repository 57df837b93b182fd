"""Attention along one axis of a table of positions: an image's rows, or its columns."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.patterns import PatternAttention, written_out
from deepdive.attention.structure import all_real
from deepdive.checks import positive
from deepdive.masks import Mask, of_queries

AXES = ("row", "column")


@dataclass(frozen=True)
class SameLine(Mask):
    """Positions stand in rows of `width`, one after the other; a query meets its row or column."""

    width: int
    along: str

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        at = torch.arange(S, device=device)
        line = at // self.width if self.along == "row" else at % self.width
        return (of_queries(line, T, "SameLine")[:, None] == line)[None, None]


class AxialAttention(PatternAttention):
    """Softmax attention under the mask `SameLine(width, along)`: along rows of `width` positions,
    or along the columns, in O(T * line * d), where a line has sqrt(T) positions in a square.

        position t stands in row t // width and column t % width

    Rows fold into the batch, or columns do; what is left is plain attention. A layer along rows and
    one along columns let every position reach every other. Honours `Causal` (in reading order) and
    `Padding`; the last row need not be full.

    Raises ValueError when width is not positive or `along` is neither "row" nor "column".
    Source: Ho et al. 2019, section 3.

    System: axial
    Parent: transformer
    What differs:
    - positions stand in a table, and a query meets its own row or its own column (`along`)
    - layers take turns: one along each axis
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

    def sparse(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        B, T, S = q.shape[0], q.shape[2], k.shape[2]
        front, back = (S - T) % self.width, -S % self.width
        if back:
            real = F.pad(all_real(real, k), (0, back), value=False)
        q = F.pad(q, (0, 0, front, back)).unflatten(2, (-1, self.width))
        k, v = (F.pad(rows, (0, 0, 0, back)).unflatten(2, (-1, self.width)) for rows in (k, v))
        real = None if real is None else real.expand(B, -1).unflatten(1, (-1, self.width))
        lines = q.shape[2] if self.along == "row" else self.width
        if self.along == "row":  # rows without a query are not needed
            k, v = k[:, :, -lines:], v[:, :, -lines:]
            real = None if real is None else real[:, -lines:]
        else:
            q, k, v = (rows.transpose(2, 3) for rows in (q, k, v))
            real = None if real is None else real.transpose(1, 2)
        q, k, v = (rows.transpose(1, 2).flatten(0, 1) for rows in (q, k, v))  # (B * lines, H, ...)
        mask = written_out(None, None if real is None else real.flatten(0, 1), causal)
        allowed = None if mask is None else mask.allowed(q.shape[2], k.shape[2], q.device)
        mixed = self._fused(q, k, v, allowed, None, scale)
        mixed = mixed.unflatten(0, (B, lines)).transpose(1, 2)  # (B, H, lines, along the line, d)
        if self.along == "column":
            mixed = mixed.transpose(2, 3)
        return mixed.flatten(2, 3)[:, :, front : front + T]
