"""What is done to the scores of the next token before one is chosen: filters and rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

Rule = Callable[[Tensor, int], Tensor]
"""rule(scores (B, V), length) -> scores: logits in `greedy` and `sample`, log-probabilities in
`beam`; `length` is the number of new tokens so far."""


def filter_top_k(logits: Tensor, k: int) -> Tensor:
    """Return logits (..., V) with all but the `k` greatest at -inf; equals of the k-th stay too.

    Raises ValueError unless 1 <= k <= V. Source: Fan, Lewis and Dauphin 2018, section 5.1.
    """
    if not 1 <= k <= logits.shape[-1]:
        raise ValueError(
            f"top_k must lie between 1 and the vocabulary's size {logits.shape[-1]}; got {k}"
        )
    least = logits.topk(k, dim=-1).values[..., -1:]
    return logits.masked_fill(logits < least, float("-inf"))


def filter_top_p(logits: Tensor, p: float) -> Tensor:
    """Return logits (..., V) with all but the nucleus at -inf: the fewest tokens, the most probable
    first, whose probabilities sum to `p` or more.

    Raises ValueError unless 0 < p <= 1. Source: Holtzman et al. 2020, section 3.1.
    """
    if not 0 < p <= 1:
        raise ValueError(f"top_p must lie between 0 (excluded) and 1; got {p}")
    if p == 1:  # all of them, whatever the sum rounds to
        return logits
    probabilities, order = logits.softmax(-1).sort(-1, descending=True)
    before = probabilities.cumsum(-1) - probabilities  # what the more probable tokens hold
    outside = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, before >= p)
    return logits.masked_fill(outside, float("-inf"))


def forbid(*tokens: int) -> Rule:
    """Return the rule that `tokens` are never chosen."""

    def rule(scores: Tensor, length: int) -> Tensor:
        return scores.index_fill(-1, torch.tensor(tokens, device=scores.device), float("-inf"))

    return rule


def force(token: int, at: int) -> Rule:
    """Return the rule that new token number `at`, counted from 0, is `token`, and costs nothing."""

    def rule(scores: Tensor, length: int) -> Tensor:
        if length != at:
            return scores
        forced = torch.full_like(scores, float("-inf"))
        forced[..., token] = 0.0
        return forced

    return rule


def renormalise(scores: Tensor, length: int) -> Tensor:
    """Be the rule that what earlier rules left is a distribution again."""
    return scores.log_softmax(-1)


def follow(rules: Iterable[Rule], scores: Tensor, length: int) -> Tensor:
    """Return the scores after all rules, in their order."""
    for rule in rules:
        scores = rule(scores, length)
    return scores
