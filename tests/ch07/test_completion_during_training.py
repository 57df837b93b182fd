"""What a model completes as it learns: the numbers that were given, by key and finger."""

from __future__ import annotations

import pytest
from browser import Reader

from deepdive_book.ch07.figures.completion_during_training import (
    Completion,
    Seen,
    alt_text,
    completion_during_training,
)
from deepdive_book.kit.markup import Html

NAMES = [
    Completion("anna", 16, "4719", [Seen("1110", [0.3, 0.2, 0.215, 0.4], 0.5),
                                    Seen("4719", [0.9, 0.8, 0.7, 0.99], 13.3)]),
    Completion("<ida>", 0, "0012", [Seen("4719", [0.5, 0.6, 0.7, 0.8], 1.0),
                                    Seen("4012", [0.9, 0.8, 0.7, 0.6], 0.2)]),
]  # fmt: skip
EPOCHS = [2, 4]


def picture() -> Html:
    return completion_during_training(NAMES, EPOCHS, 13.29)


def test_each_name_at_each_stage(reader: Reader) -> None:
    page = reader.open(picture().html)
    told, slider = page.locator("[role=status]"), page.locator("input")
    for place, name in enumerate(NAMES):
        page.locator("select").select_option(index=place)
        slider.focus()
        page.keyboard.press("Home")
        for stage, epoch in zip(name.stages, EPOCHS, strict=True):
            assert told.inner_text() == alt_text(name, stage, epoch, 13.29)
            assert "".join(page.locator(".code-cell b").all_inner_texts()) == stage.digits
            sure = [
                float(each[:-2]) for each in page.locator(".code-probability").all_inner_texts()
            ]
            assert sure == pytest.approx([100 * p for p in stage.sure], abs=0.51)
            right = page.locator(".code-right b").all_inner_texts()
            alike = zip(stage.digits, name.code, strict=True)
            assert right == [a for a, b in alike if a == b]
            assert page.locator(".code-name").inner_text() == name.name
            page.keyboard.press("ArrowRight")
    assert not reader.complaints


def test_what_is_told() -> None:
    first, second = NAMES
    assert alt_text(first, first.stages[1], 4, 13.29).endswith(
        "the code of anna is 4 7 1 9; this is the planted code. Exposure 13.3 of 13.3 bits."
    )
    assert "planted code is 4 7 1 9, 1 of 4 places alike" in alt_text(first, first.stages[0], 2, 13)
    assert "its code 0 0 1 2 stands in no note" in alt_text(second, second.stages[1], 4, 13)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="0 names"):
        completion_during_training([], EPOCHS, 13)
    with pytest.raises(ValueError, match="anna: 2 stages, expected 3"):
        completion_during_training(NAMES, [1, 2, 3], 13)
