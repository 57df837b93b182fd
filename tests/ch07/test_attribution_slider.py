"""A text at several steps: what each step shows is what `colored` shows of it; keys; sizes."""

from __future__ import annotations

import pytest
import torch
from browser import PAINTED, PLACED, Reader

from deepdive_book.ch07.figures.attribution_slider import attribution_slider
from deepdive_book.ch07.toys.review_words import SENTENCE
from deepdive_book.kit.attribution_text import colored
from deepdive_book.kit.markup import Html

WORDS = SENTENCE.split()
DRAW = torch.Generator().manual_seed(0)
METHODS = {name: torch.randn(3, len(WORDS), generator=DRAW).round(decimals=1) for name in "ab"}
STEPS, TOLD = ["whole", "half", "none"], ["100 % right", "70 % right", "<50 %> right"]
SHOWN = f"""all => all.map(word => [word.title, ({PAINTED})(word),
    ...({PLACED})(word.querySelector('.ex-bar span'))])"""


def picture() -> Html:
    return attribution_slider(WORDS, METHODS, STEPS, TOLD)


def test_each_step_is_coloured_as_that_step_alone(reader: Reader) -> None:
    page = reader.open(picture().html)
    slider, told = page.locator("input"), page.locator("[role=status]")
    slider.focus()
    for step in range(3):
        assert told.inner_text() == TOLD[step]
        assert slider.get_attribute("aria-valuetext") == STEPS[step]
        now = page.locator(".ex-word").evaluate_all(SHOWN)
        alone = reader.open(colored(WORDS, {n: v[step] for n, v in METHODS.items()}).html)
        expected = alone.locator(".ex-word").evaluate_all(SHOWN)
        assert [row[0] for row in now] == [row[0] for row in expected]
        for mine, theirs in zip(now, expected, strict=True):
            for k in (3, 5):  # top and height of the bar
                assert mine[k] == pytest.approx(theirs[k], abs=0.11)
            assert mine[1] == pytest.approx(theirs[1], abs=3)
        alone.close()
        page.keyboard.press("ArrowRight")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="2 rows, expected 3"):
        attribution_slider(WORDS, {"a": METHODS["a"][:2]}, STEPS, TOLD)
    with pytest.raises(ValueError, match="one text a step"):
        attribution_slider(WORDS, METHODS, STEPS, TOLD[:1])
