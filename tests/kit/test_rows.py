"""Rows of experiments: saved or measured, selected, summarized. And pages that do without."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT, TESTS

from deepdive.evaluate import t_interval
from deepdive_book.kit import rows
from deepdive_book.site.pages import Page, discover

RUNS: list[dict[str, Any]] = [
    {"model": "a", "size": [1, 2], "seed": 2, "errors": {"4": [20.0, 3.9]}},
    {"model": "b", "size": [1, 2], "seed": 1, "errors": {"4": [50.0, 3.0]}},
    {"model": "a", "size": [1, 2], "seed": 1, "errors": {"4": [10.0, 4.1]}},
    {"model": "a", "size": [3], "seed": 1, "errors": {"4": [70.0, 1.0]}, "note": "long"},
]
POINTS, FEW, LIVE = [{"n": 1}, {"n": 2}, {"n": 3}], [{"n": 7}], [{"n": 9}]


def squared(n: int) -> dict[str, int]:
    return {"square": n * n}


@pytest.fixture
def chapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one chapter, entered; the file of its results."""
    (tmp_path / "pyproject.toml").touch()
    folder = tmp_path / "chapters" / "01_one"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder / "results" / "squares.json"


def measured(name: str, monkeypatch: pytest.MonkeyPatch) -> rows.Rows:
    monkeypatch.setenv("DEEPDIVE_PROFILE", name)
    return rows.load_or_measure(squared, "01_one", "squares", points=POINTS, few=FEW, live=LIVE)


def squares(some: list[dict[str, Any]]) -> list[int]:
    return rows.values(some, "square")


