"""Attention in tiles: a block of queries at a time, with the few keys that it attends to.

Makes sparse patterns fast: queries are split into blocks, a `Tile` lists the keys of a block, and
`attend` computes one batched product per tile for all heads. The manual backward pass uses the
saved weights, and accumulates the gradients of keys and values in place, where autograd would copy
the keys once for each tile that uses them.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

Span = tuple[int, int]  # first, last + 1


class Tile(NamedTuple):
    """Queries and the keys that they attend to, in the order of the scores' columns.

    rows    the range of queries
    spans   ranges of keys, the same for all heads
    bias    (queries, keys) or (N, queries, keys), added to the scores: 0, or `shut(dtype)` to mask
            a key for a query; None: nothing is masked
    blocks  int64 (N, G, r), instead of spans: the queries are G groups of equal size, and each
            attends to r blocks of `unit` keys of its own, different for each of N = B * H
    """

    rows: Span
    spans: tuple[Span, ...] = ()
    bias: Tensor | None = None
    blocks: Tensor | None = None

    @property
    def parts(self) -> int:
        """G: the number of query groups, each with its own product."""
        return 1 if self.blocks is None else self.blocks.shape[1]


def shut(dtype: torch.dtype) -> float:
    """Return a mask value for which a weight is 0, and whose double is still finite."""
    return torch.finfo(dtype).min / 4


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    tiles: Sequence[Tile],
    scale: float,
    *,
    real: Tensor | None = None,
    dropout: float = 0.0,
    unit: int = 1,
) -> Tensor:
    """Return the output (B, H, T, d_v): for each tile softmax(scale * q @ k^T + bias) @ v.

    q is (B, H, T, d), k and v (B, H, S, d); the tiles cover the queries 0 ... T - 1 in order. Keys
    that are not `real`, bool (B or 1, S), are masked; `dropout` is the probability of dropping a
    weight; `unit` is the block size of the tiles, which must divide S. A query without keys gets 0.
    Once differentiable.
    """
    B, H = q.shape[:2]
    if real is not None and real.all():
        real = None
    flat = [x.reshape(B * H, *x.shape[2:]) for x in (q, k, v)]
    keep = torch.is_grad_enabled() and any(x.requires_grad for x in flat)
    padded = _padded(tiles, real)
    if real is not None:
        real = real.expand(B, -1).repeat_interleave(H, 0)
    ahead = q.shape[2] > k.shape[2]  # some queries are before every key
    settings = tiles, scale, real, dropout, unit, keep, [ahead or each for each in padded]
    mixed: Tensor = _Tiled.apply(*flat, *settings)  # type: ignore[no-untyped-call]
    return mixed.unflatten(0, (B, H))


def block_of(left: int, right: int) -> int:
    """Return the number of queries per tile of a window: at most the window's number of keys, large
    enough for an efficient product, and small enough for a tile's weights to fit into the cache.
    """
    return min(max(left + right, 16), 64)


def window_tiles(
    T: int, S: int, left: int, right: int, block: int, like: Tensor, more: int = 0
) -> list[Tile]:
    """Return the tiles of a window: query t attends to keys t - left ... t + right.

    Queries are the last T of S positions. Every query attends to `more` keys appended to the S.
    """
    block = min(block, T)
    offset = torch.arange(block + left + right, device=like.device) - torch.arange(
        left, left + block, device=like.device
    ).unsqueeze(1)  # (block, range): the key's distance before the query
    band = like.new_zeros(offset.shape)
    band.masked_fill_((offset < -left) | (offset > right), shut(like.dtype))
    tiles = []
    for start in range(0, T, block):
        rows = (start, min(start + block, T))
        first = S - T + start - left  # where the key range of a full block begins
        low = min(max(first, 0), S)
        high = max(low, min(S - T + rows[1] + right, S))
        bias = band[: rows[1] - start, low - first : high - first]
        if more:
            bias = torch.cat([bias, bias.new_zeros(len(bias), more)], dim=1)
        spans = ((low, high), (S, S + more)) if more else ((low, high),)
        tiles.append(Tile(rows, spans, bias=bias))
    return tiles


def _padded(tiles: Sequence[Tile], real: Tensor | None) -> list[bool]:
    """Return for each tile whether it may contain a key that is not real."""
    if real is None:
        return [False] * len(tiles)
    before = F.pad((~real).any(0).cumsum(0), (1, 0)).tolist()
    return [
        tile.blocks is not None or any(before[low] < before[high] for low, high in tile.spans)
        for tile in tiles
    ]


class _TileRows:
    """The keys or values of tiles: gather them for a tile, and accumulate gradients."""

    def __init__(self, rows: Tensor, unit: int) -> None:
        self.rows, self.unit = rows, unit

    def take(self, tile: Tile) -> Tensor:
        """Return (N * G, keys, d), a view if it is one range."""
        if tile.blocks is not None:
            N, G, r = tile.blocks.shape
            blocks = self._in_blocks().index_select(0, self._numbers(tile.blocks))
            return blocks.view(N * G, r * self.unit, self.rows.shape[-1])
        parts = [self.rows[:, low:high] for low, high in tile.spans]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def add(self, tile: Tile, a: Tensor, b: Tensor) -> None:
        """Add a^T @ b, (N * G, keys, d), to the positions returned by `take`."""
        if len(tile.spans) == 1:
            low, high = tile.spans[0]
            self.rows[:, low:high].baddbmm_(a.transpose(1, 2), b)
            return
        product, start = torch.bmm(a.transpose(1, 2), b), 0
        if tile.blocks is not None:
            blocks = product.view(tile.blocks.numel(), -1)
            self._in_blocks().index_add_(0, self._numbers(tile.blocks), blocks)
        for low, high in tile.spans:
            self.rows[:, low:high] += product[:, start : start + high - low]
            start += high - low

    def _in_blocks(self) -> Tensor:
        N, S, d = self.rows.shape
        return self.rows.view(N * (S // self.unit), self.unit * d)

    def _numbers(self, blocks: Tensor) -> Tensor:
        """Return (N * G * r,): the indices of the blocks among those of all heads."""
        per_head = self.rows.shape[1] // self.unit
        heads = torch.arange(len(blocks), device=blocks.device).view(-1, 1, 1)
        return (blocks + per_head * heads).flatten()


def _of(tile: Tile, rows: Tensor) -> Tensor:
    """Return a tile's queries from (N, T, d), grouped: (N * G, queries / G, d)."""
    queries = rows[:, slice(*tile.rows)]
    if tile.blocks is None:
        return queries
    return queries.reshape(len(rows) * tile.parts, -1, rows.shape[-1])


