"""Cases of `deepdive.recurrent.cases`."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from deepdive.inspect import record
from deepdive.masks import Window
from deepdive.recurrent.state import RecurrentState
from laws import Case, Fails, Refuses, random_rows


def loop_and_kernel(layer: nn.Module) -> tuple[Tensor, Tensor]:
    """Return the states of a double layer, 16 wide, with its points heard and not heard, padding
    included; for cases.
    """
    layer, x = layer.double(), random_rows(3, 5, 16)
    keys = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 1, 0, 1, 0]]).bool()
    with record(layer, "*states"):
        heard = layer(x, keys)
    return heard, layer(x, keys)


def in_order(make: Callable[[], nn.Module]) -> Case:
    """Return the case of a recurrent layer from 16 to 12, for its variants to refine."""

    def with_state(*values: Tensor) -> Callable[[], Tensor]:
        return lambda: make()(torch.zeros(2, 3, 16), None, RecurrentState(values))

    return Case(
        make=make,
        run=lambda layer, x, mask=None, state=None: layer(x, mask, state),
        begin=lambda layer: RecurrentState(),
        parity="torch.nn.RNN, torch.nn.LSTM, torch.nn.GRU",
        limits={"the loop written out: torch's kernel": lambda: loop_and_kernel(make())},
        refusals={
            "rows of another width": lambda: make()(torch.zeros(2, 3, 8)),
            "no rows": lambda: make()(torch.zeros(2, 0, 16)),
            "a float mask": lambda: make()(torch.zeros(2, 3, 16), torch.ones(2, 3)),
            "a mask of another shape": lambda: make()(
                torch.zeros(2, 3, 16), torch.ones(2, 4).bool()
            ),
            "a window": lambda: make()(torch.zeros(2, 3, 16), Window(1)),
            "the state of another width": with_state(*[torch.zeros(2, 5)] * 2),
            "the state of a larger batch": with_state(*[torch.zeros(3, 12)] * 2),
            "three tensors for a state": with_state(*[torch.zeros(2, 12)] * 3),
        },
        laws={
            "order": Fails("a recurrence reads in order"),
            "hooks": Refuses("no attention: record says that there are no weights"),
        },
    )
