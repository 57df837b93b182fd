"""Cases of `deepdive.models.before.mlp`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.models.before.mlp import MLP, Activation
from laws import Case, NotApplicable, Refuses, case, random_rows

NO_ROWS_MEET = "each row is answered alone: no mask, no state"


@case("mlp", MLP)
def _() -> Case:
    def one_layer() -> tuple[Tensor, Tensor]:
        """Without a hidden layer: what a perceptron sums before its threshold."""
        net, x = MLP((16, 3)).double(), random_rows(2, 5, 16)
        return net(x), x @ net.linear[0].weight.T + net.linear[0].bias

    def no_activation() -> tuple[Tensor, Tensor]:
        plain = Activation(lambda a: a, torch.ones_like)
        net, x = MLP((16, 8, 3), plain).double(), random_rows(2, 5, 16)
        first, last = net.linear
        return net(x), x @ (last.weight @ first.weight).T + last.weight @ first.bias + last.bias

    return Case(
        make=lambda: MLP((16, 12, 8, 5)),
        run=lambda net, x, mask, state: net(x),
        parity="torch.nn.Sequential of Linear and Sigmoid, Tanh or ReLU, with torch's autograd",
        limits={
            "one layer: a perceptron's sum": one_layer,
            "no activation: one matrix": no_activation,
        },
        refusals={
            "a wrong width": lambda: MLP((4, 2))(torch.zeros(3, 5)),
            "no layer": lambda: MLP((4,)),
        },
        laws={
            "padding": NotApplicable(NO_ROWS_MEET),
            "cache": NotApplicable(NO_ROWS_MEET),
            "hooks": Refuses("no attention: record says that there are no weights"),
        },
    )
