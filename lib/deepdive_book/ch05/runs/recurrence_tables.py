"""The tables and the plot of page 5.16, from the saved runs of its experiments."""

from collections.abc import Sequence
from statistics import mean
from typing import Any

from matplotlib.figure import Figure

from deepdive_book.ch05.runs import compression, recurrence_speed
from deepdive_book.ch05.runs.recurrence import (
    ABSOLUTE,
    LONG,
    LONG_SEEDS,
    LONGER,
    RELATIVE,
    SEEDS,
    STEPS,
    XL,
)
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES
from deepdive_book.kit.plotting import with_alt
from deepdive_book.kit.rows import interval, mean_and_range, paired
from deepdive_book.kit.tables import NOT_HERE, table

Rows = Sequence[dict[str, Any]]
NOT_SAVED = [{"training": NOT_HERE}]

# A training, how it is evaluated, and the characters that a prediction can depend on.
LINES = (
    (ABSOLUTE, "segments", "1 to 32"), (ABSOLUTE, "window 32", "32"),
    (RELATIVE, "segments", "1 to 32"), (RELATIVE, "window 32", "32"),
    (RELATIVE, "memory 32", "97 to 128"), (LONGER, "window 64", "64"),
    (XL, "segments", "1 to 32"), (XL, "memory 32", "97 to 128"),
)  # fmt: skip
# First minus second.
CONTRASTS = (
    ((XL, "memory 32"), (RELATIVE, "segments")),
    ((RELATIVE, "segments"), (ABSOLUTE, "segments")),
    ((RELATIVE, "window 32"), (RELATIVE, "segments")),
    ((RELATIVE, "memory 32"), (RELATIVE, "window 32")),
    ((RELATIVE, "memory 32"), (RELATIVE, "segments")),
    ((XL, "memory 32"), (RELATIVE, "window 32")),
    ((XL, "memory 32"), (RELATIVE, "memory 32")),
    ((XL, "memory 32"), (LONGER, "window 64")),
    ((XL, "memory 96"), (XL, "memory 32")),
    ((XL, "memory 32"), (XL, "window 64")),
)
WAYS = {
    "segments": "segments, no memory", "window 32": "window of 32", "window 64": "window of 64",
    "memory 32": "memory of 32", "memory 96": "memory of 96",
}  # fmt: skip


def of_arm(rows: Rows, name: str, steps: int = STEPS) -> list[dict[str, Any]]:
    """Return an arm's runs at its own learning rate, without those for tuning."""
    return [row for row in rows
            if (row["name"], row["steps"]) == (name, steps) and row["seed"] in SEEDS]  # fmt: skip


def by_seed(rows: Rows, name: str, way: str, steps: int = STEPS) -> dict[int, float]:
    """Return an arm's bits per character by seed, evaluated in this way."""
    return {row["seed"]: row[way] for row in of_arm(rows, name, steps)}


def loss_table(rows: Rows) -> Html:
    """Show bits per character of every training, evaluated in several ways."""
    if not rows:
        return table(NOT_SAVED)
    lines = []
    for name, way, context in LINES:
        runs = of_arm(rows, name)
        if not runs:  # not measured yet
            continue
        first = runs[0]
        lines.append({
            "training": name, "evaluation": WAYS[way], "context": context,
            "parameters": f"{first['parameters']:,}", "MFLOP per step": f"{first['mflops']:.0f}",
            "LR": f"{first['rate']:g}",
            "bpc": interval(list(by_seed(rows, name, way).values())),
        })  # fmt: skip
    return table(lines, formats={"bpc": ".3f"},
                 caption="Losses are in bits per character (bpc) on the same characters of the "
                 "test text, as means over five seeds [95% interval]. The context is the number "
                 "of characters that a prediction can depend on. The learning rate (LR) was "
                 "selected for each training.")  # fmt: skip


def contrast_table(rows: Rows) -> Html:
    """Show differences of the losses, paired by seed."""
    if not rows:
        return table(NOT_SAVED)
    lines = []
    for first, second in CONTRASTS:
        values = paired(by_seed(rows, *first), by_seed(rows, *second))
        if len(values) < 2:
            continue
        lines.append({"first": f"{first[0]}, {WAYS[first[1]]}",
                      "second": f"{second[0]}, {WAYS[second[1]]}",
                      "difference": interval(values, contrasts=len(CONTRASTS))})  # fmt: skip
    return table(lines, formats={"difference": ".3f"},
                 caption="Each difference is the first loss minus the second in bits per "
                 "character, paired by seed [95% interval, Bonferroni-corrected for all "
                 "differences of the table]. If it's negative, the first "
                 "model has the lower loss.")  # fmt: skip


