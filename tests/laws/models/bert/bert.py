"""Cases of `deepdive.models.bert.bert`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.models.bert.bert import TINY, Bert, bert
from deepdive.models.bert.pretraining import (
    BertForMaskedLM,
    BertForPreTraining,
    for_masked_lm,
    for_pretraining,
)
from laws import Case, Fails, NotApplicable, case, padding_of

ROW = torch.tensor([[4, 9, 6]])


ORDERED = Fails("positions tell the tokens apart")


TWO_SIDED = NotApplicable("every token sees every token, on purpose")


@case("bert/Bert", Bert)
def _() -> Case:
    def no_layers() -> tuple[Tensor, Tensor]:
        model = bert(vocab_size=32, d_model=8, n_heads=2, n_layers=0).double().eval()
        return model(ROW), model.embeddings(ROW, None, torch.arange(3))

    return Case(
        make=lambda: bert(TINY),
        run=lambda model, x, mask=None, state=None: model(x, padding_of(mask)),
        vocab=32,
        parity="transformers BertModel",
        limits={"no layers: the embeddings": no_layers},
        refusals={
            "an inverted mask": lambda: bert(TINY)(ROW, torch.zeros(1, 3).bool()),
            "a float mask": lambda: bert(TINY)(ROW, torch.ones(1, 3)),
            "longer than the table": lambda: bert(TINY)(torch.full((1, 65), 4)),
            "an unknown token": lambda: bert(TINY)(ROW + 40),
        },
        laws={"no_leak": TWO_SIDED, "cache": TWO_SIDED, "order": ORDERED},
    )


@case("bert/BertForMaskedLM", BertForMaskedLM)
def _() -> Case:
    def its_parts() -> tuple[Tensor, Tensor]:
        model = for_masked_lm(bert(TINY)).double()
        return model(ROW), model.masked(model.bert(ROW))

    return Case(
        make=lambda: for_masked_lm(bert(TINY)),
        run=lambda model, x, mask=None, state=None: model(x, padding_of(mask)),
        vocab=32,
        parity="transformers RobertaForMaskedLM, DistilBertForMaskedLM",
        limits={"encoder, head": its_parts},
        refusals={"an inverted mask": lambda: for_masked_lm(bert(TINY))(ROW, ROW < 0)},
        laws={"no_leak": TWO_SIDED, "cache": TWO_SIDED, "order": ORDERED},
    )


@case("bert", BertForPreTraining)
def _() -> Case:
    def follows() -> tuple[Tensor, Tensor]:
        model = for_pretraining(bert(TINY)).double()
        states = model.bert(ROW)
        return model.next_logits(states), model.next(model.pooler(states[:, :1]))

    other = "the other head: `next_logits` reads the first state, whatever stands there"
    return Case(
        make=lambda: for_pretraining(bert(TINY)),
        run=lambda model, x, mask=None, state=None: model(x, padding_of(mask)),
        vocab=32,
        parity="transformers BertForPreTraining",
        limits={"encoder, first state, head": follows},
        silent={"pooler": other, "next": other},
        refusals={"an inverted mask": lambda: for_pretraining(bert(TINY))(ROW, ROW < 0)},
        laws={"no_leak": TWO_SIDED, "cache": TWO_SIDED, "order": ORDERED},
    )
