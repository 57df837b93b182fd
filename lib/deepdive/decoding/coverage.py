"""Reranking of beam search hypotheses by length and coverage penalties (GNMT, equation 14)."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from deepdive.core.hooks import record
from deepdive.core.masks import describe
from deepdive.decoding.beams import Hypothesis, Penalty, wu_penalty
from deepdive.tokenizers.base import BOS, PAD


def coverage(weights: Tensor, beta: float, real: Tensor | None = None) -> float:
    """Return beta * sum over source positions s of log(min(1, sum over t of weights[t, s])).

    weights (T, S) are the attention weights of T output tokens, including the end token; `real`,
    bool (S,), is true at source positions that are not padding. The result is 0 if every position
    has a total attention of at least 1, and negative otherwise. Raises ValueError for weights that
    are not (T, S). Source: Wu et al. 2016, equation 14.
    """
    if weights.ndim != 2 or not weights.is_floating_point():
        raise ValueError(f"weights must be floats (T, S), one hypothesis; got {describe(weights)}")
    attended = weights.sum(dim=0).clamp(max=1.0)  # (S,)
    return beta * float((attended if real is None else attended[real]).log().sum())


def rerank(
    model: nn.Module,
    found: Sequence[Sequence[Hypothesis]],
    src: Tensor,
    src_mask: Tensor | None = None,
    *,
    alpha: float = 0.2,
    beta: float = 0.2,
    penalty: Penalty = wu_penalty,
    pattern: str = "*.weights",
    bos: int = BOS,
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each example reranked by equation 14, best first.

        score(y) = log p(y) / penalty(length(y), alpha) + coverage(weights(y), beta)

    `found` is the output of `beam(model, src, src_mask, n_best=width, ...)`; `length` counts the
    end token. The model runs on each hypothesis again, and `pattern` matches the one hook point
    with the cross-attention weights (averaged over heads). The search itself stores no weights, so
    coverage reranks the hypotheses but does not guide the search.
    Raises ValueError for different batch sizes, or for a pattern that does not match one point.
    Source: Wu et al. 2016, section 7, with their alpha = beta = 0.2.
    """
    if len(found) != len(src):
        raise ValueError(f"found: got {len(found)} examples, expected {len(src)}, as in src")
    ordered = []
    for b, row in enumerate(found):
        mask = None if src_mask is None else src_mask[b]
        weights = _weights(model, row, src[b], mask, pattern, bos)
        scored = []
        for hypothesis, w in zip(row, weights, strict=True):
            length = len(hypothesis.tokens) + hypothesis.ended
            score = hypothesis.log_prob / penalty(length, alpha) + coverage(w[:length], beta, mask)
            scored.append(replace(hypothesis, score=score))
        ordered.append(sorted(scored, key=lambda h: -h.score))
    return ordered


def _weights(
    model: nn.Module,
    row: Sequence[Hypothesis],
    src: Tensor,
    mask: Tensor | None,
    pattern: str,
    bos: int,
) -> Tensor:
    """Return the attention weights (n, T, S) of the model for the n hypotheses of one example."""
    longest = max(len(h.tokens) for h in row)
    rows = [[bos, *h.tokens] + [PAD] * (longest - len(h.tokens)) for h in row]
    tgt = torch.tensor(rows, device=src.device)
    training = model.training
    model.eval()
    try:
        with torch.no_grad(), record(model, pattern) as seen:
            model(
                src.expand(len(row), -1), tgt, None if mask is None else mask.expand(len(row), -1)
            )
    finally:
        model.train(training)
    if len(seen) != 1:
        raise ValueError(
            f"pattern {pattern!r} matches {len(seen)} points: {', '.join(seen)}; name the one "
            "with the attention weights over the source"
        )
    (calls,) = seen.values()
    return torch.cat(calls, dim=2).mean(dim=1)
