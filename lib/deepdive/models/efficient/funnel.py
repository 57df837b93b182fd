"""Funnel-Transformer: an encoder that halves the sequence between blocks. Dai et al. 2020,
"Funnel-Transformer: Filtering out Sequential Redundancy for Efficient Language Processing".

Long because queries and keys of a pooling layer are of different sequences, each with positions,
segments and padding of its own.

System: funnel
Parent: bert
What differs:
- from the second block on, a block's first layer pools its queries in pairs; its keys and values
  are those of the longer sequence (`PairPooling`, `Funnel.encode`)
- a decoder repeats the pooled states and adds the first block's output (`n_decoder_layers`)
- positions are relative, of four terms as in Transformer-XL, and so are segments
  (`PooledXLPosition`, `RelativeSegments`); [CLS] has neither
- the activation is GELU's approximation by tanh, `eps` 1e-9, and queries have no bias
Source: Dai et al. 2020, section 2, appendix A, and their released code.
Book: 5.1.1.1
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, PostNorm, gelu_tanh
from deepdive.core.embeddings import TokenEmbedding, check_segments, check_tokens
from deepdive.core.feed_forward import Activation
from deepdive.core.masks import Padding, padding
from deepdive.layers.heads import initialize
from deepdive.layers.pair_pooling import PairPooling
from deepdive.models.config import Config
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

    def __init__(self, config: FunnelConfig) -> None:
        sizes = config.d_model, config.n_heads, config.d_head
        place = PooledXLPosition(*sizes, separate_cls=config.separate_cls)
        dropout = config.attention_dropout
        super().__init__(*sizes[:2], d_head=config.d_head, dropout=dropout, position=place)
        self.q = nn.Linear(config.d_model, config.n_heads * config.d_head, bias=False)
        self.segments = RelativeSegments(config.n_heads, config.d_head)

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

    def __init__(self, config: FunnelConfig) -> None:
        norm, dropout = partial(LayerNorm, eps=config.eps), config.dropout
        ff = FeedForward(config.d_model, config.d_ff, config.activation, config.activation_dropout)
        residual = partial(PostNorm, norm=norm, dropout=dropout)
        super().__init__(FunnelAttention(config), ff, residual=residual)

    def read(self, x: Tensor, content: Tensor, here: Level, there: Level) -> Tensor:
        """Return the layer's output (B, T, d_model); the arguments are `FunnelAttention.read`'s."""
        x = self.attn_residual(x, lambda h: self.attn.read(h, content, here, there))
        return self.stream(self.ff_residual(x, self.ff))


class Funnel(nn.Module):
    """Funnel-Transformer: token ids (B, T) -> hidden states (B, T, d_model), or, without a decoder
    (`n_decoder_layers` None), the pooled ones, about T / 2 ** (number of blocks - 1) of them.
    """

    def __init__(self, config: FunnelConfig) -> None:
        super().__init__()
        self.config, self.dropout = config, nn.Dropout(config.dropout)
        self.pooling = PairPooling(config.separate_cls, config.truncate)
        self.tokens = TokenEmbedding(config.vocab_size, config.d_model)
        self.norm = LayerNorm(config.d_model, config.eps)
        self.blocks = nn.ModuleList(
            nn.ModuleList(FunnelBlock(config) for _ in range(size)) for size in config.block_sizes
        )
        self.decoder = nn.ModuleList(
            FunnelBlock(config) for _ in range(config.n_decoder_layers or 0)
        )

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return the hidden states; `mask` bool (B, T), True = real token; `segments` int (B, T),
        2 for [CLS], None = all 0.
        """
        full, first, level = self.encode(tokens, mask, segments)[:3]
        if self.config.n_decoder_layers is None:
            return full
        times = 2 ** (len(self.blocks) - 1)
        x = self.pooling.repeat(full, times, tokens.shape[1]) + first
        for layer in self.decoder:
            assert isinstance(layer, FunnelBlock)
            x = layer.read(x, x, level, level)
        return x

    def encode(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Level, Level]:
        """Return the last and the first block's output, and the levels of tokens and last block."""
        check_tokens(tokens)
        if segments is not None:
            check_segments(segments, tokens, CLS_SEGMENT + 1)
        real = padding(mask, tokens, "mask")
        places = torch.arange(tokens.shape[1], device=tokens.device)
        start = level = Level(places, segments, None if real is None else real.real)
        x = first = self.dropout(self.norm(self.tokens(tokens)))
        for i, block in enumerate(self.blocks):
            content, there = x, level
            if i and self.pooling.pools(x.shape[1]):
                x, level = self.pooled(x, level)
            assert isinstance(block, nn.ModuleList)
            for layer in block:
                assert isinstance(layer, FunnelBlock)
                x = layer.read(x, content, level, there)
                content, there = x, level
            first = x if i == 0 else first
        return x, first, start, level

    def pooled(self, x: Tensor, level: Level) -> tuple[Tensor, Level]:
        """Return the queries of a block's first layer, and their level."""
        x, real = self.pooling.mean(x, level.real)
        places = self.pooling.first(level.positions[None])[0]
        segments = None if level.segments is None else self.pooling.first(level.segments)
        return x, Level(places, segments, real)


@dataclass(frozen=True)
class FunnelConfig(Config):
    """Funnel's config. `block_sizes`: layers of each block; `n_decoder_layers` None: no decoder."""

    MAY_BE_ZERO = ("n_decoder_layers",)
    vocab_size: int = 30_522
    d_model: int = 768
    n_heads: int = 12
    d_head: int = 64
    d_ff: int = 3072
    block_sizes: tuple[int, ...] = (4, 4, 4)
    n_decoder_layers: int | None = 2
    dropout: float = 0.1
    attention_dropout: float = 0.1
    activation_dropout: float = 0.0
    eps: float = 1e-9
    activation: Activation = gelu_tanh
    separate_cls: bool = True
    truncate: bool = True
    family: str = "funnel"


SMALL = FunnelConfig()  # 4-4-4, and 2 decoder layers
TINY = SMALL.but(
    vocab_size=32, d_model=32, n_heads=4, d_head=8, d_ff=64, block_sizes=(1, 2), n_decoder_layers=1,
    dropout=0.0, attention_dropout=0.0,
)  # fmt: skip


def funnel(config: FunnelConfig = SMALL, **changes: Any) -> Funnel:
    """Build a model; defaults are transformers', the released small model.

    Raises ValueError for a block without layers.
    """
    config = FunnelConfig.given(config, changes)
    if not config.block_sizes or min(config.block_sizes) < 1:
        raise ValueError(f"block_sizes={config.block_sizes}: give each block at least one layer")
    model = Funnel(config)
    initialize(model)
    return model
