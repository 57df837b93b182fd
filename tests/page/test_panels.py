"""Drawings of which a reader chooses one; two kitchens by hand; a block cut between machines."""

from __future__ import annotations

import pytest
import torch
from browser import PHONE, Reader

from deepdive.layers.machines import Machines
from deepdive.models.text import gpt2, megatron
from deepdive.page.panels import panels
from deepdive.page.split_block import split_block, told, weights
from deepdive.page.two_kitchens import bowls, shares, two_kitchens
from deepdive.page.two_kitchens import told as said

ORDER, A, B = [3, 1], [[1, 2, 0, 1], [2, 0, 1, 1]], [[2, 1], [0, 1], [0, 1], [1, 2]]
GIVEN = [torch.tensor(each).float() for each in (ORDER, A, B)]


def test_each_combination_is_drawn_once_and_the_first_is_shown() -> None:
    seen = []

    def draw(a: str, b: str) -> tuple[str, str]:
        seen.append(a + b)
        return f'<svg role="img"><!--{a}{b}--></svg>', f"{a} <{b}>"

    html = panels("name", {"first": ["1", "2"], "second": ["x", "y"]}, draw).html
    assert seen == ["1x", "1y", "2x", "2y"]
    assert html.count('class="pn-one"') == 4
    assert html.count('<svg aria-hidden="true">') == 4  # the words beside it say what it shows
    assert html.count('class="pn-one" hidden') == 3
    assert "2 &lt;y&gt;" in html


def test_nothing_to_choose_and_too_much_are_refused() -> None:
    with pytest.raises(ValueError, match="came 1 combinations of 1 choices"):
        panels("name", {"a": ["1"]}, lambda a: ("", ""))
    with pytest.raises(ValueError, match="came 25 combinations"):
        panels("name", {"a": "12345", "b": "12345"}, lambda a, b: ("", ""))


@pytest.mark.parametrize("cut_A", ["columns", "rows"])
@pytest.mark.parametrize("cut_B", ["columns", "rows"])
def test_who_speaks_gets_the_whole_list_and_who_does_not_gets_it_by_one_cut(
    cut_A: str, cut_B: str
) -> None:
    right = (bowls(GIVEN[0] @ GIVEN[1]) @ GIVEN[2]).tolist()
    assert right == [20, 28]
    assert shares(*GIVEN, cut_A, cut_B, True)[-1].sum(0).tolist() == right
    silent = shares(*GIVEN, cut_A, cut_B, False)[-1].sum(0).tolist()
    assert (silent == right) == ((cut_A, cut_B) == ("columns", "rows"))
    assert ("one kitchen alone" in said(*GIVEN, cut_A, cut_B, False)) == (silent != right)


def test_the_lists_by_hand() -> None:
    portions, known, lists = shares(*GIVEN, "columns", "rows", True)
    assert portions.tolist() == [[5, 6, 0, 0], [0, 0, 1, 4]]
    assert known.tolist() == [[8, 8, 0, 0], [0, 0, 4, 4]]
    assert lists.tolist() == [[16, 16], [4, 12]]
    _, apart, _ = shares(*GIVEN, "rows", "rows", False)
    assert bowls(torch.tensor([3.0]))[0] + bowls(torch.tensor([1.0]))[0] == 8
    assert apart.tolist() == [[4, 8, 0, 0], [0, 0, 4, 4]]


def test_an_order_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"got \(3,\), \(2, 4\), \(4, 2\)"):
        two_kitchens([1, 2, 3], A, B)


def test_what_a_machine_holds_is_what_the_library_gives_it() -> None:
    with torch.device("meta"):
        for ways in (1, 2, 4):
            machines = Machines()
            machines.ways = ways
            model = megatron.split(gpt2.gpt2(gpt2.TINY), machines)
            block = model.decoder.stack.blocks[0]
            held = sum(p.numel() for p in block.parameters() if p.ndim == 2)
            assert held * ways == weights(32, 64)
    assert weights(3072, 12_288) == 113_246_208
    assert told(3072, 32, 12_288, 4) == (
        "Each of 4 machines holds 8 of 32 heads and 3,072 of 12,288 units: 28.3 of 113.2 million "
        "weights. For each token it takes part in two sums of 3,072 numbers."
    )
    assert "says nothing" in told(64, 4, 256, 1)


def test_heads_that_cannot_be_cut_are_refused() -> None:
    with pytest.raises(ValueError, match="ways=3 does not divide n_heads=4"):
        split_block(64, 4, 256, (2, 3))


def test_what_is_chosen_is_shown(reader: Reader) -> None:
    page = reader.open(two_kitchens(ORDER, A, B).html)
    shown = page.locator(".pn-one:visible p")
    assert shown.inner_text() == said(*GIVEN, "columns", "rows", True)
    lists = page.locator("select")
    for i, value in enumerate(("rows", "columns", "no")):
        lists.nth(i).select_option(value)
    assert shown.inner_text() == said(*GIVEN, "rows", "columns", False)
    assert page.locator(".pn-one:visible").count() == 1


@pytest.mark.parametrize(
    "html", [two_kitchens(ORDER, A, B).html, split_block(64, 4, 256, (2, 4)).html]
)
def test_it_fits_a_phone(reader: Reader, html: str) -> None:
    page = reader.open(html, PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
