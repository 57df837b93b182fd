"""Transparent attention: each decoder layer attends to its own mixture of all encoder layers.
Bapna, Chen, Firat, Cao, and Wu 2018, "Training Deeper Neural Machine Translation Models with
Transparent Attention".

Not as in the paper: the mixture starts as the mean of the layers, because the weights before the
softmax start at 0. With pre-norm layers, the encoder's final norm acts on each state first.

System: transparent_attention
Parent: transformer
What differs:
- the encoder returns one memory per decoder layer: the embeddings and the outputs of its N layers,
  averaged with learned weights, a softmax over the N + 1 states for each of M decoder layers:
  (N + 1) x M parameters (`TransparentStack.mixture`)
- decoder layer j attends to memory j (`LayeredMemoryStack`), so the loss reaches each encoder layer
  directly; depths may differ (`n_layers`, `n_decoder_layers`)
Source: Bapna et al. 2018, the weights s_ij.
Book: table 1.1
"""

from collections.abc import Callable
from functools import partial

from torch import nn

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, PostNorm
from deepdive.core.checks import positive
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.layers.layer_mixture import LayeredMemoryStack, TransparentStack
from deepdive.models.transformer.transformer import Decoder, Encoder, Transformer
from deepdive.positions import SinusoidalPosition


def transparent(
    src_vocab: int,
    tgt_vocab: int | None = None,
    *,
    d_model: int = 512,
    n_heads: int = 8,
    n_layers: int = 16,
    n_decoder_layers: int = 6,
    d_ff: int = 2048,
    dropout: float = 0.1,
    residual: Callable[..., nn.Module] = PostNorm,
) -> Transformer:
    """Build an encoder-decoder with transparent attention; else as `transformer` does.

    Raises ValueError when a size is not positive.
    """
    positive(src_vocab=src_vocab, tgt_vocab=tgt_vocab, n_layers=n_layers)

    def block(cross: bool) -> Block:
        attention, ff = MultiHeadAttention(d_model, n_heads), FeedForward(d_model, d_ff)
        memory = MultiHeadAttention(d_model, n_heads) if cross else None
        return Block(attention, ff, memory, partial(residual, dropout=dropout))

    def norm() -> LayerNorm | None:
        return LayerNorm(d_model) if getattr(residual, "final_norm", False) else None

    source = TokenEmbedding(src_vocab, d_model, scale=d_model**0.5)
    target = source if tgt_vocab is None else TokenEmbedding(tgt_vocab, d_model, scale=d_model**0.5)
    place = SinusoidalPosition(d_model)
    layers = TransparentStack(lambda _layer: block(False), n_layers, n_decoder_layers, norm())
    decoder = LayeredMemoryStack(lambda _layer: block(True), n_decoder_layers, norm())
    return Transformer(
        Encoder(source, place, layers, dropout),
        Decoder(target, place, decoder, dropout),
        TiedHead(target),
    )


def tiny(vocab_size: int = 32) -> Transformer:
    """Return a model for tests: 3 + 2 layers, d_model 32, 4 heads, one vocabulary."""
    return transparent(
        vocab_size, d_model=32, n_heads=4, n_layers=3, n_decoder_layers=2, d_ff=64, dropout=0.0
    )
