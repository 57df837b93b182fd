"""Reformer, an encoder or language model for long texts. Kitaev, Kaiser and Levskaya 2020,
"Reformer: The Efficient Transformer".

What it reads and its published names are in `deepdive.models.efficient.reformer_parts`.

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

from collections.abc import Mapping
from functools import partial
from math import lcm
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.attention import MultiHeadAttention
from deepdive.attention.by_content.lsh import LSHAttention, ReleasedLSHAttention
from deepdive.attention.by_content.shared_qk import SharedQKMultiHeadAttention
from deepdive.attention.by_position.chunk import ChunkAttention
from deepdive.checks import not_negative, positive
from deepdive.fast.dropout import Dropout
from deepdive.layers import FeedForward, LayerNorm, relu
from deepdive.layers.chunked import ChunkedFeedForward
from deepdive.layers.embeddings import TokenEmbedding, check_tokens
from deepdive.layers.feed_forward import Activation
from deepdive.layers.heads import initialise
from deepdive.layers.reversible import ReversibleBlock, ReversibleStack
from deepdive.masks import Causal, Mask, both, padding
from deepdive.models.efficient.reformer_parts import (
    AxialPosition,
    ReformerEmbeddings,
    left_out,
    names,
    numbers,
)
from deepdive.positions import LearnedPosition
from deepdive.published.weights import adopt, read, read_config


class Reformer(nn.Module):
    """Tokens (B, T) -> states (B, T, 2 d_model), both streams side by side.

    A text longer than a chunk is filled up with padding to a multiple of `whole` tokens, so that
    all chunks are whole; its states are left out.
    """

    def __init__(
        self,
        embeddings: ReformerEmbeddings,
        stack: ReversibleStack,
        whole: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        positive(whole=whole)
        self.embeddings, self.stack, self.whole = embeddings, stack, whole
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the states of `tokens`; `mask` bool (B, T), True = real token."""
        check_tokens(tokens)
        allowed, T = padding(mask, tokens, "mask"), tokens.shape[1]
        fill = -T % self.whole
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


def reformer(
    vocab_size: int = 320,
    *,
    d_model: int = 256,
    n_heads: int = 4,
    d_head: int = 64,
    d_ff: int = 512,
    layers: tuple[str, ...] = ("lsh", "lsh"),
    max_length: int = 4096,
    axial: tuple[tuple[int, int], tuple[int, int]] | None = None,
    chunk: int = 64,
    rounds: int = 4,
    buckets: int | tuple[int, ...] | None = None,
    local_chunk: int = 64,
    local_around: tuple[int, int] = (1, 0),
    ff_rows: int | None = None,
    dropout: float = 0.0,
    lsh_dropout: float = 0.0,
    local_dropout: float = 0.0,
    eps: float = 1e-12,
    activation: Activation = relu,
    kind: type[Reformer] = Reformer,
    lsh: type[LSHAttention] = LSHAttention,
) -> Reformer:
    """Build an encoder (`kind`: or a `CausalReformer`) whose `layers` are "lsh" or "local".

    `axial` folds the table of positions: its shape, and the widths of its two parts. Raises
    ValueError for a layer of another kind.
    """
    unknown = sorted(set(layers) - {"lsh", "local"})
    if unknown:
        raise ValueError(f"layers holds {unknown}: a layer is 'lsh' or 'local'")

    positive(
        d_model=d_model, n_heads=n_heads, d_head=d_head, chunk=chunk, rounds=rounds,
        local_chunk=local_chunk, ff_rows=ff_rows,
    )  # fmt: skip
    not_negative(local_around=min(local_around))

    def attention(layer: str) -> nn.Module:
        if layer == "local":
            local = ChunkAttention(local_chunk, *local_around, dropout=local_dropout)
            return MultiHeadAttention(d_model, n_heads, d_head=d_head, bias=False, mechanism=local)
        hashed = lsh(chunk, rounds, buckets, dropout=lsh_dropout)
        return SharedQKMultiHeadAttention(
            d_model, n_heads, d_head=d_head, bias=False, mechanism=hashed
        )

    def block(i: int) -> ReversibleBlock:
        ff: nn.Module = FeedForward(d_model, d_ff, activation, dropout)
        ff = ff if ff_rows is None else ChunkedFeedForward(ff, ff_rows)
        norm = partial(LayerNorm, eps=eps)
        return ReversibleBlock(attention(layers[i]), ff, norm=norm, dropout=dropout)

    used = {"lsh": chunk, "local": local_chunk}
    whole = lcm(*(used[layer] for layer in layers))
    stack = ReversibleStack(block, len(layers), LayerNorm(2 * d_model, eps=eps))
    position = AxialPosition(*axial) if axial else LearnedPosition(max_length, d_model)
    tokens = TokenEmbedding(vocab_size, d_model)
    model = kind(ReformerEmbeddings(tokens, position, dropout), stack, whole, dropout)
    initialise(model)
    return model


def from_config(config: Mapping[str, Any]) -> Reformer:
    """Build the model of a config.json, whose weights were trained with `ReleasedLSHAttention`.
    Raises ValueError for a setting not built here.
    """
    kind = CausalReformer if config.get("is_decoder") else Reformer
    return reformer(**numbers(config), kind=kind, lsh=ReleasedLSHAttention)


def load(folder: str | Path) -> Reformer:
    """Return the model of a folder that holds config.json and safetensors, in evaluation mode;
    the head stays in the file. Raises ValueError for tensors that are unknown or missing, by name.
    """
    config = read_config(folder)
    model, layers = from_config(config), config["attn_layers"]
    adopt(model, read(folder), names(layers), leave_out=left_out(layers))
    return model.eval()


def tiny(vocab_size: int = 32, kind: type[Reformer] = Reformer) -> Reformer:
    """Return a model for tests and toys: a local and a hashed layer, 16 wide, 2 heads, chunks of
    4 and of 2 tokens, 2 rounds.
    """
    return reformer(
        vocab_size,
        d_model=16,
        n_heads=2,
        d_head=8,
        d_ff=32,
        layers=("local", "lsh"),
        max_length=64,
        chunk=2,
        rounds=2,
        buckets=2,
        local_chunk=4,
        kind=kind,
    )
