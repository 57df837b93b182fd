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

    weights (T, S) are the attention of the T output tokens, including the end token; `real`, bool
    (S,), marks the source positions that count. It is 0 when every position has a total attention
    of 1, and negative otherwise. Raises ValueError for weights that are not (T, S).
    Source: Wu et al. 2016, equation 14.
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
    """Return the hypotheses of each example in the order of equation 14, best first.

        score(y) = log p(y) / penalty(length(y), alpha) + coverage(weights(y), beta)

    `found` is the output of `beam(model, src, src_mask, n_best=width, ...)`; `length` counts the
    end token. The model runs on each hypothesis once more, and `pattern` names the one hook point
    whose weights count (heads are averaged). The search itself stores no weights: so coverage
    reranks its hypotheses, and does not guide it.
    Raises ValueError for another number of rows, or for a pattern that matches several points.
    Source: Wu et al. 2016, section 7; alpha = beta = 0.2 are theirs.
    """
    if len(found) != len(src):
        raise ValueError(f"found has {len(found)} rows, but src is a batch of {len(src)}")
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
            "whose weights are the attention to the source"
        )
    (calls,) = seen.values()
    return torch.cat(calls, dim=2).mean(dim=1)
