"""The bars of the three parts show the page's own numbers, by mouse and key, and fit a phone."""

from __future__ import annotations

import re

import pytest
import torch
from browser import Reader

from deepdive_book.ch03.figures.disentangled_scores import PARTS, disentangled_scores
from deepdive_book.kit.markup import Html

WORDS = ["tea", "<b>", "jam>2", "?"]
DRAW = torch.Generator().manual_seed(0)
HEADS = {f"1-{h}": 3 * torch.randn(3, 4, 4, generator=DRAW) for h in range(2)}


def picture() -> Html:
    return disentangled_scores(WORDS, HEADS, asks=3)


def test_bars_and_weights_are_those_of_who_asks_without_what_is_off(reader: Reader) -> None:
    page = reader.open(picture().html)
    for name, parts in HEADS.items():
        page.locator(".sp-head").select_option(name)
        for asks in (0, 2):
            page.locator(".sp-row").nth(asks).click()
            assert page.locator(".sp-asker").input_value() == str(asks)
            for off in (None, 0, 1, 2):
                if off is not None:
                    page.get_by_label(PARTS[off][0]).uncheck()
                left = parts[:, asks] * torch.tensor([[float(p != off)] for p in range(3)])
                told = page.locator(".sp-weight").evaluate_all(
                    "all => all.map(x => +x.getAttribute('width'))"
                )
                drawn = torch.tensor(told)
                assert torch.allclose(drawn / drawn.sum(), left.sum(0).softmax(-1), atol=2e-3)
                bars = page.locator(".sp-part").evaluate_all(
                    "all => all.map(x => +x.getAttribute('width'))"
                )
                long = torch.tensor(bars).view(4, 3).T / 92 * parts[:, asks].abs().max()
                assert torch.allclose(long, left.abs(), atol=2e-3)
                if off is not None:
                    page.get_by_label(PARTS[off][0]).check()
    assert not reader.complaints


def test_the_state_is_told_in_words(reader: Reader) -> None:
    page = reader.open(picture().html)
    said = page.locator(".sp-said")
    assert f"[bars: {said.inner_text()}]" == repr(picture())
    page.locator(".sp-asker").select_option("1")
    assert said.inner_text().startswith("2: <b> asks.")
    for part, _ in PARTS:
        page.get_by_label(part).uncheck()
    assert "nearly the same" in said.inner_text()


def test_without_scripts_the_first_state_stands_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert dead.count('class="sp-row"') == 4
    assert dead.count('class="sp-choose" hidden') == 2
    assert "4: ? asks. The largest weight" in dead
    assert picture().html == picture().html


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'1-0': expected parts \(3, 3, 3\).*got \(3, 4, 4\)"):
        disentangled_scores(WORDS[:3], HEADS, asks=0)
    with pytest.raises(ValueError, match="asks is 4; expected a place from 0 to 3"):
        disentangled_scores(WORDS, HEADS, asks=4)
    with pytest.raises(ValueError, match="tables is empty"):
        disentangled_scores(WORDS, {}, asks=0)
