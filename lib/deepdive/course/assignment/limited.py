"""Work on what a student wrote, in a process of its own that may take so much and no more.

It is the course's own code that works there, on a text that could be anything, so no walls are
needed: where it takes too much, or fails, that is said, and the command goes on.
"""

import json
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from deepdive.course.assignment import sandbox
from deepdive.course.assignment.sandbox import Limits


class LimitedError(RuntimeError):
    """The work took too much, or failed; the text says which."""


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
                f"it was not done after {limits.patience * limits.total_seconds:g} s"
            )
        told = json.loads(here.recv_bytes())
    except EOFError as error:
        raise LimitedError("it needed too much time or memory, and was ended") from error
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
    sandbox.limit(limits, sandbox.mapped(), processes=False)
    try:
        told = {"done": work(*given)}
    except MemoryError:
        told = {"failed": f"it needed more than {limits.memory >> 20} MB of memory"}
    except Exception as error:  # whatever a text makes of its reader
        told = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
    answer.send_bytes(json.dumps(told).encode())
