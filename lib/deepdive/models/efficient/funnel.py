"""Funnel-Transformer: an encoder that halves the sequence between blocks. Dai et al. 2020,
"Funnel-Transformer: Filtering out Sequential Redundancy for Efficient Language Processing".

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

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import LayerNorm
from deepdive.core.embeddings import TokenEmbedding, check_segments, check_tokens
from deepdive.core.masks import padding
from deepdive.layers.funnel_attention import CLS_SEGMENT, Level, pooled, run
from deepdive.layers.heads import initialize
from deepdive.layers.pair_pooling import PairPooling
from deepdive.models.efficient.funnel_config import SMALL, TINY, FunnelConfig, layer

__all__ = ["SMALL", "TINY", "Funnel", "FunnelConfig", "funnel", "layer"]


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
            nn.ModuleList(layer(config) for _ in range(size)) for size in config.block_sizes
        )
        self.decoder = nn.ModuleList(layer(config) for _ in range(config.n_decoder_layers or 0))

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
        return run(self.decoder, x, x, level, level)

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
            assert isinstance(block, nn.ModuleList)
            content, there = x, level
            if i and self.pooling.pools(x.shape[1]):
                x, level = pooled(x, level, self.pooling)
            x = run(block, x, content, level, there)
            first = x if i == 0 else first
        return x, first, start, level


def funnel(config: FunnelConfig = SMALL, **changes: Any) -> Funnel:
    """Build a model; defaults are transformers', the released small model."""
    model = Funnel(FunnelConfig.given(config, changes))
    initialize(model)
    return model
