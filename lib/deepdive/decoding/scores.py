"""Filters (top-k, top-p, min-p) and rules (logits processors) for next-token scores."""

import math
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

Rule = Callable[[Tensor, int], Tensor]
"""rule(scores (B, V), length) -> scores: logits in `greedy` and `sample`, log-probabilities in
`beam`; `length` is the number of new tokens so far."""


def filter_top_k(logits: Tensor, k: int) -> Tensor:
    """Return logits (..., V) with all but the `k` largest at -inf; ties with the k-th stay too.

    Raises ValueError unless 1 <= k <= V. Source: Fan, Lewis and Dauphin 2018, section 5.1.
    """
    if not 1 <= k <= logits.shape[-1]:
        raise ValueError(
            f"top_k must be between 1 and the vocabulary's size {logits.shape[-1]}; got {k}"
        )
    least = logits.topk(k, dim=-1).values[..., -1:]
    return logits.masked_fill(logits < least, float("-inf"))


def filter_top_p(logits: Tensor, p: float) -> Tensor:
    """Return logits (..., V) with all but the nucleus at -inf: the smallest set of most probable
    tokens whose probabilities sum to `p` or more.

    Raises ValueError unless 0 < p <= 1. Source: Holtzman et al. 2020, section 3.1.
    """
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be between 0 (excluded) and 1; got {p}")
    if p == 1:  # keep all tokens even if the sum rounds below 1
        return logits
    probabilities, order = logits.softmax(-1).sort(-1, descending=True)
    before = probabilities.cumsum(-1) - probabilities  # the mass of the more probable tokens
    removed = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, before >= p)
    return logits.masked_fill(removed, float("-inf"))


def filter_min_p(logits: Tensor, p: float) -> Tensor:
    """Return logits (..., V) with -inf for all tokens less than `p` times as probable as the most
    probable one.

    Raises ValueError unless 0 < p <= 1. Source: Nguyen et al. 2025, section 3.
    """
    if not 0 < p <= 1:
        raise ValueError(f"min_p must be between 0 (excluded) and 1; got {p}")
    least = logits.amax(-1, keepdim=True) + math.log(p)
    return logits.masked_fill(logits < least, float("-inf"))


def cut(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
) -> Tensor:
    """Return logits (..., V) / temperature, filtered by `top_k`, `top_p` and `min_p` in this order.


    Raises ValueError for a temperature that is not positive and finite, and for an empty set.
    """
    if not 0 < temperature < float("inf"):
        raise ValueError(
            f"temperature must be positive and finite; got {temperature}. For the limit at 0 call "
            "greedy(...)"
        )
    logits = logits / temperature
    if top_k is not None:
        logits = filter_top_k(logits, top_k)
    if top_p is not None:
        logits = filter_top_p(logits, top_p)
    return logits if min_p is None else filter_min_p(logits, min_p)


def penalize(logits: Tensor, read: Tensor, penalty: float) -> Tensor:
    """Return logits (R, V) with a repetition penalty on the tokens so far, `read` (R, T): positive
    logits are divided by `penalty`, negative ones multiplied by it. 1 changes nothing.

    The paper divides all of them, which would raise a negative logit. The effect depends on the
    zero point of the logits, to which softmax is invariant.
    Raises ValueError unless the penalty is 1 or more, and finite. Source: Keskar et al. 2019,
    section 4.1.
    """
    if not 1 <= penalty < float("inf"):
        raise ValueError(f"repetition must be 1 or more, and finite; got {penalty}")
    seen = logits.gather(-1, read)
    return logits.scatter(-1, read, torch.where(seen > 0, seen / penalty, seen * penalty))


def forbid(*tokens: int) -> Rule:
    """Return a rule that sets the scores of `tokens` to -inf. The rule raises ValueError for a
    token outside the vocabulary.
    """

    def rule(scores: Tensor, length: int) -> Tensor:
        _check_known("forbid", tokens, scores.shape[-1])
        index = torch.tensor(tokens, dtype=torch.int64, device=scores.device)
        return scores.index_fill(-1, index, float("-inf"))

    return rule


def force(token: int, at: int) -> Rule:
    """Return a rule that makes `token` the new token number `at`, counted from 0, with score 0.

    Raises ValueError for a negative `at`; the rule raises it for a token outside the vocabulary.
    """
    if at < 0:
        raise ValueError(f"at={at}: new tokens are counted from 0, so `at` cannot be negative")

    def rule(scores: Tensor, length: int) -> Tensor:
        _check_known("force", (token,), scores.shape[-1])
        if length != at:
            return scores
        forced = torch.full_like(scores, float("-inf"))
        forced[..., token] = 0.0
        return forced

    return rule


def renormalize(scores: Tensor, length: int) -> Tensor:
    """Rule: renormalize the scores of the tokens that earlier rules allow to log-probabilities. If
    no token is allowed, all scores stay at -inf.
    """
    none_allowed = scores.amax(-1, keepdim=True) == float("-inf")
    log_p = scores.log_softmax(-1)
    return log_p.masked_fill(none_allowed, float("-inf")) if none_allowed.any() else log_p


def follow(rules: Iterable[Rule], scores: Tensor, length: int) -> Tensor:
    """Return the scores after all rules, applied in order."""
    for rule in rules:
        scores = rule(scores, length)
    return scores


def check_choice(best: Tensor, length: int, rows: Sequence[int] | None = None) -> None:
    """Raise ValueError unless each sequence has an allowed token, given its best score (R,).

    `length` is the number of new tokens so far, `rows` the sequences' numbers in the message, by
    default 0, 1, 2 ...
    """
    bad = (~(best > float("-inf"))).nonzero().flatten().tolist()
    if not bad:
        return
    row = bad[0] if rows is None else rows[bad[0]]
    if best[bad[0]].isnan():
        raise ValueError(
            f"the scores of row {row} are NaN at new token number {length}, counted from 0: is "
            "there NaN in the model's weights, its inputs or a rule?"
        )
    raise ValueError(
        f"the rules and the model leave row {row} no token to choose for new token number "
        f"{length}, counted from 0: all scores are -inf. Forbid fewer tokens"
    )


def _check_known(name: str, tokens: Sequence[int], vocab_size: int) -> None:
    unknown = [token for token in tokens if not 0 <= token < vocab_size]
    if unknown:
        raise ValueError(
            f"{name}: token {unknown[0]} is outside the model's vocabulary, 0 to {vocab_size - 1}"
        )
