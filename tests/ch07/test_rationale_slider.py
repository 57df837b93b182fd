"""Words that drop out as the penalty grows: boxes, bars and words as given, by key and finger."""

from __future__ import annotations

import pytest
from browser import Reader

from deepdive_book.ch07.figures.rationale_slider import Kept, Point, alt_text, rationale_slider
from deepdive_book.kit.markup import Html

TEXTS = [
    Kept("i find it dull .", (3,), [[1, 1, 1, 1, 1], [1, 0, 0, 1, 0], [0, 0, 0, 1, 0]],
         ["negative", "negative, wrongly", "negative"]),
    Kept("others find <it> not fresh , i do not find it dull .", (8, 11),
         [[1] * 13, [0] * 8 + [1] * 5, [0] * 12 + [1]], ["positive", "positive", "negative"]),
]  # fmt: skip
POINTS = [Point(p, {"right": r, "decide < 1": d}) for p, r, d in
          ((0, 1.0, 0.14), (0.1, 0.996, 0.5), (0.35, 0.5, 0.904))]  # fmt: skip


def picture() -> Html:
    return rationale_slider(TEXTS, POINTS, start=1)


def test_words_bars_and_sentence_are_those_of_each_point(reader: Reader) -> None:
    page = reader.open(picture().html)
    slider = page.locator("input")
    for place, text in enumerate(TEXTS):
        page.locator("select").select_option(index=(place))
        slider.focus()
        page.keyboard.press("Home")
        for at, point in enumerate(POINTS):
            assert slider.input_value() == str(at)
            words = page.locator(".words-word").all()
            assert [w.inner_text() for w in words] == text.text.split()
            names = [w.get_attribute("class") or "" for w in words]
            assert ["words-selected" in n for n in names] == [bool(k) for k in text.kept[at]]
            assert [i for i, n in enumerate(names) if "words-decides" in n] == list(text.decides)
            assert page.locator("[role=status]").inner_text() == alt_text(text, POINTS, at)
            for row, share in zip(
                page.locator(".words-row").all(), point.bars.values(), strict=True
            ):
                assert row.locator("b").inner_text() == f"{100 * share:.0f} %"
                wide = row.locator(".words-line").bounding_box()
                bar = row.locator("i").bounding_box()
                assert wide
                assert (bar or {"width": 0})["width"] == pytest.approx(
                    share * (wide["width"] - 2), abs=1
                )
            page.keyboard.press("ArrowRight")
    assert not reader.complaints


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="got 0 texts"):
        rationale_slider([], POINTS)
    with pytest.raises(ValueError, match="start 3"):
        rationale_slider(TEXTS, POINTS, start=3)
    with pytest.raises(ValueError, match="penalty 1: bars"):
        rationale_slider(TEXTS, [*POINTS, Point(1.0, {"right": 0.5})])
    with pytest.raises(ValueError, match="got 3 rows and 3 answers, expected 2"):
        rationale_slider(TEXTS, POINTS[:2])
    short = Kept("two words", (), [[True]] * 3, ["a"] * 3)
    with pytest.raises(ValueError, match="expected 2 booleans a row"):
        rationale_slider([short], POINTS)
