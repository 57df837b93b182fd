"""A pair as lessons: what each word sees and has to say, by click and key, on desk and phone."""

from __future__ import annotations

import re

import pytest
from browser import Reader

from deepdive_book.ch04.figures.cross_lingual_masks import Example, cross_lingual_masks, describe
from deepdive_book.kit.markup import Html

WORDS = ["she", "drinks", None, "elle", "boit", "du <lait>"]
LINES = [0, 0, 0, 1, 1, 1]
ALL = [[True] * 6] * 6
OWN = [[a == b for b in LINES] for a in LINES]
LESSONS = [
    Example("masked", WORDS, LINES, OWN, {2: "milk"}, "One line at a time."),
    Example("both", WORDS, LINES, ALL, {2: "milk"}, "Both lines."),
    Example("mixed", ["she", "boit", None], [0] * 3, [[True] * 3] * 3, {2: "milk"}, "One line.",
           [False, True, False], 1),
]  # fmt: skip


def picture() -> Html:
    return cross_lingual_masks(LESSONS)


def test_each_word_of_each_lesson(reader: Reader) -> None:
    page = reader.open(picture().html)
    for i, lesson in enumerate(LESSONS):
        page.locator(".tl-choose button").nth(i).click()
        plain = lesson.plain()
        assert page.locator(".tl-told").inner_text() == lesson.told
        boxes = page.locator(".tl-word")
        assert boxes.count() == len(lesson.words)
        picked = page.locator(".tl-pick")
        assert picked.count() == 1
        for t, word in enumerate(plain["words"]):
            boxes.nth(t).click()
            assert boxes.nth(t).locator("span").inner_text() == word
            assert page.locator("[role=status]").inner_text() == describe(plain, t)
            kinds = [b.get_attribute("class") or "" for b in boxes.all()]
            assert ["tl-seen" in k for k in kinds] == [bool(x) for x in plain["sees"][t]]
            assert [k.split()[1] for k in kinds] == plain["kinds"]
            assert boxes.nth(t).get_attribute("aria-pressed") == "true"
    assert not reader.complaints


def test_keys_walk_over_both_lines(reader: Reader) -> None:
    page = reader.open(picture().html)
    page.locator(".tl-pick").focus()
    told = [page.locator("[role=status]").inner_text()]
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        told.append(page.locator("[role=status]").inner_text())
    plain = LESSONS[0].plain()
    assert told == [describe(plain, t) for t in (2, 3, 4, 5, 5, 5)]
    page.keyboard.press("ArrowLeft")
    assert page.locator("[role=status]").inner_text() == describe(plain, 4)


def test_python_and_the_script_draw_the_same(reader: Reader) -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    shown = []
    for html in (dead, picture().html):
        page = reader.open(html)
        words = [b.get_attribute("class") for b in page.locator(".tl-word").all()]
        texts = [b.inner_text().split() for b in page.locator(".tl-word").all()]
        shown.append([words, texts, page.locator("[role=status]").inner_text()])
    assert shown[0] == shown[1]
    assert 'class="tl-choose" hidden' in dead
    assert picture().html == picture().html
    assert repr(picture()).startswith("[masked: One line at a time. The masked token attends ")


def test_it_opens_at_the_lesson_that_was_asked_for(reader: Reader) -> None:
    html = cross_lingual_masks(LESSONS, first=1).html
    dead = re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    for one in (dead, html):
        page = reader.open(one)
        assert page.locator(".tl-told").inner_text() == "Both lines."
        assert page.locator(".tl-seen.tl-two").count() == 3
        pressed = page.locator(".tl-choose button[aria-pressed=true]")
        assert [each.text_content() for each in pressed.all()] == ["both"]
    assert repr(cross_lingual_masks(LESSONS, first=1)).startswith(
        "[both: Both lines. The masked token attends to "
    )
    with pytest.raises(ValueError, match="first: got 3, expected 0 to 2"):
        cross_lingual_masks(LESSONS, first=3)


def test_what_is_said_of_a_word() -> None:
    plain = LESSONS[0].plain()
    assert describe(plain, 2) == "The masked token attends to she, drinks. Its target is “milk”."
    assert describe(plain, 3) == "“elle” attends to boit, du <lait>. It has no target."
    alone = Example("alone", ["a"], [0], [[True]], {}, "").plain()
    assert describe(alone, 0) == "“a” attends to no other token. It has no target."


@pytest.mark.parametrize(
    ("lessons", "words"),
    [
        ([], "at least one"),
        ([Example("x", ["a"], [0, 1], [[True]], {}, "")], "1 words need 1 lines"),
        ([Example("x", ["a"], [2], [[True]], {}, "")], "0 or 1"),
        ([Example("x", ["a"], [0], [[True, True]], {}, "")], "1 x 1"),
        (
            [Example("x", ["a"], [0], [[True]], {3: "b"}, "")],
            r"asks or picks at \[3, 3\]",
        ),
    ],
)
def test_what_does_not_fit_is_refused(lessons: list[Example], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        cross_lingual_masks(lessons)
