"""Pieces a word, a character, and a sentence, by hand."""

import pytest

from deepdive_book.ch04.fertility import fertility, premium


def test_fertility_is_counted() -> None:
    found = fertility(list, "abc", ["ab c", "añ ☃"])
    assert found == (8, 4, 6, 2)
    assert found.per_word == 2.0
    assert found.per_character == pytest.approx(8 / 6)
    assert found.coverage == pytest.approx(4 / 6)
    assert premium(found, fertility(str.split, "abc", ["ab c"])) == 4.0
    with pytest.raises(ValueError, match="no word"):
        fertility(list, "a", [" "])
