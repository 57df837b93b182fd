"""What to do with texts in no topic: leave them, or give them to the topic that is nearest."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepdive.topics.class_tfidf import Labels

Vectors = NDArray[Any]


def similarities(labels: Labels, vectors: Vectors) -> Vectors:
    """Return the cosine of each text with the mean vector of each topic from 0, (N, K)."""
    means = np.stack([vectors[labels == t].mean(0) for t in range(labels.max() + 1)])
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T


def reassign_to_nearest(labels: Labels, vectors: Vectors, least: float) -> Labels:
    """Return the labels with those texts of none, whose cosine with the nearest topic's mean is
    `least` or more, in that topic.
    """
    near = similarities(labels, vectors)
    return np.where((labels < 0) & (near.max(1) >= least), near.argmax(1), labels)


def reassign_all(labels: Labels, vectors: Vectors) -> Labels:
    """Return the labels with every text in a topic: those of none go to the nearest mean."""
    return reassign_to_nearest(labels, vectors, -1.0)
