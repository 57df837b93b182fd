"""Intervals and tables of page 6a.7's saved rows."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from deepdive.evaluate import t_interval
from deepdive_book.ch06a.runs.in_context_analysis import Results, crossed_interval, held_out

GOLD = "0110"


def shots(labels: str, seed: int, predictions: list[str], n: int = 4) -> dict[str, object]:
    return {"part": "shots", "task": "sentiment", "labels": labels, "seed": seed, "gold": GOLD,
            "predictions": {str(n): predictions}}  # fmt: skip


def test_one_row_has_the_t_interval_of_its_values() -> None:
    values = [1.0, 0, 1, 1, 0, 1, 1, 1]
    assert crossed_interval([values]) == pytest.approx(tuple(t_interval(values)))
    assert crossed_interval(np.ones((3, 5))) == (1, 1, 1)
    with pytest.raises(ValueError, match="expected \\(S, N\\)"):
        crossed_interval(values)


@pytest.mark.parametrize(("sets", "queries"), [(3, 64), (6, 64), (6, 12)])
def test_the_interval_covers_both_kinds_of_units(sets: int, queries: int) -> None:
    """Mean zero, with effects of sets and of queries: 95 of 100 intervals hold it, or more."""
    rng, held, naive = np.random.default_rng(0), 0, 0
    for _ in range(400):
        values = (rng.normal(0, 0.3, (sets, 1)) + rng.normal(0, 1, (1, queries))
                  + rng.normal(0, 1, (sets, queries)))  # fmt: skip
        _, low, high = crossed_interval(values)
        held += low <= 0 <= high
        _, low, high = t_interval(values.ravel())  # as if all cells were independent
        naive += low <= 0 <= high
    assert held >= 0.93 * 400
    assert naive < 0.85 * 400


def test_accuracies_and_followed_flips() -> None:
    results = Results([
        shots("correct", 0, ["0110", "0110"]), shots("correct", 1, ["0111", "0110"]),
        shots("flipped", 0, ["1001", "0110"]), shots("flipped", 1, ["0110", "0110"]),
    ])  # fmt: skip
    assert results.shots("sentiment", 4).tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]
    assert results.shots("sentiment", 4, calibrated=True).all()
    flipped = results.shots("sentiment", 4, "flipped")
    assert (flipped.mean(), results.follows("sentiment", 4).mean()) == (0.5, 0.5)


def test_the_best_order_is_selected_on_other_queries() -> None:
    """An order that is best on one half only isn't better on the other."""
    better, lucky, worse = np.ones(8), np.array([1.0, 0] * 4), np.zeros(8)
    assert held_out({"a": better, "b": worse}).value == 100
    assert held_out({"a": lucky, "b": 1 - lucky}).value == -100


def test_without_rows_the_table_says_where_they_are() -> None:
    assert "saved in the project" in Results([]).table("by_labels", "").plain


def test_only_the_last_label_has_an_effect_where_only_it_counts() -> None:
    odds = {"".join(key): [2.0 * (key[3] == "2")] * 4 + [0.0] * 3
            for key in product("12", repeat=4)}  # fmt: skip
    rows = Results([{"part": "label effects", "log_odds": odds}]).label_positions()
    assert [row["uncalibrated"] for row in rows[:3]] == ["+0.0 (+0.0 to +0.0)"] * 3
    rise = 100 * (
        1 / (1 + np.exp(-2)) - 0.5
    )  # the last label is negative, so "2" turns it positive
    assert rows[3]["uncalibrated"] == f"+{rise:.1f} (+{rise:.1f} to +{rise:.1f})"
    assert rows[3]["calibrated"] == rows[3]["uncalibrated"]  # the content-free inputs are neutral
    assert rows[3]["“N/A”"] == "+0.0"


def test_orders_are_grouped_by_their_last_label() -> None:
    """Uncalibrated, the last label is predicted for every query; calibrated, the gold label."""
    found = {"".join(order): ["1111" if order[-1] in "23" else "0000", GOLD]
             for order in permutations("0123")}  # fmt: skip
    pulled, fixed = Results([{"part": "order", "gold": GOLD, "predictions": found}]).order_effects()
    columns = ("“positive”, last label negative", "“positive”, last label positive")
    assert [pulled[column] for column in columns] == [0, 1]
    assert [fixed[column] for column in columns] == [0.5, 0.5]
    assert (pulled["worst order"], fixed["best order"]) == (0.5, 1)
