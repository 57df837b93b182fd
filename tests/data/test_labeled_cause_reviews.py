"""Generated verdicts: what the writer finds gives the class, and what others find tells nothing."""

from __future__ import annotations

import pytest

from deepdive.data.errors import DataError
from deepdive_book.data.labeled_cause_reviews import OTHERS, generated_verdicts
from deepdive_book.data.synthetic_reviews import BAD, GOOD

MADE = generated_verdicts(3000, seed=3)


def clauses(words: list[str]) -> dict[str, list[int]]:
    """For the writer and for others the places of *not* and of the adjectives."""
    found: dict[str, list[int]] = {}
    who = ""
    for i, word in enumerate(words):
        if word == "i" or word in OTHERS:
            who = "i" if word == "i" else "others"
        if word == "not" or word in GOOD + BAD:
            found.setdefault(who, []).append(i)
    return found


def praised(words: list[str], places: list[int]) -> bool:
    signs = {words[i] in GOOD for i in places if words[i] != "not"}
    assert len(signs) == 1
    return signs.pop() != ("not" in {words[i] for i in places})


def test_what_the_writer_finds_gives_the_class_and_the_words() -> None:
    assert len(set(MADE.texts)) == 3000
    assert 1400 < sum(MADE.labels) < 1600
    for text, label, deciding, writer in zip(
        MADE.texts, MADE.labels, MADE.deciding, MADE.writer, strict=True
    ):
        words = text.split()
        own = clauses(words)["i"]
        assert praised(words, own) == bool(label)
        assert tuple(own) == deciding
        assert words[writer] == "i"


def test_nothing_else_tells_the_class() -> None:
    """Others agree as often as not; so does the last adjective, where others have the last word."""
    agree, last = [], []
    for text, label in zip(MADE.texts, MADE.labels, strict=True):
        words = text.split()
        found = clauses(words)
        if "others" in found:
            agree.append(praised(words, found["others"]) == bool(label))
            if found["others"][-1] > found["i"][-1]:
                last.append((words[found["others"][-1]] in GOOD) == bool(label))
    assert 0.45 < sum(agree) / len(agree) < 0.55
    assert 0.45 < sum(last) / len(last) < 0.55
    assert 1500 < len(agree) < 1900  # half of all, and more: of one clause there are few


def test_the_same_seed_gives_the_same_and_sizes_are_checked() -> None:
    assert generated_verdicts(50, seed=2) == generated_verdicts(50, seed=2)
    assert generated_verdicts(50, seed=2).texts != generated_verdicts(50, seed=1).texts
    with pytest.raises(DataError, match="n"):
        generated_verdicts(0)
