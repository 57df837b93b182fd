"""The tables and the plot of page 5.20, from the saved runs of its experiments."""

from collections.abc import Sequence
from functools import partial
from math import sqrt
from statistics import mean
from typing import Any

import torch
from matplotlib.figure import Figure

from deepdive.evaluate import Interval, bootstrap
from deepdive.models.bert.bert import TINY, bert
from deepdive.models.efficient import hibert, longformer
from deepdive_book.ch05.runs.long_documents import (
    CUTS,
    HI,
    HIBERT,
    TWO,
    VECTORS,
    WIDTH,
    WINDOW,
    WORDS,
)
from deepdive_book.kit.flops import count_flops
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import PALETTE
from deepdive_book.kit.plotting import with_alt
from deepdive_book.kit.rows import interval, paired
from deepdive_book.kit.tables import NOT_HERE, table

Rows = Sequence[dict[str, Any]]
NOT_SAVED = [{"encoder": NOT_HERE}]
LINEAR, FLAT = "TF-IDF, logistic regression", "Transformer"
WHOLE = (WORDS, VECTORS, TWO, WINDOW, HIBERT, HI)
FIRST_LAST = "first 256, last 256"


def by_split(rows: Rows, name: str) -> dict[int, float]:
    """Return an arm's accuracy by split."""
    return {row["split"]: row["accuracy"] for row in rows if row["name"] == name}


def _runs(rows: Rows, name: str) -> list[dict[str, Any]]:
    return sorted((row for row in rows if row["name"] == name), key=lambda row: row["split"])


def whole_table(rows: Rows, linear: Rows) -> Html:
    """Show the encoders of whole reviews."""
    if not rows:
        return table(NOT_SAVED)
    lines = [{"encoder": "majority class", "parameters": "0", "accuracy": 0.5}]
    runs = _runs(linear, WINDOW)
    lines.append({
        "encoder": LINEAR, "parameters": f"{round(mean(r['parameters'] for r in runs), -3):,.0f}",
        "accuracy": interval([r["accuracy"] for r in runs]),
    })  # fmt: skip
    for name in WHOLE:
        if runs := _runs(rows, name):
            spent = mean(row["spent"] for row in runs)
            mixed = [row["shuffled"] for row in runs if row["shuffled"] is not None]
            lines.append({
                "encoder": name, "parameters": f"{mean(r['parameters'] for r in runs):,.0f}",
                "GFLOP": f"{spent:.0f}" if spent >= 1 else "below 1",
                "passes": f"{mean(r['epochs'] for r in runs):.1f}",
                "LR": f"{runs[0]['rate']:g}",
                "accuracy": interval([r["accuracy"] for r in runs]),
                "sentences shuffled": interval(mixed),
            })  # fmt: skip
    head = ["encoder", "parameters", "GFLOP", "passes", "LR", "accuracy",
            "sentences shuffled"]  # fmt: skip
    return table(lines, head, formats=dict.fromkeys(head[-2:], ".1%"),
                 caption=f"Test accuracy of encoders that read full reviews, mean over "
                 f"{len(_runs(rows, HIBERT))} splits [95% t interval]. GFLOP is the compute of "
                 "training, and LR its learning rate. The last column is the accuracy of the same "
                 "models when the sentences of each test review are shuffled.")  # fmt: skip


def cut_table(rows: Rows, linear: Rows, longer: Rows = ()) -> Html:
    """Show what is read of a review, by two kinds of classifiers; `longer`: runs of the
    Transformer on the last 512 words with more compute.
    """
    if not rows:
        return table(NOT_SAVED)
    lines = []
    for name in CUTS:
        lines.append(_cut_line(name, _runs(rows, name), _runs(linear, name)))
        if name == "last 512" and longer:
            lines.append(_cut_line("last 512, more training", _runs(longer, name), ()))
    lines.append(_cut_line("all", (), _runs(linear, WINDOW)))
    head = ["words", "mean number of words", "GFLOP", "passes", "LR", FLAT, LINEAR]
    return table(lines, head, formats=dict.fromkeys((FLAT, LINEAR), ".1%"),
                 caption="Test accuracy by the words of each review that a classifier reads, "
                 f"mean over {len(_runs(rows, HIBERT))} splits [95% t interval]. GFLOP, passes "
                 "over the reviews, and learning rate (LR) are the Transformer's.")  # fmt: skip


def _cut_line(name: str, flat: Rows, counted: Rows) -> dict[str, Any]:
    """Return one line of `cut_table`."""
    line: dict[str, Any] = {
        "words": name,
        "mean number of words": f"{mean(r['tokens'] for r in counted or flat):.0f}",
    }
    for title, runs in ((FLAT, flat), (LINEAR, counted)):
        line[title] = interval([r["accuracy"] for r in runs])
    if flat:
        line["GFLOP"] = f"{mean(r['spent'] for r in flat):,.0f}"
        line["passes"] = f"{mean(r['epochs'] for r in flat):.1f}"
        line["LR"] = f"{flat[0]['rate']:g}"
    return line


CONTRASTS = (
    (HIBERT, "last 512"), (HIBERT, WINDOW), (HIBERT, VECTORS), (HI, HIBERT), (HIBERT, WORDS),
    (HIBERT, LINEAR),
)  # fmt: skip


