"""The picture shows of each question what was picked and what is right, and fits a phone."""

from __future__ import annotations

import dataclasses
import re

import pytest
from browser import Reader

from deepdive_book.ch03.figures.table_qa_cells import Asked, table_qa_cells
from deepdive_book.kit.markup import Html

ROWS = [["Rome", "<b>Ann"], ["Oslo", "Eve"], ["Bonn", "Mia"]]
FIRST = Asked("who won in Rome ?", ["city", "winner"], ROWS, [[0.1, 0.7], [0.1, 0.1], None], (0, 1))
ASKED = [
    FIRST,
    dataclasses.replace(FIRST, question="who won in Oslo ?", right=(1, 1)),
    dataclasses.replace(FIRST, question="who won in Bonn ?", right=(2, 1)),
]


def picture() -> Html:
    return table_qa_cells(ASKED)


def test_the_reader_chooses_a_question(reader: Reader) -> None:
    page = reader.open(picture().html)
    ends = [
        "which is right.",
        "Right is Eve (10%).",
        "Right is Mia, in a row that it has not read.",
    ]
    for i, end in enumerate(ends):
        page.locator(".cp select").select_option(str(i))
        one = page.locator(".cp-one:visible")
        assert one.count() == 1
        assert one.locator("p").last.inner_text() == f"It picks <b>Ann (70%){'.,'[i == 0]} {end}"
        assert one.locator(".cp-right").inner_text() == ["<b>Ann", "Eve", "Mia"][i]
        assert one.locator(".cp-picked").inner_text().endswith("Ann")
        assert one.locator(".cp-unread td").all_inner_texts() == ["Bonn", "Mia"]
    fills = page.locator(".cp-one:visible td").evaluate_all(
        "all => all.map(x => getComputedStyle(x).backgroundColor)"
    )
    assert len(set(fills)) == 3  # 0.7, 0.1 and none
    assert not reader.complaints


def test_without_scripts_the_first_question_stands_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    assert dead.count('<div class="cp-one" hidden>') == 2
    assert 'class="cp-choose" hidden' in dead
    assert repr(picture()).splitlines()[1].startswith("[who won in Oslo ? It picks <b>Ann")
    assert picture().html == picture().html


def test_what_it_cannot_show_is_refused() -> None:
    with pytest.raises(ValueError, match="asked is empty"):
        table_qa_cells([])
    for change, said in (
        ({"rows": [["Rome"]]}, "expected rows of 2 cells"),
        ({"shares": [[0.5, 0.5]]}, "expected shares for 3 rows"),
        ({"shares": [None] * 3}, "one row read at least"),
        ({"right": (3, 0)}, r"right is \(3, 0\), which is no cell"),
    ):
        with pytest.raises(ValueError, match=said):
            table_qa_cells([dataclasses.replace(FIRST, **change)])
