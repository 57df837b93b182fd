"""Who takes the course: roster.csv, with the columns that `nbgrader db student import` reads."""

import csv
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from deepdive_book.course.assignment.errors import AssignmentError

_ID = re.compile(r"\w[\w.@-]*")  # it names folders


@dataclass(frozen=True)
class Student:
    """One line of roster.csv; `lms_user_id` is the number that the LMS puts into file names."""

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""

    def names(self) -> set[str]:
        """What a folder or file may call this student, in `key`'s form."""
        names = {self.first_name + self.last_name, self.last_name + self.first_name}
        return {key(name) for name in {self.id, self.email, *names}} - {""}


COLUMNS = [field.name for field in fields(Student)]


def key(name: str) -> str:
    """Letters and digits alone, in lower case, without accents: `Doe, Zoë` -> `doezoe`."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(letter for letter in plain if letter.isalnum())


def read(path: Path) -> list[Student]:
    """Read roster.csv (UTF-8; comma, semicolon or tab), in its order.

    Raises:
        AssignmentError: no file, no column `id`, an id twice, or one that cannot name a folder.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AssignmentError(f"cannot read {path}: {error}; save it as CSV in UTF-8") from error
    head = text.partition("\n")[0]
    comma = max(",;\t", key=head.count)
    rows = csv.DictReader(text.splitlines(), delimiter=comma)
    if "id" not in (rows.fieldnames or []):
        raise AssignmentError(f"{path}: the first line must name the columns {','.join(COLUMNS)}")
    students: dict[str, Student] = {}
    for number, row in enumerate(rows, start=2):
        given = {name: (row.get(name) or "").strip() for name in COLUMNS}
        if not any(given.values()):
            continue
        if not _ID.fullmatch(given["id"]):
            raise AssignmentError(
                f"{path}, line {number}: the id {given['id']!r} may only have letters, digits, .@_-"
            )
        if given["id"].casefold() in students:
            raise AssignmentError(f"{path}, line {number}: the id {given['id']!r} is duplicated")
        students[given["id"].casefold()] = Student(**given)
    return list(students.values())


def write(path: Path, students: Sequence[Student]) -> None:
    """Write roster.csv; without students its first line alone."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [COLUMNS, *(astuple(student) for student in students)]
        )


class Roster:
    """Finds students by what a folder or file calls them; several may share a name."""

    def __init__(self, students: Sequence[Student]) -> None:
        self._names: dict[str, list[Student]] = {}
        self._numbers: dict[str, list[Student]] = {}
        for student in students:
            for name in student.names():
                self._names.setdefault(name, []).append(student)
            if student.lms_user_id:
                self._numbers.setdefault(student.lms_user_id, []).append(student)

    def named(self, name: str) -> list[Student]:
        """Who has this id, name (in either order) or address."""
        return self._names.get(key(name), [])

    def numbered(self, number: str) -> list[Student]:
        """Who has this number in the LMS."""
        return self._numbers.get(number, [])
