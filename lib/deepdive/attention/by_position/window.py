"""Restricted self-attention: each query meets the keys near it, and no other product is made."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.softmax import SoftmaxAttention
from deepdive.attention.structure import StructuredAttention, all_real
from deepdive.checks import not_negative, positive
from deepdive.fast.tiles import attend, block_of, window_tiles


class WindowAttention(StructuredAttention, SoftmaxAttention):
    """Softmax attention under the mask `Window(left, right)`, at a cost of O(T * window * d).

        keys of query t = t - left ... t + right               # window = left + 1 + right of them
        scores  = scale * q[t] @ k[t - left : t + right + 1]    # (B, H, T, window)
        weights = softmax(scores), output = weights @ v         # (B, H, T, d_v)

    Queries stand in blocks of `block` rows, by default left + right, from 16 to 64; each block
    meets one stretch of block + left + right keys in one product (`deepdive.fast.tiles`).
    While block <= window, at most half of what is multiplied lies outside the band; nothing of
    size T x S is made.

    Honours `Causal` (right is then 0) and `Padding`; refuses every other mask, and a bias, which
    has T x S entries: `SoftmaxAttention` under the mask `Window(left, right) & mask` honours them,
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
        """Return the mixed values (B, H, T, d_v); queries are the last T positions."""
        right = 0 if causal else self.right
        if self._listening:
            return self._steps(q, k, v, all_real(real, k), right, scale)
        tiles = window_tiles(q.shape[2], k.shape[2], self.left, right, self.block, q)
        p = self.dropout.p if self.training else 0.0
        return attend(q, k, v, tiles, scale, real=real, dropout=p)

    def _steps(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor, right: int, scale: float
    ) -> Tensor:
        """Score, cut the band out, weigh, pass it through the hook points, put it back, mix."""
        T, S = q.shape[2], k.shape[2]
        blocks = -(-T // self.block)
        # Key j of block i stands at position S - T - left + i * block + j: pad up to the first
        # key's left and the last block's right, or cut off the keys that nobody meets.
        around = (self.left - (S - T), blocks * self.block - T + self.right)
        q = F.pad(q, (0, 0, 0, blocks * self.block - T)).unflatten(2, (blocks, self.block))
        k, v = (self._stretches(rows, around) for rows in (k, v))  # (B, H, blocks, stretch, d)
        allowed = self._allowed(real, around, right)  # (B or 1, 1, blocks, block, stretch)
        window = self.left + 1 + self.right
        at = torch.arange(self.block, device=q.device).unsqueeze(1)
        at = (at + torch.arange(window, device=q.device)).expand(*q.shape[:4], window)
        scores = self.score(q, k, scale).gather(-1, at)  # (B, H, blocks, block, window)
        shape = scores.shape
        allowed = allowed.expand(*q.shape[:3], *allowed.shape[3:]).gather(-1, at)

        def through(point: torch.nn.Module, band: Tensor) -> Tensor:
            kept, rest = band.flatten(2, 3).split([T, shape[2] * shape[3] - T], dim=2)
            return torch.cat([point(kept), rest], dim=2).view(shape)

        weights = through(self.weights, self.weigh(through(self.scores, scores), allowed))
        placed = q.new_zeros(*shape[:4], k.shape[-2]).scatter(-1, at, self.dropout(weights))
        return self.mix(placed, v).flatten(2, 3)[:, :, :T]

    def _stretches(self, rows: Tensor, around: tuple[int, int]) -> Tensor:
        """(B, H, S, d) -> (B, H, blocks, block + left + right, d), overlapping."""
        stretch = self.block + self.left + self.right
        return F.pad(rows, (0, 0, *around)).unfold(2, stretch, self.block).transpose(-2, -1)

    def _allowed(self, real: Tensor, around: tuple[int, int], right: int) -> Tensor:
        """Return (B or 1, 1, blocks, block, stretch): in the band, and a real key."""
        stretch = self.block + self.left + self.right
        keys = F.pad(real, around, value=False).unfold(1, stretch, self.block)
        offset = torch.arange(stretch, device=real.device) - torch.arange(
            self.left, self.left + self.block, device=real.device
        ).unsqueeze(1)  # (block, stretch): how far the key stands behind the query
        band = (offset >= -self.left) & (offset <= right)
        return (keys.unsqueeze(2) & band).unsqueeze(1)
