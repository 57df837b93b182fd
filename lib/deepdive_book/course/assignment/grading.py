"""Grade one submission: the plan of its steps, and points from what the checks said.

`plan` orders the work: cells of the course come from the source, a solution cell from the
submission by its grade id, checks from the source. The grader runs these steps, what a student
wrote locked in.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deepdive_book.course import twins
from deepdive_book.course.assignment import grader
from deepdive_book.course.assignment.limited import Limits
from deepdive_book.course.assignment.plan import (
    CrowdedError,
    RefusedError,
    grade_id,
    has_points,
    is_check,
    plan,
)
from deepdive_book.course.assignment.reader import read
from deepdive_book.course.assignment.submission import sound
from deepdive_book.course.assignment.variants import standard


@dataclass(frozen=True)
class CellGrade:
    """Points of one cell. `manual`: a person gives them."""

    grade_id: str
    points: float
    max_points: float
    message: str = ""
    manual: bool = False


@dataclass(frozen=True)
class Grade:
    """Points of one submission; `refused` says why nothing could be graded.

    `trusted`: it ran without a sandbox, so what it did to the grading is not known.
    """

    cells: list[CellGrade] = field(default_factory=list)
    refused: str = ""
    trusted: bool = False
    crowded: bool = False  # the clock on the wall ended something: try it again alone
    stopped: list[str] = field(default_factory=list)  # cells that broke off: a limit, or a crash
    forged: list[str] = field(default_factory=list)  # cells in which the worker sent no answer

    @property
    def points(self) -> float:
        return sum(cell.points for cell in self.cells)


def grade(
    source: Any,
    submission: Any,
    *,
    limits: Limits | None = None,
    trust: bool = False,
    twin: int = twins.SEEDS[0],
) -> Grade:
    """Grade a submission, a notebook or the path of one, against the full source.

    A source with variants is taken in its standard form; for a student's own give that of
    `variants.personal`. `twin` is the seed of a bug clinic's patients.

    Raises:
        SandboxError: this system cannot lock submissions in, and `trust` is false.
        AssignmentError: the grader is not installed.
    """
    limits, source = limits or Limits(), standard(source)
    try:
        path = isinstance(submission, str | Path)
        notebook = read(Path(submission), trust=trust).notebook if path else sound(submission)
        steps, absent = plan(source, notebook)
    except RefusedError as error:
        return refusal(source, error, trust=trust)
    done = grader.load().grade(steps, absent, limits, trust=trust, twin=twin)
    cells = [_graded(cell, done.verdicts) for cell in source.cells if has_points(cell)]
    return Grade(cells, "", trust, done.crowded, done.stopped, done.forged)


def refusal(source: Any, error: RefusedError, *, trust: bool) -> Grade:
    """The grade of what could not be graded."""
    why = grader.plain(str(error))
    cells = [_graded(cell, message=why) for cell in source.cells if has_points(cell)]
    return Grade(cells, why, trust, isinstance(error, CrowdedError))


def _graded(
    cell: Any, verdicts: dict[str, tuple[bool, str]] | None = None, message: str = ""
) -> CellGrade:
    name, most = grade_id(cell), float(cell.metadata["nbgrader"].get("points", 0))
    if not is_check(cell):
        return CellGrade(name, 0.0, most, message, manual=True)
    passed, text = (verdicts or {}).get(name, (False, message))
    return CellGrade(name, most if passed else 0.0, most, text)
