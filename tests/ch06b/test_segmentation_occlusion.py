"""Things to hide: each button shows the frame that the page made for it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from browser import PHONE, Reader

from deepdive_book.ch06b.figures.segmentation_occlusion import Frame, segmentation_occlusion
from deepdive_book.kit.markup import Html

BLANK = np.zeros((4, 4, 3), np.uint8)
FRAMES = {
    choice: Frame(BLANK + 50 * n, BLANK, BLANK, f"state {n}")
    for n, choice in enumerate(product((True, False), repeat=2))
}


def picture() -> Html:
    return segmentation_occlusion(["a", "b"], FRAMES)


def test_each_choice_needs_its_frame() -> None:
    with pytest.raises(ValueError, match="expected 4, one for each choice"):
        segmentation_occlusion(["a", "b"], {(True, True): FRAMES[True, True]})
    assert "state 0" in repr(segmentation_occlusion(["a", "b"], FRAMES))


def test_the_buttons_show_their_frames(reader: Reader) -> None:
    page = reader.open(segmentation_occlusion(["a", "b"], FRAMES).html, PHONE)
    first = page.locator(".hd img").first.get_attribute("src")
    for button, says in ((1, "state 1"), (0, "state 3"), (1, "state 2"), (0, "state 0")):
        page.locator(".hd button").nth(button).click()
        assert page.locator(".hd p").text_content() == says
    assert page.locator(".hd img").first.get_attribute("src") == first
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not reader.complaints
