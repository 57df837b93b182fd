"""Exercises: what students get hides the answers, and every check can tell right from wrong."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import nbformat
import pytest
from browser import Reader
from bs4 import BeautifulSoup
from checkout import ROOT
from click.testing import CliRunner

from deepdive_book import cli
from deepdive_book.course.assignment.build import build_all
from deepdive_book.course.assignment.forms import released, self_study
from deepdive_book.course.assignment.variants import standard
from deepdive_book.course.exercises import HEAD, grading, is_check, parts, source, tags
from deepdive_book.course.instructor import instructor
from deepdive_book.course.trials import Trial, begun, run, trials, tried
from deepdive_book.site.pages import PageError, exercise_sources

CHAPTERS = [pytest.param(path, id=path.parent.name) for path in exercise_sources(ROOT)]
chapter = pytest.mark.parametrize("path", CHAPTERS)


@cache
def read(path: Path) -> Any:
    """A chapter's exercises with what all students get where there are several values."""
    return standard(source(path, ROOT))


@cache
def tries(path: Path) -> dict[str, list[Trial]]:
    return trials(read(path))


# -- what students get


def secrets(notebook: Any) -> dict[str, list[str]]:
    """By kind, the lines of a source that are not public.

    A line that the students' part holds too, such as a bracket, is no secret.
    """
    found: dict[str, list[str]] = {"public": [], "solution": [], "hidden": [], "aside": []}
    for cell in notebook.cells:
        kind = region = "aside" if tags(cell) & {"hint", "wrong-answer", "rubric"} else "public"
        for line in cell.source.splitlines():
            if "### BEGIN" in line:
                region = "hidden" if "HIDDEN" in line else "solution"
            elif "### END" in line:
                region = kind
            elif line.strip():
                found[region].append(line.strip())
    shown = "\n".join(found["public"])
    return {kind: [x for x in lines if x not in shown] for kind, lines in found.items()}


@chapter
def test_the_released_form_is_in_step_with_its_source(path: Path) -> None:
    committed = path.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert nbformat.reads(committed, as_version=4) == released(read(path)), (
        "the released form differs from its source: run `deepdive exercises`"
    )


@chapter
def test_the_released_file_gives_nothing_away(path: Path) -> None:
    """Its raw text is searched, so sources, metadata and outputs alike."""
    raw = path.with_suffix(".ipynb").read_text(encoding="utf-8")
    lines = secrets(read(path))
    assert all(len(lines[kind]) > 10 for kind in ("solution", "hidden", "aside"))
    assert not lines["public"]
    for kind in ("solution", "hidden", "aside"):
        for line in lines[kind]:
            assert line not in unescaped(raw), f"the released form shows of {kind}: {line}"
    assert "### BEGIN" not in raw
    assert "### END" not in raw
    form = nbformat.reads(raw, as_version=4)
    assert all(not cell.get("outputs") for cell in form.cells)
    assert {key for cell in form.cells for key in cell.metadata} <= {"jupyter", "nbgrader", "tags"}


def unescaped(raw: str) -> str:
    """The text of a notebook's file as its author wrote it."""
    return raw.replace(r"\"", '"').replace("\\\\", "\\")


@chapter
def test_the_book_shows_no_hidden_test(path: Path, book: Path) -> None:
    page = (book / path.relative_to(ROOT)).with_suffix(".html")
    told = BeautifulSoup(page.read_text("utf-8"), "html.parser").get_text()
    lines = secrets(read(path))
    assert any(line in told for line in lines["solution"]), "this is the form for self-study"
    hidden = [line for line in lines["hidden"] if line not in " ".join(lines["solution"])]
    assert not [line for line in hidden if line in told]
    download = page.with_suffix(".ipynb").read_text("utf-8")
    assert download == path.with_suffix(".ipynb").read_text("utf-8"), "that is the released form"