def correct(rows: Rows, name: str) -> list[int]:
    """Return for each test review, split after split, whether the prediction is correct."""
    return [int(x) for row in _runs(rows, name) for x in row["correct"]]


def contrast_table(rows: Rows, linear: Rows) -> Html:
    """Show differences of accuracies, paired by split and paired by review."""
    if not rows:
        return table(NOT_SAVED)
    lines, names = [], {"last 512": "Transformer, last 512 words"}
    for first, second in CONTRASTS:
        of = linear if second == LINEAR else rows
        second_name = WINDOW if second == LINEAR else second
        splits = paired(by_split(rows, first), by_split(of, second_name))
        if len(splits) < 2:
            continue
        common = {row["split"] for row in _runs(rows, first)}
        others = [row for row in of if row["split"] in common]
        reviews = [a - b for a, b in zip(correct(rows, first), correct(others, second_name),
                                         strict=True)]  # fmt: skip
        level = 1 - 0.05 / len(CONTRASTS)
        over = bootstrap(reviews, level=level)
        lines.append({
            "first": first, "second": names.get(second, second),
            "over splits": interval(splits, 100, contrasts=len(CONTRASTS)),
            "over reviews": Interval(*(100 * x for x in over)),
        })  # fmt: skip
    return table(lines, formats=dict.fromkeys(("over splits", "over reviews"), ".1f"),
                 caption=f"Test accuracy of the first minus that of the second, in points. Both "
                 "columns have the same mean. The first interval is a t interval over the splits, "
                 f"and the second is over the {len(reviews):,} test reviews, with the trained "
                 "models as they are. Both are widened for six comparisons.")  # fmt: skip


def own_error(rows: Rows, name: str = HIBERT) -> float:
    """Return the standard error, in points, that the number of test reviews alone causes."""
    right = correct(rows, name)
    share = sum(right) / len(right)
    return 100 * sqrt(share * (1 - share) / len(right))


def length_figure(rows: Rows, linear: Rows) -> Figure:
    """Draw accuracy by the mean number of words read."""
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    firsts = [name for name in CUTS if name.startswith("first") and name != FIRST_LAST]
    series = {
        LINEAR: [_runs(linear, name) for name in (*firsts, WINDOW)],
        "Transformer, first words": [_runs(rows, name) for name in firsts],
        WORDS: [_runs(rows, WORDS)],
        WINDOW: [_runs(rows, WINDOW)], VECTORS: [_runs(rows, VECTORS)],
        HIBERT: [_runs(rows, HIBERT)], HI: [_runs(rows, HI)],
    }  # fmt: skip
    for i, (name, points) in enumerate(series.items()):
        points = [runs for runs in points if len(runs) > 1]
        if not points:
            continue
        at = [mean(r["tokens"] for r in runs) + 14 * max(0, i - 2) for runs in points]
        ranges = [interval([r["accuracy"] for r in runs], 100) for runs in points]
        middle = [r.value for r in ranges]  # type: ignore[union-attr]
        error = [[r.value - r.low for r in ranges], [r.high - r.value for r in ranges]]  # type: ignore[union-attr]
        axes.errorbar(at, middle, error, marker="osD^v*P"[i], ms=5, lw=1.2, capsize=3,
                      color=PALETTE[i % len(PALETTE)], label=name)  # fmt: skip
    axes.set(xlabel="mean number of words that are read of a review", ylabel="test accuracy (%)")
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return with_alt(
        figure,
        "Test accuracy by the mean number of words read. Both lines rise with the number of "
        "words, TF-IDF the highest; the encoders of full reviews are at the right.",
    )


def costs(lengths: Sequence[int] = (256, 1024, 4096), sentence: int = 16) -> list[dict[str, Any]]:
    """Count the millions of FLOPs of three encoders' forward passes, at these numbers of words."""
    sizes: dict[str, Any] = {"d_model": 32, "n_heads": 4, "d_ff": 64, "dropout": 0.0,
                             "vocab_size": 8, "max_length": max(lengths)}  # fmt: skip
    full = bert(TINY, **sizes, n_layers=2)
    window = longformer.longformer(longformer.TINY.but(**sizes, n_layers=2, window=WIDTH))
    tree = hibert.hibert(hibert.TINY, **sizes, n_layers=1, n_document_layers=1,
                         max_sentences=max(lengths) // sentence)  # fmt: skip
    lines: list[dict[str, Any]] = []
    for n in lengths:
        ids = torch.full((1, n), 4)
        calls = {"full attention": partial(full, ids), "sliding window": partial(window, ids),
                 "HIBERT": partial(tree, ids.view(1, -1, sentence))}  # fmt: skip
        with torch.no_grad():
            lines.append({"words": n} | {k: count_flops(f) / 1e6 for k, f in calls.items()})
    return lines


def cost_table(found: Rows) -> Html:
    """Show what `costs` counts."""
    lines = [{**row, "words": f"{row['words']:,}"} for row in found]
    head = list(lines[0])
    return table(lines, head, formats=dict.fromkeys(head[1:], ",.1f"),
                 caption="Millions of FLOPs of one forward pass, with two layers of width "
                 "32.")  # fmt: skip
