"""The book as it is read: every page in a browser, light and dark, wide and narrow, by keyboard."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from absence import BROWSER, refuse
from browser import COMMIT, DESK, PHONE, Reader, Size
from checkout import ROOT
from PIL import Image, ImageStat
from playwright.sync_api import Browser, Page
from vendor import VendorError, vendored

from book.build import moved
from deepdive_book.site.pages import find

Fault = Callable[[dict[str, Any]], Any]

# All that is folded is opened, and nothing moves while it is measured.
STILL = """() => {
  const style = document.createElement("style");
  style.textContent = "* { transition: none !important; animation: none !important; }"
    + "[data-again], [data-again] * { visibility: hidden !important; }";
  document.head.append(style);
  document.querySelectorAll("details").forEach(part => { part.open = true; });
}"""

# Text is looked for outside code, drawings and formulas.
LOOK = r"""() => {
  const all = what => [...document.querySelectorAll(what)];
  const rest = "pre, code, script, style, svg, math, textarea, noscript";
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const raw = [];
  for (let node = walk.nextNode(); node; node = walk.nextNode())
    if (/\$|\\[A-Za-z]{2,}/.test(node.data) && !node.parentElement.closest(rest))
      raw.push(node.data.trim());
  const formulas = all("math").filter(x => x.checkVisibility());
  const flat = x => !(x.getBoundingClientRect().width * x.getBoundingClientRect().height);
  const size = x => parseFloat(getComputedStyle(x).fontSize);
  const right = x => x.getBoundingClientRect().right;
  const gap = x => (right(x) - right(x.lastElementChild)) / size(x);
  const roots = all("msqrt").filter(x => x.checkVisibility() && gap(x) > 0.1);
  return {
    raw,
    formulas: formulas.length,
    flat: formulas.filter(flat).map(x => x.textContent),
    gaps: roots.map(x => `${x.textContent}: ${gap(x).toFixed(2)} em`),
    mute: all("img").filter(x => !x.alt.trim()).map(x => x.src.slice(0, 60)),
    broken: all("img").filter(x => x.checkVisibility() && !x.naturalWidth).map(x => x.alt),
    wider: all("main :is(.cell_output img, .dd-picture > *)")
      .filter(x => x.checkVisibility() && x.offsetWidth > x.parentElement.clientWidth + 1)
      .map(x => `${x.offsetWidth} px in ${x.parentElement.clientWidth}: ${x.alt}`),
  };
}"""

# What a page draws by itself has labels of its own sizes.
NARROW = """() => {
  const all = what => [...document.querySelectorAll(what)];
  // Letters as they are seen: of a drawing by its scale; a plot may not be smaller than it says.
  const shrunk = () => [
    ...all("main svg text").filter(x => x.checkVisibility() && x.textContent.trim())
      .map(x => [size(x) * Math.abs(x.ownerSVGElement.getScreenCTM().a), x.textContent])
      .filter(([seen]) => seen < 8.9),
    ...all('main img[style*="--least"], main .dd-picture[style] > img')
      .filter(x => x.checkVisibility())
      .map(x => [x.width / parseFloat(getComputedStyle(x).getPropertyValue("--least")), x.alt])
      .filter(([share]) => share < 0.99),
  ].map(([seen, words]) => `${seen.toFixed(2)}: ${words.trim().slice(0, 40)}`);
  const own = ".sheet, .livemodel, .film, .dd-explorer, .dda, .ck, .ddm, .dd-belt, .dd-cells, svg";
  const size = x => parseFloat(getComputedStyle(x).fontSize);
  const small = x => size(x) < (x.closest(own) ? 11 : 14);
  const told = x => [...x.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  const texts = [...document.querySelectorAll("main *")]
    .filter(x => told(x) && x.checkVisibility() && size(x) && !x.closest("math, sub, sup"));
  return {
    beyond: document.scrollingElement.scrollWidth - innerWidth,
    small: texts.filter(small).map(x => `${size(x)} px: ${x.textContent.trim().slice(0, 40)}`),
    theme: document.documentElement.dataset.theme,
    shrunk: shrunk(),
    cut: all("main :is(.dd-picture, .film figure, .still, .dd-still, pre, .formula)")
      .filter(x => x.checkVisibility() && x.scrollWidth > x.clientWidth + 1 && !x.dataset.more)
      .map(x => `${x.scrollWidth} px in ${x.clientWidth}: ${x.textContent.trim().slice(0, 40)}`),
  };
}"""

# Styles are on the page; axe need not ask for them again, which a file may not.
AXE = """async rules => {
  const off = { enabled: false }; // slow, and never serious
  const which = rules ? { runOnly: rules } : { rules: { region: off, "aria-allowed-role": off } };
  const options = { preload: false, resultTypes: ["violations"], ...which };
  const { violations } = await axe.run(document, options);
  return violations.filter(x => ["serious", "critical"].includes(x.impact)).flatMap(x =>
    x.nodes.map(n => `${x.id}: ${n.target.join(" ")}: ${n.failureSummary}`));
}"""
# Most of axe's time goes to the colours of code, thousands of words on a page: of each kind of word
# in each kind of cell the first stays, and the rest becomes plain text of the same width.
ONE_OF_EACH = """() => {
  const seen = new Set();
  for (const pre of [...document.querySelectorAll("pre")].filter(x => x.checkVisibility())) {
    const copy = pre.cloneNode(true), cell = pre.parentElement.parentElement.className;
    for (const word of copy.querySelectorAll("span:not(:has(*))")) {
      const kind = [cell, word.className, word.getAttribute("style")].join("|");
      if (seen.has(kind)) word.replaceWith(word.textContent);
      seen.add(kind);
    }
    copy.normalize();
    pre.replaceWith(copy);
  }
}"""
# Of everything else too: where the looks of all around are the same, the first of each form stays
# (its elements, attributes and looks, where in it there is text, what is painted over or under it),
# and the others are hidden from axe; their room is kept. To axe one address, one name or one line
# of words is as good as another. So it is with what was shown to axe on an earlier page (`known`,
# one string: a list of them would be handed over word by word).
FIRST_OF_EACH = r"""known => {
  const free = /^(href|src|alt|title|id|value|width|height|d|points|[cdr]?[xy][12]?|r|data-.*)$/;
  const looks = ["color", "backgroundColor", "backgroundImage", "opacity", "filter", "display",
    "visibility", "position", "zIndex", "fontSize", "fontWeight", "fontStyle", "textShadow",
    "textDecorationLine", "borderBottomStyle"];
  const refers = ["for", "headers", "aria-labelledby", "aria-describedby", "aria-controls"];
  const lone = "input, select, textarea, iframe, [accesskey], [aria-label], [aria-labelledby]";
  const whole = "a, button, summary, label, [role=button], [role=img]"; // its name is in it
  const all = what => [...document.querySelectorAll(what)];
  const ids = name => all(`[${name}]`).flatMap(x => x.getAttribute(name).split(/\s+/));
  const named = new Set(refers.flatMap(ids));
  const paints = style => style.backgroundColor !== "rgba(0, 0, 0, 0)"
    || style.backgroundImage !== "none";
  const placed = all("body *").filter(x => {
    const style = getComputedStyle(x);
    return style.position !== "static" && paints(style);
  }).map(x => [x, x.getBoundingClientRect()]);
  const meet = (a, b) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const scrolls = (x, style) => /auto|scroll/.test(style.overflowX + style.overflowY)
    && (x.scrollWidth > x.clientWidth || x.scrollHeight > x.clientHeight);
  const said = text => /[a-z0-9].*[a-z0-9]/is.test(text) ? "words" : text.trim();
  const value = a => free.test(a.name) ? Boolean(a.value.trim()) : a.value;

  const kinds = new Map(), forms = new Map(), seen = new Set(known.split(" "));
  const numbers = new Map(), fresh = [];
  const hash = text => { // 53 bits
    let a = 0x9e3779b9, b = 0x85ebca6b;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      a = Math.imul(a ^ code, 0x01000193);
      b = Math.imul(b + code ^ b >>> 15, 0x2c1b3c6d);
    }
    return (2 ** 21 * (a >>> 0) + ((b ^ b >>> 13) >>> 11)).toString(36);
  };
  const number = (...what) => { // one for what is alike, on whichever page
    const text = JSON.stringify(what);
    return numbers.get(text) ?? numbers.set(text, hash(text)).get(text);
  };
  const painted = x => [...["backgroundColor", "backgroundImage", "opacity", "zIndex", "position"]
    .map(name => getComputedStyle(x)[name]), x.localName, x.className];
  const form = x => {
    const style = getComputedStyle(x), box = x.getBoundingClientRect();
    const alone = x.matches(lone) || named.has(x.id) || scrolls(x, style);
    const crossed = placed.flatMap(([other, place]) =>
      meet(box, place) && !other.contains(x) && !x.contains(other) ? [painted(other)] : []);
    kinds.set(x, number(x.localName, [...x.attributes].map(a => [a.name, value(a)]),
      looks.map(name => style[name]), box.width * box.height > 0, box.right > 0 && box.bottom > 0,
      crossed, alone && [location.href, kinds.size]));
    forms.set(x, number(kinds.get(x), [...x.childNodes].map(part =>
      part.nodeType === 1 ? form(part) : part.nodeType === 3 ? said(part.data) : "")));
    return forms.get(x);
  };
  const hide = (x, place) => {
    const here = number(place, "has", forms.get(x)), inside = number(place, "in", kinds.get(x));
    if (seen.has(here)) x.setAttribute("data-again", "");
    else if (!x.matches(whole)) for (const part of x.children) hide(part, inside);
    if (!seen.has(here)) fresh.push(here);
    seen.add(here);
  };
  form(document.body);
  hide(document.body, 0);
  return " " + fresh.join(" ");
}"""
SHOW_ALL = """() => document.querySelectorAll("[data-again]")
  .forEach(x => x.removeAttribute("data-again"))"""
# Of axe's rules, those that depend on colours or on the width.
AGAIN = ["color-contrast", "link-in-text-block", "scrollable-region-focusable"]


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core."""
    try:
        return (vendored("axe-core") / "axe.min.js").read_text("utf-8")
    except VendorError as error:
        refuse(BROWSER, f"axe-core ({error})".replace(", ", "; "))


