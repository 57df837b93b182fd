"""The steps of grading one submission, from the course's source and what the student handed in."""

import ast
import re
import symtable
from typing import Any

from deepdive_book.course.assignment.forms import released
from deepdive_book.course.assignment.grader import Step
from deepdive_book.course.exercises import HIDDEN, WITHHELD_TAGS, tags

# IPython's own lines, but not a sum that goes on in the next line: `% b` and `!= b`.
_MAGIC = re.compile(r"^([ \t]*)(?:(?:%(?=[A-Za-z])|!(?!=)).*|[\w.]+\?{1,2}[ \t]*)$", re.MULTILINE)
_TIMED = re.compile(r"^([ \t]*)%time[ \t]+(?=\S)", re.MULTILINE)
_AROUND = re.compile(r"\A(?:\s*%%(?:time|timeit|capture|prun)\b.*)+")  # these run the cell below


class RefusedError(ValueError):
    """What was handed in is not a notebook that can be graded; the text says why."""


class CrowdedError(RefusedError):
    """Reading it took too long by the clock on the wall: try it again alone."""


def plan(source: Any, submission: Any) -> tuple[list[Step], set[int]]:
    """Return the steps of grading, and which of them the submission lacks.

    A cell that the student added runs, in the worker, before the cell of the course that it
    precedes: a solution or a check.
    Raises RefusedError where no cell of the assignment is in the submission.
    """
    public = {id(cell): text for cell, text in _public(source)}
    texts = {text.strip() for text in public.values()}
    ids = {cell.get("id") for cell in source.cells}
    wanted = {grade_id(cell) for cell in source.cells if _is_solution(cell)}
    known = wanted | {grade_id(cell) for cell in source.cells if is_check(cell)}
    answers: dict[str, str] = {}
    before: dict[str, list[str]] = {}
    added: list[str] = []
    for cell in submission["cells"]:
        if cell.get("cell_type") != "code":
            continue
        name, text = grade_id(cell), without_magics(cell["source"])
        if name in known:
            earlier = [answers[name]] if name in answers else []
            before.setdefault(name, []).extend([*earlier, *added])
            added = []
            if name in wanted:
                answers[name] = text
        elif not name and cell.get("id") not in ids and cell["source"].strip() not in texts:
            added.append(text)
    if wanted and not answers:
        raise RefusedError("No cell of this assignment is in the notebook: was its metadata lost?")
    steps: list[Step] = []
    absent: set[int] = set()
    for cell in source.cells:
        if cell.cell_type != "code" or tags(cell) & WITHHELD_TAGS:
            continue
        name = grade_id(cell)
        step: Step = {"name": name, "source": cell.source}
        extra = {"kind": "extra", "name": "(your own)", "source": ""}
        steps += [{**extra, "public": text} for text in before.get(name, [])]
        if _is_solution(cell):
            if name not in answers:
                absent.add(len(steps))
            names, imports = _defined(cell.source)
            own = answers.get(name, "")
            step |= {"kind": "solution", "public": own, "names": names, "imports": imports}
        elif is_check(cell):
            step |= {"kind": "check", "hidden": _hidden_lines(cell.source)}
        else:
            step |= {"kind": "helper", "public": public[id(cell)]}
        steps.append(step)
    return steps, absent


def _public(source: Any) -> list[tuple[Any, str]]:
    """The code cells that students get, each with its text in the released form."""
    given = [cell for cell in source.cells if not tags(cell) & WITHHELD_TAGS]
    form = released(source).cells
    return [
        (cell, public.source)
        for cell, public in zip(given, form, strict=True)
        if cell.cell_type == "code"
    ]


def grade_id(cell: Any) -> str:
    given = cell.get("metadata", {}).get("nbgrader")
    return str(given.get("grade_id", "")) if isinstance(given, dict) else ""


def _flag(cell: Any, name: str) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get(name))


def _is_solution(cell: Any) -> bool:
    return cell.cell_type == "code" and _flag(cell, "solution") and not tags(cell) & WITHHELD_TAGS


def is_check(cell: Any) -> bool:
    return cell.cell_type == "code" and _flag(cell, "grade") and not _flag(cell, "solution")


def has_points(cell: Any) -> bool:
    """Whether a cell of the source has points to give."""
    return (_flag(cell, "grade") or _flag(cell, "task")) and not tags(cell) & WITHHELD_TAGS


def _defined(text: str) -> tuple[list[str], str]:
    """The names that a cell defines at its top level, and its import statements."""
    table = symtable.symtable(text, "<source>", "exec")
    names = [s.get_name() for s in table.get_symbols() if s.is_assigned() and not s.is_imported()]
    imports = [x for x in ast.parse(text).body if isinstance(x, ast.Import | ast.ImportFrom)]
    return names, "\n".join(map(ast.unparse, imports))


def _hidden_lines(text: str) -> list[list[int]]:
    """First and last line of each region of hidden tests."""
    return [
        [text.count("\n", 0, found.start()) + 1, len(text[: found.end()].splitlines())]
        for found in HIDDEN.finditer(text)
    ]


def without_magics(text: str) -> str:
    """A cell without IPython's own lines; of one that a magic would not run as Python, nothing."""
    text = _AROUND.sub("", text)
    if text.lstrip().startswith("%%"):
        return ""
    return _MAGIC.sub(r"\1pass", _TIMED.sub(r"\1", text))
