"""Cases of the recurrent layers of `deepdive.recurrent`, and of their stacks."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.hooks import record
from deepdive.core.masks import Causal, Window
from deepdive.recurrent.layers import GRU, LSTM, RNN
from deepdive.recurrent.residual import ResidualStack
from deepdive.recurrent.stacked import Bidirectional, RecurrentStack, stacked
from deepdive.recurrent.state import RecurrentState
from laws import IN_ORDER, Case, Pair, Refuses, case, random_rows, with_state

X, ROWS = random_rows(2, 5, 16), torch.zeros(2, 3, 16)


def float_mask(make: Callable[[], nn.Module]) -> dict[str, Callable[[], Tensor]]:
    """Return what every recurrent layer refuses."""
    return {"a float mask": lambda: make()(ROWS, torch.ones(2, 3))}


def in_order(make: Callable[[], nn.Module], limits: Mapping[str, Pair], **more: Any) -> Case:
    """Return the case of a recurrent layer from 16 to 12."""

    def loop_and_kernel() -> tuple[Tensor, Tensor]:
        """The states with the layer's points heard and not heard, padding included."""
        layer, x = make().double(), random_rows(3, 5, 16)
        keys = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 1, 0, 1, 0]]).bool()
        with record(layer, "*states"):
            heard = layer(x, keys)
        return heard, layer(x, keys)

    declared = {
        "make": make,
        "run": with_state,
        "begin": lambda layer: RecurrentState(),
        "parity": "torch.nn.RNN, torch.nn.LSTM, torch.nn.GRU",
        "limits": {"the loop written out: torch's kernel": loop_and_kernel, **limits},
        "laws": IN_ORDER,
    }
    return Case(**declared | more)


def layer_case(make: Callable[[], nn.Module], **limits: Pair) -> Case:
    """Return the case of one layer, with what it refuses."""

    def with_state(*values: Tensor) -> Callable[[], Tensor]:
        return lambda: make()(ROWS, None, RecurrentState(values))

    refusals = {
        "rows of another width": lambda: make()(ROWS[..., :8]),
        "no rows": lambda: make()(ROWS[:, :0]),
        "a mask of another shape": lambda: make()(ROWS, torch.ones(2, 4).bool()),
        "a window": lambda: make()(ROWS, Window(1)),
        "the state of another width": with_state(*[torch.zeros(2, 5)] * 2),
        "the state of a larger batch": with_state(*[torch.zeros(3, 12)] * 2),
        "three tensors for a state": with_state(*[torch.zeros(2, 12)] * 3),
    }
    return in_order(make, limits, refusals=float_mask(make) | refusals)


@case("rnn", RNN)
def _() -> Case:
    def forgets_all() -> tuple[Tensor, Tensor]:
        layer = RNN(16, 12).double()
        nn.init.zeros_(layer.U.weight)
        return layer(X), torch.tanh(layer.W(X))

    return layer_case(lambda: RNN(16, 12), **{"U = 0: a feed-forward layer": forgets_all})


@case("lstm", LSTM)
def _() -> Case:
    def carousel() -> tuple[Tensor, Tensor]:
        """Keep everything, admit nothing, show everything."""
        layer, c = LSTM(16, 12).double(), random_rows(2, 12)
        with torch.no_grad():
            for gate, bias in zip(layer.W.bias.chunk(4), (-60.0, 60.0, 0.0, 60.0), strict=True):
                gate.fill_(bias)
        states = layer(X, None, RecurrentState((torch.zeros_like(c), c)))
        return states, torch.tanh(c).unsqueeze(1).expand_as(states)

    return layer_case(lambda: LSTM(16, 12), **{"f = 1, i = 0: c stays": carousel})


