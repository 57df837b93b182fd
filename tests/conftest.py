"""What every test has: the ci profile, one thread, fixed seeds, and a fair account of real data."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from checkout import ROOT

# Before torch is imported anywhere: workers that share the cores must not each take all of them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["DEEPDIVE_PROFILE"] = "ci"

import pytest
from absence import BROWSER, DATA, account, refuse
from hypothesis import HealthCheck, settings

# Collection keeps nearly all of the million objects it makes: a third of its time went to asking
# which are garbage.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage again, but not what stays to the end of the run."""
    gc.collect()
    gc.freeze()
    gc.enable()


# A shell starts what runs in the background with Ctrl-C ignored, and children inherit that: the
# tests of interruption would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

if TYPE_CHECKING:
    from browser import Reader
    from playwright.sync_api import Browser


# No deadline: how long a case takes on a shared machine says nothing about the code.
settings.register_profile(
    "deepdive",
    deadline=None,
    max_examples=50,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("deepdive")


def pytest_report_header() -> str:
    """Name the browser that the tests drive: what passes in one version can fail in another."""
    from chromium import program

    browser = program()
    if not browser:
        return "browser: none (make browser)"
    told = subprocess.run([browser, "--version"], capture_output=True, text=True, check=False)
    return f"browser: {told.stdout.strip() or browser}"


@pytest.fixture(autouse=True)
def _seeds() -> None:
    """Start every test from the same random state, in whatever order tests run."""
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built book of the committed pages, one for all workers; what building took is printed.

    `make test` begins to build it while it checks style and types.
    """
    if named := os.environ.get("DEEPDIVE_SITE"):
        built = Path(named)
        while built.with_suffix(".building").exists():
            time.sleep(0.5)
        if built.is_dir():
            return built  # else the build failed: this one says why
    from book_build import build
    from vendor import lock

    run = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        run = run.parent
    out = run / "book" / "site"
    with lock(run):
        if not out.is_dir():
            out.parent.mkdir(exist_ok=True)
            start = time.monotonic()
            done = build(ROOT, out)
            assert done.returncode == 0, done.stderr
            print(f"\nthe book: {done.stdout.strip()}, {time.monotonic() - start:.0f} s in all")
    return out


@pytest.fixture(scope="session")
def installed() -> None:
    """For tests of what starts a browser itself; see `chromium` for those that drive one."""
    from chromium import program

    if program() is None:
        refuse(BROWSER, "Chromium or Google Chrome")


@pytest.fixture(scope="module")
def chromium(installed: None) -> Iterator[Browser]:
    """The browser of this machine, one for the tests of a file."""
    from browser import launched

    with launched() as browser:
        yield browser


@pytest.fixture
def reader(chromium: Browser, tmp_path: Path) -> Iterator[Reader]:
    """A reader with a browser of their own, which remembers nothing."""
    from browser import Reader

    one = Reader(chromium, tmp_path)
    yield one
    one.close()


def has_data(name: str) -> bool:
    """Whether a data set lies in the mirror or in the cache.

    Only whether: a damaged file must reach the test, which then fails by naming it.
    """
    from deepdive.data import cache, mirror

    place = mirror()
    if isinstance(place, str):  # an address: fetching from it is the test's own affair
        return True
    return any((folder / name).is_dir() for folder in (place, cache()) if folder is not None)


def pytest_configure(config: pytest.Config) -> None:
    """What the atlas calls proved is compared, at the end of a whole run, with what passed."""
    from proofs import Proofs

    config.pluginmanager.register(Proofs(), "proofs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test marked `slow_fault` runs where it is asked for: by `-m`, or by its file's name."""
    if config.option.markexpr:
        return
    here = config.invocation_params.dir
    named = {(here / word.partition("::")[0]).resolve() for word in config.args}
    slow = [i for i in items if i.get_closest_marker("slow_fault") and i.path not in named]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if item not in slow]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test marked `data("name", ...)` fails in CI without its data; elsewhere it is counted."""
    marker = item.get_closest_marker("data")
    if marker is None:
        return
    if not marker.args:
        pytest.fail('the marker names its data sets: @pytest.mark.data("tatoeba_eng_fra")', False)
    missing = [name for name in marker.args if not has_data(name)]
    if missing:
        refuse(DATA, ", ".join(missing))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what this machine lacks, and how many tests that left out."""
    reports = terminalreporter.stats.get("skipped", [])
    lines = account([str(r.longrepr[2]) for r in reports if isinstance(r.longrepr, tuple)])
    if lines:
        terminalreporter.section("left out")
        for line in lines:
            terminalreporter.write_line(line)
