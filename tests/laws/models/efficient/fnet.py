"""Cases of `deepdive.models.efficient.fnet`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.models.bert.embeddings import BertEmbeddings
from deepdive.models.efficient.fnet import TINY, FNetEmbeddings
from laws import Case, Fails, NotApplicable, case, set_weights


@case("fnet/FNetEmbeddings", FNetEmbeddings)
def _() -> Case:
    def make() -> FNetEmbeddings:
        return FNetEmbeddings.of(TINY.but(d_model=8, max_length=8))

    row, places = torch.tensor([[4, 9, 6]]), torch.arange(3)

    def no_projection() -> tuple[Tensor, Tensor]:
        part = make()
        set_weights(part, project__weight=torch.eye(8), project__bias=0.0)
        return part(row, None, places), BertEmbeddings.forward(part, row, None, places)

    alone = NotApplicable("it looks at one token at a time; no mask or cache enters")
    return Case(
        make=make,
        run=lambda part, x, mask=None, state=None: part(x, None, torch.arange(x.shape[1])),
        vocab=32,
        parity="transformers FNetModel",
        limits={"the identity matrix: BertEmbeddings": no_projection},
        refusals={"an unknown segment": lambda: make()(row, row, places)},
        laws={
            "padding": alone,
            "cache": alone,
            "hooks": alone,
            "order": Fails("positions tell the tokens apart"),
        },
    )
