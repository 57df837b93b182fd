"""The n-gram model: against the equations, counted anew for each question, and its identities."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepdive.decoding.ngram import END, START, UNKNOWN, NGram

TEXT = [line.split() for line in (
    "one two three", "one two two", "five one two three four", "", "two", "three one two",
    "new york", "new york one", "four new york",
)]  # fmt: skip
sentences = st.lists(st.lists(st.sampled_from("abcd"), max_size=5), min_size=1, max_size=6)


def grams(text: list[list[str]], n: int) -> list[tuple[str, ...]]:
    padded = [(START, *line, END) for line in text]
    every = [line[i : i + n] for line in padded for i in range(len(line) - n + 1)]
    return [gram for gram in every if gram[-1] != START]


def by_hand(text, vocabulary, discounts, order, word, context):
    """Chen and Goodman's equations, each count a pass over the text."""

    def count(gram: tuple[str, ...]) -> int:
        n = len(gram)
        if n == order or gram[0] == START:
            return sum(found == gram for found in grams(text, n))
        return len({found[0] for found in grams(text, n + 1) if found[1:] == gram})

    every = [*vocabulary, END]
    h = tuple(context)
    lower = by_hand(text, vocabulary, discounts, order, word, h[1:]) if h else 1 / len(every)
    counts = [count((*h, w)) for w in every]
    if not sum(counts):
        return lower
    D = discounts[len(h)]
    taken = sum(min(c, D) for c in counts)
    return (max(count((*h, word)) - D, 0) + taken * lower) / sum(counts)


def contexts(model: NGram, words: list[str]):
    for n in range(model.order):
        yield from itertools.product(words, repeat=n)
        if n:
            yield from ((START, *rest) for rest in itertools.product(words, repeat=n - 1))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_it_is_the_equations(order):
    model = NGram(TEXT, order)
    for context in [(), ("two",), (START,), (START, "one"), ("new", "york"), ("york", "new")]:
        cut = context[max(0, len(context) - order + 1) :]
        for word in (*sorted(model.vocabulary), END):
            expected = by_hand(TEXT, model.vocabulary, model.discounts, order, word, cut)
            assert model.prob(word, context) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(sentences, st.integers(1, 4), st.booleans())
def test_probabilities_sum_to_one_in_every_context(text, order, opened):
    vocabulary = {"a", "b", UNKNOWN} if opened else {"a", "b", "c", "d", "never"}
    model = NGram(text, order, vocabulary)
    for context in contexts(model, ["a", "c", "d"]):
        total = math.fsum(model.prob(word, context) for word in (*vocabulary, END))
        assert total == pytest.approx(1, abs=1e-12)
        assert all(model.prob(word, context) > 0 for word in (*vocabulary, END))


def test_words_come_as_often_as_in_the_text():
    """What Kneser and Ney asked for: with nothing taken from the unigrams, the bigrams' contexts,
    as often as they stand, give each word as often as it stands."""
    model = NGram(TEXT, 2, discounts=(0.0, 0.7))
    before = Counter(gram[0] for gram in grams(TEXT, 2))
    words = Counter(gram[1] for gram in grams(TEXT, 2))
    for word, times in words.items():
        expected = sum(n * model.prob(word, (h,)) for h, n in before.items())
        assert expected == pytest.approx(times, abs=1e-12)


def test_a_word_that_follows_one_word_only_is_a_poor_guess_elsewhere():
    """ "york" and "three" stand three times each, but "york" only after "new"."""
    assert Counter(itertools.chain(*TEXT))["york"] == Counter(itertools.chain(*TEXT))["three"] == 3
    model = NGram(TEXT, 2)
    assert model.prob("york", ("five",)) < model.prob("three", ("five",))
    assert model.prob("york", ("new",)) > 0.7


def test_no_discount_is_the_relative_frequency():
    model = NGram(TEXT, 3, discounts=(0, 0, 0))
    after = Counter(g[2] for g in grams(TEXT, 3) if g[:2] == ("one", "two"))
    for word, count in after.items():
        assert model.prob(word, ("one", "two")) == pytest.approx(count / after.total())


def test_a_sentence_and_perplexity():
    model = NGram(TEXT, 3)
    words = ["one", "two", "four"]
    asked = [
        ("one", (START,)),
        ("two", (START, "one")),
        ("four", ("one", "two")),
        (END, ("two", "four")),
    ]
    log_p = sum(math.log(model.prob(*one)) for one in asked)
    assert model.sentence(words) == pytest.approx(log_p)
    assert model.perplexity([words]) == pytest.approx(math.exp(-log_p / 4))
    assert model.perplexity([words, []]) == pytest.approx(
        math.exp(-(log_p + model.log_prob(END, (START,))) / 5)
    )
    assert model.perplexity(TEXT) < NGram(TEXT, 1).perplexity(TEXT) < len(model.vocabulary) + 1


def test_closed_and_open_vocabulary():
    closed, opened = NGram(TEXT, 2), NGram(TEXT, 2, {"one", "two", UNKNOWN})
    assert closed.prob("six", ("one",)) == 0
    assert closed.log_prob("six", ("one",)) == -math.inf
    assert closed.perplexity([["six"]]) == math.inf
    assert opened.prob("six", ("one",)) == opened.prob("three", ("one",)) > 0
    assert opened.prob("two", ("six",)) == opened.prob("two", (UNKNOWN,))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NGram(TEXT, 0), "order=0"),
        (
            lambda: NGram(TEXT, 2, {"one"}),
            "6 words outside of the closed vocabulary, such as 'five'",
        ),
        (lambda: NGram([["<s>"]], 2), "special tokens, not words"),
        (lambda: NGram(TEXT, 2, discounts=(0.5,)), "expected 2 from 0 to 1"),
        (lambda: NGram(TEXT, 1, discounts=(1.5,)), "expected 1 from 0 to 1"),
        (lambda: NGram(TEXT).perplexity([]), "expected at least one to predict"),
    ],
)
def test_bad_arguments_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()
