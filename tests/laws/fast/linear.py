"""Cases of `deepdive.fast.linear`."""

import torch

from deepdive.fast.linear import Linear
from laws import Case, case, random_rows, set_weights


@case("Linear", Linear)
def _() -> Case:
    x, identity = random_rows(2, 5, 16), Linear(16, 16)
    set_weights(identity, weight=torch.eye(16), bias=0.0)
    return Case(
        place="feed_forward",
        make=lambda: Linear(16, 16),
        parity="torch.nn.Linear",
        limits={"the identity matrix: the input": lambda: (identity(x), x)},
        refusals={"another width": lambda: Linear(16, 16)(torch.zeros(2, 3, 15))},
    )
