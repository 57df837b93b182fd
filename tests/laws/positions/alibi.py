"""Cases of `deepdive.positions.alibi`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.positions.alibi import ALiBi
from laws import Case, case, random_rows
from laws.positions.base import ORDERED, shifted


@case("ALiBi", ALiBi)
def _() -> Case:
    q, k, at = random_rows(2, 2, 4, 4), random_rows(2, 2, 6, 4, seed=6), torch.arange(6)

    def pair_by_pair() -> tuple[Tensor, Tensor]:
        added = ALiBi(2).bias(q, k, at[2:], at)
        distance = (at[None] - at[2:, None]).abs().double()
        return added, torch.stack([-distance / 16, -distance / 256])[None]

    return Case(
        place="position",
        make=lambda: ALiBi(4),
        parity="transformers BloomModel",
        limits={
            "slope times distance, pair by pair": pair_by_pair,
            "shifted: the same": shifted(lambda: ALiBi(3)),
        },
        refusals={"no heads": lambda: ALiBi(0)},
        laws={"order": ORDERED},
    )
