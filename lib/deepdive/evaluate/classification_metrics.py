"""Classification metrics: accuracy, confusion matrix, macro-F1; and the intersection over union
(IoU) of segmentation masks.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Real = NDArray[np.float64]


def label_set(name: str, values: Any) -> Whole:
    """Return class ids as an int64 array (N,). Raises ValueError if they are not class ids."""
    found = np.asarray(values)
    if found.ndim != 1 or not len(found) or not np.issubdtype(found.dtype, np.integer):
        raise ValueError(
            f"{name}: got {found.dtype} of shape {found.shape}, expected class ids (N,); "
            "take the argmax of logits first"
        )
    if found.min() < 0:
        raise ValueError(f"{name}: got {found.min()}, expected class ids from 0")
    return found.astype(np.int64)


def paired_labels(predicted: Any, true: Any) -> tuple[Whole, Whole]:
    """Return both as class ids (N,). Raises ValueError if they differ in length."""
    predictions, truths = label_set("predicted", predicted), label_set("true", true)
    if len(predictions) != len(truths):
        raise ValueError(
            f"predicted, true: got {len(predictions)} and {len(truths)}, expected equal counts"
        )
    return predictions, truths


def accuracy(predicted: Any, true: Any) -> float:
    """Return the fraction of correct predictions (N,), 0 to 1; class ids, or names such as tags."""
    if any(isinstance(name, str) for name in predicted):
        numbers = {name: i for i, name in enumerate(sorted({*predicted, *true}))}
        predicted, true = ([numbers[name] for name in names] for names in (predicted, true))
    predictions, truths = paired_labels(predicted, true)
    return float((predictions == truths).mean())


def confusion(predicted: Any, true: Any, n_classes: int) -> Whole:
    """Return the confusion matrix (n_classes, n_classes): rows = true, columns = predicted class.

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
    """Return the unweighted mean of F1 over classes, however rare a class is.

    F1[k] = 2 hit[k] / (predicted[k] + true[k]),   0 for a class that is in neither
    """
    counts = confusion(predicted, true, n_classes)
    both = counts.sum(0) + counts.sum(1)
    return float((2 * counts.diagonal() / np.maximum(both, 1)).mean())


def intersection_over_union(counts: Any) -> Real:
    """Return each class's IoU: the pixels both predicted and labeled as it, divided by the pixels
    that are either; nan for a class without pixels. `counts` is the matrix from `confusion`.
    """
    pixels = np.asarray(counts, dtype=np.float64)
    both = np.diag(pixels)
    either = pixels.sum(0) + pixels.sum(1) - both
    return np.divide(both, either, out=np.full(len(both), np.nan), where=either > 0)


def mean_iou(painted: Any, true: Any, n_classes: int) -> float:
    """Return the mean IoU over classes that are predicted or labeled somewhere. The pixels of all
    images are counted together, as is usual for ADE20K and Cityscapes.

    Raises ValueError for masks of different shapes, and for a class that is not below `n_classes`.
    """
    found, labels = np.asarray(painted), np.asarray(true)
    if found.shape != labels.shape:
        raise ValueError(f"painted, true: got {found.shape}, {labels.shape}, expected equal shapes")
    counts = confusion(found.ravel(), labels.ravel(), n_classes)
    return float(np.nanmean(intersection_over_union(counts)))
