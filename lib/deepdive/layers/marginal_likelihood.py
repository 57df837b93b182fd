"""Inputs with K retrieved documents each, and likelihoods summed over them: RAG's and REALM's.

A retriever scores K documents, p(z | x) = softmax(scores), and a generator predicts the target from
each. No label says which document is right, so the likelihood is a sum over all of them. Its
gradient with respect to the scores is the posterior minus the prior: a document's score rises if
it predicts the target better than the documents do on average.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass
class DocumentState:
    """The state of decoding: the generator's, with K rows per sequence, and log p(z | x) (B, K)."""

    generator: Any
    prior: Tensor

    def reorder(self, index: Tensor) -> None:
        """Let sequence b continue from sequence index[b]; the batch size may change."""
        K = self.prior.shape[1]
        self.generator.reorder((index[:, None] * K + torch.arange(K, device=index.device)).view(-1))
        self.prior = self.prior.index_select(0, index)


def flatten_documents(
    tokens: Tensor, mask: Tensor | None = None, name: str = "tokens"
) -> tuple[Tensor, Tensor | None]:
    """Return tokens (B, K, T) of K documents per sequence as rows (B * K, T), and so their mask.

    Raises ValueError for tokens of another shape, and for no documents.
    """
    if tokens.ndim != 3 or not tokens.shape[1]:
        raise ValueError(
            f"{name}: got shape {tuple(tokens.shape)}, expected (B, K, T), K documents each; "
            f"{name}[None] adds an axis in front"
        )
    return tokens.flatten(0, 1), None if mask is None else mask.flatten(0, 1)


def token_log_probs(logits: Tensor, targets: Tensor) -> Tensor:
    """Return log p of each target under each document, (B, K, T).

    logits: (B, K, T, V); targets: (B, T), the same for all documents.
    Raises ValueError for shapes that do not fit.
    """
    B, K, T, _ = _four(logits)
    if targets.shape != (B, T):
        raise ValueError(f"targets: got shape {tuple(targets.shape)}, expected {(B, T)}")
    index = targets[:, None, :, None].expand(B, K, T, 1)
    return logits.log_softmax(-1).gather(-1, index).squeeze(-1)


def sequence_marginal(log_p: Tensor, scores: Tensor, real: Tensor | None = None) -> Tensor:
    """RAG-Sequence: one document generates the full target. Return log p(y | x), (B,).

        log p(y | x) = log sum_z p(z | x) prod_t p(y_t | x, z, y_<t)

    log_p: (B, K, T), each target token's log probability given each document; scores: (B, K),
    before the softmax; real: bool (B, T), True = a token that counts, None: all.
    Raises ValueError for shapes that do not fit, TypeError for a mask that is not bool.

    Source: Lewis et al. 2020, section 2.1; with masked tokens as y: Guu et al. 2020, section 3.1.
    """
    return torch.logsumexp(_joint(log_p, scores, real), 1)


def token_marginal(log_p: Tensor, scores: Tensor, real: Tensor | None = None) -> Tensor:
    """RAG-Token: each token may come from another document. Return log p(y | x), (B,).

        log p(y | x) = sum_t log sum_z p(z | x) p(y_t | x, z, y_<t)

    Arguments and errors: as in `sequence_marginal`.

    Source: Lewis et al. 2020, section 2.1; with masked tokens as y: transformers' REALM.
    """
    _check(log_p, scores, real)
    each = torch.logsumexp(scores.log_softmax(-1)[..., None] + log_p, 1)  # (B, T)
    return (each if real is None else each.masked_fill(~real, 0.0)).sum(-1)


def document_posterior(log_p: Tensor, scores: Tensor, real: Tensor | None = None) -> Tensor:
    """Return p(z | x, y), (B, K): how probable each document is once the target is known.

    Minus softmax(scores), it is the gradient of `sequence_marginal` with respect to the scores.
    """
    return _joint(log_p, scores, real).softmax(-1)


def _joint(log_p: Tensor, scores: Tensor, real: Tensor | None) -> Tensor:
    """Return log p(z | x) + log p(y | x, z), (B, K)."""
    _check(log_p, scores, real)
    if real is not None:
        log_p = log_p.masked_fill(~real[:, None], 0.0)
    return scores.log_softmax(-1) + log_p.sum(-1)


def _check(log_p: Tensor, scores: Tensor, real: Tensor | None) -> None:
    if log_p.ndim != 3 or scores.shape != log_p.shape[:2] or not scores.shape[1]:
        raise ValueError(
            f"log_p, scores: got shapes {tuple(log_p.shape)} and {tuple(scores.shape)}, expected "
            "(B, K, T) and (B, K) with K documents, at least 1"
        )
    if real is None:
        return
    if real.dtype != torch.bool:
        raise TypeError(f"real: got {real.dtype}, expected torch.bool, True = a token that counts")
    if real.shape != (log_p.shape[0], log_p.shape[2]):
        expected = (log_p.shape[0], log_p.shape[2])
        raise ValueError(f"real: got shape {tuple(real.shape)}, expected {expected}")


def _four(logits: Tensor) -> torch.Size:
    if logits.ndim != 4:
        raise ValueError(f"logits: got shape {tuple(logits.shape)}, expected (B, K, T, V)")
    return logits.shape
