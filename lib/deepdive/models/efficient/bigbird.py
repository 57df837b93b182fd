"""BigBird, an encoder for long texts. Zaheer et al. 2020, "Big Bird: Transformers for Longer
Sequences".

System: bigbird
Parent: longformer
What differs:
- positions meet in blocks of 64: a block meets its two neighbours (`BlockSparseAttention.block`)
- and blocks drawn at random, other ones for each head, the same for each text (`draw`)
- the first and the last block are global, whatever the task, with the shared projections
- embeddings and weights are BERT's (`Bert`), the activation is GELU by its tanh form
- a text of few blocks is attended in full (`in_full`)
Source: Zaheer et al. 2020, section 2, and their released code.
Book: 5.2.2.4
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from deepdive.attention import BlockSparseAttention, DrawnBlocks, MultiHeadAttention
from deepdive.attention.by_position.block_sparse import Draw
from deepdive.layers import gelu_tanh
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert


@dataclass(frozen=True)
class BigBirdConfig(EncoderConfig):
    """`block_size` tokens meet as one; `n_random` blocks are drawn for each, by
    `draw(n_random, layer)`: others in each layer.
    """

    block_size: int = 64
    n_random: int = 3
    draw: Callable[[int, int], Draw] = DrawnBlocks


def block_attention(config: BigBirdConfig, layer: int) -> nn.Module:
    """Return the attention of a layer: between blocks, neighbours, drawn and global ones."""
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
