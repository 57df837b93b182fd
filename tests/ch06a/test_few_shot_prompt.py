"""The figure shows the prompt that the model scored, and the saved probability."""

from __future__ import annotations

from itertools import product

import pytest
from browser import Reader

from deepdive_book.ch06a.figures.few_shot_prompt import Prompts, few_shot_prompt, load_saved
from deepdive_book.kit.markup import Html

PER_MILLE = {
    "".join(p): [100 * i + 7, 999 - 100 * i] for i, p in enumerate(product("012", repeat=2))
}
PROMPTS = Prompts(
    [("a $& <b>warm</b> film", 1), ("dull", 0)], ["it moves", "N/A"], ("negative", "positive"),
    "Review: {}\nSentiment:", PER_MILLE,
)  # fmt: skip


def picture() -> Html:
    return few_shot_prompt(PROMPTS, "12")


def test_the_first_state_has_the_prompt_and_its_status() -> None:
    assert PROMPTS.prompt("12", 0) == (
        "Review: a $& <b>warm</b> film\nSentiment: positive\n\n"
        "Review: dull\nSentiment: positive\n\nReview: it moves\nSentiment:"
    )
    assert PROMPTS.status("12", 0) == (
        "2 demonstrations, 1 of them with a flipped label. p(positive) = 50.7%: the prediction is "
        "positive."
    )
    assert PROMPTS.status("00", 0).startswith("No demonstrations. ")
    assert PROMPTS.status("00", 0) in few_shot_prompt(PROMPTS).plain


def test_each_state_is_python_s(reader: Reader) -> None:
    page = reader.open(picture().html)
    for key, number in product(("12", "00", "10", "21", "02"), (0, 1)):
        for i, state in enumerate(key):
            page.locator("fieldset").nth(i).locator(f"input[value='{state}']").check()
        page.locator("select").select_option(str(number))
        assert page.locator("[role=status]").inner_text() == PROMPTS.status(key, number)
        assert page.locator("pre").text_content() == PROMPTS.prompt(key, number)
    assert not reader.complaints


def test_a_missing_probability_is_refused() -> None:
    with pytest.raises(ValueError, match="got 8 prompts, expected 9, each with 2"):
        few_shot_prompt(
            Prompts(PROMPTS.demonstrations, PROMPTS.queries, PROMPTS.words,
                    PROMPTS.template,
                  {k: v for k, v in PER_MILLE.items() if k != "00"})
        )  # fmt: skip


def test_the_saved_prompts_are_complete() -> None:
    saved = load_saved()
    assert few_shot_prompt(saved).plain == f"[a few-shot prompt: {saved.status('0000', 0)}]"
    assert saved.queries[-1] == "N/A"
