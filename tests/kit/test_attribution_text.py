"""Text coloured by explanations: signs, sizes and words as given, with colour and without."""

from __future__ import annotations

import pytest
import torch
from browser import DESK, PHONE, Reader, Size

from deepdive_book.ch07.toys.review_words import SENTENCE
from deepdive_book.kit.attribution_text import AGAINST, FOR, HALF, colored

WORDS = SENTENCE.split()
VALUES = torch.linspace(-3, 6, len(WORDS))
METHODS = {"a": VALUES, "b < c": -VALUES, "nothing": torch.zeros(len(WORDS))}


def test_bars_are_the_values_up_for_and_down_against(reader: Reader) -> None:
    page = reader.open(colored(WORDS, METHODS).html)
    for row, values in zip(page.locator(".ex-row").all(), METHODS.values(), strict=True):
        most = float(values.abs().max()) or 1.0
        words = row.locator(".ex-word").all()
        assert [w.inner_text().strip() for w in words] == WORDS
        for w, value in zip(words, values.tolist(), strict=True):
            assert w.get_attribute("title") == f"{value / most:+.2f}"
            line = w.locator(".ex-bar").bounding_box()
            bar = w.locator(".ex-bar span").bounding_box()
            high = HALF * abs(value) / most
            assert bar["height"] == pytest.approx(high, abs=0.06)
            start = line["y"] + HALF - (high if value > 0 else 0)
            assert bar["y"] == pytest.approx(start, abs=0.06)


def test_the_plain_form_and_the_names() -> None:
    picture = colored(["not", "bad"], {"b < c": [1.0, -2.0]})
    assert repr(picture) == "b < c: not +0.50 bad -1.00"
    assert "b &lt; c" in picture.html
    assert f"{FOR}3c" in picture.html
    assert f"{AGAINST}78" in picture.html


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_no_word_leaves_the_screen(reader: Reader, size: Size) -> None:
    page = reader.open(colored(WORDS, METHODS).html, size)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= size[0]


@pytest.mark.parametrize(
    "methods", [{}, {"a": [1.0]}, {"a": [1.0, float("nan")]}, {"a": [[1.0, 2.0]]}]
)
def test_what_does_not_fit_is_refused(methods: dict[str, list[float]]) -> None:
    with pytest.raises(ValueError, match="expected"):
        colored(["not", "bad"], methods)
