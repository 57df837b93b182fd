"""The map of topics: what is under the pointer, by mouse, finger and key; words; what it fits."""

from __future__ import annotations

import json
import re
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from browser import DESK, PAINTED, PHONE, Reader, Size
from PIL import Image
from playwright.sync_api import Locator, Page

from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import COLORS
from deepdive_book.studies.figures.topic_map import topic_map

HOSTILE = '</script><img src=x onerror="document.title=1"> & "quoted" \\u003c'
SIDE = 8  # documents lie on a grid, one in each crossing, the first below on the left
OF = np.array([(0, 0, 5, 5, 5, 9, 9, -1)[i % SIDE] for i in range(SIDE * SIDE)])
AT = np.array([(i % SIDE, i // SIDE) for i in range(SIDE * SIDE)], dtype=float)
TEXTS = [f"Document number {i} is about taxis." for i in range(SIDE * SIDE)]
TEXTS[3] = "The tax (C++, state-of-the-art) is TAX."
TEXTS[10], TEXTS[20] = "A syntax", HOSTILE
WORDS = {
    9: ["river", "bank", "boat"],
    0: [("tax", 4.0), ("state-of-the-art", 2.0), (HOSTILE, 1.0)],
    5: [("loan", 2.0), ("rate", 1.0), ("debt", 0.5), ("fee", 0.25)],
}
MAP = topic_map(AT, OF, TEXTS, WORDS, names={9: "by the river"}, caption="A <grid>")
GRAY, GREEN = COLORS["score"].mark, COLORS["value"].mark


def picture() -> Html:
    return topic_map(AT, OF, TEXTS, WORDS, names={9: "by the river"}, caption="A <grid>")


def state(page: Page) -> dict[str, Any]:
    return dict(json.loads(str(page.locator(".tm").get_attribute("data-state"))))


def spot(page: Page, i: int) -> tuple[float, float]:
    """Where a document should be in the window; the map's numbers end at 32,767."""
    box, now = page.locator("canvas").bounding_box(), state(page)
    assert box
    x, y = ((2 * AT[i] / (SIDE - 1) - 1) * 32_767 - (now["x"], now["y"])) * now["base"] * now["k"]
    return box["x"] + box["width"] / 2 + x, box["y"] + box["height"] / 2 - y


def point(page: Page, i: int) -> None:
    page.mouse.move(*spot(page, i))


def read(page: Page) -> str:
    return page.locator(".tm-text").inner_text()


def pressed(page: Page) -> list[str]:
    return page.locator(".tm [aria-pressed=true]").all_inner_texts()


def pixel(page: Page, i: int) -> list[int]:
    """Red, green, blue and how full, of the map at a document."""
    box, (x, y) = page.locator("canvas").bounding_box(), spot(page, i)
    assert box
    told = page.evaluate(
        "([x, y]) => [...document.querySelector('.tm canvas').getContext('2d')"
        ".getImageData(x, y, 1, 1).data]",
        [x - box["x"], y - box["y"]],
    )
    return list(told)


def tinted(words: list[Locator]) -> list[float]:
    """The share of each word's width, in %, that its bar fills: counted in a screenshot's pixels.

    A line below the letters is read. The left end of the first word has the tint, the right end of
    the last word the paper.
    """
    lines = []
    for word in words:
        picture = np.asarray(Image.open(BytesIO(word.screenshot())).convert("RGB"))
        lines.append(picture[-5].astype(int))
    tint, paper = lines[0][4], lines[-1][-4]
    assert np.abs(tint - paper).sum() > 12, "the bar can be seen"
    bars = [np.abs(line - tint).sum(1) < np.abs(line - paper).sum(1) for line in lines]
    return [100 * float(bar[2:-2].mean()) for bar in bars]  # without the two borders


def near(color: list[int], mark: str) -> bool:
    want = [int(mark[i : i + 2], 16) for i in (1, 3, 5)]
    return all(abs(a - b) <= 12 for a, b in zip(color, want, strict=False))


def test_pointing_at_a_document_shows_its_text_and_leaving_goes_back(reader: Reader) -> None:
    page = reader.open(MAP.html)
    assert read(page) == ""
    for i in (0, 63, 9, 20, 39):
        point(page, i)
        assert read(page) == " ".join(TEXTS[i].split())
        topic = "in no topic" if OF[i] < 0 else f"topic {OF[i]}: "
        assert page.locator(".tm-head").first.inner_text().startswith(f"Document {i + 1}, {topic}")
    page.mouse.click(*spot(page, 9))
    point(page, 63)
    assert read(page) == TEXTS[63]
    page.locator(".tm-steps").hover()
    assert read(page) == TEXTS[9], "the document that was pressed stays"
    assert not reader.complaints


def test_dots_have_their_topic_s_colour_and_the_others_turn_pale(reader: Reader) -> None:
    page = reader.open(MAP.html)
    swatch = page.locator(".tm-list i").evaluate_all(f"x => x.map({PAINTED})")
    marks = ["#" + "".join(f"{n:02x}" for n in paint) for paint in swatch]
    assert len(set(marks)) == 3, "three topics have three colours"
    mark = dict(zip((5, 0, 9), marks, strict=True)) | {-1: GRAY}
    full = {i: pixel(page, i) for i in (0, 3, 6, 7, 55)}
    assert all(near(color, mark[int(OF[i])]) for i, color in full.items()), (full, mark)
    assert full[0][3] > 200
    page.locator(".tm-list button").nth(1).click()
    assert pixel(page, 0)[3] > 200
    assert all(pixel(page, i)[3] < 60 for i in (3, 6, 7, 55))
    page.get_by_role("button", name="in no topic").click()
    assert pixel(page, 7)[3] > 200
    assert pixel(page, 0)[3] < 60


def test_a_topic_is_chosen_by_its_document_its_number_and_its_row(reader: Reader) -> None:
    page = reader.open(MAP.html)
    words, said = page.locator(".tm-bars button"), page.locator("[role=status]")
    rows = page.locator(".tm-list button").all_inner_texts()
    assert [re.split(r"\s*\n\s*", row)[-1] for row in rows] == ["24", "16", "16"]
    assert pressed(page) == ["all 64"]
    page.mouse.click(*spot(page, 3))
    assert words.all_inner_texts() == ["loan", "rate", "debt", "fee"]
    page.mouse.move(0, 0)
    assert tinted(words.all()) == pytest.approx([100, 50, 25, 12.5], abs=1.5)
    assert said.inner_text() == "24 of 64 documents in topic 5."
    around = np.array([spot(page, 24), spot(page, 33)])  # the number 0 is in their middle
    page.mouse.click(*around.mean(axis=0))
    assert words.all_inner_texts() == ["tax", "state-of-the-art", HOSTILE]
    page.locator(".tm-list button", has_text="by the river").click()
    assert page.locator(".tm-plain button").all_inner_texts() == WORDS[9]
    assert "Topic 9: by the river" in page.locator(".tm-words").inner_text()
    page.locator(".tm-list button", has_text="by the river").click()
    assert pressed(page) == ["all 64"], "pressed again, all are shown"
    page.get_by_role("button", name="in no topic").click()
    assert said.inner_text() == "8 of 64 documents in no topic."
    page.mouse.click(spot(page, 0)[0] + 30, spot(page, 0)[1] - 30)
    assert pressed(page) == ["all 64"], "nothing lies there"


def test_zoom_keeps_what_is_under_the_pointer(reader: Reader) -> None:
    page = reader.open(MAP.html + "<p style='height: 3000px'>")
    for i in (9, 54, 12, 0):
        page.keyboard.press("Escape")
        page.get_by_role("button", name="show the whole map").click()
        assert state(page)["k"] == 1
        before, at = spot(page, i), [round(x) for x in spot(page, i)]
        page.mouse.move(*at)
        page.keyboard.down("Control")
        for _ in range(4):
            page.mouse.wheel(0, -120)
            page.wait_for_timeout(30)
        page.keyboard.up("Control")
        assert state(page)["k"] > 3
        off = [p + (b - p) * state(page)["k"] for p, b in zip(at, before, strict=True)]
        assert spot(page, i) == pytest.approx(off, abs=0.1)
        page.mouse.move(at[0], at[1] + 150)
        point(page, i)
        assert read(page) == " ".join(TEXTS[i].split())
    page.get_by_role("button", name="show the whole map").click()
    page.get_by_role("button", name="zoom in").click()
    page.locator(".tm-find input").focus()
    point(page, 28)
    page.mouse.wheel(0, 120)
    page.wait_for_function("scrollY > 50")
    assert state(page)["k"] == 1.6, "without the focus the wheel is the page's"
    page.locator("canvas").focus()
    page.wait_for_timeout(300)
    top = page.evaluate("scrollY")
    point(page, 28)
    page.mouse.wheel(0, -40)
    page.wait_for_function("JSON.parse(document.querySelector('.tm').dataset.state).k > 1.6")
    page.wait_for_timeout(300)
    assert page.evaluate("scrollY") == top, "the map took the wheel"
    page.get_by_role("button", name="show the whole map").click()
    page.locator("canvas").focus()
    page.mouse.wheel(0, 120)
    page.wait_for_function(f"scrollY > {top}")  # there is nothing left to zoom


def test_dragging_moves_the_map_no_further_than_its_edge(reader: Reader) -> None:
    page = reader.open(MAP.html)
    page.mouse.click(*spot(page, 9))
    for _ in range(3):
        page.get_by_role("button", name="zoom in").click()
    before, (x, y) = spot(page, 28), spot(page, 28)
    page.mouse.move(x + 8, y + 8)
    page.mouse.down()
    page.mouse.move(x - 60, y + 40, steps=5)
    page.mouse.up()
    dx, dy = (spot(page, 28)[d] - before[d] for d in (0, 1))
    assert (dx, dy) == pytest.approx((-68, 32), abs=0.01)
    page.mouse.move(0, 0)
    point(page, 28)
    assert read(page) == TEXTS[28]
    assert pressed(page)[0].startswith("0"), "a drag chooses nothing"
    page.mouse.down()
    page.mouse.move(x + 3000, y, steps=3)
    page.mouse.up()
    box, edge, k = page.locator("canvas").bounding_box(), spot(page, 24)[0], state(page)["k"]
    page.get_by_role("button", name="show the whole map").click()
    assert box
    margin = spot(page, 24)[0] - box["x"]
    assert edge - box["x"] == pytest.approx(k * margin, abs=0.1)
    whole = spot(page, 28)
    point(page, 28)
    page.mouse.down()
    page.mouse.move(300, 300)
    page.mouse.up()
    assert spot(page, 28) == whole


def test_all_by_keyboard(reader: Reader) -> None:
    page = reader.open(MAP.html)
    page.locator("canvas").focus()
    page.keyboard.press("ArrowLeft")
    assert state(page)["x"] == 0, "the whole map is seen"
    page.keyboard.press("+")
    assert state(page)["k"] == pytest.approx(1.6)
    here = spot(page, 28)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    assert spot(page, 28) == pytest.approx((here[0] + 40, here[1] - 40), abs=0.01)
    page.keyboard.press("-")
    assert state(page)["k"] == pytest.approx(1)
    page.locator(".tm-list button").nth(2).focus()
    page.keyboard.press("Enter")
    assert pressed(page)[0].startswith("9")
    page.locator("canvas").focus()
    for i in (5, 6, 13):
        page.keyboard.press("Enter")
        assert read(page) == TEXTS[i]
    page.keyboard.press("Shift+Enter")
    assert read(page) == TEXTS[6]
    page.get_by_role("button", name="next").press("Enter")
    assert read(page) == TEXTS[13]
    page.locator("canvas").press("Escape")
    assert pressed(page) == ["all 64"]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "BUTTON", "the map lets the focus go"


def test_fingers_pinch_and_tap(reader: Reader) -> None:
    page = reader.open(MAP.html, PHONE)
    tool = page.context.new_cdp_session(page)
    tool.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})

    def touch(kind: str, *spots: tuple[float, float]) -> None:
        points = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(spots)]
        tool.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})

    touch("Start", spot(page, 12))
    touch("End")
    page.wait_for_function("document.querySelector('.tm-text').textContent")
    assert read(page) == TEXTS[12]
    assert "Topic 5" in page.locator(".tm-words").inner_text()
    (x, y), (a, b) = spot(page, 27), spot(page, 28)
    middle = (x + a) / 2
    touch("Start", (x, y), (a, b))
    for far in (30, 40, 50, 60):
        touch("Move", (middle - far, y), (middle + far, b))
    touch("End")
    page.wait_for_function("JSON.parse(document.querySelector('.tm').dataset.state).k > 2")
    for i, at in ((27, middle - 60), (28, middle + 60)):
        assert spot(page, i) == pytest.approx((at, y), abs=2), "what was under a finger still is"
    assert page.locator("canvas").evaluate("x => getComputedStyle(x).touchAction") == "none"
    assert page.evaluate("visualViewport.scale") == 1


