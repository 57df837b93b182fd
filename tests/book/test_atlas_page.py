"""The book's page of the atlas: all rows are there, the filter finds, the tree leads to rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser import PHONE, Reader
from bs4 import BeautifulSoup

from deepdive_book.site.atlas.rows import TABLES, read_csv, rows

ROWS = rows()


@pytest.fixture(scope="module")
def page(book: Path) -> Any:
    return BeautifulSoup((book / "atlas.html").read_text("utf-8"), "html.parser")


def test_every_system_has_its_row_below_its_chapter(page: Any) -> None:
    found = page.select(".atlas-rows details")
    assert [part["id"] for part in found] == [
        row.id for chapter in "1234567" for row in ROWS if row.chapter == chapter
    ]
    for part in found:
        (row,) = (row for row in ROWS if row.id == part["id"])
        assert part.find_parent("section")["aria-label"] == f"Chapter {row.chapter}"
        assert row.status in part.summary.get_text()
        assert bool(part.select("a[href^=c]")) == row.built, "a page, where there is one"
        assert all(bullet.split("`")[0] in part.get_text() for bullet in row.bullets)


def test_the_tree_holds_every_system_once_with_a_parent_or_a_child(page: Any) -> None:
    related = {row.id for row in ROWS if row.parent} | {row.parent for row in ROWS} - {""}
    drawn = [link["href"][1:] for link in page.select("svg a")]
    assert sorted(drawn) == sorted(related)
    planned = {link["href"][1:] for link in page.select("svg a.planned")}
    assert planned == {row.id for row in ROWS if row.id in related and not row.built}


def test_the_tables_have_the_printed_rows(page: Any) -> None:
    tables = page.select("table")[-4:]
    for number, found in zip(("1.1", "1.2", "1.3", "1.4"), tables, strict=True):
        cells = [each for each in read_csv(TABLES) if each["table"] == number]
        assert len(found.select("tbody tr")) == len(cells)
        assert number in found.caption.get_text()


def count(page: Any) -> str:
    return str(page.locator(".atlas-filter output").text_content())


@pytest.mark.parametrize("media", [{}, {"color_scheme": "dark"}])
def test_the_filter_is_used_by_keys(book: Path, reader: Reader, media: dict[str, str]) -> None:
    page = reader.open(book / "atlas.html", size=PHONE, **media)
    assert count(page) == f"{len(ROWS)} of {len(ROWS)} systems"
    page.focus("input[name=words]")
    page.keyboard.type("wu2016")
    assert page.locator("#gnmt").is_visible()
    assert not page.locator("#bert").is_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("h")  # head: GNMT changes what is around
    assert not page.locator("#gnmt").is_visible()
    page.focus("button[type=reset]")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#bert').checkVisibility()")
    page.focus("#gnmt summary")
    page.keyboard.press("Enter")
    assert page.locator("#gnmt").evaluate("row => row.open")
    assert not reader.complaints


@pytest.mark.parametrize("name", ["place", "chapter", "growth", "status"])
def test_each_choice_leaves_its_rows(book: Path, reader: Reader, name: str) -> None:
    page = reader.open(book / "atlas.html")
    options = page.locator(f"select[name={name}] option")
    for value in options.evaluate_all("all => all.map(option => option.value)"):
        page.select_option(f"select[name={name}]", value)
        shown = page.locator(".atlas-rows details:not([hidden])")
        told = shown.evaluate_all(f"all => all.map(row => row.dataset.{name})")
        assert told
        assert not value or set(told) == {value}
        assert count(page).startswith(f"{len(told)} of ")


def test_years_bound_the_rows(book: Path, reader: Reader) -> None:
    page = reader.open(book / "atlas.html")
    page.fill("input[name=from]", "2014")
    page.fill("input[name=to]", "2015")
    shown = page.locator(".atlas-rows details:not([hidden])")
    assert set(shown.evaluate_all("all => all.map(row => row.dataset.year)")) == {"2014", "2015"}


def test_a_link_opens_the_row_that_the_filter_hid(book: Path, reader: Reader) -> None:
    page = reader.open(f"{reader.online(book)}atlas.html#gnmt")
    assert page.locator("#gnmt").evaluate("row => row.open")
    page.fill("input[name=words]", "no system is called this")
    assert count(page).startswith("0 of")
    page.locator("svg a[href='#transformer']").first.click()
    page.wait_for_function("() => document.querySelector('#transformer').open")
    assert page.locator("#transformer").is_visible()


def test_an_address_that_names_no_row_opens_none(book: Path, reader: Reader) -> None:
    page = reader.open(f"{reader.online(book)}atlas.html#%")
    assert page.locator(".atlas-rows details").count()
    assert not page.locator(".atlas-rows details[open]").count()
    assert not reader.complaints
