"""The figures of page 5.20: the drawing of both encoders, and the pairs of words scored."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from deepdive_book.ch05.figures.hierarchical_encoders import (
    FULL,
    HIERARCHY,
    alt_text,
    attended_pairs,
    hierarchical_encoders,
    pairs,
)
from deepdive_book.kit.markup import Html


def picture() -> Html:
    return attended_pairs()


def test_the_drawing_is_svg_with_both_encoders() -> None:
    drawing = hierarchical_encoders()
    ET.fromstring(drawing)
    for words in ("HIBERT", "Hi-Transformer", "document encoder, sentence positions"):
        assert words in drawing


def test_four_sentences_of_three_words_have_the_fewest_scores() -> None:
    scores = {n: len(pairs(HIERARCHY, n)) + n * n for n in (1, 2, 3, 4, 6, 12)}
    assert min(scores, key=lambda n: scores[n]) == 4
    assert "36 scores of words and 4 x 4 = 16 of sentences, 52 in all" in alt_text(HIERARCHY, 4)
    assert pairs(HIERARCHY, 1) == pairs(FULL, 3)
