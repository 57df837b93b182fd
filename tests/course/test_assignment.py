"""A course from its folder to its table of grades, with three students and one that is late.

Here a stand-in grades, which runs what students wrote as it is: grading has tests of its own.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import stat
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner, Result
from fault import fault

from deepdive import cli
from deepdive.course.assignment import collect, feedback, marking, records, roster
from deepdive.course.assignment.course import Course, create, literal, read
from deepdive.course.assignment.errors import AssignmentError
from deepdive.course.assignment.forms import released, solved
from deepdive.course.assignment.grading import CellGrade, Grade
from deepdive.course.assignment.release import chapter_named, release
from deepdive.course.assignment.repair import repair
from deepdive.course.assignment.roster import Student
from deepdive.course.assignment.sandbox import Limits
from deepdive.course.assignment.submission import sound

CHAPTER = "01_demo"
SOURCE = '''\
# %% [markdown]
# # Exercises: demo
#
# <small>of the course</small>

# %% tags=["setup"]
import math

# %% [markdown]
# ## 1. Twice
#
# *Write · 5 min · easy · book 2.1*
#
# Write $2 x$.

# %% nbgrader={"grade_id": "twice", "solution": true}
def twice(x):
    """Return two times x."""
    ### BEGIN SOLUTION
    return x + x  # the solution of the first
    ### END SOLUTION

# %% nbgrader={"grade_id": "twice-check", "grade": true, "points": 2}
assert twice(3) == 6, f"twice 3 is 6, yours is {twice(3)}: have you squared it?"
### BEGIN HIDDEN TESTS
assert twice(-41.5) == -83, "a hidden word"
### END HIDDEN TESTS

# %% nbgrader={"grade_id": "twice-zero", "grade": true, "points": 1}
assert twice(0) == 0, "twice nothing is nothing"

# %% tags=["wrong-answer"] exercise="twice"
def twice(x):
    return x * x

# %% tags=["wrong-answer"] exercise="twice"
def twice(x):
    return 6

# %% [markdown]
# ## 2. Thrice
#
# *Write · 5 min · easy · book 2.1*

# %% nbgrader={"grade_id": "thrice", "solution": true}
def thrice(x):
    ### BEGIN SOLUTION
    return x + twice(x)  # the solution of the second
    ### END SOLUTION

# %% nbgrader={"grade_id": "thrice-check", "grade": true, "points": 3}
assert thrice(2) == 6, "thrice 2 is 6"

# %% [markdown]
# ## 3. Why
#
# *Explain · 5 min · easy · book 2.1*
#
# Explain. 2 points: a reason; 0 points: none.

# %% [markdown] nbgrader={"grade_id": "why", "grade": true, "solution": true, "points": 2}
# ### BEGIN SOLUTION
# Because addition is repeated: the model answer.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="why"
# - **2 points**: the rule of the rubric.
# - **1 point**: half of it.
# - **0 points**: none.
'''
FULL, PARTLY, WRONG = (
    Student("ann", "Ann", "Full", "ann@uni.example", "11"),
    Student("bob", "Bob", "Half", "", "12"),
    Student("eve", "Éve", "O'Wrong", "", "13"),
)


def plain_grade(
    source: Any, submission: Any, *, limits: Limits | None = None, trust: bool = False
) -> Grade:
    """What grading promises, without a sandbox."""
    try:
        submission = sound(submission)
    except ValueError as error:
        return Grade(list(_none(source, str(error))), str(error), trust)
    theirs = {
        cell.metadata["nbgrader"]["grade_id"]: cell.source
        for cell in submission.cells
        if "nbgrader" in cell.metadata
    }
    names: dict[str, Any] = {}
    cells = []
    for cell in solved(source).cells:
        given = cell.metadata.get("nbgrader", {})
        name = given.get("grade_id", "")
        if given.get("grade") and given.get("solution"):
            cells.append(CellGrade(name, 0.0, given["points"], "", True))
        if cell.cell_type != "code":
            continue
        try:
            exec(theirs.get(name, "") if given.get("solution") else cell.source, names)
            message = ""
        except Exception as error:
            message = "" if "hidden" in str(error) else str(error)
            message = message or "a test that you do not see failed"
        if given.get("grade"):
            points = 0.0 if message else float(given["points"])
            cells.append(CellGrade(name, points, given["points"], message, False))
    return Grade(cells, "", trust)


def _none(source: Any, why: str) -> Iterator[CellGrade]:
    for cell in source.cells:
        given = cell.metadata.get("nbgrader", {})
        if given.get("grade"):
            yield CellGrade(given["grade_id"], 0.0, given["points"], why, False)


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marking, "grade", plain_grade)
    monkeypatch.setattr(marking, "_pool", lambda jobs: ThreadPoolExecutor(jobs))


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one chapter of exercises, as the current folder."""
    path = tmp_path / "chapters" / CHAPTER / "exercises.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with three students, its chapter released: once, for a grade book takes seconds."""
    root = tmp_path_factory.mktemp("prepared")
    path = root / "chapters" / CHAPTER / "exercises.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE)
    made = create(root / "course")
    roster.write(made.root / "roster.csv", [FULL, PARTLY, WRONG])
    release(Course.open(made.root), CHAPTER, root)
    return made.root


