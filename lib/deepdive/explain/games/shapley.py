"""Shapley values: each feature's marginal contribution, averaged over all orders of the features.

Three estimators: exact over all coalitions (`shapley`), a mean over sampled permutations with its
standard error (`sampled_shapley`), and weighted least squares over coalitions (`kernel_shap`).

Unlike LIME's, the weights of coalitions are derived, not chosen: with them the coefficients are
Shapley values (`set_weight`), and add up to game(all) - game(none).

Source: Shapley 1953; Castro, Gomez and Tejada 2009 (permutation sampling); Lundberg and Lee 2017,
theorem 2; Covert and Lee 2021 (paired sampling, constrained least squares).
"""

from math import comb

import torch
from torch import Tensor

from deepdive.core.checks import as_int, positive
from deepdive.explain.games.game import Game, all_coalitions

MOST = 16


def shapley(game: Game) -> Tensor:
    """Return the exact Shapley value of each feature, (S,), from all 2^S coalitions:

        value[i] = sum over sets K without i of  |K|! (S - |K| - 1)! / S!  (game(K + i) - game(K))

    Four axioms define them uniquely (Shapley 1953): they add up to game(all) - game(none)
    (efficiency; `efficiency_gap`), equal contributions give equal values (symmetry), a feature that
    adds nothing has 0 (dummy), and the values of a sum of games are the sums (additivity).
    Raises ValueError for more than 16 features: use sampled permutations instead.
    """
    size = game.size
    if size > MOST:
        raise ValueError(f"{size} features: 2^{size} sets; use sampled_shapley or kernel_shap")
    scores = game(all_coalitions(size))
    subsets = torch.arange(2**size)
    count = all_coalitions(size).sum(1)
    each = [1 / (size * comb(size - 1, k)) for k in range(size)]
    share = torch.tensor(each, dtype=torch.float64)
    values = []
    for i in range(size):
        without = subsets[subsets.bitwise_and(2**i) == 0]
        gain = scores[without + 2**i] - scores[without]
        values.append(share[count[without]] @ gain)
    return torch.stack(values)


def sampled_shapley(game: Game, orders: int = 100, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return Shapley values estimated from sampled permutations, and standard errors, (S,) each.

        value[i] = mean over orders of  game(those before i, and i) - game(those before i)

    The error falls like 1 / sqrt(orders); the values always add up to game(all) - game(none),
    because they do in each order. Costs at most orders (S - 1) + 2 evaluated sets.
    """
    positive(orders=orders)
    draw = torch.Generator().manual_seed(as_int("seed", seed))
    order = torch.rand(orders, game.size, generator=draw).argsort(1)  # (M, S): a feature
    rank = order.argsort(1)[:, None]  # (M, 1, S): a feature's position
    numbers = game(rank < torch.arange(game.size + 1)[:, None])  # (M, S + 1)
    gains = numbers.diff(dim=1).gather(1, rank[:, 0])  # (M, S)
    return gains.mean(0), gains.std(0, correction=int(orders > 1)) / orders**0.5


def efficiency_gap(game: Game, values: Tensor) -> Tensor:
    """Return game(all) - game(none) - the sum of the `values` (S,), a number ().

    For Shapley values, exact, sampled, or fitted, it is zero except for rounding; it is not for a
    nondeterministic model (dropout left on). Raises ValueError for values that are not one per
    feature. Source: Shapley 1953 (efficiency).
    """
    if values.shape != (game.size,):
        raise ValueError(f"values: got {tuple(values.shape)}, expected ({game.size},)")
    return game.everything() - game.nothing() - values.sum()


def set_weight(size: int, kept: Tensor) -> Tensor:
    """Return the Shapley kernel weight of a set of k of S features, (...) for k (...), 0 < k < S:

        pi(k) = (S - 1) / (C(S, k) k (S - k))

    Source: Lundberg and Lee 2017, theorem 2.
    """
    weight = [0.0, *((size - 1) / (comb(size, k) * k * (size - k)) for k in range(1, size)), 0.0]
    return torch.tensor(weight, dtype=torch.float64)[kept]


def weighted_sets(size: int, samples: int, seed: int = 0) -> Tensor:
    """Sample coalitions with probability proportional to `set_weight`, bool (samples, size).

    The size k has probability proportional to 1 / (k (S - k)), and all sets of size k are equally
    likely. Each set is followed by its complement, so errors partly cancel (paired sampling).
    """
    positive(samples=samples)
    draw = torch.Generator().manual_seed(as_int("seed", seed))
    k = torch.arange(1, size)
    half = (samples + 1) // 2
    chosen = k[torch.multinomial(1 / (k * (size - k)), half, True, generator=draw)]
    rank = torch.rand(half, size, generator=draw).argsort(1).argsort(1)
    kept = rank < chosen[:, None]
    return torch.stack([kept, ~kept], 1).flatten(0, 1)[:samples]


def kernel_shap(game: Game, samples: int | None = None, seed: int = 0) -> Tensor:
    """Return the values (S,) that solve

        minimize    sum over sets K of  pi(|K|) (game(K) - game(none) - sum of value[i], i in K)^2
        subject to  sum of all value[i] = game(all) - game(none)

    over all sets (samples=None), where they are the Shapley values, or over `samples` sets sampled
    by pi. The error falls like 1 / sqrt(samples), and is 0 for an additive game.
    Raises ValueError if too few different sets are sampled for a unique solution.
    Source: Lundberg and Lee 2017, theorem 2; Covert and Lee 2021 for the solution.
    """
    size, none = game.size, game.nothing()
    total = game.everything() - none
    if size == 1:
        return total[None]
    if samples is None:
        kept = all_coalitions(size)[1:-1]
        weight = set_weight(size, kept.sum(1))
    else:
        kept = weighted_sets(size, samples, seed)
        weight = torch.ones(samples, dtype=torch.float64)  # sampled in proportion to pi
    z = kept.double()
    a = (z * weight[:, None]).T @ z
    b = (z * weight[:, None]).T @ (game(kept) - none)
    if int(torch.linalg.matrix_rank(a)) < size:
        raise ValueError(f"samples={samples}: no unique solution for {size} features; sample more")
    solved = torch.linalg.solve(a, torch.stack([b, torch.ones_like(b)], 1))
    return solved[:, 0] - solved[:, 1] * (solved[:, 0].sum() - total) / solved[:, 1].sum()
