"""Is an explanation faithful: do the parts that it names make the model's answer?

Each measure takes a game and attributions (..., S), of which only the order counts: the part with
the largest number comes first, equal ones by their place. All M explanations (M, S) of a text are
measured in one call; `random_orders` are the floor that each must beat.

No measure here is the truth. `tests/explain/evaluation/test_faithfulness.py` holds each to planted
models, and names where it prefers a wrong explanation:

- one word at a time, `comprehensiveness` overlooks words that stand in for each other, and
  `sufficiency` words that count only together
- the area under `deletion` favours words that count only together, that under `insertion` words
  that stand in for each other, over others of the same Shapley value
- all take words away: where the model never saw texts without them, they measure that. A full stop
  that ends every text is preferred to the keyword, until the words that are gone are drawn anew

Source: Samek et al. 2017 (deletion, with random orders beside it); Petsiuk, Das and Saenko 2018
(deletion and insertion); DeYoung et al. 2020, section 4.2 (comprehensiveness,
sufficiency); Madsen, Reddy and Chandar 2024 (arXiv 2310.07819) on texts that are out of
distribution.
"""

from collections.abc import Sequence
from math import ceil

import torch
from torch import Tensor

from deepdive.core.checks import as_int, positive
from deepdive.explain.games.game import Game

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)


def rank(attribution: Tensor) -> Tensor:
    """Return how many parts come before each part, (..., S): 0 for the largest number."""
    return attribution.argsort(dim=-1, descending=True, stable=True).argsort(-1)


def _first(game: Game, attribution: Tensor, counts: Tensor) -> Tensor:
    """The `counts` (C,) first parts, bool (..., C, S)."""
    if attribution.shape[-1:] != (game.size,):
        raise ValueError(
            f"attribution must be (..., {game.size}), one number for each part of the game; got "
            f"{tuple(attribution.shape)}"
        )
    return rank(attribution)[..., None, :] < counts[:, None]


def deletion(game: Game, attribution: Tensor) -> Tensor:
    """Return what is left without the first k parts, (..., S + 1):

        curve[k] = game(all but the k first),   from game(all) to game(none)

    A faithful explanation makes it fall early: its `area` is small.
    """
    return game(~_first(game, attribution, torch.arange(game.size + 1)))


def insertion(game: Game, attribution: Tensor) -> Tensor:
    """Return what the first k parts alone make, (..., S + 1):

        curve[k] = game(the k first),   from game(none) to game(all)

    A faithful explanation makes it rise early: its `area` is large.
    """
    return game(_first(game, attribution, torch.arange(game.size + 1)))


def area(curve: Tensor) -> Tensor:
    """Return the mean height of a curve (..., S + 1) over [0, 1], by trapezoids, (...)."""
    return torch.trapezoid(curve, dim=-1) / (curve.shape[-1] - 1)


def _counts(size: int, shares: Sequence[float]) -> Tensor:
    if not shares or not all(0 < share <= 1 for share in shares):
        raise ValueError(f"shares must be above 0 and at most 1, one at least; got {tuple(shares)}")
    return torch.tensor([ceil(share * size) for share in shares])


def comprehensiveness(game: Game, attribution: Tensor, shares: Sequence[float] = SHARES) -> Tensor:
    """Return what is lost without the first parts, (...); large is faithful:

        mean over shares q of  game(all) - game(all but the ceil(q S) first)

    The paper sums over its five shares and divides by six: 5/6 of this.
    Source: DeYoung et al. 2020, equations 1 and 3.
    """
    without = game(~_first(game, attribution, _counts(game.size, shares)))
    return (game.everything() - without).mean(-1)


def sufficiency(game: Game, attribution: Tensor, shares: Sequence[float] = SHARES) -> Tensor:
    """Return what the first parts alone do not make, (...); small is faithful:

        mean over shares q of  game(all) - game(the ceil(q S) first)

    Source: DeYoung et al. 2020, equations 2 and 3.
    """
    alone = game(_first(game, attribution, _counts(game.size, shares)))
    return (game.everything() - alone).mean(-1)


def random_orders(size: int, count: int, seed: int = 0) -> Tensor:
    """Return explanations that know nothing, (count, size): each order is as likely as any."""
    positive(size=size, count=count)
    draw = torch.Generator().manual_seed(as_int("seed", seed))
    return torch.rand(count, size, generator=draw)
