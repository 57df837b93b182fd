"""Cases of `deepdive.models.bert.roberta`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.models.bert.embeddings import BertEmbeddings
from deepdive.models.bert.roberta import TINY, RobertaEmbeddings, roberta
from laws import Case, Fails, NotApplicable, case


@case("roberta/RobertaEmbeddings", RobertaEmbeddings)
def _() -> Case:
    def padded_in_front() -> tuple[Tensor, Tensor]:
        """The states of a text are the same wherever its padding stands."""
        model = roberta(TINY).double()
        before, real = torch.tensor([[1, 1, 4, 9, 6]]), torch.tensor([[0, 0, 1, 1, 1]]).bool()
        return model(before, real)[:, 2:], model(before[:, 2:])

    def make() -> BertEmbeddings:
        return roberta(TINY).embeddings

    row = torch.tensor([[4, 9, 6]])
    alone = NotApplicable("it looks at one token at a time; no mask or cache enters")
    return Case(
        make=make,
        run=lambda part, x, mask=None, state=None: part(x, None, part.positions(x, None)),
        vocab=32,
        parity="transformers RobertaModel",
        limits={"padding in front: as without it": padded_in_front},
        refusals={"a second text": lambda: make()(row, torch.ones_like(row), torch.arange(3))},
        laws={
            "padding": alone,
            "cache": alone,
            "hooks": alone,
            "order": Fails("positions tell the tokens apart"),
        },
    )
