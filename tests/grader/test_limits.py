"""What one submission may take from the others: its time, its memory, its reading, its leavings."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from processes import end, gone

from deepdive_book.course.assignment import reader
from deepdive_book.course.assignment.forms import released, solved
from deepdive_book.course.assignment.grading import Grade, grade
from deepdive_book.course.assignment.limited import Limits
from deepdive_book.course.assignment.plan import CrowdedError, RefusedError, grade_id
from deepdive_book.course.exercises import source
from deepdive_grader import fork_server, group, keeper
from deepdive_grader import reader as locked
from deepdive_grader.meter import Usage

SOURCE = """\
# %% nbgrader={"grade_id": "one", "solution": true}
def one():
    ### BEGIN SOLUTION
    return 1
    ### END SOLUTION


# %% nbgrader={"grade_id": "one-check", "grade": true, "points": 2}
assert one() == 1, "it must be 1"
"""
RIGHT = "def one():\n    return 1"
PATIENT = Limits(cell_seconds=1, patience=60)  # a second of its own, on however busy a machine


@pytest.fixture
def full(tmp_path: Path) -> Any:
    """The course's own notebook, with one exercise of two points."""
    path = tmp_path / "chapters" / "01_demo" / "exercises.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE)
    return source(path, tmp_path)


def handed(full: Any, answer: str) -> Any:
    notebook = released(full)
    (cell,) = [cell for cell in notebook.cells if grade_id(cell) == "one"]
    cell.source = textwrap.dedent(answer)
    return notebook


def graded(full: Any, answer: str, limits: Limits | None = None) -> tuple[Grade, str]:
    """The grade of an answer, and what its check says."""
    given = grade(full, handed(full, answer), limits=limits)
    return given, given.cells[0].message


# -- time


def test_time_that_a_submission_does_not_use_is_not_counted(full: Any) -> None:
    given, said = graded(full, f"import time\ntime.sleep(1.5)\n{RIGHT}", PATIENT)
    assert (given.points, said, given.crowded) == (2, "", False)


def test_the_time_of_all_children_is_one_submission_s(full: Any) -> None:
    answer = """
    import os, time
    for _ in range(29):
        if os.fork() == 0:
            while True:
                pass
    time.sleep(600)
    """
    given, said = graded(full, answer, PATIENT)
    assert "it ran longer than 1 s" in said
    assert not given.crowded


def test_nobody_ignores_the_end_of_a_child(full: Any) -> None:
    answer = """
    import signal
    assert signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # others are its own matter
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    """
    assert "Operation not permitted" in graded(full, answer)[1]


def test_the_time_of_short_lived_children_counts(full: Any) -> None:
    answer = """
    import os, time
    while True:
        if os.fork() == 0:
            while time.process_time() < 0.01:
                pass
            os._exit(0)
        os.wait()
    """
    given, said = graded(full, answer, PATIENT)
    assert "it ran longer than 1 s" in said
    assert not given.crowded


def test_no_session_of_its_own(full: Any) -> None:
    answer = """
    import os
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            os.setsid()
            os.write(write, b"a session of its own")
        except OSError as error:
            os.write(write, str(error).encode())
        os._exit(0)
    raise ValueError(os.read(read, 99).decode())
    """
    assert "Operation not permitted" in graded(full, answer)[1]


def test_who_was_kept_waiting_is_told_apart_from_who_computes_for_ever(full: Any) -> None:
    limits = Limits(cell_seconds=20, patience=0.1)
    given, said = graded(full, "import time\ntime.sleep(600)", limits)
    assert given.crowded
    assert "it did not finish within" in said


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process used")
def test_the_time_of_a_process_that_ended_stays_counted() -> None:
    usage = Usage()
    pid = os.fork()
    if pid == 0:
        while time.process_time() < 0.3:
            pass
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    seen = usage.of([pid])
    os.waitpid(pid, 0)
    assert usage.of([]) == seen >= 0.25


# -- memory


@pytest.mark.parametrize(
    "code",
    [
        "import mmap\nmmap.mmap(-1, 1 << 28)",
        "import socket\nsocket.socketpair()",
        "import socket\nsocket.socket(socket.AF_UNIX)",
        "import socket\nsocket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)",
        "import os\nos.memfd_create('much')",
    ],
)
def test_memory_that_is_not_counted_and_sockets_are_refused(full: Any, code: str) -> None:
    given, said = graded(full, f"{code}\n{RIGHT}")
    assert "Operation not permitted" in said
    assert given.points == 0


def test_there_is_no_device_whose_mappings_are_memory(full: Any) -> None:
    assert "No such file" in graded(full, "open('/dev/zero')")[1]


# -- reading


def on_disk(folder: Path, notebook: Any) -> Path:
    path = folder / "handed.ipynb"
    path.write_text(json.dumps(notebook), "utf-8")
    return path


