"""What is paid back is what the library's rules say, in Python and in the script; its size."""

from __future__ import annotations

import itertools

import pytest
import torch
from browser import Reader
from torch import nn

from deepdive.core.hooks import HookPoint
from deepdive.explain.backward.deeplift import deeplift
from deepdive.explain.backward.relevance import deep_taylor, lrp
from deepdive_book.ch07.figures.lrp_demo import (
    LINE,
    RULES,
    Stall,
    alt_text,
    format_number,
    lrp_demo,
    shares,
)
from deepdive_book.kit.markup import Html

STALL = Stall(("Ann", "<Bo>", "Cy"), (2, 1, 1), ("soup", "cake"), ((2, -2, 0), (0, 2, -1)), (1, 0))


class Network(nn.Module):
    """The same as a model: each input is a row (1, 3, 1)."""

    def __init__(self, gifts: bool) -> None:
        super().__init__()
        self.rows, self.first, self.last = HookPoint(), nn.Linear(3, 2), nn.Linear(2, 1, bias=False)
        self.first.weight.data = torch.tensor(STALL.weights, dtype=torch.float32)
        self.first.bias.data = torch.tensor(STALL.gifts, dtype=torch.float32) * gifts
        self.last.weight.data.fill_(1.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.first(self.rows(x).flatten(1)).relu())[0]


def picture() -> Html:
    return lrp_demo(STALL)


def library(hours: tuple[int, ...], rule: int, gifts: bool) -> list[float]:
    model, x = Network(gifts), torch.tensor(hours, dtype=torch.float32)[None, :, None]
    _, kind, number = RULES[rule]
    if kind == "deeplift":
        found = deeplift(model, "rows", lambda: model(x), torch.full((3, 1), float(number)))[0]
    elif kind == "positive":
        found = deep_taylor(model, "rows", lambda: model(x))
    else:
        found = lrp(model, "rows", lambda: model(x), float(number))
    return list(found[0].tolist())


@pytest.mark.parametrize("rule", range(len(RULES)))
def test_shares_are_the_library_s(rule: int) -> None:
    for hours in itertools.product(range(4), repeat=3):
        for gifts in (False, True):
            found = shares(STALL, hours, rule, gifts).inputs
            assert found == pytest.approx(library(hours, rule, gifts), abs=1e-5), hours


def test_the_script_says_what_python_says(reader: Reader) -> None:
    page = reader.open(lrp_demo(STALL).html)
    told = page.locator("[role=status]")
    assert told.inner_text() == alt_text(STALL, STALL.hours, 0, False)
    sliders = page.locator("[type=range]")
    for hours, gifts in (((2, 1, 1), False), ((3, 1, 2), True), ((0, 2, 0), False)):
        for slider, x in zip(sliders.all(), hours, strict=True):
            slider.focus()
            page.keyboard.press("Home")
            for _ in range(x):
                page.keyboard.press("ArrowRight")
        page.locator("[type=checkbox]").set_checked(gifts)
        for rule in range(len(RULES)):
            page.locator("select").select_option(index=(rule))
            assert told.inner_text() == alt_text(STALL, hours, rule, gifts)
            found = shares(STALL, hours, rule, gifts)
            flows = [
                v for line, u in zip(found.lines, found.units, strict=True) for v in (*line, u)
            ]
            wide = page.locator(".paid-flow").evaluate_all(
                "all => all.map(x => +x.getAttribute('stroke-width'))"
            )
            assert wide == pytest.approx([LINE * abs(v) for v in flows], abs=6e-3)
            sums = [sum(found.inputs), sum(found.units), found.owed]
            assert page.locator(".paid-sum").all_text_contents() == [format_number(v) for v in sums]
    assert not reader.complaints


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 3 inputs and 2 units"):
        lrp_demo(STALL._replace(hours=(1, 2)))
    with pytest.raises(ValueError, match="expected rows of 3"):
        lrp_demo(STALL._replace(weights=((1,), (2,))))
    with pytest.raises(ValueError, match="expected 0 to 3"):
        lrp_demo(STALL._replace(hours=(4, 0, 0)))
