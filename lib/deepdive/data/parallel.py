"""Parallel training sentences without overlap with the test set.

Both come from Tatoeba, so many sentences are in both. `parallel("deu")` removes these and counts
them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from deepdive.data.errors import DataError
from deepdive.data.text import Pair, pairs, retrieval_pairs, retrieval_rows

PARALLEL = {"fra": "French", "deu": "German", "nld": "Dutch", "cmn": "Mandarin Chinese"}


@dataclass(frozen=True)
class Parallel:
    """The (English, other) pairs that remain, and the number removed.

    english, other   pairs with this side in the test set; a pair with both sides counts in both
    removed          pairs removed: with either side in the test set
    """

    pairs: list[Pair]
    english: int
    other: int
    removed: int

    def __len__(self) -> int:
        return len(self.pairs)


def letters(text: str) -> str:
    """Normalize a sentence for comparison: only letters, combining marks and digits, lowercased.

    >>> letters("It's 10 o'clock!")
    'its10oclock'
    """
    return "".join(c for c in text.lower() if unicodedata.category(c)[0] in "LMN")


def without_overlap(train: Iterable[Pair], test: Iterable[Pair]) -> Parallel:
    """Return the pairs of `train` that share no side with a pair of `test`, after `letters`."""
    known = [(letters(left), letters(right)) for left, right in test]
    lefts, rights = {left for left, _ in known}, {right for _, right in known}
    kept, english, other, every = [], 0, 0, 0
    for pair in train:
        every += 1
        left, right = letters(pair[0]) in lefts, letters(pair[1]) in rights
        english, other = english + left, other + right
        if not left and not right:
            kept.append(pair)
    return Parallel(kept, english, other, every - len(kept))


def parallel(
    language: str, tested_on: Iterable[str] | None = None, seed: int | None = 0
) -> Parallel:
    """Return pairs of English and "fra", "deu", "nld" or "cmn" that are not in `tatoeba_retrieval`.

    tested_on   languages of that test set, such as ("deu", "fin"): only their pairs are excluded.
                By default all 112, because training on the English side of a Finnish pair would
                leak half of a test pair
    seed        shuffles the pairs; None keeps the order of the file, sorted by length

    Raises DataError for another language.
    """
    if language not in PARALLEL:
        raise DataError(f"language: {language!r}, expected one of {', '.join(PARALLEL)}")
    if tested_on is None:
        test = [(english, other) for _, _, english, other in retrieval_rows()]
    else:
        test = [pair for code in tested_on for pair in retrieval_pairs(code, seed=None)]
    return without_overlap(pairs(f"tatoeba_eng_{language}", seed), test)
