"""A slip that is read: its words and months are those that were given, by key and finger."""

from __future__ import annotations

import itertools
import re

import pytest
import torch
from browser import PLACED, Reader

from deepdive_book.ch04.figures.language_id_demo import MONTHS, WAYS, Slip, language_id_demo
from deepdive_book.kit.markup import Html

LANGUAGES = {"English": "en", "Spanish": "es"}
FORMS, DAYS = ["in words", "in digits"], ["3 April", "12 May", "25 <b>"]
SLIPS = [
    Slip(f"{short} {form} {day}", [short, "&", day], (3 * i + k) % 12)
    for i, (short, form) in enumerate(itertools.product(LANGUAGES.values(), FORMS))
    for k, day in enumerate(DAYS)
]
SAYS = {
    way: torch.rand(12, 12, generator=torch.Generator().manual_seed(i)).softmax(-1)
    for i, way in enumerate(WAYS)
}


def picture() -> Html:
    return language_id_demo(LANGUAGES, FORMS, DAYS, SLIPS, SAYS)


def test_each_slip_is_read_as_was_said(reader: Reader) -> None:
    page = reader.open(picture().html)
    writer, form, way = page.locator("select").all()
    day = page.locator("input")
    for i, j, k in itertools.product(range(2), range(2), range(3)):
        writer.select_option(str(i))
        form.select_option(str(j))
        day.fill(str(k))
        slip = SLIPS[(i * 2 + j) * 3 + k]
        for name, shares in SAYS.items():
            way.select_option(label=WAYS[name])
            row = [round(100 * x) for x in shares[(i * 2 + j) * 3 + k].tolist()]
            best = row.index(max(row))
            words = page.locator("[role=status]").inner_text()
            assert words.startswith(f"“{slip.text}”, written in {list(LANGUAGES)[i]}, {WAYS[name]}")
            assert f": {MONTHS[best]}, {row[best]}%. That is " in words
            assert words.endswith("right.") == (best == slip.month)
            heights = page.locator(".tl-months i").evaluate_all(f"all => all.map({PLACED})")
            assert [at[3] for at in heights] == [round(0.8 * share) for share in row]
            numbers = page.locator(".tl-months i[data-share]").evaluate_all(
                "all => all.map(i => i.dataset.share)"
            )
            assert numbers == [f"{share}%" for share in row if share >= 5]
            assert page.locator(".tl-right").inner_text() == MONTHS[slip.month][:3]
            read = page.locator(".tl-pieces > span").all_inner_texts()
            assert len(read) == 4 + (name == "token")
            assert all("+ " in piece for piece in read) == (name == "row")
    assert not reader.complaints


def test_python_and_the_script_draw_the_same(reader: Reader) -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    shown = []
    for html in (dead, picture().html):
        page = reader.open(html)
        parts = [page.locator(part).inner_html() for part in (".tl-pieces", ".tl-months")]
        shown.append([*parts, page.locator(".tl p").inner_text()])
    assert shown[1] == shown[0]
    assert 'class="tl-choose" hidden' in dead
    assert repr(picture()).startswith("[a slip, read: “en in words 3 April”, written in English, ")


def test_keys_move_it(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator("input").focus()
    page.keyboard.press("End")
    assert page.locator("[role=status]").inner_text().startswith("“en in words 25 <b>”")
    assert page.locator("input").get_attribute("aria-valuetext") == "25 <b>"


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="got 11 slips for 2 languages, 2 forms and 3 days"):
        language_id_demo(LANGUAGES, FORMS, DAYS, SLIPS[:11], SAYS)
    with pytest.raises(ValueError, match=r"says: got .*expected .'none', 'row', 'token'"):
        language_id_demo(LANGUAGES, FORMS, DAYS, SLIPS, {"none": SAYS["none"]})
    with pytest.raises(ValueError, match=r"says: got .'none': .12, 11.*each \(12, 12\)"):
        language_id_demo(LANGUAGES, FORMS, DAYS, SLIPS, {**SAYS, "none": SAYS["none"][:, 1:]})
