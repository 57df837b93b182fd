"""Causal attention in two steps of sqrt(T) keys each: the Sparse Transformer's patterns."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.patterns import PatternAttention
from deepdive.attention.structure import all_real
from deepdive.checks import positive
from deepdive.fast.tiles import Tile, attend, shut
from deepdive.masks import Mask


@dataclass(frozen=True)
class Strided(Mask):
    """Query t meets the `stride` positions before it, itself, and t - stride, t - 2 stride, ..."""

    stride: int

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        behind = torch.arange(S - T, S, device=device).unsqueeze(1) - torch.arange(S, device=device)
        met = (behind >= 0) & ((behind <= self.stride) | (behind % self.stride == 0))
        return met[None, None]


@dataclass(frozen=True)
class Fixed(Mask):
    """Query t meets what comes before it in its chunk of `stride` positions, itself, and the last
    `summary` positions of every chunk before.
    """

    stride: int
    summary: int

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        query = torch.arange(S - T, S, device=device).unsqueeze(1)
        key = torch.arange(S, device=device)
        same = query // self.stride == key // self.stride
        told = key % self.stride >= self.stride - self.summary
        return ((key <= query) & (same | told))[None, None]


class StridedAttention(PatternAttention):
    """Softmax attention under the mask `Strided(stride)`: with stride = sqrt(T), in
    O(T * sqrt(T) * d), and any key before is two steps away.

        keys of query t = t - stride ... t,  and  t - i * stride for all i       # one softmax

    Chunks of `stride` rows meet their chunk and the one before; the rows of one remainder modulo
    the stride meet each other. Causal by itself; honours `Causal` and `Padding`. This is the
    paper's merged head; its two sets in heads or layers of their own: `WindowAttention(stride)`,
    and a stride with `DilatedAttention`.

    Raises ValueError when the stride is not positive.
    Source: Child et al. 2019, section 4.3, strided attention.

    System: sparse_transformer
    Parent: transformer
    What differs:
    - a query meets some 2 sqrt(T) keys before it: the last ones, and every `stride`-th
      (`StridedAttention`)
    - or its chunk, and the last `summary` positions of each chunk before (`FixedAttention`)
    Source: Child et al. 2019, section 4.
    Book: references
    """

    queries = "last"

    def __init__(self, stride: int, *, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        positive(stride=stride)
        self.stride = stride

    def extra_repr(self) -> str:
        return f"stride={self.stride}"

    def pattern(self, heads: int) -> Mask:
        return Strided(self.stride)

    def sparse(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        T, S, l = q.shape[2], k.shape[2], self.stride  # noqa: E741
        front, back = (S - T) % l, -S % l
        q = F.pad(q, (0, 0, front, back)).unflatten(2, (-1, l))  # (B, H, chunks, l, d)
        k, v = (F.pad(rows, (0, 0, 0, back)).unflatten(2, (-1, l)) for rows in (k, v))
        chunks = q.shape[2]
        near_k, near_v = (_with_the_one_before(rows)[:, :, -chunks:] for rows in (k, v))
        near = self.score(q, near_k, scale)  # (B, H, chunks, l, 2 l)
        far = self.score(q.transpose(2, 3), k.transpose(2, 3), scale).transpose(2, 3)
        allowed = self._allowed(F.pad(all_real(real, k.flatten(2, 3)[:, :, :S]), (0, back)), chunks)
        weights = self.dropout(self.weigh(torch.cat([near, far], dim=-1), allowed))
        near, far = weights.split([2 * l, weights.shape[-1] - 2 * l], dim=-1)
        mixed = self.mix(near, near_v)
        mixed = mixed + self.mix(far.transpose(2, 3), v.transpose(2, 3)).transpose(2, 3)
        return mixed.flatten(2, 3)[:, :, front : front + T]

    def _allowed(self, real: Tensor, chunks: int) -> Tensor:
        """Return which of its 2 l near and all far keys each row meets, (B or 1, 1, chunks, l,
        2 l + all chunks).
        """
        l, device = self.stride, real.device  # noqa: E741
        real = real.unflatten(1, (-1, l)).unsqueeze(1)  # (B or 1, 1, all chunks, l)
        behind = torch.arange(l, 2 * l, device=device).unsqueeze(1) - torch.arange(
            2 * l, device=device
        )
        near = (behind >= 0) & (behind <= l)
        near = near & _with_the_one_before(real.unsqueeze(-1))[:, :, -chunks:].mT
        every = torch.arange(real.shape[2], device=device)
        far = every <= every[-chunks:].unsqueeze(1) - 2  # what is nearer stands among the near
        far = far.unsqueeze(1) & real.transpose(2, 3).unsqueeze(2)
        return torch.cat([near, far.expand(*near.shape[:4], -1)], dim=-1)


class FixedAttention(PatternAttention):
    """Softmax attention under the mask `Fixed(stride, summary)`: with stride = sqrt(T), in
    O(T * summary * sqrt(T) * d).

        keys of query t = its chunk up to t,  and  the last `summary` of each chunk before

    A chunk's last positions carry what later chunks learn of it. Causal by itself; honours
    `Causal` and `Padding`.

    Raises ValueError unless 1 <= summary <= stride.
    Source: Child et al. 2019, section 4.3, fixed attention.
    """

    queries = "last"

    def __init__(self, stride: int, summary: int = 1, *, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        positive(stride=stride, summary=summary)
        if summary > stride:
            raise ValueError(f"stride={stride}, summary={summary}: expected 1 <= summary <= stride")
        self.stride, self.summary = stride, summary

    def extra_repr(self) -> str:
        return f"stride={self.stride}, summary={self.summary}"

    def pattern(self, heads: int) -> Mask:
        return Fixed(self.stride, self.summary)

    def sparse(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        T, S, device = q.shape[2], k.shape[2], q.device
        at = torch.arange(S, device=device)
        told = at[at % self.stride >= self.stride - self.summary]
        k, v = (torch.cat([rows, rows.index_select(2, told)], dim=2) for rows in (k, v))
        if real is not None:
            real = torch.cat([real, real[:, told]], dim=1)
        ahead = shut(q.dtype) * q.new_ones(self.stride, self.stride).triu(1)
        tiles = []
        for chunk in range((S - T) // self.stride, -(-S // self.stride)):
            first, last = chunk * self.stride, min((chunk + 1) * self.stride, S)
            low = max(first, S - T)  # the first query
            before = chunk * self.summary
            bias = F.pad(ahead[low - first : last - first, : last - first], (0, before))
            spans = ((first, last), (S, S + before))
            tiles.append(Tile((low - (S - T), last - (S - T)), spans, bias=bias))
        return attend(q, k, v, tiles, scale, real=real, dropout=self.dropped)


def _with_the_one_before(rows: Tensor) -> Tensor:
    """(B, H, chunks, l, d) -> (B, H, chunks, 2 l, d): each chunk behind the one before it."""
    before = F.pad(rows, (0, 0, 0, 0, 1, 0))[:, :, :-1]
    return torch.cat([before, rows], dim=3)
