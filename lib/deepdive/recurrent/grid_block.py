"""The block of a Grid LSTM: a hidden vector and a memory vector for each dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.masks import describe

Sides = tuple[list[Tensor], list[Tensor]]  # hidden vectors and memories, one of each a side


class MemorySide(nn.Module):
    """One side of a block, with gates and a memory: an LSTM step on all hidden vectors.

        i, f, o = sigmoid(W H)        # H = [h_1; ...; h_N], (B, N * d_hidden); a block of W each
        g       = tanh(W H)
        m'      = f * m + i * g
        h'      = o * tanh(m')

    Blocks are in torch's order i, f, g, o; the forget gate's bias starts at 1. The paper prints
    h' = tanh(o * m'), a small change of the LSTM that its comparisons do not depend on.

    Source: Kalchbrenner, Danihelka and Graves 2015, "Grid LSTM Blocks".
    """

    def __init__(self, n_sides: int, d_hidden: int) -> None:
        super().__init__()
        positive(n_sides=n_sides, d_hidden=d_hidden)
        self.W = nn.Linear(n_sides * d_hidden, 4 * d_hidden)
        for block in self.W.weight.chunk(4):
            nn.init.xavier_uniform_(block)
        nn.init.zeros_(self.W.bias)
        nn.init.ones_(self.W.bias.chunk(4)[1])

    def forward(self, H: Tensor, h: Tensor, m: Tensor) -> tuple[Tensor, Tensor]:
        """Return (h', m'), (B, d_hidden) each."""
        i, f, g, o = self.W(H).chunk(4, dim=-1)
        m = torch.sigmoid(f) * m + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(m), m


class PlainSide(nn.Module):
    """One side of a block without gates or memory: h' = V H, or another function of H.

    With V = [0 ... 1 ... 0] it copies one of the hidden vectors (`hands_on`).

    Source: Kalchbrenner, Danihelka and Graves 2015, "Non-LSTM Dimensions".
    """

    def __init__(self, n_sides: int, d_hidden: int) -> None:
        super().__init__()
        positive(n_sides=n_sides, d_hidden=d_hidden)
        self.V = nn.Linear(n_sides * d_hidden, d_hidden, bias=False)

    def hands_on(self, side: int) -> PlainSide:
        """Let h' be the hidden vector of `side`, and return itself."""
        d_hidden = self.V.out_features
        with torch.no_grad():
            self.V.weight.zero_()
            self.V.weight[:, side * d_hidden : (side + 1) * d_hidden] = torch.eye(d_hidden)
        return self

    def forward(self, H: Tensor, h: Tensor, m: Tensor) -> tuple[Tensor, Tensor]:
        """Return (h', m): the memory is unchanged."""
        return self.V(H), m


class GridBlock(nn.Module):
    """One block of an N-dimensional grid: N hidden vectors and N memories in, as many out.

        H          = [h_1; ...; h_N]
        h'_n, m'_n = side_n(H, m_n)                     n = 1 ... N, in parallel
        H'         = H with h'_n for h_n, n != last     if `last` is given
        h'_last, m'_last = side_last(H', m_last)        that side is computed after the others

    sides    N modules (H, h_n, m_n) -> (h'_n, m'_n), such as `MemorySide`
    last     the paper's priority dimension, for the output side

    Source: Kalchbrenner, Danihelka and Graves 2015, "Grid LSTM Blocks" and "Priority Dimensions".
    """

    def __init__(self, sides: Sequence[nn.Module], last: int | None = None) -> None:
        super().__init__()
        if not sides or (last is not None and not 0 <= last < len(sides)):
            raise ValueError(
                f"sides has {len(sides)} entries and last={last}; expected at least one side, "
                "and last=None or an index of one"
            )
        self.sides, self.last = nn.ModuleList(sides), last

    def forward(self, h: Sequence[Tensor], m: Sequence[Tensor]) -> Sides:
        """Return the outgoing hidden vectors and memories, N of (B, d_hidden) each."""
        if len(h) != len(self.sides) or len(m) != len(self.sides):
            raise ValueError(
                f"h has {len(h)} and m {len(m)} tensors; the block has {len(self.sides)} sides, "
                "and needs one h and m per side"
            )
        hidden, memory = list(h), list(m)
        H = torch.cat(hidden, dim=-1)
        for n, side in enumerate(self.sides):
            if n != self.last:
                hidden[n], memory[n] = side(H, h[n], m[n])
        if self.last is not None:
            n, H = self.last, torch.cat(hidden, dim=-1)
            hidden[n], memory[n] = self.sides[n](H, h[n], m[n])
        return hidden, memory


Block = Callable[[Sequence[Tensor], Sequence[Tensor]], Sides]


def walk(
    block: Callable[[tuple[int, ...]], Block], shape: Sequence[int], edge: Tensor
) -> dict[tuple[int, ...], Sides]:
    """Run a grid of any number of dimensions; return each block's outputs, by its position.

    `block(position)` returns the block at a position: the same one everywhere ties all weights.
    Side n of a block receives the output of side n of its predecessor in dimension n; `edge` (N, 2,
    B, d_hidden) has the hidden vector and the memory at the border of each dimension.
    Raises ValueError unless `edge` has one entry per dimension.
    """
    if edge.ndim != 4 or edge.shape[:2] != (len(shape), 2):
        raise ValueError(f"edge: expected ({len(shape)}, 2, B, d_hidden); got {describe(edge)}")
    outputs: dict[tuple[int, ...], Sides] = {}
    for position in product(*(range(size) for size in shape)):
        h, m = list(edge[:, 0]), list(edge[:, 1])
        for n in range(len(shape)):
            if position[n]:
                before = outputs[(*position[:n], position[n] - 1, *position[n + 1 :])]
                h[n], m[n] = before[0][n], before[1][n]
        outputs[position] = block(position)(h, m)
    return outputs
