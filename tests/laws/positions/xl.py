"""Cases of `deepdive.positions.xl`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.positions.xl import XLPosition
from laws import Case, case, random_rows, set_weights
from laws.positions.base import ORDERED, shifted


@case("XLPosition", XLPosition)
def _() -> Case:
    q, k, at = random_rows(2, 3, 4, 4), random_rows(2, 3, 6, 4, seed=6), torch.arange(6)

    def drawn() -> XLPosition:
        scheme = XLPosition(8, 3, 4)
        set_weights(scheme, u=random_rows(3, 4, seed=7), v=random_rows(3, 4, seed=8))
        return scheme

    def term_by_term() -> tuple[Tensor, Tensor]:
        scheme, T = drawn(), range(4)
        added = scheme.bias(q, k, at[2:], at)
        rows = [[scheme.W(scheme.waves.table(at[2 + t] - at[s])) for s in range(6)] for t in T]
        r = torch.stack([torch.stack(row) for row in rows]).unflatten(-1, (3, 4))  # (T, S, H, d)
        b_d = torch.einsum("bhtd,tshd->bhts", q, r) + torch.einsum("hd,tshd->hts", scheme.v, r)
        return added, (b_d + torch.einsum("hd,bhsd->bhs", scheme.u, k)[:, :, None]) / 2

    def nothing_learned() -> tuple[Tensor, Tensor]:
        scheme = set_weights(XLPosition(8, 3, 4), W__weight=0.0)
        added = scheme.bias(q, k, at[2:], at)  # type: ignore[operator]
        return added, torch.zeros(2, 3, 4, 6).double()

    return Case(
        place="position",
        make=lambda: XLPosition(16, 4),
        parity="transformers Wav2Vec2BertSelfAttention, relative",
        limits={
            "its three terms, pair by pair": term_by_term,
            "W = u = 0: no position": nothing_learned,
            "shifted: the same": shifted(drawn),
        },
        refusals={"heads that do not divide": lambda: XLPosition(10, 4)},
        laws={"order": ORDERED},
    )
