"""What benchmarks share: two works measured in turn, and a model's training step against a peer's.

In each round both run, the first one in turn, so that a drift of the machine meets both; the ratio
is taken in each round, and its median, least and greatest are what is printed and kept.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

RESULTS = Path(__file__).resolve().parent / "results"
ROUNDS = 15
Work = Callable[[], Any]
Row = dict[str, Any]
Sizes = dict[str, Any]


def in_pairs(
    ours: Work, theirs: Work, rounds: int, clock: Callable[[], float] = time.perf_counter
) -> Row:
    """Seconds of each (medians), and ours / theirs in each round: median, least, greatest.

    On a machine that others use, `time.process_time` counts what the works themselves took.
    """
    works, seconds = (ours, theirs), ([], [])
    for round_ in range(1 + rounds):  # the first warms up
        for which in (0, 1) if round_ % 2 else (1, 0):
            start = clock()
            works[which]()
            if round_:
                seconds[which].append(clock() - start)
    ratios = sorted(a / b for a, b in zip(*seconds, strict=True))
    return {
        "ours_s": statistics.median(seconds[0]),
        "peer_s": statistics.median(seconds[1]),
        "ratio": statistics.median(ratios),
        "ratio_least": ratios[0],
        "ratio_greatest": ratios[-1],
    }


class States(nn.Module):
    """A model of transformers that returns its states alone."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, given: Tensor) -> Tensor:
        states: Tensor = self.model(given).last_hidden_state
        return states


def stepper(model: nn.Module, given: Tensor) -> Work:
    """A training step: forward, backward, fused AdamW; the loss is the states' mean square."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    model.train()

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(given).square().mean().backward()
        optimizer.step()

    return step


def training_steps(
    name: str, pairs: dict[str, Callable[[], tuple[nn.Module, nn.Module, Tensor]]], words: list[str]
) -> None:
    """Measure the step of each pair whose name holds one of the words, and keep the rows.

    A pair is made by calling it: our model, theirs of as many numbers, and what both read.
    """
    file = RESULTS / f"{name}.json"
    torch.manual_seed(0)
    kept = json.loads(file.read_text()) if file.exists() else {"rows": {}}
    for row in [row for row in pairs if not words or any(word in row for word in words)]:
        ours, theirs, given = pairs[row]()
        counts = [sum(p.numel() for p in model.parameters()) for model in (ours, theirs)]
        assert counts[0] == counts[1], f"{row}: {counts}"
        taken = in_pairs(stepper(ours, given), stepper(States(theirs), given), ROUNDS)
        kept["rows"][row] = {"batch": len(given), "threads": torch.get_num_threads(), **taken}
        print(f"{row}: ours {taken['ours_s'] * 1e3:.0f} ms, transformers "
              f"{taken['peer_s'] * 1e3:.0f}; ratio {taken['ratio']:.2f} "
              f"({taken['ratio_least']:.2f} to {taken['ratio_greatest']:.2f}; aim 0.85)",
              flush=True)  # fmt: skip
    kept |= {"cores": os.cpu_count(), "torch": torch.__version__}
    file.write_text(json.dumps(kept, indent=1) + "\n")
