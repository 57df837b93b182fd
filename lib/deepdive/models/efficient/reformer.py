"""Reformer, an encoder or language model for long texts. Kitaev, Kaiser and Levskaya 2020,
"Reformer: The Efficient Transformer".

Long because five changes come at once, and embeddings and padding to chunks are not the parent's.

System: reformer
Parent: transformer
What differs:
- a query meets the keys that a hash put into its bucket, sorted and cut into chunks
  (`LSHAttention`), in several rounds (`rounds`)
- one projection serves queries and keys (`SharedQKMultiHeadAttention`); a row meets itself only if
  there is no other
- residual layers are reversible (`ReversibleStack`): memory does not grow with depth, and what
  comes out is 2 d_model wide
- the feed-forward layer can work on a few rows at a time (`ff_rows`, `ChunkedFeedForward`)
- published models alternate hashed with local layers (`layers`, `ChunkAttention`) and fold their
  table of positions (`AxialPosition`)
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
from deepdive.layers.heads import initialise
from deepdive.layers.reversible import ReversibleBlock, ReversibleStack
from deepdive.models.efficient.reformer_config import ReformerConfig


class ReformerEmbeddings(nn.Module):
    """rows = dropout(tokens) + dropout(positions), (B, T, d_model)."""

    def __init__(self, tokens: TokenEmbedding, position: Position, dropout: float = 0.0) -> None:
        super().__init__()
        self.tokens, self.position, self.dropout = tokens, position, nn.Dropout(dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return rows (B, T, d_model) for integer tokens (B, T)."""
        x = self.tokens(tokens)
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        embedded = self.position.embed(torch.zeros_like(x[:1]), positions)
        return self.dropout(x) + self.dropout(embedded.expand_as(x))


class Reformer(nn.Module):
    """Tokens (B, T) -> states (B, T, 2 d_model), both streams side by side.

    A text longer than a chunk is filled up with padding to a multiple of `config.whole` tokens, so
    that all chunks are whole; its states are left out. With `config.causal` what later tokens say
    does not reach a state, but which keys it meets depends on them: they take places in the sorted
    order, and so move the ends of the chunks.
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
    """Return the attention of a layer, local or hashed."""
    sizes, d_head = (config.d_model, config.n_heads), config.d_head
    if config.layers[layer] == "local":
        around = config.local_chunk, config.local_before, config.local_after
        chunks = ChunkAttention(*around, dropout=config.local_dropout)
        return MultiHeadAttention(*sizes, d_head=d_head, bias=False, mechanism=chunks)
    rounds = config.chunk, config.rounds, config.buckets
    hashed = config.lsh(*rounds, dropout=config.lsh_dropout)
    return SharedQKMultiHeadAttention(*sizes, d_head=d_head, bias=False, mechanism=hashed)


def block(config: ReformerConfig, layer: int) -> ReversibleBlock:
    """Return one layer, whose input can be computed from its output."""
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
    position = config.position()  # drawn before the tokens' table
    tokens = TokenEmbedding(config.vocab_size, config.d_model)
    model = Reformer(ReformerEmbeddings(tokens, position, config.dropout), stack, config)
    initialise(model)
    return model
