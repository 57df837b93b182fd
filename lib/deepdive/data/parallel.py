"""Sentence pairs to train on, none of which stands in the test that they are trained for.

Both come from Tatoeba, so many a sentence is in both. `parallel("deu")` leaves these out and says
how many they were.
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
    """The (English, other) pairs that are left, and how many were taken out.

    english, other   pairs of which this side stands in the test; both in one pair count in both
    removed          pairs taken out: with either
    """

    pairs: list[Pair]
    english: int
    other: int
    removed: int

    def __len__(self) -> int:
        return len(self.pairs)


def letters(text: str) -> str:
    """What two sentences are compared by: letters, their marks and digits alone, in lower case.

    >>> letters("It's 10 o'clock!")
    'its10oclock'
    """
    return "".join(c for c in text.lower() if unicodedata.category(c)[0] in "LMN")


def without_overlap(train: Iterable[Pair], test: Iterable[Pair]) -> Parallel:
    """The pairs of `train` that share neither side with a pair of `test`, compared by `letters`."""
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
    """Pairs of English and "fra", "deu", "nld" or "cmn", apart from the test `tatoeba_retrieval`.

    tested_on   languages of that test, such as ("deu", "fin"): only these are held apart. By
                default all 112, since a student that has met the English side of a Finnish pair is
                tested on half of what it has learnt
    seed        draws the order of the pairs; None keeps that of the file, sorted by length

    Raises DataError for another language.
    """
    if language not in PARALLEL:
        raise DataError(f"language: {language!r}, expected one of {', '.join(PARALLEL)}")
    if tested_on is None:
        test = [(english, other) for _, _, english, other in retrieval_rows()]
    else:
        test = [pair for code in tested_on for pair in retrieval_pairs(code, seed=None)]
    return without_overlap(pairs(f"tatoeba_eng_{language}", seed), test)
