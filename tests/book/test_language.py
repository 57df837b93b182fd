"""The field's language: finished pages have its words and its cells, and the lists only shrink."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from checkout import ROOT

from book import language
from deepdive_book.site.pages import Page, discover
from deepdive_book.site.pages.source import load

PAGES = discover(ROOT)
LISTS = language.todo()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_passes_each_check_or_is_on_its_list(page: Page) -> None:
    for check in language.checked(page):
        found = list(language.CHECKS[check](page))
        if page.name in LISTS[check]:
            assert found, f"{page.name} passes {check}: run `python book/language.py --write`"
        else:
            assert not found, f"{check}: {found}"


def test_the_lists_name_pages_in_the_book_s_order_and_no_other() -> None:
    assert list(LISTS) == list(language.CHECKS)
    for check, listed in LISTS.items():
        assert listed == [
            p.name for p in PAGES if p.name in listed and check in language.checked(p)
        ]


def test_each_page_has_a_name_and_its_terms() -> None:
    assert list(language.names()) == [page.name for page in PAGES]
    for page, entry in language.names().items():
        assert 1 <= len(entry["name"]) <= 4, page
        assert 5 <= len(entry["terms"]) <= 20, page
        assert len({term.lower() for term in entry["terms"]}) == len(entry["terms"]), page


def test_no_standard_term_is_a_banned_word() -> None:
    for page, entry in language.names().items():
        for term in (*entry["name"], *entry["terms"]):
            for banned in language.terms():
                if not banned.get("most") and not banned.get("unless"):
                    assert not re.fullmatch(banned["words"], term, re.I), f"{page}: {term}"


# ---- a page made for these tests

CONCEPT = """\
import torch


def attention(q, k, v):
    '''A docstring doesn't count.'''
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (T, S)

    # Nor does a comment.
    return scores.softmax(-1) @ v
"""
EQUALS = """\
from deepdive.core import attention as ours

