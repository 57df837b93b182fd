"""Scaling laws: what a model loses by its size and by its data, fitted to runs.

    runs = [Run(5_400, [2**19, 2**20], [2.31, 2.10]), ...]
    fit = fitted(Chinchilla, runs)
    fit.law(3e5, 8e6), fit.law.best(1e13)           # a loss; the size and the data of a budget
    fit.interval(lambda law: law.best(1e13)[0])     # by bootstrap over runs
    fit.foretold(3e5, 8e6)                          # what one run more will lose

A budget is in operations: one that trains n parameters on d tokens takes 6 n d (Kaplan et al. 2020,
section 2.1).

System: scaling_laws
Parent: gpt3
What differs:
- nothing is added to a model: many are trained, of several sizes and on several amounts of text,
  and a curve goes through what they lose (`fitted`)
- the curve has a floor and two parts that fall (`Chinchilla`), or no floor (`Kaplan`)
- it says how large a model to train for a budget, and what that one will lose (`best`, `foretold`)
Source: Kaplan et al. 2020, sections 1 and 4; Hoffmann et al. 2022, section 3.3.
Book: 6.1.3.2
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from deepdive.evaluate.confidence_intervals import Interval

PRICE = 6.0  # operations a parameter and token, forward and backward
FAR = 100.0  # log(loss) at most, where a search strays
ENOUGH = 3  # different sizes, and different amounts of data, that a curve takes


class Run(NamedTuple):
    """One training: its parameters, and what it lost after each of some amounts of data."""

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
        """The n and d at which the loss is least, of all that take these operations."""
        both = budget / PRICE
        ratio = (self.alpha * self.a / (self.beta * self.b)) ** (1 / (self.alpha + self.beta))
        n = ratio * both ** (self.beta / (self.alpha + self.beta))
        return n, both / n

    @property
    def growth(self) -> float:
        """By which power of the budget the best size grows."""
        return self.beta / (self.alpha + self.beta)

    @classmethod
    def starts(cls, n: float, d: float, loss: float) -> list["Chinchilla"]:
        """Where a search begins, around a run in the middle: what is lost, cut in three parts."""
        parts = product((0.3, 0.6), (0.2, 0.5), (0.2, 0.5))
        return [cls(low * loss, 0.2 * loss * n**x, 0.2 * loss * d**y, x, y) for low, x, y in parts]


class Kaplan(NamedTuple):
    """loss(n, d) = ((n_c / n)^(alpha_n / alpha_d) + d_c / d)^alpha_d. Kaplan et al. 2020, equation
    1.5. It has no floor; with endless data it is (n_c / n)^alpha_n, in an endless model
    (d_c / d)^alpha_d.
    """

    n_c: float
    d_c: float
    alpha_n: float
    alpha_d: float

    def __call__(self, n: Any, d: Any) -> Any:
        of_size = (self.n_c / n) ** (self.alpha_n / self.alpha_d)
        return (of_size + self.d_c / d) ** self.alpha_d

    def best(self, budget: float) -> tuple[float, float]:
        """The n and d at which the loss is least, of all that take these operations."""
        both, u = budget / PRICE, self.alpha_n / self.alpha_d
        n = (u * self.n_c**u * both / self.d_c) ** (1 / (1 + u))
        return n, both / n

    @property
    def growth(self) -> float:
        """By which power of the budget the best size grows."""
        return self.alpha_d / (self.alpha_n + self.alpha_d)

    @classmethod
    def starts(cls, n: float, d: float, loss: float) -> list["Kaplan"]:
        """Where a search begins, around a run in the middle."""
        return [
            cls(n * (loss ** (1 / y) / 2) ** (y / x), d * loss ** (1 / y) / 2, x, y)
            for x, y in product((0.06, 0.15), repeat=2)
        ]


Law = Chinchilla | Kaplan


class Fit(NamedTuple):
    """A law, those of runs that are drawn again from the same runs, and by how much the runs are
    off the law: log(lost) - log(said).
    """

    law: Any
    drawn: Sequence[Any]
    off: Any

    def interval(self, of: Callable[[Any], float], level: float = 0.95) -> Interval:
        """What `of` says of the law, with the percentile interval of what it says of the drawn."""
        said = [of(law) for law in self.drawn]
        low, high = np.quantile(said, ((1 - level) / 2, (1 + level) / 2))
        return Interval(float(of(self.law)), float(low), float(high))

    def foretold(self, n: float, d: float, level: float = 0.95, seed: int = 0) -> Interval:
        """The loss of one run more, with the interval in which it should lie: what the drawn laws
        say, each off by what a run drawn from all is off.
        """
        off = np.random.default_rng(seed).choice(self.off, (len(self.drawn), 20))
        said = np.asarray([law(n, d) for law in self.drawn])[:, None] * np.exp(off)
        low, high = np.quantile(said, ((1 - level) / 2, (1 + level) / 2))
        return Interval(float(self.law(n, d)), float(low), float(high))


def fitted(
    form: type[Law], runs: Sequence[Run], *, delta: float = 1e-3, draws: int = 200, seed: int = 0
) -> Fit:
    """Fit a law to runs: the least sum of Huber losses of log(said) - log(lost), searched from
    several starts; and `draws` times again, to as many runs, drawn with replacement.

    What one run loses at several amounts of data stays together in a draw. `delta` is where the
    Huber loss turns from a square to a line, so that a run that failed does not bend the law.

    Source: Hoffmann et al. 2022, section 3.3; the bootstrap as in Besiroglu et al. 2024.
    Raises ValueError for fewer than three sizes or amounts of data, for as many losses as the law
    has numbers or fewer, and for numbers that are not positive.
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
    """The law that is found from a start, and its sum; all its numbers stay above 0."""
    from scipy.optimize import least_squares

    aim = np.log(loss)
    powers = ["alpha" in name or "beta" in name for name in form._fields]
    ends = np.where(powers, -5.0, -60.0), np.where(powers, 1.0, 120.0)  # of the logarithms
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
    """What runs are too few of for this law; empty where they are enough."""
    n, d, loss = _columns(runs)
    if min(len(set(n)), len(set(d))) < ENOUGH:
        return f"{len(set(n))} sizes and {len(set(d))} amounts of data, expected {ENOUGH} or more"
    if len(loss) <= len(form._fields):
        return f"{len(loss)} losses, expected more than the law's {len(form._fields)} numbers"
    return ""


def _check(form: type[Law], runs: Sequence[Run]) -> None:
    for run in runs:
        if len(run.d) != len(run.loss):
            raise ValueError(f"runs: {len(run.d)} amounts with {len(run.loss)} losses in one run")
        each = np.asarray([run.n, *run.d, *run.loss], float)
        if not (np.isfinite(each).all() and (each > 0).all()):
            raise ValueError(f"runs: {run} has a number that is not finite and above 0")
    if lacking := _lacks(form, runs) if runs else "got none":
        raise ValueError(f"runs: {lacking}")
