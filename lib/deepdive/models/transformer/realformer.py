"""RealFormer: attention scores with a residual connection from layer to layer. He, Ravula, Kanagal,
and Ainslie 2021, "RealFormer: Transformer Likes Residual Attention".

Not as in the paper: its models are BERTs, with bidirectional attention; `realformer` builds a
language model, and `realformer_stack` is either. A bias of the scores, such as that of relative
positions, isn't carried to the next layer, only the scaled dot products are.

System: realformer
Parent: transformer
What differs:
- a layer's scores before the softmax are added to the next layer's (`ScoreResidualAttention`), with
  no new parameters; `carry` multiplies them and is 1 in the paper, 0 in the parent
- the scores go from layer to layer in the context, those of self-attention and of cross-attention
  separately (`ScoreContext`, `RealFormerStack` in `deepdive.layers.residual_scores`)
- it is decoder-only, with a norm after each sublayer: a language model (`realformer`)
Source: He, Ravula, Kanagal, and Ainslie 2021, the residual attention layer.
Book: 5.1.2.1
"""

from functools import partial

from deepdive.core import Block, FeedForward, LayerNorm, PostNorm, gelu_tanh
from deepdive.core.block import Residual
from deepdive.layers.residual_scores import RealFormerStack, ScoreResidualAttention
from deepdive.models.transformer.decoder_only import DecoderOnly, around_stack


def realformer_stack(
    d_model: int,
    n_heads: int,
    n_layers: int,
    d_ff: int,
    *,
    residual: Residual = PostNorm,
    carry: float = 1.0,
    norm: LayerNorm | None = None,
) -> RealFormerStack:
    """Build the layers; `residual` = `PreNorm` needs a `norm` for the end of the stack."""

    def block(_layer: int) -> Block:
        attention = ScoreResidualAttention(d_model, n_heads, carry=carry)
        return Block(attention, FeedForward(d_model, d_ff, gelu_tanh), residual=residual)

    return RealFormerStack(block, n_layers, norm)


def realformer(
    vocab_size: int,
    *,
    d_model: int = 768,
    n_heads: int = 12,
    n_layers: int = 12,
    d_ff: int = 3072,
    max_length: int = 512,
    dropout: float = 0.1,
    carry: float = 1.0,
) -> DecoderOnly:
    """Build a post-norm language model with residual scores; the defaults are BERT-Base's sizes."""
    residual = partial(PostNorm, dropout=dropout)
    stack = realformer_stack(d_model, n_heads, n_layers, d_ff, residual=residual, carry=carry)
    return around_stack(stack, vocab_size, d_model, max_length, dropout)


def tiny(vocab_size: int = 32) -> DecoderOnly:
    """Return a model for tests: 3 layers, width 32, 4 heads, 64 positions."""
    sizes = {"d_model": 32, "n_heads": 4, "n_layers": 3, "d_ff": 64, "max_length": 64}
    return realformer(vocab_size, **sizes, dropout=0.0)
