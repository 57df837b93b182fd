"""The forms of a chapter's exercises, all from one source `chapters/NN_name/exercises.py`.

An exercise begins with a cell `## 3. Title`, and under that one line, `*Write · 8 min · medium ·
book 2.4.1*`: skill, minutes, difficulty, where the book has it. It needs what stands before the
first exercise and nothing of the others.

A cell with `nbgrader={"grade_id": ..., "solution": true}` is where students write; between
`### BEGIN SOLUTION` and `### END SOLUTION` stands what they do not get. A cell with
`"grade": true, "points": n` checks; between `### BEGIN HIDDEN TESTS` and `### END HIDDEN TESTS`
stands what only the grader runs. With both, `"solution"` and `"grade"`, a person marks the answer.
Cells tagged `hint`, `wrong-answer` and `rubric` name the cell they are for in `exercise="..."`.
Offers of several values (`deepdive.assignment.variants`) reach no form: it has the first of each,
or a student's own.

Nothing here needs torch: the book takes these modules without the library around them.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from . import Page, PageError
from .source import load, write

ASIDE = {"hint", "wrong-answer", "rubric"}
GRADER = {"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False}
WRITE = "*Write your answer here.*"
HEAD = re.compile(
    r"^## (?P<number>\d+)\. (?P<title>.+)\n\n\*(?P<skill>[^·*\n]+) · (?P<minutes>\d+) min · "
    r"(?P<difficulty>easy|medium|hard) · (?P<book>[^*]+)\*$",
    re.MULTILINE,
)

_nbformat: Any = nbformat  # it declares no types


def _region(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"^(?P<indent>[ \t]*)### BEGIN {name}[^\n]*\n.*?^[ \t]*### END {name}[^\n]*(?:\n|\Z)",
        re.MULTILINE | re.DOTALL,
    )


SOLUTION, HIDDEN = _region("SOLUTION"), _region("HIDDEN TESTS")
_MARKER = re.compile(r"^[ \t]*### (?:BEGIN|END) [^\n]*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """One exercise with its cells, or what stands before the first, whose number is 0."""

    cells: list[Any]
    number: int = 0
    title: str = ""
    skill: str = ""
    minutes: int = 0
    difficulty: str = ""
    book: str = ""

    def tagged(self, tag: str) -> list[Any]:
        """The hints, wrong answers or rubrics."""
        return [cell for cell in self.cells if tag in tags(cell)]

    @property
    def shown(self) -> list[Any]:
        """The cells that are not set aside."""
        return [cell for cell in self.cells if not tags(cell) & ASIDE]

    @property
    def solutions(self) -> list[Any]:
        return [cell for cell in self.cells if grading(cell).get("solution")]

    @property
    def checks(self) -> list[Any]:
        return [cell for cell in self.cells if is_check(cell)]


def sources(root: Path) -> list[Path]:
    """Return the exercises and bug clinics of all chapters, in order."""
    every = root.glob("chapters/[0-9][0-9]_*/*.py")
    return sorted(path for path in every if path.stem in ("clinic", "exercises"))


def source(path: Path, root: Path) -> Any:
    """Read a chapter's exercises as a notebook, with the metadata complete.

    Raises PageError for a grade id that comes twice, a region that does not end, a solution cell
    without a region, a hint, wrong answer or rubric to no exercise, and a head that lacks a part.
    """
    notebook = load(Page(path, root))
    exercises: set[str] = set()
    for number, cell in enumerate(notebook.cells):
        where = f"{path.relative_to(root)}, cell {number}"
        given = cell.metadata.get("nbgrader")
        if given is not None:
            if given["grade_id"] in exercises:
                raise PageError(f"{where}: the grade id {given['grade_id']!r} comes twice")
            exercises.add(given["grade_id"])
            cell.metadata["nbgrader"] = {**GRADER, "locked": is_check(cell), **given}
            if given.get("solution") and not SOLUTION.search(cell.source):
                raise PageError(f"{where}: a solution cell needs ### BEGIN and ### END SOLUTION")
        rest = HIDDEN.sub("", SOLUTION.sub("", cell.source))
        if re.search(r"### (BEGIN|END) ", rest):
            raise PageError(f"{where}: a region begins or ends without the other")
        if tags(cell) & ASIDE and cell.metadata.get("exercise") not in exercises:
            raise PageError(f"{where}: exercise={cell.metadata.get('exercise')!r} is no grade id")
        if re.match(r"## \d+\. ", cell.source) and not HEAD.match(cell.source):
            raise PageError(
                f"{where}: an exercise begins with `## 1. Title`, an empty line, and "
                "`*skill · 5 min · easy (or medium, hard) · book 2.3*`"
            )
    for part in parts(notebook):
        for cell in part.cells:
            if tags(cell) & ASIDE:
                cell.metadata["minutes"] = part.minutes
    return notebook


def parts(notebook: Any) -> list[Part]:
    """Cut a notebook at the heads of its exercises; the first part stands before them all."""
    found = [Part([])]
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (head := HEAD.match(cell.source)):
            number, title, skill, minutes, difficulty, book = head.groups()
            found.append(Part([], int(number), title, skill, int(minutes), difficulty, book))
        found[-1].cells.append(cell)
    return found


def tags(cell: Any) -> set[str]:
    """Return the tags of a cell."""
    return set(cell.metadata.get("tags", []))


def grading(cell: Any) -> dict[str, Any]:
    """Return what a cell says to nbgrader, or nothing."""
    return dict(cell.metadata.get("nbgrader", {}))


def is_check(cell: Any) -> bool:
    """Whether a cell is a check that runs."""
    return bool(grading(cell).get("grade")) and not grading(cell).get("solution")


def is_manual(cell: Any) -> bool:
    """Whether a person marks what is written in a cell."""
    given = grading(cell)
    return bool(given.get("task") or (given.get("grade") and given.get("solution")))


# -- the forms


def literal(notebook: Any) -> Any:
    """Return a copy that offers nothing more: the standard form, unless it is a student's own."""
    from ..assignment.variants import standard  # which imports this module

    return standard(notebook)


