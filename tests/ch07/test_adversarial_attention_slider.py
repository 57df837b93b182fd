"""What a slider shows of models that learned to look elsewhere: the numbers given, by key."""

from __future__ import annotations

import pytest
import torch
from browser import Reader

from deepdive_book.ch07.figures.adversarial_attention_slider import (
    AdversarialModel,
    adversarial_attention_slider,
)
from deepdive_book.kit.markup import Html

WORDS = ("the", "<music>", "cold")
BASE = torch.tensor([0.0, 0.1, 0.9])
STEPS = [
    AdversarialModel(
        0.0, torch.tensor([0.0, 0.2, 0.8]), torch.tensor([0.0, 0.1, 0.7]), 0.02, 0.01, 0.03
    ),
    AdversarialModel(
        0.05, torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 0.2, 0.6]), 0.03, 0.66, 0.04
    ),
]


def picture() -> Html:
    return adversarial_attention_slider(WORDS, BASE, STEPS, ("negative", "positive"))


def test_each_step_shows_its_numbers(reader: Reader) -> None:
    page = reader.open(picture().html)
    slider = page.locator("input")
    slider.focus()
    for key, step in (("Home", STEPS[0]), ("ArrowRight", STEPS[1])):
        page.keyboard.press(key)
        bars = page.locator(".away-bar span:last-child").all_inner_texts()
        wanted = torch.stack([BASE, step.weights, step.left_out], 1).flatten()
        assert [int(b) for b in bars] == [round(100 * w) for w in wanted.tolist()]
        told = page.locator("[role=status]").inner_text()
        assert told.startswith(f"Paid {step.far:g} for looking elsewhere. It says positive")
        assert f"{step.apart:.2f} from the base's" in told
        assert page.locator("output").inner_text() == f"{step.far:g}"
    assert not reader.complaints


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        adversarial_attention_slider(WORDS, BASE, [], ("a", "b"))
    with pytest.raises(ValueError, match=r"got \(3,\), expected \(2,\)"):
        adversarial_attention_slider(WORDS[:2], BASE, STEPS, ("a", "b"))
