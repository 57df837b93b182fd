"""The path to a method: what is left, in which order, and why the rest is not; as Python says."""

from __future__ import annotations

import itertools

import pytest
from browser import Reader

from deepdive.evaluate.confidence_intervals import Interval
from deepdive_book.ch07.figures.choose_explanation import (
    ABOUT,
    NEEDS,
    RUNS,
    Way,
    choose_explanation,
    ordered,
)
from deepdive_book.kit.markup import Html

KINDS = {"blanks": "texts with blanks", "plain": "whole texts"}


def both(first: float, second: float) -> dict[str, Interval]:
    return {
        "blanks": Interval(first, first - 0.05, first + 0.05),
        "plain": Interval(second, second - 0.05, second + 0.05),
    }


WAYS = [
    Way("gradient", "7.2", "gradients", 1, both(0.4, 0.3)),
    Way("LIME <b>", "7.5", "answers", 300, both(0.9, 0.5)),
    Way("occlusion", "7.4", "answers", 15, both(0.84, 0.7)),
    Way("rollout", "7.10", "attention", 1, both(0.5, 0.2)),
    Way("probing", "3.13", "gradients", about="model"),
    Way("rationales", "7.7", "gradients", about="itself"),
]
VALUES = [
    {"name": w.name, "page": w.page, "needs": w.needs, "runs": w.runs, "about": w.about,
     "right": {k: [round(100 * x) for x in v] for k, v in w.right.items()}}
    for w in WAYS
]  # fmt: skip


def picture() -> Html:
    return choose_explanation(WAYS, KINDS, "measured on toys")


def test_every_path_is_pythons(reader: Reader) -> None:
    page = reader.open(picture().html)
    lists = page.locator("select").all()
    choices = [list(options) for options in (ABOUT, NEEDS, RUNS, KINDS)]
    for state in itertools.product(*choices):
        for select, options, value in zip(lists, choices, state, strict=True):
            select.select_option(index=options.index(value))
        order, told = ordered(VALUES, *state)
        assert page.locator("[role=status]").inner_text() == told
        assert page.locator("li b").all_inner_texts() == [WAYS[i].name for i, _ in order]
        assert page.locator("li i").all_inner_texts() == [why for _, why in order]
    assert not reader.complaints


def test_what_is_left_and_why() -> None:
    order, told = ordered(VALUES, "answer", "answers", 50, "blanks")
    assert told == "First of 1: occlusion, 84 %."
    whys = {WAYS[i].name: why for i, why in order}
    assert whys["gradient"] == "needs weights and gradients"
    assert whys["rollout"] == "needs its attention"
    assert whys["LIME <b>"] == "takes 300 runs"
    assert whys["probing"] == "answers another question"
    _, told = ordered(VALUES, "answer", "answers", 1000, "blanks")
    assert told == "First of 2: LIME <b>, 90 %. Its interval overlaps with: occlusion."
    _, told = ordered(VALUES, "answer", "gradients", 1000, "plain")
    assert told == "First of 4: occlusion, 70 %."
    assert ordered(VALUES, "model", "answers", 1, "plain")[1] == "Nothing is left: allow more."


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        choose_explanation([], KINDS, "")
    with pytest.raises(ValueError, match="expected one of"):
        choose_explanation([Way("a", "7.1", "everything")], KINDS, "")
    with pytest.raises(ValueError, match=r"a: measured for \[\]"):
        choose_explanation([Way("a", "7.1", "answers")], KINDS, "")
