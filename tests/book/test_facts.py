"""The fact lock: which facts it finds, and that every locked page still has them."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
import yaml
from checkout import ROOT

from book import facts
from deepdive_book.site.pages import Page, discover

LOCKED = [page for page in discover(ROOT) if facts.lock_of(page).is_file()]


@pytest.mark.parametrize("page", LOCKED, ids=lambda page: page.name)
def test_a_locked_page_has_the_facts_of_its_lock(page: Page) -> None:
    assert not facts.differences(page)


def test_every_lock_has_its_page() -> None:
    assert {path.name for path in facts.LOCKS.glob("*.yaml")} == {
        facts.lock_of(page).name for page in LOCKED
    }


def test_facts_are_found_in_whatever_form_they_are_written() -> None:
    found = facts.facts_of(
        "Accuracy is 77% [71%, 83%] ([Vaswani et al. 2017](https://arxiv.org/abs/1706.03762)), "
        "about 1,200 steps, $d_k = 64$. Lin and Chen (2013) may disagree by 3 points. `x = 99`"
    )
    assert found == {
        "numbers": ["0.03", "0.71", "0.77", "0.83", "1200"],
        "citations": ["Lin 2013", "Vaswani 2017"],
        "links": ["https://arxiv.org/abs/1706.03762"],
        "formulas": ["d_k = 64"],
        "hedges": 2,
    }
    other = facts.facts_of("Of 1200 steps, 0.77 (0.71 to 0.83) and 0.03.")
    assert other["numbers"] == found["numbers"]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    monkeypatch.setattr(facts, "LOCKS", tmp_path / "facts")
    folder = tmp_path / "chapters" / "02_transformer"
    folder.mkdir(parents=True)
    (folder / "02_attention.py").write_text("")
    return Page(folder / "02_attention.py", tmp_path)


def write(page: Page, text: str) -> None:
    cells = [nbformat.v4.new_markdown_cell(text)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), page.notebook)


def test_a_change_is_found_unless_the_lock_lists_it(page: Page) -> None:
    write(page, "It gets 52% in about 3 runs.")
    facts.LOCKS.mkdir()
    lock = facts.lock_of(page)
    lock.write_text(yaml.safe_dump({**facts.facts(page), "changes": []}))
    assert not facts.differences(page)
    write(page, "Accuracy: 0.52, in about 3 runs.")
    assert not facts.differences(page), "the same number in another form"
    write(page, "It gets 54% in 3 runs.")
    assert facts.differences(page) == [
        "numbers: 0.52 is gone", "numbers: 0.54 is new", "hedges: 0, in the lock 1",
    ]  # fmt: skip
    changes = [{"removed": 0.52, "added": 0.54, "hedges": 1, "why": "rerun"}]
    write(page, "It gets 52% in about 3 runs.")
    lock.write_text(yaml.safe_dump({**facts.facts(page), "changes": changes}))
    write(page, "It gets 54% in 3 runs.")
    assert not facts.differences(page)


def test_the_second_page_and_its_exercises_belong_to_the_lock(page: Page) -> None:
    write(page, "It gets 52%.")
    more = Page(page.source.with_name("02b_attention_more.py"), page.root)
    more.source.write_text("")
    write(more, "And 61%.")
    exercises = Page(page.source.with_name("exercises.py"), page.root)
    write(exercises, "Read [the page](02_attention.ipynb); 45 is right.")
    assert facts.facts(page)["numbers"] == ["0.52", "0.61", "45"]
    write(exercises, "Read [another](03_scores.ipynb); 45 is right.")
    assert facts.facts(page)["numbers"] == ["0.52", "0.61"]
