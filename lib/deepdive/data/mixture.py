"""How often each language is drawn, where some have a thousand times the text of others.

    shares({"en": 900, "sw": 100}, alpha=0.5)      # {"en": 0.75, "sw": 0.25}
    mixture = Mixture({"en": english, "sw": swahili}, alpha=0.3)
    batch = mixture.take(32)                       # [("en", text), ...]

System: multilingual_sampling
Parent: mbert
What differs:
- nothing is added to a model: which language the next text is of is drawn, by size to a power of
  `alpha` (`shares`), so that small ones are read more often (`repeats`)
- the draws can be stopped and taken up again, each text of a language once before any comes twice
  (`Mixture`)
Source: Conneau and Lample 2019, section 3.1; Conneau et al. 2020; Xue et al. 2021, section 3.2.
Book: 4.2.1
"""

from __future__ import annotations

import bisect
import itertools
import random
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from deepdive.core.checks import as_int
from deepdive.data.errors import DataError

T = TypeVar("T")

# What models were trained with; XLM's is that of its vocabulary, its batches were drawn with 0.7.
# Temperature T, as translators write it, is 1 / alpha: MMNMT's is 5.
ALPHAS = {"mbert": 0.7, "xlm": 0.5, "xlmr": 0.3, "mt5": 0.3, "mmnmt": 0.2}


def shares(sizes: Mapping[str, float], alpha: float) -> dict[str, float]:
    """How often each language is drawn:  p[i] = n[i]**alpha / sum over j of n[j]**alpha.

    sizes   n, how much text each language has, in any unit
    alpha   1: in proportion to size; 0: all alike; between them the small ones are helped

    Raises DataError for no language, a size that is not above 0, and an alpha below 0 (above 1 is
    allowed: it helps the large ones).
    Source: Conneau and Lample 2019, section 3.1; Xue et al. 2021, section 3.2.
    """
    if not sizes or not all(0 < n < float("inf") for n in sizes.values()):
        raise DataError(f"sizes: {dict(sizes)!r}, expected some languages, each above 0")
    if not 0 <= alpha < float("inf"):
        raise DataError(f"alpha={alpha}: expected a number from 0 on")
    largest = max(sizes.values())
    weights = {name: (n / largest) ** alpha for name, n in sizes.items()}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def repeats(sizes: Mapping[str, float], alpha: float, drawn: float) -> dict[str, float]:
    """How often each text of a language is seen, on average, when `drawn` are drawn in all:
    drawn * p[i] / n[i]. At alpha = 1 this is the same for all.
    """
    return {name: drawn * share / sizes[name] for name, share in shares(sizes, alpha).items()}


class Mixture(Generic[T]):
    """Draws texts without end, the language by `shares`; its place can be saved and taken up again.

    Of a language every text comes once, in a drawn order, before any comes a second time. The k-th
    draw depends on seed and k alone.

    data    language -> its texts
    """

    def __init__(self, data: Mapping[str, Sequence[T]], alpha: float, seed: int = 0) -> None:
        self.data, self.alpha, self.seed = dict(data), alpha, as_int("seed", seed)
        self.sizes = {name: len(texts) for name, texts in self.data.items()}
        self.shares = shares(self.sizes, alpha)
        self._ends = [*itertools.accumulate(self.shares.values())]
        self._orders: dict[str, tuple[int, list[int]]] = {}
        self.drawn = dict.fromkeys(self.data, 0)

    def take(self, n: int) -> list[tuple[str, T]]:
        """The next n draws: (language, text)."""
        return [self._next() for _ in range(n)]

    def _next(self) -> tuple[str, T]:
        place = random.Random(f"{self.seed} {sum(self.drawn.values())}").random() * self._ends[-1]
        name = [*self.data][bisect.bisect_right(self._ends, place, hi=len(self._ends) - 1)]
        lap, place_in_lap = divmod(self.drawn[name], self.sizes[name])
        self.drawn[name] += 1
        return name, self.data[name][self._order(name, lap)[place_in_lap]]

    def _order(self, name: str, lap: int) -> list[int]:
        """The order in which a language's texts come, the lap-th time."""
        if self._orders.get(name, (-1, []))[0] != lap:
            order = [*range(self.sizes[name])]
            random.Random(f"{self.seed} {name} {lap}").shuffle(order)
            self._orders[name] = lap, order
        return self._orders[name][1]

    def state_dict(self) -> dict[str, Any]:
        """The place: how many texts of each language have been drawn; and what the data must be."""
        return {"drawn": dict(self.drawn), **self._identity()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to a saved place. Raises DataError if it was saved over other data or settings."""
        for name, value in self._identity().items():
            if state.get(name) != value:
                raise DataError(
                    f"state: saved with {name}={state.get(name)}, here it is {value}; "
                    "the order of draws would be another one"
                )
        self.drawn = dict(state["drawn"])

    def _identity(self) -> dict[str, Any]:
        return {"sizes": self.sizes, "alpha": self.alpha, "seed": self.seed}
