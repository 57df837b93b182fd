"""Heads for tasks: one small layer on the states of a pre-trained encoder, all trained together.

The encoder is any module with `encoder(tokens, mask, segments) -> states (B, T, d_model)`. Spans of
a text are read out by `deepdive.layers.heads.spans`.

System: bert_finetune
Parent: bert
What differs:
- one text or a pair: a layer on the pooled state of [CLS] (`Classifier`); a pair differs from a
  text by its `segments` alone
- a label for each token: the same layer on every state (`Tagger`)
- an answer inside a passage: two scores for each token, begin and end (`SpanReader`); an answer
  that is not there has its place at [CLS] (`best_span`)
- one of several endings: each is read as a pair, and one score is left of each (`Chooser`)
- all weights learn, the encoder's too, for a few epochs at a small rate
Time: O(n_layers d_model (T + d_ff))
Memory: O(n_layers (n_heads T + d_ff))
Source: Devlin et al. 2019, section 4 and figure 4.
Book: 3.1.3
Page: 03_bert/07_finetuning#five-tasks
Checkpoints: none; a head is trained for its task
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.attention import MultiHeadAttention
from deepdive.checks import positive
from deepdive.laws import Case, NotApplicable, case, padding_of
from deepdive.layers import Block, Dropout, FeedForward
from deepdive.layers.embeddings import TokenEmbedding
from deepdive.layers.heads.pretraining import Pooler, initialise
from deepdive.layers.stacks import Stack
from deepdive.masks import describe, padding

Mask = Tensor | None


class Classifier(nn.Module):
    """logits = out(dropout(pooler(encoder(tokens)))), shape (B, n_classes): one text, or a pair
    with its segments. With n_classes = 1 it is a regression.
    """

    def __init__(
        self, encoder: nn.Module, d_model: int, n_classes: int, dropout: float = 0.1
    ) -> None:
        super().__init__()
        positive(d_model=d_model, n_classes=n_classes)
        self.encoder, self.pooler, self.dropout = encoder, Pooler(d_model), Dropout(dropout)
        self.out = nn.Linear(d_model, n_classes)
        initialise(self.out)

    def forward(self, tokens: Tensor, mask: Mask = None, segments: Mask = None) -> Tensor:
        """Return logits (B, n_classes) for tokens (B, T); mask True = real token."""
        return self.out(self.dropout(self.pooler(self.encoder(tokens, mask, segments))))


class Tagger(nn.Module):
    """logits = out(dropout(encoder(tokens))), shape (B, T, n_tags): a label for every token."""

    def __init__(self, encoder: nn.Module, d_model: int, n_tags: int, dropout: float = 0.1) -> None:
        super().__init__()
        positive(d_model=d_model, n_tags=n_tags)
        self.encoder, self.dropout = encoder, Dropout(dropout)
        self.out = nn.Linear(d_model, n_tags)
        initialise(self.out)

    def forward(self, tokens: Tensor, mask: Mask = None, segments: Mask = None) -> Tensor:
        """Return logits (B, T, n_tags); those under padding mean nothing."""
        return self.out(self.dropout(self.encoder(tokens, mask, segments)))


class Chooser(nn.Module):
    """logits[b, c] = out(dropout(pooler(encoder(tokens[b, c])))), shape (B, C): which of C?

    Each row of tokens (B, C, T) is the question with one of its endings.
    """

    def __init__(self, encoder: nn.Module, d_model: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.score = Classifier(encoder, d_model, 1, dropout)

    def forward(self, tokens: Tensor, mask: Mask = None, segments: Mask = None) -> Tensor:
        """Return logits (B, C); `mask` and `segments` are (B, C, T), as the tokens are."""
        if tokens.ndim != 3:
            raise ValueError(
                f"tokens must be (B, C, T), C choices for each question; got {describe(tokens)}"
            )
        rows = (None if x is None else x.flatten(0, 1) for x in (tokens, mask, segments))
        return self.score(*rows).view(tokens.shape[:2])


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


@case(Classifier)
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


@case(Tagger)
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


@case(Chooser)
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
