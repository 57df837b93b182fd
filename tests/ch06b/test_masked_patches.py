"""The picture whose patches are hidden: its model against PyTorch, by mouse and key, its size."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
import torch
from browser import DESK, PHONE, Reader, Size
from playwright.sync_api import Page

from deepdive.models.vision.mae import TINY, Mae, mae
from deepdive_book.ch06b.figures.masked_patches import masked_patches, rounded
from deepdive_book.kit.markup import Html

HIDDEN = [place % 3 != 0 for place in range(16)]
DRAW = np.random.default_rng(0)
IMAGES = [(name, DRAW.integers(0, 256, (8, 8), dtype=np.uint8)) for name in ("a <boot>", "a bag")]


def small() -> Mae:
    torch.manual_seed(0)
    model = mae(TINY, normalized=False)
    with torch.no_grad():
        for number in model.parameters():
            number.add_(0.1 * torch.randn_like(number))
    return rounded(model)


def picture() -> Html:
    return masked_patches(small(), IMAGES, HIDDEN)


def state(page: Page) -> dict[str, Any]:
    return dict(json.loads(str(page.locator(".hp").get_attribute("data-state"))))


def said(image: int, hidden: list[bool]) -> torch.Tensor:
    x = torch.from_numpy(IMAGES[image][1].copy()).float()[None, None] / 127.5 - 1
    with torch.no_grad():
        return small()(x, torch.tensor([hidden]))[0]


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_says_what_pytorch_says(reader: Reader, size: Size) -> None:
    page = reader.open(picture().html, size)
    assert not reader.complaints
    now = state(page)
    assert now["hidden"] == HIDDEN
    assert torch.allclose(torch.tensor(now["said"]), said(0, HIDDEN), atol=1e-4)
    page.locator("select").select_option("1")
    page.locator(".hp-grid button").nth(1).click()
    seen = [hidden and place != 1 for place, hidden in enumerate(HIDDEN)]
    assert state(page)["hidden"] == seen
    assert torch.allclose(torch.tensor(state(page)["said"]), said(1, seen), atol=1e-4)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_all_by_keyboard_and_by_lot(reader: Reader) -> None:
    page = reader.open(picture().html, DESK)
    assert not reader.complaints
    page.locator(".hp-grid button").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    assert state(page)["hidden"][5] is not HIDDEN[5]
    for lot, count in enumerate((4, 8, 12, 14)):
        page.locator(".hp-lots button").nth(lot).click()
        assert sum(state(page)["hidden"]) == count
        assert f"{count} of 16 patches hidden" in page.locator(".hp-told").inner_text()


def test_one_patch_stays(reader: Reader) -> None:
    page = reader.open(picture().html, DESK)
    assert not reader.complaints
    for place in range(16):
        if not state(page)["hidden"][place]:
            page.locator(".hp-grid button").nth(place).click()
    assert sum(state(page)["hidden"]) == 15


def test_without_scripts_the_first_state_stands_there() -> None:
    html = picture()
    assert "the model sees" in html.html
    assert "a &lt;boot&gt;" in html.html
    assert re.search(r"10 of 16 patches hidden. Loss over them: \d", html.plain)
    assert len(html.pictures) == 1


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"normalized": True}, "pixels as they are"),
        ({"channels": 3}, "grey images"),
        ({"d_model": 512, "d_ff": 2048}, "give a smaller model"),
    ],
)
def test_what_it_cannot_show_is_refused(change: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        masked_patches(mae(TINY, **{"normalized": False, **change}), IMAGES, HIDDEN)


def test_sizes_that_do_not_fit_are_refused() -> None:
    for images, hidden, fault in (
        (IMAGES, HIDDEN[:9], "expected 16 patches"),
        (IMAGES, [True] * 16, "some of them hidden and some not"),
        ([("a boot", np.zeros((8, 9), dtype=np.uint8))], HIDDEN, "a byte square of 8 pixels"),
    ):
        with pytest.raises(ValueError, match=fault):
            masked_patches(small(), images, hidden)
