"""What a slider shows of models that learned to look elsewhere: the numbers given, by key."""

from __future__ import annotations

import re

import pytest
import torch
from browser import DESK, PHONE, Reader, Size

from deepdive.page.looking_away import Turned, looking_away
from deepdive.page.markup import Html

WORDS = ("the", "<music>", "cold")
BASE = torch.tensor([0.0, 0.1, 0.9])
STEPS = [
    Turned(0.0, torch.tensor([0.0, 0.2, 0.8]), torch.tensor([0.0, 0.1, 0.7]), 0.02, 0.01, 0.03),
    Turned(0.05, torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 0.2, 0.6]), 0.03, 0.66, 0.04),
]  # fmt: skip


def picture() -> Html:
    return looking_away(WORDS, BASE, STEPS, ("negative", "positive"))


def test_each_step_shows_its_numbers(reader: Reader) -> None:
    page = reader.open(picture().html)
    slider = page.locator("input")
    slider.focus()
    for key, step in (("Home", STEPS[0]), ("ArrowRight", STEPS[1])):
        page.keyboard.press(key)
        bars = page.locator(".la-bar span:last-child").all_inner_texts()
        wanted = torch.stack([BASE, step.weights, step.left_out], 1).flatten()
        assert [int(b) for b in bars] == [round(100 * w) for w in wanted.tolist()]
        told = page.locator("[role=status]").inner_text()
        assert told.startswith(f"Paid {step.far:g} for looking elsewhere. It says positive")
        assert f"{step.apart:.2f} from the base's" in told
        assert page.locator("output").inner_text() == f"{step.far:g}"
    assert not reader.complaints


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits(reader: Reader, size: Size) -> None:
    page = reader.open(picture().html, size)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_scripts_the_first_step_stands_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert 'class="la-choose" hidden' in dead
    assert "Paid 0 for looking elsewhere" in dead
    assert "&lt;music&gt;" in dead
    assert picture().html == picture().html
    assert repr(picture()).startswith("[paid for looking elsewhere: Paid 0")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        looking_away(WORDS, BASE, [], ("a", "b"))
    with pytest.raises(ValueError, match=r"came \(3,\), expected \(2,\)"):
        looking_away(WORDS[:2], BASE, STEPS, ("a", "b"))
