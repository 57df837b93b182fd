"""The game of the intruder: what it tells and when, by mouse, key and finger, and how it counts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import DESK, PHONE, PLACED, Reader, Size
from playwright.sync_api import Browser, Page
from scipy.stats import binomtest

from deepdive_book.kit.markup import Html
from deepdive_book.studies.figures.word_intrusion_game import Question, word_intrusion_game

HOSTILE = '</script><img src=x onerror="document.title=1">'
WORDS = [
    ["tea", "milk", "frog", "cup", "sugar", "mug"],
    ["sea", "ship", "sail", "port", "wave", "tax"],
    ["loan", "bank", "rate", "debt", "moon", "fee"],
    ["Über", "“x”", "owl", "crow", "rook", "jay"],
]
QUESTIONS = [
    Question(words, place, topic, group, top)
    for words, place, topic, group, top in zip(
        WORDS,
        (2, 5, 4, 1),
        (4, 17, 8, 0),
        ("NMF", "BERTopic", "NMF", "NMF"),
        (["tea", "kettle"], ["anchor"], (), ()),
        strict=True,
    )
]
GAME = word_intrusion_game(QUESTIONS)


def picture() -> Html:
    return word_intrusion_game(QUESTIONS)


def words(page: Page) -> Any:
    return page.locator(".wi-words button")


def said(page: Page) -> str:
    return page.locator("[role=status]").inner_text()


def score(page: Page) -> str:
    return page.locator(".wi-score").inner_text()


def test_a_press_tells_what_is_right_and_counts_once(reader: Reader) -> None:
    page = reader.open(GAME.html)
    assert page.locator(".wi-place").inner_text() == "Question 1 of 4"
    assert score(page) == "by chance 1 in 6"
    numbered = [f"{i} {word}" for i, word in enumerate(WORDS[0], 1)]
    assert words(page).all_inner_texts() == numbered
    words(page).nth(2).click()
    assert said(page) == (
        "Right: “frog” is the intruder. The others are of topic 4, found by NMF. "
        "Its words: tea, kettle."
    )
    assert score(page) == "1 of 1; by chance 1 in 6"
    assert "✓ the intruder" in words(page).nth(2).inner_text()
    assert "✗" not in page.locator(".wi-words").inner_text()
    words(page).nth(0).click(force=True)
    assert score(page) == "1 of 1; by chance 1 in 6", "answered already"
    page.get_by_role("button", name="Next question").click()
    assert said(page) == ""
    words(page).nth(0).click()
    assert said(page).startswith("Wrong: “tax” is the intruder. The others are of topic 17, found")
    assert "✗ of the topic" in words(page).nth(0).inner_text()
    assert "✓ the intruder" in words(page).nth(5).inner_text()
    assert score(page) == "1 of 2; by chance 1 in 6"
    page.get_by_role("button", name="Next question").click()
    words(page).nth(4).click()
    assert said(page).endswith("Its words: loan, bank, rate, debt, fee.")
    assert not reader.complaints


def test_no_answer_is_there_before_the_press(reader: Reader) -> None:
    page = reader.open(GAME.html)
    for _ in QUESTIONS:
        seen = page.evaluate(
            "(() => { const body = document.body.cloneNode(true); "
            "body.querySelectorAll('script, style').forEach(x => x.remove()); "
            "return body.innerHTML; })()"
        )
        assert not [word for word in ("kettle", "anchor", "NMF", "BERTopic", "✓") if word in seen]
        kinds = words(page).evaluate_all(
            "x => x.map(e => [...e.attributes].map(a => a.name + a.value).join() + "
            "JSON.stringify(getComputedStyle(e).borderTopColor))"
        )
        assert len(set(kinds)) == 1, "the words look alike"
        words(page).nth(0).click()
        page.locator(".wi-next").click()
    assert "BERTopic" not in GAME.html
    assert "kettle" not in GAME.html
    assert '"intruder"' not in GAME.html


def test_all_by_keyboard_and_the_words_are_told_politely(reader: Reader) -> None:
    page = reader.open(GAME.html)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "1 tea"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert score(page) == "0 of 1; by chance 1 in 6"
    for key, right in (("6", 1), ("9", 1), ("5", 2), ("2", 3)):
        if key != "9":
            assert page.evaluate("document.activeElement.className") == "wi-next"
            page.keyboard.press("Enter")
        before = score(page)
        page.keyboard.press(key)
        if key == "9":
            assert score(page) == before
        else:
            assert score(page).startswith(f"{right} of ")
    status = page.locator("[role=status]")
    assert status.get_attribute("aria-live") == "polite"
    assert status.count() == 1
    page.keyboard.press("Enter")
    assert said(page) == "The game is over: 3 of 4 right."
    assert page.evaluate("document.activeElement.className") == "wi-end"
    page.keyboard.press("1")
    assert said(page) == "The game is over: 3 of 4 right."
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator(".wi-place").inner_text() == "Question 1 of 4"
    assert score(page) == "by chance 1 in 6", "played again, it counts anew"


def test_by_finger(chromium: Browser, tmp_path: Path) -> None:
    context = chromium.new_context(has_touch=True, viewport={"width": PHONE[0], "height": PHONE[1]})
    page = context.new_page()
    page.set_content(f"<!DOCTYPE html><meta charset=utf-8><body>{GAME.html}")
    words(page).nth(2).tap()
    assert score(page) == "1 of 1; by chance 1 in 6"
    page.locator(".wi-next").tap()
    assert page.locator(".wi-place").inner_text() == "Question 2 of 4"
    assert all(box["height"] >= 44 for box in (x.bounding_box() for x in words(page).all()))
    context.close()


@pytest.mark.parametrize("hits", [(0, 0), (3, 20), (12, 8), (12, 20)])
def test_the_score_of_each_group_has_wilson_s_interval(
    reader: Reader, hits: tuple[int, int]
) -> None:
    counts = {"NMF": (hits[0], 12), "BERTopic": (hits[1], 20)}
    asked = [
        replace(QUESTIONS[0], words=[*WORDS[0][:5], f"word{i}"], group=group)
        for group, (_, n) in counts.items()
        for i in range(n)
    ]
    page = reader.open(word_intrusion_game(asked).html)
    right = [i < k for k, n in counts.values() for i in range(n)]
    page.evaluate(
        """right => { for (const good of right) {
        document.querySelectorAll(".wi-words button")[good ? 2 : 3].click();
        document.querySelector(".wi-next").click(); } }""",
        right,
    )
    counts["all"] = (sum(hits), 32)
    names = page.locator(".wi-group").all_inner_texts()
    assert names == ["BERTopic", "NMF", "all"]
    for i, name in enumerate(names):
        k, n = counts[name]
        low, high = binomtest(k, n).proportion_ci(method="wilson")
        told = page.locator(".wi-number").nth(i).inner_text()
        found = re.fullmatch(r"(\d+) of (\d+): (\d+)% \[(\d+)%, (\d+)%\]", told)
        assert found, told
        assert [int(x) for x in found.groups()[:2]] == [k, n]
        want = [100 * k / n, 100 * low, 100 * high]
        assert [int(x) for x in found.groups()[2:]] == pytest.approx(want, abs=0.501)
        bar = page.locator(".wi-bar").nth(i)
        left, _, wide, _ = bar.locator("i").evaluate(PLACED)
        assert [left, wide] == pytest.approx([100 * low, 100 * (high - low)], abs=1e-3)
        assert bar.locator("s").evaluate(PLACED)[0] == pytest.approx(100 / 6, abs=1e-3)
    assert "chance, 17%" in page.locator(".wi-note").inner_text()


def test_without_groups_the_score_is_the_reader_s(reader: Reader) -> None:
    page = reader.open(word_intrusion_game([replace(q, group="") for q in QUESTIONS[:1]]).html)
    words(page).nth(2).click()
    assert "found by" not in said(page)
    page.get_by_role("button", name="See the score").click()
    assert page.locator(".wi-group").all_inner_texts() == ["you"]
    assert page.locator(".wi-number").inner_text().startswith("1 of 1: 100% [")


def test_words_are_shown_as_words(reader: Reader) -> None:
    five = ["a", "b", "c", "d", HOSTILE]
    page = reader.open(word_intrusion_game([Question(five, 4, 1, HOSTILE)], caption=HOSTILE).html)
    assert page.locator(".wi-caption").first.inner_text() == HOSTILE
    assert words(page).nth(4).inner_text() == f"5 {HOSTILE}"
    words(page).nth(4).click()
    assert said(page).startswith(f"Right: “{HOSTILE}” is the intruder.")
    page.locator(".wi-next").click()
    assert page.locator(".wi-group").inner_text() == HOSTILE
    assert page.locator(".wi img").count() == 0
    assert page.title() == ""
    page = reader.open(GAME.html)
    for _ in range(3):
        words(page).nth(0).click()
        page.locator(".wi-next").click()
    assert words(page).all_inner_texts()[:2] == ["1 Über", "2 “x”"]
    assert not reader.complaints


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits(reader: Reader, size: Size) -> None:
    page = reader.open(GAME.html, size)
    fits = "document.documentElement.scrollWidth <= innerWidth"
    before = page.locator(".wi-words").bounding_box()
    assert before
    for _ in QUESTIONS:
        words(page).nth(0).click()
        assert page.evaluate(fits)
        after = page.locator(".wi-words").bounding_box()
        assert after
        assert after == before, "an answer moves nothing"
        page.locator(".wi-next").click()
    assert page.evaluate(fits)
    for name, number in zip(
        page.locator(".wi-group").all(), page.locator(".wi-number").all(), strict=True
    ):
        left, right = name.bounding_box(), number.bounding_box()
        assert left
        assert right
        assert left["y"] == pytest.approx(right["y"], abs=2)
    small = page.locator(".wi :is(button, p, span)").evaluate_all(
        "x => x.filter(e => parseFloat(getComputedStyle(e).fontSize) < 14).length"
    )
    assert small == 0


def test_without_scripts_the_questions_stand_there_without_answers() -> None:
    dead = re.sub(r"<script>.*?</script>", "", GAME.html, flags=re.DOTALL)
    assert dead.count("<li>") == 4
    assert "<li>tea, milk, frog, cup, sugar, mug</li>" in dead
    assert 'class="wi-game" hidden' in dead
    assert "NMF" not in dead
    assert repr(GAME) == "[a game: Which word is the intruder? 4 questions of 6 words]"
    assert GAME.html == word_intrusion_game(QUESTIONS).html


@pytest.mark.parametrize(
    ("questions", "fault"),
    [
        ([], "questions is empty"),
        ([Question(["a", "b"], 0, 1)], "question 1 has 2 words; expected 3 to 9"),
        ([QUESTIONS[0], replace(QUESTIONS[1], words=WORDS[1][:5])], "question 2: expected 6 words"),
        ([replace(QUESTIONS[0], words=[*WORDS[0][:5], "TEA"])], "question 1: expected 6 words, ea"),
        ([replace(QUESTIONS[0], intruder=6)], "intruder is 6; expected 0 to 5"),
        ([replace(QUESTIONS[0], intruder=-1)], "intruder is -1; expected 0 to 5"),
        ([replace(QUESTIONS[0], top=["frog"])], "question 1: top has 'frog', the intruder"),
        ([QUESTIONS[0], replace(QUESTIONS[1], group="")], "question 2 has the group '', question"),
        (QUESTIONS * 200, "the game has .* bytes, at most 100,000: ask fewer"),
    ],
)
def test_what_cannot_be_asked_is_refused(questions: list[Question], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        word_intrusion_game(questions)
