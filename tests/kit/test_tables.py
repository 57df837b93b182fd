"""Tables of results: their text, their HTML, which digits they show, and sorting in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from book_build import build
from browser import DESK, PHONE, Reader
from bs4 import BeautifulSoup
from nbformat import from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, writes

from book.pdf import joined, print_pdf
from deepdive.evaluate import Interval
from deepdive_book.kit.tables import LONG, table

MODELS = [
    {"model": "rnn", "error": 0.312, "time": 4, "accuracy": Interval(0.61, 0.59, 0.63)},
    {"model": "transformer", "error": 0.12, "time": 12000, "accuracy": Interval(0.81, 0.79, 0.83)},
    {"model": "bag of words", "time": None},
]


def parsed(html: str) -> Any:
    return BeautifulSoup(html, "html.parser").table


def column(shown: Any, place: int) -> list[str]:
    """What a table of HTML shows in a column."""
    return [row.find_all(["th", "td"])[place].get_text() for row in shown.tbody("tr")]


def digits(values: list[Any], **options: Any) -> list[str]:
    return column(parsed(table([(0, v) for v in values], ["n", "value"], **options).html), 1)


# --- text


def test_the_text_has_aligned_columns_units_and_stars() -> None:
    told = table(
        MODELS, units={"time": "s"}, best={"error": min, "accuracy": max}, caption="Four $n^2$"
    )
    assert str(told) == repr(told) == told.plain
    assert told.plain.splitlines() == [
        "Four n^2",
        "model           error    time (s)            accuracy",
        "------------  -------  ----------  ------------------",
        "rnn             0.312           4   0.61 [0.59, 0.63]",
        "transformer    *0.120      12,000  *0.81 [0.79, 0.83]",
        "bag of words",
        "* best of its column",
    ]


def test_wide_letters_keep_the_columns_in_line() -> None:
    lines = table([("東京", 1), ("x", 2)], ["city", "n"]).plain.splitlines()
    assert lines[2:] == ["東京      1", "x         2"]


def test_rows_may_be_tuples_and_head_orders_the_columns_of_mappings() -> None:
    by_mapping = table(MODELS[:2], ["time", "model"]).plain
    assert by_mapping == table([(4, "rnn"), (12000, "transformer")], ["time", "model"]).plain


def test_numbers_of_torch_and_numpy_are_numbers() -> None:
    cells = [torch.tensor(1.5), np.float32(2.5), np.array([3.5]), torch.tensor([4.5])]
    assert digits(cells) == digits([1.5, 2.5, 3.5, 4.5]) == ["1.5", "2.5", "3.5", "4.5"]
    assert digits([torch.tensor(3), np.int64(4000)]) == ["3", "4,000"]
    assert digits([True, np.bool_(False)]) == ["yes", "no"]


# --- digits


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.5, 0.25], ["0.50", "0.25"]),
        ([0.123456, 0.9], ["0.123", "0.900"]),
        ([1.0, 20.0], ["1", "20"]),
        ([1.4, 30.5, 1234.56], ["1.4", "30.5", "1,234.6"]),
        ([0.0, 0.0], ["0", "0"]),
        ([0.4, 0.000000012], ["0.4", "1.2e-08"]),
        ([2.5, float("nan"), float("inf")], ["2.5", "nan", "inf"]),
        ([12345678, 1], ["12,345,678", "1"]),
        ([None, 7], ["", "7"]),
    ],
)
def test_a_column_shows_as_many_digits_as_say_something(
    values: list[Any], shown: list[str]
) -> None:
    assert digits(values) == shown


def test_a_format_is_a_spec_or_a_function_for_each_number_of_an_interval_too() -> None:
    assert digits([0.5, None], formats={"value": ".1%"}) == ["50.0%", ""]
    assert digits([0.5], formats={"value": lambda x: f"{x:.1f} of all"}) == ["0.5 of all"]
    assert digits([Interval(0.5, 0.25, 0.75)], formats={"value": ".0%"}) == ["50% [25%, 75%]"]


# --- the best


def test_the_best_is_marked_and_so_is_what_looks_the_same() -> None:
    values = [0.8101, 0.8104, 0.5, float("nan"), None]
    shown = parsed(
        table(
            [(i, v) for i, v in enumerate(values)],
            ["n", "value"],
            best={"value": max},
            formats={"value": ".2f"},
        ).html
    )
    assert [cell.get_text() for cell in shown.tbody("strong")] == ["0.81", "0.81"]
    assert "Bold: the best of its column." in shown.caption.get_text()


# --- HTML


def test_the_html_names_rows_and_columns_and_aligns_numbers() -> None:
    shown = parsed(table(MODELS, caption="Three models", units={"time": "s"}).html)
    assert shown.caption.get_text() == "Three models"
    heads = shown.thead("th")
    assert [head.get_text() for head in heads] == ["model", "error", "time (s)", "accuracy"]
    assert {head["scope"] for head in heads} == {"col"}
    assert [cell["scope"] for cell in shown.tbody("th")] == ["row"] * 3
    assert all("number" not in row.th.get("class", []) for row in shown.tbody("tr"))
    assert all("number" in cell["class"] for cell in shown.tbody("td"))
    assert column(shown, 1) == ["0.312", "0.120", ""]


def test_html_of_a_cell_is_escaped_everywhere() -> None:
    bad = '<script>alert("x")</script>'
    html = table(
        [{bad: bad, "n": 1}], caption=bad, units={bad: bad}, formats={"n": lambda _: bad}
    ).html
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 5
    assert parsed(html).td.get_text() == bad


def test_code_and_formulas_are_markup_and_prices_are_not() -> None:
    html = table([("`fit`", "$a < b$"), ("$5 and $6", "$1$2")], ["a", "b"]).html
    assert "$a &lt; b$" in html
    shown = parsed(html)
    assert shown.code.get_text() == "fit"
    assert [formula.get_text() for formula in shown.select(".dd-formula")] == ["$a < b$"]
    assert column(shown, 0)[1] == "$5 and $6"


# --- what is refused


def test_a_notebook_that_is_alone_says_where_its_rows_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "next to this page" in str(table([], ["a"], units={"b": "s"}))
    assert "1" in str(table([(1,)], ["a"]))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"rows": []}, "rows: got none"),
        ({"rows": [{"a": 1}, (1,)]}, "rows: got mappings and sequences"),
        ({"rows": [(1,)]}, "head: got None"),
        ({"rows": [(1, 2), (1,)], "head": ["a", "b"]}, r"rows: row 1: got \(1,\)"),
        ({"rows": ["ab"], "head": ["a", "b"]}, "rows: row 0: got 'ab'"),
        ({"rows": [(1, 2)], "head": ["a", "a"]}, "head: got"),
        ({"rows": [{"a": 1}], "head": ["b"]}, "head: got 'b', which no row has"),
        ({"rows": [{"a": [1]}]}, r"rows: column 'a' has \[1\]"),
        ({"rows": [{"a": torch.ones(2)}]}, "rows: column 'a' has tensor"),
        ({"rows": [{"a": 1}], "formats": {"b": ".1f"}}, "formats: got 'b'"),
        ({"rows": [{"a": 1}], "units": {"b": "s"}}, "units: got 'b'"),
        ({"rows": [{"a": 1}], "best": {"b": min}}, "best: got 'b'"),
        ({"rows": [{"a": 1.5}], "formats": {"a": "x"}}, "formats: 'a' got 'x'"),
        ({"rows": [{"a": "x"}], "best": {"a": min}}, "best: 'a' gave None"),
        ({"rows": [{"a": 1}, {"a": 2}], "best": {"a": sum}}, "best: 'a' gave 3"),
    ],
)
def test_what_cannot_be_shown_is_refused_by_name(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        table(**given)


# --- in the book


RANKED = [(f"model {n}", value, "$n^2$") for n, value in enumerate([3, 10, 2, 1.5, -1, 1e6, 7])]
RANKED = [*RANKED, ("model 10", None, "none")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small book with a page of a long table, which is on a slide too, and of a wide one."""
    folder = tmp_path_factory.mktemp("tables")
    chapter = folder / "checkout" / "chapters" / "01_demo"
    chapter.mkdir(parents=True)
    (folder / "checkout" / "book").mkdir()
    (folder / "checkout" / "book" / "index.md").write_text("# The book\n\n<!-- pages -->\n")
    first = "# 1.1 Tables\n\n**What is best?**\n\nBook 1.1, 5 min"
    long = table(RANKED, ["model", "error", "cost"], units={"error": "nats"}, best={"error": min})
    wide = table([{f"column number {n}": n for n in range(20)}])
    cells = [new_markdown_cell(first, metadata={"tags": ["slide"]})]
    for shown, tags in ((long, ["slide"]), (wide, [])):
        data = {"text/html": shown.html, "text/plain": shown.plain}
        out = new_output("display_data", data=data)
        cells.append(new_code_cell("t", outputs=[out], metadata={"tags": tags}))
    notebook = new_notebook(cells=cells)
    notebook.metadata = from_dict({"language_info": {"pygments_lexer": "ipython3"}})
    (chapter / "01_tables.ipynb").write_text(writes(notebook))
    source = first.replace("\n", "\n# ")
    (chapter / "01_tables.py").write_text(f"# %% [markdown]\n# {source}\n")
    done = build(folder / "checkout", folder / "out")
    assert done.returncode == 0, done.stderr
    return folder / "out"


