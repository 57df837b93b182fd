"""The tables of page 5.15, from the saved runs of its three experiments."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from deepdive_book.ch05.runs import all_attention
from deepdive_book.ch05.runs.norm_variants import (
    DEEP,
    FINAL,
    OPEN,
    SCALED,
    SEEDS,
    SETTINGS,
    TUNING_SEEDS,
    VARIANTS,
    best_rate,
)
from deepdive_book.kit.markup import Html
from deepdive_book.kit.rows import by_seed, interval, paired
from deepdive_book.kit.tables import NOT_HERE, table

Rows = Sequence[dict[str, Any]]
NOT_SAVED = [{"variant": NOT_HERE}]
# First minus second, both at their own learning rates.
CONTRASTS = (
    ("pre-norm, RMSNorm", "pre-norm"), ("ReZero", "pre-norm"), ("ReZero", SCALED),
    (OPEN, "pre-norm"), (FINAL, SCALED),
)  # fmt: skip


def selected(rows: Rows, **fields: Any) -> list[dict[str, Any]]:
    """Return a variant's runs at the rate that its tuning runs select."""
    mine = [row for row in rows if fields.items() <= row.items()]
    rate = best_rate([row for row in mine if row["seed"] in TUNING_SEEDS])
    return [row for row in mine if row["rate"] == rate and row["seed"] in SEEDS]


def settings() -> dict[tuple[int, int], str]:
    """Return the name of each setting, (layers, steps)."""
    return {(n, steps): f"{n} layers, {steps} steps" for n, steps in SETTINGS}


def of_setting(rows: Rows, name: str, setting: tuple[int, int]) -> list[dict[str, Any]]:
    """Return a variant's runs in a setting, none where it wasn't trained so."""
    if name not in SETTINGS[setting]:
        return []
    return selected(rows, variant=name, n_layers=setting[0], steps=setting[1])


def _finite(rows: Rows) -> dict[int, float]:
    return {row["seed"]: row["test"] for row in rows if row["test"] is not None}


def trainability_table(rows: Rows) -> Html:
    """Show each variant's test loss at each depth, at its own learning rate."""
    if not rows:
        return table(NOT_SAVED)
    lines: list[dict[str, Any]] = []
    for name in VARIANTS:
        deepest = of_setting(rows, name, DEEP)
        line: dict[str, Any] = {"variant": name, "parameters": f"{deepest[0]['parameters']:,}"}
        for setting, title in settings().items():
            if runs := of_setting(rows, name, setting):
                line[title] = interval(list(_finite(runs).values()))
                line[f"LR ({title})"] = f"{runs[0]['rate']:g}"
        lines.append(line)
    return table(lines, caption="Test loss in nats per character, mean over five seeds [95% t "
                 "interval], each variant at its own learning rate (LR). Parameters: with 24 "
                 "layers.")  # fmt: skip


def contrast_table(rows: Rows) -> Html:
    """Show differences of test losses, paired by seed."""
    if not rows:
        return table(NOT_SAVED)
    pairs = [(pair, setting) for pair in CONTRASTS for setting in SETTINGS
             if {*pair} <= {*SETTINGS[setting]}]  # fmt: skip
    lines: list[dict[str, Any]] = []
    for first, second in CONTRASTS:
        line: dict[str, Any] = {"difference": f"{first} minus {second}"}
        for setting, title in settings().items():
            if ((first, second), setting) in pairs:
                both = [_finite(of_setting(rows, name, setting)) for name in (first, second)]
                line[title] = interval(paired(*both), contrasts=len(pairs))
        lines.append(line)
    return table(lines, caption="Difference of the test losses in nats per character, paired by "
                 "seed [95% t interval, Bonferroni-corrected for all differences of the table]. "
                 "Negative: the first has the lower loss.")  # fmt: skip


def all_attention_table(rows: Rows) -> Html:
    """Compare all-attention with feed-forward layers and with attention alone."""
    if not rows:
        return table(NOT_SAVED)
    full, lines = all_attention.FULL, []
    budgets = (all_attention.STEPS, all_attention.LONG)
    for name in all_attention.VARIANTS:
        first = selected(rows, variant=name, steps=budgets[0])
        line: dict[str, Any] = {
            "variant": name, "parameters": f"{first[0]['parameters']:,}",
            "time per step": f"{median(row['step_ms'] for row in first):.0f} ms",
        }  # fmt: skip
        for budget in budgets:
            if budget == all_attention.LONG and name not in all_attention.TWICE:
                continue
            runs = selected(rows, variant=name, steps=budget)
            losses = by_seed(runs, "test")
            base = by_seed(selected(rows, variant=full, steps=budget), "test")
            line[f"steps ({budget})"] = f"{runs[0]['done']:,}"
            line[f"LR ({budget})"] = f"{runs[0]['rate']:g}"
            line[f"test loss ({budget})"] = interval(list(losses.values()))
            if name != full:
                line[f"difference ({budget})"] = interval(
                    paired(losses, base),
                    contrasts=len(all_attention.VARIANTS) + len(all_attention.TWICE) - 2,
                )
        lines.append(line)
    order = ["variant", "parameters", "time per step"]
    order += [f"{what} ({n})" for n in budgets for what in ("steps", "LR", "test loss",
                                                            "difference")]  # fmt: skip
    return table(lines, order, caption="Test loss in nats per character at equal training FLOPs, "
                 f"those of {budgets[0]} or {budgets[1]} steps of attention + feed-forward; mean "
                 "over five seeds [95% t interval]. Difference: from attention + feed-forward, "
                 "paired by seed and corrected for five comparisons. Time: median on two shared "
                 "CPU cores, a rough number.")  # fmt: skip


def timing_table(rows: Rows) -> Html:
    """Show RMSNorm's time divided by layer normalization's."""
    if not rows:
        return table(NOT_SAVED)
    lines = []
    for row in rows:
        ratios = sorted(row["ratios"])
        low, high = ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]
        lines.append({"code": row["kind"], "width": f"{row['width']}", "passes": row["passes"],
                      "time ratio": f"{median(ratios):.2f} ({low:.2f} to {high:.2f})"})  # fmt: skip
    return table(lines, caption="Time of RMSNorm divided by that of layer normalization: median of "
                 "30 repetitions (10th to 90th percentile).")  # fmt: skip
