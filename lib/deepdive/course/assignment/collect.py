"""From what an LMS gives to download to `submitted/STUDENT/CHAPTER/exercises.ipynb`.

Understood: Moodle's folders `Name_123_assignsubmission_file_`, Canvas' `lastfirst_LATE_12_34_FILE`,
Blackboard's `..._id_attempt_2026-10-01-09-30-00_FILE`, a folder or a file called by a student's id,
name or address, with `FILE (1)` and zips inside zips. Nothing is unpacked to the disk but the
notebooks that are taken.
"""

import hashlib
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO

from deepdive.course.assignment import roster
from deepdive.course.assignment.course import Course
from deepdive.course.assignment.errors import AssignmentError

LARGEST_NOTEBOOK = 20_000_000  # bytes
LARGEST_ZIP = 500_000_000  # bytes, in all that is read of one download
MOST_FILES = 20_000
DEEPEST = 3  # zips in zips

_MOODLE = re.compile(r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_(?:file|onlinetext)(?:_.*)?")
_CANVAS = re.compile(r"(?P<name>[^_]+)(?P<late>_late)?_(?P<number>\d+)_\d+_.+", re.IGNORECASE)
_BLACKBOARD = re.compile(r".+_(?P<name>[^_]+)_attempt_\d{4}(?:-\d\d){5}(?:_.*)?")
_COPY = re.compile(r"(?: \((\d+)\)|-(\d+)| copy ?(\d*))$", re.IGNORECASE)
_SKIPPED = re.compile(r"__MACOSX|\.ipynb_checkpoints|\.DS_Store|Thumbs\.db|\._.*")


@dataclass(frozen=True)
class File:
    """A file of the download: its path in it, zips included, and how to open it."""

    path: PurePosixPath
    late: bool = False
    data: bytes = b""


@dataclass
class Report:
    """What became of a download; `unmatched` and `refused` are (file, why)."""

    taken: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)  # another one is there; --replace takes the new
    late: list[str] = field(default_factory=list)
    unmatched: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def collect(
    course: Course, chapter: str, download: Path, *, replace: bool = False, late: bool = False
) -> Report:
    """Take the notebooks of a folder or zip into the course.

    A student's newest copy counts where there are several. A submission that differs from the
    one that is there stays out, unless `replace`: then the old one goes to `earlier/`.

    Raises:
        AssignmentError: the chapter is not released, the roster is empty, or the download cannot
            be read.
    """
    course.released(chapter)
    if not course.students:
        raise AssignmentError(f"{course.root / 'roster.csv'} names no student")
    report = Report()
    mine: dict[str, list[File]] = {}
    for file in _notebooks(download, report):
        student, why, is_late = whose(course, file.path)
        if student is None:
            report.unmatched.append((str(file.path), why))
        else:
            mine.setdefault(student, []).append(File(file.path, is_late or late, file.data))
    for each in course.students:
        if each.id in mine:
            file = _newest(each.id, mine[each.id], report)
            _store(course, chapter, each.id, file, replace, report)
    there = set(course.handed_in(chapter))
    report.missing = [each.id for each in course.students if each.id not in there]
    return report


def whose(course: Course, path: PurePosixPath) -> tuple[str | None, str, bool]:
    """The student that a path of the download names, or else why nobody; and whether it says late.

    What the LMS wrote decides, and a student's own file name cannot overrule it.
    """
    labels = [*path.parts[:-1], path.stem]
    for pattern in (_MOODLE, _BLACKBOARD, _CANVAS):
        for label in labels:
            if found := pattern.fullmatch(label):
                given = found.groupdict()
                by_name = roster.named(course.students, found["name"])
                by_number = roster.numbered(course.students, given.get("number", ""))
                # Moodle's number is another one in each assignment.
                fits = by_name or by_number if pattern is _MOODLE else by_number or by_name
                return *_only(fits), bool(given.get("late"))
    names = [*labels[:-1], *_parts(labels[-1]), *(_parts(labels[-2]) if len(labels) > 1 else [])]
    for name in names:
        if fits := roster.named(course.students, name):
            return *_only(fits), False
    return None, "no student of the roster has this name or number", False


def _only(fits: list[roster.Student]) -> tuple[str | None, str]:
    if len(fits) == 1:
        return fits[0].id, ""
    if fits:
        return None, f"fits {' and '.join(s.id for s in fits)}: rename it to the student's id"
    return None, "no student of the roster has this name or number"


def _parts(label: str) -> list[str]:
    """A name, and what stands before or after its first or last mark: `ann_exercises` -> ann."""
    found = [label]
    for mark in ("_", "-", " "):
        found += [label.partition(mark)[0], label.partition(mark)[2]]
        found += [label.rpartition(mark)[0], label.rpartition(mark)[2]]
    return [part for part in found if part]


