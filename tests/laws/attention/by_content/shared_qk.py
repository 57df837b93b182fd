"""Cases of `deepdive.attention.by_content.shared_qk`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.by_content.shared_qk import (
    SharedQKAttention,
    SharedQKMultiHeadAttention,
    directions,
)
from deepdive.masks import Causal
from laws import Case, Refuses, case, random_rows, set_weights
from laws.attention.softmax import mechanism_case

SQUARE = Refuses("a key for each query: earlier keys are not kept")


@case("SharedQKAttention", SharedQKAttention)
def _() -> Case:
    q, v = random_rows(2, 2, 5, 4), random_rows(2, 2, 5, 4, seed=1)

    def by_hand() -> tuple[Tensor, Tensor]:
        """The first row has no other key under a causal mask; the last one has all but its own."""
        ours = SharedQKAttention()(q, q, v, Causal())
        scores = q[:, :, -1:] @ directions(q[:, :, :-1]).transpose(-2, -1)
        last = scores.softmax(-1) @ v[:, :, :-1]
        return ours[:, :, [0, -1]], torch.cat([v[:, :, :1], last], dim=2)

    return mechanism_case(
        SharedQKAttention,
        parity="the equation in loops",
        limits={"the first row itself, the last one all others": by_hand},
        laws={"cache": SQUARE},
    )


@case("SharedQKMultiHeadAttention", SharedQKMultiHeadAttention)
def _() -> Case:
    def no_projections() -> tuple[Tensor, Tensor]:
        x, one = random_rows(2, 5, 8), torch.eye(8)
        layer = SharedQKMultiHeadAttention(8, 1)
        set_weights(layer, qk__weight=one, v__weight=one, out__weight=one)
        return layer(x), SharedQKAttention()(x[:, None], x[:, None], x[:, None])[:, 0]

    rows = torch.zeros(1, 3, 8)
    return Case(
        place="layer",
        make=lambda: SharedQKMultiHeadAttention(16, 4),
        parity="transformers LSHSelfAttention, one chunk",
        limits={"one head, no projections: the mechanism": no_projections},
        refusals={
            "heads that do not divide": lambda: SharedQKMultiHeadAttention(10, 4),
            "foreign rows": lambda: SharedQKMultiHeadAttention(8, 2)(rows, rows),
        },
        laws={"cache": SQUARE},
    )
