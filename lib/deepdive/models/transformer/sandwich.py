"""Sandwich Transformer: the same sublayers, attention first and feed-forward last. Press, Smith and
Levy 2020, "Improving Transformer Models by Reordering their Sublayers".

System: sandwich
Parent: transformer
What differs:
- the stack is a sequence of single sublayers in any order, such as "ssfsff", rather than of blocks
  of two (`sublayer_stack`)
- `sandwich_order`: k attention layers come first, k feed-forward layers last, and the rest
  alternate between them, so the number of weights is unchanged
- it is decoder-only, with a norm before each sublayer: a language model (`sandwich`)
Source: Press, Smith and Levy 2020, the sandwich ordering.
Book: table 1.1
"""

from functools import partial

from deepdive.core import PreNorm
from deepdive.layers.sublayers import sublayer_stack
from deepdive.models.transformer.decoder_only import DecoderOnly, around_stack


def sandwich_order(n_layers: int, k: int) -> str:
    """Return s^k (sf)^(n_layers - k) f^k; k = 0 alternates throughout, as the Transformer does.

    Raises ValueError unless 0 <= k <= n_layers. Source: Press, Smith and Levy 2020.
    """
    if not 0 <= k <= n_layers:
        raise ValueError(f"k={k}: the sandwich coefficient must be from 0 to n_layers={n_layers}")
    return "s" * k + "sf" * (n_layers - k) + "f" * k


def sandwich(
    vocab_size: int,
    *,
    d_model: int = 512,
    n_heads: int = 8,
    n_layers: int = 6,
    d_ff: int = 2048,
    k: int = 2,
    max_length: int = 1024,
    dropout: float = 0.1,
) -> DecoderOnly:
    """Build a language model of n_layers attention and n_layers feed-forward sublayers."""
    order, residual = sandwich_order(n_layers, k), partial(PreNorm, dropout=dropout)
    stack = sublayer_stack(order, d_model, n_heads, d_ff, residual=residual)
    return around_stack(stack, vocab_size, d_model, max_length, dropout)


def tiny(vocab_size: int = 32) -> DecoderOnly:
    """Return a model for tests: order "ssfsff", width 32, 4 heads, 64 positions."""
    sizes = {"d_model": 32, "n_heads": 4, "n_layers": 3, "d_ff": 64, "max_length": 64}
    return sandwich(vocab_size, **sizes, k=1, dropout=0.0)
