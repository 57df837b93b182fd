"""One process at a time: filelock's lock, with a signature that says who holds it.

with hold(path, "the folder runs"): ...               # refused, by name, where another holds it
with hold(path, "the folder runs", wait=True): ...    # or waited for, which is said once
"""

import errno
import os
import socket
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout


class Held(RuntimeError):
    """Another process works there; the message says which, where and since when."""


@contextmanager
def hold(path: Path, what: str, wait: bool = False) -> Iterator[None]:
    """Hold the lock file `path`, next to what it guards; it is removed afterwards.

    The operating system ends the lock with the process, however that ends, so a file left by a dead
    holder blocks no one. Raises Held, naming the holder of `what`; or, with `wait`, says so on
    stderr and waits. Raises OSError where the lock cannot be written.
    """
    lock, signature = FileLock(path), path.with_name(f"{path.name}.holder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _acquire(lock, what, signature, wait)
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.ENOLCK):
            raise OSError(
                f"folder: {path.parent} cannot be written ({error.strerror}): give one that can be"
            ) from error
        warnings.warn(
            f"{path} cannot be locked on this file system ({error.strerror}): see that no other "
            "process works there",
            stacklevel=3,
        )
    try:
        with suppress(OSError):  # on a full disk the lock holds without a signature
            signature.write_text(_signed(), encoding="utf-8")
        yield
    finally:
        for file in (signature, path):
            with suppress(OSError):  # Windows removes no open file; the next holder takes it over
                file.unlink()
        lock.release()


def _acquire(lock: BaseFileLock, what: str, signature: Path, wait: bool) -> None:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        message = f"{what} is in use by {_holder(signature)}"
        if not wait:
            raise Held(f"{message}: wait for its end, or give another") from None
        print(f"{message}; waiting for its end", file=sys.stderr, flush=True)
        lock.acquire()


def _signed() -> str:
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    return f"process {os.getpid()} on {socket.gethostname()}, since {since}"


def _holder(signature: Path) -> str:
    try:
        written = signature.read_text("utf-8")
    except (OSError, UnicodeError):
        written = ""
    return written or "another process, which has not signed its lock"
