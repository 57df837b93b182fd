"""Local attention by chunks: a query meets whole chunks of keys, not a window of its own."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.patterns import written_out
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.attention.structure import StructuredAttention, all_real
from deepdive.checks import not_negative, positive


class ChunkAttention(StructuredAttention, SoftmaxAttention):
    """Softmax attention among neighbouring chunks of `chunk` rows, at a cost of O(T * chunk * d).

        c(t) = t // chunk, chunks = ceil(T / chunk)
        keys of query t = those with c(s) = c(t) - before ... c(t) + after, modulo chunks

    The chunks stand in a ring, as released: the first one looks back to the last one, where a
    causal mask lets it see nothing. Where there are fewer chunks than before + 1 + after, a chunk
    is met more than once, and counts as often; one that would lie further away than there are
    chunks is the query's own. A text of one chunk is attended in full.
    Honours `Causal` and `Padding`; T = S. Hook points: `scores`, `weights` (B, H, T, (before + 1 +
    after) * chunk), or (B, H, T, T) for a single chunk.
    Raises ValueError when a number is out of range.
    Source: transformers, Reformer's `LocalSelfAttention`; its paper has no equation for it.
    """

    queries = "all"

    def __init__(
        self, chunk: int = 64, before: int = 1, after: int = 0, *, dropout: float = 0.0
    ) -> None:
        super().__init__(dropout)
        positive(chunk=chunk)
        not_negative(before=before, after=after)
        self.chunk, self.before, self.after = chunk, before, after

    def extra_repr(self) -> str:
        return f"chunk={self.chunk}, before={self.before}, after={self.after}"

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        """Return the mixed values (B, H, T, d_v)."""
        T, m = q.shape[2], self.chunk
        if m >= T:
            whole = self.allowed(written_out(None, real, causal), q, k)
            return self.steps(q, k, v, whole, None, scale)
        fill = -T % m
        real = F.pad(all_real(real, k), (0, fill), value=False)
        q, k, v = (F.pad(x, (0, 0, 0, fill)).unflatten(2, (-1, m)) for x in (q, k, v))
        return self._mixed(q, k, v, real, causal, scale, T)

    def _mixed(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor, causal: bool, scale: float, T: int
    ) -> Tensor:
        at = torch.arange(real.shape[1], device=q.device).unflatten(0, (-1, self.chunk))
        real = real.unflatten(1, (-1, self.chunk))[:, None]
        allowed = self._around(real, 2).unsqueeze(-2)  # (B, 1, chunks, 1, keys)
        if causal:
            allowed = allowed & (at.unsqueeze(-1) >= self._around(at, 0).unsqueeze(-2))
        k, v = self._around(k, 2), self._around(v, 2)
        shape = (*q.shape[:4], k.shape[3])
        if not (self._listening or self._drops(q)):
            around = q.shape[1:3]
            q, k, v, allowed = (x.flatten(1, 2) for x in (q, k, v, allowed.expand(shape)))
            mixed = self._fused(q, k, v, allowed, None, scale)
            return mixed.unflatten(1, around).flatten(2, 3)[:, :, :T]
        scores = self.score(q, k, scale).flatten(2, 3)
        allowed = allowed.expand(shape).flatten(2, 3)
        weights = self.weights(self.weigh(self.scores(scores[:, :, :T]), allowed[:, :, :T]))
        weights = F.pad(self.dropout(weights), (0, 0, 0, scores.shape[2] - T))
        return self.mix(weights.unflatten(2, q.shape[2:4]), v).flatten(2, 3)[:, :, :T]

    def _around(self, chunks: Tensor, axis: int) -> Tensor:
        """Join to each chunk, along the next axis, those before and after it."""
        shifts = range(self.before, -self.after - 1, -1)
        n = chunks.shape[axis]
        near = [shift if abs(shift) <= n else 0 for shift in shifts]  # as released
        return torch.cat([chunks.roll(shift, axis) for shift in near], dim=axis + 1)