@pytest.fixture(scope="module")
def facts(
    book: Path, chromium: Browser, axe: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """Name of each page -> what a visit to it finds: wide and light, then narrow and dark.

    Slides have tests of their own, and an old address only leads on.
    """
    found, shown = {}, Shown()
    reader = Reader(chromium, tmp_path_factory.getbasetemp())
    page = reader.open("about:blank")
    for path in sorted(book.rglob("*.html")):
        name = path.relative_to(book)
        if name.parts[0] not in ("_static", "slides") and name.as_posix() not in moved():
            reader.complaints, reader.requests = [], []
            fact = found[name.as_posix()] = visit(page, path, axe, shown)
            fact["complaints"], fact["requests"] = reader.complaints, reader.requests
    reader.close()
    return found


@dataclass
class Shown:
    """What axe has been shown, on all pages that were visited: wide and light, narrow and dark."""

    light: str = ""
    dark: str = ""


def visit(page: Page, path: Path, axe: str, shown: Shown) -> dict[str, Any]:
    """What a visit to a page finds, that is not alike to what was `shown` on others."""
    page.set_viewport_size({"width": DESK[0], "height": DESK[1]})
    page.emulate_media(color_scheme="light")
    page.goto(path.as_uri())
    page.evaluate(COMMIT)
    page.evaluate(STILL)
    found = dict(page.evaluate(LOOK))
    page.evaluate(axe)
    page.evaluate(ONE_OF_EACH)
    shown.light += page.evaluate(FIRST_OF_EACH, shown.light)
    found["light"] = page.evaluate(AXE, None)
    page.evaluate(SHOW_ALL)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    page.wait_for_function("() => document.documentElement.dataset.theme === 'dark'", polling=50)
    page.evaluate("dispatchEvent(new Event('resize'))")  # at once, not with the next frame
    found |= page.evaluate(NARROW)
    shown.dark += page.evaluate(FIRST_OF_EACH, shown.dark)
    found["dark"] = page.evaluate(AXE, AGAIN)
    page.evaluate("localStorage.clear(); sessionStorage.clear()")
    page.goto("about:blank")
    return found


def faults(facts: dict[str, dict[str, Any]], fault: Fault) -> dict[str, Any]:
    """Page -> its faults, for the pages that have any."""
    return {name: wrong for name, fact in facts.items() if (wrong := fault(fact))}


# -- every page


def test_no_page_complains(facts: dict[str, dict[str, Any]]) -> None:
    assert len(facts) > 30
    assert not faults(facts, lambda fact: fact["complaints"])


def test_no_page_asks_for_anything_outside_the_book(
    facts: dict[str, dict[str, Any]], book: Path
) -> None:
    own = (book.as_uri(), "data:", "blob:")
    assert not faults(facts, lambda f: [url for url in f["requests"] if not url.startswith(own)])
    assert all(fact["requests"] for fact in facts.values()), "each page was asked for, at least"


def test_formulas_have_a_size_and_none_is_left_as_source(facts: dict[str, dict[str, Any]]) -> None:
    assert not faults(facts, lambda fact: fact["raw"])
    assert not faults(facts, lambda fact: fact["flat"])
    assert not faults(facts, lambda fact: fact["gaps"]), "see book/font.py"
    assert sum(fact["formulas"] for fact in facts.values()) > 1000


def test_images_are_shown_and_have_a_text(facts: dict[str, dict[str, Any]]) -> None:
    assert not faults(facts, lambda fact: fact["mute"])
    assert not faults(facts, lambda fact: fact["broken"])


def test_a_desk_shows_each_picture_whole(facts: dict[str, dict[str, Any]]) -> None:
    assert not faults(facts, lambda fact: fact["wider"])


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_axe_finds_nothing_serious(facts: dict[str, dict[str, Any]], mode: str) -> None:
    assert not faults(facts, lambda fact: fact[mode])


def test_a_phone_shows_the_whole_width_in_a_size_to_read(facts: dict[str, dict[str, Any]]) -> None:
    assert not faults(facts, lambda fact: fact["beyond"] if fact["beyond"] > 0 else 0)
    assert not faults(facts, lambda fact: fact["small"])


def test_on_a_phone_letters_of_pictures_are_read_and_what_is_wider_scrolls_with_a_cue(
    facts: dict[str, dict[str, Any]],
) -> None:
    assert not faults(facts, lambda fact: fact["shrunk"])
    assert not faults(facts, lambda fact: fact["cut"])


# The last of many that are alike has a fault: its own, or by a style or by what is under it.
AMONG_MANY = {
    "of a style": (".part p:last-child { color: #ccc }", "<p>some words</p>" * 4, "color-contrast"),
    "of its own": (
        "",
        "<p>some words</p>" * 4 + "<p style='color: #ccc'>some</p>",
        "color-contrast",
    ),
    "more letters": (
        "",
        "<p style='color: #ccc'>3</p>" + "<p style='color: #ccc'>34</p>",
        "color-contrast",
    ),
    "on a plate": (
        ".part { position: relative; z-index: 0 } p { position: relative } i { position: absolute;"
        " inset: auto 0 0 0; height: 1.3em; background: #333; z-index: -1 }",
        "<p>some words</p>" * 4 + "<i></i>",
        "color-contrast",
    ),
    "a name": ("", "<p><a href=a>some</a></p>" * 4 + "<p><a href=b></a></p>", "link-name"),
    "a label": ("", "<label for=a>a</label><p><input id=a></p><p><input id=b></p>", "label"),
    "room": (
        "div div { overflow: auto; width: 9em; height: 4em }",
        "<div>some</div>" * 3 + f"<div>{'some words ' * 20}</div>",
        "scrollable-region-focusable",
    ),
}


@pytest.mark.parametrize(("style", "body", "rule"), AMONG_MANY.values(), ids=AMONG_MANY)
def test_axe_is_shown_the_one_with_a_fault_among_many_that_are_alike(
    reader: Reader, axe: str, style: str, body: str, rule: str
) -> None:
    page = reader.open(
        f"<style>{style}</style><main><h1>One</h1><div class=part>{body}</div></main>"
    )
    page.evaluate(STILL)
    page.evaluate(axe)
    page.evaluate(FIRST_OF_EACH, "")
    assert _rules(page.evaluate(AXE, None)) == {rule}


def _rules(faults: list[str]) -> set[str]:
    """The rules that are broken, but for two that each of these pages breaks."""
    return {fault.partition(":")[0] for fault in faults} - {"document-title", "html-has-lang"}


@pytest.mark.parametrize(("style", "body", "rule"), AMONG_MANY.values(), ids=AMONG_MANY)
def test_axe_is_shown_the_one_with_a_fault_after_a_page_without_it(
    reader: Reader, axe: str, style: str, body: str, rule: str
) -> None:
    known = ""
    sound = "<p>some words</p><p><a href=a>some</a></p><label for=a>a</label><input id=a>"
    for now, what in (("", sound), (style, body)):
        page = reader.open(
            f"<style>{now}</style><main><h1>One</h1><div class=part>{what}</div></main>"
        )
        page.evaluate(STILL)
        page.evaluate(axe)
        known += page.evaluate(FIRST_OF_EACH, known)
    assert _rules(page.evaluate(AXE, None)) == {rule}
    page.evaluate(SHOW_ALL)
    page.evaluate(FIRST_OF_EACH, known)
    assert not page.evaluate(
        "document.querySelector('main').checkVisibility({visibilityProperty: true})"
    )


def test_of_many_that_are_alike_axe_is_shown_the_first_and_then_all_are_back(
    reader: Reader,
) -> None:
    page = reader.open("<p>some <b>words</b></p>" * 4 + "<p>some <i>words</i></p>")
    page.evaluate(STILL)
    seen = "[...document.querySelectorAll('p')].map(x => getComputedStyle(x).visibility)"
    page.evaluate(FIRST_OF_EACH, "")
    assert page.evaluate(seen) == ["visible", "hidden", "hidden", "hidden", "visible"]
    page.evaluate(SHOW_ALL)
    assert page.evaluate(seen) == ["visible"] * 5


GLARE = """() => [...document.querySelectorAll(
  ".dd-picture, .film, .dda, .ck, .ddm, .dd-belt, .dd-cells, .dd-explorer, .livemodel")]
  .filter(x => x.checkVisibility()).map((x, i) => x.dataset.picture = i)"""


@pytest.mark.parametrize(
    "name",
    [
        "index",
        "chapters/00_start/01_ten_minutes",
        "chapters/01_before/08_lstm",
        "chapters/02_transformer/08_positions",
        "chapters/02_transformer/12_decoder",
        "chapters/03_bert/12_bertology",
    ],
)
def test_no_picture_is_a_glaring_plate_on_dark_paper(book: Path, reader: Reader, name: str) -> None:
    page = reader.open(book / f"{name}.html", color_scheme="dark")
    page.evaluate(STILL)
    pictures = page.evaluate(GLARE)
    assert pictures
    bright = {}
    for i in pictures:
        shot = page.locator(f'[data-picture="{i}"]').screenshot()
        gray = Image.open(io.BytesIO(shot)).convert("L")
        bright[i] = ImageStat.Stat(gray).mean[0]
    assert max(bright.values()) < 100, bright


# -- search


@pytest.mark.parametrize("word", ["softmax", "padding", "perplexity", "Bahdanau", "beam"])
def test_the_search_finds_pages_without_a_server(book: Path, reader: Reader, word: str) -> None:
    page = reader.open(book / "index.html")
    page.keyboard.press("Control+k")
    page.keyboard.type(word)
    page.keyboard.press("Enter")
    links = page.locator("#search-results li a[href*='chapters/02_transformer']")
    links.first.wait_for()
    assert word.lower() in page.url.lower()
    assert not reader.complaints


HOMES = {  # a word that readers look for, and the page on it
    "RoPE": "05_efficient/08_relative_positions",
    "rope": "05_efficient/08_relative_positions",
    "LSTM": "01_before/08_lstm",
    "Hopfield": "01_before/04_hopfield",
    "backpropagation": "01_before/02_backprop",
    "ELMo": "01_before/10_elmo",
    "multi-head attention": "02_transformer/06_multi_head",
    "masking": "02_transformer/07_masks",
    "causal mask": "02_transformer/07_masks",
    "positional encoding": "02_transformer/08_positions",
    "layer norm": "02_transformer/09_residuals_norms",
    "label smoothing": "02_transformer/13_training",
    "beam search": "02_transformer/14_decoding",
    "BERT": "03_bert/02_architecture",
    "DistilBERT": "03_bert/10_albert_distilbert",
    "Longformer": "05_efficient/02_sparse_by_position",
    "Performer": "05_efficient/04_low_rank_and_features",
    "Nystromformer": "05_efficient/04b_nystrom_yoso_fnet",
    "softmax": "00_start/02_maths",
}


def test_the_search_leads_to_the_home_of_a_word_with_its_number_and_an_excerpt(
    book: Path, reader: Reader
) -> None:
    wrong = {}
    page = reader.open(book / "search.html")
    for word, home in HOMES.items():
        page.goto(f"{(book / 'search.html').as_uri()}?q={word}")
        first = page.locator("#search-results li:has(a)").first
        first.wait_for()
        href = first.locator("a").get_attribute("href") or ""
        if not href.startswith(f"chapters/{home}.html"):
            wrong[word] = href
            continue
        number = find(f"chapters/{home}", ROOT).number
        assert first.locator(".number").inner_text() == number
        assert len(first.locator("p").last.inner_text()) > 60, word
    assert not wrong
    assert not reader.complaints


def test_what_readers_type_finds_its_page_among_the_first_three(book: Path, reader: Reader) -> None:
    """`queries.csv` marks those that don't yet; the marks can only go."""
    with (ROOT / "book" / "queries.csv").open(encoding="utf-8", newline="") as file:
        queries = list(csv.DictReader(file))
    assert len(queries) >= 150
    page = reader.open(f"{reader.online(book)}search.html?q=attention")
    page.locator("#search-results li:has(a)").first.wait_for()
    found = page.evaluate("all => all.map(one => pagesFor(one))", [row["query"] for row in queries])
    missed = {
        row["query"]
        for row, pages in zip(queries, found, strict=True)
        if row["page"] not in pages[:3]
    }
    assert missed == {row["query"] for row in queries if row["todo"]}


def test_the_search_says_first_what_the_glossary_says(book: Path, reader: Reader) -> None:
    page = reader.open(f"{reader.online(book)}search.html?q=rotary positions")
    page.locator(".search-terms dt a").wait_for()
    assert "rotates pairs" in page.locator(".search-terms dd").inner_text()
    assert page.locator(".search-terms a").get_attribute("href").startswith("glossary.html#")
    assert page.locator("#search-results mark").count() > 3


def test_a_search_without_an_answer_says_what_to_try(book: Path, reader: Reader) -> None:
    page = reader.open(f"{reader.online(book)}search.html?q=xylophone")
    page.wait_for_function("() => document.querySelector('.search-summary').textContent")
    assert "Try fewer words" in page.locator(".search-summary").inner_text()


# -- the first page


def test_the_arrows_of_the_first_page_move(book: Path, reader: Reader) -> None:
    page = reader.open(book / "index.html", size=PHONE)
    said = page.locator(".dda [role=status]")
    assert said.inner_text().startswith("The answer: 70% red")
    page.locator(".dda-query").focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    assert "blue" in said.inner_text().split(",")[0], "turned to the duck, moo calls its blue"
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    assert page.locator(".livemodel").count() == 1


# -- keyboard

FOCUSED = """() => {
  const x = document.activeElement, style = getComputedStyle(x);
  const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  const box = x.getBoundingClientRect();
  return {
    what: x.outerHTML.slice(0, 120),
    seen: (ring || style.boxShadow !== "none") && box.width * box.height > 0,
    is: __NAMES__.filter(name => x.matches(name)),
    end: x === document.body,
  };
}"""
REACHED = [
    "#pst-skip-link a",
    "button.search-button__button",
    "nav.bd-links a",
    "button.theme-switch-button",
    "a.run",
    "details.hide > summary",
    ".predict input[type=radio]",
]


def tabbed(page: Page) -> list[dict[str, Any]]:
    """What has the focus after each press of Tab, once around the page."""
    script = FOCUSED.replace("__NAMES__", str(REACHED))
    found: list[dict[str, Any]] = []
    while not found or not found[-1]["end"]:
        assert len(found) < 400, "Tab does not come around: the focus is caught"
        page.keyboard.press("Tab")
        found.append(page.evaluate(script))
    return found[:-1]


def test_tab_reaches_all_that_can_be_used_and_shows_where_it_is(book: Path, reader: Reader) -> None:
    stops = tabbed(reader.open(book / "chapters/00_start/01_ten_minutes.html"))
    assert stops[0]["is"] == REACHED[:1], "the skip link comes first"
    assert {name for stop in stops for name in stop["is"]} == set(REACHED)
    assert not [stop["what"] for stop in stops if not stop["seen"]]


def test_the_skip_link_leads_past_the_side_bar(book: Path, reader: Reader) -> None:
    page = reader.open(book / "use.html")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_the_theme_is_chosen_by_keys_and_kept(book: Path, reader: Reader) -> None:
    online = reader.online(book)
    page = reader.open(f"{online}use.html", color_scheme="light")
    page.focus("button.theme-switch-button")
    page.keyboard.press("Enter")
    page.focus(".theme-change-button[data-mode=dark]")
    page.keyboard.press("Enter")
    theme = "document.documentElement.dataset.theme"
    page.wait_for_function(f"() => {theme} === 'dark'")
    next_page = reader.open(f"{online}notation.html", color_scheme="light")
    assert next_page.evaluate(theme) == "dark"


def test_a_narrow_page_opens_its_side_bar_by_keys_and_closes_it(book: Path, reader: Reader) -> None:
    page = reader.open(book / "use.html", size=PHONE)
    link = page.locator("nav.bd-links a").first
    assert not link.is_visible()
    page.locator("button.primary-toggle:visible").focus()
    page.keyboard.press("Enter")
    page.locator("dialog nav.bd-links a").first.wait_for(state="visible")
    page.keyboard.press("Escape")
    page.locator("dialog nav.bd-links a").first.wait_for(state="hidden")


def test_a_prediction_is_made_by_keys_and_remembered(book: Path, reader: Reader) -> None:
    address = f"{reader.online(book)}chapters/00_start/01_ten_minutes.html"
    page = reader.open(address)
    question = page.locator(".predict").first
    surprise = page.locator(".tag_surprise").first
    assert not surprise.is_visible()
    question.locator("input").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert question.locator("[role=status]").text_content()
    assert surprise.is_visible()
    again = reader.open(address)
    assert again.locator(".predict [role=status]").first.text_content()


def test_one_switch_shows_the_results_of_all_pages(book: Path, reader: Reader) -> None:
    base = reader.online(book)
    page = reader.open(f"{base}chapters/00_start/01_ten_minutes.html")
    surprise = page.locator(".tag_surprise").first
    assert not surprise.is_visible()
    page.focus("button.results-switch")
    page.keyboard.press("Enter")
    assert surprise.is_visible()
    other = reader.open(f"{base}chapters/02_transformer/02_attention.html")
    assert not other.locator(".predict.waiting").count()
    other.locator("button.results-switch").click()
    assert other.locator(".predict.waiting").count()


def test_no_prediction_hides_an_interactive_figure(book: Path, reader: Reader) -> None:
    page = reader.open(book / "chapters/02_transformer/12_decoder.html")
    assert page.locator(".predict.waiting").count()
    for figure in page.locator(".cell [role=group][aria-label]").all():
        assert figure.is_visible()


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_folded_part_opens_and_closes_by_keys(book: Path, reader: Reader, key: str) -> None:
    page = reader.open(book / "chapters/00_start/01_ten_minutes.html")
    part = page.locator("details.hide").first
    part.locator("summary").focus()
    for state in (True, False):
        page.keyboard.press(key)
        assert part.evaluate("x => x.open") is state


def test_arrow_keys_step_through_a_film(book: Path, reader: Reader) -> None:
    page = reader.open(book / "chapters/02_transformer/14_decoding.html")
    film = page.locator(".film").first
    film.locator("input[type=range]").focus()
    told = [film.locator("p").first.text_content()]
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "Home"):
        page.keyboard.press(key)
        told.append(film.locator("p").first.text_content())
    first, second, third, back, home = told
    assert len({first, second, third}) == 3
    assert (back, home) == (second, first)


