"""The warm process, and the keeper of each child that it forks.

For each child that the grader asks for the warm process forks a keeper, which puts the walls up,
forks the child itself, watches its memory and its processor time, and ends all of it when the
grader lets go: closes his end, or is gone. Neither ever runs what a student wrote.
"""

import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from deepdive_book.course.assignment.limited import Limits, limit, mapped
from deepdive_grader import group, sandbox
from deepdive_grader.meter import Meter, Usage

_SUBREAPER, _DEATH_SIGNAL = 36, 1  # options of prctl
_BEHIND = 2  # levels of niceness of what is a student's
_WATCH = 0.2  # seconds between two looks at memory and time


def serve(fd: int) -> None:
    """Fork a child for each request that comes, until the grader closes his end."""
    _warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    server = socket.socket(fileno=fd)
    server.set_inheritable(False)
    group.sweep()
    shown = sandbox.readable() if sys.platform == "linux" else []
    while True:
        data, fds, _, _ = socket.recv_fds(server, 4096, 8)
        if not data:
            os._exit(0)
        asked = json.loads(data)
        ready, mapped = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            server.close()
            os.close(ready[0])
            os.close(mapped[1])
            _end(_keep, asked, fds, shown, ready[1], mapped[0])
        for other in (*fds, ready[1], mapped[0]):
            os.close(other)
        if os.read(ready[0], 1):
            with suppress(OSError):
                sandbox.map_user(pid)
                os.write(mapped[1], b"m")
        os.close(ready[0])
        os.close(mapped[1])


def _warm_up() -> None:
    """Import here what each child would import again: what pages and checks use."""
    import nbformat
    import torch

    import deepdive_book.kit.flops  # noqa: F401
    from deepdive_book.kit.profile import setup

    setup("ci")  # loads what seeds and figures need, a second's work
    one = torch.ones(2, requires_grad=True)
    torch.autograd.functional.jacobian(lambda x: (x @ one[:, None]).softmax(0), one[None].clone())
    repr(torch.allclose(one, one))
    torch.optim.SGD([one]).step()  # loads torch's compiler, which makes a folder: no child may
    empty: Any = nbformat.v4  # it declares no types
    nbformat.validate(empty.new_notebook(cells=[empty.new_code_cell("1")]))  # compiles its schema


def _end(work: Callable[..., int], *given: Any) -> None:
    """Do the work of a forked process and end it, whatever happens, without the parent's exit."""
    code = 1
    try:
        code = work(*given)
    finally:
        os._exit(code)


