"""GNMT against its equations, written out over torch's LSTM layers and cells in float64.

No published GNMT can be installed here, so the oracle is the paper's section 3: the encoder layer
by layer over packed rows, the decoder token by token through all its layers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
from parity_recurrent import (
    SOURCE,
    SRC_REAL,
    TARGET,
    TGT_REAL,
    Weights,
    copied,
    equal_where_real,
    linear,
    ready,
    rows,
    softmax_over_real,
)
from parity_registry import equal, equal_gradients, parity
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from deepdive.models.seq2seq import gnmt
from deepdive.models.seq2seq.gnmt import GNMTDecoder, attend_then_advance
from deepdive.recurrent import LSTM, RecurrentStack
from deepdive.recurrent.residual import ResidualStack

REAL = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]]).bool()


def named(layer: LSTM, suffix: str) -> dict[str, Tensor]:
    names = {"weight_ih": layer.W.weight, "weight_hh": layer.U.weight}
    names |= {"bias_ih": layer.W.bias, "bias_hh": layer.U.bias}
    return {name + suffix: weight for name, weight in names.items()}


def layer_by_torch(layer: nn.Module, pairs: Weights) -> Callable[[Tensor, Tensor], Tensor]:
    """One layer of ours as torch's, over packed rows."""
    both = not isinstance(layer, LSTM)
    onward = layer.left_to_right if both else layer
    module = nn.LSTM(layer.d_input, onward.d_hidden, batch_first=True, bidirectional=both)
    weights = named(onward, "_l0")
    if both:
        weights |= named(layer.right_to_left, "_l0_reverse")
    copied(module, weights, pairs)

    def read(x: Tensor, real: Tensor) -> Tensor:
        packed = pack_padded_sequence(x, real.sum(1), batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(module(packed)[0], batch_first=True, total_length=x.shape[1])[0]

    return read


def stack_by_equations(ours: ResidualStack, x: Tensor, real: Tensor, pairs: Weights) -> Tensor:
    """Below the third layer x' = m; from there on x' = m + x."""
    for number, layer in enumerate(ours.layers, 1):
        m = layer_by_torch(layer, pairs)(x, real)
        x = m + x if number >= 3 else m
    return x


def decoder_by_equations(ours: GNMTDecoder, memory: Tensor, real: Tensor, pairs: Weights) -> Tensor:
    """Token by token: the attention asked by the bottom layer's last state, then every layer."""
    a = ours.attention
    pairs |= {f"attention {i}": (w, w) for i, w in enumerate((a.W_q.weight, a.W_k.weight))}
    layers = [ours.bottom, *ours.upper]
    cells = [copied(nn.LSTMCell(n.d_input, n.d_hidden), named(n, ""), pairs) for n in layers]
    embedded = ours.embedding.weight[TARGET] * ours.embedding.d_model**0.5
    zeros = memory.new_zeros(len(memory), ours.d_hidden)
    states, outputs = [(zeros, zeros)] * len(cells), []
    for t in range(TARGET.shape[1]):
        asked = torch.einsum("bh,ah->ba", states[0][0], a.W_q.weight) + a.W_q.bias
        keys = torch.einsum("bsm,am->bsa", memory, a.W_k.weight)
        scores = torch.einsum("bsa,a->bs", torch.tanh(asked[:, None] + keys), a.u.weight[0])
        c = torch.einsum("bs,bsm->bm", softmax_over_real(scores, real), memory)
        x = embedded[:, t]
        for i, cell in enumerate(cells):
            states[i] = cell(torch.cat([x, c], dim=-1), states[i])
            x = states[i][0] + x if i + 1 >= 3 else states[i][0]
        outputs.append(x)
    return torch.stack(outputs, dim=1)


@parity(ResidualStack)
def residual() -> None:
    pairs: Weights = {}
    ours = ready(ResidualStack(lambda i: LSTM(5 if i else 6, 5), 4))
    x = rows(3, 5, 6)
    expected = stack_by_equations(ours, x, REAL, pairs)
    equal(ours(x, REAL)[REAL], expected[REAL])
    equal_gradients(ours(x, REAL)[REAL], expected[REAL], pairs)


@parity(GNMTDecoder)
def decoder() -> None:
    pairs: Weights = {}
    ours, memory = ready(gnmt.tiny()).decoder, rows(3, 5, 12)
    expected = decoder_by_equations(ours, memory, torch.ones(3, 5).bool(), pairs)
    equal_where_real(ours(TARGET, ours.begin(memory), TGT_REAL), expected, pairs)


@parity("gnmt")
def whole() -> None:
    pairs: Weights = {}
    ours = ready(gnmt.gnmt(32, d_model=16, d_hidden=12, n_layers=4))
    embedded = ours.encoder.embedding.weight[SOURCE] * 4.0
    memory = stack_by_equations(ours.encoder.recurrent, embedded, SRC_REAL, pairs)
    states = decoder_by_equations(ours.decoder, memory, SRC_REAL, pairs)
    expected = linear(ours.head[-1], pairs)(linear(ours.head[1], pairs)(states))
    equal_where_real(ours(SOURCE, TARGET, SRC_REAL, TGT_REAL), expected, pairs)


def deaf(*given: Any) -> tuple[Tensor, Tensor]:
    """The context goes to the bottom layer only, as in Bahdanau's decoder."""
    states, contexts = attend_then_advance(*given)
    return states, torch.zeros_like(contexts)


def one_later(*given: Any) -> tuple[Tensor, Tensor]:
    """The upper layers get the context of the token before."""
    states, contexts = attend_then_advance(*given)
    return states, contexts.roll(1, dims=1)


STEPS = "attend_then_advance"
MISTAKES = {
    "residual: none": (residual, ResidualStack, "forward", RecurrentStack.forward),
    "decoder: the context to the bottom layer only": (decoder, gnmt, STEPS, deaf),
    "decoder: the context one token late": (decoder, gnmt, STEPS, one_later),
    "whole: no residual in the encoder": (whole, ResidualStack, "forward", RecurrentStack.forward),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_seen(name: str) -> None:
    proof, owner, attribute, mistake = MISTAKES[name]
    with (
        mock.patch.object(owner, attribute, mistake),
        pytest.raises(AssertionError, match="differ"),
    ):
        proof()
