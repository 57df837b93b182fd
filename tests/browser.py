"""A browser without a window, for the tests of what scripts and paper make of a page."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Chromium, its profile kept in the folder; the test is skipped without one."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs chromium or google-chrome")
    command = [program, "--headless", "--no-sandbox", "--disable-gpu"]
    command += [f"--user-data-dir={folder / 'profile'}", "--disable-background-networking"]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=True, timeout=300
    )


def chromium(folder: Path, *arguments: str) -> str:
    """What Chromium prints."""
    return run(folder, *arguments).stdout


def console(folder: Path, page: Path) -> list[str]:
    """What the scripts of a page write to the console, errors and refused loads among it."""
    told = run(
        folder, "--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom", page.as_uri()
    )
    return re.findall(r':CONSOLE:\d+\] "(.*)", source:', told.stderr)


def after_scripts(folder: Path, body: str, *arguments: str) -> str:
    """The text of a page after its scripts have run."""
    path = folder / "page.html"
    path.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{body}", encoding="utf-8")
    told = chromium(folder, *arguments, "--dump-dom", path.as_uri())
    return html.unescape(told.split("<body>")[1])
