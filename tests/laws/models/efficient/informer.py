"""Cases of `deepdive.models.efficient.informer` and of its parts."""

import torch
from torch import Tensor

from deepdive.attention.softmax import SoftmaxAttention
from deepdive.models.efficient.informer import TINY, Informer, informer
from deepdive.models.efficient.informer_parts import Distil, InformerEncoder, RowEmbedding
from laws import ANY_ROWS, NO_WEIGHTS, Case, Fails, NotApplicable, case, random_rows, set_weights

PARITY = "transformers InformerModel, its"
OTHER = torch.zeros(1, 2, 4)  # rows of another number of features
NO_PADDING = NotApplicable(
    "a series has no padding: its rows are steps of time, and distilling would mix them"
)
WHOLE = dict.fromkeys(
    ("no_leak", "padding", "order", "cache"),
    NotApplicable("it reads a whole series at once, and another number of rows comes out"),
)
NORMED = "the same for all rows: batch norm, two steps on, takes it away"
SILENT = {"convolution.bias": "batch norm takes the mean of a batch away, and the bias with it"}


@case("RowEmbedding", RowEmbedding)
def _() -> Case:
    def far() -> tuple[Tensor, Tensor]:
        embedding, x = RowEmbedding(16, 16).double(), random_rows(2, 5, 16)
        late = torch.cat([torch.zeros(2, 3, 16).double(), x], dim=1)
        return embedding(x, 3), embedding(late)[:, 3:]

    return Case(
        make=lambda: RowEmbedding(16, 16),
        parity=f"{PARITY} encoder",
        limits={"a row that starts later: the end of a longer one": far},
        refusals={"other features": lambda: RowEmbedding(3, 16)(OTHER)},
        laws={
            "padding": NotApplicable("each row is embedded alone"),
            "order": Fails("a row's place is added to it"),
            "cache": NotApplicable("nothing is kept: `start` says where the rows stand"),
            "hooks": NO_WEIGHTS,
        },
    )


@case("Distil", Distil)
def _() -> Case:
    def constant() -> tuple[Tensor, Tensor]:
        """A series that never changes stays what it is, at half the length."""
        distil = Distil(16).eval()
        set_weights(distil, convolution__weight=0.0, convolution__bias=0.5)
        distil.norm.eps = 0.0
        return distil(random_rows(2, 7, 16)), torch.full((2, 4, 16), 0.5).double()

    return Case(
        make=lambda: Distil(16),
        parity=f"{PARITY} encoder",
        limits={"no convolution: its bias, at half the length": constant},
        silent=SILENT,
        laws={**WHOLE, "refusal": ANY_ROWS, "hooks": NO_WEIGHTS},
    )


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