@case("gru", GRU)
def _() -> Case:
    def elman() -> tuple[Tensor, Tensor]:
        """See the whole state, keep none of it."""
        layer, plain = GRU(16, 12).double(), RNN(16, 12).double()
        with torch.no_grad():
            for gate, bias in zip(layer.W.bias.chunk(3), (60.0, -60.0, 0.0), strict=True):
                gate.fill_(bias)
            plain.W.weight.copy_(layer.W.weight.chunk(3)[2])
            plain.U.weight.copy_(layer.U.weight.chunk(3)[2])
        return layer(X), plain(X)

    return layer_case(lambda: GRU(16, 12), **{"r = 1, z = 0: an Elman network": elman})


@case("stacked_lstm", RecurrentStack)
def _() -> Case:
    def one_layer() -> tuple[Tensor, Tensor]:
        stack = stacked(LSTM, 16, 12, 1, dropout=0.5).double()
        return stack(X), stack.layers[0](X)

    def make() -> RecurrentStack:
        return stacked(LSTM, 16, 12, 2)

    refusals = {
        "no layers": lambda: stacked(GRU, 16, 12, 0),
        "layers that do not fit": lambda: RecurrentStack(lambda i: GRU(16, 12), 2),
    }
    limits = {"one layer: that layer, without dropout": one_layer}
    return in_order(make, limits, refusals=refusals | float_mask(make))


@case("birnn", Bidirectional)
def _() -> Case:
    def both() -> Bidirectional:
        return Bidirectional(GRU(16, 12), GRU(16, 12))

    def mirrored() -> tuple[Tensor, Tensor]:
        """Exchange the layers and turn the input round: the halves change places, turned round."""
        layer = both().double()
        other = Bidirectional(layer.right_to_left, layer.left_to_right)
        return other(X.flip(1)).flip(1), layer(X).roll(12, dims=-1)

    def goes_on() -> Tensor:
        state, layer = RecurrentState(), both()
        layer(ROWS, None, state)
        return layer(ROWS, None, state)

    refusals = {
        "a causal mask": lambda: both()(ROWS, Causal()),
        "a state from before": goes_on,
        "directions of two inputs": lambda: Bidirectional(GRU(16, 12), GRU(8, 12)),
    }
    backwards = dict.fromkeys(("no_leak", "cache"), Refuses("it reads from the end too"))
    return in_order(
        both,
        {"exchanged and mirrored: the same": mirrored},
        refusals=refusals | float_mask(both),
        laws={**IN_ORDER, **backwards},
    )


def say_nothing(layer: nn.Module) -> None:
    """Shut an LSTM's output gate, so that its states are 0."""
    with torch.no_grad():
        layer.W.bias.chunk(4)[3].fill_(-800.0)  # type: ignore[operator, union-attr]


@case("ResidualStack", ResidualStack)
def _() -> Case:
    def stack(n_layers: int = 3) -> ResidualStack:
        return ResidualStack(lambda i: LSTM(12 if i else 16, 12), n_layers)

    def narrowing(i: int) -> LSTM:
        return LSTM(16 - 4 * i, 12 - 4 * i)

    def silent() -> tuple[Tensor, Tensor]:
        deep, shallow = stack(4).double(), stacked(LSTM, 16, 12, 2)
        shallow.double().load_state_dict(deep.state_dict(), strict=False)
        for layer in deep.layers[2:]:
            say_nothing(layer)
        return deep(X), shallow(X)

    def no_layer() -> tuple[Tensor, Tensor]:
        deep = ResidualStack(lambda i: LSTM(16, 16), 3, first=3).double()
        plain = stacked(LSTM, 16, 16, 3).double()
        plain.load_state_dict(deep.state_dict())
        return deep(X), plain(X)

    return Case(
        make=stack,
        run=with_state,
        begin=lambda layer: RecurrentState(),
        parity="the equations, written out over torch.nn.LSTM",
        limits={
            "residual layers that say nothing: the layers below them": silent,
            "first = n_layers: the plain stack": no_layer,
        },
        refusals={
            "a residual layer of another width": lambda: ResidualStack(narrowing, 3),
            "no layers": lambda: stack(0),
            **float_mask(stack),
        },
        laws=IN_ORDER,
    )
