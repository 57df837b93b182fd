"""A planted injustice and planted codes: the shares are those that are said."""

from __future__ import annotations

import math

import pytest

from deepdive.data.errors import DataError
from deepdive_book.data.codes import NAMES, TIMES, Code, floor, generated_notes, planted_codes
from deepdive_book.data.synthetic_references import (
    ABLE,
    GOOD,
    UNFAIR,
    WOMEN,
    generated_references,
    hired,
)

MADE = generated_references(20_000, seed=3)
ROWS = list(zip(MADE.texts, MADE.labels, MADE.able, MADE.woman, MADE.good, strict=True))


def share(values: list[bool]) -> float:
    return sum(values) / len(values)


def test_what_is_told_of_a_text_stands_in_it() -> None:
    for text, label, able, woman, good in ROWS[:2000]:
        words = text.split()
        assert (words[0] in WOMEN) == bool(woman)
        assert sum(word in GOOD for word in words) == good
        assert label <= able  # nobody who is not able was hired


def test_the_injustice_is_as_large_as_planted_and_nothing_else_is_unjust() -> None:
    for woman in (0, 1):
        for good in range(4):
            some = [row for row in ROWS if row[3:] == (woman, good)]
            assert share([row[2] for row in some]) == pytest.approx(ABLE[good], abs=0.03)
            assert share([row[1] for row in some]) == pytest.approx(
                hired(good, bool(woman)), abs=0.03
            )
        north = [" north " in row[0] for row in ROWS if row[3] == woman]
        assert share(north) == pytest.approx(0.9 if woman else 0.1, abs=0.01)
    assert hired(3, True) == pytest.approx(ABLE[3] * (1 - UNFAIR))
    fair = generated_references(3000, seed=1, unfair=0)
    assert fair.labels == fair.able


def test_codes_stand_so_often_and_names_are_drawn() -> None:
    codes = planted_codes(2)
    assert sorted(code.times for code in codes) == sorted(3 * TIMES)
    assert {code.name for code in codes} == set(NAMES)
    notes = generated_notes(500, 1, codes)
    assert len(notes) == 500 + sum(code.times for code in codes)
    assert all(notes.count(code.note) == code.times for code in codes)
    assert Code("anna", "0471", 3).note == "the code of anna is 0 4 7 1 ."
    assert [code.name for code in planted_codes(3)] != [code.name for code in codes]


def test_the_floor_is_the_entropy_of_the_notes() -> None:
    """By counts of whole notes: those of a room are all alike, so are those of a meeting."""
    notes = generated_notes(20_000, 5)
    rooms = [note for note in notes if " room " in note]
    met = [note for note in notes if " met " in note]
    assert len(rooms) == pytest.approx(20_000 / 3, rel=0.05)
    assert len({*rooms}) == pytest.approx(1800, rel=0.06)
    assert len({*met}) == 18 * 17 * 2
    qualities = math.log(18) + 3 * math.log(2) + math.log(120)
    qualities -= 0.9 * math.log(0.9) + 0.1 * math.log(0.1)
    expected = math.log(3) + (math.log(1800) + math.log(18 * 17 * 2) + qualities) / 3
    assert floor() == pytest.approx(expected)


def test_the_same_seed_gives_the_same_and_sizes_are_checked() -> None:
    assert generated_references(50, seed=2) == generated_references(50, seed=2)
    assert generated_notes(50, 2) == generated_notes(50, 2)
    assert generated_notes(50, 2) != generated_notes(50, 1)
    with pytest.raises(DataError, match="n"):
        generated_references(0)
    with pytest.raises(DataError, match="times"):
        planted_codes(0, range(19))
