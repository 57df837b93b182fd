"""What an LMS gives to download finds its student, and harms nobody."""

from __future__ import annotations

import json
import os
import re
import stat
import unicodedata
import zipfile
from pathlib import Path

import nbformat
import pytest
from classroom import CHAPTER, FULL, call, put
from click.testing import CliRunner

from deepdive_book import cli
from deepdive_book.course.assignment import collect, download, roster
from deepdive_book.course.assignment.course import Course
from deepdive_book.course.assignment.errors import AssignmentError
from deepdive_book.course.assignment.roster import Student


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


@pytest.mark.parametrize(
    ("name", "late"),
    [
        ("halfbob_LATE_12_88_fullann_11_87_exercises.ipynb", True),
        ("halfbob_LATE_12_88_Ann Full_4711_assignsubmission_file_exercises.ipynb", True),
        ("halfbob_12_88_HW_ann_attempt_2026-10-01-09-30-00_exercises.ipynb", False),
        ("halfbob_12_88_work.zip/fullann_11_87_exercises.ipynb", False),
        ("Bob Half_9_assignsubmission_file_/fullann_11_87_exercises.ipynb", False),
        ("Bob Half_9_assignsubmission_file_/Ann Full_8_assignsubmission_file_/e.ipynb", False),
        ("Bob Half_9_assignsubmission_file_Ann Full_8_assignsubmission_file_e.ipynb", False),
        ("HW_bob_attempt_2026-10-01-09-30-00_x_ann_attempt_2026-10-01-09-30-01_e.ipynb", False),
        ("bob/fullann_11_87_exercises.ipynb", False),
    ],
)  # fmt: skip
def test_the_outermost_name_decides_whose_a_file_is(
    course: Course, tmp_path: Path, name: str, late: bool
) -> None:
    outer, inner, _ = name.partition(".zip/")
    if inner:
        with zipfile.ZipFile(tmp_path / "inner.zip", "w") as archive:
            archive.writestr(name.removeprefix(f"{outer}.zip/"), "bob's")
        with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
            archive.write(tmp_path / "inner.zip", f"{outer}.zip")
            archive.writestr("fullann_11_80_exercises.ipynb", "ann's")
    else:
        put(tmp_path / "d", name, "bob's")
        put(tmp_path / "d", "fullann_11_80_exercises.ipynb", "ann's")
    where = tmp_path / ("d.zip" if inner else "d")
    report = collect.collect(course, CHAPTER, where)
    assert course.submission("ann", CHAPTER).read_text() == "ann's"
    assert course.submission("bob", CHAPTER).read_text() == "bob's"
    assert report.late == (["bob"] if late else [])
    (note,) = report.notes
    assert re.match("bob: .* claims to be ann's, and counts as theirs", note)


@pytest.mark.parametrize(
    "name",
    [
        "halfbob_11_88_exercises.ipynb",  # one student's name and another's number
        "bob-week1/exercises_ann.ipynb",
        "Zoe Nobody_7_assignsubmission_file_/fullann_11_87_exercises.ipynb",
        "nobodyzoe_99_88_Ann Full_8_assignsubmission_file_e.ipynb",
    ],
)
def test_a_name_that_fits_two_or_a_stranger_is_not_guessed(
    course: Course, tmp_path: Path, name: str
) -> None:
    put(tmp_path / "d", name)
    report = collect.collect(course, CHAPTER, tmp_path / "d")
    assert not report.taken
    assert [file for file, _ in report.unmatched] == [name]


