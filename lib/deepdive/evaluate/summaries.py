"""How much a summary shares with a reference: ROUGE-1, ROUGE-2 and ROUGE-L, by hand.

    precision = shared / of the summary,  recall = shared / of the reference,  f1 = 2 p r / (p + r)

Shared are n-grams, each as often as both texts have it, or (L) the tokens of the longest common
subsequence: in the same order in both, with anything between.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from deepdive.core.checks import texts

Tokens = Sequence[Hashable]


class Rouge(NamedTuple):
    """What a summary shares with its reference, each from 0 to 1."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def words(text: str) -> list[str]:
    """Return the runs of letters a to z and digits, in lower case: what ROUGE compares."""
    return re.findall(r"[a-z0-9]+", text.lower())


def rouge_n(summary: Tokens, reference: Tokens, n: int) -> Rouge:
    """Return what two texts share of n tokens in a row. Raises ValueError for n below 1.

    Source: Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", section 2.
    """
    if n < 1:
        raise ValueError(f"n: got {n}, expected 1 or more")
    mine, theirs = (Counter(_runs(tokens, n)) for tokens in (summary, reference))
    return _of((mine & theirs).total(), mine.total(), theirs.total())


def rouge_l(summary: Tokens, reference: Tokens) -> Rouge:
    """Return what two texts share in the same order.

    Source: Lin 2004, section 3.1.
    """
    return _of(longest_common(summary, reference), len(summary), len(reference))


def longest_common(a: Tokens, b: Tokens) -> int:
    """Return the length of the longest common subsequence of a and b.

    l[i, j] = l[i-1, j-1] + 1 where a_i = b_j, else max(l[i-1, j], l[i, j-1])
    """
    before = [0] * (len(b) + 1)
    for token in a:
        now = [0]
        for j, other in enumerate(b):
            now.append(before[j] + 1 if token == other else max(before[j + 1], now[j]))
        before = now
    return before[-1]


def rouge(summary: str, reference: str) -> dict[str, float]:
    """Return the F1 of "rouge1", "rouge2" and "rougeL" for two texts, 0 to 1. Raises TypeError
    for what is no string.
    """
    texts("summary", [summary])
    texts("reference", [reference])
    mine, theirs = words(summary), words(reference)
    scores = (rouge_n(mine, theirs, 1), rouge_n(mine, theirs, 2), rouge_l(mine, theirs))
    return {name: one.f1 for name, one in zip(("rouge1", "rouge2", "rougeL"), scores, strict=True)}


def _runs(tokens: Tokens, n: int) -> Iterator[tuple[Hashable, ...]]:
    return zip(*(tokens[i:] for i in range(n)), strict=False)


def _of(shared: int, said: int, wanted: int) -> Rouge:
    return Rouge(shared / said if said else 0.0, shared / wanted if wanted else 0.0)
