"""Label, teacher and two heads: bars and loss as PyTorch has them, by key and finger; its size."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from browser import Reader

from deepdive.training.objectives import hard_distillation, soft_cross_entropy
from deepdive_book.ch06b.figures.distillation_heads import (
    BAR,
    TEMPERATURES,
    Opinion,
    distillation_heads,
)
from deepdive_book.kit.markup import Html

NAMES = ("boot", "<bag>", "shirt")
DRAW = np.random.default_rng(0)
IMAGES = [
    Opinion(f"image {k}", DRAW.integers(0, 256, (8, 8)).astype(np.uint8), k,
            *DRAW.normal(0, 2, (3, 3)).round(3))
    for k in (1, 2)
]  # fmt: skip


def picture() -> Html:
    return distillation_heads(IMAGES, NAMES)


def loss(image: Opinion, temperature: float) -> float:
    """The library's."""
    teacher, first, second = (
        torch.from_numpy(np.asarray(row))[None]
        for row in (image.teacher, image.label_head, image.taught_head)
    )
    label = torch.tensor([image.label])
    if not temperature:
        return float(hard_distillation((first, second), label, teacher))
    soft = soft_cross_entropy(second, teacher, temperature)
    return float(F.cross_entropy(first, label) + soft) / 2


def test_bars_and_loss_are_pytorchs(reader: Reader) -> None:
    page = reader.open(picture().html)
    told, slider = page.locator("[role=status]"), page.locator("input")
    for place, image in enumerate(IMAGES):
        page.locator("select").select_option(str(place))
        slider.focus()
        page.keyboard.press("Home")
        for step, temperature in enumerate(TEMPERATURES):
            assert slider.input_value() == str(step)
            words = told.inner_text()
            assert f"Label: {NAMES[image.label]}." in words
            assert f"Taught head: {NAMES[int(np.argmax(image.taught_head))]}." in words
            assert float(words.split("= ")[1]) == pytest.approx(loss(image, temperature), abs=6e-3)
            wide = page.locator(".op-column").nth(1).locator("rect")
            full = wide.evaluate_all("all => all.map(x => +x.getAttribute('width'))")
            logits = torch.from_numpy(np.asarray(image.teacher))
            expected = (logits / (temperature or 1e-3)).softmax(0)
            assert np.allclose(np.array(full) / BAR, expected, atol=1e-3)
            page.keyboard.press("ArrowRight")
    assert not reader.complaints


def test_the_button_goes_round(reader: Reader) -> None:
    page = reader.open(picture().html)
    for place in (1, 0):
        page.locator("button").click()
        assert f"Label: {NAMES[IMAGES[place].label]}." in page.locator("[role=status]").inner_text()


def test_python_and_the_script_tell_the_same(reader: Reader) -> None:
    page = reader.open(picture().html)
    told = page.locator("[role=status]")
    before = told.inner_text()
    page.locator("select").select_option("1")
    page.locator("select").select_option("0")
    assert told.inner_text() == before


def test_without_scripts_the_first_state_stands_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert dead.count('class="op-column"') == 4
    assert 'class="op-choose" hidden' in dead
    assert "answer hard" in dead.replace("&#x27;", "'")
    assert picture().html == picture().html
    assert repr(picture()).startswith("[opinions: Label: <bag>.")


def test_what_does_not_fit_is_refused() -> None:
    one = IMAGES[0]
    with pytest.raises(ValueError, match="expected at least one"):
        distillation_heads([], NAMES)
    with pytest.raises(ValueError, match=r"image 1: got \(3,\), expected \(2,\)"):
        distillation_heads(IMAGES, NAMES[:2])
    rest = one.teacher, one.label_head, one.taught_head
    with pytest.raises(ValueError, match="expected a byte square"):
        distillation_heads([Opinion("a", np.zeros((2, 3)), 0, *rest)], NAMES)
