"""Two kitchens by hand: which cuts of two matrices leave the result as it is."""

from __future__ import annotations

import pytest
import torch
from browser import Reader

from deepdive_book.ch05.figures.tensor_parallel_matrices import (
    alt_text,
    round_up,
    shares,
    tensor_parallel_matrices,
)
from deepdive_book.kit.markup import Html

ORDER, A, B = [3, 1], [[1, 2, 0, 1], [2, 0, 1, 1]], [[2, 1], [0, 1], [0, 1], [1, 2]]
GIVEN = [torch.tensor(each).float() for each in (ORDER, A, B)]


def picture() -> Html:
    return tensor_parallel_matrices(ORDER, A, B)


@pytest.mark.parametrize("cut_A", ["columns", "rows"])
@pytest.mark.parametrize("cut_B", ["columns", "rows"])
def test_who_speaks_gets_the_whole_list_and_who_does_not_gets_it_by_one_cut(
    cut_A: str, cut_B: str
) -> None:
    right = (round_up(GIVEN[0] @ GIVEN[1]) @ GIVEN[2]).tolist()
    assert right == [20, 28]
    assert shares(*GIVEN, cut_A, cut_B, True)[-1].sum(0).tolist() == right
    silent = shares(*GIVEN, cut_A, cut_B, False)[-1].sum(0).tolist()
    assert (silent == right) == ((cut_A, cut_B) == ("columns", "rows"))
    assert ("one kitchen alone" in alt_text(*GIVEN, cut_A, cut_B, False)) == (silent != right)


def test_the_lists_by_hand() -> None:
    portions, known, lists = shares(*GIVEN, "columns", "rows", True)
    assert portions.tolist() == [[5, 6, 0, 0], [0, 0, 1, 4]]
    assert known.tolist() == [[8, 8, 0, 0], [0, 0, 4, 4]]
    assert lists.tolist() == [[16, 16], [4, 12]]
    _, apart, _ = shares(*GIVEN, "rows", "rows", False)
    assert round_up(torch.tensor([3.0]))[0] + round_up(torch.tensor([1.0]))[0] == 8
    assert apart.tolist() == [[4, 8, 0, 0], [0, 0, 4, 4]]


def test_an_order_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"got \(3,\), \(2, 4\), \(4, 2\)"):
        tensor_parallel_matrices([1, 2, 3], A, B)


def test_what_is_chosen_is_shown(reader: Reader) -> None:
    page = reader.open(picture().html)
    shown = page.locator(".living-status")
    assert shown.inner_text() == alt_text(*GIVEN, "columns", "rows", True)
    lists = page.locator("select")
    for i, value in enumerate(("rows", "columns", "no")):
        lists.nth(i).select_option(value)
    assert shown.inner_text() == alt_text(*GIVEN, "rows", "columns", False)