class _Tiled(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        tiles: Sequence[Tile],
        scale: float,
        real: Tensor | None,
        dropout: float,
        unit: int,
        keep: bool,
        empty_rows: Sequence[bool],  # whether a query of the tile may have no key
    ) -> Tensor:
        if any(tile.blocks is not None for tile in tiles):  # blocks are views
            k, v = k.contiguous(), v.contiguous()
        q = q * scale
        keys, values = _TileRows(k, unit), _TileRows(v, unit)
        closed = None
        if real is not None:
            closed = q.new_zeros(*real.shape, 1).masked_fill_(~real.unsqueeze(-1), shut(q.dtype))
        out = q.new_empty(*q.shape[:2], v.shape[-1])
        saved: list[Tensor] = []
        for tile, may_be_empty in zip(tiles, empty_rows, strict=True):
            bias = _bias(tile, closed, unit) if may_be_empty else tile.bias
            weights = _weigh(_of(tile, q), keys.take(tile), bias, may_be_empty)
            if keep:
                saved.append(weights)
            if dropout:
                dropped = torch.empty_like(weights).bernoulli_(1 - dropout).div_(1 - dropout)
                weights = weights * dropped
                if keep:
                    saved.append(dropped)
            mixed = torch.bmm(weights, values.take(tile))
            out[:, slice(*tile.rows)] = mixed.view(len(q), -1, v.shape[-1])
        if keep:
            ctx.save_for_backward(q, k, v, out, *saved)
        ctx.settings = tiles, scale, unit, bool(dropout)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """With P the weights, D the scaled dropout (or 1), G the output's gradient:

        dV = (P D)^T G,  dS = P (D (G V^T) - sum(G out)),  dQ = scale dS K,  dK = dS^T scale Q
        """
        q, k, v, out, *saved = ctx.saved_tensors
        tiles, scale, unit, has_dropout = ctx.settings
        # The row sum of P dP, computed from the output.
        minus_sum = (grad * out).sum(-1, keepdim=True).neg_()
        d_q = torch.empty_like(q)
        d_k, d_v = (torch.zeros_like(t, memory_format=torch.contiguous_format) for t in (k, v))
        keys, values, to_keys, to_values = (_TileRows(t, unit) for t in (k, v, d_k, d_v))
        for tile, (weights, dropped) in zip(tiles, _pairs(saved, has_dropout), strict=True):
            g, v_t = _of(tile, grad), values.take(tile).transpose(1, 2)
            to_values.add(tile, weights if dropped is None else weights * dropped, g)
            if dropped is None:
                scores = torch.baddbmm(_of(tile, minus_sum), g, v_t).mul_(weights)
            else:
                scores = torch.bmm(g, v_t).mul_(dropped).add_(_of(tile, minus_sum)).mul_(weights)
            to_keys.add(tile, scores, _of(tile, q))
            to_queries = torch.bmm(scores, keys.take(tile))
            d_q[:, slice(*tile.rows)] = to_queries.view(len(q), -1, q.shape[-1])
        return d_q.mul_(scale), d_k, d_v, *[None] * 7


def _pairs(saved: list[Tensor], has_dropout: bool) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Yield the weights of each tile and their dropout."""
    if has_dropout:
        yield from zip(saved[::2], saved[1::2], strict=True)
    else:
        yield from ((weights, None) for weights in saved)


def _bias(tile: Tile, closed: Tensor | None, unit: int) -> Tensor | None:
    """Return the bias of a tile's scores; `closed` (N, S, 1) masks keys for all queries."""
    if closed is None:
        return tile.bias
    bias = _TileRows(closed, unit).take(tile).transpose(1, 2)
    return bias if tile.bias is None else tile.bias + bias


def _weigh(q: Tensor, k: Tensor, bias: Tensor | None, may_be_empty: bool) -> Tensor:
    """Return softmax(q @ k^T + bias) in float32 at least, 0 for a query without keys."""
    k = k.transpose(1, 2)
    if bias is None:
        scores = torch.bmm(q, k)
    else:
        scores = torch.baddbmm(bias if bias.ndim == 3 else bias.unsqueeze(0), q, k)
    precise = torch.float32 if scores.dtype in (torch.float16, torch.bfloat16) else scores.dtype
    weights = scores.softmax(-1, dtype=precise).to(scores.dtype)
    if may_be_empty and bias is not None:
        none = (bias < shut(scores.dtype) / 2).all(-1, keepdim=True)
        weights = weights.masked_fill(none, 0.0)
    return weights
