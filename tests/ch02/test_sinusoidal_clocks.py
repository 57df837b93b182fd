"""The clocks show the table's own numbers, move by slider, key and word, and fit a phone."""

from __future__ import annotations

import re

import pytest
import torch
from browser import DESK, PHONE, Reader, Size

from deepdive.positions import SinusoidalPosition
from deepdive_book.ch02.figures.sinusoidal_clocks import sinusoidal_clocks
from deepdive_book.kit.markup import Html

TABLE = SinusoidalPosition(8).table(torch.arange(64))
WORDS = {"dog": [2.0] + 7 * [0.0], "man": [0.0, 2.0] + 6 * [0.0], "bites": 8 * [1.0]}


def picture() -> Html:
    return sinusoidal_clocks(TABLE)


def first() -> Html:
    return sinusoidal_clocks(
        TABLE, sentences=["dog bites man", "man bites dog"], words=WORDS, place=0
    )


def numbers(row: torch.Tensor) -> list[str]:
    return [f"{x:.2f}".replace("-0.00", "0.00").replace("-", "\u2212") for x in row.tolist()]


def test_a_slider_moves_hands_and_numbers_and_they_are_the_table_s(reader: Reader) -> None:
    page = reader.open(sinusoidal_clocks(TABLE).html)
    slider, cells = page.locator("input"), page.locator(".ck-place span")
    for place in (0, 1, 7, 63):
        slider.fill(str(place))
        assert cells.all_text_contents() == numbers(TABLE[place])
        for i in range(4):
            tip = page.locator(".ck-a circle").nth(i)
            right = (float(tip.get_attribute("cx") or 0) - 50) / 38
            up = (50 - float(tip.get_attribute("cy") or 0)) / 38
            assert right == pytest.approx(TABLE[place, 2 * i].item(), abs=1e-6)
            assert up == pytest.approx(TABLE[place, 2 * i + 1].item(), abs=1e-6)
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert cells.all_text_contents() == numbers(TABLE[62])
    assert not reader.complaints


def test_a_word_leads_to_its_place_and_is_added(reader: Reader) -> None:
    page = reader.open(first().html)
    for line, word, place in ((0, "dog", 0), (1, "dog", 2), (0, "man", 2)):
        button = page.locator(".ck-words > div").nth(line).get_by_text(word)
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        assert page.locator("input").input_value() == str(place)
        summed = page.locator(".ck-sum span").all_text_contents()
        assert summed == numbers(TABLE[place] + torch.tensor(WORDS[word]))
    page.locator("input").fill("9")
    assert page.locator(".ck-sum, .ck-words [aria-pressed=true]").count() == 0


def test_two_places_and_their_dot_product(reader: Reader) -> None:
    page = reader.open(sinusoidal_clocks(TABLE, place=3, second=10).html)
    for a, b in ((3, 10), (40, 47), (5, 5), (60, 0)):
        page.locator("input").nth(0).fill(str(a))
        page.locator("input").nth(1).fill(str(b))
        said = page.locator("[role=status]").text_content() or ""
        assert said.startswith(f"Places {a} and {b}, {abs(a - b)} apart")
        assert said.endswith(f"= {float(TABLE[a] @ TABLE[b]):.2f}")


@pytest.mark.parametrize("size", [DESK, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_every_control_has_a_name(reader: Reader, size: Size, scheme: str) -> None:
    page = reader.open(
        first().html + sinusoidal_clocks(TABLE, second=9).html, size, color_scheme=scheme
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("[...document.querySelectorAll('input')].every(x => x.labels.length)")
    boxes = page.locator(".ck-hand").all()
    assert len(boxes) == 8
    assert all(60 < (box.bounding_box() or {})["width"] < 200 for box in boxes)
    assert page.evaluate(
        "[...document.querySelectorAll('.ck-row span')].every(x => x.scrollWidth <= x.clientWidth)"
    ), "a number is wider than its cell"


def test_without_scripts_a_place_stands_there_drawn() -> None:
    dead = re.sub(r"<script>.*?</script>", "", first().html, flags=re.DOTALL)
    assert dead.count("<svg") == 4
    assert "Place 0: 0.00, 1.00" in dead
    assert repr(first()).startswith("[clocks: Place 0: 0.00, 1.00")
    assert first().html == first().html


def test_what_it_cannot_show_is_refused() -> None:
    with pytest.raises(ValueError, match="one even length; got 2 of 3"):
        sinusoidal_clocks([[1, 2, 3], [1, 2, 3]])
    with pytest.raises(ValueError, match="place is 64; the table has the places 0 to 63"):
        sinusoidal_clocks(TABLE, place=64)
    with pytest.raises(ValueError, match="second is -1"):
        sinusoidal_clocks(TABLE, second=-1)
    with pytest.raises(ValueError, match="words: 'cat' needs a row of 8"):
        sinusoidal_clocks(TABLE, sentences=["dog cat"], words=WORDS)
