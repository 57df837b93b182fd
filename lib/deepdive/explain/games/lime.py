"""LIME: a local linear surrogate of the model, fitted to perturbations of one text.

    kept = perturb(game.size, 1000)
    coefficients, r2 = lime(game, kept)

System: lime
Parent: occlusion
What differs:
- not one word is removed, but any number: perturbations of the explained text (`perturb`),
  weighted by their proximity to it (`kernel_weights`)
- a linear model of the kept words is fitted to the outputs (`weighted_ridge`, `weighted_lasso`);
  its coefficients are the explanation
- goodness of fit is part of the result (r2): a poor fit explains nothing
Source: Ribeiro, Singh and Guestrin 2016, sections 3.3 and 3.4.
Book: 7.3.2.1
"""

from collections.abc import Callable

import torch
from torch import Tensor

from deepdive.core.checks import as_int, positive
from deepdive.explain.games.game import Game

Pair = tuple[Tensor, Tensor]
Fit = Callable[[Tensor, Tensor, Tensor], Pair]


def perturb(size: int, samples: int, seed: int = 0) -> Tensor:
    """Sample the kept words, bool (samples, size): first all words, then perturbations with 1 to S
    removed words, uniform over the number and over the words.

    Source: Ribeiro et al. 2016, section 3.3.
    """
    positive(size=size, samples=samples)
    draw = torch.Generator().manual_seed(as_int("seed", seed))
    gone = torch.randint(1, size + 1, (samples, 1), generator=draw)
    gone[0] = 0
    return torch.rand(samples, size, generator=draw).argsort(1).argsort(1) >= gone


def kernel_weights(kept: Tensor, width: float = 0.35) -> Tensor:
    """Return the proximity of each sample to the full text, (N,) for kept (N, S):

        exp(-D^2 / width^2),    D = 1 - cos(kept, all) = 1 - sqrt(k / S)

    The width sets the locality: a narrow kernel covers texts with a word or two removed, an
    infinite one weights all equally. The authors' code uses 0.35, 0.25 sqrt(2) in these symbols.
    Source: Ribeiro et al. 2016, section 3.4.
    """
    if not width > 0:
        raise ValueError(f"width must be above 0; got {width}")
    apart = 1 - kept.double().mean(-1).sqrt()
    return (-(apart**2) / width**2).exp()


def weighted_ridge(z: Tensor, y: Tensor, weight: Tensor, penalty: float = 1.0) -> Pair:
    """Return w (S,) and b () that minimize  sum_n weight_n (z_n w + b - y_n)^2 + penalty |w|^2."""
    z, y, means = _centered(z, y, weight)
    gram = (z * weight[:, None]).T @ z
    gram.diagonal().add_(penalty)
    w = torch.linalg.lstsq(gram, ((z * weight[:, None]).T @ y)[:, None], driver="gelsd").solution
    return w[:, 0], means[1] - means[0] @ w[:, 0]


def weighted_lasso(z: Tensor, y: Tensor, weight: Tensor, penalty: float = 0.01) -> Pair:
    """Return w (S,) and b () that minimize

        sum_n weight_n (z_n w + b - y_n)^2 / (2 sum_n weight_n)  +  penalty |w|_1

    by coordinate descent until convergence: few coefficients are nonzero.
    """
    z, y, means = _centered(z, y, weight)
    share = weight / weight.sum()
    gram, goal = (z * share[:, None]).T @ z, (z * share[:, None]).T @ y
    w = torch.zeros_like(goal)
    for _ in range(10_000):
        before = w.clone()
        for i in range(len(w)):
            if gram[i, i] > 0:
                pull = goal[i] - gram[i] @ w + gram[i, i] * w[i]
                w[i] = pull.sign() * (pull.abs() - penalty).clamp_min(0) / gram[i, i]
        if (w - before).abs().max() < 1e-10:
            break
    return w, means[1] - means[0] @ w


def lime(game: Game, kept: Tensor, width: float = 0.35, fit: Fit = weighted_ridge) -> Pair:
    """Return the coefficients (S,) of the local linear model, and its goodness of fit, r2 ().

        w, b = fit(kept, game(kept), kernel_weights(kept, width))
        r2   = 1 - sum_n weight_n (z_n w + b - y_n)^2 / sum_n weight_n (y_n - mean)^2

    kept    the kept words, bool (N, S): from `perturb`, or all subsets
    fit     `weighted_ridge` or `weighted_lasso`, with another penalty by functools.partial

    r2 is 1 if the game is constant. For an additive game and no penalty w is exact.
    Source: Ribeiro et al. 2016, section 3.4 and algorithm 1.
    """
    if kept.ndim != 2 or not len(kept):
        raise ValueError(f"kept: got {tuple(kept.shape)}, expected (N, S) and N samples, 1 or more")
    y, weight = game(kept), kernel_weights(kept, width)
    z = kept.double()
    w, b = fit(z, y, weight)
    mean = weight @ y / weight.sum()
    residual, total = weight @ (z @ w + b - y) ** 2, weight @ (y - mean) ** 2
    varies = total > 1e-24 * (weight @ y**2)  # more than rounding
    return w, 1 - residual / total if varies else torch.ones_like(total)


def _centered(z: Tensor, y: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Pair]:
    """Both minus their weighted means, so the intercept is not penalized."""
    means = weight @ z / weight.sum(), weight @ y / weight.sum()
    return z - means[0], y - means[1], means
