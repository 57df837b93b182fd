"""Cases of `deepdive.models.efficient.reformer`."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core import Position
from deepdive.core.embeddings import TokenEmbedding
from deepdive.models.efficient.reformer import TINY, Reformer, ReformerEmbeddings, reformer
from deepdive.positions import AxialPosition
from laws import ALONE, ORDERED, Case, NotApplicable, Verdict, case, with_padding
from laws.attention.by_content import LEAKS, SQUARE

ROW = torch.tensor([[4, 9, 6]])


def reformer_case(causal: bool, no_leak: Verdict, cache: Verdict) -> Case:
    """Return the case of a Reformer that sees both sides, or one."""

    def make(**change: object) -> Reformer:
        return reformer(TINY, causal=causal, **change)

    def whole_chunks() -> tuple[Tensor, Tensor]:
        """With padding up to a whole number of chunks, and without."""
        model, tokens = make().double().eval(), torch.arange(4, 10)[None]
        real = (torch.arange(8) < 6)[None]
        return model(tokens), model(F.pad(tokens, (0, 2), value=9), real)[:, :6]

    return Case(
        make=make,
        run=with_padding,
        vocab=32,
        parity="transformers ReformerModel",
        limits={"padded by hand": whole_chunks},
        refusals={
            "an inverted mask": lambda: make()(ROW, torch.zeros(1, 3).bool()),
            "longer than the table": lambda: make()(torch.full((1, 65), 4)),
            "an unknown kind of layer": lambda: make(layers=("full",)),
        },
        laws={"order": ORDERED, "no_leak": no_leak, "cache": cache},
    )


BOTH = NotApplicable("every token may meet every token, on purpose")
case("reformer/Reformer", Reformer)(partial(reformer_case, False, BOTH, BOTH))
case("reformer", Reformer)(partial(reformer_case, True, LEAKS, NotApplicable(SQUARE.reason)))


@case("ReformerEmbeddings", ReformerEmbeddings)
def _() -> Case:
    def make() -> ReformerEmbeddings:
        return ReformerEmbeddings(TokenEmbedding(32, 16), AxialPosition((2, 4), (6, 10)))

    def no_positions() -> tuple[Tensor, Tensor]:
        embeddings = ReformerEmbeddings(TokenEmbedding(32, 16), Position()).double()
        return embeddings(ROW), embeddings.tokens(ROW)

    return Case(
        make=make,
        vocab=32,
        parity="transformers ReformerModel, its embeddings",
        limits={"no positions: the tokens": no_positions},
        refusals={"an unknown token": lambda: make()(ROW + 40)},
        laws={**ALONE, "order": ORDERED},
    )
