"""Cases of `deepdive.attention.by_content.sinkhorn`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.by_content.sinkhorn import SinkhornAttention, balance
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Causal, Padding
from laws import Case, Fails, Refuses, case, random_rows
from laws.attention.softmax import mechanism_case


@case("sinkhorn", SinkhornAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 11, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 11).bool()
    real[1, 5:] = False

    def one_block() -> tuple[Tensor, Tensor]:
        attention = SinkhornAttention(2, 4, 11, 1).double().eval()
        masks = (None, Causal(), Padding(real), Causal() & Padding(real))
        ours = [attention(q, k, v, mask) for mask in masks]
        return torch.cat(ours), torch.cat([SoftmaxAttention()(q, k, v, mask) for mask in masks])

    def doubly_stochastic() -> tuple[Tensor, Tensor]:
        S = balance(random_rows(3, 5, 5), torch.ones(5, 5).bool(), 200)
        return torch.cat([S.sum(-1), S.sum(-2)]), torch.ones(6, 5, dtype=S.dtype)

    return mechanism_case(
        lambda: SinkhornAttention(4, 4, 2, 4),
        parity="the equation in loops",
        limits={
            "one block: SoftmaxAttention": one_block,
            "many iterations: rows and columns sum to 1": doubly_stochastic,
        },
        laws={
            "order": Fails("blocks are cut by position"),
            "cache": Refuses("a key for each query: blocks are sorted anew"),
        },
        refusals={
            "no block": lambda: SinkhornAttention(2, 4, 0, 1),
            "a text that is too long": lambda: SinkhornAttention(2, 4, 2, 3)(
                *[torch.zeros(1, 2, 7, 4)] * 3
            ),
        },
    )
