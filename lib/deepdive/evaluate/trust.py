"""Which answers are wrong? The trust score, and how well a score finds the wrong ones.

near = dense(vectors, labels, keep=0.9)                  # of the training texts, class by class
trust = trust_score(near, asked, said)                   # of new texts
auroc(trust, said == true)                               # 0.5: it tells nothing
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


def dense(vectors: Tensor, labels: Any, keep: float = 1.0, k: int = 10) -> list[Tensor]:
    """Return for each class those of its vectors that lie among many others of it, (N_c, d).

        radius(x) = distance to the k-th nearest vector of the class, x itself the first

    The `keep` share with the smallest radius stays; keep = 1 - alpha of the paper.
    vectors (N, d), labels (N,) from 0. Raises ValueError where a class has fewer than k vectors, or
    for a share that is not in (0, 1].
    Source: Jiang et al. 2018, definition 1 and algorithm 1.
    """
    if not 0 < keep <= 1 or k < 1:
        raise ValueError(f"keep={keep}, k={k}: expected a share in (0, 1] and 1 or more")
    classes, found = torch.as_tensor(labels), []
    for label in range(int(classes.max()) + 1):
        own = vectors[classes == label]
        if len(own) < k:
            raise ValueError(f"class {label} has {len(own)} vectors, k={k} needs as many")
        radius = torch.cdist(own, own).kthvalue(k, dim=1).values
        found.append(own[radius <= radius.quantile(keep)])
    return found


def trust_score(near: Sequence[Tensor], asked: Tensor, said: Any) -> Tensor:
    """Return for each text how far the nearest other class is, counted in the distance to its own:

        trust = distance to the nearest class that was not said / distance to the class said

    (N,): above 1 where the class said is the nearest, infinite on one of its vectors, 1 where both
    distances are 0. near: what `dense` returns; asked (N, d); said (N,), the model's answers.
    Source: Jiang et al. 2018, algorithm 2.
    """
    if len(near) < 2:
        raise ValueError(f"near has {len(near)} classes, a ratio needs two or more")
    to = torch.stack([torch.cdist(asked, own).amin(1) for own in near], 1)  # (N, C)
    place = torch.as_tensor(said)[:, None]
    own = to.gather(1, place)[:, 0]
    other = to.scatter(1, place, torch.inf).amin(1)
    return (other / own).nan_to_num(1.0, posinf=torch.inf)


def auroc(scores: Any, right: Any) -> float:
    """Return how often a right answer has the larger score, over all pairs of a right and a wrong
    one; equal scores count half. It is the area under the ROC curve: 0.5 by chance, 1 at best.

    scores, right: (N,), right 1 or True. Raises ValueError where all are right, or all wrong.
    Source: Hanley and McNeil 1982.
    """
    of, is_right = np.asarray(scores, np.float64), np.asarray(right, bool)
    if of.shape != is_right.shape or of.ndim != 1 or is_right.all() or not is_right.any():
        raise ValueError("scores, right: expected (N,) each, some right and some wrong")
    _, place, count = np.unique(of, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    n = int(is_right.sum())
    return float((rank[is_right].sum() - n * (n + 1) / 2) / (n * (len(of) - n)))
