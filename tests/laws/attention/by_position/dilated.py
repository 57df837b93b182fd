"""Cases of `deepdive.attention.by_position.dilated`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.by_position.dilated import DilatedAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Window
from laws import Case, Fails, case, random_rows
from laws.attention.softmax import mechanism_case


@case("DilatedAttention", DilatedAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 3, 23, 4, seed=seed) for seed in range(3))

    def no_gaps() -> tuple[Tensor, Tensor]:
        return DilatedAttention(2, 1)(q, k, v), SoftmaxAttention()(q, k, v, Window(2, 1))

    zeros = [torch.zeros(1, 2, 3, 4)] * 3
    return mechanism_case(
        lambda: DilatedAttention(1, 1, dilations=(1, 1, 2, 2), block=2),
        parity="torch.nn.functional.scaled_dot_product_attention under its mask",
        limits={
            "no gaps: the mask Window": no_gaps,
        },
        refusals={
            "dilations for other heads": lambda: DilatedAttention(1, 1, (1, 2, 3))(*zeros),
            "a dilation of 0": lambda: DilatedAttention(1, 1, (0,)),
        },
        laws={"order": Fails("who is near depends on the order")},
    )
