"""Run the benchmarks, one after the other, each in a process of its own: `make bench`.

`python benchmarks/run.py import decoding` runs those whose names hold one of the words. A
benchmark is a file bench_NAME.py that prints its table: medians, and ratios of what was measured
in one run. It sets no limits: a number that is worse than hoped is printed, not failed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def main() -> int:
    words = sys.argv[1:]
    found = sorted(FOLDER.glob("bench_*.py"))
    chosen = [path for path in found if not words or any(word in path.stem for word in words)]
    if not chosen:
        names = ", ".join(path.stem.removeprefix("bench_") for path in found)
        print(f"no benchmark is named {' or '.join(words)}; there are: {names}", file=sys.stderr)
        return 2
    failed = []
    for place, path in enumerate(chosen, start=1):
        print(f"== {place}/{len(chosen)} {path.stem.removeprefix('bench_')}", flush=True)
        start = time.monotonic()
        if subprocess.run([sys.executable, str(path)], check=False).returncode != 0:
            failed.append(path.stem)
        print(f"   {time.monotonic() - start:.0f} s\n", flush=True)
    if failed:
        print(f"stopped with an error: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
