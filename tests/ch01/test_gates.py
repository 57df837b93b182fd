"""The LSTM in the reader's hands: a belt with gates, and a live LSTM equal to the page's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from browser import PHONE, Reader

from deepdive_book.ch01.figures.gates import live_lstm, lstm_belt
from deepdive_book.kit.markup import Html

WORDS = ["buy", "like", "milk", "tea", "shop"]
THINGS = ["milk", "tea"]
TOKENS = [0, 2, 1, 3, 4]


def puzzle() -> Html:
    words = ["like", "tea", "buy", "milk", "have", "tea", "shop"]
    return lstm_belt(words, [0, -1, 0, 1, 0, -1, 0], 1, ("milk", "tea"))


def weights(d: int = 6) -> tuple[torch.Tensor, ...]:
    draw = torch.Generator().manual_seed(0)
    sizes = ((5, 4 * d), (d, 4 * d), (4 * d,), (d, 2))
    return tuple(torch.randn(*size, generator=draw) for size in sizes)


def picture() -> Html:
    return live_lstm(*weights(), TOKENS, WORDS, THINGS)


def worked(tokens: list[int], shut: int = -1) -> tuple[torch.Tensor, torch.Tensor]:
    """The cells (T, d), and each answer's part; the write gates are shut at the word `shut`."""
    W, U, b, out = weights()
    h = c = torch.zeros(len(U))
    cells = []
    for t, token in enumerate(tokens):
        i, f, g, o = (W[token] + h @ U + b).chunk(4)
        i = torch.zeros_like(i) if t == shut else torch.sigmoid(i)
        c = torch.sigmoid(f) * c + i * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        cells.append(c)
    return torch.stack(cells), (h @ out).softmax(0)


def numbers(text: str) -> list[float]:
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", text.replace("−", "-"))]


def test_the_belt_says_what_is_wrong_with_it() -> None:
    with pytest.raises(ValueError, match="2 numbers for 1 words"):
        lstm_belt(["buy"], [1, 0], 0, ("milk", "tea"))
    with pytest.raises(ValueError, match="-1, 0 or \\+1"):
        lstm_belt(["buy"], [2], 0, ("milk", "tea"))
    assert "all open, it carries +0 at the end" in repr(puzzle())


def test_the_belt_stands_without_a_script_and_is_the_same_each_time() -> None:
    assert puzzle().html == puzzle().html
    still = puzzle().html.split("<script>")[0]
    assert re.findall(r"<b>([+−]?\d)</b>", still) == ["+1", "+1", "0", "0", "+1", "+1", "0", "0"]


def test_the_reader_solves_the_belt_by_keyboard(reader: Reader) -> None:
    page = reader.open(puzzle().html, PHONE)
    said = page.locator(".dd-belt-said")
    assert "not what you were asked to buy" in said.inner_text()
    for gate, shut in (("write", (1, 5)), ("keep", (3,)), ("show", (0, 1, 2, 3, 4, 5))):
        for t in shut:
            page.locator(f".dd-belt-{gate} button").nth(t).focus()
            page.keyboard.press("Enter")
    assert said.inner_text().endswith("In the shop you hear +1: milk. Solved.")
    assert page.locator(".dd-belt-show button").nth(0).get_attribute("aria-label") == (
        "show at like: 0, shut"
    )
    page.get_by_text("Write nothing, keep half").click()
    assert page.locator(".dd-belt-carried b").last.inner_text() == "+.01"
    page.get_by_text("Show me a way").click()
    assert said.inner_text().endswith("Solved.")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert not reader.complaints


def test_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="vocab and answers ask for"):
        live_lstm(*weights(), TOKENS, WORDS[:-1], THINGS)


@pytest.mark.parametrize("change", ["none", "a word", "a gate"])
def test_the_browser_computes_what_the_page_computes(reader: Reader, change: str) -> None:
    page = reader.open(picture().html, PHONE)
    tokens, shut = list(TOKENS), -1
    if change != "none":
        page.locator(".dd-words button").nth(1).click()
    if change == "a word":
        page.locator(".dd-swaps button").nth(3).click()
        tokens[1] = 3
    if change == "a gate":
        page.locator("[data-gate=write]").click()
        shut = 1
    cells, parts = worked(tokens, shut)
    told = numbers(" ".join(page.locator(".dd-answers span").all_inner_texts()))
    assert told == pytest.approx((100 * parts).tolist(), abs=0.51)
    for t, k in ((1, 0), (3, 4), (4, 5)):
        page.locator("input[type=number]").fill(str(k))
        page.locator(".dd-words button").nth(t).click()
        page.locator(".dd-line button").nth(1).click()  # Next: the write gate
        line = page.locator(".dd-said li").nth(1).inner_text()
        assert numbers(line)[-1] == pytest.approx(cells[t, k].item(), abs=0.006)
    assert not reader.complaints


def test_one_gate_after_the_other_and_the_arrow_keys(reader: Reader) -> None:
    page = reader.open(picture().html, PHONE)
    lines = page.locator(".dd-said li")
    assert lines.nth(1).inner_text() == "…"
    page.locator(".dd-line button").nth(1).focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.locator(".dd-words [aria-pressed=true]").inner_text() == "milk"
    assert lines.nth(0).inner_text().startswith("Keep:")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert len(page.locator(".dd-map .dd-cover").all()) == 5 * 6
    assert page.locator(".dd-still").is_hidden()
    assert not reader.complaints


def test_paper_has_the_still_picture(reader: Reader) -> None:
    page = reader.open(picture().html, media="print")
    assert page.locator(".dd-still").is_visible()
    assert page.locator(".controls").is_hidden()
    assert "holds most" in str(page.locator(".dd-still img").get_attribute("alt"))


def test_the_page_says_of_the_fifteen_networks_what_it_showed(root: Path) -> None:
    page = root / "chapters/01_before/08_lstm.ipynb"
    told = re.search(r"right after fifty words\. (.*?)\.\"", page.read_text(encoding="utf-8"))
    assert told is not None
    part = {}
    for entry in told[1].split("; "):
        name, low, high = re.fullmatch(r"(.*): (\d+)% to (\d+)%", entry).groups()  # type: ignore[union-attr]
        part[name] = (int(low), int(high))
    assert part["LSTM, bias 3.9"][0] > 90  # all five learned it
    assert part["LSTM, bias 1"][1] < 35  # all five still guess
    assert part["Elman"][0] < 35  # of Elman's one found a way
    assert part["Elman"][1] > 90
