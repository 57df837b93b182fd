"""A photograph in patches: its words, what each control does, and what it refuses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from browser import DESK, PHONE, Reader, Size

from deepdive_book.ch06b.figures.patch_shuffle import alt_text, patch_shuffle
from deepdive_book.kit.markup import Html

PIXELS = np.random.default_rng(0).integers(0, 255, (3, 40, 40), dtype=np.uint8)
PAGE = patch_shuffle({"one": PIXELS, "two": 255 - PIXELS}, sizes=(5, 10, 20, 40), size=10).html


def picture() -> Html:
    return patch_shuffle({"one": PIXELS, "two": 255 - PIXELS}, sizes=(5, 10, 20, 40), size=10)


def test_the_words() -> None:
    assert alt_text(100, 3, 20) == (
        "25 patches of 20 × 20 pixels, with 1,200 values each, become 25 tokens. With the class "
        "token, each attention head has 26 × 26 = 676 weights."
    )
    assert alt_text(100, 1, 100).startswith(
        "1 patch of 100 × 100 pixels, with 10,000 values, becomes 1 token. With"
    )


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_the_controls(reader: Reader, size: Size) -> None:
    page = reader.open(PAGE, size)
    said = page.locator("[role=status]")
    assert said.inner_text() == alt_text(40, 3, 10)
    boxes = "x => x.map(e => e.getAttribute('viewBox'))"
    parts = page.locator(".jg-parts svg")
    before = parts.evaluate_all(boxes)
    assert len(before) == 16
    page.locator(".jg-mix").check()
    after = parts.evaluate_all(boxes)
    assert after != before
    assert sorted(after) == sorted(before), "each patch once"
    page.locator(".jg-count").check()
    numbers = page.locator(".jg-parts text").all_text_contents()
    assert [before[int(number) - 1] for number in numbers] == after
    slider = page.locator("input[type=range]")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert said.inner_text() == alt_text(40, 3, 5)
    assert parts.count() == 64
    first = page.locator("image").get_attribute("href")
    page.locator("select").select_option("two")
    assert page.locator("image").get_attribute("href") != first
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not reader.complaints


def test_without_scripts_the_first_state_stands_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", PAGE, flags=re.DOTALL)
    assert dead.count("<use") == 16
    assert alt_text(40, 3, 10) in dead


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="got none"):
        patch_shuffle({}, sizes=(5,), size=5)
    with pytest.raises(ValueError, match="one shape"):
        patch_shuffle({"a": PIXELS, "b": PIXELS[:1]}, sizes=(5,), size=5)
    with pytest.raises(ValueError, match="divide 40"):
        patch_shuffle({"a": PIXELS}, sizes=(5, 16), size=5)
