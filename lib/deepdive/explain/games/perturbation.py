"""Occlusion and other perturbation methods: remove features, and measure the change of the output.

All but the last take a game (`deepdive.explain.games.game`), which defines how they are removed.

System: occlusion
Parent: none
What differs:
- one feature, or a window of neighbors, is removed at a time (`occlusion`; of one: leave-one-out)
- the smallest set of features that flips the prediction is removed (`smallest_erasure`)
- the feature is resampled and the drop measured in log odds (`prediction_difference`, on a game
  made by `resampled`)
- the features to remove are learned, by gradient descent on a mask at a hook point
  (`meaningful_perturbation`)
Source: Zeiler and Fergus 2014, section 4.2; Li, Monroe and Jurafsky 2016;
    Robnik-Sikonja and Kononenko 2008; Zintgraf et al. 2017; Fong and Vedaldi 2017.
Book: 7.3.1.2
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.hooks import record, replace
from deepdive.explain.games.game import Game


def windows(size: int, window: int) -> Tensor:
    """Return the features in each window of neighbors, bool (size - window + 1, size)."""
    positive(size=size, window=window)
    if window > size:
        raise ValueError(f"window={window} is longer than the text, which has {size} features")
    first = torch.arange(size - window + 1)[:, None]
    position = torch.arange(size)
    return (first <= position) & (position < first + window)


def _shared(drops: Tensor, held: Tensor) -> Tensor:
    """The mean drop over the windows that contain each feature (S,)."""
    return held.double().T @ drops / held.sum(0)


def occlusion(game: Game, window: int = 1) -> Tensor:
    """Return share[s] = mean over windows w with s of  game(all) - game(all but w), (S,).

    A window of 1 is leave-one-out: the drop without one feature. It is exact for additive games,
    and fails for two redundant features: removing one changes nothing while the other is kept.
    Source: Zeiler and Fergus 2014, section 4.2; Li et al. 2016, who divide by game(all).
    """
    held = windows(game.size, window)
    return _shared(game.everything() - game(~held), held)


def prediction_difference(game: Game, window: int = 1, counted: int | None = None) -> Tensor:
    """Return the weight of evidence of each feature, in bits, (S,):

        share[s] = mean over windows w with s of
                   log2 odds(game(all)) - log2 odds(game(all but w)),    odds(p) = p / (1 - p)

    The game returns a class probability; with `resampled` it is marginalized over the window's
    words: sum over words of p(words) p(class | text with them).

    counted    N, the size of the data behind p: p becomes (N p + 1) / (N + 2), so log odds are
               finite (Laplace's correction, for the class against the rest)
    Raises ValueError for numbers outside [0, 1], and for an uncorrected probability of 0 or 1.
    Source: Robnik-Sikonja and Kononenko 2008; Zintgraf et al. 2017.
    """
    held = windows(game.size, window)
    p = torch.cat([game.everything()[None], game(~held)])
    if p.min() < 0 or p.max() > 1:
        raise ValueError(f"game: got {p.min():.3g} to {p.max():.3g}, expected probabilities")
    if counted is not None:
        positive(counted=counted)
        p = (counted * p + 1) / (counted + 2)
    if p.min() == 0 or p.max() == 1:
        raise ValueError("a probability of 0 or 1 has no finite odds: give `counted`")
    bits = (p / (1 - p)).log2()
    return _shared(bits[0] - bits[1:], held)


def smallest_erasure(
    game: Game, threshold: float = 0.0, *, beam: int | None = None, most: int | None = None
) -> Tensor | None:
    """Return a smallest set of features, bool (S,), whose removal flips the prediction.

    The prediction is  game(kept) > threshold.  Sets of one feature are tried, then of two, up to
    `most`; among the first size that flips it, the set furthest past the threshold is returned.

    beam    how many sets of each size, those nearest to the threshold, are extended to the next
            size. None extends all, and finds the smallest; a narrow beam is fast but may find a
            larger set or none, if two features must be removed together.

    Returns None if no set of up to `most` features flips the prediction.
    Source: Li et al. 2016, who search by reinforcement learning.
    """
    side = 1.0 if game.everything() > threshold else -1.0
    gone = torch.zeros(1, game.size, dtype=torch.bool)
    for _ in range(game.size if most is None else most):
        larger = gone[:, None] | torch.eye(game.size, dtype=torch.bool)  # (N, S, S)
        larger = larger[~gone].unique(dim=0)  # each with one more feature
        numbers = game(~larger)
        flips = (numbers > threshold) != (side > 0)
        order = (side * numbers).masked_fill(~flips, torch.inf).sort(stable=True)
        if flips.any():
            return larger[order.indices[0]]
        gone = larger[(side * numbers).argsort(stable=True)[:beam]]
    return None


def meaningful_perturbation(
    model: nn.Module,
    point: str,
    output: Callable[[], Tensor],
    baseline: Tensor | None = None,
    *,
    penalty: float = 0.1,
    smooth: float = 0.0,
    steps: int = 100,
    lr: float = 0.1,
) -> Tensor:
    """Return the learned removal of each position, 1 - m[t]: little removal, large effect:

        m[t] = argmin over m in [0, 1]^S of
               output[t](m x + (1 - m) b)  +  penalty sum_s (1 - m_s)
               +  smooth sum_s (m_s - m_(s+1))^2

    by Adam from m = 1/2, kept in [0, 1]. `model`, `point`, `output` and the baseline b are as in
    `deepdive.explain.gradients.integrated_gradients`. If the output is linear in x, a position is
    removed exactly when it adds more than the penalty.

    Returns (T, S). Raises ValueError if the point is passed more than one input.
    Source: Fong and Vedaldi 2017 (the deletion game).
    """
    positive(steps=steps)
    with torch.no_grad(), record(model, point) as seen:
        count = len(output())
    (x,) = (rows for calls in seen.values() for rows in calls)
    if x.ndim != 3 or x.shape[0] != 1:
        raise ValueError(
            f"the hook point must pass (1, S, d); got {tuple(x.shape)}: explain one input at a time"
        )
    start = torch.zeros_like(x) if baseline is None else baseline.to(x).expand_as(x)

    def learned(t: int) -> Tensor:
        m = torch.full_like(x[0, :, 0], 0.5).requires_grad_()
        adam = torch.optim.Adam([m], lr=lr)
        for _ in range(steps):
            rows = start + m[:, None] * (x - start)
            with replace(model, point, rows):
                cost = output()[t] + penalty * (1 - m).sum() + smooth * m.diff().square().sum()
            (m.grad,) = torch.autograd.grad(cost, m)
            adam.step()
            m.data.clamp_(0, 1)
        return 1 - m.detach()

    with torch.enable_grad():
        return torch.stack([learned(t) for t in range(count)])
