"""Attention as a graph: rollout and flow as the library has them, the narrowest cut, keys, size."""

from __future__ import annotations

import pytest
import torch
from browser import Reader
from torch import Tensor

from deepdive.explain.attention_weights.flow import flow
from deepdive.explain.rollout import rollout
from deepdive_book.ch07.figures.attention_graph import Reading, attention_graph
from deepdive_book.kit.markup import Html

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
        page.locator("[data-control=text]").select_option(index=place)
        page.locator("[data-control=method]").select_option(
            index=["raw", "rollout", "flow"].index(method)
        )
        for layer, state in ((3, 0), (2, 2), (1, 1)):
            page.locator("[data-control=layer]").select_option(index=layer - 1)
            page.locator("[data-control=state]").select_option(index=state)
            shown = [int(text) for text in page.locator(".graph-share").all_text_contents()]
            assert shown == pytest.approx(
                (100 * wanted(reading, method, layer, state)).tolist(), abs=0.52
            )
    assert not reader.complaints


def test_the_narrowest_cut_is_as_wide_as_the_flow(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator("[data-control=method]").select_option(index=2)
    for word in range(4):
        page.locator("[data-control=word]").select_option(index=word + 1)
        largest = float(flow(heads(READINGS[0], 3), [0])[0, word])
        assert float(page.locator(".living").get_attribute("data-value") or 0) == pytest.approx(
            largest, abs=1e-3
        )
        words = page.locator("[role=status]").inner_text()
        assert f"together {100 * largest:.0f} %" in words
        count = int(words.split("dashed, has ")[1].split()[0])
        assert 0 < page.locator(".graph-edges path[stroke-dasharray]").count() <= count


def test_a_state_is_chosen_by_finger_and_a_word_on_the_left(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator(".graph-nodes circle").nth(4 * 2 + 1).click()
    assert page.locator("[data-control=layer]").input_value() == "2"
    assert page.locator("[role=status]").inner_text().startswith("In layer 2 <old> looks most at")
    page.locator("[data-control=method]").select_option(index=1)
    page.locator(".graph-nodes circle").nth(2).click()
    assert "of key." in page.locator("[role=status]").inner_text()


def test_keys_move_the_choices(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator("[data-control=layer]").focus()
    page.keyboard.press("ArrowUp")
    assert page.locator("[role=status]").inner_text().startswith("In layer 2 [CLS] looks most at")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="one at least, all of one number"):
        attention_graph([])
    with pytest.raises(ValueError, match="one at least, all of one number"):
        attention_graph([READINGS[0], Reading(WORDS[0], READINGS[0].weights[:2])])
    with pytest.raises(ValueError, match=r"expected \(L, 3, 3\)"):
        attention_graph([Reading(WORDS[0][:3], READINGS[0].weights)])
    with pytest.raises(ValueError, match="a sum of 1"):
        attention_graph([Reading(WORDS[0], READINGS[0].weights / 2)])
