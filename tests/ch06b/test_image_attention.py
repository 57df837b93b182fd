"""Where a place looks: the weights over the image are the page's own, by finger, mouse and key."""

from __future__ import annotations

import re

import pytest
import torch
from browser import Reader

from deepdive_book.ch06b.figures.image_attention import alt_text, image_attention
from deepdive_book.kit.markup import Html

DRAW = torch.Generator().manual_seed(0)
IMAGES = {
    name: (torch.rand(8, 8, generator=DRAW), torch.rand(16, 16, generator=DRAW).softmax(-1))
    for name in ("one", "<two>")
}


def picture() -> Html:
    return image_attention(IMAGES, 4, at=5)


def test_weights_and_pixels_are_those_of_the_place_that_is_pressed(reader: Reader) -> None:
    page = reader.open(picture().html)
    for name, (image, weights) in IMAGES.items():
        page.locator(".lk-name").select_option(name)
        for at in (0, 6, 15):
            page.locator(".lk-place").nth(at).click()
            drawn = page.locator(".lk-place").evaluate_all(
                "all => all.map(x => +x.getAttribute('fill-opacity'))"
            )
            expected = 0.85 * weights[at] / weights[at].max()
            assert torch.allclose(torch.tensor(drawn), expected, atol=0.005)
            assert page.locator(".lk-said").inner_text() == alt_text(weights[at].numpy(), 4, at)
        shades = page.locator(".lk-dot").evaluate_all(
            "all => all.map(x => +x.getAttribute('fill').match(/\\d+/)[0])"
        )
        assert torch.allclose(torch.tensor(shades) / 255, image.flatten(), atol=0.003)
    assert not reader.complaints


def test_arrow_keys_move_the_place_and_stop_at_the_edge(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator(".lk-image").focus()
    said = page.locator(".lk-said")
    assert said.inner_text().startswith("The place in line 2, column 2 looks")
    moves = {"ArrowDown": "line 3, column 2", "ArrowLeft": "line 3, column 1",
             "ArrowUp": "line 2, column 1", "ArrowRight": "line 2, column 2"}  # fmt: skip
    for key, where in moves.items():
        page.keyboard.press(key)
        assert said.inner_text().startswith(f"The place in {where} looks")
    for _ in range(5):
        page.keyboard.press("ArrowUp")
    assert said.inner_text().startswith("The place in line 1, column 2 looks")


def test_without_scripts_the_first_state_stands_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert dead.count('class="lk-place"') == 16
    assert 'class="lk-choose" hidden' in dead
    assert "line 2, column 2" in dead
    assert picture().html == picture().html


def test_even_weights_are_called_even() -> None:
    assert "everywhere alike" in alt_text(torch.ones(16).numpy() / 16, 4, 0)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'a': expected an image \(H, W\) and weights \(9, 9\)"):
        image_attention({"a": (torch.zeros(4, 4), torch.ones(4, 4))}, 3)
    with pytest.raises(ValueError, match="images is empty"):
        image_attention({}, 3)
    with pytest.raises(ValueError, match="at is 9"):
        image_attention(IMAGES, 3, at=9)
