"""Tokens masked by a press: the input and the target are those of `corrupt_spans`."""

from __future__ import annotations

import pytest
import torch
from browser import Reader
from hypothesis import given
from hypothesis import strategies as st

from deepdive.training.objectives import corrupt_spans
from deepdive_book.ch05.figures.span_corruption_demo import SENTINELS, corrupt, span_corruption_demo
from deepdive_book.kit.markup import Html

TEXTS = ["thank you for inviting me to your party last week", "no <tags> here"]


def picture() -> Html:
    return span_corruption_demo(TEXTS, (2, 3, 8))


@given(st.sets(st.integers(0, 9), min_size=1))
def test_input_and_target_are_the_library_s(hidden: set[int]) -> None:
    words = TEXTS[0].split()
    where = torch.tensor([[i in hidden for i in range(len(words))]])
    both = corrupt_spans(torch.arange(len(words))[None], where, 99)
    names = {99 - i: name for i, name in enumerate(SENTINELS)} | dict(enumerate(words))
    assert corrupt(words, hidden) == tuple(" ".join(names[i] for i in x[0].tolist()) for x in both)


def test_a_press_masks_and_unmasks(reader: Reader) -> None:
    page = reader.open(picture().html)
    hidden, words = {2, 3, 8}, TEXTS[0].split()
    for press in (None, 0, 9, 3, 0, 1):
        if press is not None:
            page.locator(".sn-words button").nth(press).click()
            hidden ^= {press}
        said = tuple(page.locator("dd").nth(i).inner_text() for i in (0, 1))
        assert said == corrupt(words, hidden)
    page.locator("select").select_option("1")
    assert page.locator("dd").nth(0).inner_text() == TEXTS[1]
    assert not reader.complaints


def test_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="got 0"):
        span_corruption_demo([], ())
