"""Cases of what `MultiHeadAttention` is under one setting or another."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from deepdive.attention import MultiHeadAttention, SoftmaxAttention
from deepdive.masks import Causal, both
from laws import Case, NotApplicable, case, random_rows, set_weights

PARITY = "torch.nn.MultiheadAttention"
FOREIGN = torch.randn(1, 3, 16, generator=torch.Generator().manual_seed(4))


@case("self_attention", MultiHeadAttention)
def _() -> Case:
    def bare() -> tuple[Tensor, Tensor]:
        x, one, layer = random_rows(2, 5, 16), torch.eye(16), MultiHeadAttention(16, 1)
        set_weights(layer, q__weight=one, kv__weight=torch.cat([one, one]), out__weight=one)
        return layer(x), SoftmaxAttention()(x[:, None], x[:, None], x[:, None])[:, 0]

    return Case(
        place="layer",
        make=lambda: MultiHeadAttention(16, 1),
        parity=PARITY,
        limits={"no projections: the mechanism on the rows themselves": bare},
        refusals={"no heads": lambda: MultiHeadAttention(16, 0)},
    )


@case("multi_query", MultiHeadAttention)
def _() -> Case:
    def copied() -> tuple[Tensor, Tensor]:
        """One key-value head = plain heads whose keys and values are copies of each other."""
        x, shared = random_rows(2, 5, 16), MultiHeadAttention(16, 4, n_kv_heads=1).double()
        plain = MultiHeadAttention(16, 4).double()
        plain.q, plain.out = shared.q, shared.out
        weights = torch.cat([half.repeat(4, 1) for half in shared.kv.weight.chunk(2)])
        set_weights(plain, kv__weight=weights)
        return shared(x), plain(x)

    return Case(
        place="layer",
        make=lambda: MultiHeadAttention(16, 4, n_kv_heads=1),
        parity=PARITY,
        limits={"copied keys and values: multi-head": copied},
        refusals={"heads that do not divide": lambda: MultiHeadAttention(16, 4, n_kv_heads=3)},
    )


@case("masked_attention", MultiHeadAttention)
def _() -> Case:
    def run(layer: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return layer(x, mask=both(mask, Causal()), cache=state)

    def the_last_row() -> tuple[Tensor, Tensor]:
        x, layer = random_rows(2, 5, 16), MultiHeadAttention(16, 4).double()
        return run(layer, x)[:, -1], layer(x)[:, -1]

    def begin(_layer: Any) -> Any:
        from deepdive.attention import Slot

        return Slot()

    return Case(
        make=lambda: MultiHeadAttention(16, 4),
        run=run,
        begin=begin,
        parity=PARITY,
        limits={"the last row, which sees all: without a mask": the_last_row},
        refusals={
            "a mask of numbers": lambda: MultiHeadAttention(16, 4)(
                torch.zeros(1, 3, 16), mask=torch.zeros(3, 3)
            )
        },
        laws={"order": NotApplicable("what a row sees depends on its place, on purpose")},
    )


@case("cross_attention", MultiHeadAttention)
def _() -> Case:
    def run(layer: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        rows = FOREIGN.to(x.dtype).expand(len(x), -1, -1)
        return layer(x, rows, cache=state)

    def its_own_rows() -> tuple[Tensor, Tensor]:
        x, layer = random_rows(2, 5, 16), MultiHeadAttention(16, 4).double()
        return layer(x, x), layer(x)

    def begin(_layer: Any) -> Any:
        from deepdive.attention import Slot

        return Slot()

    foreign = NotApplicable("a mask here is of the foreign rows, which the law does not change")
    return Case(
        make=lambda: MultiHeadAttention(16, 4),
        run=run,
        begin=begin,
        parity=PARITY,
        limits={"its own rows as the context: self-attention": its_own_rows},
        refusals={
            "foreign rows of another width": lambda: MultiHeadAttention(16, 4, d_context=8)(
                torch.zeros(1, 3, 16), torch.zeros(1, 3, 9)
            )
        },
        laws={"padding": foreign},
    )
