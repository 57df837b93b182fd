"""Running a notebook in a kernel of this very interpreter, with time and memory observed."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError

TICK = 0.25  # seconds between two looks at the kernel
HOPELESS = 6  # a page that takes so many times its budget is stopped
# All kernels share one history file; where another holds it, a warning lands in the page's output.
NO_HISTORY = "--HistoryManager.enabled=False"
# A kernel's environment, where the user's does not say otherwise.
KERNEL = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}


@dataclass
class Run:
    """One execution of a notebook, updated while it goes on.

    `cell` counts code cells from 1; `error` is the last line of what stopped the run, if anything.
    """

    notebook: Any
    limit: float = float("inf")
    cell: int = 0
    peak_mb: float = 0.0
    error: str = ""
    started: float = field(default_factory=time.monotonic)
    ended: float = 0.0

    @property
    def code(self) -> list[Any]:
        return [cell for cell in self.notebook.cells if cell.cell_type == "code"]

    @property
    def seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.started


def execute(run: Run, cwd: Path, env: dict[str, str], tick: Callable[[Run], None]) -> Run:
    """Run all code cells in order; `tick` is called at each cell and four times a second.

    A failing cell, a dead kernel or a run beyond its limit ends the run and is told in
    `run.error`; an interrupt stops the kernel and goes on to the caller.
    """
    try:
        asyncio.run(_execute(run, cwd, env, tick))
    except CellExecutionError as failure:
        last = failure.evalue.strip().splitlines() or [""]
        run.error = f"{failure.ename}: {last[-1]}"
    except TimeoutError as failure:
        run.error = str(failure)
    finally:
        run.ended = time.monotonic()
    return run


async def _execute(run: Run, cwd: Path, env: dict[str, str], tick: Callable[[Run], None]) -> None:
    manager = AsyncKernelManager(kernel_spec_manager=_ThisPython())
    client = NotebookClient(run.notebook, km=manager, timeout=None, coalesce_streams=True)
    try:
        tick(run)
        await manager.start_kernel(
            cwd=str(cwd), env={**KERNEL, **os.environ, **env}, stderr=subprocess.DEVNULL
        )
        await client.async_start_new_kernel_client()
        for index, cell in enumerate(run.notebook.cells):
            if cell.cell_type == "code":
                run.cell += 1
                await _execute_cell(client, run, index, tick)
    except DeadKernelError:
        code = await manager.provisioner.poll() if manager.provisioner else None
        run.error = f"the kernel died, {ending(code)}; it had used {run.peak_mb:.0f} MB"
    finally:
        if client.kc is not None:
            client.kc.stop_channels()
        if manager.has_kernel:
            await manager.shutdown_kernel(now=True)


async def _execute_cell(
    client: NotebookClient, run: Run, index: int, tick: Callable[[Run], None]
) -> None:
    # A task of its own: nbclient takes any cancelling, an interrupt's too, for a dead kernel.
    task = asyncio.ensure_future(client.async_execute_cell(run.notebook.cells[index], index))
    try:
        done = False
        while not done:
            tick(run)
            done = bool((await asyncio.wait({task}, timeout=TICK))[0])
            run.peak_mb = max(run.peak_mb, peak_memory(_pid(client)))
            if run.seconds > run.limit and not done:
                raise TimeoutError(f"stopped after {run.seconds:.0f} s, far beyond its budget")
        task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def ending(code: int | None) -> str:
    """Say how a process ended, from its exit code; a negative one is the number of a signal."""
    if code == -signal.SIGKILL:
        return "killed by SIGKILL (out of memory?)"
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return "exit code unknown" if code is None else f"exit code {code}"


def _pid(client: NotebookClient) -> int | None:
    provisioner = client.km.provisioner if client.km else None
    return getattr(provisioner, "pid", None)


def peak_memory(pid: int | None) -> float:
    """The most memory that a process has had, in MB (VmHWM); 0 where the system does not say."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    match = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(match[1]) / 1024 if match else 0.0


class _ThisPython(KernelSpecManager):  # type: ignore[misc, unused-ignore]
    """Knows one kernel: the running interpreter, whatever is installed for Jupyter."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=[*command, NO_HISTORY], display_name="Python 3", language="python")
