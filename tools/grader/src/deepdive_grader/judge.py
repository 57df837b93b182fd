"""The judge: runs the course's own cells and checks, and decides.

It is a process of its own, since a check computes with what students answer and may need too long
or too much. What students wrote runs in the worker only, and the names that their cells define are
`Remote` here. It does the steps of a plan (`grading.plan`) and tells the grader how each went.
"""

import traceback
import zlib
from typing import Any

from deepdive.training.seeds import seed_everything
from deepdive_book.course import twins
from deepdive_book.course.assignment.grader import plain
from deepdive_book.course.assignment.limited import Limits
from deepdive_grader.meter import Meter
from deepdive_grader.remote import Broken, Session, Theirs
from deepdive_grader.wire import Channel, no_reference, pack, unpack

# The descriptors of the grader's socket, the worker's pipes, and the file that meters the worker.
GRADER, READ, WRITE, METER = 3, 4, 5, 6
LONGEST_JOB = 64 << 20
UNSEEN = "A test that you do not see failed"


class Judge:
    """One attempt at the steps of a plan."""

    def __init__(self, job: dict[str, Any], session: Session, limits: Limits) -> None:
        self.steps: list[dict[str, Any]] = job["steps"]
        self.out: dict[int, str] = job["out"]  # steps that stay out, and why
        self.session, self.limits = session, limits
        twins.SEED = job["twin"]
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.missing: dict[str, str] = {}

    def step(self, number: int) -> dict[str, Any]:
        """Do one step; return what the grader should know."""
        step = self.steps[number]
        if step["kind"] == "check":
            return {} if number in self.out else self.check(step)
        self.session.allow(self.limits.cell_seconds)
        if step["kind"] == "solution":
            self.solution(step, self.out.get(number, ""))
        else:
            if number not in self.out:
                self.theirs(step["public"])
            if step["kind"] == "helper":
                self.helper(step["source"])
        return {}

    def theirs(self, source: str) -> tuple[list[str], str]:
        """Run a cell in the worker; return the names defined then, and what went wrong."""
        try:
            return list(map(str, self.session.ask("run", source=source))), ""
        except Exception as error:
            return [], _said(error)

    def helper(self, source: str) -> None:
        """Run a cell of the course here. Where it needs what a student lacks, the checks say so."""
        try:
            exec(compile(source, "<helper>", "exec"), self.names)
        except Exception:
            return

    def solution(self, step: dict[str, Any], out: str) -> None:
        """Run the student's cell and let the names that the source's cell defines stand for his."""
        self.helper(step["imports"])
        why = out
        defined: list[str] = []
        if not why:
            defined, why = self.theirs(step["public"])
            why = f"Your cell {step['name']!r} stopped: {why}" if why else ""
        for name in step["names"]:
            self.names.pop(name, None)
            self.missing.pop(name, None)
            if why or name not in defined:
                self.missing[name] = why or f"Your cell {step['name']!r} does not define {name!r}"
                continue
            try:
                self.names[name] = self.session.ask("get", name=name)
            except Exception as error:
                self.missing[name] = f"{name!r} cannot be checked: {_said(error)}"

    def check(self, step: dict[str, Any]) -> dict[str, Any]:
        """Run a check here; it passes when it raises nothing and the worker kept to the rules."""
        self.session.allow(self.limits.check_seconds)
        seed_everything(zlib.crc32(step["name"].encode()))
        passed, message = True, ""
        try:
            exec(compile(step["source"], "<check>", "exec"), self.names)
        except BaseException as error:
            passed, message = False, self.verdict(error, step)
        if self.session.broken:
            return {}
        return {"passed": passed, "message": plain(message)}

    def verdict(self, error: BaseException, step: dict[str, Any]) -> str:
        """What a failed check tells the student; nothing of a hidden test."""
        if isinstance(error, NameError) and error.name in self.missing:
            return self.missing[error.name]
        line = _line(error)
        theirs = isinstance(error.__cause__, Theirs)
        if any(first <= line <= last for first, last in step["hidden"]):
            return f"{UNSEEN}: your code raised an error" if theirs else UNSEEN
        if theirs:
            return f"Your code raised {error.__cause__}"
        if isinstance(error, AssertionError):
            lines = step["source"].splitlines()
            return str(error) or f"This does not hold: {lines[line - 1].strip()}"
        return _said(error)


def _said(error: BaseException) -> str:
    if isinstance(error, Broken):
        return str(error)
    return str(error.__cause__ or f"{type(error).__name__}: {error}")


def _line(error: BaseException) -> int:
    """The line of the check itself where it failed."""
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == "<check>":
            return at.tb_lineno
        at = at.tb_next
    return 0


def run(limits: Limits) -> None:
    """Be the judge of one attempt at one submission."""
    grader = Channel(GRADER, GRADER, LONGEST_JOB)

    def tell(**message: Any) -> None:
        grader.send(pack(message, no_reference))

    try:
        job = unpack(grader.receive(), no_reference)
        session = Session(Channel(READ, WRITE, limits.answer), Meter(METER), limits.patience)
        judge = Judge(job, session, limits)
        for number in range(len(judge.steps)):
            tell(begin=number)
            verdict = judge.step(number)
            if session.broken:
                tell(why=session.broken, crowded=session.crowded, forged=session.forged)
                return
            if verdict:
                tell(result=number, **verdict)
        tell(done=True)
    except Exception:
        tell(fault=traceback.format_exc())
