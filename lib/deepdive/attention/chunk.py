"""Local attention by chunks: a query meets whole chunks of keys, not a window of its own."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.softmax import SoftmaxAttention, check_attention_inputs, mechanism_case
from deepdive.attention.structure import all_real, read_mask, refuse_bias
from deepdive.inspect import record
from deepdive.laws import Case, Fails, Refuses, case, random_rows
from deepdive.masks import Causal, Dense, Mask, Padding, Window, both


class ChunkAttention(SoftmaxAttention):
    """Softmax attention among neighbouring chunks of `chunk` rows, at a cost of O(T * chunk * d).

        c(t) = t // chunk, chunks = ceil(T / chunk)
        keys of query t = those with c(s) = c(t) - before ... c(t) + after, modulo chunks

    The chunks stand in a ring, as released: the first one looks back to the last one, where a
    causal mask lets it see nothing. Where every chunk meets every other, this is full attention.
    Honours `Causal` and `Padding`; T = S. Hook points: `scores`, `weights` (B, H, T, (before + 1 +
    after) * chunk), or (B, H, T, T) where all meet.
    Raises ValueError when a number is out of range.
    Source: transformers, Reformer's `LocalSelfAttention`; its paper has no equation for it.
    """

    fused = True

    def __init__(
        self, chunk: int = 64, before: int = 1, after: int = 0, *, dropout: float = 0.0
    ) -> None:
        super().__init__(dropout)
        if chunk < 1 or before < 0 or after < 0:
            raise ValueError(
                f"chunk={chunk}, before={before}, after={after}: a chunk has a row, and no fewer "
                "than 0 chunks lie before and after it"
            )
        self.chunk, self.before, self.after = chunk, before, after

    def extra_repr(self) -> str:
        return f"chunk={self.chunk}, before={self.before}, after={self.after}"

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Mask | Tensor | None = None,
        bias: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """Return the mixed values (B, H, T, d_v) for q, k (B, H, T, d) and v (B, H, T, d_v)."""
        check_attention_inputs(q, k, v, bias)
        refuse_bias(bias, "ChunkAttention")
        if q.shape[2] != k.shape[2]:
            raise ValueError(
                f"ChunkAttention has a key for each query; got {q.shape[2]} queries and "
                f"{k.shape[2]} keys. For foreign rows or cached decoding use SoftmaxAttention"
            )
        real, causal = read_mask(mask, k, "ChunkAttention")
        T, m = q.shape[2], self.chunk
        if self.before + 1 + self.after >= -(-T // m):
            return super().forward(q, k, v, mask, None, scale)
        scale = self.default_scale(q.shape[-1]) if scale is None else scale
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
        return torch.cat([chunks.roll(shift, axis) for shift in shifts], dim=axis + 1)


def ring(T: int, chunk: int, before: int, after: int) -> Tensor:
    """Return the mask (T, T), written out."""
    at = torch.arange(T) // chunk
    back = (at[:, None] - at) % (int(at[-1]) + 1)
    return (back <= before) | ((-back) % (int(at[-1]) + 1) <= after)


@case(ChunkAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 23, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 23).bool()
    real[1, 5:16] = False
    masks = (None, Causal(), Padding(real), Causal() & Padding(real))

    def its_mask() -> tuple[Tensor, Tensor]:
        attention, dense = ChunkAttention(4, 2, 1), Dense(ring(23, 4, 2, 1))
        ours = [attention(q, k, v, mask) for mask in masks]
        return torch.cat(ours), torch.cat(
            [SoftmaxAttention()(q, k, v, both(mask, dense)) for mask in masks]
        )

    def explicit_and_fused() -> tuple[Tensor, Tensor]:
        attention = ChunkAttention(4, 1, 0)
        fused = attention(q, k, v, masks[-1])
        with record(attention, "weights"):
            return attention(q, k, v, masks[-1]), fused

    zeros = [torch.zeros(1, 2, 5, 4)] * 3
    return mechanism_case(
        lambda: ChunkAttention(2, 1, 0),
        parity="transformers LocalSelfAttention",
        limits={
            "the ring of chunks as a mask": its_mask,
            "the steps one by one: the fused kernel": explicit_and_fused,
            "one chunk: SoftmaxAttention": lambda: (
                ChunkAttention(23)(q, k, v, masks[-1]),
                SoftmaxAttention()(q, k, v, masks[-1]),
            ),
        },
        refusals={
            "no chunk": lambda: ChunkAttention(0),
            "a bias": lambda: ChunkAttention()(*zeros, bias=torch.zeros(5, 5)),
            "another mask": lambda: ChunkAttention()(*zeros, mask=Window(2)),
            "other keys than queries": lambda: ChunkAttention()(zeros[0][:, :, :3], *zeros[1:]),
        },
        laws={
            "order": Fails("who is near depends on the order"),
            "cache": Refuses("a key for each query: a chunk is met whole"),
        },
    )
