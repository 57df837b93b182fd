"""Exact softmax attention, tile by tile: no more scores exist at once than those of one tile."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from deepdive.attention.structure import StructuredAttention, all_real
from deepdive.core.checks import positive

HALF = (torch.float16, torch.bfloat16)


class TiledAttention(StructuredAttention):
    """Softmax attention in tiles of `block` queries and keys, exact, in memory O(T d).

    For a tile of queries, the tiles of keys pass by. Kept are m, the largest score so far,
    total, the sum of the exponentials, and mixed, the values they weigh; a larger m rescales both:

        high  = max(m, max(scores)),   c = exp(m - high),   p = exp(scores - high)
        total = c * total + sum(p),    mixed = c * mixed + p @ v[tile],    m = high
        output = mixed / total,        logs = m + log(total)           # after the last tile

    The backward pass keeps `logs` (B, H, T) and makes each tile once more: with D = sum(grad *
    output), weights = exp(scores - logs) and grad_scores = weights * (grad @ v[tile]^T - D).

    Queries in the outer loop, one division at the end, one number kept per row: the order of
    FlashAttention-2 (Dao 2023, algorithm 1). In 2022 the keys are in the outer loop.

    Honours `Causal` (tiles that lie ahead are not made) and `Padding`; refuses every other mask,
    and a bias, which has T x S entries. No hook points: the weights never stand side by side.
    There is no second derivative. Raises ValueError when block is below 1.

    System: flash_attention
    Parent: scaled_dot_attention
    What differs:
    - scores exist for one tile of `block` x `block` at a time; the softmax is summed as they pass
      (`_Tiled.forward`)
    - the backward pass makes the tiles again from one number a row (`_Tiled.backward`)
    Source: Dao et al. 2022, "FlashAttention", algorithms 1 and 2; the sum of a softmax in one
      pass: Milakov and Gimelshein 2018.
    Book: 5.2.1.2
    """

    def __init__(self, block: int = 256) -> None:
        super().__init__()
        positive(block=block)
        self.block = block

    def extra_repr(self) -> str:
        return f"block={self.block}"

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        """Return the mixed values (B, H, T, d_v); queries are the last T positions."""
        rows = (q.float(), k.float(), v.float()) if q.dtype in HALF else (q, k, v)
        output: Tensor = _Tiled.apply(  # type: ignore[no-untyped-call]
            *rows, all_real(real, k), causal, scale, self.block
        )
        return output.to(q.dtype)


def _tiles(
    q: Tensor, k: Tensor, real: Tensor, causal: bool, block: int
) -> Iterator[tuple[slice, Iterator[tuple[slice, Tensor]]]]:
    """Yield each tile of queries with its tiles of keys, each with what is hidden in it."""
    T, S = q.shape[2], k.shape[2]
    place = torch.arange(S, device=q.device)

    def keys(last: int, queries: Tensor) -> Iterator[tuple[slice, Tensor]]:
        for start in range(0, last, block):
            tile = slice(start, min(start + block, last))
            hidden = ~real[:, None, None, tile]  # (B or 1, 1, 1, keys)
            if causal and tile.stop - 1 > int(queries[0]):
                hidden = hidden | (place[tile] > queries[:, None])
            yield tile, hidden

    for start in range(0, T, block):
        tile = slice(start, min(start + block, T))
        queries = torch.arange(S - T + tile.start, S - T + tile.stop, device=q.device)
        yield tile, keys(max(0, S - T + tile.stop) if causal else S, queries)


class _Tiled(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        real: Tensor,
        causal: bool,
        scale: float,
        block: int,
    ) -> Tensor:
        output = q.new_zeros(*q.shape[:3], v.shape[-1])
        logs = q.new_full((*q.shape[:3], 1), float("inf"))  # a row without a key: weights exp(-inf)
        lowest = torch.finfo(q.dtype).min
        for rows, tiles in _tiles(q, k, real, causal, block):
            m = q.new_full((*q[:, :, rows].shape[:3], 1), lowest)
            total, mixed = torch.zeros_like(m), torch.zeros_like(output[:, :, rows])
            for tile, hidden in tiles:
                scores = ((scale * q[:, :, rows]) @ k[:, :, tile].mT).masked_fill_(hidden, lowest)
                high = torch.maximum(m, scores.amax(-1, keepdim=True))
                p = scores.sub_(high).exp_().masked_fill_(hidden, 0.0)
                c = (m - high).exp_()
                total.mul_(c).add_(p.sum(-1, keepdim=True))
                mixed.mul_(c).add_(p @ v[:, :, tile])
                m = high
            has_key = total > 0
            total = total.where(has_key, 1.0)
            output[:, :, rows] = mixed / total
            logs[:, :, rows] = (m + total.log()).where(has_key, float("inf"))
        ctx.save_for_backward(q, k, v, real, output, logs)
        ctx.settings = causal, scale, block
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, real, output, logs = ctx.saved_tensors
        causal, scale, block = ctx.settings
        grad_q, grad_k, grad_v = (torch.zeros_like(rows) for rows in (q, k, v))
        D = (grad * output).sum(-1, keepdim=True)  # (B, H, T, 1)
        for rows, tiles in _tiles(q, k, real, causal, block):
            scaled_q, grad_output = scale * q[:, :, rows], grad[:, :, rows]
            for tile, hidden in tiles:
                scores = (scaled_q @ k[:, :, tile].mT).sub_(logs[:, :, rows])
                weights = scores.exp_().masked_fill_(hidden, 0.0)
                grad_v[:, :, tile] += weights.mT @ grad_output
                grad_scores = (grad_output @ v[:, :, tile].mT).sub_(D[:, :, rows]).mul_(weights)
                grad_k[:, :, tile] += grad_scores.mT @ scaled_q
                grad_q[:, :, rows] += (grad_scores @ k[:, :, tile]).mul_(scale)
        return grad_q, grad_k, grad_v, None, None, None, None
