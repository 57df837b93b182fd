"""What stands around the text: folds, cards, copy buttons, shades, how a page names itself."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from browser import DESK, PHONE, Reader
from bs4 import BeautifulSoup
from checkout import ROOT
from docutils import nodes
from docutils.utils import new_document
from playwright.sync_api import Page

sys.path.append(str(ROOT / "book"))  # as book/build.py does

from around import CARD, card, folded, report_address, site_address
from links import certain, glossary_names, same, senses

PAGE = "chapters/05_efficient/08_relative_positions.html"
PROJECT = "https://github.com/Some-One/deepdive"


def read(path: Path) -> Any:
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


# -- the side bar


def test_the_side_bar_folds_by_chapter_and_opens_the_one_that_is_read(book: Path) -> None:
    bar = read(book / PAGE).select_one("nav.bd-links")
    folds = bar.find_all("details")
    assert [fold.summary.get_text() for fold in folds if fold.has_attr("open")] == ["5 Efficient"]
    assert len(folds) == 14
    assert len(bar.find_all("a")) == len(bar.select("details a"))


def test_where_no_page_is_current_the_first_chapter_is_open() -> None:
    caption = (
        '<p aria-level="2" class="caption" role="heading"><span class="caption-text">{}</span></p>'
    )
    bar = "".join(caption.format(name) + f"<ul><li>{name}</li></ul>" for name in ("A", "B"))
    parts = folded(bar).split("<details")
    assert [part[:5] == " open" for part in parts[1:]] == [True, False]


# -- how a page names itself


def test_a_page_names_itself_to_those_who_share_it(book: Path) -> None:
    head = read(book / PAGE).head
    given = {tag["property"]: tag["content"] for tag in head.select("meta[property^=og]")}
    assert given["og:title"] == "5.8 Relative positions: Shaw, T5 bias, ALiBi, RoPE, Transformer-XL"
    assert given["og:description"].endswith("?")
    assert (book / PAGE).parent.joinpath(given["og:image"]).is_file()
    icon = head.select_one("link[rel=icon]")["href"]
    assert (book / PAGE).parent.joinpath(icon).is_file()


def test_a_page_is_shared_with_its_own_first_picture() -> None:
    images = {"a.svg": (set(), "a.svg"), "b.png": (set(), "b1.png"), "c.png": (set(), "c.png")}
    app = SimpleNamespace(env=SimpleNamespace(images=images))
    page = new_document("page")
    page += [nodes.image(uri="a.svg", alt="lines"), nodes.image(uri="b.png")]
    assert card(app, page) == CARD, "a drawing is no bitmap, and the other picture has no text"
    page += nodes.image(uri="c.png", alt="loss over tokens")
    assert card(app, page) == ("_images/c.png", "loss over tokens")
    assert card(app, None) == CARD


@pytest.mark.parametrize(
    ("address", "site"),
    [
        (PROJECT, "https://some-one.github.io/deepdive/"),
        ("https://git.elsewhere.org/a/b", ""),
        ("https://deepdive.example/deepdive", ""),
    ],
)
def test_the_site_of_a_project_is_known_where_github_shows_it(address: str, site: str) -> None:
    assert site_address(address) == site


def test_a_mistake_is_reported_on_the_form_with_the_page_filled_in(root: Path) -> None:
    address = report_address(PROJECT, "2.8 Positions")
    assert address.startswith(f"{PROJECT}/issues/new?")
    name = re.search(r"template=([\w.]+)", address)
    form = (root / ".github" / "ISSUE_TEMPLATE" / (name[1] if name else "")).read_text("utf-8")
    assert "id: page" in form
    assert "&page=2.8+Positions" in address


def test_without_a_public_address_each_page_says_how_to_report(book: Path) -> None:
    for placeholder in ("", "https://deepdive.example/deepdive"):
        assert report_address(placeholder, "2.8 Positions") == ""
    for name in (PAGE, "glossary.html"):
        foot = read(book / name).select_one(".report")
        link = foot.find("a")
        assert link or read(book / name).h1.find(string=True).strip() in foot.get_text()


# -- cards


@pytest.mark.parametrize(
    ("name", "found", "meant"),
    [
        ("RoPE", "RoPE", True),
        ("RoPE", "rope", False),
        ("BPE", "bpe", False),
        ("softmax", "Softmax", True),
        ("Transformer", "transformers", False),
        ("k-means", "K-means", True),
    ],
)
def test_an_abbreviation_is_not_the_everyday_word(name: str, found: str, meant: bool) -> None:
    assert same(name, found) is meant


@pytest.mark.parametrize(
    ("name", "page", "before", "found", "after", "linked"),
    [
        ("beam", "casestudies/07_medical", "Ghassemi, Oakden-Rayner and ", "Beam", " 2021", False),
        ("beam", "chapters/02_transformer/14", "In a search. ", "Beam", " search keeps", True),
        ("hub", "casestudies/07_medical", "from the ", "hub", " of Hugging Face", False),
        ("hub", "chapters/03_bert/06_weights", "near the ", "hub", "", False),
        (
            "hubs",
            "chapters/04_multilingual/10_embedding_space",
            "A vector near to all: ",
            "hubs",
            "",
            True,
        ),
        ("Transformer", "chapters/06a_text/02", "the library ", "transformers", "", False),
        ("heads", "chapters/06b_vision/06_detr", "with its queries and ", "heads", "", False),
        ("decoder", "chapters/06b_vision/06_detr", "the ", "decoder", " writes", False),
        ("decoder", "chapters/02_transformer/12_decoder", "the ", "decoder", " writes", True),
        ("token", "chapters/06b_vision/01_patches", "an image ", "token", "", False),
        ("embedding", "chapters/03_bert/11_sentences", "a sentence ", "embedding", "", False),
        ("embedding", "chapters/03_bert/01_input", "its ", "embedding", "", True),
        ("softmax", "chapters/02_transformer/02_attention", "", "Softmax", " sums to 1", True),
        ("attention head", "chapters/06b_vision/06_detr", "an ", "attention head", "", True),
    ],
)
def test_a_word_is_linked_only_where_its_sense_is_certain(
    name: str, page: str, before: str, found: str, after: str, linked: bool
) -> None:
    same_word = same(name, found, before) or same(name, found.removesuffix("s"), before)
    assert (same_word and certain(name, page, before + found + after, before)) is linked


def test_each_bare_word_of_the_glossary_has_a_decided_sense(root: Path) -> None:
    """A new entry of one word goes into `book/senses.yaml`: what else may the word mean?"""
    source = (root / "book" / "glossary.md").read_text("utf-8")
    of_a_field = {w for w, d in re.findall(r"^(\w+)\n(?:\w+\n)*  (In \w+, .*)", source, re.M)}
    bare = {name for names in glossary_names(source) for name in names if " " not in name}
    assert bare - of_a_field - {"queries"} == set(senses()) - of_a_field


CARDS = [("term", "A positional encoding"), ("paper", "Vaswani")]


@pytest.mark.parametrize(("kind", "begins"), CARDS)
def test_a_card_opens_to_the_mouse_and_by_keys_and_closes(
    book: Path, reader: Reader, kind: str, begins: str
) -> None:
    page = reader.whole(book / "chapters/02_transformer/08_positions.html")
    link = page.locator(f"a.{kind}[data-card^='{begins}']").first
    card = page.locator(".card-tip")
    link.scroll_into_view_if_needed()
    link.hover()
    card.wait_for(state="visible")
    assert card.inner_text().startswith(begins)
    assert link.get_attribute("aria-describedby") == "card-tip"
    page.keyboard.press("Escape")
    card.wait_for(state="hidden")
    page.mouse.move(0, 0)
    link.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    card.wait_for(state="visible")
    box = card.bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= DESK[0]
    page.keyboard.press("Tab")
    left = "link => !link.hasAttribute('aria-describedby')"
    page.wait_for_function(left, arg=link.element_handle())
    page.keyboard.press("Escape")
    card.wait_for(state="hidden")
    assert not reader.complaints


def test_a_tap_opens_a_card_that_leads_on_and_paper_has_none(book: Path, chromium: Any) -> None:
    context = chromium.new_context(
        has_touch=True, is_mobile=True, viewport={"width": PHONE[0], "height": PHONE[1]}
    )
    page = context.new_page()
    page.goto((book / "chapters/02_transformer/08_positions.html").as_uri())
    page.locator("a.term").first.tap()
    card = page.locator(".card-tip")
    card.wait_for(state="visible")
    box = card.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE[0]
    page.emulate_media(media="print")
    assert not card.is_visible()
    page.emulate_media(media="screen")
    card.locator("a").tap()
    page.wait_for_url("**/glossary.html#*")
    context.close()


# -- code


def test_code_has_14_pixels_everywhere(book: Path, reader: Reader) -> None:
    for size in (DESK, PHONE):
        page = reader.open(book / "chapters/02_transformer/07_masks.html", size)
        sizes = page.locator(".bd-article pre").evaluate_all(
            "all => [...new Set(all.map(x => getComputedStyle(x).fontSize))]"
        )
        assert sizes == ["14px"]


def test_a_line_of_100_characters_fits_beside_both_side_bars(book: Path, reader: Reader) -> None:
    page = reader.open(book / "chapters/02_transformer/07_masks.html", DESK)
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    page.evaluate("document.querySelector('.cell_input pre').textContent = 'm'.repeat(100)")
    wide = "document.querySelector('.cell_input pre')"
    assert page.evaluate(f"{wide}.scrollWidth <= {wide}.clientWidth")


def test_a_button_copies_a_cell(book: Path, reader: Reader) -> None:
    reader.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = reader.open(book / "use.html")
    code = page.locator(".highlight:has(.copy)").first
    code.hover()
    code.locator(".copy").click()
    page.get_by_role("status").filter(has_text="Copied").wait_for(state="attached")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == code.locator("pre").text_content()
    assert copied.strip()


def shade(page: Page) -> str | None:
    return page.locator("#wide").get_attribute("data-more")


def test_what_is_wider_than_the_page_has_a_shade_where_it_goes_on(
    root: Path, reader: Reader
) -> None:
    script = (root / "book/_static/scroll.js").read_text("utf-8")
    page = reader.open(
        f'<pre id="wide" style="overflow: auto; width: 200px">{"m" * 100}</pre>'
        f'<pre id="short">m</pre><script>{script}</script>'
    )
    assert shade(page) == "right"
    assert page.locator("#short").get_attribute("data-more") is None
    for place, wanted in ((100, "left right"), (9999, "left"), (0, "right")):
        page.evaluate(f"wide.scrollLeft = {place}")
        page.wait_for_function(f"() => wide.dataset.more === '{wanted}'")


# -- faces


def test_the_faces_are_in_the_book_with_their_licence_and_not_large(book: Path) -> None:
    folder = book / "_static" / "fonts"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 500_000
    assert all(
        "SIL OPEN FONT LICENSE" in path.read_text("utf-8").upper()
        for path in folder.glob("OFL-*.txt")
    )
    css = (book / "_static" / "fonts.css").read_text("utf-8")
    named = set(re.findall(r'url\("fonts/([^"]+)"', css))
    assert named == {path.name for path in folder.glob("*.woff2")}


def test_a_page_is_set_in_the_faces_of_the_book(book: Path, reader: Reader) -> None:
    page = reader.open(book / "chapters/02_transformer/07_masks.html")
    page.evaluate("document.fonts.ready")
    loaded = page.evaluate(
        "[...document.fonts].filter(f => f.status === 'loaded').map(f => f.family)"
    )
    faces = {family.strip('"') for family in loaded}
    assert {"Source Serif 4", "Source Sans 3", "Iosevka"} <= faces
