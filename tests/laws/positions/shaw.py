"""Cases of `deepdive.positions.shaw`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.positions.shaw import ShawPosition
from laws import Case, case, random_rows
from laws.positions.base import ORDERED, shifted


@case("ShawPosition", ShawPosition)
def _() -> Case:
    q, k, at = random_rows(2, 3, 5, 4), random_rows(2, 3, 7, 4, seed=6), torch.arange(7)

    def entry_by_entry() -> tuple[Tensor, Tensor]:
        shaw = ShawPosition(4, 2, 1).double()
        named = (at[None] - at[2:, None]).clamp(-2, 1) + 2  # (5, 7)
        by_hand = torch.einsum("bhtd,tsd->bhts", q, shaw.keys[named]) / 2
        added = shaw.bias(q, k, at[2:], at)
        return added, by_hand

    def another_scale() -> tuple[Tensor, Tensor]:
        plain, doubled = ShawPosition(4, 2).double(), ShawPosition(4, 2, scale=1.0).double()
        doubled.keys = plain.keys
        a, b = (scheme.bias(q, k, at[2:], at) for scheme in (plain, doubled))
        return 2 * a, b

    return Case(
        place="position",
        make=lambda: ShawPosition(4, 2),
        parity="transformers Wav2Vec2BertSelfAttention, relative_key",
        limits={
            "a vector gathered for each pair": entry_by_entry,
            "its scale": another_scale,
            "shifted: the same": shifted(lambda: ShawPosition(4, 2)),
        },
        refusals={"a reach below 0": lambda: ShawPosition(4, -1)},
        laws={"order": ORDERED},
    )
