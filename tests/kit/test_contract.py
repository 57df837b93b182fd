"""What every interactive figure of a page does, whatever it shows.

A figure is a module of the kit or of a chapter's figures that hands a script to the page. Its
example is `picture()` in its own test file; a figure without one fails here.
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from browser import Reader
from playwright.sync_api import Page

import deepdive_book

HOME = Path(deepdive_book.__file__).parent
TESTS = Path(__file__).parents[1]
PARTS = {"markup", "living", "predictions"}  # how scripts are written; a form of the course
SCRIPTED = re.compile(r"(?<!def )\b(?:script|living|panels)\(")
NARROW = (320, 700)
LEAST = 24  # pixels of a control, each way
# These lists only get shorter. Not yet on the base:
BY_HAND = {
    "answer_span", "attention_mask_editor", "bipartite_matching", "bytes_vs_subwords",
    "cross_lingual_masks", "denoising_corruptions", "disentangled_scores",
    "distillation_heads", "drawing", "embedding_alignment", "expert_routing", "explorer",
    "family", "few_shot_prompt", "frame_strip", "gates", "gpt2_generation",
    "hash_embedding_demo", "head_ablation", "image_attention", "image_corruptions",
    "image_shift_robustness", "language_id_demo", "language_sampling",
    "layernorm_vs_rmsnorm", "live", "low_rank_approximation", "masked_patches",
    "masked_word", "multilingual_nearest_neighbors", "multilingual_scores", "next_token",
    "patch_shuffle", "qkv_arrows", "quantization_slider", "relative_position_buckets",
    "rouge_demo", "saved_translations", "segmentation_occlusion",
    "sentence_embedding_losses", "shifted_windows", "simulatability_game",
    "sinusoidal_clocks", "sound", "span_corruption_demo", "table_qa_cells", "topic_map",
    "transcript_slider", "video_attention", "word_intrusion_game",
}  # fmt: skip
# Contract not yet kept, and in what:
OPEN = {
    "sinusoidal_clocks": {"first state"},
    "drawing": {"first state"},
    "explorer": {"first state", "small"},
    "family": {"first state"},
    "frame_strip": {"first state"},
    "simulatability_game": {"first state"},
    "gates": {"first state", "small"},
    "masked_patches": {"small"},
    "live": {"first state", "small"},
    "bipartite_matching": {"first state"},
    "sound": {"print"},
    "language_id_demo": {"narrow"},
    "topic_map": {"first state"},
    "transcript_slider": {"first state"},
}
OWN = ("http://book.test/", "data:", "blob:")
PRESSED = ".living-controls:visible, input[type=range]:visible, audio:visible"
FOCUSED = (
    "x => document.activeElement.matches(x) && document.activeElement.matches(':focus-visible')"
)
CONTROLS = "button, select, input, textarea, summary, audio, [tabindex='0']"
# Controls that can be seen and are smaller than so many pixels, a line each; a box that is checked
# counts with its label, and one that the figure took out of the reader's sight does not count.
SMALL = """least => [...document.querySelectorAll("button, select, input, textarea")].filter(x =>
  x.checkVisibility({ opacityProperty: true })).map(x => [x, /checkbox|radio/.test(x.type)
  && x.closest("label") || x]).filter(([, x]) => {
    const { width, height } = x.getBoundingClientRect();
    return Math.min(width, height) < least - 0.01;
  }).map(([x]) => x.outerHTML.slice(0, 80))"""


# Controls without a name for those who hear the page.
NAMELESS = """() => [...document.querySelectorAll("button, select, input, textarea")].filter(x =>
  x.checkVisibility() && ![x.ariaLabel, x.title, x.textContent, x.getAttribute("aria-labelledby")]
    .some(name => name?.trim()) && !x.labels?.length || x.localName === "select" && !x.ariaLabel
    && !x.labels.length && !x.getAttribute("aria-labelledby")).map(x => x.outerHTML.slice(0, 80))"""


def figures() -> list[str]:
    """The modules that hand a script to a page; a package has the name of its folder."""
    files = [*HOME.glob("kit/**/*.py"), *HOME.glob("*/figures/**/*.py"), *HOME.glob("studies/*.py")]
    paths = [p for p in files if SCRIPTED.search(p.read_text("utf-8"))]
    names = {p.parent.name if p.stem in ("__init__", "page") else p.stem for p in paths}
    return sorted(names - PARTS)


@cache
def own_test(name: str) -> ModuleType:
    """The figure's own test file."""
    (path,) = TESTS.rglob(f"test_{name}.py")
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    assert spec, path
    assert spec.loader, path
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def example(name: str) -> Any:
    return own_test(name).picture()


def scriptless(html: str) -> str:
    return re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)


def status(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("[role=status]").all_inner_texts()]


each = pytest.mark.parametrize("name", figures())
based = pytest.mark.parametrize("name", [n for n in figures() if n not in BY_HAND])


def test_the_list_of_those_not_on_the_base_is_right() -> None:
    assert {n for n in figures() if 'class="living"' not in example(n).html} == BY_HAND


@each
def test_it_is_named_and_the_same_twice(name: str) -> None:
    picture = example(name)
    again = getattr(own_test(name).picture, "__wrapped__", own_test(name).picture)()
    assert picture.html == again.html
    assert re.search(r'(?:role="group"|<fieldset|<figure)', picture.html)
    assert re.search(r'aria-label="[^"]+"|<legend|<figcaption', picture.html)
    assert repr(picture).strip()


