"""The arrow among codes: shares and loss are the library's, by slider and key."""

from __future__ import annotations

import math

import pytest
import torch
from browser import Reader

from deepdive.training.objectives import contrastive_loss
from deepdive_book.ch06c.figures.contrastive_loss_demo import (
    alt_text,
    contrastive_loss_demo,
    shares,
)
from deepdive_book.kit.markup import Html

CODES = [40, 100, 190, 290]


def picture() -> Html:
    return contrastive_loss_demo(CODES, said=70)


def on_circle(degrees: list[int]) -> torch.Tensor:
    turn = torch.tensor(degrees).double().deg2rad()
    return torch.stack([turn.cos(), turn.sin()], -1)[None]


def test_the_loss_is_the_library_s() -> None:
    target, hidden = on_circle(CODES), torch.tensor([[True, False, False, False]])
    wrong = torch.tensor([1, 2, 3]).expand(1, 4, 3)
    for said, temperature in ((70, 0.5), (200, 0.1), (40, 1.0)):
        loss = contrastive_loss(on_circle([said] * 4), target, hidden, wrong, temperature)
        assert -math.log(shares(CODES, said, temperature)[0]) == pytest.approx(loss.item())


def test_what_is_drawn_follows_the_sliders(reader: Reader) -> None:
    page = reader.open(picture().html)
    said = page.locator(".living-status")
    assert said.inner_text() == alt_text(CODES, 70, 0.5)
    for turn, ten in ((200, 1), (0, 10), (40, 3)):
        page.locator("[data-control=angle]").fill(str(turn))
        page.locator("[data-control=tenths]").fill(str(ten))
        assert said.inner_text() == alt_text(CODES, turn, ten / 10)
        wide = page.locator(".code-bar").evaluate_all(
            "all => all.map(x => +x.getAttribute('width'))"
        )
        expected = [116 * share for share in shares(CODES, turn, ten / 10)]
        assert wide == pytest.approx(expected, abs=1e-6)
    page.locator("[data-control=angle]").press("ArrowRight")
    assert said.inner_text().startswith("The arrow points to 41 degrees")
    assert not reader.complaints


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="codes: got 1, expected two to six"):
        contrastive_loss_demo([3], said=0)
    with pytest.raises(ValueError, match=r"temperature: got 0\.05"):
        contrastive_loss_demo(CODES, said=0, temperature=0.05)
