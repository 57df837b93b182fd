"""Grid LSTM over a sequence: memory cells along time and along depth."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from deepdive._fast.recurrent import Values
from deepdive.core.checks import positive
from deepdive.core.masks import Mask, describe
from deepdive.recurrent.grid_block import GridBlock, MemorySide, PlainSide
from deepdive.recurrent.layers import LSTM
from deepdive.recurrent.stacked import RecurrentStack, stacked
from deepdive.recurrent.state import RecurrentState, real_tokens

TIME, DEPTH = 0, 1


def memory_both_ways(d_hidden: int) -> GridBlock:
    """Return the block of a 2-LSTM: gates and memory along time and along depth, depth last."""
    return GridBlock([MemorySide(2, d_hidden) for _ in (TIME, DEPTH)], last=DEPTH)


def memory_in_time(d_hidden: int) -> GridBlock:
    """Return the block of a stacked LSTM: the time dimension's output is passed up unchanged."""
    depth = PlainSide(2, d_hidden).hands_on(TIME)
    return GridBlock([MemorySide(2, d_hidden), depth], last=DEPTH)


class GridLSTM(nn.Module):
    """Grid LSTM over a sequence: a grid of time by depth, one row of blocks per layer.

        h_depth, m_depth = W x_t                                      # input at the bottom
        (h_time[l], h_depth), (m_time[l], m_depth)
            = block_l((h_time[l], h_depth), (m_time[l], m_depth))     # l = 1 ... n_layers
        states_t = h_depth                                            # output at the top

    A stacked LSTM has memory cells only along time, and squashes activations at each layer. Here
    depth has gated memory cells too, similar to residual connections.

    `make_block(l)` builds layer l of width d_hidden; the same block for each l ties the depth. The
    states at padding are 0, and the memory is unchanged there.

    System: grid_lstm
    Parent: stacked_lstm
    What differs:
    - `GridBlock`: gates and a memory along depth too; a stacked LSTM has them along time only
    - `MemorySide`: one matrix for the concatenated hidden vectors of all sides
    - `GridBlock(last=DEPTH)`: depth is computed after time, from the new output along time
    - `deepdive.recurrent.walk`: any number of dimensions; a sequence needs two
    Source: Kalchbrenner, Danihelka and Graves 2015, "Grid Long Short-Term Memory", section 3
    Book: 1.1
    """

    def __init__(
        self,
        d_input: int,
        d_hidden: int,
        n_layers: int,
        make_block: Callable[[int], GridBlock] | None = None,
    ) -> None:
        super().__init__()
        positive(d_input=d_input, d_hidden=d_hidden, n_layers=n_layers)
        self.d_input, self.d_hidden = d_input, d_hidden
        self.W = nn.Linear(d_input, 2 * d_hidden)
        make = make_block or (lambda layer: memory_both_ways(d_hidden))
        self.blocks = nn.ModuleList(make(layer) for layer in range(n_layers))

    def forward(
        self, x: Tensor, mask: Mask | Tensor | None = None, state: RecurrentState | None = None
    ) -> Tensor:
        """Return the states (B, T, d_hidden); `state[l]` holds layer l's (h, m) along time.

        `mask` bool (B, T), True = real token, or a `Mask` of `Padding` and `Causal`.
        Raises ValueError or TypeError for shapes and types that do not fit.
        """
        if x.ndim != 3 or x.shape[-1] != self.d_input or not x.is_floating_point() or not x.numel():
            raise ValueError(
                f"x must be floats (B, T, {self.d_input}) and not empty; got {describe(x)}"
            )
        real = real_tokens(mask, x)
        if real is not None:  # not even a nan may enter from padding
            x = x.masked_fill(~real.unsqueeze(-1), 0.0)
        state = RecurrentState() if state is None else state
        time = [self._begin(x, state[layer]) for layer in range(len(self.blocks))]
        states = []
        for t, inputs in enumerate(self.W(x).unbind(1)):
            top = self._column(inputs, time, None if real is None else real[:, t, None])
            states.append(top)
        for layer, values in enumerate(time):
            state[layer].values = values
        return torch.stack(states, dim=1)

    def _column(self, inputs: Tensor, time: list[Values], real: Tensor | None) -> Tensor:
        """Run all layers at one step, updating `time`; return the output at the top."""
        h, m = inputs.chunk(2, dim=-1)
        for layer, block in enumerate(self.blocks):
            before = time[layer]
            (h_time, h), (m_time, m) = block([before[0], h], [before[1], m])
            after: Values = (h_time, m_time)
            if real is not None:
                pairs = zip(after, before, strict=True)
                after = tuple(torch.where(real, new, old) for new, old in pairs)
            time[layer] = after
        return h if real is None else h * real

    def _begin(self, x: Tensor, state: RecurrentState) -> Values:
        shape = (x.shape[0], self.d_hidden)
        if state.values is None:
            return (x.new_zeros(shape), x.new_zeros(shape))
        if len(state.values) != 2 or any(value.shape != shape for value in state.values):
            got = ", ".join(describe(value) for value in state.values)
            raise ValueError(
                f"state: a Grid LSTM has (h, m) per layer, each {shape}; got {got}. The "
                "initial state must match the layer's type and width"
            )
        return state.values


def as_stack(grid: GridLSTM) -> RecurrentStack:
    """Return the equivalent stacked LSTM of a grid of `memory_in_time` blocks, weights copied.

    Each block's W multiplies [h_time; h_depth]: its first half is the LSTM's U, its second its W.
    """
    stack = stacked(LSTM, grid.d_hidden, grid.d_hidden, len(grid.blocks)).to(grid.W.weight)
    with torch.no_grad():
        for layer, block in zip(stack.layers, grid.blocks, strict=True):
            side = block.sides[TIME].W  # type: ignore[union-attr, index]
            U, W = side.weight.chunk(2, dim=1)
            layer.U.weight.copy_(U)  # type: ignore[union-attr, operator]
            layer.W.weight.copy_(W)  # type: ignore[union-attr, operator]
            layer.W.bias.copy_(side.bias)  # type: ignore[union-attr, operator]
            layer.U.bias.zero_()  # type: ignore[union-attr, operator]
    return stack
