"""One process at a time: a lock that says who holds it, and that ends with its holder.

with held(path, "the folder runs"): ...               # refused, by name, where another holds it
with held(path, "the folder runs", wait=True): ...    # or waited for, which is said once
"""

import json
import os
import socket
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

WAIT = 0.02  # seconds between two tries of who waits


class Held(RuntimeError):
    """Another process works there; the message says which, where and since when."""


@contextmanager
def held(path: Path, what: str, wait: bool = False) -> Iterator[None]:
    """Hold the lock file `path`, beside what it guards; it is gone afterwards.

    The operating system ends the lock with the process, however that ends, so a file that was left
    behind by a dead holder blocks nobody. Raises Held, naming the holder of `what`; or, with
    `wait`, says so on stderr and waits. Raises OSError where the lock cannot be written.
    """
    told = False
    while (handle := _taken(path)) is None:
        message = f"{what} is in use by {_holder(path)}"
        if not wait:
            raise Held(f"{message}: wait for its end, or give another")
        if not told:
            print(f"{message}; waiting for its end", file=sys.stderr, flush=True)
            told = True
        time.sleep(WAIT)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file; the next holder takes it over
            path.unlink()
        os.close(handle)


def _taken(path: Path) -> int | None:
    """Open and lock the file and sign it: its handle, None where another process holds it."""
    handle = _opened(path)
    try:
        _lock(handle)
        if not _is_still(path, handle):  # its holder removed it while we opened it
            os.close(handle)
            return _taken(path)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError as error:
        warnings.warn(
            f"{path} cannot be locked on this file system ({error.strerror}): see that no other "
            "process works there",
            stacklevel=4,
        )
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    signature = {"process": os.getpid(), "host": socket.gethostname(), "since": since}
    with suppress(OSError):  # on a full disk the lock holds all the same
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps(signature).encode())
    return handle


def _opened(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise OSError(
            f"folder: {path.parent} cannot be written ({error.strerror}): give one that can be"
        ) from error


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


def _holder(path: Path) -> str:
    try:
        found = json.loads(path.read_bytes())
        return f"process {found['process']} on {found['host']}, since {found['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process, which has not signed its lock"


try:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

except ImportError:  # Windows, where a locked byte cannot be read: one far behind the signature
    import errno
    import msvcrt

    def _lock(handle: int) -> None:
        os.lseek(handle, 1 << 30, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EDEADLK):
                raise
            raise BlockingIOError(*error.args) from error
        os.lseek(handle, 0, os.SEEK_SET)
