"""Reads what a student handed in, in a process of its own, as locked in as what it asks to run.

Parsing has no limits of its own: a file of 400 kB can take gigabytes, one line of code half a
minute. So the grader looks at the bytes only; a `reader` that the warm process forks parses them,
finds the cells again (`repair`), and sends back plain text. Where it needs too much, the file is
refused, and that costs nobody else anything.
"""

import json
import os
from pathlib import Path
from typing import Any

import nbformat

from deepdive.course.assignment.library import borrowed
from deepdive.course.assignment.meter import CROWDED, Allowance
from deepdive.course.assignment.plan import CrowdedError, RefusedError, grade_id
from deepdive.course.assignment.repair import Repaired, repair
from deepdive.course.assignment.sandbox import Limits
from deepdive.course.assignment.submission import parsed, sound, text_of
from deepdive.course.assignment.wire import Channel, WireError, no_reference, pack, unpack
from deepdive.course.assignment.zygote import Child, start

READ, WRITE = 3, 4  # the descriptors of the grader's pipes
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
    answer = _asked(asked, limits, trust)
    if "refused" in answer:
        raise RefusedError(answer["refused"])
    notebook = _nbformat.from_dict(json.loads(answer["notebook"]))
    told = ("found", "missing", "double", "unclear", "changed", "borrowed")
    return Repaired(notebook, *(answer[name] for name in told))


def _asked(asked: dict[str, Any], limits: Limits, trust: bool) -> dict[str, Any]:
    """Have a new reader answer."""
    there, back = os.pipe(), os.pipe()
    try:
        child = start().spawn("reader", [there[0], back[1]], limits, locked=not trust)
    finally:
        os.close(there[0])
        os.close(back[1])
    try:
        child.started()
        return _answered(child, Channel(back[0], there[1], limits.answer), asked, limits)
    finally:
        child.close()
        os.close(back[0])
        os.close(there[1])


def _answered(
    child: Child, channel: Channel, asked: dict[str, Any], limits: Limits
) -> dict[str, Any]:
    """What a reader that has started answers."""
    allowance = Allowance(limits.total_seconds, limits.patience, child.meter.read)
    try:
        channel.send(pack(asked, no_reference), allowance)
        return unpack(channel.receive(allowance), no_reference)
    except WireError as error:
        why = child.ended() if str(error) == "gone" else allowance.said(str(error))
        kind = CrowdedError if str(error) == CROWDED else RefusedError
        raise kind(f"The file could not be read: {why}") from error


def run(limits: Limits) -> None:
    """Be the reader of one submission."""
    channel = Channel(READ, WRITE, limits.answer)
    try:
        channel.send(pack(_answer(unpack(channel.receive(), no_reference), limits), no_reference))
    except WireError:
        return


def _answer(asked: dict[str, Any], limits: Limits) -> dict[str, Any]:
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
