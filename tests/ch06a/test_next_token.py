"""Bars of next tokens: the cuts are the library's, and what a reader moves is what is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from browser import Reader

from deepdive.decoding import filter_min_p, filter_top_k, filter_top_p
from deepdive_book.ch06a.figures.next_token import (
    BARS,
    LISTED,
    MIN_P,
    TEMPERATURES,
    TOP_K,
    TOP_P,
    Setting,
    alt_text,
    candidates,
    left,
    next_token,
)
from deepdive_book.kit.markup import Html

LOGITS = 2 * torch.randn(300, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
ONE = candidates("It is", LOGITS, lambda ids: f" w{ids[0]}")
TWO = candidates("They", 3 * LOGITS.flip(0), lambda ids: f"<b>{ids[0]}")


def picture() -> Html:
    return next_token([ONE, TWO])


@pytest.mark.parametrize(
    "setting",
    [Setting(), Setting(1), Setting(3, 4), Setting(3, 0, 4), Setting(4, 6, 2), Setting(2, 0, 0, 4),
     Setting(6, 6, 4, 3), Setting(3, 5, 6, 6), Setting(5, 0, 1, 1), Setting(6, 0, 6)],
)  # fmt: skip
def test_what_stays_is_what_the_library_leaves(setting: Setting) -> None:
    scores = LOGITS / TEMPERATURES[setting.temperature]
    whole = scores.softmax(-1)
    if k := TOP_K[setting.k]:
        scores = filter_top_k(scores, k)
    if p := TOP_P[setting.p]:
        scores = filter_top_p(scores, p)
    if share := MIN_P[setting.min_p]:
        scores = filter_min_p(scores, share)
    stays = int((scores > float("-inf")).sum())
    found = left(ONE, setting)
    assert found.shares == pytest.approx(whole.sort(descending=True).values[:LISTED].tolist(), 1e-2)
    if found.kept is None:
        assert stays > LISTED
        assert found.part == pytest.approx(float(whole[scores > float("-inf")].sum()), abs=0.01)
    else:
        assert found.kept == stays
        drawn = float(scores.softmax(-1).max())
        assert found.shares[0] / found.part == pytest.approx(drawn, 1e-2)


def test_the_words_are_counted() -> None:
    assert alt_text(ONE, Setting(3, 1)).startswith("1 of 300 token stays; together they had ")
    assert alt_text(ONE, Setting()).startswith("All 300 tokens stay; the likeliest")
    assert alt_text(ONE, Setting(6, 0, 6)).startswith("More than 150 tokens stay; the likeliest")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="got none"):
        next_token([])
    with pytest.raises(ValueError, match="begin with 0 and fall"):
        next_token([replace(ONE, logits=ONE.logits[::-1])])


def test_sliders_show_what_is_counted(reader: Reader) -> None:
    page = reader.open(next_token([ONE, TWO]).html)
    status, sliders = page.locator("[role=status]"), page.locator("input")
    assert status.inner_text() == alt_text(ONE, Setting())
    for k, some in ((1, TWO), (0, ONE)):
        page.locator("select").select_option(str(k))
        for setting in (Setting(), Setting(5, 6), Setting(2, 0, 3), Setting(6, 0, 6, 0),
                        Setting(4, 0, 0, 3), Setting(0, 5, 5, 2)):  # fmt: skip
            for slider, at in enumerate(setting):
                sliders.nth(slider).fill(str(at))
            assert status.inner_text() == alt_text(some, setting)
            assert page.locator(".nx-row").count() == BARS
    assert page.locator(".nx-row span").first.inner_text().startswith("·w")


def test_without_scripts_the_first_state_stays() -> None:
    html = next_token([ONE], Setting(3, 3)).html
    assert html.split("<script")[0].count('class="nx-row"') == BARS
    assert alt_text(ONE, Setting(3, 3)) in html
