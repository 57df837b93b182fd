"""Weights that a reader moves: answer and distances are the library's, by key and finger."""

from __future__ import annotations

import re

import pytest
import torch
from browser import DESK, PHONE, Reader, Size

from deepdive.explain.attention_weights.alternatives import jsd
from deepdive.models.explained.attentive import attentive
from deepdive.page.markup import Html
from deepdive.page.other_weights import Weighed, answer, other_weights, votes
from deepdive.page.runs.debate import Part, look

WORDS = ("the", "<music>", "is", "cold")
TEXTS = [
    Weighed("short", WORDS, torch.tensor([0.5, -1.0, 0.25, -4.0]), 0.5,
            torch.tensor([0.1, 0.2, 0.0, 0.7]), torch.tensor([0.0, 0.1, 0.6, 0.3])),
    Weighed("shorter", WORDS[:2], torch.tensor([3.0, -1.0]), 0.0,
            torch.tensor([0.5, 0.5]), torch.tensor([0.9, 0.1])),
]  # fmt: skip


def picture() -> Html:
    return other_weights(TEXTS, ("negative", "positive"))


def numbers(words: str) -> list[float]:
    return [float(found) for found in re.findall(r"\d\.\d\d", words)]


def test_votes_are_the_models_answer() -> None:
    torch.manual_seed(0)
    model = attentive(12, 2, 6, 5).eval()
    tokens = torch.tensor([[3, 1, 4, 1, 5, 9]])
    seen = look(model, Part(tokens, torch.zeros(1, dtype=torch.long)))
    with torch.no_grad():
        each, bias = votes(seen.states[0], model.classify.weight, model.classify.bias)
    text = Weighed("a", "abcdef", each, bias, seen.weights[0], seen.weights[0])
    assert answer(text, seen.weights[0]) == pytest.approx(float(seen.shares[0, 1]), abs=1e-6)


def test_what_is_told_is_the_librarys(reader: Reader) -> None:
    page = reader.open(picture().html)
    told = page.locator("[role=status]")
    for place, text in enumerate(TEXTS):
        page.locator("select").select_option(str(place))
        even = torch.full((len(text.words),), 1 / len(text.words))
        for button, weights in enumerate((text.weights, even, text.found)):
            page.locator("button").nth(button).click()
            now, own, moved, apart, most = numbers(told.inner_text())
            assert now == pytest.approx(answer(text, weights), abs=6e-3)
            assert own == pytest.approx(answer(text, text.weights), abs=6e-3)
            assert moved == pytest.approx(
                abs(answer(text, weights) - answer(text, text.weights)), abs=6e-3
            )
            assert apart == pytest.approx(float(jsd(weights, text.weights)), abs=6e-3)
            assert most == 0.69
        assert page.locator(".ow-row:visible").count() == len(text.words) + 1
    assert not reader.complaints


def test_a_slider_moves_by_key(reader: Reader) -> None:
    page = reader.open(picture().html)
    slider = page.locator("input").nth(3)
    slider.focus()
    page.keyboard.press("Home")
    left = torch.tensor([0.1, 0.2, 0.0, 0.0]) / 0.3
    now = numbers(page.locator("[role=status]").inner_text())[0]
    assert now == pytest.approx(answer(TEXTS[0], left), abs=6e-3)
    assert slider.get_attribute("aria-label") == "weight of cold"
    assert page.locator(".ow-share").nth(1).inner_text() == "67 %"


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits(reader: Reader, size: Size) -> None:
    page = reader.open(picture().html, size)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_scripts_the_own_weights_stand_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert 'class="ow-choose" hidden' in dead
    assert "70 %" in dead
    assert "&lt;music&gt;" in dead
    assert "moved by 0.00" in dead
    assert picture().html == picture().html
    assert repr(picture()).startswith("[weights to move: the 10%")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        other_weights([], ("a", "b"))
    with pytest.raises(ValueError, match=r"short: found came \(2,\)"):
        other_weights([TEXTS[0]._replace(found=torch.ones(2))], ("a", "b"))
