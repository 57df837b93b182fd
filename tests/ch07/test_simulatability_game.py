"""The game of foreseeing a model: no answer before the end, and scores that count right."""

from __future__ import annotations

import re

import pytest
from browser import Reader

from deepdive_book.ch07.figures.simulatability_game import Example, TestText, simulatability_game
from deepdive_book.kit.markup import Html

NAMES = ["negative", "positive"]
EXAMPLES = [Example(["<b>", "is", "cold", "."], [0.0, 1.0, -4.0, 2.0], 0),
            Example(["it", "is", "warm", "."], [3.0, 0.0, 1.0, 0.0], 1)]  # fmt: skip
NEW = [TestText(["a", "</script>"], 0, 1), TestText(["b"], 1, 1), TestText(["c"], 1, 0)]
GAME = simulatability_game(EXAMPLES, NEW, NAMES)


def picture() -> Html:
    return simulatability_game(EXAMPLES, NEW, NAMES)


def choose(page, classes: str) -> None:
    for i, c in enumerate(classes):
        page.locator(".fs li").nth(i).locator("input").nth(int(c)).check()


def said(page) -> str:
    return page.locator(".fs [role=status]").inner_text()


def bars(page) -> list[str]:
    return page.locator(".ex-bar span").evaluate_all(
        "x => x.map(e => getComputedStyle(e).visibility)"
    )


def test_the_score_counts_the_model_and_not_the_truth(reader: Reader) -> None:
    page = reader.open(GAME.html)
    assert set(bars(page)) == {"hidden"}
    next_ = page.locator(".fs-next")
    next_.click(force=True)  # it is dimmed
    assert set(bars(page)) == {"hidden"}, "first guess all"
    choose(page, "110")
    next_.click()
    assert set(bars(page)) == {"visible"}
    assert "it says" not in page.locator(".fs").inner_text()
    choose(page, "01")
    next_.click()
    assert said(page) == (
        "Right without colours: 1 of 3; with them: 2 of 3, 1 changed. "
        "Who always says the truth has 1 of 3."
    )
    told = page.locator(".fs-told").all_inner_texts()
    assert told == ["✓ it says negative, against the truth", "✓ it says positive",
                    "✗ it says positive, against the truth"]  # fmt: skip
    page.locator(".fs-again").click()
    assert set(bars(page)) == {"hidden"}
    assert said(page).startswith("0 of 3 guessed")
    assert not reader.complaints


def test_by_keyboard(reader: Reader) -> None:
    page = reader.open(GAME.html)
    for key in ("Tab", "Space", "Tab", "ArrowRight", "Tab", "Space", "Tab", "Enter", "Enter"):
        page.keyboard.press(key)
    assert said(page).startswith("Right without colours: ")
    assert page.evaluate("document.activeElement.className") == "fs-again"


def test_no_answer_stands_in_the_page_and_sizes_have_no_sign() -> None:
    still = re.sub(r"<script>.*?</script>", "", GAME.html, flags=re.DOTALL)
    assert '"said"' not in GAME.html
    assert "it says" not in still
    assert "title=" not in still
    assert "&lt;b&gt;" in still
    assert still.count("hidden>") == 3 + 2  # the choices and both buttons
    turned = [Example(e.words, [-v for v in e.values], e.said) for e in EXAMPLES]
    assert simulatability_game(turned, NEW, NAMES).html == GAME.html


@pytest.mark.parametrize(
    ("examples", "new", "names", "fault"),
    [
        ([], NEW, NAMES, "got 0 examples"),
        (EXAMPLES, NEW, ["one"], "1 classes"),
        (EXAMPLES, [TestText(["a"], 2, 0)], NAMES, r"text 3: class \(2, 0\)"),
        ([Example(["a"], [1.0, 2.0], 0)], NEW, NAMES, "one finite number a word"),
    ],
)
def test_what_cannot_be_asked_is_refused(examples, new, names, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        simulatability_game(examples, new, names)
