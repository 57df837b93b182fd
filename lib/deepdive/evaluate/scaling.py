"""Scaling laws: the loss as a function of model size and data size, fitted to training runs.

    runs = [Run(5_400, [2**19, 2**20], [2.31, 2.10]), ...]
    fit = fitted(Chinchilla, runs)
    fit.law(3e5, 8e6), fit.law.best(1e13)           # a loss; the optimal size and data of a budget
    fit.interval(lambda law: law.best(1e13)[0])     # by bootstrap over runs
    fit.predict(3e5, 8e6)                          # the predicted loss of a new run

Compute budgets are in FLOPs: training n parameters on d tokens takes 6 n d (Kaplan et al. 2020,
section 2.1).

System: scaling_laws
Parent: gpt3
What differs:
- the model is unchanged: models of several sizes are trained on several amounts of text, and a
  curve is fitted to their losses (`fitted`)
- the curve has an irreducible loss (`Chinchilla`), or none (`Kaplan`)
- it predicts the optimal model size for a budget, and a loss (`best`, `predict`)
Source: Kaplan et al. 2020, sections 1 and 4; Hoffmann et al. 2022, section 3.3.
Book: 6.1.3.2
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from deepdive.evaluate.confidence_intervals import Interval

PRICE = 6.0  # FLOPs per parameter and token, forward and backward
FAR = 100.0  # cap on log(loss) during the search
ENOUGH = 3  # the minimum number of different sizes, and of different amounts of data


class Run(NamedTuple):
    """One training run: n parameters, and the losses after amounts d of data."""

    n: float
    d: Sequence[float]
    loss: Sequence[float]


class Chinchilla(NamedTuple):
    """loss(n, d) = floor + a / n^alpha + b / d^beta. Hoffmann et al. 2022, equation 2."""

    floor: float
    a: float
    b: float
    alpha: float
    beta: float

    def __call__(self, n: Any, d: Any) -> Any:
        return self.floor + self.a / n**self.alpha + self.b / d**self.beta

    def best(self, budget: float) -> tuple[float, float]:
        """Return the n and d with the lowest loss for a compute budget in FLOPs."""
        both = budget / PRICE
        ratio = (self.alpha * self.a / (self.beta * self.b)) ** (1 / (self.alpha + self.beta))
        n = ratio * both ** (self.beta / (self.alpha + self.beta))
        return n, both / n

    @property
    def growth(self) -> float:
        """The exponent x in: optimal n proportional to budget^x."""
        return self.beta / (self.alpha + self.beta)

    @classmethod
    def starts(cls, n: float, d: float, loss: float) -> list["Chinchilla"]:
        """Return initial parameters near a typical run, with its loss split into three terms."""
        parts = product((0.3, 0.6), (0.2, 0.5), (0.2, 0.5))
        return [cls(low * loss, 0.2 * loss * n**x, 0.2 * loss * d**y, x, y) for low, x, y in parts]


class Kaplan(NamedTuple):
    """loss(n, d) = ((n_c / n)^(alpha_n / alpha_d) + d_c / d)^alpha_d. Kaplan et al. 2020, equation
    1.5. It has no irreducible loss; with infinite data it is (n_c / n)^alpha_n, with an infinite
    model (d_c / d)^alpha_d.
    """

    n_c: float
    d_c: float
    alpha_n: float
    alpha_d: float

    def __call__(self, n: Any, d: Any) -> Any:
        of_size = (self.n_c / n) ** (self.alpha_n / self.alpha_d)
        return (of_size + self.d_c / d) ** self.alpha_d

    def best(self, budget: float) -> tuple[float, float]:
        """Return the n and d with the lowest loss for a compute budget in FLOPs."""
        both, u = budget / PRICE, self.alpha_n / self.alpha_d
        n = (u * self.n_c**u * both / self.d_c) ** (1 / (1 + u))
        return n, both / n

    @property
    def growth(self) -> float:
        """The exponent x in: optimal n proportional to budget^x."""
        return self.alpha_d / (self.alpha_n + self.alpha_d)

    @classmethod
    def starts(cls, n: float, d: float, loss: float) -> list["Kaplan"]:
        """Return initial parameters near a typical run."""
        return [
            cls(n * (loss ** (1 / y) / 2) ** (y / x), d * loss ** (1 / y) / 2, x, y)
            for x, y in product((0.06, 0.15), repeat=2)
        ]


Law = Chinchilla | Kaplan


class Fit(NamedTuple):
    """The fitted `law`, the laws fitted to bootstrap samples of the runs (`bootstrap_laws`), and
    the residuals of the runs, log(measured loss) - log(predicted loss) (`residuals`).
    """

    law: Any
    bootstrap_laws: Sequence[Any]
    residuals: Any

    def interval(self, of: Callable[[Any], float], level: float = 0.95) -> Interval:
        """Return of(law) with its percentile bootstrap interval."""
        values = [of(law) for law in self.bootstrap_laws]
        low, high = np.quantile(values, ((1 - level) / 2, (1 + level) / 2))
        return Interval(float(of(self.law)), float(low), float(high))

    def predict(self, n: float, d: float, level: float = 0.95, seed: int = 0) -> Interval:
        """Return the predicted loss of a new run with its prediction interval: the predictions of
        the bootstrap laws, each with residuals sampled from those of the runs.
        """
        losses = np.asarray([law(n, d) for law in self.bootstrap_laws])
        residuals = np.random.default_rng(seed).choice(self.residuals, (len(losses), 20))
        predicted = losses[:, None] * np.exp(residuals)
        low, high = np.quantile(predicted, ((1 - level) / 2, (1 + level) / 2))
        return Interval(float(self.law(n, d)), float(low), float(high))


def fitted(
    form: type[Law], runs: Sequence[Run], *, delta: float = 1e-3, draws: int = 200, seed: int = 0
) -> Fit:
    """Fit a law to runs: minimize the summed Huber losses of log(predicted) - log(measured loss)
    from several initial values; refit to `draws` bootstrap samples of the runs.

    The losses of one run at several amounts of data stay together in a sample. `delta` is where the
    Huber loss changes from quadratic to linear, which makes the fit robust to failed runs.

    Source: Hoffmann et al. 2022, section 3.3; the bootstrap as in Besiroglu et al. 2024.
    Raises ValueError for fewer than three sizes or amounts of data, unless there are more losses
    than the law has parameters, and for numbers that are not positive.
    """
    _check(form, runs)
    n, d, loss = _columns(runs)
    middle = [float(np.exp(np.log(x).mean())) for x in (n, d, loss)]
    found = [_search(form, start, n, d, loss, delta) for start in form.starts(*middle)]
    law = min(found, key=lambda one: one[1])[0]
    generator, drawn = np.random.default_rng(seed), list[Law]()
    while len(drawn) < draws:
        again = [runs[i] for i in generator.integers(len(runs), size=len(runs))]
        if not _lacks(form, again):
            drawn.append(_search(form, law, *_columns(again), delta)[0])
    return Fit(law, drawn, np.log(loss) - np.log(law(n, d)))


def _search(
    form: type[Law], start: Law, n: Any, d: Any, loss: Any, delta: float
) -> tuple[Law, float]:
    """Return the law fitted from `start` and its cost; all its parameters stay above 0."""
    from scipy.optimize import least_squares

    aim = np.log(loss)
    powers = ["alpha" in name or "beta" in name for name in form._fields]
    ends = np.where(powers, -5.0, -60.0), np.where(powers, 1.0, 120.0)  # of the log parameters
    with np.errstate(over="ignore"):
        found = least_squares(
            lambda logs: np.minimum(np.log(form(*np.exp(logs))(n, d)), FAR) - aim,
            np.clip(np.log(start), *ends), loss="huber", f_scale=delta, x_scale="jac", bounds=ends,
            ftol=1e-9, xtol=1e-9, gtol=1e-12, max_nfev=300,
        )  # fmt: skip
    return form(*(float(x) for x in np.exp(found.x))), float(found.cost)


def _columns(runs: Sequence[Run]) -> tuple[Any, Any, Any]:
    n = np.concatenate([np.full(len(run.d), float(run.n)) for run in runs])
    d, loss = (np.concatenate([np.asarray(run[i], float) for run in runs]) for i in (1, 2))
    return n, d, loss


def _lacks(form: type[Law], runs: Sequence[Run]) -> str:
    """Return what there is too little of to fit this law, or an empty string."""
    n, d, loss = _columns(runs)
    if min(len(set(n)), len(set(d))) < ENOUGH:
        return f"{len(set(n))} sizes and {len(set(d))} amounts of data, expected {ENOUGH} or more"
    if len(loss) <= len(form._fields):
        return f"{len(loss)} losses, expected more than the law's {len(form._fields)} parameters"
    return ""


def _check(form: type[Law], runs: Sequence[Run]) -> None:
    for run in runs:
        if len(run.d) != len(run.loss):
            raise ValueError(f"runs: {len(run.d)} amounts with {len(run.loss)} losses in one run")
        each = np.asarray([run.n, *run.d, *run.loss], float)
        if not (np.isfinite(each).all() and (each > 0).all()):
            raise ValueError(f"runs: got {run}, expected finite numbers above 0")
    if lacking := _lacks(form, runs) if runs else "got none":
        raise ValueError(f"runs: {lacking}")