@pytest.fixture
def course(checkout: Path, prepared: Path) -> Course:
    """A copy of the prepared course in the current folder."""
    return Course.open(Path(shutil.copytree(prepared, checkout / "course")))


def answers(course: Course, **texts: str) -> Any:
    """The released form with these cells written by a student."""
    form = released(literal(read(course.source(CHAPTER)), None, ""))
    for cell in form.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = texts.get(name, cell.source)
    return form


TWICE, THRICE = "def twice(x):\n    return 2 * x", "def thrice(x):\n    return 3 * x"
SQUARE = "def twice(x):\n    return x * x"


def hand_in(course: Course, student: str, notebook: Any) -> None:
    path = course.submission(student, CHAPTER)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(notebook), encoding="utf-8")
    (path.parent / "collected.json").write_text('{"file": "x", "late": false}')


def everyone(course: Course) -> None:
    hand_in(course, "ann", answers(course, twice=TWICE, thrice=THRICE, why="It adds."))
    hand_in(course, "bob", answers(course, twice=TWICE))
    hand_in(course, "eve", answers(course, twice=SQUARE, thrice="def thrice(x):\n    return x"))


def mark_all(course: Course) -> list[str]:
    left = marking.outstanding(course, CHAPTER)
    return [result.student for result in marking.mark(course, CHAPTER, left, jobs=1)]


