"""Cases of `deepdive.attention.by_position.block_sparse`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.by_position.block_sparse import BlockSparseAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Dense, Padding
from laws import Case, Fails, Refuses, case, random_rows
from laws.attention.softmax import mechanism_case


@case("BlockSparseAttention", BlockSparseAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 23, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 23).bool()
    real[1, 5:11] = False

    def short() -> tuple[Tensor, Tensor]:
        ours = BlockSparseAttention(4, 1)  # six blocks
        return ours(q, k, v, Padding(real)), SoftmaxAttention()(q, k, v, Padding(real))

    def nothing_drawn() -> tuple[Tensor, Tensor]:
        """Blocks of one position: a window of three, and the two ends."""
        near = torch.arange(23)
        mask = (near - near.unsqueeze(1)).abs() <= 1
        mask[[0, -1]] = mask[:, [0, -1]] = True
        return BlockSparseAttention(1, 0)(q, k, v), SoftmaxAttention()(q, k, v, Dense(mask))

    two_sided = Refuses("the first block sees all: there is no causal form, and no cache")
    return mechanism_case(
        lambda: BlockSparseAttention(1, 0),
        parity="torch.nn.functional.scaled_dot_product_attention under its mask, transformers "
        "BigBirdModel",
        limits={
            "a short text: SoftmaxAttention": short,
            "nothing drawn, blocks of one: window and ends": nothing_drawn,
        },
        refusals={"an empty block": lambda: BlockSparseAttention(0)},
        laws={
            "no_leak": two_sided,
            "cache": two_sided,
            "order": Fails("who is near depends on the order"),
        },
    )
