"""Cases of `deepdive.layers.experts`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.core import FeedForward
from deepdive.layers import NoisyTopKRouter, SparseExperts, SwitchRouter, TopKRouter
from laws import Case, NotApplicable, case, random_rows

X = random_rows(2, 3, 16)


def experts(router: TopKRouter, **changes: int) -> SparseExperts:
    torch.manual_seed(0)
    return SparseExperts(router, 16, 12, **changes)


def layer(mixture: SparseExperts, e: int) -> FeedForward:
    """Expert e as a feed-forward layer."""
    plain = FeedForward(16, 12, bias=False).double()
    plain.load_state_dict(
        {
            "inner.weight": mixture.experts.inner.weight[e],
            "out.weight": mixture.experts.out.weight[e],
        }
    )
    return plain


def alone(router: TopKRouter) -> tuple[Tensor, Tensor]:
    mixture = experts(router).double()
    return mixture(X), layer(mixture, 0)(X)


def all_chosen() -> tuple[Tensor, Tensor]:
    """Even scores: the mean of all experts."""
    mixture = experts(TopKRouter(16, 3, 3)).double()
    torch.nn.init.zeros_(mixture.router.score.weight)
    return mixture(X), torch.stack([layer(mixture, e)(X) for e in range(3)]).mean(0)


REFUSALS = {
    "more chosen than there are": lambda: TopKRouter(16, 2, 3),
    "an expert without room": lambda: experts(TopKRouter(16, 2), capacity=0),
}


@case("sparse_moe", SparseExperts)
def _() -> Case:
    return Case(
        place="feed_forward",
        make=lambda: experts(TopKRouter(16, 3, 2)),
        parity="transformers MixtralSparseMoeBlock",
        limits={
            "one expert: a feed-forward layer": lambda: alone(TopKRouter(16, 1, 1)),
            "all chosen, even scores: their mean": all_chosen,
        },
        refusals=REFUSALS,
        laws={"dtype": NotApplicable("rounding may choose another expert")},
    )


@case("sparse_moe/NoisyTopKRouter", SparseExperts)
def _() -> Case:
    return Case(
        place="feed_forward",
        make=lambda: experts(NoisyTopKRouter(16, 3, 2)),
        parity="none: no package has a noisy router; tests/layers/test_parity_experts.py has it",
        limits={"one expert: a feed-forward layer": lambda: alone(NoisyTopKRouter(16, 1, 1))},
        refusals=REFUSALS,
    )


@case("sparse_moe/SwitchRouter", SparseExperts)
def _() -> Case:
    return Case(
        place="feed_forward",
        make=lambda: experts(SwitchRouter(16, 2)),
        parity="transformers SwitchTransformersSparseMLP",
        limits={"one expert: a feed-forward layer": lambda: alone(SwitchRouter(16, 1))},
        refusals=REFUSALS,
    )
