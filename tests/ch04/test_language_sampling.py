"""Who is read how often: Python's drawing, and what the reader's slider makes of it."""

from __future__ import annotations

import pytest
from browser import Reader

from deepdive.data.mixture import repeats, shares
from deepdive_book.ch04.figures.language_sampling import alt_text, language_sampling, models
from deepdive_book.kit.markup import Html

SIZES = {"Hindi": 704, "Greek": 352, "Basque": 22}
DRAWN = 1078


def picture() -> Html:
    return language_sampling(SIZES, drawn=DRAWN)


def test_at_alpha_1_every_text_is_read_alike() -> None:
    assert alt_text(SIZES, DRAWN, 1.0) == (
        "alpha = 1.00. Hindi has 65% of the draws, and each of its sentences is read 1.0 times. "
        "Basque has 2%, and each of its sentences is read 1.0 times."
    )
    assert "Basque has 33%, and each of its sentences is read 16.3 times" in alt_text(
        SIZES, DRAWN, 0.0
    )
    assert models() == {
        "14": "mBERT", "10": "XLM's vocabulary", "6": "XLM-R and mT5", "4": "MMNMT"
    }  # fmt: skip
    assert alt_text(SIZES, DRAWN, 0.3).startswith("alpha = 0.30, as XLM-R and mT5. ")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"got 1 languages and 1\.0"):
        language_sampling({"Hindi": 704}, drawn=10)
    with pytest.raises(ValueError, match=r"got 3 languages and 0\.33"):
        language_sampling(SIZES, drawn=10, alpha=0.33)


def test_what_the_slider_shows_is_what_is_counted(reader: Reader) -> None:
    page = reader.open(language_sampling(SIZES, drawn=DRAWN).html)
    status, slider = page.locator("[role=status]"), page.locator("input")
    words = page.locator(".as-bars text")
    assert status.inner_text() == alt_text(SIZES, DRAWN, 1.0)
    for stop in (0, 3, 6, 10, 14, 19):
        slider.fill(str(stop))
        alpha = stop / 20
        assert status.inner_text() == alt_text(SIZES, DRAWN, alpha)
        part, times = shares(SIZES, alpha), repeats(SIZES, alpha, DRAWN)
        wanted = [f"{100 * part[n]:.0f}%|{times[n]:.1f}×" for n in SIZES]
        assert "|".join(words.all_text_contents()) == "|".join(wanted)


def test_without_scripts_the_first_state_stays() -> None:
    html = language_sampling(SIZES, drawn=DRAWN, alpha=0.5).html
    assert html.split("<script")[0].count("<rect") == 6
    assert alt_text(SIZES, DRAWN, 0.5) in html
