"""nbgrader's grade book, `gradebook.db`: what may be graded, and each student's points."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

from deepdive_book.course.assignment.course import NOTEBOOK, Course
from deepdive_book.course.assignment.errors import AssignmentError


@dataclass(frozen=True)
class Score:
    """The points of one cell; `waiting` where a person must still mark it."""

    points: float
    max_points: float
    waiting: bool


def address(root: Path) -> str:
    """The grade book of a course as a database address."""
    return f"sqlite:///{root / 'gradebook.db'}"


@contextmanager
def gradebook(course: Course) -> Iterator[Any]:
    """Open the grade book, its students those of the roster.

    Raises:
        AssignmentError: nbgrader is not installed.
    """
    try:
        from nbgrader.api import Gradebook
    except ImportError as error:
        raise AssignmentError(
            f"nbgrader is not installed ({error}): pip install 'deepdive[instructors]'"
        ) from error
    if (path := course.root / "gradebook.db").is_file():
        with suppress(PermissionError):  # it is another's, who shares it with a group
            path.chmod(path.stat().st_mode & ~0o007)
    with _own_programs(), catch_warnings():
        simplefilter("ignore")  # nbgrader's own sessions make SQLAlchemy warn
        with Gradebook(address(course.root), course.name) as book:
            yield book


@contextmanager
def _own_programs() -> Iterator[None]:
    """Put this Python's programs first in PATH: nbgrader calls `alembic` by its bare name."""
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before


def enrol(course: Course) -> None:
    """Write the roster into the grade book; nobody is taken out, for grades would go too."""
    with gradebook(course) as book:
        there = {student.id: student for student in book.students}
        for student in course.students:
            given = asdict(student)
            name = given.pop("id")
            if name not in there or any(getattr(there[name], k) != v for k, v in given.items()):
                book.update_or_create_student(name, **given)


def register(course: Course, chapter: str, form: Any) -> None:
    """Enter the cells of a released form and their points.

    Raises:
        AssignmentError: submissions are there that were graded with other cells.
    """
    enrol(course)
    with gradebook(course) as book:
        book.update_or_create_assignment(chapter, course_id=course.name)
    from nbgrader.preprocessors import ComputeChecksums, SaveCells

    where = {"notebook": NOTEBOOK, "assignment": chapter, "db_url": address(course.root)}
    notebook, resources = ComputeChecksums().preprocess(deepcopy(form), {"nbgrader": where})
    try:
        SaveCells().preprocess(notebook, resources)
    except RuntimeError as error:
        raise AssignmentError(
            f"{chapter} has submissions in the grade book graded with different cells: "
            "keep its exercises unchanged, or create a new course"
        ) from error


def record(
    course: Course, chapter: str, student: str, results: Any, comments: dict[str, str]
) -> None:
    """Enter a student's points, all cells or none.

    `results` are CellGrades. A person's marks stay, and wait to be looked at again; `comments`
    (grade id -> text) stand beside the cells to write in. A submission with comments is flagged.
    """
    with gradebook(course) as book:
        submission = book.update_or_create_submission(chapter, student)
        (notebook,) = [n for n in submission.notebooks if n.name == NOTEBOOK]
        grades = {grade.name: grade for grade in notebook.grades}
        for result in results:
            grade = grades[result.grade_id]
            grade.auto_score = None if result.manual else result.points
            grade.needs_manual_grade = result.manual or grade.manual_score is not None
        for comment in notebook.comments:
            comment.auto_comment = comments.get(comment.name)
        notebook.flagged = bool(comments)
        book.db.commit()


def scores(course: Course, chapter: str) -> dict[str, dict[str, Score]]:
    """Student -> grade id -> score, for all who were graded."""
    with gradebook(course) as book:
        by_student: dict[str, dict[str, Score]] = {}
        for submission in book.assignment_submissions(chapter):
            by_cell = by_student.setdefault(submission.student.id, {})
            for notebook in submission.notebooks:
                for grade in notebook.grades:
                    waiting = bool(grade.needs_manual_grade)
                    by_cell[grade.name] = Score(grade.score, grade.max_score, waiting)
        return by_student
