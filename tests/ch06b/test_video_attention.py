"""Who meets whom: the picture says what the rules say, by mouse and by key, and fits a phone."""

from __future__ import annotations

import numpy as np
import pytest
from browser import Reader

from deepdive.layers.space_time import meets
from deepdive.models.vision.timesformer import RULES
from deepdive_book.ch06b.figures.video_attention import (
    COLORS,
    describe,
    receptive_field,
    video_attention,
)
from deepdive_book.kit.markup import Html

FRAMES, SIDE = 3, 2
FILM = np.random.default_rng(0).integers(0, 256, (FRAMES, 8, 8)).astype(np.uint8)
SCHEMES = {
    name: [(rule.__name__, meets(rule, FRAMES, SIDE, SIDE).numpy()) for rule in rules]
    for name, rules in RULES.items()
}
STEPS = {
    name: [{"name": step, "met": [np.flatnonzero(row).tolist() for row in met]} for step, met in s]
    for name, s in SCHEMES.items()
}


def picture() -> Html:
    return video_attention(FILM, SCHEMES, side=SIDE, chosen=5, scheme="divided_space_time")


def test_whom_a_patch_hears_of() -> None:
    """By products of the matrices: what a patch is made of, after each step."""
    for name, steps in SCHEMES.items():
        made = np.eye(12, dtype=int)
        for _, met in steps:
            made = ((np.eye(12, dtype=int) + met) @ made > 0).astype(int)
        for patch in range(12):
            assert receptive_field(STEPS[name], patch) == set(np.flatnonzero(made[patch]))


def test_the_words_are_counted() -> None:
    assert describe(STEPS["divided_space_time"], SIDE, 5) == (
        "Patch 2 of frame 2 meets 3 (time), 4 (space). After one layer it has heard of 12 of 12 "
        "patches. All patches together: 84 pairs a layer."
    )
    assert "After one layer it has heard of 4 of 12" in describe(STEPS["space_only"], SIDE, 0)


def test_a_press_shows_whom_a_patch_meets(reader: Reader) -> None:
    page = reader.open(picture().html)
    told, squares = page.locator("[role=status]"), page.locator(".mt-patch rect")
    assert told.inner_text() == describe(STEPS["divided_space_time"], SIDE, 5)
    for name, steps in STEPS.items():
        page.locator(f"input[value={name}]").check()
        for patch in (0, 7):
            page.locator(".mt-patch").nth(patch).click()
            assert told.inner_text() == describe(steps, SIDE, patch)
            for p in range(12):
                met = [k for k, step in enumerate(steps) if p in step["met"][patch]]
                wanted = COLORS[met[-1]] if met else "none"
                assert squares.nth(p).get_attribute("fill") == wanted
                dot = page.locator(".mt-patch circle").nth(p).get_attribute("visibility")
                assert (dot == "visible") == (p in receptive_field(steps, patch))
    assert not reader.complaints


def test_keys_go_on_from_frame_to_frame(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator(".mt-all").focus()
    told = page.locator("[role=status]")
    way = [("ArrowRight", "Patch 1 of frame 3"), ("ArrowDown", "Patch 3 of frame 3"),
           ("ArrowDown", "Patch 3 of frame 3"), ("ArrowLeft", "Patch 4 of frame 2")]  # fmt: skip
    for key, said in way:
        page.keyboard.press(key)
        assert told.inner_text().startswith(said)


def test_a_still_form_stands_without_scripts() -> None:
    html = picture().html
    assert html.count('class="mt-patch"') == 12
    assert "Patch 2 of frame 2 meets 3 (time)" in html
    assert html.index("<style") < html.index("<svg") < html.index("<script")


def test_what_does_not_fit_is_refused() -> None:
    for wrong, message in (
        ({"side": 3}, "expected .27, 27"), ({"chosen": 12}, "patch below 12"),
        ({"scheme": "none"}, "scheme='none'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            video_attention(FILM, SCHEMES, **{"side": SIDE} | wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="byte squares"):
        video_attention(FILM[0], SCHEMES, side=SIDE)
    with pytest.raises(ValueError, match="4 steps"):
        video_attention(FILM, {"all": SCHEMES["axial"] + SCHEMES["space_only"]}, side=SIDE)
