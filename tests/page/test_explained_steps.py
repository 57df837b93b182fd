"""A text at several steps: what each step shows is what `coloured` shows of it; keys; sizes."""

from __future__ import annotations

import re

import pytest
import torch
from browser import DESK, PAINTED, PHONE, PLACED, Reader, Size

from deepdive.page.explained import coloured
from deepdive.page.explained_steps import explained_steps
from deepdive.page.markup import Html
from deepdive.page.toys.reviews import SENTENCE

WORDS = SENTENCE.split()
DRAW = torch.Generator().manual_seed(0)
METHODS = {name: torch.randn(3, len(WORDS), generator=DRAW).round(decimals=1) for name in "ab"}
STEPS, TOLD = ["whole", "half", "none"], ["100 % right", "70 % right", "<50 %> right"]
SHOWN = f"""all => all.map(word => [word.title, ({PAINTED})(word),
    ...({PLACED})(word.querySelector('.ex-bar span'))])"""


def picture() -> Html:
    return explained_steps(WORDS, METHODS, STEPS, TOLD)


def test_each_step_is_coloured_as_that_step_alone(reader: Reader) -> None:
    page = reader.open(picture().html)
    slider, told = page.locator("input"), page.locator("[role=status]")
    slider.focus()
    for step in range(3):
        assert told.inner_text() == TOLD[step]
        assert slider.get_attribute("aria-valuetext") == STEPS[step]
        now = page.locator(".ex-word").evaluate_all(SHOWN)
        alone = reader.open(coloured(WORDS, {n: v[step] for n, v in METHODS.items()}).html)
        expected = alone.locator(".ex-word").evaluate_all(SHOWN)
        assert [row[0] for row in now] == [row[0] for row in expected]
        for mine, theirs in zip(now, expected, strict=True):
            for k in (3, 5):  # top and height of the bar
                assert mine[k] == pytest.approx(theirs[k], abs=0.11)
            assert mine[1] == pytest.approx(theirs[1], abs=3)
        alone.close()
        page.keyboard.press("ArrowRight")


def test_without_scripts_the_first_step_stands_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert 'class="es-choose" hidden' in dead
    assert TOLD[0] in dead
    assert dead.count('class="ex-word"') == 2 * len(WORDS)
    assert "&lt;50 %&gt; right" not in dead
    assert picture().html == picture().html


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits_and_can_be_touched(reader: Reader, size: Size) -> None:
    page = reader.open(picture().html, size)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert page.locator("input").bounding_box()["height"] >= 38


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="2 rows, expected 3"):
        explained_steps(WORDS, {"a": METHODS["a"][:2]}, STEPS, TOLD)
    with pytest.raises(ValueError, match="one text a step"):
        explained_steps(WORDS, METHODS, STEPS, TOLD[:1])
