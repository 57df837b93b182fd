"""Units of sound against phones: how far does one tell the other?

Source: Hsu et al. 2021, where they are called phone purity, cluster purity and phone-normalised
mutual information.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Agreement:
    """Of rows that each have a phone y and a unit z, with the share p(y, z) of all rows:

    phone_purity    sum over z of p(y*(z), z): the share that is right where each unit is read as
                    its most frequent phone y*
    unit_purity     sum over y of p(y, z*(y)): the share that lies in its phone's most frequent unit
    shared          I(y; z) / H(y): which share of a phone's entropy a unit takes away
    """

    phone_purity: float
    unit_purity: float
    shared: float


def counts(phones: Sequence[int], units: Sequence[int]) -> np.ndarray:
    """Return how often each phone meets each unit, (phones, units). Raises ValueError where they
    are not as many, or none.
    """
    y, z = np.asarray(phones, dtype=int), np.asarray(units, dtype=int)
    if y.shape != z.shape or y.ndim != 1 or not len(y):
        raise ValueError(f"phones and units: got {y.shape} and {z.shape}, expected (n,) of both")
    table = np.zeros((y.max() + 1, z.max() + 1))
    np.add.at(table, (y, z), 1)
    return table


def agreement(phones: Sequence[int], units: Sequence[int]) -> Agreement:
    """Return the three numbers of rows, each with a phone and a unit."""
    return of_counts(counts(phones, units))


def of_counts(table: np.ndarray) -> Agreement:
    """Return the three numbers of counts (phones, units)."""
    p = table / table.sum()
    phones, units = p.sum(1), p.sum(0)

    def entropy(shares: np.ndarray) -> float:
        shares = shares[shares > 0]
        return float(-(shares * np.log(shares)).sum())

    both = entropy(p.ravel())
    own = entropy(phones)
    shared = (own + entropy(units) - both) / own if own else 0.0
    return Agreement(float(p.max(0).sum()), float(p.max(1).sum()), shared)


def by_speaker(
    phones: Sequence[Sequence[int]],
    units: Sequence[Sequence[int]],
    speakers: Sequence[str],
    draws: int = 1000,
    seed: int = 0,
) -> dict[str, tuple[float, float, float]]:
    """Return for each of the three numbers its value over all utterances, and the ends of its 95 %
    interval: speakers are drawn with replacement, each with all of their utterances. A draw holds
    fewer different people, which alone raises purities and shared information; so the interval is
    moved by as much as the mean of the draws is off the value.
    """
    whole, drawn = _drawn(_tables(phones, units, speakers), draws, seed)
    return {name: _interval(whole[k], drawn[:, k]) for k, name in enumerate(NAMES)}


def differences(
    phones: Sequence[Sequence[int]],
    units: Sequence[Sequence[int]],
    others: Sequence[Sequence[int]],
    speakers: Sequence[str],
    draws: int = 1000,
    seed: int = 0,
) -> dict[str, tuple[float, float, float]]:
    """Return by how much each of the three numbers is higher with `units` than with `others`, and
    the 95 % interval of that difference as in `by_speaker`; each draw takes the same people for
    both, so that what makes somebody hard for both goes out.
    """
    one, two = (_drawn(_tables(phones, z, speakers), draws, seed) for z in (units, others))
    return {name: _interval(one[0][k] - two[0][k], one[1][:, k] - two[1][:, k])
            for k, name in enumerate(NAMES)}  # fmt: skip


NAMES = ("phone_purity", "unit_purity", "shared")


def _tables(
    phones: Sequence[Sequence[int]], units: Sequence[Sequence[int]], speakers: Sequence[str]
) -> np.ndarray:
    """How often each phone meets each unit, (people, phones, units)."""
    shape = 1 + max(map(max, phones)), 1 + max(map(max, units))
    people = {who: np.zeros(shape) for who in dict.fromkeys(speakers)}
    for y, z, who in zip(phones, units, speakers, strict=True):
        np.add.at(people[who], (np.asarray(y, dtype=int), np.asarray(z, dtype=int)), 1)
    return np.stack([*people.values()])


def _drawn(tables: np.ndarray, draws: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The three numbers of all people (3,), and of people drawn with replacement (draws, 3)."""
    times = np.random.default_rng(seed).multinomial(
        len(tables), np.full(len(tables), 1 / len(tables)), size=draws
    )
    found = [of_counts(tables.sum(0)), *(of_counts(np.tensordot(n, tables, 1)) for n in times)]
    numbers = np.array([[getattr(one, name) for name in NAMES] for one in found])
    return numbers[0], numbers[1:]


def _interval(value: float, drawn: np.ndarray) -> tuple[float, float, float]:
    """A value and its interval, moved by the draws' own bias."""
    low, high = np.quantile(drawn, [0.025, 0.975]) + value - drawn.mean()
    return float(value), float(low), float(high)
