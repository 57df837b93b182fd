"""Accuracies, intervals, and tables of the saved rows of page 6a.7."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deepdive.evaluate import Interval, bootstrap
from deepdive_book.ch06a.runs import chain_of_thought, in_context_results
from deepdive_book.ch06a.runs.in_context import (
    CONTENT_FREE,
    LABELS,
    TEMPLATES,
    choose_demonstrations,
)
from deepdive_book.kit.markup import Html
from deepdive_book.kit.rows import Row, load_or_measure, select
from deepdive_book.kit.tables import NOT_HERE, table

CLASSES = {"sentiment": 2, "topics": 7}
ZERO_SHOT = {"sentiment": "Sentiment:", "topics": ""}  # task -> its template's key
CONTRASTS = 8  # differences in the second table
POINTS = {  # columns of differences in percentage points, and of counts; the others have rates
    "correct − random", "correct − flipped", "calibrated − uncalibrated",
    "calibrated − calibrated zero-shot", "gain from 4", "gain from 16", "gain over direct",
    "generated tokens", "best − worst, held out",
}  # fmt: skip
HALVES = slice(0, None, 2), slice(1, None, 2)  # of the queries
Matrix = np.ndarray[Any, np.dtype[np.float64]]


def load_results() -> Results:
    """The saved rows; the profile `experiment` measures those that are missing."""
    found = load_or_measure(
        in_context_results.measure, "06a_text", "in_context", few=[],
        points=in_context_results.points(), data="rt_polarity, sib200",
        version=in_context_results.VERSION,
    )  # fmt: skip
    return Results(found.rows)


def crossed_interval(values: Any, level: float = 0.95) -> Interval:
    """Return the mean of `values` (S, N) with a t interval over both S sets and N queries.

        variance = variance of the S row means / S + variance of the N column means / N

    It covers other demonstration sets and other queries. The noise of single cells counts in both
    terms, so the interval is slightly too wide. Degrees of freedom: Satterthwaite 1946. One row
    gives the t interval over queries. Source of the variance: Owen 2007, "The Pigeonhole
    Bootstrap", for two crossed random factors.
    """
    from scipy.stats import t

    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] < 2:
        raise ValueError(f"values: got shape {found.shape}, expected (S, N), N >= 2")
    terms = [
        (found.mean(1 - axis).var(ddof=1) / size, size - 1)
        for axis, size in enumerate(found.shape)
        if size > 1
    ]
    mean, variance = float(found.mean()), float(sum(term for term, _ in terms))
    if variance == 0:
        return Interval(mean, mean, mean)
    df = variance**2 / sum(term**2 / size for term, size in terms)
    half = float(t.ppf((1 + level) / 2, df)) * variance**0.5
    return Interval(mean, mean - half, mean + half)


def points(values: Any, level: float = 0.95) -> Interval:
    """`crossed_interval` of differences, in percentage points."""
    return Interval(*(100 * bound for bound in crossed_interval(values, level)))


def rate_interval(values: Any) -> Interval:
    """`crossed_interval` of accuracies, cut off at 0 and 1."""
    return Interval(*(min(max(bound, 0), 1) for bound in crossed_interval(values)))


def correct(row: Row, key: int | str, calibrated: bool = False) -> list[bool]:
    """Whether the prediction for each query is correct."""
    found = row["predictions"][str(key)]
    found = found if isinstance(found, str) else found[calibrated]
    return [a == b for a, b in zip(found, row["gold"], strict=True)]


class Results:
    """The saved rows, as matrices (demonstration sets, queries) of correct predictions."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    def table(self, name: str, caption: str) -> Html:
        """One of the tables below, with one decimal, or why it's absent."""
        if not self.rows:
            return Html(f"<p>{NOT_HERE}</p>", NOT_HERE)
        found: list[dict[str, Any]] = getattr(self, name)()
        formats = {head: ".1f" if head in POINTS else ".1%" for row in found
                   for head, cell in row.items() if isinstance(cell, float | Interval)}  # fmt: skip
        return table(found, formats=formats, caption=caption)

    def shots(
        self, task: str, n: int, labels: str = "correct", calibrated: bool = False,
        template: str = "",
    ) -> Matrix:  # fmt: skip
        """After n demonstrations; n = 0 has one row. Without `template` the task's own."""
        if not n:
            key = template or ZERO_SHOT[task]
            rows = select(self.rows, part="zero-shot", task=task, template=key)
        elif template and template != ZERO_SHOT[task]:
            rows = select(self.rows, part="template", template=template)
        else:
            rows = select(self.rows, part="shots", task=task, labels=labels)
        rows = [row for row in rows if str(n) in row["predictions"]]
        return np.array([correct(row, n, calibrated) for row in rows], dtype=np.float64)

    def naive_bayes(self, task: str, n: int) -> Matrix:
        """Of naive Bayes trained on the same demonstrations with correct labels, or on more."""
        rows = select(self.rows, part="naive Bayes", task=task)
        return np.array([correct(row, n) for row in rows], dtype=np.float64)

    def majority(self, task: str) -> float:
        """The accuracy of always predicting the most frequent class."""
        [row] = select(self.rows, part="zero-shot", task=task, template=ZERO_SHOT[task])
        return max(Counter(row["gold"]).values()) / len(row["gold"])

    def follows(self, task: str, n: int) -> Matrix:
        """Whether predictions after n flipped demonstrations are the class that the query would
        get by the flipped rule.
        """
        rows = [row for row in select(self.rows, part="shots", task=task, labels="flipped")
                if str(n) in row["predictions"]]  # fmt: skip
        return np.array(
            [[int(a) == (int(b) + 1) % CLASSES[task]
              for a, b in zip(row["predictions"][str(n)][0], row["gold"], strict=True)]
             for row in rows], dtype=np.float64,
        )  # fmt: skip

    # -- tables

    def by_labels(self) -> list[dict[str, Any]]:
        """Accuracy by the labels in the demonstrations."""
        return [{"task": task, "demonstrations": n, "majority class": self.majority(task)}
                | {f"{kind} labels": rate_interval(self.shots(task, n, kind))
                   for kind in LABELS if n or kind == "correct"}
                | ({"naive Bayes": rate_interval(self.naive_bayes(task, n))} if n else {})
                for task in CLASSES for n in (0, 4, 16)]  # fmt: skip

    def label_effects(self) -> list[dict[str, Any]]:
        """Differences, with Bonferroni-corrected intervals."""
        level, found = 1 - 0.05 / CONTRASTS, []
        for task in CLASSES:
            for n in (4, 16):
                gold, flipped = self.shots(task, n), self.shots(task, n, "flipped")
                found.append({
                    "task": task, "demonstrations": n,
                    "correct − random": points(gold - self.shots(task, n, "random"), level),
                    "correct − flipped": points(gold - flipped, level),
                    "correct after flipped labels": float(flipped.mean()),
                    "match the flipped label": float(self.follows(task, n).mean()),
                })  # fmt: skip
        return found

    def calibration(self) -> list[dict[str, Any]]:
        """Accuracy before and after calibration, with correct and with flipped labels."""
        found = []
        for task in CLASSES:
            for n in (0, 4, 16):
                plain, fixed = (self.shots(task, n, calibrated=way) for way in (False, True))
                cells: dict[str, Any] = {
                    "task": task, "demonstrations": n, "uncalibrated": rate_interval(plain),
                    "calibrated": rate_interval(fixed),
                    "calibrated − uncalibrated": points(fixed - plain),
                }  # fmt: skip
                if n:
                    zero = self.shots(task, 0, calibrated=True)
                    cells["calibrated − calibrated zero-shot"] = points(fixed - zero)
                    cells["flipped labels, calibrated"] = rate_interval(
                        self.shots(task, n, "flipped", calibrated=True)
                    )
                found.append(cells)
        return found

    def templates(self) -> list[dict[str, Any]]:
        """Accuracy with each of three templates for the reviews."""
        found = []
        for key, template in TEMPLATES.items():
            zero, four, many = (self.shots("sentiment", n, template=key)[:3] for n in (0, 4, 16))
            found.append({
                "template": template.query.replace("\n", " / "),
                "label words": ", ".join(template.words), "zero-shot": rate_interval(zero),
                "4 demonstrations": rate_interval(four), "16 demonstrations": rate_interval(many),
                "gain from 4": points(four - zero), "gain from 16": points(many - zero),
            })  # fmt: skip
        return found

    def label_positions(self) -> list[dict[str, Any]]:
        """How many points p(positive) rises when the label at a position turns positive, with the
        lowest and the highest of the eight labelings of the other demonstrations.
        """
        [row] = select(self.rows, part="label effects")
        labels = np.array(
            [[label for _, label in choose_demonstrations(key)] for key in row["log_odds"]]
        )
        odds = np.exp(np.array(list(row["log_odds"].values())))  # (16 labelings, 4 + 3 texts)
        shares = odds / (1 + odds)
        prior = shares[:, 4:].mean(1, keepdims=True)  # of the content-free inputs
        fixed = odds * (1 - prior) / prior
        ways = {"uncalibrated": shares[:, :4], "calibrated": (fixed / (1 + fixed))[:, :4]}
        ways |= {f"“{name}”": shares[:, 4 + i, None] for i, name in enumerate(CONTENT_FREE)}
        found: list[dict[str, Any]] = []
        for position in range(labels.shape[1]):
            others = np.delete(labels, position, 1)
            order = np.lexsort((labels[:, position], *others.T))  # pairs: negative, positive
            cells: dict[str, Any] = {"position of the label": position + 1}
            for name, p in ways.items():
                pairs = 100 * p[order].mean(1).reshape(-1, 2)
                effect = pairs[:, 1] - pairs[:, 0]  # of the 8 labelings of the others
                cells[name] = f"{effect.mean():+.1f}"
                if "calibrated" in name:
                    cells[name] += f" ({effect.min():+.1f} to {effect.max():+.1f})"
            found.append({k: v.replace("-", "−") if isinstance(v, str) else v
                          for k, v in cells.items()})  # fmt: skip
        return found

    def orders(self, calibrated: bool) -> dict[str, Matrix]:
        """Whether predictions are correct after each of the 24 orders."""
        rows = select(self.rows, part="order")
        return {order: np.array(correct(row, order, calibrated), dtype=np.float64)
                for row in rows for order in row["predictions"]}  # fmt: skip

    def positive_rates(self, calibrated: bool) -> dict[str, float]:
        """The rate of "positive" predictions after each order."""
        rows = select(self.rows, part="order")
        return {order: found[calibrated].count("1") / len(found[calibrated])
                for row in rows for order, found in row["predictions"].items()}  # fmt: skip

    def order_effects(self) -> list[dict[str, Any]]:
        """The pull of the last label, and the worst and best order."""
        found = []
        for calibrated in (False, True) if select(self.rows, part="order") else ():
            rates, each = self.positive_rates(calibrated), self.orders(calibrated)
            last = {k: [rate for order, rate in rates.items() if (order[-1] in "23") == k]
                    for k in (False, True)}  # fmt: skip
            accuracies = [float(values.mean()) for values in each.values()]
            found.append({
                "24 orders": "calibrated" if calibrated else "uncalibrated",
                "“positive”, last label negative": float(np.mean(last[False])),
                "“positive”, last label positive": float(np.mean(last[True])),
                "worst order": min(accuracies), "best order": max(accuracies),
                "best − worst, held out": held_out(each),
            })  # fmt: skip
        return found

    def ablations(self) -> list[dict[str, Any]]:
        """Copying accuracy and, if it was measured, the pull of the last label after ablations."""

        def spread(values: Sequence[float], scale: float, unit: str) -> str:
            return f"{scale * min(values):.0f}{unit} to {scale * max(values):.0f}{unit}"

        columns = {"copying of random tokens": ("copy", 100, "%"), "pull (points)": ("pull", 1, "")}
        names = ("none", "the 12 best induction heads", "12 random others, 10 sets")
        found: list[dict[str, Any]] = [{"heads ablated": name} for name in names]
        for column, (part, scale, unit) in columns.items():
            for row in select(self.rows, part=part):
                cells = [f"{scale * row[key]:.0f}{unit}" for key in ("all", "ablated")]
                cells.append(spread(row["controls"], scale, unit))
                for line, cell in zip(found, cells, strict=True):
                    line[column] = cell
        return found

    def chains(self) -> list[dict[str, Any]]:
        """Accuracy of the answers, and with steps of the first and second sum."""
        names = {"correct": "answer", "first_sum": "first sum", "second_sum": "second sum"}
        marks = {
            (form, key): np.array([[digit == "1" for digit in row[key]] for row in rows], float)
            for form in chain_of_thought.FORMS
            if (rows := select(self.rows, part="steps", form=form))
            for key in names
        }
        found: list[dict[str, Any]] = []
        for form in dict.fromkeys(form for form, _ in marks):
            correct = marks[form, "correct"]
            rows = select(self.rows, part="steps", form=form)
            cells: dict[str, Any] = {
                "demonstrations": form, "answer": rate_interval(correct),
                "gain over direct": None if form == "direct" else
                points(correct - marks["direct", "correct"]),
                "generated tokens": sum(row["tokens"] for row in rows) / len(rows),
            }  # fmt: skip
            if form == "steps":
                cells |= {names[key]: rate_interval(marks[form, key]) for key in [*names][1:]}
            found.append(cells)
        return found


def held_out(orders: Mapping[str, Matrix]) -> Interval:
    """Best order − worst order in points, selected on half of the queries, scored on the others."""
    found: list[float] = []
    for chosen, others in (HALVES, HALVES[::-1]):
        ranked = sorted(orders, key=lambda order: orders[order][chosen].mean())
        found += [*(100 * (orders[ranked[-1]][others] - orders[ranked[0]][others]))]
    return bootstrap(found)
