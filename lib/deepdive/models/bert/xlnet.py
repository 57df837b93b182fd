"""XLNet: Transformer-XL pretrained with permutation language modeling. Yang et al. 2019, "XLNet:
Generalized Autoregressive Pretraining for Language Understanding".

A predicted position must not see its own token, but positions predicted after it must, so it has
two hidden states: that of the content stream includes the token, that of the query stream does not.
Both streams share their weights and attend only to the content stream.

Long because it holds both streams, the segment memory, and the language modeling head.

System: xlnet
Parent: transformer_xl
What differs:
- a token is predicted from those before it in a random permutation
  (`deepdive.training.objectives.permutation_lm`)
- a query stream for the predicted positions (`XLNet.predict`); it starts from one learned vector,
  and differs only in its position
- a fourth term in the scores, for whether two tokens share a segment (`RelativeSegments`)
- after pretraining attention is bidirectional (`XLNet.forward`), so offsets have both signs
- sines and cosines in two blocks (`BlockedSinusoidalPosition`); each layer has its own u, v and w
Source: Yang et al. 2019, sections 2.2 to 2.6, and their released code.
Book: 3.2
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, PostNorm, gelu
from deepdive.core.embeddings import TiedHead, TokenEmbedding, check_segments, check_tokens
from deepdive.core.feed_forward import Activation
from deepdive.core.masks import Dense, Mask, padding
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialize
from deepdive.layers.segment_memory import Memory
from deepdive.models.config import Config
from deepdive.positions import BlockedSinusoidalPosition, XLPosition
from deepdive.positions.xl import RelativeSegments


class XLNetBlock(Block):
    """Transformer-XL's layer with relative segments; `read` runs it on given queries and keys."""

    attn: MultiHeadAttention

    def __init__(self, config: XLNetConfig) -> None:
        d_model, n_heads = config.d_model, config.n_heads
        place = XLPosition(d_model, n_heads, waves=BlockedSinusoidalPosition(d_model))
        super().__init__(
            MultiHeadAttention(
                d_model, n_heads, bias=False, dropout=config.dropout, position=place
            ),
            FeedForward(d_model, config.d_ff, config.activation, config.dropout),
            residual=partial(
                PostNorm, norm=partial(LayerNorm, eps=config.eps), dropout=config.dropout
            ),
        )
        self.segments = RelativeSegments(n_heads, d_model // n_heads)

    def read(
        self, rows: Tensor, content: Tensor, mask: Mask | None, places: Tensor, apart: Tensor | None
    ) -> Tensor:
        """Return the layer's output (B, T, d_model) for queries from `rows`, at positions `places`
        (T,) or (B, T); keys and values: content (B, S, d_model), at positions 0 .. S - 1.
        """

        def attend(x: Tensor) -> Tensor:
            # Only inputs with segments need this second projection of the queries.
            bias = None if apart is None else self.segments(self.attn.queries(x), apart)
            return self.attn(x, memory=content, memory_mask=mask, bias=bias, positions=places)

        return self.stream(self.ff_residual(self.attn_residual(rows, attend), self.ff))


class XLNet(nn.Module):
    """XLNet: token ids (B, T) -> hidden states (B, T, d_model); `predict` runs the query stream."""

    def __init__(self, config: XLNetConfig) -> None:
        super().__init__()
        self.config, self.dropout = config, nn.Dropout(config.dropout)
        self.tokens = TokenEmbedding(config.vocab_size, config.d_model)
        self.unread = nn.Parameter(0.02 * torch.randn(config.d_model))
        self.stack = Stack(lambda _layer: XLNetBlock(config), config.n_layers)

    def forward(
        self,
        tokens: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        memory: Memory | None = None,
    ) -> Tensor:
        """Return the hidden states of `tokens`, which attend to every token and to the memory.

        `mask` bool (B, T), True = real token; `segments` int (B, T), 0 for the memory.
        """
        return self._streams(tokens, mask, segments, memory)

    def predict(
        self,
        tokens: Tensor,
        sees: Tensor,
        places: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        memory: Memory | None = None,
    ) -> Tensor:
        """Return the query stream's states (B, M, d_model) at positions `places` (B, M).

        `sees` bool (B, T, T): True where position t may attend to token s; both are sampled by
        `deepdive.training.objectives.order_tokens`. Raises ValueError for a True on its diagonal.
        """
        check_tokens(tokens)
        T = tokens.shape[-1]
        if sees.shape[-2:] != (T, T) or bool(sees.diagonal(dim1=-2, dim2=-1).any()):
            raise ValueError(
                f"sees: expected bool (B, T, T) for T={T} tokens, False on the diagonal, since no "
                f"position may see its own token; got {tuple(sees.shape)}. Use order_tokens"
            )
        return self._streams(tokens, mask, segments, memory, sees, places)[:, T:]

    def _streams(
        self, tokens: Tensor, mask: Tensor | None, segments: Tensor | None, memory: Memory | None,
        sees: Tensor | None = None, places: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """Return content stream (B, T, d_model) and query stream, concatenated on axis 1."""
        check_tokens(tokens)
        if memory is not None and mask is not None and not bool(mask.all()):
            raise ValueError(
                f"mask has {int((~mask).sum())} padding positions, but memory stores every state: "
                "pass segments without padding, or no memory"
            )
        (B, T), kept = tokens.shape, 0 if memory is None else len(memory)
        allowed: Mask | None = padding(mask, tokens, "mask")
        apart, x, at = None, self.tokens(tokens), torch.arange(T, device=tokens.device)
        if sees is not None and places is not None:
            diagonal = torch.eye(T, dtype=torch.bool, device=tokens.device)
            seen = (sees if mask is None else sees & mask[:, None]).expand(B, T, T)
            rows = torch.cat((seen | diagonal, _at(seen, places)), 1)  # (B, T + M, T)
            allowed = Dense(F.pad(rows, (kept, 0), value=True)[:, None])
            x = torch.cat((x, self.unread.expand(*places.shape, -1)), 1)
            at = torch.cat((at.expand(B, T), places), 1)
        if segments is not None:
            check_segments(segments, tokens, int(segments.max()) + 1)
            asking = segments.gather(1, at.expand(B, -1))
            apart = asking[:, :, None] != F.pad(segments, (kept, 0))[:, None]
        x = self.dropout(x)
        for i, block in enumerate(self.stack.blocks):
            content = x[:, :T] if memory is None else memory.before(i, x[:, :T])
            assert isinstance(block, XLNetBlock)
            x = block.read(x, content, allowed, at + kept, apart)
        return self.dropout(x)


def _at(visible: Tensor, positions: Tensor) -> Tensor:
    """Return `visible` (B, T, n) at positions (B, M): (B, M, n)."""
    return visible.gather(1, positions[..., None].expand(-1, -1, visible.shape[-1]))


@dataclass(frozen=True)
class XLNetConfig(Config):
    """XLNet's config. `n_memory`: cached positions; None: all. `family`: checkpoint format."""

    vocab_size: int = 32_000
    d_model: int = 768
    n_heads: int = 12
    n_layers: int = 12
    d_ff: int = 3072
    dropout: float = 0.1
    eps: float = 1e-12
    activation: Activation = gelu
    n_memory: int | None = None
    family: str = "xlnet"


BASE = XLNetConfig()
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
TINY = BASE.but(vocab_size=32, d_model=32, n_heads=4, n_layers=2, d_ff=64, dropout=0.0)


def xlnet(config: XLNetConfig = BASE, **changes: Any) -> XLNet:
    """Build a model; defaults are the released base model, which is BERT's size."""
    model = XLNet(XLNetConfig.given(config, changes))
    initialize(model)
    return model


class XLNetLM(nn.Module):
    """XLNet with a language modeling head: tokens, sees, places -> logits (B, M, V)."""

    def __init__(self, bert: XLNet, head: TiedHead) -> None:
        super().__init__()
        self.bert, self.head = bert, head

    def forward(
        self, tokens: Tensor, sees: Tensor, places: Tensor, mask: Tensor | None = None,
        segments: Tensor | None = None, memory: Memory | None = None,
    ) -> Tensor:  # fmt: skip
        """Return the logits at each position; the arguments are those of `XLNet.predict`."""
        return self.head(self.bert.predict(tokens, sees, places, mask, segments, memory))


def for_lm(model: XLNet) -> XLNetLM:
    """Add a language modeling head, tied to the model's token embedding."""
    return XLNetLM(model, TiedHead(model.tokens, bias=True))
