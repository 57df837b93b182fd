"""English in other letters: every word changes, every sentence keeps its translation."""

from __future__ import annotations

import string

import pytest

from deepdive.data.errors import DataError
from deepdive_book.data.relexified_english import ALPHABETS, RelexifiedLanguage


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_each_letter_has_one_of_its_own(alphabet: str) -> None:
    letters = RelexifiedLanguage(alphabet).word(string.ascii_lowercase)
    assert len(set(letters)) == 26
    assert not set(letters) & set(string.ascii_lowercase)


def test_no_two_alphabets_share_a_word() -> None:
    every = [set(letters) for letters in ALPHABETS.values()]
    assert sum(map(len, every)) == len(set.union(*every))


def test_a_sentence_keeps_its_order_or_loses_it() -> None:
    text = "where is the station ?"
    assert RelexifiedLanguage("Greek")(text) == "ωηερε ισ τηε στατιον ?"
    assert RelexifiedLanguage("Greek", order="reversed")(text) == "? στατιον τηε ισ ωηερε"
    shuffled = RelexifiedLanguage("Greek", order="shuffled")
    assert sorted(shuffled(text).split()) == sorted(RelexifiedLanguage("Greek")(text).split())
    assert shuffled(text) == shuffled(text)
    orders = {
        tuple(RelexifiedLanguage(order="shuffled", seed=i).places(text.split())) for i in range(9)
    }
    assert len(orders) > 5
    assert RelexifiedLanguage()("") == ""


def test_shared_words_stay() -> None:
    assert RelexifiedLanguage("Greek", frozenset({"is"}))("it is") == "ιτ is"
    assert RelexifiedLanguage("Greek")("1 o'clock") == "1 ο'χλοχκ"


def test_what_is_not_built_is_refused() -> None:
    with pytest.raises(DataError, match="alphabet: 'Klingon', expected one of Greek, "):
        RelexifiedLanguage("Klingon")
    with pytest.raises(DataError, match="order: 'sorted', expected one of kept, reversed"):
        RelexifiedLanguage(order="sorted")