def _keep(asked: dict[str, Any], fds: list[int], shown: list[str], out: int, back: int) -> int:
    """Keep one child in a group of its own, and say how it ended when that group is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    control, share = socket.socket(fileno=fds[0]), group.enter()
    how, code = _kept(asked, control, fds[1:], shown, out, back)
    group.leave(share)
    with suppress(OSError):
        control.sendall(f"{how}\n".encode())
    return code


def _kept(
    asked: dict[str, Any],
    control: socket.socket,
    fds: list[int],
    shown: list[str],
    out: int,
    back: int,
) -> tuple[str, int]:
    """Put the walls up, run the child, watch it, and end it with all that it started.

    Returns how it ended, or what kept it from starting, and this process' exit code.
    """
    meter, fds = Meter(fds[0]), fds[1:]
    limits = Limits(**asked["limits"])
    try:
        if asked["locked"]:
            sandbox.leave_user()
            os.write(out, b"u")
            if not os.read(back, 1):
                raise OSError(1, "mapping the user")
        elif sys.platform == "linux":
            ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
        os.close(out)
        os.close(back)
        stands, up = os.pipe()
        pid = os.fork()
    except OSError as error:
        return str(error.strerror), 1
    if pid == 0:
        control.close()  # and `_child` closes all that is not its own: one is enough
        os.close(stands)
        _end(_child, asked, fds, shown, limits, up)
    for fd in (*fds, up):
        os.close(fd)
    trouble = os.read(stands, 4096).decode()
    if trouble != "ok":
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return trouble or "the walls fell", 1
    control.sendall(b"started\n")
    return _watch(pid, control, meter, limits), 0


def _child(asked: dict[str, Any], fds: list[int], shown: list[str], limits: Limits, up: int) -> int:
    """Lock this process in and run its role; its descriptors become 3, 4, ..."""
    from deepdive_grader import judge, reader, worker

    os.setsid()
    if asked["role"] != "judge":
        _yield_to_others()
    try:
        if asked["locked"]:
            sandbox.lock_in(shown, limits)
        else:
            limit(limits, mapped())
    except OSError as error:
        os.write(up, f"{error.strerror}".encode())
        return 1
    if sys.platform == "linux":  # the keeper ends it; where somebody ends the keeper, this does
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    os.write(up, b"ok")
    os.close(up)
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in fds]  # clear of where they go
    for number, fd in enumerate(high, start=3):
        os.dup2(fd, number, inheritable=False)
    os.closerange(3 + len(high), 256)
    nothing = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.close(nothing)
    os.environ.clear()
    home = sandbox.HOME if asked["locked"] else tempfile.gettempdir()
    os.environ.update(HOME=home, TMPDIR=home, USER="student", LOGNAME="student", LANG="C.UTF-8")
    os.environ.update(MPLBACKEND="Agg", OMP_NUM_THREADS="1", DEEPDIVE_PROFILE="ci")
    run = {"worker": worker.run, "judge": judge.run, "reader": reader.run}[str(asked["role"])]
    run(limits)
    return 0


def _yield_to_others() -> None:
    """Let the judge come before what may never end, by little: it must not starve either."""
    os.nice(_BEHIND)
    with suppress(OSError):  # where sessions share the processor, a level of the session counts
        Path("/proc/self/autogroup").write_text(f"{_BEHIND}")


def _watch(pid: int, control: socket.socket, meter: Meter, limits: Limits) -> str:
    """Wait until the child ends, takes too much memory, or the grader lets go; say which."""
    poll = select.poll()
    poll.register(control, select.POLLIN | select.POLLHUP)
    if hasattr(os, "pidfd_open"):
        poll.register(os.pidfd_open(pid), select.POLLIN)
    base, usage = _own_memory(pid), Usage()
    why = ""
    while not why:
        events = poll.poll(_WATCH * 1000)
        family = [pid, *below(pid)]
        meter.write(usage.of(family))
        if any(fd == control.fileno() for fd, _ in events):
            why = "let go"
        elif os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            break
        elif sum(max(0, _own_memory(one) - base) for one in family) > limits.memory:
            why = f"it used more than {limits.memory >> 20} MB of memory"
    _kill(pid)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    _kill_all_below()
    if why:
        return why
    if code >= 0:
        return f"it ended the process with exit code {code}"
    return f"its process was ended by {signal.Signals(-code).name}"


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _kill_all_below() -> None:
    """End what a child without a PID namespace of its own left behind."""
    until = time.monotonic() + 5
    while (left := below(os.getpid())) and time.monotonic() < until:
        for one in left:
            _kill(one)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def below(pid: int) -> list[int]:
    """The descendants of a process, as far as the system tells."""
    children: dict[int, list[int]] = {}
    for one in filter(str.isdigit, os.listdir("/proc") if sys.platform == "linux" else []):
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{one}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
            children.setdefault(int(words[1]), []).append(int(one))
    pids = list(children.get(pid, []))
    for each in pids:
        pids.extend(children.get(each, []))
    return pids


def _own_memory(pid: int) -> int:
    """Bytes of a process that no file backs: its own, shared or swapped out included.

    A process that ended, and that nobody has waited for yet, has none.
    """
    with suppress(OSError, ValueError, KeyError):
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
        named = dict(line.split(":", 1) for line in lines if ":" in line)
        return 1024 * sum(int(named[key].split()[0]) for key in ("RssAnon", "RssShmem", "VmSwap"))
    return 0
