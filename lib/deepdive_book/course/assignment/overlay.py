"""An instructor's own exercises, laid over those of a chapter from a private folder.

    OVERLAY/02_transformer/exercises.py

is written as a chapter's own. An exercise whose solution has a grade id of the chapter's takes that
one's place; the others follow. What stands before its first exercise goes behind the chapter's
imports, and all are numbered afresh.
"""

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

from deepdive_book.course.assignment.rubrics import rubrics
from deepdive_book.course.assignment.variants import standard
from deepdive_book.course.exercises import grading, parts
from deepdive_book.course.exercises import source as read
from deepdive_book.site.pages import PageError

NUMBER = re.compile(r"^## \d+\. ")
CHAPTER = re.compile(r"(\d\d[a-z]?_\w+)-exercises-\d+$")  # the id of the first cell


def overlay(source: Any, folder: Path) -> Any:
    """Return the source of a chapter with the exercises that `folder`, the overlay, has for it.

    Where it has none for this chapter the source comes back equal.

    Raises:
        PageError: `folder` is none, or none in it has exercises; the source's cells do not say
            which chapter they are of; an exercise of the overlay has no head or no solution,
            would replace two at once, or repeats another's grade id; what `exercises.source`,
            `standard` and `rubrics` refuse.
    """
    chapter = CHAPTER.match(source.cells[0].id if source.cells else "")
    if chapter is None:
        raise PageError("the source does not say its chapter: read it with exercises.source")
    where = f"{chapter[1]}/exercises.py"
    if not list(folder.glob("[0-9][0-9]*_*/exercises.py")):
        raise PageError(f"the overlay {folder} has no exercises: expected, for example, {where}")
    if not (folder / where).is_file():
        return deepcopy(source)
    own, merged = read((folder / where).resolve(), folder.resolve()), deepcopy(source)
    for cell in own.cells:
        if "nbgrader" not in cell.metadata:
            cell.id = f"own-{cell.id}"[:64]
    start, *exercises = parts(merged)
    before, *added = parts(own)
    if not added:
        raise PageError(f"{where} of the overlay has no heading `## 1. Title` of an exercise")
    for part in added:
        names = _ids(part.solutions)
        if not names:
            raise PageError(f"{where} of the overlay: {part.title!r} has no cell with a solution")
        places = [i for i, other in enumerate(exercises) if names & _ids(other.solutions)]
        if len(places) > 1:
            raise PageError(f"{where} of the overlay: {part.title!r} would replace {len(places)}")
        if places:
            exercises[places[0]] = part
        else:
            exercises.append(part)
    for number, part in enumerate(exercises, start=1):
        part.cells[0].source = NUMBER.sub(f"## {number}. ", part.cells[0].source)
        later = {name for each in exercises[number:] for name in _ids(each.cells)}
        twice = _ids(part.cells) & later
        if twice:
            raise PageError(f"{where} of the overlay: duplicate grade ids: {sorted(twice)}")
    merged.cells = [cell for part in (start, before, *exercises) for cell in part.cells]
    standard(merged)
    rubrics(merged)
    return merged


def _ids(cells: list[Any]) -> set[str]:
    """Return the grade ids of cells."""
    return {grading(cell)["grade_id"] for cell in cells if grading(cell)}
