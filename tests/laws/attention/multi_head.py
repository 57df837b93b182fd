"""Cases of `deepdive.core.multi_head`, and of what it is under one setting or another."""

from typing import Any

import torch
from torch import Tensor

from deepdive.core.cache import Slot
from deepdive.core.masks import Causal, both
from deepdive.core.multi_head import MultiHeadAttention
from deepdive.core.softmax import SoftmaxAttention
from laws import Case, NotApplicable, Pair, case, random_rows, set_weights

PARITY = "torch.nn.MultiheadAttention"
X = random_rows(2, 5, 16)
FOREIGN = torch.randn(1, 3, 16, generator=torch.Generator().manual_seed(4))


def the_mechanism(d_model: int) -> Pair:
    """Return the limit of one head without projections."""

    def pair() -> tuple[Tensor, Tensor]:
        x, one = random_rows(2, 5, d_model), torch.eye(d_model)
        layer = MultiHeadAttention(d_model, 1)
        set_weights(layer, q__weight=one, kv__weight=torch.cat([one, one]), out__weight=one)
        return layer(x), SoftmaxAttention()(x[:, None], x[:, None], x[:, None])[:, 0]

    return pair


def copied_heads(d_model: int, n_kv_heads: int) -> Pair:
    """Return the limit of query heads that share a key-value head: plain heads whose keys and
    values are copies of each other.
    """

    def pair() -> tuple[Tensor, Tensor]:
        x, plain = random_rows(2, 5, d_model), MultiHeadAttention(d_model, 4).double()
        shared = MultiHeadAttention(d_model, 4, n_kv_heads=n_kv_heads).double()
        plain.q, plain.out = shared.q, shared.out
        halves = (half.unflatten(0, (n_kv_heads, -1)) for half in shared.kv.weight.chunk(2))
        k, v = (half.repeat_interleave(4 // n_kv_heads, 0).flatten(0, 1) for half in halves)
        set_weights(plain, kv__weight=torch.cat([k, v]))
        return shared(x), plain(x)

    return pair


@case("multi_head", MultiHeadAttention)
def _() -> Case:
    x = torch.zeros(1, 3, 8)
    return Case(
        place="layer",
        make=lambda: MultiHeadAttention(16, 4, n_kv_heads=2),
        parity=PARITY,
        limits={
            "one head, no projections: the mechanism": the_mechanism(8),
            "copied heads": copied_heads(8, 2),
        },
        refusals={
            "heads that do not divide": lambda: MultiHeadAttention(10, 4),
            "groups that do not divide": lambda: MultiHeadAttention(8, 4, n_kv_heads=3),
            "a wrong width": lambda: MultiHeadAttention(8, 2)(torch.zeros(1, 3, 9)),
            "a float mask": lambda: MultiHeadAttention(8, 2)(x, mask=torch.zeros(3, 3)),
            "an empty batch": lambda: MultiHeadAttention(8, 2)(torch.zeros(0, 3, 8)),
            "dropout in two places": lambda: MultiHeadAttention(
                8, 2, dropout=0.1, mechanism=SoftmaxAttention()
            ),
            "a cache under gradients": lambda: MultiHeadAttention(8, 2)(x, cache=Slot()),
        },
    )


@case("self_attention", MultiHeadAttention)
def _() -> Case:
    return Case(
        place="layer",
        parity=PARITY,
        limits={"no projections: the mechanism on the rows themselves": the_mechanism(16)},
        refusals={"no heads": lambda: MultiHeadAttention(16, 0)},
    )


@case("multi_query", MultiHeadAttention)
def _() -> Case:
    return Case(
        place="layer",
        parity=PARITY,
        limits={"copied keys and values: multi-head": copied_heads(16, 1)},
        refusals={"heads that do not divide": lambda: MultiHeadAttention(16, 4, n_kv_heads=3)},
    )


@case("masked_attention", MultiHeadAttention)
def _() -> Case:
    def run(layer: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return layer(x, mask=both(mask, Causal()), cache=state)

    def the_last_row() -> tuple[Tensor, Tensor]:
        layer = MultiHeadAttention(16, 4).double()
        return run(layer, X)[:, -1], layer(X)[:, -1]

    return Case(
        run=run,
        begin=lambda layer: Slot(),
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
        return layer(x, memory=FOREIGN.to(x).expand(len(x), -1, -1), cache=state)

    def its_own_rows() -> tuple[Tensor, Tensor]:
        layer = MultiHeadAttention(16, 4).double()
        return layer(X, memory=X), layer(X)

    foreign = NotApplicable("a mask here is of the foreign rows, which the law does not change")
    return Case(
        run=run,
        begin=lambda layer: Slot(),
        parity=PARITY,
        limits={"its own rows as the memory: self-attention": its_own_rows},
        refusals={
            "foreign rows of another width": lambda: MultiHeadAttention(16, 4, d_context=8)(
                torch.zeros(1, 3, 16), memory=torch.zeros(1, 3, 9)
            )
        },
        laws={"padding": foreign},
    )
