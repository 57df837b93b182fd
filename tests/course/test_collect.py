"""What an LMS gives to download finds its student, and harms nobody."""

from __future__ import annotations

import json
import os
import re
import stat
import zipfile
from pathlib import Path

import pytest
from classroom import (
    CHAPTER,
    FULL,
    put,
)

from deepdive.course.assignment import collect, roster
from deepdive.course.assignment.course import Course
from deepdive.course.assignment.errors import AssignmentError
from deepdive.course.assignment.roster import Student


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
