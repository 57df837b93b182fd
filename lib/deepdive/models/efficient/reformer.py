"""Reformer, an encoder or language model for long texts. Kitaev, Kaiser and Levskaya 2020,
"Reformer: The Efficient Transformer".

Long because five changes come at once: two kinds of attention alternate, each with numbers of its
own, and embeddings, layers and padding to whole chunks are not the parent's either.

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

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import lcm
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.attention import ChunkAttention, LSHAttention, SharedQKMultiHeadAttention
from deepdive.core import FeedForward, LayerNorm, MultiHeadAttention, Position, relu
from deepdive.core.embeddings import TokenEmbedding, check_tokens
from deepdive.core.feed_forward import Activation
from deepdive.core.masks import Causal, Mask, both, padding
from deepdive.layers import ChunkedFeedForward
from deepdive.layers.heads import initialise
from deepdive.layers.reversible import ReversibleBlock, ReversibleStack
from deepdive.models.config import Config
from deepdive.positions import AxialPosition, LearnedPosition


class ReformerEmbeddings(nn.Module):
    """rows = dropout(tokens) + dropout(positions), (B, T, d_model)."""

    def __init__(self, tokens: TokenEmbedding, position: Position, dropout: float = 0.0) -> None:
        super().__init__()
        self.tokens, self.position, self.dropout = tokens, position, nn.Dropout(dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return rows (B, T, d_model) for integer tokens (B, T)."""
        rows = self.tokens(tokens)
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        places = self.position.embed(torch.zeros_like(rows[:1]), positions)
        return self.dropout(rows) + self.dropout(places.expand_as(rows))


class Reformer(nn.Module):
    """Tokens (B, T) -> states (B, T, 2 d_model), both streams side by side.

    A text longer than a chunk is filled up with padding to a multiple of `config.whole` tokens, so
    that all chunks are whole; its states are left out.
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
        allowed, T = padding(mask, tokens, "mask"), tokens.shape[1]
        fill = -T % self.config.whole
        if fill:
            real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
            tokens = F.pad(tokens, (0, fill))
            allowed = padding(F.pad(real, (0, fill), value=False), tokens, "mask")
        states = self.stack(self.embeddings(tokens), mask=self._mask(allowed))
        return self.dropout(states[:, :T])

    def _mask(self, padding: Mask | None) -> Mask | None:
        return padding


class CausalReformer(Reformer):
    """Reformer in which a token meets none that comes after it: a language model without its head.

    What later tokens say does not reach a state. Which keys it meets depends on them: they take
    places in the sorted order, and so move the ends of the chunks.
    """

    def _mask(self, padding: Mask | None) -> Mask | None:
        return both(padding, Causal())


@dataclass(frozen=True)
class ReformerConfig(Config):
    """The numbers of a Reformer, and the parts that are exchanged.

    layers   each layer's attention: "lsh", by hashing, or "local", in neighbouring chunks
    axial    shape and widths of the folded table of positions; None: a plain one
    ff_rows  how many rows the feed-forward layer works on at a time; None: all
    lsh      the class of the mechanism of hashed layers
    model    `Reformer` or `CausalReformer`
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = ("local_before", "local_after")
    vocab_size: int = 320
    d_model: int = 256
    n_heads: int = 4
    d_head: int = 64
    d_ff: int = 512
    layers: tuple[str, ...] = ("lsh", "lsh")
    max_length: int = 4096
    axial: tuple[tuple[int, int], tuple[int, int]] | None = None
    chunk: int = 64
    rounds: int = 4
    buckets: int | tuple[int, ...] | None = None
    local_chunk: int = 64
    local_before: int = 1
    local_after: int = 0
    ff_rows: int | None = None
    dropout: float = 0.0
    lsh_dropout: float = 0.0
    local_dropout: float = 0.0
    eps: float = 1e-12
    activation: Activation = relu
    lsh: type[LSHAttention] = LSHAttention
    model: type[Reformer] = Reformer
    family: str = "reformer"

    def __post_init__(self) -> None:
        super().__post_init__()
        if unknown := sorted(set(self.layers) - {"lsh", "local"}):
            raise ValueError(f"layers holds {unknown}: a layer is 'lsh' or 'local'")

    @property
    def whole(self) -> int:
        """How many tokens are a whole number of chunks in every layer."""
        lengths = {"lsh": self.chunk, "local": self.local_chunk}
        return lcm(*(lengths[layer] for layer in self.layers))


def attention(config: ReformerConfig, layer: int) -> nn.Module:
    """Return the attention of a layer, local or hashed."""
    kind: Callable[..., nn.Module] = SharedQKMultiHeadAttention
    mechanism: nn.Module
    if config.layers[layer] == "local":
        kind, around = MultiHeadAttention, (config.local_before, config.local_after)
        mechanism = ChunkAttention(config.local_chunk, *around, dropout=config.local_dropout)
    else:
        lsh = config.chunk, config.rounds, config.buckets
        mechanism = config.lsh(*lsh, dropout=config.lsh_dropout)
    sizes = config.d_model, config.n_heads
    return kind(*sizes, d_head=config.d_head, bias=False, mechanism=mechanism)


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
    """Build an encoder, or with `model=CausalReformer` a language model without its head."""
    config = config.but(**changes)
    norm = LayerNorm(2 * config.d_model, eps=config.eps)
    stack = ReversibleStack(partial(block, config), len(config.layers), norm)
    position = (
        AxialPosition(*config.axial)
        if config.axial
        else LearnedPosition(config.max_length, config.d_model)
    )
    tokens = TokenEmbedding(config.vocab_size, config.d_model)
    model = config.model(ReformerEmbeddings(tokens, position, config.dropout), stack, config)
    initialise(model)
    return model
