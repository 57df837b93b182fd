"""From what an LMS gives to download to `submitted/STUDENT/CHAPTER/exercises.ipynb`.

Understood: Moodle's folders `Name_123_assignsubmission_file_`, Canvas' `lastfirst_LATE_12_34_FILE`,
Blackboard's `..._id_attempt_2026-10-01-09-30-00_FILE`, a folder or a file called by a student's id,
name or address, with `FILE (1)` and zips inside zips.
"""

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from deepdive_book.course.assignment import atomic_write
from deepdive_book.course.assignment.course import Course
from deepdive_book.course.assignment.download import File, Refusal, notebooks, safe_name
from deepdive_book.course.assignment.errors import AssignmentError
from deepdive_book.course.assignment.roster import Roster, Student

# What an LMS writes, then what its students may choose: so Canvas, which begins with its own, is
# tried first, and each takes as little as it can.
_CANVAS = re.compile(
    r"(?P<name>[^_]+)(?P<late>_late)?_(?P<number>\d+)_\d+_(?P<file>.+)", re.IGNORECASE
)
_MOODLE = re.compile(
    r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<file>.*))?"
)
_BLACKBOARD = re.compile(r".+?_(?P<name>[^_]+)_attempt_\d{4}(?:-\d\d){5}(?:_(?P<file>.*))?")
_COPY = re.compile(r"(?: \((\d+)\)|-(\d+)| copy ?(\d*))$", re.IGNORECASE)
NOBODY = "no student in the roster has this name or number"


@dataclass
class Report:
    """What became of a download; `unmatched` and `refused` are (file, why)."""

    taken: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)  # another one is there; --replace takes the new
    late: list[str] = field(default_factory=list)
    unmatched: list[Refusal] = field(default_factory=list)
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
        raise AssignmentError(f"{course.root / 'roster.csv'} has no students")
    students = Roster(course.students)

    def named(path: PurePosixPath) -> tuple[str | None, str]:
        owner = whose(students, path)
        return owner.student, owner.why

    mine, unmatched = notebooks(download, named)
    report = Report(unmatched=unmatched)
    for each in course.students:
        if each.id in mine:
            file = _newest(each.id, mine[each.id], report)
            for one in mine[each.id]:
                if claim := whose(students, one.path).claim:
                    report.notes.append(
                        f"{each.id}: {safe_name(one.path)} claims to be {claim}'s, and counts as "
                        "theirs"
                    )
            owner = whose(students, file.path)
            report.late += [each.id] if late or owner.late else []
            _store(course, chapter, each.id, file, late or owner.late, replace, report)
    there = set(course.handed_in(chapter))
    report.missing = [each.id for each in course.students if each.id not in there]
    return report


@dataclass(frozen=True)
class Owner:
    """Whose a file is, or else why it is nobody's; and who else it claims to be of."""

    student: str | None
    why: str = ""
    late: bool = False
    claim: str = ""


def whose(students: Roster, path: PurePosixPath) -> Owner:
    """The owner of a file: the student that the outermost name of its path tells.

    That name the LMS wrote, or who sorted the files. What is further in students may choose.
    """
    labels = [*path.parts[:-1], path.stem]
    for i, label in enumerate(labels):
        if told := _told(students, label):
            fits, is_late, rest = told
            owner = _only(fits, is_late)
            claims = (_told(students, inner) for inner in [rest, *labels[i + 1 :]])
            others = [s.id for claim in claims if claim for s in claim[0]]
            other = next((name for name in others if name != owner.student), "")
            return Owner(owner.student, owner.why, owner.late, other)
    parts = (part for label in labels for part in _parts(label))
    return _only(list(dict.fromkeys(s for part in parts for s in students.named(part))))


def _told(students: Roster, label: str) -> tuple[list[Student], bool, str] | None:
    """Who a name of the path tells, whether late, and the part that a student chose."""
    for pattern in (_CANVAS, _MOODLE, _BLACKBOARD):
        if found := pattern.fullmatch(label):
            given = found.groupdict()
            named = students.named(found["name"])
            numbered = students.numbered(given.get("number", ""))
            if pattern is _MOODLE:  # its number is another one in each assignment
                blind = " " not in found["name"]
                fits = named or (numbered if blind else [])
            else:  # one name and another's number fit neither
                fits = numbered if not named else named if not numbered else _both(named, numbered)
            return fits, bool(given.get("late")), PurePosixPath(found["file"] or "").stem
    fits = students.named(label)
    return (fits, False, "") if fits else None


def _both(named: list[Student], numbered: list[Student]) -> list[Student]:
    return [s for s in named if s in numbered] or [*named, *numbered]


def _only(fits: list[Student], late: bool = False) -> Owner:
    if len(fits) == 1:
        return Owner(fits[0].id, late=late)
    if fits:
        return Owner(
            None, f"fits {' and '.join(s.id for s in fits)}: rename it to the student's id"
        )
    return Owner(None, NOBODY)


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
        report.notes.append(f"{student}: {len(files)} notebooks; taken: {safe_name(best.path)}")
    return best


def _store(
    course: Course,
    chapter: str,
    student: str,
    file: File,
    late: bool,
    replace: bool,
    report: Report,
) -> None:
    target = course.submission(student, chapter)
    if target.is_file():
        old = target.read_bytes()
        if old == file.data:
            report.same.append(student)
            return
        if not replace:
            report.kept.append(student)
            return
        earlier = target.parent / "earlier"
        atomic_write.write(earlier / f"{hashlib.sha256(old).hexdigest()[:12]}.ipynb", old)
        report.replaced.append(student)
    else:
        report.taken.append(student)
    note = {"file": safe_name(file.path), "late": late}
    atomic_write.write(
        target.parent / "collected.json", (json.dumps(note, indent=1) + "\n").encode()
    )
    atomic_write.write(target, file.data)
