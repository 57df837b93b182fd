"""Recurring spans: which there are, what is asked of them, and what an answer costs."""

from __future__ import annotations

import math
import random
from itertools import chain

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from deepdive.training.objectives import (
    make_recurring_span_questions,
    recurring_spans,
    span_selection_loss,
)

WORDS = "ada wrote it . ada lovelace met babbage . babbage paid ada lovelace and it rained"
ADA = WORDS.split()
IDS = {word: i for i, word in enumerate(dict.fromkeys(ADA), start=10)}
TEXT = [IDS[word] for word in ADA]
STOP = {IDS["it"], IDS["."], IDS["and"]}
QUESTION = 4


def test_by_hand() -> None:
    """Longest first; "ada" alone stands once more only, and "it" is a function word."""
    assert recurring_spans(TEXT, STOP) == [[(4, 5), (11, 12)], [(7, 7), (9, 9)]]


def test_what_is_left_out() -> None:
    assert [(2, 2), (14, 14)] in recurring_spans(TEXT)  # "it", where it is no function word
    one = recurring_spans(TEXT, STOP, longest=1)
    assert one == [[(0, 0), (4, 4), (11, 11)], [(5, 5), (12, 12)], [(7, 7), (9, 9)]]
    assert recurring_spans([5, 6, 7, 8]) == []
    assert recurring_spans([]) == []
    assert recurring_spans([5, 5, 5, 5, 5]) == [[(0, 1), (2, 3)]]  # places that do not overlap
    assert recurring_spans([5, 6, 5, 6], stop={5, 6}) == []
    assert recurring_spans([5, 6, 9, 5, 6], stop={5}) == [[(0, 1), (3, 4)]]  # one that says more


def test_spans_are_of_whole_words() -> None:
    """Pieces 5 6 are one word, then the beginning of a longer one, then one word again."""
    tokens, words = [5, 6, 9, 5, 6, 7, 8, 5, 6], [0, 0, 1, 2, 2, 2, 3, 4, 4]
    assert recurring_spans(tokens, words=words) == [[(0, 1), (7, 8)]]
    assert recurring_spans(tokens) == [[(0, 1), (3, 4), (7, 8)]]
    with pytest.raises(ValueError, match="words: got 2 ids for 3 tokens"):
        recurring_spans([4, 5, 6], words=[0, 1])


def test_questions_by_hand() -> None:
    """The second place of each is left: the first ones become one token each."""
    clusters = [[(4, 5), (11, 12)], [(7, 7), (9, 9)]]

    class Last(random.Random):
        def choice(self, seq):  # the draw: always the last place
            return seq[-1]

    asked = make_recurring_span_questions(TEXT, clusters, QUESTION, draw=Last(0))
    expected = [*TEXT[:4], QUESTION, TEXT[6], QUESTION, *TEXT[8:]]
    assert asked.tokens == expected
    assert asked.places == [4, 6]
    assert (asked.starts, asked.ends) == ([10, 8], [11, 8])


@given(st.lists(st.integers(5, 8), max_size=30), st.integers(0, 9), st.integers(0, 8))
def test_each_answer_is_what_was_cut_out(tokens: list[int], seed: int, most: int) -> None:
    """Written back at its question, each answer gives the text again."""
    clusters = recurring_spans(tokens)
    asked = make_recurring_span_questions(tokens, clusters, QUESTION, most, random.Random(seed))
    assert len(asked.places) == asked.tokens.count(QUESTION) <= most
    answers = {
        place: asked.tokens[first : last + 1]
        for place, first, last in zip(asked.places, asked.starts, asked.ends, strict=True)
    }
    assert all(QUESTION not in answer for answer in answers.values())
    back = [answers.get(i, [token]) for i, token in enumerate(asked.tokens)]
    assert list(chain.from_iterable(back)) == tokens
    if most >= sum(len(cluster) - 1 for cluster in clusters):
        assert len(asked.places) == sum(len(cluster) - 1 for cluster in clusters)


@given(st.lists(st.integers(5, 9), max_size=30), st.integers(1, 5))
def test_spans_recur_and_do_not_overlap(tokens: list[int], longest: int) -> None:
    covered: list[int] = []
    for cluster in recurring_spans(tokens, stop={5}, longest=longest):
        runs = {tuple(tokens[first : last + 1]) for first, last in cluster}
        assert len(runs) == 1
        assert len(cluster) > 1
        assert set(runs.pop()) != {5}
        assert all(last - first < longest for first, last in cluster)
        covered += [i for first, last in cluster for i in range(first, last + 1)]
    assert len(covered) == len(set(covered))


def test_the_loss_by_hand() -> None:
    logits = torch.zeros(1, 2, 4, 2)
    logits[0, 0, 2, 0], logits[0, 0, 3, 1] = math.log(3.0), math.log(5.0)
    starts, ends = torch.tensor([[2, 0]]), torch.tensor([[3, 0]])
    by_hand = (math.log(6 / 3) + math.log(8 / 5)) / 2
    assert float(span_selection_loss(logits, starts, ends)) == pytest.approx(by_hand)
    mask = torch.tensor([[True, False, True, True]])
    by_hand = (math.log(5 / 3) + math.log(7 / 5)) / 2  # no padding is chosen
    assert float(span_selection_loss(logits, starts, ends, mask)) == pytest.approx(by_hand)


def test_what_does_not_fit_is_refused() -> None:
    logits, one = torch.zeros(1, 1, 4, 2), torch.ones(1, 1).long()
    for scores, starts in ((logits[..., 0], one), (logits, one[0]), (logits[..., :1], one)):
        with pytest.raises(ValueError, match=r"expected \(B, K, T, 2\)"):
            span_selection_loss(scores, starts, one)
    for starts, ends in ((0 * one, one), (2 * one, one), (one, 4 * one)):
        with pytest.raises(ValueError, match="no question has an answer, or one is outside"):
            span_selection_loss(logits, starts, ends)
    with pytest.raises(ValueError, match="longest"):
        recurring_spans([4, 5], longest=0)
