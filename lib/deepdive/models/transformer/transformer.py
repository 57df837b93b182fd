"""Transformer: attention-only encoder-decoder. Vaswani et al. 2017, "Attention Is All You Need".

Long because the parent is recurrent, so the encoder and the decoder are both defined here.

System: transformer
Parent: attention_seq2seq
What differs:
- self-attention (`MultiHeadAttention` in `Block`) replaces recurrence in the encoder and in the
  decoder
- positional encodings (`SinusoidalPosition`) are added to the embeddings
- attention is multi-head; scores are scaled by 1 / sqrt(d_head)
- attention is followed by a position-wise `FeedForward`; each sublayer has a residual connection
  and layer normalization (`PostNorm`)
- all target positions are trained in parallel under a `Causal` mask
Source: Vaswani et al. 2017, section 3.
Book: 2.4
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from deepdive.core import (
    Block,
    DecodingState,
    FeedForward,
    KVCache,
    LayerNorm,
    MultiHeadAttention,
    Position,
    PostNorm,
    relu,
)
from deepdive.core.block import Residual
from deepdive.core.checks import positive
from deepdive.core.context import EMPTY, Context
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.feed_forward import Activation
from deepdive.core.hooks import HookPoint
from deepdive.core.masks import Causal, Mask, Padding, both, padding
from deepdive.core.stack import Stack
from deepdive.models.encoder_decoder import EncoderDecoder
from deepdive.positions import SinusoidalPosition


class EmbeddedStack(nn.Module):
    """Base class of encoder and decoder: token embeddings, plus positions, through the layers.
    Attention is bidirectional, or with `causal` limited to the token itself and those before it.
    """

    causal = False

    def __init__(
        self, embedding: TokenEmbedding, position: Position, stack: Stack, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.embedding, self.position, self.stack = embedding, position, stack
        self.embedded = HookPoint()
        self.dropout = nn.Dropout(dropout)

    def states(
        self, x: Tensor, tokens: Tensor, mask: Tensor | Padding | None = None,
        context: Context = EMPTY,
    ) -> Tensor:  # fmt: skip
        """Return the hidden states of `tokens`, given their embeddings x (B, T, d_model); positions
        continue from the length of the context's cache.
        """
        start = 0 if context.cache is None else context.cache.length
        positions = torch.arange(start, start + tokens.shape[1], device=tokens.device)
        x = self.dropout(self.position.embed(self.embedded(x), positions))
        real = padding(mask, tokens, "tgt_mask" if self.causal else "src_mask")
        return self.stack(x, context, mask=both(Causal(), real) if self.causal else real)


class Encoder(EmbeddedStack):
    """Bidirectional encoder: token ids (B, S) -> hidden states (B, S, d_model)."""

    def forward(self, tokens: Tensor, mask: Tensor | Padding | None = None) -> Tensor:
        """Return the hidden states of `tokens`; `mask` bool (B, T), True = real token."""
        return self.states(self.embedding(tokens), tokens, mask)


class Decoder(EmbeddedStack):
    """Causal decoder: token ids (B, T), encoder memory (B, S, d_model) -> hidden states (B, T,
    d_model). A token attends to itself and those before it.
    """

    causal = True

    def forward(
        self,
        tokens: Tensor,
        memory: Tensor | None = None,
        mask: Tensor | Padding | None = None,
        memory_mask: Mask | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Return the hidden states of `tokens`, which follow those in the `cache`."""
        context = Context(memory=memory, memory_mask=memory_mask, cache=cache)
        return self.states(self.embedding(tokens), tokens, mask, context)


class Transformer(EncoderDecoder):
    """Encoder-decoder whose decoding state is the encoder's output and a key-value cache.

    `transformer(...)` builds one from sizes; `base` and `big` are the published sizes.
    """

    encoder: Encoder
    decoder: Decoder

    def begin(self, src: Tensor, src_mask: Tensor | None = None) -> DecodingState:
        """Encode the source once, and return the decoding state for `step`."""
        real = padding(src_mask, src, "src_mask")
        return DecodingState(KVCache(), self.encoder(src, real), real)

    def decode(
        self,
        tokens: Tensor,
        state: DecodingState,
        mask: Tensor | Padding | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Return hidden states (B, T, d_model) of the target tokens that follow the `cache`."""
        return self.decoder(tokens, state.memory, mask, state.memory_mask, cache)

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        """Return logits (B, t, V) for the next target tokens (B, t); updates the state in place."""
        return self.head(self.decode(tokens, state, cache=state.cache))


def transformer(
    src_vocab: int,
    tgt_vocab: int | None = None,
    *,
    d_model: int = 512,
    n_heads: int = 8,
    n_layers: int = 6,
    d_ff: int = 2048,
    dropout: float = 0.1,
    attention_dropout: float = 0.0,
    residual: Callable[..., nn.Module] = PostNorm,
    activation: Activation = relu,
    position: Callable[[int], Position] = SinusoidalPosition,
) -> Transformer:
    """Build an encoder-decoder with `n_layers` layers each; defaults are the paper's base model.

    `dropout` acts on embeddings, on each sublayer's output and inside the feed-forward layer,
    `attention_dropout` on the attention weights. The output layer is tied to the target embedding;
    without `tgt_vocab` source and target share one vocabulary and all three matrices are tied. A
    residual scheme that leaves the residual stream unnormalized (`final_norm`) gets a final norm
    after each stack.
    """
    positive(src_vocab=src_vocab, tgt_vocab=tgt_vocab)
    joint: Residual = partial(residual, dropout=dropout)

    def attention() -> MultiHeadAttention:
        return MultiHeadAttention(d_model, n_heads, dropout=attention_dropout)

    def block(cross: bool) -> Block:
        self_attention, ff = attention(), FeedForward(d_model, d_ff, activation, dropout)
        return Block(self_attention, ff, attention() if cross else None, joint)

    def stack(cross: bool) -> Stack:
        norm = LayerNorm(d_model) if getattr(residual, "final_norm", False) else None
        return Stack(lambda _layer: block(cross), n_layers, norm)

    source = TokenEmbedding(src_vocab, d_model, scale=d_model**0.5)
    target = source if tgt_vocab is None else TokenEmbedding(tgt_vocab, d_model, scale=d_model**0.5)
    place = position(d_model)
    return Transformer(
        Encoder(source, place, stack(cross=False), dropout),
        Decoder(target, place, stack(cross=True), dropout),
        TiedHead(target),
    )


def base(vocab_size: int = 37_000) -> Transformer:
    """Return the paper's base model: 63.1 M parameters by count, with its shared vocabulary of
    37,000 (the paper reports 65).
    """
    return transformer(vocab_size)


def big(vocab_size: int = 37_000) -> Transformer:
    """Return the paper's big model: 214.2 M parameters by count (the paper reports 213); dropout
    0.3 is for English-German.
    """
    return transformer(vocab_size, d_model=1024, n_heads=16, d_ff=4096, dropout=0.3)


def tiny(vocab_size: int = 32) -> Transformer:
    """Return a model for tests and toys: 2 + 2 layers, d_model 32, 4 heads."""
    return transformer(vocab_size, d_model=32, n_heads=4, n_layers=2, d_ff=64, dropout=0.0)