def test_search_marks_whole_words(reader: Reader) -> None:
    page = reader.open(MAP.html)
    box, said = page.get_by_role("searchbox"), page.locator("[role=status]")
    for word, count in (("tax", 1), ("taxis", 61), ("c++", 1), ("state-of-the-art", 1), ("(", 1),
                        ("x\\", 0), ("NUMBER 1", 1), ("</script>", 1)):  # fmt: skip
        box.fill(word)
        assert said.inner_text() == (
            f"{count} of 64 documents have “{word}” in the first 300 letters."
        )
        assert state(page)["lit"] == count
    box.fill("tax")
    assert pixel(page, 3)[3] > 200
    assert pixel(page, 4)[3] < 60
    page.get_by_role("button", name="next").click()
    assert page.locator("mark").all_inner_texts() == ["tax", "TAX"]
    assert read(page) == TEXTS[3]
    page.locator(".tm-list button").nth(1).click()
    assert said.inner_text().startswith("0 of 16 documents in topic 0 have “tax”")
    assert page.locator(".tm-list button").nth(0).inner_text().endswith("1 of 24")
    page.locator(".tm-bars button").nth(1).click()
    assert box.input_value() == "state-of-the-art", "a topic's word is looked for"
    box.fill("")
    assert state(page)["lit"] == 16
    box.fill("tax")
    assert pressed(page) == ["all 1 of 64"], "no document of the topic has it, so all are asked"
    page.locator(".tm-list button").nth(0).click()
    assert said.inner_text() == (
        "1 of 24 documents in topic 5 have “tax” in the first 300 letters; 1 of all 64."
    )
    box.fill("number 11")
    assert pressed(page)[0].startswith("5"), "a document of the topic has it, so the topic stays"


