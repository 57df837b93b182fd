"""How many submissions of chapter 2 a minute `deepdive assignment grade` does on two processes.

An invented class of 100 hands in: solved, half solved, wrong, without metadata, untouched, and
every sixth with a loop that does not end, which costs its time limit. `--students 12` is a trial.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("DEEPDIVE_PROFILE", "ci")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tqdm import tqdm

from deepdive_book.course.assignment import collect, course, marking, rehearse, release
from deepdive_book.site.pages import find_root

CHAPTER, JOBS = "02_transformer", 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=100)
    count = parser.parse_args().students
    with tempfile.TemporaryDirectory() as folder:
        opened = course.create(Path(folder, "course"))
        release.release(opened, CHAPTER, find_root())
        students = rehearse.create_class(opened, count)
        download = Path(folder, "download.zip")
        rehearse.submit(opened, CHAPTER, students, download)
        collect.collect(opened, CHAPTER, download)
        ids = marking.outstanding(opened, CHAPTER)
        start = time.monotonic()
        graded = marking.mark(opened, CHAPTER, ids, jobs=JOBS)
        results = list(tqdm(graded, total=len(ids), unit="submission", disable=None))
        seconds = time.monotonic() - start
        left = len(marking.outstanding(opened, CHAPTER))
    print(f"{len(results)} submissions on {JOBS} processes: {seconds:.0f} s, {left} left over")
    print(f"{60 * len(results) / seconds:.0f} submissions a minute (aim: 20)")
    found = Counter((result.points, result.max_points) for result in results)
    for (points, most), times in sorted(found.items(), reverse=True):
        print(f"  {times:3} with {points:g} of {most:g} points")


if __name__ == "__main__":
    main()
