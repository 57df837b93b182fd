"""Processes that a test started: which of them run, and an end to them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether a process runs, and is none that only waits to be forgotten."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def gone(pids: list[int]) -> bool:
    until = time.monotonic() + 20
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(map(alive, pids))


def end(pids: list[int]) -> None:
    for pid in filter(alive, pids):
        os.kill(pid, signal.SIGKILL)
