"""An instructor's own exercises, laid over those of a chapter from a private folder.

    OVERLAY/02_transformer/exercises.py

is written as a chapter's own: each exercise begins with a heading `## ...`. One with a grade id
that the chapter has takes that exercise's place; the others follow the chapter's. What stands
before the first heading goes behind the chapter's imports. Exercises are numbered afresh.
"""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

from ..pages import PageError
from ..pages.exercises import source as read
from .rubrics import rubrics
from .variants import standard

HEADING = re.compile(r"^## (?:\d+\. )?")
CHAPTER = re.compile(r"(\d\d_\w+)-exercises-\d+$")  # the id that `source` gives to the first cell
Cells = list[Any]


def overlay(source: Any, folder: Path) -> Any:
    """Return the source of a chapter with the exercises that `folder`, the overlay, has for it.

    Where it has none for this chapter the source comes back equal.

    Raises:
        PageError: `folder` is none, or none in it has exercises; the source's cells do not say
            which chapter they are of; an exercise of the overlay has no heading or no solution,
            would replace two at once, or repeats another's grade id; what `exercises.source`,
            `standard` and `rubrics` refuse.
    """
    chapter = CHAPTER.match(source.cells[0].id if source.cells else "")
    if chapter is None:
        raise PageError("the source does not say its chapter: read it with exercises.source")
    where = f"{chapter[1]}/exercises.py"
    if not list(folder.glob("[0-9][0-9]_*/exercises.py")):
        raise PageError(f"the overlay {folder} has no exercises: {where} is one place for them")
    if not (folder / where).is_file():
        return deepcopy(source)
    own, merged = read((folder / where).resolve(), folder.resolve()), deepcopy(source)
    for cell in own.cells:
        if "nbgrader" not in cell.metadata:
            cell.id = f"own-{cell.id}"[:64]
    start, blocks = _blocks(merged.cells)
    before, added = _blocks(own.cells)
    if not added:
        raise PageError(f"{where} of the overlay has no heading `## ...`: it begins an exercise")
    for block in added:
        title, names = block[0].source.split("\n")[0], _ids(block, "solution")
        if not names:
            raise PageError(f"{where} of the overlay: {title!r} has no cell with a solution")
        places = [i for i, other in enumerate(blocks) if names & _ids(other, "solution")]
        if len(places) > 1:
            raise PageError(f"{where} of the overlay: {title!r} would replace {len(places)}")
        if places:
            blocks[places[0]] = block
        else:
            blocks.append(block)
    for number, block in enumerate(blocks, start=1):
        block[0].source = HEADING.sub(f"## {number}. ", block[0].source)
        twice = _ids(block) & {name for other in blocks[number:] for name in _ids(other)}
        if twice:
            raise PageError(f"{where} of the overlay: grade ids that come twice: {sorted(twice)}")
    merged.cells = [*start, *before, *(cell for block in blocks for cell in block)]
    standard(merged)
    rubrics(merged)
    return merged


def _blocks(cells: Cells) -> tuple[Cells, list[Cells]]:
    """Return the cells before the first heading, and each exercise's from its heading on."""
    parts: list[Cells] = [[]]
    for cell in cells:
        if cell.cell_type == "markdown" and HEADING.match(cell.source):
            parts.append([])
        parts[-1].append(cell)
    return parts[0], parts[1:]


def _ids(block: Cells, key: str = "") -> set[str]:
    """Return the grade ids of the block's cells, or of those whose `key` is set."""
    given = [cell.metadata.get("nbgrader", {}) for cell in block]
    return {each["grade_id"] for each in given if each and (not key or each[key])}
