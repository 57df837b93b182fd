"""Cases of `deepdive.layers.convolution`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.cache import Slot
from deepdive.layers.convolution import Convolution
from deepdive.masks import Causal, Padding, Window
from laws import Case, Fails, Refuses, case, random_rows, set_weights


@case("Convolution", Convolution)
def _() -> Case:
    def one_row() -> tuple[Tensor, Tensor]:
        layer, x = Convolution(16, 0, bias=False).double(), random_rows(2, 5, 16)
        return layer(x), x @ layer.W.weight[:, :, 0].T

    def written_out() -> tuple[Tensor, Tensor]:
        """The sum over the positions that the mask Window allows."""
        layer, x = Convolution(16, 2, 1, dilation=2).double(), random_rows(2, 9, 16)
        set_weights(layer, W__bias=3.0)
        y = torch.full_like(x, 3.0)
        for t, s in Window(2, 1, 2).dense(9)[0, 0].nonzero().tolist():
            y[:, t] += x[:, s] @ layer.W.weight[:, :, (s - t) // 2 + 2].T
        return layer(x), y

    x = torch.zeros(1, 3, 16)
    return Case(
        place="layer",
        make=lambda: Convolution(16, 2, dilation=2),
        parity="torch.nn.Conv1d with its own padding",
        limits={"one row: a linear layer": one_row, "the sum over the mask Window": written_out},
        refusals={
            "a causal mask, and a look ahead": lambda: Convolution(16, 1, 1)(x, mask=Causal()),
            "a cache, and a look ahead": lambda: Convolution(16, 1, 1)(x, cache=Slot()),
            "another mask": lambda: Convolution(16, 1)(x, mask=Window(1)),
            "a mask of floats": lambda: Convolution(16, 1)(x, mask=torch.zeros(3, 3)),
            "a mask for other rows": lambda: Convolution(16, 1)(
                x, mask=Padding(torch.ones(1, 4).bool())
            ),
            "a context": lambda: Convolution(16, 1)(x, x),
            "a wrong width": lambda: Convolution(16, 1)(torch.zeros(1, 3, 8)),
            "a negative reach": lambda: Convolution(16, -1),
            "a cache under gradients": lambda: Convolution(16, 1)(
                x.clone().requires_grad_(), cache=Slot()
            ),
        },
        laws={
            "order": Fails("a row's place decides which matrix it meets"),
            "hooks": Refuses("no attention: record says that there are no weights"),
        },
    )
