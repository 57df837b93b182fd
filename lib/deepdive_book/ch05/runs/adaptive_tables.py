"""The tables of page 5.17, from the saved runs of its two experiments."""

from collections.abc import Sequence
from statistics import mean
from typing import Any

from deepdive.evaluate import t_interval
from deepdive_book.ch05.runs import adaptive_steps, early_exit
from deepdive_book.ch05.runs.adaptive_steps import ACT, CONSTANT, SEEDS, TUNING_SEED, VARIANTS
from deepdive_book.ch05.runs.norm_variants import best_rate
from deepdive_book.kit.markup import Html
from deepdive_book.kit.rows import interval, paired
from deepdive_book.kit.tables import NOT_HERE, table

Rows = Sequence[dict[str, Any]]
NOT_SAVED = [{"model": NOT_HERE}]
COLUMNS = {"16 columns": "bits_16", "64 columns": "bits_64"}
DIFFICULTIES = {"difficulty 1": "far_1", "difficulty 8": "far_8"}
EXIT_CONTRASTS = 2 * len(early_exit.THRESHOLDS)  # from a fixed depth, and from the full model


def selected(rows: Rows, variant: str, ponder_weight: float | None = None) -> list[dict[str, Any]]:
    """Return a variant's runs at the rate that its tuning runs select, in the order of the seeds;
    `ponder_weight` where it isn't the default.
    """
    mine = [row for row in rows if row["variant"] == variant]
    rate = best_rate([row for row in mine if row["seed"] == TUNING_SEED])
    found = [row for row in mine if row["rate"] == rate and row["seed"] != TUNING_SEED
             and row.get("ponder_weight") == ponder_weight]  # fmt: skip
    return sorted(found, key=lambda row: row["seed"])


def by_seed(runs: Rows, key: str) -> dict[int, float]:
    """Return a field of some runs, by seed."""
    return {row["seed"]: row[key] for row in runs}


def accuracy_table(rows: Rows) -> Html:
    """Show each model's fraction of correct bits by length."""
    if not rows:
        return table(NOT_SAVED)
    base, lines = selected(rows, CONSTANT), []
    for name in VARIANTS:
        runs = selected(rows, name)
        line: dict[str, Any] = {
            "model": name, "parameters": f"{runs[0]['parameters']:,}",
            "MFLOPs": round(mean(row["flops"] for row in runs) / 1e6, 2),
            "LR": f"{runs[0]['rate']:g}",
        }  # fmt: skip
        for title, key in COLUMNS.items():
            line[title] = interval([row[key] for row in runs])
        if name != CONSTANT:
            pairs = paired(by_seed(runs, "bits_64"), by_seed(base, "bits_64"))
            line["difference (64)"] = interval(pairs, 100, contrasts=len(VARIANTS) - 1)
        lines.append(line)
    head = [*COLUMNS]
    return table(lines, ["model", "parameters", "MFLOPs", "LR", *head, "difference (64)"],
                 formats=dict.fromkeys(head, ".1%") | {"difference (64)": ".1f"},
                 caption=f"Percentages are correct bits, as means over {len(SEEDS)} seeds [95% "
                 "interval, which can reach above 100%]. MFLOPs are millions of floating-point "
                 "operations for the forward pass of one sum of 16 columns. LR is the learning "
                 f"rate. The last column is the difference in points from {CONSTANT}, with 64 "
                 f"columns, paired by seed and corrected for {len(VARIANTS) - 1} "
                 "comparisons.")  # fmt: skip


def difficulty_table(rows: Rows) -> Html:
    """Show each model's fraction of correct bits by difficulty, and the difference."""
    if not rows:
        return table(NOT_SAVED)
    lines = []
    for name in VARIANTS:
        runs = selected(rows, name)
        line: dict[str, Any] = {"model": name}
        line |= {title: interval([row[key] for row in runs]) for title, key in DIFFICULTIES.items()}
        gaps = [row["far_8"] - row["far_1"] for row in runs]
        line["8 minus 1"] = interval(gaps, 100, contrasts=len(VARIANTS))
        lines.append(line)
    return table(lines, formats=dict.fromkeys(DIFFICULTIES, ".1%") | {"8 minus 1": ".1f"},
                 caption="Percentages are correct bits of this difficulty, in sums of 16 columns, "
                 f"as means over {len(SEEDS)} seeds [95% interval]. The difference is in points, "
                 f"paired by seed and corrected for {len(VARIANTS)} comparisons. With difficulty "
                 "1, the wide Transformer makes the same five errors with every seed: the second "
                 "bit of the five test sums that begin with 1+1 and 1+1.")  # fmt: skip


COMPARED = {"difficulty": "difficulty", "position": "position", "own bits": "column"}


