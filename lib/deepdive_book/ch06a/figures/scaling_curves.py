"""The two standard pictures of a scaling law: loss over training tokens, and IsoFLOP curves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deepdive.evaluate.scaling import PRICE, Chinchilla, Run
from deepdive_book.kit.palette import PALETTE
from deepdive_book.kit.plotting import with_alt

BUDGETS = (1e11, 4e11, 1.6e12)  # FLOPs


def scaling_curves(law: Chinchilla, runs: Sequence[Run]) -> Any:
    """Draw measured losses and a fitted law: over tokens by model size, and over size by budget."""
    figure = Figure(figsize=(8.6, 3.6))
    tokens, isoflop = figure.subplots(1, 2, sharey=True)
    sizes = sorted({run.n for run in runs})
    spread = np.geomspace(min(run.d[0] for run in runs), max(run.d[-1] for run in runs), 40)
    for color, n in zip(PALETTE, sizes, strict=False):
        for run in runs:
            if run.n == n:
                tokens.plot(run.d, run.loss, "o", ms=3.5, color=color, mec="none", alpha=0.7)
        tokens.plot(spread, law(n, spread), color=color, label=f"N = {n:,.0f}")
    tokens.set(xscale="log", xlabel="training tokens D (characters)", ylabel="held-out loss (nats)")
    ticks = sorted({d for run in runs for d in run.d})
    tokens.set_xticks(ticks, [f"{d / 1e6:.1f} M" for d in ticks])
    tokens.minorticks_off()
    tokens.legend(fontsize=8)
    for color, budget in zip(PALETTE[::-1], BUDGETS, strict=False):
        n_best, d_best = law.best(budget)
        near = np.geomspace(n_best / 12, n_best * 12, 60)
        label = f"C = {budget:.1e} FLOPs".replace("e+", "e")
        isoflop.plot(near, law(near, budget / PRICE / near), color=color, label=label)
        isoflop.plot(n_best, law(n_best, d_best), "o", ms=9, mfc="none", mec=color, mew=2)
    isoflop.set(xscale="log", xlabel="parameters N")
    isoflop.legend(fontsize=8)
    return with_alt(
        figure,
        "Left: loss falls with training tokens, one curve for each model size; dots are runs. "
        "Right: at a fixed compute budget the loss over model size is a valley; "
        "its lowest point moves to larger models as the budget grows.",
    )
