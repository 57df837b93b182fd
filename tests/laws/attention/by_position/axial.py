"""Cases of `deepdive.attention.by_position.axial`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.by_position.axial import AXES, AxialAttention, SameLine
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Causal, Padding
from laws import Case, Fails, case, random_rows
from laws.attention.softmax import mechanism_case


@case("axial", AxialAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 23, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 23).bool()
    real[1, 5:11] = False

    def its_mask() -> tuple[Tensor, Tensor]:
        found = [AxialAttention(5, axis)(q, k, v, Padding(real)) for axis in AXES]
        masks = [Padding(real) & SameLine(5, axis) for axis in AXES]
        return torch.cat(found), torch.cat([SoftmaxAttention()(q, k, v, mask) for mask in masks])

    def the_last_rows() -> tuple[Tensor, Tensor]:
        last = q[:, :, -7:]
        found = [AxialAttention(5, axis)(last, k, v, Causal()) for axis in AXES]
        masks = [Causal() & SameLine(5, axis) for axis in AXES]
        return torch.cat(found), torch.cat([SoftmaxAttention()(last, k, v, m) for m in masks])

    def one_row() -> tuple[Tensor, Tensor]:
        return AxialAttention(23)(q, k, v), SoftmaxAttention()(q, k, v)

    def one_column() -> tuple[Tensor, Tensor]:
        return AxialAttention(1, "column")(q, k, v), SoftmaxAttention()(q, k, v)

    return mechanism_case(
        lambda: AxialAttention(2, "column"),
        parity="torch.nn.functional.scaled_dot_product_attention on each row and column",
        limits={
            "its mask, padding included": its_mask,
            "the last rows": the_last_rows,
            "one row: SoftmaxAttention": one_row,
            "one column: SoftmaxAttention": one_column,
        },
        refusals={"an unknown axis": lambda: AxialAttention(2, "depth")},
        laws={"order": Fails("who stands in a line depends on the order")},
    )
