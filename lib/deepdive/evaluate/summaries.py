"""ROUGE-1, ROUGE-2 and ROUGE-L: the overlap of a summary with a reference, from scratch.

    precision = overlap / summary,  recall = overlap / reference,  f1 = 2 p r / (p + r)

The overlap is the clipped count of common n-grams, or (L) the length of the longest common
subsequence: tokens in the same order in both texts, not necessarily adjacent.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from deepdive.core.checks import texts

Tokens = Sequence[Hashable]


class Rouge(NamedTuple):
    """Precision and recall of a summary's overlap with its reference, 0 to 1."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def words(text: str) -> list[str]:
    """Return the lowercase runs of letters a to z and digits, the tokens that ROUGE compares."""
    return re.findall(r"[a-z0-9]+", text.lower())


def rouge_n(summary: Tokens, reference: Tokens, n: int) -> Rouge:
    """Return ROUGE-N, the overlap of n-grams. Raises ValueError for n below 1.

    Source: Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", section 2.
    """
    if n < 1:
        raise ValueError(f"n: got {n}, expected 1 or more")
    hyp, ref = (Counter(_runs(tokens, n)) for tokens in (summary, reference))
    return _of((hyp & ref).total(), hyp.total(), ref.total())


def rouge_l(summary: Tokens, reference: Tokens) -> Rouge:
    """Return ROUGE-L, the overlap by the longest common subsequence.

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
    for anything but strings.
    """
    texts("summary", [summary])
    texts("reference", [reference])
    hyp, ref = words(summary), words(reference)
    scores = (rouge_n(hyp, ref, 1), rouge_n(hyp, ref, 2), rouge_l(hyp, ref))
    return {name: one.f1 for name, one in zip(("rouge1", "rouge2", "rougeL"), scores, strict=True)}


def _runs(tokens: Tokens, n: int) -> Iterator[tuple[Hashable, ...]]:
    return zip(*(tokens[i:] for i in range(n)), strict=False)


def _of(shared: int, n_hyp: int, n_ref: int) -> Rouge:
    return Rouge(shared / n_hyp if n_hyp else 0.0, shared / n_ref if n_ref else 0.0)
