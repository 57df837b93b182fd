"""Cases of `deepdive.fast.linear`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.fast.linear import Linear
from laws import Case, case, random_rows, set_weights


@case("Linear", Linear)
def _() -> Case:
    def identity() -> tuple[Tensor, Tensor]:
        layer, x = Linear(16, 16), random_rows(2, 5, 16)
        set_weights(layer, weight=torch.eye(16), bias=0.0)
        return layer.double()(x), x

    return Case(
        place="feed_forward",
        make=lambda: Linear(16, 16),
        parity="torch.nn.Linear",
        limits={"the identity matrix: the input": identity},
        refusals={"another width": lambda: Linear(16, 16)(torch.zeros(2, 3, 15))},
    )
