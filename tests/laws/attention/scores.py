"""Cases of `deepdive.attention.scores`."""

from __future__ import annotations

import torch

from deepdive.attention.scores import AdditiveAttention, DotAttention, GeneralAttention
from deepdive.attention.softmax import SoftmaxAttention
from laws import Case, case, random_rows, set_weights
from laws.attention.softmax import mechanism_case


@case("dot_attention", DotAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 5, 4, seed=seed) for seed in range(3))
    return mechanism_case(
        DotAttention,
        limits={
            "scale 1 / sqrt(d_head): scaled": lambda: (
                DotAttention()(q, k, v, scale=0.5),
                SoftmaxAttention()(q, k, v),
            )
        },
    )


@case("GeneralAttention", GeneralAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 5, 4, seed=seed) for seed in range(3))
    return mechanism_case(
        lambda: GeneralAttention(4),
        limits={
            "W = 1: the dot product": lambda: (
                set_weights(GeneralAttention(4), W__weight=torch.eye(4))(q, k, v),
                DotAttention()(q, k, v),
            )
        },
    )


@case("additive_attention", AdditiveAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 5, 4, seed=seed) for seed in range(3))
    return mechanism_case(
        lambda: AdditiveAttention(4),
        parity="the equations, written out with einsum",
        limits={
            "u = 0: the mean": lambda: (
                set_weights(AdditiveAttention(4), u__weight=0.0)(q, k, v),
                v.mean(2, keepdim=True).expand_as(v),
            )
        },
    )