@pytest.fixture(scope="module")
def page(site: Path) -> Path:
    return site / "chapters/01_demo/01_tables.html"


def order(shown: Any) -> list[str]:
    """The numbers of the models of the long table, from its first row to its last."""
    heads = shown.locator(".dd-table.sortable tbody th").all_inner_texts()
    return [head.removeprefix("model ") for head in heads]


def test_a_long_table_is_sorted_by_its_heads_and_empty_cells_stay_last(
    page: Path, reader: Reader
) -> None:
    assert len(RANKED) >= LONG
    shown = reader.open(page)
    at_first = order(shown)
    error = shown.get_by_role("button", name="error (nats)")
    error.click()
    assert order(shown) == ["4", "3", "2", "0", "6", "1", "5", "10"]
    assert shown.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    error.press("Enter")
    assert order(shown) == ["5", "1", "6", "0", "2", "3", "4", "10"]
    assert shown.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    shown.get_by_role("button", name="model").click()
    assert order(shown) == at_first, "10 comes after 7, as a number does"
    assert shown.locator("th[aria-sort]").count() == 1
    assert not reader.complaints
    assert not shown.locator(".dd-table:not(.sortable) button").count()


def test_without_scripts_it_is_a_plain_table_with_formulas(page: Path) -> None:
    shown = BeautifulSoup(page.read_text(), "html.parser").select_one(".dd-table.sortable")
    assert shown is not None
    assert not shown("button")
    assert [len(row(["th", "td"])) for row in shown("tr")] == [3] * (1 + len(RANKED))
    assert len(shown.select("td math msup")) == len(RANKED) - 1
    assert "$" not in shown.get_text()


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_wide_table_scrolls_by_itself_and_numbers_stand_to_the_right(
    page: Path, reader: Reader, size: tuple[int, int], scheme: str
) -> None:
    shown = reader.open(page, size, color_scheme=scheme)
    assert shown.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
    wide = shown.locator(".text_html", has=shown.locator(".dd-table:not(.sortable)"))
    assert wide.evaluate("x => x.scrollWidth > x.clientWidth && x.tabIndex === 0")
    wide.evaluate("x => { x.scrollLeft = 99; }")
    left = "x => x.getBoundingClientRect().left"
    for first in ("thead th", "tbody th"):  # names of rows, and their own head, stay in sight
        assert wide.locator(first).first.evaluate(left) >= wide.evaluate(left)
    style = "x => getComputedStyle(x).textAlign"
    assert shown.locator(".dd-table td.number").first.evaluate(style) == "right"
    assert shown.locator(".dd-table thead .number button").first.evaluate(style) == "right"
    assert shown.locator(".dd-table tbody th").first.evaluate(style) == "left"


def test_a_table_is_printed_and_stands_on_its_slide(
    page: Path, site: Path, tmp_path: Path, installed: None
) -> None:
    document = joined([page], "Chapter 1")
    assert document.count('<table class="dd-table') == 2
    print_pdf(document, page.parent, tmp_path / "chapter.pdf")
    assert (tmp_path / "chapter.pdf").read_bytes().startswith(b"%PDF")
    deck = BeautifulSoup((site / "slides/01_demo.html").read_text(), "html.parser")
    (shown,) = deck.select(".shown .dd-table")
    assert len(shown.select("math")) == len(RANKED) - 1
