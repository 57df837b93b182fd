"""One rule for the book: heads are counted from 0, as the figures and the explorer count them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from checkout import ROOT

from deepdive_book.site.pages import discover

# A head's number plus one, and axes of heads that begin at 1.
FROM_ONE = re.compile(
    r"\{(?:\w+\.)?head \+ 1\b|\bhead \{h \+ 1\b|%\s*(?:12|H|n_heads) \+ 1\b|"
    r"(?:columns|heads)\b.*range\(1, 13\)"
)
SAID = re.compile(r"\b(?:heads|layer-head)\b[^.;]{0,40}?\bcounted from 1\b(?! and heads from 0)")


def from_one(source: str) -> list[str]:
    """What a page's source says or computes of heads counted from 1."""
    prose = re.sub(r"\n# ?", " ", source)
    return [m[0] for pattern, text in ((FROM_ONE, source), (SAID, prose)) for m in
            pattern.finditer(text)]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('print(f"{v.layer + 1}-{v.head + 1}")', 1),
        ('title = f"1-{head + 1}"', 1),
        ('label = f"head {h + 1} "', 1),
        ('f"{i // 12 + 1}-{i % 12 + 1}"', 1),
        ("rows, columns = layers, [str(i) for i in range(1, 13)]", 1),
        ("# Heads are named as in the paper, layer-head, counted\n# from 1.", 1),
        ("# named layer-head, layers counted from 1 and heads from 0", 0),
        ('f"{v.layer + 1}-{v.head}"', 0),
        ("q[:, head : head + 1]", 0),
        ("powers = [T**k for k in range(1, 13)]", 0),
    ],
)
def test_heads_counted_from_one_are_found(source: str, count: int) -> None:
    assert len(from_one(source)) == count


@pytest.mark.parametrize("page", discover(ROOT), ids=lambda page: page.name)
def test_a_page_counts_heads_from_0(page: Any) -> None:
    assert from_one(page.source.read_text("utf-8")) == []


def test_sheets_and_pictures_count_heads_from_0() -> None:
    files = sorted((ROOT / "lib" / "deepdive_book").rglob("*.py"))
    assert len(files) > 200
    assert {file.name: told for file in files if (told := from_one(file.read_text("utf-8")))} == {}
