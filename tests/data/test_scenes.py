"""Generated scenes: boxes fit what is seen, masks say who is in front, films turn back."""

from __future__ import annotations

import numpy as np
import pytest

from deepdive.data.errors import DataError
from deepdive.data.images import SHAPES
from deepdive_book.data.scenes import COLORS, SEEN, SceneObject, generated_films, generated_scenes


def test_scenes_are_the_same_again_and_for_another_number() -> None:
    found, more = generated_scenes(20, seed=3), generated_scenes(40, seed=3)
    assert np.array_equal(found.pixels, more.pixels[:20])
    assert found.things == more.things[:20]
    assert not np.array_equal(found.pixels, generated_scenes(20, seed=4).pixels)
    assert found.source == "generated_scenes(20, size=32, most=4, seed=3) (generated)"
    assert {len(things) for things in more.things} == {1, 2, 3, 4}
    assert {thing.kind for things in more.things for thing in things} == set(range(len(SHAPES)))
    colors = [[thing.color for thing in things] for things in more.things]
    assert {color for each in colors for color in each} == set(COLORS)
    assert all(len(set(each)) == len(each) for each in colors)


def test_boxes_hold_just_what_is_seen() -> None:
    scenes = generated_scenes(60, size=24)
    for n in range(len(scenes)):
        for (x, y, w, h), mask in zip(scenes.boxes(n), scenes.masks(n), strict=True):
            left, right = round(24 * (x - w / 2)), round(24 * (x + w / 2))
            top, bottom = round(24 * (y - h / 2)), round(24 * (y + h / 2))
            assert mask[top:bottom, left:right].sum() == mask.sum()
            inner = mask[top:bottom, left:right]
            assert all(end.any() for end in (inner[0], inner[-1], inner[:, 0], inner[:, -1]))


def test_what_is_in_front_hides_and_all_are_in_view() -> None:
    scenes = generated_scenes(100, most=6)
    hidden = 0
    for n, things in enumerate(scenes.things):
        masks = scenes.masks(n)
        assert masks.sum(0).max() <= 1
        for j, thing in enumerate(things):
            own = thing.inside(32)
            assert masks[j].sum() >= SEEN * own.sum()
            hidden += int(masks[j].sum() < own.sum())
            assert not (masks[:j].any(0) & own).any()  # nothing behind it is seen through it
        classes = scenes.classes()[n]
        assert all((classes[m] == 1 + k).all() for m, k in zip(masks, scenes.kinds(n), strict=True))
        assert (classes[~masks.any(0)] == 0).all()
    assert hidden > 20


def test_colours_are_those_of_the_things() -> None:
    scenes = generated_scenes(30)
    for n, things in enumerate(scenes.things):
        for thing, mask in zip(things, scenes.masks(n), strict=True):
            mean = scenes.pixels[n][:, mask].mean(1)
            assert np.abs(mean - COLORS[thing.color]).max() < 12


def test_a_thing_goes_straight_on_and_turns_back() -> None:
    """Room from 4 to 11 in a side of 16: 9, 11, then back to 9 with the other sign."""
    thing = SceneObject(0, "red", 9.0, 4.0, 4.0, (2.0, 0.0))
    found = [thing.after(t, 16) for t in range(5)]
    assert [each.y for each in found] == [9, 11, 9, 7, 5]
    assert [each.x for each in found] == [4] * 5
    assert [each.moves[0] for each in found[1:3]] == [2, -2]
    assert found[2].after(2, 16).y == found[4].y


def test_films_keep_their_things() -> None:
    films = generated_films(6, frames=5, seed=1)
    assert [len(frame) for frame in films] == [6] * 5
    for n in range(6):
        for t, frame in enumerate(films):
            for first, now in zip(films[0].things[n], frame.things[n], strict=True):
                then = first.after(t, 32)
                assert (then.y, then.x) == pytest.approx((now.y, now.x))
                assert (then.kind, then.color) == (now.kind, now.color)
            assert (frame.boxes(n)[:, 2:] > 0.1).all()
    still = generated_films(2, frames=2, speed=0.0)
    assert np.array_equal(still[0].owner, still[1].owner)
    assert not np.array_equal(still[0].pixels, still[1].pixels)  # the noise is new
    assert films[3].source.startswith("frame 3 of generated_films(6, frames=5")


def test_what_cannot_be_drawn_is_refused() -> None:
    for arguments, message in (
        ({"n": 0}, "n: 0, expected"),
        ({"n": 1, "size": 15}, "size: 15, expected"),
        ({"n": 1, "most": 7}, "most: 7, expected"),
    ):
        with pytest.raises(DataError, match=message):
            generated_scenes(**arguments)
    with pytest.raises(DataError, match="frames: 0"):
        generated_films(1, frames=0)
