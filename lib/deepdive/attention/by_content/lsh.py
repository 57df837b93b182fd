"""LSH attention (Reformer): attention within the buckets of a locality-sensitive hash."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive._fast.lsh import Chunks, Tiled
from deepdive.attention.by_content.hashing import (
    Sorted,
    attended_pairs,
    bucket_factors,
    draw_rotations,
    duplicate_counts,
    hash_rows,
    sort_rows,
)
from deepdive.attention.by_content.shared_qk import SharedQKAttention, directions
from deepdive.attention.patterns import written_out
from deepdive.attention.structure import StructuredAttention, all_real
from deepdive.core.checks import positive
from deepdive.core.masks import Dense
from deepdive.core.softmax import SoftmaxAttention

NOWHERE = -2  # the cell of a key that no query attends to


class LSHMaskAttention(StructuredAttention, SharedQKAttention):
    """Shared-QK attention to keys in the query's hash bucket: the definition, at full cost.

        bucket  = argmax(q @ R, -q @ R), in each round with other rotations R; keys likewise
        vectors are sorted by bucket, then by position, and cut into chunks of `chunk`
        allowed = same bucket, the key in the query's chunk or the one before, in any round
        output  = SharedQKAttention(q, k, v, allowed & mask)

    `buckets` is an even number, factors of one, or 1; by default the largest power of two up to
    2 T / chunk. Rotations are resampled at each pass in training, and from `seed` in evaluation.
    Honours `Causal` and `Padding`: padding is sorted behind all real tokens.
    Raises ValueError when a number is out of range.
    Source: Kitaev et al. 2020, section 2, "LSH attention" and "Multi-round LSH attention".
    """

    def __init__(
        self,
        chunk: int = 64,
        rounds: int = 1,
        buckets: int | Sequence[int] | None = None,
        *,
        seed: int = 0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dropout)
        positive(chunk=chunk, rounds=rounds)
        self.chunk, self.rounds, self.seed = chunk, rounds, seed
        self.buckets = (buckets,) if isinstance(buckets, int) else buckets
        if self.buckets is not None:
            draw_rotations(1, 1, 1, self.buckets)  # raises for invalid ones

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        sorted_q, sorted_k = self.sort(q, k, all_real(real, k))
        self_pairs = torch.eye(q.shape[2], dtype=torch.bool, device=q.device)
        pairs = Dense(attended_pairs(sorted_q, sorted_k, q.shape[2]) | self_pairs)
        allowed = self.allowed(written_out(pairs, real, causal), q, k)
        return self.steps(q, k, v, allowed, None, scale)

    def sort(self, q: Tensor, k: Tensor, real: Tensor) -> tuple[Sorted, Sorted]:
        """Return queries and keys sorted by hash, in each round; `real` is (B or 1, T)."""
        heads, T, d = q.shape[1:]
        chunk = min(self.chunk, T)
        factors = tuple(self.buckets or bucket_factors(T, self.chunk))
        seed = None if self.training else self.seed
        rotations = draw_rotations(heads, d, self.rounds, factors, seed=seed)

        def stand(x: Tensor) -> Sorted:
            return sort_rows(
                hash_rows(x, rotations, factors), real, duplicate_counts(factors), chunk
            )

        q_sorted = stand(q)
        return q_sorted, q_sorted if k is q else stand(k)


class LSHAttention(LSHMaskAttention):
    """`LSHMaskAttention` at a cost of O(T * rounds * chunk * d): products only within neighboring
    chunks.

    Sorted by bucket, the keys that a query may attend to are in its chunk and the one before: a
    chunk of queries and its 2 * chunk keys are one product. A key that occurs in several rounds
    counts once, in the first of them. Nothing of size T x T is computed; `fast` computes a few
    chunks at a time (`deepdive._fast.lsh`).

    Hook points: `scores`, `weights` (B, H, T, 1 + rounds * 2 * chunk): the query's own key, then
    the two chunks of each round. While one has a hook, or dropout acts, the steps run one by one.
    """

    once = True

    def explicit(self, q: Tensor) -> bool:
        return self.listening or self.dropped > 0

    def fast(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        q_, k_, v_, real, chunks = self._rows(q, k, v, real, causal, scale)
        half = v.dtype in (torch.float16, torch.bfloat16)
        precise = (x.float() if half else x for x in (q_, k_, v_))
        keep = torch.is_grad_enabled() and any(x.requires_grad for x in (q_, k_, v_))
        mixed = Tiled.apply(*precise, real, chunks, keep).to(v.dtype)  # type: ignore[no-untyped-call]
        return mixed.unflatten(0, q.shape[:2])[:, :, : q.shape[2]]

    def _rows(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Chunks]:
        """Return scaled queries, directions of the keys and values, (N, T', d), padded to full
        chunks; which of these are real, (N, T'); and the chunks.
        """
        B, heads, T = q.shape[:3]
        real = all_real(real, k).expand(B, T)
        of_q, of_k = self.sort(q, k, real)
        fill = of_q.order.shape[-1] - T
        real = F.pad(real, (0, fill), value=False)[:, None].expand(-1, heads, -1)
        before = of_k.order.roll(1, dims=2)[..., -of_k.chunk :]  # the round before's last chunk
        cells = self._cells(of_q, of_k, real)
        q_cell, k_cell = (None if cell is None else cell.flatten(0, 1) for cell in cells)
        chunks = Chunks(
            q_at=of_q.order.flatten(0, 1),
            k_at=torch.cat([before, of_k.order], dim=-1).flatten(0, 1),
            q_place=of_q.place.flatten(0, 1),
            k_place=of_k.place.flatten(0, 1) + of_k.chunk,
            q_cell=q_cell,
            k_cell=k_cell,
            chunk=of_k.chunk,
            causal=causal,
            once=self.once,
        )
        q, k, v = (F.pad(x, (0, 0, 0, fill)).flatten(0, 1) for x in (q * scale, directions(k), v))
        return q, k, v, real.flatten(0, 1), chunks

    def _cells(self, q: Sorted, k: Sorted, real: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Return cells whose difference decides whether a query attends to a key (`Chunks`)."""
        return q.cell.int(), k.cell.masked_fill(~real.unsqueeze(2), NOWHERE).int()

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        shape = q.shape[:3]
        q, k, v, real, chunks = self._rows(q, k, v, real, causal, scale)
        rounds, m = chunks.q_at.shape[1], chunks.chunk
        head = torch.arange(len(q), device=q.device)[:, None, None]
        keys, values = (
            x[head, chunks.k_at].unfold(2, 2 * m, m).transpose(-2, -1) for x in (k, v)
        )  # (N, rounds, chunks, 2 m, d)
        x = q[head, chunks.q_at].unflatten(2, (-1, m))
        number = torch.arange(rounds, device=q.device)[:, None]

        def by_row(parts: Tensor) -> Tensor:  # (N, rounds, chunks, m, ...) -> (N, T', rounds, ...)
            return parts.flatten(2, 3)[head, number, chunks.q_place].transpose(1, 2)

        last = chunks.q_at.shape[-1] // m
        allowed = torch.stack([
            torch.stack([chunks.forbidden(n, r, 0, last) == 0 for r in range(rounds)])
            for n in range(len(q))
        ])  # fmt: skip
        allowed = by_row(allowed).flatten(2)
        only_self = ~allowed.any(-1, keepdim=True) & real.unsqueeze(-1)
        allowed = torch.cat([only_self, allowed], dim=-1)
        scores = by_row(x @ keys.transpose(-2, -1)).flatten(2)
        scores = torch.cat([(q * k).sum(-1, keepdim=True), scores], dim=-1)
        T = shape[-1]

        def through(point: torch.nn.Module, all_rows: Tensor) -> Tensor:
            of_text = point(all_rows[:, :T].unflatten(0, shape[:2]))
            return torch.cat([of_text.flatten(0, 1), all_rows[:, T:]], dim=1)

        weights = SoftmaxAttention.weigh(self, through(self.scores, scores), allowed)
        weights = self.dropout(through(self.weights, weights))
        to_self, others = weights[..., :1], weights[..., 1:].unflatten(-1, (rounds, 2 * m))
        tiles = others.transpose(1, 2)[head, number, chunks.q_at].unflatten(2, (-1, m))
        mixed = to_self * v + by_row(tiles @ values).sum(2)
        return mixed.unflatten(0, shape[:2])[:, :, :T]


class ReleasedLSHAttention(LSHAttention):
    """`LSHAttention` as released: a query attends to all of the two chunks, whatever the buckets,
    and a key counts once in each round.

        output = softmax(scores + log(number of rounds with the key)) @ v

    The first chunk of a round attends to the last one of the round before, the first round to the
    last one. With one round, and buckets no longer than a chunk, little differs; published weights
    were trained so. Source: transformers, `LSHSelfAttention`.
    """

    once = False

    def _cells(self, q: Sorted, k: Sorted, real: Tensor) -> tuple[Tensor | None, Tensor | None]:
        if bool(real.all()):
            return None, None
        zeros = torch.zeros_like(q.cell, dtype=torch.int32)
        return zeros, zeros.masked_fill(~real.unsqueeze(2), NOWHERE)
