"""The sandbox that runs students' work, and the judge that checks what it answers.

`Sandbox` is what `deepdive_book.course.assignment.grader` asks for. README.md has a map.
"""

import sys
from typing import Any

from deepdive_book.course.assignment.grader import Grader, Outcome, SandboxError, Step
from deepdive_book.course.assignment.limited import Limits
from deepdive_grader.sandbox import ONLY_LINUX


class Sandbox(Grader):
    """The grader of this machine; torch is imported with the first use."""

    def read(self, asked: dict[str, Any], limits: Limits, *, trust: bool) -> dict[str, Any]:
        from deepdive_grader import reader

        _check_system(trust)
        return reader.read(asked, limits, trust=trust)

    def grade(
        self, steps: list[Step], absent: set[int], limits: Limits, *, trust: bool, twin: int
    ) -> Outcome:
        from deepdive_grader import attempts

        _check_system(trust)
        return attempts.grade(steps, absent, limits, trust=trust, twin=twin)


def _check_system(trust: bool) -> None:
    if sys.platform != "linux" and not trust:
        raise SandboxError(ONLY_LINUX)
