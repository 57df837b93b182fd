"""BigBird: BERT with block sparse attention. Zaheer et al. 2020, "Big Bird: Transformers for Longer
Sequences".

System: bigbird
Parent: longformer
What differs:
- attention is between whole blocks of 64 tokens: a block attends to itself, its two neighbors, and
  `n_random` random ones, which differ by head and layer (`block_attention`, `draw`)
- the first and last blocks are global for every task, without projections of their own
- all else is BERT's (`Bert`), with 4,096 positions, 50,358 subword tokens, and tanh GELU (`BASE`)
- a text too short for the pattern gets full attention (`BlockSparseAttention.in_full`)
Source: Zaheer et al. 2020, section 2, and their released code.
Book: 5.2.2.4
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from deepdive.attention import BlockSparseAttention, DrawnBlocks
from deepdive.attention.by_position.block_sparse import Draw
from deepdive.core import MultiHeadAttention, gelu_tanh
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert


@dataclass(frozen=True)
class BigBirdConfig(EncoderConfig):
    """`draw(n_random, layer)` chooses the random blocks that each block attends to."""

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = (*EncoderConfig.MAY_BE_ZERO, "n_random")
    block_size: int = 64
    n_random: int = 3
    draw: Callable[[int, int], Draw] = DrawnBlocks


def block_attention(config: BigBirdConfig, layer: int) -> nn.Module:
    """Return one layer's attention: neighboring, random, and global blocks."""
    draw = config.draw(config.n_random, layer)
    mechanism = BlockSparseAttention(
        config.block_size, config.n_random, draw, dropout=config.weights_dropout
    )
    return MultiHeadAttention(config.d_model, config.n_heads, mechanism=mechanism)


BASE = BigBirdConfig(
    vocab_size=50_358, max_length=4096, activation=gelu_tanh, attention=block_attention,
    family="big_bird",
)  # fmt: skip
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
TINY = BASE.but(**TOY, block_size=2, n_random=1)


def bigbird(config: BigBirdConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the published base model."""
    return bert(config, **changes)
