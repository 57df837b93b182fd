"""An answer whose ends move: its scores are those of the library, in Python and in the script."""

from __future__ import annotations

import re

import pytest
from browser import Reader

from deepdive_book.ch04.figures.answer_span import Marked, alt_text, answer_span
from deepdive_book.ch04.multilingual_qa_metrics import answer_f1_in
from deepdive_book.kit.markup import Html

WORDS = ["Die", "Aare", "entspringt", "in", "den", "Berner", "Alpen", "<b>."]
TEXTS = [
    Marked("German", "de", "Wo?", WORDS, (4, 6), (3, 6)),
    Marked("Chinese", "zh", "在哪里?", list("发源于伯尔尼山。"), (3, 6), (5, 6), ""),
]


def picture() -> Html:
    return answer_span(TEXTS)


def test_a_sum_by_hand() -> None:
    assert alt_text(TEXTS[0], 3, 6) == (
        "Said: “in den Berner Alpen”. It counts as in · berner · alpen (3); right is berner · "
        "alpen (2). Shared: 2. F1 = 2 · 2 / (3 + 2) = 0.80. Exact match: no."
    )
    assert alt_text(TEXTS[0], 5, 6).endswith("= 1.00. Exact match: yes.")  # the article is no word
    assert alt_text(TEXTS[1], 7, 7).startswith("Said: “。”. It counts as nothing (0)")


def test_every_pair_of_ends_is_scored(reader: Reader) -> None:
    page = reader.open(picture().html)
    begin, end = page.locator("input").all()
    for number, one in enumerate(TEXTS):
        page.locator("select").select_option(str(number))
        assert page.locator("[role=status]").inner_text() == alt_text(one, *one.said)
        right = one.join.join(one.parts[one.right[0] : one.right[1] + 1])
        for first in range(len(one.parts)):
            for last in (first, len(one.parts) - 1):
                begin.fill(str(first))
                end.fill(str(last))
                words = page.locator("[role=status]").inner_text()
                assert words == alt_text(one, first, last)
                said = one.join.join(one.parts[first : last + 1])
                assert f"= {answer_f1_in(said, right, one.code):.2f}." in words
                assert page.locator(".ae-said").count() == last - first + 1
    assert not reader.complaints


def test_the_ends_push_each_other(reader: Reader) -> None:
    page = reader.open(picture().html)
    begin, end = page.locator("input").all()
    begin.focus()
    page.keyboard.press("End")
    assert end.input_value() == begin.input_value() == "7"
    end.focus()
    page.keyboard.press("Home")
    assert begin.input_value() == "0"
    assert end.get_attribute("aria-valuetext") == "Die"


def test_python_and_the_script_draw_the_same(reader: Reader) -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    shown = []
    for html in (dead, picture().html):
        page = reader.open(html)
        shown.append([page.locator(part).inner_html() for part in (".ae-text", "[role=status]")])
    assert shown[0] == shown[1]
    assert 'class="ae-choose" hidden' in dead
    assert repr(picture()).startswith("[an answer's ends: Said: “in den")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="one at least"):
        answer_span([])
    with pytest.raises(ValueError, match="parts of the sentence"):
        answer_span([TEXTS[0]._replace(right=(4, 8))])
