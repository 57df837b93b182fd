"""What a class gained between two tests: Hake's normalised gain, with an interval."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Gain:
    """Of what could be gained, this share was; `low` to `high` holds it in 95 of 100 draws.

    `students` took both tests; `left_out` took only one.
    """

    value: float
    low: float
    high: float
    before: float
    after: float
    students: int
    left_out: tuple[str, ...]


def scores(path: Path, out_of: float) -> dict[str, float]:
    """Read a CSV with the columns `student` and `score`; return shares from 0 to 1.

    Raises ValueError, naming the line, for a missing column, a student named twice, and a score
    that is no number from 0 to `out_of`.
    """
    found: dict[str, float] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        if not {"student", "score"} <= set(rows.fieldnames or ()):
            raise ValueError(f"{path.name}: needs the columns student and score")
        for line, row in enumerate(rows, start=2):
            try:
                score = float(row["score"])
            except (TypeError, ValueError):
                raise ValueError(
                    f"{path.name}, line {line}: {row['score']!r} is no score"
                ) from None
            if not 0 <= score <= out_of:
                raise ValueError(f"{path.name}, line {line}: {score:g} is not from 0 to {out_of:g}")
            if row["student"] in found:
                raise ValueError(f"{path.name}, line {line}: {row['student']} comes twice")
            found[row["student"]] = score / out_of
    return found


def gain(
    before: Mapping[str, float], after: Mapping[str, float], *, draws: int = 10_000, seed: int = 0
) -> Gain:
    """Return (mean after - mean before) / (1 - mean before) of the students who took both tests.

    Scores are shares from 0 to 1. The interval is a bootstrap over students.

    Raises ValueError where fewer than two students took both, or nothing was left to gain.
    """
    both = sorted(before.keys() & after.keys())
    if len(both) < 2:
        raise ValueError(f"{len(both)} students took both tests; a gain needs two or more")
    pairs = np.array([(before[name], after[name]) for name in both])
    first, second = pairs.mean(0)
    if first == 1:
        raise ValueError("all had everything right before: nothing was left to gain")
    chosen = np.random.default_rng(seed).integers(len(both), size=(draws, len(both)))
    drawn = pairs[chosen].mean(1)
    drawn = drawn[drawn[:, 0] < 1]
    low, high = np.quantile((drawn[:, 1] - drawn[:, 0]) / (1 - drawn[:, 0]), (0.025, 0.975))
    value = float((second - first) / (1 - first))
    alone = tuple(sorted(before.keys() ^ after.keys()))
    return Gain(value, float(low), float(high), float(first), float(second), len(both), alone)
