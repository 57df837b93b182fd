"""Experiment of page 5.16: the relative effective context length of four trainings, after Dai et
al. 2019, section 4.6, and a control that has no longer context.

For each seed, the four trainings of `recurrence` are repeated at their learning rates, and every
test character is predicted from windows of several lengths.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import mean, median
from typing import Any

import torch
from torch import Tensor, nn

from deepdive_book.ch05.runs.recurrence import (
    ABSOLUTE,
    ARMS,
    BEFORE,
    LONGER,
    RELATIVE,
    SEEDS,
    STEPS,
    TARGETS,
    XL,
    build,
    corpus,
    losses,
    stretches,
    train,
)
from deepdive_book.kit.experiments import load_rows, results_path, share, sweep
from deepdive_book.kit.markup import Html
from deepdive_book.kit.profile import profile
from deepdive_book.kit.tables import NOT_HERE, table

RATES = {ABSOLUTE: 0.003, RELATIVE: 0.003, LONGER: 0.01, XL: 0.003}  # selected by `recurrence`
CONTEXTS = (4, 8, 16, 32, 64, 128)  # characters in a window
FRACTIONS = (0.1, 0.5, 1.0)  # of the positions, those with the largest loss of the short context
THRESHOLD = 0.01
CONTROL = "another seed, the same context"
CONTROL_SEED = 50


@torch.no_grad()
def window_losses(model: nn.Module, rows: Tensor, context: int) -> Tensor:
    """Return the bits of every target (N,), each predicted from the `context` characters before."""
    model.eval()
    windows = rows[:, BEFORE - context :].unfold(1, context + 1, 1)[:, 1:][:, -TARGETS:]
    return torch.cat([losses(model, part)[:, -1] for part in windows.flatten(0, 1).split(512)])


def hardest(baseline: Tensor, fraction: float) -> Tensor:
    """Return the indices of the positions with the largest baseline loss."""
    return baseline.topk(max(1, round(fraction * len(baseline)))).indices


def relative_gain(baseline: Tensor, longer: Tensor, fraction: float) -> float:
    """Return by which fraction the better of baseline (N,) and longer (N,), position by position,
    has a lower loss than the baseline, on the hardest positions.
    """
    at = hardest(baseline, fraction)
    return 1 - float(torch.minimum(baseline, longer)[at].mean() / baseline[at].mean())


def gains(found: Mapping[str, Mapping[int, Tensor]], other: Mapping[int, Tensor],
          fraction: float) -> dict[str, list[float]]:  # fmt: skip
    """Return each arm's gain from doubling the context, for all contexts but the last, and that of
    the control `other`, whose context stays the same.

    The baseline of a context is the least loss of all arms at each position (Dai et al. 2019).
    """
    best = {c: torch.stack([each[c] for each in found.values()]).amin(0) for c in CONTEXTS}
    pairs = list(pairwise(CONTEXTS))
    result = {name: [relative_gain(best[short], each[long], fraction) for short, long in pairs]
              for name, each in found.items()}  # fmt: skip
    result[CONTROL] = [relative_gain(best[short], other[short], fraction) for short, _ in pairs]
    return result


def effective_length(each: list[float], threshold: float = THRESHOLD) -> int:
    """Return the shortest context whose doubling gains less than `threshold`; the longest measured
    if none is.
    """
    short = [c for c, gain in zip(CONTEXTS, each, strict=False) if gain < threshold]
    return short[0] if short else CONTEXTS[-1]


def measure(seed: int, steps: int) -> dict[str, Any]:
    """Train the arms and the control; return gains, effective lengths, and losses."""
    text = corpus()
    rows = stretches(text.test)

    def evaluated(name: str, own_seed: int) -> dict[int, Tensor]:
        torch.manual_seed(own_seed)
        model = build(len(text.letters), ARMS[name].relative)
        train(model, ARMS[name], text.train, RATES[name], own_seed, steps)
        return {context: window_losses(model, rows, context) for context in CONTEXTS}

    found = {name: evaluated(name, seed) for name in ARMS}
    other = evaluated(RELATIVE, seed + CONTROL_SEED)
    by_fraction = {f"{f:g}": gains(found, other, f) for f in FRACTIONS}
    return {
        "gains": {f: {name: [round(x, 5) for x in each] for name, each in of.items()}
                  for f, of in by_fraction.items()},
        "lengths": {f: {name: effective_length(each) for name, each in of.items()}
                    for f, of in by_fraction.items()},
        "losses": {name: {f"{c}": round(float(each[c].mean()), 4) for c in CONTEXTS}
                   for name, each in found.items()},
    }  # fmt: skip


def load() -> list[dict[str, Any]]:
    """Return the saved runs; in the profile `experiment` measure the missing ones first."""
    path = results_path("05_efficient", "effective_context")
    if profile() == "experiment":
        points = [{"seed": seed, "steps": round(share() * STEPS)} for seed in SEEDS]
        sweep(measure, points, path, data="tinyshakespeare")
    return load_rows(path)


def context_table(rows: Sequence[dict[str, Any]]) -> Html:
    """Show each training's loss by context, its effective length, and the control's."""
    if not rows:
        return table([{"training": NOT_HERE}])
    lines = []
    for name in (*ARMS, CONTROL):
        line: dict[str, Any] = {"training": name}
        if name in ARMS:
            for context in CONTEXTS:
                line[f"{context}"] = mean(row["losses"][name][f"{context}"] for row in rows)
        for fraction in FRACTIONS[::2]:
            lengths = sorted(row["lengths"][f"{fraction:g}"][name] for row in rows)
            line[f"RECL, r = {fraction:g}"] = f"{median(lengths):g} ({lengths[0]} to {lengths[-1]})"
        each = [gain for row in rows for gain in row["gains"]["0.1"][name]]
        line["mean gain, r = 0.1"] = mean(each)
        lines.append(line)
    return table(lines, formats={**dict.fromkeys((f"{c}" for c in CONTEXTS), ".3f"),
                                 "mean gain, r = 0.1": ".1%"},
                 caption="The columns 4 to 128 have the loss in bits per character with windows of "
                 f"as many characters, the mean of {len(rows)} seeds. The relative effective "
                 "context length (RECL) is the median of the seeds (lowest to highest), on the "
                 "fraction r of the positions that are hardest for the shorter context. The gain "
                 "is the mean of the five doublings. The last row has no longer context: it's "
                 "the second model of the table, trained from another seed.")  # fmt: skip
