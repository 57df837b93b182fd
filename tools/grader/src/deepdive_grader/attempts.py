"""Run the steps of one submission: a judge does them, with a worker that runs what is a student's.

When a step breaks the worker (an endless loop, a crash, a forged answer), it stays out, and judge
and worker are started again: it costs what depends on it and nothing else.
"""

import os
import socket

from deepdive_book.course.assignment.grader import Outcome, Step
from deepdive_book.course.assignment.limited import Limits
from deepdive_grader.fork_server import Child, start
from deepdive_grader.judge import LONGEST_JOB
from deepdive_grader.meter import CROWDED, LATE, Allowance
from deepdive_grader.remote import FORGED
from deepdive_grader.wire import Channel, WireError, no_reference, pack, unpack

GRACE = 3.0  # seconds of processor time that a judge may take for what is not the student's


def grade(
    steps: list[Step], absent: set[int], limits: Limits, *, trust: bool, twin: int
) -> Outcome:
    """Run the steps, but for those that are absent, and return what the checks said.

    Raises SandboxError.
    """
    attempts = Attempts(steps, absent, limits, trust, twin)
    while attempts.go_on():
        pass
    return Outcome(attempts.verdicts(), attempts.crowded, attempts.stopped, attempts.forged)


class Attempts:
    """Judges and workers, one pair after another, until every step is done or stays out."""

    def __init__(
        self, steps: list[Step], absent: set[int], limits: Limits, trust: bool, twin: int
    ) -> None:
        self.steps, self.limits, self.trust, self.twin = steps, limits, trust, twin
        self.stopped: list[str] = []
        self.forged: list[str] = []
        self.out = {i: f"The cell {steps[i]['name']!r} is missing" for i in absent}
        self.results: dict[int, tuple[bool, str]] = {}
        self.spent = 0.0
        self.children: list[Child] = []
        self.total = Allowance(limits.total_seconds, limits.patience, self.used)
        self.crowded = False

    def used(self) -> float:
        """Seconds of processor time of all attempts."""
        return self.spent + sum(child.meter.read() for child in self.children)

    def verdicts(self) -> dict[str, tuple[bool, str]]:
        """Grade id of each check -> whether it passed, and its message."""
        checks = (i for i, step in enumerate(self.steps) if step["kind"] == "check")
        return {self.steps[i]["name"]: self.results[i] for i in checks}

    def go_on(self) -> bool:
        """Make one attempt; return whether another one is needed."""
        at, why = self.attempt()
        if at < 0:
            return False
        if over := self.total.over():
            why = f"The submission was stopped: {self.total.said(over)} in all"
            self.crowded |= over == CROWDED
            self.results = dict.fromkeys(range(len(self.steps)), (False, why)) | self.results
            self._note(self.stopped, at)
            return False
        step = self.steps[at]
        self._note(self.forged if why in FORGED else self.stopped, at)
        what = "This check" if step["kind"] == "check" else f"Your cell {step['name']!r}"
        self.out[at] = f"{what} was stopped: {why}"
        self.results.setdefault(at, (False, self.out[at]))
        return True

    def _note(self, where: list[str], at: int) -> None:
        if (name := str(self.steps[at]["name"])) not in where:
            where.append(name)

    def attempt(self) -> tuple[int, str]:
        """Do the steps that do not stay out; return the one that broke off, and why, or -1."""
        zygote = start()
        to_worker, to_judge = os.pipe(), os.pipe()
        ours, theirs = socket.socketpair()
        try:
            own, locked = [to_worker[0], to_judge[1]], not self.trust
            worker = zygote.spawn("worker", own, self.limits, locked=locked)
            self.children = [worker]
            judges = [theirs.fileno(), to_judge[0], to_worker[1], worker.meter.fd]
            self.children.append(zygote.spawn("judge", judges, self.limits, locked=False))
        finally:
            theirs.close()
            for fd in (*to_worker, *to_judge):
                os.close(fd)
        try:
            for child in self.children:
                child.started()
            return self.follow(Channel(ours.fileno(), ours.fileno(), LONGEST_JOB), worker)
        finally:
            self.spent = self.used()
            for child in self.children:
                child.close()
            self.children = []
            ours.close()

    def follow(self, judge: Channel, worker: Child) -> tuple[int, str]:
        """Give a judge the steps, and note what he tells."""
        at, step = 0, self.total
        try:
            job = {"steps": self.steps, "out": self.out, "twin": self.twin}
            judge.send(pack(job, no_reference), step)
            while True:
                report = unpack(judge.receive(step), no_reference)
                if "begin" in report:
                    at = report["begin"]
                    checks = self.steps[at]["kind"] == "check"
                    most = self.limits.check_seconds if checks else self.limits.cell_seconds
                    step = Allowance(most + GRACE, self.limits.patience, self.used, self.total)
                elif "result" in report:
                    self.results.setdefault(report["result"], (report["passed"], report["message"]))
                elif "fault" in report:
                    raise RuntimeError(
                        f"the judge failed, by no student's fault:\n{report['fault']}"
                    )
                elif "why" in report:
                    self.crowded |= report["crowded"]
                    return at, worker.ended() if report["why"] == "gone" else report["why"]
                else:
                    return -1, ""
        except WireError as error:
            self.crowded |= str(error) == CROWDED
            late = str(error) in (LATE, CROWDED)
            return at, "it took too long" if late else "what it answered was too much to check"
