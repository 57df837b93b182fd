"""RAG: a generator that reads retrieved documents, trained with the retriever's question encoder.
Lewis et al. 2020, "Retrieval-Augmented Generation for Knowledge-Intensive NLP Tasks".

    scores = questions . documents                        p(z | x) = softmax(scores)
    logits = generator(question and document z, target)   one forward pass per document

The two likelihoods are in `deepdive.layers.marginal_likelihood`.

Long because decoding sums over documents too, in two ways, and inputs have one more axis.

System: rag
Parent: dpr
What differs:
- a generator, BART in the paper, reads each of K documents with the question, and predicts the
  target from it (`Rag.forward`)
- the loss is the target's negative log-likelihood, summed over documents: one document for the full
  target (`sequence_marginal`), or one for each token (`token_marginal`)
- this loss alone trains question encoder and generator; documents keep their vectors, so that the
  index needs no refresh (`Rag.scores`)
- RAG-Token decodes as any generator (`Rag.step`); RAG-Sequence ranks full outputs (`Rag.rank`)
Source: Lewis et al. 2020, section 2.
Book: blog, Retrieval-Augmented Generation
"""

import torch
from torch import Tensor, nn

from deepdive.core.embeddings import check_tokens
from deepdive.layers.marginal_likelihood import (
    DocumentState,
    flatten_documents,
    sequence_marginal,
    token_log_probs,
)
from deepdive.models.bert.bert import TINY, bert
from deepdive.models.bert.sbert import SentenceEncoder, cls
from deepdive.models.encoder_decoder import EncoderDecoder
from deepdive.models.generative import bart


class Rag(nn.Module):
    """A question encoder, tokens (B, T) -> vectors (B, d), and an encoder-decoder as generator."""

    def __init__(self, encoder: nn.Module, generator: EncoderDecoder) -> None:
        super().__init__()
        self.encoder, self.generator = encoder, generator

    def scores(self, questions: Tensor, documents: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return each document's score (B, K) for questions (B, T), given the index's vectors
        (B, K, d) of the retrieved documents. Raises ValueError for vectors of another shape.
        """
        vectors = self.encoder(questions, mask)
        if documents.ndim != 3 or documents[:, 0].shape != vectors.shape:
            raise ValueError(
                f"documents: got shape {tuple(documents.shape)}, expected (B, K, d), K vectors for "
                f"each of the questions' {tuple(vectors.shape)}"
            )
        return torch.einsum("bd,bkd->bk", vectors, documents)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """Return logits (B, K, T, V) of the target (B, T) under each document.

        src: (B, K, S), the question joined with each document; masks: bool, True = real. Token t
        of `tgt` predicts token t + 1. Raises ValueError for sources that are not (B, K, S).
        """
        rows, real = flatten_documents(src, src_mask, "src")
        B, K = src.shape[:2]
        if len(tgt) != B:
            raise ValueError(f"tgt: got a batch of {len(tgt)}, expected {B}, that of src")
        tgt_mask = None if tgt_mask is None else tgt_mask.repeat_interleave(K, 0)
        logits = self.generator(rows, tgt.repeat_interleave(K, 0), real, tgt_mask)
        return logits.unflatten(0, (B, K))

    def begin(self, src: Tensor, scores: Tensor, src_mask: Tensor | None = None) -> DocumentState:
        """Read all documents once, and return the state that `step` continues."""
        rows, real = flatten_documents(src, src_mask, "src")
        if scores.shape != src.shape[:2]:
            raise ValueError(f"scores: got {tuple(scores.shape)}, expected {tuple(src.shape[:2])}")
        return DocumentState(self.generator.begin(rows, real), scores.log_softmax(-1))

    def step(self, tokens: Tensor, state: DocumentState) -> Tensor:
        """Return RAG-Token's log p (B, t, V) after the next target tokens (B, t):

        log p(y_t) = log sum_z p(z | x) p(y_t | x, z, y_<t)
        """
        check_tokens(tokens)
        K = state.prior.shape[1]
        logits = self.generator.step(tokens.repeat_interleave(K, 0), state.generator)
        log_p = logits.log_softmax(-1).unflatten(0, (len(tokens), K))
        return torch.logsumexp(log_p + state.prior[..., None, None], 1)

    def rank(self, src: Tensor, scores: Tensor, outputs: Tensor, pad: int) -> Tensor:
        """Return RAG-Sequence's log p (B, N) of N outputs each, (B, N, T) with a first token that
        isn't predicted: every output is scored under every document, which the paper calls
        thorough decoding. The best one is the model's output.
        """
        found = []
        for tgt in outputs.unbind(1):
            log_p = token_log_probs(self(src, tgt[:, :-1]), tgt[:, 1:])
            found.append(sequence_marginal(log_p, scores, tgt[:, 1:] != pad))
        return torch.stack(found, 1)


def tiny() -> Rag:
    """Return a small model for tests: DPR's question encoder and BART, 2 layers, 32 wide."""
    return Rag(SentenceEncoder(bert(TINY), cls), bart.bart(bart.TINY))
