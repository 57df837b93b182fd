"""Several languages in one heap: what is nearest, as the vectors have it, by key and finger."""

from __future__ import annotations

import re

import pytest
import torch
from browser import Reader

from deepdive_book.ch04.figures.multilingual_nearest_neighbors import (
    KINDS,
    multilingual_nearest_neighbors,
)
from deepdive_book.kit.markup import Html

TEXTS = [["a cat", "a <dog>", "it is late"], ["un chat", "un chien", "il est tard " * 9],
         ["猫", "狗", "晚了"]]  # fmt: skip
PLACES = torch.tensor([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [-3.0, -3.0, 0.5]])
FAR = torch.tensor([0.0, 0.0, 20.0])
VECTORS = {
    "": [PLACES, PLACES + 0.1, PLACES + FAR],  # the third language lies elsewhere
    "means": [PLACES, PLACES + 0.1, PLACES],
    "turned": [PLACES, PLACES.flip(0), PLACES],
}
STATUS = "{}, {}: for {} of 3 sentences the nearest of the whole heap is a translation, for {} "


def picture(language: int = 2, chosen: int = 0) -> Html:
    return multilingual_nearest_neighbors(
        ["English", "French", "Chinese"], TEXTS, VECTORS, language, chosen
    )


def test_means_and_turn(reader: Reader) -> None:
    page = reader.open(picture().html)
    said, heap = page.locator("[role=status]"), page.locator(".oh dl > div").last
    assert said.inner_text().startswith(STATUS.format("Chinese", "as they are", 0, 3))
    assert heap.locator("dt").inner_text() == "nearest of the whole heap (Chinese): another"
    means, turned = page.locator("input").all()
    means.check()
    assert said.inner_text().startswith(STATUS.format("Chinese", "means off", 3, 0))
    assert heap.locator("dd").evaluate("e => e.firstChild.data") in ("a cat", "un chat")
    turned.check()
    assert said.inner_text().startswith(STATUS.format("Chinese", "means off and turned", 3, 0))
    page.locator("select").first.select_option("1")
    assert said.inner_text().startswith(STATUS.format("French", "means off and turned", 1, 0))
    means.uncheck()
    assert not turned.is_checked()
    turned.check()
    assert means.is_checked()
    page.locator("select").nth(1).select_option("1")
    assert page.locator(".oh-asked").inner_text().split("\n") == ["un chien", "a <dog>"]
    assert not reader.complaints


def test_python_and_the_script_draw_the_same(reader: Reader) -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    shown = []
    for html in (dead, picture().html):
        page = reader.open(html)
        places = (".oh-shown", "[role=status]")
        shown.append([page.locator(place).evaluate("e => e.innerHTML") for place in places])
    assert shown[0] == shown[1]
    assert repr(picture()).startswith("[one heap: Chinese, as they are: for 0 of 3")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="one length and 3 languages"):
        multilingual_nearest_neighbors(
            ["a", "b", "c"], TEXTS, {kind: VECTORS[kind][:2] for kind in KINDS}
        )
    with pytest.raises(ValueError, match="one length"):
        multilingual_nearest_neighbors(["a", "b", "c"], [side[:2] for side in TEXTS], VECTORS)
