"""Cases of `deepdive.models.efficient.informer`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.softmax import SoftmaxAttention
from deepdive.models.efficient.informer import TINY, Informer, informer
from deepdive.models.efficient.informer_parts import InformerEncoder
from laws import Case, Fails, NotApplicable, case, random_rows
from laws.models.efficient.informer_parts import NO_MASK, SILENT, WHOLE

NORMED = "the same for all rows: batch norm, two steps on, takes it away"


@case("informer/InformerEncoder", InformerEncoder)
def _() -> Case:
    def plain() -> tuple[Tensor, Tensor]:
        """All queries active and nothing distilled: a Transformer's encoder."""
        model = informer(TINY, n_features=3, factor=9, distil=None).double().encoder
        x = random_rows(2, 9, 3)
        rows = model.embedding(x)
        ours = model(x)
        for block in model.blocks:
            block.get_submodule("attn").mechanism = SoftmaxAttention()
            rows = block(rows)
        return ours, rows

    return Case(
        make=lambda: informer(TINY).encoder,
        run=lambda module, x, mask, state: module(x),
        parity="transformers InformerModel, its encoder",
        limits={"all queries active, no distilling: the Transformer's encoder": plain},
        refusals={"other features": lambda: informer(TINY).encoder(torch.zeros(1, 2, 4))},
        silent={**SILENT, "blocks.0.ff_residual.norm.bias": NORMED},
        laws=dict.fromkeys(("no_leak", "padding", "order", "cache"), WHOLE),
    )


@case("informer", Informer)
def _() -> Case:
    def its_parts() -> tuple[Tensor, Tensor]:
        model, past, steps = (
            informer(TINY).double().eval(),
            random_rows(2, 9, 16),
            random_rows(2, 5, 16),
        )
        return model(past, steps), model.decode(steps, model.encoder(past), 9)

    return Case(
        make=lambda: informer(TINY),
        run=lambda module, x, mask, state: module(x, x),
        parity="transformers InformerModel, its decoder",
        limits={"encoder, decoder": its_parts},
        refusals={
            "other features": lambda: informer(TINY)(torch.zeros(1, 2, 4), torch.zeros(1, 2, 16))
        },
        silent={**SILENT, "encoder.blocks.0.ff_residual.norm.bias": NORMED},
        laws={
            "no_leak": Fails("all steps come in one pass; the encoder reads the whole past"),
            "padding": NO_MASK,
            "order": Fails("a step's place is added to it"),
            "cache": NotApplicable("all steps come in one pass"),
        },
    )
