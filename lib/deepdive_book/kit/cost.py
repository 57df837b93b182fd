"""The cost card: operations counted, peak memory, time, and what they imply on other machines."""

from __future__ import annotations

import re
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import torch

from deepdive_book.kit.flops import count_flops

__all__ = ["GPUS", "CostCard", "count_flops", "measure"]


@dataclass(frozen=True)
class Gpu:
    """A card's name, its peak in float32 operations a second, and how that number comes about."""

    name: str
    peak: float
    source: str


GPUS = (
    Gpu(
        "K80",
        4.37e12,
        "one of the board's two GK210 chips, as clouds rent it: 2,496 cores x 2 x 875 MHz boost "
        "(2.81 TFLOP/s at the base clock of 562 MHz); NVIDIA board specification BD-07317-001",
    ),
    Gpu("T4", 8.1e12, "float32 without tensor cores; NVIDIA T4 data sheet"),
)
EFFICIENCY = 0.3  # share of the peak that training reaches; assumed, and said so on every card


def _on_gpu() -> bool:
    return torch.cuda.is_available() and torch.cuda.is_initialized()


def _device() -> str:
    if _on_gpu():
        return torch.cuda.get_device_name()
    threads = torch.get_num_threads()
    return f"CPU, {threads} thread{'s' if threads > 1 else ''}"


def _peak_memory() -> int:
    if _on_gpu():
        return int(torch.cuda.max_memory_allocated())
    status = Path("/proc/self/status")
    match = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    if match:  # getrusage also counts what the parent had when it started this process
        return int(match[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on a Mac


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


@dataclass
class CostCard:
    """What a computation took, and what that implies elsewhere.

    flops        floating-point operations counted (see `count_flops`); 0: not counted
    seconds      wall time
    peak_memory  bytes: the GPU's peak inside `measure`, or without a GPU the peak of the whole
                 process since it began
    device       where it ran
    efficiency   the share of a card's peak that is assumed for the implied times
    """

    flops: float = 0.0
    seconds: float = 0.0
    peak_memory: int = 0
    device: str = field(default_factory=_device)
    efficiency: float = EFFICIENCY
    aside: float = field(default=0.0, repr=False, compare=False)

    def count(self, call: Callable[[], Any], times: float = 1.0) -> float:
        """Count one call of `call` and add it `times` times; return the operations of one call.

        Its own time is not added to `seconds`: count one step, and give how many there were.
        """
        if not times > 0:
            raise ValueError(f"times: got {times}, expected a number above 0")
        start = time.perf_counter()
        one = count_flops(call)
        self.aside += time.perf_counter() - start
        self.flops += one * times
        return float(one)

    def implied(self) -> dict[str, float]:
        """Return card name -> seconds, flops / (peak * efficiency); empty: none counted."""
        if not self.flops:
            return {}
        return {gpu.name: self.flops / (gpu.peak * self.efficiency) for gpu in GPUS}

    def __add__(self, other: CostCard) -> CostCard:
        """Return the card of both, one after the other: times add up, memory is the larger."""
        if not isinstance(other, CostCard):
            return NotImplemented
        if self.efficiency != other.efficiency:
            raise ValueError(
                f"efficiency: cards with {self.efficiency} and {other.efficiency} cannot be added"
            )
        devices = dict.fromkeys([*self.device.split(" + "), *other.device.split(" + ")])
        return CostCard(
            self.flops + other.flops,
            self.seconds + other.seconds,
            max(self.peak_memory, other.peak_memory),
            " + ".join(devices),
            self.efficiency,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the card as JSON values, assumptions included."""
        return {
            "flops": self.flops,
            "seconds": self.seconds,
            "peak_memory_mb": self.peak_memory / 2**20,
            "device": self.device,
            "assumed_efficiency": self.efficiency,
            "implied_seconds": self.implied(),
        }

    def rows(self) -> list[tuple[str, str]]:
        """Return the lines of the card: what, and how much."""
        where = "process" if self.device.startswith("CPU") else "GPU"
        rows = [("device", self.device), ("time", _time(self.seconds))]
        rows.append((f"peak memory ({where})", f"{self.peak_memory / 2**20:,.0f} MB"))
        if not self.flops:
            return [*rows, ("operations", "not counted")]
        rows.append(("operations counted", f"{self.flops:.3g} FLOP"))
        if self.seconds:
            rows.append(("reached here", f"{self.flops / self.seconds / 1e9:,.1f} GFLOP/s"))
        for gpu in GPUS:
            line = f"{_time(self.implied()[gpu.name])} (peak {gpu.peak / 1e12:.3g} TFLOP/s)"
            rows.append((f"implied on a {gpu.name}", line))
        return rows

    def _notes(self) -> str:
        sources = "; ".join(f"{gpu.name}: {gpu.source}" for gpu in GPUS)
        return (
            f"Implied times are operations / (peak x {self.efficiency:.0%}); the "
            f"{self.efficiency:.0%} are an assumption, not a measurement. {sources}."
        )

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.rows())
        lines = [f"{name:<{width}}  {value}" for name, value in self.rows()]
        return "\n".join([*lines, self._notes()] if self.flops else lines)

    def _repr_markdown_(self) -> str:
        lines = ["| cost | |", "|---|---|", *(f"| {n} | {v} |" for n, v in self.rows())]
        return "\n".join([*lines, "", self._notes()] if self.flops else lines)

    def _repr_html_(self) -> str:
        cells = "".join(
            f'<tr><th scope="row">{escape(n)}</th><td>{escape(v)}</td></tr>' for n, v in self.rows()
        )
        note = f"<caption>{escape(self._notes())}</caption>" if self.flops else ""
        return f'<table class="cost-card">{note}<tbody>{cells}</tbody></table>'


@contextmanager
def measure(efficiency: float = EFFICIENCY) -> Iterator[CostCard]:
    """Measure wall time and peak memory of what runs inside; yield the card, full at the end.

    A training run that resumed, or was finished before, took `history.seconds`, not the card's.
    Operations are counted apart, on one step (counting slows a step down):

    >>> with measure() as card:
    ...     for _ in range(3):
    ...         _ = torch.ones(8, 8) @ torch.ones(8, 8)
    ...     _ = card.count(lambda: torch.ones(8, 8) @ torch.ones(8, 8), times=3)
    >>> card.flops
    3072.0

    Raises ValueError unless 0 < efficiency <= 1.
    """
    if not 0 < efficiency <= 1:
        raise ValueError(f"efficiency: got {efficiency}, expected 0 < efficiency <= 1")
    card = CostCard(efficiency=efficiency)
    if _on_gpu():
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    try:
        yield card
    finally:
        if _on_gpu():
            torch.cuda.synchronize()
        card.seconds = time.perf_counter() - start - card.aside
        card.device = _device()
        card.peak_memory = _peak_memory()
