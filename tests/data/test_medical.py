"""Medical texts: their numbers, the texts with several labels, parts and classes."""

from __future__ import annotations

from collections import Counter

import pytest

from deepdive.data.errors import DataError
from deepdive.data.reviews import Labeled
from deepdive.data.subjects import medical_abstracts
from deepdive_book.data.medical import (
    abstracts,
    dialogues,
    labels_of,
    medquad_answers,
    with_one_label,
)


def test_a_text_with_two_labels_is_left_out_and_one_that_stands_twice_is_kept_once() -> None:
    rows = Labeled(("a", "b", "a", "c", "c"), (1, 0, 2, 1, 1), ("x", "y", "z"), "(generated)")
    assert labels_of(rows) == {"a": (1, 2), "b": (0,), "c": (1,)}
    once = with_one_label(rows)
    assert (once.texts, once.labels) == (("b", "c"), (0, 1))


@pytest.mark.data("medical_abstracts")
def test_the_abstracts_are_those_of_the_file() -> None:
    rows = abstracts()
    assert len(rows) == 2888
    assert list(rows.counts().values()) == [633, 299, 385, 610, 961]
    assert Counter(map(len, labels_of(rows).values())) == {1: 2657, 2: 108, 3: 5}
    once, subjects = with_one_label(rows), medical_abstracts(None)
    assert list(once.texts) == subjects.texts
    assert [once.names[label] for label in once.labels] == subjects.labels


@pytest.mark.data("mts_dialog")
def test_the_dialogues_have_twenty_sections_and_their_parts() -> None:
    both = dialogues()
    assert len(both) == 1201 + 100
    assert len(both.names) == 20
    assert both.counts()["FAM/SOCHX"] > 351
    assert dialogues(["test1"]).names == both.names
    assert both.texts[0].startswith("Doctor: What brings you back")
    with pytest.raises(DataError, match="validation"):
        dialogues(["dev"])


@pytest.mark.data("medquad")
def test_answers_stand_once() -> None:
    answers = medquad_answers()
    assert len(answers) == len(set(answers)) > 15_000
    assert answers[0].startswith("Key Points")
