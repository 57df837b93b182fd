"""Transcripts step by step: errors are framed, the slider shows one step, without scripts all."""

from __future__ import annotations

import pytest
from browser import Reader

from deepdive_book.kit.markup import Html
from deepdive_book.studies.figures.transcript_slider import NOTHING, transcript_slider

STEPS = [
    ("step 100", "", 1.0),
    ("step 250", "TWO <NINE> NINE", 0.5),
    ("step 1,500", "TWO FIVE NINE", 0.125),
]


def picture() -> Html:
    return transcript_slider("TWO FIVE NINE", STEPS)


def test_a_slider_shows_one_step_and_its_errors(reader: Reader) -> None:
    page = reader.open(picture().html)
    slider = page.locator("input")
    seen = []
    for _ in STEPS:
        (row,) = page.locator(".ts-row:visible").all()
        seen.append((row.locator(".ts-told").inner_text(), row.locator(".ts-error").count()))
        slider.press("ArrowRight")
    assert seen == [
        ("step 100: 3 of 3 words wrong here, 100% of all", 3),
        ("step 250: 1 of 3 words wrong here, 50% of all", 1),
        ("step 1,500: 0 of 3 words wrong here, 12% of all", 0),
    ]
    assert not reader.complaints


def test_words_stand_beside_what_was_written(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator("input").press("ArrowRight")
    words = page.locator(".ts-row:visible .ts-words > span").all_inner_texts()
    assert [word.split("\n") for word in words] == [
        ["TWO", "TWO"], ["FIVE", "<NINE>"], ["NINE", "NINE"],
    ]  # fmt: skip
    assert NOTHING in page.locator("small").inner_text()


def test_without_scripts_all_steps_stand_there() -> None:
    html = picture().html
    assert html.count('class="ts-row"') == 3
    assert html.count("hidden") == 1 + html.count("[hidden]") + html.count(".hidden")
    assert "TWO FIVE NINE" in picture().plain
    digits = transcript_slider("2 5 9", [("quiet", "2 9", 0.5)], unit="digits").html
    assert "1 of 3 digits wrong here, 50% of all" in digits


def test_nothing_to_show_is_named() -> None:
    with pytest.raises(ValueError, match="a word and a step"):
        transcript_slider("", STEPS)
    with pytest.raises(ValueError, match="a word and a step"):
        transcript_slider("TWO", [])