def test_the_next_document_that_is_marked_comes_into_the_window(reader: Reader) -> None:
    page = reader.open(MAP.html)
    page.get_by_role("searchbox").fill("number 63")
    for _ in range(4):
        page.get_by_role("button", name="zoom in").click()
    box = page.locator("canvas").bounding_box()
    assert box
    assert spot(page, 63)[0] > box["x"] + box["width"], "it lies outside"
    page.get_by_role("button", name="next").click()
    assert read(page) == TEXTS[63]
    x, y = spot(page, 63)
    assert box["x"] < x < box["x"] + box["width"]
    assert box["y"] < y < box["y"] + box["height"]


def test_what_is_read_stands_beside_the_map(reader: Reader) -> None:
    page = reader.open(MAP.html)
    point(page, 12)
    at, doc = (page.locator(f".tm {what}").bounding_box() for what in ("canvas", ".tm-doc"))
    assert at
    assert doc
    assert at["x"] + at["width"] < doc["x"]
    assert at["y"] <= doc["y"] + 1
    assert doc["y"] + doc["height"] < at["y"] + at["height"]


def test_numbers_never_lie_on_each_other_and_come_with_room(reader: Reader) -> None:
    at = [(0, 0), (1, 0), (0.2, 0), (0, 1), (0.01, 1)]
    of = [0, 1, 2, 3, 4]
    words = {t: [f"word{t}"] for t in of}
    near_ones = topic_map(at, of, ["text"] * 5, words, caption="near")
    page = reader.open(near_ones.html)
    assert state(page)["numbers"] == [0, 1, 2, 3]
    page.locator(".tm-list button", has_text="word4").click()
    assert state(page)["numbers"] == [4, 0, 1, 2], "the chosen topic's is always there"
    page.locator(".tm-list button", has_text="word4").click()
    for _ in range(6):
        page.get_by_role("button", name="zoom in").click()
    page.locator("canvas").focus()
    for _ in range(60):
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowUp")
    assert {3, 4} <= set(state(page)["numbers"])
    still = re.findall(r"<text [^>]*>(\d+)</text>", near_ones.html)
    assert still == ["0", "1", "2", "3"], "nor on paper"


