"""Cases of `deepdive.attention.priors.synthesizer`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from deepdive.attention.priors.synthesized_scores import (
    DenseScores,
    FactorisedDenseScores,
    FactorisedRandomScores,
    RandomScores,
    Scores,
)
from deepdive.attention.priors.synthesizer import SynthesizedAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Causal, Padding
from laws import Case, Fails, Pair, case, random_rows


def _case(make: Callable[[], Scores], limits: Mapping[str, Pair]) -> Case:
    x = torch.zeros(1, 3, 16)

    def layer() -> SynthesizedAttention:
        return SynthesizedAttention(16, 4, make())

    return Case(
        place="layer",
        make=layer,
        parity="the equations of Tay et al. 2021, entry by entry",
        limits=limits,
        refusals={
            "a context": lambda: layer()(x, context=x),
            "positions": lambda: layer()(x, positions=torch.arange(3)),
            "a longer sequence": lambda: layer()(torch.zeros(1, 13, 16)),
            "another width": lambda: layer()(torch.zeros(1, 3, 15)),
            "scores for other heads": lambda: SynthesizedAttention(16, 2, make()),
        },
        laws={"order": Fails("a column of the scores is a place")},
    )


MASK = Causal() & Padding(torch.tensor([[0, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 0]]).bool())


def _known(made: Scores, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return a layer's output under MASK, and that of known weights (H, 7, 7) without a softmax."""
    x, layer = random_rows(2, 7, 16), SynthesizedAttention(16, 4, made).double()
    v = layer.v(x).unflatten(-1, (4, 4)).transpose(1, 2)
    allowed = weights * MASK.dense(7)
    allowed = allowed / allowed.sum(-1, keepdim=True).clamp(min=1e-300)
    return layer(x, mask=MASK), layer.out((allowed @ v).transpose(1, 2).flatten(2))


@case("synthesizer", SynthesizedAttention)
def _() -> Case:
    def as_a_bias() -> tuple[Tensor, Tensor]:
        """Adding the scores to plain attention without queries is the same."""
        x, layer = random_rows(2, 7, 16), SynthesizedAttention(16, 4, RandomScores(4, 12)).double()
        v = layer.v(x).unflatten(-1, (4, 4)).transpose(1, 2)
        given = SoftmaxAttention()(v, v, v, MASK, layer.made(x, 0)[..., :7], scale=0.0)
        return layer(x, mask=MASK), layer.out(given.transpose(1, 2).flatten(2))

    return _case(lambda: RandomScores(4, 12), {"a bias and no query: SoftmaxAttention": as_a_bias})


@case("RandomScores", RandomScores)
def _() -> Case:
    def logarithm() -> tuple[Tensor, Tensor]:
        made, weights = RandomScores(4, 7), random_rows(4, 7, 7).softmax(-1)
        made.table.data = weights.log()
        return _known(made, weights)

    return _case(
        lambda: RandomScores(4, 12), {"the logarithm of weights: these weights": logarithm}
    )


@case("DenseScores", DenseScores)
def _() -> Case:
    def deaf() -> tuple[Tensor, Tensor]:
        """Rows that say nothing leave the bias: one distribution for all."""
        made, weights = DenseScores(16, 4, 7), random_rows(4, 1, 7).softmax(-1)
        made.outer.weight.data.zero_()
        made.outer.bias.data = weights.log()
        return _known(made, weights.expand(4, 7, 7))

    return _case(lambda: DenseScores(16, 4, 12), {"rows that say nothing: the bias": deaf})


@case("FactorisedDenseScores", FactorisedDenseScores)
def _() -> Case:
    def one_factor() -> tuple[Tensor, Tensor]:
        """With b = 1 and B = 1 the scores are those of the dense form."""
        ours, dense = FactorisedDenseScores(16, 4, (12, 1)), DenseScores(16, 4, 12)
        ours.second.weight.data.zero_()
        ours.second.bias.data.fill_(1.0)
        ours.first.load_state_dict(dense.outer.state_dict())
        ours.inner.weight.data[:16] = dense.inner.weight.data
        ours.inner.bias.data[:16] = dense.inner.bias.data
        x = random_rows(2, 7, 16)
        return ours.double()(x, 0), dense.double()(x, 0)

    return _case(
        lambda: FactorisedDenseScores(16, 4, (4, 3)), {"a factor of 1: DenseScores": one_factor}
    )


@case("FactorisedRandomScores", FactorisedRandomScores)
def _() -> Case:
    def full_rank() -> tuple[Tensor, Tensor]:
        made, weights = FactorisedRandomScores(4, 7, 7), random_rows(4, 7, 7).softmax(-1)
        made.left.data = weights.log()
        made.right.data = torch.eye(7).double().repeat(4, 1, 1)
        return _known(made, weights)

    return _case(lambda: FactorisedRandomScores(4, 12, 3), {"full rank: any weights": full_rank})
