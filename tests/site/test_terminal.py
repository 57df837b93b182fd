"""What a terminal shows: wrapped columns and prose, and no TeX."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deepdive_book.course.questions import FILES, Bank, load
from deepdive_book.site.pages import discover
from deepdive_book.site.terminal import paragraphs, plain_text, table


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("$0.9^{40} = 0.015$", "0.9⁴⁰ = 0.015"),
        (r"$\sqrt d$ and $\sqrt{8}$", "√d and √8"),
        (r"$d^{-0.5} \min(t, t \cdot w)$", "d^-0.5 min(t, t · w)"),
        ("*dog bites man*, **always**", "dog bites man, always"),
        ("2 * 3 and `x**2 * y**2`", "2 * 3 and `x**2 * y**2`"),
    ],
)
def test_formulas_and_marks_become_plain_letters(text: str, shown: str) -> None:
    assert plain_text(text) == shown


def texts(bank: Bank) -> list[str]:
    return [
        text
        for item in bank.items
        for text in (item.stem, *(f"{option.text} {option.why}" for option in item.options))
    ]


def test_nothing_that_a_command_shows_is_tex(root: Path) -> None:
    shown = [page.summary().title for page in discover(root)]
    for which, file in FILES.items():
        for path in root.glob(f"chapters/*/{file}"):
            shown += texts(load(path.parent, which))
    prose = [re.sub(r"`[^`]*`", "", paragraphs(text, 80)) for text in shown if "```" not in text]
    assert len(prose) > 200
    assert not [text for text in prose if re.search(r"[$\\{}]", text)]


def test_code_and_tables_keep_their_lines() -> None:
    text = "Read it:\n\n```python\na = 1\nb = a * 2\n```\n\n" + "word " * 40
    shown = paragraphs(text, 60)
    assert "\n  a = 1\n  b = a * 2\n" in shown
    assert max(map(len, shown.splitlines())) <= 60
    assert "```" not in shown


def test_the_widest_columns_are_wrapped_and_the_first_line_is_the_header() -> None:
    rows = [("id", "what"), ("one", "some words " * 12), ("two", "few")]
    lines = table(rows, 40).splitlines()
    assert max(map(len, lines)) <= 40
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["id", "one", "two"]
    assert len(table(rows, 10**6).splitlines()) == 3


def test_a_terminal_that_is_too_narrow_still_gets_its_rows() -> None:
    rows = [("name", "size"), ("a_name_without_any_space", "1")]
    assert table(rows, 10).splitlines()[1] == "a_name_without_any_space  1"
    assert len(table([*rows, ("other", "some words " * 5)], 10).splitlines()) > 3
