"""Trust score of a classifier's predictions, and AUROC for detecting errors with a score.

near = dense(vectors, labels, keep=0.9)                  # training texts, for each class
trust = trust_score(near, asked, said)                   # new texts and their predicted classes
auroc(trust, said == true)                               # 0.5: chance level
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


def dense(vectors: Tensor, labels: Any, keep: float = 1.0, k: int = 10) -> list[Tensor]:
    """Return each class's vectors in its high-density region, (N_c, d).

        radius(x) = distance to the k-th nearest vector of the class, x itself the first

    The fraction `keep` with the smallest radius is kept; keep = 1 - alpha of the paper.
    vectors (N, d), labels (N,) from 0. Raises ValueError if a class has fewer than k vectors, or
    for a fraction that is not in (0, 1].
    Source: Jiang et al. 2018, definition 1 and algorithm 1.
    """
    if not 0 < keep <= 1 or k < 1:
        raise ValueError(f"keep={keep}, k={k}: expected a fraction in (0, 1] and 1 or more")
    classes, found = torch.as_tensor(labels), []
    for label in range(int(classes.max()) + 1):
        members = vectors[classes == label]
        if len(members) < k:
            raise ValueError(f"class {label} has {len(members)} vectors, expected at least k={k}")
        radius = torch.cdist(members, members).kthvalue(k, dim=1).values
        found.append(members[radius <= radius.quantile(keep)])
    return found


def trust_score(near: Sequence[Tensor], asked: Tensor, said: Any) -> Tensor:
    """Return the trust score (N,) of each prediction:

        trust = distance to the nearest class not predicted / distance to the predicted class

    It is above 1 if the predicted class is the nearest, infinite on one of its vectors, 1 if both
    distances are 0. near: the output of `dense`; asked (N, d); said (N,), predicted classes.
    Source: Jiang et al. 2018, algorithm 2.
    """
    if len(near) < 2:
        raise ValueError(f"near: got {len(near)} classes, expected two or more")
    distances = torch.stack([torch.cdist(asked, own).amin(1) for own in near], 1)  # (N, C)
    index = torch.as_tensor(said)[:, None]
    own = distances.gather(1, index)[:, 0]
    other = distances.scatter(1, index, torch.inf).amin(1)
    return (other / own).nan_to_num(1.0, posinf=torch.inf)


def auroc(scores: Any, right: Any) -> float:
    """Return the area under the ROC curve: over all pairs of a correct and a wrong prediction, how
    often the correct one has the larger score; ties count half. 0.5 by chance, 1 at best.

    scores, right: (N,), correct 1 or True. Raises ValueError if all are correct, or all wrong.
    Source: Hanley and McNeil 1982.
    """
    values, is_right = np.asarray(scores, np.float64), np.asarray(right, bool)
    if values.shape != is_right.shape or values.ndim != 1 or is_right.all() or not is_right.any():
        raise ValueError("scores, right: expected (N,) each, some correct and some wrong")
    _, inverse, count = np.unique(values, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[inverse]
    n = int(is_right.sum())
    return float((rank[is_right].sum() - n * (n + 1) / 2) / (n * (len(values) - n)))
