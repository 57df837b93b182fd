"""An invented class that hands in, to try a course before students do, and to measure grading.

Its submissions come from the source: the solution, the wrong answers that it names, nothing
at all, a notebook without metadata as Colab leaves it, and a loop without end.
"""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat

from deepdive_book.course.assignment import roster
from deepdive_book.course.assignment.course import NOTEBOOK, Course, literal, read
from deepdive_book.course.assignment.forms import released, solved
from deepdive_book.course.assignment.repair import writable
from deepdive_book.course.assignment.roster import Student
from deepdive_book.course.exercises import tags

_nbformat: Any = nbformat  # it declares no types

NAMES = ("Ada Solved", "Ben Partly", "Cem Wrong", "Dua Colab", "Eva Untouched", "Fay Endless")


def create_class(course: Course, count: int) -> list[Student]:
    """Fill an empty roster with invented students; return the first `count` of the roster."""
    if not course.students:
        invented = []
        for i in range(count):
            first, last = NAMES[i % len(NAMES)].split()
            number = "" if i < len(NAMES) else str(i // len(NAMES) + 1)
            invented.append(Student(f"s{i + 1:03d}", first + number, last, "", str(1000 + i)))
        roster.write(course.root / "roster.csv", invented)
        course.__dict__.pop("students")  # read it again
    return course.students[:count]


def submit(course: Course, chapter: str, students: list[Student], path: Path) -> None:
    """Write a zip as Moodle gives it, with a submission of each student."""
    full = read(course.released(chapter))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for i, student in enumerate(students):
            source = literal(full, course.secret, student.id)
            notebook = KINDS[i % len(KINDS)](source, i)
            name = f"{student.first_name} {student.last_name}_{4000 + i}_assignsubmission_file"
            text = _nbformat.writes(notebook)
            archive.writestr(f"{name}/{NOTEBOOK}.ipynb", text)


def _solved(source: Any, turn: int) -> Any:
    """All solutions, as a student would write them: without marks of regions and hidden tests."""
    form, full = released(source), solved(source)
    for cell, own in zip(form.cells, full.cells, strict=True):
        if writable(own):
            lines = own.source.split("\n")
            cell.source = "\n".join(line for line in lines if not line.strip().startswith("### "))
    return form


def _partly(source: Any, turn: int) -> Any:
    """The first half solved, the rest not begun."""
    form, full = released(source), _solved(source, turn)
    half = len(form.cells) // 2
    form.cells[:half] = full.cells[:half]
    return form


def _wrong(source: Any, turn: int) -> Any:
    """To each exercise one of the wrong answers that the source names."""
    form = _solved(source, turn)
    wrong: dict[str, list[str]] = {}
    for cell in source.cells:
        if "wrong-answer" in tags(cell):
            wrong.setdefault(cell.metadata["exercise"], []).append(cell.source)
    for cell in form.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in wrong:
            cell.source = wrong[name][turn % len(wrong[name])]
    return form


def _colab(source: Any, turn: int) -> Any:
    """Solved on Colab, which drops the metadata and the ids of cells."""
    form = _solved(source, turn)
    for cell in form.cells:
        cell.pop("id", None)
        cell.metadata = _nbformat.from_dict({"id": f"x{len(cell.source)}"})
    form.nbformat_minor = 0
    return form


def _untouched(source: Any, turn: int) -> Any:
    return released(source)


def _endless(source: Any, turn: int) -> Any:
    """Solved, but one function never returns."""
    form = _solved(source, turn)
    cells = [cell for cell in form.cells if "    return" in cell.source and writable(cell)]
    cell = cells[turn % len(cells)]
    cell.source = cell.source.replace("    return", "    while True:\n        pass\n    return", 1)
    return form


KINDS: tuple[Callable[[Any, int], Any], ...] = (
    _solved, _partly, _wrong, _colab, _untouched, _endless,
)  # fmt: skip