def released(notebook: Any) -> Any:
    """Return the form that students get: no solution, no hidden test, nothing set aside."""
    form = literal(notebook)
    form.cells = [_public(cell, part) for part in parts(form) for cell in part.shown]
    return form


def solved(notebook: Any) -> Any:
    """Return the form with solutions and hidden tests, which must run from end to end."""
    form = literal(notebook)
    form.cells = [cell for cell in form.cells if not tags(cell) & ASIDE]
    return form


def self_study(notebook: Any) -> Any:
    """Return the form for those who work alone: hints that open one by one, then the solution.

    The checks that students see stay, folded, for they tell a reader much; hidden tests are left
    out.
    """
    form = literal(notebook)
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
        told = f" · {hints} hint{'s' * (hints != 1)}*"
        head.source = head.source.replace("*\n", f"{told}\n", 1)
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
        says = f"write {what} in exercise {part.number} and run its cell"
        return f'{region["indent"]}raise NotImplementedError("{says}")\n'

    cell.source = HIDDEN.sub("", SOLUTION.sub(todo, cell.source)).rstrip("\n")
    kept = {key: cell.metadata[key] for key in ("jupyter", "nbgrader") if key in cell.metadata}
    if known := sorted(tags(cell) & {"setup", "fold"}):
        kept["tags"] = known
    cell.metadata = _nbformat.from_dict(kept)
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


def fenced(cell: Any) -> str:
    """A cell without its markers, as Markdown."""
    text = _MARKER.sub("", cell.source).strip("\n")
    return text if cell.cell_type == "markdown" else f"```python\n{text}\n```"


def prose(name: str, text: str) -> Any:
    """Return a cell of Markdown with an id."""
    return _nbformat.v4.new_markdown_cell(text, id=name)


# -- where they are written


def build(path: Path, root: Path) -> Path:
    """Write the released form beside its source, `exercises.ipynb`; return where."""
    target = path.with_suffix(".ipynb")
    write(released(source(path, root)), target)
    return target


def build_all(path: Path, root: Path) -> list[Path]:
    """Write the other forms into `build/exercises/NN_name/`; return where."""
    from .instructor import instructor  # which imports this module

    notebook = source(path, root)
    folder = root / "build" / "exercises" / path.parent.name
    found = []
    for form in (solved, self_study, instructor):
        target = folder / f"{path.stem}_{form.__name__}.ipynb"
        write(_moved(form(notebook), path.parent, folder), target)
        found.append(target)
    return found


def _moved(notebook: Any, old: Path, new: Path) -> Any:
    """A notebook whose links lead from another folder to where they led."""
    way = os.path.relpath(old, new)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = re.sub(r"\]\((?![a-z]+:|#|/)", f"]({way}/", cell.source)
    return notebook
