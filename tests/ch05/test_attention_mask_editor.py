"""A mask to draw: the browser's sums are PyTorch's, by mouse, finger, keys and presets."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest
import torch
from browser import DESK, PHONE, PLACED, Reader, Size
from playwright.sync_api import Page

from deepdive.core import SoftmaxAttention
from deepdive.core.masks import Causal, Global, Window
from deepdive_book.ch05.figures.attention_mask_editor import alt_text, attention_mask_editor, effect
from deepdive_book.kit.markup import Html

WORDS = ["Rain", "fell", "<so>", "we", "stayed", "home"]
N = len(WORDS)
GENERATOR = torch.Generator().manual_seed(3)
Q, K, V = torch.randn(3, N, 4, generator=GENERATOR, dtype=torch.double)
SCORES = 2 * Q @ K.T
PATTERNS = {
    "full": Window(N, N).dense(N)[0, 0],
    "causal": Causal().dense(N)[0, 0],
    "window": Window(1, 1).dense(N)[0, 0],
    "one global": (Window(0, 0) | Global((2,))).dense(N)[0, 0],
    "first alone": torch.tensor([[s == 0 and t < N - 1 for s in range(N)] for t in range(N)]),
}
# What a book's theme does to tables and lists in an output.
THEME = "<style>.cell table td, .cell table th { padding: 8px 12px; border: 1px solid } "
THEME += ".cell dl dd { margin-left: 2rem }</style>"
HTML = attention_mask_editor(WORDS, SCORES, V, PATTERNS, start="window").html


def picture() -> Html:
    return attention_mask_editor(WORDS, SCORES, V, PATTERNS, start="window")


def expected(mask: Any) -> dict[str, Any]:
    """What a mask does, by the library's attention and by powers of its matrix."""
    q, k, v = (x[None, None] for x in (Q, K, V))
    open_ = torch.tensor(mask)
    ours, full = (SoftmaxAttention()(q, k, v, m, scale=2.0)[0, 0] for m in (open_, None))
    heard, layers = torch.eye(N), 0
    while heard[-1, 0] == 0 and layers < N:
        heard, layers = ((open_.float() @ heard) > 0).float(), layers + 1
    weights = SCORES.masked_fill(~open_, -torch.inf).softmax(-1).nan_to_num(0)
    return {
        "weights": weights.flatten().tolist(),
        "pairs": int(open_.sum()),
        "rows": ((ours - full).norm(dim=1) / full.norm(dim=1)).tolist(),
        "loss": ((ours - full).norm() / full.norm()).item(),
        "layers": layers if heard[-1, 0] else -1,
    }


def hold(found: dict[str, Any], mask: Any) -> None:
    want = expected(mask)
    weights = [weight for row in found["weights"] for weight in row]
    assert weights == pytest.approx(want["weights"], abs=1e-9)
    assert found["pairs"] == want["pairs"]
    assert found["rows"] == pytest.approx(want["rows"], abs=1e-9)
    assert found["loss"] == pytest.approx(want["loss"], abs=1e-9)
    path = found["path"]
    assert len(path) - 1 == want["layers"]
    if path:
        assert (path[0], path[-1]) == (N - 1, 0)
        assert all(mask[t][s] for t, s in pairwise(path))


