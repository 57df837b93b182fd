"""Exercises whose checks ask a student's function: no list of answers passes for one that asks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
import torch
from checkout import ROOT
from fault import fault

from deepdive.course.assignment.variants import standard
from deepdive.course.clinic import PATIENTS, unproven
from deepdive.course.exercises import is_check, parts, source
from deepdive.course.trials import begun, run

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


@fault(
    "A measurement that never looks at its patient",
    made="it counts its calls and returns what would be right in a known order",
    happens="no points, and the check says that it never calls look",
    kept="the points of measurements that look",
)
@pytest.mark.parametrize("letter", LETTERS)
def test_a_measurement_that_never_looks_proves_nothing(letter: str) -> None:
    turns = count()
    assert "never calls look" in unproven(lambda look: float(next(turns) == 3), letter)


def listed(answers: Iterator[float]) -> Any:
    """A measurement that looks, and answers from a list all the same."""
    return lambda look: (look(torch.zeros(1, 11, dtype=torch.long)), next(answers))[1]


@fault(
    "A measurement that answers by the order of calls",
    made="it looks, throws away what it saw, and gives 1 for the fourth call, else 0",
    happens="the order is drawn and each is asked twice: it proves nothing",
    kept="the points of measurements that measure",
)
def test_the_order_of_calls_proves_nothing() -> None:
    assert unproven(listed(float(i == 3) for i in count()), "A")


@fault(
    "A measurement that is no number",
    made="it returns nan, which is neither inside nor outside of any range",
    happens="no points, and the check says that nan is no number",
    kept="the points of measurements that measure",
)
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_what_is_no_number_proves_nothing(value: str) -> None:
    assert f"gives {value}, which is no number" in unproven(
        listed(float(value) for _ in count()), "A"
    )


@fault(
    "A test of others' code that answers by the order of calls",
    made="mixes_tokens gives False, True, False, True ... and never calls split",
    happens="no points: the order is drawn, each is asked twice, and split must be called",
    kept="the points of tests that call what they test",
)
def test_mixing_is_not_told_by_the_order_of_calls() -> None:
    by_order = "turns = iter([False, True, False] + [True] * 90)\n"
    idle = f"{by_order}def mixes_tokens(split):\n    return next(turns)"
    assert "never calls `split`" in failed("mixing", idle)["mixing-check"]
    busy = f"{by_order}def mixes_tokens(split):\n    split(torch.randn(1, 3, 2 * HEADS))\n"
    assert all(failed("mixing", f"{busy}    return next(turns)").values())


@fault(
    "A training that returns its own targets",
    made="mended returns 200 losses that it invented, and y for both predictions",
    happens="no points: the points lie beside the line that the model is to find",
    kept="the points of loops that train",
)
@pytest.mark.parametrize("losses", ["[0.1] * 200", "[1 / (i + 1) for i in range(200)]"])
def test_the_targets_are_no_predictions(losses: str) -> None:
    answer = f"def mended(x, y):\n    return {losses}, y[:, None], y[:, None]"
    assert all(failed("loop", answer).values())


def test_losses_that_no_model_had_are_not_taken() -> None:
    fit = "slope = (x[:, 0] * y).sum() / x.square().sum()\n    line = slope * x + y.mean()"
    answer = f"def mended(x, y):\n    {fit}\n    return [0.2] * 200, line, line"
    assert all("a new model begins near" in said for said in failed("loop", answer).values())
