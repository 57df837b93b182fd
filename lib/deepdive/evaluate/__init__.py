"""Evaluation: classification metrics, confidence intervals, and calibration.

Metrics: `accuracy`, `confusion`, `macro_f1`, `mean_iou`. Intervals and tests: `bootstrap`,
`t_interval`, `clustered`, `macro_f1_interval`, `mcnemar`. Calibration: `reliability`,
`temperature`, `contextual`. All take arrays, lists or tensors; they return numbers or arrays.
"""

from deepdive.evaluate.calibration import contextual, reliability, temperature
from deepdive.evaluate.classification_metrics import (
    accuracy,
    confusion,
    intersection_over_union,
    macro_f1,
    mean_iou,
)
from deepdive.evaluate.confidence_intervals import (
    Interval,
    bootstrap,
    clustered,
    macro_f1_interval,
    mcnemar,
    t_interval,
)

__all__ = [
    "Interval", "accuracy", "bootstrap", "clustered", "confusion", "contextual",
    "intersection_over_union", "macro_f1", "macro_f1_interval", "mcnemar", "mean_iou",
    "reliability", "t_interval", "temperature",
]  # fmt: skip
