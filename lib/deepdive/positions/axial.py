"""Axial position embeddings (Reformer): a learned table, factorized into two small ones."""

from math import prod

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.position import FIX_NEGATIVE, Position, outside


class AxialPosition(Position):
    """A learned table in two factors: position i * columns + j has (tables[0][i], tables[1][j]).

    `shape` (rows, columns) is the number of positions, `widths` divides the d_model numbers of an
    embedding: rows * widths[0] + columns * widths[1] parameters instead of
    rows * columns * d_model. Raises ValueError for a position outside the table.
    Source: Ho et al. 2019; as released with Reformer.
    """

    def __init__(self, shape: tuple[int, int], widths: tuple[int, int]) -> None:
        super().__init__()
        positive(shape=min(shape), widths=min(widths))
        self.shape, self.d_model = shape, sum(widths)
        rows, columns = torch.empty(shape[0], 1, widths[0]), torch.empty(1, shape[1], widths[1])
        self.tables = nn.ParameterList([nn.Parameter(rows), nn.Parameter(columns)])
        for table in self.tables:
            nn.init.normal_(table)

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return x (B, T, d_model) plus the embeddings of `positions`."""
        self.check_rows(x, positions, d_model=x.shape[-1])
        position = outside(positions, prod(self.shape))
        if position is not None:
            fix = "shorten the sequence, or build the model with a larger shape"
            raise ValueError(
                f"position {position} is outside the axial table of {self.shape[0]} x "
                f"{self.shape[1]}: {FIX_NEGATIVE if position < 0 else fix}"
            )
        i, j = positions // self.shape[1], positions % self.shape[1]
        return x + torch.cat([self.tables[0][i, 0], self.tables[1][0, j]], dim=-1)
