"""A prompt that is built is the one that was asked, and its answer is the kept one."""

from __future__ import annotations

from itertools import product

import pytest
from browser import Reader

from deepdive_book.ch06a.figures.few_shot_prompt import Built, few_shot_prompt, load_cached
from deepdive_book.kit.markup import Html

SHARES = {"".join(p): [100 * i + 7, 999 - 100 * i] for i, p in enumerate(product("012", repeat=2))}
BUILT = Built(
    [("a $& <b>warm</b> film", 1), ("dull", 0)], ["it moves", "N/A"], ("negative", "positive"),
    "Review: {}\nSentiment:", SHARES,
)  # fmt: skip


def picture() -> Html:
    return few_shot_prompt(BUILT, "12")


def test_the_first_state_is_said_and_written() -> None:
    assert BUILT.prompt("12", 0) == (
        "Review: a $& <b>warm</b> film\nSentiment: positive\n\n"
        "Review: dull\nSentiment: positive\n\nReview: it moves\nSentiment:"
    )
    assert BUILT.told("12", 0) == (
        "2 demonstrations, 1 of them with a false label. Of the two words, “positive” gets "
        "50.7 %: the model says positive."
    )
    assert BUILT.told("00", 0).startswith("No demonstrations. ")
    assert BUILT.told("00", 0) in few_shot_prompt(BUILT).plain


def test_each_state_is_python_s(reader: Reader) -> None:
    page = reader.open(picture().html)
    for key, number in product(("12", "00", "10", "21", "02"), (0, 1)):
        for i, state in enumerate(key):
            page.locator("fieldset").nth(i).locator(f"input[value='{state}']").check()
        page.locator("select").select_option(str(number))
        assert page.locator("[role=status]").inner_text() == BUILT.told(key, number)
        assert page.locator("pre").text_content() == BUILT.prompt(key, number)
    assert not reader.complaints


def test_a_missing_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="got 8 prompts, expected 9, each with 2"):
        few_shot_prompt(
            Built(BUILT.demonstrations, BUILT.asked, BUILT.words, BUILT.ask,
                  {k: v for k, v in SHARES.items() if k != "00"})
        )  # fmt: skip


def test_what_was_kept_is_whole() -> None:
    built = load_cached()
    assert few_shot_prompt(built).plain == f"[a prompt: {built.told('0000', 0)}]"
    assert built.asked[-1] == "N/A"
