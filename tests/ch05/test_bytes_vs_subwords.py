"""Pieces and bytes of a typed text are the library's, by key and finger; its still form."""

from __future__ import annotations

import re

import pytest
from browser import Reader

from deepdive.tokenizers import ByteBPETokenizer
from deepdive_book.ch05.figures.bytes_vs_subwords import (
    alt_text,
    bytes_vs_subwords,
    left,
    octets,
    pieces,
)
from deepdive_book.kit.markup import Html

TEXT = "please <block> my card"
CUT = ByteBPETokenizer.train(["please block my card , my card is lost", "καλημέρα"] * 9, 300)


def picture() -> Html:
    return bytes_vs_subwords(TEXT, CUT)


def test_what_is_left_is_counted_in_order() -> None:
    assert left("abcd", "abcd") == 4
    assert left("abcd", "bad") == 2
    assert left("abc", "xyz") == left("abc", "") == left("", "abc") == 0


@pytest.mark.parametrize(
    "typed", ["my card's lost 2 times", "MY  cArd", "naïve καλημέρα ✓", "日本", "a  b "]
)
def test_what_is_typed_is_cut_as_the_library_cuts_it(reader: Reader, typed: str) -> None:
    page = reader.open(picture().html)
    page.locator("input").fill(typed)
    for part, expected in ((".by-pieces", pieces(typed, CUT)), (".by-bytes", octets(typed))):
        shown = page.locator(f"{part} span").evaluate_all("all => all.map(s => s.textContent)")
        assert shown == expected
    assert page.locator("[role=status]").inner_text() == alt_text(typed, typed, CUT)
    assert not reader.complaints


def test_each_button_spoils_one_letter_and_the_last_mends_all(reader: Reader) -> None:
    page = reader.open(picture().html)
    typed, said = page.locator("input"), page.locator("[role=status]")
    lengths = [len(TEXT) - 1, len(TEXT), len(TEXT), len(TEXT) + 1]
    for button, length in zip(page.locator("button").all(), lengths, strict=False):
        button.click()
        now = typed.input_value()
        assert now != TEXT
        assert len(now) == length
        assert said.inner_text() == alt_text(TEXT, now, CUT)
        page.locator("button").last.click()
        assert typed.input_value() == TEXT
        assert said.inner_text() == alt_text(TEXT, TEXT, CUT)


def test_python_and_the_script_draw_the_same(reader: Reader) -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    shown = []
    for html in (dead, picture().html):
        page = reader.open(html)
        parts = [page.locator(part).inner_html() for part in (".by-pieces", ".by-bytes")]
        shown.append([*parts, page.locator("[role=status]").inner_text()])
    assert shown[0] == shown[1]
    assert repr(picture()).startswith("[bytes and pieces: 22 characters. As pieces: ")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="got 0 characters"):
        bytes_vs_subwords("", CUT)
