"""The forms of exercises: what students get, what must run, and what those who work alone read.

All take their source with or without offers of several values
(`deepdive_book.course.assignment.variants`): they have the first of each, or a student's own.
Nothing here needs torch: the book takes this module without the library around it.
"""

import re
from typing import Any

import nbformat

from deepdive_book.course.assignment.variants import standard
from deepdive_book.course.exercises import (
    HIDDEN,
    SOLUTION,
    WITHHELD_TAGS,
    Part,
    fenced,
    is_check,
    parts,
    prose,
    tags,
)

WRITE = "*Write your answer here.*"

_nbformat: Any = nbformat  # it declares no types


def released(notebook: Any) -> Any:
    """Return the form that students get: no solution, no hidden test, nothing set aside."""
    form = standard(notebook)
    form.cells = [_public(cell, part) for part in parts(form) for cell in part.shown]
    return form


def solved(notebook: Any) -> Any:
    """Return the form with solutions and hidden tests, which must run from end to end."""
    form = standard(notebook)
    form.cells = [cell for cell in form.cells if not tags(cell) & WITHHELD_TAGS]
    return form


def self_study(notebook: Any) -> Any:
    """Return the form for those who work alone: hints that open one by one, then the solution.

    The checks that students see stay, folded, for they tell a reader much; hidden tests are left
    out.
    """
    form = standard(notebook)
    first, *exercises = parts(form)
    form.cells = [_public(cell, first) for cell in first.shown]
    form.cells[0].source += (
        "\n\nUnder each exercise its hints open, one inside the other, and inside the last of them "
        "a solution."
    )
    for part in exercises:
        hints = len(part.tagged("hint"))
        folded = _folded(part)  # before the solutions are taken out
        head, *rest = [_public(cell, part) for cell in part.shown]
        label = f" · {hints} hint{'s' * (hints != 1)}*"
        head.source = head.source.replace("*\n", f"{label}\n", 1)
        form.cells += [head, *rest, prose(f"exercise-{part.number}-hints", folded)]
    for cell in form.cells:
        if is_check(cell):
            cell.metadata.update(tags=["check"], jupyter={"source_hidden": True})
        cell.metadata.pop("nbgrader", None)  # nobody collects this form
    return form


def _public(cell: Any, part: Part) -> Any:
    """The cell without what students do not get, which it loses."""

    def todo(region: re.Match[str]) -> str:
        if cell.cell_type == "markdown":
            return f"{WRITE}\n"
        defined = re.findall(r"^\s*def (\w+)", cell.source[: region.start()], re.MULTILINE)
        what = f"{defined[-1]}()" if defined else "your code"
        task = f"write {what} in exercise {part.number} and run its cell"
        return f'{region["indent"]}raise NotImplementedError("{task}")\n'

    cell.source = HIDDEN.sub("", SOLUTION.sub(todo, cell.source)).rstrip("\n")
    metadata = {key: cell.metadata[key] for key in ("jupyter", "nbgrader") if key in cell.metadata}
    if known := sorted(tags(cell) & {"setup", "fold"}):
        metadata["tags"] = known
    cell.metadata = _nbformat.from_dict(metadata)
    return cell


def _folded(part: Part) -> str:
    """Hints, solution and rubrics of an exercise, each folded inside the one before."""
    hints = [cell.source for cell in part.tagged("hint")]
    layers = [(f"Hint {i} of {len(hints)}", text) for i, text in enumerate(hints, start=1)]
    if len(hints) == 1:
        layers = [("Hint", hints[0])]
    layers.append(("Solution", "\n\n".join(fenced(cell) for cell in part.solutions)))
    layers += [("How it is marked", cell.source) for cell in part.tagged("rubric")]
    opened = [f"<details><summary>{name}</summary>\n\n{text}" for name, text in layers]
    return "\n\n".join([*opened, "</details>" * len(layers)])