def state(page: Page) -> dict[str, Any]:
    """What the script has now, held against the library; what is shown agrees with it."""
    now: dict[str, Any] = json.loads(str(page.locator(".ddm").get_attribute("data-state")))
    hold(now, now["mask"])
    python = effect(now["mask"], SCORES.tolist(), V.tolist())
    shown = [page.locator(f".ddm-{what} > span").first for what in ("cost", "reach", "loss")]
    assert [part.text_content() for part in shown] == alt_text(WORDS, python)
    squares = page.locator(".ddm-sq").evaluate_all(
        "x => x.map(e => [e.ariaPressed, e.textContent, e.classList.contains('ddm-way')])"
    )
    way = {t * N + s for t, s in pairwise(python.path)}
    for i, (pressed, text, on) in enumerate(squares):
        open_, weight = now["mask"][i // N][i % N], python.weights[i // N][i % N]
        assert pressed == str(open_).lower()
        assert text == (f"{100 * weight:.0f}" if open_ else "")
        assert on == (i in way)
    wide = [bar[2] for bar in page.locator(".ddm-lost b").evaluate_all(f"x => x.map({PLACED})")]
    assert wide == pytest.approx([min(100 * row, 100) for row in python.rows], abs=0.01)
    return now


def square(page: Page, t: int, s: int) -> Any:
    return page.locator(".ddm-sq").nth(t * N + s)


def test_python_works_out_what_the_library_does() -> None:
    for mask in (*PATTERNS.values(), torch.zeros(N, N).bool()):
        found = effect(mask.tolist(), SCORES.tolist(), V.tolist())
        hold(vars(found), mask.tolist())
    assert alt_text(WORDS, found)[1] == "“home” never hears of “Rain”."


def test_presets_and_their_names(reader: Reader) -> None:
    page = reader.open(HTML)
    assert state(page)["mask"] == PATTERNS["window"].tolist()
    for name, mask in PATTERNS.items():
        page.get_by_role("button", name=name, exact=True).click()
        assert state(page)["mask"] == mask.tolist()
        pressed = page.locator(".ddm-presets [aria-pressed=true]").all_text_contents()
        assert pressed == [name]
    square(page, 0, 5).click()
    assert page.locator(".ddm-presets [aria-pressed=true]").count() == 0
    said = page.locator("[role=status]").text_content() or ""
    assert said == " ".join(
        alt_text(WORDS, effect(state(page)["mask"], SCORES.tolist(), V.tolist()))
    )
    assert not reader.complaints


def test_a_mouse_opens_closes_and_draws(reader: Reader) -> None:
    page = reader.open(HTML)
    square(page, 5, 0).click()
    assert state(page)["path"] == [5, 0]
    square(page, 5, 0).click()
    assert state(page)["mask"] == PATTERNS["window"].tolist(), "one press, one change"
    places = [square(page, 1, s).bounding_box() for s in (3, 4, 5)]
    assert all(places)
    middles = [(p["x"] + p["width"] / 2, p["y"] + p["height"] / 2) for p in places if p]
    page.mouse.move(*middles[0])
    page.mouse.down()
    for middle in middles[1:]:
        page.mouse.move(*middle, steps=4)
    page.mouse.up()
    assert state(page)["mask"][1] == [True, True, True, True, True, True]
    below = square(page, 4, 0)
    below.hover()
    assert not state(page)["mask"][4][0], "a mouse that is not held draws nothing"


def test_a_finger_switches_one_square(reader: Reader) -> None:
    context = reader.context.browser.new_context(  # type: ignore[union-attr]
        has_touch=True, viewport={"width": PHONE[0], "height": PHONE[1]}
    )
    page = context.new_page()
    page.set_content(f"<!DOCTYPE html><body>{HTML}")
    before = state(page)["mask"]
    square(page, 4, 1).tap()
    after = state(page)["mask"]
    assert [(t, s) for t in range(N) for s in range(N) if before[t][s] != after[t][s]] == [(4, 1)]
    square(page, 4, 1).tap()
    assert state(page)["mask"] == before
    context.close()


def test_keys_move_and_switch(reader: Reader) -> None:
    page = reader.open(HTML)
    page.get_by_role("button", name="first alone", exact=True).focus()
    page.keyboard.press("Tab")
    for key in (
        "ArrowUp",
        *2 * ["ArrowDown"],
        *4 * ["ArrowRight"],
        "ArrowUp",
        "ArrowLeft",
        "Space",
    ):
        page.keyboard.press(key)
    assert state(page)["mask"][1][3]
    name = page.locator(":focus").get_attribute("aria-label") or ""
    assert re.fullmatch(r"fell asks we: open, \d+ percent", name)
    assert page.locator(".ddm-sq[tabindex='0']").count() == 1, "the grid is one stop of Tab"
    page.keyboard.press("Enter")
    assert not state(page)["mask"][1][3]


@pytest.mark.parametrize("size", [DESK, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_can_be_read(reader: Reader, size: Size, scheme: str) -> None:
    words = ["Rain", "fell", "all", "day", "long", "so", "we", "stayed", "home"]
    html = attention_mask_editor(
        words, torch.zeros(9, 9), torch.eye(9), {"full": torch.ones(9, 9)}
    ).html
    page = reader.open(f"{THEME}<div class=cell>{html}</div>", size, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    first, second = (square(page, 0, s).bounding_box() for s in (0, 1))
    assert first
    assert second
    assert second["x"] - first["x"] < first["width"] + 2, "the theme's cells push squares apart"
    boxes = [square.bounding_box() for square in page.locator(".ddm-sq").all()]
    assert all(box and min(box["width"], box["height"]) >= 27 for box in boxes)
    smallest = (
        "Math.min(...[...document.querySelectorAll('.ddm *')].filter(x => x.textContent.trim())"
    )
    assert page.evaluate(f"{smallest}.map(x => parseFloat(getComputedStyle(x).fontSize)))") >= 12
    assert page.evaluate(
        "[...document.querySelectorAll('.ddm-sq')].every(x => x.scrollWidth <= x.clientWidth + 1)"
    ), "a number is wider than its square"


def test_without_scripts_and_on_paper_the_first_state_stands_there(reader: Reader) -> None:
    dead = re.sub(r"<script>.*?</script>", "", HTML, flags=re.DOTALL)
    still, live = reader.open(dead), reader.open(HTML)
    for what in (".ddm-sq", ".ddm-told span"):
        assert still.locator(what).all_text_contents() == live.locator(what).all_text_contents()
    for what in (".ddm-sq.ddm-way", ".ddm-step.ddm-on"):
        assert still.locator(what).count() == live.locator(what).count() == 5
    assert not still.locator(".ddm-presets").is_visible()
    assert not still.locator("button.ddm-sq").count()
    paper = reader.open(HTML, media="print")
    assert not paper.locator(".ddm-presets").is_visible()
    assert paper.locator(".ddm-sq").first.is_visible()
    assert "&lt;so&gt;" in HTML.split("<script>")[0]
    assert not reader.complaints


def test_what_it_says_in_a_terminal_and_draws_for_a_figure() -> None:
    drawing = attention_mask_editor(WORDS, SCORES, V, PATTERNS, start="window")
    assert repr(drawing).startswith("[a mask to draw: A grid of 6 words that ask and 6 that answer")
    assert "16 of 36 pairs are computed, 44%." in repr(drawing)
    assert "after 5 layers: Rain → fell → <so> → we → stayed → home." in repr(drawing)
    (picture,) = drawing.pictures
    assert str(picture.frames[0]).count("<rect") == N * N
    assert drawing.html == attention_mask_editor(WORDS, SCORES, V, PATTERNS, start="window").html


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"words": ["alone"], "scores": [[1]]}, "two words or more"),
        ({"scores": SCORES[:, :3]}, "scores: expected 6 rows of 6"),
        ({"masks": {"full": torch.ones(5, 6)}}, "full: expected 6 rows of 6"),
        ({"values": V[:3]}, "values: expected 6 rows"),
        ({"values": V.clone().fill_diagonal_(torch.nan)}, "finite numbers"),
        ({"values": torch.zeros(6, 2)}, "the full output of a word is zero"),
        ({"masks": {}}, "start: '' is none of"),
        ({"start": "strided"}, "start: 'strided' is none of"),
    ],
)
def test_what_cannot_be_drawn_is_refused(change: dict[str, Any], words: str) -> None:
    given = {"words": WORDS, "scores": SCORES, "values": V, "masks": PATTERNS}
    with pytest.raises(ValueError, match=words):
        attention_mask_editor(**{**given, **change})
