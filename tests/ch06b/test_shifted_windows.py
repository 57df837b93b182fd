"""Windows that shift: what the picture says is what a Swin's gradients say, in the browser too."""

from __future__ import annotations

import json

import pytest
import torch
from browser import PHONE, Reader
from parity_registry import perturb

from deepdive.models.vision.swin import swin
from deepdive_book.ch06b.figures.shifted_windows import (
    alt_text,
    border,
    pairs,
    receptive_field,
    shifted_windows,
)
from deepdive_book.kit.markup import Html


def picture() -> Html:
    return shifted_windows(12, 4, shift=2, layers=5, layer=3)


def by_gradient(shift: int, layers: int, start: int) -> list[bool]:
    """Which states of a Swin of 12 x 12 patches depend on one patch of the image."""
    torch.manual_seed(0)
    model = swin(
        image_size=12, patch_size=1, channels=1, d_model=8, depths=(layers,), heads=(2,), window=4,
        shift=lambda window: shift,
    ).double()  # fmt: skip
    perturb(model)
    image = torch.randn(1, 1, 12, 12, dtype=torch.float64)
    other = image.clone()
    other.view(-1)[start] += 1
    with torch.no_grad():
        return ((model(image) - model(other)).abs().amax(-1)[0] > 1e-12).tolist()


@pytest.mark.parametrize(
    ("shift", "layers", "start"), [(0, 3, 0), (1, 2, 0), (2, 3, 0), (3, 2, 78)]
)
def test_who_has_heard_is_who_depends(shift: int, layers: int, start: int) -> None:
    assert [at >= 0 for at in receptive_field(12, 4, shift, layers, start)] == by_gradient(
        shift, layers, start
    )


def test_pairs_by_hand() -> None:
    """Nine windows of 16; moved by 2, lines are cut into 2, 4, 4 and 2."""
    assert pairs(12, 4, 0) == 9 * 16**2 == 2304
    assert pairs(12, 4, 2) == (2**2 + 4**2 + 4**2 + 2**2) ** 2 == 1600
    assert "after" not in alt_text(12, 4, 2, 3)
    assert "64 of 144" in alt_text(12, 4, 2, 3)


def test_what_fills_no_windows_is_refused() -> None:
    for side, window, shift in ((12, 5, 2), (12, 4, 4), (12, 4, -1)):
        with pytest.raises(ValueError, match="expected whole windows"):
            shifted_windows(side, window, shift=shift, layers=3)


def test_the_plain_form_and_the_picture() -> None:
    shown = shifted_windows(12, 4, shift=2, layers=5, layer=3)
    assert "64 of 144" in repr(shown)
    assert border(12, 4, 0) in shown.html
    assert shown.pictures[0].alt


def test_the_browser_counts_the_same(reader: Reader) -> None:
    page = reader.open(shifted_windows(12, 4, shift=2, layers=5, layer=3).html, PHONE)

    def state() -> dict[str, object]:
        return json.loads(str(page.locator(".mt").get_attribute("data-state")))

    assert state()["when"] == receptive_field(12, 4, 2, 3)
    page.locator(".mt button").nth(1).click()
    page.locator(".mt input").fill("1")
    assert state()["when"] == receptive_field(12, 4, 1, 4)
    assert state()["pairs"] == pairs(12, 4, 1)
    assert page.locator(".mt p").text_content() == alt_text(12, 4, 1, 4)
    page.locator(".mt-middle").click()
    assert state()["when"] == receptive_field(12, 4, 1, 4, 78)
    page.locator(".mt-patch").nth(143).click()
    page.locator(".mt button").first.focus()
    page.keyboard.press("ArrowLeft")
    assert state()["when"] == receptive_field(12, 4, 1, 3, 143)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
