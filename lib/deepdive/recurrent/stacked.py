"""Stacked and bidirectional recurrent layers, and conversion from `torch.nn`."""

import re
from collections.abc import Callable

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.masks import Causal, Mask
from deepdive.recurrent.layers import GRU, LSTM, RNN
from deepdive.recurrent.state import RecurrentState, real_tokens

Kind = Callable[[int, int], RNN]


class RecurrentStack(nn.Module):
    """Stacked recurrent layers: the input of each is the states of the one below.

    `make_layer(i)` builds layer i. Dropout acts between layers, not after the last.
    Raises ValueError when n_layers is below 1, or a layer does not fit the one below.

    System: stacked_lstm
    Parent: lstm
    What differs:
    - `RecurrentStack.forward`: the input of layer i is the states of layer i - 1 at the same step
    - `RecurrentState.layers`: a state for each layer
    - `dropout`: between layers, never along time
    Source: Graves, Mohamed and Hinton 2013, section 2, equation 11
    Book: 1.1
    """

    def __init__(
        self, make_layer: Callable[[int], nn.Module], n_layers: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        positive(n_layers=n_layers)
        self.layers = nn.ModuleList(make_layer(i) for i in range(n_layers))
        for i, (below, layer) in enumerate(zip(self.layers, self.layers[1:], strict=False), 1):
            if layer.d_input != below.d_hidden:
                raise ValueError(
                    f"layer {i} has inputs of width {layer.d_input}, but layer {i - 1} outputs "
                    f"{below.d_hidden}"
                )
        self.d_input = int(self.layers[0].d_input)  # type: ignore[arg-type]
        self.d_hidden = int(self.layers[-1].d_hidden)  # type: ignore[arg-type]
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, mask: Mask | Tensor | None = None, state: RecurrentState | None = None
    ) -> Tensor:
        """Return the last layer's states (B, T, d_hidden); `state[i]` belongs to layer i."""
        state = RecurrentState() if state is None else state
        for i, layer in enumerate(self.layers):
            x = layer(x if i == 0 else self.dropout(x), mask, state[i])
        return x


class Bidirectional(nn.Module):
    """Bidirectional recurrence: two layers, one from each end, their states concatenated.

        states[t] = [left_to_right(x)[t] ; right_to_left(x)[t]]       # (B, T, 2 * d_hidden)

    With padding, the second starts at the last real token. The final states are concatenated too,
    so that a unidirectional layer of twice the width can start from them.

    System: birnn
    Parent: rnn
    What differs:
    - `right_to_left`: a second layer runs from the end of the sequence
    - `Bidirectional.forward`: the states of both are concatenated, twice as wide
    - it refuses a causal mask and an earlier state: it needs the full sequence
    Source: Schuster and Paliwal 1997, section II
    Book: 1.1
    """

    def __init__(self, left_to_right: RNN, right_to_left: RNN) -> None:
        super().__init__()
        if left_to_right.d_input != right_to_left.d_input:
            raise ValueError(
                f"the two directions have the same inputs: left_to_right expects width "
                f"{left_to_right.d_input}, right_to_left {right_to_left.d_input}"
            )
        self.left_to_right, self.right_to_left = left_to_right, right_to_left
        self.d_input = left_to_right.d_input
        self.d_hidden = left_to_right.d_hidden + right_to_left.d_hidden

    def forward(
        self, x: Tensor, mask: Mask | Tensor | None = None, state: RecurrentState | None = None
    ) -> Tensor:
        """Return states (B, T, d_hidden), d_hidden of both directions together.

        `state`, if given, is set to both final states. Raises ValueError for a causal mask, and
        for a state with values: the direction from the end needs the full sequence at once.
        """
        if isinstance(mask, Mask) and any(isinstance(part, Causal) for part in mask.parts):
            raise ValueError(
                "mask: a bidirectional layer uses later tokens and cannot be causal; use one "
                "direction, such as GRU(d_input, d_hidden)"
            )
        if state is not None and state.values is not None:
            raise ValueError(
                "state: a bidirectional layer cannot continue an earlier call; pass the full "
                "sequence and a new RecurrentState()"
            )
        real = real_tokens(mask, x)
        ends = RecurrentState(), RecurrentState()
        forward = self.left_to_right(x, real, ends[0])
        backward = self.right_to_left(x.flip(1), None if real is None else real.flip(1), ends[1])
        if state is not None:
            pairs = zip(ends[0].values or (), ends[1].values or (), strict=True)
            state.values = tuple(torch.cat(pair, dim=-1) for pair in pairs)
        return torch.cat([forward, backward.flip(1)], dim=-1)


def stacked(
    kind: Kind, d_input: int, d_hidden: int, n_layers: int, dropout: float = 0.0
) -> RecurrentStack:
    """Build `n_layers` layers of one kind: `stacked(LSTM, 256, 512, 2)`."""
    return RecurrentStack(
        lambda i: kind(d_input if i == 0 else d_hidden, d_hidden), n_layers, dropout
    )


def bidirectional(
    kind: Kind, d_input: int, d_hidden: int, n_layers: int = 1, dropout: float = 0.0
) -> RecurrentStack:
    """Build `n_layers` bidirectional layers, `d_hidden` wide in each direction.

    The input of each layer is both directions of the one below, as in torch. The states are 2 *
    d_hidden wide.
    """

    def layer(i: int) -> Bidirectional:
        width = d_input if i == 0 else 2 * d_hidden
        return Bidirectional(kind(width, d_hidden), kind(width, d_hidden))

    return RecurrentStack(layer, n_layers, dropout)


def from_torch(module: nn.RNNBase) -> RecurrentStack:
    """Return a copy of `nn.RNN`, `nn.LSTM` or `nn.GRU` in our form: same weights, same states.

    Raises ValueError for what our layers do not have: a ReLU, no biases, projected states.
    """
    kinds: dict[type[nn.RNNBase], Kind] = {nn.RNN: RNN, nn.LSTM: LSTM, nn.GRU: GRU}
    if type(module) not in kinds:
        raise ValueError(f"module must be nn.RNN, nn.LSTM or nn.GRU; got {type(module).__name__}")
    nonlinearity = getattr(module, "nonlinearity", "tanh")
    if nonlinearity != "tanh" or not module.bias or module.proj_size:
        raise ValueError(
            f"module has nonlinearity={nonlinearity!r}, bias={module.bias}, "
            f"proj_size={module.proj_size}; ours are 'tanh', True and 0: build it with those"
        )
    build = bidirectional if module.bidirectional else stacked
    stack = build(
        kinds[type(module)], module.input_size, module.hidden_size, module.num_layers,
        module.dropout,
    )  # fmt: skip
    names = {
        name_from_torch(name, module.bidirectional): w for name, w in module.state_dict().items()
    }
    stack.to(next(module.parameters())).load_state_dict(names)
    return stack.train(module.training)


def name_from_torch(name: str, both_directions: bool) -> str:
    """Return our name of a weight of torch's: weight_hh_l1_reverse is
    layers.1.right_to_left.U.weight.
    """
    match = re.fullmatch(r"(weight|bias)_(ih|hh)_l(\d+)(_reverse)?", name)
    if match is None:
        raise ValueError(f"name {name!r} is none of nn.RNN, nn.LSTM or nn.GRU")
    kind, source, layer, reverse = match.groups()
    direction = "right_to_left." if reverse else "left_to_right." if both_directions else ""
    return f"layers.{layer}.{direction}{'W' if source == 'ih' else 'U'}.{kind}"
