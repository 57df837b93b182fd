"""Case study 4: what a reader that learned its labels in English says in other languages.

A reader gives each text a row of numbers: an encoder's vector (`Vectors`), or which runs of letters
it has (`Letters`). On the rows of English texts a linear head is learned; the rows kept here say
what it answers, text by text, so that any score can be had from them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from deepdive.data.reviews import Labeled
from deepdive.data.text import shuffled
from deepdive.data.translated import PARTS, sib200
from deepdive.evaluate import macro_f1
from deepdive_book.ch04.runs.benchmarks import STRENGTHS, letters
from deepdive_book.data.subtitles import xed

FOLDS = 5
LESSONS, LINES = 8000, 1200  # English lines to learn feelings from; lines of a language to test
LABELS = (16, 32, 64, 128, 256, 512)  # labelled lines of the language itself
DRAWS = 20  # samples of each number of them
SIB = {
    "eng_Latn": "English", "fra_Latn": "French", "deu_Latn": "German", "nld_Latn": "Dutch",
    "zho_Hans": "Chinese", "fin_Latn": "Finnish", "spa_Latn": "Spanish", "rus_Cyrl": "Russian",
    "hin_Deva": "Hindi", "swh_Latn": "Swahili", "vie_Latn": "Vietnamese", "tur_Latn": "Turkish",
}  # fmt: skip
XED = {
    "en": "English", "fr": "French", "de": "German", "nl": "Dutch", "cn": "Chinese",
    "fi_annotated": "Finnish", "es": "Spanish", "it": "Italian", "pl": "Polish", "ru": "Russian",
    "tr": "Turkish", "el": "Greek",
}  # fmt: skip

Read = Callable[[Sequence[str]], Any]


class Reader(Protocol):
    """What makes rows of texts, once it has seen those to learn from."""

    def fitted(self, texts: Sequence[str]) -> Read: ...


class Vectors:
    """An encoder: it needs nothing of the texts to learn from, and reads each text once."""

    def __init__(self, read: Callable[[list[str]], Any]) -> None:
        self.read, self.known = read, dict[str, Any]()

    def fitted(self, texts: Sequence[str]) -> Read:
        return self.rows

    def rows(self, texts: Sequence[str]) -> np.ndarray:
        """(N, d)."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            self.known.update(zip(new, np.asarray(self.read(new)), strict=True))
        return np.stack([self.known[text] for text in texts])


class Letters:
    """Runs of one to five letters, weighed by how rare they are in the texts to learn from."""

    def fitted(self, texts: Sequence[str]) -> Read:
        count = letters()
        count.fit(texts)
        return lambda some: count.transform(list(some))


class Joined(NamedTuple):
    """The rows of two readers side by side."""

    one: Reader
    other: Reader

    def fitted(self, texts: Sequence[str]) -> Read:
        from scipy.sparse import csr_matrix, hstack

        both = self.one.fitted(texts), self.other.fitted(texts)
        return lambda some: hstack([csr_matrix(read(some)) for read in both]).tocsr()


class Head(NamedTuple):
    """A linear head and the rows it reads."""

    read: Read
    model: Any

    def shares(self, texts: Sequence[str]) -> np.ndarray:
        """The probability of each class, (N, classes)."""
        found: np.ndarray = self.model.predict_proba(self.read(texts))
        return found

    def says(self, texts: Sequence[str]) -> np.ndarray:
        return self.shares(texts).argmax(1)


def fit_classifier(reader: Reader, lessons: Labeled, C: float) -> Head:
    """A head in which a rare class counts as much as a frequent one. C: large fits closely."""
    from sklearn.linear_model import LogisticRegression

    read = reader.fitted(lessons.texts)
    model = LogisticRegression(C=C, class_weight="balanced", max_iter=2000)
    return Head(read, model.fit(read(lessons.texts), lessons.labels))


def strength(reader: Reader, lessons: Labeled) -> float:
    """Return that of `STRENGTHS` with the best macro-F1 on the last fifth of the lessons."""
    cut = len(lessons) * 4 // 5
    first, last = lessons.take(range(cut)), lessons.take(range(cut, len(lessons)))

    def score(C: float) -> float:
        said = fit_classifier(reader, first, C).says(last.texts)
        return macro_f1(said, np.array(last.labels), len(lessons.names))

    return max(STRENGTHS, key=score)


def digits(values: Sequence[int] | np.ndarray) -> str:
    """Classes from 0 to 9 as one text."""
    return "".join(str(int(value)) for value in values)


