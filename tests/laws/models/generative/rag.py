"""Cases of `deepdive.models.generative.rag`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from deepdive.models.generative.rag import Rag, tiny
from deepdive_book.site.atlas.examples import DOCUMENTS, QUESTIONS
from laws import Case, case, padding_of, random_rows
from laws.models.transformer.transformer import ORDER, SOURCE

VECTORS = random_rows(3, 2, 32)


def _marginal(model: Rag, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    """RAG-Token's log p of each token after each target token of x."""
    src, vectors = DOCUMENTS[: len(x)].to(x.device), VECTORS[: len(x)].to(x.device)
    if state is not None:
        return model.step(x, state)
    weight = model.generator.encoder.embedding.weight
    scores = model.scores(QUESTIONS[: len(x)].to(x.device), vectors.to(weight.dtype))
    log_p = model(src, x, None, padding_of(mask)).log_softmax(-1)
    return torch.logsumexp(log_p + scores.log_softmax(-1)[..., None, None], 1)


def _begin(model: Rag) -> Any:
    weight = model.generator.encoder.embedding.weight
    scores = model.scores(QUESTIONS[:2], VECTORS[:2].to(weight.dtype))
    return model.begin(DOCUMENTS[:2], scores)


@case("rag", Rag)
def _() -> Case:
    def one_document() -> tuple[Tensor, Tensor]:
        model = tiny().double().eval()
        src, scores = DOCUMENTS[:, :1], torch.zeros(3, 1).double()
        with torch.no_grad():
            found = model.step(SOURCE, model.begin(src, scores))
        return found, model.generator(src[:, 0], SOURCE).log_softmax(-1)

    def equal_documents() -> tuple[Tensor, Tensor]:
        model, src = tiny().double().eval(), DOCUMENTS[:, :1].expand(-1, 3, -1)
        with torch.no_grad():
            found = model.step(SOURCE, model.begin(src, random_rows(3, 3)))
        return found, model.generator(src[:, 0], SOURCE).log_softmax(-1)

    return Case(
        make=tiny,
        run=_marginal,
        begin=_begin,
        vocab=32,
        parity="transformers RagSequenceForGeneration and RagTokenForGeneration",
        limits={
            "one document: the generator alone": one_document,
            "equal documents: the generator alone": equal_documents,
        },
        refusals={
            "one document without its axis": lambda: tiny()(DOCUMENTS[:, 0], SOURCE),
            "no documents": lambda: tiny()(DOCUMENTS[:, :0], SOURCE),
            "two batches": lambda: tiny()(DOCUMENTS, SOURCE[:2]),
            "scores of other documents": lambda: tiny().begin(DOCUMENTS, torch.zeros(3, 3)),
            "vectors of another width": lambda: tiny().scores(QUESTIONS, torch.zeros(3, 2, 8)),
        },
        laws=ORDER,
    )
