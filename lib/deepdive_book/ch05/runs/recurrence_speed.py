"""Time of evaluation with Transformer-XL's memory, and with a window for each character. Page 5.16.

    rows = load()                 # the saved times
    row = measure(length=512)     # {"memory_s": 0.1, "windows_s": 9.0, "ratio": 90.0, ...}

128 characters are predicted, each from the `length` characters before it. With memory, one call
encodes them as a segment, with `length` cached states in each layer. Without, each character has a
window, encoded for it alone: 8 windows are timed and counted 16 times. 4 layers, width 128, 4
heads, batch 1, untrained; both run in each round, and the ratio is taken in each round. Seconds are
those of the processor, because other programs run on the machine too.
"""

import math
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import torch

from deepdive.layers.segment_memory import Memory
from deepdive.models.efficient.transformer_xl import TransformerXL, XLConfig, transformer_xl
from deepdive_book.kit.experiments import load_rows, results_path, sweep
from deepdive_book.kit.profile import profile

LENGTHS, SEGMENT, WINDOWS, ROUNDS = (128, 256, 512, 1024), 128, 8, 7
SIZES = XLConfig(
    vocab_size=100, d_model=128, n_heads=4, d_head=32, n_layers=4, d_ff=512, dropout=0.0
)


def evaluations(
    model: TransformerXL, length: int
) -> tuple[Callable[[], torch.Tensor], Callable[[], torch.Tensor]]:
    """Return both ways to encode: a segment with memory (1, SEGMENT, d_model), and WINDOWS windows,
    (WINDOWS, d_model), the states at their ends.
    """
    tokens = torch.randint(model.config.vocab_size, (1, length + SEGMENT))
    cached = Memory(length)
    with torch.no_grad():
        model(tokens[:, :length], memory=cached)
    states = cached.rows

    @torch.no_grad()
    def with_memory() -> torch.Tensor:
        memory = Memory(length)
        memory.rows = [*states]
        return model(tokens[:, length:], memory=memory)

    @torch.no_grad()
    def by_windows() -> torch.Tensor:
        ends = [model(tokens[:, i + 1 : i + 1 + length])[0, -1] for i in range(WINDOWS)]
        return torch.stack(ends)

    return with_memory, by_windows


def measure(length: int) -> dict[str, Any]:
    """Return seconds for SEGMENT characters both ways, and how many times as fast memory is:
    median, least, and greatest of the rounds.
    """
    torch.manual_seed(0)
    works = evaluations(transformer_xl(SIZES).eval(), length)
    seconds: tuple[list[float], list[float]] = ([], [])
    for round_ in range(1 + ROUNDS):  # the first warms up
        for which in (0, 1) if round_ % 2 else (1, 0):
            start = time.process_time()
            works[which]()
            if round_:
                seconds[which].append(time.process_time() - start)
    windows = [s * SEGMENT / WINDOWS for s in seconds[1]]
    ratios = [b / a for a, b in zip(seconds[0], windows, strict=True)]
    return {
        "memory_s": median(seconds[0]), "windows_s": median(windows), "ratio": median(ratios),
        "least": min(ratios), "greatest": max(ratios),
    }  # fmt: skip


def exponent(lengths: Sequence[float], seconds: Sequence[float]) -> float:
    """Return b of seconds = a lengths^b, by least squares over logarithms."""
    x, y = ([math.log(v) for v in values] for values in (lengths, seconds))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    top = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return top / sum((a - mean_x) ** 2 for a in x)


def growth(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the exponents of both ways over the lengths."""
    lengths = [row["length"] for row in rows]
    return {name: exponent(lengths, [row[f"{name}_s"] for row in rows])
            for name in ("memory", "windows")}  # fmt: skip


def load() -> list[dict[str, Any]]:
    """Return the saved times; in the profile `experiment` measure the missing ones first."""
    path = results_path("05_efficient", "recurrence_speed")
    if profile() == "experiment":
        sweep(measure, [{"length": length} for length in LENGTHS], path)
    return load_rows(path)
