"""A grading that is killed: nothing of it runs on."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from processes import end, gone

from deepdive_book.course.assignment.forms import released
from deepdive_book.course.assignment.plan import grade_id
from deepdive_book.course.exercises import source
from deepdive_grader import keeper

SOURCE = """\
# %% nbgrader={"grade_id": "one", "solution": true}
def one():
    ### BEGIN SOLUTION
    return 1
    ### END SOLUTION


# %% nbgrader={"grade_id": "one-check", "grade": true, "points": 2}
assert one() == 1, "it must be 1"
"""
GRADES = """
from sys import argv
import nbformat
from deepdive_book.course.assignment import grading, marking
if __name__ == "__main__":
    full, handed = (nbformat.read(path, 4) for path in argv[1:])
    marking._pool(1).submit(grading.grade, full, handed).result()
"""


def prepared(folder: Path) -> list[str]:
    """Write the course's notebook, a submission that computes for ever, and what grades it."""
    path = folder / "chapters" / "01_demo" / "exercises.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE)
    full = source(path, folder)
    handed: Any = released(full)
    (cell,) = [cell for cell in handed.cells if grade_id(cell) == "one"]
    cell.source = "while True:\n    pass"
    nbformat.write(full, folder / "full.ipynb")
    nbformat.write(handed, folder / "handed.ipynb")
    (folder / "grades.py").write_text(GRADES)
    return ["full.ipynb", "handed.ipynb"]


def family(pid: int) -> list[int]:
    """All below a process that grades, once there are a warm process, two keepers, two children."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        pids = keeper.below(pid)
        deepest = [one for one in pids if not keeper.below(one)]
        if len(deepest) >= 2 and len(pids) >= 5:
            return pids
        time.sleep(0.05)
    raise AssertionError(f"no grading came into work below {pid}: {keeper.below(pid)}")


@pytest.mark.slow_fault
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_killed_grading_leaves_no_process(tmp_path: Path) -> None:
    command = [sys.executable, "grades.py", *prepared(tmp_path)]
    first = subprocess.Popen(command, cwd=tmp_path)
    try:
        pids = family(first.pid)
    finally:
        first.kill()
        first.wait()
    try:
        assert gone(pids)
    finally:
        end(pids)
