"""The tables of page 5.15, from the saved runs of its three experiments."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from matplotlib.figure import Figure

from deepdive_book.ch05.runs import all_attention
from deepdive_book.ch05.runs.norm_variants import (
    FINAL,
    OPEN,
    SCALED,
    SEEDS,
    SETTINGS,
    STEPS,
    TUNING_SEEDS,
    VARIANTS,
    best_rate,
)
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import PALETTE
from deepdive_book.kit.plotting import with_alt
from deepdive_book.kit.rows import interval, paired
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
        first = of_setting(rows, name, (4, STEPS))
        line: dict[str, Any] = {"variant": name, "parameters": f"{first[0]['parameters']:,}"}
        for setting, title in settings().items():
            if runs := of_setting(rows, name, setting):
                losses = list(_finite(runs).values())
                line[title] = interval(losses) if losses else "diverges, all 5 seeds"
                line[f"LR ({title})"] = f"{runs[0]['rate']:g}" if losses else "none"
        lines.append(line)
    return table(lines, formats=dict.fromkeys(settings().values(), ".3f"),
                 caption="Test losses are in nats per character, as means over five seeds [95% "
                 "interval], and each variant has its own learning rate (LR), none where all rates "
                 "diverged. The parameters are those with 4 layers. Empty cells "
                 "weren't run.")  # fmt: skip


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
    return table(lines, formats=dict.fromkeys(settings().values(), ".3f"),
                 caption="Each cell is a difference of test losses in nats per character, paired "
                 "by seed [95% interval, Bonferroni-corrected for all differences of the "
                 "table]. If it's negative, the first variant has the lower loss. Empty cells "
                 "weren't run.")  # fmt: skip


def all_attention_table(rows: Rows) -> Html:
    """Compare all-attention with feed-forward layers and with attention alone."""
    if not rows:
        return table(NOT_SAVED)
    full, lines = all_attention.FULL, []
    budgets = {all_attention.STEPS: "", 2 * all_attention.STEPS: ", twice the FLOPs"}
    contrasts = len(all_attention.VARIANTS) + len(all_attention.TWICE) - 2
    for name in all_attention.VARIANTS:
        first = selected(rows, variant=name, steps=all_attention.STEPS)
        line: dict[str, Any] = {
            "variant": name, "parameters": f"{first[0]['parameters']:,}",
            "steps": f"{first[0]['done']:,}", "LR": f"{first[0]['rate']:g}",
            "ms per step": f"{median(row['step_ms'] for row in first):.0f}",
        }  # fmt: skip
        for steps, words in budgets.items():
            at = {"steps": steps, "rate": first[0]["rate"]}
            base_rate = selected(rows, variant=full, steps=all_attention.STEPS)[0]["rate"]
            losses = _of_seeds(rows, variant=name, **at)
            base = _of_seeds(rows, variant=full, steps=steps, rate=base_rate)
            if losses:
                line[f"test loss{words}"] = interval(list(losses.values()))
            if losses and name != full:
                line[f"difference{words}"] = interval(paired(losses, base), contrasts=contrasts)
        lines.append(line)
    head = ["variant", "parameters", "steps", "LR", "ms per step"]
    head += [f"{what}{words}" for words in budgets.values() for what in ("test loss", "difference")]
    return table(lines, head, formats=dict.fromkeys(head[5:], ".3f"),
                 caption="Test losses are in nats per character at equal training FLOPs, as means "
                 "over five seeds [95% interval]. Differences are from attention + "
                 "feed-forward, paired by seed and corrected for five comparisons. Empty cells "
                 "weren't run. Milliseconds (ms) per step are medians on two shared CPU cores, so "
                 "they're rough.")  # fmt: skip


def _of_seeds(rows: Rows, **fields: Any) -> dict[int, float]:
    """Return the test losses of the runs with these fields, by seed, without those for tuning."""
    return {row["seed"]: row["test"] for row in rows
            if fields.items() <= row.items() and row["seed"] in SEEDS}  # fmt: skip


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
    return table(lines, caption="Each ratio is the time of RMSNorm divided by the time of layer "
                 "normalization, as the median of 30 repetitions (10th to "
                 "90th percentile).")  # fmt: skip


def gradient_figure(norms: Mapping[str, Sequence[float]]) -> Figure:
    """Draw the gradient norm of each layer, on a logarithmic axis."""
    figure = Figure(figsize=(6.4, 3.0))
    axes = figure.subplots()
    for (name, values), color in zip(norms.items(), PALETTE, strict=False):
        axes.semilogy(range(1, len(values) + 1), values, "o-", ms=3, lw=1.2, color=color,
                      label=name)  # fmt: skip
    axes.set(xlabel="layer", ylabel="gradient norm", title="before training")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return with_alt(
        figure,
        "Gradient norm by layer on a logarithmic axis, before training. No norm is far above all "
        "others, ReZero lowest; post-norm, pre-norm, and the scaled control lie in between.",
    )
