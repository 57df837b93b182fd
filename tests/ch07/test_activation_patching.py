"""Parts put from one run into another: what is told is the values' own; keys; sizes; no scripts."""

from __future__ import annotations

import re

import pytest
import torch
from browser import Reader

from deepdive_book.ch07.figures.activation_patching import Exchange, patch_demo, share
from deepdive_book.kit.markup import Html

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
    return patch_demo(CASES, ("finder", "twin"), ("words", "after 1"))


def numbers(told: str) -> list[int]:
    return [int(found) for found in re.findall(r"-?\d+(?= to| %|: |\.)", told)]


def test_what_is_told_is_what_was_measured(reader: Reader) -> None:
    page = reader.open(picture().html)
    told, heads = page.locator("[role=status]"), page.locator(".patch-heads button")
    for c, one in enumerate(CASES):
        page.locator("select").nth(0).select_option(index=c)
        for way in (0, 1):
            page.locator("select").nth(1).select_option(index=way)
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
            assert page.locator(".patch-heads [aria-pressed=true]").count() == 0
    assert not reader.complaints


def test_it_works_by_keys_and_cells_are_filled(reader: Reader) -> None:
    page = reader.open(picture().html)
    head = page.locator(".patch-heads button").nth(0)
    assert head.inner_text().split() == ["finder", "50", "%"]
    head.focus()
    page.keyboard.press("Space")
    assert head.get_attribute("aria-pressed") == "true"
    assert "50 %" in head.inner_text()
    assert page.locator("td button").all_inner_texts() == ["0", "100", "0", "0", "75", "50"]
    assert page.locator("td button").nth(1).get_attribute("aria-label") == "100 words milk"
    page.get_by_role("checkbox").check()
    assert page.locator("td button").all_inner_texts() == ["?"] * 6
    page.locator("td button").nth(4).click()
    assert page.locator("td button").all_inner_texts() == [*"????", "75", "?"]
    page.get_by_role("button", name="take all out").click()
    assert page.locator("td button").all_inner_texts() == ["?"] * 6


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="give one at least"):
        patch_demo([], ("a",), ("b",))
    with pytest.raises(ValueError, match=r"heads got \(2, 4\), expected \(2, 8\)"):
        patch_demo(CASES, ("a", "b", "c"), ("d", "e"))
    with pytest.raises(ValueError, match=r"rows got \(2, 2, 3\), expected \(2, 1, 3\)"):
        patch_demo(CASES, ("a", "b"), ("d",))
    with pytest.raises(ValueError, match="both runs say the same"):
        patch_demo([CASES[0]._replace(numbers=(1.0, 1.0))], ("a", "b"), ("d", "e"))
