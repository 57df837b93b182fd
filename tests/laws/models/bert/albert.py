"""Cases of `deepdive.models.bert.albert`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.models.bert.albert import TINY, FactorisedEmbeddings
from deepdive.models.bert.embeddings import BertEmbeddings
from laws import Case, Fails, NotApplicable, case, set_weights


@case("albert/FactorisedEmbeddings", FactorisedEmbeddings)
def _() -> Case:
    def make(d_model: int = 32) -> FactorisedEmbeddings:
        return FactorisedEmbeddings.of(TINY.but(d_model=d_model, max_length=8))

    row, places = torch.tensor([[4, 9, 6]]), torch.arange(3)

    def as_wide() -> tuple[Tensor, Tensor]:
        part = make(8)
        set_weights(part, project__weight=torch.eye(8), project__bias=0.0)
        return part(row, None, places), BertEmbeddings.forward(part, row, None, places)

    alone = NotApplicable("it looks at one token at a time; no mask or cache enters")
    return Case(
        make=make,
        run=lambda part, x, mask=None, state=None: part(x, None, torch.arange(x.shape[1])),
        vocab=32,
        parity="transformers AlbertModel",
        limits={"as wide as the stream, no projection: BertEmbeddings": as_wide},
        refusals={"an unknown segment": lambda: make()(row, row, places)},
        laws={
            "padding": alone,
            "cache": alone,
            "hooks": alone,
            "order": Fails("positions tell the tokens apart"),
        },
    )
