"""Cases of `deepdive.attention.low_rank.linformer`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepdive.attention.low_rank.linformer import LengthProjection, LinformerAttention
from deepdive.attention.multi_head import MultiHeadAttention
from deepdive.attention.softmax import SoftmaxAttention
from laws import Case, Fails, NotApplicable, Refuses, case, padding_of, random_rows, set_weights
from laws.attention.softmax import mechanism_case


def _mechanism(n_heads: int = 4, max_length: int = 8) -> LinformerAttention:
    return LinformerAttention(*(LengthProjection(n_heads, max_length, 3) for _ in range(2)))


@case("LengthProjection", LengthProjection)
def _() -> Case:
    x = random_rows(2, 1, 5, 4)

    def identity() -> tuple[Tensor, Tensor]:
        part = LengthProjection(1, 5, 5)
        set_weights(part, weight=torch.eye(5))
        return part(x), x

    def shorter() -> tuple[Tensor, Tensor]:
        part = LengthProjection(1, 7, 3).double()
        return part(x), part(torch.cat([x, torch.zeros(2, 1, 2, 4)], dim=2))

    sums = NotApplicable("what comes out has other rows than what went in")
    return Case(
        make=lambda: LengthProjection(1, 8, 8),
        run=lambda part, x, mask=None, state=None: part(x[:, None], padding_of(mask))[:, 0],
        parity="none: one matrix product, compared with the sum in the parity of the mechanism",
        limits={"the identity matrix: the rows": identity, "shorter: rows of 0": shorter},
        refusals={
            "longer": lambda: LengthProjection(1, 4, 3)(x),
            "other heads": lambda: LengthProjection(3, 5, 3)(random_rows(2, 2, 5, 4)),
            "no rows": lambda: LengthProjection(1, 0, 3),
        },
        laws={
            "no_leak": sums,
            "padding": sums,
            "cache": sums,
            "order": sums,
            "hooks": NotApplicable("it has no weights of attention"),
        },
    )


@case("linformer", LinformerAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 5, 4, seed=seed) for seed in range(3))

    def identity() -> tuple[Tensor, Tensor]:
        E = LengthProjection(1, 5, 5)
        set_weights(E, weight=torch.eye(5))
        return LinformerAttention(E)(q, k, v), SoftmaxAttention()(q, k, v)

    def copied() -> tuple[Tensor, Tensor]:
        """One matrix for all heads, keys and values = copies of it."""
        E, each = LengthProjection(1, 5, 3).double(), _mechanism(2, 5)
        set_weights(each, E__weight=E.weight, F__weight=E.weight)
        return LinformerAttention(E)(q, k, v), each(q, k, v)

    def layers() -> tuple[Tensor, Tensor]:
        """One object in two layers is one set of weights."""
        E = LengthProjection(1, 5, 3)
        both = nn.ModuleList(
            MultiHeadAttention(8, 2, mechanism=LinformerAttention(E)) for _ in "12"
        )
        apart = nn.ModuleList(MultiHeadAttention(8, 2, mechanism=_mechanism(1, 5)) for _ in "12")
        more = [sum(p.numel() for p in each.parameters()) for each in (apart, both)]
        return torch.tensor(more[0] - more[1]), torch.tensor(3 * E.weight.numel())

    zeros = [torch.zeros(1, 2, 3, 4)] * 3
    mixed = "a sum of all keys holds what comes later"
    return mechanism_case(
        _mechanism,
        parity="the sums over positions written out, in float64",
        limits={"the identity matrix: SoftmaxAttention": identity, "copies": copied, "2": layers},
        laws={
            "no_leak": Refuses(mixed),
            "cache": Refuses(mixed),
            "order": Fails("a row's place decides what it weighs in a sum"),
        },
        refusals={"longer than it was made for": lambda: _mechanism(2, 2)(*zeros)},
    )
