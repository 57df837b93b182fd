"""Reformer: a Transformer with LSH attention and reversible layers. Kitaev, Kaiser and Levskaya
2020, "Reformer: The Efficient Transformer".

Long because it makes five changes at once, and has its own embeddings and padding to chunks.

System: reformer
Parent: transformer
What differs:
- a query attends to the keys in its hash bucket, sorted and cut into chunks (`LSHAttention`), in
  several rounds (`rounds`)
- queries and keys share one projection (`SharedQKMultiHeadAttention`); a token attends to itself
  only if there is no other
- residual layers are reversible (`ReversibleStack`): activation memory does not grow with depth,
  and the output has width 2 d_model
- the feed-forward layer can process a few tokens at a time (`ff_rows`, `ChunkedFeedForward`)
- published models alternate LSH and local layers (`layers`, `ChunkAttention`), with axial position
  embeddings (`AxialPosition`)
Source: Kitaev et al. 2020, sections 2 and 3, and the released code.
Book: 5.2.2.2
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.attention import ChunkAttention, SharedQKMultiHeadAttention
from deepdive.core import FeedForward, LayerNorm, MultiHeadAttention, Position
from deepdive.core.embeddings import TokenEmbedding, check_tokens
from deepdive.core.masks import Causal, both, padding
from deepdive.layers import ChunkedFeedForward
from deepdive.layers.heads import initialize
from deepdive.layers.reversible import ReversibleBlock, ReversibleStack
from deepdive.models.efficient.reformer_config import ReformerConfig


class ReformerEmbeddings(nn.Module):
    """x = dropout(tokens) + dropout(positions), (B, T, d_model)."""

    def __init__(self, tokens: TokenEmbedding, position: Position, dropout: float = 0.0) -> None:
        super().__init__()
        self.tokens, self.position, self.dropout = tokens, position, nn.Dropout(dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return embeddings (B, T, d_model) for integer tokens (B, T)."""
        x = self.tokens(tokens)
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        embedded = self.position.embed(torch.zeros_like(x[:1]), positions)
        return self.dropout(x) + self.dropout(embedded.expand_as(x))


class Reformer(nn.Module):
    """Tokens (B, T) -> states (B, T, 2 d_model), both reversible streams concatenated.

    A text longer than a chunk is padded to a multiple of `config.whole` tokens, so all chunks are
    full; the padding's states are dropped. With `config.causal` the content of later tokens does
    not reach a state, but they affect which keys it attends to: they take positions in the sorted
    order, and so move the chunk boundaries.
    """

    def __init__(
        self, embeddings: ReformerEmbeddings, stack: ReversibleStack, config: ReformerConfig
    ) -> None:
        super().__init__()
        self.embeddings, self.stack, self.config = embeddings, stack, config
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the states of `tokens`; `mask` bool (B, T), True = real token."""
        check_tokens(tokens)
        T, padded = tokens.shape[1], padding(mask, tokens, "mask")
        if fill := -T % self.config.whole:
            real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
            tokens = F.pad(tokens, (0, fill))
            padded = padding(F.pad(real, (0, fill), value=False), tokens, "mask")
        allowed = both(padded, Causal() if self.config.causal else None)
        return self.dropout(self.stack(self.embeddings(tokens), mask=allowed)[:, :T])


def attention(config: ReformerConfig, layer: int) -> nn.Module:
    """Return one layer's attention, local or LSH."""
    sizes, d_head = (config.d_model, config.n_heads), config.d_head
    if config.layers[layer] == "local":
        around = config.local_chunk, config.local_before, config.local_after
        chunks = ChunkAttention(*around, dropout=config.local_dropout)
        return MultiHeadAttention(*sizes, d_head=d_head, bias=False, mechanism=chunks)
    rounds = config.chunk, config.rounds, config.buckets
    hashed = config.lsh(*rounds, dropout=config.lsh_dropout)
    return SharedQKMultiHeadAttention(*sizes, d_head=d_head, bias=False, mechanism=hashed)


def block(config: ReformerConfig, layer: int) -> ReversibleBlock:
    """Return one reversible layer, whose input can be computed from its output."""
    ff: nn.Module = FeedForward(config.d_model, config.d_ff, config.activation, config.dropout)
    ff = ff if config.ff_rows is None else ChunkedFeedForward(ff, config.ff_rows)
    norm = partial(LayerNorm, eps=config.eps)
    return ReversibleBlock(attention(config, layer), ff, norm=norm, dropout=config.dropout)


BASE = ReformerConfig()
TINY = BASE.but(
    vocab_size=32, d_model=16, n_heads=2, d_head=8, d_ff=32, layers=("local", "lsh"),
    max_length=64, chunk=2, rounds=2, buckets=2, local_chunk=4,
)  # fmt: skip


def reformer(config: ReformerConfig = BASE, **changes: Any) -> Reformer:
    """Build an encoder, or with `causal=True` a language model without its head."""
    config = config.but(**changes)
    norm = LayerNorm(2 * config.d_model, eps=config.eps)
    stack = ReversibleStack(partial(block, config), len(config.layers), norm)
    position = config.position()  # initialized before the token embeddings
    tokens = TokenEmbedding(config.vocab_size, config.d_model)
    model = Reformer(ReformerEmbeddings(tokens, position, config.dropout), stack, config)
    initialize(model)
    return model
