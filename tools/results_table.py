"""Write RESULTS.md from casestudies/results/*.json; `--check` only compares.

One row a group of numbers, in the order of the files. Standard library only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "casestudies" / "results"
PAGE = ROOT / "RESULTS.md"
HEAD = """# Results of the case studies

The studies write these numbers themselves, into `casestudies/results/`; `make results` makes this
page of them. In brackets stand 95 % intervals.
"""


def groups(metrics: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield (path, its numbers in words), outermost first.

    Things that were measured alike, each by one number, share a row.
    """
    numbers = {key: value for key, value in metrics.items() if isinstance(value, int | float)}
    if numbers:
        yield ": ".join(path), ", ".join(shown(metrics, key) for key in numbers)
    within = {key: value for key, value in metrics.items() if isinstance(value, dict)}
    measures = {tuple(k for k in v if not k.endswith("_interval")) for v in within.values()}
    if len(within) > 1 and len(measures) == 1 and len(measure := next(iter(measures))) == 1:
        found = (
            shown(value, measure[0]).replace(measure[0], key, 1) for key, value in within.items()
        )
        yield ": ".join((*path, *measure)), ", ".join(found)
        return
    for key, value in within.items():
        yield from groups(value, (*path, key))


def shown(metrics: dict[str, Any], key: str) -> str:
    """Write a number with its name, and its interval where it has one."""
    value, interval = metrics[key], metrics.get(f"{key}_interval")
    text = f"{key} {value:.4g}" if abs(value) < 1e4 else f"{key} {value:,.0f}"
    return text + (f" [{interval[0]:.4g}, {interval[1]:.4g}]" if interval else "")


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def link(page: str, root: Path) -> str:
    target = f"casestudies/{page}.ipynb"
    return f"[{page}]({target})" if (root / target).is_file() else page


def table(results: Path) -> str:
    """Return the table as markdown, or a line that says there is none yet."""
    root = results.parent.parent
    files = sorted(path for path in results.glob("*.json") if path.name != "schema.json")
    rows = []
    for file in files:
        study = json.loads(file.read_text(encoding="utf-8"))
        for page, entry in study["pages"].items():
            where = f"{', '.join(entry['data'])}; {entry['profile']}, {entry['cores']} cores"
            spent = f"{entry['seconds'] / 60:.1f} min, {entry['peak_memory_mb']:,.0f} MB"
            owned = {key: study["metrics"][key] for key in entry["metrics"]}
            for path, numbers in groups(owned):
                rows.append(row([link(page, root), where, spent, path or "-", numbers]))
    if not rows:
        return "None yet: no study has written its results."
    head = ["study", "data and profile", "time of its training, peak memory", "what", "numbers"]
    return "\n".join([row(head), row(["---"] * len(head)), *rows])


def main() -> int:
    old = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    new = f"{HEAD}\n{table(RESULTS)}\n"
    if "--check" in sys.argv[1:]:
        if new != old:
            print(f"{PAGE.name} differs from {RESULTS}: run make results", file=sys.stderr)
        return int(new != old)
    PAGE.write_text(new, encoding="utf-8")
    print(f"{PAGE.name}: " + ("unchanged" if new == old else "written"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
