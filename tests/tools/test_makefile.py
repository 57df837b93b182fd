"""The Makefile: no failure is dropped, and `clean` removes only what make has made."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from checkout import ROOT

PYTHON = """#!/bin/sh
case "$*" in *{fails}*) exit {status};; esac
echo "ran $*"
"""


def make(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run make as a user would: `make test` tells what it starts that it is called by a make."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    command = ["make", *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the Makefile and what make has made there, in a folder with blanks."""
    folder = tmp_path / "our checkout"
    for name in (".venv/bin", "build/site", "build/ci/chapters/01_demo", "tools"):
        (folder / name).mkdir(parents=True)
    for name in (
        ".venv/setup-stamp",
        "build/site/index.html",
        "build/.site.lock",
        "tools/setup_env.py",
    ):
        (folder / name).touch()
    shutil.copy(ROOT / "Makefile", folder)
    return folder


@pytest.mark.parametrize(
    ("target", "fails", "status"),
    [
        ("run", "deepdive_book.site.pages", 1),
        ("run", "deepdive_book.site.pages", 130),
        ("run", "book/build.py", 1),
        ("figures", "deepdive_book.site.pages", 1),
        ("figures", "deepdive_book.site.pages", 130),
        ("figures", "book/figures.py", 1),
        ("fmt", "check", 1),
        ("fmt", "format", 1),
        ("notebooks", "deepdive_book.site.pages", 1),
        ("notebooks", "exercises", 1),
    ],
)
def test_no_half_fails_unsaid(checkout: Path, target: str, fails: str, status: int) -> None:
    python = checkout / ".venv" / "bin" / "python"
    python.write_text(PYTHON.format(fails=fails, status=status))
    python.chmod(0o755)
    done = make(checkout, target, "PYTHON=true")
    assert done.returncode == 2
    assert f": {target}] Error {status}" in done.stderr
    assert status != 130 or "ran" not in done.stdout
    python.write_text(PYTHON.format(fails="nothing", status=1))
    assert make(checkout, target, "PYTHON=true").returncode == 0


def test_lab_gets_its_options(checkout: Path) -> None:
    python = checkout / ".venv" / "bin" / "python"
    python.write_text(PYTHON.format(fails="nothing", status=1))
    python.chmod(0o755)
    done = make(checkout, "lab", "PYTHON=true", "LAB=--no-browser --port 8890")
    assert done.stdout == "ran tools/lab.py --no-browser --port 8890\n"


def test_clean_keeps_training_runs(checkout: Path) -> None:
    kept = ["build/ci/translation/checkpoint-000001/state.safetensors", "build/notes.txt"]
    kept += ["build/laptop/results/study.json", "data/toy/body.bin"]
    for name in kept:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).touch()
    before = set(files(checkout))
    done = make(checkout, "clean")
    assert done.returncode == 0
    assert done.stdout.startswith("build stays")
    assert before - set(files(checkout)) == {
        ".venv/setup-stamp", "build/.site.lock", "build/site/index.html",
    }  # fmt: skip
    assert {path.name for path in (checkout / "build").iterdir()} == {"ci", "laptop", "notes.txt"}


def test_clean_leaves_nothing_of_ours(checkout: Path) -> None:
    done = make(checkout, "clean")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (checkout / "build").exists()
    assert make(checkout, "clean").returncode == 0


def test_another_folder_is_not_touched(checkout: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for name in (".venv/setup-stamp", "build/site/index.html"):
        (other / name).parent.mkdir(parents=True)
        (other / name).touch()
    before = files(other)
    refused = make(other, "-f", str(checkout / "Makefile"), "clean")
    assert refused.returncode == 2
    assert "expected in its own folder: make -C" in refused.stderr
    linked = checkout.rename(tmp_path / "ours")
    assert make(other, "-f", str(linked / "Makefile"), "clean").returncode == 2
    assert (linked / ".venv").exists()
    assert make(other, "-C", str(linked), "clean").returncode == 0
    assert not (linked / ".venv").exists()
    assert files(other) == before


def test_an_environment_of_others_stays(checkout: Path) -> None:
    (checkout / ".venv" / "setup-stamp").rename(checkout / ".venv" / "mine.txt")
    done = make(checkout, "clean")
    assert (done.returncode, done.stdout) == (0, ".venv stays: make did not make it\n")
    assert (checkout / ".venv" / "mine.txt").exists()


def files(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