def test_no_script_of_the_book_holds_a_hidden_test(book: Path) -> None:
    hidden = [line for path in exercise_sources(ROOT) for line in secrets(read(path))["hidden"]]
    long = [line for line in hidden if len(line) > 40]
    for script in book.glob("*.js"):
        text = unescape(script.read_text("utf-8"))
        assert not [line for line in long if line in text], script.name


# -- checks


@chapter
def test_every_check_of_the_released_form_fails_and_says_what_to_do(path: Path) -> None:
    form = released(read(path))
    names = begun(form)
    for part in parts(form)[1:]:
        for trial in tried(part, names):
            assert trial.kind == "NotImplementedError", f"passes or breaks: {trial}"
            written = re.search(
                rf"write (\w+)\(\) in exercise {part.number} and run", trial.message
            )
            assert written, trial
            assert any(f"def {written[1]}(" in cell.source for cell in part.solutions)


@chapter
def test_each_check_rejects_two_wrong_answers_or_more_and_says_why(path: Path) -> None:
    """`trials` itself sees each exercise pass its checks, without the other exercises."""
    for part in parts(read(path))[1:]:
        told = [tries(path)[cell.id] for cell in part.tagged("wrong-answer")]
        for cell, said in zip(part.tagged("wrong-answer"), told, strict=True):
            assert any(trial.message for trial in said), f"no check rejects:\n{cell.source}"
            for trial in said:
                if trial.message:
                    assert trial.kind == "AssertionError", f"{trial}\n{cell.source}"
                    assert len(trial.message) > 20, f"{trial} helps nobody\n{cell.source}"
                    assert not trial.message.startswith("assert "), f"{trial} gives no reason"
        for check in part.checks:
            found = [t for said in told for t in said if t.check == check.id and t.message]
            assert len(found) >= 2, f"{check.id} rejects {len(found)} wrong answers"
            assert any(not trial.hidden for trial in found), f"{check.id}: only hidden tests reject"
    assert not [name for name, said in tries(path).items() if not said]


@pytest.mark.parametrize("path", [p for p in CHAPTERS if "clinic" not in str(p.values)])
def test_a_function_that_returns_nothing_is_named_by_every_check(path: Path) -> None:
    names = begun(read(path))
    for part in parts(read(path))[1:]:
        functions: set[str] = set()
        inside = dict(names)
        for cell in part.shown:
            if cell.cell_type == "code" and not is_check(cell):
                assert not run(cell.source, cell.id, inside).message
            if cell in part.solutions and cell.cell_type == "code":
                functions = set(re.findall(r"^def (\w+)", cell.source, re.MULTILINE))
                inside |= dict.fromkeys(functions, lambda *_, **__: None)
            elif is_check(cell):
                said = run(cell.source, cell.id, inside)
                assert said.kind == "AssertionError", said
                named = re.match(r"(\w+)\(\) returned nothing", said.message)
                assert named, said
                assert named[1] in functions


@chapter
def test_an_exercise_says_what_it_asks_and_has_hint_points_and_hidden_tests(path: Path) -> None:
    exercises = parts(read(path))[1:]
    assert [part.number for part in exercises] == list(range(1, len(exercises) + 1))
    order = ["easy", "medium", "hard"]
    ranks = [order.index(part.difficulty) for part in exercises]
    if path.stem == "exercises":  # a clinic has patients, as many as there are bugs
        assert 4 <= len(exercises) <= 14
        assert ranks == sorted(ranks), "in rising order"
        assert len({part.skill for part in exercises}) >= 4
    for part in exercises:
        assert part.tagged("hint"), part.title
        assert part.solutions, part.title
        hidden = any("### BEGIN HIDDEN" in cell.source for cell in part.checks)
        assert hidden or path.stem == "clinic", part.title  # a diagnosis has one right answer
        for cell in part.tagged("hint") + part.tagged("wrong-answer"):
            assert cell.metadata["minutes"] == part.minutes
        for cell in part.checks:
            assert grading(cell)["points"] > 0
            assert grading(cell)["locked"]


