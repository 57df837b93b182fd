"""Cases of `deepdive.attention.priors.shaw`."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from deepdive.attention.priors.shaw import ShawAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.positions import ShawPosition
from laws import Case, Fails, case, random_rows, set_weights
from laws.attention.softmax import mechanism_case


@case("shaw_relative", ShawAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 3, n, 4, seed=seed) for seed, n in enumerate((5, 7, 7)))
    at = torch.arange(7)

    def pair_by_pair() -> tuple[Tensor, Tensor]:
        shaw, position = ShawAttention(4, 2, 1).double(), ShawPosition(4, 2, 1).double()
        bias, named = position.bias(q, k, at[2:], at), (at - at[2:, None]).clamp(-2, 1) + 2
        weights = ((q @ k.transpose(-2, -1)) / 2 + bias).softmax(-1)
        by_hand = torch.einsum("bhts,tsd->bhtd", weights, shaw.values[named]) + weights @ v
        return shaw(q, k, v, bias=bias), by_hand

    def no_values() -> tuple[Tensor, Tensor]:
        shaw = set_weights(ShawAttention(4, 2), values=0.0)
        return shaw(q, k, v), SoftmaxAttention()(q, k, v)

    plain = mechanism_case(
        lambda: ShawAttention(4, 2),
        parity="the equations, written out in loops",
        limits={"a vector for each pair": pair_by_pair, "values 0: SoftmaxAttention": no_values},
        laws={"order": Fails("the values tell who stands where")},
    )
    more = {
        "a reach below 0": lambda: ShawAttention(4, -1),
        "more queries than keys": lambda: ShawAttention(4, 2)(k.float(), *[q.float()] * 2),
    }
    return replace(plain, refusals={**plain.refusals, **more})
