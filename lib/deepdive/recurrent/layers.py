"""The Elman network, the LSTM and the GRU: one layer each, from left to right."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from deepdive._fast import recurrent as fused
from deepdive._fast.recurrent import Values
from deepdive.core.checks import positive
from deepdive.core.hooks import HookPoint
from deepdive.core.masks import Mask, describe
from deepdive.recurrent.state import RecurrentState, real_tokens


class RNN(nn.Module):
    """Elman network, and the base class of every recurrent layer.

        h_t = tanh(W x_t + U h_{t-1})            # (B, d_hidden); W and U have a bias each

    The inputs of all steps are projected by W at once; then `cell` computes step by step. Where
    `mask` is False (padding) the state is unchanged: it is that after the last real token.
    Without a hook the steps run inside torch's kernel (`deepdive._fast.recurrent`).

    A variant overrides `cell`, and names how many `blocks` of d_hidden rows W and U have, how many
    tensors it carries (`n_values`) and its `kernel`.

    Hook points, called once per step with (B, d_hidden): `states`, and in the variants the gates.

    System: rnn
    Parent: mlp
    What differs:
    - `RNN.cell`: the layer's previous output is an input too, through `U`
    - `RecurrentState`: the output at a step depends on all inputs before it
    - `RNN.advance`: the same weights at every step, any number of steps
    Source: Elman 1990, "Finding structure in time", section "Networks with memory"
    Book: 1.1, 2.2.4
    """

    blocks = 1
    n_values = 1
    kernel: Callable[..., tuple[Tensor, ...]] = staticmethod(torch.rnn_tanh)

    def __init__(self, d_input: int, d_hidden: int) -> None:
        super().__init__()
        positive(d_input=d_input, d_hidden=d_hidden)
        self.d_input, self.d_hidden = d_input, d_hidden
        self.W = nn.Linear(d_input, self.blocks * d_hidden)
        self.U = nn.Linear(d_hidden, self.blocks * d_hidden)
        self.states = HookPoint()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize each block of W by Glorot's uniform distribution, of U orthogonal; biases 0.

        An orthogonal U neither shrinks nor stretches a state (Saxe et al. 2014; Le et al. 2015).
        """
        for block in self.W.weight.chunk(self.blocks):
            nn.init.xavier_uniform_(block)
        for block in self.U.weight.chunk(self.blocks):
            nn.init.orthogonal_(block)
        for layer in (self.W, self.U):
            nn.init.zeros_(layer.bias)

    def cell(self, Wx: Tensor, values: Values) -> Values:
        """Return the values after one step, from Wx = W x_t (B, blocks * d_hidden) and those
        before.
        """
        (h,) = values
        return (torch.tanh(Wx + self.U(h)),)

    def forward(
        self, x: Tensor, mask: Mask | Tensor | None = None, state: RecurrentState | None = None
    ) -> Tensor:
        """Return the states (B, T, d_hidden) after each step of x (B, T, d_input).

        `mask` bool (B, T), True = real token, or a `Mask` of `Padding` and `Causal`. `state` is
        the initial state, zeros by default; it is updated to that after the last real token.
        Raises ValueError or TypeError for shapes and types that do not fit.
        """
        self._check(x)
        real = real_tokens(mask, x)
        state = RecurrentState() if state is None else state
        values = self.begin(x, state)
        if self.listening:
            states, state.values = self._explicit(x, real, values)
        else:
            weights = (self.W.weight, self.U.weight, self.W.bias, self.U.bias)
            states, state.values = fused.read(self.kernel, weights, x, real, values)
        return states

    @property
    def listening(self) -> bool:
        """Whether a hook is on one of the layer's points."""
        return any(isinstance(m, HookPoint) and m.listening for m in self.children())

    def begin(self, x: Tensor, state: RecurrentState) -> Values:
        """Return the initial values for x (B, ...): those of `state`, or zeros."""
        shape = (x.shape[0], self.d_hidden)
        if state.values is None:
            return (x.new_zeros(shape),) * self.n_values
        if len(state.values) != self.n_values or any(v.shape != shape for v in state.values):
            got = ", ".join(describe(value) for value in state.values)
            raise ValueError(
                f"state: {type(self).__name__} has {self.n_values} tensor(s) of shape {shape}; "
                f"got {got}. The initial state must match the layer's type and width"
            )
        return state.values

    def advance(self, Wx: Tensor, values: Values, real: Tensor | None = None) -> Values:
        """Return the values after one step; where not `real` (B,) they are unchanged."""
        after = self.cell(Wx, values)
        if real is not None:
            keep_new = real.unsqueeze(1)
            pairs = zip(after, values, strict=True)
            after = tuple(torch.where(keep_new, new, old) for new, old in pairs)
        return (self.states(after[0]), *after[1:])

    def _explicit(self, x: Tensor, real: Tensor | None, values: Values) -> tuple[Tensor, Values]:
        states = []
        for t, Wx in enumerate(self.W(x).unbind(1)):
            values = self.advance(Wx, values, None if real is None else real[:, t])
            states.append(values[0])
        return torch.stack(states, dim=1), values

    def _check(self, x: Tensor) -> None:
        if x.ndim != 3 or x.shape[-1] != self.d_input or not x.is_floating_point():
            raise ValueError(f"x must be floats (B, T, {self.d_input}); got {describe(x)}")
        if 0 in x.shape:
            raise ValueError(f"x is empty: {tuple(x.shape)}; drop empty sequences")


