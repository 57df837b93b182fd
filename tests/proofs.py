"""Whether the tests that the atlas names really ran and passed, asked at the end of a whole run.

`tools/run_tests.py` sets DEEPDIVE_WHOLE when it runs everything; a run of some tests is not asked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import cache

import pytest

from deepdive_book.site.atlas.rows import Row, rows

WHOLE = "DEEPDIVE_WHOLE"


def matches(pattern: str, node: str) -> bool:
    """`tests/test_laws.py::test_law[GRU-*]`: a star is any text; a test without brackets is all
    its cases.
    """
    return _compiled(pattern).fullmatch(node) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    words = ".*".join(map(re.escape, pattern.split("*")))
    return re.compile(words if pattern.endswith(("]", "*")) else rf"{words}(\[.*\])?")


def unproved(found: Iterable[Row], outcomes: Mapping[str, str]) -> list[str]:
    """What is wrong with the built systems, a line each: a test that was not there, or did not
    pass.
    """
    faults = []
    for row in found:
        for pattern in row.test.split() if row.built else ():
            ran = {node: told for node, told in outcomes.items() if matches(pattern, node)}
            bad = {node: told for node, told in ran.items() if told != "passed"}
            if not ran:
                faults.append(f"{row.id}: nothing ran that is called {pattern}")
            faults += [f"{row.id}: {node} {told}" for node, told in bad.items()]
    return faults


class Proofs:
    """A plugin: keeps the outcome of every test, and fails a whole run that leaves one out."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}
        self.faults: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            worse = self.outcomes.get(report.nodeid) in ("failed", "skipped")
            if not worse:
                self.outcomes[report.nodeid] = report.outcome

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if WHOLE in os.environ and not hasattr(session.config, "workerinput"):
            self.faults = unproved(rows(), self.outcomes)
            if self.faults and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.faults:
            terminalreporter.section("built, but not proved by this run")
            for fault in self.faults:
                terminalreporter.write_line(fault)