# -- the other forms


@chapter
def test_self_study_has_all_hints_in_turn_and_the_solution_last(path: Path) -> None:
    notebook, form = read(path), self_study(read(path))
    for old, new in zip(parts(notebook)[1:], parts(form)[1:], strict=True):
        head, folded = new.cells[0].source, new.cells[-1].source
        hints = len(old.tagged("hint"))
        assert HEAD.match(head)["book"].endswith(f"{hints} hint{'s' * (hints > 1)}")
        summaries = re.findall(r"<summary>(.*?)</summary>", folded)
        assert [name.split()[0] for name in summaries[:hints]] == ["Hint"] * hints
        assert summaries[hints] == "Solution"
        assert folded.count("<details>") == folded.count("</details>") == len(summaries)
        assert folded.endswith("</details>" * len(summaries)), "each inside the one before"
        places = [folded.index(cell.source) for cell in old.tagged("hint")]
        assert places == sorted(places)
        for cell in old.solutions:
            assert all(x in folded for x in cell.source.splitlines() if "###" not in x)
        seen = [cell.source for cell in new.cells[1:-1]]
        assert seen == [cell.source for cell in parts(released(notebook))[old.number].cells[1:]]
    told = "\n".join(cell.source for cell in form.cells)
    assert "###" not in told
    assert not [cell for cell in form.cells if "nbgrader" in cell.metadata]
    folded = [cell.id for cell in form.cells if cell.metadata.get("tags") == ["check"]]
    assert folded == [cell.id for cell in notebook.cells if is_check(cell)]


