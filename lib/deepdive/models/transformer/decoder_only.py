"""Decoder-only Transformer language model, as in GPT. Radford et al. 2018 and 2019.

Parent: the Transformer's decoder (`deepdive.models.transformer.transformer.Decoder`). What differs:
- no encoder and no cross-attention: the decoder has no memory;
- position embeddings are learned (`LearnedPosition`), so the sequence length is limited;
- layer normalization precedes each sublayer (`PreNorm`, one final norm); the activation is GELU
  (`gelu_tanh`).

Book: section 6.1.3 (its checkpoints come with that chapter). Used by section 2.5 for cached
decoding.
"""

from functools import partial

from torch import Tensor, nn

from deepdive.core import (
    Block,
    DecodingState,
    FeedForward,
    KVCache,
    LayerNorm,
    MultiHeadAttention,
    PreNorm,
    gelu_tanh,
)
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.stack import Stack
from deepdive.models.transformer.transformer import Decoder
from deepdive.positions import LearnedPosition


class DecoderOnly(nn.Module):
    """Causal language model: next-token logits (B, T, V) for token ids (B, T)."""

    def __init__(self, decoder: Decoder, head: nn.Module) -> None:
        super().__init__()
        self.decoder, self.head = decoder, head

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return logits (B, T, V) for token ids (B, T); `mask` bool (B, T), True = real token."""
        return self.head(self.decoder(tokens, mask=mask))

    def begin(self) -> DecodingState:
        """Return an empty decoding state for `step`."""
        return DecodingState(KVCache())

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        """Return logits (B, t, V) for the next tokens (B, t), and update the state in place."""
        return self.head(self.decoder(tokens, cache=state.cache))


def decoder_only(
    vocab_size: int,
    *,
    d_model: int = 768,
    n_heads: int = 12,
    n_layers: int = 12,
    d_ff: int = 3072,
    max_length: int = 1024,
    dropout: float = 0.1,
) -> DecoderOnly:
    """Build a decoder-only model; the defaults are those of the smallest GPT-2."""

    def block(_layer: int) -> Block:
        attention = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        ff = FeedForward(d_model, d_ff, gelu_tanh)
        return Block(attention, ff, residual=partial(PreNorm, dropout=dropout))

    embedding = TokenEmbedding(vocab_size, d_model)
    stack = Stack(block, n_layers, LayerNorm(d_model))
    decoder = Decoder(embedding, LearnedPosition(max_length, d_model), stack, dropout)
    return DecoderOnly(decoder, TiedHead(embedding))


def around_stack(
    stack: Stack, vocab_size: int, d_model: int, max_length: int = 1024, dropout: float = 0.0
) -> DecoderOnly:
    """Build a decoder-only model around a stack: embeddings, learned positions, a tied head."""
    embedding = TokenEmbedding(vocab_size, d_model)
    decoder = Decoder(embedding, LearnedPosition(max_length, d_model), stack, dropout)
    return DecoderOnly(decoder, TiedHead(embedding))


def tiny(vocab_size: int = 32) -> DecoderOnly:
    """Return a model for tests and toys: 2 layers, d_model 32, 4 heads, 64 positions."""
    return decoder_only(
        vocab_size, d_model=32, n_heads=4, n_layers=2, d_ff=64, max_length=64, dropout=0.0
    )
