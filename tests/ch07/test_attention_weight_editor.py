"""Attention weights that a reader moves: logits and divergences are the library's."""

from __future__ import annotations

import re

import pytest
import torch
from browser import Reader

from deepdive.explain.attention_weights.alternatives import jsd
from deepdive.models.interpretable.attention_classifier import attentive
from deepdive_book.ch07.figures.attention_weight_editor import (
    Weighted,
    attention_weight_editor,
    contributions,
    logit,
    probability,
)
from deepdive_book.ch07.runs.attention_debate import Part, run_model
from deepdive_book.kit.markup import Html

WORDS = ("the", "<music>", "is", "cold")
TEXTS = [
    Weighted("short", WORDS, torch.tensor([0.5, -1.0, 0.3, -4.0]), 0.5,
             torch.tensor([0.1, 0.2, 0.0, 0.7]), torch.tensor([0.0, 0.1, 0.6, 0.3]),
             torch.tensor([0.2, 0.1, 0.0, 0.7])),
    Weighted("shorter", WORDS[:2], torch.tensor([3.0, -1.0]), 0.0,
             torch.tensor([0.5, 0.5]), torch.tensor([0.9, 0.1]), torch.tensor([0.4, 0.6])),
]  # fmt: skip


def picture() -> Html:
    return attention_weight_editor(TEXTS, ("negative", "positive"))


def numbers(words: str) -> list[float]:
    return [float(found) for found in re.findall(r"-?\d+\.\d+", words)]


def test_contributions_sum_to_the_models_prediction() -> None:
    torch.manual_seed(0)
    model = attentive(12, 2, 6, 5).eval()
    tokens = torch.tensor([[3, 1, 4, 1, 5, 9]])
    seen = run_model(model, Part(tokens, torch.zeros(1, dtype=torch.long)))
    own = seen.weights[0]
    with torch.no_grad():
        each, bias = contributions(seen.states[0], model.classify.weight, model.classify.bias)
    text = Weighted("a", "abcdef", each, bias, own, own, own)
    assert probability(text, own) == pytest.approx(float(seen.shares[0, 1]), abs=1e-6)


def test_the_status_line_has_the_librarys_numbers(reader: Reader) -> None:
    page = reader.open(picture().html)
    status = page.locator("[role=status]")
    for i, text in enumerate(TEXTS):
        page.locator("select").select_option(index=i)
        uniform = torch.full((len(text.words),), 1 / len(text.words))
        for button, weights in enumerate(
            (text.weights, uniform, text.adversarial, text.adversarial_logit)
        ):
            page.locator("button").nth(button).click()
            now, z, own, own_z, divergence, most = numbers(status.inner_text())
            assert now == pytest.approx(probability(text, weights), abs=6e-4)
            assert z == pytest.approx(logit(text, weights), abs=6e-3)
            assert own == pytest.approx(probability(text, text.weights), abs=6e-4)
            assert own_z == pytest.approx(logit(text, text.weights), abs=6e-3)
            assert divergence == pytest.approx(float(jsd(weights, text.weights)), abs=6e-3)
            assert most == 0.69
        assert page.locator(".weights-row:visible").count() == len(text.words)
    assert not reader.complaints


def test_a_slider_moves_by_key(reader: Reader) -> None:
    page = reader.open(picture().html)
    slider = page.locator("input").nth(3)
    slider.focus()
    page.keyboard.press("Home")
    rest = torch.tensor([0.1, 0.2, 0.0, 0.0]) / 0.3
    now = numbers(page.locator("[role=status]").inner_text())[0]
    assert now == pytest.approx(probability(TEXTS[0], rest), abs=6e-4)
    assert slider.get_attribute("aria-label") == "weight of cold"
    assert page.locator(".weights-row").nth(1).locator("> span").nth(2).inner_text() == "67%"


def test_texts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        attention_weight_editor([], ("a", "b"))
    with pytest.raises(ValueError, match=r"short: adversarial got \(2,\)"):
        attention_weight_editor([TEXTS[0]._replace(adversarial=torch.ones(2))], ("a", "b"))
