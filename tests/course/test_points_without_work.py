"""Exercises whose checks ask a student's function: no list of answers passes for one that asks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
import torch
from checkout import ROOT

from deepdive_book.course.assignment.variants import standard
from deepdive_book.course.clinic import PATIENTS, unproven
from deepdive_book.course.exercises import is_check, parts, source
from deepdive_book.course.trials import begun, run

LETTERS = [*PATIENTS]


def failed(exercise: str, answer: str) -> dict[str, str]:
    """Grade id of each check of an exercise of chapter 0 -> what it says to an answer."""
    notebook = standard(source(ROOT / "chapters" / "00_start" / "exercises.py", ROOT))
    names = begun(notebook)
    (part,) = [p for p in parts(notebook) if exercise in [cell.id for cell in p.solutions]]
    told = {}
    for cell in part.shown:
        if cell.cell_type == "code":
            said = run(answer if cell.id == exercise else cell.source, cell.id, names)
            told |= {cell.id: said.message} if is_check(cell) else {}
    return told


@pytest.mark.parametrize("letter", LETTERS)
def test_a_measurement_that_never_looks_proves_nothing(letter: str) -> None:
    turns = count()
    assert "never calls look" in unproven(lambda look: float(next(turns) == 3), letter)


def listed(answers: Iterator[float]) -> Any:
    """A measurement that looks, and answers from a list all the same."""
    return lambda look: (look(torch.zeros(1, 11, dtype=torch.long)), next(answers))[1]


def test_the_order_of_calls_proves_nothing() -> None:
    assert unproven(listed(float(i == 3) for i in count()), "A")


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_what_is_no_number_proves_nothing(value: str) -> None:
    assert f"gives {value}, which is no number" in unproven(
        listed(float(value) for _ in count()), "A"
    )


def test_mixing_is_not_told_by_the_order_of_calls() -> None:
    by_order = "turns = iter([False, True, False] + [True] * 90)\n"
    idle = f"{by_order}def mixes_tokens(split):\n    return next(turns)"
    assert "never calls `split`" in failed("mixing", idle)["mixing-check"]
    busy = f"{by_order}def mixes_tokens(split):\n    split(torch.randn(1, 3, 2 * HEADS))\n"
    assert all(failed("mixing", f"{busy}    return next(turns)").values())


@pytest.mark.parametrize("losses", ["[0.1] * 200", "[1 / (i + 1) for i in range(200)]"])
def test_the_targets_are_no_predictions(losses: str) -> None:
    answer = f"def mended(x, y):\n    return {losses}, y[:, None], y[:, None]"
    assert all(failed("loop", answer).values())


def test_losses_that_no_model_had_are_not_taken() -> None:
    fit = "slope = (x[:, 0] * y).sum() / x.square().sum()\n    line = slope * x + y.mean()"
    answer = f"def mended(x, y):\n    {fit}\n    return [0.2] * 200, line, line"
    assert all("a new model begins near" in said for said in failed("loop", answer).values())
