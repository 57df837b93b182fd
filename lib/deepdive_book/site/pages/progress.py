"""What `run` shows: one live line while pages run, then a table and the failures."""

import shutil
import time
from dataclasses import dataclass
from typing import TextIO

from deepdive_book.site.pages import Page
from deepdive_book.site.pages.execute import Run

HEARTBEAT = 30.0  # seconds between two lines where there is no terminal


@dataclass(frozen=True)
class Result:
    """How a page ended: `ok`, `over budget`, `failed` or `interrupted`."""

    page: Page
    run: Run
    status: str
    budget: int


class Display:
    """A line that is rewritten in a terminal; elsewhere a plain line now and then."""

    def __init__(self, out: TextIO, total: int) -> None:
        self.out, self.total = out, total
        self.live = out.isatty()
        self.title = ""
        self.printed_at = 0.0

    def start(self, ordinal: int, page: Page) -> None:
        self.title = f"[{ordinal}/{self.total}] {page.name}"
        self.printed_at = time.monotonic()
        if not self.live:
            self._print(self.title)

    def tick(self, run: Run) -> None:
        line = f"{self.title}  cell {run.cell}/{len(run.code)}  {clock(run.seconds)}"
        if self.live:
            width = shutil.get_terminal_size().columns - 1
            self.out.write(f"\r\x1b[K{line[:width]}")
            self.out.flush()
        elif time.monotonic() - self.printed_at > HEARTBEAT:
            self.printed_at = time.monotonic()
            self._print(line)

    def end(self, result: Result) -> None:
        start = "\r\x1b[K" if self.live else ""
        self._print(f"{start}{self.title}  {result.status}  {result.run.seconds:.1f} s")

    def _print(self, line: str) -> None:
        print(line, file=self.out, flush=True)


def clock(seconds: float) -> str:
    """Minutes and seconds: `2:05`."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def report(results: list[Result]) -> str:
    """The table of all pages, then for each failure its cell and the last line of its error."""
    rows = [("page", "status", "seconds", "budget", "peak MB")]
    for result in results:
        run = result.run
        peak = f"{run.peak_mb:.0f}" if run.peak_mb else "?"
        row = (result.page.name, result.status, f"{run.seconds:.1f}", str(result.budget), peak)
        rows.append(row)
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    lines = [
        "  ".join(
            text.ljust(width) if i < 2 else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines + [_failure(result) for result in results if result.run.error])


def _failure(result: Result) -> str:
    run = result.run
    source = run.code[run.cell - 1].source.splitlines() if run.cell else ["(no cell had started)"]
    shown = [f"    {line}" for line in source[:4]] + ["    ..."] * (len(source) > 4)
    head = f"\n{result.page.name}: cell {run.cell} of {len(run.code)}"
    return "\n".join([head, *shown, f"  {run.error}"])
