"""The tables and plots of page 5.18, from the saved runs of its two experiments."""

from collections.abc import Callable, Mapping, Sequence
from statistics import mean, median
from typing import Any

from matplotlib.figure import Figure

from deepdive_book.ch05.runs import residual_scores
from deepdive_book.ch05.runs.encoder_depth import (
    DEEP,
    DRAWN,
    EMBEDDINGS,
    LONGER,
    OUTPUTS,
    SHALLOW,
    VARIANTS,
    trained,
)
from deepdive_book.ch05.runs.residual_scores import PLAIN, REAL, SCALED
from deepdive_book.ch05.runs.sublayer_tables import NOT_SAVED, selected
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import PALETTE
from deepdive_book.kit.plotting import with_alt
from deepdive_book.kit.rows import interval, paired
from deepdive_book.kit.tables import table

Rows = Sequence[dict[str, Any]]
TRANSPARENT = "post-norm, transparent"
# First minus second, both at their own learning rates.
DEPTH_CONTRASTS = (
    ("post-norm, long warm-up", "post-norm"), ("post-norm, fixed mean", "post-norm"),
    (TRANSPARENT, "post-norm"), (TRANSPARENT, LONGER), (TRANSPARENT, "post-norm, fixed mean"),
    (TRANSPARENT, OUTPUTS), (TRANSPARENT, "pre-norm"), (TRANSPARENT, EMBEDDINGS),
)  # fmt: skip
SCORE_CONTRASTS = (
    (REAL, PLAIN), (SCALED, PLAIN), (REAL, SCALED), (REAL, "pre-norm"),
    ("pre-norm, residual scores", "pre-norm"),
)  # fmt: skip
COLUMNS = {
    ("reversal", DEEP): f"{DEEP} encoder layers",
    ("reversal", SHALLOW): f"{SHALLOW} encoder layers",
}  # fmt: skip


def of_depth(rows: Rows, variant: str, setting: tuple[str, int]) -> list[dict[str, Any]]:
    """Return a variant's runs at its learning rate, none where it wasn't trained so.

    Those of the embeddings, which have no layers, are found next to the deep encoders'.
    """
    task, n_layers = setting
    if variant == EMBEDDINGS and n_layers == DEEP:
        n_layers = 0
    if not trained(variant, task, n_layers):
        return []
    return selected(rows, task=task, variant=variant, n_layers=n_layers)


def _tests(runs: Rows) -> dict[int, float]:
    return {row["seed"]: row["test"] for row in runs}


def depth_table(rows: Rows) -> Html:
    """Show each variant's test loss by task and depth, at its own learning rate."""
    if not rows:
        return table(NOT_SAVED)
    lines: list[dict[str, Any]] = []
    shares = {"accuracy": "accuracy", "embeddings in the memory": "embeddings",
              "last layer in the memory": "last"}  # fmt: skip
    for name in VARIANTS:
        first = of_depth(rows, name, ("reversal", DEEP))
        line: dict[str, Any] = {"variant": name, "parameters": f"{first[0]['parameters']:,}"}
        for setting, title in COLUMNS.items():
            if runs := of_depth(rows, name, setting):
                line[title] = interval(list(_tests(runs).values()))
                line[f"LR, {setting[1]} layers"] = f"{runs[0]['rate']:g}"
        for title, key in shares.items():
            line[title] = f"{mean(row[key] for row in first):.0%}"
        lines.append(line)
    deep, shallow = ((title, f"LR, {at[1]} layers") for at, title in COLUMNS.items())
    head = ["variant", "parameters", *deep, *shares, *shallow]
    return table(lines, head, formats=dict.fromkeys(COLUMNS.values(), ".3f"),
                 caption="Test losses are in nats per symbol, as means over five seeds [95% "
                 "interval], and each variant has its own learning rate (LR). All columns but the "
                 "last two are for 16 encoder layers. Transparent attention has 34 additional "
                 "parameters, and pre-norm 128, in its final norms. The accuracy is the percentage "
                 "of correct symbols, given the correct previous ones (6% by chance). The columns "
                 "on the memory have the mean weights of the embeddings and of the last layer in "
                 "what the decoder attends to. Empty cells weren't run.")  # fmt: skip


