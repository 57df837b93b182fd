"""The Music Transformer's relative attention: Shaw's for earlier keys only, by skewing."""

import torch
from torch import Tensor, nn

from deepdive.positions.relative import RelativePosition
from deepdive.positions.shaw import clipped


class MusicPosition(RelativePosition):
    """A trained vector for each head and each distance back, multiplied by the query.

        bias[h, t, s] = scale * q_t . rows[h, -min(t - s, left)],   -inf for s > t

    `rows` (H, left + 1, d_head) begins with the farthest. One product Q E^T, (T, S), is skewed:
    nothing of size T x S x d_head is computed. Keys `left` or farther back share a vector.
    `scale` defaults to 1 / sqrt(d_head).
    Raises ValueError when left is negative.

    System: music_relative
    Parent: shaw_relative
    What differs:
    - the product of queries and offsets is skewed (`skew`): no vector for each pair
    - each head has its own vectors (`rows`), and nothing is added to the values
    - only keys at or behind a query have a vector (`ahead` = False): it is causal by itself
    Source: Huang et al. 2019, "Music Transformer", the skewing procedure.
    Book: KAIST deck 3
    """

    ahead = False

    def __init__(self, n_heads: int, d_head: int, left: int, scale: float | None = None) -> None:
        super().__init__()
        if left < 0:
            raise ValueError(f"left={left}: expected a maximum distance of 0 or more")
        self.n_heads, self.d_head, self.left = n_heads, d_head, left
        self.scale = d_head**-0.5 if scale is None else scale
        self.rows = nn.Parameter(torch.empty(n_heads, left + 1, d_head))
        nn.init.normal_(self.rows, std=d_head**-0.5)

    def extra_repr(self) -> str:
        return f"left={self.left}"

    def worth(self, q: Tensor, offsets: Tensor) -> Tensor:
        """Return scale * q . rows[h, offset], (B, H, T, L), for offsets up to 0."""
        return clipped((self.scale * q) @ self.rows.transpose(-2, -1), offsets, self.left)
