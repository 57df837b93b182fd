"""Attention whose weights are products of features: keys and values are summed up once for all
queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.structure import StructuredAttention
from deepdive.checks import positive

ROWS = 512  # rows whose features are made at a time: they stay in a core's cache


def key_parts(k: Tensor, real: Tensor | None) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Yield keys, `ROWS` of (B, H, S, d) at a time, and which are real, bool (B, ...) or None."""
    there = repeat(None) if real is None else real.split(ROWS, 1)
    return zip(k.split(ROWS, 2), there, strict=False)


class LinearAttention(StructuredAttention):
    """Weights proportional to phi(q) . phi(k), never written out.

        output[t] = phi(q[t]) @ sum_s phi(k[s]) v[s]^T / phi(q[t]) @ sum_s phi(k[s])

    The sums run over all real keys, `ROWS` at a time. Under `Causal` they run over s <= t: then
    rows stand in chunks of `chunk`; the sums of the chunks before come from one cumulative sum, and
    the weights inside a chunk are written out. phi is `of_queries` and `of_keys`, here elu(x) + 1;
    a subclass replaces them. No entry may be negative.

    Honours `Causal` and `Padding`; refuses every other mask, and a bias. A row with no key, or
    whose features are all 0, is 0. Step by step it equals the whole. No weights of size T x S
    exist that `record` could show: `attention(q, k, torch.eye(S))` returns them.

    Raises ValueError when chunk is below 1.
    Source: Katharopoulos et al. 2020, section 3.2, equations 4 and 5; causal: section 3.3.
    """

    queries = "last if causal"

    def __init__(self, chunk: int = 128) -> None:
        super().__init__()
        positive(chunk=chunk)
        self.chunk = chunk

    def extra_repr(self) -> str:
        return f"chunk={self.chunk}"

    @staticmethod
    def default_scale(d_head: int) -> float:
        """Return 1: these features are not those of a softmax."""
        return 1.0

    def shared(self, q: Tensor, k: Tensor, scale: float, real: Tensor | None) -> Tensor | None:
        """Return what `of_keys` needs to know of all keys; called once, before any feature."""
        return None

    def of_queries(self, q: Tensor, scale: float) -> Tensor:
        """Return phi(scale * q), (..., m)."""
        return F.elu(scale * q) + 1

    def of_keys(
        self, k: Tensor, real: Tensor | None, scale: float, shared: Tensor | None
    ) -> Tensor:
        """Return phi(k) (B, H, S, m) of some keys, 0 in rows that are not `real` (B, S)."""
        features = F.elu(k) + 1
        return features if real is None else features * real[:, None, :, None]

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        """Return the mixed values (B, H, T, d_v)."""
        shared = self.shared(q, k, scale, real)
        v = F.pad(v, (0, 1), value=1.0)  # what is mixed of the ones is the sum of the weights
        if causal:
            queries, keys = self.of_queries(q, scale), self.of_keys(k, real, scale, shared)
            mixed = self._causal(queries, keys, v)
        else:
            parts = zip(key_parts(k, real), v.split(ROWS, 2), strict=True)
            sums = torch.stack(
                [self.of_keys(*a, scale, shared).transpose(-2, -1) @ b for a, b in parts]
            ).sum(0)  # (B, H, m, d_v + 1)
            mixed = torch.cat([self.of_queries(a, scale) @ sums for a in q.split(ROWS, 2)], dim=2)
        mixed, total = mixed.split([v.shape[-1] - 1, 1], dim=-1)
        return mixed / total.masked_fill(total == 0, 1.0)

    def _causal(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Return the sums of phi phi v over the keys up to each query, (B, H, T, d_v)."""
        T, S = q.shape[2], k.shape[2]
        old, k = k.split([S - T, T], dim=2)
        before, v = v.split([S - T, T], dim=2)
        size = min(self.chunk, T)
        chunks = -(-T // size)
        q, k, v = (
            F.pad(rows, (0, 0, 0, chunks * size - T)).unflatten(2, (chunks, size))
            for rows in (q, k, v)
        )  # (B, H, chunks, size, ...)
        sums = k.transpose(-2, -1) @ v  # (B, H, chunks, m, d_v)
        first = old.transpose(-2, -1) @ before
        sums = torch.cat([first.unsqueeze(2), sums[:, :, :-1]], dim=2).cumsum(2)
        near = (q @ k.transpose(-2, -1)).tril()  # (B, H, chunks, size, size)
        return (near @ v + q @ sums).flatten(2, 3)[:, :, :T]