def longer_table(rows: Rows) -> Html:
    """Show the differences of Transformer-XL from the model without memory in training, after
    training twice as long, with two seeds.
    """
    if not rows:
        return table(NOT_SAVED)
    lines = []
    for way in ("segments", "memory 32", "window 32"):
        line = {"second": f"{RELATIVE}, {WAYS[way]}"}
        for steps in (STEPS, LONG):
            both = [{s: x for s, x in by_seed(rows, name, evaluated, steps).items()
                     if s in LONG_SEEDS}
                    for name, evaluated in ((XL, "memory 32"), (RELATIVE, way))]  # fmt: skip
            line[f"{steps:,} steps"] = mean_and_range(paired(*both), 3)
        lines.append(line)
    return table(lines, caption="Each number is the loss of Transformer-XL with a memory of 32 "
                 "minus the second loss, in bits per character. It's the mean of two seeds "
                 "(lowest to highest), the same two in both columns, and this range isn't a "
                 "confidence interval.")  # fmt: skip


def position_gains(rows: Rows) -> list[float]:
    """Return how much lower the mean loss is at each position of a segment of 32 with memory."""
    both = [[mean(v) for v in zip(*(row["by_position"] for row in of_arm(rows, name)), strict=True)]
            for name in (RELATIVE, XL)]  # fmt: skip
    return [without - with_memory for without, with_memory in zip(*both, strict=True)]


def position_figure(rows: Rows) -> Figure:
    """Draw the mean loss at each position of a segment of 32, without and with memory."""
    figure = Figure(figsize=(6.4, 2.9))
    axes = figure.subplots()
    for name, role, style in ((RELATIVE, "query", "o-"), (XL, "key", "s--")):
        each = [row["by_position"] for row in of_arm(rows, name)]
        if each:
            axes.plot(range(1, len(each[0]) + 1), [mean(v) for v in zip(*each, strict=True)],
                      style, ms=3, lw=1.2, color=ROLES[role],
                      label="with memory (Transformer-XL)" if name == XL else "without memory",
                      )  # fmt: skip
    axes.set(xlabel="position in the segment", ylabel="bits per character")
    if axes.lines:
        axes.legend(fontsize=8)
    return with_alt(
        figure,
        "Loss by position in a segment of 32. Without memory it is highest at the first positions "
        "and falls. With memory it has no such peak.",
    )


def speed_table(rows: Rows) -> Html:
    """Show the seconds of both ways to evaluate, by attention length."""
    if not rows:
        return table(NOT_SAVED)
    lines = []
    for row in rows:
        each = row["windows_s"] / recurrence_speed.SEGMENT
        lines.append({
            "attention length": f"{row['length']:,}",
            "with memory (ms)": f"{row['memory_s'] * 1e3:.0f}",
            "one window (ms)": f"{each * 1e3:.1f}",
            "128 windows (ms)": f"{row['windows_s'] * 1e3:,.0f}",
            "times as fast": f"{row['ratio']:.0f} ({row['least']:.0f} to {row['greatest']:.0f})",
        })  # fmt: skip
    return table(lines, caption="The models predict 128 characters. With windows, each character "
                 "has its own, whose length is the attention length, and 8 of the windows were "
                 "timed. With memory, the 128 characters are one segment, and as many states as "
                 "the attention length are cached. All numbers are processor times on one thread, "
                 "as medians of seven rounds. The last column is the median ratio (least to "
                 "greatest).")  # fmt: skip


def compression_table(rows: Rows) -> Html:
    """Show how far attention to compressed states is from attention to the originals."""
    if not rows:
        return table(NOT_SAVED)
    names = ("convolution, untrained", *compression.KINDS)
    words = {"dropped": "no states (dropped)", "convolution": "convolution, trained"}
    lines = [{"four states become": words.get(name, name),
              "relative error": interval([row[name] for row in rows])
              if name != "dropped" else 1.0} for name in names]  # fmt: skip
    return table(lines, formats={"relative error": ".1%"},
                 caption="The relative error is the squared error of attention's output divided "
                 "by the output's squared size, as the mean over three seeds "
                 "[95% interval].")  # fmt: skip
