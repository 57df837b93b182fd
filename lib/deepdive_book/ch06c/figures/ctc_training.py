"""Two plots of training with CTC: loss and error rates over the steps, and output probabilities."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from matplotlib.figure import Figure

from deepdive_book.ch06c.runs import ctc
from deepdive_book.kit.palette import PALETTE, ROLES
from deepdive_book.kit.plotting import with_alt

Runs = Sequence[Mapping[str, Any]]
BLUE, ORANGE = PALETTE[:2]


def training_curves(settings: Mapping[str, Runs], alt: str) -> Figure:
    """Plot the loss, and below it WER (solid) and CER (dotted): one line per seed."""
    figure = Figure(figsize=(4.6, 4.4), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    for (setting, runs), color in zip(settings.items(), (BLUE, ORANGE), strict=False):
        for k, run in enumerate(runs):
            steps = [line[0] for line in run["checks"]]
            label = setting if k == 0 else None
            upper.plot(steps, _column(run, "loss"), color=color, label=label)
            for metric, style in (("wer", "-"), ("cer", ":")):
                values = [100 * value for value in _column(run, metric)]
                named = f"{setting}, {metric.upper()}" if k == 0 else None
                lower.plot(steps, values, style, color=color, label=named)
    upper.set(ylabel="loss per character", ylim=(0, 5))
    lower.set(ylabel="error rate (%)", xlabel="steps", ylim=(0, 109))
    lower.legend(loc="upper center", bbox_to_anchor=(0.45, -0.25), ncols=2, frameon=False)
    return with_alt(figure, alt)


def _column(run: Mapping[str, Any], metric: str) -> list[float]:
    return [line[ctc.METRICS[metric]] for line in run["checks"]]


def output_probabilities(run: Mapping[str, Any], steps: Sequence[int], alt: str) -> Figure:
    """Plot the probability of the blank and of the example's characters in each frame."""
    symbols = ctc.example_symbols()
    shown = [step for step in steps if str(step) in run["probabilities"]]
    figure = Figure(figsize=(4.6, 1.2 * max(1, len(shown)) + 0.5), layout="constrained")
    panes = figure.subplots(max(1, len(shown)), 1, sharex=True, squeeze=False)[:, 0]
    for axes, step in zip(panes, shown, strict=False):
        values = [[p / 1000 for p in frame] for frame in run["probabilities"][str(step)]]
        axes.fill_between(range(len(values)), [frame[0] for frame in values], color=ROLES["score"],
                          alpha=0.35, linewidth=0)  # fmt: skip
        for k, symbol in enumerate(symbols[1:], 1):
            line = [frame[k] for frame in values]
            space = ctc.LETTERS[symbol] == " "
            axes.plot(line, ":" if space else "-", color=ORANGE if space else BLUE)
            for t, p in enumerate([] if space else line):
                if p > 0.35 and p == max(line[max(0, t - 2) : t + 3]):
                    high = 1.03 + 0.32 * (t // 2 % 2)  # neighbors at two heights
                    axes.text(t, high, ctc.LETTERS[symbol], ha="center")
        axes.set(ylim=(0, 1.7), yticks=[0, 1], xlim=(0, len(values) - 1), ylabel=f"step {step}")
    axes.set_xlabel("frame of 0.04 s")
    return with_alt(figure, alt)


def widths(run: Mapping[str, Any], step: int) -> list[tuple[str, int]]:
    """Return each emitted character, or "space", with the number of its consecutive frames.

    Probabilities are saved only for the transcript's symbols. Where the sum of all others is higher
    than each of these, the symbol is another one: the output has it, if the lengths agree.
    """
    symbols = [*(ctc.LETTERS[k] for k in ctc.example_symbols()), "?"]
    frames = [[*frame, 1000 - sum(frame)] for frame in run["probabilities"][str(step)]]
    path = [max(range(len(frame)), key=frame.__getitem__) for frame in frames]
    emitted = [(symbols[k], len([*same])) for k, same in groupby(path) if k]  # 0 is the blank
    output = next(line[-1] for line in run["checks"] if line[0] == step)
    if len(output) == len(emitted):
        emitted = [(letter, width) for letter, (_, width) in zip(output, emitted, strict=True)]
    return [("space" if letter == " " else letter, width) for letter, width in emitted]
