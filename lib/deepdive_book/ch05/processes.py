"""The same work in several processes of this computer, which speak with each other by gloo."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch.distributed as dist
from safetensors.torch import load_file, save_file
from torch import Tensor

from deepdive.core.checks import positive

PATIENCE = 120.0  # seconds that a process waits for the others


def run_processes(
    work: Callable[..., Mapping[str, Tensor]], ways: int, **given: Any
) -> list[dict[str, Tensor]]:
    """Return what `work(**given)` returns in each of `ways` processes, by rank.

    `work` is a function of a module, which each process imports; it finds torch's default group
    begun, and returns tensors by name. What it is given must be writable as JSON. Raises
    RuntimeError, with what it said, where a process fails; the others are ended then.
    """
    positive(ways=ways)
    with TemporaryDirectory() as folder:
        told = {"work": [work.__module__, work.__qualname__], "ways": ways, "given": given}
        (Path(folder) / "told.json").write_text(json.dumps(told), encoding="utf-8")
        asked = [sys.executable, "-c", f"from {__name__} import run_single; run_single()", folder]
        path = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        running = []
        for rank in range(ways):
            with (Path(folder) / f"said{rank}").open("wb") as said:
                running.append(
                    subprocess.Popen([*asked, str(rank)], env=path, stdout=said, stderr=said)
                )
        try:
            _wait(running, Path(folder))
        finally:
            for process in running:
                process.kill()
                process.wait()
        return [load_file(Path(folder) / f"found{rank}.safetensors") for rank in range(ways)]


def _wait(running: list[subprocess.Popen[bytes]], folder: Path) -> None:
    """Wait until all have ended well. Raises RuntimeError for the first that has not."""
    waiting = dict(enumerate(running))
    while waiting:
        for rank, process in list(waiting.items()):
            try:
                code = process.wait(timeout=0.02)
            except subprocess.TimeoutExpired:
                continue
            if code:
                said = (folder / f"said{rank}").read_text(encoding="utf-8", errors="replace")
                raise RuntimeError(f"process {rank} of {len(running)} ended with {code}:\n{said}")
            del waiting[rank]


def run_single() -> None:
    """Be one of the processes: called by `run_processes` alone."""
    folder, rank = Path(sys.argv[1]), int(sys.argv[2])
    told = json.loads((folder / "told.json").read_text(encoding="utf-8"))
    dist.init_process_group(
        "gloo", init_method=(folder / "meeting").as_uri(), rank=rank, world_size=told["ways"],
        timeout=timedelta(seconds=PATIENCE),
    )  # fmt: skip
    module, name = told["work"]
    found = getattr(import_module(module), name)(**told["given"])
    save_file(
        {key: value.detach().clone().contiguous() for key, value in found.items()},
        folder / f"found{rank}.safetensors",
    )
    dist.barrier()
    dist.destroy_process_group()
