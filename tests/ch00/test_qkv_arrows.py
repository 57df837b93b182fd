"""Arrows to drag: the browser's sums are PyTorch's, by mouse, keys and slider, at two sizes."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
import torch
from browser import DESK, PHONE, Reader, Size
from playwright.sync_api import Page

from deepdive.core import SoftmaxAttention
from deepdive_book.ch00.figures.qkv_arrows import MARGIN, WIDTH, alt_text, mix, qkv_arrows
from deepdive_book.kit.markup import Html

KEYS = {"cow": (0, 1), "duck": (1, 0), "cat": (-1, 0), "dog": (0.5, -2)}
VALUES = {
    "cow": ("red", (0.85, 0.1, 0.1)),
    "duck": ("blue", (0.1, 0.2, 0.85)),
    "cat": ("yellow", (0.95, 0.85, 0.1)),
    "dog": ("<green>", (0.1, 0.6, 0.2)),
}
HTML = qkv_arrows("moo", (1, 2), KEYS, VALUES, reach=4).html


def picture() -> Html:
    return qkv_arrows("moo", (1, 2), KEYS, VALUES, reach=4)


def expected(query: Any, keys: Any) -> dict[str, list[float]]:
    """Scores, shares and answer, by the library's attention."""
    q, k = (torch.tensor(x, dtype=torch.float64) for x in (query, keys))
    v = torch.tensor([color for _, color in VALUES.values()], dtype=torch.float64)
    scores = k @ q
    answer = SoftmaxAttention()(q[None, None, None], k[None, None], v[None, None], scale=1.0)
    return {
        "scores": scores.tolist(),
        "shares": scores.softmax(0).tolist(),
        "answer": answer[0, 0, 0].tolist(),
    }


def state(page: Page) -> dict[str, Any]:
    """What the script has now, held against the library's sums; what is shown agrees with it."""
    now: dict[str, Any] = json.loads(str(page.locator(".dda").get_attribute("data-state")))
    *keys, query = now["places"]
    for name, numbers in expected(query, keys).items():
        assert now[name] == pytest.approx(numbers, abs=1e-6), name
    said = alt_text([label for label, _ in VALUES.values()], now["shares"])
    assert page.locator("[role=status]").text_content() == said
    widths = page.locator(".dda-halo").evaluate_all(
        "x => x.map(e => e.getAttribute('stroke-width'))"
    )
    assert [float(w) / 26 for w in widths] == pytest.approx(now["shares"])
    color = page.locator(".dda-called").evaluate("x => getComputedStyle(x).backgroundColor")
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)]
    assert parts == pytest.approx(now["answer"], abs=0.51 / 255)
    return now


def test_python_mixes_as_the_library_does() -> None:
    keys, colors = list(KEYS.values()), [color for _, color in VALUES.values()]
    for query in ((1, 2), (0, 0), (-3000.0, 4000.0)):
        want = expected([float(x) for x in query], keys)
        for got, name in zip(mix(query, keys, colors), want, strict=True):
            assert got == pytest.approx(want[name], abs=1e-9)


def test_without_scripts_the_first_state_stands_there(reader: Reader) -> None:
    dead = re.sub(r"<script>.*?</script>", "", HTML, flags=re.DOTALL)
    still, live = reader.open(dead), reader.open(HTML)
    for what in ("tbody", "[role=status]"):
        assert still.locator(what).inner_text() == live.locator(what).inner_text()
    assert not still.locator("input").is_visible()
    assert not still.locator(".dda-how").is_visible()
    assert live.locator("input").is_visible()
    tips = "x => x.map(e => ['x2', 'y2'].map(a => +e.getAttribute(a)))"
    first, second = (page.locator(".dda-tip line").evaluate_all(tips) for page in (still, live))
    assert [pytest.approx(place, abs=0.01) for place in first] == second
    assert "&lt;green&gt;" in HTML.split("<script>")[0]
    assert not reader.complaints


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_a_tip_is_dragged_and_stays_within_reach(reader: Reader, size: Size) -> None:
    page = reader.open(HTML, size=size)
    frame = page.locator(".dda svg").bounding_box()
    assert frame is not None
    unit = frame["width"] / WIDTH * (WIDTH / 2 - MARGIN) / 4
    middle = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2

    def drag(start: tuple[float, float], end: tuple[float, float]) -> None:
        page.mouse.move(middle[0] + unit * start[0], middle[1] - unit * start[1])
        page.mouse.down()
        page.mouse.move(middle[0] + unit * end[0], middle[1] - unit * end[1], steps=3)
        page.mouse.up()

    before = state(page)
    drag((1, 2), (3, -0.5))
    after = state(page)
    assert after["places"][-1] == pytest.approx([3, -0.5], abs=0.05)
    assert after["places"][:-1] == before["places"][:-1]
    assert after["shares"][1] > 0.6, "the duck is heard"
    drag((0, 1), (0, 3))
    assert state(page)["places"][0] == pytest.approx([0, 3], abs=0.05), "a key moves too"
    drag((3, -0.5), (30, 0))
    assert math.hypot(*state(page)["places"][-1]) == pytest.approx(4)
    page.get_by_role("button").click()
    assert state(page) == before
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1], "nothing overflows"
    smallest = page.evaluate(
        "Math.min(...[...document.querySelectorAll('.dda-tip text')].map(x => x.getScreenCTM().a"
        " * parseFloat(getComputedStyle(x).fontSize)))"
    )
    assert smallest > 13
    assert not reader.complaints


def test_keys_and_slider_do_what_the_mouse_does(reader: Reader) -> None:
    page = reader.open(HTML)
    tip = page.get_by_role("slider", name="moo, query")
    tip.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Shift+ArrowLeft"):
        page.keyboard.press(key)
    assert state(page)["places"][-1] == pytest.approx([1 + 0.4 - 0.05, 1.8])
    assert tip.get_attribute("aria-valuetext") == "1.35 to the right, 1.8 up"
    length = page.get_by_label("Length of moo")
    shares = []
    for to in ("0.1", "1", "3.5"):
        length.evaluate("(x, to) => { x.value = to; x.dispatchEvent(new Event('input')); }", to)
        now = state(page)
        assert math.hypot(*now["places"][-1]) == pytest.approx(float(to))
        assert now["places"][-1][0] / now["places"][-1][1] == pytest.approx(1.35 / 1.8)
        shares.append(max(now["shares"]))
    assert shares == sorted(shares), "the longer, the firmer"
    assert shares[0] < 0.3


@pytest.mark.parametrize(
    ("query", "keys", "values", "words"),
    [
        ((1, 2), {}, {}, "name each key once"),
        ((1, 2), KEYS, {"cow": VALUES["cow"]}, "name each key once"),
        ((1, 2, 3), KEYS, VALUES, "the arrow of 'moo' is"),
        ((1, math.nan), KEYS, VALUES, "two finite numbers"),
        ((3, 4), KEYS, VALUES, "length 5; expected it within 4"),
    ],
)
def test_what_cannot_be_drawn_is_refused(query: Any, keys: Any, values: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        qkv_arrows("moo", query, keys, values, reach=4)
