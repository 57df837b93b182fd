"""What this machine lacks for a test: counted and named at the end of a run, a failure in CI."""

from __future__ import annotations

import os
from collections import Counter
from typing import NoReturn

import pytest

DATA = "real data absent: "
BROWSER = "no browser: "
WEIGHTS = "real weights absent: "
SOURCES = "printed sources absent: "
HELP = {
    DATA: "Fetch it (`deepdive data fetch NAME`) or name a folder with it (DEEPDIVE_MIRROR=...).",
    BROWSER: "`make browser` gets what they need.",
    WEIGHTS: "`deepdive weights install` gets them.",
    SOURCES: "They are not ours to pass on; where they are, ../shared/sources has their text.",
}


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in {"1", "true"}


def refuse(kind: str, names: str) -> NoReturn:
    """End a test that needs `names`, of one kind: in CI as a failure, elsewhere as left out."""
    if in_ci():
        pytest.fail(f"{kind}{names}. {HELP[kind]}", pytrace=False)
    pytest.skip(kind + names)


def account(reasons: list[str]) -> list[str]:
    """The lines that say what was left out, and what to do, from the reasons of skipped tests."""
    lines = []
    for kind, words in HELP.items():
        lists = [reason.partition(kind)[2] for reason in reasons if kind in reason]
        count = Counter(name for names in lists for name in names.split(", "))
        lines += [f"{kind}{name}: {tests} test(s) not run" for name, tests in sorted(count.items())]
        if lists:
            lines.append(f"{len(lists)} test(s) in all. {words}")
    return lines
