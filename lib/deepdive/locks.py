"""One process at a time: a lock that says who holds it, and that ends with its holder.

    with held(folder / ".lock", "folder"):          # refused, by name, where another holds it
    with held(folder / ".lock", "folder", wait=True):   # or waited for, which is said once

The lock is the system's own, so a killed process leaves none. Its file stays, and must: who removes
it lets two in at once.
"""

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Held(RuntimeError):
    """Another process holds the lock; the message says which."""


@contextmanager
def held(path: Path, name: str, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock `path`; `name` begins the messages.

    Where another process holds it: raises Held, or with `wait` says so on stderr and waits. Raises
    OSError where the file cannot be written.
    """
    with path.open("a+b") as file:
        if not _lock(file.fileno(), wait=False):
            message = f"{name}: {path.parent} is held by {_holder(path)}"
            if not wait:
                raise Held(f"{message}: wait until that has ended, or end it")
            print(f"{message}; waiting for it to end", file=sys.stderr, flush=True)
            _lock(file.fileno(), wait=True)
        try:
            with suppress(OSError):  # on a full disk the lock holds all the same
                path.write_text(_myself(), encoding="utf-8")
            yield
        finally:
            _unlock(file.fileno())


def _myself() -> str:
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    return f"process {os.getpid()} on {socket.gethostname()} since {since}\n"


def _holder(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip() or "another process"
    except (OSError, ValueError):
        return "another process"


try:
    import fcntl

    def _lock(number: int, wait: bool) -> bool:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True

    def _unlock(number: int) -> None:
        fcntl.flock(number, fcntl.LOCK_UN)

except ImportError:  # Windows, where a locked byte cannot be read: one far behind the text
    import msvcrt

    _BYTE = 1 << 30

    def _lock(number: int, wait: bool) -> bool:
        while True:
            os.lseek(number, _BYTE, os.SEEK_SET)
            try:
                msvcrt.locking(number, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            except OSError:
                if not wait:
                    return False
                time.sleep(0.2)
            else:
                return True

    def _unlock(number: int) -> None:
        os.lseek(number, _BYTE, os.SEEK_SET)
        msvcrt.locking(number, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]
