"""Weights that a reader moves: answer and distances are the library's, by key and finger."""

from __future__ import annotations

import re

import pytest
import torch
from browser import Reader

from deepdive.explain.attention_weights.alternatives import jsd
from deepdive.models.interpretable.attention_classifier import attentive
from deepdive_book.ch07.figures.attention_weight_editor import (
    Weighed,
    answer,
    attention_weight_editor,
    votes,
)
from deepdive_book.ch07.runs.attention_debate import Part, run_model
from deepdive_book.kit.markup import Html

WORDS = ("the", "<music>", "is", "cold")
TEXTS = [
    Weighed("short", WORDS, torch.tensor([0.5, -1.0, 0.3, -4.0]), 0.5,
            torch.tensor([0.1, 0.2, 0.0, 0.7]), torch.tensor([0.0, 0.1, 0.6, 0.3])),
    Weighed("shorter", WORDS[:2], torch.tensor([3.0, -1.0]), 0.0,
            torch.tensor([0.5, 0.5]), torch.tensor([0.9, 0.1])),
]  # fmt: skip


def picture() -> Html:
    return attention_weight_editor(TEXTS, ("negative", "positive"))


def numbers(words: str) -> list[float]:
    return [float(found) for found in re.findall(r"\d\.\d\d", words)]


def test_votes_are_the_models_answer() -> None:
    torch.manual_seed(0)
    model = attentive(12, 2, 6, 5).eval()
    tokens = torch.tensor([[3, 1, 4, 1, 5, 9]])
    seen = run_model(model, Part(tokens, torch.zeros(1, dtype=torch.long)))
    with torch.no_grad():
        each, bias = votes(seen.states[0], model.classify.weight, model.classify.bias)
    text = Weighed("a", "abcdef", each, bias, seen.weights[0], seen.weights[0])
    assert answer(text, seen.weights[0]) == pytest.approx(float(seen.shares[0, 1]), abs=1e-6)


def test_what_is_told_is_the_librarys(reader: Reader) -> None:
    page = reader.open(picture().html)
    told = page.locator("[role=status]")
    for place, text in enumerate(TEXTS):
        page.locator("select").select_option(index=(place))
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
        assert page.locator(".weights-row:visible").count() == len(text.words)
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
    assert page.locator(".weights-row").nth(1).locator("> span").nth(2).inner_text() == "67 %"


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        attention_weight_editor([], ("a", "b"))
    with pytest.raises(ValueError, match=r"short: found got \(2,\)"):
        attention_weight_editor([TEXTS[0]._replace(found=torch.ones(2))], ("a", "b"))
