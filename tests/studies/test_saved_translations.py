"""The phrasebook finds what shares most with what is typed, and stands there without scripts."""

from __future__ import annotations

import pytest
from browser import Reader

from deepdive_book.kit.markup import Html
from deepdive_book.studies.saved_translations import phrasebook

HEAD = ("English", "ours")
ROWS = [
    ("I am hungry.", "J'ai faim."),
    ("He is at home.", "Il est chez lui."),
    ("The cat is at home.", "Le chat est chez lui <b>ici</b>."),
    ("I am at work.", "Je suis au travail."),
    ("I drank the coffee.", "J'ai bu le café."),
]


def picture() -> Html:
    return phrasebook(ROWS, HEAD, shown=2)


def test_the_first_rows_stand_there_and_are_escaped() -> None:
    book = phrasebook(ROWS, HEAD, shown=3)
    assert book.html.split("<script>")[0].count("<tr>") == 4
    assert "&lt;b&gt;ici&lt;/b&gt;" in book.html
    assert "</b>" not in book.html.replace("</tbody>", "")
    assert repr(book).startswith("I am hungry. | J'ai faim.\n")


def test_what_is_typed_is_found_by_its_rare_words(reader: Reader) -> None:
    page = reader.open(phrasebook(ROWS, HEAD, shown=2).html)
    field, lines = page.get_by_label("Type a sentence"), page.locator("tbody tr")
    assert lines.count() == 2
    for typed, found in (
        ("the CAT", "The cat is at home."),
        ("he is home", "He is at home."),
        ("Is there coffee?", "I drank the coffee."),
        ("zyx", "I am hungry."),
    ):
        field.fill(typed)
        assert lines.first.locator("td").first.text_content() == found
    field.fill("cat")
    assert "<b>ici</b>" in (lines.first.text_content() or ""), "text, not markup"
    assert not reader.complaints


@pytest.mark.parametrize(
    ("rows", "message"),
    [([], "one or more"), ([("a",)], "with 2 cells"), ([("a" * 400_000, "b")], "at most 300")],
)
def test_what_it_cannot_show_is_refused(rows: list[tuple[str, ...]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        phrasebook(rows, HEAD)
