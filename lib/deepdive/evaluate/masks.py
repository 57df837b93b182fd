"""How well painted masks fit: intersection over union, from the counts of pixels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepdive.evaluate.classification_metrics import confusion


def intersection_over_union(counts: Any) -> NDArray[np.float64]:
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
        raise ValueError(f"painted, true: came {found.shape} and {wanted.shape}, expected one size")
    counts = confusion(found.ravel(), wanted.ravel(), n_classes)
    return float(np.nanmean(intersection_over_union(counts)))
