"""Cases of `deepdive.layers.heads`."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, MultiHeadAttention, gelu
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.masks import padding
from deepdive.core.stack import Stack
from deepdive.layers.heads.pretraining import MaskedHead, Pooler
from deepdive.layers.heads.spans import SpanHead, best_span
from deepdive.layers.heads.tasks import (
    Classifier,
    Mask,
    MultipleChoiceHead,
    TokenClassificationHead,
)
from laws import ALONE, ONE_ROW, TWO_SIDED, Case, case, random_rows, set_weights, with_padding

ROW, X, NARROW = torch.tensor([[4, 9, 6]]), random_rows(2, 3, 16), torch.zeros(2, 3, 15)


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


def head_case(make: Callable[[], Any], parity: str, limit: str, **more: Any) -> Case:
    """Return the case of a head over `_Reader`, whose logits are its last layer on some rows of the
    encoder's states: on what its pooler returns, or on every state.
    """

    def by_hand() -> tuple[Tensor, Tensor]:
        model = make().double().eval()
        rows = getattr(model, "pooler", nn.Identity())(model.encoder(ROW))
        return model(ROW), rows @ model.out.weight.T + model.out.bias

    refusals = {"an inverted mask": lambda: make()(ROW, ROW < 0), **more.pop("refusals", {})}
    return Case(
        make=make,
        run=with_padding,
        vocab=20,
        parity=f"transformers {parity}",
        limits={limit: by_hand},
        refusals=refusals,
        **more,
    )


@case("bert_finetune/Classifier", Classifier)
def _() -> Case:
    parity, limit = "BertForSequenceClassification", "pooler, layer"
    return head_case(lambda: Classifier(_Reader(), 16, 3), parity, limit, laws=ONE_ROW)


@case("bert_finetune/Tagger", TokenClassificationHead)
def _() -> Case:
    parity, limit = "BertForTokenClassification", "a layer on every state"
    return head_case(
        lambda: TokenClassificationHead(_Reader(), 16, 5, dropout=0.0),
        parity,
        limit,
        laws=TWO_SIDED,
    )


@case("SpanReader", SpanHead)
def _() -> Case:
    logits, all_but_first = torch.zeros(1, 3, 2), torch.tensor([[False, True, True]])
    return head_case(
        lambda: SpanHead(_Reader(), 16),
        "BertForQuestionAnswering",
        "a layer on every state",
        refusals={
            "a passage with [CLS]": lambda: best_span(logits, torch.ones(1, 3).bool()),
            "spans without tokens": lambda: best_span(logits, all_but_first, max_length=0),
            "no passage": lambda: best_span(logits, torch.zeros(1, 3).bool()),
            "a passage of another shape": lambda: best_span(logits, torch.ones(1, 2).bool()),
        },
        laws=TWO_SIDED,
    )


@case("bert_finetune", MultipleChoiceHead)
def _() -> Case:
    def make() -> MultipleChoiceHead:
        return MultipleChoiceHead(_Reader(), 16)

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
        laws=ONE_ROW,
    )


@case("Pooler", Pooler)
def _() -> Case:
    still = Pooler(16)
    set_weights(still, dense__weight=torch.eye(16), dense__bias=0.5)
    return Case(
        make=lambda: Pooler(16),
        parity="transformers BertModel",
        limits={
            "no projection: tanh of the first state": lambda: (still(X), torch.tanh(X[:, 0] + 0.5))
        },
        refusals={"another width": lambda: Pooler(16)(NARROW)},
        laws={**ONE_ROW, "hooks": ALONE["hooks"]},
    )


@case("MaskedHead", MaskedHead)
def _() -> Case:
    def make() -> MaskedHead:
        return MaskedHead(TokenEmbedding(20, 8), 16)

    def by_hand() -> tuple[Tensor, Tensor]:
        head = make().double()
        rows = head.norm(gelu(X @ head.dense.weight.T + head.dense.bias))
        return head(X), rows @ head.head.embedding.weight.T

    return Case(
        make=make,
        parity="transformers BertForPreTraining",
        limits={"its steps, with a bias of 0": by_hand},
        refusals={"another width": lambda: make()(NARROW)},
        laws=ALONE,
    )
