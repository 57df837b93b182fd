"""The block of a Grid LSTM: a hidden vector and a memory for each of any number of sides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import torch
from torch import Tensor, nn

from deepdive.checks import positive
from deepdive.laws import Case, case, random_rows
from deepdive.masks import describe
from deepdive.recurrent.layers import LSTM
from deepdive.recurrent.state import RecurrentState

Sides = tuple[list[Tensor], list[Tensor]]  # hidden vectors and memories, one of each a side


class MemorySide(nn.Module):
    """One side of a block, with gates and a memory: an LSTM step that reads all hidden vectors.

        i, f, o = sigmoid(W H)        # H = [h_1; ...; h_N], (B, N * d_hidden); a block of W each
        g       = tanh(W H)
        m'      = f * m + i * g
        h'      = o * tanh(m')

    Blocks stand in torch's order i, f, g, o; the forget gate's bias starts at 1. The paper prints
    h' = tanh(o * m'), a small change of the LSTM that its own comparisons do not rest on.

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

    With V = [0 ... 1 ... 0] it hands on one of the hidden vectors as it is (`hands_on`).

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
        """Return (h', m): the memory passes by."""
        return self.V(H), m


class GridBlock(nn.Module):
    """One block of an N-dimensional grid: N hidden vectors and N memories in, as many out.

        H          = [h_1; ...; h_N]
        h'_n, m'_n = side_n(H, m_n)                     n = 1 ... N, all at once
        H'         = H with h'_n for h_n, n != last     if `last` is given
        h'_last, m'_last = side_last(H', m_last)        that side is computed after the others

    sides    N modules (H, h_n, m_n) -> (h'_n, m'_n), such as `MemorySide`
    last     the paper's priority dimension, for the side from which the answer is read

    Source: Kalchbrenner, Danihelka and Graves 2015, "Grid LSTM Blocks" and "Priority Dimensions".
    """

    def __init__(self, sides: Sequence[nn.Module], last: int | None = None) -> None:
        super().__init__()
        if not sides or (last is not None and not 0 <= last < len(sides)):
            raise ValueError(
                f"sides has {len(sides)} entries and last={last}; a block needs one side or more, "
                "and last names one of them by its index, from 0"
            )
        self.sides, self.last = nn.ModuleList(sides), last

    def forward(self, h: Sequence[Tensor], m: Sequence[Tensor]) -> Sides:
        """Return the outgoing hidden vectors and memories, N of (B, d_hidden) each."""
        if len(h) != len(self.sides) or len(m) != len(self.sides):
            raise ValueError(
                f"h has {len(h)} and m {len(m)} tensors; the block has {len(self.sides)} sides, "
                "and needs one of each a side"
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
    """Run a grid of any number of dimensions; return what leaves each block, by its place.

    `block(place)` gives the block at a place: the same one everywhere ties all weights. Side n of a
    block receives what side n of its neighbour before it in dimension n sent; `edge` (N, 2, B,
    d_hidden) holds the hidden vector and the memory that enter at the border of each dimension.
    Raises ValueError unless `edge` has one entry a dimension.
    """
    if edge.ndim != 4 or edge.shape[:2] != (len(shape), 2):
        raise ValueError(f"edge: expected ({len(shape)}, 2, B, d_hidden); got {describe(edge)}")
    sent: dict[tuple[int, ...], Sides] = {}
    for place in product(*(range(size) for size in shape)):
        h, m = list(edge[:, 0]), list(edge[:, 1])
        for n in range(len(shape)):
            if place[n]:
                before = sent[(*place[:n], place[n] - 1, *place[n + 1 :])]
                h[n], m[n] = before[0][n], before[1][n]
        sent[place] = block(place)(h, m)
    return sent


class _OnRows(nn.Module):
    """A block as a layer of rows, for its cases: every side receives the row, the outputs add."""

    def __init__(self, *sides: nn.Module) -> None:
        super().__init__()
        self.block = GridBlock(sides, last=len(sides) - 1)

    def forward(self, x: Tensor) -> Tensor:
        n = len(self.block.sides)
        hidden, memory = self.block([x] * n, [x] * n)
        return torch.stack(hidden + memory).sum(0)


ORACLE = "a nested loop over torch.nn.LSTMCell"


@case(MemorySide)
def _() -> Case:
    def one_dimension() -> tuple[Tensor, Tensor]:
        """A line of tied blocks: an LSTM that reads nothing, from the h and m that enter."""
        side, edge = MemorySide(1, 12).double(), random_rows(1, 2, 3, 12)
        lstm, block = LSTM(1, 12).double(), GridBlock([side])
        lstm.load_state_dict(
            {"W.weight": torch.zeros(48, 1), "W.bias": torch.zeros(48)}
            | {"U.weight": side.W.weight, "U.bias": side.W.bias}
        )
        sent = walk(lambda place: block, (5,), edge)
        states = lstm(torch.zeros(3, 5, 1).double(), None, RecurrentState((edge[0, 0], edge[0, 1])))
        return torch.stack([sent[(t,)][0][0] for t in range(5)], dim=1), states

    return Case(
        place="feed_forward",
        make=lambda: _OnRows(MemorySide(1, 16)),
        parity=ORACLE,
        limits={"one dimension, tied: an LSTM that reads nothing": one_dimension},
        refusals={"rows of another width": lambda: MemorySide(2, 4)(*[torch.zeros(3, 4)] * 3)},
    )


@case(PlainSide)
def _() -> Case:
    def as_it_is() -> tuple[Tensor, Tensor]:
        h, m = random_rows(2, 3, 12), random_rows(3, 12)
        side = PlainSide(2, 12).double().hands_on(1)
        return side(torch.cat([h[0], h[1]], dim=-1), h[0], m)[0], h[1]

    return Case(
        place="feed_forward",
        make=lambda: _OnRows(PlainSide(1, 16)),
        parity=ORACLE,
        limits={"hands_on: that side's hidden vector": as_it_is},
        refusals={"rows of another width": lambda: PlainSide(2, 4)(*[torch.zeros(3, 4)] * 3)},
    )


@case(GridBlock)
def _() -> Case:
    def pair() -> tuple[Tensor, Tensor]:
        """Nobody waits and nobody is read by another: two sides, each alone."""
        both, x = GridBlock([MemorySide(2, 12), MemorySide(2, 12)]).double(), random_rows(4, 3, 12)
        alone = [GridBlock([MemorySide(1, 12)]).double() for _ in range(2)]
        with torch.no_grad():
            for n, block in enumerate(alone):
                wide, narrow = both.sides[n].W, block.sides[0].W
                narrow.weight.copy_(wide.weight.chunk(2, dim=1)[n])  # type: ignore[union-attr, operator]
                wide.weight.chunk(2, dim=1)[1 - n].zero_()  # type: ignore[union-attr, operator]
        each = [block([x[n]], [x[2 + n]]) for n, block in enumerate(alone)]
        h, m = both(list(x[:2]), list(x[2:]))
        return torch.stack(h + m), torch.stack([h[0] for h, _ in each] + [m[0] for _, m in each])

    def edge_of_another() -> object:
        return walk(lambda place: GridBlock([MemorySide(2, 4)]), (2, 2), torch.zeros(1, 2, 3, 4))

    return Case(
        place="feed_forward",
        make=lambda: _OnRows(MemorySide(2, 16), MemorySide(2, 16)),
        parity=ORACLE,
        limits={"sides that do not read each other: each alone": pair},
        refusals={
            "no sides": lambda: GridBlock([]),
            "a last side that is not there": lambda: GridBlock([MemorySide(1, 12)], last=1),
            "no tensors": lambda: GridBlock([MemorySide(1, 12)])([], []),
            "an edge for another grid": edge_of_another,
        },
    )
