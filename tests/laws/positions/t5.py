"""Cases of `deepdive.positions.t5`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.positions.t5 import CausalT5Bias, T5Bias
from laws import Case, case, random_rows, set_weights
from laws.positions.base import ORDERED, shifted


def _limits(make: type[T5Bias]) -> Case:
    q, k, at = random_rows(2, 3, 5, 4), random_rows(2, 3, 12, 4, seed=6), torch.arange(12)

    def pair_by_pair() -> tuple[Tensor, Tensor]:
        scheme = make(3, 8, 6).double()
        added = scheme.bias(q, k, at[7:], at)
        by_hand = scheme.table.weight[scheme.buckets(at[None] - at[7:, None])]
        return added, by_hand.permute(2, 0, 1)[None]

    def all_alike() -> tuple[Tensor, Tensor]:
        scheme = set_weights(make(3, 8, 6), table__weight=0.5)
        added = scheme.bias(q, k, at[7:], at)  # type: ignore[operator]
        return added, torch.full((1, 3, 5, 12), 0.5).double()

    return Case(
        place="position",
        make=lambda: make(4, 8, 6),
        parity="transformers T5Attention",
        limits={
            "a row of the table for each pair": pair_by_pair,
            "a table of one number: no position": all_alike,
            "shifted: the same": shifted(lambda: make(3, 8, 6)),
        },
        refusals={
            "an odd number of buckets": lambda: make(4, 9),
            "a reach within the exact buckets": lambda: make(4, 32, 8),
        },
        laws={"order": ORDERED},
    )


@case("T5Bias", T5Bias)
def _() -> Case:
    return _limits(T5Bias)


@case("CausalT5Bias", CausalT5Bias)
def _() -> Case:
    return _limits(CausalT5Bias)
