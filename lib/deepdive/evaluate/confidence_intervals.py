"""Confidence intervals of scores and of paired differences (t, bootstrap), and McNemar's test."""

import math
from typing import Any, NamedTuple

import numpy as np

from deepdive.core.checks import finite, numbers, positive
from deepdive.evaluate.classification_metrics import label_set, paired_labels


class Interval(NamedTuple):
    """A mean with the bounds of its confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap(values: Any, draws: int = 2000, seed: int = 0, level: float = 0.95) -> Interval:
    """Return the mean of `values` (N,) with its percentile bootstrap interval.

    For an accuracy give 1 for a correct prediction, 0 for a wrong one; for the difference of two
    models on the same texts give the difference of these values: then the interval is paired. It
    covers variation over similar texts, not over training seeds. For fewer than 20 values use
    `t_interval`.

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
    """Return the mean of `values` (N,) with its Student's t interval, N - 1 degrees of freedom.

        mean -+ t(N - 1) * standard deviation / sqrt(N)

    For few units, such as training seeds: below 20 values the interval of `bootstrap` is too
    narrow, and with 5 normal ones covers the mean in 84 % of samples instead of 95 %. For a paired
    interval give the differences per seed.

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
        raise ValueError(f"values: got shape {found.shape}, expected (N,), N >= 2, all finite")
    return found


def _check_draws(draws: int, level: float = 0.95) -> None:
    positive(draws=draws)
    numbers(0.0, 1.0, level=level)
    if level in (0, 1):
        raise ValueError(f"level={level}: expected a number between 0 and 1, such as 0.95")


def clustered(
    values: Any, groups: Any, draws: int = 2000, seed: int = 0, level: float = 0.95
) -> Interval:
    """Return the mean of `values` (N,) with its cluster bootstrap interval: groups are resampled.

    groups: the article, sentence or speaker of each value. Values from one group are correlated, so
    resampling single values would give too narrow an interval:

        mean of a sample = sum of the values of the sampled groups / number of these values

    Source: Davison and Hinkley 1997, section 3.8. Raises ValueError for fewer than two groups, if
    values and groups differ in length, or for values that are not finite.
    """
    _check_draws(draws, level)
    found = np.asarray(values, dtype=np.float64)
    names, group = np.unique(np.asarray(groups), return_inverse=True)
    if found.ndim != 1 or group.shape != found.shape or len(names) < 2:
        raise ValueError(
            f"values, groups: got shapes {found.shape} and {group.shape} and {len(names)} "
            "groups, expected equal counts and at least two groups"
        )
    finite("values", found)
    sums, sizes = np.bincount(group, found), np.bincount(group)
    sampled = np.random.default_rng(seed).integers(len(names), size=(draws, len(names)))
    means = sums[sampled].sum(1) / sizes[sampled].sum(1)
    low, high = np.quantile(means, ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(found.mean()), float(low), float(high))


def macro_f1_interval(
    said: Any, true: Any, n_classes: int, *, less: Any = None, draws: int = 1000, seed: int = 0
) -> Interval:
    """Return the mean of `macro_f1` over training runs with its 95% bootstrap interval over texts.

    said    (N,), or (S, N): the predictions of S training runs for the same N texts
    less    the same for a second model: the interval is for the difference, with the same bootstrap
            samples of texts for both (paired)

    It covers variation over similar texts, not over training runs, which are averaged.
    Raises ValueError if the lengths differ or a class is not below `n_classes`.
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
    """Return macro-F1 (D,), averaged over runs, where text n counts weights[d, n] times."""
    every = np.eye(n_classes, dtype=np.int64)
    found = []
    for row in np.atleast_2d(np.asarray(said)):
        predictions, _ = paired_labels(row, truth)
        if max(predictions.max(), truth.max()) >= n_classes:
            raise ValueError(f"n_classes: got {n_classes}, but a class of at least that occurs")
        hits = weights @ (every[truth] * (predictions == truth)[:, None])
        both = weights @ (every[truth] + every[predictions])
        found.append((2 * hits / np.maximum(both, 1)).mean(1))
    return np.mean(found, axis=0)


def mcnemar(first: Any, second: Any) -> float:
    """Return the exact two-sided p-value of McNemar's test that two models are equally accurate.

    first, second: (N,), 1 if that model is correct on text n, else 0. Only texts on which exactly
    one is correct count: b for the first, c for the second. Under the null hypothesis each such
    text is a fair coin flip,

        p = min(1, 2 * sum over k <= min(b, c) of choose(b + c, k) / 2^(b + c))

    Source: McNemar 1947; as a test of classifiers: Dietterich 1998, section 3.1.
    """
    one, two = paired_labels(first, second)
    if max(one.max(), two.max()) > 1:
        raise ValueError("first, second: expected 1 (correct) and 0 (wrong), not class ids")
    b, c = int(((one == 1) & (two == 0)).sum()), int(((one == 0) & (two == 1)).sum())
    tail = sum(math.comb(b + c, k) for k in range(min(b, c) + 1))
    # Integers up to here: 2^(b + c) overflows a float if thousands of texts differ.
    return min(1.0, 2 * tail / 2 ** (b + c)) if b + c else 1.0
