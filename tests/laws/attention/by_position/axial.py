"""Cases of `deepdive.attention.by_position.axial`."""

from __future__ import annotations

from torch import Tensor

from deepdive.attention.by_position.axial import AxialAttention
from deepdive.attention.softmax import SoftmaxAttention
from laws import Case, Fails, case, random_rows
from laws.attention.softmax import mechanism_case


@case("axial", AxialAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 23, 4, seed=seed) for seed in range(3))

    def one_row() -> tuple[Tensor, Tensor]:
        return AxialAttention(23)(q, k, v), SoftmaxAttention()(q, k, v)

    def one_column() -> tuple[Tensor, Tensor]:
        return AxialAttention(1, "column")(q, k, v), SoftmaxAttention()(q, k, v)

    return mechanism_case(
        lambda: AxialAttention(2, "column"),
        parity="torch.nn.functional.scaled_dot_product_attention on each row and column",
        limits={
            "one row: SoftmaxAttention": one_row,
            "one column: SoftmaxAttention": one_column,
        },
        refusals={"an unknown axis": lambda: AxialAttention(2, "depth")},
        laws={"order": Fails("who stands in a line depends on the order")},
    )
