"""Shaw's relative position representations, in the scores: a trained vector per clipped offset."""

import torch
from torch import Tensor, nn

from deepdive.positions.relative import RelativePosition


class ShawPosition(RelativePosition):
    """Relative position representations added to the keys.

        scores[t, s] = scale * q_t . (k_s + keys[clip(s - t, -left, right)])

    The bias is the second product. `keys` (left + 1 + right, d_head) is shared by all heads;
    `right` defaults to `left`; `scale` to 1 / sqrt(d_head), as in the scores. Offsets are clipped,
    so the length is unlimited. The part that the paper adds to the values is
    `deepdive.attention.ShawAttention`.
    Raises ValueError when left or right is negative.
    Source: Shaw, Uszkoreit and Vaswani 2018, sections 3.1 and 3.2.
    """

    def __init__(
        self, d_head: int, left: int, right: int | None = None, scale: float | None = None
    ) -> None:
        super().__init__()
        right = left if right is None else right
        if left < 0 or right < 0:
            raise ValueError(f"left={left}, right={right}: expected the largest offsets, 0 or more")
        self.d_head, self.left, self.right = d_head, left, right
        self.scale = d_head**-0.5 if scale is None else scale
        self.keys = nn.Parameter(torch.empty(left + 1 + right, d_head))
        nn.init.xavier_uniform_(self.keys)

    def extra_repr(self) -> str:
        return f"left={self.left}, right={self.right}"

    def worth(self, q: Tensor, offsets: Tensor) -> Tensor:
        """Return scale * q . keys[clip(offset)], (B, H, T, L)."""
        return clipped((self.scale * q) @ self.keys.t(), offsets, self.left)


def clipped(products: Tensor, offsets: Tensor, left: int) -> Tensor:
    """Return the columns of products (..., left + 1 + right) for consecutive `offsets` (L,); the
    first and last column are repeated for offsets beyond.
    """
    width, first, n = products.shape[-1], int(offsets[0]) + left, len(offsets)
    before, after = min(max(-first, 0), n), min(max(first + n - width, 0), n)
    ends = (*products.shape[:-1], before), (*products.shape[:-1], after)
    inside = products[..., max(first, 0) : max(first + n, 0)]
    return torch.cat(
        (products[..., :1].expand(ends[0]), inside, products[..., -1:].expand(ends[1])), dim=-1
    )
