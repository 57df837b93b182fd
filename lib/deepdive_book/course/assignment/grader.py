"""The interface to the grader, which runs students' work in a sandbox: a distribution of its own.

`deepdive_grader`, in `tools/grader` of a checkout, implements `Grader`. The wheel that readers
install does not contain it, and of the course only `deepdive assignment grade` needs it.
"""

import re
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from deepdive_book.course.assignment.errors import AssignmentError
from deepdive_book.course.assignment.limited import Limits

Step = dict[str, Any]  # as `plan` makes it: kind, name, source, and what the kind needs
MISSING = (
    "Grading needs the sandbox, a package of its own that is not installed: run "
    "`pip install ./tools/grader` in the checkout (`make setup` installs it too)"
)
LONGEST_MESSAGE = 2000
# Half characters too, and those that turn the direction of reading or cannot be seen.
_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


class SandboxError(RuntimeError):
    """Submissions cannot be locked in on this machine; the text names the fix."""


@dataclass(frozen=True)
class Outcome:
    """Results of one submission's steps."""

    verdicts: dict[str, tuple[bool, str]]  # grade id of a check -> whether it passed, its message
    crowded: bool = False  # the clock on the wall ended something: try it again alone
    stopped: list[str] = field(default_factory=list)  # cells that broke off: a limit, or a crash
    forged: list[str] = field(default_factory=list)  # cells in which the worker sent no answer


class Grader(Protocol):
    """The two things that are done to a submission, each in processes with limits.

    Both raise SandboxError where this machine cannot lock a submission in and `trust` is false.
    """

    def read(self, asked: dict[str, Any], limits: Limits, *, trust: bool) -> dict[str, Any]:
        """Return `reader.answer(asked, limits)`, computed in a locked process.

        Raises LimitedError when that takes too much.
        """

    def grade(
        self, steps: list[Step], absent: set[int], limits: Limits, *, trust: bool, twin: int
    ) -> Outcome:
        """Run the steps of a plan: what a student wrote locked in, the checks elsewhere.

        `absent` are the numbers of the steps that the submission lacks, `twin` the seed of a bug
        clinic's patients.
        """


def load() -> Grader:
    """Return the installed grader. Raises AssignmentError, with the fix, where there is none."""
    try:
        grader: Grader = import_module("deepdive_grader").Sandbox()
    except ModuleNotFoundError as error:
        if error.name != "deepdive_grader":
            raise
        raise AssignmentError(MISSING) from error
    return grader


def plain(text: str) -> str:
    """Return a message that any file can hold: without control characters, and not too long."""
    text = _CONTROLS.sub("?", text)
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]} ..."
