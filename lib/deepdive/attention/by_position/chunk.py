"""Local attention by chunks: a query attends to full chunks of keys, not to its own window."""

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.groups import GroupedAttention
from deepdive.attention.patterns import written_out
from deepdive.attention.structure import all_real
from deepdive.core.checks import not_negative, positive


class ChunkAttention(GroupedAttention):
    """Softmax attention to neighboring chunks of `chunk` keys, at a cost of O(T * chunk * d).

        c(t) = t // chunk, chunks = ceil(T / chunk)
        keys of query t = those with c(s) = c(t) - before ... c(t) + after, modulo chunks

    The chunks form a ring, as released: the first one attends to the last one, which a causal mask
    excludes. Where there are fewer chunks than before + 1 + after, a chunk is attended more than
    once, and counts as often; one that would lie further away than there are chunks is replaced by
    the query's own. A text of one chunk is attended in full.
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

    def grouped(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Return the chunks, each with the keys and values of those around it."""
        T, m = q.shape[2], self.chunk
        if m >= T:
            full_mask = self.allowed(written_out(None, real, causal), q, k)
            q, k, v = (part.unsqueeze(2) for part in (q, k, v))
            return q, k, v, None if full_mask is None else full_mask.unsqueeze(2)
        fill = -T % m
        real = F.pad(all_real(real, k), (0, fill), value=False).unflatten(1, (-1, m))[:, None]
        q, k, v = (F.pad(x, (0, 0, 0, fill)).unflatten(2, (-1, m)) for x in (q, k, v))
        allowed = self._around(real, 2).unsqueeze(-2)  # (B, 1, chunks, 1, keys)
        if causal:
            at = torch.arange(T + fill, device=q.device).unflatten(0, (-1, m))
            allowed = allowed & (at.unsqueeze(-1) >= self._around(at, 0).unsqueeze(-2))
        return q, self._around(k, 2), self._around(v, 2), allowed

    def _around(self, chunks: Tensor, axis: int) -> Tensor:
        """Concatenate each chunk, along the next axis, with those before and after it."""
        shifts = range(self.before, -self.after - 1, -1)
        n = chunks.shape[axis]
        clipped = [shift if abs(shift) <= n else 0 for shift in shifts]  # as released
        return torch.cat([chunks.roll(shift, axis) for shift in clipped], dim=axis + 1)
