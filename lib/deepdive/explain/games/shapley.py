"""Shapley values: what each part adds, averaged over all orders in which parts can come.

Three ways to the same numbers: counted over all sets (`shapley`), a mean over drawn orders with its
error (`sampled_shapley`), and a weighted least-squares fit over sets (`kernel_shap`).

Against LIME the weights of sets are not chosen but derived: with them the coefficients of the fit
are Shapley values (`set_weight`), and add up to game(all) - game(none).

Source: Shapley 1953; Castro, Gomez and Tejada 2009 (orders drawn); Lundberg and Lee 2017, theorem
2; Covert and Lee 2021 (sets drawn in pairs, the fit with its constraint).
"""

from math import comb

import torch
from torch import Tensor

from deepdive.core.checks import as_int, positive
from deepdive.explain.games.game import Game, all_coalitions

MOST = 16


def shapley(game: Game) -> Tensor:
    """Return the Shapley value of each part, (S,), from all 2^S sets:

        value[i] = sum over sets K without i of  |K|! (S - |K| - 1)! / S!  (game(K + i) - game(K))

    They add up to game(all) - game(none) (`efficiency_gap`); parts that add alike have equal
    values; one that adds nothing has 0; of a sum of games they are the sum. No other values do all
    four (Shapley 1953).
    Raises ValueError for more than 16 parts: draw orders instead.
    """
    size = game.size
    if size > MOST:
        raise ValueError(f"{size} parts have 2^{size} sets: use sampled_shapley or kernel_shap")
    numbers = game(all_coalitions(size))
    rows = torch.arange(2**size)
    count = all_coalitions(size).sum(1)
    each = [1 / (size * comb(size - 1, k)) for k in range(size)]
    share = torch.tensor(each, dtype=torch.float64)
    values = []
    for i in range(size):
        without = rows[rows.bitwise_and(2**i) == 0]
        gain = numbers[without + 2**i] - numbers[without]
        values.append(share[count[without]] @ gain)
    return torch.stack(values)


def sampled_shapley(game: Game, orders: int = 100, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return the mean gain of each part over drawn orders, and its standard error, (S,) each.

        value[i] = mean over orders of  game(those before i, and i) - game(those before i)

    The error falls like 1 / sqrt(orders); the values add up to game(all) - game(none) at once,
    for they do in each order. Costs at most
    orders (S - 1) + 2 sets.
    """
    positive(orders=orders)
    draw = torch.Generator().manual_seed(as_int("seed", seed))
    order = torch.rand(orders, game.size, generator=draw).argsort(1)  # (M, S): the part that comes
    rank = order.argsort(1)[:, None]  # (M, 1, S): when a part comes
    numbers = game(rank < torch.arange(game.size + 1)[:, None])  # (M, S + 1)
    gains = numbers.diff(dim=1).gather(1, rank[:, 0])  # (M, S)
    return gains.mean(0), gains.std(0, correction=int(orders > 1)) / orders**0.5


def efficiency_gap(game: Game, values: Tensor) -> Tensor:
    """Return game(all) - game(none) - the sum of the `values` (S,), a number ().

    Of Shapley values, counted, drawn, or fitted, it is zero but for rounding; a model that answers
    the same input differently (dropout left on) shows in it. Raises ValueError for values that are
    not one of each part. Source: Shapley 1953 (efficiency).
    """
    if values.shape != (game.size,):
        raise ValueError(f"values are {tuple(values.shape)}, expected ({game.size},): one a part")
    return game.everything() - game.nothing() - values.sum()


def set_weight(size: int, kept: Tensor) -> Tensor:
    """Return the weight of a set with k of S parts, (...) for k (...), 0 < k < S:

        pi(k) = (S - 1) / (C(S, k) k (S - k))

    Source: Lundberg and Lee 2017, theorem 2.
    """
    weight = [0.0, *((size - 1) / (comb(size, k) * k * (size - k)) for k in range(1, size)), 0.0]
    return torch.tensor(weight, dtype=torch.float64)[kept]


def weighted_sets(size: int, samples: int, seed: int = 0) -> Tensor:
    """Draw sets with probabilities in proportion to `set_weight`, bool (samples, size).

    A number of parts k comes with probability in proportion to 1 / (k (S - k)), and all sets of k
    parts alike. Each set is followed by its complement, which makes the errors of both cancel.
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

        minimise    sum over sets K of  pi(|K|) (game(K) - game(none) - sum of value[i], i in K)^2
        subject to  sum of all value[i] = game(all) - game(none)

    over all sets (samples=None), where they are the Shapley values, or over `samples` sets that are
    drawn by pi. The error falls like 1 / sqrt(samples), and is 0 where parts add up.
    Raises ValueError where too few different sets are drawn for a single answer.
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
        weight = torch.ones(samples, dtype=torch.float64)  # how often they are drawn says it
    z = kept.double()
    a = (z * weight[:, None]).T @ z
    b = (z * weight[:, None]).T @ (game(kept) - none)
    if int(torch.linalg.matrix_rank(a)) < size:
        raise ValueError(f"samples={samples} sets of {size} parts have no single answer: draw more")
    solved = torch.linalg.solve(a, torch.stack([b, torch.ones_like(b)], 1))
    return solved[:, 0] - solved[:, 1] * (solved[:, 0].sum() - total) / solved[:, 1].sum()
