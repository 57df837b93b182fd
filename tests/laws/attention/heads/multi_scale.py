"""Cases of `deepdive.attention.heads.multi_scale`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.heads.multi_scale import MultiScaleAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Causal, Padding, Window
from laws import Case, Fails, case, random_rows
from laws.attention.softmax import mechanism_case


@case("multi_scale", MultiScaleAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 4, 23, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 23).bool()
    real[1, 5:11] = False  # longer than a window: some rows have no key
    reaches = (1, None, 4, 1)

    def its_masks() -> tuple[Tensor, Tensor]:
        ours = [MultiScaleAttention(reaches)(q, k, v, m) for m in (Padding(real), Causal())]
        wide = [Window(23 if reach is None else reach, reach or 23) for reach in reaches]
        own = torch.cat([window.dense(23) for window in wide], dim=1)  # (1, H, 23, 23)
        masks = (Padding(real).dense(23) & own, Causal().dense(23) & own)
        return torch.cat(ours), torch.cat([SoftmaxAttention()(q, k, v, m) for m in masks])

    def no_window() -> tuple[Tensor, Tensor]:
        return MultiScaleAttention([None] * 4)(q, k, v), SoftmaxAttention()(q, k, v)

    return mechanism_case(
        lambda: MultiScaleAttention((1, None, 2, 1)),
        parity="the equations of Guo et al. 2020, row by row",
        limits={"a mask for each head": its_masks, "no window: SoftmaxAttention": no_window},
        refusals={"a negative reach": lambda: MultiScaleAttention((1, -2))},
        laws={"order": Fails("who is near depends on the order")},
    )