def test_arrow_keys_move_the_live_model_s_slider(book: Path, reader: Reader) -> None:
    page = reader.whole(book / "chapters/02_transformer/12_decoder.html")
    page.evaluate(STILL)
    live = page.locator(".livemodel")
    status = live.locator("[role=status]")
    before = status.text_content()
    live.locator("input[type=range]").last.focus()
    page.keyboard.press("Home")
    untrained = status.text_content()
    page.keyboard.press("End")
    assert untrained != before
    assert status.text_content() == before
    live.locator(".chips button").first.focus()
    page.keyboard.press("Space")
    assert status.text_content() != before


# -- what moves

WIDGETS = {  # what brings its own style, and a page that has it
    ".livemodel": "chapters/02_transformer/12_decoder",
    ".dd-explorer": "chapters/02_transformer/11_encoder",
    ".dd-trace": "chapters/02_transformer/12_decoder",
    ".film": "chapters/01_before/04_hopfield",
    ".dd-belt": "chapters/01_before/08_lstm",
    ".dd-cells": "chapters/01_before/08_lstm",
    ".dd-beside": "chapters/01_before/12_atlas",
}


@pytest.mark.parametrize("widget", WIDGETS)
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_theme_lets_a_widget_keep_its_size(
    book: Path, root: Path, chromium: Browser, tmp_path: Path, widget: str, size: Size
) -> None:
    reader = Reader(chromium, tmp_path)
    name = WIDGETS[widget]
    there = reader.whole(book / f"{name}.html", size).locator(widget).first
    there.scroll_into_view_if_needed()
    placed = there.bounding_box()
    notebook = nbformat.read(root / f"{name}.ipynb", as_version=4)
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", ())]
    shown = [out.get("data", {}).get("text/html", "") for out in outputs]
    html = next(each for each in shown if f'class="{widget[1:]}' in each)
    page = reader.open(f'<div style="width: {placed["width"]}px">{html}</div>', size)
    alone = page.locator(widget).first.bounding_box()
    reader.close()
    assert placed["height"] < 1.2 * alone["height"] + 20
