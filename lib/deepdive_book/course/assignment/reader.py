"""Read what a student handed in, in a process of its own, as locked in as what it asks to run.

Parsing has no limits of its own: a file of 400 kB can take gigabytes, one line of code half a
minute. So the course looks at the bytes only (`read`). In a process that the grader locks in,
`answer` parses them, finds the cells again (`repair`), and sends back plain text. Where it needs
too much, the file is refused, and that costs nobody else anything.
"""

import json
from pathlib import Path
from typing import Any

import nbformat

from deepdive_book.course.assignment import grader
from deepdive_book.course.assignment.library import borrowed
from deepdive_book.course.assignment.limited import LimitedError, Limits
from deepdive_book.course.assignment.plan import CrowdedError, RefusedError, grade_id
from deepdive_book.course.assignment.repair import Repaired, repair
from deepdive_book.course.assignment.submission import parsed, sound, text_of

READING = Limits(total_seconds=10, memory=1 << 30, processes=1, files=1 << 20, answer=128 << 20)
_nbformat: Any = nbformat  # it declares no types


def read(
    path: Path,
    form: Any = None,
    names: dict[str, list[str]] | None = None,
    *,
    limits: Limits = READING,
    trust: bool = False,
) -> Repaired:
    """Return a submission, made whole where its released form is given.

    `names` are what `library.compared` found.

    Raises:
        RefusedError: it is no notebook for Python, or reading it needs too much.
        SandboxError: this machine cannot lock the reader in, and `trust` is false.
    """
    asked = {"text": text_of(path), "form": json.dumps(form), "names": names or {}}
    try:
        read = grader.load().read(asked, limits, trust=trust)
    except LimitedError as error:
        kind = CrowdedError if error.crowded else RefusedError
        raise kind(f"The file could not be read: {error}") from error
    if "refused" in read:
        raise RefusedError(read["refused"])
    notebook = _nbformat.from_dict(json.loads(read["notebook"]))
    told = ("found", "missing", "double", "unclear", "changed", "borrowed")
    return Repaired(notebook, *(read[name] for name in told))


def answer(asked: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Parse and repair a submission, in the process with these limits."""
    try:
        notebook = sound(parsed(asked["text"]))
        form = json.loads(asked["form"])
        whole = repair(_nbformat.from_dict(form), notebook) if form else Repaired(_bare(notebook))
        return {
            "notebook": json.dumps(whole.notebook),
            "found": whole.found,
            "missing": whole.missing,
            "double": whole.double,
            "unclear": whole.unclear,
            "changed": whole.changed,
            "borrowed": borrowed(asked["names"], form, whole.notebook) if form else [],
        }
    except RefusedError as error:
        return {"refused": str(error)}
    except MemoryError:
        most = f"{limits.memory >> 20} MB"
        return {"refused": f"The file could not be read: it needs more than {most} of memory"}


def _bare(notebook: Any) -> Any:
    """The notebook's cells with what grading asks of them."""
    cells = []
    for cell in notebook["cells"]:
        bare = {key: cell[key] for key in ("cell_type", "source", "id") if key in cell}
        name = grade_id(cell)
        cells.append({**bare, "metadata": {"nbgrader": {"grade_id": name}} if name else {}})
    return {"metadata": {}, "nbformat": 4, "nbformat_minor": 5, "cells": cells}
