"""Cases of `deepdive.attention.priors`."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from deepdive.attention.priors.priors import GaussianPrior, LocalAttention, TablePrior
from deepdive.attention.priors.shaw import ShawAttention
from deepdive.attention.priors.synthesized_scores import (
    DenseScores,
    FactorizedDenseScores,
    FactorizedRandomScores,
    RandomScores,
    Scores,
)
from deepdive.attention.priors.synthesizer import SynthesizedAttention
from deepdive.core import Position
from deepdive.core.masks import Causal, Padding
from deepdive.core.multi_head import MultiHeadAttention
from deepdive.core.softmax import SoftmaxAttention
from deepdive.positions import ShawPosition
from laws import Case, Fails, Pair, case, random_rows, set_weights
from laws.attention.softmax import NEAR, heads, mechanism_case, same

X, PLACES = random_rows(2, 7, 16), torch.arange(7)
MASK = Causal() & Padding(torch.tensor([[0, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 0]]).bool())


def no_position(scheme: Position) -> Pair:
    """Return the limit that a scheme of zeros adds nothing."""

    def pair() -> tuple[Tensor, Tensor]:
        ours, plain = MultiHeadAttention(16, 4, position=scheme), MultiHeadAttention(16, 4).double()
        plain.load_state_dict(ours.state_dict(), strict=False)
        return ours.double()(X), plain(X)

    return pair


@case("gaussian_transformer", GaussianPrior)
def _() -> Case:
    def a_product() -> tuple[Tensor, Tensor]:
        """The weights are those of the content times a Gaussian, made to sum to one again."""
        q, k = (random_rows(2, 4, 7, 4, seed=i) for i in range(2))
        bias = GaussianPrior(1, 0.25).double().bias(q, k, PLACES, PLACES)
        ours = SoftmaxAttention()(q, k, torch.eye(7).double().expand(2, 4, 7, 7), bias=bias)
        bell = torch.exp(-0.25 * (PLACES[:, None] - PLACES).double() ** 2)
        content = (q @ k.mT / 2).softmax(-1) * bell
        return ours, content / content.sum(-1, keepdim=True)

    def narrow() -> tuple[Tensor, Tensor]:
        ours = MultiHeadAttention(16, 4, position=GaussianPrior(1, w=1e4)).double()
        return ours(X), ours(X, mask=torch.eye(7).bool())

    return Case(
        place="layer",
        make=lambda: MultiHeadAttention(16, 4, position=GaussianPrior(4, b=-0.5)),
        parity="the equation of Guo, Zhang and Liu 2019, entry by entry",
        limits={
            "w = 0 and b = 0: MultiHeadAttention": no_position(GaussianPrior(4, w=0.0)),
            "the content's weights times a Gaussian": a_product,
            "w without end: each row sees itself": narrow,
        },
        refusals={"no head": lambda: GaussianPrior(0)},
        laws=NEAR,
    )


@case("TablePrior", TablePrior)
def _() -> Case:
    def alone() -> tuple[Tensor, Tensor]:
        """Without products (scale 0) a table of logarithms gives its own weights."""
        weights, v = random_rows(4, 7, 7).softmax(-1), random_rows(2, 4, 7, 4)
        table = TablePrior(4, 7).double()
        table.table.data = weights.log()
        return SoftmaxAttention()(v, v, v, None, table.bias(v, v, PLACES, PLACES), 0.0), weights @ v

    places, q = torch.arange(10), torch.zeros(1, 4, 10, 4)
    return Case(
        place="layer",
        make=lambda: MultiHeadAttention(16, 4, position=TablePrior(4, 12)),
        parity="the equation of attention with a prior, entry by entry",
        limits={
            "a table of zeros: MultiHeadAttention": no_position(TablePrior(4, 9)),
            "no content: the prior": alone,
        },
        refusals={
            "beyond the table": lambda: TablePrior(4, 9).bias(q, q, places, places),
            "no place": lambda: TablePrior(4, 0),
        },
        laws={"order": Fails("a row and a column of the table are places")},
    )


@case("attention_priors", LocalAttention)
def _() -> Case:
    rows = heads(9)
    drawn = LocalAttention(2, 4).double()
    drawn.window.data.copy_(random_rows(2, 4, 2))

    def prior_is_a_bias() -> tuple[Tensor, Tensor]:
        mask = Causal() & Padding(torch.ones(2, 9).bool())
        bias = drawn.prior(*rows[:2], mask)
        return drawn(*rows, mask), SoftmaxAttention()(*rows, mask, bias)

    def even_start() -> tuple[Tensor, Tensor]:
        """At the start the window is a Gaussian around the middle, of sigma = I / 4."""
        offset = torch.arange(9).double() - 4.5
        prior = LocalAttention(2, 4).double().prior(*rows[:2])
        return prior, (-offset.square() / (2 * (9 / 4) ** 2)).expand(2, 2, 9, 9)

    def padding() -> tuple[Tensor, Tensor]:
        """Padding on either side moves no window."""
        real = Padding(torch.tensor([[0, 0, 1, 1, 1, 1, 1, 0, 0]] * 2).bool())
        return drawn(*rows, real)[:, :, 2:7], drawn(*[one[:, :, 2:7] for one in rows])

    return mechanism_case(
        lambda: LocalAttention(4, 4),
        parity="the equations of Yang et al. 2018, query by query",
        limits={
            "its prior as a bias: SoftmaxAttention": prior_is_a_bias,
            "at the start: a Gaussian around the middle": even_start,
            "padding moves no window": padding,
        },
        laws={"order": Fails("a window stands at a place")},
    )


@case("shaw_relative", ShawAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 3, n, 4, seed=seed) for seed, n in enumerate((5, 7, 7)))

    def pair_by_pair() -> tuple[Tensor, Tensor]:
        shaw, position = ShawAttention(4, 2, 1).double(), ShawPosition(4, 2, 1).double()
        bias = position.bias(q, k, PLACES[2:], PLACES)
        offset = (PLACES - PLACES[2:, None]).clamp(-2, 1) + 2
        weights = ((q @ k.transpose(-2, -1)) / 2 + bias).softmax(-1)
        by_hand = torch.einsum("bhts,tsd->bhtd", weights, shaw.values[offset]) + weights @ v
        return shaw(q, k, v, bias=bias), by_hand

    no_values = same(set_weights(ShawAttention(4, 2), values=0.0), [q, k, v])
    return mechanism_case(
        lambda: ShawAttention(4, 2),
        parity="the equations, written out in loops",
        limits={"a vector for each pair": pair_by_pair, "values 0: SoftmaxAttention": no_values},
        refusals={
            "a reach below 0": lambda: ShawAttention(4, -1),
            "more queries than keys": lambda: ShawAttention(4, 2)(k.float(), *[q.float()] * 2),
        },
        laws={"order": Fails("the values tell who stands where")},
    )


def scores_case(make: Callable[[], Scores], limits: Mapping[str, Pair]) -> Case:
    """Return the case of attention with synthesised scores."""
    x = torch.zeros(1, 3, 16)

    def layer() -> SynthesizedAttention:
        return SynthesizedAttention(16, 4, make())

    return Case(
        place="layer",
        make=layer,
        parity="the equations of Tay et al. 2021, entry by entry",
        limits=limits,
        refusals={
            "a memory": lambda: layer()(x, memory=x),
            "positions": lambda: layer()(x, positions=torch.arange(3)),
            "a longer sequence": lambda: layer()(torch.zeros(1, 13, 16)),
            "another width": lambda: layer()(torch.zeros(1, 3, 15)),
            "scores for other heads": lambda: SynthesizedAttention(16, 2, make()),
        },
        laws={"order": Fails("a column of the scores is a place")},
    )


def known(made: Scores, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return a layer's output under MASK, and that of known weights (H, 7, 7) without a softmax."""
    layer = SynthesizedAttention(16, 4, made).double()
    v = layer.v(X).unflatten(-1, (4, 4)).transpose(1, 2)
    allowed = weights * MASK.dense(7)
    allowed = allowed / allowed.sum(-1, keepdim=True).clamp(min=1e-300)
    return layer(X, mask=MASK), layer.out((allowed @ v).transpose(1, 2).flatten(2))