def test_groups_give_topics_their_colour_and_a_line_that_says_so(reader: Reader) -> None:
    groups = {"comes <back>": [5, 0], "does not": [9]}
    page = reader.open(topic_map(AT, OF, TEXTS, WORDS, groups=groups, caption="back?").html)
    told = page.locator(".tm-legend").inner_text().split(")")
    assert [part.strip() for part in told] == ["comes <back> (2", "does not (1", ""]
    shown = page.locator(".tm-list i").evaluate_all(f"x => x.map({PAINTED})")
    legend = page.locator(".tm-legend i").evaluate_all(f"x => x.map({PAINTED})")
    assert shown == [legend[0], legend[0], legend[1]]
    assert ".tm-legend" in MAP.html
    assert 'class="tm-legend"' not in MAP.html
    for wrong in ({"a": [5, 0]}, {"a": [5, 0, 9], "b": [9]}, {"a": [5, 0, 9, 1]}):
        with pytest.raises(ValueError, match="groups: expected each of the 3 topics once"):
            topic_map(AT, OF, TEXTS, WORDS, groups=wrong, caption="back?")


def test_texts_are_cut_where_the_page_says_and_the_search_says_it_too(reader: Reader) -> None:
    short = topic_map(AT, OF, ["four words stand here"] * 64, WORDS, cut=12, caption="cut")
    page = reader.open(short.html)
    point(page, 0)
    assert read(page) == "four words\u2026"
    page.get_by_role("searchbox").fill("here")
    said = page.locator("[role=status]").inner_text()
    assert said == "0 of 64 documents have “here” in the first 12 letters."


