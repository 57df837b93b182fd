"""Network and automaton side by side: answers as PyTorch has them, by key and finger; its size."""

from __future__ import annotations

import re

import pytest
import torch
from browser import Reader
from torch import Tensor, nn

from deepdive.explain.surrogates.automata import Automaton
from deepdive_book.ch07.figures.rnn_vs_automaton import SHOWN, side_by_side
from deepdive_book.kit.markup import Html

SWITCH = Automaton(((0, 1), (1, 0)), (True, False))
FORGETS = Automaton(((0, 1), (2, 0), (3, 0), (0, 0)), (True, False, False, False))


def network() -> tuple[Tensor, nn.GRU, nn.Linear]:
    torch.manual_seed(3)
    gru, out = nn.GRU(2, 3, batch_first=True), nn.Linear(3, 1)
    with torch.no_grad():
        for each in gru.parameters():
            each.mul_(4)
    return torch.tensor([0.5, -0.2, 0.1]), gru, out


def picture(word: tuple[int, ...] = (1, 0)) -> Html:
    return side_by_side(*network(), {"two": SWITCH, "<four>": FORGETS}, SWITCH, word=word)


def sure(word: list[int]) -> float:
    """As torch computes it."""
    start, gru, out = network()
    with torch.no_grad():
        h = start[None, None]
        if word:
            x = nn.functional.one_hot(torch.tensor([word]), 2).float()
            h = gru(x, h)[1]
        return float(out(h).sigmoid())


def test_answers_are_torchs_and_the_automatons_by_key_and_finger(reader: Reader) -> None:
    page = reader.open(picture().html)
    told, word = page.locator("[role=status]"), [1, 0]
    before = told.inner_text()
    buttons = page.locator("button")
    for symbol in (0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1):
        if len(word) % 2:
            page.keyboard.press(str(symbol))
        else:
            buttons.nth(1 - symbol).click()
        word.append(symbol)
        for number, card in enumerate((SWITCH, FORGETS)):
            page.locator("select").select_option(index=number)
            words = told.inner_text()
            one = torch.tensor([word])
            assert f"The light is {('off', 'on')[bool(SWITCH(one))]}." in words
            assert f"Card: {('off', 'on')[bool(card(one))]}." in words
            found = re.search(r"Network: (on|off) \((\d+) % sure", words)
            assert found
            assert int(found[2]) == pytest.approx(100 * sure(word), abs=0.51)
            assert (found[1] == "on") == (sure(word) > 0.5)
            agree = (sure(word) > 0.5) == bool(card(one))
            assert ("card agree" in words) == agree
            shown = (
                page.locator(".automaton-card")
                .nth(number)
                .locator(".automaton-state[fill-opacity='1']")
            )
            assert shown.count() == 1
        buttons.nth(0).focus()
    assert page.locator(".automaton-columns rect").count() == 6 * SHOWN
    for _ in word[2:]:
        page.keyboard.press("Backspace")
    page.locator("select").select_option(index=0)
    assert told.inner_text() == before
    buttons.nth(3).click()
    assert told.inner_text().startswith("0 × press, 0 × pause.")
    assert not reader.complaints


def test_what_does_not_fit_is_refused() -> None:
    start, gru, out = network()
    with pytest.raises(ValueError, match="expected a card"):
        side_by_side(start, gru, out, {}, SWITCH)
    with pytest.raises(ValueError, match="one margin"):
        side_by_side(start, gru, nn.Linear(3, 2), {"two": SWITCH}, SWITCH)
