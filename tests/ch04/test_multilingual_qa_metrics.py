"""Answers in other languages, as MLQA's script reads them."""

from __future__ import annotations

import pytest

from deepdive.evaluate.answers import answer_f1, exact_match
from deepdive_book.ch04.multilingual_qa_metrics import answer_f1_in, exact_match_in, words_in


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "The  U.S. Army", ["us", "army"]),
        ("de", "Des Kaisers „neue“ Kleider", ["kaisers", "neue", "kleider"]),
        ("es", "¿la Ciudad de México?", ["ciudad", "de", "méxico"]),
        ("vi", "những cái Bàn", ["bàn"]),
        ("ar", "المدينة", ["مدينة"]),
        ("zh", "乔治·华盛顿 in 1732年", ["乔", "治", "华", "盛", "顿", "in", "1732", "年"]),
        ("th", "กา 12", ["ก", "า", "12"]),
        ("ru", "В 1732 году!", ["в", "1732", "году"]),
        ("el", "το 50%", ["το", "50"]),
        ("tr", "+ 5 $", ["5"]),
    ],
)
def test_words(language: str, text: str, words: list[str]) -> None:
    assert words_in(text, language) == words


def test_scores_by_hand() -> None:
    assert answer_f1_in("die Stadt Rom", "Rom", "de") == pytest.approx(2 / 3)
    assert answer_f1_in("华盛顿市", "华盛顿", "zh") == pytest.approx(6 / 7)
    assert exact_match_in("The Army!", "army", "en") == 1
    assert exact_match_in("北京市", "北京", "zh") == 0
    assert answer_f1_in("", "Rom", "de") == 0


def test_in_english_it_is_squads() -> None:
    for said, right in (("the blue car", "a car"), ("in 1990", "1990"), ("x", "y"), ("B", "b.")):
        assert answer_f1_in(said, right, "en") == answer_f1(said, right)
        assert exact_match_in(said, right, "en") == exact_match(said, right)