@chapter
def test_the_instructor_s_form_has_everything(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepdive_book.course.instructor.trials", lambda notebook: tries(path))
    notebook = read(path)
    form = instructor(notebook)
    told = "\n".join(cell.source for cell in form.cells)
    for cell in notebook.cells:
        assert cell.source.partition("\n")[0] in told
    table = form.cells[1].source
    exercises = parts(notebook)[1:]
    points = sum(grading(cell).get("points", 0) for cell in notebook.cells)
    minutes = sum(part.minutes for part in exercises)
    assert f"{len(exercises)} exercises, {minutes} minutes, {points} points" in table
    assert table.count("\n| ") == len(exercises) + 1
    for trial in (trial for said in tries(path).values() for trial in said):
        assert trial.message in told
    assert told.count("by its hidden tests alone") == sum(
        trial.hidden for said in tries(path).values() for trial in said
    )
    nbformat.validate(form)
    ids = [cell.id for cell in form.cells]
    assert len(ids) == len(set(ids))


MANUAL = """# %% [markdown]
# # Exercises
#
# See [the maths](02_maths.ipynb) and [elsewhere](https://example.org).

# %% [markdown]
# ## 1. Why
#
# *Explain · 5 min · easy · book 2.3*
#
# Why?

# %% [markdown] nbgrader={"grade_id": "why", "solution": true, "grade": true, "points": 6}
# ### BEGIN SOLUTION
# Because of *this*.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="why"
# 6: names the cause. 3: names a symptom. 0: neither.

# %% [markdown] tags=["hint"] exercise="why"
# Look twice.
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "chapters" / "01_demo" / "exercises.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_what_a_person_marks_has_its_rubric_where_it_belongs(tmp_path: Path) -> None:
    notebook = source(written(tmp_path, MANUAL), tmp_path)
    for_students = "\n".join(cell.source for cell in released(notebook).cells)
    assert "*Write your answer here.*" in for_students
    assert "this" not in for_students
    assert "names the cause" not in for_students
    alone = self_study(notebook).cells[-1].source
    assert re.findall(r"<summary>(.*?)<", alone) == ["Hint", "Solution", "How it is marked"]
    assert "Because of *this*." in alone
    full = "\n".join(cell.source for cell in instructor(notebook).cells)
    assert "1 exercises, 5 minutes, 6 points, 6 of them marked by hand" in full
    assert "**Answer `why`, 6 points, marked by hand**" in full
    assert "**Rubric of `why`.** 6: names the cause." in full


def test_the_other_forms_are_written_with_links_that_lead_there(tmp_path: Path) -> None:
    path = written(tmp_path, MANUAL)
    (path.parent / "02_maths.ipynb").touch()
    found = build_all(path, tmp_path)
    assert [target.name for target in found] == [
        "exercises_solved.ipynb", "exercises_self_study.ipynb", "exercises_instructor.ipynb"
    ]  # fmt: skip
    for target in found:
        first = nbformat.read(target, as_version=4).cells[0].source
        link = re.search(r"the maths\]\((.*?)\)", first)
        assert link
        assert (target.parent / link[1]).is_file()
        assert "(https://example.org)" in first


@pytest.mark.parametrize("arguments", [[], ["--all"]])
def test_the_command_writes_the_forms_of_the_checkout(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, MANUAL)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli.main, ["exercises", *arguments])
    assert result.exit_code == 0, result.output
    targets = [line.removeprefix("written: ") for line in result.output.splitlines()]
    assert targets[0] == "chapters/01_demo/exercises.ipynb"
    assert len(targets) == (4 if arguments else 1)
    assert all((tmp_path / target).is_file() for target in targets)
    students = nbformat.read(path.with_suffix(".ipynb"), as_version=4)
    assert "Because" not in "\n".join(cell.source for cell in students.cells)


# -- in a browser


def test_hints_open_one_at_a_time_by_keys(book: Path, reader: Reader) -> None:
    page = reader.open(book / "chapters/00_start/exercises.html")
    outer = page.locator("section > details").first
    summaries = outer.locator("summary")
    assert summaries.count() >= 2
    shown = [summaries.nth(i).is_visible() for i in range(summaries.count())]
    assert shown == [True] + [False] * (len(shown) - 1)
    for number in range(len(shown)):
        summaries.nth(number).focus()
        page.keyboard.press("Enter")
        if number + 1 < len(shown):
            assert summaries.nth(number + 1).is_visible()
            assert not any(summaries.nth(i).is_visible() for i in range(number + 2, len(shown)))
    assert outer.locator("pre").last.is_visible(), "the solution"


# -- what stops the build


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('# %% nbgrader={"grade_id": "a", "solution": true}\nx = 1\n', "needs ### BEGIN"),
        ("# %%\n### BEGIN HIDDEN TESTS\nassert True\n", "without the other"),
        ('# %% tags=["hint"] exercise="b"\nx = 1\n', "is no grade id"),
        ("# %% [markdown]\n# ## 1. What?\n#\n# *Write · easy*\n", "an exercise begins with"),
        (
            '# %% nbgrader={"grade_id": "a", "grade": true, "points": 1}\nx = 1\n' * 2,
            "comes twice",
        ),
    ],
)
def test_a_source_that_would_leak_or_mislead_is_refused(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(PageError, match=words):
        source(written(tmp_path, text), tmp_path)


BROKEN = """# %% [markdown]
# ## 1. One
#
# *Write · 5 min · easy · book 2.3*

# %% nbgrader={"grade_id": "one", "solution": true}
def one():
    ### BEGIN SOLUTION
    return 2
    ### END SOLUTION

# %% nbgrader={"grade_id": "one-check", "grade": true, "points": 1}
assert one() == 1, "one is one"
"""


def test_a_solution_that_fails_its_own_check_is_named(tmp_path: Path) -> None:
    notebook = source(written(tmp_path, BROKEN), tmp_path)
    with pytest.raises(PageError, match="the solution fails one-check: one is one"):
        trials(notebook)
    assert not [cell for cell in notebook.cells if tags(cell)]
    assert [cell.id for cell in notebook.cells if is_check(cell)] == ["one-check"]
