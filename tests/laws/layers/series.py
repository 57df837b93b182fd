"""Cases of `deepdive.layers.series`."""

import torch
from torch import Tensor

from deepdive.layers.series import Distil, RowEmbedding
from laws import ANY_ROWS, NO_WEIGHTS, Case, Fails, NotApplicable, case, random_rows, set_weights

PARITY = "transformers InformerModel, its"
OTHER = torch.zeros(1, 2, 4)  # rows of another number of features
WHOLE = dict.fromkeys(
    ("no_leak", "padding", "order", "cache"),
    NotApplicable("it reads a whole series at once, and another number of rows comes out"),
)
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
