"""Beginnings of sentences up to a verb: the subject decides, and nothing else does."""

from __future__ import annotations

import pytest

from deepdive.data.errors import DataError
from deepdive_book.data.verb_numbers import LONGEST, NOUNS, Beginning, verb_numbers

MANY = set(NOUNS.values())


def by_rule(words: tuple[str, ...]) -> int:
    """The place of the subject: the first noun behind the comma, or the first."""
    start = words.index(",") if "," in words else 0
    return next(i for i in range(start, len(words)) if words[i] in MANY | set(NOUNS))


def test_the_subject_is_the_first_noun_of_its_phrase_and_says_the_number() -> None:
    texts = verb_numbers(500, seed=3)
    assert texts.source == "verb_numbers(500, seed=3)"
    assert len({text.words for text in texts}) == 500
    for text in texts:
        assert text.subject == by_rule(text.words)
        assert text.plural == (text.words[text.subject] in MANY)
        assert 2 <= len(text.words) <= LONGEST
        assert (text.words[0] == "the") == ("," not in text.words)


def test_attractors_are_the_nouns_of_the_other_number() -> None:
    for text in verb_numbers(200):
        nouns = [i for i, word in enumerate(text.words) if word in MANY | set(NOUNS)]
        others = [i for i in nouns if (text.words[i] in MANY) != text.plural]
        assert list(text.attractors) == others


def test_no_other_noun_tells_the_number() -> None:
    """The first noun, and the last, say it half the time where they are not the subject."""
    texts = verb_numbers(4000)
    for end in (0, -1):
        said = []
        for text in texts:
            nouns = [i for i, word in enumerate(text.words) if word in MANY | set(NOUNS)]
            if nouns[end] != text.subject:
                said.append((text.words[nouns[end]] in MANY) == text.plural)
        assert len(said) > 1000
        assert abs(sum(said) / len(said) - 0.5) < 0.04


def test_the_same_seed_gives_the_same_and_wrong_counts_are_refused() -> None:
    assert list(verb_numbers(20, seed=1)) == list(verb_numbers(20, seed=1))
    assert list(verb_numbers(20, seed=1)) != list(verb_numbers(20, seed=2))
    assert isinstance(verb_numbers(1)[0], Beginning)
    with pytest.raises(DataError, match="n: 0"):
        verb_numbers(0)
