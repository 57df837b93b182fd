"""The family tree shows each member's card, by mouse and key, and fits a phone."""

from __future__ import annotations

import re

import pytest
from browser import Reader

from deepdive_book.ch03.figures.family import Member, family
from deepdive_book.kit.markup import Html

MEMBERS = [
    Member("t", "Transformer", "", "2017", "around", ["no recurrence"]),
    Member("b", "BERT", "t", "2019", "around", ["reads both ways (`Bert`)"], "82.1, table 1", "b!"),
    Member("d", "DeBERTa", "b", "2021", "head", ["three parts"], section="deberta"),
    Member("c", "ConvBERT", "b", "2020", "layer around", ["a convolution & half the heads"]),
]


def picture() -> Html:
    return family(MEMBERS, chosen="b")


def test_a_press_shows_the_card_of_a_member(reader: Reader) -> None:
    page = reader.open(picture().html)
    card = page.locator(".fm-card:visible")
    assert card.count() == 1
    assert "reads both ways (Bert)" in card.inner_text()
    for one in MEMBERS:
        page.locator(f".fm-row[data-id={one.id}]").click()
        assert card.count() == 1
        assert card.locator(".fm-name").inner_text() == one.name
        assert page.locator("[aria-checked=true]").count() == 1
    assert "a convolution & half the heads" in card.inner_text()
    assert not reader.complaints


def test_keys_go_from_row_to_row(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.get_by_role("radio", name="BERT, 2019").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(".fm-card:visible .fm-name").inner_text() == "DeBERTa"
    assert page.locator(".fm-card:visible a").get_attribute("href") == "#deberta"
    page.keyboard.press("End")
    page.keyboard.press("ArrowDown")
    assert page.locator(".fm-card:visible .fm-name").inner_text() == "ConvBERT"
    page.keyboard.press("Home")
    assert page.locator(".fm-card:visible .fm-name").inner_text() == "Transformer"
    assert page.evaluate("document.activeElement.dataset.id") == "t"


def test_a_place_turns_the_others_pale(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.get_by_label("in a head", exact=True).check()
    pale = page.locator(".fm-pale").evaluate_all("all => all.map(x => x.dataset.id)")
    assert pale == ["t", "b", "c"]
    assert page.locator(".fm-card:visible .fm-name").inner_text() == "DeBERTa"  # no pale one's
    for place in ("in a layer", "around the stack"):  # a member may differ in several places
        page.get_by_label(place, exact=True).check()
        assert "fm-pale" not in str(page.locator(".fm-row[data-id=c]").get_attribute("class"))
    page.get_by_label("anywhere", exact=True).check()
    assert page.locator(".fm-pale").count() == 0


def test_without_scripts_every_card_stands_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert dead.count('class="fm-card"') == 4
    assert 'class="fm-places" hidden' in dead
    assert "  BERT (2019): reads both ways (Bert)" in repr(picture()).splitlines()
    assert picture().html == picture().html


def test_what_it_cannot_show_is_refused() -> None:
    with pytest.raises(ValueError, match=r"chosen is 'x'; the members are t, b, d, c"):
        family(MEMBERS, chosen="x")
    with pytest.raises(ValueError, match=r"'t', parent of 'b', must stand before it"):
        family(MEMBERS[1:], chosen="b")
    with pytest.raises(ValueError, match=r"'t' stands there twice"):
        family([*MEMBERS, MEMBERS[0]], chosen="b")
    for place in ("nowhere", "head nowhere", ""):
        with pytest.raises(ValueError, match=f"place of 'q' is '{place}'; expected head, layer"):
            family([*MEMBERS, Member("q", "Q", "b", "2020", place, [])], chosen="b")
