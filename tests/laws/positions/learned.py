"""Cases of `deepdive.positions.learned`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.positions.learned import LearnedPosition
from deepdive.positions.sinusoidal import SinusoidalPosition
from laws import Case, case, random_rows, set_weights
from laws.positions.base import ORDERED


@case("learned_position", LearnedPosition)
def _() -> Case:
    def a_table_of_waves() -> tuple[Tensor, Tensor]:
        x, positions = random_rows(2, 5, 16), torch.arange(5)
        learned, waves = LearnedPosition(8, 16), SinusoidalPosition(16)
        set_weights(learned, table__weight=waves.table(torch.arange(8)))
        return learned.embed(x, positions), waves.embed(x, positions)

    return Case(
        place="position",
        make=lambda: LearnedPosition(8, 16),
        parity="transformers GPT2LMHeadModel, its wpe",
        limits={"a table of waves: SinusoidalPosition": a_table_of_waves},
        refusals={
            "beyond the table": lambda: LearnedPosition(8, 16).embed(
                torch.zeros(1, 9, 16), torch.arange(9)
            )
        },
        laws={"order": ORDERED},
    )
