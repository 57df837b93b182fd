"""Faithfulness of an explanation: do the features that it ranks highest drive the model's output?

Each metric takes a game and attributions (..., S) and uses only their order: the largest first,
ties by position. All M explanations (M, S) of a text are scored in one call; `random_orders` is
the baseline that each must beat.

No metric here is ground truth. `tests/explain/evaluation/test_faithfulness.py` tests each on
planted models, and shows where it prefers a wrong explanation:

- one word at a time, `comprehensiveness` misses redundant words, and `sufficiency` misses words
  that count only together
- among words of the same Shapley value, the area under `deletion` favors words that count only
  together, and the area under `insertion` favors redundant words
- all of them remove words: if the model never saw such inputs in training, they measure that. A
  full stop that ends every text is preferred to the keyword, until removed words are resampled

Source: Samek et al. 2017 (deletion, compared with random orders); Petsiuk, Das and Saenko 2018
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
    """Return the rank of each feature, (..., S): 0 for the largest attribution."""
    return attribution.argsort(dim=-1, descending=True, stable=True).argsort(-1)


def _first(game: Game, attribution: Tensor, counts: Tensor) -> Tensor:
    """The top `counts` (C,) features, bool (..., C, S)."""
    if attribution.shape[-1:] != (game.size,):
        raise ValueError(
            f"attribution: got shape {tuple(attribution.shape)}, expected (..., {game.size}), one "
            "number per feature of the game"
        )
    return rank(attribution)[..., None, :] < counts[:, None]


def deletion(game: Game, attribution: Tensor) -> Tensor:
    """Return the deletion curve, the output without the top k features, (..., S + 1):

        curve[k] = game(all but the top k),   from game(all) to game(none)

    For a faithful explanation it falls early: its `area` is small.
    """
    return game(~_first(game, attribution, torch.arange(game.size + 1)))


def insertion(game: Game, attribution: Tensor) -> Tensor:
    """Return the insertion curve, the output with the top k features alone, (..., S + 1):

        curve[k] = game(the top k),   from game(none) to game(all)

    For a faithful explanation it rises early: its `area` is large.
    """
    return game(_first(game, attribution, torch.arange(game.size + 1)))


def area(curve: Tensor) -> Tensor:
    """Return the area under a curve (..., S + 1) over [0, 1], by the trapezoidal rule, (...)."""
    return torch.trapezoid(curve, dim=-1) / (curve.shape[-1] - 1)


def _counts(size: int, shares: Sequence[float]) -> Tensor:
    if not shares or not all(0 < share <= 1 for share in shares):
        raise ValueError(f"shares: got {tuple(shares)}, expected one or more in (0, 1]")
    return torch.tensor([ceil(share * size) for share in shares])


def comprehensiveness(game: Game, attribution: Tensor, shares: Sequence[float] = SHARES) -> Tensor:
    """Return the drop of the output without the top features, (...); larger is more faithful:

        mean over fractions q of  game(all) - game(all but the top ceil(q S))

    The paper sums over its five fractions and divides by six: 5/6 of this value.
    Source: DeYoung et al. 2020, equations 1 and 3.
    """
    without = game(~_first(game, attribution, _counts(game.size, shares)))
    return (game.everything() - without).mean(-1)


def sufficiency(game: Game, attribution: Tensor, shares: Sequence[float] = SHARES) -> Tensor:
    """Return the drop of the output with the top features alone, (...); smaller is more faithful:

        mean over fractions q of  game(all) - game(the top ceil(q S))

    Source: DeYoung et al. 2020, equations 2 and 3.
    """
    alone = game(_first(game, attribution, _counts(game.size, shares)))
    return (game.everything() - alone).mean(-1)


def random_orders(size: int, count: int, seed: int = 0) -> Tensor:
    """Return random attributions, (count, size): the baseline; all orders are equally likely."""
    positive(size=size, count=count)
    draw = torch.Generator().manual_seed(as_int("seed", seed))
    return torch.rand(count, size, generator=draw)