def test_texts_are_shown_as_texts(reader: Reader) -> None:
    names = {1: f"1 {HOSTILE}"}
    words = {0: [HOSTILE], 1: ["plain"]}
    hostile = topic_map(AT[:2], [0, 1], [HOSTILE] * 2, words, names=names, caption=HOSTILE)
    page = reader.open(hostile.html)
    assert page.locator(".tm-caption").inner_text() == HOSTILE
    page.get_by_role("button", name="next").click()
    assert read(page) == HOSTILE
    page.locator(".tm-list button").first.click()
    assert page.locator(".tm-bars button").all_inner_texts() == [HOSTILE]
    assert names[1] in page.locator(".tm-list").inner_text()
    assert page.title() == ""
    assert page.locator(".tm img").count() == 0
    dead = re.sub(r"<script>.*?</script>", "", hostile.html, flags=re.DOTALL)
    assert "<img" not in dead
    assert not reader.complaints


@pytest.mark.parametrize("size", [DESK, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_stays_where_it_is(reader: Reader, size: Size, scheme: str) -> None:
    paper = {"light": "#ffffff", "dark": "#121820"}[scheme]
    ink = {"light": "#111", "dark": "#ddd"}[scheme]
    style = f"<style>body {{ background: {paper}; color: {ink} }}</style>"
    page = reader.open(style + MAP.html, size, color_scheme=scheme)
    where = page.locator(".tm-list").bounding_box()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.mouse.click(*spot(page, 3))
    assert page.locator(".tm-list").bounding_box() == where
    small = page.locator(".tm button, .tm p, .tm input").evaluate_all(
        "x => x.filter(e => parseFloat(getComputedStyle(e).fontSize) < 14 || "
        "(e.tagName === 'BUTTON' && e.checkVisibility() && e.clientHeight < 24)).length"
    )
    assert small == 0
    assert page.locator("canvas").get_attribute("aria-label")
    assert page.get_by_role("searchbox").get_attribute("aria-label")


def test_a_new_theme_or_width_is_drawn_at_once(reader: Reader) -> None:
    html = MAP.html.replace(GREEN, f"var(--value, {GREEN})")
    page = reader.open(f"<style>[data-theme=dark] {{ --value: #ff0000 }}</style>{html}")
    of = next(i for i in (0, 3, 6) if near(pixel(page, i), GREEN))
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_function("document.querySelector('.tm-list').innerHTML.includes('255, 0, 0')")
    assert near(pixel(page, of), "#ff0000")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    page.wait_for_function("document.querySelector('.tm canvas').width < 390")
    point(page, 12)
    assert read(page) == TEXTS[12]


def test_without_scripts_the_map_and_its_words_stand_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", MAP.html, flags=re.DOTALL)
    assert dead.count("h0") == 64
    assert dead.count("<path") == 4
    assert "<li>9 (16) by the river: river, bank, boat</li>" in dead
    assert "<li>5 (24) loan, rate, debt, fee</li>" in dead
    assert "64 documents, 3 topics, 8 in none." in dead
    assert 'class="tm-find" hidden' in dead
    assert "3 topics, 8 in none" in repr(MAP)
    assert (
        MAP.html
        == topic_map(AT, OF, TEXTS, WORDS, names={9: "by the river"}, caption="A <grid>").html
    )


def test_fifteen_hundred_documents_are_small_and_far_topics_share_a_colour() -> None:
    draw = np.random.default_rng(0)
    of = draw.integers(-1, 30, 1500)
    at = np.stack([of % 6, of // 6], axis=1) + draw.uniform(-0.3, 0.3, (1500, 2))
    words = {t: [(f"word{t}-{i}", 1 / (i + 1)) for i in range(10)] for t in range(30)}
    large = topic_map(at, of, ["long " * 90] * 1500, words, caption="many")
    assert len(large.html.encode()) < 600_000
    alike: dict[str, list[int]] = {}
    for t, color in re.findall(r'data-topic="(\d+)" stroke="(#\w+)"', large.html):
        alike.setdefault(color, []).append(int(t))
    assert len(alike) == 6
    apart = [
        np.hypot(a % 6 - b % 6, a // 6 - b // 6)
        for group in alike.values()
        for a in group
        for b in group
        if a < b
    ]
    assert min(apart) > 1.2, "no neighbours have one colour"
    with pytest.raises(ValueError, match=r"the map has .* bytes, at most 600,000: show fewer"):
        topic_map(at, of, ["\u4e00" * 300] * 1500, words, caption="many")


def test_one_document_is_a_map(reader: Reader) -> None:
    page = reader.open(topic_map([[3, 4]], [-1], ["alone"], {}, caption="one").html)
    box = page.locator("canvas").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert read(page) == "alone"
    assert page.locator("[role=status]").inner_text() == "1 of 1 documents in no topic."
    assert not reader.complaints


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"points": []}, r"points: expected \(n, 2\) with n >= 1"),
        ({"points": np.zeros((2, 3))}, r"points: expected \(n, 2\) .* got \(2, 3\)"),
        ({"points": [[0, 1], [2, np.nan]]}, r"row 1 is \[2.0, nan\]; expected finite"),
        ({"topics": [0]}, r"for each of 2 points; got topics \(1,\) and 2 texts"),
        ({"texts": ["a"]}, r"got topics \(2,\) and 1 texts"),
        ({"topics": [0.0, 1.0]}, "expected whole numbers from -1 .* got float64"),
        ({"topics": [0, -2]}, "got int64 from -2 to 0"),
        ({"words": {0: ["a"]}}, r"each of the topics \[0, 1\].* got \[0\]"),
        ({"words": {0: ["a"], 1: [], 2: ["b"]}}, r"got \[0, 2\]"),
        ({"names": {7: "seven"}}, r"names has the topics \[7\]"),
    ],
)
def test_what_it_cannot_show_is_refused(change: dict[str, Any], fault: str) -> None:
    given: dict[str, Any] = {
        "points": [[0, 1], [2, 3]],
        "topics": [0, 1],
        "texts": ["a", "b"],
        "words": {0: ["a"], 1: ["b"]},
        "caption": "two",
    }
    topic_map(**given)
    with pytest.raises(ValueError, match=fault):
        topic_map(**{**given, **change})
