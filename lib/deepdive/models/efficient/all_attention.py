"""All-attention: a Transformer whose feed-forward layers are replaced by persistent memory vectors.
Sukhbaatar et al. 2019, "Augmenting Self-attention with Persistent Memory".

System: all_attention
Parent: transformer
What differs:
- no feed-forward sublayer (`Block` with ff=None): attention is the only sublayer
- learned key-value vectors, `n_slots` per head, join the keys and values of self-attention
  (`PersistentMemoryAttention`); n_slots = d_ff gives the parameters of a feed-forward layer without
  biases
Source: Sukhbaatar et al. 2019, section 4.
Book: 1.2.1.2
"""

from functools import partial

from deepdive.attention.memories.persistent import PersistentMemoryAttention
from deepdive.core import Block, MultiHeadAttention, PreNorm
from deepdive.core.block import Residual
from deepdive.core.checks import divides, positive
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.norms import LayerNorm
from deepdive.core.position import Position
from deepdive.core.stack import Stack
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.transformer import Decoder
from deepdive.positions import LearnedPosition


def all_attention_block(
    d_model: int,
    n_heads: int,
    n_slots: int,
    *,
    dropout: float = 0.0,
    bias: bool = True,
    residual: Residual = PreNorm,
    position: Position | None = None,
) -> Block:
    """Build one layer: self-attention with `n_slots` persistent vectors per head, nothing else.

    Raises ValueError when n_heads does not divide d_model, or a size is not positive.
    """
    positive(d_model=d_model, n_heads=n_heads)
    divides(n_heads=n_heads, d_model=d_model)
    mechanism = PersistentMemoryAttention(n_heads, n_slots, d_model // n_heads, dropout)
    attention = MultiHeadAttention(
        d_model, n_heads, bias=bias, mechanism=mechanism, position=position
    )
    return Block(attention, None, residual=residual)


def all_attention(
    vocab_size: int,
    *,
    d_model: int = 512,
    n_heads: int = 8,
    n_layers: int = 6,
    n_slots: int = 2048,
    max_length: int = 512,
    dropout: float = 0.1,
) -> DecoderOnly:
    """Build a language model of all-attention layers, in the size of the base Transformer: as many
    persistent vectors as its feed-forward layers have units.
    """

    def block(_layer: int) -> Block:
        residual = partial(PreNorm, dropout=dropout)
        return all_attention_block(d_model, n_heads, n_slots, dropout=dropout, residual=residual)

    embedding = TokenEmbedding(vocab_size, d_model)
    stack = Stack(block, n_layers, LayerNorm(d_model))
    decoder = Decoder(embedding, LearnedPosition(max_length, d_model), stack, dropout)
    return DecoderOnly(decoder, TiedHead(embedding))


def tiny(vocab_size: int = 32) -> DecoderOnly:
    """Return a model for tests and toys: 2 layers, d_model 32, 4 heads, 8 persistent vectors."""
    return all_attention(
        vocab_size, d_model=32, n_heads=4, n_layers=2, n_slots=8, max_length=64, dropout=0.0
    )
