"""Units against phones: by hand, at the ends, and over speakers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from deepdive_book.ch06c.phone_purity import agreement, by_speaker, counts, differences


def test_by_hand() -> None:
    """Eight rows, two phones, three units: 7 of 8 right by unit, 5 of 8 in their phone's unit."""
    phones, units = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 2, 2]
    assert counts(phones, units).tolist() == [[3, 1, 0], [0, 2, 2]]
    found = agreement(phones, units)
    assert found.phone_purity == pytest.approx(7 / 8)
    assert found.unit_purity == pytest.approx(5 / 8)
    assert found.shared == pytest.approx(mutual_info_score(phones, units) / np.log(2))


def test_the_ends() -> None:
    """Units that are phones; units that say nothing; a unit for each row."""
    phones = [0, 1, 2, 0, 1, 2]
    same = agreement(phones, [2, 0, 1, 2, 0, 1])
    assert (same.phone_purity, same.unit_purity) == (1, 1)
    assert same.shared == pytest.approx(1)
    none = agreement(phones, [0] * 6)
    assert none.phone_purity == pytest.approx(1 / 3)
    assert none.unit_purity == 1
    assert none.shared == pytest.approx(0)
    alone = agreement(phones, range(6))
    assert alone.phone_purity == pytest.approx(1)
    assert alone.unit_purity == pytest.approx(0.5)


def test_an_interval_is_of_speakers() -> None:
    """Two alike: none. One whose units say nothing widens it."""
    y, z = [0, 1, 0, 1], [1, 0, 1, 0]
    alike = by_speaker([y, y], [z, z], ["a", "b"])
    assert alike["shared"] == pytest.approx((1, 1, 1))
    apart = by_speaker([y, y], [z, [0, 0, 1, 1]], ["a", "b"])
    value, low, high = apart["shared"]
    assert low < value < high
    assert high - low == pytest.approx(1)  # between the two people alone


def test_a_difference_is_paired_over_people() -> None:
    """Two people, one easy and one hard: each number has a wide interval of its own. Against
    themselves units differ by nothing, in every draw; against worse ones by as much in both people.
    """
    y, good, none = [0, 1] * 4, [1, 0] * 4, [0] * 8
    hard = [0, 1, 0, 1, 1, 0, 1, 0]
    phones, people = [y, y], ["a", "b"]
    same = differences(phones, [good, hard], [good, hard], people)
    assert same["shared"] == pytest.approx((0, 0, 0))
    each = differences(phones, [good, good], [none, none], people)
    assert each["shared"] == pytest.approx((1, 1, 1))
    assert each["phone_purity"] == pytest.approx((0.5, 0.5, 0.5))
    assert each["unit_purity"] == pytest.approx((0, 0, 0))
    value, low, high = by_speaker(phones, [good, hard], people)["shared"]
    assert low < value < high
    less = differences(phones, [none, hard], [good, hard], people)["phone_purity"]
    assert less[0] == pytest.approx(-0.25)
    assert less[1] < less[0] < less[2]
    three = [y] * 3, ["a", "b", "c"]  # where the others are right by half in each draw
    alone = by_speaker(three[0], [good, good, hard], three[1])["phone_purity"]
    beside = differences(three[0], [good, good, hard], [none] * 3, three[1])["phone_purity"]
    assert beside == pytest.approx(tuple(number - 0.5 for number in alone))


def test_what_cannot_be_is_refused() -> None:
    for phones, units in (([0, 1], [0]), ([], [])):
        with pytest.raises(ValueError, match="phones and units"):
            agreement(phones, units)
