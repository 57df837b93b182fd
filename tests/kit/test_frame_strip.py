"""Film strips: a still strip by itself, on paper and without motion; one place with scripts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from browser import Reader
from matplotlib.figure import Figure
from nbformat.v4 import new_code_cell, new_notebook, new_output

from book.check import check
from deepdive_book.kit.diagrams import svg, text
from deepdive_book.kit.frame_strip import film
from deepdive_book.kit.markup import Html
from deepdive_book.kit.plotting import style
from deepdive_book.site.pages import source

CAPTIONS = ["no key & no value", "`K` has 1 < 2 columns", "the cache is full"]
ALT = 'A cache of three "columns" fills from left to right.'


@pytest.fixture(autouse=True)
def _defaults() -> Any:
    with mpl.rc_context():
        style()
        yield


def figures() -> list[Figure]:
    """Three figures of one size; with their margins trimmed they would have three."""
    found = []
    for i in range(3):
        found.append(Figure(figsize=(2, 1)))
        found[i].text(0.1, 0.5, "word " * (i + 1))
    return found


def picture() -> Html:
    return film([svg(500, 40, [text(60, 20, str(i))]) for i in range(3)], CAPTIONS, ALT)


def test_every_frame_stands_in_the_strip_with_its_caption() -> None:
    html = picture().html
    assert re.findall(r'<img alt="(.*?)" src="data:image/svg\+xml;base64,', html) == [
        "Frame 1 of 3", "Frame 2 of 3", "Frame 3 of 3",
    ]  # fmt: skip
    assert re.findall(r"<figcaption>(.*?)</figcaption>", html) == [
        "no key &amp; no value", "<code>K</code> has 1 &lt; 2 columns", "the cache is full",
    ]  # fmt: skip
    assert 'aria-label="A cache of three &quot;columns&quot; fills from left to right."' in html
    assert repr(picture()) == (
        f"[film: {ALT}]\n  1. no key & no value\n  2. `K` has 1 < 2 columns\n  3. the cache is full"
    )


def test_figures_become_images_of_one_size_and_the_same_bytes_each_time() -> None:
    html = film(figures(), CAPTIONS, ALT).html
    assert html.count("data:image/png;base64,") == 3
    assert film(figures(), CAPTIONS, ALT).html == html
    names = {re.findall(r'id="(\w+)"', film(figures(), CAPTIONS, alt).html)[0] for alt in "ab"}
    assert len(names) == 2, "two films on one page have names of their own"


def test_pages_and_site_take_a_film_as_it_is(tmp_path: Path) -> None:
    html = film(figures(), CAPTIONS, ALT).html
    output = new_output("execute_result", data={"text/html": html, "text/plain": ALT})
    cell = new_code_cell("film()", outputs=[output], execution_count=1)
    kept = source.clean(new_notebook(cells=[cell]), tmp_path).cells[0]
    assert kept.outputs[0].data["text/html"] == html
    assert source._run_faults(kept) == []
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    assert check(tmp_path) == []


def noise(n: int) -> list[Figure]:
    found = []
    for i in range(n):
        found.append(Figure(figsize=(3, 3)))
        found[i].figimage(np.random.default_rng(i).random((300, 300, 3)))
    return found


@pytest.mark.parametrize(
    ("frames", "captions", "alt", "words"),
    [
        (["<svg/>"] * 3, ["a", "b"], "x", "captions has 2 lines for 3 frames"),
        (["<svg/>"], ["a"], "x", "frames has 1 entries; a film needs two"),
        (["<svg/>"] * 2, ["a", "b"], " ", "alt is empty"),
        (["<svg/>"] * 2, ["a", "b"], "x", "no SVG with a viewBox: '<svg/>'"),
        ([svg(9, 9, []), svg(9, 8, [])], ["a", "b"], "x", r"differ in size, \[\(9.0, 9.0\), \(9"),
        (noise(2), ["a", "b"], "x", r"the film has \d{3} kB, at most 300"),
    ],
)
def test_what_is_no_film_is_refused(frames: Any, captions: Any, alt: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        film(frames, captions, alt)


# --- in a browser -----------------------------------------------------------------------------

COUNT = """<script>
const seen = what => [...document.querySelectorAll(what)].filter(x => x.offsetParent).length;
const width = document.querySelector("figure").offsetWidth;
document.body.append([...["img", "figcaption", "button", "input"].map(seen), width]);
</script>"""


def test_without_scripts_the_strip_stays_and_without_motion_only_play_goes(reader: Reader) -> None:
    html = picture().html
    dead = re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    assert "3,3,0,0,300" in reader.text(dead + COUNT)
    assert "1,0,2,1,500" in reader.text(html + COUNT, reduced_motion="reduce")
    assert "1,0,3,1,500" in reader.text(html + COUNT)


def test_the_whole_strip_is_printed(reader: Reader) -> None:
    assert reader.prints(film(figures(), CAPTIONS, ALT).html).count(b"/Subtype /Image") == 3


DO = """<script>
const [first, second, play] = document.querySelectorAll("button");
const slider = document.querySelector("input"), told = [];
const press = key => slider.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const slide = to => { slider.value = to; slider.dispatchEvent(new Event("input")); };
const tell = () => {
  const frame = document.querySelector("figure.now img").alt.split(" ")[1];
  told.push([frame, slider.value, play.textContent, document.querySelector("p").ariaLive].join());
};
const acts = [() => {}, () => second.click(), () => press("ArrowRight"), () => press("ArrowRight"),
  () => first.click(), () => slide(1), () => play.click(), () => second.click(),
  () => { slide(3); play.click(); }];
for (const act of acts) { act(); tell(); }
setTimeout(tell, 2000);
setTimeout(() => { tell(); document.body.append(told.join("; ")); }, 4000);
</script>"""


def test_buttons_keys_slider_and_play_choose_the_frame(reader: Reader) -> None:
    after = reader.text(picture().html + DO, seconds=6)
    told = re.findall(r"(\d),(\d),(\w+),(\w+)", after)
    assert all(frame == slider for frame, slider, _, _ in told)
    assert [(int(frame), label) for frame, _, label, _ in told] == [
        (1, "Play"), (2, "Play"), (3, "Play"), (3, "Play"),  # by button, by keys, not beyond
        (2, "Play"), (1, "Play"),  # back, by the slider
        (1, "Pause"), (2, "Play"),  # playing; a step by hand ends it
        (1, "Pause"), (2, "Pause"), (3, "Play"),  # played from the end: from the start, then still
    ]  # fmt: skip
    assert all((live == "off") == (label == "Pause") for _, _, label, live in told)
    assert ">3 of 3: the cache is full</p>" in after
