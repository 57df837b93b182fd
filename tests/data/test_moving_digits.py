"""Moving digits: the rule that makes them, and what a frame and a heap of frames do not say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from deepdive.data.errors import DataError
from deepdive.data.images import small_digits
from deepdive_book.data.moving_digits import MOTIONS, SPEEDS, moving_digits


def test_a_frame_is_the_one_before_it_moved() -> None:
    films = moving_digits(60, frames=5, size=16, seed=1)
    assert films.pixels.shape == (60, 5, 1, 16, 16)
    ways, speeds = list(MOTIONS.values()), set()
    for film, motion in zip(films.pixels[:, :, 0], films.motions, strict=True):
        line, column = ways[motion]
        found = [v for v in SPEEDS if all(
            (np.roll(a, (v * line, v * column), (0, 1)) == b).all()
            for a, b in pairwise(film))]  # fmt: skip
        assert len(found) == 1
        speeds.add(found[0])
    assert speeds == set(SPEEDS)
    assert set(films.motions) == set(range(4))


def test_the_digit_is_one_of_its_part() -> None:
    films, digits = moving_digits(20, "test", seed=2), small_digits("test")
    known = {
        (int(kind), int(p.sum())) for p, kind in zip(digits.pixels, digits.labels, strict=True)
    }
    for film, kind in zip(films.pixels, films.digits, strict=True):
        assert {(int(kind), int(frame.sum())) for frame in film} <= known
    assert films.source.endswith("digits real, films generated")


def test_a_place_says_nothing_of_the_motion() -> None:
    """Where light stands in the first frame is the same for each motion, up to chance."""
    films = moving_digits(4000, seed=3)
    first = films.pixels[:, 0, 0].astype(float)
    maps = [first[films.motions == kind].mean(0) for kind in range(4)]
    for each in maps:
        assert np.abs(each / first.mean() - 1).max() < 0.25


def test_shuffled_frames_are_the_same_frames() -> None:
    films = moving_digits(50, seed=4)
    other = films.shuffled(5)
    for a, b in zip(films.pixels, other.pixels, strict=True):
        assert sorted(x.tobytes() for x in a) == sorted(x.tobytes() for x in b)
    assert (films.pixels != other.pixels).any()
    assert (films.motions == other.motions).all()
    assert (films.shuffled(5).pixels == other.pixels).all()
    assert (moving_digits(50, seed=4).pixels == films.pixels).all()


def test_what_cannot_be_made_is_refused() -> None:
    for wrong in ({"n": 0}, {"n": 2, "frames": 0}, {"n": 2, "size": 7}):
        with pytest.raises(DataError):
            moving_digits(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="part"):
        moving_digits(2, "all")
