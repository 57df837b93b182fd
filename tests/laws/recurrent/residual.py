"""Cases of `deepdive.recurrent.residual`."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from deepdive.recurrent.layers import LSTM
from deepdive.recurrent.residual import ResidualStack
from deepdive.recurrent.stacked import stacked
from laws import Case, case, random_rows
from laws.recurrent.cases import in_order


def say_nothing(layer: nn.Module) -> None:
    """Shut an LSTM's output gate, so that its states are 0."""
    with torch.no_grad():
        layer.W.bias.chunk(4)[3].fill_(-800.0)  # type: ignore[operator, union-attr]


@case("ResidualStack", ResidualStack)
def _() -> Case:
    def stack(n_layers: int = 3) -> ResidualStack:
        return ResidualStack(lambda i: LSTM(12 if i else 16, 12), n_layers)

    def silent() -> tuple[Tensor, Tensor]:
        deep, shallow, x = stack(4).double(), stacked(LSTM, 16, 12, 2), random_rows(2, 5, 16)
        shallow.double().load_state_dict(deep.state_dict(), strict=False)
        for layer in deep.layers[2:]:
            say_nothing(layer)
        return deep(x), shallow(x)

    def no_layer() -> tuple[Tensor, Tensor]:
        deep, x = ResidualStack(lambda i: LSTM(16, 16), 3, first=3).double(), random_rows(2, 5, 16)
        plain = stacked(LSTM, 16, 16, 3).double()
        plain.load_state_dict(deep.state_dict())
        return deep(x), plain(x)

    return replace(
        in_order(stack),
        parity="the equations, written out over torch.nn.LSTM",
        limits={
            "residual layers that say nothing: the layers below them": silent,
            "first = n_layers: the plain stack": no_layer,
        },
        refusals={
            "a residual layer of another width": lambda: ResidualStack(
                lambda i: LSTM(16 - 4 * i, 12 - 4 * i), 3
            ),
            "no layers": lambda: stack(0),
            "a float mask": lambda: stack()(torch.zeros(2, 3, 16), torch.ones(2, 3)),
        },
    )
