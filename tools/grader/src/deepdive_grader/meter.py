"""How long a submission may run: processor time, which no neighbour can take from it.

A keeper writes what its child and all below have used so far into a `Meter`, a small file without
a name; judge and grader read it. An `Allowance` is so much of that time, and several times as
much by the clock on the wall, for what sleeps. Who runs into the wall first may have been kept
waiting by others: `CROWDED`, and the grader tries it again alone.
"""

import os
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

LATE, CROWDED = "late", "crowded"
_NUMBER = struct.Struct("d")
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Meter:
    """Seconds of processor time: written by one process, read by others."""

    def __init__(self, fd: int | None = None) -> None:
        self.fd = _unnamed() if fd is None else fd
        if fd is None:
            self.write(0.0)

    def write(self, seconds: float) -> None:
        os.pwrite(self.fd, _NUMBER.pack(seconds), 0)

    def read(self) -> float:
        return float(_NUMBER.unpack(os.pread(self.fd, _NUMBER.size, 0))[0])

    def close(self) -> None:
        os.close(self.fd)


def _unnamed() -> int:
    fd, name = tempfile.mkstemp()
    os.unlink(name)
    return fd


class Allowance:
    """Seconds from now on, by what `used` tells and, `patience` times as many, by the clock.

    `within` is an allowance that this one is a part of: where that is over, this one is too.
    """

    def __init__(
        self,
        seconds: float,
        patience: float,
        used: Callable[[], float],
        within: "Allowance | None" = None,
    ) -> None:
        self.seconds, self.patience, self.used, self.within = seconds, patience, used, within
        self.until = used() + seconds
        self.wall = time.monotonic() + patience * seconds

    def over(self) -> str:
        """`LATE`, `CROWDED`, or "" as long as there is time."""
        if self.used() >= self.until:
            return LATE
        if time.monotonic() >= self.wall:
            return CROWDED
        return self.within.over() if self.within else ""

    def said(self, why: str) -> str:
        """Why it was stopped, in words for a student; other reasons as they came."""
        words = {
            LATE: f"it ran longer than {self.seconds:g} s",
            CROWDED: f"it did not finish within {self.patience * self.seconds:g} s",
        }
        return words.get(why, why)


class Usage:
    """Adds up the processor time of a family of processes, those that ended included."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.seen: dict[tuple[int, str], float] = {}
        self.most = 0.0

    def of(self, family: list[int]) -> float:
        """The seconds that these processes and their ended kin have used until now.

        The system adds a child's time to its parent's when the parent waits for it; of one that
        nobody waits for what was last seen is kept. Where the system tells nothing, the clock.
        """
        if sys.platform != "linux":
            return time.monotonic() - self.began
        tree = 0.0
        for pid in family:
            with suppress(OSError, IndexError):
                words = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2]
                fields = words.split()
                own, ended = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
                self.seen[pid, fields[19]] = own / _TICKS
                tree += (own + ended) / _TICKS
        self.most = max(self.most, tree, sum(self.seen.values()))
        return self.most
