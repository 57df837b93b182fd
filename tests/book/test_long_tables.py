"""The book's longest tables, of laws and of faults, as they are read wide and narrow."""

from __future__ import annotations

from pathlib import Path

from browser import DESK, PHONE, Reader


def test_the_laws_fit_a_desk_and_their_head_stays_in_sight(book: Path, reader: Reader) -> None:
    page = reader.open(book / "laws.html", DESK)
    wide = """[...document.querySelectorAll("#laws-by-part table")].map(table =>
      table.getBoundingClientRect().right
      - document.querySelector("article").getBoundingClientRect().right)"""
    assert max(page.evaluate(wide)) <= 0
    table = page.locator("#attention table")
    rows = table.locator("tbody tr")
    assert rows.count() > 30
    rows.nth(25).evaluate("row => scrollTo(0, row.getBoundingClientRect().top + scrollY - 400)")
    head = table.locator("thead th").nth(3).bounding_box()
    assert head
    assert 40 <= head["y"] <= 60, "below the bar of the page"


def test_on_a_phone_the_name_of_a_part_stays_while_its_laws_scroll(
    book: Path, reader: Reader
) -> None:
    page = reader.open(book / "laws.html", PHONE)
    box = page.locator(".pst-scrollable-table-container:has(table)").first
    box.evaluate("box => { box.scrollLeft = 999; }")
    name = box.locator("tbody tr").first.locator("td").first.bounding_box()
    last = box.locator("tbody tr").first.locator("td").last.bounding_box()
    assert name
    assert last
    assert name["x"] >= 0
    assert last["x"] + last["width"] <= PHONE[0]


def test_on_a_phone_a_fault_is_read_downwards(book: Path, reader: Reader) -> None:
    page = reader.open(book / "faults.html", PHONE)
    cells = page.locator("tbody tr").first.locator("td").all()
    boxes = [cell.bounding_box() for cell in cells]
    assert len(boxes) == 3
    assert all(box["width"] > 330 for box in boxes if box)
