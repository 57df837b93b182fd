"""Macaron Transformer: attention between two half-step feed-forward layers. Lu et al. 2019,
"Understanding and Improving Transformer From a Multi-Particle Dynamic System Point of View".

System: macaron
Parent: transformer
What differs:
- a block has two feed-forward layers, one before and one after attention (`order` of `Block`)
- each of them adds half of its output to the residual stream (`HalfFeedForward`)
- each has `d_ff // 2` hidden units, so a block has as many weights as before
- it is decoder-only, with a norm before each sublayer: a language model (`macaron`)
Source: Lu et al. 2019, the Macaron layer.
Book: table 1.1
"""

from functools import partial

from torch import Tensor

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, PreNorm, relu
from deepdive.core.block import Residual
from deepdive.core.feed_forward import Activation
from deepdive.core.position import Position
from deepdive.core.stack import Stack
from deepdive.models.transformer.decoder_only import DecoderOnly, around_stack


class HalfFeedForward(FeedForward):
    """FeedForward(x) / 2: half a step of the residual stream, under any residual connection.

    Source: Lu et al. 2019, the Macaron layer.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., d_model) for x (..., d_model)."""
        return super().forward(x) / 2


def macaron_block(
    d_model: int,
    n_heads: int,
    d_ff: int,
    *,
    residual: Residual = PreNorm,
    activation: Activation = relu,
    bias: bool = True,
    position: Position | None = None,
) -> Block:
    """Build x = x + ff_first(x) / 2;  x = x + attn(x);  x = x + ff(x) / 2, with `residual`.

    `d_ff` is that of the plain block: each half has d_ff // 2 hidden units. Raises ValueError when
    d_ff is odd.
    """
    if d_ff % 2:
        raise ValueError(f"d_ff={d_ff} must be even: each of the two layers has half of the units")
    attn = MultiHeadAttention(d_model, n_heads, bias=bias, position=position)
    first, second = (HalfFeedForward(d_model, d_ff // 2, activation, bias=bias) for _ in range(2))
    order = ("ff_first", "attn", "ff")
    return Block(attn, second, residual=residual, order=order, ff_first=first)


def macaron(
    vocab_size: int,
    *,
    d_model: int = 512,
    n_heads: int = 8,
    n_layers: int = 6,
    d_ff: int = 2048,
    max_length: int = 1024,
    dropout: float = 0.1,
) -> DecoderOnly:
    """Build a language model; the defaults are the sizes of the base Transformer."""
    residual = partial(PreNorm, dropout=dropout)
    stack = Stack(
        lambda _layer: macaron_block(d_model, n_heads, d_ff, residual=residual),
        n_layers,
        LayerNorm(d_model),
    )
    return around_stack(stack, vocab_size, d_model, max_length, dropout)


def tiny(vocab_size: int = 32) -> DecoderOnly:
    """Return a model for tests: 2 layers, width 32, 4 heads, 64 positions."""
    return macaron(
        vocab_size, d_model=32, n_heads=4, n_layers=2, d_ff=64, max_length=64, dropout=0.0
    )