def _newest(student: str, files: list[File], report: Report) -> File:
    """The file that counts: one called exercises before others, then the highest copy."""

    def rank(file: File) -> tuple[bool, int]:
        stem = file.path.stem
        copy = _COPY.search(stem)
        number = next((int(n) for n in copy.groups() if n), 1) if copy else 0
        return "exercises" in stem.casefold(), number

    best = max(files, key=rank)
    if len(files) > 1:
        report.notes.append(f"{student}: {len(files)} notebooks; taken: {best.path}")
    return best


def _store(
    course: Course, chapter: str, student: str, file: File, replace: bool, report: Report
) -> None:
    target = course.submission(student, chapter)
    if file.late:
        report.late.append(student)
    if target.is_file():
        old = target.read_bytes()
        if old == file.data:
            report.same.append(student)
            return
        if not replace:
            report.kept.append(student)
            return
        earlier = target.parent / "earlier"
        earlier.mkdir(exist_ok=True)
        (earlier / f"{hashlib.sha256(old).hexdigest()[:12]}.ipynb").write_bytes(old)
        report.replaced.append(student)
    else:
        report.taken.append(student)
    target.parent.mkdir(parents=True, exist_ok=True)
    note = {"file": str(file.path), "late": file.late}
    (target.parent / "collected.json").write_text(json.dumps(note, indent=1) + "\n", "utf-8")
    half = target.with_name(f".{target.name}.{os.getpid()}")
    half.write_bytes(file.data)
    os.replace(half, target)


# -- reading a download


def _notebooks(download: Path, report: Report) -> Iterator[File]:
    """The notebooks of a folder or zip, zips inside them opened; the rest is named."""
    budget = _Budget()
    if download.is_dir():
        yield from _folder(download, report, budget)
    elif download.is_file() and zipfile.is_zipfile(download):
        with download.open("rb") as file:
            yield from _zip(file, PurePosixPath(), 0, report, budget)
    else:
        raise AssignmentError(f"{download} is neither a folder nor a zip")


class _Budget:
    """What may still be read: a small zip can claim to hold a disk full."""

    def __init__(self) -> None:
        self.bytes, self.files = LARGEST_ZIP, MOST_FILES

    def read(self, file: IO[bytes], limit: int) -> bytes | None:
        """The whole file, or None above `limit`; the sizes that a zip states are not believed.

        Raises:
            AssignmentError: all files together are above the budget.
        """
        self.files -= 1
        data = file.read(min(limit, self.bytes) + 1)
        self.bytes -= len(data)
        if self.bytes < 0 or self.files < 0:
            raise AssignmentError(
                f"the download holds more than {MOST_FILES} files or {LARGEST_ZIP // 10**6} MB: "
                "nothing was taken; give its parts one by one"
            )
        return data if len(data) <= limit else None


def _folder(root: Path, report: Report, budget: _Budget) -> Iterator[File]:
    for folder, names, files in os.walk(root):
        names.sort()
        for name in sorted(files):
            path = Path(folder, name)
            if path.is_symlink():
                report.unmatched.append((str(path.relative_to(root)), "a link, not followed"))
                continue
            if not path.is_file():  # to open a pipe would wait for ever
                report.unmatched.append((str(path.relative_to(root)), "no plain file"))
                continue
            short = PurePosixPath(path.relative_to(root).as_posix())
            with path.open("rb") as file:
                yield from _one(short, file, 0, report, budget)


def _zip(
    file: IO[bytes], above: PurePosixPath, depth: int, report: Report, budget: _Budget
) -> Iterator[File]:
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                path = above / info.filename.replace("\\", "/")
                if info.is_dir():
                    continue
                if info.filename.startswith(("/", "\\")) or ".." in path.parts:
                    report.unmatched.append((info.filename, "its path leads out of the zip"))
                elif (info.external_attr >> 16) & 0o170000 == 0o120000:
                    report.unmatched.append((str(path), "a link, not followed"))
                elif info.flag_bits & 1:
                    report.unmatched.append((str(path), "encrypted"))
                else:
                    with archive.open(info) as member:
                        yield from _one(path, member, depth, report, budget)
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, zlib.error) as error:
        report.unmatched.append((str(above) or "the zip", f"cannot be read: {error}"))


def _one(
    path: PurePosixPath, file: IO[bytes], depth: int, report: Report, budget: _Budget
) -> Iterator[File]:
    if any(_SKIPPED.fullmatch(part) for part in path.parts):
        return
    kind = path.suffix.casefold()
    if kind == ".ipynb":
        data = budget.read(file, LARGEST_NOTEBOOK)
        if data is None:
            report.unmatched.append((str(path), f"above {LARGEST_NOTEBOOK // 10**6} MB"))
        else:
            yield File(path, data=data)
    elif kind == ".zip" and depth < DEEPEST:
        data = budget.read(file, LARGEST_ZIP)
        if data is not None:
            yield from _zip(BytesIO(data), path.with_suffix(""), depth + 1, report, budget)
    else:
        report.unmatched.append((str(path), "no notebook"))
