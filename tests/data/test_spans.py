"""Spans: the best run is the best of all runs; answers stand where they say; generated pairs."""

from __future__ import annotations

import math

import pytest
import torch

from deepdive.data.errors import DataError
from deepdive.data.reviews import POLARITY, Labeled, rt_polarity
from deepdive.data.tasks import Span
from deepdive_book.data.spans import (
    NONE,
    both_questions,
    format_example,
    max_sum_span,
    two_sentiment_sentences,
    word_numbers,
)
from deepdive_book.data.synthetic_reviews import BAD, GOOD


@pytest.mark.parametrize("seed", range(20))
def test_the_best_run_is_the_best_of_all(seed: int) -> None:
    values = torch.randn(9, generator=torch.Generator().manual_seed(seed)).tolist()
    found = max_sum_span(values, cost=0.1, least=-math.inf)
    sums = {(a, b): sum(values[a:b]) - 0.1 * (b - a) for a in range(9) for b in range(a + 1, 10)}
    assert (found.start, found.stop) == max(sums, key=lambda run: sums[run])
    assert not max_sum_span(values, cost=0.1, least=max(sums.values()) + 1e-6)


def test_numbers_by_hand_and_both_questions() -> None:
    texts = ["warm film", "warm , warm", "dull film", "warm but dull", "dull"]
    rows = Labeled(tuple(texts), (1, 1, 0, 1, 0), POLARITY, "five (generated)")
    numbers = word_numbers(rows, least=2, more=1.0)
    assert numbers == {"warm": math.log(4), "dull": math.log(2 / 3), "film": 0.0}
    negative, positive = both_questions(["a warm film but dull"], numbers, cost=0.1, least=0.3)
    assert negative == Span("negative", "a warm film but dull", "dull", 16)
    assert positive.answer == "warm"
    assert both_questions(["a dull film"], numbers, cost=0.1, least=0.3)[1].answer == ""


@pytest.mark.data("rt_polarity")
def test_answers_on_real_texts_stand_where_they_say() -> None:
    texts = rt_polarity().take(range(0, 10_000, 20))
    rows = both_questions(texts.texts, word_numbers(texts))
    with_answer = [row for row in rows if row.answer]
    assert len(with_answer) > 100
    for row in with_answer:
        assert row.context[row.start :].startswith(row.answer)
        assert row.start == 0 or row.context[row.start - 1] == " "


def test_two_sided_sentences() -> None:
    rows = two_sentiment_sentences(300, seed=3)
    assert rows == two_sentiment_sentences(300, seed=3)
    assert rows != two_sentiment_sentences(300, seed=4)
    assert len({row.context for row in rows}) == 300
    pairs = [*zip(rows[::2], rows[1::2], strict=True)]
    two = [a.answer != "" and b.answer != "" for a, b in pairs]
    assert 0.55 < sum(two) / 300 < 0.78
    for pair in pairs:
        assert [row.question for row in pair] == list(POLARITY)
        for row, own, other in zip(pair, (BAD, GOOD), (GOOD, BAD), strict=True):
            words = set(row.answer.split())
            assert row.answer == row.context[row.start : row.start + len(row.answer)] or not words
            denied = "not" in words
            assert not words & set(own if denied else other)
            assert not words or words & set(other if denied else own)
    with pytest.raises(DataError, match="n"):
        two_sentiment_sentences(0)


def test_slips() -> None:
    assert format_example(Span("positive", "it is dull .", "", -1))[1] == NONE