@pytest.mark.parametrize(
    "outputs", [[{"x": 1}] * 40_000, json.loads("[" * 300 + "]" * 300)], ids=["many", "deep"]
)
def test_what_a_notebook_put_out_is_not_read(
    full: Any, tmp_path: Path, outputs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(nbformat, "reads")  # what parses is another process
    notebook = handed(full, RIGHT)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = outputs
    assert grade(full, on_disk(tmp_path, notebook)).points == 2


def test_what_takes_long_to_parse_is_refused(full: Any, tmp_path: Path) -> None:
    notebook = handed(full, f"import {'a.' * 99_000}a")
    for cell in notebook.cells:
        cell.metadata = {}
    # Parsing takes memory as fast as time: with less of it, it would end within the second.
    limits = replace(reader.READING, total_seconds=1, patience=60, memory=8 << 30)
    with pytest.raises(RefusedError, match="could not be read: it ran longer than 1 s"):
        reader.read(on_disk(tmp_path, notebook), released(full), limits=limits)


def test_what_takes_much_memory_to_parse_is_refused(full: Any, tmp_path: Path) -> None:
    notebook = handed(full, RIGHT)
    notebook.metadata["x"] = [[]] * 300_000
    limits = replace(reader.READING, memory=10 << 20, patience=60)
    with pytest.raises(RefusedError, match="memory"):
        reader.read(on_disk(tmp_path, notebook), released(full), limits=limits)


def test_a_reading_that_waited_too_long_is_tried_again(full: Any, tmp_path: Path) -> None:
    path = on_disk(tmp_path, solved(full))
    with pytest.raises(CrowdedError, match="it did not finish within 0 s"):
        reader.read(path, limits=replace(reader.READING, patience=0.0))
    assert nbformat.from_dict(reader.read(path).notebook).cells


def test_the_start_of_the_warm_process_is_no_time_of_a_reading(
    full: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes half a minute on a crowded machine."""
    order: list[str] = []
    started, allowance = fork_server.Child.started, locked.Allowance

    def noted_start(child: fork_server.Child) -> None:
        started(child)
        order.append("started")

    def noted_allowance(*given: Any) -> Any:
        order.append("counted")
        return allowance(*given)

    monkeypatch.setattr(fork_server.Child, "started", noted_start)
    monkeypatch.setattr(locked, "Allowance", noted_allowance)
    reader.read(on_disk(tmp_path, solved(full)))
    assert order == ["started", "counted"]


def test_each_submission_has_a_share_of_its_own_where_the_system_gives_groups() -> None:
    """Two children, two groups, gone afterwards; without groups both stay where we are."""
    mine = Path("/proc/self/cgroup").read_text()
    above, warm = group.base(mine), fork_server.start()
    pipes = [os.pipe() for _ in range(4)]
    children = []
    for there, back in (pipes[:2], pipes[2:]):
        children.append(warm.spawn("worker", [there[0], back[1]], Limits(), locked=True))
        children[-1].started()
    pids = keeper.below(warm.process.pid)
    told = {Path(f"/proc/{pid}/cgroup").read_text() for pid in pids}
    assert told == {mine} if above is None else len(told) == 2 and mine not in told
    for child in children:
        child.close()
    assert above is None or not any((above / f"{group.NAME}{pid}").exists() for pid in pids)
    for fd in (fd for pipe in pipes for fd in pipe):
        os.close(fd)


def test_a_child_that_cannot_start_leaves_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """The group is gone before it is said, whatever kept the child from starting."""
    mine, left = Path("mine"), []
    monkeypatch.setattr(group, "enter", lambda: mine)
    monkeypatch.setattr(group, "leave", left.append)

    def refused() -> None:
        raise OSError(1, "no namespace")

    monkeypatch.setattr(keeper.sandbox, "leave_user", refused)
    asker, asked = socket.socketpair()
    fds = [asked.detach(), os.memfd_create("meter")]
    os.truncate(fds[1], 4096)
    assert keeper._keep({"limits": {}, "locked": True}, fds, [], -1, -1) == 1
    assert asker.recv(99) == b"no namespace\n"
    assert left == [mine]
    asker.close()


@pytest.mark.parametrize(
    ("told", "tree"),
    [
        ("3:cpu,cpuacct:/a/b\n0::/\n", "cpu,cpuacct/a/b"),
        ("2:cpuset:/x\n1:cpu:/\n", "cpu"),
        ("0::/user/run\n", "user/run"),
        ("2:cpuset:/x\n0::/user/run\n", "unified/user/run"),
    ],
)
def test_a_group_is_made_where_the_processor_is_shared(
    tmp_path: Path, told: str, tree: str
) -> None:
    assert group.base(told, tmp_path) is None
    (tmp_path / tree).mkdir(parents=True)
    (tmp_path / tree / "cgroup.procs").touch()
    if "cpu" not in tree:  # version 2: the controller must be given on
        assert group.base(told, tmp_path) is None
        (tmp_path / tree / "cgroup.subtree_control").write_text("memory cpu\n")
    assert group.base(told, tmp_path) == tmp_path / tree


# -- leavings


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_submission_ends_with_its_keeper() -> None:
    there, back = os.pipe(), os.pipe()
    warm = fork_server.start()
    child = warm.spawn("worker", [there[0], back[1]], Limits(), locked=True)
    child.started()
    pids = keeper.below(warm.process.pid)
    (first,) = [pid for pid in pids if keeper.below(pid)]
    os.kill(first, signal.SIGKILL)
    try:
        assert gone(pids)
    finally:
        end(pids)
    child.close()
    for fd in (*there, *back):
        os.close(fd)
