"""Which phone stands where: recordings of which one knows the words, cut into their phones.

By turns, as the first recognisers were trained: each phone gets the mean and the variance of the
frames that it has, then each text is laid along its frames as best these allow. The path is the one
that `deepdive.training.objectives.align` finds, with silence as its blank: it may stand before,
between and behind all phones, or be left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from deepdive.core.checks import positive
from deepdive.training.objectives.ctc import align

Frames = NDArray[np.float32]
Labels = NDArray[np.int64]
SILENCE = 0


def spread_evenly(length: int, phones: Sequence[int]) -> Labels:
    """Return a phone for each frame: silence at both ends, and all equally long."""
    row = np.array([SILENCE, *phones, SILENCE])
    return row[np.arange(length) * len(row) // length]


def gaussians(features: Tensor, labels: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Return mean and variance (n, d) of the frames (N, d) of each of n labels; a variance is never
    below a hundredth of that of all frames, and a label without frames is as all.
    """
    count = torch.bincount(labels, minlength=n)[:, None]
    sums = torch.zeros(n, features.shape[1], dtype=features.dtype)
    mean = sums.index_add(0, labels, features) / count.clamp(min=1)
    squares = sums.index_add(0, labels, features.square()) / count.clamp(min=1)
    whole = features.var(0, unbiased=False)
    variance = torch.maximum(squares - mean.square(), whole / 100)
    none = count == 0
    return torch.where(none, features.mean(0), mean), torch.where(none, whole, variance)


def log_density(features: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    """Return log N(x; mean_k, variance_k) of rows (N, d), (N, k), up to a constant."""
    inverse = 1 / variance  # (k, d)
    squares = features.square() @ inverse.T - 2 * features @ (mean * inverse).T
    return -0.5 * (squares + (mean.square() * inverse + variance.log()).sum(1))


def align_phones(
    features: Sequence[Frames], phones: Sequence[Sequence[int]], n_phones: int, turns: int = 10
) -> list[Labels]:
    """Return the phone of each frame of each recording, 0 for silence.

    features  (T, d) of each recording; phones: of each, integers from 1 to n_phones - 1
    turns     how often means and paths are made anew
    Raises ValueError for a text with more phones than its recording has frames, as `align` does.
    """
    positive(n_phones=n_phones, turns=turns)
    every = torch.from_numpy(np.concatenate(features)).double()
    ends = np.cumsum([len(rows) for rows in features])[:-1]
    labels = [spread_evenly(len(x), row) for x, row in zip(features, phones, strict=True)]
    order = np.argsort([len(rows) for rows in features])
    for _ in range(turns):
        mean, variance = gaussians(every, torch.from_numpy(np.concatenate(labels)), n_phones)
        scores = np.split(log_density(every, mean, variance).numpy(), ends)
        for some in np.array_split(order, max(1, len(order) // 64)):
            found = align(*_batch([scores[i] for i in some], [phones[i] for i in some]))
            for i, one in zip(some, found, strict=True):
                labels[i] = np.array(one.path)
    return labels


def _batch(
    scores: Sequence[NDArray[np.float64]], phones: Sequence[Sequence[int]]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    lengths, texts = [len(x) for x in scores], [len(row) for row in phones]
    logits = torch.zeros(len(scores), max(lengths), scores[0].shape[1], dtype=torch.float64)
    targets = torch.zeros(len(scores), max(texts), dtype=torch.long)
    for b, (x, row) in enumerate(zip(scores, phones, strict=True)):
        logits[b, : len(x)], targets[b, : len(row)] = torch.from_numpy(x), torch.tensor(row)
    return logits, torch.tensor(lengths), targets, torch.tensor(texts)
