"""Cases of `deepdive.positions.sinusoidal`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.positions.sinusoidal import BlockedSinusoidalPosition, SinusoidalPosition
from laws import Case, NotApplicable, case
from laws.positions.base import ORDERED


@case("sinusoidal", SinusoidalPosition)
def _() -> Case:
    def relative_offset() -> tuple[Tensor, Tensor]:
        """PE[pos + 3] is PE[pos] turned by 3 * frequency in every (sin, cos) plane."""
        waves = SinusoidalPosition(16)
        sines, cosines = waves.table(torch.arange(20)).unflatten(-1, (8, 2)).unbind(-1)
        angle = 3 * 10_000.0 ** (-torch.arange(0, 16, 2, dtype=torch.float64) / 16)
        turned = (
            sines * angle.cos() + cosines * angle.sin(),
            cosines * angle.cos() - sines * angle.sin(),
        )
        return torch.stack(turned, -1).flatten(-2), waves.table(torch.arange(3, 23))

    return Case(
        place="position",
        make=lambda: SinusoidalPosition(16),
        parity="the closed form",
        limits={"a shift is a rotation": relative_offset},
        laws={"order": ORDERED, "refusal": NotApplicable("it has a value for every position")},
    )


@case("BlockedSinusoidalPosition", BlockedSinusoidalPosition)
def _() -> Case:
    def another_order() -> tuple[Tensor, Tensor]:
        positions = torch.arange(20)
        plain = SinusoidalPosition(16).table(positions + 3)
        blocked = BlockedSinusoidalPosition(16, offset=3).table(positions)
        return blocked, torch.cat((plain[:, 0::2], plain[:, 1::2]), dim=-1)

    return Case(
        place="position",
        make=lambda: BlockedSinusoidalPosition(16, steps=7, offset=2),
        parity="transformers MarianMTModel and FSMTForConditionalGeneration",
        limits={"SinusoidalPosition in another order": another_order},
        refusals={"an odd width": lambda: BlockedSinusoidalPosition(15)},
        laws={"order": ORDERED},
    )
