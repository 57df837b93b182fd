"""Cases of `deepdive.attention.low_rank.value_convolution`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.low_rank.value_convolution import ValueConvolution
from laws import Case, Fails, NotApplicable, case, padding_of, random_rows, set_weights


@case("ValueConvolution", ValueConvolution)
def _() -> Case:
    v = random_rows(2, 4, 9, 5)

    def only_itself() -> tuple[Tensor, Tensor]:
        part = ValueConvolution(4, 3)
        set_weights(part, weight=torch.tensor([0.0, 1.0, 0.0]))
        return part(v), v

    two_sided = NotApplicable("it reads both sides, on purpose")
    return Case(
        make=lambda: ValueConvolution(4, 5),
        run=lambda part, x, mask=None, state=None: (
            part(x.unflatten(-1, (4, 4)).transpose(1, 2), padding_of(mask))
            .transpose(1, 2)
            .flatten(2)
        ),
        parity="torch.nn.functional.conv2d with one group a head",
        limits={"the weight 1 in the middle: v": only_itself},
        refusals={
            "an even kernel": lambda: ValueConvolution(4, 4),
            "other heads": lambda: ValueConvolution(3, 3)(v),
        },
        laws={
            "no_leak": two_sided,
            "cache": two_sided,
            "order": Fails("a row's place decides which number it meets"),
            "hooks": NotApplicable("it has no weights of attention"),
        },
    )
