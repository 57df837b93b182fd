"""Cases of `deepdive.layers.heads.tasks`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.attention import MultiHeadAttention
from deepdive.layers import Block, FeedForward
from deepdive.layers.embeddings import TokenEmbedding
from deepdive.layers.heads.tasks import Chooser, Classifier, Mask, Tagger
from deepdive.layers.stacks import Stack
from deepdive.masks import padding
from laws import Case, NotApplicable, case, padding_of


class _Reader(nn.Module):
    """The smallest encoder: embedding and one block, without positions."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(20, 16)
        self.stack = Stack(lambda _: Block(MultiHeadAttention(16, 4), FeedForward(16, 32)), 1)

    def forward(self, tokens: Tensor, mask: Mask = None, segments: Mask = None) -> Tensor:
        rows = self.embedding(tokens)
        if segments is not None:
            rows = rows + segments.unsqueeze(-1)
        return self.stack(rows, mask=padding(mask, tokens, "mask"))


ROW = torch.tensor([[4, 9, 6]])


ONE_ROW = NotApplicable("it gives one row for the whole input")


TWO_SIDED = NotApplicable("every token sees every token, on purpose")


ONE = {"no_leak": ONE_ROW, "padding": ONE_ROW, "cache": ONE_ROW, "order": ONE_ROW}


def by_hand(model: Any, rows: Callable[[Any, Tensor], Tensor]) -> tuple[Tensor, Tensor]:
    """The head's logits, and `rows` of the encoder's states through its last layer."""
    model = model.double().eval()
    states = model.encoder(ROW)
    return model(ROW), rows(model, states) @ model.out.weight.T + model.out.bias


@case("bert_finetune/Classifier", Classifier)
def _() -> Case:
    def make() -> Classifier:
        return Classifier(_Reader(), 16, 3)

    return Case(
        make=make,
        run=lambda model, x, mask=None, state=None: model(x, padding_of(mask)),
        vocab=20,
        parity="transformers BertForSequenceClassification",
        limits={"pooler, layer": lambda: by_hand(make(), lambda model, x: model.pooler(x))},
        refusals={"an inverted mask": lambda: make()(ROW, ROW < 0)},
        laws=ONE,
    )


@case("bert_finetune/Tagger", Tagger)
def _() -> Case:
    def make() -> Tagger:
        return Tagger(_Reader(), 16, 5, dropout=0.0)

    return Case(
        make=make,
        run=lambda model, x, mask=None, state=None: model(x, padding_of(mask)),
        vocab=20,
        parity="transformers BertForTokenClassification",
        limits={"a layer on every state": lambda: by_hand(make(), lambda model, x: x)},
        refusals={"an inverted mask": lambda: make()(ROW, ROW < 0)},
        laws={"no_leak": TWO_SIDED, "cache": TWO_SIDED},
    )


@case("bert_finetune", Chooser)
def _() -> Case:
    def make() -> Chooser:
        return Chooser(_Reader(), 16)

    def one_by_one() -> tuple[Tensor, Tensor]:
        model, other = make().double().eval(), ROW + 1
        both = torch.stack((ROW, other), dim=1)
        return model(both), torch.cat([model(each[None]) for each in (ROW, other)], dim=1)

    return Case(
        make=make,
        run=lambda model, x, mask=None, state=None: model(x[:, None]),
        vocab=20,
        parity="transformers BertForMultipleChoice",
        limits={"each choice alone": one_by_one},
        refusals={"no choices": lambda: make()(ROW)},
        laws=ONE,
    )
