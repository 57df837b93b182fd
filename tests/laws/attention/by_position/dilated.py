"""Cases of `deepdive.attention.by_position.dilated`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.by_position.dilated import DilatedAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Causal, Padding, Window
from laws import Case, Fails, case, random_rows
from laws.attention.softmax import mechanism_case


@case("DilatedAttention", DilatedAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 3, 23, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 23).bool()
    real[1, 5:14] = False

    def its_mask() -> tuple[Tensor, Tensor]:
        ours = DilatedAttention(3, 1, dilations=(1, 3, 3), block=2)
        mask = ours.pattern(3) & Padding(real)
        return ours(q, k, v, Padding(real)), SoftmaxAttention()(q, k, v, mask)

    def the_last_rows() -> tuple[Tensor, Tensor]:
        ours, last = DilatedAttention(2, 1, dilations=(4,), block=2), q[:, :, -7:]
        mask = Window(2, 0, 4) & Causal()
        return ours(last, k, v, Causal()), SoftmaxAttention()(last, k, v, mask)

    def no_gaps() -> tuple[Tensor, Tensor]:
        return DilatedAttention(2, 1)(q, k, v), SoftmaxAttention()(q, k, v, Window(2, 1))

    zeros = [torch.zeros(1, 2, 3, 4)] * 3
    return mechanism_case(
        lambda: DilatedAttention(1, 1, dilations=(1, 1, 2, 2), block=2),
        parity="torch.nn.functional.scaled_dot_product_attention under its mask",
        limits={
            "the mask Window with dilation, one for each head": its_mask,
            "the last rows": the_last_rows,
            "no gaps: the mask Window": no_gaps,
        },
        refusals={
            "dilations for other heads": lambda: DilatedAttention(1, 1, (1, 2, 3))(*zeros),
            "a dilation of 0": lambda: DilatedAttention(1, 1, (0,)),
        },
        laws={"order": Fails("who is near depends on the order")},
    )