def ponder_table(rows: Rows) -> Html:
    """Show how many steps ACT takes, and what they correlate with, by weight of the ponder cost."""
    if not rows:
        return table(NOT_SAVED)
    lines = []
    for weight in (adaptive_steps.WEIGHTS[0], None, *adaptive_steps.WEIGHTS[1:]):
        runs = selected(rows, ACT, weight)
        if not runs:
            continue
        for length in (adaptive_steps.LENGTH, adaptive_steps.LONGEST):
            line = {"ponder weight": f"{0.01 if weight is None else weight:g}", "columns": length}
            for title, key in (("correct bits", "bits"), ("steps", "ponder"),
                                      ("slowest column", "slowest")):  # fmt: skip
                line[title] = interval([row[f"{key}_{length}"] for row in runs])
            line["r with difficulty"] = interval([row[f"by_difficulty_{length}"] for row in runs])
            for what, key in COMPARED.items():
                line[f"absolute r, {what}"] = interval(
                    [abs(row[f"by_{key}_{length}"]) for row in runs]
                )
            lines.append(line)
    runs = selected(rows, ACT)
    gaps = [abs(row["by_column_64"]) - abs(row["by_position_64"]) for row in runs]
    value, low, high = t_interval(gaps)
    return table(lines, formats={"correct bits": ".1%", "steps": ".2f", "slowest column": ".2f",
                                 "r with difficulty": ".2f",
                                 **{f"absolute r, {what}": ".2f" for what in COMPARED}},
                 caption="All rows are Universal Transformers with ACT, as means over "
                 f"{len(SEEDS)} seeds [95% interval, not corrected; it can reach beyond possible "
                 "values]. The steps are a mean over columns, and the slowest column is the "
                 "largest number of steps in a sum, as a mean over sums. The letter r is the "
                 "correlation of a column's steps with its difficulty. The absolute r leaves out "
                 "the sign. It's given for the difficulty, the position, and whether the column's "
                 "own two bits differ. With a weight of 0.01 and 64 columns, the absolute r of own "
                 f"bits minus that of the position, paired by seed, is {value:.2f} [{low:.2f}, "
                 f"{high:.2f}].")  # fmt: skip


def measured(rows: Rows) -> list[dict[str, Any]]:
    """Return the runs of DeeBERT that aren't for tuning, in the order of the seeds."""
    return sorted((r for r in rows if r["seed"] != TUNING_SEED), key=lambda row: row["seed"])


def exit_table(rows: Rows) -> Html:
    """Show accuracy by mean depth: entropy thresholds, random layers, and fixed layers."""
    if not rows:
        return table(NOT_SAVED)
    runs, lines = measured(rows), []
    for i, threshold in enumerate(early_exit.THRESHOLDS):
        points = [row["curve"][i] for row in runs]
        lines.append({
            "threshold (nats)": f"{threshold:g}",
            "mean depth": mean(point["depth"] for point in points),
            "DeeBERT": interval([point["accuracy"] for point in points]),
            "minus full model": interval(
                [point["accuracy"] - row["accuracy"][-1]
                 for point, row in zip(points, runs, strict=True)], 100, EXIT_CONTRASTS
            ),
            "minus fixed depth": interval(
                gaps_from_fixed_depth(rows, threshold), contrasts=EXIT_CONTRASTS
            ),
            "shuffled exits": interval([point["random"] for point in points]),
            "slowest of 8": mean(point["slowest_8"] for point in points),
            "slowest of 32": mean(point["slowest_32"] for point in points),
        })  # fmt: skip
    return table(lines, formats={"mean depth": ".2f", "DeeBERT": ".1%", "minus full model": ".1f",
                                 "minus fixed depth": ".1f", "shuffled exits": ".1%",
                                 "slowest of 8": ".2f", "slowest of 32": ".2f"},
                 caption=f"Accuracies are means over {len(runs)} seeds [95% interval]. Both "
                 "differences are in points, paired by seed, and corrected for all "
                 f"{EXIT_CONTRASTS} comparisons. Up to a threshold of 0.5, the accuracy equals "
                 "the full model's with every seed. With shuffled exits, as many texts leave at "
                 "each layer as with DeeBERT, but they're chosen at random. The slowest of n is "
                 "the layer at which the last of n texts leaves, as a mean over "
                 "batches.")  # fmt: skip


def gaps_from_fixed_depth(rows: Rows, threshold: float) -> list[float]:
    """Return accuracy minus that of a fixed depth with the same mean depth, in points, by seed."""
    runs, i = measured(rows), early_exit.THRESHOLDS.index(threshold)
    return [100 * (row["curve"][i]["accuracy"] - _fixed(row["accuracy"], row["curve"][i]["depth"]))
            for row in runs]  # fmt: skip


def _fixed(accuracy: Sequence[float], depth: float) -> float:
    """Return the accuracy of fixed layers at a mean depth: linear between the two next to it."""
    below = min(int(depth), len(accuracy) - 1)
    return accuracy[below - 1] + (depth - below) * (accuracy[below] - accuracy[below - 1])


def layer_table(rows: Rows) -> Html:
    """Show the accuracy of each off-ramp."""
    if not rows:
        return table(NOT_SAVED)
    runs = measured(rows)
    lines = [{"model": "DeeBERT" if i < 5 else "DeeBERT, full model", "layers": i + 1,
              "accuracy": interval([row["accuracy"][i] for row in runs])}
             for i in range(6)]  # fmt: skip
    return table(lines, formats={"accuracy": ".1%"},
                 caption="In each row, every text leaves at the same layer. The accuracy is that "
                 f"on the test texts, as the mean over {len(runs)} seeds [95% "
                 "interval].")  # fmt: skip


def timing_table(rows: Rows) -> Html:
    """Show milliseconds per text, full model and early exit."""
    if not rows:
        return table(NOT_SAVED)
    runs, lines = measured(rows), []
    for size in (1, 32):
        full = [row[f"ms_full_{size}"] for row in runs]
        early = [row[f"ms_early_{size}"] for row in runs]
        ratios = [e / f for e, f in zip(early, full, strict=True)]
        lines.append({"batch": size, "full model": mean(full), "early exit": mean(early),
                      "ratio": interval(ratios)})  # fmt: skip
    return table(lines, formats=dict.fromkeys(("full model", "early exit", "ratio"), ".2f"),
                 caption=f"Times are milliseconds per text at a threshold of {early_exit.TIMED:g} "
                 f"nats, on one thread of a shared CPU, as means over {len(runs)} seeds. The ratio "
                 "is early exit divided by the full model, the mean of the seeds' ratios [95% "
                 "interval].")  # fmt: skip
