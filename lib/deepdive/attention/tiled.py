"""FlashAttention: exact softmax attention in tiles, with the scores of one tile at a time."""

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

    For a tile of queries, a loop over the tiles of keys updates m, the largest score so far, total,
    the sum of the exponentials, and mixed, the weighted sum of values; a larger m rescales both:

        high  = max(m, max(scores)),   c = exp(m - high),   p = exp(scores - high)
        total = c * total + sum(p),    mixed = c * mixed + p @ v[tile],    m = high
        output = mixed / total,        logs = m + log(total)           # after the last tile

    The backward pass uses `logs` (B, H, T) and recomputes each tile: with D = sum(grad *
    output), weights = exp(scores - logs) and grad_scores = weights * (grad @ v[tile]^T - D).

    Queries in the outer loop, one division at the end, one number stored per query: the order of
    FlashAttention-2 (Dao 2023, algorithm 1). In 2022 the keys are in the outer loop.

    Honours `Causal` (later tiles are skipped) and `Padding`; refuses every other mask,
    and a bias, which has T x S entries. No hook points: the full weights never exist.
    There is no second derivative. Raises ValueError when block is below 1.

    System: flash_attention
    Parent: scaled_dot_attention
    What differs:
    - scores exist for one tile of `block` x `block` at a time; the softmax is accumulated over the
      tiles (`_Tiled.forward`)
    - the backward pass recomputes the tiles from one number per query (`_Tiled.backward`)
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
        """Return the output (B, H, T, d_v); queries are the last T positions."""
        qkv = (q.float(), k.float(), v.float()) if q.dtype in HALF else (q, k, v)
        output: Tensor = _Tiled.apply(  # type: ignore[no-untyped-call]
            *qkv, all_real(real, k), causal, scale, self.block
        )
        return output.to(q.dtype)


def _tiles(
    q: Tensor, k: Tensor, real: Tensor, causal: bool, block: int
) -> Iterator[tuple[slice, Iterator[tuple[slice, Tensor]]]]:
    """Yield each tile of queries with its tiles of keys, each with its masked pairs."""
    T, S = q.shape[2], k.shape[2]
    position = torch.arange(S, device=q.device)

    def keys(last: int, queries: Tensor) -> Iterator[tuple[slice, Tensor]]:
        for start in range(0, last, block):
            tile = slice(start, min(start + block, last))
            hidden = ~real[:, None, None, tile]  # (B or 1, 1, 1, keys)
            if causal and tile.stop - 1 > int(queries[0]):
                hidden = hidden | (position[tile] > queries[:, None])
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
        logs = q.new_full((*q.shape[:3], 1), float("inf"))  # without a key: weights exp(-inf)
        lowest = torch.finfo(q.dtype).min
        for at, tiles in _tiles(q, k, real, causal, block):
            m = q.new_full((*q[:, :, at].shape[:3], 1), lowest)
            total, mixed = torch.zeros_like(m), torch.zeros_like(output[:, :, at])
            for tile, hidden in tiles:
                scores = ((scale * q[:, :, at]) @ k[:, :, tile].mT).masked_fill_(hidden, lowest)
                high = torch.maximum(m, scores.amax(-1, keepdim=True))
                p = scores.sub_(high).exp_().masked_fill_(hidden, 0.0)
                c = (m - high).exp_()
                total.mul_(c).add_(p.sum(-1, keepdim=True))
                mixed.mul_(c).add_(p @ v[:, :, tile])
                m = high
            has_key = total > 0
            total = total.where(has_key, 1.0)
            output[:, :, at] = mixed / total
            logs[:, :, at] = (m + total.log()).where(has_key, float("inf"))
        ctx.save_for_backward(q, k, v, real, output, logs)
        ctx.settings = causal, scale, block
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, real, output, logs = ctx.saved_tensors
        causal, scale, block = ctx.settings
        grad_q, grad_k, grad_v = (torch.zeros_like(x) for x in (q, k, v))
        D = (grad * output).sum(-1, keepdim=True)  # (B, H, T, 1)
        for at, tiles in _tiles(q, k, real, causal, block):
            scaled_q, grad_output = scale * q[:, :, at], grad[:, :, at]
            for tile, hidden in tiles:
                scores = (scaled_q @ k[:, :, tile].mT).sub_(logs[:, :, at])
                weights = scores.exp_().masked_fill_(hidden, 0.0)
                grad_v[:, :, tile] += weights.mT @ grad_output
                grad_scores = (grad_output @ v[:, :, tile].mT).sub_(D[:, :, at]).mul_(weights)
                grad_k[:, :, tile] += grad_scores.mT @ scaled_q
                grad_q[:, :, at] += (grad_scores @ k[:, :, tile]).mul_(scale)
        return grad_q, grad_k, grad_v, None, None, None, None
