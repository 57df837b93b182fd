"""Factorized causal attention, sqrt(T) keys in each of two steps: the Sparse Transformer."""

from dataclasses import dataclass

import torch
from torch import Tensor

from deepdive._fast.factorized import chunk_tiles, near_and_far
from deepdive._fast.tiled_attention import attend
from deepdive.attention.patterns import PatternAttention
from deepdive.attention.structure import all_real
from deepdive.core.checks import positive
from deepdive.core.masks import Mask


@dataclass(frozen=True)
class Strided(Mask):
    """Query t attends to the `stride` positions before it, to t, t - stride, t - 2 stride, ..."""

    stride: int

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        behind = torch.arange(S - T, S, device=device).unsqueeze(1) - torch.arange(S, device=device)
        in_pattern = (behind <= self.stride) | (behind % self.stride == 0)
        return ((behind >= 0) & in_pattern)[None, None]


@dataclass(frozen=True)
class Fixed(Mask):
    """Query t attends to earlier positions in its chunk of `stride`, itself, and the last `summary`
    positions of every chunk before.
    """

    stride: int
    summary: int

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        query = torch.arange(S - T, S, device=device).unsqueeze(1)
        key = torch.arange(S, device=device)
        same = query // self.stride == key // self.stride
        summary = key % self.stride >= self.stride - self.summary
        return ((key <= query) & (same | summary))[None, None]


class StridedAttention(PatternAttention):
    """Softmax attention under the mask `Strided(stride)`: with stride = sqrt(T), in
    O(T * sqrt(T) * d), and any key before is two steps away.

        keys of query t = t - stride ... t,  and  t - i * stride for all i       # one softmax

    In `fast`, chunks of `stride` queries attend to their chunk and the one before; positions of one
    remainder modulo the stride attend to each other. Causal by itself; honors `Causal` and
    `Padding`. This is the paper's merged head; its two sets in separate heads or layers:
    `WindowAttention(stride)`, and a stride with `DilatedAttention`.

    Raises ValueError when the stride is not positive.
    Source: Child et al. 2019, section 4.3, strided attention.

    System: sparse_transformer
    Parent: transformer
    What differs:
    - a query attends to some 2 sqrt(T) keys before it: the last ones, and every `stride`-th
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

    def fast(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        T, S, stride = q.shape[2], k.shape[2], self.stride
        q, k, v, near_k, near_v, allowed = near_and_far(q, k, v, all_real(real, k), stride)
        near = self.score(q, near_k, scale)  # (B, H, chunks, stride, 2 stride)
        far = self.score(q.transpose(2, 3), k.transpose(2, 3), scale).transpose(2, 3)
        weights = self.dropout(self.weigh(torch.cat([near, far], dim=-1), allowed))
        near, far = weights.split([2 * stride, far.shape[-1]], dim=-1)
        mixed = self.mix(near, near_v)
        mixed = mixed + self.mix(far.transpose(2, 3), v.transpose(2, 3)).transpose(2, 3)
        front = (S - T) % stride
        return mixed.flatten(2, 3)[:, :, front : front + T]


class FixedAttention(PatternAttention):
    """Softmax attention under the mask `Fixed(stride, summary)`: with stride = sqrt(T), in
    O(T * summary * sqrt(T) * d).

        keys of query t = its chunk up to t,  and  the last `summary` of each chunk before

    A chunk's last positions summarize it for later chunks. Causal by itself; honors
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

    def fast(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        at = torch.arange(k.shape[2], device=q.device)
        summary = at[at % self.stride >= self.stride - self.summary]
        tiles = chunk_tiles(q, k.shape[2], self.stride, self.summary)
        k, v = (torch.cat([x, x.index_select(2, summary)], dim=2) for x in (k, v))
        real = None if real is None else torch.cat([real, real[:, summary]], dim=1)
        return attend(q, k, v, tiles, scale, real=real, dropout=self.dropped)
