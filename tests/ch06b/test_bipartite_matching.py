"""Dragged boxes have the library's matching costs and matching, by mouse and keyboard."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import torch
from browser import Reader

from deepdive.training.objectives.set_prediction import Truth, costs, hungarian
from deepdive_book.ch06b.figures.bipartite_matching import (
    COLORS,
    PALE,
    bipartite_matching,
    min_cost_assignment,
)
from deepdive_book.ch06b.runs.detr import truths
from deepdive_book.data.scenes import generated_scenes
from deepdive_book.kit.markup import Html

SCENES = generated_scenes(30, most=3, seed=3)
AT = next(n for n in range(30) if len(SCENES.things[n]) == 3)
DRAW = torch.Generator().manual_seed(0)
LOGITS = 2 * torch.randn(6, 5, generator=DRAW)
BOXES = 0.25 + 0.4 * torch.rand(6, 4, generator=DRAW)
FAR, SURE = torch.rand(20, 6, 4, generator=DRAW), torch.rand(20, 6, generator=DRAW)


def picture() -> Html:
    truth = truths(SCENES)[AT]
    return bipartite_matching(SCENES.pixels[AT], SCENES.names, truth, LOGITS, BOXES, FAR, SURE)


def state(page: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page.locator(".ddm").get_attribute("data-state"))
    return found


def holds(page: Any) -> None:
    """Costs, matching and sum are the library's for the boxes as they are now."""
    now = state(page)
    truth = truths(SCENES)[AT]
    expected = costs(LOGITS, torch.tensor(now["places"]), truth)
    assert torch.allclose(torch.tensor(now["cost"]), expected, atol=2e-3)
    queries, things = hungarian(torch.tensor(now["cost"]))
    assert [now["pairs"][j] for j in things.tolist()] == queries.tolist()
    assert abs(now["total"] - expected[queries, things].sum().item()) < 5e-3


def test_what_is_shown_is_what_the_library_says(reader: Reader) -> None:
    page = reader.open(picture().html)
    holds(page)
    first = state(page)
    box = page.locator(".ddm-box").nth(first["pairs"][0])
    box.focus()
    for key in ("ArrowRight", "ArrowDown", "Shift+ArrowRight", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
        holds(page)
    assert state(page)["places"] != first["places"]
    page.get_by_text("Reset").click()
    assert state(page) == first
    assert not reader.complaints


def test_a_box_is_dragged_and_in_order_is_in_order(reader: Reader) -> None:
    page = reader.open(picture().html)
    frame = page.locator(".ddm-box rect").nth(5).bounding_box()
    x, y = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 20, y + 12, steps=4)
    page.mouse.up()
    moved = (torch.tensor(state(page)["places"]) - BOXES).abs().amax(1) > 1e-3
    assert moved.sum() == 1, "the box on top, wherever others lie"
    holds(page)
    page.get_by_label("in order listed").check()
    assert state(page)["pairs"] == [0, 1, 2]
    assert page.locator(".ddm-match").count() == 3


def test_a_pressed_query_shows_its_other_boxes(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator(".ddm-q").nth(3).click()
    dots = page.locator(".ddm-cloud circle").evaluate_all(
        "all => all.map(x => [+x.getAttribute('cx') / 180, x.getAttribute('fill')])"
    )
    for (x, fill), box, sure in zip(dots, FAR[:, 3], SURE[:, 3], strict=True):
        assert abs(x - box[0]) < 1e-3
        assert fill == (COLORS[3] if round(sure.item(), 2) >= 0.5 else PALE)
    assert "Query 4" in page.locator(".ddm-far").inner_text()


def test_without_scripts_the_first_state_stands_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert dead.count('class="ddm-cell ddm-match"') == 3
    assert "the least of all matchings" in dead
    assert 'class="ddm-controls" hidden' in dead
    assert picture().html == picture().html
    cost = [[1.0, 2], [2, 9], [6, 5]]
    assert min_cost_assignment(cost) == [1, 0]


def test_queries_keep_the_numbers_of_the_model(reader: Reader) -> None:
    truth, numbers = truths(SCENES)[AT], (3, 5, 8, 9, 12, 16)
    shown = bipartite_matching(
        SCENES.pixels[AT], SCENES.names, truth, LOGITS, BOXES, FAR, SURE, numbers
    )
    page = reader.open(shown.html)
    page.locator(".ddm-q").nth(5).click()
    assert page.locator(".ddm-q").nth(5).inner_text().strip().startswith("16:")
    assert "Query 16" in page.locator(".ddm-far").inner_text()
    with pytest.raises(ValueError, match="numbers: got 2, expected 6"):
        bipartite_matching(
            SCENES.pixels[AT], SCENES.names, truth, LOGITS, BOXES, FAR, SURE, numbers[:2]
        )


def test_what_it_cannot_show_is_refused() -> None:
    truth, scene = truths(SCENES)[AT], SCENES.pixels[AT]
    with pytest.raises(ValueError, match="2 queries, 3 objects"):
        bipartite_matching(
            scene, SCENES.names, truth, LOGITS[:2], BOXES[:2], FAR[:, :2], SURE[:, :2]
        )
    empty = Truth(truth.classes[:0], truth.boxes[:0])
    with pytest.raises(ValueError, match="0 objects"):
        bipartite_matching(scene, SCENES.names, empty, LOGITS, BOXES, FAR, SURE)
    with pytest.raises(ValueError, match="expected 6 queries"):
        bipartite_matching(scene, SCENES.names, truth, LOGITS, BOXES, FAR[:, :5], SURE)
