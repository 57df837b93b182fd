"""The figure of halting weights: every sum can be chosen, and each shows its own numbers."""

from __future__ import annotations

from typing import Any

import pytest

from deepdive_book.ch05.figures.halting_steps import halting_steps
from deepdive_book.kit.markup import Html

FIRST: dict[str, Any] = {
    "columns": [1, 3, 0], "difficulty": [1, 2, 1], "correct": [True, True, False],
    "steps": [2, 3, 1], "weights": [[0.5, 0.5, 0.0], [0.25, 0.25, 0.5], [1.0, 0.0, 0.0]],
}  # fmt: skip
SECOND = {**FIRST, "columns": [0, 0, 2], "steps": [1, 1, 3], "correct": [True] * 3,
          "weights": [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.2, 0.2, 0.6]]}  # fmt: skip


def picture() -> Html:
    return halting_steps([FIRST, SECOND])


def test_each_sum_has_its_own_steps() -> None:
    html = picture().html
    assert "2.0 steps on average, 3 for the slowest column; 2 of 3 bits are correct." in html
    assert "1.7 steps on average, 3 for the slowest column; 3 of 3 bits are correct." in html
    assert "0.25" in html


def test_one_sum_is_refused() -> None:
    with pytest.raises(ValueError, match="two or more"):
        halting_steps([FIRST])