@pytest.mark.parametrize("name", ["ci", "laptop", "gpu"])
def test_without_a_file_a_few_points_are_measured(
    name: str, chapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = measured(name, monkeypatch)
    assert (squares(found.rows), squares(found.measured), found.saved) == ([49], [49], False)
    assert not chapter.exists()


def test_an_experiment_is_saved_and_then_read(
    chapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = measured("experiment", monkeypatch)
    assert (squares(found.rows), found.saved) == ([1, 4, 9], True)
    assert len(json.loads(chapter.read_text())["rows"]) == 3
    found = measured("laptop", monkeypatch)
    assert (squares(found.rows), squares(found.measured), found.saved) == ([1, 4, 9], [81], True)
    assert all("measured_by" not in row for row in found.rows)


def test_generated_data_never_show_the_saved_rows(
    chapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured("experiment", monkeypatch)
    assert squares(measured("ci", monkeypatch).rows) == [49]
    assert rows.load("01_one", "squares") == []


def test_an_experiment_shows_the_other_rows_of_its_file(
    chapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured("experiment", monkeypatch)
    found = rows.load_or_measure(squared, "01_one", "squares", points=[{"n": 4}], few=[])
    assert (squares(found.rows), squares(found.measured)) == ([1, 4, 9, 16], [16])


def test_outside_a_checkout_an_experiment_shows_what_it_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = measured("experiment", monkeypatch)
    assert (squares(found.rows), found.saved) == ([1, 4, 9], False)


def test_a_damaged_file_is_refused(chapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPDIVE_PROFILE", "laptop")
    chapter.parent.mkdir()
    chapter.write_text('{"rows": [')
    with pytest.raises(ValueError, match="damaged"):
        rows.load("01_one", "squares")


def test_rows_are_selected_by_their_fields_in_the_order_of_seeds() -> None:
    assert rows.values(RUNS, "seed", model="a", size=(1, 2)) == [1, 2]
    assert rows.values(RUNS, "errors", "4", 0, model="a", size=[1, 2]) == [10.0, 20.0]
    assert rows.select(RUNS, note="long") == [RUNS[3]]
    assert rows.select(RUNS, model="c") == []
    assert rows.select([], anything=1) == []


def test_a_misspelled_field_is_refused() -> None:
    with pytest.raises(KeyError, match="no row has modle"):
        rows.select(RUNS, modle="a")
    with pytest.raises(KeyError, match="error"):
        rows.values(RUNS, "error")


def test_a_mean_with_its_range() -> None:
    assert rows.mean_and_range([4.75, 5.25, 5.0]) == "5.0 (4.8 to 5.2)"
    assert rows.mean_and_range([0.25, 0.5], digits=0, scale=100) == "38 (25 to 50)"
    assert rows.mean_and_range([-0.04, 0.0]) == "0.0 (0.0 to 0.0)"
    assert rows.mean_and_range([2.0]) == "2.0"
    assert rows.mean_and_range([]) == "not run"


def test_an_interval_is_students_and_scaled() -> None:
    found = rows.interval([0.1, 0.2, 0.6], scale=100)
    assert found == pytest.approx(t_interval([10, 20, 60]))
    assert rows.interval([0.5], scale=100) == 50
    assert rows.interval([]) is None
    corrected = rows.interval([0.1, 0.2, 0.6], contrasts=5)
    assert corrected == pytest.approx(t_interval([0.1, 0.2, 0.6], 0.99))


def test_differences_are_paired_by_seed() -> None:
    scores = {("a", 2): 5.0, ("a", 1): 3.0, ("b", 1): 1.0, ("b", 2): 4.0, ("b", 3): 9.0}
    runs = [{"arm": arm, "seed": seed, "score": {"dev": score}}
            for (arm, seed), score in scores.items()]  # fmt: skip
    ours, theirs = (rows.by_seed(runs, "score", "dev", arm=arm) for arm in "ab")
    assert ours == {1: 3.0, 2: 5.0}
    assert rows.paired(ours, theirs) == [2.0, 1.0]


def test_values_that_are_not_finite_have_no_interval() -> None:
    with pytest.raises(ValueError, match="finite"):
        rows.interval([1.0, float("nan")])


# Which pages still read saved rows by hand, and how many lines of their code are folded. Both only
# shrink: take a page out of the list, or lower its number, when you rewrite it.

LISTED: dict[str, Any] = json.loads((TESTS / "kit" / "pages_by_hand.json").read_text("utf-8"))
CELL = re.compile(r"^# %%.*$", re.MULTILINE)


def reads_rows(source: str) -> bool:
    """Whether a page reads the rows of a results file itself."""
    return bool(re.search(r'json\.loads\([^\n]*\)\["rows"\]', source))


def folded_lines(source: str) -> int:
    """How many lines of code, blank ones left out, a page's folded cells have."""
    marks, bodies = CELL.findall(source), CELL.split(source)[1:]
    return sum(
        sum(bool(line.strip()) for line in body.splitlines())
        for mark, body in zip(marks, bodies, strict=True)
        if "[markdown]" not in mark and re.search(r"""["']fold["']""", mark)
    )


def test_folded_lines_are_counted() -> None:
    page = (
        '# %% [markdown] tags=["fold"]\n# Text.\n\n# %% Open\nx = 1\n\n'
        '# %% Closed tags=["slide", "fold"]\nx = 1\n\ny = 2\n'
    )
    assert folded_lines(page) == 2
    assert reads_rows('kept = json.loads(file.read_text("utf-8"))["rows"] if file else []')
    assert not reads_rows("from deepdive_book.kit import rows")


@pytest.mark.parametrize("page", discover(ROOT), ids=lambda page: page.name)
def test_no_page_folds_more_code_or_begins_to_read_rows_by_hand(page: Page) -> None:
    source = page.source.read_text("utf-8")
    assert folded_lines(source) <= LISTED["folded_lines"].get(page.name, 0), "move it to runs/"
    if page.name not in LISTED["read_rows"]:
        assert not reads_rows(source), "call deepdive_book.kit.rows.load_or_measure"


def test_the_list_has_no_page_that_reads_no_rows() -> None:
    texts = {page.name: page.source.read_text("utf-8") for page in discover(ROOT)}
    done = [name for name in LISTED["read_rows"] if not reads_rows(texts.get(name, ""))]
    assert not done, "take them out of pages_by_hand.json"
