"""A warm process from which each worker and each judge is forked, so that torch is imported once.

This is the grader's side; the warm process itself runs `keeper.serve`. It holds the library and
nothing of a course.
"""

import atexit
import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import deepdive_book
from deepdive_book.course.assignment.grader import SandboxError
from deepdive_book.course.assignment.limited import Limits
from deepdive_grader.meter import Meter
from deepdive_grader.sandbox import FIX, ONLY_LINUX

_START = (
    "import sys; sys.path.extend(p for p in {path!r} if p and p not in sys.path); "
    # The grader's own copies of the packages.
    "sys.path[:0] = {own!r}; import deepdive, deepdive_book, deepdive_grader; del sys.path[:2]; "
    "from deepdive_grader.keeper import serve; serve({fd})"
)


@dataclass
class Child:
    """A forked child, from the grader's side: `control` says how it fares; closing it ends it."""

    control: socket.socket
    meter: Meter

    def started(self) -> None:
        """Wait until the walls stand. Raises SandboxError where the system refuses them."""
        line = self._line()
        if line != "started":
            raise SandboxError(f"{line or 'The sandbox did not start'}. {FIX}")

    def ended(self, patience: float = 5.0) -> str:
        """How the child, which answers no more, ended, in words for a student."""
        self.control.settimeout(patience)
        try:
            return self._line() or "its process ended"
        except TimeoutError:  # it lives, and may have closed the pipes to live on
            return "it answers no more"
        finally:
            self.control.settimeout(None)

    def close(self) -> None:
        """End the child and all that it started; return when nothing of it is left."""
        with suppress(OSError):
            self.control.shutdown(socket.SHUT_WR)
            while self.control.recv(4096):
                pass
        self.control.close()
        self.meter.close()

    def _line(self) -> str:
        text = b""
        while not text.endswith(b"\n"):
            more = self.control.recv(1)
            if not more:
                break
            text += more
        return text.decode().strip()


class Zygote:
    """The grader's end of a warm process."""

    def __init__(self) -> None:
        if not hasattr(os, "fork"):
            raise SandboxError(ONLY_LINUX)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        own = [str(Path(file).absolute().parents[1]) for file in (deepdive_book.__file__, __file__)]
        code = _START.format(path=sys.path, own=own, fd=theirs.fileno())
        inherited = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "MPLCONFIGDIR")
        env = {name: os.environ[name] for name in inherited if name in os.environ}
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-"],  # whoever it forks may read this line
            env={**env, **threads, "MPLBACKEND": "Agg", "DEEPDIVE_PROFILE": "ci"},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        theirs.close()
        assert self.process.stdin is not None
        self.process.stdin.write(code.encode())
        self.process.stdin.close()
        self.socket = ours
        self.owner = os.getpid()

    def spawn(self, role: str, fds: list[int], limits: Limits, *, locked: bool) -> Child:
        """Fork a `worker`, `judge` or `reader` with these descriptors, locked in or not."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        meter = Meter()
        asked = json.dumps({"role": role, "locked": locked, "limits": asdict(limits)}).encode()
        socket.send_fds(self.socket, [asked + b"\n"], [theirs.fileno(), meter.fd, *fds])
        theirs.close()
        return Child(ours, meter)

    def close(self) -> None:
        """End the warm process."""
        self.socket.close()
        if self.owner == os.getpid():
            self.process.wait()


_warm: list[Zygote] = []


def start() -> Zygote:
    """The warm process of this process, started when first asked for."""
    if _warm and (_warm[0].owner != os.getpid() or _warm[0].process.poll() is not None):
        _warm.pop().socket.close()
    if not _warm:
        _warm.append(Zygote())
        atexit.register(stop)
    return _warm[0]


def stop() -> None:
    """End the warm process, if there is one."""
    while _warm:
        _warm.pop().close()
