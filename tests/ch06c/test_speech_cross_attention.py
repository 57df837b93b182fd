"""Where in the sound each letter looked: the words are counted, by mouse and by key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from browser import Reader

from deepdive_book.ch06c.figures.speech_cross_attention import (
    Heard,
    center,
    describe,
    speech_cross_attention,
)
from deepdive_book.kit.markup import Html

FRAMES = np.random.default_rng(0).normal(size=(22, 5))
ROWS = np.array([[8, 2, 0, 0, 0, 0], [1, 6, 3, 0, 0, 0], [0, 0, 2, 2, 6, 0], [0, 0, 1, 1, 8, 0],
                 [0, 0, 0, 0, 5, 5], [0, 0, 0, 0, 1, 9]]) / 10  # fmt: skip
ONE = Heard("one", FRAMES, [("SIX", 0, 12), ("GO", 12, 22)], "SI GO",
            {"1-0": ROWS, "2-3": ROWS[::-1]}, np.sin(np.arange(1760) / 9))  # fmt: skip
TWO = replace(ONE, name="two", text="NO", words=[("NO", 0, 22)], wave=-ONE.wave,
              weights={"1-0": ROWS[2:5], "2-3": ROWS[:3]})  # fmt: skip


def picture() -> Html:
    return speech_cross_attention([ONE, TWO], letter=1)


def state(heard: Heard) -> dict[str, Any]:
    weights = {n: np.round(1000 * w).astype(int).tolist() for n, w in heard.weights.items()}
    return {"text": heard.text, "words": heard.words, "weights": [*weights.values()], "step": 0.01}


def test_the_words_are_counted() -> None:
    assert center([1, 6, 3], 4) == pytest.approx(4 * 1.2)
    assert describe(state(ONE), 0, 1, 4) == (
        "Letter 2 of 5, I of word 1: the largest weight is 0.60, at 0.04 s, in six; the centre of "
        "all is at 0.05 s."
    )
    assert describe(state(ONE), 0, 2, 4).startswith("Letter 3 of 5, the space after word 1: ")
    assert describe(state(ONE), 1, 5, 4).startswith("The decision to stop: the largest weight")


def test_what_does_not_fit_is_refused() -> None:
    for wrong in (replace(ONE, text="SIX"), replace(ONE, weights={"1-0": ROWS}), replace(
        ONE, frames=FRAMES[0])):  # fmt: skip
        with pytest.raises(ValueError, match=r"expected"):
            speech_cross_attention([ONE, wrong])
    with pytest.raises(ValueError, match="letter=9"):
        speech_cross_attention([ONE], letter=9)
    with pytest.raises(ValueError, match="expected a recording"):
        speech_cross_attention([])


def test_a_press_shows_where_a_letter_looked(reader: Reader) -> None:
    page = reader.open(picture().html)
    told, letters = page.locator("[role=status]"), page.locator(".letters-row button")
    assert told.inner_text() == describe(state(ONE), 0, 1, 4)
    for k, heard in enumerate((ONE, TWO, ONE)):
        page.locator("[data-control=recording]").select_option(index=k % 2)
        assert letters.count() == len(heard.text) + 1
        for head in range(2):
            page.locator("[data-control=head]").select_option(index=head)
            for letter in (0, len(heard.text)):
                letters.nth(letter).click()
                assert told.inner_text() == describe(state(heard), head, letter, 4)
                assert page.locator(".letters-bars rect").count() == 6
        assert page.locator("audio:visible").count() == 1


def test_keys_move_from_letter_to_letter(reader: Reader) -> None:
    page = reader.open(picture().html)
    told, letters = page.locator("[role=status]"), page.locator(".letters-row button")
    letters.nth(1).focus()
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    assert told.inner_text() == describe(state(ONE), 0, 5, 4)
    page.keyboard.press("ArrowLeft")
    assert told.inner_text() == describe(state(ONE), 0, 4, 4)


def test_one_recording_has_no_list(reader: Reader) -> None:
    page = reader.open(speech_cross_attention([ONE]).html)
    assert page.locator("[data-control=recording]").count() == 0
    page.locator(".letters-row button").nth(2).click()
    assert page.locator("[role=status]").inner_text() == describe(state(ONE), 0, 2, 4)
    assert not reader.complaints
