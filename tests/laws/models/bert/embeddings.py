"""Cases of `deepdive.models.bert.embeddings`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from deepdive.layers.embeddings import TokenEmbedding
from deepdive.models.bert.embeddings import BertEmbeddings
from deepdive.positions import LearnedPosition
from laws import Case, Fails, NotApplicable, case, set_weights

ROW = torch.tensor([[4, 9, 6]])


@case("BertEmbeddings", BertEmbeddings)
def _() -> Case:
    def make(n_segments: int = 2) -> BertEmbeddings:
        return BertEmbeddings(TokenEmbedding(32, 16), LearnedPosition(8, 16), n_segments)

    def only_tokens() -> tuple[Tensor, Tensor]:
        part = make().double()
        set_weights(part, segments__weight=0.0, position__table__weight=0.0)
        return part(ROW, torch.ones_like(ROW), torch.arange(3)), part.norm(part.tokens(ROW))

    def given(segments: Any) -> Callable[[], Tensor]:
        return lambda: make()(ROW, segments, torch.arange(3))

    ordered = Fails("positions tell the tokens apart")
    alone = NotApplicable("it looks at one token at a time; no mask or cache enters")
    return Case(
        make=make,
        run=lambda part, x, mask=None, state=None: part(x, None, torch.arange(x.shape[1])),
        vocab=32,
        parity="transformers BertModel",
        limits={"no segments, no positions: the tokens, normalised": only_tokens},
        refusals={
            "an unknown segment": given(ROW.clamp(max=2)),
            "segments of another shape": given(torch.zeros(1, 2).long()),
            "segments that are floats": given(torch.zeros(1, 3)),
            "segments for a model without": lambda: make(n_segments=0)(
                ROW, torch.zeros_like(ROW), torch.arange(3)
            ),
        },
        laws={
            "padding": alone,
            "cache": alone,
            "hooks": alone,
            "order": ordered,
        },
    )
