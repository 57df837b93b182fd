"""How long `import deepdive` takes, against `import torch`, which it contains."""

from __future__ import annotations

import statistics
import subprocess
import sys

ROUNDS = 9
CODE = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def seconds(module: str) -> float:
    """Import a module in a fresh process; the start of Python itself does not count."""
    command = [sys.executable, "-c", CODE.format(module)]
    return float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def main() -> None:
    modules = ("torch", "deepdive")
    for module in modules:  # once for the disk's cache
        seconds(module)
    taken: dict[str, list[float]] = {module: [] for module in modules}
    for _ in range(ROUNDS):
        for module in modules:
            taken[module].append(seconds(module))
    median = {module: statistics.median(times) for module, times in taken.items()}
    for module in modules:
        low, high = min(taken[module]), max(taken[module])
        print(f"import {module:9} {median[module]:6.2f} s  (from {low:.2f} to {high:.2f})")
    print(f"ratio            {median['deepdive'] / median['torch']:6.2f}    (aim: below 1.5)")


if __name__ == "__main__":
    main()
