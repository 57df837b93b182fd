"""Write the README's table of results from casestudies/results/*.json; `--check` only compares.

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
README = ROOT / "README.md"
BEGIN = "<!-- results:begin -->"
END = "<!-- results:end -->"


def groups(
    metrics: dict[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (path, numbers) of each object that holds numbers itself, outermost first."""
    numbers = {key: value for key, value in metrics.items() if isinstance(value, int | float)}
    if numbers:
        intervals = {k: v for k, v in metrics.items() if k.endswith("_interval")}
        yield ": ".join(path), {**numbers, **intervals}
    for key, value in metrics.items():
        if isinstance(value, dict):
            yield from groups(value, (*path, key))


def shown(numbers: dict[str, Any]) -> str:
    """Write numbers side by side, each with its interval where it has one."""
    words = []
    for key, value in numbers.items():
        if key.endswith("_interval"):
            continue
        text = f"{key} {value:.4g}" if abs(value) < 1e4 else f"{key} {value:,.0f}"
        interval = numbers.get(f"{key}_interval")
        words.append(text + (f" [{interval[0]:.4g}, {interval[1]:.4g}]" if interval else ""))
    return ", ".join(words)


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
                rows.append(row([link(page, root), where, spent, path or "-", shown(numbers)]))
    if not rows:
        return "None yet: no study has written its results."
    head = ["study", "data and profile", "time and memory of its page", "what", "numbers"]
    return "\n".join([row(head), row(["---"] * len(head)), *rows])


def replaced(text: str, content: str) -> str:
    """Return the text with what stands between the two markers replaced."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"README.md lacks the markers {BEGIN} and {END}")
    return f"{before}{begin}\n{content}\n{end}{after}"


def main() -> int:
    old = README.read_text(encoding="utf-8")
    new = replaced(old, table(RESULTS))
    if "--check" in sys.argv[1:]:
        if new != old:
            print("README.md differs from casestudies/results: run make results", file=sys.stderr)
        return int(new != old)
    README.write_text(new, encoding="utf-8")
    print("README.md: table of results " + ("unchanged" if new == old else "written"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
