"""Cases of `deepdive.layers.heads.spans`."""

from __future__ import annotations

import torch

from deepdive.layers.heads.spans import SpanReader, best_span
from laws import Case, case, padding_of
from laws.layers.heads.tasks import ROW, TWO_SIDED, _Reader, by_hand


@case("SpanReader", SpanReader)
def _() -> Case:
    def make() -> SpanReader:
        return SpanReader(_Reader(), 16)

    logits = torch.zeros(1, 3, 2)
    return Case(
        make=make,
        run=lambda model, x, mask=None, state=None: model(x, padding_of(mask)),
        vocab=20,
        parity="transformers BertForQuestionAnswering",
        limits={"a layer on every state": lambda: by_hand(make(), lambda model, x: x)},
        refusals={
            "an inverted mask": lambda: make()(ROW, ROW < 0),
            "a passage with [CLS]": lambda: best_span(logits, torch.ones(1, 3).bool()),
            "spans without tokens": lambda: best_span(
                logits, torch.tensor([[False, True, True]]), max_length=0
            ),
            "no passage": lambda: best_span(logits, torch.zeros(1, 3).bool()),
            "a passage of another shape": lambda: best_span(logits, torch.ones(1, 2).bool()),
        },
        laws={"no_leak": TWO_SIDED, "cache": TWO_SIDED},
    )
