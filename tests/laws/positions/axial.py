"""Cases of `deepdive.positions.axial`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.positions.axial import AxialPosition
from deepdive.positions.learned import LearnedPosition
from laws import Case, case, random_rows, set_weights
from laws.positions.base import ORDERED


@case("AxialPosition", AxialPosition)
def _() -> Case:
    def written_out() -> tuple[Tensor, Tensor]:
        x, axial = random_rows(2, 6, 16), AxialPosition((2, 4), (6, 10)).double()
        rows = [
            torch.cat([axial.tables[0][i, 0], axial.tables[1][0, j]])
            for i in (0, 1)
            for j in range(4)
        ]
        learned = LearnedPosition(8, 16)
        set_weights(learned, table__weight=torch.stack(rows).detach())
        return axial.embed(x, torch.arange(6)), learned.embed(x, torch.arange(6))

    return Case(
        place="position",
        make=lambda: AxialPosition((2, 4), (6, 10)),
        parity="transformers ReformerModel, its embeddings",
        limits={"written out: LearnedPosition": written_out},
        refusals={
            "beyond the table": lambda: AxialPosition((2, 4), (6, 10)).embed(
                torch.zeros(1, 9, 16), torch.arange(9)
            )
        },
        laws={"order": ORDERED},
    )
