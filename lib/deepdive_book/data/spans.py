"""Spans of text that answer a question about sentiment: marked by a rule, or generated.

    numbers = word_numbers(train)                  # from labelled texts: how much a word speaks for
    rows = both_questions(texts, numbers)                   # two questions for each text
    rows = two_sided(200)                          # generated: no rule is needed

A row is a `Span`: the question is *negative* or *positive*, the answer is a run of words of the
text, or "" where it has none. `slip(row)` is what a text-to-text model reads and writes of it.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from deepdive.data.generated import whole
from deepdive.data.reviews import POLARITY, Labeled
from deepdive.data.tasks import Span
from deepdive_book.data.synthetic_reviews import BAD, GOOD, THINGS

NONE = "none"  # what is written where the text has no such span
COST, LEAST = 0.4, 0.6
HOW = ("truly", "really", "very", "quite", "rather")
FACTS = (
    "runs for two hours", "comes from france", "begins in winter", "is about a sailor",
    "was made last year", "ends in a small town",
)  # fmt: skip


def format_example(row: Span) -> tuple[str, str]:
    """What is read, and what is to be written.

    >>> slip(Span("negative", "it is dull .", "dull", 6))
    ('question: negative context: it is dull .', 'dull')
    """
    return f"question: {row.question} context: {row.context}", row.answer or NONE


def word_numbers(texts: Labeled, least: int = 5, more: float = 1.0) -> dict[str, float]:
    """How much each word speaks for *positive*, from texts of two classes (0 and 1):

        number[w] = log (texts of class 1 with w + more) / (texts of class 0 with w + more)

    Words in fewer than `least` texts have none. `more` draws rare words to 0.
    """
    counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for text, label in zip(texts.texts, texts.labels, strict=True):
        counts[label].update(set(text.split()))
    known = sorted(w for w, n in (counts[0] + counts[1]).items() if n >= least)
    return {w: math.log((counts[1][w] + more) / (counts[0][w] + more)) for w in known}


def max_sum_span(values: Sequence[float], cost: float = COST, least: float = LEAST) -> range:
    """The run of places whose values, each less `cost`, add up to most; of equals the first.

    Empty where the best sum is below `least`. One pass: a sum below 0 begins anew (Kadane's rule).

    >>> best_run([0, 2, -1, 3, 0, 1], cost=0.0)
    range(1, 6)
    >>> best_run([0, 2, -1, 3, 0, 1], cost=0.5)
    range(1, 4)
    """
    best, found, total, first = -math.inf, range(0), 0.0, 0
    for place, value in enumerate(values):
        if total <= 0:
            total, first = 0.0, place
        total += value - cost
        if total > best:
            best, found = total, range(first, place + 1)
    return found if best >= least else range(0)


def both_questions(
    texts: Iterable[str], numbers: Mapping[str, float], cost: float = COST, least: float = LEAST
) -> list[Span]:
    """Both questions for each text, negative first: the answer is the `max_sum_span` of its words'
    numbers, with the other sign for *negative*; a word without a number counts 0.
    """
    rows = []
    for text in texts:
        words = text.split()
        values = [numbers.get(word, 0.0) for word in words]
        for question, sign in zip(POLARITY, (-1, 1), strict=True):
            run = max_sum_span([sign * value for value in values], cost, least)
            rows.append(row_of(question, words, run))
    return rows


def two_sentiment_sentences(n: int, seed: int = 0, two: float = 2 / 3) -> list[Span]:
    """Both questions, negative first, for each of n generated sentences, all different.

    A share `two` of them praises one thing and blames another; the others have one sentiment and a
    fact, so that one of their questions has no answer. *not dull* praises. Raises DataError unless
    n is from 1 to 20,000.
    """
    whole("n", n, 1, 20_000)
    draw = random.Random(f"two sided {seed}")
    rows: dict[str, list[Span]] = {}
    while len(rows) < n:
        words, runs = _sentence(draw, draw.random() < two)
        rows.setdefault(" ".join(words), [row_of(q, words, runs[q]) for q in POLARITY])
    return [row for pair in rows.values() for row in pair]


def _sentence(draw: random.Random, both: bool) -> tuple[list[str], dict[str, range]]:
    """The words of a sentence, and where its two spans are."""
    order = draw.sample(POLARITY, 2)
    things, runs = draw.sample(THINGS, 2), dict.fromkeys(POLARITY, range(0))
    phrases = [_phrase(draw, kind) if both or not i else None for i, kind in enumerate(order)]
    halves = [*zip(things, order, phrases, strict=True)]
    draw.shuffle(halves)
    words: list[str] = []
    for i, (thing, kind, phrase) in enumerate(halves):
        words += [*(draw.choice((", but", ", and", "while")).split() if i else ()), *thing.split()]
        if phrase is None:
            words += draw.choice(FACTS).split()
            continue
        words.append("is")
        runs[kind] = range(len(words), len(words) + len(phrase))
        words += phrase
    return [*words, "."], runs


def _phrase(draw: random.Random, kind: str) -> list[str]:
    """One to three words that praise or blame."""
    own, other = (GOOD, BAD) if kind == POLARITY[1] else (BAD, GOOD)
    form = draw.randrange(4)
    if form == 0:
        return [draw.choice(own)]
    if form == 1:
        return [draw.choice(HOW), draw.choice(own)]
    if form == 2:
        return ["not", draw.choice(other)]
    first, second = draw.sample(own, 2)
    return [first, "and", second]


def row_of(question: str, words: Sequence[str], run: range) -> Span:
    """The row whose answer are the words of the run; none where it is empty."""
    if not run:
        return Span(question, " ".join(words), "", -1)
    start = len(" ".join(words[: run.start])) + (run.start > 0)
    return Span(question, " ".join(words), " ".join(words[run.start : run.stop]), start)
