"""The Music Transformer's relative attention: Shaw's for the past alone, by skewing."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepdive.laws import Case, case, random_rows
from deepdive.positions.base import ORDERED, shifted
from deepdive.positions.relative import RelativePosition
from deepdive.positions.shaw import clipped


class MusicPosition(RelativePosition):
    """A trained vector for each head and each distance back, met by the query.

        bias[h, t, s] = scale * q_t . rows[h, -min(t - s, left)],   -inf for s > t

    `rows` (H, left + 1, d_head) begins with the farthest. One product Q E^T, (T, S), is skewed:
    nothing of size T x S x d_head is made. What lies `left` or farther back is worth the same.
    `scale` defaults to 1 / sqrt(d_head).
    Raises ValueError when left is negative.

    System: music_relative
    Parent: shaw_relative
    What differs:
    - the product of queries and offsets is moved into place (`skew`): no vector for each pair
    - the vectors are a head's own (`rows`), and nothing is added to the values
    - only what is behind a query has a vector (`ahead` = False): it is causal by itself
    Time: O(T d_model)
    Memory: O(n_heads T)
    Source: Huang et al. 2019, "Music Transformer", the skewing procedure.
    Book: KAIST deck 3
    Page: 05_efficient/08_positions#skewing-how-to-lay-numbers-on-diagonals
    Checkpoints: none
    Example: MultiHeadAttention(16, 4, position=MusicPosition(4, 4, 3))
    """

    ahead = False

    def __init__(self, n_heads: int, d_head: int, left: int, scale: float | None = None) -> None:
        super().__init__()
        if left < 0:
            raise ValueError(f"left={left}: distances are told apart up to 0 or more")
        self.n_heads, self.d_head, self.left = n_heads, d_head, left
        self.scale = d_head**-0.5 if scale is None else scale
        self.rows = nn.Parameter(torch.empty(n_heads, left + 1, d_head))
        nn.init.normal_(self.rows, std=d_head**-0.5)

    def extra_repr(self) -> str:
        return f"left={self.left}"

    def worth(self, q: Tensor, offsets: Tensor) -> Tensor:
        """Return scale * q . rows[h, offset], (B, H, T, L), for offsets up to 0."""
        return clipped((self.scale * q) @ self.rows.transpose(-2, -1), offsets, self.left)


@case(MusicPosition)
def _() -> Case:
    q, k, at = random_rows(2, 3, 5, 4), random_rows(2, 3, 7, 4, seed=6), torch.arange(7)

    def entry_by_entry() -> tuple[Tensor, Tensor]:
        scheme = MusicPosition(3, 4, 3).double()
        added = scheme.bias(q, k, at[2:], at)
        by_hand = torch.full((2, 3, 5, 7), float("-inf")).double()
        for t in range(5):
            for s in range(t + 3):
                vector = scheme.rows[:, 3 - min(t + 2 - s, 3)]
                by_hand[:, :, t, s] = (q[:, :, t] * vector).sum(-1) / 2
        return added.exp(), by_hand.exp()  # exp(-inf) = 0

    def gathered() -> tuple[Tensor, Tensor]:
        """The same places with a batch axis are gathered, not skewed."""
        scheme = MusicPosition(3, 4, 3).double()
        rows = at.expand(2, 7)
        skewed, picked = scheme.bias(q, k, at[2:], at), scheme.bias(q, k, rows[:, 2:], rows)
        return skewed.exp(), picked.exp()

    def moved() -> tuple[Tensor, Tensor]:
        before, after = shifted(lambda: MusicPosition(3, 4, 3))()
        return before.exp(), after.exp()

    return Case(
        place="position",
        make=lambda: MusicPosition(4, 4, 3),
        parity="the equation, entry by entry",
        limits={
            "a vector for each pair, by loops": entry_by_entry,
            "skewed: gathered": gathered,
            "shifted: the same": moved,
        },
        refusals={"a reach below 0": lambda: MusicPosition(4, 4, -1)},
        laws={"order": ORDERED},
    )