@case("synthesizer", SynthesizedAttention)
def _() -> Case:
    def as_a_bias() -> tuple[Tensor, Tensor]:
        """Adding the scores to plain attention without queries is the same."""
        layer = SynthesizedAttention(16, 4, RandomScores(4, 12)).double()
        v = layer.v(X).unflatten(-1, (4, 4)).transpose(1, 2)
        given = SoftmaxAttention()(v, v, v, MASK, layer.made(X, 0)[..., :7], scale=0.0)
        return layer(X, mask=MASK), layer.out(given.transpose(1, 2).flatten(2))

    limits = {"a bias and no query: SoftmaxAttention": as_a_bias}
    return scores_case(lambda: RandomScores(4, 12), limits)


@case("RandomScores", RandomScores)
def _() -> Case:
    def logarithm() -> tuple[Tensor, Tensor]:
        made, weights = RandomScores(4, 7), random_rows(4, 7, 7).softmax(-1)
        made.table.data = weights.log()
        return known(made, weights)

    limits = {"the logarithm of weights: these weights": logarithm}
    return scores_case(lambda: RandomScores(4, 12), limits)


@case("DenseScores", DenseScores)
def _() -> Case:
    def deaf() -> tuple[Tensor, Tensor]:
        """Rows that say nothing leave the bias: one distribution for all."""
        made, weights = DenseScores(16, 4, 7), random_rows(4, 1, 7).softmax(-1)
        made.outer.weight.data.zero_()
        made.outer.bias.data = weights.log()
        return known(made, weights.expand(4, 7, 7))

    return scores_case(lambda: DenseScores(16, 4, 12), {"rows that say nothing: the bias": deaf})


@case("FactorizedDenseScores", FactorizedDenseScores)
def _() -> Case:
    def one_factor() -> tuple[Tensor, Tensor]:
        """With b = 1 and B = 1 the scores are those of the dense form."""
        ours, dense = FactorizedDenseScores(16, 4, (12, 1)), DenseScores(16, 4, 12)
        ours.second.weight.data.zero_()
        ours.second.bias.data.fill_(1.0)
        ours.first.load_state_dict(dense.outer.state_dict())
        ours.inner.weight.data[:16] = dense.inner.weight.data
        ours.inner.bias.data[:16] = dense.inner.bias.data
        return ours.double()(X, 0), dense.double()(X, 0)

    limits = {"a factor of 1: DenseScores": one_factor}
    return scores_case(lambda: FactorizedDenseScores(16, 4, (4, 3)), limits)


@case("FactorizedRandomScores", FactorizedRandomScores)
def _() -> Case:
    def full_rank() -> tuple[Tensor, Tensor]:
        made, weights = FactorizedRandomScores(4, 7, 7), random_rows(4, 7, 7).softmax(-1)
        made.left.data = weights.log()
        made.right.data = torch.eye(7).double().repeat(4, 1, 1)
        return known(made, weights)

    limits = {"full rank: any weights": full_rank}
    return scores_case(lambda: FactorizedRandomScores(4, 12, 3), limits)
