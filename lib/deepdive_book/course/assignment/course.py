"""The folder of a course, laid out as nbgrader lays it out.

course.toml  roster.csv  gradebook.db  nbgrader_config.py  README.md
source/CHAPTER/exercises.ipynb               with solutions and hidden tests
release/CHAPTER/exercises.ipynb              for all; with a secret release/STUDENT/CHAPTER/
submitted/STUDENT/CHAPTER/exercises.ipynb    as collected
autograded/STUDENT/CHAPTER/exercises.ipynb   with points and messages
feedback/STUDENT/CHAPTER/exercises.html
"""

from __future__ import annotations

import json
import os
import secrets
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from deepdive_book.course import twins
from deepdive_book.course.assignment import roster
from deepdive_book.course.assignment.errors import AssignmentError
from deepdive_book.course.assignment.roster import Student
from deepdive_book.course.assignment.variants import personal, standard, stream

NOTEBOOK = "exercises"
STEPS = ("source", "release", "submitted", "autograded", "feedback")

_IGNORE = "# Names, grades, solutions, and the secret: keep this folder private.\n*\n"
_CONFIG = """\
# Read by nbgrader (Formgrader, for manual grading) when Jupyter starts in this folder.
c = get_config()  # noqa: F821
c.CourseDirectory.course_id = {name}
"""
_README = """\
# {name}

A course folder created by `deepdive assignment create`. See the page *Teach with this book* for the
guide. Run these steps in order, from the parent folder:

1. Write `roster.csv`: `id,first_name,last_name,email,lms_user_id`, one student per line. Only `id`
   is required.
2. `deepdive assignment release {name} 02_transformer`: students' notebooks, in `release/`.
3. `deepdive assignment collect {name} 02_transformer DOWNLOAD.zip`: submissions, into `submitted/`.
4. `deepdive assignment grade {name} 02_transformer`: points into `gradebook.db`, notebooks into
   `autograded/`. You can interrupt and resume it.
5. Grade written answers: `jupyter lab` in this folder, then *Nbgrader*, *Formgrader*.
6. `deepdive assignment feedback {name} 02_transformer`: one page per student, in `feedback/`.
7. `deepdive assignment export {name} grades.csv`.

`course.toml` has the settings. {secret}Keep this folder private.
"""
_SECRET = """\
`secret.txt` determines each student's variants: keep a copy, because without it
nothing can be graded. """


@dataclass(frozen=True)
class Course:
    """An open course."""

    root: Path
    name: str
    overlay: Path | None
    secret: bytes | None

    @classmethod
    def open(cls, root: Path) -> Course:
        """Open the course in a folder.

        Raises:
            AssignmentError: it is no course, or its settings cannot be read.
        """
        settings = root / "course.toml"
        if not settings.is_file():
            raise AssignmentError(
                f"{root} is not a course: create it with `deepdive assignment create {root}`"
            )
        try:
            given = tomllib.loads(settings.read_text(encoding="utf-8"))
            overlay = root / given["overlay"] if given.get("overlay") else None
            hidden = root / "secret.txt" if given.get("secret") else None
            secret = bytes.fromhex(hidden.read_text().strip()) if hidden else None
        except (OSError, ValueError) as error:
            raise AssignmentError(f"{settings}: {error}") from error
        return cls(root.resolve(), str(given.get("name") or root.name), overlay, secret)

    @cached_property
    def students(self) -> list[Student]:
        """The roster."""
        return roster.read(self.root / "roster.csv")

    @property
    def chapters(self) -> list[str]:
        """The chapters that were released."""
        return sorted(path.parent.name for path in self.root.glob(f"source/*/{NOTEBOOK}.ipynb"))

    def folder(self, step: str, student: str, chapter: str) -> Path:
        """Where a student's files of one step lie."""
        return self.root / step / student / chapter

    def source(self, chapter: str) -> Path:
        """The chapter's exercises with solutions and hidden tests."""
        return self.root / "source" / chapter / f"{NOTEBOOK}.ipynb"

    def submission(self, student: str, chapter: str) -> Path:
        """What a student handed in."""
        return self.folder("submitted", student, chapter) / f"{NOTEBOOK}.ipynb"

    def released(self, chapter: str) -> Path:
        """The chapter's source, for the commands that come after its release.

        Raises:
            AssignmentError: the chapter was not released.
        """
        path = self.source(chapter)
        if not path.is_file():
            known = ", ".join(self.chapters) or "none"
            raise AssignmentError(f"{chapter} is not released in {self.name}; released: {known}")
        return path

    def twin(self, student: str) -> int:
        """The seed of the patients on whom this student's measurements are tried."""
        if self.secret is None:
            return twins.SEEDS[0]
        return twins.SEEDS[stream(self.secret, student, "twin")(len(twins.SEEDS))]

    def handed_in(self, chapter: str) -> list[str]:
        """The students whose submission of a chapter was collected, in the roster's order."""
        ids = [student.id for student in self.students]
        return [student for student in ids if self.submission(student, chapter).is_file()]


def create(root: Path, *, secret: bool = False, overlay: Path | None = None) -> Course:
    """Make the folder of a course; an empty folder may be there already.

    Raises:
        AssignmentError: the folder holds something, or the overlay is no folder.
    """
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise AssignmentError(f"{root} exists and is not empty: choose another name")
    if overlay is not None and not overlay.is_dir():
        raise AssignmentError(f"the overlay {overlay} is not a folder")
    root.mkdir(parents=True, exist_ok=True)
    root.chmod(0o700)  # names, grades and solutions: for nobody else on this machine
    for step in STEPS:
        (root / step).mkdir()
    name = root.resolve().name
    lines = [f"name = {json.dumps(name)}", f"secret = {str(secret).lower()}"]
    if overlay is not None:
        lines.append(f"overlay = {json.dumps(os.path.relpath(overlay.resolve(), root.resolve()))}")
    texts = {
        "course.toml": "\n".join(lines) + "\n",
        "nbgrader_config.py": _CONFIG.format(name=repr(name)),
        "README.md": _README.format(name=name, secret=_SECRET if secret else ""),
        ".gitignore": _IGNORE,
    }
    for file, text in texts.items():
        (root / file).write_text(text, encoding="utf-8")
    if secret:
        path = root / "secret.txt"
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(32) + "\n")
    roster.write(root / "roster.csv", [])
    return Course.open(root)


def literal(source: Any, secret: bytes | None, student: str) -> Any:
    """The source with its variants made literal: a student's own, or those that all get."""
    return personal(source, secret, student) if secret is not None else standard(source)


def points_of(notebook: Any) -> dict[str, float]:
    """Grade id -> points of every cell that gives points."""
    given = [cell.metadata.get("nbgrader", {}) for cell in notebook.cells]
    return {g["grade_id"]: g["points"] for g in given if g.get("grade") or g.get("task")}


def read(path: Path) -> Any:
    """Read a notebook that the course itself wrote."""
    import nbformat

    notebook: Any = nbformat
    return notebook.read(path, as_version=4)


def exercises_of(notebook: Any) -> dict[str, list[str]]:
    """Exercise -> grade ids of the cells that give its points, both in the notebook's order.

    An exercise begins at a heading `## ...`, and is called by the first cell to write in.
    """
    exercises: dict[str, list[str]] = {}
    current = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            current = ""
        given = cell.metadata.get("nbgrader", {})
        current = current or given.get("grade_id", "")
        if given.get("grade") or given.get("task"):
            exercises.setdefault(current, []).append(given["grade_id"])
    return exercises
