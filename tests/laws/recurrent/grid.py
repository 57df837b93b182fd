"""Cases of `deepdive.recurrent.grid`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.recurrent.grid import GridLSTM, as_stack, memory_in_time
from deepdive.recurrent.state import RecurrentState
from laws import Case, Fails, Refuses, case, random_rows


@case("grid_lstm", GridLSTM)
def _() -> Case:
    def stack_of_lstms() -> tuple[Tensor, Tensor]:
        """Memory along time only, depth hands on what time says: layers of LSTMs."""
        grid = GridLSTM(16, 12, 3, lambda layer: memory_in_time(12)).double()
        x = random_rows(2, 5, 16)
        return grid(x), as_stack(grid)(grid.W(x)[..., :12])

    def make() -> GridLSTM:
        return GridLSTM(16, 12, 2)

    return Case(
        make=make,
        run=lambda layer, x, mask=None, state=None: layer(x, mask, state),
        begin=lambda layer: RecurrentState(),
        parity="a nested loop over torch.nn.LSTMCell, and stacked torch.nn.LSTM",
        limits={
            "no memory along depth, which hands on what time says: a stacked LSTM": stack_of_lstms,
        },
        refusals={
            "no layers": lambda: GridLSTM(16, 12, 0),
            "rows of another width": lambda: make()(torch.zeros(2, 3, 8)),
            "no rows": lambda: make()(torch.zeros(2, 0, 16)),
            "a float mask": lambda: make()(torch.zeros(2, 3, 16), torch.ones(2, 3)),
            "the state of another width": lambda: make()(
                torch.zeros(2, 3, 16),
                None,
                RecurrentState(layers=[RecurrentState((torch.zeros(1),))]),
            ),
        },
        laws={
            "order": Fails("a recurrence reads in order"),
            "hooks": Refuses("no attention: record says that there are no weights"),
        },
    )
