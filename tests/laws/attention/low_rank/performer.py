"""Cases of `deepdive.attention.low_rank.performer`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.low_rank.performer import PerformerAttention
from deepdive.attention.softmax import SoftmaxAttention
from laws import Case, case, random_rows
from laws.attention.low_rank.kernel import NO_WEIGHTS
from laws.attention.softmax import mechanism_case


@case("performer", PerformerAttention)
def _() -> Case:
    def many() -> tuple[Tensor, Tensor]:
        """At d_head = 1 the expectation is an integral, which a fine grid of directions gives."""
        q, k, v = (random_rows(2, 2, 5, 1, seed=seed) for seed in range(3))
        grid = torch.linspace(-16, 16, 2001, dtype=torch.float64).unsqueeze(-1)
        attention = PerformerAttention(1, 2001).double()
        attention.drawn = grid
        plain = attention.of_queries

        def weighed(rows: Tensor, scale: float) -> Tensor:
            return plain(rows, scale) * (-(grid[:, 0] ** 2) / 2).exp()

        attention.of_queries = weighed  # type: ignore[method-assign,assignment]
        return attention(q, k, v), SoftmaxAttention()(q, k, v)

    zeros = [torch.zeros(1, 2, 3, 4)] * 3
    return mechanism_case(
        lambda: PerformerAttention(4, 16, chunk=4),
        parity="each weight from its two features, in float64",
        limits={
            "the expectation, by integration: SoftmaxAttention": many,
        },
        laws={"hooks": NO_WEIGHTS},
        refusals={
            "a negative scale": lambda: PerformerAttention(4, 16)(*zeros, scale=-1.0),
            "another width": lambda: PerformerAttention(8, 16)(*zeros),
            "no features": lambda: PerformerAttention(4, 0),
            "a negative wait": lambda: PerformerAttention(4, 16, redraw_every=-1),
        },
    )
