"""Cases of `deepdive.models.efficient.reformer_parts`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.layers.embeddings import TokenEmbedding
from deepdive.models.efficient.reformer_parts import AxialPosition, ReformerEmbeddings
from deepdive.positions import LearnedPosition, Position
from laws import Case, Fails, NotApplicable, case, random_rows, set_weights


@case("AxialPosition", AxialPosition)
def _() -> Case:
    def written_out() -> tuple[Tensor, Tensor]:
        x, axial = random_rows(2, 6, 16), AxialPosition((2, 4), (6, 10)).double()
        rows = [
            torch.cat([axial.tables[0][i, 0], axial.tables[1][0, j]])
            for i in (0, 1)
            for j in range(4)
        ]
        learned = LearnedPosition(8, 16)
        set_weights(learned, table__weight=torch.stack(rows).detach())
        return axial.embed(x, torch.arange(6)), learned.embed(x, torch.arange(6))

    return Case(
        place="position",
        make=lambda: AxialPosition((2, 4), (6, 10)),
        parity="transformers ReformerModel, its embeddings",
        limits={"written out: LearnedPosition": written_out},
        refusals={
            "beyond the table": lambda: AxialPosition((2, 4), (6, 10)).embed(
                torch.zeros(1, 9, 16), torch.arange(9)
            )
        },
        laws={"order": Fails("telling positions apart is what it is for")},
    )


@case("ReformerEmbeddings", ReformerEmbeddings)
def _() -> Case:
    tokens = torch.tensor([[4, 9, 6]])

    def make() -> ReformerEmbeddings:
        return ReformerEmbeddings(TokenEmbedding(32, 16), AxialPosition((2, 4), (6, 10)))

    def no_positions() -> tuple[Tensor, Tensor]:
        embeddings = ReformerEmbeddings(TokenEmbedding(32, 16), Position()).double()
        return embeddings(tokens), embeddings.tokens(tokens)

    lone = "each position is embedded alone: no mask, no other token, no earlier state"
    return Case(
        make=make,
        run=lambda model, x, mask=None, state=None: model(x),
        vocab=32,
        parity="transformers ReformerModel, its embeddings",
        limits={"no positions: the tokens": no_positions},
        refusals={"an unknown token": lambda: make()(tokens + 40)},
        laws={
            "padding": NotApplicable(lone),
            "cache": NotApplicable(lone),
            "hooks": NotApplicable("it has no weights of attention"),
            "order": Fails("positions tell the tokens apart"),
        },
    )
