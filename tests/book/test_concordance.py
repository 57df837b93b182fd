"""The concordance: every heading of the sources has a row, and every row leads somewhere."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from absence import SOURCES as ABSENT
from browser import PHONE, Reader
from bs4 import BeautifulSoup
from checkout import ROOT
from concordance import COLUMNS, SOURCES, STATUSES, Heading, deck, differences, is_there, table

sys.path.append(str(ROOT / "book"))  # as book/build.py does

from printed import exercises, headings, number

FOLDER = ROOT.parent / "shared" / "sources"
ROWS = table()


def name(row: dict[str, str]) -> str:
    return f"{row['source']} {row['section']} {row['title']}"


def of(source: str) -> list[dict[str, str]]:
    return [row for row in ROWS if row["source"] == source]


# -- the rows


def test_no_heading_of_the_sources_is_absent() -> None:
    """Nobody may pass the sources on, so a machine without them is no failure, in CI either."""
    if not FOLDER.is_dir():
        pytest.skip(f"{ABSENT}book, decks and blog")
    assert not differences(FOLDER)


def test_the_rows_are_whole() -> None:
    assert {row["source"] for row in ROWS} == set(SOURCES)
    for row in ROWS:
        assert tuple(row) == COLUMNS
        assert row["title"], name(row)
        assert row["status"] in STATUSES, name(row)
    assert len({(r["source"], r["section"], r["title"]) for r in ROWS}) == len(ROWS)


def test_the_book_has_its_seven_chapters_in_the_order_of_pages() -> None:
    pages = [int(row["printed_page"]) for row in of("book") if row["printed_page"].isdigit()]
    assert pages == sorted(pages)
    sections = [row["section"] for row in of("book") if row["section"]]
    assert {section[0] for section in sections} == set("1234567")
    for section in sections:
        above = section.rpartition(".")[0]
        assert not above or above in sections or above == "4", section


def test_a_built_row_names_a_page_that_is_there_with_anchor_and_exercise() -> None:
    for row in ROWS:
        if row["status"] == "built":
            assert is_there(row["page"]), f"{name(row)}: no page {row['page']}"
            assert row["anchor"] in headings(row["page"]) or not row["anchor"], name(row)
        else:
            assert not row["anchor"], f"{name(row)}: an anchor of what is not there"
            assert not row["exercise"], f"{name(row)}: an exercise of what is not there"
        if row["exercise"]:
            chapter, _, exercise = row["exercise"].partition("/")
            assert exercise in exercises(chapter), name(row)


def test_a_page_between_two_numbers_has_a_letter() -> None:
    assert number("chapters/05_efficient/04b_nystrom_yoso_fnet") == "5.4b "
    assert number("chapters/05_efficient/04_low_rank_and_features") == "5.4 "
    assert not number("glossary")


def test_a_row_is_not_called_planned_when_its_page_is_there() -> None:
    late = [name(row) for row in ROWS if row["status"] == "planned" and is_there(row["page"])]
    assert not late, "python tools/concordance.py --built marks them"


def test_what_is_printed_only_names_no_page() -> None:
    assert not [name(r) for r in ROWS if r["status"] == "printed only" and r["page"]]


@pytest.mark.parametrize(
    ("section", "printed", "page"),
    [("2.3.2", "16", "03_scores"), ("2.4.2.2", "24", "06_multi_head"), ("2.5", "27", "02_trans")],
)
def test_known_sections_lead_to_their_pages(section: str, printed: str, page: str) -> None:
    (row,) = [row for row in of("book") if row["section"] == section]
    assert row["printed_page"] == printed
    assert row["page"].rpartition("/")[2].startswith(page)


def test_the_parser_keeps_titles_and_leaves_out_what_stands_in_pictures() -> None:
    kaist = (
        "\n\nDeep Models\n\nSlide made by\n\nVanilla RNN\n\n- **Encoder**\n - reads\n\nNew state\n"
    )
    assert [h.title for h in deck("kaist", kaist)] == [
        "Deep Models", "Vanilla RNN", "Vanilla RNN: Encoder"
    ]  # fmt: skip
    straka = '\n\nWarmup\n\nThinking\nMachines\n\nFigure 2 of "BERT", <https://a.example>\n'
    assert deck("straka", straka) == [
        Heading("straka", "1", "Warmup", ""), Heading("straka", "2", 'Figure 2 of "BERT"', "")
    ]  # fmt: skip


# -- in the book


def test_every_anchor_is_in_the_built_book(book: Path) -> None:
    ids: dict[str, set[str]] = {}
    for row in ROWS:
        if row["status"] == "built":
            page = row["page"]
            if page not in ids:
                text = (book / f"{page}.html").read_text("utf-8")
                ids[page] = set(re.findall(r'\sid="([^"]+)"', text))
            assert not row["anchor"] or row["anchor"] in ids[page], name(row)


def test_the_page_has_every_row_and_links_what_is_built(book: Path) -> None:
    page = BeautifulSoup((book / "concordance.html").read_text("utf-8"), "html.parser")
    lines = page.select("table.concordance tbody tr")
    assert len(lines) == len(ROWS)
    for line, row in zip(lines, ROWS, strict=True):
        assert bool(line.select("td:last-child a")) == (row["status"] == "built"), name(row)


def visible(page: object, source: str = "book") -> list[str]:
    rows = f"table.concordance[data-source={source}] tbody tr:visible"
    return [line.split("\t")[0].strip() for line in page.locator(rows).all_inner_texts()]  # type: ignore[attr-defined]


def test_a_page_a_section_and_words_are_looked_up(book: Path, reader: Reader) -> None:
    page = reader.open(book / "concordance.html")
    assert len(visible(page)) == len(of("book"))
    page.focus(".concordance-ask input")
    page.keyboard.type("24")
    assert visible(page) == ["2.4.2.1", "2.4.2.2"]
    told = page.inner_text(".concordance-ask [role=status]")
    assert told == "2.4.2.2 starts on page 24; 2.4.2.1, from page 22, may continue here."
    assert not visible(page, "kaist")
    page.fill(".concordance-ask input", "2.3.2")
    assert visible(page) == ["2.3.2", "2.3.2.1", "2.3.2.2", "2.3.2.3"]
    page.fill(".concordance-ask input", "grid lstm")
    # All lead to the page whose title has the words.
    assert visible(page, "kaist") == ["14", "15", "16", "17", "18"]
    page.fill(".concordance-ask input", "no such words")
    assert page.inner_text(".concordance-ask [role=status]") == "0 rows."
    page.fill(".concordance-ask input", "")
    assert len(visible(page)) == len(of("book"))
    assert reader.complaints == []


def test_the_keyboard_goes_from_the_question_to_the_page(book: Path, reader: Reader) -> None:
    page = reader.open(book / "concordance.html")
    page.focus(".concordance-ask input")
    page.keyboard.type("2.4.2.2")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert "2.6 Multi-head" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    page.wait_for_url("**/06_multi_head.html*")


def test_an_address_asks_and_a_phone_shows_the_answer(book: Path, reader: Reader) -> None:
    online = reader.online(book)
    page = reader.open(f"{online}concordance.html?q=20", size=PHONE, color_scheme="dark")
    assert "starts on page 20" in page.inner_text(".concordance-ask [role=status]")
    assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
    assert all(url.startswith((online, "data:")) for url in reader.requests)


def test_without_scripts_the_tables_are_there(book: Path, reader: Reader) -> None:
    browser = reader.context.browser
    assert browser is not None
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((book / "concordance.html").as_uri())
    assert not page.locator(".concordance-ask").is_visible()
    assert page.locator("table.concordance tbody tr:visible").count() == len(ROWS)
    context.close()
