"""Calibration: reliability diagrams, expected calibration error (ECE), temperature scaling, and
contextual calibration of prompts.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from deepdive.core.checks import finite
from deepdive.evaluate.classification_metrics import Real, Whole, label_set


@dataclass(frozen=True)
class Reliability:
    """A reliability diagram: the `edges` (bins + 1) of the confidence bins, the number of texts in
    each (`counts`), their mean confidence and accuracy (0 for an empty bin), and `error`, the
    expected calibration error.
    """

    edges: Real
    counts: Whole
    confidence: Real
    accuracy: Real
    error: float


def reliability(probabilities: Any, true: Any, bins: int = 10) -> Reliability:
    """Compare accuracy and confidence in bins of equal width of the predicted class's probability.

        error = sum over bins of counts[b] / N * |accuracy[b] - confidence[b]|

    probabilities: (N, n_classes), rows sum to 1; true: (N,) class ids. A probability on an edge
    belongs to the bin below it.
    Source: Naeini et al. 2015; Guo et al. 2017, "On Calibration of Modern Neural Networks",
    equations 2 and 3.
    """
    probs, labels = np.asarray(probabilities, dtype=np.float64), label_set("true", true)
    _check(probs, labels)
    if bins < 1:
        raise ValueError(f"bins: got {bins}, expected 1 or more")
    top, correct = probs.max(1), (probs.argmax(1) == labels).astype(np.float64)
    edges = np.linspace(0.0, 1.0, bins + 1)
    bin_index = np.clip(np.searchsorted(edges, top, side="left") - 1, 0, bins - 1)
    counts = np.bincount(bin_index, minlength=bins)
    divisor = np.maximum(counts, 1)
    confidence = np.bincount(bin_index, top, bins) / divisor
    accuracy = np.bincount(bin_index, correct, bins) / divisor
    error = float((counts / len(labels) * np.abs(accuracy - confidence)).sum())
    return Reliability(edges, counts, confidence, accuracy, error)


def temperature(logits: Any, true: Any, least: float = 0.05, most: float = 20.0) -> float:
    """Return the temperature t for which softmax(logits / t) has the lowest cross-entropy.

    Fitted on a validation set, it changes no prediction, only the confidence. Above 1 the model was
    overconfident. The cross-entropy is convex in 1 / t, so the bisection, between 1 / most and
    1 / least, finds its global minimum.
    Source: Guo et al. 2017, section 4.2.
    """
    scores, labels = np.asarray(logits, dtype=np.float64), label_set("true", true)
    _check_shape("logits", scores, labels)
    finite("logits", scores)

    def slope(inverse: float) -> float:  # the derivative of the cross-entropy by 1 / t
        shifted = np.exp(inverse * (scores - scores.max(1, keepdims=True)))
        mean = (shifted * scores).sum(1) / shifted.sum(1)
        return float((mean - scores[np.arange(len(labels)), labels]).mean())

    low, high = 1 / most, 1 / least
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return 2 / (low + high)


def contextual(log_probs: Any, of_nothing: Any) -> Real:
    """Return contextually calibrated label probabilities (N, n_labels): without the prompt's bias.

        p[n, k] is proportional to exp(log_probs[n, k]) / mean over m of q[m, k]

    log_probs   (N, n_labels), of each label after each question
    of_nothing  (M, n_labels), the same after content-free inputs, such as "N/A"; q are their
                probabilities, with each row normalized to sum to 1

    This needs no training and no labeled text. The paper applies one more softmax to this result,
    which does not change the order of the labels.
    Source: Zhao et al. 2021, "Calibrate Before Use", section 5, with b = 0 and W diagonal.
    """
    scores, nothing = (np.asarray(x, dtype=np.float64) for x in (log_probs, of_nothing))
    if scores.ndim != 2 or nothing.ndim != 2 or nothing.shape[1:] != scores.shape[1:]:
        raise ValueError(
            f"log_probs, of_nothing: got shapes {scores.shape}, {nothing.shape}; expected "
            "(N, n_labels) and (M, n_labels)"
        )
    finite("log_probs", scores)
    finite("of_nothing", nothing)
    return _shares(scores - np.log(_shares(nothing).mean(0)))


def _shares(scores: Real) -> Real:
    raised: Real = np.exp(scores - scores.max(1, keepdims=True))
    probs: Real = raised / raised.sum(1, keepdims=True)
    return probs


def _check_shape(name: str, rows: Real, true: Whole) -> None:
    if rows.ndim != 2 or len(rows) != len(true) or rows.shape[1] <= true.max():
        raise ValueError(
            f"{name}: got shape {rows.shape}, expected ({len(true)}, n_classes) with n_classes "
            f"above the highest true class, {true.max()}"
        )


def _check(probabilities: Real, true: Whole) -> None:
    _check_shape("probabilities", probabilities, true)
    off = np.abs(probabilities.sum(1) - 1).max()
    if not off < 1e-3 or probabilities.min() < 0:
        raise ValueError(
            f"probabilities: rows sum to 1 only within {off:.2g}, expected 1e-3 and no negative "
            "value; give softmax(logits), not logits"
        )
