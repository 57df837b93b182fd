"""A markdown cell begins below its `# %%` line, and its title, if it has one, is a few words.

jupytext takes what stands on the line of the marker for the cell's title, and the notebook has no
title: a sentence that begins there loses its first words. A slide may have a short one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from checkout import ROOT

from deepdive_book.site.pages import Page, discover

MARKER = re.compile(r"^# %%(?P<before>.*?)\[markdown\](?P<behind>.*)$", re.MULTILINE)
KEYS = re.compile(r"\s*(?:[\w-]+\s*=.*)?")
WORDS = 8


def swallowed(source: str) -> Iterator[str]:
    """The markers of markdown cells with text that the notebook would not have."""
    for found in MARKER.finditer(source):
        title = found["before"].strip()
        text_behind = not KEYS.fullmatch(found["behind"])
        if text_behind or len(title.split()) > WORDS or title.endswith((".", ":", ";", ",")):
            yield found[0]


@pytest.mark.parametrize(
    "marker",
    [
        "# %% [markdown] XNLG has four terms: each of the two sentences, and each from",
        "# %% Some words of a sentence that goes on and on below [markdown]",
        "# %% It ends here. [markdown]",
    ],
)
def test_text_on_the_line_of_the_marker_is_found(marker: str) -> None:
    assert list(swallowed(f"{marker}\n# the other.\n")) == [marker]


@pytest.mark.parametrize(
    "marker",
    [
        "# %% [markdown]",
        '# %% [markdown] tags=["hint"] exercise="ratio"',
        '# %% Short title [markdown] tags=["slide"]',
        '# %% [markdown] nbgrader={"grade_id": "why", "grade": true}',
        "# %% Two copyists tags=['fold']",
    ],
)
def test_a_marker_with_keys_or_a_short_title_is_left_alone(marker: str) -> None:
    assert not list(swallowed(f"{marker}\n# The text.\n"))


@pytest.mark.parametrize("page", discover(ROOT), ids=lambda page: page.name)
def test_no_sentence_begins_on_the_line_of_the_marker(page: Page) -> None:
    assert not list(swallowed(page.source.read_text("utf-8")))


def test_no_exercise_loses_a_sentence_either() -> None:
    sources = [*ROOT.glob("chapters/*/exercises.py"), *ROOT.glob("chapters/*/clinic.py")]
    assert sources
    assert not [marker for path in sources for marker in swallowed(path.read_text("utf-8"))]