def _contrasts(rows: Rows, pairs: Sequence[tuple[str, str]], columns: Mapping[Any, str],
               runs_of: Callable[..., Rows], unit: str) -> Html:  # fmt: skip
    """Show differences of test losses, paired by seed, where both variants have runs."""
    if not rows:
        return table(NOT_SAVED)
    both = {(pair, key): [runs_of(rows, name, key) for name in pair]
            for pair in pairs for key in columns}  # fmt: skip
    both = {at: runs for at, runs in both.items() if all(runs)}
    lines: list[dict[str, Any]] = []
    for pair in pairs:
        line: dict[str, Any] = {"difference": " minus ".join(pair)}
        for key, title in columns.items():
            if runs := both.get((pair, key)):
                differences = paired(*(_tests(of) for of in runs))
                line[title] = interval(differences, contrasts=len(both))
        lines.append(line)
    return table(lines, formats=dict.fromkeys(columns.values(), ".3f"),
                 caption=f"Each cell is a difference of test losses in nats per {unit}, paired by "
                 f"seed [95% interval, Bonferroni-corrected for all {len(both)} differences]. If "
                 "it's negative, the first variant has the lower loss. Empty "
                 "cells weren't run.")  # fmt: skip


def depth_contrasts(rows: Rows) -> Html:
    """Show differences of the encoder-decoders' test losses."""
    return _contrasts(rows, DEPTH_CONTRASTS, COLUMNS, of_depth, "symbol")


def _norms(rows: Rows, name: str, steps: int) -> list[list[float]]:
    return [row["norms"] for row in rows if (row["name"], row["steps"]) == (name, steps)]


def gradient_figure(rows: Rows) -> Figure:
    """Draw the gradient norm of each encoder layer, the median of the seeds and their range."""
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, steps in zip(panels, sorted({row["steps"] for row in rows}), strict=False):
        for (name, _), color in zip(DRAWN.items(), PALETTE, strict=False):
            layers = [sorted(of) for of in zip(*_norms(rows, name, steps), strict=True)]
            at, middle = range(1, len(layers) + 1), [median(of) for of in layers]
            axes.semilogy(at, middle, "o-", ms=3, lw=1.2, color=color, label=name)
            axes.fill_between(at, [of[0] for of in layers], [of[-1] for of in layers],
                              color=color, alpha=0.1, lw=0)  # fmt: skip
        axes.set(
            xlabel="encoder layer", title=f"after {steps} steps" if steps else "before training"
        )
    panels[0].set_ylabel("gradient norm")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3,
                  fontsize=8)  # fmt: skip
    return with_alt(
        figure,
        "Gradient norm by encoder layer on a logarithmic axis, before training and after 50 steps. "
        "After 50 steps, post-norm at the high learning rate has by far the widest range of seeds, "
        "which reaches far below all other lines in the lower layers.",
    )


def gradient_table(rows: Rows) -> Html:
    """Show the gradient norm of the last encoder layer divided by that of the first, by seed."""
    if not rows:
        return table(NOT_SAVED)
    lines = []
    for name, (_, rate) in DRAWN.items():
        line: dict[str, Any] = {"variant": name, "LR": f"{rate:g}"}
        for steps in (0, 50):
            ratios = sorted(norms[-1] / norms[0] for norms in _norms(rows, name, steps))
            title = f"after {steps} steps" if steps else "before training"
            line[title] = ", ".join(f"{ratio:.2g}" if ratio < 100 else f"{ratio:,.0f}"
                                    for ratio in ratios)  # fmt: skip
        firsts = sorted((norms[0] for norms in _norms(rows, name, 50)), reverse=True)
        line["first layer's norm after 50 steps"] = ", ".join(map(_one_digit, firsts))
        lines.append(line)
    return table(lines, caption="The columns before training and after 50 steps have the gradient "
                 "norm of the last encoder layer divided by that of the first, in rising order. "
                 "The last column has the norm of the first layer itself, in falling order. Every "
                 "cell has five seeds. The encoders have 16 layers, and the task is "
                 "reversal.")  # fmt: skip