def call(*arguments: str) -> Result:
    result = CliRunner().invoke(cli.main, ["assignment", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


# -- the whole path


def test_a_course_from_its_folder_to_its_table(checkout: Path) -> None:
    assert call("create", "course").exit_code == 0
    opened_course = Course.open(checkout / "course")
    roster.write(opened_course.root / "roster.csv", [FULL, PARTLY, WRONG])
    said = call("release", "course", "1")
    assert "01_demo: 8 points; 1 form, release/01_demo/exercises.ipynb" in said.output
    everyone(opened_course)
    with zipfile.ZipFile("d.zip", "w") as archive:
        for student in (FULL, PARTLY, WRONG):
            name = f"{student.first_name} {student.last_name}_99_assignsubmission_file"
            archive.write(opened_course.submission(student.id, CHAPTER), f"{name}/exercises.ipynb")
    for student in opened_course.handed_in(CHAPTER):
        opened_course.submission(student, CHAPTER).unlink()
    assert "3 taken" in call("collect", "course", "1", "d.zip").output
    said = call("grade", "course", "1")
    assert said.exit_code == 0, said.output
    assert re.findall(r"^(\w+)  (\d+) of 8", said.output, re.M) == [
        ("ann", "6"), ("bob", "3"), ("eve", "1")
    ]  # fmt: skip
    assert "ann  6 of 8; 2 wait for a person" in said.output
    assert "3 pages" in call("feedback", "course", "1").output
    assert "1 submissions still wait" in call("export", "course", "g.csv").output
    with Path("g.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    assert list(rows["ann"]) == [
        "id", "last_name", "first_name", "email",
        "01_demo twice (3)", "01_demo thrice (3)", "01_demo why (2)",
        "01_demo total (8)", "01_demo flags",
    ]  # fmt: skip
    assert [list(row.values())[4:] for row in rows.values()] == [
        ["3", "3", "0", "6", "waits for marking"],
        ["3", "0", "0", "3", ""],
        ["1", "0", "0", "1", ""],
    ]
    assert "0 to grade, 3 graded already" in call("grade", "course", "1").output


def test_each_command_says_what_it_lacks(checkout: Path) -> None:
    assert "is no course" in call("release", "course", "1").output
    call("create", "course")
    assert "not empty" in call("create", "course").output
    assert "no chapter '7' has exercises; there are: 01_demo" in (
        call("release", "course", "7").output
    )
    Path("d").mkdir()
    assert "01_demo is not released" in call("collect", "course", "1", "d").output
    call("release", "course", "1")
    assert "names no student" in call("collect", "course", "1", "d").output
    assert call("collect", "course", "1", "d").exit_code == 1


def test_nothing_hidden_is_in_what_students_get(course: Course) -> None:
    text = (course.root / "release" / CHAPTER / "exercises.ipynb").read_text()
    assert "twice 3 is 6" in text
    for secret in ("-83", "the solution of", "model answer", "x * x", "rubric"):
        assert secret not in text
    with zipfile.ZipFile(course.root / "release" / f"{CHAPTER}.zip") as archive:
        assert archive.namelist() == ["exercises.ipynb"]


def test_with_a_secret_each_student_gets_an_own_form(checkout: Path) -> None:
    path = checkout / "chapters" / CHAPTER / "exercises.py"
    offer = '# %% tags=["variant"] exercise="twice"\nNUMBER = choose(3, 5, 7, 9, 11)\n\n'
    text = path.read_text().replace("# %% nbgrader={", offer + "# %% nbgrader={", 1)
    path.write_text(text.replace("twice(3) == 6", "twice(NUMBER) == 2 * NUMBER"))
    made = create(checkout / "course", secret=True)
    assert stat.S_IMODE((made.root / "secret.txt").stat().st_mode) == 0o600
    with pytest.raises(AssignmentError, match="names no student"):
        release(made, CHAPTER, checkout)
    many = [Student(f"s{i}") for i in range(12)]
    roster.write(made.root / "roster.csv", many)
    made = Course.open(made.root)
    forms = [path.read_text() for path in release(made, CHAPTER, checkout)]
    numbers = [re.search(r"NUMBER = (\d+)", form) for form in forms]
    assert len(forms) == 12
    assert len({found[1] for found in numbers if found}) >= 3
    assert (made.root / "release" / "s3" / f"{CHAPTER}.zip").is_file()
    hand_in(made, "s3", nbformat.reads(forms[3].replace("x + x", "2 * x"), as_version=4))
    assert mark_all(made) == ["s3"]
    assert made.secret is not None
    assert all(made.secret.hex() not in form for form in forms)


def test_a_bug_clinic_is_released_beside_the_chapter_s_exercises(checkout: Path) -> None:
    source = (checkout / "chapters" / CHAPTER / "exercises.py").read_text()
    clinic = checkout / "chapters" / CHAPTER / "clinic.py"
    clinic.write_text(source.replace("twice", "tenfold"))
    names = [chapter_named(word, checkout) for word in ("1", "01", CHAPTER, "1_clinic")]
    assert names == [CHAPTER] * 3 + [f"{CHAPTER}_clinic"]
    with pytest.raises(AssignmentError, match=f"there are: {CHAPTER}_clinic, {CHAPTER}"):
        chapter_named("1_sheet", checkout)
    made = create(checkout / "course")
    roster.write(made.root / "roster.csv", [FULL])
    for name, word in ((CHAPTER, "def twice"), (f"{CHAPTER}_clinic", "def tenfold")):
        (form,) = release(Course.open(made.root), name, checkout)
        assert word in form.read_text()
    assert made.chapters == [CHAPTER, f"{CHAPTER}_clinic"]


def test_a_release_that_does_not_fit_its_submissions_is_refused(
    course: Course, checkout: Path
) -> None:
    everyone(course)
    mark_all(course)
    path = checkout / "chapters" / CHAPTER / "exercises.py"
    path.write_text(SOURCE.replace("twice-zero", "twice-nought"))
    release(course, CHAPTER, checkout)  # the course keeps its own source
    with pytest.raises(AssignmentError, match="graded with other cells"):
        release(course, CHAPTER, checkout, renew=True)
    assert "twice-zero" in course.source(CHAPTER).read_text()


# -- collecting


def put(folder: Path, name: str, text: str = "{}") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("name", "student", "late"),
    [
        ("Ann Full_4711_assignsubmission_file_/exercises.ipynb", "ann", False),
        ("Full Ann_4711_assignsubmission_file/exercises.ipynb", "ann", False),
        ("Ann Full_12_assignsubmission_file_/bob.ipynb", "ann", False),
        ("Participant_12_assignsubmission_file_exercises.ipynb", "bob", False),
        ("fullann_11_88_exercises.ipynb", "ann", False),
        ("fullann_LATE_11_88_exercises-1.ipynb", "ann", True),
        ("someoneelse_12_88_ann.ipynb", "bob", False),
        ("Exercises 1_bob_attempt_2026-10-01-09-30-00_exercises.ipynb", "bob", False),
        ("bob/exercises.ipynb", "bob", False),
        ("week1/bob/ann.ipynb", "bob", False),
        ("eve o'wrong/exercises.ipynb", "eve", False),
        ("ann@uni.example/exercises (1).ipynb", "ann", False),
        ("exercises_bob.ipynb", "bob", False),
        ("bob-exercises.ipynb", "bob", False),
        ("Zoe Nobody_7_assignsubmission_file_/ann.ipynb", None, False),
        ("exercises.ipynb", None, False),
    ],
)
def test_what_an_lms_gives_finds_its_student(
    course: Course, tmp_path: Path, name: str, student: str | None, late: bool
) -> None:
    put(tmp_path / "d", name)
    report = collect.collect(course, CHAPTER, tmp_path / "d")
    assert report.taken == ([student] if student else [])
    assert report.late == ([student] if student and late else [])
    assert [file for file, _ in report.unmatched] == ([] if student else [name])
    assert report.missing == [s for s in ("ann", "bob", "eve") if s != student]


def test_of_several_notebooks_the_newest_copy_counts_and_is_named(
    course: Course, tmp_path: Path
) -> None:
    for name in ("exercises.ipynb", "exercises (2).ipynb", "exercises (1).ipynb", "notes.ipynb"):
        put(tmp_path / "d", f"bob/{name}", json.dumps({"name": name}))
    report = collect.collect(course, CHAPTER, tmp_path / "d")
    assert report.notes == ["bob: 4 notebooks; taken: bob/exercises (2).ipynb"]
    assert "exercises (2)" in course.submission("bob", CHAPTER).read_text()


def test_two_students_of_one_name_are_not_guessed(course: Course, tmp_path: Path) -> None:
    roster.write(course.root / "roster.csv", [FULL, Student("ann2", "Ann", "Full")])
    put(tmp_path / "d", "Ann Full_9_assignsubmission_file_/exercises.ipynb")
    report = collect.collect(Course.open(course.root), CHAPTER, tmp_path / "d")
    assert not report.taken
    assert "fits ann and ann2" in report.unmatched[0][1]


def test_a_submission_is_not_overwritten_unless_asked(course: Course, tmp_path: Path) -> None:
    put(tmp_path / "d", "bob/exercises.ipynb", "first")
    collect.collect(course, CHAPTER, tmp_path / "d")
    assert collect.collect(course, CHAPTER, tmp_path / "d").same == ["bob"]
    put(tmp_path / "d", "bob/exercises.ipynb", "second")
    assert collect.collect(course, CHAPTER, tmp_path / "d").kept == ["bob"]
    assert course.submission("bob", CHAPTER).read_text() == "first"
    assert collect.collect(course, CHAPTER, tmp_path / "d", replace=True).replaced == ["bob"]
    assert course.submission("bob", CHAPTER).read_text() == "second"
    (old,) = (course.submission("bob", CHAPTER).parent / "earlier").iterdir()
    assert old.read_text() == "first"


def test_what_would_lead_out_of_a_download_or_never_end_is_not_read(
    course: Course, tmp_path: Path
) -> None:
    put(tmp_path / "d", "bob/exercises.ipynb")
    (tmp_path / "d" / "ann").mkdir()
    (tmp_path / "d" / "ann" / "exercises.ipynb").symlink_to(tmp_path / "d/bob/exercises.ipynb")
    (tmp_path / "d" / "eve").mkdir()
    os.mkfifo(tmp_path / "d" / "eve" / "exercises.ipynb")
    report = collect.collect(course, CHAPTER, tmp_path / "d")
    assert report.taken == ["bob"]
    assert [why for _, why in report.unmatched] == ["a link, not followed", "no plain file"]


def test_zips_in_zips_are_read_and_none_leads_out(course: Course, tmp_path: Path) -> None:
    inner = tmp_path / "inner.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("work/exercises.ipynb", "{}")
        archive.writestr("__MACOSX/._exercises.ipynb", "x")
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.write(inner, "fullann_11_88_work.zip")
        archive.writestr("../../bob/exercises.ipynb", "{}")
        archive.writestr("/bob/exercises.ipynb", "{}")
        link = zipfile.ZipInfo("bob/exercises.ipynb")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "../../../gradebook.db")
        archive.writestr("eve/report.pdf", "x")
        archive.writestr("eve/broken.zip", "no zip")
    before = {path for path in tmp_path.rglob("*") if "course" not in path.parts}
    report = collect.collect(course, CHAPTER, tmp_path / "d.zip")
    assert report.taken == ["ann"]
    assert [why.split(":")[0] for _, why in report.unmatched] == [
        "its path leads out of the zip", "its path leads out of the zip", "a link, not followed",
        "no notebook", "cannot be read",
    ]  # fmt: skip
    assert {path for path in tmp_path.rglob("*") if "course" not in path.parts} == before


