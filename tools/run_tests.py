"""Run every check, as `make test` does: style, format, types, then pytest over tests and pages.

The unit tests and the pages share one pytest run on three workers; each worker and each page's
kernel gets one thread. Ends with pytest's list of the slowest and its closing line. Exits non-zero
if anything failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "test"  # what pages write under test: never beside committed files
STUCK = 1500  # seconds: a test that takes longer has hung, and fails with its stack
WORKERS = 3  # on two cores: tests also wait, for browsers, sandboxes, and time limits
LINT: dict[str, list[str]] = {
    "style": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "types": ["mypy"],
}


def pages() -> list[str]:
    """Return every committed page, in the book's order."""
    found = [*ROOT.glob("chapters/*/[0-9]*.ipynb"), *ROOT.glob("casestudies/[0-9]*.ipynb")]
    return sorted(str(page.relative_to(ROOT)) for page in found)


def pytest_command(arguments: list[str]) -> list[str]:
    """Return the command over `arguments`, or over all tests and all pages.

    loadscope keeps the cells of a notebook on one worker; lax compares tagged outputs only.
    """
    import kernels

    command = ["pytest", "-n", str(WORKERS), "--dist", "loadscope", "--durations=15"]
    command += [f"--timeout={STUCK}"]
    command += ["--nbval-lax", f"--nbval-kernel-name={kernels.NAME}", "--nbval-cell-timeout=300"]
    return [*command, *(arguments or ["tests", *pages()])]


def environment() -> dict[str, str]:
    one = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    quiet = {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    pages = {"DEEPDIVE_PROFILE": "ci", "DEEPDIVE_OUT": str(OUT), "IPYTHONDIR": str(OUT / "ipython")}
    return {**os.environ, **one, **quiet, **pages}


def forget_history() -> None:
    """Let kernels keep no history: they would share a file, and warn in a page where it is held."""
    config = OUT / "ipython" / "profile_default" / "ipython_config.py"
    config.parent.mkdir(parents=True)
    config.write_text("c.HistoryManager.enabled = False\n", encoding="utf-8")


def build_book(site: Path) -> None:
    """Build the book for all workers, which wait while the mark is there; see tests/conftest.py."""
    build = [sys.executable, ROOT / "tests" / "book_build.py", site]
    try:
        subprocess.run(build, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
    finally:
        site.with_suffix(".building").unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=["lint", "tests"], help="leave the other half out")
    options, rest = parser.parse_known_args()
    seconds: dict[str, float] = {}
    failed: list[str] = []

    def step(name: str, command: list[str], env: dict[str, str] | None = None) -> None:
        print(f"== {name}: {' '.join(command[:6])}{' ...' if len(command) > 6 else ''}", flush=True)
        start = time.monotonic()
        module = [sys.executable, "-m", *command]
        if subprocess.run(module, cwd=ROOT, env=env, check=False).returncode != 0:
            failed.append(name)
        seconds[name] = time.monotonic() - start
        if name in LINT:
            print(f"   {name}: {seconds[name]:.1f} s", flush=True)

    if options.only != "lint":
        shutil.rmtree(OUT, ignore_errors=True)  # no page goes on from an earlier run's checkpoint
        forget_history()
    whole = options.only is None and not rest
    site = OUT / "site"
    if whole:  # on one core, while style and types are checked on the other
        site.with_suffix(".building").touch()
        threading.Thread(target=build_book, args=(site,), daemon=True).start()
    if options.only != "tests":
        for name, command in LINT.items():
            step(name, command)
        print("== time: " + ", ".join(f"{k} {v:.0f} s" for k, v in seconds.items()), flush=True)
    if failed:
        print(f"== failed: {', '.join(failed)}", flush=True)
    if options.only != "lint":
        import kernels

        more = {} if rest else {"DEEPDIVE_WHOLE": "1"}  # tests/proofs.py: is the atlas proved?
        if whole:
            more["DEEPDIVE_SITE"] = str(site)
        with kernels.Server(OUT, environment()) as server:
            step("tests", pytest_command(rest), environment() | server.environment | more)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
