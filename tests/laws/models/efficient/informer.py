"""Cases of `deepdive.models.efficient.informer`."""

import torch
from torch import Tensor

from deepdive.core.softmax import SoftmaxAttention
from deepdive.layers.series import InformerEncoder
from deepdive.models.efficient.informer import TINY, Informer, informer
from laws import Case, Fails, NotApplicable, case, random_rows
from laws.layers.series import OTHER, PARITY, SILENT, WHOLE

NO_PADDING = NotApplicable(
    "a series has no padding: its rows are steps of time, and distilling would mix them"
)
NORMED = "the same for all rows: batch norm, two steps on, takes it away"


@case("informer/InformerEncoder", InformerEncoder)
def _() -> Case:
    def plain() -> tuple[Tensor, Tensor]:
        """All queries active and nothing distilled: a Transformer's encoder."""
        model = informer(TINY, n_features=3, factor=9, distil=None).double().encoder
        x = random_rows(2, 9, 3)
        ours, rows = model(x), model.embedding(x)
        for block in model.blocks:
            block.get_submodule("attn").mechanism = SoftmaxAttention()
            rows = block(rows)
        return ours, rows

    return Case(
        make=lambda: informer(TINY).encoder,
        parity=f"{PARITY} encoder",
        limits={"all queries active, no distilling: the Transformer's encoder": plain},
        refusals={"other features": lambda: informer(TINY).encoder(OTHER)},
        silent={**SILENT, "blocks.0.ff_residual.norm.bias": NORMED},
        laws=WHOLE,
    )


@case("informer", Informer)
def _() -> Case:
    def its_parts() -> tuple[Tensor, Tensor]:
        model = informer(TINY).double().eval()
        past, steps = random_rows(2, 9, 16), random_rows(2, 5, 16)
        return model(past, steps), model.decode(steps, model.encoder(past), 9)

    return Case(
        parity=f"{PARITY} decoder",
        limits={"encoder, decoder": its_parts},
        refusals={"other features": lambda: informer(TINY)(OTHER, torch.zeros(1, 2, 16))},
        silent={**SILENT, "encoder.blocks.0.ff_residual.norm.bias": NORMED},
        laws={
            "no_leak": Fails("all steps come in one pass; the encoder reads the whole past"),
            "padding": NO_PADDING,
            "order": Fails("a step's place is added to it"),
            "cache": NotApplicable("all steps come in one pass"),
        },
    )