def test_a_zip_that_would_fill_the_disk_is_refused_whole(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "LARGEST_ZIP", 3_000_000)
    with zipfile.ZipFile(tmp_path / "d.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ann/exercises.ipynb", "{}")
        for i in range(4):
            archive.writestr(f"bob/exercises ({i}).ipynb", b"0" * 1_000_000)
    assert (tmp_path / "d.zip").stat().st_size < 10_000
    with pytest.raises(AssignmentError, match="nothing was taken"):
        collect.collect(course, CHAPTER, tmp_path / "d.zip")
    assert course.handed_in(CHAPTER) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name\nann\n", "must name the columns"),
        ("id\nann\nAnn\n", "line 3: the id 'Ann' comes twice"),
        ("id\n../ann\n", "line 2: the id '../ann'"),
    ],
)
def test_a_roster_that_would_mislead_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "roster.csv").write_text(text)
    with pytest.raises(AssignmentError, match=re.escape(words)):
        roster.read(tmp_path / "roster.csv")


def test_a_roster_from_a_spreadsheet_is_read(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text("\ufeffid;last_name;points\nann;Full;3\n;;\n", "utf-8")
    assert roster.read(tmp_path / "roster.csv") == [Student("ann", last_name="Full")]


# -- repair


def stripped(notebook: Any) -> Any:
    """As Colab gives it back."""
    bare = deepcopy(notebook)
    bare.nbformat_minor = 0
    for number, cell in enumerate(bare.cells):
        cell.pop("id", None)
        cell.metadata = nbformat.from_dict({"id": f"c{number}", "colab": {}})
    return bare


def test_cells_without_metadata_are_found_again_and_named(course: Course) -> None:
    hand_in(course, "ann", answers(course, twice=TWICE, thrice=THRICE, why="It adds."))
    whole = read(course.submission("ann", CHAPTER))
    bare = stripped(whole)
    helper = "def helper(x):\n    return x"
    bare.cells.insert(5, nbformat.v4.new_code_cell(helper))
    bare.cells[5].pop("id")
    hand_in(course, "ann", bare)
    (result,) = marking.mark(course, CHAPTER, ["ann"], jobs=1)
    assert (result.points, result.waiting) == (6.0, 2.0)
    assert result.found == ["twice", "thrice", "why"]
    assert result.flags == ["repaired"]
    shown = read(course.folder("autograded", "ann", CHAPTER) / "exercises.ipynb")
    assert helper in [cell.source for cell in shown.cells]
    ids = [cell.metadata.nbgrader.grade_id for cell in shown.cells if "nbgrader" in cell.metadata]
    assert ids == ["twice", "twice-check", "twice-zero", "thrice", "thrice-check", "why"]


def test_a_cell_that_is_nowhere_is_named_and_the_rest_counts(course: Course) -> None:
    notebook = stripped(answers(course, twice=TWICE, thrice=THRICE))
    notebook.cells = [cell for cell in notebook.cells if "def twice" not in cell.source]
    hand_in(course, "bob", notebook)
    (result,) = marking.mark(course, CHAPTER, ["bob"], jobs=1)
    assert result.missing == ["twice"]
    assert result.points == 3.0


def test_repair_prefers_ids_then_the_place(course: Course) -> None:
    form = answers(course)
    moved = answers(course, twice=TWICE, thrice=THRICE)
    scratch = nbformat.v4.new_code_cell("def twice(x):\n    return 'scratch'")
    moved.cells.insert(0, scratch)
    moved.cells.append(deepcopy(scratch))
    bare = stripped(moved)
    for notebook in (moved, bare):
        found = repair(form, notebook).notebook.cells
        (twice,) = [c for c in found if c.metadata.get("nbgrader", {}).get("grade_id") == "twice"]
        assert twice.source == TWICE


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("-" * 100_000 + "1", id="nested deeper than the parser goes"),
        pytest.param(
            "twice:" + " " * 100_000 + "\n(", id="spaces that a slow pattern never leaves"
        ),
        pytest.param("a = '\\x00'\0", id="a null byte"),
    ],
)
def test_code_that_does_not_parse_does_not_stop_the_search(course: Course, text: str) -> None:
    bare = stripped(answers(course, twice=TWICE))
    bare.cells.insert(0, nbformat.v4.new_code_cell(text))
    done = repair(answers(course), bare)
    assert TWICE in [cell.source for cell in done.notebook.cells if cell.id == "twice"]


