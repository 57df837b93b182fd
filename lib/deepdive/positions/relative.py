"""Base class of relative position encodings: a bias for each offset, along the diagonals."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core.position import Position


def offsets(q_positions: Tensor, k_positions: Tensor) -> Tensor:
    """Return k - q for every pair, (T, S), or (B, 1, T, S) when either has a batch axis."""
    result = k_positions.unsqueeze(-2) - q_positions.unsqueeze(-1)
    return result.unsqueeze(1) if result.ndim == 3 else result


def right_aligned(q_positions: Tensor, k_positions: Tensor) -> bool:
    """Return whether keys are at n, n + 1, n + 2 ... and the queries at the last T of them."""
    T, S = q_positions.shape[-1], k_positions.shape[-1]
    if q_positions.ndim > 1 or k_positions.ndim > 1 or T > S:
        return False
    consecutive = torch.arange(S, device=k_positions.device) + k_positions[0]
    return torch.equal(k_positions, consecutive) and torch.equal(q_positions, k_positions[S - T :])


def skew(products: Tensor) -> Tensor:
    """Shift row t of (..., T, L) by T - 1 - t columns to the left, which moves each column to a
    diagonal.

        0 1 2 3 4          2 3 4 . .
        0 1 2 3 4    ->    1 2 3 4 .
        0 1 2 3 4          0 1 2 3 4

    A column of zeros is prepended, and the numbers are reshaped to rows of the old length: no index
    is needed. The dots are values of the next row, and are not used.
    Source: Huang et al. 2019, "skewing"; Dai et al. 2019, appendix B.
    """
    T, L = products.shape[-2:]
    return F.pad(products, (1, 0)).flatten(-2)[..., T:].unflatten(-1, (T, L))


class RelativePosition(Position):
    """Base class of biases that depend only on the offset k - q.

        bias[t, s] = worth(q_t, k_positions[s] - q_positions[t])      # (B or 1, H, T, S)

    A subclass computes the bias of an offset for each query (`worth`). For consecutive positions,
    T + S - 1 offsets occur, and `skew` puts their biases on the diagonals; for any other positions
    they are gathered. `ahead` = False is a scheme without offsets above 0: keys ahead get -inf, and
    a query that has all keys ahead of it is refused.
    """

    ahead = True

    def worth(self, q: Tensor, offsets: Tensor) -> Tensor:
        """Return the bias of each offset (L,) for each query: (B or 1, H, T or 1, L)."""
        raise NotImplementedError

    def bias(self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Return the bias of each pair's offset, (B or 1, H, T, S)."""
        return self.laid(self.worth, q, k, q_positions, k_positions)

    def laid(
        self,
        function: Callable[[Tensor, Tensor], Tensor],
        q: Tensor,
        k: Tensor,
        q_positions: Tensor,
        k_positions: Tensor,
    ) -> Tensor:
        """Return `function(q, offsets)` for each pair's offset, (B or 1, H, T, S)."""
        self.check_pairs(q, k, q_positions, k_positions)
        T, S = q.shape[-2], k.shape[-2]
        if right_aligned(q_positions, k_positions):
            distances = torch.arange(1 - S, T if self.ahead else 1, device=q.device)
            values = function(q, distances)
            if values.shape[-2] == 1 and self.ahead:  # one row for all queries: windows of it
                return values.squeeze(-2).unfold(-1, S, 1).flip(-2)
            bias = skew(values.expand(*values.shape[:2], T, -1))[..., :S]
            ahead = None if self.ahead else _ahead(T, S, q.device)
        else:
            pair_offsets = offsets(q_positions, k_positions)
            if not self.ahead:
                check_past(pair_offsets, q_positions)
            first, last = int(pair_offsets.min()), int(pair_offsets.max())
            last = last if self.ahead else min(last, 0)
            distances = torch.arange(first, last + 1, device=q.device)
            values = function(q, distances)
            index = (pair_offsets - first).clamp(max=len(distances) - 1)
            shape = torch.broadcast_shapes((*values.shape[:2], T, S), index.shape)
            bias = values.expand(*shape[:-1], -1).gather(-1, index.expand(shape))
            ahead = None if self.ahead else pair_offsets > 0
        return bias if ahead is None else bias.masked_fill(ahead, float("-inf"))


def check_past(pair_offsets: Tensor, q_positions: Tensor) -> None:
    """Raise ValueError for a query all of whose keys are ahead: offsets (T, S) or (B, 1, T, S)
    above 0.
    """
    nearest = pair_offsets.amin(-1)  # (T,) or (B, 1, T)
    if bool((nearest > 0).any()):
        q_at = q_positions if nearest.ndim == 1 or q_positions.ndim == 1 else q_positions[:, None]
        position = int(q_at.expand_as(nearest)[nearest > 0][0])
        first = position + int(nearest[nearest > 0][0])
        raise ValueError(
            f"the query at {position} has no key at or before it: the first one is at {first}, and "
            "later keys have no bias here. Shift the positions, or use a scheme with later keys "
            "(ShawPosition, XLPosition)"
        )


def _ahead(T: int, S: int, device: torch.device) -> Tensor:
    """Return which keys are ahead of each query, (T, S), queries right-aligned."""
    return torch.ones(T, S, dtype=torch.bool, device=device).triu(S - T + 1)
