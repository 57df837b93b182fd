"""Cases of `deepdive.attention.priors.priors`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.multi_head import MultiHeadAttention
from deepdive.attention.priors.priors import GaussianPrior, LocalAttention, TablePrior
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Causal, Padding
from laws import Case, Fails, case, random_rows
from laws.attention.softmax import mechanism_case


@case("gaussian_transformer", GaussianPrior)
def _() -> Case:
    x = random_rows(2, 7, 16)

    def flat() -> tuple[Tensor, Tensor]:
        ours = MultiHeadAttention(16, 4, position=GaussianPrior(4, w=0.0)).double()
        plain = MultiHeadAttention(16, 4).double()
        plain.load_state_dict(ours.state_dict(), strict=False)
        return ours(x), plain(x)

    def a_product() -> tuple[Tensor, Tensor]:
        """The weights are those of the content times a Gaussian, made to sum to one again."""
        places, w = torch.arange(7), 0.25
        q, k = (random_rows(2, 4, 7, 4, seed=i) for i in range(2))
        bias = GaussianPrior(1, w).double().bias(q, k, places, places)
        ours = SoftmaxAttention()(q, k, torch.eye(7).double().expand(2, 4, 7, 7), bias=bias)
        bell = torch.exp(-w * (places[:, None] - places).double() ** 2)
        content = (q @ k.mT / 2).softmax(-1) * bell
        return ours, content / content.sum(-1, keepdim=True)

    def narrow() -> tuple[Tensor, Tensor]:
        ours = MultiHeadAttention(16, 4, position=GaussianPrior(1, w=1e4)).double()
        alone = torch.eye(7).bool()
        return ours(x), ours(x, mask=alone)

    return Case(
        place="layer",
        make=lambda: MultiHeadAttention(16, 4, position=GaussianPrior(4, b=-0.5)),
        parity="the equation of Guo, Zhang and Liu 2019, entry by entry",
        limits={
            "w = 0 and b = 0: MultiHeadAttention": flat,
            "the content's weights times a Gaussian": a_product,
            "w without end: each row sees itself": narrow,
        },
        refusals={"no head": lambda: GaussianPrior(0)},
        laws={"order": Fails("who is near depends on the order")},
    )


@case("TablePrior", TablePrior)
def _() -> Case:
    def zeros() -> tuple[Tensor, Tensor]:
        x, ours = random_rows(2, 7, 16), MultiHeadAttention(16, 4, position=TablePrior(4, 9))
        plain = MultiHeadAttention(16, 4).double()
        plain.load_state_dict(ours.state_dict(), strict=False)
        return ours.double()(x), plain(x)

    def alone() -> tuple[Tensor, Tensor]:
        """Without products (scale 0) a table of logarithms gives its own weights."""
        weights, places = random_rows(4, 7, 7).softmax(-1), torch.arange(7)
        table, v = TablePrior(4, 7).double(), random_rows(2, 4, 7, 4)
        table.table.data = weights.log()
        return SoftmaxAttention()(v, v, v, None, table.bias(v, v, places, places), 0.0), weights @ v

    places, q = torch.arange(10), torch.zeros(1, 4, 10, 4)
    return Case(
        place="layer",
        make=lambda: MultiHeadAttention(16, 4, position=TablePrior(4, 12)),
        parity="the equation of attention with a prior, entry by entry",
        limits={"a table of zeros: MultiHeadAttention": zeros, "no content: the prior": alone},
        refusals={
            "beyond the table": lambda: TablePrior(4, 9).bias(q, q, places, places),
            "no place": lambda: TablePrior(4, 0),
        },
        laws={"order": Fails("a row and a column of the table are places")},
    )


@case("attention_priors", LocalAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 9, 4, seed=seed) for seed in range(3))

    def prior_is_a_bias() -> tuple[Tensor, Tensor]:
        ours = LocalAttention(2, 4).double()
        with torch.no_grad():
            ours.window.copy_(random_rows(2, 4, 2))
        mask = Causal() & Padding(torch.ones(2, 9).bool())
        return ours(q, k, v, mask), SoftmaxAttention()(q, k, v, mask, ours.prior(q, k, mask))

    def even_start() -> tuple[Tensor, Tensor]:
        """At the start the window is a Gaussian around the middle, of sigma = I / 4."""
        offset = torch.arange(9).double() - 4.5
        prior = LocalAttention(2, 4).double().prior(q, k)
        return prior, (-offset.square() / (2 * (9 / 4) ** 2)).expand(2, 2, 9, 9)

    def padding() -> tuple[Tensor, Tensor]:
        """Padding on either side moves no window."""
        ours = LocalAttention(2, 4).double()
        with torch.no_grad():
            ours.window.copy_(random_rows(2, 4, 2))
        real = Padding(torch.tensor([[0, 0, 1, 1, 1, 1, 1, 0, 0]] * 2).bool())
        inner = [rows[:, :, 2:7] for rows in (q, k, v)]
        return ours(q, k, v, real)[:, :, 2:7], ours(*inner)

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
