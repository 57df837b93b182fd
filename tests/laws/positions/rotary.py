"""Cases of `deepdive.positions.rotary`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.positions.rotary import RotaryPosition
from laws import Case, case, random_rows
from laws.positions.base import ORDERED, shifted


@case("rope", RotaryPosition)
def _() -> Case:
    def complex_numbers() -> tuple[Tensor, Tensor]:
        rows, at = random_rows(2, 3, 5, 6), torch.arange(7, 12)
        turned = RotaryPosition(6).rotate(rows, at)
        z = torch.view_as_complex(rows.unflatten(-1, (3, 2)))
        z = z * torch.exp(1j * at.double()[:, None] * 10_000.0 ** (-torch.arange(3).double() / 3))
        return turned, torch.view_as_real(z).flatten(-2)

    def at_zero() -> tuple[Tensor, Tensor]:
        rows = random_rows(2, 3, 5, 6)
        return RotaryPosition(6).rotate(rows, torch.zeros(5).long()), rows

    return Case(
        place="position",
        make=lambda: RotaryPosition(4),
        parity="transformers RoFormerModel",
        limits={
            "complex numbers times exp(i angle)": complex_numbers,
            "all at place 0: as they were": at_zero,
            "shifted: the same scores": shifted(lambda: RotaryPosition(4)),
        },
        refusals={"an odd width": lambda: RotaryPosition(5)},
        laws={"order": ORDERED},
    )
