"""Chapters as wholes: what their opening pages say of the others."""

from __future__ import annotations

import re

import pytest
from checkout import ROOT

from book.paths import exercises, time_of
from deepdive_book.site.pages import Page, discover

ENDS = ("_opening", "_closing")
OPENINGS = [page for page in discover(ROOT) if page.source.stem == "00_opening"]


@pytest.mark.parametrize("opening", OPENINGS, ids=lambda page: page.number)
def test_an_opening_page_lists_the_pages_of_its_chapter_with_their_minutes(opening: Page) -> None:
    text = opening.source.read_text(encoding="utf-8")
    row = re.compile(r"^# \| (\S+) \| \[([^\]]+)\]\((\S+)\.ipynb\) \| [^|]+\? \| (\d+) \|$", re.M)
    listed = {m[3]: (m[1], m[2], int(m[4])) for m in row.finditer(text)}
    chapter = [p for p in discover(ROOT) if p.source.parent == opening.source.parent]
    expected = {
        page.source.stem: (
            page.number,
            page.summary().title.partition(":")[0],
            page.summary().minutes,
        )
        for page in chapter
        if not page.source.stem.endswith(ENDS) and page.notebook.is_file()
    }
    assert listed == expected
    steps = [(page.name, page.summary().minutes) for page in chapter]
    for kind in ("exercises", "clinic"):
        source = opening.source.parent / f"{kind}.py"
        if source.is_file():
            steps.append((f"a/{kind}", sum(each.minutes for each in exercises(source, kind))))
    small = re.sub(r"\n# ?", " ", text.partition("</small>")[0]) + " · "
    assert f"whole chapter: {time_of(steps)} · " in small


TAUGHT = [
    page
    for page in discover(ROOT)
    if page.source.parent.parent.name == "chapters"
    and not page.source.stem.endswith((*ENDS, "_diagnostic"))
    and not page.source.stem.endswith("_more")
]


@pytest.mark.parametrize("heading", ["Check your understanding", "Exercises"])
@pytest.mark.parametrize("page", TAUGHT, ids=lambda page: page.name)
def test_a_page_asks_and_every_answer_opens(page: Page, heading: str) -> None:
    text = page.source.read_text(encoding="utf-8")
    cells = [cell for cell in text.split("\n# %%") if f"\n# ## {heading}\n" in cell]
    assert len(cells) == 1, f"{page.name} has {len(cells)} cells with ## {heading}"
    asked = cells[0].split(f"# ## {heading}\n")[1].split("\n# ## ")[0]
    items = re.split(r"^# \d+\. ", asked, flags=re.M)[1:]
    assert 3 <= len(items) <= 5 if heading == "Check your understanding" else len(items) >= 2
    for item in items:
        item = item.replace("<summary>Answer: open after you predict<", "<summary>Answer<")
        question, opens, answer = item.partition("<details><summary>Answer</summary>")
        assert opens, f"no answer opens below: {question}"
        assert answer.split("</details>")[0].strip("# \n"), f"an empty answer below: {question}"


def test_the_timeline_names_papers_of_the_bibliography() -> None:
    """The opening of chapter 1 reads each year from a key."""
    text = (ROOT / "chapters/01_before/00_opening.py").read_text(encoding="utf-8")
    given = text.split('papers = """')[1].split('"""')[0]
    keys = [line.split()[0] for row in given.strip().splitlines() for line in row.split("|")]
    known = re.findall(r"^@\w+\{(\w+),", (ROOT / "book/references.bib").read_text("utf-8"), re.M)
    assert not set(keys) - set(known)
    assert [key[-4:] for key in keys] == sorted(key[-4:] for key in keys)