assert torch.allclose(attention(q, k, v), ours(q, k, v))
"""


def text(source: str, *tags: str) -> Any:
    return nbformat.v4.new_markdown_cell(source, metadata={"tags": [*tags]})


def code(source: str, *tags: str) -> Any:
    return nbformat.v4.new_code_cell(source, metadata={"tags": [*tags]})


def made(folder: Path, *cells: Any, title: str = "Attention: a weighted mean") -> Page:
    """A page of these cells below a title and an opening."""
    source = folder / "chapters" / "02_made" / "01_made.py"
    source.parent.mkdir(parents=True)
    source.write_text(f"# %% [markdown]\n# # {title}\n#\n# An opening.\n", encoding="utf-8")
    book = nbformat.v4.new_notebook(cells=[text(f"# {title}\n\nAttention is a mean."), *cells])
    nbformat.write(book, source.with_suffix(".ipynb"))
    language.cells.cache_clear()
    return Page(source, folder)


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("Read `the lesson` and $x_{lesson}$ [here](lesson.ipynb).", "Read and here."),
        ("**Bold** and <b>tags</b>\n```\nlesson\n```\nend", "Bold and tags end"),
        ("$$lesson$$ cost", "cost"),
    ],
)
def test_code_formulas_and_addresses_are_no_prose(markdown: str, words: str) -> None:
    assert language.plain(markdown).split() == words.split()


@pytest.mark.parametrize(
    ("sentence", "term", "there"),
    [
        ("Fine-tuning helps.", "fine tuning", True),
        ("Object queries attend.", "object query", True),
        ("Object-query vectors.", "object query", True),
        ("Two logits.", "logit", True),
        ("A logistic curve.", "logit", False),
        ("GQA saves memory.", "gqa", True),
    ],
)
def test_a_term_is_found_whatever_its_case_or_number(sentence: str, term: str, there: bool) -> None:
    assert language.says(sentence, term) is there


@pytest.mark.parametrize(
    ("prose", "finds"),
    [
        ("The lesson begins anew.", ["anew (1 times)", "lesson (1 times)"]),
        ("A gap-sentence objective hides gap sentences.", []),
        ("Accuracy is 52 %.", ["52 % (1 times)"]),
        ("The first row of the table, and the top row.", []),
        ("The colour of a neighbour.", ["colour, neighbour (2 times)"]),
        ("Rows. " * 7, ["rows (7 times)"]),
        ("Rows. " * 6, []),
    ],
)
def test_banned_words_are_found_and_allowed_contexts_are_not(
    tmp_path: Path, prose: str, finds: list[str]
) -> None:
    found = list(language.words(made(tmp_path, text(prose))))
    assert [finding.partition(":")[0] for finding in found] == finds


def test_further_reading_is_not_checked(tmp_path: Path) -> None:
    page = made(tmp_path, text("Fine.\n\n## Further reading\n\n- A lesson in luck and feelings."))
    assert not list(language.words(page))


def test_a_page_without_its_name_or_terms_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = made(tmp_path, text("Softmax of logits."))
    wanted = {"name": ["attention"], "terms": ["softmax", "logit", "query", "key"]}
    monkeypatch.setattr(language, "names", lambda: {page.name: wanted})
    assert not list(language.name(page))
    assert list(language.vocabulary(page)) == ["the text never says: query, key"]
    wanted["name"] = ["convolution"]
    assert len(list(language.name(page))) == 2


@pytest.mark.parametrize(
    ("cells", "finds"),
    [
        ([code(CONCEPT, "concept"), code(EQUALS, "equals-library")], ""),
        ([code(CONCEPT), code(EQUALS, "equals-library")], "0 cells are tagged"),
        ([code(CONCEPT, "concept"), code(EQUALS)], "no cell tagged `equals-library`"),
        ([code(CONCEPT, "concept"), code("assert True", "equals-library")], "no cell tagged"),
        ([code(CONCEPT, "concept", "fold"), code(EQUALS, "equals-library")], "cell is folded"),
        ([code(CONCEPT, "concept"), code(EQUALS, "equals-library", "fold")], "is folded"),
        (
            [code("import deepdive\n" + CONCEPT, "concept"), code(EQUALS, "equals-library")],
            "imports deepdive",
        ),
        ([code("x = 1\n" * 41, "concept"), code(EQUALS, "equals-library")], "has 41 lines"),
        ([code("x = 1\n" * 40, "concept"), code(EQUALS, "equals-library")], ""),
        (
            [code(f"x = {'1' * 100}", "concept"), code(EQUALS, "equals-library")],
            "1 lines of more than 100",
        ),
    ],
)
def test_the_concept_cell_is_open_alone_and_compared(
    tmp_path: Path, cells: list[Any], finds: str
) -> None:
    found = list(language.concept(made(tmp_path, *cells)))
    assert bool(found) == bool(finds)
    assert all(finds in finding for finding in found)


def test_a_concept_cell_runs_alone() -> None:
    """Each one, in a namespace of its own: what it needs is in it."""
    for page in PAGES:
        for cell in language.cells(page).tagged(language.CONCEPT):
            exec(compile(cell.source, page.name, "exec"), {"__name__": page.name})


def test_folds_are_few_and_never_hold_what_a_reader_needs(tmp_path: Path) -> None:
    four = [code("x", "fold"), code("y", "fold"), text("z", "aside"), code("w", "fold")]
    page = made(tmp_path, *four, text("## In practice"), text("## Common mistake: a mask"))
    assert not list(language.folds(page))
    page = made(tmp_path / "more", *four, text("## In practice\n\n- Scale.", "aside"))
    assert list(language.folds(page)) == ["5 folds, at most 4", "folded: In practice"]


def test_the_word_list_becomes_a_vale_style(tmp_path: Path) -> None:
    language.main(["--vale", str(tmp_path / "vale")])
    assert "Deepdive" in (tmp_path / "vale" / ".vale.ini").read_text("utf-8")
    rules = list((tmp_path / "vale" / "styles" / "Deepdive").glob("*.yml"))
    assert len(rules) == len(language.terms())


def test_the_command_names_every_finding_of_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    listed = LISTS["words"][0]
    with pytest.raises(SystemExit) as ended:
        language.main([listed])
    assert ended.value.code == 1
    assert "write " in capsys.readouterr().out


def test_the_template_of_a_page_runs_and_passes_every_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = Page(ROOT / "docs" / "page_template.py", ROOT)
    template = load(page)
    names: dict[str, Any] = {"__name__": "page"}
    for cell in template.cells:
        if cell.cell_type == "code" and "setup" not in cell.metadata.get("tags", []):
            exec(compile(cell.source, page.name, "exec"), names)
    assert [row["difference"] for row in names["rows"]] == ["3.5%", "10.0%", "76.6%"]
    terms = ["layer normalization", "root mean square", "mean", "weights", "vector"]
    monkeypatch.setattr(language, "cells", lambda page: language.Cells(page, template.cells))
    monkeypatch.setattr(
        language, "names", lambda: {page.name: {"name": ["RMSNorm"], "terms": terms}}
    )
    for check in language.CHECKS:
        assert not list(language.CHECKS[check](page)), check
