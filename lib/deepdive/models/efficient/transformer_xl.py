"""Transformer-XL: a language model whose segments attend to the cached hidden states of earlier
segments. Dai et al. 2019, "Transformer-XL: Attentive Language Models beyond a Fixed-Length
Context".

Long because it holds layer and model; `transformer_xl_lm` adds the head. The adaptive softmax and
embeddings of the released models for words aren't built.

System: transformer_xl
Parent: transformer
What differs:
- decoder only; keys and values of a layer are made of its inputs for this segment and of those
  cached from earlier segments (`XLBlock.read`), through which no gradient flows (`Memory`)
- no position embeddings: scores depend on relative positions (`XLPosition`), so that a cached state
  keeps its meaning when its distance changes
- attention has no biases; its two query biases, u and v, are shared by all layers (`share_uv`)
Source: Dai et al. 2019, sections 3.2 and 3.3, and their released code.
Book: 5.1.4.1
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, PostNorm, relu
from deepdive.core.embeddings import TokenEmbedding, check_tokens
from deepdive.core.masks import Causal, Mask, Window, both, padding
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialize
from deepdive.layers.segment_memory import Memory
from deepdive.models.efficient.transformer_xl_config import BASE, TINY, XLConfig
from deepdive.positions import BlockedSinusoidalPosition, XLPosition

__all__ = ["BASE", "TINY", "TransformerXL", "XLBlock", "XLConfig", "transformer_xl"]


class XLBlock(Block):
    """A layer that attends causally, with relative positions, to more states than it updates."""

    attn: MultiHeadAttention

    def __init__(self, config: XLConfig) -> None:
        d_model, n_heads, d_head = config.d_model, config.n_heads, config.d_head
        position = XLPosition(
            d_model, n_heads, d_head, BlockedSinusoidalPosition(d_model), ahead=False,
            longest=config.longest,
        )  # fmt: skip
        attention = MultiHeadAttention(
            d_model, n_heads, d_head=d_head, bias=False, dropout=config.dropout, position=position
        )
        norm = partial(LayerNorm, eps=config.eps)
        super().__init__(
            attention,
            FeedForward(d_model, config.d_ff, relu, config.dropout),
            residual=partial(PostNorm, norm=norm, dropout=config.dropout),
        )

    def read(self, x: Tensor, content: Tensor, mask: Mask | None) -> Tensor:
        """Return (B, T, d_model) for x, the last T states of the keys' `content` (B, S, D)."""
        at = torch.arange(content.shape[1], device=x.device)[-x.shape[1] :]

        def attend(h: Tensor) -> Tensor:
            return self.attn(h, memory=content, memory_mask=mask, positions=at)

        return self.stream(self.ff_residual(self.attn_residual(x, attend), self.ff))


class TransformerXL(nn.Module):
    """Transformer-XL: token ids (B, T) -> hidden states (B, T, d_model)."""

    def __init__(self, config: XLConfig) -> None:
        super().__init__()
        self.config, self.dropout = config, nn.Dropout(config.dropout)
        self.tokens = TokenEmbedding(config.vocab_size, config.d_model, scale=config.d_model**0.5)
        self.stack = Stack(lambda _layer: XLBlock(config), config.n_layers)
        if config.share_uv and config.n_layers:
            first, *others = (block.attn.position for block in self.stack.blocks)  # type: ignore[union-attr]
            for position in others:
                position.u, position.v = first.u, first.v  # type: ignore[union-attr]

    def begin(self) -> Memory:
        """Return an empty memory of the config's length."""
        return Memory(self.config.n_memory)

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, memory: Memory | None = None
    ) -> Tensor:
        """Return the hidden states of `tokens`, which follow those in the memory; update it.

        `mask` bool (B, T), True = real token. Raises ValueError for padding that would be cached.
        """
        check_tokens(tokens)
        if memory is not None and mask is not None and not bool(mask.all()):
            raise ValueError(
                "mask has padding, but memory stores every state: pass segments without padding, "
                "or no memory"
            )
        real, width = padding(mask, tokens, "mask"), self.config.n_memory
        allowed = both(Causal(), None if memory is not None else real)
        if self.config.same_length and width:
            allowed = both(allowed, Window(width - 1))
        x = self.dropout(self.tokens(tokens))
        for i, block in enumerate(self.stack.blocks):
            assert isinstance(block, XLBlock)
            x = block.read(x, self.content(i, x, memory), allowed)
        return self.dropout(x)

    def content(self, layer: int, x: Tensor, memory: Memory | None) -> Tensor:
        """Return what a layer attends to, (B, S, d_model): the memory, then its inputs x."""
        return x if memory is None else memory.before(layer, x)


def transformer_xl(config: XLConfig = BASE, **changes: Any) -> TransformerXL:
    """Build a model; defaults: the authors' `run_enwik8_base.sh`, 41.1 M parameters by count."""
    model = TransformerXL(XLConfig.given(config, changes))
    initialize(model)
    return model
