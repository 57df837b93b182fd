"""Two clouds of sentences: what is nearest, as the vectors have it, by key and finger."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import torch
from browser import Reader

from deepdive_book.ch04.figures.embedding_alignment import alt_text, embedding_alignment
from deepdive_book.kit.markup import Html

ONE, OTHER = ["a cat .", "a dog .", "it is <late> ."], ["α χατ .", "α δογ .", "ιτ ισ λατε ."]
FAR = torch.tensor([-9.0, 0.0, 0.0])
POINTS = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, -1.0, 0.2]])
STEPS = {0: (POINTS, POINTS.flip(0)), 1500: (POINTS, POINTS + FAR)}


def picture() -> Html:
    return embedding_alignment(ONE, OTHER, STEPS)


def spec_of(html: str) -> dict[str, Any]:
    given = re.search(r"\)\((\{.*\})\)</script>", html)
    assert given is not None
    values: dict[str, Any] = json.loads(json.loads(given[1])["values"])
    return values


def test_what_is_nearest_is_what_the_vectors_say() -> None:
    spec = spec_of(embedding_alignment(ONE, OTHER, STEPS).html)
    (at_first, first_off), (at_last, last_off) = spec["frames"]
    assert at_first["near"][0] == [2, 1, 0]
    assert at_first["right"] == first_off["right"] == 1
    assert at_last["near"][0] != [0, 1, 2]  # a cat is at (-8, 0, 0) in Greek
    assert last_off["near"] == [[0, 1, 2], [0, 1, 2]]
    assert last_off["at"][0] == last_off["at"][1]
    assert "Step 1,500, means off: for 3 of 3" in alt_text(spec, 1, 1, 0)
    assert "“a cat .” has “α χατ .”, its translation." in alt_text(spec, 1, 1, 0)


def test_the_reader_moves_it(reader: Reader) -> None:
    html = embedding_alignment(ONE, OTHER, STEPS).html
    spec, page = spec_of(html), reader.open(html)
    status, slider = page.locator("[role=status]"), page.locator("input[type=range]")
    assert status.inner_text() == alt_text(spec, 1, 0, 0)
    page.locator("input[type=checkbox]").check()
    assert status.inner_text() == alt_text(spec, 1, 1, 0)
    slider.focus()
    slider.press("ArrowLeft")
    assert status.inner_text() == alt_text(spec, 0, 1, 0)
    page.locator("select").select_option("2")
    assert status.inner_text() == alt_text(spec, 0, 1, 2)
    x, y = spec["frames"][0][1]["at"][0][1]
    box = page.locator("svg").bounding_box()
    assert box is not None
    scale = box["width"] / 300
    page.mouse.click(box["x"] + x * scale, box["y"] + y * scale)
    assert status.inner_text() == alt_text(spec, 0, 1, 1)
    assert not reader.complaints


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="steps: got none"):
        embedding_alignment(ONE, OTHER, {})
    with pytest.raises(ValueError, match=r"have \[2, 3\] sentences"):
        embedding_alignment(ONE, OTHER[:2], STEPS)
