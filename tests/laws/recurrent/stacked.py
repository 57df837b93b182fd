"""Cases of `deepdive.recurrent.stacked`."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from deepdive.masks import Causal
from deepdive.recurrent.layers import GRU, LSTM
from deepdive.recurrent.stacked import Bidirectional, RecurrentStack, stacked
from deepdive.recurrent.state import RecurrentState
from laws import Case, Refuses, case, random_rows
from laws.recurrent.cases import in_order


@case("stacked_lstm", RecurrentStack)
def _() -> Case:
    def one_layer() -> tuple[Tensor, Tensor]:
        stack, x = stacked(LSTM, 16, 12, 1, dropout=0.5).double(), random_rows(2, 5, 16)
        return stack(x), stack.layers[0](x)

    plain = in_order(lambda: stacked(LSTM, 16, 12, 2))
    return replace(
        plain,
        limits={**plain.limits, "one layer: that layer, without dropout": one_layer},
        refusals={
            "no layers": lambda: stacked(GRU, 16, 12, 0),
            "layers that do not fit": lambda: RecurrentStack(lambda i: GRU(16, 12), 2),
            "a float mask": plain.refusals["a float mask"],
        },
    )


@case("birnn", Bidirectional)
def _() -> Case:
    def both() -> Bidirectional:
        return Bidirectional(GRU(16, 12), GRU(16, 12))

    def mirrored() -> tuple[Tensor, Tensor]:
        """Exchange the layers and turn the input round: the halves change places, turned round."""
        layer, x = both().double(), random_rows(2, 5, 16)
        other = Bidirectional(layer.right_to_left, layer.left_to_right)
        return other(x.flip(1)).flip(1), layer(x).roll(12, dims=-1)

    def goes_on() -> Tensor:
        state, x = RecurrentState(), torch.zeros(2, 3, 16)
        layer = both()
        layer(x, None, state)
        return layer(x, None, state)

    plain = in_order(both)
    return replace(
        plain,
        limits={**plain.limits, "exchanged and mirrored: the same": mirrored},
        refusals={
            "a causal mask": lambda: both()(torch.zeros(2, 3, 16), Causal()),
            "a state from before": goes_on,
            "directions of two inputs": lambda: Bidirectional(GRU(16, 12), GRU(8, 12)),
            "a float mask": plain.refusals["a float mask"],
        },
        laws={
            **plain.laws,
            "no_leak": Refuses("it reads from the end too"),
            "cache": Refuses("it reads from the end too"),
        },
    )
