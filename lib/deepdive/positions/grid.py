"""Relative position bias in two dimensions (Swin): a trained number for each head and offset."""

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.position import FIX_NEGATIVE, Position, outside


class GridBias(Position):
    """A number for each head and each offset in lines and columns, added to the scores.

        position t is in line t // side and column t % side
        bias[h, t, s] = table[(lines(t) - lines(s) + side - 1) * (2 side - 1)
                              + columns(t) - columns(s) + side - 1, h]

    A square of `side` lines has (2 side - 1)^2 offsets. Raises ValueError for a position outside.
    Source: Liu et al. 2021, section 3.2, equation 4, and their released code.
    """

    def __init__(self, n_heads: int, side: int) -> None:
        super().__init__()
        positive(n_heads=n_heads, side=side)
        self.n_heads, self.side, self.length = n_heads, side, side**2
        self.table = nn.Embedding((2 * side - 1) ** 2, n_heads)
        nn.init.trunc_normal_(self.table.weight, std=0.02, a=-0.04, b=0.04)

    def extra_repr(self) -> str:
        return f"n_heads={self.n_heads}, side={self.side}"

    def offsets(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Return the row of the table for each pair, (T, S) or (B, T, S)."""
        q, k, side = q_positions.unsqueeze(-1), k_positions.unsqueeze(-2), self.side
        lines, columns = q // side - k // side, q % side - k % side
        return (lines + side - 1) * (2 * side - 1) + columns + side - 1

    def bias(self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Return the bias of each pair's offset, (B or 1, H, T, S)."""
        self.check_pairs(q, k, q_positions, k_positions)
        for positions in (q_positions, k_positions):
            if (position := outside(positions, self.length)) is not None:
                fix = "build it with a larger side"
                raise ValueError(
                    f"position {position} is outside a grid of {self.side} x {self.side}: "
                    f"{FIX_NEGATIVE if position < 0 else fix}"
                )
        numbers = F.embedding(self.offsets(q_positions, k_positions), self.table.weight)
        numbers = numbers if numbers.ndim == 4 else numbers.unsqueeze(0)
        return numbers.permute(0, 3, 1, 2)


class SpecialGridBias(GridBias):
    """`GridBias` with a class token at position 0: the grid's positions count from 1. Each head has
    three more numbers, for the class token as query, as key, and as both.


    Source: Bao et al. 2022 (BEiT), their released code.
    """

    def __init__(self, n_heads: int, side: int) -> None:
        super().__init__(n_heads, side)
        self.length = side**2 + 1
        self.table = nn.Embedding((2 * side - 1) ** 2 + 3, n_heads)
        nn.init.trunc_normal_(self.table.weight, std=0.02, a=-0.04, b=0.04)

    def offsets(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Return the row of the table for each pair, (T, S) or (B, T, S)."""
        index = super().offsets((q_positions - 1).clamp(min=0), (k_positions - 1).clamp(min=0))
        q_special, k_special = (q_positions == 0).unsqueeze(-1), (k_positions == 0).unsqueeze(-2)
        first = self.table.num_embeddings - 3
        result = index.masked_fill(q_special, first).masked_fill(k_special, first + 1)
        return result.masked_fill(q_special & k_special, first + 2)
