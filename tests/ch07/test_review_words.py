"""The toy that judges reviews: it knows the rule, and "blanks" sees the words that decide."""

from __future__ import annotations

import pytest

from deepdive.explain.games.perturbation import occlusion
from deepdive_book.ch07.toys.review_words import SENTENCE, review_words
from deepdive_book.data.labeled_cause_reviews import generated_verdicts

MADE = generated_verdicts(300, seed=77)  # another seed than that of its lessons


@pytest.mark.parametrize("kind", ["plain", "blanks"])
def test_it_tells_the_class_of_new_reviews(kind: str) -> None:
    toy = review_words(kind)
    said = [int(toy.model(toy.tokens(text)).argmax()) for text in MADE.texts]
    assert said == list(MADE.labels)
    assert toy.right == toy.tested


def test_without_a_deciding_word_blanks_is_less_sure_than_without_another() -> None:
    toy = review_words()
    for i in range(20):
        text, label = MADE.texts[i], MADE.labels[i]
        if len(MADE.deciding[i]) == 1:
            lost = occlusion(toy.asked(text, label).game())
            assert int(lost.argmax()) == MADE.deciding[i][0], text


def test_the_chapters_sentence_is_negative_by_its_last_adjective() -> None:
    toy = review_words()
    lost = occlusion(toy.asked(SENTENCE, 0).game())
    assert int(toy.model(toy.tokens(SENTENCE)).argmax()) == 0
    assert SENTENCE.split()[int(lost.argmax())] == "cold"


def test_a_kind_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="plain, blanks; got 'other'"):
        review_words("other")
