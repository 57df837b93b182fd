"""Windows with gaps: the same number of keys, from further away."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.patterns import PatternAttention, PerHead, one_each
from deepdive.checks import each_at_least, not_negative, positive
from deepdive.fast.tiles import attend, block_of, window_tiles
from deepdive.masks import Mask, Window


class DilatedAttention(PatternAttention):
    """Softmax attention under the masks `Window(left, right, dilation)`, one dilation for each
    head, in O(T * window * d).

        keys of query t = t + dilation * (-left ... right)

    Positions of one remainder modulo the dilation form a text of their own, in which the window
    has no gaps: each group of heads cuts its rows into such texts. Honours `Causal` (right is then
    0) and `Padding`.

    Raises ValueError when left, right or a dilation is out of range, or when there are neither one
    nor as many dilations as heads.
    Source: Beltagy et al. 2020, section 3.1 (dilated sliding window).
    """

    def __init__(
        self,
        left: int,
        right: int = 0,
        dilations: tuple[int, ...] = (1,),
        *,
        block: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dropout)
        not_negative(left=left, right=right)
        block = block_of(left, right) if block is None else block
        positive(block=block)
        each_at_least(1, "dilations", dilations)
        self.left, self.right, self.dilations, self.block = left, right, tuple(dilations), block

    def extra_repr(self) -> str:
        return f"left={self.left}, right={self.right}, dilations={self.dilations}"

    def pattern(self, heads: int) -> Mask:
        gaps = one_each(self.dilations, heads, "dilations")
        return PerHead(tuple(Window(self.left, self.right, gap) for gap in gaps))

    def sparse(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        gaps = one_each(self.dilations, q.shape[1], "dilations")
        mixed = q.new_empty(*q.shape[:3], v.shape[3]) if len(set(gaps)) > 1 else None
        for gap in sorted(set(gaps)):
            if mixed is None:
                return self._one(q, k, v, gap, real, causal, scale)
            heads = torch.tensor([h for h, own in enumerate(gaps) if own == gap], device=q.device)
            own_q, own_k, own_v = (rows.index_select(1, heads) for rows in (q, k, v))
            rows = self._one(own_q, own_k, own_v, gap, real, causal, scale)
            mixed = mixed.index_copy(1, heads, rows)
        assert mixed is not None
        return mixed

    def _one(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        gap: int,
        real: Tensor | None,
        causal: bool,
        scale: float,
    ) -> Tensor:
        """Attend with one dilation: rows from the end backwards, modulo the gap, are its texts."""
        B, T = q.shape[0], q.shape[2]
        if k.shape[2] % gap:  # what is filled in, in front, is no real key
            filled = -k.shape[2] % gap
            real = k.new_ones(1, k.shape[2]).bool() if real is None else real
            real = F.pad(real, (filled, 0), value=False)
        q, k, v = (_every(rows, gap) for rows in (q, k, v))  # (B * gap, H, rows, d)
        if real is not None:
            real = real.expand(B, -1).unflatten(1, (-1, gap)).transpose(1, 2).flatten(0, 1)
        right = 0 if causal else self.right
        tiles = window_tiles(q.shape[2], k.shape[2], self.left, right, self.block, q)
        mixed = attend(q, k, v, tiles, scale, real=real, dropout=self.dropped)
        mixed = mixed.unflatten(0, (B, gap)).permute(0, 2, 3, 1, 4).flatten(2, 3)
        return mixed[:, :, mixed.shape[2] - T :]


def _every(rows: Tensor, gap: int) -> Tensor:
    """(B, H, T, d) -> (B * gap, H, ceil(T / gap), d), filled up in front with zeros."""
    rows = F.pad(rows, (0, 0, -rows.shape[2] % gap, 0)).unflatten(2, (-1, gap))
    return rows.permute(0, 3, 1, 2, 4).flatten(0, 1)
