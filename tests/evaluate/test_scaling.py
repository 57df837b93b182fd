"""Scaling laws: planted ones are found again, and the best size of a budget is a search's."""

from __future__ import annotations

import numpy as np
import pytest

from deepdive.evaluate.scaling import PRICE, Chinchilla, Kaplan, Law, Run, fitted

PLANTED = Chinchilla(0.9, 20.0, 400.0, 0.35, 0.45)
FLOORLESS = Kaplan(6e7, 5e8, 0.1, 0.12)
SIZES, AMOUNTS = (5e3, 1.2e4, 3e4, 6e4, 1.5e5), np.array([5e5, 1e6, 2e6, 4e6])


def planted(law: Law, noise: float = 0.0, seeds: int = 3, seed: int = 0) -> list[Run]:
    """Runs that follow a law, each loss off by a factor."""
    draw = np.random.default_rng(seed)
    return [
        Run(n, AMOUNTS.tolist(), law(n, AMOUNTS) * np.exp(noise * draw.standard_normal(4)))
        for n in SIZES
        for _ in range(seeds)
    ]


@pytest.mark.parametrize("law", [PLANTED, FLOORLESS], ids=["Chinchilla", "Kaplan"])
def test_a_planted_law_is_found_again(law: Law) -> None:
    found = fitted(type(law), planted(law, seeds=1), draws=1).law
    assert np.allclose(np.log(found), np.log(law), rtol=1e-4)


def test_the_error_falls_as_the_noise_does() -> None:
    """Of the exponents, over six draws: a quarter of the noise leaves a quarter of the error."""

    def error(noise: float) -> float:
        each = [fitted(Chinchilla, planted(PLANTED, noise, seed=i), draws=0).law for i in range(6)]
        return float(np.mean([abs(law.growth - PLANTED.growth) for law in each]))

    rate = np.log2(error(0.004) / error(0.001)) / 2
    assert 0.7 < rate < 1.3


def test_one_run_that_failed_bends_nothing() -> None:
    runs = planted(PLANTED, noise=0.0005)
    failed = [*runs[:-1], runs[-1]._replace(loss=[3.0, 3.0, 3.0, 3.0])]
    robust = fitted(Chinchilla, failed, draws=0).law
    square = fitted(Chinchilla, failed, draws=0, delta=1e3).law  # squares everywhere
    off = [abs(law(3e5, 8e6) - PLANTED(3e5, 8e6)) for law in (robust, square)]
    assert off[0] < 0.01 < off[1]


@pytest.mark.parametrize("law", [PLANTED, FLOORLESS], ids=["Chinchilla", "Kaplan"])
@pytest.mark.parametrize("budget", [1e11, 1e13, 1e16])
def test_the_best_size_is_that_of_a_search(law: Law, budget: float) -> None:
    n, d = law.best(budget)
    assert np.isclose(PRICE * n * d, budget)
    sizes = n * np.exp(np.linspace(-1, 1, 2001))
    least = sizes[np.argmin(law(sizes, budget / PRICE / sizes))]
    assert abs(np.log(least / n)) < 2e-3
    step = 1e-4  # and the loss is level there
    slope = law(n * (1 + step), d / (1 + step)) - law(n / (1 + step), d * (1 + step))
    assert abs(slope) < 1e-7
    assert np.isclose(law.best(10 * budget)[0], 10**law.growth * n)


def test_what_is_left_with_endless_data_or_in_an_endless_model() -> None:
    law, other = PLANTED, FLOORLESS
    assert np.isclose(law(1e5, 1e60), law.floor + law.a / 1e5**law.alpha)
    assert np.isclose(law(1e60, 1e6), law.floor + law.b / 1e6**law.beta)
    assert np.isclose(other(1e5, 1e60), (other.n_c / 1e5) ** other.alpha_n)
    assert np.isclose(other(1e60, 1e6), (other.d_c / 1e6) ** other.alpha_d)


def test_by_hand() -> None:
    law = Chinchilla(1.0, 4.0, 4.0, 0.5, 0.5)
    assert law(16, 64) == 1 + 1 + 0.5
    assert law.growth == 0.5
    assert law.best(6 * 1024) == (32, 32)


def test_the_interval_holds_what_was_planted_nineteen_times_in_twenty() -> None:
    """Eight draws of runs; by chance 0.4 of them miss, and three or more in 6 tests of 1,000."""
    missed = 0
    for seed in range(8):
        fit = fitted(Chinchilla, planted(PLANTED, 0.002, seed=seed), draws=30, seed=seed)
        low, high = fit.interval(lambda law: law(3e5, 8e6))[1:]
        missed += not low <= PLANTED(3e5, 8e6) <= high
    assert missed < 3


def test_runs_stay_together_in_a_draw() -> None:
    """Where a run's losses are all off by one factor, runs that were drawn again differ more than
    single losses would.
    """
    draw = np.random.default_rng(0)
    off = [run._replace(loss=run.loss * np.exp(0.01 * draw.standard_normal()))
           for run in planted(PLANTED)]  # fmt: skip
    alone = [Run(run.n, [d], [loss]) for run in off for d, loss in zip(run[1], run[2], strict=True)]
    widths = []
    for runs in (off, alone):
        low, high = fitted(Chinchilla, runs, draws=40).interval(lambda law: law(3e5, 8e6))[1:]
        widths.append(high - low)
    assert widths[0] > 1.2 * widths[1]


def test_one_run_more_lies_where_it_is_foretold_nineteen_times_in_twenty() -> None:
    fit = fitted(Chinchilla, planted(PLANTED, 0.01), draws=40)
    found = fit.predict(1e5, 3e6)
    draw = np.random.default_rng(1)
    more = PLANTED(1e5, 3e6) * np.exp(0.01 * draw.standard_normal(2000))
    assert 0.9 < np.mean((found.low < more) & (more < found.high)) < 0.99
    narrow = fit.interval(lambda law: law(1e5, 3e6))  # of the law alone
    assert found.high - found.low > 2 * (narrow.high - narrow.low)


def test_too_few_and_odd_runs_are_refused() -> None:
    runs = planted(PLANTED, seeds=1)
    with pytest.raises(ValueError, match="2 sizes and 4 amounts of data, expected 3"):
        fitted(Chinchilla, runs[:2])
    with pytest.raises(ValueError, match="5 sizes and 2 amounts of data, expected 3"):
        fitted(Chinchilla, [Run(run.n, run.d[:2], run.loss[:2]) for run in runs])
    lone = [
        Run(n, [d], [PLANTED(n, d)]) for n, d in zip(SIZES, (1e5, 2e5, 3e5, 4e5, 5e5), strict=True)
    ]
    with pytest.raises(ValueError, match="5 losses, expected more than the law's 5"):
        fitted(Chinchilla, lone)
    with pytest.raises(ValueError, match="got none"):
        fitted(Kaplan, [])
    with pytest.raises(ValueError, match="expected finite numbers above 0"):
        fitted(Kaplan, [*runs, Run(1e5, [1e6], [float("nan")])])
    with pytest.raises(ValueError, match="2 amounts with 1 losses"):
        fitted(Kaplan, [*runs, Run(1e5, [1e6, 2e6], [1.0])])
