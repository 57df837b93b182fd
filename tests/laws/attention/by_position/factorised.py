"""Cases of `deepdive.attention.by_position.factorised`."""

from __future__ import annotations

from torch import Tensor

from deepdive.attention.by_position.factorised import FixedAttention, StridedAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Causal
from laws import Case, Fails, case, random_rows
from laws.attention.softmax import mechanism_case


def _case(make: type[StridedAttention] | type[FixedAttention], small: tuple[int, ...]) -> Case:
    q, k, v = (random_rows(2, 2, 23, 4, seed=seed) for seed in range(3))

    def one_chunk() -> tuple[Tensor, Tensor]:
        return make(23)(q, k, v), SoftmaxAttention()(q, k, v, Causal())

    return mechanism_case(
        lambda: make(*small),
        parity="torch.nn.functional.scaled_dot_product_attention under the paper's sets",
        limits={
            "a stride over everything: the mask Causal": one_chunk,
        },
        refusals={"no stride": lambda: make(0)},
        laws={"order": Fails("who is met depends on the order")},
    )


@case("sparse_transformer", StridedAttention)
def _() -> Case:
    return _case(StridedAttention, (3,))


@case("FixedAttention", FixedAttention)
def _() -> Case:
    return _case(FixedAttention, (3, 2))
