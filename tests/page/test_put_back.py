"""Parts put from one run into another: what is told is the values' own; keys; sizes; no scripts."""

from __future__ import annotations

import re

import pytest
import torch
from browser import DESK, PHONE, Reader, Size

from deepdive.page.markup import Html
from deepdive.page.put_back import Exchange, put_back, share

CLEAN, OTHER = ("ann", "<tea>", "ann"), ("ann", "milk", "ann")
CASES = [
    Exchange("the drink", CLEAN, OTHER, ("tea", "milk"), (10.0, -10.0),
             torch.tensor([[-10.0, 0, -10, 10], [10.0, 0, 10, -10]]),
             torch.tensor([[[-10.0, 10, -10], [-10, 5, 0]], [[10.0, -10, 10], [10, 0, 0]]])),
    Exchange("strangers", CLEAN, ("cem", "<tea>", "dia"), ("tea", "nothing"), (10.0, 0.0),
             torch.tensor([[0.0, 10, 0, 10], [10.0, 10, 0, 0]]),
             torch.tensor([[[0.0, 0, 0], [0, 0, 10]], [[0.0, 10, 0], [10, 0, 0]]])),
]  # fmt: skip


def picture() -> Html:
    return put_back(CASES, ("finder", "twin"), ("words", "after 1"))


def numbers(told: str) -> list[int]:
    return [int(found) for found in re.findall(r"-?\d+(?= to| %|: |\.)", told)]


def test_what_is_told_is_what_was_measured(reader: Reader) -> None:
    page = reader.open(picture().html)
    told, heads = page.locator("[role=status]"), page.locator(".pb-heads button")
    for c, one in enumerate(CASES):
        page.locator("select").nth(0).select_option(str(c))
        for way in (0, 1):
            page.locator("select").nth(1).select_option(str(way))
            assert "Nothing is put in" in told.inner_text()
            start, end = one.numbers[::-1] if way == 0 else one.numbers
            for pressed, head in ((1, 0), (3, 1), (2, 0)):
                heads.nth(head).click()
                value = float(one.heads[way, pressed])
                expected = [start, value, share(one, way, value), end]
                assert numbers(told.inner_text()) == expected
            for place in range(6):
                page.locator("td button").nth(place).click()
                value = float(one.rows[way].flatten()[place])
                expected = [start, value, share(one, way, value), end]
                assert numbers(told.inner_text())[-4:] == expected
                assert page.locator("td button").nth(place).inner_text() == str(expected[2])
            assert page.locator(".pb-heads [aria-pressed=true]").count() == 0
    assert not reader.complaints


def test_it_works_by_keys_and_cells_are_filled(reader: Reader) -> None:
    page = reader.open(picture().html)
    head = page.locator(".pb-heads button").nth(0)
    assert head.inner_text() == "finder"
    head.focus()
    page.keyboard.press("Space")
    assert head.get_attribute("aria-pressed") == "true"
    assert "50 %" in head.inner_text()
    page.get_by_role("button", name="fill in every cell").click()
    assert page.locator("td button").all_inner_texts() == ["0", "100", "0", "0", "75", "50"]
    assert page.locator("td button").nth(1).get_attribute("aria-label") == "100 words milk"
    page.get_by_role("button", name="take all out").click()
    assert page.locator("td button").all_inner_texts() == ["?"] * 6


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits_and_can_be_touched(reader: Reader, size: Size) -> None:
    page = reader.open(picture().html, size)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    for cell in (page.locator(".pb-heads button").first, page.locator("td button").first):
        assert cell.bounding_box()["height"] >= 38


def test_without_scripts_every_share_stands_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert dead.count(" hidden>") == 4
    assert dead.count("50 %") == 1
    assert ">75</button>" in dead
    assert "<mark>&lt;tea&gt;</mark>" in dead
    assert picture().html == picture().html
    assert repr(picture()).startswith("[the drink: ann milk ann]")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="give one at least"):
        put_back([], ("a",), ("b",))
    with pytest.raises(ValueError, match=r"heads came \(2, 4\), expected \(2, 8\)"):
        put_back(CASES, ("a", "b", "c"), ("d", "e"))
    with pytest.raises(ValueError, match=r"rows came \(2, 2, 3\), expected \(2, 1, 3\)"):
        put_back(CASES, ("a", "b"), ("d",))
    with pytest.raises(ValueError, match="both runs say the same"):
        put_back([CASES[0]._replace(numbers=(1.0, 1.0))], ("a", "b"), ("d", "e"))