def test_a_doubled_cell_is_named_and_the_last_counts(course: Course) -> None:
    notebook = answers(course, twice=SQUARE)
    again = deepcopy(next(c for c in notebook.cells if c.source == SQUARE))
    again.source, again.id = TWICE, "other"
    notebook.cells.append(again)
    done = repair(answers(course), notebook)
    assert done.double == ["twice"]
    named = [c for c in done.notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id")]
    assert TWICE in [cell.source for cell in named]
    assert SQUARE not in [cell.source for cell in named]


def test_locked_cells_come_from_the_form_and_nothing_else_is_believed(course: Course) -> None:
    notebook = answers(course, twice=SQUARE)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "twice-check":
            cell.source = "pass"
            cell.metadata["nbgrader"]["points"] = 100
            cell.outputs = [nbformat.v4.new_output("stream", text="<script>alert(1)</script>")]
    done = repair(answers(course), notebook)
    check = next(c for c in done.notebook.cells if c.id == "twice-check")
    assert "have you squared" in check.source
    assert check.metadata.nbgrader.points == 2
    assert not check.outputs


# -- grading


@pytest.mark.parametrize("text", ["not json", '{"cells": [], "metadata": {"x": "\\ud800"}}'])
def test_what_is_no_notebook_is_refused_by_name_and_the_rest_is_graded(
    course: Course, text: str
) -> None:
    everyone(course)
    course.submission("eve", CHAPTER).write_text(text)
    results = {r.student: r for r in marking.mark(course, CHAPTER, ["ann", "eve"], jobs=1)}
    assert results["ann"].points == 6
    assert "not a notebook" in results["eve"].refused or "half a char" in results["eve"].refused
    assert results["eve"].points == 0
    scores = records.scores(course, CHAPTER)["eve"]
    assert not any(score.waiting for score in scores.values())


def test_an_interruption_loses_nothing_and_nothing_is_graded_twice(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    everyone(course)
    graded: list[str] = []
    begun, go = threading.Event(), threading.Event()

    def counting(source: Any, submission: Any, **given: Any) -> Grade:
        graded.append(" ".join(cell.source for cell in submission.cells))
        if len(graded) == 2:
            begun.set()
            go.wait(60)
        return plain_grade(source, submission, **given)

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            go.set()  # the second is in work when no third is begun any more
            super().shutdown(wait=wait)

    monkeypatch.setattr(marking, "grade", counting)
    monkeypatch.setattr(marking, "_pool", Pool)
    results = marking.mark(course, CHAPTER, ["ann", "bob", "eve"], jobs=1)
    next(results)
    assert begun.wait(60)
    with pytest.raises(KeyboardInterrupt):
        results.throw(KeyboardInterrupt)
    done = {s for s in ("ann", "bob", "eve") if marking.result_of(course, s, CHAPTER)}
    assert done == {"ann", "bob"}  # what was in work is finished and recorded
    assert mark_all(course) == ["eve"]
    assert len(graded) == len(set(graded)) == 3
    assert mark_all(course) == []


@fault(
    "A mark that a crowded machine cost",
    made="the clock on the wall ends one submission while others are graded",
    happens="it is graded again when all else is done, alone, and waits longer for the machine",
    kept="only the second mark is recorded",
)
def test_what_a_crowded_machine_cost_is_graded_again_alone(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    everyone(course)
    first: list[Limits] = []

    def crowded_at_first(source: Any, submission: Any, *, limits: Limits, **given: Any) -> Grade:
        first.append(limits)
        grade = plain_grade(source, submission, **given)
        return Grade([], crowded=True) if len(first) == 1 else grade

    monkeypatch.setattr(marking, "grade", crowded_at_first)
    results = list(marking.mark(course, CHAPTER, ["ann", "bob"], jobs=1))
    assert [(each.student, each.points) for each in results] == [("bob", 3), ("ann", 6)]
    assert first[2].patience > first[0].patience
    assert records.scores(course, CHAPTER)["ann"]["twice-check"].points == 2
    assert not any(each.crowded for each in results)


def test_what_waited_too_long_even_alone_is_marked(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    everyone(course)

    def crowded(source: Any, submission: Any, **given: Any) -> Grade:
        return replace(plain_grade(source, submission), crowded=True)

    monkeypatch.setattr(marking, "grade", crowded)
    (result,) = marking.mark(course, CHAPTER, ["ann"], jobs=1)
    assert result.flags == ["crowded"]
    assert "ann" in marking.outstanding(course, CHAPTER)  # the machine may be free next time
    monkeypatch.setattr(marking, "grade", plain_grade)
    list(marking.mark(course, CHAPTER, ["ann"], jobs=1))
    assert "ann" not in marking.outstanding(course, CHAPTER)


def test_a_change_is_graded_again_and_a_person_s_marks_stay(course: Course) -> None:
    everyone(course)
    mark_all(course)
    with records.gradebook(course) as book:
        grade = book.find_grade("why", "exercises", CHAPTER, "ann")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        book.db.commit()
    assert mark_all(course) == []
    hand_in(course, "ann", answers(course, twice=SQUARE, thrice=THRICE, why="It adds."))
    assert mark_all(course) == ["ann"]
    scores = records.scores(course, CHAPTER)["ann"]
    assert scores["twice-check"].points == 0
    assert (scores["why"].points, scores["why"].waiting) == (1.5, True)


def test_a_grade_without_a_sandbox_is_marked_and_given_again_with_one(course: Course) -> None:
    everyone(course)
    (result,) = marking.mark(course, CHAPTER, ["bob"], jobs=1, trust=True)
    assert result.flags == ["trusted"]
    with records.gradebook(course) as book:
        notebook = book.find_submission_notebook("exercises", CHAPTER, "bob")
        assert notebook.flagged
        assert "without the sandbox" in " ".join(c.comment or "" for c in notebook.comments)
    assert "bob" in marking.outstanding(course, CHAPTER)
    assert "bob" not in marking.outstanding(course, CHAPTER, trust=True)


def test_the_pages_for_marking_by_hand_have_what_they_need(course: Course) -> None:
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory

    everyone(course)
    mark_all(course)
    api = NbGraderAPI(CourseDirectory(root=str(course.root), course_id=course.name))
    (listed,) = api.get_assignments()
    assert (listed["name"], listed["num_submissions"], listed["max_score"]) == (CHAPTER, 3, 8)
    found = {s["student"]: s for s in api.get_notebook_submissions(CHAPTER, "exercises")}
    assert {s: (n["score"], n["needs_manual_grade"]) for s, n in found.items()} == {
        "ann": (6, True), "bob": (3, False), "eve": (1, False)
    }  # fmt: skip
    assert found["eve"]["failed_tests"]
    cells = read(course.folder("autograded", "ann", CHAPTER) / "exercises.ipynb").cells
    why = next(i for i, cell in enumerate(cells) if cell.id == "why")
    assert "the rule of the rubric" in cells[why + 1].source


# -- feedback


def test_feedback_shows_messages_and_nothing_hidden(course: Course) -> None:
    everyone(course)
    mark_all(course)
    page = feedback.feedback(course, CHAPTER, "eve").read_text("utf-8")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", page))
    assert "twice 3 is 6, yours is 9: have you squared" in text
    assert "Score: 1.0 / 8.0" in text
    assert "<math" in page
    assert "<small>of the course</small>" in page
    for secret in ("-83", "hidden word", "the solution of", "model answer", "rubric"):
        assert secret not in text
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)


def test_a_page_that_would_show_a_hidden_test_is_not_written(course: Course) -> None:
    everyone(course)
    mark_all(course)
    path = course.folder("autograded", "eve", CHAPTER) / "exercises.ipynb"
    shown = read(path)
    check = next(cell for cell in shown.cells if cell.id == "twice-check")
    check.outputs[0].traceback = ['assert twice(-41.5) == -83, "a hidden word"']
    path.write_text(nbformat.writes(shown))
    with pytest.raises(AssignmentError, match="eve was not written: it shows 'asserttwice"):
        feedback.feedback(course, CHAPTER, "eve")
    assert not course.folder("feedback", "eve", CHAPTER).exists()


def test_what_a_student_writes_does_not_run_in_a_reader_s_browser(course: Course) -> None:
    nasty = "It adds. <script>alert(1)</script> <img src=x onerror=alert(2)> $\\text{<b>x}$"
    raising = "def thrice(x):\n    raise ValueError('<img src=y onerror=alert(3)>')"
    notebook = answers(course, twice=TWICE, thrice=raising, why=nasty)
    notebook.cells.append(nbformat.v4.new_raw_cell(nasty))
    links = "[x](javascript:alert(4))", "[x](\n  JavaScript:5)", "[x][y]\n\n[y]: java&#115;cript:6"
    for link in (*links, "[x](<data:text/html,7>)", "<javascript:8>", "[x](\\javascript:9)"):
        notebook.cells.append(nbformat.v4.new_markdown_cell(f"{link} `code` {nasty}"))
    fine = "[paper](https://arxiv.org/abs/1706.03762), [above](#scores), [there](a/b.md), w[i](j)"
    notebook.cells.append(nbformat.v4.new_markdown_cell(fine))
    hand_in(course, "ann", notebook)
    mark_all(course)
    page = feedback.feedback(course, CHAPTER, "ann").read_text("utf-8")
    assert "It adds." in page
    assert not re.search(r"<[^>]*onerror|<script", page)
    leads = re.findall(r'<a [^>]*href="([^"]*)"', page)
    assert {"https://arxiv.org/abs/1706.03762", "#scores", "a/b.md"} <= set(leads)
    assert all(re.match(r"https?://|#|[\w./-]*$", address) for address in leads), leads
    kept = (course.folder("autograded", "ann", CHAPTER) / "exercises.ipynb").read_text()
    assert "<script" not in kept  # the pages for marking are made from this
