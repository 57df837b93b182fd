"""The slider over DeeBERT's thresholds."""

from __future__ import annotations

import pytest

from deepdive_book.ch05.figures.exit_threshold import exit_threshold
from deepdive_book.kit.markup import Html

CURVE = [
    {"threshold": 0.1, "by_layer": [0.0, 0.25, 0.75], "accuracy": 0.8, "depth": 2.75,
     "random": 0.75},
    {"threshold": 0.6, "by_layer": [0.5, 0.5, 0.0], "accuracy": 0.7, "depth": 1.5, "random": 0.65},
]  # fmt: skip


def picture() -> Html:
    return exit_threshold(CURVE)


def test_each_threshold_states_accuracy_and_depth() -> None:
    html = picture().html
    assert "Accuracy 80.0% at 2.75 layers on average." in html
    assert "Accuracy 70.0% at 1.50 layers on average." in html
    assert "75%" in html


def test_one_threshold_is_refused() -> None:
    with pytest.raises(ValueError, match="two or more"):
        exit_threshold(CURVE[:1])
