"""How good is a classifier, how sure of that are we, and how far can its own sureness be trusted?

Counts: `accuracy`, `confusion`, `macro_f1`. Doubt: `bootstrap`, `t_interval`, `clustered`,
`macro_f1_interval`, `mcnemar`. Trust: `reliability`, `temperature`, `contextual`. Masks:
`mean_iou`. Everything takes arrays, lists or tensors, and gives numbers or numpy arrays.
"""

from deepdive.evaluate.calibration import contextual, reliability, temperature
from deepdive.evaluate.classification_metrics import accuracy, confusion, macro_f1
from deepdive.evaluate.confidence_intervals import (
    Interval,
    bootstrap,
    clustered,
    macro_f1_interval,
    mcnemar,
    t_interval,
)
from deepdive.evaluate.masks import intersection_over_union, mean_iou

__all__ = [
    "Interval", "accuracy", "bootstrap", "clustered", "confusion", "contextual",
    "intersection_over_union", "macro_f1", "macro_f1_interval", "mcnemar", "mean_iou",
    "reliability", "t_interval", "temperature",
]  # fmt: skip
