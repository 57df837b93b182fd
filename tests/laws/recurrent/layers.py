"""Cases of `deepdive.recurrent.layers`."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from deepdive.recurrent.layers import GRU, LSTM, RNN
from deepdive.recurrent.state import RecurrentState
from laws import Case, case, random_rows
from laws.recurrent.cases import in_order


@case("rnn", RNN)
def _() -> Case:
    def forgets_all() -> tuple[Tensor, Tensor]:
        layer, x = RNN(16, 12).double(), random_rows(2, 5, 16)
        nn.init.zeros_(layer.U.weight)
        return layer(x), torch.tanh(layer.W(x))

    plain = in_order(lambda: RNN(16, 12))
    return replace(plain, limits={**plain.limits, "U = 0: a feed-forward layer": forgets_all})


@case("lstm", LSTM)
def _() -> Case:
    def carousel() -> tuple[Tensor, Tensor]:
        """Keep everything, admit nothing, show everything."""
        layer, c = LSTM(16, 12).double(), random_rows(2, 12)
        with torch.no_grad():
            for gate, bias in zip(layer.W.bias.chunk(4), (-60.0, 60.0, 0.0, 60.0), strict=True):
                gate.fill_(bias)
        states = layer(random_rows(2, 5, 16), None, RecurrentState((torch.zeros_like(c), c)))
        return states, torch.tanh(c).unsqueeze(1).expand_as(states)

    plain = in_order(lambda: LSTM(16, 12))
    return replace(plain, limits={**plain.limits, "f = 1, i = 0: c stays": carousel})


@case("gru", GRU)
def _() -> Case:
    def elman() -> tuple[Tensor, Tensor]:
        """See the whole state, keep none of it."""
        layer, plain, x = GRU(16, 12).double(), RNN(16, 12).double(), random_rows(2, 5, 16)
        with torch.no_grad():
            for gate, bias in zip(layer.W.bias.chunk(3), (60.0, -60.0, 0.0), strict=True):
                gate.fill_(bias)
            plain.W.weight.copy_(layer.W.weight.chunk(3)[2])
            plain.U.weight.copy_(layer.U.weight.chunk(3)[2])
        return layer(x), plain(x)

    plain = in_order(lambda: GRU(16, 12))
    return replace(plain, limits={**plain.limits, "r = 1, z = 0: an Elman network": elman})