def percents(shares: np.ndarray) -> str:
    """The second class's probabilities as two digits each, 00 to 99."""
    return "".join(f"{min(99, int(100 * share)):02d}" for share in shares[:, 1])


def chances(row: str) -> np.ndarray:
    """`percents`, read again: the middle of each hundredth."""
    return np.array([int(row[k : k + 2]) + 0.5 for k in range(0, len(row), 2)]) / 100


@cache
def whole_sib200(language: str) -> Labeled:
    """All 1,004 sentences of sib200 in one language, in the same order in each."""
    parts = [sib200(language, part, None) for part in PARTS]
    texts, labels = (tuple(x for part in parts for x in getattr(part, what))
                     for what in ("texts", "labels"))  # fmt: skip
    return Labeled(texts, labels, parts[0].names, f"sib200/{language} (real)")


def fold_of(n: int) -> np.ndarray:
    """The fold of each sentence: the same for a sentence and all its translations."""
    return np.array([place % FOLDS for place in np.argsort(shuffled(range(n), 0))])


def topics(reader: Reader, english: Labeled, others: Mapping[str, Labeled]) -> dict[str, Any]:
    """What heads say of each sentence that learned from the English ones of the other folds: no
    head has met the sentence, nor the English one that it translates.

    others     language -> the same sentences, in the same order
    said       language -> a digit a sentence
    strength   how closely a head fits its lessons, chosen on English
    """
    place = fold_of(len(english))
    said = {language: np.zeros(len(english), int) for language in others}
    best = 0.0
    for fold in range(FOLDS):
        lessons, asked = english.take(np.flatnonzero(place != fold)), np.flatnonzero(place == fold)
        best = best or strength(reader, lessons)
        head = fit_classifier(reader, lessons, best)
        for language, found in said.items():
            found[asked] = head.says(others[language].take(asked).texts)
    return {"said": {name: digits(found) for name, found in said.items()}, "strength": best}


def english_lines() -> Labeled:
    """Lines of xed to learn feelings from."""
    return xed("en").take(range(LESSONS))


def lines_of(language: str) -> Labeled:
    """Lines of xed to test on, in English none of `english_lines`."""
    every = xed(language)
    start = LESSONS if language == "en" else 0
    return every.take(range(start, min(start + LINES, len(every))))


def feelings(reader: Reader, english: Labeled, tests: Mapping[str, Labeled]) -> dict[str, Any]:
    """What a head says of lines in each language that learned from English lines alone.

    zero     language -> the probability that a line is positive, two digits a line
    own      language -> what heads of the same reader say that learned in the language itself, from
             the other folds of the lines: as far as this reader goes
    """
    best = strength(reader, english)
    head = fit_classifier(reader, english, best)
    return {
        "zero": {name: percents(head.shares(test.texts)) for name, test in tests.items()},
        "own": {name: digits(by_folds(reader, test, best)) for name, test in tests.items()},
        "strength": best,
    }


def by_folds(reader: Reader, some: Labeled, C: float) -> np.ndarray:
    """What is said of each text by a head that learned from the other folds."""
    place, said = fold_of(len(some)), np.zeros(len(some), int)
    for fold in range(FOLDS):
        lessons, asked = some.take(np.flatnonzero(place != fold)), np.flatnonzero(place == fold)
        said[asked] = fit_classifier(reader, lessons, C).says(some.take(asked).texts)
    return said


def few_labels(
    reader: Reader, english: Labeled, some: Labeled, sizes: Sequence[int] = LABELS
) -> dict[str, Any]:
    """How many labels of the language itself is English worth?

    labels   n -> macro-F1 of heads that learned from n lines of the language's first half and
             nothing else, of `DRAWS` samples each
    zero     macro-F1 of the head that learned from English alone; all on the second half
    """
    best = strength(reader, english)
    half = len(some) // 2
    test = some.take(range(half, len(some)))
    truth = np.array(test.labels)

    def score(lessons: Labeled) -> float:
        if len(set(lessons.labels)) < 2:
            return round(macro_f1(np.full(len(test), lessons.labels[0]), truth, 2), 4)
        return round(macro_f1(fit_classifier(reader, lessons, best).says(test.texts), truth, 2), 4)

    def sample(n: int, k: int) -> Labeled:
        return some.take(random.Random(f"labels {n} {k}").sample(range(half), n))

    return {
        "labels": {str(n): [score(sample(n, k)) for k in range(DRAWS)] for n in sizes if n <= half},
        "zero": score(english),
    }


def describe(row: Mapping[str, Any], language: str) -> np.ndarray:
    """What a kept row says of each line: 1 where positive is the more probable."""
    return (chances(row["zero"][language]) > 0.5).astype(int)
