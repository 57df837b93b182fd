"""What all relative schemes share: a score for each offset, laid along the diagonals."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core.position import Position


def offsets(q_positions: Tensor, k_positions: Tensor) -> Tensor:
    """Return k - q for every pair, (T, S), or (B, 1, T, S) when either has a batch axis."""
    apart = k_positions.unsqueeze(-2) - q_positions.unsqueeze(-1)
    return apart.unsqueeze(1) if apart.ndim == 3 else apart


def right_aligned(q_positions: Tensor, k_positions: Tensor) -> bool:
    """Return whether keys stand at n, n + 1, n + 2 ... and the queries at the last T of them."""
    T, S = q_positions.shape[-1], k_positions.shape[-1]
    if q_positions.ndim > 1 or k_positions.ndim > 1 or T > S:
        return False
    in_a_row = torch.arange(S, device=k_positions.device) + k_positions[0]
    return torch.equal(k_positions, in_a_row) and torch.equal(q_positions, k_positions[S - T :])


def skew(products: Tensor) -> Tensor:
    """Move row t of (..., T, L) by T - 1 - t columns to the left: what stood in one column then
    stands on one diagonal.

        0 1 2 3 4          2 3 4 . .
        0 1 2 3 4    ->    1 2 3 4 .
        0 1 2 3 4          0 1 2 3 4

    One column of zeros in front, and the numbers read on in rows of the old length: no index is
    made. The dots are what the next row begins with, and mean nothing.
    Source: Huang et al. 2019, "skewing"; Dai et al. 2019, appendix B.
    """
    T, L = products.shape[-2:]
    return F.pad(products, (1, 0)).flatten(-2)[..., T:].unflatten(-1, (T, L))


class RelativePosition(Position):
    """Base of the schemes that add to a score what depends on the offset k - q alone.

        bias[t, s] = worth(q_t, k_positions[s] - q_positions[t])      # (B or 1, H, T, S)

    A scheme says what an offset is `worth` to each query. For positions in a row, T + S - 1
    offsets occur, and `skew` lays their worths on the diagonals; for any other positions they are
    gathered. `ahead` = False is a scheme without offsets above 0: what stands ahead gets -inf, and
    a query that has all keys ahead of it is refused.
    """

    ahead = True

    def worth(self, q: Tensor, offsets: Tensor) -> Tensor:
        """Return what each of the offsets (L,) is worth to each query: (B or 1, H, T or 1, L)."""
        raise NotImplementedError

    def bias(self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Return the worth of each pair's offset, (B or 1, H, T, S)."""
        return self.laid(self.worth, q, k, q_positions, k_positions)

    def laid(
        self,
        worth_of: Callable[[Tensor, Tensor], Tensor],
        q: Tensor,
        k: Tensor,
        q_positions: Tensor,
        k_positions: Tensor,
    ) -> Tensor:
        """Return what `worth_of(q, offsets)` says of each pair's offset, (B or 1, H, T, S)."""
        self.check_pairs(q, k, q_positions, k_positions)
        T, S = q.shape[-2], k.shape[-2]
        if right_aligned(q_positions, k_positions):
            distances = torch.arange(1 - S, T if self.ahead else 1, device=q.device)
            worth = worth_of(q, distances)
            if worth.shape[-2] == 1 and self.ahead:  # one row for all queries: windows of it
                return worth.squeeze(-2).unfold(-1, S, 1).flip(-2)
            laid = skew(worth.expand(*worth.shape[:2], T, -1))[..., :S]
            ahead = None if self.ahead else _ahead(T, S, q.device)
        else:
            apart = offsets(q_positions, k_positions)
            if not self.ahead:
                check_past(apart, q_positions)
            first, last = int(apart.min()), int(apart.max())
            last = last if self.ahead else min(last, 0)
            distances = torch.arange(first, last + 1, device=q.device)
            worth = worth_of(q, distances)
            at = (apart - first).clamp(max=len(distances) - 1)
            shape = torch.broadcast_shapes((*worth.shape[:2], T, S), at.shape)
            laid = worth.expand(*shape[:-1], -1).gather(-1, at.expand(shape))
            ahead = None if self.ahead else apart > 0
        return laid if ahead is None else laid.masked_fill(ahead, float("-inf"))


def check_past(apart: Tensor, q_positions: Tensor) -> None:
    """Raise ValueError for a query all of whose keys stand ahead: offsets (T, S) or (B, 1, T, S)
    above 0.
    """
    nearest = apart.amin(-1)  # (T,) or (B, 1, T)
    if bool((nearest > 0).any()):
        places = q_positions if nearest.ndim == 1 or q_positions.ndim == 1 else q_positions[:, None]
        at = int(places.expand_as(nearest)[nearest > 0][0])
        first = at + int(nearest[nearest > 0][0])
        raise ValueError(
            f"the query at {at} has no key at or behind it: the first one is at {first}, and what "
            "is ahead has no worth here. Move the places, or use a scheme that looks ahead "
            "(ShawPosition, XLPosition)"
        )


def _ahead(T: int, S: int, device: torch.device) -> Tensor:
    """Return which keys stand ahead of which query, (T, S), queries right-aligned."""
    return torch.ones(T, S, dtype=torch.bool, device=device).triu(S - T + 1)
