"""Attention as a graph: rollout and flow as the library has them, the narrowest cut, keys, size."""

from __future__ import annotations

import re

import pytest
import torch
from browser import DESK, PHONE, Reader, Size
from torch import Tensor

from deepdive.explain.attention_weights.flow import flow
from deepdive.explain.rollout import rollout
from deepdive.page.attention_graph import Reading, attention_graph
from deepdive.page.markup import Html

WORDS = (["[CLS]", "<old>", "key", "[SEP]"], ["[CLS]", "keys", "to", "keys", "[SEP]"])
DRAW = torch.Generator().manual_seed(1)
READINGS = [
    Reading(words, torch.randn(3, len(words), len(words), generator=DRAW).mul(2).softmax(-1))
    for words in WORDS
]


def picture() -> Html:
    return attention_graph(READINGS)


def heads(reading: Reading, layer: int) -> list[Tensor]:
    return [each[None, None] for each in reading.weights[:layer]]


def wanted(reading: Reading, method: str, layer: int, state: int) -> Tensor:
    if method == "raw":
        return torch.as_tensor(reading.weights[layer - 1, state])
    if method == "rollout":
        return rollout(heads(reading, layer))[-1, 0, state]
    return flow(heads(reading, layer), [state])[0]


@pytest.mark.parametrize("method", ["raw", "rollout", "flow"])
def test_shares_are_the_librarys(reader: Reader, method: str) -> None:
    page = reader.open(picture().html)
    for place, reading in enumerate(READINGS):
        page.locator(".ag-text").select_option(str(place))
        page.locator(".ag-method").select_option(method)
        for layer, state in ((3, 0), (2, 2), (1, 1)):
            page.locator(".ag-layer").select_option(str(layer))
            page.locator(".ag-state").select_option(str(state))
            shown = [int(text) for text in page.locator(".ag-share").all_text_contents()]
            assert shown == pytest.approx(
                (100 * wanted(reading, method, layer, state)).tolist(), abs=0.52
            )
    assert not reader.complaints


def test_the_narrowest_cut_is_as_wide_as_the_flow(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator(".ag-method").select_option("flow")
    for word in range(4):
        page.locator(".ag-word").select_option(str(word))
        largest = float(flow(heads(READINGS[0], 3), [0])[0, word])
        assert float(page.locator(".ag").get_attribute("data-value") or 0) == pytest.approx(
            largest, abs=1e-3
        )
        words = page.locator("[role=status]").inner_text()
        assert f"together {100 * largest:.0f} %" in words
        count = int(words.split("dashed, has ")[1].split()[0])
        assert 0 < page.locator(".ag-edges path[stroke-dasharray]").count() <= count


def test_a_state_is_chosen_by_finger_and_a_word_on_the_left(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator("circle[data-at='2,1']").click()
    assert page.locator(".ag-layer").input_value() == "2"
    assert page.locator("[role=status]").inner_text().startswith("In layer 2 <old> looks most at")
    page.locator(".ag-method").select_option("rollout")
    page.locator("circle[data-at='0,2']").click()
    assert "of key." in page.locator("[role=status]").inner_text()


def test_keys_move_the_choices(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator(".ag-layer").focus()
    page.keyboard.press("ArrowUp")
    assert page.locator("[role=status]").inner_text().startswith("In layer 2 [CLS] looks most at")


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits_and_its_words_can_be_read(reader: Reader, size: Size) -> None:
    page = reader.open(picture().html, size)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for word in page.locator("svg text").all():
        box = word.bounding_box()
        assert box
        assert box["height"] >= 11


def test_python_and_the_script_draw_the_same(reader: Reader) -> None:
    page = reader.open(picture().html)
    told, edges = page.locator("[role=status]"), page.locator(".ag-edges path")
    before = told.inner_text(), [e.get_attribute("d") for e in edges.all()]
    shares = page.locator(".ag-share").all_text_contents()
    page.locator(".ag-text").select_option("1")
    page.locator(".ag-text").select_option("0")
    assert (told.inner_text(), [e.get_attribute("d") for e in edges.all()]) == before
    assert page.locator(".ag-share").all_text_contents() == shares


def test_without_scripts_the_first_state_stands_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert dead.count("<circle") == 16
    assert 'class="ag-choose" hidden' in dead
    assert "&lt;old&gt;" in dead
    assert "<old>" not in dead
    assert repr(picture()).startswith("[attention as a graph: In layer 3 [CLS] looks most at")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="one at least, all of one number"):
        attention_graph([])
    with pytest.raises(ValueError, match="one at least, all of one number"):
        attention_graph([READINGS[0], Reading(WORDS[0], READINGS[0].weights[:2])])
    with pytest.raises(ValueError, match=r"expected \(L, 3, 3\)"):
        attention_graph([Reading(WORDS[0][:3], READINGS[0].weights)])
    with pytest.raises(ValueError, match="a sum of 1"):
        attention_graph([Reading(WORDS[0], READINGS[0].weights / 2)])
