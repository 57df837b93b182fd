"""Funnel-Transformer's attention: queries of one length, keys of the same or a greater one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, PostNorm
from deepdive.core.checks import positive
from deepdive.core.feed_forward import Activation
from deepdive.core.masks import Padding
from deepdive.layers.pair_pooling import PairPooling
from deepdive.positions.xl import PooledXLPosition, RelativeSegments

CLS_SEGMENT = 2  # the segment of [CLS], which shares one with every token


@dataclass(frozen=True)
class Level:
    """A sequence of one length: positions (T,); segments int (B, T), None = one segment; real
    tokens bool (B, T), None = all.
    """

    positions: Tensor
    segments: Tensor | None = None
    real: Tensor | None = None


class FunnelAttention(MultiHeadAttention):
    """Attention of queries at one level to keys at the same or a longer one."""

    position: PooledXLPosition

    def __init__(
        self, d_model: int, n_heads: int, d_head: int, dropout: float = 0.0,
        separate_cls: bool = True,
    ) -> None:  # fmt: skip
        positive(d_model=d_model, n_heads=n_heads, d_head=d_head)
        place = PooledXLPosition(d_model, n_heads, d_head, separate_cls)
        super().__init__(d_model, n_heads, d_head=d_head, dropout=dropout, position=place)
        self.q = nn.Linear(d_model, n_heads * d_head, bias=False)
        self.segments = RelativeSegments(n_heads, d_head)

    def read(self, x: Tensor, content: Tensor, here: Level, there: Level) -> Tensor:
        """Return (B, T, d_model) for queries from x (B, T, d_model), at level `here`, and keys and
        values from content (B, S, d_model), at level `there`.
        """
        q, (k, v), place = self.queries(x), self.keys_and_values(content), self.position
        terms = place.laid(place.worth, q, k, here.positions, there.positions)
        terms = terms + self.segments(q, differing(here, there))
        bias = place.without_cls(terms, here.positions, there.positions)
        mask = None if there.real is None else Padding(there.real)
        q = q + place.u[:, None]  # the term u . k, with q . k
        return self.output(self.mechanism(q, k, self.values(v), mask, bias, self.scale))


def differing(here: Level, there: Level) -> Tensor:
    """Return which queries and keys are of different segments, bool (B, T, S), or (B, 1, 1) for one
    segment. [CLS] shares its segment with every token.
    """
    if here.segments is None or there.segments is None:
        return torch.zeros(1, 1, 1, dtype=torch.bool, device=here.positions.device)
    mine, theirs = here.segments[:, :, None], there.segments[:, None]
    return (mine != theirs) & (mine != CLS_SEGMENT) & (theirs != CLS_SEGMENT)


class FunnelBlock(Block):
    """A post-norm layer whose residual connection is that of its queries."""

    attn: FunnelAttention

    def __init__(
        self, attn: FunnelAttention, d_ff: int, activation: Activation, dropout: float = 0.0,
        activation_dropout: float = 0.0, eps: float = 1e-9,
    ) -> None:  # fmt: skip
        ff = FeedForward(attn.d_model, d_ff, activation, activation_dropout)
        norm = partial(LayerNorm, eps=eps)
        super().__init__(attn, ff, residual=partial(PostNorm, norm=norm, dropout=dropout))

    def read(self, x: Tensor, content: Tensor, here: Level, there: Level) -> Tensor:
        """Return the layer's output (B, T, d_model); the arguments are `FunnelAttention.read`'s."""
        x = self.attn_residual(x, lambda h: self.attn.read(h, content, here, there))
        return self.stream(self.ff_residual(x, self.ff))


def run(
    layers: Iterable[nn.Module], x: Tensor, content: Tensor, here: Level, there: Level
) -> Tensor:
    """Return x (B, T, d_model) after a block's layers: the first attends to `content`, at level
    `there`, the others to their own input.
    """
    for layer in layers:
        assert isinstance(layer, FunnelBlock)
        x = layer.read(x, content, here, there)
        content, there = x, here
    return x


def pooled(x: Tensor, level: Level, pooling: PairPooling) -> tuple[Tensor, Level]:
    """Return the queries of a block's first layer, and their level."""
    x, real = pooling.mean(x, level.real)
    places = pooling.first(level.positions[None])[0]
    segments = None if level.segments is None else pooling.first(level.segments)
    return x, Level(places, segments, real)
