"""The arrow among codes: shares and loss are the library's, by slider and key; it fits a phone."""

from __future__ import annotations

import math
import re

import pytest
import torch
from browser import DESK, PHONE, Reader, Size

from deepdive.page.find_code import find_code, shares, told
from deepdive.training.objectives import contrastive_loss

CODES = [40, 100, 190, 290]


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
    page = reader.open(find_code(CODES, said=70).html)
    said = page.locator(".fc-told")
    assert said.inner_text() == told(CODES, 70, 0.5)
    for turn, ten in ((200, 1), (0, 10), (40, 3)):
        page.locator(".fc-arrow").fill(str(turn))
        page.locator(".fc-ten").fill(str(ten))
        assert said.inner_text() == told(CODES, turn, ten / 10)
        wide = page.locator(".fc-bar").evaluate_all("all => all.map(x => +x.getAttribute('width'))")
        expected = [116 * share for share in shares(CODES, turn, ten / 10)]
        assert wide == pytest.approx(expected, abs=1e-6)
    page.locator(".fc-arrow").press("ArrowRight")
    assert said.inner_text().startswith("The arrow points to 41 degrees")
    assert not reader.complaints


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits_and_its_words_can_be_read(reader: Reader, size: Size) -> None:
    page = reader.open(find_code(CODES, said=70).html, size)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for word in page.locator(".fc-drawn text").all():
        box = word.bounding_box()
        assert box
        assert box["height"] >= 11


def test_without_scripts_the_first_state_stands_there() -> None:
    picture = find_code(CODES, said=70)
    dead = re.sub(r"<script>.*?</script>", "", picture.html, flags=re.DOTALL)
    assert 'class="fc-turn" hidden' in dead
    assert told(CODES, 70, 0.5).replace("'", "&#x27;") in dead
    assert repr(picture) == f"[an arrow to turn: {told(CODES, 70, 0.5)}]"


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="codes: came 1, expected two to six"):
        find_code([3], said=0)
    with pytest.raises(ValueError, match=r"temperature: came 0\.05"):
        find_code(CODES, said=0, temperature=0.05)
