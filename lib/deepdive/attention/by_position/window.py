"""Restricted (sliding-window) self-attention: each query attends to the keys near it."""

import torch
from torch import Tensor

from deepdive._fast.tiled_attention import attend, block_of, window_tiles
from deepdive.attention.structure import StructuredAttention, all_real
from deepdive.core.checks import not_negative, positive
from deepdive.core.softmax import SoftmaxAttention


class WindowAttention(StructuredAttention, SoftmaxAttention):
    """Softmax attention under the mask `Window(left, right)`, at a cost of O(T * window * d).

        keys of query t = t - left ... t + right               # window = left + 1 + right of them
        scores  = scale * q[t] @ k[t - left : t + right + 1]    # (B, H, T, window)
        weights = softmax(scores), output = weights @ v         # (B, H, T, d_v)

    `fast`: queries form blocks of `block`, by default left + right, from 16 to 64; each block and
    its range of block + left + right keys are one product
    (`deepdive._fast.tiled_attention`). While block <= window, at most half of what is multiplied
    lies outside the band; nothing of size T x S is computed. While there is a hook, the band is
    gathered from all scores.

    Honours `Causal` (right is then 0) and `Padding`; refuses every other mask, and a bias, which
    has T x S entries: `SoftmaxAttention` under the mask `Window(left, right) & mask` honors them,
    at full cost. Hook points: `scores`, `weights` (B, H, T, window), the band: entry j of row t
    belongs to key t - left + j.

    Raises ValueError when left, right or block is out of range.
    Source: Vaswani et al. 2017, section 4, "self-attention (restricted)"; in blocks: Beltagy et
    al. 2020, section 3.
    """

    instead = "Use SoftmaxAttention with mask=Window(left, right) & mask, at full cost"

    def __init__(
        self, left: int, right: int = 0, *, block: int | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__(dropout)
        not_negative(left=left, right=right)
        block = block_of(left, right) if block is None else block
        positive(block=block)
        self.left, self.right, self.block = left, right, block

    def extra_repr(self) -> str:
        return f"left={self.left}, right={self.right}, block={self.block}"

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        """Return the output (B, H, T, d_v); queries are the last T positions."""
        T, S = q.shape[2], k.shape[2]
        offset = torch.arange(-self.left, self.right + 1, device=q.device)
        key = torch.arange(S - T, S, device=q.device).unsqueeze(1) + offset  # (T, window)
        in_text = (key >= 0) & (key < S) & (offset <= (0 if causal else self.right))
        key = key.clamp(0, S - 1)
        allowed = in_text & all_real(real, k)[:, key]  # (B or 1, T, window)
        key = key.expand(*q.shape[:2], *key.shape)
        scores = self.score(q, k, scale).gather(-1, key)  # (B, H, T, window)
        weights = self.weights(self.weigh(self.scores(scores), allowed.unsqueeze(1)))
        placed = q.new_zeros(*q.shape[:3], S).scatter_add(-1, key, self.dropout(weights))
        return self.mix(placed, v)

    def fast(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        right = 0 if causal else self.right
        tiles = window_tiles(q.shape[2], k.shape[2], self.left, right, self.block, q)
        return attend(q, k, v, tiles, scale, real=real, dropout=self.dropped)
