"""The tables and the plot of page 5.19, from the saved runs of its experiment."""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from matplotlib.figure import Figure

from deepdive_book.ch05.runs.lightweight import (
    BAG,
    DELIGHT,
    FUNNEL,
    LITE,
    MEAN,
    POOLED,
    SHALLOW,
    TUNING_SEED,
    VARIANTS,
    best_rate,
)
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import PALETTE
from deepdive_book.kit.plotting import with_alt
from deepdive_book.kit.rows import interval, paired
from deepdive_book.kit.tables import NOT_HERE, table

Rows = Sequence[dict[str, Any]]
NOT_SAVED = [{"encoder": NOT_HERE}]
# First minus second, both at their own learning rates.
CONTRASTS = (
    (FUNNEL, SHALLOW), (FUNNEL, POOLED), (DELIGHT, SHALLOW), (LITE, SHALLOW), (BAG, SHALLOW),
)  # fmt: skip
LIGHT = (FUNNEL, DELIGHT, LITE)


def runs_of(rows: Rows, name: str) -> list[dict[str, Any]]:
    """Return an encoder's runs at the learning rate that its tuning run selects."""
    mine = [row for row in rows if row["variant"] == name]
    if name != BAG and mine:
        rate = best_rate([row for row in mine if row["seed"] == TUNING_SEED])
        mine = [row for row in mine if row["rate"] == rate]
    return [row for row in mine if row["seed"] != TUNING_SEED]


def _accuracies(rows: Rows, name: str) -> dict[int, float]:
    return {row["seed"]: row["test"] for row in runs_of(rows, name)}


def accuracy_table(rows: Rows, times: Mapping[str, float]) -> Html:
    """Show each encoder's size, compute, time, and test accuracy."""
    if not rows:
        return table(NOT_SAVED)
    lines: list[dict[str, Any]] = []
    for name in (*VARIANTS, BAG):
        if not (runs := runs_of(rows, name)):
            continue
        line: dict[str, Any] = {"encoder": name}
        if name != BAG:
            line |= {"parameters": f"{runs[0]['parameters']:,}", "MFLOPs": runs[0]["flops"] / 1e6,
                     "ms per step": times[name], "LR": f"{runs[0]['rate']:g}",
                     "training": mean(row["train"] for row in runs)}  # fmt: skip
        line |= {"seeds": len(runs), "accuracy": interval([row["test"] for row in runs])}
        lines.append(line)
    head = ["encoder", "parameters", "MFLOPs", "ms per step", "LR", "training", "seeds",
            "accuracy"]  # fmt: skip
    formats = {"MFLOPs": ".1f", "ms per step": ".0f", "training": ".0%", "accuracy": ".1%"}
    return table(lines, head, formats=formats,
                 caption="Accuracy on the test texts is the mean over the seeds [95% t interval]. "
                 "Parameters don't include embeddings and positions. MFLOPs are those of one text "
                 "of 256 words, and a step is one on 16 such texts. The learning rate (LR) is each "
                 "encoder's own. Training accuracy shows how well the training texts are fitted.",
                 )  # fmt: skip


def contrast_table(rows: Rows) -> Html:
    """Show differences of the test accuracies, paired by seed."""
    if not rows:
        return table(NOT_SAVED)
    lines = [
        {"difference": " minus ".join(pair),
         "points": interval(paired(*(_accuracies(rows, name) for name in pair)), 100,
                            contrasts=len(CONTRASTS))}
        for pair in CONTRASTS
    ]  # fmt: skip
    return table(lines, formats={"points": ".1f"},
                 caption="Differences of test accuracies in points, computed seed by seed. The "
                 f"intervals are 95% t intervals, widened because there are {len(CONTRASTS)} "
                 "differences. Above 0, the first has the higher accuracy.")  # fmt: skip


def accuracy_figure(rows: Rows) -> Figure:
    """Draw accuracy against FLOPs, with intervals."""
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    for name in VARIANTS:
        if name == MEAN or len(runs := runs_of(rows, name)) < 2:
            continue
        found: Any = interval([row["test"] for row in runs], 100)
        middle = found.value
        color = PALETTE[0 if name in LIGHT else 1]
        bars = [[middle - found.low], [found.high - middle]]
        axes.errorbar(runs[0]["flops"] / 1e6, middle, bars, fmt="o", ms=5, capsize=3, color=color)
        axes.annotate(name, (runs[0]["flops"] / 1e6, middle), xytext=(6, 4), fontsize=8,
                      textcoords="offset points")  # fmt: skip
    for name, style in ((BAG, "--"), (MEAN, ":")):
        if accuracies := _accuracies(rows, name):
            level = 100 * mean(accuracies.values())
            axes.axhline(level, ls=style, lw=1, color="gray")
            axes.annotate(name, (100, level), xytext=(0, 3), fontsize=8, ha="right",
                          textcoords="offset points")  # fmt: skip
    axes.set(xlabel="MFLOPs of one text of 256 words", ylabel="test accuracy (%)", xlim=(10, 112))
    return with_alt(
        figure,
        "Test accuracy against FLOPs with 95% intervals. The intervals of the encoders overlap "
        "widely at all costs. A bag of words is above all of them.",
    )
