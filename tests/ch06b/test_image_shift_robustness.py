"""The maps of moves show what the models said, by mouse, key and finger, and fit a phone."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from browser import Reader

from deepdive_book.ch06b.figures.image_shift_robustness import Moved, image_shift_robustness
from deepdive_book.kit.markup import Html

NAMES, REACH = ("boot", "<bag>", "shirt"), 2
DRAW = np.random.default_rng(0)
KINDS = (1, 2)


def said() -> Any:
    rows = DRAW.random((5, 5, 3))
    return rows / rows.sum(-1, keepdims=True)


IMAGES = [
    Moved(f"image {k}", DRAW.integers(0, 256, (8, 8)).astype(np.uint8), k,
          {"CNN": said(), "ViT": said()})
    for k in KINDS
]  # fmt: skip


def picture() -> Html:
    return image_shift_robustness(IMAGES, NAMES, reach=REACH)


def expected(image: Moved, down: int, across: int) -> list[str]:
    found = []
    for model, rows in image.says.items():
        row = rows[down + REACH][across + REACH]
        verdict = "right" if row.argmax() == image.kind else "wrong"
        found.append(f"{model} says {NAMES[row.argmax()]}, {verdict}")
    return found


def test_each_move_tells_what_each_model_said(reader: Reader) -> None:
    page = reader.open(picture().html)
    told, drawing = page.locator("[role=status]"), page.locator(".sh-all")
    for place, image in enumerate(IMAGES):
        page.locator("select").select_option(str(place))
        assert told.inner_text().startswith("Not moved.")
        drawing.focus()
        for key, down, across in (("ArrowDown", 1, 0), ("ArrowLeft", 1, -1), ("ArrowUp", 0, -1)):
            page.keyboard.press(key)
            for line in expected(image, down, across):
                assert line in told.inner_text()
        page.locator("button").click()
        assert all(line in told.inner_text() for line in expected(image, 0, 0))
        for m, rows in enumerate(image.says.values()):
            squares = page.locator(".sh-map").nth(m).locator("rect")
            full = squares.evaluate_all("all => all.map(x => +x.getAttribute('fill-opacity'))")[:25]
            assert np.allclose(full, rows[..., image.kind].ravel(), atol=6e-3)
            right = int((rows.argmax(-1) == image.kind).sum())
            share = page.locator(".sh-share").nth(m).text_content()
            assert share == f"right at {right} of 25"
            crosses = page.locator(".sh-crosses").nth(m).get_attribute("d") or ""
            assert crosses.count("M") == 2 * (25 - right)
    assert not reader.complaints


def test_the_image_is_dragged_no_further_than_it_was_asked(reader: Reader) -> None:
    page = reader.open(picture().html)
    box = page.locator(".sh-frame").bounding_box()
    assert box
    x, y, pixel = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, box["width"] / 8
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + pixel, y - pixel)
    told = page.locator("[role=status]")
    assert told.inner_text().startswith("Moved 1 up and 1 to the right.")
    page.mouse.move(x + 5 * pixel, y)
    assert told.inner_text().startswith("Moved 2 to the right.")
    page.mouse.up()
    page.mouse.move(x, y)
    assert told.inner_text().startswith("Moved 2 to the right.")


def test_a_press_on_a_square_moves_the_image_there(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator(".sh-map").nth(1).locator("rect").nth(5 * 3).click()
    told = page.locator("[role=status]")
    assert told.inner_text().startswith("Moved 1 down and 2 to the left.")
    assert all(line in told.inner_text() for line in expected(IMAGES[0], 1, -2))


def test_without_scripts_the_first_state_stands_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert dead.count('class="sh-map"') == 2
    assert 'class="sh-choose" hidden' in dead
    assert "Not moved. CNN says" in dead
    assert picture().html == picture().html
    assert repr(picture()).startswith("[shifts: Not moved.")


def test_what_does_not_fit_is_refused() -> None:
    one = IMAGES[0]
    with pytest.raises(ValueError, match="expected one image or more, of two"):
        image_shift_robustness([], NAMES, reach=REACH)
    with pytest.raises(ValueError, match=r"image 1, CNN: got \(5, 5, 3\), expected \(3, 3, 3\)"):
        image_shift_robustness(IMAGES, NAMES, reach=1)
    with pytest.raises(ValueError, match="expected a byte square"):
        image_shift_robustness([Moved("a", one.pixels / 255, 0, one.says)], NAMES, reach=REACH)
