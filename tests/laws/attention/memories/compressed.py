"""Cases of `deepdive.attention.memories.compressed`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.memories.compressed import MemoryCompressedAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Causal, Padding
from laws import Case, Fails, case, random_rows, set_weights
from laws.attention.softmax import mechanism_case


@case("memory_compressed", MemoryCompressedAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 7, 4, seed=seed) for seed in range(3))
    real = torch.tensor([[1, 1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0, 0]]).bool()

    def at_rate(rate: int) -> MemoryCompressedAttention:
        """The mean of each group."""
        mechanism = MemoryCompressedAttention(2, 4, rate)
        mean = torch.eye(4).double().repeat(rate, 1) / rate
        set_weights(mechanism, k_weight=mean, v_weight=mean)
        return mechanism

    def every_key() -> tuple[Tensor, Tensor]:
        masks = (None, Padding(real), Causal() & Padding(real))
        ours = [at_rate(1)(q, k, v, mask) for mask in masks]
        return torch.cat(ours), torch.cat([SoftmaxAttention()(q, k, v, mask) for mask in masks])

    def equal_neighbours() -> tuple[Tensor, Tensor]:
        """Keys that come in threes lose nothing by being melted in threes."""
        threes = [rows.repeat_interleave(3, dim=2) for rows in (k, v)]
        return at_rate(3)(q, *threes), SoftmaxAttention()(q, k, v)

    return mechanism_case(
        lambda: MemoryCompressedAttention(4, 4, 2),
        parity="torch.nn.Conv1d, then torch.nn.functional.scaled_dot_product_attention",
        limits={
            "rate 1, no weights: SoftmaxAttention": every_key,
            "keys that repeat `rate` times: SoftmaxAttention": equal_neighbours,
        },
        refusals={"no rate": lambda: MemoryCompressedAttention(2, 4, 0)},
        laws={"order": Fails("which keys share a group depends on the order")},
    )
