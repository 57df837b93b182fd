"""The IsoFLOP curve: its numbers by hand, and the script's state next to Python's."""

from __future__ import annotations

import pytest
from browser import Reader

from deepdive.evaluate.scaling import Chinchilla
from deepdive_book.ch06a.figures.isoflop_curve import (
    STEPS,
    alt_text,
    flops,
    isoflop_curve,
    short,
)
from deepdive_book.kit.markup import Html

LAW = Chinchilla(0.9, 20.0, 400.0, 0.35, 0.45)
RUNS = [(n, d, LAW(n, d)) for n in (5e3, 3e4, 1.5e5) for d in (5e5, 1e6, 2e6)]


def picture() -> Html:
    return isoflop_curve(LAW, RUNS, budget=12, size=4)


def test_numbers_have_two_digits() -> None:
    found = [short(x) for x in (10, 4_356, 10_000, 99_960, 1e6, 2.44e6, 3.49e7)]
    assert found == ["10", "4,400", "10,000", "100,000", "1.0 million", "2.4 million", "35 million"]
    assert short(7.94e10) == "79 billion"
    assert [flops(x) for x in (1e12, 2.5e13, 9.96e10)] == ["1.0e12", "2.5e13", "1.0e11"]


def test_a_state_by_hand() -> None:
    law = Chinchilla(1.0, 1000.0, 1000.0, 0.5, 0.5)  # equal terms: as many tokens as parameters
    assert alt_text(law, 12.7781513, 5) == (  # 6 * 10^6 * 10^6 FLOPs
        "6.0e12 FLOPs. Compute-optimal: 1.0 million parameters, 1.0 million characters, loss "
        "3.000. Yours: 100,000 parameters, 10 million characters, loss 4.479, 1.479 higher."
    )


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="measured: got none"):
        isoflop_curve(LAW, [])
    with pytest.raises(ValueError, match="budget=9, size=4"):
        isoflop_curve(LAW, RUNS, budget=9)


def test_the_script_computes_what_python_does(reader: Reader) -> None:
    page = reader.open(picture().html)
    status, sliders = page.locator("[role=status]"), page.locator("input")
    assert status.inner_text() == alt_text(LAW, 12, 4)
    for budget, size in ((10.5, 3.2), (11.85, 5.0), (13.4, 6.35), (14.0, 6.5)):
        sliders.nth(0).fill(str(round(STEPS * budget)))
        sliders.nth(1).fill(str(round(STEPS * size)))
        assert status.inner_text() == alt_text(LAW, budget, size)
    sliders.nth(0).fill(str(round(STEPS * 11.0)))
    near = [run for run in RUNS if abs(6 * run[0] * run[1] / 1e11 - 1) < 0.4]
    assert near
    assert page.locator(".runs circle").count() == len(near)