def bomb(path: Path, kind: str) -> None:
    """A small zip that holds zeros, or names, without end."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(4 if kind == "zeros" else 300):
            archive.writestr(f"exercises ({i}).ipynb", b"0" * (kind == "zeros") * 1_000_000)


@pytest.mark.parametrize("kind", ["zeros", "names"])
@pytest.mark.parametrize("outer", ["zip", "folder"])
def test_a_zip_without_end_blocks_its_sender_only(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, outer: str
) -> None:
    monkeypatch.setattr(download, "LARGEST_SHARE", 3_000_000)
    monkeypatch.setattr(download, "MOST_NAMES", 100)
    bomb(tmp_path / "bomb.zip", kind)
    assert (tmp_path / "bomb.zip").stat().st_size < 50_000
    put(tmp_path / "d", "fullann_11_80_exercises.ipynb", "ann's")
    put(tmp_path / "d", "o'wrongeve_13_82_exercises.ipynb", "eve's")
    (tmp_path / "d" / "halfbob_12_81_work.zip").write_bytes((tmp_path / "bomb.zip").read_bytes())
    if outer == "zip":
        with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
            for path in sorted((tmp_path / "d").iterdir()):
                archive.write(path, path.name)
    said = call("collect", "course", "1", f"d{'.zip' * (outer == 'zip')}")
    assert (said.exit_code, course.handed_in(CHAPTER)) == (0, ["ann", "eve"]), said.output
    assert said.output.splitlines()[1:4] == [
        "Not imported:",
        "  all that bob sent: more than 100 names or 3 MB: ask for one notebook",
        "No submission from: bob",
    ]


def test_a_download_of_too_much_in_all_is_refused_whole(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "LARGEST_DOWNLOAD", 3_000_000)
    for student in ("ann", "bob"):
        put(tmp_path / "d", f"{student}/exercises.ipynb", "0" * 2_000_000)
    with pytest.raises(AssignmentError, match="nothing was taken"):
        collect.collect(course, CHAPTER, tmp_path / "d")
    assert course.handed_in(CHAPTER) == []


def test_what_is_damaged_in_a_download_is_named_and_the_rest_is_taken(
    course: Course, tmp_path: Path
) -> None:
    bomb(tmp_path / "whole.zip", "names")
    data = (tmp_path / "whole.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.writestr("bob/cut.zip", data[: len(data) // 2])
        archive.writestr("eve/exercises.ipynb", "some text of a notebook")
        archive.writestr("eve/locked.ipynb", "another text")
        archive.writestr("ann/exercises.ipynb", "{}")
    data = (tmp_path / "d.zip").read_bytes().replace(b"some text", b"same text", 1)
    entry = data.rindex(b"PK\x01\x02", 0, data.rindex(b"eve/locked.ipynb"))
    data = data[: entry + 8] + b"\x01" + data[entry + 9 :]
    (tmp_path / "d.zip").write_bytes(data)
    report = collect.collect(course, CHAPTER, tmp_path / "d.zip")
    assert report.taken == ["ann"]
    assert [(file, why.split(":")[0]) for file, why in report.unmatched] == [
        ("bob/cut.zip", "cannot be read"),
        ("eve/exercises.ipynb", "cannot be read"),
        ("eve/locked.ipynb", "encrypted"),
    ]


def test_names_that_a_terminal_would_obey_or_no_encoding_has_are_shown_safely(
    course: Course, tmp_path: Path
) -> None:
    odd = ["\x1b[2J\u202e.ipynb", os.fsdecode(b"gr\xfc\xdfe.ipynb"), "bob/\x1b]0;x\x07.ipynb"]
    for name in odd:
        put(tmp_path / "d", name, "{}")
    said = call("collect", "course", "1", "d")
    assert (said.exit_code, course.handed_in(CHAPTER)) == (0, ["bob"]), said.output
    assert "?[2J?.ipynb: no student" in said.output
    assert "gr??e.ipynb: no student" in said.output
    assert all(letter.isprintable() or letter == "\n" for letter in said.output)
    note = json.loads((course.submission("bob", CHAPTER).parent / "collected.json").read_text())
    assert note["file"] == "bob/?]0;x?.ipynb"


def test_a_letter_that_the_terminal_lacks_ends_nothing(course: Course, tmp_path: Path) -> None:
    put(tmp_path / "d", "\u738b\u00e9.ipynb")
    put(tmp_path / "d", "bob.ipynb")
    arguments = ["assignment", "collect", "course", "1", "d"]
    said = CliRunner(charset="latin-1").invoke(cli.main, arguments)
    assert (said.exit_code, course.handed_in(CHAPTER)) == (0, ["bob"])
    assert "  ?\u00e9.ipynb: no student" in said.output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name\nann\n", "must name the columns"),
        ("id\nann\nAnn\n", "line 3: the id 'Ann' is duplicated"),
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


def packed_by_a_mac(path: Path, names: list[str]) -> None:
    """A zip with names in UTF-8, without the flag that says so, as Finder and ditto write it."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, nbformat.writes(nbformat.v4.new_notebook()))
    data = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            data[at + place + 1] &= ~0x08
            at = data.find(mark, at + 4)
    path.write_bytes(data)


def test_a_name_with_accents_that_a_mac_packed_finds_its_student(tmp_path: Path) -> None:
    names = ["Zoë Müller/exercises.ipynb", unicodedata.normalize("NFD", "José/exercises.ipynb")]
    packed_by_a_mac(tmp_path / "mac.zip", names)
    with zipfile.ZipFile(tmp_path / "mac.zip") as archive:
        assert "Zoë Müller/exercises.ipynb" not in archive.namelist(), "read as cp437"
    found, refused = download.notebooks(tmp_path / "mac.zip", lambda path: (path.parts[0], ""))
    assert [*found] == [name.split("/")[0] for name in names]
    assert not refused
    with zipfile.ZipFile(tmp_path / "dos.zip", "w") as archive:  # true cp437 stays what it is
        archive.writestr(zipfile.ZipInfo("ann/exercises.ipynb"), "{}")
    assert [*download.notebooks(tmp_path / "dos.zip", lambda path: (path.parts[0], ""))[0]] == [
        "ann"
    ]
