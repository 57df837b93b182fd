"""Try each documented way in from scratch: `python tools/ways_in.py [--only NAME]...`.

Each way gets a fresh clone of this checkout and an environment of its own in a temporary folder,
and runs its command. At the end a table says what passed, what failed, how long it took, and how
large the environment is. It needs a registry for pip, some GB of disk, and up to half an hour.

read      make read          the book without torch
first     make first         the first page with a small environment
lab       make lab           all pages for a reader; Lab itself is not started
core      pip install .      the library alone: a layer computes, and the commands answer
pages     pip install -e .[casestudies,notebooks], without make: one page of each kind
wheel     a wheel and one notebook of each chapter in an empty folder, as on Colab
oldest    the lowest version of each dependency, with the oldest Python: tests of the core
newest    the newest of each: the same tests

Called by `make ways-in` and by .github/workflows/ranges.yml; standard library only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import setup_env

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "ways-in"
TESTS = ("tests/test_core.py", "tests/layers", "tests/positions", "tests/decoding")
ATTENTION = """
import torch
from deepdive.core import MultiHeadAttention
x = torch.randn(1, 5, 8)
assert MultiHeadAttention(8, 2)(x).shape == x.shape
"""
# Run in an environment with the wheel: a notebook as Colab has it, without this project's runner.
ALONE = """
import sys
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
notebook = nbformat.read(sys.argv[1], as_version=4)
colab = "import sys, types; sys.modules['google.colab'] = types.ModuleType('google.colab')"
notebook.cells.insert(0, nbformat.v4.new_code_cell(colab))
try:
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
except CellExecutionError as error:
    last = [error.ename, *error.evalue.strip().splitlines()][-1]
    if "pip install" not in last:
        sys.exit(f"{error.ename}: {last}")
    print(f"asks for more: {last}")
