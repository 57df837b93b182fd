"""Letters and their experts: the drawing serves whom the library serves, by key and finger."""

from __future__ import annotations

import re

import pytest
import torch
from browser import Reader

from deepdive.layers import SparseExperts, SwitchRouter
from deepdive_book.ch05.figures.expert_routing import alt_text, expert_routing, expert_slots
from deepdive_book.kit.markup import Html

LINE = "to be, or <not>"
ROUTES = {"0": [0] * 12 + [1, 1, 2], "0.01": [k % 4 for k in range(15)]}


def picture() -> Html:
    return expert_routing(LINE, ROUTES, 4, room=3)


@pytest.mark.parametrize("room", [1, 3, 4, 16])
def test_who_is_served_is_the_library_s(room: int) -> None:
    layer = SparseExperts(SwitchRouter(4, 4), 4, 4, capacity=room)
    for experts in ROUTES.values():
        served = layer.served(torch.tensor(experts)[None, :, None])
        assert served.flatten().tolist() == [
            place is not None for place in expert_slots(experts, room)
        ]


def test_each_state_is_python_s(reader: Reader) -> None:
    page = reader.open(picture().html)
    weight, room = page.locator("input").all()
    for w, (name, experts) in enumerate(ROUTES.items()):
        weight.fill(str(w))
        for most in (1, 3, 5, 16):
            room.fill(str(most))
            assert page.locator("[role=status]").inner_text() == alt_text(
                LINE, name, experts, 4, most
            )
            assert page.locator(".rt-out").count() == expert_slots(experts, most).count(None)
            assert page.locator(".rt-slot:not([visibility])").count() == 4 * most
    assert not reader.complaints


def test_python_and_the_script_draw_the_same(reader: Reader) -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    shown = []
    for html in (dead, picture().html):
        page = reader.open(html)
        letters = page.locator(".rt-letter").evaluate_all(
            "all => all.map(g => [g.getAttribute('class'), g.textContent,"
            " g.attributeStyleMap.get('transform').toMatrix().toJSON()])"
        )
        shown.append((letters, page.locator("[role=status]").inner_text()))
    assert shown[0] == shown[1]
    assert "&lt;" in dead
    assert repr(picture()).startswith("[routing: Balance weight 0, room for 3 at each expert (cap")


def test_keys_move_the_room_and_letters_can_be_sent_again(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator("input").nth(1).focus()
    page.keyboard.press("End")
    said = page.locator("[role=status]").inner_text()
    assert "(capacity factor 4.27): 0 of 15 letters pass by" in said
    page.locator("button").click()
    assert page.locator("[role=status]").inner_text() == said


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="got 0 routes"):
        expert_routing(LINE, {}, 4, 3)
    with pytest.raises(ValueError, match="room 17"):
        expert_routing(LINE, ROUTES, 4, 17)
    with pytest.raises(ValueError, match=r"weight 0: got 15 experts for 15 letters.* 0 to 1"):
        expert_routing(LINE, ROUTES, 2, 3)