def _one_digit(x: float) -> str:
    """Write a small positive number with one significant digit, and no exponent."""
    return f"{float(f'{x:.1g}'):.9f}".rstrip("0")


def of_scores(rows: Rows, variant: str, setting: tuple[int, int]) -> list[dict[str, Any]]:
    """Return a variant's runs at its learning rate, none where it wasn't trained so."""
    if variant not in residual_scores.SETTINGS[setting]:
        return []
    return selected(rows, variant=variant, n_layers=setting[0], steps=setting[1])


def _score_columns() -> dict[tuple[int, int], str]:
    return {(n, steps): f"{n} layers, {steps} steps" for n, steps in residual_scores.SETTINGS}


def score_table(rows: Rows) -> Html:
    """Show the loss of each language model."""
    if not rows:
        return table(NOT_SAVED)
    lines: list[dict[str, Any]] = []
    for name in residual_scores.VARIANTS:
        line: dict[str, Any] = {"variant": name}
        for setting, title in _score_columns().items():
            if runs := of_scores(rows, name, setting):
                line.setdefault("parameters", f"{runs[0]['parameters']:,}")
                line[title] = interval(list(_tests(runs).values()))
                line[f"LR ({title})"] = f"{runs[0]['rate']:g}"
        lines.append(line)
    columns = [c for title in _score_columns().values() for c in (title, f"LR ({title})")]
    return table(lines, ["variant", "parameters", *columns],
                 formats=dict.fromkeys(_score_columns().values(), ".3f"),
                 caption="Test losses are in nats per character, as means over five seeds [95% "
                 "interval], and each variant has its own learning rate (LR). Pre-norm's "
                 "additional 64 parameters are its final norm. Empty cells weren't "
                 "run.")  # fmt: skip


def attention_table(rows: Rows) -> Html:
    """Show the entropy of each language model's attention, and the agreement of its layers."""
    if not rows:
        return table(NOT_SAVED)
    lines: list[dict[str, Any]] = []
    titles = {(what, at): f"{what}, {at[1]} steps" for what in ("entropy", "agreement")
              for at in residual_scores.SETTINGS}  # fmt: skip
    for name in residual_scores.VARIANTS:
        line: dict[str, Any] = {"variant": name}
        for (what, at), title in titles.items():
            if runs := of_scores(rows, name, at):
                line[title] = interval([mean(row[what]) for row in runs])
        lines.append(line)
    return table(lines, ["variant", *titles.values()],
                 formats=dict.fromkeys(titles.values(), ".0%"),
                 caption="Entropy and agreement, defined above, are means over heads, layers, and "
                 "five seeds [95% interval], on the test text. Each variant has the learning rate "
                 "of the table of losses. Empty cells weren't run.")  # fmt: skip


def score_contrasts(rows: Rows) -> Html:
    """Show differences of the language models' test losses."""
    return _contrasts(rows, SCORE_CONTRASTS, _score_columns(), of_scores, "character")


def attention_figure(rows: Rows, setting: tuple[int, int] = (4, 300)) -> Figure:
    """Draw entropy by layer, and agreement by pair of adjacent layers, as means over seeds."""
    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    panels = figure.subplots(1, 2)
    whats = ("entropy", "agreement")
    for name, color in zip(residual_scores.VARIANTS, PALETTE, strict=False):
        runs = of_scores(rows, name, setting)
        for axes, what in zip(panels, whats, strict=True):
            values = [100 * mean(layer) for layer in zip(*(r[what] for r in runs), strict=True)]
            axes.plot(range(1, len(values) + 1), values, "o-", ms=4, lw=1.2, color=color,
                      label=name)  # fmt: skip
    panels[0].set(xlabel="layer", ylabel="entropy (% of uniform)")
    panels[1].set(xlabel="layer and the next", ylabel="agreement (%)")
    for axes in panels:
        axes.xaxis.get_major_locator().set_params(integer=True)
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8
    )
    return with_alt(
        figure,
        "Left: entropy of attention by layer. Right: agreement of each layer's attention with the "
        "next layer's. One line per variant, means over five seeds.",
    )
