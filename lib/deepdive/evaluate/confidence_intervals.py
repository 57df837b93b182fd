"""How sure a score is: t and bootstrap intervals, alone and of a difference; McNemar's test."""

import math
from typing import Any, NamedTuple

import numpy as np

from deepdive.core.checks import finite, numbers, positive
from deepdive.evaluate.classification_metrics import label_set, paired_labels


class Interval(NamedTuple):
    """A mean, and the ends of its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap(values: Any, draws: int = 2000, seed: int = 0, level: float = 0.95) -> Interval:
    """The mean of `values` (N,), with the interval of its means over samples with replacement.

    For an accuracy give 1 where the answer is right, 0 where it is wrong; for the difference of two
    models on the same texts give the difference of these numbers: then the interval is a paired
    one. It speaks of other texts of this kind, not of other seeds in training. For fewer than 20
    values take `t_interval`.

    Source: Efron 1979; the percentile interval of Efron and Tibshirani 1993, section 13.3.
    Raises ValueError for fewer than two values, or values that are not finite.
    """
    found = _values(values)
    _check_draws(draws, level)
    generator = np.random.default_rng(seed)
    means = [found[generator.integers(len(found), size=len(found))].mean() for _ in range(draws)]
    low, high = np.quantile(means, ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(found.mean()), float(low), float(high))


def t_interval(values: Any, level: float = 0.95) -> Interval:
    """The mean of `values` (N,), with its interval by Student's t on N - 1 degrees of freedom.

        mean -+ t(N - 1) * standard deviation / sqrt(N)

    For few units, such as the seeds of a training: below 20 values the interval of `bootstrap` is
    too narrow: of 5 normal ones it holds the mean in 84 % of samples, not in 95. Give the
    differences of the same seeds for a paired interval.

    Source: Student 1908. Raises ValueError for fewer than two values, or values that are not
    finite.
    """
    from scipy.stats import t  # takes half a second to import

    found = _values(values)
    _check_draws(1, level)
    half = t.ppf((1 + level) / 2, len(found) - 1) * found.std(ddof=1) / len(found) ** 0.5
    mean = float(found.mean())
    return Interval(mean, mean - float(half), mean + float(half))


def _values(values: Any) -> np.ndarray:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or len(found) < 2 or not np.isfinite(found).all():
        raise ValueError(f"values: got shape {found.shape}, expected 2 finite ones or more")
    return found


def _check_draws(draws: int, level: float = 0.95) -> None:
    positive(draws=draws)
    numbers(0.0, 1.0, level=level)
    if level in (0, 1):
        raise ValueError(f"level={level}: expected a number between 0 and 1, such as 0.95")


def clustered(
    values: Any, groups: Any, draws: int = 2000, seed: int = 0, level: float = 0.95
) -> Interval:
    """The mean of `values` (N,), with its interval over samples of whole groups.

    groups: for each value the article, sentence or speaker that it is from. What comes from one
    group is alike, so a sample of values by themselves would look surer than it is:

        mean of a draw = sum over drawn groups of their values / how many those are

    Source: Davison and Hinkley 1997, section 3.8. Raises ValueError for fewer than two groups,
    where values and groups are not as many, or for values that are not finite.
    """
    _check_draws(draws, level)
    found = np.asarray(values, dtype=np.float64)
    names, place = np.unique(np.asarray(groups), return_inverse=True)
    if found.ndim != 1 or place.shape != found.shape or len(names) < 2:
        raise ValueError(
            f"values, groups: got shapes {found.shape} and {place.shape} and {len(names)} "
            "groups, expected equal counts, and two groups or more"
        )
    finite("values", found)
    sums, sizes = np.bincount(place, found), np.bincount(place)
    drawn = np.random.default_rng(seed).integers(len(names), size=(draws, len(names)))
    means = sums[drawn].sum(1) / sizes[drawn].sum(1)
    low, high = np.quantile(means, ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(found.mean()), float(low), float(high))


def macro_f1_interval(
    said: Any, true: Any, n_classes: int, *, less: Any = None, draws: int = 1000, seed: int = 0
) -> Interval:
    """Macro-F1 with its interval: the mean of `macro_f1` over trainings, texts drawn again.

    said    (N,), or (S, N): what S trainings said of the same N texts
    less    the same for a second model: the interval is that of the difference, each draw of texts
            being the same for both (paired)

    It speaks of other texts of this kind; over the trainings it takes the mean of those there are.
    Raises ValueError where the lengths differ or a class is not below `n_classes`.
    """
    positive(draws=draws, n_classes=n_classes)
    truth = label_set("true", true)
    generator = np.random.default_rng(seed)
    weights = generator.multinomial(len(truth), np.full(len(truth), 1 / len(truth)), draws)
    weights = np.vstack([np.ones(len(truth), dtype=np.int64), weights])
    found = _macro_f1s(said, truth, n_classes, weights)
    if less is not None:
        found = found - _macro_f1s(less, truth, n_classes, weights)
    low, high = np.quantile(found[1:], (0.025, 0.975))
    return Interval(float(found[0]), float(low), float(high))


def _macro_f1s(said: Any, truth: Any, n_classes: int, weights: Any) -> Any:
    """Macro-F1, meant over trainings, where text n counts weights[d, n] times: (D,)."""
    every = np.eye(n_classes, dtype=np.int64)
    found = []
    for row in np.atleast_2d(np.asarray(said)):
        predictions, _ = paired_labels(row, truth)
        if max(predictions.max(), truth.max()) >= n_classes:
            raise ValueError(f"n_classes: got {n_classes}, but a class above it occurs")
        hits = weights @ (every[truth] * (predictions == truth)[:, None])
        both = weights @ (every[truth] + every[predictions])
        found.append((2 * hits / np.maximum(both, 1)).mean(1))
    return np.mean(found, axis=0)


def mcnemar(first: Any, second: Any) -> float:
    """The exact two-sided p of McNemar's test: are two models right equally often?

    first, second: (N,), 1 where that model is right on text n, else 0. Only texts on which one is
    right and the other wrong speak: b for the first, c for the second. If both were equally good,
    each would be a fair coin,

        p = min(1, 2 * sum over k <= min(b, c) of choose(b + c, k) / 2^(b + c))

    Source: McNemar 1947; as a test of classifiers: Dietterich 1998, section 3.1.
    """
    one, two = paired_labels(first, second)
    if max(one.max(), two.max()) > 1:
        raise ValueError("first, second: expected 1 (right) and 0 (wrong), not classes")
    b, c = int(((one == 1) & (two == 0)).sum()), int(((one == 0) & (two == 1)).sum())
    tail = sum(math.comb(b + c, k) for k in range(min(b, c) + 1))
    # Whole numbers until here: 2^(b + c) is no float where thousands of texts differ.
    return min(1.0, 2 * tail / 2 ** (b + c)) if b + c else 1.0
