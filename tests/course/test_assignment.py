"""A course from its folder to its table of grades, with three students and one that is late.

Here a stand-in grades, which runs what students wrote as it is: grading has tests of its own.
"""

from __future__ import annotations

import csv
import os
import re
import stat
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from classroom import (
    CHAPTER,
    FULL,
    PARTLY,
    SOURCE,
    SQUARE,
    THRICE,
    WRONG,
    answers,
    call,
    everyone,
    hand_in,
    mark_all,
    plain_grade,
)

from deepdive_book.course.assignment import marking, records, roster
from deepdive_book.course.assignment.course import Course, create, read
from deepdive_book.course.assignment.errors import AssignmentError
from deepdive_book.course.assignment.grading import Grade
from deepdive_book.course.assignment.limited import Limits
from deepdive_book.course.assignment.release import chapter_named, release
from deepdive_book.course.assignment.roster import Student

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
    assert "ann  6 of 8; 2 to grade manually" in said.output
    assert "3 pages" in call("feedback", "course", "1").output
    assert "1 submissions still need" in call("export", "course", "g.csv").output
    with Path("g.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    assert list(rows["ann"]) == [
        "id", "last_name", "first_name", "email", "lms_user_id",
        "01_demo twice (3)", "01_demo thrice (3)", "01_demo why (2)",
        "01_demo total (8)", "01_demo flags",
    ]  # fmt: skip
    assert [list(row.values())[5:] for row in rows.values()] == [
        ["3", "3", "0", "6", "waits for marking"],
        ["3", "0", "0", "3", ""],
        ["1", "0", "0", "1", ""],
    ]
    assert "0 to grade, 3 graded already" in call("grade", "course", "1").output


def test_each_command_says_what_it_lacks(checkout: Path) -> None:
    assert "is not a course" in call("release", "course", "1").output
    call("create", "course")
    assert "not empty" in call("create", "course").output
    assert "no chapter '7' with exercises; available: 01_demo" in (
        call("release", "course", "7").output
    )
    Path("d").mkdir()
    assert "01_demo is not released" in call("collect", "course", "1", "d").output
    call("release", "course", "1")
    assert "has no students" in call("collect", "course", "1", "d").output
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
    with pytest.raises(AssignmentError, match="has no students"):
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
    with pytest.raises(AssignmentError, match=f"available: {CHAPTER}_clinic, {CHAPTER}"):
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
    with pytest.raises(AssignmentError, match="graded with different cells"):
        release(course, CHAPTER, checkout, renew=True)
    assert "twice-zero" in course.source(CHAPTER).read_text()


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
    assert "ann" not in marking.outstanding(course, CHAPTER)  # it was tried alone: settled
    assert "ann" in marking.outstanding(course, CHAPTER, again=True)
    monkeypatch.setattr(marking, "grade", plain_grade)
    list(marking.mark(course, CHAPTER, ["ann"], jobs=1))
    assert "ann" not in marking.outstanding(course, CHAPTER, again=True)


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


def test_no_one_else_on_the_machine_reads_grades(course: Course, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = create(tmp_path / "new")
        book = course.root / "gradebook.db"
        book.chmod(0o664)  # by an earlier version
        everyone(course)
        mark_all(course)
        assert call("export", "course", "grades.csv").exit_code == 0
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (made.root, book, Path("grades.csv"))]
    assert list(map(oct, modes)) == ["0o700", "0o660", "0o600"]
