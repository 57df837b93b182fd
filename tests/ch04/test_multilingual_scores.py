"""Scores of languages: the average is that of the ticked ones, in Python and in the script."""

from __future__ import annotations

import re

import pytest
from browser import Reader

from deepdive_book.ch04.figures.multilingual_scores import (
    Score,
    Wrong,
    alt_text,
    averaged,
    multilingual_scores,
)
from deepdive_book.kit.markup import Html

RIGHT = ["1110", "1100", "0101"]
SCORES = [
    Score(name, letters, right, 0.1, 0.9, 0.8, 0.3, 30.4, [Wrong(f"{name} <b>", "x", "a", "b")])
    for name, letters, right in zip(("En", "Ru", "Yo"), ("Latin", "Cyrillic", "Latin"), RIGHT,
                                    strict=True)
]  # fmt: skip


def picture() -> Html:
    return multilingual_scores(SCORES)


def test_the_average_by_hand() -> None:
    """Shares of each text over three languages: 2/3, 1, 1/3, 1/3; their mean is 7/12."""
    said = averaged(SCORES)
    assert said.startswith("3 languages: 58.3 % on average, give or take 31.3.")
    assert "(It would be 27.9 if the 12 answers were to as many different" in said
    assert said.endswith("The lowest is Ru, 50.0 %.")
    assert averaged([]).startswith("No language")
    assert averaged(SCORES[:1]).startswith("1 language: 75.0 %")


def test_ticks_and_buttons_change_the_average(reader: Reader) -> None:
    page = reader.open(picture().html)
    words = page.locator("[role=status]")
    assert words.inner_text() == averaged(SCORES)
    page.locator("input").nth(1).uncheck()
    assert words.inner_text() == averaged([SCORES[0], SCORES[2]])
    assert page.locator(".ls-off").count() == 1
    for name, some in {"all": SCORES, "Latin letters": [SCORES[0], SCORES[2]],
                       "other letters": [SCORES[1]], "none": []}.items():  # fmt: skip
        page.locator("button", has_text=name).click()
        assert words.inner_text() == averaged(some)
    page.locator("input").nth(2).focus()
    page.keyboard.press("Space")
    assert words.inner_text() == averaged([SCORES[2]])
    assert not reader.complaints


def test_a_language_is_looked_at(reader: Reader) -> None:
    page = reader.open(picture().html)
    for i, score in enumerate(SCORES):
        page.locator("select").select_option(str(i))
        assert page.locator(".ls-told").inner_text() == alt_text(score)
        assert score.wrong[0].text in page.locator(".ls-wrong li").inner_text()
        assert "read as a; it is b" in page.locator(".ls-wrong li").inner_text()


def test_python_and_the_script_draw_the_same(reader: Reader) -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    shown = []
    for html in (dead, picture().html):
        page = reader.open(html)
        shown.append([page.locator(part).inner_html()
                      for part in ("[role=status]", ".ls-told", ".ls-wrong")])  # fmt: skip
    assert shown[0] == shown[1]
    assert 'class="ls-choose" hidden' in dead
    assert repr(picture()).startswith("[scores of 3 languages: 3 languages: 58.3 %")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="all with as many answers"):
        multilingual_scores([])
    with pytest.raises(ValueError, match="all with as many answers"):
        multilingual_scores([SCORES[0], SCORES[1]._replace(right="1")])
