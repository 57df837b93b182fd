"""Grades as CSV, for a spreadsheet or an LMS: a student a line, a column an exercise."""

import csv
import os
from collections.abc import Iterable
from pathlib import Path

from deepdive_book.course.assignment import marking, records
from deepdive_book.course.assignment.course import Course, exercises_of, points_of, read


def export(course: Course, path: Path) -> int:
    """Write the grades of all released chapters; return how many points wait for a person.

    Each chapter has a column for each exercise, headed with its points, then `total` and `flags`.
    Who handed in nothing has empty cells and the total 0.
    """
    head = ["id", "last_name", "first_name", "email", "lms_user_id"]
    rows = {s.id: [getattr(s, name) for name in head] for s in course.students}
    waiting = 0
    for chapter in course.chapters:
        notebook = read(course.source(chapter))
        exercises = exercises_of(notebook)
        scores = records.scores(course, chapter)
        most = {
            name: sum(points_of(notebook)[cell] for cell in cells)
            for name, cells in exercises.items()
        }
        head += [f"{chapter} {name} ({points:g})" for name, points in most.items()]
        head += [f"{chapter} total ({sum(most.values()):g})", f"{chapter} flags"]
        for student, row in rows.items():
            own = scores.get(student)
            result = marking.result_of(course, student, chapter)
            if own is None or result is None:
                there = course.submission(student, chapter).is_file()
                row += ["" for _ in exercises] + [
                    "0",
                    "not graded" if there else "nothing handed in",
                ]
                continue
            each = [sum(own[cell].points for cell in cells) for cells in exercises.values()]
            open_points = sum(score.max_points for score in own.values() if score.waiting)
            waiting += int(open_points > 0)
            flags = [*result.flags, *(["waits for marking"] if open_points else [])]
            row += [f"{points:g}" for points in [*each, sum(each)]] + [" ".join(flags)]
    with open(path, "w", encoding="utf-8", newline="", opener=_private) as file:
        csv.writer(file, lineterminator="\n").writerows(
            _safe(row) for row in [head, *rows.values()]
        )
    return waiting


def _private(path: str, flags: int) -> int:
    """Open a file that, where it is new, its owner alone may read."""
    return os.open(path, flags, 0o600)


def _safe(row: Iterable[str]) -> list[str]:
    """Keep a spreadsheet from reading a name as a formula."""
    return [f"'{cell}" if cell[:1] in "=+-@" and cell[:1] else cell for cell in row]
