"""XLNet: a language model whose words come in any order. Yang et al. 2019, "XLNet: Generalized
Autoregressive Pretraining for Language Understanding".

A place that is asked for must not see its own token, and the places asked after it must: two rows
stand there. A row of the content stream has read its token, a row of the query stream has not; both
go through the same weights and read the content stream alone.

Long because it holds both streams, what a segment remembers, and the head that scores places.

System: xlnet
Parent: transformer_xl
What differs:
- a token is predicted from those before it in a drawn order
  (`deepdive.training.objectives.permutation_lm`)
- one row more for each place that is asked for (`XLNet.predict`); it begins as one learned row, and
  only its position says which place it is
- the score has a fourth query, for whether two tokens are of one text (`RelativeSegments`)
- every token sees every token once it is trained (`XLNet.forward`), so offsets have both signs
- waves in two blocks (`BlockedSinusoidalPosition`); u, v and w are each layer's own
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
from deepdive.layers.heads import initialise
from deepdive.models.config import Config
from deepdive.positions import BlockedSinusoidalPosition, XLPosition
from deepdive.positions.xl import RelativeSegments


class XLNetBlock(Block):
    """Transformer-XL's layer; `read` is it for rows that read others, and know their texts."""

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
        """Return rows (B, T, d_model), at places (T,) or (B, T), once they have read content (B, S,
        d_model), which stands at 0 .. S - 1.
        """

        def attend(x: Tensor) -> Tensor:
            # Only texts of several segments pay for this second projection of the queries.
            bias = None if apart is None else self.segments(self.attn.queries(x), apart)
            return self.attn(x, memory=content, memory_mask=mask, bias=bias, positions=places)

        return self.stream(self.ff_residual(self.attn_residual(rows, attend), self.ff))


class Memory:
    """The rows that entered each layer in earlier segments, without their gradients.

    `length`: how many of the last ones are kept; None: all. A pass reads it, and renews it.
    """

    def __init__(self, length: int | None = None) -> None:
        self.length, self.rows = length, list[Tensor]()

    def __len__(self) -> int:
        return self.rows[0].shape[1] if self.rows else 0

    def before(self, layer: int, x: Tensor) -> Tensor:
        """Return what was kept for this layer, then `rows`: (B, S, d_model)."""
        x = torch.cat((*self.rows[layer : layer + 1], x), 1)
        memory = x if self.length is None else x[:, -self.length :]
        self.rows[layer : layer + 1] = [memory.detach()]
        return x


class XLNet(nn.Module):
    """Tokens (B, T) -> states (B, T, d_model); `predict` gives those of places not yet read."""

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
        """Return the states of `tokens`, each of which has seen every token and the memory.

        `mask` bool (B, T), True = real token; `segments` int (B, T), whose memory counts as 0.
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
        """Return the states (B, M, d_model) of places (B, M), from which their tokens are told.

        `sees` bool (B, T, T): may place t read token s? `deepdive.training.objectives.order_tokens`
        draws both. Raises ValueError where a place would read its own token.
        """
        check_tokens(tokens)
        T = tokens.shape[-1]
        if sees.shape[-2:] != (T, T) or bool(sees.diagonal(dim1=-2, dim2=-1).any()):
            raise ValueError(
                f"sees: bool (B, T, T) for T={T} tokens, False on the diagonal, since no place may "
                f"read its own token; got shape {tuple(sees.shape)}. order_tokens draws it"
            )
        return self._streams(tokens, mask, segments, memory, sees, places)[:, T:]

    def _streams(
        self, tokens: Tensor, mask: Tensor | None, segments: Tensor | None, memory: Memory | None,
        sees: Tensor | None = None, places: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """Return the content stream (B, T, d_model), and below it that of the places."""
        check_tokens(tokens)
        if memory is not None and mask is not None and not bool(mask.all()):
            raise ValueError(
                f"mask has {int((~mask).sum())} places of padding, and memory keeps every row: "
                "give segments of real tokens alone, or no memory"
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
    """Return rows (B, T, n) at places (B, M): (B, M, n)."""
    return visible.gather(1, positions[..., None].expand(-1, -1, visible.shape[-1]))


@dataclass(frozen=True)
class XLNetConfig(Config):
    """`n_memory`: how many rows `memory` keeps; None: all. `family`: how it is published."""

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
    initialise(model)
    return model


class XLNetLM(nn.Module):
    """`XLNet.predict`, then scores of the vocabulary: tokens, sees, places -> (B, M, V)."""

    def __init__(self, bert: XLNet, head: TiedHead) -> None:
        super().__init__()
        self.bert, self.head = bert, head

    def forward(
        self, tokens: Tensor, sees: Tensor, places: Tensor, *given: Any, **named: Any
    ) -> Tensor:
        """Return the logits of each place; the arguments are those of `XLNet.predict`."""
        return self.head(self.bert.predict(tokens, sees, places, *given, **named))


def for_lm(model: XLNet) -> XLNetLM:
    """Put the head of the objective on a model; its own embedding scores the tokens."""
    return XLNetLM(model, TiedHead(model.tokens, bias=True))
