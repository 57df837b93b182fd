"""A budget and its valley: counted by hand, beside the law, and by a reader."""

from __future__ import annotations

import pytest
from browser import Reader

from deepdive.evaluate.scaling import Chinchilla
from deepdive_book.ch06a.figures.isoflop_curve import GRAIN, alt_text, isoflop_slider, short
from deepdive_book.kit.markup import Html

LAW = Chinchilla(0.9, 20.0, 400.0, 0.35, 0.45)
SEEN = [(n, d, LAW(n, d)) for n in (5e3, 3e4, 1.5e5) for d in (5e5, 1e6, 2e6)]


def picture() -> Html:
    return isoflop_slider(LAW, SEEN, budget=12, size=4)


def test_numbers_are_said_in_two_digits() -> None:
    said = [short(x) for x in (10, 4_356, 10_000, 99_960, 1e6, 2.44e6, 3.49e7)]
    assert said == ["10", "4,400", "10,000", "100,000", "1.0 million", "2.4 million", "35 million"]
    assert short(7.94e10) == "79 thousand million"
    assert short(2.5e13) == "25 million million"


def test_a_state_by_hand() -> None:
    law = Chinchilla(1.0, 1000.0, 1000.0, 0.5, 0.5)  # both losses alike: as many tokens as weights
    said = alt_text(law, 12.7781513, 5)  # 6 * 10^6 * 10^6 operations
    assert said == (
        "6.0 million million operations. Lowest: 1.0 million parameters on 1.0 million letters, "
        "3.000 nats. Yours: 100,000 parameters on 10 million letters, 4.479 nats, 1.479 above the "
        "lowest."
    )


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="seen: got none"):
        isoflop_slider(LAW, [])
    with pytest.raises(ValueError, match="budget=9, size=4"):
        isoflop_slider(LAW, SEEN, budget=9)


def test_what_sliders_show_is_the_law(reader: Reader) -> None:
    page = reader.open(isoflop_slider(LAW, SEEN, budget=12, size=4).html)
    status, sliders = page.locator("[role=status]"), page.locator("input")
    assert status.inner_text() == alt_text(LAW, 12, 4)
    for budget, size in ((10.5, 3.2), (11.85, 5.0), (13.4, 6.35), (14.0, 6.5)):
        sliders.nth(0).fill(str(round(GRAIN * budget)))
        sliders.nth(1).fill(str(round(GRAIN * size)))
        assert status.inner_text() == alt_text(LAW, budget, size)
    sliders.nth(0).fill(str(round(GRAIN * 11.0)))
    near = [run for run in SEEN if abs(6 * run[0] * run[1] / 1e11 - 1) < 0.4]
    assert near
    assert page.locator(".va-inner circle[r='4']").count() == len(near)


def test_arrow_keys_move_the_budget(reader: Reader) -> None:
    page = reader.open(isoflop_slider(LAW, SEEN, budget=12, size=4).html)
    page.locator("input").first.press("ArrowRight")
    assert page.locator("[role=status]").inner_text() == alt_text(LAW, 12 + 1 / GRAIN, 4)


def test_without_scripts_the_first_state_stays() -> None:
    html = isoflop_slider(LAW, SEEN).html
    assert alt_text(LAW, 12, 4) in html
    assert html.split("<script")[0].count('stroke-width="3"') == 2
