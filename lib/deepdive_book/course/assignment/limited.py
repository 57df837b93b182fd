"""Work on what a student wrote, in a process of its own that may take so much and no more.

It is the course's own code that works there, on a text that could be anything, so no walls are
needed: where it takes too much, or fails, that is said, and the command goes on.
"""

import json
import resource
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Limits:
    """What one submission may use.

    Times are processor time, of all its processes together: of one cell, of one check with all its
    calls, of the whole submission. By the clock on the wall each may take `patience` times as long.
    `memory` counts above what Python and torch take, of each process and of all together; `files`
    bounds the folder in memory and each file, `answer` one result, both in bytes; `output` counts
    the characters that one cell may print.
    """

    cell_seconds: float = 15.0
    check_seconds: float = 15.0
    total_seconds: float = 120.0
    patience: float = 3.0
    memory: int = 2 << 30
    processes: int = 32
    files: int = 32 << 20
    answer: int = 64 << 20
    output: int = 1_000_000


class LimitedError(RuntimeError):
    """The work took too much, or failed; the text says which.

    `crowded`: the clock on the wall ended it, so others may have kept it waiting.
    """

    def __init__(self, text: str, *, crowded: bool = False) -> None:
        super().__init__(text)
        self.crowded = crowded


def limited(limits: Limits, work: Callable[..., Any], *given: Any) -> Any:
    """Return work(*given), JSON values, from a forked process with these limits.

    Raises LimitedError.
    """
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(there, limits, work, given), daemon=True)
    child.start()
    there.close()
    try:
        if not here.poll(limits.patience * limits.total_seconds):
            raise LimitedError(
                f"it did not finish within {limits.patience * limits.total_seconds:g} s"
            )
        told = json.loads(here.recv_bytes())
    except EOFError as error:
        raise LimitedError("it needed too much time or memory and was stopped") from error
    finally:
        child.kill()
        child.join()
        here.close()
    if "failed" in told:
        raise LimitedError(told["failed"])
    return told["done"]


def _work(
    answer: Connection, limits: Limits, work: Callable[..., Any], given: tuple[Any, ...]
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who waits
    limit(limits, mapped())
    try:
        told = {"done": work(*given)}
    except MemoryError:
        told = {"failed": f"it needed more than {limits.memory >> 20} MB of memory"}
    except Exception as error:  # whatever a text makes of its reader
        told = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
    answer.send_bytes(json.dumps(told).encode())


def limit(limits: Limits, base: int) -> None:
    """Set what this process and its children may use; `base` bytes of address space are theirs."""
    cap(resource.RLIMIT_CORE, 0)
    cap(resource.RLIMIT_FSIZE, limits.files)
    cap(resource.RLIMIT_NOFILE, 128)
    cap(resource.RLIMIT_CPU, int(limits.total_seconds) + 5)
    if base:
        cap(resource.RLIMIT_AS, base + limits.memory)


def cap(kind: int, value: int) -> None:
    """Lower a limit of this process for good."""
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def mapped() -> int:
    """Bytes of address space in use; 0 where the system does not say."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return 0
