"""Release: what a checkout can give to a course, and what each student of the course gets."""

import zipfile
from pathlib import Path
from typing import Any

from deepdive_book.course.assignment import records
from deepdive_book.course.assignment.course import NOTEBOOK, Course, literal, read
from deepdive_book.course.assignment.errors import AssignmentError
from deepdive_book.course.assignment.forms import released
from deepdive_book.course.assignment.overlay import overlay
from deepdive_book.course.exercises import source
from deepdive_book.site.pages import exercise_sources, number_of
from deepdive_book.site.pages.source import write


def release(course: Course, chapter: str, root: Path, *, renew: bool = False) -> list[Path]:
    """Release a chapter of the checkout at `root`; return the notebooks that students get.

    The source is copied into the course at the first release (or with `renew`), so that a later
    edit of the book changes no running course.

    Raises:
        AssignmentError: no such chapter, no roster where each student gets an own form, or other
            cells than those that submissions were graded with.
    """
    if course.secret is not None and not course.students:
        raise AssignmentError(
            f"{course.root / 'roster.csv'} has no students, and each student gets their own form"
        )
    path = course.source(chapter)
    full = _taken(course, chapter, root) if renew or not path.is_file() else read(path)
    # The grade book refuses cells that do not fit the submissions; only then the source changes.
    records.register(course, chapter, released(literal(full, None, "")))
    write(full, path)
    made = []
    for student in [s.id for s in course.students] if course.secret is not None else [""]:
        target = course.folder("release", student, chapter) / f"{NOTEBOOK}.ipynb"
        write(released(literal(full, course.secret, student)), target)
        packed = target.parent.with_suffix(".zip")
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(target, target.name)
        made.append(target)
    return made


def _taken(course: Course, chapter: str, root: Path) -> Any:
    """The chapter's exercises of the checkout, with the instructor's own on top."""
    path = assignments(root)[chapter]
    full = source(path, root)
    if course.overlay is None or path.stem != NOTEBOOK:
        return full
    return overlay(full, course.overlay)


def assignments(root: Path) -> dict[str, Path]:
    """Name -> source of what a checkout can release: `02_transformer`, `02_transformer_clinic`."""
    named = {}
    for path in exercise_sources(root):
        kind = "" if path.stem == NOTEBOOK else f"_{path.stem}"
        named[f"{path.parent.name}{kind}"] = path
    return named


def chapter_named(word: str, root: Path) -> str:
    """The assignment that `2`, `02`, `02_transformer`, `2_clinic` or `6b` names.

    Raises:
        AssignmentError: none has this name.
    """
    number, _, kind = word.partition("_")
    names = assignments(root)
    for name, path in names.items():
        if word == name:
            return name
        if number and number_of(number) == number_of(name) and (kind or NOTEBOOK) == path.stem:
            return name
    raise AssignmentError(f"no chapter {word!r} with exercises; available: {', '.join(names)}")
