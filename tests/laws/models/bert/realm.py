"""Cases of `deepdive.models.bert.realm`."""

from typing import Any

import torch
from torch import Tensor

from deepdive.models.bert.realm import Realm, RealmEmbedder, tiny
from deepdive.training.objectives.marginal_likelihood import token_log_probs, token_marginal
from laws import (
    ORDERED,
    TWO_SIDED,
    Case,
    NotApplicable,
    case,
    padding_of,
    random_rows,
    with_padding,
)

ROWS = torch.tensor([[4, 9, 6], [5, 7, 8]])
JOINT = torch.stack((ROWS, ROWS.flip(1)), 1)  # (2, 2, 3)


def _marginal(model: Realm, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    """log p of each token of x from itself and each of two documents, which are made of it."""
    real = padding_of(mask)
    pairs = torch.stack((x, (x + 3) % 28 + 4), 1)
    both = None if real is None else torch.stack((real, real), 1)
    scores = model.relevance(x, pairs, real, both)
    log_p = model(pairs, both).log_softmax(-1)
    return torch.logsumexp(log_p + scores.log_softmax(-1)[..., None, None], 1)


@case("realm/RealmEmbedder", RealmEmbedder)
def _() -> Case:
    def run(model: RealmEmbedder, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return with_padding(model, x, mask)[:, None].expand(-1, x.shape[1], -1)

    def by_parts() -> tuple[Tensor, Tensor]:
        model = tiny().embedder.double().eval()
        first = model.bert(ROWS)[:, 0]
        projected = model.projection(torch.tanh(model.pooler.dense(first)))
        centered = projected - projected.mean(-1, keepdim=True)
        return model(ROWS), centered / (centered.square().mean(-1, keepdim=True) + 1e-12).sqrt()

    whole = NotApplicable("the vector is of the full text, on purpose")
    return Case(
        make=lambda: tiny().embedder,
        run=run,
        vocab=32,
        parity="transformers 4.57.6 RealmEmbedder",
        limits={"a norm without weights: the projected state of [CLS], normalized": by_parts},
        refusals={
            "an inverted mask": lambda: tiny().embedder(ROWS, ROWS < 0),
            "an unknown token": lambda: tiny().embedder(ROWS + 40),
        },
        laws={"no_leak": whole, "cache": whole, "order": ORDERED},
    )


@case("realm", Realm)
def _() -> Case:
    def one_document() -> tuple[Tensor, Tensor]:
        """Without a choice, the loss is a masked language model's."""
        model = tiny().double().eval()
        log_p = token_log_probs(model(JOINT[:, :1]), ROWS)
        expected = model.reader(JOINT[:, 0]).log_softmax(-1).gather(-1, ROWS[..., None])
        return token_marginal(log_p, random_rows(2, 1)), expected.squeeze(-1).sum(-1)

    def one_embedder() -> tuple[Tensor, Tensor]:
        """A text's score with itself is the squared norm of its vector."""
        model = tiny().double().eval()
        return model.relevance(ROWS, ROWS[:, None])[:, 0], model.embedder(ROWS).square().sum(-1)

    return Case(
        make=tiny,
        run=_marginal,
        vocab=32,
        parity="transformers 4.57.6 RealmScorer and RealmKnowledgeAugEncoder",
        limits={
            "one document: BERT's masked language modeling": one_document,
            "a query that is its document": one_embedder,
        },
        refusals={
            "a document without its axis": lambda: tiny()(ROWS),
            "no candidates": lambda: tiny().relevance(ROWS, JOINT[:, :0]),
            "an inverted mask": lambda: tiny()(JOINT, JOINT < 0),
        },
        laws={**TWO_SIDED, "order": ORDERED},
    )
