"""A damaged text: each way and each draw shows what is read, what is written, and what is new."""

from __future__ import annotations

import pytest
from browser import PHONE, Reader

from deepdive_book.ch06a.figures.denoising_corruptions import Damaged, corruption_demo
from deepdive_book.kit.markup import Html

WHOLE = ["the", "cow", "eats", "the", "grass"]
WAYS = {
    "masked": [
        Damaged(["the", "[MASK]", "eats", "the", "grass"], WHOLE),
        Damaged(["[MASK]", "cow", "eats", "the", "grass"], WHOLE),
    ],
    "rotated": [Damaged(["grass", "the", "cow", "eats", "the"], WHOLE)],
}


def picture() -> Html:
    return corruption_demo(WAYS)


def test_what_can_be_copied_is_counted_as_often_as_it_is_read() -> None:
    assert WAYS["masked"][0].missing() == [False, True, False, False, False]
    assert WAYS["masked"][1].missing() == [False, False, False, True, False]  # one "the" of two
    assert not any(WAYS["rotated"][0].missing())
    with pytest.raises(ValueError, match="one draw at least"):
        corruption_demo({"masked": []})
    assert "5 tokens and writes 5; 1 of these" in repr(corruption_demo(WAYS))


def test_ways_and_draws(reader: Reader) -> None:
    page = reader.open(corruption_demo(WAYS).html, PHONE)

    def shown() -> tuple[str, list[str], str]:
        read = " ".join(page.locator(".dm .read span").all_text_contents())
        return read, page.locator(".new").all_text_contents(), page.locator(".dm p").inner_text()

    assert shown()[:2] == ("the [MASK] eats the grass", ["cow"])
    page.locator(".again").click()
    assert shown()[:2] == ("[MASK] cow eats the grass", ["the"])
    page.locator(".ways button").nth(1).click()
    read, new, says = shown()
    assert (read, new) == ("grass the cow eats the", [])
    assert says == "It reads 5 tokens and writes 5; 0 of these cannot be copied."
    assert page.locator(".again").is_disabled()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not reader.complaints