class LSTM(RNN):
    """Long short-term memory: a cell c with input, forget, and output gates.

        i, f, o = sigmoid(W x_t + U h_{t-1})      # input, forget, output; a block of W, U each
        g       = tanh(W x_t + U h_{t-1})         # the candidate; a separate block
        c_t     = f * c_{t-1} + i * g
        h_t     = o * tanh(c_t)

    Blocks are in torch's order i, f, g, o. The forget gate's bias starts at 1, so that an untrained
    layer remembers (Gers et al. 2000; Jozefowicz et al. 2015).

    Hook points: `input_gate`, `forget_gate`, `output_gate`, `cells` (c_t), `states` (h_t).

    System: lstm
    Parent: rnn
    What differs:
    - `cells`: a second value, the cell c, which no matrix multiplies between steps
    - `forget_gate`, `input_gate`: how much of c is kept, how much of the candidate is added
    - `output_gate`: how much of the cell the next step and the layer above receive
    - `reset_parameters`: the forget gate's bias starts at 1
    Source: Hochreiter and Schmidhuber 1997, section 4; Gers et al. 2000, section 3 (forget gate)
    Book: 1.1
    """

    blocks = 4
    n_values = 2
    kernel = staticmethod(torch.lstm)

    def __init__(self, d_input: int, d_hidden: int) -> None:
        super().__init__(d_input, d_hidden)
        self.input_gate, self.forget_gate = HookPoint(), HookPoint()
        self.output_gate, self.cells = HookPoint(), HookPoint()

    def reset_parameters(self) -> None:
        """Initialize as for the Elman network, but the forget gate's bias is 1."""
        super().reset_parameters()
        nn.init.ones_(self.W.bias.chunk(4)[1])

    def cell(self, Wx: Tensor, values: Values) -> Values:
        """Return (h_t, c_t)."""
        h, c = values
        i, f, g, o = (Wx + self.U(h)).chunk(4, dim=-1)
        i = self.input_gate(torch.sigmoid(i))
        f = self.forget_gate(torch.sigmoid(f))
        o = self.output_gate(torch.sigmoid(o))
        c = self.cells(f * c + i * torch.tanh(g))
        return (o * torch.tanh(c), c)


class GRU(RNN):
    """Gated recurrent unit: an update gate and a reset gate, without a cell.

        r   = sigmoid(W x_t + U h_{t-1})          # reset; a block of W, U
        z   = sigmoid(W x_t + U h_{t-1})          # update: the part that is kept
        n   = tanh(W x_t + r * (U h_{t-1}))       # the candidate
        h_t = (1 - z) * n + z * h_{t-1}

    Blocks are in torch's order r, z, n. Here, as in torch and cuDNN, r acts on U h, its bias
    included; the paper writes U (r * h). Both are as good, and this one needs one product less.

    Hook points: `reset_gate`, `update_gate`, `states`.

    System: gru
    Parent: lstm
    What differs:
    - `n_values`: one state, no separate cell
    - `update_gate`: keeps z and admits 1 - z; an LSTM has separate gates
    - `reset_gate`: how much of the state enters the candidate; there is no output gate
    - `blocks`: three blocks of weights instead of four
    Source: Cho et al. 2014, section 2.3, equations 5 to 8
    Book: 1.1
    """

    blocks = 3
    kernel = staticmethod(torch.gru)

    def __init__(self, d_input: int, d_hidden: int) -> None:
        super().__init__(d_input, d_hidden)
        self.reset_gate, self.update_gate = HookPoint(), HookPoint()

    def cell(self, Wx: Tensor, values: Values) -> Values:
        """Return (h_t,)."""
        (h,) = values
        Wx_gates, Wx_n = Wx.split([2 * self.d_hidden, self.d_hidden], dim=-1)
        Uh_gates, Uh_n = self.U(h).split([2 * self.d_hidden, self.d_hidden], dim=-1)
        r, z = torch.sigmoid(Wx_gates + Uh_gates).chunk(2, dim=-1)
        r, z = self.reset_gate(r), self.update_gate(z)
        n = torch.tanh(Wx_n + r * Uh_n)
        return ((1 - z) * n + z * h,)
