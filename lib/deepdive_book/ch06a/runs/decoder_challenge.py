"""Challenge the records table with parts of your own, by one command.

    python -m deepdive_book.ch06a.runs.decoder_challenge my_parts.py

where `my_parts.py` says, as `deepdive_book.ch06a.runs.decoder_ablations.PARTS` does, what is put in
the place of nanoGPT's parts:

    PARTS = {"my feed-forward layer": {"ff": MyFeedForward}}

Each part is trained with three seeds and the operations of 2,000 steps of nanoGPT's decoder, about
five minutes a run on one core, and compared with the decoder's own runs of the same seeds. What is
measured is kept in `my_parts.json` beside the file, so that a stopped challenge goes on.
"""

import argparse
import runpy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deepdive.evaluate.confidence_intervals import Interval, t_interval
from deepdive_book.ch06a.runs.decoder_ablations import PARTS, STEPS, row, shakespeare
from deepdive_book.kit.experiments import sweep

Row = Mapping[str, Any]
SEEDS = (0, 1, 2)
BASE = "nanoGPT"


def paired(rows: Sequence[Row], part: str, of: str = "test", base: str = BASE) -> Interval:
    """The mean difference to the runs of `base` with the same seeds, in nats a letter, and its 95 %
    interval by Student's t over the seeds: below 0 the part is ahead.

    Raises ValueError for fewer than two seeds that both have.
    """
    by = {(r["part"], r["seed"]): float(r[of]) for r in rows}
    both = [seed for name, seed in by if name == part and (base, seed) in by]
    each = [by[part, seed] - by[base, seed] for seed in both]
    if len(each) < 2:
        raise ValueError(f"{part}: {len(each)} seeds that {base} has too, expected two or more")
    return t_interval(each)


def verdict(difference: Interval) -> str:
    """Say what a difference shows."""
    if difference.high < 0:
        return "ahead"
    return "behind" if difference.low > 0 else "no difference shown"


def parts_of(file: Path) -> dict[str, dict[str, Any]]:
    """Return the parts that a Python file names. Raises ValueError for a file without any."""
    found = runpy.run_path(str(file)).get("PARTS")
    if not isinstance(found, dict) or not found:
        raise ValueError(f'{file} has no PARTS: expected PARTS = {{"name": {{"ff": ...}}}}')
    if known := sorted(set(found) & set(PARTS)):
        raise ValueError(f"{file}: {', '.join(known)} is in the table already: name it otherwise")
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path, help="a Python file with PARTS")
    parser.add_argument("--steps", type=int, default=STEPS, help="nanoGPT's steps, 2,000")
    given = parser.parse_args(arguments)
    mine, text = parts_of(given.file), shakespeare()

    def measure(part: str, seed: int, of: int) -> dict[str, Any]:
        return row(text, part, seed, of, {**PARTS, **mine})

    points = [
        {"part": part, "seed": seed, "of": given.steps} for seed in SEEDS for part in (BASE, *mine)
    ]
    rows = sweep(measure, points, given.file.with_suffix(".json"), data="tinyshakespeare")
    for part in mine:
        difference = paired(rows, part)
        print(f"{part}: {difference} nats a letter on the test: {verdict(difference)}")


if __name__ == "__main__":
    main()
