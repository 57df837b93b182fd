"""The Transformer. Vaswani et al. 2017, "Attention Is All You Need".

Long because encoder and decoder are two classes, and the parent, which is recurrent, has neither.

System: transformer
Parent: attention_seq2seq
What differs:
- self-attention (`MultiHeadAttention` in `Block`) takes the place of recurrence, in the encoder
  and in the decoder
- order enters through `SinusoidalPosition`, added to the embeddings
- every attention has several heads; scores are scaled by 1 / sqrt(d_head)
- each sublayer has a residual connection and a norm (`PostNorm`), and is followed by a
  position-wise `FeedForward`
- all target positions are trained at once, under a `Causal` mask
Source: Vaswani et al. 2017, section 3.
Book: 2.4
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from deepdive.attention import DecodingState, KVCache, MultiHeadAttention
from deepdive.checks import positive
from deepdive.inspect import HookPoint
from deepdive.layers import Block, Dropout, FeedForward, LayerNorm, PostNorm, relu
from deepdive.layers.block import Residual
from deepdive.layers.embeddings import TiedHead, TokenEmbedding
from deepdive.layers.feed_forward import Activation
from deepdive.layers.stacks import Stack
from deepdive.masks import Causal, Mask, Padding, both, padding
from deepdive.models.encoder_decoder import EncoderDecoder
from deepdive.positions import Position, SinusoidalPosition


class Encoder(nn.Module):
    """Tokens (B, S) -> states (B, S, d_model): embed, add position, run the stack. Every token
    sees every token.
    """

    def __init__(
        self, embedding: TokenEmbedding, position: Position, stack: Stack, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.embedding, self.position, self.stack = embedding, position, stack
        self.embedded = HookPoint()
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the states of `tokens`; `mask` bool (B, S), True = real token."""
        return self.states(self.embedding(tokens), tokens, mask)

    def states(self, rows: Tensor, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the states of `tokens`, whose embeddings are `rows` (B, S, d_model)."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        rows = self.dropout(self.position.embed(self.embedded(rows), places))
        return self.stack(rows, mask=padding(mask, tokens, "src_mask"))


class Decoder(nn.Module):
    """Tokens (B, T) and a memory (B, S, d_model) -> states (B, T, d_model). A token sees itself
    and those before it.
    """

    def __init__(
        self, embedding: TokenEmbedding, position: Position, stack: Stack, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.embedding, self.position, self.stack = embedding, position, stack
        self.embedded = HookPoint()
        self.dropout = Dropout(dropout)

    def forward(
        self,
        tokens: Tensor,
        memory: Tensor | None = None,
        mask: Tensor | None = None,
        memory_mask: Mask | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Return the states of `tokens`, which continue what the `cache` holds."""
        return self.states(self.embedding(tokens), tokens, memory, mask, memory_mask, cache)

    def states(
        self,
        rows: Tensor,
        tokens: Tensor,
        memory: Tensor | None = None,
        mask: Tensor | None = None,
        memory_mask: Mask | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Return the states of `tokens`, whose embeddings are `rows` (B, T, d_model)."""
        start = 0 if cache is None else cache.length
        positions = torch.arange(start, start + tokens.shape[1], device=tokens.device)
        rows = self.dropout(self.position.embed(self.embedded(rows), positions))
        allowed = both(Causal(), padding(mask, tokens, "tgt_mask"))
        return self.stack(rows, memory, allowed, memory_mask, cache=cache)


class Transformer(EncoderDecoder):
    """An encoder-decoder whose state is the encoder's rows and, step by step, a cache of keys.

    `transformer(...)` builds one from numbers; `base` and `big` are the published sizes.
    """

    encoder: Encoder
    decoder: Decoder

    def begin(self, src: Tensor, src_mask: Tensor | None = None) -> DecodingState:
        """Encode the source once, and return the state that `step` continues."""
        return DecodingState(KVCache(), self.encoder(src, src_mask), src_mask)

    def decode(
        self,
        tokens: Tensor,
        state: DecodingState,
        mask: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Return the states (B, T, d_model) of all target tokens, or of those after the `cache`."""
        real = None if state.memory_mask is None else Padding(state.memory_mask)
        return self.decoder(tokens, state.memory, mask, real, cache)

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        """Return logits (B, t, V) after the next target tokens (B, t); the state moves on."""
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
    """Build an encoder-decoder of `n_layers` + `n_layers`; defaults are the paper's base model.

    `dropout` acts on embeddings, on each sublayer's output and inside the feed-forward layer,
    `attention_dropout` on the weights. The output layer shares the target embedding's matrix;
    without `tgt_vocab` source and target share one vocabulary and all three matrices are one. A
    residual scheme that leaves the stream unnormalised (`final_norm`) gets a norm at the end of
    each stack.
    """
    positive(src_vocab=src_vocab, tgt_vocab=tgt_vocab)
    joint: Residual = partial(residual, dropout=dropout)

    def attention() -> MultiHeadAttention:
        return MultiHeadAttention(d_model, n_heads, dropout=attention_dropout)

    def block(cross: bool) -> Block:
        own, ff = attention(), FeedForward(d_model, d_ff, activation, dropout)
        return Block(own, ff, attention() if cross else None, joint)

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
    """Return the paper's base model: 63.1 M parameters counted, with its shared vocabulary of
    37,000 (it prints 65).
    """
    return transformer(vocab_size)


def big(vocab_size: int = 37_000) -> Transformer:
    """Return the paper's big model: 214.2 M parameters counted (it prints 213); dropout 0.3 is for
    English-German.
    """
    return transformer(vocab_size, d_model=1024, n_heads=16, d_ff=4096, dropout=0.3)


def tiny(vocab_size: int = 32) -> Transformer:
    """Return a model for tests and toys: 2 + 2 layers, 32 wide, 4 heads."""
    return transformer(vocab_size, d_model=32, n_heads=4, n_layers=2, d_ff=64, dropout=0.0)
