"""Cases of `deepdive.models.efficient.reformer`."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.models.efficient.reformer import CausalReformer, Reformer, reformer, tiny
from laws import Case, Fails, NotApplicable, case, padding_of
from laws.attention.by_content.lsh import LEAKS
from laws.attention.by_content.shared_qk import SQUARE

ROW = torch.tensor([[4, 9, 6]])


def reformer_case(kind: type[Reformer], **laws: Any) -> Case:
    def whole_chunks() -> tuple[Tensor, Tensor]:
        """With padding up to a whole number of chunks, and without."""
        model = tiny(kind=kind).double().eval()
        tokens = torch.arange(4, 10)[None]
        real = (torch.arange(8) < 6)[None]
        return model(tokens), model(F.pad(tokens, (0, 2), value=9), real)[:, :6]

    return Case(
        make=lambda: tiny(kind=kind),
        run=lambda model, x, mask=None, state=None: model(x, padding_of(mask)),
        vocab=32,
        parity="transformers ReformerModel",
        limits={"padded by hand": whole_chunks},
        refusals={
            "an inverted mask": lambda: tiny(kind=kind)(ROW, torch.zeros(1, 3).bool()),
            "longer than the table": lambda: tiny(kind=kind)(torch.full((1, 65), 4)),
            "an unknown kind of layer": lambda: reformer(layers=("full",), kind=kind),
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
