"""The tables and the plot of page 6d.1, from the saved runs of its two experiments."""

import math
from collections.abc import Sequence
from statistics import mean
from typing import Any

from matplotlib.figure import Figure

from deepdive.evaluate import Interval, clustered
from deepdive_book.ch06d.runs import latent_retrieval as latent
from deepdive_book.ch06d.runs import open_domain_answers as answers
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import PALETTE
from deepdive_book.kit.plotting import with_alt
from deepdive_book.kit.rows import interval
from deepdive_book.kit.tables import table

Rows = Sequence[dict[str, Any]]
SHOWN_RATE = 0.01
CONTRASTS = (
    (answers.BM25, answers.CLOSED), (answers.BM25, answers.RANDOM), (answers.DENSE, answers.BM25),
    (answers.GOLD, answers.BM25), (answers.BM25, answers.SPAN),
)  # fmt: skip
TITLES = {
    answers.SPAN: "most frequent name in BM25's passage",
    answers.SENTENCE: "most similar sentence in BM25's passage",
}


def of(rows: Rows, key: str, method: str, values: int, rate: float = SHOWN_RATE) -> list[float]:
    """Return `key` of the runs with these settings, one per seed."""
    wanted = {"method": method, "values": values, "rate": rate}
    return [row[key] for row in rows if wanted.items() <= row.items()]


def latent_table(rows: Rows) -> Html:
    """Show recall at 1 by the number of different values, for both ways of training, and how near
    the latent loss comes to its minimum.
    """
    lines = []
    for values in latent.VALUES:
        least = -math.log(latent.COPY + (1 - latent.COPY) / values)
        line: dict[str, Any] = {
            "values": values, "passages per value": f"{latent.ENTITIES / values:g}"
        }  # fmt: skip
        for method in (latent.LATENT, latent.SUPERVISED):
            found = of(rows, "recall", method, values)
            line[f"recall, {method}"] = _percent(interval(found, 100)) if found else None
        losses = of(rows, "loss", latent.LATENT, values)
        line["latent loss (minimum)"] = f"{mean(losses):.3f} ({least:.3f})" if losses else None
        lines.append(line)
    return table(lines, caption=(
        "Recall is the share of test queries whose first passage is the right one: mean of five "
        "seeds and 95% interval, cut at 0% and 100%. A random passage is right in 0.4% of cases. "
        "The loss is that of the last step, in nats."
    ))  # fmt: skip


def latent_figure(rows: Rows) -> Figure:
    """Plot the recall of both ways of training by the number of values, for each learning rate."""
    figure = Figure(figsize=(5.2, 3), layout="constrained")
    axes = figure.subplots()
    for method, color in ((latent.LATENT, PALETTE[0]), (latent.SUPERVISED, PALETTE[1])):
        for rate, style in zip(latent.RATES, ("-", "--", ":"), strict=True):
            line = [
                mean(of(rows, "recall", method, values, rate) or [float("nan")])
                for values in latent.VALUES
            ]
            axes.plot(
                range(len(line)), line, style, marker="o", ms=4, color=color,
                label=f"{method}, rate {rate:g}",
            )  # fmt: skip
    axes.set_xticks(range(len(latent.VALUES)), [str(v) for v in latent.VALUES])
    axes.set(xlabel="different values", ylabel="recall at 1, test queries", ylim=(-0.03, 1.05))
    axes.legend(fontsize="small", loc="center right")
    return with_alt(
        figure,
        "Recall of the right passage by the number of different values. Trained by the answers "
        "alone, it is near 0 with 2 values, about 0.2 with 4, and about 1 from 16 on, with all "
        "three learning rates; with 8 values it depends on the rate. Trained with the right "
        "passages it is about 1 throughout.",
    )


def _percent(found: Interval | float | None) -> str | None:
    if not isinstance(found, Interval):
        return None if found is None else f"{found:.1f}%"
    return f"{found.value:.1f}% [{max(0.0, found.low):.1f}%, {min(100.0, found.high):.1f}%]"


def _row(rows: Rows, source: str) -> dict[str, Any]:
    return next(row for row in rows if row["source"] == source)


def answers_table(rows: Rows) -> Html:
    """Show retrieval, exact match, F1, and attribution for each source of passages."""
    lines = []
    for source in (*answers.SOURCES, answers.SPAN, answers.SENTENCE):
        row = _row(rows, source)
        exact = clustered(row["exact"], row["articles"])
        lines.append({
            "answer from": TITLES.get(source, source),
            "right one found": (
                f"{mean(row['retrieved']):.1%}" if source != answers.CLOSED else None
            ),
            "exact match": _percent(Interval(*(100 * x for x in exact))),
            "F1": f"{100 * mean(row['f1']):.1f}%",
            "is in the passage": (
                f"{mean(row['attributed']):.1%}" if source != answers.CLOSED else None
            ),
        })  # fmt: skip
    return table(lines, caption=(
        "200 questions. Intervals are 95%, from resampling the articles. \"Right one found\" is a "
        "share of the questions, and \"is in the passage\" a share of the answers."
    ))  # fmt: skip


def answers_contrasts(rows: Rows) -> Html:
    """Show differences in exact match, question by question, with corrected intervals."""
    lines = []
    for first, second in CONTRASTS:
        a, b = _row(rows, first), _row(rows, second)
        gaps = [x - y for x, y in zip(a["exact"], b["exact"], strict=True)]
        found = clustered(gaps, a["articles"], level=1 - 0.05 / len(CONTRASTS))
        low, high = (100 * x for x in (found.low, found.high))
        lines.append({
            "difference": f"{TITLES.get(first, first)} - {TITLES.get(second, second)}",
            "exact match, points": f"{100 * found.value:+.1f} [{low:+.1f}, {high:+.1f}]",
            "excludes zero": "yes" if low > 0 or high < 0 else "no",
        })  # fmt: skip
    return table(
        lines,
        caption="Intervals are widened, so that all five hold together in 95% of repeated samples.",
    )
