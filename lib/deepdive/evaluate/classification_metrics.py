"""What was said against what is true: accuracy, the confusion matrix, macro F1; and, of painted
masks, intersection over union.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Real = NDArray[np.float64]


def label_set(name: str, values: Any) -> Whole:
    """Return class numbers as a flat array; raises where they are none."""
    found = np.asarray(values)
    if found.ndim != 1 or not len(found) or not np.issubdtype(found.dtype, np.integer):
        raise ValueError(
            f"{name}: got {found.dtype} of shape {found.shape}, expected class numbers (N,); "
            "take the argmax of logits first"
        )
    if found.min() < 0:
        raise ValueError(f"{name}: holds {found.min()}, expected class numbers from 0")
    return found.astype(np.int64)


def paired_labels(predicted: Any, true: Any) -> tuple[Whole, Whole]:
    """Return both as class numbers; raises where they differ in length."""
    predictions, truths = label_set("predicted", predicted), label_set("true", true)
    if len(predictions) != len(truths):
        raise ValueError(
            f"predicted, true: {len(predictions)} and {len(truths)} classes, expected equal counts"
        )
    return predictions, truths


def accuracy(predicted: Any, true: Any) -> float:
    """Share of the classes (N,) that are right, from 0 to 1: numbers, or names such as tags."""
    if any(isinstance(name, str) for name in predicted):
        numbers = {name: i for i, name in enumerate(sorted({*predicted, *true}))}
        predicted, true = ([numbers[name] for name in names] for names in (predicted, true))
    predictions, truths = paired_labels(predicted, true)
    return float((predictions == truths).mean())


def confusion(predicted: Any, true: Any, n_classes: int) -> Whole:
    """Counts (n_classes, n_classes): row = the true class, column = what was said.

        counts[i, j] = sum over n of (true[n] == i and predicted[n] == j)

    Raises ValueError for a class that is not below `n_classes`.
    """
    predictions, truths = paired_labels(predicted, true)
    top = int(max(predictions.max(), truths.max()))
    if top >= n_classes:
        raise ValueError(f"n_classes: got {n_classes}, but class {top} occurs")
    counts = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(counts, (truths, predictions), 1)
    return counts


def macro_f1(predicted: Any, true: Any, n_classes: int) -> float:
    """The mean over classes of F1, each class counting the same however rare.

    F1[k] = 2 hit[k] / (predicted[k] + true[k]),   0 for a class that is in neither
    """
    counts = confusion(predicted, true, n_classes)
    both = counts.sum(0) + counts.sum(1)
    return float((2 * counts.diagonal() / np.maximum(both, 1)).mean())


def intersection_over_union(counts: Any) -> Real:
    """Return for each class the pixels that are of it and painted as it, as a share of those that
    are one of the two; nan for a class that is nowhere. `counts` are those of `confusion`.
    """
    pixels = np.asarray(counts, dtype=np.float64)
    both = np.diag(pixels)
    either = pixels.sum(0) + pixels.sum(1) - both
    return np.divide(both, either, out=np.full(len(both), np.nan), where=either > 0)


def mean_iou(painted: Any, true: Any, n_classes: int) -> float:
    """Return the mean of `intersection_over_union` over the classes that are somewhere. The pixels
    of all images are counted together, as is usual for ADE20K and Cityscapes.

    Raises ValueError for masks of two shapes, and for a class that is not below `n_classes`.
    """
    found, wanted = np.asarray(painted), np.asarray(true)
    if found.shape != wanted.shape:
        raise ValueError(f"painted, true: got {found.shape} and {wanted.shape}, expected one size")
    counts = confusion(found.ravel(), wanted.ravel(), n_classes)
    return float(np.nanmean(intersection_over_union(counts)))
