"""No line break of a page's markdown changes what it says.

MyST takes a line that begins with `%` for a comment; a heading mark behind text is text. CommonMark
begins a list at a line that starts with "1) ", "+ " or "- ", even in the middle of a sentence or a
formula, and makes a heading of the line above "---".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from checkout import ROOT
from markdown_it import MarkdownIt

from deepdive_book.site.pages import Page, discover
from deepdive_book.site.pages.source import load

FENCE = re.compile(r"^\s*(```|~~~).*?^\s*\1\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def broken(markdown: str) -> Iterator[str]:
    """The lines that the book would show otherwise than they were meant."""
    text = CODE.sub("", FENCE.sub("", markdown))
    for line in text.splitlines():
        if line.lstrip().startswith("%"):
            yield f"a comment to the book: {line}"
        if re.search(r"^#+ |\S.*?#{2,6} ", re.sub(r"^\s*#{1,6} ", "", line)):
            yield f"a heading behind text: {line}"
    lines = markdown.splitlines()
    for token in MarkdownIt().parse(markdown):
        begins = token.map[0] if token.map else 0
        is_list = token.type.endswith("_list_open") and token.level == 0
        if is_list and begins and lines[begins - 1].strip():
            yield f"a list in the middle of a paragraph: {lines[begins]}"
        if token.type == "heading_open" and token.markup in ("-", "="):
            yield f"a heading by the line below: {lines[begins]}"


@pytest.mark.parametrize(
    "markdown",
    [
        "It agrees in 100\n% of the texts.",
        "- It agrees in 100\n  % of the texts.",
        "the reader stands still.# ## What is kept, and\nis it what decides?",
        "# ## Your own drawing",
        "The mean, $(-4 + 6 - 30\n+ 12)/8 = -2$, is exact.",
        "$$a\n  - b$$",
        "Of the importances (3, 2,\n1) and (2, 3, 1) two pairs agree.",
        "the loss falls by 2\n- 1 of its nats",
        "A result\n---",
    ],
)
def test_a_bad_break_is_found(markdown: str) -> None:
    assert len(list(broken(markdown))) == 1


@pytest.mark.parametrize(
    "markdown",
    [
        "## What is kept?\n\nIn 100 % of the texts.\n\n- a list\n- of two",
        "It costs $3\n\n- or 4$ at most",
        "```\n% a comment of TeX\n## two marks\n```",
        "$$a\n= b$$ and `%%time`, and C# too",
    ],
)
def test_a_good_break_is_left_alone(markdown: str) -> None:
    assert not list(broken(markdown))


@pytest.mark.parametrize("page", discover(ROOT), ids=lambda page: page.name)
def test_no_break_changes_what_is_said(page: Page) -> None:
    cells = (cell for cell in load(page).cells if cell.cell_type == "markdown")
    assert not [fault for cell in cells for fault in broken(cell.source)]
