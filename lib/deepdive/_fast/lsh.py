"""LSH attention: softmax within sorted chunks, a few chunks at a time, with a manual backward."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# Scores computed at once: on a CPU they stay in the cache until they are used.
CPU_SCORES, GPU_SCORES = 2**18, 2**26
CLOSED = 1e30  # subtracted from masked scores; 2 ** -CLOSED is 0
LOG2E = 1 / math.log(2)

Kept = tuple[Tensor, list[Tensor]]


@dataclass(frozen=True)
class Chunks:
    """The sorted chunks of N = B * H heads. Positions are 0 ... T', a full number of chunks.

    q_at      (N, rounds, T'): the query at each sorted position
    k_at      (N, rounds, chunk + T'): the key at each sorted position, after a chunk of keys that
              precedes the first chunk
    q_place   (N, rounds, T'): the sorted position of each query
    k_place   (N, rounds, T'): the sorted position of each key, counted as in k_at
    q_cell    (N, rounds, T'), k_cell (N, rounds, T'): a query attends to a key in a round if
              q_cell - k_cell is 0 or 1; None: to all keys of both chunks
    chunk     positions per chunk
    causal    whether a query attends only to keys before it
    once      whether keys already attended to in an earlier round are masked
    """

    q_at: Tensor
    k_at: Tensor
    q_place: Tensor
    k_place: Tensor
    q_cell: Tensor | None
    k_cell: Tensor | None
    chunk: int
    causal: bool
    once: bool

    def tiles(self) -> Iterator[tuple[int, int]]:
        """Yield the first chunk and the end of each tile of a round."""
        chunks = self.q_at.shape[2] // self.chunk
        tile = CPU_SCORES if self.q_at.device.type == "cpu" else GPU_SCORES
        step = max(tile // (2 * self.chunk**2), 1)
        for start in range(0, chunks, step):
            yield start, min(start + step, chunks)

    def queries(self, rows: Tensor, start: int, end: int) -> Tensor:
        """(T', ...) -> (chunks, chunk, ...), a view."""
        return rows[start * self.chunk : end * self.chunk].unflatten(0, (-1, self.chunk))

    def keys(self, rows: Tensor, start: int, end: int) -> Tensor:
        """(chunk + T', ...) -> (chunks, 2 chunk, ...), overlapping, a view: a chunk of queries
        attends to its own chunk of keys and to the one before.
        """
        k_chunks = rows[start * self.chunk : (end + 1) * self.chunk]
        k_chunks = k_chunks.unfold(0, 2 * self.chunk, self.chunk)
        return k_chunks if rows.ndim == 1 else k_chunks.transpose(-2, -1)

    def forbidden(self, n: int, r: int, start: int, end: int) -> Tensor:
        """Return int32 (chunks, chunk, 2 chunk): 0 if a query attends to a key; never to its own.

        Integers, because in-place comparisons are vectorized, and those that return bool are not.
        """
        q_at = self.queries(self.q_at[n, r], start, end).unsqueeze(-1)
        k_at = self.keys(self.k_at[n, r], start, end).unsqueeze(-2)
        apart = q_at.int() - k_at.int()
        barred = apart.le_(0) if self.causal else apart.eq_(0)
        if self.q_cell is None or self.k_cell is None:
            return barred
        barred += self._apart(n, r, q_at, k_at).ne_(0)
        for earlier in range(r) if self.once else ():
            barred += self._apart(n, earlier, q_at, k_at).eq_(0)
        if self.once and start == 0:  # keys before the first chunk belong to another round
            barred[0, :, : self.chunk] = 1
        return barred

    def _apart(self, n: int, r: int, q_at: Tensor, k_at: Tensor) -> Tensor:
        """Return int32, 0 if q_cell - k_cell is 0 or 1."""
        assert self.q_cell is not None
        assert self.k_cell is not None
        return (self.q_cell[n, r][q_at] - self.k_cell[n, r][k_at]).bitwise_right_shift_(1)


class Tiled(torch.autograd.Function):
    """softmax(q k^T over unmasked keys) v for q, k (N, T', d) and v (N, T', d_v): (N, T', d_v).

    A round returns its output and log-sum-exp; weighted by their sums, the rounds' outputs are the
    softmax over all of their keys. A query without keys gets its own value if `real` (N, T'), else
    0. With `keep`, the weights are saved for the backward pass, rounds * 2 chunk numbers per query.
    Uses powers of 2, whose exponential is several times as fast on a CPU: q is multiplied by
    log2(e).
    """

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, real: Tensor, chunks: Chunks, keep: bool
    ) -> Tensor:
        q = q * LOG2E
        output, total = torch.empty_like(v), q.new_empty(q.shape[:2])
        ctx.kept = []
        for n in range(q.shape[0]):
            rounds = range(chunks.q_at.shape[1])
            found = [_round(q[n], k[n], v[n], chunks, n, r, ctx.kept, keep) for r in rounds]
            logs = torch.stack([log for _, log in found])  # (rounds, T')
            highest = logs.amax(0).clamp_min_(-CLOSED)
            shares = (logs - highest).exp2_()
            sums = shares.sum(0)
            total[n] = highest + sums.log2()
            shares /= sums.clamp_min(1.0)
            output[n] = found[0][0] * shares[0].unsqueeze(1)
            for (mean, _), share in zip(found[1:], shares[1:], strict=True):
                output[n].addcmul_(mean, share.unsqueeze(1))
        alone = (total.isneginf() & real).unsqueeze(-1)
        output = torch.where(alone, v, output)
        ctx.save_for_backward(q, k, v, output, total, alone)
        ctx.chunks = chunks
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, output, total, alone = ctx.saved_tensors
        chunks: Chunks = ctx.chunks
        m, rounds = chunks.chunk, chunks.q_at.shape[1]
        total = total.masked_fill(total.isneginf(), 0.0)
        inner = (grad * output).sum(-1)  # sum over keys of weight * gradient
        dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), grad * alone
        for n in range(q.shape[0]):
            rows = (q[n], k[n], v[n], grad[n], inner[n], total[n])
            for r in range(rounds):
                parts = _round_backward(*rows, chunks, n, r, ctx.kept[n * rounds + r])
                dq[n] += parts[0].index_select(0, chunks.q_place[n, r])
                for whole, part in ((dk[n], parts[1]), (dv[n], parts[2])):
                    whole += part.index_select(0, chunks.k_place[n, r])
                    if not chunks.once:
                        whole.index_add_(0, chunks.k_at[n, r, :m], part[:m])
        return dq, dk.div_(LOG2E), dv, None, None, None


def _round(
    q: Tensor, k: Tensor, v: Tensor, chunks: Chunks, n: int, r: int, kept: list[Kept], keep: bool
) -> tuple[Tensor, Tensor]:
    """Return the output (T', d_v) and the log-sum-exp (T') of one head in one round; append to
    `kept` each tile's weights, normalized to a maximum of 2^0 per query, and the maximum scores.
    """
    q_at, k_at, place = chunks.q_at[n, r], chunks.k_at[n, r], chunks.q_place[n, r]
    q, k, v = q.index_select(0, q_at), k.index_select(0, k_at), v.index_select(0, k_at)
    means, logs = torch.empty_like(v[chunks.chunk :]), q.new_empty(len(q))
    all_highest, tiles = torch.empty_like(logs), []
    for start, end in chunks.tiles():
        keys, values = chunks.keys(k, start, end), chunks.keys(v, start, end)
        weights = chunks.queries(q, start, end) @ keys.transpose(-2, -1)
        weights.add_(chunks.forbidden(n, r, start, end).to(q.dtype), alpha=-CLOSED)
        highest = weights.amax(-1, keepdim=True)
        total = weights.sub_(highest).exp2_().sum(-1, keepdim=True)
        torch.div(weights @ values, total, out=chunks.queries(means, start, end))
        log = (highest + total.log2()).masked_fill_(highest < -CLOSED / 2, float("-inf"))
        chunks.queries(logs, start, end).copy_(log.squeeze(-1))
        if keep:
            chunks.queries(all_highest, start, end).copy_(highest.squeeze(-1))
            tiles.append(weights)
    kept.append((all_highest, tiles))
    return means.index_select(0, place), logs.index_select(0, place)


def _round_backward(
    q: Tensor, k: Tensor, v: Tensor, grad: Tensor, inner: Tensor, total: Tensor,
    chunks: Chunks, n: int, r: int, kept: Kept,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the gradients of one head in one round, sorted: (T', d), (chunk + T', d) and d_v."""
    q_at, k_at = chunks.q_at[n, r], chunks.k_at[n, r]
    q, grad, inner, total = (rows.index_select(0, q_at) for rows in (q, grad, inner, total))
    k, v = k.index_select(0, k_at), v.index_select(0, k_at)
    dq, dk, dv = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
    shares = (kept[0] - total).exp2_()
    for (start, end), tile in zip(chunks.tiles(), kept[1], strict=True):
        rows, g = chunks.queries(q, start, end), chunks.queries(grad, start, end)
        keys, values = chunks.keys(k, start, end), chunks.keys(v, start, end)
        weights = tile * chunks.queries(shares, start, end).unsqueeze(-1)
        _spread(dv, weights.transpose(-2, -1) @ g, chunks.chunk, start, end)
        slope = g @ values.transpose(-2, -1)
        slope.sub_(chunks.queries(inner, start, end).unsqueeze(-1)).mul_(weights)
        torch.bmm(slope, keys, out=chunks.queries(dq, start, end))
        _spread(dk, slope.transpose(-2, -1) @ rows, chunks.chunk, start, end)
    return dq, dk, dv


def _spread(into: Tensor, parts: Tensor, m: int, start: int, end: int) -> None:
    """Accumulate gradients (chunks, 2 m, d) in the positions of the two chunks of each."""
    chunks = into.unflatten(0, (-1, m))
    chunks[start:end] += parts[:, :m]
    chunks[start + 1 : end + 1] += parts[:, m:]
