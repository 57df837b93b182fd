"""Cases of `deepdive.recurrent.grid` and `grid_block`."""

import torch
from torch import Tensor, nn

from deepdive.recurrent.grid import GridLSTM, as_stack, memory_in_time
from deepdive.recurrent.grid_block import GridBlock, MemorySide, PlainSide, walk
from deepdive.recurrent.layers import LSTM
from deepdive.recurrent.state import RecurrentState
from laws import IN_ORDER, Case, case, random_rows, with_state

ROWS = torch.zeros(2, 3, 16)
ORACLE = "a nested loop over torch.nn.LSTMCell"


@case("grid_lstm", GridLSTM)
def _() -> Case:
    def stack_of_lstms() -> tuple[Tensor, Tensor]:
        """Memory along time only, depth hands on what time says: layers of LSTMs."""
        grid = GridLSTM(16, 12, 3, lambda layer: memory_in_time(12)).double()
        x = random_rows(2, 5, 16)
        return grid(x), as_stack(grid)(grid.W(x)[..., :12])

    grid, narrow = GridLSTM(16, 12, 2), RecurrentState((torch.zeros(1),))
    return Case(
        run=with_state,
        begin=lambda layer: RecurrentState(),
        parity=f"{ORACLE}, and stacked torch.nn.LSTM",
        limits={
            "no memory along depth, which hands on what time says: a stacked LSTM": stack_of_lstms
        },
        refusals={
            "no layers": lambda: GridLSTM(16, 12, 0),
            "rows of another width": lambda: grid(ROWS[..., :8]),
            "no rows": lambda: grid(ROWS[:, :0]),
            "a float mask": lambda: grid(ROWS, torch.ones(2, 3)),
            "the state of another width": lambda: grid(ROWS, None, RecurrentState(layers=[narrow])),
        },
        laws=IN_ORDER,
    )


class _OnRows(nn.Module):
    """A block as a layer of rows, for its cases: every side receives the row, the outputs add."""

    def __init__(self, *sides: nn.Module) -> None:
        super().__init__()
        self.block = GridBlock(sides, last=len(sides) - 1)

    def forward(self, x: Tensor) -> Tensor:
        n = len(self.block.sides)
        hidden, memory = self.block([x] * n, [x] * n)
        return torch.stack(hidden + memory).sum(0)


@case("MemorySide", MemorySide)
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


@case("PlainSide", PlainSide)
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


@case("GridBlock", GridBlock)
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
