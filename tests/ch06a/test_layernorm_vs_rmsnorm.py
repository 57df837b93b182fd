"""One row through two norms: numbers and bars as the library has them, by key and finger."""

from __future__ import annotations

import pytest
from browser import Reader

from deepdive_book.ch06a.figures.layernorm_vs_rmsnorm import (
    alt_text,
    format_number,
    layernorm_vs_rmsnorm,
    normed,
)
from deepdive_book.kit.markup import Html

FIRST = [1, 7, 4, 0]


def picture() -> Html:
    return layernorm_vs_rmsnorm(FIRST)


def test_the_picture_shows_what_the_norms_make_of_the_row(reader: Reader) -> None:
    page = reader.open(layernorm_vs_rmsnorm(FIRST).html)
    sliders, buttons = page.locator("input"), page.locator("button")

    def is_drawn(row: list[int]) -> None:
        assert page.locator("[role=status]").inner_text() == alt_text(row)
        wanted = [format_number(v) for values in normed(row).values() for v in values]
        assert page.locator(".tn-bar b").all_inner_texts() == wanted

    is_drawn(FIRST)
    sliders.nth(0).fill("-3")
    is_drawn([-3, 7, 4, 0])
    buttons.nth(0).click()
    is_drawn([-2, 8, 5, 1])
    buttons.nth(1).click()
    buttons.nth(3).click()
    is_drawn(FIRST)
    buttons.nth(2).click()  # 14 would leave the picture
    assert "Out of range" in page.locator("[role=status]").inner_text()
    sliders.nth(1).fill("5")
    buttons.nth(2).click()
    is_drawn([2, 10, 8, 0])
    assert not reader.complaints


def test_a_shift_moves_one_norm_and_a_factor_none() -> None:
    once, shifted, doubled = (normed(row) for row in ([1, 5, 4, 0], [3, 7, 6, 2], [2, 10, 8, 0]))
    assert shifted["LayerNorm"] == pytest.approx(once["LayerNorm"])
    assert shifted["RMSNorm"] != pytest.approx(once["RMSNorm"], abs=0.01)
    for name in ("LayerNorm", "RMSNorm"):
        assert doubled[name] == pytest.approx(once[name])


@pytest.mark.parametrize("row", [[1], [1, 13], [0.5, 1]])
def test_a_row_that_the_picture_cannot_show_is_refused(row: list[float]) -> None:
    with pytest.raises(ValueError, match="row: got"):
        layernorm_vs_rmsnorm(row)  # type: ignore[arg-type]
