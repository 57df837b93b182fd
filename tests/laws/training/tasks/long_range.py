"""Cases of `deepdive_book.tasks.long_range`."""

import torch
from torch import Tensor

from deepdive.core import MultiHeadAttention
from deepdive_book.tasks.long_range import LongModel, copying
from laws import ORDERED, Case, NotApplicable, case


@case("LongModel", LongModel)
def _() -> Case:
    def make(n: int = 2) -> LongModel:
        task, sizes = copying(24, 4, 4), {"d_model": 16, "n_layers": n}
        return LongModel(task, lambda _: MultiHeadAttention(16, 4), **sizes, places=n > 0)

    def no_layers() -> tuple[Tensor, Tensor]:
        model, tokens = make(0).double(), torch.tensor([[4, 5, 4]])
        return model(tokens), model.out(model.stack.norm(model.tokens(tokens)))  # type: ignore[misc]

    return Case(
        make=make,
        run=lambda model, x, mask, state: model(x, mask),
        vocab=6,
        parity="none: proved blocks between a table and a linear layer",
        limits={"no layers: the table, a norm, a linear layer": no_layers},
        laws={
            "cache": NotApplicable("it classifies whole rows"),
            "order": ORDERED,
            "refusal": NotApplicable("its attention refuses"),
        },
    )
