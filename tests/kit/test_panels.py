"""Drawings of which a reader chooses one."""

from __future__ import annotations

import pytest
from browser import Reader

from deepdive_book.kit.diagrams import svg
from deepdive_book.kit.markup import Html
from deepdive_book.kit.panels import panels


def draw(*chosen: str) -> tuple[str, str]:
    return svg(90, 90, [f'<g id="at{"".join(chosen)}"/>']), f"{chosen} <b>"


def picture() -> Html:
    return panels("name <b>", {"first": ["1", "2"], "second": ["x", "y"]}, draw)


def test_each_combination_is_shown_when_it_is_chosen(reader: Reader) -> None:
    page = reader.open(picture().html)
    for i, first in enumerate("12"):
        for j, second in enumerate("xy"):
            page.locator("select").nth(0).select_option(index=i)
            page.locator("select").nth(1).select_option(index=j)
            assert page.locator(f"svg[aria-hidden] #at{first}{second}").count()
            assert page.locator("[role=status]").inner_text() == draw(first, second)[1]


def test_nothing_to_choose_and_too_much_are_refused() -> None:
    with pytest.raises(ValueError, match="got 1 combinations of 1 choices"):
        panels("name", {"a": ["1"]}, lambda a: ("", ""))
    with pytest.raises(ValueError, match="got 25 combinations"):
        panels("name", {"a": "12345", "b": "12345"}, lambda a, b: ("", ""))
