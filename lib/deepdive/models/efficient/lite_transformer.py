"""Lite Transformer: half of the channels attend, half are convolved. Wu et al. 2020, "Lite
Transformer with Long-Short Range Attention".

System: lite_transformer
Parent: transformer
What differs:
- long-short range attention: attention for half of the channels, a convolution with a short kernel
  for the others (`LongShortAttention`)
- the kernel is softmax-normalized, shared by the channels of a head, and computed from the current
  state (`DynamicKernel`; `dynamic` False: a parameter, `SharedKernel`)
- the feed-forward layer has d_model units, not 4 d_model (`d_ff`)
Source: Wu et al. 2020, section 4, and their released code; kernels: Wu et al. 2019.
Book: table 1.1
"""

from collections.abc import Sequence
from functools import partial

from deepdive.core import Block, FeedForward, PostNorm, PreNorm
from deepdive.core.checks import each_at_least, positive
from deepdive.core.norms import LayerNorm
from deepdive.core.stack import Stack
from deepdive.layers.lightweight_convolution import LongShortAttention

KERNELS = (3, 7, 15, 31, 31, 31)  # released, one per layer


def lite_transformer(
    d_model: int = 496,
    *,
    n_heads: int = 4,
    kernels: Sequence[int] = KERNELS,
    d_ff: int | None = None,
    attended: int | None = None,
    causal: bool = False,
    dynamic: bool = True,
    dropout: float = 0.1,
    residual: type[PreNorm | PostNorm] = PostNorm,
) -> Stack:
    """Build a stack with one layer per kernel; the defaults are the released encoder for WMT.

    `attended` channels go to attention, half by default; `d_ff` is d_model by default. A causal
    stack needs a causal mask.
    """
    positive(d_model=d_model, d_ff=d_ff)
    each_at_least(1, "kernels", kernels)
    if not causal and any(kernel % 2 == 0 for kernel in kernels):
        raise ValueError(f"kernels={tuple(kernels)}: expected odd numbers, which have a center")
    around = partial(residual, dropout=dropout)

    def block(i: int) -> Block:
        attention = LongShortAttention(
            d_model, n_heads, kernels[i], attended, causal, dynamic, dropout
        )
        return Block(attention, FeedForward(d_model, d_ff or d_model), residual=around)

    norm = LayerNorm(d_model) if residual.final_norm else None
    return Stack(block, len(kernels), norm)


def tiny() -> Stack:
    """Return a small stack for tests: width 16, 2 heads, kernels of 3 and 5."""
    return lite_transformer(16, n_heads=2, kernels=(3, 5), dropout=0.0)
