"""Another process that holds a lock, until it is told to end or is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from checkout import ROOT

CODE = """
import sys
from pathlib import Path
from deepdive.locks import hold
with hold(Path(sys.argv[1]), "holder"):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """The process, once it holds the lock `path`."""
    command = [sys.executable, "-c", CODE, str(path)]
    pipe, env = subprocess.PIPE, os.environ | {"PYTHONPATH": str(ROOT / "lib")}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()
