"""DeLighT: narrow attention after a deep, light transformation, and blocks that grow with depth.
Mehta et al. 2021, "DeLighT: Deep and Light-weight Transformer".

System: delight
Parent: transformer
What differs:
- before attention, group linear transforms with shuffled features and input mixing expand each
  state and reduce it again (`DExTra`)
- attention has one head, of half the width (`DelightAttention`)
- the feed-forward layer is narrower than the states, not wider (`ff_reduction`)
- block-wise scaling: later blocks have deeper and wider transformations (`block_scaling`)
Source: Mehta et al. 2021, section 3, and their released code.
Book: 5.1.1.2
"""

from functools import partial

from deepdive.core import Block, FeedForward, PostNorm, PreNorm
from deepdive.core.checks import above_zero, divides, positive
from deepdive.core.norms import LayerNorm
from deepdive.core.stack import Stack
from deepdive.layers.dextra import DelightAttention, DExTra


def block_scaling(
    n_blocks: int, shallowest: int = 4, deepest: int = 8, width: float = 2.0
) -> list[tuple[int, float]]:
    """Return the number of layers and the width multiplier of each block's DExTra, from input to
    output.

        layers_b = floor(shallowest + (deepest - shallowest) * b / (n_blocks - 1))
        width_b  = width + (deepest / shallowest - 1) * b / (n_blocks - 1)

    Raises ValueError unless 1 <= shallowest <= deepest.
    Source: Mehta et al. 2021, section 3.2; rounding: their released code.
    """
    positive(n_blocks=n_blocks, shallowest=shallowest, deepest=deepest)
    if deepest < shallowest:
        raise ValueError(f"deepest={deepest} is below shallowest={shallowest}: exchange them")
    steps, growth = max(n_blocks - 1, 1), deepest / shallowest - 1
    return [
        (shallowest + (deepest - shallowest) * b // steps, round(width + growth * b / steps, 3))
        for b in range(n_blocks)
    ]


def delight(
    d_model: int = 512,
    *,
    n_blocks: int = 8,
    shallowest: int = 4,
    deepest: int = 8,
    width: float = 2.0,
    max_groups: int = 8,
    reduction: int = 2,
    ff_reduction: int = 4,
    shuffle: bool = True,
    dropout: float = 0.1,
    residual: type[PreNorm | PostNorm] = PostNorm,
) -> Stack:
    """Build a stack of blocks; the defaults are the released sizes for WMT14 with width 512.

    A causal mask makes it a decoder.
    """
    divides(reduction=reduction, d_model=d_model)
    divides(ff_reduction=ff_reduction, d_model=d_model)
    positive(max_groups=max_groups)
    above_zero(width=width)
    scales = block_scaling(n_blocks, shallowest, deepest, width)
    around = partial(residual, dropout=dropout)

    def block(i: int) -> Block:
        n_layers, wide = scales[i]
        light = DExTra(d_model, d_model // reduction, n_layers, wide, max_groups, shuffle)
        attention = DelightAttention(d_model, light, reduction, dropout)
        return Block(attention, FeedForward(d_model, d_model // ff_reduction), residual=around)

    norm = LayerNorm(d_model) if residual.final_norm else None
    return Stack(block, n_blocks, norm)


def tiny() -> Stack:
    """Return a small stack for tests: width 16, two blocks of 2 and 3 layers, 4 groups at most."""
    return delight(16, n_blocks=2, shallowest=2, deepest=3, max_groups=4, dropout=0.0)
