"""Words that drop out as the penalty grows: boxes, bars and words as given, by key and finger."""

from __future__ import annotations

import re

import pytest
from browser import DESK, PHONE, Reader, Size

from deepdive.page.kept_words import Kept, Point, kept_words, told
from deepdive.page.markup import Html

TEXTS = [
    Kept("i find it dull .", (3,), [[1, 1, 1, 1, 1], [1, 0, 0, 1, 0], [0, 0, 0, 1, 0]],
         ["negative", "negative, wrongly", "negative"]),
    Kept("others find <it> not fresh , i do not find it dull .", (8, 11),
         [[1] * 13, [0] * 8 + [1] * 5, [0] * 12 + [1]], ["positive", "positive", "negative"]),
]  # fmt: skip
POINTS = [Point(p, {"right": r, "decide < 1": d}) for p, r, d in
          ((0, 1.0, 0.14), (0.1, 0.996, 0.5), (0.35, 0.5, 0.904))]  # fmt: skip


def picture() -> Html:
    return kept_words(TEXTS, POINTS, start=1)


def test_words_bars_and_sentence_are_those_of_each_point(reader: Reader) -> None:
    page = reader.open(picture().html)
    slider = page.locator("input")
    for place, text in enumerate(TEXTS):
        page.locator("select").select_option(str(place))
        slider.focus()
        page.keyboard.press("Home")
        for at, point in enumerate(POINTS):
            assert slider.input_value() == str(at)
            words = page.locator(".kw-word").all()
            assert [w.inner_text() for w in words] == text.text.split()
            names = [w.get_attribute("class") or "" for w in words]
            assert ["kw-kept" in n for n in names] == [bool(k) for k in text.kept[at]]
            assert [i for i, n in enumerate(names) if "kw-decides" in n] == list(text.decides)
            assert page.locator("[role=status]").inner_text() == told(text, POINTS, at)
            for row, share in zip(page.locator(".kw-row").all(), point.bars.values(), strict=True):
                assert row.locator("b").inner_text() == f"{100 * share:.0f} %"
                wide = row.locator(".kw-line").bounding_box()
                bar = row.locator("i").bounding_box()
                assert wide
                assert (bar or {"width": 0})["width"] == pytest.approx(
                    share * (wide["width"] - 2), abs=1
                )
            page.keyboard.press("ArrowRight")
    assert not reader.complaints


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits_and_its_words_can_be_read(reader: Reader, size: Size) -> None:
    page = reader.open(picture().html, size)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for word in page.locator(".kw-word").all():
        box = word.bounding_box()
        assert box
        assert box["height"] >= 20


def test_python_and_the_script_draw_the_same(reader: Reader) -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    shown = []
    for html in (dead, picture().html):
        page = reader.open(html)
        shown.append(
            f"{page.locator('.kw-text').inner_html()} {page.locator('.kw p').inner_text()}"
        )
        shown[-1] += " " + page.locator(".kw-bars").inner_text()
    assert shown[0].split() == shown[1].split()
    assert 'class="kw-choose" hidden' in dead
    assert picture().html == picture().html
    assert repr(picture()).startswith("[kept words: At a penalty of 0.1 it keeps 2 of 5 words")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="came 0 texts"):
        kept_words([], POINTS)
    with pytest.raises(ValueError, match="start 3"):
        kept_words(TEXTS, POINTS, start=3)
    with pytest.raises(ValueError, match="penalty 1: bars"):
        kept_words(TEXTS, [*POINTS, Point(1.0, {"right": 0.5})])
    with pytest.raises(ValueError, match="came 3 rows and 3 answers, expected 2"):
        kept_words(TEXTS, POINTS[:2])
    short = Kept("two words", (), [[True]] * 3, ["a"] * 3)
    with pytest.raises(ValueError, match="expected 2 booleans a row"):
        kept_words([short], POINTS)
