"""Network and automaton side by side: answers as PyTorch has them, by key and finger; its size."""

from __future__ import annotations

import re

import pytest
import torch
from browser import DESK, PHONE, Reader, Size
from torch import Tensor, nn

from deepdive.explain.model_translation.automata import Automaton
from deepdive.page.automaton_beside import SHOWN, beside
from deepdive.page.markup import Html

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
    return beside(*network(), {"two": SWITCH, "<four>": FORGETS}, SWITCH, word=word)


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
            page.locator("select").select_option(str(number))
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
            shown = page.locator(f".ab-card[data-card='{number}'] .ab-state[fill-opacity='1']")
            assert shown.count() == 1
        buttons.nth(0).focus()
    assert page.locator(".ab-strip rect").count() == 6 * SHOWN
    for _ in word[2:]:
        page.keyboard.press("Backspace")
    page.locator("select").select_option("0")
    assert told.inner_text() == before
    buttons.nth(3).click()
    assert told.inner_text().startswith("0 × press, 0 × pause.")
    assert not reader.complaints


def test_python_and_the_script_draw_the_same(reader: Reader) -> None:
    page = reader.open(picture((1, 0, 0, 0)).html)
    places = "all => all.map(x => [x.getAttribute('x'), x.getAttribute('height')].map(Number))"
    before = page.locator(".ab-strip rect").evaluate_all(places)
    page.locator("button").nth(1).click()
    page.locator("button").nth(2).click()
    after = page.locator(".ab-strip rect").evaluate_all(places)
    assert before == [pytest.approx(row, abs=0.02) for row in after]


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits_and_its_words_can_be_read(reader: Reader, size: Size) -> None:
    page = reader.open(picture().html, size)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for word in page.locator("svg text:visible").all():
        box = word.bounding_box()
        assert box
        assert box["height"] >= 11 or not word.text_content()


def test_without_scripts_the_first_state_stands_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert dead.count('class="ab-state"') == 6
    assert 'class="ab-choose" hidden' in dead
    assert "1 × press, 1 × pause. The light is off." in dead
    full = re.findall(r'data-state="(.)"[^>]*fill-opacity="1"', dead)
    assert full == ["1", "2"]  # where press and pause lead, in both cards
    wide = re.findall(r'data-from="(.)" data-symbol="(.)" stroke-width="4"', dead)
    assert wide == [("1", "0"), ("1", "0")]
    assert picture().html == picture().html
    assert repr(picture()).startswith("[beside: 1 × press")


def test_what_does_not_fit_is_refused() -> None:
    start, gru, out = network()
    with pytest.raises(ValueError, match="expected a card"):
        beside(start, gru, out, {}, SWITCH)
    with pytest.raises(ValueError, match="one margin"):
        beside(start, gru, nn.Linear(3, 2), {"two": SWITCH}, SWITCH)