"""


class Failed(Exception):
    """A step of a way failed; the text is its command and its last lines."""


@dataclass
class Way:
    """One way being tried, in a folder of its own."""

    name: str
    folder: Path
    log: Path
    environment: Path | None = None
    notes: list[str] = field(default_factory=list)

    def run(self, *command: str | Path, cwd: Path | None = None, **settings: str) -> None:
        """Run a step; its words go to the log."""
        words = [str(word) for word in command]
        hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
        env = {k: v for k, v in os.environ.items() if k not in hidden}
        env |= {"DEEPDIVE_PROFILE": "ci", "DEEPDIVE_MIRROR": ""} | settings
        with self.log.open("a", encoding="utf-8") as log:
            print("$", *words, file=log, flush=True)
            done = subprocess.run(
                words, cwd=cwd or self.folder, env=env, stdout=log, stderr=log, check=False
            )
        if done.returncode != 0:
            last = self.log.read_text("utf-8").splitlines()[-5:]
            raise Failed(
                "\n".join([f"`{' '.join(words)[:200]}` ended with {done.returncode}:", *last])
            )

    def clone(self) -> Path:
        """A fresh clone of what is committed here."""
        target = self.folder / "deepdive"
        self.run("git", "clone", "--quiet", ROOT, target)
        return target

    def venv(self, python: str = sys.executable) -> Path:
        """An empty environment; returns its Python."""
        self.environment = self.folder / "venv"
        self.run(python, "-m", "venv", self.environment)
        return self.environment / "bin" / "python"

    def torch(self, python: Path) -> None:
        """Install torch as INSTALL.md says: the build for processors where its index answers."""
        index, _ = setup_env.choose_torch("auto", setup_env.has_nvidia_gpu())
        self.run(
            python, "-m", "pip", "install", "torch", *(["--index-url", index] if index else [])
        )


def read(way: Way) -> None:
    here = way.clone()
    way.environment = here / ".venv-read"
    way.run("make", "read", f"PYTHON={sys.executable}", cwd=here)


def first(way: Way) -> None:
    here = way.clone()
    way.environment = here / ".venv"
    way.run("make", "first", f"PYTHON={sys.executable}", cwd=here)


def lab(way: Way) -> None:
    here = way.clone()
    way.environment = here / ".venv"
    way.run("make", "lab", "LAB=--copy-only", f"PYTHON={sys.executable}", cwd=here)
    way.run(here / ".venv/bin/python", "-c", "import jupyterlab.labapp", cwd=here)
    way.run(here / ".venv/bin/deepdive", "run", "1.3", "3.6", "--profile", "ci", cwd=here)


def core(way: Way) -> None:
    here, python = way.clone(), way.venv()
    way.torch(python)
    way.run(python, "-m", "pip", "install", here)
    way.run(python, "-c", ATTENTION)
    way.run(python, "-m", "deepdive_book", "weights")
    way.run(python, "-m", "deepdive_book", "doctor")
    way.run(python, "-m", "deepdive_book", "list", "systems", cwd=here)


def pages(way: Way) -> None:
    here, python = way.clone(), way.venv()
    way.torch(python)
    way.run(python, "-m", "pip", "install", "-e", ".[casestudies,notebooks]", cwd=here)
    way.run(python, "-m", "deepdive_book", "weights", "install", cwd=here)
    way.run(python, "tools/lab.py", "--copy-only", cwd=here)
    names = ("0.1", "1.3", "3.6", "6a.3")
    way.run(python, "-m", "deepdive_book", "run", *names, "--profile", "ci", cwd=here)


def wheel(way: Way) -> None:
    here, python = way.clone(), way.venv()
    way.torch(python)
    way.run(python, "-m", "pip", "wheel", "--no-deps", "-w", way.folder / "wheels", here)
    [built] = (way.folder / "wheels").glob("*.whl")
    extras = "casestudies"  # what INSTALL.md says; the rest is what a notebook server brings
    way.run(
        python, "-m", "pip", "install", f"{built}[{extras}]", "ipykernel", "nbclient", "nbformat"
    )
    script = way.folder / "alone.py"
    script.write_text(ALONE, encoding="utf-8")
    failed = []
    for notebook in one_of_each_chapter(here):
        empty = way.folder / "empty" / notebook.stem
        empty.mkdir(parents=True)
        shutil.copy(notebook, empty)
        try:
            way.run(python, script, notebook.name, cwd=empty)
        except Failed as error:
            failed.append(f"{notebook.relative_to(here)}: {str(error).splitlines()[-1]}")
    if failed:
        raise Failed("\n".join(failed))


def one_of_each_chapter(root: Path) -> list[Path]:
    """The second page of each chapter, behind its opening, and the page that was once at fault."""
    chapters = sorted(root.glob("chapters/[0-9]*"))
    each = [sorted(chapter.glob("[0-9]*.ipynb"))[1] for chapter in chapters]
    return [*each, root / "chapters/04_multilingual/10_embedding_space.ipynb"]


def oldest(way: Way) -> None:
    version = ".".join(map(str, setup_env.OLDEST))
    program = shutil.which(f"python{version}")
    if sys.version_info[:2] == setup_env.OLDEST:
        program = sys.executable
    if program is None:
        raise Failed(f"python{version} is not here, and the oldest versions are for it")
    here, python = way.clone(), way.venv(program)
    way.run(python, "-m", "pip", "install", "packaging")
    listed = subprocess.run(
        [python, here / "tools/constraints.py", "--oldest"], capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    (way.folder / "oldest.txt").write_text(listed, encoding="utf-8")
    ours = ("-e", here, "-e", here / "tools/grader")
    way.run(python, "-m", "pip", "install", "-r", way.folder / "oldest.txt", *ours)
    way.run(python, "-m", "pytest", "-q", *TESTS, cwd=here)


def newest(way: Way) -> None:
    here, python = way.clone(), way.venv()
    way.torch(python)
    way.run(
        python,
        "-m",
        "pip",
        "install",
        "--upgrade",
        "-e",
        f"{here}[test]",
        "-e",
        here / "tools/grader",
    )
    way.run(python, "-m", "pytest", "-q", *TESTS, cwd=here)


WAYS: dict[str, Callable[[Way], None]] = {
    each.__name__: each for each in (read, first, lab, core, pages, wheel, oldest, newest)
}


def megabytes(folder: Path | None) -> float:
    """The size of an environment on the disk."""
    if folder is None or not folder.is_dir():
        return 0.0
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / 1e6


def attempt(name: str, keep: bool) -> bool:
    """Try one way; print a line, and what failed below it."""
    LOGS.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"ways-{name}-"))
    way = Way(name, folder, LOGS / f"{name}.log")
    way.log.write_text("", encoding="utf-8")
    start, fault = time.monotonic(), ""
    print(f"{name:8} ...", flush=True)
    try:
        WAYS[name](way)
    except Failed as error:
        fault = str(error)
    finally:
        seconds, size = time.monotonic() - start, megabytes(way.environment)
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    told = "FAILED" if fault else "passed"
    print(f"{name:8} {told}  {seconds:5.0f} s  environment {size:5.0f} MB  {way.log}", flush=True)
    if fault:
        print("    " + fault.replace("\n", "\n    "), flush=True)
    return not fault


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=list(WAYS), metavar="NAME")
    parser.add_argument("--keep", action="store_true", help="leave the temporary folders there")
    options = parser.parse_args()
    passed = [attempt(name, options.keep) for name in options.only or WAYS]
    print(f"{sum(passed)} of {len(passed)} ways passed")
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
