"""Cases of `deepdive.models.efficient.reformer`."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.layers.embeddings import TokenEmbedding
from deepdive.models.efficient.reformer import (
    TINY,
    CausalReformer,
    Reformer,
    ReformerEmbeddings,
    reformer,
)
from deepdive.positions import AxialPosition, Position
from laws import Case, Fails, NotApplicable, case, padding_of
from laws.attention.by_content.lsh import LEAKS
from laws.attention.by_content.shared_qk import SQUARE

ROW = torch.tensor([[4, 9, 6]])


def reformer_case(kind: type[Reformer], **laws: Any) -> Case:
    tiny = TINY.but(model=kind)

    def whole_chunks() -> tuple[Tensor, Tensor]:
        """With padding up to a whole number of chunks, and without."""
        model = reformer(tiny).double().eval()
        tokens = torch.arange(4, 10)[None]
        real = (torch.arange(8) < 6)[None]
        return model(tokens), model(F.pad(tokens, (0, 2), value=9), real)[:, :6]

    return Case(
        make=lambda: reformer(tiny),
        run=lambda model, x, mask=None, state=None: model(x, padding_of(mask)),
        vocab=32,
        parity="transformers ReformerModel",
        limits={"padded by hand": whole_chunks},
        refusals={
            "an inverted mask": lambda: reformer(tiny)(ROW, torch.zeros(1, 3).bool()),
            "longer than the table": lambda: reformer(tiny)(torch.full((1, 65), 4)),
            "an unknown kind of layer": lambda: reformer(tiny, layers=("full",)),
        },
        laws={"order": Fails("positions tell the tokens apart"), **laws},
    )


@case("reformer/Reformer", Reformer)
def _() -> Case:
    two_sided = NotApplicable("every token may meet every token, on purpose")
    return reformer_case(Reformer, no_leak=two_sided, cache=two_sided)


@case("reformer", CausalReformer)
def _() -> Case:
    return reformer_case(CausalReformer, no_leak=LEAKS, cache=NotApplicable(SQUARE.reason))


@case("ReformerEmbeddings", ReformerEmbeddings)
def _() -> Case:
    def make() -> ReformerEmbeddings:
        return ReformerEmbeddings(TokenEmbedding(32, 16), AxialPosition((2, 4), (6, 10)))

    def no_positions() -> tuple[Tensor, Tensor]:
        embeddings = ReformerEmbeddings(TokenEmbedding(32, 16), Position()).double()
        return embeddings(ROW), embeddings.tokens(ROW)

    lone = "each position is embedded alone: no mask, no other token, no earlier state"
    return Case(
        make=make,
        run=lambda model, x, mask=None, state=None: model(x),
        vocab=32,
        parity="transformers ReformerModel, its embeddings",
        limits={"no positions: the tokens": no_positions},
        refusals={"an unknown token": lambda: make()(ROW + 40)},
        laws={
            "padding": NotApplicable(lone),
            "cache": NotApplicable(lone),
            "hooks": NotApplicable("it has no weights of attention"),
            "order": Fails("positions tell the tokens apart"),
        },
    )
