"""What every test has: the ci profile, one thread, fixed seeds, and a fair account of real data."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

# Before torch is imported anywhere: workers that share the cores must not each take all of them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["DEEPDIVE_PROFILE"] = "ci"

import pytest
from hypothesis import HealthCheck, settings

# A shell starts what runs in the background with Ctrl-C ignored, and children inherit that: the
# tests of interruption would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent
ABSENT = "real data absent: "

# No deadline: how long a case takes on a shared machine says nothing about the code.
settings.register_profile(
    "deepdive",
    deadline=None,
    max_examples=50,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("deepdive")


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
    """The built book of the committed pages; how long building took is printed."""
    from book_build import build

    out = tmp_path_factory.mktemp("book") / "site"
    start = time.monotonic()
    done = build(ROOT, out)
    assert done.returncode == 0, done.stderr
    print(f"\nthe book: {done.stdout.strip()}, {time.monotonic() - start:.0f} s in all")
    return out


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in {"1", "true"}


def has_data(name: str) -> bool:
    """Whether a data set lies in the mirror or in the cache.

    Only whether: a damaged file must reach the test, which then fails by naming it.
    """
    from deepdive.data import cache, mirror

    place = mirror()
    if isinstance(place, str):  # an address: fetching from it is the test's own affair
        return True
    return any((folder / name).is_dir() for folder in (place, cache()) if folder is not None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test marked `data("name", ...)` fails in CI without its data; elsewhere it is counted."""
    marker = item.get_closest_marker("data")
    if marker is None:
        return
    if not marker.args:
        pytest.fail('the marker names its data sets: @pytest.mark.data("tatoeba_eng_fra")', False)
    missing = [name for name in marker.args if not has_data(name)]
    if missing:
        refuse = pytest.fail if in_ci() else pytest.skip
        refuse(ABSENT + ", ".join(missing))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the data sets that tests could not have, and how many tests that left out."""
    reports = terminalreporter.stats.get("skipped", [])
    texts = [report.longrepr[2] for report in reports if isinstance(report.longrepr, tuple)]
    lists = [text.partition(ABSENT)[2] for text in texts if ABSENT in text]
    if not lists:
        return
    count = Counter(name for names in lists for name in names.split(", "))
    terminalreporter.section("real data")
    for name, tests in sorted(count.items()):
        terminalreporter.write_line(f"{name}: {tests} test(s) not run")
    terminalreporter.write_line(
        f"{len(lists)} test(s) in all need real data that is not here. Fetch it "
        "(`deepdive data fetch NAME`) or name a folder that has it (DEEPDIVE_MIRROR=...)."
    )
