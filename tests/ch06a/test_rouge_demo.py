"""A summary beside a reference: marks, scores and sentence are those of ROUGE after each click."""

from __future__ import annotations

import random
import re

import pytest
from browser import Reader

from deepdive.evaluate.summaries import longest_common, rouge, words
from deepdive_book.ch06a.figures.rouge_demo import alt_text, marks, rouge_demo, scores
from deepdive_book.kit.markup import Html

REFERENCE = "The patient denies fever. Her left knee has hurt for 3 weeks."
SUMMARIES = {
    "as written": "Patient denies fever; left knee hurts for the 3 weeks.",
    "turned": "Her left knee has hurt for 3 weeks. The patient denies fever.",
}
OTHERS = {"denies": "reports", "left": "right"}


def picture() -> Html:
    return rouge_demo(REFERENCE, SUMMARIES, OTHERS)


def test_marks_add_up_to_rouge() -> None:
    draws = random.Random(0)
    for _ in range(100):
        a, b = ([draws.choice("abcd") for _ in range(draws.randint(1, 9))] for _ in range(2))
        mine, theirs = marks(a, b), marks(b, a)
        assert [sum(row) for row in mine] == [sum(row) for row in theirs]
        assert sum(mine.order) == longest_common(a, b)
        kept = [[w for w, keep in zip(t, m.order, strict=True) if keep]
                for t, m in ((a, mine), (b, theirs))]  # fmt: skip
        assert longest_common(kept[0], b) == len(kept[0])
        exact = rouge(" ".join(a), " ".join(b)).values()
        assert scores(a, b) == [int(100 * value + 0.5) for value in exact]


def test_a_click_turns_a_word_crosses_it_out_and_puts_it_back(reader: Reader) -> None:
    page = reader.open(picture().html)
    reference, now = words(REFERENCE), words(SUMMARIES["as written"])

    def holds(text: list[str]) -> None:
        assert page.locator("p").inner_text() == alt_text(text, reference)
        shown = [int(bar.inner_text()) for bar in page.locator(".mw-bar b").all()]
        assert shown == scores(text, reference)
        for place, one, other in (("reference", reference, text), ("summary", text, reference)):
            boxes = page.locator(f".mw-{place} .mw-word:not(.mw-gone)").all()
            names = [(box.get_attribute("class") or "").split() for box in boxes]
            for kind, row in zip(("shared", "pair", "order"), marks(one, other), strict=True):
                assert [f"mw-{kind}" in name for name in names] == row

    holds(now)
    word = page.locator(".mw-summary button").nth(1)
    word.focus()
    page.keyboard.press("Enter")
    holds([now[0], "reports", *now[2:]])
    page.keyboard.press("Space")
    holds([now[0], *now[2:]])
    assert word.get_attribute("aria-label") == "reports, crossed out"
    page.keyboard.press("Enter")
    holds(now)
    for button in page.locator(".mw-summary button").all():
        button.click()
        if "mw-gone" not in (button.get_attribute("class") or ""):
            button.click()
    holds([])
    page.locator(".mw-choose button").nth(1).click()
    holds(words(SUMMARIES["turned"]))
    assert not reader.complaints


def test_python_and_the_script_draw_the_same(reader: Reader) -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    shown = []
    for html in (dead, picture().html):
        page = reader.open(html)
        kinds = [box.get_attribute("class") for box in page.locator(".mw-word").all()]
        shown.append((kinds, page.locator(".mw").inner_text().split()[-80:]))
    assert shown[0][0] == shown[1][0]
    assert shown[0][1][-20:] == shown[1][1][-20:]
    assert repr(picture()).startswith("[a summary beside a reference: 10 words beside 12: ")


def test_what_does_not_fit_is_refused() -> None:
    for reference, summaries in ((".", SUMMARIES), (REFERENCE, {}), (REFERENCE, {"empty": "?"})):
        with pytest.raises(ValueError, match="reference, summaries: expected"):
            rouge_demo(reference, summaries, OTHERS)
