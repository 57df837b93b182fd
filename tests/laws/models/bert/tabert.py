"""The case of TaBERT: two rows of a table, each token a slot of its own."""

from typing import Any

import torch
from torch import Tensor

from deepdive.models.bert import tabert
from deepdive.models.bert.tabert import TaBert
from deepdive.models.bert.tabert_cells import CellPicker
from laws import ORDERED, TWO_SIDED, Case, NotApplicable, case, padding_of, random_rows

ROW = torch.tensor([[4, 9, 6]])


def two_rows(model: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    """Read x, and beside it a row of other tokens; what is padding in one is so in the other."""
    real, other = padding_of(mask), (x - 4 + 11) % 28 + 4
    slots = torch.arange(x.shape[1]).expand(len(x), 2, -1)
    both = None if real is None else torch.stack((real, real), 1)
    states: Tensor = model(torch.stack((x, other), 1), slots, both)
    return states


@case("tabert", TaBert)
def _() -> Case:
    def make(**changes: Any) -> TaBert:
        return tabert.tabert(tabert.TINY, **changes)

    def one_row() -> tuple[Tensor, Tensor]:
        model = make(n_vertical=0).double().eval()
        return model(ROW[:, None], torch.arange(3).expand(1, 1, 3)), model.bert(ROW)

    return Case(
        make=make,
        run=two_rows,
        vocab=32,
        parity="torch.nn.TransformerEncoderLayer",
        limits={"one row, no vertical layers: BERT": one_row},
        refusals={"no rows": lambda: make()(ROW, ROW)},
        laws={**TWO_SIDED, "order": ORDERED},
    )


@case("tabert/CellPicker", CellPicker)
def _() -> Case:
    def make(**changes: Any) -> CellPicker:
        return CellPicker(16, d_model=8, **changes)

    def table_of(x: Tensor) -> tuple[Tensor, Tensor]:
        """Two rows whose cells are x and its squares, each with their mean as the question."""
        rows = torch.stack([x, x.square()], 1)  # (B, 2, T, 16)
        rows = torch.cat([rows.mean(2, keepdim=True), rows], 2)
        return rows, torch.ones(rows.shape[:-1], dtype=torch.bool)

    def run(module: CellPicker, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(*table_of(x)).transpose(1, 2)

    def no_layers() -> tuple[Tensor, Tensor]:
        model, (rows, real) = (
            make(n_along=0, n_down=0).double().eval(),
            table_of(random_rows(2, 5, 16)),
        )
        x = model.enter(rows)
        by_hand = (model.ask(x[:, :, :1]) * x[:, :, 1:]).sum(-1) / 8**0.5
        return model(rows, real), by_hand + model.alone(x[:, :, 1:])[..., 0]

    return Case(
        make=make,
        run=run,
        parity="none: its layers are TaBERT's, which is proved; without them it is one product",
        limits={"no layers: a product of projections": no_layers},
        refusals={"no input": lambda: CellPicker(0)},
        laws={
            **TWO_SIDED,
            "padding": NotApplicable("real is a table of cells here, with its tests"),
        },
    )
