"""The strip of buckets, its numbers, and its axis are those of the library's buckets."""

from __future__ import annotations

import pytest
import torch
from browser import Reader

from deepdive.positions import CausalT5Bias, T5Bias
from deepdive_book.ch05.figures.relative_position_buckets import (
    alt_text,
    bucket_labels,
    relative_position_buckets,
    ticks,
)
from deepdive_book.kit.markup import Html

SCHEMES = {"both sides": T5Bias(1, 8, 20), "behind only": CausalT5Bias(1, 8, 20)}
LENGTH = 40


def picture() -> Html:
    return relative_position_buckets(SCHEMES, LENGTH, at=20)


def test_the_first_state_in_words() -> None:
    assert "Query at 20, key at 0: distance −20, bucket 3" in picture().plain


def test_each_state_is_python_s(reader: Reader) -> None:
    page = reader.open(picture().html)
    for i, scheme in enumerate(SCHEMES.values()):
        table = scheme.buckets(torch.arange(1 - LENGTH, LENGTH)).tolist()
        page.locator("select").select_option(str(i))
        for at, key in ((0, 0), (20, 25), (39, 3), (12, 12), (5, 30)):
            page.locator("input").nth(0).fill(str(at))
            page.locator("input").nth(1).fill(str(key))
            said = page.locator("[role=status]").inner_text()
            assert said == alt_text(table, LENGTH, at, key, scheme.sides == 1)
            for line, labels in (
                (".bk-numbers", bucket_labels(table, LENGTH, at, scheme.sides == 1)),
                (".bk-ticks", ticks(LENGTH, at)),
            ):
                shown = page.locator(f"{line} b").all_inner_texts()
                assert shown == [words for _, words in labels]
    assert not reader.complaints


def test_wide_buckets_have_their_numbers_at_their_middles() -> None:
    table = CausalT5Bias(1, 8, 20).buckets(torch.arange(1 - LENGTH, LENGTH)).tolist()
    assert bucket_labels(table, LENGTH, 39, True) == [(12.5, "7")]  # keys 0 to 25: 14 or more away
    assert ticks(LENGTH, 39) == [(7, "−32"), (39, "0")]


def test_no_such_position_is_refused() -> None:
    with pytest.raises(ValueError, match="position 40 of 40"):
        relative_position_buckets(SCHEMES, LENGTH, at=40)
    with pytest.raises(ValueError, match="got 0 schemes"):
        relative_position_buckets({}, LENGTH, at=4)
