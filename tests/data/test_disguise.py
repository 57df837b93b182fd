"""English in other letters: every word changes, every sentence keeps its translation."""

from __future__ import annotations

import string

import pytest

from deepdive.data.disguise import ALPHABETS, Disguise
from deepdive.data.errors import DataError


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_each_letter_has_one_of_its_own(alphabet: str) -> None:
    letters = Disguise(alphabet).word(string.ascii_lowercase)
    assert len(set(letters)) == 26
    assert not set(letters) & set(string.ascii_lowercase)


def test_no_two_alphabets_share_a_word() -> None:
    every = [set(letters) for letters in ALPHABETS.values()]
    assert sum(map(len, every)) == len(set.union(*every))


def test_a_sentence_keeps_its_order_or_loses_it() -> None:
    text = "where is the station ?"
    assert Disguise("Greek")(text) == "ωηερε ισ τηε στατιον ?"
    assert Disguise("Greek", order="reversed")(text) == "? στατιον τηε ισ ωηερε"
    shuffled = Disguise("Greek", order="shuffled")
    assert sorted(shuffled(text).split()) == sorted(Disguise("Greek")(text).split())
    assert shuffled(text) == shuffled(text)
    orders = {tuple(Disguise(order="shuffled", seed=i).places(text.split())) for i in range(9)}
    assert len(orders) > 5
    assert Disguise()("") == ""


def test_shared_words_stay() -> None:
    assert Disguise("Greek", frozenset({"is"}))("it is") == "ιτ is"
    assert Disguise("Greek")("1 o'clock") == "1 ο'χλοχκ"


def test_what_is_not_built_is_refused() -> None:
    with pytest.raises(DataError, match="alphabet: 'Klingon', expected one of Greek, "):
        Disguise("Klingon")
    with pytest.raises(DataError, match="order: 'sorted', expected one of kept, reversed"):
        Disguise(order="sorted")
