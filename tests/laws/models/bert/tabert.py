"""The case of TaBERT: two rows of a table, each token a slot of its own."""

from typing import Any

import torch
from torch import Tensor

from deepdive.models.bert import tabert
from deepdive.models.bert.tabert import TaBert
from laws import ORDERED, TWO_SIDED, Case, case, padding_of

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
