"""Cases of `deepdive.attention.by_position.factorised`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.by_position.factorised import FixedAttention, StridedAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Causal, Padding
from laws import Case, Fails, case, random_rows
from laws.attention.softmax import mechanism_case


def _case(make: type[StridedAttention] | type[FixedAttention], small: tuple[int, ...]) -> Case:
    q, k, v = (random_rows(2, 2, 23, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 23).bool()
    real[1, 5:11] = False
    ours = make(*small)

    def its_mask() -> tuple[Tensor, Tensor]:
        mask = Padding(real)
        return ours(q, k, v, mask), SoftmaxAttention()(q, k, v, mask & ours.pattern(2))

    def the_last_rows() -> tuple[Tensor, Tensor]:
        last = q[:, :, -6:]
        return ours(last, k, v, Causal()), SoftmaxAttention()(last, k, v, ours.pattern(2))

    def one_chunk() -> tuple[Tensor, Tensor]:
        return make(23)(q, k, v), SoftmaxAttention()(q, k, v, Causal())

    return mechanism_case(
        lambda: make(*small),
        parity="torch.nn.functional.scaled_dot_product_attention under the paper's sets",
        limits={
            "its mask, padding included": its_mask,
            "the last rows": the_last_rows,
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
