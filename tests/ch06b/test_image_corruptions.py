"""What the models said of a spoiled image is shown, by mouse, key and finger, and fits a phone."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from browser import Reader

from deepdive_book.ch06b.figures.image_corruptions import Spoiled, corruption_slider
from deepdive_book.kit.markup import Html

NAMES = ("boot", "<bag>", "shirt")
WAYS = {"cover": ["none covered", "two covered", "four covered"], "move": ["not moved", "by one"]}
DRAWS = {"cover": 2, "move": 3}
DRAW = np.random.default_rng(0)


def said(way: str) -> Any:
    rows = DRAW.random((DRAWS[way], len(WAYS[way]), 3))
    return rows / rows.sum(-1, keepdims=True)


def pixels(way: str) -> Any:
    return DRAW.integers(0, 256, (DRAWS[way], len(WAYS[way]), 8, 8)).astype(np.uint8)


IMAGES = [
    Spoiled(f"image {k}", k, {way: pixels(way) for way in WAYS},
            {model: {way: said(way) for way in WAYS} for model in ("CNN", "ViT")})
    for k in (1, 2)
]  # fmt: skip


def picture() -> Html:
    return corruption_slider(IMAGES, NAMES, WAYS, level=1)


def expected(image: Spoiled, way: str, draw: int, level: int) -> list[str]:
    found = [f"{WAYS[way][level]}."]
    for model, says in image.says.items():
        row = says[way][draw, level]
        verdict = "right" if row.argmax() == image.kind else "wrong"
        found.append(f"{model} says {NAMES[row.argmax()]}, {verdict}")
    return found


def test_each_state_tells_what_each_model_said(reader: Reader) -> None:
    page = reader.open(picture().html)
    told, slider = page.locator("[role=status]"), page.locator("input[type=range]")
    assert all(line in told.inner_text() for line in expected(IMAGES[0], "cover", 0, 1))
    for place, image in enumerate(IMAGES):
        page.locator("select").select_option(str(place))
        for w, way in enumerate(WAYS):
            page.locator("input[type=radio]").nth(w).check()
            slider.focus()
            page.keyboard.press("Home")
            for level in range(len(WAYS[way])):
                for draw in range(DRAWS[way]):
                    for line in expected(image, way, draw, level):
                        assert line in told.inner_text()
                    view = page.locator(".sp-frame").get_attribute("viewBox")
                    assert view == f"{8 * level} {8 * draw} 8 8"
                    page.locator("button").click()
                slider.focus()
                page.keyboard.press("ArrowRight")
            for m, rows in enumerate(image.says.values()):
                squares = page.locator(".sp-cells").nth(m).locator("rect")
                full = squares.evaluate_all("all => all.map(x => +x.getAttribute('fill-opacity'))")
                kept = rows[way][..., image.kind].ravel()
                assert np.allclose(full[: kept.size], kept, atol=6e-3)
                right = int((rows[way].argmax(-1) == image.kind).sum())
                share = page.locator(".sp-share").nth(m).text_content()
                assert share == f"right in {right} of {kept.size}"
                wrong = page.locator(".sp-cells").nth(m).locator("path").count()
                assert wrong == kept.size - right
    assert not reader.complaints


def test_a_press_on_a_square_goes_there(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator(".sp-says").nth(1).click()  # not a square
    box = page.locator(".sp-cells").nth(1).bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] * 5 / 6, box["y"] + box["height"] * 3 / 4)
    told = page.locator("[role=status]").inner_text()
    assert all(line in told for line in expected(IMAGES[0], "cover", 1, 2))


def test_without_scripts_the_first_state_stands_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert dead.count('class="sp-map"') == 2
    assert dead.count('class="sp-row" hidden') == 2
    assert "two covered. CNN says" in dead
    assert picture().html == picture().html
    assert repr(picture()).startswith("[spoil: two covered.")


def test_what_does_not_fit_is_refused() -> None:
    one = IMAGES[0]
    with pytest.raises(ValueError, match="expected one image or more, of two"):
        corruption_slider([], NAMES, WAYS)
    with pytest.raises(ValueError, match="level: got 3"):
        corruption_slider(IMAGES, NAMES, WAYS, level=3)
    with pytest.raises(ValueError, match=r"image 1, cover: got \(2, 3, 8, 8\), expected bytes"):
        corruption_slider([one], NAMES, {"cover": ["none"]})
    with pytest.raises(ValueError, match=r"image 1, CNN, cover: got \(2, 3, 3\)"):
        corruption_slider([one], NAMES[:2], WAYS)
