"""Cases of `deepdive.layers.block`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.layers.block import Block
from laws import Case, case, random_rows, set_weights


@case("Block", Block)
def _() -> Case:
    from deepdive.attention import MultiHeadAttention
    from deepdive.layers.feed_forward import FeedForward

    def make() -> Block:
        return Block(MultiHeadAttention(16, 4), FeedForward(16, 32))

    def silent_sublayers() -> tuple[Tensor, Tensor]:
        x, block = random_rows(2, 3, 16), make()
        set_weights(block, attn__out__weight=0.0, ff__out__weight=0.0)
        return block(x), x

    def without_memory() -> Tensor:
        cross = MultiHeadAttention(16, 4)
        return Block(MultiHeadAttention(16, 4), FeedForward(16, 32), cross)(torch.zeros(1, 2, 16))

    rows = torch.zeros(1, 2, 16)
    return Case(
        place="layer",
        make=make,
        parity="torch.nn.TransformerEncoderLayer, both norm placements",
        limits={"sublayers that return 0: the stream": silent_sublayers},
        refusals={"no memory": without_memory, "unread memory": lambda: make()(rows, memory=rows)},
    )
