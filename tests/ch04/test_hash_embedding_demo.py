"""Two letters and their slices: Python's drawing, and what the reader types."""

from __future__ import annotations

import pytest
import torch
from browser import Reader

from deepdive.layers.hashed import HashEmbedding
from deepdive_book.ch04.figures.hash_embedding_demo import (
    LENGTH,
    LENGTHS,
    alt_text,
    hash_embedding_demo,
    slices,
)
from deepdive_book.kit.markup import Html

PAIRS = [("中", "อ"), ("T", "联"), ("a", "b")]


def picture() -> Html:
    return hash_embedding_demo(PAIRS)


def test_the_slices_are_those_of_the_library() -> None:
    letters = "中อT联aÅ😀"
    buckets = HashEmbedding(8).buckets(torch.tensor([*map(ord, letters)]))
    assert [slices(letter) for letter in letters] == buckets.tolist()


def test_the_lengths_are_the_largest_primes_below_the_released_one() -> None:
    primes = [n for n in range(16_000, LENGTH) if all(n % d for d in range(2, 128))]
    assert [*LENGTHS] == primes[:-9:-1]


def test_letters_of_eight_lengths_share_one_slice_at_most() -> None:
    """To share two they must lie as far apart as the product of two lengths, which no two do."""
    assert LENGTHS[-1] * LENGTHS[-2] > 0x110000
    assert alt_text("中", "อ") == (
        "中 is 20,013, อ is 3,629; they are 16,384 apart. 8 of 8 slices are the same: to the model "
        "they are one and the same letter."
    )
    assert alt_text("中", "อ", apart=True).endswith("0 of 8 slices are the same: the model can "
                                                "tell them apart.")  # fmt: skip
    assert "1 of 8" in alt_text("A", chr(ord("A") + LENGTHS[2]), apart=True)
    assert alt_text("A", "A") == "A is 65. It is one letter, twice."


@pytest.mark.parametrize("pairs", [[], [("a",)], [("ab", "c")]])
def test_what_is_no_pair_is_refused(pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(ValueError, match="expected one or more pairs of characters"):
        hash_embedding_demo(pairs)


def test_what_is_typed_is_hashed_as_here(reader: Reader) -> None:
    page = reader.open(hash_embedding_demo(PAIRS).html)
    status, words = page.locator("[role=status]"), page.locator(".hl svg text")
    one, other = (page.locator("input[type=text]").nth(i) for i in (0, 1))
    assert status.inner_text() == alt_text(*PAIRS[0])
    for first, second, apart in [("T", "联", False), ("A", "😀", True), ("ช", "上", True),
                                 ("ช", "上", False), ("e", "e", False)]:  # fmt: skip
        one.fill(first)
        other.fill(second)
        page.locator("input[type=radio]").nth(int(apart)).check()
        assert status.inner_text() == alt_text(first, second, apart)
        row = [str(n) for letter in (first, second) for n in slices(letter, apart)]
        shown = words.all_text_contents()
        assert shown[2:10] + shown[12:] == row
        assert (shown[0], shown[10]) == (first, second)


def test_the_buttons_choose_a_pair(reader: Reader) -> None:
    page = reader.open(hash_embedding_demo(PAIRS).html)
    page.locator(".hl-pairs button").nth(1).click()
    assert page.locator("[role=status]").inner_text() == alt_text(*PAIRS[1])
    page.locator("input[type=text]").first.fill("")
    assert page.locator("[role=status]").inner_text() == alt_text(*PAIRS[1])


def test_without_scripts_the_first_pair_stays() -> None:
    html = hash_embedding_demo(PAIRS).html
    assert html.split("<script")[0].count("<rect") == 16
    assert alt_text(*PAIRS[0]) in html
