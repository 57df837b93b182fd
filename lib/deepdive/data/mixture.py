"""Multilingual sampling: temperature-based (exponentially smoothed) language probabilities.

    shares({"en": 900, "sw": 100}, alpha=0.5)      # {"en": 0.75, "sw": 0.25}
    mixture = Mixture({"en": english, "sw": swahili}, alpha=0.3)
    batch = mixture.take(32)                       # [("en", text), ...]

System: multilingual_sampling
Parent: mbert
What differs:
- the model is unchanged: the language of the next text is sampled in proportion to its size to the
  power `alpha` (`shares`), which upsamples low-resource languages (`repeats`)
- sampling can be interrupted and resumed; every text of a language is used once before any repeats
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

# Published values of alpha; XLM's is for its vocabulary, its batches were sampled with 0.7.
# The temperature T of machine translation papers is 1 / alpha: MMNMT's is 5.
ALPHAS = {"mbert": 0.7, "xlm": 0.5, "xlmr": 0.3, "mt5": 0.3, "mmnmt": 0.2}


def shares(sizes: Mapping[str, float], alpha: float) -> dict[str, float]:
    """Return sampling probabilities of languages:  p[i] = n[i]**alpha / sum over j of n[j]**alpha.

    sizes   n, the amount of text of each language, in any unit
    alpha   1: proportional to size; 0: uniform; in between low-resource languages are upsampled

    Raises DataError for no language, a size that is not above 0, and an alpha below 0 (above 1 is
    allowed: it upsamples the large ones).
    Source: Conneau and Lample 2019, section 3.1; Xue et al. 2021, section 3.2.
    """
    if not sizes or not all(0 < n < float("inf") for n in sizes.values()):
        raise DataError(f"sizes: {dict(sizes)!r}, expected some languages, each above 0")
    if not 0 <= alpha < float("inf"):
        raise DataError(f"alpha={alpha}: expected a finite number, 0 or more")
    largest = max(sizes.values())
    weights = {name: (n / largest) ** alpha for name, n in sizes.items()}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def repeats(sizes: Mapping[str, float], alpha: float, drawn: float) -> dict[str, float]:
    """Return the mean number of epochs over each language when `drawn` texts are sampled in total:
    drawn * p[i] / n[i]. At alpha = 1 this is the same for all.
    """
    return {name: drawn * p / sizes[name] for name, p in shares(sizes, alpha).items()}


class Mixture(Generic[T]):
    """Sample texts endlessly, the language by `shares`; the position can be saved and restored.

    Every text of a language is used once, in random order, before any repeats. The k-th sample
    depends only on seed and k.

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
        """Return the next n samples: (language, text)."""
        return [self._next() for _ in range(n)]

    def _next(self) -> tuple[str, T]:
        u = random.Random(f"{self.seed} {sum(self.drawn.values())}").random() * self._ends[-1]
        name = [*self.data][bisect.bisect_right(self._ends, u, hi=len(self._ends) - 1)]
        lap, position = divmod(self.drawn[name], self.sizes[name])
        self.drawn[name] += 1
        return name, self.data[name][self._order(name, lap)[position]]

    def _order(self, name: str, lap: int) -> list[int]:
        """Return the order of a language's texts in its epoch number `lap`."""
        if self._orders.get(name, (-1, []))[0] != lap:
            order = [*range(self.sizes[name])]
            random.Random(f"{self.seed} {name} {lap}").shuffle(order)
            self._orders[name] = lap, order
        return self._orders[name][1]

    def state_dict(self) -> dict[str, Any]:
        """Return the position (texts sampled per language), sizes and settings."""
        return {"drawn": dict(self.drawn), **self._identity()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a saved position. Raises DataError if it is from other data or settings."""
        for name, value in self._identity().items():
            if state.get(name) != value:
                raise DataError(
                    f"state: saved with {name}={state.get(name)}, here it is {value}; "
                    "the order of samples would differ"
                )
        self.drawn = dict(state["drawn"])

    def _identity(self) -> dict[str, Any]:
        return {"sizes": self.sizes, "alpha": self.alpha, "seed": self.seed}