@each
def test_no_text_of_it_becomes_markup(name: str) -> None:
    """Examples have texts with < in them: no element but its own, and one script alone."""
    html = example(name).html
    assert html.count("<script") == html.count("</script>")
    assert not re.search(r"<b>(?:is|ici)|<shed>|<Bo>|<boot>|<drinks>|<img src=x", scriptless(html))


def broken(name: str, reader: Reader) -> set[str]:
    """The parts of the contract that a figure does not keep."""
    html, found = example(name).html, set()
    still = status(reader.open(scriptless(html)))
    page = reader.open(html, NARROW)
    if [text for text in still if text] != [text for text in status(page) if text]:
        found.add("first state")
    if page.evaluate("document.documentElement.scrollWidth") > NARROW[0]:
        found.add("narrow")
    if page.evaluate(SMALL, LEAST):
        found.add("small")
    if page.evaluate(NAMELESS):
        found.add("named")
    page.keyboard.press("Tab")
    if not page.evaluate(FOCUSED, CONTROLS):
        found.add("keyboard")
    if reader.complaints or not all(url.startswith(OWN) for url in reader.requests):
        found.add("quiet")
    page.emulate_media(media="print")
    high = page.evaluate("document.body.getBoundingClientRect().height")
    if high < 40 or page.locator(PRESSED).count():
        found.add("print")
    return found


@each
def test_what_every_reader_needs(name: str, reader: Reader) -> None:
    """It fits a phone; its controls have names, can be hit, and are reached by keyboard; nothing is
    complained of or fetched; it starts as Python drew it; and on paper there is nothing to press.
    """
    assert broken(name, reader) == OPEN.get(name, set())


@each
def test_images_have_words(name: str) -> None:
    images = re.findall(r"<img\b[^>]*>", example(name).html)
    assert all(re.search(r'\balt="', image) for image in images)


# A drawing's shapes with their numbers to whole pixels, and its texts.
SHAPES = """() => [...document.querySelectorAll(".living-drawing svg *")].map(x => [x.tagName,
  x.children.length ? "" : x.textContent, ...["x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r",
  "width", "height", "stroke-width", "fill-opacity"].map(name => +x.getAttribute(name))])"""


@based
def test_the_script_draws_what_the_still_shows(name: str, reader: Reader) -> None:
    """The still as it is read, and what the script makes of it in the same state."""
    html = example(name).html
    frozen, alive = reader.open(html.replace("\n  update();\n", "\n")), reader.open(html)
    text = [page.locator(".living-drawing").inner_text() for page in (frozen, alive)]
    # a model in the page has its weights in half precision: a percent may be the next one
    python, script = (re.split(r"(\d+)", each) for each in text)
    assert python[::2] == script[::2]
    assert [int(n) for n in python[1::2]] == pytest.approx([int(n) for n in script[1::2]], abs=1)
    drawn = [page.evaluate(SHAPES) for page in (frozen, alive)]
    assert len(drawn[0]) == len(drawn[1])
    for still, live in zip(*drawn, strict=True):
        assert still[:2] == live[:2]
        assert still[2:] == pytest.approx(live[2:], abs=0.25)  # spectra are bytes in the page


@based
def test_reset_brings_the_first_state_back(name: str, reader: Reader) -> None:
    page = reader.open(example(name).html)

    def now() -> list[Any]:
        values = "all => all.map(x => x.type === 'checkbox' ? x.checked : x.value)"
        controls = page.locator(".living [data-control]").evaluate_all(values)
        return [page.locator(".living").inner_text(), page.evaluate(SHAPES), controls]

    first = now()
    for select in page.locator("select[data-control]").all():
        select.select_option(index=1)
    for slider in page.locator("input[data-control][type=range]").all():
        slider.press("Home" if slider.input_value() == slider.get_attribute("max") else "End")
    for box in page.locator("input[data-control][type=checkbox]").all():
        box.click()
    for button in page.locator(".living button:not([data-control]):visible").all()[:1]:
        button.click()
    for drawing in page.locator(".living-drawing[tabindex]").all():
        drawing.press("ArrowLeft")
    reset = page.locator("[data-control=reset]")
    if reset.count():
        assert now() != first
        reset.click()
        assert now() == first


@based
def test_the_still_is_an_image_with_words(name: str, reader: Reader) -> None:
    """Where scripts and style sheets are taken away, as on GitHub."""
    html = re.sub(r"<style>.*?</style>", "", scriptless(example(name).html), flags=re.DOTALL)
    page = reader.open(html)
    if page.locator("img.living-still").count():
        assert page.locator("img.living-still").evaluate("x => x.complete && x.naturalWidth")
        assert page.locator("img.living-still").get_attribute("alt")
        assert example(name).pictures
    else:
        assert page.locator(".living-drawing").inner_text().strip()


def test_a_control_without_a_name_is_seen(reader: Reader) -> None:
    page = reader.open("<button></button><select><option>a</select><input>")
    assert len(page.evaluate(NAMELESS)) == 3
    page = reader.open(
        "<button>Go</button><label>Layer<select><option>a</select></label><input title='Seed'>"
    )
    assert page.evaluate(NAMELESS) == []
