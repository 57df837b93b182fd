"""Does 80 % mean eight of ten? Reliability, the expected calibration error, one temperature; and
what a prompt says of nothing, taken away.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from deepdive.core.checks import finite
from deepdive.evaluate.classification_metrics import Real, Whole, label_set


@dataclass(frozen=True)
class Reliability:
    """Bins of confidence: their `edges` (bins + 1), how many texts fall into each (`counts`), their
    mean confidence and their accuracy (0 where a bin is empty), and `error`, the expected
    calibration error.
    """

    edges: Real
    counts: Whole
    confidence: Real
    accuracy: Real
    error: float


def reliability(probabilities: Any, true: Any, bins: int = 10) -> Reliability:
    """Sort texts into bins of equal width by the probability of the class said, and compare.

        error = sum over bins of counts[b] / N * |accuracy[b] - confidence[b]|

    probabilities: (N, n_classes), rows that sum to 1; true: (N,) class numbers. A probability on an
    edge belongs to the bin below it.
    Source: Naeini et al. 2015; Guo et al. 2017, "On Calibration of Modern Neural Networks",
    equations 2 and 3.
    """
    sure, are = np.asarray(probabilities, dtype=np.float64), label_set("true", true)
    _check(sure, are)
    if bins < 1:
        raise ValueError(f"bins: got {bins}, expected 1 or more")
    top, right = sure.max(1), (sure.argmax(1) == are).astype(np.float64)
    edges = np.linspace(0.0, 1.0, bins + 1)
    place = np.clip(np.searchsorted(edges, top, side="left") - 1, 0, bins - 1)
    counts = np.bincount(place, minlength=bins)
    divisor = np.maximum(counts, 1)
    confidence = np.bincount(place, top, bins) / divisor
    accuracy = np.bincount(place, right, bins) / divisor
    error = float((counts / len(are) * np.abs(accuracy - confidence)).sum())
    return Reliability(edges, counts, confidence, accuracy, error)


def temperature(logits: Any, true: Any, least: float = 0.05, most: float = 20.0) -> float:
    """The number t for which softmax(logits / t) has the smallest cross-entropy.

    One number, fitted on a validation part: no answer changes, only how sure it is. Above 1 the
    model was too sure. The cross-entropy is convex in 1 / t, so the search for its lowest place,
    between 1 / most and 1 / least, cannot stop at another one.
    Source: Guo et al. 2017, section 4.2.
    """
    scores, are = np.asarray(logits, dtype=np.float64), label_set("true", true)
    _check_shape("logits", scores, are)
    finite("logits", scores)

    def slope(inverse: float) -> float:  # of the cross-entropy, by 1 / t
        shifted = np.exp(inverse * (scores - scores.max(1, keepdims=True)))
        mean = (shifted * scores).sum(1) / shifted.sum(1)
        return float((mean - scores[np.arange(len(are)), are]).mean())

    low, high = 1 / most, 1 / least
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return 2 / (low + high)


def contextual(log_probs: Any, of_nothing: Any) -> Real:
    """The probabilities of the labels, without what the prompt prefers already: (N, n_labels).

        p[n, k] is proportional to exp(log_probs[n, k]) / mean over m of q[m, k]

    log_probs   (N, n_labels), of each label after each question
    of_nothing  (M, n_labels), the same after questions without content, such as "N/A"; q are their
                probabilities, each row made to sum to 1

    No training and no labelled text is needed. The paper takes one softmax more of what stands
    here, which leaves the order of the labels as it is.
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
    shares: Real = raised / raised.sum(1, keepdims=True)
    return shares


def _check_shape(name: str, rows: Real, true: Whole) -> None:
    if rows.ndim != 2 or len(rows) != len(true) or rows.shape[1] <= true.max():
        raise ValueError(
            f"{name}: got shape {rows.shape}, expected ({len(true)}, n_classes), with more "
            f"classes than the highest true one, {true.max()}"
        )


def _check(probabilities: Real, true: Whole) -> None:
    _check_shape("probabilities", probabilities, true)
    off = np.abs(probabilities.sum(1) - 1).max()
    if not off < 1e-3 or probabilities.min() < 0:
        raise ValueError(
            f"probabilities: rows sum to 1 within {off:.2g}, expected 1e-3 and no negative number; "
            "give softmax(logits), not logits"
        )
